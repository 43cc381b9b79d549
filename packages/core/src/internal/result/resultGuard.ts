import { type JsonSchema as AnyJsonSchema, masked } from "@fallible/arguments"
import { coerce, declaredParts, fits, hasSecrets, partAt } from "@fallible/arguments/internal"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { identity, memoize } from "effect/Function"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import type { FieldIssue } from "../../ToolFailure.ts"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import { holds, isSecret } from "../arguments/encodedSide.ts"
import { foreignOf } from "../arguments/foreignSchema.ts"
import { isExit, runContained } from "../fiber/runContained.ts"
import { isJsonObject, type PlainJson, plainJson } from "../value/plainJson.ts"
import { attempt } from "../value/untrusted.ts"
import { resultIssues } from "./resultIssues.ts"
import { lineOf, logMismatch } from "./resultMismatchLog.ts"
import { hasTransformation, ResultParts } from "./resultParts.ts"
import { resultSchemaOf } from "./resultSchema.ts"
import { isCutOff } from "./resultText.ts"

/**
 * What happens to a result that does not match its schema: it is coerced, and what still does not match is shown with what
 * is wrong; or it is refused.
 *
 * @category models
 * @since 0.1.0
 */
export type OnMismatch = "show" | "refuse"

/** A result as the model reads it. */
export interface Guarded extends PlainJson {
  /** True if the handler returned a value of the schema's type. Any other value proves nothing. */
  readonly isEncoded: boolean
}

interface Guardian {
  readonly name: string
  readonly success: Schema.ConstraintCodec<unknown, unknown>
  readonly onMismatch?: OnMismatch | undefined
}

/**
 * Writes a handler's answer as JSON, with a mask in place of each secret.
 *
 *     answer ─ encode ─ fits? ─────────────────────────────────────────────── JSON
 *                         └ no ─ encode its parts ─ fits? ─────────────────── JSON
 *                                                    └ no ─ coerce ─ fits? ── JSON with notes
 *                                                                     └ no ── the same, or a `SchemaMismatch`
 *
 * @param then what happens with the result: given, since each call takes this step
 */
export const guard = <A, E>(
  tool: Guardian,
  value: unknown,
  then: (result: Guarded) => Effect.Effect<A, E>
): Effect.Effect<A, E | DispatchFailure.Mismatch> => {
  const { encode, mask } = codecOf(tool.success)
  const written = encode(value)
  // Nearly all results are encoded at once, and fit.
  return isExit(written) && Exit.isSuccess(written)
    ? then(encodedAs(written.value, mask))
    : Effect.flatMap(guardOther(tool, value, written), then)
}

const guardOther = (
  tool: Guardian,
  value: unknown,
  written: Effect.Effect<unknown, SchemaIssue.Issue>
): Effect.Effect<Guarded, DispatchFailure.Mismatch> =>
  Effect.matchCauseEffect(written, {
    onSuccess: (encoded) => Effect.succeed(encodedAs(encoded, codecOf(tool.success).mask)),
    onFailure: (cause) => {
      if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
      const [reason] = cause.reasons
      if (reason !== undefined && Cause.isFailReason(reason)) return guardParts(tool, value, reason.error)
      // Reading a value may throw, but an author's own transformation must not. A library that never ends is not asked again.
      return hasTransformation(tool.success.ast) || foreignOf(tool.success) !== undefined
        ? Effect.failCause(died(cause))
        : guardParts(tool, value)
    }
  })

const died = ({ reasons }: Cause.Cause<unknown>): Cause.Cause<never> =>
  Cause.fromReasons(reasons.filter(Cause.isDieReason))

const encodedAs = (encoded: unknown, mask: Mask): Guarded => {
  const { json, notes } = plainJson(encoded)
  return { json: mask(json), notes, isEncoded: true }
}

const guardParts = (
  tool: Guardian,
  value: unknown,
  issue?: SchemaIssue.Issue
): Effect.Effect<Guarded, DispatchFailure.Mismatch> => {
  const parts = new ResultParts()
  const json = parts.write(tool.success.ast, value) ?? null
  if (parts.isUnwritten && issue !== undefined) return refused(tool, resultIssues(issue, value), value, issue)
  const { decode, mask } = codecOf(tool.success)
  return Effect.matchEffect(decode(json), {
    onSuccess: () => Effect.succeed({ json: mask(json), notes: parts.notes, isEncoded: false }),
    onFailure: (issue) =>
      tool.onMismatch === "refuse" ? mismatched(tool, json, issue, parts) : read(tool, json, issue, parts)
  })
}

