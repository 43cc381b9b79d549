import { assert, describe, it } from "@effect/vitest"
import {
  Dispatch,
  type Policy,
  Rendering,
  SchemaMismatch,
  SemanticGarbage,
  type SideEffect,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import { Duration, Effect, Exit, Fiber, Option, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import {
  after,
  disabled,
  doing,
  type Failure,
  notExecuted,
  paris,
  refused,
  Sequence,
  sunny
} from "../support/sequence.ts"

const lost = new ToolUnavailable({
  code: "connection",
  detail: "Reset.",
  transient: true,
  outcome: "unknown",
  cause: "a socket"
})
const noTotal = new SchemaMismatch({ side: "result", code: "invalid_result", detail: "No total." })
const noReceipt = new SemanticGarbage({ code: "unknown_receipt", detail: "No such receipt." })

const found = Effect.succeed(Option.some("found"))
const nothing = Effect.succeed(Option.none<string>())
const final = { final: true }
const once = Schedule.recurs(1)

/** Runs a tool for an hour, as a model's call. */
const outcomeOf = (tool: Tool.Tool<string, typeof paris, string, Failure>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(
      Dispatch.call(Toolkit.make(tool), { id: "1", name: tool.name, arguments: "{\"city\":\"Paris\"}" }, {
        idempotencyKey: "key"
      })
    )
    yield* TestClock.adjust("1 hour")
    const outcome = yield* fiber.pollUnsafe() ?? assert.fail("no end")
    return outcome
  })

describe("F4 Tool.reconcile", () => {
  it.effect("succeeds with what a lost call did, knowing the parameters and the failure", () =>
    Effect.gen(function*() {
      const tool = doing(Effect.fail(lost), "non_idempotent").pipe(
        Tool.reconcile(({ city }, failure) =>
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

  it.effect("says that a call was not executed when the check finally finds nothing", () =>
    Effect.gen(function*() {
      const tool = doing(Effect.fail(lost), "non_idempotent").pipe(Tool.reconcile(() => nothing, final))
      const failure = yield* Effect.flip(tool.run(paris))
      assert.deepStrictEqual({ ...failure }, {
        _tag: "ToolUnavailable",
        code: "not_executed",
        detail: "Reset. A check found that it did not take effect.",
        transient: true,
        outcome: "not_executed"
      })
      assert.strictEqual(failure.cause, "a socket")
    }))

  for (const sideEffect of ["idempotent", "non_idempotent"] as const) {
    it.effect(`leaves no doubt when the check finally finds nothing of attempts that have ended (${sideEffect})`, () =>
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
          const told = Rendering.json(outcome, { id: "1", name: tool.name })
          assert.include(told, "A check found that it did not take effect.")
          assert.notMatch(told, /\b(may|might|could|whether|unknown|find out|check before)\b/i)
        }
      }))
  }

  it.effect("keeps the time that the service asked to be left alone for", () =>
    Effect.gen(function*() {
      const busy = new ToolUnavailable({ ...lost, code: "server_error", retryAfter: Duration.seconds(20) })
      const tool = doing(Effect.fail(busy), "non_idempotent").pipe(Tool.reconcile(() => nothing, final))
      assert.deepStrictEqual((yield* Effect.flip(tool.run(paris))).retryAfter, Duration.seconds(20))
    }))

  it.effect("lets a retry outside run again what finally did not happen, under the same idempotency key", () =>
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

  it.effect("asks after each attempt, and once after each", () =>
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

  it.effect("leaves the outcome unknown when the check fails, and nothing is tried again", () =>
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

  it.effect("leaves the outcome unknown while the attempt may still be running, and believes what it finds", () =>
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

  it.effect("does not believe a check that looked while the attempt was still running, though it has ended since", () =>
    Effect.gen(function*() {
      const { ending, events, note } = new Sequence()
      let paid = Option.none<string>()
      // It is left behind at 5 s, pays at 6 s and ends, while the check has read at 5 s and answers at 7 s.
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

  it.effect("takes a passing failure of what acts for one of unknown outcome, unless it says otherwise", () =>
    Effect.gen(function*() {
      const tool = doing<Failure>(Effect.fail(refused), "non_idempotent")
      const failure = yield* Effect.flip(tool.run(paris))
      assert.deepInclude({ ...failure }, { code: "connection", outcome: "unknown" })
      assert.strictEqual(yield* tool.pipe(Tool.reconcile(() => found)).run(paris), "found")
    }))

  it.effect("checks what acts and has an answer that nobody can read, and leaves that failure when it cannot tell", () =>
    Effect.gen(function*() {
      for (const sideEffect of ["idempotent", "non_idempotent"] as const) {
        const tool = doing<Failure>(Effect.fail(noTotal), sideEffect)
        assert.strictEqual(yield* tool.pipe(Tool.reconcile(() => found)).run(paris), "found")
        assert.strictEqual(yield* Effect.flip(tool.pipe(Tool.reconcile(() => nothing)).run(paris)), noTotal)
        assert.deepInclude({ ...yield* Effect.flip(tool.pipe(Tool.reconcile(() => nothing, final)).run(paris)) }, {
          code: "not_executed",
          detail: "No total. A check found that it did not take effect."
        })
      }
    }))

  it.effect("checks nothing whose outcome is known", () =>
    Effect.gen(function*() {
      const check = () => Effect.die("not asked for")
      for (const failure of [notExecuted, disabled]) {
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

  it.effect("checks the timeout of a tool that acts, idempotent or not, and not of one that only reads", () =>
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

  it.effect("asks once after all attempts where it stands outside of retry", () =>
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

  it.effect("passes a defect of the check on", () =>
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

  describe("in the ledger", () => {
    it.effect("a call that took effect is one failure that was taken care of", () =>
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

    it.effect("what the lost attempt said is forgotten, and what the check says of the answer is kept", () =>
      Effect.gen(function*() {
        const outcome = yield* outcomeOf(
          doing(Effect.andThen(ToolCall.caveat("of the lost answer"), Effect.fail(lost)), "non_idempotent").pipe(
            Tool.reconcile(() => Effect.andThen(ToolCall.caveat("read back"), found))
          )
        )
        assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, ["read back"])
      }))

    it.effect("a check that failed stands beside the call's own failure", () =>
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

  it.effect("takes another tool as its check, which has a key of its own", () =>
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

  it.effect("settles on any clock: what a fraction of a millisecond lacks is waited for", () =>
    Effect.gen(function*() {
      for (let number = 1; number < 300; number++) {
        let looked = 0
        const pays = doing(Effect.fail(lost), "non_idempotent").pipe(
          Tool.reconcile(() => {
            if (++looked > 100) throw new Error("It looks for ever.")
            return Effect.succeedNone
          }, { settle: "61 seconds" })
        )
        yield* TestClock.adjust(number / 7)
        const fiber = yield* Effect.forkChild(outcomeOf(pays))
        for (let second = 0; second < 63; second++) yield* TestClock.adjust(1_000 + 1 / number)
        assert.deepNestedInclude(yield* Fiber.join(fiber), { "failure.code": "not_executed" })
        assert.isBelow(looked, 100)
      }
    }).pipe(Effect.provide(TestClock.layer())))

  describe("without finality", () => {
    it.effect("stays unknown when the check finds nothing, and nothing is tried again", () =>
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

  describe("with a time to settle", () => {
    const settling = (settle: Duration.Input, schedule?: Schedule.Schedule<unknown>) =>
      schedule === undefined ? { settle } : { settle, schedule }

    it.effect("asks again until it is over, and then for the last time", () =>
      Effect.gen(function*() {
        const { note, play, tool } = new Sequence()
        const pays = tool([Effect.never, sunny], "non_idempotent").pipe(
          Tool.timeout("5 seconds"),
          Tool.reconcile(() => Effect.andThen(note("check"), nothing), settling("1 second")),
          Tool.retry(once)
        )
        assert.deepStrictEqual(yield* play(pays), [
          "0 attempt 1",
          "5000 interrupted",
          "5000 check",
          "waits 100",
          "5100 check",
          "waits 200",
          "5300 check",
          "waits 400",
          "5700 check",
          "waits 300",
          "6000 check",
          "retry handles not_executed",
          "waits 0",
          "6000 attempt 2",
          "6000 => sunny"
        ])
      }))

    it.effect("goes on as soon as something is found", () =>
      Effect.gen(function*() {
        const { note, play, tool } = new Sequence()
        let checks = 0
        const pays = tool([Effect.fail(lost)], "non_idempotent").pipe(
          Tool.reconcile(
            () => Effect.andThen(note("check"), Effect.suspend(() => ++checks === 2 ? found : nothing)),
            settling("1 hour", Schedule.spaced("1 second"))
          )
        )
        assert.deepStrictEqual(yield* play(pays), [
          "0 attempt 1",
          "0 check",
          "waits 1000",
          "1000 check",
          "reconcile handles connection",
          "1000 => found"
        ])
      }))

    it.effect("asks once more at its end where the schedule is done before", () =>
      Effect.gen(function*() {
        const { note, play, tool } = new Sequence()
        const pays = tool([Effect.fail(lost)], "non_idempotent").pipe(
          Tool.reconcile(() => Effect.andThen(note("check"), nothing), settling("1 minute", Schedule.recurs(0)))
        )
        assert.deepStrictEqual(yield* play(pays), [
          "0 attempt 1",
          "0 check",
          "waits 60000",
          "60000 check",
          "60000 => not_executed"
        ])
      }))

    it.effect("asks again when a check fails, and leaves it unknown when the last one does", () =>
      Effect.gen(function*() {
        const settled = (answers: ReadonlyArray<typeof nothing | Effect.Effect<never, ToolUnavailable>>) => {
          let checks = 0
          return outcomeOf(
            doing(Effect.fail(lost), "non_idempotent").pipe(
              Tool.reconcile(
                () => Effect.suspend(() => answers[checks++]!),
                settling("2 seconds", Schedule.spaced("1 second"))
              )
            )
          )
        }
        const cannotTell = Effect.fail(refused)
        assert.strictEqual((yield* settled([cannotTell, cannotTell, nothing])).certainty, "not_executed")
        const unknown = yield* settled([nothing, nothing, cannotTell])
        assert.strictEqual(unknown.certainty, "unknown")
        assert.deepStrictEqual(unknown.handled.map(({ by, code }) => `${by} ${code}`), ["reconcile connection"])
      }))

    it.effect("counts from the end of the last attempt, also of one that was left behind", () =>
      Effect.gen(function*() {
        const { note, play, tool } = new Sequence()
        const pays = tool([Effect.uninterruptible(after(6_500, Effect.fail(lost)))], "non_idempotent").pipe(
          Tool.timeout("5 seconds"),
          Tool.reconcile(
            () => Effect.andThen(note("check"), nothing),
            settling("3 seconds", Schedule.spaced("1 second"))
          )
        )
        assert.deepStrictEqual(yield* play(pays), [
          "0 attempt 1",
          "5000 check",
          "waits 1000",
          "6000 check",
          "waits 1000",
          "6500 interrupted",
          // It is seen now to have ended.
          "7000 check",
          "waits 1000",
          "8000 check",
          "waits 1000",
          "9000 check",
          "waits 1000",
          "10000 check",
          "10000 => not_executed"
        ])
      }))

    it.effect("leaves it unknown while an attempt goes on for longer", () =>
      Effect.gen(function*() {
        const { note, play, tool } = new Sequence()
        const pays = tool([Effect.uninterruptible(after(60_000, sunny))], "non_idempotent").pipe(
          Tool.timeout("5 seconds"),
          Tool.reconcile(
            () => Effect.andThen(note("check"), nothing),
            settling("2 seconds", Schedule.spaced("1 second"))
          )
        )
        assert.deepStrictEqual((yield* play(pays)).filter((event) => !event.includes("waits")), [
          "0 attempt 1",
          "5000 check",
          "6000 check",
          "7000 check",
          "7000 => outcome_unknown",
          "60000 interrupted"
        ])
      }))

    it.effect("asks once, and leaves it unknown at once, where it would not be over before the time around it", () =>
      Effect.gen(function*() {
        const { note, play, tool } = new Sequence()
        const pays = tool([Effect.fail(lost)], "non_idempotent").pipe(
          Tool.reconcile(() => Effect.andThen(note("check"), nothing), settling("10 seconds")),
          Tool.timeout("10 seconds")
        )
        assert.deepStrictEqual(yield* play(pays), ["0 attempt 1", "0 check", "0 => connection"])
        assert.strictEqual((yield* outcomeOf(pays)).certainty, "unknown")
      }))
  })

  describe("clears the doubt", () => {
    const queued = Tool.make("queued", { description: "", success: Schema.String }, () => Effect.fail(lost))

    it.effect("of a failure that was mapped, and leaves another one of the same call as it is", () =>
      Effect.gen(function*() {
        const mapped = doing<Failure>(Effect.fail(lost), "non_idempotent").pipe(
          Tool.mapFailure((): Failure => notExecuted),
          Tool.reconcile(() => nothing, final)
        )
        assert.deepNestedInclude(yield* outcomeOf(mapped), {
          certainty: "not_executed",
          "failure.code": "not_executed"
        })
        // What ran inside is settled, and the answer to the question is another matter.
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

    it.effect("of the tool's own attempts, and not of what answered in their place", () =>
      Effect.gen(function*() {
        const mirrored = doing<Failure>(Effect.fail(lost), "non_idempotent").pipe(
          Tool.fallback(() => queued.run({})),
          Tool.reconcile(() => nothing, final)
        )
        assert.deepNestedInclude(yield* outcomeOf(mirrored), { certainty: "unknown", "failure.outcome": "unknown" })
      }))

    it.effect("though the check itself acts, such as one that takes an order back", () =>
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

    it.effect("and not that something has taken effect", () =>
      Effect.gen(function*() {
        const booked = Tool.make("booked", { description: "", success: Schema.String }, () => Effect.succeed("done"))
        const trip = doing<Failure>(Effect.andThen(booked.run({}), Effect.fail(notExecuted)), "non_idempotent").pipe(
          Tool.reconcile(() => nothing, final),
          Tool.retry(once)
        )
        assert.deepInclude(yield* outcomeOf(trip), { certainty: "executed", attempts: 1 })
      }))
  })

  it("says what is wrong with its options", () => {
    const tool = doing(Effect.fail(lost), "non_idempotent")
    const added = (options: Policy.ReconcileOptions) => () => Tool.reconcile(tool, () => nothing, options)
    assert.throws(added({ settle: "1 second", final: true }), /needs no time to settle/)
    assert.throws(added({ settle: 0 }), /time to settle is a duration above zero/)
    assert.throws(added({ schedule: Schedule.recurs(1) }), /give a 'settle' with the 'schedule'/)
    assert.throws(added({ settle: "1 second", schedule: "often" as never }), /on a Schedule; got a string/)
  })
})
