/**
 * Reports which keywords of a JSON Schema are not checked, and which make the schema unusable. No keyword is
 * ignored silently.
 */
import { entriesOf, hasKey, isObject, isString, type JsonSchema, keysOf, partAt, type Path } from "../json.ts"
import { demandKnown } from "../knownOptions.ts"
import { memoize, newMap } from "../memo.ts"
import { noFormats, type Options } from "../options.ts"
import { cut, excerpt } from "../text/excerpt.ts"
import { pathOf, type Place, placeIn, placeOf } from "../value.ts"
import { standardFormats } from "./check.ts"
import { type Document, documentOf } from "./document.ts"
import { checkedKeywords, isAnnotation, isSchema, schemasIn } from "./keyword.ts"
import { patternOf } from "./pattern.ts"
import { strangerOf } from "./standard.ts"

/** A keyword in a schema. */
export interface KeywordAt {
  /** The place of the keyword in the schema: keys and indices from the root. */
  readonly path: Path
  readonly keyword: string
  /** The reason, in a few words. */
  readonly why: string
}

/** The keywords of a schema that are not checked, or not accepted. */
export interface Inspection {
  /** Keywords that are not checked: a value that violates them is accepted. */
  readonly unchecked: ReadonlyArray<KeywordAt>
  /** Keywords that make the schema unusable: `fit` and `decode` throw a `SchemaRefused` for it. */
  readonly refused: ReadonlyArray<KeywordAt>
}

/**
 * Finds the keywords of a JSON Schema that are not checked, and the keywords that make the schema unusable.
 *
 * When to use: when a tool is made from a schema that comes from elsewhere. Log the unchecked keywords, and
 * reject the tool if any keyword is refused.
 *
 * Unchecked:
 *
 * - unknown keywords and dialects, and `$dynamicRef`
 * - formats other than `date`, `date-time` and those in the option `formats`. (Formats of numbers, such as `int64`, say
 *   nothing more than the type.)
 * - patterns that cannot be matched in linear time, such as those with back references
 *
 * Refused:
 *
 * - keywords with the wrong content (`type: "int"`, `required: true`)
 * - references that lead out of the schema or nowhere
 * - objects that are not a JSON Schema: a schema of zod, or a tool that has the schema in `inputSchema`
 * - schemas with more than 100,000 parts or 1,000 levels, or with more than 200 that apply to one value, each inside the one
 *   before (`$ref`, `allOf`)
 * - patterns that cannot be matched in linear time, inside `not`, `if`, `oneOf` or `contains`: ignoring them
 *   there would refuse valid values
 *
 * @example
 * ```ts
 * import { inspect } from "@fallible/arguments"
 *
 * inspect({ type: "string", format: "email" }).unchecked[0]?.why // => "the format \"email\""
 * inspect({ minimum: "1" }).refused[0]?.why // => "expected a number, got \"1\""
 * ```
 */
export const inspect = (schema: object, options: Pick<Options, "formats"> = {}): Inspection => {
  demandKnown("inspect", options, optionNames)
  if (!isObject(schema)) return { unchecked: [], refused: [ofWhole(notAnObject(schema))] }
  const { formats = noFormats } = options
  const isTested = ({ keyword, path }: KeywordAt) =>
    keyword === "format" && hasKey(formats, String(partAt(schema, path)))
  return { refused: refusedIn(schema), unchecked: uncheckedIn(schema).filter((at) => !isTested(at)) }
}

const optionNames = { formats: true } as const

const uncheckedIn = memoize((root: JsonSchema): ReadonlyArray<KeywordAt> =>
  strangerOf(root, isChecked) === undefined ? keywordsIn(partsOf(root).schemas, whyUnchecked) : []
)

const refusedIn = memoize((root: JsonSchema): ReadonlyArray<KeywordAt> => {
  const stranger = strangerOf(root, isChecked)
  if (stranger !== undefined) return [ofWhole(stranger)]
  const document = documentOf(root)
  const { levels, schemas } = partsOf(root)
  const found = [...keywordsIn(schemas, (...keyword) => whyRefused(document, ...keyword))]
  if (schemas.size > maxSchemas) found.push(ofWhole(`it has more than ${maxSchemas} schemas`))
  if (longestChain(schemas.keys(), document) > maxChain) {
    found.push(ofWhole(`more than ${maxChain} of its schemas apply to one value, each inside the one before`))
  }
  if (levels > maxLevels) found.push(ofWhole(`it has more than ${maxLevels} levels`))
  return found
})

const isChecked = (keyword: string): boolean => checkedKeywords.has(keyword)

/** All schemas of a document, each with its first place, and the number of levels on which they are. */
interface Parts {
  readonly schemas: ReadonlyMap<JsonSchema, Place | undefined>
  readonly levels: number
}

const partsOf = (root: JsonSchema): Parts => {
  const schemas = newMap<JsonSchema, Place | undefined>()
  // The queue has places, which are cheaper than paths: a schema may be nested very deeply.
  const queue: Array<readonly [place: Place | undefined, level: number, schema: JsonSchema]> = [[undefined, 0, root]]
  const { resolve } = documentOf(root)
  let levels = 0
  for (const [at, level, schema] of queue) {
    levels = Math.max(levels, level)
    if (schemas.has(schema)) continue
    schemas.set(schema, at)
    const target = resolve(schema)
    if (isObject(target)) queue.push([placeIn(at, "$ref"), level + 1, target])
    for (const [path, inner] of schemasIn(schema)) queue.push([placeOf(path, at), level + path.length, inner])
  }
  return { schemas, levels }
}

