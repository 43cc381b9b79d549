/** The ground truth of a call: tools whose handlers and sources record what they do. */
import {
  PartialData,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolCall,
  type ToolFailure,
  ToolUnavailable
} from "@fallible/core"
import * as Deadline from "@fallible/core/Deadline"
import type * as LastKnown from "@fallible/core/LastKnown"
import { Clock, Context, Effect, Schedule, Schema } from "effect"
import type * as Breaker from "effect/persistence/CircuitBreaker"
import type * as RateLimiter from "effect/persistence/RateLimiter"

// -----------------------------------------------------------------------------
// The oracle: records of handlers and policies
// -----------------------------------------------------------------------------

/** A stretch of code with a caller that waits for it. Open until the caller stops waiting. */
export interface Stretch {
  isOpen: boolean
  /** Whether a caller still waited when it ended. */
  isHeard: boolean
}

/** One execution of a handler, a source or an inner tool. */
export interface Execution {
  readonly id: number
  /** `"asked"` is a tool that a fallback calls. */
  readonly of: "handler" | "asked" | "source" | "check" | "inner"
  readonly began: number
  /** Whether a caller waited when it began. */
  readonly isHeard: boolean
  /** The policies around it. */
  readonly around: ReadonlyArray<Stretch>
  /** The failure that it ended with while a caller waited. */
  failed: ToolFailure.ToolFailure | undefined
  /** Whether it ended with a failure after its caller had stopped waiting. */
  failedLate: boolean
  /** The caveats that it added to its answer. With each, it attached a file with the same text as its address. */
  readonly caveats: Array<string>
  source: string | undefined
  elapsed: number
}

/** The ground truth of one call. */
export class World {
  readonly call: Stretch = { isOpen: true, isHeard: true }
  /** Whether an event fell on the exact tick of a deadline, so that either may come first. */
  isTie = false
  /** Whether a policy ended on the exact tick of a deadline. In uninterruptible code, the deadline may come first. */
  isTieOfEnds = false
  /** Whether, in uninterruptible code, a handler began or a wait ended after its deadline. */
  isLate = false
  readonly executions: Array<Execution> = []
  /** Milliseconds that each custom policy slept while nothing inside it ran. */
  readonly waited = new Map<string, number>()
  /** Details of failures that policies made themselves, or reported without having had them. */
  readonly said = new Set<string>()
}

/** The id counter of one play. Each play starts anew, so two plays of one scenario have equal ids. */
export interface Play {
  ids: number
}

/** The call that the current code belongs to. */
export const worldOf: Context.Reference<World> = Context.Reference("test/world", { defaultValue: () => new World() })

/** The stretches around the current code. */
export const around: Context.Reference<ReadonlyArray<Stretch>> = Context.Reference<ReadonlyArray<Stretch>>(
  "test/around",
  {
    defaultValue: () => []
  }
)

/** Reports whether a caller waits for the current code. */
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

const isWaitInTime = (now: number, deadline: number, world: World): boolean => {
  if (now > deadline) world.isLate = true
  return now <= deadline
}

/** Like `isHeard`, but a wait that ends exactly at its deadline still counts as in time. */
export const isWaitHeard = isHeardBy(isWaitInTime)

/** Like `isWaitHeard`, at the end of a policy. */
export const isEndHeard = isHeardBy((now, deadline, world) => {
  if (now === deadline) world.isTieOfEnds = true
  return isWaitInTime(now, deadline, world)
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
  /** Whether it runs an inner tool, which succeeds at its second try. */
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
        const execution = yield* beginExecution(play, of)
        yield* ToolCall.caveat(`i${id}.`)
        yield* ToolCall.attach({ url: `i${id}.` })
        if (++tries > 1) return "inner"
        return yield* failing(execution, ends["is down"](`Failed #${execution.id}.`))
      })
  ).pipe(Tool.retry(Schedule.recurs(1)))
}

const beginExecution = (play: Play, of: Execution["of"]) =>
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

/** Performs an act. Each failure has the number of its execution in its detail, and each answer has it in its value. */
export const perform = (
  play: Play,
  of: Execution["of"],
  { end, isDeaf, isNested, says, takes }: Act,
  page: number
): Effect.Effect<string, Failure> =>
  Effect.flatMap(beginExecution(play, of), (execution) => {
    const { id } = execution
    const body = Effect.gen(function*() {
      if (isNested) {
        yield* inner(play, of === "source" ? "asked" : "inner", id).run({})
        execution.caveats.push(`i${id}.`)
      }
      if (says === "a caveat" || says === "both") {
        yield* ToolCall.caveat(`c${id}.`)
        yield* ToolCall.attach({ url: `c${id}.` })
        execution.caveats.push(`c${id}.`)
      }
      if (says === "a source" || says === "both") {
        yield* ToolCall.source({ name: `s${id}.` })
        execution.source = `s${id}.`
      }
      // Adds the id, so that no two executions end on the same tick.
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
      // An inner tool always succeeds in the end, so its failure would be a defect.
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
