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
 * tools: give those that can hang a `Tool.timeout`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "./AgentEvent.ts"
import type { AgentFailure, Suspension } from "./AgentFailure.ts"
import * as AgentLoop from "./AgentLoop.ts"
import type { Answer } from "./Answer.ts"
import { Account } from "./internal/account.ts"
import { randomId } from "./internal/randomId.ts"
import * as Journal from "./Journal.ts"
import { Model, type ModelFailure, type Options as ModelOptions } from "./Model.ts"
import * as Rendering from "./Rendering.ts"
import * as RetryPolicy from "./RetryPolicy.ts"
import type * as Tool from "./Tool.ts"
import type * as Toolkit from "./Toolkit.ts"
import * as Transcript from "./Transcript.ts"

/**
 * What an agent is made of.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<out T extends Tool.Any> {
  /** The system message. Default: none. */
  readonly instructions?: string
  readonly toolkit: Toolkit.Toolkit<T>
  readonly limits?: {
    /** How often the model may reply in one run; at least 1. Default: 10. */
    readonly turns?: number
  }
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
  /** Goes on from an earlier run. Default: a new conversation. */
  readonly transcript?: Transcript.Transcript
  /** How the model is to reply in this run; it wins over the agent's, option by option. */
  readonly modelOptions?: ModelOptions
}

/**
 * An agent whose tools are of the union `T`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Agent<out T extends Tool.Any> {
  /** Asks the agent. */
  readonly run: (
    question: Question,
    options?: RunOptions
  ) => Effect.Effect<Answer, AgentFailure, Model | Tool.Requirements<T>>

  /** The same run as a stream of what happens in it; it ends with `RunEnded`, or fails. Ending the stream ends the run. */
  readonly stream: (
    question: Question,
    options?: RunOptions
  ) => Stream.Stream<AgentEvent, AgentFailure, Model | Tool.Requirements<T>>

  /**
   * Goes on with a run that waits for its user: the call that asked runs again, and gets the reply. When
   * several calls asked, the reply is for the first, and the run waits for the next one.
   */
  readonly resume: (
    suspension: Suspension,
    reply: string,
    options?: Pick<RunOptions, "modelOptions">
  ) => Effect.Effect<Answer, AgentFailure, Model | Tool.Requirements<T>>

  /** The same as a stream of what happens from there on. */
  readonly resumeStream: (
    suspension: Suspension,
    reply: string,
    options?: Pick<RunOptions, "modelOptions">
  ) => Stream.Stream<AgentEvent, AgentFailure, Model | Tool.Requirements<T>>
}

/**
 * An agent from its toolkit.
 *
 * A limit that is no whole number from 1 throws.
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
export const make = <T extends Tool.Any>(options: Options<T>): Agent<T> => {
  const turns = options.limits?.turns ?? 10
  if (!Number.isSafeInteger(turns) || turns < 1) {
    throw new TypeError(`An agent's limit of turns is a whole number from 1; got ${turns}.`)
  }
  // Made anew for each run: a transcript shares its memory with those that were made from it.
  const opening = () =>
    Transcript.make(options.instructions === undefined ? [] : [{ role: "system", text: options.instructions }])

  const begin = (
    id: string,
    model: Model["Service"],
    modelOptions: ModelOptions | undefined,
    watch: Watch
  ): AgentLoop.Run<T> => ({
    id,
    model,
    toolkit: options.toolkit,
    rendering: options.rendering ?? Rendering.json,
    turns,
    modelOptions: { ...options.modelOptions, ...modelOptions },
    modelRetry: options.modelRetry ?? unlessAskedAgain,
    watch
  })

  const start = (question: Question, { modelOptions, transcript = opening() }: RunOptions = {}) => (watch: Watch) =>
    Effect.flatMap(
      Model,
      (model) =>
        Effect.flatMap(newId, (id) =>
          AgentLoop.turn(begin(id, model, modelOptions, watch), {
            turn: 1,
            transcript: transcript.append({
              role: "user",
              ...(typeof question === "string" ? { text: question } : question)
            }),
            account: Account.empty(),
            blanks: 0
          }))
    )

  const goOn = (suspension: Suspension, reply: string, { modelOptions }: RunOptions = {}) => (watch: Watch) =>
    Effect.flatMap(
      Model,
      (model) => AgentLoop.resume(begin(suspension.runId, model, modelOptions, watch), suspension, reply)
    )

  return {
    run: (question, options) => start(question, options)(undefined),
    stream: (question, options) => streamed(start(question, options)),
    resume: (suspension, reply, options) => goOn(suspension, reply, options)(undefined),
    resumeStream: (suspension, reply, options) => streamed(goOn(suspension, reply, options))
  }
}

// One layer asks again, not two on top of each other: three attempts are not to become nine.
const unlessAskedAgain = RetryPolicy.transient.pipe(
  Schedule.setInputType<ModelFailure>(),
  Schedule.while(({ input }) => input.attempts === undefined || input.attempts < 3)
)

type Watch = ((event: AgentEvent) => void) | undefined

const streamed = <R>(run: (watch: Watch) => Effect.Effect<Answer, AgentFailure, R>) =>
  Stream.callback<AgentEvent, AgentFailure, R>((queue) =>
    Effect.matchCauseEffect(run((event) => Queue.offerUnsafe(queue, event)), {
      onSuccess: (answer) => Effect.andThen(Queue.offer(queue, { _tag: "RunEnded", answer }), Queue.end(queue)),
      onFailure: (cause) => Queue.failCause(queue, cause)
    })
  )

// A step of the journal, since the idempotency keys of a run that is replayed must be those of the first time.
const newId = Journal.step({ name: "run", success: Schema.String, error: Schema.Never }, randomId("run"))
