/**
 * Types do not exist at run time, and `any` is common. So this file passes nonsense to every place that
 * accepts a user's function or value: returned, thrown, rejected, as a success, a failure or a defect, and
 * hidden inside an Effect.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentFailure,
  Fixer,
  Guard,
  Model,
  Observer,
  PartialData,
  Policy,
  SchemaMismatch,
  Tool,
  ToolCall,
  type ToolFailure,
  Toolkit,
  ToolUnavailable,
  Transcript
} from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import * as CallFacts from "@fallible/core/CallFacts"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import * as Journal from "@fallible/core/Journal"
import * as LastKnown from "@fallible/core/LastKnown"
import * as RateLimit from "@fallible/core/RateLimit"
import * as RetryBudget from "@fallible/core/RetryBudget"
import * as ToolHealth from "@fallible/core/ToolHealth"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Duration, Effect, Exit, Layer, Logger, Schedule, Schema, SchemaGetter, Stream } from "effect"
import { CircuitBreaker as Breaker, RateLimiter } from "effect/persistence"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { afterAll, beforeAll } from "vitest"
import { nonsense, type Untyped } from "../support/nonsense.ts"
import { passingBy } from "../support/virtualTime.ts"

/** The ways in which a function uses a value. */
const deeds: Readonly<Record<string, (value: () => unknown) => unknown>> = {
  returns: (value) => value(),
  throws: (value) => {
    throw value()
  },
  "rejects with": (value) => Promise.reject(value()),
  "succeeds with": (value) => Effect.succeed(value()),
  "succeeds later with": (value) => Effect.andThen(Effect.yieldNow, Effect.sync(value)),
  "fails with": (value) => Effect.fail(value()),
  "dies of": (value) => Effect.die(value()),
  "hides in an Effect": (value) => Effect.flatMap(Effect.yieldNow, value as Untyped),
  "yields in a generator": (value) =>
    Effect.gen(function*() {
      return (yield value() as Untyped) as Untyped
    })
}

// -----------------------------------------------------------------------------
// Places
// -----------------------------------------------------------------------------

type Bad = (...args: ReadonlyArray<Untyped>) => never

/** A run with nonsense in one place. */
interface Scene {
  readonly tool?: Untyped
  readonly layer?: Untyped
  readonly agent?: Untyped
  readonly run?: (agent: Untyped) => Untyped
}

const City = Schema.Struct({ city: Schema.String })
const definition = { description: "", parameters: City, success: Schema.String, sideEffect: "none" } as const
const refused = new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })
const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
const unclear = new SchemaMismatch({ side: "arguments", code: "unclear", detail: "Which city?" })

let opened = 0
let closed = 0

/** Opens a resource around an Effect, and closes it. */
const scoped = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    opened++
    return Effect.ensuring(effect, Effect.sync(() => closed++))
  })

const failing = (failure: ToolFailure.ToolFailure<string>, sideEffect: "none" | "non_idempotent" = "none") =>
  Tool.make("victim", { ...definition, sideEffect }, () => scoped(Effect.fail(failure)))

const succeeding = Tool.make("victim", definition, () => scoped(Effect.succeed("fine")))

type Transformation = Parameters<typeof Schema.decode<typeof Schema.String, never, never>>[0]

const transformed = (city: Transformation) => Schema.Struct({ city: Schema.String.pipe(Schema.decode(city)) })

const paged = (city: Transformation) => {
  let page = 0
  const more = new PartialData({ code: "more_pages", detail: "More.", data: "a", next: { city: "Rome" } })
  return Tool.make(
    "victim",
    { ...definition, parameters: transformed(city) },
    () => scoped(page++ === 0 ? Effect.fail(more) : Effect.succeed("b"))
  ).pipe(Tool.paginate({ merge: (a: string, b: string) => a + b }))
}

const used = new Model.ModelFailure({
  code: "cut_off",
  detail: "Cut off.",
  transient: true,
  usage: { inputTokens: 1 }
})
const disconnected = new Model.ModelFailure({ code: "connection", detail: "Refused.", transient: true })

const suspension: AgentFailure.Suspension = {
  version: 8,
  id: "s-1",
  runId: "run",
  turn: 1,
  questions: [],
  needs: [],
  transcript: Transcript.make([{ role: "user", text: "?" }]),
  report: { turns: 1, calls: 1, inputTokens: 0, outputTokens: 0, failures: [], repairs: [] },
  reply: { text: "", calls: [{ id: "1", name: "victim" }] },
  outcomes: [],
  facts: CallFacts.empty,
  used: Duration.zero
}

