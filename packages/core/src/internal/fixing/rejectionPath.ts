/*
 * How a handler's rejection reaches the correction stage unseen by the policies in between, and how
 * the stage's verdict comes back. A verdict is a rejection that no fixer could correct. The policies
 * run once more to see the verdict. On this extra pass, concurrency limits, rate limits and breakers
 * that have already let the call through do not count it twice.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { ToolFailure } from "../../ToolFailure.ts"
import { current, type Stage } from "../call/frame.ts"
import { isRejection } from "../call/handlerEnding.ts"
import { RejectionSignal } from "../failure/controlSignal.ts"
import { isSame } from "./fixerAnswer.ts"

type Run<R = unknown> = (params: unknown) => Effect.Effect<unknown, ToolFailure, R>

const none: ReadonlyArray<never> = []

// The cast is safe: a tool's requirements include the requirements of its fixers.
const asNeeded = <A, R, E = never>(self: Effect.Effect<A, E, unknown>) => self as Effect.Effect<A, E, R>

/**
 * Wraps a handler so that the policies do not see its rejections, as long as a fixer may still be
 * asked. The comment at the top of `correctionStage` explains why.
 */
export const heldBack = <R>(handler: Run<R>): Run<R> => (params) =>
  Effect.withFiber((fiber) => {
    const frame = fiber.getRef(current)
    const { stage } = frame
    const verdict = stage?.verdict
    if (verdict !== undefined && (verdict.params === params || isSame(verdict.params, params))) {
      stage!.verdict = undefined
      return Effect.fail(verdict.failure)
    }
    const holding: Run<R> = (params) =>
      Effect.catch(handler(params), (failure) =>
        isRejection(failure) && stage?.hears(failure, frame) === true
          ? Effect.die(new RejectionSignal(failure, params))
          : Effect.fail(failure))
    const bypassed = fiber.getRef(bypassedGates)
    return bypassed.stage === stage ? throughGates(bypassed.gates, holding)(params) : holding(params)
  })

/** The gates ({@link lettingThrough}) that a verdict has bypassed on its way to the handler, outermost first. */
const bypassedGates = Context.Reference<{ readonly stage?: Stage; readonly gates: ReadonlyArray<Run> }>(
  "@fallible/core/rejectionPath/passedBy",
  { defaultValue: () => ({ gates: none }) }
)

/** The run that a gate lets through in place of the run that it wraps; `undefined` if there is none. */
const replacementRun = Context.Reference<Run | undefined>("@fallible/core/rejectionPath/instead", {
  defaultValue: () => undefined
})

const throughGates = <R>(gates: ReadonlyArray<Run>, run: Run<R>): Run<R> =>
  gates.reduceRight<Run<R>>(
    (run, gate) => (params) =>
      asNeeded<unknown, R, ToolFailure>(Effect.provideService(gate(params), replacementRun, run)),
    run
  )

/**
 * Wraps a run in a gate: a concurrency limit, a rate limit or a breaker. A verdict bypasses the gate.
 * If the handler runs again after the verdict, that run goes through the gate.
 *
 * @param learns true if the gate learns from how calls end, as a breaker does. A verdict bypasses
 * that gate only if the gate refuses the call
 */
export const lettingThrough = <R>(wrap: (run: Run<R>) => Run<R>, run: Run<R>, learns: boolean): Run<R> => {
  const gate = wrap((params) =>
    Effect.withFiber((fiber) => {
      const other = fiber.getRef(replacementRun)
      return other === undefined
        ? run(params)
        : asNeeded<unknown, R, ToolFailure>(Effect.provideService(other(params), replacementRun, undefined))
    })
  )
  return (params) =>
    Effect.withFiber((fiber) => {
      const { stage } = fiber.getRef(current)
      const verdict = stage?.verdict
      if (stage === undefined || verdict === undefined) return gate(params)
      const outer = fiber.getRef(bypassedGates)
      const gates = [...(outer.stage === stage ? outer.gates : none), gate]
      const bypassed = Effect.provideService(run(params), bypassedGates, { stage, gates })
      return learns
        ? Effect.catch(gate(params), (failure) => stage.verdict === verdict ? bypassed : Effect.fail(failure))
        : bypassed
    })
}
