import * as Duration from "effect/Duration"
import * as Iterable from "effect/Iterable"
import type { Explanation, Moment, Step, Warning } from "../../Explanation.ts"
import type * as Policy from "../../Policy.ts"
import type { Identified } from "../arguments/argumentIdentity.ts"
import { hasFreeText, isIdentified } from "../arguments/freeText.ts"
import { failureLimitOf } from "../call/failureLimit.ts"
import { isIdempotent } from "../call/isIdempotent.ts"
import { seenOf, undeclared } from "../call/seenMistakes.ts"
import { isReconciled, isSettled } from "../call/settling.ts"
import type { Fixing } from "../fixing/fixerOption.ts"
import type { Approval } from "../policy/approval.ts"
import { timeOf } from "../policy/policyTerms.ts"
import { toolOfRun } from "../policy/toolRuns.ts"
import { durationText } from "../value/durationText.ts"
import { applyTerms, type Bounds, fixedBounds, handler } from "./bounds.ts"

interface Explained extends Policy.Subject, Identified {
  readonly policies: ReadonlyArray<Policy.Any>
  readonly fixers?: ReadonlyArray<Fixing>
  readonly approvals?: ReadonlyArray<Approval>
  readonly failureLimit?: number
  readonly check?: string | undefined
}

/**
 * Computes the worst case of a tool, and lists the likely mistakes in its policies.
 *
 * @param token identifies the tool's handler, for what was seen of it while it ran
 */
export const explainTool = (tool: Explained, token?: object): Explanation => {
  const layers = layersOf(tool)
  const { bounds: { moments, warnings } } = layers.at(-1)!
  const steps = layers.map(({ bounds, description }): Step => ({
    description,
    attempts: bounds.attempts(Duration.infinity),
    waiting: bounds.waiting,
    time: bounds.time
  }))
  const { attempts, time, waiting } = steps.at(-1)!
  const { failureLimit = failureLimitOf(tool.sideEffect) } = tool
  const [first, more] = firstMoments(moments())
  return {
    tool: tool.name,
    sideEffect: tool.sideEffect,
    attempts,
    waiting,
    time,
    // Each failing call runs the handler at least once, so there are at most `failureLimit` calls. When the last of
    // them begins, the limit may leave only one execution. That call still runs all its attempts.
    calls: failureLimit,
    actingCalls: tool.sideEffect === "non_idempotent" ? 1 : failureLimit,
    executions: { ...attempts, max: attempts.max + failureLimit - 1 },
    asks: asksOf(tool),
    steps,
    moments: first,
    more,
    warnings: [
      ...warnings,
      ...orderWarnings(tool, steps),
      ...identityWarnings(tool),
      ...(token === undefined ? [] : [...declarationWarnings(tool, token), ...seenWarnings(seenOf(token), tool)])
    ]
  }
}

const asksOf = ({ approvals = [], policies }: Explained): ReadonlyArray<string> => [
  ...approvals.map(({ when, within }) =>
    `for an approval${when === undefined ? "" : ", if its predicate says so"}${
      within === undefined ? "" : `, for ${durationText(within)}`
    }`
  ),
  ...policies.flatMap(({ description, terms }) => terms?.passesOnDoubt === true ? [description] : [])
]

// A tool that reads does nothing twice, and an idempotent one may do so.
const identityWarnings = (tool: Explained): ReadonlyArray<Warning> =>
  isIdempotent(tool.sideEffect) || isIdentified(tool) || !hasFreeText(tool.parameters) ? [] : [{
    code: "free_text_identity",
    detail: "A call with other words counts as another call.",
    hint: "Declare the tool's identity: the arguments that identify the effect."
  }]

const declarationWarnings = (tool: Explained, token: object): ReadonlyArray<Warning> =>
  !undeclared.has(token) || isReconciled(tool) ? [] : [{
    code: "nothing_declared",
    detail: "The tool does not declare what it does, so it counts as one that acts anew with each call.",
    hint: "Declare sideEffect: \"none\" if it only reads. If it acts, declare its sideEffect and its identity."
  }]

// What was seen in this process. It may be seen again.
const seenWarnings = ({ isDoubted, unkeyed }: ReturnType<typeof seenOf>, tool: Explained): ReadonlyArray<Warning> => [
  ...(unkeyed === undefined ? [] : [{
    code: "request_without_key",
    detail: `A request left without the call's key: ${unkeyed.method} ${unkeyed.url}.`,
    hint: "Send the key, for example with fetch.withKey of the handler's context."
  }]),
  ...(isDoubted !== true || isSettled(tool) ? [] : [{
    code: "doubt_not_settled",
    detail: "A call was in doubt, and the tool declares nothing that settles a doubt.",
    hint:
      "Declare 'check', add Tool.reconcile, or let a person say so (the agent's 'onDoubt'). If the tool refuses calls, use 'refuse' in its handler."
  }])
]

