/** Laws of every batch of calls, whatever their tools do. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, type Model, type ToolCall, type Transcript } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { runs } from "../support/runs.ts"
import { runTurn } from "../support/turn.ts"
import { passing } from "../support/virtualTime.ts"
import { label, toolkit, zoo } from "../support/zoo.ts"

type Behaviour = keyof typeof zoo

const wellFormed = (n: number) => ({ text: JSON.stringify({ n }), readable: true })
const malformed = fc.constantFrom(
  undefined,
  "",
  "null",
  "[]",
  "{}",
  "{\"n\":",
  "{\"n\":1.5}",
  "{\"m\":1}",
  "{\"n\":1,\"x\":2}",
  "[{\"n\":1}]",
  "n=1",
  "{\"__proto__\":{\"n\":1}}"
)

interface Planned {
  readonly call: ToolCall.ToolCall
  /** The expected tag or code. `undefined` if any failure is fine. */
  readonly comesTo: string | undefined
}

const planned: fc.Arbitrary<Planned> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(fc.constantFrom(...Object.keys(zoo) as Array<Behaviour>), fc.integer()).map(([name, n]) => ({
      call: { id: "", name, arguments: wellFormed(n).text },
      comesTo: zoo[name].comesTo
    }))
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom(...Object.keys(zoo) as Array<Behaviour>), malformed).map(([name, text]) => ({
      call: { id: "", name, ...(text === undefined ? {} : { arguments: text }) },
      comesTo: undefined
    }))
  },
  {
    weight: 1,
    arbitrary: fc.string({ unit: "binary", maxLength: 80 }).filter((name) => !(name in zoo)).map((name) => ({
      call: { id: "", name, arguments: "{}" },
      comesTo: "unknown_tool"
    }))
  }
)

const batch = fc.array(planned, { maxLength: 12 })

const withIds = (plan: ReadonlyArray<Planned>) =>
  plan.map((one, i) => ({ ...one, call: { ...one.call, id: `id_${i}` } }))

/** Tells which calls must not run, because an earlier, non-concurrent call stops the run or asks the user. */
const heldBack = (plan: ReadonlyArray<Planned>): ReadonlyArray<boolean> => {
  let held = false
  let halts = false
  let wasReading = false
  return plan.map(({ call, comesTo }) => {
    const isReading = (toolkit.tools.get(call.name)?.sideEffect ?? "none") === "none"
    if (!isReading || !wasReading) held ||= halts
    wasReading = isReading
    halts ||= !held && (comesTo === "Suspended" || comesTo === "Stopped")
    return held
  })
}

/** Runs an effect in virtual time until it ends. Drops the log, because it is full of defects. */
const runVirtual = <A, E>(effect: Effect.Effect<A, E>) =>
  passing(effect).pipe(Effect.provide([TestClock.layer(), Logger.layer([])]), Effect.runPromise)

const law = { tags: "slow", timeout: 120_000 }

describe("Dispatch", () => {
  it("gives every call of any batch exactly one outcome, in order, and loses no sibling", law, () =>
    fc.assert(
      fc.asyncProperty(batch, async (plan) => {
        const calls = withIds(plan)
        const outcomes = await runVirtual(runTurn(toolkit, calls.map(({ call }) => call)))
        assert.strictEqual(outcomes.length, calls.length)
        const held = heldBack(calls)
        calls.forEach(({ call, comesTo }, i) => {
          const outcome = outcomes[i]!
          if (held[i]) assert.strictEqual(label(outcome), "not_run", call.name)
          else if (comesTo !== undefined) assert.strictEqual(label(outcome), comesTo, call.name)
          else assert.strictEqual(outcome._tag, "Failed", `${call.name}(${call.arguments})`)
          if (outcome._tag === "Completed") assert.deepStrictEqual({ n: outcome.value }, JSON.parse(call.arguments!))
        })
      }),
      { numRuns: runs(4_000) }
    ))

  it("leaves a history in which the result of every call directly follows it", law, () =>
    fc.assert(
      fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 3 }), fc.boolean(), async (plans, repeatIds) => {
        const replies = plans.map((plan) => ({
          text: "",
          calls: withIds(plan.filter(({ comesTo }) => comesTo !== "Suspended" && comesTo !== "Stopped")).map((
            { call }
          ) => repeatIds ? { ...call, id: "same" } : call)
        })).filter(({ calls }) => calls.length > 0)
        const script = [...replies, ScriptedModel.text("done")]
        const answer = await runVirtual(
          Agent.make({ toolkit }).run("go").pipe(Effect.provide(ScriptedModel.layer(script)))
        )
        assert.strictEqual(answer.text, "done")
        assert.strictEqual(answer.transcript.length, 2 + replies.length + replies.flatMap(distinct).length)
        assertAnswered(Array.from(answer.transcript))
      }),
      { numRuns: runs(1_000) }
    ))
})

/** Returns the calls of a reply that differ in more than spaces around their arguments. */
const distinct = ({ calls }: Model.Reply): ReadonlyArray<string> => [
  ...new Set(calls.map(({ arguments: text = "", id, name }) => JSON.stringify([id, name, text.trim()])))
]

const assertAnswered = (messages: ReadonlyArray<Transcript.Message>) => {
  messages.forEach((message, at) => {
    if (message.role !== "assistant") return
    const results = messages.slice(at + 1, at + 1 + message.calls.length)
    assert.deepStrictEqual(
      results.map((result) => result.role === "tool" ? [result.callId, result.name] : result.role),
      message.calls.map(({ id, name }) => [id, name])
    )
    assert.strictEqual(new Set(message.calls.map(({ id }) => id)).size, message.calls.length)
  })
}
