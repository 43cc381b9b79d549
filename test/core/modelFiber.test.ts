/** The fiber of a request to a model: what a model does to it reaches nothing else of the run. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentFailure, Model, ModelFailure, Tool, Toolkit } from "@fallible/core"
import { Cause, Effect, Exit, Fiber, Logger, Schema } from "effect"
import type { Untyped } from "../support/nonsense.ts"
import { ping } from "../support/pinging.ts"

const agent = Agent.make({ toolkit: Toolkit.make(ping), modelOptions: { maxTokens: 5 } })

const answer: Model.Reply = { text: "Done.", calls: [] }

/** Runs an agent with a model that answers by `respond`. */
const run = (
  respond: (request: Model.Request) => Effect.Effect<Model.Reply, ModelFailure>,
  { run }: { readonly run: (question: string) => ReturnType<typeof agent.run> } = agent
) => run("?").pipe(Effect.provideService(Model.Model, Model.make({ respond })), Effect.provide(Logger.layer([])))

describe("a request to a model", () => {
  it.effect("is told who interrupts its run", () =>
    Effect.gen(function*() {
      let interruptors: ReadonlyArray<number> = []
      const waiting = Effect.onInterrupt(Effect.never, (ids) =>
        Effect.sync(() => {
          interruptors = [...ids]
        }))
      const fiber = yield* Effect.forkChild(run(() => waiting), { startImmediately: true })
      yield* Fiber.interruptAs(fiber, 424_242)
      assert.deepStrictEqual(interruptors, [424_242])
    }))

  it.effect("fails the run with its facts if the model interrupts its fiber", () =>
    Effect.gen(function*() {
      const respond = () => {
        Fiber.getCurrent()?.interruptUnsafe()
        return Effect.never
      }
      const failure = yield* Effect.flip(run(respond))
      assert.isTrue(Schema.is(AgentFailure.schema)(failure) && failure._tag === "ModelFailed")
    }))

  it.effect("has a fiber that ends with it", () =>
    Effect.gen(function*() {
      let open = 0
      let turn = 0
      const counts: Array<number> = []
      yield* run(() => {
        counts.push(++open)
        Fiber.getCurrent()?.addObserver(() => open--)
        const calls = turn++ < 3 ? [{ id: `call_${turn}`, name: "ping", arguments: "{}" }] : []
        return Effect.as(Effect.yieldNow, { ...answer, calls })
      })
      assert.deepStrictEqual(counts, [1, 1, 1, 1])
    }))

  it.effect("has options of its own: no later run sees what a model does to them", () =>
    Effect.gen(function*() {
      const seen: Array<Model.Options> = []
      const respond = ({ options = {} }: Model.Request) => {
        seen.push({ ...options })
        Object.assign(options, { temperature: 2 })
        return Effect.succeed(answer)
      }
      yield* run(respond)
      yield* run(respond)
      assert.deepStrictEqual(seen, [{ maxTokens: 5 }, { maxTokens: 5 }])
    }))

  const real: object = Effect.succeed(answer)
  const fakes: Readonly<Record<string, Untyped>> = {
    "looks like an Exit": { "~effect/Effect": 1, "~effect/Exit": 1, _tag: "Success", value: answer },
    "cannot be evaluated": Object.create(real, { "~effect/Effect/evaluate": { value: () => undefined } })
  }
  for (const [name, fake] of Object.entries(fakes)) {
    it.effect(`breaks no finalizer of its caller if it ${name}`, () =>
      Effect.gen(function*() {
        let isFinalized = false
        const finalizer = Effect.sync(() => {
          isFinalized = true
        })
        const exit = yield* Effect.exit(Effect.ensuring(run(() => fake), finalizer))
        assert.isTrue(isFinalized)
        assert.isTrue(Exit.isSuccess(exit) || Cause.hasFails(exit.cause))
      }))
  }
})

describe("a conversation that is too long", () => {
  it.effect("is shortened by what it has in bytes, also at the end of a text", () =>
    Effect.gen(function*() {
      const texts = ["漢".repeat(812), "a".repeat(2567) + "漢".repeat(300)]
      const read = Tool.make("read", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        Effect.sync(() =>
          texts.shift() ?? ""
        ))
      let asked = 0
      const respond = (): Effect.Effect<Model.Reply, ModelFailure> => {
        asked++
        if (asked <= 2) return Effect.succeed({ ...answer, calls: [{ id: `call_${asked}`, name: "read" }] })
        return asked === 3
          ? Effect.fail(new ModelFailure({ code: "context_overflow", detail: "Too long.", transient: false }))
          : Effect.succeed(answer)
      }
      const { text } = yield* run(respond, Agent.make({ toolkit: Toolkit.make(read) }))
      assert.deepStrictEqual([text, asked], ["Done.", 4])
    }))
})
