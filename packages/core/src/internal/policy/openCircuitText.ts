import type { Report } from "../../ToolHealth.ts"

/**
 * Returns what models and operators read about a tool whose circuit is open: "get_quote is disabled
 * after 3 consecutive errors; last: connection." The sentence omits the detail of the last error. That
 * detail comes from another run, and may quote data of that run. Operators find it in `ToolHealth`.
 *
 * @param subject the tool, as the beginning of a sentence
 * @param report the health of the tool; default: empty, since breakers work without a `ToolHealth`
 */
export const openCircuitText = (
  subject: string,
  { consecutiveErrors = 0, lastError }: Partial<Report> = {}
): string => {
  // The report contains no errors if a different tool opened a shared circuit. Errors outside an
  // agent are not counted, either.
  if (lastError === undefined || consecutiveErrors === 0) return `${subject} is disabled: it has failed too often.`
  const { code } = lastError
  return consecutiveErrors === 1
    ? `${subject} is disabled: it has failed too often. Last error: ${code}.`
    : `${subject} is disabled after ${consecutiveErrors} consecutive errors; last: ${code}.`
}
