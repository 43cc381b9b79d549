/**
 * The port to a language model: a request in, a reply or a {@link ModelFailure} out.
 *
 * A request holds the transcript and the tools on offer. A reply holds text, tool calls with their raw argument
 * text, and what the provider counted. Anything else that a provider sends is kept in `native`, and goes back to
 * that provider unchanged. To write a model of your own, see `ModelAdapter`.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as JsonSchema from "effect/JsonSchema"
import * as Layer from "effect/Layer"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { codec, CodedFailure, withFields } from "./internal/failure/failureClass.ts"
import { modelRetries } from "./internal/policy/modelRetries.ts"
import { retryOn } from "./internal/policy/retryLoop.ts"
import { namedStruct } from "./internal/value/namedStruct.ts"
import { kind } from "./internal/value/text.ts"
import { silence } from "./internal/value/untrusted.ts"
import { usageFields } from "./internal/value/usage.ts"
import { ToolCall } from "./ToolCall.ts"
import type { Definition } from "./Toolkit.ts"
import { File, type Transcript } from "./Transcript.ts"

// -----------------------------------------------------------------------------
// Request and reply
// -----------------------------------------------------------------------------

/**
 * A request to a model.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  readonly transcript: Transcript
  readonly tools: ReadonlyArray<Definition>
  /** How the model replies. Default: the provider's own defaults. */
  readonly options?: Options
}

/**
 * How a model replies. The provider chooses a value for each option that is left out. If a provider does not
 * have an option, it fails with the code `unsupported` instead of ignoring the option.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** The randomness of the reply: a number of at least 0. At 0 the model always takes the likeliest word. */
  readonly temperature?: number
  /** The maximum number of tokens in a reply. A longer reply is cut off, and is marked as `truncated`. */
  readonly maxTokens?: number
  /**
   * Whether the model may call tools (`"auto"`), must not call any (`"none"`), must call at least one
   * (`"required"`), or must call the named tool. In a run, the model must call a tool only until it has called
   * one. Otherwise the run could never end with an answer.
   */
  readonly toolChoice?: "auto" | "none" | "required" | { readonly tool: string }
  /** Whether a reply may have several calls. */
  readonly parallelCalls?: boolean
  /** How much the model thinks before it replies. What a level means depends on the model. */
  readonly reasoning?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max"
  /** Texts at which the reply ends. The reply does not contain them. */
  readonly stop?: ReadonlyArray<string>
  /**
   * The JSON Schema of an object that the reply's text must be. An agent with an `output` sets it, if the model has
   * `structuredOutput`.
   */
  readonly output?: JsonSchema.JsonSchema
  /**
   * Extra fields for the body of the provider's request, passed on unchanged. They override all other fields
   * except `stream`.
   */
  readonly provider?: Schema.JsonObject
}

/**
 * Returns whether the options require the model to call a tool.
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
 * What a request and its reply used, as the provider counts it. An absent field was not reported: it is unknown, and not 0.
 *
 * @category models
 * @since 0.1.0
 */
export class Usage extends namedStruct<Usage>()(usageFields) {}

/**
 * A call that the provider runs itself, such as a search of the web. It is shown, and never run here.
 *
 * @category models
 * @since 0.1.0
 */
export class ProviderCall extends namedStruct<ProviderCall>()({
  id: Schema.String,
  name: Schema.String,
  /** The text of the arguments, as the model wrote it. */
  arguments: Schema.optionalKey(Schema.String),
  /** What the provider's tool returned. Absent if the reply does not say. */
  result: Schema.optionalKey(Schema.Json),
  /** True if the provider's tool failed. */
  failed: Schema.optionalKey(Schema.Boolean),
  /**
   * The id of the provider's request to approve this call, which has not run. The agent asks its user (`RunSuspended`): `"yes"`,
   * in any case, approves it, and any other reply denies it. The provider is told with the next request.
   */
  approval: Schema.optionalKey(Schema.String)
}) {}

