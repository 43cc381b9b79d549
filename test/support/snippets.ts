/** The examples of the documents, as programs: `expression // => value` is a claim, and so is `expression // Effect<…>`. */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import ts from "typescript6"
import { root } from "./program.ts"

export interface Snippet {
  /** Where it stands: `packages/core/src/Tool.ts:118`. */
  readonly at: string
  readonly code: string
  /** The program that it was written to. */
  readonly file: string
}

const folder = join(root, "test/.scratch/snippets")

const documents = [
  ...globSync("packages/*/src/**/*.ts", { cwd: root }),
  ...globSync("packages/*/*.md", { cwd: root }),
  ...globSync("*.md", { cwd: root }),
  ...globSync("docs/*.md", { cwd: root })
].toSorted()

/** All of them, each in a file of its own. */
export const writeSnippets = (): ReadonlyArray<Snippet> => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const snippets = documents.flatMap((document) => snippetsIn(document, readFileSync(join(root, document), "utf8")))
  const files = snippets.map(({ at, code }) => ({ at, code, file: join(folder, `${at.replace(/\W+/g, "-")}.ts`) }))
  for (const { code, file } of files) writeFileSync(file, withChecks(code))
  writeFileSync(join(folder, "package.json"), "{ \"type\": \"module\" }")
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      extends: "../../tsconfig.json",
      compilerOptions: { composite: false, incremental: false, noUnusedLocals: false, rootDir: "../../.." },
      include: ["*.ts"],
      exclude: [],
      // What they import is built, and not compiled again with them.
      references: ["packages/arguments", "packages/core", "packages/providers", "packages/testing", "examples"].map((
        path
      ) => ({
        path: join("../../..", path)
      }))
    })
  )
  return files
}

export const tsconfig = join(folder, "tsconfig.json")

/** The `ts` blocks of a document; in a source file, those of its docstrings. */
const snippetsIn = (document: string, text: string): ReadonlyArray<Omit<Snippet, "file">> =>
  Array.from(
    text.matchAll(document.endsWith(".md") ? /^```ts\n([\s\S]*?)^```$/gm : /^ *\* ```ts\n([\s\S]*?)^ *\* ```$/gm),
    ({ 1: block = "", index }) => ({
      at: `${document}:${text.slice(0, index).split("\n").length + 1}`,
      code: document.endsWith(".md") ? block : block.replace(/^ *\* ?/gm, "")
    })
  )

/** A claim of a snippet: an expression that stands alone, and what is said behind it or below it. */
interface Claim {
  readonly expression: ts.ExpressionStatement
  readonly said: string
}

const claimsOf = (source: ts.SourceFile): ReadonlyArray<Claim> =>
  source.statements.flatMap((expression) => {
    if (!ts.isExpressionStatement(expression)) return []
    const after = source.text.slice(expression.getEnd())
    const said = /^\s*\/\/ (.*)/.exec(after)?.[1]
    return said === undefined ? [] : [{ expression, said }]
  })

/** The snippet with its claims made. */
const withChecks = (code: string): string => {
  const source = ts.createSourceFile("snippet.ts", code, ts.ScriptTarget.ESNext, true)
  const values = claimsOf(source).filter(({ said }) => said.startsWith("=> "))
  const checked = values.toReversed().reduce((text, { expression, said }) => {
    const [start, end] = [expression.getStart(), expression.getEnd()]
    return `${text.slice(0, start)}claim(${text.slice(start, end)}, ${said.slice(3)})${text.slice(end)}`
  }, code)
  return `${checked}\nimport { claim } from "../../support/claim.ts"\n`
}

/** Where a snippet says the type of an expression, and another one is found, once they are compiled. */
export const wrongTypes = (snippets: ReadonlyArray<Snippet>): ReadonlyArray<string> => {
  const { config } = ts.readConfigFile(tsconfig, (file) => ts.sys.readFile(file))
  const { options, projectReferences = [] } = ts.parseJsonConfigFileContent(config, ts.sys, folder)
  const program = ts.createProgram({
    rootNames: snippets.map(({ file }) => file),
    options: { ...options, noErrorTruncation: true },
    projectReferences
  })
  const checker = program.getTypeChecker()
  const shown = (expression: ts.Expression) =>
    checker.typeToString(checker.getTypeAtLocation(expression))
      // As people write it: without the modules of names, and the fields of objects.
      .replace(/\b\w+\.(?=[A-Z])/g, "")
      .replace(/\{[^{}]*\}/g, "{…}")
  return snippets.flatMap(({ at, file }) =>
    claimsOf(program.getSourceFile(file)!)
      .filter(({ said }) => /^[A-Z]\w*</.test(said))
      .map(({ expression, said }) => ({ said, found: shown(expression.expression) }))
      .flatMap(({ found, said }) => found === said ? [] : [`${at}: says ${said}, is ${found}`])
  )
}
