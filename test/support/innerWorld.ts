/**
 * A tool whose handler runs other tools, under policies, in several calls with one intent: the user is asked, the call is
 * resumed, and the model makes it again. A record tells what each tool truly did.
 */
import {
  Dispatch,
  Observer,
  Policy,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolCall,
  type ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Deadline from "@fallible/core/Deadline"
import type * as SideEffect from "@fallible/core/SideEffect"
import * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Cause, Clock, Context, Effect, Exit, Layer, Logger, Option, Random, Schedule, Scheduler, Schema } from "effect"
import * as Breaker from "effect/persistence/CircuitBreaker"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import {
  beginFacts,
  pauseFacts,
  recordCall,
  resumeFacts
} from "../../packages/core/src/internal/dispatch/recordCalls.ts"
import { users, type Written } from "./paymentPolicies.ts"
import { stored as storedFacts } from "./storedFacts.ts"

type Failure = ToolFailure.ToolFailure<string>

// -----------------------------------------------------------------------------
// What happens
// -----------------------------------------------------------------------------

/** What an ended execution proves by itself. A refusal proves that nothing was done, but the tool would refuse again. */
type Proof = "acted" | "nothing" | "refused" | "no proof"

/** One execution of an inner tool's handler. */
interface InnerExecution {
  readonly tool: number
  /** The key, and the place in its outer execution: equal places must have equal keys. */
  readonly key: string
  readonly place: string
  /** The part of a call (up to a question, or after it), and the call. */
  readonly part: number
  readonly call: number
  readonly outer: number
  hasActed: boolean
  proof?: Proof
}

/** One execution of the outer handler. */
interface OuterExecution {
  readonly part: number
  readonly call: number
  hasActed: boolean
  /** Whether it asks a question that has no reply yet. */
  isAsking: boolean
  /** Whether the failure of an inner tool says that nothing was done. Its own failure may be a copy. */
  mayQuote: boolean
  proof?: Proof
}

/** The ground truth of the calls with one intent. */
export class World {
  readonly inner: Array<InnerExecution> = []
  readonly outer: Array<OuterExecution> = []
  readonly faults: Array<string> = []
  part = 0
  call = 0
  isOver = true
  /** The effects under each key, of services that honour keys. */
  readonly #known = new Map<string, "in progress" | "done">()
  readonly #sideEffects: ReadonlyArray<SideEffect.SideEffect>
  readonly #outer: SideEffect.SideEffect
  readonly #mayRepeatInner: boolean

  constructor({ inners, policies, sideEffect }: Scenario) {
    this.#sideEffects = inners.map(({ sideEffect }) => sideEffect)
    this.#outer = sideEffect
    // A policy of a user may begin the tool twice at once, before any inner tool has begun.
    this.#mayRepeatInner = sideEffect === "idempotent" ||
      sideEffect !== "non_idempotent" && policies.some(([text]) => !/^(retry|maps|timeout|waits$)/.test(text))
  }

  sideEffectOf({ tool }: InnerExecution): SideEffect.SideEffect {
    return this.#sideEffects[tool]!
  }

