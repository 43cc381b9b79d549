import type { Completed } from "../../ToolOutcome.ts"

/** Returns what the model reads of a result: what its handler has told, or the result itself. */
export const readIn = ({ told, value }: Pick<Completed, "told" | "value">): Completed["value"] =>
  told === undefined ? value : told
