/** Anthropic's Messages, from the server's side. */
import type { Model, Toolkit } from "@fallible/core"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { othersIn } from "./chatCompletions.ts"
import { type Format, pieces, type Wishes } from "./format.ts"
import { jsonOf } from "./json.ts"
import * as Conversation from "./messagesConversation.ts"
import { countsOf, type OwnItem, ownOf, sign } from "./scriptedReply.ts"
import { type Fault, strictly } from "./strictly.ts"

// -----------------------------------------------------------------------------
// Requests
// -----------------------------------------------------------------------------

const JsonObject = Schema.Record(Schema.String, Schema.Unknown)

const InputSchema = Schema.StructWithRest(Schema.Struct({ type: Schema.Literal("object") }), [JsonObject]).check(
  Schema.makeFilter((schema) =>
    "oneOf" in schema || "allOf" in schema || "anyOf" in schema
      ? "input_schema does not support oneOf, allOf, or anyOf at the top level"
      : undefined
  )
)

const Tool = Schema.Struct({
  type: Schema.optionalKey(Schema.NullOr(Schema.Literal("custom"))),
  name: Conversation.ToolName,
  description: Schema.optionalKey(Schema.String),
  input_schema: InputSchema,
  strict: Schema.optionalKey(Schema.Boolean),
  eager_input_streaming: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  input_examples: Schema.optionalKey(Schema.Array(JsonObject)),
  ...Conversation.cacheable
})

const mayBeOne = { disable_parallel_tool_use: Schema.optionalKey(Schema.Boolean) }

const display = Schema.optionalKey(Schema.NullOr(Schema.Literals(["summarized", "omitted"])))

const Request = Schema.Struct({
  model: Schema.NonEmptyString,
  max_tokens: Schema.Int.check(Schema.isGreaterThan(0)),
  messages: Schema.NonEmptyArray(Conversation.Message),
  system: Schema.optionalKey(Schema.Union([Schema.String, Schema.Array(Conversation.Text)])),
  tools: Schema.optionalKey(Schema.Array(Tool)),
  tool_choice: Schema.optionalKey(Schema.Union([
    Schema.Struct({ type: Schema.Literal("auto"), ...mayBeOne }),
    Schema.Struct({ type: Schema.Literal("any"), ...mayBeOne }),
    Schema.Struct({ type: Schema.Literal("tool"), name: Schema.String, ...mayBeOne }),
    Schema.Struct({ type: Schema.Literal("none") })
  ])),
  temperature: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
  stream: Schema.optionalKey(Schema.Boolean),
  thinking: Schema.optionalKey(Schema.Union([
    Schema.Struct({
      type: Schema.Literal("enabled"),
      budget_tokens: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1024)),
      display
    }),
    Schema.Struct({ type: Schema.Literal("adaptive"), display }),
    Schema.Struct({ type: Schema.Literal("disabled") })
  ])),
  top_p: Schema.optionalKey(Schema.Finite),
  top_k: Schema.optionalKey(Schema.Int),
  stop_sequences: Schema.optionalKey(Schema.Array(Schema.String)),
  metadata: Schema.optionalKey(Schema.Struct({ user_id: Schema.optionalKey(Schema.NullOr(Schema.String)) })),
  service_tier: Schema.optionalKey(Schema.Literals(["auto", "standard_only"])),
  output_config: Schema.optionalKey(Schema.Struct({
    effort: Schema.optionalKey(Schema.NullOr(Schema.String)),
    format: Schema.optionalKey(
      Schema.NullOr(Schema.Struct({ type: Schema.Literal("json_schema"), schema: JsonObject }))
    )
  })),
  ...Conversation.cacheable
})

type Request = typeof Request.Type

const decodeRequest = strictly(Request)

// The other fields are of this provider alone.
const portFields = new Set([
  "model",
  "max_tokens",
  "messages",
  "system",
  "tools",
  "tool_choice",
  "temperature",
  "stream",
  "cache_control"
])

const decode: Format["decode"] = (body, { headers }) =>
  headers["anthropic-version"] === undefined
    ? "anthropic-version: header is required"
    : Result.match(decodeRequest(body), {
      onFailure: faultText,
      onSuccess: (request) => {
        const turns = Conversation.turnsOf(request.messages)
        const mustThink = request.thinking?.type === "enabled"
        return requestProblem(request, turns) ?? Conversation.problemIn(turns, mustThink) ?? {
          messages: [...systemOf(request), ...Conversation.transcriptOf(turns)],
          tools: (request.tools ?? []).map(definitionOf),
          options: { ...optionsOf(request), ...othersIn(body, portFields) },
          wishes: { stream: request.stream ?? false, usage: true, reasoning: mustThink }
        }
      }
    })

