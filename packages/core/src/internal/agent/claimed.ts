import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import type { RunRefused, Suspension } from "../../AgentFailure.ts"
import { Claims } from "../../Claims.ts"
import { requireEffect } from "../call/runUserCode.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import { runContained } from "../fiber/runContained.ts"
import { journalStep, type Recording } from "./journalStep.ts"
import { refusalOfResume } from "./runInput.ts"

/**
 * Claims a suspension, if there are claims. Returns the refusal of the run if it must not go on.
 *
 * A replay of the run claims again, and the journal says that the claim is its own. If the process died before the journal
 * knew, the run is refused: nobody knows whose the claim is.
 */
export const claimed = (run: Recording, suspension: Suspension): Effect.Effect<RunRefused | undefined> =>
  Effect.withFiber((fiber) => {
    const claims = Context.getOrUndefined(fiber.context, Claims)
    if (claims === undefined) return Effect.undefined
    const { id } = suspension
    const refuse = (why: string) =>
      refusalOfResume(
        why,
        [{ path: ["suspension", "id"], expected: "an unclaimed suspension", actual: id }],
        suspension
      )
    const claim = Effect.exit(Effect.suspend(() => runContained(requireEffect("The claims", claims.claim(id)))))
    return Effect.flatMap(claim, (exit) => {
      if (Exit.isFailure(exit)) {
        return Effect.as(
          reportDefect("A suspension could not be claimed", exit.cause),
          refuse("it could not be claimed. Try again later")
        )
      }
      const isOwn: unknown = exit.value
      const step = { name: `resume/${id}`, success: Schema.Boolean, error: Schema.Never }
      return Effect.map(
        journalStep(run, () => step, Effect.succeed(isOwn === true), () => Effect.succeed(false)),
        (isOwn) => isOwn ? undefined : refuse("it has been resumed before, or is being resumed now")
      )
    })
  })
