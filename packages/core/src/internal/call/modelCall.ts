/*
 * Guards against malformed calls. Types are erased at run time, so a call that does not come from a
 * model may have any shape.
 */
import * as Predicate from "effect/Predicate"
import type { ToolCall } from "../../ToolCall.ts"
import { kind } from "../value/text.ts"
import { attempt } from "../value/untrusted.ts"

/** True if a value has the shape of a call. */
export const isCall = (call: ToolCall): boolean =>
  attempt(() =>
    Predicate.isObject(call) && typeof call.id === "string" && typeof call.name === "string" &&
    (call.arguments === undefined || typeof call.arguments === "string")
  ) === true

/**
 * Returns a well-formed call that has all usable parts of the given value. Arguments that are not a
 * string become JSON.
 */
export const asCall = (call: ToolCall): ToolCall =>
  isCall(call) ? call : { id: "", name: "", ...attempt(() => partsOf(call)) }

const partsOf = (call: unknown): Partial<ToolCall> => {
  if (!Predicate.isObject(call)) return {}
  const { arguments: args, id, name } = call
  return {
    ...(typeof id === "string" ? { id } : {}),
    ...(typeof name === "string" ? { name } : {}),
    ...(args === undefined ? {} : { arguments: typeof args === "string" ? args : textOf(args) })
  }
}

/** Returns a call as it may be shown to people: without its secrets. */
export const shownCall = (call: ToolCall): ToolCall => {
  const { id, name, shown } = call
  return shown === undefined ? call : { id, name, arguments: shown }
}

// Arguments that cannot be written as JSON are replaced by the name of their kind, which later fails to decode.
const textOf = (args: unknown): string => attempt((): string | undefined => JSON.stringify(args)) ?? kind(args)
