/**
 * Whether a call has taken effect: learned where a handler ends, and told whatever policies make of it.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  CallEvent,
  type Certainty,
  Dispatch,
  LateResult,
  PartialData,
  Policy,
  Rendering,
  SchemaMismatch,
  SemanticGarbage,
  type SideEffect,
  Tool,
  type ToolFailure,
  Toolkit,
  type ToolUnavailable
} from "@fallible/core"
import { Deferred, Effect, Exit, Logger, Random, Schedule, Schema } from "effect"
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

const garbage = new SemanticGarbage({ code: "odd", detail: "Odd." })

type Ends = Effect.Effect<string, Failure>

/** A tool that counts how often its handler ran. */
const counting = (
  end: Ends,
  sideEffect: SideEffect.SideEffect = "non_idempotent",
  declared: { readonly refusesFirst?: boolean; readonly uninterruptible?: boolean } = {}
) => {
  const runs = { count: 0 }
  const tool: Tool.Tool<string, typeof paris, string, Failure> = Tool.make(
    "pay",
    { description: "Pays", parameters, success: Schema.String, sideEffect, ...declared },
    () =>
      Effect.suspend(() => {
        runs.count++
        return end
      })
  )
  return { runs, tool }
}

/** What comes to its end, whoever interrupts it. */
const uncut = (end: Ends, sideEffect?: SideEffect.SideEffect) =>
  counting(Effect.delay(end, "3 seconds"), sideEffect, { uninterruptible: true }).tool

type Pay = ReturnType<typeof counting>["tool"]

const call = { id: "1", name: "pay", arguments: "{\"city\":\"Paris\"}" }

const outcomeOf = (tool: Tool.Any) =>
  passing(Dispatch.call(Toolkit.make(tool as Pay), { ...call, name: tool.name }, { idempotencyKey: "key" }))

