/** Arbitrary objects, their JSON, and texts that are almost JSON. */
import * as fc from "fast-check"

export const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const key = fc.string({ unit: "binary" }).filter((key) => key !== "__proto__")
export const object = fc.dictionary(key, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 })
export const objectText = fc.tuple(object, fc.constantFrom(0, 2, "\t")).map(([object, indent]) =>
  JSON.stringify(object, null, indent)
).filter((text) => !text.includes("__proto__"))

// Almost JSON: tokens in any order, and JSON with one character replaced.
const tokens = fc.array(
  fc.constantFrom(
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"a\"",
    "\"",
    "\\",
    "\\n",
    "\\u00e9",
    "0",
    "-1.5e3",
    "true",
    "nul",
    " "
  ),
  { maxLength: 12 }
).map((tokens) => tokens.join(""))
export const changed = fc.tuple(objectText, fc.nat(), fc.string({ unit: "binary", maxLength: 2 })).map(
  ([text, at, change]) => {
    const place = at % (text.length + 1)
    return text.slice(0, place) + change + text.slice(place + 1)
  }
)
export const anyText = fc.oneof(fc.string({ unit: "binary" }), objectText, tokens, changed)
