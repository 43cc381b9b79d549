/**
 * Sets Fallible beside other libraries for agents: what each makes of faults, and what a turn costs. Prints Markdown.
 *
 * Only this folder depends on the frameworks: `npx -y pnpm@12 frameworks` installs them and runs. With
 * `--write 2026-12-31`, the output is also written to `RESULTS.md`, with that date.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { cpus } from "node:os"
import { join } from "node:path"
import { aiSdk } from "./aiSdk.ts"
import { libraries } from "./contender.ts"
import { costs, lengths, rounds, shareOfASecond, shownTimes } from "./cost.ts"
import { effectAi } from "./effectAi.ts"
import { fallible } from "./fallible.ts"
import { judged, type Verdict } from "./faults.ts"
import { honestWork } from "./honestWork.ts"
import { langChain } from "./langChain.ts"
import { mastra } from "./mastra.ts"
import { type Manner, manners } from "./model.ts"
import { openAiAgents } from "./openAiAgents.ts"
import type { Scenario } from "./scenario.ts"
import { scenarios } from "./scenarios.ts"

const contenders = [...fallible, ...aiSdk, ...langChain, ...mastra, ...openAiAgents, ...effectAi]

const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>) => {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]!.length)))
  const padded = (row: ReadonlyArray<string>) => row.map((cell, column) => cell.padEnd(widths[column]!))
  return [padded(head), widths.map((width) => "-".repeat(width)), ...rows.map(padded)]
    .map((row) => `| ${row.join(" | ")} |`)
    .join("\n")
}

// -----------------------------------------------------------------------------
// Faults
// -----------------------------------------------------------------------------

/** The verdicts by manner, scenario and contender. */
const verdicts = new Map<Manner, ReadonlyMap<Scenario, ReadonlyArray<Verdict>>>()

const playAll = async () => {
  const jobs: Array<() => Promise<void>> = []
  for (const manner of manners) {
    const rows = new Map(scenarios.map((scenario) => [scenario, Array.of<Verdict>()]))
    verdicts.set(manner, rows)
    for (const [scenario, row] of rows) {
      for (const [index, contender] of contenders.entries()) {
        jobs.push(async () => void (row[index] = await judged(scenario, manner, contender)))
      }
    }
  }
  await eachOf(jobs, 24)
}

/** Runs jobs, some at a time. Most of their time is waiting. */
const eachOf = async (jobs: Array<() => Promise<void>>, atOnce: number) => {
  const work = async () => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) await job()
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}

const shown = (verdict: Verdict) => verdict.kind === "right" ? "ok" : verdict.kind === "told" ? "says so" : verdict.how

const frameworks = [...new Set(contenders.map(({ framework }) => framework))]

/** What becomes of a scenario with each framework. */
const cells = (row: ReadonlyArray<Verdict>) =>
  frameworks.map((name) => {
    const [plain, recovering] = row.filter((_, index) => contenders[index]!.framework === name).map(shown)
    return plain === recovering ? plain! : `${plain} → ${recovering}`
  })

const matrix = (manner: Manner, isShown: (scenario: Scenario, cells: ReadonlyArray<string>) => boolean = () => true) =>
  table(
    ["scenario", "best cost", ...frameworks],
    [...verdicts.get(manner)!].flatMap(([scenario, row]) =>
      isShown(scenario, cells(row)) ? [[scenario.name, scenario.cost, ...cells(row)]] : []
    )
  )

const differs = (scenario: Scenario, shown: ReadonlyArray<string>) =>
  shown.join() !== cells(verdicts.get("weak")!.get(scenario)!).join()

const count = (verdicts: ReadonlyArray<Verdict | undefined>, is: (verdict: Verdict) => boolean) =>
  String(verdicts.filter((verdict) => verdict !== undefined && is(verdict)).length)

