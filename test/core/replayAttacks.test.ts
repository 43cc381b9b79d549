/** Findings of attacks: ways in which a restarted run paid twice. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, SchemaMismatch, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Journal from "@fallible/core/Journal"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Exit, Option, Schedule, Schema } from "effect"
import { FileJournal, type Stop } from "../support/fileJournal.ts"
import { byKey, note, paying, Payment, played, type Service, service } from "../support/keyedService.ts"
import type { Untyped } from "../support/nonsense.ts"
import { certaintiesOf, codesOf } from "../support/toldFailures.ts"

describe("a run that may have begun before", () => {
  it.effect("treats a refused key as doubt, for a job that a queue delivers again", () =>
    Effect.gen(function*() {
      for (const options of [{ id: "job-1" }, { scope: "order-7", facts: CallFacts.empty }]) {
        const paid = service()
        yield* played(paying(paid), [note("a")], options)
        const second = yield* played(paying(paid), [note("b"), note("c")], options)
        assert.strictEqual(paid.acted, 1)
        assert.deepStrictEqual(certaintiesOf(second), ["unknown", "unknown"])
      }
    }))

  it.effect("treats a refused key as doubt with stored facts, if one key may have several bodies", () =>
    Effect.gen(function*() {
      const paid = service()
      const { facts } = yield* played(paying(paid), [])
      yield* played(paying(paid), [note("a")], { facts })
      const again = yield* played(paying(paid), [note("b"), note("c")], { facts })
      assert.strictEqual(paid.acted, 1)
      assert.deepStrictEqual(certaintiesOf(again), ["unknown", "unknown"])
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, ...byKey, identity: "all" },
        () =>
          Effect.fail(
            new SchemaMismatch({
              side: "arguments",
              code: "rejected",
              detail: "No such order.",
              cause: { status: 422 }
            })
          )
      )
      const invalid = yield* played(pay, [note("a")], { facts })
      assert.deepStrictEqual(certaintiesOf(invalid), ["not_executed"])
    }))

  it.effect("gets the first answer if it makes the same call", () =>
    Effect.gen(function*() {
      const paid = service()
      yield* played(paying(paid), [note("a")], { id: "job-1" })
      const { transcript } = yield* played(paying(paid), [note("a")], { id: "job-1" })
      assert.deepStrictEqual(paid.requests, ["acts", "known"])
      assert.deepInclude(transcript.at(2), { role: "tool", text: "\"receipt\"" })
    }))

  it.effect("includes the run of an inner agent whose outer call is retried", () =>
    Effect.gen(function*() {
      for (const sideEffect of ["idempotent", "idempotent_by_key"] as const) {
        const paid = service("acts and drops")
        let asked = 0
        const desk = Tool.make(
          "desk",
          { description: "", parameters: Payment, success: Schema.String, sideEffect, identity: "all" },
          () => {
            asked++
            const calls = asked === 1 ? [note("a")] : [note("b"), note("c")]
            return Effect.flatMap(
              Effect.orDie(played(paying(paid), calls)),
              () =>
                Effect.fail(new ToolUnavailable({ code: "desk", detail: "Lost.", transient: true, outcome: "unknown" }))
            )
          }
        )
        yield* played(desk, [note("x"), note("x")])
        assert.strictEqual(paid.acted, 1)
        // A model may act differently each time, so no key covers it.
        assert.strictEqual(asked, sideEffect === "idempotent" ? 2 : 1)
      }
    }))
})

describe("a replay", () => {
  const broken = Effect.fnUntraced(
    function*<T extends Tool.Any>(tool: T, calls: ReadonlyArray<object | string>, stop: Stop) {
      const file = new FileJournal()
      assert.isUndefined(yield* file.process((journal) => played(tool, calls, { id: "run-1" }, journal), stop))
      const exit = yield* file.process((journal) => played(tool, calls, { id: "run-1" }, journal))
      return exit === undefined || Exit.isFailure(exit) ? assert.fail("It has no answer.") : exit.value
    }
  )

  it.effect("asks no fixer again, because it may answer differently, so the outcome stays unknown", () =>
    Effect.gen(function*() {
      const answers = [{ order: "7" }, { order: "No. 7" }, { order: "7" }]
      const fixed = (paid: Service) => {
        let asked = 0
        return Tool.fix(paying(paid), () => answers[asked++] ?? { order: "7" })
      }
      const paid = service()
      const answer = yield* broken(fixed(paid), [{ oder: "7" }, { order: "7" }], { step: 2, hasRun: true })
      assert.strictEqual(paid.acted, 1)
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "in_doubt"])
    }))

  const rejecting = (
    sideEffect: "non_idempotent" | "idempotent_by_key",
    ends: ReadonlyArray<"rejects" | "is down">
  ) => {
    const paid: Array<string> = []
    let ran = 0
    const pay = Tool.make(
      "pay",
      { description: "", parameters: Payment, success: Schema.String, sideEffect, identity: "all" },
      ({ order }) =>
        Effect.flatMap(
          ToolCall.current,
          ({ idempotencyKey }): Effect.Effect<string, SchemaMismatch | ToolUnavailable> => {
            const end = order === "7" ? undefined : ends[ran++]
            if (end === "rejects") {
              return Effect.fail(new SchemaMismatch({ side: "arguments", code: "no", detail: "No." }))
            }
            if (end === "is down") {
              return Effect.fail(
                new ToolUnavailable({ code: "down", detail: "Down.", transient: false, outcome: "not_executed" })
              )
            }
            if (!paid.includes(idempotencyKey)) paid.push(idempotencyKey)
            return Effect.succeed("receipt")
          }
        )
    )
    return { paid, pay }
  }
  const seven = () => ({ order: "7" })
  const stop: Stop = { step: 2, hasRun: true }

  it.effect("runs a call that needed no fixer under its key, as without one", () =>
    Effect.gen(function*() {
      const { paid, pay } = rejecting("idempotent_by_key", [])
      const answer = yield* broken(Tool.fix(pay, () => ""), [{ order: "8" }], stop)
      assert.deepStrictEqual(codesOf(answer), [])
      assert.strictEqual(paid.length, 1)
    }))

  it.effect("repeats neither the original nor the corrected call if a fixer may have corrected it", () =>
    Effect.gen(function*() {
      const first = rejecting("non_idempotent", ["rejects", "rejects"])
      const answer = yield* broken(Tool.fix(first.pay, seven), [{ order: "8" }, { order: "7" }], stop)
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "in_doubt"])
      assert.strictEqual(first.paid.length, 1)
      // The service is up again.
      const second = rejecting("idempotent_by_key", ["is down"])
      yield* broken(Tool.fix(second.pay, seven, { on: ["ToolUnavailable"] }), [{ order: "8" }], stop)
      assert.strictEqual(second.paid.length, 1)
    }))

  it.effect("of a call that is rejected again leaves its earlier correction, which has its key, in doubt", () =>
    Effect.gen(function*() {
      const { paid, pay } = rejecting("idempotent_by_key", ["rejects", "rejects"])
      const answer = yield* broken(Tool.fix(pay, seven), [{ order: "8" }, { order: "7" }], stop)
      assert.deepInclude(answer.report.failures[0], { code: "no", certainty: "unknown" })
      assert.strictEqual(paid.length, 1)
    }))

  it.effect("proves nothing by a check with other arguments", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      let asked = 0
      const pay = Tool.make("pay", { description: "", parameters: Payment, success: Schema.String }, ({ order }) =>
        Effect.sync(() => {
          paid.push(order)
          return "receipt"
        })).pipe(
          Tool.fix(() =>
            asked++ === 0 ? { order: "7" } : { order: "No. 7" }
          ),
          Tool.reconcile(({ order }) =>
            Effect.succeed(paid.includes(order) ? Option.some("receipt") : Option.none()), { final: true }),
          Tool.retry(Schedule.recurs(1))
        )
      const answer = yield* broken(pay, [{ oder: "7" }, { order: "7" }], { step: 2, hasRun: true })
      assert.deepStrictEqual(paid, ["7"])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "in_doubt"])
    }))

  it.effect("runs no call that is no longer readable because its tool changed or disappeared", () =>
    Effect.gen(function*() {
      const changed = Schema.Struct({ ...Payment.fields, currency: Schema.String })
      for (const sideEffect of ["non_idempotent", "idempotent_by_key"] as const) {
        let paid = 0
        const payBy = (parameters: typeof Payment | typeof changed) =>
          Tool.make(
            "pay",
            { description: "", parameters, success: Schema.String, sideEffect, identity: "all" },
            () => Effect.sync(() => `receipt ${++paid}`)
          )
        const other = Tool.make("other", { description: "", success: Schema.String }, () => Effect.succeed(""))
        const now = (pay: typeof Payment | typeof changed | undefined, file: FileJournal, stop?: Stop) =>
          file.process(
            (journal) =>
              Agent.make({ toolkit: pay === undefined ? Toolkit.make(other) : Toolkit.make(other, payBy(pay)) }).run(
                "Go."
              ).pipe(
                Effect.provideService(Journal.current, journal),
                Effect.provide(ScriptedModel.layer([
                  ScriptedModel.call("pay", note("a")),
                  ScriptedModel.call("pay", { ...note("a"), currency: "EUR" }),
                  ScriptedModel.text("Done.")
                ]))
              ),
            stop
          )
        for (const deployed of [changed, undefined]) {
          paid = 0
          const file = new FileJournal()
          yield* now(Payment, file, { step: 3, hasRun: true })
          assert.strictEqual(paid, 1)
          const exit = yield* now(deployed, file)
          const answer = exit === undefined || Exit.isFailure(exit) ? assert.fail("It has no answer.") : exit.value
          assert.strictEqual(codesOf(answer)[0], "outcome_unknown")
          // The same applies if the tool is back in a later run.
          yield* played(payBy(Payment), [note("a")], { facts: answer.facts })
          assert.strictEqual(paid, 1)
        }
      }
    }))

  it.effect("reports no doubt about a call that was refused and never ran", () =>
    Effect.gen(function*() {
      const once = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, repeats: false },
        () => Effect.succeed("receipt")
      )
      const refused = yield* broken(once, [note("a"), note("a")], { step: 4, hasRun: false })
      const message = refused.transcript.at(4)
      assert.include(
        message?.role === "tool" ? message.text : "",
        "Do not repeat this call: it has already taken effect."
      )
    }))

  it.effect("halts if a record does not decode, with the call in doubt", () =>
    Effect.gen(function*() {
      let paid = 0
      const pay = Tool.make("pay", { description: "", parameters: Payment, success: Schema.String }, () =>
        Effect.sync(() =>
          `${++paid}`
        ))
      const agent = Agent.make({ toolkit: Toolkit.make(pay) })
      const first: Journal.Journal = { step: (_, effect) => effect }
      const script = ScriptedModel.layer([ScriptedModel.call("pay", note("a")), ScriptedModel.text("Done.")])
      yield* agent.run("Go.", { id: "job-1" }).pipe(
        Effect.provideService(Journal.current, first),
        Effect.provide(script)
      )
      const corrupt: Journal.Journal = {
        step: (step, effect) =>
          step.name === "turn/1/call/1"
            ? Effect.die("The row is corrupt.")
            : step.name === "turn/1/model"
            ? Effect.succeed({ version: 1, value: ScriptedModel.call("pay", note("a")), used: 0 } as Untyped)
            : effect
      }
      const halted = yield* Effect.flip(
        agent.run("Go.", { id: "job-1" }).pipe(Effect.provideService(Journal.current, corrupt), Effect.provide(script))
      )
      assert.strictEqual(halted._tag, "RunHalted")
      assert.strictEqual(paid, 1)
      // The facts close the tool: the call may have acted in the earlier process.
      const next = yield* agent.run("Pay.", { facts: halted.facts }).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay", note("b")), ScriptedModel.text("Done.")]))
      )
      assert.deepStrictEqual(codesOf(next), ["in_doubt"])
      assert.strictEqual(paid, 1)
    }))
})
