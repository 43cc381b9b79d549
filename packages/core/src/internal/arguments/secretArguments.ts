/*
 * The secrets in the arguments of calls. They go only to the handler, and back to the model that wrote them. Whoever else
 * sees a call sees it masked: see `ToolCall.shown`.
 */
import { hasSecrets, maskedText } from "@fallible/arguments"
import type * as Schema from "effect/Schema"
import type { ToolCall } from "../../ToolCall.ts"
import { schemaOf } from "./jsonSchema.ts"

interface Tool {
  readonly name: string
  readonly parameters: Schema.Constraint
}

/** A function for each tool whose parameters have a secret: it masks the secrets in an argument text. */
export type Masks = ReadonlyMap<string, (text: string) => string>

/** Returns the masks of tools; `undefined` if none of them has a secret, as in most toolkits. */
export const masksOf = (tools: Iterable<Tool>): Masks | undefined => {
  const masks = new Map<string, (text: string) => string>()
  for (const { name, parameters } of tools) {
    const schema = schemaOf(parameters)
    if (hasSecrets(schema)) masks.set(name, (text) => maskedText(text, schema))
  }
  return masks.size === 0 ? undefined : masks
}

/** Adds to each call with a secret what may be shown of its arguments. */
export const withShown = <Reply extends { readonly calls: ReadonlyArray<ToolCall> }>(
  reply: Reply,
  masks: Masks | undefined
): Reply => {
  if (masks === undefined || !reply.calls.some(({ name }) => masks.has(name))) return reply
  const calls = reply.calls.map((call) => {
    const shown = call.arguments === undefined ? undefined : masks.get(call.name)?.(call.arguments)
    return shown === undefined ? call : { ...call, shown }
  })
  return { ...reply, calls }
}
