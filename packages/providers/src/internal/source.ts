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

class Source {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toJSON(): unknown {
    return JSON.parse(this.text)
  }
}

/** A value that {@link write} writes as it stands. Nothing but the text of an object may be one. */
export const asSource = (text: string): Schema.JsonObject => asJson(new Source(text))

// To whoever does not know better, it is the value itself.
const asJson = (source: Source): Schema.JsonObject => source as unknown as Schema.JsonObject

/** The text of a body, in which half of a surrogate pair is replaced: as an escape, many a server will not read it. */
export const write = (body: Schema.Json): string => {
  const text = JSON.stringify(body)
  const isHalved = /\\ud[89a-f]/.test(text)
  // A mark that stands nowhere in the text, whoever wrote it.
  const mark = "-".repeat(1 + Math.max(0, ...Array.from(text.matchAll(/-+/g), ([run]) => run.length)))
  const sources: Array<string> = []
  const marked = JSON.stringify(body, function(this: Readonly<Record<string, unknown>>, key, value: unknown) {
    const own = this[key]
    if (own instanceof Source) return `${mark}${sources.push(own.text) - 1}`
    return isHalved && typeof value === "string" ? value.toWellFormed() : value
  })
  return marked.replace(new RegExp(`"${mark}(\\d+)"`, "g"), (_, index: string) => sources[Number(index)]!)
}

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
