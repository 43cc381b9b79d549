import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { effectsOfTools, endingOf, isWhole, readingOfFallback } from "../call/ending.ts"
import { note } from "../call/note.ts"
import { sourceIn } from "../call/partScope.ts"
import { current } from "../call/scope.ts"
import { endsSoFar } from "../call/toolEnds.ts"
import type { Effects } from "../failure/effects.ts"

// Runs a source, such as a fallback's, that answers in place of a tool. If the source runs tools,
// their attempts count as attempts of the call.
export const askSource = <A, E, R>(
  name: string,
  isTool: boolean,
  ask: () => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(current, (scope) => {
    const source = sourceIn(scope)
    const answer = Effect.provideService(ask(), current, source)
    // A source that is itself a tool reports its own effects.
    if (!scope.acts || isTool) return answer
    const since = endsSoFar()
    const attempt = source.attempt
    note(scope, { _tag: "InnerActs", inside: name, by: "source" })
    return Effect.onExit(answer, (exit) =>
      Effect.sync(() => {
        const what = doneBySource(exit, source.attempt !== attempt, since)
        note(scope, { _tag: "InnerEnded", inside: name, by: "source", acts: true, ...what })
      }))
  })

/** Succeeds with a function that returns how many attempts of the call began since its last use. */
export const attemptCounter: Effect.Effect<() => number> = Effect.map(current, (scope) => {
  let counted = scope.state.attempts
  return () => {
    const before = counted
    counted = scope.state.attempts
    return counted - before
  }
})

/**
 * Returns the effects of a user's source, as far as its exit shows them.
 *
 * @param hasRunTools whether the source ran tools, which report their own effects
 * @param since how many tools had ended when the source started
 */
const doneBySource = (
  exit: Exit.Exit<unknown, unknown>,
  hasRunTools: boolean,
  since: number
): { readonly effects: Effects; readonly answered?: true; readonly doubt?: "soft" } => {
  const { reasons } = Exit.isFailure(exit) ? exit.cause : { reasons: [] }
  const failures = reasons.flatMap((reason) =>
    Cause.isFailReason(reason) && isWhole(reason.error) ? [reason.error] : []
  )
  // A partial answer is an answer, too.
  if (failures.length === reasons.length && failures.every(({ _tag }) => _tag === "PartialData")) {
    return hasRunTools ? { effects: "none" } : { effects: "none", answered: true }
  }
  const says = failures.some(({ outcome }) => outcome !== undefined)
  if (hasRunTools && !says) return { effects: Exit.isSuccess(exit) ? "none" : effectsOfTools(exit, since) }
  const { effects, isSoft } = endingOf(exit, { ...readingOfFallback, since })
  return isSoft ? { effects, doubt: "soft" } : { effects }
}
