/** A tool whose handler accepts only capitalized cities, fixers for it, and the outcomes of its calls. */
import { assert } from "@effect/vitest"
import {
  Agent,
  type AgentFailure,
  Dispatch,
  type Fixer,
  Observer,
  SchemaMismatch,
  type SemanticGarbage,
  Tool,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import type * as SideEffect from "@fallible/core/SideEffect"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Effect, Schema } from "effect"

export type Mistake = SchemaMismatch | SemanticGarbage | ToolUnavailable

export const parameters = Schema.Struct({ city: Schema.String })

export const uncapitalized = (city: string) =>
  new SchemaMismatch({
    side: "arguments",
    code: "uncapitalized",
    detail: `'${city}' has no capital letter.`,
    hint: "Capitalize it.",
    alternatives: ["Paris"],
    cause: "the gazetteer"
  })

/** Makes the tool, and records the cities that its handler gets. */
export const weather = (sideEffect: SideEffect.SideEffect = "none") => {
  const asked: Array<string> = []
  const tool = Tool.make(
    "get_weather",
    { description: "The weather", parameters, success: Schema.String, sideEffect },
    ({ city }) =>
      Effect.suspend((): Effect.Effect<string, Mistake> => {
        asked.push(city)
        return /^[A-Z]/.test(city) ? Effect.succeed(`sunny in ${city}`) : Effect.fail(uncapitalized(city))
      })
  )
  return { asked, tool }
}

/** Makes a fixer that records the rejections it gets. */
export const fixer = <A>(fix: (rejection: Fixer.Rejection) => A) => {
  const told: Array<Fixer.Rejection> = []
  return {
    told,
    fix: (rejection: Fixer.Rejection): A => {
      told.push(rejection)
      return fix(rejection)
    }
  }
}

export const toParis = () => ({ city: "Paris" })

export const call = <T extends Tool.Any>(
  tool: T,
  args?: string | object,
  place: Dispatch.CallOptions = { idempotencyKey: "key" }
) =>
  Dispatch.call(Toolkit.make(tool), {
    id: "1",
    name: tool.name,
    ...(args === undefined ? {} : { arguments: typeof args === "string" ? args : JSON.stringify(args) })
  }, place)

export const completed = (outcome: ToolOutcome.ToolOutcome) =>
  outcome._tag === "Completed" ? outcome : assert.fail(JSON.stringify(outcome))
export const failed = (outcome: ToolOutcome.ToolOutcome) =>
  outcome._tag === "Failed" ? outcome : assert.fail(JSON.stringify(outcome))
export const handled = ({ handled }: ToolOutcome.ToolOutcome) => handled.map(({ by, code }) => `${by} ${code}`)

/** Runs an Effect, and returns its value with all reported defects. */
export const reporting = <A, E, R>(self: Effect.Effect<A, E, R>) => {
  const reports: Array<string> = []
  const reporter: NonNullable<Observer.Observer["onDefect"]> = (message, cause) =>
    Effect.sync(() => reports.push(`${message}: ${String(Cause.squash(cause))}`))
  return Effect.map(Observer.observe(self, { onDefect: reporter }), (value) => ({ value, reports }))
}

export const unclosed = "{\"city\":\"Paris"

/** Makes a payment tool. It rejects payees outside "DE", records the others, and ends as `end` says. */
export const payments = (end: (sent: ReadonlyArray<string>) => Effect.Effect<string, Mistake>) => {
  const sent: Array<string> = []
  const tool = Tool.make(
    "pay",
    {
      description: "",
      parameters: Schema.Struct({ to: Schema.String }),
      success: Schema.String,
      identity: ({ to }) => to
    },
    ({ to }) =>
      Effect.suspend(() => {
        if (!to.startsWith("DE")) return Effect.fail(uncapitalized(to))
        sent.push(to)
        return end(sent)
      })
  )
  return { sent, tool }
}

export const lostAnswer = new ToolUnavailable({ code: "timeout", detail: "Lost.", transient: true, outcome: "unknown" })

export const toDE = () => ({ to: "DE1" })

/** Runs an agent whose model makes these calls, then answers. */
export const conversation = (tool: ReturnType<typeof payments>["tool"], calls: ReadonlyArray<object | string>) =>
  Effect.provide(
    Agent.make({ toolkit: Toolkit.make(tool), loopGuard: "off" }).run("?"),
    ScriptedModel.layer([...calls.map((args) => ScriptedModel.call(tool.name, args)), ScriptedModel.text("Done.")])
  )

/** Runs an agent whose user answers each question with "yes". Records the questions. */
export const agreeing = <T extends Tool.Any>(tool: T, calls: ReadonlyArray<object | string>) => {
  const agent = Agent.make({ toolkit: Toolkit.make(tool) })
  const asked: Array<AgentFailure.Suspension> = []
  const answered = (run: ReturnType<typeof agent.run>): ReturnType<typeof agent.run> =>
    Effect.catchTag(run, "RunSuspended", ({ suspension }) => {
      asked.push(suspension)
      return answered(agent.resume(suspension, "yes"))
    })
  return Effect.map(
    Effect.provide(
      answered(agent.run("?")),
      ScriptedModel.layer([...calls.map((args) => ScriptedModel.call(tool.name, args)), ScriptedModel.text("Done.")])
    ),
    (answer) => ({ ...answer, asked })
  )
}
