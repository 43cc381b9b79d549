/** A call whose answer is lost, the results of a check, and the outcome. */
import { assert } from "@effect/vitest"
import { Dispatch, type Tool, Toolkit, ToolUnavailable } from "@fallible/core"
import { Effect, Option, Schedule } from "effect"
import { TestClock } from "effect/testing"
import type { Failure, paris } from "./sequence.ts"

export const lost = new ToolUnavailable({
  code: "connection",
  detail: "Reset.",
  transient: true,
  outcome: "unknown",
  cause: "a socket"
})

export const found = Effect.succeed(Option.some("found"))
export const nothing = Effect.succeed(Option.none<string>())

export const once = Schedule.recurs(1)

/** Dispatches one call of a tool, lets one hour pass, and returns the outcome. */
export const outcomeOf = (tool: Tool.Tool<string, typeof paris, string, Failure>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(
      Dispatch.call(Toolkit.make(tool), { id: "1", name: tool.name, arguments: "{\"city\":\"Paris\"}" }, {
        idempotencyKey: "key"
      })
    )
    yield* TestClock.adjust("1 hour")
    const outcome = yield* fiber.pollUnsafe() ?? assert.fail("no end")
    return outcome
  })
