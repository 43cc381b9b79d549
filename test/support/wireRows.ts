/**
 * Plays the rows of `bench/wire` in other runtimes, with the packages as published. Their libraries are outside the
 * workspace: `installed` installs them, and the packed core beside them.
 */
import { execFile, spawn } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { promisify } from "node:util"
import { rolldown } from "rolldown"
import { packed, run, temporary } from "../../scripts/packed.ts"
import { environment, root } from "./program.ts"

/** What is known of one call, and how many requests, rows, mails and files were really done for it. */
interface Known {
  readonly certainty: string
  readonly doubt?: string
  readonly late?: string
  readonly acts: number
}

/** A line that `rows.mjs` prints for a row. */
export interface Played extends Partial<Known> {
  readonly row: string
  /** The calls of a row of many, counted by what is known of them. */
  readonly calls?: Readonly<Record<string, number>>
  /** True if what is known depends on the moment. */
  readonly varies?: true
  /** How many calls are told as not executed although something was done for them. */
  readonly lies?: number
  /** Why the row cannot be played in this runtime. */
  readonly unavailable?: string
}

/** All that a runtime printed. */
export interface Run {
  readonly rows: ReadonlyArray<Played>
  /** What was done as the rows have counted it, and as the services have. */
  readonly counted: number
  readonly total: number
  /** Lines about rows that hang or break, errors that nobody caught, and what is no line at all. */
  readonly wrong: ReadonlyArray<unknown>
}

/** The folder of the rows. */
export const folder = join(root, "bench/wire")

const modules = join(folder, "node_modules")
const platform = `${process.platform}-${process.arch}`
const nodeHere = join(root, "node_modules/.bin/node")
const minified = join(modules, ".minified/undici6.mjs")

// Their own packages: those that choose a platform's binary do it in an install script, which npm may refuse to run.
const nodeOf = (version: string) => [join(modules, `node${version}-${platform}/bin/node`)]
const below = (scope: string, file: string) => {
  const scoped = join(modules, scope)
  const name = readdirSync(scoped).find((name) => existsSync(join(scoped, name, file)))
  return join(scoped, name ?? platform, file)
}

/** Each runtime, and the command that runs a file in it. */
export const runtimes: Readonly<Record<string, () => ReadonlyArray<string>>> = {
  "Node 24": () => [nodeHere],
  "Node 22": () => nodeOf("22"),
  "Node 20": () => nodeOf("20"),
  Bun: () => [below("@oven", "bin/bun")],
  Deno: () => [below("@deno", "deno"), "run", "--allow-all", "--node-modules-dir=manual"]
}

/** Installs the libraries, the runtimes and the packed packages. */
export const installed = async (): Promise<void> => {
  const tarballs = temporary()
  try {
    const files = packed(tarballs)
    rmSync(join(modules, "@fallible"), { recursive: true, force: true })
    const own = ["arguments", "errors", "core"].map((name) => files.get(name)!)
    run("npm", ["install", "--no-save", "--no-audit", "--no-fund", ...own], folder)
  } finally {
    rmSync(tarballs, { recursive: true, force: true })
  }
  mkdirSync(join(modules, ".minified"), { recursive: true })
  const bundle = await rolldown({
    input: join(modules, "undici6/index.js"),
    platform: "node",
    external: /^node:/
  })
  await bundle.write({ file: minified, format: "esm", minify: true })
  await bundle.close()
}

/** Plays all rows in a runtime. */
export const play = async (runtime: string): Promise<Run> => {
  const [command = "", ...args] = runtimes[runtime]!()
  const child = spawn(command, [...args, join(folder, "rows.mjs")], {
    cwd: folder,
    stdio: ["ignore", "pipe", "ignore"],
    env: environment({
      WIRE_NODE: nodeHere,
      WIRE_MINIFIED: minified,
      NO_PROXY: "127.0.0.1,localhost",
      no_proxy: "127.0.0.1,localhost",
      DENO_NO_UPDATE_CHECK: "1",
      DENO_DIR: join(modules, ".deno")
    })
  })
  const ended = new Promise((resolve, reject) => child.once("close", resolve).once("error", reject))
  const rows: Array<Played> = []
  const wrong: Array<unknown> = []
  let end = { counted: Number.NaN, total: Number.NaN }
  for await (const text of createInterface(child.stdout)) {
    const line = parsed(text)
    if ("counted" in line) end = asEnd(line)
    else if ("row" in line && !("hung" in line) && !("broken" in line)) rows.push(asPlayed(line))
    else wrong.push(line)
  }
  const code = await ended
  return { rows, ...end, wrong: code === 0 ? wrong : [...wrong, { code }] }
}

/** What is said of requests that begin in pools of undici's. */
export interface Queues {
  readonly sentByCode: number
  readonly elsewhere: number
  readonly wrong: ReadonlyArray<string>
}

/** Sends requests at random over pools of undici's, in a runtime. */
export const playQueues = async (runtime: string): Promise<Queues> => {
  const [command = "", ...args] = runtimes[runtime]!()
  const { stdout } = await promisify(execFile)(command, [...args, join(folder, "queues.mjs")], {
    cwd: folder,
    env: environment({})
  })
  return asQueues(stdout)
}

// `queues.mjs` prints it so.
const asQueues = (text: string): Queues => JSON.parse(text) as Queues

const parsed = (text: string): object => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? value : { text }
  } catch {
    return { text }
  }
}

// `rows.mjs` prints them so.
const asEnd = (line: object): Pick<Run, "counted" | "total"> => line as Pick<Run, "counted" | "total">

const asPlayed = (line: object): Played => line as Played

/** What is known of a row, as one line of `expected.txt`. */
export const shown = ({ acts, calls, certainty, doubt, late, row, unavailable, varies }: Played): string => {
  const known = unavailable !== undefined
    ? "cannot be played"
    : varies === true
    ? "right or in doubt"
    : calls !== undefined
    ? Object.entries(calls).map(([kind, count]) => `${count} × ${kind}`).join("; ")
    : `${certainty}${doubt === undefined ? "" : ` ${doubt}`}, acts ${acts}${late === undefined ? "" : `, late ${late}`}`
  return `${row} → ${known}`
}