const places: Readonly<Record<string, (bad: Bad) => Scene>> = {
  "a handler": (bad) => ({ tool: Tool.make("victim", definition, bad) }),
  "a handler of a tool that acts": (bad) => ({
    tool: Tool.make("victim", { ...definition, sideEffect: "non_idempotent" }, bad)
  }),
  "a tool that was put together by hand": (bad) => ({ tool: { ...succeeding, run: bad } }),
  "a handler of any result": (bad) => ({ tool: Tool.make("victim", { ...definition, success: Schema.Unknown }, bad) }),
  "a handler inside of another": (bad) => {
    const inner = Tool.make("inner", definition, bad)
    return { tool: Tool.make("victim", definition, (params) => scoped(inner.run(params))) }
  },
  "a handler under policies": (bad) => ({
    tool: Tool.make("victim", definition, bad).pipe(
      Tool.timeout("1 minute"),
      Tool.retry(Schedule.recurs(1)),
      Tool.fallback(() => Effect.succeed("elsewhere"))
    )
  }),
  "a fallback": (bad) => ({ tool: Tool.fallback(failing(refused), bad) }),
  "a catch": (bad) => ({ tool: Tool.catchTag(failing(refused), "ToolUnavailable", bad) }),
  "a mapping": (bad) => ({ tool: Tool.mapFailure(failing(refused), bad) }),
  "a check of an outcome": (bad) => ({ tool: Tool.reconcile(failing(lost, "non_idempotent"), bad) }),
  "a fixer": (bad) => ({ tool: Tool.fix(failing(unclear), bad) }),
  "a fixer's escalation": (bad) => ({
    tool: failing(unclear).pipe(Tool.fix(() => Effect.suspend(() => Fixer.escalate(bad()))))
  }),
  "a merge of pages": (bad) => {
    let page = 0
    return {
      tool: Tool.make("victim", definition, () =>
        scoped(
          page++ === 0
            ? Effect.fail(
              new PartialData({ code: "more_pages", detail: "More.", data: "a", next: { city: "London" } })
            )
            : Effect.succeed("b")
        )).pipe(Tool.paginate({ merge: bad }))
    }
  },
  "a coverage of pages": (bad) => ({
    tool: Tool.make("victim", definition, () =>
      Effect.fail(
        new PartialData({ code: "more_pages", detail: "More.", data: "a", next: { city: "Paris" } })
      )).pipe(Tool.paginate({ merge: (a: string, b: string) => a + b, coverage: bad }))
  }),
  "a schedule": (bad) => ({
    tool: failing(refused).pipe(Tool.retry(Schedule.recurs(1).pipe(Schedule.tap(bad)) as Untyped))
  }),
  "a guard's check": (bad) => ({
    tool: Tool.make("victim", definition, () => scoped(Effect.succeed("fine").pipe(Guard.check(bad))))
  }),
  "a guard's partial": (bad) => ({
    tool: Tool.make("victim", definition, () => scoped(Effect.succeed("fine").pipe(Guard.partial(bad))))
  }),
  "a policy": (bad) => ({
    tool: succeeding.pipe(Tool.with(Policy.make({ kind: "custom", name: "mine", description: "", wrap: () => bad })))
  }),
  "a policy around a run": (bad) => ({
    tool: succeeding.pipe(Tool.with(Policy.make({
      kind: "retry",
      description: "",
      wrap: (run: Policy.Run) => (params: unknown): Untyped => Effect.flatMap(run(params), bad)
    })))
  }),
  "parameters": (bad) => ({
    tool: Tool.make("victim", {
      ...definition,
      parameters: Schema.Struct({
        city: Schema.String.pipe(Schema.decode({
          decode: SchemaGetter.transformEffect<string, string>(bad),
          encode: SchemaGetter.passthrough()
        }))
      })
    }, () => Effect.succeed("fine"))
  }),
  "a result": (bad) => ({
    tool: Tool.make("victim", {
      ...definition,
      success: Schema.String.pipe(Schema.decode({
        decode: SchemaGetter.passthrough(),
        encode: SchemaGetter.transformEffect<string, string>(bad)
      }))
    }, () => Effect.succeed("fine"))
  }),
  "the parameters of the next page": (bad) => {
    const decode = (city: string) => city === "Paris" ? Effect.succeed(city) : bad()
    return { tool: paged({ decode: SchemaGetter.transformEffect(decode), encode: SchemaGetter.passthrough() }) }
  },
  "the parameters of a page, encoded": (bad) => ({
    tool: paged({ decode: SchemaGetter.passthrough(), encode: SchemaGetter.transformEffect<string, string>(bad) })
  }),
  "the parameters of a correction": (bad) => {
    const decode = (city: string) => city === "Rome" ? bad() : Effect.succeed(city)
    const tool = Tool.make("victim", {
      ...definition,
      parameters: transformed({ decode: SchemaGetter.transformEffect(decode), encode: SchemaGetter.passthrough() })
    }, () => scoped(Effect.fail(unclear)))
    return { tool: Tool.fix(tool, () => ({ city: "Rome" })) }
  },
  "a retry budget": (bad) => ({
    tool: failing(refused).pipe(Tool.retry(Schedule.recurs(1))),
    layer: Layer.succeed(RetryBudget.current, { deposit: bad, withdraw: bad })
  }),
  "the schedule of a model": (bad) => ({
    agent: { modelRetry: Schedule.recurs(1).pipe(Schedule.tap(bad)) },
    layer: Model.layer({ respond: () => Effect.fail(disconnected) })
  }),
  "what counts the calls of a tool": (bad) => ({
    layer: Layer.effect(ToolHealth.ToolHealth, Effect.map(ToolHealth.make, (health) => ({ ...health, called: bad })))
  }),
  "a caveat": (bad) => ({
    tool: Tool.make("victim", definition, () => Effect.as(Effect.suspend(() => ToolCall.caveat(bad())), "fine"))
  }),
  "an attached file": (bad) => ({
    tool: Tool.make("victim", definition, () => Effect.as(Effect.suspend(() => ToolCall.attach(bad())), "fine"))
  }),
  "a price": (bad) => ({
    layer: Model.priced(
      Model.layer({ respond: () => Effect.succeed({ text: "Hello.", calls: [], usage: { inputTokens: 1 } }) }),
      bad
    )
  }),
  "a price of a failure": (bad) => ({
    layer: Model.priced(Model.layer({ respond: () => Effect.fail(used) }), bad)
  }),
  "a source": (bad) => ({
    tool: Tool.make(
      "victim",
      definition,
      () => Effect.as(Effect.suspend(() => ToolCall.source({ name: bad(), age: bad() })), "fine")
    )
  }),
  "a question of a tool": (bad) => ({
    tool: Tool.make("victim", definition, () => Effect.suspend(() => ToolCall.ask(bad())))
  }),
  "a stop": (bad) => ({
    tool: Tool.make("victim", definition, () => Effect.suspend(() => ToolCall.stop(bad())))
  }),
  "a store of last values": (bad) => ({
    tool: failing(refused).pipe(LastKnown.fallback()),
    layer: Layer.succeed(LastKnown.LastKnown, { get: bad, set: bad })
  }),
  "a store that is written": (bad) => ({
    tool: succeeding.pipe(LastKnown.fallback()),
    layer: Layer.succeed(LastKnown.LastKnown, { get: bad, set: bad })
  }),
  "a store of circuits": (bad) => ({
    tool: succeeding.pipe(CircuitBreaker.protect()),
    layer: Breaker.layer({ tripPolicy: Breaker.consecutive(5), openDuration: "30 seconds" }).pipe(
      Layer.provide(Layer.succeed(Breaker.CircuitBreakerStore, { admit: bad, record: bad, state: bad }))
    )
  }),
  "a store of circuits that is written": (bad) => ({
    tool: succeeding.pipe(CircuitBreaker.protect()),
    layer: Breaker.layer({ tripPolicy: Breaker.consecutive(5), openDuration: "30 seconds" }).pipe(
      Layer.provide(Layer.succeed(Breaker.CircuitBreakerStore, {
        admit: () => Effect.succeed({ generation: 0, probe: false, consecutiveOpenings: 0, transition: undefined }),
        record: bad,
        state: bad
      }))
    )
  }),
  "a breaker": (bad) => ({
    tool: succeeding.pipe(CircuitBreaker.protect()),
    layer: Layer.succeed(Breaker.CircuitBreaker, { execute: bad } as Untyped)
  }),
  "a store of limits": (bad) => ({
    tool: succeeding.pipe(RateLimit.limit({ limit: 1, window: "1 hour" })),
    layer: RateLimiter.layer.pipe(
      Layer.provide(Layer.succeed(RateLimiter.RateLimiterStore, { fixedWindow: bad, tokenBucket: bad } as Untyped))
    )
  }),
  "a rate limiter": (bad) => ({
    tool: succeeding.pipe(RateLimit.limit({ limit: 1, window: "1 hour" })),
    layer: Layer.succeed(RateLimiter.RateLimiter, { consume: bad } as Untyped)
  }),
  "a reporter of defects": (bad) => ({
    tool: Tool.make("victim", definition, () => Effect.die("dead")),
    layer: Observer.layer({ onDefect: bad })
  }),
  "a rendering": (bad) => ({ agent: { rendering: bad } }),
  "a model": (bad) => ({ layer: Model.layer({ respond: bad }) }),
  "a model's stream": (bad) => ({
    layer: Layer.succeed(Model.Model, { respond: bad, stream: bad }),
    run: (agent) => Stream.runCollect(agent.stream("?"))
  }),
  "the parts of a model's stream": (bad) => ({
    layer: Layer.succeed(Model.Model, { respond: bad, stream: () => Stream.fromEffect(Effect.suspend(bad)) }),
    run: (agent) => Stream.runCollect(agent.stream("?"))
  }),
  "a journal": (bad) => ({ layer: Layer.succeed(Journal.current, { step: bad }) }),
  "a journal of calls": (bad) => ({
    layer: Layer.succeed(Journal.current, {
      step: (step, effect) => step.name === "turn/1/call/2" ? bad() : effect
    })
  }),
  "a journal after each step": (bad) => ({
    layer: Layer.succeed(
      Journal.current,
      { step: (_: unknown, effect: Untyped) => Effect.flatMap(effect, bad) } as Untyped
    )
  })
}

