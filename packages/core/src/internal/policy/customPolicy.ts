/*
 * A policy of a user's own, watched from both sides, so that the account of the call is right whatever it does:
 *
 *     outer ── Visit: the policy's own code ─┬─ Branch: what is inside, run once
 *                                            └─ Branch: what is inside, run again, or beside
 *
 * Each run of what is inside has a branch of its own. What a branch says of its answer counts once it has succeeded: of several the
 * one whose answer the policy gives, or else the last. A failure that it ends with was handled, unless the policy ends with the same
 * one. The time in which nothing inside runs was waited. What still runs when the policy has ended was left behind.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Defect from "../../Defect.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import { current } from "../call/frame.ts"
import type { PolicyName } from "../call/policyKind.ts"
import { ended, noun } from "../call/userCode.ts"
import { diedOf, PolicyFrame } from "./policyFrame.ts"

type Run = (params: unknown) => Effect.Effect<unknown, ToolFailure, unknown>

/** @param wrap the policy's own, given what is inside */
export const watched = (policy: PolicyName, tool: string, wrap: (run: Run) => Run, run: Run): Run => {
  const who = `The policy '${policy.name ?? policy.kind}' of '${tool}'`
  const around = wrap(observed(run))
  if (typeof around !== "function") {
    throw new TypeError(`${who} wraps a run in ${noun(around)}, which is not a function.`)
  }
  return (params) =>
    Effect.withFiber((fiber) => {
      const visit = new PolicyFrame(fiber.getRef(current), policy, fiber)
      return Effect.suspend(() => ended(who, around(params))).pipe(
        Effect.provideService(current, visit),
        Effect.onExit((exit) => {
          visit.finish(exit)
          return lost(visit, tool, exit)
        }),
        Effect.matchCauseEffect({
          onFailure: (cause) => visit.signal === undefined ? Effect.failCause(cause) : Effect.die(visit.signal),
          onSuccess: (value) => visit.isAnsweredBy(value) ? Effect.succeed(value) : Effect.die(visit.signal)
        })
      )
    })
}

// A defect of a run that the policy made something else of would be seen by nobody.
const lost = ({ defects }: PolicyFrame, tool: string, exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> => {
  const told = diedOf(exit)
  return Effect.forEach(
    defects.filter((defect) => !told.includes(defect)),
    (defect) => Defect.report(`The tool ${tool} failed because of a fault of its own`, Cause.die(defect)),
    { discard: true }
  )
}

// What is inside, each time that the policy runs it.
const observed = (run: Run): Run => (params) =>
  Effect.withFiber((fiber) => {
    const visit = fiber.getRef(current)
    if (!(visit instanceof PolicyFrame)) return run(params)
    const branch = visit.branch(fiber)
    return Effect.onExit(
      Effect.provideService(run(params), current, branch),
      (exit) => Effect.sync(() => visit.rejoin(branch, fiber, exit))
    )
  })
