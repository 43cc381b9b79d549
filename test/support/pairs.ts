/**
 * A worker of `test/bench/fuzz.ts`. It generates random schemas and values near them, and checks the laws
 * of each pair.
 */
import {
  decode,
  fit,
  inspect,
  type Json,
  type JsonObject,
  type JsonSchema,
  message,
  SchemaRefused
} from "@fallible/arguments"
import { coerce, explain, fits } from "@fallible/arguments/internal"
import { parentPort, workerData } from "node:worker_threads"
import { randomly } from "./dialects.ts"

/** The result of a worker. */
export interface Report {
  readonly counts: ReadonlyMap<string, number>
  readonly slowest: { readonly millis: number; readonly pair: string }
  /** By kind: the number of complaints, and the shortest pair. */
  readonly complaints: ReadonlyMap<string, { readonly count: number; readonly pair: string }>
}

interface Work {
  readonly count: number
  readonly seed: number
  /** Shared with the main thread: the index of the current pair. */
  readonly at: Int32Array
}

const { at, count, seed }: Work = workerData
const next = randomly(seed)
const pick = <A>(all: ReadonlyArray<A>): A => all[next(all.length)]!
const some = <A>(max: number, make: () => A): Array<A> => Array.from({ length: next(max + 1) }, make)

// -----------------------------------------------------------------------------
// Values
// -----------------------------------------------------------------------------

/** A secret value that occurs in no schema and in no key. If all fields are secret, no output may contain it. */
const secret = "hunter2"

const texts = [
  ..."ab1-:,".split(""),
  "",
  " ",
  "A",
  "1.0",
  " 1 ",
  "1e3",
  "1.500",
  "-0",
  "9007199254740993",
  "true",
  "True",
  "false",
  "null",
  "None",
  "in-progress",
  "in_progress",
  "In Progress",
  "done",
  "2024-1-2",
  "2024-01-02",
  "2024-02-30",
  "2024-01-02 10:00:00Z",
  "[1]",
  "[\"1\"]",
  "['a']",
  "['a', 1]",
  "{\"a\":1}",
  "{\"A\":\"1\"}",
  "{\"__proto__\":{\"a\":1}}",
  "a, b",
  "1, 2",
  "1,000",
  "50%",
  "yes",
  "one",
  "é",
  "😀",
  "\ud800",
  "\n",
  secret,
  `${secret}!`,
  "aaaa"
]
const numbers = [0, -0, 1, 2, 3, -1, 1.5, 0.1, 0.3, 1e3, 100, 1e21, 9007199254740991, 9007199254740992, 1e300]
const keys = [
  "a",
  "a",
  "b",
  "b",
  "A",
  "userId",
  "user_id",
  "kind",
  "arguments",
  "input",
  "toString",
  "constructor",
  "prototype",
  "__PROTO__",
  "",
  "1",
  "é"
]

const scalar = (): Json => {
  const kind = next(8)
  return kind < 4 ? pick(texts) : kind < 6 ? pick(numbers) : pick([true, false, null])
}

const container = (entries: ReadonlyArray<readonly [string, Json]>): JsonObject => Object.fromEntries(entries)

const anything = (depth: number): Json => {
  const kind = next(depth > 3 ? 4 : 8)
  if (kind < 4) return scalar()
  return kind < 6
    ? some(3, () => anything(depth + 1))
    : container(some(3, () => [pick(keys), anything(depth + 1)] as const))
}

// -----------------------------------------------------------------------------
// Schemas
// -----------------------------------------------------------------------------

const types = ["array", "boolean", "integer", "null", "number", "object", "object", "string", "string"]
const patterns = ["^[a-z]+$", "1", "^a", "^(a+)+$", "(?<=a)b", "(a)\\1", "^\\p{Lu}", ""]
const references = ["#", "#/$defs/A", "#/$defs/B", "#/$defs/C", "#c", "#/properties/a"]

const byKey = (depth: number): JsonSchema => container(some(3, () => [pick(keys), schema(depth + 1) as Json] as const))

const list = (depth: number): ReadonlyArray<unknown> => [schema(depth + 1), ...some(2, () => schema(depth + 1))]

