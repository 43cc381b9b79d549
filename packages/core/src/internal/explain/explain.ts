import * as Duration from "effect/Duration"
import * as Iterable from "effect/Iterable"
import type { Bounds, Explanation, Moment, Step, Warning } from "../../Explanation.ts"
import type * as Policy from "../../Policy.ts"
import { type Identified, whyUnfit } from "../arguments/identity.ts"
import { failureLimitOf } from "../call/failureLimit.ts"
import type { Fixing } from "../fixing/fixerOption.ts"
import { anything, fixed, handler, isForAllTools, settleOf } from "./bounds.ts"

interface Explained extends Policy.Subject, Identified {
  readonly policies: ReadonlyArray<Policy.Any>
  readonly fixers?: ReadonlyArray<Fixing>
  readonly failureLimit?: number
}

/** What a tool costs at worst, and what of its policies is likely not meant. */
export const explained = (tool: Explained): Explanation => {
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
  const [first, more] = told(moments())
  return {
    tool: tool.name,
    sideEffect: tool.sideEffect,
    attempts,
    waiting,
    time,
    // Each of them ran the handler at least once; the last one was let through with a single execution left.
    calls: failureLimit,
    actingCalls: tool.sideEffect === "non_idempotent" ? 1 : failureLimit,
    executions: { ...attempts, most: attempts.most + failureLimit - 1 },
    steps,
    moments: first,
    more,
    warnings: [...warnings, ...relations(tool, steps), ...unkeyed(tool)]
  }
}

// A tool whose service goes by the key is not made then.
const unkeyed = ({ identity, parameters, sideEffect }: Explained): ReadonlyArray<Warning> => {
  const why = sideEffect === "none" || identity !== undefined ? undefined : whyUnfit(parameters)
  return why === undefined ? [] : [{
    code: "no_identity",
    detail:
      `No idempotency key can be made of the tool's arguments, since ${why}: a call that is made again has another one.`,
    hint: "Declare the tool's identity: which of its arguments say what is to be done."
  }]
}

/** The bounds of a tool as a whole. */
export const boundsOf = (tool: Explained): Bounds => layersOf(tool).at(-1)!.bounds

