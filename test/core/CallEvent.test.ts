import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  Dispatch,
  Observer,
  Policy,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import * as CallEvent from "@fallible/core/CallEvent"
import * as CallFacts from "@fallible/core/CallFacts"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import * as Deadline from "@fallible/core/Deadline"
import * as RetryBudget from "@fallible/core/RetryBudget"
import * as ToolHealth from "@fallible/core/ToolHealth"
import * as ToolOutcome from "@fallible/core/ToolOutcome"
import { ScriptedModel } from "@fallible/testing"
import { Duration, Effect, Layer, Logger, Schedule, Schema, Stream } from "effect"
import * as Breaker from "effect/persistence/CircuitBreaker"
import { TestClock } from "effect/testing"
import { recordCall } from "../../packages/core/src/internal/dispatch/recordCalls.ts"
import { after, doing, paris, refused, sunny } from "../support/sequence.ts"
import { passing } from "../support/virtualTime.ts"

/** Returns the events that an observer of a run gets, without the fields that all events share. */
const eventsOf = <A, E, R>(run: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const events: Array<CallEvent.Watched> = []
    return Effect.as(
      passing(Effect.exit(Observer.observe(run, { onEvent: (event) => events.push(event) }))),
      events
    )
  })

const tags = (events: ReadonlyArray<CallEvent.Watched>) =>
  events.map(({ at, _tag, attempt }) => `${at} ${attempt} ${_tag}`)

const twice = Schedule.upTo(Schedule.spaced("1 second"), { times: 2 })

/** Makes a tool whose nth execution ends with the nth end. Later ones use the last end. */
const tool = (
  ends: readonly [
    Effect.Effect<string, ToolUnavailable | SemanticGarbage>,
    ...ReadonlyArray<Effect.Effect<string, ToolUnavailable | SemanticGarbage>>
  ],
  name = "get_weather"
) => {
  let ran = 0
  return doing(Effect.suspend(() => ends[ran++] ?? ends.at(-1)!), "none", name)
}

const breaker = Breaker.layer({ tripPolicy: Breaker.consecutive(2), openDuration: "30 seconds" }).pipe(
  Layer.provide(Breaker.layerStoreMemory())
)

