/**
 * An agent: a toolkit, instructions and limits, ready to run.
 *
 *     const agent = Agent.make({ instructions: "You help with orders.", toolkit })
 *     agent.run("Where is my order?")     // Effect<Answer, AgentFailure, Model | …the requirements of the tools>
 *
 * A run is an Effect like any other. It can run in a queue worker, a request handler or a workflow. Interrupting
 * a run interrupts its tools and its model call, which then release their resources.
 *
 * A run ends with an answer, or with an `AgentFailure` that carries the transcript and the report. Unless a run
 * has a time limit, it waits for its tools as long as they take. So give each tool that can hang a
 * `Tool.timeout`, or give all tools `Policy.standard()`.
 *
 * @since 0.1.0
 */
import { demandKnown, type Names } from "@fallible/arguments/internal"
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "./AgentEvent.ts"
import type {
  AgentFailure,
  Failed,
  Postponement,
  RunPostponed,
  RunRefused,
  RunSuspended,
  Suspension
} from "./AgentFailure.ts"
import type { Answer, Fields, Untyped } from "./Answer.ts"
import * as CallFacts from "./CallFacts.ts"
import { problemIn, problemInLimits } from "./internal/agent/agentOptions.ts"
import { type Budget, makeBudget } from "./internal/agent/budget.ts"
import { claimed } from "./internal/agent/claimed.ts"
import { finalAnswerName, type Output, outputOf } from "./internal/agent/finalAnswer.ts"
import { refusalOfSuspension } from "./internal/agent/judgedSuspension.ts"
import { asToolkit, KeptResults, readMoreName } from "./internal/agent/keptResults.ts"
import { goOn, resume, turn } from "./internal/agent/loop.ts"
import { PolledResults } from "./internal/agent/polledResults.ts"
import { approvalName } from "./internal/agent/providerApproval.ts"
import { canWrite } from "./internal/agent/question.ts"
import { Rereads } from "./internal/agent/rereads.ts"
import { Account } from "./internal/agent/runAccount.ts"
import { inRunContext, type RunContext } from "./internal/agent/runContext.ts"
import { unlessHalted } from "./internal/agent/runEndings.ts"
import type { Happened } from "./internal/agent/runEvent.ts"
import { newId, type NewRun } from "./internal/agent/runId.ts"
import {
  refusalBeside,
  refusalOfLimits,
  refusalOfOpening,
  refusalOfPostponement,
  refusalOfSettings,
  refusalOfSuspended
} from "./internal/agent/runInput.ts"
import { followed } from "./internal/agent/runProgress.ts"
import { initialState, type Run as RunOf } from "./internal/agent/runState.ts"
import { afterOthers, runAlone } from "./internal/agent/scopeRuns.ts"
import { RequestResults } from "./internal/agent/shorterTranscript.ts"
import { takeReplies } from "./internal/agent/takenReplies.ts"
import { masksOf } from "./internal/arguments/secretArguments.ts"
import { isIdempotent } from "./internal/call/isIdempotent.ts"
import { takenOver } from "./internal/dispatch/lateDoubt.ts"
import { beginFacts } from "./internal/dispatch/recordCalls.ts"
import { type Fixers, fixingFor, type Needed, type NeededBy } from "./internal/fixing/fixerOption.ts"
import { approvalsFor } from "./internal/policy/approval.ts"
import { checkedPolicies, withApproval, withFixer, withPreferredPolicies } from "./internal/tool/toolParts.ts"
import { positive } from "./internal/value/numberOption.ts"
import { attempt, isA } from "./internal/value/untrusted.ts"
import * as Journal from "./Journal.ts"
import type { Limits } from "./Limits.ts"
import * as LoopGuard from "./LoopGuard.ts"
import { Model, type ModelFailure, type Options as ModelOptions } from "./Model.ts"
import type { ModelRecovery } from "./ModelRecovery.ts"
import type { Parameters } from "./Parameters.ts"
import type * as Policy from "./Policy.ts"
import type { Question as OpenQuestion, Reply } from "./Question.ts"
import * as Rendering from "./Rendering.ts"
import * as ResultSize from "./ResultSize.ts"
import * as RetryPolicy from "./RetryPolicy.ts"
import type { RunHandle, RunProgress } from "./RunHandle.ts"
import type * as Tool from "./Tool.ts"
import type { SchemaMismatch, SemanticGarbage, ToolFailure, ToolUnavailable } from "./ToolFailure.ts"
import * as Toolkit from "./Toolkit.ts"
import * as Transcript from "./Transcript.ts"