const boundsOfRun = (run: object): Bounds | undefined => {
  const tool = toolOfRun.get(run)
  return tool === undefined ? undefined : layersOf(asExplained(tool)).at(-1)!.bounds
}

// Only assembled tools are kept by their runs.
const asExplained = (tool: object) => tool as Explained

const layersOf = (tool: Explained) => {
  const subject = { sideEffect: tool.sideEffect, boundsOfRun }
  const policies = tool.policies.reduce(
    (layers, { description, kind, name = kind, terms }) => [
      ...layers,
      { description, bounds: applyTerms(terms, name, layers.at(-1)!.bounds, subject) }
    ],
    [{ description: "handler", bounds: handler }]
  )
  const { fixers = [] } = tool
  return fixers.length === 0
    ? policies
    : [...policies, { description: describe(fixers), bounds: fixedBounds(fixers, policies.at(-1)!.bounds) }]
}

const describe = (fixers: ReadonlyArray<Fixing>): string => {
  const tries = fixers.reduce((sum, { tries }) => sum + tries, 0)
  return `corrections by ${fixers.length === 1 ? "a fixer" : `${fixers.length} fixers`}${
    tries === 1 ? "" : `, up to ${tries} times`
  }`
}

// -----------------------------------------------------------------------------
// Moments
// -----------------------------------------------------------------------------

const firstMoments = (moments: Iterable<Moment>): readonly [ReadonlyArray<Moment>, number] => {
  const all = Array.from(Iterable.take(moments, maxCounted))
  let attempts = 0
  const first = all.slice(0, 30).map((moment) =>
    moment.event === "attempt" ? { ...moment, event: `attempt ${++attempts}` } : moment
  )
  return [first, all.length === maxCounted ? Infinity : all.length - first.length]
}

const maxCounted = 10_000

// -----------------------------------------------------------------------------
// The order of policies
// -----------------------------------------------------------------------------

/**
 * Lists the likely mistakes in the order of policies. Step 0 is the handler, and the policy at index `i` is
 * step `i + 1`.
 */
const orderWarnings = ({ policies, sideEffect }: Explained, steps: ReadonlyArray<Step>): ReadonlyArray<Warning> => {
  const isRetry = policies.map(({ kind }, index) => {
    const [inner, outer] = steps.slice(index)
    return kind === "retry" && (outer!.attempts.max === Infinity || outer!.attempts.max > inner!.attempts.max)
  })
  const attempt = steps[isRetry.indexOf(true)]
  return policies.flatMap(({ kind, terms = {} }, index) => {
    const [inner, outer] = steps.slice(index)
    const settle = terms.reconciles?.settle
    const place: Place = {
      acts: sideEffect !== "none",
      isRepeatable: sideEffect !== "non_idempotent",
      isForAllTools: terms.isForAllTools === true,
      passesOnDoubt: terms.passesOnDoubt === true,
      isCutShort: settle !== undefined &&
        steps.slice(index + 1).some(({ time }) => Duration.isLessThanOrEqualTo(time.max, settle)),
      settlesTooSoon: settle !== undefined && Duration.isLessThan(settle, ownLimit(policies.slice(0, index))),
      surrounds: (kind) => policies.some((policy, inside) => inside < index && policy.kind === kind),
      leavesUnreconciled: Duration.isLessThan(outer!.time.max, inner!.time.max) &&
        policies.slice(0, index).some((policy, inside) =>
          policy.kind === "reconcile" && Duration.isLessThanOrEqualTo(outer!.time.max, steps[inside]!.time.max)
        ),
      surroundsRetry: isRetry.slice(0, index).includes(true),
      cutsFirstAttempt: attempt !== undefined && Duration.isFinite(attempt.time.max) &&
        Duration.isLessThan(outer!.time.max, inner!.time.max) &&
        Duration.isLessThanOrEqualTo(outer!.time.max, attempt.time.max)
    }
    return rules
      .filter((rule) => rule.kind === kind && (kind !== "retry" || isRetry[index] === true) && rule.applies(place))
      .map(({ code, detail, hint }) => ({ code, detail, hint }))
  })
}

/**
 * Returns how long one attempt may take by the tool's own limits inside a policy; zero if there are none. A default for
 * all tools says nothing about this one.
 */
const ownLimit = (inside: ReadonlyArray<Policy.Any>): Duration.Duration => {
  const limits = inside.flatMap(({ kind, terms = {} }) =>
    (kind === "timeout" || kind === "deadline") && terms.isForAllTools !== true ? timeOf(terms) ?? [] : []
  )
  const max = limits.reduce(Duration.min, Duration.infinity)
  return Duration.isFinite(max) ? max : Duration.zero
}

