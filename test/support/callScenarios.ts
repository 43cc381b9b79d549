/**
 * Random calls and runs in virtual time, and everything that can be seen of them: for comparing two checkouts. It makes
 * no claim about what is right. A scenario is played once: its policies count.
 */
import {
  Agent,
  AgentFailure,
  Dispatch,
  Observer,
  PartialData,
  Policy,
  RetryPolicy,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolCall,
  ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as Answer from "@fallible/core/Answer"
import type * as CallEvent from "@fallible/core/CallEvent"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Deadline from "@fallible/core/Deadline"
import * as HttpFailure from "@fallible/core/HttpFailure"
import * as Rendering from "@fallible/core/Rendering"
import type * as SideEffect from "@fallible/core/SideEffect"
import * as ToolOutcome from "@fallible/core/ToolOutcome"
import { ScriptedModel } from "@fallible/testing"
import {
  Cause,
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
import {
  beginFacts,
  keepAskedKey,
  pauseFacts,
  recordCall,
  resumeFacts
} from "../../packages/core/src/internal/dispatch/recordCalls.ts"
import { keysOf } from "./keysOf.ts"
import { type Failure, fixers, ours, parameters, type Pay, users, type Written } from "./paymentPolicies.ts"
import { byHand, moves } from "./policyMoves.ts"
import { ends as actEnds } from "./policyWorld.ts"
import { stored } from "./storedFacts.ts"
import { inWholeMillis } from "./virtualTime.ts"

// -----------------------------------------------------------------------------
// How an execution ends
// -----------------------------------------------------------------------------

/** What a handler may throw: `ToolFailure.from` reads it. */
const thrown = {
  ECONNREFUSED: () => Object.assign(new Error("connect ECONNREFUSED 10.0.0.7:443"), { code: "ECONNREFUSED" }),
  ECONNRESET: () => Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }),
  "a timeout": () => Object.assign(new Error("Timed out"), { name: "TimeoutError" }),
  "a redirected request": () => {
    const cause = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })
    return Object.assign(new TypeError("fetch failed", { cause }), { config: { url: "/" }, redirected: true })
  },
  "a reason": () => new Error("Order 7 is already paid."),
  "an object": () => ({ odd: true }),
  ...Object.fromEntries([400, 404, 409, 422, 429, 500, 503].map((status) => [
    `{ status: ${status} }`,
    () => ({ status, message: "No." })
  ]))
} satisfies Record<string, () => unknown>

const outcomes = [{}, { outcome: "executed" }, { outcome: "not_executed" }, { outcome: "unknown" }] as const

/** One failure for several executions: what is remembered of an object is remembered of all of them. */
const shared = new ToolUnavailable({ code: "connection", detail: "Shared.", transient: true })

const copied = (failure: ReturnType<typeof ToolFailure.from>): Failure =>
  failure._tag === "ToolUnavailable"
    ? new ToolUnavailable({ ...failure, hint: "Copied." })
    : failure._tag === "SchemaMismatch"
    ? new SchemaMismatch({ ...failure, hint: "Copied." })
    : new SemanticGarbage({ ...failure, hint: "Copied." })

const failed: Record<string, (order: string) => Failure> = {
  ...Object.fromEntries(
    [true, false].flatMap((transient) =>
      outcomes.map((outcome) => [
        `${transient ? "is down" : "is gone"} ${JSON.stringify(outcome)}`,
        () => new ToolUnavailable({ code: "connection", detail: "Lost.", transient, ...outcome })
      ])
    )
  ),
  "is throttled": () =>
    new ToolUnavailable({ code: "throttled", detail: "Later.", transient: true, retryAfter: Duration.seconds(2) }),
  "makes no sense": (order) => new SemanticGarbage({ code: "no_such_card", detail: `No card for ${order}.` }),
  "rejects": (order) =>
    new SchemaMismatch({ side: "arguments", code: "invalid_arguments", detail: `Wrong: ${order}.` }),
  "cannot be read": () => new SchemaMismatch({ side: "result", code: "truncated", detail: "Cut off." }),
  "is a part": () => new PartialData({ code: "more", detail: "A part.", data: "part" }),
  "has a next page": (order) =>
    new PartialData({ code: "more", detail: "A part.", data: "part", next: { order: `${order}+` } }),
  "is shared": () => shared,
  ...Object.fromEntries([404, 409, 422, 429, 500, 503].flatMap((status) =>
    (["GET", "POST"] as const).map((method) => [
      `${method} ${status}`,
      () => HttpFailure.fromStatus(status, { message: "No.", method })
    ])
  ))
}

