/**
 * What happens inside one call: attempts, waits, failures that a policy handled, what is said of the answer.
 *
 * A call notes each of these once, when it happens. Everything that is told of a call is a fold over its events: its outcome, the
 * ledger, the events of an agent (`AgentEvent`), and what a test asserts.
 *
 *     handler, policies ── note(event) ─┬─ the account: attempts, waits, failures, caveats, source
 *                                       └─ a watcher, if there is one: the event, its time, its attempt
 *
 * Times and attempts are added for a watcher alone. An event has no result. Of the arguments it has what the model is told of their
 * repairs, and nothing where they have anything `Redacted`. A detail or a caveat has what its author wrote.
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
 * Where an answer came from, when it was not the tool's first choice.
 *
 * @category models
 * @since 0.1.0
 */
export interface Source {
  readonly name: string
  /** How old the answer is; absent when it is fresh. */
  readonly age?: Duration.Duration
}

const policy = {
  /** The kind of the policy. */
  by: PolicyKind,
  /** The name of a custom policy. */
  policy: Schema.optionalKey(Schema.String),
  /** The tool inside whose policy it is. */
  inside: Schema.optionalKey(Schema.String)
}

/** The handler begins. */
const AttemptStarted = Schema.Struct({ _tag: Schema.tag("AttemptStarted") })

/** The handler has ended. Of a tool that only reads it is noted while somebody watches. */
const AttemptEnded = Schema.Struct({
  _tag: Schema.tag("AttemptEnded"),
  /** How it ended: with a value, a failure, a defect (a question to the user, too), or interrupted. */
  end: Schema.Literals(["succeeded", "failed", "died", "interrupted"]),
  /** The code of its failure. */
  code: Schema.optionalKey(Schema.String),
  /** Of a tool that acts: whether it has taken effect, with all that ran inside of the handler. */
  certainty: Schema.optionalKey(Certainty),
  /** Something inside has taken effect, though not all is certain. */
  acted: Schema.optionalKey(Schema.Literal(true)),
  /** The tool refused what it was asked, and would refuse it again. */
  refused: Schema.optionalKey(Schema.Literal(true)),
  /** Nobody waited for it any more. */
  late: Schema.optionalKey(Schema.Literal(true)),
  /** The tool inside whose handler it was: told of a late one alone. */
  inside: Schema.optionalKey(Schema.String)
})

/** A policy no longer waits for an attempt, which may still run. */
const AttemptAbandoned = Schema.Struct({ _tag: Schema.tag("AttemptAbandoned"), ...policy })

/** The handler begins once more for the same answer: for its next page. */
const PageStarted = Schema.Struct({ _tag: Schema.tag("PageStarted") })

/** A tool that a fallback asks begins. */
const SourceStarted = Schema.Struct({ _tag: Schema.tag("SourceStarted"), source: Schema.String })

/** The handler of a tool begins that was run inside. */
const InnerStarted = Schema.Struct({ _tag: Schema.tag("InnerStarted"), inside: Schema.String })

const inner = {
  /** The name of the tool, of the source or of the policy. */
  inside: Schema.String,
  /**
   * Who ran it: the handler; a fallback or a catch, which answers in place of the handler; a policy or a fixer, for itself, which says
   * nothing of the tool.
   */
  by: Schema.Literals(["handler", "source", "policy"])
}

/** Something inside begins that acts, or may: until `InnerEnded`, nobody knows whether it has taken effect. */
const InnerActs = Schema.Struct({ _tag: Schema.tag("InnerActs"), ...inner })

/** Something that acts has ended inside: a tool, the source of a fallback, a policy. */
const InnerEnded = Schema.Struct({
  _tag: Schema.tag("InnerEnded"),
  ...inner,
  /** Whether it has taken effect. */
  certainty: Certainty,
  /** Something of it has taken effect, though not all is certain. */
  acted: Schema.optionalKey(Schema.Literal(true)),
  /** Running it once more is not the same: another attempt of the outer call leaves it in doubt. */
  lasting: Schema.optionalKey(Schema.Literal(true)),
  /** It answers for the tool, and whether it acts only its author knows. */
  answered: Schema.optionalKey(Schema.Literal(true)),
  /** It had begun (`InnerActs`). */
  acts: Schema.optionalKey(Schema.Literal(true))
})

/** The final answer of a check: whether the attempts so far have taken effect. */
const OutcomeSettled = Schema.Struct({ _tag: Schema.tag("OutcomeSettled"), certainty: Certainty })

/** A policy handled a failure: the tool is run again, or something else answers. */
const FailureHandled = Schema.Struct({
  _tag: Schema.tag("FailureHandled"),
  ...Handled.fields,
  /** What the failure itself says of its outcome. What the call knows is its certainty. */
  outcome: Schema.optionalKey(Certainty),
  /** It was permanent, and about the arguments alone: the tool works. */
  scope: Schema.optionalKey(Schema.Literal("arguments")),
  /** The tool inside whose failure it was. */
  inside: Schema.optionalKey(Schema.String),
  /** Of a retry, as far as known: its number from 1, how many there may be, and the wait before it. */
  retry: Schema.optionalKey(Schema.Struct({
    number: Schema.optionalKey(Schema.Int),
    limit: Schema.optionalKey(Schema.Int),
    wait: Schema.optionalKey(Schema.DurationFromMillis)
  }))
})

