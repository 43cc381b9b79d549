/*
 * What a run is given, looked at before anything runs: a program may have parsed it and not decoded it.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import { RunRefused, Suspension } from "../AgentFailure.ts"
import * as Coercion from "../Coercion.ts"
import type { FieldIssue } from "../ToolFailure.ts"
import * as Transcript from "../Transcript.ts"
import { Account } from "./account.ts"
import { attempted, isA, silence } from "./stranger.ts"
import { firstIssue, kind } from "./text.ts"

/** What a run begins with. */
export interface Opening {
  readonly question: string | { readonly text: string; readonly images: ReadonlyArray<Transcript.Image> }
  readonly transcript: Transcript.Transcript
}

/** Why a run does not begin, if so. */
export const refusedOpening = (opening: Opening): RunRefused | undefined => {
  const { question, transcript } = opening
  const isTranscript = isA(Transcript.Transcript)(transcript)
  // Most are, and need no schema.
  if (typeof question === "string" && isTranscript) return undefined
  return refused("The run was not begun", decodeOpening, opening, isTranscript ? transcript : Transcript.make([]))
}

/** What a run goes on with. */
export interface Continuation {
  readonly suspension: Suspension
  readonly reply: string
}

/** Why a run does not go on, if so. */
export const refusedContinuation = (continuation: Continuation): RunRefused | undefined =>
  refused("The run was not resumed", decodeContinuation, continuation, Transcript.make([]))

type Decode = (given: unknown) => Result.Result<unknown, SchemaIssue.Issue>

const decoderOf = (schema: Schema.ConstraintDecoder<unknown>): Decode =>
  SchemaParser.decodeUnknownResult(schema, { errors: "all" })

const decodeOpening = decoderOf(
  Schema.toType(Schema.Struct({
    question: Schema.Union([
      Schema.String,
      Schema.Struct({ text: Schema.String, images: Schema.Array(Transcript.Image) })
    ]).annotate({ expected: "a text, or a text with images" }),
    transcript: Schema.instanceOf(Transcript.Transcript, { expected: "a Transcript" })
  }))
)

const decodeContinuation = decoderOf(Schema.toType(Schema.Struct({ suspension: Suspension, reply: Schema.String })))

const refused = (
  what: string,
  decode: Decode,
  given: object,
  transcript: Transcript.Transcript
): RunRefused | undefined => {
  const issues = issuesOf(decode, given)
  if (issues === undefined) return undefined
  for (const value of Object.values(given)) silence(value)
  return new RunRefused({
    detail: `${what}: ${firstIssue(issues)}.${advice(issues)}`,
    issues,
    transcript,
    ledger: Account.empty().ledger
  })
}

// What comes from a store has to go there encoded, and to come back decoded.
const advice = ([first]: ReadonlyArray<FieldIssue>): string => {
  const schema = first === undefined ? undefined : stored.get(first.path[0])
  return schema === undefined ? "" : ` Encode it by ${schema} to store it, and decode it by the same schema.`
}

const stored: ReadonlyMap<unknown, string> = new Map([
  ["suspension", "AgentFailure.Suspension"],
  ["transcript", "Transcript.schema"]
])

const issuesOf = (decode: Decode, given: object): ReadonlyArray<FieldIssue> | undefined => {
  const decoded = attempted(() => decode(given))
  if (decoded !== undefined && Result.isSuccess(decoded)) return undefined
  // Some values cannot even be looked at.
  return attempted(() => decoded === undefined ? [] : Coercion.fieldIssues(decoded.failure, given, { show: kind })) ??
    []
}
