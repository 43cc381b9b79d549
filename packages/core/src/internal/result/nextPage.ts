/*
 * What a result says of a next page: by its fields, or by how many items it has. It comes with the whole arguments that ask for that page.
 */
import { explain, hasSecrets } from "@fallible/arguments"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as Guard from "../../Guard.ts"
import { encoderOf } from "../arguments/encoder.ts"
import { schemaOf } from "../arguments/jsonSchema.ts"

/** The names of an object's fields. A list has none. */
export type Field<T> = T extends ReadonlyArray<unknown> ? never : T extends object ? Extract<keyof T, string> : never

/**
 * Which fields say that there is more, and which parameter goes on.
 *
 * @category models
 * @since 0.1.0
 */
export interface Pages<A, Params> {
  /**
   * The field of a result that says whether there is more. After `true`, the parameter counts up by one. A text or a number is a cursor,
   * and becomes the parameter. `false`, `null`, `""` and `0` say that there is no more; a field that is absent says nothing. An `Option`
   * counts as what it holds. Anything else says that there is more, but not how to go on.
   */
  readonly more?: Field<A>
  /** The parameter that continues: a page number, counted from 1, or a cursor. Not an offset. A call without it asks for page 1. */
  readonly next: Field<Params>
  /** The field that has the items of a page. Default: the result itself, or its only list. */
  readonly items?: Field<A>
  /** The size of a page, or the parameter that has it. Where nothing says whether there is more, there may be more after a full page. */
  readonly full?: number | Field<Params>
}

/** What a result says of a next page, and the arguments that ask for it. */
export const nextPageOf =
  <A, Params>(parameters: Schema.ConstraintDecoder<unknown>, pages: Pages<A, Params>) =>
  (value: A, params: Params): Effect.Effect<Guard.Incomplete | undefined> => {
    const more = moreOf(pages, value, params)
    if (more === undefined) return Effect.undefined
    const { at, detail } = more
    return Effect.map(argumentsWith(parameters, params, pages.next, at), (next) => ({
      code: "more_pages",
      detail,
      ...(next === undefined ? {} : { next })
    }))
  }

/** Where it goes on, if it does, and how that is known. */
const moreOf = <A, Params>({ full, items, more, next }: Pages<A, Params>, value: A, params: Params) => {
  const given = more === undefined ? undefined : fieldOf(value, more)
  const said = Option.isOption(given) ? Option.getOrNull(given) : given
  const count = countedUp(fieldOf(params, next))
  if (said !== undefined) {
    const cursor = typeof said === "string" || typeof said === "number" ? said : undefined
    return said ? { at: said === true ? count : cursor, detail: "There are more pages." } : undefined
  }
  const size = typeof full === "string" ? fieldOf(params, full) : full
  const list = items === undefined ? onlyList(value) : fieldOf(value, items)
  const isFull = Array.isArray(list) && typeof size === "number" && size > 0 && list.length >= size
  return isFull ? { at: count, detail: "The page is full: there may be more." } : undefined
}

/** Is it a page after the first, as far as its parameter says? */
export const isFurther = (next: string, params: unknown): boolean => {
  const page = fieldOf(params, next)
  return page !== undefined && page !== null && page !== "" && page !== 0 && page !== 1 && page !== "1"
}

const fieldOf = (value: unknown, field: string): unknown =>
  Predicate.isObject(value) && Object.hasOwn(value, field) ? Reflect.get(value, field) : undefined

const onlyList = (value: unknown): unknown => {
  if (Array.isArray(value) || !Predicate.isObject(value)) return value
  const lists = Object.values(value).filter(Array.isArray)
  return lists.length === 1 ? lists[0] : undefined
}

const countedUp = (page: unknown): number | undefined => {
  if (page === undefined || page === null) return 2
  return typeof page === "number" ? page + 1 : undefined
}

/** The arguments of a call with one of them changed, in JSON; the changed one alone where the others are secret, or have no JSON. */
const argumentsWith = (
  parameters: Schema.ConstraintDecoder<unknown>,
  params: unknown,
  key: string,
  value: string | number | undefined
): Effect.Effect<Schema.JsonObject | undefined> => {
  if (value === undefined) return Effect.undefined
  const only: Schema.JsonObject = { [key]: value }
  return Effect.suspend(() => encoderOf(parameters)(Object.assign({}, params, only))).pipe(
    Effect.map((args) => isJsonObject(args) ? args : only),
    Effect.catchCause(() => Effect.succeed(only)),
    Effect.map((args) => {
      const shown = schemaOf(parameters)
      const changed = args[key]
      // A cursor is not counted up.
      if (changed !== undefined && !accepts(shown, key, changed)) return undefined
      if (!hasSecrets(shown)) return args
      return changed === undefined ? undefined : { [key]: changed }
    })
  )
}

const isJsonObject = Schema.is(Schema.JsonObject)

// The other keys may be missing.
const accepts = (shown: ReturnType<typeof schemaOf>, key: string, value: Schema.Json): boolean =>
  explain({ [key]: value }, shown)?.issues.some(({ kind, path }) => path[0] === key && kind !== "unknown_key") !== true
