import { assert, describe, it } from "@effect/vitest"
import { Fixer, SemanticGarbage, Tool, ToolCall, ToolUnavailable } from "@fallible/core"
import * as Arguments from "@fallible/core/Arguments"
import * as ToolHealth from "@fallible/core/ToolHealth"
import { Effect, Schema } from "effect"
import {
  call,
  completed,
  failed,
  fixer,
  handled,
  parameters,
  reporting,
  toParis,
  unclosed,
  weather
} from "../support/fixing.ts"
import { macrotask } from "../support/virtualTime.ts"

describe("C3: a fixer's answer", () => {
  it.effect("may be the intended arguments without the words around them, even for a tool that acts", () =>
    Effect.gen(function*() {
      const { tool } = weather("non_idempotent")
      const outcome = completed(
        yield* call(tool.pipe(Tool.fix(({ text }) => text.slice(text.indexOf("{")))), "Sure: {\"city\":\"Paris\"}")
      )
      assert.strictEqual(outcome.value, "sunny in Paris")
    }))

  it.effect("is compared without outer white space, and refused if it is too long", () =>
    Effect.gen(function*() {
      const text = `${" ".repeat(200_000)}{'a': b'}`
      const trimming = weather().tool.pipe(Tool.fix(({ text }) => `\n${text.trim()} `))
      assert.deepStrictEqual(handled(yield* call(trimming, text)), [])
      const quoting = weather().tool.pipe(Tool.fix(({ text }) => text.replaceAll("'", "\"")))
      assert.deepStrictEqual(handled(yield* call(quoting, text)), ["ignored fixer_failed"])
      const long = failed(
        yield* call(weather().tool.pipe(Tool.fix(() => "[".repeat(Arguments.maxBytes + 1))), unclosed)
      )
      assert.deepStrictEqual(long.handled.map(({ detail }) => detail), [
        "The fixer of get_weather failed. Its answer is too long."
      ])
    }))

  it.effect("is reported as used, after coercion, and its own repairs are recorded silently", () =>
    Effect.gen(function*() {
      const tool = Tool.make(
        "t",
        { description: "", parameters: Schema.Struct({ n: Schema.Int }), success: Schema.Int, sideEffect: "none" },
        ({ n }) => Effect.succeed(n)
      ).pipe(Tool.fix(() => "Sure: {\"n\":\"100\"}"))
      const outcome = completed(yield* call(tool, { m: 1 }))
      const note = "The arguments were corrected to {\"n\":100}"
      assert.deepStrictEqual(outcome.caveats, [note])
      assert.deepStrictEqual(outcome.repairs, [
        { kind: "fixed", path: [], note },
        { kind: "prose", offset: 0 },
        { kind: "text_for_number", path: ["n"] }
      ])
    }))

  it.effect("may have a caveat for the model", () =>
    Effect.gen(function*() {
      const tool = weather().tool.pipe(
        Tool.fix(() => Effect.as(ToolCall.caveat("'town' was taken for 'city'"), toParis()))
      )
      for (const args of [{ town: "Paris" }, { city: "paris" }]) {
        assert.deepStrictEqual(completed(yield* call(tool, args)).caveats, [
          "The arguments were corrected to {\"city\":\"Paris\"}. 'town' was taken for 'city'"
        ])
      }
    }))

  it.effect("may have many caveats, and the first twenty are reported", () =>
    Effect.gen(function*() {
      const noting = Effect.forEach(Array.from({ length: 1_000 }), () => ToolCall.caveat("so it is"), { discard: true })
      const tool = weather().tool.pipe(Tool.fix(() => Effect.as(noting, toParis())))
      assert.deepStrictEqual(completed(yield* call(tool, { town: "Paris" })).caveats, [
        [
          "The arguments were corrected to {\"city\":\"Paris\"}",
          ...Array<string>(20).fill("so it is"),
          "… and 980 more"
        ]
          .join(". ")
      ])
    }))

  const none: ReadonlyArray<readonly [string, unknown]> = [
    ["a Map", new Map([["city", "Paris"]])],
    ["a Date", new Date(0)],
    ["an array", [{ city: "Paris" }]],
    ["a key without a value", { city: undefined }],
    ["null", null],
    ["an object that says it is nothing", { toJSON: () => undefined }],
    ["a generator", (function*() {})()],
    [
      "a trap",
      new Proxy({}, {
        ownKeys() {
          throw new Error("trapped")
        }
      })
    ]
  ]
  for (const [what, answer] of none) {
    it.effect(`is never ${what}`, () =>
      Effect.gen(function*() {
        const optional = Tool.make("t", {
          description: "",
          parameters: Schema.Struct({ city: Schema.optionalKey(Schema.String) }),
          success: Schema.String
        }, () => Effect.succeed("ran"))
        const { value } = yield* reporting(call(optional.pipe(Tool.fix(() => answer as never)), unclosed))
        assert.deepStrictEqual([failed(value).failure.code, handled(value)], ["invalid_json", ["ignored fixer_failed"]])
      }))
  }

  it.live("may be a rejected promise, which does not end the process", () =>
    Effect.gen(function*() {
      const fix = () => Promise.reject(new Error("late")) as never
      const { value } = yield* reporting(call(weather().tool.pipe(Tool.fix(fix)), unclosed))
      assert.strictEqual(failed(value).failure.code, "invalid_json")
      // An unhandled rejection would reach the process before its next turn.
      yield* macrotask
    }))
})

