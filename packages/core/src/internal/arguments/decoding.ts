import {
  fits,
  hasSecrets,
  message,
  numberAt,
  type Options,
  read,
  type Readable,
  type Unreadable
} from "@fallible/arguments"
import * as Effect from "effect/Effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import * as Coercion from "../../Coercion.ts"
import * as DispatchFailure from "../../DispatchFailure.ts"
import type { SideEffect } from "../../SideEffect.ts"
import type { Repair } from "../../ToolOutcome.ts"
import { contained } from "../effect/contained.ts"
import { excerpt } from "../value/text.ts"
import { misfitOf, toFieldIssue } from "./fieldIssue.ts"
import { isStricter, schemaOf, takesNothing } from "./jsonSchema.ts"

/**
 * Arguments ready for the handler.
 *
 * @category models
 * @since 0.1.0
 */
export interface Decoded<out Params> {
  readonly params: Params
  readonly repairs: ReadonlyArray<Repair>
}

/**
 * What decoding needs of a tool.
 *
 * @category models
 * @since 0.1.0
 */
export interface Target<Params> {
  readonly parameters: Schema.ConstraintDecoder<Params>
  /** Around the arguments of a tool that acts, idempotent or not, no words are passed over. Default: `"none"`, it does not act. */
  readonly sideEffect?: SideEffect
}

/**
 * Arguments that cannot be decoded, with what their text was read as, if it can be read.
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
 * The same as `Arguments.decode`. What cannot be decoded need not be read again to learn what was in it.
 */
export const attempt = <Params>(
  text: string | undefined,
  target: Target<Params>
): Effect.Effect<Decoded<Params>, Undecoded> => {
  const contract = contractOf(target.parameters)
  const acts = target.sideEffect !== undefined && target.sideEffect !== "none"
  const found = read(text, acts ? contract.acting : contract.reading)
  if (!found.ok) return Effect.fail(new Undecoded(unreadable(found.refusal)))
  const { isExact, repairs, value } = found
  if ((contract.isStricter || !isExact) && !fits(value, contract.jsonSchema, originOf(found))) {
    return corrected(contract, target, found)
  }
  // Eager: decoding that needs no time takes no step of the runtime either.
  return contract.decode(value).pipe(
    Effect.mapEager((params) => ({ params, repairs })),
    Effect.catchEager(() => corrected(contract, target, found))
  )
}

const originOf = (text: Readable): Coercion.Origin => ({ numberAt: (path) => numberAt(text, path) })

// -----------------------------------------------------------------------------
// Contracts: what a parameters' schema compiles to, once
// -----------------------------------------------------------------------------

interface Contract<Params> {
  readonly decode: (value: unknown) => Effect.Effect<Params, SchemaIssue.Issue>
  readonly decodeAll: (value: unknown) => Effect.Effect<Params, SchemaIssue.Issue>
  readonly jsonSchema: JsonSchema.JsonSchema
  /** Does the decoder accept what the model was not shown? The JSON Schema is asked first then. */
  readonly isStricter: boolean
  /** How texts are read for a tool that reads, and for one that acts. */
  readonly reading: Options
  readonly acting: Options
}

const contracts = new WeakMap<object, Contract<unknown>>()

const contractOf = <Params>(parameters: Schema.ConstraintDecoder<Params>): Contract<Params> => {
  const known = contracts.get(parameters)
  if (known !== undefined) return asContractOf(known)
  const codec = Schema.toCodecJson(parameters)
  const schema = schemaOf(parameters)
  const decode = SchemaParser.decodeUnknownEffect(codec, { onExcessProperty: "error" })
  const decodeAll = SchemaParser.decodeUnknownEffect(codec, { onExcessProperty: "error", errors: "all" })
  // Where anything in it is a secret, no part of a text is quoted that cannot be read.
  const secrets = hasSecrets(schema) ? [[]] : []
  const contract: Contract<Params> = {
    // The first error is enough to know that there is one; collecting all takes three times as long.
    decode: (value) => contained(decode(value)),
    decodeAll: (value) => contained(decodeAll(value)),
    jsonSchema: schema,
    // A struct without fields decodes any object.
    isStricter: takesNothing(schema) || isStricter(schema, parameters),
    reading: { prose: true, secrets },
    acting: { prose: false, secrets }
  }
  contracts.set(parameters, contract)
  return contract
}

// A contract is stored under the very schema that it was made from, and so has its type.
const asContractOf = <Params>(contract: Contract<unknown>) => contract as Contract<Params>

// What did not decode, coerced and decoded once more; and what still does not fit, told field by field.
const corrected = <Params>(
  { decodeAll, isStricter, jsonSchema }: Contract<Params>,
  { parameters }: Target<Params>,
  text: Readable
): Effect.Effect<Decoded<Params>, Undecoded> => {
  const { fits, repairs, value } = Coercion.coerce(text.value, parameters, originOf(text))
  const refused = (issue?: SchemaIssue.Issue) => {
    const written = originOf(text)
    // What was written where is known of values that were not moved; of those that were, none has lost digits.
    const how = repairs.length === 0 ? written : { numberAt: () => "", written: { ...written, value: text.value } }
    return Effect.fail(new Undecoded(misfit(misfitOf(issue, value, jsonSchema, how)), text))
  }
  return Effect.matchEffect(decodeAll(value), {
    onFailure: refused,
    onSuccess: (params) =>
      (isStricter || !text.isExact) && !fits
        ? refused()
        : Effect.succeed({ params, repairs: [...text.repairs, ...repairs] })
  })
}

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
