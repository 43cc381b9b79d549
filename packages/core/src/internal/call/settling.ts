/** The parts of a tool that find out what became of a call in doubt. */
interface Settled {
  readonly check?: string | undefined
  readonly policies: ReadonlyArray<{ readonly kind: string }>
}

/** True if the tool finds out itself what became of its calls (`Tool.reconcile`). */
export const isReconciled = ({ policies }: Pick<Settled, "policies">): boolean =>
  policies.some(({ kind }) => kind === "reconcile")

/** True if the tool declares something that settles a doubt about its calls. */
export const isSettled = (tool: Settled): boolean => tool.check !== undefined || isReconciled(tool)
