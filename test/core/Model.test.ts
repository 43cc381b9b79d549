import { assert, describe, it } from "@effect/vitest"
import { Agent, Model, ModelFailure, Tool, ToolCall, Toolkit, Transcript } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Duration, Effect, Exit, Schedule, Schema, Stream } from "effect"
import { passing } from "../support/virtualTime.ts"

const busy = new ModelFailure({
  code: "server_error",
  detail: "Busy.",
  transient: true,
  status: 503,
  cause: "a socket"
})
const denied = new ModelFailure({ code: "permission_denied", detail: "No.", transient: false })
const twice = Schedule.recurs(2)

/** Makes a model that fails with each given failure in turn, then succeeds. Counts its calls. */
const failing = (...failures: ReadonlyArray<ModelFailure>) => {
  const calls = { times: 0 }
  const respond = Effect.suspend(() => {
    const failure = failures[calls.times++]
    return failure === undefined ? Effect.succeed("a reply") : Effect.fail(failure)
  })
  return { asked: calls, respond }
}

describe("Model.retry", () => {
  it.effect("retries after transient failures, and reports each", () =>
    Effect.gen(function*() {
      const reports: Array<string> = []
      const { respond } = failing(busy, busy)
      const reply = yield* respond.pipe(
        Model.retry(Schedule.max([twice, Schedule.spaced("2 seconds")])),
        Effect.provideService(Model.onRetry, (failure, wait) =>
          Effect.sync(() => {
            reports.push(`${failure.detail} ${Duration.format(wait)}`)
          })),
        passing
      )
      assert.strictEqual(reply, "a reply")
      assert.deepStrictEqual(reports, ["Busy. 2s", "Busy. 2s"])
    }))

  it.effect("returns the last failure unchanged, with its cause and the number of attempts", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(Model.retry(failing(busy, busy, busy).respond, twice))
      assert.deepStrictEqual({ ...failure }, { ...busy, attempts: 3 })
      assert.strictEqual(failure.cause, "a socket")
      assert.isUndefined(busy.attempts)
    }))

  it.effect("returns a permanent failure at once, unchanged", () =>
    Effect.gen(function*() {
      const { asked, respond } = failing(denied)
      assert.strictEqual(yield* Effect.flip(Model.retry(respond, twice)), denied)
      assert.strictEqual(asked.times, 1)
    }))

  it.effect("counts the attempts of lower levels too", () =>
    Effect.gen(function*() {
      const { asked, respond } = failing(busy, busy, busy, busy)
      const failure = yield* Effect.flip(respond.pipe(Model.retry(Schedule.recurs(1)), Model.retry(Schedule.recurs(1))))
      assert.deepStrictEqual([failure.attempts, asked.times], [4, 4])
    }))
})

describe("retries of an agent and of its model", () => {
  const layerOf = (respond: Effect.Effect<unknown, ModelFailure>) =>
    Model.layer({ respond: () => Effect.as(respond, ScriptedModel.text("Here.")) })
  const agent = Agent.make({ toolkit: Toolkit.empty })

  it.effect("do not add up: three attempts of the model are three attempts", () =>
    Effect.gen(function*() {
      const { asked, respond } = failing(busy, busy, busy, busy)
      const below = respond.pipe(Model.retry(twice))
      const failure = yield* Effect.flip(passing(agent.run("Hello?")).pipe(Effect.provide(layerOf(below))))
      assert.deepInclude(failure, { _tag: "ModelFailed", detail: "Busy." })
      assert.strictEqual(asked.times, 3)
    }))

  it.effect("add up if the agent has its own schedule", () =>
    Effect.gen(function*() {
      const { asked, respond } = failing(busy, busy, busy, busy)
      const persistent = Agent.make({ toolkit: Toolkit.empty, modelRetry: Schedule.recurs(1) })
      const below = respond.pipe(Model.retry(twice))
      assert.strictEqual((yield* persistent.run("Hello?").pipe(Effect.provide(layerOf(below)))).text, "Here.")
      assert.strictEqual(asked.times, 5)
    }))

  it.effect("report the model's attempts like the agent's own", () =>
    Effect.gen(function*() {
      const below = layerOf(failing(busy, busy).respond.pipe(Model.retry(twice)))
      const events = yield* Stream.runCollect(agent.stream("Hello?")).pipe(Effect.provide(below))
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), [
        "TurnStarted",
        "ModelRetried",
        "ModelRetried",
        "TextDelta",
        "ModelReplied",
        "RunEnded"
      ])
    }))
})

