/**
 * Random schemas of tools, and values that fit them, for `drifts.ts`. A *kind* is a schema before its spelling is
 * chosen. It also decides whether a value fits, so that the oracle does not depend on the package under test.
 */
import type { Json, JsonObject } from "@fallible/arguments"

export interface Field {
  readonly key: string
  /** The words of the key, from which other spellings are made. */
  readonly words: ReadonlyArray<string>
  readonly kind: Kind
  readonly isRequired: boolean
  /** True if the schema says `default: null`. */
  readonly isNullByDefault: boolean
}

export interface RecordKind {
  readonly type: "record"
  readonly fields: ReadonlyArray<Field>
  /** What is allowed at other keys: nothing, anything, or a kind (a map). */
  readonly others: boolean | Kind
}

export type Kind =
  | { readonly type: "integer"; readonly minimum?: number; readonly maximum?: number }
  | { readonly type: "number" }
  | { readonly type: "boolean" }
  | { readonly type: "null" }
  | { readonly type: "text"; readonly minLength?: number }
  | { readonly type: "date" }
  | { readonly type: "time" }
  | { readonly type: "choice"; readonly choices: ReadonlyArray<string | number> }
  | { readonly type: "list"; readonly items: Kind }
  | { readonly type: "tuple"; readonly items: ReadonlyArray<Kind> }
  | { readonly type: "nullable"; readonly of: Kind; readonly spelling: NullSpelling }
  | { readonly type: "union"; readonly members: ReadonlyArray<Kind>; readonly isOneOf: boolean }
  | RecordKind

type NullSpelling = "anyOf" | "keyword" | "oneOf" | "types"

/** Chooses a number below `below`. */
export type Next = (below: number) => number

export const pick = <A>(all: ReadonlyArray<A>, next: Next): A => all[next(all.length)]!

export const isList = (value: unknown): value is ReadonlyArray<unknown> => Array.isArray(value)

export const isRecord = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !isList(value)

/** The form in which two spellings of a key are equal. */
export const fold = (key: string): string => key.toLowerCase().replace(/[-_ ]/g, "")

// -----------------------------------------------------------------------------
// Values that fit
// -----------------------------------------------------------------------------

const date = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/
const time = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/

const isUnusedSpelling = (key: string, value: { readonly [key: string]: unknown }, { fields }: RecordKind): boolean =>
  fields.some((field) => fold(field.key) === fold(key) && !Object.hasOwn(value, field.key))

/**
 * Reports whether a value is a valid call by itself. In an open object, another spelling of a declared key that is
 * absent does not count as valid, though the schema would let it pass.
 */
export const fits = (value: unknown, kind: Kind): boolean => {
  switch (kind.type) {
    case "integer":
      return Number.isSafeInteger(value) && Number(value) >= (kind.minimum ?? -Infinity) &&
        Number(value) <= (kind.maximum ?? Infinity)
    case "number":
      return typeof value === "number"
    case "boolean":
      return typeof value === "boolean"
    case "null":
      return value === null
    case "text":
      return typeof value === "string" && value.length >= (kind.minLength ?? 0)
    case "date":
      return typeof value === "string" && date.test(value)
    case "time":
      return typeof value === "string" && time.test(value)
    case "choice":
      return kind.choices.some((choice) => choice === value)
    case "list":
      return isList(value) && value.every((item) => fits(item, kind.items))
    case "tuple":
      return isList(value) && value.length === kind.items.length &&
        kind.items.every((item, index) => fits(value[index], item))
    case "nullable":
      return value === null || fits(value, kind.of)
    case "union": {
      const { length } = kind.members.filter((member) => fits(value, member))
      return kind.isOneOf ? length === 1 : length > 0
    }
    case "record":
      return isRecord(value) &&
        kind.fields.every((field) =>
          Object.hasOwn(value, field.key) ? fits(value[field.key], field.kind) : !field.isRequired
        ) &&
        Object.keys(value).every((key) =>
          kind.fields.some((field) => field.key === key) ||
          kind.others !== false && !isUnusedSpelling(key, value, kind) &&
            (kind.others === true || fits(value[key], kind.others))
        )
  }
}

/** Reports whether a part of a value fits two members of a `oneOf`. It may not be changed to fit a third one. */
export const isOfTwo = (value: unknown, kind: Kind): boolean => {
  if (kind.type === "union") return kind.isOneOf && kind.members.filter((member) => fits(value, member)).length > 1
  if (kind.type === "nullable") return isOfTwo(value, kind.of)
  if (kind.type === "list") return isList(value) && value.some((item) => isOfTwo(item, kind.items))
  if (kind.type === "tuple") return isList(value) && kind.items.some((item, index) => isOfTwo(value[index], item))
  if (kind.type !== "record" || !isRecord(value)) return false
  const { fields, others } = kind
  return fields.some((field) => isOfTwo(value[field.key], field.kind)) ||
    typeof others !== "boolean" && isMapOfTwo(value, kind, others)
}

