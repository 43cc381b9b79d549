/** A journal in a real file, and processes that stop at each step in turn. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, SemanticGarbage, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import * as Answer from "@fallible/core/Answer"
import * as Deadline from "@fallible/core/Deadline"
import * as Journal from "@fallible/core/Journal"
import { ScriptedModel } from "@fallible/testing"
import { Duration, Effect, Exit, Fiber, Option, Schedule, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { FileJournal, type Stop } from "../support/fileJournal.ts"
import { passing } from "../support/virtualTime.ts"

const Order = Schema.Struct({ order: Schema.String })
const order = { order: "7" }

/** Makes tools with every kind of side effect, and records their effects with their keys. */
const world = () => {
  const acted: Array<string> = []
  const acting = (name: string, sideEffect: Tool.Any["sideEffect"]) =>
    Tool.make(
      name,
      { description: name, parameters: Order, success: Schema.String, sideEffect, identity: "all" },
      () =>
        Effect.map(ToolCall.current, ({ idempotencyKey }) => {
          acted.push(`${name} ${idempotencyKey}`)
          return `${name} done`
        })
    )
  const checked = acting("checked", "non_idempotent").pipe(
    Tool.reconcile(
      () =>
        Effect.map(
          ToolCall.current,
          ({ idempotencyKey }) =>
            acted.includes(`checked ${idempotencyKey}`) ? Option.some("checked done") : Option.none()
        ),
      { final: true }
    ),
    Tool.retry(Schedule.recurs(1))
  )
  const failing = Tool.make("failing", {
    description: "",
    parameters: Order,
    success: Schema.String,
    sideEffect: "none"
  }, () => Effect.fail(new SemanticGarbage({ code: "unknown_order", detail: "No such order." })))
  const toolkit = Toolkit.make(
    acting("look", "none"),
    acting("put", "idempotent"),
    acting("keyed", "idempotent_by_key"),
    acting("pay", "non_idempotent"),
    checked,
    failing
  )
  return { acted, toolkit }
}

const script: ScriptedModel.Script = ({ messages }) => {
  const turn = messages.filter(({ role }) => role === "assistant").length
  return [
    ScriptedModel.calls(["look", order], ["failing", order]),
    ScriptedModel.calls(["put", order], ["keyed", order], ["keyed", order]),
    ScriptedModel.call("pay", order),
    ScriptedModel.calls(["checked", order], ["look", order]),
    ScriptedModel.call("keyed", order),
    ScriptedModel.text("Done.")
  ][turn]!
}

/** Plays a run in processes that stop at the given points, until it ends. */
const played = (stopOf: (process: number) => Stop | undefined, options: Agent.RunOptions = { id: "run-1" }) =>
  Effect.gen(function*() {
    const { acted, toolkit } = world()
    const file = new FileJournal()
    const agent = Agent.make({ toolkit })
    const stoppedAt: Array<string> = []
    for (let number = 0;; number++) {
      const run = (journal: Journal.Journal) =>
        agent.run("Go.", options).pipe(
          Effect.provideService(Journal.current, journal),
          Effect.provide(ScriptedModel.layer(script))
        )
      const exit = yield* file.process(run, stopOf(number))
      if (exit !== undefined) return { acted, answer: yield* exit, lost: file.lost, begun: file.begun, stoppedAt }
      stoppedAt.push(file.begun.at(-1) ?? "")
    }
  })

const foundLate = "Its answer was lost or unclear, but a check found that it took effect"

const once = (stop: Stop) => (process: number) => process === 0 ? stop : undefined

const never = () => undefined

const stored = (answer: Answer.Answer) => JSON.parse(JSON.stringify(Schema.encodeSync(Answer.schema)(answer)))

