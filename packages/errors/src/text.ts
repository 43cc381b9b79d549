/** Text on one line, and of limited length. `@fallible/arguments` words its messages in the same way. */

/**
 * Cuts a text that is too long, and says how much is missing. A surrogate pair stays whole.
 *
 * @param left how many characters follow the text; default: 0
 */
export const cut = (text: string, limit: number, left = 0): string => {
  if (text.length <= limit && left === 0) return text
  const end = isHighSurrogate(text.charCodeAt(limit - 1)) ? limit - 1 : Math.min(limit, text.length)
  return `${text.slice(0, end)}… (${text.length - end + left} more characters)`
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff

/** Replaces control characters and line breaks by spaces, so that the text stays on one line. */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").trim()