describe("what acts is not run again", () => {
  const again = Tool.retry(Schedule.recurs(2))
  const cases: Readonly<Record<string, (tool: Pay) => Tool.Any>> = {
    "when its lost failure is mapped to one that was not executed": (tool) =>
      tool.pipe(Tool.mapFailure((): Failure => notExecuted), again),
    "when it is caught, and what catches it was not executed": (tool) =>
      tool.pipe(
        Tool.catchTag("ToolUnavailable", (): Ends => Effect.fail(notExecuted)),
        Tool.catchTag("ToolUnavailable", (): Ends => Effect.fail(notExecuted)),
        again
      ),
    "by a policy that retries": (tool) => tool.pipe(Tool.with(custom((run) => Effect.retry(run, { times: 2 })))),
    "by a policy that runs it twice at once": (tool) =>
      tool.pipe(Tool.with(custom((run) => Effect.map(Effect.all([run, run], { concurrency: 2 }), ([one]) => one)))),
    "by a policy that maps it, inside of a retry": (tool) =>
      tool.pipe(Tool.with(custom((run) => Effect.mapError(run, () => notExecuted))), again)
  }
  for (const [name, wrap] of Object.entries(cases)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const { runs, tool } = counting(Effect.fail(lost))
        const outcome = yield* outcomeOf(wrap(tool))
        assert.strictEqual(runs.count, 1)
        assert.deepInclude(outcome, { _tag: "Failed", certainty: "unknown" })
        const told = Rendering.json(outcome, call)
        assert.include(
          told,
          "Do not repeat this call: it may already have taken effect. Find out whether it has, or tell the user."
        )
      }))
  }

  it.effect("after it has succeeded, whatever a policy fails with then", () =>
    Effect.gen(function*() {
      const { runs, tool } = counting(Effect.succeed("paid"))
      const outcome = yield* outcomeOf(
        tool.pipe(Tool.with(custom((run) => Effect.andThen(run, Effect.fail(notExecuted)))), again)
      )
      assert.strictEqual(runs.count, 1)
      assert.deepInclude(outcome, { _tag: "Failed", certainty: "executed" })
      assert.include(Rendering.json(outcome, call), "Do not repeat this call: it has already taken effect.")
    }))

  it.effect("and the failure says why", () =>
    Effect.gen(function*() {
      const twice = custom((run) => Effect.andThen(Effect.ignore(run), run))
      const ends: ReadonlyArray<readonly [Ends, string, Certainty.Certainty]> = [
        [Effect.fail(lost), "an earlier attempt of this call may have taken effect. Before: Reset.", "unknown"],
        [Effect.succeed("paid"), "an earlier attempt of this call has already taken effect.", "executed"],
        [Effect.fail(unknownCity), "it has refused this call already. Before: Unknown city.", "not_executed"]
      ]
      for (const [end, why, outcome] of ends) {
        const { runs, tool } = counting(end)
        const failure = yield* Effect.flip(tool.pipe(Tool.with(twice)).run(paris))
        assert.deepInclude({ ...failure }, {
          code: "not_repeated",
          detail: `pay was not run again: ${why}`,
          transient: false,
          outcome
        })
        assert.strictEqual(runs.count, 1)
      }
    }))

  it.effect("but after what certainly did nothing it is, whatever that was mapped to", () =>
    Effect.gen(function*() {
      for (const end of [notExecuted, new SchemaMismatch({ side: "arguments", code: "odd", detail: "Odd." })]) {
        const { runs, tool } = counting(Effect.fail(end))
        const outcome = yield* outcomeOf(tool.pipe(Tool.mapFailure((): Failure => silent), again))
        assert.strictEqual(runs.count, 3)
        assert.deepInclude(outcome, { _tag: "Failed", certainty: "not_executed" })
        assert.notMatch(Rendering.json(outcome, call), /taken effect/)
      }
    }))

  it.effect("after a refusal, unless its service refuses before anything is done", () =>
    Effect.gen(function*() {
      for (const refusesFirst of [false, true]) {
        let runs = 0
        const tool = Tool.make("pay", { description: "", parameters, success: Schema.String, refusesFirst }, () =>
          Effect.suspend(() => {
            runs++
            return Effect.fail(unknownCity)
          })).pipe(
            Tool.mapFailure(() =>
              silent
            ),
            again
          )
        const outcome = yield* outcomeOf(tool)
        assert.deepStrictEqual([runs, outcome.certainty], [refusesFirst ? 3 : 1, "not_executed"])
      }
    }))

  it.effect("after what may have acted in its place: the source of a fallback, a policy by itself", () =>
    Effect.gen(function*() {
      const places: ReadonlyArray<(tool: Pay) => Tool.Any> = [
        (tool) => tool.pipe(Tool.fallback(() => Effect.fail(lost)), again),
        (tool) => tool.pipe(Tool.fallback(() => Effect.fail(silent)), Tool.mapFailure(() => notExecuted), again),
        (tool) =>
          tool.pipe(
            Tool.with(custom((run) => Effect.catch(run, () => Effect.fail(lost)))),
            Tool.mapFailure(() => notExecuted),
            again
          )
      ]
      for (const wrap of places) {
        const { runs, tool } = counting(Effect.fail(notExecuted))
        assert.deepInclude(yield* outcomeOf(wrap(tool)), { _tag: "Failed", certainty: "unknown" })
        assert.strictEqual(runs.count, 1)
      }
    }))

  it.effect("while the source of a fallback that was left behind still runs", () =>
    Effect.gen(function*() {
      const { runs, tool } = counting(Effect.fail(notExecuted))
      const deaf = Effect.uninterruptible(Effect.delay(Effect.succeed("queued"), "1 hour"))
      const outcome = yield* outcomeOf(tool.pipe(Tool.fallback(() => deaf), Tool.timeout("1 second"), again))
      assert.strictEqual(outcome._tag, "Failed")
      assert.strictEqual(runs.count, 1)
    }))

  it.effect("because a tool inside of it rejected its arguments: what came before that may have acted", () =>
    Effect.gen(function*() {
      const { tool: rejects } = counting(
        Effect.fail(new SchemaMismatch({ side: "arguments", code: "odd", detail: "Odd." }))
      )
      const { runs, tool } = counting(rejects.run(paris))
      yield* outcomeOf(tool.pipe(Tool.mapFailure((): Failure => silent), again))
      assert.strictEqual(runs.count, 1)
    }))

  it.live("by a policy that leaves the fibers of the call, and it says so", () =>
    Effect.gen(function*() {
      const leaving = Policy.make<never, ToolUnavailable>({
        kind: "custom",
        name: "leaving",
        description: "leaves",
        wrap: <A, E extends ToolFailure.ToolFailure, R>(run: Policy.Run<A, E, R>) => (params: unknown) =>
          Effect.flatMap(
            Effect.promise(() => Effect.runPromiseExit(run(params) as Effect.Effect<A, E>)),
            (exit) => exit
          )
      })
      for (const sideEffect of ["none", "idempotent", "non_idempotent"] as const) {
        const { runs, tool } = counting(Effect.succeed("done"), sideEffect)
        const outcome = yield* Dispatch.call(Toolkit.make(tool.pipe(Tool.with(leaving))), call)
        assert.strictEqual(outcome.certainty, "not_executed")
        if (sideEffect === "none") {
          assert.deepInclude(outcome, { _tag: "Completed", value: "done" })
        } else {
          assert.strictEqual(runs.count, 0)
          assert.deepNestedInclude(outcome, { _tag: "Failed", "failure.code": "outside_call" })
        }
      }
    }))

  it.effect("where it is idempotent, it may be", () =>
    Effect.gen(function*() {
      const { runs, tool } = counting(Effect.fail(lost), "idempotent")
      const outcome = yield* outcomeOf(tool.pipe(again))
      assert.strictEqual(runs.count, 3)
      assert.strictEqual(outcome.certainty, "unknown")
    }))
})