describe("C3: a secret", () => {
  const login = Tool.make("login", {
    description: "",
    parameters: Schema.Struct({ password: Schema.Redacted(Schema.String), day: Schema.Int }),
    success: Schema.String
  }, ({ day }) => day === 0 ? ToolCall.ask("Sure?") : Effect.succeed("in"))

  it.effect("is hidden from fixers, which get only the failure", () =>
    Effect.gen(function*() {
      const { fix, told } = fixer(({ tries }) => `{"password":"hunter${tries}","day":"never"}`)
      const outcome = failed(
        yield* call(login.pipe(Tool.fix(fix, { tries: 2 })), { password: "hunter0", day: "soon" })
      )
      assert.deepStrictEqual(
        told.map(({ arguments: args, before, text }) => [text, args, before.map(({ text }) => text)]),
        [
          ["", undefined, []],
          ["", undefined, [""]]
        ]
      )
      assert.notInclude(JSON.stringify([told, outcome]), "hunter")
      assert.deepStrictEqual(outcome.handled.map(({ detail }) => detail), [
        "The answer of the fixer of login was rejected.",
        "The answer of the fixer of login was rejected."
      ])
    }))

  it.effect("is in an outcome only if the call continues with it", () =>
    Effect.gen(function*() {
      const fixed = login.pipe(Tool.fix(({ tries }) => ({ password: "hunter2", day: tries - 1 })))
      const suspended = yield* call(fixed, unclosed)
      assert.deepInclude(suspended, { _tag: "Suspended", arguments: "{\"password\":\"hunter2\",\"day\":0}" })
      const place = {
        before: suspended,
        replies: [{ id: "key", question: "Sure?", reply: "yes" }],
        idempotencyKey: "key"
      }
      const outcome = completed(yield* call(fixed, unclosed, place))
      assert.strictEqual(outcome.value, "yes")
      assert.notInclude(JSON.stringify(outcome), "hunter2")
    }))
})

