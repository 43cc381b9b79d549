/** The tools of runs, so that a fallback to another tool's `run` can be told from any other function. */
export const toolOfRun = new WeakMap<object, object>()

/** True if a function is the `run` of a tool. */
export const isToolRun = (source: object): boolean => toolOfRun.has(source)