const faultText = ({ kind, message, path }: Fault): string => {
  const text = kind === "missing" ? "Field required" : kind === "unknown" ? "Extra inputs are not permitted" : message
  return path.length === 0 ? text : `${path.join(".")}: ${text}`
}

const requestProblem = (request: Request, turns: ReadonlyArray<Conversation.Turn>): string | undefined => {
  const { system, thinking, tool_choice: choice, tools = [] } = request
  const names = new Set(tools.map(({ name }) => name))
  if (names.size < tools.length) return "tools: Tool names must be unique."
  if (choice !== undefined && tools.length === 0) return "tool_choice may only be specified while providing tools"
  if (choice?.type === "tool" && !names.has(choice.name)) return `Tool '${choice.name}' not found in provided tools`
  const isForced = choice?.type === "any" || choice?.type === "tool"
  if (thinking !== undefined && thinking.type !== "disabled") {
    if (isForced) return "Thinking may not be enabled when tool_choice forces tool use."
    if (request.temperature !== undefined && request.temperature !== 1) {
      return "`temperature` may only be set to 1 when thinking is enabled."
    }
  }
  if (thinking?.type === "enabled" && thinking.budget_tokens >= request.max_tokens) {
    return "`max_tokens` must be greater than `thinking.budget_tokens`."
  }
  const texts = typeof system === "object" ? system : []
  if (texts.some(({ text }) => text === "")) return "system: text content blocks must be non-empty"
  const breakpoints = Conversation.breakpointsIn(turns) +
    [request, ...tools, ...texts].filter(({ cache_control: control = null }) => control !== null).length
  return breakpoints > 4
    ? `A maximum of 4 blocks with cache_control may be provided. Found ${breakpoints}.`
    : undefined
}

const systemOf = ({ system = "" }: Request) => {
  const text = typeof system === "string" ? system : system.map(({ text }) => text).join("\n")
  return text === "" ? [] : [{ role: "system" as const, text }]
}

const definitionOf = ({ description = "", input_schema: parameters, name }: typeof Tool.Type): Toolkit.Definition => ({
  name,
  description,
  parameters
})

const optionsOf = ({ max_tokens: maxTokens, temperature, tool_choice: choice }: Request): Model.Options => ({
  maxTokens,
  ...(temperature === undefined ? {} : { temperature }),
  ...(choice === undefined ? {} : { toolChoice: toolChoiceOf(choice) }),
  ...(choice === undefined || choice.type === "none" || choice.disable_parallel_tool_use === undefined
    ? {}
    : { parallelCalls: !choice.disable_parallel_tool_use })
})

const toolChoiceOf = (choice: NonNullable<Request["tool_choice"]>): NonNullable<Model.Options["toolChoice"]> =>
  choice.type === "tool" ? { tool: choice.name } : choice.type === "any" ? "required" : choice.type

// -----------------------------------------------------------------------------
// Replies
// -----------------------------------------------------------------------------

/** A block of a reply: whole, and as it is streamed. */
interface Block {
  readonly whole: string
  readonly start: object
  readonly deltas: ReadonlyArray<object>
}

const blocksOf = (reply: Model.Reply, wishes: Wishes): ReadonlyArray<Block> => {
  const { before } = ownOf(reply, "messages")
  // A model that must think has thought, even if the script does not say what.
  const thinking = reply.reasoning ?? (wishes.reasoning === true && before.length === 0 ? "" : undefined)
  return [
    ...(thinking === undefined ? [] : [thinkingBlock(thinking)]),
    ...before.map(ownBlock),
    ...(reply.text === "" ? [] : [textBlock(reply.text)]),
    ...reply.calls.map(toolUse)
  ]
}

const thinkingBlock = (thinking: string, signature = sign(thinking)): Block => ({
  whole: JSON.stringify({ type: "thinking", thinking, signature }),
  start: { type: "thinking", thinking: "", signature: "" },
  deltas: [
    ...pieces(thinking).map((thinking) => ({ type: "thinking_delta", thinking })),
    { type: "signature_delta", signature }
  ]
})

