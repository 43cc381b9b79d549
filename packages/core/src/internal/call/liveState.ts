import type { Reply } from "../../ToolOutcome.ts"
import type { AbandonedAttempts } from "./abandonedAttempts.ts"

/**
 * What a running call must know of the present, and no event can tell: which attempts still run that nobody waits for, which reply
 * belongs to a question, and which number the next tool inside gets.
 */
export class LiveState {
  readonly abandoned: AbandonedAttempts
  readonly replies: ReadonlyArray<Reply>
  /**
   * Has a tool inside said in this attempt that it did nothing, or that its arguments are wrong? The handler may fail with a copy of that,
   * which says nothing of the handler.
   */
  mayQuote = false
  /** Has a tool inside rejected its arguments in this attempt? The handler may fail with a copy of that: it rejects none of its own. */
  hasRejected = false
  // They start anew with every attempt, so that the same attempt run again finds the same replies and the same keys.
  #used: Set<Reply> | undefined = undefined
  #counts: Map<string, number> | undefined = undefined

  constructor(abandoned: AbandonedAttempts, replies: ReadonlyArray<Reply>) {
    this.abandoned = abandoned
    this.replies = replies
  }

  /** Another attempt begins. */
  restart(): void {
    this.mayQuote = false
    this.hasRejected = false
    this.#used?.clear()
    this.#counts?.clear()
  }

  /** The user's reply to a question: the first with the same words that this attempt has not used yet. */
  replyTo(id: string, question: string): string | undefined {
    const used = this.#used ??= new Set()
    const reply = this.replies.find((reply) => reply.id === id && reply.question === question && !used.has(reply))
    if (reply === undefined) return undefined
    used.add(reply)
    return reply.reply
  }

  /** How often something of this name has begun in the attempt, and begins now. */
  next(name: string): number {
    const counts = this.#counts ??= new Map()
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    return count
  }

  /** The same for an attempt that others run beside: it uses replies and keys from the start, as each of them does. */
  beside(): LiveState {
    return new LiveState(this.abandoned, this.replies)
  }

  /** What an attempt has used that ran beside others: what comes next gets other keys. */
  rejoin(beside: LiveState): void {
    for (const reply of beside.#used ?? []) (this.#used ??= new Set()).add(reply)
    for (const [name, count] of beside.#counts ?? []) {
      const counts = this.#counts ??= new Map()
      counts.set(name, Math.max(counts.get(name) ?? 0, count))
    }
  }

  /** The same for an attempt that nobody waits for any more: it counts on by itself, and there is nobody to reply to it. */
  apart(): LiveState {
    const live = new LiveState(this.abandoned, [])
    live.mayQuote = this.mayQuote
    live.hasRejected = this.hasRejected
    if (this.#counts !== undefined) live.#counts = new Map(this.#counts)
    return live
  }
}
