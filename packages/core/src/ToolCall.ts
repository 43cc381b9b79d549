/**
 * What the model asked for, and what the running call is told about itself.
 *
 * A {@link ToolCall} is the model's request, its argument text kept raw. While its handler
 * runs, {@link current} holds the call's own context: an idempotency key that stays the same
 * over retries and over a resumed run, the attempt under way, and the place where caveats and
 * the answering source are noted. A tool that runs without an agent has a context too: a key of its own for
 * each run, while what is noted is dropped. A tool that runs inside of another one's handler has a key and attempts of
 * its own, too, and what it notes is said of the outer call's answer.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { CallArguments, type Correction } from "./internal/callArguments.ts"
import { textOf } from "./internal/failureField.ts"
import type { HandledBy } from "./internal/handledBy.ts"
import { StopSignal, SuspendSignal } from "./internal/signal.ts"
import { Stragglers } from "./internal/stragglers.ts"
import type { ToolFailure } from "./ToolFailure.ts"

/**
 * A tool call as the model made it.
 *
 * @category models
 * @since 0.1.0
 */
export interface ToolCall extends Schema.Schema.Type<typeof ToolCall> {}

/**
 * The schema of a {@link ToolCall}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ToolCall = Schema.Struct({
  /** Chosen by the model's provider; the loop makes it unique within its message. */
  id: Schema.String,
  name: Schema.String,
  /** The argument text, exactly as it came. Absent where the provider sent none. */
  arguments: Schema.optionalKey(Schema.String)
})

/**
 * Where an answer came from, when it was not the tool's first choice.
 *
 * @category models
 * @since 0.1.0
 */
export interface Source {
  readonly name: string
  /** How old the answer is; absent when it is fresh. */
  readonly age?: Duration.Duration
}

/**
 * A question to the user, who asked it, and the answer.
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
  /** The idempotency key of the tool that asked. */
  key: Schema.String,
  question: Schema.String,
  reply: Schema.String
})

/**
 * The context of one running call. A handler reads the first two fields; the rest serves policies, and the functions
 * of this module.
 *
 * @category models
 * @since 0.1.0
 */
export interface Current {
  /**
   * The same for every attempt of this call, and when it is resumed; different for every other call. It is drawn from
   * `Random`: programs under the same seed draw the same keys.
   */
  readonly idempotencyKey: string
  /** Which execution of the handler this is, from 1; 0 before the first. */
  readonly attempt: number
  /** What the arguments were, and what they were corrected to. */
  readonly arguments: CallArguments
  /**
   * A policy has better arguments, and runs what is inside with them. It does not come back where the call would not have been
   * admitted with these, or nobody waits for it any more.
   */
  readonly correct: (correction: Correction) => Effect.Effect<void>
  /** The context for a tool that runs now: this one for the tool that was called, one of its own for a tool run inside. */
  readonly enter: (tool: string, acts: boolean) => Current
  /** The handler starts (again): what an earlier attempt noted is forgotten. */
  readonly begin: () => void
  /** The handler ran once more for the same answer: for a further page. */
  readonly executed: () => void
  /** Tells the model something about the answer, in one short sentence. */
  readonly caveat: (text: string) => void
  /** Says where the answer came from. */
  readonly source: (source: Source) => void
  /** Where the answer came from, as far as anybody said so. */
  readonly answeredBy: Source | undefined
  /** Attempts that a timeout left behind, and whether any that is over may have acted. */
  readonly stragglers: Stragglers
  /** Has a tool acted, or may it have, inside of this attempt? */
  readonly hasActedInside: boolean
  /** A tool has acted, or may have, inside of this attempt. */
  readonly actedInside: () => void
  /** The call may have acted, whatever it fails with. */
  readonly suspected: () => void
  /** What was noted so far belongs to an answer that did not come. */
  readonly forget: () => void
  /**
   * A policy took care of a failure; it goes to the ledger, not to the model. What was noted is forgotten. A policy of your own is
   * `"custom"`, with its name.
   */
  readonly handled: (failure: ToolFailure, by: HandledBy, policy?: string) => void
  /** A policy waited before the next attempt. */
  readonly waited: (millis: number) => void
  /** A failure was taken care of inside of this call, which changes nothing of what it noted itself. */
  readonly heard: (failure: ToolFailure, by: HandledBy, policy?: string) => void
  /** What was asked of the user, and answered, in earlier runs of this call. */
  readonly replies: ReadonlyArray<Reply>
  /** The user's reply to a question: the first with the same words that this attempt has not used yet. */
  readonly replyTo: (question: string) => string | undefined
  /** The tool has its answer: what a tool that ran inside of another noted is now said of the outer answer. */
  readonly leave: () => void
}

