/**
 * What a run reports is the sum of what its models reported: over retries, agents inside tools, fixing agents, suspensions
 * that are stored, and processes that stop and continue from a journal.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentFailure,
  Fixer,
  Model,
  ModelFailure,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import * as Journal from "@fallible/core/Journal"
import type * as RunReport from "@fallible/core/RunReport"
import { ScriptedModel } from "@fallible/testing"
import { Deferred, Effect, Logger, Schedule, Schema, type Stream } from "effect"
import * as fc from "fast-check"
import { cases, runs } from "../support/runs.ts"
import { asRun } from "../support/streamedRun.ts"

// -----------------------------------------------------------------------------
// Scenarios
// -----------------------------------------------------------------------------

const count = fc.nat({ max: 1_000 })

/** Any field may be missing. Quarters have exact sums. */
const usage: fc.Arbitrary<Model.Usage> = fc.record({
  inputTokens: count,
  outputTokens: count,
  cachedTokens: count,
  cacheWrittenTokens: count,
  reasoningTokens: count,
  money: count.map((quarters) => quarters / 4)
}, { requiredKeys: [] })

const reported = fc.oneof(
  { weight: 2, arbitrary: usage },
  // A count of 0 is a count, unlike none at all.
  { weight: 1, arbitrary: fc.constantFrom<Model.Usage>({ inputTokens: 0 }, { outputTokens: 0, money: 0 }, {}) },
  { weight: 2, arbitrary: fc.constant(undefined) }
)

/** One request to a model: it fails some times, and then it calls tools, answers, or fails for good. */
interface Move {
  readonly fails: ReadonlyArray<Model.Usage | undefined>
  readonly used: Model.Usage | undefined
  readonly acts: ReadonlyArray<Act>
}

const tools = ["ping", "consult", "weather", "ask", "consult_and_ask"] as const
type Act = typeof tools[number] | "give up"

const moves = (acts: ReadonlyArray<Act>, most: number): fc.Arbitrary<ReadonlyArray<Move>> =>
  fc.array(
    fc.record({
      fails: fc.array(reported, { maxLength: 2 }),
      used: reported,
      acts: fc.array(fc.constantFrom(...acts), { maxLength: most })
    }),
    { maxLength: 3 }
  )

/** The moves of the agent, of those inside its tools, and of those that correct arguments. The last moves are answers. */
interface Scenario {
  readonly outer: ReadonlyArray<Move>
  readonly inner: ReadonlyArray<Move>
  readonly fixing: ReadonlyArray<Move>
  readonly isStreamed: boolean
  /** The number of the journal's step, from 1, before which a process stops; 0 for none. */
  readonly stopsAt: number
}

const scenario: fc.Arbitrary<Scenario> = fc.oneof(
  fc.record({
    outer: moves([...tools, ...tools, "give up"], 3),
    inner: moves(["ping", "weather", "ping", "give up"], 2),
    fixing: moves(["ping", "ping", "give up"], 2),
    isStreamed: fc.boolean(),
    stopsAt: fc.constant(0)
  }),
  // What a process was about to do when it stopped may have been counted. So it does one thing at a time.
  fc.record({
    outer: moves([...tools, "give up"], 1),
    inner: moves(["ping", "weather", "give up"], 1),
    fixing: moves(["ping"], 1),
    isStreamed: fc.boolean(),
    stopsAt: fc.nat({ max: 8 })
  })
)

// -----------------------------------------------------------------------------
// Playing
// -----------------------------------------------------------------------------

const fields = [
  "inputTokens",
  "outputTokens",
  "cachedTokens",
  "cacheWrittenTokens",
  "reasoningTokens",
  "money"
] as const
type Sums = { -readonly [Key in keyof Model.Usage]: Model.Usage[Key] } & { unreported?: number }

/** What the models have reported, as they reported it. */
class Ledger {
  readonly sums: Sums = {}

