/**
 * The result of a run that succeeds.
 *
 * `console.log` and Effect's loggers for text show an answer in short: how it ended, its text, and its report as a table.
 * `JSON.stringify` gives all of it but the secrets in its calls ({@link shown}), in the form that {@link schema} decodes. So a
 * logger that writes JSON also writes the system prompt and all messages: give it `String(answer)` instead. To store an
 * answer, encode it by {@link schema}. A copy such as `{ ...answer }` is a plain object without these two.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { NodeInspectSymbol } from "effect/Inspectable"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaTransformation from "effect/SchemaTransformation"
import * as CallFacts from "./CallFacts.ts"
import type { Answer as Fields } from "./internal/agent/answerFields.ts"
import { outputOf, valueIn } from "./internal/agent/finalAnswer.ts"
import { summary } from "./internal/agent/runSummary.ts"
import { answerBefore } from "./internal/agent/storedBefore.ts"
import { attempt } from "./internal/value/untrusted.ts"
import { withVersion } from "./internal/value/versioned.ts"
import { Limit } from "./Limits.ts"
import { Source } from "./Model.ts"
import type { Parameters } from "./Parameters.ts"
import { RunReport } from "./RunReport.ts"
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
 * The schema of {@link StopReason}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const StopReason = Schema.Literals(["answered", "concluded", "fallback"])

/**
 * How a run ended with an answer.
 *
 * | value       | meaning                                                                                          |
 * | ----------- | ------------------------------------------------------------------------------------------------ |
 * | `answered`  | the model answered                                                                               |
 * | `concluded` | the run could not finish, and the model gave the best answer from what is known                  |
 * | `fallback`  | the model failed, and `onModelFailure` answered in its place (`ModelRecovery.respondWith`)       |
 *
 * @category models
 * @since 0.1.0
 */
export type StopReason = typeof StopReason.Type

/**
 * The schema of {@link LooksLike}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const LooksLike = Schema.Literals(["call_as_text", "plan"])

/**
 * What the text of an answer looks like, if it does not look like an answer.
 *
 * | value          | the text                                                                              | example                        |
 * | -------------- | ------------------------------------------------------------------------------------- | ------------------------------ |
 * | `call_as_text` | is a tool call that the model, or its server, wrote as text, so it was not run         | `<tool_call>{"name":"find"}`   |
 * | `plan`         | only says in English what the model would do next, while it could have called a tool    | `I'll look up the order now.`  |
 *
 * @category models
 * @since 0.1.0
 */
export type LooksLike = typeof LooksLike.Type

export type { Answer as Fields } from "./internal/agent/answerFields.ts"

/**
 * The answer of a run, with the run's transcript, report and facts. An agent with an `output` gives an `Answer<A>`, which also
 * has the typed `value`.
 *
 * @category models
 * @since 0.1.0
 */
export type Answer<A = Untyped> = Fields & ([A] extends [Untyped] ? unknown : { readonly value: A })

/**
 * Stands for the type of an answer that has no `value`.
 *
 * @category utility types
 * @since 0.1.0
 */
export interface Untyped {
  readonly [untyped]: never
}

declare const untyped: unique symbol

// -----------------------------------------------------------------------------
// Constructors
// -----------------------------------------------------------------------------

/**
 * Makes an answer from its fields.
 *
 * When to use: in tests, or for an answer that does not come from an agent.
 *
 * @example
 * ```ts
 * import { Transcript } from "@fallible/core"
 * import * as Answer from "@fallible/core/Answer"
 * import * as CallFacts from "@fallible/core/CallFacts"
 *
 * const report = { turns: 1, calls: 0, inputTokens: 9, outputTokens: 3, failures: [], repairs: [] }
 * const answer = Answer.make({
 *   text: "Hello!",
 *   truncated: false,
 *   stopReason: "answered",
 *   transcript: Transcript.make([]),
 *   report,
 *   facts: CallFacts.empty
 * })
 * String(answer).split("\n").slice(0, 2) // => ["Answer (answered)", "  Hello!"]
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <A extends Fields>(fields: A): A => Object.assign(new Printed(), fields)

// The methods of a class are not enumerable. So an answer has no fields but its data, and equals its decoded form.
class Printed {
  toString(this: Answer): string {
    const { concluded, looksLike, report, shown, stopReason, text, truncated } = this
    const marks = [
      stopReason,
      ...(concluded === undefined ? [] : [concluded]),
      ...(looksLike === undefined ? [] : [`looks like ${looksLike === "plan" ? "a plan" : "a call"}`]),
      ...(truncated ? ["truncated"] : [])
    ]
    const heading = `Answer (${marks.join(", ")})`
    // An answer may have been made by plain JavaScript, with any fields.
    return attempt(() => summary(heading, shown ?? text, report)) ?? heading
  }

  // Effect's loggers call a `toJSON` without parameters. This one has a parameter, so that they print the text.
  toJSON(this: Answer, _key: unknown): unknown {
    return attempt(() => Schema.encodeSync(schema)(shown(this))) ?? { ...this }
  }

  [NodeInspectSymbol](this: Answer): string {
    return this.toString()
  }
}

/**
 * Returns an answer as it may be shown: with `"<redacted>"` in place of the secrets in its text, and in its transcript
 * (`Transcript.shown`).
 *
 * When to use: before you encode an answer for people to read. A run that continues needs the answer's own transcript.
 *
 * @category conversions
 * @since 0.1.0
 */
