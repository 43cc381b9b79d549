/**
 * Payments that a stubborn model asks for, in processes that stop, over a real wire: is anything paid twice that was meant once? Run it with
 * `pnpm intents`; its arguments are how many conversations (default: 10,000) and a seed (default: 1). What it finds it prints, and ends with 1.
 */
import { described, faultOf, play, scenario } from "../support/intentWire.ts"
import { search } from "./searching.ts"

await search({
  scenario,
  play,
  described,
  judged: (scenario, played) => [{
    what: `${scenario.kind}, meant ${scenario.means}, paid ${played.payments.length}`,
    fault: faultOf(scenario, played)
  }],
  finds: "conversations in which something was paid that was not meant",
  count: 10_000
})
