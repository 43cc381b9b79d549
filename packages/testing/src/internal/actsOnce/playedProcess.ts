/*
 * A process in which a job runs: it records its steps, and may stop in the middle of one.
 */
import type { AgentFailure } from "@fallible/core"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import type * as Journal from "@fallible/core/Journal"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import type { Stop } from "./plan.ts"
import type { PlayedSequence } from "./playedSequence.ts"

/** What is recorded of the steps of a job. A step that has begun and not ended has no exit. */
export type Written = Map<string, Exit.Exit<unknown, unknown> | undefined>

/** The journal of a process that records its steps, and may stop in the middle of a step. */
export class Process implements Journal.Journal {
  /** How many questions of the run the user has answered. */
  questions = 0
  readonly #of: ProcessOf
  #calls = 0

  constructor(of: ProcessOf) {
    this.#of = of
  }

  step<A, E, R>({ lost, name }: Journal.Step<A, E, R>, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    const { id, journal, sequence } = this.#of
    return Effect.suspend((): Effect.Effect<A, E, R> => {
      if (name === "run") return asStepOf<A, E>(Exit.succeed(`${id} ${this.#of.name}`))
      const recorded = journal.get(name)
      if (recorded !== undefined) return asStepOf<A, E>(recorded)
      const isCall = name.includes("/call/")
      const wasBegun = journal.has(name)
      journal.set(name, undefined)
      if (isCall) sequence.begin()
      if (isCall && !wasBegun && name.includes("/reply/")) {
        sequence.tell("The user replies, and the handler starts again.")
      }
      const stop = isCall && ++this.#calls === this.#of.stop?.call ? this.#of.stop : undefined
      if (stop?.hasRun === false) return this.#halt("before the call has run")
      const running = wasBegun && lost !== undefined ? lost : effect
      const ran = isCall ? sequence.within(this.#nameOf(name.replace(/\/reply\/.*/, "")), running) : running
      return Effect.flatMap(Effect.exit(ran), (exit) => {
        if (stop !== undefined) return this.#halt("before it has recorded the outcome of the call")
        journal.set(name, exit)
        return exit
      })
    })
  }

  /** Hears an event of the run. */
  hear(event: AgentEvent.AgentEvent): void {
    const { sequence } = this.#of
    if (event._tag === "OutcomeSettled") sequence.hasSettled = true
    if (event._tag === "FailureHandled" && event.by === "reconcile") sequence.failedLook ??= event.detail
    if (event._tag !== "CallEnded") return
    sequence.told(this.#nameOf(`turn/${event.turn}/call/${event.index}`), event.outcome)
  }

  // A call that asks the user ends, and is another call after the reply.
  #nameOf(position: string): string {
    return `${this.#of.name}/${this.questions}/${position}`
  }

  #halt(when: string): Effect.Effect<never> {
    this.#of.sequence.tell(`The process stops ${when}, and another one continues.`)
    return Effect.andThen(Deferred.succeed(this.#of.stopped, undefined), Effect.never)
  }
}

interface ProcessOf {
  /** Names the run of the job. Processes that continue each other have the same name. */
  readonly name: string
  /** Names the job. */
  readonly id: string
  readonly journal: Written
  readonly stop: Stop | undefined
  /** Succeeds when the process stops. */
  readonly stopped: Deferred.Deferred<void>
  readonly sequence: PlayedSequence
}

/** Runs an agent, and lets the process hear its events. Succeeds with the answer. */
export const heard = <R>(process: Process, events: Stream.Stream<AgentEvent.AgentEvent, AgentFailure.Failed, R>) =>
  Stream.runFold(events, (): AgentEvent.AgentEvent | undefined => undefined, (_, event) => {
    process.hear(event)
    return event
  })

// The exit was recorded for this same step.
const asStepOf = <A, E>(exit: Exit.Exit<unknown, unknown>) => exit as Exit.Exit<A, E>
