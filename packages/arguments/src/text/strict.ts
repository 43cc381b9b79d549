/**
 * Strict JSON (RFC 8259). Finds the first fault in text that `JSON.parse` refuses, and the source texts of
 * values in text that it accepts.
 *
 * `JSON.parse` decides whether text is JSON. Its errors differ between engines and often lack the place, so
 * the {@link Reader} finds the place.
 */
import type { Path } from "../json.ts"
import type { Fault } from "./fault.ts"
import { Lexer, type Mode } from "./lexer.ts"
import { Reader } from "./reader.ts"

/** A fault, with the path of the value that was being read, or was just read. */
export interface PlacedFault extends Fault {
  readonly path: Path
}

// The depth is far beyond any practical text, and still safe for the stack.
const strict: Mode = { isStrict: true, depth: 1000 }

/** Returns the first fault in the text; `undefined` if the text is JSON. */
export const strictFault = (text: string): PlacedFault | undefined => {
  const reader = new Reader(text, 0, strict)
  reader.blank()
  reader.value()
  reader.blank()
  const { at, fault, path } = reader
  if (fault !== undefined) return { ...fault, path }
  return at === text.length ? undefined : { kind: "unexpected_character", offset: at, expected: "end", path: [] }
}

/** A value as it was written. */
export interface Source {
  readonly path: Path
  readonly text: string
}

/**
 * Returns the source texts of the values at all paths that match a form, in the order of the text. In the
 * form, `"*"` stands for any key or index.
 */
export const sourcesIn = (text: string, form: Path): ReadonlyArray<Source> => {
  const reader = new SourceReader(text, 0, strict)
  reader.blank()
  reader.follow(form, [])
  return reader.sources
}

/** Follows the form of a path, and skips all other values, however deep they are. */
class SourceReader extends Lexer {
  readonly sources: Array<Source> = []

  follow([step, ...rest]: Path, path: Path): void {
    const { at, text } = this
    const opener = text[at]
    if (step === undefined || opener !== "{" && opener !== "[") {
      this.#skip()
      if (step === undefined) this.sources.push({ path, text: text.slice(at, this.at) })
      return
    }
    const isObject = opener === "{"
    this.at++
    for (let index = 0; !this.#isClosed(); index++) {
      const key = isObject ? this.string(0x22) ?? "" : index
      if (isObject) this.#isClosed()
      if (step === key || step === "*") this.follow(rest, [...path, key])
      else this.#skip()
    }
  }

  // Skips the separators between values. Returns whether the container ends here.
  #isClosed(): boolean {
    this.match(/[\s,:]*/y)
    return this.match(/[}\]]|$/y) !== undefined
  }

  #skip(): void {
    let open = 0
    do {
      if (this.isQuoteHere()) this.string(0x22)
      else if (this.match(/[{[]/y) !== undefined) open++
      else if (this.match(/[}\]]/y) !== undefined) open--
      else if (this.match(/[\s,:]+|[^\s,:{}[\]"]+/y) === undefined) return
    } while (open > 0)
  }
}
