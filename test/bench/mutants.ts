/**
 * Checks that the laws notice mistakes: applies one small change (a mutant) to the library, runs the laws, and expects
 * one of them to fail. The files of the library stay as they are: `mutants.config.ts` changes the one file while it is
 * loaded.
 *
 * Run it with `pnpm mutants`. Its argument is a word: only mutants whose name contains it are tried (default: all of
 * `mutantList.ts`). `--list` prints their names. It exits with 1 if a mutant survives or no longer applies.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Mutant, mutants } from "./mutantList.ts"

const root = join(import.meta.dirname, "../..")

/** Laws that see nothing of a call's record, or take long. */
const leftOut = ["argumentLaws.test.ts", "boundLaws.test.ts"]

const laws = [
  ...readdirSync(join(root, "test/core"))
    .filter((name) => name.endsWith("Laws.test.ts") && !leftOut.includes(name))
    .map((name) => `test/core/${name}`),
  // What settles a doubt, and which calls run once.
  "test/core/settledDoubts.test.ts",
  "test/core/stillRunning.test.ts",
  "test/core/forgottenFacts.test.ts",
  "test/core/innerRetries.test.ts",
  "test/core/policyWarnings.test.ts",
  "test/core/joinedCalls.test.ts",
  "test/core/concurrentCalls.test.ts",
  // What results prove, what is recorded, what an interrupted run hands over, and what nobody may see.
  "test/core/returnedValues.test.ts",
  "test/core/journaledRuns.test.ts",
  "test/core/workflowRuns.test.ts",
  "test/core/runProgress.test.ts",
  "test/core/secretCalls.test.ts",
  "test/core/Guard.test.ts",
  "test/core/silentFailures.test.ts",
  // What people approve.
  "test/core/approvals.test.ts",
  "test/core/approvalAttacks.test.ts",
  // Calls in another loop, and what clients run and see.
  "test/core/callSession.test.ts",
  "test/core/clientTools.test.ts",
  "test/core/toldResults.test.ts",
  // What looks like a loop, and what comes later.
  "test/core/honestWork.test.ts",
  // What the requests of a handler prove.
  "test/core/wire.test.ts",
  "test/evidenceRuns.test.ts"
]

/** A mutant, and the law that failed; none if it survived. */
interface Tried {
  readonly mutant: Mutant
  readonly law: string | undefined
  readonly seconds: number
}

/** The part of Vitest's JSON report that is read here. */
interface Report {
  readonly testResults: ReadonlyArray<{
    readonly name: string
    readonly status: string
    readonly message: string
    readonly assertionResults: ReadonlyArray<{ readonly status: string; readonly fullName: string }>
  }>
}

const checkThatItApplies = ({ file, name, text }: Mutant): void => {
  const times = readFileSync(join(root, file), "utf8").split(text).length - 1
  if (times === 1) return
  console.error(`The mutant '${name}' no longer applies: its text occurs ${times} times in ${file}.`)
  process.exit(1)
}

/** A mutant in which the laws find no end counts as noticed after this time, in milliseconds. */
const patience = 180_000

const tried = (mutant: Mutant, folder: string): Tried => {
  const outputFile = join(folder, "report.json")
  const start = performance.now()
  const { error, stderr } = spawnSync(
    process.execPath,
    [
      join(root, "node_modules/vitest/vitest.mjs"),
      "run",
      "--config=test/bench/mutants.config.ts",
      "--bail=1",
      "--reporter=json",
      `--outputFile=${outputFile}`,
      ...laws
    ],
    { cwd: root, env: { ...process.env, FALLIBLE_MUTANT: mutant.name }, timeout: patience, encoding: "utf8" }
  )
  const seconds = (performance.now() - start) / 1_000
  if (error !== undefined) return { mutant, law: "the laws did not end", seconds }
  const law = failedLaw(reportOf(outputFile, stderr), mutant)
  rmSync(outputFile)
  return { mutant, law, seconds }
}

const reportOf = (file: string, stderr: string): Report => {
  try {
    return JSON.parse(readFileSync(file, "utf8"))
  } catch {
    throw new Error(`Vitest wrote no report: ${stderr}`)
  }
}

const failedLaw = ({ testResults }: Report, { name }: Mutant): string | undefined => {
  for (const { assertionResults, message, name: file, status } of testResults) {
    const failed = assertionResults.find(({ status }) => status === "failed")
    if (failed !== undefined) return `${file.slice(root.length + 1)}: ${failed.fullName}`
    // A mutant that cannot be loaded would look as if every law noticed it.
    if (status === "failed" && message !== "") throw new Error(`With the mutant '${name}', ${file} fails: ${message}`)
  }
  return undefined
}

const word = process.argv[2]
const chosen = word === undefined || word === "--list" ? mutants : mutants.filter(({ name }) => name.includes(word))
if (word === "--list") {
  for (const { file, name } of chosen) console.log(`${name}  (${file})`)
  process.exit(0)
}
if (chosen.length === 0) {
  console.error(`No mutant's name contains '${word}'.`)
  process.exit(1)
}
chosen.forEach(checkThatItApplies)
const folder = mkdtempSync(join(tmpdir(), "fallible-mutants-"))
const results = chosen.map((mutant) => {
  const result = tried(mutant, folder)
  const { law = "SURVIVES", seconds } = result
  console.log(`${seconds.toFixed(0).padStart(4)} s  ${mutant.name}\n        ${law}`)
  return result
})
rmSync(folder, { recursive: true })
const survivors = results.filter(({ law }) => law === undefined)
console.log(
  survivors.length === 0
    ? `The laws notice all ${results.length} mutants.`
    : `${survivors.length} of ${results.length} mutants survive: ${
      survivors.map(({ mutant }) => mutant.name).join(", ")
    }`
)
process.exit(survivors.length === 0 ? 0 : 1)
