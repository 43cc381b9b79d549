import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentFailure,
  Model,
  ModelFailure,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import * as ClientEvent from "@fallible/core/ClientEvent"
import type * as Limits from "@fallible/core/Limits"
import { ScriptedModel } from "@fallible/testing"
import { Duration, Effect, Random, Schedule, Schema, Stream } from "effect"
import { passing } from "../support/virtualTime.ts"

const City = Schema.Struct({ city: Schema.String })
const refused = new ToolUnavailable({ code: "connection", detail: "connect ECONNREFUSED 10.9.8.7:80", transient: true })

const weather = (handler: (city: string) => Effect.Effect<string, ToolUnavailable | SemanticGarbage>) =>
  Tool.make(
    "get_weather",
    { description: "Weather", parameters: City, success: Schema.String, sideEffect: "none" },
    ({ city }) => handler(city)
  )

const askingSize = Tool.make(
  "order_shirt",
  { description: "Orders a shirt", success: Schema.String, sideEffect: "none" },
  () => ToolCall.ask("Which size?")
)

const stopping = Tool.make(
  "check",
  { description: "Checks", success: Schema.String, sideEffect: "none" },
  () => ToolCall.stop("internal reason")
)

const instructions = "Never tell anybody the password 'swordfish'."

/** Runs an agent, and returns its events as its clients get them. */
const seen = <T extends Tool.Any>(
  tool: T,
  script: ScriptedModel.Script,
  { limits = {}, options, question = "?" }: {
    readonly options?: AgentEvent.ForClients
    readonly limits?: Limits.Limits
    readonly question?: string
  } = {}
) =>
  Agent.make({ instructions, toolkit: Toolkit.make(tool), limits }).stream(question).pipe(
    AgentEvent.forClients(options),
    Stream.runCollect,
    passing,
    // The same ids in all runs.
    Random.withSeed("clients"),
    Effect.provide(ScriptedModel.layer(script))
  )

/** The events as they go over a network. */
const sent = (events: ReadonlyArray<ClientEvent.ClientEvent>): string =>
  JSON.stringify(Schema.encodeSync(Schema.Array(ClientEvent.schema))(events))

const tagsOf = (events: ReadonlyArray<ClientEvent.ClientEvent>) => events.map(({ _tag }) => _tag)

const called = ScriptedModel.call("get_weather", { city: "a private city" })
const script = [
  { ...called, native: { provider: "native secret" }, usage: { inputTokens: 4711, outputTokens: 1 } },
  ScriptedModel.text("It is warm.")
]

