/** The arguments of one tool: everything that this package does, for one schema that is checked once. */
import { checkOptions, limitsOf } from "./checkedOptions.ts"
import { coerce, type Decoded, decoded, type Fitted, fitted } from "./fit.ts"
import { isJsonObject, type Json, type JsonObject, type JsonSchema, partAt, type Path } from "./json.ts"
import { noOptions, type Options } from "./options.ts"
import { plain } from "./plain.ts"
import { numberAt, type Preview, preview, type Readable, readText, type Refused, refusedFor } from "./read.ts"
import type { Misfit, Refusal, Unreadable } from "./refusal.ts"
import { leadingPart } from "./schema/described.ts"
import { allowsKind, documentOf } from "./schema/document.ts"
import { inspect, type KeywordAt, SchemaRefused, usable } from "./schema/inspect.ts"
import { isStandardSchema, type StandardIssue, type StandardSchema } from "./schema/standard.ts"
import { mayHoldSecrets, mayTell, secretsOf } from "./secret.ts"
import { cut, oneLine } from "./text/excerpt.ts"
import { asValue, kindOf, show } from "./value.ts"
import { notValid } from "./words.ts"

/** The arguments of one tool, with the type `A`. */
export interface Arguments<out A = unknown> {
  /** The JSON Schema of the arguments, as a model should see it. */
  readonly schema: JsonSchema
  /**
   * The keywords of a JSON Schema that are not checked (see `inspect`). Log them when the tool is registered. There are none if
   * a library validates the value.
   */
  readonly unchecked: ReadonlyArray<KeywordAt>
  /** Reads a text as a value of the schema, as `decode` does. */
  readonly decode: (text: string | null | undefined) => Decoded<A> | Refused<Refusal>
  /**
   * Fits a value that is already parsed, as `fit` does; `undefined` and `null` stand for no arguments. Prefer `decode` wherever
   * there is a text.
   */
  readonly fit: (value: unknown) => Fitted<A> | Refused<Misfit>
  /** Reads a text without its schema, as `read` does. */
  readonly read: (text: string | null | undefined) => Readable | Refused<Unreadable>
  /** Returns the part of a text that has been written so far, as `preview` does. */
  readonly preview: (text: string) => Preview
}

/**
 * Makes the arguments of a tool from its schema, which is checked once, here.
 *
 * When to use: wherever a tool is made. `decode` and `fit` do the same for a schema that is passed each time.
 *
 * The schema is a JSON Schema, or a schema of zod (4.2 and later), Valibot, ArkType or another library that implements
 * Standard Schema and Standard JSON Schema. A value is then fitted to the library's JSON Schema, and validated by the
 * library. So the value has the library's type, with its defaults and transformations, and its own checks are issues of
 * the kind `validator`. Where the types fit and only a bound or a format of the JSON Schema does not, the library decides:
 * its pattern may ignore case, and it may trim a text first.
 *
 * The type of a JSON Schema's value is `JsonObject`. `Arguments.of<Trip>(schema)` claims another one, which nobody checks.
 *
 * Throws a `SchemaRefused` for a schema that cannot be used (see `inspect`), and a `TypeError` for an option that does not
 * exist. `decode` and `fit` throw a `TypeError` if the library validates asynchronously.
 *
 * @example
 * ```ts
 * import { Arguments, message } from "@fallible/arguments"
 * import { z } from "zod"
 *
 * const trip = Arguments.of(z.object({ city: z.string(), days: z.int().max(5).default(3) }))
 *
 * const paris = trip.decode("{'city': 'Paris', 'days': '2'}")
 * paris.ok && paris.value.days // => 2
 *
 * const long = trip.decode('{"city":"Paris","days":7}')
 * long.ok || message(long.refusal) // => "'days': expected integer of at most 5, got 7."
 * ```
 *
 * @param schema the schema. It must not change afterwards
 * @param options as for `decode`
 */