interface Place {
  readonly acts: boolean
  readonly isRepeatable: boolean
  /** True if the policy is meant for all kinds of tools. */
  readonly isForAllTools: boolean
  /** True if the policy does nothing in place of a call that may have acted. */
  readonly passesOnDoubt: boolean
  /** True if a time limit around the policy ends before an outcome settles. */
  readonly isCutShort: boolean
  /** True if an attempt may take longer than its outcome takes to settle. */
  readonly settlesTooSoon: boolean
  readonly surrounds: (kind: string) => boolean
  /** True if the policy's time may end before a check inside it runs. */
  readonly leavesUnreconciled: boolean
  readonly surroundsRetry: boolean
  /** True if the policy's time ends no later than the first attempt's. */
  readonly cutsFirstAttempt: boolean
}

interface Rule extends Warning {
  /** The kind of policy that the rule applies to. A retry policy that never retries is skipped. */
  readonly kind: string
  readonly applies: (place: Place) => boolean
}

const leavesNoRetry: Omit<Rule, "kind"> = {
  applies: ({ cutsFirstAttempt, surroundsRetry }) => surroundsRetry && cutsFirstAttempt,
  code: "timeout_leaves_no_retry",
  detail: "The timeout around all attempts is no longer than one attempt, so an attempt that hangs is never retried.",
  hint: "Make it longer than an attempt and its wait, or put it inside the retry."
}

const rules: ReadonlyArray<Rule> = [
  {
    kind: "retry",
    applies: ({ isForAllTools, isRepeatable, surrounds }) => !isRepeatable && !isForAllTools && !surrounds("reconcile"),
    code: "retry_of_acting_tool",
    detail: "The tool acts, so it is retried only if all its attempts certainly did nothing.",
    hint: "Declare its sideEffect if it is read-only or idempotent; otherwise put Tool.reconcile inside the retry."
  },
  {
    kind: "retry",
    applies: ({ surroundsRetry }) => surroundsRetry,
    code: "retry_around_retry",
    detail: "Nested retries multiply their attempts.",
    hint: "Keep one of them."
  },
  {
    kind: "retry",
    applies: ({ surrounds }) => surrounds("breaker"),
    code: "retry_around_breaker",
    detail: "The breaker counts each attempt as a call, and the retry keeps waiting for an open circuit.",
    hint: "Put the retry inside the breaker."
  },
  {
    kind: "retry",
    applies: ({ surrounds }) => surrounds("fallback"),
    code: "retry_around_fallback",
    detail: "The fallback handles every failure, so the retry runs only if the fallback fails too.",
    hint: "Put the fallback outside the retry."
  },
  { kind: "timeout", ...leavesNoRetry },
  { kind: "deadline", ...leavesNoRetry },
  {
    kind: "breaker",
    applies: ({ surrounds }) => surrounds("fallback"),
    code: "breaker_around_fallback",
    detail: "The fallback answers for the tool, so the breaker sees no failure and never opens.",
    hint: "Put the breaker inside the fallback."
  },
  {
    kind: "timeout",
    applies: ({ surrounds }) => surrounds("reconcile"),
    code: "timeout_around_reconcile",
    detail: "An attempt that this timeout ends is not reconciled, so its outcome stays unknown.",
    hint: "Put Tool.reconcile outside the timeout."
  },
  {
    kind: "deadline",
    applies: ({ leavesUnreconciled }) => leavesUnreconciled,
    code: "timeout_around_reconcile",
    detail: "This deadline ends an attempt that hangs, so it is not reconciled and its outcome stays unknown.",
    hint: "Put a shorter Tool.timeout inside Tool.reconcile."
  },
  {
    kind: "reconcile",
    applies: ({ isCutShort }) => isCutShort,
    code: "settle_longer_than_timeout",
    detail: "The surrounding time limit ends before the outcome settles, so the outcome stays unknown.",
    hint: "Make that limit longer, or put the timeout inside the reconcile."
  },
  {
    kind: "reconcile",
    applies: ({ acts, settlesTooSoon }) => acts && settlesTooSoon,
    code: "settle_shorter_than_timeout",
    detail:
      "An attempt may take longer than 'settle'. If its connection breaks early, the service may still act after a repetition was allowed.",
    hint: "Make the time to settle at least as long as the time limit of an attempt."
  },
  {
    kind: "fallback",
    applies: ({ acts, passesOnDoubt }) => acts && !passesOnDoubt,
    code: "fallback_of_acting_tool",
    detail: "The tool acts, and its fallback may repeat the effect elsewhere.",
    hint: "Check the failure's outcome in the fallback before it acts."
  },
  {
    kind: "catch",
    applies: ({ acts }) => acts,
    code: "catch_of_acting_tool",
    detail: "The tool acts, and its catch answers whether or not the call took effect.",
    hint: "Leave its failures to the model, or put what is known into the answer."
  }
]
