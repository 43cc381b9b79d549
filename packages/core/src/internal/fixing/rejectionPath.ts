/*
 * How a handler's rejection reaches the correction stage without being seen by the policies on its way, and how the stage's verdict comes
 * back: the policies run again, and limits, rates and breakers that have let the call through once do not count it twice.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { ToolFailure } from "../../ToolFailure.ts"
import { current, type Stage } from "../call/frame.ts"
import { isRejection } from "../call/handlerEnding.ts"
import { RejectionSignal } from "../failure/signal.ts"
import { isSame } from "./fixerAnswer.ts"

type Run<R = unknown> = (params: unknown) => Effect.Effect<unknown, ToolFailure, R>

const none: ReadonlyArray<never> = []

// What a fixer needs, the tool needs, too.
const asNeeded = <A, R, E = never>(self: Effect.Effect<A, E, unknown>) => self as Effect.Effect<A, E, R>

/** A handler's rejection leaves all policies so, where a fixer may be asked: see the head of `correctionStage`. */
export const heldBack = <R>(handler: Run<R>): Run<R> => (params) =>
  Effect.withFiber((fiber) => {
    const frame = fiber.getRef(current)
    const { stage } = frame
    const verdict = stage?.verdict
    if (verdict !== undefined && (verdict.params === params || isSame(verdict.params, params))) {
      stage!.verdict = undefined
      return Effect.fail(verdict.failure)
    }
    const held: Run<R> = (params) =>
      Effect.catch(handler(params), (failure) =>
        isRejection(failure) && stage?.hears(failure, frame) === true
          ? Effect.die(new RejectionSignal(failure, params))
          : Effect.fail(failure))
    const passed = fiber.getRef(passedBy)
    return passed.stage === stage ? through(passed.gates, held)(params) : held(params)
  })

/** The limits that a rejection was brought past on the way here, the outermost first. */
const passedBy = Context.Reference<{ readonly stage?: Stage; readonly gates: ReadonlyArray<Run> }>(
  "@fallible/core/rejectionPath/passedBy",
  { defaultValue: () => ({ gates: none }) }
)

/** What a limit lets through now, where that is not what it is around. */
const instead = Context.Reference<Run | undefined>("@fallible/core/rejectionPath/instead", {
  defaultValue: () => undefined
})

const through = <R>(gates: ReadonlyArray<Run>, run: Run<R>): Run<R> =>
  gates.reduceRight<Run<R>>(
    (run, gate) => (params) => asNeeded<unknown, R, ToolFailure>(Effect.provideService(gate(params), instead, run)),
    run
  )

/**
 * What only lets a call through does not keep a rejection from what is around it: that passes it by. What runs the handler again then does
 * so through it.
 *
 * @param learns does it learn from how a call ends? Then it is passed by only where it refuses the call
 */
export const lettingThrough = <R>(wrap: (run: Run<R>) => Run<R>, run: Run<R>, learns: boolean): Run<R> => {
  const around = wrap((params) =>
    Effect.withFiber((fiber) => {
      const other = fiber.getRef(instead)
      return other === undefined
        ? run(params)
        : asNeeded<unknown, R, ToolFailure>(Effect.provideService(other(params), instead, undefined))
    })
  )
  return (params) =>
    Effect.withFiber((fiber) => {
      const { stage } = fiber.getRef(current)
      const verdict = stage?.verdict
      if (stage === undefined || verdict === undefined) return around(params)
      const before = fiber.getRef(passedBy)
      const gates = [...(before.stage === stage ? before.gates : none), around]
      const passed = Effect.provideService(run(params), passedBy, { stage, gates })
      return learns
        ? Effect.catch(around(params), (failure) => stage.verdict === verdict ? passed : Effect.fail(failure))
        : passed
    })
}
