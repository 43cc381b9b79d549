/**
 * Laws that every model must hold, for authors of a `Model`. Each law plays scripts to the model, over its own wire, and
 * compares what an agent would see.
 *
 *     for (const { check, name } of ModelLaws.laws) it.effect(name, () => check(subject))
 *
 * The laws say:
 *
 * - Replies of all kinds come as they were written, whole and streamed. The pieces of a stream join to the one reply at its end.
 * - The arguments of calls come as text, also cut off or malformed. So a prefix is never read as another value.
 * - Usage is what the server counted. What it did not say is unknown, and not 0.
 * - A failure is one `ModelFailure` with its code and status, and `Retry-After`. It is no defect.
 * - Lost connections, replies that are cut off, and servers that hang are failures in time. Only transient ones are asked again.
 * - The caller who stops waiting closes the connection.
 * - A strict server accepts each next turn: after malformed calls, invalid names, empty texts, a suspension, or another model.
 * - What the server added to a reply goes back to it, and to no other.
 * - Options reach the server, or fail with `unsupported`. Files reach it, or are named in a note.
 * - The key appears in no failure.
 *
 * A {@link Subject} says how to play a script to your model. If its server speaks one of the wires of `FakeModelServer`,
 * {@link served} makes it. With a server of your own, write `play` yourself. What a wire cannot say is a field of {@link Wire}:
 * a law about it then holds without a check.
 *
 * Time is virtual, and each law brings its own clock. The laws need no test runner.
 *
 * This module needs Node, so the package's index does not export it.
 *
 * @since 0.1.0
 */
import { Model } from "@fallible/core"
import type * as ModelAdapter from "@fallible/core/ModelAdapter"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Random from "effect/Random"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as FakeModelServer from "./FakeModelServer.ts"
import { connections } from "./internal/laws/connections.ts"
import { conversations } from "./internal/laws/conversations.ts"
import { failures } from "./internal/laws/failures.ts"
import { attachments } from "./internal/laws/files.ts"
import { natives } from "./internal/laws/natives.ts"
import { options } from "./internal/laws/options.ts"
import { replies } from "./internal/laws/replies.ts"
import { Difference, type Rule, told } from "./internal/laws/rule.ts"
import { secrets } from "./internal/laws/secrets.ts"
import type * as ScriptedModel from "./ScriptedModel.ts"

// -----------------------------------------------------------------------------
// Models
// -----------------------------------------------------------------------------

/**
 * How a law wants the model to be made. What is absent has the model's own default.
 *
 * @category models
 * @since 0.1.0
 */
export interface Settings extends Pick<ModelAdapter.Settings, "retry" | "timeout"> {
  /** The key that the model sends. Default: any. */
  readonly apiKey?: string
}

/**
 * A request as the server received it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Received extends ScriptedModel.Recorded {
  /** The body as text. Absent if there is no wire. */
  readonly body?: string
}

/**
 * A model whose server plays a script.
 *
 * @category models
 * @since 0.1.0
 */
export interface Played {
  readonly model: Model.Model["Service"]
  /** The valid requests that the server has received, oldest first. */
  readonly requests: Effect.Effect<ReadonlyArray<Received>>
  /** Waits until the server answers no request any more. Absent if the server cannot tell. */
  readonly idle?: Effect.Effect<void>
}

/**
 * The model under test.
 *
 * @category models
 * @since 0.1.0
 */
export interface Subject {
  /** Makes the model, and a server that plays the script to it. Both live until the scope closes. */
  readonly play: (script: FakeModelServer.Script, settings: Settings) => Effect.Effect<Played, never, Scope.Scope>
  /** What the wire can say. Default: all that a reply can have. */
  readonly wire?: Wire
}

/**
 * What a wire can say. Set a field only if no server could say more over it: a law about it is then not checked.
 *
 * @category models
 * @since 0.1.0
 */
export interface Wire {
  /**
   * How the arguments of a call come: as `"texts"`; as texts only in streams, and otherwise as objects; or always as
   * `"objects"`, so malformed arguments cannot be sent. Default: `"texts"`.
   */
  readonly arguments?: "texts" | "texts_in_streams" | "objects"
  /** The parts of a usage that the server counts. Default: `inputTokens` and `outputTokens`. */
  readonly counts?: ReadonlyArray<keyof Model.Usage>
  /** True if the wire has a 0 for what the server did not count. Default: `false`. */
  readonly zeroUsage?: boolean
  /** False if the wire cannot show what the model thought. Default: `true`. */
  readonly reasoning?: boolean
  /** False if the model cannot refuse by a reply. Default: `true`. */
  readonly refusals?: boolean
  /** The codes of failures that the server reports in the same words as another failure. Default: none. */
  readonly confuses?: ReadonlyArray<string>
  /** False if the client hides what a malformed stream says. Default: `true`. */
  readonly quotesStreams?: boolean
  /** False if there is no connection that could break, and no request that a server could refuse. Default: `true`. */
  readonly connects?: boolean
  /**
   * Fields in the server's own form that a script gives a reply (`native`), and a text of theirs that must go back. Default:
   * none.
   */
  readonly own?: { readonly native: Schema.JsonObject; readonly mark: string }
  /** An option of the provider's own (`Options.provider`), and a text of it in the request's body. Default: `{ seed: 7 }`. */
  readonly provider?: { readonly option: Schema.JsonObject; readonly mark: string }
}

