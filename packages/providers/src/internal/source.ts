import { sources } from "@fallible/arguments"
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
  const found = sources(text, path.map((step) => step === each ? "*" : step))
  return new Map(found.map((source) => [Number(source.path[path.indexOf(each)]), source.text]))
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
