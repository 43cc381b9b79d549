/*
 * A call in other words: arguments with the same intended effect, as a model may write them the next time.
 *
 * New values are decoded, because the schema that a model is shown may leave out a pattern. A value that does not decode is
 * not used.
 */
import { type Tool, Toolkit } from "@fallible/core"
import * as Arguments from "@fallible/core/Arguments"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"

type Fields = Readonly<Record<string, unknown>>

/**
 * Returns the arguments with other words in every field that does not identify the effect; `undefined` if there is none. A field
 * may be inside other fields, or be an element of an array.
 *
 * A function `identity` tells which fields these are. Otherwise, these are the notes: texts with a space in them, and optional
 * texts. If every given field is a note, one of them must name the effect, so none is reworded. `"all"` says no more than no
 * identity: that each argument names the effect is not true of free text.
 *
 * Dies if a chosen field cannot be reworded.
 *
 * @param chosen the names of the fields, if the user says so
 */
export const inOtherWords = (
  tool: Tool.Any,
  args: Fields,
  chosen?: ReadonlyArray<string>
): Effect.Effect<Fields | undefined> =>
  Effect.gen(function*() {
    const parts = partsOf(args, Toolkit.make(tool).definitions[0]?.parameters)
    const decided = chosen === undefined && Predicate.isFunction(tool.identity)
    const intentOf = (given: unknown) => decoded(tool, given, decided)
    const intent = yield* intentOf(args)
    if (Option.isNone(intent)) return undefined
    // Whether a given value stays as it is.
    let keeps = false
    // Returns a value with other words. `put` puts it into the arguments.
    const reworded = (
      value: unknown,
      { isOptional, schema }: Part,
      put: (value: unknown) => unknown
    ): Effect.Effect<unknown> =>
      Effect.gen(function*() {
        if (decided || chosen !== undefined || isNote(value, isOptional)) {
          for (const next of otherValues(value, schema)) {
            if (Equal.equals(yield* intentOf(put(next)), intent)) return next
          }
        }
        const parts = partsOf(value, schema)
        keeps ||= parts.length === 0 && value !== undefined
        return yield* rewordedIn(value, parts, put)
      })
    const rewordedIn = (whole: unknown, parts: ReadonlyArray<Part>, put: (value: unknown) => unknown) =>
      Effect.reduce(parts, () => whole, (before, part) => {
        const putPart = (next: unknown) => withPart(before, part, next)
        const value = partIn(before, part)
        return Effect.map(
          reworded(value, part, (next) => put(putPart(next))),
          (next) => next === value ? before : putPart(next)
        )
      })
    const names = parts.map(({ name }) => name)
    const unknown = chosen?.find((name) => !names.includes(name))
    if (unknown !== undefined) {
      return yield* Effect.die(
        new TypeError(`The option 'reworded' names '${unknown}', which is no field of ${tool.name}.`)
      )
    }
    const used = chosen === undefined ? parts : parts.filter(({ name }) => chosen.includes(name))
    const other = yield* rewordedIn(args, used, (value) => value)
    if (!Predicate.isObject(other)) return undefined
    const same = chosen?.find((name) => isSame(other[name], args[name]))
    if (same !== undefined) {
      return yield* Effect.die(new TypeError(`The option 'reworded' names '${same}', which has no other words.`))
    }
    const isWhole = !decided && chosen === undefined && !keeps
    return isSame(other, args) || isWhole ? undefined : other
  })

const isNote = (value: unknown, isOptional: boolean): boolean => {
  const text = value ?? ""
  return typeof text === "string" && (/\S\s+\S/.test(text) || text === "" || isOptional)
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** Returns whether the function `identity` of the tool takes all these arguments for the same effect. */
export const haveOneIdentity = (tool: Tool.Any, all: ReadonlyArray<object>): Effect.Effect<boolean> =>
  Effect.map(
    Effect.forEach(all, (args) => decoded(tool, args, true)),
    ([first, ...others]) =>
      Predicate.isFunction(tool.identity) && others.length > 0 && others.every((other) => Equal.equals(other, first))
  )

/** Says in which fields arguments differ from those of an earlier call: `note "Two nights, again"`. */
export const differences = (before: object, after: object): string => {
  const earlier = new Map(Object.entries(before))
  const later = new Map(Object.entries(after))
  return [
    ...Array.from(later).flatMap(([name, value]) =>
      isSame(value, earlier.get(name)) ? [] : [`${name} ${JSON.stringify(value)}`]
    ),
    ...Array.from(earlier.keys()).flatMap((name) => later.has(name) ? [] : [`without ${name}`])
  ].join(", ")
}

/** A field of an object, which may not be given, or an element of an array. */
interface Part {
  readonly name: string
  readonly schema: unknown
  readonly isOptional: boolean
}

const partsOf = (value: unknown, schema: unknown): ReadonlyArray<Part> => {
  const { items, properties, required }: Fields = Predicate.isObject(schema) ? { ...schema } : {}
  if (Array.isArray(value)) return value.map((_, index) => ({ name: String(index), schema: items, isOptional: false }))
  if (!Predicate.isObject(value)) return []
  const fields: Fields = Predicate.isObject(properties) ? { ...properties } : {}
  const needed: ReadonlyArray<unknown> = Array.isArray(required) ? required : []
  return Object.entries(fields).map(([name, schema]) => ({ name, schema, isOptional: !needed.includes(name) }))
}

const partIn = (whole: unknown, { name }: Part): unknown => Predicate.hasProperty(whole, name) ? whole[name] : undefined

const withPart = (whole: unknown, { name }: Part, value: unknown): unknown =>
  Array.isArray(whole) ? whole.with(Number(name), value) : { ...Object(whole), [name]: value }

// Returns the identity of arguments, or nothing if they do not decode. Without a function, all that decode count as equal.
const decoded = (tool: Tool.Any, given: unknown, isByIdentity: boolean): Effect.Effect<Option.Option<unknown>> =>
  Effect.option(
    Effect.flatMap(
      Arguments.decode(JSON.stringify(given), tool),
      ({ params }) => isByIdentity ? Effect.try(() => identityOf(tool, params)) : Effect.succeed("any")
    )
  )

// The parameters were decoded with the schema of this tool.
const identityOf = ({ identity }: Tool.Any, params: unknown): unknown =>
  Predicate.isFunction(identity) ? identity(params as never) : undefined

// Returns other values of the same JSON type. A field that is not given may be added, as a text.
const otherValues = (value: unknown, schema: unknown): ReadonlyArray<unknown> => {
  const choices = Predicate.hasProperty(schema, "enum") && Array.isArray(schema.enum) ? schema.enum : []
  const others = typeof value === "string"
    ? [value === "" ? "again" : `${value}, again`, "again"]
    : typeof value === "number"
    ? [value + 1, value - 1]
    : typeof value === "boolean"
    ? [!value]
    : Array.isArray(value)
    ? [[...value, ...value.slice(0, 1)], value.slice(1)]
    : value === undefined || value === null
    ? ["again"]
    : []
  return [...others, ...choices].filter((other) => !Equal.equals(other, value))
}
