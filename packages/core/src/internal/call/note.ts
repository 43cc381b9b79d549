/*
 * How an event is noted: in the scope where it happens, and in each scope that it is passed on to.
 */
import type { CallEvent } from "../../CallEvent.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import { evidenceOf } from "../failure/evidence.ts"
import { isBlameless } from "../failure/policyRefusal.ts"
import { lastFailure } from "../failure/sourcesExhausted.ts"
import { cut, maxDetail } from "../value/text.ts"
import { step } from "./callState.ts"
import { logHandled } from "./failureLogLine.ts"
import { forward } from "./forward.ts"
import { detached, type Scope } from "./scope.ts"

/**
 * Notes an event.
 *
 * @param failure the failure that the event reports, with its cause, for a watcher in this process
 * @param attempt the number of the attempt that the event belongs to
 */
export const note = (scope: Scope, event: CallEvent, failure?: ToolFailure, attempt = scope.attempt): void => {
  // Loops, so that deeply nested tools cannot overflow the stack.
  for (let acting = noteOutwards(scope, event, failure, attempt); acting !== undefined;) {
    const { around, tool }: Scope = acting
    if (around === undefined) return
    const event: CallEvent = { _tag: "InnerActs", inside: tool.name, by: ranBy(around) }
    acting = noteOutwards(around, event, undefined, around.attempt)
  }
}

// Returns the inner tool that begins to act with this event, if any. The scope around that tool does not know it yet.
const noteOutwards = (
  first: Scope,
  happened: CallEvent,
  failure: ToolFailure | undefined,
  attempt: number
): Scope | undefined => {
  let acting: Scope | undefined = undefined
  let innermost = first
  let scope = first
  let event = happened
  while (scope !== detached) {
    if (beginsToAct(scope, event)) acting = scope
    scope.state = step(scope.state, event)
    if (event._tag === "AttemptEnded" && event.inside === undefined) scope.last = failure ?? scope.last
    scope.policy?.hear(event)
    // A page counts as an attempt of the call around it.
    if (starting.has(event._tag) && scope.ownsRecord && scope.role !== "page") attempt = numberAttempt(innermost, scope)
    const { parent } = scope
    if (parent === undefined) {
      if (event._tag === "FailureHandled") logHandled(scope.tool.name, event)
      scope.hear?.(event, failure, attempt)
      break
    }
    const outer = forward(event, scope)
    if (outer === undefined) break
    if (scope.ownsRecord) {
      attempt = parent.attempt
      if (scope.role !== "page") innermost = parent
    } else if (outer !== event) innermost = scope
    event = outer
    scope = parent
  }
  return acting
}

// The events that start an attempt, either of the called tool or of a tool that a fallback runs.
const starting: ReadonlySet<CallEvent["_tag"]> = new Set(["AttemptStarted", "PageStarted", "SourceStarted"])

// Gives the attempt that has started its number, in the scope that counts it and in those inside.
const numberAttempt = (innermost: Scope, counting: Scope): number => {
  const number = counting.state.attempts
  for (let scope = innermost; scope !== counting && scope.parent !== undefined; scope = scope.parent) {
    scope.attempt = number
  }
  return counting.attempt = number
}

// An inner tool says only once that it acts. Work that starts after it has ended no longer belongs to it.
const beginsToAct = (scope: Scope, { _tag }: CallEvent): boolean => {
  if (_tag !== "InnerActs" && (_tag !== "AttemptStarted" || !scope.acts)) return false
  if (!scope.ownsRecord || scope.role === "fixer" || scope.isKnownToAct || scope.phase === "over") return false
  return scope.isKnownToAct = true
}

/** What the tools run for that start in a scope: the handler, a source, or a policy's own purposes. */
export const ranBy = ({ role }: Scope): (CallEvent & { readonly _tag: "InnerEnded" })["by"] =>
  role === "source" ? "source" : role === "policy" || role === "check" || role === "fixer" ? "policy" : "handler"

/** Notes that the handler starts, for the first time or again. */
export const noteStart = (scope: Scope): void => {
  scope.restart()
  note(scope, attemptStarted)
}

const attemptStarted: CallEvent = { _tag: "AttemptStarted" }

/**
 * Notes that a failure was handled.
 *
 * @param attempt the number of the attempt that failed; default: the current attempt
 */
export const noteHandled = (scope: Scope, failure: ToolFailure, by: HandledBy, attempt?: number): void =>
  note(scope, { ...summaryOf(failure), ...by, _tag: "FailureHandled" }, failure, attempt)

/** Notes that a failure was handled and that another answer will follow. */
export const noteReplaced = (scope: Scope, failure: ToolFailure, by: HandledBy, attempt?: number): void => {
  noteHandled(scope, failure, by, attempt)
  discardAnswer(scope)
}

/** Discards what belongs to the current answer, such as its caveats, because another answer will follow. */
export const discardAnswer = (scope: Scope): void => {
  const { caveats, files, source, told } = scope.state
  const isBare = caveats.length === 0 && files.length === 0 && source === undefined && told === undefined
  if (!isBare) note(scope, noteDiscardedAnswer)
}

export const noteDiscardedAnswer: CallEvent = { _tag: "AnswerDiscarded" }

type FailureHandled = CallEvent & { readonly _tag: "FailureHandled" }

type HandledBy = Pick<FailureHandled, "by" | "policy" | "retry">

const summaryOf = (
  failure: ToolFailure
): Pick<FailureHandled, "tag" | "code" | "detail" | "outcome" | "scope" | "evidence"> => {
  const { _tag: tag, code, detail, outcome } = failure
  const evidence = evidenceOf(failure)
  return {
    tag,
    code,
    detail: cut(detail, maxDetail),
    // Of several sources, the last one's: the scope of the earlier ones says nothing about it.
    ...(failure._tag === "ToolUnavailable" && isBlameless(lastFailure(failure)) ? { scope: "arguments" } : {}),
    ...(outcome === undefined ? {} : { outcome }),
    ...(evidence === undefined ? {} : { evidence })
  }
}
