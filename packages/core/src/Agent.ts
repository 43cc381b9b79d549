/**
 * An agent: a toolkit, instructions and limits, ready to run.
 *
 *     const agent = Agent.make({ instructions: "You help with orders.", toolkit })
 *     agent.run("Where is my order?")     // Effect<Answer, AgentFailure, Model | …what the tools need>
 *
 * A run is an Effect like any other: interrupt it, and its tools and its model call are interrupted
 * and release what they hold; put it into a queue, a request handler, a workflow.
 *
 * A run ends with an answer, or with an `AgentFailure` that carries the transcript and the ledger. It waits for its
 * tools: give those that can hang a `Tool.timeout`, or all of them `Policy.standard()`.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as AgentBudget from "./AgentBudget.ts"
import type { AgentEvent } from "./AgentEvent.ts"
import type { AgentFailure, Suspension } from "./AgentFailure.ts"
import type { Answer } from "./Answer.ts"
import * as CallFacts from "./CallFacts.ts"
import { Account } from "./internal/agent/account.ts"
import type { Happened } from "./internal/agent/happened.ts"
import { resume, turn } from "./internal/agent/loop.ts"
import { inRunContext, type RunContext } from "./internal/agent/runContext.ts"
import { newId } from "./internal/agent/runId.ts"
import { refusedContinuation, refusedOpening } from "./internal/agent/runInput.ts"
import { beginning, type Run as RunOf } from "./internal/agent/runState.ts"
import { type Fixers, fixingFor, type NeededBy } from "./internal/fixing/fixerOption.ts"
import { withFixer, withPreferred } from "./internal/tool/parts.ts"
import { kind } from "./internal/value/text.ts"
import { Model, type ModelFailure, type Options as ModelOptions } from "./Model.ts"
import type * as Policy from "./Policy.ts"
import * as Rendering from "./Rendering.ts"
import * as RetryPolicy from "./RetryPolicy.ts"
import type * as Tool from "./Tool.ts"
import type { ToolFailure } from "./ToolFailure.ts"
import * as Toolkit from "./Toolkit.ts"
import * as Transcript from "./Transcript.ts"

/**
 * What an agent is made of.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<out T extends Tool.Any, out R = never, out F = undefined> {
  /** The system message. Default: none. */
  readonly instructions?: string
  readonly toolkit: Toolkit.Toolkit<T>
  /** What a run may use up. Default: 10 turns, and no other limit. */
  readonly limits?: AgentBudget.Limits
  /**
   * Policies for those tools that have none of the kind. They lose against a tool's own, and win over a toolkit's defaults.
   * `Policy.standard()` is right for most tools. Default: none.
   */
  readonly policies?: ReadonlyArray<Policy.Policy<R, ToolFailure>>
  /**
   * What corrects rejected arguments (`Fixer`), by the names of tools; `"*"` for all others. They lose against a tool's own, and win over a
   * toolkit's. A name that no tool has throws. Default: none.
   */
  readonly fixers?: F | undefined
  /**
   * What the model is offered: all tools, or only those that may be called at the moment (`Availability`). Default: `"all"`; what
   * may not be called is refused, and the refusal says what else serves.
   */
  readonly offer?: "all" | "available"
  /** How outcomes are put to the model. Default: `Rendering.json`. */
  readonly rendering?: Rendering.Rendering
  /** How the model is to reply. Default: as its provider sees fit. */
  readonly modelOptions?: ModelOptions
  /**
   * When to ask the model again after a transient failure. Default: `RetryPolicy.transient`, 3 attempts in all, unless
   * the provider has already made as many.
   */
  readonly modelRetry?: Schedule.Schedule<unknown, ModelFailure>
}

/**
 * What an agent is asked: a text, or a text with pictures.
 *
 * @category models
 * @since 0.1.0
 */
export type Question = string | { readonly text: string; readonly images: ReadonlyArray<Transcript.Image> }

/**
 * What can be said of one run.
 *
 * @category models
 * @since 0.1.0
 */
