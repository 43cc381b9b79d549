/** Agents with an `output`, scripted models that answer them, and the ends of their runs. */
import { assert } from "@effect/vitest"
import { Agent, AgentFailure, Model, Tool, Toolkit } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Effect, Exit, Layer, Schema, Stream } from "effect"
import { inspect } from "node:util"

export const { call, calls, text } = ScriptedModel

export const Days = Schema.Struct({ days: Schema.Int })
export const final = (args?: object | string) => call("final_answer", args)
export const json = (value: unknown) => text(JSON.stringify(value))

export const look = (result: (ran: number) => string = () => "news") => {
  let ran = 0
  return Tool.make(
    "look",
    { description: "Looks", success: Schema.String, sideEffect: "none" },
    () => Effect.sync(() => result(++ran))
  )
}

export const daysAgent = Agent.make({ toolkit: Toolkit.make(look()), output: Days })

/** A scripted model that can be made to write its text by a schema. */
export const structured = (script: ScriptedModel.Script, way: "always" | "without_tools" = "always") =>
  Layer.effect(Model.Model, Effect.map(Model.Model, (model) => ({ ...model, structuredOutput: way }))).pipe(
    Layer.provideMerge(ScriptedModel.layer(script))
  )

export const isModels = (script: ScriptedModel.Script | Models): script is Models => Layer.isLayer(script)

export type Models = Layer.Layer<Model.Model | ScriptedModel.ScriptedModel>

/** An agent whose tools and check need no services. */
export interface Runs<A> {
  readonly run: (
    question: string,
    options?: Agent.RunOptions
  ) => Effect.Effect<A, AgentFailure.AgentFailure, Model.Model>
}

/** Runs an agent to its end. */
export const played = <A>(
  agent: Runs<A>,
  script: ScriptedModel.Script | Models,
  options?: Agent.RunOptions
) =>
  Effect.gen(function*() {
    const exit = yield* Effect.exit(agent.run("How long?", options))
    const { requests } = yield* ScriptedModel.ScriptedModel
    return { exit, requests: yield* requests }
  }).pipe(Effect.provide(isModels(script) ? script : ScriptedModel.layer(script)))

export const answered = <A>(exit: Exit.Exit<A, AgentFailure.AgentFailure>): A =>
  Exit.isSuccess(exit) ? exit.value : assert.fail(String(Cause.squash(exit.cause)))

export const failed = <A>(exit: Exit.Exit<A, AgentFailure.AgentFailure>): AgentFailure.AgentFailure => {
  const failure = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason)?.error : undefined
  return failure ?? assert.fail(`The run did not fail: ${inspect(exit)}`)
}

export const refused = <A>(exit: Exit.Exit<A, AgentFailure.AgentFailure>): AgentFailure.OutputRefused => {
  const failure = failed(exit)
  return failure instanceof AgentFailure.OutputRefused ? failure : assert.fail(String(failure))
}

/** Returns the value of a run's answer, and how many requests it took. */
export const valueOf = (
  agent: Runs<{ readonly value: unknown }>,
  script: ScriptedModel.Script | Models,
  options?: Agent.RunOptions
) =>
  Effect.map(played(agent, script, options), ({ exit, requests }) => {
    return [answered(exit).value, requests.length]
  })

export const lastText = ({ messages }: ScriptedModel.Recorded) => messages.at(-1)?.text ?? ""

export const namesOf = ({ tools }: ScriptedModel.Recorded) => tools.map(({ name }) => name)

/** The ways in which a model can give its answer. */
export const ways: ReadonlyArray<
  readonly [string, (answer: unknown) => Model.Reply, (script: ScriptedModel.Script) => Models]
> = [
  ["a call", (answer) => final(JSON.stringify(answer)), (script) => ScriptedModel.layer(script)],
  ["a text", json, (script) => ScriptedModel.layer(script)],
  ["structured output", json, structured]
]

/** Cuts a text into the parts of a streamed reply that calls `final_answer`. */
export const pieces = (args: string, size: number): ReadonlyArray<Model.Part> => [
  ...Array.from({ length: Math.ceil(args.length / size) }, (_, index): Model.Part => ({
    _tag: "ArgumentsDelta",
    call: 0,
    tool: "final_answer",
    text: args.slice(index * size, (index + 1) * size)
  })),
  { _tag: "Replied", reply: final(args) }
]

/** A model that streams these replies, one after the other. */
export const streaming = (...replies: ReadonlyArray<ReadonlyArray<Model.Part>>) => {
  let asked = 0
  return Layer.succeed(Model.Model, {
    ...Model.make({ respond: () => Effect.die("not streamed") }),
    stream: () => Stream.fromIterable(replies[asked++] ?? [])
  })
}
