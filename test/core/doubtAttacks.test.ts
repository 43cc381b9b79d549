/** Findings of attacks on two promises: no acting tool runs twice, and nothing false is reported about it. */
import { assert, describe, it } from "@effect/vitest"
import {
  Dispatch,
  Observer,
  PartialData,
  Policy,
  SchemaMismatch,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as CallEvent from "@fallible/core/CallEvent"
import * as Deadline from "@fallible/core/Deadline"
import type * as SideEffect from "@fallible/core/SideEffect"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Context, Effect, Option, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import {
  custom,
  doing,
  type Failure,
  lost,
  notExecuted,
  parameters,
  paris,
  silent,
  unknownCity
} from "../support/sequence.ts"
import { passing } from "../support/virtualTime.ts"

const again = Tool.retry(Schedule.recurs(2))
const final = { final: true }

type Run = Effect.Effect<string, Failure>

/** A value that no type allows. */
// oxlint-disable-next-line typescript/no-explicit-any
type Untyped = any

const deaf = (millis: number, then: Run): Run => Effect.uninterruptible(Effect.delay(then, millis))

/** Makes a tool that counts its executions. */
const counted = (name: string, run: Run, sideEffect: SideEffect.SideEffect = "non_idempotent") => {
  const ran = { count: 0 }
  const tool = doing(
    Effect.suspend(() => {
      ran.count++
      return run
    }),
    sideEffect,
    name
  )
  return { ran, tool }
}

const call = { id: "1", name: "pay", arguments: "{\"city\":\"Paris\"}" }

const outcomeOf = (tool: Tool.Any, place: Dispatch.CallOptions = {}) =>
  passing(
    Dispatch.call(Toolkit.make(tool as ReturnType<typeof counted>["tool"]), { ...call, name: tool.name }, {
      idempotencyKey: "key",
      ...place
    })
  )

const certaintyOf = ({ certainty }: ToolOutcome.ToolOutcome) => certainty

describe("values without types", () => {
  it.effect("that throw when read are defects, and leave their call in doubt", () =>
    Effect.gen(function*() {
      const trap = new Proxy({}, {
        getPrototypeOf: () => {
          throw new Error("trap")
        }
      })
      const { tool } = counted("pay", Effect.delay(Effect.fail(trap as Untyped), 20))
      assert.deepNestedInclude(yield* outcomeOf(tool), { certainty: "unknown", "failure.code": "defect" })
    }))

  it.effect("without an outcome leave their call in doubt", () =>
    Effect.gen(function*() {
      const odd = new ToolUnavailable({ code: "connection", detail: "Reset." } as Untyped)
      const { ran, tool } = counted("pay", Effect.fail(odd))
      assert.strictEqual(certaintyOf(yield* outcomeOf(tool.pipe(again))), "unknown")
      assert.strictEqual(ran.count, 1)
    }))

  it.effect("do not enter events", () =>
    Effect.gen(function*() {
      const events: Array<CallEvent.Watched> = []
      const odd = new ToolUnavailable({ code: 5, detail: "Odd.", transient: true } as Untyped)
      const { tool } = counted("pay", Effect.fail(odd))
      yield* outcomeOf(Tool.fallback(tool, () => Effect.fail(odd), { name: "there" }), {
        onEvent: (event) => events.push(event)
      })
      assert.isAbove(events.length, 2)
      for (const event of events) {
        if (event._tag === "FailureHandled" || event._tag === "CallRefused") continue
        Schema.encodeSync(CallEvent.schema)(event)
      }
    }))
})

describe("a timeout", () => {
  it.effect("ends a handler between its uninterruptible steps", () =>
    Effect.gen(function*() {
      let steps = 0
      const step = Effect.uninterruptible(Effect.delay(Effect.sync(() => ++steps), 20))
      const used = { count: 0 }
      const runs: ReadonlyArray<readonly [Run, () => number, number]> = [
        [Effect.as(Effect.forEach(Array.from({ length: 100 }), () => step), "all"), () => steps, 3],
        [
          Effect.acquireUseRelease(
            Effect.sleep(200),
            () => Effect.sync(() => `${++used.count}`),
            () => Effect.void
          ),
          () => used.count,
          0
        ]
      ]
      for (const [run, count, max] of runs) {
        const { tool } = counted("pay", run)
        yield* outcomeOf(tool.pipe(Tool.timeout(50)))
        yield* TestClock.adjust("1 minute")
        assert.isAtMost(count(), max)
      }
    }))

  it.effect("lets an uninterruptible attempt end, and the call learns its result", () =>
    Effect.gen(function*() {
      let steps = 0
      const results: Array<Observer.LateResult> = []
      const tool = Tool.make(
        "pay",
        { description: "", parameters, success: Schema.String, uninterruptible: true },
        () =>
          Effect.as(
            Effect.forEach([1, 2, 3], () => Effect.delay(Effect.sync(() => ++steps), 20)),
            "paid"
          )
      ).pipe(Tool.timeout(30))
      const outcome = yield* outcomeOf(tool).pipe(
        Effect.tap(() => TestClock.adjust("1 minute")),
        Observer.observe({ onLateResult: (result) => Effect.sync(() => results.push(result)) })
      )
      assert.strictEqual(outcome.certainty, "unknown")
      assert.deepStrictEqual([steps, ...results.map(({ certainty }) => certainty)], [3, "executed"])
    }))
})

describe("a handmade tool", () => {
  const byHand = (run: () => Run): Tool.Any => ({ ...counted("pay", run()).tool, run })

  it.effect("is admitted and counted like any other", () =>
    Effect.gen(function*() {
      let ran = 0
      const slow = byHand(() => deaf(300, Effect.sync(() => `${++ran}`))) as ReturnType<typeof counted>["tool"]
      const outcome = yield* outcomeOf(again(Tool.timeout(slow, 50)))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual([ran, outcome.certainty, outcome.attempts], [1, "unknown", 1])
      const loses = byHand(() =>
        Effect.suspend(() => {
          ran++
          return Effect.fail(lost)
        })
      ) as ReturnType<typeof counted>["tool"]
      ran = 0
      const tool = Tool.with(loses, custom((run) => Effect.retry(run, { times: 2 })))
      assert.strictEqual(certaintyOf(yield* outcomeOf(tool)), "unknown")
      assert.strictEqual(ran, 1)
      assert.strictEqual((yield* Tool.outcome(loses, paris)).certainty, "unknown")
    }))

  it.effect("may be a copy under another name", () =>
    Effect.gen(function*() {
      const { ran, tool } = counted("pay", Effect.succeed("paid"))
      const copy = { ...tool, name: "settle" }
      assert.deepInclude(yield* outcomeOf(copy), { _tag: "Completed", certainty: "executed", attempts: 1 })
      assert.strictEqual(ran.count, 1)
    }))
})

describe("a check", () => {
  it.effect("does not deny a certain effect beside a lost one", () =>
    Effect.gen(function*() {
      const reserve = counted("reserve", Effect.succeed("reserved"))
      const pay = counted("pay", Effect.fail(lost))
      const checkout = counted("checkout", Effect.andThen(reserve.tool.run(paris), pay.tool.run(paris)))
      const trip = counted("trip", Effect.andThen(checkout.tool.run(paris), Effect.succeed("")))
      for (const outer of [checkout.tool, trip.tool]) {
        reserve.ran.count = 0
        const outcome = yield* outcomeOf(outer.pipe(Tool.reconcile(() => Effect.succeedNone, final), again))
        assert.strictEqual(outcome.certainty, "executed")
        assert.strictEqual(reserve.ran.count, 1)
        assert.notInclude(JSON.stringify(outcome), "did not take effect")
      }
    }))

  it.effect("that began before another attempt proves nothing about it", () =>
    Effect.gen(function*() {
      const { ran, tool } = counted("pay", Effect.delay(Effect.fail(lost), 10))
      const nothing = Effect.succeed(Option.none<string>())
      // The first check runs at 10 ms and lets its branch run again. The other branch makes the second at
      // 12 ms. The third is at 25 ms.
      const answers = [Effect.delay(nothing, 5), Effect.delay(nothing, 100), Effect.fail(silent)]
      const pay = tool.pipe(
        Tool.reconcile(() => Effect.suspend(() => answers.shift() ?? Effect.fail(silent)), final),
        Tool.retry(Schedule.recurs(1)),
        Tool.with(custom((run) =>
          Effect.map(
            Effect.all([Effect.exit(run), Effect.delay(Effect.exit(run), 12)], { concurrency: 2 }),
            ([one]) => one as never
          )
        ))
      )
      yield* outcomeOf(pay)
      assert.strictEqual(ran.count, 2)
    }))

  it.effect("may ask the user, and the handler does not run again for the reply", () =>
    Effect.gen(function*() {
      const asks: ReadonlyArray<(tool: ReturnType<typeof counted>["tool"]) => Tool.Any> = [
        (tool) =>
          Tool.reconcile(
            tool,
            () =>
              Effect.map(
                ToolCall.ask("Did it arrive?"),
                (reply) => reply === "yes" ? Option.some("it did") : Option.none()
              ),
            final
          ),
        (tool) => Tool.fallback(tool, () => ToolCall.ask("Did it arrive?"))
      ]
      for (const [index, wrap] of asks.entries()) {
        for (const reply of ["yes", "no"]) {
          const { ran, tool } = counted("pay", Effect.fail(lost))
          const first = yield* outcomeOf(wrap(tool))
          assert.deepInclude(first, { _tag: "Suspended", certainty: "unknown" })
          if (first._tag !== "Suspended") continue
          const replies = [{ id: first.id, question: first.question, reply }]
          const outcome = yield* outcomeOf(wrap(tool), { before: first, replies })
          assert.strictEqual(ran.count, 1)
          const expected = index === 1 ? "unknown" : reply === "yes" ? "executed" : "not_executed"
          assert.strictEqual(outcome.certainty, expected)
        }
      }
    }))

  it.effect("of a tool that only reads finds nothing at once", () =>
    Effect.gen(function*() {
      const { tool } = counted("look", Effect.fail(lost), "none")
      for (const options of [{}, { settle: 200 }]) {
        const outcome = yield* outcomeOf(Tool.reconcile(tool, () => Effect.succeedNone, options))
        assert.deepNestedInclude(outcome, { "failure.code": "not_executed" })
      }
    }))
})

describe("a source of a fallback", () => {
  it.effect("that answered is not called again, nor is the tool, if its answer is not good enough", () =>
    Effect.gen(function*() {
      let mirrored = 0
      const { ran, tool } = counted("pay", Effect.fail(notExecuted))
      const unhappy = custom((run) => Effect.andThen(run, Effect.fail(notExecuted)))
      const outcome = yield* outcomeOf(
        tool.pipe(Tool.fallback(() => Effect.sync(() => `${++mirrored}`)), Tool.with(unhappy), again)
      )
      assert.deepStrictEqual([ran.count, mirrored, outcome.certainty], [1, 1, "unknown"])
    }))

  it.effect("is in doubt once abandoned", () =>
    Effect.gen(function*() {
      const { tool } = counted("pay", Effect.fail(notExecuted))
      const outcome = yield* outcomeOf(
        tool.pipe(Tool.fallback(() => deaf(300, Effect.succeed("there"))), Tool.timeout(50))
      )
      assert.strictEqual(outcome.certainty, "unknown")
    }))

  it.effect("is believed if it says that it may have acted, even if only a reading tool ran in it", () =>
    Effect.gen(function*() {
      const reads = counted("look", Effect.succeed("seen"), "none").tool
      const { ran, tool } = counted("pay", Effect.fail(notExecuted))
      const outcome = yield* outcomeOf(
        tool.pipe(
          Tool.fallback(() => Effect.andThen(reads.run(paris), Effect.fail(lost))),
          Tool.mapFailure((): Failure => notExecuted),
          again
        )
      )
      assert.deepStrictEqual([ran.count, outcome.certainty], [1, "unknown"])
    }))

  it.effect("does not get not_executed merely because its branch began before the act", () =>
    Effect.gen(function*() {
      let mirrored = 0
      let delays = 0
      const { ran, tool } = counted("pay", Effect.succeed("paid"))
      yield* outcomeOf(tool.pipe(
        Tool.with(custom((run) => Effect.suspend(() => Effect.delay(run, 20 * ++delays)))),
        Tool.fallback((_, failure) =>
          failure.outcome === "not_executed" ? Effect.sync(() => `${++mirrored}`) : Effect.fail(failure)
        ),
        Tool.with(custom((run) => Effect.map(Effect.all([run, Effect.exit(run)], { concurrency: 2 }), ([one]) => one)))
      ))
      assert.deepStrictEqual([ran.count, mirrored], [1, 0])
    }))
})

describe("a policy that leaves its call", () => {
  const leaving = (
    leave: <A, E, R>(run: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Failure, R>
  ) => custom((run) => Effect.retry(leave(run), { times: 2 }))

  it.effect("runs no tool that acts", () =>
    Effect.gen(function*() {
      const policies = [
        leaving((run) => Effect.updateContext(run, () => Context.empty() as Untyped)),
        leaving((run) =>
          Effect.suspend(() =>
            Tool.make("own", { description: "", success: Schema.Unknown, sideEffect: "none" }, () => run as Untyped)
              .run({}) as Untyped
          )
        )
      ]
      for (const policy of policies) {
        const { ran, tool } = counted("pay", Effect.fail(lost))
        const outcome = yield* outcomeOf(tool.pipe(Tool.with(policy)))
        assert.deepNestedInclude(outcome, { _tag: "Failed", "failure.code": "outside_call", certainty: "not_executed" })
        assert.strictEqual(ran.count, 0)
      }
    }))

  it.effect("and keeps the inner run for another tool cannot run it there", () =>
    Effect.gen(function*() {
      const kept: Array<() => Effect.Effect<unknown, unknown, unknown>> = []
      const { ran, tool } = counted("pay", Effect.fail(lost))
      const keeping = Policy.make({
        kind: "custom",
        name: "keeping",
        description: "keeps",
        wrap: (run) => (params) => {
          kept.push(() => run(params))
          return run(params)
        }
      })
      yield* outcomeOf(tool.pipe(Tool.with(keeping)))
      const other = doing(Effect.as(Effect.exit(Effect.suspend(() => kept[0]!() as Untyped)), "done"), "none", "other")
      yield* outcomeOf(other)
      assert.strictEqual(ran.count, 1)
    }))

  it.effect("reveals nothing about the tool through its own runs, and neither does a fixer", () =>
    Effect.gen(function*() {
      const audit = counted("audit", Effect.succeed("written")).tool
      const auditing = Tool.with(
        custom((run) => Effect.tapError(run, () => Effect.orDie(audit.run(paris))))
      )
      const refuses = counted("pay", Effect.fail(unknownCity)).tool
      const refused = yield* outcomeOf(auditing(refuses))
      assert.strictEqual(refused.certainty, "not_executed")
      const looks = counted("look", Effect.fail(silent), "none").tool
      assert.strictEqual(certaintyOf(yield* outcomeOf(auditing(looks))), "not_executed")
      const fixed = Tool.fix(refuses, () => Effect.as(Effect.orDie(audit.run(paris)), ""))
      const wrong = { id: "1", name: "pay", arguments: "{}" }
      assert.strictEqual(certaintyOf(yield* passing(Dispatch.call(Toolkit.make(fixed), wrong))), "not_executed")
    }))
})

describe("an ordinary program", () => {
  it.effect("may make a read-only tool by hand that runs others", () =>
    Effect.gen(function*() {
      const log = counted("log", Effect.succeed("logged"))
      const search = counted("search", Effect.succeed("found"), "none").tool
      const both: Tool.Any = { ...search, run: () => Effect.andThen(log.tool.run(paris), search.run(paris)) }
      assert.deepInclude(yield* outcomeOf(both), { _tag: "Completed", value: "found", certainty: "executed" })
      assert.strictEqual(log.ran.count, 1)
    }))

  it.effect("may continue in the background after its handler has ended", () =>
    Effect.gen(function*() {
      const mail = counted("mail", Effect.succeed("sent"))
      const order = doing<Failure>(
        Effect.as(Effect.forkDetach(Effect.delay(mail.tool.run(paris), 60)), "ordered"),
        "non_idempotent",
        "order"
      )
      const policies: ReadonlyArray<(tool: typeof order) => Tool.Any> = [
        (tool) => tool,
        (tool) => Tool.timeout(tool, 30),
        (tool) => Tool.with(tool, custom((run) => run)),
        (tool) => Tool.with(Tool.timeout(tool, 30), custom((run) => run))
      ]
      for (const wrap of policies) {
        mail.ran.count = 0
        assert.deepInclude(yield* outcomeOf(wrap(order)), { _tag: "Completed", certainty: "executed" })
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(mail.ran.count, 1)
      }
    }))

  it.effect("may leave an inner call in the background, which is ignored later", () =>
    Effect.gen(function*() {
      const mail = counted("mail", Effect.succeed("sent")).tool
      const reads = doing<Failure>(
        Effect.as(Effect.forkDetach(Effect.delay(mail.run(paris), 10)), "read"),
        "none",
        "reads"
      )
      const order = doing(
        Effect.andThen(reads.run(paris), Effect.delay(Effect.succeed("done"), 60)),
        "idempotent",
        "order"
      )
      assert.deepInclude(yield* outcomeOf(order), { _tag: "Completed", certainty: "executed", caveats: [] })
    }))

  it.effect("may hedge an idempotent tool, whichever attempt ends last", () =>
    Effect.gen(function*() {
      let runs = 0
      const puts = doing(
        Effect.suspend((): Run => ++runs === 1 ? Effect.never : Effect.succeed("put")),
        "idempotent",
        "put"
      ).pipe(Tool.with(custom((run) => Effect.race(run, Effect.delay(run, 10)))))
      assert.deepInclude(yield* outcomeOf(puts), { _tag: "Completed", certainty: "executed", caveats: [] })
    }))

  it.effect("may hedge a tool, but a second attempt clears no doubt of the first one", () =>
    Effect.gen(function*() {
      const mail = counted("mail", Effect.fail(lost), "idempotent").tool
      let runs = 0
      const orders = doing(
        Effect.suspend((): Run =>
          ++runs === 1
            ? Effect.andThen(Effect.ignore(mail.run(paris)), Effect.delay(Effect.succeed("ordered"), 30))
            : Effect.never
        ),
        "idempotent",
        "order"
      ).pipe(Tool.with(custom((run) => Effect.race(run, Effect.delay(run, 10)))))
      const outcome = yield* outcomeOf(orders)
      assert.deepInclude(outcome, { _tag: "Completed", certainty: "unknown" })
    }))

  it.effect("may handle an inner refusal, and try once more", () =>
    Effect.gen(function*() {
      const coupon = counted("coupon", Effect.fail(unknownCity)).tool
      let runs = 0
      const order = doing<Failure>(
        Effect.andThen(
          Effect.ignore(coupon.run(paris)),
          Effect.suspend((): Run => ++runs === 1 ? Effect.fail(notExecuted) : Effect.succeed("ordered"))
        ),
        "non_idempotent",
        "order"
      ).pipe(again)
      assert.deepInclude(yield* outcomeOf(order), { _tag: "Completed", value: "ordered", attempts: 2 })
    }))

  it.effect("may copy a tool, and give the copy policies", () =>
    Effect.gen(function*() {
      let runs = 0
      const charge = doing(
        Effect.suspend((): Run => ++runs < 3 ? Effect.fail(lost) : Effect.succeed("charged")),
        "idempotent",
        "charge"
      )
      const copy = Tool.withDefaults({ ...charge, name: "charge_eu" }, [Policy.retry(Schedule.recurs(2))])
      assert.deepInclude(yield* outcomeOf(copy), { _tag: "Completed", certainty: "executed", attempts: 3, caveats: [] })
      assert.deepInclude(yield* Tool.outcome({ ...charge }, paris), { attempts: 1, certainty: "executed" })
    }))

  it.effect("learns of calls that a handler dispatches", () =>
    Effect.gen(function*() {
      const pays = counted("pay", Effect.fail(lost))
      const agent = doing<Failure>(
        Effect.andThen(Dispatch.call(Toolkit.make(pays.tool), call), Effect.fail(notExecuted)),
        "non_idempotent",
        "agent"
      ).pipe(again)
      assert.deepInclude(yield* outcomeOf(agent), { _tag: "Failed", certainty: "unknown" })
      assert.strictEqual(pays.ran.count, 1)
    }))

  it.effect("does not repeat a read-only tool if an inner tool may have acted", () =>
    Effect.gen(function*() {
      const pays = counted("pay", Effect.fail(lost))
      const reads = doing(Effect.mapError(pays.tool.run(paris), () => silent), "none", "reads").pipe(again)
      assert.deepInclude(yield* outcomeOf(reads), { _tag: "Failed", certainty: "unknown" })
      assert.strictEqual(pays.ran.count, 1)
    }))
})

describe("the report", () => {
  it.effect("of an inner tool that ended late has its result", () =>
    Effect.gen(function*() {
      const checkout = (late: Run) =>
        doing(
          counted("pay", deaf(200, late)).tool.run(paris),
          "non_idempotent",
          "checkout"
        ).pipe(Tool.timeout(50), Tool.reconcile(() => Effect.succeedNone, { settle: 400 }))
      const outcome = yield* outcomeOf(checkout(Effect.fail(notExecuted)))
      assert.deepNestedInclude(outcome, { certainty: "not_executed", "failure.code": "not_executed" })
    }))

  it.effect("of lost pages is doubt", () =>
    Effect.gen(function*() {
      const Numbered = Schema.Struct({ page: Schema.Int })
      const tool = Tool.make("export", {
        description: "",
        parameters: Numbered,
        success: Schema.String,
        sideEffect: "idempotent"
      }, ({ page }) =>
        page === 1
          ? Effect.fail(new PartialData({ code: "more_pages", detail: "More.", data: "one", next: { page: 2 } }))
          : Effect.fail(lost)).pipe(Tool.paginate({ merge: (soFar, page) => soFar + page }))
      const outcome = yield* passing(
        Dispatch.call(Toolkit.make(tool), { id: "1", name: "export", arguments: "{\"page\":1}" })
      )
      assert.strictEqual(outcome.certainty, "unknown")
    }))

  it.effect("of an unreadable answer says executed only if the handler gave it", () =>
    Effect.gen(function*() {
      const five = custom(() => Effect.succeed(5 as Untyped))
      const { tool } = counted("pay", Effect.succeed("paid"))
      assert.strictEqual(certaintyOf(yield* outcomeOf(tool.pipe(Tool.with(five)))), "not_executed")
      assert.strictEqual(certaintyOf(yield* outcomeOf(counted("pay", Effect.succeed(5 as Untyped)).tool)), "executed")
    }))

  it.effect("to operators lets them resolve it with tools", () =>
    Effect.gen(function*() {
      const refund = counted("refund", Effect.succeed("refunded"))
      const tool = Tool.make(
        "pay",
        { description: "", parameters, success: Schema.String, uninterruptible: true },
        () => Effect.delay(Effect.succeed("paid"), 200)
      ).pipe(Tool.timeout(50))
      yield* outcomeOf(tool).pipe(
        Deadline.within(100),
        Effect.tap(() => TestClock.adjust("1 minute")),
        Observer.observe({ onLateResult: () => Effect.asVoid(Effect.orDie(refund.tool.run(paris))) })
      )
      assert.strictEqual(refund.ran.count, 1)
    }))

  it.effect("of a rejected call has no doubt, even if a policy maps its failure", () =>
    Effect.gen(function*() {
      const rejects = new SchemaMismatch({ side: "arguments", code: "odd", detail: "Odd." })
      const { tool } = counted("pay", Effect.fail(rejects))
      const outcome = yield* outcomeOf(tool.pipe(Tool.mapFailure((): Failure => silent)))
      assert.deepInclude(outcome, { certainty: "not_executed" })
    }))
})