const textBlock = (text: string): Block => ({
  whole: JSON.stringify({ type: "text", text }),
  start: { type: "text", text: "" },
  deltas: pieces(text).map((text) => ({ type: "text_delta", text }))
})

// Writes the argument text unchanged. The real server sends an object if the reply is whole.
const toolUse = ({ arguments: text = "", id, name }: Model.Reply["calls"][number]): Block => ({
  whole: JSON.stringify({ type: "tool_use", id, name }).replace(
    /\}$/,
    `,"input":${text === "" ? "{}" : jsonOf(text)}}`
  ),
  start: { type: "tool_use", id, name, input: {} },
  deltas: ["", ...pieces(text)].map((partial_json) => ({ type: "input_json_delta", partial_json }))
})

const ownBlock = (block: OwnItem): Block =>
  block.type === "thinking" && typeof block.thinking === "string"
    ? thinkingBlock(block.thinking, typeof block.signature === "string" ? block.signature : undefined)
    : { whole: JSON.stringify(block), start: block, deltas: [] }

const endingOf = (reply: Model.Reply): object => ({
  stop_reason: reply.truncated === true ? "max_tokens" : reply.calls.length > 0 ? "tool_use" : "end_turn",
  stop_sequence: null,
  ...ownOf(reply, "messages").fields
})

// This format cannot leave out the usage. Its input tokens do not include those of the cache.
const usageOf = (reply: Model.Reply) => {
  const { cached, input, output, reasoning, written } = countsOf(reply) ??
    { input: 0, cached: 0, written: 0, output: 0, reasoning: 0 }
  return {
    input_tokens: input - cached - written,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written,
    output_tokens: output,
    output_tokens_details: { thinking_tokens: reasoning }
  }
}

const head = { id: "msg_1", type: "message", role: "assistant", model: "fake" }

const whole: Format["whole"] = (reply, wishes) =>
  JSON.stringify({ ...head, ...endingOf(reply), usage: usageOf(reply) })
    .replace(/\}$/, `,"content":[${blocksOf(reply, wishes).map(({ whole }) => whole).join()}]}`)

const streamed: Format["streamed"] = (reply, wishes) => {
  const usage = usageOf(reply)
  const message = {
    ...head,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usage, output_tokens: 1 }
  }
  return [
    event("message_start", { message }),
    event("ping", {}),
    ...blocksOf(reply, wishes).flatMap(({ deltas, start }, index) => [
      event("content_block_start", { index, content_block: start }),
      ...deltas.map((delta) => event("content_block_delta", { index, delta })),
      event("content_block_stop", { index })
    ]),
    event("message_delta", { delta: endingOf(reply), usage }),
    event("message_stop", {})
  ]
}

const event = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

// Clients ignore data without the name of an event.
const frame: Format["frame"] = (data) => `event: content_block_delta\ndata: ${data}\n\n`

const problem: Format["problem"] = ({ code, detail }, status) =>
  JSON.stringify({
    type: "error",
    error: {
      type: types.get(status) ?? (status < 500 ? "invalid_request_error" : "api_error"),
      message: sayings.get(code)?.(detail) ?? detail
    },
    request_id: "req_1"
  })

const types: ReadonlyMap<number, string> = new Map([
  [401, "authentication_error"],
  [402, "billing_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [413, "request_too_large"],
  [429, "rate_limit_error"],
  [504, "timeout_error"],
  [529, "overloaded_error"]
])

const sayings: ReadonlyMap<string, (detail: string) => string> = new Map([
  ["context_overflow", (detail: string) => `prompt is too long: ${detail}`],
  ["unknown_model", (detail: string) => `model: ${detail}`],
  ["quota_exhausted", (detail: string) => `Your credit balance is too low to access the Anthropic API: ${detail}`]
])

const refusal = (text: string): Model.Reply => ({
  text: "",
  calls: [],
  native: {
    messages: { stop_reason: "refusal", stop_details: { type: "refusal", category: null, explanation: text } }
  }
})

export const messages: Format = {
  name: "messages",
  path: /^\/v1\/messages$/,
  keyHeader: "x-api-key",
  decode,
  whole,
  streamed,
  frame,
  streamType: "text/event-stream",
  refusal,
  statuses: new Map([["quota_exhausted", 400]]),
  problem
}
