/** The repairs of a call's arguments on the way to the handler, and their reports: A6, A7, B4, E1, E2, E3, F3. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Dispatch, SemanticGarbage, Tool, Toolkit, ToolUnavailable } from "@fallible/core"
import * as Rendering from "@fallible/core/Rendering"
import type * as SideEffect from "@fallible/core/SideEffect"
import * as ToolOutcome from "@fallible/core/ToolOutcome"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema, Stream } from "effect"

/** Makes a tool that records the arguments of its handler, in order. */
const watched = (sideEffect: SideEffect.SideEffect = "idempotent") => {
  const given: Array<unknown> = []
  const order = Tool.make("order", {
    description: "Orders rooms",
    parameters: Schema.Struct({
      city: Schema.Literals(["Paris", "New York"]),
      nights: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 14 })),
      guestName: Schema.String,
      breakfast: Schema.optionalKey(Schema.Boolean)
    }),
    success: Schema.String,
    sideEffect
  }, (params) =>
    Effect.suspend(() => {
      given.push(params)
      return params.guestName === "Nobody"
        ? Effect.fail(new SemanticGarbage({ code: "unknown_guest", detail: "Unknown guest: 'Nobody'." }))
        : Effect.succeed("ordered")
    }))
  const toolkit = Toolkit.make(order)
  const call = (args: object | string) => {
    const made = { id: "1", name: "order", arguments: typeof args === "string" ? args : JSON.stringify(args) }
    return Effect.map(Dispatch.call(toolkit, made), (outcome) => ({ outcome, told: Rendering.json(outcome, made) }))
  }
  return { call, given, toolkit }
}

const right = { city: "Paris", nights: 2, guestName: "Ada" } as const

const failed = (outcome: ToolOutcome.ToolOutcome): ToolOutcome.Failed =>
  outcome._tag === "Failed" ? outcome : assert.fail(outcome._tag)

describe("A6 wrong keys", () => {
  it.effect("are named, with the expected keys and the nearest one", () =>
    Effect.gen(function*() {
      const { call, given } = watched()
      const { outcome, told } = yield* call({ city: "Paris", nightz: 2, guest: "Ada", breakfast: true })
      const { failure, stage } = failed(outcome)
      assert.strictEqual(stage, "decode")
      assert.deepInclude({ ...failure }, { _tag: "SchemaMismatch", side: "arguments", code: "invalid_arguments" })
      for (
        const part of [
          "'nightz': no such key. Did you mean 'nights'?",
          "'guest': no such key.",
          "'nights': expected integer from 1 to 14, got nothing.",
          "'guestName': expected string, got nothing.",
          "Expected keys: 'city', 'nights', 'guestName', 'breakfast'."
        ]
      ) assert.include(failure.detail, part)
      assert.include(told, "Call again with corrected arguments.")
      assert.deepStrictEqual(given, [])
    }))

  it.effect("that differ only in case or hyphens are understood, and the model learns the correct spelling", () =>
    Effect.gen(function*() {
      const { call, given } = watched()
      const { outcome, told } = yield* call({ City: "Paris", nights: 2, "guest_name": "Ada" })
      assert.deepStrictEqual(given, [right])
      assert.strictEqual(outcome._tag, "Completed")
      assert.include(told, "'city' was written as 'City'")
      assert.include(told, "'guestName' was written as 'guest_name'")
    }))
})

describe("A7 type drift", () => {
  it.effect("without loss is undone silently, and the handler gets the declared type", () =>
    Effect.gen(function*() {
      const { call, given } = watched()
      const { outcome, told } = yield* call({ city: " paris", nights: "2", guestName: "Ada", breakfast: "True" })
      assert.deepStrictEqual(given, [{ ...right, breakfast: true }])
      assert.strictEqual(told, "\"ordered\"")
      assert.deepStrictEqual(outcome.repairs?.map(({ kind, note }) => [kind, note]), [
        ["choice_case", undefined],
        ["text_for_number", undefined],
        ["text_for_boolean", undefined]
      ])
    }))

  it.effect("that is plausible is undone with a note to the model", () =>
    Effect.gen(function*() {
      const { call, given } = watched()
      const { told } = yield* call({ city: "new-york", nights: "2.0", guestName: 7, breakfast: null })
      assert.deepStrictEqual(given, [{ city: "New York", nights: 2, guestName: "7" }])
      const { notes, value }: { readonly value: unknown; readonly notes: ReadonlyArray<string> } = JSON.parse(told)
      assert.strictEqual(value, "ordered")
      assert.strictEqual(notes.length, 3)
      for (const note of notes) {
        assert.match(note, /^'(city|nights|guestName)'/)
        assert.isBelow(note.length, 200)
      }
    }))

  it.effect("with a loss or two readings is refused, with the expected and the actual value", () =>
    Effect.gen(function*() {
      const { call, given } = watched()
      for (const nights of ["fifty", "1,000", "2 nights", "0x2", 2.5, true, "2.5", "", null, [], "NaN", "２"]) {
        const { failure } = failed((yield* call({ ...right, nights })).outcome)
        assert.include(failure.detail, "'nights': expected integer from 1 to 14", String(nights))
        assert.include(failure.detail, `got ${JSON.stringify(nights)}`)
      }
      assert.deepStrictEqual(given, [])
    }))
})

