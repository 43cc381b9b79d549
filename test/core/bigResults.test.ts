/** Results that are too big for a model (F11): how they are cut, and how the model reads the rest. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentFailure,
  Dispatch,
  Model,
  PartialData,
  Tool,
  ToolCall,
  Toolkit,
  type Transcript
} from "@fallible/core"
import * as Journal from "@fallible/core/Journal"
import * as Rendering from "@fallible/core/Rendering"
import * as ResultSize from "@fallible/core/ResultSize"
import type * as SideEffect from "@fallible/core/SideEffect"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, Logger, Schema, Stream } from "effect"
import { FileJournal } from "../support/fileJournal.ts"
import { providers, serving } from "../support/models.ts"
import type { Untyped } from "../support/nonsense.ts"
import { heard } from "../support/plainTools.ts"
import { placeIn, readingAll, readText } from "../support/readingMore.ts"

const megabyte = 1_000_000

const rows = (count: number) =>
  Array.from({ length: count }, (_, id) => ({ id, name: `Customer ${id}`, note: "x".repeat(60) }))

const many = rows(50_000)

/** Makes a tool that returns a value. */
const returning = (
  value: Schema.Json,
  definition: { readonly size?: string; readonly sideEffect?: SideEffect.SideEffect; readonly name?: string } = {}
) => {
  const { name = "report", sideEffect = "none", size } = definition
  return Tool.make(name, {
    description: "Returns a report",
    parameters: Schema.Struct({ limit: Schema.optionalKey(Schema.Int) }),
    success: Schema.Json,
    sideEffect,
    identity: "all",
    ...(size === undefined ? {} : { size: "limit" as const })
  }, () => Effect.succeed(value))
}

const agentOf = (value: Schema.Json, options: Omit<Agent.Options<Tool.Any>, "toolkit"> = {}) =>
  Agent.make({ toolkit: Toolkit.make(returning(value)), limits: { turns: 1000 }, ...options })

/** Runs an agent with a scripted model, and returns what the model was asked. */
const played = <A, E>(
  run: Effect.Effect<A, E, Model.Model>,
  script: ScriptedModel.Script
) =>
  Effect.gen(function*() {
    const exit = yield* Effect.exit(run)
    return { exit, requests: yield* (yield* ScriptedModel.ScriptedModel).requests }
  }).pipe(Effect.provide(ScriptedModel.layer(script)), Effect.provide(Logger.layer([])))

const once = (name = "report", args: object = {}) => [ScriptedModel.call(name, args), ScriptedModel.text("done")]

/** Returns the text that the model reads of one call. */
const textOf = (value: Schema.Json, options: Omit<Agent.Options<Tool.Any>, "toolkit"> = {}) =>
  Effect.map(played(agentOf(value, options).run("?"), once()), ({ requests }) => heard(requests[1]))

// The order of names is part of a result. A failing comparison would print megabytes.
const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

const bytesOf = (text: string) => Buffer.byteLength(text)

const shapes: ReadonlyArray<readonly [shape: string, value: Schema.Json, kept: RegExp, says: RegExp]> = [
  [
    "an object whose total comes first",
    { total: 50_000, next_cursor: "c9", rows: many },
    /"total":50000,"next_cursor":"c9"/,
    /shows \d+ of 50000 items of 'rows'/
  ],
  [
    "an object whose total comes last",
    { rows: many, total: 50_000, next_cursor: "c9" },
    /"total":50000,"next_cursor":"c9"/,
    /shows \d+ of 50000 items of 'rows'/
  ],
  ["a string", "It is long. ".repeat(420_000), /It is long\./, /shows \d+ of 5040000 characters/],
  ["an array", many, /"Customer 0"/, /shows \d+ of 50000 items\./],
  [
    "a dictionary",
    { ...Object.fromEntries(many.map(({ id, ...row }) => [`customer-${id}`, row])), total_count: 50_000 },
    /"total_count":50000/,
    /shows \d+ of 50001 fields\./
  ]
]

describe("F11: a result of 5 MB", () => {
  for (const [name, provider] of providers) {
    for (const [shape, value, kept, says] of shapes) {
      it.effect(`is cut to a small request to ${name}, if it is ${shape}`, () =>
        Effect.gen(function*() {
          const answer = yield* agentOf(value).run("How many?")
          assert.strictEqual(answer.text, "done")
          const { requests } = yield* (yield* FakeModelServer.FakeModelServer).state
          assert.deepStrictEqual(requests.flatMap(({ problem }) => problem ?? []), [])
          assert.isBelow(bytesOf(requests[1]?.body ?? ""), 120_000)
          const text = heard(requests[1]?.asked)
          assert.isBelow(bytesOf(text), 51_000)
          assert.isAbove(bytesOf(text), 25_000, "most of the room is used")
          const { notes, value: shown } = readText(text)
          assert.match(JSON.stringify(shown), kept)
          assert.match(`${notes}.`, says)
          assert.match(
            notes,
            new RegExp(
              `^This result of ${bytesOf(JSON.stringify(value))} bytes was cut: it shows .*\\. ` +
                `To read the rest, call read_more with \\{"result":"result_1".*\\}$`
            )
          )
          assert.deepStrictEqual(requests.map(({ asked }) => asked?.tools.map(({ name }) => name)), [
            ["report"],
            ["report", "read_more"]
          ])
        }).pipe(Effect.provide(serving(provider)(once()))))
    }
  }

  for (const [shape, value] of shapes) {
    it.effect(`says exactly how much it shows, if it is ${shape}`, () =>
      Effect.gen(function*() {
        const { notes, value: shown } = readText(yield* textOf(value))
        const [, count] = /shows (\d+) of/.exec(notes) ?? []
        const inside = typeof shown === "object" && shown !== null && "rows" in shown ? shown["rows"] : shown
        const length = typeof inside === "string"
          // The mark of the cut is not part of the text.
          ? inside.length - 1
          : Array.isArray(inside)
          ? inside.length
          : Object.keys(inside ?? {}).length
        assert.strictEqual(Number(count), length)
        assert.strictEqual(placeIn(notes)?.from, length, "reading goes on where the result ends")
      }))
  }
})

