/**
 * The laws of calls that run together: whatever the model calls, however long each call takes and however it ends, the
 * results, the facts and the keys are those of a turn whose calls run one by one.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import { Agent, type AgentFailure, SemanticGarbage, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import * as Journal from "@fallible/core/Journal"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Exit, Fiber, Layer, Logger, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { FileJournal } from "../support/fileJournal.ts"
import { runs } from "../support/runs.ts"

const tools = ["pay", "send", "look"] as const
const orders = ["1", "2", "3"] as const

/** How the executions of one order end. */
const deeds = ["works", "works", "does nothing", "refuses", "is lost", "breaks"] as const

/** How the same arguments are written. The last cannot be read. */
const spellings: ReadonlyArray<(order: string, note: string) => string> = [
  (order, note) => JSON.stringify({ order: Number(order), note }),
  (order, note) => JSON.stringify({ note, order }),
  (order, note) => `{order: ${order}, note: '${note}',}`,
  (order) => `the order ${order}`
]

const call = fc.record({
  tool: fc.constantFrom(...tools, "pay", "pay", "send"),
  order: fc.constantFrom(...orders),
  note: fc.constantFrom("", "a"),
  spelling: fc.nat(spellings.length - 1)
})

const turn = fc.record({
  calls: fc.array(call, { minLength: 2, maxLength: 20 }),
  sideEffect: fc.constantFrom("non_idempotent", "idempotent_by_key", "idempotent"),
  joins: fc.boolean(),
  /** Whether the tools say that they run together with others, or only have an identity. */
  isDeclared: fc.boolean(),
  deeds: fc.record({ 1: fc.constantFrom(...deeds), 2: fc.constantFrom(...deeds), 3: fc.constantFrom(...deeds) }),
  asks: fc.oneof(fc.constant<ReadonlyArray<string>>([]), fc.subarray([...orders])),
  /** How long the executions take, in order. */
  millis: fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 12 })
})

type Turn = typeof turn extends fc.Arbitrary<infer A> ? A : never

const failures = {
  "does nothing": new ToolUnavailable({ code: "busy", detail: "Busy.", transient: true, outcome: "not_executed" }),
  "refuses": new SemanticGarbage({ code: "declined", detail: "Declined.", outcome: "not_executed" }),
  "is lost": new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true })
}

const Params = Schema.Struct({ order: Schema.Finite, note: Schema.String })

const worldOf = ({ asks, deeds, isDeclared, joins, millis, sideEffect }: Turn, together: boolean) => {
  const acts: Array<{ readonly what: string; readonly key: string }> = []
  let executions = 0
  let running = 0
  let most = 0
  const acting = (name: "pay" | "send") =>
    Tool.make(name, {
      description: "",
      parameters: Params,
      success: Schema.String,
      sideEffect,
      joins,
      identity: ({ order }) => order,
      ...(together ? isDeclared ? { concurrent: true } : {} : { concurrent: false })
    }, ({ order }) =>
      Effect.gen(function*() {
        if (asks.some((asked) => asked === `${order}`)) yield* ToolCall.ask(`Is ${order} meant?`)
        const { idempotencyKey: key } = yield* ToolCall.current
        most = Math.max(most, ++running)
        yield* Effect.sleep(millis[executions++ % millis.length]!)
        running--
        const what = `${name} ${order}`
        const deed = orders.map((one) => `${order}` === one ? deeds[one] : undefined).find((one) => one !== undefined)!
        const isKnown = sideEffect === "idempotent_by_key" && acts.some((act) => act.key === key)
        if (!isKnown && (deed === "works" || deed === "is lost" || deed === "breaks")) acts.push({ what, key })
        if (deed === "breaks") throw new TypeError("A bug.")
        return deed === "works" ? `did ${order}` : yield* failures[deed]
      }).pipe(Effect.onInterrupt(() => Effect.sync(() => running--))))
  const look = Tool.make(
    "look",
    { description: "", parameters: Params, success: Schema.String, sideEffect: "none" },
    ({ order }) =>
      Effect.sync(() => acts.map(({ what }) => what).filter((what) => what.endsWith(`${order}`)).toSorted().join())
  )
  const agent = Agent.make({
    toolkit: Toolkit.make(acting("pay"), acting("send"), look),
    limits: { calls: 30, callsPerTool: { pay: 6 } }
  })
  return { agent, acts, most: () => most }
}

