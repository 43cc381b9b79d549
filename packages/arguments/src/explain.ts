/**
 * Why a value does not fit its schema: one issue for each field.
 */
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
import { Gathered, type Group, listed, within } from "./schema/gathered.ts"
import { secretsOf } from "./secret.ts"
import * as Suggestion from "./suggestion.ts"
import { excerpt } from "./text/excerpt.ts"
import { kindOf, mark, nameOf, type NumberAt, pathOf, placeOf, show, Unsafe, type Value } from "./value.ts"

/** What `explain` may be told. */
export interface Explaining extends Pick<Options, "secrets"> {
  readonly limits?: Pick<Limits, "issues">
  /** The source text of a number at a path, where it is known. */
  readonly numberAt?: NumberAt
  /** What the model wrote, where the value was coerced: issues show that. */
  readonly written?: { readonly value: Json; readonly numberAt?: NumberAt }
  /** What another validator found. Where both speak of a field, it has the word only in its author's words. */
  readonly findings?: ReadonlyArray<Finding>
  /** How a value is put. Default: an excerpt; of a secret, what kind of value it is. */
  readonly show?: (value: unknown) => string
}

/**
 * Everything about a value that does not fit: one issue for each field, at most twenty.
 *
 * When to use: `fit` and `decode` do. By itself, to join what another validator found to it, as Effect's decoder or zod do (`findings`), or for a value that
 * is not to be coerced.
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
 * @param value any JSON
 * @param schema the JSON Schema that describes it, with its definitions inside; `undefined` where another validator alone knows
 * @returns `undefined` when there is nothing to say
 */
export const explain = (
  value: unknown,
  schema: JsonSchema | undefined,
  options: Explaining = {}
): MisfitRefusal | undefined => {
  const { findings = [], numberAt, written } = options
  const { issues: most } = limitsOf(options)
  const root = schema ?? unsaid
  // What no schema describes may be no JSON either, and is not walked.
  const json = asJson(value)
  const marked = schema === undefined ? json : mark(json, numberAt)
  const conformance = conformanceTo(root, schema === undefined ? null : marked)
  const original = written === undefined ? marked : mark(written.value, written.numberAt)
  const isSecret = secretsOf(root, options)
  const actual = (path: Path, came: Value | undefined): string =>
    (isSecret(path) ? kindOf : options.show ?? show)(original === marked ? came : writtenAt(original, marked, path))
  const { fields, isWhole, unions } = schema === undefined
    ? { fields: [], unions: [], isWhole: true }
    : conformance.misfits(marked, schema, most)

  const said = fieldsOf(findings)
  const own = fields.map((group) => ({
    ...group,
    first: group.first.map((misfit) =>
      issueOf(misfit, conformance, {
        isSecret: isSecret(misfit.path),
        actual: actual(misfit.path, misfit.value),
        finding: misfit.kind === "bound" ? said.at(misfit.path) : undefined
      })
    )
  }))

  // What the schema does not see. Where one member of a union was meant, the others have nothing to say.
  const isTold = within(fields)
  const settled = new ByPath<true>()
  if (findings.length > 0) { for (const place of unions) settled.set(pathOf(place), true) }
  const news = said.all.filter(({ kind, path }) =>
    !isTold(path) && !settled.hasAlong(path) && !(kind !== "check" && conformance.document.isInUnion(path))
  )
  const rest = new Gathered<Issue>(most)
  for (const finding of news.length === 0 && own.length === 0 ? said.all : news) {
    const { path } = finding
    rest.add(
      placeOf(path),
      () => found(finding, root, json, isSecret(path), actual(path, asValue(partAt(marked, path))))
    )
  }
  const issues = listed([...own, ...rest.groups()], most, (group, count) => others(group, count, isWhole))
  return issues.length === 0 ? undefined : refusal(issues, root, json)
}

const unsaid: JsonSchema = {}

/** How a misfit is told. */
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
  // What a part of the schema requires, another part may describe.
  const words = (otherwise: string) =>
    describe(schema, document) ?? describe(document.at(misfit.path), document) ?? otherwise
  if (kind === "unknown_key") return noSuchKey
  if (kind === "key_name") return `a key that is ${words("another")}`
  if (kind === "missing_key") return words("a value")
  if (kind === "complex") return "a simpler value"
  if (kind === "count") return `exactly one of ${words("several forms")}`
  if (kind === "contains") return containing(schema, document)
  if (schema === false) return "nothing"
  // A secret is not compared with what it could have been.
  return expectationFor(isSecret ? undefined : value, schema, document) ??
    (value instanceof Unsafe ? unsafeInteger : kind === "union" ? "another form" : "another value")
}

