import {
  Agent,
  type AgentFailure,
  type Dispatch,
  Guard,
  type Model,
  PartialData,
  RetryPolicy,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  type ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import * as CallFacts from "@fallible/core/CallFacts"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Context, Effect, Schedule, Schema } from "effect"
import { describe, expect, test } from "tstyche"

class Orders extends Context.Service<Orders, {
  readonly search: (id: string) => Effect.Effect<string, ToolUnavailable>
}>()("Orders") {}

class Cache extends Context.Service<Cache, { readonly get: Effect.Effect<Page> }>()("Cache") {}

interface Page extends Schema.Schema.Type<typeof Page> {}
const Page = Schema.Struct({ items: Schema.Array(Schema.String), next: Schema.NullOr(Schema.Int) })

interface Params {
  readonly customer: string
}

const searchOrders = Tool.make("search_orders", {
  description: "Search a customer's orders",
  parameters: Schema.Struct({ customer: Schema.String }),
  success: Page,
  sideEffect: "none"
}, ({ customer }) =>
  Orders.use(({ search }) => search(customer)).pipe(
    Guard.json(Page),
    Guard.check((page) =>
      page.items.length === 0 ? new SemanticGarbage({ code: "empty_result", detail: "No orders." }) : undefined
    ),
    Guard.partial(({ next }) => next === null ? undefined : { next: { page: next } })
  ))

const ping = Tool.make("ping", { description: "Answers", success: Schema.String }, () => Effect.succeed("pong"))

type Failures<T extends Tool.Any> = Tool.Failure<T>

describe("a run", () => {
  const agent = Agent.make({ toolkit: Toolkit.make(ping) })

  test("has a scope only together with its facts", () => {
    expect(agent.run).type.toBeCallableWith("?", { scope: "c-7", facts: CallFacts.empty })
    expect(agent.run).type.toBeCallableWith("?", { facts: CallFacts.empty, limits: { turns: 3 } })
    expect(agent.run).type.not.toBeCallableWith("?", { scope: "c-7" })
  })
})

describe("Guard.check", () => {
  const one = Effect.succeed(1)
  const garbage = new SemanticGarbage({ code: "x", detail: "y" })

  test("takes a failure, an Effect that fails, and an Effect that succeeds with a failure", () => {
    expect(Guard.check(one, (n) => n > 1 ? garbage : undefined)).type.toBe<Effect.Effect<number, SemanticGarbage>>()
    expect(Guard.check(one, () => Effect.fail(garbage))).type.toBe<Effect.Effect<number, SemanticGarbage>>()
    expect(Guard.check(one, () => Effect.succeed(undefined as typeof garbage | undefined))).type.toBe<
      Effect.Effect<number, SemanticGarbage>
    >()
    expect(one.pipe(Guard.check(() => Effect.void))).type.toBe<Effect.Effect<number>>()
  })

  test("takes no other verdict", () => {
    expect(Guard.check).type.not.toBeCallableWith(one, () => true)
    expect(Guard.check).type.not.toBeCallableWith(one, () => Effect.succeed(true))
    expect(Guard.check).type.not.toBeCallableWith(one, async () => undefined)
    expect(Guard.partial).type.not.toBeCallableWith(one, () => Effect.succeed(undefined))
  })
})

describe("Tool.promise", () => {
  const definition = {
    description: "Lists users",
    parameters: Schema.Struct({ page: Schema.Int }),
    success: Schema.Struct({ users: Schema.Array(Schema.String), more: Schema.Boolean })
  }
  type Users = { readonly users: ReadonlyArray<string>; readonly more: boolean }
  type Caught = SchemaMismatch | SemanticGarbage | ToolUnavailable

  test("infers name, parameters and success, and fails with the classes that an error can become", () => {
    const list = Tool.promise("list_users", definition, async ({ page }, { attempt, idempotencyKey, signal }) => {
      expect(page).type.toBe<number>()
      expect(attempt).type.toBe<number>()
      expect(idempotencyKey).type.toBe<string>()
      expect(signal).type.toBe<AbortSignal>()
      return { users: [], more: false }
    })
    expect(list).type.toBe<Tool.Tool<"list_users", { readonly page: number }, Users, Caught>>()
  })

  test("fails with partial data only where its definition has pages", () => {
    const list = Tool.promise(
      "list_users",
      { ...definition, pages: { more: "more", next: "page" } },
      async () => ({ users: [], more: true })
    )
    expect<Tool.Failure<typeof list>>().type.toBe<Caught | PartialData<Users>>()
  })

  test("does not compile with an answer of another type, nor with a value that is not an error class", () => {
    expect(Tool.promise).type.not.toBeCallableWith("t", { description: "", success: Schema.Int }, async () => "text")
    expect(Tool.promise).type.not.toBeCallableWith(
      "t",
      { description: "", success: Schema.Int, tell: [String] },
      async () => 1
    )
  })
})

