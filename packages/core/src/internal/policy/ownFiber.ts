/*
 * A handler runs in its own fiber. A time limit already makes a fiber, so a handler directly inside a
 * time limit runs in that fiber and needs no second one.
 */
const variants = new WeakMap<object, object>()

/**
 * Records `withoutOwnFiber` as the variant of `run` that runs in the current fiber. Returns `run`,
 * which makes its own fiber.
 */
export const withOwnFiber = <Run extends object>(run: Run, withoutOwnFiber: Run): Run => {
  variants.set(run, withoutOwnFiber)
  return run
}

/**
 * Returns the variant of a run that runs in the current fiber. If there is no such variant, returns
 * the run itself. Both have the same type.
 */
export const withoutOwnFiber = <Run extends object>(run: Run): Run => (variants.get(run) ?? run) as Run
