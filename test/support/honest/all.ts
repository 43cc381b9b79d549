/** All honest scenarios, by their kinds. */
import { bigWork } from "./bigWork.ts"
import { independentCalls } from "./independentCalls.ts"
import { laterErrors } from "./laterErrors.ts"
import { honestLookAlikes } from "./lookAlikes.ts"
import { misfits } from "./misfits.ts"
import { repetitions } from "./repetitions.ts"
import { honestAnswers, slippedReplies } from "./replies.ts"
import type { HonestKind } from "./scenario.ts"
import { silentFailures } from "./silentFailures.ts"

export const honestKinds: ReadonlyArray<HonestKind> = [
  misfits,
  repetitions,
  laterErrors,
  bigWork,
  independentCalls,
  silentFailures,
  honestLookAlikes,
  slippedReplies,
  honestAnswers
]
