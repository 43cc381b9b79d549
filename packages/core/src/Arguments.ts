/**
 * Turns a model's argument text into a tool's typed parameters: text to JSON ({@link parse}), and text to
 * parameters ({@link decode}).
 *
 *     text ─ read ─ decode ──────────────────────── params
 *                     └ fails ─ coerce ─ decode ─── params and repairs
 *                                          └ fails ─ one issue for each field
 *
 * The rule: **text with exactly one reading is accepted, and nothing else**. Text that was cut off is never
 * completed, even if only closing brackets are missing: `{"amount": 1` may have been 1500, and a schema cannot
 * tell. No value is guessed. A refusal says where the fault is, what it is, and what to write instead.
 *
 * The package `@fallible/arguments` reads text and coerces values. Its `RULES.md` has an example of each repair
 * and each refusal. This module derives two things from a tool's Effect schema. One is the JSON Schema that the
 * model sees. It is closed: unknown keys are refused. The other is the decoder, which makes the final decision.
 *
 * Prose around the arguments is skipped only if the tool is read-only. For example, "I will NOT call it with …"
 * must not run a deletion, even an idempotent one.
 *
 * @since 0.1.0
 */
import { numberAt, type Options, preview as readPreview, read, type Readable } from "@fallible/arguments"
import { defaults } from "@fallible/arguments/internal"
import * as Effect from "effect/Effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { type Decoded, decodeText, type Target, unreadable } from "./internal/arguments/decoding.ts"
import type * as DispatchFailure from "./internal/arguments/dispatchFailure.ts"
import { shown } from "./internal/arguments/jsonSchema.ts"
import type { FieldIssue } from "./ToolFailure.ts"
import type { TextRepair } from "./ToolOutcome.ts"

export type { Decoded, Target } from "./internal/arguments/decoding.ts"

/**
 * Argument text that could be read: its JSON object, and the repairs that were needed to read it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Parsed {
  readonly value: Schema.JsonObject
  readonly repairs: ReadonlyArray<TextRepair>
  /** True if the numbers in `value` kept all their digits. If not, `numberAt` returns them in full. */
  readonly isExact: boolean
  /** Returns the source text of the number at a path, for example `1.10`; `undefined` if the path has no number. */
  readonly numberAt: (path: FieldIssue["path"]) => string | undefined
}

/**
 * The maximum size of argument text, in bytes of UTF-8: 1 MiB.
 *
 * @category limits
 * @since 0.1.0
 */
export const maxBytes: number = defaults.bytes

/**
 * The maximum nesting of objects and arrays in argument text: 128 levels.
 *
 * @category limits
 * @since 0.1.0
 */
export const maxDepth: number = defaults.depth

/**
 * Reads a model's argument text as one JSON object.
 *
 * When to use: if there is no tool, and so no schema. {@link decode} makes decisions that need a schema, but
 * `parse` does not. It turns `null` into an empty object. A whole number beyond the safe range loses digits;
 * `isExact` is then `false`.
 *
 * Fails with a `SchemaMismatch`, code `invalid_json`. Its `fault` gives the kind and the position of the fault.
 * Its only issue says what was expected, and quotes an excerpt of the actual text.
 *
 * The idea of repairing text with a real grammar, and not with regular expressions, comes from jsonrepair.
 * Unlike jsonrepair, this function never completes text that was cut off.
 *
 * @example
 * ```ts
 * import * as Arguments from "@fallible/core/Arguments"
 * import { Result } from "effect"
 *
 * Result.getOrThrow(Arguments.parse("{\"city\":\"Paris\"}")).value // => { city: "Paris" }
 * Result.getOrThrow(Arguments.parse("{city: 'Paris',}")).value // => { city: "Paris" }
 * Result.getOrThrow(Arguments.parse(undefined)).value // => {}
 *
 * const refused = Result.flip(Arguments.parse("{\"city\":\"Par"))
 * Result.getOrThrow(refused).fault // => { kind: "cut_off", offset: 12, line: 1, column: 13 }
 * ```
 *
 * @category decoding
 * @since 0.1.0
 */
