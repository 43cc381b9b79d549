/**
 * The events of one call: attempts, waits, handled failures, caveats and sources.
 *
 * A call notes each event once, when it happens. Every report about a call is a fold over its events: its
 * outcome, the ledger, the events of an agent (`AgentEvent`), and the assertions of a test.
 *
 *     handler, policies ── note(event) ─┬─ the account: attempts, waits, failures, caveats, source
 *                                       └─ a watcher, if present: the event, its time, its attempt
 *
 * Only a watcher receives times and attempt numbers. An event never contains the result. Of the arguments
 * it contains only what the repair notes quote for the model, and nothing if they hold a `Redacted` value.
 * A detail or a caveat contains whatever its author wrote.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as Tuple from "effect/Tuple"
import { Certainty } from "./Certainty.ts"
import { PolicyKind } from "./internal/call/policyKind.ts"
import { Ledger } from "./Ledger.ts"
import type { ToolFailure } from "./ToolFailure.ts"
import { Handled, Repair } from "./ToolOutcome.ts"

/**
 * The origin of an answer that does not come from the tool's primary source.
 *
 * @category models
 * @since 0.1.0
 */
export interface Source {
  readonly name: string
  /** How old the answer is. Absent if it is fresh. */
  readonly age?: Duration.Duration
}

const policy = {
  /** The kind of the policy. */
  by: PolicyKind,
  /** The name of a custom policy. */
  policy: Schema.optionalKey(Schema.String),
  /** The inner tool that has the policy. Absent for a policy of the called tool. */
  inside: Schema.optionalKey(Schema.String)
}

/** The handler starts. */
const AttemptStarted = Schema.Struct({ _tag: Schema.tag("AttemptStarted") })

/** The handler has ended. For a read-only tool it is noted only if the call has a watcher. */
const AttemptEnded = Schema.Struct({
  _tag: Schema.tag("AttemptEnded"),
  /** How it ended: with a value, a failure, a defect or an interruption. A question to the user counts as `"died"`. */
  end: Schema.Literals(["succeeded", "failed", "died", "interrupted"]),
  /** The code of the failure, if it failed. */
  code: Schema.optionalKey(Schema.String),
  /** For a tool that acts: whether it took effect, including everything that ran inside the handler. */
  certainty: Schema.optionalKey(Certainty),
  /** Part of the attempt took effect, while another part is in doubt. */
  acted: Schema.optionalKey(Schema.Literal(true)),
  /** The tool refused the call, and would refuse it again. */
  refused: Schema.optionalKey(Schema.Literal(true)),
  /** The attempt ended after its caller had stopped waiting. */
  late: Schema.optionalKey(Schema.Literal(true)),
  /** The inner tool whose handler ended. Attempts of inner tools are reported only if they end late. */
  inside: Schema.optionalKey(Schema.String)
})

/** A policy stopped waiting for an attempt, which may still be running. */
const AttemptAbandoned = Schema.Struct({ _tag: Schema.tag("AttemptAbandoned"), ...policy })

/** The handler starts again to fetch the next page of the same answer. */
const PageStarted = Schema.Struct({ _tag: Schema.tag("PageStarted") })

/** A fallback starts another tool as its source. */
const SourceStarted = Schema.Struct({ _tag: Schema.tag("SourceStarted"), source: Schema.String })

/** The handler of an inner tool starts. */
const InnerStarted = Schema.Struct({ _tag: Schema.tag("InnerStarted"), inside: Schema.String })

const inner = {
  /** The name of the inner tool, source or policy. */
  inside: Schema.String,
  /**
   * What ran it. `"handler"`: the handler. `"source"`: a fallback or a catch, which answers in place of the
   * handler. `"policy"`: a policy or a fixer for its own purposes; that effect does not count as the
   * tool's.
   */
  by: Schema.Literals(["handler", "source", "policy"])
}

/** Something that acts, or may act, starts inside the call. Its outcome is unknown until `InnerEnded`. */
const InnerActs = Schema.Struct({ _tag: Schema.tag("InnerActs"), ...inner })

/** Something that acts has ended inside the call: a tool, the source of a fallback, or a policy. */
const InnerEnded = Schema.Struct({
  _tag: Schema.tag("InnerEnded"),
  ...inner,
  /** Whether it took effect. */
  certainty: Certainty,
  /** Part of it took effect, while another part is in doubt. */
  acted: Schema.optionalKey(Schema.Literal(true)),
  /** Running it again would act again, so a later attempt of the outer call does not clear its doubt. */
  lasting: Schema.optionalKey(Schema.Literal(true)),
  /** It answered in place of the tool, and the library cannot tell whether it acts. */
  answered: Schema.optionalKey(Schema.Literal(true)),
  /** Its start was noted as `InnerActs`. */
  acts: Schema.optionalKey(Schema.Literal(true))
})

