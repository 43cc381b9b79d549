/** Tools with schemas of Zod, Valibot and ArkType: what the model is shown, and what the handler gets. */
import { assert, describe, it } from "@effect/vitest"
import type { Json, StandardSchema } from "@fallible/arguments"
import { closedSchema, coerce, fits } from "@fallible/arguments/internal"
import { Tool } from "@fallible/core"
import * as Arguments from "@fallible/core/Arguments"
import { Effect, Schema } from "effect"
import * as fc from "fast-check"
import { z } from "zod"
import { endingOf, whyNotMade } from "../support/foreignTools.ts"
import { arkSchemas, type LibrarySchema, valibotSchemas, zodSchemas } from "../support/librarySchemas.ts"
import { jsonSchemas, values, zodSchemas as randomZodSchemas } from "../support/randomSchemas.ts"
import { fittingValues } from "../support/schemaValues.ts"
import { closedParts, onlyDeclared } from "../support/shownSchemas.ts"

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

describe("a bound that a library judges more kindly than its JSON Schema", () => {
  const keys = Array.from({ length: 30 }, (_, index) => `key${index}`)
  const code = z.string().regex(/^[a-z]+$/i)
  const schema = z.object({
    ...Object.fromEntries(keys.map((key) => [key, code])),
    list: z.array(code),
    last: z.object({ n: z.coerce.number().optional() })
  })
  const value = {
    ...Object.fromEntries(keys.map((key) => [key, "ABC"])),
    list: Array.from({ length: 1_500 }, () => "ABC"),
    last: {}
  }

  it.effect("is the library's to judge, however often it is broken", () =>
    Effect.gen(function*() {
      const { detail, params } = yield* endingOf(schema, JSON.stringify(value))
      assert.deepStrictEqual([detail, params], ["", value])
      const { isAccepted } = yield* endingOf(schema, JSON.stringify({ ...value, key7: "A-C" }))
      assert.isFalse(isAccepted)
    }))

  it.effect("lets nothing else pass", () =>
    Effect.gen(function*() {
      for (
        const other of [{ surplus: 1 }, { last: { surplus: 1 } }, { last: { n: [] } }, { last: { n: null } }, {
          list: [[]]
        }]
      ) {
        assert.isFalse(
          (yield* endingOf(schema, JSON.stringify({ ...value, ...other }))).isAccepted,
          JSON.stringify(other)
        )
      }
    }))
})

/** Writes the numbers of a value as texts, as many models do. */
const withTexts = (value: Json): Json =>
  JSON.parse(JSON.stringify(value, (_, part: unknown) => typeof part === "number" ? String(part) : part))

describe("random Zod schemas", () => {
  it("are refused with a reason, or shown as Zod writes them, and read as Zod reads them", async () => {
    const counts = { refused: 0, closed: 0, accepted: 0, repaired: 0, unfit: 0 }
    await fc.assert(
      fc.asyncProperty(randomZodSchemas, fc.array(values, { minLength: 4, maxLength: 4 }), async (inner, values) => {
        const schema = z.object({ v: inner })
        const why = whyNotMade(() => make(schema))
        if (why !== undefined) {
          counts.refused++
          return assert.match(
            why.message,
            /^The parameters of 'probe' cannot be used: .*zod cannot write it as a JSON Schema: ./
          )
        }
        const shown = Arguments.jsonSchema(make(schema).parameters)
        counts.closed += closedParts(shown, exportOf(schema))
        const fitting = fittingValues(shown, 4)
        for (const value of [...fitting, ...fitting.map(withTexts), ...values.map((value) => ({ v: value }))]) {
          const ending = await Effect.runPromise(endingOf(schema, JSON.stringify(value)))
          const own = schema.safeParse(structuredClone(value))
          const doesFit = fits(value, shown)
          if (ending.isAccepted && ending.repairs.length === 0) {
            counts.accepted++
            assert.deepStrictEqual([own.success, ending.params], [true, own.data])
          } else if (ending.isAccepted) {
            counts.repaired++
            const read = schema.safeParse(coerce(value, shown).value)
            assert.deepStrictEqual([read.success, ending.params], [true, read.data])
          } else {
            counts.unfit++
            assert.isFalse(doesFit && own.success, JSON.stringify([value, ending]))
          }
        }
      }),
      { numRuns: 150 }
    )
    assert.isTrue(
      counts.refused > 10 && counts.closed > 100 && counts.accepted > 150 && counts.repaired > 10 && counts.unfit > 100,
      JSON.stringify(counts)
    )
  })
})

describe("closing", () => {
  const numRuns = 300

  it("narrows: what fits the closed schema fits its author's", () => {
    let closed = 0
    let fit = 0
    fc.assert(
      fc.property(jsonSchemas, fc.array(values, { minLength: 5, maxLength: 5 }), (schema, values) => {
        const shown = closedSchema(schema)
        closed += closedParts(shown, schema)
        for (const value of [...values, ...fittingValues(shown, 4)]) {
          if (!fits(value, shown)) continue
          fit++
          assert.isTrue(fits(value, schema), JSON.stringify(value))
        }
      }),
      { numRuns }
    )
    assert.isAbove(closed, numRuns)
    assert.isAbove(fit, numRuns)
  })

  it("refuses nothing but keys that are not declared", () => {
    let fit = 0
    fc.assert(
      fc.property(jsonSchemas, fc.array(values, { minLength: 5, maxLength: 5 }), (schema, values) => {
        const shown = closedSchema(schema)
        const declared = onlyDeclared(schema)
        for (const value of [...values, ...fittingValues(declared, 4)]) {
          if (!fits(value, declared) || !fits(value, schema)) continue
          fit++
          assert.isTrue(fits(value, shown), JSON.stringify([value, shown, declared]))
        }
      }),
      { numRuns }
    )
    assert.isAbove(fit, numRuns)
  })

  it("leaves open the members of a oneOf that may fit the same value", () => {
    const object = (...keys: ReadonlyArray<string>) => ({
      type: "object",
      properties: Object.fromEntries(keys.map((key) => [key.replace("!", ""), { type: "string" }])),
      required: keys.filter((key) => key.endsWith("!")).map((key) => key.replace("!", ""))
    })
    const tagged = (tag: string) => ({
      type: "object",
      properties: { kind: { const: tag }, a: { type: "string" } },
      required: ["kind"]
    })
    const closed = (...oneOf: ReadonlyArray<object>) => {
      const { oneOf: members } = closedSchema({ oneOf })
      return [members].flat().map((member) => Object(member)["additionalProperties"])
    }
    // The value { a: "x" } fits both, so it is not valid. If they were closed, it would be.
    assert.deepStrictEqual(closed(object("a", "b"), object("a", "c")), [undefined, undefined])
    assert.deepStrictEqual(closed(object("a!", "b"), object("a!")), [undefined, undefined])
    assert.deepStrictEqual(closed(object("a!"), object("b!")), [false, false])
    assert.deepStrictEqual(closed(tagged("x"), tagged("y")), [false, false])
    assert.deepStrictEqual(closed(tagged("x"), { type: "string" }, { type: "null" }), [false, undefined, undefined])
  })
})
