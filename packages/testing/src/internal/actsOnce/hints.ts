/*
 * Hints: what to declare in a tool that acts twice, or which options of the check do not fit the service.
 */
import type { Policy, Tool } from "@fallible/core"
import * as Duration from "effect/Duration"
import type { Played } from "./playedPlan.ts"

export interface Hint {
  readonly hint: string
}

/** Says which declaration is missing, if the sequence shows it. */
export const adviceOn = (played: Played): Hint | undefined => {
  const hint = hintOf(played)
  return hint === undefined ? undefined : { hint }
}

const hintOf = ({ ignoresWords, keys, plan, sequence, tool, wronglyTold }: Played): string | undefined => {
  const { repeats, sideEffect } = tool
  if (sideEffect === "none") {
    return "The tool says that it only reads (sideEffect: \"none\"), and it has acted. Declare its side effect."
  }
  // What was told is the reason, and the sequence says so.
  if (wronglyTold !== undefined) return undefined
  if (keys.differ) {
    return "One call sent several keys. Each of its attempts must send the same one: with fetch.withKey, or the call's " +
      "idempotencyKey."
  }
  if (sideEffect === "idempotent_by_key" && !keys.sent) {
    return "The tool is \"idempotent_by_key\", and its requests had no key. Send it with fetch.withKey, or pass on the call's " +
      "idempotencyKey. If it is not in the header Idempotency-Key, set the option 'keyOf' of this check."
  }
  if (keys.ignored) {
    return "Two requests had one key, which the service of this check ignores. If yours honours keys, declare the tool " +
      "\"idempotent_by_key\", or set the option 'keys' of this check to \"honoured\"."
  }
  if (ignoresWords && (plan.isReworded || plan.twice === "reworded")) {
    return "The model meant the same in other words, which the tool's 'identity' ignores. So its check or its handler depends on " +
      "words that its identity ignores: compare only what the identity has, or the key."
  }
  if (!ignoresWords && sequence.some((line) => line.includes("in other words"))) {
    return "The model meant the same in other words, and the tool took it for another effect. Give the tool an 'identity' " +
      "without these words, such as ({ order }) => order. If they do name the effect, list the fields that do not in the " +
      "option 'reworded' of this check."
  }
  if (sideEffect === "idempotent") {
    return "The tool is \"idempotent\", but this check counts every act. If your service acts once for equal requests, name them " +
      "by the option 'keyOf', as in ({ url }) => url, with 'keys: \"honoured\"'. If a call after a success may act again, set the " +
      "option 'repeats' to true."
  }
  return plan.repeatsSuccess && repeats !== false
    ? "The model made the call again after its success. If that is never meant, declare 'repeats: false' in the tool. " +
      "If it is, set the option 'repeats' of this check to true."
    : undefined
}

export const tooLate = (lateBy: Duration.Duration, settle: Duration.Duration): Hint => {
  const [late, wait] = [Duration.format(lateBy), Duration.format(settle)]
  return {
    hint:
      `The service acts up to ${late} late (the option 'lateBy' of this check), but the tool's reconcile waits for it ` +
      `for ${wait} (its 'settle'). 'lateBy' says how late your service may be, and 'settle' must be longer.`
  }
}

/** How long the tool waits for a late effect. */
export const settleOf = (tool: Tool.Any, defaults: ReadonlyArray<Policy.Any> = []): Duration.Duration | undefined =>
  [...tool.policies, ...defaults].find(({ kind }) => kind === "reconcile")?.terms?.reconciles?.settle
