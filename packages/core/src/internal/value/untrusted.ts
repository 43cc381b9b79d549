/*
 * Safe checks of unknown values, which a user's function has returned, thrown or rejected with. Reading such
 * a value may throw.
 */

/** Returns the result of reading a value, or `undefined` if reading it throws. */
export const attempt = <A>(look: () => A): A | undefined => {
  try {
    return look()
  } catch {
    return undefined
  }
}

/** Returns a type guard for the instances of a class. */
export const isA = <A>(type: abstract new(...args: Array<never>) => A) => (value: unknown): value is A =>
  attempt(() => value instanceof type) === true

/** True if a value is a promise or another thenable. */
export const isPromise = (value: unknown): boolean =>
  typeof value === "object" && value !== null &&
  attempt(() => "then" in value && typeof value.then === "function") === true

/** True if a value is a native promise, which has already started. Another thenable may start only when awaited. */
export const isStarted: (value: unknown) => value is Promise<unknown> = isA(Promise)

/**
 * Handles the rejection of a promise that is never awaited. Without a handler, the rejection could end the
 * process.
 */
export const silence = (value: unknown): void => {
  if (isStarted(value)) void Promise.prototype.then.call(value, undefined, () => {})
}
