/*
 * How a handler's rejection reaches the correction stage unseen by the policies in between. If no fixer corrects it, the
 * policies are told. It passes by the limits, which have already let the call through. If a policy then runs the tool again,
 * that run goes through them. A breaker learns of the rejection, but does not refuse it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Policy from "../../Policy.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import { isRejection } from "../call/ending.ts"
import { current, type Stage } from "../call/scope.ts"
import { RejectionSignal } from "../failure/controlSignal.ts"
import { isBuiltIn } from "../policy/builtInPolicy.ts"
import { withoutOwnFiber, withOwnFiber } from "../policy/ownFiber.ts"
import { isSame } from "./fixerAnswer.ts"

type Run = (params: unknown) => Effect.Effect<unknown, ToolFailure, unknown>

// Wraps a handler so that the policies do not see its rejections, as long as a fixer may still be asked.
const heldBack = (handler: Run): Run => (params) =>
  Effect.withFiber((fiber) => {
    const scope = fiber.getRef(current)
    return Effect.catch(handler(params), (failure) =>
      isRejection(failure) && scope.stage?.hears(failure, scope) === true
        ? Effect.die(new RejectionSignal(failure, params))
        : Effect.fail(failure))
  })

/**
 * The stage that is telling its policies of a rejection, until one of them runs the tool again: that run has to go through
 * the limits that the rejection has passed by.
 */
export const tellingStage: Context.Reference<Stage | undefined> = Context.Reference<Stage | undefined>(
  "@fallible/core/rejectionPath/telling",
  { defaultValue: () => undefined }
)

/**
 * Returns the run of a handler under its policies. While a stage has a verdict, the run tells the policies of it.
 *
 * @param wrapped wraps a run in a policy. A user's policy is wrapped once, since it may keep something for each tool
 */
export const runUnder = (
  policies: ReadonlyArray<Policy.Any>,
  handler: Run,
  wrapped: (run: Run, policy: Policy.Any) => Run
): Run => {
  const throughLimits = (run: Run, index: number) => policies.slice(index).filter(isLimit).reduce(wrapped, run)
  const innermost = (handler: Run) => rejecting(heldBack(handler), throughLimits(heldBack(handler), 0))
  return policies.reduce<Run>((run, policy, index) => {
    const whole = wrapped(isTimeLimit(policy) ? run : inside(run, throughLimits(run, index)), policy)
    return isLimit(policy) ? passedBy(whole, run) : isBreaker(policy) ? notRefusing(whole, run) : whole
  }, withOwnFiber(innermost(handler), innermost(withoutOwnFiber(handler))))
}

const isLimit = (policy: Policy.Any): boolean =>
  isBuiltIn(policy) && (policy.kind === "concurrency" || policy.kind === "rate")

// It runs the tool once.
const isTimeLimit = (policy: Policy.Any): boolean => isBuiltIn(policy) && policy.kind === "timeout"

const isBreaker = (policy: Policy.Any): boolean => isBuiltIn(policy) && policy.kind === "breaker"

// What a policy runs. If it runs the tool again after it was told, the run goes through the limits outside the policy.
const inside = (run: Run, limited: Run): Run => (params) =>
  Effect.withFiber((fiber) => {
    const { stage } = fiber.getRef(current)
    return stage !== undefined && stage.verdict === undefined && fiber.getRef(tellingStage) === stage
      ? Effect.provideService(limited(params), tellingStage, undefined)
      : run(params)
  })

// A limit has already let the call through.
const passedBy = (limited: Run, run: Run): Run => (params) =>
  Effect.withFiber((fiber) => fiber.getRef(current).stage?.verdict === undefined ? limited(params) : run(params))

// A breaker learns of the rejection. If it refuses, it has not told the policies inside it.
const notRefusing = (breaker: Run, run: Run): Run => (params) =>
  Effect.withFiber((fiber) => {
    const { stage } = fiber.getRef(current)
    const verdict = stage?.verdict
    if (verdict === undefined) return breaker(params)
    return Effect.catch(
      breaker(params),
      (failure) => stage?.verdict === verdict ? run(params) : Effect.fail(failure)
    )
  })

// The rejection comes up in place of the handler: once, and only for the arguments that were rejected.
const rejecting = (handler: Run, limited: Run): Run => (params) =>
  Effect.withFiber((fiber) => {
    const { stage } = fiber.getRef(current)
    const verdict = stage?.verdict
    if (stage === undefined || verdict === undefined) return handler(params)
    if (verdict.params !== params && !isSame(verdict.params, params)) {
      return Effect.provideService(limited(params), tellingStage, undefined)
    }
    stage.verdict = undefined
    return Effect.fail(verdict.failure)
  })
