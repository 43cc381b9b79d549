/** Compiles and runs the examples of the documents with packages as they are installed from tarballs. */
import { spawnSync } from "node:child_process"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { run } from "../../scripts/packed.ts"
import { claims } from "./claim.ts"
import { root } from "./program.ts"
import { type Snippet, writeSnippetsTo } from "./snippets.ts"

const folder = join(root, "test/.scratch/packed")

/** Returns how many examples ran. Throws with the output of the compiler or the first example that fails. */
export const trySnippets = (tarballs: ReadonlyMap<string, string>): number => {
  const snippets = writeSnippetsTo(folder)
  for (const [name, tarball] of tarballs) {
    const installed = join(folder, "node_modules/@fallible", name)
    mkdirSync(installed, { recursive: true })
    run("tar", ["-xzf", tarball, "--strip-components=1", "-C", installed], folder)
  }
  // What else the snippets import is found in the folder above. This one is only a dependency of a package.
  const utils = "node_modules/@ai-sdk/provider-utils"
  mkdirSync(dirname(join(folder, utils)), { recursive: true })
  symlinkSync(join(root, "packages/ai-sdk", utils), join(folder, utils))
  const compilerOptions = { composite: false, noUnusedLocals: false, rootDir: "../../.." }
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ extends: "../../tsconfig.json", compilerOptions, include: ["*.ts"], exclude: [], references: [] })
  )
  run(join(root, "node_modules/.bin/tsc"), ["-p", "."], folder)
  const runnable = snippets.filter(({ code }) => !/process\.env|@effect\/vitest/.test(code))
  writeFileSync(join(folder, "snippets.json"), JSON.stringify(runnable))
  const { status, stderr } = spawnSync(process.execPath, [
    fileURLToPath(import.meta.url),
    join(folder, "snippets.json")
  ], {
    encoding: "utf8"
  })
  if (status !== 0) throw new Error(stderr)
  return runnable.length
}

// In a process of its own, whose examples log what they like.
if (import.meta.main) {
  const { default: snippets }: { readonly default: ReadonlyArray<Snippet> } = await import(process.argv[2]!, {
    with: { type: "json" }
  })
  for (const { at, code, file } of snippets) {
    claims.length = 0
    try {
      await import(file)
      if (claims.length !== code.split("// =>").length - 1) throw new Error("Not all of its claims were checked.")
    } catch (error) {
      throw new Error(`${at} fails with the packed packages`, { cause: error })
    }
  }
  process.exit(0)
}
