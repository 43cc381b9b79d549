/**
 * What a careful user of any library writes: instructions, the texts of errors, and which errors are worth a retry.
 *
 * All recovering agents get the same, each in the places that its library documents for it. Where a library has no
 * retry or no time limit for tools, its user writes `retried` or `bounded` into the tool.
 */
import type { Arguments, PlainTool } from "./tools.ts"

/** The limits of every recovering agent. A wait that a service asks for is honoured up to `maxWaitMillis`. */
export const limits = {
  turns: 40,
  toolMillis: 20_000,
  runMillis: 42_000,
  retries: 2,
  firstWaitMillis: 200,
  maxWaitMillis: 10_000,
  resultLength: 500_000
} as const

export const instructions = [
  "You may repeat a failed lookup once.",
  "If a tool that changes something fails, do not repeat the call: find out with another tool whether it took effect.",
  "If a result is incomplete, say so."
].join(" ")

/** How long a tool may take, in milliseconds. */
export const timeOf = ({ declared }: PlainTool): number => declared?.millis ?? limits.toolMillis

// -----------------------------------------------------------------------------
// What the model reads
// -----------------------------------------------------------------------------

/** The text of an error: never the message of an error that its tool does not declare. */
export const failureText = (tool: PlainTool, error: unknown): string => {
  const { acts = false, declared = {}, name } = tool
  const refusal = declared.refusal?.(error)
  if (refusal !== undefined) return refusal
  if (acts) {
    const next = declared.check === undefined ? "Tell the user." : `Call ${declared.check} to find out.`
    return `${name} failed, and it is unknown whether it took effect. Do not repeat this call. ${next}`
  }
  const status = statusOf(error)
  const what = status === undefined ? `${name} failed.` : `The service of ${name} answered ${status}.`
  return mayPass(error) ? `${what} Do not repeat this call now: it was tried several times.` : what
}

/** Tells the model that a tool has been called as often as one run may call it. */
export const limitText = ({ name }: PlainTool): string => `${name} was called too often. Do not call it again.`

/** Whether a further call is over the limit of a tool. */
export const isOverLimit = ({ declared }: PlainTool, earlierCalls: number): boolean =>
  earlierCalls >= (declared?.maxCalls ?? Infinity)

/** A text that a model can take. Any other result stays as it is. */
export const shortened = (result: unknown): unknown =>
  typeof result === "string" && result.length > limits.resultLength
    ? `${result.slice(0, limits.resultLength)}\n(The result is truncated.)`
    : result

// -----------------------------------------------------------------------------
// Retries and time limits
// -----------------------------------------------------------------------------

/** Whether a further attempt may help. */
export const mayPass = (error: unknown): boolean => {
  if (error instanceof ReportedFailure) return true
  if (!isObject(error)) return false
  const { cause, code, errors, message } = error
  const status = statusOf(error)
  return (
    status === 429 || status !== undefined && status >= 500 ||
    ["ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "UND_ERR_SOCKET"].includes(code ?? "") ||
    /connection (terminated|closed|reset|lost)|socket hang up/i.test(message ?? "") ||
    mayPass(cause) || errors?.some(mayPass) === true
  )
}

/** How long a service asks its clients to wait, in milliseconds. */
export const retryAfterMillis = (error: unknown): number | undefined => {
  if (!isObject(error)) return undefined
  const { cause, headers = error.response?.headers } = error
  const value = headers instanceof Headers ? headers.get("retry-after") : headers?.["retry-after"]
  return value === undefined || value === null ? retryAfterMillis(cause) : 1000 * Number(value)
}

/** Whether to try again: it may help, and the service does not ask for a long wait. */
export const isWorthARetry = (error: unknown): boolean =>
  mayPass(error) && !((retryAfterMillis(error) ?? 0) > limits.maxWaitMillis)

const sleep = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

/** Runs a tool, and repeats it if it only reads. */
export const retried = async (
  tool: PlainTool,
  attempt: () => Promise<unknown>,
  wait = sleep
): Promise<unknown> => {
  for (let retry = 0;; retry++) {
    try {
      return await attempt()
    } catch (error) {
      if (tool.acts === true || retry === limits.retries || !isWorthARetry(error)) throw error
      await wait(Math.max(limits.firstWaitMillis * 2 ** retry, retryAfterMillis(error) ?? 0))
    }
  }
}

/** Ends with the signal, even if the work does not listen to it. */
export const bounded = (signal: AbortSignal, work: Promise<unknown>): Promise<unknown> =>
  Promise.race([
    work,
    new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }))
  ])

/** A signal that also aborts when the time of a tool is up. */
export const within = (tool: PlainTool, signal: AbortSignal | undefined): AbortSignal =>
  AbortSignal.any([AbortSignal.timeout(timeOf(tool)), ...(signal === undefined ? [] : [signal])])

/** A result that says that the service has failed. */
export class ReportedFailure extends Error {}

/** Runs a tool once. A result that reports a failure becomes an error, and a text that is too long is shortened. */
export const attempted = async (
  tool: PlainTool,
  args: Arguments,
  signal: AbortSignal | undefined
): Promise<unknown> => {
  const result = await tool.run(args, signal)
  if (tool.declared?.failed?.(result) === true) throw new ReportedFailure("The service reported a failure.")
  return shortened(result)
}

// -----------------------------------------------------------------------------
// Internals
// -----------------------------------------------------------------------------

const statusOf = (error: unknown): number | undefined =>
  isObject(error) ? error.status ?? error.response?.status ?? statusOf(error.cause) : undefined

// What errors of fetch, axios and Node have. Nothing declares their types.
interface Failing {
  readonly message?: string
  readonly status?: number
  readonly code?: string
  readonly headers?: Headers | Readonly<Record<string, string>>
  readonly response?: { readonly status?: number; readonly headers?: Headers | Readonly<Record<string, string>> }
  readonly cause?: unknown
  readonly errors?: ReadonlyArray<unknown>
}

const isObject = (error: unknown): error is Failing => typeof error === "object" && error !== null
