import { Effect } from "effect"
import * as fc from "fast-check"

/** What is looked for. */
interface Search<Scenario, Played> {
  readonly scenario: fc.Arbitrary<Scenario>
  readonly play: (scenarios: ReadonlyArray<Scenario>) => Effect.Effect<ReadonlyArray<Played>>
  readonly described: (scenario: Scenario) => string
  /** What each of its parts came to, and what is wrong with that. */
  readonly judged: (
    scenario: Scenario,
    played: Played
  ) => ReadonlyArray<{ readonly what: string; readonly fault: string | undefined }>
  /** What those are in which something is wrong. */
  readonly finds: string
  /** How many scenarios, if the command line does not say. */
  readonly count: number
}

const batch = 500

/** Plays random scenarios, prints what they came to and what is wrong, and ends the process: with 1, if anything is. */
export const search = async <Scenario, Played>(
  { count, described, finds, judged, play, scenario }: Search<Scenario, Played>
) => {
  const [given = count, seed = 1] = process.argv.slice(2)
  const runs = Number(given)
  const seen = new Map<string, number>()
  let found = 0
  for (let first = 0; first < runs; first += batch) {
    const scenarios = fc.sample(scenario, { numRuns: Math.min(batch, runs - first), seed: Number(seed) + first })
    const played = await Effect.runPromise(play(scenarios))
    scenarios.forEach((scenario, index) => {
      for (const { fault, what } of judged(scenario, played[index]!)) {
        seen.set(what, (seen.get(what) ?? 0) + 1)
        if (fault === undefined) continue
        found++
        console.error(`${fault}: ${described(scenario)}`)
      }
    })
    console.error(`${Math.min(first + batch, runs)} of ${runs}`)
  }
  for (const what of Array.from(seen.keys()).toSorted()) {
    console.log(`${String(seen.get(what)).padStart(8)}  ${what}`)
  }
  console.log(found === 0 ? "Nothing found." : `${found} ${finds}.`)
  process.exit(found === 0 ? 0 : 1)
}
