/*
 * A handler has a fiber of its own. Right inside of a time limit, that is the limit's: there it needs no other.
 */
const others = new WeakMap<object, object>()

/** A run that makes its own fiber, and the same where it has one already. */
export const eitherWay = <Run extends object>(run: Run, alone: Run): Run => {
  others.set(run, alone)
  return run
}

// They are kept under each other, and made with one type.
export const alone = <Run extends object>(run: Run): Run => (others.get(run) ?? run) as Run
