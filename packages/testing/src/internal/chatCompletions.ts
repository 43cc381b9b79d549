/** OpenAI's Chat Completions, from the server's side. */
import type { Model, Transcript } from "@fallible/core"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type Format, interleave, pieces } from "./format.ts"
import { parse } from "./json.ts"
import * as History from "./messageHistory.ts"

// -----------------------------------------------------------------------------
// Requests
// -----------------------------------------------------------------------------

/** A name that real servers accept. */
export const Name = Schema.String.check(Schema.isPattern(/^[\w-]{1,64}$/))

export const Tools = Schema.NonEmptyArray(Schema.Struct({
  type: Schema.Literal("function"),
  function: Schema.Struct({
    name: Name,
    description: Schema.String,
    parameters: Schema.Record(Schema.String, Schema.Unknown)
  })
}))

// As strict as the strictest server: some servers parse the arguments.
export const ArgumentText = Schema.String.check(
  Schema.makeFilter((text) => isObjectText(text) ? undefined : "the text of a JSON object")
)

const isObjectText = (text: string): boolean => Option.exists(parse(text), Predicate.isObject)

const Message = Schema.Union([
  Schema.Struct({ role: Schema.Literal("system"), content: Schema.String }),
  Schema.Struct({
    role: Schema.Literal("user"),
    content: Schema.Union([
      Schema.String,
      Schema.NonEmptyArray(Schema.Union([
        Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
        Schema.Struct({ type: Schema.Literal("image_url"), image_url: Schema.Struct({ url: Schema.String }) }),
        Schema.Struct({
          type: Schema.Literal("file"),
          file: Schema.Struct({ filename: Schema.String, file_data: Schema.String })
        })
      ]))
    ])
  }),
  Schema.Struct({
    role: Schema.Literal("assistant"),
    content: Schema.optionalKey(Schema.NullOr(Schema.String)),
    tool_calls: Schema.optionalKey(Schema.NonEmptyArray(Schema.Struct({
      id: Schema.NonEmptyString,
      type: Schema.Literal("function"),
      function: Schema.Struct({ name: Name, arguments: ArgumentText })
    })))
  }),
  Schema.Struct({ role: Schema.Literal("tool"), tool_call_id: Schema.String, content: Schema.String })
])

const Request = Schema.Struct({
  model: Schema.NonEmptyString,
  messages: Schema.NonEmptyArray(Message),
  tools: Schema.optionalKey(Tools),
  tool_choice: Schema.optionalKey(Schema.Union([
    Schema.Literals(["auto", "none", "required"]),
    Schema.Struct({ type: Schema.Literal("function"), function: Schema.Struct({ name: Name }) })
  ])),
  parallel_tool_calls: Schema.optionalKey(Schema.Boolean),
  temperature: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 2 }))),
  max_tokens: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  reasoning_effort: Schema.optionalKey(
    Schema.Literals(["none", "minimal", "low", "medium", "high", "xhigh", "max"])
  ),
  stop: Schema.optionalKey(Schema.NonEmptyArray(Schema.String)),
  stream: Schema.optionalKey(Schema.Boolean),
  stream_options: Schema.optionalKey(Schema.Struct({ include_usage: Schema.Boolean }))
})

const decodeRequest = Schema.decodeUnknownResult(Request)
const knownFields = new Set(Object.keys(Request.fields))

const decode: Format["decode"] = (body) =>
  Result.match(decodeRequest(body), {
    onFailure: ({ message }) => message,
    onSuccess: (request) => {
      const messages = decodeMessages(request.messages)
      const problem = request.tools === undefined && request.tool_choice !== undefined
        ? "'tool_choice' is only allowed when 'tools' are specified."
        : unknownToolProblem(request) ?? History.problemIn(messages)
      return problem ?? {
        messages,
        tools: (request.tools ?? []).map((tool) => tool.function),
        options: optionsOf(request, body),
        wishes: { stream: request.stream ?? false, usage: request.stream_options?.include_usage ?? false }
      }
    }
  })

const unknownToolProblem = ({ tool_choice: choice, tools }: typeof Request.Type): string | undefined =>
  typeof choice === "object" && !tools?.some((tool) => tool.function.name === choice.function.name)
    ? `Tool choice '${choice.function.name}' not found in 'tools' parameter.`
    : undefined

const decodeMessages = (messages: ReadonlyArray<typeof Message.Type>): ReadonlyArray<Transcript.Message> => {
  // In this format, a result does not name its tool.
  const names = new Map<string, string>()
  return messages.map((message) => {
    if (message.role === "assistant") {
      for (const call of message.tool_calls ?? []) names.set(call.id, call.function.name)
    }
    return decodeMessage(message, names)
  })
}

const decodeMessage = (message: typeof Message.Type, names: ReadonlyMap<string, string>): Transcript.Message => {
  switch (message.role) {
    case "system":
      return { role: "system", text: message.content }
    case "user":
      return typeof message.content === "string"
        ? { role: "user", text: message.content }
        : {
          role: "user",
          text: message.content.flatMap((part) => part.type === "text" ? [part.text] : []).join(""),
          files: message.content.flatMap((part) =>
            part.type === "image_url"
              ? [fileOf(part.image_url.url)]
              : part.type === "file"
              ? [{ ...fileOf(part.file.file_data), name: part.file.filename }]
              : []
          )
        }
    case "assistant":
      return {
        role: "assistant",
        text: message.content ?? "",
        calls: (message.tool_calls ?? []).map((call) => ({ id: call.id, ...call.function }))
      }
    case "tool":
      return {
        role: "tool",
        callId: message.tool_call_id,
        name: names.get(message.tool_call_id) ?? "",
        text: message.content
      }
  }
}

