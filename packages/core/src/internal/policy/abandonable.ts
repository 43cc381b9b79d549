import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import { current, type Frame } from "../call/frame.ts"
import { Gate } from "../call/gate.ts"
import { currentContext } from "../effect/contained.ts"
import { withinTime } from "../effect/withinTime.ts"

/** What becomes of what takes too long. */
interface Limits<A, E, R> {
  /** What comes instead, when the time is up. */
  readonly late: () => Effect.Effect<A, E, R>
  /** What it runs in. Default: the context of its caller. */
  readonly context?: Context.Context<R>
}

/**
 * Runs an Effect for at most a given time, behind a gate. When the time is up, the gate closes and drops all later events but the last.
 * The Effect counts as running until it has ended.
 */
export const abandonable = <A, E, R>(
  run: Effect.Effect<A, E, R>,
  frame: Frame,
  millis: number,
  { context = currentContext<R>(), late }: Limits<A, E, R>
): Effect.Effect<A, E, R> => {
  const gate = new Gate(frame)
  return withinTime(run, millis, {
    context: Context.add(context, current, gate),
    onEnd: () => {
      gate.isOver = true
    },
    onInterrupt: () => {
      gate.wasLeft = true
    },
    onLeft: (fiber) => {
      gate.close()
      frame.live.abandoned.add(fiber)
    },
    late: () => {
      gate.close()
      return late()
    }
  })
}
