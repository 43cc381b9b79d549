/** The account of a call is right whatever stands around its handler: policies of ours, and users' own that do what they like. */
import { assert, describe, it } from "@effect/vitest"
import {
  CallEvent,
  Deadline,
  Defect,
  Dispatch,
  PartialData,
  Policy,
  SchemaMismatch,
  SemanticGarbage,
  type SideEffect,
  Tool,
  ToolCall,
  type ToolFailure,
  Toolkit,
  ToolOutcome,
  ToolUnavailable
} from "@fallible/core"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import * as LastKnown from "@fallible/core/LastKnown"
import * as RateLimit from "@fallible/core/RateLimit"
import {
  Clock,
  Context,
  Duration,
  Effect,
  Fiber,
  Layer,
  Logger,
  Option,
  Random,
  Schedule,
  Scheduler,
  Schema
} from "effect"
import * as Breaker from "effect/persistence/CircuitBreaker"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { inWholeMillis } from "../support/virtualTime.ts"

// -----------------------------------------------------------------------------
// The oracle: what handlers and policies know of themselves
// -----------------------------------------------------------------------------

/** A stretch of code that somebody waits for, until nobody does. */
interface Stretch {
  isOpen: boolean
  /** Did somebody still wait for it when it ended? */
  isHeard: boolean
}

/** One execution of a handler, of a source or of a tool inside. */
interface Execution {
  readonly id: number
  /** `"asked"`: a tool that a fallback asks. */
  readonly of: "handler" | "asked" | "source" | "check" | "inner"
  readonly began: number
  /** Did somebody wait for it when it began? */
  readonly isHeard: boolean
  /** The policies around it. */
  readonly around: ReadonlyArray<Stretch>
  /** The failure that it ended with while somebody waited. */
  failed: ToolFailure.ToolFailure | undefined
  /** Did it end with a failure when nobody waited any more? */
  failedLate: boolean
  /** What it said of its answer. */
  readonly caveats: Array<string>
  source: string | undefined
  elapsed: number
}

/** What really happened in one call. */
class World {
  readonly call: Stretch = { isOpen: true, isHeard: true }
  /** Did something happen with the very tick of a deadline, when either comes first? */
  isTie = false
  /** Did a handler begin, or a wait end, after the deadline around it, in what is deaf? */
  isLate = false
  readonly executions: Array<Execution> = []
  /** How long each custom policy slept while nothing inside of it ran. */
  readonly waited = new Map<string, number>()
  /** What policies failed with by themselves, and what they said of failures that never happened. */
  readonly said = new Set<string>()
}

/** Ids are drawn anew for each play, so that two plays of one scenario have the same. */
interface Play {
  ids: number
}

/** The call that the code which runs now is of. */
const worldOf: Context.Reference<World> = Context.Reference("test/world", { defaultValue: () => new World() })

/** The stretches around the code that runs now. */
const around: Context.Reference<ReadonlyArray<Stretch>> = Context.Reference<ReadonlyArray<Stretch>>("test/around", {
  defaultValue: () => []
})

/** Does anybody wait for the code that runs now? */
const isHeardBy = (isInTime: (now: number, deadline: number, world: World) => boolean): Effect.Effect<boolean> =>
  Effect.withFiber((fiber) => {
    const now = fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
    const world = fiber.getRef(worldOf)
    return Effect.succeed(
      world.call.isOpen && isInTime(now, fiber.getRef(Deadline.current), world) &&
        fiber.getRef(around).every(({ isOpen }) => isOpen)
    )
  })

const isHeard = isHeardBy((now, deadline, world) => {
  if (now === deadline) world.isTie = true
  if (now > deadline) world.isLate = true
  return now < deadline
})

/** A wait ends with the deadline that cuts it short. */
const isWaitHeard = isHeardBy((now, deadline, world) => {
  if (now > deadline) world.isLate = true
  return now <= deadline
})

// -----------------------------------------------------------------------------
// Tools
// -----------------------------------------------------------------------------

