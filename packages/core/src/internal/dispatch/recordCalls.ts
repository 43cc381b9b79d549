/*
 * The record of the calls of a scope: how facts begin, what each call adds to them, and how they pass from a run that was
 * suspended to the next. `CallFacts` has the table of what they decide.
 */
import { statusIn } from "@fallible/errors"
import * as HashMap from "effect/HashMap"
import * as Result from "effect/Result"
import * as Struct from "effect/Struct"
import { type CallFacts, empty, type Fact, type FailedCall, type Likelihood, settle } from "../../CallFacts.ts"
import { join } from "../../Certainty.ts"
import type * as Tool from "../../Tool.ts"
import { isNotExecuted, SchemaMismatch, type ToolFailure, ToolUnavailable } from "../../ToolFailure.ts"
import {
  type Decided,
  executions as executionsOf,
  type Failed,
  type Intent,
  type Settlement,
  type ToolOutcome
} from "../../ToolOutcome.ts"
import { readIn } from "../call/readIn.ts"
import { isConflict } from "../failure/conflict.ts"
import { evidenceOf } from "../failure/evidence.ts"
import { cut, maxDetail } from "../value/text.ts"
import { isRefusal } from "../wire/wireRecord.ts"
import { factOf } from "./callFact.ts"

/**
 * Returns the facts at the start of a run. A failed call of an earlier run no longer counts, unless that call
 * may have taken effect.
 *
 * @param scope the scope of the run
 * @param mayHaveRun whether the run may have started before, for example as a job that a queue delivers
 * twice; default: `"no"`. If there are facts of an earlier run, `"no"` is raised to `"unlikely"`, and to `"likely"`
 * if that run was suspended or postponed
 */
export const beginFacts = (facts: CallFacts, scope: string, mayHaveRun: Likelihood = "no"): CallFacts => {
  const isFirst = facts.scope === undefined && HashMap.isEmpty(facts.intents)
  const intents = isFirst ? facts.intents : HashMap.filterMap(facts.intents, (fact) => carryOver(fact, facts))
  const atLeast = facts.paused === true ? "likely" : "unlikely"
  return {
    ...empty,
    scope,
    run: isFirst ? 0 : facts.run + 1,
    mayHaveRun: isFirst || mayHaveRun === "likely" ? mayHaveRun : atLeast,
    intents,
    failures: HashMap.some(intents, ({ failed }) => failed !== undefined) ? 1 : 0
  }
}

const carryOver = ({ failed, ...known }: Fact, { paused, run }: CallFacts): Result.Result<Fact, void> => {
  // What was denied in one run may be asked about in the next.
  const fact = Struct.omit(known, ["denied"])
  if (failed !== undefined && failed.certainty !== "not_executed") {
    return Result.succeed({ ...fact, failed: { ...failed, executions: 1 } })
  }
  // The suspended call of a paused run, which was refused before (see `keepAskedKey`).
  if (paused === true && failed?.refused !== undefined && failed.arguments !== "") {
    return Result.succeed({ ...fact, failed: { ...failed, run: run + 1, executions: 1 } })
  }
  // The service may have stored the refused request under its key, so the next call gets a new key.
  const number = failed?.refused === undefined ? fact.number : fact.number + 1
  // A fact that only has the first number says nothing.
  return fact.done === undefined && number === 1 ? Result.failVoid : Result.succeed({ ...fact, number })
}

/**
 * Returns the facts of a run that was suspended or postponed. The run may be resumed, and its client may leave then.
 * So the resumed run and the next run of the scope must make the same keys: in both, a call that was refused gets a new
 * key if it is repeated, whatever its arguments are.
 */
export const pauseFacts = (facts: CallFacts): CallFacts => ({
  ...facts,
  paused: true,
  intents: HashMap.map(facts.intents, (fact) => {
    const { failed } = fact
    return failed?.certainty === "not_executed" ? { ...fact, failed: { ...failed, arguments: "" } } : fact
  })
})

/**
 * Returns the facts of a run that was suspended, for the next run of the scope: a call with the intent of the
 * suspended call gets that call's key; if the call was refused before, only with the same arguments. Only for a
 * suspended call that certainly did nothing.
 */
export const keepAskedKey = (facts: CallFacts, intent: Intent | undefined): CallFacts => {
  if (intent?.number === undefined) return facts
  const { failed, ...fact }: Fact = factOf(facts, intent.id)
  const isInDoubt = failed !== undefined && failed.certainty !== "not_executed"
  // The service may have stored an earlier refusal of the call under this key, so other arguments need a new key.
  const wasRefused = failed?.refused !== undefined && fact.number === intent.number
  const kept = isInDoubt ? failed : wasRefused ? { ...failed, arguments: intent.arguments } : undefined
  const waiting = { ...fact, number: intent.number, ...(kept === undefined ? {} : { failed: kept }) }
  return { ...facts, intents: HashMap.set(facts.intents, intent.id, waiting) }
}

