import { sources } from "@fallible/arguments/internal"
import type * as Schema from "effect/Schema"

/** A step of a path that stands for any index. */
export const each = Symbol("each")

export type Path = ReadonlyArray<string | number | typeof each>

/**
 * Returns the source texts of the values at a path that contains one `each`. The key of each text is the
 * index that `each` stands for.
 *
 * Arguments must reach dispatch as the model wrote them. If a server sends them as an object, `JSON.parse`
 * may lose some of them: the digits of a long number, or all but the last of several values with the same
 * key.
 *
 * @param text valid JSON that has been parsed
 */
export const sourcesAt = (text: string, path: Path): ReadonlyMap<number, string> => {
  const matches = sources(text, path.map((step) => step === each ? "*" : step))
  return new Map(matches.map((source) => [Number(source.path[path.indexOf(each)]), source.text]))
}

class Source {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Returns a stand-in for the JSON object with this text. {@link writeWithSources} writes the text unchanged. */
export const asSource = (text: string): Schema.JsonObject => asJson(new Source(text))

// A source stands for the object that its text will be read as.
const asJson = (source: Source): Schema.JsonObject => source as unknown as Schema.JsonObject

/** Writes a body. Lone halves of surrogate pairs are replaced, because many servers cannot read their escapes. */
export const write = (body: Schema.Json): string => replaceLoneSurrogates(JSON.stringify(body))

/** Writes a body that contains sources. */
export const writeWithSources = (body: Schema.Json): string => {
  // Lengthens the mark until nothing else in the body looks like it.
  for (let mark = "source-";; mark += mark) {
    const sources: Array<string> = []
    const text = replaceLoneSurrogates(
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

// `JSON.stringify` escapes only lone halves of surrogate pairs. It writes whole pairs unchanged.
const replaceLoneSurrogates = (text: string): string =>
  text.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, "$1\ufffd")
