import type { SideEffect } from "../../SideEffect.ts"

/** The parts of a tool that find out what became of a call in doubt, or make it safe to send it again. */
interface Settled {
  readonly sideEffect: SideEffect
  readonly check?: string | undefined
  readonly policies: ReadonlyArray<{ readonly kind: string }>
}

/** True if the tool finds out itself what became of its calls (`Tool.reconcile`). */
export const isReconciled = ({ policies }: Pick<Settled, "policies">): boolean =>
  policies.some(({ kind }) => kind === "reconcile")

/** True if the tool declares something that settles a doubt about its calls: with a key, the next call does. */
export const isSettled = (tool: Settled): boolean =>
  tool.check !== undefined || tool.sideEffect === "idempotent_by_key" || isReconciled(tool)
