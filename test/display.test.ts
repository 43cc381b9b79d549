import { assert, describe, it } from "@effect/vitest"
import { join } from "node:path"
import ts from "typescript6"
import { root } from "./support/program.ts"

// TypeScript 7 has no compiler API yet. TypeScript 6 displays types in the same way.
const fixture = join(root, "test/types/display.fixture.ts")
const { config } = ts.readConfigFile(join(root, "test/types/tsconfig.json"), ts.sys.readFile)
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, join(root, "test/types"))

const handled = (handler: string) => `Tool.make("x", { description: "", success: Schema.String }, ${handler})`
const read = handled("() => new ToolUnavailable({ code: \"c\", detail: \"d\", transient: true })")

/** Wrong handlers, each with a part of the compiler's message. They are compiled, but no file contains them. */
const handlers: ReadonlyArray<readonly [mistake: string, handler: string, message: string]> = [
  [
    "a handler that fails with an Error",
    "() => Effect.fail(new Error(\"no\"))",
    "Type 'Error' is not assignable to type " +
    "'ToolFailure<string> | Advice<\"A tool fails with a ToolFailure. Add: Effect.mapError(ToolFailure.from)\">'"
  ],
  [
    "a generator that fails with an Error among others",
    "Effect.fnUntraced(function*() {\n" +
    "  yield* Effect.fail(new Error(\"no\"))\n" +
    "  return yield* new SemanticGarbage({ code: \"c\", detail: \"d\" })\n" +
    "})",
    "Advice<\"A tool fails with a ToolFailure. Add: Effect.mapError(ToolFailure.from)\">"
  ],
  [
    "a handler that fails with a tagged error",
    "() => Effect.fail(new RoomTaken())",
    "Type 'RoomTaken' is not assignable to type 'ToolFailure<string> | Advice<\"A tool fails with a ToolFailure. " +
    "Add: Effect.mapError(ToolFailure.fromTags({ RoomTaken: … }))\">'"
  ],
  [
    "a generator that fails with several tagged errors",
    "Effect.fnUntraced(function*() {\n" +
    "  yield* new SemanticGarbage({ code: \"c\", detail: \"d\" })\n" +
    "  yield* new RoomTaken()\n" +
    "  return yield* new RoomLocked()\n" +
    "})",
    "Add: Effect.mapError(ToolFailure.fromTags({ RoomTaken: …, RoomLocked: … }))\">"
  ],
  [
    "a handler whose errors lack a function for one of their tags",
    "() => Effect.fail<RoomTaken | RoomLocked>(new RoomTaken())" +
    ".pipe(Effect.mapError(ToolFailure.fromTags({ RoomLocked: () => new SemanticGarbage({ code: \"c\", detail: \"d\" }) })))",
    "Property 'RoomTaken' is missing in type '{ RoomLocked: () => SemanticGarbage; }' but required in type"
  ],
  [
    "a function for a tag that no error has",
    "() => Effect.fail(new RoomTaken())" +
    ".pipe(Effect.mapError(ToolFailure.fromTags({\n" +
    "RoomTaken: () => new SemanticGarbage({ code: \"c\", detail: \"d\" }),\n" +
    "RoomLocked: () => new SemanticGarbage({ code: \"c\", detail: \"d\" })\n" +
    "})))",
    "is not assignable to type '\"No error needs a function for the tag 'RoomLocked'.\"'"
  ],
  [
    "a handler that returns a promise",
    "async () => \"text\"",
    "Advice<\"This handler returns a promise. Use Tool.promise.\">"
  ],
  [
    "a handler that succeeds with another type",
    "() => Effect.succeed(1)",
    "Type 'number' is not assignable to type 'string'."
  ]
]

