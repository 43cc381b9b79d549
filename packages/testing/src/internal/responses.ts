/** OpenAI's Responses, from the server's side. */
import type { Model, Toolkit } from "@fallible/core"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { codes, Name, othersIn } from "./chatCompletions.ts"
import { type Format, interleave, type Wishes } from "./format.ts"
import * as Conversation from "./responsesConversation.ts"
import { event, itemEvents } from "./responsesEvents.ts"
import { countsOf, digest, type OwnItem, ownOf, sign } from "./scriptedReply.ts"
import { type Fault, inBrackets, strictly } from "./strictly.ts"

// -----------------------------------------------------------------------------
// Requests
// -----------------------------------------------------------------------------

const JsonObject = Schema.Record(Schema.String, Schema.Unknown)

const Tool = Schema.Struct({
  type: Schema.Literal("function"),
  name: Name,
  description: Schema.optionalKey(Schema.NullOr(Schema.String)),
  parameters: JsonObject,
  strict: Schema.optionalKey(Schema.NullOr(Schema.Boolean))
})

const field = <S extends Schema.Codec<unknown, unknown>>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const Request = Schema.Struct({
  model: Schema.NonEmptyString,
  input: Schema.Union([Schema.NonEmptyString, Schema.NonEmptyArray(Conversation.Item)]),
  instructions: field(Schema.String),
  tools: Schema.optionalKey(Schema.Array(Tool)),
  tool_choice: Schema.optionalKey(Schema.Union([
    Schema.Literals(["auto", "none", "required"]),
    Schema.Struct({ type: Schema.Literal("function"), name: Schema.String })
  ])),
  parallel_tool_calls: field(Schema.Boolean),
  temperature: field(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 2 }))),
  max_output_tokens: field(Schema.Int.check(Schema.isGreaterThanOrEqualTo(16))),
  stream: field(Schema.Boolean),
  stream_options: field(Schema.Struct({ include_obfuscation: Schema.optionalKey(Schema.Boolean) })),
  store: field(Schema.Boolean),
  include: field(Schema.Array(
    Schema.Literals(["reasoning.encrypted_content", "message.output_text.logprobs", "message.input_image.image_url"])
  )),
  previous_response_id: field(Schema.String),
  reasoning: field(Schema.Struct({
    effort: field(Schema.Literals(["none", "minimal", "low", "medium", "high", "xhigh"])),
    summary: field(Schema.Literals(["auto", "concise", "detailed"]))
  })),
  text: Schema.optionalKey(Schema.Struct({
    verbosity: field(Schema.Literals(["low", "medium", "high"])),
    format: Schema.optionalKey(Schema.Union([
      Schema.Struct({ type: Schema.Literals(["text", "json_object"]) }),
      Schema.Struct({
        type: Schema.Literal("json_schema"),
        name: Name,
        schema: JsonObject,
        description: Schema.optionalKey(Schema.String),
        strict: field(Schema.Boolean)
      })
    ]))
  })),
  top_p: field(Schema.Finite),
  truncation: field(Schema.Literals(["auto", "disabled"])),
  metadata: field(Schema.Record(Schema.String, Schema.String)),
  service_tier: field(Schema.String),
  prompt_cache_key: Schema.optionalKey(Schema.String),
  safety_identifier: Schema.optionalKey(Schema.String),
  user: Schema.optionalKey(Schema.String)
})

type Request = typeof Request.Type

const decodeRequest = strictly(Request)

// The other fields are of this provider alone.
const portFields = new Set([
  "model",
  "input",
  "instructions",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "temperature",
  "max_output_tokens",
  "stream",
  "stream_options",
  "store",
  "include"
])