// -----------------------------------------------------------------------------
// Reading on
// -----------------------------------------------------------------------------

const emoji = "😀🇮🇳é\u0000\"\\\n".repeat(9000)

const wholes: ReadonlyArray<readonly [what: string, value: Schema.Json]> = [
  ["an object of 5 MB whose total comes last", { rows: many, total: 50_000 }],
  ["a string of 5 MB", "It is long. ".repeat(420_000)],
  ["an array", rows(8000)],
  ["a dictionary of objects", Object.fromEntries(rows(8000).map(({ id, ...row }) => [`customer-${id}`, row]))],
  ["a string of surrogate pairs and escapes", emoji],
  ["a string with single surrogates", "\ud83d\ude00x\ud83d".repeat(20_000)],
  ["an array of numbers", Array.from({ length: 60_000 }, (_, n) => n)],
  ["an array of long texts", Array.from({ length: 12 }, (_, n) => `${n} ${"text ".repeat(20_000)}`)],
  ["an array of arrays with many items", Array.from({ length: 40 }, () => Array.from({ length: 1500 }, (_, n) => n))],
  ["a nested object", { data: { response: { rows: rows(3000), text: emoji } }, total: 3000 }],
  ["an object with dots in its names", { "a.b": { "c.d": rows(2000) }, "a": { b: "short" }, "x.": "y".repeat(60_000) }],
  ["an object with hostile names", JSON.parse(`{"__proto__":{"rows":${JSON.stringify(rows(2000))}},"toJSON":1}`)],
  ["a dictionary of 10,000 names", Object.fromEntries(rows(10_000).map(({ id, note }) => [`k${id}`, note]))],
  [
    "a dictionary whose names are escaped",
    Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`${"\u0001".repeat(50)}${n}`, "x".repeat(200)]))
  ],
  [
    "a value that is nested 100 levels deep",
    Array.from({ length: 100 }).reduce<Schema.Json>((inner) => ({ a: inner }), rows(2000))
  ]
]

