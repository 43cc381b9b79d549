/**
 * Payments under random stacks of policies, over a real wire: is anything paid twice, or said of a payment what did not happen? Run it with
 * `pnpm payments`; its arguments are how many runs (default: 20,000) and a seed (default: 1). What it finds it prints, and ends with 1.
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