const ends = {
  answers: () => undefined,
  "is down": (detail: string) => new ToolUnavailable({ code: "connection", detail, transient: true }),
  "did nothing": (detail: string) =>
    new ToolUnavailable({ code: "connection", detail, transient: true, outcome: "not_executed" }),
  "may have acted": (detail: string) =>
    new ToolUnavailable({ code: "connection", detail, transient: true, outcome: "unknown" }),
  "is gone": (detail: string) => new ToolUnavailable({ code: "gone", detail, transient: false }),
  "makes no sense": (detail: string) => new SemanticGarbage({ code: "unknown_city", detail }),
  "cannot be read": (detail: string) => new SchemaMismatch({ code: "invalid_result", detail, side: "result" }),
  "rejects": (detail: string) => new SchemaMismatch({ code: "invalid_arguments", detail, side: "arguments" }),
  "is a part": (detail: string, id: number) => new PartialData({ code: "more_pages", detail, data: `v${id}.` }),
  "has a next page": (detail: string, id: number, page: number) =>
    new PartialData({ code: "more_pages", detail, data: `v${id}.`, next: { page: page + 1 } })
} satisfies Record<string, (detail: string, id: number, page: number) => ToolFailure.ToolFailure<string> | undefined>

const keysOf = <A extends object>(object: A) => Object.keys(object) as Array<keyof A>

interface Act {
  readonly takes: number
  readonly end: keyof typeof ends | "hangs" | "dies"
  readonly says: "nothing" | "a caveat" | "a source" | "both"
  /** Is a tool run inside, which needs a second try? */
  readonly isNested: boolean
  readonly isDeaf: boolean
}

type Failure = ToolFailure.ToolFailure<string>

const inner = (play: Play, of: Execution["of"], id: number) => {
  let tries = 0
  return Tool.make(
    "inner",
    { description: "", success: Schema.String, sideEffect: "none" },
    () =>
      Effect.gen(function*() {
        const execution = yield* begun(play, of)
        yield* ToolCall.caveat(`i${id}.`)
        if (++tries > 1) return "inner"
        return yield* failing(execution, ends["is down"](`Failed #${execution.id}.`))
      })
  ).pipe(Tool.retry(Schedule.recurs(1)))
}

const begun = (play: Play, of: Execution["of"]) =>
  Effect.gen(function*() {
    const { executions } = yield* worldOf
    const execution: Execution = {
      id: ++play.ids,
      of,
      began: yield* Clock.currentTimeMillis,
      isHeard: yield* isHeard,
      around: yield* around,
      failed: undefined,
      failedLate: false,
      caveats: [],
      source: undefined,
      elapsed: 0
    }
    executions.push(execution)
    return execution
  })

const failing = <F extends Failure>(execution: Execution, failure: F) =>
  Effect.flatMap(isHeard, (isHeard) => {
    if (isHeard) execution.failed = failure
    else execution.failedLate = true
    return Effect.fail(failure)
  })

/** Does what it is told. Each failure has the number of its execution in its detail, each answer as its value. */
const perform = (
  play: Play,
  of: Execution["of"],
  { end, isDeaf, isNested, says, takes }: Act,
  page: number
): Effect.Effect<string, Failure> =>
  Effect.flatMap(begun(play, of), (execution) => {
    const { id } = execution
    const body = Effect.gen(function*() {
      if (isNested) {
        yield* inner(play, of === "source" ? "asked" : "inner", id).run({})
        execution.caveats.push(`i${id}.`)
      }
      if (says === "a caveat" || says === "both") {
        yield* ToolCall.caveat(`c${id}.`)
        execution.caveats.push(`c${id}.`)
      }
      if (says === "a source" || says === "both") {
        yield* ToolCall.source({ name: `s${id}.` })
        execution.source = `s${id}.`
      }
      // No two ends come with the same tick.
      if (takes > 0) yield* Effect.sleep(takes + id)
      if (end === "hangs") return yield* Effect.never
      if (end === "dies") return yield* Effect.die("dies")
      return ends[end](`Failed #${id}.`, id, page)
    }).pipe(
      Effect.onExit(() =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          execution.elapsed = now - execution.began
        })
      )
    )
    return Effect.flatMap(
      // An inner tool never fails for good.
      Effect.orDie(isDeaf && end !== "hangs" ? Effect.uninterruptible(body) : body),
      (failure) => failure === undefined ? Effect.succeed(`v${id}.`) : failing(execution, failure)
    )
  })

