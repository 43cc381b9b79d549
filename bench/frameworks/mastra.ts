/**
 * Mastra. Plain: an `Agent` with a model of its router, as on its first page. Recovering: instructions, the hook before a tool call
 * for tools with a limit, `StreamErrorRetryProcessor` for the model, and limits of steps and time. It has no retry and no time limit
 * of tools outside of workflows, so `execute` has both.
 */
import { Agent } from "@mastra/core/agent"
import type { MessageInput } from "@mastra/core/agent/message-list"
import { StreamErrorRetryProcessor } from "@mastra/core/processors"
import { createTool } from "@mastra/core/tools"
import { type Contender, settings } from "./contender.ts"
import {
  attempted,
  bounded,
  failureText,
  instructions,
  isOverLimit,
  limits,
  limitText,
  retried,
  within
} from "./practice.ts"
import type { PlainTool } from "./tools.ts"
import { parametersOf, resultOf } from "./zodSchemas.ts"

// -----------------------------------------------------------------------------
// Tools
// -----------------------------------------------------------------------------

const definitionOf = (plain: PlainTool) => {
  const outputSchema = resultOf(plain)
  return {
    id: plain.name,
    description: plain.description,
    inputSchema: parametersOf(plain),
    ...(outputSchema === undefined ? {} : { outputSchema })
  }
}

const plainTool = (plain: PlainTool) =>
  createTool({
    ...definitionOf(plain),
    execute: (args, { abortSignal }) => plain.run(args, abortSignal)
  })

// -----------------------------------------------------------------------------
// Recovery
// -----------------------------------------------------------------------------

/** The model reads the message of what is thrown. */
const recoveringTool = (plain: PlainTool) =>
  createTool({
    ...definitionOf(plain),
    execute: async (args, { abortSignal }) => {
      const signal = within(plain, abortSignal)
      try {
        return await bounded(signal, retried(plain, () => attempted(plain, args, signal)))
      } catch (error) {
        throw new Error(failureText(plain, error))
      }
    }
  })

const callLimit = (tools: ReadonlyArray<PlainTool>) => {
  const calls: Array<string> = []
  return ({ toolName }: { readonly toolName: string }) => {
    const plain = tools.find(({ name }) => name === toolName)
    const earlier = calls.filter((name) => name === toolName).length
    calls.push(toolName)
    return plain !== undefined && isOverLimit(plain, earlier)
      ? { proceed: false as const, output: limitText(plain) }
      : undefined
  }
}

const retry = () =>
  new StreamErrorRetryProcessor({
    maxRetries: limits.retries,
    delayMs: limits.firstWaitMillis,
    retryUnknownErrors: true
  })

// -----------------------------------------------------------------------------
// The agent
// -----------------------------------------------------------------------------

export const mastra = settings.map((setting): Contender => ({
  framework: "Mastra",
  setting,
  begin: (url, plain) => {
    const isPlain = setting === "plain"
    const toolOf = isPlain ? plainTool : recoveringTool
    const agent = new Agent({
      id: "assistant",
      name: "Assistant",
      instructions: isPlain ? "You are a helpful assistant." : instructions,
      model: { id: "any/any", url: `${url}/v1`, apiKey: "none" },
      tools: Object.fromEntries(plain.map((one) => [one.name, toolOf(one)])),
      ...(isPlain ? {} : { errorProcessors: [retry()], maxProcessorRetries: limits.retries })
    })
    const messages: Array<MessageInput> = []
    return async (content) => {
      messages.push({ role: "user", content })
      const result = await agent.generate(
        messages,
        isPlain ? {} : {
          maxSteps: limits.turns,
          hooks: { beforeToolCall: callLimit(plain) },
          modelSettings: { timeout: { totalMs: limits.runMillis } }
        }
      )
      messages.push(...(result.response.messages ?? []))
      return result.text
    }
  }
}))
