/** Tools that may violate their types, the outcomes of their calls, and all log lines. */
import { Dispatch, Tool, type ToolFailure, Toolkit } from "@fallible/core"
import * as Rendering from "@fallible/core/Rendering"
import type * as SideEffect from "@fallible/core/SideEffect"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Cause, Effect, Logger, Schema } from "effect"
import type { Untyped } from "./nonsense.ts"
import { paris } from "./sequence.ts"

export const definition = {
  description: "",
  parameters: Schema.Struct({ city: Schema.String }),
  success: Schema.String,
  sideEffect: "none"
} as const

export const failing = (failure: ToolFailure.ToolFailure<string>, sideEffect: SideEffect.SideEffect = "none") =>
  Tool.make("victim", { ...definition, sideEffect }, () => Effect.fail(failure))
export const succeeding = Tool.make("victim", definition, () => Effect.succeed("fine"))
export const sibling = Tool.make("sibling", definition, ({ city }) => Effect.succeed(`${city} is well.`))

/** Runs an Effect and returns its value with all log lines: level, message and causes. */
export const logging = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const logged: Array<string> = []
    const logger = Logger.make(({ cause, logLevel, message }) => {
      const reasons = cause.reasons.map((reason) => Cause.isDieReason(reason) ? String(reason.defect) : String(reason))
      logged.push([logLevel, String(message), ...reasons].join(" | "))
    })
    return Effect.map(Effect.provide(effect, Logger.layer([logger])), (value) => ({ value, logged }))
  })

export const outcomeOf = (tool: Untyped, args: object = paris): Effect.Effect<ToolOutcome.ToolOutcome> =>
  Dispatch.call(Toolkit.make(tool as typeof sibling), { id: "1", name: tool.name, arguments: JSON.stringify(args) })

export const read = (outcome: ToolOutcome.ToolOutcome) => Rendering.json(outcome, { id: "1", name: "p" })

export const handling = (handler: Untyped, sideEffect: SideEffect.SideEffect = "none"): Untyped =>
  Tool.make("p", { ...definition, sideEffect }, handler)
