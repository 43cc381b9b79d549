/*
 * Decides from the earlier calls of a scope whether a call may run: the table of `CallFacts` in code. Also chooses
 * the number that the call's idempotency key is derived from.
 */
import * as Predicate from "effect/Predicate"
import type { CallFacts, Fact, FailedCall } from "../../CallFacts.ts"
import type { Certainty } from "../../Certainty.ts"
import type { SideEffect } from "../../SideEffect.ts"
import type * as Tool from "../../Tool.ts"
import { anyCallOf, type Intended } from "../arguments/callIntent.ts"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import { isIdentified } from "../arguments/freeText.ts"
import { failureLimitOf } from "../call/failureLimit.ts"
import { digestOf, keyOfIntent } from "../call/idempotencyKey.ts"
import { isReconciled } from "../call/settling.ts"
import { canonical } from "../value/canonical.ts"
import { attempt } from "../value/untrusted.ts"
import { factOf } from "./callFact.ts"
import { withLateDoubts } from "./lateDoubt.ts"

/** The decision on a call, made before the call runs. */
export interface Admission {
  /** Why the call must not run. */
  readonly refusal?: DispatchFailure.DispatchFailure | undefined
  /** Computes the call's idempotency key. Absent if the facts do not determine the key. */
  readonly key?: (() => string) | undefined
  /** The number that the key is derived from. */
  readonly number?: number | undefined
  /** The earlier call that this one repeats, or may repeat, under the same key. */
  readonly repeated?: Repeated | undefined
  /** The refusal of the call if something else refuses it. Present if the earlier call is in doubt. */
  readonly doubt?: DispatchFailure.DispatchFailure | undefined
  /** The id of the call in doubt that refuses this one. If that doubt is settled, this call may run. */
  readonly refusedBy?: string | undefined
  /** The earlier success that refuses this call, if a person may say that it shall be done again. */
  readonly done?: Fact["done"]
}

/** An earlier call whose key is used again. */
export interface Repeated {
  /** Whether the earlier call took effect. */
  readonly certainty: Certainty
  /** Present if the doubt about the earlier call is only a refusal that is not proved. */
  readonly doubt?: "soft" | undefined
  /** The arguments of the earlier call, which are sent again, or only checked. If absent, the new call has its own. */
  readonly text?: string | undefined
  /** Whether the earlier call had other arguments. */
  readonly isChanged: boolean
  /** The failure of the new call if the earlier arguments no longer decode. */
  readonly refusal?: DispatchFailure.DispatchFailure | undefined
  /**
   * The digest of the earlier arguments, if the handler must not run again: only the tool's check (`Tool.reconcile`) finds out
   * what became of it.
   */
  readonly checked?: string
}

// Shared to avoid allocation.
const admitted: Admission = {}

/**
 * Decides from the facts of a scope whether a call may run, and under which key.
 *
 * @param isWanted true if a person has said that what has been done shall be done again
 */
export const admissionOf = (
  known: CallFacts,
  tool: Tool.Any,
  call: Intended,
  isWanted = false
): Admission => {
  const facts = withLateDoubts(known)
  const { name, sideEffect } = tool
  if (sideEffect === "none" && facts.failures === 0 && !Predicate.isFunction(tool.identity)) return admitted
  if (call.isEmpty) return { refusal: DispatchFailure.noIdentity(name) }
  const fact: Fact = factOf(facts, call.id)
  const { failed, number: numberBefore } = fact
  const isChanged = failed?.arguments !== call.arguments
  const isInDoubt = failed !== undefined && isDoubted(failed)
  const refusal = failed === undefined ? undefined : refusalOf(failed, sideEffect, isChanged)
  if (
    failed !== undefined && (failed.executions >= limitAfter(failed, tool) || !mayRunAgain(sideEffect, failed, call))
  ) {
    if (!isInDoubt || failed.certainty === "executed") return { refusal }
    if (isOnlyChecked(tool) && failed.lasting === undefined) {
      const key = () => keyOfIntent(facts.scope ?? "", call.id, numberBefore)
      const { certainty, doubt, text } = failed
      return {
        key,
        number: numberBefore,
        repeated: { certainty, doubt, text, isChanged: false, checked: failed.arguments, refusal },
        doubt: refusal
      }
    }
    return { refusal, refusedBy: call.id }
  }
  const refusedAsDone = isWanted ? undefined : doneRefusal(fact, facts, tool)
  if (refusedAsDone !== undefined) {
    // `repeats: false` is the author's word.
    return { refusal: refusedAsDone, ...(tool.repeats === undefined ? { done: fact.done } : {}) }
  }
  if (sideEffect === "none") return admitted
  const closed = closedBy(facts, tool, call.id)
  if (closed !== undefined) {
    const [refusedBy, earlier] = closed
    return { refusal: DispatchFailure.inDoubt(name, earlier, wayOut(tool)), refusedBy }
  }
  if (sideEffect === "idempotent_by_key" && !call.isFit) {
    throw new TypeError(`'${name}' needs an 'identity' without its secrets.`)
  }
  // If the service has refused a call, a call with other arguments gets the next number: the service may have stored
  // the old key together with the refused request. A request that was not served has stored nothing.
  const isFree = failed?.refused !== undefined && !isInDoubt && isChanged
  const number = Math.max(isFree ? numberBefore + 1 : numberBefore, numberAfterSent(call))
  const key = call.isFit ? () => keyOfIntent(facts.scope ?? "", call.id, number) : undefined
  // A failed call with the same number has already sent this key. If this run may have started before, the key may
  // have been sent then.
  const isSentAgain = failed !== undefined && number === numberBefore || mayHaveBeenSent(facts, tool)
  if (!isSentAgain) return { key, number }
  const isOpen = isInDoubt && sideEffect === "idempotent_by_key"
  const repeated = isOpen
    ? { certainty: failed.certainty, doubt: failed.doubt, text: failed.text, isChanged, refusal }
    : { certainty: "not_executed", isChanged: false } as const
  return { key, number, repeated, doubt: isInDoubt ? refusal : undefined }
}

