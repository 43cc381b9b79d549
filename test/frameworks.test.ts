/** The comparison with other frameworks (`bench/frameworks`) and its written results. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Scenario } from "../bench/frameworks/scenario.ts"
import { scenarios } from "../bench/frameworks/scenarios.ts"
import { root } from "./support/program.ts"

const read = (file: string) => readFileSync(join(root, "bench/frameworks", file), "utf8")
const results = read("RESULTS.md")

/** The cells of the table rows below a heading. */
const rowsBelow = (heading: string): ReadonlyArray<ReadonlyArray<string>> =>
  results.split(`\n## ${heading}\n`)[1]!.split("\n## ")[0]!.split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| -"))
    .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()))

const faults = rowsBelow("Faults")

describe("the results of the comparison with other frameworks", () => {
  it("are those of the libraries that are installed", () => {
    const { dependencies } = JSON.parse(read("package.json")) as { readonly dependencies: Record<string, string> }
    for (const [name, version] of Object.entries(dependencies)) assert.include(results, `- ${name} ${version}\n`)
  })

  it("are those of the scenarios as they are now", () => {
    const isPlayed = ({ cost, name }: Scenario) => faults.some((row) => row[0] === name && row[1] === cost)
    assert.deepStrictEqual(scenarios.filter((scenario) => !isPlayed(scenario)), [])
    assert.include(results, `\n${scenarios.length} scenarios,`)
  })

  it("have the totals of the scenarios with the weak model", () => {
    const names = faults.find(([first]) => first === "scenario")!
    // The first rows are those of the weak model.
    const played = scenarios.map(({ name }) => faults.find(([first]) => first === name)!)
    const totals = faults.filter(([, setting]) => setting === "plain" || setting === "recovering")
    assert.strictEqual(totals.length, 2 * (names.length - 2))
    for (const [framework, setting, right, told, twice, other] of totals) {
      const verdicts = played.map((row) =>
        row[names.indexOf(framework!)]!.split(" → ").at(setting === "plain" ? 0 : -1)!
      )
      const count = (is: (verdict: string) => boolean) => String(verdicts.filter(is).length)
      assert.deepStrictEqual(
        [right, told, twice, other],
        [
          count((verdict) => verdict === "ok"),
          count((verdict) => verdict === "says so"),
          count((verdict) => verdict.startsWith("acts")),
          count((verdict) => !/^(ok|says so|acts)/.test(verdict))
        ]
      )
    }
  })
})