const special: Record<string, (order: string) => Effect.Effect<string, Failure>> = {
  "answers": (order) => Effect.succeed(`paid ${order}`),
  "answers a receipt": () => Effect.succeed("receipt"),
  "answers nothing": () => Effect.succeed(""),
  "dies": () => Effect.die(new Error("dies")),
  "dies of a failure": () => Effect.die(shared),
  "interrupts itself": () => Effect.interrupt,
  "fails and dies": () => Effect.failCause(Cause.combine(Cause.fail(shared), Cause.die("dies"))),
  "stops": () => ToolCall.stop("Enough."),
  "hangs": () => Effect.never
}

const ends: Record<string, (order: string) => Effect.Effect<string, Failure>> = {
  ...special,
  ...Object.fromEntries(
    Object.entries(failed).map(([name, make]) => [
      name,
      (order: string) => Effect.fail(make(order))
    ])
  ),
  ...Object.fromEntries(
    Object.entries(thrown).flatMap(([name, make]) => [
      [name, () => Effect.suspend(() => Effect.fail(ToolFailure.from(make())))],
      [`${name}, copied`, () => Effect.suspend(() => Effect.fail(copied(ToolFailure.from(make()))))]
    ])
  )
}

// -----------------------------------------------------------------------------
// Handlers
// -----------------------------------------------------------------------------

/** What can be seen besides the outcomes. */
class World {
  /** Each execution: its time, its tool, its arguments, and its key and number if it reads them. */
  readonly ran: Array<string> = []
  readonly late: Array<string> = []
  readonly defects: Array<string> = []
  readonly looks: ReadonlyArray<Look>
  looked = 0
  readonly executions = new Map<string, number>()
  constructor(looks: ReadonlyArray<Look>) {
    this.looks = looks
  }
}

const worldOf: Context.Reference<World> = Context.Reference("test/differing", { defaultValue: () => new World([]) })

interface Act {
  readonly end: string
  /** Milliseconds before the end. */
  readonly takes: number
  readonly isDeaf: boolean
  readonly reads: boolean
  readonly says: boolean
  readonly asks: "never" | "first" | "last"
}

const moment = fc.constantFrom(0, 0, 0, 500, 2_500, 30_000)

const plainAct: fc.Arbitrary<Act> = fc.record({
  end: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom("answers", "answers", "is down {}", "makes no sense") },
    { weight: 4, arbitrary: fc.constantFrom(...Object.keys(ends)) }
  ),
  takes: moment,
  isDeaf: fc.constantFrom(false, false, false, true),
  reads: fc.boolean(),
  says: fc.constantFrom(false, false, true),
  asks: fc.constantFrom<Act["asks"]>(...Array.from({ length: 6 }, () => "never" as const), "first", "last")
})

const perform = (name: string, act: Act, order: string, inner: Effect.Effect<unknown, Failure>) => {
  const body = Effect.gen(function*() {
    const { ran } = yield* worldOf
    const now = yield* Clock.currentTimeMillis
    const index = ran.push(`${now} ${name} ${order}`) - 1
    if (act.reads) {
      const { attempt, idempotencyKey } = yield* ToolCall.current
      ran[index] += ` ${idempotencyKey} ${attempt}`
    }
    if (act.says) yield* ToolCall.caveat("From the cache.")
    if (act.asks === "first") ran.push(`${name} is told ${yield* ToolCall.ask("Sure?")}`)
    yield* inner
    if (act.takes > 0) yield* Effect.sleep(act.takes)
    if (act.asks === "last") ran.push(`${name} is told ${yield* ToolCall.ask("A receipt?")}`)
    return yield* ends[act.end]!(order)
  })
  return act.isDeaf && act.end !== "hangs" ? Effect.uninterruptible(body) : body
}

