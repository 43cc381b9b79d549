/** What really happens in a call: tools whose handlers and sources write down what they do. */
import {
  Deadline,
  PartialData,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolCall,
  type ToolFailure,
  ToolUnavailable
} from "@fallible/core"
import type * as LastKnown from "@fallible/core/LastKnown"
import { Clock, Context, Effect, Schedule, Schema } from "effect"
import type * as Breaker from "effect/persistence/CircuitBreaker"
import type * as RateLimiter from "effect/persistence/RateLimiter"

// -----------------------------------------------------------------------------
// The oracle: what handlers and policies know of themselves
// -----------------------------------------------------------------------------

/** A stretch of code that somebody waits for, until nobody does. */
export interface Stretch {
  isOpen: boolean
  /** Did somebody still wait for it when it ended? */
  isHeard: boolean
}

/** One execution of a handler, of a source or of a tool inside. */
export interface Execution {
  readonly id: number
  /** `"asked"`: a tool that a fallback asks. */
  readonly of: "handler" | "asked" | "source" | "check" | "inner"
  readonly began: number
  /** Did somebody wait for it when it began? */
  readonly isHeard: boolean
  /** The policies around it. */
  readonly around: ReadonlyArray<Stretch>
  /** The failure that it ended with while somebody waited. */
  failed: ToolFailure.ToolFailure | undefined
  /** Did it end with a failure when nobody waited any more? */
  failedLate: boolean
  /** What it said of its answer. */
  readonly caveats: Array<string>
  source: string | undefined
  elapsed: number
}

/** What really happened in one call. */
export class World {
  readonly call: Stretch = { isOpen: true, isHeard: true }
  /** Did something happen with the very tick of a deadline, when either comes first? */
  isTie = false
  /** Did a handler begin, or a wait end, after the deadline around it, in what is deaf? */
  isLate = false
  readonly executions: Array<Execution> = []
  /** How long each custom policy slept while nothing inside of it ran. */
  readonly waited = new Map<string, number>()
  /** What policies failed with by themselves, and what they said of failures that never happened. */
  readonly said = new Set<string>()
}

/** Ids are drawn anew for each play, so that two plays of one scenario have the same. */
export interface Play {
  ids: number
}

/** The call that the code which runs now is of. */
export const worldOf: Context.Reference<World> = Context.Reference("test/world", { defaultValue: () => new World() })

/** The stretches around the code that runs now. */
export const around: Context.Reference<ReadonlyArray<Stretch>> = Context.Reference<ReadonlyArray<Stretch>>(
  "test/around",
  {
    defaultValue: () => []
  }
)

/** Does anybody wait for the code that runs now? */
const isHeardBy = (isInTime: (now: number, deadline: number, world: World) => boolean): Effect.Effect<boolean> =>
  Effect.withFiber((fiber) => {
    const now = fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
    const world = fiber.getRef(worldOf)
    return Effect.succeed(
      world.call.isOpen && isInTime(now, fiber.getRef(Deadline.current), world) &&
        fiber.getRef(around).every(({ isOpen }) => isOpen)
    )
  })

const isHeard = isHeardBy((now, deadline, world) => {
  if (now === deadline) world.isTie = true
  if (now > deadline) world.isLate = true
  return now < deadline
})

/** A wait ends with the deadline that cuts it short. */
export const isWaitHeard = isHeardBy((now, deadline, world) => {
  if (now > deadline) world.isLate = true
  return now <= deadline
})

// -----------------------------------------------------------------------------
// Tools
// -----------------------------------------------------------------------------

export const ends = {
  answers: () => undefined,
  "is down": (detail: string) => new ToolUnavailable({ code: "connection", detail, transient: true }),
  "did nothing": (detail: string) =>
    new ToolUnavailable({ code: "connection", detail, transient: true, outcome: "not_executed" }),
  "may have acted": (detail: string) =>
    new ToolUnavailable({ code: "connection", detail, transient: true, outcome: "unknown" }),
  "is gone": (detail: string) => new ToolUnavailable({ code: "gone", detail, transient: false }),
  "makes no sense": (detail: string) => new SemanticGarbage({ code: "unknown_city", detail }),
  "cannot be read": (detail: string) => new SchemaMismatch({ code: "invalid_result", detail, side: "result" }),
  "rejects": (detail: string) => new SchemaMismatch({ code: "invalid_arguments", detail, side: "arguments" }),
  "is a part": (detail: string, id: number) => new PartialData({ code: "more_pages", detail, data: `v${id}.` }),
  "has a next page": (detail: string, id: number, page: number) =>
    new PartialData({ code: "more_pages", detail, data: `v${id}.`, next: { page: page + 1 } })
} satisfies Record<string, (detail: string, id: number, page: number) => ToolFailure.ToolFailure<string> | undefined>

