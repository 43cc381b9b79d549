/**
 * Turns an outcome into the text that the model reads.
 *
 * A rendering is a pure function from an outcome to a string. An agent accepts any rendering. The two renderings
 * in this module show the same information: {@link json} is the default, and {@link prose} is for small models.
 *
 * A rendered failure is one line of limited length. It contains no stack trace, and nothing else from the
 * failure's `cause`. A success is rendered in full, whatever its size. Text from outside, such as an upstream
 * message in a `detail`, is treated as data. It appears only in messages with the role `tool`, and {@link json}
 * keeps it in its own field.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import type * as Schema from "effect/Schema"
import { hasActed } from "./internal/call/outcome.ts"
import { readIn } from "./internal/call/readIn.ts"
import { isDerived } from "./internal/failure/evidence.ts"
import { isAboutArguments } from "./internal/failure/policyRefusal.ts"
import { soonOf } from "./internal/failure/soon.ts"
import { cutJson, maxData, shownText } from "./internal/value/cutJson.ts"
import { waitText } from "./internal/value/durationText.ts"
import { cut, list, oneLine } from "./internal/value/text.ts"
import type { ToolCall } from "./ToolCall.ts"
import { type Coverage, isTransient, type ToolUnavailable } from "./ToolFailure.ts"
import type { Completed, Failed, ToolOutcome } from "./ToolOutcome.ts"
import type { WireRequest } from "./WireRequest.ts"

/**
 * A function that renders the outcome of a call as the text that the model reads.
 *
 * @category models
 * @since 0.1.0
 */
export type Rendering = (outcome: ToolOutcome, call: ToolCall) => string

/**
 * Renders an outcome as JSON. A success is rendered as the bare value, or as `{"value":…,"notes":[…]}` if the
 * outcome has caveats (notes for the model). A failure is rendered as an object:
 *
 *     {"ok":false,"error":"SemanticGarbage","code":"unknown_city","detail":"Unknown city: 'Atlantis'.",
 *      "alternatives":["london","mumbai"],
 *      "retry":"Do not repeat this call with the same arguments. Call again with different ones."}
 *
 * @example
 * ```ts
 * import { Dispatch, Tool, Toolkit } from "@fallible/core"
 * import * as Rendering from "@fallible/core/Rendering"
 * import { Effect, Schema } from "effect"
 *
 * const toolkit = Toolkit.make(
 *   Tool.make("ping", { description: "Answers", success: Schema.String }, () => Effect.succeed("pong"))
 * )
 * const call = { id: "1", name: "ping" }
 * Rendering.json(Effect.runSync(Dispatch.call(toolkit, call)), call) // => "\"pong\""
 * ```
 *
 * @category renderings
 * @since 0.1.0
 */
export const json: Rendering = (outcome, call) => {
  switch (outcome._tag) {
    case "Completed":
      return JSON.stringify(
        outcome.caveats.length === 0
          ? readIn(outcome)
          : { value: readIn(outcome), notes: boundedNotes(outcome.caveats) }
      )
    case "Failed":
      return JSON.stringify(payload(outcome, call))
    case "Suspended":
    case "Stopped":
      return JSON.stringify({ ok: false, error: outcome._tag, detail: endingText(outcome) })
  }
}

/**
 * Renders an outcome as a few plain sentences. If the value of a success is a string, it is not quoted.
 *
 * @example
 * ```ts
 * import { Dispatch, Tool, Toolkit } from "@fallible/core"
 * import * as Rendering from "@fallible/core/Rendering"
 * import { Effect, Schema } from "effect"
 *
 * const toolkit = Toolkit.make(
 *   Tool.make("ping", { description: "Answers", success: Schema.String }, () => Effect.succeed("pong"))
 * )
 * const call = { id: "1", name: "ping" }
 * Rendering.prose(Effect.runSync(Dispatch.call(toolkit, call)), call) // => "pong"
 * ```
 *
 * @category renderings
 * @since 0.1.0
 */
export const prose: Rendering = (outcome, call) => {
  switch (outcome._tag) {
    case "Completed": {
      const read = readIn(outcome)
      return [
        typeof read === "string" ? read : JSON.stringify(read),
        ...boundedNotes(outcome.caveats).map((note) => `Note: ${note}.`)
      ].join("\n")
    }
    case "Failed": {
      const { code, data, detail, hint, next, notes = [], retry, severity, source, tried } = payload(outcome, call)
      const alternatives = "alternatives" in outcome.failure ? outcome.failure.alternatives : []
      return [
        `${cut(oneLine(call.name), 80)} failed (${code}): ${detail}`,
        hint,
        source === undefined ? undefined : `Source: ${source}.`,
        severity === undefined ? undefined : `Severity: ${severity}.`,
        alternatives.length === 0 || hint !== undefined
          ? undefined
          : `Valid choices: ${list(alternatives, limits.alternatives)}.`,
        tried === undefined ? undefined : `Already tried: ${list(tried)}.`,
        data === undefined ? undefined : `Partial data: ${JSON.stringify(data)}.`,
        next === undefined ? undefined : `Arguments to continue with: ${JSON.stringify(next)}.`,
        ...notes.map((note) => `Note: ${note}.`),
        retry
      ].filter((sentence) => sentence !== undefined).join(" ")
    }
    case "Suspended":
    case "Stopped":
      return `${cut(oneLine(call.name), 80)} did not finish: ${endingText(outcome)}`
  }
}

