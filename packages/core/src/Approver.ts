/**
 * Replies to the questions of a run in place: while the run waits, and without a suspension.
 *
 * A terminal, a request to a person's device and a rule are approvers. If an approver gives no reply in time, the run is
 * suspended as it would be without one, and can be resumed later.
 *
 *     run ── call asks ── approver ─┬─ replies in time ── the run goes on
 *                                   └─ none, or a failure ── RunSuspended
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { requireEffect } from "./internal/call/runUserCode.ts"
import { positive } from "./internal/value/numberOption.ts"
import type { Question, Reply } from "./Question.ts"

/**
 * The service that replies to questions. An agent uses it if it is there.
 *
 * @category services
 * @since 0.1.0
 */
export class Approver extends Context.Service<Approver, {
  /** How long the run waits for replies. */
  readonly within: Duration.Duration
  /**
   * Replies to questions of one turn: to all of them, to some, or to none. If it fails, the run is suspended. It is
   * interrupted when the time is up.
   */
  readonly reply: (questions: ReadonlyArray<Question>) => Effect.Effect<ReadonlyArray<Reply>, unknown>
}>()("@fallible/core/Approver") {}

/**
 * Provides an approver from a function that replies.
 *
 * When to use: where somebody or something can reply while the run waits: a terminal, a message to a phone, a rule.
 *
 * The time of waiting does not count in the limit `elapsed` of the run, but in that of a run around it, if its agent is a tool. A
 * reply that is not valid is logged, and the run is suspended.
 *
 * @param reply receives the open questions of a turn, and returns replies to all, some or none of them
 * @param options `within`: how long the run waits for the replies; default: 1 minute
 *
 * @example
 * ```ts
 * import { Agent, Tool, Toolkit } from "@fallible/core"
 * import * as Approver from "@fallible/core/Approver"
 * import * as Question from "@fallible/core/Question"
 * import { ScriptedModel } from "@fallible/testing"
 * import { Effect, Schema } from "effect"
 *
 * const restart = Tool.make("restart", {
 *   description: "Restarts a server",
 *   parameters: Schema.Struct({ server: Schema.String }),
 *   success: Schema.String
 * }, ({ server }) => Effect.succeed(`${server} is up.`)).pipe(Tool.approve())
 *
 * // A rule: test servers may be restarted. For all others, a person is asked later.
 * const rule = Approver.layer((questions) =>
 *   Effect.succeed(questions.flatMap((question) =>
 *     question.arguments?.includes("\"test-") === true ? [Question.approve(question, { by: "rule: test servers" })] : []
 *   ))
 * )
 * const model = ScriptedModel.layer([ScriptedModel.call("restart", { server: "test-1" }), ScriptedModel.text("Done.")])
 * const run = Agent.make({ toolkit: Toolkit.make(restart) }).run("Restart test-1.")
 * const { text } = await Effect.runPromise(Effect.provide(run, [rule, model]))
 * text // => "Done."
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = <E, R>(
  reply: (questions: ReadonlyArray<Question>) => Effect.Effect<ReadonlyArray<Reply>, E, R>,
  options: { readonly within?: Duration.Input } = {}
): Layer.Layer<Approver, never, R> => {
  const within = positive("time of an approver", options.within ?? "1 minute")
  return Layer.effect(
    Approver,
    Effect.map(Effect.context<R>(), (context) => ({
      within,
      reply: (questions) => Effect.provideContext(requireEffect("The approver", reply(questions)), context)
    }))
  )
}
