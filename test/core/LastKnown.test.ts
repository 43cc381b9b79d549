import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import {
  Dispatch,
  Observer,
  PartialData,
  SchemaMismatch,
  type SemanticGarbage,
  Tool,
  ToolCall,
  ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as Deadline from "@fallible/core/Deadline"
import * as HttpFailure from "@fallible/core/HttpFailure"
import * as LastKnown from "@fallible/core/LastKnown"
import * as Rendering from "@fallible/core/Rendering"
import { Clock, Duration, Effect, Exit, Fiber, FileSystem, Hash, Layer, Logger, Option, Schedule, Schema } from "effect"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as Persistence from "effect/persistence/Persistence"
import { TestClock } from "effect/testing"
import { around, disabled, doing, paris, refused, Sequence, sunny, unknownCity } from "../support/sequence.ts"

const fail = Effect.fail(refused)
const memory = LastKnown.layerMemory()

/** A service that answers with the time and its argument, until it is down. */
class Station {
  isUp = true

  readonly down = Effect.sync(() => {
    this.isUp = false
  })

  readonly up = Effect.sync(() => {
    this.isUp = true
  })

  readonly tool = (name = "get_weather") =>
    Tool.make(name, {
      description: "The weather",
      parameters: Schema.Struct({ city: Schema.String, day: Schema.optionalKey(Schema.Int) }),
      success: Schema.String,
      sideEffect: "none"
    }, ({ city, day }) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        this.isUp ? Effect.succeed(`${city} ${day ?? ""} at ${now}`.replace("  ", " ")) : Effect.fail(refused)))
}

const answer = (tool: { readonly name: string }, args: object) => ({
  id: "1",
  name: tool.name,
  arguments: JSON.stringify(args)
})

/** Runs an effect, and returns its log lines. */
const logging = <A, E, R>(run: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const logged: Array<unknown> = []
    const logger = Logger.make(({ logLevel, message }) => {
      logged.push([logLevel, ...(Array.isArray(message) ? message : [message])].join(": "))
    })
    const exit = yield* Effect.exit(Effect.provide(run, Logger.layer([logger])))
    return { exit, logged }
  })

/** Makes a store with some operations replaced. */
const store = (service: Partial<LastKnown.LastKnown["Service"]>) =>
  Layer.succeed(LastKnown.LastKnown, {
    get: () => Effect.succeedNone,
    set: () => Effect.void,
    ...service
  })

