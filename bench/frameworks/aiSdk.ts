/**
 * The AI SDK. Plain: a `ToolLoopAgent`. Recovering: timeouts of tools, and `repairToolCall` with the strategy of its
 * documentation: the model is asked for better inputs.
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import {
  generateText,
  isStepCount,
  NoSuchToolError,
  Output,
  tool,
  type ToolCallRepairFunction,
  ToolLoopAgent,
  type ToolSet
} from "ai"
import { z } from "zod"
import { type Contender, limits, question, settings } from "./contender.ts"
import type { PlainTool } from "./tools.ts"

const kinds = { string: z.string(), "integer?": z.number().int().optional() }

/** The schema of a tool's parameters. */
export const parametersOf = ({ parameters }: PlainTool) =>
  z.object(Object.fromEntries(Object.entries(parameters).map(([name, kind]) => [name, kinds[kind]])))

const toolOf = (plain: PlainTool) =>
  tool({
    description: plain.description,
    inputSchema: parametersOf(plain),
    execute: (args, { abortSignal }) => plain.run(args, abortSignal)
  })

export const aiSdk = settings.map((setting): Contender => ({
  framework: "AI SDK",
  setting,
  ask: async (url, plain) => {
    const model = createOpenAICompatible({ name: "any", baseURL: `${url}/v1`, supportsStructuredOutputs: true })("any")
    const tools: ToolSet = Object.fromEntries(plain.map((one) => [one.name, toolOf(one)]))
    const repairToolCall: ToolCallRepairFunction<ToolSet> = async ({ error, inputSchema, toolCall }) => {
      const named = plain.find(({ name }) => name === toolCall.toolName)
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
    const agent = new ToolLoopAgent({
      model,
      tools,
      ...(setting === "recovering"
        ? {
          stopWhen: isStepCount(limits.turns),
          maxRetries: limits.retries,
          timeout: { toolMs: limits.toolMillis, totalMs: limits.runMillis },
          repairToolCall
        }
        : {})
    })
    return (await agent.generate({ prompt: question })).text
  }
}))
