/** What an agent does when its model fails: decisions (C7), shorter results after an overflow, and postponed runs (H7). */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentFailure,
  type Model,
  ModelFailure,
  RetryPolicy,
  Tool,
  Toolkit,
  ToolUnavailable,
  type Transcript
} from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Journal from "@fallible/core/Journal"
import * as ModelRecovery from "@fallible/core/ModelRecovery"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Cause, Clock, Duration, Effect, Exit, Fiber, Layer, Logger, Schedule, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { FileJournal } from "../support/fileJournal.ts"
import { atOnce, providers, serving } from "../support/models.ts"
import { namingJournal } from "../support/namingJournal.ts"
import type { Untyped } from "../support/nonsense.ts"
import { ping } from "../support/pinging.ts"
import { heard } from "../support/plainTools.ts"
import { asRun } from "../support/streamedRun.ts"
import { passing, passingBy } from "../support/virtualTime.ts"

const failureOf = (code: string, transient: boolean, more: Partial<ModelFailure> = {}) =>
  new ModelFailure({ code, detail: `It says: ${code}.`, transient, cause: `the cause of ${code}`, ...more })

const busy = failureOf("server_error", true)
const late = failureOf("timeout", false)
const refused = failureOf("refused", false)
const overflow = failureOf("context_overflow", false)
const hourly = failureOf("rate_limited", true, { status: 429, retryAfter: Duration.hours(1) })

const fails = (failure: ModelFailure) => Effect.fail(failure)

const quiet = Logger.layer([])

/** Runs with a scripted model until the end, with virtual time. Returns the exit and what the model was asked. */
const played = <A, E>(run: Effect.Effect<A, E, Model.Model>, script: ScriptedModel.Script) =>
  Effect.gen(function*() {
    const exit = yield* passing(Effect.exit(run))
    return { exit, requests: yield* (yield* ScriptedModel.ScriptedModel).requests }
  }).pipe(Effect.provide(ScriptedModel.layer(script)), Effect.provide(quiet))

const agentOf = (onModelFailure: ModelRecovery.ModelRecovery, options: Partial<Agent.Options<typeof ping>> = {}) =>
  Agent.make({ toolkit: Toolkit.make(ping), onModelFailure, ...options })

const failed = <A, E>(exit: Exit.Exit<A, E>) => Effect.flip(exit)

const answered = <A, E>(exit: Exit.Exit<A, E>): A => {
  if (exit._tag === "Failure") throw new Error(Cause.pretty(exit.cause))
  return exit.value
}

// -----------------------------------------------------------------------------
// Decisions
// -----------------------------------------------------------------------------

describe("C7: ModelRecovery.rethrow", () => {
  for (const failure of [busy, late, refused]) {
    it.effect(`ends the run with the failure unchanged: ${failure.code}`, () =>
      Effect.gen(function*() {
        const { exit, requests } = yield* played(agentOf(() => ModelRecovery.rethrow).run("?"), [fails(failure)])
        const ended = yield* failed(exit)
        if (ended._tag !== "ModelFailed") return assert.fail(ended._tag)
        assert.deepStrictEqual({ ...ended.failure }, { ...failure })
        assert.instanceOf(ended.failure, ModelFailure)
        assert.strictEqual(ended.failure.cause, failure.cause)
        assert.strictEqual(ended.cause, failure.cause)
        assert.strictEqual(requests.length, 1)
        assert.deepStrictEqual(ended.report.failures, [{
          turn: 1,
          tag: "ModelFailure",
          code: failure.code,
          detail: failure.detail,
          attempts: 1,
          handling: "run_failed"
        }])
      }))
  }
})