/**
 * A source that a reply is based on.
 *
 * @category models
 * @since 0.1.0
 */
export class Source extends namedStruct<Source>()({
  /** The address of the source; absent for a document. */
  url: Schema.optionalKey(Schema.String),
  title: Schema.optionalKey(Schema.String),
  /** The media type of a document. */
  mediaType: Schema.optionalKey(Schema.String)
}) {}

/**
 * A model's reply. A reply without calls ends the run, and its text is the answer.
 *
 * @category models
 * @since 0.1.0
 */
export class Reply extends namedStruct<Reply>()({
  text: Schema.String,
  calls: Schema.Array(ToolCall),
  usage: Schema.optionalKey(Usage),
  /** True if the reply was cut off at the maximum number of tokens. Absent means false. */
  truncated: Schema.optionalKey(Schema.Boolean),
  /**
   * True if the provider paused in the middle of its own work, such as a long search. The run asks again, with the reply so far.
   * Absent means false.
   */
  paused: Schema.optionalKey(Schema.Boolean),
  /** The name of the model that replied. */
  model: Schema.optionalKey(Schema.String),
  /** What the model thought, or a summary of it, as far as the provider shows it. */
  reasoning: Schema.optionalKey(Schema.String),
  /** The calls that the provider runs itself. */
  providerCalls: Schema.optionalKey(Schema.Array(ProviderCall)),
  /** The sources that the provider names. */
  sources: Schema.optionalKey(Schema.Array(Source)),
  /** The files that the model made, such as pictures. */
  files: Schema.optionalKey(Schema.Array(File)),
  /** The message in the provider's own format. It is sent back unchanged, except that call ids may be replaced. */
  native: Schema.optionalKey(Schema.Json)
}) {}

/**
 * A piece of a streamed reply. A stream ends with exactly one `Replied`, which holds the whole reply. The arguments of a call
 * may come in pieces, each with the 0-based position of the call; what was written so far is only for display.
 *
 * @category models
 * @since 0.1.0
 */
export type Part =
  | { readonly _tag: "TextDelta"; readonly text: string }
  | { readonly _tag: "ReasoningDelta"; readonly text: string }
  | { readonly _tag: "ArgumentsDelta"; readonly call: number; readonly tool: string; readonly text: string }
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
  attempts: Schema.optionalKey(Schema.Int),
  model: Schema.optionalKey(Schema.String),
  usage: Schema.optionalKey(Usage)
})

