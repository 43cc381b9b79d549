/** What a server sent, read as JSON: a whole body, or one piece of a streamed one. */
import type { Model, ModelFailure } from "@fallible/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { Chunk } from "./assembly.ts"
import * as Failures from "./failures.ts"
import { parse } from "./json.ts"
import { problemOf } from "./problem.ts"

/** Is it all of a reply, the first piece of a streamed one, or a later piece? */
export type Form = "whole" | "first" | "later"

/**
 * Reads pieces of a shape. An `error` in place of it is the server's own account of what went wrong, which many give
 * under a status of success.
 *
 * @param field one that every reply has, and by which it is told from anything else
 */
export const reader = <A>(
  schema: Schema.Schema<A>,
  field: string,
  toChunk: (body: A, text: string, form: Form) => Chunk
) => {
  const isBody = Schema.is(schema)
  return (text: string, form: Form, server: Failures.Server): Effect.Effect<Chunk, ModelFailure> => {
    const body = Option.getOrUndefined(parse(text))
    const error = errorIn(body)
    if (error !== undefined) return Effect.fail(Failures.reported(server, problemOf(error)))
    const chunk = isBody(body) ? toChunk(body, text, form) : undefined
    // A piece may do without a message, a whole may not.
    return chunk === undefined || (form === "whole" && Object.keys(chunk.message).length === 0)
      ? Effect.fail(Failures.malformed(server, text, form !== "later" && isForeign(text, field)))
      : Effect.succeed(chunk)
  }
}

/** Is a text a page, say, or the JSON of another service? A reply that is cut off is not. */
export const isForeign = (text: string, field: string): boolean =>
  Option.match(parse(text), {
    onNone: () => !/^\s*[{[]/.test(text),
    onSome: (body) => !(Predicate.isObject(body) && field in body) && errorIn(body) === undefined
  })

const errorIn = (body: unknown): unknown => {
  const found: unknown = Array.isArray(body) ? body[0] : body
  return Predicate.isObject(found) && found["error"] ? found["error"] : undefined
}

/** The tokens of a reply. Of a prompt that it had in its cache, a server may say nothing. */
export const usageOf = (counts: unknown, input: string, output: string): Model.Usage | undefined => {
  if (!Predicate.isObject(counts)) return undefined
  const [inputTokens, outputTokens] = [counts[input], counts[output]]
  if (!isCount(inputTokens) && !isCount(outputTokens)) return undefined
  return { inputTokens: isCount(inputTokens) ? inputTokens : 0, outputTokens: isCount(outputTokens) ? outputTokens : 0 }
}

const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0
