import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentFailure,
  Journal,
  Model,
  ModelFailure,
  RetryPolicy,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable,
  Transcript
} from "@fallible/core"
import type { AgentEvent } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Deferred, Effect, Exit, Fiber, Logger, Random, Schedule, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { passing } from "../support/virtualTime.ts"

const ping = Tool.make(
  "ping",
  { description: "Answers", success: Schema.String, sideEffect: "none" },
  () => Effect.succeed("pong")
)
const pinging = Agent.make({ instructions: "Be brief.", toolkit: Toolkit.make(ping) })
const once = [ScriptedModel.call("ping"), ScriptedModel.text("It said pong.")]

const down = new ModelFailure({ code: "server_error", detail: "The model answered 503.", transient: true })
const refused = new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })
const denied = new ModelFailure({ code: "permission_denied", detail: "The key is not valid.", transient: false })

/** A journal that only notes the names of its steps. */
const namingJournal = () => {
  const names: Array<string> = []
  const journal: Journal.Journal = {
    step: (step, effect) => {
      names.push(step.name)
      return effect
    }
  }
  return { journal, names }
}

describe("Agent.run", () => {
  it.effect("sends the history, runs the calls, appends the results, and ends with the text", () =>
    Effect.gen(function*() {
      const answer = yield* pinging.run("Ping!")
      assert.strictEqual(answer.text, "It said pong.")
      assert.deepStrictEqual(Transcript.toArray(answer.transcript), [
        { role: "system", text: "Be brief." },
        { role: "user", text: "Ping!" },
        { role: "assistant", text: "", calls: [{ id: "call_1", name: "ping" }] },
        { role: "tool", callId: "call_1", name: "ping", text: "\"pong\"" },
        { role: "assistant", text: "It said pong.", calls: [] }
      ])
    }).pipe(Effect.provide(ScriptedModel.layer(once))))

  it.effect("E5 retries below the model what is transient, and leaves to the model what needs judgement", () =>
    Effect.gen(function*() {
      const attempts: Array<string> = []
      const find = Tool.make("find", {
        description: "Finds",
        parameters: Schema.Struct({ city: Schema.String }),
        success: Schema.String,
        sideEffect: "none"
      }, ({ city }) =>
        Effect.suspend((): Effect.Effect<string, SemanticGarbage | ToolUnavailable> => {
          attempts.push(city)
          if (attempts.length === 1) return Effect.fail(refused)
          return city === "Paris"
            ? Effect.succeed("found")
            : Effect.fail(new SemanticGarbage({ code: "unknown_city", detail: "Unknown.", alternatives: ["Paris"] }))
        })).pipe(Tool.retry(Schedule.recurs(2)))
      const { ledger } = yield* Effect.provide(
        Agent.make({ toolkit: Toolkit.make(find) }).run("?"),
        ScriptedModel.layer([
          ScriptedModel.call("find", { city: "Pariss" }),
          ScriptedModel.call("find", { city: "Paris" }),
          ScriptedModel.text("done")
        ])
      )
      assert.deepStrictEqual(attempts, ["Pariss", "Pariss", "Paris"])
      assert.deepStrictEqual(ledger.failures.map(({ code, ended }) => [code, ended]), [
        ["connection", "retry"],
        ["unknown_city", "told"]
      ])
    }))

  it.effect("offers the model its tools, with a closed JSON Schema each", () =>
    Effect.gen(function*() {
      yield* pinging.run("Ping!")
      const [request] = yield* (yield* ScriptedModel.ScriptedModel).requests
      assert.deepStrictEqual(request?.tools, [{
        name: "ping",
        description: "Answers",
        parameters: { type: "object", properties: {}, additionalProperties: false }
      }])
    }).pipe(Effect.provide(ScriptedModel.layer(once))))

  it.effect("goes on from an earlier transcript, stored and read back", () =>
    Effect.gen(function*() {
      const first = yield* pinging.run("Ping!")
      const stored = JSON.stringify(yield* Schema.encodeEffect(Transcript.schema)(first.transcript))
      const transcript = yield* Schema.decodeUnknownEffect(Transcript.schema)(JSON.parse(stored))
      const second = yield* pinging.run("And again?", { transcript })
      assert.strictEqual(second.text, "Pong, as before.")
      assert.deepStrictEqual(
        Array.from(second.transcript, ({ role }) => role),
        ["system", "user", "assistant", "tool", "assistant", "user", "assistant"]
      )
      assert.strictEqual(first.transcript.length, 5)
    }).pipe(Effect.provide(ScriptedModel.layer([...once, ScriptedModel.text("Pong, as before.")]))))

  it.effect("asks the model again when its failure is transient", () =>
    Effect.gen(function*() {
      const answer = yield* passing(pinging.run("Ping!"))
      assert.strictEqual(answer.text, "Hello.")
    }).pipe(Effect.provide(ScriptedModel.layer([down, down, ScriptedModel.text("Hello.")]))))

  it.effect("fails with the model's last failure, the transcript and the ledger when the retries are used up", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(passing(pinging.run("Ping!")))
      assert.isTrue(failure instanceof AgentFailure.ModelFailed)
      if (!(failure instanceof AgentFailure.ModelFailed)) return
      assert.deepInclude(failure.failure, { ...down, attempts: 3 })
      assert.strictEqual(failure.transcript.length, 4)
      assert.strictEqual(failure.ledger.turns, 1)
      assert.strictEqual((yield* (yield* ScriptedModel.ScriptedModel).requests).length, 4)
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("ping"), down, down, down]))))

  it.effect("keeps the original error as the cause of its failure and of the model's, after retries, too", () =>
    Effect.gen(function*() {
      const original = new Error("No route to the model.")
      const caused = new ModelFailure({ ...down, cause: original })
      const layer = ScriptedModel.layer([caused, caused, caused])
      const failure = yield* Effect.flip(passing(pinging.run("Ping!"))).pipe(Effect.provide(layer))
      assert.isTrue(failure instanceof AgentFailure.ModelFailed)
      if (!(failure instanceof AgentFailure.ModelFailed)) return
      assert.strictEqual(failure.failure.attempts, 3)
      assert.strictEqual(failure.failure.cause, original)
      assert.strictEqual(failure.cause, original)
      assert.notInclude(JSON.stringify(failure), original.message)
    }))

  it.effect("does not ask the model again when its failure is permanent", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(pinging.run("Ping!"))
      assert.strictEqual(failure.detail, "The key is not valid.")
      assert.strictEqual((yield* (yield* ScriptedModel.ScriptedModel).requests).length, 1)
    }).pipe(Effect.provide(ScriptedModel.layer([denied]))))

  it.effect("never takes an empty reply for an answer, and counts it as a turn", () =>
    Effect.gen(function*() {
      const answer = yield* pinging.run("Ping!")
      assert.strictEqual(answer.text, "Here I am.")
      assert.strictEqual(answer.ledger.turns, 3)
      assert.strictEqual(answer.transcript.length, 3)
    }).pipe(Effect.provide(
      ScriptedModel.layer([ScriptedModel.text(""), ScriptedModel.text(" \n"), ScriptedModel.text("Here I am.")])
    )))

  it.effect("fails when three replies in a row are empty, and never asks more often than its turns allow", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(pinging.run("Ping!"))
      assert.isTrue(failure instanceof AgentFailure.ModelFailed && failure.failure.code === "empty_reply")
      const once = Agent.make({ toolkit: Toolkit.empty, limits: { turns: 1 } })
      assert.strictEqual((yield* Effect.flip(once.run("Ping!")))._tag, "LimitReached")
      assert.strictEqual((yield* (yield* ScriptedModel.ScriptedModel).requests).length, 4)
    }).pipe(Effect.provide(ScriptedModel.layer(() => ScriptedModel.text("")))))

  it.effect("forgives empty replies that do not follow each other", () =>
    Effect.gen(function*() {
      const answer = yield* pinging.run("Ping!")
      assert.strictEqual(answer.text, "done")
      assert.strictEqual(answer.ledger.turns, 6)
    }).pipe(Effect.provide(ScriptedModel.layer([
      ScriptedModel.text(""),
      ScriptedModel.text(""),
      ScriptedModel.call("ping"),
      ScriptedModel.text(""),
      ScriptedModel.text(""),
      ScriptedModel.text("done")
    ]))))

  it.effect("ends typed, with everything so far, when the program behind the model throws", () =>
    Effect.gen(function*() {
      let asked = 0
      const respond = () => {
        if (++asked === 2) throw new TypeError("no such property")
        return Effect.succeed(ScriptedModel.call("ping"))
      }
      const logged: Array<string> = []
      const logger = Logger.make(({ cause, message }) => {
        logged.push(`${String(message)} ${Cause.pretty(cause)}`)
      })
      const failure = yield* Effect.flip(pinging.run("Ping!")).pipe(
        Effect.provide([Model.layer({ respond }), Logger.layer([logger])])
      )
      assert.isTrue(failure instanceof AgentFailure.ModelFailed && failure.failure.code === "defect")
      assert.strictEqual(logged.length, 1)
      assert.include(logged[0], "TypeError: no such property")
      assert.strictEqual(failure.transcript.length, 4)
      assert.notInclude(failure.detail, "no such property")
    }))

  it.effect("tells calls with the same id, or none, apart", () =>
    Effect.gen(function*() {
      const answer = yield* pinging.run("Ping!")
      const ids = Array.from(answer.transcript, (message) => message.role === "tool" ? [message.callId] : []).flat()
      assert.deepStrictEqual(ids, ["a", "a_2", "call_1", "a_1"])
      assert.deepInclude(answer.transcript.at(2), { native: { thinking: "…" } })
    }).pipe(Effect.provide(ScriptedModel.layer([
      { text: "", calls: ["a", "a", "", "a_1"].map((id) => ({ id, name: "ping" })), native: { thinking: "…" } },
      ScriptedModel.text("done")
    ]))))

  it.effect("keeps the text and the provider's own form of a message with calls", () =>
    Effect.gen(function*() {
      const answer = yield* pinging.run("Ping!")
      assert.deepInclude(answer.transcript.at(2), { text: "Let me see.", native: { thinking: "…" } })
    }).pipe(Effect.provide(ScriptedModel.layer([
      { ...ScriptedModel.call("ping"), text: "Let me see.", native: { thinking: "…" } },
      ScriptedModel.text("done")
    ]))))

  it.effect("accounts for every failure, with how it ended", () =>
    Effect.gen(function*() {
      let attempts = 0
      const flaky = Tool.make("flaky", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        ++attempts < 3
          ? Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))
          : Effect.succeed(1)).pipe(Tool.retry(RetryPolicy.transient))
      const picky = Tool.make("picky", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        Effect.fail(new SemanticGarbage({ code: "unknown_entity", detail: "Unknown." })))
      const answer = yield* passing(Agent.make({ toolkit: Toolkit.make(flaky, picky) }).run("Go"))
      const { failures, repairs, ...counts } = answer.ledger
      assert.deepStrictEqual(counts, { turns: 2, calls: 3, inputTokens: 30, outputTokens: 5 })
      assert.deepStrictEqual(repairs, [])
      assert.deepStrictEqual(
        failures.map((entry) =>
          entry.tag === "ModelFailure"
            ? entry
            : `${entry.turn}.${entry.call} ${entry.tool} ${entry.code} ×${entry.attempts} ${entry.ended}`
        ),
        [
          "1.1 flaky connection ×3 retry",
          "1.1 flaky connection ×3 retry",
          "1.2 picky unknown_entity ×1 told",
          "1.3 nobody unknown_tool ×0 told"
        ]
      )
    }).pipe(Effect.provide(ScriptedModel.layer([
      { ...ScriptedModel.calls(["flaky"], ["picky"], ["nobody"]), usage: { inputTokens: 10, outputTokens: 2 } },
      { ...ScriptedModel.text("done"), usage: { inputTokens: 20, outputTokens: 3 } }
    ]))))

  it("refuses a limit of turns that is no whole number from 1", () => {
    for (const turns of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => Agent.make({ toolkit: Toolkit.empty, limits: { turns } }), /whole number from 1/)
    }
  })

  it.effect("runs 2,000 turns without overflowing", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(ping), limits: { turns: 3000 } })
      const answer = yield* agent.run("Ping!")
      assert.strictEqual(answer.ledger.turns, 2001)
      assert.strictEqual(answer.transcript.length, 2 + 2 * 2000)
    }).pipe(Effect.provide(
      ScriptedModel.layer((_, index) => index < 2000 ? ScriptedModel.call("ping") : ScriptedModel.text("done"))
    )))
})

