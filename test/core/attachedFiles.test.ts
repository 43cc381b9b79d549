/** Files that tools attach to their answers, and files and cache marks of questions. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentFailure,
  Dispatch,
  Observer,
  PartialData,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable,
  Transcript
} from "@fallible/core"
import * as CallEvent from "@fallible/core/CallEvent"
import * as Journal from "@fallible/core/Journal"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schedule, Schema } from "effect"
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { handling, logging, outcomeOf } from "../support/illTyped.ts"
import type { Untyped } from "../support/nonsense.ts"

const chart = Transcript.file(new Uint8Array([137, 80, 78, 71]), "image/png", "chart.png")
const table: Transcript.File = { url: "https://shop.example/7.pdf", mediaType: "application/pdf" }
const down = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "not_executed" })

const definition = { description: "", success: Schema.String, sideEffect: "none" } as const
const call = { id: "1", name: "draw" }

const drawing = (...files: ReadonlyArray<Transcript.File>) =>
  Effect.as(Effect.forEach(files, ToolCall.attach, { discard: true }), "drawn")

const draw = Tool.make("draw", definition, () => drawing(chart, table))

const attachedTo = (outcome: ToolOutcome.ToolOutcome) =>
  outcome._tag === "Completed" ? outcome.files : assert.fail(outcome._tag)

const dispatched = (tool: Tool.Tool<"draw", object, string, ToolUnavailable>) =>
  Effect.map(Dispatch.call(Toolkit.make(tool), call), attachedTo)

/** The files of the results of a transcript. */
const filesIn = (transcript: Transcript.Transcript) =>
  Array.from(transcript).flatMap((message) => message.role === "tool" ? [message.files] : [])

