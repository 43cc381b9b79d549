/**
 * What a call's record must keep, whatever carries it: a resume keeps a known effect, equal failures behave equally, and
 * events tell only what happened.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import {
  Dispatch,
  Observer,
  PartialData,
  Policy,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolCall,
  ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import type * as CallEvent from "@fallible/core/CallEvent"
import * as CallFacts from "@fallible/core/CallFacts"
import * as HttpFailure from "@fallible/core/HttpFailure"
import type * as SideEffect from "@fallible/core/SideEffect"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Duration, Effect, Fiber, Logger, Option, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import * as DispatchFailure from "../../packages/core/src/internal/arguments/dispatchFailure.ts"
import { beginFacts, recordCall } from "../../packages/core/src/internal/dispatch/recordCalls.ts"
import { shapes } from "../support/errorShapes.ts"
import { runs } from "../support/runs.ts"

type Failure = ToolFailure.ToolFailure<string>

const sideEffects = fc.constantFrom<SideEffect.SideEffect>(
  "none",
  "idempotent",
  "idempotent_by_key",
  "non_idempotent"
)

const unavailable = (fields: Partial<ToolUnavailable>) =>
  new ToolUnavailable({ code: "down", detail: "Down.", transient: true, ...fields })

const parameters = Schema.Struct({ order: Schema.String })
const call = { id: "1", name: "subject", arguments: "{\"order\":\"7\"}" }

/** Plays an effect until it ends, in virtual time. */
const ended = <A>(effect: Effect.Effect<A>): Promise<A> =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkDetach(effect)
    yield* TestClock.adjust("1 hour")
    return yield* Fiber.join(fiber)
  }).pipe(
    Observer.observe({ onDefect: () => Effect.void }),
    Observer.observe({ onLateResult: () => Effect.void }),
    Effect.provide(Logger.layer([])),
    Effect.provide(TestClock.layer()),
    Effect.runPromise
  )

// -----------------------------------------------------------------------------
// A resume
// -----------------------------------------------------------------------------

/** How the handler ends after the reply, before it does anything. */
const endsAfterReply = {
  "did nothing": unavailable({ outcome: "not_executed" }),
  "refuses": new SemanticGarbage({ code: "too_late", detail: "Too late." }),
  "rejects": new SchemaMismatch({ side: "arguments", code: "invalid_arguments", detail: "Wrong." })
} satisfies Record<string, Failure>

/** Charges, asks the user, and fails after the reply. The model makes the call again. */
const charging = (sideEffect: SideEffect.SideEffect, end: keyof typeof endsAfterReply) => {
  let charges = 0
  let runs = 0
  const charge = Tool.make("charge", { description: "", success: Schema.String }, () =>
    Effect.sync(() => {
      charges++
      return "charged"
    }))
  const subject = Tool.make(
    "subject",
    { description: "", parameters, success: Schema.String, sideEffect, identity: "all" },
    () =>
      Effect.gen(function*() {
        // After the reply, the handler fails before it comes to charge.
        if (++runs === 2) return yield* endsAfterReply[end]
        yield* charge.run({})
        return yield* ToolCall.ask("Window or aisle?")
      })
  )
  const toolkit = Toolkit.make(subject)
  return ended(Effect.gen(function*() {
    const facts = beginFacts(CallFacts.empty, "scope")
    const first = yield* Dispatch.call(toolkit, call, { id: "1", facts })
    assert(first._tag === "Suspended")
    assert.strictEqual(first.certainty, "executed")
    const reply = { id: first.id, question: first.question, reply: "aisle" }
    const resumed = yield* Dispatch.call(toolkit, call, { id: "1", facts, before: first, replies: [reply] })
    const later = recordCall(facts, resumed, subject)
    yield* Dispatch.call(toolkit, call, { id: "2", facts: later })
    return { resumed, charges }
  }))
}

describe("a resumed call", () => {
  it("keeps the effect that it had before the question, and is not made again", () =>
    fc.assert(fc.asyncProperty(
      fc.constantFrom<SideEffect.SideEffect>("idempotent_by_key", "non_idempotent"),
      fc.constantFrom(...Object.keys(endsAfterReply) as Array<keyof typeof endsAfterReply>),
      async (sideEffect, end) => {
        const { charges, resumed } = await charging(sideEffect, end)
        assert.notStrictEqual(resumed.certainty, "not_executed", `${sideEffect}, ${end}`)
        assert.strictEqual(charges, 1, `${sideEffect}, ${end}`)
      }
    )))
})

