/*
 * Tools of the AI SDK with schemas of all kinds: `execute` gets what the AI SDK would give it, an input that the AI SDK refuses is
 * refused, and what cannot come in says why.
 */
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@fallible/ai-sdk"
import { inspect, type Json, type JsonSchema } from "@fallible/arguments"
import { fits } from "@fallible/arguments/internal"
import { asSchema, type Tool, tool } from "ai"
import { Effect } from "effect"
import { z } from "zod"
import { callOf, whyNotMade } from "../support/foreignTools.ts"
import { brokenValidations, type ManyTool, manyTools, results } from "../support/manyTools.ts"

/** Our tool, and what its `execute` gets. */
const probing = (theirs: Tool) => {
  const seen: Array<unknown> = []
  const execute = async (input: unknown) => void seen.push(input)
  const toolkit = AiSdk.toolkit({ probe: { ...theirs, execute } }, { probe: { sideEffect: "none" } })
  return { tool: [...toolkit.tools.values()][0]!, definition: toolkit.definitions[0]!, seen }
}

/** What the AI SDK gives `execute`. */
const theirsOf = ({ inputSchema }: Tool, input: Json) =>
  Effect.promise(async (): Promise<{ readonly isValid: boolean; readonly value: unknown }> => {
    const { validate } = asSchema<unknown>(inputSchema)
    const result = await validate?.(input)
    if (result === undefined) return { isValid: true, value: input }
    return { isValid: result.success, value: result.success ? result.value : result.error }
  })

const judge = ({ invalid, isKinder = false, onlyHere, refused, tool: theirs, valid }: ManyTool) =>
  Effect.gen(function*() {
    if (refused !== undefined) {
      const why = whyNotMade(() => probing(theirs))?.message ?? "it came in"
      assert.include(why, "'probe'")
      return assert.include(why, refused)
    }
    const { definition, seen, tool } = probing(theirs)
    assertShown(definition.parameters)
    if (valid !== undefined) {
      assert.strictEqual(fits(valid, definition.parameters), !isKinder, JSON.stringify(definition.parameters))
      const outcome = yield* callOf(tool, JSON.stringify(valid))
      assert.deepStrictEqual(outcome._tag === "Failed" ? outcome.failure.detail : "", "")
      assert.isUndefined(outcome.repairs)
      const own = yield* theirsOf(theirs, structuredClone(valid))
      assert.isTrue(own.isValid)
      assert.deepStrictEqual(seen, [own.value])
    }
    if (invalid === undefined) return
    const count = seen.length
    const outcome = yield* callOf(tool, JSON.stringify(invalid))
    assert.match(outcome._tag === "Failed" ? outcome.failure.code : outcome._tag, /^invalid_(?:arguments|json)$/)
    assert.strictEqual(seen.length, count)
    const own = yield* theirsOf(theirs, structuredClone(invalid))
    assert.strictEqual(own.isValid, onlyHere !== undefined, JSON.stringify(own))
  })

/** What every provider demands of the parameters of a tool. */
const assertShown = (parameters: JsonSchema): void => {
  assert.strictEqual(parameters["type"], "object")
  for (const keyword of ["anyOf", "oneOf", "allOf", "not", "enum"]) assert.notProperty(parameters, keyword)
  assert.deepStrictEqual(JSON.parse(JSON.stringify(parameters)), parameters)
  assert.deepStrictEqual(inspect(parameters).refused, [])
}

describe.each(Object.entries(manyTools))("%s:", (_, table) => {
  it.effect.each(Object.entries(table))("%s", ([, row]) => judge(row))
})

describe("a union as a whole", () => {
  const union = z.union([z.object({ id: z.int(), at: z.string() }), z.object({ id: z.string(), by: z.string() })])

  it.effect("is shown as one object, and judged as it is", () =>
    Effect.gen(function*() {
      const { definition, tool } = probing({ inputSchema: union })
      assert.deepInclude(definition.parameters, {
        type: "object",
        properties: {
          id: {
            anyOf: [{ type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }, {
              type: "string"
            }]
          },
          at: { type: "string" },
          by: { type: "string" }
        },
        required: ["id"],
        additionalProperties: false
      })
      const outcome = yield* callOf(tool, "{\"id\":\"a\",\"at\":\"b\"}")
      assert.include(outcome._tag === "Failed" ? outcome.failure.detail : "", "'id': expected integer, got")
    }))

  it("needs no identity if it acts: it changes no values", () => {
    AiSdk.toolkit({ charge: tool({ inputSchema: union, execute: () => 1 }) })
  })
})

describe("results", () => {
  it.effect.each(Object.entries(results))("%s", ([, [outputSchema, result, told]]) =>
    Effect.gen(function*() {
      const theirs = tool({ inputSchema: z.object({}), outputSchema, execute: () => result })
      const [probe] = AiSdk.toolkit({ probe: theirs }, { probe: { sideEffect: "none" } }).tools.values()
      const outcome = yield* callOf(probe!, "{}")
      assert.deepStrictEqual(outcome._tag === "Completed" && outcome.value, told)
    }))

  it("whose schema transforms values cannot be known", () => {
    const theirs = tool({ inputSchema: z.object({}), outputSchema: z.string().transform(Number), execute: () => 1 })
    assert.include(whyNotMade(() => AiSdk.toolkit({ theirs }))?.message, "does not say what a result is")
    AiSdk.toolkit({ theirs }, { theirs: { success: z.number() } })
  })
})

describe("a validation that is broken", () => {
  it.effect.each(Object.entries(brokenValidations))(
    "ends the call before `execute`: it %s",
    ([, theirs]) =>
      Effect.gen(function*() {
        const { seen, tool } = probing(theirs)
        const outcome = yield* callOf(tool, "{\"n\":1}")
        assert.notStrictEqual(outcome._tag, "Completed")
        assert.deepStrictEqual(seen, [])
      })
  )
})

describe("all of them", () => {
  it("are many, and nearly all come in", () => {
    const rows = Object.values(manyTools).flatMap((table) => Object.values(table))
    const refused = rows.filter((row) => row.refused !== undefined)
    assert.isAtLeast(rows.length, 250)
    assert.isAtMost(refused.length, rows.length / 8)
  })
})
