/** The table of coercions: each row has a value, a schema, and the expected result. */
import type { Schema } from "effect"
import type * as JsonSchema from "effect/JsonSchema"
import { readFileSync } from "node:fs"

interface Row {
  readonly id: string
  readonly schema: JsonSchema.JsonSchema
  readonly input_value: Schema.Json
  readonly action: "accept" | "coerce" | "coerce_note" | "refuse"
  readonly expected: Schema.Json
  readonly category: string
}

export const rows: ReadonlyArray<Row> = JSON.parse(
  readFileSync(new URL("../corpora/coercion.json", import.meta.url), "utf8")
)

export const written = ({ input_value: input }: Row): { readonly value: Schema.Json; readonly token?: string } => {
  if (typeof input !== "object" || input === null || !("$raw" in input)) return { value: input }
  const token = input["$raw"]
  if (typeof token !== "string") return { value: input }
  return { value: JSON.parse(token), token }
}