describe("model options", () => {
  const asks = Tool.make("ask", { description: "Asks", success: Schema.String }, () => ToolCall.ask("Which one?"))
  const ping = Tool.make("ping", { description: "Answers", success: Schema.String }, () => Effect.succeed("pong"))
  const sent = Effect.flatMap(
    ScriptedModel.ScriptedModel,
    ({ requests }) => Effect.map(requests, (all) => all.map(({ options }) => options))
  )

  it.effect("are the agent's, overridden by the run's", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.empty, modelOptions: { temperature: 0, maxTokens: 100 } })
      yield* agent.run("Hello?")
      yield* agent.run("Hello?", { modelOptions: { maxTokens: 5, provider: { seed: 1 } } })
      assert.deepStrictEqual(yield* sent, [
        { temperature: 0, maxTokens: 100 },
        { temperature: 0, maxTokens: 5, provider: { seed: 1 } }
      ])
    }).pipe(Effect.provide(ScriptedModel.layer(() => ScriptedModel.text("Hello.")))))

  for (const toolChoice of ["required", { tool: "ping" }] as const) {
    it.effect(`demand a call (${JSON.stringify(toolChoice)}) only until there is one, so that the run can end`, () =>
      Effect.gen(function*() {
        const agent = Agent.make({ toolkit: Toolkit.make(ping), modelOptions: { temperature: 0, toolChoice } })
        yield* agent.run("Ping!")
        assert.deepStrictEqual(yield* sent, [
          { temperature: 0, toolChoice },
          { temperature: 0, toolChoice },
          { temperature: 0 }
        ])
      }).pipe(Effect.provide(
        ScriptedModel.layer([ScriptedModel.text(""), ScriptedModel.call("ping"), ScriptedModel.text("Pong.")])
      )))
  }

  it.effect("forbid calls to the end of the run", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(ping), modelOptions: { toolChoice: "none" } })
      yield* agent.run("Ping!")
      assert.deepStrictEqual(yield* sent, [{ toolChoice: "none" }, { toolChoice: "none" }])
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("ping"), ScriptedModel.text("Pong.")]))))

  it.effect("apply to a resumed run", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(asks), modelOptions: { temperature: 0 } })
      const waiting = yield* Effect.flip(agent.run("Ask!"))
      if (waiting._tag !== "RunSuspended") return assert.fail(waiting._tag)
      yield* agent.resume(waiting.suspension, "The red one.", { modelOptions: { maxTokens: 5 } })
      assert.deepStrictEqual((yield* sent).at(-1), { temperature: 0, maxTokens: 5 })
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("ask"), ScriptedModel.text("Red.")]))))
})

describe("a question", () => {
  it.effect("may have pictures", () =>
    Effect.gen(function*() {
      const files = [Transcript.file(new Uint8Array([71, 73, 70]), "image/gif")]
      yield* Agent.make({ toolkit: Toolkit.empty }).run({ text: "What is this?", files })
      const [request] = yield* (yield* ScriptedModel.ScriptedModel).requests
      assert.deepStrictEqual(request?.messages, [{ role: "user", text: "What is this?", files }])
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.text("A GIF.")]))))
})

describe("a reply that was cut off at the token limit", () => {
  it.effect("is an answer that is marked as cut off", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(Agent.make({ toolkit: Toolkit.empty }).run("Tell me everything."))
      assert.isTrue(Exit.isSuccess(exit) && exit.value.truncated && exit.value.text === "First of")
    }).pipe(Effect.provide(ScriptedModel.layer([{ text: "First of", calls: [], truncated: true }]))))
})