const mistakes: ReadonlyArray<readonly [mistake: string, code: string, message: string]> = [
  [
    "a check that fails with an Error",
    `${read}.pipe(Tool.reconcile(() => Effect.tryPromise(async () => Option.some("text"))))`,
    "Advice<\"This function must fail with a ToolFailure. Add: Effect.mapError(ToolFailure.from)\">"
  ],
  [
    "an async check that returns an Option",
    `${read}.pipe(Tool.reconcile(async () => Option.some("text")))`,
    "Type 'Promise<Option<string>>' is not assignable to type 'Promise<string | undefined>'."
  ],
  [
    "a fallback that returns a promise",
    `${read}.pipe(Tool.fallback(async () => "text"))`,
    "Advice<\"This function returns a promise. Wrap it in Effect.tryPromise, and add: Effect.mapError(ToolFailure.from)\">"
  ],
  [
    "a catch that fails with an Error",
    `${read}.pipe(Tool.catchTag("ToolUnavailable", () => Effect.fail(new Error("no"))))`,
    "Advice<\"This function must fail with a ToolFailure. Add: Effect.mapError(ToolFailure.from)\">"
  ],
  [
    "options in place of a retry's schedule",
    `${read}.pipe(Tool.retry({ attempts: 3 }))`,
    "Type 'number' is not assignable to type 'Advice<\"Write RetryPolicy.make({ attempts: 3 }).\">'."
  ],
  [
    "a catch on a tool that cannot fail",
    `${handled("() => Effect.succeed(\"\")")}.pipe(Tool.catchTag("ToolUnavailable", () => Effect.succeed("")))`,
    "Advice<\"This tool cannot fail, so there is nothing to catch.\">"
  ],
  [
    "a policy that adds a failure which it does not declare",
    "Policy.make({ kind: \"retry\", description: \"\", wrap: (run) => (params) =>\n" +
    "  Effect.andThen(run(params), Effect.fail(new SemanticGarbage({ code: \"c\", detail: \"d\" }))) })",
    "Advice<\"Declare the failures that the policy adds: Policy.make<never, SemanticGarbage>\">"
  ],
  [
    "an async handler that returns another type",
    "Tool.promise(\"t\", { description: \"\", success: Schema.Struct({ price: Schema.Number }) }, async () => ({ price: \"9\" }))",
    "Type 'Promise<{ price: string; }>' is not assignable to type 'Promise<NoInfer<{ readonly price: number; }>>'.\n" +
    "    Type '{ price: string; }' is not assignable to type '{ readonly price: number; }'."
  ],
  [
    "a recovery table without a tool that can fail",
    `Recover.table(Toolkit.make(${read}), {})`,
    "Property 'x' is missing in type '{}' but required in type 'Table<"
  ],
  [
    "a recovery table without a failure of a tool",
    `Recover.table(Toolkit.make(${read}), { x: {} })`,
    "Property 'ToolUnavailable' is missing in type '{}' but required in type"
  ],
  [
    "a recovery table for another tool",
    `Recover.table(Toolkit.make(${read}), { x: { ToolUnavailable: Recover.tell }, y: {} })`,
    "Advice<\"The toolkit has no tool 'y'.\">"
  ],
  [
    "a recovery table for a tool that cannot fail",
    `Recover.table(Toolkit.make(${handled("() => Effect.succeed(\"\")")}), { x: { ToolUnavailable: Recover.tell } })`,
    "Advice<\"x cannot fail. Remove this row.\">"
  ],
  [
    "a recovery table for a failure that a tool does not have",
    `Recover.table(Toolkit.make(${read}), { x: { ToolUnavailable: Recover.tell, PartialData: Recover.tell } })`,
    "Advice<\"x cannot fail with PartialData. Remove this entry.\">"
  ],
  [
    "an agent's option with a typing mistake",
    "Agent.make({ toolkit: Toolkit.empty, limit: { turns: 3 } })",
    "Did you mean to write 'limits'?"
  ],
  ...handlers.map(([mistake, handler, message]) => [mistake, handled(handler), message] as const)
]
const heading =
  "import { Agent, Policy, SemanticGarbage, Tool, ToolFailure, Toolkit, ToolUnavailable } from \"@fallible/core\"\n" +
  "import * as Recover from \"@fallible/core/Recover\"\n" +
  "import { Data, Effect, Option, Schema } from \"effect\"\n" +
  "class RoomTaken extends Data.TaggedError(\"RoomTaken\") {}\n" +
  "class RoomLocked extends Data.TaggedError(\"RoomLocked\") {}\n"
const wrong = new Map(
  mistakes.map((
    [, code],
    index
  ) => [join(root, `test/types/wrong${index}.ts`), `${heading}export const it = ${code}\n`])
)

const host = ts.createCompilerHost(options)
const program = ts.createProgram([fixture, ...wrong.keys()], {
  ...options,
  noErrorTruncation: true,
  noUnusedLocals: false
}, {
  ...host,
  fileExists: (file) => wrong.has(file) || host.fileExists(file),
  readFile: (file) => wrong.get(file) ?? host.readFile(file),
  getSourceFile: (file, language) => {
    const text = wrong.get(file)
    return text === undefined ? host.getSourceFile(file, language) : ts.createSourceFile(file, text, language)
  }
})
const checker = program.getTypeChecker()

const errorsIn = (file: string): ReadonlyArray<string> =>
  ts.getPreEmitDiagnostics(program, program.getSourceFile(file)).map(({ messageText }) =>
    ts.flattenDiagnosticMessageText(messageText, "\n")
  )

const displayed = (name: string): string => {
  const module = checker.getSymbolAtLocation(program.getSourceFile(fixture)!)!
  const symbol = checker.getExportsOfModule(module).find((symbol) => symbol.name === name)!
  return checker.typeToString(checker.getTypeOfSymbol(symbol))
}

describe("types display", () => {
  it("compiles the fixture", () => {
    assert.deepStrictEqual(errorsIn(fixture), [])
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
      ["run", "Effect<Answer, AgentFailure, Model | OrdersApi>"],
      ["stream", "Stream<AgentEvent<Answer>, Failed, Model | OrdersApi>"],
      ["event", "AgentEvent<Answer>"],
      ["callEvent", "CallEvent"],
      ["ended", "CallEnded"],
      ["retried", "FailureHandled & InCall"]
    ] as const
  ) {
    it(`shows the type of ${name}`, () => {
      assert.strictEqual(sorted(displayed(name)), sorted(display))
    })
  }
})

describe("the compiler explains", () => {
  const files = Array.from(wrong.keys())
  for (const [index, [mistake, , message]] of mistakes.entries()) {
    it(mistake, () => {
      const [error = "", ...others] = errorsIn(files[index] ?? "")
      assert.include(error, message)
      assert.deepStrictEqual(others, [])
    })
  }

  it("only the mistake that was made", () => {
    assert.notInclude(errorsIn(files.at(-1) ?? "").join(), "Advice")
  })
})

// The compiler decides the order of union members, so they are sorted before comparison.
const sorted = (display: string): string =>
  display.replace(/[\w.]+(?: \| [\w.]+)+/g, (union) => union.split(" | ").toSorted().join(" | "))
