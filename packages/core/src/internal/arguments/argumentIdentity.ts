/*
 * The intended effect of a call, computed from its arguments: a string that is the same for equal
 * arguments, however they were written.
 *
 * For this, arguments are decoded and encoded again. So `"5"` and `5` are the same, and so are an
 * omitted default and the same value written out. If the parameters cannot be encoded, the decoded
 * values are compared, or else the text of the arguments.
 */
import { hasSecrets } from "@fallible/arguments"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as SchemaGetter from "effect/SchemaGetter"
import * as SchemaParser from "effect/SchemaParser"
import * as Arguments from "../../Arguments.ts"
import * as Coercion from "../../Coercion.ts"
import { heed } from "../call/runUserCode.ts"
import { canonical } from "../value/canonical.ts"
import { attempted, isPromise } from "../value/untrusted.ts"
import { holds, idOf } from "./encodedSide.ts"
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
  /**
   * True if an idempotency key can be made from this identity. A key leaves the process, so it must
   * not contain a secret, and it must be the same each time.
   */
  readonly isFit: boolean
}

/**
 * Computes the identity of a call from its arguments.
 *
 * Throws if the tool's `identity` throws, or returns a value that cannot be compared.
 */
export const identityOf = (tool: Identified, params: unknown, text: string | undefined): Identity => {
  const { encode, isUnordered, keeps, unfit } = writingOf(tool.parameters)
  const json = encode(isUnordered ? sorted(params) : params)
  const isKept = json === undefined || keeps(params, json)
  // If the arguments change when they are encoded and decoded again, they may contain a generated
  // default. In that case, their text is compared.
  const canonicalText = unfit === "drawn" || !isKept ? undefined : canonical(json ?? params)
  const whole = canonicalText ?? asWritten(tool, text)
  const { identity } = tool
  if (!Predicate.isFunction(identity)) return { effect: whole, whole, isFit: unfit === undefined && isKept }
  const declared: unknown = identity(params as never)
  if (isEmpty(declared)) return { effect: undefined, whole, isFit: true }
  const effect = isPromise(declared) || Effect.isEffect(declared) ? undefined : canonical(declared)
  if (effect !== undefined) return { effect, whole, isFit: true }
  heed(`The identity of '${tool.name}'`, declared)
  throw new TypeError(
    `The identity of '${tool.name}' must consist of JSON, dates, bigints, Maps and Sets. It must not hold promises, secrets, functions, or classes without toJSON.`
  )
}

/**
 * Returns JSON that decodes to equal arguments. If there is no such JSON, returns the original text;
 * if the arguments contain a secret, returns `undefined`.
 */
export const textAgain = (
  { parameters }: Identified,
  params: unknown,
  text: string | undefined
): string | undefined => {
  const { encode, isExact, unfit } = writingOf(parameters)
  if (unfit === "secret") return undefined
  const json = encode(params)
  return json === undefined || !isExact(params, json) ? text : JSON.stringify(json)
}

/**
 * Returns the intended effect of a tool that runs inside another call. The tool's idempotency key is
 * made from this effect or, if this is `undefined`, from the tool's place in the outer call.
 */
export const effectOf = (tool: Identified, params: unknown): string | undefined =>
  attempted(() => {
    const { effect, isFit } = identityOf(tool, params, undefined)
    return isFit ? effect : undefined
  })

/** Returns why no idempotency key can be made from a tool's arguments; `undefined` if one can be made. */
export const whyUnfit = (parameters: Schema.ConstraintDecoder<unknown>): string | undefined => {
  const { unfit } = writingOf(parameters)
  return unfit === undefined ? undefined : reasons[unfit]
}

type Unfit = "secret" | "drawn" | "lost"

const reasons: Readonly<Record<Unfit, string>> = {
  secret: "they hold a secret",
  drawn: "they have a default that may differ each time",
  lost: "they cannot be encoded again without loss"
}

// -----------------------------------------------------------------------------
// Encoding
// -----------------------------------------------------------------------------

interface Writing {
  readonly unfit: Unfit | undefined
  /** Encodes parameters to JSON; returns `undefined` if that fails. */
  readonly encode: (params: unknown) => unknown
  /** Whether the JSON decodes to equal parameters. */
  readonly keeps: (params: unknown, json: unknown) => boolean
  /** Whether the JSON decodes to parameters with the same canonical text. */
  readonly isExact: (params: unknown, json: unknown) => boolean
  /** True if the parameters contain Sets or Maps, whose order does not matter. */
  readonly isUnordered: boolean
}

const writings = new WeakMap<object, Writing>()

const writingOf = (parameters: Schema.ConstraintDecoder<unknown>): Writing => {
  const cached = writings.get(parameters)
  if (cached !== undefined) return cached
  const result = attempted(() => writing(parameters)) ?? unencodable
  writings.set(parameters, result)
  return result
}

const never = () => false

const unencodable: Writing = {
  unfit: "lost",
  encode: () => undefined,
  keeps: never,
  isExact: never,
  isUnordered: false
}

