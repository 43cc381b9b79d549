/**
 * Searches for effects that happen more often than they are meant. Plays conversations of weak and careful models over
 * real connections, with services that have faults, users who come back, and people who settle doubts. It also shows how
 * often the effects that are meant happen.
 *
 * Run it with `pnpm conversations`. Arguments: the number of conversations (default: 20,000) and a seed (default: 1); or a
 * conversation as JSON, as a finding shows it, which is then played alone. It prints its findings, and exits with 1 if it
 * has any.
 */
import { Effect } from "effect"
import {
  asScenario,
  described,
  faultOf,
  isDoneByTwo,
  isReached,
  isSettled,
  play,
  type Played,
  type Scenario,
  scenario,
  shrunk
} from "../support/conversations.ts"
import { kinds } from "../support/conversationTools.ts"
import { search } from "./searching.ts"

// -----------------------------------------------------------------------------
// One conversation
// -----------------------------------------------------------------------------

const shown = async (one: Scenario): Promise<boolean> => {
  const [played] = await Effect.runPromise(play([one]))
  for (const line of played!.account.log) console.log(line)
  const fault = faultOf(one, played!)
  console.log(fault ?? "Nothing found.")
  return fault === undefined
}

const [first = ""] = process.argv.slice(2)
if (first.startsWith("{")) process.exit(await shown(asScenario(first)) ? 0 : 1)

// -----------------------------------------------------------------------------
// Many
// -----------------------------------------------------------------------------

/** How many findings are made smaller: that takes a minute. */
let shrinks = 10

/** The kinds of tools of the findings that were made smaller. */
const shrunkKinds = new Set<string>()

const shrinking = (one: Scenario, played: Played) =>
  Effect.promise(async () => {
    if (faultOf(one, played) === undefined || shrinks === 0 || shrunkKinds.has(one.kind)) return
    shrinks--
    shrunkKinds.add(one.kind)
    const smaller = await shrunk(one)
    console.error(smaller === undefined ? "Not found when played alone." : `Smaller: ${described(smaller)}`)
    if (smaller !== undefined) await shown(smaller)
  })

/** Conversations of one sort, and how many of them reached what was meant. */
interface Count {
  all: number
  reached: number
}

const counts = new Map<string, Count>()
let doneByTwo = 0

const sorts = ["weak", "weak, settled", "careful", "careful, settled"]

const sortOf = (one: Scenario) => `${one.isCareful ? "careful" : "weak"}${isSettled(one) ? ", settled" : ""}`

const count = (one: Scenario, played: Played): void => {
  const name = `${one.kind}/${sortOf(one)}`
  const { all, reached } = counts.get(name) ?? { all: 0, reached: 0 }
  counts.set(name, { all: all + 1, reached: reached + (isReached(one, played) ? 1 : 0) })
  if (isDoneByTwo(one, played)) doneByTwo++
}

// The search ends the process.
process.once("exit", () => {
  console.log(
    "\nConversations in which everything that was meant has happened, by model, and whether doubts are settled:\n"
  )
  console.log(" ".repeat(20), ...sorts.map((sort) => sort.padStart(18)))
  for (const kind of Object.keys(kinds)) {
    const cells = sorts.map((sort) => {
      const { all, reached } = counts.get(`${kind}/${sort}`) ?? { all: 0, reached: 0 }
      return all === 0 ? "" : `${reached}/${all} ${Math.floor(100 * reached / all)}%`
    })
    console.log(kind.padEnd(20), ...cells.map((cell) => cell.padStart(18)))
  }
  console.log(`\nOrders that were paid with two tools: ${doneByTwo}`)
})

await search({
  scenario,
  play: (scenarios) =>
    Effect.tap(play(scenarios), (played) =>
      Effect.forEach(scenarios, (one, index) => {
        count(one, played[index]!)
        return shrinking(one, played[index]!)
      })),
  described,
  judged: (one, played) => {
    const fault = faultOf(one, played)
    return [{ what: fault?.replace(/o-\d/, "an order") ?? "as it was meant", fault }]
  },
  finds: "conversations in which something went wrong",
  count: 20_000
})
