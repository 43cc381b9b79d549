/** Policies come first: they see a rejection as without a fixer. With corrected arguments, all of them run again. */
import { assert, describe, it } from "@effect/vitest"
import {
  Fixer,
  PartialData,
  Policy,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  type ToolFailure,
  ToolUnavailable
} from "@fallible/core"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import * as RateLimit from "@fallible/core/RateLimit"
import { Effect, Fiber, Layer, Option, Schedule, Schema } from "effect"
import * as Breaker from "effect/persistence/CircuitBreaker"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { TestClock } from "effect/testing"
import {
  call,
  completed,
  failed,
  fixer,
  handled,
  parameters,
  toParis,
  uncapitalized,
  weather
} from "../support/fixing.ts"
import { refused } from "../support/sequence.ts"

const services = Layer.mergeAll(
  RateLimiter.layer.pipe(Layer.provide(RateLimiter.layerStoreMemory)),
  Breaker.layer({ tripPolicy: Breaker.consecutive(1), openDuration: "30 seconds" }).pipe(
    Layer.provide(Breaker.layerStoreMemory())
  )
)

const wrong = { city: "paris" }

type Failure = ToolFailure.ToolFailure<string>

type Weather = Tool.Tool<
  string,
  typeof parameters.Type,
  string,
  Failure,
  Breaker.CircuitBreaker | RateLimiter.RateLimiter
>

type Change = (tool: Weather) => Weather

/** Returns a function that adds a custom policy to a tool. */
const custom = (name: string, wrap: Policy.Options["wrap"]) =>
  Tool.with(Policy.make({ kind: "custom", name, description: "", wrap }))

/** Makes a tool that rejects cities without a capital letter, and answers for Paris as given. */
const answering = (answer: Effect.Effect<string, Failure>) => {
  const asked: Array<string> = []
  const tool: Weather = Tool.make(
    "get_weather",
    { description: "The weather", parameters, success: Schema.String, sideEffect: "none" },
    ({ city }) =>
      Effect.suspend((): Effect.Effect<string, Failure> => {
        asked.push(city)
        return city === "Paris" ? answer : Effect.fail(uncapitalized(city))
      })
  )
  return { asked, tool }
}

const sunny = () => answering(Effect.succeed("sunny"))

const nothingDone = new ToolUnavailable({ ...refused, outcome: "not_executed" })

const played = (tool: Weather, args = wrong) => Effect.provide(call(tool, args), services)

