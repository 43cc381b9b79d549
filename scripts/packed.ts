/** Packs the packages as for publishing, and creates projects that install them. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const root = join(import.meta.dirname, "..")

export const names = ["arguments", "errors", "core", "providers", "ai-sdk", "testing"] as const

/** Runs a command. If it fails, throws with its whole output. */
export const run = (command: string, args: ReadonlyArray<string>, cwd: string): string => {
  // The programs of npm are scripts of a shell on Windows.
  const shell = process.platform === "win32"
  const { error, status, stderr, stdout } = spawnSync(command, args, { cwd, encoding: "utf8", shell })
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}\n${stdout}\n${stderr}`, { cause: error })
  return stdout
}

export const temporary = (): string => mkdtempSync(join(tmpdir(), "fallible-"))

/** Packs each package into a folder. Returns the path of each tarball by package name. */
export const packed = (folder: string): ReadonlyMap<string, string> => {
  for (const name of names) {
    run("npx", ["-y", "pnpm@12", "pack", "--pack-destination", folder], join(root, "packages", name))
  }
  return new Map(names.map((name) => [name, join(folder, `fallible-${name}-${versionOf(name)}.tgz`)]))
}

const versionOf = (name: string): string => {
  const { version }: { readonly version: string } = JSON.parse(
    readFileSync(join(root, "packages", name, "package.json"), "utf8")
  )
  return version
}

/** Creates a project with the packages and one version of `effect` installed, and returns its folder. */
export const project = (tarballs: ReadonlyMap<string, string>, effect: string): string => {
  const folder = temporary()
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({
      private: true,
      type: "module",
      dependencies: {
        effect,
        ...Object.fromEntries(Array.from(tarballs, ([name, file]) => [`@fallible/${name}`, `file:${file}`]))
      }
    })
  )
  run("npm", ["install", "--no-audit", "--no-fund"], folder)
  return folder
}