describe("a deadline", () => {
  it.effect("begins nothing that waited for its turn until then: 200 queues", () =>
    Effect.gen(function*() {
      for (let round = 0; round < 200; round++) {
        yield* Effect.gen(function*() {
          let paid = 0
          const holds = yield* Random.nextIntBetween(1, 12)
          const waits = yield* Random.nextIntBetween(1, 12)
          const tool = doing(
            Effect.delay(Effect.sync(() => `${++paid}`), `${holds * 100} millis`),
            "non_idempotent",
            "pay"
          ).pipe(Tool.concurrency(1))
          const timely = tool.pipe(Tool.timeout(`${waits * 100} millis`), Tool.retry(Schedule.recurs(1)))
          const both = yield* Effect.all([
            Effect.forkChild(tool.run(paris), { startImmediately: true }),
            Effect.forkChild(Tool.outcome(timely, paris), { startImmediately: true })
          ])
          yield* TestClock.adjust("1 minute")
          const { certainty } = yield* (both[1].pollUnsafe() ?? assert.fail("no end"))
          const second = paid - 1
          assert.strictEqual(second, certainty === "executed" ? 1 : 0, `${holds} ${waits} ${certainty}`)
          // With the very tick of its deadline nothing begins, and what began nobody waits for is not certain.
          if (waits <= holds && 2 * waits <= holds) assert.strictEqual(certainty, "not_executed")
        }).pipe(Random.withSeed(round), Effect.provide(TestClock.layer()))
      }
    }))

  it.effect("that comes while a call waits for its permit leaves it certain that nothing was done", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const pay = doing(Effect.as(Deferred.await(gate), "paid"), "non_idempotent", "pay").pipe(Tool.concurrency(1))
      yield* Effect.forkChild(pay.run(paris), { startImmediately: true })
      const patient = Tool.with(custom((run) => Effect.andThen(Effect.sleep("2 seconds"), run)))
      for (const waits of [pay, pay.pipe(patient)]) {
        const outcome = yield* outcomeOf(waits.pipe(Tool.timeout("1 second")))
        assert.deepNestedInclude(outcome, {
          certainty: "not_executed",
          attempts: 0,
          "failure.transient": true,
          "failure.outcome": "not_executed"
        })
        assert.notMatch(Rendering.json(outcome, call), /taken effect/)
      }
    }))

  it.effect("that is over is the end of a handler's own tools, too, but for those that only read", () =>
    Effect.gen(function*() {
      const began: Array<string> = []
      const inner = (name: string, sideEffect: SideEffect.SideEffect) =>
        doing(Effect.sync(() => `${began.push(name)}`), sideEffect, name).run(paris)
      const outer = doing(
        Effect.uninterruptible(Effect.delay(
          Effect.andThen(
            Effect.exit(inner("writes", "non_idempotent")),
            Effect.andThen(Effect.exit(inner("puts", "idempotent")), inner("reads", "none"))
          ),
          "2 seconds"
        )),
        "non_idempotent",
        "outer"
      ).pipe(Tool.timeout("1 second"))
      assert.strictEqual((yield* outcomeOf(outer)).certainty, "unknown")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(began, ["reads"])
    }))
})