describe("Tool.make", () => {
  test("infers name, parameters, success, failures and requirements from definition and handler", () => {
    expect(searchOrders).type.toBe<
      Tool.Tool<
        "search_orders",
        Params,
        { readonly items: ReadonlyArray<string>; readonly next: number | null },
        | SchemaMismatch
        | PartialData<{ readonly items: ReadonlyArray<string>; readonly next: number | null }>
        | SemanticGarbage
        | ToolUnavailable,
        Orders
      >
    >()
  })

  test("runs without an agent, with exactly the tool's error channel", () => {
    expect(ping.run({})).type.toBe<Effect.Effect<string>>()
    expect<Effect.Error<ReturnType<typeof searchOrders.run>>>().type.toBe<Failures<typeof searchOrders>>()
  })

  test("does not compile with a handler that fails with something else", () => {
    const definition = { description: "", success: Schema.String }
    expect(Tool.make).type.not.toBeCallableWith("t", definition, () => Effect.fail(new Error("no tool failure")))
    expect(Tool.make).type.not.toBeCallableWith("t", definition, () => Effect.fail("text"))
    expect(Tool.make).type.toBeCallableWith(
      "t",
      definition,
      () => Effect.fail(new SemanticGarbage({ code: "c", detail: "d" }))
    )
  })

  test("takes a handler with a failure that is a type parameter", () => {
    const wrap = <A, E extends SemanticGarbage | PartialData<A>, R>(
      success: Schema.Codec<A, unknown>,
      run: () => Effect.Effect<A, E, R>
    ): Tool.Tool<"t", {}, A, E, R> => Tool.make("t", { description: "", success }, run)
    expect(wrap(Schema.String, () => Effect.succeed(""))).type.toBe<Tool.Tool<"t", {}, string>>()
  })

  test("takes a handler that returns one Effect or another", () => {
    const tool = Tool.make("t", {
      description: "",
      parameters: Schema.Struct({ n: Schema.Int }),
      success: Schema.Int
    }, ({ n }) =>
      n < 0
        ? Effect.fail(new SemanticGarbage({ code: "negative", detail: "" }))
        : n > 9
        ? Orders.use(({ search }) => Effect.as(search(""), n))
        : Effect.succeed(n))
    expect(tool).type.toBe<Tool.Tool<"t", { readonly n: number }, number, SemanticGarbage | ToolUnavailable, Orders>>()
  })

  test("does not compile with a handler that succeeds with something else", () => {
    expect(Tool.make).type.not.toBeCallableWith(
      "t",
      { description: "", success: Schema.String },
      () => Effect.succeed(1)
    )
  })
})

