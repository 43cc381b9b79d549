import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentFailure,
  Model,
  ModelFailure,
  Policy,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import * as Journal from "@fallible/core/Journal"
import * as RunReport from "@fallible/core/RunReport"
import * as ToolOutcome from "@fallible/core/ToolOutcome"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schedule, Schema, Stream } from "effect"
import { passing } from "../support/virtualTime.ts"

const refused = new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })

/** A policy as a user may write it. */
const queueing: Policy.Policy = Policy.make({
  kind: "custom",
  name: "queue",
  description: "queues what cannot be done now",
  // The tool below returns strings.
  wrap: (run) => (params) => Effect.catch(run(params), () => Effect.succeed("queued" as never))
})

const down = Tool.make(
  "down",
  { description: "Is down", success: Schema.String, sideEffect: "none" },
  () => Effect.fail(refused)
)

describe("how a failure ended", () => {
  const script = ScriptedModel.layer([ScriptedModel.call("down"), ScriptedModel.text("done")])
  const agent = Agent.make({ toolkit: Toolkit.make(down), policies: [queueing] })
  const entry: RunReport.Entry = {
    turn: 1,
    call: 1,
    tool: "down",
    tag: "ToolUnavailable",
    code: "connection",
    detail: "Refused.",
    attempts: 1,
    certainty: "not_executed",
    handling: "custom",
    policy: "queue"
  }

  it.effect("is one of a closed list, with the name of a custom policy", () =>
    Effect.gen(function*() {
      const { report } = yield* agent.run("Go")
      assert.deepStrictEqual(report.failures, [entry])
    }).pipe(Effect.provide(script)))

  it.effect("is shortened if a tool's message is very long", () =>
    Effect.gen(function*() {
      const verbose = Tool.make(
        "down",
        { description: "Is down", success: Schema.String, sideEffect: "none" },
        () => Effect.fail(new ToolUnavailable({ ...refused, detail: "no ".repeat(10_000) }))
      )
      for (const tool of [verbose, verbose.pipe(Tool.fallback(() => Effect.succeed("")))]) {
        const { report } = yield* Agent.make({ toolkit: Toolkit.make(tool) }).run("Go").pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.call("down"), ScriptedModel.text("done")]))
        )
        assert.isBelow(report.failures[0]!.detail.length, 1_100)
      }
    }))

  it.effect("is reported to observers, with the policy's name", () =>
    Effect.gen(function*() {
      const events = yield* Stream.runCollect(agent.stream("Go"))
      const handled = events.flatMap((event) => event._tag === "FailureHandled" ? [[event.by, event.policy]] : [])
      assert.deepStrictEqual(handled, [["custom", "queue"]])
    }).pipe(Effect.provide(script)))

  it.effect("is reported with the policy's name for an inner tool, and inside a timeout", () =>
    Effect.gen(function*() {
      const inside = Toolkit.withDefaults(Toolkit.make(down), [queueing]).tools.get("down")
      const outer = Tool.make(
        "outer",
        { description: "", success: Schema.Unknown, sideEffect: "none" },
        () => inside!.run({})
      ).pipe(Tool.timeout("1 second"))
      const { report } = yield* Agent.make({ toolkit: Toolkit.make(outer) }).run("Go")
      assert.deepStrictEqual(report.failures, [{ ...entry, tool: "outer" }])
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("outer"), ScriptedModel.text("done")]))))

  it("has a schema that accepts no other", () => {
    const isEntry = Schema.is(RunReport.Entry)
    const handled = { tag: "ToolUnavailable", code: "connection", detail: "Refused." }
    for (const by of ToolOutcome.HandledBy.literals) {
      assert.isTrue(Schema.is(ToolOutcome.Handled)({ ...handled, by }))
      assert.isTrue(isEntry({ ...entry, handling: by }))
    }
    assert.isTrue(isEntry({ ...entry, handling: "told" }))
    for (const by of ["queue", "run_failed", "", undefined]) {
      assert.isFalse(Schema.is(ToolOutcome.Handled)({ ...handled, by }))
      assert.isFalse(isEntry({ ...entry, handling: by }))
    }
    assert.isFalse(Schema.is(ToolOutcome.Handled)({ ...handled, by: "told" }))
  })
})

const busy = new ModelFailure({ code: "server_error", detail: "Busy.", transient: true })
const limited = new ModelFailure({ code: "rate_limited", detail: "Too often.", transient: true })
const denied = new ModelFailure({ code: "permission_denied", detail: "No.", transient: false })

