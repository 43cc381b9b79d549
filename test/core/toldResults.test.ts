/* What a handler says beside its result: what the model reads in its place (`tell`), and results before its end (`progress`). */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Dispatch, Tool, ToolCall, Toolkit, ToolUnavailable, Transcript } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import * as ClientEvent from "@fallible/core/ClientEvent"
import * as Rendering from "@fallible/core/Rendering"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schedule, Schema, Stream } from "effect"
import { playing, results } from "../support/approving.ts"

const Rows = Schema.Struct({ rows: Schema.Array(Schema.Int) })

const report = Tool.promise(
  "report",
  { description: "Reports", success: Rows, sideEffect: "none" },
  async (_, call) => {
    call.progress({ rows: [1] })
    call.attach(Transcript.file(new Uint8Array([1]), "image/png"))
    call.tell(`The report is shown. The user said: ${call.transcript()?.at(0)?.text}`)
    return { rows: [1, 2] }
  }
)

const agent = Agent.make({ toolkit: Toolkit.make(report) })

const script = [ScriptedModel.call("report", {}), ScriptedModel.text("Done.")]

const down = new ToolUnavailable({ code: "down", detail: "Down.", transient: true })

/** What the model reads of a call without arguments. */
const readOf = <A>(tool: Tool.Tool<string, {}, A, ToolUnavailable>) => {
  const call = { id: "1", name: tool.name }
  return Effect.map(
    Dispatch.call(Toolkit.make(tool), call),
    (outcome): unknown => JSON.parse(Rendering.json(outcome, call))
  )
}

const telling = (texts: ReadonlyArray<unknown>, end: Effect.Effect<number, ToolUnavailable> = Effect.succeed(1)) =>
  Tool.make(
    "tell",
    { description: "Tells", success: Schema.Int, sideEffect: "none" },
    () => Effect.andThen(Effect.forEach(texts, ToolCall.tell), end)
  )

describe("ToolCall.tell", () => {
  it.effect("gives the model something else to read than the result", () =>
    Effect.gen(function*() {
      const answer = yield* agent.run("Report.")
      assert.deepStrictEqual(results(answer), ["\"The report is shown. The user said: Report.\""])
    }).pipe(playing(...script)))

  it.effect("counts the last time", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* readOf(telling(["one", "two"])), "two")
      assert.deepStrictEqual(yield* readOf(telling([{ a: undefined, b: 1n }])), { b: "1" })
    }))

  it.effect("does not count for an attempt that failed, nor for a fallback's answer", () =>
    Effect.gen(function*() {
      let attempts = 0
      const once = Effect.suspend(() => attempts++ === 0 ? Effect.fail(down) : Effect.succeed(attempts))
      const flaky = Tool.make("flaky", { description: "Fails once", success: Schema.Int, sideEffect: "none" }, () =>
        attempts === 0 ? Effect.andThen(ToolCall.tell("too early"), once) : once)
      assert.strictEqual(yield* readOf(flaky.pipe(Tool.retry(Schedule.recurs(1)))), 2)
      const other = telling(["too early"], Effect.fail(down)).pipe(Tool.fallback(() =>
        Effect.succeed(7)
      ))
      const read = yield* readOf(other)
      assert.notInclude(JSON.stringify(read), "too early")
      assert.include(JSON.stringify(read), "7")
    }))

  it.effect("is of the tool that says it, not of one that runs it, but for a fallback", () =>
    Effect.gen(function*() {
      const inner = telling(["It is shown."])
      const around = Tool.make("around", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        Effect.as(inner.run({}), "another answer"))
      assert.strictEqual(yield* readOf(around), "another answer")
      const replaced = telling([], Effect.fail(down)).pipe(Tool.fallback(inner.run))
      assert.include(JSON.stringify(yield* readOf(replaced)), "It is shown.")
    }))

  it.effect("is cut like a result, and may be empty", () =>
    Effect.gen(function*() {
      const long = Agent.make({ toolkit: Toolkit.make(telling(["x".repeat(100_000)])), results: { bytes: 2_000 } })
      const [text = ""] = results(yield* long.run("Tell."))
      assert.isBelow(text.length, 4_000)
      assert.include(text, "was cut")
      assert.strictEqual(yield* readOf(telling([""])), "")
    }).pipe(playing(ScriptedModel.call("tell", {}), ScriptedModel.text("Done."))))
})

