/** What stands in the message of a run: what is shown, what stays on the server, and how it ends. */
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@fallible/ai-sdk"
import { Agent, type AgentFailure, Tool, Toolkit, ToolUnavailable } from "@fallible/core"
import * as Journal from "@fallible/core/Journal"
import * as Question from "@fallible/core/Question"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Redacted, Schedule, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { FileJournal } from "../support/fileJournal.ts"
import {
  bodyOf,
  chunksOf,
  demandAccepted,
  demandWhole,
  messageOf,
  recoveriesOf,
  textsOf,
  toolsOf
} from "../support/uiMessages.ts"
import { address, asked, type Chatting, decide, inPieces, play, scenarios } from "../support/uiScenarios.ts"

const { call, calls, text } = ScriptedModel

const textOf = (chunks: ReadonlyArray<AiSdk.UiChunk>) => new TextDecoder().decode(bodyOf(chunks))

/** The chunks of a run that waits, and what it waits with. */
const waitingRun = (run: ReturnType<Chatting["stream"]>, options: AiSdk.UiOptions = {}) =>
  Effect.gen(function*() {
    let suspension: AgentFailure.Suspension | undefined
    const watched = Stream.tap(run, (event) =>
      Effect.sync(() => {
        if (event._tag === "RunSuspended") suspension = event.waiting.suspension
      }))
    const chunks = yield* chunksOf(watched, options)
    return { chunks, suspension: suspension ?? assert.fail("The run does not wait.") }
  })

const read = (chunks: ReadonlyArray<AiSdk.UiChunk>, continued?: AiSdk.UiMessage) =>
  Effect.promise(async () => {
    const { errors, message } = await messageOf(chunks, continued)
    assert.deepStrictEqual(errors, [])
    await demandWhole(message)
    return message
  })

const finishOf = (chunks: ReadonlyArray<AiSdk.UiChunk>) => {
  const last = chunks.at(-1)
  return last?.type === "finish" ? last : assert.fail(last?.type)
}

// -----------------------------------------------------------------------------

const login = Tool.make("log_in", {
  description: "Logs in",
  parameters: Schema.Struct({ user: Schema.String, pin: Schema.Redacted(Schema.String) }),
  success: Schema.String
}, ({ pin, user }) =>
  Redacted.value(pin) === ""
    ? Effect.succeed("in")
    : Effect.fail(new ToolUnavailable({ code: "down", detail: `${user} at ${address}`, transient: true })))

const script = [
  { ...call("log_in", { user: "private", pin: "hunter2" }), reasoning: "private thought" },
  text("Done.")
]

const loggingIn = Agent.make({
  instructions: "The password is 'swordfish'.",
  toolkit: Toolkit.make(login.pipe(Tool.approve()))
})

const deltas = ["arguments", "reasoning"] as const

const bodyOfBoth = (show: AiSdk.UiOptions) =>
  Effect.gen(function*() {
    const { chunks, suspension } = yield* waitingRun(loggingIn.stream("?", { deltas }), show)
    const replies = suspension.questions.map((question) => Question.approve(question))
    const rest = yield* chunksOf(loggingIn.resumeStream(suspension, replies, { deltas }), show)
    return textOf([...chunks, ...rest])
  }).pipe(Effect.provide(inPieces(script)))

