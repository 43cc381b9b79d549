/**
 * What tool messages say, read as a model reads them: from their text alone. For the planners that play the model.
 */
import type { Transcript } from "@fallible/core"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** A call, and what came of it. */
export interface Result {
  readonly tool: string
  readonly args: Schema.JsonObject
  readonly message: Told
}

/** What a tool message says: a value with notes, or a failure. */
export type Told =
  | { readonly _tag: "Value"; readonly value: Schema.JsonObject; readonly notes: ReadonlyArray<string> }
  | { readonly _tag: "Failure"; readonly failure: Failure }

export interface Failure extends Schema.Schema.Type<typeof FailureText> {}

/** The calls of some messages in their order, each with what is told of it. */
export const resultsOf = (messages: ReadonlyArray<Transcript.Message>): ReadonlyArray<Result> => {
  const calls = messages.flatMap((message) => message.role === "assistant" ? message.calls : [])
  const texts = new Map(messages.flatMap((message) => message.role === "tool" ? [[message.callId, message.text]] : []))
  return calls.map((call) => ({
    tool: call.name,
    args: Option.getOrElse(bareOf(call.arguments ?? "{}"), () => ({})),
    message: toldBy(texts.get(call.id) ?? "")
  }))
}

const FailureText = Schema.fromJsonString(Schema.Struct({
  ok: Schema.Literal(false),
  error: Schema.String,
  code: Schema.optionalKey(Schema.String),
  detail: Schema.String,
  hint: Schema.optionalKey(Schema.String),
  source: Schema.optionalKey(Schema.String),
  alternatives: Schema.optionalKey(Schema.Array(Schema.String)),
  tried: Schema.optionalKey(Schema.Array(Schema.String)),
  data: Schema.optionalKey(Schema.Json)
}))
const Noted = Schema.fromJsonString(Schema.Struct({ value: Schema.JsonObject, notes: Schema.Array(Schema.String) }))
const Bare = Schema.fromJsonString(Schema.JsonObject)

const failureOf = Schema.decodeUnknownOption(FailureText)
const notedOf = Schema.decodeUnknownOption(Noted)
const bareOf = Schema.decodeUnknownOption(Bare)

const toldBy = (text: string): Told => {
  const failure = failureOf(text)
  if (Option.isSome(failure)) return { _tag: "Failure", failure: failure.value }
  const { notes, value } = Option.getOrElse(notedOf(text), () => ({
    value: Option.getOrElse(bareOf(text), (): Schema.JsonObject => ({})),
    notes: []
  }))
  return { _tag: "Value", value, notes }
}
