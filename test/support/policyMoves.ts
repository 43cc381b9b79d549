/** The moves of custom policies: what each does with the run inside it, and how long it waits. */
import { Policy, SemanticGarbage, type ToolFailure, ToolUnavailable } from "@fallible/core"
import { Clock, Duration, Effect, Fiber } from "effect"
import {
  type Act,
  around,
  type Failure,
  isEndHeard,
  isWaitHeard,
  mirror,
  type Play,
  type Stretch,
  worldOf
} from "./policyWorld.ts"

/** The tools of a custom policy. */
interface Hands<A, E extends ToolFailure.ToolFailure, R> {
  /** Runs the wrapped run once. */
  readonly inside: Effect.Effect<A, E, R>
  readonly sleep: Effect.Effect<void>
  /** Sleeps, and reports the wait. */
  readonly wait: Effect.Effect<void>
  /** Fails with a failure of the policy itself. */
  readonly fail: Effect.Effect<never, SemanticGarbage>
  readonly refusal: Effect.Effect<ToolUnavailable>
  readonly lie: Effect.Effect<ToolUnavailable>
  /** Runs another tool, which has its own account. */
  readonly other: Effect.Effect<A, Failure>
  /** Returns a kept answer if an earlier run answered, or else fails like `fail`. */
  readonly kept: Effect.Effect<A, SemanticGarbage>
  readonly call: Policy.Call
}

type Move = <A, E extends ToolFailure.ToolFailure, R>(
  hands: Hands<A, E, R>
) => Effect.Effect<A, E | Failure, R>

/** Returns the exit of a fiber if it has ended, or else `otherwise`. */
const soFar = <A, E, E2>(fiber: Fiber.Fiber<A, E>, otherwise: Effect.Effect<never, E2>): Effect.Effect<A, E | E2> =>
  Effect.suspend((): Effect.Effect<A, E | E2> => fiber.pollUnsafe() ?? otherwise)

export const moves = {
  "maps": ({ fail, inside }) => Effect.catch(inside, () => fail),
  "passes on": ({ inside }) => inside,
  "tries again": ({ inside }) => Effect.catch(inside, () => inside),
  "retries": ({ inside }) => Effect.retry(inside, { times: 2 }),
  "retries on a schedule": ({ inside, sleep }) =>
    Effect.retry(inside, { times: 2, while: () => Effect.as(sleep, true) }),
  "races": ({ inside, sleep }) => Effect.race(inside, Effect.andThen(sleep, inside)),
  "races for the first": ({ inside, sleep }) => Effect.raceFirst(inside, Effect.andThen(sleep, inside)),
  "runs both": ({ inside, sleep }) =>
    Effect.map(Effect.all([inside, Effect.andThen(sleep, inside)], { concurrency: 2 }), ([first]) => first),
  "runs both for the second": ({ inside }) =>
    Effect.map(Effect.all([inside, inside], { concurrency: 2 }), ([, second]) => second),
  "leaves it behind": ({ fail, inside, sleep }) =>
    Effect.flatMap(Effect.forkDetach(inside), (fiber) => Effect.andThen(sleep, soFar(fiber, fail))),
  "forks it": ({ fail, inside, sleep }) =>
    Effect.flatMap(
      Effect.forkChild(inside),
      (fiber) => Effect.onExit(Effect.andThen(sleep, soFar(fiber, fail)), () => Fiber.interrupt(fiber))
    ),
  "joins": ({ inside, sleep }) =>
    Effect.flatMap(
      Effect.forkChild(inside),
      (fiber) => Effect.onExit(Effect.andThen(sleep, Fiber.join(fiber)), () => Fiber.interrupt(fiber))
    ),
  "times out": ({ fail, inside, sleep }) => Effect.raceFirst(inside, Effect.andThen(sleep, fail)),
  "delays it": ({ inside, sleep }) => Effect.andThen(sleep, inside),
  "delays its answer": ({ inside, sleep }) => Effect.tap(inside, sleep),
  "delays between": ({ inside, sleep }) => Effect.catch(inside, () => Effect.andThen(sleep, inside)),
  "swallows": ({ inside, kept }) => Effect.catch(inside, () => kept),
  "runs twice for the first": ({ inside }) => Effect.tap(inside, Effect.ignore(inside)),
  "runs twice for the second": ({ inside }) => Effect.andThen(Effect.ignore(inside), inside),
  "ignores it": ({ kept }) => kept,
  "fails after it": ({ fail, inside }) => Effect.andThen(inside, fail),
  "fails before it": ({ fail }) => fail,
  "says that it tries again": ({ call, inside, wait }) =>
    Effect.catch(
      inside,
      (failure) =>
        Effect.andThen(call.again(failure, { number: 1, wait: Duration.seconds(1) }), Effect.andThen(wait, inside))
    ),
  "says that something else answers": ({ call, inside, kept }) =>
    Effect.catch(inside, (failure) => Effect.andThen(call.instead(failure, { name: "kept" }), kept)),
  "asks another tool": ({ inside, other }) => Effect.catch(inside, () => other),
  "says that another tool answers": ({ call, inside, other }) =>
    Effect.catch(inside, (failure) => Effect.andThen(call.instead(failure), other)),
  "refuses": ({ call, refusal }) => Effect.flatMap(refusal, call.refuse),
  "waits and says so": ({ inside, wait }) => Effect.andThen(wait, inside),
  "waits beside it": ({ inside, wait }) =>
    Effect.map(Effect.all([inside, wait], { concurrency: 2 }), ([first]) => first),
  "lies": ({ call, inside, lie }) => Effect.andThen(Effect.flatMap(lie, call.again), inside),
  "is deaf": ({ inside }) => Effect.uninterruptible(Effect.catch(inside, () => inside)),
  "sleeps deaf": ({ inside, sleep }) =>
    Effect.uninterruptible(Effect.andThen(sleep, Effect.catch(inside, () => inside))),
  "dies": ({ inside }) => Effect.catch(inside, () => Effect.die("dies"))
} satisfies Record<string, Move>

