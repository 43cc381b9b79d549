/**
 * The result of a run that succeeds.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Limit } from "./AgentBudget.ts"
import * as CallFacts from "./CallFacts.ts"
import { versioned } from "./internal/value/versioned.ts"
import { Ledger } from "./Ledger.ts"
import * as Transcript from "./Transcript.ts"

/**
 * The schema of {@link Concluded}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Concluded = Schema.Literals([...Limit.literals, "loop"])

/**
 * Why a run was concluded before it was finished.
 *
 * @category models
 * @since 0.1.0
 */
export type Concluded = typeof Concluded.Type

/**
 * The answer of a run, with the run's transcript, ledger and facts.
 *
 * @category models
 * @since 0.1.0
 */
export interface Answer {
  /** The model's last text. */
  readonly text: string
  /** True if the text was cut off at the maximum number of tokens in a reply. */
  readonly truncated: boolean
  /**
   * Present if the run could not finish, and the model was asked for the best answer from what is known
   * (`onLimit: "conclude"`): the limit that was reached, or `"loop"`.
   */
  readonly concluded?: Concluded
  /** All messages so far. Pass this transcript to the next `run` to continue from here. */
  readonly transcript: Transcript.Transcript
  /** The turns, calls and tokens of the run, and every failure of a call or of the model with how it was handled. */
  readonly ledger: Ledger
  /**
   * The facts of the calls so far: what the calls did. Pass these facts to the next `run` of the conversation,
   * so that effects are not repeated.
   */
  readonly facts: CallFacts.CallFacts
}

/**
 * The encoded form of an {@link Answer}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Encoded {
  readonly version: number
  readonly text: string
  readonly truncated: boolean
  readonly concluded?: Concluded
  readonly transcript: typeof Transcript.schema.Encoded
  readonly ledger: typeof Ledger.Encoded
  readonly facts: CallFacts.Encoded
}

/**
 * The schema of an {@link Answer}. It encodes to plain JSON with a version number. Decoding data of any other
 * version fails, and the error names that version.
 *
 * @example
 * ```ts
 * import { Agent, Answer, Model, Toolkit } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const model = Model.layer({ respond: () => Effect.succeed({ text: "Hello!", calls: [] }) })
 * const answer = Effect.runSync(Effect.provide(Agent.make({ toolkit: Toolkit.empty }).run("Hi"), model))
 *
 * const stored = JSON.stringify(Schema.encodeSync(Answer.schema)(answer))
 * const decoded = Schema.decodeUnknownSync(Answer.schema)(JSON.parse(stored))
 * decoded.text // => "Hello!"
 * decoded.transcript.length // => 2
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const schema: Schema.Codec<Answer, Encoded> = versioned("an answer", 5, {
  text: Schema.String,
  truncated: Schema.Boolean,
  concluded: Schema.optionalKey(Concluded),
  transcript: Transcript.schema,
  ledger: Ledger,
  facts: CallFacts.schema
})
