import { oneLine } from "./text.ts"

/** Removes addresses, query strings, and the lines of a stack. */
const plain = (text: string): string =>
  withoutStack(text)
    .replace(/\b[a-z][a-z\d]{1,15}:\/\/[^\s"'<>]+/gi, "<address>")
    .replace(/\?[^\s?="'<>]+=[^\s"'<>]*/g, "")

/**
 * Removes secrets and internals from a text, and puts it on one line: keys, tokens and passwords, card numbers, addresses and
 * query strings, stacks, paths, names of error classes.
 *
 * When to use: before a text that you did not write yourself is logged or shown. No pattern finds every secret, so this is
 * only the second line of defence. The first is to show no messages of libraries: {@link describe} does that.
 *
 * @example
 * ```ts
 * import { redact } from "@fallible/errors"
 *
 * redact("Login failed for postgres://ada:hunter2@db.internal:5432/app with token=abc123def456")
 * // => "Login failed for <address> with token=<redacted>"
 * ```
 *
 * @category redacting
 * @since 0.1.0
 */
export const redact = (text: string): string => oneLine(withoutInsides(text))

/**
 * Removes stacks and the paths of files from a text, and leaves the rest as it is: addresses, and what looks like a secret.
 *
 * When to use: for a text that was written for its reader, but into which an error may have got.
 *
 * @param isKnown whether the reader knows a path, so that it stays; default: none does
 *
 * @example
 * ```ts
 * import { withoutPaths } from "@fallible/errors"
 *
 * withoutPaths("Cannot read /srv/app/rooms.json: see https://help.example/rooms.html")
 * // => "Cannot read <path>: see https://help.example/rooms.html"
 * ```
 *
 * @category redacting
 * @since 0.1.0
 */
export const withoutPaths = (text: string, isKnown: (path: string) => boolean = () => false): string =>
  withoutStack(text).split(/(\b(?!file:)[a-z][a-z\d+.-]{1,15}:\/\/[^\s"'<>]+)/i).map((part, index) =>
    index % 2 === 1
      ? part
      : paths.reduce((text, pattern) =>
        text.replace(pattern, (found) => {
          // The end of the sentence.
          const path = found.replace(/(?<![.'!?])[.'!?]+$/, "")
          return isKnown(path) ? found : `<path>${found.slice(path.length)}`
        }), part)
  ).join("")

// A frame names a place in a file: `at run (file.js:1:2)`, `at async file.js:1:2`, `at <anonymous>`, `File "a.py", line 7`.
const withoutStack = (text: string): string =>
  text.replace(
    /(?:^[ \t]+|(?<! ) {2,})(?:at .{0,300}(?::\d+|<anonymous>|native)\)?|File ".*)$/gm,
    ""
  )

const withoutInsides = (text: string): string =>
  insides.reduce(
    (text, [pattern, instead]) => text.replace(pattern, instead),
    // Full-width letters and invisible characters could hide a word.
    plain(text.normalize("NFKC").replace(/\p{Cf}/gu, ""))
  )

const label =
  "[\\w-]{0,40}(?:passwords?|passwd|passphrase|pwd|secret|token|(?:api|access|account|private|shared|secret)[ _-]?key|authorization|credentials?|signature|session[ _-]?id)"
const quoted = "\\\\?\"(?:[^\"\\\\]|\\\\.)*\"?|'[^']*'?|`[^`]*`?"

const paths: ReadonlyArray<RegExp> = [
  /\b[a-z]:\\(?:[^\\/:*?"<>|\r\n]{1,100}\\)*[^\\/:*?"<>|\s]*/gi,
  /\\\\[\w.-]+\\[^\s"'<>|]*/g,
  /\b(?:file:\/?|node:(?=[a-z]))[^\s"'<>,;)]+/g,
  // A path to a file, recognized by its extension. After a method, it is the path of a request.
  /(?<![\w.]|\b(?:GET|PUT|POST|HEAD|PATCH|DELETE|OPTIONS) )(?:~|\.{1,2})?(?:\/[\w.@+-]{1,100}){1,20}\.[a-z][a-z\d]{1,4}\b/gi,
  /(?<![\w.])~\/[^\s"'<>:,;)]+/g,
  /(?<![\w.])~?\/(?:home|root|usr|var|etc|opt|srv|app|tmp|Users|private|mnt|proc|run|workspace|bin|lib)\/[^\s"'<>:,;)]*/g,
  /(?<![\w/])(?:[\w.@+-]{0,100}\/){1,20}[\w@+-]{1,100}\.[a-z]{1,5}(?::\d+){1,2}\b/g,
  /(?<![\w/])(?:[\w.@+-]{0,100}\/){0,20}(?:node_modules|dist)\/[\w.@+/-]*/g
]

const insides: ReadonlyArray<readonly [pattern: RegExp, instead: string]> = [
  [/-----BEGIN [^]*?(?:-----END [^-]*-----|$)/g, "<redacted>"],
  [/\b(?:set-)?cookie["']?\s*[:=]\s*[^\s=;]+=.*$/gim, "cookie: <redacted>"],
  [/\b(authorization["'\\]*\s*[:=]\s*)(?:[a-z]+\s+)?[^\s,;]+/gi, "$1<redacted>"],
  // A user name and a password before a host.
  [/[^\s"'`<>:@/]{1,100}:[^\s"'`<>@/]{1,100}@[\w.-]+(?::\d+)?[^\s"'<>]*/g, "<address>"],
  // A word for a secret, and the value after it: password: hunter2, api_key=…, Authorization: Bearer ….
  [
    new RegExp(
      `((?:${label})[\\\\"']*\\s*(?:=>|->|[:=]|%3[ad])\\s*)(?:(?:bearer|basic)\\s+)?(?:${quoted}|[^\\s,;&"')\\]}]+)`,
      "gi"
    ),
    "$1<redacted>"
  ],
  [new RegExp(`((?:${label})\\s+(?:(?:is|was)\\s+)?)(?=\\S{0,60}\\d)[^\\s,;]{6,}`, "gi"), "$1<redacted>"],
  [
    new RegExp(`((?:${label})\\s[^.=:'"\\x60]{0,20})(?:'[^']{3,}'|"[^"]{3,}"|\\x60[^\\x60]{3,}\\x60)`, "gi"),
    "$1<redacted>"
  ],
  [/((?:\b|_)(?:key|pass|pw|auth|sig|otp|sid|bearer)=|\b\w{0,20}sess\w{0,10}id=)[^\s,;&"')]+/gi, "$1<redacted>"],
  [/(\s-(?:u|p|-(?:api-key|token|password|user)) ?)\S{5,}/g, "$1<redacted>"],
  [/(<(?:\w{0,40}(?:password|secret|token|key))>)[^<]*/gi, "$1<redacted>"],
  [/\bcards?\b([^.\d]{0,20})\d{12,19}\b/gi, "card$1<redacted>"],
  [/\b(bearer|basic)\s+(?:(?=[\w.~+/-]{0,200}[\d=])[\w.~+/=-]{8,}|[\w.~+/=-]{16,})/gi, "$1 <redacted>"],
  // Keys by their prefix, and JSON web tokens.
  [/\b(?:sk|pk|rk|gh[pousr]|github_pat|glpat|xox[abprs]|npm|hf|whsec|shp(?:at|ca|pa|ss))[_-][\w-]{8,}/g, "<redacted>"],
  // Those of AWS, Google, Bedrock, Groq, xAI, Replicate, Perplexity, Fireworks, NVIDIA, Cerebras, Together AI and Vercel, too.
  [
    /\b(?:AKIA|ASIA|AIza|eyJ|ya29\.|SG\.|ABSK|(?:gsk|xai|r8|pplx|fw|nvapi|csk|tgp_v1|vck)[_-](?=[\w-]{20}))[\w.+/=-]{12,}/g,
    "<redacted>"
  ],
  [/\b(?=[\w-]{0,60}\d)[\w-]{0,60}(?:secret|passw)[\w-]{0,60}/gi, "<redacted>"],
  // A long run of letters and digits, except a UUID.
  [
    /(?<![\w+/-])(?![\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b)(?=[\w+/-]{0,200}\d)(?=[\w+/-]{0,200}[a-z])[\w+/-]{32,}=*/gi,
    "<redacted>"
  ],
  [/\b\d{4}([ -])\d{4}\1\d{4}\1\d{1,7}\b/g, "<redacted>"],
  ...paths.map((path) => [path, "<path>"] as const),
  [/(?<![\w.])(?:~|\.{1,2})?(?:\/[\w.@+-]+){3,}\/?/g, "<path>"],
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g, "<address>"],
  [/(?<![\w:])\[?(?=[\d:]{0,40}[a-f])(?:[\da-f]{1,4}:){4,7}[\da-f]{1,4}\]?(?::\d{1,5})?(?![\w:])/gi, "<address>"],
  [
    /(?<![\w:])\[?(?:(?:[\da-f]{1,4}:){1,6}|:):[\da-f]{1,4}(?::[\da-f]{1,4}){0,6}\]?(?::\d{1,5})?(?![\w:])/gi,
    "<address>"
  ],
  [/\b(?:localhost|(?:[\w-]{1,63}\.){1,10}[a-z][\w-]{0,62}):\d{2,5}\b/gi, "<address>"],
  [/\b(?:[a-z\d-]{1,63}\.){2,10}[a-z]{2,63}\b/gi, "<address>"],
  [/\b(?:[A-Z]\w{0,60})?(?:Error|Exception)\b:\s*/g, ""],
  [/\b[A-Z][a-z\d]\w{0,60}(?:Error|Exception)\b/g, "<error>"],
  [/\[object \w+\]/g, ""]
]
