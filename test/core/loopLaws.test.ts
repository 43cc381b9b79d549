/**
 * The guard against loops never stops a run that makes progress, and always stops a run that is stuck.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import { SemanticGarbage, ToolUnavailable } from "@fallible/core"
import * as LoopGuard from "@fallible/core/LoopGuard"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Duration } from "effect"
import * as fc from "fast-check"
import { judgeTurn, noLoop, refuseInLoop } from "../../packages/core/src/internal/agent/loopGuard.ts"
import { type Observed } from "../../packages/core/src/internal/agent/loopJudgement.ts"
import { isPending } from "../../packages/core/src/internal/value/pendingData.ts"

const effort = { attempts: 1, waited: Duration.zero, handled: [] } as const
const reads = { sideEffect: "none" } as const
const acts = { sideEffect: "non_idempotent" } as const

const json = fc.jsonValue({ maxDepth: 3 }).map((value) =>
  JSON.parse(JSON.stringify(value)) as ToolOutcome.Completed["value"]
)

const completed = (value: ToolOutcome.Completed["value"], certainty: "executed" | "not_executed" = "not_executed") =>
  ({ _tag: "Completed", value, caveats: [], certainty, ...effort }) satisfies ToolOutcome.Completed

const failed = (failure: ToolOutcome.Failed["failure"], attempts: number) =>
  ({
    _tag: "Failed",
    failure,
    stage: "run",
    certainty: "not_executed",
    ...effort,
    attempts
  }) satisfies ToolOutcome.Failed

const toolName = fc.constantFrom("look", "find", "__proto__")
const argumentText = fc.constantFrom(
  undefined,
  "",
  "null",
  "{}",
  "{\"n\":1}",
  "{\"n\":2}",
  "{ \"n\": 1 }",
  "[",
  "{\"__proto__\":1}"
)
const callOf = (name: string, text: string | undefined) =>
  text === undefined ? { id: "1", name } : { id: "1", name, arguments: text }

const result = fc.oneof(json, fc.constant("the same text again and again, ".repeat(5)), fc.constant(true))

/** Any call: most of them repeat what is known. */
const anyCall: fc.Arbitrary<Observed> = fc.record({
  call: fc.tuple(toolName, argumentText).map(([name, text]) => callOf(name, text)),
  outcome: fc.oneof(
    { weight: 4, arbitrary: result.map((value) => completed(value)) },
    {
      weight: 2,
      arbitrary: fc.tuple(
        fc.constantFrom("", "not_found", "repeated_call", "already_done", "loop_detected", "call_limit", "not_run"),
        fc.constantFrom(0, 0, 1, 3)
      ).map(([code, attempts]) => failed(new ToolUnavailable({ code, detail: "", transient: false }), attempts))
    },
    {
      weight: 1,
      arbitrary: fc.constant(failed(new SemanticGarbage({ code: "not_found", detail: "No row." }), 1))
    }
  ),
  tool: fc.constantFrom(reads, undefined)
})

const guardOptions = fc.record({
  tell: fc.integer({ min: 2, max: 4 }),
  window: fc.integer({ min: 6, max: 30 })
})

/** Plays turns through a guard, which refuses calls as an agent does. Returns the steps, one for each turn. */
const play = (guard: LoopGuard.LoopGuard, turns: ReadonlyArray<ReadonlyArray<Observed>>) => {
  let state = noLoop
  const steps: Array<LoopGuard.Step | undefined> = []
  for (const [index, calls] of turns.entries()) {
    const before = state
    const verdict = judgeTurn(
      guard,
      state,
      index + 1,
      calls.map((observed) => {
        const { call, tool } = observed
        const refusal = tool === undefined ? undefined : refuseInLoop(guard, before, call, tool)
        return refusal === undefined ? observed : { ...observed, outcome: failed(refusal, 0) }
      }),
      { used: 0 }
    )
    state = verdict.state
    steps.push(verdict.step)
    assert.isAtMost(state.seen.length, guard.window + 1)
    assert.isTrue(verdict.notes.length === 0 || verdict.notes.length === calls.length)
    assert.strictEqual(verdict.step === undefined, verdict.repeated.length === 0)
    if (verdict.step === "ended") break
  }
  return { state, steps }
}