/**
 * The options of an agent.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<
  in out T extends Tool.Any,
  out R = never,
  out F = undefined,
  in out A = Untyped,
  out R2 = never,
  out P = undefined
> {
  /**
   * The text of the system message. With `cache: true`, the provider is asked to keep the tools and this message in its cache.
   * Default: no system message.
   */
  readonly instructions?: string | { readonly text: string; readonly cache?: boolean }
  readonly toolkit: Toolkit.Toolkit<T>
  /**
   * The schema of the answer: Effect's, one of zod (4.2 and later), Valibot, ArkType or another library with Standard Schema,
   * or `Parameters.fromJsonSchema`. The run then ends with an `Answer<A>`, whose `value` is typed.
   *
   * A model with `structuredOutput` writes the answer as JSON. Any other calls the tool `final_answer`, which the agent offers
   * it; if it writes JSON instead, that is read, too. The answer is read and repaired as arguments are. If it does not fit, the
   * model is told why, at most twice. Then the run ends with `OutputRefused`. Default: the answer is a text.
   */
  readonly output?: Parameters<A>
  /**
   * Checks an answer that fits the `output`, as `Guard.check` checks a value: it returns `undefined` if the answer is good, and
   * a failure if it is not. It may also return an Effect, which succeeds with the one or the other, or fails. The model is told
   * of the failure, as if the answer did not fit. Inside, `ToolCall.ask` asks the user, and `ToolCall.stop` ends the run.
   * Default: no check.
   */
  readonly checkOutput?: (
    value: NoInfer<A>
  ) => Effect.Effect<SemanticGarbage | void, SchemaMismatch | SemanticGarbage | ToolUnavailable, R2> | undefined
  /** The limits of a run. Default: 30 turns, and no other limit. */
  readonly limits?: Limits
  /**
   * What happens when a limit is reached, or when the run is stuck: the run fails (`LimitReached`, `LoopDetected`), or
   * the model is asked once more, without tools, for the best answer from what is known. `Answer.concluded` marks
   * such an answer. If it does not fit the `output`, or if its check asks the user, the run fails. Default: `"fail"`.
   */
  readonly onLimit?: "fail" | "conclude"
  /**
   * What happens to a call that a doubt about an earlier call holds back. `"refuse"`: the model is told so. `"ask"`: the run
   * asks its user first what became of the earlier call (`RunSuspended`), and the reply `"yes"` or `"no"` settles it; any
   * other reply leaves the doubt. Ask only a user who can know, such as an operator. Default: `"refuse"`.
   */
  readonly onDoubt?: "refuse" | "ask"
  /**
   * What happens to a call that was done before, in an earlier run of the scope. `"refuse"`: the model is told so
   * (`already_done`). `"ask"`: the run asks first whether to do it again, as for an approval. A tool with `repeats: false` is
   * never asked about. Default: `"refuse"`.
   */
  readonly onDone?: "refuse" | "ask"
  /**
   * Which calls need an approval, keyed by tool name; `"*"` applies to all other tools. An entry is `true`, a predicate of the
   * tool's parameters, `{ when, preview, within }`, or `false`, which takes a tool out of `"*"`. A tool's own `Tool.approve`
   * holds in any case. Throws if a name matches no tool. Default: none.
   */
  readonly approvals?: (P & Approvals<T> & Misnamed<Exclude<keyof P, T["name"] | "*">>) | undefined
  /**
   * Decides who may reply to a question: `by` is what the reply says. A reply of anybody else is refused before anything runs.
   * If it fails, the reply is refused. Default: everybody may.
   */
  readonly admit?: (by: string | undefined, question: OpenQuestion) => boolean | Effect.Effect<boolean>
  /**
   * How long a run that waits for replies can be resumed. Later, `agent.resume` refuses it. `Tool.approve` has a limit of its
   * own for an approval. Default: no limit.
   */
  readonly resumeWithin?: Duration.Input
  /**
   * The guard against repeated calls that add nothing (`LoopGuard`): its thresholds, or `"off"`. Default: the usual
   * thresholds, so the model is told the third time, the call is refused the tenth time, its tool is withdrawn the eleventh
   * time, and the run ends the twelfth time.
   */
  readonly loopGuard?: LoopGuard.Options | "off"
  /**
   * How big the results of tools may be, in a request to the model (`ResultSize`), or `"whole"` if results are never
   * cut. Default: by the model's context window, so half of it for one result, and three quarters for all results.
   */
  readonly results?: ResultSize.Options | "whole"
  /**
   * Default policies for the tools. A policy is skipped for a tool that already has a policy of the same kind.
   * Precedence: the tool's own policies, then these, then a toolkit's defaults. `Policy.standard()` is right
   * for most tools. Default: none.
   */
  readonly policies?: ReadonlyArray<Policy.Policy<R, ToolFailure>>
  /**
   * Fixers (`Fixer`) for rejected arguments, keyed by tool name; `"*"` applies to all other tools. If a tool has
   * fixers of its own, only those are used. Otherwise, a fixer given here replaces a toolkit's. Throws if a name
   * matches no tool. Default: none.
   */
  readonly fixers?: F | undefined
  /**
   * Which tools the model is offered: all of them, or only the tools that may be called now (`Availability`).
   * With `"all"`, a call to an unavailable tool is refused, and the refusal names the tools to use instead, if
   * any. Default: `"all"`.
   */
  readonly offer?: "all" | "available"
  /**
   * How the outcomes of calls are rendered for the model. With a rendering of your own, a result that was cut cannot be
   * read further (`read_more`), because it might show what your rendering hides. Default: `Rendering.json`.
   */
  readonly rendering?: Rendering.Rendering
  /** How the model replies. Default: the provider's own defaults. */
  readonly modelOptions?: ModelOptions
  /**
   * When to ask the model again after a transient failure, or after a failure that `onModelFailure` wants retried. Default: `RetryPolicy.transient`, which makes 3
   * attempts in all. By default, a request that the provider has already tried 3 times is not retried.
   */
  readonly modelRetry?: Schedule.Schedule<unknown, ModelFailure>
  /**
   * Decides what happens after a failed request to the model: the failure ends the run, the model is asked again by
   * `modelRetry`, or the run ends with a fallback text (`ModelRecovery`). Default: transient failures are retried, and
   * others end the run.
   */
  readonly onModelFailure?: ModelRecovery
}

