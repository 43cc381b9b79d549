/**
 * Bundles built packages for Node: `node scripts/bundle.ts core testing`.
 *
 * `dist/node` has one shared file with all code that the index reaches, and for each public module a small
 * file that re-exports from it. Node loads one file much faster than a hundred. A single public module loads
 * more slowly than before, because it loads the shared file too.
 *
 * Bundlers and other platforms get separate modules (the conditions `module` and `default` of `exports`). So a
 * bundler can drop code that an application does not use.
 */
import { readdirSync, readFileSync, rmSync } from "node:fs"
import { basename, join } from "node:path"
import { rolldown } from "rolldown"

interface Manifest {
  readonly dependencies?: object
  readonly peerDependencies?: object
  readonly publishConfig: { readonly exports: Readonly<Record<string, unknown>> }
}

/** Modules that the index never imports. They stay out of the shared file. */
const adapters = ["CircuitBreaker", "HttpFailure", "LastKnown", "RateLimit", "SignedSuspension"]

const bundle = async (name: string) => {
  const folder = join(import.meta.dirname, "../packages", name)
  const { dependencies, peerDependencies, publishConfig }: Manifest = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8")
  )
  const outside = Object.keys({ ...dependencies, ...peerDependencies })
  const { exports } = publishConfig
  const isPublic = (module: string) => module === "index" || "./*" in exports || `./${module}` in exports
  const modules = readdirSync(join(folder, "src")).filter((file) => file.endsWith(".ts"))
    .map((file) => basename(file, ".ts")).filter(isPublic)
  const dir = join(folder, "dist/node")
  rmSync(dir, { recursive: true, force: true })
  const build = await rolldown({
    input: Object.fromEntries(modules.map((module) => [module, join(folder, "dist", `${module}.js`)])),
    external: (id) => id.startsWith("node:") || outside.some((known) => id === known || id.startsWith(`${known}/`)),
    platform: "node"
  })
  await build.write({
    dir,
    comments: { legal: true, annotation: true, jsdoc: false },
    chunkFileNames: "internal/[name].js",
    codeSplitting: { groups: [{ name, test: (id) => !adapters.includes(basename(id, ".js")) }] }
  })
  await build.close()
}

await Promise.all(process.argv.slice(2).map(bundle))