describe("the guard against loops", () => {
  it("H10 never refuses, withdraws or ends if each turn has news or an effect, in 1,000 random runs", () => {
    const turn = fc.tuple(fc.array(anyCall, { maxLength: 4 }), fc.boolean(), toolName, argumentText, fc.nat(4))
    fc.assert(
      fc.property(guardOptions, fc.array(turn, { maxLength: 60 }), (options, turns) => {
        const guard = LoopGuard.make(options)
        const productive = turns.map(([others, isEffect, name, text, at], index) => {
          const call = callOf(name, text)
          const news: Observed = isEffect
            ? { call, outcome: completed("pressed", "executed"), tool: acts }
            : { call, outcome: completed(`news ${index}`), tool: reads }
          return others.toSpliced(at, 0, news)
        })
        // Another call of the turn may be refused, but the call that brings news is not.
        let state = noLoop
        for (const [index, calls] of productive.entries()) {
          for (const { call, tool } of calls) {
            assert.isUndefined(tool === undefined ? undefined : refuseInLoop(guard, state, call, tool))
          }
          const verdict = judgeTurn(guard, state, index + 1, calls, { used: 0 })
          state = verdict.state
          assert.include([undefined, "warned"], verdict.step)
          assert.deepInclude(state, { count: 0, withdrawn: [] })
        }
      }),
      { numRuns: 1_000 }
    )
  })

  it("H10 tells and then ends each run that only repeats known calls, in 1,000 random runs", () => {
    // A result that says that something is under way is looked at twenty times before it counts.
    const value = result.filter((value) => !isPending(value))
    const known = fc.uniqueArray(fc.record({ name: toolName, n: fc.nat(5), value }), {
      minLength: 1,
      maxLength: 3,
      selector: ({ n, name }) => `${name} ${n}`
    })
    const stuck = fc.infiniteStream(fc.array(fc.nat(2), { minLength: 1, maxLength: 3 }))
    const before = fc.array(fc.array(anyCall, { minLength: 1, maxLength: 3 }), { maxLength: 20 })
    fc.assert(
      fc.property(guardOptions, before, known, stuck, (options, before, known, stuck) => {
        const guard = LoopGuard.make(options)
        // The earlier turns bring news, so that none of them ends the run.
        const earlier = before.map((calls, index) => [
          ...calls.filter(({ call }) => !call.arguments?.includes("stuck")),
          { call: callOf("look", "{}"), outcome: completed(`news ${index}`), tool: reads }
        ])
        const turns = Array.from(stuck.take(60), (indexes) =>
          indexes.map((index): Observed => {
            const { n, name, value } = known[index % known.length]!
            return { call: callOf(name, `{"stuck":${n}}`), outcome: completed(value), tool: reads }
          }))
        const { steps } = play(guard, [...earlier, ...turns])
        const own = steps.slice(earlier.length)
        assert.strictEqual(own.at(-1), "ended")
        assert.isTrue(own.includes("warned"))
        // A call that is made for the first time is news. After the last news, a round of three calls counts once.
        const texts = turns.map((calls) => calls.map(({ call }) => JSON.stringify([call.name, call.arguments])))
        const isNews = (text: string, turn: number) => !texts.slice(0, turn).some((earlier) => earlier.includes(text))
        const news = texts.slice(0, own.length).findLastIndex((turn, index) => turn.some((text) => isNews(text, index)))
        assert.isAtMost(own.length - news - 1, 3 * guard.endAt)
      }),
      { numRuns: 1_000 }
    )
  })

  it("H10 ends each run whose calls fail in the same way with ever other arguments", () => {
    fc.assert(
      fc.property(guardOptions, (options) => {
        const guard = LoopGuard.make(options)
        const turns = Array.from({ length: 60 }, (_, n) => [{
          call: callOf("look", `{"n":${n}}`),
          outcome: failed(new ToolUnavailable({ code: "failed", detail: `Row ${n} is lost.`, transient: false }), 1),
          tool: reads
        }])
        const { steps } = play(guard, turns)
        assert.strictEqual(steps.length, Math.max(12, guard.endAt))
        assert.notInclude(steps, "refused")
      })
    )
  })

  it("H10 throws for no outcomes, and never exceeds its window, in 1,000 random runs", () => {
    const hostile = fc.record({
      call: fc.tuple(fc.string(), fc.option(fc.oneof(fc.string(), fc.json()), { nil: undefined })).map(([name, text]) =>
        callOf(name, text)
      ),
      outcome: fc.oneof(
        json.map((value) => completed(value)),
        json.map((value) => completed(JSON.stringify(value), "executed")),
        fc.string().map((code) => failed(new ToolUnavailable({ code, detail: code, transient: true }), 0)),
        fc.constant({ _tag: "Stopped", reason: "", certainty: "unknown", ...effort } as const)
      ),
      tool: fc.constantFrom(reads, acts, undefined, { ...reads, volatile: ["__proto__", "a", ""] })
    })
    fc.assert(
      fc.property(guardOptions, fc.array(fc.array(fc.oneof(hostile, anyCall), { maxLength: 40 }), { maxLength: 12 }), (
        options,
        turns
      ) => {
        play(LoopGuard.make(options), turns)
      }),
      { numRuns: 1_000 }
    )
  })
})
