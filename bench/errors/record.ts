/**
 * Provokes the errors of real libraries on loopback, and records them as data: `test/support/errorShapes.json`.
 *
 * Only this folder depends on the libraries: `npx -y pnpm@12 errors` installs them and runs. The errors of
 * `pg` need PostgreSQL's server programs. Without them, the earlier recordings are kept. With library names
 * as arguments, only those libraries are recorded.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Recorded } from "../../test/support/errorShapes.ts"
import { awsCases } from "./cases/aws.ts"
import { axiosCases } from "./cases/axios.ts"
import { effectCases } from "./cases/effect.ts"
import { fetchCases } from "./cases/fetch.ts"
import { gotCases } from "./cases/got.ts"
import { grpcCases } from "./cases/grpc.ts"
import { kyCases } from "./cases/ky.ts"
import { aggregateCases, jsonCases, plainCases, programmingCases } from "./cases/language.ts"
import { mailCases } from "./cases/mail.ts"
import { mcpCases } from "./cases/mcp.ts"
import { aiSdkCases, openaiCases } from "./cases/models.ts"
import { mysqlCases } from "./cases/mysql.ts"
import { httpCases, systemCases } from "./cases/node.ts"
import { postgresCases } from "./cases/postgres.ts"
import { valibotCases, zodCases } from "./cases/schemas.ts"
import { anthropicCases, gaxiosCases, octokitCases, postgrestCases, slackCases, stripeCases } from "./cases/services.ts"
import { betterSqliteCases, nodeSqliteCases } from "./cases/sqlite.ts"
import { ioredisCases, mongoCases, redisCases } from "./cases/stores.ts"
import { undiciCases } from "./cases/undici.ts"
import { treeOf } from "./tree.ts"
import { type Cases, makeWorld, type World } from "./world.ts"

const suites: ReadonlyArray<(world: World) => Cases | undefined | Promise<Cases | undefined>> = [
  plainCases,
  programmingCases,
  jsonCases,
  aggregateCases,
  fetchCases,
  httpCases,
  systemCases,
  undiciCases,
  axiosCases,
  kyCases,
  gotCases,
  nodeSqliteCases,
  betterSqliteCases,
  postgresCases,
  mysqlCases,
  grpcCases,
  awsCases,
  openaiCases,
  aiSdkCases,
  mcpCases,
  zodCases,
  valibotCases,
  octokitCases,
  gaxiosCases,
  stripeCases,
  anthropicCases,
  slackCases,
  postgrestCases,
  ioredisCases,
  redisCases,
  mongoCases,
  mailCases,
  effectCases
]

const here = import.meta.dirname
const root = join(here, "../..")
const file = join(root, "test/support/errorShapes.json")
const { dependencies } = JSON.parse(readFileSync(join(here, "package.json"), "utf8")) as {
  readonly dependencies: Readonly<Record<string, string>>
}

const main = async (libraries: ReadonlyArray<string>) => {
  const world = await makeWorld()
  try {
    const recordings: Array<Recorded> = []
    for (const suite of suites) {
      const cases = await suite(world)
      if (cases === undefined) continue
      const { library } = cases
      if (libraries.length === 0 || libraries.includes(library)) recordings.push(...await record(cases, world))
    }
    write(recordings, libraries.length > 0 ? earlier() : earlier().filter(({ library }) => library.startsWith("pg@")))
  } finally {
    await world.close()
  }
}

const record = async ({ cases, library }: Cases, world: World): Promise<ReadonlyArray<Recorded>> => {
  const recorded: Array<Recorded> = []
  const version = dependencies[library] ?? (library.startsWith("node") ? process.version : undefined)
  for (const [title, provoke] of Object.entries(cases)) {
    const name = `${library} ${title}`
    const outcome = await outcomeOf(provoke)
    if ("error" in outcome) {
      const error = treeOf(outcome.error, (text) => scrubbed(text, world))
      recorded.push({ name, library: version === undefined ? library : `${library}@${version}`, error })
    } else {
      console.log(`${name}: ${outcome.nothing}`)
    }
  }
  return recorded
}

/** Replaces the parts that differ from run to run: paths, ports, process ids, memory addresses, times. */
const scrubbed = (text: string, { directory }: World) =>
  text.replaceAll(`file://${root}`, root)
    .replaceAll(`${root}/bench/errors`, "/app")
    .replaceAll(root, "/app")
    .replaceAll(directory, "/app/data")
    .replace(/(?<=[Pp]rocess )\d+/g, "1")
    .replace(/\b4[0-9A-F]{11,15}\b/g, "400000000000")
    .replace(/(?<=Deadline exceeded after ).*?(?=remote_addr|Waiting)/g, "0.100s,")
    .replace(/(127\.0\.0\.1|localhost|::1\]?):\d{4,5}\b/g, "$1:12345")

const write = (recorded: ReadonlyArray<Recorded>, before: ReadonlyArray<Recorded>) => {
  const fresh = new Set(recorded.map(({ name }) => name))
  const all = [...recorded, ...before.filter(({ name }) => !fresh.has(name))]
  writeFileSync(file, `[\n${all.map((one) => JSON.stringify(one)).join(",\n")}\n]\n`)
  console.log(`${all.length} errors, ${recorded.length} of them recorded now`)
}

const earlier = (): ReadonlyArray<Recorded> => {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as ReadonlyArray<Recorded>
  } catch {
    return []
  }
}

const outcomeOf = async (
  provoke: () => unknown
): Promise<{ readonly error: unknown } | { readonly nothing: string }> => {
  const late = Symbol()
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise((done) => {
    timer = setTimeout(() => done(late), 20_000)
  })
  try {
    const value = await Promise.race([deadline, provoke()])
    return { nothing: value === late ? "did not end" : "did not fail" }
  } catch (error) {
    return { error }
  } finally {
    clearTimeout(timer)
  }
}

await main(process.argv.slice(2))
process.exit()