/** Returns why a keyword belongs in a list; `undefined` if it does not. */
type Why = (keyword: string, value: unknown, schema: JsonSchema, at: Place | undefined) => string | undefined

const keywordsIn = (schemas: Parts["schemas"], whyOf: Why): ReadonlyArray<KeywordAt> => {
  const found: Array<KeywordAt> = []
  for (const [schema, at] of schemas) {
    for (const [keyword, value] of entriesOf(schema)) {
      const why = whyOf(keyword, value, schema, at)
      if (why !== undefined) found.push({ path: [...pathOf(at), keyword], keyword, why })
    }
  }
  return found
}

// The largest schemas that people write have a few thousand parts and twenty levels.
const maxSchemas = 100_000
const maxLevels = 1000
const maxChain = 200

const ofWhole = (why: string): KeywordAt => ({ path: [], keyword: "", why })

const notAnObject = (schema: unknown) => `expected an object, got ${excerpt(schema, 40)}`

// Returns the length of the longest chain of schemas that apply to the same value. A schema that is met again inside itself
// adds nothing. The stack is explicit, because the chain may be long.
const longestChain = (all: Iterable<JsonSchema>, { beside }: Document): number => {
  const lengths = newMap<JsonSchema, number>()
  const stack = Array.from(all)
  let longest = 0
  for (let schema = stack.at(-1); schema; schema = stack.at(-1)) {
    const parts = beside(schema)
    const isKnown = lengths.has(schema)
    const unknown = isKnown ? [] : parts.filter((part) => !lengths.has(part))
    if (!isKnown) lengths.set(schema, 0)
    if (unknown.length > 0) stack.push(...unknown)
    else {
      stack.pop()
      const length = 1 + parts.reduce((max, part) => Math.max(max, lengths.get(part) ?? 0), 0)
      lengths.set(schema, Math.max(length, lengths.get(schema) ?? 0))
      longest = Math.max(longest, length)
    }
  }
  return longest
}

const whyRefused = ({ resolve }: Document, ...[keyword, value, schema, at]: Parameters<Why>): string | undefined => {
  const content = checkedKeywords.get(keyword)
  if (!content || value === undefined) return undefined
  if (!content.isOf(value)) return `expected ${content.expected}, got ${excerpt(value, 40)}`
  if (keyword === "$ref") {
    const target = resolve(schema)
    if (target === undefined) return "it leads nowhere in this schema"
    if (!isSchema(target)) return "it leads to what is not a schema"
  }
  const why = whyUnmatched(keyword, value)
  return why !== undefined && isInverse(at) ? why : undefined
}

const whyUnchecked: Why = (keyword, value, _, at) => {
  if (keyword === "$schema" && !dialects.test(String(value))) return `the dialect ${excerpt(value, 80)}`
  if (value === undefined || isAnnotation(keyword)) return undefined
  const content = checkedKeywords.get(keyword)
  if (!content) return "a keyword that is not known"
  if (!content.isOf(value)) return undefined
  if (keyword === "format" && isString(value) && !isKnownFormat(value)) return `the format ${excerpt(value, 40)}`
  const why = whyUnmatched(keyword, value)
  return why !== undefined && !isInverse(at) ? why : undefined
}

const isKnownFormat = (format: string): boolean =>
  hasKey(standardFormats, format) || /^(?:password|u?int\d*|float|double)$/.test(format)

// The known dialects. Other dialects may give the same keywords a different meaning.
const dialects = /^https?:\/\/(?:json-schema\.org\/|spec\.openapis\.org\/)/

const whyUnmatched = (keyword: string, value: unknown): string | undefined => {
  const patterns = keyword === "pattern"
    ? [String(value)]
    : keyword === "patternProperties" && isObject(value)
    ? keysOf(value)
    : []
  const unmatched = patterns.find((pattern) => !patternOf(pattern))
  return unmatched === undefined ? undefined : `the pattern ${excerpt(unmatched, 40)}`
}

// In these positions, ignoring a pattern would refuse valid values instead of accepting invalid ones.
const isInverse = (at: Place | undefined): boolean =>
  pathOf(at).some((key) => key === "not" || key === "if" || key === "oneOf" || key === "contains")

/** The error that is thrown for a JSON Schema that cannot be used. */
export class SchemaRefused extends TypeError {
  /** The keywords that make the schema unusable. */
  readonly keywords: ReadonlyArray<KeywordAt>

  constructor(keywords: ReadonlyArray<KeywordAt>) {
    const [first] = keywords
    const others = keywords.length > 1 ? `, and ${keywords.length - 1} more` : ""
    const place = !first || first.path.length === 0 ? "" : `${cut(first.path.join("/"), 200)}: `
    super(`The JSON Schema cannot be used: ${place}${first?.why ?? ""}${others}.`)
    this.name = "SchemaRefused"
    this.keywords = keywords
  }
}

/** Returns the schema itself if it can be used. Throws a `SchemaRefused` otherwise. */
export const usable = (schema: object): JsonSchema => {
  if (!isObject(schema)) throw new SchemaRefused([ofWhole(notAnObject(schema))])
  const refused = refusedIn(schema)
  if (refused.length > 0) throw new SchemaRefused(refused)
  return schema
}