describe("ToolCall.attach", () => {
  it.effect("puts files beside the answer: in the outcome, its events, and the message that the model gets", () =>
    Effect.gen(function*() {
      const events: Array<CallEvent.CallEvent> = []
      const answer = yield* Observer.observe(Agent.make({ toolkit: Toolkit.make(draw) }).run("Draw."), {
        onEvent: (event) => events.push(event)
      })
      assert.deepStrictEqual(filesIn(answer.transcript), [[chart, table]])
      const [, second] = yield* Effect.flatMap(ScriptedModel.ScriptedModel, ({ requests }) => requests)
      assert.deepStrictEqual(second?.messages.at(-1), {
        role: "tool",
        callId: "call_1",
        name: "draw",
        text: "\"drawn\"",
        files: [chart, table]
      })
      const attached = events.filter(({ _tag }) => _tag === "FileAttached")
      assert.strictEqual(attached.length, 2)
      for (const event of attached) {
        const stored = JSON.stringify(Schema.encodeSync(CallEvent.schema)(event))
        assert.deepInclude({ ...Schema.decodeUnknownSync(CallEvent.schema)(JSON.parse(stored)) }, {
          _tag: "FileAttached"
        })
      }
      // A conversation that is stored keeps them.
      const stored = JSON.stringify(Schema.encodeSync(Transcript.schema)(answer.transcript))
      assert.deepStrictEqual(
        filesIn(Schema.decodeUnknownSync(Transcript.schema)(JSON.parse(stored))),
        [[chart, table]]
      )
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("draw"), ScriptedModel.text("Done.")]))))

  it.effect("is part of what a tool outside of an agent answers", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* Tool.outcome(draw, {})).files, [chart, table])
      assert.notProperty(yield* Tool.outcome(Tool.make("draw", definition, () => Effect.succeed("none")), {}), "files")
      assert.strictEqual(yield* draw.run({}), "drawn")
    }))

  it.effect("does nothing outside of a call", () => drawing(chart))

  it.effect("is discarded with an attempt that failed", () =>
    Effect.gen(function*() {
      let attempts = 0
      const flaky = Tool.make("draw", definition, () => {
        attempts++
        return attempts === 1 ? Effect.andThen(drawing(chart), Effect.fail(down)) : drawing(table)
      }).pipe(Tool.retry(Schedule.recurs(1)))
      assert.deepStrictEqual(yield* dispatched(flaky), [table])
      const failing = Tool.make("draw", definition, () => Effect.andThen(drawing(chart), Effect.fail(down)))
      const outcome = yield* Dispatch.call(Toolkit.make(failing), call)
      assert.strictEqual(outcome._tag, "Failed")
      assert.notInclude(JSON.stringify(outcome), "base64")
    }))

  it.effect("is discarded if a fallback answers, which may have files of its own", () =>
    Effect.gen(function*() {
      const failing = Tool.make("draw", definition, () => Effect.andThen(drawing(chart), Effect.fail(down)))
      const plain = failing.pipe(Tool.fallback(() => Effect.succeed("from a cache"), { name: "cache" }))
      assert.isUndefined(yield* dispatched(plain))
      const drawn = failing.pipe(Tool.fallback(() => drawing(table), { name: "mirror" }))
      assert.deepStrictEqual(yield* dispatched(drawn), [table])
      const mirror = Tool.make("draw", definition, () => drawing(table))
      assert.deepStrictEqual(yield* dispatched(failing.pipe(Tool.fallback(mirror.run, { name: "mirror" }))), [table])
    }))

  it.effect("by a tool inside the handler is a file of the outer call, unless the inner call failed", () =>
    Effect.gen(function*() {
      const broken = Tool.make("broken", definition, () => Effect.andThen(drawing(table), Effect.fail(down)))
      const inner = Tool.make("inner", definition, () => drawing(chart))
      const outer = Tool.make(
        "draw",
        definition,
        () => Effect.andThen(Effect.catch(broken.run({}), () => Effect.void), inner.run({}))
      )
      assert.deepStrictEqual(yield* dispatched(outer), [chart])
    }))

  it.effect("by several pages is a file of the whole answer; one that they share is there once", () =>
    Effect.gen(function*() {
      const paged = Tool.make(
        "draw",
        { ...definition, parameters: Schema.Struct({ page: Schema.Int }) },
        ({ page }) =>
          Effect.andThen(
            drawing(chart, { url: `https://shop.example/${page}.pdf` }),
            page === 2
              ? Effect.succeed("two")
              : Effect.fail(new PartialData({ code: "more", detail: "More.", data: "one, ", next: { page: page + 1 } }))
          )
      ).pipe(Tool.paginate({ merge: (soFar, next) => soFar + next }))
      const outcome = yield* Dispatch.call(Toolkit.make(paged), { ...call, arguments: "{\"page\":1}" })
      assert.deepInclude(outcome, { value: "one, two" })
      assert.deepStrictEqual(attachedTo(outcome), [
        chart,
        { url: "https://shop.example/1.pdf" },
        { url: "https://shop.example/2.pdf" }
      ])
    }))

  it.effect("goes to each of equal calls that were joined", () =>
    Effect.gen(function*() {
      let runs = 0
      const once = Tool.make("draw", { description: "", success: Schema.String }, () => {
        runs++
        return drawing(chart)
      })
      const { transcript } = yield* Agent.make({ toolkit: Toolkit.make(once) }).run("Draw.")
      assert.strictEqual(runs, 1)
      assert.deepStrictEqual(filesIn(transcript), [[chart], [chart]])
    }).pipe(
      Effect.provide(ScriptedModel.layer([ScriptedModel.calls(["draw"], ["draw"]), ScriptedModel.text("Done.")]))
    ))

  it.effect("is a defect if that is no file", () =>
    Effect.gen(function*() {
      const wrong: ReadonlyArray<Untyped> = [undefined, null, "a.png", {}, { base64: "R0lG" }, { url: 5 }, Effect.void]
      for (const file of wrong) {
        const tool = handling(() => Effect.as(ToolCall.attach(file), "drawn"))
        const { logged, value } = yield* logging(outcomeOf(tool))
        assert.strictEqual(value._tag === "Failed" && value.failure.code, "defect")
        assert.include(logged.join(), "ToolCall.attach needs a file: { mediaType, base64 } or { url }.")
      }
    }))

  it.effect("is replayed from a journal", () =>
    Effect.gen(function*() {
      const store = new Map<string, string>()
      const remembering: Journal.Journal = {
        step: ({ name, success }, run) => {
          const codec = Schema.toCodecJson(success)
          const stored = store.get(name)
          return stored === undefined
            ? Effect.tap(run, (value) =>
              Effect.sync(() => store.set(name, JSON.stringify(Schema.encodeUnknownSync(codec)(value)))))
            : Effect.suspend(() =>
              Schema.decodeUnknownEffect(codec)(JSON.parse(stored))
            ).pipe(Effect.orDie)
        }
      }
      let runs = 0
      const counted = Tool.make("draw", definition, () => {
        runs++
        return drawing(chart)
      })
      const run = Agent.make({ toolkit: Toolkit.make(counted) }).run("Draw.").pipe(
        Effect.provideService(Journal.current, remembering)
      )
      const first = yield* run
      const again = yield* run
      assert.strictEqual(runs, 1)
      assert.deepStrictEqual(filesIn(first.transcript), [[chart]])
      assert.deepStrictEqual(filesIn(again.transcript), [[chart]])
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("draw"), ScriptedModel.text("Done.")]))))

  it.effect("beside a question of another tool is stored with the suspension, and is there when the run goes on", () =>
    Effect.gen(function*() {
      // What is attached before a question belongs to an answer that was never given.
      const ask = Tool.make("ask", definition, () =>
        Effect.flatMap(
          Effect.andThen(drawing(table), ToolCall.ask("Which?")),
          (reply) => Effect.as(drawing(chart), reply)
        ))
      const agent = Agent.make({ toolkit: Toolkit.make(draw, ask) })
      const file = join(mkdtempSync(join(tmpdir(), "suspension-")), "run.json")
      const failure = yield* Effect.flip(agent.run("Draw."))
      if (failure._tag !== "RunSuspended") return assert.fail(failure._tag)
      writeFileSync(file, JSON.stringify(Schema.encodeSync(AgentFailure.Suspension)(failure.suspension)))
      const suspension = Schema.decodeUnknownSync(AgentFailure.Suspension)(JSON.parse(readFileSync(file, "utf8")))
      const { transcript } = yield* agent.resume(suspension, "This.")
      assert.deepStrictEqual(filesIn(transcript), [[chart, table], [table, chart]])
    }).pipe(
      Effect.provide(ScriptedModel.layer([ScriptedModel.calls(["draw"], ["ask"]), ScriptedModel.text("Done.")]))
    ))
})

