/** Results that succeed, but may not be what they seem: each gets a note, and its honest look-alikes get none. */
import { assert, describe, it } from "@effect/vitest"
import { Dispatch, Tool, Toolkit } from "@fallible/core"
import * as Rendering from "@fallible/core/Rendering"
import * as ToolHealth from "@fallible/core/ToolHealth"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Option, Schedule, Schema } from "effect"
import { heard } from "../support/plainTools.ts"
import { answered, costs, playing, ways } from "../support/ways.ts"

const reads = { description: "", success: Schema.Json, sideEffect: "none" } as const
const acts = { description: "", success: Schema.Json } as const
const Any = Schema.Record(Schema.String, Schema.Json)

/** Returns the notes on the result of the first tool. */
const notesOf = (args: object, tool: Tool.Any, ...others: ReadonlyArray<Tool.Any>) =>
  Effect.map(
    Dispatch.call(asToolkit(tool, ...others), { id: "1", name: tool.name, arguments: JSON.stringify(args) }),
    (outcome) => outcome._tag === "Completed" ? outcome.caveats : assert.fail(JSON.stringify(outcome))
  )

const asToolkit = (...tools: ReadonlyArray<Tool.Any>) =>
  Toolkit.make(...tools as ReadonlyArray<Tool.Tool<string, unknown, unknown>>)

const answering = <A extends Schema.Json>(value: A, definition: Partial<Tool.Definition<Schema.Json>> = reads) =>
  Tool.make("look", { ...acts, ...definition }, () => Effect.succeed(value))

