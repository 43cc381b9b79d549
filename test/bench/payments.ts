/**
 * Searches for calls that pay twice, or whose outcome contradicts what the service did. Plays payments over real
 * connections under random stacks of policies.
 *
 * Run it with `pnpm payments`. Arguments: the number of runs (default: 20,000) and a seed (default: 1). It
 * prints its findings, and exits with 1 if it has any.
 */
import { described, faultOf, play, scenario } from "../support/paymentWire.ts"
import { search } from "./searching.ts"

await search({
  scenario,
  play,
  described,
  judged: (scenario, calls) =>
    calls.map((call) => {
      const { outcome: { _tag, certainty }, paid } = call
      const often = paid === 0 ? "never" : paid === 1 ? "once" : "more than once"
      return { what: `${_tag}, ${certainty}, paid ${often}`, fault: faultOf(scenario, call) }
    }),
  finds: "calls of which something else was said than what happened",
  count: 20_000
})
