/*
 * Marks tools that no limit on calls refuses. With such a tool, an agent that corrects arguments can always give up.
 */
const runs = new WeakSet<object>()

export const exemptFromLimits = <T extends { readonly run: object }>(tool: T): T => {
  runs.add(tool.run)
  return tool
}

export const isExemptFromLimits = ({ run }: { readonly run: object }): boolean => runs.has(run)
