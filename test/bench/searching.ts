import { Effect } from "effect"
import * as fc from "fast-check"

/** A search over random scenarios. */
interface Search<Scenario, Played> {
  readonly scenario: fc.Arbitrary<Scenario>
  readonly play: (scenarios: ReadonlyArray<Scenario>) => Effect.Effect<ReadonlyArray<Played>>
  readonly described: (scenario: Scenario) => string
  /** Judges each part of a play: its result as a label, and its fault, if any. */
  readonly judged: (
    scenario: Scenario,
    played: Played
  ) => ReadonlyArray<{ readonly what: string; readonly fault: string | undefined }>
  /** Names the findings, as a plural noun phrase. */
  readonly finds: string
  /** The default number of scenarios. */
  readonly count: number
}

const batch = 500

/** Plays random scenarios, prints their results and faults, and exits: with 1 if it found a fault, or else with 0. */
export const search = async <Scenario, Played>(
  { count, described, finds, judged, play, scenario }: Search<Scenario, Played>
) => {
  const [runCount = count, seed = 1] = process.argv.slice(2)
  const runs = Number(runCount)
  const seen = new Map<string, number>()
  let faults = 0
  for (let first = 0; first < runs; first += batch) {
    const scenarios = fc.sample(scenario, { numRuns: Math.min(batch, runs - first), seed: Number(seed) + first })
    const played = await Effect.runPromise(play(scenarios))
    scenarios.forEach((scenario, index) => {
      for (const { fault, what } of judged(scenario, played[index]!)) {
        seen.set(what, (seen.get(what) ?? 0) + 1)
        if (fault === undefined) continue
        faults++
        console.error(`${fault}: ${described(scenario)}`)
      }
    })
    console.error(`${Math.min(first + batch, runs)} of ${runs}`)
  }
  for (const what of Array.from(seen.keys()).toSorted()) {
    console.log(`${String(seen.get(what)).padStart(8)}  ${what}`)
  }
  console.log(faults === 0 ? "Nothing found." : `${faults} ${finds}.`)
  process.exit(faults === 0 ? 0 : 1)
}