describe("a call whose answer is in its files", () => {
  const shooting = (shot: (number: number) => Transcript.File, text = "A picture is attached.") => {
    let shots = 0
    return Tool.make(
      "screenshot",
      { ...definition, parameters: Schema.Struct({ window: Schema.String }) },
      () => Effect.as(Effect.suspend(() => ToolCall.attach(shot(shots++))), text)
    )
  }
  const pressing: ScriptedModel.Script = (_, index) =>
    index < 15 ? ScriptedModel.call("screenshot", { window: "Shop" }) : ScriptedModel.text("Done.")
  const run = (tool: ReturnType<typeof shooting>) =>
    Effect.provide(Agent.make({ toolkit: Toolkit.make(tool) }).run("Look."), ScriptedModel.layer(pressing))
  const told = (transcript: Transcript.Transcript) =>
    new Set(Array.from(transcript).flatMap((message) => message.role === "tool" ? [message.text] : []))

  it.effect("is no repetition if the files are new, whatever the text says", () =>
    Effect.gen(function*() {
      const bytes = yield* run(shooting((number) => Transcript.file(new Uint8Array([number]), "image/png")))
      assert.deepStrictEqual(told(bytes.transcript), new Set(["\"A picture is attached.\""]))
      const addresses = yield* run(shooting((number) => ({ url: `https://shop.example/${number}.png` })))
      assert.deepStrictEqual(told(addresses.transcript), new Set(["\"A picture is attached.\""]))
    }))

  it.effect("is a repetition if the files are the same", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(run(shooting(() => Transcript.file(new Uint8Array([7]), "image/png"))))
      assert.strictEqual(failure._tag, "LoopDetected")
    }))

  it.effect("is not empty, although its value is", () =>
    Effect.gen(function*() {
      const { transcript } = yield* run(shooting((number) => ({ url: `https://shop.example/${number}.png` }), ""))
      assert.deepStrictEqual(told(transcript), new Set(["\"\""]))
      const none = Tool.make(
        "screenshot",
        { ...definition, parameters: Schema.Struct({ window: Schema.String }) },
        () => Effect.succeed("")
      )
      const outcome = yield* Dispatch.call(Toolkit.make(none), {
        id: "1",
        name: "screenshot",
        arguments: "{\"window\":\"Shop\"}"
      })
      assert.include(JSON.stringify(outcome), "The result is empty.")
    }))
})

