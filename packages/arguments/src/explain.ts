/** Explains why a value does not fit its schema: one issue for each field. */
import { limitsOf } from "./checkedOptions.ts"
import { adviceFor, keysMeant } from "./coercion/advice.ts"
import { writtenAt } from "./coercion/writtenAt.ts"
import {
  asJson,
  distinct,
  isNumber,
  isObject,
  isString,
  type Json,
  type JsonSchema,
  keysOf,
  partAt,
  type Path
} from "./json.ts"
import { memoize } from "./memo.ts"
import { type Limits, noFormats, type Options } from "./options.ts"
import type { Issue, IssueKind, Misfit as MisfitRefusal } from "./refusal.ts"
import { checksWith } from "./schema/check.ts"
import { type Conformance, conformanceTo, type Misfit, nothingAmiss } from "./schema/conformance.ts"
import { choicesOf, declaredBy, documentOf, propertiesOf } from "./schema/document.ts"
import { describe, expectationFor, unsafeInteger } from "./schema/expectation.ts"
import { type Group, listFindings } from "./schema/gathered.ts"
import { secretsOf } from "./secret.ts"
import * as Suggestion from "./suggestion.ts"
import { excerpt } from "./text/excerpt.ts"
import { isUnsafe, kindOf, mark, nameOf, type NumberAt, type Place, show, type Value } from "./value.ts"

/** How a value was written, and how it is shown. */
export interface Explaining extends Pick<Options, "formats" | "secrets"> {
  readonly limits?: Pick<Limits, "issues">
  /** Returns the source text of the number at a path, if that text is known. */
  readonly numberAt?: NumberAt
  /** What has checked the value before, if anything has. */
  readonly conformance?: Conformance | undefined
  /** The value that the model wrote, if the explained value is a coerced one. Issues then quote the written value. */
  readonly written?: { readonly value: Json; readonly numberAt?: NumberAt | undefined }
  /**
   * Formats a value for an issue. By default, an excerpt is shown. Secrets are never passed to this function:
   * only their kind is shown.
   */
  readonly show?: (value: unknown) => string
}

/** Returns the issues of a value, at most `limits.issues`; `undefined` if it fits. */
export const explain = (value: unknown, schema: JsonSchema, options: Explaining = {}): MisfitRefusal | undefined => {
  const examined = examine(value, schema, options)
  return refusalOf(examined, examined.groups)
}

/** The issues of a value, by field, and what is needed to tell more of it. */
export interface Examined {
  readonly root: JsonSchema
  readonly json: Json
  readonly marked: Value
  readonly conformance: Conformance
  readonly groups: ReadonlyArray<Group<Issue>>
  /** The places where the value fits no member of a union. */
  readonly unions: ReadonlyArray<Place | undefined>
  readonly isWhole: boolean
  readonly limit: number
  /** Returns the keys that an object allows, one of whose keys has this issue. */
  readonly keysFor: (issue: Issue) => ReadonlyArray<string>
  readonly isSecret: (path: Path) => boolean
  /** Shows what the model wrote in place of a value. */
  readonly actual: (path: Path, received: Value | undefined) => string
}

/**
 * @param schema `undefined` if only another validator checks the value
 * @param wordsFor returns better words for the expectation of a misfit, if there are any
 */
