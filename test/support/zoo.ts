/** A zoo of tools: one for each way in which a handler can behave. */
import {
  PartialData,
  RetryPolicy,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  type ToolUnavailable
} from "@fallible/core"
import type * as SideEffect from "@fallible/core/SideEffect"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Effect, Fiber, Schema } from "effect"
import { refused } from "./sequence.ts"

export const Echo = Schema.Struct({ n: Schema.Int })

export const echo = (name: string, handler: Effect.Effect<void>, sideEffect: SideEffect.SideEffect = "none") =>
  Tool.make(
    name,
    { description: name, parameters: Echo, success: Schema.Int, sideEffect },
    ({ n }) => Effect.as(handler, n)
  )

export const failing = (
  name: string,
  failure: SchemaMismatch | PartialData<number> | SemanticGarbage | ToolUnavailable
) =>
  Tool.make(
    name,
    { description: name, parameters: Echo, success: Schema.Int, sideEffect: "none" },
    () => Effect.fail(failure)
  )

/** One tool for each behaviour of a handler, and the expected outcome of a well-formed call. */
export const zoo = {
  reads: { tool: echo("reads", Effect.void), comesTo: "Completed" },
  writes: { tool: echo("writes", Effect.void, "non_idempotent"), comesTo: "Completed" },
  slow: { tool: echo("slow", Effect.sleep("3 seconds")), comesTo: "Completed" },
  slow_write: { tool: echo("slow_write", Effect.sleep("2 seconds"), "idempotent"), comesTo: "Completed" },
  mismatches: {
    tool: failing("mismatches", new SchemaMismatch({ side: "result", code: "invalid_result", detail: "No total." })),
    comesTo: "invalid_result"
  },
  partial: {
    tool: failing("partial", new PartialData({ code: "more_pages", detail: "1 of 2.", data: 1 })),
    comesTo: "more_pages"
  },
  garbage: {
    tool: failing("garbage", new SemanticGarbage({ code: "unknown_entity", detail: "Unknown." })),
    comesTo: "unknown_entity"
  },
  unavailable: { tool: failing("unavailable", refused), comesTo: "connection" },
  retried: { tool: failing("retried", refused).pipe(Tool.retry(RetryPolicy.transient)), comesTo: "connection" },
  throws: {
    tool: Tool.make("throws", { description: "", parameters: Echo, success: Schema.Int }, () => {
      throw new TypeError("undefined is not a function")
    }),
    comesTo: "defect"
  },
  dies: { tool: echo("dies", Effect.die("out of memory")), comesTo: "defect" },
  interrupts_itself: { tool: echo("interrupts_itself", Effect.interrupt), comesTo: "defect" },
  joins_an_interrupted_fiber: {
    tool: echo(
      "joins_an_interrupted_fiber",
      Effect.flatMap(
        Effect.forkChild(Effect.never),
        (fiber) => Effect.andThen(Fiber.interrupt(fiber), Fiber.join(fiber))
      )
    ),
    comesTo: "defect"
  },
  fails_otherwise: {
    // Possible in plain JavaScript.
    tool: echo("fails_otherwise", Effect.fail(new Error("not one of the four")) as never),
    comesTo: "defect"
  },
  lies: {
    tool: Tool.make(
      "lies",
      { description: "", parameters: Echo, success: Schema.Int, onMismatch: "refuse" },
      () => Effect.succeed("not a number" as never)
    ),
    comesTo: "invalid_result"
  },
  interrupts_itself_in_time: {
    tool: echo("interrupts_itself_in_time", Effect.interrupt).pipe(Tool.timeout("5 seconds")),
    comesTo: "defect"
  },
  hangs: { tool: echo("hangs", Effect.never).pipe(Tool.timeout("5 seconds")), comesTo: "timeout" },
  hangs_for_good: {
    tool: echo("hangs_for_good", Effect.uninterruptible(Effect.never)).pipe(Tool.timeout("5 seconds")),
    comesTo: "timeout"
  },
  asks: { tool: echo("asks", Effect.asVoid(ToolCall.ask("Which one?"))), comesTo: "Suspended" },
  stops: { tool: echo("stops", ToolCall.stop("enough")), comesTo: "Stopped" }
} as const

export const toolkit = Toolkit.make(...Object.values(zoo).map(({ tool }) => tool))

export const label = (outcome: ToolOutcome.ToolOutcome) =>
  outcome._tag === "Failed" ? outcome.failure.code : outcome._tag
