/*
 * Which effect a call is meant to have, as its arguments say: a text that is the same for equal ones, however they were written.
 *
 * Arguments are decoded and encoded again, so that `"5"` and `5`, a default that was left out and one that was written, are the same.
 * Where the parameters cannot be encoded, the decoded values are compared, or else the text.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as SchemaGetter from "effect/SchemaGetter"
import * as SchemaParser from "effect/SchemaParser"
import * as Arguments from "../Arguments.ts"
import { canonical } from "./canonical.ts"
import { holds } from "./encodedSide.ts"
import { mentionsSecret } from "./form.ts"
import { schemaOf } from "./jsonSchema.ts"
import { attempted, isPromise } from "./stranger.ts"

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
  const { encode, unfit } = writingOf(tool.parameters)
  const json = unfit === "drawn" ? undefined : encode(params)
  const whole = (unfit === "drawn" ? undefined : canonical(json ?? params)) ?? asWritten(text)
  const { identity } = tool
  if (identity === undefined) return { effect: whole, whole, isFit: unfit === undefined }
  const declared: unknown = identity(params as never)
  if (isEmpty(declared)) return { effect: undefined, whole, isFit: true }
  const effect = isPromise(declared) || Effect.isEffect(declared) ? undefined : canonical(declared)
  if (effect !== undefined) return { effect, whole, isFit: true }
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
  const { encode, unfit } = writingOf(parameters)
  if (unfit === "secret") return undefined
  const json = encode(params)
  return json === undefined ? text : JSON.stringify(json)
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
}

const writings = new WeakMap<object, Writing>()

const writingOf = (parameters: Schema.ConstraintDecoder<unknown>): Writing => {
  const known = writings.get(parameters)
  if (known !== undefined) return known
  const made = attempted(() => writing(parameters)) ?? lost
  writings.set(parameters, made)
  return made
}

const lost: Writing = { unfit: "lost", encode: () => undefined }

const writing = (parameters: Schema.ConstraintDecoder<unknown>): Writing => {
  const codec = Schema.toCodecJson(parameters)
  const unfit = unfitIn(parameters, codec.ast)
  if (unfit === "lost") return lost
  const encode = SchemaParser.encodeUnknownExit(withoutServices(codec))
  return {
    unfit,
    encode: (params) =>
      attempted(() => {
        const exit = encode(params)
        return Exit.isSuccess(exit) ? exit.value : undefined
      })
  }
}

// A codec that needs services cannot encode here: it dies, and the decoded values are compared.
const withoutServices = (codec: Schema.Constraint) => codec as Schema.ConstraintEncoder<unknown>

const unfitIn = (parameters: Schema.ConstraintDecoder<unknown>, ast: SchemaAST.AST): Unfit | undefined => {
  if (mentionsSecret(schemaOf(parameters))) return "secret"
  if (holds(ast, isDrawn)) return "drawn"
  return holds(ast, isLost) || holds(SchemaAST.toEncoded(ast), SchemaAST.isDeclaration) ? "lost" : undefined
}

// A default that is no constant: what stands in for an absent value is known only once it is asked for.
const isDrawn = (ast: SchemaAST.AST): boolean =>
  getters(ast).some(({ decode }) => attempted(() => Exit.isExit(SchemaGetter.run(decode, Option.none(), {}))) === false)

// What is left out, or refused, whatever it is. (An instance of a class that has no codec stays one on the encoded side.)
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

const asWritten = (text: string | undefined): string => {
  const parsed = Result.getOrUndefined(Arguments.parse(text))
  return (parsed === undefined ? undefined : canonical(parsed.value)) ?? `${text}`
}

const isEmpty = (identity: unknown): boolean => {
  if (identity === undefined || identity === null) return true
  if (typeof identity === "string") return identity.trim() === ""
  if (Array.isArray(identity)) return identity.every(isEmpty)
  return Predicate.isObject(identity) && Object.getPrototypeOf(identity) === Object.prototype &&
    Object.values(identity).every(isEmpty)
}
