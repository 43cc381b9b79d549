import { assert, describe, it } from "@effect/vitest"
import { type Fixer, SchemaMismatch, SemanticGarbage, Tool, ToolCall, ToolUnavailable } from "@fallible/core"
import * as Rendering from "@fallible/core/Rendering"
import type * as SideEffect from "@fallible/core/SideEffect"
import * as ToolHealth from "@fallible/core/ToolHealth"
import { Effect, Redacted, Schedule, Schema } from "effect"
import {
  call,
  completed,
  failed,
  fixer,
  handled,
  type Mistake,
  parameters,
  toParis,
  uncapitalized,
  unclosed,
  weather
} from "../support/fixing.ts"
import { lettered } from "../support/lettered.ts"
import { refused } from "../support/sequence.ts"

describe("C3: a fixer", () => {
  describe("of arguments that cannot be decoded", () => {
    const kinds: ReadonlyArray<readonly [string, Fixer.Fixer]> = [
      ["a function that answers with an object", toParis],
      ["a function that answers with a text", () => "{\"city\":\"Paris\"}"],
      ["an Effect", () => Effect.succeed({ city: "Paris" })],
      ["an Effect that takes its time", () => Effect.delay(Effect.succeed("{\"city\":\"Paris\"}"), 1)]
    ]
    for (const [what, fix] of kinds) {
      it.live(`may be ${what}`, () =>
        Effect.gen(function*() {
          const { asked, tool } = weather()
          const outcome = yield* call(tool.pipe(Tool.fix(fix)), unclosed)
          assert.deepInclude(completed(outcome), { value: "sunny in Paris", attempts: 1 })
          assert.deepStrictEqual(asked, ["Paris"])
        }))
    }

    it.effect("gets the tool, the text, the failure and the schema", () =>
      Effect.gen(function*() {
        const { fix, told } = fixer(toParis)
        yield* call(weather().tool.pipe(Tool.fix(fix)), unclosed)
        const [rejection] = told
        assert.deepInclude(rejection, {
          tool: "get_weather",
          text: unclosed,
          arguments: undefined,
          tries: 1,
          before: []
        })
        assert.deepInclude({ ...rejection?.failure }, { side: "arguments", code: "invalid_json" })
        assert.deepStrictEqual(rejection?.schema, {
          type: "object",
          properties: { city: { type: "string" } },
          required: ["city"],
          additionalProperties: false
        })
      }))

    it.effect("gets the object if the text is readable", () =>
      Effect.gen(function*() {
        const { fix, told } = fixer(toParis)
        yield* call(weather().tool.pipe(Tool.fix(fix)), { town: "Paris" })
        assert.deepStrictEqual(told[0]?.arguments, { town: "Paris" })
        assert.strictEqual(told[0]?.failure.code, "invalid_arguments")
      }))

    it.effect("gets an empty text if none was sent", () =>
      Effect.gen(function*() {
        const { fix, told } = fixer(toParis)
        assert.strictEqual(completed(yield* call(weather().tool.pipe(Tool.fix(fix)))).value, "sunny in Paris")
        assert.strictEqual(told[0]?.text, "")
      }))

    it.effect("reports the used arguments to the model in one bounded sentence, and the fault to the report", () =>
      Effect.gen(function*() {
        const long = "P".repeat(5000)
        const { tool } = weather()
        const outcome = completed(yield* call(tool.pipe(Tool.fix(toParis)), unclosed))
        const note = "The arguments were corrected to {\"city\":\"Paris\"}"
        assert.deepStrictEqual(outcome.repairs, [{ kind: "fixed", path: [], note }])
        assert.deepStrictEqual(outcome.caveats, [note])
        assert.deepStrictEqual(handled(outcome), ["fix invalid_json"])
        const longer = completed(yield* call(tool.pipe(Tool.fix(() => ({ city: long }))), unclosed))
        assert.isBelow(longer.caveats[0]!.length, 500)
      }))

    it.effect("is not asked if nothing is rejected, or for other failures", () =>
      Effect.gen(function*() {
        const { fix, told } = fixer(toParis)
        const garbage = new SemanticGarbage({ code: "empty_result", detail: "No rows." })
        const unreadable = new SchemaMismatch({ side: "result", code: "invalid_result", detail: "No total." })
        for (const end of [Effect.succeed("fine"), garbage, refused, unreadable]) {
          const tool = Tool.make("t", { description: "", parameters, success: Schema.String }, () => end)
          const plain = yield* call(tool, { city: "Paris" })
          assert.deepStrictEqual(yield* call(tool.pipe(Tool.fix(fix)), { city: "Paris" }), plain)
        }
        assert.deepStrictEqual(told, [])
      }))

    it.effect("has its answer decoded as strictly as a model's text, or the failure stays unchanged", () =>
      Effect.gen(function*() {
        const { asked, tool } = weather()
        const plain = failed(yield* call(tool, unclosed)).failure
        const answers = [
          { town: "Paris" },
          { city: 7, x: [] },
          "Paris, I think",
          "{\"city\":\"Paris",
          "[{\"city\":\"Paris\"}]",
          "x".repeat(1_100_000),
          `{"city":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
          "{\"city\":\"Paris\",\"__proto__\":{\"admin\":true}}",
          JSON.parse("{\"__proto__\":{\"city\":\"Paris\"}}") as Schema.JsonObject
        ]
        for (const answer of answers) {
          const outcome = failed(yield* call(tool.pipe(Tool.fix(() => answer)), unclosed))
          assert.deepStrictEqual(outcome.failure, plain)
          assert.strictEqual(outcome.stage, "parse")
          assert.isUndefined(outcome.repairs)
        }
        assert.deepStrictEqual(asked, [])
      }))

    it.effect("gives no correction with an empty text, which a model might send as no arguments", () =>
      Effect.gen(function*() {
        const optional = Schema.Struct({ city: Schema.optionalKey(Schema.String) })
        const tool = Tool.make(
          "t",
          { description: "", parameters: optional, success: Schema.String },
          () => Effect.succeed("all of them")
        )
        for (const nothing of ["", " ", "null", "[]", undefined]) {
          assert.strictEqual(
            failed(yield* call(tool.pipe(Tool.fix(() => nothing)), unclosed)).failure.code,
            "invalid_json"
          )
        }
        assert.strictEqual(completed(yield* call(tool.pipe(Tool.fix(() => ({}))), unclosed)).value, "all of them")
      }))

    it.effect("is not asked for a tool that is disabled", () =>
      Effect.gen(function*() {
        const { fix, told } = fixer(toParis)
        yield* (yield* ToolHealth.ToolHealth).disable("get_weather")
        yield* call(weather().tool.pipe(Tool.fix(fix)), unclosed)
        assert.deepStrictEqual(told, [])
      }).pipe(Effect.provide(ToolHealth.layer)))
  })

  describe("of arguments that the handler rejects", () => {
    it.effect("gets the model's text, and the tool runs once more", () =>
      Effect.gen(function*() {
        const { fix, told } = fixer(toParis)
        const { asked, tool } = weather()
        const outcome = completed(yield* call(tool.pipe(Tool.fix(fix)), "{ \"city\" : \"paris\" }"))
        assert.deepInclude(told[0], { text: "{ \"city\" : \"paris\" }", arguments: { city: "paris" } })
        assert.strictEqual(told[0]?.failure.code, "uncapitalized")
        assert.deepStrictEqual(asked, ["paris", "Paris"])
        assert.deepInclude(outcome, { value: "sunny in Paris", attempts: 2 })
        assert.deepStrictEqual(handled(outcome), ["fix uncapitalized"])
        assert.deepStrictEqual(outcome.caveats, ["The arguments were corrected to {\"city\":\"Paris\"}"])
      }))

    it.effect("gets the JSON of the parameters in a direct run, which has no text", () =>
      Effect.gen(function*() {
        const dated = Tool.make("dated", {
          description: "",
          parameters: Schema.Struct({ on: Schema.Date }),
          success: Schema.Finite
        }, ({ on }) => on.getTime() < 0 ? Effect.fail(uncapitalized("1969")) : Effect.succeed(on.getTime()))
        const { fix, told } = fixer(() => ({ on: "1970-01-01T00:00:01.000Z" }))
        const fixed = dated.pipe(Tool.fix(fix))
        assert.strictEqual(yield* fixed.run({ on: new Date(-1) }), 1000)
        assert.strictEqual(told[0]?.text, "{\"on\":\"1969-12-31T23:59:59.999Z\"}")
      }))

    it.effect("gets no parameters that have no JSON or are secret, and may still correct them", () =>
      Effect.gen(function*() {
        const opaque = Schema.instanceOf(Map)
        const secret = Schema.Redacted(Schema.String)
        const { fix, told } = fixer(() => ({ of: "other" }))
        const run = <A>(of: Schema.Codec<A, unknown>, value: A) =>
          Tool.make(
            "t",
            { description: "", parameters: Schema.Struct({ of }), success: Schema.String },
            () => Effect.fail(uncapitalized("x"))
          ).pipe(Tool.fix(fix)).run({ of: value })
        assert.strictEqual((yield* Effect.flip(run(opaque, new Map()))).code, "uncapitalized")
        assert.strictEqual((yield* Effect.flip(run(secret, Redacted.make("hunter2")))).code, "uncapitalized")
        assert.deepStrictEqual(told.map(({ arguments: args, text }) => [text, args]), [
          ["{\"of\":[]}", { of: [] }],
          ["", undefined]
        ])
      }))

    it.effect("reveals no secrets to the model", () =>
      Effect.gen(function*() {
        const tool = Tool.make("login", {
          description: "",
          parameters: Schema.Struct({ password: Schema.Redacted(Schema.String) }),
          success: Schema.String
        }, () => Effect.succeed("in"))
        const outcome = completed(yield* call(tool.pipe(Tool.fix(() => ({ password: "hunter2" }))), "{}"))
        assert.deepStrictEqual(outcome.caveats, ["The arguments were corrected"])
        assert.notInclude(JSON.stringify(outcome), "hunter2")
      }))

    it.effect("keeps the failure if it has no correction", () =>
      Effect.gen(function*() {
        const { tool } = weather()
        const plain = failed(yield* call(tool, { city: "paris" }))
        for (const answer of ["", { town: "Paris" }, { city: "paris" }, "{ \"city\": \"paris\" }"]) {
          const outcome = failed(yield* call(tool.pipe(Tool.fix(() => answer)), { city: "paris" }))
          assert.deepStrictEqual([outcome.failure, outcome.stage, outcome.attempts], [plain.failure, "run", 1])
          assert.isUndefined(outcome.repairs)
        }
      }))

    it.effect("does not run the tool again with equal parameters, however they are written", () =>
      Effect.gen(function*() {
        const dates: Array<Date> = []
        const dated = Tool.make("dated", {
          description: "",
          parameters: Schema.Struct({ on: Schema.Date }),
          success: Schema.String
        }, ({ on }) => {
          dates.push(on)
          return Effect.fail(uncapitalized("1970"))
        }).pipe(Tool.fix(() => ({ on: "1970-01-01T00:00:00.000+00:00" })))
        const outcome = failed(yield* call(dated, { on: "1970-01-01T00:00:00.000Z" }))
        assert.deepStrictEqual(dates, [new Date(0)])
        assert.deepStrictEqual([outcome.handled, outcome.repairs], [[], undefined])
      }))

    it.effect("is mentioned in the failure of its answer, with the used arguments", () =>
      Effect.gen(function*() {
        const { tool } = weather()
        const outcome = failed(yield* call(tool.pipe(Tool.fix(() => ({ city: "pariS" }))), { city: "paris" }))
        assert.strictEqual(outcome.failure.detail, "'pariS' has no capital letter.")
        const said: { readonly notes: ReadonlyArray<string> } = JSON.parse(
          Rendering.json(outcome, { id: "1", name: "get_weather" })
        )
        assert.deepStrictEqual(said.notes, ["The arguments were corrected to {\"city\":\"pariS\"}"])
      }))

    it.effect("keeps the call's idempotency key, and has other keys for its own runs", () =>
      Effect.gen(function*() {
        const keys: Array<string> = []
        const noted = Effect.map(ToolCall.current, ({ idempotencyKey }) => {
          keys.push(idempotencyKey)
        })
        const put = Tool.make(
          "put",
          { description: "", parameters, success: Schema.String },
          ({ city }) =>
            Effect.andThen(noted, city === "Paris" ? Effect.succeed("put") : Effect.fail(uncapitalized(city)))
        )
        const lookUp = Tool.make("look_up", { description: "", success: Schema.Void }, () => noted)
        const fix = () => Effect.as(lookUp.run({}), { city: "Paris" })
        assert.strictEqual(completed(yield* call(put.pipe(Tool.fix(fix)), { city: "paris" })).attempts, 2)
        assert.strictEqual(completed(yield* call(put.pipe(Tool.fix(fix)), unclosed)).attempts, 1)
        assert.strictEqual(keys[0], "key")
        assert.strictEqual(lettered(keys), "a b a b a")
      }))

    it.effect("changes the key for other arguments, unless the call was given one", () =>
      Effect.gen(function*() {
        const keys: Array<string> = []
        const put = Tool.make("put", { description: "", parameters, success: Schema.String }, ({ city }) =>
          Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => {
            keys.push(idempotencyKey)
            return city === "Paris" ? Effect.succeed("put") : Effect.fail(uncapitalized(city))
          })).pipe(Tool.fix(toParis))
        yield* call(put, { city: "paris" }, {})
        yield* put.run({ city: "paris" })
        yield* put.run({ city: "paris" }).pipe(ToolCall.withKey("mine"))
        assert.strictEqual(lettered(keys), "a b c d e e")
        keys.length = 0
        // A call that never ran has sent no key.
        yield* call(put, unclosed, { id: "7" })
        assert.deepStrictEqual(keys, ["7"])
      }))

    it.effect("does not run an acting tool again that may already have acted in this call", () =>
      Effect.gen(function*() {
        const inner = Tool.make("inner", { description: "", success: Schema.Void }, () => Effect.void)
        const afterAct = (sideEffect: SideEffect.SideEffect) =>
          Tool.make(
            "outer",
            { description: "", parameters, success: Schema.String, sideEffect },
            ({ city }) =>
              city === "Paris"
                ? Effect.succeed("done")
                : Effect.andThen(inner.run({}), Effect.fail(uncapitalized(city)))
          )
        // An attempt with an unknown outcome, then one that rejects the arguments.
        const afterAttempt = (sideEffect: SideEffect.SideEffect) => {
          let attempt = 0
          return Tool.make(
            "flaky",
            { description: "", parameters, success: Schema.String, sideEffect },
            ({ city }) =>
              city === "Paris" ?
                Effect.succeed("done") :
                Effect.suspend((): Effect.Effect<never, Mistake> =>
                  Effect.fail(++attempt % 2 === 1 ? refused : uncapitalized(city))
                )
          ).pipe(Tool.retry(Schedule.recurs(1)))
        }
        const end = (tool: Tool.Tool<string, typeof parameters.Type, string, Mistake>) =>
          Effect.gen(function*() {
            const fixed = tool.pipe(Tool.fix(toParis))
            // The same inside another tool's handler.
            const around = Tool.make(
              "around",
              { description: "", parameters, success: Schema.String, sideEffect: "none" },
              (params) => fixed.run(params)
            )
            const inside = yield* call(around, { city: "paris" })
            const { _tag } = yield* call(fixed, { city: "paris" })
            assert.strictEqual(inside._tag, _tag)
            return _tag
          })
        assert.deepStrictEqual(
          yield* Effect.forEach(
            ["none", "idempotent", "non_idempotent"] as const,
            (sideEffect) => end(afterAct(sideEffect))
          ),
          ["Failed", "Failed", "Failed"]
        )
        assert.deepStrictEqual(
          yield* Effect.forEach(["none", "idempotent"] as const, (sideEffect) => end(afterAttempt(sideEffect))),
          ["Completed", "Failed"]
        )
        // The correction is used if the earlier attempt certainly did nothing.
        let attempt = 0
        const safe = Tool.make(
          "safe",
          { description: "", parameters, success: Schema.String },
          ({ city }) =>
            city === "Paris" ?
              Effect.succeed("done") :
              Effect.suspend((): Effect.Effect<never, Mistake> =>
                Effect.fail(
                  ++attempt % 2 === 1
                    ? new ToolUnavailable({ ...refused, outcome: "not_executed" })
                    : uncapitalized(city)
                )
              )
        ).pipe(Tool.retry(Schedule.recurs(1)))
        assert.strictEqual(yield* end(safe), "Completed")
      }))
  })
})
