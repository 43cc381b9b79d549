/**
 * A tool that acts, in virtual time in which everything takes a multiple of 100 ms. So attempts begin and end, policies
 * wait, and callers leave on the very tick of a deadline.
 */
import {
  Dispatch,
  Observer,
  PartialData,
  Policy,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  type ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import type * as Certainty from "@fallible/core/Certainty"
import * as Deadline from "@fallible/core/Deadline"
import type * as SideEffect from "@fallible/core/SideEffect"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Cause, Clock, Effect, Exit, Fiber, Logger, Option, Random, Schedule, Scheduler, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { keysOf } from "./keysOf.ts"

// -----------------------------------------------------------------------------
// What happens
// -----------------------------------------------------------------------------

type Failure = ToolFailure.ToolFailure<string>

/** What an ended execution proves. A refusal proves that nothing was done, but the tool would refuse again. */
type Proof = "acted" | "nothing" | "refused" | "no proof"

/** One execution of the handler. `proof` is absent while it runs. */
export interface Execution {
  readonly began: number
  readonly deadline: number
  proof?: Proof
}

const unavailable = (fields: Partial<ToolUnavailable>): Failure =>
  new ToolUnavailable({ code: "down", detail: "Down.", transient: true, ...fields })

/** How an execution ends, and what that proves. */
const ends: Readonly<Record<string, readonly [proof: Proof, end: Effect.Effect<string, Failure>]>> = {
  "answers": ["acted", Effect.succeed("done")],
  "answers a part": ["acted", Effect.fail(new PartialData({ code: "more", detail: "A part.", data: "done" }))],
  "is lost": ["no proof", Effect.fail(unavailable({ outcome: "unknown" }))],
  "is silent": ["no proof", Effect.fail(unavailable({}))],
  "cannot be read": [
    "no proof",
    Effect.fail(new SchemaMismatch({ side: "result", code: "truncated", detail: "Cut off." }))
  ],
  "dies": ["no proof", Effect.die("dies")],
  "is refused": ["refused", Effect.fail(new SemanticGarbage({ code: "no_such_card", detail: "No such card." }))],
  "is forbidden": ["no proof", Effect.fail(unavailable({ code: "forbidden", transient: false }))],
  "did nothing": ["nothing", Effect.fail(unavailable({ outcome: "not_executed" }))],
  "rejects": [
    "nothing",
    Effect.fail(new SchemaMismatch({ side: "arguments", code: "invalid_arguments", detail: "Wrong." }))
  ]
}

const ticks = fc.constantFrom<number>(100, 200, 300)

const act = fc.record({
  end: fc.oneof(
    fc.constantFrom("answers", "did nothing", "is lost"),
    fc.constantFrom(...keysOf(ends))
  ),
  takes: fc.oneof(fc.constant<number>(0), ticks),
  /** Whether it ignores interruption. */
  isDeaf: fc.constantFrom(false, false, true)
})

const perform = ({ end, isDeaf, takes }: typeof act extends fc.Arbitrary<infer A> ? A : never, world: World) =>
  Effect.gen(function*() {
    const execution: Execution = { began: yield* Clock.currentTimeMillis, deadline: yield* Deadline.current }
    if (!world.executions.every(world.mayBeginAfter)) world.repetitions++
    if (world.isOver) world.begunAfterwards++
    world.executions.push(execution)
    world.maxAtOnce = Math.max(world.maxAtOnce, world.executions.filter(({ proof }) => proof === undefined).length)
    const [proof, ending] = ends[end]!
    const body = Effect.andThen(takes === 0 ? Effect.void : Effect.sleep(takes), ending)
    // An interruption that reached a deaf handler discards its exit as soon as it ends.
    return yield* Effect.onExit(isDeaf ? Effect.uninterruptible(body) : body, (exit) =>
      Effect.sync(() => {
        execution.proof = Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause) ? "no proof" : proof
      }))
  })

/** The ground truth of one call. */
export class World {
  readonly executions: Array<Execution> = []
  /** The executions that began although an earlier one may have acted, refused the call, or was running. */
  repetitions = 0
  begunAfterwards = 0
  maxAtOnce = 0
  isOver = false
  readonly reports: Array<Observer.LateResult> = []
  readonly mayBeginAfter = ({ proof }: Execution): boolean => proof === "nothing"

