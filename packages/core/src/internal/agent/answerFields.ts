/*
 * What every answer has. It has the name of the public type, which adds the `value`: so the compiler calls an answer without a
 * value `Answer`, too.
 */
import type * as CallFacts from "../../CallFacts.ts"
import type { Limit } from "../../Limits.ts"
import type { Source } from "../../Model.ts"
import type { RunReport } from "../../RunReport.ts"
import type * as Transcript from "../../Transcript.ts"

/**
 * What every answer has.
 *
 * @category models
 * @since 0.1.0
 */
export interface Answer {
  /** The model's last text. If the agent has an `output`, it is the answer as JSON, or as it is if the `output` is a string. */
  readonly text: string
  /** The text with `"<redacted>"` in place of its secrets. Present if the agent's `output` has secrets (`writeOnly`). */
  readonly shown?: string
  /** True if the text was cut off at the maximum number of tokens in a reply. */
  readonly truncated: boolean
  /** How the run ended: only an `"answered"` run has the model's own text, and is finished unless it has `looksLike`. */
  readonly stopReason: "answered" | "concluded" | "fallback"
  /**
   * Present if the run could not finish, and the model was asked for the best answer from what is known
   * (`onLimit: "conclude"`): the limit that was reached, or `"loop"`. Also present if that last request failed, and
   * `onModelFailure` answered in the model's place.
   */
  readonly concluded?: Limit | "loop"
  /**
   * Present if the text looks like a call or a plan. The model was asked once for an answer, unless a limit forbade it, and
   * had no better one. An answer that is meant to be such a text has this mark, too.
   */
  readonly looksLike?: "call_as_text" | "plan"
  /** The sources that the provider names for the model's last reply. Absent if there are none. */
  readonly sources?: ReadonlyArray<Source>
  /** The files that came with the model's last reply, such as pictures. Absent if there are none. */
  readonly files?: ReadonlyArray<Transcript.File>
  /** All messages so far. Pass this transcript to the next `run` to continue from here. */
  readonly transcript: Transcript.Transcript
  /** The turns, calls and tokens of the run, and every failure of a call or of the model with how it was handled. */
  readonly report: RunReport
  /**
   * The facts of the calls so far: what the calls did. Pass these facts to the next `run` of the conversation,
   * so that effects are not repeated.
   */
  readonly facts: CallFacts.CallFacts
  /** Shows how the run ended, the text, and the report as a table: what `console.log` shows, too. */
  readonly toString: () => string
}