describe("interrupting a run", () => {
  it.effect("interrupts its model call, and releases what that holds", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      let released = false
      const respond = () =>
        Effect.andThen(Deferred.succeed(started, undefined), Effect.never).pipe(
          Effect.onInterrupt(() =>
            Effect.sync(() => {
              released = true
            })
          )
        )
      const fiber = yield* Effect.forkChild(pinging.run("Ping!").pipe(Effect.provide(Model.layer({ respond }))))
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(released)
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
    }))

  it.effect("interrupts all its tools, and releases what they hold, timeouts or not", () =>
    Effect.gen(function*() {
      const started: Array<string> = []
      const released: Array<string> = []
      const all = yield* Deferred.make<void>()
      const holding = (name: string) =>
        Tool.make(name, { description: "", success: Schema.Void, sideEffect: "none" }, () =>
          Effect.acquireUseRelease(
            Effect.sync(() => started.push(name)),
            () => started.length === 3 ? Effect.andThen(Deferred.succeed(all, undefined), Effect.never) : Effect.never,
            () => Effect.sync(() => released.push(name))
          ))
      const toolkit = Toolkit.make(
        holding("plain"),
        holding("timed").pipe(Tool.timeout("1 hour")),
        holding("retried").pipe(Tool.timeout("1 hour"), Tool.retry(RetryPolicy.transient))
      )
      const fiber = yield* Effect.forkChild(
        Agent.make({ toolkit }).run("Go").pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.calls(["plain"], ["timed"], ["retried"])]))
        )
      )
      yield* Deferred.await(all)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(released.toSorted(), ["plain", "retried", "timed"])
    }))

  it.effect("waits no longer than 5 s for a timed handler that ignores its interruption", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const stubborn = Tool.make("stubborn", { description: "", success: Schema.Void, sideEffect: "none" }, () =>
        Effect.uninterruptible(Effect.andThen(Deferred.succeed(started, undefined), Effect.never))).pipe(
          Tool.timeout("1 hour")
        )
      const fiber = yield* Effect.forkChild(
        Agent.make({ toolkit: Toolkit.make(stubborn) }).run("Go").pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.call("stubborn")]))
        )
      )
      yield* Deferred.await(started)
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* TestClock.adjust("4999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(interrupting)
      assert.isDefined(fiber.pollUnsafe())
    }))
})

