/**
 * Packs the packages, and writes the starters: `pnpm pack-all [folder]`.
 *
 * A starter is a project of its own. It holds the tarballs that it installs, so it works in any folder of any machine.
 */
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, join, relative, resolve } from "node:path"
import { packed } from "./packed.ts"

const root = join(import.meta.dirname, "..")

/** Folders of `starters` by the names of the folders that they become. */
const starters = { starter: "plain", "starter-effect": "effect" }

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
}

const manifestIn = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))

/** Our packages that a manifest asks for, and those that they ask for. None of them is on the registry. */
const ours = ({ dependencies = {} }: Manifest): ReadonlySet<string> =>
  new Set(
    Object.keys(dependencies).flatMap((name) => {
      const [, short] = /^@fallible\/(.+)$/.exec(name) ?? []
      return short === undefined ? [] : [...ours(manifestIn(join(root, "packages", short))), short]
    })
  )

const writeStarter = (template: string, folder: string, tarballs: ReadonlyMap<string, string>): void => {
  cpSync(template, folder, {
    recursive: true,
    filter: (path) => !/^(node_modules|dist)$|\.tsbuildinfo$/.test(basename(path))
  })
  mkdirSync(join(folder, "packages"))
  const manifest = manifestIn(template)
  const dependencies = { ...manifest.dependencies }
  for (const name of ours(manifest)) {
    const tarball = tarballs.get(name)!
    const file = `packages/${basename(tarball)}`
    copyFileSync(tarball, join(folder, file))
    dependencies[`@fallible/${name}`] = `file:${file}`
  }
  writeFileSync(join(folder, "package.json"), `${JSON.stringify({ ...manifest, dependencies }, undefined, 2)}\n`)
}

/** Writes tarballs and starters to a folder, and replaces what an earlier run has written there. */
export const packAll = (folder: string): ReadonlyMap<string, string> => {
  mkdirSync(folder, { recursive: true })
  const tarballs = packed(folder)
  for (const [name, template] of Object.entries(starters)) {
    rmSync(join(folder, name), { recursive: true, force: true })
    writeStarter(join(root, "starters", template), join(folder, name), tarballs)
  }
  return tarballs
}

if (import.meta.main) {
  const folder = resolve(process.argv[2] ?? join(root, "packed"))
  const at = relative(process.cwd(), folder)
  for (const tarball of packAll(folder).values()) process.stdout.write(`${join(at, basename(tarball))}\n`)
  process.stdout.write(`
${join(at, "starter")}         an agent that charges once, with a test: plain TypeScript
${join(at, "starter-effect")}  the same behind HTTP, with a database: Effect

Copy one wherever you like. There: npm install && npm start && npm test
`)
}
