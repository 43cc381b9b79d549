import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { basename, dirname, join, normalize, relative } from "node:path"
import { root } from "./support/program.ts"

/** The floors of core: a module imports from its own floor and from those below, and from no other. */
const floors: ReadonlyArray<readonly [name: string, modules: ReadonlyArray<string>]> = [
  ["data", [
    "Deadline",
    "Defect",
    "CallEvent",
    "Certainty",
    "FailureLog",
    "LateResult",
    "Ledger",
    "SideEffect",
    "ToolFailure",
    "ToolCall",
    "ToolOutcome",
    "Transcript",
    "internal/appendOnly",
    "internal/call",
    "internal/callState",
    "internal/canonical",
    "internal/containment",
    "internal/digest",
    "internal/done",
    "internal/ending",
    "internal/error/database",
    "internal/error/describe",
    "internal/error/effects",
    "internal/error/format",
    "internal/error/guess",
    "internal/error/kind",
    "internal/error/look",
    "internal/error/mail",
    "internal/error/prose",
    "internal/error/recognize",
    "internal/error/retryAfter",
    "internal/error/rpc",
    "internal/error/sentences",
    "internal/error/status",
    "internal/error/stores",
    "internal/error/system",
    "internal/error/words",
    "internal/execution",
    "internal/failure",
    "internal/failureField",
    "internal/frame",
    "internal/handled",
    "internal/heard",
    "internal/key",
    "internal/hearing",
    "internal/live",
    "internal/policyKind",
    "internal/signal",
    "internal/plainJson",
    "internal/refusal",
    "internal/repair",
    "internal/reporter",
    "internal/stranger",
    "internal/text",
    "internal/tried",
    "internal/userCode",
    "internal/versioned"
  ]],
  ["decode", [
    "Arguments",
    "Coercion",
    "DispatchFailure",
    "Guard",
    "Suggestion",
    "internal/encodedSide",
    "internal/findings",
    "internal/identity",
    "internal/intended",
    "internal/jsonSchema",
    "internal/misfit",
    "internal/resultIssues",
    "internal/resultText"
  ]],
  ["tool", [
    "CircuitBreaker",
    "Explanation",
    "Fixer",
    "HttpFailure",
    "LastKnown",
    "Policy",
    "RateLimit",
    "Rejection",
    "RetryBudget",
    "RetryPolicy",
    "Tool",
    "ToolHealth",
    "internal/abandonable",
    "internal/bounds",
    "internal/bulkhead",
    "internal/callOutcome",
    "internal/contract",
    "internal/customPolicy",
    "internal/explaining",
    "internal/correcting",
    "internal/fixed",
    "internal/fixer",
    "internal/fixing",
    "internal/limits",
    "internal/alone",
    "internal/nextPage",
    "internal/own",
    "internal/pages",
    "internal/policyCall",
    "internal/promised",
    "internal/randomId",
    "internal/reconciling",
    "internal/running",
    "internal/withinTime",
    "internal/retrying",
    "internal/stepping",
    "internal/terms",
    "internal/tripped",
    "internal/unlimited"
  ]],
  ["toolkit", ["Availability", "CallFacts", "Dispatch", "Rendering", "Toolkit", "internal/admitting"]],
  ["agent", [
    "Agent",
    "AgentBudget",
    "AgentEvent",
    "AgentFailure",
    "AgentLoop",
    "Answer",
    "Journal",
    "Model",
    "internal/account",
    "internal/ask",
    "internal/beginning",
    "internal/given",
    "internal/issues",
    "internal/recorded",
    "internal/reply",
    "internal/runTime",
    "internal/spending"
  ]]
]

/** Modules of core that stand on what `effect` may still change: each is a subpath of its own, which the index never imports. */
const adapters = ["CircuitBreaker", "HttpFailure", "LastKnown", "RateLimit"]

/** What `effect` may still change. */
const unstable =
  /^effect\/(ai|cli|cluster|devtools|eventlog|graphql|http|http-api|observability|persistence|process|reactivity|rpc|socket|sql|workers|workflow)\b/

