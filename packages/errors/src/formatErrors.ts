/*
 * Unreadable answers: incomplete JSON, a web page instead of JSON, a value that does not match its schema.
 */
import { invalid, type Recognized } from "./kind.ts"
import { at, isRecord, listAt, max, namesOf, textAt } from "./reading.ts"
import { redact } from "./redact.ts"

/** Recognizes an error of `JSON.parse`. The error's message differs between engines, and may quote the text. */
export const ofSyntax = (error: object): Recognized | undefined => {
  const message = textAt(error, "message") ?? ""
  if (!namesOf(error).includes("SyntaxError") || !/JSON/.test(message)) return undefined
  return syntaxOf(message)
}

/** Classifies a message of `JSON.parse`. */
export const syntaxOf = (message: string): Recognized =>
  unreadable.find(([pattern]) => pattern.test(message))?.[1] ?? notJson

const notJson: Recognized = {
  kind: invalid("answer", "invalid_json"),
  sentence: "The service's answer is not valid JSON."
}

/** V8 reports the position, but not whether the text ends there. */
const brokenOff: Recognized = {
  ...notJson,
  sentence: "The service's answer is not valid JSON: it is wrong, or was cut off."
}

const unreadable: ReadonlyArray<readonly [message: RegExp, Recognized]> = [
  [/unexpected end|unterminated|EOF|No number after|missing a number/i, {
    kind: invalid("answer", "truncated"),
    sentence: "The service's answer is empty or was cut off: its JSON is incomplete."
  }],
  [/^(?:Expected .*|Bad Unicode escape) in JSON at position/, brokenOff],
  [/token '?</, { kind: notJson.kind, sentence: "The service answered with a web page instead of JSON." }]
]

/**
 * Recognizes an error of a schema: of Effect, or of a library with Standard Schema
 * (https://standardschema.dev), such as zod.
 */
export const ofIssues = (error: object): Recognized | undefined => {
  const issue = at(error, "issue")
  const isOfEffect = at(issue, "~effect/SchemaIssue/Issue") !== undefined
  const own = isOfEffect
    ? pathsIn(issue, [])
    : [...listAt(error, "issues"), ...listAt(error, "arkErrors")].filter((one) => textAt(one, "message") !== undefined)
      .map((one) => listAt(one, "path"))
  if (own.length === 0 && !isOfEffect) return undefined
  // A schema's own message may quote the value, so it is not shown.
  const paths = own.map(shownPath)
  const places = paths.filter((path) => path.length > 0).map((path) => `'${path.join(".").slice(0, 80)}'`)
  return { kind: invalid("answer"), sentence: `The result does not match its schema${placesText(places)}.`, paths }
}

const placesText = (places: ReadonlyArray<string>): string => {
  const more = places.length - maxPlaces
  return places.length === 0
    ? ""
    : ` at ${places.slice(0, maxPlaces).join(", ")}${more > 0 ? ` and ${more} more` : ""}`
}

const maxPlaces = 10

type Path = ReadonlyArray<unknown>

/**
 * The first paths of an issue of Effect: a tree whose inner nodes have an `issue` or `issues`, and some of them a `path`.
 * Issues may be circular, so this stops as soon as it has found enough.
 *
 * @param found the paths that were found before; this adds to them
 */
const pathsIn = (issue: unknown, found: Array<Path>, before: Path = [], depth = 0): ReadonlyArray<Path> => {
  const path = [...before, ...listAt(issue, "path")]
  const inner = [at(issue, "issue"), ...listAt(issue, "issues")].filter(isRecord)
  if (inner.length === 0 || depth > 50) found.push(path)
  else for (const one of inner) if (found.length < max.items) pathsIn(one, found, path, depth + 1)
  return found
}

// A segment of a path may be an object with a `key`. A key that may be data, instead of a field's name, is hidden.
const shownPath = (path: Path): ReadonlyArray<string | number> =>
  path.map((segment) => {
    const key = at(segment, "key") ?? segment
    if (Number.isInteger(key)) return Number(key)
    return typeof key === "string" && /^[\w$-]{1,60}$/.test(key) && redact(key) === key ? key : "…"
  })
