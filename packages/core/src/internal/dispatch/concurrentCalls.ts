/*
 * Which calls of a turn run at the same time. Adjacent calls form groups: calls that read, calls that act and may run
 * together, or one other call. The groups run one after the other, so a read sees the writes before it.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import type * as Tool from "../../Tool.ts"
import type * as ToolCall from "../../ToolCall.ts"
import type * as Toolkit from "../../Toolkit.ts"
import type { ToolOutcome } from "../../ToolOutcome.ts"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import { failedOutcome } from "../call/outcome.ts"
import { callScope } from "../call/partScope.ts"
import { current } from "../call/scope.ts"
import { marksOf } from "./equalCalls.ts"

/** How the calls of a turn run. */
interface Running<E, R> {
  /** Runs a call. */
  readonly each: (call: ToolCall.ToolCall, index: number) => Effect.Effect<ToolOutcome, E, R>
  /**
   * Returns the outcome of a call that is held back because another one asks: it may ask, too, but does not run. Default: it
   * asks nothing.
   *
   * @param asking the outcomes of the calls before it
   */
  readonly asks?: (
    call: ToolCall.ToolCall,
    index: number,
    asking: ReadonlyArray<ToolOutcome>
  ) => Effect.Effect<ToolOutcome, E, R>
  /** Whether all calls that act run one by one, whatever their tools say. Default: `false`. */
  readonly inOrder?: boolean
}

/**
 * Runs the calls of a turn with a custom function. Adjacent read-only calls run concurrently, and so do adjacent calls
 * that act if their tools say that they may. All others run one by one. A call that suspends or stops holds back the calls
 * after its group, and those of a group that acts that have not begun.
 *
 * When to use: to wrap each call in a journal step, events, or a span.
 *
 * @category dispatch
 * @since 0.1.0
 */
export const runInOrder = <E, R>(
  toolkit: Toolkit.Toolkit,
  calls: ReadonlyArray<ToolCall.ToolCall>,
  { asks, each, inOrder = false }: Running<E, R>
): Effect.Effect<ReadonlyArray<ToolOutcome>, E, R> => {
  const [first] = calls
  if (calls.length === 1 && first !== undefined) return Effect.map(each(first, 0), (outcome) => [outcome])
  return Effect.withFiber((fiber) => {
    // Inside a call that has left a run in doubt, each call may be that run in other words.
    const groups = groupsOf(toolkit, calls, inOrder || fiber.getRef(current).hasOpenRuns)
    const finished: Array<ToolOutcome> = []
    const from = (group: number): Effect.Effect<ReadonlyArray<ToolOutcome>, E, R> => {
      const members = groups[group]
      if (members === undefined) return Effect.succeed(finished)
      // `each` is asked about every call of a group, in order, before any of these calls starts.
      const runs = members.map(({ call, index }) => each(call, index))
      const outcomes = members.length === 1
        ? Effect.all(runs)
        : members[0]?.acting === undefined
        ? Effect.all(runs, together)
        : runApart(members, runs)
      return Effect.flatMap(outcomes, (outcomes) => {
        finished.push(...outcomes)
        return finished.some(isStopped)
          ? Effect.succeed([...finished, ...calls.slice(finished.length).map(notRun)])
          : outcomes.some(holdsBack)
          ? askTogether([...finished, ...calls.slice(finished.length).map(notRun)])
          : from(group + 1)
      })
    }
    // One by one: each of them must know what those before it ask.
    const askTogether = (outcomes: ReadonlyArray<ToolOutcome>) =>
      Effect.reduce(calls, () => outcomes, (soFar, call, index) =>
        asks !== undefined && isNotRun(soFar[index]!)
          ? Effect.map(asks(call, index, soFar.slice(0, index)), (outcome) => soFar.with(index, outcome))
          : Effect.succeed(soFar))
    return from(0)
  })
}

const isStopped = ({ _tag }: ToolOutcome): boolean => _tag === "Stopped"

