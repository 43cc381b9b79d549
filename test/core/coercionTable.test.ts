import { assert, describe, it } from "@effect/vitest"
import type { Origin } from "@fallible/arguments"
import { coerce, fits } from "@fallible/arguments/internal"
import { Result, Schema, SchemaRepresentation } from "effect"
import type * as JsonSchema from "effect/JsonSchema"
import { closed } from "../support/coercing.ts"
import { rows, written } from "../support/coercionTable.ts"

// A schema made from JSON Schema needs no services.
const schemaOf = (schema: JsonSchema.JsonSchema) =>
  SchemaRepresentation.fromJsonSchemaDocument({ dialect: "draft-2020-12", schema, definitions: {} }) as Schema.Codec<
    unknown
  >

describe("Coercion", () => {
  describe("the table", () => {
    it.each(rows.map((row) => [row.id, row.category, row] as const))(
      "%s through a schema: %s",
      (_id, _category, row) => {
        const { token, value } = written(row)
        const codec = Schema.toCodecJson(Schema.Struct({ value: schemaOf(row.schema) }))
        const shown = closed({ value: row.schema })
        const origin: Origin = token === undefined ? {} : { numberAt: () => token }
        const result = coerce({ value }, shown, origin)
        const decoded = Schema.decodeUnknownResult(codec, { onExcessProperty: "error" })(result.value)
        const isFit = fits(result.value, shown, result.repairs.length === 0 ? origin : {})
        assert.strictEqual(isFit, row.action !== "refuse")
        if (isFit) assert.deepStrictEqual(Result.getOrThrow(decoded), { value: row.expected })
      }
    )
  })
})
