/**
 * Payments under random stacks of policies, over a real wire: is anything paid twice, or said of a payment what did not happen? Run it with
 * `pnpm payments`; its arguments are how many runs (default: 20,000) and a seed (default: 1). What it finds it prints, and ends with 1.
 */
import { Effect } from "effect"
import * as fc from "fast-check"
import { described, faultOf, play, scenario } from "../support/paymentWire.ts"

const [count = "20000", seed = "1"] = process.argv.slice(2)
const runs = Number(count)
const batch = 500

const seen = new Map<string, number>()
let found = 0

for (let first = 0; first < runs; first += batch) {
  const scenarios = fc.sample(scenario, { numRuns: Math.min(batch, runs - first), seed: Number(seed) + first })
  const played = await Effect.runPromise(play(scenarios))
  played.forEach((calls, index) => {
    for (const call of calls) {
      const { outcome: { _tag, certainty }, paid } = call
      const what = `${_tag}, ${certainty}, paid ${paid === 0 ? "never" : paid === 1 ? "once" : "more than once"}`
      seen.set(what, (seen.get(what) ?? 0) + 1)
      const fault = faultOf(scenarios[index]!, call)
      if (fault === undefined) continue
      found++
      console.error(`${fault}: ${described(scenarios[index]!)}`)
    }
  })
  console.error(`${Math.min(first + batch, runs)} of ${runs}`)
}

for (const what of Array.from(seen.keys()).toSorted()) console.log(`${String(seen.get(what)).padStart(8)}  ${what}`)
console.log(found === 0 ? "Nothing found." : `${found} calls of which something else was said than what happened.`)
process.exit(found === 0 ? 0 : 1)
