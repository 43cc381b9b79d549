import { assert, describe, it } from "@effect/vitest"
import { existsSync, globSync, readFileSync } from "node:fs"
import { basename, dirname, join, normalize, relative } from "node:path"
import { columns, table } from "../packages/core/src/internal/call/forward.ts"
import { root } from "./support/program.ts"

/** Splits a table row of ARCHITECTURE.md into cells, each as its names in backticks. */
const cellsOf = (row: string) =>
  row.split("|").slice(1, -1).map((cell) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, name]) => name!))

const rowsOf = (heading: string, columns: string) => {
  const section = readFileSync(join(root, "ARCHITECTURE.md"), "utf8").split(/^#+ /m)
    .find((section) => section.startsWith(heading))!
  const lines = section.split("\n")
  const first = lines.findIndex((line) => line.replaceAll(/ +/g, " ") === columns) + 2
  const rows = lines.slice(first, lines.findIndex((line, index) => index >= first && !line.startsWith("|")))
  assert.isAbove(rows.length, 4)
  return rows
}

/**
 * The floors of core from ARCHITECTURE.md, lowest first. Each has its public modules, and its rooms from
 * low to high.
 */
const floors = rowsOf("Floors and rooms of core", "| floor | public modules | rooms of `internal` |").toReversed().map(
  (row) => {
    const [, modules = [], rooms = []] = cellsOf(row)
    return { modules, rooms }
  }
)

const rooms = floors.flatMap(({ rooms }) => rooms)

/**
 * Modules of core that depend on unstable modules of `effect`. Each is a separate subpath that the index
 * never imports.
 */
const adapters = [
  "CircuitBreaker",
  "HttpFailure",
  "LastKnown",
  "ModelAdapter",
  "ModelProblem",
  "RateLimit",
  "SignedSuspension"
]

/** The unstable modules of `effect`. */
const unstable =
  /^effect\/(ai|cli|cluster|crypto|devtools|eventlog|graphql|http|http-api|observability|persistence|process|reactivity|rpc|socket|sql|workers|workflow)\b/

const allowed: Record<string, RegExp> = {
  "packages/arguments/src": /^\.\.?\//,
  "packages/errors/src": /^\.\.?\//,
  "packages/core/src": /^(effect\/|@fallible\/(arguments(\/internal)?|errors)$|\.\.?\/)/,
  "packages/providers/src": /^(effect\/|@fallible\/(arguments(\/internal)?|core(\/\w+)?)$|\.\.?\/)/,
  // The AI SDK only for its types.
  "packages/ai-sdk/src":
    /^(effect\/|@ai-sdk\/provider(-utils)?$|ai$|@fallible\/(arguments\/internal|core(\/\w+)?)$|\.\.?\/)/,
  "packages/testing/src": /^(effect\/|@fallible\/core(\/\w+)?$|node:http$|\.\.?\/)/,
  examples:
    /^(effect\/|ai$|zod$|react(-dom\/client)?$|@effect\/platform-node$|@fallible\/(core|testing|providers|ai-sdk)|@ai-sdk\/|node:|\.\.?\/)/
}

const sources = (folder: string) =>
  globSync("**/*.{ts,tsx}", { cwd: join(root, folder), exclude: (path) => /node_modules|dist|\.scratch/.test(path) })
    .map((file) => join(folder, file))

/** Returns every module that a file imports or re-exports, types included. Caches the result for each file. */
const importsOf = (file: string): ReadonlyArray<string> => {
  const cached = imports.get(file)
  if (cached !== undefined) return cached
  const specifiers = Array.from(
    withoutComments(readFileSync(join(root, file), "utf8")).matchAll(
      /^(?:import|export)\s(?:[^"]*?\sfrom\s)?"([^"]+)"/gm
    ),
    ([, module]) => module!
  )
  imports.set(file, specifiers)
  return specifiers
}

const imports = new Map<string, ReadonlyArray<string>>()

/** Returns the files of the same package that a file imports. */
const neighbours = (file: string) =>
  importsOf(file).filter((name) => name.startsWith(".")).map((name) => normalize(join(dirname(file), name)))

/** Returns the given files and all files that they import, directly or indirectly. */
const reachedFrom = (files: ReadonlyArray<string>): ReadonlySet<string> => {
  const reached = new Set(files)
  // A loop over a set also visits elements that are added during the loop, each once.
  for (const file of reached) for (const next of neighbours(file)) reached.add(next)
  return reached
}

const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, "")

const core = sources("packages/core/src")
const libraries = ["providers", "ai-sdk", "testing"].flatMap((name) => sources(`packages/${name}/src`))
const moduleName = (file: string) => relative("packages/core/src", file).replace(/\.ts$/, "")
const roomOf = (module: string) => /^internal\/([^/]+)\//.exec(module)?.[1]
const floorOf = (module: string) => {
  const room = roomOf(module)
  return floors.findIndex(({ modules, rooms }) => room === undefined ? modules.includes(module) : rooms.includes(room))
}
const innerImports = (file: string) => neighbours(file).map(moduleName)

describe("architecture", () => {
  it("lists every public module of core on one floor, and every internal folder as one room", () => {
    const modules = core.map(moduleName).filter((module) => module !== "index")
    assert.deepStrictEqual(
      floors.flatMap(({ modules }) => modules).toSorted(),
      modules.filter((module) => !module.startsWith("internal/")).toSorted()
    )
    const folders = modules.filter((module) => module.startsWith("internal/")).map((module) => roomOf(module) ?? module)
    assert.deepStrictEqual(rooms.toSorted(), Array.from(new Set(folders)).toSorted())
  })

  it("describes each room, and names the file to start with", () => {
    const roomRows = rowsOf("Floors and rooms of core", "| room | what it holds | start with |").map((row) => {
      const [[room] = [], , [start] = []] = cellsOf(row)
      return `internal/${room}/${start}`
    })
    assert.deepStrictEqual(roomRows.map(roomOf), rooms.toReversed())
    assert.includeMembers(core.map(moduleName), roomRows)
  })

  it("names only files that exist", () => {
    const files = new Set([
      ...core.map(moduleName),
      ...["packages/providers/src", "packages/ai-sdk/src"].flatMap((folder) =>
        sources(folder).map((file) => relative(folder, file).replace(/\.ts$/, ""))
      )
    ])
    const moduleNames = ["ARCHITECTURE.md", "DECISIONS.md"].flatMap((page) =>
      Array.from(readFileSync(join(root, page), "utf8").matchAll(/`(internal\/[\w/]+)`/g), ([, name]) => name!)
    )
    assert.isAbove(moduleNames.length, 10)
    assert.deepStrictEqual(
      moduleNames.filter((name) => !files.has(name) && !rooms.includes(name.replace("internal/", ""))),
      []
    )
  })

  it("shows what each scope passes on as it is", () => {
    const named = columns.map((role) => `\`${role}\``).join(" | ")
    const rows = rowsOf("The record of a call", `| event | ${named} |`).map((row) =>
      row.split("|").slice(1, -1).map((cell) => cell.trim())
    )
    // The words of the page for the functions of the table.
    const words: Readonly<Record<string, string>> = {
      asInner: "as `InnerStarted`",
      asPage: "as `PageStarted`",
      asSource: "as `SourceStarted`",
      named: "named",
      namedWithoutDoubt: "named, without doubt if read-only",
      ifLate: "named, if late"
    }
    const wordOf = (rule: string | { readonly name: string }) =>
      typeof rule === "string" ? rule === "pass" ? "passes" : "–" : words[rule.name] ?? rule.name
    assert.deepStrictEqual(
      rows,
      Object.entries(table).map(([event, rules]) => [`\`${event}\``, ...rules.map(wordOf)])
    )
  })

  it("imports from no higher room", () => {
    const climbing = core.flatMap((file) => {
      const from = roomOf(moduleName(file))
      return from === undefined ? [] : innerImports(file).filter((module) => {
        const to = roomOf(module)
        return to !== undefined && rooms.indexOf(to) > rooms.indexOf(from)
      }).map((module) => `${moduleName(file)} -> ${module}`)
    })
    assert.deepStrictEqual(climbing, [])
  })

  it("keeps the rooms of arguments in order: data, text, schema, coercion, top", () => {
    const rooms = [
      ["json", "memo", "options", "repair"],
      ["text/"],
      ["knownOptions", "refusal", "suggestion", "value"],
      ["schema/"],
      ["words"],
      ["coercion/"],
      [
        "Arguments",
        "checkedOptions",
        "explain",
        "findings",
        "fit",
        "index",
        "internal",
        "mask",
        "plain",
        "read",
        "secret",
        "strictJson"
      ]
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

  it("imports only from the same floor or lower ones", () => {
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
    // The path from the start of the search to the current file, in order.
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

  it("exports no internal module, not even in the exports map", () => {
    for (const name of ["core", "providers", "ai-sdk", "testing"]) {
      const manifest: { readonly exports: object; readonly publishConfig: { readonly exports: object } } = JSON.parse(
        readFileSync(join(root, "packages", name, "package.json"), "utf8")
      )
      assert.deepInclude(manifest.exports, { "./internal/*": null })
      assert.deepInclude(manifest.publishConfig.exports, { "./internal/*": null })
    }
    // The entry of arguments is there for the sister packages alone.
    const reaching = [...libraries, ...sources("examples")].filter((file) =>
      importsOf(file).some((name) =>
        /^@fallible\/.*internal/.test(name) && (name !== "@fallible/arguments/internal" || !libraries.includes(file))
      )
    )
    assert.deepStrictEqual(reaching, [])
  })

  for (const [folder, pattern] of Object.entries(allowed)) {
    it(`${folder} has only the dependencies it may have`, () => {
      const strangers = sources(folder).flatMap((file) =>
        importsOf(file).filter((name) => !pattern.test(name)).map((name) => `${file}: ${name}`)
      )
      assert.deepStrictEqual(strangers, [])
    })
  }

  it("takes only types from the AI SDK", () => {
    const values = sources("packages/ai-sdk/src").filter((file) =>
      /^import (?!type )[^"]*from "(@ai-sdk\/provider|ai)"/m.test(readFileSync(join(root, file), "utf8"))
    )
    assert.deepStrictEqual(values, [])
  })

  it("imports effect's modules one by one in libraries, and unstable ones only in core's adapters", () => {
    const steady = core.filter((file) => !adapters.includes(moduleName(file)))
    const wrong = [...core, ...libraries].flatMap((file) =>
      importsOf(file).filter((name) => name === "effect" || steady.includes(file) && unstable.test(name))
        .map((name) => `${file}: ${name}`)
    )
    assert.deepStrictEqual(wrong, [])
  })

  it("needs Node in no module that an index reaches", () => {
    const indexes = ["core", "providers", "ai-sdk", "testing"].map((name) => `packages/${name}/src/index.ts`)
    const reached = [...reachedFrom(indexes)]
    assert.isAbove(reached.length, 50)
    const needing = reached.filter((file) => importsOf(file).some((name) => name.startsWith("node:")))
    assert.deepStrictEqual(needing, [])
  })

  it("keeps explanations out of runs: no policy imports its simulation", () => {
    const running = ["Policy", "RetryPolicy", "internal/policy/retryLoop", "internal/tool/toolParts"]
    const reached = [...reachedFrom(running.map((module) => `packages/core/src/${module}.ts`))].map(moduleName)
    assert.include(reached, "internal/policy/retryWait")
    assert.deepStrictEqual(reached.filter((module) => module.startsWith("internal/explain/")), [])
  })

  it.each([
    { name: "arguments", expected: [] },
    { name: "errors", expected: [] },
    { name: "core", expected: ["@fallible/arguments", "@fallible/errors", "effect"] }
  ])(
    "declares the dependencies of $name in its manifest",
    ({ expected, name }) => {
      const manifest: { readonly dependencies?: object; readonly peerDependencies?: object } = JSON.parse(
        readFileSync(join(root, "packages", name, "package.json"), "utf8")
      )
      assert.deepStrictEqual(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }), expected)
    }
  )

  it("imports an adapter in no module of core that is none itself", () => {
    const others = core.filter((file) => !adapters.includes(moduleName(file)))
    const standing = others.flatMap((file) => innerImports(file).filter((module) => adapters.includes(module)))
    assert.deepStrictEqual(standing, [])
  })

  it("exports what most programs use from the index, and names every other module in its table", () => {
    const index = "packages/core/src/index.ts"
    const exported = new Set(importsOf(index).map((name) => basename(name, ".ts")))
    assert.isAtMost(exported.size, 14)
    const text = readFileSync(join(root, index), "utf8")
    const named = Array.from(text.matchAll(/^ \* \|.*/gm)).flatMap(([row]) =>
      Array.from(row.matchAll(/`(\w+)`/g), ([, name]) => name!)
    )
    const modules = core.map(moduleName).filter((module) => module !== "index" && !module.startsWith("internal/"))
    assert.deepStrictEqual(named.toSorted(), modules.filter((module) => !exported.has(module)).toSorted())
  })

  it("has every module that the repository's JavaScript imports, which no compiler checks", () => {
    const files = globSync("{bench,test}/**/*.mjs", { cwd: root, exclude: (path) => path.includes("node_modules") })
    const imported = files.flatMap((file) =>
      Array.from(
        readFileSync(join(root, file), "utf8").matchAll(/"@fallible\/(\w+)(?:\/(\w+))?"/g),
        ([, name, module = "index"]) => `packages/${name}/src/${module}.ts`
      )
    )
    assert.isAbove(imported.length, 5)
    assert.deepStrictEqual(imported.filter((file) => !existsSync(join(root, file))), [])
  })
})
