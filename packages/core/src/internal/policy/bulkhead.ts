import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type { AbandonedAttempts } from "../call/abandonedAttempts.ts"
import { current } from "../call/scope.ts"
import { millisLeft } from "../call/timeLeft.ts"

type Restore = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Returns a function that runs Effects, at most `permits` of them at the same time. Effects that have
 * to wait start in order of arrival. An Effect keeps its permit until it has really ended, even if a
 * timeout has abandoned it by then.
 *
 * @param patience the longest wait for a permit, if no deadline comes first; zero refuses an Effect
 * that would have to wait, and infinity sets no limit
 * @param refuse runs in place of an Effect that gets no permit in that time
 * @param counted wraps each wait for a permit
 */
export const bulkhead = <E2>(
  permits: number,
  patience: Duration.Duration,
  refuse: Effect.Effect<never, E2>,
  counted: Restore
) => {
  const semaphore = Semaphore.makeUnsafe(permits)
  const releasePermit = Effect.asVoid(Semaphore.release(semaphore, 1))
  const maxMillis = Duration.toMillis(patience)
  let waiting = 0

  return <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | E2, R> =>
    Effect.withFiber((fiber) => {
      const { abandoned } = fiber.getRef(current).live
      return Effect.uninterruptibleMask((restore) => {
        const before = abandoned.isAny ? Array.from(abandoned.fibers) : none
        const runHolding = (release: Effect.Effect<void>) =>
          Effect.onExit(restore(self), () => {
            const remaining = newlyAbandoned(abandoned, before)
            return remaining.length === 0
              ? release
              : Effect.asVoid(Effect.forkDetach(Effect.andThen(Fiber.awaitAll(remaining), release)))
          })
        // A caller does not overtake others that are already waiting, even if a permit is free.
        const taken = waiting > 0 ? Effect.succeed(false) : Semaphore.takeIfAvailable(semaphore, 1)
        return Effect.flatMap(taken, (taken) =>
          taken
            ? runHolding(releasePermit)
            : waitInLine(Math.min(maxMillis, millisLeft(fiber)), restore, runHolding))
      })
    })

  function waitInLine<A, E, R>(
    time: number,
    restore: Restore,
    runHolding: (release: Effect.Effect<void>) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | E2, R> {
    if (time === 0) return refuse
    if (time === Infinity) return Effect.flatMap(takePermit(restore), runHolding)
    // The wait for a permit races with a timer. The winner decides, and the loser is interrupted,
    // even if the caller is uninterruptible.
    let state: "waiting" | "begun" | "refused" = "waiting"
    const queued = Effect.uninterruptible(Effect.flatMap(takePermit(Effect.interruptible), (release) => {
      if (state === "refused") return Effect.andThen(release, Effect.interruptible(Effect.never))
      state = "begun"
      return runHolding(release)
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

  // Waits for a permit. If an interruption arrives together with the permit, the permit is released.
  function takePermit(restore: Restore) {
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

// Returns the attempts that were abandoned after `before` was recorded. Fast path: most calls abandon nothing.
const newlyAbandoned = (abandoned: AbandonedAttempts, before: Fibers): Fibers =>
  abandoned.isAny ? Array.from(abandoned.fibers).filter((fiber) => !before.includes(fiber)) : none

type Fibers = ReadonlyArray<Fiber.Fiber<unknown, unknown>>

const none: Fibers = []
