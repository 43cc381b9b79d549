/*
 * What is checked of a definition when a tool is made. The compiler checks most of it, but it does not check plain
 * JavaScript. Each message begins with its subject, says what is wrong, and what to write instead.
 */
import { SchemaRefused, type StandardSchema } from "@fallible/arguments"
import { demandKnown, didYouMean, hasSecrets, type Names } from "@fallible/arguments/internal"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { SideEffect } from "../../SideEffect.ts"
import { holdsForeign, isWritable } from "../arguments/foreignSchema.ts"
import { schemaOf, whyUnusable } from "../arguments/jsonSchema.ts"
import { forResults, parametersFrom, resultsFrom } from "../arguments/schemaSource.ts"
import { standardSchemaIn, vendorOf } from "../arguments/standardSchema.ts"
import type { Demand } from "../result/resultContract.ts"
import { cut, excerpt, kind, list, oneLine } from "../value/text.ts"
import { attempt, isA, isPromise } from "../value/untrusted.ts"
import { whyNoPattern } from "../wire/actingRequests.ts"

const sideEffects: ReadonlyArray<SideEffect> = ["none", "idempotent", "idempotent_by_key", "non_idempotent"]

const validName = /^[a-zA-Z0-9_-]{1,64}$/

/** Throws a `TypeError` for the first requirement that is not met. */
export const demand = (demands: ReadonlyArray<Demand>): void => {
  for (const [requirement, isMet, value, advice] of demands) {
    if (!isMet) {
      throw new TypeError(`${requirement}; got ${excerpt(value)}.${advice === undefined ? "" : ` ${advice}`}`)
    }
  }
}

/** Returns the schemas of a tool. Throws a `TypeError` if it lacks one of the parts that every tool has, or has a wrong one. */
export const demandParts = <A, Params>(
  name: unknown,
  definition: unknown,
  handler: unknown,
  names: Names<Readonly<Record<string, unknown>>>
): Schemas<A, Params> => {
  if (!Predicate.isString(name) || !validName.test(name)) {
    throw new TypeError(
      `A tool's name must have 1 to 64 letters, digits, '_' or '-', as model providers require; got ${excerpt(name)}.${
        adviceOnName(name)
      }`
    )
  }
  if (!Predicate.isObject(definition)) {
    throw new TypeError(
      `The definition of '${name}' must be an object such as { description, parameters, success }; got ${
        kind(definition)
      }.`
    )
  }
  demandKnown(`Tool '${name}'`, definition, names)
  const { description } = definition
  if (!Predicate.isString(description)) {
    throw new TypeError(
      `The description of '${name}' must be a string; got ${
        excerpt(description)
      }. Write one sentence: the model reads it to choose a tool.`
    )
  }
  const schemas = schemasOf<A, Params>(name, definition)
  if (!Predicate.isFunction(handler)) {
    const got = Effect.isEffect(handler) ? "an Effect" : isPromise(handler) ? "a promise" : undefined
    throw new TypeError(
      `The handler of '${name}' must be a function; got ${got ?? excerpt(handler)}.${
        got === undefined ? "" : ` Write a function that returns ${got}.`
      }`
    )
  }
  return schemas
}

// Suggests the name without the characters that providers refuse.
const adviceOnName = (name: unknown): string => {
  const better = Predicate.isString(name)
    ? name.slice(0, 200).replace(/[^a-zA-Z0-9_-]+/g, "_").replace(/^_|_$/g, "").slice(0, 64)
    : ""
  return better === "" ? "" : ` Rename it, for example to '${better}'.`
}

/** The schemas of a tool, as Effect schemas. */
export interface Schemas<A, Params> {
  readonly parameters: Schema.ConstraintDecoder<Params>
  readonly success: Schema.ConstraintCodec<A, unknown>
}

// Throws a `TypeError` if one of the schemas cannot be used.
const schemasOf = <A, Params>(
  name: string,
  { parameters, success }: { readonly parameters?: unknown; readonly success?: unknown }
): Schemas<A, Params> => {
  const what = `The parameters of '${name}'`
  const taken = parameters === undefined ? noParameters : argumentSchema(what, parameters)
  const why = whyUnusable(schemaOf(taken))
  if (why !== undefined) throw new TypeError(`${what} ${why}`)
  return asSchemas({
    parameters: taken,
    success: forResults(wholeSchema(`The success of '${name}'`, success, resultsFrom))
  })
}

const noParameters = Schema.Struct({})

/** Returns the schema of what a model writes as an Effect schema. Throws a `TypeError` if it cannot be used. */
export const argumentSchema = (what: string, value: unknown): Schema.Constraint =>
  wholeSchema(what, value, parametersFrom)

