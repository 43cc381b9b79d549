/** Tools made from the schemas of real MCP servers, as `bench/mcp/record.ts` has recorded them. */
import { assert, describe, it } from "@effect/vitest"
import type { Json, JsonSchema } from "@fallible/arguments"
import { Tool } from "@fallible/core"
import * as Arguments from "@fallible/core/Arguments"
import * as Parameters from "@fallible/core/Parameters"
import { Effect, Schema } from "effect"
import { callOf, endingOf, whyNotMade } from "../support/foreignTools.ts"
import { recordedServers } from "../support/mcpSchemas.ts"
import { fittingValues } from "../support/schemaValues.ts"
import { closedParts } from "../support/shownSchemas.ts"

const permissive = /^(?:MIT|Apache-2\.0|ISC|BSD-\d-Clause|MIT AND Apache-2\.0)$/

const servers = recordedServers()

const make = (parameters: Parameters.Parameters<unknown>) =>
  Tool.make("probe", { description: "", parameters, success: Schema.Void, sideEffect: "none" }, () => Effect.void)

// The file has nothing else.
const asJsonSchema = (recorded: object) => recorded as JsonSchema

// MCP demands an object as the result.
const asObject = (result: Json) => result as Schema.JsonObject

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
          if (outputSchema === undefined) continue
          const success = Parameters.fromJsonSchema(outputSchema)
          for (const result of fittingValues(asJsonSchema(outputSchema), 2)) {
            const tool = Tool.make("probe", { description: "", success, sideEffect: "none" }, () =>
              Effect.succeed(asObject(result)))
            const outcome = yield* callOf(tool, "{}")
            assert.deepStrictEqual(outcome._tag === "Completed" ? outcome.value : outcome, result, name)
          }
        }
      })
  )
})
