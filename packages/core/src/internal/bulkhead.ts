import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as ToolCall from "../ToolCall.ts"

/**
 * Lets at most so many run at once, in the order in which they came; a permit stays taken until what holds it has really
 * ended, also when a timeout no longer waits for it.
 *
 * @param patience how long to wait for a permit; zero not at all, infinite as long as it takes
 * @param refuse what comes of it when there is none in that time
 */
export const bulkhead = <E2>(permits: number, patience: Duration.Duration, refuse: Effect.Effect<never, E2>) => {
  const semaphore = Semaphore.makeUnsafe(permits)
  const free = Effect.asVoid(Semaphore.release(semaphore, 1))
  let waiting = 0

  return <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | E2, R> =>
    Effect.flatMap(ToolCall.current, ({ stragglers }) =>
      Effect.uninterruptibleMask((restore) => {
        const before = new Set(stragglers.running)
        const holding = (release: Effect.Effect<void>) =>
          Effect.onExit(restore(self), () => {
            const left = Array.from(stragglers.running).filter((fiber) => !before.has(fiber))
            return left.length === 0
              ? release
              : Effect.asVoid(Effect.forkDetach(Effect.andThen(Fiber.awaitAll(left), release)))
          })
        // Nobody overtakes those who wait already.
        const taken = waiting > 0 ? Effect.succeed(false) : Semaphore.takeIfAvailable(semaphore, 1)
        return Effect.flatMap(taken, (taken) => {
          if (taken) return holding(free)
          if (Duration.isZero(patience)) return refuse
          // Either the permit comes first or the end of patience, and what comes second finds it decided.
          let state: "waiting" | "begun" | "refused" = "waiting"
          const queued = Effect.uninterruptible(Effect.flatMap(permit(restore), (release) => {
            if (state === "refused") return Effect.andThen(release, Effect.never)
            state = "begun"
            return holding(release)
          }))
          if (!Duration.isFinite(patience)) return queued
          const impatient = Effect.andThen(
            Effect.sleep(patience),
            Effect.suspend(() => {
              if (state === "begun") return Effect.never
              state = "refused"
              return refuse
            })
          )
          return restore(Effect.raceFirst(queued, impatient))
        })
      }))

  // Waits for a permit, which is not lost when the interruption comes with it.
  function permit(restore: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) {
    return Effect.suspend(() => {
      const scope = Scope.makeUnsafe()
      const release = Scope.close(scope, Exit.void)
      waiting++
      return restore(Scope.provide(Semaphore.takeScoped(semaphore, 1), scope)).pipe(
        Effect.onError(() => release),
        Effect.ensuring(Effect.sync(() => waiting--)),
        Effect.as(release)
      )
    })
  }
}
