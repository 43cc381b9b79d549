/**
 * Encodes the parts of a request that both formats share: tools, and the model's earlier messages. Any server
 * accepts the result, whatever the model wrote.
 */
import { type ToolCall, type Toolkit, type Transcript } from "@fallible/core"
import { argumentsText, fileNote, toolName } from "@fallible/core/ModelAdapter"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import { asJson, type Fields, isObject } from "./json.ts"
import * as Assembly from "./replyAssembly.ts"
import type { Server } from "./server.ts"

/** Encodes a tool for the model. */
export const definition = ({ description, name, parameters }: Toolkit.Definition): Schema.JsonObject => ({
  type: "function",
  function: { name, description, parameters: asJson(parameters) }
})

/**
 * Encodes an assistant message in the server's own form, with calls that any server accepts. A message from a
 * different server is rebuilt without that server's extra fields, because other servers refuse them.
 */
export const assistant = (
  message: Transcript.MessageOf<"assistant">,
  server: Server,
  encodeArguments: (text: string) => Schema.Json
): Schema.JsonObject => {
  const serverForm = nativeOf(message, server)
  // If the text has been changed in the transcript since, the new text is sent.
  const isOwn = serverForm !== undefined && Assembly.textOf({ message: serverForm }) === message.text
  const content = message.text === "" && message.calls.length > 0 ? null : message.text
  const form: Schema.JsonObject = { content, ...serverForm, ...(isOwn ? {} : { content }), role: "assistant" }
  const { tool_calls: _, ...native } = form
  const calls = Assembly.callsAt(form)
  // Without calls, `tool_calls` is left out, because servers refuse an empty list.
  return message.calls.length === 0 ? native : {
    ...native,
    tool_calls: message.calls.map((call, index) =>
      encodeCall(call, serverFieldsOf(call, calls.find(({ id }) => id === call.id) ?? calls[index]), encodeArguments)
    )
  }
}

const nativeOf = (
  { native }: Transcript.MessageOf<"assistant">,
  { endpoint }: Server
): Schema.JsonObject | undefined => {
  const form = Predicate.isObject(native) ? native[endpoint.url] : undefined
  return isObject(form) ? form : undefined
}

/** Returns the fields that the server added to a call, if the call still has the same name. */
const serverFieldsOf = ({ name }: ToolCall.ToolCall, serverCall: Fields = {}): Fields =>
  (Assembly.functionOf(serverCall)["name"] ?? "") === name ? serverCall : {}

const encodeCall = (
  call: ToolCall.ToolCall,
  serverFields: Fields,
  encodeArguments: (text: string) => Schema.Json
): Schema.JsonObject => {
  // The index only had a meaning in the stream in which the call came.
  const { index: _, ...rest } = asJson(serverFields)
  return {
    type: "function",
    ...rest,
    id: call.id,
    function: {
      ...asJson(Assembly.functionOf(serverFields)),
      name: toolName(call.name),
      arguments: encodeArguments(argumentsText(call))
    }
  }
}

/** Returns a text with a note for each file that the server does not accept. */
export const withNotes = (text: string, files: ReadonlyArray<Transcript.File>): string =>
  [text, ...files.map(fileNote)].filter((part) => part !== "").join("\n")
