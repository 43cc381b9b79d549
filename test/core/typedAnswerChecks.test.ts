/** How typed answers are checked, and what a journal replays of it. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentFailure,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable,
  Transcript
} from "@fallible/core"
import * as Journal from "@fallible/core/Journal"
import * as RunHandle from "@fallible/core/RunHandle"
import { ScriptedModel } from "@fallible/testing"
import { Deferred, Effect, type Exit, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { z } from "zod"
import { FileJournal } from "../support/fileJournal.ts"
import { logging } from "../support/illTyped.ts"
import { namingJournal } from "../support/namingJournal.ts"
import type { Untyped } from "../support/nonsense.ts"
import {
  answered,
  call,
  calls,
  Days,
  daysAgent,
  failed,
  final,
  json,
  lastText,
  look,
  played,
  refused,
  structured,
  text,
  valueOf,
  ways
} from "../support/typedAnswers.ts"

describe("the check of an answer", () => {
  const checking = (
    checkOutput: (value: typeof Days.Type) =>
      | Effect.Effect<
        SemanticGarbage | void,
        SemanticGarbage | ToolUnavailable
      >
      | undefined,
    limits: Agent.Options<Tool.Any>["limits"] = {}
  ) => Agent.make({ toolkit: Toolkit.make(look()), output: Days, checkOutput, limits })
  it.effect("tells the model the valid choices", () =>
    Effect.gen(function*() {
      const closed = new SemanticGarbage({
        code: "closed",
        detail: "The house is closed.",
        hint: "Look at the calendar.",
        alternatives: ["7", "14"]
      })
      const agent = Agent.make({
        toolkit: Toolkit.empty,
        output: Days,
        checkOutput: ({ days }) => days === 7 ? undefined : Effect.succeed(closed)
      })
      for (const [way, write, model] of ways) {
        const { exit, requests } = yield* played(agent, model([write({ days: 3 }), write({ days: 7 })]))
        assert.deepStrictEqual(answered(exit).value, { days: 7 })
        const told = requests[1] === undefined ? "" : lastText(requests[1])
        for (const part of [closed.detail, closed.hint ?? "", "7", "14"]) assert.include(told, part, way)
      }
      const [, request] = (yield* played(agent, structured([json({ days: 3 }), json({ days: 7 })]))).requests
      assert.strictEqual(
        request === undefined ? "" : lastText(request),
        "Your last reply is not a valid answer: The house is closed. Look at the calendar. Valid choices: '7', '14'.\nReply with the corrected answer alone, as JSON."
      )
    }))

  const tooShort = new SemanticGarbage({
    code: "too_short",
    detail: "Less than 3 days is too short.",
    hint: "Add days."
  })

  it.effect("gets the value, and tells the model what is wrong, as a function or as an Effect", () =>
    Effect.gen(function*() {
      const isShort = ({ days }: typeof Days.Type) => days < 3
      const agents = [
        checking((value) => isShort(value) ? tooShort : undefined),
        checking((value) => isShort(value) ? Effect.fail(tooShort) : undefined),
        checking((value) => isShort(value) ? Effect.succeed(tooShort) : Effect.void),
        checking((value) => Effect.as(Effect.yieldNow, isShort(value) ? tooShort : undefined))
      ]
      for (const agent of agents) {
        for (const [, write, model] of ways) {
          const { exit, requests } = yield* played(agent, model([write({ days: 1 }), write({ days: 3 })]))
          assert.deepStrictEqual(answered(exit).value, { days: 3 })
          assert.include(lastText(requests[1]!), "Less than 3 days is too short.")
          assert.include(lastText(requests[1]!), "Add days.")
          const never = yield* played(agent, model(() => write({ days: 1 })))
          const failure = refused(never.exit)
          assert.deepInclude(failure, {
            detail: "The model gave no valid answer: Less than 3 days is too short.",
            text: "{\"days\":1}",
            issues: []
          })
          assert.strictEqual(never.requests.length, 3)
        }
      }
    }))

  it.effect("runs only for an answer that fits", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const agent = checking((value) => {
        seen.push(value)
        return undefined
      })
      yield* played(agent, [final("{\"days\":"), text("Hm."), final({ days: 3 })])
      assert.deepStrictEqual(seen, [{ days: 3 }])
    }))

  it.effect("runs again for the same answer, which may be good by then", () =>
    Effect.gen(function*() {
      for (const [, write, model] of ways) {
        let asked = 0
        const agent = checking(() =>
          asked++ < 2 ? Effect.fail(new ToolUnavailable({ code: "down", detail: "Down.", transient: true })) : undefined
        )
        assert.deepStrictEqual(yield* valueOf(agent, model(() => write({ days: 3 }))), [{ days: 3 }, 3])
      }
    }))

  it.effect("ends the run if it is broken: the model cannot mend it", () =>
    Effect.gen(function*() {
      const broken: ReadonlyArray<readonly [Untyped, RegExp]> = [
        [() => {
          throw new Error("no such column 'dyas'")
        }, /no such column/],
        [() => Effect.die(new Error("no such column 'dyas'")), /no such column/],
        [() => Promise.resolve(undefined), /promise/],
        [() => Promise.reject(new Error("no such column 'dyas'")), /promise/],
        [() => true, /The check of an agent's answer/],
        [() => null, /The check of an agent's answer/],
        [() => Effect.succeed(false), /succeed with undefined if the answer is good/],
        [() => Effect.fail("no"), /no/]
      ]
      for (const [check, logs] of broken) {
        for (const [, write, model] of ways) {
          const { logged, value } = yield* logging(played(checking(check), model([write({ days: 3 })])))
          assert.deepInclude(refused(value.exit), {
            detail: "The answer was not taken: its check failed with an internal error.",
            text: "{\"days\":3}"
          })
          assert.match(logged.join("\n"), logs)
          assert.notInclude(JSON.stringify(value.exit), "dyas")
        }
      }
    }))

  it.effect("may stop the run", () =>
    Effect.gen(function*() {
      for (const [, write, model] of ways) {
        const { exit, requests } = yield* played(
          checking(() => ToolCall.stop("Not today.")),
          model([write({ days: 3 })])
        )
        const failure = failed(exit)
        assert.isTrue(failure._tag === "RunStopped" && failure.reason === "Not today.")
        assert.strictEqual(requests.length, 1)
      }
    }))

  it.effect("is ended by the run's time limit", () =>
    Effect.gen(function*() {
      const agent = checking(() => Effect.never, { elapsed: "1 minute" })
      for (const [, write, model] of ways) {
        const fiber = yield* Effect.forkChild(played(agent, model([write({ days: 3 })])))
        yield* TestClock.adjust("59 seconds")
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 second")
        const { exit } = yield* Fiber.join(fiber)
        const failure = failed(exit)
        assert.isTrue(failure._tag === "LimitReached" && failure.limit === "elapsed")
      }
    }))

  it.effect("is interrupted with its run, which shows how far it has come", () =>
    Effect.gen(function*() {
      for (const [way, write, model] of ways) {
        const begun = yield* Deferred.make<void>()
        const ended: Array<string> = []
        const agent = checking(() =>
          Effect.andThen(Deferred.succeed(begun, undefined), Effect.never).pipe(
            Effect.onInterrupt(() => Effect.sync(() => ended.push(way)))
          )
        )
        const handle = RunHandle.make()
        const fiber = yield* Effect.forkChild(
          Effect.provide(agent.run("?", { handle }), model([calls(["look"], ["look"]), write({ days: 3 })])),
          { startImmediately: true }
        )
        yield* Deferred.await(begun)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(ended, [way])
        const { inDoubt, report, transcript } = handle.progress ?? assert.fail()
        assert.deepStrictEqual(inDoubt, [])
        assert.strictEqual(report.turns, 2)
        assert.deepStrictEqual(
          Transcript.toArray(transcript).map((message) => message.role === "tool" ? message.name : message.role),
          ["user", "assistant", "look", "look", "assistant", "final_answer"]
        )
      }
    }))

  it.effect("may act, and what it did is known if the run is interrupted, fails, or is refused", () =>
    Effect.gen(function*() {
      const book = Tool.make("book", { description: "", success: Schema.String }, () => Effect.never)
      for (const [, write, model] of ways) {
        const handle = RunHandle.make()
        const agent = checking(() => Effect.asVoid(Effect.orDie(book.run({}))))
        const fiber = yield* Effect.forkChild(
          Effect.provide(agent.run("?", { handle }), model([write({ days: 3 })])),
          { startImmediately: true }
        )
        yield* TestClock.adjust("1 minute")
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(handle.progress?.inDoubt.length, 1)
      }
    }))

  it.effect("counts the tokens of the agents that it runs", () =>
    Effect.gen(function*() {
      const judge = Agent.make({ toolkit: Toolkit.empty, output: Schema.Boolean })
      const usage = { inputTokens: 10, outputTokens: 2 }
      const verdict = (value: boolean) => ScriptedModel.layer([{ ...json(value), usage }])
      for (const [, write, model] of ways) {
        const agent = checking(({ days }) =>
          Effect.flatMap(Effect.orDie(Effect.provide(judge.run("Good?"), verdict(days > 2))), ({ value }) =>
            value ? Effect.void : Effect.fail(tooShort))
        )
        const { exit } = yield* played(agent, model([write({ days: 1 }), write({ days: 3 })]))
        assert.deepInclude(answered(exit).report, { turns: 2, inputTokens: 20, outputTokens: 4 })
      }
    }))

  describe("may ask the user", () => {
    const asking = () => {
      const replies: Array<string> = []
      const agent = checking(({ days }) =>
        Effect.flatMap(ToolCall.ask(`Is ${days} right?`), (reply) => {
          replies.push(reply)
          return reply === "yes" ? Effect.void : Effect.fail(tooShort)
        })
      )
      return { agent, replies }
    }
    const suspended = <A>(exit: Exit.Exit<A, AgentFailure.AgentFailure>): AgentFailure.RunSuspended => {
      const failure = failed(exit)
      return failure instanceof AgentFailure.RunSuspended ? failure : assert.fail(String(failure))
    }
    const stored = (suspension: AgentFailure.Suspension): AgentFailure.Suspension =>
      Schema.decodeUnknownSync(AgentFailure.Suspension)(
        JSON.parse(JSON.stringify(Schema.encodeSync(AgentFailure.Suspension)(suspension)))
      )

    for (const [way, write, model] of ways) {
      it.effect(`of an answer that was given by ${way}, also through storage`, () =>
        Effect.gen(function*() {
          const { agent, replies } = asking()
          const { exit, requests } = yield* played(agent, model([write({ days: "3" })]))
          const failure = suspended(exit)
          assert.strictEqual(failure.question, "Is 3 right?")
          assert.strictEqual(requests.length, 1)
          const yes = yield* Effect.provide(agent.resume(stored(failure.suspension), "yes"), model([]))
          assert.deepStrictEqual(yes.value, { days: 3 })
          assert.strictEqual(yes.text, "{\"days\":3}")
          assert.strictEqual(yes.report.repairs.length, 1)
          assert.strictEqual(yes.report.turns, 1)
          assert.deepStrictEqual(Transcript.toArray(yes.transcript).map(({ role }) => role), ["user", "assistant"])
          const again = suspended(
            yield* Effect.exit(Effect.provide(agent.resume(failure.suspension, "no"), model([write({ days: 4 })])))
          )
          assert.strictEqual(again.question, "Is 4 right?")
          const other = yield* Effect.provide(agent.resume(stored(again.suspension), "yes"), model([]))
          assert.deepStrictEqual(other.value, { days: 4 })
          assert.deepStrictEqual(replies, ["yes", "no", "yes"])
          const ids = Transcript.toArray(other.transcript).flatMap((message) =>
            message.role === "assistant" ? message.calls.map(({ id }) => id) : []
          )
          assert.strictEqual(new Set(ids).size, ids.length)
        }))
    }

    for (const [way, write, model] of ways) {
      it.effect(`counts a refusal as a correction, and keeps it out of the transcript (${way})`, () =>
        Effect.gen(function*() {
          const { agent, replies } = asking()
          const refuse = (suspension: AgentFailure.Suspension, days: number) =>
            Effect.gen(function*() {
              const exit = yield* Effect.exit(agent.resume(stored(suspension), "no"))
              const { requests } = yield* ScriptedModel.ScriptedModel
              return { exit, requests: yield* requests }
            }).pipe(Effect.provide(model([write({ days })])))
          const first = suspended((yield* played(agent, model([write({ days: 1 })]))).exit)
          if (way !== "a call") {
            assert.deepStrictEqual(Transcript.toArray(first.transcript), [
              { role: "user", text: "How long?" },
              { role: "assistant", text: "{\"days\":1}", calls: [] }
            ])
          }
          let { suspension } = first
          for (const days of [2, 3]) {
            const { exit, requests: [request] } = yield* refuse(suspension, days)
            suspension = suspended(exit).suspension
            if (request === undefined) return assert.fail("not asked")
            assert.include(lastText(request), tooShort.detail)
            assert.strictEqual(suspension.refused, days - 1)
            if (way === "a call") continue
            // The model has made no call, so it is told of none.
            assert.deepStrictEqual(request.messages.map(({ role }) => role), ["user", "assistant", "user"])
            assert.isTrue(
              request.messages.every((message) => message.role !== "assistant" || message.calls.length === 0)
            )
          }
          const { exit, requests } = yield* refuse(suspension, 4)
          const failure = refused(exit)
          assert.include(failure.text, "3")
          assert.deepStrictEqual(requests, [])
          assert.deepStrictEqual(replies, ["no", "no", "no"])
          assert.strictEqual(failure.report.turns, 3)
          if (way === "a call") return
          assert.deepStrictEqual(Transcript.toArray(failure.transcript).map(({ role }) => role), ["user"])
        }))
    }

    it.effect("once for two equal answers of a reply", () =>
      Effect.gen(function*() {
        const { agent } = asking()
        const equal = calls(["final_answer", { days: 3 }], ["final_answer", { days: 3 }])
        const { suspension } = suspended((yield* played(agent, [equal])).exit)
        const { value } = yield* Effect.provide(agent.resume(suspension, "yes"), ScriptedModel.layer([]))
        assert.deepStrictEqual(value, { days: 3 })
      }))
  })
})

describe("a typed answer in a journal", () => {
  it.effect("is replayed with the same value, and is not checked again", () =>
    Effect.gen(function*() {
      for (const [, write, model] of ways) {
        let checked = 0
        const output = Schema.Struct({ at: Schema.Date })
        const agent = Agent.make({
          toolkit: Toolkit.make(look()),
          output,
          checkOutput: () =>
            Effect.sync(() => {
              checked++
            })
        })
        const journal = new FileJournal()
        const answer = { at: "2026-01-02T03:04:05Z" }
        const process = (script: ScriptedModel.Script, stop?: { readonly step: number; readonly hasRun: boolean }) =>
          journal.process(
            (journal) =>
              agent.run("When?", { id: "run-1" }).pipe(
                Effect.provideService(Journal.current, journal),
                Effect.provide(model(script))
              ),
            stop
          )
        const first = yield* process([call("look"), write(answer)])
        const second = yield* process([])
        if (first === undefined || second === undefined) return assert.fail("stopped")
        assert.deepStrictEqual(answered(first).value, { at: new Date("2026-01-02T03:04:05Z") })
        assert.deepStrictEqual(answered(second), answered(first))
        assert.strictEqual(checked, 1)
      }
    }))

  it.effect("is refused if its validator has become broken by the time of the replay", () =>
    Effect.gen(function*() {
      for (const [, write, model] of ways) {
        let isBroken = false
        const output = z.object({ days: z.int() }).refine(() => {
          if (isBroken) throw new Error("boom")
          return true
        })
        const run = Agent.make({ toolkit: Toolkit.empty, output }).run("?", { id: "run-1" })
        const journal = new FileJournal()
        const process = journal.process((journal) =>
          run.pipe(Effect.provideService(Journal.current, journal), Effect.provide(model([write({ days: 3 })])))
        )
        const first = yield* process
        isBroken = true
        const { logged, value: second } = yield* logging(process)
        if (first === undefined || second === undefined) return assert.fail("stopped")
        assert.deepStrictEqual(answered(first).value, { days: 3 })
        assert.include(refused(second).detail, "internal error")
        assert.include(logged.join(), "could not be decoded again")
      }
    }))

  it.effect("goes on after a crash at any step, and corrections are told again", () =>
    Effect.gen(function*() {
      for (const [, write, model] of ways) {
        const script: ScriptedModel.Script = ({ messages }) =>
          messages.length < 2 ? write({ days: "x" }) : write({ days: 3 })
        const run = daysAgent.run("?", { id: "run-1" }).pipe(Effect.provide(model(script)))
        const { journal, names } = namingJournal()
        const whole = answered(yield* Effect.exit(Effect.provideService(run, Journal.current, journal)))
        for (const hasRun of [true, false]) {
          for (let step = 1; step <= names.length; step++) {
            const file = new FileJournal()
            const process = (stop?: { readonly step: number; readonly hasRun: boolean }) =>
              file.process((journal) => Effect.provideService(run, Journal.current, journal), stop)
            assert.isUndefined(yield* process({ step, hasRun }))
            const exit = yield* process()
            assert.isDefined(exit)
            if (exit !== undefined) assert.deepStrictEqual(answered(exit), whole)
          }
        }
      }
    }))
})