export interface RunOptions {
  /** Goes on from an earlier run; give its `facts`, too, so that what it did is not done again. Default: a new conversation. */
  readonly transcript?: Transcript.Transcript
  /** How the model is to reply in this run; it wins over the agent's, option by option. */
  readonly modelOptions?: ModelOptions
  /**
   * Names the run in logs and events. A run that is started again under the same id makes the same idempotency keys, so give it only to what
   * is the same run: a job that a queue may deliver twice. 1 to 256 characters. Default: a random one; inside of a tool's handler one that is
   * the same whenever that call is tried again.
   */
  readonly id?: string
  /**
   * What idempotency keys are made of, beside the call: a conversation, an order. Runs of one scope share their {@link facts}, which have to be
   * given with it: `CallFacts.empty` for the first. Default: the scope of the facts, or else the run's id.
   */
  readonly scope?: string
  /**
   * What the earlier runs of the scope have called: the `facts` of their `Answer`, or of their failure. What they have done is not done again,
   * and what they may have done is not repeated. Default: none, which begins a scope of its own.
   */
  readonly facts?: CallFacts.CallFacts
}

/**
 * An agent whose tools are of the union `T`, and whose policies need an `R`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Agent<out T extends Tool.Any, out R = never> {
  /** Asks the agent. */
  readonly run: (
    question: Question,
    options?: RunOptions
  ) => Effect.Effect<Answer, AgentFailure, Model | Tool.Requirements<T> | R>

  /** The same run as a stream of what happens in it; it ends with `RunEnded`, or fails. Ending the stream ends the run. */
  readonly stream: (
    question: Question,
    options?: RunOptions
  ) => Stream.Stream<AgentEvent, AgentFailure, Model | Tool.Requirements<T> | R>

  /**
   * Goes on with a run that waits for its user: the call that asked runs again, and gets the reply. When
   * several calls asked, the reply is for the first, and the run waits for the next one. A suspension that was parsed and not
   * decoded fails with `RunRefused`, and nothing runs.
   */
  readonly resume: (
    suspension: Suspension,
    reply: string,
    options?: Pick<RunOptions, "modelOptions">
  ) => Effect.Effect<Answer, AgentFailure, Model | Tool.Requirements<T> | R>

  /** The same as a stream of what happens from there on. */
  readonly resumeStream: (
    suspension: Suspension,
    reply: string,
    options?: Pick<RunOptions, "modelOptions">
  ) => Stream.Stream<AgentEvent, AgentFailure, Model | Tool.Requirements<T> | R>
}