describe("C7: ModelRecovery.retry", () => {
  it.effect("asks again after a failure that is not transient, and reports it", () =>
    Effect.gen(function*() {
      const events: Array<string> = []
      const run = Stream.runForEach(
        agentOf(ModelRecovery.retryTimeouts).stream("?"),
        (event) =>
          Effect.sync(() =>
            events.push(
              event._tag === "ModelRetried"
                ? `${event._tag} ${event.turn} ${event.attempt} ${event.failure.code} ${Duration.format(event.wait)}`
                : event._tag
            )
          )
      )
      const { exit, requests } = yield* played(atOnce(run), [fails(late), fails(busy), ScriptedModel.text("Here.")])
      assert.isTrue(Exit.isSuccess(exit), String(exit))
      assert.strictEqual(requests.length, 3)
      assert.deepStrictEqual(events, [
        "TurnStarted",
        "ModelRetried 1 1 timeout 0",
        "ModelRetried 1 2 server_error 0",
        "TextDelta",
        "ModelReplied",
        "RunEnded"
      ])
    }))

  it.effect("lists each failure in the report, and ends with the last one as it was", () =>
    Effect.gen(function*() {
      const { exit } = yield* played(agentOf(ModelRecovery.retryTimeouts).run("?"), [
        fails(late),
        fails(busy),
        fails(late)
      ])
      const ended = yield* failed(exit)
      if (ended._tag !== "ModelFailed") return assert.fail(ended._tag)
      assert.deepStrictEqual({ ...ended.failure }, { ...late, attempts: 3 })
      assert.strictEqual(ended.failure.cause, late.cause)
      assert.deepStrictEqual(
        ended.report.failures.map((entry) => [entry.code, entry.attempts, entry.handling]),
        [["timeout", 3, "retry"], ["server_error", 3, "retry"], ["timeout", 3, "run_failed"]]
      )
    }))

  it.effect("leaves other failures to the run", () =>
    Effect.gen(function*() {
      const { requests } = yield* played(agentOf(ModelRecovery.retryTimeouts).run("?"), [fails(refused)])
      assert.strictEqual(requests.length, 1)
    }))

  it.effect("has the attempts of one turn again in each turn", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const agent = agentOf((failure, { attempt, turn }) => {
        asked.push(`${turn}.${attempt} ${failure.code}`)
        return ModelRecovery.retry
      })
      const { exit } = yield* played(agent.run("?"), [
        fails(late),
        fails(late),
        ScriptedModel.call("ping"),
        fails(late),
        fails(refused),
        ScriptedModel.call("ping"),
        fails(late),
        fails(late),
        fails(late)
      ])
      assert.strictEqual((yield* failed(exit))._tag, "ModelFailed")
      assert.deepStrictEqual(asked, [
        "1.1 timeout",
        "1.2 timeout",
        "2.1 timeout",
        "2.2 refused",
        "3.1 timeout",
        "3.2 timeout",
        "3.3 timeout"
      ])
    }))

  it.effect("waits as the agent's modelRetry says, and not longer", () =>
    Effect.gen(function*() {
      const agent = agentOf(() => ModelRecovery.retry, { modelRetry: Schedule.spaced("10 seconds") })
      const fiber = yield* agent.run("?").pipe(
        Effect.provide(ScriptedModel.layer([fails(refused), ScriptedModel.text("Here.")])),
        Effect.provide(quiet),
        Effect.forkChild
      )
      yield* TestClock.adjust("9999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* Fiber.join(fiber)).text, "Here.")
    }))

  it.effect("does not ask again beyond the agent's modelRetry", () =>
    Effect.gen(function*() {
      const agent = agentOf(() => ModelRecovery.retry, { modelRetry: RetryPolicy.none })
      const { exit, requests } = yield* played(agent.run("?"), [fails(late)])
      assert.strictEqual((yield* failed(exit))._tag, "ModelFailed")
      assert.strictEqual(requests.length, 1)
    }))
})

describe("C7: failures over the wire", () => {
  for (const [name, provider] of providers) {
    it.effect(`asks ${name} again after a timeout, if that is decided`, () =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(agentOf(ModelRecovery.retryTimeouts).run("?"))
        const answer = yield* passingBy("1 second", fiber)
        assert.strictEqual(answer.text, "Here.")
        assert.deepStrictEqual(answer.report.failures.map(({ code, handling }) => [code, handling]), [[
          "timeout",
          "retry"
        ]])
      }).pipe(
        Effect.provide(
          serving(provider)([Effect.never, ScriptedModel.text("Here.")], { settings: { timeout: "10 seconds" } })
        ),
        Effect.provide(quiet)
      ))

    it.effect(`does not ask again what the client of ${name} has already asked three times`, () =>
      Effect.gen(function*() {
        const asked: Array<string> = []
        const agent = agentOf(({ attempts, code }, { attempt }) => {
          asked.push(`${attempt} ${attempts} ${code}`)
          return ModelRecovery.retry
        })
        const fiber = yield* Effect.forkChild(Effect.flip(agent.run("?")))
        const ended = yield* passingBy("1 second", fiber)
        assert.strictEqual(ended._tag, "ModelFailed")
        assert.deepStrictEqual(asked, ["1 3 server_error"])
        const { requests } = yield* (yield* FakeModelServer.FakeModelServer).state
        assert.strictEqual(requests.length, 3)
      }).pipe(Effect.provide(serving(provider)(() => fails(busy))), Effect.provide(quiet)))
  }
})