/** A failure that is worth a retry is not retried. */
const RetryRefused = Schema.Struct({
  _tag: Schema.tag("RetryRefused"),
  ...policy,
  code: Schema.String,
  /**
   * The schedule is done; its wait would end after the deadline; the retry budget is used up; or a policy has a reason of its own. Of a
   * tool that acts: it may have acted; an earlier attempt still runs; or it has refused what it was asked.
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

/** A call, or an attempt, is refused before anything of it runs: a limit is reached, a circuit is open, or it would act again. */
const CallRefused = Schema.Struct({
  _tag: Schema.tag("CallRefused"),
  /** The kind of the policy; absent where the run refuses the call, or the call another attempt. */
  by: Schema.optionalKey(PolicyKind),
  policy: Schema.optionalKey(Schema.String),
  inside: Schema.optionalKey(Schema.String),
  code: Schema.String
})

/** The call repeats an earlier one under the same key: what that came to. */
const CallRepeated = Schema.Struct({ _tag: Schema.tag("CallRepeated"), certainty: Certainty })

/** A circuit breaker's circuit has changed. */
const CircuitChanged = Schema.Struct({
  _tag: Schema.tag("CircuitChanged"),
  /** The circuit's name. */
  circuit: Schema.String,
  from: Schema.Literals(["closed", "open", "half_open"]),
  to: Schema.Literals(["closed", "open", "half_open"])
})

/** A policy begins to wait. */
const WaitStarted = Schema.Struct({
  _tag: Schema.tag("WaitStarted"),
  ...policy,
  /** How long it is going to wait; absent where that is not known. */
  wait: Schema.optionalKey(Schema.DurationFromMillis)
})

/**
 * A policy has waited, also when something cut its wait short. A custom policy that does not say that it waits is seen to wait where
 * nothing inside of it runs: then no `WaitStarted` comes before.
 */
const WaitEnded = Schema.Struct({ _tag: Schema.tag("WaitEnded"), ...policy, wait: Schema.DurationFromMillis })

/** The model is told something about the answer. */
const CaveatAdded = Schema.Struct({ _tag: Schema.tag("CaveatAdded"), text: Schema.String })

/** Where the answer came from. */
const SourceNamed = Schema.Struct({
  _tag: Schema.tag("SourceNamed"),
  name: Schema.String,
  age: Schema.optionalKey(Schema.DurationFromString)
})

/** There will be another answer: what was said of the one before is void. */
const AnswerDiscarded = Schema.Struct({ _tag: Schema.tag("AnswerDiscarded") })

/** A fixer is asked about a failure. */
const FixerAsked = Schema.Struct({
  _tag: Schema.tag("FixerAsked"),
  /** Its name. */
  fixer: Schema.String,
  /** The code of the failure. */
  code: Schema.String,
  /** How often it has been asked in this call, this time included. */
  tries: Schema.Int
})

/** An agent that corrects the arguments has used up a part of the run's limits, or met failures: what is new of its account. */
const FixerSpent = Schema.Struct({ _tag: Schema.tag("FixerSpent"), ...Ledger.fields })

/** The arguments were changed before the handler saw them. */
const ArgumentsRepaired = Schema.Struct({ _tag: Schema.tag("ArgumentsRepaired"), repairs: Schema.Array(Repair) })

/** A fixer corrected the arguments, and these are its repairs. What was told of earlier ones is no longer told. */
const ArgumentsCorrected = Schema.Struct({ _tag: Schema.tag("ArgumentsCorrected"), repairs: Schema.Array(Repair) })

/**
 * The schema of each {@link CallEvent}: encodes to plain JSON.
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
 * The schema of a {@link Watched} event: encodes to plain JSON.
 *
 * @category schemas
 * @since 0.1.0
 */
export const watchedSchema = schema.mapMembers(Tuple.map(Schema.fieldsAssign({
  /** The tool that was called. */
  tool: Schema.String,
  /** The name of its call: in an agent `run-…/turn/1/call/1`. */
  id: Schema.String,
  /** When it happened, in milliseconds of the `Clock`. */
  at: Schema.Finite,
  /** The attempt under way, from 1, counted over the tool and the sources of its fallbacks; 0 before the first. */
  attempt: Schema.Int
})))

/**
 * One thing that happened inside a call.
 *
 * @category models
 * @since 0.1.0
 */
export type CallEvent = typeof schema.Type

// -----------------------------------------------------------------------------
// Watching
// -----------------------------------------------------------------------------

/**
 * An event as a watcher gets it: with its call, its time and its attempt.
 *
 * @category models
 * @since 0.1.0
 */
export type Watched = typeof watchedSchema.Type

/**
 * Told of each event of every call that begins below it, as it happens; by default nobody is. What it throws is reported, and the call goes on.
 *
 * When to use: in a test of a tool's policies, and for metrics of your own. An agent's stream has the same events (`AgentEvent`).
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
 * Is told of events; and where one tells of a failure, of the failure with its cause, which stays in this process.
 *
 * @category models
 * @since 0.1.0
 */
export type Watcher = (event: Watched, failure?: ToolFailure) => void
