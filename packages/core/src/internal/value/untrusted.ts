/*
 * Values of which nothing is known: what a user's function returns, throws or rejects. One may throw when it is looked at.
 */

/** What a look at a value comes to; `undefined` if the value throws. */
export const attempted = <A>(look: () => A): A | undefined => {
  try {
    return look()
  } catch {
    return undefined
  }
}

/** Is it an instance of a class? */
export const isA = <A>(type: abstract new(...args: Array<never>) => A) => (value: unknown): value is A =>
  attempted(() => value instanceof type) === true

/** Is it a value that is still to come? */
export const isPromise = (value: unknown): boolean =>
  typeof value === "object" && value !== null &&
  attempted(() => "then" in value && typeof value.then === "function") === true

/** Is it a promise, which has started already? A thenable may be a query that starts when it is awaited. */
export const isStarted: (value: unknown) => value is Promise<unknown> = isA(Promise)

/** A promise that nobody awaits must not end the process when it is rejected. */
export const silence = (value: unknown): void => {
  if (isStarted(value)) void Promise.prototype.then.call(value, undefined, () => {})
}
