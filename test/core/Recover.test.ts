/** Recovery tables: which entry gets a failure, and what becomes of it. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  Dispatch,
  PartialData,
  Policy,
  SchemaMismatch,
  type SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  type ToolUnavailable
} from "@fallible/core"
import * as Explanation from "@fallible/core/Explanation"
import * as Recover from "@fallible/core/Recover"
import type * as SideEffect from "@fallible/core/SideEffect"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema } from "effect"
import type { Untyped } from "../support/nonsense.ts"
import { lost, notExecuted, paris, refused, silent, unknownCity } from "../support/sequence.ts"

type Failure = SchemaMismatch | PartialData<string> | SemanticGarbage | ToolUnavailable

const noTotal = new SchemaMismatch({ side: "result", code: "invalid_result", detail: "No total." })
const firstPage = new PartialData({ code: "more_pages", detail: "1 of 2.", data: "rain" })

/** Makes a tool that fails, by its type in each of the four ways. */
const failing = (failure: Failure, sideEffect: SideEffect.SideEffect = "none") =>
  Tool.make("get_weather", {
    description: "The weather",
    parameters: Schema.Struct({ city: Schema.String }),
    success: Schema.String,
    sideEffect
  }, (): Effect.Effect<string, Failure> => Effect.fail(failure))
const ping = Tool.make(
  "ping",
  { description: "Answers", success: Schema.String, sideEffect: "none" },
  () => Effect.succeed("pong")
)

const told = {
  SchemaMismatch: Recover.tell,
  PartialData: Recover.tell,
  SemanticGarbage: Recover.tell,
  ToolUnavailable: Recover.tell
}
const call = { id: "1", name: "get_weather", arguments: JSON.stringify(paris) }
const outcomeOf = <T extends Tool.Any>(toolkit: Toolkit.Toolkit<T>) => Dispatch.call(toolkit, call)
const weatherIn = <T extends Tool.Any>(toolkit: Toolkit.Toolkit<T>): T => toolkit.tools.get("get_weather")!

