/**
 * The laws of approvals: whatever a model calls, handlers do, people reply and attackers change, nothing runs with arguments that
 * nobody approved for that very call, and nothing runs twice by one approval. Each call has one result.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import * as Journal from "@fallible/core/Journal"
import { Effect } from "effect"
import * as fc from "fast-check"
import { atOnce, batch, history, play, type Playing } from "../support/approvalHistories.ts"
import { FileJournal } from "../support/fileJournal.ts"
import { cases, runs } from "../support/runs.ts"

const counting = () => {
  const counts = new Map<string, number>()
  return {
    seen: (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1),
    /** Checks that the sample had enough of each kind: half of what is usual, and of the rarest kinds only if it is large. */
    check: (expected: Readonly<Record<string, number>>) => {
      const missing = Object.entries(expected).filter(([what, min]) =>
        (counts.get(what) ?? 0) < Math.floor(cases(min / 2))
      )
      assert.deepStrictEqual(missing, [], JSON.stringify(Object.fromEntries(counts)))
    }
  }
}

const stops = fc.array(fc.record({ step: fc.integer({ min: 2, max: 9 }), hasRun: fc.boolean() }), {
  minLength: 1,
  maxLength: 3
})

/** Plays in processes that stop, with one journal. */
const inProcesses = (planned: typeof stops extends fc.Arbitrary<infer A> ? A : never): Playing => {
  const file = new FileJournal()
  const remaining = [...planned]
  return {
    isAttacked: false,
    stops: true,
    within: (run) =>
      Effect.gen(function*() {
        for (;;) {
          const exit = yield* file.process(
            (journal) => Effect.provideService(run, Journal.current, journal),
            remaining.shift()
          )
          if (exit !== undefined) return exit
        }
      })
  }
}

describe("an approval", () => {
  const attacked = runs(10_000, 25)
  it(`never leads to a run with other arguments, in ${attacked} random histories`, async () => {
    const { check, seen } = counting()
    await fc.assert(
      fc.asyncProperty(history, (one) => Effect.runPromise(play(one, seen))),
      { numRuns: attacked }
    )
    check({
      "approved": 8_000,
      "edited": 3_000,
      "denied": 4_000,
      "partly answered": 2_000,
      "too late": 300,
      "told of a denial": 3_000,
      "a fixer's text": 1_000,
      "a handler's rejection": 700,
      "retried below the model": 700,
      "a second resume that is refused": 1_000,
      "a second resume that runs": 1_000,
      "a reply in words": 500,
      "wrong id": 400,
      "wrong digest": 400,
      "the digest of another call": 200,
      "stale": 200,
      "other arguments": 400,
      "other corrected arguments": 400,
      "another digest": 300,
      "another digest in both places": 400,
      "consistent": 400,
      "questions swapped": 200,
      "outcomes swapped": 200,
      "all swapped": 200,
      "a reply moved": 30,
      "a reply of nobody": 200,
      "another id": 400
    })
  })

  const ofBatches = runs(2_000, 25)
  it(`leaves each of 1 to 8 calls one result, in ${ofBatches} random turns`, async () => {
    const { check, seen } = counting()
    await fc.assert(
      fc.asyncProperty(batch, (one) => Effect.runPromise(play(one, seen, { ...atOnce, isAttacked: false }))),
      { numRuns: ofBatches }
    )
    check({
      "approved": 2_000,
      "edited": 800,
      "denied": 1_000,
      "partly answered": 600,
      "told of a denial": 900,
      "too late": 30
    })
  })

  it("holds in processes that stop, in 60 random histories", () =>
    fc.assert(
      fc.asyncProperty(history, stops, (one, planned) => Effect.runPromise(play(one, () => {}, inProcesses(planned)))),
      { numRuns: 60 }
    ))
})
