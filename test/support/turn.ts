import { Dispatch, type Tool, type ToolCall, type Toolkit } from "@fallible/core"
import { runInOrder } from "../../packages/core/src/internal/dispatch/concurrentCalls.ts"

/** Runs the calls of one turn in an agent's order, but without an agent. */
export const runTurn = <T extends Tool.Any>(toolkit: Toolkit.Toolkit<T>, calls: ReadonlyArray<ToolCall.ToolCall>) =>
  runInOrder(toolkit, calls, { each: (call) => Dispatch.call(toolkit, call) })
