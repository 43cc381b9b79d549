/**
 * Searches for lies and double payments: calls that acted and are told as not executed, and orders that are paid twice.
 * Plays handlers in many styles over real connections, which meet any fault.
 *
 * Run it with `pnpm evidence`. Arguments: the number of runs (default: 20,000) and a seed (default: 1); or a scenario as
 * JSON, as a finding shows it, which is then played alone. It prints its findings, and exits with 1 if it has any.
 */
import { Effect } from "effect"
import { faults } from "../support/evidenceBank.ts"
import { faultsOf, hasActed, play, type Played, type Refused, refusedIn, shrunk } from "../support/evidenceRuns.ts"
import { described, type Scenario, scenario, styles } from "../support/evidenceScenario.ts"
import { search } from "./searching.ts"

// -----------------------------------------------------------------------------
// One scenario
// -----------------------------------------------------------------------------

const shown = (one: Scenario, { account, asked, claims }: Played): void => {
  for (const { acted, attempt, begun, call, fault, key, kind, order } of asked) {
    const what = acted ? "acted" : "did nothing"
    console.log(`${begun}  ${order} ${call}, attempt ${attempt}: ${kind} (${fault}) ${what}, key ${key?.slice(0, 6)}`)
  }
  for (const { at, attempt, call, outcome, told, who } of claims) {
    const failure = outcome?._tag === "Failed" ? `${outcome.failure.code}: ${outcome.failure.detail}` : ""
    console.log(`${at}  ${who} ${call}, attempt ${attempt}: ${told} ${outcome?.doubt ?? ""} ${failure}`)
  }
  console.log("payments", account.payments)
  console.log(faultsOf(one, { account, asked, claims }))
}

// A scenario that was printed by this program.
const asScenario = (text: string) => JSON.parse(text) as Scenario

const [first = ""] = process.argv.slice(2)
if (first.startsWith("{")) {
  const one = asScenario(first)
  const [played] = await Effect.runPromise(play([one]))
  shown(one, played!)
  process.exit(faultsOf(one, played!).length === 0 ? 0 : 1)
}

// -----------------------------------------------------------------------------
// Many
// -----------------------------------------------------------------------------

const refused: Array<Refused> = []

/** How many findings are made smaller: that takes a minute. */
let shrinks = 10

const shrinking = (one: Scenario, played: Played) =>
  Effect.promise(async () => {
    if (faultsOf(one, played).length === 0 || shrinks === 0) return
    shrinks--
    const smaller = await shrunk(one)
    console.error(smaller === undefined ? "Not found when played alone." : `Smaller: ${described(smaller)}`)
  })

// The search ends the process.
process.once("exit", () => {
  console.log("\nNeedless doubts, of the calls that certainly did nothing:\n")
  const width = Math.max(...faults.map(({ length }) => length))
  console.log(" ".repeat(width), ...styles.map((style) => style.slice(0, 11).padStart(11)))
  for (const fault of faults) {
    const cells = styles.map((style) => {
      const all = refused.filter((one) => one.style === style && one.fault === fault)
      return all.length === 0 ? "" : `${all.filter(({ isDoubted }) => isDoubted).length}/${all.length}`
    })
    if (cells.some((cell) => cell !== "")) console.log(fault.padEnd(width), ...cells.map((cell) => cell.padStart(11)))
  }
})

await search({
  scenario,
  play: (scenarios) =>
    Effect.tap(play(scenarios), (played) =>
      Effect.forEach(scenarios, (one, index) => {
        refused.push(...refusedIn(one, played[index]!))
        return shrinking(one, played[index]!)
      })),
  described,
  judged: (one, played) => {
    const faults = faultsOf(one, played)
    return [
      ...faults.map((fault) => ({ what: fault.replace(/ \(.*| o-\d.*/, ""), fault })),
      ...played.claims.filter(({ outcome }) => outcome !== undefined).map(({ call, outcome, told }) => {
        const acted = played.asked.some((request) => request.call === call && hasActed(one, request))
        return { what: `${outcome!._tag}, ${told}, ${acted ? "acted" : "did nothing"}`, fault: undefined }
      })
    ]
  },
  finds: "lies and double payments",
  count: 20_000
})
