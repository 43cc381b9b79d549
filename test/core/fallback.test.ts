import { assert, describe, it } from "@effect/vitest"
import { Dispatch, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import type * as SideEffect from "@fallible/core/SideEffect"
import { Duration, Effect, Schedule } from "effect"
import { failed } from "../support/fixing.ts"
import { lettered } from "../support/lettered.ts"
import { disabled, doing, type Failure, notExecuted, paris, refused, unknownCity } from "../support/sequence.ts"

const unknown = new ToolUnavailable({ ...refused, code: "timeout", detail: "No answer.", outcome: "unknown" })

type Weather = Tool.Tool<string, typeof paris, string, Failure>

const outcomeOf = (tool: Weather) =>
  Dispatch.call(Toolkit.make(tool), { id: "1", name: tool.name, arguments: "{\"city\":\"Paris\"}" }, {
    idempotencyKey: "key"
  })

type Source = Effect.Effect<string, Failure>

/** Makes a chain (B3): the database, then the service, then the cache. */
const chain = (database: Source, service: Source, cache: Source, sideEffect: SideEffect.SideEffect = "none") =>
  doing(database, sideEffect, "database").pipe(
    Tool.fallback(() => service, { name: "service" }),
    Tool.fallback(() => cache, { name: "cache" })
  )

const stale = Effect.andThen(ToolCall.source({ name: "cache", age: "3 hours" }), Effect.succeed("cached"))
const never = Effect.die("not asked for")
const fail = (failure: Failure) => Effect.fail(failure)

/** Returns the failure of a chain whose sources fail with the given failures. */
const exhausted = (
  database: Failure,
  service: Failure,
  cache: Failure,
  sideEffect: SideEffect.SideEffect = "none"
) =>
  Effect.gen(function*() {
    const failure = yield* Effect.flip(chain(fail(database), fail(service), fail(cache), sideEffect).run(paris))
    if (failure._tag !== "ToolUnavailable") return assert.fail(failure._tag)
    return failure
  })

describe("Tool.fallback", () => {
  describe("B3 in a chain of three", () => {
    it.effect("names no source if the first one answers", () =>
      Effect.gen(function*() {
        const outcome = yield* outcomeOf(chain(Effect.succeed("sunny"), never, never))
        assert.deepInclude(outcome, { _tag: "Completed", value: "sunny", caveats: [], handled: [] })
        assert.notProperty(outcome, "source")
      }))

    it.effect("names the source that answered, and lists the handled failures", () =>
      Effect.gen(function*() {
        assert.deepInclude(yield* outcomeOf(chain(fail(refused), Effect.succeed("rain"), never)), {
          _tag: "Completed",
          value: "rain",
          source: { name: "service" },
          caveats: ["from service; the usual source is unavailable"],
          handled: [{ tag: "ToolUnavailable", code: "connection", detail: "Refused.", by: "fallback" }]
        })
        const last = yield* outcomeOf(chain(fail(refused), fail(disabled), Effect.succeed("cached")))
        assert.deepInclude(last, { _tag: "Completed", value: "cached", source: { name: "cache" } })
        assert.deepStrictEqual(last.handled.map(({ by, code }) => `${by} ${code}`), [
          "fallback connection",
          "fallback disabled"
        ])
      }))

    it.effect("tells the model the name of the source that answered, and that a service is down only if it is", () =>
      Effect.gen(function*() {
        const told = (tool: Weather) =>
          Effect.map(outcomeOf(tool), (outcome) => outcome._tag === "Completed" ? outcome.caveats : outcome._tag)
        const notHeld = new ToolUnavailable({ ...disabled, code: "not_held", scope: "arguments" })
        assert.deepStrictEqual(yield* told(chain(fail(notHeld), Effect.succeed("rain"), never)), ["from service"])
        assert.deepStrictEqual(yield* told(chain(fail(notHeld), fail(refused), Effect.succeed("rain"))), [
          "from cache; the usual source is unavailable"
        ])
        const gone = new ToolUnavailable({ ...disabled, code: "quota_exhausted" })
        assert.deepStrictEqual(yield* told(chain(fail(notHeld), fail(gone), Effect.succeed("rain"))), [
          "from cache; the usual source is unavailable"
        ])
        const unnamed = doing(fail(refused)).pipe(Tool.fallback(() => Effect.succeed("rain")))
        assert.deepStrictEqual(yield* told(unnamed), [])
      }))

    it.effect("tells no source that the handler names, once the handler has answered", () =>
      Effect.gen(function*() {
        const steps = [fail(refused), Effect.andThen(ToolCall.source({ name: "database" }), Effect.succeed("sunny"))]
        const tool = doing(Effect.suspend(() => steps.shift() ?? never)).pipe(
          Tool.fallback(() => fail(refused), { name: "mirror" }),
          Tool.retry(Schedule.recurs(1))
        )
        assert.deepInclude(yield* outcomeOf(tool), { value: "sunny", source: { name: "database" }, caveats: [] })
      }))

    it.effect("states the age of a stale answer", () =>
      Effect.gen(function*() {
        assert.deepInclude(yield* outcomeOf(chain(fail(refused), fail(refused), stale)), {
          _tag: "Completed",
          value: "cached",
          source: { name: "cache", age: Duration.hours(3) },
          caveats: ["from cache, 3h old; the live service is unavailable"]
        })
      }))

    it.effect("forgets the notes of a source that failed in the end", () =>
      Effect.gen(function*() {
        const boasting = Effect.andThen(
          Effect.andThen(ToolCall.source({ name: "mirror", age: "1 day" }), ToolCall.caveat("of the mirror")),
          fail(refused)
        )
        assert.deepInclude(yield* outcomeOf(chain(fail(refused), boasting, Effect.succeed("cached"))), {
          value: "cached",
          source: { name: "cache" },
          caveats: ["from cache; the usual source is unavailable"]
        })
      }))

    it.effect("lists all tried sources in order if all failed", () =>
      Effect.gen(function*() {
        const failure = yield* exhausted(refused, disabled, disabled)
        assert.deepStrictEqual({ ...failure }, {
          _tag: "ToolUnavailable",
          code: "disabled",
          detail: "Disabled.",
          transient: true,
          tried: ["database (connection)", "service (disabled)", "cache (disabled)"]
        })
      }))

    it.effect("lists how many attempts each source had, if it had several, and what the source replaces", () =>
      Effect.gen(function*() {
        const mirror = doing(fail(refused), "none", "mirror").pipe(Tool.retry(Schedule.recurs(1)))
        const tool = doing(fail(refused)).pipe(
          Tool.retry(Schedule.recurs(2)),
          Tool.fallback(mirror.run, { name: "mirror", insteadOf: "live service" }),
          Tool.fallback(() => fail(disabled), { name: "almanac" })
        )
        const { attempts, failure } = failed(yield* outcomeOf(tool))
        assert.strictEqual(attempts, 5)
        assert.deepStrictEqual(failure._tag === "ToolUnavailable" && failure.tried, [
          "live service (connection, 3 attempts)",
          "mirror (connection, 2 attempts)",
          "almanac (disabled)"
        ])
      }))

    it.effect("counts the attempts of each run anew if the whole chain is retried", () =>
      Effect.gen(function*() {
        const tool = doing(fail(refused)).pipe(
          Tool.retry(Schedule.recurs(1)),
          Tool.fallback(() => fail(refused), { name: "mirror" }),
          Tool.retry(Schedule.recurs(1))
        )
        const failure = yield* Effect.flip(tool.run(paris))
        assert.deepStrictEqual(failure._tag === "ToolUnavailable" && failure.tried, [
          "get_weather (connection, 2 attempts)",
          "mirror (connection)"
        ])
      }))

    it.effect("is transient if any source's failure is", () =>
      Effect.gen(function*() {
        const transients = yield* Effect.forEach(
          [[disabled, disabled, disabled], [refused, disabled, disabled], [disabled, refused, disabled], [
            disabled,
            disabled,
            refused
          ]] as const,
          ([database, service, cache]) => Effect.map(exhausted(database, service, cache), ({ transient }) => transient)
        )
        assert.deepStrictEqual(transients, [false, true, true, true])
      }))

    it.effect("keeps an unknown outcome of any source", () =>
      Effect.gen(function*() {
        for (const at of [0, 1, 2]) {
          const failures = [notExecuted, notExecuted, notExecuted].map((failure, index) =>
            index === at ? unknown : failure
          )
          for (const sideEffect of ["idempotent", "non_idempotent"] as const) {
            const { outcome } = yield* exhausted(failures[0]!, failures[1]!, failures[2]!, sideEffect)
            assert.strictEqual(outcome, "unknown", `${at}`)
          }
        }
      }))

    it.effect("is not_executed only if every source certainly is", () =>
      Effect.gen(function*() {
        const acting = (database: Failure, service: Failure, cache: Failure) =>
          Effect.map(exhausted(database, service, cache, "non_idempotent"), ({ outcome }) => outcome)
        assert.strictEqual(yield* acting(notExecuted, notExecuted, notExecuted), "not_executed")
        for (const at of [0, 1, 2]) {
          const failures = [notExecuted, notExecuted, notExecuted].map((failure, index) =>
            index === at ? refused : failure
          )
          assert.strictEqual(yield* acting(failures[0]!, failures[1]!, failures[2]!), "unknown", `${at}`)
        }
      }))

    it.effect("keeps the last failure's cause, and how long to wait", () =>
      Effect.gen(function*() {
        const busy = new ToolUnavailable({ ...refused, retryAfter: Duration.seconds(20), cause: "first" })
        const gone = new ToolUnavailable({ ...disabled, cause: "last" })
        const failure = yield* exhausted(busy, refused, gone)
        assert.deepStrictEqual([failure.retryAfter, failure.cause], [Duration.seconds(20), "last"])
      }))

    it.effect("ends with a failure of another class, unchanged", () =>
      Effect.gen(function*() {
        const tool = chain(fail(refused), fail(unknownCity), never)
        assert.strictEqual(yield* Effect.flip(tool.run(paris)), unknownCity)
        const outcome = yield* outcomeOf(tool)
        assert.isTrue(outcome._tag === "Failed" && outcome.failure.code === "unknown_city")
        assert.deepStrictEqual(outcome.handled.map(({ code }) => code), ["connection"])
      }))
  })

  it.effect("does not repeat a possible side effect because a later source was not reached", () =>
    Effect.gen(function*() {
      let attempts = 0
      const acts = doing(
        Effect.suspend(() => {
          attempts++
          return Effect.fail(refused)
        }),
        "non_idempotent"
      ).pipe(Tool.fallback(() => Effect.fail(notExecuted)), Tool.retry(Schedule.recurs(2)))
      yield* Effect.exit(acts.run(paris))
      assert.strictEqual(attempts, 1)
    }))

  it.effect("without a name is listed as a fallback, without a name in the outcome", () =>
    Effect.gen(function*() {
      const failing = doing(fail(refused)).pipe(Tool.fallback(() => fail(refused)), Tool.fallback(() => fail(refused)))
      const failure = yield* Effect.flip(failing.run(paris))
      assert.deepStrictEqual(failure._tag === "ToolUnavailable" && failure.tried, [
        "get_weather (connection)",
        "a fallback (connection)",
        "a fallback (connection)"
      ])
      const answered = yield* outcomeOf(doing(fail(refused)).pipe(Tool.fallback(() => Effect.succeed("rain"))))
      assert.notProperty(answered, "source")
    }))

  it("names its source in its description", () => {
    const described = chain(fail(refused), never, never).pipe(Tool.fallback(() => never))
    assert.deepStrictEqual(described.policies.map(({ description }) => description), [
      "fallback to service",
      "fallback to cache",
      "fallback"
    ])
  })

  it.effect("data-first is the same", () =>
    Effect.gen(function*() {
      const tool = Tool.fallback(doing(fail(refused)), ({ city }) => Effect.succeed(city), { name: "atlas" })
      assert.deepInclude(yield* outcomeOf(tool), { value: "Paris", source: { name: "atlas" } })
    }))

  describe("to another tool's run", () => {
    const named = (name: string, effect: Source, sideEffect: SideEffect.SideEffect = "none") =>
      doing(effect, sideEffect, name)

    it.effect("passes it the parameters, and lists what it tried itself", () =>
      Effect.gen(function*() {
        const mirror = named("mirror", fail(disabled)).pipe(
          Tool.fallback(() => fail(refused), { name: "mirror's cache" })
        )
        const tool = named("live", fail(refused)).pipe(
          Tool.fallback(mirror.run),
          Tool.fallback(() => fail(disabled), { name: "almanac" })
        )
        const failure = yield* Effect.flip(tool.run(paris))
        assert.deepStrictEqual(failure._tag === "ToolUnavailable" && failure.tried, [
          "live (connection)",
          "mirror (disabled)",
          "mirror's cache (connection)",
          "almanac (disabled)"
        ])
      }))

    it.effect("names the inner source that answered, with its age", () =>
      Effect.gen(function*() {
        const mirror = named("mirror", fail(disabled)).pipe(Tool.fallback(() => stale, { name: "cache" }))
        const tool = named("live", fail(refused)).pipe(Tool.fallback(mirror.run, { name: "mirror" }))
        assert.deepInclude(yield* outcomeOf(tool), {
          value: "cached",
          source: { name: "cache", age: Duration.hours(3) },
          caveats: ["from cache, 3h old; the live service is unavailable"],
          attempts: 2,
          executions: 1
        })
        const fresh = named("live", fail(refused)).pipe(
          Tool.fallback(named("mirror", Effect.succeed("rain")).run, { name: "mirror" })
        )
        assert.deepInclude(yield* outcomeOf(fresh), { value: "rain", source: { name: "mirror" } })
      }))

    it.effect("gives it its own key, different from those of the handler's calls, even under a timeout", () =>
      Effect.gen(function*() {
        const keysOf = Effect.fnUntraced(function*(limit: <T extends Weather>(tool: T) => Weather) {
          const keys: Array<string> = []
          const log = named(
            "log",
            Effect.map(ToolCall.current, ({ idempotencyKey }) => {
              keys.push(idempotencyKey)
              return "logged"
            }),
            "idempotent"
          )
          const live = named("live", Effect.andThen(log.run({ city: "of the handler" }), fail(refused)))
          yield* outcomeOf(limit(live).pipe(Tool.fallback(() => log.run({ city: "of the fallback" }))))
          return keys
        })
        assert.strictEqual(lettered(yield* keysOf((tool) => tool)), "a b")
        assert.strictEqual(lettered(yield* keysOf((tool) => Tool.timeout(tool, "1 second"))), "a b")
      }))
  })
})
