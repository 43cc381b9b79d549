/** Is running it twice the same as once, under any key? */
export const isIdempotent = (sideEffect: unknown): boolean => sideEffect === "none" || sideEffect === "idempotent"