describe("F11: read_more", () => {
  for (const [what, value] of wholes) {
    it.effect(`reads the whole of ${what}, when the model follows each note`, () =>
      Effect.gen(function*() {
        const { script, seen } = readingAll("report")
        const { exit, requests } = yield* played(agentOf(value).run("Read all of it."), script)
        assert.strictEqual(exit._tag === "Success" ? exit.value.text : String(exit.cause), "done")
        assert.isTrue(isSame(seen.value, value), "all parts together are the original")
        for (const { messages } of requests) {
          const last = messages.at(-1)
          if (last?.role !== "tool") continue
          assert.isAtMost(bytesOf(last.text), 51_500, "each part is small")
          assert.notMatch(last.text.slice(-400), /was cut: it shows.*result_(?!1\\")/, "no part is cut once more")
        }
      }))
  }

  it.effect("goes on from where the note says, up to the end", () =>
    Effect.gen(function*() {
      const value = { rows: rows(1500), total: 1500 }
      let parts: ReadonlyArray<Schema.Json> = []
      const { exit } = yield* played(agentOf(value).run("?"), (request, index) => {
        if (index === 0) return ScriptedModel.call("report")
        const { hint, next, notes, value: part } = readText(heard(request))
        const shown = typeof part === "object" && part !== null && "rows" in part ? part["rows"] : part
        parts = [...parts, ...(Array.isArray(shown) ? shown : [])]
        const place = next ?? placeIn(`${notes}${hint}`)
        return place === undefined ? ScriptedModel.text("done") : ScriptedModel.call("read_more", place)
      })
      assert.isTrue(exit._tag === "Success")
      assert.isTrue(isSame(parts, value.rows))
    }))

  it.effect("says how much of a part it shows", () =>
    Effect.gen(function*() {
      const { requests } = yield* played(agentOf("a".repeat(200_000)).run("?"), [
        ScriptedModel.call("report"),
        ScriptedModel.call("read_more", { result: "result_1", from: 100_000 }),
        ScriptedModel.call("read_more", { result: "result_1", from: 199_000 }),
        ScriptedModel.text("done")
      ])
      const { data, ...part } = JSON.parse(heard(requests[2]))
      assert.deepStrictEqual(part, {
        ok: false,
        error: "PartialData",
        code: "more_pages",
        detail: `Characters 100001 to ${100_000 + data.length} of 200000.`,
        coverage: { have: 100_000 + data.length, of: 200_000, unit: "characters" },
        next: { result: "result_1", from: 100_000 + data.length },
        retry: `Use the data that you have, or call read_more again with result="result_1", from=${
          100_000 + data.length
        } to continue.`
      })
      assert.strictEqual(heard(requests[3]), JSON.stringify("a".repeat(1000)))
    }))

  it.effect("returns nothing beyond the end", () =>
    Effect.gen(function*() {
      const value = { text: "a".repeat(60_000), rows: rows(2000), other: 7 }
      const { requests } = yield* played(agentOf(value).run("?"), [
        ScriptedModel.call("report"),
        ScriptedModel.calls(
          ["read_more", { result: "result_1", path: "text", from: 60_000 }],
          ["read_more", { result: "result_1", path: "rows", from: 1e9 }],
          ["read_more", { result: "result_1", from: 3 }],
          ["read_more", { result: "result_1", path: "other" }]
        ),
        ScriptedModel.text("done")
      ])
      assert.deepStrictEqual(
        requests[2]?.messages.slice(-4).map((message) => message.role === "tool" ? message.text : ""),
        ["\"\"", "[]", "{}", "7"]
      )
    }))

  it.effect("lists the results that are kept, and the places that were cut, if the arguments name none", () =>
    Effect.gen(function*() {
      const { requests } = yield* played(agentOf({ rows: many, text: "x".repeat(60_000) }).run("?"), [
        ScriptedModel.call("report"),
        ScriptedModel.calls(
          ["read_more", { result: "result_9" }],
          ["read_more", { result: "result_1", path: "columns" }],
          ["read_more", { result: "result_1", path: "rows.length.constructor" }],
          ["read_more", { result: "result_1", from: -1 }],
          ["read_more", {}]
        ),
        ScriptedModel.text("done")
      ])
      const texts = requests[2]?.messages.slice(-5).map((message) => message.role === "tool" ? message.text : "") ?? []
      assert.deepInclude(JSON.parse(texts[0]!), {
        code: "unknown_result",
        detail: "The result 'result_9' is not kept.",
        alternatives: ["result_1"]
      })
      assert.deepInclude(JSON.parse(texts[1]!), {
        code: "unknown_path",
        detail: "The result 'result_1' has nothing at 'columns'.",
        alternatives: ["rows", "text"]
      })
      assert.include(texts[2], "unknown_path")
      assert.include(texts[3], "SchemaMismatch")
      assert.include(texts[4], "SchemaMismatch")
    }))

  it.effect("is offered only after a result was cut", () =>
    Effect.gen(function*() {
      const small = returning({ fine: true }, { name: "small" })
      const agent = Agent.make({ toolkit: Toolkit.make(small, returning(many)) })
      const { requests } = yield* played(agent.run("?"), [
        ScriptedModel.call("small"),
        ScriptedModel.call("report"),
        ScriptedModel.text("done")
      ])
      assert.deepStrictEqual(requests.map(({ tools }) => tools.map(({ name }) => name)), [
        ["small", "report"],
        ["small", "report"],
        ["small", "report", "read_more"]
      ])
    }))

  it.effect("is not called before a result was cut", () =>
    Effect.gen(function*() {
      const { requests } = yield* played(agentOf(1).run("?"), [
        ScriptedModel.call("read_more", { result: "result_1" }),
        ScriptedModel.text("done")
      ])
      assert.include(heard(requests[1]), "unknown_tool")
    }))

  it.effect("is not offered, and not named, if the user's toolkit has a tool of that name", () =>
    Effect.gen(function*() {
      let ran = 0
      const own = Tool.make(
        "read_more",
        { description: "Sends the rest to the printer", success: Schema.String },
        () => Effect.sync(() => `printed ${++ran}`)
      )
      const agent = Agent.make({ toolkit: Toolkit.make(own, returning(many)) })
      const { requests } = yield* played(agent.run("?"), once())
      assert.deepStrictEqual(requests[1]?.tools.map(({ name }) => name), ["read_more", "report"])
      const { notes } = readText(heard(requests[1]))
      assert.match(notes, /^This result of \d+ bytes was cut: it shows \d+ of 50000 items$/)
      assert.strictEqual(ran, 0)
    }))

  it.effect("needs no policy, no service and no permission of the agent's tools", () =>
    Effect.gen(function*() {
      const { seen, script } = readingAll("report")
      const { exit } = yield* played(agentOf(rows(2000), { offer: "available" }).run("?"), script)
      assert.isTrue(exit._tag === "Success")
      assert.isTrue(isSame(seen.value, rows(2000)))
    }))

  it.effect("drops the oldest results once more than 20 MB are kept", () =>
    Effect.gen(function*() {
      const agent = agentOf("y".repeat(6 * megabyte))
      const { requests } = yield* played(agent.run("?"), [
        ScriptedModel.calls(["report"], ["report"]),
        ScriptedModel.calls(["report"], ["report"]),
        ScriptedModel.calls(["read_more", { result: "result_1" }], ["read_more", { result: "result_2", from: 5 }]),
        ScriptedModel.text("done")
      ])
      const texts = requests[3]?.messages.slice(-2).map((message) => message.role === "tool" ? message.text : "") ?? []
      assert.deepInclude(JSON.parse(texts[0]!), {
        code: "unknown_result",
        alternatives: ["result_5", "result_4", "result_2"]
      })
      assert.include(texts[1], "Characters 6 to")
    }))

  it.effect("keeps the latest result, however big it is", () =>
    Effect.gen(function*() {
      const { requests } = yield* played(agentOf("y".repeat(25 * megabyte)).run("?"), [
        ScriptedModel.call("report"),
        ScriptedModel.call("read_more", { result: "result_1", from: 24_999_990 }),
        ScriptedModel.text("done")
      ])
      assert.strictEqual(heard(requests[2]), "\"yyyyyyyyyy\"")
    }))

  it.effect("keeps its whole pages with limits above those of a failure's data", () =>
    Effect.gen(function*() {
      const { script, seen } = readingAll("report")
      const value = { rows: rows(5000) }
      yield* played(agentOf(value, { results: { bytes: 200_000 } }).run("?"), script)
      assert.isTrue(isSame(seen.value, value))
    }))

  it.effect("is counted by the limits of the run, like any tool", () =>
    Effect.gen(function*() {
      const { exit } = yield* played(agentOf(many, { limits: { callsPerTool: { "*": 2 } } }).run("?"), [
        ScriptedModel.call("report"),
        ScriptedModel.call("read_more", { result: "result_1", from: 1 }),
        ScriptedModel.call("read_more", { result: "result_1", from: 2 }),
        ScriptedModel.call("read_more", { result: "result_1", from: 3 }),
        ScriptedModel.text("done")
      ])
      if (exit._tag === "Failure") return assert.fail(String(exit.cause))
      assert.strictEqual(exit.value.report.failures.at(-1)?.code, "call_limit")
    }))

  it.effect("can have a limit of its own", () =>
    Effect.gen(function*() {
      const { exit } = yield* played(agentOf(many, { limits: { callsPerTool: { read_more: 1 } } }).run("?"), [
        ScriptedModel.call("report"),
        ScriptedModel.call("read_more", { result: "result_1", from: 1 }),
        ScriptedModel.call("read_more", { result: "result_1", from: 2 }),
        ScriptedModel.text("done")
      ])
      if (exit._tag === "Failure") return assert.fail(String(exit.cause))
      assert.strictEqual(exit.value.report.failures.at(-1)?.code, "call_limit")
    }))

  it("has no limit of its own if results are never cut", () => {
    assert.throws(
      () => agentOf(1, { results: "whole", limits: { callsPerTool: { read_more: 1 } } }),
      "The limit 'callsPerTool' names 'read_more', which is not in the toolkit."
    )
  })

  it.effect("reads the same part 50 times at once, and the next request stays small", () =>
    Effect.gen(function*() {
      const again = Array.from({ length: 50 }, () => ["read_more", { result: "result_1" }] as const)
      const { exit, requests } = yield* played(agentOf(many).run("?"), [
        ScriptedModel.call("report"),
        ScriptedModel.calls(...again),
        ScriptedModel.text("done")
      ])
      assert.isTrue(exit._tag === "Success")
      const texts = requests[2]?.messages.flatMap((message) => message.role === "tool" ? [message.text] : []) ?? []
      assert.strictEqual(texts.length, 51)
      assert.isAtMost(texts.join("").length, 300_000 + 51 * 700)
    }))

  it.effect("ends in a loop that is noticed, if the model reads the same part forever", () =>
    Effect.gen(function*() {
      const { exit } = yield* played(
        agentOf(many).run("?"),
        (_, index) =>
          index === 0 ? ScriptedModel.call("report") : ScriptedModel.call("read_more", { result: "result_1" })
      )
      const failure = yield* Effect.flip(exit)
      assert.strictEqual(failure._tag, "LoopDetected")
      assert.isAtMost(failure.report.turns, 14)
    }))

  it.effect("refuses a path of 100,000 dots quickly", () =>
    Effect.gen(function*() {
      const { requests } = yield* played(agentOf({ rows: many }).run("?"), [
        ScriptedModel.call("report"),
        ScriptedModel.call("read_more", { result: "result_1", path: ".".repeat(100_000) }),
        ScriptedModel.text("done")
      ])
      assert.include(heard(requests[2]), "unknown_path")
      assert.isBelow(heard(requests[2]).length, 1000)
    }), 2000)
})

// -----------------------------------------------------------------------------
// What is cut, and what is not
// -----------------------------------------------------------------------------

describe("F11: a result that fits", () => {
  it.effect("is whole, however many items it has: 120 KB, or 6000 items", () =>
    Effect.gen(function*() {
      for (const value of [rows(1250), Array.from({ length: 6000 }, (_, id) => ({ id })), "x".repeat(190_000)]) {
        assert.isTrue(isSame(JSON.parse(yield* textOf(value)), value))
      }
    }))

  it.effect("is whole if the model's window is large, and cut if it is small", () =>
    Effect.gen(function*() {
      const value = { total: 1250, rows: rows(1250) }
      const shownWith = (contextWindow: number) => {
        const asked: Array<Model.Request> = []
        const model = Model.layer({
          contextWindow,
          respond: (request) =>
            Effect.sync(() => {
              asked.push(request)
              return asked.length === 1 ? ScriptedModel.call("report") : ScriptedModel.text("done")
            })
        })
        return Effect.map(Effect.provide(agentOf(value).run("?"), model), () => {
          const last = Array.from(asked[1]?.transcript ?? []).at(-1)
          return last?.role === "tool" ? last.text : ""
        })
      }
      const small = yield* shownWith(8192)
      assert.isAtMost(bytesOf(small), 12_800)
      assert.match(readText(small).notes, /shows \d+ of 1250 items of 'rows'/)
      assert.isTrue(isSame(JSON.parse(yield* shownWith(1_000_000)), value))
      // A window that is no size says nothing.
      assert.isTrue(isSame(JSON.parse(yield* shownWith(Number.NaN)), value))
    }))
})

describe("F11: a result that is too big", () => {
  it.effect("is asked for again with a smaller size, if its tool has one", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(returning(many, { size: "limit" })) })
      const { requests } = yield* played(agent.run("?"), once())
      assert.match(
        readText(heard(requests[1])).notes,
        /^This result of \d+ bytes was cut: it shows \d+ of 50000 items\. For less, call it again with a smaller 'limit'\. To read the rest, call read_more with \{"result":"result_\d+","from":\d+\}$/
      )
      assert.deepStrictEqual(requests[1]?.tools.map(({ name }) => name), ["report", "read_more"])
    }))

  it.effect("is cut, but never asked for again, if its tool acts", () =>
    Effect.gen(function*() {
      for (const sideEffect of ["idempotent", "idempotent_by_key", "non_idempotent"] as const) {
        const tool = returning(many, { sideEffect, size: "limit" })
        const { requests } = yield* played(Agent.make({ toolkit: Toolkit.make(tool) }).run("?"), once())
        const { notes } = readText(heard(requests[1]))
        assert.match(notes, /To read the rest, call read_more/)
        assert.notMatch(notes, /again/)
      }
    }))

  it.effect("is kept under its own name, if a turn has several", () =>
    Effect.gen(function*() {
      const named = (name: string) => returning(`${name} `.repeat(60_000), { name })
      const agent = Agent.make({ toolkit: Toolkit.make(named("one"), named("two")) })
      const { requests } = yield* played(agent.run("?"), [
        ScriptedModel.calls(["one"], ["two"], ["one"]),
        ScriptedModel.calls(
          ["read_more", { result: "result_1", from: 239_990 }],
          ["read_more", { result: "result_2", from: 239_988 }],
          ["read_more", { result: "result_3", from: 239_992 }]
        ),
        ScriptedModel.text("done")
      ])
      assert.deepStrictEqual(
        requests[1]?.messages.slice(-3).map((message) =>
          placeIn(readText(message.role === "tool" ? message.text : "").notes)?.result
        ),
        ["result_1", "result_2", "result_3"]
      )
      assert.deepStrictEqual(
        requests[2]?.messages.slice(-3).map((message) => message.role === "tool" ? message.text : ""),
        ["\"e one one \"", "\"two two two \"", "\"one one \""]
      )
    }))

  it.effect("keeps its next page and its label, if it is a page", () =>
    Effect.gen(function*() {
      const page = Tool.make("page", {
        description: "A page",
        parameters: Schema.Struct({ cursor: Schema.optionalKey(Schema.String) }),
        success: Schema.Json,
        sideEffect: "none"
      }, () =>
        Effect.fail(
          new PartialData({
            code: "more_pages",
            detail: "Page 1 of 2.",
            hint: "There are two pages.",
            data: many,
            coverage: { have: 50_000, of: 100_000, unit: "rows" },
            next: { cursor: "c2" }
          })
        ))
      const { requests } = yield* played(Agent.make({ toolkit: Toolkit.make(page) }).run("?"), [
        ScriptedModel.call("page"),
        ScriptedModel.call("read_more", { result: "result_1", from: 49_999 }),
        ScriptedModel.text("done")
      ])
      const { data, ...read } = JSON.parse(heard(requests[1]))
      assert.deepStrictEqual(read, {
        ok: false,
        error: "PartialData",
        code: "more_pages",
        detail: "Page 1 of 2.",
        hint:
          `There are two pages. This result of ${
            bytesOf(JSON.stringify(many))
          } bytes was cut: it shows ${data.length} of 50000 items. ` +
          `To read the rest, call read_more with {"result":"result_1","from":${data.length}}.`,
        coverage: { have: 50_000, of: 100_000, unit: "rows" },
        next: { cursor: "c2" },
        retry: "Use the data that you have, or call page again with cursor=\"c2\" to continue."
      })
      assert.strictEqual(heard(requests[2]), JSON.stringify(many.slice(-1)))
    }))

  it.effect("is shown with a way to the rest, even if its page is as big as the agent's limit permits", () =>
    Effect.gen(function*() {
      const page = Tool.make(
        "page",
        { description: "A page", success: Schema.Json, sideEffect: "none" },
        () => Effect.fail(new PartialData({ code: "more_pages", detail: "Page 1 of 2.", data: rows(3000) }))
      )
      const agent = Agent.make({ toolkit: Toolkit.make(page), results: { bytes: 300_000, items: 5000 } })
      const { requests } = yield* played(agent.run("?"), once("page"))
      assert.match(heard(requests[1]), /call read_more with/)
    }))

  it.effect("names a way to the rest, even if its names are long", () =>
    Effect.gen(function*() {
      const value = Array.from({ length: 15 }).reduce<Schema.Json>(
        (inner) => ({ response_of_the_server: inner }),
        rows(5000)
      )
      const { script, seen } = readingAll("report")
      yield* played(agentOf({ rows: value }).run("?"), script)
      assert.isDefined(placeIn(seen.first?.notes ?? ""))
      assert.strictEqual(seen.calls[0]?.result, "result_1")
    }))

  it.effect("is shown whole with `results: \"whole\"`", () =>
    Effect.gen(function*() {
      const { requests } = yield* played(agentOf(many, { results: "whole" }).run("?"), once())
      assert.isTrue(heard(requests[1]) === JSON.stringify(many))
      assert.deepStrictEqual(requests[1]?.tools.map(({ name }) => name), ["report"])
    }))

  it.effect("is whole in events, and in what the journal records", () =>
    Effect.gen(function*() {
      const recorded = new Map<string, unknown>()
      const journal: Journal.Journal = {
        step: (step, effect) => Effect.tap(effect, (value) => Effect.sync(() => recorded.set(step.name, value)))
      }
      const events = yield* Stream.runCollect(agentOf(many).stream("?")).pipe(
        Effect.provideService(Journal.current, journal),
        Effect.provide(ScriptedModel.layer(once()))
      )
      const ended = events.find(({ _tag }) => _tag === "CallEnded")
      const outcome = ended?._tag === "CallEnded" ? ended.outcome : undefined
      assert.isTrue(outcome?._tag === "Completed" && isSame(outcome.value, many))
      assert.include(JSON.stringify(recorded.get("turn/1/call/1")), "\"Customer 49999\"")
    }))

  it.effect("is never cut by tool.run, Tool.outcome and Dispatch.call", () =>
    Effect.gen(function*() {
      const tool = returning(many)
      assert.isTrue(isSame(yield* tool.run({}), many))
      const { exit } = yield* Tool.outcome(tool, {})
      assert.isTrue(exit._tag === "Success" && isSame(exit.value, many))
      const called = yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "report" })
      assert.isTrue(called._tag === "Completed" && isSame(called.value, many))
    }))

  it.effect("is the same in an inner agent's answer and in what its tools return to each other", () =>
    Effect.gen(function*() {
      const inner = returning(many, { name: "inner" })
      const outer = Tool.make(
        "outer",
        { description: "", success: Schema.Int, sideEffect: "none" },
        () => Effect.map(inner.run({}), (value) => Array.isArray(value) ? value.length : 0)
      )
      const { requests } = yield* played(Agent.make({ toolkit: Toolkit.make(outer) }).run("?"), once("outer"))
      assert.strictEqual(heard(requests[1]), "50000")
    }))

  for (
    const [what, value, says] of [
      [
        "an own __proto__",
        JSON.parse(`{"__proto__":${JSON.stringify(many)},"total":3}`),
        /of 50000 items of '__proto__'/
      ],
      ["a name of 1 MB", { ["k".repeat(megabyte)]: 1, total: 3 }, /shows 1 of 2 fields/],
      ["10,000 names", Object.fromEntries(rows(10_000).map(({ id, note }) => [`k${id}`, note])), /of 10000 fields/],
      [
        "512 levels",
        Array.from({ length: 510 }).reduce<Schema.Json>((inner) => [inner], "x".repeat(200_000)),
        /characters of '0\.0\.0/
      ],
      ["100,000 empty lists", Array.from({ length: 100_000 }, () => []), /of 100000 items/]
    ] as const
  ) {
    it.effect(`is cut to valid JSON, if it has ${what}`, () =>
      Effect.gen(function*() {
        const text = yield* textOf(value)
        assert.isBelow(bytesOf(text), 51_000)
        assert.match(readText(text).notes, says)
      }))
  }

  it.effect("keeps the way to the rest, even if its failure has a long hint", () =>
    Effect.gen(function*() {
      const page = Tool.make("page", { description: "A page", success: Schema.Json, sideEffect: "none" }, () =>
        Effect.fail(
          new PartialData({ code: "more_pages", detail: "Page 1 of 2.", hint: "A long hint. ".repeat(40), data: many })
        ))
      const { requests } = yield* played(Agent.make({ toolkit: Toolkit.make(page) }).run("?"), once("page"))
      const { hint } = readText(heard(requests[1]))
      assert.strictEqual(placeIn(hint)?.result, "result_1")
      assert.include(hint, "A long hint.")
    }))

  const some = rows(2000)

  const looping = (value: (n: number) => Schema.Json) => {
    let n = 0
    const tool = Tool.make(
      "report",
      { description: "", success: Schema.Json, sideEffect: "none" },
      () => Effect.sync(() => value(++n))
    )
    const agent = Agent.make({ toolkit: Toolkit.make(tool), limits: { turns: 12 } })
    return Effect.flatMap(
      played(agent.run("?"), () => ScriptedModel.call("report")),
      ({ exit }) => Effect.map(Effect.flip(exit), ({ _tag }) => _tag)
    )
  }

  it.effect("is the same result if only the time of its response differs, so a loop is noticed", () =>
    Effect.gen(function*() {
      const at = (n: number) => new Date(n * 1000).toISOString()
      assert.strictEqual(yield* looping(() => ({ rows: some })), "LoopDetected")
      assert.strictEqual(yield* looping((n) => ({ rows: some, generated_at: at(n) })), "LoopDetected")
      assert.strictEqual(yield* looping((n) => ({ generated_at: at(n), rows: some })), "LoopDetected")
      assert.strictEqual(yield* looping((n) => ({ rows: some, took_ms: 10 ** n })), "LoopDetected")
    }))

  it.effect("is another result if its end or its size differs, although the model reads the same beginning", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* looping((n) => [...some, { id: n, name: "last" }]), "LimitReached")
      assert.strictEqual(yield* looping((n) => some.slice(0, -n)), "LimitReached")
      assert.strictEqual(yield* looping((n) => `${"x".repeat(80_000)}${n}`), "LimitReached")
      assert.strictEqual(yield* looping((n) => ({ text: "x".repeat(80_000 + n) })), "LimitReached")
    }))

  it.effect("has no end, but an end of reading, if its only name is too long to be shown", () =>
    Effect.gen(function*() {
      const { script, seen } = readingAll("report")
      const { exit, requests } = yield* played(agentOf({ ["k".repeat(megabyte)]: many }).run("?"), script)
      assert.isTrue(exit._tag === "Success", String(exit))
      assert.isBelow(requests.length, 20)
      assert.isDefined(seen.first)
    }))

  it.effect("may hold numbers that JSON does not have", () =>
    Effect.gen(function*() {
      const tool = Tool.make(
        "report",
        {
          description: "",
          success: Schema.Struct({ bad: Schema.Number, at: Schema.Date, rows: Schema.Json, toJSON: Schema.String }),
          sideEffect: "none"
        },
        () => Effect.succeed({ bad: NaN, at: new Date(0), rows: many, toJSON: "no function" })
      )
      const { requests } = yield* played(Agent.make({ toolkit: Toolkit.make(tool) }).run("?"), once())
      const { value } = readText(heard(requests[1]))
      assert.match(
        JSON.stringify(value),
        /^\{"bad":"NaN","at":"1970-01-01T00:00:00\.000Z","rows":\[\{"id":0.*"toJSON":"no function"\}$/
      )
    }))

  it.effect("is well-formed text, wherever it is cut", () =>
    Effect.gen(function*() {
      for (const start of ["", "a", "ab"]) {
        const text = yield* textOf(`${start}${"😀".repeat(30_000)}`)
        assert.isTrue(text.isWellFormed())
        assert.notInclude(text, "\\ud83d")
      }
    }))
})

