/**
 * A fixer never makes a call worse. Without a correction, the call ends as it does without the fixer, under random
 * policies, ours and custom.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import { Fixer, Observer, Policy, Tool, type ToolFailure, ToolUnavailable } from "@fallible/core"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import * as RateLimit from "@fallible/core/RateLimit"
import type * as SideEffect from "@fallible/core/SideEffect"
import { Effect, Layer, Record, Schedule, Schema } from "effect"
import { CircuitBreaker as Breaker, RateLimiter } from "effect/persistence"
import * as fc from "fast-check"
import { call, lostAnswer, type Mistake, parameters, uncapitalized } from "../support/fixing.ts"
import type { Written } from "../support/paymentPolicies.ts"
import { described, play, type Scenario, scenario } from "../support/payments.ts"
import { cases, runs } from "../support/runs.ts"

/** Fixers without a correction, which take no time. */
const useless: Readonly<Record<string, Fixer.Fixer>> = {
  "nothing": () => "",
  "the same": ({ text }) => text,
  "nonsense": () => "Pay now!",
  "another key": () => ({ odrer: "7" }),
  "a receipt that is none": () => Fixer.answer({ receipt: 7 }),
  "a failure": () => Effect.fail("no idea"),
  "a defect": () => Effect.die("no idea"),
  "an interruption": () => Effect.interrupt,
  "what is no answer": () => Effect.succeed(new Map() as never)
}

const on = ["SemanticGarbage", "ToolUnavailable", "defect"] as const

/** True for policies outside this law: other fixers, with corrections. */
const isLeftOut = ([text]: Written) => text.startsWith("fixer")

const written: fc.Arbitrary<Written> = fc.tuple(fc.constantFrom(...Object.entries(useless)), fc.boolean()).map((
  [[text, fix], isForAll]
) => [text, Tool.fix(fix, { tries: 3, ...(isForAll ? { on } : {}) })])

const pair: fc.Arbitrary<readonly [plain: Scenario, fixed: Scenario]> = fc.tuple(scenario, written, fc.nat(5)).map((
  [given, fixer, place]
) => {
  const plain = {
    ...given,
    policies: given.policies.filter((policy) => !isLeftOut(policy)),
    outer: given.outer?.filter((policy) => !isLeftOut(policy)),
    acts: [{ end: "rejects", takes: 0, isDeaf: false }] as const
  }
  return [plain, { ...plain, policies: plain.policies.toSpliced(place, 0, fixer) }]
})

/** Returns the outcome of a call, and its effects. */
const cameTo = ({ outcome, world }: Awaited<ReturnType<typeof play>>[number]) => ({
  tag: outcome?._tag,
  certainty: outcome?.certainty,
  code: outcome?._tag === "Failed" ? outcome.failure.code : undefined,
  value: outcome?._tag === "Completed" ? outcome.value : undefined,
  paid: world.paid
})

type Limited = Tool.Tool<
  string,
  typeof parameters.Type,
  string,
  Mistake,
  Breaker.CircuitBreaker | RateLimiter.RateLimiter
>

type Change = (tool: Limited) => Limited

const down = new ToolUnavailable({ code: "down", detail: "Down.", transient: true, outcome: "not_executed" })

const endings = {
  rejects: Effect.fail(uncapitalized("paris")),
  answers: Effect.succeed("sunny"),
  isDown: Effect.fail(down),
  isLost: Effect.fail(lostAnswer)
} satisfies Record<string, Effect.Effect<string, Mistake>>

