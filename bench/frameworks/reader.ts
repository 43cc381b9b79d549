/**
 * How the model understands a text. These are general signs of English, the same for all libraries: no sign is the wording of
 * one library alone.
 */

/** Whether a text tells a reader that a further call is of no use. */
export const advisesAgainst = (text: string): boolean =>
  /\b(do not|don't|cannot|must not) (repeat|retry|call|try)|no further|permanent|after \d+ attempts/i.test(text)

/** Whether a text asks for another attempt. */
export const invitesToRepeat = (text: string): boolean =>
  /\b(try|call|retry) (it )?again\b|\b(please|may|can|should) retry\b/i.test(text)

/** Whether a text says that waiting helps. */
export const asksToWait = (text: string): boolean => /temporar|not ready|please wait|in a moment|shortly/i.test(text)

/** Whether a text says that a tool does not exist. */
export const deniesTool = (text: string): boolean =>
  /\b(not found|not exist|not available|unavailable|unknown|no such|not a valid) ?(tool)?/i.test(text)

/** Whether a text leaves open if something was done. */
export const leavesOpen = (text: string): boolean =>
  /\b(unknown|uncertain|not known|may have|might have|could have|timed? ?out|timeout|no answer|lost|reset|hang up)\b/i
    .test(text)

/** Whether a text says that a call has been held back. */
export const heldBack = (text: string): boolean =>
  /\bnot (run|executed|made|sent)\b|\balready (been )?(done|called|made)\b/i.test(text)

/** Whether a text says that a result is not whole. */
export const saysIncomplete = (text: string): boolean =>
  /incomplete|not complete|truncated|cut[- ]?off|cut short|partial|unterminated|unexpected end|breaks off|(not|in)[- ]?valid JSON/i
    .test(text)

/** Whether a text begins as JSON and has no end, as anybody sees who looks for it. */
export const isBrokenOff = (text: string): boolean => {
  if (!/^\s*[[{]/.test(text)) return false
  try {
    JSON.parse(text)
    return false
  } catch {
    return true
  }
}

/** Whether a text casts doubt on a result. */
export const castsDoubt = (text: string): boolean =>
  /unexpected|\bcheck\b|may be (wrong|incomplete)|suspicious|verify/i.test(text)

/** Whether a text claims that the call itself did not work. */
export const claimsFailure = (text: string): boolean =>
  /\b(call|tool|request|service) (has |may have |might have )?(failed|did not)|^Error|"ok":\s*false/i.test(text)

/** Whether a tool changes something, by its description. */
export const actsBy = (description: string): boolean =>
  /^(Adds|Books|Buys|Creates|Pays|Restarts|Sends|Sets|Takes)\b/.test(description)

/** What instructions say of repeated calls, sentence by sentence. */
export const instructed = (text: string) => {
  const sentences = text.split(/[.\n]/)
  const says = (what: RegExp, isForbidden: boolean) =>
    sentences.some((sentence) =>
      what.test(sentence) && /\b(repeat|retry|again)\b/i.test(sentence) &&
      /\b(not|never|don't)\b/i.test(sentence) === isForbidden
    )
  return {
    forbidsRepeatedActs: says(/\b(acts?|changes?|pay|pays|payments?|books?|sends?|side effects?)\b/i, true),
    allowsRepeatedReads: says(/\b(lookups?|look up|reads?|search(es)?)\b/i, false)
  }
}
