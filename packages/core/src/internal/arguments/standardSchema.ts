/*
 * Schemas of other libraries, by the Standard Schema interface (https://standardschema.dev): what they say about a value, and
 * the JSON Schemas that they write.
 *
 * A library runs its user's code. So it may throw, never answer, answer with anything, or change the value that it is given.
 * Whatever it does, it ends no more than one call.
 */
import type { JsonSchema as AnyJsonSchema, StandardSchema } from "@fallible/arguments"
import { describesSame, isStandardSchema, quotesSecret } from "@fallible/arguments/internal"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as Deadline from "../../Deadline.ts"
import { IllTyped, noun } from "../call/runUserCode.ts"
import { withinTime } from "../fiber/withinTime.ts"
import { plainJson } from "../value/plainJson.ts"
import { cut, oneLine } from "../value/text.ts"
import { attempt, isA, isPromise } from "../value/untrusted.ts"
import { type Convert, issueFrom } from "./foreignSchema.ts"

/** Returns a value as a schema of another library; `undefined` if it is none, or cannot write its JSON Schema. */
export const standardSchemaIn = (value: unknown): StandardSchema | undefined =>
  // The schemas of ArkType are functions.
  attempt(() => Object(value) === value && isStandardSchema(Object(value)) ? value as StandardSchema : undefined)

/** Returns the library of a schema that is not Effect's; `undefined` if the value names none. */
export const vendorOf = (value: unknown): string | undefined => {
  const vendor = attempt((): unknown =>
    Predicate.hasProperty(value, "~standard") && Predicate.hasProperty(value["~standard"], "vendor")
      ? value["~standard"].vendor
      : undefined
  )
  return Predicate.isString(vendor) ? cut(oneLine(vendor), 40) : undefined
}

// -----------------------------------------------------------------------------
// JSON Schemas
// -----------------------------------------------------------------------------

/** The JSON Schemas of values before and after a validation; for each that cannot be written, the reason. */
export interface Written {
  readonly input: AnyJsonSchema | Error
  readonly output: AnyJsonSchema | Error
  /** The same two, with anything in place of what JSON Schema cannot say. They tell where the secrets are. */
  readonly outlineBefore: AnyJsonSchema | Error
  readonly outline: AnyJsonSchema | Error
}

export const writtenBy = (library: StandardSchema): Written => {
  const write = (side: "input" | "output", how: LibraryOptions): AnyJsonSchema | Error => {
    try {
      const libraryOptions = how[vendorOf(library) ?? ""]
      const written: unknown = library["~standard"].jsonSchema[side]?.({ target: "draft-2020-12", libraryOptions })
      return Predicate.isObject(written) && !isPromise(written) ? written : new IllTyped(`it wrote ${noun(written)}`)
    } catch (error) {
      return isA(Error)(error) ? error : new Error(attempt(() => String(error)) ?? "it threw")
    }
  }
  const [input, output] = [write("input", exactly), write("output", exactly)]
  return {
    input,
    output,
    outlineBefore: input instanceof Error ? write("input", roughly) : input,
    outline: output instanceof Error ? write("output", roughly) : output
  }
}

const notInJson = (): never => {
  throw new Error("JSON has no such value")
}

type LibraryOptions = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** Makes libraries write anything in place of what they cannot write. */
const roughly: LibraryOptions = {
  arktype: { fallback: { default: ({ base }: { readonly base: unknown }) => base } },
  valibot: { errorMode: "ignore" },
  zod: { unrepresentable: "any" }
}

/** Makes libraries write what can be written, and throw for the rest. */
const exactly: LibraryOptions = {
  // It would allow anything for a Date, and then refuse whatever a model writes.
  arktype: { fallback: { date: notInJson, domain: notInJson, proto: notInJson } },
  // It throws for what JSON Schema cannot say. The validation judges that, and changes no text twice.
  valibot: {
    ignoreActions:
      "brand check check_items every_item flavor normalize partial_check raw_check readonly some_item to_lower_case to_upper_case trim trim_end trim_start"
        .split(" ")
  }
}

/**
 * True if what is validated surely may differ from what was written, other than by a default. A change within a type cannot be
 * seen: a library that rounds numbers, or trims texts, writes the same JSON Schema twice.
 */
