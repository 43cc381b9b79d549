/** The retries of the clinical assistant's tools, without a network and over HTTP. */
import { assert, describe, it } from "@effect/vitest"
import type { Dispatch } from "@fallible/core"
import type * as HttpFailure from "@fallible/core/HttpFailure"
import { patients } from "@fallible/examples/02-clinical-assistant/World"
import { Duration, Effect, Fiber, Option, Random } from "effect"
import { TestClock } from "effect/testing"
import { answered, asked, call, down, facts, patient, played, real, source, together } from "../support/clinic.ts"
import { completed, failed } from "../support/fixing.ts"
import { atOnce } from "../support/models.ts"
import { macrotask, passing } from "../support/virtualTime.ts"

/** Runs turns of the event loop until a condition holds. No virtual time passes. */
const until = <R>(condition: Effect.Effect<boolean, never, R>) =>
  Effect.gen(function*() {
    while (!(yield* condition)) yield* macrotask
  })

/** Makes every random draw 0.5. */
const halfway = Effect.provideService(Random.Random, { nextDoubleUnsafe: () => 0.5, nextIntUnsafe: () => 1 })

/** Returns the times of the requests to a service that always fails in this way. */
const timesOf = (failure: HttpFailure.HttpFailure) =>
  Effect.gen(function*() {
    const { asked, layer } = played({ interactions: () => Effect.fail(failure) })
    const outcome = yield* passing(together("aspirin", "warfarin")).pipe(Effect.provide(layer))
    assert.strictEqual(failed(outcome).attempts, asked.length)
    return asked.map((line) => Number(line.split(" ")[0]))
  })

describe("retries inside a tool", () => {
  it.effect("repeat a request after a lost connection, a timeout and a 5xx: three attempts in all, with backoff and jitter", () =>
    Effect.gen(function*() {
      for (const failure of [down, answered(408), answered(500), answered(502), answered(503), answered(504)]) {
        assert.deepStrictEqual(yield* halfway(timesOf(failure)).pipe(clockAtZero), [0, 100, 300], failure.detail)
        assert.deepStrictEqual(yield* atOnce(timesOf(failure)).pipe(clockAtZero), [0, 0, 0], failure.detail)
      }
    }))

  it.effect("wait longer after a 429: as long as it asks and a bit more, or give up if that is too long", () =>
    Effect.gen(function*() {
      const times = (failure: HttpFailure.HttpFailure) => halfway(timesOf(failure)).pipe(clockAtZero)
      assert.deepStrictEqual(yield* times(answered(429)), [0, 1500, 4500])
      assert.deepStrictEqual(yield* times(answered(429, "5 seconds")), [0, 5500, 11_500])
      assert.deepStrictEqual(yield* times(answered(429, "60 seconds")), [0, 60_500, 121_500])
      assert.deepStrictEqual(yield* times(answered(429, "61 seconds")), [0])
    }))

  it.effect("do not repeat a request after any other 4xx", () =>
    Effect.gen(function*() {
      for (const status of [400, 401, 402, 403, 404, 405, 409, 410, 413, 422, 451]) {
        assert.deepStrictEqual(yield* timesOf(answered(status)).pipe(clockAtZero), [0], String(status))
      }
    }))

  it.effect("give each attempt two seconds, on either side of the tick", () =>
    Effect.gen(function*() {
      const { asked, layer } = played({ interactions: () => Effect.never })
      const fiber = yield* Effect.forkChild(Effect.provide(atOnce(together("aspirin", "warfarin")), layer))
      for (const attempt of [1, 2, 3]) {
        yield* TestClock.adjust("1999 millis")
        assert.strictEqual(asked.length, attempt)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 millis")
      }
      const { attempts, failure } = failed(yield* Fiber.join(fiber))
      assert.deepInclude(failure, { code: "timeout", transient: true })
      assert.strictEqual(attempts, 3)
    }))

  it.effect("repeat a query of a locked database until it is free", () =>
    Effect.gen(function*() {
      let locked = 2
      const { asked, layer } = played({
        patient: (id) =>
          Effect.suspend(() =>
            locked-- > 0
              ? Effect.fail(down)
              : Effect.succeed(Option.fromUndefinedOr(patients.find((one) => one.id === id)))
          )
      })
      const outcome = yield* passing(halfway(patient("P-1001"))).pipe(Effect.provide(layer))
      assert.deepInclude(completed(outcome), { attempts: 3, waited: Duration.millis(300) })
      assert.deepStrictEqual(asked, ["0 database: P-1001", "100 database: P-1001", "300 database: P-1001"])
    }))
})

/** Runs an Effect under a test clock that starts at 0. */
const clockAtZero = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.provide(self, TestClock.layer())

describe("retries over real connections", () => {
  it.effect("give up on a slow API after three attempts of two seconds, and close its connections", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(atOnce(together("aspirin", "warfarin")))
      for (const attempt of [1, 2, 3]) {
        yield* until(Effect.map(asked, ({ length }) => length === attempt))
        yield* TestClock.adjust("1999 millis")
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 millis")
      }
      assert.deepInclude(failed(yield* Fiber.join(fiber)).failure, { code: "timeout", transient: true })
      assert.strictEqual((yield* asked).length, 3)
    }).pipe(Effect.provide(real({ api: "slow" }))))

  it.effect("honour the Retry-After of a 429", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const place: Dispatch.CallOptions = {
        onEvent: (event) => event._tag === "FailureHandled" && heard.push(`${event.by}: ${event.code}`)
      }
      const check = call("check_interactions", { drugs: ["aspirin", "warfarin"] }, place)
      const fiber = yield* Effect.forkChild(atOnce(check))
      yield* until(Effect.sync(() => heard.length > 0))
      // Without Retry-After, the policy would wait at most 2 s.
      yield* TestClock.adjust("2999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      assert.strictEqual((yield* asked).length, 1)
      yield* TestClock.adjust("1 millis")
      assert.deepInclude(completed(yield* Fiber.join(fiber)), { attempts: 2, waited: Duration.seconds(3) })
      assert.deepStrictEqual(heard, ["retry: rate_limited"])
    }).pipe(Effect.provide(real({ api: "limited" }))))

  for (
    const [seed, codes] of [
      ["2", []],
      ["4", ["server_error"]],
      ["5", ["server_error", "server_error"]],
      ["7", ["connection"]]
    ] as const
  ) {
    it.effect(`get through to a flaky API, seed ${seed}: ${["not_held", ...codes].join(", ")}, and an answer`, () =>
      Effect.gen(function*() {
        const outcome = completed(yield* atOnce(facts("aspirin")))
        assert.deepStrictEqual(outcome.handled.map(({ code }) => code), ["not_held", ...codes])
        assert.strictEqual((yield* asked).length, codes.length + 1)
        assert.deepStrictEqual(source(outcome), ["external API", "fresh", "from external API"])
      }).pipe(Effect.provide(real({ api: "flaky", seed }))))
  }

  for (const [api, code] of [["quota", "quota_exhausted"], ["forbidden", "permission_denied"]] as const) {
    it.effect(`ask once if the answer would stay the same: ${code}`, () =>
      Effect.gen(function*() {
        assert.deepInclude(failed(yield* together("aspirin", "warfarin")).failure, { code, transient: false })
        assert.strictEqual((yield* asked).length, 1)
      }).pipe(Effect.provide(real({ api }))))
  }
})
