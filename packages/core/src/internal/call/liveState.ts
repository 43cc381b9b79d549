import type { Reply } from "../../ToolOutcome.ts"
import type { AbandonedAttempts } from "./abandonedAttempts.ts"

/**
 * The state of a running call that no event records: its abandoned attempts, the replies to its questions, and the
 * numbers of tools inside.
 */
export class LiveState {
  readonly abandoned: AbandonedAttempts
  readonly replies: ReadonlyArray<Reply>
  /**
   * True if a tool inside said in this attempt that it did nothing, or that its arguments are wrong. The handler
   * may fail with a copy of that failure, which says nothing about the handler.
   */
  mayQuote = false
  /**
   * True if a tool inside rejected its arguments in this attempt. The handler may fail with a copy of that failure,
   * which does not reject the handler's own arguments.
   */
  hasRejected = false
  // Both are reset for each attempt, so that a repeated attempt gets the same replies and the same keys.
  #used: Set<Reply> | undefined = undefined
  #counts: Map<string, number> | undefined = undefined

  constructor(abandoned: AbandonedAttempts, replies: ReadonlyArray<Reply>) {
    this.abandoned = abandoned
    this.replies = replies
  }

  /** Resets the state for another attempt. */
  restart(): void {
    this.mayQuote = false
    this.hasRejected = false
    this.#used?.clear()
    this.#counts?.clear()
  }

  /** Returns the user's reply to a question: the first one with the same words that this attempt has not used yet. */
  replyTo(id: string, question: string): string | undefined {
    const used = this.#used ??= new Set()
    const reply = this.replies.find((reply) => reply.id === id && reply.question === question && !used.has(reply))
    if (reply === undefined) return undefined
    used.add(reply)
    return reply.reply
  }

  /** Counts one more start under this name, and returns how many there are in this attempt. */
  next(name: string): number {
    const counts = this.#counts ??= new Map()
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    return count
  }

  /** Returns the state for one of several parallel runs. Each of them starts with the first reply and the first key. */
  beside(): LiveState {
    return new LiveState(this.abandoned, this.replies)
  }

  /** Adds the replies and numbers that a parallel run has used, so that later runs get other keys. */
  rejoin(beside: LiveState): void {
    for (const reply of beside.#used ?? []) (this.#used ??= new Set()).add(reply)
    for (const [name, count] of beside.#counts ?? []) {
      const counts = this.#counts ??= new Map()
      counts.set(name, Math.max(counts.get(name) ?? 0, count))
    }
  }

  /** Returns the state for an abandoned attempt. It continues the counts separately, and has no replies. */
  apart(): LiveState {
    const live = new LiveState(this.abandoned, [])
    live.mayQuote = this.mayQuote
    live.hasRejected = this.hasRejected
    if (this.#counts !== undefined) live.#counts = new Map(this.#counts)
    return live
  }
}
