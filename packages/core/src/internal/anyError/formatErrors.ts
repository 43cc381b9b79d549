/*
 * Unreadable answers: incomplete JSON, a web page instead of JSON, a value that does not match its schema.
 */
import * as SchemaIssue from "effect/SchemaIssue"
import { list } from "../value/text.ts"
import { attempted } from "../value/untrusted.ts"
import { type Issue, mismatch, type Recognized } from "./errorKind.ts"
import { at, listAt, namesOf, textAt } from "./readError.ts"
import { withoutInsides } from "./safeText.ts"

/** Recognizes an error of `JSON.parse`. The error's message differs between engines, and may quote the text. */
export const ofSyntax = (error: object): Recognized | undefined => {
  const message = textAt(error, "message") ?? ""
  if (!namesOf(error).includes("SyntaxError") || !/JSON/.test(message)) return undefined
  return syntaxOf(message)
}

/** Classifies a message of `JSON.parse`. */
export const syntaxOf = (message: string): Recognized =>
  unreadable.find(([pattern]) => pattern.test(message))?.[1] ?? invalid

const invalid: Recognized = {
  kind: mismatch("result", "invalid_json"),
  sentence: "The service's answer is not valid JSON."
}

/** V8 reports the position, but not whether the text ends there. */
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

/**
 * Recognizes an error of a schema: of Effect, or of a library with Standard Schema
 * (https://standardschema.dev), such as zod.
 */
export const ofIssues = (error: object): Recognized | undefined => {
  const issue = at(error, "issue")
  const isOfEffect = SchemaIssue.isIssue(issue)
  const schemaIssues = isOfEffect
    ? listAt(attempted(() => formatted(issue)), "issues")
    : listAt(error, "issues").filter((issue) => textAt(issue, "message") !== undefined)
  if (schemaIssues.length === 0 && !isOfEffect) return undefined
  // A schema's own message may quote the value, so it is not shown.
  const issues = schemaIssues.map((issue): Issue => ({
    path: pathOf(issue),
    expected: "a value that matches the schema",
    actual: "one that does not"
  }))
  const places = issues.filter(({ path }) => path.length > 0).map(({ path }) => path.join("."))
  const where = places.length === 0 ? "" : ` at ${list(places)}`
  return { kind: mismatch("result"), sentence: `The result does not match its schema${where}.`, issues }
}

// A segment of a path may be an object with a `key`. A key that may be data, instead of a field's name, is hidden.
const pathOf = (issue: unknown): ReadonlyArray<string | number> =>
  listAt(issue, "path").map((segment) => {
    const key = at(segment, "key") ?? segment
    if (Number.isInteger(key)) return Number(key)
    return typeof key === "string" && /^[\w$-]{1,60}$/.test(key) && withoutInsides(key) === key ? key : "…"
  })

const formatted = SchemaIssue.makeFormatterStandardSchemaV1()