// -----------------------------------------------------------------------------
// Renderings
// -----------------------------------------------------------------------------

describe("F11: a rendering of one's own", () => {
  it.effect("renders the cut result: prose", () =>
    Effect.gen(function*() {
      const text = yield* textOf("It is long. ".repeat(20_000), { rendering: Rendering.prose })
      assert.isBelow(bytesOf(text), 51_000)
      assert.match(
        text,
        /^It is long[^"]*…\nNote: This result of 240002 bytes was cut: it shows \d+ of 240000 characters\. To read the rest, call read_more with \{"result":"result_1","from":\d+\}\.$/
      )
    }))

  it.effect("that hides the value is left alone", () =>
    Effect.gen(function*() {
      const { requests } = yield* played(agentOf(many, { rendering: () => "It went well." }).run("?"), once())
      assert.strictEqual(heard(requests[1]), "It went well.")
      assert.deepStrictEqual(requests[1]?.tools.map(({ name }) => name), ["report"])
    }))

  it.effect("that throws is replaced by JSON, which is cut", () =>
    Effect.gen(function*() {
      const text = yield* textOf(many, {
        rendering: () => {
          throw new Error("no rendering")
        }
      })
      assert.isBelow(bytesOf(text), 51_000)
      assert.match(readText(text).notes, /was cut/)
    }))

  for (const [name, provider] of providers) {
    it.effect(`that makes 5 MB of a small result leads to a request of less than 1 MB to ${name}`, () =>
      Effect.gen(function*() {
        const agent = agentOf(1, { rendering: () => "é\"".repeat(2_500_000) })
        const answer = yield* agent.run("?")
        assert.strictEqual(answer.text, "done")
        const { requests } = yield* (yield* FakeModelServer.FakeModelServer).state
        assert.isBelow(requests[1]?.body.length ?? Infinity, megabyte)
        assert.match(heard(requests[1]?.asked), /more characters\) … .* This result was shortened to save space\.$/)
      }).pipe(Effect.provide(serving(provider)(once()))))
  }
})

