/*
 * Tools that no limit on calls refuses: an agent can always say that it gives up.
 */
const runs = new WeakSet<object>()

export const exemptFromLimits = <T extends { readonly run: object }>(tool: T): T => {
  runs.add(tool.run)
  return tool
}

export const isExemptFromLimits = ({ run }: { readonly run: object }): boolean => runs.has(run)
