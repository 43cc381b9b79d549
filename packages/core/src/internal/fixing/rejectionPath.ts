/*
 * How a handler's rejection reaches the correction stage unseen by the policies in between. If no fixer corrects it, the
 * policies are told. It passes by the limits, which have already let the call through. If a policy then runs the tool again,
 * that run goes through them. A breaker learns of the rejection, but does not refuse it.
 */
import * as Effect from "effect/Effect"
import type * as Policy from "../../Policy.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import { isRejection } from "../call/ending.ts"
import { current } from "../call/scope.ts"
import { RejectionSignal } from "../failure/controlSignal.ts"
import { isSame } from "./fixerAnswer.ts"

type Run<R = unknown> = (params: unknown) => Effect.Effect<unknown, ToolFailure, R>

/** Wraps a handler so that the policies do not see its rejections, as long as a fixer may still be asked. */
export const heldBack = <R>(handler: Run<R>): Run<R> => (params) =>
  Effect.withFiber((fiber) => {
    const scope = fiber.getRef(current)
    return Effect.catch(handler(params), (failure) =>
      isRejection(failure) && scope.stage?.hears(failure, scope) === true
        ? Effect.die(new RejectionSignal(failure, params))
        : Effect.fail(failure))
  })

/** The runs of a tool under some of its policies. */
export interface Runs<R = unknown> {
  readonly run: Run<R>
  /** Tells the policies of a rejection that no fixer corrected. */
  readonly told: Run<R>
}

/** Returns the runs of a handler under its policies. */
export const runsUnder = (
  policies: ReadonlyArray<Policy.Any>,
  handler: Run,
  wrapped: (run: Run, policy: Policy.Any) => Run
): Runs => {
  const past = (run: Run, index: number) => policies.slice(index).filter(isLimit).reduce(wrapped, run)
  return policies.reduce<Runs>(({ run, told }, policy, index) => {
    const telling = () => wrapped(orTold(past(run, index), told), policy)
    return {
      run: wrapped(run, policy),
      told: isLimit(policy) ? told : policy.kind === "breaker" ? orBypassed(telling(), told) : telling()
    }
  }, { run: handler, told: rejecting(past(handler, 0)) })
}

const isLimit = ({ kind }: Policy.Any): boolean => kind === "concurrency" || kind === "rate"

// If the breaker refuses, it has not told the policies inside it.
const orBypassed = (breaker: Run, told: Run): Run => (params) =>
  Effect.withFiber((fiber) => {
    const { stage } = fiber.getRef(current)
    const verdict = stage?.verdict
    return Effect.catch(breaker(params), (failure) =>
      verdict !== undefined && stage?.verdict === verdict ? told(params) : Effect.fail(failure))
  })

// What a policy runs when it is told of a rejection: at first the rejection comes up from the policies inside it.
const orTold = (run: Run, told: Run): Run => (params) =>
  Effect.withFiber((fiber) => fiber.getRef(current).stage?.verdict === undefined ? run(params) : told(params))

// In place of the handler: fails with the rejection. It counts only once, and only for the arguments that were rejected.
const rejecting = (run: Run): Run => (params) =>
  Effect.withFiber((fiber) => {
    const { stage } = fiber.getRef(current)
    const verdict = stage?.verdict
    if (stage === undefined || verdict === undefined) return run(params)
    if (verdict.params !== params && !isSame(verdict.params, params)) return run(params)
    stage.verdict = undefined
    return Effect.fail(verdict.failure)
  })