// -----------------------------------------------------------------------------
// Equal failures
// -----------------------------------------------------------------------------

/** Failures that the library makes. */
const made: ReadonlyArray<readonly [name: string, failure: () => Failure]> = [
  ...shapes.map(({ error, name }) => [`from ${name}`, () => ToolFailure.from(error())] as const),
  ...[400, 401, 404, 408, 409, 422, 429, 500, 503].flatMap((status) =>
    ["GET", "POST"].map((method) => [`${method} ${status}`, () => HttpFailure.fromStatus(status, { method })] as const)
  ),
  ["not run", () => DispatchFailure.notRun("other")],
  ["disabled", () => DispatchFailure.disabled("other", "moving")],
  ["already done", () => DispatchFailure.alreadyDone("done")],
  ["unknown tool", () => DispatchFailure.unknownTool("other", ["subject"])]
]

const spread = (failure: Failure, fields: { readonly hint?: string } = {}): Failure => {
  switch (failure._tag) {
    case "SchemaMismatch":
      return new SchemaMismatch({ ...failure, ...fields })
    case "PartialData":
      return new PartialData({ ...failure, ...fields })
    case "SemanticGarbage":
      return new SemanticGarbage({ ...failure, ...fields })
    case "ToolUnavailable":
      return new ToolUnavailable({ ...failure, ...fields })
  }
}

const codec = Schema.toCodecJson(ToolFailure.schema(Schema.String))

const copies = {
  "a copy": (failure) => spread(failure),
  "a copy with a hint": (failure) => spread(failure, { hint: "Try again." }),
  "encoded and decoded": (failure) => Schema.decodeUnknownSync(codec)(Schema.encodeSync(codec)(failure))
} satisfies Record<string, (failure: Failure) => Failure>

type Subject = Tool.Tool<string, typeof parameters.Type, string, Failure>

const stacks: Readonly<Record<string, (tool: Subject) => Subject>> = {
  "no policy": (tool) => tool,
  "a retry": Tool.retry(Schedule.recurs(2)),
  "a retry, and a fallback": (tool) =>
    Tool.fallback(Tool.retry(tool, Schedule.recurs(1)), () => Effect.succeed("another")),
  "a check that finds it": Tool.reconcile(() => Effect.succeed(Option.some("found"))),
  "a final check, and a retry": (tool) =>
    Tool.retry(Tool.reconcile(tool, () => Effect.succeed(Option.none()), { final: true }), Schedule.recurs(1)),
  "a catch": Tool.catchTag("SemanticGarbage", () => Effect.succeed("caught")),
  "a user's retry": Tool.with(
    Policy.make({
      kind: "custom",
      name: "again",
      description: "again",
      wrap: (run) => (params) => Effect.retry(run(params), { times: 1 })
    })
  )
}

/** Where the failure comes from: the handler, or an inner tool whose failure the handler passes on or copies. */
const places = ["handler", "inner tool"] as const

interface Play {
  readonly failure: () => Failure
  readonly copy: (failure: Failure) => Failure
  readonly sideEffect: SideEffect.SideEffect
  readonly refusesFirst: boolean
  readonly place: typeof places[number]
  readonly stack: string
}

/** Plays a tool that fails with a failure or a copy of it, and returns the outcome without its hint. */
const outcomeOf = async ({ copy, failure, place, refusesFirst, sideEffect, stack }: Play) => {
  const inner = Tool.make(
    "inner",
    { description: "", parameters, success: Schema.String, sideEffect: "none" },
    () => Effect.suspend(() => Effect.fail(failure()))
  )
  const subject: Subject = Tool.make(
    "subject",
    { description: "", parameters, success: Schema.String, sideEffect, identity: "all", refusesFirst },
    (params): Effect.Effect<string, Failure> =>
      place === "handler"
        ? Effect.suspend(() => Effect.fail(copy(failure())))
        : Effect.mapError(inner.run(params), copy)
  )
  const outcome = await ended(Dispatch.call(Toolkit.make(stacks[stack]!(subject)), call))
  return {
    tag: outcome._tag,
    certainty: outcome.certainty,
    attempts: outcome.attempts,
    handled: outcome.handled.map(({ by, code, detail, tag }) => ({ by, code, detail, tag })),
    failure: outcome._tag === "Failed"
      ? {
        tag: outcome.failure._tag,
        code: outcome.failure.code,
        detail: outcome.failure.detail,
        outcome: outcome.failure._tag === "ToolUnavailable" ? outcome.failure.outcome : undefined
      }
      : undefined
  }
}