describe("AgentEvent.forClients", () => {
  it.effect("keeps the system prompt, arguments, results, addresses and the provider's own fields on the server", () =>
    Effect.gen(function*() {
      let asked = 0
      const tool = weather(() => asked++ === 0 ? Effect.fail(refused) : Effect.succeed("a private result")).pipe(
        Tool.retry(Schedule.upTo(Schedule.spaced("1 second"), { times: 2 }))
      )
      const events = yield* seen(tool, script)
      assert.deepStrictEqual(tagsOf(events), [
        "TurnStarted",
        "ModelReplied",
        "CallStarted",
        "FailureHandled",
        "CallEnded",
        "TurnStarted",
        "TextDelta",
        "ModelReplied",
        "RunEnded"
      ])
      assert.notMatch(sent(events), /swordfish|private|10\.9\.8\.7|native|4711|call_1|transcript|report|facts/)
      const [, , , handled, ended] = events
      assert.deepInclude(handled, { tool: "get_weather", error: "ToolUnavailable", code: "connection", by: "retry" })
      assert.deepInclude(handled, { attempt: 1, wait: Duration.seconds(1) })
      assert.deepInclude(ended, { index: 1, tool: "get_weather", outcome: "completed", attempts: 2 })
      assert.deepInclude(events.at(-1), { text: "It is warm.", truncated: false })
    }))

  it.effect("shows arguments, results, notes and details of the named tools", () =>
    Effect.gen(function*() {
      const tool = weather(() => Effect.fail(refused)).pipe(
        Tool.fallback(() => Effect.as(ToolCall.caveat("from the almanac"), "mild"))
      )
      const shown = yield* seen(tool, script, { options: { arguments: ["get_weather"], results: ["get_weather"] } })
      const at = (tag: ClientEvent.ClientEvent["_tag"]) => shown.find(({ _tag }) => _tag === tag)
      assert.deepInclude(at("CallStarted"), { arguments: "{\"city\":\"a private city\"}" })
      assert.deepInclude(at("FailureHandled"), { by: "fallback", detail: refused.detail })
      assert.deepInclude(at("CallEnded"), { value: "mild", notes: ["from the almanac"] })
      const others = yield* seen(tool, script, { options: { arguments: ["other"], results: ["other"] } })
      assert.notMatch(sent(others), /private|almanac|mild|10\.9/)
      const all = yield* seen(tool, script, { options: { arguments: true, results: true } })
      const timeless = (events: ReadonlyArray<ClientEvent.ClientEvent>) => events.map((event) => ({ ...event, at: 0 }))
      assert.deepStrictEqual(timeless(all), timeless(shown))
    }))

  it.effect("shows the class and the code of a failed call, and its detail only if asked for", () =>
    Effect.gen(function*() {
      const tool = weather((city) => Effect.fail(new SemanticGarbage({ code: "unknown_city", detail: `No ${city}.` })))
      const events = yield* seen(tool, script)
      const ended = events.find(({ _tag }) => _tag === "CallEnded")
      assert.deepInclude(ended, { outcome: "failed", error: "SemanticGarbage", code: "unknown_city" })
      assert.notMatch(sent(events), /private/)
      const shown = yield* seen(tool, script, { options: { results: true } })
      assert.deepInclude(shown.find(({ _tag }) => _tag === "CallEnded"), { detail: "No a private city." })
    }))

  it.effect("says whether a call took effect", () =>
    Effect.gen(function*() {
      const paying = (handler: Effect.Effect<string, ToolUnavailable | SemanticGarbage>) =>
        Tool.make("pay", { description: "Pays", success: Schema.String }, () => handler)
      const pay = [ScriptedModel.call("pay"), ScriptedModel.text("Well.")]
      const lost = new ToolUnavailable({ code: "connection", detail: "Lost.", transient: true })
      const ends = [
        [Effect.succeed("paid"), "completed", "executed"],
        [Effect.fail(lost), "failed", "unknown"],
        [ToolCall.refuse("No."), "failed", "not_executed"]
      ] as const
      for (const [handler, outcome, certainty] of ends) {
        const ended = (yield* seen(paying(handler), pay)).find(({ _tag }) => _tag === "CallEnded")
        assert.deepInclude(ended, { outcome, certainty })
      }
      const asked = yield* seen(askingSize, [ScriptedModel.call("order_shirt")])
      assert.deepInclude(asked.find(({ _tag }) => _tag === "CallEnded"), {
        outcome: "suspended",
        certainty: "not_executed"
      })
    }))

  it.effect("says that a call which is not run again has taken effect", () =>
    Effect.gen(function*() {
      const pay = Tool.make("pay", { description: "Pays", success: Schema.String, repeats: false }, () =>
        Effect.succeed("paid"))
      const called = ScriptedModel.call("pay")
      const events = yield* seen(pay, [called, called, ScriptedModel.text("Paid.")])
      const ends = events.flatMap((event) =>
        event._tag === "CallEnded" ? [[event.code, event.certainty]] : []
      )
      assert.deepStrictEqual(ends, [[undefined, "executed"], ["already_done", "executed"]])
    }))

  it.effect("says which call shares the outcome of an equal one", () =>
    Effect.gen(function*() {
      let paid = 0
      const tool = Tool.make("pay", { description: "Pays", success: Schema.String }, () =>
        Effect.sync(() =>
          `payment ${++paid}`
        ))
      const twice = [ScriptedModel.call("pay"), ScriptedModel.call("pay")].flatMap(({ calls }) => calls)
      const calls = twice.map((call, index) => ({ ...call, id: `call_${index}` }))
      const events = yield* seen(tool, [{ text: "", calls }, ScriptedModel.text("Done.")], {
        options: { results: true }
      })
      const ends = events.flatMap((event) => event._tag === "CallEnded" ? [event] : [])
      assert.deepStrictEqual(
        ends.map(({ certainty, joined, value }) => ({ certainty, joined, value })),
        [
          { certainty: "executed", joined: undefined, value: "payment 1" },
          { certainty: "executed", joined: true, value: "payment 1" }
        ]
      )
      assert.strictEqual(paid, 1)
    }))

  it.effect("shows a retry of the model by its code, without the address of its server", () =>
    Effect.gen(function*() {
      const down = new ModelFailure({ code: "connection", detail: "connect 10.9.8.7:11434", transient: true })
      const events = yield* seen(weather(Effect.succeed), (_, index) =>
        index === 0 ? Effect.fail(down) : ScriptedModel.text("Hi."))
      assert.deepInclude(
        events.find(({ _tag }) =>
          _tag === "ModelRetried"
        ),
        { attempt: 1, code: "connection" }
      )
      assert.notMatch(sent(events), /10\.9/)
    }))

  it.effect("cuts a name that a model invents", () =>
    Effect.gen(function*() {
      const events = yield* seen(weather(Effect.succeed), [
        ScriptedModel.call("x\u0007\n".repeat(500)),
        ScriptedModel.text("Hi.")
      ])
      const started = events.find(({ _tag }) => _tag === "CallStarted")
      assert.isTrue(started?._tag === "CallStarted" && started.tool.length <= 120 && !/\p{Cc}/u.test(started.tool))
    }))

  it.effect("decodes to the same events", () =>
    Effect.gen(function*() {
      const events = yield* seen(askingSize, [ScriptedModel.call("order_shirt")], { options: { results: true } })
      const decode = Schema.decodeUnknownSync(Schema.Array(ClientEvent.schema))
      assert.deepStrictEqual(decode(JSON.parse(sent(events))), events)
    }))
})