/**
 * The approvals of an agent, keyed by tool name.
 *
 * @category models
 * @since 0.1.0
 */
export type Approvals<T extends Tool.Any> =
  & { readonly [N in T["name"]]?: Tool.ApprovalChoice<ParametersOf<Extract<T, { readonly name: N }>>> }
  & { readonly "*"?: Tool.ApprovalChoice<unknown> }

/** Entries for tools that do not exist: they do not compile. */
type Misnamed<Name extends PropertyKey> = { readonly [N in Name]: never }

type ParametersOf<T extends Tool.Any> = T["run"] extends (params: infer Params) => unknown ? Params : never

/**
 * The services that approvals require.
 *
 * @category utility types
 * @since 0.1.0
 */
export type NeededToApprove<P> = P extends object ? NeededForChoice<P[keyof P]> : never

type NeededForChoice<Choice> = Choice extends (...args: never) => infer Answer ? Needed<Answer>
  : Choice extends { readonly when?: infer When; readonly preview?: infer Preview }
    ? NeededForChoice<When> | NeededForChoice<Preview>
  : never

/**
 * A question to an agent: a string, or a text together with pictures or other files. With `cache: true`, the provider is asked
 * to keep the request up to the question in its cache.
 *
 * @category models
 * @since 0.1.0
 */
export type Question = string | {
  readonly text: string
  readonly files?: ReadonlyArray<Transcript.File>
  readonly cache?: boolean
}

/**
 * The options of a run that begins or goes on.
 *
 * @category models
 * @since 0.1.0
 */
export interface RunSettings {
  /** How the model replies in this run. Each option takes precedence over the same option of the agent. Default: the agent's. */
  readonly modelOptions?: ModelOptions
  /**
   * The limits of this run. Each of them takes precedence over the same limit of the agent. A run that goes on does not
   * remember them, so give them again. Default: the agent's.
   */
  readonly limits?: Limits
  /**
   * Which pieces of a reply become events of a stream, beside those of its text: the model's reasoning (`ReasoningDelta`), and
   * the arguments of its calls (`ArgumentsDelta`). Arguments of a tool with secrets never do. Default: none.
   */
  readonly deltas?: ReadonlyArray<"reasoning" | "arguments">
  /** Tells from outside how far the run has come (`RunHandle.make`), also after an interruption. Default: none. */
  readonly handle?: RunHandle
  /**
   * Stores how far the run has come: after each call that acts, and when the run has ended, whether with an answer, with a
   * failure, or because it was interrupted. The run waits for it, even while it is interrupted, and whatever its limits, so give
   * it a timeout. If it fails, that is reported as a defect (`Observer.onDefect`), and the run halts (`RunHalted`). A run that
   * was refused has done nothing, and stores nothing. Default: nothing is stored.
   */
  readonly keep?: (progress: RunProgress) => Effect.Effect<void>
}

/**
 * The scope of a run, and what is known of its calls so far.
 *
 * @category models
 * @since 0.1.0
 */
export type RunScope = {
  /**
   * The facts of earlier runs of the scope: the `facts` of the last run's `Answer` or `AgentFailure`. Effects of
   * earlier calls are not repeated, even if it is unknown whether they happened. `CallFacts.empty` says that nothing is
   * known of them. Default: none, and the run begins a new scope.
   *
   * Runs of one scope come one after the other. In one process, a run is refused while another of its scope is under way.
   */
  readonly facts?: CallFacts.CallFacts
  /** The scope of the idempotency keys, only together with `facts`. Default: the scope of the facts, or else the run's id. */
  readonly scope?: undefined
} | {
  /**
   * The scope of the idempotency keys, such as a conversation id or an order id. Runs of one scope share their facts. For
   * its first run, pass `CallFacts.empty`.
   */
  readonly scope: string
  readonly facts: CallFacts.CallFacts
}

