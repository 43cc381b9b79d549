/*
 * What the AI SDK gives a tool beside its input, made from a call of ours.
 */
import type { Tool, Transcript } from "@fallible/core"
import type { ModelMessage, ToolExecutionOptions } from "ai"
import { Prompts } from "../prompt.ts"

// Spread options keep the call.
const key = Symbol.for("@fallible/ai-sdk/call")

/** What every execution of a tool is told, before it has begun. */
export interface CallOptions<Context = unknown> {
  readonly id: string
  readonly transcript: () => Transcript.Transcript | undefined
  readonly context: Context
}

/** Returns what a tool is told of a call that may run: its `needsApproval` gets that. */
export const callOptions = ({ context, id, transcript }: CallOptions) => ({
  toolCallId: id,
  context,
  // Most tools do not read it.
  get messages() {
    return messagesOf(transcript())
  }
})

/** Returns the second argument of `execute`. */
export const executionOptions = (call: Tool.PromiseCall, context: unknown): ToolExecutionOptions<unknown> =>
  Object.assign(callOptions({ id: call.id, transcript: call.transcript, context }), {
    abortSignal: call.signal,
    [key]: call
  })

/**
 * Returns the call that runs `execute`: its idempotency key, its `fetch`, and `refuse`; `undefined` if the AI SDK itself runs it.
 *
 * When to use: in the `execute` of a tool of the AI SDK that this library runs, to send the key with a payment, or to say that
 * nothing was done.
 *
 * @param options the second argument of `execute`
 *
 * @example
 * ```ts
 * import { AiSdk } from "@fallible/ai-sdk"
 * import { Effect } from "effect"
 * import { tool } from "ai"
 * import { z } from "zod"
 *
 * const charge = tool({
 *   description: "Charges a card",
 *   inputSchema: z.object({ booking: z.string() }),
 *   execute: async ({ booking }, options) => `${booking} was charged with a key of ${AiSdk.callOf(options)?.idempotencyKey.length} digits.`
 * })
 * const [charging] = AiSdk.toolkit({ charge }, { charge: { identity: ({ booking }) => booking } }).tools.values()
 *
 * await Effect.runPromise(charging!.run({ booking: "b-1" }))
 * ```
 *
 * @category tools
 * @since 0.1.0
 */
export const callOf = (options: object): Tool.PromiseCall | undefined => asCall(Reflect.get(options, key))

// Nothing else is kept under the key.
const asCall = (value: unknown) => value as Tool.PromiseCall | undefined

const prompts = new Prompts({ isV4: true, key: "ai-sdk", reads: () => true })

// Without the instructions, as the AI SDK does.
const messagesOf = (transcript: Transcript.Transcript | undefined): Array<ModelMessage> =>
  transcript === undefined ? [] : prompts.of(transcript).filter(({ role }) => role !== "system").map(asModelMessage)

// A prompt of a language model of version 4 consists of messages, but for the names of their types.
const asModelMessage = (message: object) => message as ModelMessage