export const examine = (
  value: unknown,
  schema: JsonSchema | undefined,
  options: Explaining,
  wordsFor: (misfit: Misfit, conformance: Conformance) => string | undefined = noWords
): Examined => {
  const { formats = noFormats, numberAt, written } = options
  const { issues: limit } = limitsOf(options)
  const root = schema ?? anything
  // Without a schema, the value might not be JSON at all, so it is not walked.
  const json = asJson(value)
  const marked = schema ? mark(json, numberAt) : json
  const conformance = options.conformance ??
    conformanceTo(root, schema ? marked : null, checksWith(formats))
  const original = written ? mark(written.value, written.numberAt) : marked
  const isSecret = secretsOf(root, options)
  const actual = (path: Path, received: Value | undefined): string =>
    (isSecret(path) ? kindOf : options.show ?? show)(original === marked ? received : writtenAt(original, marked, path))
  const { fields, isWhole, unions } = schema ? conformance.misfits(marked, schema, limit) : nothingAmiss
  const keysFor = ({ path }: Issue) => {
    // In a union, the keys are those of the member that was meant.
    const { keys = [] } = unions.length > 0
      ? fields.flatMap(({ first }) => first).find((one) => one.path === path) ?? {}
      : {}
    return keys.length > 1 ? keys : keysAt(root, parentOf(path))
  }
  const issueOf = (misfit: Misfit): Issue => {
    const { kind, path, value } = misfit
    const isHidden = isSecret(path)
    const advice = isHidden ? undefined : adviceFor(misfit, conformance)
    const expected = wordsFor(misfit, conformance) ?? expectedBy(misfit, conformance, isHidden)
    const issue = { kind: issueKind(kind), path, expected, actual: actual(path, value) }
    return advice === undefined ? issue : { ...issue, advice }
  }
  const groups = fields.map(({ count, first, path }) => ({ path, first: first.map(issueOf), count }))
  return { root, json, marked, conformance, groups, unions, isWhole, limit, isSecret, actual, keysFor }
}

const anything: JsonSchema = {}

const noWords = () => undefined

/** The kinds of misfits that have another name in an issue. */
type Renamed = Exclude<Misfit["kind"], IssueKind>

const renamed: { readonly [K in Renamed]: IssueKind } = {
  contains: "form",
  count: "form",
  excluded: "form",
  key_name: "unknown_key",
  union: "form"
}

const isRenamed = (kind: Misfit["kind"]): kind is Renamed => kind in renamed

const issueKind = (kind: Misfit["kind"]): IssueKind => isRenamed(kind) ? renamed[kind] : kind

export const noSuchKey = "no such key"

const expectedBy = (misfit: Misfit, { document }: Conformance, isSecret: boolean): string => {
  const { kind, schema, value } = misfit
  // One part of the schema may require a key, and a different part may describe it.
  const words = (otherwise: string) =>
    describe(schema, document) ?? describe(document.at(misfit.path), document) ?? otherwise
  if (kind === "unknown_key") return noSuchKey
  if (kind === "key_name") return `${noSuchKey}: expected ${withExclusion(schema, document, "string")}`
  if (kind === "missing_key") return words("a value")
  if (kind === "complex") return "a simpler value"
  if (kind === "count") return `exactly one of ${words("several forms")}`
  if (kind === "excluded") return withExclusion(schema, document)
  if (kind === "contains") return containing(schema, document)
  if (schema === false) return "nothing"
  // For a secret, choices keep their order: sorting them by distance would reveal the value.
  return expectationFor(isSecret ? undefined : value, schema, document) ??
    (isUnsafe(value) ? unsafeInteger : kind === "union" ? "another form" : "another value")
}

// Describes a schema with the keyword `not`. Its own type counts before the given one.
const withExclusion = (schema: unknown, document: Conformance["document"], type?: string): string => {
  const { not, ...rest } = isObject(schema) ? schema : {}
  const form = describe(type === undefined ? rest : { type, ...rest }, document) ?? type ?? "a value"
  return not === undefined ? form : `${form}, but not ${describe(not, document) ?? "what 'not' excludes"}`
}

const containing = (schema: unknown, document: Conformance["document"]): string => {
  const { contains, maxContains, minContains = 1 } = isObject(schema) ? schema : {}
  const max = isNumber(maxContains) ? ` and at most ${maxContains}` : ""
  return `array with at least ${Number(minContains)}${max} of: ${describe(contains, document) ?? "certain items"}`
}

