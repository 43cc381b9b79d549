/**
 * Laws of a run that is started twice, as by a queue: both runs make the same keys, and the service refuses a key whose
 * first request it still serves, or that it knows with another body.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import { Dispatch, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import { Context, Effect, Logger, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { beginFacts, recordCall } from "../../packages/core/src/internal/dispatch/recordCalls.ts"
import { runs } from "../support/runs.ts"

const parameters = Schema.Struct({ order: Schema.String, note: Schema.String })

const orderOf = ({ order }: typeof parameters.Type) => order

const refusal = (status: number) =>
  new ToolUnavailable({ code: "rejected", detail: `Status ${status}.`, transient: false, cause: { status } })

/** The keys that a call has sent. */
const sentKeys: Context.Reference<Set<string>> = Context.Reference("test/sentKeys", { defaultValue: () => new Set() })

const scenario = fc.record({
  /** For both runs: when each begins, and the notes of its calls. */
  runs: fc.array(
    fc.record({
      begins: fc.constantFrom(0, 100, 900, 2_000),
      notes: fc.array(fc.constantFrom("a", "b"), { minLength: 1, maxLength: 2 })
    }),
    { minLength: 2, maxLength: 2 }
  ),
  /** How long the service takes for each request that it serves, and whether it refuses that request. */
  deeds: fc.array(fc.record({ takes: fc.constantFrom(0, 1_000), refuses: fc.constantFrom(false, false, true) }), {
    minLength: 1,
    maxLength: 3
  }),
  /** The side effect of the tool around the payment, if it runs inside another tool. */
  outer: fc.constantFrom("idempotent_by_key", "idempotent", undefined),
  hasIdentity: fc.boolean()
})

type Scenario = typeof scenario extends fc.Arbitrary<infer A> ? A : never

const play = ({ deeds, hasIdentity, outer, runs }: Scenario) =>
  Effect.gen(function*() {
    const known = new Map<string, { readonly body: string; state: "in progress" | "paid" | "refused" }>()
    let served = 0
    const post = Effect.fnUntraced(function*(key: string, body: string) {
      ;(yield* sentKeys).add(key)
      return yield* serve(key, body)
    })
    const serve = (key: string, body: string): Effect.Effect<string, ToolUnavailable> => {
      const before = known.get(key)
      if (before !== undefined && before.body !== body) return Effect.fail(refusal(422))
      if (before?.state === "in progress") return Effect.fail(refusal(409))
      if (before !== undefined) return before.state === "paid" ? Effect.succeed("paid") : Effect.fail(refusal(400))
      const { refuses, takes } = deeds[served++ % deeds.length]!
      const request: { readonly body: string; state: "in progress" | "paid" | "refused" } = {
        body,
        state: "in progress"
      }
      known.set(key, request)
      return Effect.delay(
        Effect.suspend(() => {
          request.state = refuses ? "refused" : "paid"
          return refuses ? Effect.fail(refusal(400)) : Effect.succeed("paid")
        }),
        takes
      )
    }
    const definition = {
      description: "",
      parameters,
      success: Schema.String,
      sideEffect: "idempotent_by_key",
      identity: "all"
    } as const
    const paying = Tool.make(
      "paying",
      definition,
      ({ note, order }) =>
        Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => post(idempotencyKey, `${order} ${note}`))
    )
    const pay = Tool.make(
      "pay",
      {
        ...definition,
        sideEffect: outer ?? "idempotent_by_key",
        repeats: false,
        ...(hasIdentity ? { identity: orderOf } : {})
      },
      (request) =>
        Effect.flatMap(
          ToolCall.current,
          ({ idempotencyKey }) =>
            outer === undefined ? post(idempotencyKey, `${request.order} ${request.note}`) : paying.run(request)
        )
    )
    const toolkit = Toolkit.make(pay)
    const lies: Array<string> = []
    for (const [run, { begins, notes }] of runs.entries()) {
      const calls = Effect.gen(function*() {
        let facts = beginFacts(CallFacts.empty, "scope", "likely")
        for (const [index, note] of notes.entries()) {
          const id = `run ${run} call ${index}`
          const call = { id, name: "pay", arguments: JSON.stringify({ order: "7", note }) }
          const keys = new Set<string>()
          const outcome = yield* Effect.provideService(Dispatch.call(toolkit, call, { id, facts }), sentKeys, keys)
          facts = recordCall(facts, outcome, pay)
          if (outcome.certainty === "not_executed" && !(outcome._tag === "Failed" && outcome.stage === "admit")) {
            // What was told as not done must not be done later either.
            yield* Effect.forkDetach(Effect.delay(
              Effect.sync(() => {
                if (Array.from(keys).some((key) => known.get(key)?.state === "paid")) lies.push(id)
              }),
              "1 minute"
            ))
          }
        }
      })
      yield* Effect.forkDetach(Effect.delay(calls, begins))
    }
    yield* TestClock.adjust("5 minutes")
    return lies
  }).pipe(Effect.provide(Logger.layer([])), Effect.provide(TestClock.layer()), Effect.runPromise)

describe("a run that is started twice", () => {
  it(`tells no payment as not made that is made under its key, in ${runs(6_000)} random pairs of runs`, () =>
    fc.assert(
      fc.asyncProperty(scenario, async (scenario) => {
        assert.deepStrictEqual(await play(scenario), [])
      }),
      { numRuns: runs(6_000) }
    ))
})
