/**
 * Type checks beside the build: of one file, and of the tests before anything is built.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root, runNode, runShell } from "./support/program.ts"

const folder = join(root, "test/.scratch/typecheck-examples")

/** Writes a file of the tests, and checks its types. */
const checked = (name: string, code: string) =>
  Effect.suspend(() => {
    mkdirSync(folder, { recursive: true })
    writeFileSync(
      join(folder, name),
      `import { Tool } from "@fallible/core"\nimport { Schema } from "effect"\n${code}\n`
    )
    return runNode("scripts/typecheck.ts", join(folder, name))
  })

const tool = (handler: string) =>
  `export const tool = Tool.promise("t", { description: "", success: Schema.String }, async () => ${handler})`

describe("a type check of one file", () => {
  it.live("finds a mistake, and only the file's own", () =>
    Effect.gen(function*() {
      const { code, stdout } = yield* checked("wrong.ts", tool("1"))
      assert.strictEqual(code, 1)
      assert.match(
        stdout,
        /^test\/\.scratch\/typecheck-examples\/wrong\.ts\(3,\d+\): error TS2322: Type 'Promise<number>'/
      )
      assert.deepStrictEqual(yield* checked("right.ts", tool("\"\"")), { code: 0, stdout: "", stderr: "" })
    }))

  for (
    const [args, says] of [[[], /^Which files\?/], [
      ["test/gone.ts", "scripts/bundle.ts"],
      /^Not in a project: test\/gone\.ts, scripts\/bundle\.ts\n$/
    ]] as const
  ) {
    it.live(`says what it needs: ${args.join(" ") || "no file"}`, () =>
      Effect.gen(function*() {
        const { code, stderr } = yield* runNode("scripts/typecheck.ts", ...args)
        assert.strictEqual(code, 1)
        assert.match(stderr, says)
      }))
  }
})

// Before the first build, every import of a package is a mistake. Builds repeat what the compiler has stored of a project.
it.live("a type check of the tests stores nothing that a build would repeat", () =>
  Effect.gen(function*() {
    const { stdout } = yield* runShell("node_modules/.bin/tsc -p test --showConfig")
    const { compilerOptions }: { readonly compilerOptions: object } = JSON.parse(stdout)
    assert.deepInclude(compilerOptions, { composite: false, incremental: false, noEmit: true })
  }))