const writing = (parameters: Schema.ConstraintDecoder<unknown>): Writing => {
  const codec = Schema.toCodecJson(parameters)
  const unfit = unfitIn(parameters, codec.ast)
  if (unfit === "lost") return unencodable
  const encodeExit = SchemaParser.encodeUnknownExit(withoutServices(codec))
  const encode = (params: unknown) => successOf(() => encodeExit(params))
  const decodeExit = SchemaParser.decodeUnknownExit(codec)
  // If nothing in the schema has an encoding, the JSON equals the parameters.
  const isMapped = holds(codec.ast, ({ encoding }) => encoding !== undefined)
  const decode = (json: unknown) => successOf(() => decodeExit(json))
  return {
    unfit,
    encode,
    keeps: (params, json) => !isMapped || isSame(params, decode(json)),
    isExact: (params, json) => !isMapped || isSameText(params, decode(json)),
    isUnordered: holds(codec.ast, isSetOrMap)
  }
}

// Compares two values by equality and by canonical text, because neither test is enough alone. The decimals `1.0`
// and `1.00` are equal, but have different texts. Two `URL` objects are never equal, but may have the same text.
const isSame = (one: unknown, other: unknown): boolean => {
  if (Equal.equals(one, other)) return true
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((item, at) => isSame(item, other[at]))
  }
  if (isPlain(one)) {
    return isPlain(other) && Object.keys(one).every((key) => isSame(one[key], other[key]))
  }
  const text = canonical(one)
  return text === undefined ? Predicate.isObject(other) : text === canonical(other)
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  Predicate.isObject(value) && Object.getPrototypeOf(value) === Object.prototype

const successOf = (run: () => Exit.Exit<unknown, unknown>): unknown =>
  attempted(() => {
    const exit = run()
    return Exit.isSuccess(exit) ? exit.value : undefined
  })

// A codec that needs services dies here. In that case, the decoded values are compared.
const withoutServices = (codec: Schema.Constraint) => codec as Schema.ConstraintEncoder<unknown>

const isSetOrMap = (ast: SchemaAST.AST): boolean =>
  SchemaAST.isDeclaration(ast) &&
  ["effect/schema/ReadonlySet", "effect/schema/ReadonlyMap"].some((id) => id === idOf(ast))

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

const unfitIn = (parameters: Schema.ConstraintDecoder<unknown>, ast: SchemaAST.AST): Unfit | undefined => {
  if (hasSecrets(schemaOf(parameters))) return "secret"
  if (holds(ast, isDrawn)) return "drawn"
  return holds(ast, isLost) || holds(ast, isOpaque) ? "lost" : undefined
}

// True for a class without a codec. Effect declares that such a class encodes to any JSON.
const isOpaque = (ast: SchemaAST.AST): boolean => SchemaAST.isDeclaration(ast) && isJson(ast.encoding?.at(-1)?.to)

const isJson = (ast: SchemaAST.AST | undefined): boolean =>
  ast !== undefined && SchemaAST.isDeclaration(ast) && idOf(ast) === "effect/schema/Json"

// True for a default that is not constant: two evaluations give different values, or are not synchronous.
const isDrawn = (ast: SchemaAST.AST): boolean =>
  getters(ast).some(({ decode }) =>
    attempted(() => {
      const draw = () => SchemaGetter.run(decode, Option.none(), {})
      const [one, other] = [draw(), draw()]
      if (!Exit.isExit(one) || !Exit.isExit(other)) return true
      return Exit.isSuccess(one) && Exit.isSuccess(other) && !isSameText(valueOf(one.value), valueOf(other.value))
    }) === true
  )

const valueOf = (drawn: unknown): unknown => Option.isOption(drawn) ? Option.getOrUndefined(drawn) : undefined

const isSameText = (one: unknown, other: unknown): boolean => {
  const text = canonical(one)
  return text !== undefined && text === canonical(other)
}

// True if encoding drops or forbids every value, whatever the value is.
const isLost = (ast: SchemaAST.AST): boolean =>
  getters(ast).some(({ encode }) =>
    attempted(() => {
      const exit = SchemaGetter.run(encode, Option.some(anything), {})
      if (!Exit.isExit(exit)) return false
      return Exit.isSuccess(exit) ? isNone(exit.value) : isForbidden(exit)
    }) === true
  )

const isForbidden = ({ cause: { reasons } }: Exit.Failure<unknown, unknown>): boolean =>
  reasons.some((reason) => reason._tag === "Fail" && Predicate.isTagged(reason.error, "Forbidden"))

const anything = {}

const isNone = (value: unknown): boolean => Option.isOption(value) && Option.isNone(value)

const getters = ({ encoding }: SchemaAST.AST) =>
  encoding === undefined
    ? []
    : encoding.flatMap(({ transformation }) => transformation._tag === "Transformation" ? [transformation] : [])

// -----------------------------------------------------------------------------
// Arguments as written, and empty identities
// -----------------------------------------------------------------------------

// Returns a canonical string of the arguments as they were written. They are coerced by the schema,
// so that equal arguments give equal strings. Omitted defaults are not filled in.
const asWritten = ({ parameters }: Identified, text: string | undefined): string => {
  const parsed = Result.getOrUndefined(Arguments.parse(text))
  const coerced = parsed === undefined
    ? undefined
    : attempted(() => Coercion.coerce(parsed.value, parameters, parsed).value) ?? parsed.value
  return (coerced === undefined ? undefined : canonical(coerced)) ?? `${text}`
}

const isEmpty = (identity: unknown): boolean => {
  if (identity === undefined || identity === null) return true
  if (typeof identity === "string") return identity.trim() === ""
  if (Array.isArray(identity)) return identity.every(isEmpty)
  return isPlain(identity) && Object.values(identity).every(isEmpty)
}
