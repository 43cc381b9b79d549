import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type { AbandonedAttempts } from "../call/abandonedAttempts.ts"
import { current } from "../call/frame.ts"
import { millisLeft } from "../call/timeLeft.ts"

type Restore = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Lets at most so many run at once, in the order in which they came; a permit stays taken until what holds it has really
 * ended, also when a timeout no longer waits for it.
 *
 * @param patience how long to wait for a permit, if there is no deadline before; zero not at all, infinite as long as it takes
 * @param refuse what comes of it when there is none in that time
 * @param counted put around each wait
 */
export const bulkhead = <E2>(
  permits: number,
  patience: Duration.Duration,
  refuse: Effect.Effect<never, E2>,
  counted: Restore
) => {
  const semaphore = Semaphore.makeUnsafe(permits)
  const free = Effect.asVoid(Semaphore.release(semaphore, 1))
  const most = Duration.toMillis(patience)
  let waiting = 0

  return <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | E2, R> =>
    Effect.withFiber((fiber) => {
      const { abandoned } = fiber.getRef(current).live
      return Effect.uninterruptibleMask((restore) => {
        const before = abandoned.isAny ? Array.from(abandoned.fibers) : none
        const holding = (release: Effect.Effect<void>) =>
          Effect.onExit(restore(self), () => {
            const left = leftBehind(abandoned, before)
            return left.length === 0
              ? release
              : Effect.asVoid(Effect.forkDetach(Effect.andThen(Fiber.awaitAll(left), release)))
          })
        // Nobody overtakes those who wait already.
        const taken = waiting > 0 ? Effect.succeed(false) : Semaphore.takeIfAvailable(semaphore, 1)
        return Effect.flatMap(taken, (taken) =>
          taken
            ? holding(free)
            : queueing(Math.min(most, millisLeft(fiber)), restore, holding))
      })
    })

  function queueing<A, E, R>(
    time: number,
    restore: Restore,
    holding: (release: Effect.Effect<void>) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | E2, R> {
    if (time === 0) return refuse
    if (time === Infinity) return Effect.flatMap(permit(restore), holding)
    // Either the permit comes first or the end of patience, and what comes second finds it decided. Whoever loses is interrupted,
    // also where the caller is not.
    let state: "waiting" | "begun" | "refused" = "waiting"
    const queued = Effect.uninterruptible(Effect.flatMap(permit(Effect.interruptible), (release) => {
      if (state === "refused") return Effect.andThen(release, Effect.interruptible(Effect.never))
      state = "begun"
      return holding(release)
    }))
    const impatient = Effect.andThen(
      Effect.sleep(time),
      Effect.suspend(() => {
        if (state === "begun") return Effect.never
        state = "refused"
        return refuse
      })
    )
    return restore(Effect.raceFirst(queued, Effect.interruptible(impatient)))
  }

  // Waits for a permit, which is not lost when the interruption comes with it.
  function permit(restore: Restore) {
    return Effect.suspend(() => {
      const scope = Scope.makeUnsafe()
      const release = Scope.close(scope, Exit.void)
      waiting++
      return counted(restore(Scope.provide(Semaphore.takeScoped(semaphore, 1), scope))).pipe(
        Effect.onError(() => release),
        Effect.ensuring(Effect.sync(() => waiting--)),
        Effect.as(release)
      )
    })
  }
}

// What most calls leave behind is nothing.
const leftBehind = (abandoned: AbandonedAttempts, before: Fibers): Fibers =>
  abandoned.isAny ? Array.from(abandoned.fibers).filter((fiber) => !before.includes(fiber)) : none

type Fibers = ReadonlyArray<Fiber.Fiber<unknown, unknown>>

const none: Fibers = []
