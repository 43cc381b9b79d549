/**
 * What a run ends with when all goes well.
 *
 * @since 0.1.0
 */
import type { Ledger } from "./Ledger.ts"
import type { Transcript } from "./Transcript.ts"

/**
 * The answer of a run, and how it came about.
 *
 * @category models
 * @since 0.1.0
 */
export interface Answer {
  /** The model's last text. */
  readonly text: string
  /** Was it cut off at the most tokens that a reply may have? */
  readonly truncated: boolean
  /** Everything that was said. Give it to the next `run` to go on from here. */
  readonly transcript: Transcript
  /** Turns, calls, tokens, and every failure of a call with how it ended. */
  readonly ledger: Ledger
}
