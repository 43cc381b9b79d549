/*
 * How the doubt about an earlier call is settled by a later call: by the result of a check, or by the user's word.
 */
import * as Duration from "effect/Duration"
import type { CallFacts, Fact } from "../../CallFacts.ts"
import type * as Tool from "../../Tool.ts"
import type * as Toolkit from "../../Toolkit.ts"
import type { Settlement } from "../../ToolOutcome.ts"
import { intentIdOf } from "../arguments/callIntent.ts"
import { IllTyped, noun, requireSync } from "../call/runUserCode.ts"
import { waitText } from "../value/durationText.ts"
import { cut, printable } from "../value/text.ts"
import { factOf } from "./callFact.ts"
import { ageOf } from "./doubtAge.ts"
import { shownArguments } from "./shownArguments.ts"

/** What a check says about the call in doubt. */
interface Verdict {
  /** Absent if the check does not settle the doubt yet. */
  readonly settlement?: Settlement
  /** What the model reads beside the result. */
  readonly note: string
}

/** Returns the names of the tools that name this one as their `check`. */
export const checkedBy = (check: string, { tools }: Toolkit.Toolkit): ReadonlyArray<string> =>
  Array.from(tools.values()).flatMap((tool) => tool.check === check ? [tool.name] : [])

/**
 * Returns what the result of a check says about the call in doubt: that of the tool that names it as its `check`, and that
 * has the same identity. Returns `undefined` if it says nothing.
 *
 * @param effect the identity of the check's call
 * @param begun the time at which the check began, by the monotonic clock
 * @param now the time, by the same clock
 */
export const verdictOf = (
  { name, settles }: Tool.Any,
  result: unknown,
  effect: string,
  facts: CallFacts,
  toolkit: Toolkit.Toolkit,
  begun: bigint,
  now: bigint
): Verdict | undefined => {
  const [tool, ...others] = checkedBy(name, toolkit)
  // If several tools name it, nothing says which of them it is about.
  if (settles === undefined || tool === undefined || others.length > 0) return undefined
  const id = intentIdOf(tool, effect)
  const { done, failed }: Fact = factOf(facts, id)
  if (failed?.certainty !== "unknown") return undefined
  const certainty = saidBy(name, outcomeOf(settles)(result))
  if (certainty === undefined) return undefined
  // The effect that is found may be that of an earlier, equal call.
  if (certainty === "executed" && done !== undefined) return undefined
  const rest = certainty === "executed" ? 0 : restOf(settles, ageOf(facts.scope ?? "", id, begun, now))
  if (rest === Infinity) return undefined
  if (rest <= 0) {
    const text = certainty === "executed" ? "has taken effect" : "has not taken effect, so it may be called again"
    return {
      settlement: { id, certainty, by: `check:${name}` },
      note: `This settles the doubt: the earlier call of '${tool}' ${text}`
    }
  }
  const wait = waitText(Duration.millis(rest))
  return { note: `'${tool}' may still take effect: this proves nothing yet. Call ${name} again in ${wait}` }
}

// Returns how long it takes until it counts that a check has found nothing. A check that began before the call had ended
// proves nothing.
const restOf = ({ final, settle }: Tool.Settles, age: number | undefined): number => {
  if (final) return age === undefined || age < 0 ? Infinity : 0
  return settle === undefined ? Infinity : Duration.toMillis(settle) - (age ?? 0)
}

// The result has the check's own type, which a union of tools does not show.
const outcomeOf = (settles: { readonly outcome: (result: never) => unknown }) =>
  settles.outcome as (result: unknown) => unknown

const saidBy = (check: string, said: unknown): Settlement["certainty"] | undefined => {
  const label = `The 'settles' of '${check}'`
  requireSync(label, said)
  if (said === undefined || said === "executed" || said === "not_executed") return said
  throw new IllTyped(`${label} must return "executed", "not_executed" or undefined; got ${noun(said)}.`)
}

/** Returns the question to a person about a call in doubt; `undefined` if the call is not in doubt. */
export const questionAbout = (facts: CallFacts, id: string): string | undefined => {
  const { failed }: Fact = factOf(facts, id)
  if (failed?.certainty !== "unknown") return undefined
  const { code, detail, text, tool } = failed
  const how = text === undefined ? "" : ` with ${shownArguments(text)}`
  // The id also tells two questions apart, so that the answer to one is not taken for the answer to the other.
  return `${tool} was called${how}, and failed with ${code}: ${
    cut(printable(detail), 300)
  } Nobody knows whether it took effect. Did it? Answer "yes" or "no". (Doubt ${id})`
}

/** Returns what a person's answer says about a call in doubt. Only the words yes and no, alone, say anything. */
export const certaintyIn = (reply: string): Settlement["certainty"] | undefined =>
  words.get(reply.trim().toLowerCase().replace(/[.!]+$/, ""))

const words: ReadonlyMap<string, Settlement["certainty"]> = new Map([["yes", "executed"], ["no", "not_executed"]])