describe("C3: with a correction", () => {
  const fix: Change = Tool.fix(toParis)
  const orders: ReadonlyArray<readonly [string, (tool: Weather, policy: Change) => Weather]> = [
    ["first", (tool, policy) => policy(fix(tool))],
    ["last", (tool, policy) => fix(policy(tool))]
  ]
  for (const [order, placed] of orders) {
    describe(`and is added ${order}`, () => {
      it.effect("a catch of the rejection comes first", () =>
        Effect.gen(function*() {
          const catching: Change = Tool.catchTag("SchemaMismatch", () => Effect.succeed("caught"))
          const { fix, told } = fixer(toParis)
          const counting: Change = Tool.fix(fix)
          const tool = order === "first" ? catching(counting(sunny().tool)) : counting(catching(sunny().tool))
          const outcome = completed(yield* played(tool))
          assert.deepStrictEqual([outcome.value, told.length], ["caught", 0])
          assert.deepStrictEqual(handled(outcome), ["catch uncapitalized"])
        }))

      it.effect("a catch that has no answer leaves the rejection to the fixer", () =>
        Effect.gen(function*() {
          const catching: Change = Tool.catchTag("SchemaMismatch", () => Effect.fail(nothingDone))
          assert.strictEqual(completed(yield* played(placed(sunny().tool, catching))).value, "sunny")
        }))

      it.effect("a mapping of the rejection does not hide it from the fixer", () =>
        Effect.gen(function*() {
          const mapped: Change = Tool.mapFailure(({ detail }: Failure): Failure =>
            new SemanticGarbage({ code: "mapped", detail })
          )
          const outcome = completed(yield* played(placed(sunny().tool, mapped)))
          assert.deepStrictEqual([outcome.value, handled(outcome)], ["sunny", ["fix mapped"]])
        }))

      it.effect("a mapping to a partial result has answered", () =>
        Effect.gen(function*() {
          const partial: Change = Tool.mapFailure(({ detail }: Failure): Failure =>
            new PartialData({ code: "guessed", detail, data: "cloudy" })
          )
          const { failure } = failed(yield* played(placed(sunny().tool, partial)))
          assert.deepInclude(failure, { _tag: "PartialData", data: "cloudy" })
        }))

      it.effect("a breaker lets the corrected call through, and stays closed", () =>
        Effect.gen(function*() {
          const fixed = placed(sunny().tool, CircuitBreaker.protect())
          for (const _ of [1, 2, 3]) assert.strictEqual(completed(yield* call(fixed, wrong)).value, "sunny")
        }).pipe(Effect.provide(services)))

      it.effect("a timeout restarts", () =>
        Effect.gen(function*() {
          const slow: Weather = Tool.make(
            "get_weather",
            { description: "", parameters, success: Schema.String, sideEffect: "none" },
            ({ city }) =>
              Effect.andThen(
                Effect.sleep("900 millis"),
                city === "Paris" ? Effect.succeed("sunny") : Effect.fail(uncapitalized(city))
              )
          )
          const fiber = yield* Effect.forkChild(played(placed(slow, Tool.timeout("1 second"))))
          yield* TestClock.adjust("1800 millis")
          assert.strictEqual(completed(yield* Fiber.join(fiber)).value, "sunny")
        }))

      it.effect("a custom policy sees the rejection as a failure, then the corrected arguments", () =>
        Effect.gen(function*() {
          const seen: Array<string> = []
          const again: Change = custom("again", (run) => (params) =>
            Effect.catch(run(params), (failure) => {
              seen.push(`${failure.code} ${JSON.stringify(params)}`)
              return run(params)
            }))
          const { asked, tool } = sunny()
          assert.strictEqual(completed(yield* played(placed(tool, again))).value, "sunny")
          assert.deepStrictEqual(seen, ["uncapitalized {\"city\":\"paris\"}"])
          assert.deepStrictEqual(asked, ["paris", "paris", "Paris"])
        }))
    })
  }

  it.effect("a fallback gets the corrected arguments, after all retries", () =>
    Effect.gen(function*() {
      const { asked, tool } = answering(Effect.fail(refused))
      const fixed = tool.pipe(
        Tool.fix(toParis),
        Tool.retry(Schedule.recurs(2)),
        Tool.fallback(({ city }) => Effect.succeed(`cached ${city}`))
      )
      assert.strictEqual(completed(yield* played(fixed)).value, "cached Paris")
      assert.deepStrictEqual(asked, ["paris", "Paris", "Paris", "Paris"])
    }))

  it.effect("each execution counts for a rate limit", () =>
    Effect.gen(function*() {
      const limited = sunny().tool.pipe(
        RateLimit.limit({ limit: 2, window: "1 minute", onExceeded: "refuse" }),
        Tool.fix(toParis)
      )
      assert.strictEqual(completed(yield* call(limited, wrong)).value, "sunny")
      assert.strictEqual(failed(yield* call(limited, wrong)).failure.code, "throttled")
    }).pipe(Effect.provide(services)))

  it.effect("a reconciling check gets the corrected arguments", () =>
    Effect.gen(function*() {
      const looked: Array<string> = []
      const acting = Tool.make("pay", { description: "", parameters, success: Schema.String }, ({ city }) =>
        city === "Paris"
          ? Effect.fail(new SchemaMismatch({ side: "result", code: "unreadable", detail: "x" }))
          : Effect.fail(uncapitalized(city))).pipe(
          Tool.reconcile(({ city }) => {
            looked.push(city)
            return Effect.succeed(Option.some("found"))
          }),
          Tool.fix(toParis)
        )
      assert.strictEqual(completed(yield* call(acting, wrong)).value, "found")
      assert.deepStrictEqual(looked, ["Paris"])
    }))

  it.effect("an answer of another run takes precedence over a rejection, as without a fixer", () =>
    Effect.gen(function*() {
      const { fix, told } = fixer(toParis)
      let runs = 0
      const tool = Tool.make(
        "get_weather",
        { description: "", parameters, success: Schema.String, sideEffect: "none" },
        ({ city }) =>
          ++runs === 1 ? Effect.delay(Effect.succeed("sunny"), "1 second") : Effect.fail(uncapitalized(city))
      ).pipe(
        custom(
          "first success",
          (run) => (params) => Effect.raceFirst(run(params), Effect.andThen(Effect.exit(run(params)), Effect.never))
        ),
        Tool.fix(fix)
      )
      const fiber = yield* Effect.forkChild(call(tool, wrong))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([completed(yield* Fiber.join(fiber)).value, told.length], ["sunny", 0])
    }))

  it.effect("an answer before a rejection stands if a policy returns it", () =>
    Effect.gen(function*() {
      let runs = 0
      const { fix: counting, told } = fixer(toParis)
      const tool: Weather = Tool.make(
        "get_weather",
        { description: "", parameters, success: Schema.String, sideEffect: "none" },
        ({ city }) => ++runs === 1 ? Effect.succeed("sunny") : Effect.fail(uncapitalized(city))
      )
      const first: Change = custom("first of two", (run) => (params) =>
        Effect.tap(run(params), () => Effect.exit(run(params))))
      const outcome = completed(yield* played(first(Tool.fix(tool, counting))))
      assert.deepStrictEqual([outcome.value, told.length], ["sunny", 0])
    }))

  it.effect("a rejection no longer counts once a policy has run something else", () =>
    Effect.gen(function*() {
      let runs = 0
      const { fix: counting, told } = fixer(toParis)
      const tool: Weather = Tool.make(
        "get_weather",
        { description: "", parameters, success: Schema.String, sideEffect: "none" },
        ({ city }) =>
          Effect.suspend((): Effect.Effect<string, Failure> =>
            Effect.fail(++runs === 1 ? uncapitalized(city) : refused)
          )
      )
      const going: Change = custom("goes on", (run) => (params) => Effect.catchCause(run(params), () => run(params)))
      assert.strictEqual(failed(yield* played(going(Tool.fix(tool, counting)))).failure.code, refused.code)
      assert.deepStrictEqual([runs, told.length], [2, 0])
    }))
})