const allowed: Record<string, RegExp> = {
  "packages/arguments/src": /^\.\.?\//,
  "packages/core/src": /^(effect\/|@fallible\/arguments(\/sentence)?$|\.\.?\/)/,
  "packages/providers/src": /^(effect\/|@fallible\/(arguments|core)$|\.\.?\/)/,
  "packages/testing/src": /^(effect\/|@fallible\/core$|node:http$|\.\.?\/)/,
  examples: /^(effect\/|@effect\/platform-node$|@fallible\/(core|testing|providers|effect-ai)|node:|\.\.?\/)/
}

const sources = (folder: string) =>
  globSync("**/*.ts", { cwd: join(root, folder), exclude: (path) => /node_modules|dist|\.scratch/.test(path) })
    .map((file) => join(folder, file))

/** Every module that a file imports or re-exports from, types included. A file is read once, whoever asks. */
const importsOf = (file: string): ReadonlyArray<string> => {
  const known = imports.get(file)
  if (known !== undefined) return known
  const found = Array.from(
    withoutComments(readFileSync(join(root, file), "utf8")).matchAll(
      /^(?:import|export)\s(?:[^"]*?\sfrom\s)?"([^"]+)"/gm
    ),
    ([, module]) => module!
  )
  imports.set(file, found)
  return found
}

const imports = new Map<string, ReadonlyArray<string>>()

/** The files of the same package that a file imports. */
const neighbours = (file: string) =>
  importsOf(file).filter((name) => name.startsWith(".")).map((name) => normalize(join(dirname(file), name)))

/** Some files, and all that they reach by way of neighbours. */
const reachedFrom = (files: ReadonlyArray<string>): ReadonlySet<string> => {
  const reached = new Set(files)
  // A loop over a set comes to what is added meanwhile, and to each file once.
  for (const file of reached) for (const next of neighbours(file)) reached.add(next)
  return reached
}

const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, "")

const core = sources("packages/core/src")
const libraries = [...sources("packages/providers/src"), ...sources("packages/testing/src")]
const moduleName = (file: string) => relative("packages/core/src", file).replace(/\.ts$/, "")
const floorsOf = new Map(floors.flatMap(([, modules], floor) => modules.map((module) => [module, floor])))
const floorOf = (module: string) => floorsOf.get(module) ?? -1
const innerImports = (file: string) => neighbours(file).map(moduleName)

describe("architecture", () => {
  it("gives every module of core one floor", () => {
    const modules = core.map(moduleName).filter((module) => module !== "index")
    assert.deepStrictEqual(floors.flatMap(([, modules]) => modules).toSorted(), modules.toSorted())
  })

  it("keeps the rooms of arguments in their order: data, text, schema, coercion, and what is made of them", () => {
    const rooms = [
      ["json", "memo", "options", "repair"],
      ["text/"],
      ["refusal", "suggestion", "value"],
      ["schema/"],
      ["finding", "words"],
      ["coercion/"],
      ["explain", "fit", "index", "read", "secret", "sentence", "strict"]
    ]
    const floorOf = (module: string) =>
      rooms.findIndex((room) => room.some((name) => name.endsWith("/") ? module.startsWith(name) : module === name))
    const name = (file: string) => relative("packages/arguments/src", file).replace(/\.ts$/, "")
    const files = sources("packages/arguments/src")
    assert.deepStrictEqual(files.map(name).filter((module) => floorOf(module) === -1), [])
    const climbing = files.flatMap((file) =>
      neighbours(file).map(name).filter((module) => floorOf(module) > floorOf(name(file)))
        .map((module) => `${name(file)} -> ${module}`)
    )
    assert.deepStrictEqual(climbing, [])
  })

  it("imports from the same floor or lower ones alone", () => {
    const climbing = core.filter((file) => basename(file) !== "index.ts").flatMap((file) =>
      innerImports(file).filter((module) => floorOf(module) > floorOf(moduleName(file))).map((module) =>
        `${moduleName(file)} -> ${module}`
      )
    )
    assert.deepStrictEqual(climbing, [])
  })

  it("has no cycles, types included", () => {
    const graph = new Map(core.map((file) => [moduleName(file), innerImports(file)]))
    const cycles: Array<string> = []
    // The way to where the search is, in its order.
    const path = new Set<string>()
    const finished = new Set<string>()
    const visit = (module: string) => {
      if (path.has(module)) cycles.push([...[...path].slice([...path].indexOf(module)), module].join(" -> "))
      else if (!finished.has(module)) {
        path.add(module)
        for (const next of graph.get(module) ?? []) visit(next)
        path.delete(module)
        finished.add(module)
      }
    }
    for (const module of graph.keys()) visit(module)
    assert.deepStrictEqual(cycles, [])
  })

  it("keeps internals inside, in the exports map too", () => {
    for (const name of ["core", "providers", "testing"]) {
      const manifest: { readonly exports: object; readonly publishConfig: { readonly exports: object } } = JSON.parse(
        readFileSync(join(root, "packages", name, "package.json"), "utf8")
      )
      assert.deepInclude(manifest.exports, { "./internal/*": null })
      assert.deepInclude(manifest.publishConfig.exports, { "./internal/*": null })
    }
    const reaching = [...libraries, ...sources("examples")].filter((file) =>
      importsOf(file).some((name) => /^@fallible\/.*internal/.test(name))
    )
    assert.deepStrictEqual(reaching, [])
  })

  for (const [folder, pattern] of Object.entries(allowed)) {
    it(`${folder} depends on nothing that it may not`, () => {
      const strangers = sources(folder).flatMap((file) =>
        importsOf(file).filter((name) => !pattern.test(name)).map((name) => `${file}: ${name}`)
      )
      assert.deepStrictEqual(strangers, [])
    })
  }

  it("imports effect's modules one by one in libraries, and unstable ones in core's adapters alone", () => {
    const steady = core.filter((file) => !adapters.includes(moduleName(file)))
    const wrong = [...core, ...libraries].flatMap((file) =>
      importsOf(file).filter((name) => name === "effect" || steady.includes(file) && unstable.test(name))
        .map((name) => `${file}: ${name}`)
    )
    assert.deepStrictEqual(wrong, [])
  })

  it("needs Node in no module that an index lets in", () => {
    const indexes = ["core", "providers", "testing"].map((name) => `packages/${name}/src/index.ts`)
    const reached = [...reachedFrom(indexes)]
    assert.isAbove(reached.length, 50)
    const needing = reached.filter((file) => importsOf(file).some((name) => name.startsWith("node:")))
    assert.deepStrictEqual(needing, [])
  })

  it("explains outside of what runs: no retry reaches what simulates one", () => {
    const running = ["RetryPolicy", "internal/retrying"].map((module) => `packages/core/src/${module}.ts`)
    const reached = [...reachedFrom(running)].map(moduleName)
    assert.include(reached, "internal/terms")
    for (const module of ["internal/bounds", "internal/explaining", "internal/stepping"]) {
      assert.notInclude(reached, module)
    }
  })

  it.each([{ name: "arguments", expected: [] }, { name: "core", expected: ["@fallible/arguments", "effect"] }])(
    "says in the manifest of $name what it stands on",
    ({ expected, name }) => {
      const manifest: { readonly dependencies?: object; readonly peerDependencies?: object } = JSON.parse(
        readFileSync(join(root, "packages", name, "package.json"), "utf8")
      )
      assert.deepStrictEqual(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }), expected)
    }
  )

  it("lets no module of core stand on an adapter", () => {
    const standing = core.flatMap((file) => innerImports(file).filter((module) => adapters.includes(module)))
    assert.deepStrictEqual(standing, [])
  })

  it("exports every module from the index under its own name, but for adapters and the loop, which Agent runs", () => {
    const exported = importsOf("packages/core/src/index.ts").map((name) => basename(name, ".ts"))
    const modules = core.map(moduleName).filter((module) => module !== "index" && !module.startsWith("internal/"))
    assert.deepStrictEqual([...new Set([...exported, ...adapters, "AgentLoop"])].toSorted(), modules.toSorted())
    assert.notInclude(exported, "AgentLoop")
  })
})
