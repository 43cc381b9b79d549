import * as Effect from "effect/Effect"
import type * as ToolCall from "../../ToolCall.ts"
import type * as Toolkit from "../../Toolkit.ts"
import type { ToolOutcome } from "../../ToolOutcome.ts"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import { failedOutcome } from "../call/outcome.ts"
import { callScope } from "../call/partScope.ts"

/**
 * Runs the calls of a turn with a custom function: adjacent read-only calls concurrently, all others one by one.
 * A call that suspends or stops holds back the calls after its group.
 *
 * When to use: to wrap each call in a journal step, events, or a span.
 *
 * @category dispatch
 * @since 0.1.0
 */
export const runInOrder = <E, R>(
  toolkit: Toolkit.Toolkit,
  calls: ReadonlyArray<ToolCall.ToolCall>,
  each: (call: ToolCall.ToolCall, index: number) => Effect.Effect<ToolOutcome, E, R>
): Effect.Effect<ReadonlyArray<ToolOutcome>, E, R> => {
  const [first] = calls
  if (calls.length === 1 && first !== undefined) return Effect.map(each(first, 0), (outcome) => [outcome])
  const groups = groupsOf(toolkit, calls)
  return Effect.suspend(() => {
    const finished: Array<ToolOutcome> = []
    const from = (group: number): Effect.Effect<ReadonlyArray<ToolOutcome>, E, R> => {
      const members = groups[group]
      if (members === undefined) return Effect.succeed(finished)
      // `each` decides on every call of a group, in order, before any of these calls starts.
      const outcomes = Effect.all(members.map(({ call, index }) => each(call, index)), {
        concurrency: members.length === 1 ? 1 : maxReaders
      })
      return Effect.flatMap(outcomes, (outcomes) => {
        finished.push(...outcomes)
        return outcomes.some(holdsBack)
          ? Effect.succeed([...finished, ...calls.slice(finished.length).map(notRun)])
          : from(group + 1)
      })
    }
    return from(0)
  })
}

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

/** How many read-only calls may run at the same time. */
const maxReaders = 8

interface Indexed {
  readonly call: ToolCall.ToolCall
  readonly index: number
}

// Groups adjacent read-only calls. Every other call is alone in its group. A call to an unknown tool does nothing,
// so it counts as read-only.
const groupsOf = (
  toolkit: Toolkit.Toolkit,
  calls: ReadonlyArray<ToolCall.ToolCall>
): ReadonlyArray<ReadonlyArray<Indexed>> => {
  const groups: Array<Array<Indexed>> = []
  let readingGroup: Array<Indexed> | undefined
  calls.forEach((call, index) => {
    const isReading = (toolkit.tools.get(call.name)?.sideEffect ?? "none") === "none"
    if (isReading && readingGroup !== undefined) {
      readingGroup.push({ call, index })
    } else {
      const group = [{ call, index }]
      groups.push(group)
      readingGroup = isReading ? group : undefined
    }
  })
  return groups
}
