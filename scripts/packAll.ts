/**
 * Packs the packages, and writes the starters: `pnpm pack-all [folder]`.
 *
 * A starter is a project of its own. It holds the tarballs that it installs, so it works in any folder of any machine.
 */
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, join, relative, resolve } from "node:path"
import { packed } from "./packed.ts"

const root = join(import.meta.dirname, "..")

/** Folders of `starters` by the names of the folders that they become. */
const starters = { starter: "plain", "starter-effect": "effect" }

type Dependencies = Readonly<Record<string, string>>

interface Manifest {
  readonly dependencies?: Dependencies
  readonly devDependencies?: Dependencies
}

const manifestIn = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))

/** Our packages that are asked for, and those that they ask for. None of them is on the registry. */
const ours = (dependencies: Dependencies = {}): ReadonlySet<string> =>
  new Set(
    Object.keys(dependencies).flatMap((name) => {
      const [, short] = /^@fallible\/(.+)$/.exec(name) ?? []
      return short === undefined ? [] : [...ours(manifestIn(join(root, "packages", short)).dependencies), short]
    })
  )

const writeStarter = (template: string, folder: string, tarballs: ReadonlyMap<string, string>): void => {
  cpSync(template, folder, {
    recursive: true,
    filter: (path) => !/^(node_modules|dist)$|\.tsbuildinfo$/.test(basename(path))
  })
  mkdirSync(join(folder, "packages"))
  const { dependencies, devDependencies, ...manifest } = manifestIn(template)
  const asFiles = (asked: Dependencies | undefined): Dependencies => ({
    ...asked,
    ...Object.fromEntries(Array.from(ours(asked), (name) => {
      const tarball = tarballs.get(name)!
      const file = `packages/${basename(tarball)}`
      copyFileSync(tarball, join(folder, file))
      return [`@fallible/${name}`, `file:${file}`]
    }))
  })
  const asked = asFiles(dependencies)
  const alone = Object.entries(asFiles(devDependencies)).filter(([name]) => !(name in asked))
  const all = { ...manifest, dependencies: asked, devDependencies: Object.fromEntries(alone) }
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(all, undefined, 2)}\n`)
}

/** Writes tarballs and starters to an empty folder. */
export const packAll = (folder: string): ReadonlyMap<string, string> => {
  mkdirSync(folder, { recursive: true })
  if (readdirSync(folder).length > 0) throw new Error(`${folder} is not empty: name another folder.`)
  const tarballs = packed(folder)
  for (const [name, template] of Object.entries(starters)) {
    writeStarter(join(root, "starters", template), join(folder, name), tarballs)
  }
  return tarballs
}

if (import.meta.main) {
  // pnpm runs scripts in the root, and tells where it was started.
  const here = process.env["INIT_CWD"] ?? process.cwd()
  const usual = join(root, "packed")
  const folder = resolve(here, process.argv[2] ?? usual)
  if (folder === usual) rmSync(usual, { recursive: true, force: true })
  const at = relative(here, folder)
  for (const tarball of packAll(folder).values()) process.stdout.write(`${join(at, basename(tarball))}\n`)
  process.stdout.write(`
${join(at, "starter")}         an agent that charges once, with a test: plain TypeScript
${join(at, "starter-effect")}  the same behind HTTP, with a database: Effect

Copy one wherever you like. There: npm install && npm start && npm test
`)
}
