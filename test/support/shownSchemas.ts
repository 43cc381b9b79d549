/** What a model is shown of a JSON Schema, beside what its author wrote. */
import { assert } from "@effect/vitest"
import type { JsonSchema } from "@fallible/arguments"
import { partAt } from "@fallible/arguments/internal"

/**
 * Checks that a schema is shown as its author wrote it, but for what closing adds, a type at the root, and the target of a
 * reference there. Returns how many objects were closed.
 */
export const closedParts = (shown: object, written: object): number => {
  let closed = 0
  const compare = (shown: unknown, written: unknown, path: string): void => {
    if (!isRecord(shown) || !isRecord(written)) {
      if (Array.isArray(shown) && Array.isArray(written)) {
        assert.strictEqual(shown.length, written.length, path)
        shown.forEach((part, index) => compare(part, written[index], `${path}/${index}`))
      } else assert.deepStrictEqual(shown, written, path)
      return
    }
    const isClosed = shown["additionalProperties"] === false && !("additionalProperties" in written)
    if (isClosed) closed++
    const { additionalProperties: _, ...rest } = shown
    const kept = isClosed ? rest : shown
    assert.deepStrictEqual(Object.keys(kept).toSorted(), Object.keys(written).toSorted(), path)
    for (const [key, part] of Object.entries(kept)) compare(part, written[key], `${path}/${key}`)
  }
  compare(shown, withType(withoutReference(written)), "#")
  return closed
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const withoutReference = (written: object): object => {
  const { $ref, ...rest }: { readonly $ref?: unknown } = { ...written }
  if (typeof $ref !== "string") return written
  const target = partAt(written, $ref.split("/").slice(1))
  return isRecord(target) ? withoutReference({ ...target, ...rest }) : written
}

const withType = (written: object): object =>
  "anyOf" in written || "oneOf" in written || "allOf" in written ? written : { ...written, type: "object" }

/**
 * Returns a schema that allows the same values without keys that are not declared, in the words of JSON Schema itself:
 * `unevaluatedProperties: false`. Schemas that apply to a part of a value stay as they are.
 *
 * @param root its references are `#`, and those into `$defs`
 */
export const onlyDeclared = (root: JsonSchema): JsonSchema => {
  const { $defs, ...whole } = root
  const definitions = Object.entries(isRecord($defs) ? $defs : {})
  return {
    ...strictly(whole),
    $defs: {
      whole: asWritten(whole),
      ...Object.fromEntries(
        definitions.flatMap(([name, of]) => [[name, asWritten(of)], [`strict ${name}`, strict(of)]])
      )
    }
  }
}

/** A copy for a place in which nothing is made stricter. */
const asWritten = (schema: unknown): unknown =>
  Array.isArray(schema)
    ? schema.map(asWritten)
    : isRecord(schema)
    ? Object.fromEntries(
      Object.entries(schema).map((
        [key, part]
      ) => [key, key === "$ref" && part === "#" ? "#/$defs/whole" : asWritten(part)])
    )
    : schema

const strict = (schema: unknown): unknown => isRecord(schema) ? strictly(schema) : schema

const strictly = (schema: JsonSchema): JsonSchema => {
  const { $ref, ...rest } = schema
  if (typeof $ref === "string") return { ...rest, $ref: $ref.replace("#/$defs/", "#/$defs/strict ") }
  const isUnion = rest["properties"] === undefined
  const made = Object.fromEntries(
    Object.entries(schema).map(([key, part]) => [
      key,
      isRecord(part) && (key === "properties" || key === "patternProperties")
        ? Object.fromEntries(Object.entries(part).map(([name, inner]) => [name, strict(inner)]))
        : key === "prefixItems" || isUnion && (key === "anyOf" || key === "oneOf")
        ? [part].flat().map(strict)
        : ["additionalProperties", "items"].includes(key)
        ? strict(part)
        : asWritten(part)
    ])
  )
  const isOpen = isRecord(rest["properties"]) && Object.keys(rest["properties"]).length > 0 &&
    rest["additionalProperties"] === undefined && rest["unevaluatedProperties"] === undefined
  return isOpen ? { ...made, unevaluatedProperties: false } : made
}
