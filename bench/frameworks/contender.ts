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

export const settings = ["plain", "recovering"] as const

export const question = "The user's question."
