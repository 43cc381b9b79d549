import type { PlainTool } from "./tools.ts"

/** One way to build an agent of plain tools. */
export interface Contender {
  readonly framework: string
  /** `plain`: as the first page shows it. `recovering`: with its documented features for recovery. */
  readonly setting: "plain" | "recovering"
  /** Asks the agent, whose model is at `url` and speaks Chat Completions, and returns the text of its answer. */
  readonly ask: (url: string, tools: ReadonlyArray<PlainTool>) => Promise<string>
}

export const settings = ["plain", "recovering"] as const

export const question = "The user's question."

/** Limits that every recovering agent gets, if its framework has such a setting. */
export const limits = { turns: 20, toolMillis: 5000, runMillis: 12_000, retries: 2, firstWaitMillis: 200 } as const

/**
 * Whether trying again may help: what a user passes to `retryOn` of LangChain and to `while` of Effect. Fallible brings
 * its own.
 */
export const mayPass = (error: unknown): boolean => {
  if (typeof error !== "object" || error === null) return false
  const { cause, code, errors, response, status } = error as Failing
  const answered = status ?? response?.status
  return (
    answered === 429 || answered !== undefined && answered >= 500 ||
    ["ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "UND_ERR_SOCKET"].includes(code ?? "") ||
    mayPass(cause) || errors?.some(mayPass) === true
  )
}

// What errors of fetch, axios and Node have. Nothing declares their types.
interface Failing {
  readonly status?: number
  readonly code?: string
  readonly response?: { readonly status?: number }
  readonly cause?: unknown
  readonly errors?: ReadonlyArray<unknown>
}
