import type { RunSuspended, Suspension } from "../../AgentFailure.ts"
import * as Transcript from "../../Transcript.ts"
import { withFields } from "../failure/failureClass.ts"

/** Returns a run that waits as it may be shown: without the secrets of its calls, so that it cannot be resumed. */
export const withoutSecrets = (waiting: RunSuspended): RunSuspended =>
  withFields(waiting, {
    transcript: Transcript.shown(waiting.transcript),
    suspension: shown(waiting.suspension)
  })

const shown = (suspension: Suspension): Suspension => {
  const { outcomes, reply, transcript } = suspension
  return {
    ...suspension,
    transcript: Transcript.shown(transcript),
    reply: {
      ...reply,
      calls: reply.calls.map(({ shown, ...call }) => shown === undefined ? call : { ...call, arguments: shown })
    },
    outcomes: outcomes.map((outcome, index) => {
      const isSecret = reply.calls[index]?.shown !== undefined
      if (!isSecret || outcome.arguments === undefined) return outcome
      const { arguments: _, ...rest } = outcome
      return rest
    })
  }
}
