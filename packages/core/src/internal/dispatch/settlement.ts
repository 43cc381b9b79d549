/*
 * How the doubt about an earlier call is settled by a later call: by the result of a check, or by the user's word.
 */
import * as Duration from "effect/Duration"
import type { CallFacts, Fact } from "../../CallFacts.ts"
import type * as Tool from "../../Tool.ts"
import type * as Toolkit from "../../Toolkit.ts"
import type { Settlement } from "../../ToolOutcome.ts"
import { intentIdOf } from "../arguments/callIntent.ts"
import { IllTyped, noun, outright } from "../call/runUserCode.ts"
import { durationText } from "../value/durationText.ts"
import { cut, list, printable } from "../value/text.ts"
import { factOf } from "./callFact.ts"
import { ageOf } from "./doubtAge.ts"
import { shownArguments } from "./shownArguments.ts"

/** What a check says about the calls in doubt. */
export interface Verdict {
  readonly settled: ReadonlyArray<Settlement & { readonly tool: string }>
  /** Why the check does not settle a doubt yet, for the model. */
  readonly wait?: string
}

/**
 * Returns what the result of a check says about the calls in doubt: those of tools that name it as their `check`, and
 * that have the same identity.
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
): Verdict => {
  const none: Verdict = { settled: [] }
  if (settles === undefined) return none
  const doubts = Array.from(toolkit.tools.values()).flatMap(({ check, name: tool }) => {
    const id = intentIdOf(tool, effect)
    const { done, failed }: Fact = factOf(facts, id)
    return check === name && failed?.certainty === "unknown" ? [{ id, tool, isDoneBefore: done !== undefined }] : []
  })
  if (doubts.length === 0) return none
  const certainty = saidBy(name, outcomeOf(settles)(result))
  if (certainty === undefined) return none
  const { final, settle } = settles
  const { scope = "" } = facts
  // How long it takes until the answer counts. An effect that is found may be that of an earlier, equal call.
  const restOf = ({ id, isDoneBefore }: typeof doubts[number]): number => {
    if (certainty === "executed") return isDoneBefore ? Infinity : 0
    // A check that began before the call had ended proves nothing.
    const age = ageOf(scope, id, begun, now)
    if (final) return age === undefined || age < 0 ? Infinity : 0
    return settle === undefined ? Infinity : Duration.toMillis(settle) - (age ?? 0)
  }
  const waiting = doubts.map((doubt) => ({ ...doubt, rest: restOf(doubt) }))
  const settled = waiting.filter(({ rest }) => rest <= 0)
  if (settled.length > 0) {
    return { settled: settled.map(({ id, tool }) => ({ id, tool, certainty, by: `check:${name}` })) }
  }
  const rest = Math.max(...waiting.map(({ rest }) => rest))
  const tools = list(doubts.map(({ tool }) => tool))
  return rest === Infinity ? none : {
    settled: [],
    wait: `${tools} may still take effect: this proves nothing yet. Call ${name} again in ${
      durationText(Duration.millis(Math.ceil(rest)))
    }`
  }
}

// The result has the check's own type, which a union of tools does not show.
const outcomeOf = (settles: { readonly outcome: (result: never) => unknown }) =>
  settles.outcome as (result: unknown) => unknown

const saidBy = (check: string, said: unknown): Settlement["certainty"] | undefined => {
  const label = `The 'settles' of '${check}'`
  outright(label, said)
  if (said === undefined || said === "executed" || said === "not_executed") return said
  throw new IllTyped(`${label} must return "executed", "not_executed" or undefined; got ${noun(said)}.`)
}

/** Returns the note on a result that has settled doubts. */
export const settledNote = ([first, ...others]: Verdict["settled"]): string => {
  const tools = list([first, ...others].flatMap((settlement) => settlement?.tool ?? []))
  return first?.certainty === "executed"
    ? `This settles the doubt: the earlier call of ${tools} has taken effect`
    : `This settles the doubt: the earlier call of ${tools} has not taken effect, so it may be called again`
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
