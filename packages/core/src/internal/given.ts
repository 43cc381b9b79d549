/*
 * What a run is given, looked at before anything runs: a program may have parsed it and not decoded it.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import { RunRefused, Suspension } from "../AgentFailure.ts"
import * as Coercion from "../Coercion.ts"
import * as Transcript from "../Transcript.ts"
import { Account } from "./account.ts"
import { silence } from "./promise.ts"
import { firstIssue, kind } from "./text.ts"

/** What a run begins with. */
export interface Opening {
  readonly question: string | { readonly text: string; readonly images: ReadonlyArray<Transcript.Image> }
  readonly transcript: Transcript.Transcript
}

/** Why a run does not begin, if so. */
export const refusedOpening = (opening: Opening): RunRefused | undefined => {
  const { question, transcript } = opening
  const isTranscript = transcript instanceof Transcript.Transcript
  // Most are, and need no schema.
  if (typeof question === "string" && isTranscript) return undefined
  return refused("The run was not begun", decodeOpening(opening), opening, isTranscript ? transcript : undefined)
}

/** What a run goes on with. */
export interface Continuation {
  readonly suspension: Suspension
  readonly reply: string
}

/** Why a run does not go on, if so. */
export const refusedContinuation = (continuation: Continuation): RunRefused | undefined =>
  refused("The run was not resumed", decodeContinuation(continuation), continuation, undefined)

const parserOf = (schema: Schema.ConstraintDecoder<unknown>) =>
  SchemaParser.decodeUnknownResult(schema, { errors: "all" })

const decodeOpening = parserOf(
  Schema.toType(Schema.Struct({
    question: Schema.Union([
      Schema.String,
      Schema.Struct({ text: Schema.String, images: Schema.Array(Transcript.Image) })
    ]).annotate({ expected: "a text, or a text with images" }),
    transcript: Schema.instanceOf(Transcript.Transcript, { expected: "a Transcript" })
  }))
)

const decodeContinuation = parserOf(Schema.toType(Schema.Struct({ suspension: Suspension, reply: Schema.String })))

const refused = (
  what: string,
  decoded: ReturnType<ReturnType<typeof parserOf>>,
  given: object,
  transcript: Transcript.Transcript | undefined
): RunRefused | undefined =>
  Result.match(decoded, {
    onSuccess: () => undefined,
    onFailure: (issue) => {
      for (const value of Object.values(given)) silence(value)
      const issues = Coercion.fieldIssues(issue, given, { show: kind })
      return new RunRefused({
        detail: `${what}: ${firstIssue(issues)}. Decode what was stored before you pass it on.`,
        issues,
        transcript: transcript ?? Transcript.make([]),
        ledger: Account.empty().ledger
      })
    }
  })
