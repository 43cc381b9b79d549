/**
 * The AI SDK. Plain: a `ToolLoopAgent`. Recovering: `instructions`, a text for each error, time limits of tools and of the whole,
 * `activeTools` for tools with a limit, and `repairToolCall` with the strategy of its documentation: the model is asked for better
 * inputs. The SDK has no retry of tools, so `execute` has one.
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import {
  generateText,
  isStepCount,
  type ModelMessage,
  NoSuchToolError,
  Output,
  type PrepareStepFunction,
  tool,
  type ToolCallRepairFunction,
  ToolLoopAgent,
  type ToolLoopAgentSettings,
  type ToolSet
} from "ai"
import { type Contender, settings } from "./contender.ts"
import { attempted, bounded, failureText, instructions, isOverLimit, limits, retried, timeOf } from "./practice.ts"
import type { PlainTool } from "./tools.ts"
import { parametersOf } from "./zodSchemas.ts"

// -----------------------------------------------------------------------------
// Tools
// -----------------------------------------------------------------------------

const plainTool = (plain: PlainTool) =>
  tool({
    description: plain.description,
    inputSchema: parametersOf(plain),
    execute: (args, { abortSignal }) => plain.run(args, abortSignal)
  })

// -----------------------------------------------------------------------------
// Recovery
// -----------------------------------------------------------------------------

/** The model reads the message of what is thrown. The time limit of the SDK only aborts the signal. */
const recoveringTool = (plain: PlainTool) =>
  tool({
    description: plain.description,
    inputSchema: parametersOf(plain),
    execute: async (args, { abortSignal }) => {
      const run = retried(plain, () => attempted(plain, args, abortSignal))
      try {
        return await (abortSignal === undefined ? run : bounded(abortSignal, run))
      } catch (error) {
        throw new Error(failureText(plain, error))
      }
    }
  })

type Model = ToolLoopAgentSettings["model"]

const repairToolCall =
  (model: Model, tools: ReadonlyArray<PlainTool>): ToolCallRepairFunction<ToolSet> =>
  async ({ error, inputSchema, toolCall }) => {
    const named = tools.find(({ name }) => name === toolCall.toolName)
    if (NoSuchToolError.isInstance(error) || named === undefined) return null
    const { output } = await generateText({
      model,
      output: Output.object({ schema: parametersOf(named) }),
      prompt: [
        `The model tried to call the tool "${toolCall.toolName}" with the following inputs:`,
        toolCall.input,
        "The tool accepts the following schema:",
        JSON.stringify(await inputSchema({ toolName: toolCall.toolName })),
        "Please fix the inputs."
      ].join("\n")
    })
    return { ...toolCall, input: JSON.stringify(output) }
  }

const callLimits = (tools: ReadonlyArray<PlainTool>): PrepareStepFunction<ToolSet> => ({ steps }) => {
  const calls = steps.flatMap(({ toolCalls }) => toolCalls)
  const callsOf = (name: string) => calls.filter(({ toolName }) => toolName === name).length
  return { activeTools: tools.filter((one) => !isOverLimit(one, callsOf(one.name))).map(({ name }) => name) }
}

const recovery = (model: Model, tools: ReadonlyArray<PlainTool>) => ({
  instructions,
  stopWhen: isStepCount(limits.turns),
  maxRetries: limits.retries,
  timeout: {
    toolMs: limits.toolMillis,
    tools: Object.fromEntries(tools.map((plain) => [`${plain.name}Ms`, timeOf(plain)])),
    totalMs: limits.runMillis
  },
  prepareStep: callLimits(tools),
  repairToolCall: repairToolCall(model, tools)
})

// -----------------------------------------------------------------------------
// The agent
// -----------------------------------------------------------------------------

export const aiSdk = settings.map((setting): Contender => ({
  framework: "AI SDK",
  setting,
  begin: (url, plain) => {
    const model = createOpenAICompatible({ name: "any", baseURL: `${url}/v1`, supportsStructuredOutputs: true })("any")
    const toolOf = setting === "plain" ? plainTool : recoveringTool
    const tools: ToolSet = Object.fromEntries(plain.map((one) => [one.name, toolOf(one)]))
    const agent = new ToolLoopAgent({ model, tools, ...(setting === "plain" ? {} : recovery(model, plain)) })
    const messages: Array<ModelMessage> = []
    return async (content) => {
      messages.push({ role: "user", content })
      const { responseMessages, text } = await agent.generate({ messages })
      messages.push(...responseMessages)
      return text
    }
  }
}))
