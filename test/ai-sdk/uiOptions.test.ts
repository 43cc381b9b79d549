/** What an application may say of the message of a run: its decisions, its own sentences, and when to end it. */
import { assert, describe, it } from "@effect/vitest"
import type { AiSdk } from "@fallible/ai-sdk"
import { Agent, type AgentFailure, Tool, Toolkit, ToolUnavailable } from "@fallible/core"
import type * as Question from "@fallible/core/Question"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema, Stream } from "effect"
import { payments, playing } from "../support/approving.ts"
import { chunksOf, demandWhole, messageOf, toolsOf } from "../support/uiMessages.ts"
import { asked } from "../support/uiScenarios.ts"

const { calls, call, text } = ScriptedModel

const typesOf = (chunks: ReadonlyArray<AiSdk.UiChunk>) => chunks.map(({ type }) => type)

describe("`replies`", () => {
  const pay = (amount: number) => ["pay", { to: "Ada", amount }] as const

  const going = (reply: (questions: ReadonlyArray<Question.Question>) => ReadonlyArray<Question.Reply>) =>
    Effect.gen(function*() {
      const { paid, pay } = payments()
      const agent = Agent.make({ toolkit: Toolkit.make(pay.pipe(Tool.approve())) })
      let waiting: AgentFailure.RunSuspended | undefined
      const first = yield* chunksOf(Stream.tap(agent.stream("Pay."), (event) =>
        Effect.sync(() => {
          if (event._tag === "RunSuspended") waiting = event.waiting
        })))
      const { message } = yield* Effect.promise(() => messageOf(first))
      const { suspension } = waiting ?? assert.fail("The run does not wait.")
      const replies = reply(suspension.questions)
      const originalMessages = [asked, message ?? assert.fail("There is no message.")]
      const chunks = yield* chunksOf(agent.resumeStream(suspension, replies), { originalMessages, replies })
      const whole = yield* Effect.promise(() => messageOf([...first, ...chunks]))
      assert.deepStrictEqual(whole.errors, [])
      yield* Effect.promise(() => demandWhole(whole.message))
      return { chunks, paid, message: whole.message }
    })

  it.effect("are seen before their calls run, and once", () =>
    Effect.gen(function*() {
      const { chunks, message, paid } = yield* going((questions) =>
        questions.map(({ digest = "", id }, index) =>
          index === 0 ? { id, digest, approved: true } : { id, digest, approved: false, reason: "Too much." }
        )
      )
      assert.deepStrictEqual(typesOf(chunks).slice(0, 5), [
        "start",
        "tool-approval-response",
        "tool-approval-response",
        "tool-output-available",
        "tool-output-denied"
      ])
      assert.strictEqual(typesOf(chunks).filter((type) => type === "tool-approval-response").length, 2)
      assert.deepStrictEqual(toolsOf(message).map(({ approval, state }) => [state, approval?.reason]), [
        ["output-available", undefined],
        ["output-denied", "Too much."]
      ])
      assert.strictEqual(paid.length, 1)
    }).pipe(playing(calls(pay(5), pay(6)), text("Done."))))

  it.effect("of nobody's question change nothing", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.empty })
      const replies: ReadonlyArray<Question.Reply> = [{ id: "x", digest: "x", approved: true }, {
        id: "y",
        reply: "yes"
      }]
      assert.deepStrictEqual(
        typesOf(yield* chunksOf(agent.stream("Hi."), { replies })),
        typesOf(yield* chunksOf(agent.stream("Hi.")))
      )
    }).pipe(playing(text("Hello."), text("Hello."))))
})

describe("`failures`", () => {
  const failing = Tool.make(
    "charge",
    { description: "Charges", success: Schema.String },
    () => Effect.fail(new ToolUnavailable({ code: "card_blocked", detail: "The card is blocked.", transient: false }))
  )
  const agent = Agent.make({ toolkit: Toolkit.make(failing) })

  const errorText = (options: AiSdk.UiOptions) =>
    Effect.map(
      chunksOf(agent.stream("Charge."), options),
      (chunks) => chunks.flatMap((chunk) => chunk.type === "tool-output-error" ? [chunk.errorText] : [])
    )

  it.effect("say why a call failed, as far as the page may know it", () =>
    Effect.gen(function*() {
      const seen: Array<AiSdk.UiFailure> = []
      const texts = yield* errorText({
        failures: (failure) => {
          seen.push(failure)
          return "Your card is blocked."
        }
      })
      assert.deepStrictEqual(texts, ["Your card is blocked."])
      const [failure] = seen
      assert.deepInclude(failure, { tool: "charge", code: "card_blocked", error: "ToolUnavailable" })
      assert.notInclude(JSON.stringify(seen), "The card is blocked.")
    }).pipe(playing(call("charge", {}), text("Done."))))

  it.effect("are not asked twice if they throw: the general words are used", () =>
    Effect.gen(function*() {
      const [own] = yield* errorText({
        failures: () => {
          throw new Error("no words")
        }
      })
      const [general] = yield* errorText({})
      assert.strictEqual(own, general)
      // A page breaks at anything but a text.
      const [nonsense] = yield* errorText({ failures: () => JSON.parse("{\"sentence\":1}") })
      assert.strictEqual(nonsense, general)
      // Its type forbids it. A rejection that nobody hears would fail the test run.
      const [late] = yield* errorText({ failures: (async () => Promise.reject(new Error("no words"))) as never })
      assert.strictEqual(late, general)
    }).pipe(playing(...Array.from({ length: 4 }, () => [call("charge", {}), text("Done.")]).flat())))
})

describe("a run that its server ends", () => {
  it.effect("ends as an interrupted one, with all that is open", () =>
    Effect.gen(function*() {
      const slow = Tool.make("look", { description: "Looks", success: Schema.String }, () => Effect.never)
      const agent = Agent.make({ toolkit: Toolkit.make(slow) })
      const run = agent.stream("Look.").pipe(Stream.takeUntil((event) => event._tag === "CallStarted"))
      const chunks = yield* chunksOf(run)
      assert.deepStrictEqual(typesOf(chunks).slice(-4), ["tool-output-error", "finish-step", "abort", "finish"])
      const { message } = yield* Effect.promise(() => messageOf(chunks))
      yield* Effect.promise(() => demandWhole(message))
    }).pipe(playing(call("look", {}))))

  it.effect("has nothing after its own end", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.empty })
      assert.deepStrictEqual(typesOf(yield* chunksOf(agent.stream("Hi."))).slice(-1), ["finish"])
      assert.notInclude(typesOf(yield* chunksOf(agent.stream("Hi."))), "abort")
    }).pipe(playing(text("Hello."), text("Hello."))))
})
