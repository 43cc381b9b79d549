import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { WireRequest } from "../../WireRequest.ts"
import { partOf } from "../call/partScope.ts"
import { current, type Scope } from "../call/scope.ts"
import { currentContext } from "../fiber/runContained.ts"
import { withinTime } from "../fiber/withinTime.ts"
import { Slot, within } from "../wire/places.ts"
import { isWatching } from "../wire/witness.ts"

/** The replacement of an Effect that takes too long, and the context in which the Effect runs. */
interface Limits<A, E, R> {
  /** Returns the Effect that runs in place of the late one when the time is up, given the requests of the handler so far. */
  readonly late: (wire: ReadonlyArray<WireRequest>) => Effect.Effect<A, E, R>
  /** The context in which the Effect runs. Default: the context of the current fiber. */
  readonly context?: Context.Context<R>
}

/**
 * Runs an Effect in a scope of its own, for at most a given time. When the time is up, the scope
 * closes. From then on it drops all events, except that it still reports how an execution of a tool
 * with side effects has ended. Until the late Effect has ended, it counts as an abandoned attempt.
 *
 * @param millis the time in milliseconds; `Infinity` for no limit
 */
export const abandonable = <A, E, R>(
  run: Effect.Effect<A, E, R>,
  scope: Scope,
  millis: number,
  { context = currentContext<R>(), late }: Limits<A, E, R>
): Effect.Effect<A, E, R> => {
  const limit = partOf(scope, "limit")
  // The handler may run in the fiber of the limit, whose requests are then those of the handler.
  const slot = scope.acts && isWatching() ? new Slot() : undefined
  limit.slot = slot
  return withinTime(run, millis, {
    within: (start) => within(slot, start),
    context: Context.add(context, current, limit),
    onEnd: () => {
      limit.end()
    },
    onInterrupt: () => {
      limit.wasLeft = true
    },
    onLeft: (fiber) => {
      limit.close()
      limit.wire?.leave()
      scope.live.abandoned.add(fiber)
    },
    late: () => {
      const { wire } = limit
      wire?.leave()
      limit.close()
      return late(wire?.hasData === true ? wire.data : [])
    }
  })
}