describe("an answer", () => {
  const elsewhere = "pay itself has done nothing: this answer comes from elsewhere."
  const doubt = "pay may have taken effect all the same. Do not do it again before you have found out."
  const caveatsOf = (tool: Tool.Any) =>
    Effect.map(outcomeOf(tool), (outcome) => outcome._tag === "Completed" ? outcome.caveats : outcome)
  const queued: Ends = Effect.succeed("queued")

  it.effect("of a fallback or a catch says in what doubt the tool was left", () =>
    Effect.gen(function*() {
      for (const sideEffect of ["idempotent", "non_idempotent"] as const) {
        const ends: ReadonlyArray<readonly [Failure, string]> = [[lost, doubt], [silent, doubt], [
          notExecuted,
          elsewhere
        ]]
        for (const [end, told] of ends) {
          const { tool } = counting(Effect.fail(end), sideEffect)
          assert.deepStrictEqual(yield* caveatsOf(Tool.fallback(tool, () => queued)), [told])
          assert.deepStrictEqual(yield* caveatsOf(Tool.catchTag(tool, "ToolUnavailable", () => queued)), [told])
        }
        const refuses = counting(Effect.fail(unknownCity), sideEffect).tool
        assert.deepStrictEqual(yield* caveatsOf(Tool.catchTag(refuses, "SemanticGarbage", () => queued)), [
          elsewhere
        ])
      }
      const reads = counting(Effect.fail(lost), "none").tool
      assert.deepStrictEqual(yield* caveatsOf(Tool.fallback(reads, () => queued)), [])
    }))

  it.effect("of its own says nothing, also after an attempt that an idempotent tool lost", () =>
    Effect.gen(function*() {
      let attempts = 0
      const tool = doing(
        Effect.suspend(() => ++attempts === 1 ? Effect.fail(lost) : Effect.succeed("paid")),
        "idempotent",
        "pay"
      ).pipe(Tool.retry(Schedule.recurs(1)))
      assert.deepInclude(yield* outcomeOf(tool), { _tag: "Completed", caveats: [], certainty: "executed" })
    }))

  it.effect("says whom to ask, where the toolkit has it", () =>
    Effect.gen(function*() {
      const status = doing(Effect.succeed("paid"), "none", "status")
      const pay = Tool.make(
        "pay",
        { description: "", success: Schema.String, check: "status" },
        () => Effect.fail(lost)
      ).pipe(Tool.fallback(() => queued))
      const outcome = yield* Dispatch.call(Toolkit.make(pay, status), { id: "1", name: "pay" })
      assert.strictEqual(
        Rendering.json(outcome, call),
        JSON.stringify({
          value: "queued",
          notes: [`${doubt} Call status to find out`]
        })
      )
    }))

  it.effect("is the second source's, which acted", () =>
    Effect.gen(function*() {
      const mirror = doing(Effect.succeed("paid there"), "non_idempotent", "mirror")
      const { tool } = counting(Effect.fail(notExecuted))
      const outcome = yield* outcomeOf(tool.pipe(Tool.fallback(mirror.run)))
      assert.deepInclude(outcome, { _tag: "Completed", caveats: [], certainty: "executed" })
    }))
})