const totals = (played: ReadonlyArray<Scenario>) =>
  table(
    [
      "library",
      "setting",
      ...manners.flatMap((manner) => ["right", "says so", "acts twice", "other"].map((kind) => `${manner}: ${kind}`))
    ],
    contenders.map(({ framework, setting }, index) => [
      framework,
      setting,
      ...manners.flatMap((manner) => {
        const mine = played.map((scenario) => verdicts.get(manner)!.get(scenario)![index])
        const acts = (verdict: Verdict) => verdict.kind === "failed" && verdict.how.startsWith("acts")
        return [
          count(mine, ({ kind }) => kind === "right"),
          count(mine, ({ kind }) => kind === "told"),
          count(mine, acts),
          count(mine, (verdict) => verdict.kind === "failed" && !acts(verdict))
        ]
      })
    ])
  )

// -----------------------------------------------------------------------------
// What a user writes
// -----------------------------------------------------------------------------

const codeLines = (text: string) => text.split("\n").filter((line) => /^\s*[^\s/*]/.test(line)).length
const source = (file: string) => readFileSync(join(import.meta.dirname, file), "utf8")

/** The lines of the section "Recovery" of a library's file. */
const recoveryLines = (file: string) => codeLines(source(file).split("// Recovery\n")[1]!.split("// The agent\n")[0]!)

const writtenLines = () => Object.entries(libraries).map(([name, file]) => `${name} ${recoveryLines(file)}`).join(", ")

// -----------------------------------------------------------------------------
// The cost of a turn
// -----------------------------------------------------------------------------

const costTable = async () =>
  table(
    ["loop", ...lengths.map((turns) => `${turns} turns`), "10 turns, of a second"],
    [...await costs()].map(([name, times]) => [
      name,
      ...times.map(shownTimes),
      shareOfASecond(times[lengths.indexOf(10)]!)
    ])
  )

// -----------------------------------------------------------------------------
// The whole
// -----------------------------------------------------------------------------

interface Manifest {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
}

const manifest = (file: string): Manifest => JSON.parse(readFileSync(join(import.meta.dirname, file), "utf8"))
const versionIn = (file: string) => manifest(file).version
const { dependencies } = manifest("package.json")

const versions = () =>
  [
    ...Object.keys(dependencies).map((name) => `- ${name} ${versionIn(`node_modules/${name}/package.json`)}`),
    `- effect ${versionIn("../../test/node_modules/effect/package.json")}`,
    `- Fallible ${versionIn("../../packages/core/package.json")}`
  ].join("\n")

const report = async (date: string) => {
  const cost = await costTable()
  const start = performance.now()
  await playAll()
  const seconds = Math.round((performance.now() - start) / 1000)
  return `# Results

Printed by \`npx -y pnpm@12 frameworks --write ${date}\`. [README.md](README.md) says what is compared, and how it is judged.

${date}, Node ${process.version}, ${cpus().length} cores:

${versions()}

## Faults

${scenarios.length} scenarios, which took ${seconds} s together. The weak model tries a failed call once more, the careful model thinks first.

${totals(scenarios)}

Of these, the ${honestWork.length} of honest work, where caution may cost more than it saves:

${totals(honestWork)}

Lines of code in the section "Recovery" of each library's file: ${writtenLines()}. All but Fallible also share the
${codeLines(source("practice.ts"))} lines of \`practice.ts\`. Fallible uses its instructions and its limit of turns.

### Each scenario with the weak model

The best cost is given as replies of the model/executions of tools. \`throws → ok\` means: throws in the plain setting, ok in the recovering one.

${matrix("weak")}

### The scenarios that differ with the careful model

${matrix("careful", differs)}

## The cost of a turn

CPU time of a run, divided by its turns, in microseconds: the median of ${rounds} interleaved rounds, and their least and greatest. Each
agent is built once, and has one tool that reads. Its model is in the same process, and calls the tool in each turn. The last column sets the CPU time of a turn
beside one second, which a model's reply easily takes.

${cost}
`
}

// Libraries print advice and the errors of models to the console, and an abandoned tool may still reject.
console.warn = () => undefined
console.error = () => undefined
process.on("unhandledRejection", () => undefined)

const [flag, date = new Date().toISOString().slice(0, 10)] = process.argv.slice(2)
const text = await report(date)
console.log(text)
if (flag === "--write") writeFileSync(join(import.meta.dirname, "RESULTS.md"), text)
process.exit()
