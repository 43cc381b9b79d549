/** Invisible characters. They are hard to find, so they are reported by name. */

const names: { readonly [code: number]: string } = {
  0x00: "a NUL character",
  0xa0: "a no-break space",
  0xad: "a soft hyphen",
  0x200b: "a zero-width space",
  0x200c: "a zero-width non-joiner",
  0x200d: "a zero-width joiner",
  0x200e: "a left-to-right mark",
  0x200f: "a right-to-left mark",
  0x2007: "a figure space",
  0x2028: "a line separator",
  0x2029: "a paragraph separator",
  0x202f: "a narrow no-break space",
  0x2060: "a word joiner",
  0x3000: "an ideographic space",
  0xfeff: "a byte order mark"
}

// White space of any script, format characters and control characters, except JSON's own white space.
const invisible = /(?![ \t\n\r])[\p{Z}\p{Cf}\p{Cc}]/uy
const invisibles = new RegExp(invisible, "ug")

/** True if the character at the offset is invisible, and is not JSON's white space. */
export const isInvisible = (text: string, offset: number): boolean => {
  invisible.lastIndex = offset
  return invisible.test(text)
}

/** Returns the name of the character at the offset: `a no-break space (U+00A0)`. */
export const nameOfInvisible = (text: string, offset: number): string => {
  const code = text.codePointAt(offset) ?? 0
  return `${names[code] ?? "an invisible character"} (${notation(code)})`
}

/** Replaces the invisible characters of a text by their codes: `<U+00A0>`. */
export const withVisibleCodes = (text: string): string =>
  text.replace(invisibles, (character) => `<${notation(character.codePointAt(0) ?? 0)}>`)

const notation = (code: number): string => `U+${code.toString(16).toUpperCase().padStart(4, "0")}`