  beginOuter(): OuterExecution {
    const wouldRepeat = this.inner.some((execution) => {
      const { call, part, proof } = execution
      const sideEffect = this.sideEffectOf(execution)
      // A read-only tool may begin again once it is resumed.
      if (this.#outer === "none" && call === this.call && part !== this.part) return false
      return proof !== "nothing" && proof !== "refused" &&
        (sideEffect === "non_idempotent" || this.#outer === "non_idempotent" && sideEffect !== "none")
    })
    if (wouldRepeat && !this.#mayRepeatInner) this.faults.push("the outer handler begins again after an inner effect")
    // The facts keep a refusal only if no policy has replaced it.
    const isDone = ({ call, proof }: OuterExecution) => proof === "refused" ? call === this.call : proof !== "nothing"
    if (this.#outer === "non_idempotent" && this.outer.some(isDone)) {
      this.faults.push("the outer handler begins again although it may have acted")
    }
    if (this.isOver && this.#outer !== "none") this.faults.push("the outer handler begins after its call")
    const execution = { part: this.part, call: this.call, hasActed: false, isAsking: false, mayQuote: false }
    this.outer.push(execution)
    return execution
  }

  beginInner(execution: InnerExecution): void {
    const { call, key, outer, place } = execution
    const sideEffect = this.sideEffectOf(execution)
    if (sideEffect === "non_idempotent") {
      const before = this.inner.filter((one) => one.outer === outer && one.place === place)
      if (before.some(({ proof }) => proof !== "nothing")) this.faults.push("an inner handler begins again")
    }
    for (const one of this.inner) {
      // The keys of tools that only read depend on the order in which they run.
      if (sideEffect === "none") continue
      if (one.call === call) {
        if (one.place === place && one.key !== key) this.faults.push("one place has two keys")
        if (one.place !== place && one.key === key) this.faults.push("one key has two places")
      } else if (this.#outer === "none" && one.key === key) this.faults.push("two calls share a key")
    }
    this.inner.push(execution)
  }

  /** Whether the next run of a tool is another effect: this one has acted, or was refused. If not, it continues this one. */
  isSettled(outer: number, place: string): boolean {
    const proofs = this.inner.flatMap((one) => one.outer === outer && one.place === place ? [one.proof] : [])
    if (proofs.includes("acted")) return true
    return proofs.includes("refused") && proofs.every((proof) => proof === "refused" || proof === "nothing")
  }

  /** Whether an effect of an outer execution's inner tools is in doubt: none of its runs has answered, and one proves nothing. */
  hasDoubt(outer: number): boolean {
    const runs = this.inner.filter((one) => one.outer === outer && this.sideEffectOf(one) !== "none")
    return runs.some(({ place, proof }) =>
      proof === "no proof" && !runs.some((other) => other.place === place && other.proof === "acted")
    )
  }

  /** Records the effect of an inner tool whose service honours keys. */
  actUnderKey({ key, place }: InnerExecution): void {
    this.#known.set(key, "done")
    const others = this.inner.filter((one) => one.hasActed && one.place === place && one.key !== key)
    // The keys of a read-only tool's inner tools differ from call to call.
    if (this.#outer === "idempotent_by_key" && others.length > 0) this.faults.push("one intent acts under two keys")
  }

  /** What a service that honours keys answers without acting: `undefined` if it acts. */
  known(key: string): "in progress" | "done" | undefined {
    return this.#known.get(key)
  }

  receive(key: string): void {
    this.#known.set(key, "in progress")
  }

  forget(key: string): void {
    this.#known.delete(key)
  }
}

const worldOf: Context.Reference<World> = Context.Reference("test/innerWorld", {
  defaultValue: (): World => {
    throw new Error("There is no world.")
  }
})

/** The execution of the outer handler that runs an inner tool, and the inner tool's place in it. */
const placeOf: Context.Reference<{ readonly outer: number; readonly place: string }> = Context.Reference(
  "test/innerPlace",
  { defaultValue: () => ({ outer: -1, place: "" }) }
)

const unavailable = (fields: Partial<ToolUnavailable>) =>
  new ToolUnavailable({ code: "down", detail: "Down.", transient: true, ...fields })

const lost = unavailable({ outcome: "unknown" })

/** How an inner execution ends: whether it acts first, what its end proves, and the end. */
const ends = {
  "answers": { acts: true, proof: "acted", end: Effect.succeed("done") },
  "acts, and is lost": { acts: true, proof: "no proof", end: Effect.fail(lost) },
  "acts, and is silent": { acts: true, proof: "no proof", end: Effect.fail(unavailable({})) },
  "acts, and dies": { acts: true, proof: "no proof", end: Effect.die("dies") },
  "is lost": { acts: false, proof: "no proof", end: Effect.fail(lost) },
  "did nothing": { acts: false, proof: "nothing", end: Effect.fail(unavailable({ outcome: "not_executed" })) },
  "refuses": {
    acts: false,
    proof: "refused",
    end: Effect.fail(new SemanticGarbage({ code: "no_such_card", detail: "No such card." }))
  },
  "rejects": {
    acts: false,
    proof: "nothing",
    end: Effect.fail(new SchemaMismatch({ side: "arguments", code: "invalid_arguments", detail: "Wrong." }))
  }
} satisfies Record<string, { acts: boolean; proof: Proof; end: Effect.Effect<string, Failure> }>

const act = fc.record({
  end: fc.oneof(
    fc.constantFrom<keyof typeof ends>("answers", "did nothing", "acts, and is lost"),
    fc.constantFrom<keyof typeof ends>(
      "answers",
      "acts, and is silent",
      "acts, and dies",
      "is lost",
      "refuses",
      "rejects"
    )
  ),
  takes: fc.constantFrom(0, 0, 500, 2_500),
  isDeaf: fc.boolean()
})

type Act = typeof act extends fc.Arbitrary<infer A> ? A : never

const conflict = new ToolUnavailable({
  code: "conflict",
  detail: "The key is in use.",
  transient: false,
  cause: { status: 409 }
})

const perform = (tool: number, sideEffect: SideEffect.SideEffect, acts: ReadonlyArray<Act>) =>
  Effect.gen(function*() {
    const world = yield* worldOf
    const { idempotencyKey: key } = yield* ToolCall.current
    const { outer, place } = yield* placeOf
    const times = world.inner.filter((execution) => execution.tool === tool).length
    const { end, isDeaf, takes } = acts[times % acts.length]!
    const execution: InnerExecution = { tool, key, place, part: world.part, call: world.call, outer, hasActed: false }
    if (sideEffect !== "none" && (yield* Clock.currentTimeMillis) >= (yield* Deadline.current)) {
      world.faults.push("an inner handler begins too late")
    }
    if (world.isOver && sideEffect !== "none") world.faults.push("an inner handler begins after its call")
    world.beginInner(execution)
    const isKeyed = sideEffect === "idempotent_by_key"
    const before = isKeyed ? world.known(key) : undefined
    if (before === "in progress") {
      execution.proof = "no proof"
      return yield* conflict
    }
    if (before === "done") {
      execution.proof = "acted"
      return "done before"
    }
    const ending = ends[end]
    if (isKeyed) world.receive(key)
    const body = Effect.andThen(
      takes === 0 ? Effect.void : Effect.sleep(takes),
      Effect.suspend((): Effect.Effect<string, Failure> => {
        if (ending.acts && sideEffect !== "none") {
          execution.hasActed = true
          if (isKeyed) world.actUnderKey(execution)
        }
        return ending.end
      })
    )
    return yield* Effect.onExit(isDeaf ? Effect.uninterruptible(body) : body, (exit) =>
      Effect.sync(() => {
        if (isKeyed && world.known(key) === "in progress") world.forget(key)
        execution.proof = Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause) ? "no proof" : ending.proof
      }))
  })

// -----------------------------------------------------------------------------
// A scenario
// -----------------------------------------------------------------------------

/** What the outer handler does with the failure of an inner tool. */
const reactions: Readonly<Record<string, (failure: Failure) => Failure | undefined>> = {
  "passes it on": (failure) => failure,
  "swallows it": () => undefined,
  "copies it": (failure) =>
    failure._tag === "ToolUnavailable" ? new ToolUnavailable({ ...failure, hint: "Try again." }) : failure,
  "rebuilds it": (failure) =>
    failure._tag === "ToolUnavailable" && failure.outcome !== undefined
      ? unavailable({ code: "card", transient: failure.transient, outcome: failure.outcome })
      : failure,
  "says what it is": (failure) =>
    failure._tag === "ToolUnavailable" && failure.outcome === "not_executed"
      ? unavailable({ code: "card", outcome: "not_executed" })
      : lost
}

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      _tag: fc.constant("run" as const),
      tool: fc.nat(1),
      order: fc.constantFrom("7", "8"),
      reaction: fc.constantFrom(
        "passes it on",
        "passes it on",
        "swallows it",
        "copies it",
        "rebuilds it",
        "says what it is"
      ),
      isDispatched: fc.constantFrom(false, false, true),
      /** Whether the handler waits for its end even if its own caller has left. */
      isAwaited: fc.constantFrom(false, false, true)
    })
  },
  { weight: 1, arbitrary: fc.record({ _tag: fc.constant("acts" as const) }) },
  { weight: 1, arbitrary: fc.record({ _tag: fc.constant("sleeps" as const), millis: fc.constantFrom(500, 1_500) }) }
)

type Step = typeof step extends fc.Arbitrary<infer A> ? A | { readonly _tag: "asks" } : never

/** How an execution of the outer handler ends, if no inner failure ends it. */
const outerEnds = ["answers", "answers", "is lost", "did nothing"] as const

const ours: fc.Arbitrary<Written> = fc.oneof(
  fc.constantFrom(900, 4_100).map((millis): Written => [`timeout ${millis}`, Tool.timeout(millis)]),
  fc.constantFrom(0, 800, 3_000).map((wait): Written => [
    `retry ${wait}`,
    Tool.retry(Schedule.upTo(Schedule.spaced(wait), { times: 2 }))
  ])
)

const policy = fc.oneof({ weight: 2, arbitrary: ours }, { weight: 1, arbitrary: fc.constantFrom(...users) })

const inner = fc.record({
  sideEffect: fc.constantFrom<SideEffect.SideEffect>(
    "non_idempotent",
    "non_idempotent",
    "idempotent_by_key",
    "idempotent_by_key",
    "none"
  ),
  acts: fc.array(act, { minLength: 1, maxLength: 3 }),
  policies: fc.array(policy, { maxLength: 2 })
})

const script = fc.record({ steps: fc.array(step, { minLength: 1, maxLength: 3 }), end: fc.constantFrom(...outerEnds) })

export interface Scenario {
  readonly sideEffect: SideEffect.SideEffect
  readonly inners: ReadonlyArray<typeof inner extends fc.Arbitrary<infer A> ? A : never>
  /** What each execution of the outer handler does. All execute the same steps up to `asks`. */
  readonly scripts: ReadonlyArray<{ readonly steps: ReadonlyArray<Step>; readonly end: typeof outerEnds[number] }>
  readonly policies: ReadonlyArray<Written>
  readonly deadline: number
  /** How many times the model makes the call. */
  readonly calls: number
  readonly seed: number
}

/** Waits after a failure. So an abandoned attempt ends before its call does. */
const waits: Written = [
  "waits",
  Tool.with(
    Policy.make({
      kind: "custom",
      name: "waits",
      description: "waits after a failure",
      wrap: (run) => (params) => Effect.tapError(run(params), () => Effect.sleep(9_000))
    })
  )
]

/** An attempt is abandoned, and its end comes before the end of the call. */
const patient: ReadonlyArray<Written> = [["timeout 900", Tool.timeout(900)], waits]

/** Calls without a question. */
export const scenario: fc.Arbitrary<Scenario> = fc.record({
  sideEffect: fc.constantFrom("none", "idempotent_by_key", "idempotent_by_key", "non_idempotent", "idempotent"),
  inners: fc.array(inner, { minLength: 2, maxLength: 2 }),
  scripts: fc.array(script, { minLength: 1, maxLength: 3 }),
  policies: fc.oneof(
    { weight: 4, arbitrary: fc.array(ours, { maxLength: 3 }) },
    { weight: 3, arbitrary: fc.array(policy, { maxLength: 3 }) },
    { weight: 1, arbitrary: fc.constant(patient) },
    // Two runs at once count their inner tools apart.
    {
      weight: 1,
      arbitrary: fc.constantFrom(...users.filter(([text]) => text.startsWith("hedges"))).map((one) => [one])
    }
  ),
  deadline: fc.constantFrom(Infinity, Infinity, 3_000),
  calls: fc.constantFrom(1, 1, 2, 3),
  seed: fc.integer()
})

/** Calls whose attempts are abandoned while an inner tool runs to its end. */
export const abandoned: fc.Arbitrary<Scenario> = scenario.map((scenario) => ({
  ...scenario,
  sideEffect: scenario.sideEffect === "non_idempotent" ? "none" : scenario.sideEffect,
  inners: scenario.inners.map(({ acts, sideEffect }) => ({
    sideEffect,
    acts: acts.map((act) => ({ ...act, takes: 2_500 })),
    policies: []
  })),
  scripts: scenario.scripts.map(({ end, steps }) => ({
    end,
    steps: steps.map((step) => step._tag === "run" ? { ...step, isAwaited: true } : step)
  })),
  policies: patient,
  deadline: Infinity
}))

/** Calls whose handler makes the same runs again and again, whatever became of them. */
export const repeating: fc.Arbitrary<Scenario> = fc.tuple(
  scenario,
  fc.array(fc.constantFrom("7", "8"), { minLength: 3, maxLength: 6 }),
  fc.array(fc.constantFrom<keyof typeof ends>("answers", "acts, and is lost", "is lost", "did nothing", "refuses"), {
    minLength: 2,
    maxLength: 6
  }),
  fc.boolean()
).map(([scenario, orders, acts, isDispatched]) => ({
  ...scenario,
  sideEffect: scenario.sideEffect === "non_idempotent" ? "idempotent_by_key" : scenario.sideEffect,
  inners: scenario.inners.map(({ sideEffect }) => ({
    sideEffect: sideEffect === "none" ? "idempotent_by_key" : sideEffect,
    acts: acts.map((end) => ({ end, takes: 0, isDeaf: false })),
    policies: []
  })),
  scripts: [{
    steps: orders.map((order) => ({
      _tag: "run" as const,
      tool: 0,
      order,
      reaction: "swallows it",
      isDispatched,
      isAwaited: false
    })),
    end: "answers" as const
  }],
  deadline: Infinity
}))

/** Calls whose handler asks the user, before or after some of its steps. */
export const asking: fc.Arbitrary<Scenario> = fc.tuple(scenario, fc.constantFrom(0, 1, 1, 1, 2, 3), fc.boolean()).map(
  ([scenario, place, isEach]) => ({
    ...scenario,
    scripts: scenario.scripts.map(({ end, steps }, index) => ({
      end,
      steps: isEach || index === 0 ? steps.toSpliced(place, 0, { _tag: "asks" }) : steps
    }))
  })
)

// -----------------------------------------------------------------------------
// A play
// -----------------------------------------------------------------------------

const parameters = Schema.Struct({ order: Schema.String })

const toolOf = ({ inners, policies, scripts, sideEffect }: Scenario) => {
  const wrapped = (
    tool: Written[1] extends (tool: infer Pay) => unknown ? Pay : never,
    policies: ReadonlyArray<Written>
  ) => policies.reduce((tool, [, change]) => change(tool), tool)
  const tools = inners.map(({ acts, policies, sideEffect }, index) =>
    wrapped(
      Tool.make(
        `inner_${index}`,
        { description: "", parameters, success: Schema.String, sideEffect, identity: "all" },
        () => perform(index, sideEffect, acts)
      ),
      policies
    )
  )
  const toolkit = Toolkit.make(...tools)
  const run = (step: Step & { readonly _tag: "run" }) => {
    const { isDispatched, order, tool } = step
    if (!isDispatched) return tools[tool]!.run({ order })
    return Effect.flatMap(
      Dispatch.call(toolkit, { id: "", name: `inner_${tool}`, arguments: JSON.stringify({ order }) }),
      (outcome): Effect.Effect<string, Failure> =>
        outcome._tag === "Completed"
          ? Effect.succeed("done")
          : Effect.fail(outcome._tag === "Failed" ? plain(outcome.failure) : lost)
    )
  }
  const handler = Effect.gen(function*() {
    const world = yield* worldOf
    const { end, steps } = scripts[world.outer.length % scripts.length]!
    if (sideEffect !== "none" && (yield* Clock.currentTimeMillis) >= (yield* Deadline.current)) {
      world.faults.push("the outer handler begins too late")
    }
    const outer = world.outer.length
    const execution = world.beginOuter()
    const counts = new Map<string, number>()
    const body = Effect.gen(function*() {
      for (const step of steps) {
        if (step._tag === "sleeps") yield* Effect.sleep(step.millis)
        else if (step._tag === "asks") {
          // A handler asks before it acts.
          if (execution.hasActed) continue
          execution.isAsking = true
          yield* ToolCall.ask("Sure?")
          execution.isAsking = false
        } else if (step._tag === "acts") {
          if (sideEffect !== "none") execution.hasActed = true
        } else {
          const name = `${step.tool} ${step.order}`
          const place = `${name} ${counts.get(name) ?? 1}`
          const failure = yield* (step.isAwaited ? Effect.uninterruptible(run(step)) : run(step)).pipe(
            Effect.as(undefined),
            Effect.catch((failure) => {
              execution.mayQuote ||= saysNothingDone(failure)
              return Effect.succeed(reactions[step.reaction]!(failure))
            }),
            Effect.ensuring(Effect.sync(() => {
              if (world.isSettled(outer, place)) counts.set(name, (counts.get(name) ?? 1) + 1)
            })),
            Effect.provideService(placeOf, { outer, place })
          )
          if (failure === undefined) continue
          // The refusal of an inner tool would say that this handler did nothing, too.
          return yield* (execution.hasActed && !hasOutcome(failure) ? lost : failure)
        }
      }
      if (end === "did nothing" && !execution.hasActed) return yield* unavailable({ outcome: "not_executed" })
      if (end === "is lost") return yield* lost
      if (sideEffect !== "none") execution.hasActed = true
      return "done"
    })
    return yield* Effect.onExit(body, (exit) =>
      Effect.sync(() => {
        execution.proof = proofOf(exit, execution)
      }))
  })
  return wrapped(
    Tool.make(
      "outer",
      { description: "", parameters, success: Schema.String, sideEffect, identity: "all" },
      () => handler
    ),
    policies
  )
}

/** Drops the failures that only dispatch can add to a call. */
const plain = (failure: ToolFailure.ToolFailure): Failure => failure._tag === "PartialData" ? lost : failure

const hasOutcome = (failure: Failure) => failure._tag === "ToolUnavailable" && failure.outcome !== undefined

const saysNothingDone = (failure: Failure) =>
  failure._tag === "SchemaMismatch" && failure.side === "arguments" ||
  failure._tag === "ToolUnavailable" && failure.outcome === "not_executed"

const proofOf = (exit: Exit.Exit<unknown, Failure>, { isAsking, mayQuote }: OuterExecution): Proof => {
  if (Exit.isSuccess(exit)) return "acted"
  const failure = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (failure === undefined) return isAsking && !Cause.hasInterrupts(exit.cause) ? "nothing" : "no proof"
  // What an inner tool has refused says nothing about the rest of this handler.
  if (failure.evidence?.tool !== undefined) return "no proof"
  if (failure._tag !== "ToolUnavailable") return "refused"
  if (failure.outcome === undefined) return "no proof"
  return failure.outcome === "not_executed" && !mayQuote ? "nothing" : "no proof"
}

const outcomes = Schema.toCodecJson(ToolOutcome.Suspended)

const stored = (outcome: ToolOutcome.Suspended): ToolOutcome.Suspended =>
  Schema.decodeUnknownSync(outcomes)(JSON.parse(JSON.stringify(Schema.encodeSync(outcomes)(outcome))))

/** A call, or the part of a call up to a question or after it. */
export interface Made {
  readonly part: number
  readonly call: number
  readonly outcome: ToolOutcome.ToolOutcome
  /** Whether an execution of a tool that acts was running, or had ended without proof, when the outcome was made. */
  readonly hasOpen: boolean
}

// No policy here uses these services; the type of the tools of `paymentPolicies` names them.
const services = Layer.mergeAll(
  RateLimiter.layer.pipe(Layer.provide(RateLimiter.layerStoreMemory)),
  Breaker.layer({ tripPolicy: Breaker.consecutive(3), openDuration: "1 hour" }).pipe(
    Layer.provide(Breaker.layerStoreMemory())
  )
)

export const play = (scenario: Scenario) => {
  const world = new World(scenario)
  return Effect.gen(function*() {
    const tool = toolOf(scenario)
    const toolkit = Toolkit.make(tool)
    const made: Array<Made> = []
    let facts = beginFacts(CallFacts.empty, "scope")
    const call = { id: "", name: "outer", arguments: "{\"order\":\"7\"}" }
    const once = (options: Dispatch.CallOptions) =>
      Effect.gen(function*() {
        world.isOver = false
        world.part++
        const fiber = yield* Dispatch.call(toolkit, call, options).pipe(
          scenario.deadline === Infinity ? (self) => self : Deadline.within(scenario.deadline),
          Effect.map((outcome): Made => {
            world.isOver = true
            return { part: world.part, call: world.call, outcome, hasOpen: hasOpen(scenario, world) }
          }),
          Effect.forkDetach
        )
        yield* TestClock.adjust("1 hour")
        const end = fiber.pollUnsafe()
        if (end === undefined) return yield* Effect.die("The call does not end.")
        const result = yield* end
        made.push(result)
        return result.outcome
      })
    for (let number = 1; number <= scenario.calls; number++) {
      const id = `call ${number}`
      world.call = number
      let outcome: ToolOutcome.ToolOutcome = yield* once({ id, facts })
      for (let asked = 0; outcome._tag === "Suspended" && asked < 3; asked++) {
        // Whoever acts before the question accepts that the handler acts again after the reply. Still, what has been done
        // stays done.
        const accepted = outcome.certainty === "executed" ? [...world.faults] : undefined
        const before = stored(outcome)
        const reply = { id: before.id, question: before.question, reply: "yes" }
        facts = storedFacts(resumeFacts(pauseFacts(facts)))
        outcome = yield* once({ id, facts, before, replies: [...before.replies, reply] })
        if (accepted !== undefined) {
          world.faults.splice(0, Infinity, ...accepted)
          return made
        }
      }
      // A success ends the intent.
      if (number === scenario.calls || outcome._tag === "Completed" || outcome._tag === "Suspended") return made
      facts = storedFacts(recordCall(facts, outcome, tool))
    }
    return made
  }).pipe(
    Effect.map((made) => ({ made, world })),
    Effect.provideService(worldOf, world),
    Effect.provide(services),
    Random.withSeed(scenario.seed),
    Observer.observe({ onDefect: () => Effect.void }),
    Observer.observe({ onLateResult: () => Effect.void }),
    Effect.provide(Logger.layer([])),
    Effect.provide(TestClock.layer()),
    (effect) => Effect.runPromise(effect, { scheduler: new Scheduler.MixedScheduler("sync") })
  )
}

const hasOpen = ({ sideEffect }: Scenario, world: World): boolean => {
  const isOpen = ({ proof }: { readonly proof?: Proof }) => proof === undefined || proof === "no proof"
  return world.inner.some((execution) => world.sideEffectOf(execution) !== "none" && isOpen(execution)) ||
    sideEffect !== "none" && world.outer.some(isOpen)
}

export const described = ({ inners, policies, ...scenario }: Scenario) =>
  JSON.stringify({
    ...scenario,
    policies: policies.map(([text]) => text),
    inners: inners.map(({ policies, ...rest }) => ({ ...rest, policies: policies.map(([text]) => text) }))
  })