/**
 * The model did not answer, or its answer cannot be used. Providers use these codes:
 *
 * | code                | it means                                                             | transient    |
 * | ------------------- | -------------------------------------------------------------------- | ------------ |
 * | `connection`        | refused, reset, unknown host, untrusted certificate                  | yes, mostly  |
 * | `timeout`           | no complete answer in time; or a 408 from the server                 | only the 408 |
 * | `rate_limited`      | too many requests                                                    | yes          |
 * | `server_error`      | the server failed                                                    | yes, mostly  |
 * | `cut_off`           | the reply ended before it was complete                               | yes          |
 * | `malformed_reply`   | the response is not a valid reply, or is too large                   | yes, mostly  |
 * | `empty_reply`       | neither text nor a call, three times in a row                        | yes          |
 * | `call_as_text`      | a tool call was written as text; only in reports and events          | yes          |
 * | `plan`              | the reply only said what comes next; only in reports and events      | yes          |
 * | `invalid_answer`    | the answer does not fit the `output`; only in reports and events     | yes          |
 * | `max_tokens`        | the maximum number of tokens was used up before any text             | no           |
 * | `refused`           | the model, or a content filter, refused to answer                    | no           |
 * | `context_overflow`  | the conversation is longer than the model can read                   | no           |
 * | `permission_denied` | the API key is missing, wrong, or not valid for this request         | no           |
 * | `quota_exhausted`   | the quota of the account is used up                                  | no           |
 * | `unknown_model`     | the server has no such model                                         | no           |
 * | `unsupported`       | the request has an option that the provider does not have            | no           |
 * | `bad_address`       | the server has no such endpoint                                      | no           |
 * | `bad_request`       | the server understood the request and rejected it                    | no           |
 * | `unpriced`          | the run has a limit of money, and the reply has no price             | no           |
 * | `defect`            | a bug, such as a custom model's reply without a text                 | no           |
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
  /** Whether asking the model again may help. */
  readonly transient: boolean
  /** How long to wait before asking again, if the provider said so. */
  readonly retryAfter?: Duration.Duration
  /** The HTTP status, if there was one. */
  readonly status?: number
  /** How many times the model was asked, if {@link retry} asked it more than once. Absent means once. */
  readonly attempts?: number
  /** The name of the model that failed. */
  readonly model?: string
  /** What the failed request used, if the provider said so. */
  readonly usage?: Usage
  /** The original error, for logs in this process. Never encoded. */
  readonly cause?: unknown
}> {
  readonly _tag = "ModelFailure"

  /** The schema of this failure. It encodes to plain JSON, without the `cause`. */
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
  /** Returns one whole reply. */
  readonly respond: (request: Request) => Effect.Effect<Reply, ModelFailure>
  /** Streams one reply while the model writes it. */
  readonly stream: (request: Request) => Stream.Stream<Part, ModelFailure>
  /** The model's name. Replies and failures carry it, unless they have one of their own. Default: not known. */
  readonly name?: string
  /** The size of the model's context window, in tokens. It says how big results may be (`ResultSize`). Default: not known. */
  readonly contextWindow?: number
  /**
   * Whether the model can be made to write its text by a JSON Schema (`Options.output`): `"always"`, or only in a request
   * that offers no tools. Default: it cannot, so an agent with an `output` offers it the tool `final_answer`.
   */
  readonly structuredOutput?: "always" | "without_tools"
}>()("@fallible/core/Model") {}

/**
 * Makes a model from a function that returns whole replies. The model's `stream` emits all reasoning in one
 * piece, and then all text.
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
export const make = (options: Omit<Model["Service"], "stream">): Model["Service"] =>
  Model.of({
    ...options,
    stream: (request) =>
      Stream.flatMap(Stream.fromEffect(options.respond(request)), (reply) =>
        Stream.fromIterable<Part>([
          ...textDelta("ReasoningDelta", reply.reasoning),
          ...textDelta("TextDelta", reply.text),
          { _tag: "Replied", reply }
        ]))
  })

const textDelta = (_tag: "TextDelta" | "ReasoningDelta", text = ""): ReadonlyArray<Part> =>
  text === "" ? [] : [{ _tag, text }]

/**
 * Makes a layer that provides a model, from the same function as {@link make}.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Omit<Model["Service"], "stream">): Layer.Layer<Model> =>
  Layer.succeed(Model, make(options))

// -----------------------------------------------------------------------------
// Prices
// -----------------------------------------------------------------------------

/**
 * Returns what a usage cost, in a currency of your choice; `undefined` if there is no price for that model.
 *
 * @category models
 * @since 0.1.0
 */
export type Price = (usage: Usage, model: string | undefined) => number | undefined

