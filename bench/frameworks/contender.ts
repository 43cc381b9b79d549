import type { PlainTool } from "./tools.ts"

/** One way to build an agent of plain tools. */
export interface Contender {
  readonly framework: string
  /** `plain`: as the first page shows it. `recovering`: with its documented features for recovery. */
  readonly setting: "plain" | "recovering"
  /**
   * Builds an agent, whose model is at `url` and speaks Chat Completions. The function that is returned asks the agent, and
   * returns the text of its answer. A second question goes on with the conversation.
   */
  readonly begin: (url: string, tools: ReadonlyArray<PlainTool>) => (question: string) => Promise<string>
}

/** The file of each library, by the name that tables give it. */
export const libraries = {
  Fallible: "fallible.ts",
  "AI SDK": "aiSdk.ts",
  LangChain: "langChain.ts",
  Mastra: "mastra.ts",
  "OpenAI Agents": "openAiAgents.ts",
  "effect/ai": "effectAi.ts"
}

export const settings = ["plain", "recovering"] as const

export const question = "The user's question."