const ping = Tool.make(
  "ping",
  { description: "Answers", success: Schema.String, sideEffect: "none" },
  () => Effect.succeed("pong")
)
const agent = Agent.make({ toolkit: Toolkit.make(ping, down) })

const hello = Effect.succeed(ScriptedModel.text("Hello."))

/** Makes an effect that runs the next of some effects each time. */
const sequence = <A>(...attempts: ReadonlyArray<Effect.Effect<A, ModelFailure>>) => {
  let ran = 0
  return Effect.suspend(() => attempts[ran++] ?? Effect.die("run too often"))
}

/** Summarizes the failures of a report. */
const summaryOf = (report: RunReport.RunReport) =>
  report.failures.map((entry) =>
    entry.tag === "ModelFailure"
      ? `${entry.turn} model ${entry.code} ×${entry.attempts} ${entry.handling}`
      : `${entry.turn}.${entry.call} ${entry.tool} ${entry.code} ×${entry.attempts} ${entry.handling}`
  )
const ledgerOf = <R>(run: Effect.Effect<{ readonly report: RunReport.RunReport }, AgentFailure.AgentFailure, R>) =>
  Effect.match(run, { onSuccess: ({ report }) => report, onFailure: ({ report }) => report })
const toldOf = <R>(run: Effect.Effect<{ readonly report: RunReport.RunReport }, AgentFailure.AgentFailure, R>) =>
  Effect.map(ledgerOf(run), summaryOf)

type Run = <T extends Tool.Any>(
  agent: Agent.Agent<T>
) => Effect.Effect<Answer.Answer, AgentFailure.AgentFailure, Model.Model | Tool.Requirements<T>>

/** The same run, with and without an observer. */
const manners: Record<string, Run> = {
  run: (agent) => agent.run("Go"),
  stream: (agent) =>
    Effect.map(Stream.runCollect(agent.stream("Go")), (events) => {
      const last = events.at(-1)
      if (last?._tag !== "RunEnded") throw new Error("a run ends with RunEnded")
      return last.answer
    })
}

