/**
 * Turns the raw answer of a service into a typed value, in stages:
 *
 *     upstream text ─ json   ─┬─ check ─ partial ─ value
 *     upstream value ─ decode ─┘
 *
 * Each stage adds one failure to the Effect's error channel. Text that is not JSON, or a value of the wrong
 * shape, is a `SchemaMismatch` of the result. A value that makes no sense is `SemanticGarbage`. An incomplete
 * value is `PartialData`. Use the stages in this order. A check may rely on the shape of the value. Only a value
 * that makes sense is worth completing.
 *
 * A guard is a plain function on Effects. It needs neither a tool nor an agent.
 *
 * @since 0.1.0
 */
import { parse } from "@fallible/arguments/internal"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import { requireSync, runAnswer } from "./internal/call/runUserCode.ts"
import { type Incomplete, incompleteOf, partialData } from "./internal/result/partialResult.ts"
import { resultIssues } from "./internal/result/resultIssues.ts"
import { dottedPath } from "./internal/result/resultText.ts"
import { excerpt, firstIssue, kind } from "./internal/value/text.ts"
import { isToolFailure, type PartialData, SchemaMismatch, type SemanticGarbage } from "./ToolFailure.ts"

export type { Incomplete } from "./internal/result/partialResult.ts"

/**
 * Decodes a value with a schema.
 *
 * When to use: on the result of a library or a service, before other code relies on its shape.
 *
 * Fails with a `SchemaMismatch` of the result, code `invalid_result`, with one issue for each invalid field.
 * An issue names the kind of the actual value without quoting it. There is one exception: if the schema lists
 * the valid choices, the issue quotes the value, unless it is a secret (`Schema.Redacted`).
 *
 * @example
 * ```ts
 * import { Guard } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const price = Effect.succeed({ total: 12 }).pipe(Guard.decode(Schema.Struct({ total: Schema.Number })))
 * Effect.runSync(price) // => { total: 12 }
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const decode = <T, RD>(
  schema: Schema.ConstraintDecoder<T, RD>
): <E, R>(self: Effect.Effect<unknown, E, R>) => Effect.Effect<T, E | SchemaMismatch, R | RD> => {
  const decodeAll = SchemaParser.decodeUnknownEffect(schema, { errors: "all" })
  return (self) =>
    Effect.flatMap(self, (value) => Effect.mapError(decodeAll(value), (issue) => wrongShape(issue, value)))
}

/**
 * Parses a string as JSON, and decodes the parsed value with the JSON form of a schema (`Schema.toCodecJson`).
 *
 * When to use: on the body of a response.
 *
 * Fails with a `SchemaMismatch` of the result. Its code is `truncated` if the string ends too early, `invalid_json`
 * if it is not JSON, and `invalid_result` if the value has the wrong shape. Its detail names the field in which the
 * fault is, for example `orders[0].total`.
 *
 * @example
 * ```ts
 * import { Guard } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const price = Effect.succeed("{\"total\":12}").pipe(Guard.json(Schema.Struct({ total: Schema.Number })))
 * Effect.runSync(price) // => { total: 12 }
 *
 * const cut = Effect.succeed("{\"total\":1").pipe(Guard.json(Schema.Struct({ total: Schema.Number })))
 * Effect.runSync(Effect.flip(cut)).code // => "truncated"
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const json = <T, RD>(
  schema: Schema.ConstraintDecoder<T, RD>
): <E, R>(self: Effect.Effect<string, E, R>) => Effect.Effect<T, E | SchemaMismatch, R | RD> => {
  const decodeJson = decode(Schema.toCodecJson(schema))
  return (self) =>
    decodeJson(Effect.flatMap(self, (text) =>
      Effect.try({
        try: (): unknown => JSON.parse(text),
        catch: (cause) => notJson(text, cause)
      })))
}

/**
 * Checks the meaning of a value: an invariant, its freshness, one field against another.
 *
 * When to use: for rules that a schema cannot express. The check function returns `undefined` if the value is
 * good, and a failure if it is not. It may also return an Effect, for example to look something up before it decides. The
 * Effect succeeds with `undefined` if the value is good. It succeeds or fails with a failure if the value is not.
 *
 * A check with any other answer, such as `true`, dies: the value does not pass.
 *
 * Inside the handler of a tool that acts (has side effects), a failed check counts as a refusal, unless a request of the
 * handler may have acted. If the tool has already acted when the check runs, declare the rule in the tool's definition instead
 * (`invariants`, `empty`).
 *
 * @example
 * ```ts
 * import { Guard, SemanticGarbage } from "@fallible/core"
 * import { Effect } from "effect"
 *
 * const orders = Effect.succeed([]).pipe(
 *   Guard.check((orders) =>
 *     orders.length === 0 ? new SemanticGarbage({ code: "empty_result", detail: "No orders." }) : undefined
 *   )
 * )
 * Effect.runSync(Effect.flip(orders)).code // => "empty_result"
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const check: {
  <A, V extends SemanticGarbage | void = void, E2 extends SemanticGarbage = never, R2 = never>(
    check: (value: A) => Effect.Effect<V, E2, R2> | undefined
  ): <E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | E2 | Found<V>, R | R2>
  <A, E, R, V extends SemanticGarbage | void = void, E2 extends SemanticGarbage = never, R2 = never>(
    self: Effect.Effect<A, E, R>,
    check: (value: A) => Effect.Effect<V, E2, R2> | undefined
  ): Effect.Effect<A, E | E2 | Found<V>, R | R2>
} = dual(
  2,
  <A, E, R, V extends SemanticGarbage | void, E2 extends SemanticGarbage, R2>(
    self: Effect.Effect<A, E, R>,
    check: (value: A) => Effect.Effect<V, E2, R2> | undefined
  ): Effect.Effect<A, E | E2 | Found<V>, R | R2> =>
    Effect.flatMap(self, (value): Effect.Effect<A, E2 | Found<V>, R2> => {
      const verdict = check(value)
      return verdict === undefined
        ? Effect.succeed(value)
        : Effect.flatMap(runAnswer(label, verdict), (found) => {
          if (found === undefined) return Effect.succeed(value)
          return isFound(found) ? Effect.fail(found) : Effect.die(odd(found))
        })
    })
)

/**
 * The failure that a check may succeed with.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Found<V> = Extract<V, SemanticGarbage>

const label = "A function of Guard.check"

const isFound = <V extends SemanticGarbage | void>(verdict: V): verdict is Found<V> => isToolFailure(verdict)

const odd = (verdict: unknown) =>
  new TypeError(
    `${label} succeeded with ${
      kind(verdict)
    }: succeed with undefined if the value is good, and with a failure if it is not.`
  )

/**
 * Marks a value as incomplete, and says how to get the rest.
 *
 * When to use: on a page of many, or on a result that a service truncated.
 *
 * The given function returns `undefined` if the value is complete, and a description of the missing part if it is
 * not. With a description, the guard fails with a `PartialData` that contains the value.
 *
 * @example
 * ```ts
 * import { Guard } from "@fallible/core"
 * import { Effect } from "effect"
 *
 * const users = Effect.succeed({ names: ["ada"], page: 1, pages: 3 }).pipe(
 *   Guard.partial(({ page, pages }) =>
 *     page < pages ? { coverage: { have: page, of: pages, unit: "pages" }, next: { page: page + 1 } } : undefined
 *   )
 * )
 * Effect.runSync(Effect.flip(users)).detail // => "This is only part of the result: 1 of 3 pages."
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const partial: {
  <A>(
    incomplete: (value: A) => Incomplete | undefined
  ): <E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | PartialData<A>, R>
  <A, E, R>(
    self: Effect.Effect<A, E, R>,
    incomplete: (value: A) => Incomplete | undefined
  ): Effect.Effect<A, E | PartialData<A>, R>
} = dual(
  2,
  <A, E, R>(
    self: Effect.Effect<A, E, R>,
    incomplete: (value: A) => Incomplete | undefined
  ): Effect.Effect<A, E | PartialData<A>, R> =>
    Effect.flatMap(self, (value): Effect.Effect<A, PartialData<A>> => {
      const label = "A function of Guard.partial"
      const description = incompleteOf(label, requireSync(label, incomplete(value)))
      return description === undefined ? Effect.succeed(value) : Effect.fail(partialData(value, description))
    })
)

const wrongShape = (issue: SchemaIssue.Issue, value: unknown) => {
  const issues = resultIssues(issue, value)
  return new SchemaMismatch({
    side: "result",
    code: "invalid_result",
    detail: `The result does not match its schema: ${firstIssue(issues)}.`,
    issues
  })
}

const notJson = (text: string, cause: unknown) => {
  const parsed = parse(text)
  const { expected, kind, offset, path } = parsed.ok ? notAText : parsed.refusal
  const place = dottedPath(path)
  const isCutOff = kind === "cut_off"
  return new SchemaMismatch({
    side: "result",
    code: isCutOff ? "truncated" : "invalid_json",
    detail: isCutOff
      ? `The result was cut off after ${text.length} characters: ${
        place === "" ? "" : `at ${place}, `
      }${expected} is missing.`
      : `The result is not valid JSON: at offset ${offset}${
        place === "" ? "" : `, in ${place}`
      }, expected ${expected}, got ${excerpt(text.slice(offset, offset + 30))}.`,
    cause
  })
}

// Used in place of a refusal if the value is not a string at all.
const notAText = { expected: "JSON", kind: "no_object", offset: 0, path: [] } as const