const wholeSchema = (
  what: string,
  value: unknown,
  from: (library: StandardSchema) => Schema.Constraint
): Schema.Constraint => {
  const own = ownSchema(what, value, from)
  // The fields of a struct are not checked when it is made, so reading it may throw.
  if (attempt(() => !holdsForeign(own)) === true) return own
  throw new TypeError(`${what}: a field has a schema that is not Effect's. Write all of it with one library.`)
}

// The types are those of the definition, which the compiler has checked.
const asSchemas = <A, Params>(
  schemas: { readonly parameters: Schema.Constraint; readonly success: Schema.Constraint }
) => schemas as Schemas<A, Params>

const ownSchema = (
  what: string,
  value: unknown,
  from: (library: StandardSchema) => Schema.Constraint
): Schema.Constraint => {
  if (Schema.isSchema(value)) return value
  const library = standardSchemaIn(value)
  if (library === undefined) {
    throw new TypeError(`${what} must be a Schema; got ${kind(value)}. ${adviceOnSchema(value)}`)
  }
  try {
    return from(library)
  } catch (error) {
    if (!isA(SchemaRefused)(error)) throw new TypeError(`${what} cannot be used: it cannot be read.`, { cause: error })
    const [first] = error.keywords
    const place = first === undefined || first.path.length === 0 ? "" : `${cut(first.path.join("/"), 200)}: `
    throw new TypeError(`${what} cannot be used: ${place}${first?.why}.`, { cause: error })
  }
}

const adviceOnSchema = (value: unknown): string => {
  if (isConstructor(value)) return `Write Schema.${value.name}.`
  const vendor = vendorOf(value)
  if (vendor !== undefined) return `It is a schema of ${vendor}, ${adviceOnLibrary[vendor] ?? withoutJsonSchema}.`
  const fields = Predicate.isObject(value) ? Object.entries(value) : []
  const isJsonSchema = ["$ref", "$schema", "properties"].some((key) => fields.some(([name]) => name === key)) ||
    fields.some(([key, type]) => key === "type" && Predicate.isString(type))
  if (isJsonSchema) return "It is a JSON Schema: pass Parameters.fromJsonSchema(schema)."
  if (!fields.some(([, field]) => Schema.isSchema(field))) return "Write it like Schema.Struct({ id: Schema.String })."
  const keys = fields.slice(0, 3).map(([key]) => `${cut(oneLine(key), 40)}: …`)
  return `Wrap it: Schema.Struct({ ${[...keys, ...(fields.length > 3 ? ["…"] : [])].join(", ")} }).`
}

const withoutJsonSchema = "which does not write its JSON Schema. Make one, and pass Parameters.fromJsonSchema(schema)"

const adviceOnLibrary: Readonly<Record<string, string>> = {
  zod: "which writes its JSON Schema since version 4.2. Update it",
  valibot: "which writes its JSON Schema by toStandardJsonSchema(schema) of @valibot/to-json-schema. Pass that",
  arktype: "which writes its JSON Schema since version 2.1.28. Update it"
}

const isConstructor = (value: unknown): value is { readonly name: string } =>
  value === String || value === Number || value === Boolean

/** True if a definition says something of what its tool does, or of what its failures mean. */
export const declaresEffects = (definition: object): boolean =>
  effectFields.some((field) => Predicate.hasProperty(definition, field) && definition[field] !== undefined)

const effectFields = ["sideEffect", "identity", "acts", "refusesFirst", "refuses", "check", "repeats"]

