import { sources } from "@fallible/arguments"
import type * as Schema from "effect/Schema"

/** Any index, in a path. */
export const each = Symbol("each")

export type Path = ReadonlyArray<string | number | typeof each>

/**
 * Returns the source texts of the values at a path with one `each`, by the index in its place.
 *
 * Arguments must reach dispatch as the model wrote them. If a server sends them as an object, `JSON.parse`
 * loses the digits of a long number, and all but the last of several equal keys.
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

/** Stands for an object by its text, which {@link writeWithSources} writes unchanged. */
export const asSource = (text: string): Schema.JsonObject => asJson(new Source(text))

// A source stands for the object that it becomes.
const asJson = (source: Source): Schema.JsonObject => source as unknown as Schema.JsonObject

/** Writes a body. Half of a surrogate pair is replaced, because many servers cannot read its escape. */
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

// `JSON.stringify` writes a whole pair as it is. Only a half is escaped.
const replaceLoneSurrogates = (text: string): string =>
  text.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, "$1\ufffd")
