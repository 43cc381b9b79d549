/**
 * A process that pays three orders, and records its run in the file journal of the guide. It kills itself at the point with
 * a given number, by a given signal. Prints the number of points that it reached, and the answer.
 */
import { Agent, Model, Tool, ToolFailure, Toolkit } from "@fallible/core"
import * as Journal from "@fallible/core/Journal"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Fiber, Option, Schema } from "effect"
import { importShown } from "./snippets.ts"

const [file = "", service = "", at = "", signal = ""] = process.argv.slice(2)

/** The orders, in turn. */
const orders = ["1", "2", "3"]

let points = 0
const point = Effect.suspend(() => {
  if (++points !== Number(at)) return Effect.void
  process.kill(process.pid, signal)
  // The signal arrives a moment later. Nothing more happens until then.
  return Effect.never
})

const pay = Tool.promise("pay", {
  description: "Pays an order",
  parameters: Schema.Struct({ order: Schema.String }),
  success: Schema.String,
  identity: ({ order }) => order
}, async ({ order }, { signal }) => {
  await Effect.runPromise(point, { signal })
  const answer = await fetch(`${service}/pay/${order}`, { method: "POST", signal })
  await Effect.runPromise(point, { signal })
  return answer.text()
}).pipe(
  Tool.reconcile(({ order }) =>
    Effect.tryPromise({
      try: async () => {
        const answer = await fetch(`${service}/pay/${order}`)
        return answer.ok ? Option.some(await answer.text()) : Option.none()
      },
      catch: ToolFailure.from
    }), { final: true })
)

/** Pays each order in a turn of its own, and again if it reads that nothing was done. */
const model = Model.layer({
  respond: ({ transcript }) =>
    Effect.map(point, () => {
      const read = Array.from(transcript).flatMap((message) => message.role === "tool" ? [message.text] : []).join()
      const order = orders.find((order) => !read.includes(`receipt of ${order}`))
      return order === undefined ? ScriptedModel.text("Paid.") : ScriptedModel.call("pay", { order })
    })
})

// The guide gives the function this type.
const fileJournal = (await importShown("docs/journal.md", "fileJournal")) as (file: string) => Journal.Journal
const journal = fileJournal(file)
const pausing: Journal.Journal = {
  step: (step, effect) => Effect.andThen(point, journal.step(step, Effect.tap(effect, point)))
}

// An orderly stop: the run is interrupted, and the process ends when its finalizers have run.
let stop: () => void = () => {}
process.on("SIGTERM", () => stop())
// A process that only waits for its signal would end.
const alive = Effect.runFork(Effect.sleep("1 hour"))

const fiber = Effect.runFork(
  // The handler of the signal needs the fiber.
  Effect.andThen(
    Effect.yieldNow,
    Agent.make({ toolkit: Toolkit.make(pay) }).run("Pay the orders.").pipe(
      Effect.provideService(Journal.current, pausing),
      Effect.provide(model),
      Effect.tap(({ text }) => Effect.sync(() => process.stdout.write(JSON.stringify({ points, text })))),
      Effect.ensuring(Fiber.interrupt(alive))
    )
  )
)
stop = () => Effect.runFork(Effect.andThen(Fiber.interrupt(fiber), Effect.sync(() => process.exit(143))))