describe("B4 argument text that is not JSON", () => {
  it.effect("comes back with the reason, the place and advice", () =>
    Effect.gen(function*() {
      const { call, given } = watched()
      const { outcome, told } = yield* call("{\n  \"city\": \"Paris\",\n  \"guestName\": \"Ada \"the\" Great\"\n}")
      const { failure, stage } = failed(outcome)
      assert.strictEqual(stage, "parse")
      assert.strictEqual(failure.code, "invalid_json")
      assert.strictEqual(
        failure.detail,
        "The arguments cannot be read. A quote is missing, or there is an extra one, at offset 42 (line 3, column 22), " +
          "near `…\"guestName\": \"Ada \"the\" Great\" }`: expected ',' or '}'."
      )
      assert.deepStrictEqual(failure._tag === "SchemaMismatch" ? failure.fault : undefined, {
        kind: "unescaped_quote",
        offset: 42,
        line: 3,
        column: 22
      })
      assert.include(told, "Send the complete arguments again, as one JSON object.")
      assert.isBelow(told.length, 700)
      assert.deepStrictEqual(given, [])
    }))
})

describe("E1 several readings are tried before giving up", () => {
  for (
    const [what, text] of [
      ["strict JSON", JSON.stringify(right)],
      ["in a code fence", `\`\`\`json\n${JSON.stringify(right)}\n\`\`\``],
      ["between template tokens", `<tool_call>${JSON.stringify(right)}</tool_call>`],
      ["encoded twice", JSON.stringify(JSON.stringify(right))],
      ["with all quotes escaped", JSON.stringify(right).replaceAll("\"", "\\\"")],
      ["between words", `Of course: ${JSON.stringify(right)}`],
      ["as Python", "{'city': 'Paris', 'nights': 2, 'guestName': 'Ada', 'breakfast': None}"],
      ["as JavaScript", "{\n  city: 'Paris', // where\n  nights: 2,\n  guestName: 'Ada',\n}"],
      ["in a wrapper", JSON.stringify({ arguments: right })],
      ["as text in a wrapper", JSON.stringify({ input: JSON.stringify(right) })]
    ] as const
  ) {
    it.effect(what, () =>
      Effect.gen(function*() {
        const { call, given } = watched(what === "between words" ? "none" : "idempotent")
        const { outcome } = yield* call(text)
        assert.strictEqual(outcome._tag, "Completed")
        assert.deepStrictEqual(given, [right])
      }))
  }

  it.effect("but not a text between words, for a tool that acts", () =>
    Effect.gen(function*() {
      const { call, given } = watched("idempotent")
      const { failure } = failed((yield* call(`I will NOT call it with ${JSON.stringify(right)}`)).outcome)
      assert.strictEqual(failure._tag === "SchemaMismatch" ? failure.fault?.kind : "", "prose")
      assert.deepStrictEqual(given, [])
    }))
})

describe("E2 did you mean", () => {
  it.effect("is suggested for a tool's name, a key and a choice", () =>
    Effect.gen(function*() {
      const { call, toolkit } = watched()
      const outcome = yield* Dispatch.call(toolkit, { id: "1", name: "oder", arguments: "{}" })
      assert.include(failed(outcome).failure.detail, "Did you mean 'order'?")
      const { detail } = failed((yield* call({ ...right, city: "Pariss", brekfast: true })).outcome).failure
      assert.include(detail, "'brekfast': no such key. Did you mean 'breakfast'?")
      assert.include(detail, "Did you mean \"Paris\"?")
      const choice = failed((yield* call({ ...right, city: "York" })).outcome).failure
      assert.deepStrictEqual(choice._tag === "SchemaMismatch" ? choice.alternatives : [], ["New York", "Paris"])
    }))
})

