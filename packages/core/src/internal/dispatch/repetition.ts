/*
 * Whether a call may be made, after what earlier calls of its scope did: the table of `CallFacts`, as code. It also decides the number of
 * the call's idempotency key.
 */
import type { CallFacts, Fact, FailedCall } from "../../CallFacts.ts"
import type { Certainty } from "../../Certainty.ts"
import * as DispatchFailure from "../../DispatchFailure.ts"
import type { SideEffect } from "../../SideEffect.ts"
import type * as Tool from "../../Tool.ts"
import { anyCallOf, type Intended } from "../arguments/intent.ts"
import { failureLimitOf } from "../call/failureLimit.ts"
import { keyOfIntent } from "../call/idempotencyKey.ts"
import { factOf } from "./fact.ts"

/** What is decided of a call before it runs. */
export interface Admission {
  /** Why it must not run. */
  readonly refusal?: DispatchFailure.DispatchFailure | undefined
  /** Its idempotency key, made once its handler asks for it. Default: its id. */
  readonly key?: (() => string) | undefined
  /** The number that the key is made with. */
  readonly number?: number | undefined
  /** The earlier call that it repeats, or may repeat, under the same key. */
  readonly repeated?: Repeated | undefined
}

/** An earlier call whose key is sent again. */
export interface Repeated {
  /** Has it taken effect? */
  readonly certainty: Certainty
  /** Its arguments, which are sent again. Absent: they are the same. */
  readonly text?: string | undefined
  /** Did it have other arguments? */
  readonly isChanged: boolean
  /** The failure of the call where they cannot be sent again. */
  readonly refusal?: DispatchFailure.DispatchFailure | undefined
}

/** Decides whether a call may run after what `facts` tell, and under which key. */
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
  if (sideEffect === "idempotent_by_key" && !call.isFit) throw new TypeError(unkeyed(name))
  // What has certainly done nothing, and is called with other arguments, has the next number: a service may have kept what it refused.
  const isFree = failed !== undefined && !isInDoubt && isChanged
  const number = Math.max(isFree ? numberBefore + 1 : numberBefore, afterSent(call))
  const key = call.isFit ? () => keyOfIntent(facts.scope ?? "", call.id, run, number) : undefined
  // Its key has been sent, if it is that of the call before; and it may have been, where the run may have begun before.
  const isSentAgain = failed !== undefined && number === numberBefore || mayHaveBeenSent(facts, tool)
  if (!isSentAgain) return { key, number }
  const isOpen = isInDoubt && sideEffect === "idempotent_by_key"
  const repeated = isOpen
    ? { certainty: failed.certainty, text: failed.text, isChanged, refusal }
    : { certainty: "not_executed", isChanged: false } as const
  return { key, number, repeated }
}

// That stored facts are used twice is rare. Then a refusal is what it says, unless one key may stand for several bodies.
const mayHaveBeenSent = ({ mayHaveRun }: CallFacts, { identity }: Tool.Any): boolean =>
  mayHaveRun === "likely" || mayHaveRun === "unlikely" && identity !== undefined

// Arguments with a secret are not kept, so that only their caller can send them again.
const refusalOf = (failed: FailedCall, sideEffect: SideEffect, isChanged: boolean) => {
  const { certainty, lasting, text } = failed
  const isSafe = sideEffect === "idempotent_by_key" && isChanged && certainty !== "not_executed" &&
    lasting === undefined && text === undefined
  const hint = isSafe ? "Call it with exactly the arguments of the earlier call: that is safe." : undefined
  return DispatchFailure.repeatedCall({ ...failed, isChanged, ...(hint === undefined ? {} : { hint }) })
}

const unkeyed = (name: string): string =>
  `'${name}' needs an 'identity', since no idempotency key can be made of its arguments: they do not decode to the same again.`

// The number after that under which other arguments have been sent in the same call.
const afterSent = ({ id, sent }: Intended): number => sent === undefined || sent.id !== id ? 1 : sent.number + 1

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
      // Under one key, a service is sent the same arguments.
      return certainty === "not_executed" || lasting !== true && (first === call.arguments || text !== undefined)
    case "non_idempotent":
      return certainty === "not_executed" && refused !== call.arguments
  }
}