describe("C3: without a correction", () => {
  const useless: Change = Tool.fix(() => "")

  it.effect("a catch sees the rejection, and the handler does not run for it", () =>
    Effect.gen(function*() {
      const { asked, tool } = weather()
      const fixed = tool.pipe(
        Tool.fix(() => ""),
        Tool.catchTag("SchemaMismatch", ({ detail }, { city }) => Effect.succeed(`${city}: ${detail}`))
      )
      const outcome = completed(yield* call(fixed, wrong))
      assert.strictEqual(outcome.value, "paris: 'paris' has no capital letter.")
      assert.deepStrictEqual([asked, outcome.attempts, handled(outcome)], [["paris"], 1, ["catch uncapitalized"]])
    }))

  it.effect("a mapping and a fallback see the rejection too", () =>
    Effect.gen(function*() {
      const fixed = weather().tool.pipe(
        Tool.fix(() => ""),
        Tool.mapFailure(() => refused),
        Tool.fallback((_, { code }) => Effect.succeed(code))
      )
      assert.strictEqual(completed(yield* call(fixed, wrong)).value, refused.code)
    }))

  it.effect("an escalation replaces the failure that the policies have made of the rejection", () =>
    Effect.gen(function*() {
      const fixed = weather().tool.pipe(
        Tool.fix(() => Fixer.escalate({ detail: "Which city?" })),
        Tool.mapFailure(() => refused)
      )
      assert.strictEqual(failed(yield* call(fixed, wrong)).failure.detail, "Which city?")
    }))

  it.effect("no limit and no breaker is asked again for the rejection", () =>
    Effect.gen(function*() {
      const other = Tool.make(
        "other",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => Effect.fail(refused)
      ).pipe(CircuitBreaker.protect({ key: "service" }))
      const tool = weather().tool.pipe(
        Tool.concurrency(1, { maxWait: 0 }),
        RateLimit.limit({ limit: 1, window: "1 hour", onExceeded: "refuse" }),
        CircuitBreaker.protect({ key: "service" }),
        // The circuit opens while the fixer works.
        Tool.fix(() => Effect.as(Effect.ignore(other.run({})), ""))
      )
      assert.strictEqual(failed(yield* call(tool, wrong)).failure.code, "uncapitalized")
      assert.strictEqual(failed(yield* call(tool, wrong)).failure.code, "circuit_open")
    }).pipe(Effect.provide(services)))

  it.effect("a policy can run the tool again, as without a fixer", () =>
    Effect.gen(function*() {
      const again: Change = custom("again", (run) => (params) => Effect.catch(run(params), () => run(params)))
      const cities = (change: Change) =>
        Effect.gen(function*() {
          const { asked, tool } = sunny()
          assert.strictEqual(failed(yield* played(again(change(tool)))).failure.code, "uncapitalized")
          return asked
        })
      assert.deepStrictEqual(yield* cities(useless), yield* cities((tool) => tool))
    }))

  it.effect("an answer that a policy finds with other arguments stands", () =>
    Effect.gen(function*() {
      const sent: Array<string> = []
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Schema.Struct({ to: Schema.String }), success: Schema.String },
        ({ to }) =>
          Effect.suspend((): Effect.Effect<string, Failure> => {
            if (!to.startsWith("DE")) return Effect.fail(uncapitalized(to))
            sent.push(to)
            return Effect.succeed("paid")
          })
      )
      const elsewhere = custom(
        "elsewhere",
        (run) => (params) => Effect.catchCause(run(params), () => run({ to: "DE2" }))
      )
      for (const answer of ["", "{\"to\":\"DE1\"}"]) {
        sent.length = 0
        yield* call(pay.pipe(elsewhere, Tool.fix(() => answer)), { to: "de1" })
        assert.deepStrictEqual(sent, ["DE2"])
      }
    }))

  it.effect("a policy inside a limit runs the tool again through that limit", () =>
    Effect.gen(function*() {
      const again = (tool: Weather): Weather =>
        tool.pipe(Tool.mapFailure((): Failure => nothingDone), Tool.retry(Schedule.recurs(2)))
      const gates: ReadonlyArray<Change> = [
        Tool.concurrency(1),
        RateLimit.limit({ limit: 9, window: "1 minute" }),
        CircuitBreaker.protect({ key: "rejecting" }),
        (tool) => tool.pipe(RateLimit.limit({ limit: 9, window: "1 minute" }), Tool.concurrency(1))
      ]
      for (const gate of gates) {
        const cities = (change: Change) =>
          Effect.gen(function*() {
            const { asked, tool } = sunny()
            assert.strictEqual(failed(yield* played(gate(change(again(tool))))).failure.code, refused.code)
            return asked
          })
        assert.deepStrictEqual(yield* cities(useless), yield* cities((tool) => tool))
      }
    }))

  it.effect("a rate limit counts one call, however often a retry inside it runs", () =>
    Effect.gen(function*() {
      const rate: Change = RateLimit.limit({ limit: 1, window: "1 minute", onExceeded: "refuse" })
      const orders: ReadonlyArray<Change> = [
        (tool) => rate(Tool.concurrency(tool, 1)),
        (tool) => Tool.concurrency(rate(tool), 1)
      ]
      for (const limited of orders) {
        const { asked, tool } = sunny()
        const again = tool.pipe(Tool.mapFailure((): Failure => nothingDone), Tool.retry(Schedule.recurs(2)))
        const [outcome, refusal] = yield* Effect.provide(
          Effect.all([call(useless(limited(again)), wrong), call(useless(limited(again)), wrong)]),
          services
        )
        assert.strictEqual(failed(outcome).failure.code, refused.code)
        assert.strictEqual(asked.length, 3)
        assert.strictEqual(failed(refusal).failure.code, "throttled")
      }
    }))

  it.effect("a run beside one that passes a limit does not wait for its own permit", () =>
    Effect.gen(function*() {
      const twice = custom("twice", (run) => (params) =>
        Effect.flatMap(
          Effect.all([Effect.exit(run(params)), Effect.exit(run(params))], { concurrency: 2 }),
          ([exit]) => exit
        ))
      const { tool } = sunny()
      const again: Weather = tool.pipe(
        Tool.mapFailure((): Failure => nothingDone),
        Tool.retry(Schedule.upTo(Schedule.spaced("10 millis"), { times: 2 })),
        Tool.concurrency(1, { maxWait: "1 hour" }),
        twice
      )
      const fiber = yield* Effect.forkChild(played(useless(again)))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(failed(yield* Fiber.join(fiber)).failure.code, refused.code)
    }))

  it.effect("the handler's inner calls have their own limits", () =>
    Effect.gen(function*() {
      const looked: Array<string> = []
      const map = Tool.make(
        "map",
        { description: "", parameters, success: Schema.String, sideEffect: "none" },
        ({ city }) => Effect.sync(() => looked.push(city)).pipe(Effect.as("found"))
      ).pipe(Tool.concurrency(1), Tool.fix(() => undefined))
      const tool: Weather = Tool.make(
        "get_weather",
        { description: "", parameters, success: Schema.String, sideEffect: "none" },
        ({ city }) => Effect.andThen(map.run({ city }), Effect.fail(uncapitalized(city)))
      )
      const again = tool.pipe(
        Tool.mapFailure((): Failure => nothingDone),
        Tool.retry(Schedule.recurs(2)),
        Tool.concurrency(1),
        useless
      )
      assert.strictEqual(failed(yield* played(again)).failure.code, refused.code)
      assert.deepStrictEqual(looked, ["paris", "paris", "paris"])
    }))

  it.effect("a user's policy is wrapped once for each tool, and runs once", () =>
    Effect.gen(function*() {
      for (const kind of ["custom", "concurrency"] as const) {
        let wraps = 0
        const ends: Array<string> = []
        const counting = Policy.make({
          kind,
          name: "counting",
          description: "counts",
          wrap: (run) => {
            wraps++
            return (params) => Effect.onExit(run(params), ({ _tag }) => Effect.sync(() => ends.push(_tag)))
          }
        })
        const fixed = sunny().tool.pipe(Tool.with(counting), useless)
        assert.strictEqual(failed(yield* played(fixed)).failure.code, "uncapitalized")
        // Once when it is added, and once when the fixer is.
        assert.strictEqual(wraps, 2)
        assert.deepStrictEqual(ends, ["Failure"])
      }
    }))

  it.effect("the rejection counts only for the rejected arguments, however they come", () =>
    Effect.gen(function*() {
      const beside = custom("beside", (run) => (params) =>
        Effect.flatMap(
          Effect.all([Effect.exit(run(params)), Effect.exit(run({ city: "shadow" }))]),
          ([exit]) =>
            // It returns its own answer.
            Effect.map(exit, (value) => `${String(value)}!` as never)
        ))
      const { tool } = sunny()
      assert.strictEqual(completed(yield* played(useless(beside(tool)), { city: "Paris" })).value, "sunny!")

      const copied = custom("copied", (run) => (params) => run(structuredClone(params)))
      const { asked, tool: other } = sunny()
      assert.strictEqual(failed(yield* played(useless(copied(other)))).failure.code, "uncapitalized")
      assert.deepStrictEqual(asked, ["paris"])
    }))

  it.effect("the arguments are not corrected once a policy has paid elsewhere", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      const backup = Tool.make(
        "backup",
        { description: "", parameters, success: Schema.String },
        ({ city }) => Effect.sync(() => paid.push(city)).pipe(Effect.as("elsewhere"))
      )
      const elsewhere = Tool.catchTag("SchemaMismatch", (_, params: typeof parameters.Type) =>
        Effect.andThen(backup.run(params), Effect.fail(nothingDone)))
      const { asked, tool } = weather("non_idempotent")
      const outcome = yield* call(tool.pipe(elsewhere, Tool.fix(toParis)), wrong)
      assert.deepStrictEqual([asked, paid, outcome.certainty], [["paris"], ["paris"], "executed"])
    }))

  it.effect("each rejection may be corrected, whatever a policy makes of it", () =>
    Effect.gen(function*() {
      const answers = ["{\"city\":\"pariS\"}", "{\"city\":\"Paris\"}"]
      const { fix: counting, told } = fixer(({ tries }) => answers[tries - 1]!)
      const { asked, tool } = sunny()
      const mapped: Weather = Tool.mapFailure(
        tool,
        ({ detail }): Failure => new SemanticGarbage({ code: "mapped", detail })
      )
      const fixed = Tool.fix(mapped, counting, { tries: 3, on: ["SemanticGarbage"] })
      assert.strictEqual(completed(yield* played(fixed)).value, "sunny")
      assert.deepStrictEqual(asked, ["paris", "pariS", "Paris"])
      assert.deepStrictEqual(told.map(({ failure }) => failure.code), ["uncapitalized", "uncapitalized"])
    }))
})
