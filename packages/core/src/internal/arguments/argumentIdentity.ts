/*
 * The intended effect of a call, computed from its arguments: a string that is the same for equal
 * arguments, however they were written.
 *
 * For this, arguments are decoded and encoded again. So `"5"` and `5` are the same, and so are an
 * omitted default and the same value written out. If something is lost on the way, or made up, the arguments are
 * compared as they were written.
 */
import { hasSecrets, partAt } from "@fallible/arguments/internal"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { memoize } from "effect/Function"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import * as Arguments from "../../Arguments.ts"
import { heedPromise } from "../call/runUserCode.ts"
import { canonical, isSame, isSameText } from "../value/canonical.ts"
import { isPlain } from "../value/ownCopy.ts"
import { attempt, isPromise } from "../value/untrusted.ts"
import * as Coercion from "./coercion.ts"
import { holds } from "./encodedSide.ts"
import { type Foreign, foreignOf } from "./foreignSchema.ts"
import { schemaOf } from "./jsonSchema.ts"

/** The fields of a tool that the identity of its calls depends on. */
export interface Identified {
  readonly name: string
  readonly parameters: Schema.ConstraintDecoder<unknown>
  readonly identity?: ((params: never) => unknown) | "all" | undefined
}

/** The identity of a call, computed from its arguments. */
export interface Identity {
  /** The intended effect; `undefined` if the tool's own `identity` function returns an empty value. */
  readonly effect: string | undefined
  /** All arguments, as a string of the same form as `effect`. */
  readonly whole: string
  /** True if an idempotency key can be made from this identity. A key leaves the process, so no secret goes into it. */
  readonly isFit: boolean
}

/**
 * Computes the identity of a call from its arguments and the text that they were decoded from.
 *
 * Throws if the tool's `identity` throws, or returns a value that cannot be compared.
 */
export const identityOf = (tool: Identified, params: unknown, text: string | undefined): Identity => {
  const whole = wholeOf(tool, params, text)
  return Predicate.isFunction(tool.identity)
    ? { effect: declaredBy(tool, params), whole, isFit: true }
    : { effect: whole, whole, isFit: !hasSecret(tool) }
}

/**
 * Returns JSON that decodes to equal arguments. If there is no such JSON, returns the original text;
 * if the arguments contain a secret, returns `undefined`.
 */
export const textAgain = (tool: Identified, params: unknown, text: string | undefined): string | undefined => {
  if (hasSecret(tool)) return undefined
  const { decode, encode, isMapped } = codecOf(tool.parameters)
  const json = encode(params)
  const isExact = json !== undefined && (!isMapped || isSameText(params, decode(json)))
  return isExact ? JSON.stringify(json) : text
}

/**
 * Returns the arguments of a call as JSON text for a person: as they were decoded, with defaults. But what is made up whenever
 * they are decoded, such as a random default, is left out, as it is from their identity. If the arguments contain a secret,
 * returns `undefined`.
 */
export const textToShow = (tool: Identified, params: unknown, text: string | undefined): string | undefined => {
  const { decodeAtOnce, foreign, isMapped } = codecOf(tool.parameters)
  const written = isMapped || foreign !== undefined ? fittedJson(tool, text) : undefined
  if (written === undefined || written === text) return textAgain(tool, params, text)
  const again = decodeAtOnce(written)
  // A library that answers later does not say what it makes up.
  const isMadeUp = again === undefined ? foreign === undefined : !isSame(params, again)
  return isMadeUp && !hasSecret(tool) ? JSON.stringify(written) : textAgain(tool, params, text)
}

/**
 * Returns the intended effect of a tool that runs inside another call. The tool's idempotency key is
 * made from this effect or, if this is `undefined`, from the tool's place in the outer call.
 *
 * @param text what a fixer wrote; absent if a program made the parameters
 */
export const effectOf = (tool: Identified, params: unknown, text?: string): string | undefined =>
  attempt(() => {
    if (Predicate.isFunction(tool.identity)) return declaredBy(tool, params)
    if (hasSecret(tool)) return undefined
    return text === undefined ? encodedText(tool, params) ?? canonical(params) : wholeOf(tool, params, text)
  })