/** A check gave its final answer: whether the attempts so far took effect. */
const OutcomeSettled = Schema.Struct({ _tag: Schema.tag("OutcomeSettled"), certainty: Certainty })

/** A policy handled a failure: the tool runs again, or something else answers. */
const FailureHandled = Schema.Struct({
  _tag: Schema.tag("FailureHandled"),
  ...Handled.fields,
  /** The outcome that the failure itself states. The certainty of the call may differ. */
  outcome: Schema.optionalKey(Certainty),
  /** The failure was permanent and about the arguments only: the tool works. */
  scope: Schema.optionalKey(Schema.Literal("arguments")),
  /** The inner tool that failed. */
  inside: Schema.optionalKey(Schema.String),
  /** For a retry, as far as known: its number from 1, the maximum number of retries, and the wait before it. */
  retry: Schema.optionalKey(Schema.Struct({
    number: Schema.optionalKey(Schema.Int),
    limit: Schema.optionalKey(Schema.Int),
    wait: Schema.optionalKey(Schema.DurationFromMillis)
  }))
})

/** A retryable failure is not retried. */
const RetryRefused = Schema.Struct({
  _tag: Schema.tag("RetryRefused"),
  ...policy,
  code: Schema.String,
  /**
   * The reason why:
   *
   * - `"schedule"`: the schedule is exhausted.
   * - `"deadline"`: the wait would end after the deadline.
   * - `"retry_budget"`: the retry budget is used up.
   * - `"policy"`: the policy has another reason.
   * - `"may_have_acted"`: the call acts, and an earlier attempt may have taken effect.
   * - `"still_running"`: the call acts, and an earlier attempt still runs.
   * - `"refused"`: the call acts, and the tool has refused it.
   */
  why: Schema.Literals([
    "schedule",
    "deadline",
    "retry_budget",
    "policy",
    "may_have_acted",
    "still_running",
    "refused"
  ])
})

/** A call or an attempt is refused before it runs: a limit is reached, a circuit is open, or it would act again. */
const CallRefused = Schema.Struct({
  _tag: Schema.tag("CallRefused"),
  /** The kind of the policy. Absent if the run refuses the call, or if the call refuses another attempt. */
  by: Schema.optionalKey(PolicyKind),
  policy: Schema.optionalKey(Schema.String),
  inside: Schema.optionalKey(Schema.String),
  code: Schema.String
})

/** The call repeats an earlier one under the same key. `certainty` says whether the earlier call took effect. */
const CallRepeated = Schema.Struct({ _tag: Schema.tag("CallRepeated"), certainty: Certainty })

/** The circuit of a breaker changed its state. */
const CircuitChanged = Schema.Struct({
  _tag: Schema.tag("CircuitChanged"),
  /** The circuit's name. */
  circuit: Schema.String,
  from: Schema.Literals(["closed", "open", "half_open"]),
  to: Schema.Literals(["closed", "open", "half_open"])
})

/** A policy starts to wait. */
const WaitStarted = Schema.Struct({
  _tag: Schema.tag("WaitStarted"),
  ...policy,
  /** How long it is going to wait. Absent if that is not known. */
  wait: Schema.optionalKey(Schema.DurationFromMillis)
})

/**
 * A policy has waited. The wait may have been cut short. If a custom policy does not report its waits, the
 * time in which nothing inside it runs counts as a wait. No `WaitStarted` comes before it.
 */
const WaitEnded = Schema.Struct({ _tag: Schema.tag("WaitEnded"), ...policy, wait: Schema.DurationFromMillis })

/** A caveat about the answer was added for the model. */
const CaveatAdded = Schema.Struct({ _tag: Schema.tag("CaveatAdded"), text: Schema.String })

/** The origin of the answer was named. */
const SourceNamed = Schema.Struct({
  _tag: Schema.tag("SourceNamed"),
  name: Schema.String,
  age: Schema.optionalKey(Schema.DurationFromString)
})

/** Another answer will follow. The caveats and the source of the previous answer no longer apply. */
const AnswerDiscarded = Schema.Struct({ _tag: Schema.tag("AnswerDiscarded") })

