/**
 * Type-checks the examples of the README and of the pages of `@fallible/arguments`, as users compile them: with two
 * compilers, and with and without `@types/json-schema`. The AI SDK's `JSONSchema7` is an interface with these types, and
 * `any` without them.
 */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "../support/program.ts"
import { programsIn, snippetsIn } from "../support/snippets.ts"

const documents = ["packages/arguments/README.md", ...globSync("packages/arguments/docs/*.md", { cwd: root })]
  .toSorted()
const pages = documents.filter((document) => document.includes("/docs/"))
// Inside the tests' package, so that its dependencies are found.
const folder = join(root, "test/.scratch/argumentSnippets")
const compilers = { "TypeScript 5.9": "typescript5", "TypeScript 7": "typescript" }
const settings = { with: "../../../node_modules/@types/json-schema/index.d.ts", without: "./nothing.d.ts" }
// What `@types/json-schema` would have is missing, so it is `any`.
const nothing = "export {}\n"
// In each program, so that an error cannot go unseen.
const wrong = "import { decode } from \"@fallible/arguments\"\ndecode(\"{}\", 1)\n"

const tsc = (compiler: string, ...args: ReadonlyArray<string>) =>
  spawnSync(process.execPath, [join(root, "node_modules", compiler, "bin/tsc"), ...args], {
    cwd: folder,
    encoding: "utf8"
  })

beforeAll(() => {
  rmSync(folder, { recursive: true, force: true })
  for (const [setting, jsonSchema] of Object.entries(settings)) {
    const here = join(folder, setting)
    mkdirSync(here, { recursive: true })
    writeFileSync(join(here, "package.json"), "{ \"type\": \"module\" }")
    writeFileSync(
      join(here, "tsconfig.json"),
      JSON.stringify({
        extends: "../../../../tsconfig.base.json",
        compilerOptions: {
          composite: false,
          incremental: false,
          declaration: false,
          declarationMap: false,
          noEmit: true,
          noUnusedLocals: false,
          types: ["node"],
          paths: {
            "@fallible/arguments": ["../../../../packages/arguments/dist/index.d.ts"],
            "json-schema": [jsonSchema]
          }
        },
        include: ["*.ts"]
      })
    )
    for (const { at, code } of documents.flatMap(programsIn)) {
      // A program without an import would be a script, whose names are global.
      writeFileSync(join(here, `${at.replace(/\W+/g, "-")}.ts`), `${code}\nexport {}\n`)
    }
    writeFileSync(join(here, "nothing.d.ts"), nothing)
    writeFileSync(join(here, "wrong.ts"), wrong)
    // Proves that the setting is what it says.
    const proof =
      `type IsAny<T> = 0 extends 1 & T ? "without" : "with"\nexport const setting: IsAny<JSONSchema7> = "${setting}"\n`
    writeFileSync(join(here, "setting.ts"), `import type { JSONSchema7 } from "ai"\n${proof}`)
  }
  // The declarations that users get.
  const built = tsc("typescript", "-b", join(root, "packages/arguments"))
  assert.deepStrictEqual({ status: built.status, stdout: built.stdout }, { status: 0, stdout: "" })
})

describe("the examples compile, and the wrong one does not", () => {
  for (const [name, compiler] of Object.entries(compilers)) {
    for (const setting of Object.keys(settings)) {
      it(`in ${name}, ${setting} @types/json-schema`, () => {
        const { stdout } = tsc(compiler, "-p", setting, "--pretty", "false")
        const error =
          `${setting}/wrong.ts(2,14): error TS2345: Argument of type 'number' is not assignable to parameter of type 'object'.\n`
        assert.strictEqual(stdout.replaceAll("\r", ""), error)
      })
    }
  }
})

describe("the examples", () => {
  const snippets = documents.flatMap((document) => snippetsIn(document, readFileSync(join(root, document), "utf8")))

  it("have no cast to any, and no any", () => {
    assert.deepStrictEqual(snippets.filter(({ code }) => /\bany\b/.test(code)).map(({ at }) => at), [])
  })

  it.each(pages)("of %s have at most 25 lines in a block, without imports", (page) => {
    const long = snippetsIn(page, readFileSync(join(root, page), "utf8"))
      .map(({ at, code }) => ({ at, lines: linesOf(code) }))
    assert.deepStrictEqual(long.filter(({ lines }) => lines > 25), [])
  })
})

/** Counts the lines of an example, except imports and blank lines. */
const linesOf = (code: string) =>
  code.replaceAll(/^import [^;]*? from ".*"$/gm, "").split("\n").filter((line) => line.trim() !== "").length