/**
 * A law of models.
 *
 * @category models
 * @since 0.1.0
 */
export interface Law {
  /** What must hold, as a sentence. Each law has its own name. */
  readonly name: string
  /** Fails if the model breaks the law. It never dies. */
  readonly check: (subject: Subject) => Effect.Effect<void, BrokenLaw>
}

/**
 * A model does not hold a law.
 *
 * @category failures
 * @since 0.1.0
 */
export class BrokenLaw extends Data.TaggedError("BrokenLaw")<{
  readonly law: string
  readonly expected: string
  readonly came: string
}> {
  override get message(): string {
    return `The model breaks a law: ${this.law}\n\n  expected: ${this.expected}\n  came:     ${this.came}\n`
  }
}

// -----------------------------------------------------------------------------
// Laws
// -----------------------------------------------------------------------------

const lawOf = ({ holds, name }: Rule): Law => ({
  name,
  check: (subject) =>
    Effect.suspend(() => holds(subject)).pipe(
      Effect.scoped,
      // Random waits end at once.
      Effect.provideService(Random.Random, { nextDoubleUnsafe: () => 0, nextIntUnsafe: () => 0 }),
      Effect.provide(Logger.layer([])),
      Effect.provide(TestClock.layer()),
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.fail(brokenBy(name, cause))
      )
    )
})

const brokenBy = (law: string, cause: Cause.Cause<unknown>): BrokenLaw => {
  const error = Cause.squash(cause)
  return error instanceof Difference
    ? new BrokenLaw({ law, expected: error.expected, came: error.came })
    : new BrokenLaw({ law, expected: "no failure, and no defect", came: told(error) })
}

/**
 * All laws. Each is checked on its own, in a few milliseconds; some play hundreds of replies.
 *
 * @example
 * ```ts
 * import { OpenAi } from "@fallible/providers"
 * import * as ModelLaws from "@fallible/testing/ModelLaws"
 * import { Effect, Layer, Redacted } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * const subject = ModelLaws.served((url, { apiKey = "any", ...settings }) =>
 *   OpenAi.layer({ ...settings, model: "any", baseUrl: `${url}/v1`, apiKey: Redacted.make(apiKey) }).pipe(
 *     Layer.provide(FetchHttpClient.layer)
 *   )
 * )
 *
 * // In a test file: one test for each law.
 * const [law] = ModelLaws.laws
 * law?.name // => "A whole reply has a text."
 * await Effect.runPromise(ModelLaws.laws[0]!.check(subject)) // => undefined
 * ```
 *
 * @category laws
 * @since 0.1.0
 */
export const laws: ReadonlyArray<Law> = [
  ...replies,
  ...failures,
  ...connections,
  ...conversations,
  ...natives,
  ...attachments,
  ...options,
  ...secrets
].map(lawOf)

// -----------------------------------------------------------------------------
// Subjects
// -----------------------------------------------------------------------------

/**
 * Returns a script without the moves that need a real connection, for a subject without one.
 *
 * @category subjects
 * @since 0.1.0
 */
export const withoutBreaks = (script: FakeModelServer.Script): ScriptedModel.Script => {
  const playable = (move: FakeModelServer.Move): ScriptedModel.Move => {
    if (Effect.isEffect(move) || "calls" in move) return move
    throw new TypeError("Only a model with a connection can play this move: set `connects: false`.")
  }
  return typeof script === "function" ? (request, index) => playable(script(request, index)) : script.map(playable)
}

/**
 * Makes a subject whose server is a `FakeModelServer`, for a model that speaks one of its wires.
 *
 * @param model makes the model for a server's address: `http://127.0.0.1:40123`
 * @param options how the server sends its replies: `{ split: 1 }` sends them byte by byte
 * @category subjects
 * @since 0.1.0
 */
export const served = (
  model: (url: string, settings: Settings) => Layer.Layer<Model.Model>,
  wire: Wire = {},
  options: FakeModelServer.Options = {}
): Subject => ({
  wire,
  play: (script, settings) =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make(script, options)
      const services = yield* Layer.build(model(server.url, settings))
      return {
        model: Context.get(services, Model.Model),
        requests: Effect.map(server.state, ({ requests }) =>
          requests.flatMap(({ asked, body }) => asked === undefined ? [] : [{ ...asked, body }])),
        idle: Effect.asVoid(server.until(({ open }) =>
          open === 0
        ))
      }
    })
})