describe("a question", () => {
  const agent = (instructions: Agent.Options<never>["instructions"]) =>
    Agent.make({ toolkit: Toolkit.empty, ...(instructions === undefined ? {} : { instructions }) })
  const asked = Effect.flatMap(ScriptedModel.ScriptedModel, ({ requests }) => requests)
  const text = ScriptedModel.layer(() => ScriptedModel.text("Done."))

  it.effect("may have files and a mark for the cache, and so may instructions", () =>
    Effect.gen(function*() {
      yield* agent({ text: "Be brief.", cache: true }).run({
        text: "What is this?",
        files: [chart, table],
        cache: true
      })
      yield* agent({ text: "Be brief." }).run({ text: "What?" })
      const [first, second] = yield* asked
      assert.deepStrictEqual(first?.messages, [
        { role: "system", text: "Be brief.", cache: true },
        { role: "user", text: "What is this?", files: [chart, table], cache: true }
      ])
      assert.deepStrictEqual(second?.messages, [{ role: "system", text: "Be brief." }, { role: "user", text: "What?" }])
    }).pipe(Effect.provide(text)))

  it.effect("goes on with the instructions of today, and with their mark", () =>
    Effect.gen(function*() {
      const { transcript } = yield* agent("Be brief.").run("One?")
      const marked = yield* agent({ text: "Be brief.", cache: true }).run("Two?", { transcript })
      assert.deepStrictEqual(marked.transcript.at(0), { role: "system", text: "Be brief.", cache: true })
      const unmarked = yield* agent("Be brief.").run("Three?", { transcript: marked.transcript })
      assert.deepStrictEqual(unmarked.transcript.at(0), { role: "system", text: "Be brief." })
      assert.strictEqual(unmarked.transcript.length, 7)
    }).pipe(Effect.provide(text)))

  it.effect("is refused with anything else", () =>
    Effect.gen(function*() {
      const wrong: ReadonlyArray<Untyped> = [
        { files: [chart] },
        { text: "?", files: "chart.png" },
        { text: "?", files: [{ base64: "R0lG" }] },
        { text: "?", cache: "yes" }
      ]
      for (const question of wrong) {
        const failure = yield* Effect.flip(agent(undefined).run(question))
        assert.strictEqual(failure._tag, "RunRefused")
        assert.match(failure.detail, /^The run was not started: question/)
      }
      assert.deepStrictEqual(yield* asked, [])
      const instructions: ReadonlyArray<Untyped> = [5, { cache: true }, { text: 5 }, { text: "x", cache: 1 }]
      for (const wrong of instructions) assert.throws(() => agent(wrong), /instructions/)
    }).pipe(Effect.provide(text)))
})
