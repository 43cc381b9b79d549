import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Semaphore from "effect/Semaphore"
import * as ToolCall from "../ToolCall.ts"

/**
 * Lets at most so many run at once; a permit stays taken until what holds it has really ended, also when a timeout
 * no longer waits for it.
 *
 * @param patience how long to wait for a permit; zero not at all, infinite as long as it takes
 * @param refuse what comes of it when there is none in that time
 */
export const bulkhead = <E2>(permits: number, patience: Duration.Duration, refuse: Effect.Effect<never, E2>) => {
  const semaphore = Semaphore.makeUnsafe(permits)
  const free = Effect.asVoid(Semaphore.release(semaphore, 1))
  const impatient = (hasBegun: () => boolean) =>
    Effect.andThen(Effect.sleep(patience), Effect.suspend(() => hasBegun() ? Effect.never : refuse))

  return <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | E2, R> =>
    Effect.flatMap(ToolCall.current, ({ stragglers }) => {
      const release = Effect.suspend(() => {
        const left = Array.from(stragglers.running)
        return left.length === 0
          ? free
          : Effect.asVoid(Effect.forkDetach(Effect.andThen(Fiber.awaitAll(left), free)))
      })
      const held = Effect.onExit(self, () => release)
      return Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(Semaphore.takeIfAvailable(semaphore, 1), (taken) => {
          if (taken) return restore(held)
          if (Duration.isZero(patience)) return refuse
          let begun = false
          const queued = Effect.uninterruptibleMask((restore) =>
            Effect.flatMap(restore(Semaphore.take(semaphore, 1)), () => {
              begun = true
              return restore(held)
            })
          )
          return restore(Duration.isFinite(patience) ? Effect.raceFirst(queued, impatient(() => begun)) : queued)
        })
      )
    })
}