/** Performs the acts of a tool in turn, over all its calls. */
const inTurn = (name: string, acts: ReadonlyArray<Act>, order: string, inner: Effect.Effect<unknown, Failure>) =>
  Effect.flatMap(worldOf, ({ executions }) => {
    const count = executions.get(name) ?? 0
    executions.set(name, count + 1)
    return perform(name, acts[count % acts.length]!, order, inner)
  })

interface Declared {
  readonly sideEffect: SideEffect.SideEffect
  readonly refusesFirst: boolean
  readonly uninterruptible: boolean
}

const declared: fc.Arbitrary<Declared> = fc.record({
  sideEffect: fc.constantFrom(
    "none",
    "idempotent",
    "idempotent_by_key",
    "idempotent_by_key",
    "non_idempotent",
    "non_idempotent"
  ),
  refusesFirst: fc.boolean(),
  uninterruptible: fc.constantFrom(false, false, true)
})

// Two orders that differ in their note only are meant to have one effect.
const definition = ({ refusesFirst, sideEffect }: Declared) => ({
  description: "Pays",
  parameters,
  success: Schema.NonEmptyString,
  sideEffect,
  refusesFirst,
  ...(sideEffect === "idempotent_by_key"
    ? { identity: ({ order }: typeof parameters.Type) => order.replace(/!.*/, "") }
    : {})
})

/** A tool that the handler runs, and what the handler does with its end. */
interface Inner {
  readonly declared: Declared
  readonly acts: ReadonlyArray<Act>
  readonly retries: boolean
  readonly isDispatched: boolean
  readonly times: number
  readonly isConcurrent: boolean
  readonly does: keyof typeof reactions
}

type Run = Effect.Effect<unknown, Failure>

const reactions = {
  "passes its failure on": (run: Run): Run => run,
  "swallows its failure": (run: Run): Run => Effect.ignore(run),
  "swallows everything": (run: Run): Run => Effect.catchCause(run, () => Effect.void),
  "quotes its failure": (run: Run): Run =>
    Effect.mapError(run, ({ detail }) => new SemanticGarbage({ code: "quoted", detail })),
  "copies its failure": (run: Run): Run =>
    Effect.mapError(run, (failure) => failure._tag === "PartialData" ? failure : copied(failure)),
  "says that nothing happened": (run: Run): Run =>
    Effect.mapError(
      run,
      ({ detail }) => new ToolUnavailable({ code: "connection", detail, transient: true, outcome: "not_executed" })
    ),
  "doubts it": (run: Run): Run =>
    Effect.mapError(
      run,
      ({ detail }) => new ToolUnavailable({ code: "connection", detail, transient: true, outcome: "unknown" })
    ),
  "tries again": (run: Run): Run => Effect.retry(run, { times: 1 }),
  "fails after it": (run: Run): Run => Effect.andThen(run, Effect.fail(shared))
}

const inner: fc.Arbitrary<Inner> = fc.record({
  declared,
  acts: fc.array(plainAct, { minLength: 1, maxLength: 3 }),
  retries: fc.boolean(),
  isDispatched: fc.constantFrom(false, false, true),
  times: fc.constantFrom(1, 1, 2),
  isConcurrent: fc.boolean(),
  does: fc.constantFrom(...keysOf(reactions))
})