describe("Agent.stream", () => {
  const name = (event: AgentEvent.AgentEvent) =>
    "index" in event
      ? `${event._tag} ${event.turn}.${event.index}`
      : "turn" in event
      ? `${event._tag} ${event.turn}`
      : event._tag

  it.effect("tells what happens as it happens, and ends with the answer", () =>
    Effect.gen(function*() {
      const events = yield* Stream.runCollect(pinging.stream("Ping!"))
      assert.deepStrictEqual(events.map(name), [
        "TurnStarted 1",
        "ModelReplied 1",
        "CallStarted 1.1",
        "AttemptStarted 1.1",
        "AttemptEnded 1.1",
        "CallEnded 1.1",
        "TurnStarted 2",
        "TextDelta 2",
        "ModelReplied 2",
        "RunEnded"
      ])
      const last = events.at(-1)
      assert.isTrue(last?._tag === "RunEnded" && last.answer.text === "It said pong.")
    }).pipe(Effect.provide(ScriptedModel.layer(once))))

  it.effect("tells of retries before they are over, and how long calls took", () =>
    Effect.gen(function*() {
      const flaky = Tool.make("flaky", { description: "", success: Schema.Void, sideEffect: "none" }, () =>
        Effect.flatMap(ToolCall.current, ({ attempt }) =>
          Effect.andThen(
            Effect.sleep("2 seconds"),
            attempt === 1
              ? Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))
              : Effect.void
          ))).pipe(Tool.retry(RetryPolicy.transient))
      const seen: Array<string> = []
      const fiber = yield* Effect.forkChild(Stream.runForEach(
        Agent.make({ toolkit: Toolkit.make(flaky) }).stream("Go"),
        (event) =>
          Effect.sync(() =>
            seen.push(name(event))
          )
      ))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(seen.slice(-2), ["FailureHandled 1.1", "WaitStarted 1.1"])
      yield* passing(Fiber.join(fiber))
      assert.deepStrictEqual(seen.slice(-5), [
        "CallEnded 1.1",
        "TurnStarted 2",
        "TextDelta 2",
        "ModelReplied 2",
        "RunEnded"
      ])
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("flaky"), ScriptedModel.text("done")]))))

  it.effect("tells of each time the model is asked again", () =>
    Effect.gen(function*() {
      const events = yield* passing(Stream.runCollect(pinging.stream("Ping!")))
      assert.deepStrictEqual(events.map(name), [
        "TurnStarted 1",
        "ModelRetried 1",
        "TextDelta 1",
        "ModelReplied 1",
        "RunEnded"
      ])
    }).pipe(Effect.provide(ScriptedModel.layer([down, ScriptedModel.text("Hello.")]))))

  it.effect("fails as the run fails, after what happened before", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const failure = yield* Effect.flip(Stream.runForEach(
        pinging.stream("Ping!"),
        (event) => Effect.sync(() => seen.push(name(event)))
      ))
      assert.strictEqual(failure._tag, "ModelFailed")
      assert.deepStrictEqual(seen, ["TurnStarted 1"])
    }).pipe(Effect.provide(ScriptedModel.layer([denied]))))

  it.effect("takes a streamed reply that ends too early for a transient failure", () =>
    Effect.gen(function*() {
      let asked = 0
      const model = Model.Model.of({
        respond: () => Effect.die("not asked"),
        stream: () =>
          ++asked === 1
            ? Stream.make({ _tag: "TextDelta", text: "Hel" })
            : Stream.make(
              { _tag: "TextDelta", text: "Hello." },
              { _tag: "Replied", reply: ScriptedModel.text("Hello.") }
            )
      })
      const events = yield* passing(Stream.runCollect(pinging.stream("Hi"))).pipe(
        Effect.provideService(Model.Model, model)
      )
      const retried = events.find((event) => event._tag === "ModelRetried")
      assert.strictEqual(retried?.failure.code, "cut_off")
      assert.strictEqual(events.at(-1)?._tag, "RunEnded")
    }))

  it.effect("ends the run when the stream is ended", () =>
    Effect.gen(function*() {
      let released = false
      const waiting = Tool.make("waiting", { description: "", success: Schema.Void, sideEffect: "none" }, () =>
        Effect.onInterrupt(Effect.never, () =>
          Effect.sync(() => {
            released = true
          })))
      yield* Agent.make({ toolkit: Toolkit.make(waiting) }).stream("Go").pipe(
        Stream.takeUntil((event) =>
          event._tag === "CallStarted"
        ),
        Stream.runDrain
      )
      assert.isTrue(released)
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("waiting")]))))
})

