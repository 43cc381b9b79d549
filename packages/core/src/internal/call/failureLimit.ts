import type { SideEffect } from "../../SideEffect.ts"

/**
 * Returns the default failure limit: how many executions may fail in one run before the run refuses the
 * same call. The limit is 3, or 9 for a tool that is idempotent by key. Repeating a call under the same
 * key does no harm and clears doubt, so the higher limit allows three calls of three attempts each.
 */
export const failureLimitOf = (sideEffect: SideEffect): number => sideEffect === "idempotent_by_key" ? 9 : 3
