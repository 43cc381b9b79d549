/** Explains why a value does not fit its schema: one issue for each field. */
import { adviceFor, keyMeant, keysMeant } from "./coercion/advice.ts"
import { writtenAt } from "./coercion/writtenAt.ts"
import { type Field, fieldsOf, type Finding } from "./finding.ts"
import { asJson, isObject, type Json, type JsonSchema, partAt, type Path } from "./json.ts"
import { type Limits, limitsOf, type Options } from "./options.ts"
import type { Issue, IssueKind, Misfit as MisfitRefusal } from "./refusal.ts"
import { ByPath } from "./schema/byPath.ts"
import { type Conformance, conformanceTo, type Misfit } from "./schema/conformance.ts"
import { choicesOf, type Document, documentOf, propertiesOf } from "./schema/document.ts"
import { describe, expectationFor, unsafeInteger } from "./schema/expectation.ts"
import { Gathered, type Group, listFindings, within } from "./schema/gathered.ts"
import { secretsOf } from "./secret.ts"
import * as Suggestion from "./suggestion.ts"
import { excerpt } from "./text/excerpt.ts"
import { kindOf, mark, nameOf, type NumberAt, pathOf, placeOf, show, Unsafe, type Value } from "./value.ts"

/** Options of `explain`. */
export interface Explaining extends Pick<Options, "secrets"> {
  readonly limits?: Pick<Limits, "issues">
  /** Returns the source text of the number at a path, if that text is known. */
  readonly numberAt?: NumberAt
  /** The value that the model wrote, if `explain` is given a coerced value. Issues then quote the written value. */
  readonly written?: { readonly value: Json; readonly numberAt?: NumberAt }
  /**
   * Findings of another validator. If the schema and a finding report the same field, the schema's words are
   * used. For a bound, however, they are replaced by the finding's words (`isAuthors`) or `keywords`.
   */
  readonly findings?: ReadonlyArray<Finding>
  /**
   * Formats a value for an issue. By default, an excerpt is shown. Secrets are never passed to this function:
   * only their kind is shown.
   */
  readonly show?: (value: unknown) => string
}

/**
 * Explains why a value does not fit its schema: one issue for each field, by default at most twenty.
 *
 * When to use: for a value that must not be coerced, or to include the findings of another validator, such as
 * Effect's decoder or zod. `fit` and `decode` already call `explain`.
 *
 * @example
 * ```ts
 * import { explain, message } from "@fallible/arguments"
 *
 * const schema = { type: "object", properties: { days: { type: "integer", minimum: 1, maximum: 5 } } }
 *
 * message(explain({ days: 7 }, schema)!) // => "'days': expected integer from 1 to 5, got 7."
 * explain({ days: 3 }, schema) // => undefined
 * ```
 *
 * @param value any JSON value
 * @param schema the JSON Schema of the value, including its definitions; `undefined` if only another
 * validator checks the value
 * @returns `undefined` if there is nothing to report
 */
export const explain = (
  value: unknown,
  schema: JsonSchema | undefined,
  options: Explaining = {}
): MisfitRefusal | undefined => {
  const { findings = [], numberAt, written } = options
  const { issues: limit } = limitsOf(options)
  const root = schema ?? anything
  // Without a schema, the value might not be JSON at all, so it is not walked.
  const json = asJson(value)
  const marked = schema === undefined ? json : mark(json, numberAt)
  const conformance = conformanceTo(root, schema === undefined ? null : marked)
  const original = written === undefined ? marked : mark(written.value, written.numberAt)
  const isSecret = secretsOf(root, options)
  const actual = (path: Path, received: Value | undefined): string =>
    (isSecret(path) ? kindOf : options.show ?? show)(original === marked ? received : writtenAt(original, marked, path))
  const { fields, isWhole, unions } = schema === undefined
    ? { fields: [], unions: [], isWhole: true }
    : conformance.misfits(marked, schema, limit)

  const reported = fieldsOf(findings)
  const groups = fields.map((group) => ({
    ...group,
    first: group.first.map((misfit) =>
      issueOf(misfit, conformance, {
        isSecret: isSecret(misfit.path),
        actual: actual(misfit.path, misfit.value),
        finding: misfit.kind === "bound" ? reported.at(misfit.path) : undefined
      })
    )
  }))

  // Keeps the findings that no misfit covers. If a value fits no member of a union, findings inside that
  // value are dropped: they may concern a member other than the reported one. Inside any union, findings
  // about keys and types are dropped, too.
  const isCovered = within(fields)
  const settledUnions = new ByPath<true>()
  if (findings.length > 0) { for (const place of unions) settledUnions.set(pathOf(place), true) }
  const unexplained = reported.all.filter(({ kind, path }) =>
    !isCovered(path) && !settledUnions.hasAlong(path) && !(kind !== "check" && conformance.document.isInUnion(path))
  )
  const rest = new Gathered<Issue>(limit)
  for (const finding of unexplained.length === 0 && groups.length === 0 ? reported.all : unexplained) {
    const { path } = finding
    rest.add(
      placeOf(path),
      () => issueFrom(finding, root, json, isSecret(path), actual(path, asValue(partAt(marked, path))))
    )
  }
  const issues = listFindings(
    [...groups, ...rest.groups()],
    limit,
    (group, count) => issueForOthers(group, count, isWhole)
  )
  return issues.length === 0 ? undefined : refusalWith(issues, root, json)
}

