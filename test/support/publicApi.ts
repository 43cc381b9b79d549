/**
 * The public API of a package as one text: the declarations of every exported module, without comments.
 *
 *     node test/support/publicApi.ts     writes api.txt of each package; run `tsc -b` first
 */
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./program.ts"

export const publicPackages = ["arguments", "errors", "core", "providers", "ai-sdk", "testing"] as const

export type PublicPackage = (typeof publicPackages)[number]

export const publicApiFile = (name: PublicPackage): string => join(root, "packages", name, "api.txt")

export const publicApi = (name: PublicPackage): string => {
  const folder = join(root, "packages", name, "dist")
  // Listed by their sources: an earlier build may have left declarations behind.
  const sources = globSync("*.ts", { cwd: join(root, "packages", name, "src") }).toSorted()
  // The index of `errors` exports parts of a few modules. No other module is a part of the API.
  const index = readFileSync(join(folder, "index.d.ts"), "utf8")
  const modules = name === "errors"
    ? sources.filter((module) => module === "index.ts" || index.includes(`"./${module}"`))
    : sources
  return modules.map((module) => {
    const file = module.replace(/\.ts$/, "")
    // The modules of `arguments` and `errors` are not importable, except `internal`. An index exports parts of them.
    const specifier = file === "index"
      ? `@fallible/${name}`
      : name === "errors" || name === "arguments" && file !== "internal"
      ? `in ${file}.ts`
      : `@fallible/${name}/${file}`
    return `// ${specifier}\n\n${declarations(readFileSync(join(folder, `${file}.d.ts`), "utf8"))}\n`
  }).join("\n")
}

/** Removes all comments except `@internal`, which marks declarations that are not part of the API. */
const declarations = (text: string): string =>
  text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => /@internal\b/.test(comment) ? "/** @internal */" : "")
    .replace(/^\/\/# sourceMappingURL.*$/gm, "")
    .replace(/^export \{\};$/gm, "")
    .replace(/^\s*\n/gm, "")
    .trim()

if (import.meta.main) {
  for (const name of publicPackages) writeFileSync(publicApiFile(name), publicApi(name))
}