const isMapOfTwo = (value: { readonly [key: string]: unknown }, { fields }: RecordKind, others: Kind): boolean =>
  Object.keys(value).some((key) => fields.every((field) => field.key !== key) && isOfTwo(value[key], others))

// -----------------------------------------------------------------------------
// Kinds
// -----------------------------------------------------------------------------

const names: ReadonlyArray<ReadonlyArray<string>> = [
  "user id",
  "dry run",
  "start date",
  "due at",
  "max results",
  "is active",
  "file path",
  "old text",
  "new text",
  "api key",
  "unit price",
  "line 2",
  "sort by order",
  "name",
  "to",
  "items",
  "tags",
  "amount",
  "status",
  "city",
  "url",
  "query",
  "input",
  "limit",
  "notes"
].map((name) => name.split(" "))

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

const camel = ([first = "", ...others]: ReadonlyArray<string>): string => first + others.map(capital).join("")

/** All usual spellings of a key. */
export const spellings = (words: ReadonlyArray<string>): ReadonlyArray<string> => [
  camel(words),
  words.join("_"),
  words.join("-"),
  words.map(capital).join(""),
  words.join("_").toUpperCase(),
  words.join(" "),
  words.map(capital).join(" "),
  words.join(""),
  words.map(capital).join("-"),
  words.map(capital).join("_")
]

const choices: ReadonlyArray<ReadonlyArray<string | number>> = [
  ["celsius", "fahrenheit", "kelvin"],
  ["in_progress", "done", "not_started"],
  ["in-progress", "done"],
  ["Low", "Medium", "High"],
  ["USD", "EUR", "GBP"],
  ["us", "US"],
  ["read_only", "readonly", "write"],
  ["A+", "A-", "B"],
  ["asc", "desc"],
  ["on", "off"],
  ["One Way", "Round Trip"],
  [1, 2, 5],
  ["1", "2", "10"],
  ["all", 1],
  ["only"]
]

const leaf = (next: Next): Kind => {
  const makes: ReadonlyArray<() => Kind> = [
    () => ({ type: "integer" }),
    () => ({ type: "integer", minimum: 0, maximum: 10_000 }),
    () => ({ type: "number" }),
    () => ({ type: "number" }),
    () => ({ type: "boolean" }),
    () => ({ type: "boolean" }),
    () => ({ type: "text" }),
    () => ({ type: "text" }),
    () => ({ type: "text", minLength: 1 }),
    () => ({ type: "choice", choices: choices[next(choices.length)]! }),
    () => ({ type: "choice", choices: choices[next(choices.length)]! }),
    () => ({ type: "date" }),
    () => ({ type: "time" })
  ]
  return makes[next(makes.length)]!()
}

/** True if `null` already fits, so that there is nothing to make nullable. */
const takesNull = (kind: Kind): boolean =>
  kind.type === "nullable" || kind.type === "union" && kind.members.some(takesNull)

const kindOf = (depth: number, next: Next): Kind => {
  const kind = next(depth > 2 ? 11 : 20)
  if (kind < 9) return leaf(next)
  if (kind < 11) {
    const of = kindOf(depth + 1, next)
    return takesNull(of)
      ? of
      : { type: "nullable", of, spelling: (["anyOf", "keyword", "oneOf", "types"] as const)[next(4)]! }
  }
  if (kind < 14) return { type: "list", items: kindOf(depth + 1, next) }
  if (kind < 15) return { type: "tuple", items: Array.from({ length: 2 + next(2) }, () => leaf(next)) }
  if (kind < 16) return { type: "record", fields: [], others: kindOf(depth + 1, next) }
  if (kind < 18) return record(depth + 1, next)
  if (kind < 19) return { type: "union", members: tagged(depth + 1, next), isOneOf: next(2) === 0 }
  const members = Array.from({ length: 2 + next(2) }, () => kindOf(depth + 1, next)).filter((member) =>
    !takesNull(member) && member.type !== "union"
  )
  return members.length < 2 ? leaf(next) : { type: "union", members, isOneOf: next(2) === 0 }
}

