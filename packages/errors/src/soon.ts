/*
 * Reads from a message how long it asks to wait: "The lock is held. Try again in a moment.", "Still indexing". Anyone may
 * write a sentence, so it proves nothing: whoever only reads may ask again.
 */

/** Returns the wait in milliseconds that a message asks for, if it is short; `undefined` if it asks for none. */
export const soonIn = (message: string): number | undefined => {
  const text = message.slice(0, 500)
  if (!soon.test(text) || longer.test(text)) return undefined
  const [, count = "1", unit = "s"] = /\b(?:in|after) (?:about |another )?(\d{1,6}) ?(ms|milli|s|m)/i.exec(text) ?? []
  return Number(count) * (unit === "s" ? 1000 : unit === "m" ? 60_000 : 1)
}

const soon = new RegExp(
  [
    "\\b(?:try|check|come|call|ask|query) (?:it )?(?:again|back) (?:in|after|later|shortly|soon|once|when|momentarily)\\b",
    "\\bretry (?:\\w+ )?(?:in|after|later|shortly|soon|momentarily)\\b",
    "\\b(?:please wait|in a (?:moment|second|bit|little while|few (?:moments|seconds)))\\b",
    "\\bnot (?:yet )?(?:ready|available|visible|indexed|finished|processed|synced|completed?)(?: yet|[.!]?$)",
    "\\bstill (?:being|pending|locked|busy|warming|\\w+ing)\\b",
    "\\b(?:lock|resource|file|record|row|table|document) (?:is|was) (?:currently )?(?:held|locked|busy|in use)\\b",
    "\\btemporarily\\b"
  ].join("|"),
  "i"
)

const longer = /\b(?:tomorrow|hours?|days?|weeks?|months?|permanently)\b/i
