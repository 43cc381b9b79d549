/**
 * Reads tool messages as a model does: from their text alone. The planners that stand in for a model use it.
 */
import type { Transcript } from "@fallible/core"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** A call and the content of its tool message. */
export interface Result {
  readonly tool: string
  readonly args: Schema.JsonObject
  readonly message: Told
}

/** The content of a tool message: a value with notes, or a failure. */
export type Told =
  | { readonly _tag: "Value"; readonly value: Schema.JsonObject; readonly notes: ReadonlyArray<string> }
  | { readonly _tag: "Failure"; readonly failure: Failure }

export interface Failure extends Schema.Schema.Type<typeof FailureText> {}

/** Returns the calls in some messages, in order, each with the content of its tool message. */
export const resultsOf = (messages: ReadonlyArray<Transcript.Message>): ReadonlyArray<Result> => {
  const calls = messages.flatMap((message) => message.role === "assistant" ? message.calls : [])
  const texts = new Map(messages.flatMap((message) => message.role === "tool" ? [[message.callId, message.text]] : []))
  return calls.map((call) => ({
    tool: call.name,
    args: Option.getOrElse(parseBare(call.arguments ?? "{}"), () => ({})),
    message: parseMessage(texts.get(call.id) ?? "")
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

const parseFailure = Schema.decodeUnknownOption(FailureText)
const parseNoted = Schema.decodeUnknownOption(Noted)
const parseBare = Schema.decodeUnknownOption(Bare)

const parseMessage = (text: string): Told => {
  const failure = parseFailure(text)
  if (Option.isSome(failure)) return { _tag: "Failure", failure: failure.value }
  const { notes, value } = Option.getOrElse(parseNoted(text), () => ({
    value: Option.getOrElse(parseBare(text), (): Schema.JsonObject => ({})),
    notes: []
  }))
  return { _tag: "Value", value, notes }
}
