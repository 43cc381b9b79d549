import type { Report } from "../../ToolHealth.ts"

/**
 * What models and operators read of a tool whose circuit is open: "get_quote is disabled after 3 consecutive errors; last: connection."
 * The detail of an error is not told: it is of another run, and may quote what only that one knows. `ToolHealth` has it, for operators.
 *
 * @param subject the tool, as a sentence begins with it
 * @param report what its health knows; breakers work without one
 */
export const openCircuitText = (
  subject: string,
  { consecutiveErrors = 0, lastError }: Partial<Report> = {}
): string => {
  // Another tool may have opened a circuit that they share, and what a program runs by itself is not counted.
  if (lastError === undefined || consecutiveErrors === 0) return `${subject} is disabled: it has failed too often.`
  const { code } = lastError
  return consecutiveErrors === 1
    ? `${subject} is disabled: it has failed too often. Last error: ${code}.`
    : `${subject} is disabled after ${consecutiveErrors} consecutive errors; last: ${code}.`
}