describe("what a handler tells", () => {
  it.effect("may be null", () =>
    Effect.gen(function*() {
      assert.isNull(yield* readOf(telling([null])))
      assert.isNull(yield* readOf(telling([undefined])))
    }))

  it.effect("is what a model in a loop gets nothing new from, whatever the results are", () =>
    Effect.gen(function*() {
      const timesRun = (told: (call: number) => string, result: (call: number) => number) => {
        let calls = 0
        const tool = Tool.make("look", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
          Effect.suspend(() =>
            Effect.as(ToolCall.tell(told(++calls)), result(calls))
          ))
        const script = [
          ...Array.from({ length: 12 }, () => ScriptedModel.call("look", {})),
          ScriptedModel.text("Done.")
        ]
        const run = Agent.make({ toolkit: Toolkit.make(tool) }).run("Look.")
        return Effect.map(Effect.exit(Effect.provide(run, ScriptedModel.layer(script))), () => calls)
      }
      assert.isBelow(yield* timesRun(() => "It is shown.", (call) => call), 12)
      assert.strictEqual(yield* timesRun((call) => `Step ${call}`, () => 1), 12)
    }))

  it.effect("is told again if a call is refused because it has been done", () =>
    Effect.gen(function*() {
      const pay = Tool.make("pay", {
        description: "Pays",
        parameters: Schema.Struct({ order: Schema.String }),
        success: Schema.String,
        identity: ({ order }) => order,
        repeats: false
      }, () => Effect.as(ToolCall.tell("It is paid."), "receipt 4711"))
      const answer = yield* Agent.make({ toolkit: Toolkit.make(pay) }).run("Pay.")
      const [first, second] = results(answer)
      assert.strictEqual(first, "\"It is paid.\"")
      assert.include(second, "It is paid.")
      assert.notInclude(second, "4711")
    }).pipe(
      playing(
        ScriptedModel.call("pay", { order: "o-7" }),
        ScriptedModel.call("pay", { order: "o-7" }),
        ScriptedModel.text("Done.")
      )
    ))

  it.effect("does not change when the handler changes it afterwards", () =>
    Effect.gen(function*() {
      const told: { self?: object; count: number } = { count: 1 }
      const tool = Tool.make("tell", { description: "Tells", success: Schema.Int, sideEffect: "none" }, () =>
        Effect.map(ToolCall.tell(told), () => {
          told.self = told
          return told.count = 2
        }))
      assert.deepStrictEqual(yield* readOf(tool), { count: 1 })
    }))
})

describe("ToolCall.progress", () => {
  const shownTo = (options?: AgentEvent.ForClients) =>
    agent.stream("Report.").pipe(AgentEvent.forClients(options), Stream.runCollect, Effect.map((events) => [...events]))

  it.effect("shows a result before the end, to those who may see results", () =>
    Effect.gen(function*() {
      const events = yield* shownTo({ results: ["report"] })
      const [progress] = events.filter((event) => event._tag === "ProgressMade")
      assert.deepInclude(progress, { turn: 1, index: 1, tool: "report", value: { rows: [1] } })
      const [ended] = events.filter((event) => event._tag === "CallEnded")
      assert.deepInclude(ended, { value: { rows: [1, 2] }, files: [{ mediaType: "image/png", base64: "AQ==" }] })
      for (const event of events) {
        assert.deepEqual(Schema.decodeSync(ClientEvent.schema)(Schema.encodeSync(ClientEvent.schema)(event)), event)
      }
    }).pipe(playing(...script)))

  it.live("shows nothing once its call has ended", () =>
    Effect.gen(function*() {
      let late = () => {}
      const early = Tool.promise(
        "early",
        { description: "", success: Schema.Int, sideEffect: "none" },
        async (_, call) => {
          late = () => call.progress("late")
          return 1
        }
      )
      const next = Tool.make("next", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        Effect.sync(() => {
          late()
          return 2
        }))
      const events = yield* Agent.make({ toolkit: Toolkit.make(early, next) }).stream("Go.").pipe(
        AgentEvent.forClients({ results: true }),
        Stream.runCollect
      )
      assert.notInclude(
        events.map(({ _tag }) =>
          _tag
        ),
        "ProgressMade"
      )
    }).pipe(playing(ScriptedModel.call("early", {}), ScriptedModel.call("next", {}), ScriptedModel.text("Done."))))

  it.effect("is hidden from all others, as files are", () =>
    Effect.gen(function*() {
      const text = JSON.stringify(yield* shownTo())
      assert.notInclude(text, "rows")
      assert.notInclude(text, "AQ==")
    }).pipe(playing(...script)))
})
