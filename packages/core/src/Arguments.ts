/**
 * From a model's argument text to a tool's typed parameters: text to JSON ({@link parse}), JSON to
 * parameters ({@link decode}).
 *
 *     text ─ read ─ decode ──────────────────────── params
 *                     └ no ─ coerce ─ decode ────── params and repairs
 *                                       └ no ────── one issue for each field
 *
 * The rule: **what has exactly one reading is accepted, and nothing else**. No text that was cut off is completed, even where only
 * closers are missing: `{"amount": 1` may have been 1500, and a schema does not see the difference. No value is guessed. What is refused
 * says where and why, and what to write.
 *
 * `@fallible/arguments` reads and coerces; its `RULES.md` has an example of each repair and each refusal. Here is what Effect's schemas add: the JSON Schema that a model
 * is shown, which is closed (a key that no parameter has is refused), and the decoder, which has the last word. Words around the arguments are passed over only for
 * a tool that reads: "I will NOT call it with …" must not run even a deletion that is idempotent.
 *
 * @since 0.1.0
 */
import { defaults, numberAt, type Options, preview as soFarOf, read, type Readable } from "@fallible/arguments"
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
 * A readable argument text: its object, and what had to be repaired.
 *
 * @category models
 * @since 0.1.0
 */
export interface Parsed {
  readonly value: Schema.JsonObject
  readonly repairs: ReadonlyArray<TextRepair>
  /** Do its numbers have all digits of the text? Where not, `numberAt` has them. */
  readonly isExact: boolean
  /** The source text of the number at a path, as in `1.10`; `undefined` where there is none. */
  readonly numberAt: (path: FieldIssue["path"]) => string | undefined
}

/**
 * The longest argument text that is read: 1 MiB, in bytes of UTF-8.
 *
 * @category limits
 * @since 0.1.0
 */
export const maxBytes: number = defaults.bytes

/**
 * The deepest nesting of objects and arrays that is read: 128 levels.
 *
 * @category limits
 * @since 0.1.0
 */
export const maxDepth: number = defaults.depth

/**
 * Reads a model's argument text as one JSON object.
 *
 * When to use: by hand, where there is no tool. What depends on a schema is decided by {@link decode}: here `null` is an object without keys, and
 * a whole number beyond the safe range is a number that has lost digits (`isExact` says so).
 *
 * Fails with code `invalid_json`: the failure's `fault` says where and in what way, and its only issue has
 * what was expected and an excerpt of what came.
 *
 * The idea that a text may be repaired by a real grammar, and not by regular expressions, is jsonrepair's; what is different is that it
 * never completes.
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
  const found = read(text, reading)
  return found.ok ? Result.succeed(parsed(found)) : Result.fail(unreadable(found.refusal))
}

const reading: Options = { prose: true }

const parsed = (text: Readable): Parsed => {
  const { isExact, repairs, value } = text
  return { value, repairs, isExact, numberAt: (path) => numberAt(text, path) }
}

/**
 * Reads a model's argument text as the typed parameters of a tool.
 *
 * When to use: `Dispatch` does, for each call. By hand for what a tool takes, without the tool.
 *
 * Fails as {@link parse} does, or with code `invalid_arguments`: one message for all fields, an
 * issue for each, and as alternatives the keys or choices that were expected, nearest first.
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
 * What is there so far of arguments that are still being written: to be shown, and for nothing else.
 *
 * It is typed apart from arguments: what is missing is missing, and what is there may yet turn out to be refused.
 *
 * @category models
 * @since 0.1.0
 */
export interface Preview {
  /**
   * An object with the members that are complete, also those of objects and arrays that are not. No tool takes it, since nothing is known of its type.
   */
  readonly soFar: unknown
}

/**
 * What is complete of arguments that are still streaming in.
 *
 * When to use: to show a person what a model is about to call, where you read its stream yourself (the events of an agent have
 * whole calls). It cannot be run: no tool's type takes it. A text or a number at the end is not shown, since it may go on. Never
 * fails; what cannot be read ends it.
 *
 * Each call reads the text from its start: call it as often as somebody looks, not for every piece.
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
export const preview = (text: string): Preview => soFarOf(text)

/**
 * The JSON Schema that a model is shown for a tool's parameters: an object, closed, with its
 * definitions inside.
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
