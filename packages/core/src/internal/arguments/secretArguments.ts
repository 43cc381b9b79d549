/*
 * The secrets in the arguments of calls. They go only to the handler, and back to the model that wrote them. Whoever else
 * sees a call sees it masked: see `ToolCall.shown`.
 */
import { maskedText } from "@fallible/arguments"
import { hasSecrets, mask } from "@fallible/arguments/internal"
import type * as Schema from "effect/Schema"
import type { ToolCall } from "../../ToolCall.ts"
import { schemaOf } from "./jsonSchema.ts"

interface Tool {
  readonly name: string
  readonly parameters: Schema.Constraint
}

/** The masks of a toolkit's tools. Only some have a secret in their parameters. */
export interface Masks {
  /** Returns the mask of a tool; `undefined` if it has no secret. */
  readonly get: (tool: string) => ((text: string) => string) | undefined
}

/**
 * Returns the masks of tools; `undefined` if none of them has a secret, as in most toolkits.
 *
 * @param others the names of other tools, which have none
 */
export const masksOf = (tools: Iterable<Tool>, others: ReadonlyArray<string>): Masks | undefined => {
  const masks = new Map<string, ((text: string) => string) | undefined>()
  for (const { name, parameters } of tools) {
    const schema = schemaOf(parameters)
    masks.set(name, hasSecrets(schema) ? (text) => maskedText(text, schema) : undefined)
  }
  if (Array.from(masks.values()).every((mask) => mask === undefined)) return undefined
  // A misspelt name may be meant for a tool with a secret.
  return { get: (tool) => masks.has(tool) || others.includes(tool) ? masks.get(tool) : () => mask }
}

/** Adds to each call with a secret what may be shown of its arguments. */
export const withShown = <Reply extends { readonly calls: ReadonlyArray<ToolCall> }>(
  reply: Reply,
  masks: Masks | undefined
): Reply => {
  if (masks === undefined || reply.calls.every(({ name }) => masks.get(name) === undefined)) return reply
  const calls = reply.calls.map((call) => {
    const shown = call.arguments === undefined ? undefined : masks.get(call.name)?.(call.arguments)
    return shown === undefined ? call : { ...call, shown }
  })
  return { ...reply, calls }
}