describe("an empty result of a read-only tool", () => {
  const getOrders = (value: Schema.Json = [], words: Partial<Tool.Definition<Schema.Json>> = {}) =>
    Tool.make("get_orders", {
      ...reads,
      ...words,
      parameters: Schema.Struct({
        customer_id: Schema.optionalKey(Schema.String),
        note: Schema.optionalKey(Schema.String),
        status: Schema.optionalKey(Schema.Literals(["open", "closed"])),
        archived: Schema.optionalKey(Schema.Boolean),
        page: Schema.optionalKey(Schema.Int),
        limit: Schema.optionalKey(Schema.Int)
      })
    }, () => Effect.succeed(value))
  const returning = (name: string, success: Schema.Codec<unknown, unknown>, words: object = {}) =>
    Tool.make(name, {
      description: "",
      parameters: Schema.Struct({ name: Schema.String }),
      success,
      sideEffect: "none",
      ...words
    }, () => Effect.succeed(null))
  const found = Schema.Array(Schema.Struct({ customer_id: Schema.String, name: Schema.String }))
  const findCustomer = returning("find_customer", found)
  const ada = { customer_id: "Ada" }
  const told = "The result is empty. If that is unexpected, check customer_id: find_customer returns it."
  const plain = "The result is empty. If that is unexpected, check customer_id."

  it.effect("is told as empty, with the tool that returns the argument", () =>
    Effect.gen(function*() {
      for (const value of [[], {}, null, "", { results: [], count: 0 }]) {
        assert.deepStrictEqual(yield* notesOf(ada, getOrders(value), findCustomer), [told], JSON.stringify(value))
      }
      assert.deepStrictEqual(yield* notesOf(ada, getOrders([7]), findCustomer), [])
    }))

  const Id = Schema.Struct({ id: Schema.String })
  const others: ReadonlyArray<readonly [what: string, tool: Tool.Any, isFinder: boolean]> = [
    ["returns it deep inside", returning("find_customer", Schema.Struct({ hits: Schema.NullOr(found) })), true],
    ["writes it in camel case", returning("find_customer", Schema.Struct({ customerId: Schema.String })), true],
    ["returns the id of what it is named after", returning("find_customer", Schema.Array(Id)), true],
    ["returns the id of another thing", returning("find_order", Schema.Array(Id)), false],
    ["returns the id of what belongs to it", returning("find_customer_orders", Schema.Array(Id)), false],
    ["says nothing of its result", returning("find_customer", Schema.Json), false],
    ["acts", returning("find_customer", found, { sideEffect: "idempotent" }), false],
    [
      "needs the argument itself",
      returning("find_customer", found, { parameters: Schema.Struct({ customerId: Schema.String }) }),
      false
    ]
  ]
  for (const [what, tool, isFinder] of others) {
    it.effect(`names ${isFinder ? "a" : "no"} tool that ${what}`, () =>
      Effect.map(notesOf(ada, getOrders(), tool), (notes) => assert.deepStrictEqual(notes, [isFinder ? told : plain])))
  }

  it.effect("names at most two tools", () =>
    Effect.gen(function*() {
      const tools = ["list_customers", "search_customers", "find_customer"].map((name) => returning(name, found))
      assert.deepStrictEqual(yield* notesOf(ada, getOrders(), ...tools), [
        "The result is empty. If that is unexpected, check customer_id: list_customers or search_customers returns it."
      ])
    }))

  it.effect("names the tool whose name says how it finds", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* notesOf(ada, getOrders(), returning("find_customers_by_name", Schema.Array(Id))), [
        "The result is empty. If that is unexpected, check customer_id: find_customers_by_name returns it."
      ])
    }))

  it.effect("names the tool that finds a plain id", () =>
    Effect.gen(function*() {
      const get = Tool.make(
        "getCustomer",
        { ...reads, parameters: Id },
        () => Effect.succeed(null)
      )
      assert.deepStrictEqual(yield* notesOf({ id: "Ada" }, get, returning("list_customers", Schema.Array(Id))), [
        "The result is empty. If that is unexpected, check id: list_customers returns it."
      ])
    }))

  it.effect("names no tool for a word that means something else elsewhere", () =>
    Effect.gen(function*() {
      const notes = yield* notesOf({ name: "Adda" }, returning("find_city", Schema.Json), findCustomer)
      assert.deepStrictEqual(notes, ["The result is empty. If that is unexpected, check name."])
    }))

  it.effect("names no tool that is disabled", () =>
    Effect.gen(function*() {
      yield* (yield* ToolHealth.ToolHealth).disable("find_customer")
      assert.deepStrictEqual(yield* notesOf(ada, getOrders(), findCustomer), [plain])
    }).pipe(Effect.provide(ToolHealth.layer)))

  it.effect("is told in short if no tool helps, and not at all if no argument can be wrong", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* notesOf({ ...ada, note: "x" }, getOrders()), [
        "The result is empty. If that is unexpected, check the arguments."
      ])
      for (const args of [{}, { status: "open" }, { archived: true }, { limit: 20 }, { limit: 20, page: 1 }]) {
        assert.deepStrictEqual(yield* notesOf(args, getOrders(), findCustomer), [], JSON.stringify(args))
      }
    }))

  it.effect("is an answer if it is a page after the first", () =>
    Effect.map(notesOf({ ...ada, page: 3 }, getOrders(), findCustomer), (notes) => assert.deepStrictEqual(notes, [])))

  it.effect("is an answer if the tool can only return nothing, or acts", () =>
    Effect.gen(function*() {
      const parameters = Schema.Struct({ id: Schema.String })
      for (const success of [Schema.Void, Schema.Null, Schema.Undefined]) {
        const touch = returning("touch", success, { parameters })
        assert.deepStrictEqual(yield* notesOf({ id: "7" }, touch), [])
      }
      const remove = Tool.make("remove", { ...acts, parameters }, () => Effect.succeed([]))
      assert.deepStrictEqual(yield* notesOf({ id: "7" }, remove), [])
    }))

  it.effect("is what the definition says, if it says something", () =>
    Effect.gen(function*() {
      const some = getOrders({ orders: [] }, { empty: { when: () => false, detail: "None." } })
      assert.deepStrictEqual(yield* notesOf(ada, some, findCustomer), [])
    }))

  for (const way of ways) {
    it.effect(`leads a model to the right argument, over ${way.name}: 4/3`, () =>
      Effect.gen(function*() {
        const played = yield* playing(way)({
          tools: (ran) => [
            Tool.make("get_orders", {
              ...reads,
              parameters: Schema.Struct({ customer_id: Schema.String })
            }, ({ customer_id: id }) => Effect.as(ran, id === "c-7" ? ["order 12"] : [])),
            Tool.make("find_customer", {
              ...reads,
              parameters: Schema.Struct({ name: Schema.String }),
              success: found
            }, ({ name }) => Effect.as(ran, [{ customer_id: "c-7", name }]))
          ],
          // A weak model, which believes what it reads.
          model: (request, index) => {
            const text = heard(request)
            if (index === 0) return ScriptedModel.call("get_orders", ada)
            const tool = /check customer_id: (\w+) returns it/.exec(text)?.[1]
            if (tool !== undefined) return ScriptedModel.call(tool, { name: "Ada" })
            const id = /"customer_id":"([^"]+)"/.exec(text)?.[1]
            return id === undefined
              ? ScriptedModel.text(text)
              : ScriptedModel.call("get_orders", { customer_id: id })
          }
        })
        assert.strictEqual(heard(played.requests[1]), JSON.stringify({ value: [], notes: [told.slice(0, -1)] }))
        assert.strictEqual(answered(played), "[\"order 12\"]")
        assert.strictEqual(costs(played), "4/3")
      }))
  }
})