export const shown = <A extends Fields>(answer: A): A =>
  make({ ...answer, text: answer.shown ?? answer.text, transcript: Transcript.shown(answer.transcript) })

// -----------------------------------------------------------------------------
// Schemas
// -----------------------------------------------------------------------------

const stored = withVersion("an answer", 8, {
  text: Schema.String,
  shown: Schema.optionalKey(Schema.String),
  truncated: Schema.Boolean,
  stopReason: StopReason,
  concluded: Schema.optionalKey(Concluded),
  looksLike: Schema.optionalKey(LooksLike),
  transcript: Transcript.schema,
  report: RunReport,
  facts: CallFacts.schema,
  sources: Schema.optionalKey(Schema.Array(Source)),
  files: Schema.optionalKey(Schema.Array(Transcript.File))
}, answerBefore)

const isFields = Schema.is(Schema.toType(stored))

/**
 * The schema of an {@link Answer}. It encodes to plain JSON with a version number. It decodes the version before, too.
 * Decoding data of any other version fails, and the error names that version.
 *
 * @example
 * ```ts
 * import { Agent, Model, Toolkit } from "@fallible/core"
 * import * as Answer from "@fallible/core/Answer"
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
export const schema: Schema.Codec<Answer, Schema.JsonObject> = stored.pipe(
  Schema.decodeTo(
    Schema.declare((value): value is Answer => isFields(value), { expected: "an Answer" }),
    SchemaTransformation.transform<Answer, typeof stored.Type>({ decode: make, encode: (answer) => ({ ...answer }) })
  )
)

/**
 * Returns the schema of a typed answer. It encodes to the same JSON as {@link schema}. The `value` is decoded from the `text`,
 * and is not checked again. An answer that was stored without its secrets cannot be decoded.
 *
 * @param output the `output` of the agent
 * @example
 * ```ts
 * import { Agent, Toolkit } from "@fallible/core"
 * import * as Answer from "@fallible/core/Answer"
 * import { ScriptedModel } from "@fallible/testing"
 * import { Effect, Schema } from "effect"
 *
 * const output = Schema.Struct({ days: Schema.Int })
 * const run = Agent.make({ toolkit: Toolkit.empty, output }).run("How long?")
 * const answer = Effect.runSync(Effect.provide(run, ScriptedModel.layer([ScriptedModel.text("{\"days\":3}")])))
 *
 * const stored = JSON.stringify(answer)
 * const decoded = Schema.decodeUnknownSync(Answer.schemaFor(output))(JSON.parse(stored))
 * decoded.value // => { days: 3 }
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const schemaFor = <A>(output: Parameters<A>): Schema.Codec<Answer<A>, Schema.JsonObject> => {
  const typed = outputOf<A, never>(output, undefined)
  return schema.pipe(
    Schema.decodeTo(
      Schema.declare((value): value is Answer<A> => isFields(value) && Predicate.hasProperty(value, "value"), {
        expected: "an Answer with a value"
      }),
      {
        decode: SchemaGetter.transformEffect((answer) =>
          typed.isSecret && answer.text === answer.shown
            ? Effect.fail(new SchemaIssue.InvalidValue({ message: withoutSecrets }))
            : Effect.mapBoth(valueIn(typed, answer.text), {
              onSuccess: (value) => asTyped<A>(make({ ...answer, value })),
              onFailure: ({ failure }) => new SchemaIssue.InvalidValue({ message: failure.detail })
            })
        ),
        encode: SchemaGetter.transform((answer: Answer<A>): Answer => answer)
      }
    )
  )
}

const withoutSecrets = "The answer was stored without its secrets. Encode it by its schema, which keeps them."

// The value was decoded by the schema that has the type.
const asTyped = <A>(answer: unknown) => answer as Answer<A>
