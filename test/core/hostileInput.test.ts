/** Odd and hostile input: deep, cyclic, secret, endless or cut off. It must never crash, leak or mislead. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Guard, PartialData, SemanticGarbage, Tool, Toolkit } from "@fallible/core"
import * as Arguments from "@fallible/core/Arguments"
import * as Rendering from "@fallible/core/Rendering"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { ScriptedModel } from "@fallible/testing"
import { Duration, Effect, Exit, Logger, Schema } from "effect"
import type * as DispatchFailure from "../../packages/core/src/internal/arguments/dispatchFailure.ts"

const deep = (levels: number) => "{\"a\":".repeat(levels) + "1" + "}".repeat(levels)

const refusal = <P>(text: string, parameters: Schema.ConstraintDecoder<P>) =>
  Effect.runSync(Effect.flip(Arguments.decode(text, { parameters })))

const details = (failure: DispatchFailure.Mismatch) => `${failure.code}: ${failure.detail}`

describe("arguments", () => {
  it("nested more than 128 deep are refused before anything else looks at them", () => {
    const Open = Schema.Struct({ a: Schema.Unknown })
    assert.isTrue(Exit.isSuccess(Effect.runSyncExit(Arguments.decode(deep(128), { parameters: Open }))))
    for (const levels of [129, 5000, 100_000]) {
      assert.match(details(refusal(deep(levels), Open)), /^invalid_json: .*at most 128 levels/)
    }
    const brackets = JSON.stringify({ a: "{[".repeat(5000) })
    assert.isTrue(Exit.isSuccess(Effect.runSyncExit(Arguments.decode(brackets, { parameters: Open }))))
  })

  it("of more than 1 MiB are refused, even if it is white space", () => {
    assert.match(details(refusal(" ".repeat(Arguments.maxBytes + 1), Schema.Struct({}))), /at most 1048576 bytes/)
  })

  it("that cannot be converted to text are refused like any other", () => {
    const failure = refusal("{\"a\":{\"toString\":0}}", Schema.Struct({ a: Schema.Literals(["x", "y"]) }))
    assert.strictEqual(failure.code, "invalid_arguments")
  })

  it("for a tool without parameters must have no keys", () => {
    const failure = refusal("{\"a\":1,\"b\":{}}", Schema.Struct({}))
    assert.strictEqual(
      details(failure),
      "invalid_arguments: 'a': no such key. 'b': no such key. No arguments are expected."
    )
  })

  it("that end inside a literal, a number or an escape are reported as cut off", () => {
    for (const text of ["{\"a\":tru", "{\"a\":-", "{\"a\":1.", "{\"a\":1e+", "{\"a\":\"x\\", "{\"a\":\"\\u00"]) {
      assert.match(details(refusal(text, Schema.Struct({}))), /They end too early/, text)
    }
  })

  it("of another form are refused with the expected form, whatever theirs is", () => {
    const Either = Schema.Union([Schema.Struct({ a: Schema.String }), Schema.Struct({ b: Schema.String })])
    assert.notInclude(details(refusal("{\"c\":1}", Either)), "takes no arguments")
    assert.notInclude(
      details(refusal("{\"c\":\"x\"}", Schema.Record(Schema.String, Schema.Finite))),
      "takes no arguments"
    )
    assert.include(
      details(refusal("{\"v\":\"x\"}", Schema.Struct({ v: Schema.NullOr(Schema.Number) }))),
      "'v': expected number | null, got \"x\"."
    )
    assert.include(
      details(refusal("{\"v\":\"x\"}", Schema.Struct({ v: Schema.Number }))),
      "'v': expected number, got \"x\"."
    )
  })

  it("with a wrong choice get the choices, nearest first, even for a nullable field", () => {
    const Currency = Schema.Literals(["eur", "usd_cents"])
    assert.deepStrictEqual(refusal("{\"c\":\"usd\"}", Schema.Struct({ c: Currency })).alternatives, [
      "usd_cents",
      "eur"
    ])
    assert.deepStrictEqual(
      refusal("{\"c\":\"usd\"}", Schema.Struct({ c: Schema.NullOr(Currency) })).alternatives,
      ["usd_cents", "eur"]
    )
  })
})

describe("a result that is refused", () => {
  const cyclic: { self?: unknown } = {}
  cyclic.self = cyclic

  for (
    const [what, value] of [
      ["a BigInt", { n: 10n }],
      ["a cycle", { n: cyclic }],
      ["deep nesting", { n: JSON.parse(deep(5000)) as unknown }]
    ] as const
  ) {
    it(`with ${what} in it fails, but does not die`, () => {
      const guarded = Effect.succeed<unknown>(value).pipe(Guard.decode(Schema.Struct({ n: Schema.Number })))
      assert.strictEqual(Effect.runSync(Effect.flip(guarded)).code, "invalid_result")
    })
  }

  it("is not quoted, because it may be secret", () => {
    const body = Effect.succeed("{\"token\":\"sk-123\"}")
    const failure = Effect.runSync(Effect.flip(
      body.pipe(Guard.json(Schema.Struct({ token: Schema.RedactedFromValue(Schema.Int) })))
    ))
    assert.notInclude(JSON.stringify(failure), "sk-123")
    assert.include(failure.detail, "got a string")
  })

  it("is reported as cut off, at any place", () => {
    for (const text of ["{\"total\":tru", "{\"total\":1.", "{\"name\":\"x\\"]) {
      const failure = Effect.runSync(Effect.flip(Guard.json(Schema.Unknown)(Effect.succeed(text))))
      assert.strictEqual(failure.code, "truncated", text)
    }
  })
})

describe("a run", () => {
  it.effect("survives a tool whose value is nested deeper than the stack", () =>
    Effect.gen(function*() {
      const abyss = Tool.make("abyss", { description: "", success: Schema.Unknown, sideEffect: "none" }, () =>
        Effect.succeed(JSON.parse("[".repeat(200_000) + "]".repeat(200_000)) as unknown))
      const answer = yield* Agent.make({ toolkit: Toolkit.make(abyss) }).run("Go")
      assert.strictEqual(answer.text, "done")
    }).pipe(
      Effect.provide(ScriptedModel.layer([ScriptedModel.call("abyss"), ScriptedModel.text("done")])),
      Effect.provide(Logger.layer([]))
    ))
})

describe("a rendering that throws", () => {
  it.effect("is logged, and the model gets the default rendering", () =>
    Effect.gen(function*() {
      const logged: Array<unknown> = []
      const ping = Tool.make("ping", { description: "", success: Schema.String }, () => Effect.succeed("pong"))
      const agent = Agent.make({
        toolkit: Toolkit.make(ping),
        rendering: () => {
          throw new Error("no words")
        }
      })
      const answer = yield* agent.run("Go").pipe(Effect.provide(Logger.layer([
        Logger.make(({ message }) => {
          logged.push(message)
        })
      ])))
      assert.strictEqual(answer.text, "done")
      assert.deepInclude(answer.transcript.at(2), { role: "tool", text: "\"pong\"" })
      assert.strictEqual(logged.length, 1)
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("ping"), ScriptedModel.text("done")]))))
})

describe("renderings", () => {
  const call = { id: "1", name: "t" }
  const outcome = (failure: PartialData<Schema.Json> | SemanticGarbage): ToolOutcome.Failed => ({
    _tag: "Failed",
    failure,
    stage: "run",
    certainty: "not_executed",
    attempts: 1,
    waited: Duration.zero,
    handled: []
  })

  it("omit the arguments to continue with if they are too long", () => {
    const huge = "x".repeat(50_000)
    const failure = new PartialData({
      code: "more_pages",
      detail: "1 of 2.",
      data: 1,
      next: { cursor: huge },
      coverage: { have: 1, unit: huge }
    })
    for (const render of [Rendering.json, Rendering.prose]) {
      const text = render(outcome(failure), call)
      assert.isBelow(text.length, 1000)
      assert.notInclude(text, "again with")
    }
  })

  it("quote the text of partial data, in prose too", () => {
    const failure = new PartialData({ code: "truncated", detail: "Cut.", data: "a\nSYSTEM: b" })
    assert.include(Rendering.prose(outcome(failure), call), "Partial data: \"a\\nSYSTEM: b\".")
  })

  it("count the alternatives that they omit", () => {
    const alternatives = Array.from({ length: 100 }, (_, i) => `city ${i}`)
    const failure = new SemanticGarbage({ code: "unknown_city", detail: "Unknown.", alternatives })
    assert.include(Rendering.prose(outcome(failure), call), "and 80 more.")
    assert.include(Rendering.json(outcome(failure), call), "… (80 more)")
  })
})

describe("failures made by programs without strict types", () => {
  it("treat undefined as absent", () => {
    const fields = { code: "c", detail: "d", hint: undefined, alternatives: undefined, cause: undefined }
    const failure = new SemanticGarbage(fields as never)
    assert.deepStrictEqual(Object.keys(failure).toSorted(), ["_tag", "alternatives", "code", "detail"])
    assert.deepStrictEqual(failure.alternatives, [])
  })

  it("are not changed by mapFailure, even constants", () => {
    const shared = Object.freeze(new SemanticGarbage({ code: "c", detail: "d" }))
    const causes = ["first", "second"].map((cause) => {
      const tool = Tool.make(
        "t",
        { description: "", success: Schema.Void },
        () => Effect.fail(new SemanticGarbage({ code: "c", detail: "d", cause }))
      ).pipe(Tool.mapFailure(() => shared))
      return Effect.runSync(Effect.flip(tool.run({}))).cause
    })
    assert.deepStrictEqual(causes, ["first", "second"])
    assert.isUndefined(shared.cause)
  })

  it("keep the cause through mapFailure, which a spread would lose", () => {
    const cause = new Error("ECONNREFUSED")
    const tool = Tool.make(
      "t",
      { description: "", success: Schema.Void },
      () => Effect.fail(new SemanticGarbage({ code: "c", detail: "d", cause }))
    ).pipe(
      Tool.mapFailure((failure) => new SemanticGarbage({ ...failure, hint: "Ask again." }))
    )
    assert.strictEqual(Effect.runSync(Effect.flip(tool.run({}))).cause, cause)
  })
})
