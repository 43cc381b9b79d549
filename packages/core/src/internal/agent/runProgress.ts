import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { AgentFailure } from "../../AgentFailure.ts"
import type { Answer } from "../../Answer.ts"
import * as CallFacts from "../../CallFacts.ts"
import type { Reply } from "../../Model.ts"
import type { RunReport } from "../../RunReport.ts"
import type * as Tool from "../../Tool.ts"
import type { ToolOutcome } from "../../ToolOutcome.ts"
import type { Message, Transcript } from "../../Transcript.ts"
import { requireEffect } from "../call/runUserCode.ts"
import { isNotRun, notRun } from "../dispatch/concurrentCalls.ts"
import { handedOn } from "../dispatch/lateDoubt.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import { runContained } from "../fiber/runContained.ts"
import { assistantMessage, renderOutcome } from "./messages.ts"
import type { Run, State, Tracker } from "./runState.ts"
import { afterCall, openOutcome } from "./turnCalls.ts"

/** What is known of a run: see `RunProgress`. */
interface Known {
  readonly runId: string
  readonly transcript: Transcript
  readonly report: RunReport
  readonly facts: CallFacts.CallFacts
  readonly inDoubt: ReadonlyArray<CallFacts.Doubt>
}

/** Who asks how far a run has come. */
export interface Followers {
  /** Reads it at any time. */
  readonly handle?: object | undefined
  /** Receives it if the run is interrupted. */
  readonly onInterrupt?: ((progress: Known) => Effect.Effect<void>) | undefined
}

const readers = new WeakMap<object, () => Known>()

/** Returns how far the run of a handle has come. */
export const readProgress = (handle: object): Known | undefined => readers.get(handle)?.()

/** Runs the rest of a run, and lets its followers know how far it has come. */
export const followed = <T extends Tool.Any, R>(
  { handle, onInterrupt }: Followers,
  run: Run<T>,
  state: State,
  rest: () => Effect.Effect<Answer, AgentFailure, R>
): Effect.Effect<Answer, AgentFailure, R> => {
  if (handle === undefined && onInterrupt === undefined) return rest()
  const progress = new Progress(run, state)
  run.tracker = progress
  if (typeof handle === "object") readers.set(handle, () => progress.known)
  return Effect.onExit(rest(), (exit) => {
    if (Exit.isSuccess(exit)) progress.end = exit.value
    else if (onInterrupt !== undefined && Exit.hasInterrupts(exit)) return tell(onInterrupt, progress)
    else progress.end = Option.getOrUndefined(Exit.findErrorOption(exit))
    return Effect.void
  })
}

// The finalizer is the user's, and must not hide that the run was interrupted.
const tell = (onInterrupt: (progress: Known) => Effect.Effect<void>, progress: { readonly known: Known }) =>
  Effect.catchCause(
    Effect.suspend(() => runContained(requireEffect("The 'onInterrupt' of a run", onInterrupt(progress.known)))),
    (cause) => reportDefect("The 'onInterrupt' of a run failed", cause)
  )

class Progress<T extends Tool.Any> implements Tracker {
  readonly #run: Run<T>
  #state: State
  /** The reply whose calls are running. */
  #reply: Reply | undefined
  readonly #outcomes = new Map<number, ToolOutcome>()
  readonly #begun = new Set<number>()
  #facts: CallFacts.CallFacts
  /** How the run has ended. */
  end: Pick<Known, "transcript" | "report" | "facts"> | undefined

  constructor(run: Run<T>, state: State) {
    this.#run = run
    this.#state = state
    this.#facts = state.facts
  }

  turn(state: State): void {
    this.#state = state
    this.#facts = state.facts
    this.#reply = undefined
  }

  calls(state: State, reply: Reply, outcomes: ReadonlyArray<ToolOutcome> = []): void {
    this.turn(state)
    this.#reply = reply
    this.#begun.clear()
    this.#outcomes.clear()
    outcomes.forEach((outcome, index) => {
      if (outcome._tag !== "Suspended" && !isNotRun(outcome)) this.#outcomes.set(index, outcome)
    })
  }

  callBegan(index: number): void {
    this.#begun.add(index)
  }

  callEnded(index: number, outcome: ToolOutcome, facts: CallFacts.CallFacts): void {
    this.#outcomes.set(index, outcome)
    this.#facts = facts
  }

  get known(): Known {
    const { facts, report, transcript } = this.end ?? this.#far
    const handed = handedOn(facts)
    return { runId: this.#run.id, transcript, report, facts: handed, inDoubt: CallFacts.inDoubt(handed) }
  }

  get #far(): Pick<Known, "transcript" | "report" | "facts"> {
    const { account, transcript, turn } = this.#state
    const reply = this.#reply
    if (reply === undefined) return { transcript, report: account.report, facts: this.#facts }
    let facts = this.#facts
    const outcomes = reply.calls.map((call, index) => {
      const ended = this.#outcomes.get(index)
      if (ended !== undefined) return ended
      if (!this.#begun.has(index)) return notRun(call)
      const outcome = openOutcome(this.#run.toolkit, call)
      facts = afterCall(this.#run, facts, call, outcome)
      return outcome
    })
    const results = reply.calls.map((call, index): Message => ({
      role: "tool",
      callId: call.id,
      name: call.name,
      text: renderOutcome(this.#run, outcomes[index]!, call, [])
    }))
    return {
      transcript: transcript.append(assistantMessage(reply), ...results),
      report: account.ended(turn, reply, outcomes).report,
      facts
    }
  }
}