/**
 * Returns the facts of a resumed run. The run may have been resumed before, because its user may answer twice.
 */
export const resumeFacts = (facts: CallFacts): CallFacts => ({
  ...Struct.omit(facts, ["paused"]),
  mayHaveRun: facts.mayHaveRun === "no" ? "unlikely" : facts.mayHaveRun
})

/**
 * Returns facts with which a resumed call keeps the key number that it had before its suspension.
 */
export const keepKeyNumber = (facts: CallFacts, intent: Intent | undefined): CallFacts => {
  if (intent?.number === undefined) return facts
  const { failed, ...fact }: Fact = factOf(facts, intent.id)
  const sent = failed?.certainty === "not_executed" ? { ...failed, arguments: intent.arguments } : failed
  const resumed = { ...fact, number: intent.number, ...(sent === undefined ? {} : { failed: sent }) }
  return { ...facts, intents: HashMap.set(facts.intents, intent.id, resumed) }
}

/**
 * Records the outcome of a call.
 *
 * @param tool the tool that was called
 */
export const recordCall = (
  earlier: CallFacts,
  outcome: ToolOutcome,
  tool: Pick<Tool.Any, "name" | "sideEffect">
): CallFacts => {
  const { intent } = outcome
  const facts = outcome.settled?.reduce(withSettlement, earlier) ?? earlier
  if (intent === undefined) return facts
  if (wasNotRun(outcome)) {
    return outcome.decided?.approved === false
      ? withDenial(facts, intent, outcome.decided)
      : facts
  }
  // A call that was refused at `admit` although it ran: it first ran and did nothing, and then its corrected
  // arguments were refused.
  if (outcome._tag === "Failed" && outcome.stage === "admit") {
    return recordCall(earlier, asRejected(outcome), tool)
  }
  const before: Fact = factOf(facts, intent.id)
  const { number = before.number } = intent
  const written = writtenAs(before.written, intent)
  const failure = failureOf(outcome)
  if (failure !== undefined) {
    const earlier = number === before.number ? before.failed : underNewKey(before.failed, tool)
    const failed = failedCallOf(facts, earlier, intent, failure, outcome, tool)
    const { settled: _, ...known } = before
    const fact = { ...known, ...written, number, failed }
    return { ...facts, failures: facts.failures + 1, intents: HashMap.set(facts.intents, intent.id, fact) }
  }
  if (tool.sideEffect === "none" || outcome.certainty !== "executed") return facts
  // The effect of an earlier call, which a check has found.
  const isFound = outcome.settled?.some(({ certainty, id }) => certainty === "executed" && id === intent.id) === true
  // An effect that has been in doubt since an earlier run counts as done in that earlier run.
  const run = before.failed?.run ?? (isFound ? before.done?.run : undefined) ?? facts.run
  const done = {
    run,
    // A model that repeats the call is told what it was told before.
    ...(outcome._tag === "Completed" ? { answer: cut(JSON.stringify(readIn(outcome)), 300) } : {}),
    ...(intent.at === undefined ? {} : { at: intent.at })
  }
  const settled = isFound && { settled: settledByReconcile }
  const fact = { ...written, ...settled, number: number + 1, done }
  return { ...facts, intents: HashMap.set(facts.intents, intent.id, fact) }
}

// The person who denied the call is not asked again in this run.
const withDenial = (facts: CallFacts, { id }: Intent, { reason }: Decided): CallFacts => {
  const fact: Fact = factOf(facts, id)
  const denied = { run: facts.run, ...(reason === undefined ? {} : { reason: cut(reason, maxDetail) }) }
  return { ...facts, intents: HashMap.set(facts.intents, id, { ...fact, denied }) }
}

// A doubt can be settled once: the first word holds.
const withSettlement = (facts: CallFacts, { id, ...settlement }: Settlement): CallFacts =>
  Result.getOrElse(settle(facts, id, settlement), () => facts)

const settledByReconcile = { certainty: "executed", by: "reconcile" } as const

// A text that a fixer corrects differently the next time is still the same call.
const writtenAs = (before: Fact["written"], { written }: Intent): Pick<Fact, "written"> | undefined => {
  if (written === undefined) return before === undefined ? undefined : { written: before }
  return { written: [...(before ?? []).filter((text) => text !== written), written].slice(-maxWritten) }
}

/** How many texts are kept for one intent. Far fewer calls than this have failed by then. */
const maxWritten = 20

