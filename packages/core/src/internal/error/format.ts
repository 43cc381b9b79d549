/*
 * An answer that cannot be read: JSON that breaks off, a page in its place, a value that does not have the declared form.
 */
import * as SchemaIssue from "effect/SchemaIssue"
import { list } from "../value/text.ts"
import { attempted } from "../value/untrusted.ts"
import { type Issue, mismatch, type Recognized } from "./kind.ts"
import { at, listAt, namesOf, textAt } from "./look.ts"
import { withoutInsides } from "./words.ts"

/** What `JSON.parse` throws. Its words differ from engine to engine, and may quote the text. */
export const ofSyntax = (error: object): Recognized | undefined => {
  const message = textAt(error, "message") ?? ""
  if (!namesOf(error).includes("SyntaxError") || !/JSON/.test(message)) return undefined
  return syntaxOf(message)
}

/** What the words of `JSON.parse` say. */
export const syntaxOf = (message: string): Recognized =>
  unreadable.find(([pattern]) => pattern.test(message))?.[1] ?? invalid

const invalid: Recognized = {
  kind: mismatch("result", "invalid_json"),
  sentence: "The service's answer is not valid JSON."
}

/** V8 says where, and not whether the text ends there. */
const brokenOff: Recognized = {
  ...invalid,
  sentence: "The service's answer is not valid JSON: it is wrong, or was cut off."
}

const unreadable: ReadonlyArray<readonly [message: RegExp, Recognized]> = [
  [/unexpected end|unterminated|EOF|No number after|missing a number/i, {
    kind: mismatch("result", "truncated"),
    sentence: "The service's answer is empty or was cut off: its JSON is incomplete."
  }],
  [/^(?:Expected .*|Bad Unicode escape) in JSON at position/, brokenOff],
  [/token '?</, { kind: invalid.kind, sentence: "The service answered with a web page instead of JSON." }]
]

/** What a schema says: effect's, or any other of Standard Schema (https://standardschema.dev), such as zod's. */
export const ofIssues = (error: object): Recognized | undefined => {
  const issue = at(error, "issue")
  const isOfEffect = SchemaIssue.isIssue(issue)
  const found = isOfEffect
    ? listAt(attempted(() => formatted(issue)), "issues")
    : listAt(error, "issues").filter((issue) => textAt(issue, "message") !== undefined)
  if (found.length === 0 && !isOfEffect) return undefined
  // What a schema's own message says may quote the value.
  const issues = found.map((issue): Issue => ({
    path: pathOf(issue),
    expected: "a value that matches the schema",
    actual: "one that does not"
  }))
  const places = issues.filter(({ path }) => path.length > 0).map(({ path }) => path.join("."))
  const where = places.length === 0 ? "" : ` at ${list(places)}`
  return { kind: mismatch("result"), sentence: `The result does not match its schema${where}.`, issues }
}

// A step of a path may be an object with the key. Some keys are data.
const pathOf = (issue: unknown): ReadonlyArray<string | number> =>
  listAt(issue, "path").map((step) => {
    const key = at(step, "key") ?? step
    if (Number.isInteger(key)) return Number(key)
    return typeof key === "string" && /^[\w$-]{1,60}$/.test(key) && withoutInsides(key) === key ? key : "…"
  })

const formatted = SchemaIssue.makeFormatterStandardSchemaV1()
