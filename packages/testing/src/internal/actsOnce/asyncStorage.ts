/*
 * Storage that follows asynchronous code. Undefined where the runtime has none.
 */

export interface Storage<A> {
  readonly run: <B>(value: A, run: () => B) => B
  readonly getStore: () => A | undefined
}

export const newStorage = <A>(): Storage<A> | undefined => {
  const hooks = builtin("node:async_hooks")
  return hooks === undefined ? undefined : new hooks.AsyncLocalStorage<A>()
}

const { process }: { readonly process?: Partial<NodeJS.Process> } = globalThis

/** Returns a module of Node. It is taken without an import, because other runtimes load this module, too. */
export const builtin: NodeJS.Process["getBuiltinModule"] = (name: string) => process?.getBuiltinModule?.(name)
