import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ResultSize } from "../../ResultSize.ts"
import * as Tool from "../../Tool.ts"
import { PartialData, SemanticGarbage } from "../../ToolFailure.ts"
import * as Toolkit from "../../Toolkit.ts"
import type { Transcript } from "../../Transcript.ts"
import { rememberRules } from "../result/resultContract.ts"
import { tokenOf } from "../tool/toolParts.ts"
import { cutJson, type JsonSize, maxPart, type Omission, pathText, startOf } from "../value/cutJson.ts"
import { isJsonObject } from "../value/plainJson.ts"
import { cut, oneLine, utf8Length } from "../value/text.ts"
import { attempt } from "../value/untrusted.ts"

/** The name of the tool with which a model reads the rest of a result. */
export const readMoreName = "read_more"

/** The most characters that one run keeps aside, as JSON. The oldest results are dropped first. */
const maxKept = 20_000_000

/** A result that was cut, with the places where something was left out. */
interface Kept {
  readonly value: Schema.Json
  readonly length: number
  readonly omissions: ReadonlyArray<Omission>
}

/** The whole results of a run that were cut, and the tool that reads them. */
export class KeptResults {
  // Most runs cut nothing, and an empty `Map` is large.
  #kept: Map<string, Kept> | undefined = undefined
  /** The size of one part. */
  readonly #size: JsonSize
  #length = 0
  #isExpected = false
  #toolkit: Toolkit.Toolkit | undefined = undefined

  /** A part is as big as a result that was cut. The rest of the room is for the words around it. */
  constructor({ bytes, items }: ResultSize) {
    this.#size = { bytes: Math.min(bytes, maxPart) - 500, items }
  }

  keep(id: string, kept: Kept): void {
    const all = this.#kept ??= new Map()
    all.set(id, kept)
    this.#length += kept.length
    for (const [oldest, { length }] of all) {
      if (this.#length <= maxKept || all.size === 1) return
      all.delete(oldest)
      this.#length -= length
    }
  }

  get isAny(): boolean {
    return this.#isExpected || this.#kept !== undefined
  }

  /** Offers the tool if an earlier run has told the model of it. Its results are gone, and the tool says so. */
  expect(transcript: Transcript): void {
    for (const message of transcript) {
      this.#isExpected ||= message.role === "tool" && message.text.includes(`call ${readMoreName} with`)
    }
  }

  /** Adds the tool that reads the results to a toolkit, if a result is kept and the toolkit has no such tool. */
  readable<T extends Tool.Any>(toolkit: Toolkit.Toolkit<T>): Toolkit.Toolkit<T> {
    if (!this.isAny || toolkit.tools.has(readMoreName)) return toolkit
    this.#toolkit ??= Toolkit.make(...toolkit.tools.values(), this.#readMore)
    return asToolkit(this.#toolkit)
  }

  get #readMore() {
    const tool = Tool.make(readMoreName, {
      description: "Reads the rest of a result that was cut. The result's note says which arguments to use.",
      parameters: Schema.Struct({
        result: Schema.String.annotate({ description: "The name of the result, as its note says" }),
        path: Schema.optionalKey(Schema.String).annotate({
          description: "The place in the result, such as 'rows' or 'rows.0.text'; leave it out for the result itself"
        }),
        from: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))).annotate({
          description: "The number of items or characters to skip"
        })
      }),
      success: Schema.Json,
      sideEffect: "none"
    }, ({ from = 0, path = "", result }) => Effect.suspend(() => this.#read(result, path, from)))
    // A part of a result is neither empty nor failed nor full by itself.
    rememberRules(tokenOf(tool), { failed: "never", pages: "never", empty: "never" })
    return tool
  }