const containing = (schema: unknown, document: Conformance["document"]): string => {
  const { contains, maxContains, minContains = 1 } = isObject(schema) ? schema : {}
  const most = typeof maxContains === "number" ? ` and at most ${maxContains}` : ""
  return `array with at least ${Number(minContains)}${most} of: ${describe(contains, document) ?? "certain items"}`
}

// What the schema says at a place, with the keywords that the other validator knows better.
const expectation = (
  shown: JsonSchema,
  document: Document,
  keywords: JsonSchema = {},
  value: unknown
): string | undefined => {
  if (Object.keys(keywords).length === 0) return undefined
  const type = Array.isArray(value) ? "array" : "string"
  const own = [shown, ...(document.members(shown) ?? [])].find((member) => member["type"] === type)
  return describe({ ...own, type, ...keywords }, document)
}

// What another validator alone has found.
const found = (finding: Field, schema: JsonSchema, value: Json, isSecret: boolean, actual: string): Issue => {
  const { keywords, kind, path } = finding
  const document = documentOf(schema)
  const came = partAt(value, path)
  if (kind === "key" && came !== undefined) {
    const parent = path.slice(0, -1)
    const advice = keyMeant(String(path.at(-1)), keysAt(schema, parent), partAt(value, parent))
    return { kind: "unknown_key", path, expected: noSuchKey, actual, ...(advice === undefined ? {} : { advice }) }
  }
  const said = describe(document.at(path), document)
  // No author's words quote a secret.
  const own = finding.expected !== "" && isSecret && mentions(finding.expected, came)
    ? said ?? "a valid value"
    : finding.expected
  const exact = expectation(document.at(path) ?? {}, document, keywords, came)
  // Of a union another validator may name the members that came nearest; the schema names all.
  const isOfUnion = !finding.isAuthors && document.formsAt(path).length > 1
  const expected = kind === "key"
    ? said ?? "a value"
    : exact === undefined && isOfUnion && said !== undefined
    ? said
    : [exact, own].filter((words) => words !== undefined && words !== "").join(" or ")
  return { kind: kind === "key" ? "missing_key" : kind === "type" ? "type" : "other", path, expected, actual }
}

/** Is a value, or a part of it, in these words? */
const mentions = (words: string, value: unknown): boolean =>
  typeof value === "object" && value !== null
    ? Object.values(value).some((part) => mentions(words, part))
    : (typeof value === "string" || typeof value === "number") && value !== "" && words.includes(String(value))

const asValue = (value: unknown): Value | undefined => value as Value | undefined

// Sixty items that are wrong in the same way are told of three times, and counted.
const others = ({ first, path }: Group<Issue>, count: number, isWhole: boolean): Issue => {
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
// What stands beside the mistakes
// -----------------------------------------------------------------------------

const keysAt = (schema: JsonSchema, path: Path): ReadonlyArray<string> =>
  Array.from(new Set(documentOf(schema).formsAt(path).flatMap((form) => Object.keys(propertiesOf(form)))))

const choicesAt = (schema: JsonSchema, path: Path): ReadonlyArray<string> =>
  documentOf(schema).formsAt(path).flatMap((form) =>
    choicesOf(form)?.map((choice) => typeof choice === "string" ? choice : excerpt(choice)) ?? []
  )

const refusal = (issues: ReadonlyArray<Issue>, schema: JsonSchema, value: Json): MisfitRefusal => {
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

/** Is it an object without any keys? */
const takesNothing = (schema: JsonSchema): boolean =>
  schema["additionalProperties"] === false && Object.keys(propertiesOf(schema)).length === 0

// The keys of the object with an unknown one, else the choices of the one field at fault.
const alternatives = (issues: ReadonlyArray<Issue>, schema: JsonSchema, value: Json): ReadonlyArray<string> => {
  const unknown = issues.find(({ kind }) => kind === "unknown_key")
  if (unknown !== undefined) {
    const parent = unknown.path.slice(0, -1)
    return keysMeant(String(unknown.path.at(-1)), keysAt(schema, parent), partAt(value, parent))
  }
  const [only, ...rest] = issues
  if (only === undefined || rest.length > 0) return []
  const came = partAt(value, only.path)
  return Suggestion.nearest(typeof came === "string" ? came : excerpt(came), choicesAt(schema, only.path))
}
