/*
 * The author's own rules for arguments: a schema of any library, with which an async handler checks its parameters.
 *
 * An error of a schema does not say what it has checked. It counts as being about the parameters if it was thrown before the
 * handler waited for anything, so that no answer of a service can be meant, and if each of its issues fits the parameters:
 *
 * - its path begins with a parameter's name, or it is about the whole, and not about its type;
 * - the value that it shows is the one in the parameters;
 * - the type that it asks for is not the one that the parameter has.
 */
import { redact } from "@fallible/errors"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import { type FromOptions, SchemaMismatch } from "../../ToolFailure.ts"
import { schemaOf } from "../arguments/jsonSchema.ts"
import { cut } from "../value/text.ts"
import { isA } from "../value/untrusted.ts"

/**
 * Returns the failure of a call whose arguments break a rule of the author's; `undefined` for any other error. Like any error,
 * it does not prove that nothing was done, unless its class is declared in `refuses`.
 *
 * @param error what the handler threw before it waited for anything
 */
export const rejectionOf = (
  error: unknown,
  params: unknown,
  parameters: Schema.Constraint,
  { refuses = [] }: FromOptions
): SchemaMismatch | undefined => {
  const issues = issuesIn(error)
  if (issues.length === 0) return undefined
  // A parameter may be missing in the arguments, and have another name there than in the schema.
  const names = new Set(
    [params, schemaOf(parameters)["properties"]].flatMap((one) => Object.keys(Object(one) as object))
  )
  if (!issues.every((issue) => fits(issue, params, names))) return undefined
  const shown = issues.map(({ message, path: [first, ...rest] }) => {
    if (first === undefined) return { path: [], text: message }
    const isSecret = Redacted.isRedacted(fieldOf(params, String(first)))
    return { path: [first, ...rest], text: isSecret ? "It breaks a rule." : message }
  })
  return new SchemaMismatch({
    side: "arguments",
    code: "invalid_arguments",
    detail: cut(
      shown.map(({ path, text }) => path.length === 0 ? text : `'${path.join(".")}': ${text}`).join(" "),
      500
    ),
    issues: shown.map(({ path, text }) => ({ path, ...broken, advice: text })),
    cause: error,
    ...(refuses.some((type) => isA(type)(error))
      ? { outcome: "not_executed", evidence: { refused: true } } as const
      : { evidence: { inferred: {} } })
  })
}

const broken = { expected: "a value that fits the tool's rules", actual: "one that does not" }

// -----------------------------------------------------------------------------
// Reading
// -----------------------------------------------------------------------------

interface Issue {
  readonly path: ReadonlyArray<string | number>
  readonly message: string
  /** The value that the issue is about, if it shows one. */
  readonly shown: { readonly value: unknown } | undefined
}

/** The issues of an error of Effect's `Schema`, of a library with Standard Schema, such as zod or valibot, or of ArkType. */
const issuesIn = (error: unknown): ReadonlyArray<Issue> => {
  const list = Schema.isSchemaError(error)
    ? SchemaIssue.makeFormatterStandardSchemaV1()(error.issue).issues
    : listIn(fieldOf(error, "issues") ?? fieldOf(error, "arkErrors"))
  const issues = list.slice(0, most).flatMap((issue) => issueOf(issue) ?? [])
  return issues.length < Math.min(list.length, most) ? [] : issues
}

const issueOf = (issue: unknown): Issue | undefined => {
  const message = fieldOf(issue, "message")
  if (typeof message !== "string") return undefined
  return { path: listIn(fieldOf(issue, "path")).map(keyOf), message: sentence(message), shown: shownIn(issue) }
}

/** The most issues of an error, and keys of a path, that are read. */
const most = 20

const listIn = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value.slice(0, most) : []

// A segment of a path may be an object with a `key`.
const keyOf = (segment: unknown): string | number => {
  const key = fieldOf(segment, "key") ?? segment
  return typeof key === "number" ? key : cut(redact(String(key)), 60)
}

const sentence = (message: string): string => {
  const text = cut(redact(message), 200)
  return /[.!?…)]$/.test(text) ? text : `${text}.`
}

// ArkType shows the value as `data`. Its `input` is something else.
const shownIn = (issue: unknown): Issue["shown"] => {
  const key = ["data", "input"].find((key) => Predicate.hasProperty(issue, key))
  return key === undefined ? undefined : { value: fieldOf(issue, key) }
}

const fieldOf = (value: unknown, key: string): unknown => Predicate.hasProperty(value, key) ? value[key] : undefined

// -----------------------------------------------------------------------------
// Judging
// -----------------------------------------------------------------------------

const fits = ({ message, path, shown }: Issue, params: unknown, names: ReadonlySet<string>): boolean => {
  const [first] = path
  const type = expectedType.exec(message)?.[1]?.toLowerCase()
  if (first === undefined) return type === undefined && (shown === undefined || isIn(shown.value, params))
  const value = path.reduce<unknown>((value, key) => revealed(fieldOf(value, String(key))), params)
  return names.has(String(first)) && type !== kindOf(value) && (shown === undefined || isSame(shown.value, value))
}

/** `Expected string, received number`, but not `expected string to have >=1 characters`. */
const expectedType = /\bexpected (?:an? )?(string|number|boolean|bigint|object|array|date)\b(?! to\b)/i

const kindOf = (value: unknown): string =>
  Array.isArray(value) ? "array" : value === null ? "null" : value instanceof Date ? "date" : typeof value

// Libraries copy objects before they check them.
const isSame = (shown: unknown, value: unknown): boolean => kindOf(shown) === "object" || Object.is(shown, value)

const isIn = (shown: unknown, params: unknown): boolean =>
  kindOf(shown) === "object" ||
  Object.values(Object(params) as object).some((value) => Object.is(shown, revealed(value)))

const revealed = (value: unknown): unknown => Redacted.isRedacted(value) ? Redacted.value(value) : value