/**
 * The context outside of any tool: nothing is noted, and there is nobody to ask.
 *
 * @category context
 * @since 0.1.0
 */
export const detached: Current = {
  idempotencyKey: "detached",
  attempt: 1,
  get arguments() {
    return new CallArguments()
  },
  correct: () => Effect.void,
  enter() {
    return this
  },
  begin() {},
  executed() {},
  hasActedInside: false,
  actedInside() {},
  suspected() {},
  caveat() {},
  source() {},
  answeredBy: undefined,
  stragglers: new Stragglers(),
  forget() {},
  handled() {},
  heard() {},
  waited() {},
  replies: [],
  replyTo: () => undefined,
  leave() {}
}

/**
 * The context of the call under way; outside of any tool, {@link detached}.
 *
 * @category context
 * @since 0.1.0
 */
export const current: Context.Reference<Current> = Context.Reference("@fallible/core/ToolCall/current", {
  defaultValue: () => detached
})

const standaloneKey: Context.Reference<string | undefined> = Context.Reference<string | undefined>(
  "@fallible/core/ToolCall/key",
  {
    defaultValue: () => undefined
  }
)

/**
 * Gives a tool that runs without an agent its idempotency key.
 *
 * When to use: in a backend that knows what it is doing: the id of the order that is paid, of the job that runs.
 * Without it a tool that runs alone draws a random key.
 *
 * @example
 * ```ts
 * import { Tool, ToolCall } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const pay = Tool.make("pay", { description: "Pays", success: Schema.String }, () =>
 *   Effect.map(ToolCall.current, ({ idempotencyKey }) => `paid under ${idempotencyKey}`))
 *
 * Effect.runSync(pay.run({}).pipe(ToolCall.withKey("order-7"))) // => "paid under order-7"
 * ```
 *
 * @category context
 * @since 0.1.0
 */
export const withKey = (key: string): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> =>
  Effect.provideService(standaloneKey, key)

/** @internal */
export const keyOr = (fallback: Effect.Effect<string>): Effect.Effect<string> =>
  Effect.flatMap(standaloneKey, (key) => key === undefined ? fallback : Effect.succeed(key))

/**
 * Tells the model something about the answer: "the 3 most recent of 40", "prices are of yesterday".
 *
 * When to use: in a handler or a fallback whose answer is good, but not quite what was asked for.
 *
 * The first twenty of a call are kept, and a last one counts the others.
 *
 * @param text one short sentence
 * @category noting
 * @since 0.1.0
 */
export const caveat = (text: string): Effect.Effect<void> =>
  Effect.map(current, (call) => {
    const words = textOf(text)
    if (words !== undefined) call.caveat(words)
  })

/**
 * Says where the answer came from, and how old it is. The model is told of a source with an age.
 *
 * When to use: in a fallback, so that a stale answer is never taken for a fresh one.
 *
 * @param age how old the answer is; leave it out for a fresh one
 * @category noting
 * @since 0.1.0
 */
export const source = (
  { age, name }: { readonly name: string; readonly age?: Duration.Input }
): Effect.Effect<void> =>
  Effect.map(
    current,
    (call) => {
      const from = textOf(name) ?? "another source"
      call.source(age === undefined ? { name: from } : { name: from, age: Duration.fromInputUnsafe(age) })
    }
  )

/**
 * Asks the user: the run ends as a resumable value, and once it is resumed, the handler runs again
 * from its start with the same idempotency key, and `ask` succeeds with the reply.
 *
 * When to use: where neither the tool nor the model can decide. Ask before acting, since what
 * stands before the question runs twice; and ask in the same words each time, since a reply is found by its question.
 *
 * Without an agent there is nobody to ask: it dies, and says so.
 *
 * @category control
 * @since 0.1.0
 */
export const ask = (question: string): Effect.Effect<string> =>
  Effect.flatMap(current, (call) => {
    const words = textOf(question) ?? "The tool asks without a question."
    const reply = call.replyTo(words)
    return reply === undefined ? Effect.die(new SuspendSignal(words, call.idempotencyKey)) : Effect.succeed(reply)
  })

/**
 * A hard stop: the call is over and the whole run ends with it, typed; no policy and no model gets a say.
 *
 * When to use: when going on would do harm. For everything else, fail.
 *
 * Without an agent it dies with the reason.
 *
 * @category control
 * @since 0.1.0
 */
export const stop = (reason: string): Effect.Effect<never> =>
  Effect.die(new StopSignal(textOf(reason) ?? "The tool does not say why."))
