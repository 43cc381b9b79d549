import { assert, describe, it } from "@effect/vitest"
import { Observer, PartialData, type SchemaMismatch, SemanticGarbage, Tool, type ToolUnavailable } from "@fallible/core"
import { Cause, Context, Effect, Exit, Schema } from "effect"
import {
  disabled,
  doing,
  type Failure,
  noTotal,
  parameters,
  paris,
  refused,
  Sequence,
  sunny,
  twiceAfterOneSecond,
  unknownCity
} from "../support/sequence.ts"

describe("Tool", () => {
  describe("make", () => {
    it("has no parameters and a non-idempotent side effect by default", () => {
      const ping = Tool.make("ping", { description: "Answers", success: Schema.String }, () => sunny)
      assert.strictEqual(ping.sideEffect, "non_idempotent")
      assert.deepStrictEqual(ping.policies, [])
      assert.isTrue(Schema.is(ping.parameters)({}))
    })

    it("throws at a name that model providers do not accept", () => {
      const make = (name: string) => Tool.make(name, { description: "", success: Schema.String }, () => sunny)
      for (const name of ["", "get weather", "wetter.jetzt", "größe", "a\n", "x".repeat(65)]) {
        assert.throws(() => make(name), TypeError, JSON.stringify(name))
      }
      for (const name of ["a", "get_weather-2", "x".repeat(64)]) assert.strictEqual(make(name).name, name)
    })
  })

  describe("run", () => {
    it.effect("passes the handler the parameters, and returns its value", () =>
      Effect.gen(function*() {
        const greet = Tool.make(
          "greet",
          { description: "Greets", parameters, success: Schema.String },
          ({ city }) => Effect.succeed(`Hello ${city}`)
        )
        const run: Effect.Effect<string> = greet.run(paris)
        assert.strictEqual(yield* run, "Hello Paris")
      }))

    it.effect("fails with the handler's failure itself", () =>
      Effect.gen(function*() {
        const run: Effect.Effect<string, SemanticGarbage> = doing(Effect.fail(unknownCity)).run(paris)
        assert.strictEqual(yield* Effect.flip(run), unknownCity)
      }))

    it.effect("knows the type of partial data", () =>
      Effect.gen(function*() {
        const users = Tool.make(
          "users",
          { description: "Users", success: Schema.Array(Schema.String) },
          () => Effect.fail(new PartialData({ code: "more_pages", detail: "Page 1 of 3.", data: ["ada"] }))
        )
        const { data }: PartialData<Array<string>> = yield* Effect.flip(users.run({}))
        assert.deepStrictEqual(data, ["ada"])
      }))

    it.effect("keeps a defect a defect, whether thrown or died", () =>
      Effect.gen(function*() {
        const bug = new Error("bug")
        const throws = Tool.make("throws", { description: "", success: Schema.String }, () => {
          throw bug
        })
        assert.deepStrictEqual(yield* Effect.exit(throws.run({})), Exit.die(bug))
        assert.deepStrictEqual(yield* Effect.exit(doing(Effect.die(bug)).run(paris)), Exit.die(bug))
      }))

    it.effect("has the requirements of the handler", () =>
      Effect.gen(function*() {
        class Station extends Context.Service<Station, { readonly weather: string }>()("Station") {}
        const run: Effect.Effect<string, never, Station> = doing(Station.use(({ weather }) => Effect.succeed(weather)))
          .run(paris)
        assert.strictEqual(yield* Effect.provideService(run, Station, { weather: "rain" }), "rain")
      }))

    it.effect("starts the attempt of the call before the handler", () =>
      Effect.gen(function*() {
        const events: Array<string> = []
        yield* doing(Effect.sync(() => {
          events.push("handler")
          return ""
        })).run(paris).pipe(Observer.observe({ onEvent: ({ _tag }) => events.push(_tag) }))
        assert.deepStrictEqual(events, ["AttemptStarted", "handler", "AttemptEnded"])
      }))
  })

  describe("fallback", () => {
    it.effect("answers for an unavailable tool, with the parameters and the failure", () =>
      Effect.gen(function*() {
        const tool = doing(Effect.fail(disabled)).pipe(
          Tool.fallback(({ city }, { code }) => Effect.succeed(`${city} from the cache, for ${code}`))
        )
        const run: Effect.Effect<string> = tool.run(paris)
        assert.strictEqual(yield* run, "Paris from the cache, for disabled")
      }))

    it.effect("does not run for a success or another failure", () =>
      Effect.gen(function*() {
        const source = () => Effect.die("not asked for")
        assert.strictEqual(yield* Tool.fallback(doing(sunny), source).run(paris), "sunny")
        const wrong: Effect.Effect<string, SemanticGarbage> = Tool.fallback(doing(Effect.fail(unknownCity)), source)
          .run(paris)
        assert.strictEqual(yield* Effect.flip(wrong), unknownCity)
      }))

    it.effect("fails with the failure of its source", () =>
      Effect.gen(function*() {
        const run: Effect.Effect<string, SemanticGarbage> = doing(Effect.fail(refused)).pipe(
          Tool.fallback(() => Effect.fail(unknownCity))
        ).run(paris)
        assert.strictEqual(yield* Effect.flip(run), unknownCity)
      }))

    it.effect("passes on from source to source", () =>
      Effect.gen(function*() {
        const { note, play, tool } = new Sequence()
        const chain = tool([Effect.fail(refused)]).pipe(
          Tool.fallback(() => Effect.andThen(note("mirror"), Effect.fail(disabled))),
          Tool.fallback((_, { code }) => Effect.as(note("cache"), `cached after ${code}`))
        )
        assert.deepStrictEqual(yield* play(chain), [
          "0 attempt 1",
          "fallback handles connection",
          "0 mirror",
          "fallback handles disabled",
          "0 cache",
          "0 => cached after disabled"
        ])
      }))
  })

  describe("catchTag", () => {
    it.effect("turns the failures of one tag into an answer, given the parameters", () =>
      Effect.gen(function*() {
        const failing = doing<Failure>(Effect.fail(unknownCity))
        const piped = failing.pipe(
          Tool.catchTag("SemanticGarbage", ({ code }, { city }) => Effect.succeed(`${code}: ${city}`))
        )
        const run: Effect.Effect<string, SchemaMismatch | ToolUnavailable> = piped.run(paris)
        assert.strictEqual(yield* run, "unknown_city: Paris")
        const dataFirst = Tool.catchTag(failing, "SemanticGarbage", () => Effect.succeed("none"))
        assert.strictEqual(yield* dataFirst.run(paris), "none")
      }))

    it.effect("handles several tags at once, and passes the others on", () =>
      Effect.gen(function*() {
        const ends = yield* Effect.forEach([unknownCity, refused, noTotal], (failure) =>
          doing<Failure>(Effect.fail(failure)).pipe(
            Tool.catchTag(["SemanticGarbage", "ToolUnavailable"], ({ _tag }) =>
              Effect.succeed(_tag))
          ).run(paris).pipe(
            Effect.match({ onSuccess: (tag) => `handled ${tag}`, onFailure: ({ _tag }) => `failed ${_tag}` })
          ))
        assert.deepStrictEqual(ends, ["handled SemanticGarbage", "handled ToolUnavailable", "failed SchemaMismatch"])
      }))

    it.effect("may fail with another failure", () =>
      Effect.gen(function*() {
        const run: Effect.Effect<string, SemanticGarbage> = doing(Effect.fail(noTotal)).pipe(
          Tool.catchTag("SchemaMismatch", () => Effect.fail(unknownCity))
        ).run(paris)
        assert.strictEqual(yield* Effect.flip(run), unknownCity)
      }))

    it.effect("does not handle defects", () =>
      Effect.gen(function*() {
        const tool = doing<SemanticGarbage>(Effect.die("bug")).pipe(
          Tool.catchTag("SemanticGarbage", () => Effect.succeed("none"))
        )
        assert.deepStrictEqual(yield* Effect.exit(tool.run(paris)), Exit.die("bug"))
      }))
  })

  describe("mapFailure", () => {
    it.effect("replaces each failure, but neither values nor defects", () =>
      Effect.gen(function*() {
        const explain = ({ code }: Failure) => new SemanticGarbage({ code: `weather_${code}`, detail: "No weather." })
        const failing = doing<Failure>(Effect.fail(refused))
        const run: Effect.Effect<string, SemanticGarbage> = failing.pipe(Tool.mapFailure(explain)).run(paris)
        assert.strictEqual((yield* Effect.flip(run)).code, "weather_connection")
        assert.strictEqual(
          (yield* Effect.flip(Tool.mapFailure(failing, explain).run(paris))).code,
          "weather_connection"
        )
        assert.strictEqual(yield* doing<Failure>(sunny).pipe(Tool.mapFailure(explain)).run(paris), "sunny")
        const dying = doing<Failure>(Effect.die("bug")).pipe(Tool.mapFailure(explain))
        assert.isTrue(Cause.hasDies(yield* Effect.flip(Effect.sandbox(dying.run(paris)))))
      }))
  })

  describe("policies", () => {
    const bare = doing<Failure>(Effect.fail(refused))
    const kinds = (tool: Tool.Any) => tool.policies.map(({ kind }) => kind)

    it("are values in the order written, innermost first", () => {
      const tool = bare.pipe(
        Tool.timeout("5 seconds"),
        Tool.retry(twiceAfterOneSecond),
        Tool.fallback(() => sunny),
        Tool.catchTag(["SemanticGarbage", "SchemaMismatch"], () => sunny)
      )
      assert.deepStrictEqual(kinds(tool), ["timeout", "retry", "fallback", "catch"])
      assert.deepStrictEqual(tool.policies.map(({ description }) => description), [
        "timeout of 5s",
        "retry of transient failures",
        "fallback",
        "catch of SemanticGarbage, SchemaMismatch"
      ])
    })

    it("are the same data-first and data-last", () => {
      const source = () => sunny
      const same = (failure: Failure): Failure => failure
      const piped = bare.pipe(
        Tool.timeout("5 seconds"),
        Tool.retry(twiceAfterOneSecond),
        Tool.mapFailure(same),
        Tool.fallback(source)
      )
      const nested = Tool.fallback(
        Tool.mapFailure(Tool.retry(Tool.timeout(bare, "5 seconds"), twiceAfterOneSecond), same),
        source
      )
      assert.deepStrictEqual(kinds(nested), kinds(piped))
      assert.deepStrictEqual(kinds(nested), ["timeout", "retry", "map", "fallback"])
    })

    it.effect("do not change the tool that they are added to", () =>
      Effect.gen(function*() {
        const safe = bare.pipe(Tool.fallback(() => sunny))
        assert.deepStrictEqual(kinds(bare), [])
        assert.strictEqual(yield* Effect.flip(bare.run(paris)), refused)
        assert.strictEqual(yield* safe.run(paris), "sunny")
        const { name, parameters, sideEffect, success } = safe
        assert.deepInclude({ ...bare }, { name, parameters, sideEffect, success })
      }))
  })
})
