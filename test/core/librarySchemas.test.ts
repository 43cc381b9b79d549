/** Tools with schemas of Zod, Valibot and ArkType: what the model is shown, and what the handler gets. */
import { assert, describe, it } from "@effect/vitest"
import type { StandardSchema } from "@fallible/arguments"
import { Tool } from "@fallible/core"
import * as Arguments from "@fallible/core/Arguments"
import { Effect, Schema } from "effect"
import { endingOf, whyNotMade } from "../support/foreignTools.ts"
import { arkSchemas, type LibrarySchema, valibotSchemas, zodSchemas } from "../support/librarySchemas.ts"
import { closedParts } from "../support/shownSchemas.ts"

const make = (schema: StandardSchema) =>
  Tool.make(
    "probe",
    { description: "", parameters: schema, success: Schema.Void, sideEffect: "none" },
    () => Effect.void
  )

/** What a library itself makes of a value. */
const parsedBy = (schema: StandardSchema, value: unknown) =>
  Effect.promise(async () => schema["~standard"].validate(value))

/** What a library writes of the values before validation. Valibot writes what it can if it is told to. */
const exportOf = (schema: StandardSchema): object => {
  const { input } = schema["~standard"].jsonSchema
  const target = "draft-2020-12"
  try {
    return asJson(input({ target }))
  } catch {
    return asJson(input({ target, libraryOptions: { errorMode: "ignore" } }))
  }
}

const asJson = (written: object): object => JSON.parse(JSON.stringify(written))

const judge = ({ invalid, refused, schema, valid }: LibrarySchema) =>
  Effect.gen(function*() {
    const why = whyNotMade(() => make(schema))
    if (why !== undefined || refused !== undefined) return assert.match(String(why?.message), refused ?? /^$/)
    closedParts(Arguments.jsonSchema(make(schema).parameters), exportOf(schema))
    for (const value of valid) {
      const ending = yield* endingOf(schema, JSON.stringify(value))
      const own = yield* parsedBy(schema, structuredClone(value))
      assert.isUndefined(own.issues, JSON.stringify(own))
      assert.deepStrictEqual(
        [ending.detail, ending.repairs, ending.params],
        ["", [], own.issues === undefined ? own.value : undefined]
      )
    }
    for (const value of invalid) {
      assert.isFalse((yield* endingOf(schema, JSON.stringify(value))).isAccepted, JSON.stringify(value))
    }
  })

describe.each([["zod", zodSchemas], ["valibot", valibotSchemas], ["arktype", arkSchemas]] as const)(
  "%s:",
  (_, schemas) => {
    it.effect.each(Object.entries(schemas))("%s", ([, sample]) => judge(sample))
  }
)
