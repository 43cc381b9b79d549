import * as Effect from "effect/Effect"
import * as DispatchFailure from "../../DispatchFailure.ts"
import type * as ToolCall from "../../ToolCall.ts"
import type * as Toolkit from "../../Toolkit.ts"
import type { ToolOutcome } from "../../ToolOutcome.ts"
import { CallFrame } from "../call/callFrame.ts"
import { failedOutcome } from "../call/outcome.ts"

/**
 * The order of {@link batch} for a function of one's own that runs a call.
 *
 * When to use: for what belongs around every single call: a journal, events, a span.
 *
 * @category dispatch
 * @since 0.1.0
 */
export const ordered = <E, R>(
  toolkit: Toolkit.Toolkit,
  calls: ReadonlyArray<ToolCall.ToolCall>,
  each: (call: ToolCall.ToolCall, index: number) => Effect.Effect<ToolOutcome, E, R>
): Effect.Effect<ReadonlyArray<ToolOutcome>, E, R> => {
  const [first] = calls
  if (calls.length === 1 && first !== undefined) return Effect.map(each(first, 0), (outcome) => [outcome])
  const groups = neighbours(toolkit, calls)
  return Effect.suspend(() => {
    const done: Array<ToolOutcome> = []
    const from = (group: number): Effect.Effect<ReadonlyArray<ToolOutcome>, E, R> => {
      const members = groups[group]
      if (members === undefined) return Effect.succeed(done)
      // All of them are asked for before any starts: what may be run is decided in the order of the calls.
      const outcomes = Effect.all(members.map(({ call, index }) => each(call, index)), {
        concurrency: members.length === 1 ? 1 : readers
      })
      return Effect.flatMap(outcomes, (outcomes) => {
        done.push(...outcomes)
        return outcomes.some(holdsBack)
          ? Effect.succeed([...done, ...calls.slice(done.length).map(notRun)])
          : from(group + 1)
      })
    }
    return from(0)
  })
}

const holdsBack = ({ _tag }: ToolOutcome): boolean => _tag === "Suspended" || _tag === "Stopped"

const notRun = (call: ToolCall.ToolCall): ToolOutcome =>
  failedOutcome(new CallFrame("", { name: call.name, sideEffect: "none" }), DispatchFailure.notRun(call.name), "admit")

/**
 * Was the call held back by an earlier one of its turn, so that it can still be run?
 *
 * @category dispatch
 * @since 0.1.0
 */
export const isNotRun = (outcome: ToolOutcome): boolean =>
  outcome._tag === "Failed" && outcome.stage === "admit" && outcome.failure.code === "not_run"

/** How many reading calls of a turn run at once. */
const readers = 8

interface Indexed {
  readonly call: ToolCall.ToolCall
  readonly index: number
}

// Runs of calls that only read, and every other call on its own. An unknown tool does nothing, and so reads.
const neighbours = (
  toolkit: Toolkit.Toolkit,
  calls: ReadonlyArray<ToolCall.ToolCall>
): ReadonlyArray<ReadonlyArray<Indexed>> => {
  const groups: Array<Array<Indexed>> = []
  let reading: Array<Indexed> | undefined
  calls.forEach((call, index) => {
    const reads = (toolkit.tools.get(call.name)?.sideEffect ?? "none") === "none"
    if (reads && reading !== undefined) {
      reading.push({ call, index })
    } else {
      const group = [{ call, index }]
      groups.push(group)
      reading = reads ? group : undefined
    }
  })
  return groups
}
