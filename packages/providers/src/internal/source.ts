import type * as Schema from "effect/Schema"

/** Any index, in a path. */
export const each = Symbol("each")

export type Path = ReadonlyArray<string | number | typeof each>

/**
 * The source text of the values at a path with one `each` in it, by the index that stands for it.
 *
 * A model's arguments are to reach dispatch as they were written; where a server sends them as an object, `JSON.parse`
 * would lose the digits of a long number, and all but the last of two equal keys.
 *
 * @param text valid JSON: it has been parsed
 */
export const sourcesAt = (text: string, path: Path): ReadonlyMap<number, string> => {
  const found = new Map<number, string>()
  walk(text, afterSpace(text, 0), path, 0, (index, source) => found.set(index, source))
  return found
}

/** A value that is to be written as it stands: the text of an object. */
export const asSource = (text: string): Schema.JsonObject => ({ [mark]: text })

/** A JSON text, with such values as they stand. */
export const withSources = (text: string): string =>
  text.includes(marked)
    ? text.replace(/\{"\\u0000source":("(?:[^"\\]|\\.)*")\}/g, (_, source: string) => asString(source))
    : text

// No key of anybody's. In a string it would stand behind backslashes.
const mark = "\u0000source"
const marked = JSON.stringify(mark)

type OnFound = (index: number, source: string) => void

/** Follows the path, and skips whatever is not on it. Returns where the value ends. */
const walk = (text: string, start: number, path: Path, index: number, onFound: OnFound): number => {
  const end = endOf(text, start)
  const [step, ...rest] = path
  if (step === undefined) onFound(index, text.slice(start, end))
  else if (typeof step === "string" ? text[start] === "{" : text[start] === "[") {
    let at = afterSpace(text, start + 1)
    for (let position = 0; at < end - 1; position++) {
      let key: string | number = position
      if (typeof step === "string") {
        const keyEnd = endOf(text, at)
        key = asString(text.slice(at, keyEnd))
        at = afterSpace(text, afterSpace(text, keyEnd) + 1)
      }
      const next = step === each || step === key
        ? walk(text, at, rest, step === each ? position : index, onFound)
        : endOf(text, at)
      at = afterSpace(text, afterSpace(text, next) + 1)
    }
  }
  return end
}

// The text is valid, so that a string of it is one.
const asString = (source: string): string => JSON.parse(source)

const endOf = (text: string, start: number): number => {
  if (text[start] === "\"") return endOfString(text, start)
  if (text[start] !== "{" && text[start] !== "[") return endOfWord(text, start)
  let depth = 0
  let at = start
  do {
    const character = text[at]
    if (character === "\"") at = endOfString(text, at)
    else {
      if (character === "{" || character === "[") depth++
      else if (character === "}" || character === "]") depth--
      at++
    }
  } while (depth > 0)
  return at
}

const endOfString = (text: string, start: number): number => {
  let at = start + 1
  while (text[at] !== "\"") at += text[at] === "\\" ? 2 : 1
  return at + 1
}

const endOfWord = (text: string, start: number): number => {
  let at = start
  while (at < text.length && /[^\s,\]}]/.test(text[at]!)) at++
  return at
}

const afterSpace = (text: string, start: number): number => {
  let at = start
  while (/\s/.test(text[at] ?? "")) at++
  return at
}
