/**
 * The loop that everybody writes first: ask the model, run its calls, append what they return or throw, ask again.
 */
import type { Model, ToolCall, Transcript } from "@fallible/core"
import type { Call } from "./Service.ts"

export interface Options {
  readonly model: (messages: ReadonlyArray<Transcript.Message>) => Model.Reply
  readonly tools: Readonly<Record<string, Handler>>
  readonly question: string
  /** How often the model may reply. */
  readonly turns: number
  /** Reads the arguments of a call. */
  readonly parse: (text: string) => unknown
  readonly signal: AbortSignal
}

export type Handler = (args: never, call: Call) => Promise<unknown>

/** Returns the model's answer, or `undefined` if the model has none in time. */
export const run = async ({ model, question, turns, ...options }: Options): Promise<string | undefined> => {
  const messages: Array<Transcript.Message> = [{ role: "user", text: question }]
  for (let turn = 1; turn <= turns; turn++) {
    options.signal.throwIfAborted()
    const { calls, text } = model(messages)
    if (calls.length === 0) return text
    messages.push({ role: "assistant", text, calls })
    for (const call of calls) {
      messages.push({ role: "tool", callId: call.id, name: call.name, text: await resultOf(call, options) })
    }
  }
  return undefined
}

const resultOf = async (
  { arguments: text = "{}", name }: ToolCall.ToolCall,
  { parse, signal, tools }: Pick<Options, "parse" | "signal" | "tools">
): Promise<string> => {
  try {
    const handler = tools[name]
    if (handler === undefined) return `There is no tool ${name}.`
    return JSON.stringify(await handler(asTrusted(parse(text)), { signal }))
  } catch (error) {
    return String(error)
  }
}

// Nothing checks the arguments: this loop trusts its model.
const asTrusted = (args: unknown) => args as never
