/**
 * The port to a language model: a request in, a reply or a {@link ModelFailure} out.
 *
 * The port is small on purpose. A request is the transcript and the tools on offer; a reply is text,
 * tool calls with their argument text kept raw, and what the provider said of its cost. What a
 * provider needs beyond that is the provider's matter.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Layer from "effect/Layer"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { codec, CodedFailure } from "./internal/failure/failureClass.ts"
import { retrying } from "./internal/policy/retrying.ts"
import { ToolCall } from "./ToolCall.ts"
import type { Definition } from "./Toolkit.ts"
import type { Transcript } from "./Transcript.ts"

// -----------------------------------------------------------------------------
// Request and reply
// -----------------------------------------------------------------------------

/**
 * What a model is asked.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  readonly transcript: Transcript
  readonly tools: ReadonlyArray<Definition>
  /** Default: the provider's own defaults. */
  readonly options?: Options
}

/**
 * How a model is to reply. What is left out is the provider's to choose; what a provider does not have, it
 * refuses (`unsupported`) rather than ignores.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** From 0, which always takes the likeliest word, up. */
  readonly temperature?: number
  /** The most tokens that a reply may have; a longer one is cut off, and says so. */
  readonly maxTokens?: number
  /**
   * May the model call tools: as it sees fit, not at all, must it call one, or this one? In a run, a call that
   * the model must make is asked for until a tool has been called: else the run could never answer.
   */
  readonly toolChoice?: "auto" | "none" | "required" | { readonly tool: string }
  /** May a reply have several calls? */
  readonly parallelCalls?: boolean
  /** Fields of the provider's own request, as they are. They win over all others but `stream`. */
  readonly provider?: Schema.JsonObject
}

/**
 * Must the model call a tool?
 *
 * @example
 * ```ts
 * import { Model } from "@fallible/core"
 *
 * Model.mustCall({ toolChoice: { tool: "get_weather" } }) // => true
 * Model.mustCall({ toolChoice: "auto" }) // => false
 * ```
 *
 * @category predicates
 * @since 0.1.0
 */
export const mustCall = ({ toolChoice }: Options): boolean =>
  toolChoice !== undefined && toolChoice !== "auto" && toolChoice !== "none"

/**
 * The tokens that a reply took, as the provider counts them.
 *
 * @category models
 * @since 0.1.0
 */
export interface Usage extends Schema.Schema.Type<typeof Usage> {}

/**
 * The schema of a {@link Usage}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Usage = Schema.Struct({ inputTokens: Schema.Int, outputTokens: Schema.Int })

/**
 * What a model answered. A reply without calls ends the run, and its text is the answer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reply extends Schema.Schema.Type<typeof Reply> {}

/**
 * The schema of a {@link Reply}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Reply = Schema.Struct({
  text: Schema.String,
  calls: Schema.Array(ToolCall),
  usage: Schema.optionalKey(Usage),
  /** Was the reply cut off at the most tokens that it may have? Absent: no. */
  truncated: Schema.optionalKey(Schema.Boolean),
  /** The provider's own form of the message, which goes back to it unchanged but for the ids of calls, which may have become others. */
  native: Schema.optionalKey(Schema.Json)
})

/**
 * A piece of a streamed reply. A stream ends with exactly one `Replied`, which has the whole.
 *
 * @category models
 * @since 0.1.0
 */
export type Part =
  | { readonly _tag: "TextDelta"; readonly text: string }
  | { readonly _tag: "Replied"; readonly reply: Reply }

// -----------------------------------------------------------------------------
// Failure
// -----------------------------------------------------------------------------

const ModelFailureFields = Schema.Struct({
  _tag: Schema.tag("ModelFailure"),
  code: Schema.String,
  detail: Schema.String,
  hint: Schema.optionalKey(Schema.String),
  transient: Schema.Boolean,
  retryAfter: Schema.optionalKey(Schema.DurationFromString),
  status: Schema.optionalKey(Schema.Int),
  attempts: Schema.optionalKey(Schema.Int)
})

/**
 * The model did not answer, or not with what can be used. Providers use these codes:
 *
 * | code                | it means                                                             | transient    |
 * | ------------------- | -------------------------------------------------------------------- | ------------ |
 * | `connection`        | nobody answered: refused, reset, no such host, no trust              | yes, mostly  |
 * | `timeout`           | no answer in time, or not the whole; a 408 of the server's own       | the 408      |
 * | `rate_limited`      | asked too often                                                      | yes          |
 * | `server_error`      | the server is at fault                                               | yes, mostly  |
 * | `cut_off`           | the reply broke off                                                  | yes          |
 * | `malformed_reply`   | what came is no reply, or is too large for one                       | yes, mostly  |
 * | `empty_reply`       | neither text nor a call, three times in a row                        | yes          |
 * | `max_tokens`        | the most tokens of a reply were used up before anything was said     | no           |
 * | `refused`           | the model, or its filter, will not answer                            | no           |
 * | `context_overflow`  | the conversation is longer than the model can read                   | no           |
 * | `permission_denied` | the key is missing or wrong, or not good for this                    | no           |
 * | `quota_exhausted`   | the account is used up                                               | no           |
 * | `unknown_model`     | the server has no such model                                         | no           |
 * | `unsupported`       | the request asks for what the provider does not have                 | no           |
 * | `bad_address`       | there is a server, and no such endpoint                              | no           |
 * | `bad_request`       | the server understood, and says no                                   | no           |
 * | `defect`            | a fault in the program that asks, such as a reply without a text     | no           |
 *
 * @example
 * ```ts
 * import { ModelFailure } from "@fallible/core"
 *
 * const failure = new ModelFailure({ code: "server_error", detail: "The model answered 503.", transient: true })
 * failure.message // => "The model answered 503."
 * ```
 *
 * @category failures
 * @since 0.1.0
 */