const hasSecret = ({ parameters }: Identified): boolean => hasSecrets(schemaOf(parameters))

const declaredBy = ({ identity, name }: Identified, params: unknown): string | undefined => {
  const declared: unknown = Predicate.isFunction(identity) ? identity(params as never) : undefined
  if (isEmpty(declared)) return undefined
  const effect = isPromise(declared) || Effect.isEffect(declared) ? undefined : canonical(declared)
  if (effect !== undefined) return effect
  heedPromise(`The identity of '${name}'`, declared)
  throw new TypeError(
    `The identity of '${name}' must consist of JSON, dates, bigints, Maps and Sets. It must not hold promises, secrets, functions, or classes without toJSON.`
  )
}

// -----------------------------------------------------------------------------
// All arguments
// -----------------------------------------------------------------------------

// A default may be random, or the time. So the arguments are decoded once more: what is made up differs, or takes an
// Effect. Otherwise one text would be another call each time.
const wholeOf = (tool: Identified, params: unknown, text: string | undefined): string => {
  const { decodeAtOnce, foreign, isMapped } = codecOf(tool.parameters)
  if (foreign !== undefined) return canonical(asTidied(tool, params, text, foreign)) ?? `${text}`
  const isMadeUp = () => !isSame(params, decodeAtOnce(fittedJson(tool, text)))
  const encoded = isMapped && isMadeUp() ? undefined : encodedText(tool, params)
  return encoded ?? canonical(fittedJson(tool, text)) ?? `${text}`
}

// What another library makes up cannot be seen: the time is the same when the arguments are decoded once more at once, and a
// default in a JSON Schema may be that of today. So its arguments are compared as they were written, and nothing is added. But a
// library may tidy what it is given, as `trim()` does, and its JSON Schema does not say so: what was written counts as it was
// decoded, if that decodes to the same. Then no other call has it. A library that answers later cannot be asked for that here.
const asTidied = (
  tool: Identified,
  params: unknown,
  text: string | undefined,
  { placed, validate }: Foreign
): unknown => {
  const json = fittedJson(tool, text)
  if (validate === undefined) return json
  const tidied = tidiedBy(placed(params), json)
  if (isSameText(tidied, json)) return json
  const { decodeAtOnce } = codecOf(tool.parameters)
  const before = decodeAtOnce(json)
  const decoded = decodeAtOnce(tidied)
  const isKept = before !== undefined && decoded !== undefined &&
    isSameText(tidiedBy(placed(decoded), tidied), tidied) &&
    agree(params, decoded, [before, decodeAtOnce(json)])
  return isKept ? tidied : json
}

/**
 * True if two decoded values are the same, but for parts that are made up. Such a part of the first value is another one
 * whenever the same arguments are decoded again.
 *
 * @param again what the arguments of the first value decoded to shortly before the second one was decoded, and shortly after
 */
const agree = (one: unknown, other: unknown, again: ReadonlyArray<unknown>): boolean => {
  if (isSame(one, other)) return true
  const keys = keysOfBoth(one, other)
  return keys === undefined
    ? !again.every((value) => isSame(one, value))
    : keys.every((key) => agree(partAt(one, [key]), partAt(other, [key]), again.map((value) => partAt(value, [key]))))
}

const keysOfBoth = (one: unknown, other: unknown): ReadonlyArray<string> | undefined => {
  const areAlike = Array.isArray(one) && Array.isArray(other) || isPlain(one) && isPlain(other)
  return areAlike ? Array.from(new Set([...Object.keys(one), ...Object.keys(other)])) : undefined
}

/**
 * Returns the parts of a value that were written, as they were decoded. A part stays if it was decoded to another type, or to a
 * list whose objects cannot be matched.
 */