  /** What is known now of the call's effect. */
  get certainty(): Certainty.Certainty {
    const proofs = this.executions.map(({ proof }) => proof)
    if (proofs.includes("acted")) return "executed"
    return proofs.includes(undefined) || proofs.includes("no proof") ? "unknown" : "not_executed"
  }
}

// -----------------------------------------------------------------------------
// Policies
// -----------------------------------------------------------------------------

type Subject = Tool.Tool<string, void, string, Failure>
type Written = readonly [text: string, change: (tool: Subject) => Subject]

const made = {
  refused: unavailable({ code: "made", outcome: "not_executed" }),
  silent: unavailable({ code: "made" }),
  garbage: new SemanticGarbage({ code: "made", detail: "Made." })
}

type Move = <A, E extends ToolFailure.ToolFailure, R>(
  inside: Effect.Effect<A, E, R>,
  sleep: Effect.Effect<void>
) => Effect.Effect<A, E | Failure, R>

const moves: Readonly<Record<string, Move>> = {
  "begins later": (inside, sleep) => Effect.andThen(sleep, inside),
  "tries again later": (inside, sleep) => Effect.catch(inside, () => Effect.andThen(sleep, inside)),
  "tries again": (inside) => Effect.retry(inside, { times: 2 }),
  "runs both": (inside, sleep) =>
    Effect.map(Effect.all([inside, Effect.andThen(sleep, inside)], { concurrency: 2 }), ([first]) => first),
  "runs both, and keeps both failures": (inside, sleep) =>
    Effect.flatMap(
      Effect.all([Effect.exit(inside), Effect.exit(Effect.andThen(sleep, inside))], { concurrency: 2 }),
      ([first, second]) => Exit.isSuccess(first) ? first : second
    ),
  "hedges": (inside, sleep) => Effect.race(inside, Effect.andThen(sleep, inside)),
  "hedges thrice": (inside, sleep) =>
    Effect.raceAll([inside, Effect.andThen(sleep, inside), Effect.andThen(Effect.andThen(sleep, sleep), inside)]),
  "takes the first end": (inside, sleep) => Effect.raceFirst(inside, Effect.andThen(sleep, inside)),
  "runs twice": (inside) => Effect.andThen(Effect.exit(inside), inside),
  "fails after it": (inside, sleep) => Effect.andThen(inside, Effect.andThen(sleep, Effect.fail(made.refused))),
  "maps": (inside) => Effect.mapError(inside, () => made.refused),
  "maps silently": (inside) => Effect.mapError(inside, () => made.silent),
  "leaves it behind": (inside, sleep) =>
    Effect.andThen(Effect.forkDetach(inside), Effect.andThen(sleep, Effect.fail(made.garbage))),
  "leaves it to begin later": (inside, sleep) =>
    Effect.andThen(Effect.forkDetach(Effect.andThen(sleep, inside)), Effect.fail(made.refused)),
  "is deaf": (inside, sleep) =>
    Effect.uninterruptible(Effect.andThen(sleep, Effect.catch(inside, () => Effect.andThen(sleep, inside)))),
  "tries again when interrupted": (inside) => Effect.onInterrupt(inside, () => Effect.asVoid(Effect.exit(inside))),
  "swallows defects": (inside, sleep) => Effect.catchCause(inside, () => Effect.andThen(sleep, inside))
}

const custom = (name: string, move: Move, length: number): Written => [
  `${name} ${length}`,
  Tool.with(
    Policy.make<never, Failure>({
      kind: "custom",
      name,
      description: name,
      wrap: (run) => (params) => move(run(params), Effect.sleep(length))
    })
  )
]

const policy: fc.Arbitrary<Written> = fc.oneof(
  fc.tuple(fc.constantFrom(...Object.entries(moves)), ticks).map(([[name, move], length]) =>
    custom(name, move, length)
  ),
  fc.constantFrom(100, 200, 300, 500).map((millis): Written => [`timeout ${millis}`, Tool.timeout(millis)]),
  fc.constantFrom(100, 200, 300, 500).map((millis): Written => [`deadline ${millis}`, Tool.deadline(millis)]),
  fc.oneof(fc.constant(0), ticks).map((wait): Written => [
    `retry ${wait}`,
    Tool.retry(Schedule.upTo(Schedule.spaced(wait), { times: 2 }))
  ]),
  fc.constantFrom(0, 100, 200).map((maxWait): Written => [`limit ${maxWait}`, Tool.concurrency(1, { maxWait })])
)