export interface Act {
  readonly takes: number
  readonly end: keyof typeof ends | "hangs" | "dies"
  readonly says: "nothing" | "a caveat" | "a source" | "both"
  /** Is a tool run inside, which needs a second try? */
  readonly isNested: boolean
  readonly isDeaf: boolean
}

export type Failure = ToolFailure.ToolFailure<string>

const inner = (play: Play, of: Execution["of"], id: number) => {
  let tries = 0
  return Tool.make(
    "inner",
    { description: "", success: Schema.String, sideEffect: "none" },
    () =>
      Effect.gen(function*() {
        const execution = yield* begun(play, of)
        yield* ToolCall.caveat(`i${id}.`)
        if (++tries > 1) return "inner"
        return yield* failing(execution, ends["is down"](`Failed #${execution.id}.`))
      })
  ).pipe(Tool.retry(Schedule.recurs(1)))
}

const begun = (play: Play, of: Execution["of"]) =>
  Effect.gen(function*() {
    const { executions } = yield* worldOf
    const execution: Execution = {
      id: ++play.ids,
      of,
      began: yield* Clock.currentTimeMillis,
      isHeard: yield* isHeard,
      around: yield* around,
      failed: undefined,
      failedLate: false,
      caveats: [],
      source: undefined,
      elapsed: 0
    }
    executions.push(execution)
    return execution
  })

const failing = <F extends Failure>(execution: Execution, failure: F) =>
  Effect.flatMap(isHeard, (isHeard) => {
    if (isHeard) execution.failed = failure
    else execution.failedLate = true
    return Effect.fail(failure)
  })

/** Does what it is told. Each failure has the number of its execution in its detail, each answer as its value. */
export const perform = (
  play: Play,
  of: Execution["of"],
  { end, isDeaf, isNested, says, takes }: Act,
  page: number
): Effect.Effect<string, Failure> =>
  Effect.flatMap(begun(play, of), (execution) => {
    const { id } = execution
    const body = Effect.gen(function*() {
      if (isNested) {
        yield* inner(play, of === "source" ? "asked" : "inner", id).run({})
        execution.caveats.push(`i${id}.`)
      }
      if (says === "a caveat" || says === "both") {
        yield* ToolCall.caveat(`c${id}.`)
        execution.caveats.push(`c${id}.`)
      }
      if (says === "a source" || says === "both") {
        yield* ToolCall.source({ name: `s${id}.` })
        execution.source = `s${id}.`
      }
      // No two ends come with the same tick.
      if (takes > 0) yield* Effect.sleep(takes + id)
      if (end === "hangs") return yield* Effect.never
      if (end === "dies") return yield* Effect.die("dies")
      return ends[end](`Failed #${id}.`, id, page)
    }).pipe(
      Effect.onExit(() =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          execution.elapsed = now - execution.began
        })
      )
    )
    return Effect.flatMap(
      // An inner tool never fails for good.
      Effect.orDie(isDeaf && end !== "hangs" ? Effect.uninterruptible(body) : body),
      (failure) => failure === undefined ? Effect.succeed(`v${id}.`) : failing(execution, failure)
    )
  })

export const parameters = Schema.Struct({ page: Schema.Int })

export type Subject = Tool.Tool<
  "subject",
  typeof parameters.Type,
  string,
  Failure,
  Breaker.CircuitBreaker | RateLimiter.RateLimiter | LastKnown.LastKnown
>

export const mirror = (play: Play, act: Act) =>
  Tool.make(
    "mirror",
    { description: "", parameters, success: Schema.String, sideEffect: "none" },
    ({ page }) => perform(play, "asked", act, page)
  ).pipe(Tool.retry(Schedule.spaced(310).pipe(Schedule.upTo({ times: 1 }))))