for (const [manner, runOf] of Object.entries(manners)) {
  describe(`failures of the model, agent.${manner}`, () => {
    it.effect("have one entry each: those that were retried, and the one that ended the run", () =>
      Effect.gen(function*() {
        const failure = yield* passing(Effect.flip(runOf(agent)))
        assert.instanceOf(failure, AgentFailure.ModelFailed)
        assert.deepStrictEqual(failure.report.failures, [
          { turn: 1, tag: "ModelFailure", code: "server_error", detail: "Busy.", attempts: 3, handling: "retry" },
          { turn: 1, tag: "ModelFailure", code: "rate_limited", detail: "Too often.", attempts: 3, handling: "retry" },
          { turn: 1, tag: "ModelFailure", code: "server_error", detail: "Busy.", attempts: 3, handling: "run_failed" }
        ])
        assert.deepStrictEqual([failure.report.turns, failure.report.calls], [0, 0])
      }).pipe(Effect.provide(ScriptedModel.layer([busy, limited, busy]))))

    it.effect("stay in the report if the run continues, among those of calls, in order", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* passing(toldOf(runOf(agent))), [
          "1 model server_error ×2 retry",
          "1.1 down connection ×1 told",
          "3 model rate_limited ×3 retry",
          "3 model server_error ×3 retry"
        ])
      }).pipe(Effect.provide(ScriptedModel.layer([
        busy,
        ScriptedModel.call("down"),
        ScriptedModel.call("ping"),
        limited,
        busy,
        ScriptedModel.text("done")
      ]))))

    it.effect("have an entry even without a retry", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* toldOf(runOf(agent)), [
          "1.1 down connection ×1 told",
          "2 model permission_denied ×1 run_failed"
        ])
      }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("down"), denied]))))

    it.effect("are recorded if the run's time ends before the model answers", () =>
      Effect.gen(function*() {
        const failure = yield* passing(
          Effect.flip(runOf(Agent.make({ toolkit: Toolkit.make(ping), limits: { elapsed: "1 minute" } })))
        )
        assert.isTrue(failure instanceof AgentFailure.LimitReached && failure.limit === "elapsed")
        assert.deepStrictEqual(summaryOf(failure.report), ["1 model server_error ×2 retry"])
      }).pipe(Effect.provide(ScriptedModel.layer([Effect.fail(busy), Effect.never]))))

    it.effect("include each of three consecutive empty replies", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* passing(toldOf(runOf(agent))), [
          "1 model empty_reply ×1 retry",
          "2 model server_error ×2 retry",
          "2 model empty_reply ×2 retry",
          "3 model empty_reply ×3 run_failed"
        ])
      }).pipe(Effect.provide(ScriptedModel.layer([
        ScriptedModel.text(""),
        busy,
        ScriptedModel.text(" "),
        ScriptedModel.text("")
      ]))))

    it.effect("include those caused by a programming error", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* passing(toldOf(runOf(agent))), [
          "1 model server_error ×2 retry",
          "1 model defect ×2 run_failed"
        ])
      }).pipe(Effect.provide(ScriptedModel.layer([Effect.fail(busy), Effect.die("a bug")]))))

    it.effect("of the provider's own retries count as well", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* passing(toldOf(runOf(agent))), [
          "1 model server_error ×3 retry",
          "1 model rate_limited ×3 retry"
        ])
      }).pipe(
        Effect.provide(
          ScriptedModel.layer([
            Model.retry(sequence(Effect.fail(busy), Effect.fail(limited), hello), Schedule.recurs(2))
          ])
        )
      ))

    it.effect("of the provider and of the agent are recorded once each", () =>
      Effect.gen(function*() {
        const attempt = () => Model.retry(sequence(Effect.fail(busy), Effect.fail(limited)), Schedule.recurs(1))
        const persistent = Agent.make({ toolkit: Toolkit.make(ping), modelRetry: Schedule.recurs(1) })
        assert.deepStrictEqual(
          yield* passing(toldOf(Effect.provide(runOf(persistent), ScriptedModel.layer([attempt(), attempt()])))),
          [
            "1 model server_error ×4 retry",
            "1 model rate_limited ×4 retry",
            "1 model server_error ×4 retry",
            "1 model rate_limited ×4 run_failed"
          ]
        )
      }))

    it.effect("include the attempts of a provider that reports none of them", () =>
      Effect.gen(function*() {
        const persistent = Agent.make({ toolkit: Toolkit.make(ping), modelRetry: Schedule.recurs(1) })
        assert.deepStrictEqual(yield* passing(toldOf(runOf(persistent))), ["1 model server_error ×4 retry"])
      }).pipe(Effect.provide(ScriptedModel.layer([
        new ModelFailure({ ...busy, attempts: 3 }),
        ScriptedModel.text("done")
      ]))))

    it.effect("are shortened if their message is very long", () =>
      Effect.gen(function*() {
        const { failures } = yield* passing(ledgerOf(runOf(agent)))
        for (const { detail } of failures) assert.isBelow(detail.length, 1100)
        assert.strictEqual(failures.length, 3)
      }).pipe(Effect.provide(ScriptedModel.layer(
        Array.from(
          { length: 3 },
          () => new ModelFailure({ code: "server_error", detail: "x".repeat(100_000), transient: true })
        )
      ))))

    it.effect("of a model call by a tool are not in the run's report, but those of an agent by a tool are", () =>
      Effect.gen(function*() {
        const outside: Array<string> = []
        const asks = Tool.make(
          "asks",
          { description: "", success: Schema.String, sideEffect: "none" },
          () =>
            Model.retry(sequence(Effect.fail(busy), Effect.succeed("asked")), Schedule.recurs(2)).pipe(
              Effect.orDie
            )
        )
        const consulting = Tool.make(
          "consults",
          { description: "", success: Schema.String, sideEffect: "none" },
          () =>
            Agent.make({ toolkit: Toolkit.make(ping) }).run("inside").pipe(
              Effect.map(({ report }) => summaryOf(report).join()),
              Effect.orDie,
              Effect.provide(ScriptedModel.layer([limited, ScriptedModel.text("Hello.")]))
            )
        )
        const answer = yield* Agent.make({ toolkit: Toolkit.make(asks, consulting) }).run("Go").pipe(
          Effect.provide(
            ScriptedModel.layer([busy, ScriptedModel.calls(["asks"], ["consults"]), ScriptedModel.text("done")])
          ),
          Effect.provideService(Model.onRetry, ({ code }) => Effect.sync(() => void outside.push(code))),
          passing
        )
        assert.deepStrictEqual(summaryOf(answer.report), [
          "1 model server_error ×2 retry",
          "1 model rate_limited ×2 retry"
        ])
        assert.deepStrictEqual(answer.report.failures.map(({ inside }) => inside), [undefined, "consults"])
        assert.include(JSON.stringify(answer.transcript), "1 model rate_limited ×2 retry")
        // An observer outside the run gets all of them.
        assert.deepStrictEqual(outside, ["server_error", "server_error", "rate_limited"])
      }))
  })
}