describe("Agent.resume", () => {
  const ran: Array<string> = []
  const book = Tool.make(
    "book",
    { description: "Books a table", parameters: Schema.Struct({ at: Schema.String }), success: Schema.String },
    ({ at }) =>
      Effect.gen(function*() {
        const { idempotencyKey } = yield* ToolCall.current
        const people = yield* ToolCall.ask(`How many people at ${at}?`)
        const seats = yield* ToolCall.ask(`Inside or outside, for ${people}?`)
        ran.push(idempotencyKey)
        return `${people} ${seats} at ${at}`
      })
  )
  const agent = Agent.make({ toolkit: Toolkit.make(book, ping) })

  const suspended = <A, E, R>(run: Effect.Effect<A, E, R>) =>
    Effect.flatMap(
      Effect.flip(run),
      (failure) => failure instanceof AgentFailure.RunSuspended ? Effect.succeed(failure) : Effect.die(failure)
    )

  const throughStorage = (suspension: AgentFailure.Suspension) =>
    Schema.encodeEffect(AgentFailure.Suspension)(suspension).pipe(
      Effect.map((encoded): unknown => JSON.parse(JSON.stringify(encoded))),
      Effect.flatMap(Schema.decodeUnknownEffect(AgentFailure.Suspension))
    )

  it.effect("ends as a value when a tool asks the user, and goes on with the reply in another process", () =>
    Effect.gen(function*() {
      ran.length = 0
      const first = yield* suspended(agent.run("A table, please."))
      assert.strictEqual(first.question, "How many people at eight?")
      const second = yield* suspended(agent.resume(yield* throughStorage(first.suspension), "Four"))
      assert.strictEqual(second.question, "Inside or outside, for Four?")
      assert.deepStrictEqual(ran, [])
      const answer = yield* agent.resume(yield* throughStorage(second.suspension), "outside")
      assert.strictEqual(answer.text, "Booked.")
      assert.strictEqual(ran.length, 1)
      assert.strictEqual(
        first.suspension.outcomes[0]?._tag === "Suspended" && first.suspension.outcomes[0].id,
        `${first.suspension.runId}/turn/1/call/1`
      )
      assert.deepInclude(answer.transcript.at(2), { role: "tool", text: "\"Four outside at eight\"" })
      // The sibling ran once, and its result was kept.
      assert.deepInclude(answer.transcript.at(3), { role: "tool", text: "\"pong\"" })
      assert.strictEqual(answer.ledger.turns, 2)
      assert.strictEqual(answer.ledger.calls, 2)
    }).pipe(Effect.provide(ScriptedModel.layer([
      ScriptedModel.calls(["book", { at: "eight" }], ["ping"]),
      ScriptedModel.text("Booked.")
    ]))))

  it.effect("accounts for what ran before and after the question, and streams what happens after it", () =>
    Effect.gen(function*() {
      const first = yield* suspended(agent.run("A table, please."))
      const second = yield* suspended(agent.resume(first.suspension, "Four"))
      const events = yield* Stream.runCollect(agent.resumeStream(second.suspension, "outside"))
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), [
        "CallStarted",
        "AttemptStarted",
        "AttemptEnded",
        "CallEnded",
        "TurnStarted",
        "TextDelta",
        "ModelReplied",
        "RunEnded"
      ])
      const waiting = second.suspension.outcomes[0]
      assert.strictEqual(waiting?.attempts, 2)
      const last = events.at(-1)
      assert.isTrue(last?._tag === "RunEnded" && last.answer.ledger.turns === 2)
    }).pipe(Effect.provide(ScriptedModel.layer([
      ScriptedModel.call("book", { at: "eight" }),
      ScriptedModel.text("Booked.")
    ]))))

  it.effect("runs what the question held back, once it is answered, and in order", () =>
    Effect.gen(function*() {
      const order: Array<string> = []
      const pay = Tool.make(
        "pay",
        { description: "", success: Schema.Void },
        () => Effect.sync(() => order.push("paid"))
      )
      const confirm = Tool.make(
        "confirm",
        { description: "", success: Schema.String },
        () => Effect.tap(ToolCall.ask("Really?"), (reply) => Effect.sync(() => order.push(reply)))
      )
      const agent = Agent.make({ toolkit: Toolkit.make(pay, confirm) })
      const waiting = yield* suspended(agent.run("Pay"))
      assert.deepStrictEqual(order, [])
      const answer = yield* agent.resume(yield* throughStorage(waiting.suspension), "yes")
      assert.deepStrictEqual(order, ["yes", "paid"])
      assert.strictEqual(answer.text, "Paid.")
      assert.deepStrictEqual(answer.ledger.failures, [])
    }).pipe(
      Effect.provide(ScriptedModel.layer([ScriptedModel.calls(["confirm"], ["pay"]), ScriptedModel.text("Paid.")]))
    ))

  it.effect("gives a reply to the question that it answers, and to no other", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const asking = (question: string) =>
        Effect.tap(ToolCall.ask(question), (reply) => Effect.sync(() => heard.push(`${question} ${reply}`)))
      const tool = Tool.make("t", { description: "", success: Schema.String }, () =>
        Effect.andThen(
          asking("Which account?"),
          Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: false }))
        )).pipe(Tool.fallback(() => asking("Wipe the mirror first?")))
      const agent = Agent.make({ toolkit: Toolkit.make(tool) })
      const first = yield* suspended(agent.run("Go"))
      const second = yield* suspended(agent.resume(first.suspension, "42"))
      assert.strictEqual(second.question, "Wipe the mirror first?")
      yield* agent.resume(second.suspension, "no")
      assert.deepStrictEqual(heard.slice(-2), ["Which account? 42", "Wipe the mirror first? no"])
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("t"), ScriptedModel.text("done")]))))

  it.effect("gives the reply to the first call that asked, when several wait at once", () =>
    Effect.gen(function*() {
      const asking = (name: string) =>
        Tool.make(name, { description: "", success: Schema.String, sideEffect: "none" }, () => ToolCall.ask("Sure?"))
      const agent = Agent.make({ toolkit: Toolkit.make(asking("a"), asking("b")) })
      const first = yield* suspended(agent.run("Go"))
      assert.deepStrictEqual(first.suspension.outcomes.map(({ _tag }) => _tag), ["Suspended", "Suspended"])
      const second = yield* suspended(agent.resume(first.suspension, "yes"))
      assert.deepStrictEqual(second.suspension.outcomes.map(({ _tag }) => _tag), ["Completed", "Suspended"])
      const answer = yield* agent.resume(second.suspension, "no")
      assert.deepInclude(answer.transcript.at(2), { text: "\"yes\"" })
      assert.deepInclude(answer.transcript.at(3), { text: "\"no\"" })
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.calls(["a"], ["b"]), ScriptedModel.text("done")]))))

  it.effect("finds a reply by its question, though others are not asked any more, and again in every attempt", () =>
    Effect.gen(function*() {
      let runs = 0
      const order = Tool.make(
        "order",
        { description: "", success: Schema.String, sideEffect: "idempotent" },
        () =>
          Effect.gen(function*() {
            if (++runs === 1) yield* ToolCall.ask("The price rose. Go on?")
            const size = yield* ToolCall.ask("Which size?")
            if (runs < 4) {
              return yield* new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })
            }
            return size
          })
      ).pipe(Tool.retry(Schedule.recurs(3)))
      const agent = Agent.make({ toolkit: Toolkit.make(order) })
      const first = yield* suspended(agent.run("Go"))
      const second = yield* suspended(agent.resume(first.suspension, "yes"))
      assert.strictEqual(second.question, "Which size?")
      const answer = yield* agent.resume(second.suspension, "large")
      assert.deepInclude(answer.transcript.at(2), { text: "\"large\"" })
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("order"), ScriptedModel.text("done")]))))

  it.effect("keeps the replies of a tool that runs inside of another apart from those of the outer one", () =>
    Effect.gen(function*() {
      const inner = Tool.make(
        "inner",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => ToolCall.ask("Sure?")
      )
      const outer = Tool.make(
        "outer",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => Effect.zipWith(inner.run({}), ToolCall.ask("Sure?"), (a, b) => `${a} ${b}`)
      )
      const agent = Agent.make({ toolkit: Toolkit.make(outer) })
      const first = yield* suspended(agent.run("Go"))
      const second = yield* suspended(agent.resume(first.suspension, "inner yes"))
      const answer = yield* agent.resume(second.suspension, "outer yes")
      assert.deepInclude(answer.transcript.at(2), { text: "\"inner yes outer yes\"" })
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("outer"), ScriptedModel.text("done")]))))

  it.effect("resumes as a step of its own, so that no journal gives back the suspended outcome", () =>
    Effect.gen(function*() {
      const { journal, names } = namingJournal()
      const first = yield* suspended(agent.run("A table, please."))
      yield* Effect.exit(agent.resume(first.suspension, "Four")).pipe(Effect.provideService(Journal.current, journal))
      assert.deepStrictEqual(names, ["turn/1/call/1/reply/1"])
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("book", { at: "eight" })]))))

  it("refuses a stored suspension that has not an outcome for each call, one of them suspended", () => {
    const suspension = {
      version: 4,
      runId: "run-1",
      turn: 1,
      transcript: { version: 1, messages: [] },
      ledger: { turns: 1, calls: 1, inputTokens: 0, outputTokens: 0, failures: [], repairs: [] },
      reply: { text: "", calls: [{ id: "1", name: "book" }] },
      outcomes: [],
      facts: { version: 1, run: 0, mayHaveRun: "no", intents: [], failures: 0, last: "book", inARow: 1 },
      used: 0
    }
    const effort = { certainty: "not_executed", attempts: 1, waited: 0, handled: [] }
    const completed = { _tag: "Completed", value: 1, caveats: [], ...effort }
    const waiting = { _tag: "Suspended", question: "?", id: "k", replies: [], ...effort }
    const decode = (outcomes: ReadonlyArray<unknown>) =>
      Schema.decodeUnknownSync(AgentFailure.Suspension)({ ...suspension, outcomes })
    assert.strictEqual(decode([waiting]).outcomes.length, 1)
    for (const outcomes of [[], [completed], [waiting, waiting]]) {
      assert.throws(() => decode(outcomes), /an outcome for each call/)
    }
  })

  it.effect("asks the next question when several calls asked", () =>
    Effect.gen(function*() {
      let failure = yield* suspended(agent.run("Two tables, please."))
      const questions = [failure.question]
      for (const reply of ["Two", "inside", "Six"]) {
        failure = yield* suspended(agent.resume(failure.suspension, reply))
        questions.push(failure.question)
      }
      assert.deepStrictEqual(questions, [
        "How many people at six?",
        "Inside or outside, for Two?",
        "How many people at nine?",
        "Inside or outside, for Six?"
      ])
      assert.strictEqual((yield* agent.resume(failure.suspension, "outside")).text, "Both booked.")
    }).pipe(Effect.provide(ScriptedModel.layer([
      ScriptedModel.calls(["book", { at: "six" }], ["book", { at: "nine" }]),
      ScriptedModel.text("Both booked.")
    ]))))

  it.effect("leaves a transcript that is valid while it waits", () =>
    Effect.gen(function*() {
      const { transcript } = yield* suspended(agent.run("A table, please."))
      assert.deepStrictEqual(Array.from(transcript, ({ role }) => role), ["user", "assistant", "tool"])
      assert.deepInclude(transcript.at(2), {
        text:
          "{\"ok\":false,\"error\":\"Suspended\",\"detail\":\"Waiting for the user's answer to: How many people at eight?\"}"
      })
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("book", { at: "eight" })]))))

  it.effect("ends the run, typed, when a tool stops it", () =>
    Effect.gen(function*() {
      const brake = Tool.make("brake", { description: "", success: Schema.Void }, () =>
        ToolCall.stop("The account is locked."))
      const failure = yield* Effect.flip(Agent.make({ toolkit: Toolkit.make(brake) }).run("Go"))
      assert.isTrue(failure instanceof AgentFailure.RunStopped && failure.reason === "The account is locked.")
      assert.strictEqual(failure.transcript.length, 3)
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("brake")]))))
})