describe("doubt of a tool inside", () => {
  const { tool: loses } = counting(Effect.fail(lost))

  it.effect("is the outer call's, whatever the outer one declares, and makes of it", () =>
    Effect.gen(function*() {
      for (const sideEffect of ["none", "idempotent", "non_idempotent"] as const) {
        const ends: ReadonlyArray<Ends> = [
          Effect.mapError(loses.run(paris), () => garbage),
          Effect.mapError(loses.run(paris), () => notExecuted),
          Effect.orElseSucceed(loses.run(paris), () => "done"),
          Effect.forkDetach(loses.run(paris), { startImmediately: true }).pipe(Effect.as("done"))
        ]
        for (const end of ends) {
          const outer = doing(end, sideEffect, "outer")
          const outcome = yield* outcomeOf(outer)
          assert.strictEqual(outcome.certainty, "unknown", sideEffect)
          const deep = doing(outer.run(paris), sideEffect, "deep")
          assert.strictEqual((yield* outcomeOf(deep)).certainty, "unknown", sideEffect)
        }
      }
    }))

  it.effect("of an attempt that only read is kept where the call fails, and settled where it is answered", () =>
    Effect.gen(function*() {
      const { tool: puts } = counting(Effect.fail(lost), "idempotent")
      const { tool: pays } = counting(Effect.succeed("paid"))
      const ends: ReadonlyArray<readonly [first: Pay, last: Ends, certainty: Certainty.Certainty]> = [
        [loses, Effect.fail(unknownCity), "unknown"],
        [puts, Effect.fail(unknownCity), "unknown"],
        [pays, Effect.fail(unknownCity), "executed"],
        // Another attempt does again what is idempotent, and nothing else.
        [puts, Effect.succeed("done"), "not_executed"],
        [loses, Effect.succeed("done"), "unknown"],
        [pays, Effect.succeed("done"), "executed"]
      ]
      for (const sideEffect of ["none", "idempotent"] as const) {
        for (const [inner, last, certainty] of ends) {
          let attempts = 0
          const outer = doing<Failure>(
            Effect.suspend((): Ends =>
              ++attempts === 1 ? Effect.andThen(Effect.exit(inner.run(paris)), Effect.fail(silent)) : last
            ),
            sideEffect,
            "outer"
          ).pipe(Tool.retry(Schedule.recurs(1)))
          const outcome = yield* outcomeOf(outer)
          // What says that it only reads, and has run what acts, is not tried again.
          assert.strictEqual(attempts, sideEffect === "none" && inner !== puts ? 1 : 2)
          const settled = sideEffect === "idempotent" && certainty === "not_executed" ? "executed" : certainty
          const own = sideEffect === "idempotent" && outcome._tag === "Failed" ? "unknown" : settled
          assert.strictEqual(outcome.certainty, own)
        }
      }
    }))

  it.effect("is none where the inner tool found out for itself", () =>
    Effect.gen(function*() {
      const sure = loses.pipe(Tool.reconcile(() => Effect.succeedNone, { final: true }))
      const outer = doing(Effect.orElseSucceed(sure.run(paris), () => "done"), "none", "outer")
      assert.deepInclude(yield* outcomeOf(outer), { _tag: "Completed", certainty: "not_executed" })
    }))

  it.effect("says that it has taken effect, though the outer one failed", () =>
    Effect.gen(function*() {
      const { tool: pays } = counting(Effect.succeed("paid"))
      const outer = doing(Effect.andThen(pays.run(paris), Effect.fail(unknownCity)), "none", "outer")
      const outcome = yield* outcomeOf(outer)
      assert.strictEqual(outcome.certainty, "executed")
      assert.include(Rendering.json(outcome, call), "it has already taken effect")
      assert.deepInclude({
        ...(yield* Effect.flip(
          doing(
            Effect.andThen(pays.run(paris), Effect.fail(notExecuted)),
            "none",
            "outer"
          ).run(paris)
        ))
      }, { outcome: "executed" })
    }))
})