const innerRun = (given: Inner | undefined): (order: string) => Run => {
  if (given === undefined) return () => Effect.void
  const made = Tool.make(
    "inner",
    { ...definition(given.declared), uninterruptible: given.declared.uninterruptible },
    ({ order }): Effect.Effect<string, Failure> => inTurn("inner", given.acts, order, Effect.void)
  )
  const tool = given.retries ? made.pipe(Tool.retry(Schedule.recurs(1))) : made
  const toolkit = Toolkit.make(tool)
  const dispatched = (order: string): Run =>
    Effect.flatMap(
      Dispatch.call(toolkit, { id: "1", name: "inner", arguments: JSON.stringify({ order }) }),
      (outcome) =>
        outcome._tag === "Failed" && outcome.failure._tag !== "PartialData"
          ? Effect.fail(outcome.failure)
          : Effect.void
    )
  return (order) => {
    const runs = Array.from(
      { length: given.times },
      (_, index) => given.isDispatched ? dispatched(`${order}.${index}`) : tool.run({ order: `${order}.${index}` })
    )
    return reactions[given.does](Effect.all(runs, { concurrency: given.isConcurrent ? 2 : 1 }))
  }
}

// -----------------------------------------------------------------------------
// Policies
// -----------------------------------------------------------------------------

type Look = "finds it" | "finds nothing" | "fails" | "hangs"

const look: Effect.Effect<Option.Option<string>, Failure> = Effect.flatMap(worldOf, (world) => {
  const how = world.looks[world.looked++ % world.looks.length]
  world.ran.push(`looks, and ${how}`)
  if (how === "hangs") return Effect.never
  return how === "fails"
    ? Effect.fail(shared)
    : Effect.succeed(how === "finds it" ? Option.some("found") : Option.none())
})

const others: fc.Arbitrary<Written> = fc.oneof(
  fc.constant<Written>(["retry transient", Tool.retry(RetryPolicy.transient)]),
  fc.constant<Written>(["standard", Tool.withDefaults(Policy.standard())]),
  fc.constant<Written>([
    "paginate",
    (tool) =>
      !/^(none|idempotent)$/.test(tool.sideEffect) ? tool : Tool.paginate(tool, { pages: 3, merge: (a, b) => a + b })
  ]),
  fc.record({ declared, act: plainAct, isNamed: fc.boolean() }).map(({ act, declared, isNamed }): Written => [
    `fallback to a tool ${JSON.stringify({ declared, act, isNamed })}`,
    (tool) => {
      const other = Tool.make(
        "other",
        definition(declared),
        ({ order }): Effect.Effect<string, Failure> => perform("other", act, order, Effect.void)
      )
      return Tool.fallback(tool, (params) => other.run(params), isNamed ? { name: "other" } : {})
    }
  ])
)

const moved: fc.Arbitrary<Written> = fc.record({
  name: fc.constantFrom(...keysOf(moves)),
  length: fc.constantFrom(0, 310, 10_310),
  act: fc.record({
    takes: fc.constantFrom(0, 1_000),
    end: fc.constantFrom(...keysOf(actEnds)),
    says: fc.constantFrom("nothing" as const, "both" as const),
    isNested: fc.boolean(),
    isDeaf: fc.constant(false)
  })
}).map(({ act, length, name }) => {
  const policy = byHand({ ids: 0 }, name, moves[name], length, act)
  return [`moves: ${name} ${length} ${act.end}`, (tool) => Tool.with(tool, policy)]
})

const policy: fc.Arbitrary<Written> = fc.oneof(
  { weight: 5, arbitrary: ours({ look: () => look, final: () => look, settling: () => look, settle: 3_000 }) },
  { weight: 2, arbitrary: others },
  { weight: 1, arbitrary: fc.constantFrom(...users) },
  { weight: 1, arbitrary: moved },
  { weight: 1, arbitrary: fixers }
)

// Under many policies, few calls end as their handler did. So half of the stacks are small.
const policies = fc.oneof(fc.array(policy, { maxLength: 1 }), fc.array(policy, { maxLength: 5 }))

// -----------------------------------------------------------------------------
// Scenarios
// -----------------------------------------------------------------------------

