/** What a server sent, read as JSON: a whole body, or one piece of a streamed one. */
import type { Model, ModelFailure } from "@fallible/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { Chunk } from "./assembly.ts"
import * as Failures from "./failures.ts"

/**
 * Reads pieces of a shape. An `error` in place of it is the server's own account of what went wrong, which many give
 * under a status of success.
 */
export const reader = <A>(schema: Schema.Schema<A>, toChunk: (body: A, text: string) => Chunk) => {
  const isBody = Schema.is(schema)
  return (text: string, server: Failures.Server): Effect.Effect<Chunk, ModelFailure> => {
    const body = Option.getOrUndefined(parse(text))
    const error = Predicate.isObject(body) ? body["error"] : undefined
    if (error !== undefined && error !== null) return Effect.fail(Failures.reported(server, Failures.problemOf(error)))
    return isBody(body) ? Effect.succeed(toChunk(body, text)) : Effect.fail(Failures.malformed(server, text))
  }
}

const parse = Option.liftThrowable((text: string): unknown => JSON.parse(text))

/** The tokens of a reply. Of a prompt that it had in its cache, a server may say nothing. */
export const usageOf = (counts: unknown, input: string, output: string): Model.Usage | undefined => {
  if (!Predicate.isObject(counts)) return undefined
  const [inputTokens, outputTokens] = [counts[input], counts[output]]
  if (!isCount(inputTokens) && !isCount(outputTokens)) return undefined
  return { inputTokens: isCount(inputTokens) ? inputTokens : 0, outputTokens: isCount(outputTokens) ? outputTokens : 0 }
}

const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0
