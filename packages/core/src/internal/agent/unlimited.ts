/*
 * Tools that no limit on calls refuses: an agent can always say that it gives up.
 */
const runs = new WeakSet<object>()

export const unlimited = <T extends { readonly run: object }>(tool: T): T => {
  runs.add(tool.run)
  return tool
}

export const isUnlimited = ({ run }: { readonly run: object }): boolean => runs.has(run)
