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
 * Returns the arguments with other words in every field that does not identify the effect; `undefined` if there is none.
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
    const { properties, required } = parametersOf(tool)
    const decided = chosen === undefined && Predicate.isFunction(tool.identity)
    const intentOf = (fields: Fields) => decoded(tool, fields, decided)
    const intent = yield* intentOf(args)
    if (Option.isNone(intent)) return undefined
    const isNote = (name: string): boolean => {
      const value = args[name] ?? ""
      return typeof value === "string" && (/\S\s+\S/.test(value) || value === "" || !required.has(name))
    }
    const names = chosen ?? Object.keys(properties).filter((name) => decided || isNote(name))
    let other = args
    const reworded = new Set<string>()
    for (const name of names) {
      if (!(name in properties)) {
        return yield* Effect.die(
          new TypeError(`The option 'reworded' names '${name}', which is no field of ${tool.name}.`)
        )
      }
      for (const value of otherValues(args[name], properties[name])) {
        const next = { ...other, [name]: value }
        if (!Equal.equals(yield* intentOf(next), intent)) continue
        other = next
        reworded.add(name)
        break
      }
      if (chosen !== undefined && !reworded.has(name)) {
        return yield* Effect.die(new TypeError(`The option 'reworded' names '${name}', which has no other words.`))
      }
    }
    const isWhole = !decided && chosen === undefined && Object.keys(args).every((name) => reworded.has(name))
    return reworded.size === 0 || isWhole ? undefined : other
  })

/** Says in which fields arguments differ from those of an earlier call: `note "Two nights, again"`. */
export const differences = (before: object, after: object): string => {
  const earlier = new Map(Object.entries(before))
  const later = new Map(Object.entries(after))
  return [
    ...Array.from(later).flatMap(([name, value]) =>
      JSON.stringify(value) === JSON.stringify(earlier.get(name)) ? [] : [`${name} ${JSON.stringify(value)}`]
    ),
    ...Array.from(earlier.keys()).flatMap((name) => later.has(name) ? [] : [`without ${name}`])
  ].join(", ")
}

const parametersOf = (tool: Tool.Any): { readonly properties: Fields; readonly required: ReadonlySet<unknown> } => {
  const { properties, required } = Toolkit.make(tool).definitions[0]?.parameters ?? {}
  return {
    properties: Predicate.isObject(properties) ? { ...properties } : {},
    required: new Set(Array.isArray(required) ? required : [])
  }
}

// Returns the identity of arguments, or nothing if they do not decode. Without a function, all that decode count as equal.
const decoded = (tool: Tool.Any, fields: Fields, isByIdentity: boolean): Effect.Effect<Option.Option<unknown>> =>
  Effect.option(
    Effect.flatMap(
      Arguments.decode(JSON.stringify(fields), tool),
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
