/** The account of a call is right whatever policies are around its handler: ours, and custom ones that misbehave. */
import { assert, describe, it } from "@effect/vitest"
import { Dispatch, Observer, SemanticGarbage, Tool, Toolkit, type Transcript } from "@fallible/core"
import * as CallEvent from "@fallible/core/CallEvent"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import * as Deadline from "@fallible/core/Deadline"
import * as LastKnown from "@fallible/core/LastKnown"
import * as RateLimit from "@fallible/core/RateLimit"
import type * as SideEffect from "@fallible/core/SideEffect"
import * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Clock, Duration, Effect, Fiber, Layer, Logger, Option, Random, Schedule, Scheduler, Schema } from "effect"
import * as Breaker from "effect/persistence/CircuitBreaker"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { keysOf } from "../support/keysOf.ts"
import { byHand, concurrent, moves } from "../support/policyMoves.ts"
import {
  type Act,
  ends,
  type Execution,
  type Failure,
  mirror,
  parameters,
  perform,
  type Play,
  type Subject,
  World,
  worldOf
} from "../support/policyWorld.ts"
import { cases, runs } from "../support/runs.ts"
import { inWholeMillis } from "../support/virtualTime.ts"

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

const ourPolicies: Record<string, fc.Arbitrary<Written>> = {
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
  lastKnown: fc.constantFrom({}, { when: () => true }).map((options) => [
    `last known ${Object.keys(options).join()}`,
    (tool) => tool.sideEffect === "none" ? LastKnown.fallback(options)(tool) : tool
  ]),
  reconcile: fc.tuple(act, fc.boolean(), fc.boolean()).map(([act, isDone, lookFirst]) => [
    `reconcile ${isDone}${lookFirst ? " looks first" : ""} ${JSON.stringify(act)}`,
    (tool, play) =>
      Tool.reconcile(
        tool,
        ({ page }) =>
          Effect.map(perform(play, "check", act, page), (value) => isDone ? Option.some(value) : Option.none()),
        { lookFirst }
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
    fc.oneof({ weight: 1, arbitrary: users }, { weight: 1, arbitrary: fc.oneof(...Object.values(ourPolicies)) }),
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

/** One call: its ground truth, and its reported account. */
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
          ? Observer.observe({ onEvent: (event) => events.push(event) })
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
    Observer.observe({ onDefect: () => Effect.void }),
    Effect.provide(Logger.layer([])),
    Effect.provide(TestClock.layer()),
    (effect) => Effect.runPromise(effect, { scheduler: new Scheduler.MixedScheduler("sync") })
  )

// -----------------------------------------------------------------------------
// Laws
// -----------------------------------------------------------------------------

/** Folds the events of a call into its account. */
const folded = (events: ReadonlyArray<CallEvent.CallEvent>) => {
  let [attempts, executions, waited] = [0, 0, 0]
  const handled: Array<ToolOutcome.Handled> = []
  let caveats: Array<string> = []
  let files: Array<Transcript.File> = []
  let source: { readonly name: string; readonly age?: Duration.Duration } | undefined = undefined
  for (const event of events) {
    switch (event._tag) {
      case "AttemptStarted":
        attempts++
        executions++
        caveats = []
        files = []
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
        files = []
        source = undefined
        break
      case "CaveatAdded":
        caveats.push(event.text)
        break
      case "FileAttached":
        files.push(event.file)
        break
      case "SourceNamed":
        source = { name: event.name, ...(event.age === undefined ? {} : { age: event.age }) }
        break
      case "AttemptAbandoned":
      case "AttemptEnded":
      case "CallDecided":
      case "CallJoined":
      case "DoubtSettled":
      case "ArgumentsCorrected":
      case "ArgumentsRepaired":
      case "CallRefused":
      case "CallRepeated":
      case "CircuitChanged":
      case "FixerAsked":
      case "FixerSpent":
      case "AgentSpent":
      case "InnerActs":
      case "InnerEnded":
      case "LateRequest":
      case "PolicyActed":
      case "OutcomeSettled":
      case "InnerStarted":
      case "ProgressMade":
      case "ResultTold":
      case "RetryRefused":
      case "WaitStarted":
        break
    }
  }
  return { attempts, executions, waited, handled, caveats, files, source }
}

const idsIn = (text: string, mark: RegExp) => Array.from(text.matchAll(mark), ([, id]) => Number(id))

/**
 * Returns the ids of the failed executions in a text. Skips quoted failures: the handled failure of a
 * further page, and the earlier failure in a refusal.
 */
const failedIds = (text: string) =>
  idsIn(text.replace(/page \d+ failed: .*/, "").replace(/ Before: .*/, ""), /Failed #(\d+)\./g)

/** True for failures that our own policies make. */
const isOurs = ({ code }: { readonly code: string }) =>
  ["timeout", "outcome_unknown", "not_repeated", "bulkhead_full", "throttled", "circuit_open", "check_failed"].includes(
    code
  )

/** Checks that the notes on an answer come from the executions that gave it. */
const checkAnswer = (
  outcome: ToolOutcome.Completed,
  byId: ReadonlyMap<number, Execution>,
  /** True if no policy names a source. */
  isSilent: boolean
) => {
  const answers = idsIn(JSON.stringify(outcome.value), /v(\d+)\./g).map((id) => byId.get(id))
  const about = outcome.caveats.filter((text) => /^[ci]\d+\.$/.test(text))
  // The last known value equals an earlier answer of an execution.
  if (outcome.source?.age !== undefined) return
  assert.deepStrictEqual(about, answers.flatMap((answer) => answer?.caveats ?? []), "caveats")
  assert.deepStrictEqual(outcome.files ?? [], about.map((url) => ({ url })), "files")
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
  // The loser of a race is awaited, even if its own time ends meanwhile.
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
  const finalFailure = outcome._tag === "Failed" ? outcome.failure : undefined
  const ended = finalFailure?.detail ?? ""
  for (const { around, failed, id } of world.executions) {
    const times = outcome.handled.filter(({ detail }) => failedIds(detail).includes(id)).length +
      (failedIds(ended).includes(id) ? 1 : 0)
    assert.isAtMost(times, failed === undefined ? 0 : 1, `failure ${id} stands`)
    // The actions of an abandoned or interrupted policy are ignored. The next page follows a partial result.
    const isTold = around.every(({ isHeard }) => isHeard) && !(isDeaf && world.isTieOfEnds) &&
      !(has("reconcile") && (isDeaf || has("leaves it behind")))
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

  // For a tool that acts, an execution without a failure may have acted. Only a check can tell.
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

  // The events give the same account.
  const { caveats, files, source, waited: inEvents, ...account } = folded(events)
  const { attempts, handled } = outcome
  assert.deepStrictEqual(account, { attempts, handled: [...handled], executions: ToolOutcome.executions(outcome) })
  // Jitter adds fractions of milliseconds.
  assert.approximately(inEvents, waited, 0.001)
  if (outcome._tag === "Completed") {
    assert.deepStrictEqual(source, outcome.source)
    assert.deepStrictEqual(files, outcome.files ?? [])
    assert.deepStrictEqual(caveats, outcome.caveats.slice(outcome.caveats.length - caveats.length))
  }
  for (const event of events) {
    const { at: _, attempt: __, id: ___, tool: ____, ...bare } = event
    const text = JSON.stringify(Schema.encodeSync(CallEvent.schema)(event))
    assert.deepStrictEqual<unknown>(Schema.decodeUnknownSync(CallEvent.schema)(JSON.parse(text)), bare)
  }
}

describe("a custom policy", () => {
  it("that maps, catches, retries, hedges, delays or swallows breaks no count, at random places between ours", {
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
      { numRuns: runs(1_000) }
    )
    // The sample covers many calls of each kind.
    for (const [name, count] of Object.entries(seen)) assert.isAbove(count, cases(50), name)
  })
})