describe("the contract of a definition", () => {
  const List = Schema.Struct({
    orders: Schema.Array(Schema.String),
    total: Schema.Int,
    hasMore: Schema.Boolean,
    at: Schema.optionalKey(Schema.String)
  })
  type List = typeof List.Type
  const parameters = Schema.Struct({
    customer: Schema.String,
    page: Schema.optionalKey(Schema.Int),
    limit: Schema.optionalKey(Schema.Int)
  })
  const base = { description: "", parameters, success: List, sideEffect: "none" } as const
  const handler = () => Effect.succeed({ orders: [], total: 0, hasMore: false })

  test("adds its failures to E when declared, and nothing else", () => {
    const plain = Tool.make("t", base, handler)
    expect<Failures<typeof plain>>().type.toBe<never>()
    const fresh = Tool.make("t", { ...base, asOf: ({ at }) => at, freshness: "1 hour", size: "limit" }, handler)
    expect<Failures<typeof fresh>>().type.toBe<never>()
    const empty = Tool.make("t", { ...base, empty: "No orders." }, handler)
    expect<Failures<typeof empty>>().type.toBe<SemanticGarbage>()
    const right = Tool.make(
      "t",
      { ...base, invariants: { "total is not negative": ({ total }) => total >= 0 } },
      handler
    )
    expect<Failures<typeof right>>().type.toBe<SchemaMismatch>()
    const paged = Tool.make("t", { ...base, pages: { more: "hasMore", next: "page" } }, handler)
    expect<Failures<typeof paged>>().type.toBe<PartialData<List>>()
    const reporting = Tool.make("t", { ...base, failed: true }, handler)
    expect<Failures<typeof reporting>>().type.toBe<SemanticGarbage | ToolUnavailable>()
  })

  test("knows the result and the parameters, and leaves the other inferred types", () => {
    const tool = Tool.make("search_orders", {
      description: "",
      parameters,
      success: List,
      sideEffect: "none",
      empty: {
        when: (value, params) => {
          expect(value).type.toBe<List>()
          expect(params).type.toBe<typeof parameters.Type>()
          return value.total === 0
        },
        detail: "No orders."
      },
      failed: (value, params) => {
        expect(value).type.toBe<List>()
        expect(params).type.toBe<typeof parameters.Type>()
        return value.total < 0 ? "There is no total." : undefined
      },
      invariants: {
        "there are as many as it says": ({ orders, total }, { limit = 1 }) => orders.length + limit === total
      },
      pages: (value, params) => {
        expect(value).type.toBe<List>()
        return value.hasMore ? { next: { ...params, page: 2 } } : undefined
      },
      asOf: (value) => {
        expect(value).type.toBe<List>()
        return value.at
      },
      freshness: "1 hour",
      size: "limit"
    }, (params) => {
      expect(params).type.toBe<typeof parameters.Type>()
      return Orders.use(() => Effect.succeed({ orders: [params.customer], total: 1, hasMore: false }))
    })
    expect(tool).type.toBe<
      Tool.Tool<
        "search_orders",
        typeof parameters.Type,
        List,
        SchemaMismatch | SemanticGarbage | PartialData<List> | ToolUnavailable,
        Orders
      >
    >()
  })

  test("names existing fields and parameters, in the supported forms", () => {
    expect(Tool.make).type.toBeCallableWith("t", { ...base, size: "limit" }, handler)
    expect(Tool.make).type.not.toBeCallableWith("t", { ...base, size: "total" }, handler)
    expect(Tool.make).type.not.toBeCallableWith("t", { ...base, pages: { more: "page", next: "page" } }, handler)
    expect(Tool.make).type.not.toBeCallableWith("t", { ...base, pages: { more: "hasMore", next: "total" } }, handler)
    expect(Tool.make).type.not.toBeCallableWith("t", { ...base, pages: { more: "hasMore" } }, handler)
    expect(Tool.make).type.not.toBeCallableWith("t", { ...base, empty: { hint: "Ask." } }, handler)
    expect(Tool.make).type.not.toBeCallableWith("t", { ...base, invariants: { "is so": () => "yes" } }, handler)
    expect(Tool.make).type.not.toBeCallableWith("t", { ...base, failed: false }, handler)
    expect(Tool.make).type.not.toBeCallableWith("t", { ...base, failed: "ok" }, handler)
    expect(Tool.make).type.not.toBeCallableWith("t", { ...base, failed: () => true }, handler)
    expect(Tool.make).type.not.toBeCallableWith(
      "t",
      { description: "", success: Schema.Array(Schema.String), empty: "None.", size: "limit" },
      () => Effect.succeed([])
    )
    expect(Tool.make).type.toBeCallableWith(
      "t",
      {
        description: "",
        parameters,
        success: Schema.Array(Schema.String),
        pages: { next: "page", full: "limit" }
      },
      () => Effect.succeed([])
    )
  })

  test("does not compile with an unknown field", () => {
    expect(Tool.make).type.not.toBeCallableWith(
      "t",
      { description: "", success: Schema.String, sideEffects: "none" },
      () => Effect.succeed("")
    )
  })

  test("may add any of its failures if the definition has the wide type", () => {
    const definition: Tool.Definition<List, typeof parameters.Type> = base
    const tool = Tool.make("t", definition, handler)
    expect<Failures<typeof tool>>().type.toBe<SchemaMismatch | SemanticGarbage | PartialData<List> | ToolUnavailable>()
    expect<Parameters<typeof tool.run>[0]>().type.toBe<typeof parameters.Type>()
    const conditional = Tool.make("t", { ...base, ...(Math.max(1) > 0 ? { empty: "No orders." } : {}) }, handler)
    expect<Failures<typeof conditional>>().type.toBe<SemanticGarbage>()
  })
})