describe("E3 failures are divided into recoverable and unrecoverable ones", () => {
  it.effect("each with a suggestion, and without internal details", () =>
    Effect.gen(function*() {
      const secret = new Error("postgres://admin:hunter2@10.0.0.1")
      const down = Tool.make("down", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        Effect.fail(
          new ToolUnavailable({ code: "permission_denied", detail: "Not allowed.", transient: false, cause: secret })
        ))
      const { toolkit } = watched()
      const kit = Toolkit.merge(toolkit, Toolkit.make(down))
      const retryOf = (name: string, args: string) => {
        const call = { id: "1", name, arguments: args }
        return Effect.map(Dispatch.call(kit, call), (outcome) => {
          const text = Rendering.json(outcome, call)
          assert.notMatch(text, /hunter2|Error|at .*\.ts|cause|"issues"|"fault"/)
          const { hint, retry }: { readonly retry: string; readonly hint?: string } = JSON.parse(text)
          return [hint ?? "", retry].join(" ").trim()
        })
      }
      assert.include(yield* retryOf("order", "{\"city\":"), "Send the complete arguments again")
      assert.include(yield* retryOf("order", "{}"), "Call again with corrected arguments.")
      assert.include(yield* retryOf("ordr", "{}"), "Call one of: 'order', 'down'.")
      assert.include(yield* retryOf("down", "{}"), "Do not call this tool again.")
    }))
})

describe("F3 repair never invents", () => {
  it.effect("no cut-off text reaches the handler, wherever the cut", () =>
    Effect.gen(function*() {
      const { call, given } = watched()
      const text = JSON.stringify({ ...right, breakfast: true })
      for (let end = 1; end < text.length; end++) {
        const { failure } = failed((yield* call(text.slice(0, end))).outcome)
        assert.strictEqual(failure._tag === "SchemaMismatch" ? failure.fault?.kind : "", "cut_off")
      }
      assert.deepStrictEqual(given, [])
    }))
})

describe("a repair", () => {
  const model = (args: string) => ScriptedModel.layer([ScriptedModel.call("order", args), ScriptedModel.text("Done.")])

  it.effect("is in the event and in the report, whether the model is told or not", () =>
    Effect.gen(function*() {
      const { toolkit } = watched()
      const events = yield* Stream.runCollect(Agent.make({ toolkit }).stream("Go")).pipe(
        Effect.provide(
          model("{city: \"Paris\" \"nights\": \"2\", \"guestName\": \"Ada\" }".replace("\"Paris\" ", "\"paris\", "))
        )
      )
      const ended = events.flatMap((event) => event._tag === "CallEnded" ? [event.outcome.repairs] : [])
      const answer = events.flatMap((event) => event._tag === "RunEnded" ? [event.answer.report.repairs] : [])
      assert.deepStrictEqual(ended, [[
        { kind: "unquoted_key", offset: 1 },
        { kind: "choice_case", path: ["city"] },
        { kind: "text_for_number", path: ["nights"] }
      ]])
      assert.deepStrictEqual(answer, [ended[0]!.map((repair) => ({ turn: 1, call: 1, tool: "order", ...repair }))])
    }))

  it.effect("is reported even if the call fails in the handler, and survives a journal", () =>
    Effect.gen(function*() {
      const { call } = watched()
      const { outcome, told } = yield* call("{\"city\":\"Paris\",\"nights\":2 \"guestName\":\"Nobody\"}")
      const note = "A comma was missing in the arguments"
      assert.deepStrictEqual(failed(outcome).repairs, [{ kind: "missing_comma", offset: 26, note }])
      assert.include(told, `"notes":["${note}"]`)
      assert.include(Rendering.prose(outcome, { id: "1", name: "order" }), `Note: ${note}.`)
      const codec = Schema.toCodecJson(ToolOutcome.schema)
      const json: unknown = JSON.parse(JSON.stringify(Schema.encodeSync(codec)(outcome)))
      assert.deepStrictEqual(Schema.decodeUnknownSync(codec)(json).repairs, outcome.repairs)
    }))

  it.effect("is reported even if the arguments do not fit in the end", () =>
    Effect.gen(function*() {
      const { call } = watched()
      const { outcome, told } = yield* call("{'city': \"Rome\" \"nights\": 2}".replace("\"Rome\" ", "false "))
      assert.strictEqual(failed(outcome).failure.code, "invalid_arguments")
      assert.deepStrictEqual(failed(outcome).repairs?.map(({ kind }) => kind), ["single_quotes", "missing_comma"])
      assert.include(told, "\"notes\":[\"A comma was missing in the arguments\"]")
    }))

  it.effect("does not exist for strict arguments that fit", () =>
    Effect.gen(function*() {
      const { call } = watched()
      const { outcome } = yield* call(right)
      assert.notProperty(outcome, "repairs")
    }))
})
