import { Arguments, Tool } from "@fallible/core"
import { Effect, Schema } from "effect"
import { describe, expect, test } from "tstyche"

const search = Tool.make("search", {
  description: "Searches",
  parameters: Schema.Struct({ query: Schema.String }),
  success: Schema.String
}, ({ query }) => Effect.succeed(query))

const store = Tool.make("store", {
  description: "Stores anything",
  parameters: Schema.Record(Schema.String, Schema.Json),
  success: Schema.String
}, () => Effect.succeed("stored"))

describe("arguments that are still streaming in", () => {
  const { soFar } = Arguments.preview("{\"query\":\"a")

  test("are no parameters of any tool, and no arguments of a call", () => {
    expect(search.run).type.not.toBeCallableWith(soFar)
    expect(store.run).type.not.toBeCallableWith(soFar)
    expect(Arguments.decode).type.not.toBeCallableWith(soFar, search)
  })

  test("may lack any member", () => {
    expect(soFar["query"]).type.toBe<Arguments.PreviewValue | undefined>()
  })
})

describe("decoded arguments", () => {
  test("are what the tool declares", () => {
    const decoded = Arguments.decode("{}", search)
    expect(decoded).type.toBeAssignableTo<Effect.Effect<Arguments.Decoded<{ readonly query: string }>, unknown>>()
  })
})
