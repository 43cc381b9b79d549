/**
 * Compares calls and runs in two checkouts: this one, and another one. Plays random scenarios in both, each checkout in
 * its own process, and reports those whose results differ.
 *
 * Run it with `pnpm difference OTHER`. Arguments: the root of the other checkout, the number of scenarios (default:
 * 24,000) and the first seed (default: 0). Each seed gives one scenario, which both processes draw with fast-check. A
 * single scenario is printed whole, even if nothing differs. `--added=evidence,effects` passes over fields of these names
 * that only one checkout has. Exits with 1 if a result differs.
 *
 * A result is each outcome as JSON, the text that the model reads, the facts as JSON, the executions with their keys and
 * times, late results and defects; for a run, its answer or failure as JSON. The tags of events are compared separately,
 * because they are no result: a difference there does not fail.
 */
import * as fc from "fast-check"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import type { Played } from "../support/callScenarios.ts"
import { importFrom } from "../support/checkout.ts"
import { root } from "../support/program.ts"

/** The scenario of one seed, as one checkout played it. */
interface Line extends Played {
  readonly seed: number
  readonly scenario: string
}

const print = (text: string) => process.stdout.write(`${text}\n`)

// -----------------------------------------------------------------------------
// A checkout, in its own process
// -----------------------------------------------------------------------------

const playAll = async (checkout: string, count: number, first: number): Promise<void> => {
  importFrom(checkout)
  const { described, play, scenario } = await import("../support/callScenarios.ts")
  for (let seed = first; seed < first + count; seed++) {
    for (const drawn of fc.sample(scenario, { seed, numRuns: 1, unbiased: true })) {
      const line: Line = { seed, scenario: described(drawn), ...await play(drawn) }
      if (!print(JSON.stringify(line))) await new Promise((resolve) => process.stdout.once("drain", resolve))
    }
  }
}

/** Plays the scenarios in a process of their own, and hands over its lines. */
const played = (checkout: string, count: number, first: number): AsyncIterable<string> => {
  const file = fileURLToPath(import.meta.url)
  const child = spawn(process.execPath, [file, "--play", checkout, String(count), String(first)], {
    stdio: ["ignore", "pipe", "inherit"]
  })
  return createInterface({ input: child.stdout })
}

// -----------------------------------------------------------------------------
// The comparison
// -----------------------------------------------------------------------------

const isTree = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** Fields that only one of the checkouts may know. */
const additions: ReadonlySet<string> = new Set(
  process.argv.flatMap((argument) =>
    argument.startsWith("--added=") ? argument.slice("--added=".length).split(",") : []
  )
)

/** Returns each place where two JSON values differ, and both values there. The order of keys is no difference. */
const differences = (a: unknown, b: unknown, path = ""): ReadonlyArray<readonly [string, unknown, unknown]> => {
  if (JSON.stringify(a) === JSON.stringify(b)) return []
  if (!isTree(a) || !isTree(b)) return [[path, a, b]]
  return Array.from(new Set([...Object.keys(a), ...Object.keys(b)])).flatMap((key) =>
    additions.has(key) && key in a !== key in b ? [] : differences(a[key], b[key], `${path}.${key}`)
  )
}

const read = (line: string): Line => JSON.parse(line)

const short = (value: unknown) => (JSON.stringify(value) ?? "nothing").slice(0, 600)

/** Scenarios that differ in the same places: how many, and the first of them. */
class Findings {
  readonly #kinds = new Map<string, Array<string>>()
  count = 0

  add({ scenario, seed }: Line, found: ReturnType<typeof differences>): void {
    if (found.length === 0) return
    this.count++
    const places = found.map(([path]) => path.replace(/\.\d+/g, "[]"))
    const kind = Array.from(new Set(places)).toSorted().slice(0, 6).join(" ")
    const text = found.slice(0, 12).map(([path, a, b]) =>
      `    ${path}\n      this:  ${short(a)}\n      other: ${short(b)}`
    )
    const seen = this.#kinds.get(kind) ?? []
    this.#kinds.set(kind, seen)
    seen.push(seen.length < 2 ? `  seed ${seed}: ${scenario}\n${text.join("\n")}` : String(seed))
  }

  report(heading: string): void {
    print(`\n# ${heading}: ${this.count === 0 ? "nothing" : `${this.count} scenarios`}`)
    for (const [kind, seeds] of Array.from(this.#kinds).toSorted(([, a], [, b]) => b.length - a.length).slice(0, 40)) {
      print(`\n${seeds.length} x ${kind}\n${seeds.slice(0, 2).join("\n")}`)
      if (seeds.length > 2) print(`  also seeds ${seeds.slice(2, 22).join(", ")}`)
    }
  }
}

const compare = async (other: string, count: number, first: number): Promise<void> => {
  const results = new Findings()
  const events = new Findings()
  const seen = new Map<string, number>()
  const others = played(other, count, first)[Symbol.asyncIterator]()
  let done = 0
  for await (const line of played(root, count, first)) {
    const { value: otherLine = "" } = await others.next()
    for (const [what] of line.matchAll(/"_tag":"(Completed|Failed|Suspended|Stopped|Run\w+)"/g)) {
      seen.set(what, (seen.get(what) ?? 0) + 1)
    }
    if (line !== otherLine) {
      const [a, b] = [read(line), read(otherLine)]
      if (a.scenario !== b.scenario) throw new Error(`Seed ${a.seed} gave two scenarios.`)
      results.add(a, differences(a.result, b.result))
      events.add(a, differences(a.events, b.events))
    }
    if (count === 1) print(JSON.stringify([read(line), read(otherLine)], undefined, 2))
    if (++done % 2_000 === 0) process.stderr.write(`${done} of ${count}\n`)
  }
  if (done < count) throw new Error(`Only ${done} of ${count} scenarios were played.`)
  for (const [what, times] of seen) print(`${String(times).padStart(8)}  ${what}`)
  events.report("The events differ")
  results.report("The results differ")
  process.exit(results.count === 0 ? 0 : 1)
}

const args = process.argv.slice(2).filter((argument) => !argument.startsWith("--added="))
const isPlayer = args[0] === "--play"
const [checkout, count = "24000", first = "0"] = isPlayer ? args.slice(1) : args
if (checkout === undefined) {
  process.stderr.write("Usage: pnpm difference OTHER_CHECKOUT [COUNT] [FIRST_SEED]\n")
  process.exitCode = 1
} else {
  await (isPlayer ? playAll : compare)(checkout, Number(count), Number(first))
}
