/**
 * Reports which keywords of a JSON Schema are not checked, and which make the schema unusable. No keyword is
 * ignored silently.
 */
import { isObject, type JsonSchema, type Path } from "../json.ts"
import { memoize } from "../memo.ts"
import { excerpt } from "../text/excerpt.ts"
import { pathOf, type Place } from "../value.ts"
import { formats } from "./check.ts"
import { documentOf } from "./document.ts"
import { checkedKeywords, contents, isAnnotation, isOf, schemasIn } from "./keyword.ts"
import { patternOf } from "./pattern.ts"

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
 * - formats other than `date` and `date-time`
 * - patterns that cannot be matched in linear time, such as those with back references
 *
 * Refused:
 *
 * - keywords with the wrong content (`type: "int"`, `required: true`)
 * - references that lead out of the schema or nowhere
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
export const inspect: (schema: JsonSchema) => Inspection = memoize((root) => {
  const unchecked: Array<KeywordAt> = []
  const refused: Array<KeywordAt> = []
  const seen = new Set<unknown>()
  // The queue has places, which are cheaper than paths: a schema may be nested very deeply.
  const queue: Array<readonly [place: Place | undefined, schema: JsonSchema]> = [[undefined, root]]
  const { resolve } = documentOf(root)
  for (const [at, schema] of queue) {
    if (seen.has(schema)) continue
    seen.add(schema)
    for (const [keyword, value] of Object.entries(schema)) {
      const [list, why] = verdictOn(keyword, value, schema, at, resolve)
      if (list !== "fine") {
        ;(list === "refused" ? refused : unchecked).push({ path: [...pathOf(at), keyword], keyword, why })
      }
    }
    const target = typeof schema["$ref"] === "string" ? resolve(schema) : undefined
    if (isObject(target)) queue.push([{ above: at, key: "$ref" }, target])
    for (const [path, inner] of schemasIn(schema)) {
      const place = path.reduce<Place | undefined>((above, key) => ({ above, key }), at)
      if (isObject(inner)) queue.push([place, inner])
    }
  }
  return { unchecked, refused }
})

type Verdict = readonly [list: "fine" | "unchecked" | "refused", why: string]

const fine: Verdict = ["fine", ""]

// The known dialects. Other dialects may give the same keywords a different meaning.
const dialects = /^https?:\/\/(?:json-schema\.org\/|spec\.openapis\.org\/)/

const verdictOn = (
  keyword: string,
  value: unknown,
  schema: JsonSchema,
  at: Place | undefined,
  resolve: (schema: JsonSchema) => unknown
): Verdict => {
  const content = checkedKeywords.get(keyword)
  if (keyword === "$schema" && !dialects.test(String(value))) return ["unchecked", `the dialect ${excerpt(value, 80)}`]
  if (value === undefined || isAnnotation(keyword)) return fine
  if (content === undefined) return ["unchecked", "a keyword that is not known"]
  if (!isOf[content](value)) return ["refused", `expected ${contents[content]}, got ${excerpt(value, 40)}`]
  if (keyword === "$ref") {
    const target = resolve(schema)
    if (target === undefined) return ["refused", "it leads nowhere in this schema"]
    if (!isObject(target) && typeof target !== "boolean") return ["refused", "it leads to what is not a schema"]
  }
  if (keyword === "format" && !formats.has(value) && value !== "password") {
    return ["unchecked", `the format ${excerpt(value, 40)}`]
  }
  const patterns = typeof value === "string" && keyword === "pattern"
    ? [value]
    : keyword === "patternProperties"
    ? Object.keys(value ?? {})
    : []
  const unmatched = patterns.find((pattern) => patternOf(pattern) === undefined)
  if (unmatched === undefined) return fine
  // In these positions, ignoring a pattern would refuse valid values instead of accepting invalid ones.
  const isInverse = pathOf(at).some((key) => key === "not" || key === "if" || key === "oneOf" || key === "contains")
  return [isInverse ? "refused" : "unchecked", `the pattern ${excerpt(unmatched, 40)}`]
}

/** The error that is thrown for a JSON Schema that cannot be used. */
export class SchemaRefused extends TypeError {
  /** The keywords that make the schema unusable. */
  readonly keywords: ReadonlyArray<KeywordAt>

  constructor(keywords: ReadonlyArray<KeywordAt>) {
    const [first] = keywords
    const others = keywords.length > 1 ? `, and ${keywords.length - 1} more` : ""
    super(`The JSON Schema cannot be used: ${first?.path.join("/") ?? ""}: ${first?.why ?? ""}${others}.`)
    this.name = "SchemaRefused"
    this.keywords = keywords
  }
}

/** Returns the schema itself if it can be used. Throws a `SchemaRefused` otherwise. */
export const usable = (schema: JsonSchema): JsonSchema => {
  if (!isObject(schema)) {
    throw new SchemaRefused([{ path: [], keyword: "", why: `expected an object, got ${excerpt(schema, 40)}` }])
  }
  const { refused } = inspect(schema)
  if (refused.length > 0) throw new SchemaRefused(refused)
  return schema
}
