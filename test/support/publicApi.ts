/**
 * What a package promises: the declarations of every module that its exports let in, without their comments, in one text.
 *
 *     node test/support/publicApi.ts     writes it down, after `tsc -b`
 */
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./program.ts"

export const publicPackages = ["arguments", "core", "providers", "testing"] as const

export type PublicPackage = (typeof publicPackages)[number]

export const publicApiFile = (name: PublicPackage): string => join(root, "packages", name, "api.txt")

export const publicApi = (name: PublicPackage): string => {
  const folder = join(root, "packages", name, "dist")
  const modules = globSync("*.d.ts", { cwd: folder }).toSorted()
  return modules.map((module) => {
    const file = module.replace(/\.d\.ts$/, "")
    // The index of `arguments` exports the parts of modules that nobody imports by themselves.
    const specifier = file === "index"
      ? `@fallible/${name}`
      : name === "arguments" && file !== "sentence"
      ? `in ${file}.ts`
      : `@fallible/${name}/${file}`
    return `// ${specifier}\n\n${declarations(readFileSync(join(folder, module), "utf8"))}\n`
  }).join("\n")
}

/** Without comments, but for the one that says that something is not promised after all. */
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
