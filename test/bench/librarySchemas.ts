/**
 * Measures what a valid call of a tool costs whose parameters are of another library: to read its arguments, relative to
 * `JSON.parse` and the library alone. All measurements run in one process, in interleaved rounds; medians are printed.
 *
 * Run it with `pnpm bench`, or alone with `node test/bench/librarySchemas.ts`.
 */
import { type StandardSchema } from "@fallible/arguments"
import { Tool } from "@fallible/core"
import * as Arguments from "@fallible/core/Arguments"
import { toStandardJsonSchema } from "@valibot/to-json-schema"
import { type } from "arktype"
import { Effect, Schema } from "effect"
import * as v from "valibot"
import { z } from "zod"
import { median, timed } from "../support/measure.ts"

const text = JSON.stringify({
  customer: "c-17",
  amount: 12.5,
  currency: "EUR",
  notes: ["a", "b"],
  at: { street: "Main Street 7", zip: "12345" }
})

const schemas: Readonly<Record<string, StandardSchema>> = {
  zod: z.object({
    customer: z.string(),
    amount: z.number().min(0),
    currency: z.enum(["EUR", "USD"]),
    notes: z.array(z.string()).optional(),
    at: z.object({ street: z.string(), zip: z.string().regex(/^\d+$/) })
  }),
  Valibot: toStandardJsonSchema(v.object({
    customer: v.string(),
    amount: v.pipe(v.number(), v.minValue(0)),
    currency: v.picklist(["EUR", "USD"]),
    notes: v.optional(v.array(v.string())),
    at: v.object({ street: v.string(), zip: v.pipe(v.string(), v.regex(/^\d+$/)) })
  })),
  ArkType: type({
    customer: "string",
    amount: "number >= 0",
    currency: "'EUR' | 'USD'",
    "notes?": "string[]",
    at: { street: "string", zip: /^\d+$/ }
  })
}

const rounds = 41
const runs = 5_000

let kept: unknown

const rows = Object.entries(schemas).map(([library, parameters]) => {
  const tool = Tool.make(
    "pay",
    { description: "Pays", parameters, success: Schema.Void, sideEffect: "none" },
    () => Effect.void
  )
  const { validate } = parameters["~standard"]
  const alone: Array<number> = []
  const ours: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    alone.push(timed(() => kept = validate(JSON.parse(text)), runs))
    ours.push(timed(() => kept = Arguments.decode(text, tool), runs))
  }
  const [bare, read] = [median(alone) / runs, median(ours) / runs]
  return [library, { "alone, µs": bare.toFixed(2), "decode, µs": read.toFixed(2), ratio: (read / bare).toFixed(2) }]
})

console.log(`A valid call of ${text.length} bytes (${typeof kept}):`)
console.table(Object.fromEntries(rows))
