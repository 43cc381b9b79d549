/** Is it a value that is still to come? */
export const isPromise = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "then" in value && typeof value.then === "function"

/** A promise that nobody awaits must not end the process when it is rejected. */
export const silence = (value: unknown): void => {
  if (value instanceof Promise) void Promise.prototype.then.call(value, undefined, () => {})
}