describe("what a page sees", () => {
  it.effect("has no secret, system prompt, address or thought by default, and arguments only in questions", () =>
    Effect.gen(function*() {
      const body = yield* bodyOfBoth({})
      assert.include(body, "tool-approval-request")
      const withoutArguments = body.replaceAll(/\\*"user\\*":\\*"private\\*"/g, "")
      assert.notMatch(withoutArguments, /hunter2|swordfish|private|10\.9\.8\.7/)
    }))

  it.effect("has no secret and no system prompt, whatever is asked for", () =>
    Effect.gen(function*() {
      const body = yield* bodyOfBoth({ arguments: true, results: true, reasoning: true })
      assert.include(body, address)
      assert.include(body, "<redacted>")
      assert.notMatch(body, /hunter2|swordfish/)
    }))

  it.effect("names no address in any scenario, unless results are asked for", () =>
    Effect.gen(function*() {
      for (const scenario of scenarios) {
        // Who is asked about a doubt reads how it came about.
        if (scenario.name === "a doubt that is asked about") continue
        for (const { chunks } of yield* play({ ...scenario, show: {} })) {
          assert.notInclude(textOf(chunks), address, scenario.name)
        }
      }
    }))

  it.effect("reads the sentences of the program, and ours if it has none", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(login.pipe(Tool.retry(Schedule.recurs(1)))) })
      const said = (recoveries: (recovery: AiSdk.Recovery) => string | undefined) =>
        Effect.gen(function*() {
          const message = yield* read(yield* chunksOf(agent.stream("?"), { recoveries }))
          return recoveriesOf(message).map(({ text }) => text)
        }).pipe(Effect.provide(inPieces(script)))
      const ours = "It may have been done. That is not known for sure."
      assert.deepStrictEqual(yield* said(({ certainty, tool }) => `${tool}: ${certainty}`), ["log_in: unknown"])
      assert.deepStrictEqual(yield* said(() => undefined), [ours])
      assert.deepStrictEqual(yield* said(() => assert.fail("a bug")), [ours])
    }))
})

describe("the end of a message", () => {
  const cases: ReadonlyArray<readonly [name: string, reason: string]> = [
    ["a text", "stop"],
    ["an approval", "stop"],
    ["a conclusion", "other"],
    ["a postponed run", "other"],
    ["a limit", "error"],
    ["an interrupted run", "interrupted"]
  ]
  for (const [name, reason] of cases) {
    it.effect(`says why: ${name}`, () =>
      Effect.gen(function*() {
        const scenario = scenarios.find((scenario) => scenario.name === name) ?? assert.fail(name)
        const streams = yield* play(scenario)
        assert.strictEqual(finishOf(streams.at(-1)?.chunks ?? []).finishReason, reason)
        if (name === "an approval") assert.strictEqual(finishOf(streams[0]?.chunks ?? []).finishReason, "tool-calls")
      }))
  }

  it.effect("says that a text was cut off", () =>
    Effect.gen(function*() {
      const chunks = yield* chunksOf(Agent.make({ toolkit: Toolkit.empty }).stream("?"))
      assert.strictEqual(finishOf(chunks).finishReason, "length")
    }).pipe(Effect.provide(inPieces([{ ...text("It is"), truncated: true }]))))

  it.effect("has a sentence for a run that was refused before it began, and no id", () =>
    Effect.gen(function*() {
      const chunks = yield* chunksOf(loggingIn.stream("?", { id: "" }))
      assert.deepStrictEqual<object>(chunks, [
        { type: "start" },
        { type: "error", errorText: "The request is not valid." },
        { type: "finish", finishReason: "error" }
      ])
    }).pipe(Effect.provide(inPieces([]))))
})

// -----------------------------------------------------------------------------

const approving = Agent.make({
  toolkit: Toolkit.make(
    Tool.make(
      "pay",
      { description: "Pays", parameters: Schema.Struct({ to: Schema.String }), success: Schema.String },
      ({ to }) => Effect.succeed(`Paid ${to}.`)
    ).pipe(Tool.approve(() => true, { within: "1 hour" }))
  )
})

const paying = Effect.provide(inPieces([call("pay", { to: "Ada" }), text("Done.")]))

