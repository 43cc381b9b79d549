/** Formats text for a model: bounded, and on one line. Shortened text says how much was left out. */

/** Cuts a string after `limit` characters, and says how many were left out. It never cuts a surrogate pair. */
export const cut = (text: string, limit: number): string => {
  if (text.length <= limit) return text
  const shown = text.slice(0, limit).replace(/[\ud800-\udbff]$/, "")
  return `${shown}… (${text.length - shown.length} more characters)`
}

/** Replaces control characters and line breaks by spaces, so that the text stays on one line. */
export const oneLine = (text: string): string => text.replace(controls, " ").trim()

const controls = /[\0-\x1f\x7f-\x9f\u2028\u2029]+/g

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
  if (typeof value === "symbol") return value.description ?? "a symbol"
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
  const before = text.slice(0, offset)
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") }
}