/** Runs an agent, and stores all that it emits and how it ends: everything is of its declared type. */
const storing = (agent: Untyped): Untyped => {
  const stream: Stream.Stream<AgentEvent.AgentEvent, AgentFailure.AgentFailure> = agent.stream("?", {
    deltas: ["reasoning", "arguments"]
  })
  return stream.pipe(
    Stream.runForEach((event) => Effect.sync(() => JSON.stringify(Schema.encodeSync(AgentEvent.schema)(event)))),
    Effect.tapError((failure) => Effect.sync(() => JSON.stringify(Schema.encodeSync(AgentFailure.schema)(failure))))
  )
}

/** Places for values that are not functions. */
const values: Readonly<Record<string, (value: Untyped) => Scene>> = {
  "a model's reply": (value) => ({ layer: Model.layer({ respond: () => Effect.succeed(value) }) }),
  "a model's text": (text) => ({ layer: Model.layer({ respond: () => Effect.succeed({ text, calls: [] }) }) }),
  "a model's calls": (calls) => ({ layer: Model.layer({ respond: () => Effect.succeed({ text: "", calls }) }) }),
  "a model's call": (call) => ({ layer: Model.layer({ respond: () => Effect.succeed({ text: "", calls: [call] }) }) }),
  "a call's name": (name) => ({
    layer: Model.layer({ respond: () => Effect.succeed({ text: "", calls: [{ id: "1", name }] }) })
  }),
  "a call's arguments": (args) => ({
    layer: Model.layer({
      respond: () => Effect.succeed({ text: "", calls: [{ id: "1", name: "sibling", arguments: args }] })
    })
  }),
  "a model's usage": (usage) => ({
    layer: Model.layer({ respond: () => Effect.succeed({ text: "Hello.", calls: [], usage }) })
  }),
  ...Object.fromEntries(["model", "reasoning", "providerCalls", "sources", "files", "usage"].map((field) => [
    `a reply's ${field}`,
    (value: Untyped) => ({
      layer: Model.layer({ respond: () => Effect.succeed({ text: "Hello.", calls: [], [field]: value }) }),
      run: storing
    })
  ])),
  ...Object.fromEntries(["model", "usage"].map((field) => [
    `a failure's ${field}`,
    (value: Untyped) => ({
      layer: Model.layer({
        respond: () =>
          Effect.suspend(() => {
            const fields: Untyped = { code: "x", detail: "x", transient: false, [field]: value }
            return Effect.fail(new Model.ModelFailure(fields))
          })
      }),
      run: storing
    })
  ])),
  "a model's name": (name) => ({
    layer: Model.layer({ name, respond: () => Effect.succeed({ text: "Hello.", calls: [] }) }),
    run: storing
  }),
  "the deltas of a run": (deltas) => ({ run: (agent) => Stream.runCollect(agent.stream("?", { deltas })) }),
  "a question's mark for the cache": (cache) => ({ run: (agent) => agent.run({ text: "?", cache }) }),
  "a question": (question) => ({ run: (agent) => agent.run(question) }),
  "a question's files": (files) => ({ run: (agent) => agent.run({ text: "?", files }) }),
  "a transcript": (transcript) => ({ run: (agent) => agent.run("?", { transcript }) }),
  "a suspension": (value) => ({ run: (agent) => agent.resume(value, "yes") }),
  "a suspension's transcript": (transcript) => ({
    run: (agent) => agent.resume({ ...suspension, transcript }, "yes")
  }),
  "a suspension's outcomes": (outcomes) => ({ run: (agent) => agent.resume({ ...suspension, outcomes }, "yes") }),
  "a suspension that is streamed": (value) => ({ run: (agent) => Stream.runCollect(agent.resumeStream(value, "yes")) }),
  "a reply of the user": (reply) => ({ run: (agent) => agent.resume(suspension, reply) })
}

