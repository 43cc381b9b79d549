import { message, numberAt, type Origin, type Readable, type Unreadable } from "@fallible/arguments"
import { fits, hasSecrets, quickTest, readerWith, withoutBounds } from "@fallible/arguments/internal"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import type { SideEffect } from "../../SideEffect.ts"
import type { Repair } from "../../ToolOutcome.ts"
import { isExit, runContained } from "../fiber/runContained.ts"
import { excerpt } from "../value/text.ts"
import * as Coercion from "./coercion.ts"
import * as DispatchFailure from "./dispatchFailure.ts"
import { misfitOf, toFieldIssue } from "./fieldIssue.ts"
import { type Foreign, foreignIn, unchanged } from "./foreignSchema.ts"
import { isStricter, schemaOf, takesNothing } from "./jsonSchema.ts"

/**
 * Arguments that are ready for the handler.
 *
 * @category models
 * @since 0.1.0
 */
export interface Decoded<out Params> {
  readonly params: Params
  readonly repairs: ReadonlyArray<Repair>
}

/**
 * The fields of a tool that decoding needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Target<Params> {
  readonly parameters: Schema.ConstraintDecoder<Params>
  /** The side effect of the tool. Default: `"none"`. Words around the arguments are dropped only for `"none"`. */
  readonly sideEffect?: SideEffect
}

/**
 * The error for arguments that cannot be decoded. `text` is the parsed text; it is absent if parsing failed.
 */
export class Undecoded {
  readonly failure: DispatchFailure.Mismatch
  readonly text: Readable | undefined

  constructor(failure: DispatchFailure.Mismatch, text?: Readable) {
    this.failure = failure
    this.text = text
  }
}

/**
 * Decodes like `Arguments.decode`. The error also contains the parsed text, so that callers need not
 * parse it again.
 */
export const decodeText = <Params>(
  text: string | undefined,
  target: Target<Params>
): Effect.Effect<Decoded<Params>, Undecoded> => {
  const contract = contractOf(target.parameters)
  const parsed = readerFor(contract, target)(text)
  if (!parsed.ok) return Effect.fail(new Undecoded(unreadable(parsed.refusal)))
  if (contract.foreign !== undefined) return decodeForeign(contract, contract.foreign, target, parsed, text)
  const { isExact, repairs, value } = parsed
  if ((contract.isStricter || !isExact) && !fits(value, contract.jsonSchema, originOf(parsed))) {
    return corrected(contract, target, parsed)
  }
  // Eager: synchronous decoding takes no extra step of the runtime.
  return contract.decode(value).pipe(
    Effect.mapEager((params) => ({ params, repairs })),
    Effect.catchEager(() => corrected(contract, target, parsed))
  )
}

const readerFor = (contract: Contract<unknown>, { sideEffect = "none" }: Target<unknown>): Reader =>
  sideEffect === "none" ? contract.reading : contract.acting

const originOf = (text: Readable): Origin => ({ numberAt: (path) => numberAt(text, path) })

// A repair may move values, so a path may no longer lead to the same value in the text. No repaired value has lost digits, so
// none needs to be shown as it is in the text.
const shownAs = (text: Readable, { repairs }: Pick<Coercion.Coerced, "repairs">) =>
  repairs.length === 0 ? originOf(text) : { numberAt: () => "", written: { ...originOf(text), value: text.value } }

// -----------------------------------------------------------------------------
// Contracts: compiled parameter schemas, cached
// -----------------------------------------------------------------------------

interface Contract<Params> {
  readonly decode: (value: unknown) => Effect.Effect<Params, SchemaIssue.Issue>
  readonly decodeAll: (value: unknown) => Effect.Effect<Params, SchemaIssue.Issue>
  readonly jsonSchema: JsonSchema.JsonSchema
  /** Present if the whole schema is one of another library, or a JSON Schema. */
  readonly foreign: Foreign | undefined
  /** The JSON Schema without what a library checks itself. */
  readonly types: JsonSchema.JsonSchema
  /** A quick test for values of these types. False means that a value needs a closer look. */
  readonly fitsSurely: (value: Schema.Json) => boolean
  /** True if the JSON Schema is stricter than the decoder. If so, the JSON Schema is checked first. */
  readonly isStricter: boolean
  /** Reads the texts for a read-only tool. */
  readonly reading: Reader
  /** Reads the texts for a tool that acts (has side effects). */
  readonly acting: Reader
}

type Reader = ReturnType<typeof readerWith>

const contracts = new WeakMap<object, Contract<unknown>>()

const contractOf = <Params>(parameters: Schema.ConstraintDecoder<Params>): Contract<Params> => {
  const cached = contracts.get(parameters)
  if (cached !== undefined) return asContractOf(cached)
  const codec = Schema.toCodecJson(parameters)
  const schema = schemaOf(parameters)
  const decode = SchemaParser.decodeUnknownEffect(codec, { onExcessProperty: "error" })
  const decodeAll = SchemaParser.decodeUnknownEffect(codec, { onExcessProperty: "error", errors: "all" })
  // If the schema holds a secret, no part of an unreadable text is quoted.
  const secrets = hasSecrets(schema) ? [[]] : []
  const foreign = foreignIn(parameters.ast)
  const types = foreign?.isJudged === true ? withoutBounds(schema) : schema
  const contract: Contract<Params> = {
    // Stops at the first error: collecting all errors takes three times as long.
    decode: (value) => runContained(decode(value)),
    decodeAll: (value) => runContained(decodeAll(value)),
    jsonSchema: schema,
    foreign,
    types,
    fitsSurely: foreign === undefined ? () => false : quickTest(types),
    // With an empty struct, Effect's decoder accepts any object.
    isStricter: takesNothing(schema) || isStricter(schema, parameters),
    reading: readerWith({ prose: true, secrets }),
    acting: readerWith({ prose: false, secrets })
  }
  contracts.set(parameters, contract)
  return contract
}