const decode = (stored: Stored): Format["decode"] => (body) =>
  Result.match(decodeRequest(resolve(body, stored)), {
    onFailure: faultText,
    onSuccess: (request) => {
      const { include, input, instructions, store, stream, tools = [] } = request
      const items = typeof input === "string"
        ? [{ type: "message" as const, role: "user" as const, content: input }]
        : input
      const system = { role: "system" as const, text: instructions ?? "" }
      return requestProblem(request) ?? Conversation.problemIn(items, store ?? true) ?? {
        messages: [...(system.text === "" ? [] : [system]), ...Conversation.transcriptOf(items)],
        tools: tools.map(definitionOf),
        options: { ...optionsOf(request), ...othersIn(body, portFields) },
        wishes: {
          stream: stream ?? false,
          usage: true,
          encrypted: include?.includes("reasoning.encrypted_content") ?? false,
          stored: store ?? true
        }
      }
    }
  })

/** The items of replies, by their ids. */
type Stored = Map<unknown, OwnItem>

const resolve = (body: unknown, stored: Stored): unknown =>
  Predicate.hasProperty(body, "input") ? { ...body, input: Conversation.resolve(body.input, stored) } : body

const faultText = ({ kind, message, path }: Fault): string => {
  const at = inBrackets(path)
  if (kind === "missing") return `Missing required parameter: '${at}'.`
  return kind === "unknown" ? `Unknown parameter: '${at}'.` : `Invalid value for '${at}': ${message}.`
}

const requestProblem = ({ previous_response_id: previous, tool_choice: choice, tools = [] }: Request) => {
  if (typeof previous === "string") return `Previous response with id '${previous}' not found.`
  if (choice === "required" && tools.length === 0) {
    return "Tool choice 'required' must be specified with 'tools' parameter."
  }
  if (typeof choice === "object" && tools.every(({ name }) => name !== choice.name)) {
    return `Tool choice '${choice.name}' not found in 'tools' parameter.`
  }
  const open = tools.find(({ parameters, strict }) => strict === true && parameters["additionalProperties"] !== false)
  return open === undefined
    ? undefined
    : `Invalid schema for function '${open.name}': In context=(), ` +
      "'additionalProperties' is required to be supplied and to be false."
}

const definitionOf = ({ description, name, parameters }: typeof Tool.Type): Toolkit.Definition => ({
  name,
  description: description ?? "",
  parameters
})

const optionsOf = (request: Request): Model.Options => {
  const { max_output_tokens: maxTokens, parallel_tool_calls: parallelCalls, temperature, tool_choice: choice } = request
  return {
    ...(typeof temperature === "number" ? { temperature } : {}),
    ...(typeof maxTokens === "number" ? { maxTokens } : {}),
    ...(typeof parallelCalls === "boolean" ? { parallelCalls } : {}),
    ...(choice === undefined ? {} : { toolChoice: typeof choice === "string" ? choice : { tool: choice.name } })
  }
}

// -----------------------------------------------------------------------------
// Replies
// -----------------------------------------------------------------------------

const itemsOf = (reply: Model.Reply, wishes: Wishes): ReadonlyArray<OwnItem> => {
  const reasoning = reply.reasoning
  const mark = digest(JSON.stringify([reasoning ?? null, reply.text, reply.calls]))
  const thought = reasoning === undefined ? [] : [reasoningItem(reasoning, `rs_${mark}`)]
  const id = (prefix: string, index: number) =>
    thought[0] === undefined ? `${prefix}_${mark}_${index}` : Conversation.idWith(prefix, thought[0].id, index)
  const status = reply.truncated === true ? "incomplete" : "completed"
  return [
    ...[...thought, ...ownOf(reply, "responses").before].map((item) =>
      wishes.encrypted === true ? encrypt(item) : item
    ),
    ...(reply.text === "" ? [] : [messageItem(reply.text, id("msg", 0), status)]),
    ...reply.calls.map(({ arguments: text = "", id: call_id, name }, index) => ({
      type: "function_call",
      id: id("fc", index + 1),
      call_id,
      name,
      // This server always sends a text.
      arguments: text,
      status
    }))
  ]
}

const reasoningItem = (text: string, id: string) => ({
  type: "reasoning",
  id,
  summary: text === "" ? [] : [{ type: "summary_text", text }]
})