// -----------------------------------------------------------------------------
// The law
// -----------------------------------------------------------------------------

const sibling = Tool.make(
  "sibling",
  { description: "", parameters: City, success: Schema.String, sideEffect: "none" },
  ({ city }) => scoped(Effect.as(Effect.yieldNow, `${city} is well.`))
)

const paris = { city: "Paris" }
// The victim is called twice with different arguments, so its permit must be free again.
const script = [
  ScriptedModel.calls(["sibling", paris], ["victim", paris], ["sibling", { city: "London" }]),
  ScriptedModel.calls(["victim", { city: "London" }], ["sibling", { city: "Rome" }]),
  ScriptedModel.text("Done.")
]

// Effect converts a hidden value to text. If that throws, the process ends, which no library on Effect can prevent.
const unspeakable = ["an object without a prototype", "something deep", "a proxy that cannot be looked at"]
const isBeyond = (deed: string, what: string) => /hides|yields/.test(deed) && unspeakable.includes(what)

/** Functions that Effect calls. This library never sees their results. */
const hidden = [
  "a breaker",
  "a fixer's escalation",
  "a journal after each step",
  "a policy around a run",
  "a question of a tool",
  "a rate limiter",
  "a result",
  "a retry budget",
  "a schedule",
  "a source",
  "a stop",
  "a store of circuits",
  "a store of circuits that is written",
  "a store of limits",
  "parameters",
  "the parameters of a correction",
  "the parameters of a page, encoded",
  "the parameters of the next page",
  "the parts of a model's stream",
  "the schedule of a model",
  "what counts the calls of a tool"
]

