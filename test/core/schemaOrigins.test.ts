/** Schemas of three origins that mean the same: a call ends the same way, whichever of them its tool has. */
import { assert, describe, it } from "@effect/vitest"
import { Dispatch, Tool, type ToolFailure, Toolkit } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Parameters from "@fallible/core/Parameters"
import type * as SideEffect from "@fallible/core/SideEffect"
import { toStandardJsonSchema } from "@valibot/to-json-schema"
import { type } from "arktype"
import { Effect, Schema } from "effect"
import * as fc from "fast-check"
import * as v from "valibot"
import { z } from "zod"
import { beginFacts } from "../../packages/core/src/internal/dispatch/recordCalls.ts"
import { recording, whyNotMade } from "../support/foreignTools.ts"
import { filled, meanings, meaningsWithDefaults, originsOf, textsOf, valueOf } from "../support/originSchemas.ts"

/** What is told of a failure, without what differs from call to call. */
const toldOf = (failure: ToolFailure.ToolFailure) => {
  const { evidence: _, ...told } = { evidence: undefined, ...failure }
  return told
}

/** Calls a tool that acts. Returns all that the origin of its schema must not change. */
const endOf = (parameters: Parameters.Parameters<unknown>, text: string, identity?: "all") =>
  Effect.suspend(() => {
    const { keys, seen, tool } = recording(parameters, "idempotent", identity)
    const call = Dispatch.call(Toolkit.make(tool), { id: "1", name: tool.name, arguments: text }, {
      id: "1",
      facts: beginFacts(CallFacts.empty, "scope")
    })
    return Effect.map(call, (outcome) => ({
      params: seen,
      keys,
      repairs: outcome.repairs,
      intent: outcome.intent,
      certainty: outcome.certainty,
      failure: outcome._tag === "Failed" ? toldOf(outcome.failure) : undefined
    }))
  })

const ended = (parameters: Parameters.Parameters<unknown>, text: string, identity?: "all") =>
  Effect.runPromise(endOf(parameters, text, identity))

const keyOf = async (parameters: Parameters.Parameters<unknown>, value: unknown, identity?: "all") => {
  const { failure, keys } = await ended(parameters, JSON.stringify(value), identity)
  assert.isUndefined(failure)
  return keys[0]
}

describe("a call", () => {
  it("ends the same way for the schemas of Effect, Zod and JSON Schema", async () => {
    const ends = new Map<unknown, number>()
    await fc.assert(
      fc.asyncProperty(
        meanings.chain((meaning) =>
          fc.tuple(fc.constant(meaning), fc.array(textsOf(meaning), { minLength: 4, maxLength: 4 }))
        ),
        async ([meaning, texts]) => {
          const { effect, json, zod } = originsOf(meaning)
          for (const text of texts) {
            const own = await ended(effect, text)
            assert.deepStrictEqual(await ended(zod, text), own, `zod: ${text}`)
            assert.deepStrictEqual(await ended(json, text), own, `JSON Schema: ${text}`)
            const end = own.failure?.code ?? (own.repairs === undefined ? "accepted" : "repaired")
            ends.set(end, (ends.get(end) ?? 0) + 1)
          }
        }
      ),
      { numRuns: 80 }
    )
    for (const end of ["accepted", "repaired", "invalid_arguments", "invalid_json"]) {
      assert.isAtLeast(ends.get(end) ?? 0, 20, end)
    }
  })

  it("ends the same way with defaults, which Effect and Zod fill in", async () => {
    await fc.assert(
      fc.asyncProperty(
        meaningsWithDefaults.chain((meaning) =>
          fc.tuple(fc.constant(meaning), fc.array(textsOf(meaning), { minLength: 4, maxLength: 4 }))
        ),
        async ([meaning, texts]) => {
          const { effect, json, zod } = originsOf(meaning)
          for (const text of texts) {
            const { intent: _, keys: __, ...own } = await ended(effect, text)
            const { intent, keys, ...ofZod } = await ended(zod, text)
            assert.deepStrictEqual(ofZod, own, `zod: ${text}`)
            assert.strictEqual(keys.length, own.params.length)
            assert.strictEqual(intent?.key, keys[0])
            // A JSON Schema fills in nothing. Its default is what the service does without the key.
            const { failure, params, repairs } = await ended(json, text)
            assert.deepStrictEqual([failure, repairs], [own.failure, own.repairs], text)
            assert.deepStrictEqual(params.map((value) => filled(meaning, value)), own.params)
          }
        }
      ),
      { numRuns: 60 }
    )
  })
})

