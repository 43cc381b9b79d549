import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import { current, type Frame } from "../call/frame.ts"
import { Gate } from "../call/gateFrames.ts"
import { currentContext } from "../fiber/runContained.ts"
import { withinTime } from "../fiber/withinTime.ts"

/** How an Effect runs, and what replaces it when it takes too long. */
interface Limits<A, E, R> {
  /** Runs instead when the time is up. */
  readonly late: () => Effect.Effect<A, E, R>
  /** The context that the Effect runs in. Default: the context of its caller. */
  readonly context?: Context.Context<R>
}

/**
 * Runs an Effect behind a gate, for at most a given time. When the time is up, the gate closes. It then drops all
 * later events, except how an execution that acts has ended. The Effect counts as an abandoned attempt until it
 * has ended.
 *
 * @param millis the time in milliseconds; `Infinity` for no limit
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