// -----------------------------------------------------------------------------
// A play
// -----------------------------------------------------------------------------

export interface Scenario {
  readonly sideEffect: SideEffect.SideEffect
  readonly acts: ReadonlyArray<typeof act extends fc.Arbitrary<infer A> ? A : never>
  readonly policies: ReadonlyArray<Written>
  readonly deadline: number
  /** When the caller stops waiting, in milliseconds. */
  readonly leaves: number
  readonly seed: number
}

export const scenario: fc.Arbitrary<Scenario> = fc.record({
  sideEffect: fc.constantFrom("non_idempotent", "non_idempotent", "idempotent", "idempotent_by_key"),
  acts: fc.array(act, { minLength: 1, maxLength: 4 }),
  policies: fc.array(policy, { maxLength: 4 }),
  deadline: fc.constantFrom(Infinity, 100, 200, 300, 400, 600),
  leaves: fc.constantFrom(Infinity, Infinity, Infinity, 100, 200, 300),
  seed: fc.integer()
})

/** Calls of a tool that may run again, whose handler outlives its time limit, behind a limit of one execution at once. */
export const limited: fc.Arbitrary<Scenario> = scenario.map((scenario): Scenario => ({
  ...scenario,
  sideEffect: "idempotent",
  acts: scenario.acts.map(({ end, takes }) => ({ end, takes: takes + 100, isDeaf: true })),
  policies: [
    ["timeout 100", Tool.timeout(100)],
    ["limit 200", Tool.concurrency(1, { maxWait: 200 })],
    ...scenario.policies
  ]
}))

export interface Played {
  readonly world: World
  /** Absent if the caller left. */
  readonly outcome: ToolOutcome.ToolOutcome | undefined
  /** The certainty that the outcome should have had, by the ends of the executions at that time. */
  readonly expected: ToolOutcome.ToolOutcome["certainty"] | undefined
}

export const play = ({ acts, deadline, leaves, policies, seed, sideEffect }: Scenario): Promise<Played> =>
  Effect.gen(function*() {
    const world = new World()
    const bare: Subject = Tool.make(
      "subject",
      { description: "", success: Schema.String, sideEffect, identity: "all" },
      () => Effect.suspend(() => perform(acts[world.executions.length % acts.length]!, world))
    )
    const tool = policies.reduce((tool, [, change]) => change(tool), bare)
    const fiber = yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "subject" }).pipe(
      deadline === Infinity ? (self) => self : Deadline.within(deadline),
      Effect.map((outcome) => ({ outcome, expected: world.certainty })),
      Effect.onExit(() =>
        Effect.sync(() => {
          world.isOver = true
        })
      ),
      Observer.observe({ onLateResult: (result) => Effect.sync(() => world.reports.push(result)) }),
      Effect.forkDetach
    )
    if (leaves !== Infinity) {
      yield* TestClock.adjust(leaves)
      yield* Effect.forkDetach(Fiber.interrupt(fiber))
    }
    yield* TestClock.adjust("1 minute")
    const end = Option.fromUndefinedOr(fiber.pollUnsafe())
    if (Option.isNone(end)) return { world, outcome: undefined, expected: undefined }
    return Exit.isSuccess(end.value)
      ? { world, ...end.value.value }
      : { world, outcome: undefined, expected: undefined }
  }).pipe(
    Random.withSeed(seed),
    Observer.observe({ onDefect: () => Effect.void }),
    Effect.provide(Logger.layer([])),
    Effect.provide(TestClock.layer()),
    (effect) => Effect.runPromise(effect, { scheduler: new Scheduler.MixedScheduler("sync") })
  )

export const described = ({ policies, ...scenario }: Scenario) =>
  JSON.stringify({ ...scenario, policies: policies.map(([text]) => text) })
