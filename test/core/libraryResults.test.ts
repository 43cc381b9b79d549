/** Results of tools, and the secrets of their arguments, by the schemas of other libraries. */
import { assert, describe, it } from "@effect/vitest"
import type { StandardSchema } from "@fallible/arguments"
import { Agent, Tool, Toolkit } from "@fallible/core"
import * as Parameters from "@fallible/core/Parameters"
import * as Rendering from "@fallible/core/Rendering"
import { ScriptedModel } from "@fallible/testing"
import { toStandardJsonSchema } from "@valibot/to-json-schema"
import { type } from "arktype"
import { Effect, Schema, Stream } from "effect"
import * as v from "valibot"
import { z } from "zod"
import { callOf, whyNotMade } from "../support/foreignTools.ts"
import { logging } from "../support/illTyped.ts"
import type { Untyped } from "../support/nonsense.ts"

const secret = "hunter2-0123"

/** Returns what a model is told of a tool's result. */
const told = (success: StandardSchema, result: unknown) => {
  const tool = Tool.make("find", { description: "", success, sideEffect: "none" }, () => Effect.succeed(result))
  return Effect.map(callOf(tool, "{}"), (outcome) => Rendering.json(outcome, { id: "1", name: "find" }))
}

describe("a result", () => {
  const cents: Readonly<Record<string, StandardSchema>> = {
    Zod: z.object({ price: z.int().transform((euros) => euros * 100).pipe(z.int()) }),
    "Zod's codec": z.object({
      price: z.codec(z.int(), z.int(), { decode: (euros) => euros * 100, encode: (cents) => cents / 100 })
    }),
    Valibot: toStandardJsonSchema(
      v.object({ price: v.pipe(v.number(), v.transform((euros) => euros * 100), v.number()) })
    ),
    ArkType: type({ price: type("number").pipe((euros) => euros * 100).to("number") })
  }

  it.effect.each(Object.entries(cents))(
    "is neither computed nor shown if %s computes it",
    ([, success]) =>
      Effect.gen(function*() {
        const { logged, value } = yield* logging(told(success, { price: 17 }))
        assert.include(value, "\"code\":\"defect\"")
        assert.notInclude(value, "17")
        assert.include(
          logged.join(),
          "The success schema computes values. Declare the result that the handler returns."
        )
      })
  )

  it.effect("that a library would hide is not shown", () =>
    Effect.gen(function*() {
      const success = z.object({
        card: z.string().overwrite((card) => card.slice(-4).padStart(card.length + 1, "*")),
        name: z.string()
      })
      const { value } = yield* logging(told(success, { card: "4111222233334444", name: "Rex", password: secret }))
      assert.notInclude(value, "4111")
      assert.notInclude(value, secret)
    }))

  it.effect("is tidied: keys are left out, texts are trimmed, defaults are filled in", () =>
    Effect.gen(function*() {
      const success = z.object({ name: z.string().trim(), stars: z.int().default(3) })
      const result = { name: " Rex ", password: secret }
      assert.strictEqual(yield* told(success, result), "{\"name\":\"Rex\",\"stars\":3}")
      assert.deepStrictEqual(result, { name: " Rex ", password: secret })
    }))

  it.effect("may have a schema whose parts are described twice", () =>
    Effect.gen(function*() {
      const success = z.object({ name: z.string().pipe(z.string().describe("The name")).meta({ title: "Name" }) })
      assert.strictEqual(yield* told(success, { name: "Rex" }), "{\"name\":\"Rex\"}")
    }))

  it.effect("hides its secrets, also beside what JSON Schema cannot say", () =>
    Effect.gen(function*() {
      const pin = z.string().meta({ writeOnly: true })
      for (
        const success of [z.object({ at: z.date(), pin }), z.object({ at: z.date(), in: z.array(z.object({ pin })) })]
      ) {
        const result = { at: new Date(0), pin: secret, in: [{ pin: secret }] }
        const text = yield* told(success, result)
        assert.notInclude(text, secret)
        assert.include(text, "1970-01-01T00:00:00.000Z")
      }
    }))

  it.effect("is refused in the library's words", () =>
    Effect.gen(function*() {
      const success = z.object({ at: z.date() })
      const { logged } = yield* logging(told(success, { at: "noon" }))
      assert.include(
        logged.join(),
        "at: expected a valid value (Invalid input: expected date, received string), got a string"
      )
    }))

  it("may not have the schema of another library in a part of it: its secrets would be shown", () => {
    const secretive = Parameters.fromJsonSchema({ type: "object", properties: { pin: { writeOnly: true } } })
    const mixed: ReadonlyArray<Untyped> = [
      Schema.Struct({ user: secretive }),
      Schema.Array(secretive),
      Schema.Struct({ name: z.string() } as Untyped)
    ]
    for (const success of mixed) {
      for (const schemas of [{ success }, { success: Schema.Void, parameters: success }]) {
        const why = whyNotMade(() =>
          Tool.make("find", { description: "", ...schemas }, () => Effect.succeed(1 as Untyped))
        )
        assert.include(String(why), "a field has a schema that is not Effect's. Write all of it with one library.")
      }
    }
  })

  it("of another library in Zod is refused with advice", () => {
    const mixed = z.object({ name: Schema.String as Untyped })
    const why = whyNotMade(() =>
      Tool.make("find", { description: "", parameters: mixed, success: Schema.Void }, () => Effect.void)
    )
    assert.include(String(why), "Write all of it with one library")
  })
})

