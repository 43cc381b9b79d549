/** Retries below the agent: which failures are retried, and the waits. */
import { assert, describe, it } from "@effect/vitest"
import { Model, ModelFailure } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Clock, Duration, Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { atOnce, providers, serving } from "../support/models.ts"
import { agent, brokenOff, busy, hello, parts, respond } from "../support/question.ts"
import { passingBy } from "../support/virtualTime.ts"

for (const [name, provider] of providers) {
  const served = serving(provider)
  const state = Effect.flatMap(FakeModelServer.FakeModelServer, ({ state }) => state)

  describe(`transport retry, over ${name}`, () => {
    const connection = new ModelFailure({ code: "connection", detail: "", transient: true })
    const status = (status: number) => new ModelFailure({ code: "", detail: "Oh.", transient: false, status })

    for (const failure of [connection, ...[408, 429, 500, 502, 503, 504].map(status)]) {
      const what = failure.status ?? "a lost connection"
      it.effect(`retries after ${what}, and returns the last failure after three attempts`, () =>
        Effect.gen(function*() {
          assert.strictEqual((yield* atOnce(respond)).text, "Hello.")
          assert.strictEqual((yield* atOnce(parts)).at(-1)?._tag, "Replied")
          const last = yield* Effect.flip(atOnce(parts))
          assert.deepStrictEqual([last.status, last.attempts], [failure.status, 3])
          assert.strictEqual((yield* state).requests.length, 9)
        }).pipe(Effect.provide(
          served([failure, failure, hello, failure, failure, hello, failure, failure, failure, hello])
        )))
    }

    for (const code of [400, 401, 403, 404, 409, 422, 501, 505]) {
      it.effect(`does not retry after ${code}`, () =>
        Effect.gen(function*() {
          const failure = yield* Effect.flip(atOnce(respond))
          assert.deepStrictEqual([failure.status, failure.attempts], [code, undefined])
          assert.strictEqual((yield* state).requests.length, 1)
        }).pipe(Effect.provide(served([status(code), hello]))))
    }

    it.effect("does not retry after its own timeout, on either side of the tick", () =>
      Effect.gen(function*() {
        const server = yield* FakeModelServer.FakeModelServer
        const fiber = yield* Effect.forkChild(Effect.flip(respond))
        yield* server.until(({ requests }) => requests.length === 1)
        yield* TestClock.adjust("1999 millis")
        assert.strictEqual((yield* server.state).open, 1)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        const failure = yield* Fiber.join(fiber)
        assert.deepInclude({ ...failure }, { code: "timeout", transient: false })
        assert.include(failure.detail, " within 2s.")
        yield* server.until(({ open }) => open === 0)
        assert.strictEqual((yield* server.state).requests.length, 1)
      }).pipe(Effect.provide(served([Effect.never, hello], { settings: { timeout: "2 seconds" } }))))

    it.effect("gives up on a stream that has begun and then hangs", () =>
      Effect.gen(function*() {
        const server = yield* FakeModelServer.FakeModelServer
        const fiber = yield* Effect.forkChild(Effect.flip(parts))
        yield* server.until(({ replies }) => replies === 1)
        assert.deepInclude({ ...yield* passingBy("1 second", fiber) }, { code: "timeout", transient: false })
      }).pipe(Effect.provide(served([FakeModelServer.stall(hello, 20)], { settings: { timeout: "2 seconds" } }))))

    it.effect("shares three attempts with the agent's retry, and a broken stream counts as one", () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(atOnce(Stream.runDrain(agent.stream("Hello?"))))
        assert.isTrue(failure._tag === "ModelFailed" && failure.failure.attempts === 3)
        assert.deepStrictEqual(
          failure.report.failures.map(({ attempts, code, handling }) => [code, handling, attempts]),
          [["server_error", "retry", 3], ["server_error", "retry", 3], ["cut_off", "run_failed", 3]]
        )
        assert.strictEqual((yield* state).requests.length, 3)
        yield* Effect.flip(atOnce(Stream.runDrain(agent.stream("Hello?"))))
        assert.strictEqual((yield* state).requests.length, 6)
      }).pipe(Effect.provide(served([busy, busy, brokenOff, brokenOff, brokenOff, brokenOff, hello]))))

    it.effect("does not retry once a stream has begun: its text is out, so the agent decides", () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(atOnce(parts))
        assert.deepInclude({ ...failure }, { code: "cut_off", transient: true })
        assert.isUndefined(failure.attempts)
        assert.strictEqual((yield* state).requests.length, 1)
      }).pipe(Effect.provide(served([FakeModelServer.drop(ScriptedModel.text("A long text, cut."), 250), hello]))))

    for (
      const [asked, after] of [
        [{ retryAfter: Duration.seconds(3) }, 3000],
        [{ headers: { "retry-after": "Thu, 01 Jan 1970 01:00:07 GMT" } }, 7000]
      ] as const
    ) {
      const how = "headers" in asked ? "as a date" : "in seconds"
      const move = "headers" in asked
        ? FakeModelServer.raw("{}", { status: 429, ...asked })
        : new ModelFailure({ ...busy, ...asked })
      it.effect(`waits as long as the server asks, ${how}`, () =>
        Effect.gen(function*() {
          // One hour after the epoch.
          yield* TestClock.setTime(3_600_000)
          const waits: Array<number> = []
          const fiber = yield* atOnce(respond).pipe(
            Effect.provideService(Model.onRetry, (_, wait) => Effect.sync(() => waits.push(Duration.toMillis(wait)))),
            Effect.forkChild
          )
          const server = yield* FakeModelServer.FakeModelServer
          assert.strictEqual((yield* passingBy("1 second", fiber)).text, "Hello.")
          assert.strictEqual((yield* server.state).requests.length, 2)
          assert.strictEqual(waits.length, 1)
          assert.isAtMost(waits[0]!, after)
          assert.isAbove(waits[0]!, after - 3000)
          assert.isAtLeast(yield* Clock.currentTimeMillis, 3_600_000 + after)
        }).pipe(Effect.provide(served([move, hello]))))
    }

    it.effect("does not wait longer than half a minute", () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(respond)
        assert.deepStrictEqual([failure.code, failure.retryAfter && Duration.format(failure.retryAfter)], [
          "server_error",
          "31s"
        ])
      }).pipe(Effect.provide(served([new ModelFailure({ ...busy, retryAfter: Duration.seconds(31) }), hello]))))
  })
}