describe("a combinator that handles a failure removes it from the type", () => {
  test("fallback: removes ToolUnavailable, adds the failures and requirements of the source", () => {
    const resilient = searchOrders.pipe(Tool.fallback(() => Cache.use(({ get }) => get)))
    expect<Failures<typeof resilient>>().type.toBe<SchemaMismatch | PartialData<Page> | SemanticGarbage>()
    expect<Tool.Requirements<typeof resilient>>().type.toBe<Orders | Cache>()

    const either = searchOrders.pipe(
      Tool.fallback(({ customer }, failure) =>
        customer === ""
          ? Effect.fail(new SemanticGarbage({ code: "c", detail: "d" }))
          : Effect.fail(new SchemaMismatch({ side: "result", code: "c", detail: failure.detail }))
      )
    )
    expect<Failures<typeof either>>().type.toBe<SchemaMismatch | PartialData<Page> | SemanticGarbage>()

    const stillFails = searchOrders.pipe(
      Tool.fallback((_, failure) => Effect.fail(new ToolUnavailable({ ...failure, detail: "No cache." })))
    )
    expect<Failures<typeof stillFails>>().type.toBe<Failures<typeof searchOrders>>()
  })

  test("fallback: the source gets the parameters and the failure, and must return the tool's type", () => {
    searchOrders.pipe(Tool.fallback((params, failure) => {
      expect(params).type.toBe<Params>()
      expect(failure).type.toBe<ToolUnavailable>()
      return Effect.succeed({ items: [], next: null })
    }))
    expect(searchOrders.pipe).type.not.toBeCallableWith(Tool.fallback(() => Effect.succeed("an order")))
  })

  test("catchTag: removes the named tags", () => {
    const one = searchOrders.pipe(Tool.catchTag("SemanticGarbage", (failure, params) => {
      expect(failure).type.toBe<SemanticGarbage>()
      expect(params).type.toBe<Params>()
      return Effect.succeed({ items: [], next: null })
    }))
    expect<Failures<typeof one>>().type.toBe<SchemaMismatch | PartialData<Page> | ToolUnavailable>()

    const many = Tool.catchTag(
      searchOrders,
      ["SemanticGarbage", "PartialData"],
      () => Effect.fail(new SchemaMismatch({ side: "result", code: "invalid_result", detail: "" }))
    )
    expect<Failures<typeof many>>().type.toBe<SchemaMismatch | ToolUnavailable>()
  })

  test("catchTag: does not compile with a tag that the tool does not have", () => {
    expect(ping.pipe).type.not.toBeCallableWith(Tool.catchTag("SemanticGarbage", () => Effect.succeed("")))
  })

  test("mapFailure: replaces all failures with the type that the function returns", () => {
    const mapped = searchOrders.pipe(
      Tool.mapFailure((failure) => {
        expect(failure).type.toBe<Failures<typeof searchOrders>>()
        return new SemanticGarbage({ code: "c", detail: failure.detail })
      })
    )
    expect<Failures<typeof mapped>>().type.toBe<SemanticGarbage>()
    expect(Tool.mapFailure).type.not.toBeCallableWith(() => new Error("no tool failure"))
    const ofNumbers = () => new PartialData({ code: "c", detail: "d", data: 1 })
    expect(Tool.mapFailure).type.not.toBeCallableWith(ping, ofNumbers)
    expect(Tool.catchTag).type.not.toBeCallableWith(searchOrders, "SemanticGarbage", () => Effect.fail(ofNumbers()))
  })
})