describe("C3: a value from a fixer", () => {
  const unknown = (city: string) => new SemanticGarbage({ code: "unknown_city", detail: `Unknown city: '${city}'.` })
  const on = ["SemanticGarbage"] as const

  it.effect("answers the call, with the fixer as its source", () =>
    Effect.gen(function*() {
      const { asked, tool } = weather()
      for (const args of [unclosed, "{\"city\":\"paris\"}"]) {
        asked.length = 0
        const outcome = completed(yield* call(tool.pipe(Tool.fix(() => Fixer.answer("rainy"))), args))
        assert.deepInclude(outcome, { value: "rainy", source: { name: "the fixer of get_weather" } })
        assert.strictEqual(asked.length, args === unclosed ? 0 : 1)
        assert.deepStrictEqual(handled(outcome), [
          args === unclosed ? "answered invalid_json" : "answered uncapitalized"
        ])
      }
      const named = tool.pipe(Tool.fix(() => Fixer.answer("rainy"), { name: "the almanac" }))
      assert.deepStrictEqual(completed(yield* call(named, unclosed)).source, { name: "the almanac" })
    }))

  it.effect("may have an age and caveats, which are reported to the model", () =>
    Effect.gen(function*() {
      const fix = () =>
        ToolCall.source({ name: "the archive", age: "3 hours" }).pipe(
          Effect.andThen(ToolCall.caveat("of the whole region")),
          Effect.as(Fixer.answer("rainy"))
        )
      const outcome = completed(yield* call(weather().tool.pipe(Tool.fix(fix)), unclosed))
      assert.strictEqual(outcome.source?.name, "the archive")
      assert.deepStrictEqual(outcome.caveats, ["from the archive, 3h old", "of the whole region"])
    }))

  it.effect("is decoded as a result of the tool, by hand and for a model", () =>
    Effect.gen(function*() {
      const next = Tool.make("next_train", {
        description: "",
        parameters,
        success: Schema.Struct({ at: Schema.Date }),
        sideEffect: "none"
      }, ({ city }) => Effect.fail(unknown(city))).pipe(
        Tool.fix(() => Fixer.answer({ at: "1970-01-01T00:00:00.000Z" }), { on })
      )
      assert.deepStrictEqual(yield* next.run({ city: "Oslo" }), { at: new Date(0) })
      assert.deepStrictEqual(completed(yield* call(next, { city: "Oslo" })).value, { at: "1970-01-01T00:00:00.000Z" })
    }))

  it.effect("counts as a failed fixer if it is not a result of the tool", () =>
    Effect.gen(function*() {
      const { tool } = weather()
      const plain = failed(yield* call(tool, unclosed))
      for (const value of [7, { city: "Paris" }, null, [1]]) {
        const outcome = failed(yield* call(tool.pipe(Tool.fix(() => Fixer.answer(value))), unclosed))
        assert.deepStrictEqual(outcome.failure, plain.failure)
        assert.deepStrictEqual(outcome.handled.map(({ by, detail }) => `${by}: ${detail}`), [
          "ignored: The answer of the fixer of get_weather does not match the tool's success schema."
        ])
      }
      const opaque = failed(yield* call(tool.pipe(Tool.fix(() => Fixer.answer(1n as never))), unclosed))
      assert.deepStrictEqual(handled(opaque), ["ignored fixer_failed"])
    }))

  it.effect("leaves an acting tool certain to have done nothing", () =>
    Effect.gen(function*() {
      const fixed = weather("non_idempotent").tool.pipe(Tool.fix(() => Fixer.answer("rainy")))
      const outcome = completed(yield* call(fixed, { city: "paris" }))
      assert.strictEqual(outcome.certainty, "not_executed")
      assert.deepStrictEqual(outcome.caveats, [
        "get_weather itself did nothing: this answer comes from another source."
      ])
    }))

  it.effect("bypasses the policies, so none of them has answered", () =>
    Effect.gen(function*() {
      const tool = weather().tool.pipe(
        Tool.fix(() => Fixer.answer("rainy")),
        Tool.mapFailure(({ detail }) => new SemanticGarbage({ code: "mapped", detail }))
      )
      assert.strictEqual(yield* tool.run({ city: "paris" }), "rainy")
    }))

  it.effect("may come from the next fixer if the first gives none", () =>
    Effect.gen(function*() {
      const fixed = weather().tool.pipe(
        Tool.fix(() => Fixer.answer(7)),
        Tool.fix(() => Fixer.answer("rainy"), { name: "the second" })
      )
      assert.deepInclude(completed(yield* call(fixed, unclosed)), { value: "rainy", source: { name: "the second" } })
    }))

  it.effect("still counts the failure against the tool's health", () =>
    Effect.gen(function*() {
      const down = new ToolUnavailable({ code: "server_error", detail: "Down.", transient: true })
      const tool = Tool.make("t", { description: "", parameters, success: Schema.String, sideEffect: "none" }, () =>
        Effect.fail(down)).pipe(Tool.fix(() =>
          Fixer.answer("rainy"), { on: ["ToolUnavailable"] }))
      assert.strictEqual(completed(yield* call(tool, { city: "Paris" })).value, "rainy")
      const [report] = yield* (yield* ToolHealth.ToolHealth).report
      assert.strictEqual(report?.consecutiveErrors, 1)
    }).pipe(Effect.provide(ToolHealth.layer)))
})
