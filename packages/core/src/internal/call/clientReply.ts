/*
 * What a client says of a call that it ran. A run that waits keeps it as the text of a reply.
 */
import * as Schema from "effect/Schema"
import type { ClientReply } from "../../Question.ts"

const ClientReplyText = Schema.fromJsonString(
  Schema.Union([Schema.Struct({ result: Schema.Json }), Schema.Struct({ failure: Schema.String })])
)

/** Returns the text of the question that a tool's client is asked. */
export const clientQuestion = (tool: string): string => `The client runs ${tool}.`

/** Returns the text that a reply is kept as. */
export const clientReplyText = (reply: ClientReply): string =>
  JSON.stringify("result" in reply ? { result: reply.result } : { failure: reply.failure })

/** Reads a text of {@link clientReplyText}. */
export const clientReplyOf: (text: string) => typeof ClientReplyText.Type = Schema.decodeUnknownSync(ClientReplyText)
