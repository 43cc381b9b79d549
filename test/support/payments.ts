/** Payments in virtual time: a handler that acts, random policies around it, and a record of the true effects. */
import { assert } from "@effect/vitest"
import {
  Dispatch,
  Observer,
  PartialData,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as Deadline from "@fallible/core/Deadline"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Clock, Context, Effect, Fiber, Layer, Logger, Option, Random, Scheduler, Schema } from "effect"
import * as Breaker from "effect/persistence/CircuitBreaker"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { type Failure, made as failures, parameters, type Pay, stack, type Written } from "./paymentPolicies.ts"

// -----------------------------------------------------------------------------
// The world
// -----------------------------------------------------------------------------

/** One execution of the handler. */
interface Execution {
  readonly order: string
  /** Whether it certainly did nothing. Absent while it runs. */
  nothing?: boolean
  isRefusal?: boolean
  /** When it ended, in milliseconds. */
  ended?: number
  /** Whether a check missed it so long after its end that it can no longer pay. */
  isSettled?: boolean
}

/** The ground truth of one call. */
class World {
  readonly executions: Array<Execution> = []
  paid = 0
  /** The number of executions that began after one that may have acted. */
  violations = 0
  /** Whether the tool runs inside another tool. */
  isNested = false
  isOver = false
  endedLate = 0
  /** The number of executions that the service has declared final: those that have not paid yet never will. */
  settled = 0
}

const worldOf: Context.Reference<World> = Context.Reference("test/payments", { defaultValue: () => new World() })

const unavailable = (fields: Partial<ToolUnavailable>) =>
  new ToolUnavailable({ code: "connection", detail: "Lost.", transient: true, ...fields })

/** The ways in which an execution ends: whether it pays first, and whether its end proves that it did nothing. */
const ends = {
  "answers": { pays: true, nothing: false, end: Effect.succeed("paid") },
  "answers a part": {
    pays: true,
    nothing: false,
    end: Effect.fail(new PartialData({ code: "more", detail: "A part.", data: "paid" }))
  },
  "pays, and is lost": { pays: true, nothing: false, end: Effect.fail(unavailable({ outcome: "unknown" })) },
  "pays, and is silent": { pays: true, nothing: false, end: Effect.fail(unavailable({})) },
  "pays, and cannot be read": {
    pays: true,
    nothing: false,
    end: Effect.fail(new SchemaMismatch({ side: "result", code: "truncated", detail: "Cut off." }))
  },
  "pays, and dies": { pays: true, nothing: false, end: Effect.die("dies") },
  "is lost, and pays later": {
    pays: false,
    nothing: false,
    end: Effect.flatMap(worldOf, (world) => {
      const index = world.executions.length
      return Effect.andThen(
        Effect.forkDetach(Effect.delay(Effect.sync(() => pay(world, index)), 2_000)),
        Effect.fail(unavailable({ outcome: "unknown" }))
      )
    })
  },
  "is lost": { pays: false, nothing: false, end: Effect.fail(unavailable({ outcome: "unknown" })) },
  "is refused": {
    pays: false,
    nothing: false,
    end: Effect.fail(new SemanticGarbage({ code: "no_such_card", detail: "No such card." }))
  },
  "is forbidden": {
    pays: false,
    nothing: false,
    end: Effect.fail(unavailable({ code: "forbidden", transient: false }))
  },
  "did nothing": { pays: false, nothing: true, end: Effect.fail(unavailable({ outcome: "not_executed" })) },
  "rejects": {
    pays: false,
    nothing: true,
    end: Effect.fail(new SchemaMismatch({ side: "arguments", code: "invalid_arguments", detail: "Wrong." }))
  }
} satisfies Record<string, { pays: boolean; nothing: boolean; end: Effect.Effect<string, Failure> }>

interface Act {
  readonly end: keyof typeof ends
  /** The duration in milliseconds. */
  readonly takes: number
  /** Whether it ignores interruption. */
  readonly isDeaf: boolean
}

/** @param index the number of the execution, from 1 */
const pay = (world: World, index: number) => {
  if (index > world.settled) world.paid++
}

