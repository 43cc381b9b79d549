import { assert, describe, it } from "@effect/vitest"
import {
  Dispatch,
  type Policy,
  SchemaMismatch,
  type SemanticGarbage,
  Tool,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import type * as SideEffect from "@fallible/core/SideEffect"
import { Effect } from "effect"
import { call, custom, later, lost, mine, outcomeOf, told } from "../support/customPolicies.ts"
import { doing, paris, refused, sunny } from "../support/sequence.ts"
import { passing } from "../support/virtualTime.ts"

describe("certainty, whatever a policy does:", () => {
  it.effect("an inner tool that answers without its handler has not acted", () =>
    Effect.gen(function*() {
      const nothingDone = Effect.fail(new ToolUnavailable({ ...refused, outcome: "not_executed" }))
      const pay = doing(sunny, "non_idempotent", "pay")
      const paid = pay.pipe(Tool.with(custom(() => () => Effect.succeed("paid before" as never))))
      const acted = (inner: typeof pay) =>
        Effect.map(
          outcomeOf(doing(Effect.andThen(inner.run(paris), nothingDone), "non_idempotent")),
          ({ certainty }) => certainty
        )
      assert.strictEqual(yield* acted(pay), "executed")
      assert.strictEqual(yield* acted(paid), "not_executed")
    }))

  describe("of a run that acts", () => {
    const policies: ReadonlyArray<readonly [name: string, policy: Policy.Policy<never, SemanticGarbage>]> = [
      [
        "cut short",
        custom<SemanticGarbage>((run) => (params) =>
          Effect.timeoutOrElse(run(params), { duration: 100, orElse: () => Effect.fail(mine) })
        )
      ],
      [
        "left behind",
        custom<SemanticGarbage>((run) => (params) =>
          Effect.andThen(Effect.forkDetach(run(params), { startImmediately: true }), Effect.fail(mine))
        )
      ],
      ["not good enough", custom<SemanticGarbage>((run) => (params) => Effect.andThen(run(params), Effect.fail(mine)))]
    ]
    for (const [name, policy] of policies) {
      it.effect(`is never not_executed if it was ${name}, whatever the policy says`, () =>
        Effect.gen(function*() {
          const certainty = (sideEffect: SideEffect.SideEffect, added = policy) =>
            Effect.map(
              outcomeOf(doing(later(1_000, sunny), sideEffect).pipe(Tool.with(added))),
              ({ _tag, certainty }) => `${_tag} ${certainty}`
            )
          const ended = name === "not good enough" ? "executed" : "unknown"
          assert.strictEqual(yield* certainty("non_idempotent"), `Failed ${ended}`)
          assert.strictEqual(yield* certainty("none"), "Failed not_executed")
          // Nothing was started.
          const before = custom<SemanticGarbage>(() => () => Effect.fail(mine))
          assert.strictEqual(yield* certainty("non_idempotent", before), "Failed not_executed")
        }))
    }

    it.effect("is not_executed if it still waited for a permit", () =>
      Effect.gen(function*() {
        // Both runs share one permit.
        const limited = doing(later(5_000, sunny), "non_idempotent").pipe(Tool.concurrency(1))
        const impatient = custom<SemanticGarbage>((run) => (params) =>
          Effect.timeoutOrElse(run(params), { duration: 1_000, orElse: () => Effect.fail(mine) })
        )
        const both = [limited, limited.pipe(Tool.with(impatient))].map((tool) =>
          Dispatch.call(Toolkit.make(tool), call)
        )
        const [, cut] = yield* passing(Effect.all(both, { concurrency: 2 }))
        assert.strictEqual(cut?._tag, "Failed")
        assert.strictEqual(cut?.certainty, "not_executed")
      }))

    it.effect("is not_executed if the tool only reads", () =>
      Effect.gen(function*() {
        for (const [, policy] of policies) {
          const { outcome } = yield* told(doing(later(1_000, sunny)).pipe(Tool.with(policy)))
          assert.strictEqual(outcome.certainty, "not_executed")
        }
      }))

    it.effect("is unknown if a policy swallows an unreadable answer", () =>
      Effect.gen(function*() {
        const unreadable = new SchemaMismatch({ code: "invalid_result", detail: "No JSON.", side: "result" })
        const tool = doing(Effect.fail(unreadable), "non_idempotent").pipe(
          Tool.with(custom<SemanticGarbage>((run) => (params) => Effect.mapError(run(params), () => mine)))
        )
        assert.strictEqual((yield* outcomeOf(tool)).certainty, "unknown")
      }))

    it.effect("comes from the inner run's own failure", () =>
      Effect.gen(function*() {
        const tool = doing(lost, "non_idempotent").pipe(
          Tool.with(custom<SemanticGarbage>((run) => (params) => Effect.mapError(run(params), () => mine)))
        )
        assert.strictEqual((yield* outcomeOf(tool)).certainty, "not_executed")
      }))
  })
})
