import { assert, describe, it } from "@effect/vitest"
import { type Policy, SemanticGarbage, Tool, ToolCall, ToolUnavailable } from "@fallible/core"
import * as Rendering from "@fallible/core/Rendering"
import type * as SideEffect from "@fallible/core/SideEffect"
import { Duration, Effect, Exit, Fiber, Option, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import { failureIn } from "../support/asyncTools.ts"
import { found, lost, nothing, once, outcomeOf } from "../support/reconciling.ts"
import {
  after,
  disabled,
  doing,
  type Failure,
  notExecuted,
  noTotal,
  paris,
  refused,
  Sequence,
  sunny
} from "../support/sequence.ts"
import { withoutEvidence } from "../support/withoutEvidence.ts"

const noReceipt = new SemanticGarbage({ code: "unknown_receipt", detail: "No such receipt." })

const final = { final: true }

const foundLate = "Its answer was lost or unclear, but a check found that it took effect."

describe("F4 Tool.reconcile", () => {
  it.effect("succeeds with the result of a lost call, given the parameters and the failure", () =>
    Effect.gen(function*() {
      const tool = doing(Effect.fail(lost), "non_idempotent").pipe(
        Tool.reconcile(({ city }, { failure }) =>
          Effect.succeed(Option.some(`${city}, after ${failure.code}, ${"outcome" in failure ? failure.outcome : ""}`))
        )
      )
      assert.strictEqual(yield* tool.run(paris), "Paris, after connection, unknown")
      const dataFirst = Tool.reconcile(doing(Effect.fail(lost)), () => found)
      assert.strictEqual(yield* dataFirst.run(paris), "found")
      assert.deepStrictEqual(dataFirst.policies.map(({ description, kind }) => [kind, description]), [
        ["reconcile", "reconciles unknown outcomes"]
      ])
    }))

  it.effect("reports not_executed if the check finally finds nothing", () =>
    Effect.gen(function*() {
      const tool = doing(Effect.fail(lost), "non_idempotent").pipe(Tool.reconcile(() => nothing, final))
      const failure = yield* Effect.flip(tool.run(paris))
      assert.deepStrictEqual(withoutEvidence(failure), {
        _tag: "ToolUnavailable",
        code: "not_executed",
        detail: "Reset. A check confirmed that it did not take effect.",
        transient: true,
        outcome: "not_executed"
      })
      assert.strictEqual(failure.cause, "a socket")
    }))

  for (const sideEffect of ["idempotent", "non_idempotent"] as const) {
    it.effect(`leaves no doubt if the check finally finds nothing of ended attempts (${sideEffect})`, () =>
      Effect.gen(function*() {
        const fails = doing(Effect.fail(lost), sideEffect)
        const hangs = doing<Failure>(Effect.never, sideEffect).pipe(Tool.timeout("5 seconds"))
        const ended = [
          fails.pipe(Tool.reconcile(() => nothing, final)),
          fails.pipe(Tool.reconcile(() => nothing, final), Tool.retry(once)),
          hangs.pipe(Tool.reconcile(() => nothing, final)),
          fails.pipe(Tool.reconcile(() => nothing, { settle: "10 seconds" })),
          hangs.pipe(Tool.reconcile(() => nothing, { settle: "10 seconds" }), Tool.retry(once))
        ]
        for (const tool of ended) {
          const outcome = yield* outcomeOf(tool)
          assert.deepNestedInclude(outcome, { "failure.code": "not_executed", "failure.outcome": "not_executed" })
          assert.strictEqual(outcome.certainty, "not_executed")
          const text = Rendering.json(outcome, { id: "1", name: tool.name })
          assert.include(text, "A check confirmed that it did not take effect.")
          assert.notMatch(text, /\b(may|might|could|whether|unknown|find out|check before)\b/i)
        }
      }))
  }

  it.effect("keeps the service's retryAfter", () =>
    Effect.gen(function*() {
      const busy = new ToolUnavailable({ ...lost, code: "server_error", retryAfter: Duration.seconds(20) })
      const tool = doing(Effect.fail(busy), "non_idempotent").pipe(Tool.reconcile(() => nothing, final))
      assert.deepStrictEqual((yield* Effect.flip(tool.run(paris))).retryAfter, Duration.seconds(20))
    }))

  it.effect("lets an outer retry repeat a call that finally did not happen, under the same idempotency key", () =>
    Effect.gen(function*() {
      const { ending, events, note } = new Sequence()
      let attempt = 0
      const pays = doing(
        Effect.flatMap(ToolCall.current, ({ idempotencyKey }) =>
          Effect.andThen(
            note(`attempt ${++attempt} under ${idempotencyKey}`),
            Effect.suspend(() => attempt === 1 ? Effect.never : sunny)
          )),
        "non_idempotent"
      ).pipe(
        Tool.timeout("5 seconds"),
        Tool.reconcile(() =>
          Effect.flatMap(
            ToolCall.current,
            ({ idempotencyKey }) => Effect.andThen(note(`check under ${idempotencyKey}`), nothing)
          ), final),
        Tool.retry(Schedule.upTo(Schedule.spaced("1 second"), { times: 2 }))
      )
      yield* Effect.forkChild(ending(pays.run(paris).pipe(ToolCall.withKey("order-7"))))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(events, [
        "0 attempt 1 under order-7",
        "5000 check under order-7",
        "6000 attempt 2 under order-7",
        "6000 => sunny"
      ])
    }))

  it.effect("checks exactly once after each attempt", () =>
    Effect.gen(function*() {
      const { note, play, tool } = new Sequence()
      let checks = 0
      const pays = tool([Effect.fail(lost)], "non_idempotent").pipe(
        Tool.reconcile(
          () => Effect.andThen(note("check"), Effect.suspend(() => ++checks === 3 ? found : nothing)),
          final
        ),
        Tool.retry(Schedule.recurs(5))
      )
      assert.deepStrictEqual(yield* play(pays), [
        "0 attempt 1",
        "0 check",
        "retry handles not_executed",
        "waits 0",
        "0 attempt 2",
        "0 check",
        "retry handles not_executed",
        "waits 0",
        "0 attempt 3",
        "0 check",
        "reconcile handles connection",
        "0 => found"
      ])
    }))

  it.effect("leaves the outcome unknown if the check fails, without a retry", () =>
    Effect.gen(function*() {
      for (const problem of [refused, noReceipt]) {
        let attempts = 0
        const tool = doing(
          Effect.suspend(() => {
            attempts++
            return Effect.fail(lost)
          }),
          "non_idempotent"
        ).pipe(Tool.reconcile(() => Effect.fail(problem)), Tool.retry(once))
        assert.strictEqual(yield* Effect.flip(tool.run(paris)), lost)
        assert.strictEqual(attempts, 1)
      }
    }))

  it.effect("leaves the outcome unknown while the attempt may still run, but trusts a positive result", () =>
    Effect.gen(function*() {
      const endWith = (check: Effect.Effect<Option.Option<string>>) => {
        const { play, tool } = new Sequence()
        return play(
          tool([Effect.uninterruptible(after(10_000, sunny))], "non_idempotent").pipe(
            Tool.timeout("5 seconds"),
            Tool.reconcile(() => check, final),
            Tool.retry(once)
          )
        )
      }
      assert.deepStrictEqual(yield* endWith(nothing), [
        "0 attempt 1",
        "5000 => outcome_unknown",
        "10000 interrupted"
      ])
      const start = yield* Effect.clockWith(({ currentTimeMillis }) => currentTimeMillis)
      assert.deepStrictEqual(yield* endWith(found), [
        `${start} attempt 1`,
        "reconcile handles outcome_unknown",
        `${start + 5_000} => found`,
        `${start + 10_000} interrupted`
      ])
    }))

  it.effect("ignores a check that read while the attempt still ran, even if it has ended since", () =>
    Effect.gen(function*() {
      const { ending, events, note } = new Sequence()
      let paid = Option.none<string>()
      // It is abandoned at 5 s, pays at 6 s and ends. The check reads at 5 s and answers at 7 s.
      const pays = doing(
        Effect.uninterruptible(Effect.andThen(
          Effect.sleep("6 seconds"),
          Effect.suspend(() => {
            paid = Option.some("receipt")
            return Effect.as(note("pays"), "receipt")
          })
        )),
        "non_idempotent"
      ).pipe(
        Tool.timeout("5 seconds"),
        Tool.reconcile(() => Effect.suspend(() => Effect.delay(Effect.succeed(paid), "2 seconds")), final),
        Tool.retry(once)
      )
      yield* Effect.forkChild(ending(pays.run(paris)))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(events, ["6000 pays", "7000 => outcome_unknown"])
    }))

  it.effect("treats a transient failure of a tool that acts as an unknown outcome, unless it says otherwise", () =>
    Effect.gen(function*() {
      const tool = doing<Failure>(Effect.fail(refused), "non_idempotent")
      const failure = yield* Effect.flip(tool.run(paris))
      assert.deepInclude({ ...failure }, { code: "connection", outcome: "unknown" })
      assert.strictEqual(yield* tool.pipe(Tool.reconcile(() => found)).run(paris), "found")
    }))

  it.effect("checks a tool that acts after an unreadable answer, and keeps that failure if it cannot tell", () =>
    Effect.gen(function*() {
      for (const sideEffect of ["idempotent", "non_idempotent"] as const) {
        const tool = doing<Failure>(Effect.fail(noTotal), sideEffect)
        assert.strictEqual(yield* tool.pipe(Tool.reconcile(() => found)).run(paris), "found")
        assert.strictEqual(yield* Effect.flip(tool.pipe(Tool.reconcile(() => nothing)).run(paris)), noTotal)
        assert.deepInclude({ ...yield* Effect.flip(tool.pipe(Tool.reconcile(() => nothing, final)).run(paris)) }, {
          code: "not_executed",
          detail: "No total. A check confirmed that it did not take effect."
        })
      }
    }))

  it.effect("does not check a known outcome", () =>
    Effect.gen(function*() {
      const check = () => Effect.die("not asked for")
      for (const failure of [notExecuted, noReceipt]) {
        const tool = doing<Failure>(Effect.fail(failure), "non_idempotent").pipe(Tool.reconcile(check))
        assert.deepStrictEqual(yield* Effect.flip(tool.run(paris)), failure)
      }
      for (const failure of [refused, noReceipt]) {
        const tool = doing<Failure>(Effect.fail(failure)).pipe(Tool.reconcile(check))
        assert.strictEqual(yield* Effect.flip(tool.run(paris)), failure)
      }
      assert.strictEqual(yield* doing(sunny).pipe(Tool.reconcile(check)).run(paris), "sunny")
      assert.deepStrictEqual(
        yield* Effect.exit(doing(Effect.die("bug")).pipe(Tool.reconcile(check)).run(paris)),
        Exit.die("bug")
      )
    }))

  it.effect("checks a refusal that is not proved, and leaves its words as they are", () =>
    Effect.gen(function*() {
      let checks = 0
      const check = () =>
        Effect.sync(() => {
          checks++
          return Option.none()
        })
      const tool = doing<Failure>(Effect.fail(disabled), "non_idempotent").pipe(Tool.reconcile(check, final))
      const { certainty, exit } = yield* Tool.outcome(tool, paris)
      assert.deepInclude({ ...failureIn(exit) }, { code: "disabled", transient: false, outcome: "not_executed" })
      assert.deepStrictEqual([certainty, checks], ["not_executed", 1])
    }))

  it.effect("checks after the timeout of a tool that acts, idempotent or not, but not of one that only reads", () =>
    Effect.gen(function*() {
      const endOf = Effect.fnUntraced(function*(sideEffect: SideEffect.SideEffect) {
        const { play, tool } = new Sequence()
        const events = yield* play(
          tool([Effect.never], sideEffect).pipe(Tool.timeout("5 seconds"), Tool.reconcile(() => found))
        )
        return events.at(-1)?.split("=> ")[1]
      })
      assert.deepStrictEqual(yield* Effect.forEach(["none", "idempotent", "non_idempotent"] as const, endOf), [
        "timeout",
        "found",
        "found"
      ])
    }))

  it.effect("checks once after all attempts if it is outside the retry", () =>
    Effect.gen(function*() {
      const { note, play, tool } = new Sequence()
      const puts = tool([Effect.fail(lost)], "idempotent").pipe(
        Tool.retry(once),
        Tool.reconcile(() => Effect.andThen(note("check"), nothing), final)
      )
      assert.deepStrictEqual(yield* play(puts), [
        "0 attempt 1",
        "retry handles connection",
        "waits 0",
        "0 attempt 2",
        "0 check",
        "0 => not_executed"
      ])
    }))

  it.effect("passes on a defect of the check", () =>
    Effect.gen(function*() {
      const bug = new Error("bug")
      const dying = doing(Effect.fail(lost), "non_idempotent").pipe(Tool.reconcile(() => Effect.die(bug)))
      assert.deepStrictEqual(yield* Effect.exit(dying.run(paris)), Exit.die(bug))
      const throwing = doing(Effect.fail(lost), "non_idempotent").pipe(Tool.reconcile((): typeof nothing => {
        throw bug
      }))
      assert.deepStrictEqual(yield* Effect.exit(throwing.run(paris)), Exit.die(bug))
      const outcome = yield* outcomeOf(throwing)
      assert.isTrue(
        outcome._tag === "Failed" && outcome.failure._tag === "ToolUnavailable" && outcome.failure.code === "defect" &&
          outcome.failure.outcome === "unknown"
      )
    }))

  describe("in the report", () => {
    it.effect("a call that took effect has one handled failure", () =>
      Effect.gen(function*() {
        const outcome = yield* outcomeOf(
          doing(Effect.andThen(ToolCall.caveat("of the lost answer"), Effect.fail(lost)), "non_idempotent").pipe(
            Tool.reconcile(() => Effect.andThen(ToolCall.caveat("read back"), found))
          )
        )
        assert.deepInclude(outcome, {
          _tag: "Completed",
          value: "found",
          attempts: 1,
          handled: [{ tag: "ToolUnavailable", code: "connection", detail: "Reset.", by: "reconcile" }]
        })
      }))

    it.effect("the lost attempt's notes are dropped, and the check's notes are kept", () =>
      Effect.gen(function*() {
        const outcome = yield* outcomeOf(
          doing(Effect.andThen(ToolCall.caveat("of the lost answer"), Effect.fail(lost)), "non_idempotent").pipe(
            Tool.reconcile(() => Effect.andThen(ToolCall.caveat("read back"), found))
          )
        )
        assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, ["read back", foundLate])
      }))

    it.effect("the notes of a check that found nothing are dropped", () =>
      Effect.gen(function*() {
        let checks = 0
        const settling = doing(Effect.fail(lost), "non_idempotent").pipe(
          Tool.reconcile(
            () =>
              Effect.andThen(ToolCall.caveat(`check ${++checks}`), Effect.suspend(() => checks < 3 ? nothing : found)),
            { settle: "1 second" }
          )
        )
        const fiber = yield* Effect.forkChild(outcomeOf(settling))
        yield* TestClock.adjust("1 second")
        const settled = yield* Fiber.join(fiber)
        assert.deepStrictEqual(settled._tag === "Completed" && settled.caveats, ["check 3", foundLate])
        const lookingTwice = doing(Effect.fail(lost), "non_idempotent").pipe(
          Tool.reconcile(() => found, { lookFirst: true }),
          Tool.reconcile(() => Effect.andThen(ToolCall.caveat("looked in vain"), nothing), { lookFirst: true })
        )
        const looked = yield* outcomeOf(lookingTwice)
        assert.deepStrictEqual(
          looked._tag === "Completed" && looked.caveats,
          ["It had been done before, so it was not done again."]
        )
      }))

    it.effect("a failed check is listed beside the call's own failure", () =>
      Effect.gen(function*() {
        const outcome = yield* outcomeOf(
          doing(Effect.fail(lost), "non_idempotent").pipe(Tool.reconcile(() => Effect.fail(noReceipt)))
        )
        assert.isTrue(outcome._tag === "Failed" && outcome.failure.detail === "Reset.")
        assert.deepStrictEqual(outcome.handled, [
          { tag: "SemanticGarbage", code: "unknown_receipt", detail: "No such receipt.", by: "reconcile" }
        ])
      }))
  })

  it.effect("accepts another tool as its check, which has its own key", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const status = Tool.make("status", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        Effect.map(ToolCall.current, ({ idempotencyKey }) => {
          keys.push(idempotencyKey)
          return "paid"
        }))
      const pays = doing(Effect.fail(lost), "non_idempotent").pipe(
        Tool.reconcile(() =>
          Effect.map(status.run({}), Option.some)
        )
      )
      assert.deepInclude(yield* outcomeOf(pays), { _tag: "Completed", value: "paid", attempts: 1 })
      assert.deepStrictEqual(
        keys.map((key) =>
          /^[0-9a-f]{32}$/.test(key)
        ),
        [true]
      )
    }))

  describe("without finality", () => {
    it.effect("stays unknown if the check finds nothing, without a retry", () =>
      Effect.gen(function*() {
        const { note, play, tool } = new Sequence()
        const pays = tool([Effect.fail(lost)], "non_idempotent").pipe(
          Tool.reconcile(() => Effect.andThen(note("check"), nothing)),
          Tool.retry(once)
        )
        assert.deepStrictEqual(yield* play(pays), ["0 attempt 1", "0 check", "0 => connection"])
        assert.strictEqual((yield* outcomeOf(pays)).certainty, "unknown")
      }))
  })

  describe("clears the doubt", () => {
    const queued = Tool.make("queued", { description: "", success: Schema.String }, () => Effect.fail(lost))

    it.effect("of a mapped failure, and does not change another failure of the same call", () =>
      Effect.gen(function*() {
        const mapped = doing<Failure>(Effect.fail(lost), "non_idempotent").pipe(
          Tool.mapFailure((): Failure => notExecuted),
          Tool.reconcile(() => nothing, final)
        )
        assert.deepNestedInclude(yield* outcomeOf(mapped), {
          certainty: "not_executed",
          "failure.code": "not_executed"
        })
        // The doubt about the inner call is settled, and the tool's own failure stays.
        const other = doing<Failure>(
          Effect.andThen(Effect.ignore(queued.run({})), Effect.fail(noReceipt)),
          "non_idempotent"
        )
        assert.strictEqual((yield* outcomeOf(other)).certainty, "unknown")
        assert.deepNestedInclude(yield* outcomeOf(other.pipe(Tool.reconcile(() => nothing, final))), {
          certainty: "not_executed",
          "failure.code": "unknown_receipt"
        })
      }))

    it.effect("of the tool's own attempts, but not of a source that answered instead", () =>
      Effect.gen(function*() {
        const mirrored = doing<Failure>(Effect.fail(lost), "non_idempotent").pipe(
          Tool.fallback(() => queued.run({})),
          Tool.reconcile(() => nothing, final)
        )
        assert.deepNestedInclude(yield* outcomeOf(mirrored), { certainty: "unknown", "failure.outcome": "unknown" })
      }))

    it.effect("even if the check itself acts, such as one that cancels an order", () =>
      Effect.gen(function*() {
        const cancel = Tool.make("cancel", { description: "", success: Schema.String }, () => Effect.succeed("done"))
        let attempts = 0
        const pays = doing(
          Effect.suspend(() => ++attempts === 1 ? Effect.fail(lost) : sunny),
          "non_idempotent"
        ).pipe(Tool.reconcile(() => Effect.andThen(cancel.run({}), nothing), final), Tool.retry(once))
        assert.deepInclude(yield* outcomeOf(pays), { _tag: "Completed", value: "sunny", certainty: "executed" })
        assert.strictEqual(attempts, 2)
      }))

    it.effect("but not the fact that a call took effect", () =>
      Effect.gen(function*() {
        const booked = Tool.make("booked", { description: "", success: Schema.String }, () => Effect.succeed("done"))
        const trip = doing<Failure>(Effect.andThen(booked.run({}), Effect.fail(notExecuted)), "non_idempotent").pipe(
          Tool.reconcile(() => nothing, final),
          Tool.retry(once)
        )
        assert.deepInclude(yield* outcomeOf(trip), { certainty: "executed", attempts: 1 })
      }))
  })

  it("reports invalid options", () => {
    const tool = doing(Effect.fail(lost), "non_idempotent")
    const added = (options: Policy.ReconcileOptions) => () => Tool.reconcile(tool, () => nothing, options)
    assert.throws(added({ settle: "1 second", final: true }), /needs no time to settle/)
    assert.throws(added({ settle: 0 }), /time to settle must be a duration above zero/)
    assert.throws(added({ schedule: Schedule.recurs(1) }), /give a 'settle' with it/)
    assert.throws(added({ settle: "1 second", schedule: "often" as never }), /must be a Schedule; got a string/)
  })
})
