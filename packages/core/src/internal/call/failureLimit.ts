import type { SideEffect } from "../../SideEffect.ts"

/**
 * Returns the default failure limit: a run refuses a call after this many failed executions of it. The limit is 3,
 * or 9 for a tool that is idempotent by key. Under one key a repetition does no harm and clears doubt, so such a tool
 * gets three calls with three attempts each.
 */
export const failureLimitOf = (sideEffect: SideEffect): number => sideEffect === "idempotent_by_key" ? 9 : 3
