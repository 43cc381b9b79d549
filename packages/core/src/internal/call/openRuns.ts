/*
 * Runs inside a call that are still open: they are in doubt, or were not served. Code that repeats such a run continues it
 * under its key, as another attempt. So what is in doubt does not begin again, unless the key makes that safe.
 */
import * as Equal from "effect/Equal"
import { type Effects, isInDoubt } from "../failure/effects.ts"
import { attempt } from "../value/untrusted.ts"
import { keyInside } from "./idempotencyKey.ts"
import type { OpenRun } from "./live.ts"
import { whetherRunning } from "./mayBegin.ts"
import { note, ranBy } from "./note.ts"
import type { Scope, Subject } from "./scope.ts"

/**
 * Returns the open run with the same intent, if there is one: the same effect of the same tool. If the arguments of either
 * do not say which effect, they are the same. A run that was not served is returned once, and only to a run for the same
 * purpose.
 *
 * @param isPlaced whether the key of the new run is made from its place in the outer scope; if not, only doubt counts
 * @param isReworded whether the new run may be the one in doubt in other words
 */
export const openRun = (
  outer: Scope,
  tool: Subject,
  params: unknown,
  isPlaced: boolean,
  isReworded = false
): OpenRun | undefined => {
  if (!outer.hasOpenRuns) return undefined
  const { live } = outer
  const place = placeOf(outer, tool)
  const effect = tool.effectOf?.(params)
  const isSame = (run: OpenRun) =>
    run.isInDoubt
      ? run.tool === tool.name &&
        (run.effect === effect || run.effect === undefined || effect === undefined ||
          isReworded && run.doubt !== "soft")
      : run.place === place && run.effect === effect && isPlaced
  const run = live.openRuns.find(isSame)
  if (run === undefined) return undefined
  if (!run.isInDoubt) live.close(run)
  // Under one key, a service must always receive the same arguments.
  const isUnsaid = run.effect !== effect || effect === undefined
  const isOther = isUnsaid && attempt(() => Equal.equals(run.params, params)) !== true
  return isOther ? { ...run, isLasting: true } : run
}

/** Notes that a run continues an open one. */
export const noteAgain = (scope: Scope, { doubt, isInDoubt, isLasting, last, runs }: OpenRun): void => {
  scope.last = last
  scope.alsoRuns = runs
  note(scope, {
    _tag: "CallRepeated",
    effects: isInDoubt ? "maybe" : "none",
    ...(doubt === undefined ? {} : { doubt }),
    ...(isLasting ? { lasting: true } : {})
  })
}

/** True if a run was to continue one that is in doubt, and has not begun: all that it did is known by that one. */
export const isAsBefore = ({ isKnownToAct, ran, record: { state } }: Scope, effects: Effects): boolean =>
  ran?.again?.isInDoubt === true && isInDoubt(effects) && state.executions === 0 && !isKnownToAct

/** Notes in the scope around a run that has ended whether that run stays open. */
export const leaveOpen = (scope: Scope, around: Scope, effects: Effects): void => {
  const { ran, record: { last, state: { done } }, tool } = scope
  if (ran === undefined) return
  if (isAsBefore(scope, effects)) return
  const isDoubted = isInDoubt(effects)
  if (ran.again !== undefined) around.live.close(ran.again)
  if (!isDoubted && (effects === "done" || !scope.acts || !ran.isPlaced || done.isRefused)) return
  around.live.leave({
    tool: tool.name,
    place: placeOf(around, tool),
    effect: tool.effectOf?.(ran.params),
    params: ran.params,
    key: scope.idempotencyKey,
    runs: whetherRunning(scope),
    isInDoubt: isDoubted,
    doubt: isDoubted ? scope.doubt(effects) : undefined,
    isLasting: isDoubted && (tool.sideEffect === "non_idempotent" || done.lasting !== "none"),
    last
  })
}

/**
 * Returns a key for the run of an agent in this attempt, and what to call when that run has ended. Runs with the same
 * question have different keys, but a run that follows one without an answer, or in doubt, has the key of that one.
 */
export const keyOfRun = (
  scope: Scope,
  agent: string,
  question: string
): { readonly key: string; readonly isAgain: boolean; readonly end: (hasAnswer: boolean) => void } => {
  const mark = JSON.stringify(["run", agent, question])
  const again = scope.hasOpenRuns ? scope.live.open.find(({ place }) => place === mark) : undefined
  if (again !== undefined) scope.live.close(again)
  const key = again?.key ?? keyInside(scope.idempotencyKey, `${mark} ${scope.live.next(mark)}`)
  return {
    key,
    isAgain: again !== undefined,
    end: (hasAnswer) => {
      const { live } = scope
      if (hasAnswer && !live.openRuns.some(({ isInDoubt }) => isInDoubt)) return
      live.leave({
        tool: "",
        place: mark,
        effect: undefined,
        params: undefined,
        key,
        runs: undefined,
        isInDoubt: false,
        doubt: undefined,
        isLasting: false,
        last: undefined
      })
    }
  }
}

const placeOf = (outer: Scope, { name }: Subject): string =>
  JSON.stringify([ranBy(outer), outer.policy?.prefix ?? "", name])
