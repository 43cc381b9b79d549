/*
 * Which effect a call is meant to have, as its arguments say: a text that is the same for equal ones, however they were written.
 *
 * Arguments are decoded and encoded again, so that `"5"` and `5`, a default that was left out and one that was written, are the same.
 * Where the parameters cannot be encoded, the decoded values are compared, or else the text.
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
import { heed } from "../call/userCode.ts"
import { canonical } from "../value/canonical.ts"
import { attempted, isPromise } from "../value/untrusted.ts"
import { holds, idOf } from "./encodedSide.ts"
import { schemaOf } from "./jsonSchema.ts"

/** What is asked of a tool. */
export interface Identified {
  readonly name: string
  readonly parameters: Schema.ConstraintDecoder<unknown>
  readonly identity?: ((params: never) => unknown) | undefined
}

/** What the arguments of a call say. */
export interface Identity {
  /** Which effect is meant; `undefined` where the tool's own `identity` finds nothing. */
  readonly effect: string | undefined
  /** The same of all arguments. */
  readonly whole: string
  /** May a key be made of it? A key leaves the process, and is the same each time. */
  readonly isFit: boolean
}

/**
 * What a tool's arguments say.
 *
 * An identity that throws, or that answers with what cannot be compared, throws here.
 */
export const identityOf = (tool: Identified, params: unknown, text: string | undefined): Identity => {
  const { encode, isUnordered, keeps, unfit } = writingOf(tool.parameters)
  const json = encode(isUnordered ? ordered(params) : params)
  const isKept = json === undefined || keeps(params, json)
  // What does not come back as it was may be drawn.
  const told = unfit === "drawn" || !isKept ? undefined : canonical(json ?? params)
  const whole = told ?? asWritten(tool, text)
  const { identity } = tool
  if (identity === undefined) return { effect: whole, whole, isFit: unfit === undefined && isKept }
  const declared: unknown = identity(params as never)
  if (isEmpty(declared)) return { effect: undefined, whole, isFit: true }
  const effect = isPromise(declared) || Effect.isEffect(declared) ? undefined : canonical(declared)
  if (effect !== undefined) return { effect, whole, isFit: true }
  heed(`The identity of '${tool.name}'`, declared)
  throw new TypeError(
    `The identity of '${tool.name}' must be JSON, or made of dates, bigints, Maps and Sets: without promises, secrets, functions, and classes that have no toJSON.`
  )
}

/** All arguments as a text that decodes to the same again, as far as that can be had; none where they hold a secret. */
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

/** Which effect is meant, for a key of what runs inside of a call; `undefined` where its place in the call has to do. */
export const effectOf = (tool: Identified, params: unknown): string | undefined =>
  attempted(() => {
    const { effect, isFit } = identityOf(tool, params, undefined)
    return isFit ? effect : undefined
  })

/** Why no key can be made of a tool's arguments as they are, if so. */
export const whyUnfit = (parameters: Schema.ConstraintDecoder<unknown>): string | undefined => {
  const { unfit } = writingOf(parameters)
  return unfit === undefined ? undefined : reasons[unfit]
}

type Unfit = "secret" | "drawn" | "lost"

const reasons: Readonly<Record<Unfit, string>> = {
  secret: "they hold a secret",
  drawn: "they have a default that may be another each time",
  lost: "they cannot be encoded again without loss"
}

// -----------------------------------------------------------------------------
// Encoding again
// -----------------------------------------------------------------------------

interface Writing {
  readonly unfit: Unfit | undefined
  /** As JSON; `undefined` where that cannot be done. */
  readonly encode: (params: unknown) => unknown
  /** Does that decode to what is equal? */
  readonly keeps: (params: unknown, json: unknown) => boolean
  /** Does it decode to what is written in the same way, too? */
  readonly isExact: (params: unknown, json: unknown) => boolean
  /** Are there Sets or Maps? Their order says nothing. */
  readonly isUnordered: boolean
}

const writings = new WeakMap<object, Writing>()

const writingOf = (parameters: Schema.ConstraintDecoder<unknown>): Writing => {
  const known = writings.get(parameters)
  if (known !== undefined) return known
  const made = attempted(() => writing(parameters)) ?? lost
  writings.set(parameters, made)
  return made
}