const anything: JsonSchema = {}

/** Turns a misfit into an issue. */
const issueOf = (
  misfit: Misfit,
  conformance: Conformance,
  how: { readonly isSecret: boolean; readonly actual: string; readonly finding: Field | undefined }
): Issue => {
  const { kind, path } = misfit
  const { actual, finding, isSecret } = how
  const advice = isSecret || misfit.value instanceof Unsafe ? undefined : adviceFor(misfit, conformance)
  const expected = finding?.isAuthors === true
    ? finding.expected
    : expectation(conformance.document.flat(misfit.schema), conformance.document, finding?.keywords, misfit.value) ??
      expectedBy(misfit, conformance, isSecret)
  return { kind: kinds[kind], path, expected, actual, ...(advice === undefined ? {} : { advice }) }
}

const kinds: { readonly [K in Misfit["kind"]]: IssueKind } = {
  bound: "bound",
  choice: "choice",
  complex: "complex",
  contains: "form",
  count: "form",
  format: "format",
  key_name: "unknown_key",
  missing_key: "missing_key",
  type: "type",
  union: "form",
  unknown_key: "unknown_key"
}

const noSuchKey = "no such key"

const expectedBy = (misfit: Misfit, { document }: Conformance, isSecret: boolean): string => {
  const { kind, schema, value } = misfit
  // One part of the schema may require a key, and a different part may describe it.
  const words = (otherwise: string) =>
    describe(schema, document) ?? describe(document.at(misfit.path), document) ?? otherwise
  if (kind === "unknown_key") return noSuchKey
  if (kind === "key_name") return `a key that is ${words("another")}`
  if (kind === "missing_key") return words("a value")
  if (kind === "complex") return "a simpler value"
  if (kind === "count") return `exactly one of ${words("several forms")}`
  if (kind === "contains") return containing(schema, document)
  if (schema === false) return "nothing"
  // For a secret, choices keep their order: sorting them by distance would reveal the value.
  return expectationFor(isSecret ? undefined : value, schema, document) ??
    (value instanceof Unsafe ? unsafeInteger : kind === "union" ? "another form" : "another value")
}

const containing = (schema: unknown, document: Conformance["document"]): string => {
  const { contains, maxContains, minContains = 1 } = isObject(schema) ? schema : {}
  const max = typeof maxContains === "number" ? ` and at most ${maxContains}` : ""
  return `array with at least ${Number(minContains)}${max} of: ${describe(contains, document) ?? "certain items"}`
}

// Describes the schema's expectation, with the more exact keywords of the other validator.
const expectation = (
  flat: JsonSchema,
  document: Document,
  keywords: JsonSchema = {},
  value: unknown
): string | undefined => {
  if (Object.keys(keywords).length === 0) return undefined
  const type = Array.isArray(value) ? "array" : "string"
  const base = [flat, ...(document.members(flat) ?? [])].find((member) => member["type"] === type)
  return describe({ ...base, type, ...keywords }, document)
}