/** Functions whose return value alone counts. The exit of an Effect is ignored. */
const immediate = [
  "a caveat",
  "a coverage of pages",
  "a guard's partial",
  "a mapping",
  "a merge of pages",
  "a model's stream",
  "a price",
  "a price of a failure",
  "a rendering",
  "a reporter of defects",
  "a store of last values",
  "a store that is written",
  "an attached file"
]

/** True if this library sees the result of a promise. */
const isSeen = (place: string, deed: string) =>
  !hidden.includes(place) && !/hides|yields/.test(deed) &&
  !(immediate.includes(place) && /succeeds|fails|dies|throws/.test(deed))

/** Marks a promise's rejection as handled, because another part handles it. */
const handled = (value: unknown) => {
  try {
    if (value instanceof Promise) value.catch(() => {})
  } catch {
    // It is unreadable, so it is not a promise.
  }
  return value
}

/** Plays a run, and returns its exit and the text that the model read. */
const play = ({ agent: options = {}, layer, run = (agent: Untyped) => agent.run("?"), tool = succeeding }: Scene) =>
  Effect.gen(function*() {
    const limited = Tool.concurrency(tool as typeof succeeding, 1, { maxWait: "1 minute" })
    const agent: Untyped = Agent.make({
      toolkit: Toolkit.make(limited, sibling),
      modelRetry: Schedule.recurs(1),
      ...options
    })
    const exit = yield* Effect.exit(run(agent) as Effect.Effect<unknown, unknown>)
    return { exit, requests: yield* (yield* ScriptedModel.ScriptedModel).requests }
  }).pipe(
    Effect.provide(
      Layer.mergeAll(ScriptedModel.layer(script), Logger.layer([])).pipe((base) =>
        layer === undefined ? base : Layer.merge(base, layer)
      )
    ),
    Effect.forkChild,
    Effect.flatMap((fiber) => passingBy("1 second", fiber)),
    Effect.provide(TestClock.layer()),
    (program) => Effect.runPromise(program as Effect.Effect<Effect.Success<typeof program>>)
  )

