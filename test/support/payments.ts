/** Payments in virtual time: a handler that acts, random policies around it, and what really happened. */
import { assert } from "@effect/vitest"
import {
  Deadline,
  Defect,
  Dispatch,
  LateResult,
  PartialData,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  Toolkit,
  type ToolOutcome,
  ToolUnavailable
} from "@fallible/core"
import { Clock, Context, Effect, Fiber, Layer, Logger, Option, Random, Scheduler, Schema } from "effect"
import * as Breaker from "effect/persistence/CircuitBreaker"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { type Failure, made as failures, parameters, type Pay, stack, type Written } from "./paymentPolicies.ts"

// -----------------------------------------------------------------------------
// What happens
// -----------------------------------------------------------------------------

/** One execution of the handler. */
interface Execution {
  readonly order: string
  /** Did it certainly do nothing? Absent while it runs. */
  nothing?: boolean
  isRefusal?: boolean
  /** When it ended. */
  ended?: number
  /** Has a check not found it, so long after its end that it cannot pay any more? */
  isSettled?: boolean
}

/** What happened in one call. */
class World {
  readonly executions: Array<Execution> = []
  paid = 0
  /** How many executions began after one that may have acted. */
  violations = 0
  /** Does the tool run inside of another one? */
  isNested = false
  isOver = false
  endedLate = 0
  /** Of how many executions the service has said for good that they will do nothing. */
  settled = 0
}

const worldOf: Context.Reference<World> = Context.Reference("test/payments", { defaultValue: () => new World() })

const unavailable = (fields: Partial<ToolUnavailable>) =>
  new ToolUnavailable({ code: "connection", detail: "Lost.", transient: true, ...fields })

/** How an execution ends, whether it pays before, and whether its end says for certain that it did nothing. */
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
  /** How long it takes, and whether it goes on when it is interrupted. */
  readonly takes: number
  readonly isDeaf: boolean
}

/** @param index which execution it was, from 1 */
const pay = (world: World, index: number) => {
  if (index > world.settled) world.paid++
}

const perform = ({ end, isDeaf, takes }: Act, order: string): Effect.Effect<string, Failure> =>
  Effect.flatMap(worldOf, (world) => {
    const before = world.executions.slice(world.settled)
    // What has refused did nothing. A handler around it may try once more, and a fixer with other arguments.
    const mayRun = ({ isRefusal, isSettled, nothing, order: refused }: Execution) =>
      nothing === true || isSettled === true || isRefusal === true && (world.isNested || refused !== order)
    if (!before.every(mayRun)) world.violations++
    const execution: Execution = { order }
    const index = world.executions.push(execution)
    const what = ends[end]
    const body = Effect.andThen(
      takes === 0 ? Effect.void : Effect.sleep(takes),
      Effect.suspend((): Effect.Effect<string, Failure> => {
        if (what.pays) pay(world, index)
        return what.end
      })
    ).pipe(
      Effect.onExit((exit) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          execution.ended = now
          execution.isRefusal = exit._tag === "Failure" && /^is (refused|forbidden)$/.test(end) &&
            !exit.cause.reasons.some(({ _tag }) => _tag !== "Fail")
          execution.nothing = exit._tag === "Failure" && what.nothing &&
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

/** How long a payment takes at most until it is there: 2 s, and a little. */
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

/** What has not been paid yet is never paid: what begun executions still do comes to nothing. */
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
  /** Around a tool that runs the payment inside of its handler, if it is one. */
  readonly outer: ReadonlyArray<Written> | undefined
  readonly swallows: boolean
  /** Was the tool put together by hand? */
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
  // Without any policy it would be nothing but a function of the checkout's own.
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

/** Two calls at once, so that one may wait for the permit of the other. */
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
    Effect.provideService(Defect.reporter, () => Effect.void),
    Effect.provideService(LateResult.reporter, () => Effect.void),
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

/** The oracle. */
export const check = (scenario: Scenario, { outcome, world }: Checked) => {
  const text = described(scenario)
  assert.strictEqual(world.violations, 0, `runs again: ${text}`)
  assert.isAtMost(world.paid, 1, `paid twice: ${text}`)
  if (outcome?.certainty === "not_executed") assert.strictEqual(world.paid, 0, `paid all the same: ${text}`)
  // A checkout that ends well has taken effect, whatever the payment inside of it did.
  if (outcome?.certainty === "executed" && scenario.outer === undefined) {
    assert.strictEqual(world.paid, 1, `never paid: ${text}`)
  }
}
