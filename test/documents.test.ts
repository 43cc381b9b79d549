/**
 * Checks the documents: their examples run, the public API matches api.txt, and the pages that list match the docstrings.
 *
 * @module-tag slow
 */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { caught } from "./support/caught.ts"
import { claims } from "./support/claim.ts"
import { shapes } from "./support/errorShapes.ts"
import { root } from "./support/program.ts"
import { publicApi, publicApiFile, publicPackages } from "./support/publicApi.ts"
import { modelCodes, referencePages, toolCodes, writtenCodes, writtenDefaults } from "./support/reference.ts"
import { tsconfig, writeSnippets, wrongTypes } from "./support/snippets.ts"

const snippets = writeSnippets()
const isTestFile = (code: string) => code.includes("from \"@effect/vitest\"")
// The README's first example needs a model and a service: `readme.test.ts` runs it with both.
const needsServices = (code: string) => code.includes("process.env")

const compiler = join(root, "node_modules/typescript/bin/tsc")
let compiled: ReturnType<typeof compile>

/**
 * Compiles, once for all tests, the packages (whose declarations are the public API) and the examples that
 * use them.
 */
const compile = () => spawnSync(process.execPath, [compiler, "-b", ".", tsconfig], { cwd: root, encoding: "utf8" })

beforeAll(() => {
  compiled = compile()
})

it("compiles: packages, tests and all examples of documents", () => {
  const { status, stdout } = compiled
  assert.deepStrictEqual({ status, stdout }, { status: 0, stdout: "" })
})

describe("examples", () => {
  it("have the types that they claim", () => {
    assert.deepStrictEqual(wrongTypes(snippets), [])
  })

  for (const { at, code, file } of snippets.filter(({ code }) => !isTestFile(code) && !needsServices(code))) {
    it.live(`run, and have the values that they claim: ${at}`, () =>
      Effect.gen(function*() {
        claims.length = 0
        yield* Effect.promise(() => import(file))
        assert.strictEqual(claims.length, code.split("// =>").length - 1)
      }))
  }

  // The tests of such an example become tests of this file.
  for (const { at, file } of snippets.filter(({ code }) => isTestFile(code))) {
    describe(`run as test files: ${at}`, async () => {
      await import(file)
    })
  }

  it("are in every package, in the README and in the guides", () => {
    for (
      const place of [
        "packages/arguments",
        "packages/errors",
        "packages/core",
        "packages/providers",
        "packages/ai-sdk",
        "packages/testing",
        "README.md",
        "docs"
      ]
    ) {
      assert.isTrue(snippets.some(({ at }) => at.startsWith(place)), place)
    }
  })
})

// -----------------------------------------------------------------------------
// The public surface
// -----------------------------------------------------------------------------

describe("the public surface", () => {
  for (const name of publicPackages) {
    it(`of @fallible/${name} matches its api.txt (else: npx -y pnpm@12 api)`, () => {
      assert.strictEqual(publicApi(name), readFileSync(publicApiFile(name), "utf8"))
    })
  }
})

// -----------------------------------------------------------------------------
// Pages that list
// -----------------------------------------------------------------------------

describe("the reference", () => {
  for (const [file, page] of Object.entries(referencePages)) {
    it(`${file} says what the docstrings say (else: npx -y pnpm@12 api)`, () => {
      assert.strictEqual(readFileSync(join(root, file), "utf8"), page())
    })
  }

  it("says the defaults that the code fills in", () => {
    const defaults = writtenDefaults()
    assert.isAbove(defaults.length, 30)
    assert.deepStrictEqual(defaults.filter(({ filledIn, said }) => !filledIn.includes(said)), [])
  })

  it("explains each code of a tool's failures", () => {
    const { explained, typed } = toolCodes()
    assert.deepStrictEqual([...new Set(explained)].toSorted(), typed.toSorted())
  })

  it("explains each code that the sources write", () => {
    const known = new Set([...toolCodes().typed, ...modelCodes()])
    assert.deepStrictEqual(writtenCodes().filter((code) => !known.has(code)), [])
  })

  it("explains each code that an error of a library gets", () => {
    const known = new Set(toolCodes().typed)
    const codes = shapes.flatMap(({ error }) => caught(error())?.code ?? [])
    assert.deepStrictEqual(codes.filter((code) => !known.has(code)), [])
  })
})
