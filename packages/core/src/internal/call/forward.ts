/*
 * What a scope passes on to the scope around it: event × role → pass, map or drop. ARCHITECTURE.md shows this table, and a
 * test compares the two.
 */
import type { CallEvent } from "../../CallEvent.ts"

/**
 * What a scope stands for.
 *
 *     call     a dispatched call, or a tool that a program runs
 *     inner    a tool that runs inside another scope; it has its own key and attempts
 *     page     a request for a further page of a result; it has its own key, and counts as an attempt of the call
 *     fixer    one question to a fixer; tools that the fixer runs do not count as the handler's
 *     limit    a run under a time limit, which may be abandoned
 *     policy   one run of a custom policy's own code
 *     run      one run of the tool by a custom policy; its caveats apply once the run has succeeded
 *     source   the source of a fallback: tools that it runs answer in place of the called tool
 *     check    a check of an outcome (`Tool.reconcile`)
 *
 * The first four own a record of attempts. The others share the record of the scope around them.
 */
export type Role = "call" | "inner" | "page" | "fixer" | "limit" | "policy" | "run" | "source" | "check"

/** The scope that an event comes from. */
export interface From {
  readonly role: Role
  readonly tool: { readonly name: string }
  readonly acts: boolean
  readonly phase: "open" | "over" | "closed"
}

type Tagged<T extends CallEvent["_tag"]> = Extract<CallEvent, { readonly _tag: T }>

/** How one kind of event is passed on. A function maps the event, or drops it by returning `undefined`. */
type Rule<Event extends CallEvent> = "pass" | "drop" | ((event: Event, from: From) => CallEvent | undefined)

/** The rules for one kind of event, in the order of {@link columns}. */
type Row<Event extends CallEvent> = readonly [
  inner: Rule<Event>,
  page: Rule<Event>,
  fixer: Rule<Event>,
  run: Rule<Event>,
  source: Rule<Event>
]

/** The roles that pass on only a part of their events. All other roles pass on everything. */
export const columns: ReadonlyArray<Role> = ["inner", "page", "fixer", "run", "source"]

const asInner = (_: CallEvent, { tool }: From): CallEvent => ({ _tag: "InnerStarted", inside: tool.name })
const asPage = (): CallEvent => ({ _tag: "PageStarted" })
const asSource = ({ inside }: Tagged<"InnerStarted">): CallEvent => ({ _tag: "SourceStarted", source: inside })

const named = (
  event: Tagged<
    "AttemptEnded" | "LateRequest" | "FailureHandled" | "RetryRefused" | "CallRefused" | "WaitStarted" | "WaitEnded"
  >,
  { tool }: From
): CallEvent => event.inside === undefined ? { ...event, inside: tool.name } : event

const ifLate = (event: Tagged<"AttemptEnded">, from: From) => event.late === true ? named(event, from) : undefined

// The failure of a read-only tool leaves nothing of its own in doubt.
const namedWithoutDoubt = (event: Tagged<"FailureHandled">, from: From) =>
  named(from.acts || event.outcome !== "unknown" ? event : { ...event, outcome: "not_executed" }, from)

/**
 * The table. An attempt of an inner tool does not count as an attempt of the outer call, and what the inner tool did is
 * noted when it ends (`endInner`). What a run says of its answer is held back until the run has succeeded (`handOut`).
 */
export const table: { readonly [T in CallEvent["_tag"]]: Row<Tagged<T>> } = {
  AttemptStarted: [asInner, asPage, asInner, "pass", "pass"],
  AttemptEnded: [ifLate, ifLate, ifLate, "pass", "pass"],
  AttemptAbandoned: ["drop", "drop", "drop", "pass", "pass"],
  PageStarted: ["drop", asPage, "drop", "pass", "pass"],
  SourceStarted: [asInner, "pass", asInner, "pass", "pass"],
  InnerStarted: ["drop", "drop", "drop", "pass", asSource],
  InnerActs: ["drop", "drop", "pass", "pass", "pass"],
  InnerEnded: ["drop", "drop", "pass", "pass", "pass"],
  LateRequest: [named, named, named, "pass", "pass"],
  PolicyActed: ["drop", "drop", "drop", "pass", "pass"],
  OutcomeSettled: ["drop", "drop", "drop", "pass", "pass"],
  FailureHandled: [namedWithoutDoubt, namedWithoutDoubt, namedWithoutDoubt, "pass", "pass"],
  RetryRefused: [named, named, named, "pass", "pass"],
  CallRefused: [named, named, named, "pass", "pass"],
  CallRepeated: ["drop", "drop", "drop", "pass", "pass"],
  CallJoined: ["drop", "drop", "drop", "pass", "pass"],
  CallDecided: ["drop", "drop", "drop", "pass", "pass"],
  DoubtSettled: ["drop", "drop", "drop", "pass", "pass"],
  CircuitChanged: ["pass", "pass", "pass", "pass", "pass"],
  WaitStarted: [named, named, named, "pass", "pass"],
  WaitEnded: [named, named, named, "pass", "pass"],
  CaveatAdded: ["drop", "drop", "drop", "drop", "pass"],
  FileAttached: ["drop", "drop", "drop", "drop", "pass"],
  ResultTold: ["drop", "drop", "drop", "drop", "pass"],
  ProgressMade: ["drop", "pass", "drop", "pass", "pass"],
  SourceNamed: ["drop", "drop", "drop", "drop", "pass"],
  AnswerDiscarded: ["drop", "drop", "drop", "drop", "pass"],
  FixerAsked: ["drop", "drop", "drop", "pass", "pass"],
  FixerSpent: ["pass", "pass", "pass", "pass", "pass"],
  AgentSpent: ["pass", "pass", "pass", "pass", "pass"],
  ArgumentsRepaired: ["drop", "drop", "drop", "pass", "pass"],
  ArgumentsCorrected: ["drop", "drop", "drop", "pass", "pass"]
}

/** Returns the event that the outer scope notes, if any. */
export const forward = (event: CallEvent, from: From): CallEvent | undefined => {
  // If the caller has stopped waiting, it only hears how anything that acts has ended.
  if (from.phase === "closed" && !isOfActing(event)) return undefined
  const rule = table[event._tag][columns.indexOf(from.role)] ?? "pass"
  if (rule === "pass") return event
  return rule === "drop" ? undefined : ofAny(rule)(event, from)
}

const isOfActing = (event: CallEvent): boolean =>
  event._tag === "LateRequest" || event._tag === "AttemptEnded" && event.effects !== undefined ||
  event._tag === "InnerEnded" && event.acts === true

// Each rule stands in the row of its event, which the compiler cannot follow.
const ofAny = (rule: (event: never, from: From) => CallEvent | undefined) =>
  rule as (event: CallEvent, from: From) => CallEvent | undefined

/** True if the event concerns the current answer, which may still be discarded. */
export const isOfAnswer = ({ _tag }: CallEvent): boolean =>
  _tag === "CaveatAdded" || _tag === "FileAttached" || _tag === "SourceNamed" || _tag === "ResultTold" ||
  _tag === "AnswerDiscarded"
