/*
 * Finds out whether a result has a next page, either from the fields of the result or from its number
 * of items. Also finds the arguments that request the next page.
 */
import { explain, hasSecrets } from "@fallible/arguments/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as Guard from "../../Guard.ts"
import { encoderOf } from "../arguments/encoder.ts"
import { schemaOf } from "../arguments/jsonSchema.ts"

/** The names of an object's fields. A list has no such fields. */
export type Field<T> = T extends ReadonlyArray<unknown> ? never : T extends object ? Extract<keyof T, string> : never

/**
 * The fields that report more pages, and the parameter that requests them.
 *
 * @category models
 * @since 0.1.0
 */
export interface Pages<A, Params> {
  /**
   * The field of a result that says whether there are more pages. `true` increments the `next`
   * parameter by one. A non-empty string, or a number other than 0, is a cursor and becomes the value
   * of the `next` parameter. `false`, `null`, `""` and `0` mean that there are no more pages. If the
   * field is absent, `full` decides. An `Option` counts as its value, and `None` as `null`. Any other
   * value means that there are more pages, but that it is unknown how to request them.
   */
  readonly more?: Field<A>
  /**
   * The parameter that requests a page: a 1-based page number or a cursor, but not an offset. A call
   * without this parameter requests page 1.
   */
  readonly next: Field<Params>
  /**
   * The field that contains the items of a page. Default: the result itself if it is a list, else its
   * only field that is a list.
   */
  readonly items?: Field<A>
  /**
   * The number of items on a full page, or the parameter that sets this number. If `more` is not
   * given, or its field is absent, a full page means that there may be more.
   */
  readonly full?: number | Field<Params>
}

/** Returns a function that reports whether a result has a next page, and which arguments request that page. */
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

/**
 * Returns the value of the `next` parameter for the next page, if known, and the `detail` of the
 * failure. Returns `undefined` if there is no next page.
 */
const moreOf = <A, Params>({ full, items, more, next }: Pages<A, Params>, value: A, params: Params) => {
  const field = more === undefined ? undefined : fieldOf(value, more)
  const indicator = Option.isOption(field) ? Option.getOrNull(field) : field
  const count = countedUp(fieldOf(params, next))
  if (indicator !== undefined) {
    const cursor = typeof indicator === "string" || typeof indicator === "number" ? indicator : undefined
    return indicator ? { at: indicator === true ? count : cursor, detail: "There are more pages." } : undefined
  }
  const size = typeof full === "string" ? fieldOf(params, full) : full
  const list = items === undefined ? onlyList(value) : fieldOf(value, items)
  const isFull = Array.isArray(list) && typeof size === "number" && size > 0 && list.length >= size
  return isFull ? { at: count, detail: "The page is full: there may be more." } : undefined
}

/** Whether the `next` parameter requests a page after the first one. */
export const isFurther = (next: string, params: unknown): boolean => {
  const page = fieldOf(params, next)
  return page !== undefined && page !== null && page !== "" && page !== 0 && page !== 1 && page !== "1"
}

const fieldOf = (value: unknown, field: string): unknown =>
  Predicate.isObject(value) && Object.hasOwn(value, field) ? Reflect.get(value, field) : undefined

/** Returns the value itself, or the only field of an object that is a list. */
export const onlyList = (value: unknown): unknown => {
  if (Array.isArray(value) || !Predicate.isObject(value)) return value
  const lists = Object.values(value).filter(Array.isArray)
  return lists.length === 1 ? lists[0] : undefined
}

const countedUp = (page: unknown): number | undefined => {
  if (page === undefined || page === null) return 2
  return typeof page === "number" ? page + 1 : undefined
}

/**
 * Returns the arguments of a call as JSON, with one argument changed. If the other arguments contain
 * a secret or cannot be written as JSON, returns only the changed one. Returns `undefined` if the
 * changed argument does not fit the parameters.
 */
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
      // For example, a page number does not fit a parameter that takes a cursor.
      if (changed !== undefined && !accepts(shown, key, changed)) return undefined
      if (!hasSecrets(shown)) return args
      return changed === undefined ? undefined : { [key]: changed }
    })
  )
}

const isJsonObject = Schema.is(Schema.JsonObject)

// Only issues of this key matter, since other keys may be missing.
const accepts = (shown: ReturnType<typeof schemaOf>, key: string, value: Schema.Json): boolean =>
  explain({ [key]: value }, shown)?.issues.some(({ kind, path }) => path[0] === key && kind !== "unknown_key") !== true
