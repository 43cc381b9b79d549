import { assert, describe, it } from "@effect/vitest"
import { SemanticGarbage, Tool, ToolUnavailable } from "@fallible/core"
import { Effect, Schedule } from "effect"
import {
  after,
  disabled,
  doing,
  type Failure,
  paris,
  refused,
  Sequence,
  sunny,
  twiceAfterOneSecond,
  unknownCity
} from "../support/sequence.ts"

describe("Tool", () => {
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

    it.effect("a timed-out tool that acts is not retried", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const pays = tool([Effect.never], "non_idempotent")
        assert.deepStrictEqual(yield* play(pays.pipe(Tool.timeout("5 seconds"), Tool.retry(twiceAfterOneSecond))), [
          "0 attempt 1",
          "5000 interrupted",
          "5000 => outcome_unknown"
        ])
      }))

    it.effect("A12 fallback outside retry answers after all attempts have failed", () =>
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

    it.effect("fallback inside retry leaves nothing to retry", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const failing = tool([Effect.fail(refused)]).pipe(
          Tool.fallback(() => Effect.succeed("cached")),
          Tool.retry(twiceAfterOneSecond)
        )
        assert.deepStrictEqual(yield* play(failing), ["0 attempt 1", "fallback handles connection", "0 => cached"])
      }))

    it.effect("retry outside a failing fallback retries both", () =>
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

    it.effect("mapFailure inside retry decides what is transient", () =>
      Effect.gen(function*() {
        const { play, tool } = new Sequence()
        const permanent = tool([Effect.fail(refused)]).pipe(
          Tool.mapFailure(() => disabled),
          Tool.retry(twiceAfterOneSecond)
        )
        assert.deepStrictEqual(yield* play(permanent), ["0 attempt 1", "0 => disabled"])
      }))

    it.effect("catchTag outermost sees the failures that the others did not handle", () =>
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
