import { assert, describe, it } from "@effect/vitest"
import {
  PartialData,
  type Policy,
  type SemanticGarbage,
  Tool,
  ToolCall,
  type ToolFailure,
  ToolUnavailable
} from "@fallible/core"
import * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Effect, Schedule, Schema } from "effect"
import {
  caveatsOf,
  custom,
  handledIn,
  later,
  lost,
  mine,
  one,
  outcomeOf,
  stepping,
  told,
  twice,
  waitedIn
} from "../support/customPolicies.ts"
import { doing, paris, refused, sunny } from "../support/sequence.ts"

describe("counts, whatever a policy does:", () => {
  const words = (text: string) => Effect.as(ToolCall.caveat(text), text)

  it.effect("inner runs are attempts, and failures that do not come out were handled", () =>
    Effect.gen(function*() {
      const { outcome } = yield* told(stepping([Effect.fail(refused), lost]).pipe(Tool.with(twice)))
      assert.deepInclude(outcome, { _tag: "Failed", attempts: 2 })
      assert.deepStrictEqual(handledIn(outcome), ["connection by custom mine"])
    }))

  it.effect("a race without a winner fails with the first failure, and the others were handled", () =>
    Effect.gen(function*() {
      const racing = custom((run) => (params) => Effect.race(run(params), Effect.delay(run(params), 100)))
      const outcome = yield* outcomeOf(stepping([Effect.fail(refused), lost]).pipe(Tool.with(racing)))
      assert.strictEqual(outcome._tag === "Failed" ? outcome.failure : outcome, refused)
      assert.deepStrictEqual(handledIn(outcome), ["unknown_city by custom mine"])
      const handler = doing(Effect.race(Effect.fail(refused), lost))
      assert.strictEqual(yield* Effect.flip(handler.run(paris)), refused)
    }))

  it.effect("a policy does not wait while it runs another tool, which itself may wait", () =>
    Effect.gen(function*() {
      const other = stepping([later(5_000, Effect.fail(refused)), sunny]).pipe(Tool.retry(Schedule.spaced("1 second")))
      const asking = custom((run) => (params) => Effect.andThen(Effect.ignore(other.run(paris)), run(params)))
      const outcome = yield* outcomeOf(doing(sunny).pipe(Tool.with(asking)))
      assert.strictEqual(waitedIn(outcome), 1_000)
      assert.strictEqual(outcome.attempts, 1)
    }))

  it.effect(
    "each poll costs the same, however many failures were handled before",
    () =>
      Effect.gen(function*() {
        let ran = 0
        const every2nd = doing(Effect.suspend(() => ++ran % 2 === 0 ? sunny : Effect.fail(refused))).pipe(
          Tool.retry(Schedule.recurs(1))
        )
        const polled = every2nd.pipe(
          Tool.with(custom((run) => (params) => Effect.repeat(run(params), { times: 39_999 })))
        )
        assert.strictEqual((yield* outcomeOf(polled)).handled.length, 40_000)
      })
  )

  it.effect("a policy waits again after another tool has run", () =>
    Effect.gen(function*() {
      const other = doing(later(1_000, sunny), "none", "other")
      const slow = custom((run) => (params) =>
        Effect.andThen(Effect.ignore(other.run(paris)), Effect.andThen(Effect.sleep("2 seconds"), run(params)))
      )
      assert.strictEqual(waitedIn(yield* outcomeOf(doing(sunny).pipe(Tool.with(slow)))), 2_000)
    }))

  it.effect("a wait counts when it ends, even if the policy ignores the end of its time", () =>
    Effect.gen(function*() {
      const deaf = custom((run) => (params) =>
        Effect.uninterruptible(Effect.andThen(Effect.sleep("1 second"), run(params)))
      )
      const tool = doing(Effect.uninterruptible(later(60_000, sunny))).pipe(Tool.with(deaf), Tool.timeout("5 seconds"))
      const { events, outcome } = yield* told(tool)
      assert.strictEqual(waitedIn(outcome), 1_000)
      assert.deepStrictEqual(events.filter(({ _tag }) => _tag === "WaitEnded").map(({ at }) => at), [1_000])
    }))

  it.effect("of two successful runs, the notes of the answering one count, and those of the policy", () =>
    Effect.gen(function*() {
      const first = custom((run) => (params) =>
        Effect.gen(function*() {
          const answer = yield* run(params)
          yield* run(params)
          yield* ToolCall.caveat("asked twice")
          return answer
        })
      )
      const steps = [words("one"), words("two")]
      const outcome = yield* outcomeOf(stepping(steps).pipe(Tool.with(first)))
      assert.deepInclude(outcome, { value: "one" })
      assert.deepStrictEqual(caveatsOf(outcome), ["one", "asked twice"])
      const second = custom((run) => (params) => Effect.andThen(run(params), run(params)))
      assert.deepStrictEqual(caveatsOf(yield* outcomeOf(stepping(steps).pipe(Tool.with(second)))), ["two"])
      const best = custom((run) => (params) => Effect.tap(run(params), Effect.ignore(run(params))))
      assert.deepStrictEqual(caveatsOf(yield* outcomeOf(stepping([words("one"), lost]).pipe(Tool.with(best)))), ["one"])
    }))

  it.effect("a run that answers without its handler has no notes of an earlier run", () =>
    Effect.gen(function*() {
      const known = custom((run) => {
        let answer: Effect.Effect<Effect.Success<ReturnType<typeof run>>> | undefined
        return (params) =>
          answer ?? Effect.tap(run(params), (value) =>
            Effect.sync(() => {
              answer = Effect.succeed(value)
            }))
      }, "known")
      const second = custom((run) => (params) => Effect.andThen(run(params), run(params)))
      const asked = doing(Effect.as(ToolCall.caveat("of the first"), "sunny")).pipe(Tool.with(known), Tool.with(second))
      assert.deepStrictEqual(caveatsOf(yield* outcomeOf(asked)), [])
    }))

  it.effect("a partial result that is not returned leaves no notes", () =>
    Effect.gen(function*() {
      const part = Effect.fail(new PartialData({ code: "more_pages", detail: "1 of 2.", data: "one" }))
      const tool = stepping([Effect.andThen(ToolCall.caveat("a part"), part)]).pipe(
        Tool.with(custom<SemanticGarbage>((run) => (params) => Effect.mapError(run(params), () => mine))),
        Tool.catchTag("SemanticGarbage", () => sunny)
      )
      assert.deepStrictEqual(caveatsOf(yield* outcomeOf(tool)), [])
      const swallowing = custom((run) => (params) =>
        Effect.catch(run(params), () => other.run(paris) as Effect.Effect<never>)
      )
      const other = doing(sunny)
      const swallowed = stepping([Effect.andThen(ToolCall.caveat("a part"), part)]).pipe(Tool.with(swallowing))
      assert.deepStrictEqual(caveatsOf(yield* outcomeOf(swallowed)), [])
    }))

  const paged = (steps: (page: number) => Effect.Effect<string, ToolFailure.ToolFailure<string>>) =>
    Tool.make("get_weather", {
      description: "",
      parameters: Schema.Struct({ city: Schema.String, page: Schema.optionalKey(Schema.Int) }),
      success: Schema.String,
      sideEffect: "none"
    }, ({ page = 1 }) => steps(page))

  const more = (page: number) =>
    Effect.fail(new PartialData({ code: "more_pages", detail: "More.", data: `${page}`, next: { page: page + 1 } }))

  const complete = (options?: Partial<Policy.PaginateOptions<string>>) =>
    Tool.paginate<string>({ merge: (soFar, page) => soFar + page, ...options })

  it.effect("of two partial results, the notes of the returned one count", () =>
    Effect.gen(function*() {
      const part = (words: string) =>
        Effect.andThen(
          ToolCall.caveat(words),
          Effect.fail(new PartialData({ code: "more_pages", detail: words, data: words, next: { city: "Rome" } }))
        )
      for (const [chosen, words] of ["of the first", "of the second"].entries()) {
        const tool = stepping([part("of the first"), part("of the second"), sunny]).pipe(
          Tool.with(custom((run) => {
            let isFirst = true
            return (params) => {
              if (!isFirst) return run(params)
              isFirst = false
              const both = Effect.all([Effect.exit(run(params)), Effect.exit(run(params))])
              return Effect.flatMap(both, (exits) => exits[chosen]!)
            }
          })),
          Tool.paginate({ merge: (soFar, page) => soFar + page })
        )
        assert.deepStrictEqual(caveatsOf(yield* outcomeOf(tool)), [words])
      }
    }))

  it.effect("an abandoned page is ignored", () =>
    Effect.gen(function*() {
      const deaf = custom((run) => (params) => Effect.uninterruptible(Effect.catch(run(params), () => run(params))))
      const tool = paged((page) => page === 1 ? more(page) : later(5_000, Effect.fail(refused))).pipe(
        Tool.with(deaf),
        complete({ time: "2 seconds" }),
        Tool.with(custom((run) => (params) => Effect.onExit(run(params), () => Effect.sleep("1 minute"))))
      )
      const { events, outcome } = yield* told(tool)
      // Page 1 runs twice, because it is partial. The second run of page 2 is abandoned.
      assert.strictEqual(ToolOutcome.executions(outcome), 3)
      assert.deepStrictEqual(handledIn(outcome), ["more_pages by custom mine"])
      assert.deepStrictEqual<unknown>(one(events, "AttemptAbandoned"), { _tag: "AttemptAbandoned", by: "paginate" })
    }))

  it.effect("pages within pages are executions", () =>
    Effect.gen(function*() {
      const tool = paged((page) => page < 4 ? more(page) : Effect.succeed(`${page}`))
      const outcome = yield* outcomeOf(tool.pipe(complete({ pages: 2 }), complete({ pages: 2 })))
      assert.strictEqual(ToolOutcome.executions(outcome), 4)
    }))

  it.effect("an interrupted check has handled the failure", () =>
    Effect.gen(function*() {
      const unknown = new ToolUnavailable({ ...refused, outcome: "unknown" })
      const tool = doing(Effect.fail(unknown), "idempotent").pipe(
        Tool.reconcile(() => Effect.never),
        Tool.timeout("1 second")
      )
      assert.deepStrictEqual(handledIn(yield* outcomeOf(tool)), ["connection by reconcile"])
    }))

  it.effect("a run that continues after its policy ends is abandoned and ignored", () =>
    Effect.gen(function*() {
      const leaving = custom<SemanticGarbage>((run) => (params) =>
        Effect.andThen(Effect.forkDetach(run(params), { startImmediately: true }), Effect.fail(mine))
      )
      const tool = doing(Effect.andThen(later(1_000, ToolCall.caveat("late")), Effect.fail(refused))).pipe(
        Tool.with(leaving),
        Tool.catchTag("SemanticGarbage", () => later(10_000, sunny))
      )
      const { events, outcome } = yield* told(tool)
      assert.deepStrictEqual<unknown>(one(events, "AttemptAbandoned"), {
        _tag: "AttemptAbandoned",
        by: "custom",
        policy: "mine"
      })
      assert.deepStrictEqual([outcome.attempts, handledIn(outcome), caveatsOf(outcome)], [1, ["mine by catch"], []])
    }))
})