interface Made {
  readonly text: string
  readonly isFirst: boolean
  readonly mayHaveRun: "no" | "unlikely" | "likely"
  readonly id: "none" | "an id" | "a key"
  readonly wasBegun: boolean
  readonly hasDeadline: boolean
  /** Milliseconds after which the call is interrupted. */
  readonly interrupted: number | undefined
}

const order = fc.constantFrom("7", "7", "7", "7!", "7!", "8").map((order) => JSON.stringify({ order }))

const made: fc.Arbitrary<Made> = fc.record({
  text: fc.oneof(
    { weight: 8, arbitrary: order },
    { weight: 1, arbitrary: fc.constantFrom("{order: '7'}", "{\"order\":7}", "{\"odrer\":\"7\"}", "pay!") }
  ),
  isFirst: fc.boolean(),
  mayHaveRun: fc.constantFrom("no", "no", "unlikely", "likely"),
  id: fc.constantFrom("none", "an id", "an id", "an id", "a key"),
  wasBegun: fc.constantFrom(...Array.from({ length: 15 }, () => false), true),
  hasDeadline: fc.constantFrom(false, false, false, true),
  interrupted: fc.constantFrom(...Array.from({ length: 12 }, () => undefined), 0, 700)
})

export interface Scenario {
  readonly kind: "calls" | "run"
  readonly isPromise: boolean
  readonly declared: Declared
  readonly acts: ReadonlyArray<Act>
  readonly inner: Inner | undefined
  readonly policies: ReadonlyArray<Written>
  readonly looks: ReadonlyArray<Look>
  readonly calls: ReadonlyArray<Made>
  readonly isWatched: boolean
  readonly seed: number
}

export const scenario: fc.Arbitrary<Scenario> = fc.record({
  kind: fc.constantFrom("calls", "calls", "run"),
  isPromise: fc.constantFrom(false, false, false, false, true),
  declared,
  acts: fc.array(plainAct, { minLength: 1, maxLength: 4 }),
  inner: fc.option(inner, { nil: undefined, freq: 2 }),
  policies,
  looks: fc.array(fc.constantFrom<Look>("finds it", "finds nothing", "finds nothing", "fails", "hangs"), {
    minLength: 1,
    maxLength: 3
  }),
  calls: fc.array(made, { minLength: 2, maxLength: 5 }),
  isWatched: fc.boolean(),
  seed: fc.integer()
})

export const described = ({ policies, ...scenario }: Scenario): string =>
  JSON.stringify({ ...scenario, policies: policies.map(([text]) => text) })

const toolOf = ({ acts, declared, inner, isPromise, policies }: Scenario): Pay => {
  const run = innerRun(inner)
  const bare: Pay = isPromise
    ? Tool.promise("pay", definition(declared), async ({ order }, { ask, attempt, idempotencyKey }) => {
      const act = acts[(attempt - 1) % acts.length]!
      worldOfPromises.ran.push(`pay ${order} ${idempotencyKey} ${attempt}`)
      if (act.asks !== "never") worldOfPromises.ran.push(`pay is told ${await ask("Sure?")}`)
      if (act.end === "hangs") return new Promise<string>(() => {})
      if (Object.hasOwn(thrown, act.end)) throw (thrown as Record<string, () => unknown>)[act.end]!()
      const exit = Effect.runSyncExit(ends[act.end]!(order))
      if (exit._tag === "Success") return exit.value
      throw Cause.squash(exit.cause)
    })
    : Tool.make(
      "pay",
      { ...definition(declared), uninterruptible: declared.uninterruptible },
      ({ order }): Effect.Effect<string, Failure> => inTurn("pay", acts, order, run(order))
    )
  return policies.reduce((tool, [, change]) => change(tool), bare)
}

/** An async handler has no fiber whose world it could ask for. One scenario is played at a time. */
let worldOfPromises = new World([])

// -----------------------------------------------------------------------------
// A play
// -----------------------------------------------------------------------------

