import type { SchemaMismatch } from "../ToolFailure.ts"
import { isForeign } from "./error/guess.ts"

/** Better arguments for a call, and what is said of them. */
export interface Correction {
  /** What was rejected; absent where there were no parameters yet, since the text could not be decoded. */
  readonly from?: { readonly params: unknown }
  readonly to: unknown
  readonly text: string
  /** What was done to them: repairs, as an outcome has them. */
  readonly repairs: ReadonlyArray<{ readonly kind: string }>
  /** Do they hold what must not be shown? */
  readonly isSecret: boolean
}

/** The arguments of a call: what they were, and what they were corrected to. */
export class CallArguments {
  /** The text as the model wrote it, or as a fixer has; absent where nobody wrote any. */
  text: string | undefined
  /** How often fixers were asked for better ones. */
  asked = 0
  /** The last correction, if there was one. */
  correction: Correction | undefined = undefined
  /** Those of the whole call: of a page, its first page's. */
  readonly whole: CallArguments
  private corrected: Map<unknown, unknown> | undefined = undefined
  private foreign: WeakSet<SchemaMismatch> | undefined = undefined

  constructor(text?: string, whole?: CallArguments) {
    this.text = text
    this.whole = whole ?? this
  }

  /** What parameters were corrected to; they themselves, where they were not. A policy that hands on its parameters hands on these. */
  meant(params: unknown): unknown {
    const { corrected } = this.whole
    let meant = params
    while (corrected?.has(meant) === true) meant = corrected.get(meant)
    return meant
  }

  correct(correction: Correction) {
    const { from, text, to } = correction
    this.text = text
    this.correction = correction
    if (from === undefined || from.params === to) return
    const corrected = this.whole.corrected ??= new Map()
    // Decoding may give the same value twice: what is meant now stands for itself.
    corrected.delete(to)
    corrected.set(from.params, to)
  }

  /** Arguments were rejected by a tool inside of this one, whose own they were not. */
  disown(failure: SchemaMismatch) {
    this.foreign ??= new WeakSet()
    this.foreign.add(failure)
  }

  /** Does the failure reject these arguments, and not those of a tool inside? */
  areRejectedBy(failure: { readonly _tag: string; readonly side?: string }): failure is SchemaMismatch {
    return isRejection(failure) && this.foreign?.has(failure) !== true && !isForeign(failure)
  }
}

/** Is it of arguments, whosever they are? */
export const isRejection = (
  failure: { readonly _tag: string; readonly side?: string }
): failure is SchemaMismatch => failure._tag === "SchemaMismatch" && failure.side === "arguments"