describe("an idempotency key", () => {
  it("is one for an omitted default and for the same value written out, if the schema is Effect's", async () => {
    let omitted = 0
    await fc.assert(
      fc.asyncProperty(
        meaningsWithDefaults.chain((meaning) => fc.tuple(fc.constant(meaning), valueOf(meaning))),
        async ([meaning, value]) => {
          const { effect, zod } = originsOf(meaning)
          const whole = filled(meaning, value)
          if (JSON.stringify(whole) !== JSON.stringify(value)) omitted++
          assert.strictEqual(await keyOf(effect, whole), await keyOf(effect, value))
          // What Zod makes up cannot be seen, so nothing is added to what was written.
          const isWhole = JSON.stringify(whole) === JSON.stringify(value)
          assert.strictEqual(await keyOf(zod, whole) === await keyOf(zod, value), isWhole)
        }
      ),
      { numRuns: 60 }
    )
    assert.isAtLeast(omitted, 20)
  })

  it("tells an omitted default from the same value, if the schema is another library's", async () => {
    const defaults: ReadonlyArray<Parameters.Parameters<unknown>> = [
      z.object({ city: z.string(), days: z.int().default(3) }),
      z.object({ city: z.string(), days: z.int().prefault(3) }),
      toStandardJsonSchema(v.object({ city: v.string(), days: v.optional(v.number(), 3) })),
      type({ city: "string", days: "number = 3" })
    ]
    for (const parameters of defaults) {
      const key = await keyOf(parameters, { city: "Rome", days: 3 })
      assert.strictEqual(await keyOf(parameters, { days: "3", city: "Rome" }), key)
      assert.notStrictEqual(await keyOf(parameters, { city: "Rome" }), key)
      assert.notStrictEqual(await keyOf(parameters, { city: "Rome", days: 4 }), key)
    }
  })

  const tidying: Readonly<Record<string, Parameters.Parameters<unknown>>> = {
    "Zod's trim() and toUpperCase()": z.object({ order: z.string().trim().toUpperCase(), n: z.int().default(1) }),
    "Zod's overwrite()": z.object({
      order: z.string().overwrite((text) => text.trim().toUpperCase()),
      n: z.int().default(1)
    }),
    "Zod's preprocess()": z.object({
      order: z.preprocess((text) => String(text).trim().toUpperCase(), z.string()),
      n: z.int().default(1)
    }),
    "Valibot's trim() and toUpperCase()": toStandardJsonSchema(
      v.object({ order: v.pipe(v.string(), v.trim(), v.toUpperCase()), n: v.optional(v.number(), 1) })
    )
  }

  it.each(Object.entries(tidying))("goes by what the handler gets, if %s tidies it", async (_, parameters) => {
    const key = await keyOf(parameters, { order: "O-7" })
    for (const order of ["o-7", " o-7 ", "O-7\n"]) {
      assert.strictEqual(await keyOf(parameters, { order }), key, order)
      assert.notStrictEqual(await keyOf(parameters, { order, n: 2 }), key, order)
    }
    assert.notStrictEqual(await keyOf(parameters, { order: "O-8" }), key)
    for (const field of ["request", "order"]) {
      const inner = Parameters.inField(field, parameters)
      const innerKey = await keyOf(inner, { [field]: { order: "O-7" } })
      assert.strictEqual(await keyOf(inner, { [field]: { order: " o-7" } }), innerKey)
      assert.notStrictEqual(await keyOf(inner, { [field]: { order: "O-8" } }), innerKey)
    }
  })

  it("goes by what was written if the validation is asynchronous: it cannot be asked again at once", async () => {
    const parameters = z.object({ order: z.string().trim().refine(async () => true) })
    const key = await keyOf(parameters, { order: "A" })
    assert.strictEqual(await keyOf(parameters, { order: "A" }), key)
    assert.notStrictEqual(await keyOf(parameters, { order: "A " }), key)
  })

  it("goes by what the handler gets, in lists and in objects", async () => {
    const tags = z.object({
      tags: z.preprocess((tags) => Array.isArray(tags) ? [...new Set(tags)] : tags, z.array(z.string())),
      to: z.array(z.object({ name: z.string().trim() }))
    })
    const key = await keyOf(tags, { tags: ["a", "b"], to: [{ name: "x" }] })
    assert.strictEqual(await keyOf(tags, { tags: ["a", "b", "a"], to: [{ name: "x " }] }), key)
    assert.notStrictEqual(await keyOf(tags, { tags: ["a"], to: [{ name: "x" }] }), key)
    assert.notStrictEqual(await keyOf(tags, { tags: ["a", "b"], to: [{ name: "y" }] }), key)
  })

  it("differs if a transformation moves what was written, so that the handler gets something else", async () => {
    let made = 0
    const moving: ReadonlyArray<Parameters.Parameters<unknown>> = [
      z.object({ a: z.string(), b: z.string() }).transform(({ a, b }) => ({ a: b, c: a })),
      z.object({ a: z.string(), b: z.string() }).transform(({ a, b }) => ({ a: "x", b, c: { a } })),
      z.preprocess(
        (value) => ({ b: "x", ...Object(value), c: Object(value).a, a: "x" }),
        z.object({
          a: z.string(),
          b: z.string(),
          c: z.string().optional()
        })
      ) as z.ZodType,
      z.object({ a: z.string(), b: z.string() }).transform(({ a, b }) => [a, b]),
      z.object({ a: z.string(), b: z.string(), c: z.string().default("") })
        .overwrite(({ a, b }) => ({ a: "x", b, c: a })),
      z.object({ a: z.string().transform((a) => a.slice(0, 1)), b: z.string() })
        .transform(({ a, b }) => ({ a, b, n: ++made }))
    ]
    for (const [index, parameters] of moving.entries()) {
      const key = await keyOf(parameters, { a: "1", b: "2" }, "all")
      assert.strictEqual(await keyOf(parameters, { b: "2", a: "1" }, "all"), key)
      for (const other of [{ a: "2", b: "2" }, { a: "1", b: "1" }, { a: "2", b: "1" }]) {
        assert.notStrictEqual(await keyOf(parameters, other, "all"), key, `${index}`)
      }
    }
  })

  it("is one for a tidied text beside a default that is the time, in whatever moment", async () => {
    let ticks = 0
    const parameters = z.object({
      order: z.string().trim(),
      n: z.int().default(1),
      at: z.int().default(() => Math.floor(++ticks / 4))
    })
    const key = await keyOf(parameters, { order: "A" })
    for (let shift = 0; shift < 8; shift++) {
      ticks += shift
      assert.strictEqual(await keyOf(parameters, { order: " A" }), key)
      const whole = await keyOf(parameters, { order: "A", n: 1 })
      assert.strictEqual(await keyOf(parameters, { order: "A ", n: 1 }), whole)
    }
  })

  it("differs for lists that are sorted, if what moves with their items differs", async () => {
    const pay = z.array(z.object({ to: z.string(), amount: z.number().optional() }))
      .overwrite((list) => list.toSorted((one, other) => one.to < other.to ? -1 : 1))
    const parameters = z.object({ pay })
    assert.notStrictEqual(
      await keyOf(parameters, { pay: [{ to: "b", amount: 9 }, { to: "a" }] }),
      await keyOf(parameters, { pay: [{ to: "a", amount: 9 }, { to: "b" }] })
    )
  })

  it("leaves out what a list is given at random", async () => {
    let made = 0
    const parameters = z.object({
      to: z.array(z.object({ name: z.string().trim(), id: z.int().default(() => ++made) }))
    })
    const key = await keyOf(parameters, { to: [{ name: "x" }] })
    assert.strictEqual(await keyOf(parameters, { to: [{ name: " x" }] }), key)
    assert.notStrictEqual(await keyOf(parameters, { to: [{ name: "x" }, { name: "x" }] }), key)
  })

  it("goes by the text if a validation writes something else each time", async () => {
    let made = 0
    const parameters = z.object({ city: z.string().overwrite((city) => `${city}-${++made}`) })
    const key = await keyOf(parameters, { city: "Rome" })
    assert.strictEqual(await keyOf(parameters, { city: "Rome" }), key)
    assert.notStrictEqual(await keyOf(parameters, { city: "Pisa" }), key)
  })

  it("does not depend on a default that changes, also after a restart", async () => {
    let today = "2026-01-01"
    const parameters = () => z.object({ order: z.string(), date: z.string().default(() => today) })
    const before = parameters()
    const key = await keyOf(before, { order: "A" })
    today = "2026-01-02"
    const after = parameters()
    for (const schema of [before, after]) {
      assert.strictEqual(await keyOf(schema, { order: "A" }), key)
      assert.notStrictEqual(await keyOf(schema, { order: "A", date: "2026-01-01" }), key)
    }
    const written = await keyOf(before, { order: "A", date: "2026-01-01" })
    assert.strictEqual(await keyOf(after, { order: "A", date: "2026-01-01" }), written)
    assert.notStrictEqual(await keyOf(after, { order: "A", date: "2026-01-02" }), written)
  })

  it("is that of the text if a default is the time", async () => {
    let now = 1
    const parameters = z.object({ city: z.string(), at: z.int().default(() => now) })
    const tool = () => keyOf(parameters, { city: "Rome" })
    await tool()
    now = 2
    const key = await tool()
    now = 3
    assert.strictEqual(await tool(), key)
  })

  it("differs for other values, also if a validation changes what it has changed before", async () => {
    const parameters = z.object({ n: z.number().overwrite((n) => n + 1) })
    assert.strictEqual(await keyOf(parameters, { n: 1 }), await keyOf(parameters, { n: "1" }))
    assert.notStrictEqual(await keyOf(parameters, { n: 1 }), await keyOf(parameters, { n: 2 }))
    assert.notStrictEqual(await keyOf(parameters, { n: 2 }), await keyOf(parameters, { n: 3 }))
  })

  it("of transformed values goes by what was written, if all of them are declared to count", async () => {
    const parameters = z.object({ at: z.string().transform((text) => text.length), days: z.int().default(3) })
    const key = await keyOf(parameters, { at: "noon" }, "all")
    assert.strictEqual(await keyOf(parameters, { at: "noon" }, "all"), key)
    assert.notStrictEqual(await keyOf(parameters, { at: "noon", days: 3 }, "all"), key)
    // They decode to the same, but what was written is another text.
    assert.notStrictEqual(await keyOf(parameters, { at: "late" }, "all"), key)
  })

  it("is that of the text if a default is made for each call", async () => {
    let made = 0
    const parameters = z.object({ city: z.string(), reference: z.int().default(() => ++made) })
    const key = await keyOf(parameters, { city: "Rome" })
    assert.strictEqual(await keyOf(parameters, { city: "Rome" }), key)
    assert.notStrictEqual(await keyOf(parameters, { city: "Pisa" }), key)
  })

  it("of a JSON Schema tells an omitted default from the same value: the handler gets what was written", async () => {
    const parameters = Parameters.fromJsonSchema({
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer", default: 3 } }
    })
    assert.deepStrictEqual((await ended(parameters, "{\"city\":\"Rome\"}")).params, [{ city: "Rome" }])
    assert.notStrictEqual(
      await keyOf(parameters, { city: "Rome" }),
      await keyOf(parameters, { city: "Rome", days: 3 })
    )
  })
})

