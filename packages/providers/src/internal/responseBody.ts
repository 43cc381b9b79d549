/** Reads JSON from a server: a whole body, or one piece of a streamed body. */
import type { Model, ModelFailure } from "@fallible/core"
import * as ModelProblem from "@fallible/core/ModelProblem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { parse } from "./json.ts"
import type { Chunk } from "./replyAssembly.ts"
import type { Server } from "./server.ts"

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
  return (text: string, form: Form, server: Server): Effect.Effect<Chunk, ModelFailure> => {
    const body = Option.getOrUndefined(parse(text))
    const error = errorIn(body)
    if (error !== undefined) return Effect.fail(ModelProblem.reported(server, error))
    const chunk = isBody(body) ? toChunk(body, text, form) : undefined
    // A piece may have no message; a whole reply must have one.
    return chunk === undefined || (form === "whole" && Object.keys(chunk.message).length === 0)
      ? Effect.fail(ModelProblem.malformed(server, text, form !== "later" && isForeign(text, field)))
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
 * Returns what a server counted, from the fields that have the names of a usage's fields. Servers leave out fields, and some
 * send nonsense.
 */
export const usageOf = (counts: { readonly [Key in keyof Model.Usage]: unknown }): Model.Usage | undefined => {
  const known = Object.entries(counts).filter(([key, count]) => key === "money" ? isMoney(count) : isCount(count))
  return known.length === 0 ? undefined : Object.fromEntries(known)
}

/** Returns a field of a field; `undefined` if there is none. */
export const fieldOf = (object: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce((inner: unknown, key) => Predicate.isObject(inner) ? inner[key] : undefined, object)

const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0

const isMoney = (value: unknown): value is number => typeof value === "number" && value >= 0 && value < Infinity