const layersOf = (tool: Explained) => {
  const policies = tool.policies.reduce(
    (layers, policy) => {
      const inner = layers.at(-1)!.bounds
      const bounds = policy.bound?.(inner, tool) ?? anything(policy.name ?? policy.kind)(inner)
      return [...layers, { description: policy.description, bounds }]
    },
    [{ description: "handler", bounds: handler }]
  )
  const { fixers = [] } = tool
  return fixers.length === 0
    ? policies
    : [...policies, { description: describe(fixers), bounds: fixed(fixers)(policies.at(-1)!.bounds) }]
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

const told = (moments: Iterable<Moment>): readonly [ReadonlyArray<Moment>, number] => {
  const all = Array.from(Iterable.take(moments, tooMany))
  let attempts = 0
  const first = all.slice(0, 30).map((moment) =>
    moment.event === "attempt" ? { ...moment, event: `attempt ${++attempts}` } : moment
  )
  return [first, all.length === tooMany ? Infinity : all.length - first.length]
}

const tooMany = 10_000

// -----------------------------------------------------------------------------
// How policies stand to each other
// -----------------------------------------------------------------------------

/** What is likely not meant in the order of the policies. Step 0 is the handler, and each policy the step after its index. */
const relations = ({ policies, sideEffect }: Explained, steps: ReadonlyArray<Step>): ReadonlyArray<Warning> => {
  const isRetry = policies.map(({ kind }, index) => {
    const [inner, outer] = steps.slice(index)
    return kind === "retry" && (outer!.attempts.most === Infinity || outer!.attempts.most > inner!.attempts.most)
  })
  const attempt = steps[isRetry.indexOf(true)]
  return policies.flatMap(({ bound, kind }, index) => {
    const [inner, outer] = steps.slice(index)
    const settle = settleOf(bound)
    const place: Place = {
      acts: sideEffect !== "none",
      isRepeatable: sideEffect !== "non_idempotent",
      isForAllTools: isForAllTools(bound),
      isCutShort: settle !== undefined &&
        steps.slice(index + 1).some(({ time }) => Duration.isLessThanOrEqualTo(time.most, settle)),
      surrounds: (kind) => policies.some((policy, inside) => inside < index && policy.kind === kind),
      leavesUnreconciled: Duration.isLessThan(outer!.time.most, inner!.time.most) &&
        policies.slice(0, index).some((policy, inside) =>
          policy.kind === "reconcile" && Duration.isLessThanOrEqualTo(outer!.time.most, steps[inside]!.time.most)
        ),
      surroundsRetry: isRetry.slice(0, index).includes(true),
      cutsFirstAttempt: attempt !== undefined && Duration.isFinite(attempt.time.most) &&
        Duration.isLessThan(outer!.time.most, inner!.time.most) &&
        Duration.isLessThanOrEqualTo(outer!.time.most, attempt.time.most)
    }
    return rules
      .filter((rule) => rule.kind === kind && (kind !== "retry" || isRetry[index] === true) && rule.applies(place))
      .map(({ code, detail, hint }) => ({ code, detail, hint }))
  })
}

interface Place {
  readonly acts: boolean
  readonly isRepeatable: boolean
  /** Is it meant for tools of all kinds? */
  readonly isForAllTools: boolean
  /** Is the time around it up before an outcome has settled? */
  readonly isCutShort: boolean
  readonly surrounds: (kind: string) => boolean
  /** Is its time up before a check inside has been asked? */
  readonly leavesUnreconciled: boolean
  readonly surroundsRetry: boolean
  /** Is its time up when that of the first attempt is, or before? */
  readonly cutsFirstAttempt: boolean
}

interface Rule extends Warning {
  /** The kind of policy that it is about; of retries, those that do try again. */
  readonly kind: string
  readonly applies: (place: Place) => boolean
}

const leavesNoRetry: Omit<Rule, "kind"> = {
  applies: ({ cutsFirstAttempt, surroundsRetry }) => surroundsRetry && cutsFirstAttempt,
  code: "timeout_leaves_no_retry",
  detail: "The time for all attempts is up when that of the first one is: what hangs is never tried again.",
  hint: "Make it longer than an attempt and its wait, or put it inside of the retry."
}

const rules: ReadonlyArray<Rule> = [
  {
    kind: "retry",
    applies: ({ isForAllTools, isRepeatable, surrounds }) => !isRepeatable && !isForAllTools && !surrounds("reconcile"),
    code: "retry_of_acting_tool",
    detail: "The tool acts, and is tried again only if all its attempts certainly did nothing.",
    hint: "Declare its sideEffect if it is read-only or idempotent; else put Tool.reconcile inside of the retry."
  },
  {
    kind: "retry",
    applies: ({ surroundsRetry }) => surroundsRetry,
    code: "retry_around_retry",
    detail: "The attempts of retries around each other multiply.",
    hint: "Keep one of them."
  },
  {
    kind: "retry",
    applies: ({ surrounds }) => surrounds("breaker"),
    code: "retry_around_breaker",
    detail: "The breaker counts each attempt for a call, and the retry waits for an open circuit.",
    hint: "Put the retry inside of the breaker."
  },
  {
    kind: "retry",
    applies: ({ surrounds }) => surrounds("fallback"),
    code: "retry_around_fallback",
    detail: "The fallback leaves nothing to try again; only when its source fails, too, both are tried again.",
    hint: "Put the fallback outside of the retry."
  },
  { kind: "timeout", ...leavesNoRetry },
  { kind: "deadline", ...leavesNoRetry },
  {
    kind: "breaker",
    applies: ({ surrounds }) => surrounds("fallback"),
    code: "breaker_around_fallback",
    detail: "The fallback answers for the tool, so that the breaker sees no failure and never opens.",
    hint: "Put the breaker inside of the fallback."
  },
  {
    kind: "timeout",
    applies: ({ surrounds }) => surrounds("reconcile"),
    code: "timeout_around_reconcile",
    detail: "What this timeout ends is not reconciled: its outcome stays unknown.",
    hint: "Put Tool.reconcile outside of the timeout."
  },
  {
    kind: "deadline",
    applies: ({ leavesUnreconciled }) => leavesUnreconciled,
    code: "timeout_around_reconcile",
    detail: "An attempt that hangs is ended by this deadline, and not reconciled: its outcome stays unknown.",
    hint: "Put a shorter Tool.timeout inside of Tool.reconcile."
  },
  {
    kind: "reconcile",
    applies: ({ isCutShort }) => isCutShort,
    code: "settle_longer_than_timeout",
    detail: "The time around it is up before the outcome has settled: it stays unknown then.",
    hint: "Make that time longer, or put the timeout inside of the reconcile."
  },
  {
    kind: "fallback",
    applies: ({ acts }) => acts,
    code: "fallback_of_acting_tool",
    detail: "The tool acts, and the fallback may do elsewhere what has been done already.",
    hint: "Look at the failure's outcome in the fallback, before acting there."
  },
  {
    kind: "catch",
    applies: ({ acts }) => acts,
    code: "catch_of_acting_tool",
    detail: "The tool acts, and its answer may be that of the catch, whether or not it has taken effect.",
    hint: "Leave its failures to the model, or say in the answer what is known."
  }
]