/**
 * Returns what is known of a call whose text of arguments is the same as that of an earlier call that a fixer corrected.
 * The earlier arguments count, whatever a fixer would make of the text now.
 */
export const admissionOfText = (
  known: CallFacts,
  tool: Tool.Any,
  written: string
): Pick<Admission, "refusal" | "refusedBy"> & { readonly text?: string } => {
  const facts = withLateDoubts(known)
  for (const [id, fact] of facts.intents) {
    if (fact.written?.includes(written) !== true) continue
    const { failed } = fact
    if (failed !== undefined && isDoubted(failed)) {
      const { lasting, text } = failed
      if (tool.sideEffect === "idempotent_by_key" && text !== undefined && lasting === undefined) return { text }
      if (tool.sideEffect === "idempotent") return {}
      return { refusal: refusalOf(failed, tool.sideEffect, false), refusedBy: id }
    }
    // A fixer may have made several calls of one text.
    const refusal = doneRefusal(fact, facts, tool)
    if (refusal !== undefined) return { refusal }
  }
  return {}
}

/** Returns the digest by which {@link admissionOfText} finds a text again. The spaces of JSON do not count. */
export const writtenOf = (tool: string, text = ""): string =>
  digestOf("written", tool, attempt(() => canonical(JSON.parse(text))) ?? text)

// A tool that only reads may be asked more often if it asks to wait for a moment, unless its author says otherwise.
const limitAfter = ({ code }: FailedCall, { failureLimit, sideEffect }: Tool.Any): number => {
  const usual = failureLimitOf(sideEffect)
  return sideEffect === "none" && (failureLimit ?? usual) === usual && passing.has(code)
    ? 3 * usual
    : failureLimit ?? usual
}

const passing: ReadonlySet<string> = new Set(["busy", "not_visible", "rate_limited"])

// True if a call that has failed may have taken effect.
const isDoubted = ({ certainty }: FailedCall): boolean => certainty !== "not_executed"

// Returns the refusal of a call whose effect has happened, and shall not happen again.
const doneRefusal = (
  { done, failed, settled }: Fact,
  { run }: CallFacts,
  { repeats, sideEffect }: Tool.Any
): DispatchFailure.DispatchFailure | undefined => {
  if (done === undefined || failed !== undefined && isDoubted(failed)) return undefined
  // After a doubt, the model repeats the call to have its effect once.
  const wasFound = settled?.certainty === "executed"
  const mayRepeat = repeats ?? (sideEffect === "idempotent" || done.run >= run && !wasFound)
  return mayRepeat ? undefined : DispatchFailure.alreadyDone(done.answer)
}

// Returns the call in hard doubt that closes its tool for this call. Without an identity, nothing says that a call with
// other words is another effect. A call whose arguments are lost may have been any call.
const closedBy = (
  facts: CallFacts,
  tool: Tool.Any,
  id: string
): readonly [id: string, failed: FailedCall] | undefined => {
  if (facts.failures === 0 || tool.sideEffect === "idempotent") return undefined
  const lost = anyCallOf(tool.name)
  const { failed }: Fact = factOf(facts, lost)
  if (failed !== undefined) return [lost, failed]
  return isIdentified(tool) ? undefined : closing(facts, tool, id)
}

const closing = (
  { intents }: CallFacts,
  { name }: Tool.Any,
  ownId: string
): readonly [string, FailedCall] | undefined => {
  for (const [id, { failed }] of intents) {
    if (failed?.tool === name && failed.certainty === "unknown" && failed.doubt !== "soft" && id !== ownId) {
      return [id, failed]
    }
  }
  return undefined
}

// True if a call that is repeated in doubt is only checked.
const isOnlyChecked = (tool: Tool.Any): boolean => tool.sideEffect === "non_idempotent" && isReconciled(tool)

// If the tool has a check, the toolkit's advice names it.
const wayOut = (tool: Tool.Any): string | undefined =>
  isOnlyChecked(tool)
    ? `To find out what became of it, repeat that call with exactly its arguments: ${tool.name} only checks it then.`
    : tool.check === undefined
    ? `Tell the user that the earlier call may have worked, and that no call of ${tool.name} runs until somebody has checked.`
    : undefined

// True if this run counts as having sent its keys before. Two runs rarely continue from the same stored facts.
// So if a service reports a conflict in the `"unlikely"` case, that counts as a rejection. With an `identity` function,
// it does not: there, one key may have been sent with different bodies.
const mayHaveBeenSent = ({ mayHaveRun }: CallFacts, { identity }: Tool.Any): boolean =>
  mayHaveRun === "likely" || mayHaveRun === "unlikely" && Predicate.isFunction(identity)

// Returns the refusal of a repeated call. Arguments that hold a secret are not stored. So if it is safe to send them
// again, a hint asks the model to do that.
const refusalOf = (failed: FailedCall, sideEffect: SideEffect, isChanged: boolean) => {
  const { certainty, lasting, text } = failed
  const isSafe = sideEffect === "idempotent_by_key" && isChanged && certainty !== "not_executed" &&
    lasting === undefined && text === undefined
  const hint = isSafe ? "Call it with exactly the arguments of the earlier call: that is safe." : undefined
  return DispatchFailure.repeatedCall({ ...failed, isChanged, ...(hint === undefined ? {} : { hint }) })
}

// Returns the next number if this call sent its key before its arguments were corrected. Otherwise returns 1.
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
