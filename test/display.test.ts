import { assert, describe, it } from "@effect/vitest"
import { join } from "node:path"
import ts from "typescript6"
import { root } from "./support/program.ts"

// TypeScript 7 has no compiler API yet. TypeScript 6 displays types in the same way.
const fixture = join(root, "test/types/display.fixture.ts")
const { config } = ts.readConfigFile(join(root, "test/types/tsconfig.json"), ts.sys.readFile)
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, join(root, "test/types"))
const program = ts.createProgram([fixture], { ...options, noErrorTruncation: true })
const checker = program.getTypeChecker()

const displayed = (name: string): string => {
  const module = checker.getSymbolAtLocation(program.getSourceFile(fixture)!)!
  const symbol = checker.getExportsOfModule(module).find((symbol) => symbol.name === name)!
  return checker.typeToString(checker.getTypeOfSymbol(symbol))
}

describe("types display", () => {
  it("compiles the fixture", () => {
    assert.deepStrictEqual(
      ts.getPreEmitDiagnostics(program, program.getSourceFile(fixture)).map(({ messageText }) => messageText),
      []
    )
  })

  for (
    const [name, display] of [
      [
        "searchOrders",
        "Tool<\"search_orders\", { readonly customer: string; }, OrdersPage, " +
        "SchemaMismatch | SemanticGarbage | ToolUnavailable, OrdersApi>"
      ],
      [
        "resilient",
        "Tool<\"search_orders\", { readonly customer: string; }, OrdersPage, " +
        "SchemaMismatch | SemanticGarbage, OrdersApi>"
      ],
      ["plain", "Tool<\"plain\", {}, string, never, never>"],
      ["toolkit", "Toolkit<Tool<\"plain\", {}, string, never, never>>"],
      ["run", "Effect<Answer, AgentFailure, Model | OrdersApi>"]
    ] as const
  ) {
    it(`shows the type of ${name}`, () => {
      assert.strictEqual(sorted(displayed(name)), sorted(display))
    })
  }
})

// The compiler decides the order of union members, so they are sorted before comparison.
const sorted = (display: string): string =>
  display.replace(/[\w.]+(?: \| [\w.]+)+/g, (union) => union.split(" | ").toSorted().join(" | "))
