import { declaredParts, masked, partAt } from "@fallible/arguments"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import type * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import type { FieldIssue } from "../../ToolFailure.ts"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import { encodedSide, holds, isSecret } from "../arguments/encodedSide.ts"
import { runContained } from "../fiber/runContained.ts"
import { type PlainJson, plainJson } from "../value/plainJson.ts"
import { attempt } from "../value/untrusted.ts"
import { resultIssues } from "./resultIssues.ts"
import { lineOf, logMismatch } from "./resultMismatchLog.ts"

/**
 * What happens to a result that does not match its schema: it is shown with what is wrong, or refused.
 *
 * @category models
 * @since 0.1.0
 */
export type OnMismatch = "show" | "refuse"

/** A result as the model reads it. */
export interface Guarded extends PlainJson {
  /** False if the result does not match its schema, and is shown nevertheless. */
  readonly matches: boolean
}

interface Guardian {
  readonly name: string
  readonly success: Schema.ConstraintCodec<unknown, unknown>
  readonly onMismatch?: OnMismatch | undefined
}

/**
 * Writes a handler's answer as JSON, with a mask in place of each secret.
 *
 *     answer ─ encode ─ fits? ─────────────────────────── JSON
 *                         └ no ─ as JSON ─ decode ─ fits? ─ encode ─ JSON
 *                                                     └ no ─ of the schema's type? ─ JSON
 *                                                                └ no ─ JSON with its issues, or a `SchemaMismatch`
 *
 * The second way is for answers that are written like the JSON of the schema, but are not its values: a string for a
 * date, a field that is `undefined`. Encoded, such an answer has only the fields that are declared.
 */
export const guard = (tool: Guardian, value: unknown): Effect.Effect<Guarded, DispatchFailure.Mismatch> =>
  Effect.matchCauseEffectEager(codecOf(tool.success).encode(value), {
    onSuccess: (encoded) => {
      const { json, notes } = plainJson(encoded)
      return Effect.succeed({ json: codecOf(tool.success).mask(json), notes, matches: true })
    },
    // Reading a value may throw. If an author's own transformation throws, it throws again on the second way.
    onFailure: (cause) => Cause.hasInterruptsOnly(cause) ? Effect.interrupt : guardJson(tool, value)
  })

const guardJson = (tool: Guardian, value: unknown): Effect.Effect<Guarded, DispatchFailure.Mismatch> => {
  const plain = plainJson(value)
  return Effect.matchEffect(codecOf(tool.success).recode(plain.json), {
    onSuccess: (encoded) =>
      Effect.succeed({ json: codecOf(tool.success).mask(plainJson(encoded).json), notes: plain.notes, matches: true }),
    onFailure: (issue): Effect.Effect<Guarded, DispatchFailure.Mismatch> => {
      const { declared, isOfType, mask } = codecOf(tool.success)
      return isOfType(value)
        // Its author declared a type without a JSON form, such as a class.
        ? Effect.succeed({ json: declared(plain.json) ?? mask(plain.json), notes: plain.notes, matches: true })
        : mismatched(tool, plain, issue)
    }
  })
}

type Run = (value: unknown) => Effect.Effect<unknown, SchemaIssue.Issue>

const codecOf = memoize((success: Schema.ConstraintCodec<unknown, unknown>) => {
  const codec = Schema.toCodecJson(success)
  const [decode, encode] = [
    SchemaParser.decodeUnknownEffect(codec, { errors: "all" }),
    SchemaParser.encodeUnknownEffect(codec, { errors: "all" })
  ]
  const contained = (run: Run): Run => (value) => {
    try {
      // The parser reads a value at once, which may throw, and needs no fiber then.
      return runContained(run(value))
    } catch (defect) {
      return Effect.die(defect)
    }
  }
  const jsonSchema = attempt((): JsonSchema.JsonSchema => {
    const { definitions, schema } = Schema.toJsonSchemaDocument(encodedSide(codec))
    return { ...schema, $defs: definitions }
  })
  return {
    encode: contained(encode),
    recode: contained((value) => Effect.flatMapEager(decode(value), encode)),
    isOfType: (value: unknown) => attempt(() => Schema.is(success)(value)) === true,
    /** Masks the secrets of a result that fits. Most results have none. */
    mask: holds(success.ast, isSecret)
      // If nothing says where the secrets are, the whole result is one.
      ? (json: Schema.Json) => masked(json, jsonSchema ?? { writeOnly: true }, true)
      : (json: Schema.Json) => json,
    /** Returns the declared parts of a result. `undefined` if the schema has no JSON Schema. */
    declared: (json: Schema.Json) => jsonSchema === undefined ? undefined : declaredParts(json, jsonSchema)
  }
})

// Logs the mismatch: the model cannot fix it, but the tool's author can.
const mismatched = (tool: Guardian, plain: PlainJson, issue: SchemaIssue.Issue) => {
  const issues = resultIssues(issue, plain.json)
  const lines = issues.map((issue) => lineOf(issue, plain.json))
  const shown = tool.onMismatch === "refuse" || issues.some(isMissing(plain))
    ? undefined
    : codecOf(tool.success).declared(plain.json)
  return Effect.andThen(
    logMismatch(tool.name, lines),
    shown === undefined
      ? Effect.fail(DispatchFailure.invalidResult({ tool: tool.name, issues, line: lines[0], cause: issue }))
      : Effect.succeed({
        json: shown,
        notes: [...plain.notes, ...lines.map((line) => `${line}; shown as received`)],
        matches: false
      })
  )
}

// A result that lacks what it must have, or is of another kind as a whole, is an answer to another question.
const isMissing = ({ json }: PlainJson) => ({ path }: FieldIssue): boolean =>
  path.length === 0 || partAt(json, path) === undefined