describe("a run that stops at any of its steps, and is replayed", () => {
  // The read-only calls of a turn run concurrently.
  const steps = 15

  it.effect("has one step per reply and per call", () =>
    Effect.gen(function*() {
      const { begun, lost } = yield* played(never)
      assert.strictEqual(begun.length, steps)
      assert.deepStrictEqual(lost, [])
    }))

  for (let step = 1; step <= steps; step++) {
    for (const hasRun of [false, true]) {
      it.effect(`ends with the same result: step ${step}, ${hasRun ? "after" : "before"} it ran`, () =>
        Effect.gen(function*() {
          const whole = yield* played(never)
          const { acted, answer, begun, lost, stoppedAt } = yield* played(once({ step, hasRun }))
          // Calls that only read simply run again.
          assert.isFalse(lost.some((name) => name.startsWith("turn/1/") || name === "turn/4/call/2"))
          // No step with a stored result runs again.
          assert.isAtMost(begun.length, steps - step + 2)
          const payments = acted.filter((deed) => deed.startsWith("pay "))
          const [name = ""] = stoppedAt
          const isLostPayment = name === "turn/3/call/1"
          assert.strictEqual(payments.length, isLostPayment && !hasRun ? 0 : 1)
          assert.strictEqual(acted.filter((deed) => deed.startsWith("checked ")).length, 1)
          // However often a tool acted, its service saw no other keys.
          const keys = (of: ReadonlyArray<string>) => Array.from(new Set(of)).toSorted()
          if (!isLostPayment) {
            assert.deepStrictEqual(keys(acted), keys(whole.acted))
            const [now, then] = [stored(answer), stored(whole.answer)]
            if (name === "turn/4/call/1") {
              // Its check found it, which the model reads, or it ran after the check. Either way, the answer is the same.
              const read = hasRun ? { value: "checked done", notes: [foundLate] } : "checked done"
              const messages = then.transcript.messages.map((message: object) =>
                "name" in message && message.name === "checked" ? { ...message, text: JSON.stringify(read) } : message
              )
              assert.deepStrictEqual(now.transcript, { ...then.transcript, messages })
            } else assert.deepStrictEqual(now, then)
          } else {
            assert.deepStrictEqual(lost, ["turn/3/call/1"])
            const unavailable = answer.report.failures.filter((entry) => entry.tag === "ToolUnavailable")
            assert.deepStrictEqual(unavailable.map(({ code }) => code), ["outcome_unknown"])
            assert.include(JSON.stringify(Array.from(answer.transcript)), "it may already have taken effect")
          }
        }))
    }
  }

  it.effect("ends with the same result if it stops at each step in turn", () =>
    Effect.gen(function*() {
      const whole = yield* played(never)
      // Each process replays stored steps, runs lost ones, and stops at the first new step.
      const { acted, answer, stoppedAt } = yield* played((process) => ({ step: process === 0 ? 1 : 2, hasRun: false }))
      assert.isAbove(stoppedAt.length, 10)
      const keys = (of: ReadonlyArray<string>) =>
        Array.from(new Set(of)).filter((key) => !key.startsWith("pay ")).toSorted()
      assert.deepStrictEqual(keys(acted), keys(whole.acted))
      assert.strictEqual(answer.text, "Done.")
    }))

  it.effect("keeps the id, and therefore the keys, of its first process", () =>
    Effect.gen(function*() {
      const { acted } = yield* played(once({ step: 8, hasRun: true }), {})
      const keyed = acted.filter((deed) => deed.startsWith("keyed "))
      // One for both of one turn, and one later. None changes when it runs again.
      assert.strictEqual(new Set(keyed).size, 2)
    }))

  it.effect("distinguishes two intended payments from one that was lost", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      const pay = Tool.make(
        "pay",
        {
          description: "",
          parameters: Order,
          success: Schema.String,
          sideEffect: "idempotent_by_key",
          identity: "all"
        },
        () => Effect.map(ToolCall.current, ({ idempotencyKey }) => (paid.push(idempotencyKey), "paid"))
      )
      const twice: ScriptedModel.Script = ({ messages }) =>
        messages.filter(({ role }) => role === "tool").length < 2
          ? ScriptedModel.call("pay", order)
          : ScriptedModel.text("Paid twice.")
      for (const step of [2, 3, 4]) {
        paid.length = 0
        const file = new FileJournal()
        const process = (stop?: Stop) =>
          file.process((journal) =>
            Agent.make({ toolkit: Toolkit.make(pay) }).run("Twice.", { id: "run-1" }).pipe(
              Effect.provideService(Journal.current, journal),
              Effect.provide(ScriptedModel.layer(twice))
            ), stop)
        yield* process({ step, hasRun: true })
        yield* process()
        assert.strictEqual(new Set(paid).size, 2)
      }
    }))
})