/** Asserts that no error escapes, no other call is harmed, and all resources are closed. */
const isHarmless = async (scene: Scene, what: string) => {
  opened = closed = 0
  underway = what
  const { exit, requests } = await play(scene)
  if (Exit.isFailure(exit)) {
    const [reason, ...others] = exit.cause.reasons
    const isTyped = others.length === 0 && reason !== undefined && Cause.isFailReason(reason)
    if (!isTyped || !isAgentFailure(reason.error)) assert.fail(`${what}: ${excerpt(exit.cause)}`)
  }
  assert.strictEqual(closed, opened, what)
  const read = requests.at(-1)?.messages ?? []
  const messagesOf = (name: string) =>
    read.filter((message) => message.role === "tool" && message.name === name).map(({ text }) => text)
  assert.notInclude(messagesOf("victim").join(), "bulkhead_full", what)
  const siblings = messagesOf("sibling")
  if (!isRendered(siblings)) {
    assert.deepStrictEqual(
      siblings,
      [`"Paris is well."`, `"London is well."`, `"Rome is well."`].slice(0, siblings.length),
      what
    )
  }
}

// A rendering that returns a string is valid.
const isRendered = (texts: ReadonlyArray<string>) => texts.every((text) => text === "" || text === "text")

const excerpt = (cause: Cause.Cause<unknown>) => {
  try {
    return Cause.pretty(cause)
  } catch {
    return "a cause that cannot be shown"
  }
}

const isAgentFailure = (error: unknown) =>
  error instanceof AgentFailure.ModelFailed || error instanceof AgentFailure.LimitReached ||
  error instanceof AgentFailure.LoopDetected || error instanceof AgentFailure.RunPostponed ||
  error instanceof AgentFailure.RunSuspended ||
  error instanceof AgentFailure.RunStopped ||
  error instanceof AgentFailure.RunHalted ||
  error instanceof AgentFailure.RunRefused

const rejections: Array<unknown> = []
let underway = ""
const onRejection = () => void rejections.push(underway)
beforeAll(() => void process.on("unhandledRejection", onRejection))
afterAll(() => void process.off("unhandledRejection", onRejection))

describe("law 7: ill-typed values do no harm", () => {
  for (const [place, sceneOf] of Object.entries(places)) {
    it(`of ${place}, whatever that function does`, async () => {
      for (const [deed, does] of Object.entries(deeds)) {
        for (const [what, value] of Object.entries(nonsense)) {
          if (isBeyond(deed, what)) continue
          const isTold = isSeen(place, deed)
          const given = isTold && deed !== "rejects with" ? value : () => handled(value())
          const bad = () => (isTold ? does(given) : handled(does(given))) as never
          await isHarmless(sceneOf(bad), `${place} ${deed} ${what}`)
        }
      }
    })
  }

  for (const [place, sceneOf] of Object.entries(values)) {
    it(`as ${place}`, async () => {
      for (const [what, value] of Object.entries(nonsense)) {
        await isHarmless(sceneOf(handled(value())), `${place} is ${what}`)
      }
      await fc.assert(
        fc.asyncProperty(
          fc.anything({ withNullPrototype: true, withBigInt: true }),
          (value) => isHarmless(sceneOf(value), "anything")
        ),
        { numRuns: 100 }
      )
    })
  }

  it("leaves no unhandled rejection", () => {
    assert.deepStrictEqual(Array.from(new Set(rejections)), [])
  })
})