  add(used: Model.Usage | undefined, isReply: boolean): void {
    for (const key of fields) {
      const value = used?.[key]
      if (value !== undefined) this.sums[key] = (this.sums[key] ?? 0) + value
    }
    if (isReply && used?.inputTokens === undefined && used?.outputTokens === undefined) {
      this.sums.unreported = (this.sums.unreported ?? 0) + 1
    }
  }
}

const withUsage = (used: Model.Usage | undefined) => used === undefined ? {} : { usage: used }

const failed = (transient: boolean, used: Model.Usage | undefined) =>
  new ModelFailure({ code: "server_error", detail: "Busy.", transient, ...withUsage(used) })

/** A model server: what it has done lasts, whichever process asks. */
const serving = (ledger: Ledger, moves: ReadonlyArray<Move>, answer: string) => {
  const left = moves.map(({ fails, ...move }) => ({ ...move, fails: [...fails] }))
  return Model.layer({
    respond: () =>
      Effect.suspend(() => {
        const [move] = left
        if (move === undefined) {
          ledger.add(undefined, true)
          return Effect.succeed(ScriptedModel.text(answer))
        }
        if (move.fails.length > 0) {
          const used = move.fails.shift()
          ledger.add(used, false)
          return Effect.fail(failed(true, used))
        }
        left.shift()
        const { acts, used } = move
        if (acts.includes("give up")) {
          ledger.add(used, false)
          return Effect.fail(failed(false, used))
        }
        ledger.add(used, true)
        const calls = ScriptedModel.calls(
          acts.map((name) => name === "weather" ? [name, { city: "paris" }] as const : [name] as const)
        )
        return Effect.succeed({ ...(acts.length === 0 ? ScriptedModel.text(answer) : calls), ...withUsage(used) })
      })
  })
}

const ping = Tool.make(
  "ping",
  { description: "", success: Schema.String, sideEffect: "none" },
  () => Effect.succeed("pong")
)

/** The options of all agents: a failed request is repeated at once, and nothing ends early. */
const patient = { loopGuard: "off", modelRetry: Schedule.recurs(4) } as const

const corrector = Agent.make({ ...patient, toolkit: Toolkit.make(ping) })

/** Needs a capital letter, which another agent knows how to write. */
const weather = (model: ReturnType<typeof serving>) =>
  Tool.make(
    "weather",
    {
      description: "",
      parameters: Schema.Struct({ city: Schema.String.check(Schema.isPattern(/^[A-Z]/)) }),
      success: Schema.String,
      sideEffect: "none"
    },
    ({ city }) => Effect.succeed(`sunny in ${city}`)
  ).pipe(Tool.fix(Fixer.agent({ run: (question) => Effect.provide(corrector.run(question), model) }), { tries: 2 }))

const agentsOf = (ledger: Ledger, { fixing, inner, outer }: Scenario) => {
  const fixer = serving(ledger, fixing, "{\"city\":\"Paris\"}")
  const innerModel = serving(ledger, inner, "Inner.")
  const expert = Agent.make({ ...patient, toolkit: Toolkit.make(ping, weather(fixer)) })
  const consulting = expert.run("What is it?").pipe(
    Effect.provide(innerModel),
    Effect.mapBoth({
      onSuccess: ({ text }) => text,
      onFailure: ({ detail }) => new ToolUnavailable({ code: "expert", detail, transient: false })
    })
  )
  const text = { description: "", success: Schema.String, sideEffect: "none" } as const
  const consult = Tool.make("consult", text, () => consulting)
  const ask = Tool.make("ask", text, () => ToolCall.ask("Which?"))
  const both = Tool.make(
    "consult_and_ask",
    text,
    () => Effect.andThen(consulting, ToolCall.ask("Which?"))
  )
  const agent = Agent.make({ ...patient, toolkit: Toolkit.make(ping, consult, weather(fixer), ask, both) })
  return { agent, model: serving(ledger, outer, "Outer.") }
}