  #read(
    result: string,
    path: string,
    from: number
  ): Effect.Effect<Schema.Json, PartialData<Schema.Json> | SemanticGarbage> {
    const kept = this.#kept?.get(result)
    if (kept === undefined) {
      return Effect.fail(
        new SemanticGarbage({
          code: "unknown_result",
          detail: `The result '${cut(oneLine(result), 80)}' is not kept.`,
          hint: this.#kept === undefined ? "Go on without it." : "Go on without it, or choose one of the alternatives.",
          alternatives: Array.from(this.#kept?.keys() ?? []).toReversed()
        })
      )
    }
    const value = valueAt(kept.value, path)
    if (value === undefined) {
      return Effect.fail(
        new SemanticGarbage({
          code: "unknown_path",
          detail: `The result '${result}' has nothing at '${cut(oneLine(path), 80)}'.`,
          hint: "Choose one of the alternatives.",
          alternatives: kept.omissions.map(pathText)
        })
      )
    }
    return this.#part({ result, ...(path === "" ? {} : { path }) }, value, from)
  }

  #part(place: Place, value: Schema.Json, from: number): Effect.Effect<Schema.Json, PartialData<Schema.Json>> {
    const { data, of, path, shown } = slice(value, from, this.#size)
    const next = from + shown
    if (next >= of && path === undefined) return Effect.succeed(data)
    const hint = path === undefined
      ? {}
      : { hint: `To read the cut part, use the path '${place.path === undefined ? path : `${place.path}.${path}`}'.` }
    const unit = unitOf(value)
    return Effect.fail(
      new PartialData({
        code: "more_pages",
        detail: `${unit} ${from + 1} to ${next} of ${of}.`,
        data,
        coverage: { have: next, of, unit: unit.toLowerCase() },
        ...(next >= of ? {} : { next: { ...place, from: next } }),
        ...hint
      })
    )
  }
}

/** The arguments that name a place in a result. */
type Place = { readonly result: string; readonly path?: string }

/** Returns a toolkit whose own tool needs no services, as one of the tools of `T`, which may be in it, too. */
export const asToolkit = <T extends Tool.Any>(toolkit: Toolkit.Toolkit) => toolkit as unknown as Toolkit.Toolkit<T>

const unitOf = (value: Schema.Json): string =>
  typeof value === "string" ? "Characters" : Array.isArray(value) ? "Items" : "Fields"

interface Slice {
  readonly data: Schema.Json
  readonly shown: number
  readonly of: number
  /** The item or field that was too big and is cut itself. */
  readonly path?: string
}

// Returns as much of a value as fits, from a character, an item or a field on: at least one.
const slice = (value: Schema.Json, from: number, size: JsonSize): Slice => {
  if (typeof value === "string") {
    const data = startOf(value.slice(from), size.bytes)
    return { data, shown: data.length, of: value.length }
  }
  if (Array.isArray(value)) {
    const { count, first } = fitting(value.slice(from, from + size.items), size)
    const data = first === undefined ? value.slice(from, from + count) : [first]
    return { data, shown: count, of: value.length, ...(first === undefined ? {} : { path: `${from}` }) }
  }
  if (!isJsonObject(value)) return { data: value, shown: 1, of: 1 }
  const names = Object.keys(value)
  const rest = names.slice(from)
  const { count, first } = fitting(rest.map((name) => value[name] ?? null), size, (index) => rest[index])
  const [name = ""] = rest
  return first === undefined
    ? {
      data: Object.fromEntries(rest.slice(0, count).map((name) => [name, value[name] ?? null])),
      shown: count,
      of: names.length
    }
    : { data: Object.fromEntries([[name, first]]), shown: count, of: names.length, path: name }
}

// Returns how many members fit. If not even the first one fits, returns it cut.
const fitting = (
  members: ReadonlyArray<Schema.Json>,
  { bytes, items }: JsonSize,
  nameOf: (index: number) => string | undefined = () => undefined
): { readonly count: number; readonly first?: Schema.Json } => {
  const bytesAround = (index: number): number => {
    const name = nameOf(index)
    return name === undefined ? 1 : utf8Length(JSON.stringify(name)) + 2
  }
  let left = bytes - 1
  const end = members.findIndex((member, index) => {
    const text = JSON.stringify(member)
    left -= utf8Length(text) + bytesAround(index)
    return left < 0 || cutJson(member, { bytes: Infinity, items }, text) !== undefined
  })
  const [first = null] = members
  if (end !== 0) return { count: end === -1 ? members.length : end }
  return { count: 1, first: cutJson(first, { bytes: bytes - 1 - bytesAround(0), items })?.value ?? first }
}

/** The longest path that is followed, in characters. */
const maxPath = 5000

// A name may contain dots, so the longest name that fits is taken.
const valueAt = (value: Schema.Json, path: string): Schema.Json | undefined => {
  if (path === "") return value
  if (typeof value !== "object" || value === null || path.length > maxPath) return undefined
  const parts = path.split(".")
  for (let count = parts.length; count > 0; count--) {
    const name = parts.slice(0, count).join(".")
    if (!Object.hasOwn(value, name)) continue
    const inner = attempt(() => Reflect.get(value, name))
    const found = inner === undefined ? undefined : valueAt(inner, parts.slice(count).join("."))
    if (found !== undefined) return found
  }
  return undefined
}