/** Generators for the content of each keyword. */
const contents: { readonly [keyword: string]: (depth: number) => unknown } = {
  $ref: () => pick(references),
  additionalItems: (depth) => schema(depth + 1),
  additionalProperties: (depth) => next(2) === 0 ? false : schema(depth + 1),
  allOf: list,
  anyOf: list,
  const: () => anything(3),
  contains: (depth) => schema(depth + 1),
  dependencies: (depth) => ({ [pick(keys)]: next(2) === 0 ? [pick(keys)] : schema(depth + 1) }),
  dependentRequired: () => ({ [pick(keys)]: some(2, () => pick(keys)) }),
  dependentSchemas: byKey,
  else: (depth) => schema(depth + 1),
  enum: () => [scalar(), ...some(4, () => next(5) === 0 ? anything(3) : scalar())],
  exclusiveMaximum: () => pick([true, 3]),
  exclusiveMinimum: () => pick([true, 0]),
  format: () => pick(["date", "date-time", "password", "email"]),
  if: (depth) => schema(depth + 1),
  items: (depth) => next(4) === 0 ? list(depth) : schema(depth + 1),
  maxContains: () => next(3),
  maxItems: () => next(3),
  maxLength: () => next(4),
  maxProperties: () => next(3),
  maximum: () => pick(numbers),
  minContains: () => next(3),
  minItems: () => next(3),
  minLength: () => next(3),
  minProperties: () => next(3),
  minimum: () => pick([0, 1, -1]),
  multipleOf: () => pick([1, 2, 0.1, 0.01]),
  not: (depth) => schema(depth + 1),
  nullable: () => next(2) === 0,
  oneOf: list,
  pattern: () => pick(patterns),
  patternProperties: (depth) => ({ [pick(patterns)]: schema(depth + 1) }),
  prefixItems: list,
  properties: byKey,
  propertyNames: (depth) => schema(depth + 1),
  required: () => some(2, () => pick(keys)),
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: (depth) => schema(depth + 1),
  title: () => "Title",
  type: () => next(4) === 0 ? some(3, () => pick(types)) : pick(types),
  unevaluatedItems: (depth) => next(2) === 0 ? false : schema(depth + 1),
  unevaluatedProperties: (depth) => next(2) === 0 ? false : schema(depth + 1),
  uniqueItems: () => next(3) > 0,
  writeOnly: () => next(8) === 0
}
const keywords = Object.keys(contents)

/** Schemas that are typical of tools. */
const usual: ReadonlyArray<(depth: number) => JsonSchema> = [
  (depth) => ({
    type: "object",
    properties: byKey(depth),
    required: some(2, () => pick(keys)),
    additionalProperties: next(2) === 0 ? false : schema(depth + 1)
  }),
  (depth) => ({ type: "array", items: schema(depth + 1) }),
  () => ({ type: pick(["integer", "number", "boolean", "string"]) }),
  () => ({ type: "string", format: pick(["date", "date-time"]) }),
  () => ({ enum: ["in_progress", "done", ...some(2, scalar)] }),
  (depth) => ({ anyOf: list(depth) }),
  () => ({ $ref: pick(references) }),
  (depth) => ({ type: pick(types), nullable: true, ...contents["not"]!(depth + 3) as object })
]

const schema = (depth: number): JsonSchema | boolean => {
  if (depth > 4 || next(12) === 0) return next(6) === 0 ? next(2) === 0 : { type: pick(types) }
  if (next(2) === 0) return pick(usual)(depth)
  return Object.fromEntries(some(3, () => {
    const keyword = pick(keywords)
    return [keyword, contents[keyword]!(depth)] as const
  }))
}

// Most schemas with a circular reference at the same value are dropped: they accept anything and are expensive.
const rooted = (): JsonSchema => {
  for (;;) {
    const root = schema(0)
    const made = {
      ...(typeof root === "boolean" ? {} : root),
      $defs: { A: schema(1), B: schema(1), C: { $anchor: "c", ...Object(schema(2)) } }
    }
    if (next(500) === 0 || !isCircular(made, made, new Set())) return made
  }
}

const isCircular = (of: unknown, root: JsonSchema, above: ReadonlySet<unknown>): boolean => {
  if (!isSchema(of)) return false
  if (above.has(of)) return true
  const { $ref, allOf, anyOf, dependencies, dependentSchemas, else: otherwise, if: condition, not, oneOf, then } = of
  const parts = [
    ...(typeof $ref !== "string" ? [] : [target($ref, root)]),
    ...[allOf, anyOf, oneOf].flatMap((members) => Array.isArray(members) ? members : []),
    ...[dependencies, dependentSchemas].flatMap((parts) => isSchema(parts) ? Object.values(parts) : []),
    condition,
    not,
    otherwise,
    then
  ]
  return parts.some((part) => isCircular(part, root, new Set([...above, of])))
}

