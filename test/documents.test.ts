/**
 * Checks the documents: their examples run, their commands print the shown output, and the public API
 * matches api.txt.
 *
 * @module-tag slow
 */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import * as Planner from "@fallible/examples/01-multi-tool-agent/Planner"
import { program } from "@fallible/examples/01-multi-tool-agent/program"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { claims } from "./support/claim.ts"
import { run, runIn } from "./support/inProcess.ts"
import { root, withoutTimings } from "./support/program.ts"
import { publicApi, publicApiFile, publicPackages } from "./support/publicApi.ts"
import { tsconfig, writeSnippets, wrongTypes } from "./support/snippets.ts"

const read = (file: string) => readFileSync(join(root, file), "utf8")
const readme = read("README.md")
const snippets = writeSnippets()
const isTestFile = (code: string) => code.includes("from \"@effect/vitest\"")

const compiler = join(root, "node_modules/typescript/bin/tsc")
let compiled: ReturnType<typeof compile>

/**
 * Compiles, once for all tests, the packages (whose declarations are the public API) and the examples that
 * use them.
 */
const compile = () => spawnSync(process.execPath, [compiler, "-b", ".", tsconfig], { cwd: root, encoding: "utf8" })

beforeAll(() => {
  compiled = compile()
}, 60_000)

it("compiles: packages, tests and all examples of documents", () => {
  const { status, stdout } = compiled
  assert.deepStrictEqual({ status, stdout }, { status: 0, stdout: "" })
})

describe("examples", () => {
  it("have the types that they claim", () => {
    assert.deepStrictEqual(wrongTypes(snippets), [])
  })

  for (const { at, code, file } of snippets.filter(({ code }) => !isTestFile(code))) {
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
        "packages/core",
        "packages/providers",
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
// Commands
// -----------------------------------------------------------------------------

interface Shown {
  readonly command: string
  /** The output that the document shows. */
  readonly output: string | undefined
}

/** The commands of the README, each with the output shown after it. */
const commands = Array.from(
  readme.matchAll(/^```(sh|text)\n([\s\S]*?)^```$/gm),
  ([, kind, block = ""]) => ({ kind, block })
)
  .flatMap(({ block, kind }, index, all): ReadonlyArray<Shown> => {
    if (kind !== "sh") return []
    const lines = block.trimEnd().split("\n")
    const next = all[index + 1]
    const output = next?.kind === "text" ? next.block : undefined
    return lines.map((command, line) => ({ command, output: line === lines.length - 1 ? output : undefined }))
  })

/** Splits a command line into words. A quoted part is one word. */
const wordsOf = (text: string) =>
  Array.from(text.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? "")

const demo = /^((?:\w+=\S+ )*)npx -y pnpm@12 demo\b(.*)$/

describe("README", () => {
  for (const { command, output } of commands.filter(({ command }) => demo.test(command))) {
    it.live(`shows the output of ${command}, timings aside`, () =>
      Effect.gen(function*() {
        // Commands that name a model server get a fake one.
        const server = yield* FakeModelServer.make(({ messages }) => Planner.reply(messages))
        const [, settings = "", args = ""] = demo.exec(command)!
        const env = Object.fromEntries(
          wordsOf(settings).map((setting) => {
            const [name = "", value = ""] = setting.split("=")
            return [name, name === "OLLAMA_HOST" ? server.url : name === "OPENAI_BASE_URL" ? `${server.url}/v1` : value]
          })
        )
        const { code, stdout } = yield* runIn(env, program, ...wordsOf(args))
        assert.strictEqual(code, 0)
        if (output !== undefined) assert.strictEqual(withoutTimings(stdout), withoutTimings(output))
      }).pipe(Effect.scoped))
  }

  it("shows the output of at least one command", () => {
    assert.isAbove(commands.filter(({ output }) => output !== undefined).length, 0)
    assert.strictEqual(
      readme.match(/^```text$/gm)?.length,
      commands.filter(({ output }) => output !== undefined).length
    )
  })

  it.live("shows a failure as a model reads it", () =>
    Effect.gen(function*() {
      const [, shown] = /^```json\n([\s\S]*?)^```$/m.exec(readme)!
      const payload: Record<string, unknown> = JSON.parse(shown!)
      const { stdout } = yield* run(program, "--json")
      const failed = stdout.split("\n").find((line) => line.includes("\"Failed\""))!
      const { outcome }: { readonly outcome: { readonly failure: object } } = JSON.parse(failed)
      const { error, ok, retry, alternatives, ...fields } = payload
      assert.deepInclude(outcome.failure, fields)
      assert.deepInclude(outcome.failure, { _tag: error })
      assert.deepStrictEqual([ok, typeof retry, Array.isArray(alternatives)], [false, "string", true])
    }))
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
