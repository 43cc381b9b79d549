/** The sources of the clinical assistant's facts, and their age. */
import { assert, describe, it } from "@effect/vitest"
import { findDrug, interactionsAmong } from "@fallible/examples/02-clinical-assistant/World"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { answered, down, facts, played, real, source, type States, together, told } from "../support/clinic.ts"
import { completed, failed } from "../support/fixing.ts"
import { atOnce } from "../support/models.ts"

const fromDatabase = ["internal database", "fresh", "from the internal database"]
const fromApi = ["external API", "fresh", "from external API"]
const fromApiAlone = ["external API", "fresh", "from external API; the usual source is unavailable"]
const fromCache = ["cache", "3h", "from cache, 3h old; the live service is unavailable"]

describe("the sources of a fact", () => {
  it.effect("are the internal database, then the external API, then the cache, and the answer names its source and age", () =>
    Effect.gen(function*() {
      const chain: ReadonlyArray<readonly [States, drug: string, ReadonlyArray<string | undefined>]> = [
        [{}, "ibuprofen", fromDatabase],
        [{ api: "down", cache: "empty" }, "ibuprofen", fromDatabase],
        [{}, "aspirin", fromApi],
        [{ database: "locked" }, "ibuprofen", fromApiAlone],
        [{ database: "down" }, "ibuprofen", fromApiAlone],
        [{ api: "down" }, "aspirin", fromCache],
        [{ api: "quota" }, "aspirin", fromCache],
        [{ database: "locked", api: "forbidden" }, "ibuprofen", fromCache],
        [{ api: "garbage" }, "aspirin", fromCache],
        [{ api: "truncated" }, "aspirin", fromCache],
        [{ database: "locked", api: "down" }, "ibuprofen", fromCache],
        [{ database: "down", api: "down" }, "ibuprofen", fromCache]
      ]
      for (const [states, drug, expected] of chain) {
        const outcome = yield* atOnce(facts(drug)).pipe(Effect.provide(real(states)))
        assert.deepStrictEqual(source(outcome), expected, JSON.stringify(states))
        assert.deepStrictEqual(completed(outcome).value, { ...findDrug(drug) })
      }
    }))

  it.effect("are taken from the cache if the external API refuses to give them, and nothing is said to be down", () =>
    Effect.gen(function*() {
      const outcome = yield* atOnce(facts("aspirin"))
      assert.deepStrictEqual(source(outcome), ["cache", "3h", "from cache, 3h old"])
      assert.deepStrictEqual(outcome.handled.map(({ code }) => code), ["not_held", "permission_denied"])
    }).pipe(Effect.provide(real({ api: "forbidden" }))))

  it.effect("are listed with the refusal and the cache, if the external API refuses and the cache is empty", () =>
    Effect.gen(function*() {
      const { failure } = failed(yield* atOnce(facts("aspirin")))
      assert.deepInclude(failure, {
        code: "permission_denied",
        tried: ["internal database (not_held)", "external API (permission_denied)", "cache (no value)"]
      })
    }).pipe(Effect.provide(real({ api: "forbidden", cache: "empty" }))))

  for (const cache of ["empty", "stale"] as const) {
    it.effect(`are listed when all have failed, with a cache that is ${cache}`, () =>
      Effect.gen(function*() {
        const outcome = failed(yield* atOnce(facts("ibuprofen")))
        const tried = [
          "internal database (connection, 3 attempts)",
          "external API (connection, 3 attempts)",
          "cache (no value)"
        ]
        assert.deepInclude(outcome.failure, { code: "connection", transient: true, tried })
        assert.deepInclude(told(outcome), { tried })
        assert.match(outcome.failure.detail, /The service could not be reached/)
      }).pipe(Effect.provide(real({ database: "down", api: "down", cache }))))
  }

  it.effect("are cached for seven days, and a cached answer tells its age", () =>
    Effect.gen(function*() {
      let isUp = true
      const { layer } = played({ facts: (name) => isUp ? Effect.succeed(findDrug(name)!) : Effect.fail(down) })
      yield* Effect.gen(function*() {
        assert.deepStrictEqual(source(yield* facts("aspirin")), fromApi)
        isUp = false
        yield* TestClock.adjust("2 hours")
        assert.strictEqual(source(yield* atOnce(facts("aspirin")))[1], "2h")
        yield* TestClock.adjust(Duration.subtract(Duration.days(7), Duration.hours(2)))
        // An answer from the cache is not stored again as a new one.
        assert.strictEqual(source(yield* atOnce(facts("aspirin")))[1], "7d")
        yield* TestClock.adjust("1 millis")
        assert.strictEqual(failed(yield* atOnce(facts("aspirin"))).failure.code, "connection")
      }).pipe(Effect.provide(layer))
    }))

  it.effect("have the last word when they answer: if the API does not know a drug, the cache is not asked", () =>
    Effect.gen(function*() {
      const { asked, layer } = played({ facts: () => Effect.fail(answered(404)), cache: "full" })
      const { failure } = failed(yield* facts("aspirin").pipe(Effect.provide(layer)))
      assert.deepInclude(failure, { _tag: "SemanticGarbage", code: "unknown_drug" })
      assert.deepStrictEqual(asked, ["0 database: aspirin", "0 api: aspirin"])
    }))

  it.effect("of interactions include no cache, because an outdated all-clear is worse than no answer", () =>
    Effect.gen(function*() {
      let isUp = true
      const { layer } = played({
        interactions: (names) => isUp ? Effect.succeed(interactionsAmong(names)) : Effect.fail(down)
      })
      yield* Effect.gen(function*() {
        assert.deepStrictEqual(source(yield* together("aspirin", "warfarin")), [
          "external API",
          "fresh",
          "from the external API"
        ])
        isUp = false
        assert.strictEqual(failed(yield* atOnce(together("aspirin", "warfarin"))).failure.code, "connection")
      }).pipe(Effect.provide(layer))
    }))
})