describe("a result that reports a failure", () => {
  const noted = (what: string) => [`The result has ${what}. If this is the outcome of the call itself, it has failed.`]
  const failures: ReadonlyArray<readonly [result: Schema.Json, notes: ReadonlyArray<string>]> = [
    [{ ok: false }, noted("ok: false")],
    [{ success: false, reason: "Card declined." }, noted("success: false")],
    [{ error: "Card declined." }, noted("an error")],
    [{ error: { code: 7 } }, noted("an error")],
    [{ data: null, error: true }, noted("an error")],
    [{ errors: ["No such field."] }, noted("errors")],
    [{ data: null, errors: ["No such field."] }, noted("errors")],
    [{ data: { orders: [7] }, errors: ["No such field."] }, [
      "The result has errors. If they are of the call itself, its data may be incomplete."
    ]],
    [{ status: "failed" }, noted("status: \"failed\"")],
    [{ status: "ERROR", id: 7 }, noted("status: \"ERROR\"")],
    [{ status: "failure" }, noted("status: \"failure\"")]
  ]
  for (const [result, notes] of failures) {
    it.effect(`is noted, whether the tool acts or not: ${JSON.stringify(result)}`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* notesOf({}, answering(result)), notes)
        assert.deepStrictEqual(yield* notesOf({}, answering(result, acts)), notes)
      }))
  }

  const answers: ReadonlyArray<Schema.Json> = [
    { error: null, orders: [7] },
    { error: false, orders: [7] },
    { error: "", orders: [7] },
    { error: {}, orders: [7] },
    { error: 0, orders: [7] },
    { errors: [], orders: [7] },
    { errors: null, orders: [7] },
    { errors: 3, warnings: 7 },
    { ok: true, status: "failed" },
    { success: true, errors: ["one of the files is gone"] },
    { ok: null },
    { ok: "false" },
    { status: "open" },
    { status: 500 },
    { status: "failed_over" },
    { payment: { ok: false } },
    [{ ok: false }],
    "{\"ok\":false}",
    false
  ]
  for (const result of answers) {
    it.effect(`is an answer: ${JSON.stringify(result)}`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* notesOf({}, answering(result)), [])
        assert.deepStrictEqual(yield* notesOf({}, answering(result, acts)), [])
      }))
  }

  it.effect("is data of a read-only tool that declares the field, whatever its type", () =>
    Effect.gen(function*() {
      const declared: ReadonlyArray<readonly [Schema.Codec<unknown, unknown>, Schema.Json]> = [
        [Schema.Struct({ build: Schema.Int, status: Schema.Literals(["passed", "failed"]) }), {
          build: 7,
          status: "failed"
        }],
        [Schema.Struct({ service: Schema.String, ok: Schema.Boolean }), { service: "db", ok: false }],
        [Schema.Struct({ line: Schema.Int, error: Schema.NullOr(Schema.String) }), { line: 3, error: "No semicolon." }],
        [Schema.NullOr(Schema.Struct({ errors: Schema.Array(Schema.String) })), { errors: ["No semicolon."] }],
        [Schema.suspend(() => Schema.Struct({ ok: Schema.Boolean })), { ok: false }]
      ]
      for (const [success, result] of declared) {
        const tool = Tool.make("get_build", { ...reads, success }, () => Effect.succeed(result))
        assert.deepStrictEqual(yield* notesOf({}, tool), [], JSON.stringify(result))
      }
      const other = Schema.Struct({ ok: Schema.Boolean })
      const mixed = Tool.make("get_build", { ...reads, success: Schema.Union([other, Any]) }, () =>
        Effect.succeed({ status: "failed" }))
      assert.deepStrictEqual(yield* notesOf({}, mixed), noted("status: \"failed\""))
    }))

  it.effect("is the outcome of a tool that acts, unless it declares the very value", () =>
    Effect.gen(function*() {
      const flag = Tool.make("refund", { description: "", success: Schema.Struct({ ok: Schema.Boolean }) }, () =>
        Effect.succeed({ ok: false }))
      assert.deepStrictEqual(yield* notesOf({}, flag), noted("ok: false"))
      const text = Tool.make("refund", { description: "", success: Schema.Struct({ status: Schema.String }) }, () =>
        Effect.succeed({ status: "failed" }))
      assert.deepStrictEqual(yield* notesOf({}, text), noted("status: \"failed\""))
      const state = Tool.make("run_build", {
        description: "",
        success: Schema.Struct({ status: Schema.Literals(["passed", "failed"]) })
      }, () =>
        Effect.succeed({ status: "failed" } as const))
      assert.deepStrictEqual(yield* notesOf({}, state), [])
      const either = Tool.make("refund", {
        description: "",
        success: Schema.Union([
          Schema.Struct({ ok: Schema.Literal(true), id: Schema.String }),
          Schema.Struct({ ok: Schema.Literal(false), reason: Schema.String })
        ])
      }, () =>
        Effect.succeed({ ok: false, reason: "It is too late." } as const))
      assert.deepStrictEqual(yield* notesOf({}, either), [])
    }))
})

