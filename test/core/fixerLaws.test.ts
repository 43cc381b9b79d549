/**
 * A fixer never makes a call worse: where it has nothing better, the call comes to what it comes to without it, under random policies of ours
 * and of users.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import { Fixer, Tool } from "@fallible/core"
import { Effect } from "effect"
import * as fc from "fast-check"
import type { Written } from "../support/paymentPolicies.ts"
import { described, play, type Scenario, scenario } from "../support/payments.ts"

/** Fixers that have nothing better, and take no time for it. */
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

/**
 * Other fixers; what runs twice at the same time, where one rejects and the other goes on; and what goes on after a defect. A limit, and a
 * rate, let a rejection through that they would hold up without a fixer.
 */
const isLeftOut = ([text]: Written) => /^(fixer|hedges|leaves it behind|swallows defects|limit|rate)/.test(text)

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

/** What a call came to, and what was done in it. */
const cameTo = ({ outcome, world }: Awaited<ReturnType<typeof play>>[number]) => ({
  tag: outcome?._tag,
  certainty: outcome?.certainty,
  code: outcome?._tag === "Failed" ? outcome.failure.code : undefined,
  value: outcome?._tag === "Completed" ? outcome.value : undefined,
  paid: world.paid
})

describe("C3: a useless fixer", () => {
  it("changes nothing about 2,000 calls", async () => {
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
      { numRuns: 2_000 }
    )
    assert.isAbove(rejected, 100)
  })
})