const never = () => false

const lost: Writing = { unfit: "lost", encode: () => undefined, keeps: never, isExact: never, isUnordered: false }

const writing = (parameters: Schema.ConstraintDecoder<unknown>): Writing => {
  const codec = Schema.toCodecJson(parameters)
  const unfit = unfitIn(parameters, codec.ast)
  if (unfit === "lost") return lost
  const encodeExit = SchemaParser.encodeUnknownExit(withoutServices(codec))
  const encode = (params: unknown) => successOf(() => encodeExit(params))
  const decodeExit = SchemaParser.decodeUnknownExit(codec)
  // What is not mapped stays what it is.
  const isMapped = holds(codec.ast, ({ encoding }) => encoding !== undefined)
  const back = (json: unknown) => successOf(() => decodeExit(json))
  return {
    unfit,
    encode,
    keeps: (params, json) => !isMapped || isSame(params, back(json)),
    isExact: (params, json) => !isMapped || isSameText(params, back(json)),
    isUnordered: holds(codec.ast, isSetOrMap)
  }
}

// `1.0` and `1.00` are equal, and have two texts; two addresses are not, and have one.
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

// A codec that needs services cannot encode here: it dies, and the decoded values are compared.
const withoutServices = (codec: Schema.Constraint) => codec as Schema.ConstraintEncoder<unknown>

const isSetOrMap = (ast: SchemaAST.AST): boolean =>
  SchemaAST.isDeclaration(ast) &&
  ["effect/schema/ReadonlySet", "effect/schema/ReadonlyMap"].some((id) => id === idOf(ast))

// They are encoded as lists, in the order in which they were written.
const ordered = (value: unknown): unknown => {
  if (value instanceof Set) return new Set(Array.from(value, ordered).toSorted(byText))
  if (value instanceof Map) {
    return new Map(Array.from(value, ([key, of]): [unknown, unknown] => [ordered(key), ordered(of)]).toSorted(byText))
  }
  if (Array.isArray(value)) return value.map(ordered)
  return isPlain(value)
    ? Object.fromEntries(Object.entries(value).map(([key, of]) => [key, ordered(of)]))
    : value
}

const byText = (one: unknown, other: unknown): number => (canonical(one) ?? "") < (canonical(other) ?? "") ? -1 : 1

const unfitIn = (parameters: Schema.ConstraintDecoder<unknown>, ast: SchemaAST.AST): Unfit | undefined => {
  if (hasSecrets(schemaOf(parameters))) return "secret"
  if (holds(ast, isDrawn)) return "drawn"
  return holds(ast, isLost) || holds(ast, isOpaque) ? "lost" : undefined
}

// An instance of a class that has no codec: what it encodes to is said to be any JSON.
const isOpaque = (ast: SchemaAST.AST): boolean => SchemaAST.isDeclaration(ast) && isJson(ast.encoding?.at(-1)?.to)

const isJson = (ast: SchemaAST.AST | undefined): boolean =>
  ast !== undefined && SchemaAST.isDeclaration(ast) && idOf(ast) === "effect/schema/Json"

// A default that is no constant: what stands in for an absent value is known only once it is asked for.
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

// What is left out, or refused, whatever it is.
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
// What is written, and what is nothing
// -----------------------------------------------------------------------------

// What is written in another way is the same, as far as the schema says; a default that was left out is not known.
const asWritten = ({ parameters }: Identified, text: string | undefined): string => {
  const parsed = Result.getOrUndefined(Arguments.parse(text))
  const meant = parsed === undefined
    ? undefined
    : attempted(() => Coercion.coerce(parsed.value, parameters, parsed).value) ?? parsed.value
  return (meant === undefined ? undefined : canonical(meant)) ?? `${text}`
}

const isEmpty = (identity: unknown): boolean => {
  if (identity === undefined || identity === null) return true
  if (typeof identity === "string") return identity.trim() === ""
  if (Array.isArray(identity)) return identity.every(isEmpty)
  return isPlain(identity) && Object.values(identity).every(isEmpty)
}
