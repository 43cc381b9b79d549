/**
 * Any language model of the AI SDK's providers as a `Model`: Anthropic, OpenAI's Responses, Gemini, Bedrock and all others.
 *
 *     const model = AiSdk.layer(anthropic("claude-sonnet-4-5"))
 *     agent.run("Hello?").pipe(Effect.provide(model))
 *
 * The bridge stands on the lowest layer of the AI SDK, version 3 or 4 of its language models. Retries, time-outs and attempts
 * are those of {@link Settings}: the AI SDK's own retries stand above that layer. An interrupted run aborts the request.
 *
 * The arguments of a call reach the tool as the model wrote them. Reasoning, signatures and other things that a provider adds
 * go back to it unchanged, also after a suspension. Another provider is not sent them.
 *
 * The key of a provider is not visible here. So the details of failures have no addresses, and nothing that looks like a
 * secret. A provider's package decides which options it heeds. If it says that it ignored an option of a request, the request
 * fails with the code `unsupported`. What else it warns of is logged once.
 *
 * @since 0.1.0
 */
import type { LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider"
import { demandKnown, type Names } from "@fallible/arguments/internal"
import { Model, type ModelFailure } from "@fallible/core"
import * as ModelAdapter from "@fallible/core/ModelAdapter"
import * as ModelProblem from "@fallible/core/ModelProblem"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { callOptions, ignoredOption, type ProviderTools, Tools, unsupportedOption } from "./internal/callOptions.ts"
import { hasFiles, isSupported } from "./internal/files.ts"
import { isV4, type Port, portOf, problemOf } from "./internal/languageModel.ts"
import { failureOf, reportedFailure } from "./internal/problem.ts"
import { Prompts } from "./internal/prompt.ts"
import { type Replier, replyOf } from "./internal/reply.ts"
import { partOf, StreamedReply } from "./internal/streamedReply.ts"
import { copyOf, type Fields, fieldsOf, streamIn, written } from "./internal/untyped.ts"
import { Warnings } from "./internal/warnings.ts"

/**
 * How long to wait for the model and when to retry, and what it can do.
 *
 * @category models
 * @since 0.1.0
 */
export interface Settings extends ModelAdapter.Settings {
  /**
   * Whether the model takes a JSON Schema for the text of a reply, also beside tools. An agent with an `output` uses it.
   * Default: `false`, so such an agent offers the model the tool `final_answer`.
   */
  readonly structuredOutput?: boolean
  /**
   * Tools that the provider runs itself, by name, as its package makes them: `{ search: openai.tools.webSearch({}) }`. Their
   * calls are shown (`Reply.providerCalls`), and never run here. Default: none.
   */
  readonly providerTools?: ProviderTools
}

export type { ProviderTools } from "./internal/callOptions.ts"

const names: Names<Settings> = {
  timeout: true,
  streamTimeout: true,
  retry: true,
  contextWindow: true,
  structuredOutput: true,
  providerTools: true
}

/**
 * Makes a model from one of the AI SDK's.
 *
 * Calls to the model fail as `ModelFailure` lists. `make` itself throws a `TypeError` for a value that is not a language model
 * of version 3 or 4, for an unknown setting, and for a timeout that is not positive.
 *
 * @param model as a provider's package makes it: `anthropic("claude-sonnet-4-5")`
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  model: LanguageModelV3 | LanguageModelV4,
  settings: Settings = {}
): Model.Model["Service"] => {
  const problem = problemOf(model)
  if (problem !== undefined) throw new TypeError(`Expected a language model of the AI SDK, version 3 or 4; ${problem}.`)
  demandKnown("AiSdk", settings, names)
  const { providerTools = {}, structuredOutput = false, ...limits } = settings
  const bridge = new Bridge(model, providerTools)
  return ModelAdapter.make({
    name: model.modelId,
    server: bridge.server,
    respond: (request) => bridge.respond(request),
    stream: (request) => bridge.stream(request),
    ...(structuredOutput ? { structuredOutput: "always" } : {})
  }, limits)
}

/**
 * Provides a model of the AI SDK: {@link make} as a layer.
 *
 * @example
 * ```ts
 * import { Agent, Toolkit } from "@fallible/core"
 * import { AiSdk } from "@fallible/ai-sdk"
 * import { createAnthropic } from "@ai-sdk/anthropic"
 * import { Effect } from "effect"
 *
 * const anthropic = createAnthropic({ apiKey: "sk-ant-..." })
 * const answer = Agent.make({ toolkit: Toolkit.empty }).run("Hello?").pipe(
 *   Effect.provide(AiSdk.layer(anthropic("claude-sonnet-4-5")))
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  model: LanguageModelV3 | LanguageModelV4,
  settings: Settings = {}
): Layer.Layer<Model.Model> => Layer.sync(Model.Model, () => make(model, settings))

// -----------------------------------------------------------------------------
// Asking
// -----------------------------------------------------------------------------

class Bridge {
  readonly server: ModelProblem.Server
  readonly #model: Port
  readonly #replier: Replier
  readonly #isV4: boolean
  readonly #providerTools: ProviderTools
  readonly #tools: Tools
  readonly #warnings: Warnings
  #knownPrompts: AllPrompts | undefined
  /** True once the model, or a middleware around it, has tried to change what it was given. */
  #takesCopies = false

  constructor(model: LanguageModelV3 | LanguageModelV4, providerTools: ProviderTools) {
    this.server = { name: model.provider }
    this.#model = portOf(model)
    this.#isV4 = isV4(model)
    this.#replier = { server: this.server, model: model.modelId, key: `ai-sdk/${model.provider}` }
    this.#providerTools = providerTools
    this.#tools = new Tools(providerTools)
    this.#warnings = new Warnings(this.server, model.modelId)
  }

  respond(request: Model.Request): Effect.Effect<Model.Reply, ModelFailure> {
    return Effect.flatMap(
      this.#ask(
        request,
        (options) => this.#attempt((abortSignal) => this.#model.doGenerate({ ...options, abortSignal }))
      ),
      this.#reading((result) => {
        const { content, finishReason, usage, warnings } = fieldsOf(result)
        if (!Array.isArray(content)) return Effect.fail(this.#malformed(result))
        const reply = replyOf(this.#replier, content, { finishReason, usage })
        return isEmpty(warnings) ? reply : Effect.andThen(this.#heeded(request, warnings), reply)
      })
    )
  }

  stream(
    request: Model.Request
  ): Effect.Effect<Stream.Stream<ModelAdapter.Piece, ModelFailure>, ModelFailure, Scope.Scope> {
    return Effect.flatMap(
      this.#ask(request, (options) =>
        // The stream outlives the promise.
        Effect.flatMap(untilClosed, (abortSignal) =>
          this.#attempt(async () => {
            const result = await this.#model.doStream({ ...options, abortSignal })
            // A model that does not heed the signal opens its stream too late.
            if (abortSignal.aborted) await streamIn(result)?.cancel()
            return result
          }))),
      this.#reading((result) => {
        const stream = streamIn(result)
        return stream === undefined
          ? Effect.fail(this.#malformed(result))
          : Effect.succeed(this.#pieces(request, stream))
      })
    )
  }

  // Asks with all files. If the model does not take one of them, asks again with notes in their place.
  #ask<A, R>(
    request: Model.Request,
    ask: (options: object) => Effect.Effect<A, ModelFailure, R>
  ): Effect.Effect<A, ModelFailure, R> {
    const unsupported = unsupportedOption(request, this.#isV4, this.#providerTools)
    if (unsupported !== undefined) return Effect.fail(unsupported)
    const { options = {}, tools, transcript } = request
    const askWith = (prompts: Prompts) => {
      const given = () => ({
        prompt: prompts.of(transcript),
        ...callOptions(options, this.#tools.of(tools), this.server)
      })
      if (this.#takesCopies) return ask(copyOf(given()))
      // What later requests share is read-only. A middleware that changes it gets copies from then on.
      return Effect.catch(
        ask(given()),
        (failure) => failure.code === "defect" && this.#takesCopies ? ask(copyOf(given())) : Effect.fail(failure)
      )
    }
    const asking = ({ noted, whole }: AllPrompts) =>
      Effect.catch(
        askWith(whole),
        (failure) =>
          failure.code === "unsupported" && hasFiles(whole.of(transcript)) ? askWith(noted) : Effect.fail(failure)
      )
    return this.#knownPrompts === undefined ? Effect.flatMap(this.#makePrompts, asking) : asking(this.#knownPrompts)
  }

  get #makePrompts(): Effect.Effect<AllPrompts> {
    return Effect.map(this.#urls, (urls) => {
      const target = { isV4: this.#isV4, key: this.#replier.key }
      const whole = new Prompts({ ...target, reads: (file) => isSupported(file, urls) })
      return this.#knownPrompts = { whole, noted: new Prompts({ ...target, reads: () => false }) }
    })
  }

  // Which addresses of files the provider fetches itself. Nothing is downloaded here.
  get #urls(): Effect.Effect<Fields> {
    return Effect.orElseSucceed(
      Effect.tryPromise(async () => fieldsOf(await this.#model.supportedUrls)),
      (): Fields => ({})
    )
  }

  // A model without types may return something else than a promise.
  #attempt(ask: (signal: AbortSignal) => PromiseLike<unknown>): Effect.Effect<unknown, ModelFailure> {
    return Effect.catch(
      Effect.tryPromise({ try: (signal) => Promise.resolve(ask(signal)), catch: (error) => ({ error }) }),
      ({ error }) => {
        this.#takesCopies ||= isOfReadOnly(error)
        return this.#failed(failureOf, error)
      }
    )
  }

  #pieces(request: Model.Request, stream: ReadableStream<unknown>): Stream.Stream<ModelAdapter.Piece, ModelFailure> {
    return Stream.suspend(() => {
      const reply = new StreamedReply()
      return Stream.fromReadableStream({ evaluate: () => stream, onError: (error) => ({ error }) }).pipe(
        Stream.catch(({ error }) => Stream.fromEffect(this.#failed(reportedFailure, error))),
        Stream.mapEffect(this.#reading((value) => this.#piece(request, reply, value))),
        Stream.filter((piece) => piece !== noPiece)
      )
    })
  }

  #piece(
    request: Model.Request,
    reply: StreamedReply,
    value: unknown
  ): Effect.Effect<ModelAdapter.Piece, ModelFailure> {
    const part = partOf(value)
    if (part === undefined) return Effect.fail(this.#malformed(value))
    switch (part["type"]) {
      case "error":
        return this.#failed(reportedFailure, part["error"])
      case "stream-start":
        return Effect.as(this.#heeded(request, part["warnings"]), noPiece)
      case "ping":
      case "raw":
        return Effect.succeed(noPiece)
      case "finish": {
        const { finishReason, usage } = part
        return Effect.succeed({
          reply: replyOf(this.#replier, reply.content, { finishReason, usage }),
          isLast: true
        })
      }
      default:
        return Effect.succeed({ parts: reply.add(part) })
    }
  }

  // A provider's package ignores what it does not have, and says so. An option of the request must not be ignored.
  #heeded({ options = {} }: Model.Request, warnings: unknown): Effect.Effect<void, ModelFailure> {
    const ignored = ignoredOption(this.server, options, warnings)
    return ignored === undefined ? this.#warnings.log(warnings) : Effect.fail(ignored)
  }

  #failed(failureOf: typeof reportedFailure, error: unknown): Effect.Effect<never, ModelFailure> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.fail(failureOf(this.server, error, now)))
  }

  // Reading what a model returned may throw.
  #reading<A>(
    read: (value: unknown) => Effect.Effect<A, ModelFailure>
  ): (value: unknown) => Effect.Effect<A, ModelFailure> {
    return (value) => {
      try {
        return read(value)
      } catch {
        return Effect.fail(this.#malformed(value))
      }
    }
  }

  #malformed(value: unknown): ModelFailure {
    return ModelProblem.malformed(this.server, written(value))
  }
}

/** The prompts with all files that can be sent, and those with notes in place of files. */
interface AllPrompts {
  readonly whole: Prompts
  readonly noted: Prompts
}

const noPiece: ModelAdapter.Piece = {}

const isEmpty = (warnings: unknown): boolean => !Array.isArray(warnings) || warnings.length === 0

// What an engine says if a frozen object is changed. An error may be a proxy that cannot be looked at.
const isOfReadOnly = (error: unknown): boolean => {
  try {
    return error instanceof TypeError &&
      /read.?only|not extensible|cannot (add|assign|define|delete|redefine)/i.test(error.message)
  } catch {
    return false
  }
}

// Aborted when the scope closes.
const untilClosed: Effect.Effect<AbortSignal, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => new AbortController()),
    (controller) => Effect.sync(() => controller.abort())
  ),
  ({ signal }) => signal
)