// Makes one issue for the remaining items of an array with the same mistake. Up to three items have their own issues.
const issueForOthers = ({ first, path }: Group<Issue>, count: number, isWhole: boolean): Issue => {
  const index = path.findIndex((key) => isNumber(key))
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

/** What an object allows: the names of its keys, and the patterns of further keys. */
interface Keys {
  readonly names: ReadonlyArray<string>
  readonly patterns: ReadonlyArray<string>
}

export const keysAt = (schema: JsonSchema, path: Path): ReadonlyArray<string> => allowedAt(schema, path).names

const allowedAt = (schema: JsonSchema, path: Path): Keys =>
  path.length === 0 ? allowedByRoot(schema) : allowedBy(documentOf(schema).formsAt(path))

const allowedBy = (forms: ReadonlyArray<JsonSchema>): Keys => ({
  names: distinct(forms.flatMap(declaredBy)),
  patterns: forms.flatMap(({ patternProperties }) => isObject(patternProperties) ? keysOf(patternProperties) : [])
})

const allowedByRoot = memoize((schema: JsonSchema) => allowedBy(documentOf(schema).formsAt([])))

const choicesAt = (schema: JsonSchema, path: Path): ReadonlyArray<string> =>
  documentOf(schema).formsAt(path).flatMap((form) =>
    choicesOf(form)?.map((choice) => isString(choice) ? choice : excerpt(choice)) ?? []
  )

/** Returns the refusal of a value with these issues; `undefined` if there are none. */
export const refusalOf = (
  { isWhole, json: value, keysFor, limit, root: schema }: Examined,
  groups: ReadonlyArray<Group<Issue>>
): MisfitRefusal | undefined => {
  const issues = listFindings(groups, limit, (group, count) => issueForOthers(group, count, isWhole))
  if (issues.length === 0) return undefined
  const refusal: Refused = { kind: "misfit", issues }
  Object.defineProperty(refusal, origin, { value: { schema, value } satisfies Origin })
  Object.defineProperty(refusal, "alternatives", alternativesOnDemand)
  const atFault = issues.find(({ kind }) => kind === "unknown_key" || kind === "missing_key")
  if (atFault) {
    const path = parentOf(atFault.path)
    const [names, { patterns }] = [keysFor(atFault), allowedAt(schema, path)]
    if (names.length + patterns.length > 0 || takesNothing(schema)) {
      refusal.keys = patterns.length === 0 ? { path, names } : { path, names, patterns }
    }
  }
  // Its alternatives are defined above.
  return refusal as MisfitRefusal
}

type Refused = { -readonly [K in keyof Omit<MisfitRefusal, "alternatives">]: MisfitRefusal[K] }

/** What the alternatives in a refusal are found in. */
interface Origin {
  readonly schema: JsonSchema
  readonly value: Json
}

const origin = Symbol("origin")

// Comparing names takes long, and not everybody reads them. All refusals share this getter: an object with a getter of
// its own has a hidden class of its own, which costs more than finding the issues.
const alternativesOnDemand = {
  configurable: true,
  enumerable: true,
  get(this: MisfitRefusal & { readonly [origin]: Origin }) {
    return alternatives(this.issues, this[origin])
  }
}

const parentOf = (path: Path): Path => path.slice(0, -1)

/** True for the schema of an object that allows no keys. */
const takesNothing = (schema: JsonSchema): boolean =>
  schema["additionalProperties"] === false && schema["patternProperties"] === undefined &&
  keysOf(propertiesOf(schema)).length === 0

// Returns the allowed keys of the object with an unknown key. If no key is unknown, returns the choices of
// the only field with an issue.
const alternatives = (issues: ReadonlyArray<Issue>, { schema, value }: Origin): ReadonlyArray<string> => {
  const unknown = issues.find(({ kind }) => kind === "unknown_key")
  if (unknown) {
    const parent = parentOf(unknown.path)
    return keysMeant(String(unknown.path.at(-1)), keysAt(schema, parent), partAt(value, parent))
  }
  const [only, ...rest] = issues
  if (!only || rest.length > 0) return []
  const received = partAt(value, only.path)
  return Suggestion.nearest(isString(received) ? received : excerpt(received), choicesAt(schema, only.path))
}