/** Returns the requirements on the other fields of a definition. */
export const demands = (
  name: unknown,
  {
    acts,
    check,
    concurrent,
    failureLimit,
    identity,
    instead,
    isUninterruptible,
    joins,
    onMismatch,
    poll,
    refusesFirst,
    repeats,
    sideEffect,
    volatile
  }: Readonly<Record<string, unknown>>
): ReadonlyArray<Demand> => [
  [
    `A tool's sideEffect must be one of ${list(sideEffects)}`,
    sideEffects.some((valid) => valid === sideEffect),
    sideEffect,
    adviceOnSideEffect(sideEffect)
  ],
  [
    "A tool's 'instead' must be a list of names",
    Array.isArray(instead) && instead.every(Predicate.isString),
    instead
  ],
  [
    "A tool's 'check' must be the name of another tool",
    check === undefined || Predicate.isString(check) && check !== name,
    check
  ],
  ["A tool's 'refusesFirst' must be a boolean", Predicate.isBoolean(refusesFirst), refusesFirst],
  [
    "A tool's 'acts' must be an object such as { requests: [\"POST api.example/orders\"] }",
    isActs(acts),
    acts,
    whyNoActs(acts)
  ],
  ["A tool's 'uninterruptible' must be a boolean", Predicate.isBoolean(isUninterruptible), isUninterruptible],
  [
    "A tool's 'identity' must be a function or \"all\"",
    identity === undefined || identity === "all" || Predicate.isFunction(identity),
    identity
  ],
  ["A tool's 'repeats' must be a boolean", repeats === undefined || Predicate.isBoolean(repeats), repeats],
  ["A tool's 'joins' must be a boolean", joins === undefined || Predicate.isBoolean(joins), joins],
  [
    "A tool's 'concurrent' must be a boolean",
    concurrent === undefined || Predicate.isBoolean(concurrent),
    concurrent
  ],
  [
    "A tool with 'concurrent' must act, since read-only calls always run together",
    concurrent === undefined || sideEffect !== "none",
    sideEffect
  ],
  [
    "A tool's 'failureLimit' must be a whole number of at least 1",
    Number.isInteger(failureLimit) && Number(failureLimit) >= 1,
    failureLimit
  ],
  [
    "A tool's 'onMismatch' must be \"show\" or \"refuse\"",
    onMismatch === "show" || onMismatch === "refuse",
    onMismatch
  ],
  [
    "A tool's 'volatile' must be a list of field names",
    Array.isArray(volatile) && volatile.every(Predicate.isString),
    volatile
  ],
  [
    "A tool with 'poll' must be read-only (sideEffect: \"none\"), since it runs again and again",
    poll === undefined || sideEffect === "none",
    sideEffect
  ]
]

interface Settling {
  readonly outcome: unknown
  readonly final?: unknown
  readonly settle?: unknown
}

/** Throws a `TypeError` unless a tool's `settles` has what it needs. */
export const demandSettles = (options: Settling, sideEffect: SideEffect): void => {
  demand([
    [
      "A tool's 'settles' must be an object such as { outcome: ({ paid }) => paid ? \"executed\" : \"not_executed\", final: true }",
      Predicate.isObject(options) && Predicate.isFunction(options.outcome),
      options
    ],
    ["A tool with 'settles' must be read-only (sideEffect: \"none\")", sideEffect === "none", sideEffect]
  ])
  const { final, settle } = options
  demand([
    ["The 'final' of a tool's 'settles' must be a boolean", final === undefined || Predicate.isBoolean(final), final],
    ["A tool's 'settles' has either 'final' or 'settle'", final !== true || settle === undefined, settle]
  ])
}

interface Identifiable {
  readonly identity?: unknown
  readonly parameters?: Schema.Constraint
  readonly sideEffect?: SideEffect
}

/** Throws a `TypeError` if an idempotency key cannot be made, because the tool does not say from which arguments. */
export const demandIdentity = (
  name: string,
  { identity, parameters, sideEffect }: Identifiable
): void => {
  if (Predicate.isFunction(identity)) return
  const what = "the arguments that identify the effect, such as ({ order }) => order"
  if (parameters !== undefined && !isWritable(parameters) && sideEffect !== "none" && identity === undefined) {
    throw new TypeError(
      `'${name}' needs an 'identity', because its parameters transform values, which cannot be undone: ${what}, or "all" if none of them is free text.`
    )
  }
  if (sideEffect !== "idempotent_by_key") return
  if (identity === undefined) {
    throw new TypeError(`'${name}' needs an 'identity': ${what}, or "all" if none of them is free text.`)
  }
  // A key leaves the process, so it must not be made from a secret.
  if (parameters === undefined || !hasSecrets(schemaOf(parameters))) return
  throw new TypeError(`'${name}' needs an 'identity' without its secrets: ${what}.`)
}

const isActs = (acts: unknown): boolean =>
  acts === undefined ||
  Predicate.isObject(acts) && Array.isArray(acts["requests"]) && acts["requests"].length > 0 &&
    acts["requests"].every((pattern) => whyNoPattern(pattern) === undefined) &&
    (acts["only"] === undefined || Predicate.isBoolean(acts["only"])) &&
    Object.keys(acts).every((key) => key === "requests" || key === "only")

const whyNoActs = (acts: unknown): string | undefined => {
  const patterns = Predicate.isObject(acts) && Array.isArray(acts["requests"]) ? acts["requests"] : []
  const wrong = patterns.find((pattern) => whyNoPattern(pattern) !== undefined)
  return wrong === undefined ? undefined : `${excerpt(wrong)} is not a pattern: ${whyNoPattern(wrong)}.`
}

const adviceOnSideEffect = (sideEffect: unknown): string | undefined => {
  const nearest = Predicate.isString(sideEffect) ? didYouMean(sideEffect, sideEffects) : undefined
  return nearest === undefined ? undefined : `Did you mean '${nearest}'?`
}
