import { redact } from "@fallible/errors"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as LogLevel from "effect/LogLevel"
import * as References from "effect/References"
import type { CallEvent } from "../../CallEvent.ts"
import * as Observer from "../../Observer.ts"
import { currentContext } from "../fiber/runContained.ts"
import { cut, oneLine } from "../value/text.ts"
import { attempt } from "../value/untrusted.ts"

/** The parts of a failure that a log line shows. */
interface LoggedFailure {
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
  Effect.runForkWith(context)(writeLine(severity, event.inside ?? tool, event, consequenceOf(event)))
}

/**
 * Logs a failure.
 *
 * @param subject the tool or the model that failed
 * @param consequence a sentence that says what happened next
 * @param isInDoubt true if the call may have taken effect; the line is then at least a warning
 */
export const logFailure = (
  subject: string,
  failure: LoggedFailure,
  consequence: string,
  isInDoubt = false
): Effect.Effect<void> =>
  Effect.withFiber((fiber: Fiber.Fiber<unknown, unknown>) => {
    const severity = severityIn((reference) => fiber.getRef(reference), isInDoubt ? "Warn" : "Trace")
    return severity === undefined ? Effect.void : writeLine(severity, subject, failure, consequence)
  })

/**
 * Returns a sentence such as "Retry 1 of 2 in 1.0 s.". Parts that are unknown are left out.
 */
export const retryText = ({ limit, number, wait }: {
  readonly number?: number
  readonly limit?: number
  readonly wait?: Duration.Duration
}): string => {
  const count = number === undefined ? "" : limit === undefined ? ` ${number}` : ` ${number} of ${limit}`
  return `Retry${count}${wait === undefined ? "" : ` in ${secondsText(wait)}`}.`
}

const secondsText = (duration: Duration.Duration): string => {
  const seconds = Duration.toSeconds(duration)
  return `${seconds.toFixed(seconds < 1 ? 2 : 1)} s`
}

const severityIn = (
  get: <A>(reference: Context.Reference<A>) => A,
  min: LogLevel.Severity = "Trace"
): LogLevel.Severity | undefined => {
  const { failureLevel: wanted = "Debug" } = get(Observer.current)
  if (wanted === "None") return undefined
  const severity = LogLevel.isGreaterThan(min, wanted) ? min : wanted
  return LogLevel.isGreaterThan(get(References.MinimumLogLevel), severity) ? undefined : severity
}

// A defect in a logger must not affect the call.
const writeLine = (
  severity: LogLevel.Severity,
  subject: string,
  { cause, code, detail }: LoggedFailure,
  consequence: string
) =>
  Effect.ignoreCause(
    Effect.logWithLevel(severity)(
      `${subject} failed (${code}): ${asSentence(detail)} ${consequence}${causeText(cause, detail)}`
    )
  )

const asSentence = (detail: string): string => oneLine(detail).replace(/[^.!?:…)]$/, "$&.")

// An error may quote its input, so addresses, paths and secrets are removed.
const causeText = (cause: unknown, detail: string): string => {
  const message = cut(redact(textAt(cause, "message")), 500)
  if (message === "" || detail.includes(message)) return ""
  const name = /^\w{1,60}$/.exec(textAt(cause, "name"))?.[0] ?? "Error"
  return ` Cause: ${name}: ${message}`
}

const consequenceOf = ({ by, policy, retry }: CallEvent & { readonly _tag: "FailureHandled" }): string => {
  if (retry !== undefined) return retryText(retry)
  switch (by) {
    case "fallback":
      return "The fallback was tried."
    case "catch":
      return "A catch handled it."
    case "reconcile":
      return "A check looked for the outcome."
    case "paginate":
      return "The result is returned without this page."
    case "fix":
      return "A fixer corrected the arguments."
    case "answered":
      return "A fixer answered in its place."
    case "escalated":
      return "A fixer told the model why."
    case "stopped":
      return "A fixer stopped the run."
    case "ignored":
      return "The call continued without the correction."
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

const textAt = (value: unknown, key: string): string => {
  const text: unknown = attempt(() => Reflect.get(Object(value), key))
  return typeof text === "string" ? text.slice(0, 2_000) : ""
}
