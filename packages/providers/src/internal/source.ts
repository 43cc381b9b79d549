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
}

/** The text of an object, which {@link writeWithSources} writes as it stands. */
export const asSource = (text: string): Schema.JsonObject => asJson(new Source(text))

// It stands for what it becomes.
const asJson = (source: Source): Schema.JsonObject => source as unknown as Schema.JsonObject

/** The text of a body. Half of a surrogate pair is replaced: as an escape, many a server will not read it. */
export const write = (body: Schema.Json): string => mended(JSON.stringify(body))

/** The same of a body that has sources in it. */
export const writeWithSources = (body: Schema.Json): string => {
  // Until nothing else in the body looks like it, whoever wrote that.
  for (let mark = "source-";; mark += mark) {
    const sources: Array<string> = []
    const text = mended(
      JSON.stringify(
        body,
        (_, value: unknown) => value instanceof Source ? `${mark}${sources.push(value.text) - 1}` : value
      )
    )
    const marks = new RegExp(`"${mark}(\\d+)"`, "g")
    if ((text.match(marks)?.length ?? 0) === sources.length) {
      return text.replace(marks, (_, index: string) => sources[Number(index)]!)
    }
  }
}

// `JSON.stringify` writes a whole pair as it is; what it escapes is a half.
const mended = (text: string): string => text.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, "$1\ufffd")

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
