/** A fixer is asked about what the policies have left over, unless something may have acted by then. */
import { assert, describe, it } from "@effect/vitest"
import {
  Dispatch,
  Fixer,
  Policy,
  SchemaMismatch,
  Tool,
  type ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as RateLimit from "@fallible/core/RateLimit"
import { Cause, Effect, Layer, Schema } from "effect"
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

type Failure = ToolFailure.ToolFailure<string>

const wrong = { city: "paris" }

const custom = (name: string, wrap: Policy.Options["wrap"]) =>
  Tool.with(Policy.make({ kind: "custom", name, description: "", wrap }))

const odd = (outcome?: "executed" | "unknown") =>
  new ToolUnavailable({
    code: "odd",
    detail: "Odd.",
    transient: false,
    ...(outcome === undefined ? {} : { outcome })
  })

const limiter = RateLimiter.layer.pipe(Layer.provide(RateLimiter.layerStoreMemory))

describe("no fixer is asked", () => {
  for (const outcome of ["executed", "unknown"] as const) {
    it.effect(`if a policy says that it has acted (${outcome}), whatever another makes of it`, () =>
      Effect.gen(function*() {
        for (const hides of [false, true]) {
          const { asked, tool } = weather("non_idempotent")
          const { fix, told } = fixer(toParis)
          const elsewhere = tool.pipe(
            custom(
              "elsewhere",
              (run) => (params) => Effect.catch(run(params), () => Effect.fail(odd(outcome) as never))
            )
          )
          const fixed = hides
            ? elsewhere.pipe(Tool.mapFailure((): Failure => odd()), Tool.fix(fix, { on: ["ToolUnavailable"] }))
            : elsewhere.pipe(Tool.fix(fix, { on: ["ToolUnavailable"] }))
          const result = failed(yield* call(fixed, wrong))
          assert.deepStrictEqual([result.certainty, asked, told.length], [outcome, ["paris"], 0])
        }
      }))

    it.effect(`if a mapping says so (${outcome}): neither words nor an answer replace that`, () =>
      Effect.gen(function*() {
        for (
          const answer of [
            Fixer.escalate({ detail: "Which?" }),
            Fixer.answer("cached"),
            Effect.succeed("{\"city\":\"Paris\"}")
          ]
        ) {
          const { asked, tool } = weather("non_idempotent")
          const fixed = tool.pipe(Tool.mapFailure((): Failure => odd(outcome)), Tool.fix(() => answer))
          assert.deepStrictEqual([failed(yield* call(fixed, wrong)).certainty, asked], [outcome, ["paris"]])
        }
      }))
  }

  it.effect("once a policy has run something that acts, even if it swallows how that ended", () =>
    Effect.gen(function*() {
      const pay = Tool.make(
        "pay",
        { description: "", parameters, success: Schema.String },
        () => Effect.fail(odd("unknown"))
      )
      const policies: ReadonlyArray<Policy.Options["wrap"]> = [
        (run) => (params) => Effect.catch(run(params), () => pay.run(wrong) as Effect.Effect<never>),
        (run) => (params) => Effect.tapError(run(params), () => Effect.exit(pay.run(wrong)))
      ]
      for (const sideEffect of ["none", "non_idempotent"] as const) {
        for (const wrap of policies) {
          const { asked, tool } = weather(sideEffect)
          const { fix, told } = fixer(toParis)
          yield* call(tool.pipe(custom("pays", wrap), Tool.fix(fix)), wrong)
          assert.deepStrictEqual([asked, told.length], [["paris"], 0])
        }
      }
    }))

  it.effect("about the rejection of arguments that have been corrected since", () =>
    Effect.gen(function*() {
      const { asked, tool } = weather("none")
      const { fix, told } = fixer(() => Fixer.escalate({ detail: "No such city." }))
      const limited = tool.pipe(
        RateLimit.limit({ limit: 1, window: "1 minute", onExceeded: "refuse" }),
        Tool.fix(toParis),
        Tool.fix(fix)
      )
      const { failure } = failed(yield* call(limited, wrong))
      assert.deepStrictEqual([failure.code, asked, told.length], ["throttled", ["paris"], 0])
    }).pipe(Effect.provide(limiter)))

  it.effect("about a rejection by an earlier one of two runs, which end one after the other", () =>
    Effect.gen(function*() {
      let runs = 0
      const { fix, told } = fixer(toParis)
      const tool = Tool.make(
        "visit",
        { description: "", parameters, success: Schema.String, sideEffect: "none" },
        ({ city }) =>
          Effect.suspend((): Effect.Effect<string, Failure> =>
            ++runs === 1
              ? Effect.delay(Effect.fail(uncapitalized(city)), "1 second")
              : Effect.delay(Effect.fail(odd()), "2 seconds")
          )
      ).pipe(
        custom("both", (run) => (params) =>
          Effect.flatMap(
            Effect.all([Effect.exit(run(params)), Effect.exit(run(params))], { concurrency: 2 }),
            ([, second]) => second
          )),
        Tool.fix(fix)
      )
      const fiber = yield* Effect.forkChild(call(tool, wrong))
      yield* TestClock.adjust("1 minute")
      const { failure } = failed(yield* Effect.flatten(Effect.fromNullishOr(fiber.pollUnsafe())).pipe(Effect.orDie))
      assert.deepStrictEqual([failure.code, told.length], ["odd", 0])
    }))

  it.effect("about the copied rejection of a call that the handler has dispatched", () =>
    Effect.gen(function*() {
      const kit = Toolkit.make(weather("none").tool)
      const { fix, told } = fixer(toParis)
      const outer = Tool.make(
        "outer",
        { description: "", parameters, success: Schema.String, sideEffect: "none" },
        ({ city }) =>
          Effect.flatMap(
            Dispatch.call(kit, { id: "1", name: "get_weather", arguments: JSON.stringify({ city }) }),
            (outcome): Effect.Effect<string, Failure> =>
              outcome._tag === "Failed"
                ? Effect.fail(
                  new SchemaMismatch({ side: "arguments", code: outcome.failure.code, detail: outcome.failure.detail })
                )
                : Effect.succeed("visited")
          )
      ).pipe(Tool.fix(fix))
      assert.deepStrictEqual([failed(yield* call(outer, wrong)).failure.code, told.length], ["uncapitalized", 0])
    }))
})

describe("a fixer", () => {
  it.effect("is asked about a rejection that a policy could not repeat", () =>
    Effect.gen(function*() {
      const { asked, tool } = weather("none")
      const limited = tool.pipe(
        RateLimit.limit({ limit: 1, window: "1 minute", onExceeded: "refuse" }),
        custom("again", (run) => (params) =>
          Effect.catch(run(params), (first) => Effect.catch(run(params), () => Effect.fail(first)))),
        Tool.fix(() =>
          Fixer.answer("stayed at home")
        )
      )
      assert.strictEqual(completed(yield* call(limited, wrong)).value, "stayed at home")
      assert.deepStrictEqual(asked, ["paris"])
    }).pipe(Effect.provide(limiter)))

  it.effect("replaces the failure that the policies have left over, once", () =>
    Effect.gen(function*() {
      const fixed = weather("none").tool.pipe(
        Tool.catchTag("SchemaMismatch", () => Effect.fail(odd())),
        Tool.fix(toParis)
      )
      assert.deepStrictEqual(handled(yield* call(fixed, wrong)), ["catch uncapitalized", "fix odd"])
    }))

  it.effect("without an answer changes nothing about a handler that fails and is interrupted", () =>
    Effect.gen(function*() {
      const causes = [Cause.makeInterruptReason(7), Cause.makeDieReason("oops")].map((other) =>
        Cause.fromReasons<Failure>([Cause.makeFailReason(odd()), other])
      )
      for (const cause of causes) {
        const tool = Tool.make(
          "visit",
          { description: "", parameters, success: Schema.String, sideEffect: "none" },
          () => Effect.failCause(cause)
        )
        const plain = failed(yield* call(tool, wrong))
        const fixed = failed(yield* call(tool.pipe(Tool.fix(() => undefined)), wrong))
        assert.deepStrictEqual(fixed.failure, plain.failure)
      }
    }))
})