describe("LastKnown", () => {
  describe("fallback", () => {
    it.effect("treats a value as fresh if the clock has gone back since", () =>
      Effect.gen(function*() {
        let isUp = true
        const tool = Tool.make("t", { description: "", success: Schema.String, sideEffect: "none" }, () =>
          isUp
            ? Effect.succeed("value")
            : Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))).pipe(
            LastKnown.fallback({ maxAge: "1 hour" })
          )
        yield* TestClock.setTime(10_000)
        yield* tool.run({})
        isUp = false
        yield* TestClock.setTime(1000)
        const outcome = yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "t" })
        assert.deepInclude(outcome, {
          value: "value",
          caveats: ["from cache, less than 1s old; the live service is unavailable"]
        })
      }).pipe(Effect.provide(LastKnown.layerMemory())))

    it.effect("answers if the service is down, and never if the service has refused the call", () =>
      Effect.gen(function*() {
        const codesAfter = (failure: ToolFailure.ToolFailure<string>) => {
          let isFirst = true
          const tool = Tool.make("t", { description: "", success: Schema.String, sideEffect: "none" }, () => {
            if (!isFirst) return Effect.fail(failure)
            isFirst = false
            return Effect.succeed("Lyon")
          }).pipe(LastKnown.fallback())
          return Effect.andThen(
            tool.run({}),
            Effect.match(tool.run({}), { onFailure: ({ code }) => code, onSuccess: String })
          )
        }
        const statuses = [400, 401, 403, 404, 409, 422, 402, 408, 429, 500, 501, 503]
        const after = yield* Effect.forEach(statuses, (status) => codesAfter(HttpFailure.fromStatus(status)))
        assert.deepStrictEqual(after, [
          "rejected",
          "permission_denied",
          "permission_denied",
          "not_found",
          "rejected",
          "invalid_arguments",
          "Lyon",
          "Lyon",
          "Lyon",
          "Lyon",
          "Lyon",
          "Lyon"
        ])
        // The reason of an unknown error may be a refusal.
        assert.strictEqual(yield* codesAfter(ToolFailure.from(new Error("Not yours."))), "rejected")
        assert.strictEqual(yield* codesAfter(ToolFailure.from({})), "failed")
      }).pipe(Effect.provide(memory)))

    it.effect("answers if the last source is down, whatever the sources before it have said", () =>
      Effect.gen(function*() {
        let isFirst = true
        const notHeld = { code: "not_held", detail: "Not held.", transient: false, scope: "arguments" } as const
        const tool = Tool.make("t", { description: "", success: Schema.String, sideEffect: "none" }, () => {
          if (!isFirst) return Effect.fail(new ToolUnavailable(notHeld))
          isFirst = false
          return Effect.succeed("Lyon")
        }).pipe(Tool.fallback(() => Effect.fail(HttpFailure.fromStatus(402))), LastKnown.fallback())
        yield* tool.run({})
        assert.strictEqual(yield* tool.run({}), "Lyon")
      }).pipe(Effect.provide(memory)))

    it.effect("does not answer if a fallback inside passes the refusal on", () =>
      Effect.gen(function*() {
        let isFirst = true
        const tool = Tool.make("t", { description: "", success: Schema.String, sideEffect: "none" }, () => {
          if (!isFirst) return Effect.fail(HttpFailure.fromStatus(403))
          isFirst = false
          return Effect.succeed("Lyon")
        }).pipe(
          Tool.fallback((_params, failure) => failure.scope === "arguments" ? Effect.fail(failure) : fail),
          LastKnown.fallback()
        )
        yield* tool.run({})
        assert.strictEqual((yield* Effect.flip(tool.run({}))).code, "permission_denied")
      }).pipe(Effect.provide(memory)))

    describe("with `when`", () => {
      /** Makes a tool that answers "Lyon" once, and then fails. */
      const onceLyon = <E extends ToolFailure.ToolFailure<string>>(failure: E, name = "t") => {
        let isFirst = true
        return Tool.make(name, { description: "", success: Schema.String, sideEffect: "none" }, () => {
          if (!isFirst) return Effect.fail(failure)
          isFirst = false
          return Effect.succeed("Lyon")
        })
      }
      const isUnavailable = ({ _tag }: ToolFailure.ToolFailure) => _tag === "ToolUnavailable"

      it.effect("answers each failure that it names, and no other", () =>
        Effect.gen(function*() {
          const failures = [
            HttpFailure.fromStatus(403),
            HttpFailure.fromStatus(401),
            HttpFailure.fromStatus(400),
            refused,
            new SchemaMismatch({ side: "result", code: "invalid_json", detail: "<html>" }),
            new PartialData({ code: "more_pages", detail: "Page 1 of 3.", data: "Paris" }),
            unknownCity
          ]
          const after = (when: LastKnown.Options["when"] & {}) =>
            Effect.forEach(failures, (failure) => {
              const tool = onceLyon(failure).pipe(LastKnown.fallback({ when }))
              return Effect.andThen(
                tool.run({}),
                Effect.match(tool.run({}), { onFailure: ({ code }) => code, onSuccess: String })
              )
            })
          const codes = failures.map(({ code }) => code)
          const answered = Array.from(failures, () => "Lyon")
          assert.deepStrictEqual(yield* after(() => true), answered)
          assert.deepStrictEqual(yield* after(() => false), codes)
          assert.deepStrictEqual(yield* after(isUnavailable), [...answered.slice(0, 4), ...codes.slice(4)])
        }).pipe(Effect.provide(memory)))

      it.effect("asks about the failure of the last source alone, and is listed among the sources tried", () =>
        Effect.gen(function*() {
          const seen: Array<ToolFailure.ToolFailure> = []
          const notHeld = new ToolUnavailable({
            code: "not_held",
            detail: "Not held.",
            transient: false,
            scope: "arguments"
          })
          const chain = onceLyon(notHeld, "database").pipe(
            Tool.fallback(() => Effect.fail(HttpFailure.fromStatus(403)), { name: "service" }),
            LastKnown.fallback({
              when: (failure) => {
                seen.push(failure)
                return failure.code === "permission_denied"
              }
            })
          )
          yield* chain.run({})
          const outcome = yield* Dispatch.call(Toolkit.make(chain), { id: "1", name: "database" })
          // The model is not told that a service is down which only refused this call.
          assert.deepInclude(outcome, { value: "Lyon", caveats: ["from cache, less than 1s old"] })
          assert.deepStrictEqual(outcome.handled.map(({ code }) => code), ["not_held", "permission_denied"])
          const failure = yield* Effect.flip(Effect.provide(chain.run({}), LastKnown.layerMemory()))
          assert.deepInclude(failure, {
            code: "permission_denied",
            tried: ["database (not_held)", "service (permission_denied)", "cache (no value)"]
          })
          assert.deepStrictEqual(seen.map(({ code }) => code), ["permission_denied", "permission_denied"])
          assert.notProperty(seen[0], "tried")
        }).pipe(Effect.provide(memory)))

      it.effect("passes on a failure of another class unchanged if no value is stored", () =>
        Effect.gen(function*() {
          const cut = new SchemaMismatch({ side: "result", code: "truncated", detail: "Cut off." })
          const tool = Tool.make(
            "t",
            { description: "", success: Schema.String, sideEffect: "none" },
            () => Effect.fail(cut)
          ).pipe(LastKnown.fallback({ when: () => true }))
          assert.strictEqual(yield* Effect.flip(tool.run({})), cut)
          assert.deepStrictEqual((yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "t" })).handled, [])
        }).pipe(Effect.provide(memory)))

      it.effect("leaves the doubt about a tool that the handler ran", () =>
        Effect.gen(function*() {
          const lost = new ToolUnavailable({ ...refused, code: "timeout", outcome: "unknown" })
          const steps = [Effect.succeed("paid"), Effect.fail(lost)]
          const pay = doing(Effect.suspend(() => steps.shift() ?? sunny), "non_idempotent", "pay")
          const report = Tool.make(
            "report",
            { description: "", success: Schema.String, sideEffect: "none" },
            () => pay.run(paris)
          ).pipe(LastKnown.fallback({ when: () => true }))
          yield* report.run({})
          const outcome = yield* Dispatch.call(Toolkit.make(report), { id: "1", name: "report" })
          assert.deepInclude(outcome, { _tag: "Completed", value: "paid", certainty: "unknown" })
          assert.match(
            outcome._tag === "Completed" ? outcome.caveats[0]! : "",
            /^report may have taken effect anyway\./
          )
        }).pipe(Effect.provide(memory)))

      it("must be a synchronous function, and other options are refused", () => {
        const policy = (options: object) => () => LastKnown.policy(options)
        assert.throws(policy({ when: true }), "The 'when' of LastKnown must be a function; got a boolean.")
        assert.throws(policy({ wen: () => true }), "LastKnown has no option 'wen'. Did you mean 'when'?")
        const promising: never = (async () => true) as never
        const exit = Effect.runSyncExit(
          Effect.provide(doing(fail).pipe(LastKnown.fallback({ when: promising })).run(paris), memory)
        )
        assert.match(
          JSON.stringify(Exit.isFailure(exit) ? String(exit.cause.reasons.map(String)) : exit),
          /The 'when' of LastKnown returned a promise/
        )
      })
    })

    it.effect("answers with the last value, and the outcome has its source and age", () =>
      Effect.gen(function*() {
        const station = new Station()
        const tool = station.tool().pipe(LastKnown.fallback())
        const toolkit = Toolkit.make(tool)
        const call = answer(tool, paris)
        yield* TestClock.adjust("1 minute")
        yield* Dispatch.call(toolkit, call)
        yield* TestClock.adjust("1 minute")
        const fresh = yield* Dispatch.call(toolkit, call)
        assert.deepInclude(fresh, { _tag: "Completed", value: "Paris at 120000", caveats: [], handled: [] })
        yield* station.down
        yield* TestClock.adjust("3 hours")
        const outcome = yield* Dispatch.call(toolkit, call)
        assert.deepInclude(outcome, {
          _tag: "Completed",
          value: "Paris at 120000",
          caveats: ["from cache, 3h old; the live service is unavailable"],
          source: { name: "cache", age: Duration.hours(3) },
          handled: [{ tag: "ToolUnavailable", code: "connection", detail: "Refused.", by: "fallback" }]
        })
        assert.strictEqual(
          Rendering.json(outcome, call),
          `{"value":"Paris at 120000","notes":["from cache, 3h old; the live service is unavailable"]}`
        )
      }).pipe(Effect.provide(memory)))

    it.effect("keeps one value per tool and arguments, whatever the order of their keys", () =>
      Effect.gen(function*() {
        const station = new Station()
        const weather = station.tool().pipe(LastKnown.fallback())
        const rain = station.tool("get_rain").pipe(LastKnown.fallback())
        yield* weather.run({ city: "Paris", day: 1 })
        yield* rain.run({ city: "Rome", day: 1 })
        yield* station.down
        assert.strictEqual(yield* weather.run({ day: 1, city: "Paris" }), "Paris 1 at 0")
        for (
          const run of [
            weather.run(paris),
            weather.run({ city: "Paris", day: 2 }),
            weather.run({ city: "Rome", day: 1 }),
            rain.run({ city: "Paris", day: 1 })
          ]
        ) {
          assert.strictEqual((yield* Effect.flip(run)).code, "connection")
        }
      }).pipe(Effect.provide(memory)))

    it.effect("lets the age grow with the clock, and answers only up to maxAge", () =>
      Effect.gen(function*() {
        const station = new Station()
        const { run } = station.tool().pipe(LastKnown.fallback({ maxAge: "1 hour", name: "yesterday" }))
        const ages: Array<unknown> = []
        const answering = Observer.observe(run(paris), {
          onEvent: (event) => {
            if (event._tag !== "SourceNamed") return
            ages.push([event.name, event.age === undefined ? undefined : Duration.toMillis(event.age)])
          }
        })
        yield* answering
        yield* station.down
        yield* TestClock.adjust(1)
        yield* answering
        yield* TestClock.adjust(3_599_998)
        yield* answering
        yield* TestClock.adjust(1)
        yield* answering
        yield* TestClock.adjust(1)
        const failure = yield* Effect.flip(answering)
        assert.deepStrictEqual(ages, [["yesterday", 1], ["yesterday", 3_599_999], ["yesterday", 3_600_000]])
        assert.deepStrictEqual(failure.tried, ["get_weather (connection)", "yesterday (no value)"])
      }).pipe(Effect.provide(memory)))

    it.effect("passes the failure on if no value is known, and lists what was tried", () =>
      Effect.gen(function*() {
        const cause = new Error("ECONNREFUSED")
        const down = new ToolUnavailable({ ...disabled, retryAfter: Duration.seconds(1), outcome: "unknown", cause })
        const { events, watch } = new Sequence()
        const tool = doing(Effect.fail(down)).pipe(LastKnown.fallback())
        const run: Effect.Effect<string, ToolUnavailable, LastKnown.LastKnown> = tool.run(paris)
        const failure = yield* Effect.flip(run)
        const { outcome: _, ...rest } = down
        assert.deepStrictEqual({ ...failure }, {
          ...rest,
          tried: ["get_weather (disabled)", "cache (no value)"]
        })
        assert.strictEqual(failure.cause, cause)
        yield* watch(Effect.provide(run, memory))
        assert.deepStrictEqual(events, ["0 => disabled"])

        const chain = doing(fail).pipe(
          Tool.fallback(() => fail, { name: "mirror" }),
          LastKnown.fallback({ name: "files" })
        )
        assert.deepStrictEqual(
          (yield* Effect.flip(chain.run(paris))).tried,
          ["get_weather (connection)", "mirror (connection)", "files (no value)"]
        )
      }).pipe(Effect.provide(memory)))

    it.effect("stores only successes, and does not change other failures", () =>
      Effect.gen(function*() {
        const kept: Array<string> = []
        const remembering = store({ set: (key) => Effect.sync(() => kept.push(key)) })
        const noTotal = new SchemaMismatch({ side: "result", code: "invalid_result", detail: "No total." })
        const firstPage = new PartialData({ code: "more_pages", detail: "Page 1 of 3.", data: "sunny" })
        const failing = (failure: SchemaMismatch | SemanticGarbage | PartialData<string>) =>
          Tool.make(
            "t",
            { description: "Fails", success: Schema.String, sideEffect: "none" },
            () => Effect.fail(failure)
          )
            .pipe(LastKnown.fallback()).run({})
        for (const failure of [unknownCity, noTotal, firstPage]) {
          assert.strictEqual(yield* Effect.flip(Effect.provide(failing(failure), remembering)), failure)
        }
        assert.deepStrictEqual(kept, [])
        const dying = doing(Effect.die("bug")).pipe(LastKnown.fallback()).run(paris)
        assert.deepStrictEqual(yield* Effect.exit(Effect.provide(dying, remembering)), Exit.die("bug"))
      }))

    it.effect("stores no stale answer, but does store a fresh one of a mirror", () =>
      Effect.gen(function*() {
        const entries = new Map<string, unknown>()
        const remembering = store({ set: (key, { value }) => Effect.sync(() => entries.set(key, value)) })
        const yesterday = ToolCall.source({ name: "table", age: "1 day" })
        const stale = doing(fail).pipe(Tool.fallback(() => Effect.as(yesterday, "rain")), LastKnown.fallback())
        assert.strictEqual(yield* Effect.provide(stale.run(paris), remembering), "rain")
        const inside = doing(fail, "none", "inside").pipe(Tool.fallback(() => Effect.as(yesterday, "rain")))
        const outside = doing(inside.run(paris), "none", "outside").pipe(LastKnown.fallback())
        assert.strictEqual(yield* Effect.provide(outside.run(paris), remembering), "rain")
        assert.deepStrictEqual(Array.from(entries), [])
        const mirrored = doing(fail).pipe(Tool.fallback(() => sunny, { name: "mirror" }), LastKnown.fallback())
        assert.strictEqual(yield* Effect.provide(mirrored.run(paris), remembering), "sunny")
        assert.deepStrictEqual(Array.from(entries), [["get_weather {\"city\":\"Paris\"}", "sunny"]])
      }))

    it.effect("answers after all attempts have failed", () =>
      Effect.gen(function*() {
        const { tool, watch } = new Sequence()
        const { run } = tool([sunny, fail]).pipe(Tool.retry(Schedule.recurs(2)), LastKnown.fallback())
        const store = yield* LastKnown.LastKnown
        const answering = Effect.provideService(run(paris), LastKnown.LastKnown, store)
        yield* answering
        const events = yield* watch(answering)
        assert.deepStrictEqual(events.slice(-3).map((event) => event.replace(/^\d+ /, "")), [
          "attempt 4",
          "fallback handles connection",
          "=> sunny"
        ])
      }).pipe(Effect.provide(memory)))

    it.effect("stores values in their JSON form, and returns them unchanged", () =>
      Effect.gen(function*() {
        let kept: LastKnown.Entry | undefined
        const one = store({
          get: () => Effect.sync(() => Option.fromUndefinedOr(kept)),
          set: (_, entry) =>
            Effect.sync(() => {
              kept = entry
            })
        })
        const value = { at: new Date(0), size: 2n, tags: new Set(["a"]) }
        const Success = Schema.Struct({ at: Schema.Date, size: Schema.BigInt, tags: Schema.ReadonlySet(Schema.String) })
        let isUp = true
        const { run } = Tool.make(
          "t",
          { description: "", success: Success, sideEffect: "none" },
          () => isUp ? Effect.succeed(value) : fail
        ).pipe(LastKnown.fallback())
        yield* Effect.provide(run({}), one)
        isUp = false
        assert.deepStrictEqual(kept, {
          at: 0,
          value: { at: "1970-01-01T00:00:00.000Z", size: "2", tags: ["a"] }
        })
        assert.deepStrictEqual(yield* Effect.provide(run({}), one), value)
      }))

    it.effect("ignores a stored value that no longer fits the tool", () =>
      Effect.gen(function*() {
        const make = <A>(success: Schema.Codec<A, unknown>, end: Effect.Effect<A, ToolUnavailable>) =>
          Tool.make("t", { description: "", success, sideEffect: "none" }, () => end).pipe(LastKnown.fallback())
        yield* make(Schema.String, sunny).run({})
        const { exit, logged } = yield* logging(make(Schema.Finite, fail).run({}))
        assert.deepStrictEqual((yield* Effect.flip(exit)).tried, ["t (connection)", "cache (no value)"])
        assert.deepStrictEqual(logged, [])
      }).pipe(Effect.provide(memory)))

    it.effect("leaves a value that cannot be encoded to dispatch", () =>
      Effect.gen(function*() {
        const wrong: Effect.Effect<string> = Effect.succeed(JSON.parse("[]"))
        const tool = doing(wrong).pipe(LastKnown.fallback())
        const { exit, logged } = yield* logging(Dispatch.call(Toolkit.make(tool), answer(tool, paris)))
        const outcome = yield* exit
        assert.strictEqual(outcome._tag === "Failed" && outcome.failure.code, "invalid_result")
        // Only dispatch logs it.
        assert.deepStrictEqual(logged, [
          "Warn: The result of 'get_weather' does not match its schema:\n  as a whole: expected string, got an array of 0"
        ])
      }).pipe(Effect.provide(memory)))

    it.effect("keeps the earlier value if a later answer cannot be encoded", () =>
      Effect.gen(function*() {
        const answers: Array<unknown> = [1, "no number"]
        const tool = Tool.make("t", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
          Effect.suspend(() => {
            const [next] = answers.splice(0, 1)
            return next === undefined ? fail : Effect.succeed(next as never)
          })).pipe(LastKnown.fallback())
        yield* tool.run({})
        yield* tool.run({})
        assert.strictEqual(yield* tool.run({}), 1)
      }).pipe(Effect.provide(memory)))

    it.effect("continues if the arguments have no key", () =>
      Effect.gen(function*() {
        const endless: { self?: unknown } = {}
        endless.self = endless
        const of = (end: Effect.Effect<string, ToolUnavailable>) =>
          Tool.make(
            "t",
            {
              description: "",
              parameters: Schema.Struct({ self: Schema.Unknown }),
              success: Schema.String,
              sideEffect: "none"
            },
            () => end
          ).pipe(LastKnown.fallback()).run({ self: endless })
        const { exit, logged } = yield* logging(of(sunny))
        assert.deepStrictEqual(exit, Exit.succeed("sunny"))
        assert.deepStrictEqual(logged, [])
        assert.strictEqual((yield* Effect.flip(of(fail))).code, "connection")
      }).pipe(Effect.provide(memory)))

    it("throws for a tool that acts, because an earlier result says nothing about this call", () => {
      for (const sideEffect of ["idempotent", "non_idempotent"] as const) {
        assert.throws(() => doing(sunny, sideEffect).pipe(LastKnown.fallback()), TypeError, "get_weather")
      }
    })
  })

  describe("a store", () => {
    it.effect("that is not provided logs a warning that names the layer", () =>
      Effect.gen(function*() {
        const run = doing(sunny).pipe(LastKnown.fallback()).run(paris) as Effect.Effect<string>
        const { exit, logged } = yield* logging(run)
        assert.deepStrictEqual(exit, Exit.succeed("sunny"))
        assert.deepStrictEqual(logged, [
          "Warn: The last known value of get_weather could not be stored. " +
          "Provide LastKnown.layerMemory(), or a store of your own."
        ])
      }))

    it.effect("that fails or dies logs a warning, and changes neither answers nor failures", () =>
      Effect.gen(function*() {
        for (const end of [Effect.fail("No space."), Effect.die("No space."), Effect.interrupt]) {
          const broken = store({ get: () => end, set: () => end })
          const kept = yield* logging(Effect.provide(doing(sunny).pipe(LastKnown.fallback()).run(paris), broken))
          assert.deepStrictEqual(kept.exit, Exit.succeed("sunny"))
          assert.match(String(kept.logged), /^Warn: The last known value of get_weather could not be stored\./)
          const found = yield* logging(Effect.provide(doing(fail).pipe(LastKnown.fallback()).run(paris), broken))
          assert.deepStrictEqual((yield* Effect.flip(found.exit)).tried, [
            "get_weather (connection)",
            "cache (no value)"
          ])
          assert.match(String(found.logged), /^Warn: The last known value of get_weather could not be read\./)
        }
      }))

    it.effect("that hangs uninterruptibly delays the answer by exactly 1 s", () =>
      Effect.gen(function*() {
        for (const hanging of [Effect.never, Effect.uninterruptible(Effect.never)]) {
          const hangs = store({ get: () => hanging, set: () => hanging })
          const kept = yield* Effect.forkChild(
            logging(Effect.provide(doing(sunny).pipe(LastKnown.fallback()).run(paris), hangs))
          )
          const [before, after] = yield* around(Fiber.join(kept), 1_000)
          assert.isUndefined(before)
          assert.deepStrictEqual(
            after,
            Exit.succeed({
              exit: Exit.succeed("sunny"),
              logged: ["Warn: The last known value of get_weather could not be stored in time."]
            })
          )
          const lookup = Effect.provide(doing(fail).pipe(LastKnown.fallback()).run(paris), hangs)
          const [none, failed] = yield* around(Effect.flip(lookup), 1_000)
          assert.isUndefined(none)
          assert.deepStrictEqual((yield* failed ?? assert.fail("no end")).tried, [
            "get_weather (connection)",
            "cache (no value)"
          ])
        }
      }))

    it.effect("that hangs loses no answer that comes just before the deadline", () =>
      Effect.gen(function*() {
        const hangs = store({ get: () => Effect.never, set: () => Effect.never })
        const tool = doing(Effect.delay(sunny, 4_800)).pipe(LastKnown.fallback(), Tool.timeout("5 seconds"))
        const [before, after] = yield* around(Effect.provide(tool.run(paris), hangs), 4_900)
        assert.isUndefined(before)
        assert.deepStrictEqual(after, Exit.succeed("sunny"))
        const late = Deadline.within(doing(sunny).pipe(LastKnown.fallback()).run(paris), 50)
        assert.strictEqual(yield* Effect.provide(late, hangs), "sunny")
      }))

    it.effect("that takes no time is asked even if no time is left", () =>
      Effect.gen(function*() {
        const { logged } = yield* logging(Deadline.within(doing(sunny).pipe(LastKnown.fallback()).run(paris), 0))
        assert.deepStrictEqual(logged, [])
        assert.strictEqual(yield* Deadline.within(doing(fail).pipe(LastKnown.fallback()).run(paris), 0), "sunny")
      }).pipe(Effect.provide(memory)))

    it.effect("lets its caller be interrupted", () =>
      Effect.gen(function*() {
        const hangs = store({ set: () => Effect.never })
        const { exit, logged } = yield* logging(Effect.gen(function*() {
          const run = Effect.provide(doing(sunny).pipe(LastKnown.fallback()).run(paris), hangs)
          const fiber = yield* Effect.forkChild(run, { startImmediately: true })
          yield* Fiber.interrupt(fiber)
          return Exit.hasInterrupts(yield* Fiber.await(fiber))
        }))
        assert.deepStrictEqual([exit, logged], [Exit.succeed(true), []])
      }))
  })

  describe("layerMemory", () => {
    it.effect("evicts the least recently used value, where storing counts as use", () =>
      Effect.gen(function*() {
        const { get, set } = yield* LastKnown.LastKnown
        const entry = (value: number) => ({ value, at: 0 })
        const known = Effect.fnUntraced(function*(...keys: ReadonlyArray<string>) {
          const found = yield* Effect.forEach(keys, (key) => Effect.map(get(key), Option.isSome))
          return keys.filter((_, index) => found[index])
        })
        yield* set("a", entry(1))
        yield* set("b", entry(2))
        yield* set("a", entry(3))
        yield* set("c", entry(4))
        assert.deepStrictEqual(yield* known("b", "c", "a"), ["c", "a"])
        yield* get("c")
        yield* set("d", entry(5))
        assert.deepStrictEqual(yield* known("a", "c", "d"), ["c", "d"])
        assert.deepStrictEqual(yield* get("c"), Option.some(entry(4)))
      }).pipe(Effect.provide(LastKnown.layerMemory({ capacity: 2 }))))
  })

  describe("layerPersisted", () => {
    const files = (directory: string) =>
      LastKnown.layerPersisted({ storeId: "last known" }).pipe(
        Layer.provide(Persistence.layerKvs),
        Layer.provide(KeyValueStore.layerFileSystem(directory))
      )

    it.effect("survives a restart, in files", () =>
      Effect.gen(function*() {
        const directory = yield* FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped())
        const station = new Station()
        const { run } = station.tool().pipe(LastKnown.fallback())
        const far = { city: "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch".repeat(10) }
        yield* Effect.provide(Effect.andThen(run(paris), run(far)), files(directory), { local: true })
        yield* station.down
        yield* TestClock.adjust("3 hours")
        const { exit, logged } = yield* logging(
          Effect.provide(Effect.all([run(paris), run(far)]), files(directory), { local: true })
        )
        assert.deepStrictEqual(exit, Exit.succeed(["Paris at 0", `${far.city} at 0`]))
        assert.deepStrictEqual(logged, [])
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

    it.effect("keeps values as long as configured", () =>
      Effect.gen(function*() {
        const station = new Station()
        const { run } = station.tool().pipe(LastKnown.fallback())
        yield* run(paris)
        yield* station.down
        yield* TestClock.adjust(59_999)
        assert.strictEqual(yield* run(paris), "Paris at 0")
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* Effect.flip(run(paris))).code, "connection")
      }).pipe(
        Effect.provide(LastKnown.layerPersisted({ storeId: "last known", timeToLive: "1 minute" })),
        Effect.provide(Persistence.layerMemory)
      ))

    it.effect("never returns the value of another key with the same hash", () =>
      Effect.gen(function*() {
        const { get, set } = yield* LastKnown.LastKnown
        // Two strings with the same hash.
        const [one, other] = ["#\"", "@!"] as const
        assert.strictEqual(Hash.string(one), Hash.string(other))
        yield* set(one, { value: 1, at: 0 })
        assert.deepInclude(Option.getOrThrow(yield* get(one)), { value: 1, at: 0 })
        assert.deepStrictEqual(yield* get(other), Option.none())
      }).pipe(
        Effect.provide(LastKnown.layerPersisted({ storeId: "last known" })),
        Effect.provide(Persistence.layerMemory)
      ))

    it.effect("treats an unreadable value as missing, with a warning", () =>
      Effect.gen(function*() {
        const station = new Station()
        const { run } = station.tool().pipe(LastKnown.fallback())
        yield* run(paris)
        yield* KeyValueStore.KeyValueStore.use((kvs) =>
          Effect.flatMap(kvs.keys, Effect.forEach((key) => kvs.set(key, "{")))
        )
        yield* station.down
        const { exit, logged } = yield* logging(run(paris))
        assert.deepStrictEqual((yield* Effect.flip(exit)).tried, ["get_weather (connection)", "cache (no value)"])
        assert.strictEqual(logged.length, 1)
      }).pipe(
        Effect.provide(
          LastKnown.layerPersisted({ storeId: "last known" }).pipe(
            Layer.provide(Persistence.layerKvs),
            Layer.provideMerge(KeyValueStore.layerMemory)
          )
        )
      ))
  })

  describe("policy", () => {
    it("describes itself", () => {
      assert.strictEqual(LastKnown.policy().kind, "fallback")
      assert.strictEqual(LastKnown.policy().description, "fallback to cache")
      assert.strictEqual(
        LastKnown.policy({ maxAge: "1 day", name: "files" }).description,
        "fallback to files, up to 1d old"
      )
    })

    it("adds one second to the worst case of a tool", () => {
      const tool = doing(sunny).pipe(Tool.timeout("5 seconds"), LastKnown.fallback())
      assert.deepStrictEqual(Tool.explain(tool).time, { max: Duration.seconds(6), because: [] })
    })

    it.effect("as a default serves the tools of a toolkit that have no fallback", () =>
      Effect.gen(function*() {
        const station = new Station()
        const toolkit = Toolkit.make(
          station.tool("a"),
          station.tool("b").pipe(Tool.fallback(() => Effect.succeed("rain")))
        ).pipe(Toolkit.withDefaults([LastKnown.policy()]))
        const value = Effect.fnUntraced(function*(name: string) {
          const outcome = yield* Dispatch.call(toolkit, answer({ name }, paris))
          return outcome._tag === "Completed" && outcome.value
        })
        assert.deepStrictEqual(yield* Effect.forEach(["a", "b"], value), ["Paris at 0", "Paris at 0"])
        yield* station.down
        assert.deepStrictEqual(yield* Effect.forEach(["a", "b"], value), ["Paris at 0", "rain"])
      }).pipe(Effect.provide(memory)))
  })
})