const parameters = Schema.Struct({ page: Schema.Int })

type Subject = Tool.Tool<
  "subject",
  typeof parameters.Type,
  string,
  Failure,
  Breaker.CircuitBreaker | RateLimiter.RateLimiter | LastKnown.LastKnown
>

const mirror = (play: Play, act: Act) =>
  Tool.make(
    "mirror",
    { description: "", parameters, success: Schema.String, sideEffect: "none" },
    ({ page }) => perform(play, "asked", act, page)
  ).pipe(Tool.retry(Schedule.spaced(310).pipe(Schedule.upTo({ times: 1 }))))

// -----------------------------------------------------------------------------
// Policies of users
// -----------------------------------------------------------------------------

/** What a policy by hand may use. */
interface Hands<A, E extends ToolFailure.ToolFailure, R> {
  /** What is inside, once. */
  readonly inside: Effect.Effect<A, E, R>
  readonly sleep: Effect.Effect<void>
  /** Sleeps, and says so. */
  readonly wait: Effect.Effect<void>
  /** Fails by itself. */
  readonly fail: Effect.Effect<never, SemanticGarbage>
  readonly refusal: Effect.Effect<ToolUnavailable>
  readonly lie: Effect.Effect<ToolUnavailable>
  /** What another tool answers, whose account is its own. */
  readonly other: Effect.Effect<A, Failure>
  /** What it answered with in an earlier run; else it fails by itself. */
  readonly kept: Effect.Effect<A, SemanticGarbage>
  readonly call: Policy.Call
}

type Move = <A, E extends ToolFailure.ToolFailure, R>(
  hands: Hands<A, E, R>
) => Effect.Effect<A, E | Failure, R>

/** What a fiber has come to by now. */
const soFar = <A, E, E2>(fiber: Fiber.Fiber<A, E>, otherwise: Effect.Effect<never, E2>): Effect.Effect<A, E | E2> =>
  Effect.suspend((): Effect.Effect<A, E | E2> => fiber.pollUnsafe() ?? otherwise)