describe("a secret of the arguments", () => {
  const marked = z.string().meta({ writeOnly: true })
  const secretive: Readonly<Record<string, Parameters.Parameters<unknown>>> = {
    "what is written": z.object({ user: z.object({ pin: marked }) }),
    "what is decoded": z.object({ user: z.object({ pin: z.string().transform((pin) => pin.trim()).pipe(marked) }) }),
    "a codec's target": z.object({
      user: z.object({ pin: z.codec(z.string(), marked, { decode: (pin) => pin, encode: (pin) => pin }) })
    }),
    "an item beside a key": z.object({
      user: z.object({
        pin: z.array(z.string().transform((pin) => pin.trim()).pipe(marked)),
        other: z.string().optional().transform((other) => other ?? "").pipe(marked)
      })
    }),
    "a key that is renamed": z.object({ user: z.object({ pin: z.string() }) })
      .transform(({ user }) => ({ code: user.pin })).pipe(z.object({ code: marked })),
    "an item that is decoded": z.object({
      user: z.object({ pin: z.array(z.string().transform((pin) => pin.trim()).pipe(marked)) })
    })
  }

  it.effect.each(Object.entries(secretive))("may be marked at %s", ([, parameters]) =>
    Effect.gen(function*() {
      const tool = Tool.make(
        "login",
        { description: "", parameters, success: Schema.Void, sideEffect: "none" },
        () => Effect.void
      )
      for (const pin of [secret, [secret]]) {
        const events = yield* Stream.runCollect(Agent.make({ toolkit: Toolkit.make(tool) }).stream("?")).pipe(
          Effect.provide(ScriptedModel.layer([
            ScriptedModel.call("login", { user: { pin } }),
            ScriptedModel.text("Done.")
          ]))
        )
        assert.isTrue(events.some(({ _tag }) => _tag === "CallStarted"))
        assert.notInclude(JSON.stringify(events), secret)
      }
    }))

  it.effect("is not in the log if a transformation throws it", () =>
    Effect.gen(function*() {
      const parameters = z.object({ token: marked.transform((token) => JSON.parse(token)) })
      const tool = Tool.make(
        "login",
        { description: "", parameters, success: Schema.Void, sideEffect: "none" },
        () => Effect.void
      )
      const { logged, value } = yield* logging(callOf(tool, JSON.stringify({ token: secret })))
      assert.strictEqual(value._tag, "Failed")
      assert.include(logged.join(), "The validation of a zod schema threw.")
      assert.notInclude(logged.join() + JSON.stringify(value), "hunter")
    }))
})

describe("parameters", () => {
  it("of a tool with pages can be written again", () => {
    const made = (parameters: Parameters.Parameters<{ cursor?: string | undefined }>) =>
      whyNotMade(() =>
        Tool.make("list", {
          description: "",
          parameters,
          success: Schema.Struct({ more: Schema.NullOr(Schema.String) }),
          sideEffect: "none",
          pages: { next: "cursor", more: "more" }
        }, () => Effect.succeed({ more: null }))
      )
    const cursor = z.string().optional()
    assert.isUndefined(made(z.object({ cursor })))
    assert.isUndefined(made(Parameters.inField("request", z.object({ cursor }))))
    const why = made(z.object({ cursor, of: z.string().transform((of) => of.length) }))
    assert.include(String(why), "must have parameters that can be written again")
  })

  it("are in a field of their own", () => {
    for (const field of ["toString", "__proto__", "constructor"]) {
      assert.include(
        String(whyNotMade(() => Parameters.inField(field, Schema.Any))),
        `Parameters.inField needs another field than '${field}', which every object has.`
      )
    }
  })
})