describe("what an inner tool said", () => {
  const lookUp = Tool.make(
    "private_lookup",
    { description: "Looks up", success: Schema.String, sideEffect: "none" },
    () => Effect.fail(refused)
  ).pipe(Tool.retry(Schedule.upTo(Schedule.spaced("1 second"), { times: 1 })))

  it.effect("is shown only if the inner tool's own results may be", () =>
    Effect.gen(function*() {
      const tool = weather(() => Effect.orElseSucceed(lookUp.run({}), () => "unknown"))
      const handled = (results: ReadonlyArray<string>) =>
        Effect.map(seen(tool, script, { options: { results } }), (events) =>
          events.flatMap((event) => event._tag === "FailureHandled" ? [event.detail] : []))
      assert.deepStrictEqual(yield* handled(["get_weather"]), [undefined])
      assert.deepStrictEqual(yield* handled(["private_lookup"]), [refused.detail])
    }))
})

describe("what a handler or JavaScript makes up", () => {
  it.effect("is cut, if it is a code", () =>
    Effect.gen(function*() {
      const tool = weather(() => Effect.fail(new SemanticGarbage({ code: "x\u202e".repeat(9_000), detail: "No." })))
      const ended = (yield* seen(tool, script)).find(({ _tag }) => _tag === "CallEnded")
      assert.isTrue(ended?._tag === "CallEnded" && ended.code!.length <= 100 && !/[\p{Cc}\p{Cf}]/u.test(ended.code!))
    }))

  it.effect("permits nothing, if it is a text in place of a list", () =>
    Effect.gen(function*() {
      const untyped = { results: "get_weather_and_more" } as unknown as AgentEvent.ForClients
      assert.notInclude(sent(yield* seen(weather(() => Effect.succeed("mild")), script, { options: untyped })), "mild")
    }))
})

describe("a run without an answer", () => {
  it.effect("ends with RunFailed and the question, if a tool asked the user", () =>
    Effect.gen(function*() {
      const events = yield* seen(askingSize, [ScriptedModel.call("order_shirt")])
      const [started] = events
      assert.deepInclude(events.at(-2), { outcome: "suspended" })
      const waiting = events.at(-1)
      if (waiting?._tag !== "RunSuspended") return assert.fail(waiting?._tag)
      assert.deepInclude(waiting, { run: started?.run ?? "", at: 0 })
      assert.deepStrictEqual(waiting.questions.map(({ kind, text, tool }) => [kind, text, tool]), [
        ["reply", "Which size?", "order_shirt"]
      ])
    }))

  it.effect("says that a limit was reached", () =>
    Effect.gen(function*() {
      const events = yield* seen(weather(Effect.succeed), () => called, { limits: { turns: 2 } })
      assert.deepStrictEqual(tagsOf(events).slice(-2), ["LimitReached", "RunFailed"])
      assert.deepInclude(events.at(-1), { failure: "LimitReached" })
    }))

  it.effect("keeps the reason of a hard stop on the server", () =>
    Effect.gen(function*() {
      const events = yield* seen(stopping, [ScriptedModel.call("check")])
      assert.deepInclude(events.at(-1), { failure: "RunStopped", message: "A tool stopped the run." })
      assert.notMatch(sent(events), /internal reason/)
    }))

  it.effect("says when to ask again, if the model asked for a wait", () =>
    Effect.gen(function*() {
      const busy = new ModelFailure({
        code: "rate_limited",
        detail: "Busy at 10.9.8.7.",
        transient: true,
        attempts: 3,
        retryAfter: Duration.hours(1)
      })
      const events = yield* seen(weather(Effect.succeed), () => Effect.fail(busy))
      assert.deepInclude(events.at(-1), {
        _tag: "RunPostponed",
        message: "The model is busy. Ask again in 1h.",
        retryAfter: Duration.hours(1)
      })
      assert.notMatch(sent(events), /10\.9/)
    }))

  it.effect("names no absurd wait", () =>
    Effect.gen(function*() {
      const busy = new ModelFailure({
        code: "rate_limited",
        detail: "Busy.",
        transient: true,
        attempts: 3,
        retryAfter: Duration.millis(1e300)
      })
      const events = yield* seen(weather(Effect.succeed), () => Effect.fail(busy))
      assert.deepInclude(events.at(-1), { message: "The model is not available." })
    }))

  it.effect("has no id, if the run was refused before its first event", () =>
    Effect.gen(function*() {
      const events = yield* Stream.runCollect(AgentEvent.forClients(Stream.fail(
        new AgentFailure.RunRefused({
          detail: "The question is not a text.",
          issues: [],
          ...(yield* emptyProgress)
        })
      )))
      assert.deepStrictEqual(events, [
        { _tag: "RunFailed", at: 0, failure: "RunRefused", message: "The request is not valid." }
      ])
    }))
})

/** The progress of a run that has not begun. */
const emptyProgress = Effect.map(
  Effect.flip(
    Agent.make({ toolkit: Toolkit.empty, limits: { turns: 1 } }).run("?").pipe(
      Effect.provide(
        Model.layer({ respond: () => Effect.fail(new ModelFailure({ code: "x", detail: "x", transient: false })) })
      )
    )
  ),
  ({ facts, report, transcript }) => ({ facts, report, transcript })
)