describe("C7: ModelRecovery.respondWith", () => {
  const sorry = agentOf(({ code }) =>
    // Ollama has no refusals: its server answers 400.
    code === "refused" || code === "bad_request"
      ? ModelRecovery.respondWith("I cannot help with that.")
      : ModelRecovery.retry
  )

  it.effect("ends the run with the text, and lists the failure as a fallback", () =>
    Effect.gen(function*() {
      const { exit } = yield* played(sorry.run("?"), [ScriptedModel.call("ping"), fails(late), fails(refused)])
      const answer = answered(exit)
      assert.strictEqual(answer.text, "I cannot help with that.")
      assert.isFalse(answer.truncated)
      assert.deepStrictEqual([answer.stopReason, answer.concluded], ["fallback", undefined])
      assert.deepStrictEqual(
        answer.report.failures.map((entry) => [entry.turn, entry.code, entry.attempts, entry.handling]),
        [[2, "timeout", 2, "retry"], [2, "refused", 2, "fallback"]]
      )
      assert.deepStrictEqual(answer.transcript.at(3), {
        role: "assistant",
        text: "I cannot help with that.",
        calls: []
      })
    }))

  it.effect("is an event like any reply", () =>
    Effect.gen(function*() {
      const { exit } = yield* played(Stream.runCollect(sorry.stream("?")), [fails(refused)])
      const events = Array.from(answered(exit))
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["TurnStarted", "ModelReplied", "RunEnded"])
    }))

  for (const text of ["", "  \n"]) {
    it.effect(`ends the run at once, even with ${JSON.stringify(text)}`, () =>
      Effect.gen(function*() {
        const { exit, requests } = yield* played(
          agentOf(() => ModelRecovery.respondWith(text)).run("?"),
          () => fails(refused)
        )
        assert.strictEqual(answered(exit).text, text)
        assert.strictEqual(requests.length, 1)
      }))
  }

  for (const [name, provider] of providers) {
    it.effect(`leaves a transcript that ${name} accepts in the next run`, () =>
      Effect.gen(function*() {
        const first = yield* sorry.run("Something bad.")
        assert.strictEqual(first.text, "I cannot help with that.")
        const second = yield* sorry.run("Something good.", { transcript: first.transcript, facts: first.facts })
        assert.strictEqual(second.text, "Gladly.")
        const { requests } = yield* (yield* FakeModelServer.FakeModelServer).state
        assert.deepStrictEqual(requests.flatMap(({ problem }) => problem ?? []), [])
        assert.deepStrictEqual(requests.at(-1)?.asked?.messages.map(({ role }) => role), ["user", "assistant", "user"])
      }).pipe(
        Effect.provide(serving(provider)([fails(refused), ScriptedModel.text("Gladly.")])),
        Effect.provide(quiet)
      ))
  }

  it.effect("is recorded by a journal, and replayed without a new decision", () =>
    Effect.gen(function*() {
      const file = new FileJournal()
      let decisions = 0
      const agent = agentOf(() => {
        decisions++
        return ModelRecovery.respondWith("Sorry.")
      })
      const run = (journal: Journal.Journal) =>
        agent.run("?", { id: "job" }).pipe(
          Effect.provideService(Journal.current, journal),
          Effect.provide(ScriptedModel.layer(() => fails(refused))),
          Effect.provide(quiet)
        )
      const first = yield* file.process(run)
      const second = yield* file.process(run)
      if (first?._tag !== "Success" || second?._tag !== "Success") return assert.fail()
      assert.strictEqual(decisions, 1)
      assert.deepStrictEqual(second.value.report, first.value.report)
      assert.deepStrictEqual([second.value.text, second.value.stopReason], ["Sorry.", "fallback"])
    }))
})

