/** Issues of a value together with the findings of another validator. */
import { keyMeant } from "./coercion/advice.ts"
import { examine, type Explaining, keysAt, noSuchKey, refusalOf } from "./explain.ts"
import { type Json, type JsonSchema, partAt, type Path } from "./json.ts"
import type { Issue, Misfit as MisfitRefusal } from "./refusal.ts"
import { ByPath } from "./schema/byPath.ts"
import { isInUnion, leadingPart } from "./schema/described.ts"
import { type Document, documentOf } from "./schema/document.ts"
import { describe } from "./schema/expectation.ts"
import { Gathered, within } from "./schema/gathered.ts"
import { hasSecrets, mayTell } from "./secret.ts"
import { asValue, pathOf, placeOf } from "./value.ts"
import { notValid } from "./words.ts"

/** A report about one field from another validator: a decoder, a filter or a brand. */
export interface Finding {
  readonly path: Path
  /**
   * `key`: a key is missing or unexpected. `type`: the value has the wrong type. `validator`: a library refused it, and
   * `expected` has a sentence of its own. `check`: anything else.
   */
  readonly kind: "key" | "type" | "check" | "validator"
  /** The expectation, in a few words; `""` if `keywords` express all of it. */
  readonly expected: string
  /**
   * Whether the schema's author wrote the words in `expected`. If so, they replace the words that are derived
   * from the JSON Schema for a bound.
   */
  readonly isAuthors?: boolean
  /** The check as JSON Schema keywords, if they are more exact than the schema's own: `{ maxLength: 5 }`. */
  readonly keywords?: JsonSchema
}

/** All findings about one field. */
class Field {
  readonly path: Path
  readonly #findings: Array<Finding> = []

  constructor(path: Path) {
    this.path = path
  }

  add(finding: Finding): void {
    this.#findings.push(finding)
  }

  get kind(): Finding["kind"] {
    return (this.#relevant.find(({ kind }) => kind === "key") ?? this.#relevant[0])?.kind ?? "check"
  }

  get isAuthors(): boolean {
    return this.#relevant.some(isOfAuthor)
  }

  get expected(): string {
    const relevant = this.isAuthors ? this.#relevant.filter(isOfAuthor) : this.#relevant
    return Array.from(new Set(relevant.map(({ expected }) => expected))).filter((words) => words !== "").join(" or ")
  }

  get keywords(): JsonSchema {
    return Object.assign({}, ...this.#relevant.map(({ keywords }) => keywords))
  }

  // A validator checks a value only if its keys and types are right. So if there is a check, the other
  // findings come from other members of a union, and do not matter.
  get #relevant(): ReadonlyArray<Finding> {
    const checks = this.#findings.filter(({ kind }) => kind === "check" || kind === "validator")
    return checks.length > 0 ? checks : this.#findings
  }
}

const isOfAuthor = ({ isAuthors }: Finding): boolean => isAuthors === true

/** Groups findings by field, in the order in which the fields first appear. */
const fieldsOf = (
  findings: ReadonlyArray<Finding>
): { readonly all: ReadonlyArray<Field>; readonly at: (path: Path) => Field | undefined } => {
  const all: Array<Field> = []
  const byPath = new ByPath<Field>()
  for (const finding of findings) {
    const existing = byPath.get(finding.path)
    const field = existing ?? new Field(finding.path)
    if (existing === undefined) {
      byPath.set(finding.path, field)
      all.push(field)
    }
    field.add(finding)
  }
  return { all, at: (path) => byPath.get(path) }
}

/**
 * Explains why a value does not fit its schema, together with the findings of another validator, such as Effect's decoder or
 * zod: one issue for each field, by default at most twenty.
 *
 * If the schema and a finding report the same field, the schema's words are used. For a bound, however, they are replaced by
 * the finding's words (`isAuthors`) or `keywords`.
 *
 * @example
 * ```ts
 * import { message } from "@fallible/arguments"
 * import { explainWith } from "@fallible/arguments/internal"
 *
 * const schema = { type: "object", properties: { days: { type: "integer", minimum: 1, maximum: 5 } } }
 *
 * message(explainWith({ days: 7 }, schema, [])!) // => "'days': expected integer from 1 to 5, got 7."
 * explainWith({ days: 3 }, schema, []) // => undefined
 * ```
 *
 * @param schema `undefined` if only the other validator checks the value
 * @returns `undefined` if there is nothing to report
 */
export const explainWith = (
  value: unknown,
  schema: JsonSchema | undefined,
  findings: ReadonlyArray<Finding>,
  options: Explaining = {}
): MisfitRefusal | undefined => {
  const reported = fieldsOf(
    findings.map((finding) =>
      finding.kind === "validator" ? { ...finding, path: leadingPart(finding.path, value, schema ?? {}) } : finding
    )
  )
  const examined = examine(value, schema, options, ({ kind, path, schema, value }, { document }) => {
    const finding = kind === "bound" ? reported.at(path) : undefined
    return finding?.isAuthors === true
      ? finding.expected
      : expectation(document.flat(schema), document, finding?.keywords, value)
  })
  const { actual, groups, isSecret, json, limit, marked, root, unions } = examined
  // Keeps the findings that no misfit covers. If a value fits no member of a union, findings inside that
  // value are dropped: they may concern a member other than the reported one. Inside any union, findings
  // about keys and types are dropped, too.
  const isCovered = within(groups)
  const settledUnions = new ByPath<true>()
  if (findings.length > 0) { for (const place of unions) settledUnions.set(pathOf(place), true) }
  const unexplained = reported.all.filter(({ kind, path }) =>
    !isCovered(path) && !settledUnions.hasAlong(path) && !((kind === "key" || kind === "type") && isInUnion(root, path))
  )
  const rest = new Gathered<Issue>(limit)
  for (const finding of unexplained.length === 0 && groups.length === 0 ? reported.all : unexplained) {
    const { path } = finding
    rest.count(placeOf(path))?.push(
      issueFrom(finding, root, json, isSecret, actual(path, asValue(partAt(marked, path))))
    )
  }
  return refusalOf(examined, [...groups, ...rest.groups()])
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
const issueFrom = (
  finding: Field,
  schema: JsonSchema,
  value: Json,
  isSecretAt: (path: Path) => boolean,
  actual: string
): Issue => {
  const { keywords, kind, path } = finding
  const isSecret = isSecretAt(path)
  const document = documentOf(schema)
  const received = partAt(value, path)
  if (kind === "key" && received !== undefined) {
    const parent = path.slice(0, -1)
    const advice = keyMeant(String(path.at(-1)), keysAt(schema, parent), partAt(value, parent))
    return { kind: "unknown_key", path, expected: noSuchKey, actual, ...(advice === undefined ? {} : { advice }) }
  }
  if (kind === "validator") {
    const isTold = !hasSecrets(schema) || mayTell(finding.expected, path, value, isSecretAt)
    return { kind, path, expected: isTold ? finding.expected : notValid, actual }
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
