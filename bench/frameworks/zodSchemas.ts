/** The schemas of tools as zod has them, for the libraries that take it. */
import { z } from "zod"
import type { Kind, PlainTool } from "./tools.ts"

const kinds = {
  string: z.string(),
  "string?": z.string().optional(),
  strings: z.array(z.string()),
  number: z.number(),
  "number?": z.number().optional(),
  "integer?": z.number().int().optional(),
  boolean: z.boolean()
}

const objectOf = (fields: Readonly<Record<string, Kind>>) =>
  z.object(
    Object.fromEntries(
      Object.entries(fields).map(([name, kind]) => [name, typeof kind === "string" ? kinds[kind] : z.enum(kind)])
    )
  )

export const parametersOf = ({ parameters }: PlainTool) => objectOf(parameters)

/** The schema of a tool's result, if it has declared one. */
export const resultOf = ({ result }: PlainTool): z.ZodType<unknown> | undefined =>
  result === undefined ? z.string() : result === "any" ? undefined : objectOf(result)
