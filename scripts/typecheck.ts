/**
 * Checks the types of files, and of what they import, in seconds: `pnpm typecheck test/readme.test.ts`.
 *
 * A build checks all files of a project that has changed. This builds only what the project of a file refers to, which takes
 * a moment if nothing has changed there, and then checks the file against those declarations.
 */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"

const root = join(import.meta.dirname, "..")

/** Runs the compiler. Returns true if it finds no mistake. */
const tsc = (...args: ReadonlyArray<string>): boolean =>
  spawnSync(join(root, "node_modules/.bin/tsc"), args, { cwd: root, stdio: "inherit" }).status === 0

/** Returns the nearest folder around a file that has a `tsconfig.json`. */
const projectOf = (path: string): string => {
  const folder = dirname(path)
  return existsSync(join(folder, "tsconfig.json")) ? folder : projectOf(folder)
}

const check = (project: string, files: ReadonlyArray<string>): boolean => {
  const config = join(project, "tsconfig.json")
  const { references = [] }: { readonly references?: ReadonlyArray<{ readonly path: string }> } = JSON.parse(
    readFileSync(config, "utf8")
  )
  const referred = references.map(({ path }) => join(project, path))
  // It lies in the project, where the compiler finds its `@types`.
  mkdirSync(join(project, ".scratch"), { recursive: true })
  const scratch = mkdtempSync(join(project, ".scratch/typecheck-"))
  writeFileSync(
    join(scratch, "tsconfig.json"),
    JSON.stringify({
      extends: config,
      compilerOptions: { composite: false, incremental: false, noEmit: true },
      files,
      include: [],
      references: referred.map((path) => ({ path }))
    })
  )
  const isSound = (referred.length === 0 || tsc("-b", ...referred)) && tsc("-p", scratch)
  rmSync(scratch, { recursive: true })
  return isSound
}

const given = process.argv.slice(2).map((file) => resolve(process.env["INIT_CWD"] ?? root, file))
// The root's own project only lists the others.
const isInProject = (file: string): boolean =>
  file.startsWith(`${root}/`) && existsSync(file) && projectOf(file) !== root
const strangers = given.filter((file) => !isInProject(file))
if (given.length === 0 || strangers.length > 0) {
  const which = strangers.map((file) => relative(root, file)).join(", ")
  process.stderr.write(
    given.length === 0 ? "Which files? pnpm typecheck test/readme.test.ts\n" : `Not in a project: ${which}\n`
  )
  process.exitCode = 1
} else {
  const projects = Map.groupBy(given, projectOf)
  const sound = Array.from(projects, ([project, files]) => check(project, files))
  process.exitCode = sound.every(Boolean) ? 0 : 1
}
