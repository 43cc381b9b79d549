/** What a model is shown of a JSON Schema, beside what its author wrote. */
import { assert } from "@effect/vitest"
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
    const { additionalProperties, ...rest } = shown
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
