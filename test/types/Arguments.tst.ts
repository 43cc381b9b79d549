import { Tool } from "@fallible/core"
import * as Arguments from "@fallible/core/Arguments"
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

const lax = Tool.make("lax", {
  description: "Takes anything it knows",
  parameters: Schema.Struct({ query: Schema.optionalKey(Schema.String) }),
  success: Schema.String
}, () => Effect.succeed("done"))

describe("arguments that are still streaming", () => {
  const { soFar } = Arguments.preview("{\"query\":\"a")

  test("are not assignable to the parameters of a tool, nor to the arguments of a call", () => {
    expect(search.run).type.not.toBeCallableWith(soFar)
    expect(store.run).type.not.toBeCallableWith(soFar)
    expect(Arguments.decode).type.not.toBeCallableWith(soFar, search)
  })

  test("are not assignable to parameters that are all optional either", () => {
    expect(lax.run).type.not.toBeCallableWith(soFar)
  })
})

describe("decoded arguments", () => {
  test("have the type that the tool declares", () => {
    const decoded = Arguments.decode("{}", search)
    expect(decoded).type.toBeAssignableTo<Effect.Effect<Arguments.Decoded<{ readonly query: string }>, unknown>>()
  })
})