const outcomeCodec = Schema.toCodecJson(ToolOutcome.schema)
const encodedOutcome = Schema.encodeSync(outcomeCodec)
const decodedOutcome = Schema.decodeUnknownSync(outcomeCodec)
const encodedFacts = Schema.encodeSync(Schema.toCodecJson(CallFacts.schema))
const encodedAnswer = Schema.encodeSync(Schema.toCodecJson(Answer.schema))
const encodedFailure = Schema.encodeSync(Schema.toCodecJson(AgentFailure.schema))
const decodedFailure = Schema.decodeUnknownSync(Schema.toCodecJson(AgentFailure.schema))

/** What is compared, as plain JSON. */
export interface Played {
  readonly result: unknown
  /** The tags of the events of each call. */
  readonly events: ReadonlyArray<ReadonlyArray<string>>
}

/** Lets ten minutes pass. What has not ended then is interrupted. */
const inTime = <A, E, R>(effect: Effect.Effect<A, E, R>, interrupted?: number) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkDetach(effect)
    if (interrupted !== undefined) {
      yield* TestClock.adjust(interrupted)
      yield* Effect.forkDetach(Fiber.interrupt(fiber))
    }
    yield* TestClock.adjust("10 minutes")
    const end = fiber.pollUnsafe()
    if (end !== undefined) return end._tag === "Failure" && Cause.hasInterrupts(end.cause) ? undefined : yield* end
    yield* Effect.forkDetach(Fiber.interrupt(fiber))
    yield* TestClock.adjust("10 minutes")
    return undefined
  })

const playCalls = (scenario: Scenario, toolkit: Toolkit.Toolkit<Pay>, events: Array<ReadonlyArray<string>>) =>
  Effect.gen(function*() {
    const tool = toolkit.tools.get("pay")!
    const results: Array<unknown> = []
    let facts = CallFacts.empty
    for (const [index, made] of scenario.calls.entries()) {
      if (index === 0 || made.isFirst) facts = stored(beginFacts(facts, "scope", made.mayHaveRun))
      const call = { id: `${index}`, name: "pay", arguments: made.text }
      const perform = (options: Dispatch.CallOptions) => {
        const tags: Array<string> = []
        const run = Dispatch.call(toolkit, call, {
          ...options,
          facts,
          wasBegun: made.wasBegun,
          ...(made.id === "an id" ? { id: `call ${index}` } : {}),
          ...(made.id === "a key" ? { idempotencyKey: `key ${made.text}` } : {}),
          ...(scenario.isWatched ? { onEvent: ({ _tag }: CallEvent.Watched) => void tags.push(_tag) } : {})
        })
        return Effect.map(inTime(made.hasDeadline ? Deadline.within(run, 6_000) : run, made.interrupted), (outcome) => {
          events.push(tags)
          if (outcome === undefined) results.push("no end")
          else results.push({ outcome: encodedOutcome(outcome), text: Rendering.json(outcome, call) })
          return outcome
        })
      }
      let outcome = yield* perform({})
      for (let reply = 1; outcome?._tag === "Suspended" && reply < 4; reply++) {
        facts = stored(resumeFacts(stored(keepAskedKey(pauseFacts(facts), outcome.intent))))
        const before = decodedOutcome(JSON.parse(JSON.stringify(encodedOutcome(outcome))))
        if (before._tag !== "Suspended") break
        const { id, question } = before
        outcome = yield* perform({ before, replies: [...before.replies, { id, question, reply: `Yes ${reply}.` }] })
      }
      if (outcome === undefined) continue
      if (outcome._tag !== "Suspended") facts = recordCall(facts, outcome, tool)
      results.push(encodedFacts(facts))
    }
    return results
  })