const tidiedBy = (decoded: unknown, written: unknown): unknown => {
  if (Array.isArray(written)) {
    if (!Array.isArray(decoded)) return written
    if (decoded.length !== written.length) return decoded.some(Predicate.isObjectOrArray) ? written : decoded
    return written.map((item, index) => tidiedBy(decoded[index], item))
  }
  if (Predicate.isObject(written)) {
    if (!Predicate.isObject(decoded)) return written
    return Object.fromEntries(
      Object.entries(written).map(([key, item]) => [
        key,
        Object.hasOwn(decoded, key) ? tidiedBy(decoded[key], item) : item
      ])
    )
  }
  return written !== null && typeof decoded === typeof written ? decoded : written
}

// Returns the encoded parameters as canonical text; `undefined` if encoding fails or loses something.
const encodedText = ({ parameters }: Identified, params: unknown): string | undefined => {
  const { decode, encode, isMapped } = codecOf(parameters)
  const json = encode(isMapped ? sorted(params) : params)
  return json === undefined || isMapped && !isSame(params, decode(json)) ? undefined : canonical(json)
}

/**
 * Returns arguments as JSON, as they were written, but coerced by the schema, so that equal arguments are equal. Omitted
 * defaults are not filled in.
 */
export const fittedJson = ({ parameters }: Identified, text: string | undefined): unknown => {
  const parsed = Result.getOrUndefined(Arguments.parse(text))
  if (parsed === undefined) return text
  return attempt(() => Coercion.coerce(parsed.value, parameters, parsed).value) ?? parsed.value
}

interface Codec {
  /** Encodes parameters to JSON. Like the others, returns `undefined` if that fails. */
  readonly encode: (params: unknown) => unknown
  readonly decode: (json: unknown) => unknown
  /** Decodes JSON, if that takes nothing from outside, such as the time. */
  readonly decodeAtOnce: (json: unknown) => unknown
  /** False if the JSON equals the parameters. */
  readonly isMapped: boolean
  /** Present if the schema is another library's. */
  readonly foreign: Foreign | undefined
}

const codecOf = memoize((parameters: Schema.ConstraintDecoder<unknown>): Codec => {
  const codec = Schema.toCodecJson(parameters)
  const encode = SchemaParser.encodeUnknownExit(withoutServices(codec))
  const decode = SchemaParser.decodeUnknownExit(codec)
  const decodeEagerly = SchemaParser.decodeUnknownEffect(codec)
  return {
    encode: (params) => successOf(() => encode(params)),
    decode: (json) => successOf(() => decode(json)),
    decodeAtOnce: (json) => successOf(() => decodeEagerly(json)),
    isMapped: holds(codec.ast, ({ encoding }) => encoding !== undefined),
    foreign: foreignOf(parameters)
  }
})

const successOf = (run: () => Effect.Effect<unknown, unknown>): unknown =>
  attempt(() => {
    const exit = run()
    return Exit.isExit(exit) && Exit.isSuccess(exit) ? exit.value : undefined
  })

// A codec that needs services fails here. In that case, the arguments are compared as they were written.
const withoutServices = (codec: Schema.Constraint) => codec as Schema.ConstraintEncoder<unknown>

// -----------------------------------------------------------------------------
// Comparing values
// -----------------------------------------------------------------------------

// Sets and Maps encode to lists in insertion order, so they are sorted first.
const sorted = (value: unknown): unknown => {
  if (value instanceof Set) return new Set(Array.from(value, sorted).toSorted(byText))
  if (value instanceof Map) {
    return new Map(Array.from(value, ([key, item]): [unknown, unknown] => [sorted(key), sorted(item)]).toSorted(byText))
  }
  if (Array.isArray(value)) return value.map(sorted)
  return isPlain(value)
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, sorted(item)]))
    : value
}

const byText = (one: unknown, other: unknown): number => (canonical(one) ?? "") < (canonical(other) ?? "") ? -1 : 1

const isEmpty = (identity: unknown): boolean => {
  if (identity === undefined || identity === null) return true
  if (typeof identity === "string") return identity.trim() === ""
  if (Array.isArray(identity)) return identity.every(isEmpty)
  return isPlain(identity) && Object.values(identity).every(isEmpty)
}