describe("Tool.outcome", () => {
  it.effect("tells a program all that is known of a run", () =>
    Effect.gen(function*() {
      const { tool } = counting(Effect.fail(lost), "idempotent")
      const { exit, ...account } = yield* passing(Tool.outcome(
        tool.pipe(
          Tool.retry(Schedule.spaced("1 second").pipe(Schedule.upTo({ times: 1 }))),
          Tool.mapFailure(() => garbage)
        ),
        paris
      ))
      assert.deepStrictEqual(exit, Exit.fail(garbage))
      assert.deepInclude(account, { certainty: "unknown", attempts: 2, executions: 2, caveats: [] })
      assert.deepStrictEqual(account.handled.map(({ by, code }) => `${by} ${code}`), ["retry connection"])
    }))

  it.effect("has answers, defects and partial answers, and what is said of them", () =>
    Effect.gen(function*() {
      const answers = yield* Tool.outcome(counting(Effect.succeed("paid")).tool, paris)
      assert.deepInclude(answers, { exit: Exit.succeed("paid"), certainty: "executed" })
      const dies = yield* Tool.outcome(counting(Effect.die("bug")).tool, paris)
      assert.deepInclude(dies, { exit: Exit.die("bug"), certainty: "unknown" })
      const part = new PartialData({ code: "more", detail: "More.", data: "some" })
      const partly = Tool.make("partly", { description: "", success: Schema.String }, () => Effect.fail(part))
      assert.deepInclude(yield* Tool.outcome(partly, {}), { exit: Exit.fail(part), certainty: "executed" })
      const falls = counting(Effect.fail(lost)).tool.pipe(
        Tool.fallback(() => Effect.succeed("queued"), { name: "queue" })
      )
      assert.deepInclude(yield* Tool.outcome(falls, paris), {
        exit: Exit.succeed("queued"),
        certainty: "unknown",
        source: { name: "queue" }
      })
      assert.deepInclude(yield* Tool.outcome(counting(Effect.succeed("seen"), "none").tool, paris), {
        exit: Exit.succeed("seen"),
        certainty: "not_executed"
      })
    }))

  it.effect("is an inner call, in another tool's handler, and works data-last, and for a tool made by hand", () =>
    Effect.gen(function*() {
      const { tool } = counting(Effect.fail(lost))
      const outer = doing(Effect.map(Tool.outcome(tool, paris), ({ certainty }) => certainty), "none", "outer")
      assert.deepInclude(yield* outcomeOf(outer), { _tag: "Completed", value: "unknown", certainty: "unknown" })
      assert.strictEqual((yield* Tool.outcome(paris)(tool)).certainty, "unknown")
      const byHand = { ...tool, run: () => Effect.succeed("paid") }
      assert.strictEqual((yield* Tool.outcome(byHand as Pay, paris)).certainty, "executed")
      assert.strictEqual((yield* outcomeOf(byHand)).certainty, "executed")
      const copied = { ...tool, description: "Another" }
      assert.deepInclude(yield* outcomeOf(copied), { certainty: "unknown", attempts: 1 })
    }))
})