// Services write a number as text, or null for an absent field. Such a result is read like a model's arguments.
const read = (
  tool: Guardian,
  json: Schema.Json,
  issue: SchemaIssue.Issue,
  parts: ResultParts
): Effect.Effect<Guarded, DispatchFailure.Mismatch> => {
  const schema = resultSchemaOf(tool.success)
  const wrong = visible(resultIssues(issue, json), parts)
  // A single item may stand without its list. What does not fit as a list, either, is something else.
  const listed = wrong.reduce(asList, json)
  const asCoerced = (json: Schema.Json) => schema === undefined ? json : attempt(() => coerced(json, schema)) ?? json
  const value = listed !== json && schema !== undefined && fits(asCoerced(listed), schema)
    ? asCoerced(listed)
    : asCoerced(json)
  if (value === json) return mismatched(tool, json, issue, parts)
  const { decode, mask } = codecOf(tool.success)
  const notesOn = (issues: ReadonlyArray<FieldIssue>) => [
    ...parts.notes,
    ...issues.map((issue) =>
      `${lineOf(issue, json)}; ${partAt(value, issue.path) === undefined ? "left out" : "converted"}`
    )
  ]
  return Effect.matchEffect(decode(value), {
    onSuccess: () => Effect.succeed({ json: mask(value), notes: notesOn(wrong), isEncoded: false }),
    onFailure: (left) => {
      const stillWrong = pathsOf(resultIssues(left, value))
      const notes = notesOn(wrong.filter(({ path }) => !stillWrong.has(path.join())))
      return mismatched(tool, value, left, { notes, opaque: parts.opaque })
    }
  })
}

const asList = (json: Schema.Json, { expected, path }: FieldIssue): Schema.Json =>
  expected.startsWith("array") ? listedAt(json, path) : json

const listedAt = (json: Schema.Json, [key, ...rest]: FieldIssue["path"]): Schema.Json => {
  if (key === undefined) return isJsonObject(json) ? [json] : json
  if (isJsonObject(json)) return { ...json, [key]: listedAt(json[key] ?? null, rest) }
  return isList(json) ? json.map((item, index) => index === key ? listedAt(item, rest) : item) : json
}

const isList = (json: Schema.Json): json is Schema.JsonArray => Array.isArray(json)

const pathsOf = (issues: ReadonlyArray<FieldIssue>): ReadonlySet<string> =>
  new Set(issues.map(({ path }) => path.join()))

// A handler's number is what it is, and has no other source. But a whole number beyond the safe range has lost digits, and its
// text would hide that.
const coerced = (json: Schema.Json, schema: AnyJsonSchema): Schema.Json =>
  coerce(json, schema, {
    numberAt: (path) => {
      const part = partAt(json, path)
      return typeof part === "number" && (!Number.isInteger(part) || Number.isSafeInteger(part))
        ? String(part)
        : undefined
    }
  }).value

// A type without a JSON form cannot be read back.
const visible = (
  issues: ReadonlyArray<FieldIssue>,
  { opaque }: Pick<ResultParts, "opaque">
): ReadonlyArray<FieldIssue> =>
  issues.filter(({ path }) => !opaque.some((of) => of.every((key, at) => path[at] === key)))

type Mask = (json: Schema.Json) => Schema.Json

type Run = (value: unknown) => Effect.Effect<unknown, SchemaIssue.Issue>

const codecOf = memoize((success: Schema.ConstraintCodec<unknown, unknown>) => {
  const codec = Schema.toCodecJson(success)
  const contained = (run: Run): Run => (value) => {
    try {
      // The parser reads a value at once, which may throw, and needs no fiber then.
      return runContained(run(value))
    } catch (defect) {
      return Effect.die(defect)
    }
  }
  return {
    encode: contained(SchemaParser.encodeUnknownEffect(codec, { errors: "all" })),
    decode: contained(SchemaParser.decodeUnknownEffect(codec, { errors: "all" })),
    /** Masks the secrets of a result that fits. Most results have none. */
    mask: holds(success.ast, isSecret) || hasSecrets(foreignOf(success)?.jsonSchema ?? {})
      // If nothing says where the secrets are, the whole result is one.
      ? ((json) => masked(json, resultSchemaOf(success) ?? { writeOnly: true }, true)) satisfies Mask
      : identity
  }
})

