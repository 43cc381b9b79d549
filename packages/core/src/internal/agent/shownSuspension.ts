import * as Struct from "effect/Struct"
import type { Reply } from "../../Model.ts"
import type { Suspended, ToolOutcome } from "../../ToolOutcome.ts"
import * as Transcript from "../../Transcript.ts"

interface Waiting {
  readonly transcript: Transcript.Transcript
  readonly reply: Reply
  readonly outcomes: ReadonlyArray<ToolOutcome>
}

/** Returns a suspension as it may be shown: without the secrets of its calls. A call that had one cannot go on from it. */
export const shownSuspension = <A extends Waiting>(suspension: A): A => {
  const { outcomes, reply, transcript } = suspension
  const shown = { ...suspension, transcript: Transcript.shown(transcript) }
  if (reply.calls.every(({ shown }) => shown === undefined)) return shown
  // What is of the provider's own has the secrets, too.
  return {
    ...shown,
    reply: {
      ...Struct.omit(reply, ["native"]),
      calls: reply.calls.map(({ shown, ...call }) => shown === undefined ? call : { ...call, arguments: shown })
    },
    outcomes: outcomes.map((outcome) => outcome._tag === "Suspended" ? withoutArguments(outcome) : outcome)
  }
}

const withoutArguments = (outcome: Suspended): Suspended => Struct.omit(outcome, ["arguments", "salt"])
