/*
 * Asks a language model of the AI SDK, once.
 */
import type { LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider"
import { type Model, ModelFailure } from "@fallible/core"
import type * as ModelAdapter from "@fallible/core/ModelAdapter"
import * as ModelProblem from "@fallible/core/ModelProblem"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { callOptions, ignoredOption, type ProviderTools, Tools, unsupportedOption } from "./callOptions.ts"
import { hasFiles, isSupported } from "./files.ts"
import { isV4, type Port, portOf } from "./languageModel.ts"
import { failureOf, reportedFailure } from "./problem.ts"
import { Prompts } from "./prompt.ts"
import { type Replier, replyOf, usageOf } from "./reply.ts"
import { partOf, StreamedReply } from "./streamedReply.ts"
import { copyOf, type Fields, fieldsOf, streamIn, written } from "./untyped.ts"
import { Warnings } from "./warnings.ts"

/** A language model of the AI SDK, asked without retries and time limits. */
export class Bridge {
  readonly server: ModelProblem.Server
  readonly #model: Port
  readonly #replier: Replier
  readonly #isV4: boolean
  readonly #providerTools: ProviderTools
  readonly #tools: Tools
  readonly #warnings: Warnings
  #knownPrompts: AllPrompts | undefined
  /** The conversations with a file that the model does not take. */
  readonly #noted = new WeakSet<object>()
  /** True once the model, or a middleware around it, has tried to change what it was given. */
  #takesCopies = false

  constructor(model: LanguageModelV3 | LanguageModelV4, providerTools: ProviderTools) {
    this.server = {
      name: model.provider,
      ifUnreachable: "The provider may be down, or the base URL that its package was given may be wrong.",
      ifUnknownModel: `Check the model's name: '${model.modelId}'.`,
      ifDenied: "Check the key that the provider's package reads, and what it is allowed to do."
    }
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
        if (!Array.isArray(content)) return Effect.fail(this.#malformed(result, usageOf(usage)))
        const reply = replyOf(this.#replier, content, { finishReason, usage })
        return isEmpty(warnings) ? reply : Effect.andThen(this.#heeded(request, warnings, usageOf(usage)), reply)
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
      const given = { prompt: prompts.of(transcript), ...callOptions(options, this.#tools.of(tools), this.server) }
      // What later requests share is read-only.
      return ask(this.#takesCopies ? copyOf(given) : given)
    }
    const asking = ({ noted, whole }: AllPrompts) =>
      this.#noted.has(transcript.lineage) ? askWith(noted) : Effect.catch(askWith(whole), (failure) => {
        if (failure.code !== "unsupported" || !hasFiles(whole.of(transcript))) return Effect.fail(failure)
        this.#noted.add(transcript.lineage)
        return askWith(noted)
      })
    return this.#knownPrompts === undefined ? Effect.flatMap(this.#makePrompts, asking) : asking(this.#knownPrompts)
  }

  // The provider says which addresses of files it fetches itself. Nothing is downloaded here.
  get #makePrompts(): Effect.Effect<AllPrompts> {
    const made = (urls: Fields): AllPrompts => {
      const target = { isV4: this.#isV4, key: this.#replier.key }
      const whole = new Prompts({ ...target, reads: (file) => isSupported(file, urls) })
      return { whole, noted: new Prompts({ ...target, reads: () => false }) }
    }
    return Effect.match(Effect.tryPromise(async () => fieldsOf(await this.#model.supportedUrls)), {
      onSuccess: (urls) => this.#knownPrompts = made(urls),
      // It is asked again on the next request.
      onFailure: () => made({})
    })
  }

  // A model without types may return something else than a promise.
  #attempt(ask: (signal: AbortSignal) => PromiseLike<unknown>): Effect.Effect<unknown, ModelFailure> {
    return Effect.catch(
      Effect.tryPromise({ try: (signal) => Promise.resolve(ask(signal)), catch: (error) => ({ error }) }),
      ({ error }) => {
        if (!isOfReadOnly(error)) return this.#failed(failureOf, error)
        this.#takesCopies = true
        return Effect.fail(changedRequest(this.server))
      }
    )
  }

  #pieces(request: Model.Request, stream: ReadableStream<unknown>): Stream.Stream<ModelAdapter.Piece, ModelFailure> {
    return Stream.suspend(() => {
      const reply = new StreamedReply()
      return Stream.fromReadableStream({ evaluate: () => cancellable(stream), onError: (error) => ({ error }) }).pipe(
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
  #heeded(
    { options = {} }: Model.Request,
    warnings: unknown,
    usage?: Model.Usage
  ): Effect.Effect<void, ModelFailure> {
    const ignored = ignoredOption(this.server, options, warnings, usage)
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

  #malformed(value: unknown, usage?: Model.Usage): ModelFailure {
    return ModelProblem.malformed(this.server, written(value), false, usage)
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
const isOfReadOnly = (error: unknown, depth = 0): boolean => {
  try {
    return error instanceof TypeError &&
        /read.?only|not extensible|cannot (add|assign|define|delete|redefine)/i.test(error.message) ||
      depth < 3 && error instanceof Error && isOfReadOnly(error.cause, depth + 1)
  } catch {
    return false
  }
}

// Whether the request was sent is not known, so it is not made again here: the report lists the retry.
const changedRequest = ({ name }: ModelProblem.Server): ModelFailure =>
  new ModelFailure({
    code: "bad_request",
    detail: `A middleware around ${name} changed a request that later ones share. It gets copies from now on.`,
    transient: true
  })

// A reply that has ended must not be lost because its stream cannot be cancelled.
const cancellable = (stream: ReadableStream<unknown>): ReadableStream<unknown> => {
  const reader = stream.getReader()
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await reader.read()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: (reason) => reader.cancel(reason).catch(() => {})
  }, { highWaterMark: 0 })
}

// Aborted when the scope closes.
const untilClosed: Effect.Effect<AbortSignal, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => new AbortController()),
    (controller) => Effect.sync(() => controller.abort())
  ),
  ({ signal }) => signal
)