// -----------------------------------------------------------------------------
// The limit of a request
// -----------------------------------------------------------------------------

/** Calls the tool in each turn with other arguments, and then answers. */
const turns = (count: number) => (_: ScriptedModel.Recorded, index: number) =>
  index < count ? ScriptedModel.call("report", { limit: index }) : ScriptedModel.text("done")

/** A tool whose results are big and differ. */
const differing = Tool.make("report", {
  description: "Returns a report",
  parameters: Schema.Struct({ limit: Schema.Int }),
  success: Schema.Json,
  sideEffect: "none"
}, ({ limit }) => Effect.succeed({ of: limit, rows: rows(3000).slice(limit), total: limit }))

const resultsOf = (messages: Iterable<Transcript.Message>) =>
  Array.from(messages).flatMap((message) => message.role === "tool" ? [message.text] : [])

describe("F11: the limit of all results in a request", () => {
  for (const [name, provider] of providers) {
    it.effect(`keeps every request to ${name} small, over many turns`, () =>
      Effect.gen(function*() {
        const agent = Agent.make({ toolkit: Toolkit.make(differing), limits: { turns: 50 } })
        const answer = yield* agent.run("?")
        assert.strictEqual(answer.text, "done")
        const { requests } = yield* (yield* FakeModelServer.FakeModelServer).state
        assert.deepStrictEqual(requests.flatMap(({ problem }) => problem ?? []), [])
        for (const { asked, body } of requests) {
          assert.isBelow(bytesOf(body), megabyte)
          assert.isAtMost(resultsOf(asked?.messages ?? []).join("").length, 300_000 + 30 * 800)
        }
        const last = resultsOf(requests.at(-1)?.asked?.messages ?? [])
        const kept = resultsOf(answer.transcript)
        assert.deepStrictEqual(last.slice(-3), kept.slice(-3), "the newest are as they were")
        for (const text of last) assert.doesNotThrow(() => JSON.parse(text))
        assert.isTrue(kept.every((text) => text.length > 25_000), "the transcript keeps all")
        const [oldest = ""] = last
        assert.isBelow(oldest.length, 1000)
        assert.match(readText(oldest).notes, /This result was shortened to save space$/)
      }).pipe(Effect.provide(serving(provider)(turns(30)))))
  }

  for (const rendering of [Rendering.json, Rendering.prose]) {
    it.effect(`counts bytes, in any script: ${rendering === Rendering.prose ? "prose" : "JSON"}`, () =>
      Effect.gen(function*() {
        const agent = agentOf("数".repeat(10_000), { results: { request: 100_000 }, loopGuard: "off", rendering })
        const { requests } = yield* played(agent.run("?"), turns(15))
        const texts = resultsOf(requests.at(-1)?.messages ?? [])
        assert.strictEqual(texts.length, 15)
        assert.isAtMost(bytesOf(texts.join("")), 100_000 + 15 * 800)
        assert.isAtLeast(bytesOf(texts.at(-1) ?? ""), 30_000, "the newest is whole")
      }))
  }

  it.effect("never makes a result longer", () =>
    Effect.gen(function*() {
      const tool = Tool.make("report", {
        description: "",
        parameters: Schema.Struct({ limit: Schema.Int }),
        success: Schema.Json,
        sideEffect: "none"
      }, ({ limit }) => Effect.succeed({ limit, text: "z".repeat(360 + limit * 3) }))
      const agent = Agent.make({
        toolkit: Toolkit.make(tool),
        limits: { turns: 100 },
        results: { bytes: 1000, request: 1000 }
      })
      const { exit, requests } = yield* played(agent.run("?"), turns(40))
      const kept = resultsOf(exit._tag === "Success" ? exit.value.transcript : [])
      assert.strictEqual(kept.length, 40)
      for (const [index, text] of resultsOf(requests.at(-1)?.messages ?? []).entries()) {
        assert.isAtMost(text.length, kept[index]!.length)
      }
    }))

  it.effect("shortens a failure, too, and keeps what it is", () =>
    Effect.gen(function*() {
      const page = Tool.make("report", {
        description: "",
        parameters: Schema.Struct({ limit: Schema.Int }),
        success: Schema.Json,
        sideEffect: "none"
      }, ({ limit }) =>
        Effect.fail(new PartialData({ code: "more_pages", detail: `Page ${limit}.`, data: rows(1000).slice(limit) })))
      const agent = Agent.make({ toolkit: Toolkit.make(page), limits: { turns: 50 } })
      const { requests } = yield* played(agent.run("?"), turns(15))
      const [oldest = ""] = resultsOf(requests.at(-1)?.messages ?? [])
      assert.isBelow(oldest.length, 1000)
      assert.include(oldest, "\"code\":\"more_pages\"")
    }))

  it.effect("shortens well-formed text", () =>
    Effect.gen(function*() {
      const agent = agentOf("😀".repeat(12_000), { results: { request: 50_000 }, rendering: Rendering.prose })
      const { requests } = yield* played(agent.run("?"), turns(8))
      for (const text of resultsOf(requests.at(-1)?.messages ?? [])) assert.isTrue(text.isWellFormed())
    }))

  it.effect("takes the same work in each of 100 turns", () =>
    Effect.gen(function*() {
      let parsed = 0
      const { parse } = JSON
      const agent = Agent.make({ toolkit: Toolkit.make(differing), limits: { turns: 1000 } })
      JSON.parse = (text, reviver) => {
        if (text.length > 20_000) parsed++
        return parse(text, reviver)
      }
      const { exit } = yield* Effect.ensuring(
        played(agent.run("?"), turns(100)),
        Effect.sync(() => {
          JSON.parse = parse
        })
      )
      assert.isTrue(exit._tag === "Success")
      assert.isBelow(parsed, 100 * 4, "each result is shortened a few times, not in each turn")
    }))
})