describe("equal failures", () => {
  for (const [name, copy] of Object.entries(copies)) {
    it(`behave equally in every tool and under every policy: ${name}`, () =>
      fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...made),
          sideEffects,
          fc.boolean(),
          fc.constantFrom(...places),
          fc.constantFrom(...Object.keys(stacks)),
          async ([text, failure], sideEffect, refusesFirst, place, stack) => {
            const play = { failure, sideEffect, refusesFirst, place, stack }
            const original = await outcomeOf({ ...play, copy: (failure) => failure })
            const copied = await outcomeOf({ ...play, copy })
            assert.deepStrictEqual(copied, original, JSON.stringify({ text, ...play }))
          }
        ),
        { numRuns: runs(1_000) }
      ))
  }

  it("behave equally after a refused connection, in a tool that refuses first", async () => {
    const failure = () => ToolFailure.from(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }))
    const play = {
      failure,
      sideEffect: "non_idempotent",
      refusesFirst: true,
      place: "handler",
      stack: "a retry"
    } as const
    const original = await outcomeOf({ ...play, copy: (failure) => failure })
    assert.strictEqual(original.attempts, 3)
    for (const [name, copy] of Object.entries(copies)) {
      assert.deepStrictEqual(await outcomeOf({ ...play, copy }), original, name)
    }
  })
})

// -----------------------------------------------------------------------------
// Events
// -----------------------------------------------------------------------------

/** What the handlers of the tools saw: how often each began and ended. */
interface Counts {
  readonly begun: Map<string, number>
  readonly ended: Map<string, number>
}

const add = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1)

const endings: Readonly<Record<string, Effect.Effect<string, Failure>>> = {
  "answers": Effect.succeed("done"),
  "did nothing": Effect.fail(unavailable({ outcome: "not_executed" })),
  "is lost": Effect.fail(unavailable({ outcome: "unknown" })),
  "is silent": Effect.fail(unavailable({})),
  "refuses": Effect.fail(new SemanticGarbage({ code: "no_such_card", detail: "No such card." })),
  "dies": Effect.die("dies")
}

const act = fc.record({ end: fc.constantFrom(...Object.keys(endings)), takes: fc.constantFrom(0, 500, 2_000) })

type Act = typeof act extends fc.Arbitrary<infer A> ? A : never

const counted = (name: string, acts: ReadonlyArray<Act>, { begun, ended }: Counts) =>
  Effect.suspend(() => {
    const { end, takes } = acts[(begun.get(name) ?? 0) % acts.length]!
    add(begun, name)
    return Effect.onExit(
      Effect.andThen(takes === 0 ? Effect.void : Effect.sleep(takes), endings[end]!),
      () => Effect.sync(() => add(ended, name))
    )
  })

const custom = (name: string, wrap: Policy.Options<never, Failure>["wrap"]) =>
  Tool.with(Policy.make<never, Failure>({ kind: "custom", name, description: name, wrap }))

const eventPolicies: Readonly<Record<string, (tool: Subject) => Subject>> = {
  "a retry": Tool.retry(Schedule.upTo(Schedule.spaced(300), { times: 2 })),
  "a timeout": Tool.timeout(900),
  "a map": custom(
    "audit",
    (run) => (params) => Effect.mapError(run(params), () => unavailable({ outcome: "unknown" }))
  ),
  "a retry of a user": custom("again", (run) => (params) => Effect.retry(run(params), { times: 1 })),
  "a failure before it": custom("gate", () => () => Effect.fail(unavailable({ outcome: "unknown" })))
}