describe("an error that the schema does not declare", () => {
  it.effect("is noted, and not shown", () =>
    Effect.gen(function*() {
      for (const definition of [reads, acts]) {
        const success = Schema.Struct({ rate: Schema.optionalKey(Schema.Finite) })
        const value: unknown = { error: "rate limit exceeded" }
        const tool = Tool.make("t", { ...definition, success }, () => Effect.succeed(value as typeof success.Type))
        const outcome = yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "t" })
        if (outcome._tag !== "Completed") return assert.fail(outcome._tag)
        assert.deepStrictEqual(outcome.value, {})
        assert.deepStrictEqual(outcome.caveats, [
          "The result has an error. If this is the outcome of the call itself, it has failed."
        ])
      }
    }))
})

describe("a contract with 'failed'", () => {
  const failing = (failed: Tool.Contract<Schema.Json, {}>["failed"] & {}, value: Schema.Json, words: object = {}) =>
    Tool.make("charge", { ...reads, ...words, failed }, () => Effect.succeed(value))
  const failureOf = (failed: Tool.Contract<Schema.Json, {}>["failed"] & {}, value: Schema.Json) =>
    Effect.flip(failing(failed, value).run({}))

  it.effect("fails with the service's words", () =>
    Effect.gen(function*() {
      const words: ReadonlyArray<readonly [result: Schema.Json, detail: string]> = [
        [{ ok: false }, "The answer says that it failed."],
        [{ ok: false, error: "Card declined." }, "The answer says that it failed: Card declined."],
        [{ error: { message: "Card declined." } }, "The answer says that it failed: Card declined."],
        [{ error: { code: "insufficient_funds" } }, "The answer says that it failed: insufficient funds"],
        [{ errors: [{ message: "No field 'x'." }, "more"] }, "The answer says that it failed: No field 'x'."],
        [{ status: "failed", reason: "No stock." }, "The answer says that it failed: No stock."]
      ]
      for (const [result, detail] of words) {
        const failure = yield* failureOf(true, result)
        assert.deepInclude({ ...failure }, { _tag: "SemanticGarbage", code: "reported_failure", detail })
      }
      const long = yield* failureOf(true, { error: `No ${"x".repeat(10_000)}` })
      assert.isBelow(long.detail.length, 600)
      assert.notInclude(long.detail, "\n")
    }))

  it.effect("takes a function of the result and the parameters, and its words", () =>
    Effect.gen(function*() {
      const tool = (value: Schema.Json) =>
        Tool.make("charge", {
          ...reads,
          parameters: Schema.Struct({ max: Schema.Int }),
          failed: (value, { max }) => typeof value === "number" ? value > max ? `${value} is too much.` : "" : null
        }, () => Effect.succeed(value))
      const failure = yield* Effect.flip(tool(7).run({ max: 6 }))
      assert.strictEqual(failure.detail, "The answer says that it failed: 7 is too much.")
      assert.strictEqual(yield* tool(7).run({ max: 7 }), 7)
      assert.deepStrictEqual(yield* tool({ ok: false }).run({ max: 7 }), { ok: false })
    }))

  it.effect("is unavailable for a while if the words say that waiting helps", () =>
    Effect.gen(function*() {
      const codes: ReadonlyArray<readonly [words: string, code: string]> = [
        ["service_unavailable", "server_error"],
        ["Rate limit exceeded", "rate_limited"],
        ["The ledger is closed, please try again later.", "reported_failure"],
        ["Retry in 5 seconds", "reported_failure"]
      ]
      for (const [error, code] of codes) {
        const failure = yield* failureOf(true, { error })
        assert.deepInclude({ ...failure }, { _tag: "ToolUnavailable", code, transient: true }, error)
      }
      const other = yield* failureOf(true, { error: "Please try again with another card." })
      assert.strictEqual(other._tag, "SemanticGarbage")
    }))

  it.effect("quotes no field that is declared as a secret", () =>
    Effect.gen(function*() {
      const secret = Schema.RedactedFromValue(Schema.String)
      const success = Schema.Struct({
        ok: Schema.Boolean,
        message: secret,
        error: Schema.optionalKey(Schema.Struct({ detail: secret }))
      })
      for (const answer of [{ message: "hunter2" }, { message: "hunter2", error: { detail: "hunter2" } }]) {
        const value: unknown = { ok: false, ...answer }
        const tool = Tool.make("t", { ...reads, success, failed: true }, () =>
          Effect.succeed(value as typeof success.Type))
        const outcome = yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "t" })
        assert.notInclude(Rendering.json(outcome, { id: "1", name: "t" }), "hunter2")
      }
    }))

  it.effect("is retried below the model then, if the tool only reads", () =>
    Effect.gen(function*() {
      let runs = 0
      const tool = Tool.make(
        "get_rate",
        { ...reads, failed: true },
        () => Effect.sync(() => ++runs < 3 ? { ok: false, error: "temporarily unavailable" } : { rate: 7 })
      ).pipe(Tool.retry(Schedule.recurs(2)))
      assert.deepStrictEqual(yield* tool.run({}), { rate: 7 })
      assert.strictEqual(runs, 3)
    }))

  for (const sideEffect of ["idempotent", "idempotent_by_key", "non_idempotent"] as const) {
    it.effect(`repeats nothing if the tool acts, and does not count as a refusal: ${sideEffect}`, () =>
      Effect.gen(function*() {
        let runs = 0
        const tool = Tool.make("pay", { ...acts, sideEffect, identity: "all", failed: true }, () =>
          Effect.sync(() => {
            runs++
            return { ok: false, error: "service_unavailable" }
          })).pipe(Tool.retry(Schedule.recurs(2)))
        const outcome = yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "pay" })
        assert.deepInclude(outcome, { _tag: "Failed", certainty: "executed" })
        assert.strictEqual(outcome._tag === "Failed" && outcome.failure._tag, "SemanticGarbage")
        assert.strictEqual(runs, 1)
      }))
  }

  it.effect("is checked before the other rules, and takes the place of the note", () =>
    Effect.gen(function*() {
      const both = failing(true, { ok: false }, { invariants: { "there is a rate": () => false } })
      assert.strictEqual((yield* Effect.flip(both.run({}))).code, "reported_failure")
      assert.deepStrictEqual(yield* notesOf({}, failing(() => undefined, { ok: false })), [])
    }))

  it.effect("reports nothing of what cannot be read, nor of an absent Option", () =>
    Effect.gen(function*() {
      const opaque = {
        get ok(): boolean {
          throw new Error("closed")
        }
      }
      const tool = Tool.make("t", { ...reads, success: Schema.Unknown, failed: true }, () => Effect.succeed(opaque))
      assert.strictEqual(yield* tool.run({}), opaque)
      const success = Schema.Struct({ error: Schema.Option(Schema.String) })
      const optional = (error: Option.Option<string>) =>
        Tool.make("t", { ...reads, success, failed: true }, () => Effect.succeed({ error }))
      assert.isTrue(Option.isNone((yield* optional(Option.none()).run({})).error))
      assert.strictEqual((yield* Effect.flip(optional(Option.some("No.")).run({}))).code, "reported_failure")
    }))
})