describe("a call's events", () => {
  it.effect("include attempts, handled failures and waits, each with its time and attempt", () =>
    Effect.gen(function*() {
      const events = yield* eventsOf(tool([Effect.fail(refused), after(500, sunny)]).pipe(Tool.retry(twice)).run(paris))
      assert.deepStrictEqual(tags(events), [
        "0 1 AttemptStarted",
        "0 1 AttemptEnded",
        "0 1 FailureHandled",
        "0 1 WaitStarted",
        "1000 1 WaitEnded",
        "1000 2 AttemptStarted",
        "1500 2 AttemptEnded"
      ])
      assert.deepInclude(events[2], { tool: "get_weather", code: "connection", by: "retry" })
      assert.deepInclude(events[2], { retry: { number: 1, wait: Duration.seconds(1) } })
      assert.deepInclude(events[4], { by: "retry", wait: Duration.seconds(1) })
    }))

  it.effect("say how an attempt ended", () =>
    Effect.gen(function*() {
      const ends: Array<unknown> = []
      for (const end of [sunny, Effect.fail(refused), Effect.die("no rows"), Effect.never]) {
        const events = yield* eventsOf(doing(end).pipe(Tool.timeout("1 second")).run(paris))
        ends.push(...events.flatMap((event) => event._tag === "AttemptEnded" ? [[event.end, event.code]] : []))
      }
      assert.deepStrictEqual(ends, [
        ["succeeded", undefined],
        ["failed", "connection"],
        ["died", undefined],
        ["interrupted", undefined]
      ])
    }))

  it.effect("include the abandonment of an attempt, and nothing of it afterwards", () =>
    Effect.gen(function*() {
      const late = doing(
        Effect.uninterruptible(Effect.andThen(Effect.sleep("5 seconds"), ToolCall.caveat("too late"))).pipe(
          Effect.as("sunny")
        )
      )
      const events: Array<CallEvent.Watched> = []
      const run = late.pipe(Tool.timeout("1 second")).run(paris)
      yield* Effect.forkChild(Observer.observe(Effect.exit(run), { onEvent: (event) => events.push(event) }))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(tags(events), ["0 1 AttemptStarted", "1000 1 AttemptAbandoned"])
    }))

  const unsafe = new ToolUnavailable({ ...refused, outcome: "unknown" })
  const refusals: ReadonlyArray<readonly [why: string, run: Effect.Effect<unknown, unknown>]> = [
    ["schedule", tool([Effect.fail(refused)]).pipe(Tool.retry(Schedule.recurs(0))).run(paris)],
    ["deadline", Deadline.within(tool([Effect.fail(refused)]).pipe(Tool.retry(twice)).run(paris), "500 millis")],
    [
      "retry_budget",
      tool([Effect.fail(refused)]).pipe(Tool.retry(twice)).run(paris).pipe(
        Effect.provideService(RetryBudget.current, RetryBudget.make({ minPerSecond: 0 }))
      )
    ],
    [
      "may_have_acted",
      doing(Effect.fail(unsafe), "non_idempotent").pipe(Tool.mapFailure(() => refused), Tool.retry(twice)).run(paris)
    ]
  ]
  for (const [why, run] of refusals) {
    it.effect(`say why a retryable failure is not retried: ${why}`, () =>
      Effect.gen(function*() {
        const events = yield* eventsOf(run)
        const refused = events.flatMap((event) =>
          event._tag === "RetryRefused" ? [[event.by, event.code, event.why]] : []
        )
        assert.deepStrictEqual(refused, [["retry", "connection", why]])
      }))
  }

  it.effect("do not mention retries of a failure that is not retryable", () =>
    Effect.gen(function*() {
      const unknown = new SemanticGarbage({ code: "unknown_city", detail: "Unknown city." })
      const events = yield* eventsOf(tool([Effect.fail(unknown)]).pipe(Tool.retry(twice)).run(paris))
      assert.deepStrictEqual(tags(events), ["0 1 AttemptStarted", "0 1 AttemptEnded"])
    }))

  it.effect("name the policy that refused a call before it ran", () =>
    Effect.gen(function*() {
      const limited = doing(Effect.sleep("1 second").pipe(Effect.as("sunny"))).pipe(Tool.concurrency(1, { maxWait: 0 }))
      const both = Effect.all([limited.run(paris), Effect.exit(limited.run(paris))], { concurrency: 2 })
      const events = yield* eventsOf(both)
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "CallRefused" ? [[event.by, event.code, event.attempt]] : []),
        [["concurrency", "bulkhead_full", 0]]
      )
    }))

  it.effect("report that a circuit opens, is probed and closes", () =>
    Effect.gen(function*() {
      const breaking = tool([Effect.fail(refused), Effect.fail(refused), Effect.fail(refused), sunny]).pipe(
        CircuitBreaker.protect({ key: "weather" })
      )
      const seen: Array<string> = []
      const run = Effect.exit(breaking.run(paris)).pipe(
        Observer.observe({
          onEvent: (event) => {
            if (event._tag === "CircuitChanged") seen.push(`${event.at} ${event.circuit}: ${event.from} to ${event.to}`)
            if (event._tag === "CallRefused") seen.push(`${event.at} ${event.by} refuses: ${event.code}`)
          }
        })
      )
      yield* Effect.replicateEffect(run, 3)
      yield* TestClock.adjust("30 seconds")
      yield* run
      yield* TestClock.adjust("5 minutes")
      yield* Effect.replicateEffect(run, 2)
      assert.deepStrictEqual(seen, [
        "0 weather: closed to open",
        "0 breaker refuses: circuit_open",
        "30000 weather: open to half_open",
        "30000 weather: half_open to open",
        "330000 weather: open to half_open",
        "330000 weather: half_open to closed"
      ])
    }).pipe(
      Effect.provide(breaker)
    ))

  describe("report about a circuit", () => {
    const changes = (events: ReadonlyArray<CallEvent.Watched>) =>
      events.flatMap((event) => event._tag === "CircuitChanged" ? `${event.from} to ${event.to}` : [])

    it.effect("that it is closed after its tool was enabled by hand", () =>
      Effect.gen(function*() {
        const quote = tool([Effect.fail(refused), Effect.fail(refused), sunny]).pipe(CircuitBreaker.protect())
        const events = yield* eventsOf(
          Effect.gen(function*() {
            yield* Effect.flip(quote.run(paris))
            yield* Effect.flip(quote.run(paris))
            const health = yield* ToolHealth.ToolHealth
            yield* health.disable("get_weather", "Maintenance.")
            yield* health.enable("get_weather")
            yield* quote.run(paris)
          }).pipe(Effect.provide(Layer.merge(breaker, ToolHealth.layer)))
        )
        assert.deepStrictEqual(changes(events), ["closed to open", "open to closed"])
      }))

    it.effect("no changes by calls without an observer", () =>
      Effect.gen(function*() {
        const quote = tool([Effect.fail(refused), Effect.fail(refused), sunny]).pipe(CircuitBreaker.protect())
        const events = yield* eventsOf(
          Effect.gen(function*() {
            yield* Effect.flip(quote.run(paris))
            yield* Effect.flip(quote.run(paris))
            yield* Effect.sleep("31 seconds")
            yield* Observer.observe(quote.run(paris), { onEvent: undefined })
            yield* quote.run(paris)
          }).pipe(Effect.provide(breaker))
        )
        assert.deepStrictEqual(changes(events), ["closed to open"])
      }))

    const stores: Record<string, unknown> = {
      dies: Effect.die("no store"),
      hangs: Effect.never,
      "answers with nonsense": 7
    }
    for (const [does, state] of Object.entries(stores)) {
      it.effect(`nothing if its store ${does}, and the call fails as without an observer`, () =>
        passing(Effect.gen(function*() {
          const broken = Layer.effect(
            Breaker.CircuitBreaker,
            Effect.map(Breaker.CircuitBreaker, (breaker) => ({ ...breaker, state: () => state as never }))
          ).pipe(Layer.provide(breaker))
          const quote = tool([Effect.fail(refused)]).pipe(CircuitBreaker.protect())
          const failure = yield* Effect.flip(quote.run(paris)).pipe(
            Observer.observe({ onEvent: () => {} }),
            Effect.provide(broken)
          )
          assert.strictEqual(failure.code, "connection")
        })))
    }
  })

  it.effect("report the real duration of a wait, even if it was cut short", () =>
    Effect.gen(function*() {
      const slow = tool([Effect.fail(refused)]).pipe(Tool.retry(Schedule.spaced("10 seconds")))
      const impatient = Policy.make({
        kind: "custom",
        name: "impatience",
        description: "",
        wrap: (run) => (params) =>
          Effect.timeoutOrElse(run(params), { duration: "4 seconds", orElse: () => Effect.interrupt })
      })
      const events = yield* eventsOf(slow.pipe(Tool.with(impatient)).run(paris))
      const first = events.find((event) => event._tag === "WaitEnded")
      assert.deepInclude(first, { by: "retry", wait: Duration.seconds(4), at: 4000 })
    }))

  it.effect("mark the events of an inner tool", () =>
    Effect.gen(function*() {
      const inner = tool([Effect.fail(refused), sunny], "inner").pipe(Tool.retry(twice))
      const outer = doing(inner.run(paris), "none", "outer")
      const events = yield* eventsOf(outer.run(paris))
      assert.deepStrictEqual(tags(events), [
        "0 1 AttemptStarted",
        "0 1 InnerStarted",
        "0 1 FailureHandled",
        "0 1 WaitStarted",
        "1000 1 WaitEnded",
        "1000 1 InnerStarted",
        "1000 1 AttemptEnded"
      ])
      assert.isTrue(events.slice(1, -1).every((event) => "inside" in event && event.inside === "inner"))
      assert.isTrue(events.every(({ tool }) => tool === "outer"))
    }))

  it.effect("name the innermost tool of nested tools", () =>
    Effect.gen(function*() {
      const innermost = tool([Effect.fail(refused), sunny], "innermost").pipe(Tool.retry(twice))
      const between = doing(innermost.run(paris), "none", "between")
      const events = yield* eventsOf(doing(between.run(paris), "none", "outer").run(paris))
      assert.deepStrictEqual(
        events.flatMap((event) => "inside" in event ? `${event._tag} ${event.inside}` : []),
        ["InnerStarted between", "FailureHandled innermost", "WaitStarted innermost", "WaitEnded innermost"]
      )
    }))

  it.effect("reach an observer that throws, and the call goes on", () =>
    Effect.gen(function*() {
      const reported: Array<string> = []
      const logger = Logger.layer([Logger.make(({ message }) => reported.push(String(message)))])
      const run = doing(sunny).run(paris).pipe(
        Observer.observe({
          onEvent: ({ _tag }) => {
            if (_tag === "AttemptStarted") throw new Error("no watcher")
          }
        }),
        Effect.provide(logger)
      )
      assert.strictEqual(yield* run, "sunny")
      assert.deepStrictEqual(reported, ["An observer of calls threw an error"])
    }))

  it.effect("reach an observer that runs a tool at once, and that call is safe too", () =>
    Effect.gen(function*() {
      let paid = 0
      const pay = doing(
        Effect.sync(() => {
          paid++
          return "paid"
        }),
        "non_idempotent",
        "pay"
      )
      const between = doing(pay.run(paris), "none", "between")
      const notDone = new ToolUnavailable({ ...refused, outcome: "not_executed" })
      const order = doing(Effect.andThen(between.run(paris), Effect.fail(notDone)), "non_idempotent", "order").pipe(
        Tool.retry(Schedule.recurs(2))
      )
      const outer = doing(doing(sunny, "none", "inner").run(paris), "none", "outer")
      const seen: Array<string> = []
      yield* outer.run(paris).pipe(Observer.observe({
        onEvent: ({ _tag, tool }) => {
          seen.push(`${tool} ${_tag}`)
          if (tool === "outer" && _tag === "InnerStarted") Effect.runSync(Effect.flip(order.run(paris)))
        }
      }))
      assert.strictEqual(paid, 1)
      assert.deepStrictEqual(seen.slice(-2), ["outer InnerStarted", "outer AttemptEnded"])
    }))

  it.effect("pass an observer in this process the failure with its cause, which no event contains", () =>
    Effect.gen(function*() {
      const cause = new Error("ECONNREFUSED")
      const lost = doing(Effect.fail(new ToolUnavailable({ ...refused, cause }))).pipe(Tool.fallback(() => sunny))
      const causes: Array<unknown> = []
      const texts: Array<string> = []
      yield* lost.run(paris).pipe(Observer.observe({
        onEvent: (event, failure) => {
          if (event._tag === "FailureHandled") causes.push(failure?.cause)
          texts.push(JSON.stringify(event))
        }
      }))
      assert.deepStrictEqual(causes, [cause])
      assert.isFalse(texts.some((text) => text.includes("ECONNREFUSED")))
    }))
})

