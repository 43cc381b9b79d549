/** True if running the tool twice has the same effect as running it once, under any key. */
export const isIdempotent = (sideEffect: unknown): boolean => sideEffect === "none" || sideEffect === "idempotent"
