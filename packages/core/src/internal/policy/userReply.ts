/*
 * A question to the user while a tool is unavailable: when it may be asked, and what the model reads of the reply.
 */
import type { Certainty } from "../../Certainty.ts"
import type { SideEffect } from "../../SideEffect.ts"
import type { ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"
import { isInferred } from "../failure/evidence.ts"
import { isDown } from "../failure/policyRefusal.ts"
import { lastFailure } from "../failure/sourcesExhausted.ts"
import { cut, kind, oneLine, printable } from "../value/text.ts"
import { silence } from "../value/untrusted.ts"

/**
 * True if the user may be asked what to do about a failure: the service is down, and the call certainly did nothing. The
 * model must be told of a refusal, and of a doubt.
 *
 * @param certainty what the record of the call says
 */
export const mayAskUser = (
  failure: ToolFailure,
  certainty: Certainty,
  sideEffect: SideEffect
): failure is ToolUnavailable =>
  failure._tag === "ToolUnavailable" && isDown(lastFailure(failure)) && certainty === "not_executed" &&
  (sideEffect === "none" || !saysMore(failure))

// A policy inside may have made a failure of its own, which says that the call acted. What an error suggests does not count.
const saysMore = (failure: ToolUnavailable): boolean =>
  failure.outcome !== undefined && failure.outcome !== "not_executed" && !isInferred(failure)

/** Returns the question of a tool's author, who may not have the types: throws if it is not a string. */
export const requireQuestion = (tool: string, question: unknown): string => {
  if (typeof question === "string") return question
  silence(question)
  throw new TypeError(`The question of '${tool}' to the user must be a string; got ${kind(question)}.`)
}

/** Returns what a model reads of a reply: what was asked, and what the user replied. It begins with "the user". */
export const replyText = (question: string, reply: string): string =>
  `the user was asked ${quoted(question, 200)} and replied ${reply.trim() === "" ? "nothing" : quoted(reply, 280)}`

// Both fit into one line of a rendering.
const quoted = (text: string, limit: number): string => `"${cut(printable(oneLine(text)).trim(), limit)}"`
