/**
 * Reads a text with other parsers: `JSON.parse`, JavaScript, and Python's `ast.literal_eval`. Each reader returns
 * `undefined` if it cannot read the text, or if the value is not plain JSON.
 */
import type { Json } from "@fallible/arguments"
import { spawnSync } from "node:child_process"
import { runInNewContext } from "node:vm"

export const strict = (text: string): Json | undefined => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Evaluates a text as one JavaScript expression. */
export const javaScript = (text: string): Json | undefined => {
  try {
    const value: unknown = runInNewContext(`(${text}\n)`, undefined, { timeout: 100 })
    // Other values are rejected: `undefined`, functions, class instances.
    return isPlain(value) ? strict(JSON.stringify(value)) : undefined
  } catch {
    return undefined
  }
}

const isPlain = (value: unknown): boolean => {
  if (typeof value === "number") return Number.isFinite(value)
  if (typeof value !== "object" || value === null) return value === null || ["string", "boolean"].includes(typeof value)
  const isKnown = Array.isArray(value) || Object.getPrototypeOf(Object.getPrototypeOf(value)) === null
  return isKnown && Object.values(value).every(isPlain)
}

const program = `
import ast, json, sys, warnings
warnings.simplefilter("ignore")
def plain(value):
    if isinstance(value, dict):
        return all(type(key) is str and plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(plain, value))
    return value is None or type(value) in (bool, int, str) or type(value) is float and value - value == 0
for line in sys.stdin:
    try:
        value = ast.literal_eval(json.loads(line).strip())
        print(json.dumps([value] if plain(value) else []))
    except (MemoryError, RecursionError, SyntaxError, TypeError, UnicodeError, ValueError):
        print("[]")
`

/** Evaluates many texts in Python. Returns `undefined` if Python is not installed. */
export const python = (texts: ReadonlyArray<string>): ReadonlyArray<Json | undefined> | undefined => {
  const { error, status, stderr, stdout } = spawnSync("python3", ["-c", program], {
    input: texts.map((text) => asciiOf(text)).join("\n"),
    encoding: "utf8",
    maxBuffer: 2 ** 30
  })
  if (error !== undefined) return undefined
  if (status !== 0) throw new Error(stderr)
  return stdout.split("\n").map((line) => line === "" ? undefined : JSON.parse(line)[0])
}

const asciiOf = (text: string): string =>
  JSON.stringify(text).replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