/** The moves with concurrent work, or work that continues after the policy ends. */
export const concurrent: ReadonlyArray<string> = [
  "races",
  "races for the first",
  "runs both",
  "runs both for the second",
  "leaves it behind",
  "forks it",
  "joins",
  "times out",
  "waits beside it"
] satisfies ReadonlyArray<keyof typeof moves>

/** Casts a string answer to the answer type of a policy, which is generic. */
const asAnswer = <A, E>(answer: Effect.Effect<string, E>) => answer as Effect.Effect<never, E> as Effect.Effect<A, E>

/** Measures how long a policy slept while nothing inside it ran. */
class Idleness {
  running = 0
  sleeping = 0
  idle = 0
  last: number
  constructor(now: number) {
    this.last = now
  }
  tick(now: number) {
    if (this.running === 0 && this.sleeping > 0) this.idle += now - this.last
    this.last = now
  }
}

export const byHand = (
  play: Play,
  name: string,
  move: Move,
  length: number,
  act: Act
): Policy.Policy<never, Failure> => {
  return Policy.make<never, Failure>({
    kind: "custom",
    name,
    description: name,
    wrap: <A, E extends ToolFailure.ToolFailure, R>(
      run: Policy.Run<A, E, R>,
      _: Policy.Subject<A>,
      call: Policy.Call
    ) => {
      let hasAnswered = false
      return (params: unknown) =>
        Effect.gen(function*() {
          const world = yield* worldOf
          const stretch: Stretch = { isOpen: true, isHeard: false }
          const outer = yield* around
          const idleness = new Idleness(yield* Clock.currentTimeMillis)
          const add = (millis: number) =>
            Effect.map(isWaitHeard, (isHeard) => {
              if (isHeard) world.waited.set(name, (world.waited.get(name) ?? 0) + millis)
            })
          const flush = Effect.flatMap(Clock.currentTimeMillis, (now) => {
            idleness.tick(now)
            const { idle } = idleness
            idleness.idle = 0
            return add(idle)
          })
          const counting = (what: "running" | "sleeping") => <B, E2, R2>(self: Effect.Effect<B, E2, R2>) =>
            Effect.acquireUseRelease(
              Effect.andThen(
                what === "running" && stretch.isOpen
                  ? flush
                  : Effect.map(Clock.currentTimeMillis, (now) => idleness.tick(now)),
                Effect.sync(() => idleness[what]++)
              ),
              () => self,
              () =>
                Effect.map(Clock.currentTimeMillis, (now) => {
                  idleness.tick(now)
                  idleness[what]--
                })
            )
          const inside = Effect.provideService(run(params), around, [...outer, stretch]).pipe(
            Effect.tap(() =>
              Effect.sync(() => {
                hasAnswered = true
              })
            ),
            counting("running")
          )
          const sleep = counting("sleeping")(Effect.sleep(length))
          const wait = Effect.flatMap(Clock.currentTimeMillis, (began) =>
            call.waiting(Effect.sleep(length), Duration.millis(length)).pipe(
              Effect.onExit(() =>
                Effect.flatMap(Clock.currentTimeMillis, (now) => add(now - began))
              ),
              counting("running")
            ))
          const withDetail = <F>(make: (detail: string) => F) =>
            Effect.sync(() => {
              const detail = `Said #${++play.ids}.`
              world.said.add(detail)
              return make(detail)
            })
          const fail = Effect.flip(withDetail((detail) => new SemanticGarbage({ code: "mine", detail })))
          const unavailable = withDetail((detail) => new ToolUnavailable({ code: "mine", detail, transient: true }))
          return yield* move<A, E, R>({
            inside,
            sleep,
            wait,
            fail,
            refusal: unavailable,
            lie: unavailable,
            other: asAnswer(counting("running")(mirror(play, act).run({ page: 1 }))),
            kept: Effect.suspend(() => hasAnswered ? asAnswer(Effect.succeed("kept")) : fail),
            call
          }).pipe(
            Effect.onExit(() =>
              Effect.andThen(
                flush,
                Effect.map(isEndHeard, (isHeard) => {
                  stretch.isHeard = isHeard
                  stretch.isOpen = false
                })
              )
            )
          )
        })
    }
  })
}