/**
 * Adds to each reply what it cost (`Usage.money`). Failed requests cost something, too, if the provider says what they used.
 *
 * When to use: for the costs in a run's report, and for `limits.money`. A model that has no price then ends a run with such a
 * limit (code `unpriced`).
 *
 * @param price is not asked about a reply without `usage`. Where it returns `undefined`, the provider's own figure stays.
 * A price that throws, or that is negative or not finite, is a defect of the model.
 *
 * @example
 * ```ts
 * import { Agent, Model, Toolkit } from "@fallible/core"
 * import { Effect } from "effect"
 *
 * const usage = { inputTokens: 1_000, outputTokens: 200 }
 * const model = Model.layer({ respond: () => Effect.succeed({ text: "Hello.", calls: [], usage }) }).pipe(
 *   Model.priced(({ inputTokens = 0, outputTokens = 0 }) => (inputTokens * 2 + outputTokens * 10) / 1_000_000)
 * )
 * const agent = Agent.make({ toolkit: Toolkit.empty, limits: { money: 0.5 } })
 * Effect.runSync(agent.run("Hi").pipe(Effect.provide(model))).report.money // => 0.004
 * ```
 *
 * @category prices
 * @since 0.1.0
 */
export const priced: {
  (price: Price): <E, R>(self: Layer.Layer<Model, E, R>) => Layer.Layer<Model, E, R>
  <E, R>(self: Layer.Layer<Model, E, R>, price: Price): Layer.Layer<Model, E, R>
} = dual(2, <E, R>(self: Layer.Layer<Model, E, R>, price: Price): Layer.Layer<Model, E, R> =>
  Layer.effect(
    Model,
    Effect.map(Model, (model) => {
      const usageOf = (usage: Usage, name: string | undefined): Usage => {
        const money: unknown = price(usage, name ?? model.name)
        if (money === undefined) return usage
        if (typeof money === "number" && money >= 0 && money < Infinity) return { ...usage, money }
        silence(money)
        throw new TypeError(
          `A price must be a finite number of at least 0; got ${typeof money === "number" ? money : kind(money)}.`
        )
      }
      const ofReply = (reply: Reply): Reply =>
        reply.usage === undefined ? reply : { ...reply, usage: usageOf(reply.usage, reply.model) }
      const ofFailure = (failure: ModelFailure): ModelFailure =>
        failure.usage === undefined
          ? failure
          : withFields(failure, { usage: usageOf(failure.usage, failure.model) })
      // A model that retries on its own reports the failures in between, which may have cost something, too.
      const ofRetries = (notify: (typeof onRetry)["Service"]): (typeof onRetry)["Service"] => (failure, wait) =>
        Effect.suspend(() => notify(ofFailure(failure), wait))
      return Model.of({
        ...model,
        respond: (request) =>
          model.respond(request).pipe(
            Effect.map(ofReply),
            Effect.mapError(ofFailure),
            Effect.updateService(onRetry, ofRetries)
          ),
        stream: (request) =>
          model.stream(request).pipe(
            Stream.map((part) => part._tag === "Replied" ? { ...part, reply: ofReply(part.reply) } : part),
            Stream.mapError(ofFailure),
            Stream.updateService(onRetry, ofRetries)
          )
      })
    })
  ).pipe(Layer.provide(self)))

// -----------------------------------------------------------------------------
// Retrying
// -----------------------------------------------------------------------------

/**
 * A function that {@link retry} calls before each wait, with the failure and the wait. An agent uses it to write
 * entries of its report and, if the run is watched, `ModelRetried` events. By default it does nothing.
 *
 * @category retrying
 * @since 0.1.0
 */
export const onRetry = Context.Reference<(failure: ModelFailure, wait: Duration.Duration) => Effect.Effect<void>>(
  "@fallible/core/Model/onRetry",
  { defaultValue: () => () => Effect.void }
)

/**
 * Asks the model again after each transient failure, until the schedule is done. Then fails with the last failure,
 * whose `attempts` is the number of all attempts.
 *
 * When to use: in a provider, around a request that is safe to repeat. The report of the run still lists each
 * failure. An agent also retries by default, but not after a failure with three or more `attempts`.
 *
 * @param schedule when to retry; `RetryPolicy.transient` makes three attempts in all
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
    retryOn(self, () =>
      modelRetries<ModelFailure>(
        schedule,
        ({ transient }) => transient,
        (failure, wait) => Effect.flatMap(onRetry, (notify) => notify(failure, wait))
      ))
)
