/** Rules of the author's own for arguments: a schema of any library, with which an async handler checks its parameters. */
import { assert, describe, it } from "@effect/vitest"
import { Dispatch, Tool, Toolkit } from "@fallible/core"
import * as Rendering from "@fallible/core/Rendering"
import { Effect, Logger, Redacted, Schema } from "effect"
import { z } from "zod"
import { z as z3 } from "zod/v3"
import { serving } from "../support/http.ts"

const parameters = Schema.Struct({
  seats: Schema.Finite,
  guest: Schema.Struct({ name: Schema.String }),
  from: Schema.Finite,
  to: Schema.Finite,
  day: Schema.optionalKey(Schema.String),
  pin: Schema.optionalKey(Schema.RedactedFromValue(Schema.String))
})
type Params = typeof parameters.Type
type Handler = (params: Params, call: Tool.PromiseCall) => unknown

const args = { seats: 9, guest: { name: "" }, from: 5, to: 3 }

interface Options {
  readonly sideEffect?: "none"
  readonly refuses?: ReadonlyArray<abstract new(...args: Array<never>) => Error>
}

const outcomeOf = (handler: Handler, options: Options = { sideEffect: "none" }, more: object = {}) => {
  const tool = Tool.promise("book", { description: "Books", parameters, success: Schema.Unknown, ...options }, handler)
  const call = { id: "1", name: "book", arguments: JSON.stringify({ ...args, ...more }) }
  return Effect.map(Dispatch.call(Toolkit.make(tool), call), (outcome) => {
    assert(outcome._tag === "Failed")
    const { failure } = outcome
    return { ...outcome, failure, text: Rendering.json(outcome, call) }
  }).pipe(Effect.provide(Logger.layer([])))
}

const sideOf = (handler: Handler) =>
  Effect.map(outcomeOf(handler), ({ failure }) => failure._tag === "SchemaMismatch" ? failure.side : failure._tag)

const fewSeats = z.object({ seats: z.number().refine((seats) => seats < 7, "At most 6 seats.") })

/** Errors as valibot and ArkType make them. */
class ValiError extends Error {}
class TraversalError extends Error {}
const valibot = (input: unknown, message: string, ...keys: ReadonlyArray<string>) =>
  Object.assign(new ValiError(message), {
    issues: [{
      kind: "validation",
      type: "check",
      input,
      expected: null,
      received: "9",
      message,
      path: keys.map((key) => ({ type: "object", key }))
    }]
  })
const arkType = (data: unknown, message: string, ...path: ReadonlyArray<string>) =>
  Object.assign(new TraversalError(message), {
    arkErrors: [{ " arkKind": "error", path, data, input: { code: "max", rule: 7 }, code: "max", message }]
  })
const throwing = (error: Error): Handler => async () => {
  throw error
}

describe("a rule that the arguments break", () => {
  const effect = Schema.Struct({
    guest: Schema.Struct({
      name: Schema.String.check(Schema.makeFilter((name) => name === "" ? "Give a name." : undefined))
    })
  })
  const shapes: ReadonlyArray<readonly [library: string, handler: Handler, detail: string]> = [
    ["zod 4", async (params) => fewSeats.parse(params), "'seats': At most 6 seats."],
    [
      "zod 3",
      async (params) => z3.object({ guest: z3.object({ name: z3.string().min(1) }) }).parse(params),
      "'guest.name': String must contain at least 1 character(s)"
    ],
    [
      "zod, about several parameters",
      async (params) =>
        z.object({}).loose().refine((params) => params["to"] === 4, "'from' must be before 'to'").parse(params),
      "'from' must be before 'to'."
    ],
    ["zod, of one parameter", async ({ day = "" }) => z.iso.date().parse(day), "Invalid ISO date."],
    [
      "zod, of one that is absent",
      async (params) => z.object({ day: z.string("Which day?") }).parse(params),
      "'day': Which day?"
    ],
    ["zod, without a promise", (params) => fewSeats.parse(params), "'seats': At most 6 seats."],
    ["effect", async (params) => Schema.decodeUnknownSync(effect)(params), "'guest.name': Give a name."],
    ["valibot", throwing(valibot(9, "At most 6 seats", "seats")), "'seats': At most 6 seats."],
    ["valibot, about several parameters", throwing(valibot({ from: 5, to: 3 }, "from < to")), "from < to."],
    [
      "ArkType",
      throwing(arkType(9, "seats must be less than 7 (was 9)", "seats")),
      "'seats': seats must be less than 7 (was 9)"
    ]
  ]
  for (const [library, handler, detail] of shapes) {
    it.effect(`is told in its own words: ${library}`, () =>
      Effect.gen(function*() {
        const { certainty, failure, text } = yield* outcomeOf(handler)
        assert.deepInclude({ ...failure }, {
          _tag: "SchemaMismatch",
          side: "arguments",
          code: "invalid_arguments",
          detail
        })
        assert.include(text, "Call again with corrected arguments.")
        assert.strictEqual(certainty, "not_executed")
        assert.instanceOf(failure.cause, Error)
      }))
  }

  it.effect("is listed with its path", () =>
    Effect.gen(function*() {
      const { failure } = yield* outcomeOf(async (params) => fewSeats.parse(params))
      assert(failure._tag === "SchemaMismatch")
      assert.deepStrictEqual(failure.issues.map(({ advice, path }) => ({ advice, path })), [
        { advice: "At most 6 seats.", path: ["seats"] }
      ])
    }))

  it.effect("is not told in words that may quote a secret parameter", () =>
    Effect.gen(function*() {
      const handler: Handler = async ({ pin }) => {
        throw arkType(pin === undefined ? "" : Redacted.value(pin), "pin must be longer (was \"47\")", "pin")
      }
      const { failure } = yield* outcomeOf(handler, { sideEffect: "none" }, { pin: "47" })
      assert.strictEqual(failure.detail, "'pin': It breaks a rule.")
    }))
})