describe("ResultSize.make", () => {
  it("fills in the other limits", () => {
    assert.deepStrictEqual(ResultSize.make(), { bytes: 192_000, items: Infinity, request: 288_000 })
    assert.deepStrictEqual(ResultSize.make({ bytes: 400_000 }), { bytes: 400_000, items: Infinity, request: 400_000 })
    assert.deepStrictEqual(ResultSize.make({ request: 60_000 }), { bytes: 60_000, items: Infinity, request: 60_000 })
  })

  it("follows the model's context window", () => {
    assert.deepStrictEqual(ResultSize.make({}, 8192), { bytes: 12_288, items: Infinity, request: 18_432 })
    assert.deepStrictEqual(ResultSize.make({}, 1), { bytes: 1000, items: Infinity, request: 1000 })
    assert.deepStrictEqual(ResultSize.make({ items: 5 }, 1_000_000), { bytes: 1_500_000, items: 5, request: 2_250_000 })
    assert.throws(() => ResultSize.make({}, 0.5), "A context window must be a whole number of at least 1")
  })

  for (const results of ["hole", null, 7]) {
    it(`is asked for if an agent's results are ${JSON.stringify(results)}`, () => {
      const untyped: Untyped = results
      assert.throws(
        () => agentOf(1, { results: untyped }),
        `An agent's results must be limits or "whole"; got ${JSON.stringify(results)}.`
      )
    })
  }

  for (
    const options of [
      { bytes: 999 },
      { bytes: 1000.5 },
      { bytes: NaN },
      { bytes: -1 },
      { items: 0 },
      { items: 1.5 },
      { request: 999 },
      { bytes: 2000, request: 1999 }
    ]
  ) {
    it(`refuses ${JSON.stringify(options)}, and an agent refuses it too`, () => {
      assert.throws(() => ResultSize.make(options), /A result's '(bytes|items)'|The results' 'request'/)
      assert.throws(() => agentOf(1, { results: options }))
    })
  }
})

