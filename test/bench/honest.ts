/**
 * Compares the library with a plain loop where caution may hurt, and advice with no advice. Plays the honest scenarios by
 * a plain loop and by an agent with its defaults, and the faults of tools by the agent. The agent's model listens in three
 * ways: as its script says, heeding every word of advice, and deaf to all of it.
 *
 * Run it with `pnpm honest`. It prints a table of the ends ("yes", or "no" for a wrong one; "yes*" if it cost too many replies or
 * too much time) and the model's replies, the totals, and each scenario in which a model that heeds advice ends worse than one that is deaf. An argument selects the
 * scenarios whose names contain it, and shows what is wrong with each end.
 */
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { deaf, heeding } from "../support/heeding.ts"
import { honestKinds } from "../support/honest/all.ts"
import { excess, playAgent, type Played, playFault, playPlain, wrongEnds } from "../support/honest/play.ts"
import type { HonestScenario } from "../support/honest/scenario.ts"
import { type Scenario, toolFaults, unprovedFaults } from "../support/toolFaults.ts"

const columns = ["plain", "default", "heeding", "deaf"] as const
type Column = (typeof columns)[number]

/** How a scenario ended for one of the columns. */
interface End {
  readonly isRight: boolean
  readonly isDear: boolean
  readonly replies: number
  readonly problems: ReadonlyArray<string>
}

interface Row {
  readonly name: string
  readonly ends: Partial<Record<Column, End>>
}

// -----------------------------------------------------------------------------
// Playing
// -----------------------------------------------------------------------------

const [wanted = ""] = process.argv.slice(2)

const run = (played: Effect.Effect<Played>) => Effect.runPromise(Effect.provide(played, TestClock.layer()))

const endOf = (scenario: Pick<HonestScenario, "done" | "never" | "says">, played: Played): End => {
  const problems = wrongEnds(scenario, played)
  return { isRight: problems.length === 0, isDear: false, replies: played.replies, problems }
}

const honestRow = async (scenario: HonestScenario): Promise<Row> => {
  const end = async (play: Effect.Effect<Played>) => {
    const played = await run(play)
    const { problems, ...end } = endOf(scenario, played)
    const costs = excess(scenario, played)
    return { ...end, isDear: costs.length > 0, problems: [...problems, ...costs] }
  }
  return {
    name: scenario.name,
    ends: {
      plain: await end(playPlain(scenario)),
      default: await end(playAgent(scenario)),
      heeding: await end(playAgent(scenario, heeding)),
      deaf: await end(playAgent(scenario, deaf))
    }
  }
}

// The tools of faults are the library's own, so the plain loop cannot play them.
const faultRow = async (scenario: Scenario): Promise<Row> => {
  const end = async (play: Effect.Effect<Played>) => endOf(scenario, await run(play))
  return {
    name: scenario.name,
    ends: {
      default: await end(playFault(scenario)),
      heeding: await end(playFault(scenario, heeding)),
      deaf: await end(playFault(scenario, deaf))
    }
  }
}

// -----------------------------------------------------------------------------
// Printing
// -----------------------------------------------------------------------------

const width = 66

const shownEnd = (end: End | undefined): string =>
  end === undefined ? "" : `${end.isRight ? end.isDear ? "yes*" : "yes " : "no  "} ${String(end.replies).padStart(2)}`

const line = (name: string, cells: ReadonlyArray<string>): string =>
  [name.slice(0, width).padEnd(width), ...cells.map((cell) => cell.padStart(12))].join("").trimEnd()

const show = ({ ends, name }: Row): void => {
  console.log(line(`  ${name}`, columns.map((column) => shownEnd(ends[column]))))
  if (wanted === "") return
  for (const column of columns) {
    for (const problem of ends[column]?.problems ?? []) console.log(`    ${column}: ${problem}`)
  }
}

const total = (rows: ReadonlyArray<Row>): void => {
  const cells = columns.map((column) => {
    const ends = rows.flatMap((row) => row.ends[column] ?? [])
    const replies = ends.reduce((sum, end) => sum + end.replies, 0)
    return ends.length === 0 ? "" : `${ends.filter(({ isRight }) => isRight).length}/${ends.length} ${replies}`
  })
  console.log(line("  total", cells))
}

const section = async <S extends { readonly name: string }>(
  name: string,
  scenarios: ReadonlyArray<S>,
  play: (scenario: S) => Promise<Row>
): Promise<ReadonlyArray<Row>> => {
  const chosen = scenarios.filter((scenario) => scenario.name.includes(wanted))
  if (chosen.length === 0) return []
  console.log(line(`\n${name}`, columns))
  const rows: Array<Row> = []
  for (const scenario of chosen) {
    const row = await play(scenario)
    show(row)
    rows.push(row)
  }
  total(rows)
  return rows
}

const honest: Array<Row> = []
for (const { kind, scenarios } of honestKinds) honest.push(...await section(kind, scenarios, honestRow))
const faults = await section("a fault of a tool", [...toolFaults, ...unprovedFaults], faultRow)

if (wanted === "") {
  console.log(line("\nall", columns))
  console.log("  honest scenarios")
  total(honest)
  console.log("  faults of tools")
  total(faults)
}

const misled = [...honest, ...faults].filter(({ ends }) =>
  ends.deaf?.isRight === true && ends.heeding?.isRight === false
)
console.log(
  misled.length === 0
    ? "\nNowhere does a model that heeds advice end worse than one that is deaf to it."
    : `\nA model that heeds advice ends worse than one that is deaf to it in ${misled.length}:`
)
for (const { name } of misled) console.log(`  ${name}`)