/** Makes a journal that records each step as text, including failures, and one that replays them. */
const journals = () => {
  const written = new Map<string, string>()
  const exitOf = <A, E, R>({ error, success }: Journal.Step<A, E, R>) =>
    Schema.toCodecJson(Schema.Exit(success, error, Schema.Defect()))
  const recording: Journal.Journal = {
    step: (step, effect) =>
      Effect.flatMap(Effect.exit(effect), (exit) => {
        written.set(step.name, JSON.stringify(Schema.encodeSync(exitOf(step))(exit)))
        return exit
      })
  }
  const replaying: Journal.Journal = {
    step: (step) => Effect.suspend(() => Schema.decodeUnknownSync(exitOf(step))(JSON.parse(written.get(step.name)!)))
  }
  return { recording, replaying, written }
}

describe("a report after a replay", () => {
  const scripts: Record<string, ScriptedModel.Script> = {
    "of a run that went on": [busy, limited, ScriptedModel.call("down"), busy, ScriptedModel.text("done")],
    "of a run that died of its model": [ScriptedModel.call("down"), busy, limited, busy],
    "of a run that died at once": [denied],
    "of a run in which the provider asked again": [
      Model.retry(sequence(Effect.fail(busy), hello), Schedule.recurs(1))
    ]
  }
  for (const [manner, runOf] of Object.entries(manners)) {
    for (const [what, script] of Object.entries(scripts)) {
      it.effect(`is that of the first run: ${what}, agent.${manner}`, () =>
        Effect.gen(function*() {
          const { recording, replaying, written } = journals()
          const first = yield* runOf(agent).pipe(
            ledgerOf,
            Effect.provide(ScriptedModel.layer(script)),
            Effect.provideService(Journal.current, recording),
            passing
          )
          assert.isNotEmpty(first.failures)
          const steps = written.size
          const again = yield* runOf(agent).pipe(
            ledgerOf,
            Effect.provide(ScriptedModel.layer([])),
            Effect.provideService(Journal.current, replaying),
            passing
          )
          assert.deepStrictEqual(again, first)
          assert.strictEqual(written.size, steps)
        }))
    }
  }

  it.effect("has the entries of the suspended run and of the resumed one", () =>
    Effect.gen(function*() {
      const asks = Tool.make("asks", { description: "", success: Schema.String }, () => ToolCall.ask("Really?"))
      const agent = Agent.make({ toolkit: Toolkit.make(asks) })
      const failure = yield* passing(Effect.flip(agent.run("Go")))
      if (failure._tag !== "RunSuspended") return assert.fail(failure._tag)
      const stored = JSON.stringify(Schema.encodeSync(AgentFailure.schema)(failure))
      const decoded = Schema.decodeUnknownSync(AgentFailure.RunSuspended.schema)(JSON.parse(stored))
      assert.deepStrictEqual(yield* passing(toldOf(agent.resume(decoded.suspension, "Yes."))), [
        "1 model server_error ×2 retry",
        "2 model rate_limited ×2 retry"
      ])
    }).pipe(
      Effect.provide(ScriptedModel.layer([busy, ScriptedModel.call("asks"), limited, ScriptedModel.text("done")]))
    ))

  it.effect("has the model's failures even if the journal dies after it", () =>
    Effect.gen(function*() {
      const dying: Journal.Journal = {
        step: (step, effect) => step.name === "turn/1/model" ? Effect.andThen(effect, Effect.die("full")) : effect
      }
      const run = agent.run("Go").pipe(Effect.provideService(Journal.current, dying))
      assert.deepStrictEqual(yield* passing(toldOf(run)), [
        "1 model server_error ×2 retry",
        "1 model halted ×2 run_failed"
      ])
    }).pipe(Effect.provide(ScriptedModel.layer([busy, ScriptedModel.text("done")]))))

  it.effect("reports that the model was not called if the journal died before", () =>
    Effect.gen(function*() {
      for (
        const [name, told] of [["run", []], ["turn/1/model", ["1 model halted ×0 run_failed"]]] satisfies ReadonlyArray<
          [string, Array<string>]
        >
      ) {
        const dying: Journal.Journal = {
          step: (step, effect) => step.name === name ? Effect.die("full") : effect
        }
        const run = agent.run("Go").pipe(Effect.provideService(Journal.current, dying))
        assert.deepStrictEqual(yield* toldOf(run), told)
      }
    }).pipe(Effect.provide(ScriptedModel.layer([]))))
})