const target = (reference: string, root: JsonSchema): unknown =>
  reference === "#c"
    ? Object(root["$defs"])["C"]
    : reference.split("/").slice(1).reduce<unknown>((at, key) => Object(at)[key], root)

// -----------------------------------------------------------------------------
// Values near a schema
// -----------------------------------------------------------------------------

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const ofType = (type: unknown, of: JsonSchema, root: JsonSchema, depth: number): Json => {
  if (type === "object" || type === undefined && of["properties"] !== undefined) {
    const properties = Object(of["properties"] ?? {})
    const names = [...Object.keys(properties), ...(Array.isArray(of["required"]) ? of["required"] : [])]
    const own = names.filter(() => next(5) > 0)
      .map((name) =>
        [
          next(6) === 0 ? pick([name.toUpperCase(), `${name}_`, pick(keys)]) : name,
          near(properties[name], root, depth + 1)
        ] as const
      )
    const object = container([...own, ...(next(5) === 0 ? [[pick(keys), anything(2)] as const] : [])])
    return next(12) === 0 ? { arguments: object } : next(12) === 0 ? JSON.stringify(object) : object
  }
  if (type === "array") {
    const items = some(3, () => near(of["items"], root, depth + 1))
    return next(8) === 0 ? JSON.stringify(items) : next(8) === 0 ? items[0] ?? null : items
  }
  const drifted = next(3) === 0
  if (type === "integer" || type === "number") return drifted ? pick(texts) : pick(numbers)
  if (type === "boolean") return drifted ? pick(texts) : next(2) === 0
  return type === "string" ? drifted ? pick(numbers) : pick(texts) : anything(3)
}

/** Makes a value that fits the schema, or nearly fits. */
const near = (of: unknown, root: JsonSchema, depth = 0): Json => {
  if (!isSchema(of) || depth > 5 || next(10) === 0) return anything(Math.min(depth, 3))
  const { $ref, allOf, anyOf, const: literal, enum: choices, oneOf, type } = of
  const reference = String($ref)
  const definitions = Object(root["$defs"])
  if (reference.startsWith("#/$defs/")) return near(definitions[reference.slice(8)], root, depth + 1)
  if ($ref !== undefined) return near(reference === "#" ? root : definitions["C"], root, depth + 1)
  const members = [allOf, anyOf, oneOf].find(Array.isArray)
  if (members !== undefined && next(3) > 0) return near(pick(members), root, depth + 1)
  const choice: unknown = Array.isArray(choices) ? pick(choices) : literal
  if (choice !== undefined && next(3) > 0) {
    return typeof choice === "string" && next(2) === 0
      ? choice.toUpperCase().replace("_", "-")
      : JSON.parse(JSON.stringify(choice))
  }
  return ofType(Array.isArray(type) ? pick(type) : type, of, root, depth)
}

// -----------------------------------------------------------------------------
// Laws
// -----------------------------------------------------------------------------

const isContainer = (value: unknown): value is object => typeof value === "object" && value !== null

const frozen = <A>(value: A): A => {
  if (isContainer(value)) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}

const isTainted = (value: unknown): boolean => {
  if (!isContainer(value)) return value === undefined
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== Array.prototype) return true
  return Object.hasOwn(value, "__proto__") || Object.values(value).some(isTainted)
}

const counts = new Map<string, number>()
const add = (kind: string) => counts.set(kind, (counts.get(kind) ?? 0) + 1)
const complaints = new Map<string, { count: number; pair: string }>()
const complain = (kind: string, value: Json, schema: JsonSchema, more?: unknown) => {
  const pair = `${JSON.stringify(value)} by ${JSON.stringify(schema)}${
    more === undefined ? "" : `: ${JSON.stringify(more)}`
  }`
  const known = complaints.get(kind)
  if (known === undefined) complaints.set(kind, { count: 1, pair })
  else {
    known.count++
    if (pair.length < known.pair.length) known.pair = pair
  }
}