describe("a transformation that cannot be undone", () => {
  const transforming: Readonly<Record<string, Parameters.Parameters<unknown>>> = {
    "a transform of Zod": z.object({ at: z.string().transform((text) => text.length) }),
    "a transform of Zod to the same type": z.object({ at: z.string().transform((text) => text.toUpperCase()) }),
    "a transform of Zod as a whole": z.object({ at: z.string() }).transform(({ at }) => at),
    "a codec of Zod": z.object({ at: z.codec(z.string(), z.int(), { decode: Number, encode: String }) }),
    "a pipe of Zod": z.object({ at: z.string().transform(Number).pipe(z.int()) }),
    "a stringbool of Zod": z.object({ at: z.stringbool() }),
    "a transform in a union of Zod": z.object({ at: z.union([z.null(), z.string().transform(Number)]) }),
    "a transform of Valibot": toStandardJsonSchema(v.object({ at: v.pipe(v.string(), v.transform(Number)) })),
    "a conversion of Valibot": toStandardJsonSchema(v.object({ at: v.pipe(v.string(), v.toNumber()) })),
    "a morph of ArkType": type({ at: type("string").pipe((text) => text.length) }),
    "a parser of ArkType": type({ at: "string.numeric.parse" })
  }

  it.each(Object.entries(transforming))("needs an identity if the tool acts: %s", async (_, parameters) => {
    for (const own of [parameters, Parameters.inField("request", parameters)]) {
      for (const sideEffect of ["idempotent", "non_idempotent", "idempotent_by_key"] as const) {
        assert.match(
          String(whyNotMade(() => recording(own, sideEffect))?.message),
          /^'probe' needs an 'identity', because its parameters transform values, which cannot be undone: .*or "all" if none of them is free text\.$/
        )
        assert.isUndefined(whyNotMade(() => recording(own, sideEffect, "all")))
      }
      assert.isUndefined(whyNotMade(() => recording(own)))
      const definition = { description: "", parameters: own, success: Schema.Void }
      const handler = () => Effect.void
      assert.isDefined(whyNotMade(() => Tool.make("probe", definition, handler)))
      assert.isUndefined(whyNotMade(() => Tool.make("probe", { ...definition, identity: () => "one" }, handler)))
    }
  })

  const kept: Readonly<Record<string, Parameters.Parameters<unknown>>> = {
    "refinements, brands and defaults of Zod": z.object({
      at: z.string().trim().min(2).refine((text) => text !== "no").brand<"At">().readonly(),
      n: z.number().default(3).optional(),
      s: z.looseObject({ a: z.int() }).catchall(z.string())
    }),
    "checks, brands and defaults of Valibot": toStandardJsonSchema(v.object({
      at: v.pipe(v.string(), v.trim(), v.check((text) => text !== "no"), v.brand("At")),
      n: v.optional(v.number(), 3)
    })),
    "narrowed types and defaults of ArkType": type({
      at: type("string").narrow((text) => text !== "no"),
      n: "number = 3"
    }),
    "a JSON Schema": Parameters.fromJsonSchema({
      type: "object",
      properties: { at: { type: "string", default: "a" } }
    }),
    "a transformation of Effect, which can be undone": Schema.Struct({ at: Schema.Date })
  }

  it.each(Object.entries(kept))("is not seen in %s", (_, parameters) => {
    const effects: ReadonlyArray<SideEffect.SideEffect> = ["none", "idempotent", "non_idempotent"]
    for (const own of [parameters, Parameters.inField("request", parameters)]) {
      for (const sideEffect of effects) assert.isUndefined(whyNotMade(() => recording(own, sideEffect))?.message)
    }
  })
})
