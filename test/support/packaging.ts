/**
 * Packs the packages as for publishing, checks them with publint and attw, installs them, and runs them in each
 * supported version of Node. Also checks that npm cannot publish them, that the examples of the documents run with them, and
 * that the starters work in an empty folder, with each supported version of Node and of TypeScript. Run it with
 * `pnpm packaging`; it downloads those versions.
 */
import { spawnSync } from "node:child_process"
import { copyFileSync, cpSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { packAll } from "../../scripts/packAll.ts"
import { names, project, run, temporary } from "../../scripts/packed.ts"
import { trySnippets } from "./packedSnippets.ts"
import { root } from "./program.ts"

const versions = ["20", "22", "24"]
/** The versions of TypeScript beside the one that starters install. */
const typescripts = ["5.9.3", "6.0.3"]

/** Each starter's versions of Node, and the page that shows what it prints. */
const starters = {
  starter: { nodes: versions, page: "docs/charge-once.md" },
  "starter-effect": { nodes: ["22.19.0", "24"], page: "docs/effect-backend.md" }
}

/** Installs a starter in an empty folder, and starts and tests it as its README says. */
const tryStarter = (
  source: string,
  { nodes, page }: { readonly nodes: ReadonlyArray<string>; readonly page: string }
) => {
  const [, shown = ""] = /^```text\n([\s\S]*?)^```$/m.exec(readFileSync(join(root, page), "utf8")) ?? []
  const folder = temporary()
  try {
    cpSync(source, folder, { recursive: true })
    // As outside of this repository: with the scripts' own Node, and without the programs of this workspace.
    const within = (node: string, command: string) => run("npx", ["-y", "-p", `node@${node}`, "-c", command], folder)
    within(nodes[0]!, "npm install --no-audit --no-fund")
    for (const node of nodes) {
      const printed = within(node, "npm start")
      if (shown === "" || !printed.includes(shown)) {
        throw new Error(`${page} does not show what was printed:\n${printed}`)
      }
      within(node, "npm test")
    }
    run("npm", ["run", "check"], folder)
    for (const version of typescripts) {
      run("npm", ["install", "--save-dev", "--save-exact", "--no-audit", "--no-fund", `typescript@${version}`], folder)
      run("npm", ["run", "check"], folder)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const bin = (name: string) => join(root, "node_modules/.bin", name)
const folder = temporary()
try {
  const tarballs = packAll(folder)
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
  const examples = trySnippets(tarballs)
  for (const [name, expected] of Object.entries(starters)) tryStarter(join(folder, name), expected)
  process.stdout.write(
    `${names.length} packages: publint and attw have nothing to say, npm cannot pack them; they run in Node ${
      versions.join(", ")
    }; ${examples} examples of the documents run; both starters start, and pass their tests\n`
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