/**
 * An agent from its toolkit.
 *
 * A limit that is no whole number from 1, or no positive time, throws.
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
 * answer.ledger.turns // => 1
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: {
  <T extends Tool.Any, R = never>(options: Options<T, R> & { readonly fixers?: undefined }): Agent<T, R>
  <T extends Tool.Any, const F extends Fixers<T["name"]>, R = never>(
    options: Options<T, R, F>
  ): Agent<T, R | NeededBy<F>>
} = <T extends Tool.Any, R = never>(options: Options<T, R, Fixers>): Agent<T, R> => {
  const wrong = wrongIn(options)
  if (wrong !== undefined) throw new TypeError(wrong)
  const budget = AgentBudget.make(options.limits)
  const toolkit = equipped(options)
  // Made anew for each run: a transcript shares its memory with those that were made from it.
  const opening = () =>
    Transcript.make(options.instructions === undefined ? [] : [{ role: "system", text: options.instructions }])

  const begin = (
    id: string,
    model: Model["Service"],
    modelOptions: ModelOptions | undefined,
    watch: Watch,
    surroundings: RunContext
  ): RunOf<T> => ({
    ...surroundings,
    id,
    model,
    toolkit,
    rendering: options.rendering ?? Rendering.json,
    budget,
    offersAvailable: options.offer === "available",
    modelOptions: { ...options.modelOptions, ...modelOptions },
    modelRetry: options.modelRetry ?? unlessAskedAgain,
    watch: watch === undefined ? undefined : (event) => watch({ ...event, run: id })
  })

  const start = (question: Question, options: RunOptions | undefined) => (watch: Watch) =>
    Effect.suspend((): Run<T, R> => {
      const { facts = CallFacts.empty, id, modelOptions, scope, transcript = opening() } = options ?? {}
      const refusal = refusedOpening({ ...options, question, transcript })
      if (refusal !== undefined) return Effect.fail(refusal)
      const asked = typeof question === "string" ? { text: question } : question
      const state = beginning(transcript.append({ role: "user", ...asked }), facts)
      return Effect.flatMap(
        Model,
        (model) =>
          Effect.flatMap(
            id === undefined
              ? newId(state, asked.text)
              : Effect.succeed({ id, mayHaveRun: "likely" } as const),
            ({ id, mayHaveRun }) =>
              inRunContext(id, budget, state.account, 0, (surroundings) =>
                turn(begin(id, model, modelOptions, watch, surroundings), {
                  ...state,
                  facts: CallFacts.beginning(
                    facts,
                    scope ?? facts.scope ?? id,
                    // Whoever names a run, or a scope without facts, may have done so before.
                    scope !== undefined && facts.scope === undefined ? "likely" : mayHaveRun
                  )
                }))
          )
      )
    })

  const goOn = (suspension: Suspension, reply: string, options: RunOptions | undefined) => (watch: Watch) =>
    Effect.suspend((): Run<T, R> => {
      const refusal = refusedContinuation({ suspension, reply })
      if (refusal !== undefined) return Effect.fail(refusal)
      return Effect.flatMap(
        Model,
        (model) =>
          inRunContext(
            suspension.runId,
            budget,
            Account.from(suspension.ledger),
            Duration.toMillis(suspension.used),
            (surroundings) =>
              resume(
                begin(suspension.runId, model, options?.modelOptions, watch, surroundings),
                suspension,
                reply
              )
          )
      )
    })

  return {
    run: (question, options) => start(question, options)(undefined),
    stream: (question, options) => streamed(start(question, options)),
    resume: (suspension, reply, options) => goOn(suspension, reply, options)(undefined),
    resumeStream: (suspension, reply, options) => streamed(goOn(suspension, reply, options))
  }
}

// The compiler asks for all of it; a program without types does not.
const wrongIn = ({ instructions, rendering, toolkit }: Options<Tool.Any, unknown, unknown>): string | undefined => {
  if (!Predicate.hasProperty(toolkit, "definitions")) return `An agent has a Toolkit; got ${kind(toolkit)}.`
  if (!Predicate.isUndefined(instructions) && !Predicate.isString(instructions)) {
    return `An agent's instructions are a text; got ${kind(instructions)}.`
  }
  if (!Predicate.isUndefined(rendering) && !Predicate.isFunction(rendering)) {
    return `An agent's rendering is a function; got ${kind(rendering)}.`
  }
  return undefined
}

type Run<T extends Tool.Any, R> = Effect.Effect<Answer, AgentFailure, Model | Tool.Requirements<T> | R>

// What policies and fixers need is required of whoever runs the agent (`Agent<T, R>`), and not seen in the tools' own types.
const equipped = <T extends Tool.Any, R>(
  { fixers = {}, policies, toolkit }: Options<T, R, Fixers>
): Toolkit.Toolkit<T> => {
  const tools = Array.from(toolkit.tools.values())
  const fixingOf = fixingFor(fixers, Array.from(toolkit.tools.keys()))
  const given = policies === undefined ? tools : tools.map((tool) => withPreferred(tool, policies))
  const fixed = given.map((tool) => withFixer(tool, fixingOf(tool.name), "agent"))
  return fixed.every((tool, index) => tool === tools[index]) ? toolkit : Toolkit.make(...fixed)
}

// One layer asks again, not two on top of each other: three attempts are not to become nine.
const unlessAskedAgain = RetryPolicy.transient.pipe(
  Schedule.setInputType<ModelFailure>(),
  Schedule.while(({ input }) => input.attempts === undefined || input.attempts < 3)
)

type Watch = ((event: Happened & { readonly run: string }) => void) | undefined

const streamed = <R>(run: (watch: Watch) => Effect.Effect<Answer, AgentFailure, R>) =>
  Stream.callback<AgentEvent, AgentFailure, R>((queue) =>
    Effect.clockWith((clock) => {
      let id = ""
      const watch = (event: Happened & { readonly run: string }) => {
        id = event.run
        Queue.offerUnsafe(queue, { ...event, at: clock.currentTimeMillisUnsafe() })
      }
      return Effect.matchCauseEffect(run(watch), {
        onSuccess: (answer) =>
          Effect.suspend(() => {
            watch({ _tag: "RunEnded", run: id, answer })
            return Queue.end(queue)
          }),
        onFailure: (cause) => Queue.failCause(queue, cause)
      })
    })
  )