const holdsBack = ({ _tag }: ToolOutcome): boolean => _tag === "Suspended" || _tag === "Stopped"

/** The outcome of a call that an earlier call of the same turn held back. */
export const notRun = (call: ToolCall.ToolCall): ToolOutcome =>
  failedOutcome(callScope("", { name: call.name, sideEffect: "none" }), DispatchFailure.notRun(call.name), "admit")

/**
 * True if an earlier call of the same turn held this call back. Such a call can still run.
 *
 * @category dispatch
 * @since 0.1.0
 */
export const isNotRun = (outcome: ToolOutcome): boolean =>
  outcome._tag === "Failed" && outcome.stage === "admit" && outcome.failure.code === "not_run"

/** How many calls may run at the same time. */
const together = { concurrency: 8 }

interface Indexed {
  readonly call: ToolCall.ToolCall
  readonly index: number
  /** The tool of the call, if it acts. A call to an unknown tool does nothing, so it counts as read-only. */
  readonly acting: Tool.Any | undefined
}

// Runs the calls of a group that acts. Calls that may be equal keep their order: the later one is decided on once the
// earlier one has ended, and joins it or has the next key. A call waits only for calls before it, so none waits for ever.
const runApart = <E, R>(
  members: ReadonlyArray<Indexed>,
  runs: ReadonlyArray<Effect.Effect<ToolOutcome, E, R>>
): Effect.Effect<ReadonlyArray<ToolOutcome>, E, R> =>
  Effect.flatMap(Effect.forEach(members, ({ acting, call }) => marksOf(acting, call)), (marks) => {
    const ends = members.map(() => Deferred.makeUnsafe<void>())
    let isHeldBack = false
    const inTurn = (run: Effect.Effect<ToolOutcome, E, R>, index: number) => {
      const isEqual = (other: number) => marks[other]?.some((mark) => marks[index]?.includes(mark)) === true
      const earlier = ends.filter((_, other) => other < index && isEqual(other))
      const begun = Effect.suspend(() => isHeldBack ? Effect.succeed(notRun(members[index]!.call)) : run)
      return Effect.map(Effect.andThen(Effect.forEach(earlier, Deferred.await), begun), (outcome) => {
        isHeldBack ||= holdsBack(outcome)
        Deferred.doneUnsafe(ends[index]!, Exit.void)
        return outcome
      })
    }
    return Effect.all(runs.map(inTurn), together)
  })

// Groups adjacent calls that may run together.
const groupsOf = (
  toolkit: Toolkit.Toolkit,
  calls: ReadonlyArray<ToolCall.ToolCall>,
  inOrder: boolean
): ReadonlyArray<ReadonlyArray<Indexed>> => {
  const groups: Array<Array<Indexed>> = []
  let group: Array<Indexed> | undefined
  let before: Tool.Any | undefined
  calls.forEach((call, index) => {
    const tool = toolkit.tools.get(call.name)
    const acting = tool?.sideEffect === "none" ? undefined : tool
    if (group !== undefined && mayRunTogether(before, acting, inOrder)) group.push({ call, index, acting })
    else groups.push(group = [{ call, index, acting }])
    before = acting
  })
  return groups
}

// An identity tells the effects of one tool apart. It does not say that the effects of two tools are independent.
const mayRunTogether = (one: Tool.Any | undefined, other: Tool.Any | undefined, inOrder: boolean): boolean => {
  if (one === undefined || other === undefined) return one === other
  return !inOrder && isConcurrent(one) && isConcurrent(other) &&
    (one === other || one.concurrent === true && other.concurrent === true)
}

// `"all"` does not say that the order is of no importance: to set a value, and then another, are two calls. A fixer may
// correct a call to one that already runs.
const isConcurrent = ({ concurrent, fixers = [], identity }: Tool.Any): boolean =>
  fixers.length === 0 && (concurrent ?? Predicate.isFunction(identity))
