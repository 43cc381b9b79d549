/** True if running the tool twice has the same effect as running it once, even with different idempotency keys. */
export const isIdempotent = (sideEffect: unknown): boolean => sideEffect === "none" || sideEffect === "idempotent"