const eventScenario = fc.record({
  sideEffect: sideEffects,
  acts: fc.array(act, { minLength: 1, maxLength: 3 }),
  innerActs: fc.array(act, { minLength: 1, maxLength: 3 }),
  runsInner: fc.boolean(),
  asks: fc.boolean(),
  policies: fc.array(fc.constantFrom(...Object.keys(eventPolicies)), { maxLength: 3 })
})

/** Plays a call, and a resume of it if it asks. Returns its events and what happened. */
const watched = (
  { acts, asks, innerActs, policies, runsInner, sideEffect }: typeof eventScenario extends fc.Arbitrary<infer A> ? A
    : never
) => {
  const counts: Counts = { begun: new Map(), ended: new Map() }
  const events: Array<CallEvent.Watched> = []
  const inner = Tool.make(
    "inner",
    { description: "", parameters, success: Schema.String },
    () => counted("inner", innerActs, counts)
  )
  const bare: Subject = Tool.make(
    "subject",
    { description: "", parameters, success: Schema.String, sideEffect, identity: "all" },
    (params) => {
      const body = Effect.gen(function*() {
        if (runsInner) yield* Effect.ignore(inner.run(params))
        if (asks) yield* ToolCall.ask("Sure?")
        return yield* counted("rest", acts, counts)
      })
      return Effect.suspend(() => {
        add(counts.begun, "subject")
        return Effect.onExit(body, () => Effect.sync(() => add(counts.ended, "subject")))
      })
    }
  )
  const tool = policies.reduce((tool, name) => eventPolicies[name]!(tool), bare)
  const toolkit = Toolkit.make(tool)
  return ended(
    Effect.gen(function*() {
      const facts = beginFacts(CallFacts.empty, "scope")
      const onEvent: NonNullable<Observer.Observer["onEvent"]> = (event) => {
        events.push(event)
      }
      let outcome: ToolOutcome.ToolOutcome = yield* Dispatch.call(toolkit, call, { id: "1", facts, onEvent })
      if (outcome._tag === "Suspended") {
        const reply = { id: outcome.id, question: outcome.question, reply: "yes" }
        outcome = yield* Dispatch.call(toolkit, call, { id: "1", facts, onEvent, before: outcome, replies: [reply] })
      }
      // Late ends come before the counts are compared.
      yield* Effect.sleep("10 minutes")
      return { counts, events, outcome }
    })
  )
}

describe("the events of a call", () => {
  it("name only tools that ran, and tell each beginning and end of a handler once", () =>
    fc.assert(
      fc.asyncProperty(eventScenario, async (scenario) => {
        const { counts: { begun, ended }, events } = await watched(scenario)
        const text = JSON.stringify(scenario)
        const times = (tag: string) => events.filter(({ _tag }) => _tag === tag).length
        for (const event of events) {
          if (event._tag !== "InnerStarted" && event._tag !== "InnerActs" && event._tag !== "InnerEnded") continue
          assert.isTrue(begun.has(event.inside), `no tool '${event.inside}' ran: ${text}`)
        }
        assert.strictEqual(times("AttemptStarted"), begun.get("subject") ?? 0, `beginnings: ${text}`)
        assert.strictEqual(times("InnerStarted"), begun.get("inner") ?? 0, `inner beginnings: ${text}`)
        assert.isAtMost(times("InnerEnded"), begun.get("inner") ?? 0, `inner ends: ${text}`)
        // A read-only tool's late ends are not told.
        const ends = events.filter((event) => event._tag === "AttemptEnded" && event.inside === undefined).length
        if (scenario.sideEffect !== "none") assert.strictEqual(ends, ended.get("subject") ?? 0, `ends: ${text}`)
      }),
      { numRuns: runs(500) }
    ))

  it("tell each wait for as long as it took", () =>
    fc.assert(
      fc.asyncProperty(eventScenario, async (scenario) => {
        const { events } = await watched({ ...scenario, policies: ["a retry"] })
        const retries = events.filter((event) => event._tag === "FailureHandled" && event.by === "retry").length
        const waits = events.filter((event) => event._tag === "WaitEnded")
        assert.strictEqual(waits.length, retries, JSON.stringify(scenario))
        for (const wait of waits) {
          assert.strictEqual(wait._tag === "WaitEnded" ? Duration.toMillis(wait.wait) : 0, 300)
        }
      }),
      { numRuns: runs(300) }
    ))
})
