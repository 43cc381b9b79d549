import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import { runContained } from "../fiber/runContained.ts"
import { maxDepth, plainJson, type Unfit } from "../value/plainJson.ts"
import { resultIssues } from "./resultIssues.ts"
import { logMismatch } from "./resultMismatchLog.ts"

type Encode = (value: unknown) => Effect.Effect<unknown, SchemaIssue.Issue>

const encoderOf = memoize((success: Schema.ConstraintEncoder<unknown>): Encode => {
  const encode = SchemaParser.encodeUnknownEffect(Schema.toCodecJson(success), { errors: "all" })
  return (value) => runContained(encode(value))
})

/** Encodes a handler's answer as JSON. Fails with a `SchemaMismatch` if the answer does not match the tool's schema. */
export const guard = (
  tool: { readonly name: string; readonly success: Schema.ConstraintCodec<unknown, unknown> },
  value: unknown
) => {
  const { name } = tool
  const guarded = Effect.catchEager(encoderOf(tool.success)(value), (issue) => {
    const issues = resultIssues(issue, value)
    return invalid(DispatchFailure.invalidResult({ tool: name, issues, cause: issue }), name, value)
  })
  return Effect.flatMapEager(guarded, (encoded) => {
    const plain = plainJson(encoded)
    return typeof plain === "string" ? invalid(unfit(name, plain), name, value) : Effect.succeed(plain.json)
  })
}

// Logs the mismatch and fails with it. The model cannot fix a mismatch, but the tool's author can.
const invalid = (failure: DispatchFailure.Mismatch, tool: string, value: unknown) =>
  Effect.andThen(logMismatch(tool, failure.issues, value), Effect.fail(failure))

const unfit = (tool: string, why: Unfit) =>
  DispatchFailure.invalidResult({
    tool,
    detail: why === "too_deep"
      ? `The result of ${tool} is nested in more than ${maxDepth} levels.`
      : `The result of ${tool} cannot be written as JSON.`,
    issues: [{
      path: [],
      expected: why === "too_deep" ? `at most ${maxDepth} levels` : "a JSON value",
      actual: why === "too_deep" ? "more" : "something else"
    }],
    cause: undefined
  })
