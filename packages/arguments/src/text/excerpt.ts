/** Formats text for a model: bounded, and on one line. Shortened text says how much was left out. */

/**
 * Cuts a string after `limit` characters, and says how many were left out. It never cuts a surrogate pair.
 *
 * @param left how many characters the caller has already left out (default: 0)
 */
export const cut = (text: string, limit: number, left = 0): string => {
  if (text.length <= limit && left === 0) return text
  const end = isHighSurrogate(text.charCodeAt(limit - 1)) ? limit - 1 : Math.min(limit, text.length)
  return `${text.slice(0, end)}… (${text.length - end + left} more characters)`
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff

/** Replaces control characters and line breaks by spaces, so that the text stays on one line. */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").trim()

/** Formats a value as one short line of JSON, for messages: `'"abc"'`, `'{"a":1}'`. */
export const excerpt = (value: unknown, limit = 80): string => {
  try {
    return oneLine(cut(JSON.stringify(value) ?? kind(value), limit))
  } catch {
    // The value is cyclic, nested too deeply, or contains a BigInt.
    return kind(value)
  }
}

/** Returns the kind of a value, without the value: "a string", "an array of 3". */
export const kind = (value: unknown): string => {
  if (value === undefined) return "nothing"
  if (value === null) return "null"
  if (typeof value !== "object") return `a ${typeof value}`
  try {
    return Array.isArray(value) ? `an array of ${value.length}` : "an object"
  } catch {
    // The value is a revoked proxy.
    return "an object"
  }
}

/** Formats a list for a sentence: `'a', 'b' and 3 more`. */
export const list = (items: ReadonlyArray<string>, limit = 10): string => {
  const shown = items.slice(0, limit).map((item) => `'${cut(oneLine(item), 80)}'`).join(", ")
  return items.length > limit ? `${shown} and ${items.length - limit} more` : shown
}

/** Returns the length of a string in UTF-8, in bytes. */
export const utf8Length = (text: string): number => {
  let bytes = 0
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    // The two units of a surrogate pair make four bytes.
    bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit & 0xf800) === 0xd800 ? 2 : 3
  }
  return bytes
}

/** Returns the line and the column of an offset, both 1-based. Columns count UTF-16 code units. */
export const placeOf = (text: string, offset: number): { readonly line: number; readonly column: number } => {
  let line = 1
  let start = 0
  for (let end = text.indexOf("\n"); end !== -1 && end < offset; end = text.indexOf("\n", start)) {
    line++
    start = end + 1
  }
  return { line, column: offset - start + 1 }
}