const perform = ({ end, isDeaf, takes }: Act, order: string): Effect.Effect<string, Failure> =>
  Effect.flatMap(worldOf, (world) => {
    const before = world.executions.slice(world.settled)
    // A refused execution did nothing, so an outer handler may try again, and so may a fixer with other arguments.
    const mayRun = ({ isRefusal, isSettled, nothing, order: refused }: Execution) =>
      nothing === true || isSettled === true || isRefusal === true && (world.isNested || refused !== order)
    if (!before.every(mayRun)) world.violations++
    const execution: Execution = { order }
    const index = world.executions.push(execution)
    const ending = ends[end]
    const body = Effect.andThen(
      takes === 0 ? Effect.void : Effect.sleep(takes),
      Effect.suspend((): Effect.Effect<string, Failure> => {
        if (!ending.pays) return ending.end
        // The service has ruled this payment out, so it cannot answer as if it had paid.
        if (index <= world.settled) return ends["is lost"].end
        world.paid++
        return ending.end
      })
    ).pipe(
      Effect.onExit((exit) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          execution.ended = now
          execution.isRefusal = exit._tag === "Failure" && /^is (refused|forbidden)$/.test(end) &&
            !exit.cause.reasons.some(({ _tag }) => _tag !== "Fail")
          execution.nothing = exit._tag === "Failure" && ending.nothing &&
            !exit.cause.reasons.some(({ _tag }) => _tag !== "Fail")
          if (world.isOver) world.endedLate++
        })
      )
    )
    return isDeaf ? Effect.uninterruptible(body) : body
  })

// -----------------------------------------------------------------------------
// A scenario
// -----------------------------------------------------------------------------

const look = Effect.map(worldOf, ({ paid }) => paid > 0 ? Option.some("found") : Option.none())

/** The longest time until a payment takes effect: 2 s, plus a margin. */
const settle = 3_000

const settling = Effect.flatMap(
  worldOf,
  (world) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      if (world.paid > 0) return Option.some("found")
      for (const execution of world.executions) {
        execution.isSettled = execution.isSettled === true ||
          execution.ended !== undefined && now - execution.ended >= settle
      }
      return Option.none()
    })
)

/** Makes executions that have not paid yet final: they never pay. Then looks for the payment. */
const final = Effect.flatMap(worldOf, (world) => {
  world.settled = world.executions.length
  return look
})

const act: fc.Arbitrary<Act> = fc.record({
  end: fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom<Act["end"]>("did nothing", "rejects") },
    { weight: 5, arbitrary: fc.constantFrom(...Object.keys(ends) as Array<Act["end"]>) }
  ),
  takes: fc.constantFrom(0, 0, 500, 2_500, 30_000),
  isDeaf: fc.boolean()
})

export interface Scenario {
  readonly acts: ReadonlyArray<Act>
  readonly policies: ReadonlyArray<Written>
  /** Policies around an outer tool that runs the payment in its handler. Absent without an outer tool. */
  readonly outer: ReadonlyArray<Written> | undefined
  readonly swallows: boolean
  /** Whether the tool is assembled by hand, not by `Tool.make`. */
  readonly isByHand: boolean
  readonly deadline: number
  readonly seed: number
}

const policies = stack({ look: () => look, final: () => final, settling: () => settling, settle })

export const scenario: fc.Arbitrary<Scenario> = fc.record({
  acts: fc.array(act, { minLength: 1, maxLength: 4 }),
  policies,
  outer: fc.option(policies, { nil: undefined, freq: 3 }),
  swallows: fc.boolean(),
  isByHand: fc.boolean(),
  deadline: fc.constantFrom(Infinity, Infinity, 6_000),
  seed: fc.integer()
})

// -----------------------------------------------------------------------------
// A play
// -----------------------------------------------------------------------------

const services = () =>
  Layer.mergeAll(
    RateLimiter.layer.pipe(Layer.provide(RateLimiter.layerStoreMemory)),
    Breaker.layer({ tripPolicy: Breaker.consecutive(3), openDuration: "30 seconds" }).pipe(
      Layer.provide(Breaker.layerStoreMemory())
    )
  )

const { refused } = failures

const definition = { description: "Pays", parameters, success: Schema.String } as const