export const fileOf = (url: string): Transcript.File => {
  const [, mediaType, base64] = /^data:([^;]+);base64,(.*)$/s.exec(url) ?? []
  return mediaType === undefined || base64 === undefined ? { url } : { mediaType, base64 }
}

const optionsOf = (request: typeof Request.Type, body: unknown): Model.Options => ({
  ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
  ...(request.max_tokens === undefined ? {} : { maxTokens: request.max_tokens }),
  ...(request.parallel_tool_calls === undefined ? {} : { parallelCalls: request.parallel_tool_calls }),
  ...(request.tool_choice === undefined ? {} : {
    toolChoice: typeof request.tool_choice === "string"
      ? request.tool_choice
      : { tool: request.tool_choice.function.name }
  }),
  ...(request.reasoning_effort === undefined ? {} : { reasoning: request.reasoning_effort }),
  ...(request.stop === undefined ? {} : { stop: request.stop }),
  ...othersIn(body, knownFields)
})

/** Returns the fields of a request that are not in its format's schema. */
export const othersIn = (body: unknown, definedFields: ReadonlySet<string>): Pick<Model.Options, "provider"> => {
  const others = Object.entries(body as Schema.JsonObject).filter(([key]) => !definedFields.has(key))
  return others.length === 0 ? {} : { provider: Object.fromEntries(others) }
}

// -----------------------------------------------------------------------------
// Replies
// -----------------------------------------------------------------------------

const finishOf = ({ calls, truncated }: Model.Reply): string =>
  truncated === true ? "length" : calls.length > 0 ? "tool_calls" : "stop"

const usageOf = ({ usage }: Model.Reply) =>
  usage === undefined ? undefined : {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0),
    prompt_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: usage.cacheWrittenTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    cost: usage.money
  }

const completion = (object: string, fields: object): object => ({
  id: "chatcmpl-1",
  object,
  created: 0,
  model: "fake",
  ...fields
})

const whole: Format["whole"] = (reply) =>
  JSON.stringify(completion("chat.completion", {
    choices: [{ index: 0, message: messageOf(reply), finish_reason: finishOf(reply), logprobs: null }],
    usage: usageOf(reply)
  }))

const messageOf = (reply: Model.Reply): object => ({
  role: "assistant",
  content: reply.text === "" ? null : reply.text,
  refusal: null,
  ...(reply.reasoning === undefined ? {} : { reasoning_content: reply.reasoning }),
  ...nativeOf(reply, "openai"),
  ...(reply.calls.length === 0 ? {} : { tool_calls: reply.calls.map((call) => callOf(call)) })
})

const callOf = ({ arguments: text, id, name }: Model.Reply["calls"][number]): object => ({
  id,
  type: "function",
  function: { name, ...(text === undefined ? {} : { arguments: text }) }
})

/** Returns the fields of a scripted reply in a provider's own form. */
export const nativeOf = ({ native }: Model.Reply, provider: string): object => {
  const form = Predicate.isObject(native) ? native[provider] : undefined
  return Predicate.isObject(form) ? form : {}
}

const streamed: Format["streamed"] = (reply, { usage }) =>
  [
    chunk({ role: "assistant", content: "", ...nativeOf(reply, "openai") }),
    ...pieces(reply.reasoning ?? "").map((text) => chunk({ reasoning_content: text })),
    ...pieces(reply.text).map((content) => chunk({ content })),
    ...reply.calls.map((call, index) =>
      chunk({
        tool_calls: [{ index, ...callOf({ ...call, ...(call.arguments === undefined ? {} : { arguments: "" }) }) }]
      })
    ),
    ...interleave(reply.calls.map((call, index) =>
      pieces(call.arguments ?? "").map((text) => chunk({ tool_calls: [{ index, function: { arguments: text } }] }))
    )),
    chunk({}, finishOf(reply)),
    ...(usage
      ? [JSON.stringify(completion("chat.completion.chunk", { choices: [], usage: usageOf(reply) ?? null }))]
      : []),
    "[DONE]"
  ].map(frame)

const frame: Format["frame"] = (data) => `data: ${data}\n\n`

const chunk = (delta: object, finish: string | null = null): string =>
  JSON.stringify(completion("chat.completion.chunk", { choices: [{ index: 0, delta, finish_reason: finish }] }))

const problem: Format["problem"] = ({ code, detail }) =>
  JSON.stringify({
    error: { message: detail, type: "invalid_request_error", param: null, code: codes.get(code) ?? null }
  })

/** The codes of failures in OpenAI's error objects. */
export const codes: ReadonlyMap<string, string> = new Map([
  ["context_overflow", "context_length_exceeded"],
  ["quota_exhausted", "insufficient_quota"],
  ["unknown_model", "model_not_found"],
  ["permission_denied", "invalid_api_key"]
])

const refusal = (text: string): Model.Reply => ({ text: "", calls: [], native: { openai: { refusal: text } } })

export const chatCompletions: Format = {
  name: "openai",
  path: /^\/v1\/chat\/completions$/,
  keyHeader: "authorization",
  decode,
  whole,
  streamed,
  frame,
  streamType: "text/event-stream",
  refusal,
  problem
}
