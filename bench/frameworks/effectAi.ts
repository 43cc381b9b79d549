/**
 * effect/ai. Plain: the loop of its documentation over `Chat`, with tools that cannot fail. Recovering: tools with a
 * failure, `failureMode: "return"` and a timeout, retries of tools that read, and `HttpClient.retryTransient`.
 *
 * No published provider for Chat Completions works with this version of Effect: `@effect/ai-openai-compat` imports
 * modules that have moved. So this file has one, without streams.
 */
import {
  Ai,
  Effect,
  FetchHttpClient,
  HttpClient,
  HttpClientRequest,
  Schedule,
  Schema,
  Stream
} from "../../test/support/effect.ts"
import { type Contender, limits, mayPass, question, settings } from "./contender.ts"
import { parametersOf, resultOf } from "./fallible.ts"
import type { Arguments, PlainTool } from "./tools.ts"

const { AiError, Chat, LanguageModel, Prompt, Tool, Toolkit } = Ai

// -----------------------------------------------------------------------------
// Tools
// -----------------------------------------------------------------------------

const toolOf = (setting: Contender["setting"]) => (plain: PlainTool) =>
  Tool.make(plain.name, {
    description: plain.description,
    parameters: parametersOf(plain),
    success: resultOf(plain),
    ...(setting === "recovering" ? { failure: Schema.String, failureMode: "return" } : {})
  })

const handlerOf = (setting: Contender["setting"]) => (plain: PlainTool) => (args: Arguments) => {
  const run = (signal: AbortSignal) => plain.run(args, signal)
  if (setting === "plain") return Effect.promise(run)
  const times = plain.acts === true ? 0 : limits.retries
  return Effect.tryPromise({ try: run, catch: (error) => error }).pipe(
    Effect.retry({ times, while: mayPass, schedule: Schedule.exponential(limits.firstWaitMillis) }),
    Effect.timeout(limits.toolMillis),
    Effect.mapError(String)
  )
}

// -----------------------------------------------------------------------------
// The provider
// -----------------------------------------------------------------------------

const Message = Schema.Struct({
  content: Schema.optional(Schema.NullOr(Schema.String)),
  tool_calls: Schema.optional(Schema.Array(Schema.Struct({
    id: Schema.String,
    function: Schema.Struct({ name: Schema.String, arguments: Schema.optional(Schema.NullOr(Schema.String)) })
  })))
})
const Completion = Schema.Struct({ choices: Schema.NonEmptyArray(Schema.Struct({ message: Message })) })

/** The messages of a prompt, as Chat Completions has them. */
const messagesOf = (prompt: Ai.Prompt.Prompt): ReadonlyArray<object> =>
  prompt.content.flatMap((message): ReadonlyArray<object> => {
    switch (message.role) {
      case "system":
        return [{ role: "system", content: message.content }]
      case "user":
        return [{ role: "user", content: message.content.flatMap((part) => part.type === "text" ? [part] : []) }]
      case "assistant": {
        const calls = message.content.flatMap((part) => part.type === "tool-call" ? [part] : [])
        const text = message.content.flatMap((part) => part.type === "text" ? [part.text] : []).join("")
        const tool_calls = calls.map(({ id, name, params }) => ({
          id,
          type: "function",
          function: { name, arguments: JSON.stringify(params) }
        }))
        return [{ role: "assistant", content: text, ...(calls.length === 0 ? {} : { tool_calls }) }]
      }
      case "tool":
        return message.content.flatMap((part) =>
          part.type === "tool-result"
            ? [{
              role: "tool",
              tool_call_id: part.id,
              content: typeof part.result === "string" ? part.result : JSON.stringify(part.result)
            }]
            : []
        )
    }
  })

const failing = (method: string) => (reason: Ai.AiError.AiErrorReason) =>
  AiError.make({ module: "ChatCompletions", method, reason })

const parsed = (toolName: string, text: string) =>
  Effect.try({
    try: () => Tool.unsafeSecureJsonParse(text),
    catch: (cause) =>
      failing("generateText")(
        new AiError.ToolParameterValidationError({ toolName, description: String(cause) })
      )
  })

const partsOf = ({ choices: [{ message }] }: typeof Completion.Type) =>
  Effect.map(
    Effect.forEach(message.tool_calls ?? [], ({ function: { arguments: text, name }, id }) =>
      Effect.map(parsed(name, text ?? "{}"), (params) =>
        ({ type: "tool-call", id, name, params }) as const)),
    (calls) => [...(message.content ? [{ type: "text", text: message.content } as const] : []), ...calls]
  )

const chatCompletions = (url: string, setting: Contender["setting"]) =>
  Effect.gen(function*() {
    const plain = yield* HttpClient.HttpClient
    const checked = HttpClient.filterStatusOk(plain)
    const client = setting === "recovering"
      ? HttpClient.retryTransient(checked, {
        times: limits.retries,
        schedule: Schedule.exponential(limits.firstWaitMillis)
      })
      : checked
    return yield* LanguageModel.make({
      generateText: ({ prompt, tools }) =>
        HttpClientRequest.post(`${url}/v1/chat/completions`).pipe(
          HttpClientRequest.bodyJsonUnsafe({
            model: "any",
            messages: messagesOf(prompt),
            tools: tools.map((tool) => ({
              type: "function",
              function: { name: tool.name, description: tool.description, parameters: Tool.getJsonSchema(tool) }
            }))
          }),
          client.execute,
          Effect.flatMap((response) => response.json),
          Effect.flatMap(Schema.decodeUnknownEffect(Completion)),
          Effect.mapError((error) =>
            failing("generateText")(new AiError.InvalidOutputError({ description: error.message }))
          ),
          Effect.flatMap(partsOf)
        ),
      streamText: () => Stream.die("This provider has no streams.")
    })
  })

export const effectAi = settings.map((setting): Contender => ({
  framework: "effect/ai",
  setting,
  ask: (url, plain) => {
    const toolkit = Toolkit.make(...plain.map(toolOf(setting)))
    const handlers = toolkit.toLayer(
      Object.fromEntries(plain.map((one) => [one.name, handlerOf(setting)(one)]))
    )
    return Effect.gen(function*() {
      const tools = yield* toolkit
      const chat = yield* Chat.fromPrompt([{ role: "user", content: question }])
      while (true) {
        const response = yield* chat.generateText({ prompt: Prompt.empty, toolkit: tools }).pipe(
          Effect.retry({
            times: setting === "recovering" ? limits.retries : 0,
            while: (error) => AiError.isAiError(error) && error.isRetryable
          })
        )
        if (response.toolCalls.length === 0) return response.text
      }
    }).pipe(
      Effect.provide(handlers),
      Effect.provideServiceEffect(LanguageModel.LanguageModel, chatCompletions(url, setting)),
      Effect.provide(FetchHttpClient.layer),
      Effect.runPromise
    )
  }
}))