const custom = (
  name: string,
  change: <A, E extends ToolFailure.ToolFailure, R>(inside: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
): Change =>
  Tool.with(Policy.make({ kind: "custom", name, description: "", wrap: (run) => (params) => change(run(params)) }))

const changes: ReadonlyArray<Change> = [
  Tool.concurrency(1, { maxWait: 0 }),
  RateLimit.limit({ limit: 9_999, window: "1 hour", onExceeded: "refuse" }),
  CircuitBreaker.protect(),
  Tool.retry(Schedule.recurs(2)),
  Tool.mapFailure((failure): Mistake => failure._tag === "SchemaMismatch" ? down : failure),
  Tool.mapFailure((failure): Mistake => failure._tag === "ToolUnavailable" ? uncapitalized("mapped") : failure),
  Tool.catchTag("SchemaMismatch", () => Effect.succeed("caught")),
  custom("again", (inside) => Effect.catch(inside, () => inside)),
  custom("thrice", (inside) => Effect.retry(inside, { times: 2 })),
  custom("twice", (inside) => Effect.andThen(inside, inside))
]

const limited = fc.tuple(
  fc.constantFrom("none" as const, "non_idempotent" as const, "idempotent" as const),
  fc.array(fc.constantFrom("rejects" as const, ...Record.keys(endings)), { minLength: 4, maxLength: 4 }),
  fc.array(fc.constantFrom(...changes), { maxLength: 5 }),
  fc.constantFrom(...Object.entries(useless)).map(([text, fix]): readonly [string, Change] => [
    text,
    (tool) => Tool.fix(tool, fix)
  ])
)

/** Returns the outcomes of three calls whose handler first rejects, then ends as given. */
const behindLimits = (
  sideEffect: SideEffect.SideEffect,
  ends: ReadonlyArray<keyof typeof endings>,
  policies: ReadonlyArray<Change>
) => {
  let ran = 0
  const plain: Limited = Tool.make(
    "get_weather",
    { description: "", parameters, success: Schema.String, sideEffect },
    () =>
      Effect.suspend((): Effect.Effect<string, Mistake> => endings[ran++ === 0 ? "rejects" : ends[ran % ends.length]!])
  )
  const tool = policies.reduce((tool, change) => change(tool), plain)
  const played = Effect.forEach(["a", "b", "c"], (idempotencyKey) => {
    ran = 0
    return Effect.map(call(tool, { city: "paris" }, { idempotencyKey }), (outcome) => ({
      ran,
      tag: outcome._tag,
      certainty: outcome.certainty,
      failure: outcome._tag === "Failed" ? outcome.failure.code : undefined,
      value: outcome._tag === "Completed" ? outcome.value : undefined
    }))
  })
  const breaker = Breaker.layer({ tripPolicy: Breaker.consecutive(3), openDuration: "1 hour" })
  const services = Layer.mergeAll(
    Layer.provide(breaker, Breaker.layerStoreMemory()),
    Layer.provide(RateLimiter.layer, RateLimiter.layerStoreMemory)
  )
  return Effect.runPromise(Effect.provide(Observer.observe(played, { onDefect: () => Effect.void }), services))
}

describe("C3: a useless fixer", () => {
  it(`changes nothing about ${runs(2_000)} calls`, async () => {
    let rejected = 0
    await fc.assert(
      fc.asyncProperty(pair, async ([plain, fixed]) => {
        const [without, withFixer] = [await play(plain), await play(fixed)]
        assert.deepStrictEqual(withFixer.map(cameTo), without.map(cameTo), described(fixed))
        withFixer.forEach(({ world: { executions } }, index) => {
          assert.isAtMost(executions.length, without[index]!.world.executions.length, described(fixed))
        })
        if (without.some(({ outcome }) => outcome?._tag === "Failed" && outcome.failure._tag === "SchemaMismatch")) {
          rejected++
        }
      }),
      { numRuns: runs(2_000) }
    )
    assert.isAbove(rejected, cases(100))
  })

  it("changes nothing about 500 calls behind limits, one after another", async () => {
    let rejected = 0
    await fc.assert(
      fc.asyncProperty(limited, async ([sideEffect, ends, policies, [text, fix]]) => {
        const [without, withFixer] = [
          await behindLimits(sideEffect, ends, policies),
          await behindLimits(sideEffect, ends, [...policies, fix])
        ]
        assert.deepStrictEqual(withFixer, without, text)
        if (JSON.stringify(without).includes("uncapitalized")) rejected++
      }),
      { numRuns: 500 }
    )
    assert.isAbove(rejected, 100)
  })
})
