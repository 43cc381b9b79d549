/**
 * Where and why a text is no JSON.
 *
 * `JSON.parse` decides whether a text is JSON; what it says when it refuses differs from engine to
 * engine and often lacks the place. This scanner runs only then. It is one pass without recursion,
 * so that neither a long nor a deeply nested text can hurt it.
 */
export interface SyntaxFault {
  /** In UTF-16 units from the start of the text. */
  readonly offset: number
  /** What the grammar of JSON (RFC 8259) expects there. */
  readonly expected: string
}

/** The first fault of a text, or `undefined` when it is JSON. */
export const firstFault = (text: string): SyntaxFault | undefined => {
  const closers: Array<"}" | "]"> = []
  let state: "value" | "value or ]" | "key" | "key or }" | "colon" | "next" = "value"
  let at = 0

  const fault = (offset: number, expected: string): SyntaxFault => ({ offset, expected })

  for (;;) {
    whiteSpace.lastIndex = at
    whiteSpace.test(text)
    at = whiteSpace.lastIndex
    const char = text[at]
    if (state === "next") {
      const closer = closers.at(-1)
      if (closer === undefined) return char === undefined ? undefined : fault(at, "the end of the text")
      if (char === closer) closers.pop()
      else if (char === ",") state = closer === "}" ? "key" : "value"
      else return fault(at, `',' or '${closer}'`)
      at++
    } else if (state === "colon") {
      if (char !== ":") return fault(at, "':'")
      state = "value"
      at++
    } else if (char === "}" && state === "key or }" || char === "]" && state === "value or ]") {
      closers.pop()
      state = "next"
      at++
    } else if (state === "key" || state === "key or }") {
      if (char !== "\"") return fault(at, state === "key" ? "a key in double quotes" : "a key in double quotes or '}'")
      const end = endOfString(text, at)
      if (typeof end !== "number") return end
      state = "colon"
      at = end
    } else if (char === "{" || char === "[") {
      closers.push(char === "{" ? "}" : "]")
      state = char === "{" ? "key or }" : "value or ]"
      at++
    } else if (char === "\"") {
      const end = endOfString(text, at)
      if (typeof end !== "number") return end
      state = "next"
      at = end
    } else {
      literal.lastIndex = at
      if (!literal.test(text)) {
        const isCutOff = cutLiteral.test(text.slice(at, at + 40)) && at + 40 > text.length
        return fault(isCutOff ? text.length : at, state === "value or ]" ? "a value or ']'" : "a value")
      }
      state = "next"
      at = literal.lastIndex
    }
  }
}

/** The fault of a text that `JSON.parse` has refused. */
export const faultOf = (text: string): SyntaxFault => firstFault(text) ?? { offset: 0, expected: "JSON" }

const whiteSpace = /[ \t\n\r]*/y
const literal = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y
const plain = /[^"\\\u0000-\u001f]*/y
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

// What a text that was cut off may end in.
const cutLiteral = /^(?:t|tr|tru|f|fa|fal|fals|n|nu|nul|-|-?(?:0|[1-9]\d*)(?:\.|(?:\.\d+)?[eE][+-]?))$/
const cutEscape = /^\\(?:u[0-9a-fA-F]{0,3})?$/

const endOfString = (text: string, start: number): number | SyntaxFault => {
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
