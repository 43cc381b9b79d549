import {
  PartialData,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  type ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as Recover from "@fallible/core/Recover"
import { Context, Effect, Schema } from "effect"
import { describe, expect, test } from "tstyche"

class Almanac extends Context.Service<Almanac, {
  readonly find: (city: string) => Effect.Effect<string, SemanticGarbage>
}>()("Almanac") {}
class Bank extends Context.Service<Bank, { readonly rate: Effect.Effect<number, ToolUnavailable> }>()("Bank") {}

const unavailable = new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })
const garbage = new SemanticGarbage({ code: "unknown_city", detail: "Unknown." })
const mismatch = new SchemaMismatch({ side: "result", code: "invalid_result", detail: "No total." })

interface InCity {
  readonly city: string
}

const weather = Tool.make(
  "get_weather",
  { description: "", parameters: Schema.Struct({ city: Schema.String }), success: Schema.String },
  ({ city }): Effect.Effect<string, SemanticGarbage | ToolUnavailable> =>
    Effect.fail(city === "" ? garbage : unavailable)
)
const rate = Tool.make("get_rate", { description: "", success: Schema.Finite }, () => Bank.use(({ rate }) => rate))
const orders = Tool.make(
  "get_orders",
  { description: "", success: Schema.Array(Schema.String) },
  () => Effect.fail(new PartialData({ code: "more_pages", detail: "1 of 2.", data: ["a"] }))
)
const ping = Tool.make("ping", { description: "", success: Schema.String }, () => Effect.succeed("pong"))

const toolkit = Toolkit.make(weather, rate, orders, ping)
const told = { SemanticGarbage: Recover.tell, ToolUnavailable: Recover.tell }
const rest = { get_rate: { ToolUnavailable: Recover.tell }, get_orders: { PartialData: Recover.tell } }

type Weather<E extends ToolFailure.ToolFailure, R = never> = Tool.Tool<"get_weather", InCity, string, E, R>

