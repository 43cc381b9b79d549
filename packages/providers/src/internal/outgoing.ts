/**
 * What both formats have in common on the way out: tools, and what a model once said, put so that any server takes it
 * whatever the model had made of it.
 */
import { Arguments, type ToolCall, type Toolkit, type Transcript } from "@fallible/core"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Assembly from "./assembly.ts"
import type { Server } from "./failures.ts"
import { asJson, type Fields, isObject, isObjectText } from "./json.ts"

/** A tool as a model is shown it. */
export const definition = ({ description, name, parameters }: Toolkit.Definition): Schema.JsonObject => ({
  type: "function",
  function: { name, description, parameters: asJson(parameters) }
})

/**
 * An assistant message in a server's own form, as it came from there, with its calls put so that any server
 * takes them; built anew when it came from elsewhere, since servers refuse what others add.
 */
export const assistant = (
  message: Transcript.MessageOf<"assistant">,
  server: Server,
  encodeArguments: (text: string) => Schema.Json
): Schema.JsonObject => {
  const own = nativeOf(message, server)
  // What was changed since, by whoever keeps the conversation, is what counts.
  const isOwn = own !== undefined && Assembly.textOf({ message: own }) === message.text
  const content = message.text === "" && message.calls.length > 0 ? null : message.text
  const form: Schema.JsonObject = { content, ...own, ...(isOwn ? {} : { content }), role: "assistant" }
  const { tool_calls: _, ...native } = form
  const calls = Assembly.callsAt(form)
  // No calls are no field: an empty list is refused.
  return message.calls.length === 0 ? native : {
    ...native,
    tool_calls: message.calls.map((call, index) => encodeCall(call, ownOf(call, calls[index]), encodeArguments))
  }
}

const nativeOf = (
  { native }: Transcript.MessageOf<"assistant">,
  { endpoint }: Server
): Schema.JsonObject | undefined => {
  const own = Predicate.isObject(native) ? native[endpoint.url] : undefined
  return isObject(own) ? own : undefined
}

/** What the server added to a call, if it is still that one. */
const ownOf = ({ name }: ToolCall.ToolCall, own: Fields = {}): Fields =>
  (Assembly.functionOf(own)["name"] ?? "") === name ? own : {}

const encodeCall = (
  call: ToolCall.ToolCall,
  own: Fields,
  encodeArguments: (text: string) => Schema.Json
): Schema.JsonObject => {
  // The index is of the stream in which the call came.
  const { index: _, ...rest } = asJson(own)
  return {
    type: "function",
    ...rest,
    id: call.id,
    function: {
      ...asJson(Assembly.functionOf(own)),
      name: toolName(call.name),
      arguments: encodeArguments(objectText(call.arguments ?? ""))
    }
  }
}

/** A name that a server takes for a tool's: models make up others. The call's id says which it was. */
export const toolName = (name: string): string => name.replace(/[^\w-]/g, "_").slice(0, 64) || "unknown"

/**
 * A call's arguments as the text of an object, since servers parse what they are sent: as the model wrote them, else as they were
 * understood. What nobody understood is quoted.
 */
const objectText = (text: string): string => {
  if (isObjectText(text)) return text
  const read = Result.filterOrFail(Arguments.parse(text), ({ isExact }) => isExact, () => "numbers that lost digits")
  return JSON.stringify(
    Result.match(read, { onSuccess: ({ value }) => value, onFailure: () => ({ INVALID_JSON: text }) })
  )
}
