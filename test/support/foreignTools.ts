/** Tools with the schemas of other libraries: what their handlers get, and what their calls end with. */
import { assert } from "@effect/vitest"
import { Dispatch, Tool, ToolCall, Toolkit } from "@fallible/core"
import type * as Parameters from "@fallible/core/Parameters"
import type * as SideEffect from "@fallible/core/SideEffect"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Effect, Schema } from "effect"
import { asNeedingNothing } from "./paidOrders.ts"

/** A tool that records what its handler gets, and the keys of its calls. */
export const recording = (
  parameters: Parameters.Parameters<unknown>,
  sideEffect: SideEffect.SideEffect = "none",
  identity?: "all"
) => {
  const seen: Array<unknown> = []
  const keys: Array<string> = []
  const tool = Tool.make("probe", {
    description: "",
    parameters,
    success: Schema.Void,
    sideEffect,
    ...(identity === undefined ? {} : { identity })
  }, (params: unknown) =>
    Effect.map(ToolCall.current, ({ idempotencyKey }) => {
      seen.push(params)
      keys.push(idempotencyKey)
    }))
  return { tool, seen, keys }
}

export const callOf = (tool: Tool.Any, text: string, id = "1"): Effect.Effect<ToolOutcome.ToolOutcome> =>
  Dispatch.call(Toolkit.make(asNeedingNothing(tool)), { id, name: tool.name, arguments: text })

/** How a call ends: what its handler got, or why it was refused. */
export interface Ending {
  readonly isAccepted: boolean
  readonly params: unknown
  readonly outcome: ToolOutcome.ToolOutcome
  readonly repairs: ReadonlyArray<ToolOutcome.Repair>
  /** What the failure says; `""` for a call that was accepted. */
  readonly detail: string
}

/** Calls a read-only tool once. */
export const endingOf = (parameters: Parameters.Parameters<unknown>, text: string): Effect.Effect<Ending> =>
  Effect.suspend(() => {
    const { seen, tool } = recording(parameters)
    return Effect.map(callOf(tool, text), (outcome) => {
      assert.isTrue(outcome._tag === "Completed" || outcome._tag === "Failed")
      const failure = outcome._tag === "Failed" ? outcome.failure : undefined
      assert.strictEqual(seen.length, failure === undefined ? 1 : 0)
      if (failure !== undefined) assert.include(["invalid_arguments", "invalid_json"], failure.code, failure.detail)
      return {
        isAccepted: failure === undefined,
        params: seen[0],
        outcome,
        repairs: outcome.repairs ?? [],
        detail: failure?.detail ?? ""
      }
    })
  })

/** Returns the error that making something throws; `undefined` if it is made. */
export const whyNotMade = (make: () => unknown): TypeError | undefined => {
  try {
    make()
    return undefined
  } catch (error) {
    return error instanceof TypeError ? error : assert.fail(`not a TypeError: ${String(error)}`)
  }
}