/**
 * The options of one run.
 *
 * @category models
 * @since 0.1.0
 */
export type RunOptions = RunSettings & RunScope & {
  /**
   * The transcript of an earlier run, which this run continues. Pass the `facts` of the earlier run too, so that
   * its effects are not repeated. A run is refused (`RunRefused`) if its transcript has calls of acting tools that are not
   * idempotent, and it has no facts. If the agent has instructions, they take the place of those that the transcript begins
   * with. Default: a new conversation.
   */
  readonly transcript?: Transcript.Transcript
  /**
   * The id of the run, in logs and events. An id has 1 to 256 characters. If a run is started again under the
   * same id, it uses the same idempotency keys. So reuse an id only for the same run, such as a job that a queue
   * may deliver twice.
   *
   * Default: a random id. For a run started inside a tool's handler, the default id is derived from the tool
   * call, so the run has the same id in each attempt of the call.
   */
  readonly id?: string
}

/**
 * An agent. `T` is the union of the types of its tools. `R` is the union of the services that its policies, its
 * fixers and the check of its answers require. `A` is the type of its answers.
 *
 * @category models
 * @since 0.1.0
 */
export interface Agent<out T extends Tool.Any, out R = never, out A extends Fields = Answer> {
  /** Runs the agent on a question. */
  readonly run: (
    question: Question,
    options?: RunOptions
  ) => Effect.Effect<A, AgentFailure, Model | Tool.Requirements<T> | R>

  /**
   * Like `run`, but returns the events of the run as a stream. The stream ends with `RunEnded`, or with `RunSuspended` or
   * `RunPostponed` if the run waits, or fails. Closing the stream interrupts the run. If its reader is
   * interrupted, the run ends before the finalizers of the reader.
   */
  readonly stream: (
    question: Question,
    options?: RunOptions
  ) => Stream.Stream<AgentEvent<A>, Failed, Model | Tool.Requirements<T> | R>

  /**
   * Resumes a run that waits for replies to its questions (`suspension.questions`). A call whose question has its reply runs
   * again, and gets the reply. A text replies to the first open question; to approve a call, it is `"yes"`.
   *
   * All replies are checked before anything runs. If one of them is not to an open question, does not have the digest that was
   * shown, or is of somebody whom `admit` refuses, the Effect fails with `RunRefused`. If questions remain open, the run waits
   * again: calls keep their order, so a call whose question has its reply waits for the questions before it. With an empty
   * list, approvals that are too late are denied.
   *
   * If the suspension was read with `JSON.parse` but not decoded with its schema, nothing runs, and the Effect fails with
   * `RunRefused`. So it does if {@link check} fails, and if a later run of the scope has begun in this process, unless all tools
   * that act are idempotent or have keys.
   */
  readonly resume: {
    (
      suspension: Suspension,
      replies: string | ReadonlyArray<Reply>,
      options?: RunSettings
    ): Effect.Effect<A, AgentFailure, Model | Tool.Requirements<T> | R>
    /** Goes on with a run that was postponed: the model is asked again, at once. */
    (
      postponement: Postponement,
      options?: RunSettings
    ): Effect.Effect<A, AgentFailure, Model | Tool.Requirements<T> | R>
  }

  /** Like `resume`, but returns the events from that point on as a stream. */
  readonly resumeStream: {
    (
      suspension: Suspension,
      replies: string | ReadonlyArray<Reply>,
      options?: RunSettings
    ): Stream.Stream<AgentEvent<A>, Failed, Model | Tool.Requirements<T> | R>
    (
      postponement: Postponement,
      options?: RunSettings
    ): Stream.Stream<AgentEvent<A>, Failed, Model | Tool.Requirements<T> | R>
  }

  /**
   * Checks whether the agent can resume a suspension, without running anything. It fails if a tool is gone that the rest of
   * the turn needs, if the arguments of an open question are not those that were shown, or if the time to reply is over.
   * Descriptions, instructions and other tools may have changed. With replies, it also fails if {@link resume} would refuse
   * them: so a server can answer who replied before it streams the run.
   */
  readonly check: (suspension: Suspension, replies?: string | ReadonlyArray<Reply>) => Effect.Effect<void, RunRefused>
}

/**
 * How a run ended, or what it waits for.
 *
 * @category models
 * @since 0.1.0
 */
export type Outcome<A = Answer> =
  | { readonly _tag: "Answered"; readonly answer: A }
  | { readonly _tag: "Suspended"; readonly waiting: RunSuspended }
  | { readonly _tag: "Postponed"; readonly waiting: RunPostponed }

