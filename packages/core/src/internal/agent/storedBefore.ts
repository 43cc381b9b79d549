/*
 * How what was stored by the version before is read: answers of version 7, where tokens that no provider had counted were 0;
 * failures and suspensions of version 7, which had questions only as texts. The transcripts and facts inside have versions of
 * their own.
 */
import type * as Schema from "effect/Schema"
import { isJsonObject } from "../value/plainJson.ts"
import type { Upgrade } from "../value/versioned.ts"
import { idOfAsked } from "./openQuestions.ts"

/** An answer. */
export const answerBefore: Upgrade = ({ report = null, ...answer }) => ({ ...answer, report: countsBefore(report) })

const countsBefore = (report: Schema.Json): Schema.Json => {
  if (!isJsonObject(report) || report["inputTokens"] !== 0 || report["outputTokens"] !== 0) return report
  const { inputTokens: _, outputTokens: __, ...rest } = report
  return rest
}

/** A failure of a run, or a postponement, whose form has not changed. */
export const sameAsBefore: Upgrade = (stored) => stored

/** A suspension. All its questions are open, and count as questions of handlers. */
export const suspensionBefore: Upgrade = ({ outcomes = [], reply = null, runId = "", turn = 0, ...rest }) => {
  const place = `${textOf(runId)}/turn/${textOf(turn)}`
  const calls = isJsonObject(reply) && Array.isArray(reply["calls"]) ? reply["calls"] : []
  const names = calls.map((call) => isJsonObject(call) ? call["name"] ?? "" : "")
  const asking = Array.isArray(outcomes)
    ? outcomes.map((outcome, index) => {
      if (!isJsonObject(outcome) || outcome["_tag"] !== "Suspended") return outcome
      const { question = "", replies = [] } = outcome
      const count = Array.isArray(replies) ? replies.length : 0
      const id = `${place}/call/${index + 1}/question/${count + 1}`
      return { ...outcome, asks: { id, kind: "reply", tool: names[index] ?? "", text: question } }
    })
    : []
  const questions = asking.flatMap((outcome) => isJsonObject(outcome) ? outcome["asks"] ?? [] : [])
  return {
    ...rest,
    id: idOfAsked(textOf(runId), textOf(turn), asking.map(askedIn)),
    runId,
    turn,
    reply,
    outcomes: asking,
    questions,
    // The tools of open questions are needed in any case.
    needs: []
  }
}

const askedIn = (outcome: Schema.Json): unknown => {
  if (!isJsonObject(outcome)) return null
  const { asks = null, replies = [] } = outcome
  return isJsonObject(asks) ? [asks["id"], replies] : null
}

const textOf = (part: Schema.Json): string => typeof part === "string" ? part : JSON.stringify(part)