describe("a full page that says nothing of a next one", () => {
  const parametersOf = (names: ReadonlyArray<string>) =>
    Schema.Struct(Object.fromEntries(names.map((name) => [name, Schema.optionalKey(Schema.Int)])))
  const items = (length: number) => Array.from({ length }, (_, index) => index)
  const listing = (value: Schema.Json, names: ReadonlyArray<string> = ["limit", "page"], words: object = {}) =>
    Tool.make("list", { ...reads, parameters: parametersOf(names), ...words }, () => Effect.succeed(value))
  const full = (size = "limit", length = 20) =>
    `This is a full page (${length} items for ${size} ${length}): there may be more.`

  it.effect("is told as full, with the arguments of the next page", () =>
    Effect.gen(function*() {
      const calls: ReadonlyArray<readonly [args: object, names: ReadonlyArray<string>, note: string]> = [
        [{ limit: 20 }, ["limit"], full()],
        [{ per_page: 20 }, ["per_page"], full("per_page")],
        [{ pageSize: 20 }, ["pageSize"], full("pageSize")],
        [{ max_results: 20 }, ["max_results"], full("max_results")],
        [{ limit: 20 }, ["limit", "page"], `${full()} To see more, call it again with page=2.`],
        [{ limit: "20", page: 3 }, ["limit", "page"], `${full()} To see more, call it again with page=4.`],
        [{ limit: 20 }, ["limit", "offset"], `${full()} To see more, call it again with offset=20.`],
        [{ limit: 20, offset: 40 }, ["limit", "offset"], `${full()} To see more, call it again with offset=60.`],
        [{ first: 20 }, ["first", "skip"], `${full("first")} To see more, call it again with skip=20.`]
      ]
      for (const [args, names, note] of calls) {
        const [last] = yield* Effect.map(notesOf(args, listing(items(20), names)), (notes) => notes.slice(-1))
        assert.strictEqual(last, note)
      }
      const wrapped = { items: items(20), page: 1, count: 20 }
      assert.deepStrictEqual(yield* notesOf({ limit: 20 }, listing(wrapped, ["limit"])), [full()])
    }))

  it.effect("names a cursor without its value", () =>
    Effect.gen(function*() {
      const parameters = Schema.Struct({ limit: Schema.Int, cursor: Schema.optionalKey(Schema.String) })
      assert.deepStrictEqual(yield* notesOf({ limit: 20 }, listing(items(20), [], { parameters })), [
        `${full()} To see more, call it again with another cursor.`
      ])
    }))

  it.effect("counts a default of the schema", () =>
    Effect.gen(function*() {
      const decoded = Schema.Struct({ limit: Schema.Int.pipe(Schema.withDecodingDefaultKey(Effect.succeed(20))) })
      const shown = Schema.Struct({ limit: Schema.optionalKey(Schema.Int.annotate({ default: 20 })) })
      for (const parameters of [decoded, shown]) {
        assert.deepStrictEqual(yield* notesOf({}, listing(items(20), [], { parameters })), [full()])
      }
    }))

  const answers: ReadonlyArray<
    readonly [what: string, args: object, value: Schema.Json, names?: ReadonlyArray<string>]
  > = [
    ["shorter than the limit", { limit: 20 }, items(19)],
    ["longer than the limit", { limit: 20 }, items(21)],
    ["without a limit", {}, items(20)],
    ["with a total", { limit: 20 }, { items: items(20), total: 20 }],
    ["with a greater total", { limit: 20 }, { items: items(20), total_count: 45 }],
    ["with a greater count", { limit: 20 }, { items: items(20), count: 45 }],
    ["that says that there are more", { limit: 20 }, { items: items(20), has_more: true }],
    ["that says that there are none", { limit: 20 }, { items: items(20), hasMore: false }],
    ["with no cursor left", { limit: 20 }, { items: items(20), next_cursor: null }],
    ["with page information", { limit: 20 }, { items: items(20), pageInfo: {} }],
    ["of two lists", { limit: 20 }, { items: items(20), users: items(20) }],
    ["that is no list", { limit: 5 }, "12345"],
    ["of the best one", { limit: 1 }, items(1)],
    ["of the best three, without pages", { limit: 3 }, items(3), ["limit"]],
    ["of the top ten", { top: 10 }, items(10), ["top"]],
    ["of as many as were to be made", { count: 10 }, items(10), ["count"]]
  ]
  for (const [what, args, value, names] of answers) {
    it.effect(`is an answer: a list ${what}`, () =>
      Effect.map(notesOf(args, listing(value, names)), (notes) => assert.deepStrictEqual(notes, [])))
  }

  it.effect("is what the definition says, if it says something, or pages by itself", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* notesOf(
          { limit: 20 },
          listing(items(20), [], {
            parameters: parametersOf(["limit", "page"]),
            pages: () => undefined
          })
        ),
        []
      )
      const paging = listing(items(20)).pipe(Tool.paginate({ merge: (all) => all }))
      assert.deepStrictEqual(yield* notesOf({ limit: 20 }, paging as Tool.Any), [])
    }))

  it.effect("is not told of a tool that acts", () =>
    Effect.gen(function*() {
      const tool = listing(items(20), ["limit"], { sideEffect: "idempotent" })
      assert.deepStrictEqual(yield* notesOf({ limit: 20 }, tool), [])
    }))
})
