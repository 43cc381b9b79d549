import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentFailure, Dispatch, Model, Tool, ToolCall, Toolkit, Transcript } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import * as Answer from "@fallible/core/Answer"
import * as Journal from "@fallible/core/Journal"
import * as LastKnown from "@fallible/core/LastKnown"
import * as Rendering from "@fallible/core/Rendering"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Option, Redacted, Schema, Stream } from "effect"
import { inspect } from "node:util"
import { FileJournal } from "../support/fileJournal.ts"
import { asRun } from "../support/streamedRun.ts"

const pin = "hunter2"
const args = { user: "ada", pin }
const shown = "{\"user\":\"ada\",\"pin\":\"<redacted>\"}"

const Login = Schema.Struct({ user: Schema.String, pin: Schema.Redacted(Schema.String) })

/** A tool that takes a secret, and the secrets that its handler got. */
const login = () => {
  const got: Array<string> = []
  const tool = Tool.make("log_in", {
    description: "Logs in",
    parameters: Login,
    success: Schema.String,
    sideEffect: "none"
  }, ({ pin }) => Effect.sync(() => `Welcome ${got.push(Redacted.value(pin))}`))
  return { got, tool, agent: Agent.make({ toolkit: Toolkit.make(tool) }) }
}

const native = { text: JSON.stringify(args) }

const script = (written: object | string = args) => [
  { ...ScriptedModel.call("log_in", written), native },
  ScriptedModel.text("Done.")
]

const eventsOf = (written?: object | string) =>
  login().agent.stream("?").pipe(Stream.provide(ScriptedModel.layer(script(written))), Stream.runCollect)

const answerOf = () => Effect.provide(login().agent.run("?"), ScriptedModel.layer(script()))

