import type * as Tool from "../../Tool.ts"
import { isFirstDoubt } from "../call/seenMistakes.ts"
import { isSettled } from "../call/settling.ts"
import { tokenOf } from "../tool/toolParts.ts"

/**
 * Returns the line that tells operators what would settle the doubts of a tool: once, at its first doubt, if it declares
 * nothing that does.
 */
export const adviceOnDoubt = (tool: Tool.Any): string | undefined => {
  if (isSettled(tool) || !isFirstDoubt(tokenOf(tool))) return undefined
  return `${tool.name} is in doubt for the first time, and declares nothing that settles a doubt. ${waysOut}`
}

const waysOut =
  "To find out what was done, declare 'check', add Tool.reconcile, or let a person say so (the agent's 'onDoubt'). To say that nothing was done, use 'refuse' in its handler, or declare 'refuses', or 'acts' with 'only'."
