/**
 * What the model asked for, and what the running call is told about itself.
 *
 * A {@link ToolCall} is the model's request, its argument text kept raw. While its handler
 * runs, {@link current} tells it two things: an idempotency key, by which a service tells a repetition, and the attempt under way.
 * {@link caveat} and {@link source} say something of the answer, and {@link ask} and {@link stop} end the run.
 *
 * A tool that runs without an agent has a key of its own for each run; what it says of its answer reaches `CallEvent.watcher` alone.
 * A tool that runs inside of another one's handler has attempts of its own, and a key of its own: made of the outer call's key and of what it
 * is to do itself, so that it is the same when the outer call is tried again. What it says is said of the outer call's answer.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { current as frame, detached } from "./internal/call/frame.ts"
import { standaloneKey } from "./internal/call/standaloneKey.ts"
import { textOf } from "./internal/failure/failureField.ts"
import { StopSignal, SuspendSignal } from "./internal/failure/signal.ts"

export type { Source } from "./CallEvent.ts"
export { Reply } from "./ToolOutcome.ts"

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
 * What a handler is told of the call under way.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallContext {
  /**
   * The same for every attempt of the call, when it is resumed or replayed, and when the model makes it again while nobody knows what became
   * of it. In an agent it is 32 hexadecimal digits, made of what the call is to do (`CallFacts`). A tool that runs alone draws one from `Random`.
   */
  readonly idempotencyKey: string
  /** Which execution of the handler this is, from 1; 0 before the first. */
  readonly attempt: number
}

/**
 * The call under way. Outside of any tool its key is `"detached"`, and its attempt 1.
 *
 * @category context
 * @since 0.1.0
 */
export const current: Effect.Effect<CallContext> = Effect.withFiber((fiber) => {
  const call = fiber.getRef(frame)
  return Effect.succeed({
    idempotencyKey: call.idempotencyKey,
    attempt: call === detached ? 1 : call.state.executions
  })
})

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
  Effect.map(frame, (call) => {
    const words = textOf(text)
    if (words !== undefined) call.note({ _tag: "CaveatAdded", text: words })
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
  Effect.map(frame, (call) => {
    const from = textOf(name) ?? "another source"
    call.note({
      _tag: "SourceNamed",
      name: from,
      ...(age === undefined ? {} : { age: Duration.fromInputUnsafe(age) })
    })
  })

/**
 * Asks the user: the run ends as a resumable value, and once it is resumed, the handler runs again
 * from its start with the same idempotency key, and `ask` succeeds with the reply.
 *
 * When to use: where neither the tool nor the model can decide. Ask before acting, since what
 * stands before the question runs twice; and ask in the same words each time, since a reply is found by its question. A check
 * (`Tool.reconcile`) and a fallback may ask, too: where nobody knows whether the call took effect, the handler does not run again, and they
 * get the reply.
 *
 * Without an agent there is nobody to ask: it dies, and says so.
 *
 * @category control
 * @since 0.1.0
 */
export const ask = (question: string): Effect.Effect<string> =>
  Effect.flatMap(frame, (call) => {
    const words = textOf(question) ?? "The tool asks without a question."
    const reply = call.live.replyTo(call.id, words)
    return reply === undefined ? Effect.die(new SuspendSignal(words, call.id)) : Effect.succeed(reply)
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
