/*
 * A handler has a fiber of its own. Right inside of a time limit, that is the limit's: there it needs no other.
 */
const others = new WeakMap<object, object>()

/** A run that makes its own fiber, and the same where it has one already. */
export const withOwnFiber = <Run extends object>(run: Run, withoutOwnFiber: Run): Run => {
  others.set(run, withoutOwnFiber)
  return run
}

// They are kept under each other, and made with one type.
export const withoutOwnFiber = <Run extends object>(run: Run): Run => (others.get(run) ?? run) as Run