/** A journal whose first process stops before a step. Each later process continues. */
const stoppingJournal = (stopsAt: number, onStop: () => void) => {
  const store = new Map<string, string>()
  let begun = 0
  return <A, E, R>(run: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.gen(function*() {
      const stopped = yield* Deferred.make<void>()
      const journal: Journal.Journal = {
        step: ({ error, name, success }, effect) => {
          const codec = Schema.toCodecJson(Schema.Exit(success, error, Schema.Defect()))
          const stored = store.get(name)
          if (stored !== undefined) return Effect.suspend(() => Schema.decodeUnknownSync(codec)(JSON.parse(stored)))
          if (++begun === stopsAt) return Effect.andThen(Deferred.succeed(stopped, undefined), Effect.never)
          return Effect.flatMap(Effect.exit(effect), (exit) => {
            store.set(name, JSON.stringify(Schema.encodeSync(codec)(exit)))
            return exit
          })
        }
      }
      const process = Effect.provideService(run, Journal.current, journal)
      const ended = yield* Effect.raceFirst(Effect.exit(process), Effect.as(Deferred.await(stopped), undefined))
      if (ended === undefined) {
        onStop()
        yield* Effect.exit(process)
      }
      // A last process replays everything, and asks no model.
      return yield* process
    })
}

const play = (scenario: Scenario) => {
  const ledger = new Ledger()
  let legs = 0
  let hasStopped = false
  const { agent, model } = agentsOf(ledger, scenario)
  const { isStreamed, stopsAt } = scenario
  const leg = (
    whole: Effect.Effect<{ readonly report: RunReport.RunReport }, AgentFailure.AgentFailure, Model.Model>,
    stream: Stream.Stream<AgentEvent.AgentEvent, AgentFailure.Failed, Model.Model>
  ): Effect.Effect<RunReport.RunReport, never, Model.Model> => {
    legs++
    const run = isStreamed
      ? asRun(stream)
      : whole
    return Effect.matchEffect(stopsAt === 0 ? run : stoppingJournal(stopsAt, () => hasStopped = true)(run), {
      onSuccess: ({ report }) => Effect.succeed(report),
      onFailure: (failure) => {
        if (failure._tag !== "RunSuspended") return Effect.succeed(failure.report)
        const stored = JSON.stringify(Schema.encodeSync(AgentFailure.Suspension)(failure.suspension))
        const suspension = Schema.decodeUnknownSync(AgentFailure.Suspension)(JSON.parse(stored))
        return leg(agent.resume(suspension, "This."), agent.resumeStream(suspension, "This."))
      }
    })
  }
  return leg(agent.run("Go."), agent.stream("Go.")).pipe(
    Effect.map((report) => ({ report, ledger, legs, hasStopped })),
    Effect.provide(model),
    Effect.provide(Logger.layer([]))
  )
}

describe("the usage in a report", () => {
  it("is the sum of what the models reported, and what none reported is absent", { tags: "slow" }, async () => {
    const seen = { failures: 0, givenUp: 0, insideTools: 0, fixed: 0, suspended: 0, stopped: 0, unknown: 0 }
    await fc.assert(
      fc.asyncProperty(scenario, async (scenario) => {
        const { hasStopped, ledger, legs, report } = await Effect.runPromise(play(scenario))
        const entries = report.failures
        if (entries.some(({ handling, tag }) => tag === "ModelFailure" && handling === "retry")) seen.failures++
        if (entries.some(({ handling }) => handling === "run_failed")) seen.givenUp++
        if (entries.some(({ inside }) => inside !== undefined)) seen.insideTools++
        if (entries.some(({ handling }) => handling === "fix")) seen.fixed++
        if (legs > 1) seen.suspended++
        if (hasStopped) seen.stopped++
        if (report.unreported !== undefined && report.inputTokens === undefined) seen.unknown++
        const { calls: _, failures: __, repairs: ___, turns: ____, ...sums } = report
        assert.deepStrictEqual(sums, ledger.sums)
      }),
      { numRuns: runs(5_000, 8) }
    )
    // The sample covers many runs of each kind.
    for (const [name, count] of Object.entries(seen)) assert.isAbove(count, cases(150), name)
  })
})
