/**
 * A run asks its user, is resumed, and its client leaves in the middle. The user then asks again, in the same scope,
 * with the facts that came with the question.
 */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Model, SchemaMismatch, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import { ScriptedModel } from "@fallible/testing"
import { Duration, Effect, Fiber, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import { beginFacts } from "../../packages/core/src/internal/dispatch/recordCalls.ts"
import { byKey, note, Payment, service } from "../support/keyedService.ts"
import { lettered } from "../support/lettered.ts"
import { lost } from "../support/sequence.ts"
import { stored } from "../support/storedFacts.ts"
import { codesOf } from "../support/toldFailures.ts"

/** A tool that asks the user, and then sends its key. */
const asking = (send: (key: string) => Effect.Effect<unknown, ToolUnavailable>, options: object = byKey) =>
  Tool.make(
    "pay",
    { description: "", parameters: Payment, success: Schema.String, ...byKey, ...options },
    () =>
      Effect.gen(function*() {
        const { idempotencyKey } = yield* ToolCall.current
        yield* ToolCall.ask("Sure?")
        yield* send(idempotencyKey)
        return "paid"
      })
  )

const sure = Tool.make(
  "sure",
  { description: "", success: Schema.String, sideEffect: "none" },
  () => ToolCall.ask("Sure?")
)

/** Runs an agent until it asks. */
const question = <T extends Tool.Any>(agent: Agent.Agent<T>, kept: CallFacts.CallFacts, script: ScriptedModel.Script) =>
  Effect.gen(function*() {
    const failure = yield* Effect.flip(agent.run("Go.", { scope: "order-7", facts: kept }))
    return failure._tag === "RunSuspended"
      ? { suspension: failure.suspension, facts: stored(failure.facts) }
      : assert.fail(failure._tag)
  }).pipe(Effect.provide(ScriptedModel.layer(script)))

const payOnce: ScriptedModel.Script = ({ messages }) =>
  messages.at(-1)?.role === "user" ? ScriptedModel.call("pay", note("a")) : ScriptedModel.text("Done.")

/** A script that gives these replies, one in each turn. */
const inTurn =
  (...replies: ReadonlyArray<ReturnType<typeof ScriptedModel.text>>): ScriptedModel.Script => ({ messages }) =>
    replies[
      messages.slice(messages.findLastIndex(({ role }) => role === "user")).filter(({ role }) => role === "assistant")
        .length
    ] ?? ScriptedModel.text("Done.")

/** An agent whose first call fails and certainly does nothing. Its next call sends its key, and never ends. */
const failing = (keys: Array<string>, failure: "refused" | "down", first: Effect.Effect<unknown> = Effect.void) => {
  const refusal = new SchemaMismatch({ side: "arguments", code: "card_refused", detail: "Refused." })
  const down = new ToolUnavailable({ code: "down", detail: "Down.", transient: true, outcome: "not_executed" })
  const pay = Tool.make(
    "pay",
    { description: "", parameters: Payment, success: Schema.String, ...byKey },
    () =>
      Effect.gen(function*() {
        const { idempotencyKey } = yield* ToolCall.current
        keys.push(idempotencyKey)
        if (keys.length === 1) return yield* failure === "refused" ? refusal : down
        yield* first
        return yield* Effect.never
      })
  )
  return { agent: Agent.make({ toolkit: Toolkit.make(sure, pay) }), pay: ScriptedModel.call("pay", note("a")) }
}

/** Runs an agent until it has sent one more key, or asks. */
const untilKey = <A, E>(
  keys: ReadonlyArray<string>,
  run: Effect.Effect<A, E, Model.Model>,
  script: ScriptedModel.Script
) =>
  Effect.gen(function*() {
    const { length } = keys
    const fiber = yield* Effect.forkChild(Effect.provide(run, ScriptedModel.layer(script)), { startImmediately: true })
    while (keys.length === length) yield* Effect.yieldNow
    yield* Fiber.interrupt(fiber)
  })

describe("after a question, and a client that left", () => {
  it.effect("the same call has the same key, however often the user asks again", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const agent = Agent.make({
        toolkit: Toolkit.make(asking((key) => {
          keys.push(key)
          return Effect.never
        }))
      })
      let kept = CallFacts.empty
      for (let visit = 0; visit < 4; visit++) {
        const asked = yield* question(agent, kept, payOnce)
        const resumed = yield* agent.resume(asked.suspension, "yes").pipe(
          Effect.provide(ScriptedModel.layer(payOnce)),
          Effect.forkChild({ startImmediately: true })
        )
        yield* Effect.yieldNow
        yield* Fiber.interrupt(resumed)
        kept = asked.facts
      }
      assert.strictEqual(lettered(keys), "a a a a")
    }))

  it.effect("a call that followed the question has the same key", () =>
    Effect.gen(function*() {
      const paid = service()
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, ...byKey },
        (params) =>
          Effect.flatMap(ToolCall.current, ({ idempotencyKey }) =>
            Effect.andThen(Effect.orDie(paid.post(idempotencyKey, params)), Effect.never))
      )
      const agent = Agent.make({ toolkit: Toolkit.make(sure, pay) })
      const script: ScriptedModel.Script = ({ messages }) =>
        messages.at(-1)?.role === "user" ? ScriptedModel.call("sure") : ScriptedModel.call("pay", note("a"))
      let kept = CallFacts.empty
      for (let visit = 0; visit < 2; visit++) {
        const asked = yield* question(agent, kept, script)
        const resumed = yield* agent.resume(asked.suspension, "yes").pipe(
          Effect.provide(ScriptedModel.layer(script)),
          Effect.forkChild({ startImmediately: true })
        )
        while (paid.requests.length <= visit) {
          yield* Effect.yieldNow
        }
        yield* Fiber.interrupt(resumed)
        kept = asked.facts
      }
      assert.deepStrictEqual(paid.requests, ["acts", "known"])
      assert.strictEqual(paid.acted, 1)
    }))

  it.effect("what was done before the question counts as done, and what was refused gets a new key", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const refusal = new SchemaMismatch({ side: "arguments", code: "card_refused", detail: "Refused." })
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, ...byKey },
        ({ order }) =>
          Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => {
            keys.push(idempotencyKey)
            return order === "bad" ? Effect.fail(refusal) : Effect.succeed("paid")
          })
      )
      const agent = Agent.make({ toolkit: Toolkit.make(sure, pay) })
      const both = ScriptedModel.calls(["pay", { order: "good" }], ["pay", { order: "bad" }])
      const after = (reply: ReturnType<typeof ScriptedModel.text>): ScriptedModel.Script => ({ messages }) =>
        messages.at(-1)?.role === "user" ? both : reply
      const { facts: kept } = yield* question(agent, CallFacts.empty, after(ScriptedModel.call("sure")))
      const answer = yield* agent.run("Go.", { scope: "order-7", facts: kept }).pipe(
        Effect.provide(ScriptedModel.layer(after(ScriptedModel.text("Done."))))
      )
      assert.deepStrictEqual(codesOf(answer), ["already_done", "card_refused"])
      assert.strictEqual(lettered(keys), "a b c")
      assert.notProperty(answer.facts, "paused")
      // The next run follows a run that has ended, so it has keys of its own.
      const next = beginFacts(stored(answer.facts), "order-7")
      assert.deepInclude(next, { run: answer.facts.run + 1, mayHaveRun: "unlikely" })
    }))

  for (const failure of ["refused", "down"] as const) {
    it.effect(`so does the resumed run: a call that was ${failure} before the question`, () =>
      Effect.gen(function*() {
        const keys: Array<string> = []
        const { agent, pay } = failing(keys, failure)
        const script = inTurn(pay, ScriptedModel.call("sure"), pay)
        const asked = yield* question(agent, CallFacts.empty, script)
        const again = agent.run("Go.", { scope: "order-7", facts: asked.facts })
        for (const run of [agent.resume(asked.suspension, "yes"), again]) yield* untilKey(keys, run, script)
        assert.strictEqual(lettered(keys), failure === "refused" ? "a b b" : "a a a")
      }))

    it.effect(`a call that asks has one key, before and after the reply, if an earlier one was ${failure}`, () =>
      Effect.gen(function*() {
        for (const second of ["a", "b"]) {
          const keys: Array<string> = []
          const { agent, pay } = failing(keys, failure, ToolCall.ask("Sure?"))
          const next = ScriptedModel.call("pay", note(second))
          const asked = yield* question(agent, CallFacts.empty, inTurn(pay, next))
          yield* untilKey(keys, agent.resume(asked.suspension, "yes"), inTurn(pay, next))
          yield* untilKey(keys, agent.run("Go.", { scope: "order-7", facts: asked.facts }), inTurn(next))
          assert.strictEqual(lettered(keys), second === "b" && failure === "refused" ? "a b b b" : "a a a a")
        }
      }))
  }

  it.effect("a resumed call in doubt knows its arguments", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const down = new ToolUnavailable({ code: "down", detail: "Down.", transient: true, outcome: "not_executed" })
      const agent = Agent.make({
        toolkit: Toolkit.make(asking((key) =>
          Effect.suspend(() => {
            keys.push(key)
            return keys.length === 1 ? Effect.fail(down) : keys.length === 2 ? Effect.fail(lost) : Effect.void
          })
        ))
      })
      const pay = ScriptedModel.call("pay", note("a"))
      const script = ScriptedModel.layer(inTurn(pay, pay, pay))
      const answered = (run: ReturnType<typeof agent.run>): ReturnType<typeof agent.run> =>
        Effect.catchTag(run, "RunSuspended", ({ suspension }) => answered(agent.resume(suspension, "yes")))
      const { transcript } = yield* answered(agent.run("Go.")).pipe(Effect.provide(script))
      assert.strictEqual(lettered(keys), "a a a")
      const told = Array.from(transcript).flatMap((message) => message.role === "tool" ? [message.text] : [])
      assert.include(told[2], "share one idempotency key")
      assert.notInclude(told[2], "arguments of the earlier call")
    }))

  it.effect("a resumed run that ends is followed by a run with keys of its own", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const agent = Agent.make({
        toolkit: Toolkit.make(asking((key) => Effect.sync(() => keys.push(key)), { repeats: true }))
      })
      let kept = CallFacts.empty
      for (let visit = 0; visit < 2; visit++) {
        const asked = yield* question(agent, kept, payOnce)
        const answer = yield* agent.resume(asked.suspension, "yes").pipe(Effect.provide(ScriptedModel.layer(payOnce)))
        kept = stored(answer.facts)
      }
      assert.strictEqual(lettered(keys), "a b")
    }))

  it.effect("so it is if the model had postponed the run", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, ...byKey },
        () =>
          Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => {
            keys.push(idempotencyKey)
            return Effect.never
          })
      )
      const agent = Agent.make({ toolkit: Toolkit.make(pay), modelRetry: Schedule.recurs(0) })
      const busy = new Model.ModelFailure({
        code: "busy",
        detail: "Busy.",
        transient: true,
        retryAfter: Duration.hours(1)
      })
      let kept = CallFacts.empty
      for (let visit = 0; visit < 2; visit++) {
        const failure = yield* Effect.flip(agent.run("Go.", { scope: "order-7", facts: kept })).pipe(
          Effect.provide(Model.layer({ respond: () => Effect.fail(busy) }))
        )
        if (failure._tag !== "RunPostponed") return assert.fail(failure._tag)
        const resumed = yield* agent.resume(failure.postponement).pipe(
          Effect.provide(ScriptedModel.layer(payOnce)),
          Effect.forkChild({ startImmediately: true })
        )
        yield* TestClock.adjust("1 hour")
        while (keys.length <= visit) yield* Effect.yieldNow
        yield* Fiber.interrupt(resumed)
        kept = stored(failure.facts)
      }
      assert.strictEqual(lettered(keys), "a a")
    }))

  // The later run was refused under the first key, and paid under the second one. The old run still has the first one.
  it.effect.fails("a resumed run pays nothing that a later run has paid, if the service keeps no refusals", () =>
    Effect.gen(function*() {
      const paid = new Set<string>()
      let refusals = 1
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, ...byKey },
        () =>
          Effect.gen(function*() {
            const { idempotencyKey } = yield* ToolCall.current
            yield* ToolCall.ask("Sure?")
            if (refusals-- > 0) {
              return yield* new SchemaMismatch({ side: "arguments", code: "card_refused", detail: "Refused." })
            }
            paid.add(idempotencyKey)
            return "paid"
          })
      )
      const agent = Agent.make({ toolkit: Toolkit.make(pay) })
      const { facts, suspension } = yield* question(agent, CallFacts.empty, payOnce)
      const answered = (run: ReturnType<typeof agent.run>): ReturnType<typeof agent.run> =>
        Effect.catchTag(run, "RunSuspended", ({ suspension }) => answered(agent.resume(suspension, "yes")))
      yield* answered(agent.run("Go.", { facts })).pipe(Effect.provide(ScriptedModel.layer(
        inTurn(ScriptedModel.call("pay", note("a")), ScriptedModel.call("pay", note("b")))
      )))
      assert.strictEqual(paid.size, 1)
      yield* answered(agent.resume(suspension, "yes")).pipe(Effect.provide(ScriptedModel.layer([
        ScriptedModel.text("Done.")
      ])))
      assert.strictEqual(paid.size, 1)
    }))
})