/**
 * Returns the answer of a run, its questions or its postponement as one value. Only a run that has really failed fails.
 *
 * When to use: where a question is an ordinary outcome, so that nothing handles, retries or logs it as an error. It takes runs
 * that begin and runs that are resumed.
 *
 * @example
 * ```ts
 * import { Agent, Tool, ToolCall, Toolkit } from "@fallible/core"
 * import { ScriptedModel } from "@fallible/testing"
 * import { Effect, Schema } from "effect"
 *
 * const book = Tool.make("book", { description: "Books a table", success: Schema.String }, () =>
 *   ToolCall.ask("For how many?"))
 * const agent = Agent.make({ toolkit: Toolkit.make(book) })
 * const model = ScriptedModel.layer([ScriptedModel.call("book")])
 *
 * const outcome = await Effect.runPromise(agent.run("Book a table.").pipe(Agent.outcome, Effect.provide(model)))
 * outcome._tag === "Suspended" ? outcome.waiting.question : outcome // => "For how many?"
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const outcome = <A, E extends AgentFailure, R>(
  run: Effect.Effect<A, E, R>
): Effect.Effect<Outcome<A>, Exclude<E, RunSuspended | RunPostponed>, R> =>
  Effect.matchEffect(run, {
    onSuccess: (answer) => Effect.succeed<Outcome<A>>({ _tag: "Answered", answer }),
    onFailure: (failure): Effect.Effect<Outcome<A>, Exclude<E, RunSuspended | RunPostponed>> => {
      const ended: AgentFailure = failure
      if (ended._tag === "RunSuspended") return Effect.succeed({ _tag: "Suspended", waiting: ended })
      return ended._tag === "RunPostponed"
        ? Effect.succeed({ _tag: "Postponed", waiting: ended })
        : Effect.fail(asFailed(failure))
    }
  })

// The two others have been taken out, which the compiler cannot follow for a type parameter.
const asFailed = <E extends AgentFailure>(failure: E) => failure as Exclude<E, RunSuspended | RunPostponed>

/**
 * The services that `agent.run` needs: a `Model`, and the services of the agent's tools, policies and fixers.
 *
 * When to use: to pass the services of a program on to a run that starts elsewhere, such as in the handler of a request:
 * `Effect.context<Agent.Requirements<typeof agent>>()`.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Requirements<A extends Pick<Agent<Tool.Any, unknown>, "run">> = Effect.Services<ReturnType<A["run"]>>

/**
 * Makes an agent from its options.
 *
 * Throws if a count limit is not a whole number of at least 1, or a time limit is not positive. Also throws if
 * `fixers`, `limits.callsPerTool` or the `check` of a tool has a name that matches no tool.
 *
 * @example
 * ```ts
 * import { Agent, Model, Toolkit } from "@fallible/core"
 * import { Effect } from "effect"
 *
 * const agent = Agent.make({ instructions: "You are kind.", toolkit: Toolkit.empty })
 * const model = Model.layer({ respond: () => Effect.succeed({ text: "Hello!", calls: [] }) })
 *
 * const answer = Effect.runSync(agent.run("Hi").pipe(Effect.provide(model)))
 * answer.text // => "Hello!"
 * answer.report.turns // => 1
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <
  T extends Tool.Any,
  const F extends Fixers<T["name"]> | undefined,
  R = never,
  A = Untyped,
  R2 = never,
  P = unknown
>(
  options: Options<T, R, F, A, R2, P>
): Agent<T, R | NeededBy<F> | R2 | NeededToApprove<P>, Answer<A>> => {
  const problem = problemIn(options ?? {})
  if (problem !== undefined) throw new TypeError(problem)
  demandKnown("Agent.make", options, names)
  const instructions = systemMessage(options.instructions)
  const budget = makeBudget(options.limits)
  const resumeWithin = options.resumeWithin === undefined
    ? Infinity
    : Duration.toMillis(positive("time to resume a run", options.resumeWithin))
  const concludes = options.onLimit === "conclude"
  const guard = options.loopGuard === "off" ? undefined : LoopGuard.make(options.loopGuard)
  const { results } = options
  const usualSize = results === "whole" ? undefined : ResultSize.make(results)
  const output = options.output === undefined ? undefined : outputOf(options.output, options.checkOutput)
  const own = withAnswer(equipped(options), output)
  const acting = Array.from(own.tools.values()).filter(({ sideEffect }) => !isIdempotent(sideEffect))
  const isUnkeyed = acting.some(({ sideEffect }) => sideEffect === "non_idempotent")
  const masks = masksOf(own.tools.values(), [readMoreName, approvalName])
  // Tells agents apart that are asked the same question.
  const tools = Array.from(own.tools.keys()).toSorted().join()
  const actingNames = new Set(acting.map(({ name }) => name))
  // A rendering of the user's own may hide fields, which `read_more` would show.
  const isOwnRendering = options.rendering !== undefined && options.rendering !== Rendering.json &&
    options.rendering !== Rendering.prose
  // Each run gets a new transcript, because a transcript shares its memory with all transcripts made from it.
  const opening = () => instructed(Transcript.make([]), instructions)
  const budgetFor = (limits: Limits | undefined): Budget | string => {
    if (limits === undefined) return budget
    const given = Object.entries(limits).filter(([, limit]) => limit !== undefined)
    const together: Limits = { ...options.limits, ...Object.fromEntries(given) }
    const problem = problemInLimits(together, options.toolkit, options.results)
    return problem ?? attemptToMake(() => makeBudget(together))
  }

  const begin = (
    id: string,
    model: Model["Service"],
    { deltas = [], modelOptions }: RunSettings,
    budget: Budget,
    watch: Watch,
    context: RunContext,
    earlier: Transcript.Transcript | undefined
  ): RunOf<T> => {
    // A window that is no size says nothing.
    const resultSize = results === "whole" || model.contextWindow === undefined
      ? usualSize
      : attempt(() => ResultSize.make(results, model.contextWindow)) ?? usualSize
    const kept = resultSize === undefined || own.tools.has(readMoreName) || isOwnRendering
      ? undefined
      : new KeptResults(resultSize)
    if (earlier !== undefined) kept?.expect(earlier)
    // A copy: a model may change what it is given.
    const { output: ownSchema, ...others } = { ...options.modelOptions, ...modelOptions }
    // The schema of a typed answer is the agent's to send, or not.
    const together: ModelOptions = output !== undefined || ownSchema === undefined
      ? others
      : { ...others, output: ownSchema }
    // Written out: an object that is spread from another one is larger.
    const { approver, around, halt, hasRetryBudget, journal, onEvent, place, prefix, retried, time, usage } = context
    return {
      around,
      prefix,
      halt,
      hasRetryBudget,
      journal,
      onEvent,
      place,
      retried,
      time,
      usage,
      id,
      model,
      toolkit: kept?.readable(own) ?? own,
      masks,
      kept,
      resultSize,
      polled: new PolledResults(),
      rereads: new Rereads(),
      request: new RequestResults(resultSize?.request ?? Infinity),
      rendering: options.rendering ?? Rendering.json,
      budget,
      concludes,
      onDoubt: options.onDoubt ?? "refuse",
      onDone: options.onDone ?? "refuse",
      resumeWithin,
      admit: options.admit,
      approver,
      guard,
      offersAvailable: options.offer === "available",
      modelOptions: together,
      output,
      isStructured: output !== undefined &&
        canWrite({ model }, together.toolChoice === "none" ? 0 : own.tools.size - 1),
      modelRetry: options.modelRetry ?? unlessProviderRetried,
      onModelFailure: options.onModelFailure,
      tracker: undefined,
      deltas,
      watch: watch === undefined ? undefined : (event) => watch({ ...event, run: id })
    }
  }

  const start = (question: Question, given: RunOptions | undefined) => (watch: Watch) =>
    Effect.withFiber((fiber): Run<T, R> => {
      const options = given ?? {}
      const { facts = CallFacts.empty, id, scope, transcript: earlier } = options
      const transcript = earlier === undefined ? opening() : instructed(earlier, instructions)
      const refusal = refusalOfOpening({ ...options, question, transcript }, actingNames)
      if (refusal !== undefined) return Effect.fail(refusal)
      const budget = budgetFor(options.limits)
      if (typeof budget === "string") return Effect.fail(refusalOfLimits(budget, { transcript, facts }))
      const message = typeof question === "string" ? { text: question } : question
      const state = initialState(transcript.append({ role: "user", ...message }), facts)
      return Effect.flatMap(
        Model,
        (model) =>
          Effect.flatMap(
            id === undefined
              ? newId(state, message.text, tools)
              : Effect.succeed({ id, mayHaveRun: "likely" } as const),
            ({ end, id, mayHaveRun }: NewRun) => {
              // If the caller names the run, or passes a scope with empty facts, this run may have been started before.
              const begun = afterOthers(
                beginFacts(
                  takenOver(facts),
                  scope ?? facts.scope ?? id,
                  scope !== undefined && facts.scope === undefined ? "likely" : mayHaveRun
                ),
                id,
                fiber.getRef(Journal.current)
              )
              const run = inRunContext(id, model, budget, state.account, 0, concludes, (context) => {
                const run = begin(id, model, options, budget, watch, context, earlier)
                const first = { ...state, facts: begun }
                return followed(options, run, first, () => unlessHalted(context, turn(run, first)))
              })
              const ending = end === undefined
                ? run
                : Effect.onExit(run, (exit) => Effect.sync(() => end(Exit.isSuccess(exit))))
              // Nobody else can know a scope that is drawn only now.
              return begun.scope === id && options.id === undefined
                ? ending
                : runAlone(begun, id, ending, (why) =>
                  why === "running" ? refusalBeside(why, begun, { transcript, facts }) : undefined)
            }
          )
      )
    })

  const goOnFrom = (
    waiting: Suspension | Postponement,
    given: RunSettings | undefined,
    watch: Watch,
    rest: (run: RunOf<T>) => Run<T, R>
  ) =>
    Effect.suspend((): Run<T, R> => {
      const settings = given ?? {}
      const refusal = refusalOfSettings(settings, waiting)
      if (refusal !== undefined) return Effect.fail(refusal)
      const budget = budgetFor(settings.limits)
      if (typeof budget === "string") return Effect.fail(refusalOfLimits(budget, waiting))
      const { facts, report, runId, transcript, used } = waiting
      const run = Effect.flatMap(Model, (model) =>
        inRunContext(runId, model, budget, Account.from(report), Duration.toMillis(used), concludes, (context) => {
          const run = begin(runId, model, settings, budget, watch, context, transcript)
          return followed(settings, run, initialState(transcript, facts), () =>
            unlessHalted(context, rest(run)))
        }))
      // The services of a key remember what was done under it. Any other effect of a later run is not known to this one.
      return runAlone(facts, runId, run, (why) =>
        why === "running" || isUnkeyed ? refusalBeside(why, facts, waiting, true) : undefined)
    })

  const checkedAt = (suspension: Suspension): Effect.Effect<number, RunRefused> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const refusal = refusalOfSuspended(suspension)
      if (refusal !== undefined) return Effect.fail(refusal)
      return Effect.flatMap(
        refusalOfSuspension(own, suspension, now),
        (refusal) => refusal === undefined ? Effect.succeed(now) : Effect.fail(refusal)
      )
    })

  // The outcomes of the suspended turn, with the replies.
  const taken = (suspension: Suspension, replies: unknown) =>
    Effect.flatMap(checkedAt(suspension), (now) => {
      const { outcomes, reply: { calls } } = suspension
      return takeReplies(own, { calls, outcomes }, replies, now, options.admit, suspension)
    })

  const resumed =
    (waiting: Suspension | Postponement, replies?: unknown, settings?: RunSettings) => (watch: Watch): Run<T, R> =>
      Effect.suspend((): Run<T, R> => {
        if (isPostponement(waiting)) {
          const refusal = refusalOfPostponement(waiting)
          const settings = typeof replies === "object" && replies !== null ? replies : undefined
          return refusal === undefined
            ? goOnFrom(waiting, settings, watch, (run) => goOn(run, waiting))
            : Effect.fail(refusal)
        }
        return Effect.flatMap(
          taken(waiting, replies),
          (outcomes) =>
            goOnFrom(
              waiting,
              settings,
              watch,
              (run) =>
                Effect.flatMap(
                  claimed(run, waiting),
                  (refusal) => refusal === undefined ? resume(run, waiting, outcomes) : Effect.fail(refusal)
                )
            )
        )
      })

  return asAgent({
    run: (question, options) => start(question, options)(undefined),
    stream: (question, options) => streamed(start(question, options)),
    resume: (waiting: Suspension | Postponement, replies?: unknown, options?: RunSettings) =>
      resumed(waiting, replies, options)(undefined),
    resumeStream: (waiting: Suspension | Postponement, replies?: unknown, options?: RunSettings) =>
      streamed(resumed(waiting, replies, options)),
    check: (suspension, replies) =>
      Effect.asVoid(
        Effect.suspend((): Effect.Effect<unknown, RunRefused> =>
          replies === undefined ? checkedAt(suspension) : taken(suspension, replies)
        )
      )
  })
}

const isPostponement = (waiting: Suspension | Postponement): waiting is Postponement =>
  attempt(() => "until" in waiting) === true

const names: Names<Options<Tool.Any, unknown, unknown, never, unknown, unknown>> = {
  instructions: true,
  toolkit: true,
  limits: true,
  onLimit: true,
  onDoubt: true,
  onDone: true,
  approvals: true,
  admit: true,
  resumeWithin: true,
  loopGuard: true,
  results: true,
  policies: true,
  fixers: true,
  offer: true,
  rendering: true,
  modelOptions: true,
  modelRetry: true,
  onModelFailure: true,
  output: true,
  checkOutput: true
}

/** Returns a value, or the message of the error that making it throws. */
const attemptToMake = <A>(make: () => A): A | string => {
  try {
    return make()
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const systemMessage = (instructions: Options<Tool.Any>["instructions"]): Transcript.Message | undefined => {
  if (instructions === undefined) return undefined
  return typeof instructions === "string" ? { role: "system", text: instructions } : { role: "system", ...instructions }
}

// The transcript of an earlier run may have none, or those of another agent or another day.
const instructed = (
  transcript: Transcript.Transcript,
  instructions: Transcript.Message | undefined
): Transcript.Transcript => {
  if (instructions === undefined || !isA(Transcript.Transcript)(transcript)) return transcript
  const first = transcript.at(0)
  if (first?.role === "system" && first.text === instructions.text && first.cache === instructions.cache) {
    return transcript
  }
  const rest = Transcript.toArray(transcript)
  return Transcript.make([instructions, ...(first?.role === "system" ? rest.slice(1) : rest)])
}

type Run<T extends Tool.Any, R> = Effect.Effect<Answer, AgentFailure, Model | Tool.Requirements<T> | R>

// An agent with an `output` ends its runs only with typed answers.
const asAgent = <T extends Tool.Any, R, A extends Fields>(agent: Agent<T, R>) => agent as unknown as Agent<T, R, A>

// The tool that gives the answer has neither policies nor fixers, and needs only the services of its check, which are part of
// the agent's type.
const withAnswer = <T extends Tool.Any>(
  toolkit: Toolkit.Toolkit<T>,
  output: Output | undefined
): Toolkit.Toolkit<T> => {
  if (output === undefined) return toolkit
  if (toolkit.tools.has(finalAnswerName)) {
    throw new TypeError(`An agent with an 'output' gives its answer by the tool '${finalAnswerName}'. Rename yours.`)
  }
  return asToolkit(Toolkit.make(...toolkit.tools.values(), output.tool))
}

// Adds the agent's policies, fixers and approvals to its tools. The services that these require are part of `Agent<T,
// R>`, not of the tools' types.
const equipped = <T extends Tool.Any, R>(
  { approvals = {}, fixers = {}, policies, toolkit }:
    & Pick<Options<T, R, Fixers | undefined>, "fixers" | "policies" | "toolkit">
    & { readonly approvals?: unknown }
): Toolkit.Toolkit<T> => {
  const tools = Array.from(toolkit.tools.values())
  const fixingOf = fixingFor(fixers, Array.from(toolkit.tools.keys()))
  const preferred = policies === undefined ? undefined : checkedPolicies(policies)
  const withPolicies = preferred === undefined ? tools : tools.map((tool) => withPreferredPolicies(tool, preferred))
  const approvalOf = approvalsFor(approvals, Array.from(toolkit.tools.keys()))
  const together = withPolicies.map((tool) => {
    const fixed = withFixer(tool, fixingOf(tool.name), "agent")
    const approval = approvalOf(tool.name)
    return approval === undefined ? fixed : withApproval<T>(fixed, approval)
  })
  return together.every((tool, index) => tool === tools[index]) ? toolkit : Toolkit.make(...together)
}

// Either the agent or the provider retries. If both did, three attempts would become nine.
const unlessProviderRetried = RetryPolicy.transient.pipe(
  Schedule.setInputType<ModelFailure>(),
  Schedule.while(({ input }) => input.attempts === undefined || input.attempts < 3)
)

type Watch = ((event: Happened & { readonly run: string }) => void) | undefined

// If the reader is interrupted, the run ends before the finalizers of the reader: they may store what the run has done.
// `Stream.callback` alone would end it after them.
const streamed = <R>(run: (watch: Watch) => Effect.Effect<Answer, AgentFailure, R>) =>
  Stream.suspend(() => {
    let stop: Effect.Effect<void> = Effect.void
    const events = Stream.callback<AgentEvent, Failed, R>((queue) =>
      Effect.withFiber((fiber) => {
        stop = Fiber.interrupt(fiber)
        return offerEvents(queue, run)
      })
    )
    return Stream.ensuring(events, Effect.suspend(() => stop))
  })

const offerEvents = <R>(
  queue: Queue.Queue<AgentEvent, Failed | Cause.Done>,
  run: (watch: Watch) => Effect.Effect<Answer, AgentFailure, R>
) =>
  Effect.clockWith((clock) => {
    let id = ""
    const watch = (event: Happened & { readonly run: string }) => {
      id = event.run
      Queue.offerUnsafe(queue, { ...event, at: clock.currentTimeMillisUnsafe() })
    }
    const end = (event: Happened & { readonly run: string }) =>
      Effect.suspend(() => {
        watch(event)
        return Queue.end(queue)
      })
    return Effect.matchCauseEffect(outcome(run(watch)), {
      onSuccess: (ended) => {
        switch (ended._tag) {
          case "Answered":
            return end({ _tag: "RunEnded", run: id, answer: ended.answer })
          case "Suspended":
            return end({ _tag: "RunSuspended", run: ended.waiting.suspension.runId, waiting: ended.waiting })
          case "Postponed":
            return end({ _tag: "RunPostponed", run: ended.waiting.postponement.runId, waiting: ended.waiting })
        }
      },
      onFailure: (cause) => Queue.failCause(queue, cause)
    })
  })
