/** The examples of the documents as programs. `expression // => value` and `expression // Effect<…>` are claims. */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import ts from "typescript6"
import { root } from "./program.ts"

export interface Snippet {
  /** The file and line of the example: `packages/core/src/Tool.ts:118`. */
  readonly at: string
  readonly code: string
  /** The program file generated from it. */
  readonly file: string
}

/** The folder of the snippets. It is as deep as others of `.scratch`, since snippets import `claim` by its place. */
const folder = join(root, "test/.scratch/snippets")

const documents = [
  ...globSync("packages/*/src/**/*.ts", { cwd: root }),
  ...globSync("packages/*/*.md", { cwd: root }),
  ...globSync("packages/arguments/docs/*.md", { cwd: root }),
  ...globSync("*.md", { cwd: root }),
  ...globSync("docs/*.md", { cwd: root })
].toSorted()

/** The pages of `arguments`: all blocks of a page are one program, because the last ones try what the first one shows. */
const isPage = (document: string) => document.startsWith("packages/arguments/docs/")

/** Imports the first function of this name that a guide shows. Each guide gets a folder of its own. */
export const importShown = async (document: string, name: string): Promise<unknown> => {
  const code = snippetsIn(document, readFileSync(join(root, document), "utf8")).map(({ code }) => code)
    .find((code) => code.includes(`\nconst ${name} = `)) ?? ""
  const end = code.indexOf("\n}\n", code.indexOf(`\nconst ${name} = `)) + 3
  const file = join(root, "test/.scratch/shown", `${document.replace(/\W+/g, "-")}.ts`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${code.slice(0, end)}export { ${name} as shown }\n`)
  const { shown } = await import(file)
  return shown
}

/**
 * The file of a starter that an example quotes, by its first line: `// starters/effect/src/charge.ts`. It is compiled and run
 * with that starter.
 */
export const quotedBy = (code: string): string | undefined => /^\/\/ (starters\/\S+)\n/.exec(code)?.[1]

/** Writes each snippet to its own file of a folder, which is emptied. */
export const writeSnippetsTo = (folder: string): ReadonlyArray<Snippet> => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const snippets = documents.flatMap(programsIn).filter(({ code }) => quotedBy(code) === undefined)
  const files = snippets.map(({ at, code }) => ({ at, code, file: join(folder, `${at.replace(/\W+/g, "-")}.ts`) }))
  for (const { code, file } of files) writeFileSync(file, withChecks(code))
  writeFileSync(join(folder, "package.json"), "{ \"type\": \"module\" }")
  return files
}

/** Writes each snippet to its own file, to be compiled against the packages of the workspace. */
export const writeSnippets = (): ReadonlyArray<Snippet> => {
  const files = writeSnippetsTo(folder)
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      extends: "../../tsconfig.json",
      compilerOptions: { composite: false, incremental: false, noUnusedLocals: false, rootDir: "../../.." },
      include: ["*.ts"],
      exclude: [],
      // References the built packages, so that their sources are not compiled again.
      references: [
        "packages/arguments",
        "packages/errors",
        "packages/core",
        "packages/providers",
        "packages/ai-sdk",
        "packages/testing",
        "examples"
      ].map((
        path
      ) => ({
        path: join("../../..", path)
      }))
    })
  )
  return files
}

export const tsconfig = join(folder, "tsconfig.json")

/** Returns the programs of a document: each of its examples, or all examples of a page together. */
export const programsIn = (document: string): ReadonlyArray<Omit<Snippet, "file">> => {
  const snippets = snippetsIn(document, readFileSync(join(root, document), "utf8"))
  const [first] = snippets
  return first === undefined || !isPage(document)
    ? snippets
    : [{ at: first.at, code: snippets.map(({ code }) => code).join("\n") }]
}

/** Returns the `ts` blocks of a Markdown document, or of the docstrings of a source file. */
export const snippetsIn = (document: string, text: string): ReadonlyArray<Omit<Snippet, "file">> =>
  Array.from(
    text.matchAll(document.endsWith(".md") ? /^```ts\n([\s\S]*?)^```$/gm : /^ *\* ```ts\n([\s\S]*?)^ *\* ```$/gm),
    ({ 1: block = "", index }) => ({
      at: `${document}:${text.slice(0, index).split("\n").length + 1}`,
      code: document.endsWith(".md") ? block : block.replace(/^ *\* ?/gm, "")
    })
  )

/** A claim of a snippet: an expression statement, and the comment after it or on the next line. */
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

/** Wraps each claimed expression of a snippet in a call of `claim`. */
const withChecks = (code: string): string => {
  const source = ts.createSourceFile("snippet.ts", code, ts.ScriptTarget.ESNext, true)
  const values = claimsOf(source).filter(({ said }) => said.startsWith("=> "))
  const checked = values.toReversed().reduce((text, { expression, said }) => {
    const [start, end] = [expression.getStart(), expression.getEnd()]
    return `${text.slice(0, start)}claim(${text.slice(start, end)}, ${said.slice(3)})${text.slice(end)}`
  }, code)
  return `${checked}\nimport { claim } from "../../support/claim.ts"\n`
}

/** Compiles the snippets, and lists each expression whose type differs from the claimed type. */
export const wrongTypes = (snippets: ReadonlyArray<Snippet>): ReadonlyArray<string> => {
  const { config } = ts.readConfigFile(tsconfig, (file) => ts.sys.readFile(file))
  const { options, projectReferences = [] } = ts.parseJsonConfigFileContent(config, ts.sys, folder)
  const program = ts.createProgram({
    rootNames: snippets.map(({ file }) => file),
    options: { ...options, noErrorTruncation: true },
    projectReferences
  })
  const checker = program.getTypeChecker()
  const shortType = (expression: ts.Expression) =>
    checker.typeToString(checker.getTypeAtLocation(expression))
      // Shortens the type as documents do: drops module names, and the fields of objects.
      .replace(/\b\w+\.(?=[A-Z])/g, "")
      .replace(/\{[^{}]*\}/g, "{…}")
  return snippets.flatMap(({ at, file }) =>
    claimsOf(program.getSourceFile(file)!)
      .filter(({ said }) => /^[A-Z]\w*</.test(said))
      .map(({ expression, said }) => ({ said, found: shortType(expression.expression) }))
      .flatMap(({ found, said }) => found === said ? [] : [`${at}: says ${said}, is ${found}`])
  )
}
