/** The schemas of tools as Effect has them, for the libraries that take it. */
import { Schema } from "../../test/support/effect.ts"
import type { Kind, PlainTool } from "./tools.ts"

const kinds = {
  string: Schema.String,
  "string?": Schema.optionalKey(Schema.String),
  strings: Schema.Array(Schema.String),
  number: Schema.Finite,
  "number?": Schema.optionalKey(Schema.Finite),
  "integer?": Schema.optionalKey(Schema.Int),
  boolean: Schema.Boolean
}

const structOf = (fields: Readonly<Record<string, Kind>>) =>
  Schema.Struct(
    Object.fromEntries(
      Object.entries(fields).map(([name, kind]) => [
        name,
        typeof kind === "string" ? kinds[kind] : Schema.Literals(kind)
      ])
    )
  )

export const parametersOf = ({ parameters }: PlainTool) => structOf(parameters)

export const resultOf = ({ result }: PlainTool): Schema.Codec<unknown> =>
  result === undefined ? Schema.String : result === "any" ? Schema.Unknown : structOf(result)