describe("C7: a decision", () => {
  it.effect("may be an Effect, which may take time", () =>
    Effect.gen(function*() {
      const agent = agentOf(() => Effect.delay(Effect.succeed(ModelRecovery.respondWith("Later.")), "10 seconds"))
      const fiber = yield* agent.run("?").pipe(
        Effect.provide(ScriptedModel.layer([fails(refused)])),
        Effect.provide(quiet),
        Effect.forkChild
      )
      yield* TestClock.adjust("9999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* Fiber.join(fiber)).text, "Later.")
    }))

  it.effect("does not outlive the time of the run", () =>
    Effect.gen(function*() {
      const agent = agentOf(() => Effect.never, { limits: { elapsed: "10 seconds" } })
      const { exit } = yield* played(agent.run("?"), [fails(refused)])
      const ended = yield* failed(exit)
      assert.isTrue(ended._tag === "LimitReached" && ended.limit === "elapsed")
    }))

  it.effect("is interrupted with the run", () =>
    Effect.gen(function*() {
      let interrupted = 0
      const agent = agentOf(() => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++)))
      const fiber = yield* agent.run("?").pipe(
        Effect.provide(ScriptedModel.layer([fails(refused)])),
        Effect.provide(quiet),
        Effect.forkChild
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(interrupted, 1)
    }))

  const wrong: ReadonlyArray<readonly [what: string, decide: Untyped]> = [
    ["throws", () => {
      throw new Error("no decision")
    }],
    ["throws nothing", () => {
      throw undefined
    }],
    ["dies", () => Effect.die("no decision")],
    ["fails", () => Effect.fail("no decision")],
    ["fails with a ModelFailure", () => Effect.fail(busy)],
    ["interrupts itself", () => Effect.interrupt],
    ["returns nothing", () => undefined],
    ["returns a string", () => "retry"],
    ["returns an unknown tag", () => ({ _tag: "Again" })],
    ["returns a text that is no string", () => ({ _tag: "RespondWith", text: 7 })],
    ["returns a promise", () => Promise.resolve(ModelRecovery.retry)],
    ["returns a promise that is rejected", () => Promise.reject(new Error("no decision"))],
    ["succeeds with a promise that is rejected", () => Effect.sync(() => Promise.reject(new Error("no decision")))],
    ["returns a revoked proxy", () => {
      const { proxy, revoke } = Proxy.revocable({}, {})
      revoke()
      return proxy
    }],
    ["returns a getter that throws", () => ({
      get _tag() {
        throw new Error("no tag")
      }
    })]
  ]

  for (const [what, decide] of wrong) {
    it.effect(`that ${what} ends the run with a defect`, () =>
      Effect.gen(function*() {
        const { exit, requests } = yield* played(agentOf(decide).run("?"), () => fails(busy))
        const ended = yield* failed(exit)
        if (ended._tag !== "ModelFailed") return assert.fail(ended._tag)
        assert.strictEqual(ended.failure.code, "defect")
        assert.isFalse(ended.failure.transient)
        assert.strictEqual(requests.length, 1)
        // The failure can be stored.
        const encoded = Schema.encodeSync(AgentFailure.schema)(ended)
        assert.strictEqual(
          Schema.decodeUnknownSync(AgentFailure.schema)(JSON.parse(JSON.stringify(encoded)))._tag,
          "ModelFailed"
        )
        assert.strictEqual(ended.report.failures.at(-1)?.code, "defect")
      }))
  }

  it("must be made by a function", () => {
    const decide: Untyped = "retry"
    assert.throws(() => agentOf(decide), "An agent's onModelFailure must be a function; got a string.")
  })

  it.effect("names what is wrong with it", () =>
    Effect.gen(function*() {
      const decide: Untyped = () => Promise.resolve(ModelRecovery.retry)
      const { exit } = yield* played(agentOf(decide).run("?"), [fails(busy)])
      assert.match((yield* failed(exit)).detail, /^The agent's onModelFailure returned a promise/)
      const other: Untyped = () => ({ retry: true })
      const second = yield* played(agentOf(other).run("?"), [fails(busy)])
      assert.strictEqual(
        (yield* failed(second.exit)).detail,
        "The agent's onModelFailure must return a decision of ModelRecovery; got an object."
      )
    }))

  it.effect("is not asked for if a limit ends the run", () =>
    Effect.gen(function*() {
      let asked = 0
      const decide = () => {
        asked++
        return ModelRecovery.rethrow
      }
      const turns = yield* played(agentOf(decide, { limits: { turns: 1 } }).run("?"), () => ScriptedModel.call("ping"))
      assert.strictEqual((yield* failed(turns.exit))._tag, "LimitReached")
      const time = yield* played(agentOf(decide, { limits: { elapsed: "1 minute" } }).run("?"), () => Effect.never)
      assert.strictEqual((yield* failed(time.exit))._tag, "LimitReached")
      const stuck = yield* played(agentOf(decide, { limits: { turns: 50 } }).run("?"), () => ScriptedModel.call("ping"))
      assert.strictEqual((yield* failed(stuck.exit))._tag, "LoopDetected")
      assert.strictEqual(asked, 0)
    }))

  it.effect("is not asked for if the run is interrupted", () =>
    Effect.gen(function*() {
      let asked = 0
      const agent = agentOf(() => {
        asked++
        return ModelRecovery.respondWith("Interrupted.")
      })
      const fiber = yield* agent.run("?").pipe(
        Effect.provide(ScriptedModel.layer(() => Effect.never)),
        Effect.forkChild
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
      assert.strictEqual(asked, 0)
    }))

  it.effect("is asked for about the last question of a run that is concluded", () =>
    Effect.gen(function*() {
      const agent = agentOf(() => ModelRecovery.respondWith("I ran out of turns."), {
        limits: { turns: 2 },
        onLimit: "conclude"
      })
      const { exit } = yield* played(agent.run("?"), [ScriptedModel.call("ping"), fails(refused)])
      const answer = answered(exit)
      assert.strictEqual(answer.text, "I ran out of turns.")
      assert.deepStrictEqual([answer.stopReason, answer.concluded], ["fallback", "turns"])
    }))

  it.effect("is asked for about a model that dies, with nothing else than its defect", () =>
    Effect.gen(function*() {
      const agent = agentOf(() => ModelRecovery.respondWith("Never."))
      const { exit } = yield* played(agent.run("?"), () => Effect.die("a bug"))
      // A bug of the program is not hidden by a decision.
      assert.strictEqual((yield* failed(exit))._tag, "ModelFailed")
    }))
})

// -----------------------------------------------------------------------------
// Overflow
// -----------------------------------------------------------------------------

const long = Tool.make("long", {
  description: "Returns a long text",
  parameters: Schema.Struct({ n: Schema.Int }),
  success: Schema.Json,
  sideEffect: "none"
}, ({ n }) => Effect.succeed({ n, rows: Array.from({ length: 300 }, (_, id) => ({ id, text: `row ${id} of ${n}` })) }))

const longAgent = (options: Partial<Agent.Options<typeof long>> = {}) =>
  Agent.make({ toolkit: Toolkit.make(long), ...options })

const resultsOf = (messages: Iterable<Transcript.Message> = []) =>
  Array.from(messages).flatMap((message) => message.role === "tool" ? [message.text] : [])

const lengthOf = (request: ScriptedModel.Recorded | undefined) => resultsOf(request?.messages).join("").length

describe("H7: a conversation that is too long for the model", () => {
  const call = (n: number) => ScriptedModel.call("long", { n })

  it.effect("is asked once more with shorter results, and says so", () =>
    Effect.gen(function*() {
      const events: Array<string> = []
      const { exit, requests } = yield* played(
        Stream.runForEach(
          longAgent().stream("?"),
          (event) =>
            Effect.sync(() => void events.push(event._tag === "ModelRetried" ? event.failure.code : event._tag))
        ),
        [call(1), call(2), fails(overflow), ScriptedModel.text("Done.")]
      )
      assert.isTrue(Exit.isSuccess(exit), String(exit))
      const [before, after] = [requests[2], requests[3]]
      assert.isAtMost(lengthOf(after), lengthOf(before) / 2 + 400)
      assert.deepStrictEqual(
        after?.messages.map(({ role }) => role),
        before?.messages.map(({ role }) => role)
      )
      for (const text of resultsOf(after?.messages)) assert.doesNotThrow(() => JSON.parse(text))
      assert.include(events, "context_overflow")
    }))

  it.effect("is listed in the report, and the transcript keeps all", () =>
    Effect.gen(function*() {
      const { exit } = yield* played(longAgent().run("?"), [call(1), fails(overflow), ScriptedModel.text("Done.")])
      const answer = answered(exit)
      assert.deepStrictEqual(
        answer.report.failures.map((entry) => [entry.turn, entry.code, entry.attempts, entry.handling]),
        [[2, "context_overflow", 2, "retry"]]
      )
      assert.include(resultsOf(answer.transcript)[0], "row 299 of 1")
    }))

  it.effect("stays short in later turns", () =>
    Effect.gen(function*() {
      const { requests } = yield* played(longAgent().run("?"), [
        call(1),
        call(2),
        fails(overflow),
        call(3),
        call(4),
        ScriptedModel.text("Done.")
      ])
      const max = lengthOf(requests[2]) / 2
      for (const request of requests.slice(3)) assert.isAtMost(lengthOf(request), max + 4 * 450)
      assert.isBelow(requests.length, 7)
    }))

  it.effect("fails if it is too long a second time", () =>
    Effect.gen(function*() {
      const { exit, requests } = yield* played(longAgent().run("?"), [call(1), fails(overflow), fails(overflow)])
      const ended = yield* failed(exit)
      if (ended._tag !== "ModelFailed") return assert.fail(ended._tag)
      assert.strictEqual(ended.failure.code, "context_overflow")
      assert.strictEqual(ended.failure.cause, overflow.cause)
      assert.strictEqual(requests.length, 3)
      assert.deepStrictEqual(ended.report.failures.map((entry) => entry.handling), ["retry", "run_failed"])
    }))

  it.effect("fails at once if it has no results, or only short ones", () =>
    Effect.gen(function*() {
      const none = yield* played(longAgent().run("x".repeat(100_000)), [fails(overflow)])
      assert.strictEqual((yield* failed(none.exit))._tag, "ModelFailed")
      const agent = Agent.make({ toolkit: Toolkit.make(ping) })
      const small = yield* played(agent.run("?"), [ScriptedModel.call("ping"), fails(overflow)])
      assert.strictEqual((yield* failed(small.exit))._tag, "ModelFailed")
      assert.deepStrictEqual([none.requests.length, small.requests.length], [1, 2])
    }))

  it.effect("is not shortened with `results: \"whole\"`", () =>
    Effect.gen(function*() {
      const { exit, requests } = yield* played(longAgent({ results: "whole" }).run("?"), [call(1), fails(overflow)])
      assert.strictEqual((yield* failed(exit))._tag, "ModelFailed")
      assert.strictEqual(requests.length, 2)
    }))

  it.effect("is left to the agent's decision if it is still too long", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const agent = longAgent({
        onModelFailure: ({ code }) => {
          asked.push(code)
          return ModelRecovery.respondWith("That is too much.")
        }
      })
      const { exit } = yield* played(agent.run("?"), [call(1), fails(overflow), fails(overflow)])
      assert.strictEqual(answered(exit).text, "That is too much.")
      assert.deepStrictEqual(asked, ["context_overflow"])
    }))

  it.effect("is not sent whole again after another failure", () =>
    Effect.gen(function*() {
      const { exit, requests } = yield* played(longAgent().run("?"), [
        call(1),
        fails(overflow),
        fails(busy),
        ScriptedModel.text("Done.")
      ])
      assert.strictEqual(answered(exit).text, "Done.")
      assert.strictEqual(lengthOf(requests[3]), lengthOf(requests[2]))
    }))

  for (const [name, provider] of providers) {
    it.effect(`fits in the end, over the wire to ${name}`, () =>
      Effect.gen(function*() {
        const answer = yield* longAgent().run("?")
        assert.strictEqual(answer.text, "Done.")
        const { requests } = yield* (yield* FakeModelServer.FakeModelServer).state
        assert.deepStrictEqual(requests.flatMap(({ problem }) => problem ?? []), [])
        const lengths = requests.map(({ asked }) => lengthOf(asked))
        assert.isAtMost(lengths[3]!, lengths[2]! / 2 + 400)
      }).pipe(
        Effect.provide(serving(provider)([call(1), call(2), fails(overflow), ScriptedModel.text("Done.")])),
        Effect.provide(quiet)
      ))
  }
})

