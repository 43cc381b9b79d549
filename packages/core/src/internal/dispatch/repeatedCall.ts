/*
 * Decides whether a call may run after the earlier calls of its scope: the table of `CallFacts` in code. Also
 * decides the number of the call's idempotency key.
 */
import type { CallFacts, Fact, FailedCall } from "../../CallFacts.ts"
import type { Certainty } from "../../Certainty.ts"
import * as DispatchFailure from "../../DispatchFailure.ts"
import type { SideEffect } from "../../SideEffect.ts"
import type * as Tool from "../../Tool.ts"
import { anyCallOf, type Intended } from "../arguments/callIntent.ts"
import { failureLimitOf } from "../call/failureLimit.ts"
import { keyOfIntent } from "../call/idempotencyKey.ts"
import { factOf } from "./callFact.ts"

/** The decision on a call before it runs. */
export interface Admission {
  /** Why the call must not run. */
  readonly refusal?: DispatchFailure.DispatchFailure | undefined
  /** Returns its idempotency key, computed on first use. Default: its id. */
  readonly key?: (() => string) | undefined
  /** The number that is a part of the key. */
  readonly number?: number | undefined
  /** The earlier call that this one repeats, or may repeat, under the same key. */
  readonly repeated?: Repeated | undefined
}

/** An earlier call whose key is sent again. */
export interface Repeated {
  /** Whether it has taken effect. */
  readonly certainty: Certainty
  /** Its arguments, which are sent again. Absent: the arguments of the new call are sent. */
  readonly text?: string | undefined
  /** Whether it had other arguments. */
  readonly isChanged: boolean
  /** The failure of the new call if the earlier arguments no longer decode. */
  readonly refusal?: DispatchFailure.DispatchFailure | undefined
}

/** Decides from the facts of a scope whether a call may run, and under which key. */
export const admissionOf = (
  facts: CallFacts,
  tool: Tool.Any,
  call: Intended
): Admission => {
  const { name, repeats, sideEffect, failureLimit = failureLimitOf(sideEffect) } = tool
  if (sideEffect === "none" && facts.failures === 0 && tool.identity === undefined) return {}
  if (call.isEmpty) return { refusal: DispatchFailure.noIdentity(name) }
  const { done, failed, number: numberBefore, run }: Fact = factOf(facts, call.id)
  const isChanged = failed?.arguments !== call.arguments
  const isInDoubt = failed !== undefined && failed.certainty !== "not_executed"
  const refusal = failed === undefined ? undefined : refusalOf(failed, sideEffect, isChanged)
  if (failed !== undefined && (failed.executions >= failureLimit || !mayRunAgain(sideEffect, failed, call))) {
    return { refusal }
  }
  const isDone = done !== undefined && !isInDoubt &&
    (repeats === undefined ? done.run < facts.run && sideEffect !== "idempotent" : !repeats)
  if (isDone) return { refusal: DispatchFailure.alreadyDone(done.answer) }
  if (sideEffect === "none") return {}
  const { failed: lost }: Fact = factOf(facts, anyCallOf(name))
  if (lost !== undefined && sideEffect !== "idempotent") {
    return { refusal: DispatchFailure.repeatedCall({ ...lost, isChanged: true }) }
  }
  if (sideEffect === "idempotent_by_key" && !call.isFit) throw new TypeError(noKeyText(name))
  // A failed call that certainly did nothing gets the next number if its arguments change. The service may have
  // stored the key together with the rejected request.
  const isFree = failed !== undefined && !isInDoubt && isChanged
  const number = Math.max(isFree ? numberBefore + 1 : numberBefore, numberAfterSent(call))
  const key = call.isFit ? () => keyOfIntent(facts.scope ?? "", call.id, run, number) : undefined
  // The key was sent if the failed call used it. It may have been sent if the run may have begun before.
  const isSentAgain = failed !== undefined && number === numberBefore || mayHaveBeenSent(facts, tool)
  if (!isSentAgain) return { key, number }
  const isOpen = isInDoubt && sideEffect === "idempotent_by_key"
  const repeated = isOpen
    ? { certainty: failed.certainty, text: failed.text, isChanged, refusal }
    : { certainty: "not_executed", isChanged: false } as const
  return { key, number, repeated }
}

// Stored facts are rarely used twice. So a conflict that the service reports counts as a rejection of the request,
// unless an `identity` lets one key stand for several bodies.
const mayHaveBeenSent = ({ mayHaveRun }: CallFacts, { identity }: Tool.Any): boolean =>
  mayHaveRun === "likely" || mayHaveRun === "unlikely" && identity !== undefined

// Arguments with a secret are not stored, so only the caller can send them again.
const refusalOf = (failed: FailedCall, sideEffect: SideEffect, isChanged: boolean) => {
  const { certainty, lasting, text } = failed
  const isSafe = sideEffect === "idempotent_by_key" && isChanged && certainty !== "not_executed" &&
    lasting === undefined && text === undefined
  const hint = isSafe ? "Call it with exactly the arguments of the earlier call: that is safe." : undefined
  return DispatchFailure.repeatedCall({ ...failed, isChanged, ...(hint === undefined ? {} : { hint }) })
}

const noKeyText = (name: string): string =>
  `'${name}' needs an 'identity': no idempotency key can be made from its arguments, because they do not decode to the same value again.`

// Returns the next number if this call already sent its key with other arguments, and 1 if not.
const numberAfterSent = ({ id, sent }: Intended): number => sent === undefined || sent.id !== id ? 1 : sent.number + 1

const mayRunAgain = (
  sideEffect: SideEffect,
  { arguments: first, certainty, lasting, refused, text }: FailedCall,
  call: Intended
): boolean => {
  switch (sideEffect) {
    case "none":
      return certainty === "not_executed"
    case "idempotent":
      return true
    case "idempotent_by_key":
      // Under one key, the service must receive the same arguments.
      return certainty === "not_executed" || lasting !== true && (first === call.arguments || text !== undefined)
    case "non_idempotent":
      return certainty === "not_executed" && refused !== call.arguments
  }
}
