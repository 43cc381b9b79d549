import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as LogLevel from "effect/LogLevel"
import * as References from "effect/References"
import type { CallEvent } from "../../CallEvent.ts"
import { level } from "../../FailureLog.ts"
import { currentContext } from "../effect/contained.ts"
import { textAt } from "../error/look.ts"
import { withoutInsides } from "../error/words.ts"
import { cut, oneLine } from "../value/text.ts"

/** What a line tells of a failure, and of the error behind it. */
interface Told {
  readonly code: string
  readonly detail: string
  readonly cause?: unknown
}

/**
 * Logs a failure that was handled.
 */
export const logHandled = (tool: string, event: CallEvent & { readonly _tag: "FailureHandled" }): void => {
  const context = currentContext<never>()
  const severity = severityIn((reference) => Context.get(context, reference))
  if (severity === undefined) return
  Effect.runForkWith(context)(line(severity, event.inside ?? tool, event, becameOf(event)))
}

/**
 * Logs a failure.
 *
 * @param who the tool, or the model
 * @param became what became of it, in a sentence
 */
export const logFailure = (who: string, failure: Told, became: string): Effect.Effect<void> =>
  Effect.withFiber((fiber: Fiber.Fiber<unknown, unknown>) => {
    const severity = severityIn((reference) => fiber.getRef(reference))
    return severity === undefined ? Effect.void : line(severity, who, failure, became)
  })

/**
 * Is anything logged at all in a fiber?
 */
export const isLogged = (fiber: Fiber.Fiber<unknown, unknown>): boolean =>
  severityIn((reference) => fiber.getRef(reference)) !== undefined

/**
 * "1 of 2 in 1.0 s", as far as it is known.
 */
export const retryText = ({ limit, number, wait }: {
  readonly number?: number
  readonly limit?: number
  readonly wait?: Duration.Duration
}): string => {
  const count = number === undefined ? "" : limit === undefined ? ` ${number}` : ` ${number} of ${limit}`
  return `Retry${count}${wait === undefined ? "" : ` in ${seconds(wait)}`}.`
}

const seconds = (duration: Duration.Duration): string => {
  const seconds = Duration.toSeconds(duration)
  return `${seconds.toFixed(seconds < 1 ? 2 : 1)} s`
}

const severityIn = (
  get: <A>(reference: Context.Reference<A>) => A
): LogLevel.Severity | undefined => {
  const severity = get(level)
  return severity === "None" || LogLevel.isGreaterThan(get(References.MinimumLogLevel), severity) ? undefined : severity
}

// What a logger dies of is not the call's.
const line = (severity: LogLevel.Severity, who: string, { cause, code, detail }: Told, became: string) =>
  Effect.ignoreCause(
    Effect.logWithLevel(severity)(`${who} failed (${code}): ${sentence(detail)} ${became}${causedBy(cause, detail)}`)
  )

const sentence = (detail: string): string => oneLine(detail).replace(/[^.!?:…)]$/, "$&.")

// Without addresses, paths and secrets: an error may quote what it was given.
const causedBy = (cause: unknown, detail: string): string => {
  const message = cut(oneLine(withoutInsides(textAt(cause, "message") ?? "")), 500)
  if (message === "" || detail.includes(message)) return ""
  const name = /^\w{1,60}$/.exec(textAt(cause, "name") ?? "")?.[0] ?? "Error"
  return ` Cause: ${name}: ${message}`
}

const becameOf = ({ by, policy, retry }: CallEvent & { readonly _tag: "FailureHandled" }): string => {
  if (retry !== undefined) return retryText(retry)
  switch (by) {
    case "fallback":
      return "The fallback was asked."
    case "catch":
      return "The handler of a catch was asked."
    case "reconcile":
      return "A check looked for what became of the call."
    case "paginate":
      return "The result goes without the page."
    case "fix":
      return "A fixer corrected the arguments."
    case "answered":
      return "A fixer answered in its place."
    case "escalated":
      return "A fixer told the model why."
    case "stopped":
      return "A fixer stopped the run."
    case "ignored":
      return "The call went on without it."
    case "retry":
    case "timeout":
    case "deadline":
    case "concurrency":
    case "rate":
    case "breaker":
    case "map":
    case "custom":
      return `The policy '${policy ?? by}' handled it.`
  }
}
