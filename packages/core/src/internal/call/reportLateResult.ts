import * as Effect from "effect/Effect"
import type { Certainty } from "../../Certainty.ts"
import * as Deadline from "../../Deadline.ts"
import * as Observer from "../../Observer.ts"
import { runReporter } from "../fiber/runReporter.ts"
import { current, detached } from "./scope.ts"

/** Reports a late result. The observer may run tools: it is not part of the call, and has no deadline. */
export const reportLateResult = (result: Observer.LateResult): Effect.Effect<void> =>
  Effect.flatMap(Observer.current, ({ onLateResult = logLateResult }) => runReporter(() => onLateResult(result))).pipe(
    Effect.provideService(current, detached),
    Effect.provideService(Deadline.current, Infinity)
  )

const logLateResult = (result: Observer.LateResult): Effect.Effect<void> => {
  const { attempt, certainty, id, key, tool } = result
  return Effect.annotateLogs(Effect.logWarning(`${tool} ${ending(result)}. ${certaintyText[certainty]}`), {
    tool,
    call: id,
    key,
    attempt,
    certainty
  })
}

const ending = ({ code, request }: Observer.LateResult): string => {
  if (request !== undefined) return `sent a request after it had ended: ${request.method} ${request.url}`
  if (code === "interrupted") return "was interrupted"
  return `ended${code === undefined ? "" : ` (${code})`} after it had been abandoned`
}

const certaintyText: Readonly<Record<Certainty, string>> = {
  executed: "It took effect.",
  not_executed: "It has done nothing.",
  unknown: "Whether it took effect is unknown."
}
