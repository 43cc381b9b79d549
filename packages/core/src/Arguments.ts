/**
 * Turns a model's argument text into a tool's typed parameters: text to JSON ({@link parse}), and text to
 * parameters ({@link decode}).
 *
 *     text ─ read ─ decode ──────────────────────── params
 *                     └ fails ─ coerce ─ decode ─── params and repairs
 *                                          └ fails ─ one issue for each field
 *
 * The rule: **text with exactly one reading is accepted, and nothing else**. A text that was cut off is
 * never completed, even if only closing brackets are missing: `{"amount": 1` may have been 1500, and a
 * schema cannot tell. No value is guessed. A refusal says where the fault is, why, and what to write.
 *
 * `@fallible/arguments` reads and coerces. Its `RULES.md` has an example of each repair and each refusal.
 * This module adds two things from Effect's schemas. One is the JSON Schema that a model sees, which is
 * closed: unknown keys are refused. The other is the decoder, which has the last word.
 *
 * Prose around the arguments is skipped only for a tool that only reads. "I will NOT call it with …" must
 * not run even an idempotent deletion.
 *
 * @since 0.1.0
 */
import { defaults, numberAt, type Options, preview as readPreview, read, type Readable } from "@fallible/arguments"
import * as Effect from "effect/Effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type * as DispatchFailure from "./DispatchFailure.ts"
import { attempt, type Decoded, type Target, unreadable } from "./internal/arguments/decoding.ts"
import { shown } from "./internal/arguments/jsonSchema.ts"
import type { FieldIssue } from "./ToolFailure.ts"
import type { TextRepair } from "./ToolOutcome.ts"

export type { Decoded, Target } from "./internal/arguments/decoding.ts"

/**
 * A readable argument text: its JSON object and its repairs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Parsed {
  readonly value: Schema.JsonObject
  readonly repairs: ReadonlyArray<TextRepair>
  /** True if the numbers of `value` keep all digits of the text. Otherwise `numberAt` returns them in full. */
  readonly isExact: boolean
  /** Returns the source text of the number at a path, for example `1.10`; `undefined` if the path has no number. */
  readonly numberAt: (path: FieldIssue["path"]) => string | undefined
}

/**
 * The maximum size of an argument text, in bytes of UTF-8: 1 MiB.
 *
 * @category limits
 * @since 0.1.0
 */
export const maxBytes: number = defaults.bytes

/**
 * The maximum nesting of objects and arrays in an argument text: 128 levels.
 *
 * @category limits
 * @since 0.1.0
 */
export const maxDepth: number = defaults.depth

/**
 * Reads a model's argument text as one JSON object.
 *
 * When to use: without a tool. Decisions that need a schema are left to {@link decode}. Here, `null`
 * becomes an empty object, and a whole number beyond the safe range loses digits (then `isExact` is
 * `false`).
 *
 * Fails with code `invalid_json`. The `fault` of the failure has its kind and position. The only issue has
 * what was expected, and an excerpt of the actual text.
 *
 * The idea of repairing a text with a real grammar, and not with regular expressions, comes from
 * jsonrepair. Unlike jsonrepair, this function never completes a text.
 *
 * @example
 * ```ts
 * import { Arguments } from "@fallible/core"
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
 * When to use: to decode arguments without running a tool. `Dispatch` already decodes the arguments of each
 * call.
 *
 * Fails like {@link parse}, or with code `invalid_arguments`. That failure has one message for all fields,
 * one issue for each field, and the expected keys or choices as `alternatives`, nearest first.
 *
 * @example
 * ```ts
 * import { Arguments } from "@fallible/core"
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
  Effect.mapErrorEager(attempt(text, target), ({ failure }) => failure)

/**
 * The complete part of arguments that are still streaming in. It is for display only.
 *
 * It has a different type than arguments: members may be missing, and the finished text may still be
 * refused.
 *
 * @category models
 * @since 0.1.0
 */
export interface Preview {
  /**
   * An object with all complete members, including members of unfinished objects and arrays. No tool
   * accepts it, because its type is unknown.
   */
  readonly soFar: unknown
}

/**
 * Returns the complete part of arguments that are still streaming in.
 *
 * When to use: to show a user what a model is about to call, if you read its stream yourself. (The events
 * of an agent have whole calls.) The preview cannot be run: no tool's type accepts it.
 *
 * A text or a number at the end is left out, because it may continue. It never fails: a part that cannot be
 * read ends the preview.
 *
 * Each call reads the text from its start, so call it once per screen update and not for every chunk.
 *
 * @example
 * ```ts
 * import { Arguments } from "@fallible/core"
 *
 * Arguments.preview("{\"city\":\"Paris\",\"days\":[1,2").soFar // => { city: "Paris", days: [1] }
 * ```
 *
 * @category decoding
 * @since 0.1.0
 */
export const preview = (text: string): Preview => readPreview(text)

/**
 * Returns the JSON Schema that a model sees for a tool's parameters: a closed object that includes its
 * definitions.
 *
 * @example
 * ```ts
 * import { Arguments } from "@fallible/core"
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