describe("a message that goes on", () => {
  it.effect("is a whole new one, if the server does not say which it was", () =>
    Effect.gen(function*() {
      const { suspension } = yield* waitingRun(approving.stream("?"))
      const replies = suspension.questions.map((question) => Question.approve(question))
      const message = yield* read(yield* chunksOf(approving.resumeStream(suspension, replies)))
      assert.deepStrictEqual(toolsOf(message).map(({ state }) => state), ["output-available"])
      assert.deepStrictEqual(textsOf(message), ["Done."])
    }).pipe(paying))

  for (const [approves, state] of [[true, "output-available"], [false, "output-denied"]] as const) {
    it.effect(`says what somebody decided elsewhere: ${state}`, () =>
      Effect.gen(function*() {
        const { chunks, suspension } = yield* waitingRun(approving.stream("?"))
        const before = yield* read(chunks)
        const replies = suspension.questions.map((question) =>
          approves ? Question.approve(question) : Question.deny(question)
        )
        const rest = yield* chunksOf(approving.resumeStream(suspension, replies), { originalMessages: [asked, before] })
        const message = yield* read(rest, before)
        assert.deepStrictEqual(toolsOf(message).map(({ approval, state }) => [state, approval?.approved]), [[
          state,
          approves
        ]])
        for (let count = 1; count < rest.length; count++) {
          yield* Effect.promise(async () => demandAccepted((await messageOf(rest.slice(0, count), before)).message))
        }
      }).pipe(paying))
  }

  it.effect("says that an approval came too late", () =>
    Effect.gen(function*() {
      const { chunks, suspension } = yield* waitingRun(approving.stream("?"))
      const before = decide(true)(yield* read(chunks))
      const replies = AiSdk.repliesTo(suspension, before)
      const late = suspension.questions.map(({ expires = 0 }) => expires)
      yield* TestClock.setTime(Math.max(...late) + 1)
      const rest = yield* chunksOf(approving.resumeStream(suspension, replies), { originalMessages: before })
      const message = yield* read(rest, before[0])
      assert.deepStrictEqual(toolsOf(message).map(({ approval, state }) => [state, approval?.approved]), [
        ["output-denied", false]
      ])
    }).pipe(paying))

  it.effect("keeps its questions, if the replies are refused", () =>
    Effect.gen(function*() {
      const { chunks, suspension } = yield* waitingRun(approving.stream("?"))
      const before = yield* read(chunks)
      const replies = suspension.questions.map((question) => ({ ...Question.approve(question), digest: "another" }))
      const rest = yield* chunksOf(approving.resumeStream(suspension, replies), { originalMessages: [asked, before] })
      const { errors, message } = yield* Effect.promise(() => messageOf(rest, before))
      assert.strictEqual(errors.length, 1)
      assert.deepStrictEqual(message, before)
    }).pipe(paying))

  it.effect("has the id that the server gives it", () =>
    Effect.gen(function*() {
      const chunks = yield* chunksOf(approving.stream("?", { id: "r" }), { originalMessages: [asked], messageId: "m" })
      assert.deepStrictEqual(chunks[0], { type: "start", messageId: "m" })
    }).pipe(paying))
})

describe("the messages that a page sent", () => {
  const nonsense: ReadonlyArray<unknown> = [
    null,
    5,
    [null],
    [{}],
    [{ role: "assistant" }],
    [{ role: "assistant", id: 5, parts: 5, metadata: 5 }],
    [{ role: "assistant", parts: [null, 5, { toolCallId: 5 }, { toolCallId: "r/turn/1/call/1" }] }],
    [{ role: "assistant", parts: [{ toolCallId: "r/turn/1/call/1", type: 5, state: 5, approval: { id: "a" } }] }]
  ]
  for (const messages of nonsense) {
    it.effect(`may be anything: ${JSON.stringify(messages)}`, () =>
      Effect.gen(function*() {
        const originalMessages = messages as ReadonlyArray<AiSdk.UiMessage>
        const chunks = yield* chunksOf(approving.stream("?", { id: "r" }), { originalMessages })
        assert.strictEqual(finishOf(chunks).finishReason, "tool-calls")
      }).pipe(paying))
  }

  it("are given with known options alone", () => {
    const misspelt = { argument: true } as AiSdk.UiOptions
    assert.throws(() => AiSdk.uiMessageStream(approving.stream("?"), misspelt), /argument/)
    assert.throws(() => AiSdk.response(approving.stream("?"), misspelt), /argument/)
  })
})

describe("a run that a journal replays", () => {
  it.effect("has the same message", () =>
    Effect.gen(function*() {
      const journal = new FileJournal()
      const agent = Agent.make({
        toolkit: Toolkit.make(
          Tool.make("look", { description: "", success: Schema.String, sideEffect: "none" }, () => Effect.succeed("x"))
        )
      })
      const show = { arguments: true, results: true, reasoning: true }
      const run = journal.process((journal) =>
        chunksOf(agent.stream("?", { id: "r", deltas }), show).pipe(
          Effect.flatMap(read),
          Effect.provideService(Journal.current, journal)
        )
      )
      const model = [{ ...calls(["look"], ["look"]), text: "I look." }, text("Done.")]
      const first = yield* Effect.provide(run, inPieces(model))
      const again = yield* Effect.provide(run, inPieces([]))
      assert.deepStrictEqual(again, first)
    }))
})
