/** Ollama's own chat format, from the server's side. */
import type { Model, Transcript } from "@fallible/core"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { Name, nativeOf, othersIn, Tools } from "./chatCompletions.ts"
import { type Format, pieces } from "./format.ts"
import { jsonOf } from "./json.ts"
import * as History from "./messageHistory.ts"

// -----------------------------------------------------------------------------
// Requests
// -----------------------------------------------------------------------------

const images = Schema.optionalKey(Schema.NonEmptyArray(Schema.String.check(Schema.isPattern(/^[A-Za-z0-9+/]+=*$/))))

const Message = Schema.Union([
  Schema.Struct({ role: Schema.Literal("system"), content: Schema.String }),
  Schema.Struct({
    role: Schema.Literal("user"),
    content: Schema.String,
    images
  }),
  Schema.Struct({
    role: Schema.Literal("assistant"),
    content: Schema.String,
    tool_calls: Schema.optionalKey(Schema.NonEmptyArray(Schema.Struct({
      id: Schema.NonEmptyString,
      function: Schema.Struct({ name: Name, arguments: Schema.Record(Schema.String, Schema.Unknown) })
    })))
  }),
  Schema.Struct({
    role: Schema.Literal("tool"),
    tool_call_id: Schema.String,
    tool_name: Schema.String,
    content: Schema.String,
    images
  })
])

const Request = Schema.Struct({
  model: Schema.NonEmptyString,
  messages: Schema.NonEmptyArray(Message),
  tools: Schema.optionalKey(Tools),
  options: Schema.optionalKey(Schema.Struct({
    temperature: Schema.optionalKey(Schema.Finite),
    num_predict: Schema.optionalKey(Schema.Int),
    stop: Schema.optionalKey(Schema.NonEmptyArray(Schema.String))
  })),
  think: Schema.optionalKey(Schema.Union([Schema.Boolean, Schema.Literals(["low", "medium", "high"])])),
  stream: Schema.optionalKey(Schema.Boolean)
})

const decodeRequest = Schema.decodeUnknownResult(Request)
const knownFields = new Set(Object.keys(Request.fields))

const decode: Format["decode"] = (body) =>
  Result.match(decodeRequest(body), {
    onFailure: ({ message }) => message,
    onSuccess: (request) => {
      const messages = request.messages.map(decodeMessage)
      return History.problemIn(messages) ?? {
        messages,
        tools: (request.tools ?? []).map((tool) => tool.function),
        options: optionsOf(request, body),
        wishes: { stream: request.stream ?? true, usage: true }
      }
    }
  })

const decodeMessage = (message: typeof Message.Type): Transcript.Message => {
  switch (message.role) {
    case "system":
      return { role: "system", text: message.content }
    case "user":
      return { role: "user", text: message.content, ...filesOf(message) }
    case "assistant":
      return {
        role: "assistant",
        text: message.content,
        calls: (message.tool_calls ?? []).map((call) => ({
          id: call.id,
          name: call.function.name,
          arguments: JSON.stringify(call.function.arguments)
        }))
      }
    case "tool":
      return {
        role: "tool",
        callId: message.tool_call_id,
        name: message.tool_name,
        text: message.content,
        ...filesOf(message)
      }
  }
}

const filesOf = ({ images }: { readonly images?: ReadonlyArray<string> }) =>
  images === undefined ? {} : { files: images.map((base64) => ({ mediaType: mediaTypeOf(base64), base64 })) }

/** Recognizes the media type by the bytes, as Ollama does. */
const mediaTypeOf = (base64: string): string =>
  base64.startsWith("R0lG") ? "image/gif" : base64.startsWith("iVBOR") ? "image/png" : "image/jpeg"

const optionsOf = ({ options = {}, think }: typeof Request.Type, body: unknown): Model.Options => ({
  ...(options.temperature === undefined ? {} : { temperature: options.temperature }),
  ...(options.num_predict === undefined ? {} : { maxTokens: options.num_predict }),
  ...(options.stop === undefined ? {} : { stop: options.stop }),
  ...(typeof think === "string" ? { reasoning: think } : think === false ? { reasoning: "none" } : {}),
  ...othersIn(body, knownFields)
})

// -----------------------------------------------------------------------------
// Replies
// -----------------------------------------------------------------------------

const line = (fields: object): string =>
  JSON.stringify({ model: "fake", created_at: "2026-01-01T00:00:00.000Z", ...fields })

const withCalls = (message: object, { calls }: Model.Reply): string => {
  const text = JSON.stringify({ role: "assistant", ...message })
  return calls.length === 0 ? text : text.replace(/\}$/, `,"tool_calls":[${calls.map(callOf).join()}]}`)
}

// Writes the argument text unchanged. Ollama itself sends objects; a script may send anything else.
const callOf = ({ arguments: text, id, name }: Model.Reply["calls"][number]): string =>
  `{"id":${JSON.stringify(id)},"function":{"name":${JSON.stringify(name)}${
    text === undefined ? "" : `,"arguments":${jsonOf(text)}`
  }}}`

const endingOf = ({ truncated, usage }: Model.Reply) => ({
  done_reason: truncated === true ? "length" : "stop",
  done: true,
  ...(usage === undefined ? {} : { prompt_eval_count: usage.inputTokens, eval_count: usage.outputTokens })
})

const withMessage = (fields: object, message: string): string => line(fields).replace(/\}$/, `,"message":${message}}`)

const whole: Format["whole"] = (reply) =>
  withMessage(
    endingOf(reply),
    withCalls({ content: reply.text, ...thought(reply), ...nativeOf(reply, "ollama") }, reply)
  )

const thought = ({ reasoning }: Model.Reply) => reasoning === undefined ? {} : { thinking: reasoning }

const streamed: Format["streamed"] = (reply) =>
  [
    line({ message: { role: "assistant", content: "", ...nativeOf(reply, "ollama") }, done: false }),
    ...pieces(reply.reasoning ?? "").map((thinking) =>
      line({ message: { role: "assistant", content: "", thinking }, done: false })
    ),
    ...pieces(reply.text).map((content) => line({ message: { role: "assistant", content }, done: false })),
    ...(reply.calls.length === 0 ? [] : [withMessage({ done: false }, withCalls({ content: "" }, reply))]),
    line({ message: { role: "assistant", content: "" }, ...endingOf(reply) })
  ].map(frame)

const frame: Format["frame"] = (json) => `${json}\n`

const problem: Format["problem"] = ({ code, detail }) =>
  JSON.stringify({ error: sayings.get(code)?.(detail) ?? detail })

const sayings: ReadonlyMap<string, (detail: string) => string> = new Map([
  ["context_overflow", (detail: string) => `the input length exceeds the context length: ${detail}`],
  ["unknown_model", (detail: string) => `model not found: ${detail}`],
  ["quota_exhausted", (detail: string) => `insufficient_quota: ${detail}`]
])

export const ollamaChat: Format = {
  name: "ollama",
  path: /^\/api\/chat$/,
  keyHeader: "authorization",
  decode,
  whole,
  streamed,
  frame,
  streamType: "application/x-ndjson",
  problem
}
