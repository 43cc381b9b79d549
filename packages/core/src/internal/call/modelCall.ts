/*
 * A call that no model made may be anything: types are stripped at run time.
 */
import * as Predicate from "effect/Predicate"
import type { ToolCall } from "../../ToolCall.ts"
import { kind } from "../value/text.ts"
import { attempted } from "../value/untrusted.ts"

/** Is it a call? */
export const isCall = (call: ToolCall): boolean =>
  attempted(() =>
    Predicate.isObject(call) && typeof call.id === "string" && typeof call.name === "string" &&
    (call.arguments === undefined || typeof call.arguments === "string")
  ) === true

/** A call, with what there is of it. Arguments that are an object already are put as their text. */
export const asCall = (call: ToolCall): ToolCall =>
  isCall(call) ? call : { id: "", name: "", ...attempted(() => partsOf(call)) }

const partsOf = (call: unknown): Partial<ToolCall> => {
  if (!Predicate.isObject(call)) return {}
  const { arguments: args, id, name } = call
  return {
    ...(typeof id === "string" ? { id } : {}),
    ...(typeof name === "string" ? { name } : {}),
    ...(args === undefined ? {} : { arguments: typeof args === "string" ? args : textOf(args) })
  }
}

// What has no text is named, and cannot be read.
const textOf = (args: unknown): string => attempted((): string | undefined => JSON.stringify(args)) ?? kind(args)