const toolOf = ({ acts, isByHand, outer, policies, swallows }: Scenario): Pay => {
  const wrapped = (tool: Pay, policies: ReadonlyArray<Written>) =>
    policies.reduce((tool, [, change]) => change(tool), tool)
  const run = ({ order }: typeof parameters.Type) =>
    Effect.flatMap(worldOf, (world) => perform(acts[world.executions.length % acts.length]!, order))
  const made: Pay = Tool.make("pay", definition, run)
  const byHand: Pay = Object.assign(Object.create(Object.getPrototypeOf(made)), made, { run })
  // Without policies, a handmade inner tool would just be a function inside the checkout.
  const pay = wrapped(isByHand && (outer === undefined || policies.length > 0) ? byHand : made, policies)
  if (outer === undefined) return pay
  const checkout: Pay = Tool.make(
    "checkout",
    definition,
    (params) => swallows ? Effect.catch(pay.run(params), () => Effect.fail(refused)) : pay.run(params)
  )
  return wrapped(checkout, outer)
}

export interface Checked {
  readonly outcome: ToolOutcome.ToolOutcome | undefined
  readonly world: World
  readonly seen: ReadonlyArray<string>
}

/** Plays two concurrent calls, so that one may wait for the permit of the other. */
export const play = (scenario: Scenario): Promise<ReadonlyArray<Checked>> =>
  Effect.gen(function*() {
    const toolkit = Toolkit.make(toolOf(scenario))
    const [name = ""] = toolkit.tools.keys()
    const calls = yield* Effect.forEach(["1", "2"], (id) => {
      const world = new World()
      world.isNested = scenario.outer !== undefined
      const call = Dispatch.call(toolkit, { id, name, arguments: "{\"order\":\"7\"}" })
      return Effect.map(
        Effect.forkDetach(
          (scenario.deadline === Infinity ? call : Deadline.within(call, scenario.deadline)).pipe(
            Effect.onExit(() =>
              Effect.sync(() => {
                world.isOver = true
              })
            ),
            Effect.provideService(worldOf, world)
          ),
          { startImmediately: true }
        ),
        (fiber) => ({ fiber, world })
      )
    })
    yield* TestClock.adjust("5 minutes")
    const played: Array<Checked> = []
    for (const { fiber, world } of calls) {
      const end = fiber.pollUnsafe()
      if (end === undefined) {
        yield* Effect.forkDetach(Fiber.interrupt(fiber))
        yield* TestClock.adjust("5 minutes")
      }
      const outcome = end === undefined ? undefined : yield* end
      const seen = [
        ...(outcome === undefined ? [] : [outcome._tag, `${outcome._tag} ${outcome.certainty}`]),
        ...(world.executions.length > 1 ? ["runs again"] : []),
        ...(world.endedLate > 0 ? ["ends late"] : [])
      ]
      played.push({ outcome, world, seen })
    }
    return played
  }).pipe(
    Effect.provide(services()),
    Random.withSeed(scenario.seed),
    Observer.observe({ onDefect: () => Effect.void }),
    Observer.observe({ onLateResult: () => Effect.void }),
    Effect.provide(Logger.layer([])),
    Effect.provide(TestClock.layer()),
    (effect) => Effect.runPromise(effect, { scheduler: new Scheduler.MixedScheduler("sync") })
  )

export const described = ({ acts, deadline, isByHand, outer, policies, swallows }: Scenario) =>
  JSON.stringify({
    acts,
    isByHand,
    policies: policies.map(([text]) => text),
    outer: outer?.map(([text]) => text),
    swallows,
    deadline
  })

/** The oracle: asserts that a call paid at most once, and that its certainty is true. */
export const check = (scenario: Scenario, { outcome, world }: Checked) => {
  const text = described(scenario)
  assert.strictEqual(world.violations, 0, `runs again: ${text}`)
  assert.isAtMost(world.paid, 1, `paid twice: ${text}`)
  if (outcome?.certainty === "not_executed") assert.strictEqual(world.paid, 0, `paid all the same: ${text}`)
  // A successful checkout counts as executed, whatever its inner payment did.
  if (outcome?.certainty === "executed" && scenario.outer === undefined) {
    assert.strictEqual(world.paid, 1, `never paid: ${text}`)
  }
}
