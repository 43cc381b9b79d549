import { assert, describe, it } from "@effect/vitest"
import {
  CallEvent,
  PartialData,
  SchemaMismatch,
  SemanticGarbage,
  type SideEffect,
  Tool,
  ToolCall,
  ToolUnavailable
} from "@fallible/core"
import { Cause, Clock, Context, type Duration, Effect, Exit, Fiber, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import {
  after,
  around,
  disabled,
  doing,
  type Failure,
  notExecuted,
  parameters,
  paris,
  refused,
  Sequence,
  sunny,
  unknownCity
} from "../support/sequence.ts"

const noTotal = new SchemaMismatch({ side: "result", code: "invalid_result", detail: "No total." })
const twiceAfterOneSecond = Schedule.upTo(Schedule.spaced("1 second"), { times: 2 })

describe("Tool", () => {
  describe("make", () => {
    it("takes no parameters and assumes side effects where nothing else is said", () => {
      const ping = Tool.make("ping", { description: "Answers", success: Schema.String }, () => sunny)
      assert.strictEqual(ping.sideEffect, "non_idempotent")
      assert.deepStrictEqual(ping.policies, [])
      assert.isTrue(Schema.is(ping.parameters)({}))
    })

    it("throws at a name that model providers do not take", () => {
      const make = (name: string) => Tool.make(name, { description: "", success: Schema.String }, () => sunny)
      for (const name of ["", "get weather", "wetter.jetzt", "größe", "a\n", "x".repeat(65)]) {
        assert.throws(() => make(name), TypeError, JSON.stringify(name))
      }
      for (const name of ["a", "get_weather-2", "x".repeat(64)]) assert.strictEqual(make(name).name, name)
    })
  })

  describe("run", () => {
    it.effect("gives the handler the parameters, and its value back", () =>
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

    it.effect("leaves a defect a defect, thrown or died of", () =>
      Effect.gen(function*() {
        const bug = new Error("bug")
        const throws = Tool.make("throws", { description: "", success: Schema.String }, () => {
          throw bug
        })
        assert.deepStrictEqual(yield* Effect.exit(throws.run({})), Exit.die(bug))
        assert.deepStrictEqual(yield* Effect.exit(doing(Effect.die(bug)).run(paris)), Exit.die(bug))
      }))

    it.effect("needs what the handler needs", () =>
      Effect.gen(function*() {
        class Station extends Context.Service<Station, { readonly weather: string }>()("Station") {}
        const run: Effect.Effect<string, never, Station> = doing(Station.use(({ weather }) => Effect.succeed(weather)))
          .run(paris)
        assert.strictEqual(yield* Effect.provideService(run, Station, { weather: "rain" }), "rain")
      }))

    it.effect("starts the call's attempt before the handler", () =>
      Effect.gen(function*() {
        const events: Array<string> = []
        yield* doing(Effect.sync(() => {
          events.push("handler")
          return ""
        })).run(paris).pipe(Effect.provideService(CallEvent.watcher, ({ _tag }) => events.push(_tag)))
        assert.deepStrictEqual(events, ["AttemptStarted", "handler", "AttemptEnded"])
      }))
  })

  describe("retry", () => {
    it.effect("tries a transient failure again on the schedule", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const flaky = tool([Effect.fail(refused), Effect.fail(refused), sunny])
        assert.deepStrictEqual(yield* play(Tool.retry(flaky, twiceAfterOneSecond)), [
          "0 attempt 1",
          "retry handles connection",
          "waits 1000",
          "1000 attempt 2",
          "retry handles connection",
          "waits 1000",
          "2000 attempt 3",
          "2000 => sunny"
        ])
      }))

    it.effect("passes the last failure on when the schedule is done", () =>
      Effect.gen(function*() {
        let attempts = 0
        const failing = doing(
          Effect.suspend(() => Effect.fail(new ToolUnavailable({ ...refused, detail: `Refused ${++attempts}.` })))
        ).pipe(Tool.retry(Schedule.recurs(2)))
        assert.strictEqual((yield* Effect.flip(failing.run(paris))).detail, "Refused 3.")
      }))

    it.effect("tries nothing but a transient ToolUnavailable again", () =>
      Effect.gen(function*() {
        for (const failure of [disabled, unknownCity, noTotal]) {
          const { play, tool } = new Sequence()
          const events = yield* play(tool([Effect.fail(failure)]).pipe(Tool.retry(Schedule.recurs(2))))
          assert.deepStrictEqual(events.length, 2)
          assert.match(events[1] ?? "", new RegExp(`=> ${failure.code}$`))
        }
      }))

    it.effect("stops at the first failure of another kind", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const flaky = tool<Failure>([Effect.fail(refused), Effect.fail(unknownCity), sunny])
        assert.deepStrictEqual(yield* play(flaky.pipe(Tool.retry(Schedule.recurs(2)))), [
          "0 attempt 1",
          "retry handles connection",
          "waits 0",
          "0 attempt 2",
          "0 => unknown_city"
        ])
      }))

    it.effect("repeats a tool that acts only when it certainly did not", () =>
      Effect.gen(function*() {
        const attempts = Effect.fnUntraced(function*(sideEffect: SideEffect.SideEffect, failure: ToolUnavailable) {
          const { play, tool } = new Sequence()
          const events = yield* play(
            tool([Effect.fail(failure), sunny], sideEffect).pipe(Tool.retry(Schedule.recurs(1)))
          )
          return events.filter((event) => event.includes("attempt")).length
        })
        const unknown = new ToolUnavailable({ ...refused, outcome: "unknown" })
        const table = yield* Effect.forEach(
          ["none", "idempotent", "non_idempotent"] as const,
          (sideEffect) => Effect.forEach([refused, notExecuted, unknown], (failure) => attempts(sideEffect, failure))
        )
        assert.deepStrictEqual(table, [[2, 2, 2], [2, 2, 2], [1, 2, 1]])
      }))

    it.effect("starts the schedule anew on every run", () =>
      Effect.gen(function*() {
        let attempts = 0
        const failing = doing(Effect.suspend(() => {
          attempts++
          return Effect.fail(refused)
        })).pipe(Tool.retry(Schedule.recurs(2)))
        yield* Effect.flip(failing.run(paris))
        yield* Effect.flip(failing.run(paris))
        assert.strictEqual(attempts, 6)
      }))

    it.effect("lets the schedule look at the failure", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const onlyRefused = Schedule.recurs(5).pipe(
          Schedule.setInputType<ToolUnavailable>(),
          Schedule.while(({ input }) => input.code === "connection")
        )
        const limited = new ToolUnavailable({ code: "rate_limited", detail: "Slow down.", transient: true })
        const flaky = tool([Effect.fail(refused), Effect.fail(limited), sunny])
        assert.deepStrictEqual(yield* play(flaky.pipe(Tool.retry(onlyRefused))), [
          "0 attempt 1",
          "retry handles connection",
          "waits 0",
          "0 attempt 2",
          "0 => rate_limited"
        ])
      }))

    it.effect("does not know of a tool that acts that it did nothing, when an earlier attempt does not say so", () =>
      Effect.gen(function*() {
        const { tool } = new Sequence()
        const both = tool([Effect.fail(refused), Effect.fail(notExecuted)], "idempotent")
        const failure = yield* Effect.flip(both.pipe(Tool.retry(Schedule.recurs(1))).run(paris))
        assert.strictEqual(failure.outcome, "unknown")
      }))

    it.effect("leaves defects and interruption alone", () =>
      Effect.gen(function*() {
        for (const end of [Effect.die("bug"), Effect.interrupt]) {
          let attempts = 0
          const tool = doing(Effect.suspend(() => {
            attempts++
            return end
          })).pipe(Tool.retry(Schedule.recurs(2)))
          assert.isTrue(Exit.isFailure(yield* Effect.exit(tool.run(paris))))
          assert.strictEqual(attempts, 1)
        }
      }))

    it.effect("tells each attempt its schedule's metadata, as Effect.retry does", () =>
      Effect.gen(function*() {
        const attemptsUnder = (
          retry: (self: Effect.Effect<string, ToolUnavailable>) => Effect.Effect<string, Failure>
        ) => {
          const seen: Array<number> = []
          const failing = Effect.flatMap(Schedule.CurrentMetadata, ({ attempt }) => {
            seen.push(attempt)
            return Effect.fail(refused)
          })
          return Effect.as(Effect.exit(retry(failing)), seen)
        }
        assert.deepStrictEqual(
          yield* attemptsUnder((failing) => doing(failing).pipe(Tool.retry(Schedule.recurs(2))).run(paris)),
          yield* attemptsUnder(Effect.retry(Schedule.recurs(2)))
        )
      }))
  })

  describe("timeout", () => {
    it.effect("waits 4999 ms of 5000 and then fails", () =>
      Effect.gen(function*() {
        const hangs = doing(Effect.never).pipe(Tool.timeout("5 seconds"))
        const [before, after] = yield* around(Effect.flip(hangs.run(paris)), 5_000)
        assert.isUndefined(before)
        assert.deepStrictEqual({ ...(yield* after ?? assert.fail("no end")) }, {
          _tag: "ToolUnavailable",
          code: "timeout",
          detail: "get_weather did not answer within 5s.",
          transient: true
        })
      }))

    it.effect("passes on what comes in time: a value, a failure, a defect", () =>
      Effect.gen(function*() {
        const end = Effect.fnUntraced(function*(handler: Effect.Effect<string, Failure>) {
          const tool = doing(after(4_999, handler)).pipe(Tool.timeout("5 seconds"))
          const [, exit] = yield* around(tool.run(paris), 4_999)
          return exit
        })
        assert.deepStrictEqual(yield* end(sunny), Exit.succeed("sunny"))
        assert.deepStrictEqual(yield* end(Effect.fail(unknownCity)), Exit.fail(unknownCity))
        assert.deepStrictEqual(yield* end(Effect.die("bug")), Exit.die("bug"))
      }))

    it.effect("ends the wait for a handler that ignores its interruption", () =>
      Effect.gen(function*() {
        const hangs = doing(Effect.uninterruptible(Effect.never)).pipe(Tool.timeout("5 seconds"))
        const [before, after] = yield* around(Effect.flip(hangs.run(paris)), 5_000)
        assert.isUndefined(before)
        assert.strictEqual((yield* after ?? assert.fail("no end")).code, "timeout")
      }))

    it.effect("interrupts the handler without waiting for its finalizers", () =>
      Effect.gen(function*() {
        const { note, play, tool } = new Sequence()
        const slow = Effect.never.pipe(
          Effect.onInterrupt(() => Effect.andThen(Effect.sleep("10 seconds"), note("released")))
        )
        assert.deepStrictEqual(yield* play(tool([slow]).pipe(Tool.timeout("5 seconds"))), [
          "0 attempt 1",
          "5000 => timeout",
          "15000 released",
          "15000 interrupted"
        ])
      }))

    it.effect("of a tool that may have acted says so, and what to do", () =>
      Effect.gen(function*() {
        const end = Effect.fnUntraced(function*(sideEffect: SideEffect.SideEffect) {
          const hangs = doing(Effect.never, sideEffect).pipe(Tool.timeout("1 second"))
          const [, exit] = yield* around(Effect.flip(hangs.run(paris)), 1_000)
          const { code, hint, outcome, transient } = yield* exit ?? assert.fail("no end")
          return { code, hint, outcome, transient }
        })
        assert.deepStrictEqual(yield* end("none"), {
          code: "timeout",
          hint: undefined,
          outcome: undefined,
          transient: true
        })
        assert.deepStrictEqual(yield* end("idempotent"), {
          code: "timeout",
          hint: undefined,
          outcome: "unknown",
          transient: true
        })
        assert.deepStrictEqual(yield* end("non_idempotent"), {
          code: "outcome_unknown",
          hint: undefined,
          outcome: "unknown",
          transient: false
        })
      }))

    it.effect("leaves no timer behind, however the handler ends", () =>
      Effect.gen(function*() {
        const clock = yield* Clock.Clock
        let sleeping = 0
        const counting: Clock.Clock = Object.assign(Object.create(clock), {
          sleep: (duration: Duration.Duration) =>
            Effect.suspend(() => {
              sleeping++
              return Effect.onExit(clock.sleep(duration), () => Effect.sync(() => sleeping--))
            })
        })
        for (const end of [Effect.yieldNow, Effect.andThen(Effect.yieldNow, Effect.fail(refused)), Effect.never]) {
          const run = Effect.provideService(
            doing(Effect.as(end, "sunny")).pipe(Tool.timeout("1 hour")).run(paris),
            Clock.Clock,
            counting
          )
          const fiber = yield* Effect.forkChild(run, { startImmediately: true })
          assert.strictEqual(sleeping, 1)
          for (let turn = 0; turn < 10; turn++) yield* Effect.yieldNow
          yield* Fiber.interrupt(fiber)
          assert.strictEqual(sleeping, 0)
        }
      }))

    it.effect("waits for the handler's finalizers when the run itself is interrupted", () =>
      Effect.gen(function*() {
        const { events, note } = new Sequence()
        const slow = Effect.never.pipe(
          Effect.onInterrupt(() => Effect.andThen(Effect.sleep("2 seconds"), note("released")))
        )
        const tool = doing(slow).pipe(Tool.timeout("1 hour"))
        const fiber = yield* Effect.forkChild(tool.run(paris), { startImmediately: true })
        yield* Effect.forkChild(Effect.andThen(Fiber.interrupt(fiber), note("run ended")))
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(events, ["2000 released", "2000 run ended"])
      }))

    it.effect("waits no longer than 5 s for them", () =>
      Effect.gen(function*() {
        const tool = doing(Effect.uninterruptible(Effect.never)).pipe(Tool.timeout("1 hour"))
        const fiber = yield* Effect.forkChild(tool.run(paris), { startImmediately: true })
        const [before, after] = yield* around(Fiber.interrupt(fiber), 5_000)
        assert.isUndefined(before)
        assert.isDefined(after)
        assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
      }))

    it.effect("takes no time where the handler takes none", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* doing(sunny).pipe(Tool.timeout("5 seconds")).run(paris), "sunny")
        const needing = doing(ToolCall.current.pipe(Effect.map(({ idempotencyKey }) => idempotencyKey)))
        assert.match(yield* needing.pipe(Tool.timeout("5 seconds")).run(paris), /^call-/)
      }))
  })

  describe("fallback", () => {
    it.effect("answers for a tool that is unavailable, knowing the parameters and the failure", () =>
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

    it.effect("fails with what its source fails with", () =>
      Effect.gen(function*() {
        const run: Effect.Effect<string, SemanticGarbage> = doing(Effect.fail(refused)).pipe(
          Tool.fallback(() => Effect.fail(unknownCity))
        ).run(paris)
        assert.strictEqual(yield* Effect.flip(run), unknownCity)
      }))

    it.effect("hands on from source to source", () =>
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
    it.effect("turns the failures of one tag into an answer, with the parameters at hand", () =>
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

    it.effect("handles several tags at once, and lets the others through", () =>
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

    it.effect("leaves defects alone", () =>
      Effect.gen(function*() {
        const tool = doing<SemanticGarbage>(Effect.die("bug")).pipe(
          Tool.catchTag("SemanticGarbage", () => Effect.succeed("none"))
        )
        assert.deepStrictEqual(yield* Effect.exit(tool.run(paris)), Exit.die("bug"))
      }))
  })

  describe("mapFailure", () => {
    it.effect("turns each failure into another one, and leaves values and defects alone", () =>
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

    it.effect("leave the tool that they are added to as it was", () =>
      Effect.gen(function*() {
        const safe = bare.pipe(Tool.fallback(() => sunny))
        assert.deepStrictEqual(kinds(bare), [])
        assert.strictEqual(yield* Effect.flip(bare.run(paris)), refused)
        assert.strictEqual(yield* safe.run(paris), "sunny")
        const { name, parameters, sideEffect, success } = safe
        assert.deepInclude({ ...bare }, { name, parameters, sideEffect, success })
      }))
  })

  describe("order", () => {
    it.effect("timeout inside retry limits each attempt", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const slowAtFirst = tool([Effect.never, after(4_999, Effect.fail(refused)), after(4_999, sunny)])
        assert.deepStrictEqual(
          yield* play(slowAtFirst.pipe(Tool.timeout("5 seconds"), Tool.retry(twiceAfterOneSecond))),
          [
            "0 attempt 1",
            "5000 interrupted",
            "retry handles timeout",
            "waits 1000",
            "6000 attempt 2",
            "retry handles connection",
            "waits 1000",
            "11999 attempt 3",
            "16998 => sunny"
          ]
        )
      }))

    it.effect("timeout outside retry limits all attempts and waits together", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const failing = tool([after(2_000, Effect.fail(refused))])
        assert.deepStrictEqual(yield* play(failing.pipe(Tool.retry(twiceAfterOneSecond), Tool.timeout("5 seconds"))), [
          "0 attempt 1",
          "retry handles connection",
          "waits 1000",
          "3000 attempt 2",
          "5000 interrupted",
          "5000 => timeout"
        ])
      }))

    it.effect("timeouts on both sides of retry limit each attempt and all of them", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const hanging = tool([Effect.never]).pipe(
          Tool.timeout("2 seconds"),
          Tool.retry(Schedule.spaced("1 second")),
          Tool.timeout("7 seconds")
        )
        assert.deepStrictEqual((yield* play(hanging)).filter((event) => /attempt|=>/.test(event)), [
          "0 attempt 1",
          "3000 attempt 2",
          "6000 attempt 3",
          "7000 => timeout"
        ])
      }))

    it.effect("a timed-out tool that acts is not tried again inside of retry", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const pays = tool([Effect.never], "non_idempotent")
        assert.deepStrictEqual(yield* play(pays.pipe(Tool.timeout("5 seconds"), Tool.retry(twiceAfterOneSecond))), [
          "0 attempt 1",
          "5000 interrupted",
          "5000 => outcome_unknown"
        ])
      }))

    it.effect("A12 fallback outside of retry answers once all attempts have failed", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const failing = tool([Effect.fail(refused)]).pipe(
          Tool.retry(twiceAfterOneSecond),
          Tool.fallback(() => Effect.succeed("cached"))
        )
        assert.deepStrictEqual(yield* play(failing), [
          "0 attempt 1",
          "retry handles connection",
          "waits 1000",
          "1000 attempt 2",
          "retry handles connection",
          "waits 1000",
          "2000 attempt 3",
          "fallback handles connection",
          "2000 => cached"
        ])
      }))

    it.effect("fallback inside of retry leaves nothing to try again", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const failing = tool([Effect.fail(refused)]).pipe(
          Tool.fallback(() => Effect.succeed("cached")),
          Tool.retry(twiceAfterOneSecond)
        )
        assert.deepStrictEqual(yield* play(failing), ["0 attempt 1", "fallback handles connection", "0 => cached"])
      }))

    it.effect("retry outside of a fallback that fails tries both again", () =>
      Effect.gen(function*() {
        const { note, play, tool } = new Sequence()
        const failing = tool([Effect.fail(refused), sunny]).pipe(
          Tool.fallback(() => Effect.andThen(note("mirror"), Effect.fail(refused))),
          Tool.retry(twiceAfterOneSecond)
        )
        assert.deepStrictEqual(yield* play(failing), [
          "0 attempt 1",
          "fallback handles connection",
          "0 mirror",
          "retry handles connection",
          "waits 1000",
          "1000 attempt 2",
          "1000 => sunny"
        ])
      }))

    it.effect("mapFailure keeps the cause, unless there is another", () =>
      Effect.gen(function*() {
        const cause = new Error("socket hang up")
        const other = new Error("other")
        const tool = doing(Effect.fail(new ToolUnavailable({ ...refused, cause })))
        const mapped = (cause?: Error) =>
          Effect.flip(tool.pipe(Tool.mapFailure((failure) => new SemanticGarbage({ ...failure, cause }))).run(paris))
        assert.strictEqual((yield* mapped()).cause, cause)
        assert.strictEqual((yield* mapped(other)).cause, other)
      }))

    it.effect("mapFailure inside of retry decides what is transient", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const permanent = tool([Effect.fail(refused)]).pipe(
          Tool.mapFailure(() => disabled),
          Tool.retry(twiceAfterOneSecond)
        )
        assert.deepStrictEqual(yield* play(permanent), ["0 attempt 1", "0 => disabled"])
      }))

    it.effect("catchTag outermost sees what the others could not handle", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const flaky = tool<Failure>([Effect.never, Effect.fail(unknownCity)]).pipe(
          Tool.timeout("5 seconds"),
          Tool.retry(twiceAfterOneSecond),
          Tool.fallback(() => Effect.succeed("cached")),
          Tool.catchTag("SemanticGarbage", ({ detail }) => Effect.succeed(detail))
        )
        assert.deepStrictEqual(yield* play(flaky), [
          "0 attempt 1",
          "5000 interrupted",
          "retry handles timeout",
          "waits 1000",
          "6000 attempt 2",
          "catch handles unknown_city",
          "6000 => Unknown city."
        ])
      }))
  })
})