export const isTransforming = ({ input, output }: Pick<Written, "input" | "output">): boolean => {
  // A type that JSON does not have, such as a Date, is not transformed.
  if (input instanceof Error) return !(output instanceof Error)
  return output instanceof Error || !describesSame(input, output)
}

// -----------------------------------------------------------------------------
// Validation
// -----------------------------------------------------------------------------

const valid = "a valid value"

/** How long an asynchronous validation may take, in milliseconds, if the deadline of its run is not earlier. */
const longest = 30_000

/**
 * Returns the decoder of a library's schema.
 *
 * @param mayQuote whether the library's words may be used if they quote the value; default: they may
 * @param isSecret whether the value may have a secret, which an error that the library throws might quote
 */
export const validatorOf = (library: StandardSchema, { isSecret = false, mayQuote = true } = {}): Convert => {
  const who = `The validation of a ${vendorOf(library) ?? ""} schema`
  const threw = (cause: unknown) => new Error(`${who} threw.`, isSecret ? {} : { cause })
  const wordsFor = (value: unknown) => (message: unknown): string => {
    if (!Predicate.isString(message) || message.trim() === "") return valid
    // A result's issue says what was expected.
    return mayQuote ? message : quotes(message, value) ? valid : `${valid} (${oneLine(message)})`
  }
  const judge = (value: unknown, validation: unknown): Effect.Effect<unknown, SchemaIssue.Issue> => {
    if (!isPromise(validation)) return judged(who, validation, wordsFor(value))
    const ended = Effect.tryPromise({ try: () => asPromise(validation), catch: threw })
    const ending = Effect.flatMap(Effect.orDie(ended), (validation) => judged(who, validation, wordsFor(value)))
    return Effect.withFiber((fiber) => {
      const left = fiber.getRef(Deadline.current) - fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
      const time = Math.max(0, Math.min(longest, left))
      const late = `${who} took longer than ${Duration.format(Duration.millis(time))}.`
      return withinTime(ending, time, { who, late: () => Effect.die(new Error(late)) })
    })
  }
  return (value) => {
    try {
      const validation: unknown = library["~standard"].validate(value)
      // Nearly all values are valid.
      return isValid(validation) ? Effect.succeed(validation.value) : judge(value, validation)
    } catch (error) {
      return Effect.die(threw(error))
    }
  }
}

const isValid = (validation: unknown): validation is { readonly value: unknown } =>
  typeof validation === "object" && validation !== null && "value" in validation &&
  (!("issues" in validation) || validation.issues === undefined || validation.issues === null) &&
  !("then" in validation)

const asPromise = (thenable: unknown) => thenable as Promise<unknown>

// What a library answers may be anything, so each part of it is read with care.
const judged = (
  who: string,
  validation: unknown,
  words: (message: unknown) => string
): Effect.Effect<unknown, SchemaIssue.Issue> =>
  attempt(() => {
    // ArkType answers with a list that has its own field `issues`.
    if (typeof validation !== "object" || validation === null) return undefined
    if (isValid(validation)) return Effect.succeed(validation.value)
    const { issues }: { readonly issues?: unknown } = validation
    return Array.isArray(issues) ? Effect.fail(issueFrom(issues.slice(0, mostIssues).map(issueOf(words)))) : undefined
  }) ?? Effect.die(
    new IllTyped(`${who} returned ${noun(validation)}, which has neither a 'value' nor a list of 'issues'.`)
  )

const mostIssues = 100

/** More than arguments have levels. */
const mostKeys = 200

const issueOf = (words: (message: unknown) => string) => (issue: unknown) => {
  const { message, path }: { readonly message?: unknown; readonly path?: unknown } = Object(issue)
  return {
    path: (Array.isArray(path) ? path.slice(0, mostKeys) : []).map(keyOf),
    annotations: { message: words(message), [ofLibrary]: true }
  }
}

/** True if a text contains a part of the value. */
const quotes = (text: string, value: unknown): boolean =>
  attempt(() => quotesSecret(text, plainJson(value).json, () => true)) ?? true

const keyOf = (segment: unknown): PropertyKey => {
  const key = Predicate.hasProperty(segment, "key") ? segment.key : segment
  return Predicate.isNumber(key) ? key : String(key)
}

/**
 * Marks the words of a library. They stand for what a JSON Schema cannot say. Where it says the same, its own words are the
 * same for all libraries.
 */
export const ofLibrary = "~fallible/ofLibrary"
