/**
 * The call that a model makes, and the context of that call while its handler runs.
 *
 * A {@link ToolCall} is the model's request, with its argument text kept raw. While the handler runs,
 * {@link current} provides an idempotency key and the number of the attempt. A service recognizes a
 * repeated call by the key. {@link caveat} and {@link source} describe the answer. {@link ask} and
 * {@link stop} end the run.
 *
 * A tool that runs without an agent has a new key for each run. Its caveats and its source reach
 * `Tool.outcome` and `CallEvent.watcher`.
 *
 * A tool that runs inside another tool's handler has its own attempts and its own key. The key is derived
 * from the outer call's key and from the effect that the inner call is meant to have. So it stays the same
 * when the outer call is tried again. Its caveats and its source are added to the outer call's answer.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { current as frame, detached } from "./internal/call/frame.ts"
import { standaloneKey } from "./internal/call/keyWithoutAgent.ts"
import { StopSignal, SuspendSignal } from "./internal/failure/controlSignal.ts"
import { textOf } from "./internal/failure/failureField.ts"

export type { Source } from "./CallEvent.ts"
export { Reply } from "./ToolOutcome.ts"

/**
 * A tool call, as the model made it.
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
  /** Chosen by the model's provider. The agent makes it unique within its message. */
  id: Schema.String,
  name: Schema.String,
  /** The argument text, exactly as it was sent. Absent if the provider sent none. */
  arguments: Schema.optionalKey(Schema.String)
})

/**
 * The context of a running call, as its handler sees it.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallContext {
  /**
   * The idempotency key. It stays the same for every attempt, when the call is resumed or replayed, and
   * when the model repeats a call whose outcome is unknown. In an agent it is 32 hexadecimal digits,
   * derived from the intent of the call (`CallFacts`). A tool that runs alone draws one from `Random`.
   */
  readonly idempotencyKey: string
  /** The number of the handler's current execution, from 1. It is 0 before the first one. */
  readonly attempt: number
}

/**
 * The context of the running call. Outside any tool, its key is `"detached"` and its attempt is 1.
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
 * Sets the idempotency key of a tool that runs without an agent.
 *
 * When to use: in a backend that can name the operation, for example by the id of the order to pay or of
 * the job to run. Otherwise a tool that runs alone draws a random key.
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
 * Tells the model something about the answer, for example "the 3 most recent of 40" or "prices are from
 * yesterday".
 *
 * When to use: in a handler or a fallback whose answer is good, but not exactly what the model asked for.
 *
 * The model gets the first twenty caveats of a call, and a last one that counts the others.
 *
 * @param text one short sentence
 * @category noting
 * @since 0.1.0
 */
export const caveat = (text: string): Effect.Effect<void> =>
  Effect.map(frame, (call) => {
    const sentence = textOf(text)
    if (sentence !== undefined) call.note({ _tag: "CaveatAdded", text: sentence })
  })

/**
 * Records where the answer came from, and how old it is. The model is told about the source only if it has
 * an age.
 *
 * When to use: in a fallback, so that a stale answer is never mistaken for a fresh one.
 *
 * @param age how old the answer is; omit it for a fresh one
 * @category noting
 * @since 0.1.0
 */
export const source = (
  { age, name }: { readonly name: string; readonly age?: Duration.Input }
): Effect.Effect<void> =>
  Effect.map(frame, (call) => {
    const sourceName = textOf(name) ?? "another source"
    call.note({
      _tag: "SourceNamed",
      name: sourceName,
      ...(age === undefined ? {} : { age: Duration.fromInputUnsafe(age) })
    })
  })

/**
 * Asks the user a question. The run ends as a resumable value. Once it is resumed, the handler runs again
 * from its start with the same idempotency key, and `ask` succeeds with the reply.
 *
 * When to use: where neither the tool nor the model can decide. Ask before acting, because code before the
 * question runs twice. Use the same text each time, because a reply is found by its question.
 *
 * A check (`Tool.reconcile`) and a fallback may ask, too. If the outcome of the call is unknown, the
 * handler does not run again: the check or the fallback gets the reply.
 *
 * Without an agent, no user can answer. Then the Effect dies with a message that says so.
 *
 * @category control
 * @since 0.1.0
 */
export const ask = (question: string): Effect.Effect<string> =>
  Effect.flatMap(frame, (call) => {
    const questionText = textOf(question) ?? "The tool asked an empty question."
    const reply = call.live.replyTo(call.id, questionText)
    return reply === undefined ? Effect.die(new SuspendSignal(questionText, call.id)) : Effect.succeed(reply)
  })

/**
 * Stops the call and the whole run, which fails with `RunStopped`. No policy and no model can prevent it.
 *
 * When to use: when continuing would do harm. In all other cases, fail.
 *
 * Without an agent, the Effect dies with the reason.
 *
 * @category control
 * @since 0.1.0
 */
export const stop = (reason: string): Effect.Effect<never> =>
  Effect.die(new StopSignal(textOf(reason) ?? "The tool gave no reason."))
