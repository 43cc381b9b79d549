/**
 * A model that plays a script: replies as data, or a function of the request.
 *
 *     const script = [ScriptedModel.call("get_weather", { city: "Paris" }), ScriptedModel.text("18 °C.")]
 *     agent.run("How warm is Paris?").pipe(Effect.provide(ScriptedModel.layer(script)))
 *
 * The model records every request, so a test can see exactly what a real model would have read. If it is
 * called more often than its script has replies, it fails and says so. A test with one model call too many
 * therefore does not pass by accident.
 *
 * @since 0.1.0
 */
import { Model, ModelFailure, type Toolkit, type Transcript } from "@fallible/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { playable } from "./internal/scriptMove.ts"

/**
 * One move of a script: a reply, or an Effect that makes one. A `ModelFailure` is a move too: the request
 * fails with it.
 *
 * @category models
 * @since 0.1.0
 */
export type Move = Model.Reply | Effect.Effect<Model.Reply, ModelFailure>

/**
 * The moves in order, or a function that returns the move for a request. `index` is the number of earlier
 * requests.
 *
 * @category models
 * @since 0.1.0
 */
export type Script = ReadonlyArray<Move> | ((request: Recorded, index: number) => Move)

/**
 * A request as it was when it was sent: messages, offered tools, and options.
 *
 * @category models
 * @since 0.1.0
 */
export interface Recorded {
  readonly messages: ReadonlyArray<Transcript.Message>
  readonly tools: ReadonlyArray<Toolkit.Definition>
  readonly options: Model.Options
}

/**
 * The requests that a scripted model has received so far.
 *
 * @category services
 * @since 0.1.0
 */
export class ScriptedModel extends Context.Service<ScriptedModel, {
  /** All requests, oldest first. */
  readonly requests: Effect.Effect<ReadonlyArray<Recorded>>
}>()("@fallible/testing/ScriptedModel") {}

/**
 * Makes a reply of text only, which ends the run.
 *
 * @category moves
 * @since 0.1.0
 */
export const text = (text: string): Model.Reply => ({ text, calls: [] })

/**
 * Makes a reply with one tool call.
 *
 * @param args an object, which is written as JSON; or the raw argument text; or nothing
 * @category moves
 * @since 0.1.0
 */
export const call = (name: string, args?: object | string): Model.Reply => calls([name, args])

/**
 * One call of {@link calls}: the tool's name, and its arguments as in {@link call}.
 *
 * @category models
 * @since 0.1.0
 */
export type Call = readonly [name: string, args?: object | string | undefined]

/**
 * Makes a reply with several tool calls. Their ids are `call_1`, `call_2`, …, and repeat in every turn, as
 * they do with many servers.
 *
 * A reply is data. To add what the model says beside its calls, spread it: `{ ...calls(…), text: "One moment." }`.
 *
 * @param calls the calls, or one list of them
 *
 * @example
 * ```ts
 * import { ScriptedModel } from "@fallible/testing"
 *
 * const both = ScriptedModel.calls(["get_weather", { city: "Paris" }], ["get_time"])
 * both.calls.map(({ name }) => name) // => ["get_weather", "get_time"]
 *
 * const cities = ["Paris", "Rome"]
 * const each = ScriptedModel.calls(cities.map((city) => ["get_weather", { city }]))
 * each.calls.map(({ id }) => id) // => ["call_1", "call_2"]
 *
 * const spoken = { ...each, text: "I compare both cities." }
 * spoken.text // => "I compare both cities."
 * ```
 *
 * @category moves
 * @since 0.1.0
 */
export const calls: {
  (calls: ReadonlyArray<Call>): Model.Reply
  (...calls: ReadonlyArray<Call>): Model.Reply
} = (...given: ReadonlyArray<Call> | readonly [ReadonlyArray<Call>]): Model.Reply => ({
  text: "",
  calls: listed(given).map(([name, args], index) => ({
    id: `call_${index + 1}`,
    name,
    ...(args === undefined ? {} : { arguments: typeof args === "string" ? args : JSON.stringify(args) })
  }))
})

// A call begins with its name, and a list of calls with a call, or it is empty.
const isList = (given: ReadonlyArray<Call> | readonly [ReadonlyArray<Call>]): given is readonly [ReadonlyArray<Call>] =>
  given.length === 1 && typeof given[0]?.[0] !== "string"

const listed = (given: ReadonlyArray<Call> | readonly [ReadonlyArray<Call>]): ReadonlyArray<Call> =>
  isList(given) ? given[0] : given

/**
 * Provides a scripted model: `Model` for the agent, `ScriptedModel` for the test.
 *
 * @example
 * ```ts
 * import { Agent, Tool, Toolkit } from "@fallible/core"
 * import { ScriptedModel } from "@fallible/testing"
 * import { Effect, Schema } from "effect"
 *
 * const ping = Tool.make("ping", { description: "Answers", success: Schema.String }, () => Effect.succeed("pong"))
 * const agent = Agent.make({ toolkit: Toolkit.make(ping) })
 *
 * const program = Effect.gen(function*() {
 *   const answer = yield* agent.run("Ping!")
 *   const requests = yield* (yield* ScriptedModel.ScriptedModel).requests
 *   return { text: answer.text, read: requests[1]?.messages.at(-1) }
 * })
 *
 * const script = [ScriptedModel.call("ping"), ScriptedModel.text("It said pong.")]
 * Effect.runSync(program.pipe(Effect.provide(ScriptedModel.layer(script)))).text // => "It said pong."
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (script: Script): Layer.Layer<Model.Model | ScriptedModel> =>
  Layer.effectContext(Effect.sync(() => {
    const requests: Array<Recorded> = []
    const respond = ({ options = {}, tools, transcript }: Model.Request) =>
      Effect.suspend(() => {
        const index = requests.length
        const request = { messages: Array.from(transcript), tools, options }
        requests.push(request)
        const move = typeof script === "function" ? script(request, index) : script[index] ?? exhausted(script.length)
        const next = playable(move, "a reply")
        return "calls" in next ? Effect.succeed(next) : next
      })
    return Context.make(Model.Model, Model.make({ respond })).pipe(
      Context.add(ScriptedModel, { requests: Effect.sync(() => requests.slice()) })
    )
  }))

const exhausted = (moves: number) =>
  new ModelFailure({
    code: "script_exhausted",
    detail: `The script has ${moves} ${moves === 1 ? "reply" : "replies"}, and the model was asked once more.`,
    transient: false
  })