// Only calls that act have keys, so only their refusals are kept for later runs. A conflict may mean that a run whose
// client has left still holds the key: then a new key would act again. If this run has probably run before, a refusal that
// comes before the service looks at the key says nothing about what was done under it then.
const keepsRefusal = (
  { mayHaveRun }: CallFacts,
  { sideEffect }: Pick<Tool.Any, "sideEffect">,
  failure: ToolFailure,
  wire: ToolOutcome["wire"] = []
): boolean => {
  if (sideEffect !== "idempotent_by_key" || mayHaveRun === "no") return sideEffect !== "none"
  if (isConflict(failure)) return false
  if (mayHaveRun === "unlikely") return true
  // Without a request that was seen, the author says what was refused.
  return wire.length === 0
    ? !beforeTheKey.has(statusIn(failure) ?? 0)
    : wire.some(({ keyed, status = 0 }) => keyed === true && isFinal(status))
}

// True for the refusal of a service that has looked at the key.
const isFinal = (status: number): boolean => isRefusal(status) && !beforeTheKey.has(status)

/** Refusals of a gateway, and of callers without access: a service gives them before it looks at a key. */
const beforeTheKey: ReadonlySet<number> = new Set([
  401,
  403,
  404,
  405,
  407,
  411,
  413,
  414,
  415,
  421,
  426,
  428,
  431
])

// Nothing has been sent yet under a new key, so nothing was refused under it. A non-idempotent tool may not repeat a
// refused call under any key.
const underNewKey = (
  failed: FailedCall | undefined,
  { sideEffect }: Pick<Tool.Any, "sideEffect">
): FailedCall | undefined => {
  if (failed === undefined) return undefined
  const { refused, text: _, ...rest } = failed
  return { ...rest, arguments: "", ...(sideEffect === "non_idempotent" && refused !== undefined ? { refused } : {}) }
}

const failedCallOf = (
  facts: CallFacts,
  failed: FailedCall | undefined,
  intent: Intent,
  failure: ToolFailure,
  outcome: ToolOutcome,
  tool: Pick<Tool.Any, "name" | "sideEffect">
): FailedCall => {
  const { certainty: last } = outcome
  const { _tag: tag, code, detail } = failure
  const certainty = join(failed?.certainty ?? "not_executed", last)
  // The hint is about the latest call only. It does not apply if an earlier call may have taken effect.
  const hint = certainty === last ? failure.hint : undefined
  const isRefused = last === "not_executed" && (!isNotExecuted(failure) || evidenceOf(failure)?.refused === true)
  const isSoft = certainty === "unknown" && (last !== "unknown" || outcome.doubt === "soft") &&
    (failed === undefined || failed.certainty === "not_executed" || failed.doubt === "soft")
  const refused = !keepsRefusal(facts, tool, failure, outcome.wire)
    ? undefined
    : isRefused
    ? intent.arguments
    : failed?.refused
  // A request that was not served may be sent with other arguments under the same key. Then those count as the first.
  const wasServed = failed !== undefined && (failed.certainty !== "not_executed" || failed.refused !== undefined)
  const first = wasServed && failed.arguments !== "" ? failed : undefined
  const text = certainty === "not_executed" ? undefined : first?.text ?? intent.text
  return {
    tool: tool.name,
    run: failed?.run ?? facts.run,
    executions: (failed?.executions ?? 0) + executionsOf(outcome),
    certainty,
    ...(isSoft ? { doubt: "soft" } as const : {}),
    arguments: first?.arguments ?? intent.arguments,
    ...(text === undefined ? {} : { text }),
    ...(refused === undefined ? {} : { refused }),
    ...(intent.lasting === true ? { lasting: true } : {}),
    code,
    detail: cut(detail, maxDetail),
    ...(hint === undefined ? {} : { hint: cut(hint, maxDetail) }),
    tag
  }
}

// Partial data, and any outcome other than `Failed`, count as failures only if the call is in doubt.
const failureOf = (outcome: ToolOutcome): ToolFailure | undefined => {
  if (outcome._tag === "Failed") {
    return outcome.failure._tag === "PartialData" && outcome.certainty !== "unknown" ? undefined : outcome.failure
  }
  if (outcome.certainty !== "unknown") return undefined
  const [detail = "It may have taken effect."] = outcome._tag === "Completed" ? outcome.caveats : []
  return new ToolUnavailable({ code: "outcome_unknown", detail, transient: false, outcome: "unknown" })
}

const wasNotRun = (outcome: ToolOutcome): boolean =>
  outcome.attempts === 0 &&
  (outcome.certainty === "not_executed" || outcome._tag === "Failed" && outcome.stage === "admit")

const asRejected = (outcome: Failed): Failed => {
  const { code, detail } = outcome.handled.at(-1) ?? outcome.failure
  const failure = new SchemaMismatch({ side: "arguments", code, detail })
  return { ...outcome, failure, stage: "run", certainty: "not_executed" }
}