describe("after a replay", () => {
  const pay = (ends: ReadonlyArray<ToolUnavailable>) => {
    const remaining = [...ends]
    let paid = 0
    const tool = Tool.make(
      "pay",
      {
        description: "",
        parameters: Schema.Struct({ order: Schema.String, amount: Schema.Finite }),
        success: Schema.String
      },
      () =>
        Effect.suspend(() => {
          paid++
          const end = remaining.shift()
          return end === undefined ? Effect.succeed("paid") : Effect.fail(end)
        })
    )
    return { tool, paid: () => paid }
  }
  const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })

  it.effect("the same payment is recognized, however it is written: \"5\", then 5", () =>
    Effect.gen(function*() {
      const { paid, tool } = pay([lost])
      const file = new FileJournal()
      const moves = [
        ScriptedModel.call("pay", { order: "7", amount: "5" }),
        ScriptedModel.call("pay", { amount: 5, order: "7" }),
        ScriptedModel.text("Done.")
      ]
      const answers: ScriptedModel.Script = ({ messages }) =>
        moves[messages.filter(({ role }) => role === "assistant").length]!
      const process = (stop?: Stop) =>
        file.process((journal) =>
          Agent.make({ toolkit: Toolkit.make(tool) }).run("Pay.").pipe(
            Effect.provideService(Journal.current, journal),
            Effect.provide(ScriptedModel.layer(answers))
          ), stop)
      assert.isUndefined(yield* process({ step: 4, hasRun: false }))
      const exit = yield* process()
      assert.strictEqual(paid(), 1)
      assert.deepStrictEqual(
        exit === undefined || Exit.isFailure(exit) ? exit : exit.value.report.failures.map(({ code }) => code),
        ["outcome_unknown", "repeated_call"]
      )
    }))

  it.effect("events of replayed steps are marked as replayed, and no others", () =>
    Effect.gen(function*() {
      const { toolkit } = world()
      const file = new FileJournal()
      const streamed = (stop?: Stop) =>
        file.process((journal) =>
          Stream.runCollect(Agent.make({ toolkit }).stream("Go.", { id: "run-1" })).pipe(
            Effect.provideService(Journal.current, journal),
            Effect.provide(ScriptedModel.layer(script))
          ), stop)
      yield* streamed({ step: 6, hasRun: false })
      const exit = yield* streamed()
      if (exit === undefined || Exit.isFailure(exit)) return assert.fail("It stopped.")
      const events = exit.value
      const relevant = events.filter(({ _tag }) => /^(Turn|Model|Call)(Started|Replied|Ended)$/.test(_tag)).slice(0, 12)
      assert.deepStrictEqual(
        relevant.map((event) => `${event._tag}${"replayed" in event ? ", replayed" : ""}`),
        [
          "TurnStarted, replayed",
          "ModelReplied, replayed",
          "CallStarted, replayed",
          "CallEnded, replayed",
          "CallStarted, replayed",
          "CallEnded, replayed",
          "TurnStarted, replayed",
          "ModelReplied, replayed",
          "CallStarted, replayed",
          "CallEnded, replayed",
          "CallStarted",
          "CallEnded"
        ]
      )
      const first = events.findIndex((event) => event._tag === "CallStarted" && event.replayed === undefined)
      assert.deepStrictEqual(
        events.slice(0, first).filter((event) => event._tag === "AttemptStarted" || event._tag === "TextDelta"),
        []
      )
      for (const event of events) {
        const text = JSON.stringify(Schema.encodeSync(AgentEvent.schema)(event))
        assert.deepStrictEqual(Schema.decodeUnknownSync(AgentEvent.schema)(JSON.parse(text))._tag, event._tag)
      }
    }))
})