// -----------------------------------------------------------------------------
// Postponed runs
// -----------------------------------------------------------------------------

const throughStorage = (postponement: AgentFailure.Postponement) =>
  Schema.encodeEffect(AgentFailure.Postponement)(postponement).pipe(
    Effect.map((encoded): unknown => JSON.parse(JSON.stringify(encoded))),
    Effect.flatMap(Schema.decodeUnknownEffect(AgentFailure.Postponement))
  )

const postponed = <A, E, R>(run: Effect.Effect<A, E, R>) =>
  Effect.flatMap(
    Effect.flip(run),
    (failure) => failure instanceof AgentFailure.RunPostponed ? Effect.succeed(failure) : Effect.die(failure)
  )

describe("H7: a model that asks for a long wait", () => {
  const pay = Tool.make(
    "pay",
    { description: "Pays", parameters: Schema.Struct({ order: Schema.String }), success: Schema.String },
    ({ order }) => Effect.succeed(`paid ${order}`)
  )
  const agent = Agent.make({ toolkit: Toolkit.make(pay, ping) })
  const paying = ScriptedModel.call("pay", { order: "o-1" })

  it.effect("postpones the run until then", () =>
    Effect.gen(function*() {
      yield* TestClock.adjust("5 seconds")
      const failure = yield* postponed(agent.run("Pay.", { id: "job" }))
      assert.strictEqual(failure.postponement.until, 5000 + 3_600_000)
      assert.strictEqual(Duration.toMillis(failure.retryAfter), 3_600_000)
      assert.strictEqual(failure.detail, `The run is postponed for 1h: ${hourly.detail}`)
      assert.deepStrictEqual({ ...failure.failure }, { ...hourly })
      assert.strictEqual(failure.cause, hourly.cause)
      assert.deepInclude(failure.postponement, { version: 8, runId: "job", turn: 2, postponed: 1 })
      assert.deepStrictEqual(failure.report.failures.map(({ code, handling }) => [code, handling]), [
        ["rate_limited", "run_failed"]
      ])
      assert.strictEqual(resultsOf(failure.transcript).length, 1)
    }).pipe(Effect.provide(ScriptedModel.layer([paying, fails(hourly)])), Effect.provide(quiet)))

  it.effect("is asked again in another process, where the run goes on and repeats no doubtful effect", () =>
    Effect.gen(function*() {
      let runs = 0
      const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: false, outcome: "unknown" })
      const pay = Tool.make(
        "pay",
        { description: "Pays", parameters: Schema.Struct({ order: Schema.String }), success: Schema.String },
        () => Effect.suspend(() => ++runs > 0 ? Effect.fail(lost) : Effect.succeed("paid"))
      )
      const agent = () => Agent.make({ toolkit: Toolkit.make(pay, ping) })
      const failure = yield* postponed(agent().run("Pay.")).pipe(
        Effect.provide(ScriptedModel.layer([paying, fails(hourly)]))
      )
      const { exit, requests } = yield* played(
        Effect.flatMap(throughStorage(failure.postponement), (stored) => agent().resume(stored)),
        [paying, ScriptedModel.call("ping"), ScriptedModel.text("It is in doubt.")]
      )
      const answer = answered(exit)
      assert.strictEqual(answer.text, "It is in doubt.")
      assert.strictEqual(runs, 1, "the facts are kept")
      assert.include(heard(requests[1]), "repeated_call")
      assert.deepStrictEqual(requests[0]?.messages.map(({ role }) => role), ["user", "assistant", "tool"])
      assert.strictEqual(answer.report.turns, 4)
      assert.includeMembers(answer.report.failures.map(({ code }) => code), ["rate_limited", "repeated_call"])
    }).pipe(Effect.provide(quiet)))

  it.effect("may postpone the run again, also when it is resumed too early", () =>
    Effect.gen(function*() {
      const first = yield* postponed(agent.run("?"))
      const second = yield* postponed(agent.resume(yield* throughStorage(first.postponement)))
      assert.strictEqual(second.postponement.postponed, 2)
      const third = yield* postponed(agent.resume(second.postponement, { modelOptions: { temperature: 0 } }))
      assert.deepInclude(third.postponement, { postponed: 3, runId: first.postponement.runId, turn: 1 })
      const answer = yield* agent.resume(third.postponement)
      assert.strictEqual(answer.text, "Hello.")
      assert.strictEqual(answer.report.turns, 1)
      assert.strictEqual(answer.report.failures.length, 3)
      const requests = yield* (yield* ScriptedModel.ScriptedModel).requests
      assert.deepStrictEqual(requests.map(({ options }) => options), [{}, {}, { temperature: 0 }, {}])
    }).pipe(
      Effect.provide(
        ScriptedModel.layer([fails(hourly), fails(hourly), fails(hourly), ScriptedModel.text("Hello.")])
      ),
      Effect.provide(quiet)
    ))

  it.effect("streams the events of the resumed run", () =>
    Effect.gen(function*() {
      const first = yield* postponed(asRun(agent.stream("?")))
      const events = yield* Stream.runCollect(agent.resumeStream(first.postponement))
      assert.deepStrictEqual(Array.from(events, ({ _tag, run }) => [_tag, run === first.postponement.runId]), [
        ["TurnStarted", true],
        ["TextDelta", true],
        ["ModelReplied", true],
        ["RunEnded", true]
      ])
    }).pipe(
      Effect.provide(ScriptedModel.layer([fails(hourly), ScriptedModel.text("Hello.")])),
      Effect.provide(quiet)
    ))

  it.effect("is a new step of the journal each time, so that the recorded failure is not replayed", () =>
    Effect.gen(function*() {
      const { journal, names } = namingJournal()
      yield* Effect.gen(function*() {
        const first = yield* postponed(agent.run("?"))
        const second = yield* postponed(agent.resume(first.postponement))
        yield* agent.resume(second.postponement)
      }).pipe(Effect.provideService(Journal.current, journal))
      assert.deepStrictEqual(names, [
        "run",
        "turn/1/model",
        "turn/1/model/again/1",
        "turn/1/model/again/2",
        "turn/1/call/1",
        "turn/2/model"
      ])
    }).pipe(
      Effect.provide(
        ScriptedModel.layer([fails(hourly), fails(hourly), ScriptedModel.call("ping"), ScriptedModel.text("Hello.")])
      ),
      Effect.provide(quiet)
    ))

  it.effect("with a journal in a file, the run is postponed again by a replay, and goes on by a resume", () =>
    Effect.gen(function*() {
      const file = new FileJournal()
      const inJournal = (script: ScriptedModel.Script) => <A, E>(run: Effect.Effect<A, E, Model.Model>) =>
        file.process((journal) =>
          run.pipe(
            Effect.provideService(Journal.current, journal),
            Effect.provide(ScriptedModel.layer(script)),
            Effect.provide(quiet)
          )
        )
      const run = agent.run("?", { id: "job" })
      const first = yield* inJournal([fails(hourly)])(run)
      const failedAt = yield* Clock.currentTimeMillis
      yield* TestClock.adjust("20 minutes")
      const replayed = yield* inJournal([])(run)
      if (first?._tag !== "Failure" || replayed?._tag !== "Failure") return assert.fail()
      const failure = yield* Effect.flip(replayed)
      if (failure._tag !== "RunPostponed") return assert.fail(failure._tag)
      assert.strictEqual(failure.postponement.until, failedAt + 3_600_000, "counted from the failure, not the replay")
      const done = yield* inJournal([ScriptedModel.text("Hello.")])(agent.resume(failure.postponement))
      assert.isTrue(done?._tag === "Success" && done.value.text === "Hello.")
      // A process that resumes once more replays the reply.
      const again = yield* inJournal([])(agent.resume(failure.postponement))
      assert.isTrue(again?._tag === "Success" && again.value.text === "Hello.")
    }))

  it.effect("counts the time before, and not the wait, against the limit of the run", () =>
    Effect.gen(function*() {
      const slow = Tool.make(
        "slow",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => Effect.delay(Effect.succeed("slow"), "40 seconds")
      )
      const agent = Agent.make({ toolkit: Toolkit.make(slow), limits: { elapsed: "1 minute" } })
      const first = yield* Effect.forkChild(postponed(agent.run("?")))
      yield* TestClock.adjust("40 seconds")
      const { postponement } = yield* Fiber.join(first)
      assert.strictEqual(Duration.toMillis(postponement.used), 40_000)
      yield* TestClock.adjust("1 hour")
      const second = yield* Effect.forkChild(Effect.flip(agent.resume(yield* throughStorage(postponement))))
      yield* TestClock.adjust("19999 millis")
      assert.isUndefined(second.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      const ended = yield* Fiber.join(second)
      assert.isTrue(ended._tag === "LimitReached" && ended.limit === "elapsed")
    }).pipe(
      Effect.provide(
        ScriptedModel.layer([ScriptedModel.call("slow"), fails(hourly), ScriptedModel.call("slow")])
      ),
      Effect.provide(quiet)
    ))

  it.effect("counts the turns and calls before against the limits of the run", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(ping), limits: { turns: 2, callsPerTool: { ping: 1 } } })
      const first = yield* postponed(agent.run("?"))
      const ended = yield* Effect.flip(agent.resume(yield* throughStorage(first.postponement)))
      assert.isTrue(ended._tag === "LimitReached" && ended.limit === "turns")
      assert.strictEqual(ended.report.failures.at(-1)?.code, "call_limit")
    }).pipe(
      Effect.provide(
        ScriptedModel.layer([ScriptedModel.call("ping"), fails(hourly), ScriptedModel.call("ping")])
      ),
      Effect.provide(quiet)
    ))

  it.effect("does not postpone a run for a failure that is not transient, or without a time", () =>
    Effect.gen(function*() {
      for (
        const failure of [
          failureOf("quota_exhausted", false, { retryAfter: Duration.hours(1) }),
          busy,
          failureOf("rate_limited", true, { retryAfter: Duration.zero }),
          failureOf("rate_limited", true, { retryAfter: Duration.infinity })
        ]
      ) {
        const { exit } = yield* played(agent.run("?"), () => fails(failure))
        assert.strictEqual((yield* failed(exit))._tag, "ModelFailed")
      }
    }))

  it.effect("waits itself if the time is short", () =>
    Effect.gen(function*() {
      const soon = failureOf("rate_limited", true, { retryAfter: Duration.seconds(10) })
      const { exit } = yield* played(agent.run("?"), [fails(soon), ScriptedModel.text("Hello.")])
      assert.strictEqual(answered(exit).text, "Hello.")
    }))

  it.effect("postpones the run if the short waits were in vain", () =>
    Effect.gen(function*() {
      const soon = failureOf("rate_limited", true, { retryAfter: Duration.seconds(10) })
      const { exit, requests } = yield* played(agent.run("?"), () => fails(soon))
      const ended = yield* failed(exit)
      assert.strictEqual(ended._tag, "RunPostponed")
      assert.strictEqual(requests.length, 3)
      assert.deepStrictEqual(ended.report.failures.map(({ handling }) => handling), ["retry", "retry", "run_failed"])
    }))

  it.effect("leaves the decision to the agent first", () =>
    Effect.gen(function*() {
      const deciding = (decide: ModelRecovery.ModelRecovery) =>
        Effect.map(played(agentOf(decide).run("?"), () => fails(hourly)), ({ exit }) => exit)
      assert.strictEqual(answered(yield* deciding(() => ModelRecovery.respondWith("Later."))).text, "Later.")
      assert.strictEqual((yield* failed(yield* deciding(() => ModelRecovery.rethrow)))._tag, "RunPostponed")
      assert.strictEqual((yield* failed(yield* deciding(() => ModelRecovery.retry)))._tag, "RunPostponed")
    }))

  it.effect("gives a failure that can be encoded as a whole", () =>
    Effect.gen(function*() {
      const failure = yield* postponed(agent.run("?"))
      const encoded: unknown = JSON.parse(JSON.stringify(Schema.encodeSync(AgentFailure.schema)(failure)))
      const decoded = Schema.decodeUnknownSync(AgentFailure.schema)(encoded)
      if (decoded._tag !== "RunPostponed") return assert.fail(decoded._tag)
      assert.strictEqual(decoded.postponement.until, failure.postponement.until)
      assert.isUndefined(decoded.cause)
      assert.strictEqual((yield* agent.resume(decoded.postponement)).text, "Hello.")
    }).pipe(
      Effect.provide(ScriptedModel.layer([fails(hourly), ScriptedModel.text("Hello.")])),
      Effect.provide(quiet)
    ))

  it.effect("refuses a postponement that was parsed but not decoded, and runs nothing", () =>
    Effect.gen(function*() {
      const { postponement } = yield* postponed(agent.run("?"))
      const encoded = Schema.encodeSync(AgentFailure.Postponement)(postponement)
      const parsed: Untyped = JSON.parse(JSON.stringify(encoded))
      const refusal = yield* Effect.flip(agent.resume(parsed))
      if (refusal._tag !== "RunRefused") return assert.fail(refusal._tag)
      assert.match(
        refusal.detail,
        /^The run was not resumed: postponement\.\w+: expected .*, got .*\. Encode it by AgentFailure\.Postponement to store it, and decode it by the same schema\.$/
      )
      for (const nonsense of [{ until: 1 }, null, undefined, "job", { ...postponement, until: NaN }]) {
        const untyped: Untyped = nonsense
        assert.strictEqual((yield* Effect.flip(agent.resume(untyped)))._tag, "RunRefused")
        assert.strictEqual((yield* Effect.flip(Stream.runDrain(agent.resumeStream(untyped))))._tag, "RunRefused")
      }
    }).pipe(Effect.provide(ScriptedModel.layer([fails(hourly)])), Effect.provide(quiet)))

  it("refuses a postponement of another version", () => {
    const encoded = {
      version: 4,
      runId: "run-1",
      turn: 1,
      postponed: 1,
      until: 1,
      transcript: { version: 1, messages: [] },
      report: { turns: 0, calls: 0, inputTokens: 0, outputTokens: 0, failures: [], repairs: [] },
      facts: Schema.encodeSync(CallFacts.schema)(CallFacts.empty),
      used: 0
    }
    const decode = Schema.decodeUnknownExit(AgentFailure.Postponement)
    assert.isTrue(Exit.isFailure(decode(encoded)))
    assert.isTrue(Exit.isSuccess(decode({ ...encoded, version: 7 })))
  })

  it.effect("postpones a resumed run, too, in any later turn", () =>
    Effect.gen(function*() {
      const first = yield* postponed(agent.run("?"))
      const second = yield* postponed(agent.resume(first.postponement))
      assert.deepInclude(second.postponement, { turn: 2, postponed: 1 })
      assert.strictEqual((yield* agent.resume(second.postponement)).text, "Hello.")
    }).pipe(
      Effect.provide(
        ScriptedModel.layer([fails(hourly), ScriptedModel.call("ping"), fails(hourly), ScriptedModel.text("Hello.")])
      ),
      Effect.provide(quiet)
    ))

  for (const [name, provider] of providers) {
    for (const streamed of [false, true]) {
      it.effect(`postpones the run after a 429 of ${name}${streamed ? ", streamed" : ""}, and goes on an hour later`, () =>
        Effect.gen(function*() {
          const run = agent.run("?")
          const failure = yield* postponed(streamed ? asRun(agent.stream("?")) : run)
          assert.strictEqual(Duration.toSeconds(failure.retryAfter), 3600)
          assert.strictEqual(failure.postponement.until, 3_600_000)
          assert.strictEqual(failure.failure.code, "rate_limited")
          assert.strictEqual(failure.failure.status, 429)
          const server = yield* FakeModelServer.FakeModelServer
          assert.strictEqual((yield* server.state).requests.length, 1, "nothing was asked in vain")
          yield* TestClock.adjust("1 hour")
          const stored = yield* throughStorage(failure.postponement)
          const answer = yield* agent.resume(stored)
          assert.strictEqual(answer.text, "Hello.")
        }).pipe(
          Effect.provide(
            serving(provider)([
              FakeModelServer.raw("{\"error\":{\"message\":\"Too many.\"}}", {
                status: 429,
                headers: { "retry-after": "3600" }
              }),
              ScriptedModel.text("Hello.")
            ])
          ),
          Effect.provide(quiet)
        ))
    }
  }
})

describe("H7: the models of two agents", () => {
  it.effect("fail apart: an inner run that is postponed is a failure of its tool", () =>
    Effect.gen(function*() {
      const inner = Agent.make({ toolkit: Toolkit.empty })
      const consult = Tool.make(
        "consult",
        { description: "", success: Schema.String, sideEffect: "none" },
        () =>
          Effect.map(Effect.orDie(inner.run("?")), ({ text }) => text).pipe(
            Effect.provide(Layer.fresh(ScriptedModel.layer([fails(hourly)])))
          )
      )
      const { exit } = yield* played(Agent.make({ toolkit: Toolkit.make(consult) }).run("?"), (request, index) =>
        index === 0 ? ScriptedModel.call("consult") : ScriptedModel.text(heard(request)))
      assert.include(answered(exit).text, "\"ok\":false")
    }))
})
