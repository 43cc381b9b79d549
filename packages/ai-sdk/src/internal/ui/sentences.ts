/*
 * What customers read of failures. They know neither tools nor codes: they ask whether it was done.
 */
import type { CallEnded, FailureHandled } from "@fallible/core/ClientEvent"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import { silence } from "../untyped.ts"
import type { Recovery } from "./types.ts"

/** Asks an application's function for a sentence. If there is none, it throws, or it returns none, the answer is `undefined`. */
export const ownText = <A>(own: ((about: A) => string | undefined) | undefined): (about: A) => string | undefined => {
  if (own === undefined) return () => undefined
  const asked = Option.liftThrowable((about: A): unknown => own(about))
  return (about) => {
    const text = Option.getOrUndefined(asked(about))
    silence(text)
    return typeof text === "string" ? text : undefined
  }
}

/** Says how a call goes on after a failure. */
export const handlingText = ({ by, wait }: Pick<FailureHandled, "by" | "wait">): string =>
  by === "retry" && wait !== undefined && Duration.toMillis(wait) >= 1000
    ? `There was a problem. Trying again in ${waitText(wait)}.`
    : handling[by] ?? "There was a problem. It is being handled."

const handling: { readonly [by in FailureHandled["by"]]?: string } = {
  retry: "There was a problem. Trying again.",
  fallback: "The usual source failed. Asking another one.",
  fix: "A detail was wrong. Trying again with it corrected.",
  paginate: "Only a part of the answer could be fetched."
}

const waitText = (wait: Duration.Duration): string => {
  const seconds = Math.round(Duration.toSeconds(wait))
  return seconds < 120 ? `${seconds} ${seconds === 1 ? "second" : "seconds"}` : `${Math.round(seconds / 60)} minutes`
}

/** Says what became of a call in which failures were handled, which was repeated, or which is in doubt. */
export const recoveredText = (
  { attempts, by, certainty, code, status }: Pick<Recovery, "attempts" | "by" | "certainty" | "code" | "status">
): string => {
  if (code === "already_done") return "It had been done before, so it was not done again."
  // Also of a completed call: another answer may have come in place of the tool's, which is still in doubt.
  if (certainty === "unknown") return inDoubt
  if (status === "completed") return completedText(by, code, attempts)
  if (certainty === "executed") return incomplete
  return attempts > 1 ? `It was tried ${attempts} times, without success.` : "There was a problem. It did not work."
}

const completedText = (by: Recovery["by"] = "custom", code: string | undefined, attempts: number): string => {
  if (by !== "retry") return completed[by] ?? "There was a problem. It was solved."
  return code === "not_executed"
    ? "Done once: a check found that the first try had done nothing, so it was tried again."
    : `There was a problem. It worked on try ${attempts}.`
}

const completed: { readonly [by in NonNullable<Recovery["by"]>]?: string } = {
  joined: "It was asked for twice, and done only once.",
  reconcile: "Done once: the answer was lost, and a check found that it had been done.",
  fallback: "The usual source failed. Another one answered.",
  answered: "The usual source failed. Another one answered.",
  fix: "A detail was wrong. It worked once that was corrected.",
  paginate: "Only a part of the answer could be fetched."
}

const inDoubt = "It may have been done. That is not known for sure."
const incomplete = "It was done, but its answer was not complete."

/** Says why a call failed: to customers, whether it was done; to those who may see results, also what was wrong. */
export const failureText = (
  { certainty, detail, error, outcome }: Pick<CallEnded, "certainty" | "detail" | "error" | "outcome">
): string => {
  const text = outcome === "stopped" ? "It was stopped." : sentenceOf(certainty, error)
  return detail === undefined ? text : `${text} ${detail}`
}

const sentenceOf = (certainty: CallEnded["certainty"], error: CallEnded["error"]): string => {
  if (certainty === "unknown") return inDoubt
  if (certainty === "executed") return incomplete
  return error === "ToolUnavailable" ? "It is not available now." : "It did not work."
}

/** A call that was written, but waits for the question of a call before it. */
export const heldBackText = "It has not run yet. It waits for your reply to the question before it."

/** A call that had not ended when its run did. */
export const cutShortText = "The run ended before this did."

/** A stream that broke: that is an error of the program. */
export const brokenText = "Something went wrong. What was done before that stays done."