/** Two runs of an agent, the second with the facts of the first. The model calls the tool once or twice in each turn. */
const playRuns = (
  { calls, isWatched }: Scenario,
  toolkit: Toolkit.Toolkit<Pay>,
  events: Array<ReadonlyArray<string>>
) =>
  Effect.gen(function*() {
    const agent = Agent.make({ toolkit })
    const tags: Array<string> = []
    const results: Array<unknown> = []
    events.push(tags)
    const watched = <A, E, R>(self: Effect.Effect<A, E, R>) =>
      isWatched ? Observer.observe(self, { onEvent: ({ _tag }) => void tags.push(_tag) }) : self
    const ended = (run: ReturnType<typeof agent.run>) =>
      Effect.map(inTime(watched(Effect.result(run))), (end) => {
        results.push(
          end === undefined
            ? "no end"
            : end._tag === "Success"
            ? encodedAnswer(end.success)
            : encodedFailure(end.failure)
        )
        return end
      })
    let facts = CallFacts.empty
    for (const scope of ["scope", "scope"]) {
      let end = yield* ended(agent.run("Pay.", { scope, facts: stored(facts) }))
      for (let reply = 1; end?._tag === "Failure" && end.failure._tag === "RunSuspended" && reply < 5; reply++) {
        const failure = decodedFailure(JSON.parse(JSON.stringify(encodedFailure(end.failure))))
        if (failure._tag !== "RunSuspended") break
        end = yield* ended(agent.resume(failure.suspension, `Yes ${reply}.`))
      }
      if (end?._tag === "Success") facts = end.success.facts
      else if (end !== undefined && "facts" in end.failure) facts = end.failure.facts
    }
    const { requests } = yield* ScriptedModel.ScriptedModel
    results.push((yield* requests).length)
    return results
  }).pipe(
    Effect.provide(ScriptedModel.layer(({ messages }) => {
      // How many turns ago the user asked.
      const turn = messages.length - 1 - messages.findLastIndex(({ role }) => role === "user")
      const asked = messages.slice(messages.length - turn).filter(({ role }) => role === "assistant").length
      const texts = calls.slice(asked * 2, asked * 2 + (calls[asked]?.isFirst === true ? 1 : 2))
      return texts.length === 0
        ? ScriptedModel.text("Done.")
        : ScriptedModel.calls(texts.map(({ text }): ScriptedModel.Call => ["pay", text]))
    }))
  )

const services = () =>
  Layer.mergeAll(
    RateLimiter.layer.pipe(Layer.provide(RateLimiter.layerStoreMemory)),
    Breaker.layer({ tripPolicy: Breaker.consecutive(3), openDuration: "30 seconds" }).pipe(
      Layer.provide(Breaker.layerStoreMemory())
    )
  )

/** Returns the toolkit of a scenario, or what was thrown because no such tool can be. */
const toolkitOf = (scenario: Scenario): Toolkit.Toolkit<Pay> | string => {
  try {
    return Toolkit.make(toolOf(scenario))
  } catch (error) {
    return String(error)
  }
}

export const play = async (scenario: Scenario): Promise<Played> => {
  const world = new World(scenario.looks)
  worldOfPromises = world
  const toolkit = toolkitOf(scenario)
  if (typeof toolkit === "string") return { result: toolkit, events: [] }
  const events: Array<ReadonlyArray<string>> = []
  const played = scenario.kind === "calls" ? playCalls(scenario, toolkit, events) : playRuns(scenario, toolkit, events)
  const results = await played.pipe(
    Effect.provideService(worldOf, world),
    Effect.provide(services()),
    Random.withSeed(scenario.seed),
    inWholeMillis,
    Observer.observe({ onDefect: (message) => Effect.sync(() => void world.defects.push(message)) }),
    Observer.observe({ onLateResult: (late) => Effect.sync(() => void world.late.push(JSON.stringify(late))) }),
    Effect.provide(Logger.layer([])),
    Effect.provide(TestClock.layer()),
    // An async handler goes on between two macrotasks only.
    (effect) =>
      Effect.runPromise(effect, { scheduler: new Scheduler.MixedScheduler(scenario.isPromise ? "async" : "sync") })
  )
  const { defects, late, ran } = world
  return { result: { results, ran, late, defects }, events }
}
