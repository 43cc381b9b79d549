/** Reads JSON from a server: a whole body, or one piece of a streamed body. */
import type { Model, ModelFailure } from "@fallible/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { parse } from "./json.ts"
import * as Failures from "./modelFailures.ts"
import type { Chunk } from "./replyAssembly.ts"
import { problemOf } from "./serverProblem.ts"

/** A whole reply, the first piece of a streamed reply, or a later piece. */
export type Form = "whole" | "first" | "later"

/**
 * Returns a reader for bodies of one shape. A body with an `error` is the server's own report of a problem,
 * which many servers send with a success status.
 *
 * @param field a field that every reply has, and that distinguishes replies from other JSON
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
    if (error !== undefined) return Effect.fail(Failures.reportedProblem(server, problemOf(error)))
    const chunk = isBody(body) ? toChunk(body, text, form) : undefined
    // A piece may have no message; a whole reply must have one.
    return chunk === undefined || (form === "whole" && Object.keys(chunk.message).length === 0)
      ? Effect.fail(Failures.malformedReply(server, text, form !== "later" && isForeign(text, field)))
      : Effect.succeed(chunk)
  }
}

/**
 * True if the text is not from a model's server: a web page, for example, or the JSON of another service. A
 * reply that was cut off is not foreign.
 */
export const isForeign = (text: string, field: string): boolean =>
  Option.match(parse(text), {
    onNone: () => !/^\s*[{[]/.test(text),
    onSome: (body) => !(Predicate.isObject(body) && field in body) && errorIn(body) === undefined
  })

const errorIn = (body: unknown): unknown => {
  const object: unknown = Array.isArray(body) ? body[0] : body
  return Predicate.isObject(object) && object["error"] ? object["error"] : undefined
}

/**
 * Returns the token usage of a reply. For a prompt that was in its cache, a server may leave out the input
 * tokens, which then count as 0.
 */
export const usageOf = (counts: unknown, input: string, output: string): Model.Usage | undefined => {
  if (!Predicate.isObject(counts)) return undefined
  const [inputTokens, outputTokens] = [counts[input], counts[output]]
  if (!isCount(inputTokens) && !isCount(outputTokens)) return undefined
  return { inputTokens: isCount(inputTokens) ? inputTokens : 0, outputTokens: isCount(outputTokens) ? outputTokens : 0 }
}

const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0
