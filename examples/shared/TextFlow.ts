/**
 * Breaks a text between its words while the text still arrives, piece by piece.
 */

export interface TextFlow {
  /** Takes the next piece, and returns what can be printed now. The last word waits, because it may not be whole. */
  readonly add: (piece: string) => string
  /** Returns the last word. */
  readonly end: () => string
}

/** @param columns how many characters fit in a line; with `undefined`, the pieces stay as they are */
export const make = (columns: number | undefined): TextFlow => {
  if (columns === undefined) return { add: (piece) => piece, end: () => "" }
  let column = 0
  let space = ""
  let word = ""
  const takeWord = (): string => {
    const fits = column + space.length + word.length <= columns
    const text = word === "" ? "" : fits || column === 0 ? `${space}${word}` : `\n${word}`
    if (word !== "") column = text.startsWith("\n") ? word.length : column + text.length
    if (word !== "") space = ""
    word = ""
    return text
  }
  return {
    add: (piece) =>
      (piece.match(/\n|[^\S\n]+|\S+/g) ?? []).map((part) => {
        if (/^\S/.test(part)) {
          word += part
          return ""
        }
        const text = takeWord()
        if (part === "\n") {
          column = 0
          space = ""
          return `${text}\n`
        }
        space += part
        return text
      }).join(""),
    end: takeWord
  }
}