describe("a secret in the arguments of a call", () => {
  it.effect("is masked in each event", () =>
    Effect.gen(function*() {
      const events = yield* eventsOf()
      for (const event of events) {
        assert.notInclude(inspect(event, { depth: Infinity }), pin, event._tag)
        assert.notInclude(JSON.stringify(event), pin, event._tag)
        assert.notInclude(JSON.stringify(Schema.encodeSync(AgentEvent.schema)(event)), pin, event._tag)
      }
      const [replied, started, ended] = ["ModelReplied", "CallStarted", "CallEnded"].map((tag) =>
        events.find(({ _tag }) => _tag === tag)
      )
      const call = { id: "1", name: "log_in", arguments: shown }
      assert.isTrue(replied?._tag === "ModelReplied" && replied.reply.native === undefined)
      assert.deepInclude(started, { call: { ...call, id: started?._tag === "CallStarted" ? started.call.id : "" } })
      assert.isTrue(ended?._tag === "CallEnded" && ended.call.arguments === shown)
    }))

  for (
    const [what, written, seen] of [
      ["masked for clients", args, shown],
      ["masked for clients, if it is of another type", { user: "ada", pin: [pin] }, shown],
      ["masked for clients, if it is in another place", { login: args }, "{\"login\":\"<redacted>\"}"],
      ["masked for clients with the whole text, if that cannot be read", `{"pin":"${pin}`, "<redacted>"]
    ] as const
  ) {
    it.effect(`is ${what}`, () =>
      Effect.gen(function*() {
        const events = yield* Stream.fromIterable(yield* eventsOf(written)).pipe(
          AgentEvent.forClients({ arguments: true, results: true }),
          Stream.runCollect
        )
        const started = events.find(({ _tag }) => _tag === "CallStarted")
        assert.strictEqual(started?._tag === "CallStarted" && started.arguments, seen)
        assert.notInclude(JSON.stringify(events), pin)
      }))
  }

  it.effect("is masked as a whole if no tool has that name, which may be misspelt", () =>
    Effect.gen(function*() {
      const events = yield* login().agent.stream("?").pipe(
        Stream.provide(ScriptedModel.layer([ScriptedModel.call("sign_in", args), ScriptedModel.text("Done.")])),
        Stream.runCollect
      )
      const started = events.find(({ _tag }) => _tag === "CallStarted")
      assert.strictEqual(started?._tag === "CallStarted" && started.call.arguments, "<redacted>")
      assert.notInclude(JSON.stringify(events), args.pin)
    }))

  it.effect("goes to the handler, and back to the model that wrote it", () =>
    Effect.gen(function*() {
      const { agent, got } = login()
      const requests: Array<string> = []
      const replies = script()
      const model = Model.layer({
        respond: ({ transcript }) =>
          Effect.sync(() => {
            requests.push(JSON.stringify(Array.from(transcript)))
            return replies.shift()!
          })
      })
      yield* Effect.provide(agent.run("?"), model)
      assert.deepStrictEqual(got, [pin])
      assert.include(requests[1], pin)
    }))

  it.effect("is masked where a transcript or an answer is shown, and kept where they are stored", () =>
    Effect.gen(function*() {
      const answer = yield* answerOf()
      const { transcript } = answer
      for (
        const text of [
          inspect(transcript, { depth: Infinity }),
          JSON.stringify(transcript),
          JSON.stringify(Schema.encodeSync(Transcript.schema)(Transcript.shown(transcript))),
          inspect(answer, { depth: Infinity }),
          JSON.stringify(answer),
          JSON.stringify(Schema.encodeSync(Answer.schema)(Answer.shown(answer)))
        ]
      ) assert.notInclude(text, pin)
      assert.include(JSON.stringify(transcript), JSON.stringify(shown))
      const stored = JSON.stringify(Schema.encodeSync(Answer.schema)(answer))
      assert.include(stored, pin)
      // What was stored can be shown, too.
      const decoded = Schema.decodeUnknownSync(Answer.schema)(JSON.parse(stored))
      assert.deepStrictEqual(Array.from(decoded.transcript), Array.from(transcript))
      assert.notInclude(inspect(decoded.transcript, { depth: Infinity }), pin)
    }))

  it.effect("is masked in the calls of a loop", () =>
    Effect.gen(function*() {
      const model = ScriptedModel.layer(Array.from({ length: 12 }, () => ScriptedModel.call("log_in", args)))
      const tool = Tool.make("log_in", {
        description: "Logs in",
        parameters: Login,
        success: Schema.String,
        sideEffect: "none"
      }, () => Effect.succeed("Welcome"))
      const run = Agent.make({ toolkit: Toolkit.make(tool) }).run("?")
      const failure = yield* Effect.flip(Effect.provide(run, model))
      assert.strictEqual(failure._tag, "LoopDetected")
      assert.isTrue(failure._tag === "LoopDetected" && failure.calls.every((call) => call.arguments === shown))
      assert.notInclude(JSON.stringify(failure), pin)
    }))

  it.effect("is kept for a call that waits for the user, and masked in its events", () =>
    Effect.gen(function*() {
      const got: Array<string> = []
      const tool = Tool.make("log_in", {
        description: "Logs in",
        parameters: Login,
        success: Schema.String,
        sideEffect: "none"
      }, ({ pin }) => Effect.map(ToolCall.ask("Really?"), (reply) => `${reply} ${got.push(Redacted.value(pin))}`)).pipe(
        Tool.fix(() => ({ user: "ada", pin }))
      )
      const agent = Agent.make({ toolkit: Toolkit.make(tool) })
      const events: Array<AgentEvent.AgentEvent> = []
      const noted = <R>(stream: Stream.Stream<AgentEvent.AgentEvent, AgentFailure.Failed, R>) =>
        asRun(Stream.tap(stream, (event) => Effect.sync(() => events.push(event))))
      const model = ScriptedModel.layer([ScriptedModel.call("log_in", { pin }), ScriptedModel.text("Done.")])
      yield* Effect.gen(function*() {
        const failure = yield* Effect.flip(noted(agent.stream("?")))
        if (failure._tag !== "RunSuspended") return assert.fail(failure._tag)
        const decoded = (stored: string) =>
          Effect.map(
            Schema.decodeUnknownEffect(AgentFailure.schema)(JSON.parse(stored)),
            (failure) => failure._tag === "RunSuspended" ? failure.suspension : assert.fail(failure._tag)
          )
        // Without its secret, the call is another one.
        const masked = yield* decoded(JSON.stringify(failure))
        const refusal = yield* Effect.flip(asRun(agent.resumeStream(masked, "yes")))
        assert.match(refusal.detail, /the call of log_in is not the one that was asked about/)
        const whole = yield* decoded(JSON.stringify(yield* Schema.encodeEffect(AgentFailure.schema)(failure)))
        yield* noted(agent.resumeStream(whole, "yes"))
      }).pipe(Effect.provide(model))
      assert.deepStrictEqual(got, [pin])
      assert.includeMembers(events.map(({ _tag }) => _tag), ["RunSuspended", "RunEnded"])
      assert.notInclude(inspect(events, { depth: Infinity }), pin)
      assert.notInclude(JSON.stringify(events), pin)
    }))

  it.effect("is kept in a journal, whose replay masks it again", () =>
    Effect.gen(function*() {
      const journal = new FileJournal()
      const { agent, got } = login()
      const replay = journal.process((journal) =>
        agent.stream("?", { id: "job-1" }).pipe(
          Stream.provide(ScriptedModel.layer(script())),
          Stream.runCollect,
          Effect.provideService(Journal.current, journal)
        )
      )
      const first = yield* replay
      const second = yield* replay
      if (first === undefined || second === undefined) return assert.fail("stopped")
      yield* first
      const events = yield* second
      assert.include(events.map(({ _tag }) => _tag), "CallEnded")
      assert.deepStrictEqual(got, [pin])
      assert.notInclude(inspect(events, { depth: Infinity }), pin)
    }))

  it.effect("is no key of a last known value", () =>
    Effect.gen(function*() {
      const stored: Array<string> = []
      const tool = Tool.make("log_in", {
        description: "Logs in",
        parameters: Schema.Struct({ user: Schema.String, pin: Schema.String.annotate({ format: "password" }) }),
        success: Schema.String,
        sideEffect: "none"
      }, () => Effect.succeed("Welcome")).pipe(LastKnown.fallback())
      yield* Effect.provideService(tool.run(args), LastKnown.LastKnown, {
        get: () => Effect.succeedNone,
        set: (key) => Effect.sync(() => stored.push(key))
      })
      assert.deepStrictEqual(stored, [])
    }))
})

describe("a secret in a result", () => {
  for (
    const [what, schema, value] of [
      ["a Redacted", Schema.Redacted(Schema.String), Redacted.make(pin)],
      ["a value marked as write-only", Schema.String.annotate({ writeOnly: true }), pin],
      ["a Redacted in an option", Schema.Option(Schema.Redacted(Schema.String)), Option.some(Redacted.make(pin))]
    ] as const
  ) {
    it.effect(`is masked, as ${what}`, () =>
      Effect.gen(function*() {
        const success: Schema.Codec<unknown, unknown> = Schema.Struct({
          user: Schema.NullOr(Schema.String),
          pin: schema
        })
        const tool = Tool.make(
          "get_pin",
          { description: "The pin", success, sideEffect: "none" },
          () => Effect.succeed({ user: null, pin: value })
        )
        const call = { id: "1", name: "get_pin" }
        const outcome = yield* Dispatch.call(Toolkit.make(tool), call)
        const text = Rendering.json(outcome, call)
        assert.notInclude(text, pin)
        assert.include(text, "{\"user\":null,\"pin\":")
        assert.include(text, "\"<redacted>\"")
      }))
  }
})
