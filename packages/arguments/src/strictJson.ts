/** Strict JSON, for text that was not written by a model: the replies of services and providers. */
import type { Json, Path } from "./json.ts"
import type { Refused } from "./read.ts"
import type { Unreadable } from "./refusal.ts"
import { type Source, sourcesIn, strictFault } from "./text/strict.ts"
import { unreadable } from "./words.ts"

/** The result for text that is JSON. */
export interface Parsed {
  readonly ok: true
  readonly value: Json
}

/** The refusal of text that is not JSON, with the path of the value that was being read. */
export interface Unparsed extends Unreadable {
  readonly path: Path
}

/**
 * Parses JSON, or reports where and why the text is not JSON. The errors of `JSON.parse` differ between
 * engines, and often lack the place.
 *
 * When to use: for the reply of a service. `cut_off` means that the text ends too early, so a retry may
 * help.
 *
 * @example
 * ```ts
 * import { parse } from "@fallible/arguments/internal"
 *
 * const cut = parse("{\"orders\":[{\"total\":1")
 * cut.ok || cut.refusal.kind // => "cut_off"
 * cut.ok || cut.refusal.path // => ["orders", 0, "total"]
 * ```
 */
export const parse = (text: string): Parsed | Refused<Unparsed> => {
  try {
    return { ok: true, value: JSON.parse(text) }
  } catch {
    const { path, ...fault } = strictFault(text) ??
      { kind: "unexpected_character", offset: 0, expected: "plain_json", path: [] } as const
    return { ok: false, refusal: { ...unreadable(text, fault, false), path } }
  }
}

/**
 * Returns the source texts of the values at a path in JSON text, in the order of the text.
 *
 * When to use: if `JSON.parse` would lose the digits of a long number, or all but the last of several values
 * with the same key.
 *
 * @example
 * ```ts
 * import { sources } from "@fallible/arguments/internal"
 *
 * sources("{\"id\":12345678901234567890}", ["id"])
 * // => [{ path: ["id"], text: "12345678901234567890" }]
 * ```
 *
 * @param text valid JSON that has been parsed
 * @param path the path of the values; `"*"` stands for any key or index
 */
export const sources = (text: string, path: Path): ReadonlyArray<Source> => sourcesIn(text, path)