describe("Recover.table", () => {
  it.effect("gives each failure to the function of its tag, with the parameters", () =>
    Effect.gen(function*() {
      for (const failure of [noTotal, firstPage, unknownCity, refused]) {
        const toolkit = Recover.table(Toolkit.make(failing(failure), ping), {
          get_weather: {
            SchemaMismatch: ({ side }, { city }) => Effect.succeed(`SchemaMismatch ${side} ${city}`),
            PartialData: ({ data }, { city }) => Effect.succeed(`PartialData ${data} ${city}`),
            SemanticGarbage: ({ code }, { city }) => Effect.succeed(`SemanticGarbage ${code} ${city}`),
            ToolUnavailable: ({ transient }, { city }) => Effect.succeed(`ToolUnavailable ${transient} ${city}`)
          }
        })
        assert.match(yield* weatherIn(toolkit).run(paris), new RegExp(`^${failure._tag} .+ Paris$`))
        const outcome = yield* outcomeOf(toolkit)
        assert.deepStrictEqual(outcome.handled.map(({ by, tag }) => `${tag}: ${by}`), [
          `${failure._tag}: ${failure === refused ? "fallback" : "catch"}`
        ])
      }
    }))

  it.effect("leaves what is told, and tools without a row, as they were", () =>
    Effect.gen(function*() {
      const before = Toolkit.make(failing(unknownCity), ping)
      const toolkit = Recover.table(before, { get_weather: told })
      assert.deepStrictEqual([...toolkit.tools.entries()], [...before.tools.entries()])
      assert.deepStrictEqual(toolkit.definitions, before.definitions)
      const one = Recover.table(before, { get_weather: { ...told, PartialData: ({ data }) => Effect.succeed(data) } })
      assert.strictEqual(yield* Effect.flip(weatherIn(one).run(paris)), unknownCity)
      assert.strictEqual(one.tools.get("ping"), ping)
    }))

  it.effect("gives no failure of an entry to another entry, in whatever order they are", () =>
    Effect.gen(function*() {
      const entries = {
        ...told,
        SemanticGarbage: () => Effect.fail(refused),
        ToolUnavailable: () => Effect.fail(noTotal),
        SchemaMismatch: () => Effect.fail(unknownCity)
      }
      const reversed = Object.fromEntries(Object.entries(entries).toReversed()) as typeof entries
      for (const get_weather of [entries, reversed]) {
        const ends: Array<unknown> = []
        for (const failure of [unknownCity, refused, noTotal]) {
          const toolkit = Recover.table(Toolkit.make(failing(failure)), { get_weather })
          const end = yield* Effect.flip(weatherIn(toolkit).run(paris))
          ends.push(end)
        }
        assert.deepStrictEqual(ends, [refused, noTotal, unknownCity])
      }
    }))

  it.effect("runs inside an agent, which is told of the rest", () =>
    Effect.gen(function*() {
      const run = (failure: Failure) => {
        const toolkit = Recover.table(Toolkit.make(failing(failure), ping), {
          get_weather: { ...told, ToolUnavailable: (_, { city }) => Effect.succeed(`Usually rainy in ${city}.`) }
        })
        const script = [ScriptedModel.call("get_weather", paris), ScriptedModel.text("Done.")]
        return Effect.map(
          Effect.provide(Agent.make({ toolkit }).run("How is it?"), ScriptedModel.layer(script)),
          ({ report, transcript }) => [
            transcript.at(2)?.text,
            ...report.failures.map(({ code, handling }) => `${code}: ${handling}`)
          ]
        )
      }
      assert.deepStrictEqual(yield* run(refused), ["\"Usually rainy in Paris.\"", "connection: fallback"])
      const [text = "", ...failures] = yield* run(unknownCity)
      assert.include(text, "\"error\":\"SemanticGarbage\"")
      assert.deepStrictEqual(failures, ["unknown_city: told"])
    }))

  describe("with a question", () => {
    const asking = (failure: Failure, sideEffect?: SideEffect.SideEffect) =>
      Recover.table(Toolkit.make(failing(failure, sideEffect)), {
        get_weather: {
          ...told,
          SemanticGarbage: () => Effect.fail(refused),
          ToolUnavailable: {
            ask: ({ city }, { code }) => `${city}: ${code}. What now?`,
            use: (reply) => reply === "?" ? Effect.fail(unknownCity) : Effect.succeed(reply)
          }
        }
      })

    it.effect("suspends the run, and goes on with the reply", () =>
      Effect.gen(function*() {
        const agent = Agent.make({ toolkit: asking(refused) })
        const failure = yield* Effect.flip(agent.run("How is it?"))
        assert(failure._tag === "RunSuspended" && failure.question === "Paris: connection. What now?")
        const { report, transcript } = yield* agent.resume(failure.suspension, "snow")
        assert.include(transcript.at(2)?.text, "\"value\":\"snow\"")
        assert.deepStrictEqual(report.failures.map(({ handling }) => handling), ["fallback"])
      }).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("get_weather", paris), ScriptedModel.text("Done.")]))
      ))

    it.effect("asks nothing about what another entry fails with, and hands on what the use of the reply fails with", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* Effect.flip(weatherIn(asking(unknownCity)).run(paris)), refused)
        const failure = yield* Effect.flip(weatherIn(asking(refused)).run(paris)).pipe(ToolCall.withReply("?"))
        assert.strictEqual(failure, unknownCity)
      }))

    it.effect("passes on a doubt, without an entry in the record", () =>
      Effect.gen(function*() {
        const outcome = yield* outcomeOf(asking(lost, "non_idempotent"))
        assert.deepInclude(outcome, { _tag: "Failed", certainty: "unknown", handled: [] })
      }))

    it.effect("tells the reply to the model if there is no use of it", () =>
      Effect.gen(function*() {
        const toolkit = Recover.table(Toolkit.make(failing(refused)), {
          get_weather: { ...told, ToolUnavailable: { ask: () => "What now?" } }
        })
        const failure = yield* Effect.flip(weatherIn(toolkit).run(paris)).pipe(ToolCall.withReply("go on"))
        assert.strictEqual(failure.hint, "The user was asked \"What now?\" and replied \"go on\".")
      }))
  })

  describe("of a tool that acts", () => {
    const queued = () => Effect.succeed("queued")
    const recovered = (failure: Failure) =>
      Recover.table(Toolkit.make(failing(failure, "non_idempotent")), {
        get_weather: { ...told, SemanticGarbage: queued, ToolUnavailable: queued }
      })

    it.effect("says with the answer whether the call may have taken effect, as a catch does", () =>
      Effect.gen(function*() {
        for (const failure of [lost, silent, notExecuted, unknownCity]) {
          const caught = failing(failure, "non_idempotent").pipe(
            Tool.catchTag(["SemanticGarbage", "ToolUnavailable"], queued)
          )
          const plain = yield* outcomeOf(Toolkit.make(caught))
          const outcome = yield* outcomeOf(recovered(failure))
          assert(outcome._tag === "Completed" && plain._tag === "Completed" && plain.caveats.length > 0)
          assert.deepStrictEqual([outcome.certainty, outcome.caveats], [plain.certainty, plain.caveats])
        }
      }))

    it.effect("removes no doubt, whatever the entry fails with", () =>
      Effect.gen(function*() {
        const toolkit = Recover.table(Toolkit.make(failing(lost, "non_idempotent")), {
          get_weather: {
            ...told,
            SemanticGarbage: () => Effect.fail(refused),
            ToolUnavailable: () => Effect.fail(notExecuted)
          }
        })
        assert.deepInclude(yield* outcomeOf(toolkit), { _tag: "Failed", certainty: "unknown" })
      }))
  })

  it.effect("goes around the defaults that the toolkit has", () =>
    Effect.gen(function*() {
      const hangs = Tool.make(
        "get_weather",
        {
          description: "",
          parameters: Schema.Struct({ city: Schema.String }),
          success: Schema.String,
          sideEffect: "none"
        },
        () => Effect.never
      )
      const limited = Toolkit.make(hangs).pipe(Toolkit.withDefaults([Policy.timeout("1 millis")]))
      const toolkit = Recover.table(limited, { get_weather: { ToolUnavailable: ({ code }) => Effect.succeed(code) } })
      assert.strictEqual(yield* Effect.promise(() => Effect.runPromise(weatherIn(toolkit).run(paris))), "timeout")
      assert.deepStrictEqual(weatherIn(toolkit).policies.map(({ kind }) => kind), ["timeout", "fallback"])
    }))

  it("is one policy of each tool, which is explained", () => {
    const explained = (
      row: Recover.Table<ReturnType<typeof failing>>["get_weather"],
      sideEffect?: SideEffect.SideEffect
    ) => {
      const tool = Tool.timeout(failing(refused, sideEffect), "1 second")
      const explanation = Tool.explain(weatherIn(Recover.table(Toolkit.make(tool), { get_weather: row })))
      return {
        last: Explanation.timeline(explanation).split("\n")[3]?.trim(),
        descriptions: explanation.steps.slice(2).map(({ description }) => description),
        because: explanation.time.because,
        warnings: explanation.warnings.map(({ code }) => code)
      }
    }
    const rain = () => Effect.succeed("rain")
    const ask = () => "What now?"
    assert.deepStrictEqual(explained({ ...told, SemanticGarbage: rain, ToolUnavailable: { ask } }), {
      last: "1s   the catch of SemanticGarbage, or the question to the user",
      descriptions: ["catch of SemanticGarbage, question to the user"],
      because: ["the catch of SemanticGarbage, or the question to the user has no timeout"],
      warnings: []
    })
    assert.deepStrictEqual(explained({ ...told, ToolUnavailable: { ask } }, "idempotent"), {
      last: "1s   the question to the user",
      descriptions: ["question to the user"],
      because: [],
      warnings: []
    })
    const acting = explained({ ...told, SemanticGarbage: rain, ToolUnavailable: { ask } }, "idempotent")
    assert.deepStrictEqual(acting.warnings, ["fallback_of_acting_tool"])
  })

  describe("throws where it is declared", () => {
    const toolkit = Toolkit.make(failing(refused), ping)
    const table = (entries: Untyped) => () => Recover.table(toolkit, entries)
    const row = (part: Untyped) => table({ get_weather: { ...told, ...part } })
    for (
      const [mistake, make, message] of [
        ["no table", table(undefined), "A recovery table must be an object; got nothing."],
        ["a list", table([]), "A recovery table must be an object; got an array of 0."],
        [
          "a name with a typing mistake",
          table({ get_wether: told }),
          "A recovery table has a row for 'get_wether'. Did you mean 'get_weather'?"
        ],
        [
          "a name that does not exist",
          table({ toString: told }),
          "A recovery table has a row for 'toString'. The tools are 'get_weather', 'ping'."
        ],
        [
          "a row that is a function",
          table({ get_weather: () => Effect.succeed("") }),
          "The recovery of 'get_weather' must be an object; got a function."
        ],
        [
          "a tag that does not exist",
          row({ Timeout: Recover.tell }),
          "The recovery of 'get_weather' is by the tags 'SchemaMismatch', 'PartialData', 'SemanticGarbage', " +
          "'ToolUnavailable'; got \"Timeout\"."
        ],
        [
          "an entry that is a text",
          row({ SemanticGarbage: "tell" }),
          "The recovery of 'get_weather' from SemanticGarbage must be a function, Recover.tell or " +
          "{ ask: () => question }; got a string."
        ],
        [
          "an entry that is missing",
          row({ SemanticGarbage: undefined }),
          "The recovery of 'get_weather' from SemanticGarbage must be a function, Recover.tell or " +
          "{ ask: () => question }; got nothing."
        ],
        [
          "a question about a failure that is not of the tool being down",
          row({ SemanticGarbage: { ask: () => "What now?" } }),
          "The recovery of 'get_weather' from SemanticGarbage cannot ask the user. Only ToolUnavailable can."
        ],
        [
          "an option of a question that does not exist",
          row({ ToolUnavailable: { ask: () => "What now?", uses: () => Effect.succeed("") } }),
          "The recovery of 'get_weather' from ToolUnavailable has no option 'uses'. Did you mean 'use'?"
        ],
        [
          "a question that is a text",
          row({ ToolUnavailable: { ask: "What now?" } }),
          "A question to the user must be a function; got a string."
        ]
      ] as const
    ) {
      it(mistake, () => {
        assert.throws(make, TypeError, message)
      })
    }
  })
})
