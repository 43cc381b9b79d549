import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import { type AgentFailure, RunHalted, type Suspension } from "../../AgentFailure.ts"
import type { Answer } from "../../Answer.ts"
import * as CallFacts from "../../CallFacts.ts"
import type { Reply } from "../../Model.ts"
import type { RunReport } from "../../RunReport.ts"
import type * as Tool from "../../Tool.ts"
import type { ToolOutcome } from "../../ToolOutcome.ts"
import * as Transcript from "../../Transcript.ts"
import { requireEffect } from "../call/runUserCode.ts"
import { isNotRun, notRun } from "../dispatch/concurrentCalls.ts"
import { handedOn } from "../dispatch/lateDoubt.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import { runContained } from "../fiber/runContained.ts"
import { assistantMessage } from "./messages.ts"
import type { Run, State, Tracker } from "./runState.ts"
import { shownAlone } from "./shownOutcomes.ts"
import { afterCall, openOutcome } from "./turnCalls.ts"

/** What is known of a run: see `RunProgress`. */
interface Known {
  readonly runId: string
  readonly transcript: Transcript.Transcript
  readonly report: RunReport
  readonly facts: CallFacts.CallFacts
  readonly inDoubt: ReadonlyArray<CallFacts.Doubt>
  readonly suspension?: Suspension
}

/** Who asks how far a run has come. */
export interface Followers {
  /** Reads it at any time. */
  readonly handle?: object | undefined
  /** Stores it after each call that acts, and at the end. */
  readonly keep?: ((progress: Known) => Effect.Effect<void>) | undefined
}

const readers = new WeakMap<object, () => Known>()

/** Returns how far the run of a handle has come. */
export const readProgress = (handle: object): Known | undefined => readers.get(handle)?.()

/** Runs the rest of a run, and lets its followers know how far it has come. */
export const followed = <T extends Tool.Any, R>(
  { handle, keep }: Followers,
  run: Run<T>,
  state: State,
  rest: () => Effect.Effect<Answer, AgentFailure, R>
): Effect.Effect<Answer, AgentFailure, R> => {
  if (handle === undefined && keep === undefined) return rest()
  const progress = new Progress(run, state, keep)
  run.tracker = progress
  if (typeof handle === "object") readers.set(handle, () => progress.known)
  if (keep === undefined) return Effect.onExit(rest(), (exit) => Effect.sync(() => progress.ended(exit)))
  const ended = Effect.onExit(rest(), (exit) => {
    progress.ended(exit)
    return Effect.exit(progress.stored)
  })
  return Effect.flatMap(Effect.exit(ended), (exit) => progress.isKept ? exit : Effect.fail(notKept(progress.known)))
}

const notKept = ({ facts, report, transcript }: Known) =>
  new RunHalted({ detail: "What the run has done could not be stored.", step: "keep", facts, report, transcript })

class Progress<T extends Tool.Any> implements Tracker {
  readonly #run: Run<T>
  #state: State
  /** The reply whose calls are running. */
  #reply: Reply | undefined
  readonly #outcomes = new Map<number, ToolOutcome>()
  readonly #begun = new Set<number>()
  #facts: CallFacts.CallFacts
  /** How the run has ended. */
  end: (Pick<Known, "transcript" | "report" | "facts" | "suspension"> & { readonly _tag?: string }) | undefined
  /** False once it could not be stored. */
  isKept = true
  // False until the first turn: a run that goes on may be refused, or interrupted, before.
  #hasBegun = false
  readonly stored: Effect.Effect<void>
  // Of two stores at once, the older one could end last.
  readonly #storing = Semaphore.makeUnsafe(1)

  constructor(run: Run<T>, state: State, keep: Followers["keep"]) {
    this.stored = keep === undefined ? Effect.void : this.#storingBy(keep)
    this.#run = run
    this.#state = state
    this.#facts = state.facts
  }

  ended(exit: Exit.Exit<Answer, AgentFailure>): void {
    this.end = Exit.isSuccess(exit) ? exit.value : Option.getOrUndefined(Exit.findErrorOption(exit))
  }

  // Nothing has run; or an earlier process has come further, and this one did not reach its end.
  get #isBehind(): boolean {
    if (!this.#hasBegun) return true
    const { end } = this
    return this.#run.halt?.isAhead === false && (end === undefined || end._tag === "RunHalted")
  }

  // If it fails, the run dies here, and then halts: it does nothing more that would be forgotten. An interruption waits for
  // the store, because nobody knows whether an interrupted one has been made.
  #storingBy(keep: NonNullable<Followers["keep"]>): Effect.Effect<void> {
    const label = "The 'keep' of a run"
    const store = Effect.catchCause(
      Effect.suspend(() => runContained(requireEffect(label, keep(this.known)))),
      (cause) => {
        this.isKept = false
        return Effect.andThen(reportDefect(`${label} failed`, cause), Effect.die(Cause.squash(cause)))
      }
    )
    const inOrder = Effect.uninterruptible(this.#storing.withPermit(store))
    return Effect.suspend(() => this.#isBehind ? Effect.void : inOrder)
  }

  turn(state: State): void {
    this.#hasBegun = true
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
    const { end } = this
    const { facts, report, transcript } = end ?? this.#far
    const handed = handedOn(facts)
    return {
      runId: this.#run.id,
      transcript,
      report,
      facts: handed,
      inDoubt: CallFacts.inDoubt(handed),
      ...(end?.suspension === undefined ? {} : { suspension: end.suspension })
    }
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
    const results = reply.calls.map((call, index) => shownAlone(this.#run, call, outcomes[index]!))
    return {
      // Appended to the run's own transcript, they would end its lineage.
      transcript: Transcript.make([...transcript, assistantMessage(reply), ...results]),
      report: account.ended(turn, reply, outcomes).report,
      facts
    }
  }
}