// -----------------------------------------------------------------------------
// Shared content
// -----------------------------------------------------------------------------

interface Payload {
  readonly ok: false
  readonly error: string
  readonly code: string
  readonly detail: string
  readonly hint?: string
  readonly source?: string
  readonly severity?: string
  readonly alternatives?: ReadonlyArray<string>
  readonly tried?: ReadonlyArray<string>
  readonly coverage?: Coverage
  readonly data?: Schema.Json
  readonly next?: Schema.JsonObject
  readonly notes?: ReadonlyArray<string>
  readonly retry: string
}

const limits = {
  line: 600,
  escalation: 5000,
  code: 60,
  alternatives: 20,
  alternative: 80,
  next: 1000,
  // Large enough for all notes on a call: those on its arguments, those on its source, and its caveats. Each of
  // these kinds already has a smaller limit, and says in one more note how many were left out.
  notes: 50
}

// A fixer's escalation may end its hint with the corrected arguments, which would be useless if cut off.
const hintLimit = ({ severity }: Failed["failure"]): number => severity === undefined ? limits.line : limits.escalation

const boundedLine = (text: string): string => cut(oneLine(text), limits.line)

const payload = (outcome: Failed, call: ToolCall): Payload => {
  const { failure } = outcome
  const part = failure._tag === "PartialData" ? dataOf(failure.data) : undefined
  const repairs = (outcome.repairs ?? []).flatMap(({ note }) => note ?? [])
  const notes = boundedNotes(part?.note === undefined ? repairs : [...repairs, part.note])
  return {
    ok: false,
    error: failure._tag,
    code: cut(oneLine(failure.code), limits.code),
    detail: boundedLine(failure.detail),
    ...(failure.hint === undefined ? {} : { hint: cut(oneLine(failure.hint), hintLimit(failure)) }),
    ...(failure.source === undefined ? {} : { source: cut(oneLine(failure.source), limits.alternative) }),
    ...(failure.severity === undefined ? {} : { severity: failure.severity }),
    ...("alternatives" in failure && failure.alternatives.length > 0
      ? { alternatives: choices(failure.alternatives) }
      : {}),
    ...(failure._tag === "ToolUnavailable" && failure.tried !== undefined ? { tried: choices(failure.tried) } : {}),
    ...(failure._tag === "PartialData"
      ? {
        ...(failure.coverage === undefined ? {} : { coverage: boundedCoverage(failure.coverage) }),
        // A call in doubt must not be continued, so the arguments for that are left out.
        ...(isSendable(failure.next) && outcome.certainty !== "unknown" ? { next: failure.next } : {}),
        data: part?.data ?? null
      }
      : {}),
    ...(notes.length === 0 ? {} : { notes }),
    retry: advice(outcome, call)
  }
}

const boundedCoverage = ({ unit, ...counts }: Coverage): Coverage =>
  unit === undefined ? counts : { ...counts, unit: cut(oneLine(unit), limits.code) }

// The arguments to continue with are rendered in full, or left out if they are too long to be worth their tokens.
const isSendable = (next: Schema.JsonObject | undefined): next is Schema.JsonObject =>
  next !== undefined && Object.keys(next).length > 0 && JSON.stringify(next).length <= limits.next

const choices = (alternatives: ReadonlyArray<string>): ReadonlyArray<string> => {
  const shown = alternatives.slice(0, limits.alternatives).map((choice) => cut(oneLine(choice), limits.alternative))
  return alternatives.length > shown.length ? [...shown, `… (${alternatives.length - shown.length} more)`] : shown
}

// Cuts the data to the limit, and says in a note what is left of it.
const dataOf = (data: Schema.Json): { readonly data: Schema.Json; readonly note?: string } => {
  const short = cutJson(data, { bytes: maxData, items: Infinity })
  return short === undefined ? { data } : { data: short.value, note: `the data was cut: it shows ${shownText(short)}` }
}

const boundedNotes = (caveats: ReadonlyArray<string>): ReadonlyArray<string> => {
  const shown = caveats.slice(0, limits.notes).map((caveat) => boundedLine(caveat).replace(/\.$/, ""))
  return caveats.length > shown.length ? [...shown, `${caveats.length - shown.length} more notes`] : shown
}

const endingText = (outcome: Exclude<ToolOutcome, Completed | Failed>): string =>
  outcome._tag === "Suspended"
    ? `Waiting for the user's answer to: ${boundedLine(outcome.question)}`
    : `The run was stopped: ${boundedLine(outcome.reason)}`

