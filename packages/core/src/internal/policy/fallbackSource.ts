import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { join } from "../../Certainty.ts"
import { current } from "../call/frame.ts"
import { SourceFrame } from "../call/gate.ts"
import { doneByOthers, endingOf, isRejection, isWhole } from "../call/handlerEnding.ts"
import { isGuess, marks } from "../error/guess.ts"
import { certaintyOf } from "../failure/done.ts"

// What answers for a tool: attempts of the tools that it asks count.
export const sourced = <A, E, R>(
  name: string,
  isTool: boolean,
  ask: () => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(current, (frame) => {
    const source = new SourceFrame(frame)
    const since = marks()
    const asked = Effect.provideService(ask(), current, source)
    // What a tool does, it says itself.
    if (!frame.acts || isTool) return asked
    const of = { inside: name, by: "source", acts: true } as const
    frame.note({ _tag: "InnerActs", inside: name, by: "source" })
    return Effect.onExit(asked, (exit) =>
      Effect.sync(() => frame.note({ _tag: "InnerEnded", ...of, ...doneBy(exit, source.hasBegun, since) })))
  })

/**
 * What a user's source did, as far as its end tells.
 *
 * @param hasRunTools what those did, they say themselves
 * @param since how many failures of tools there were when it began
 */
const doneBy = (exit: Exit.Exit<unknown, unknown>, hasRunTools: boolean, since: number) => {
  const { reasons } = Exit.isFailure(exit) ? exit.cause : { reasons: [] }
  // A part is an answer, too.
  const isAnswer = reasons.every((reason) =>
    Cause.isFailReason(reason) && isWhole(reason.error) && reason.error._tag === "PartialData"
  )
  if (isAnswer) return hasRunTools ? did.nothing : did.answered
  const { certainty } = endingOf(exit, { isRejection, isBelieved: (failure) => !isGuess(failure) })
  const isSaid = reasons.some((reason) =>
    Cause.isFailReason(reason) && isWhole(reason.error) && reason.error._tag === "ToolUnavailable" &&
    reason.error.outcome !== undefined
  )
  const own = hasRunTools && !isSaid ? "not_executed" : certainty
  return { certainty: join(own, certaintyOf(doneByOthers(exit, since))) }
}

const did = {
  nothing: { certainty: "not_executed" },
  answered: { certainty: "not_executed", answered: true }
} as const
