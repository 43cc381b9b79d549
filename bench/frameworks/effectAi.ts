/**
 * effect/ai. Plain: the loop of its documentation over `Chat`, with tools that cannot fail. Recovering: a system prompt, tools with a
 * failure, whose text `mapError` writes, `failureMode: "return"`, a time limit and a limit of calls, retries of tools that read, and
 * `HttpClient.retryTransient`.
 */
import { Ai, Duration, Effect, FetchHttpClient, Schedule, Schema } from "../../test/support/effect.ts"
import { chatCompletions } from "./chatCompletions.ts"
import { type Contender, settings } from "./contender.ts"
import { parametersOf, resultOf } from "./effectSchemas.ts"
import {
  attempted,
  failureText,
  instructions,
  isOverLimit,
  isWorthARetry,
  limits,
  limitText,
  retryAfterMillis,
  timeOf
} from "./practice.ts"
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
    ...(setting === "plain" ? {} : { failure: Schema.String, failureMode: "return" })
  })

const plainHandler = (plain: PlainTool) => (args: Arguments) => Effect.promise((signal) => plain.run(args, signal))

// -----------------------------------------------------------------------------
// Recovery
// -----------------------------------------------------------------------------

/** A wait is that of the schedule, or that which the service asks for. */
const waits = Schedule.exponential(limits.firstWaitMillis).pipe(
  Schedule.modifyDelay(({ duration, input }) =>
    Effect.succeed(Duration.max(duration, Duration.millis(retryAfterMillis(input) ?? 0)))
  )
)

const recoveringHandler = (plain: PlainTool) => {
  let calls = 0
  const times = plain.acts === true ? 0 : limits.retries
  return (args: Arguments) =>
    Effect.suspend(() =>
      isOverLimit(plain, calls++)
        ? Effect.fail(limitText(plain))
        : Effect.tryPromise({ try: (signal) => attempted(plain, args, signal), catch: (error) => error }).pipe(
          Effect.flatMap(Schema.decodeUnknownEffect(resultOf(plain))),
          Effect.retry({ times, while: isWorthARetry, schedule: waits }),
          Effect.timeout(timeOf(plain)),
          Effect.mapError((error) => failureText(plain, error))
        )
    )
}

/** A prompt that also says why the last reply could not be used, such as a call of an unknown tool. */
const afterUnusable = (prompt: Ai.Prompt.RawInput, { message }: Error, tools: ReadonlyArray<PlainTool>) =>
  Prompt.concat(Prompt.make(prompt), [
    { role: "system", content: `${message}\nThe tools are: ${tools.map(({ name }) => name).join(", ")}.` }
  ])

// -----------------------------------------------------------------------------
// The agent
// -----------------------------------------------------------------------------

export const effectAi = settings.map((setting): Contender => ({
  framework: "effect/ai",
  setting,
  begin: (url, plain) => {
    const isPlain = setting === "plain"
    const toolkit = Toolkit.make(...plain.map(toolOf(setting)))
    // Made for each question, because they count calls.
    const handlers = () =>
      toolkit.toLayer(
        Object.fromEntries(plain.map((one) => [one.name, (isPlain ? plainHandler : recoveringHandler)(one)]))
      )
    const chat = Effect.runSync(Chat.fromPrompt(isPlain ? Prompt.empty : [{ role: "system", content: instructions }]))
    const turn = Effect.fnUntraced(function*(prompt: Ai.Prompt.RawInput) {
      return yield* chat.generateText({ prompt, toolkit: yield* toolkit })
    })
    const next = (prompt: Ai.Prompt.RawInput) =>
      isPlain ? turn(prompt) : turn(prompt).pipe(
        Effect.catchIf(
          (error) => AiError.isAiError(error) && error.isRetryable,
          (error) => Effect.retry(turn(afterUnusable(prompt, error, plain)), { times: limits.retries - 1 })
        )
      )
    return (question) =>
      Effect.gen(function*() {
        let response = yield* next(question)
        while (response.toolCalls.length > 0) response = yield* next(Prompt.empty)
        return response.text
      }).pipe(
        Effect.provide(handlers()),
        Effect.provideServiceEffect(LanguageModel.LanguageModel, chatCompletions(url, setting)),
        Effect.provide(FetchHttpClient.layer),
        Effect.runPromise
      )
  }
}))