export class ModelFailure extends CodedFailure<{
  /** Stable, in snake_case. */
  readonly code: string
  /** One line: what went wrong. */
  readonly detail: string
  /** One line: what to do about it. */
  readonly hint?: string
  /** Is it worth asking again? */
  readonly transient: boolean
  /** How long to wait before asking again, when the provider said so. */
  readonly retryAfter?: Duration.Duration
  /** The HTTP status, when there was one. */
  readonly status?: number
  /** How often it was asked, when it was asked again ({@link retry}). Absent: once. */
  readonly attempts?: number
  /** The original error, for logs in this process. Never encoded. */
  readonly cause?: unknown
}> {
  readonly _tag = "ModelFailure"

  /** Its schema: encodes to plain JSON, without the `cause`. */
  static readonly schema: Schema.Codec<ModelFailure, typeof ModelFailureFields.Encoded> = codec(
    ModelFailureFields,
    () => ModelFailure
  )
}

// -----------------------------------------------------------------------------
// The port
// -----------------------------------------------------------------------------

/**
 * A language model, as a service.
 *
 * @category services
 * @since 0.1.0
 */
export class Model extends Context.Service<Model, {
  /** One whole reply. */
  readonly respond: (request: Request) => Effect.Effect<Reply, ModelFailure>
  /** The same reply as it is made. */
  readonly stream: (request: Request) => Stream.Stream<Part, ModelFailure>
}>()("@fallible/core/Model") {}

/**
 * A model from a function that answers whole replies; its stream says each reply at once.
 *
 * @example
 * ```ts
 * import { Agent, Model, Toolkit } from "@fallible/core"
 * import { Effect } from "effect"
 *
 * const parrot = Model.layer({ respond: () => Effect.succeed({ text: "Hello.", calls: [] }) })
 * const agent = Agent.make({ toolkit: Toolkit.empty })
 * const answer = Effect.runSync(agent.run("Hello?").pipe(Effect.provide(parrot)))
 * answer.text // => "Hello."
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: {
  readonly respond: (request: Request) => Effect.Effect<Reply, ModelFailure>
}): Model["Service"] =>
  Model.of({
    respond: options.respond,
    stream: (request) =>
      Stream.flatMap(Stream.fromEffect(options.respond(request)), (reply) =>
        Stream.fromIterable<Part>([
          ...(reply.text === "" ? [] : [{ _tag: "TextDelta" as const, text: reply.text }]),
          { _tag: "Replied", reply }
        ]))
  })

/**
 * {@link make} as a layer.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: {
  readonly respond: (request: Request) => Effect.Effect<Reply, ModelFailure>
}): Layer.Layer<Model> => Layer.succeed(Model, make(options))

// -----------------------------------------------------------------------------
// Asking again
// -----------------------------------------------------------------------------

/**
 * Told of each failure that {@link retry} is about to ask again after, and of the wait before it. Within an
 * agent it makes the entries of the ledger, and, where the agent is watched, the `ModelRetried` events. By default it does nothing.
 *
 * @category retrying
 * @since 0.1.0
 */
export const onRetry = Context.Reference<(failure: ModelFailure, wait: Duration.Duration) => Effect.Effect<void>>(
  "@fallible/core/Model/onRetry",
  { defaultValue: () => () => Effect.void }
)

/**
 * Asks again after a transient failure, as long as the schedule goes on. The last failure goes on as it was, but for
 * its `attempts`.
 *
 * When to use: in a provider, around what may be repeated without anybody noticing. Each failure stands in the ledger of the run all the
 * same. An agent asks again by itself, though not after a failure that says that it was asked three times already.
 *
 * @param schedule when to ask again; `RetryPolicy.transient` is three attempts in all
 *
 * @example
 * ```ts
 * import { Model, ModelFailure } from "@fallible/core"
 * import { Effect, Schedule } from "effect"
 *
 * const busy = new ModelFailure({ code: "server_error", detail: "Busy.", transient: true })
 * const failure = Effect.runSync(Effect.flip(Effect.fail(busy).pipe(Model.retry(Schedule.recurs(2)))))
 * failure.attempts // => 3
 * ```
 *
 * @category retrying
 * @since 0.1.0
 */
export const retry: {
  (
    schedule: Schedule.Schedule<unknown, ModelFailure>
  ): <A, R>(self: Effect.Effect<A, ModelFailure, R>) => Effect.Effect<A, ModelFailure, R>
  <A, R>(
    self: Effect.Effect<A, ModelFailure, R>,
    schedule: Schedule.Schedule<unknown, ModelFailure>
  ): Effect.Effect<A, ModelFailure, R>
} = dual(
  2,
  <A, R>(
    self: Effect.Effect<A, ModelFailure, R>,
    schedule: Schedule.Schedule<unknown, ModelFailure>
  ): Effect.Effect<A, ModelFailure, R> =>
    retrying(self, () => {
      let before = 0
      const onEach = (failure: ModelFailure, wait: Duration.Duration) => {
        before += failure.attempts ?? 1
        return Effect.flatMap(onRetry, (tell) => tell(failure, wait))
      }
      const last = (failure: ModelFailure) =>
        before === 0 ? failure : attempted(failure, before + (failure.attempts ?? 1))
      return { schedule, retryable: isTransient, onRetry: onEach, last }
    })
)

const isTransient = (failure: ModelFailure): failure is ModelFailure => failure.transient

const attempted = (failure: ModelFailure, attempts: number) =>
  new ModelFailure({ ...failure, cause: failure.cause, attempts })