describe("the time of a run", () => {
  const slow = (name: string, secondsLeft: Array<number>) =>
    Tool.make(
      name,
      { description: "", success: Schema.String, sideEffect: "none" },
      () =>
        Effect.flatMap(Deadline.timeLeft, (timeLeft) => {
          secondsLeft.push(Duration.toSeconds(timeLeft))
          return Effect.delay(Effect.succeed("done"), "4 seconds")
        })
    )

  const working: ScriptedModel.Script = ({ messages }) =>
    messages.filter(({ role }) => role === "tool").length < 4 ? ScriptedModel.call("work") : ScriptedModel.text("Done.")

  it.effect("continues where its process stopped, without counting the time in between", () =>
    Effect.gen(function*() {
      const secondsLeft: Array<number> = []
      const agent = Agent.make({ toolkit: Toolkit.make(slow("work", secondsLeft)), limits: { elapsed: "10 seconds" } })
      const file = new FileJournal()
      const process = (stop?: Stop) =>
        file.process((journal) =>
          agent.run("Go.").pipe(
            Effect.provideService(Journal.current, journal),
            Effect.provide(ScriptedModel.layer(working))
          ), stop)
      // Steps: the run's id, a reply, a call, a reply. The second call is under way.
      const fiber = yield* Effect.forkChild(process({ step: 5, hasRun: true }))
      yield* TestClock.adjust("30 seconds")
      assert.isUndefined(yield* Fiber.join(fiber))
      yield* TestClock.adjust("1 hour")
      const exit = yield* passing(process())
      // The second call was lost together with its time. The run had used 4 s when it started.
      assert.deepStrictEqual(secondsLeft, [10, 6, 6, 2])
      assert.isTrue(exit !== undefined && Exit.isFailure(exit))
      const failure = exit === undefined ? undefined : Option.getOrUndefined(Exit.findErrorOption(exit))
      assert.deepInclude(failure, { _tag: "LimitReached", limit: "elapsed" })
    }))

  it.effect("is not extended by a replay that takes longer than the run's limit", () =>
    Effect.gen(function*() {
      const secondsLeft: Array<number> = []
      const agent = Agent.make({ toolkit: Toolkit.make(slow("work", secondsLeft)), limits: { elapsed: "20 seconds" } })
      const file = new FileJournal()
      const process = (delay: Duration.Input, stop?: Stop) =>
        file.process((journal) =>
          agent.run("Go.", { id: "run-1" }).pipe(
            Effect.provideService(Journal.current, {
              step: (step, effect) => Effect.delay(journal.step(step, effect), delay)
            }),
            Effect.provide(ScriptedModel.layer(working))
          ), stop)
      // Steps: a reply, a call, a reply.
      yield* passing(process(0, { step: 4, hasRun: false }))
      yield* passing(process("3 seconds"))
      // Three steps were replayed in 9 s, and the fourth waited too.
      assert.deepStrictEqual(secondsLeft, [20, 8])
    }))

  it.effect("never exceeds the deadline around it", () =>
    Effect.gen(function*() {
      const secondsLeft: Array<number> = []
      const agent = Agent.make({ toolkit: Toolkit.make(slow("work", secondsLeft)), limits: { elapsed: "20 seconds" } })
      const file = new FileJournal()
      const process = (stop?: Stop) =>
        file.process((journal) =>
          agent.run("Go.", { id: "run-1" }).pipe(
            Effect.provideService(Journal.current, journal),
            Effect.provide(ScriptedModel.layer(working)),
            Deadline.within("5 seconds")
          ), stop)
      yield* passing(process({ step: 3, hasRun: false }))
      yield* passing(process())
      assert.deepStrictEqual(secondsLeft, [5, 5, 1])
    }))

  it.effect("continues after a question, without counting the wait for the user", () =>
    Effect.gen(function*() {
      const secondsLeft: Array<number> = []
      const work = slow("work", secondsLeft)
      const ask = Tool.make("ask", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        ToolCall.ask("Go on?"))
      const agent = Agent.make({ toolkit: Toolkit.make(work, ask), limits: { elapsed: "10 seconds" } })
      const asking: ScriptedModel.Script = ({ messages }) =>
        [
          ScriptedModel.call("work"),
          ScriptedModel.call("ask"),
          ScriptedModel.call("work"),
          ScriptedModel.text("Done.")
        ][
          messages.filter(({ role }) =>
            role === "assistant"
          ).length
        ]!
      const program = Effect.gen(function*() {
        const failure = yield* Effect.flip(agent.run("Go."))
        if (failure._tag !== "RunSuspended") return assert.fail(failure._tag)
        assert.strictEqual(Duration.toSeconds(failure.suspension.used), 4)
        yield* Effect.sleep("2 days")
        return yield* agent.resume(failure.suspension, "yes")
      })
      const { text } = yield* passing(Effect.provide(program, ScriptedModel.layer(asking)))
      assert.strictEqual(text, "Done.")
      assert.deepStrictEqual(secondsLeft, [10, 6])
    }))
})