const modelOf = ({ calls }: Turn) =>
  ScriptedModel.layer(({ messages }) =>
    messages.some(({ role }) => role === "tool") ? ScriptedModel.text("Done.") : {
      text: "",
      calls: calls.map(({ note, order, spelling, tool }, index) => ({
        id: `${index}`,
        name: tool,
        arguments: spellings[spelling]!(order, note)
      }))
    }
  )

type Run = Effect.Effect<Answer.Answer, AgentFailure.AgentFailure>

const answered = (one: Turn, { agent }: ReturnType<typeof worldOf>, within: (run: Run) => Run = (run) => run): Run => {
  const services = Layer.mergeAll(modelOf(one), Logger.layer([]))
  const go = (run: Run): Run =>
    Effect.catchTag(
      within(run),
      "RunSuspended",
      ({ suspension }) => go(Effect.provide(agent.resume(suspension, "yes"), services))
    )
  return go(Effect.provide(agent.run("Go.", { id: "run" }), services))
}

const onVirtualClock = <A, E>(self: Effect.Effect<A, E>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(self, { startImmediately: true })
    while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust("1 second")
    return yield* Fiber.join(fiber)
  }).pipe(Effect.provide(TestClock.layer()))

const textsOf = ({ transcript }: Answer.Answer) =>
  Array.from(transcript).flatMap((message) => message.role === "tool" ? [`${message.callId} ${message.text}`] : [])

const factsOf = ({ facts }: Answer.Answer) =>
  new Map(Array.from(facts.intents, ([id, { done, failed, ...fact }]) => [
    id,
    { ...fact, done: done?.answer, failed: failed === undefined ? undefined : { ...failed, run: 0 } }
  ]))

const playing = (one: Turn, together: boolean) =>
  Effect.gen(function*() {
    const world = worldOf(one, together)
    const answer = yield* onVirtualClock(answered(one, world))
    assert.isAtMost(world.most(), together ? 8 : 1)
    return { texts: textsOf(answer), facts: factsOf(answer), acts: world.acts.map(({ key, what }) => `${what} ${key}`) }
  })

const check = (one: Turn) =>
  Effect.gen(function*() {
    const alone = yield* playing(one, false)
    const together = yield* playing(one, true)
    assert.strictEqual(together.texts.length, one.calls.length)
    // A question comes at another time, and a pause changes the facts and the limits of the calls before it.
    if (one.asks.length === 0) {
      assert.deepStrictEqual(together.texts, alone.texts)
      assert.deepStrictEqual(together.facts, alone.facts)
      assert.deepStrictEqual(together.acts.toSorted(), alone.acts.toSorted())
    }
    if (one.joins && one.sideEffect !== "idempotent") checkOnce(together.acts)
  })

const checkOnce = (acts: ReadonlyArray<string>) => assert.strictEqual(new Set(acts).size, acts.length, acts.join())

const stops = fc.array(fc.record({ step: fc.integer({ min: 2, max: 12 }), hasRun: fc.boolean() }), {
  minLength: 1,
  maxLength: 3
})

const checkInProcesses = (one: Turn, planned: typeof stops extends fc.Arbitrary<infer A> ? A : never) =>
  Effect.gen(function*() {
    const world = worldOf(one, true)
    const file = new FileJournal()
    const remaining = [...planned]
    const within = (run: Run): Run =>
      Effect.gen(function*() {
        for (;;) {
          const exit = yield* file.process(
            (journal) => Effect.provideService(run, Journal.current, journal),
            remaining.shift()
          )
          if (exit !== undefined) return yield* Exit.isSuccess(exit) ? exit : Effect.failCause(exit.cause)
        }
      })
    const answer = yield* onVirtualClock(answered(one, world, within))
    assert.strictEqual(textsOf(answer).length, one.calls.length)
    checkOnce(world.acts.map(({ what }) => what))
    // Another process replays the same results.
    const again = yield* onVirtualClock(answered(one, world, within))
    assert.deepStrictEqual(textsOf(again), textsOf(answer))
    assert.deepStrictEqual(factsOf(again), factsOf(answer))
  })

const atOnce = turn.filter(({ joins, sideEffect }) => joins && sideEffect !== "idempotent")

describe("calls that run together", () => {
  it(`end as if they had run one by one, in ${runs(1_000)} random turns`, () =>
    fc.assert(fc.asyncProperty(turn, (one) => Effect.runPromise(check(one))), { numRuns: runs(1_000) }))

  it(`act once in processes that stop, and are replayed alike, in ${runs(300)} random turns`, () =>
    fc.assert(
      fc.asyncProperty(atOnce, stops, (one, planned) => Effect.runPromise(checkInProcesses(one, planned))),
      { numRuns: runs(300) }
    ))
})
