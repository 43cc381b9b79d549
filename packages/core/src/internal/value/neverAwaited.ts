/**
 * Makes `await` fail for an Effect. `await` does not run an Effect, so a question would be skipped silently, and a key
 * would be `undefined`.
 *
 * @param name the name of the Effect in the message
 * @param effect not an Exit, which may be the value of a promise
 * @param inPromises what an async handler does instead
 */
export const neverAwaited = <Effect extends object>(
  name: string,
  effect: Effect,
  inPromises = "make the tool with Tool.make"
): Effect =>
  // oxlint-disable-next-line unicorn/no-thenable
  Object.defineProperty(effect, "then", {
    value: () => {
      throw new TypeError(`${name} is an Effect, and cannot be awaited. In Tool.promise, ${inPromises}.`)
    }
  })
