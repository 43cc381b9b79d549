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
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { codec, Failure } from "./internal/failure.ts"
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
}

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
  /** The provider's own form of the message, which goes back to it unchanged. */
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
  status: Schema.optionalKey(Schema.Int)
})

/**
 * The model did not answer, or not with what can be used.
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
export class ModelFailure extends Failure<{
  /** Stable, in snake_case: `"connection"`, `"server_error"`, `"rate_limited"`, `"empty_reply"`, … */
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