describe("attempts", () => {
  const down = (name: string) => tool([Effect.fail(refused)], name).pipe(Tool.retry(twice))
  const sources = () => down("database").pipe(Tool.fallback(down("api").run, { name: "api" }))
  const call = (tool: Tool.Tool<string, typeof paris, string, ToolUnavailable | SemanticGarbage>) =>
    passing(Dispatch.call(Toolkit.make(tool), { id: "1", name: tool.name, arguments: JSON.stringify(paris) }, {
      facts: CallFacts.empty
    }))

  it.effect("are counted over all sources, separately from the executions that limit repetition", () =>
    Effect.gen(function*() {
      const tool = sources()
      const outcome = yield* call(tool)
      assert.deepInclude(outcome, { attempts: 6, executions: 3 })
      assert.strictEqual(ToolOutcome.executions(outcome), 3)
      const facts = recordCall(CallFacts.empty, outcome, tool)
      assert.deepStrictEqual(Array.from(facts.intents, ([, { failed }]) => failed?.executions), [3])
    }))

  it.effect("of failures are numbered over all sources", () =>
    Effect.gen(function*() {
      const events = yield* eventsOf(sources().run(paris))
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "FailureHandled" ? [`${event.attempt} ${event.by}`] : []),
        ["1 retry", "2 retry", "3 fallback", "4 retry", "5 retry"]
      )
    }))

  it.effect("of a chain count each source", () =>
    Effect.gen(function*() {
      const chain = down("a").pipe(Tool.fallback(down("b").pipe(Tool.fallback(down("c").run)).run))
      assert.deepInclude(yield* call(chain), { attempts: 9, executions: 3 })
    }))

  it.effect("of a call that asks twice add up, separately from its executions", () =>
    Effect.gen(function*() {
      const asking = Tool.make(
        "mirror",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => Effect.andThen(ToolCall.ask("This one?"), ToolCall.ask("That one?"))
      )
      const suspended = (tool: Tool.Tool<string, typeof paris, string>) =>
        Effect.gen(function*() {
          const agent = Agent.make({ toolkit: Toolkit.make(tool) })
          const first = yield* Effect.flip(agent.run("Go"))
          if (first._tag !== "RunSuspended") return assert.fail(first._tag)
          const second = yield* Effect.flip(agent.resume(first.suspension, "no"))
          if (second._tag !== "RunSuspended") return assert.fail(second._tag)
          const [outcome] = second.suspension.outcomes
          return outcome
        }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("get_weather", paris)])))
      const counted = yield* suspended(
        tool([Effect.fail(refused)]).pipe(
          Tool.catchTag(["ToolUnavailable", "SemanticGarbage"], () => asking.run({}))
        )
      )
      assert.strictEqual(counted?.attempts, 4)
      assert.strictEqual(counted?.executions, 2)
      const plain = yield* suspended(doing(Effect.andThen(ToolCall.ask("This one?"), ToolCall.ask("That one?"))))
      assert.strictEqual(plain?.attempts, 2)
      assert.notProperty(plain, "executions")
    }))

  it.effect("do not include a tool that a handler runs", () =>
    Effect.gen(function*() {
      const inner = tool([sunny], "inner")
      const outer = doing(Effect.andThen(inner.run(paris), inner.run(paris)))
      const outcome = yield* call(outer)
      assert.strictEqual(outcome.attempts, 1)
      assert.notProperty(outcome, "executions")
    }))
})

