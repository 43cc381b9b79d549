/*
 * Calls that were told as done nothing, and whose handlers have sent a request since. No outcome can say so any more, so
 * later calls of the same scope learn it here, and so do the facts of its run.
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import type { CallFacts, Fact, FailedCall } from "../../CallFacts.ts"
import { Latest } from "../value/latest.ts"
import { factOf } from "./callFact.ts"

/** A call in doubt that its facts do not know. */
interface LateDoubt {
  readonly id: string
  readonly number: number
  /** The record of the call, for facts that have none any more: they say that it was settled as not executed. */
  readonly failed: FailedCall
  /** True once the facts that a run hands on have said so: from then on, a program may settle it in them. */
  readonly isHandedOn?: true
}

// By scope. A run that is over has handed its facts on.
const doubts = new Latest<string, ReadonlyArray<LateDoubt>>(1_000)

/** Notes a doubt about a call of a scope. */
export const noteLateDoubt = (scope: string, doubt: LateDoubt): void => {
  const before = doubts.get(scope) ?? []
  doubts.set(scope, [...before.filter(({ id }) => id !== doubt.id), doubt])
}

/** Forgets a doubt that has been settled. */
export const forgetLateDoubt = (scope: string, id: string): void => {
  const remaining = doubts.get(scope)?.filter((doubt) => doubt.id !== id) ?? []
  if (remaining.length === 0) doubts.delete(scope)
  else doubts.set(scope, remaining)
}

/** Returns the facts that a run hands on. */
export const handedOn = (facts: CallFacts): CallFacts => {
  const { scope = "" } = facts
  const late = doubts.size === 0 ? undefined : doubts.get(scope)
  if (late !== undefined) doubts.set(scope, late.map((doubt) => ({ ...doubt, isHandedOn: true })))
  return withLateDoubts(facts)
}

/** Returns the facts that a run begins with. What a program has settled in them is forgotten. */
export const takenOver = (facts: CallFacts): CallFacts => {
  const { scope = "" } = facts
  for (const { id, isHandedOn } of doubts.size === 0 ? [] : doubts.get(scope) ?? []) {
    const fact: Fact = factOf(facts, id)
    if (isHandedOn === true && fact.settled !== undefined) forgetLateDoubt(scope, id)
  }
  return withLateDoubts(facts)
}

/** Returns the facts with the doubts that have come late. */
export const withLateDoubts = (facts: CallFacts): CallFacts => {
  // Nearly always, there are none.
  const late = doubts.size === 0 || facts.scope === undefined ? undefined : doubts.get(facts.scope)
  if (late === undefined) return facts
  return {
    ...facts,
    intents: late.reduce((intents, doubt) =>
      Option.match(HashMap.get(intents, doubt.id), {
        onNone: () => intents,
        onSome: (fact) => HashMap.set(intents, doubt.id, doubted(fact, doubt))
      }), facts.intents)
  }
}

// The next key has a later number already if a call with other arguments was made in between.
const doubted = (fact: Fact, late: LateDoubt): Fact => {
  const { settled, ...known } = fact
  const failed = known.failed ?? (settled?.certainty === "not_executed" ? late.failed : undefined)
  if (failed === undefined || known.number !== late.number || failed.certainty === "executed") return fact
  const { doubt: _, refused: __, ...rest }: FailedCall = failed
  const { text = late.failed.text } = rest
  return { ...known, failed: { ...rest, certainty: "unknown", ...(text === undefined ? {} : { text }) } }
}
