/*
 * A handler runs in its own fiber. Directly inside a time limit, the fiber of the limit serves, and the handler needs
 * no second one.
 */
const variants = new WeakMap<object, object>()

/** Returns a run that makes its own fiber, and remembers its variant that runs in the current fiber. */
export const withOwnFiber = <Run extends object>(run: Run, withoutOwnFiber: Run): Run => {
  variants.set(run, withoutOwnFiber)
  return run
}

/** Returns the variant that runs in the current fiber, or the run itself if it has none. Both have the same type. */
export const withoutOwnFiber = <Run extends object>(run: Run): Run => (variants.get(run) ?? run) as Run