describe("a late end", () => {
  const late = (end: Ends, limit = "1 second" as const) => uncut(end).pipe(Tool.timeout(limit))

  const heard = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.gen(function*() {
      const results: Array<LateResult.LateResult> = []
      const events: Array<CallEvent.Watched> = []
      const value = yield* effect.pipe(
        Effect.provideService(CallEvent.watcher, (event) => events.push(event)),
        Effect.provideService(LateResult.reporter, (result) => Effect.sync(() => results.push(result)))
      )
      yield* TestClock.adjust("1 minute")
      return { value, results, events }
    })

  it.effect("is told to operators, with the tool, its key, its certainty and its time", () =>
    Effect.gen(function*() {
      const ends: ReadonlyArray<readonly [Ends, Certainty.Certainty, string | undefined]> = [
        [Effect.succeed("paid"), "executed", undefined],
        [Effect.fail(notExecuted), "not_executed", "connection"],
        [Effect.fail(lost), "unknown", "connection"],
        [Effect.die("bug"), "unknown", undefined]
      ]
      for (const [end, certainty, code] of ends) {
        const { events, results, value } = yield* heard(outcomeOf(late(end)))
        assert.strictEqual(value.certainty, "unknown")
        assert.strictEqual(results.length, 1)
        const [{ at, ...result }] = results as [LateResult.LateResult]
        assert.isAbove(at, 0)
        assert.deepStrictEqual(result, {
          tool: "pay",
          id: "key",
          key: "key",
          attempt: 1,
          certainty,
          ...(code === undefined ? {} : { code })
        })
        const last = events.at(-1)
        assert.deepInclude(last, { _tag: "AttemptEnded", late: true, certainty, attempt: 1 })
      }
    }))

  it.effect("of a tool inside of a handler that nobody waits for is told, too, by its own name", () =>
    Effect.gen(function*() {
      const outer = doing(uncut(Effect.succeed("paid")).run(paris), "none", "outer").pipe(Tool.timeout("1 second"))
      const { results, value } = yield* heard(outcomeOf(outer))
      assert.strictEqual(value.certainty, "unknown")
      assert.deepStrictEqual(results.map(({ certainty, id, tool }) => `${tool} ${id} ${certainty}`), [
        "pay key/pay/1 executed"
      ])
    }))

  it.effect("is not told of what ends with its interruption, of what only reads, and of what somebody waits for", () =>
    Effect.gen(function*() {
      const tools = [
        counting(Effect.never).tool.pipe(Tool.timeout("1 second")),
        uncut(Effect.succeed("seen"), "none").pipe(Tool.timeout("1 second")),
        counting(Effect.succeed("paid")).tool
      ]
      for (const tool of tools) assert.deepStrictEqual((yield* heard(outcomeOf(tool))).results, [])
    }))

  it.effect("of a promise, or of a run that a policy left behind, counts as well", () =>
    Effect.gen(function*() {
      const left = counting(Effect.delay(Effect.succeed("paid"), "3 seconds")).tool.pipe(
        Tool.with(
          custom((run) => Effect.andThen(Effect.forkDetach(run, { startImmediately: true }), Effect.fail(garbage)))
        )
      )
      const { results, value } = yield* heard(outcomeOf(left))
      assert.strictEqual(value.certainty, "unknown")
      assert.deepStrictEqual(results.map(({ certainty }) => certainty), ["executed"])
    }))

  it.effect("is logged as a warning where nobody takes it, and breaks nothing where who takes it is broken", () =>
    Effect.gen(function*() {
      const lines: Array<unknown> = []
      const logger = Logger.layer([Logger.make(({ logLevel, message }) => lines.push([logLevel, message].flat()))])
      yield* Effect.andThen(outcomeOf(late(Effect.succeed("paid"))), TestClock.adjust("1 minute")).pipe(
        Effect.provide(logger)
      )
      assert.deepStrictEqual(lines, [
        ["Warn", "pay ended after nobody waited for it any more. It has taken effect."]
      ])
      const broken: ReadonlyArray<LateResult.Reporter> = [
        () => Effect.die("broken"),
        () => {
          throw new Error("broken")
        },
        (() => Promise.reject(new Error("broken"))) as never,
        () => Effect.never
      ]
      for (const reporter of broken) {
        yield* Effect.andThen(outcomeOf(late(Effect.succeed("paid"))), TestClock.adjust("1 minute")).pipe(
          Effect.provideService(LateResult.reporter, reporter)
        )
      }
    }))

  it.effect("that comes before the call has its outcome makes it certain", () =>
    Effect.gen(function*() {
      const slow = late(Effect.succeed("paid")).pipe(
        Tool.fallback(() => Effect.delay(Effect.fail(garbage), "5 seconds"))
      )
      assert.deepInclude(yield* outcomeOf(slow), { _tag: "Failed", certainty: "executed" })
    }))
})
