/** The scenarios of honest work. */
import { later, repetitions, replies, silentFailures } from "./repetitions.ts"
import { results, slowAndBig, together } from "./results.ts"
import type { HonestScenario } from "./scenario.ts"

export const scenarios: ReadonlyArray<HonestScenario> = [
  ...results,
  ...repetitions,
  ...later,
  ...slowAndBig,
  ...together,
  ...silentFailures,
  ...replies
]