/** A fixer is asked about a failure. */
const FixerAsked = Schema.Struct({
  _tag: Schema.tag("FixerAsked"),
  /** The name of the fixer. */
  fixer: Schema.String,
  /** The code of the failure. */
  code: Schema.String,
  /** How many times it was asked in this call, including this time. */
  tries: Schema.Int
})

/** An agent that corrects the arguments used some of the run's limits, or met failures. Only new ledger entries. */
const FixerSpent = Schema.Struct({ _tag: Schema.tag("FixerSpent"), ...Ledger.fields })

/** The arguments were changed before the handler saw them. */
const ArgumentsRepaired = Schema.Struct({ _tag: Schema.tag("ArgumentsRepaired"), repairs: Schema.Array(Repair) })

/** A fixer corrected the arguments. `repairs` are its changes; the notes of earlier repairs no longer apply. */
const ArgumentsCorrected = Schema.Struct({ _tag: Schema.tag("ArgumentsCorrected"), repairs: Schema.Array(Repair) })

/**
 * The schema of a {@link CallEvent}. It encodes to plain JSON.
 *
 * @category schemas
 * @since 0.1.0
 */
export const schema = Schema.Union([
  AttemptStarted,
  AttemptEnded,
  AttemptAbandoned,
  PageStarted,
  SourceStarted,
  InnerStarted,
  InnerActs,
  InnerEnded,
  OutcomeSettled,
  FailureHandled,
  RetryRefused,
  CallRefused,
  CallRepeated,
  CircuitChanged,
  WaitStarted,
  WaitEnded,
  CaveatAdded,
  SourceNamed,
  AnswerDiscarded,
  FixerAsked,
  FixerSpent,
  ArgumentsRepaired,
  ArgumentsCorrected
])

/**
 * The schema of a {@link Watched} event. It encodes to plain JSON.
 *
 * @category schemas
 * @since 0.1.0
 */
export const watchedSchema = schema.mapMembers(Tuple.map(Schema.fieldsAssign({
  /** The called tool. */
  tool: Schema.String,
  /** The name of the call. In an agent it is `run-…/turn/1/call/1`. */
  id: Schema.String,
  /** When it happened, in milliseconds of the `Clock`. */
  at: Schema.Finite,
  /** The attempt, from 1, counted over the tool and the sources of its fallbacks. It is 0 before the first one. */
  attempt: Schema.Int
})))

/**
 * One event of a call.
 *
 * @category models
 * @since 0.1.0
 */
export type CallEvent = typeof schema.Type

// -----------------------------------------------------------------------------
// Watching
// -----------------------------------------------------------------------------

/**
 * An event as a watcher receives it: with its tool, its call, its time and its attempt.
 *
 * @category models
 * @since 0.1.0
 */
export type Watched = typeof watchedSchema.Type

/**
 * The watcher of all calls that start within its scope. It receives each event as it happens. Default:
 * none.
 *
 * When to use: in tests of a tool's policies, and for your own metrics. An agent's stream has the same
 * events (`AgentEvent`).
 *
 * An error that the watcher throws is reported as a defect, and the call continues.
 *
 * @example
 * ```ts
 * import { CallEvent, RetryPolicy, Tool, ToolUnavailable } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * let calls = 0
 * const flaky = Tool.make("flaky", { description: "Fails once", success: Schema.Int, sideEffect: "none" }, () =>
 *   ++calls < 2
 *     ? Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))
 *     : Effect.succeed(calls)
 * ).pipe(Tool.retry(RetryPolicy.transient))
 *
 * const seen: Array<string> = []
 * const watcher: CallEvent.Watcher = ({ _tag, attempt }) => seen.push(`${attempt} ${_tag}`)
 * await Effect.runPromise(Effect.provideService(flaky.run({}), CallEvent.watcher, watcher))
 * seen.slice(0, 3) // => ["1 AttemptStarted", "1 AttemptEnded", "1 FailureHandled"]
 * ```
 *
 * @category watching
 * @since 0.1.0
 */
export const watcher: Context.Reference<Watcher | undefined> = Context.Reference<Watcher | undefined>(
  "@fallible/core/CallEvent/watcher",
  { defaultValue: () => undefined }
)

/**
 * A function that receives events. For an event about a failure, it also receives the failure with its
 * `cause`, which stays in this process.
 *
 * @category models
 * @since 0.1.0
 */
export type Watcher = (event: Watched, failure?: ToolFailure) => void
