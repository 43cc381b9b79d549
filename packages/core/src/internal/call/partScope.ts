/*
 * The scopes of calls, and of the parts of a call: runs under a time limit, policies, sources.
 */
import type { Reply } from "../../ToolOutcome.ts"
import { asOf, type CallState } from "./callState.ts"
import type { Role } from "./forward.ts"
import { type Hear, Scope, type Subject } from "./scope.ts"

/** Returns the scope of a call: of a dispatched one, or of a tool that a program runs. */
export const callScope = (
  id: string,
  tool: Subject,
  hear?: Hear,
  replies?: ReadonlyArray<Reply>,
  state?: CallState
): Scope => {
  const scope = new Scope("call", tool, id, state, undefined, undefined, replies)
  scope.hear = hear
  scope.isWatched = hear !== undefined
  return scope
}

/**
 * Returns the scope of a part of a call, which shares the record of the scope around it.
 *
 * @param mark what the part's own key is made from; default: it has the key of the call
 */
export const partOf = (parent: Scope, role: Role, mark?: string): Scope =>
  new Scope(role, parent.tool, parent.id, asOf(parent.state), parent, mark)

/**
 * Returns the scope of a source, which answers in place of the called tool. It uses a different service and has a
 * different effect, so it gets a different key.
 */
export const sourceIn = (parent: Scope): Scope => partOf(parent, "source", sourceMark(parent))

/** Makes the scope of a policy that of a source: from now on, tools that run in it answer in place of the called tool. */
export const askOthers = (policy: Scope): void => {
  policy.role = "source"
  if (policy.parent !== undefined) policy.mark = sourceMark(policy.parent)
}

const sourceMark = ({ live }: Scope): string => `source+${live.next("source+")}`
