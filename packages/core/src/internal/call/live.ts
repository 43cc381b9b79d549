import type { Doubt } from "../../Certainty.ts"
import type { SchemaMismatch, ToolFailure } from "../../ToolFailure.ts"
import type { Reply } from "../../ToolOutcome.ts"
import type { WireRecord } from "../wire/wireRecord.ts"
import type { AbandonedAttempts } from "./abandonedAttempts.ts"

/** A run inside a call that is in doubt, or was not served: see `openRuns`. */
export interface OpenRun {
  /** The name of the tool; empty for an agent. */
  readonly tool: string
  /** The name of the tool, and for whom it ran. */
  readonly place: string
  /** The intended effect; `undefined` if the arguments do not say. */
  readonly effect: string | undefined
  readonly params: unknown
  readonly key: string
  /** Whether it is still running; absent if it is not. */
  readonly runs: (() => boolean) | undefined
  /** If not, it was not served. */
  readonly isInDoubt: boolean
  readonly doubt: Doubt | undefined
  /** Whether the tool, or something inside it, would act again if it ran again. */
  readonly isLasting: boolean
  /** The most recent failure of the handler. */
  readonly last: ToolFailure | undefined
}

/**
 * The part of a running call's state that no event records: its abandoned attempts, the user's
 * replies to its questions, and the counts of its inner tools.
 */
export class Live {
  readonly abandoned: AbandonedAttempts
  readonly replies: ReadonlyArray<Reply>
  /** The open runs that would act again: those of all attempts, and of everything that runs inside the call. */
  readonly lasting: Array<OpenRun>
  /** The other open runs of this attempt. */
  open: ReadonlyArray<OpenRun> = []
  /**
   * What an inner tool's failure has said in this attempt: that the tool did nothing, or that its arguments are wrong.
   * The handler may fail with a copy of that failure. Such a copy says nothing about the handler itself, nor does it
   * reject the handler's own arguments.
   */
  quoted: "nothing" | "rejection" | undefined = undefined
  /** The rejection with which the latest run of the handler ended; `"none"` if it has not ended with one. */
  rejection: SchemaMismatch | "none" | undefined = undefined
  /** True if a custom policy has answered with a value that none of its runs gave. */
  isOwnAnswer = false
  /** The requests of the latest attempt that ended in doubt. */
  lost: WireRecord | undefined = undefined
  // Both fields are reset for each attempt, so that a repeated attempt gets the same replies, and its
  // inner tools the same keys.
  #used: Set<Reply> | undefined = undefined
  #counts: Map<string, number> | undefined = undefined

  constructor(abandoned: AbandonedAttempts, replies: ReadonlyArray<Reply>, lasting: Array<OpenRun> = []) {
    this.abandoned = abandoned
    this.replies = replies
    this.lasting = lasting
  }

  /** Resets the state for another attempt. */
  restart(): void {
    this.quoted = undefined
    this.open = []
    this.#used?.clear()
    this.#counts?.clear()
  }

  /**
   * Returns the user's reply to a question. If there are several replies to the same question,
   * returns the first one that this attempt has not used yet.
   */
  replyTo(id: string, question: string): string | undefined {
    const used = this.#used ??= new Set()
    const reply = this.replies.find((reply) => reply.id === id && reply.question === question && !used.has(reply))
    if (reply === undefined) return undefined
    used.add(reply)
    return reply.reply
  }

  /** Counts one more use of a name, and returns how often this attempt has used that name so far. */
  next(name: string): number {
    const counts = this.#counts ??= new Map()
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    return count
  }

  /** All open runs of this attempt. */
  get openRuns(): ReadonlyArray<OpenRun> {
    return [...this.lasting, ...this.open]
  }

  /** Adds an open run. */
  leave(run: OpenRun): void {
    if (run.isLasting) this.lasting.push(run)
    else this.open = [...this.open, run]
  }

  /** Removes an open run: another one has continued it. */
  close(run: OpenRun): void {
    const index = this.lasting.indexOf(run)
    if (index !== -1) this.lasting.splice(index, 1)
    this.open = this.open.filter((other) => other !== run)
  }

  /**
   * Returns the state for one of several parallel runs. Each parallel run starts with the first reply
   * and the first key.
   */
  beside(): Live {
    return new Live(this.abandoned, this.replies, this.lasting)
  }

  /** Records what a parallel run has left open, and which replies and numbers it has used: later runs get different ones. */
  rejoin(beside: Live): void {
    if (beside.open.length > 0) this.open = [...this.open, ...beside.open]
    if (beside.isOwnAnswer) this.isOwnAnswer = true
    for (const reply of beside.#used ?? []) (this.#used ??= new Set()).add(reply)
    for (const [name, count] of beside.#counts ?? []) {
      const counts = this.#counts ??= new Map()
      counts.set(name, Math.max(counts.get(name) ?? 0, count))
    }
  }

  /**
   * Returns a separate state for an abandoned attempt. That state continues from the current counts,
   * and has no replies.
   */
  apart(): Live {
    const live = new Live(this.abandoned, [], this.lasting)
    live.quoted = this.quoted
    live.open = this.open
    if (this.#counts !== undefined) live.#counts = new Map(this.#counts)
    return live
  }
}