const of: {
  <A>(schema: StandardSchema<A>, options?: Options): Arguments<A>
  <A = JsonObject>(schema: object, options?: Options): Arguments<A>
} = (schema: object, options: Options = noOptions): Arguments<never> => {
  checkOptions("Arguments.of", options)
  limitsOf(options)
  // The schemas of ArkType are functions.
  const library = Object(schema) === schema && isStandardSchema(schema) ? schema : undefined
  const json = usable(library === undefined ? schema : jsonSchemaOf(library))
  if (!allowsKind(documentOf(json).flat(json), {})) {
    throw new SchemaRefused([{
      path: ["type"],
      keyword: "type",
      why: "arguments are an object, which it does not allow"
    }])
  }
  const isSecret = mayHoldSecrets(json, options)
  const { formats } = options
  const validated = (fit: Decoded<Json> | Fitted | Refused<Refusal>, refused?: Refused<Refusal>): never => {
    if (!fit.ok) return asTyped(fit)
    if (!isJsonObject(fit.value)) return asTyped({ ok: false, refusal: notAnObject(fit.value) })
    if (library === undefined) return asTyped(fit)
    const { validate, vendor } = library["~standard"]
    const validation = validate(fit.value)
    if ("then" in validation) {
      // Zod answers with a promise, too, after one of its checks has thrown.
      validation.catch(() => {})
      throw new TypeError(
        `The schema of ${vendor} validates asynchronously, or one of its checks has thrown. Pass its JSON Schema, and await its 'validate' with the value.`
      )
    }
    return asTyped(
      validation.issues === undefined
        ? { ...fit, value: validation.value }
        : refused ?? { ok: false, refusal: refusalBy(validation.issues, fit.value, json, options) }
    )
  }
  // A JSON Schema cannot say all that a library can: a pattern may ignore case, and a text may be trimmed before its length
  // counts. So a value of the right types and choices is the library's to judge.
  const isLibrarys = ({ refusal }: Refused<Refusal>): boolean =>
    library !== undefined && refusal.kind === "misfit" &&
    refusal.issues.every(({ kind }) => kind === "bound" || kind === "format")
  return {
    schema: json,
    // A library checks everything itself.
    unchecked: library === undefined ? inspect(json, formats === undefined ? {} : { formats }).unchecked : [],
    decode: (text) => {
      const fit = decoded(text, json, options)
      const readable = fit.ok || !isLibrarys(fit) ? undefined : readText(text, options)
      if (fit.ok || readable === undefined || !("ok" in readable)) return validated(fit)
      const origin = { ...options, numberAt: (path: Path) => numberAt(readable, path) }
      const { repairs, value } = coerce(readable.value, json, origin)
      return validated({ ok: true, value, repairs: [...readable.repairs, ...repairs] }, fit)
    },
    fit: (given) => {
      const value = plain(given ?? {})
      const fit = fitted(value, json, options)
      return fit.ok || !isLibrarys(fit) ? validated(fit) : validated({ ok: true, ...coerce(value, json, options) }, fit)
    },
    read: (text) => {
      const readable = readText(text, options)
      return "ok" in readable ? readable : refusedFor(text, readable, isSecret)
    },
    preview: (text) => preview(text, options)
  }
}

export const Arguments = { of }

// The value was validated by the schema that has the type, or the type is what the caller claims.
const asTyped = (result: unknown) => result as never

const jsonSchemaOf = (library: StandardSchema): object => {
  // A JSON Schema that zod has made can validate, too, and is meant as it is.
  if ("$schema" in library) return library
  const { jsonSchema, vendor } = library["~standard"]
  try {
    return jsonSchema.input({ target: "draft-2020-12" })
  } catch (cause) {
    const why = `${vendor} cannot write it as a JSON Schema: ${cause instanceof Error ? cause.message : String(cause)}`
    throw new SchemaRefused([{ path: [], keyword: "", why }])
  }
}

const notAnObject = (value: Json): Misfit => ({
  kind: "misfit",
  alternatives: [],
  issues: [{ kind: "type", path: [], expected: "object", actual: show(value) }]
})

const refusalBy = (
  issues: ReadonlyArray<StandardIssue>,
  value: Json,
  schema: JsonSchema,
  options: Options
): Misfit => {
  const isSecret = secretsOf(schema, options)
  const { issues: limit } = limitsOf(options)
  // A library that refuses a value without a reason refuses it all the same.
  const told: ReadonlyArray<StandardIssue> = issues.length === 0 ? [{ message: notValid }] : issues
  return {
    kind: "misfit",
    alternatives: [],
    issues: told.slice(0, limit).map(({ message, path: written = [] }) => {
      const keys = written.map((part) => {
        const key = typeof part === "object" ? part.key : part
        return typeof key === "number" ? key : String(key)
      })
      const path = leadingPart(keys, value, schema)
      const received = asValue(partAt(value, path))
      const isTold = !mayHoldSecrets(schema, options) || mayTell(message, path, value, isSecret)
      const expected = isTold ? oneLine(cut(message, 300)) : notValid
      return { kind: "validator", path, expected, actual: (isSecret(path) ? kindOf : show)(received) }
    })
  }
}
