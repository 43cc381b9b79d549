/**
 * Packs the packages as for publishing, checks them with publint and attw, installs them, and runs them in each
 * supported version of Node. Also checks that npm cannot publish them. Run it with `pnpm packaging`; it downloads
 * those versions of Node.
 */
import { spawnSync } from "node:child_process"
import { copyFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { names, packed, project, run, temporary } from "./packed.ts"
import { root } from "./program.ts"

const versions = ["20", "22", "24"]

const bin = (name: string) => join(root, "node_modules/.bin", name)
const folder = temporary()
try {
  const tarballs = packed(folder)
  for (const name of names) {
    const tarball = tarballs.get(name)!
    run(bin("publint"), ["run", tarball, "--strict"], root)
    run(bin("attw"), [tarball, "--profile", "esm-only"], root)
    const { status } = spawnSync("npm", ["publish", "--dry-run"], { cwd: join(root, "packages", name) })
    if (status === 0) throw new Error(`npm would publish @fallible/${name}, in a tarball that cannot be installed.`)
  }
  const user = project(tarballs, "4.1.0")
  for (const script of ["smoke.mjs", "smokeErrors.mjs", "smokeCore.mjs", "smokeAiSdk.mjs"]) {
    copyFileSync(join(root, "test/support", script), join(user, script))
  }
  for (const version of versions) {
    const node = (...args: ReadonlyArray<string>) => run("npx", ["-y", `node@${version}`, ...args], user)
    node(join(root, "test/support/smoke.mjs"), join(user, "node_modules/@fallible/arguments/dist/index.js"))
    node("smokeErrors.mjs")
    node("smokeCore.mjs")
    if (version !== "20") node("smokeAiSdk.mjs")
    // Loads the separate modules, as bundlers and platforms other than Node do.
    const separate = "--conditions=module"
    const resolve = "process.stdout.write(import.meta.resolve('@fallible/core'))"
    const index = node(separate, "--input-type=module", "-e", resolve)
    if (!index.endsWith("/core/dist/index.js")) throw new Error(`'module' leads to ${index}.`)
    node(separate, "smokeCore.mjs")
  }
  rmSync(user, { recursive: true, force: true })
  process.stdout.write(
    `${names.length} packages: publint and attw have nothing to say, npm cannot pack them; they run in Node ${
      versions.join(", ")
    }\n`
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