describe("Journal", () => {
  it.effect("sees each reply and each outcome as a step, named by its position", () =>
    Effect.gen(function*() {
      const { journal, names } = namingJournal()
      yield* pinging.run("Ping!").pipe(Effect.provideService(Journal.current, journal))
      assert.deepStrictEqual(names, ["run", "turn/1/model", "turn/1/call/1", "turn/1/call/2", "turn/2/model"])
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.calls(["ping"], ["ping"]), ScriptedModel.text("done")]))))

  it.effect("leaves the steps of an agent that runs inside of a tool out: its call is the step", () =>
    Effect.gen(function*() {
      const { journal, names } = namingJournal()
      const model = ScriptedModel.layer([ScriptedModel.text("inner answer")])
      const consult = Tool.make(
        "consult",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => Effect.map(Effect.orDie(pinging.run("Ping!")), ({ text }) => text).pipe(Effect.provide(model))
      )
      yield* Agent.make({ toolkit: Toolkit.make(consult) }).run("Go").pipe(
        Effect.provideService(Journal.current, journal)
      )
      assert.deepStrictEqual(names, ["run", "turn/1/model", "turn/1/call/1", "turn/2/model"])
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("consult"), ScriptedModel.text("done")]))))

  it.effect("can give back what it recorded, as JSON, instead of running a step again", () =>
    Effect.gen(function*() {
      const written = new Map<string, string>()
      const recording: Journal.Journal = {
        step: (step, effect) =>
          Effect.tap(effect, (value) =>
            Effect.map(Effect.orDie(Schema.encodeEffect(step.success)(value)), (encoded) => {
              written.set(step.name, JSON.stringify(encoded))
            }))
      }
      const replaying: Journal.Journal = {
        step: (step) => Effect.orDie(Schema.decodeUnknownEffect(step.success)(JSON.parse(written.get(step.name)!)))
      }
      const first = yield* pinging.run("Ping!").pipe(
        Effect.provideService(Journal.current, recording),
        Effect.provide(ScriptedModel.layer(once))
      )
      const again = yield* pinging.run("Ping!").pipe(
        Effect.provideService(Journal.current, replaying),
        Effect.provide(ScriptedModel.layer([]))
      )
      assert.deepStrictEqual(Transcript.toArray(again.transcript), Transcript.toArray(first.transcript))
      assert.match(written.get("run")!, /^"run-\w+"$/)
    }))
})

describe("a run's id", () => {
  it.effect("differs from run to run, and is the same under the same seed", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const tool = Tool.make("key", { description: "", success: Schema.Void }, () =>
        Effect.map(ToolCall.current, ({ idempotencyKey }) => {
          keys.push(idempotencyKey)
        }))
      const run = Effect.provide(
        Agent.make({ toolkit: Toolkit.make(tool) }).run("Go"),
        ScriptedModel.layer([ScriptedModel.call("key"), ScriptedModel.text("done")])
      )
      yield* run
      yield* run
      yield* Random.withSeed(run, "seed")
      yield* Random.withSeed(run, "seed")
      const [a, b, c, d] = keys
      assert.notStrictEqual(a, b)
      assert.strictEqual(c, d)
      assert.match(a!, /^[0-9a-f]{32}$/)
    }))
})
