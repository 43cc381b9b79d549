/**
 * Runs the packages with the newest `effect` 4 on the registry: `pnpm newest-effect`. The peer range of the
 * packages promises that this works.
 */
import { copyFileSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { packed, project, run, temporary } from "../../scripts/packed.ts"
import { root } from "./program.ts"

const folder = temporary()
const user = project(packed(folder), "^4.1.0")
try {
  copyFileSync(join(root, "test/support/smokeCore.mjs"), join(user, "smokeCore.mjs"))
  run(join(root, "node_modules/.bin/node"), ["smokeCore.mjs"], user)
  const { version }: { readonly version: string } = JSON.parse(
    readFileSync(join(user, "node_modules/effect/package.json"), "utf8")
  )
  process.stdout.write(`runs with effect ${version}\n`)
} finally {
  for (const path of [folder, user]) rmSync(path, { recursive: true, force: true })
}
