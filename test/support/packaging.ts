/**
 * The packages as they would be published: packed, looked at by publint and attw, and the one without dependencies run in the versions of Node that it
 * promises. Run it with `pnpm packaging`; it fetches those versions.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { root } from "./program.ts"

const versions = ["20", "22", "24"]

const run = (command: string, args: ReadonlyArray<string>, cwd: string): void => {
  const { status, stderr, stdout } = spawnSync(command, args, { cwd, encoding: "utf8" })
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}\n${stdout}\n${stderr}`)
}

const bin = (name: string) => join(root, "node_modules/.bin", name)

for (const name of ["arguments"]) {
  const folder = mkdtempSync(join(tmpdir(), "fallible-"))
  try {
    // `npm pack` would leave out what only pnpm knows: other exports, and versions of the workspace.
    run("npx", ["-y", "pnpm@12", "pack", "--pack-destination", folder], join(root, "packages", name))
    const [tarball = ""] = readdirSync(folder)
    run(bin("publint"), ["run", join(folder, tarball), "--strict"], root)
    run(bin("attw"), [join(folder, tarball), "--profile", "esm-only"], root)
    run("tar", ["-xzf", tarball], folder)
    for (const version of versions) {
      const script = join(root, "test/support/smoke.mjs")
      run("npx", ["-y", `node@${version}`, script, join(folder, "package/dist/index.js")], folder)
    }
    process.stdout.write(
      `@fallible/${name}: publint and attw have nothing to say; runs in Node ${versions.join(", ")}\n`
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
