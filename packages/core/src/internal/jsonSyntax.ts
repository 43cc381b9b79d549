import { attempted } from "./stranger.ts"

/**
 * Where and why a text is no JSON.
 *
 * `JSON.parse` decides whether a text is JSON; what it says when it refuses differs from engine to
 * engine and often lacks the place. This scanner runs only then. It is one pass without recursion,
 * so that neither a long nor a deeply nested text can hurt it.
 */
import type { Path } from "./written.ts"

/** A fault in the text itself. */
interface Fault {
  /** In UTF-16 units from the start of the text. */
  readonly offset: number
  /** What the grammar of JSON (RFC 8259) expects there. */
  readonly expected: string
}

export interface SyntaxFault extends Fault {
  /** The value that was being read there, or had just been read: its keys and indices from the root. */
  readonly path: Path
}

/** The first fault of a text, or `undefined` when it is JSON. */
export const firstFault = (text: string): SyntaxFault | undefined => {
  const closers: Array<"}" | "]"> = []
  // One number for each open container: the index of its item, or the offset of its key.
  const places: Array<number> = []
  let state: "value" | "value or ]" | "key" | "key or }" | "colon" | "next" = "value"
  let at = 0

  const found = (fault: Fault): SyntaxFault => {
    // Before the first item of an array, and in a key, it is the container that is read.
    const isBefore = state === "value or ]" || places.at(-1) === unread
    const path = (isBefore ? places.slice(0, -1) : places).map((place, depth) =>
      closers[depth] === "]" ? place : keyAt(text, place)
    )
    return { ...fault, path }
  }
  const fault = (offset: number, expected: string) => found({ offset, expected })
  const open = (closer: "}" | "]", place: number) => {
    closers.push(closer)
    places.push(place)
  }
  const close = () => {
    closers.pop()
    places.pop()
  }

  for (;;) {
    whiteSpace.lastIndex = at
    whiteSpace.test(text)
    at = whiteSpace.lastIndex
    const char = text[at]
    if (state === "next") {
      const closer = closers.at(-1)
      if (closer === undefined) return char === undefined ? undefined : fault(at, "the end of the text")
      if (char === closer) close()
      else if (char === ",") {
        state = closer === "}" ? "key" : "value"
        places[places.length - 1] = closer === "}" ? unread : places.at(-1)! + 1
      } else return fault(at, `',' or '${closer}'`)
      at++
    } else if (state === "colon") {
      if (char !== ":") return fault(at, "':'")
      state = "value"
      at++
    } else if (char === "}" && state === "key or }" || char === "]" && state === "value or ]") {
      close()
      state = "next"
      at++
    } else if (state === "key" || state === "key or }") {
      if (char !== "\"") return fault(at, state === "key" ? "a key in double quotes" : "a key in double quotes or '}'")
      const end = endOfString(text, at)
      if (typeof end !== "number") return found(end)
      places[places.length - 1] = at
      state = "colon"
      at = end
    } else if (char === "{" || char === "[") {
      state = char === "{" ? "key or }" : "value or ]"
      if (char === "{") open("}", unread)
      else open("]", 0)
      at++
    } else if (char === "\"") {
      state = "next"
      const end = endOfString(text, at)
      if (typeof end !== "number") return found(end)
      at = end
    } else {
      literal.lastIndex = at
      if (!literal.test(text)) {
        const isCutOff = cutLiteral.test(text.slice(at, at + 40)) && at + 40 > text.length
        const expected = state === "value or ]" ? "a value or ']'" : "a value"
        if (isCutOff) state = "value"
        return fault(isCutOff ? text.length : at, expected)
      }
      state = "next"
      at = literal.lastIndex
    }
  }
}

/** The fault of a text that `JSON.parse` has refused. */
export const faultOf = (text: string): SyntaxFault => firstFault(text) ?? { offset: 0, expected: "JSON", path: [] }

/** Is it an object or an array that ends too early? Of a longer text than a million characters nobody can tell. */
export const isCutOff = (text: string): boolean =>
  text.length <= mostLookedAt && container.test(text) && !isJson(text) && firstFault(text)?.offset === text.length

const isJson = (text: string): boolean => attempted(() => (JSON.parse(text), true)) === true

const container = /^[ \t\n\r]*[{[]/
const mostLookedAt = 1_000_000

const whiteSpace = /[ \t\n\r]*/y
const literal = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y
const plain = /[^"\\\u0000-\u001f]*/y
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

// What a text that was cut off may end in.
const cutLiteral = /^(?:t|tr|tru|f|fa|fal|fals|n|nu|nul|-|-?(?:0|[1-9]\d*)(?:\.|(?:\.\d+)?[eE][+-]?))$/
const cutEscape = /^\\(?:u[0-9a-fA-F]{0,3})?$/

// Of an object whose key is not read yet.
const unread = -1

// The key was read before.
const keyAt = (text: string, start: number): string => {
  const end = endOfString(text, start)
  return typeof end === "number" ? String(JSON.parse(text.slice(start, end))) : ""
}

const endOfString = (text: string, start: number): number | Fault => {
  let at = start + 1
  for (;;) {
    plain.lastIndex = at
    plain.test(text)
    at = plain.lastIndex
    const char = text[at]
    if (char === "\"") return at + 1
    if (char === undefined) return { offset: at, expected: "the closing '\"' of a string" }
    if (char !== "\\") return { offset: at, expected: "an escape such as \\n in place of a raw control character" }
    escape.lastIndex = at
    if (!escape.test(text)) {
      return cutEscape.test(text.slice(at))
        ? { offset: text.length, expected: "the rest of an escape" }
        : { offset: at, expected: "a valid escape: a backslash itself is written \\\\" }
    }
    at = escape.lastIndex
  }
}