// Turns a finding that only the other validator has reported into an issue.
const issueFrom = (finding: Field, schema: JsonSchema, value: Json, isSecret: boolean, actual: string): Issue => {
  const { keywords, kind, path } = finding
  const document = documentOf(schema)
  const received = partAt(value, path)
  if (kind === "key" && received !== undefined) {
    const parent = path.slice(0, -1)
    const advice = keyMeant(String(path.at(-1)), keysAt(schema, parent), partAt(value, parent))
    return { kind: "unknown_key", path, expected: noSuchKey, actual, ...(advice === undefined ? {} : { advice }) }
  }
  const described = describe(document.at(path), document)
  // The other validator's words are not used if they quote a secret.
  const words = finding.expected !== "" && isSecret && mentions(finding.expected, received)
    ? described ?? "a valid value"
    : finding.expected
  const exact = expectation(document.at(path) ?? {}, document, keywords, received)
  // For a union, the other validator may name only the nearest members; the schema names all of them.
  const isOfUnion = !finding.isAuthors && document.formsAt(path).length > 1
  const expected = kind === "key"
    ? described ?? "a value"
    : exact === undefined && isOfUnion && described !== undefined
    ? described
    : [exact, words].filter((words) => words !== undefined && words !== "").join(" or ")
  return { kind: kind === "key" ? "missing_key" : kind === "type" ? "type" : "other", path, expected, actual }
}

/** True if these words contain the value, or a part of it. */
const mentions = (words: string, value: unknown): boolean =>
  typeof value === "object" && value !== null
    ? Object.values(value).some((part) => mentions(words, part))
    : (typeof value === "string" || typeof value === "number") && value !== "" && words.includes(String(value))

const asValue = (value: unknown): Value | undefined => value as Value | undefined

// Makes one issue for the remaining items of an array with the same mistake. Up to three items have their own issues.
const issueForOthers = ({ first, path }: Group<Issue>, count: number, isWhole: boolean): Issue => {
  const index = path.findIndex((key) => typeof key === "number")
  const [array, field] = [path.slice(0, index), path.slice(index + 1)]
  const [expected = "", ...rest] = new Set(first.map(({ expected }) => expected))
  const { kind = "other" } = first[0] ?? {}
  const of = field.length === 0 ? "" : `${nameOf(field)} of `
  return {
    kind,
    path: array,
    expected: kind === "unknown_key"
      ? `${noSuchKey} as ${nameOf(field)}`
      : `${rest.length === 0 ? expected : "the same"} for ${of}each item`,
    actual: `${isWhole ? "" : "at least "}${count} more ${count === 1 ? "item" : "items"} like these`,
    more: count
  }
}

// -----------------------------------------------------------------------------
// The refusal
// -----------------------------------------------------------------------------

const keysAt = (schema: JsonSchema, path: Path): ReadonlyArray<string> =>
  Array.from(new Set(documentOf(schema).formsAt(path).flatMap((form) => Object.keys(propertiesOf(form)))))

const choicesAt = (schema: JsonSchema, path: Path): ReadonlyArray<string> =>
  documentOf(schema).formsAt(path).flatMap((form) =>
    choicesOf(form)?.map((choice) => typeof choice === "string" ? choice : excerpt(choice)) ?? []
  )

const refusalWith = (issues: ReadonlyArray<Issue>, schema: JsonSchema, value: Json): MisfitRefusal => {
  const atFault = issues.find(({ kind }) => kind === "unknown_key" || kind === "missing_key")
  const path = atFault?.path.slice(0, -1) ?? []
  const names = atFault === undefined ? [] : keysAt(schema, path)
  return {
    kind: "misfit",
    issues,
    alternatives: alternatives(issues, schema, value),
    ...(atFault !== undefined && (names.length > 0 || takesNothing(schema)) ? { keys: { path, names } } : {})
  }
}

/** True for the schema of an object that allows no keys. */
const takesNothing = (schema: JsonSchema): boolean =>
  schema["additionalProperties"] === false && Object.keys(propertiesOf(schema)).length === 0

// Returns the allowed keys of the object with an unknown key. If no key is unknown, returns the choices of
// the only field with an issue.
const alternatives = (issues: ReadonlyArray<Issue>, schema: JsonSchema, value: Json): ReadonlyArray<string> => {
  const unknown = issues.find(({ kind }) => kind === "unknown_key")
  if (unknown !== undefined) {
    const parent = unknown.path.slice(0, -1)
    return keysMeant(String(unknown.path.at(-1)), keysAt(schema, parent), partAt(value, parent))
  }
  const [only, ...rest] = issues
  if (only === undefined || rest.length > 0) return []
  const received = partAt(value, only.path)
  return Suggestion.nearest(typeof received === "string" ? received : excerpt(received), choicesAt(schema, only.path))
}