describe("a combinator that adds a failure or a requirement shows it in the type", () => {
  test("timeout: adds ToolUnavailable", () => {
    expect<Failures<ReturnType<typeof slow>>>().type.toBe<ToolUnavailable>()
    const slow = () => ping.pipe(Tool.timeout("5 seconds"))
  })

  test("retry: keeps the failures, and adds the requirements of the schedule", () => {
    const needy: Schedule.Schedule<number, ToolUnavailable, never, Cache> = Schedule.forever
    const retried = searchOrders.pipe(Tool.retry(needy))
    expect<Failures<typeof retried>>().type.toBe<Failures<typeof searchOrders>>()
    expect<Tool.Requirements<typeof retried>>().type.toBe<Orders | Cache>()
    expect(Tool.retry).type.toBeCallableWith(RetryPolicy.transient)
  })

  test("retry: does not compile with a schedule over another input than the failure", () => {
    const ofNumbers: Schedule.Schedule<number, number> = Schedule.setInputType<number>()(Schedule.forever)
    expect(Tool.retry).type.not.toBeCallableWith(ofNumbers)
  })
})

describe("Toolkit", () => {
  const toolkit = Toolkit.make(searchOrders, ping.pipe(Tool.fallback(() => Cache.use(() => Effect.succeed("")))))

  test("has the requirements and the failures of its tools", () => {
    expect<Toolkit.Requirements<typeof toolkit>>().type.toBe<Orders | Cache>()
    expect<Toolkit.Failure<typeof toolkit>>().type.toBe<Failures<typeof searchOrders>>()
    expect<Toolkit.Requirements<typeof Toolkit.empty>>().type.toBe<never>()
  })

  test("merges into the union of its tools", () => {
    const merged = Toolkit.merge(Toolkit.make(ping), Toolkit.make(searchOrders))
    expect(merged).type.toBe<Toolkit.Toolkit<typeof ping | typeof searchOrders>>()
  })

  test("an agent requires a model and the requirements of its toolkit, and fails only with AgentFailure", () => {
    const agent = Agent.make({ toolkit })
    expect(agent.run("")).type.toBe<
      Effect.Effect<Answer.Answer, AgentFailure.AgentFailure, Model.Model | Orders | Cache>
    >()
    expect<Agent.Requirements<typeof agent>>().type.toBe<Model.Model | Orders | Cache>()
    expect<Agent.Requirements<Agent.Agent<typeof ping, Orders>>>().type.toBe<Model.Model | Orders>()
  })

  test("dispatch cannot fail", () => {
    expect<ReturnType<typeof Dispatch.call<typeof ping>>>().type.toBe<Effect.Effect<ToolOutcome.ToolOutcome>>()
  })
})

describe("failures", () => {
  test("are matched exhaustively by their tag", () => {
    const next = (failure: ToolFailure.ToolFailure): string => {
      switch (failure._tag) {
        case "SchemaMismatch":
          return failure.side
        case "PartialData":
          return String(failure.data)
        case "SemanticGarbage":
          return failure.alternatives.join()
        case "ToolUnavailable":
          return String(failure.transient)
      }
    }
    expect(next).type.toBeCallableWith(new SemanticGarbage({ code: "c", detail: "d" }))
  })

  test("are yieldable", () => {
    const program = Effect.gen(function*() {
      return yield* new SemanticGarbage({ code: "c", detail: "d" })
    })
    expect(program).type.toBe<Effect.Effect<never, SemanticGarbage>>()
  })

  test("of dispatch have literal codes", () => {
    expect<Dispatch.Code>().type.toBe<
      | "unknown_tool"
      | "invalid_json"
      | "invalid_arguments"
      | "invalid_result"
      | "defect"
      | "not_run"
      | "interrupted"
      | "halted"
      | "disabled"
      | "call_limit"
      | "no_identity"
      | "repeated_call"
      | "already_done"
      | "in_doubt"
      | "loop_detected"
      | "not_approved"
    >()
  })

  test("have a scope of the arguments or the tool, and no other", () => {
    const fields = { code: "c", detail: "d", transient: false } as const
    expect(ToolUnavailable).type.toBeConstructableWith(fields)
    expect(ToolUnavailable).type.toBeConstructableWith({ ...fields, scope: "arguments" as const })
    expect(ToolUnavailable).type.not.toBeConstructableWith({ ...fields, scope: "record" as const })
    expect<ToolUnavailable["scope"]>().type.toBe<"arguments" | "tool" | undefined>()
  })

  test("know the type of a partial value's data", () => {
    const partial = Effect.succeed([1, 2]).pipe(Guard.partial(() => undefined))
    expect(partial).type.toBe<Effect.Effect<Array<number>, PartialData<Array<number>>>>()
  })
})
