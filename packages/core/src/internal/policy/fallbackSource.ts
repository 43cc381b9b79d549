import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { join } from "../../Certainty.ts"
import { isGuess, marks } from "../anyError/provenance.ts"
import { current } from "../call/frame.ts"
import { SourceFrame } from "../call/gateFrames.ts"
import { doneByOthers, endingOf, isRejection, isWhole } from "../call/handlerEnding.ts"
import { certaintyOf } from "../failure/effectsDone.ts"

// Runs a source, such as a fallback's, that answers in place of a tool. If the source runs tools,
// their attempts count as attempts of the call.
export const sourced = <A, E, R>(
  name: string,
  isTool: boolean,
  ask: () => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(current, (frame) => {
    const source = new SourceFrame(frame)
    const since = marks()
    const answer = Effect.provideService(ask(), current, source)
    // A source that is itself a tool reports its own effects.
    if (!frame.acts || isTool) return answer
    const common = { inside: name, by: "source", acts: true } as const
    frame.note({ _tag: "InnerActs", inside: name, by: "source" })
    return Effect.onExit(answer, (exit) =>
      Effect.sync(() =>
        frame.note({ _tag: "InnerEnded", ...common, ...doneBySource(exit, source.hasBegun, since) })
      ))
  })

/** Succeeds with a function that returns how many attempts of the call began since its last use. */
export const attemptCounter: Effect.Effect<() => number> = Effect.map(current, (frame) => {
  let counted = frame.state.attempts
  return () => {
    const before = counted
    counted = frame.state.attempts
    return counted - before
  }
})

/**
 * Returns the effects of a user's source, as far as its exit shows them.
 *
 * @param hasRunTools whether the source ran tools, which report their own effects
 * @param since how many failures had been marked as coming from inner tools when the source started
 */
const doneBySource = (exit: Exit.Exit<unknown, unknown>, hasRunTools: boolean, since: number) => {
  const { reasons } = Exit.isFailure(exit) ? exit.cause : { reasons: [] }
  // A partial answer is an answer, too.
  const isAnswer = reasons.every((reason) =>
    Cause.isFailReason(reason) && isWhole(reason.error) && reason.error._tag === "PartialData"
  )
  if (isAnswer) return hasRunTools ? effects.nothing : effects.answered
  const { certainty } = endingOf(exit, { isRejection, isBelieved: (failure) => !isGuess(failure) })
  const hasOutcome = reasons.some((reason) =>
    Cause.isFailReason(reason) && isWhole(reason.error) && reason.error._tag === "ToolUnavailable" &&
    reason.error.outcome !== undefined
  )
  const own = hasRunTools && !hasOutcome ? "not_executed" : certainty
  return { certainty: join(own, certaintyOf(doneByOthers(exit, since))) }
}

const effects = {
  nothing: { certainty: "not_executed" },
  answered: { certainty: "not_executed", answered: true }
} as const