const fieldsOf = (depth: number, next: Next, count: number): Array<Field> => {
  const style = [0, 0, 1, 1, 1, 2, 3][next(7)]!
  const fields: Array<Field> = []
  for (let left = count; left > 0; left--) {
    const words = names[next(names.length)]!
    const key = spellings(words)[style]!
    if (fields.some((field) => field.key === key)) continue
    const kind = kindOf(depth, next)
    const isRequired = next(2) === 0
    fields.push({ key, words, kind, isRequired, isNullByDefault: !isRequired && takesNull(kind) && next(3) === 0 })
  }
  return fields
}

/** A random object: open, closed, or now and then with a kind for its other keys. */
export const record = (depth: number, next: Next): RecordKind => ({
  type: "record",
  fields: fieldsOf(depth, next, 1 + next(4)),
  others: next(10) === 0 ? leaf(next) : next(2) === 0
})

/** Two objects that are told apart by a literal. */
const tagged = (depth: number, next: Next): ReadonlyArray<Kind> => {
  const others = next(2) === 0
  const [key = "", ...tags] = [["type", "card", "bank_transfer"], ["kind", "Create", "Delete"]][next(2)]!
  return tags.map((tag) => ({
    type: "record",
    fields: [
      { key, words: [key], kind: { type: "choice", choices: [tag] }, isRequired: true, isNullByDefault: false },
      ...fieldsOf(depth, next, 1 + next(2))
    ],
    others
  }))
}

// -----------------------------------------------------------------------------
// Schemas
// -----------------------------------------------------------------------------

/** Spells a kind as a JSON Schema. */
export const schemaOf = (root: RecordKind, next: Next): JsonObject => {
  const $defs: { [name: string]: Json } = {}

  const spelled = (kind: Kind): JsonObject => {
    switch (kind.type) {
      case "boolean":
      case "null":
      case "number":
        return { type: kind.type }
      case "integer": {
        const { type, ...bounds } = kind
        return { type, ...bounds }
      }
      case "text":
        return { type: "string", ...(kind.minLength === undefined ? {} : { minLength: kind.minLength }) }
      case "date":
        return { type: "string", format: "date" }
      case "time":
        return { type: "string", format: "date-time" }
      case "choice":
        return choice(kind.choices)
      case "list":
        return { type: "array", items: spelled(kind.items) }
      case "tuple":
        return tuple(kind.items.map(spelled))
      case "nullable":
        return nullable(spelled(kind.of), kind.spelling)
      case "union":
        return { [kind.isOneOf ? "oneOf" : "anyOf"]: kind.members.map(spelled) }
      case "record":
        return kind.fields.length > 0 && kind !== root && next(6) === 0 ? defined(object(kind)) : object(kind)
    }
  }

  const choice = (choices: ReadonlyArray<string | number>): JsonObject => {
    const [only = "", ...others] = choices
    if (others.length === 0 && next(2) === 0) return { const: only }
    const isText = choices.every((choice) => typeof choice === "string")
    return { ...(isText && next(2) === 0 ? { type: "string" } : {}), enum: choices }
  }

  const tuple = (items: ReadonlyArray<Json>): JsonObject => ({
    type: "array",
    minItems: items.length,
    maxItems: items.length,
    ...(next(2) === 0 ? { prefixItems: items } : { items })
  })

  const nullable = (schema: JsonObject, spelling: NullSpelling): JsonObject => {
    const { enum: choices, type } = schema
    const withNull = isList(choices) ? { enum: [...choices, null] as ReadonlyArray<Json> } : {}
    if (spelling === "keyword" && type !== undefined) return { ...schema, ...withNull, nullable: true }
    if (spelling === "types" && type !== undefined) return { ...schema, ...withNull, type: [type, "null"] }
    if (spelling === "types" && isList(choices)) return { ...schema, ...withNull }
    return { [spelling === "oneOf" ? "oneOf" : "anyOf"]: [schema, { type: "null" }] }
  }

  const object = ({ fields, others }: RecordKind): JsonObject => {
    const required = fields.filter(({ isRequired }) => isRequired).map(({ key }) => key)
    return {
      type: "object",
      ...(fields.length === 0 ? {} : {
        properties: Object.fromEntries(
          fields.map(({ isNullByDefault, key, kind }) =>
            [key, { ...spelled(kind), ...(isNullByDefault ? { default: null } : {}) }] as const
          )
        )
      }),
      ...(required.length === 0 ? {} : { required }),
      ...(others !== true || next(4) === 0
        ? { additionalProperties: typeof others === "boolean" ? others : spelled(others) }
        : {})
    }
  }

  const defined = (schema: JsonObject): JsonObject => {
    const name = `Part${Object.keys($defs).length}`
    $defs[name] = schema
    return { $ref: `#/$defs/${name}` }
  }

  const schema = spelled(root)
  return Object.keys($defs).length === 0 ? schema : { ...schema, $defs }
}
