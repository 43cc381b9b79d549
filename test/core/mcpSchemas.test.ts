/** Tools made from the schemas of real MCP servers, as `bench/mcp/record.ts` has recorded them. */
import { assert, describe, it } from "@effect/vitest"
import { Tool } from "@fallible/core"
import * as Arguments from "@fallible/core/Arguments"
import * as Parameters from "@fallible/core/Parameters"
import { Effect, Schema } from "effect"
import { endingOf, whyNotMade } from "../support/foreignTools.ts"
import { recordedServers } from "../support/mcpSchemas.ts"
import { fittingValues } from "../support/schemaValues.ts"
import { closedParts } from "../support/shownSchemas.ts"

const permissive = /^(?:MIT|Apache-2\.0|ISC|BSD-\d-Clause|MIT AND Apache-2\.0)$/

const servers = recordedServers()

const make = (parameters: Parameters.Parameters<unknown>, success: Schema.Codec<unknown> = Schema.Unknown) =>
  Tool.make("probe", { description: "", parameters, success, sideEffect: "none" }, () => Effect.succeed(undefined))

describe("the recorded MCP servers", () => {
  it("are many, and their licences permit to keep their schemas here", () => {
    assert.isAtLeast(servers.length, 20)
    assert.isAtLeast(servers.flatMap(({ tools }) => tools).length, 400)
    for (const { licence, server } of servers) assert.match(licence, permissive, server)
  })

  it.effect.each(servers.map((server) => [server.server, server] as const))(
    "of %s: each tool is shown as the server wrote it, and takes what its schema allows",
    ([, { tools }]) =>
      Effect.gen(function*() {
        for (const { inputSchema, name, outputSchema } of tools) {
          const own = Parameters.fromJsonSchema(inputSchema)
          assert.isUndefined(whyNotMade(() => make(own))?.message, name)
          const shown = Arguments.jsonSchema(own)
          closedParts(shown, inputSchema)
          const values = fittingValues(shown, 3)
          assert.isNotEmpty(values, `${name}: ${JSON.stringify(shown)}`)
          for (const value of values) {
            const { detail, params } = yield* endingOf(own, JSON.stringify(value))
            assert.strictEqual(detail, "", `${name}: ${JSON.stringify(value)}`)
            assert.deepStrictEqual(params, value)
          }
          const inner = Parameters.inField(
            "request",
            Parameters.fromJsonSchema(inputSchema, { uncheckedRules: "accept" })
          )
          for (const value of values) {
            assert.strictEqual((yield* endingOf(inner, JSON.stringify({ request: value }))).detail, "", name)
          }
          if (outputSchema !== undefined) {
            assert.isUndefined(whyNotMade(() => make(own, Parameters.fromJsonSchema(outputSchema)))?.message, name)
          }
        }
      })
  )
})