const check = (value: Json, schema: JsonSchema): void => {
  if (inspect(schema).refused.length > 0) {
    add("refused schemas")
    try {
      fit(value, schema)
      complain("a refused schema that is used", value, schema)
    } catch (error) {
      if (!(error instanceof SchemaRefused)) throw error
    }
    return
  }
  const isFit = fits(value, schema)
  const coerced = coerce(value, schema)
  const fitted = fit(value, schema)
  const misfit = explain(value, schema)
  add(isFit ? "fit" : coerced.fits ? "fit when coerced" : coerced.repairs.length > 0 ? "coerced in vain" : "do not fit")
  for (const { kind } of coerced.repairs) add(kind)
  if (isFit && (coerced.value !== value || coerced.repairs.length > 0)) {
    complain("what fits was touched", value, schema, coerced)
  }
  if (coerced.fits !== fits(coerced.value, schema)) {
    complain("coerced, and `fits` says otherwise", value, schema, coerced)
  }
  // A program's value may have a key that reaches a prototype. Only `fit` takes such values.
  const isSafe = !/"(?:__proto__|prototype)"/.test(JSON.stringify(value))
  if (isSafe && fitted.ok !== coerced.fits) complain("`fit` and `coerce` differ", value, schema, coerced)
  if (fitted.ok && !fits(fitted.value, schema)) complain("fitted, and does not fit", value, schema, fitted)
  if ((misfit === undefined) !== isFit) complain("`explain` and `fits` differ", value, schema, misfit ?? isFit)
  if (coerced.repairs.length === 0 && coerced.value !== value) complain("copied for nothing", value, schema, coerced)
  if (isTainted(coerced.value)) complain("a key or a prototype of its own", value, schema, coerced)
  const again = coerce(coerced.value, schema)
  if (again.repairs.length > 0 || again.value !== coerced.value) {
    complain("not idempotent", value, schema, [coerced, again])
  }
  if (!fitted.ok) {
    const words = message(fitted.refusal)
    if (fitted.refusal.issues.length === 0) complain("a refusal without a reason", value, schema, fitted)
    if (fitted.refusal.issues.length > 20 || words.length > 20_000) {
      complain("a refusal without an end", value, schema, words)
    }
    for (const { advice = "", path } of fitted.refusal.issues) {
      const [, written = ""] = /^Write (?!it |the )(.+?)(?:, without quotes)?\.$/.exec(advice) ?? []
      if (written.includes("…")) complain("advice that is cut off", value, schema, advice)
      else if (path.length === 0 && written !== "" && !written.includes(" or ") && !fits(JSON.parse(written), schema)) {
        complain("advice that does not fit", value, schema, advice)
      }
    }
  }
  // All fields are secret.
  const secrets = [[]]
  const hidden = fit(value, schema, { secrets })
  const output = JSON.stringify(hidden.ok ? hidden.repairs : [hidden.refusal, message(hidden.refusal)])
  if (output.includes(secret) && !JSON.stringify(schema).includes(secret)) {
    complain("a secret that is told", value, schema, output)
  }
  if (isContainer(value) && !Array.isArray(value) && !JSON.stringify(value).includes("\\u")) {
    const decoded = decode(JSON.stringify(value), schema)
    if (
      decoded.ok !== fitted.ok && (decoded.ok || "issues" in decoded.refusal) &&
      // `fit` reads no number with a fraction or with many digits as a text.
      !/e\+|\d{16}|\d\.\d/.test(JSON.stringify(value))
    ) {
      complain("`decode` and `fit` differ", value, schema, [decoded, fitted])
    }
  }
}

const millisOf = (value: Json, schema: JsonSchema): number => {
  const start = performance.now()
  try {
    check(value, schema)
  } catch (error) {
    complain(`a crash: ${String(error).slice(0, 80)}`, value, schema)
  }
  return performance.now() - start
}

const prototypes = () =>
  [Object.prototype, Array.prototype].map((prototype) => Reflect.ownKeys(prototype).length).join()

const before = prototypes()
const slowest = { millis: 0, pair: "" }
let root = frozen(rooted())
for (let index = 0; index < count; index++) {
  at[0] = index
  if (index % 8 === 0) root = frozen(rooted())
  const value = frozen(near(root, root))
  const millis = millisOf(value, root)
  if (index < 5_000 || millis <= slowest.millis) continue
  const quickest = Math.min(millis, millisOf(value, root), millisOf(value, root))
  if (quickest > 100) complain("more than 100 ms", value, root)
  if (quickest > slowest.millis) {
    Object.assign(slowest, { millis: quickest, pair: `${JSON.stringify(value)} by ${JSON.stringify(root)}` })
  }
}
if (prototypes() !== before) complain("a prototype that was changed", null, {})

const report: Report = { counts, slowest, complaints }
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker's port, and no window
parentPort?.postMessage(report)