/** Decodes a result that is given as JSON. One that does not fit stays as it is, and is judged like any other ({@link guard}). */
export const readResult = <A>(success: Schema.ConstraintCodec<A, unknown>, json: Schema.Json): Effect.Effect<A> =>
  Effect.map(Effect.catch(codecOf(success).decode(json), () => Effect.succeed(json)), asTyped<A>)

// A handler's value may have another type than the one that it declares.
const asTyped = <A>(value: unknown) => value as A

const mismatched = (
  tool: Guardian,
  json: Schema.Json,
  issue: SchemaIssue.Issue,
  { notes, opaque }: Pick<ResultParts, "notes" | "opaque">
): Effect.Effect<Guarded, DispatchFailure.Mismatch> => {
  const issues = visible(resultIssues(issue, json), { opaque })
  const { mask } = codecOf(tool.success)
  if (issues.length === 0) {
    return Effect.succeed({ json: mask(json), notes, isEncoded: false })
  }
  const schema = resultSchemaOf(tool.success)
  const shown = schema === undefined || tool.onMismatch === "refuse" ? undefined : shownParts(json, schema, issues)
  if (shown === undefined) return refused(tool, issues, json, issue)
  const lines = issues.map((issue) => lineOf(issue, json))
  return Effect.as(logMismatch(tool.name, lines), {
    json: shown,
    notes: [...notes, ...(json === null ? [nothing] : lines.map((line) => `${line}; shown as received`))],
    isEncoded: false
  })
}

// Many tools that delete or send return nothing, whatever they declare.
const nothing = "The tool ended without an error, and returned nothing"

// Logs the mismatch, too: the model cannot fix it, but the tool's author can.
const refused = (
  { name }: Guardian,
  issues: ReadonlyArray<FieldIssue>,
  value: unknown,
  cause: SchemaIssue.Issue
): Effect.Effect<never, DispatchFailure.Mismatch> => {
  const lines = issues.map((issue) => lineOf(issue, value))
  return Effect.andThen(
    logMismatch(name, lines),
    Effect.fail(DispatchFailure.invalidResult({ tool: name, issues, line: lines[0], cause }))
  )
}

/**
 * Returns what may be shown of a result, or `undefined` if it is an answer to another question: nothing that is declared is
 * there, or it is a page of markup or the beginning of JSON.
 */
const shownParts = (
  json: Schema.Json,
  schema: AnyJsonSchema,
  issues: ReadonlyArray<FieldIssue>
): Schema.Json | undefined => {
  const shown = declaredParts(json, schema)
  if (typeof shown === "string") return /^\s*</.test(shown) || isCutOff(shown) ? undefined : shown
  if (json === null || typeof shown !== "object" || shown === null) return shown
  // An object without fields is wrong if it should be something else, or lacks a field.
  const wrong = new Set(issues.flatMap(({ path }) => [placeOf(path), placeOf(path.slice(0, -1))]))
  return Object.keys(shown).length > 0 && holdsAny(shown, wrong, []) ? shown : undefined
}

/** False if nothing is in a value but objects whose fields were all left out, because none is declared. */
const holdsAny = (value: Schema.Json, wrong: ReadonlySet<string>, path: FieldIssue["path"]): boolean => {
  if (isList(value)) return value.length === 0 || value.some((item, index) => holdsAny(item, wrong, [...path, index]))
  if (!isJsonObject(value)) return true
  const fields = Object.entries(value)
  return fields.length === 0
    ? !wrong.has(placeOf(path))
    : fields.some(([key, field]) => holdsAny(field, wrong, [...path, key]))
}

// Issues of items that are alike are one issue, of the first of them.
const placeOf = (path: FieldIssue["path"]): string => path.map((key) => typeof key === "number" ? "*" : key).join()