describe("Recover.table", () => {
  test("removes what functions handle from E, and leaves the other tools as they are", () => {
    const recovered = Recover.table(toolkit, {
      get_weather: { SemanticGarbage: Recover.tell, ToolUnavailable: () => Effect.succeed("rain") },
      get_rate: { ToolUnavailable: () => Effect.succeed(1) },
      get_orders: { PartialData: ({ data }) => Effect.succeed(data) }
    })
    expect(recovered).type.toBe<
      Toolkit.Toolkit<
        | Weather<SemanticGarbage>
        | Tool.Tool<"get_rate", {}, number, never, Bank>
        | Tool.Tool<"get_orders", {}, ReadonlyArray<string>>
        | typeof ping
      >
    >()
    expect<Toolkit.Failure<typeof recovered>>().type.toBe<SemanticGarbage>()
    expect(Recover.table(toolkit, { get_weather: told, ...rest })).type.toBe<typeof toolkit>()
  })

  test("knows the failure and the parameters by the entry's place", () => {
    Recover.table(toolkit, {
      get_weather: {
        SemanticGarbage: (failure, params) => {
          expect(failure).type.toBe<SemanticGarbage>()
          expect(params).type.toBe<InCity>()
          return Effect.succeed("")
        },
        ToolUnavailable: {
          ask: (params, failure) => {
            expect(failure).type.toBe<ToolUnavailable>()
            expect(params).type.toBe<InCity>()
            return ""
          },
          use: (reply, { city }, { code }) => Effect.succeed(`${reply} ${city} ${code}`)
        }
      },
      get_rate: {
        ToolUnavailable: (_, params) => {
          expect(params).type.toBe<{}>()
          return Effect.succeed(1)
        }
      },
      get_orders: {
        PartialData: (failure) => {
          expect(failure).type.toBe<PartialData<Array<string>>>()
          return Effect.succeed(failure.data)
        }
      }
    })
  })

  test("adds what entries fail with, and the services that they need", () => {
    const recovered = Recover.table(Toolkit.make(weather), {
      get_weather: {
        SemanticGarbage: () => Effect.fail(mismatch),
        ToolUnavailable: (_, { city }) => Almanac.use(({ find }) => find(city))
      }
    })
    expect(recovered).type.toBe<Toolkit.Toolkit<Weather<SchemaMismatch | SemanticGarbage, Almanac>>>()
    expect<Toolkit.Requirements<typeof recovered>>().type.toBe<Almanac>()
  })

  test("keeps ToolUnavailable if the user is asked, because refusals are told", () => {
    const asking = Recover.table(Toolkit.make(weather), {
      get_weather: {
        SemanticGarbage: () => Effect.succeed(""),
        ToolUnavailable: { ask: ({ city }) => city, use: (reply) => Almanac.use(({ find }) => find(reply)) }
      }
    })
    expect(asking).type.toBe<Toolkit.Toolkit<Weather<ToolUnavailable | SemanticGarbage, Almanac>>>()
    const hinting = Recover.table(Toolkit.make(weather), {
      get_weather: { SemanticGarbage: () => Effect.succeed(""), ToolUnavailable: { ask: ({ city }) => city } }
    })
    expect(hinting).type.toBe<Toolkit.Toolkit<Weather<ToolUnavailable>>>()
  })

  test("keeps a failure that one of two entries tells", () => {
    const isKnown = true as boolean
    const recovered = Recover.table(Toolkit.make(weather), {
      get_weather: { SemanticGarbage: isKnown ? Recover.tell : () => Effect.succeed(""), ToolUnavailable: Recover.tell }
    })
    expect(recovered).type.toBe<Toolkit.Toolkit<typeof weather>>()
  })

  test("knows what entries may fail with that were declared elsewhere", () => {
    const entry: Recover.Ask<InCity, Effect.Effect<string, SchemaMismatch>> = { ask: ({ city }) => city }
    const table: Recover.Table<typeof weather> = {
      get_weather: { SemanticGarbage: Recover.tell, ToolUnavailable: entry }
    }
    const { get_weather } = table
    expect(Recover.table(Toolkit.make(weather), { get_weather: { ...get_weather, ToolUnavailable: entry } })).type.toBe<
      Toolkit.Toolkit<Weather<ToolFailure.ToolFailure<string>, unknown>>
    >()
    expect(
      Recover.table(Toolkit.make(weather), { get_weather: { SemanticGarbage: Recover.tell, ToolUnavailable: entry } })
    ).type.toBe<Toolkit.Toolkit<Weather<SemanticGarbage | ToolUnavailable | SchemaMismatch>>>()
  })

  test("needs a row for every tool that can fail, and an entry for every tag", () => {
    // @ts-expect-error Property 'get_weather' is missing
    Recover.table(toolkit, rest)
    // @ts-expect-error Property 'ToolUnavailable' is missing
    Recover.table(toolkit, { get_weather: { SemanticGarbage: Recover.tell }, ...rest })
  })

  test("has no other row, and no other entry", () => {
    Recover.table(toolkit, {
      get_weather: told,
      ...rest,
      // @ts-expect-error The toolkit has no tool 'get_wether'.
      get_wether: told
    })
    Recover.table(toolkit, {
      get_weather: told,
      ...rest,
      // @ts-expect-error ping cannot fail. Remove this row.
      ping: { ToolUnavailable: Recover.tell }
    })
    Recover.table(toolkit, {
      get_weather: {
        ...told,
        // @ts-expect-error get_weather cannot fail with PartialData. Remove this entry.
        PartialData: () => Effect.succeed("")
      },
      ...rest
    })
    Recover.table(toolkit, {
      get_weather: {
        ...told,
        // @ts-expect-error get_weather cannot fail with Timeout. Remove this entry.
        Timeout: Recover.tell
      },
      ...rest
    })
    expect(Recover.table(Toolkit.make(ping), {})).type.toBe<Toolkit.Toolkit<typeof ping>>()
  })

  test("has entries of three kinds", () => {
    const weatherBy = <Entry>(SemanticGarbage: Entry) => ({ get_weather: { ...told, SemanticGarbage }, ...rest })
    // @ts-expect-error is not assignable
    Recover.table(toolkit, weatherBy("tell"))
    // @ts-expect-error Type 'number' is not assignable to type 'string'
    Recover.table(toolkit, { get_weather: { ...told, SemanticGarbage: () => Effect.succeed(1) }, ...rest })
    // @ts-expect-error This function must fail with a ToolFailure. Add: Effect.mapError(ToolFailure.from)
    Recover.table(toolkit, { get_weather: { ...told, SemanticGarbage: () => Effect.fail(new Error("")) }, ...rest })
    // @ts-expect-error 'ask' does not exist in type
    Recover.table(toolkit, { get_weather: { ...told, SemanticGarbage: { ask: () => "" } }, ...rest })
    Recover.table(toolkit, {
      // @ts-expect-error Type 'number' is not assignable to type 'string'
      get_weather: { ...told, ToolUnavailable: { ask: () => "", use: () => Effect.succeed(1) } },
      ...rest
    })
  })
})
