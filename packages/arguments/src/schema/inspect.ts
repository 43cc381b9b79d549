/**
 * What is checked of a JSON Schema, what is not, and what nobody can check: never passed over in silence.
 */
import { isObject, type JsonSchema, type Path } from "../json.ts"
import { memoized } from "../memo.ts"
import { excerpt } from "../text/excerpt.ts"
import { pathOf, type Place } from "../value.ts"
import { formats } from "./check.ts"
import { documentOf } from "./document.ts"
import { checked, contents, isAnnotation, isOf, schemasIn } from "./keyword.ts"
import { patternOf } from "./pattern.ts"

/** A keyword in a schema. */
export interface KeywordAt {
  /** Where in the schema the keyword stands: keys and indices from the root. */
  readonly path: Path
  readonly keyword: string
  /** What is the matter with it, in a few words. */
  readonly why: string
}

/** What is to be known of a schema before anything is held against it. */
export interface Inspection {
  /** What is not checked: a value that breaks it is accepted all the same. */
  readonly unchecked: ReadonlyArray<KeywordAt>
  /** What makes the schema useless: `fit` and `decode` throw a `SchemaRefused` for it. */
  readonly refused: ReadonlyArray<KeywordAt>
}

/**
 * Finds what is not checked of a JSON Schema, and what makes it useless.
 *
 * When to use: when a tool is made of a schema that came from elsewhere. Log what is not checked, and refuse the tool if the schema is refused.
 *
 * Not checked are keywords that nobody here knows, formats other than `date` and `date-time`, patterns that cannot be matched in linear time (back references,
 * lookarounds but at the start), and `$dynamicRef`. Refused are keywords with the wrong content (`type: "int"`, `required: true`), and references that lead out
 * of the schema or nowhere.
 *
 * @example
 * ```ts
 * import { inspect } from "@fallible/arguments"
 *
 * inspect({ type: "string", format: "email" }).unchecked[0]?.why // => "the format \"email\""
 * inspect({ minimum: "1" }).refused[0]?.why // => "expected a number, got \"1\""
 * ```
 */
export const inspect: (schema: JsonSchema) => Inspection = memoized((root) => {
  const unchecked: Array<KeywordAt> = []
  const refused: Array<KeywordAt> = []
  const seen = new Set<unknown>()
  // Places, and not paths: a schema may be as deep as it is large.
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

// A dialect of one's own may say something else by the same keywords.
const dialects = /^https?:\/\/(?:json-schema\.org\/|spec\.openapis\.org\/)/

const verdictOn = (
  keyword: string,
  value: unknown,
  schema: JsonSchema,
  at: Place | undefined,
  resolve: (schema: JsonSchema) => unknown
): Verdict => {
  const content = checked.get(keyword)
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
  // There, what is passed over would refuse a value and not accept it.
  const isInverse = pathOf(at).some((key) => key === "not" || key === "if" || key === "oneOf" || key === "contains")
  return [isInverse ? "refused" : "unchecked", `the pattern ${excerpt(unmatched, 40)}`]
}

/** A schema that nothing can be held against. */
export class SchemaRefused extends TypeError {
  /** What makes it useless. */
  readonly keywords: ReadonlyArray<KeywordAt>

  constructor(keywords: ReadonlyArray<KeywordAt>) {
    const [first] = keywords
    const others = keywords.length > 1 ? `, and ${keywords.length - 1} more` : ""
    super(`The JSON Schema cannot be used: ${first?.path.join("/") ?? ""}: ${first?.why ?? ""}${others}.`)
    this.name = "SchemaRefused"
    this.keywords = keywords
  }
}

/** The same schema, or a `SchemaRefused` thrown. */
export const usable = (schema: JsonSchema): JsonSchema => {
  if (!isObject(schema)) {
    throw new SchemaRefused([{ path: [], keyword: "", why: `expected an object, got ${excerpt(schema, 40)}` }])
  }
  const { refused } = inspect(schema)
  if (refused.length > 0) throw new SchemaRefused(refused)
  return schema
}