const encrypt = (item: OwnItem): OwnItem =>
  item.type === "reasoning" && typeof item.id === "string" ? { encrypted_content: sign(item.id), ...item } : item

const messageItem = (text: string, id: string, status: string) => ({
  type: "message",
  id,
  status,
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [], logprobs: [] }]
})

const usageOf = (reply: Model.Reply) => {
  const counts = countsOf(reply)
  return counts === undefined ? null : {
    input_tokens: counts.input,
    input_tokens_details: { cached_tokens: counts.cached, cache_write_tokens: counts.written },
    output_tokens: counts.output,
    output_tokens_details: { reasoning_tokens: counts.reasoning },
    total_tokens: counts.input + counts.output
  }
}

const begun = {
  id: "resp_1",
  object: "response",
  created_at: 0,
  status: "in_progress",
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  model: "fake",
  output: [],
  parallel_tool_calls: true,
  temperature: 1,
  tool_choice: "auto",
  tools: [],
  top_p: 1,
  usage: null
}

const responseOf = (reply: Model.Reply, output: ReadonlyArray<OwnItem>) => ({
  ...begun,
  ...(reply.truncated === true
    ? { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }
    : { status: "completed" }),
  output,
  usage: usageOf(reply),
  ...ownOf(reply, "responses").fields
})

const whole = (reply: Model.Reply, items: ReadonlyArray<OwnItem>): string => JSON.stringify(responseOf(reply, items))

const streamed = (reply: Model.Reply, items: ReadonlyArray<OwnItem>): ReadonlyArray<string> => {
  const response = responseOf(reply, items)
  const streams = items.map(itemEvents)
  const calls = streams.slice(items.length - reply.calls.length)
  return [
    event("response.created", { response: begun }),
    event("response.in_progress", { response: begun }),
    ...streams.slice(0, items.length - reply.calls.length).flatMap((
      { begin, deltas, end }
    ) => [begin, ...deltas, ...end]),
    ...calls.map(({ begin }) => begin),
    ...interleave(calls.map(({ deltas }) => deltas)),
    ...calls.flatMap(({ end }) => end),
    event(`response.${response.status}`, { response })
  ].map((event, sequence_number) => `event: ${event.type}\n${frame(JSON.stringify({ ...event, sequence_number }))}`)
}

const frame: Format["frame"] = (data) => `data: ${data}\n\n`

const problem: Format["problem"] = ({ code, detail }, status) =>
  JSON.stringify({
    error: {
      message: detail,
      type: typeOf(code, status),
      param: null,
      code: codes.get(code) ?? (status === 429 ? "rate_limit_exceeded" : null)
    }
  })

const typeOf = (code: string, status: number): string =>
  code === "quota_exhausted"
    ? "insufficient_quota"
    : status >= 500
    ? "server_error"
    : status === 429
    ? "requests"
    : "invalid_request_error"

const refusal = (text: string): Model.Reply => ({
  text: "",
  calls: [],
  native: {
    responses: {
      before: [{
        type: "message",
        id: "msg_0",
        status: "completed",
        role: "assistant",
        content: [{ type: "refusal", refusal: text }]
      }]
    }
  }
})

/** A server of this format remembers the items that it stores. */
export const responses = (): Format => {
  const stored: Stored = new Map()
  const remembered = (reply: Model.Reply, wishes: Wishes) => {
    const items = itemsOf(reply, wishes)
    if (wishes.stored === true) { for (const item of items) stored.set(item.id, item) }
    return items
  }
  return {
    name: "responses",
    path: /^\/v1\/responses$/,
    keyHeader: "authorization",
    decode: decode(stored),
    whole: (reply, wishes) => whole(reply, remembered(reply, wishes)),
    streamed: (reply, wishes) => streamed(reply, remembered(reply, wishes)),
    frame,
    streamType: "text/event-stream",
    refusal,
    problem
  }
}
