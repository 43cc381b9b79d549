/** Runs whose journal is a workflow engine, which stops them at any point and starts them again. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Model, Tool, Toolkit } from "@fallible/core"
import * as Journal from "@fallible/core/Journal"
import { ScriptedModel } from "@fallible/testing"
import { type Context, Effect, type Fiber, Layer, Option, Schema } from "effect"
import * as Activity from "effect/workflow/Activity"
import * as Workflow from "effect/workflow/Workflow"
import * as WorkflowEngine from "effect/workflow/WorkflowEngine"
import { runs } from "../support/runs.ts"

/** What lasts longer than a process: the services, and which steps have begun. */
class World {
  paid: Array<string> = []
  reads = 0
  /** How many times the engine has stopped the run. */
  stopped = 0
  readonly begun = new Set<string>()
}

/** Time in which the engine may stop the run. */
const aWhile = Effect.repeat(Effect.yieldNow, { times: 3 })

const pay = (world: World) =>
  Tool.make("pay", {
    description: "Pays an order",
    parameters: Schema.Struct({ order: Schema.String }),
    success: Schema.String,
    identity: ({ order }) => order
  }, ({ order }) =>
    Effect.gen(function*() {
      yield* aWhile
      world.paid.push(order)
      yield* aWhile
      return `receipt of ${order}`
    })).pipe(
      Tool.reconcile(
        ({ order }) => Effect.sync(() => Option.fromUndefinedOr(world.paid.find((paid) => paid === order))),
        { final: true }
      )
    )

const read = (world: World) =>
  Tool.make(
    "read",
    { description: "Reads", success: Schema.Int, sideEffect: "none" },
    () => Effect.andThen(aWhile, Effect.sync(() => ++world.reads))
  )

const orders = ["1", "2", "3"]

/** Pays each order in a turn of its own, and again if it reads that nothing was done. */
const model = Model.layer({
  respond: ({ transcript }) =>
    Effect.andThen(
      aWhile,
      Effect.sync(() => {
        const read = Array.from(transcript).flatMap((message) => message.role === "tool" ? [message.text] : []).join()
        const order = orders.find((order) => !read.includes(`receipt of ${order}`) && !read.includes(`"${order}"`))
        return order === undefined
          ? ScriptedModel.text("Paid.")
          : ScriptedModel.calls(["read"], ["pay", { order }])
      })
    )
})

type Engine = WorkflowEngine.WorkflowEngine | WorkflowEngine.WorkflowInstance

/** Each step is an activity. A step that began, and has no result, runs what the agent gives for that case. */
const durable = (world: World, engine: Context.Context<Engine>): Journal.Journal => ({
  step: (step, effect) =>
    Activity.make({
      name: step.name,
      success: step.success,
      error: step.error,
      execute: Effect.suspend(() => {
        const work = world.begun.has(step.name) ? step.lost ?? effect : effect
        world.begun.add(step.name)
        return work
      })
    }).pipe(Effect.provideContext(engine))
})

const Paying = Workflow.make("Paying", {
  payload: { id: Schema.String },
  success: Schema.String,
  idempotencyKey: ({ id }) => id
})

/** Stops the workflow as an engine does that shuts down: it is suspended, and interrupted. */
const stopAfter = (
  world: World,
  yields: number,
  main: Fiber.Fiber<unknown, unknown>,
  instance: WorkflowEngine.WorkflowInstance["Service"]
) =>
  Effect.gen(function*() {
    for (let left = yields; left > 0; left--) yield* Effect.yieldNow
    world.stopped++
    instance.suspended = true
    main.interruptUnsafe(main.id)
  })

/** Runs the workflow, which is stopped after some yields in each of its first executions. Returns its answer. */
const runStopped = (world: World, stops: Array<number>) =>
  Effect.gen(function*() {
    const agent = Agent.make({ toolkit: Toolkit.make(pay(world), read(world)) })
    const layer = Paying.toLayer(() =>
      Effect.withFiber((main) =>
        Effect.gen(function*() {
          const engine = yield* Effect.context<Engine>()
          const instance = yield* WorkflowEngine.WorkflowInstance
          const stop = stops.shift()
          if (stop !== undefined) yield* Effect.forkChild(stopAfter(world, stop, main, instance))
          const { text } = yield* agent.run("Pay the orders.").pipe(
            Effect.provideService(Journal.current, durable(world, engine)),
            Effect.provide(model),
            Effect.orDie
          )
          return text
        })
      )
    )
    return yield* Effect.gen(function*() {
      const executionId = yield* Paying.execute({ id: "1" }, { discard: true })
      for (let round = 0; round < 10_000; round++) {
        const polled = yield* Paying.poll(executionId)
        if (Option.isSome(polled) && polled.value._tag === "Complete") return yield* polled.value.exit
        if (Option.isSome(polled)) yield* Paying.resume(executionId)
        yield* Effect.yieldNow
      }
      return assert.fail("The workflow does not end.")
    }).pipe(Effect.provide(Layer.provideMerge(layer, WorkflowEngine.layerMemory)))
  })

describe("a run in a workflow engine", () => {
  it.effect("goes on wherever it is interrupted, and pays nothing twice", () =>
    Effect.gen(function*() {
      let stopped = 0
      for (let first = 0; first < runs(40); first++) {
        for (let second = 0; second < 5; second++) {
          const world = new World()
          assert.strictEqual(
            yield* runStopped(world, [first, second * 5]),
            "Paid.",
            `stopped after ${first}, ${second}`
          )
          assert.deepStrictEqual(world.paid, orders, `stopped after ${first}, ${second}`)
          stopped += world.stopped
        }
      }
      assert.isAbove(stopped, runs(200))
    }))
})
