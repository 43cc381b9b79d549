/**
 * LangChain. Plain: `createAgent`. Recovering: a system prompt, and its middleware for errors, retries and limits. Only tools that
 * read are retried. There is no time limit of a tool, so the tool has one itself.
 */
import { RemoveMessage } from "@langchain/core/messages"
import { ChatOpenAI } from "@langchain/openai"
import {
  AIMessage,
  type BaseMessage,
  createAgent,
  createMiddleware,
  HumanMessage,
  modelCallLimitMiddleware,
  modelRetryMiddleware,
  tool,
  toolCallLimitMiddleware,
  toolErrorMiddleware,
  ToolInvocationError,
  toolRetryMiddleware
} from "langchain"
import { type Contender, settings } from "./contender.ts"
import {
  attempted,
  bounded,
  failureText,
  instructions,
  isWorthARetry,
  limits,
  retryAfterMillis,
  within
} from "./practice.ts"
import type { PlainTool } from "./tools.ts"
import { parametersOf } from "./zodSchemas.ts"

// -----------------------------------------------------------------------------
// Tools
// -----------------------------------------------------------------------------

const definitionOf = (plain: PlainTool) => ({
  name: plain.name,
  description: plain.description,
  schema: parametersOf(plain)
})

interface Config {
  readonly signal?: AbortSignal
}

const plainTool = (plain: PlainTool) =>
  tool(async (args, { signal }: Config) => plain.run(args, signal), definitionOf(plain))

// -----------------------------------------------------------------------------
// Recovery
// -----------------------------------------------------------------------------

/** The middleware for retries waits as long as a field of the error says. */
const recoveringTool = (plain: PlainTool) =>
  tool(async (args, config: Config) => {
    const signal = within(plain, config.signal)
    try {
      return await bounded(signal, attempted(plain, args, signal))
    } catch (error) {
      throw Object.assign(new Error("Failed", { cause: error }), { retryAfterMs: retryAfterMillis(error) })
    }
  }, definitionOf(plain))

const causeOf = (error: unknown) => error instanceof Error ? error.cause : undefined

const waits = { maxRetries: limits.retries, initialDelayMs: limits.firstWaitMillis }

/** With an empty list of tools, this middleware would retry all tools. */
const toolRetry = (tools: ReadonlyArray<PlainTool>) =>
  tools.length === 0 ? [] : [
    toolRetryMiddleware({
      ...waits,
      retryOn: (error) => isWorthARetry(causeOf(error)),
      tools: tools.map(({ name }) => name),
      onFailure: "error"
    })
  ]

/** Without this, a reply whose only call is not valid JSON ends the run. */
const invalidCalls = createMiddleware({
  name: "InvalidCalls",
  afterModel: {
    canJumpTo: ["model"],
    hook: ({ messages }) => {
      const last = messages.at(-1)
      if (!AIMessage.isInstance(last) || last.tool_calls?.length !== 0 || !last.invalid_tool_calls?.length) return
      const advice = new HumanMessage("The arguments of your call are not valid JSON. Call the tool again.")
      return { messages: [new RemoveMessage({ id: last.id ?? "" }), advice], jumpTo: "model" }
    }
  }
})

const middleware = (tools: ReadonlyArray<PlainTool>) => [
  modelCallLimitMiddleware({ runLimit: limits.turns }),
  modelRetryMiddleware({ ...waits, onFailure: "error" }),
  invalidCalls,
  ...tools.flatMap(({ declared, name }) =>
    declared?.maxCalls === undefined ? [] : [toolCallLimitMiddleware({ toolName: name, runLimit: declared.maxCalls })]
  ),
  toolErrorMiddleware({
    onError: (error, { toolCall }) => {
      const plain = tools.find(({ name }) => name === toolCall.name)
      // Without this, LangChain itself tells the model what is wrong with its arguments.
      return ToolInvocationError.isInstance(error) || plain === undefined
        ? undefined
        : failureText(plain, causeOf(error))
    }
  }),
  ...toolRetry(tools.filter(({ acts }) => acts !== true))
]

// -----------------------------------------------------------------------------
// The agent
// -----------------------------------------------------------------------------

export const langChain = settings.map((setting): Contender => ({
  framework: "LangChain",
  setting,
  begin: (url, plain) => {
    const model = new ChatOpenAI({ model: "any", apiKey: "none", configuration: { baseURL: `${url}/v1` } })
    const agent = setting === "plain"
      ? createAgent({ model, tools: plain.map(plainTool) })
      : createAgent({
        model,
        tools: plain.map(recoveringTool),
        systemPrompt: instructions,
        middleware: middleware(plain)
      })
    let messages: Array<BaseMessage> = []
    return async (question) => {
      const state = await agent.invoke(
        { messages: [...messages, new HumanMessage(question)] },
        setting === "plain" ? {} : { timeout: limits.runMillis, recursionLimit: 10 * limits.turns }
      )
      messages = state.messages
      return messages.at(-1)?.text ?? ""
    }
  }
}))