export const parse = (text: string | undefined): Result.Result<Parsed, DispatchFailure.Mismatch> => {
  const result = read(text, readOptions)
  return result.ok ? Result.succeed(toParsed(result)) : Result.fail(unreadable(result.refusal))
}

const readOptions: Options = { prose: true }

const toParsed = (text: Readable): Parsed => {
  const { isExact, repairs, value } = text
  return { value, repairs, isExact, numberAt: (path) => numberAt(text, path) }
}

/**
 * Reads a model's argument text as the typed parameters of a tool.
 *
 * When to use: to decode arguments without running a tool. `Dispatch` already decodes the arguments of each call
 * that it runs.
 *
 * Fails like {@link parse}, or with code `invalid_arguments`. A failure with that code has one message for all
 * invalid fields, and one issue for each of them. Its `alternatives` are the expected keys or choices, nearest
 * first.
 *
 * @example
 * ```ts
 * import * as Arguments from "@fallible/core/Arguments"
 * import { Effect, Schema } from "effect"
 *
 * const weather = { parameters: Schema.Struct({ city: Schema.String, days: Schema.Int }) }
 *
 * Effect.runSync(Arguments.decode("{\"city\":\"Paris\",\"days\":\"3\"}", weather)).params // => { city: "Paris", days: 3 }
 * const refused = Effect.runSync(Effect.flip(Arguments.decode("{\"town\":\"Paris\",\"days\":3}", weather)))
 * refused.alternatives // => ["city", "days"]
 * ```
 *
 * @category decoding
 * @since 0.1.0
 */
export const decode = <Params>(
  text: string | undefined,
  target: Target<Params>
): Effect.Effect<Decoded<Params>, DispatchFailure.Mismatch> =>
  Effect.mapErrorEager(decodeText(text, target), ({ failure }) => failure)

/**
 * A preview of arguments that are still streaming in: the part that is already complete. It is only for display.
 *
 * A preview does not have the type of arguments, because members may be missing, and the finished text may
 * still be refused.
 *
 * @category models
 * @since 0.1.0
 */
export interface Preview {
  /**
   * An object with all complete members, including those of unfinished objects and arrays. Its type is
   * `unknown`, so that no tool accepts it.
   */
  readonly soFar: unknown
}

/**
 * Returns a preview of arguments that are still streaming in: the part that is already written.
 *
 * When to use: to show a user which call a model is about to make, if you read the model's stream yourself. (An
 * agent's events contain only whole calls.) A preview cannot be run, because no tool accepts its type.
 *
 * A string at the end of the text is shown as far as it is written. A number or a word there is left out, because it may
 * continue. `preview` never fails: if a part cannot be read, the preview ends before that part.
 *
 * Each call reads the text from its start, so call `preview` once per screen update, not for every chunk.
 *
 * @example
 * ```ts
 * import * as Arguments from "@fallible/core/Arguments"
 *
 * Arguments.preview("{\"city\":\"Paris\",\"days\":[1,2").soFar // => { city: "Paris", days: [1] }
 * ```
 *
 * @category decoding
 * @since 0.1.0
 */
export const preview = (text: string): Preview => readPreview(text)

/**
 * Returns the JSON Schema that a model sees for a tool's parameters. It describes a closed object, and contains
 * all definitions that it refers to.
 *
 * @example
 * ```ts
 * import * as Arguments from "@fallible/core/Arguments"
 * import { Schema } from "effect"
 *
 * Arguments.jsonSchema(Schema.Struct({}))
 * // => { type: "object", properties: {}, additionalProperties: false }
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const jsonSchema = (parameters: Schema.Constraint): JsonSchema.JsonSchema => shown(parameters)
