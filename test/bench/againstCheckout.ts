/**
 * Compares the cost of turns in two checkouts: this one, and another one. Run it with `pnpm turns-against OTHER`.
 * Arguments: the root of the other checkout, and the number of pairs of processes (default: 5).
 *
 * Both checkouts run in one process, each with its own copy of Effect and of the subjects. They take turns every few
 * milliseconds, in the order this, other, other, this. So a drift of the machine's speed cancels. But a compiler decides
 * anew in each process what it inlines, which makes equal code differ by a few percent. So all of it is done in several
 * pairs of processes, one after the other: in each pair, each checkout comes first once. The ratio of a process is the
 * median over its rounds, that of a pair is the mean of both, and what is printed is the median over the pairs.
 */
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { importCopy } from "../support/checkout.ts"
import { median } from "../support/measure.ts"
import { root } from "../support/program.ts"
import type { subjects } from "../support/turnCosts.ts"

type Subjects = typeof subjects
type Subject = Subjects[keyof Subjects]

/** Microseconds per turn in each round, by subject: of the first checkout, and of the second one. */
type Costs = Readonly<Record<string, ReadonlyArray<readonly [first: number, second: number]>>>

// -----------------------------------------------------------------------------
// One process
// -----------------------------------------------------------------------------

/** The type is that of this checkout: another one is expected to have the same public surface. */
const subjectsOf = async (checkout: string): Promise<Subjects> =>
  (await importCopy("./turnCosts.ts", checkout) as { readonly subjects: Subjects }).subjects

/** Microseconds of CPU of some runs. */
const measure = async ({ run }: Subject, runs: number): Promise<number> => {
  const before = process.cpuUsage()
  for (let i = 0; i < runs; i++) await run()
  const { system, user } = process.cpuUsage(before)
  return user + system
}

/** The measures of a round that one checkout has. */
const measures = 16
/** The shortest useful measure in microseconds: the machine's speed changes within tens of milliseconds. */
const enough = 3_000

/** Microseconds of CPU per turn. Many short measures, because together they also pay for their garbage. */
const round = async (first: Subject, second: Subject, runs: number): Promise<readonly [number, number]> => {
  let [a, b] = [0, 0]
  for (let i = 0; i < measures; i += 2) {
    a += await measure(first, runs)
    b += await measure(second, runs)
    b += await measure(second, runs)
    a += await measure(first, runs)
  }
  const turns = measures * runs * first.turns
  return [a / turns, b / turns]
}

const measured = async (first: string, second: string): Promise<Costs> => {
  const [a, b] = [await subjectsOf(first), await subjectsOf(second)]
  const costs: Record<string, Array<readonly [number, number]>> = {}
  for (const name of Object.keys(a) as Array<keyof Subjects>) {
    const rounds = costs[name] = new Array<readonly [number, number]>()
    let runs = 4
    for (let index = -12; index < 9; index++) {
      const cost = await round(a[name], b[name], runs)
      // The first rounds only warm up, and find out how many runs are enough.
      if (index < 0) runs = Math.ceil(enough / (cost[0] * a[name].turns))
      else rounds.push(cost)
    }
  }
  return costs
}

// -----------------------------------------------------------------------------
// All processes
// -----------------------------------------------------------------------------

const inProcess = (first: string, second: string): Costs => {
  const file = fileURLToPath(import.meta.url)
  // With one thread, the compiler and the garbage collector work for the one who runs, not for the one after.
  const args = ["--single-threaded", file, "--measure", first, second]
  const { status, stderr, stdout } = spawnSync(process.execPath, args, { encoding: "utf8" })
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}

const ratioOf = (rounds: Costs[string] = []): number => median(rounds.map(([first, second]) => first / second))

const compare = (other: string, pairs: number): void => {
  const all = Array.from({ length: pairs }, () => [inProcess(root, other), inProcess(other, root)] as const)
  const micros = (values: ReadonlyArray<number>) => `${median(values).toFixed(1)} µs`
  console.table(Object.fromEntries(
    Object.keys(all[0]?.[0] ?? {}).map((name) => {
      const ours = all.flatMap((
        [a, b]
      ) => [...a[name]!.map(([first]) => first), ...b[name]!.map(([, second]) => second)])
      const theirs = all.flatMap((
        [a, b]
      ) => [...a[name]!.map(([, second]) => second), ...b[name]!.map(([first]) => first)])
      // What only comes from being first cancels.
      const ratios = all.map(([a, b]) => Math.sqrt(ratioOf(a[name]) / ratioOf(b[name])))
      return [name, {
        this: micros(ours),
        other: micros(theirs),
        "this / other": median(ratios).toFixed(3),
        "from, to": `${Math.min(...ratios).toFixed(2)}, ${Math.max(...ratios).toFixed(2)}`
      }]
    })
  ))
}

const args = process.argv.slice(2)
const [other, pairs = "5"] = args
if (other === undefined) {
  process.stderr.write("Usage: pnpm turns-against OTHER_CHECKOUT [PAIRS]\n")
  process.exitCode = 1
} else if (other === "--measure") {
  console.log(JSON.stringify(await measured(args[1]!, args[2]!)))
} else {
  compare(other, Number(pairs))
}
