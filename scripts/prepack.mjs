/*
 * Builds a package before it is packed, and refuses to run under npm. Only pnpm replaces `catalog:`, `workspace:` and
 * the source exports in the manifest, so a tarball made by npm could not be installed.
 */
import { spawnSync } from "node:child_process"
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"

if (!/[\\/]pnpm[^\\/]*$/.test(process.env.npm_execpath ?? "")) {
  process.stderr.write("Publish with pnpm: pnpm publish. What npm packs of this workspace cannot be installed.\n")
  process.exit(1)
}

const root = join(import.meta.dirname, "..")
const run = (command, ...args) => {
  const { status } = spawnSync(join(root, "node_modules/.bin", command), args, { cwd: root, stdio: ["ignore", 2, 2] })
  if (status !== 0) process.exit(status ?? 1)
}

// Deletes the output of earlier builds.
for (const file of ["dist", "tsconfig.tsbuildinfo"]) rmSync(file, { recursive: true, force: true })
run("tsc", "-b", process.cwd())
run("node", "scripts/bundle.ts", basename(process.cwd()))

// The guides come with the core package. What else they link to is in the repository.
if (basename(process.cwd()) === "core") {
  rmSync("docs", { recursive: true, force: true })
  cpSync(join(root, "docs"), "docs", { recursive: true })
  for (const page of readdirSync("docs").filter((file) => file.endsWith(".md"))) {
    const text = readFileSync(join("docs", page), "utf8")
    writeFileSync(join("docs", page), text.replaceAll("](../", "](https://github.com/fallible-ts/fallible/blob/main/"))
  }
}
