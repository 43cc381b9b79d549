import type { SideEffect } from "../../SideEffect.ts"

/**
 * After how many failed executions in a run the same call is refused, if its tool does not say. Under one key a repetition does no harm, and
 * settles what is in doubt: then it is three calls with three attempts each.
 */
export const failureLimitOf = (sideEffect: SideEffect): number => sideEffect === "idempotent_by_key" ? 9 : 3