describe("an agent's events", () => {
  const flaky = () => tool([Effect.fail(refused), sunny]).pipe(Tool.retry(twice), Tool.timeout("1 minute"))
  const events = (script: Parameters<typeof ScriptedModel.layer>[0], limits = {}) => {
    const agent = Agent.make({ toolkit: Toolkit.make(flaky()), limits })
    const seen: Array<AgentEvent.AgentEvent> = []
    const run = Stream.runForEach(agent.stream("?"), (event) => Effect.sync(() => seen.push(event)))
    return Effect.as(passing(Effect.exit(Effect.provide(run, ScriptedModel.layer(script)))), seen)
  }
  const script = [ScriptedModel.call("get_weather", paris), ScriptedModel.text("Sunny.")]

  it.effect("C10 include the events of a call, with its position, time and attempt", () =>
    Effect.gen(function*() {
      const inCall = (yield* events(script)).filter((event) => "attempt" in event)
      assert.deepStrictEqual(inCall.map((event) => `${event.at} ${event.turn} ${event.attempt} ${event._tag}`), [
        "0 1 1 AttemptStarted",
        "0 1 1 AttemptEnded",
        "0 1 1 FailureHandled",
        "0 1 1 WaitStarted",
        "1000 1 1 WaitEnded",
        "1000 1 2 AttemptStarted",
        "1000 1 2 AttemptEnded"
      ])
    }))

  it.effect("also reach an observer of calls", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const agent = Agent.make({ toolkit: Toolkit.make(doing(sunny)) })
      const inStream = yield* agent.stream("Go").pipe(
        Stream.filter(({ _tag }) => _tag.startsWith("Attempt")),
        Stream.runCollect,
        Observer.observe({ onEvent: ({ _tag }) => seen.push(_tag) }),
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("get_weather", paris), ScriptedModel.text("done")]))
      )
      assert.deepStrictEqual(seen, ["AttemptStarted", "AttemptEnded"])
      assert.deepStrictEqual(inStream.map(({ _tag }) => _tag), seen)
    }))

  it.effect("C10 report a limit that ends the run", () =>
    Effect.gen(function*() {
      const seen = yield* events(script, { turns: 1 })
      assert.deepInclude(seen.at(-1), { _tag: "LimitReached", at: 1000, turn: 2, limit: "turns" })
      assert.match(seen.at(-1)?.run ?? "", /^run-/)
      assert.strictEqual(new Set(seen.map(({ run }) => run)).size, 1)
    }))

  it.effect("C10 report a call that the run refuses", () =>
    Effect.gen(function*() {
      const twoCalls = ScriptedModel.calls(["get_weather", paris], ["get_weather", paris])
      const seen = yield* events([twoCalls, ScriptedModel.text("done")], { calls: 1 })
      const refused = seen.flatMap((event) => event._tag === "CallRefused" ? [[event.index, event.by, event.code]] : [])
      assert.deepStrictEqual(refused, [[2, undefined, "call_limit"]])
    }))

  it.effect("round-trip through JSON by their schema", () =>
    Effect.gen(function*() {
      const seen = yield* events(script)
      for (const event of seen) {
        const text = JSON.stringify(Schema.encodeSync(AgentEvent.schema)(event))
        const back = Schema.decodeUnknownSync(AgentEvent.schema)(JSON.parse(text))
        assert.strictEqual(back._tag, event._tag)
        assert.strictEqual(JSON.stringify(Schema.encodeSync(AgentEvent.schema)(back)), text)
      }
      assert.isAbove(seen.length, 10)
    }))

  it.effect("encode as JSON, whatever a policy reports about its waits and retries", () =>
    Effect.gen(function*() {
      const patient = Policy.make({
        kind: "custom",
        name: "patient",
        description: "",
        wrap: (run, _, call) => (params) =>
          Effect.catch(run(params), (failure) =>
            Effect.andThen(
              call.again(failure, { number: 1, limit: Infinity, wait: Duration.infinity }),
              Effect.andThen(call.waiting(Effect.sleep("1 second"), Duration.infinity), run(params))
            ))
      })
      const events = yield* eventsOf(tool([Effect.fail(refused), sunny]).pipe(Tool.with(patient)).run(paris))
      const handled = events.find(({ _tag }) => _tag === "FailureHandled")
      assert.deepStrictEqual<unknown>(handled, {
        _tag: "FailureHandled",
        tag: "ToolUnavailable",
        code: "connection",
        detail: "Refused.",
        by: "custom",
        policy: "patient",
        retry: { number: 1 },
        tool: "get_weather",
        id: handled?.id,
        at: 0,
        attempt: 1
      })
      for (const event of events) {
        const text = JSON.stringify(Schema.encodeSync(CallEvent.schema)(event))
        const { at: _, attempt: __, id: ___, tool: ____, ...bare } = event
        assert.deepStrictEqual<unknown>(Schema.decodeUnknownSync(CallEvent.schema)(JSON.parse(text)), bare)
      }
    }))
})