// Tells the model how often the call was tried, and whether to repeat it: never, with other arguments, or later.
const advice = (outcome: Failed, call: ToolCall): string => {
  const { attempts, certainty, failure } = outcome
  // Partial data skips this check, because the advice below on how to continue still applies to it.
  if (hasActed(outcome) && failure._tag !== "PartialData") {
    return "Do not repeat this call: it has already taken effect."
  }
  if (outcome.doubt === "soft" && failure._tag !== "PartialData") return unprovedRefusal
  if (certainty === "unknown" && !isTransient(failure)) {
    if (failure.code === "in_doubt") {
      return "Do not call this tool with other arguments until it is known what became of the earlier call: it may already have taken effect. Find out whether it has, or tell the user."
    }
    if (failure.code === "repeated_call" && failure.hint !== undefined) {
      return "Do not repeat this call with these arguments: it may already have taken effect."
    }
    return failure.code === "repeated_call"
      ? "Do not repeat this call: it would be refused again, because it may already have taken effect. If you know that it has not, tell the user."
      : "Do not repeat this call: it may already have taken effect. Find out whether it has, or tell the user."
  }
  // A fixer escalated this failure, and its hint already says what to do.
  if (failure.source !== undefined) return "Do not repeat this call as it is."
  switch (failure._tag) {
    case "SchemaMismatch":
      if (failure.code === "unknown_tool") return "Do not repeat this call."
      if (failure.side === "arguments") return "Do not repeat this call as it is. Call again with corrected arguments."
      return failure.code === "truncated"
        ? "Do not repeat this call with the same arguments: its result was cut off. Ask for less, or tell the user what is missing."
        : "Do not repeat this call: the tool returned an invalid result. Use another tool, or tell the user what is missing."
    case "PartialData":
      return !isSendable(failure.next)
        ? "Do not repeat this call with the same arguments. Use the data that you have."
        : `Use the data that you have, or call ${cut(oneLine(call.name), 80)} again with ${
          assignments(failure.next)
        } to continue.`
    case "SemanticGarbage":
      // The error reads like a refusal, but the service has not served the request.
      if (certainty === "not_executed" && isDerived(failure) && outcome.wire?.some(isUnserved) === true) {
        return `${triedText(attempts)}Nothing was done. You may call it again in a moment.`
      }
      if (failure.askUser === true) {
        return "Do not repeat this call with the same arguments. Ask the user which ones to use; do not choose them yourself."
      }
      return failure.alternatives.length > 0
        ? "Do not repeat this call with the same arguments. Call again with different ones."
        : "Do not repeat this call with the same arguments. Use other arguments or another tool, or ask the user."
    case "ToolUnavailable":
      if (failure.code === "in_doubt") {
        return "Do not repeat this call if it means the same. If something else is meant, call it again."
      }
      if (failure.code === "not_approved") {
        return "Do not repeat this call, and do not do the same in another way. Do something else, or tell the user."
      }
      if (failure.code === "not_run") return "Call it again once the earlier call is settled."
      if (failure.code === "call_limit") return "Do not call it again now."
      if (failure.code === "repeated_call") {
        return "Do not repeat this call with the same arguments. Use another tool, or answer without it."
      }
      if (failure.code === "loop_detected" && failure.scope === "arguments") {
        return "Do not repeat this call with the same arguments. Use what you have, or do something else."
      }
      if (isAboutArguments(failure)) {
        return "Do not repeat this call with the same arguments. Use other arguments or another tool, or answer without it."
      }
      if (!failure.transient) return "Do not call this tool again. Use another one, or answer without it."
      // The failure's hint says which other arguments to use.
      if (failure.scope === "arguments" && certainty !== "unknown") {
        return `${triedText(attempts)}Do not repeat this call with the same arguments.`
      }
      return certainty === "unknown"
        ? `${
          triedText(attempts)
        }It may already have taken effect: do not do the same with another tool. Do not call it again ${
          retryTime(failure)
        }.`
        : attempts > 0 && (soonOf(failure) ?? 0) > 0
        ? `${triedText(attempts)}You may call it again after ${
          waitText(failure.retryAfter ?? Duration.zero)
        }, use another tool, or answer without it.`
        : `${triedText(attempts)}Do not call it again ${retryTime(failure)}; use another tool, or answer without it.`
  }
}

// Locked, too early, or too many requests.
const isUnserved = ({ status }: WireRequest): boolean => status === 423 || status === 425 || status === 429

// Whether the tool has refused or failed, only its words say. The model can read them; the library cannot.
const unprovedRefusal =
  "Do not repeat this call with the same arguments. The detail is the tool's own words, and no proof that nothing was done. If it plainly says that nothing was done, use other arguments or another tool. Otherwise find out whether it took effect, or tell the user."

const retryTime = ({ retryAfter = Duration.zero }: ToolUnavailable): string =>
  Duration.isZero(retryAfter) || !Duration.isFinite(retryAfter)
    ? "now"
    : `within ${waitText(retryAfter)}`

const triedText = (attempts: number): string =>
  attempts === 0 ? "" : attempts === 1 ? "Already tried once. " : `Already tried ${attempts} times. `

const assignments = (next: Schema.JsonObject): string =>
  cut(oneLine(Object.entries(next).map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(", ")), limits.line)