describe("an error of a schema is not about the arguments", () => {
  const cases: ReadonlyArray<readonly [what: string, handler: Handler]> = [
    ["after the handler has waited", async (params) => {
      await Promise.resolve()
      return fewSeats.parse(params)
    }],
    ["at a path that is no parameter", async () => z.object({ total: z.number().min(1) }).parse({ total: 0 })],
    [
      "if one of its paths is none",
      async () => z.object({ seats: z.number().min(1), total: z.number().min(1) }).parse({ seats: 0, total: 0 })
    ],
    [
      "if it asks for the type that the parameter has",
      async () => z.object({ seats: z.number() }).parse({ seats: "9" })
    ],
    ["if it is about the type of the whole", () => z.object({ seats: z.number() }).parse(undefined)],
    ["if it shows another value", throwing(valibot(8, "At most 6 seats", "seats"))],
    ["if it shows a value that is no parameter", throwing(arkType("paid", "must be sent (was \"paid\")"))],
    ["if Effect says so", () => Schema.decodeUnknownSync(Schema.Struct({ seats: Schema.String }))(undefined)]
  ]
  for (const [what, handler] of cases) {
    it.effect(what, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* sideOf(handler), "result")
      }))
  }

  it.effect("if it is no error of a schema at all", () =>
    Effect.gen(function*() {
      for (const issues of [[], "seats", [null], { length: 1e9 }]) {
        assert.strictEqual(yield* sideOf(throwing(Object.assign(new Error("No."), { issues }))), "SemanticGarbage")
      }
    }))
})

describe("a rule that the arguments of an acting tool break", () => {
  const acting: Options = {}

  it.effect("proves nothing", () =>
    Effect.gen(function*() {
      const { certainty, doubt, failure, text } = yield* outcomeOf(
        async (params) => fewSeats.parse(params),
        acting
      )
      assert.deepStrictEqual([certainty, doubt], ["unknown", "soft"])
      assert.strictEqual(failure.detail, "'seats': At most 6 seats.")
      assert.include(text, "no proof that nothing was done")
    }))

  it.effect("is the author's word, if its class is declared", () =>
    Effect.gen(function*() {
      const { certainty, failure } = yield* outcomeOf(async (params) => fewSeats.parse(params), {
        refuses: [z.ZodError]
      })
      assert.strictEqual(certainty, "not_executed")
      assert.deepInclude({ ...failure }, { detail: "'seats': At most 6 seats.", outcome: "not_executed" })
    }))

  it.live("leaves the doubt of a request that was sent before", () =>
    Effect.gen(function*() {
      const url = yield* serving((request, response) => void request.resume().on("end", () => response.end("ok")))
      const { certainty, doubt } = yield* outcomeOf(async (params, { fetch }) => {
        await fetch(url, { method: "POST" })
        return fewSeats.parse(params)
      }, acting)
      assert.deepStrictEqual([certainty, doubt], ["unknown", "hard"])
      const begun = yield* outcomeOf(async (params, { fetch }) => {
        fetch(url, { method: "POST" }).catch(() => {})
        return fewSeats.parse(params)
      }, acting)
      assert.deepStrictEqual([begun.certainty, begun.doubt], ["unknown", "hard"])
      assert.strictEqual(begun.failure.detail, "'seats': At most 6 seats.")
    }).pipe(Effect.scoped))
})
