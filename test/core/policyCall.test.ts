import { assert, describe, it } from "@effect/vitest"
import { type Policy, Tool, ToolCall, type ToolFailure, ToolUnavailable } from "@fallible/core"
import type * as Certainty from "@fallible/core/Certainty"
import * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Duration, Effect, Schedule } from "effect"
import {
  caveatsOf,
  custom,
  handledIn,
  later,
  one,
  outcomeOf,
  stepping,
  tags,
  told,
  type Untyped,
  waitedIn
} from "../support/customPolicies.ts"
import { doing, paris, refused, sunny, unknownCity } from "../support/sequence.ts"

describe("Policy.Call", () => {
  /** Makes a policy that catches the inner failure, and acts on it. */
  const after = (
    act: (call: Policy.Call, failure: ToolFailure.ToolFailure) => Effect.Effect<void, ToolUnavailable>
  ) =>
    custom<ToolUnavailable>((run, _, call) => (params) =>
      Effect.catch(run(params), (failure) => Effect.andThen(act(call, failure), run(params)))
    )

  const flaky = (policy: Policy.Policy) => stepping([Effect.fail(refused), sunny]).pipe(Tool.with(policy))

  it.effect("again: the failure is handled at once, with the facts of the retry", () =>
    Effect.gen(function*() {
      const retry = { number: 1, limit: 2, wait: Duration.seconds(1) }
      const { events, outcome } = yield* told(flaky(after((call, failure) => call.again(failure, retry))))
      assert.deepStrictEqual(handledIn(outcome), ["connection by custom mine"])
      assert.deepStrictEqual<unknown>(one(events, "FailureHandled"), {
        _tag: "FailureHandled",
        by: "custom",
        policy: "mine",
        tag: "ToolUnavailable",
        code: "connection",
        detail: "Refused.",
        retry
      })
      assert.isBelow(tags(events).indexOf("FailureHandled"), tags(events).lastIndexOf("AttemptStarted"))
    }))

  it.effect("instead: the failure is handled, and a source has its name", () =>
    Effect.gen(function*() {
      const keeping = custom(<A, E extends ToolFailure.ToolFailure, R>(
        run: Policy.Run<A, E, R>,
        _: Policy.Subject<A>,
        call: Policy.Call
      ) => {
        let last: A | undefined
        return (params: unknown) =>
          Effect.matchEffect(run(params), {
            onSuccess: (answer) => {
              last = answer
              return Effect.succeed(answer)
            },
            onFailure: (failure) =>
              last === undefined
                ? Effect.fail(failure)
                : Effect.as(call.instead(failure, { name: "memory", age: Duration.hours(2) }), last)
          })
      })
      const tool = stepping([Effect.andThen(ToolCall.caveat("fresh"), sunny), Effect.fail(refused)]).pipe(
        Tool.with(keeping)
      )
      assert.deepStrictEqual(caveatsOf(yield* outcomeOf(tool)), ["fresh"])
      const { events, outcome } = yield* told(tool)
      assert.deepStrictEqual(handledIn(outcome), ["connection by custom mine"])
      assert.deepInclude(outcome, { value: "sunny", source: { name: "memory", age: Duration.hours(2) } })
      assert.deepStrictEqual(caveatsOf(outcome), ["from memory, 2h old; the live service is unavailable"])
      assert.deepInclude(one(events, "SourceNamed"), { name: "memory", age: Duration.hours(2) })
    }))

  it.effect("refuse: the call fails before anything of it runs", () =>
    Effect.gen(function*() {
      const closed = new ToolUnavailable({
        code: "closed",
        detail: "Closed.",
        transient: false,
        outcome: "not_executed"
      })
      const refusing = custom<ToolUnavailable>((_, __, call) => () => call.refuse(closed))
      const { events, outcome } = yield* told(doing(sunny).pipe(Tool.with(refusing)))
      assert.deepStrictEqual<unknown>(one(events, "CallRefused"), {
        _tag: "CallRefused",
        by: "custom",
        policy: "mine",
        code: "closed"
      })
      assert.deepInclude(outcome, { _tag: "Failed", attempts: 0 })
    }))

  it.effect("waiting: the expected wait is reported at its start, and the real duration is counted once", () =>
    Effect.gen(function*() {
      const waiting = after((call) => call.waiting(Effect.sleep("2 seconds"), Duration.seconds(2)))
      const { events, outcome } = yield* told(flaky(waiting))
      assert.strictEqual(waitedIn(outcome), 2_000)
      assert.deepInclude(one(events, "WaitStarted"), { wait: Duration.seconds(2), policy: "mine" })
      assert.deepInclude(one(events, "WaitEnded"), { wait: Duration.seconds(2), policy: "mine" })
      const cut = after((call) =>
        Effect.ignore(Effect.timeoutOption(call.waiting(Effect.sleep("1 hour"), Duration.hours(1)), "3 seconds"))
      )
      assert.strictEqual(waitedIn(yield* outcomeOf(flaky(cut))), 3_000)
    }))

  it.effect("notAgain: a failure that is worth a retry has none", () =>
    Effect.gen(function*() {
      const stingy = custom((run, _, call) => (params) =>
        Effect.tapError(run(params), (failure) => call.notAgain(failure, "policy"))
      )
      const { events, outcome } = yield* told(stepping([Effect.fail(refused)]).pipe(Tool.with(stingy)))
      const refusal = { by: "custom", policy: "mine", code: "connection", why: "policy" }
      assert.deepStrictEqual<unknown>(one(events, "RetryRefused"), { _tag: "RetryRefused", ...refusal })
      assert.deepStrictEqual(handledIn(outcome), [])
    }))

  it.effect("instead: a tool that answers afterwards is an attempt, and an earlier one is not", () =>
    Effect.gen(function*() {
      const mirror = doing(sunny, "none", "mirror")
      const asking = (says: boolean) =>
        custom((run, _, call) => (params) =>
          Effect.catch(run(params), (failure) =>
            Effect.andThen(
              says ? call.instead(failure) : Effect.void,
              Effect.as(mirror.run(paris), undefined as Untyped)
            ))
        )
      const attempts = Effect.fnUntraced(function*(says: boolean) {
        const { events, outcome } = yield* told(stepping([Effect.fail(refused)]).pipe(Tool.with(asking(says))))
        return [
          outcome.attempts,
          ToolOutcome.executions(outcome),
          tags(events).filter((tag) => tag === "SourceStarted").length
        ]
      })
      assert.deepStrictEqual(yield* attempts(true), [2, 1, 1])
      assert.deepStrictEqual(yield* attempts(false), [1, 1, 0])
    }))

  it.effect("waiting: a wait that is cut a millisecond early counts a millisecond less", () =>
    Effect.gen(function*() {
      const cut = after((call) =>
        Effect.ignore(Effect.timeoutOption(call.waiting(Effect.sleep(310), Duration.millis(310)), 309))
      )
      assert.strictEqual(waitedIn(yield* outcomeOf(flaky(cut))), 309)
    }))

  it.effect("waiting: the real duration counts, not the announced one", () =>
    Effect.gen(function*() {
      for (const announced of [Duration.hours(1), Duration.seconds(1), Duration.infinity]) {
        const other = after((call) => call.waiting(Effect.sleep("2 seconds"), announced))
        assert.strictEqual(waitedIn(yield* outcomeOf(flaky(other))), 2_000)
      }
    }))

  it.effect("changed: a circuit has changed", () =>
    Effect.gen(function*() {
      const change = { circuit: "weather", from: "closed", to: "open" } as const
      const { events } = yield* told(flaky(after((call) => call.changed(change))))
      assert.deepStrictEqual<unknown>(one(events, "CircuitChanged"), { _tag: "CircuitChanged", ...change })
    }))

  it.effect("state: attempts, doubt, running attempts, the source, and whether an observer exists", () =>
    Effect.gen(function*() {
      const states: Array<Omit<Policy.State, "tool" | "id">> = []
      const readingState = custom((run, _, call) => (params) => {
        const look = Effect.map(call.state, ({ attempt, certainty, isWatched, source, whyNot }) => {
          states.push({ attempt, certainty, whyNot, source, isWatched })
        })
        return Effect.andThen(look, Effect.tap(Effect.tapError(run(params), () => look), look))
      })
      const lost = new ToolUnavailable({ ...refused, outcome: "unknown" })
      const deaf = Effect.uninterruptible(later(60_000, Effect.fail(lost)))
      const tool = stepping([
        deaf,
        Effect.andThen(ToolCall.source({ name: "mirror" }), sunny)
      ], "idempotent").pipe(Tool.timeout("1 second"), Tool.retry(Schedule.recurs(1)), Tool.with(readingState))
      yield* outcomeOf(tool)
      const none = {
        attempt: 0,
        certainty: "not_executed",
        whyNot: undefined,
        source: undefined,
        isWatched: true
      } as const
      // A success settles the doubt of an idempotent tool.
      assert.deepStrictEqual(states, [none, {
        attempt: 2,
        certainty: "executed",
        whyNot: undefined,
        source: { name: "mirror" },
        isWatched: true
      }])
      states.length = 0
      yield* doing(sunny).pipe(Tool.with(readingState)).run(paris)
      assert.deepStrictEqual(states.map(({ isWatched }) => isWatched), [false, false])
    }))

  it.effect("state: a call may have acted through an inner tool, and while an attempt still runs", () =>
    Effect.gen(function*() {
      const states: Array<readonly [certainty: Certainty.Certainty, whyNot: Policy.WhyNot | undefined]> = []
      const readingState = custom((run, _, call) => (params) =>
        Effect.tapError(run(params), () =>
          Effect.map(call.state, ({ certainty, whyNot }) => {
            states.push([certainty, whyNot])
          }))
      )
      const nothingDone = Effect.fail(new ToolUnavailable({ ...refused, outcome: "not_executed" }))
      const lost = Effect.fail(unknownCity)
      const pay = doing(sunny, "non_idempotent", "pay")
      for (const sideEffect of ["idempotent", "non_idempotent"] as const) {
        yield* outcomeOf(
          stepping([Effect.andThen(pay.run(paris), nothingDone)], sideEffect).pipe(Tool.with(readingState))
        )
        const deaf = stepping([Effect.uninterruptible(later(60_000, sunny))], sideEffect)
        yield* outcomeOf(deaf.pipe(Tool.timeout("1 second"), Tool.with(readingState)))
        yield* outcomeOf(stepping([lost], sideEffect).pipe(Tool.with(readingState)))
      }
      assert.deepStrictEqual(states, [
        ["executed", undefined],
        ["unknown", undefined],
        ["not_executed", undefined],
        ["executed", "may_have_acted"],
        ["unknown", "still_running"],
        ["not_executed", "refused"]
      ])
    }))
})
