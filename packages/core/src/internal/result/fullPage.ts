/*
 * A list that has exactly as many items as its call asked for at most, and says nothing of a next page. Only for tools whose
 * definition says nothing of pages, so the parameters are recognized by their names.
 */
import { memoize } from "effect/Function"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { schemaOf } from "../arguments/jsonSchema.ts"
import { onlyList } from "./nextPage.ts"

/** A parameter that was recognized by its name. */
interface Parameter {
  readonly name: string
  /** The default that the JSON Schema shows. */
  readonly default: unknown
  /** True if a call without the parameter has a value for it. */
  readonly hasDefault: boolean
}

/** A parameter that asks for a part of a list. */
interface Next extends Parameter {
  readonly by: "page" | "offset" | "cursor"
}

/** The parameters with which a tool pages through a list: how long a page may be, and which one is wanted. */
interface Paging {
  readonly size: Parameter | undefined
  readonly next: Next | undefined
}

/** A list that may be a full page. */
export interface Page {
  readonly length: number
  readonly size: Parameter
  readonly next: Next | undefined
}

/**
 * Returns the list in a result, if the tool has pages and the result does not tell whether it is complete.
 *
 * @param text the text of the call's arguments
 */
export const pageIn = (result: unknown, parameters: Schema.Constraint, text = ""): Page | undefined => {
  const { next, size } = pagingOf(parameters)
  if (size === undefined) return undefined
  const list = onlyList(result)
  if (!Array.isArray(list) || list.length < (next === undefined ? minAlone : minPage)) return undefined
  const { length } = list
  // Decoding the arguments again costs more than the rest.
  if (!size.hasDefault && !text.includes(String(length))) return undefined
  return list !== result && tellsOfMore(result, list) ? undefined : { length, size, next }
}

// "The best match" is no page. Without a parameter for the next page, neither are "the best three".
const minPage = 2
const minAlone = 5

const tellsOfMore = (result: unknown, list: ReadonlyArray<unknown>): boolean =>
  Object.entries(Object(result)).some(([key, value]) => {
    const name = bare(key)
    return value !== list && (moreNames.test(name) || name.includes("count") && Number(value) > list.length)
  })

const moreNames = /next|cursor|more|total|pages|pageinfo|paginat|paging|meta|links|trunc|complete|remain|last/

/** Returns the note on a page, if it is as long as the call with these parameters allows. */
export const noteOnPage = ({ length, next, size }: Page, params: unknown): string | undefined => {
  if (valueOf(size, params) !== length) return undefined
  const note = `This is a full page (${length} items for ${size.name} ${length}): there may be more.`
  if (next === undefined) return note
  const at = valueOf(next, params) ?? (next.by === "page" ? 1 : 0)
  return next.by === "cursor" || typeof at !== "number"
    ? `${note} To see more, call it again with another ${next.name}.`
    : `${note} To see more, call it again with ${next.name}=${next.by === "page" ? at + 1 : at + length}.`
}

const valueOf = ({ default: byDefault, name }: Parameter, params: unknown): unknown =>
  (Predicate.hasProperty(params, name) ? params[name] : undefined) ?? byDefault

// -----------------------------------------------------------------------------
// Parameters
// -----------------------------------------------------------------------------

/** Recognizes the parameters of a tool that pages through a list. */
export const pagingOf = memoize((parameters: Schema.Constraint): Paging => {
  const { properties, required } = schemaOf(parameters)
  const all = Object.entries(Predicate.isObject(properties) ? properties : {})
  const decoded = SchemaAST.toType(parameters.ast)
  const present = SchemaAST.isObjects(decoded)
    ? decoded.propertySignatures.flatMap(({ name, type }) => SchemaAST.isOptional(type) ? [] : [name])
    : []
  const named = (names: ReadonlyArray<string>) => {
    const [name, shown] = all.find(([name]) => names.includes(bare(name))) ?? []
    if (name === undefined || !Predicate.isObject(shown)) return undefined
    const isFilledIn = present.includes(name) && !(Array.isArray(required) && required.includes(name))
    return { name, default: shown["default"], hasDefault: isFilledIn || shown["default"] !== undefined, shown }
  }
  const next = nextNames.flatMap(([by, names]) => {
    const found = named(names)
    return found === undefined ? [] : [{ ...found, by: isNumber(found.shown) ? by : "cursor" as const }]
  }).at(0)
  return { size: named(sizeNames) ?? (next === undefined ? undefined : named(vagueNames)), next }
})

const sizeNames = ["limit", "pagesize", "perpage", "pagelimit", "maxresults", "maxitems", "take"]

// These mean the size of a page only beside a parameter for the next page: "the top 10" are complete.
const vagueNames = ["first", "size", "count", "max", "top", "num", "n"]

const nextNames = [
  ["page", ["page", "pagenumber", "pageno"]],
  ["offset", ["offset", "skip"]],
  ["cursor", ["cursor", "pagetoken", "nexttoken", "nextcursor", "startingafter", "after"]]
] as const

const isNumber = ({ type }: { readonly [key: string]: unknown }): boolean => type === "integer" || type === "number"

const bare = (name: string): string => name.replaceAll(/[_-]/g, "").toLowerCase()
