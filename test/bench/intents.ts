/**
 * Payments that a stubborn model asks for, in processes that stop, over a real wire: is anything paid twice that was meant once? Run it with
 * `pnpm intents`; its arguments are how many conversations (default: 10,000) and a seed (default: 1). What it finds it prints, and ends with 1.
 */
import { Effect } from "effect"
import * as fc from "fast-check"
import { described, faultOf, play, scenario } from "../support/intentWire.ts"

const [count = "10000", seed = "1"] = process.argv.slice(2)
const runs = Number(count)
const batch = 500

const seen = new Map<string, number>()
let found = 0

for (let first = 0; first < runs; first += batch) {
  const scenarios = fc.sample(scenario, { numRuns: Math.min(batch, runs - first), seed: Number(seed) + first })
  const played = await Effect.runPromise(play(scenarios))
  played.forEach((one, index) => {
    const { kind, means } = scenarios[index]!
    const what = `${kind}, meant ${means}, paid ${one.payments.length}`
    seen.set(what, (seen.get(what) ?? 0) + 1)
    const fault = faultOf(scenarios[index]!, one)
    if (fault === undefined) return
    found++
    console.error(`${fault}: ${described(scenarios[index]!)}`)
  })
  console.error(`${Math.min(first + batch, runs)} of ${runs}`)
}

for (const what of Array.from(seen.keys()).toSorted()) console.log(`${String(seen.get(what)).padStart(8)}  ${what}`)
console.log(found === 0 ? "Nothing found." : `${found} conversations in which something was paid that was not meant.`)
process.exit(found === 0 ? 0 : 1)