const moves = {
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

/** In these, something may go on beside, or after. */
const concurrent: ReadonlyArray<string> = [
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

/** The answers of the tool are texts, which a policy does not know. */
const asAnswer = <A, E>(answer: Effect.Effect<string, E>) => answer as Effect.Effect<never, E> as Effect.Effect<A, E>

/** How long a policy has slept while nothing inside of it ran. */
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

const byHand = (play: Play, name: string, move: Move, length: number, act: Act): Policy.Policy<never, Failure> => {
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
          const saying = <F>(make: (detail: string) => F) =>
            Effect.sync(() => {
              const detail = `Said #${++play.ids}.`
              world.said.add(detail)
              return make(detail)
            })
          const fail = Effect.flip(saying((detail) => new SemanticGarbage({ code: "mine", detail })))
          const unavailable = saying((detail) => new ToolUnavailable({ code: "mine", detail, transient: true }))
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
                Effect.map(isWaitHeard, (isHeard) => {
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

// -----------------------------------------------------------------------------
// Policies of ours
// -----------------------------------------------------------------------------

type Change = (tool: Subject, play: Play, index: number) => Subject
type Written = readonly [text: string, change: Change]

const act: fc.Arbitrary<Act> = fc.record({
  takes: fc.constantFrom(0, 0, 0, 1_000, 7_000),
  end: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom<Act["end"]>("answers", "is down", "did nothing") },
    { weight: 1, arbitrary: fc.constantFrom<Act["end"]>("hangs", "dies") },
    { weight: 2, arbitrary: fc.constantFrom(...keysOf(ends)) }
  ),
  says: fc.constantFrom("nothing", "nothing", "a caveat", "a source", "both"),
  isNested: fc.boolean(),
  isDeaf: fc.constantFrom(false, false, false, true)
})

const lengths = fc.constantFrom(0, 310, 2_310, 10_310)

const ours: Record<string, fc.Arbitrary<Written>> = {
  timeout: fc.constantFrom(570, 5_570, 20_570).map((millis) => [`timeout ${millis}`, Tool.timeout(millis)]),
  deadline: fc.constantFrom(5_570, 20_570).map((millis) => [`deadline ${millis}`, Tool.deadline(millis)]),
  retry: fc.tuple(fc.integer({ min: 1, max: 3 }), lengths).map(([times, millis]) => [
    `retry ${times} ${millis}`,
    Tool.retry(Schedule.jittered(Schedule.spaced(millis)).pipe(Schedule.upTo({ times })))
  ]),
  concurrency: fc.constantFrom(0, 2_430, Infinity).map((
    maxWait
  ) => [`concurrency ${maxWait}`, Tool.concurrency(1, { maxWait })]),
  fallback: act.map((act) => [
    `fallback ${JSON.stringify(act)}`,
    (tool, play) => Tool.fallback(tool, ({ page }) => perform(play, "source", act, page))
  ]),
  fallbackToTool: fc.tuple(act, fc.boolean()).map(([act, isNamed]) => [
    `fallback to a tool ${JSON.stringify(act)}`,
    (tool, play) => Tool.fallback(tool, mirror(play, act).run, isNamed ? { name: "mirror" } : {})
  ]),
  catchTag: act.map((act) => [
    `catch ${JSON.stringify(act)}`,
    (tool, play) => Tool.catchTag(tool, "SemanticGarbage", (_, { page }) => perform(play, "source", act, page))
  ]),
  mapFailure: fc.constant([
    "map",
    Tool.mapFailure((failure: Failure): Failure =>
      failure._tag === "SemanticGarbage"
        ? new SemanticGarbage({ ...failure, code: "mapped", detail: `Mapped: ${failure.detail}` })
        : failure
    )
  ]),
  breaker: fc.constant(["breaker", CircuitBreaker.protect()]),
  rate: fc.constantFrom<RateLimit.Options["onExceeded"] & {}>("wait", "refuse").map((onExceeded) => [
    `rate ${onExceeded}`,
    RateLimit.limit({ limit: 2, window: 3_470, onExceeded })
  ]),
  lastKnown: fc.constant(["last known", (tool) => tool.sideEffect === "none" ? LastKnown.fallback()(tool) : tool]),
  reconcile: fc.tuple(act, fc.boolean()).map(([act, isDone]) => [
    `reconcile ${isDone} ${JSON.stringify(act)}`,
    (tool, play) =>
      Tool.reconcile(
        tool,
        ({ page }) =>
          Effect.map(perform(play, "check", act, page), (value) => isDone ? Option.some(value) : Option.none())
      )
  ]),
  paginate: fc.record({ pages: fc.integer({ min: 2, max: 3 }), time: fc.constantFrom(3_590, 30_590) }).map((limits) => [
    `paginate ${JSON.stringify(limits)}`,
    (tool) =>
      tool.sideEffect === "non_idempotent"
        ? tool
        : Tool.paginate(tool, { ...limits, merge: (soFar, page) => soFar + page })
  ])
}

const users: fc.Arbitrary<Written> = fc.record({
  name: fc.constantFrom(...keysOf(moves)),
  length: lengths,
  act
}).map(({ act, length, name }) => [
  `${name} ${length}`,
  (tool, play, index) =>
    Tool.with(tool, byHand(play, `p${index}`, moves[name], length === 0 ? 0 : length + 17 * index, act))
])

interface Scenario {
  readonly acts: ReadonlyArray<Act>
  readonly sideEffect: SideEffect.SideEffect
  readonly policies: ReadonlyArray<Written>
  readonly deadline: number
  readonly seed: number
}

const scenario: fc.Arbitrary<Scenario> = fc.record({
  acts: fc.array(act, { minLength: 1, maxLength: 5 }),
  sideEffect: fc.constantFrom("none", "none", "idempotent", "non_idempotent"),
  policies: fc.array(
    fc.oneof({ weight: 1, arbitrary: users }, { weight: 1, arbitrary: fc.oneof(...Object.values(ours)) }),
    { maxLength: 5 }
  ),
  deadline: fc.constantFrom(Infinity, Infinity, 9_690),
  seed: fc.integer()
})

// -----------------------------------------------------------------------------
// A play
// -----------------------------------------------------------------------------

const services = () =>
  Layer.mergeAll(
    LastKnown.layerMemory(),
    RateLimiter.layer.pipe(Layer.provide(RateLimiter.layerStoreMemory)),
    Breaker.layer({ tripPolicy: Breaker.consecutive(3), openDuration: "30 seconds" }).pipe(
      Layer.provide(Breaker.layerStoreMemory())
    )
  )

/** One call: what really happened in it, and what was told of it. */
interface Played {
  readonly world: World
  readonly outcome: ToolOutcome.ToolOutcome | undefined
  readonly events: ReadonlyArray<CallEvent.Watched>
  readonly elapsed: number
}

const play = ({ acts, deadline, policies, seed, sideEffect }: Scenario, isWatched: boolean) =>
  Effect.gen(function*() {
    const play: Play = { ids: 0 }
    let executions = 0
    const bare: Subject = Tool.make(
      "subject",
      { description: "", parameters, success: Schema.String, sideEffect },
      ({ page }) => Effect.suspend(() => perform(play, "handler", acts[executions++ % acts.length]!, page))
    )
    const tool = policies.reduce((tool, [, change], index) => change(tool, play, index), bare)
    const toolkit = Toolkit.make(tool)
    const played: Array<Played> = []
    for (const id of ["1", "2"]) {
      const world = new World()
      const events: Array<CallEvent.Watched> = []
      const began = yield* Clock.currentTimeMillis
      const fiber = yield* Dispatch.call(toolkit, { id, name: "subject", arguments: "{\"page\":1}" }).pipe(
        deadline === Infinity ? (self) => self : Deadline.within(deadline),
        isWatched
          ? Effect.provideService(CallEvent.watcher, (event) => events.push(event))
          : (self) => self,
        Effect.flatMap((outcome) =>
          Effect.map(Clock.currentTimeMillis, (now) => {
            world.call.isOpen = false
            return { outcome, elapsed: now - began }
          })
        ),
        Effect.provideService(worldOf, world),
        Effect.forkDetach
      )
      yield* TestClock.adjust("5 minutes")
      const end = fiber.pollUnsafe()
      if (end === undefined) {
        yield* Effect.forkDetach(Fiber.interrupt(fiber))
        yield* TestClock.adjust("5 minutes")
        played.push({ world, events, outcome: undefined, elapsed: 0 })
      } else {
        const { elapsed, outcome } = yield* end
        played.push({ world, events, outcome, elapsed })
      }
    }
    return played
  }).pipe(
    Effect.provide(services()),
    Random.withSeed(seed),
    inWholeMillis,
    Effect.provideService(Defect.reporter, () => Effect.void),
    Effect.provide(Logger.layer([])),
    Effect.provide(TestClock.layer()),
    (effect) => Effect.runPromise(effect, { scheduler: new Scheduler.MixedScheduler("sync") })
  )

// -----------------------------------------------------------------------------
// What has to hold
// -----------------------------------------------------------------------------

/** What a call came to, by its events alone. */
const folded = (events: ReadonlyArray<CallEvent.CallEvent>) => {
  let [attempts, executions, waited] = [0, 0, 0]
  const handled: Array<ToolOutcome.Handled> = []
  let caveats: Array<string> = []
  let source: { readonly name: string; readonly age?: Duration.Duration } | undefined = undefined
  for (const event of events) {
    switch (event._tag) {
      case "AttemptStarted":
        attempts++
        executions++
        caveats = []
        source = undefined
        break
      case "PageStarted":
        attempts++
        executions++
        break
      case "SourceStarted":
        attempts++
        break
      case "WaitEnded":
        waited += Duration.toMillis(event.wait)
        break
      case "FailureHandled": {
        const { by, code, detail, policy, tag } = event
        handled.push({ tag, code, detail, by, ...(policy === undefined ? {} : { policy }) })
        break
      }
      case "AnswerDiscarded":
        caveats = []
        source = undefined
        break
      case "CaveatAdded":
        caveats.push(event.text)
        break
      case "SourceNamed":
        source = { name: event.name, ...(event.age === undefined ? {} : { age: event.age }) }
        break
      case "AttemptAbandoned":
      case "AttemptEnded":
      case "ArgumentsCorrected":
      case "ArgumentsRepaired":
      case "CallRefused":
      case "CallRepeated":
      case "CircuitChanged":
      case "FixerAsked":
      case "FixerSpent":
      case "InnerActs":
      case "InnerEnded":
      case "OutcomeSettled":
      case "InnerStarted":
      case "RetryRefused":
      case "WaitStarted":
        break
    }
  }
  return { attempts, executions, waited, handled, caveats, source }
}

const idsIn = (text: string, mark: RegExp) => Array.from(text.matchAll(mark), ([, id]) => Number(id))

/**
 * What a text is the failure of; what is left of pages quotes the failure of the next, which was handled, and what is not run again the one
 * before.
 */
const failedIds = (text: string) =>
  idsIn(text.replace(/page \d+ failed: .*/, "").replace(/ Before: .*/, ""), /Failed #(\d+)\./g)

/** What a policy of ours fails with by itself. */
const isOurs = ({ code }: { readonly code: string }) =>
  ["timeout", "outcome_unknown", "not_repeated", "bulkhead_full", "throttled", "circuit_open"].includes(code)

/** What is said of the answer is said by the executions that it is of. */
const checkAnswer = (
  outcome: ToolOutcome.Completed,
  byId: ReadonlyMap<number, Execution>,
  /** Does no policy name a source? */
  isSilent: boolean
) => {
  const answers = idsIn(JSON.stringify(outcome.value), /v(\d+)\./g).map((id) => byId.get(id))
  const about = outcome.caveats.filter((text) => /^[ci]\d+\.$/.test(text))
  // The last known value is equal to what an execution has answered.
  if (outcome.source?.age !== undefined) return
  assert.deepStrictEqual(about, answers.flatMap((answer) => answer?.caveats ?? []), "caveats")
  const sources = answers.flatMap((answer) => answer?.source ?? [])
  if (outcome.source !== undefined && /^s\d+\.$/.test(outcome.source.name)) {
    assert.strictEqual(outcome.source.name, sources.at(-1), "source")
  }
  if (answers.every((answer) => answer?.of === "handler") && isSilent && answers.at(-1)?.source !== undefined) {
    assert.strictEqual(outcome.source?.name, answers.at(-1)?.source, "source")
  }
}

const check = ({ acts, deadline, policies, sideEffect }: Scenario, { elapsed, events, outcome, world }: Played) => {
  const isConcurrent = policies.some(([text]) => concurrent.some((name) => text.startsWith(name)))
  // Who loses a race is waited for, also where its own time is up meanwhile.
  if (outcome === undefined || world.isTie || world.isLate && isConcurrent) return
  const has = (name: string) => policies.some(([text]) => text.startsWith(name))
  const isDeaf = acts.some(({ isDeaf }) => isDeaf) || policies.some(([text]) => /deaf|"isDeaf":true/.test(text))
  const heard = world.executions.filter(({ isHeard }) => isHeard)
  const own = heard.filter(({ of }) => of === "handler")
  const ofSources = heard.filter(({ of }) => of === "asked")
  const byId = new Map(world.executions.map((execution) => [execution.id, execution]))

  // Counts.
  assert.strictEqual(ToolOutcome.executions(outcome), own.length, "executions")
  if (!has("asks another tool") && !has("says that another tool answers")) {
    assert.strictEqual(outcome.attempts, own.length + ofSources.length, "attempts")
  }

  // Failures.
  const told = outcome._tag === "Failed" ? outcome.failure : undefined
  const ended = told?.detail ?? ""
  for (const { around, failed, id } of world.executions) {
    const times = outcome.handled.filter(({ detail }) => failedIds(detail).includes(id)).length +
      (failedIds(ended).includes(id) ? 1 : 0)
    assert.isAtMost(times, failed === undefined ? 0 : 1, `failure ${id} stands`)
    // What a policy does with it that was left behind itself, or is cut off from its end, nobody hears. The next page follows a part.
    const isTold = around.every(({ isHeard }) => isHeard) && !(has("reconcile") && (isDeaf || has("leaves it behind")))
    if (failed !== undefined && isTold && !(has("paginate") && failed._tag === "PartialData")) {
      assert.strictEqual(times, 1, `failure ${id} stands`)
    }
  }
  for (const entry of outcome.handled) {
    const failed = failedIds(entry.detail).map((id) => byId.get(id)?.failed)
    const isSaid = idsIn(entry.detail, /(Said #\d+)/g).length > 0
    assert.isTrue(
      failed.length > 0 && failed.every((failure) => failure?._tag === entry.tag) ||
        isSaid && Array.from(world.said).some((said) => entry.detail.includes(said)) || isOurs(entry) ||
        entry.tag === "PartialData" && has("paginate"),
      `nothing failed as ${JSON.stringify(entry)}`
    )
  }

  if (outcome._tag === "Completed") checkAnswer(outcome, byId, !has("say"))

  // Of what acts, an execution that has not failed may have acted; a check alone finds out.
  if (sideEffect === "non_idempotent" && outcome._tag === "Failed" && !has("reconcile")) {
    if (own.some(({ failed, failedLate }) => failed === undefined && !failedLate)) {
      assert.notStrictEqual(outcome.certainty, "not_executed")
    }
  }

  // Waits.
  const waited = Duration.toMillis(outcome.waited)
  const isOrderly = deadline === Infinity && !isConcurrent && !has("timeout") && !has("deadline") &&
    !has("paginate") && heard.length === world.executions.length
  if (isOrderly) {
    const busy = world.executions.reduce((sum, { elapsed, of }) => of === "inner" ? sum : sum + elapsed, 0)
    assert.approximately(waited, elapsed - busy, 1, "waited")
  }
  if (events.length === 0) return
  const byName = new Map<string, number>()
  for (const event of events) {
    if (event._tag !== "WaitEnded" || event.by !== "custom") continue
    byName.set(event.policy!, (byName.get(event.policy!) ?? 0) + Duration.toMillis(event.wait))
  }
  for (const name of policies.keys()) {
    assert.strictEqual(byName.get(`p${name}`) ?? 0, world.waited.get(`p${name}`) ?? 0, `p${name} waited`)
  }

  // The events tell the same.
  const { caveats, source, waited: inEvents, ...account } = folded(events)
  const { attempts, handled } = outcome
  assert.deepStrictEqual(account, { attempts, handled: [...handled], executions: ToolOutcome.executions(outcome) })
  // Jitter makes fractions of milliseconds.
  assert.approximately(inEvents, waited, 0.001)
  if (outcome._tag === "Completed") {
    assert.deepStrictEqual(source, outcome.source)
    assert.deepStrictEqual(caveats, outcome.caveats.slice(outcome.caveats.length - caveats.length))
  }
  for (const event of events) {
    const { at: _, attempt: __, id: ___, tool: ____, ...bare } = event
    const text = JSON.stringify(Schema.encodeSync(CallEvent.schema)(event))
    assert.deepStrictEqual<unknown>(Schema.decodeUnknownSync(CallEvent.schema)(JSON.parse(text)), bare)
  }
}

describe("a user's policy", () => {
  it("that maps, catches, retries, hedges, delays or swallows, at random between ours, breaks no count", {
    tags: "slow"
  }, async () => {
    const seen = { answers: 0, failures: 0, handled: 0, waits: 0, words: 0, leftovers: 0 }
    await fc.assert(
      fc.asyncProperty(scenario, async (scenario) => {
        const watched = await play(scenario, true)
        const unwatched = await play(scenario, false)
        assert.deepStrictEqual(
          unwatched.map(({ elapsed, outcome, world }) => ({ elapsed, outcome, world })),
          watched.map(({ elapsed, outcome, world }) => ({ elapsed, outcome, world }))
        )
        for (const played of watched) {
          check(scenario, played)
          const { events, outcome, world } = played
          if (outcome?._tag === "Completed") seen.answers++
          if (outcome?._tag === "Failed") seen.failures++
          if (outcome !== undefined && outcome.handled.length > 1) seen.handled++
          if (world.waited.size > 0) seen.waits++
          if (outcome?._tag === "Completed" && outcome.caveats.length > 0) seen.words++
          if (events.some(({ _tag }) => _tag === "AttemptAbandoned")) seen.leftovers++
        }
      }),
      { numRuns: 1_000 }
    )
    // It says something of many of them.
    for (const [name, count] of Object.entries(seen)) assert.isAbove(count, 50, name)
  })
})
