/**
 * Searches for payments that are intended once but made twice. Plays conversations with a stubborn model over real
 * connections, in processes that stop.
 *
 * Run it with `pnpm intents`. Arguments: the number of conversations (default: 10,000) and a seed (default:
 * 1). It prints its findings, and exits with 1 if it has any.
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