// Safe, since each contract is stored under the schema that it was made from.
const asContractOf = <Params>(contract: Contract<unknown>) => contract as Contract<Params>

// Coerces the value and decodes it again. If it still does not fit, fails with one issue for each field.
const corrected = <Params>(
  contract: Contract<Params>,
  { parameters }: Target<Params>,
  text: Readable
): Effect.Effect<Decoded<Params>, Undecoded> => {
  const { decodeAll, isStricter } = contract
  const { fits, repairs, value } = Coercion.coerce(text.value, parameters, originOf(text))
  const refused = (issue?: SchemaIssue.Issue) => {
    return Effect.fail(refusedBy(contract, issue, text, { repairs, value }))
  }
  return Effect.matchEffect(decodeAll(value), {
    onFailure: refused,
    onSuccess: (params) =>
      (isStricter || !text.isExact) && !fits
        ? refused()
        : Effect.succeed({ params, repairs: [...text.repairs, ...repairs] })
  })
}

/*
 * Fits the value to the JSON Schema, and lets the library validate it.
 *
 * A JSON Schema cannot say all that a library can: a pattern may ignore case, and a text may be trimmed before its length
 * counts. So if only bounds and formats of a value do not fit, the library judges it. Nearly all values are of the right
 * types, and valid: they take the short way.
 *
 * @param source the text, which may have to be read again: a library that refuses a value may have changed it
 */
const decodeForeign = <Params>(
  contract: Contract<Params>,
  foreign: Foreign,
  target: Target<Params>,
  text: Readable,
  source: string | undefined
): Effect.Effect<Decoded<Params>, Undecoded> => {
  const { validate } = foreign
  if (!text.isExact || !contract.fitsSurely(text.value)) return fitted(contract, foreign, target, text)
  if (validate === undefined) return Effect.succeed(decodedAs(text.value, text.repairs))
  const validated = validate(text.value)
  // Nearly all libraries answer at once.
  if (isExit(validated) && Exit.isSuccess(validated)) return Effect.succeed(decodedAs(validated.value, text.repairs))
  return Effect.matchEffect(validated, {
    onSuccess: (params) => Effect.succeed(decodedAs<Params>(params, text.repairs)),
    onFailure: (issue) => {
      const reread = readerFor(contract, target)(source)
      const again = reread.ok ? reread : text
      return fits(again.value, contract.jsonSchema)
        ? Effect.fail(refusedBy(contract, issue, again, { value: again.value, repairs: none }))
        : fitted(contract, foreign, target, again)
    }
  })
}

const fitted = <Params>(
  contract: Contract<Params>,
  { isJudged, validate }: Foreign,
  { parameters }: Target<Params>,
  text: Readable
): Effect.Effect<Decoded<Params>, Undecoded> => {
  const fit = Coercion.coerce(text.value, parameters, originOf(text))
  const repairs = [...text.repairs, ...fit.repairs]
  const mayBeValid = fit.fits ||
    isJudged && fits(fit.value, contract.types, fit.repairs.length === 0 ? originOf(text) : {})
  if (!mayBeValid) return Effect.fail(refusedBy(contract, undefined, text, fit))
  if (validate === undefined) return Effect.succeed(decodedAs(fit.value, repairs))
  return Effect.matchEffect(unchanged(validate)(fit.value), {
    onSuccess: (params) => Effect.succeed(decodedAs<Params>(params, repairs)),
    onFailure: (issue) => Effect.fail(refusedBy(contract, issue, text, fit))
  })
}

const none: ReadonlyArray<never> = []

const refusedBy = (
  { jsonSchema }: Contract<unknown>,
  issue: SchemaIssue.Issue | undefined,
  text: Readable,
  fit: Pick<Coercion.Coerced, "repairs" | "value">
): Undecoded => new Undecoded(misfit(misfitOf(issue, fit.value, jsonSchema, shownAs(text, fit))), text)

// The schema that the value fits, or that validated it, has the type.
const decodedAs = <Params>(params: unknown, repairs: ReadonlyArray<Repair>) => ({ params, repairs }) as Decoded<Params>

// -----------------------------------------------------------------------------
// Refusals
// -----------------------------------------------------------------------------

export const unreadable = (refusal: Unreadable) => {
  const { advice, ...fault } = refusal
  const { column, excerpt: near, expected, kind, line, offset } = fault
  const actual = near === undefined ? "a text" : kind === "cut_off" ? `the end, after ${excerpt(near)}` : excerpt(near)
  return DispatchFailure.invalidJson({
    detail: message(fault),
    advice,
    issue: { path: [], expected, actual },
    fault: { kind, offset, line, column }
  })
}

const misfit = (refusal: ReturnType<typeof misfitOf>) =>
  DispatchFailure.invalidArguments({
    detail: refusal === undefined ? "The arguments do not fit." : message(refusal),
    issues: refusal?.issues.map(toFieldIssue) ?? [],
    alternatives: refusal?.alternatives ?? []
  })
