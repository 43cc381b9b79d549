/**
 * The stand-in on a bad day: it writes the calls of its first reply to a question badly, each in another way. It knows what
 * it meant. So it repeats only the calls that were refused, and then writes them well.
 */
import { Model, type ToolCall, type Transcript } from "@fallible/core"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { resultsOf } from "../shared/ToolMessages.ts"
import * as Planner from "./Planner.ts"

export const notice = "A stand-in plays the model, and writes malformed calls. No language model is asked."

export const layer: Layer.Layer<Model.Model> = Model.layer({
  respond: ({ transcript }) => Effect.sync(() => reply(Array.from(transcript)))
})

/** Returns the model's next message. */
export const reply = (messages: ReadonlyArray<Transcript.Message>): Model.Reply => {
  const start = messages.findLastIndex(({ role }) => role === "user") + 1
  const question = messages.slice(0, start)
  const [first, ...later] = messages.slice(start)
  const meant = Planner.reply(question)
  if (first?.role !== "assistant") {
    return { ...meant, calls: meant.calls.map((call, index) => faults[index % faults.length]!(call)) }
  }
  const results = resultsOf([first, ...later])
  const calls = first.calls.map((call, index) => {
    const message = results[index]?.message
    const isRefused = message?._tag === "Failure" && message.failure.error === "SchemaMismatch"
    return isRefused ? call : { ...call, ...meant.calls[index] }
  })
  return Planner.reply([...question, { ...first, calls }, ...later])
}

type Fault = (call: ToolCall.ToolCall) => ToolCall.ToolCall

const rewritten = (rewrite: (args: string) => string): Fault => (call) => ({
  ...call,
  arguments: rewrite(call.arguments ?? "")
})

/** The faults, in the order of the calls: cut off, single quotes, a wrong key, an unknown tool. */
const faults: ReadonlyArray<Fault> = [
  rewritten((args) => args.slice(0, -3)),
  rewritten((args) => args.replaceAll("\"", "'")),
  rewritten((args) => args.replace(/^\{"(\w+)"/, "{\"the_$1\"")),
  (call) => ({ ...call, name: call.name.split("_").toReversed().join("_") })
]
