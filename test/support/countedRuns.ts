/** A payment tool that ends as a test asks, the number of its executions, and the outcome of a call. */
import { Dispatch, SemanticGarbage, Tool, Toolkit } from "@fallible/core"
import type * as SideEffect from "@fallible/core/SideEffect"
import { Effect, Schema } from "effect"
import { type Failure, parameters, type paris } from "./sequence.ts"
import { passing } from "./virtualTime.ts"

export const garbage = new SemanticGarbage({ code: "odd", detail: "Odd." })

export type Ends = Effect.Effect<string, Failure>

/** Makes a tool that counts its executions. */
export const counting = (
  end: Ends,
  sideEffect: SideEffect.SideEffect = "non_idempotent",
  declared: { readonly refusesFirst?: boolean; readonly uninterruptible?: boolean } = {}
) => {
  const runs = { count: 0 }
  const tool: Tool.Tool<string, typeof paris, string, Failure> = Tool.make(
    "pay",
    { description: "Pays", parameters, success: Schema.String, sideEffect, ...declared },
    () =>
      Effect.suspend(() => {
        runs.count++
        return end
      })
  )
  return { runs, tool }
}

export type Pay = ReturnType<typeof counting>["tool"]

export const call = { id: "1", name: "pay", arguments: "{\"city\":\"Paris\"}" }

export const outcomeOf = (tool: Tool.Any) =>
  passing(Dispatch.call(Toolkit.make(tool as Pay), { ...call, name: tool.name }, { idempotencyKey: "key" }))
