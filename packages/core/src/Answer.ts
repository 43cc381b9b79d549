/**
 * What a run ends with when all goes well.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as CallFacts from "./CallFacts.ts"
import { versioned } from "./internal/value/versioned.ts"
import { Ledger } from "./Ledger.ts"
import * as Transcript from "./Transcript.ts"

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
  readonly transcript: Transcript.Transcript
  /** Turns, calls, tokens, and every failure of a call or of the model with how it ended. */
  readonly ledger: Ledger
  /** What was called, and what came of it. Give it to the next `run` of the conversation: what was done is not done again then. */
  readonly facts: CallFacts.CallFacts
}

/**
 * What an {@link Answer} encodes to.
 *
 * @category models
 * @since 0.1.0
 */
export interface Encoded {
  readonly version: number
  readonly text: string
  readonly truncated: boolean
  readonly transcript: typeof Transcript.schema.Encoded
  readonly ledger: typeof Ledger.Encoded
  readonly facts: CallFacts.Encoded
}

/**
 * The schema of an {@link Answer}: encodes to plain JSON with a version. Decoding any other version fails, and says which it found.
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
export const schema: Schema.Codec<Answer, Encoded> = versioned("an answer", 4, {
  text: Schema.String,
  truncated: Schema.Boolean,
  transcript: Transcript.schema,
  ledger: Ledger,
  facts: CallFacts.schema
})
