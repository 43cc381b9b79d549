/**
 * The runs under way: how many there may be, and how they end when the server stops.
 *
 *     admit ─ a place, until the run ends            none left: 503
 *     drain ─ no new runs ─ wait ─ tell the rest to stop ─ wait for their last events
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Problem from "./Problem.ts"

export class Runs extends Context.Service<Runs, {
  /** Admits a run until the scope closes, which is the scope of the run. Fails at once if there is no place. */
  readonly admit: Effect.Effect<void, Problem.Problem, Scope.Scope>
  /** Ends when the runs under way have to stop. */
  readonly stopping: Effect.Effect<void>
  /** Refuses new runs, and waits for those under way. Tells them to stop when the grace period is over. */
  readonly drain: Effect.Effect<void>
  readonly report: Effect.Effect<{ readonly draining: boolean; readonly underWay: number; readonly max: number }>
}>()("example/Runs") {}

/** How long a run may take. Other time limits follow from this one. */
export const longest = Duration.minutes(2)

/** How long a run that was told to stop may take to send its last event. */
const lastEvent = "2 seconds"

/**
 * @param most the number of runs at once
 * @param grace how long the runs under way may go on when the server stops
 */
export const layer = (
  { grace, max }: { readonly max: number; readonly grace: Duration.Input }
): Layer.Layer<Runs> =>
  Layer.effect(
    Runs,
    Effect.gen(function*() {
      const places = yield* Semaphore.make(max)
      const stop = yield* Latch.make()
      let draining = false
      let underWay = 0
      const enter = Effect.suspend(() =>
        draining
          ? Effect.fail(Problem.draining)
          : Effect.flatMap(
            places.takeIfAvailable(1),
            (isTaken) => isTaken ? Effect.sync(() => underWay++) : Effect.fail(Problem.tooManyRuns)
          )
      )
      const leave = Effect.suspend(() => {
        underWay--
        return places.release(1)
      })
      // All places are free again when the last run has left.
      const allLeft = places.withPermits(max)(Effect.void)
      return {
        admit: Effect.asVoid(Effect.acquireRelease(enter, () => leave)),
        stopping: stop.await,
        drain: Effect.gen(function*() {
          draining = true
          yield* Effect.timeoutOrElse(allLeft, {
            duration: grace,
            orElse: () => Effect.andThen(stop.open, Effect.timeoutOption(allLeft, lastEvent))
          })
        }),
        report: Effect.sync(() => ({ draining, underWay, max }))
      }
    })
  )
