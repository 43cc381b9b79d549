/**
 * A provider of effect/ai for Chat Completions, without streams. No published one works with this version of Effect:
 * `@effect/ai-openai-compat` imports modules that have moved.
 */
import { Ai, Effect, HttpClient, HttpClientRequest, Schedule, Schema, Stream } from "../../test/support/effect.ts"
import type { Contender } from "./contender.ts"
import { limits } from "./practice.ts"

const { AiError, LanguageModel, Tool } = Ai

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

export const chatCompletions = (url: string, setting: Contender["setting"]) =>
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
