/**
 * From a handler's raw result to a typed value, a stage at a time:
 *
 *     upstream text ─ json ─ decode ─ check ─ partial ─ value
 *
 * Each stage adds one failure to the Effect's error channel: text that is no JSON and values of
 * the wrong form are a `SchemaMismatch` of the result, a value that makes no sense is
 * `SemanticGarbage`, a value that is not the whole is `PartialData`. Put them in this order: a
 * check may rely on the form, and only a value that makes sense is worth continuing.
 *
 * A guard is a plain function of Effects and needs neither a tool nor an agent.
 *
 * @since 0.1.0
 */
import { parse } from "@fallible/arguments"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import { ended, outright } from "./internal/call/userCode.ts"
import { type Incomplete, incompleteOf, partialData } from "./internal/result/partial.ts"
import { resultIssues } from "./internal/result/resultIssues.ts"
import { dotted } from "./internal/result/resultText.ts"
import { excerpt, firstIssue } from "./internal/value/text.ts"
import type { PartialData } from "./ToolFailure.ts"
import { SchemaMismatch, type SemanticGarbage } from "./ToolFailure.ts"

export type { Incomplete } from "./internal/result/partial.ts"

/**
 * Decodes a value by a schema.
 *
 * When to use: on what a library or a service returned, before anything relies on its form.
 *
 * Fails with `SchemaMismatch` of the result, code `invalid_result`, with an issue for each field. An issue says what kind of value came.
 * It quotes one that is not among the schema's choices, unless that is a secret (`Schema.Redacted`).
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
    Effect.flatMap(self, (value) => Effect.mapError(decodeAll(value), (issue) => wrongForm(issue, value)))
}

/**
 * Reads a text as JSON and decodes it by a schema, in the schema's canonical JSON form.
 *
 * When to use: on the body of a response.
 *
 * Fails with `SchemaMismatch` of the result: code `truncated` when the text ends too early, `invalid_json`
 * when it is not JSON, `invalid_result` when the form is wrong. The detail names the field where the text broke: `orders[0].total`.
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
        catch: (cause) => noJson(text, cause)
      })))
}

/**
 * Checks what a value means: an invariant, freshness, one field against another.
 *
 * When to use: for what a schema cannot say. The check returns `undefined` when all is well, or
 * a failure; being an Effect, it may also look things up first. In the handler of a tool that acts, its failure counts as a refusal that
 * did nothing. Where the tool has acted by then, put the check into its definition (`invariants`, `empty`).
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
  <A, E2 extends SemanticGarbage = never, R2 = never>(
    check: (value: A) => Effect.Effect<unknown, E2, R2> | undefined
  ): <E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | E2, R | R2>
  <A, E, R, E2 extends SemanticGarbage = never, R2 = never>(
    self: Effect.Effect<A, E, R>,
    check: (value: A) => Effect.Effect<unknown, E2, R2> | undefined
  ): Effect.Effect<A, E | E2, R | R2>
} = dual(
  2,
  <A, E, R, E2 extends SemanticGarbage, R2>(
    self: Effect.Effect<A, E, R>,
    check: (value: A) => Effect.Effect<unknown, E2, R2> | undefined
  ): Effect.Effect<A, E | E2, R | R2> =>
    Effect.flatMap(self, (value): Effect.Effect<A, E2, R2> => {
      const verdict = check(value)
      return verdict === undefined
        ? Effect.succeed(value)
        : Effect.as(ended("A function of Guard.check", verdict), value)
    })
)

/**
 * Says of a value that it is not the whole, and how to get the rest.
 *
 * When to use: on a page of many, on a result that a service cut.
 *
 * The function returns `undefined` for a whole value. Fails with `PartialData`, which has the value.
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
 * Effect.runSync(Effect.flip(users)).detail // => "This is 1 of 3 pages."
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
      const who = "A function of Guard.partial"
      const what = incompleteOf(who, outright(who, incomplete(value)))
      return what === undefined ? Effect.succeed(value) : Effect.fail(partialData(value, what))
    })
)

const wrongForm = (issue: SchemaIssue.Issue, value: unknown) => {
  const issues = resultIssues(issue, value)
  return new SchemaMismatch({
    side: "result",
    code: "invalid_result",
    detail: `The result does not match its schema: ${firstIssue(issues)}.`,
    issues
  })
}

const noJson = (text: string, cause: unknown) => {
  const parsed = parse(text)
  const { expected, kind, offset, path } = parsed.ok ? nowhere : parsed.refusal
  const place = dotted(path)
  const isCutOff = kind === "cut_off"
  return new SchemaMismatch({
    side: "result",
    code: isCutOff ? "truncated" : "invalid_json",
    detail: isCutOff
      ? `The result ends too early, after ${text.length} characters: ${
        place === "" ? "" : `at ${place}, `
      }${expected} is missing.`
      : `The result is not valid JSON: at offset ${offset}${
        place === "" ? "" : `, in ${place}`
      }, expected ${expected}, got ${excerpt(text.slice(offset, offset + 30))}.`,
    cause
  })
}

// What is no text at all.
const nowhere = { expected: "JSON", kind: "no_object", offset: 0, path: [] } as const
