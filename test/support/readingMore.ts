/** Models that read big results: they follow the notes of a cut result and call `read_more` until nothing is missing. */
import { ScriptedModel } from "@fallible/testing"
import type { Schema } from "effect"
import { heard } from "./plainTools.ts"

/** The arguments of `read_more`. */
export interface Place {
  readonly result: string
  readonly path?: string
  readonly from?: number
}

/** A tool message, taken apart. */
export interface Read {
  /** The value, or the data of a part. */
  readonly value: Schema.Json
  readonly notes: string
  readonly hint: string
  readonly next: Place | undefined
}

/** Takes a tool message apart, as a model that follows instructions reads it. */
export const readText = (text: string): Read => {
  const whole: unknown = JSON.parse(text)
  const fields = asFields(whole)
  if (fields["ok"] === false) {
    return {
      value: asJson(fields["data"] ?? null),
      notes: JSON.stringify(fields["notes"] ?? []),
      hint: typeof fields["hint"] === "string" ? fields["hint"] : "",
      next: fields["next"] === undefined ? undefined : asPlace(fields["next"])
    }
  }
  return Array.isArray(fields["notes"])
    ? { value: asJson(fields["value"]), notes: fields["notes"].join(" "), hint: "", next: undefined }
    : { value: asJson(whole), notes: "", hint: "", next: undefined }
}

// The text is the JSON of an object, or of something without fields.
const asFields = (value: unknown) =>
  (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>
// Whatever `JSON.parse` returns is JSON.
const asJson = (value: unknown) => value as Schema.Json
// The library writes these arguments.
const asPlace = (value: unknown) => value as Place

/** Finds the call of `read_more` that a note names. */
export const placeIn = (note: string): Place | undefined => {
  const [, written] = /call read_more with (\{.*?\})(?=\.|"|$)/.exec(note) ?? []
  return written === undefined ? undefined : asPlace(JSON.parse(written))
}

/** Reads a place part by part: yields the arguments of each call, and returns the whole value. */
export function* readingPlace({ path, result }: Place): Generator<Place, Schema.Json, Read> {
  const parts: Array<Schema.Json> = []
  let place: Place | undefined = { result, ...(path === undefined ? {} : { path }) }
  while (place !== undefined) {
    const read: Read = yield place
    const [, inner] = /use the path '(.*)'\.$/.exec(read.hint) ?? []
    parts.push(
      inner === undefined ? read.value : withMember(read.value, yield* readingPlace({ result, path: inner }))
    )
    place = read.next
  }
  return joined(parts)
}

// The part has one member, which was cut itself.
const withMember = (part: Schema.Json, member: Schema.Json): Schema.Json =>
  Array.isArray(part) ? [member] : Object.fromEntries(Object.keys(part ?? {}).map((name) => [name, member]))

const joined = (parts: ReadonlyArray<Schema.Json>): Schema.Json => {
  if (parts.length === 1) return parts[0]!
  if (parts.every((part) => typeof part === "string")) return parts.join("")
  if (parts.every(Array.isArray)) return parts.flat(1)
  return Object.fromEntries(parts.flatMap((part) => Object.entries(part ?? {})))
}

/** A model that calls a tool, and then reads its whole result with `read_more`. */
export const readingAll = (name: string, args: object = {}) => {
  const seen: { first: Read | undefined; value: Schema.Json | undefined; calls: Array<Place> } = {
    first: undefined,
    value: undefined,
    calls: []
  }
  let reading: Generator<Place, Schema.Json, Read> | undefined
  const script = (request: ScriptedModel.Recorded, index: number) => {
    if (index === 0) return ScriptedModel.call(name, args)
    const read = readText(heard(request))
    let step: IteratorResult<Place, Schema.Json>
    if (reading === undefined) {
      seen.first = read
      const place = placeIn(`${read.notes}${read.hint}`)
      if (place === undefined) return ScriptedModel.text("nothing is missing")
      reading = readingPlace({ result: place.result })
      step = reading.next(read)
    } else step = reading.next(read)
    if (step.done === true) {
      seen.value = step.value
      return ScriptedModel.text("done")
    }
    seen.calls.push(step.value)
    return ScriptedModel.call("read_more", step.value)
  }
  return { script, seen }
}
