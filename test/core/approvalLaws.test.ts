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
import { atOnce, batch, examples, history, play, type Playing } from "../support/approvalHistories.ts"
import { FileJournal } from "../support/fileJournal.ts"
import { cases, runs } from "../support/runs.ts"

const counting = () => {
  const counts = new Map<string, number>()
  return {
    seen: (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1),
    /** Checks that the sample had enough of each kind. A short sample may have none of the rarest. */
    check: (expected: Readonly<Record<string, number>>) => {
      const missing = Object.entries(expected).filter(([what, min]) => (counts.get(what) ?? 0) < Math.floor(cases(min)))
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
  const attacked = runs(10_000, 40)
  it(`never leads to a run with other arguments, in ${attacked} random histories`, async () => {
    const { check, seen } = counting()
    await fc.assert(
      fc.asyncProperty(history, (one) => Effect.runPromise(play(one, seen))),
      { numRuns: attacked, examples: [...examples] }
    )
    check({
      "approved": 2_000,
      "edited": 700,
      "denied": 1_000,
      "partly answered": 500,
      "too late": 30,
      "told of a denial": 700,
      "a fixer's text": 200,
      "a handler's rejection": 150,
      "retried below the model": 150,
      "a second resume that is refused": 250,
      "a second resume that runs": 200,
      "done again": 40,
      "replies in place": 150,
      "a reply in words": 39,
      "wrong id": 39,
      "wrong digest": 39,
      "the digest of another call": 30,
      "stale": 30,
      "other arguments": 39,
      "other corrected arguments": 39,
      "another digest": 39,
      "another digest in both places": 39,
      "consistent": 39,
      "questions swapped": 30,
      "outcomes swapped": 30,
      "all swapped": 30,
      "a reply moved": 20,
      "a reply of nobody": 30,
      "another id": 39
    })
  })

  const ofBatches = runs(2_000, 40)
  it(`leaves each of 1 to 8 calls one result, in ${ofBatches} random turns`, async () => {
    const { check, seen } = counting()
    await fc.assert(
      fc.asyncProperty(batch, (one) => Effect.runPromise(play(one, seen, { ...atOnce, isAttacked: false }))),
      { numRuns: ofBatches }
    )
    check({
      "approved": 400,
      "edited": 80,
      "denied": 150,
      "partly answered": 80,
      "told of a denial": 150,
      "replies in place": 19,
      "too late": 15
    })
  })

  it("holds in processes that stop, in 40 random histories", () =>
    fc.assert(
      fc.asyncProperty(history, stops, (one, planned) => Effect.runPromise(play(one, () => {}, inProcesses(planned)))),
      { numRuns: 40 }
    ))
})
