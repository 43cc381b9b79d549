/**
 * LangChain. Plain: `createAgent`. Recovering: its middleware for errors and retries. As its documentation prefers,
 * the model reads the type of an error and not the message. Only tools that read are retried. There is no timeout of
 * a tool, so the whole run has one.
 */
import { ChatOpenAI } from "@langchain/openai"
import {
  createAgent,
  modelCallLimitMiddleware,
  modelRetryMiddleware,
  tool,
  toolErrorMiddleware,
  ToolInvocationError,
  toolRetryMiddleware
} from "langchain"
import { parametersOf } from "./aiSdk.ts"
import { type Contender, limits, mayPass, question, settings } from "./contender.ts"
import type { PlainTool } from "./tools.ts"

const toolOf = (plain: PlainTool) =>
  tool(async (args, { signal }: { readonly signal?: AbortSignal }) => plain.run(args, signal), {
    name: plain.name,
    description: plain.description,
    schema: parametersOf(plain)
  })

const waits = { maxRetries: limits.retries, initialDelayMs: limits.firstWaitMillis }

const middleware = (tools: ReadonlyArray<PlainTool>) => [
  modelCallLimitMiddleware({ runLimit: limits.turns }),
  modelRetryMiddleware({ ...waits, onFailure: "error" }),
  toolErrorMiddleware({
    onError: (error, { toolCall }) =>
      // Without this, LangChain itself tells the model what is wrong with its arguments.
      ToolInvocationError.isInstance(error)
        ? undefined
        : `Tool '${toolCall.name}' failed with ${error instanceof Error ? error.name : "an error"}.`
  }),
  toolRetryMiddleware({
    ...waits,
    retryOn: mayPass,
    tools: tools.filter(({ acts }) => acts !== true).map(({ name }) => name),
    onFailure: "error"
  })
]

export const langChain = settings.map((setting): Contender => ({
  framework: "LangChain",
  setting,
  ask: async (url, plain) => {
    const agent = createAgent({
      model: new ChatOpenAI({ model: "any", apiKey: "none", configuration: { baseURL: `${url}/v1` } }),
      tools: plain.map(toolOf),
      middleware: setting === "recovering" ? middleware(plain) : []
    })
    const { messages } = await agent.invoke(
      { messages: [{ role: "user", content: question }] },
      setting === "recovering" ? { timeout: limits.runMillis, recursionLimit: 5 * limits.turns } : {}
    )
    return messages.at(-1)?.text ?? ""
  }
}))