// -----------------------------------------------------------------------------
// Other processes
// -----------------------------------------------------------------------------

describe("F11: a run in another process", () => {
  const asking = Tool.make("ask", { description: "Asks", success: Schema.String }, () => ToolCall.ask("Go on?"))

  it.effect("has no kept results after a resume, and the model reads how to go on", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(asking, returning(many)) })
      const script = [
        ScriptedModel.call("report"),
        ScriptedModel.call("ask"),
        ScriptedModel.call("read_more", { result: "result_1", from: 300 }),
        ScriptedModel.call("report"),
        ScriptedModel.call("read_more", { result: "result_1", from: 300 }),
        ScriptedModel.text("done")
      ]
      const { exit, requests } = yield* played(
        Effect.gen(function*() {
          const waiting = yield* Effect.flip(agent.run("?"))
          if (!(waiting instanceof AgentFailure.RunSuspended)) return yield* Effect.die(waiting)
          return yield* agent.resume(waiting.suspension, "Yes.")
        }),
        script
      )
      assert.isTrue(exit._tag === "Success", String(exit))
      assert.include(heard(requests[3]), "The result 'result_1' is not kept.")
      assert.include(heard(requests[4]), "call read_more with {\\\"result\\\":\\\"result_7\\\"")
      assert.include(heard(requests[5]), "\"alternatives\":[\"result_7\"]")
    }))

  it.effect("cuts a big result of the turn in which it waited", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(asking, returning(many)) })
      const { exit, requests } = yield* played(
        Effect.gen(function*() {
          const waiting = yield* Effect.flip(agent.run("?"))
          if (!(waiting instanceof AgentFailure.RunSuspended)) return yield* Effect.die(waiting)
          return yield* agent.resume(waiting.suspension, "Yes.")
        }),
        [
          ScriptedModel.calls(["report"], ["ask"]),
          ScriptedModel.call("read_more", { result: "result_1", from: 49_999 }),
          ScriptedModel.text("done")
        ]
      )
      assert.isTrue(exit._tag === "Success", String(exit))
      assert.strictEqual(heard(requests[2]), JSON.stringify(many.slice(-1)))
    }))

  it.effect("keeps the results again when a journal replays their calls", () =>
    Effect.gen(function*() {
      const file = new FileJournal()
      const agent = agentOf(many)
      const run = (journal: Journal.Journal) =>
        agent.run("?", { id: "job" }).pipe(
          Effect.provideService(Journal.current, journal),
          Effect.provide(ScriptedModel.layer((request) => {
            const last = request.messages.at(-1)
            if (last?.role !== "tool") return ScriptedModel.call("report")
            return last.name === "report"
              ? ScriptedModel.call("read_more", { result: "result_1", from: 49_999 })
              : ScriptedModel.text(last.text)
          }))
        )
      // The process stops before the second request.
      yield* file.process(run, { step: 3, hasRun: false })
      const exit = yield* file.process(run)
      assert.strictEqual(exit?._tag === "Success" && exit.value.text, JSON.stringify(many.slice(-1)))
    }))
})
