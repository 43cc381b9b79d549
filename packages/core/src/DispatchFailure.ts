/**
 * What only dispatch can add to a tool's own failures.
 *
 * They are made of the same four classes, so that a model, a ledger and a program read one
 * shape; but the type keeps them apart: a tool's `E` never holds one, and `tool.run` never
 * fails with one. A program that matches on everything matches on their union.
 *
 * | code                    | class             | made when                                              |
 * | ----------------------- | ----------------- | ------------------------------------------------------ |
 * | `unknown_tool`          | `SchemaMismatch`  | no tool of the toolkit has the name that was called    |
 * | `invalid_json`          | `SchemaMismatch`  | the argument text is no JSON object                    |
 * | `invalid_arguments`     | `SchemaMismatch`  | the arguments do not fit the tool's parameters         |
 * | `invalid_result`        | `SchemaMismatch`  | the handler's value does not fit the tool's own result |
 * | `defect`                | `ToolUnavailable` | the handler threw, died, or interrupted itself         |
 * | `not_run`               | `ToolUnavailable` | an earlier call of the turn stopped the run, or asked  |
 * | `disabled`              | `ToolUnavailable` | somebody disabled the tool (`ToolHealth`)              |
 * | `call_limit`            | `ToolUnavailable` | a limit of the agent on calls is used up               |
 * | `no_identity`           | `SchemaMismatch`  | the arguments do not identify what is to be done       |
 * | `repeated_call`         | `SemanticGarbage` | the same call has failed too often in this run         |
 * | `repeated_call`         | `ToolUnavailable` | the same, after `ToolUnavailable`, or if it may have acted |
 * | `already_done`          | `ToolUnavailable` | the same call has succeeded, and is not to be repeated |
 *
 * @since 0.1.0
 */
import type { Certainty } from "./Certainty.ts"
import { cut, list, oneLine } from "./internal/value/text.ts"
import * as Suggestion from "./Suggestion.ts"
import {
  type FieldIssue,
  SchemaMismatch,
  SemanticGarbage,
  type TextFault,
  type ToolFailure,
  ToolUnavailable
} from "./ToolFailure.ts"

/**
 * What only dispatch can add. Its `code` is one of the literal codes in the table above.
 *
 * @category models
 * @since 0.1.0
 */
export type DispatchFailure = Mismatch | Unavailable | Repeated

/**
 * The call, or the result, breaks a contract.
 *
 * @category models
 * @since 0.1.0
 */
export type Mismatch = SchemaMismatch & {
  readonly code: "unknown_tool" | "invalid_json" | "invalid_arguments" | "no_identity" | "invalid_result"
}

/**
 * The handler is at fault, or was not reached.
 *
 * @category models
 * @since 0.1.0
 */
export type Unavailable = ToolUnavailable & {
  readonly code: "defect" | "not_run" | "disabled" | "call_limit" | "repeated_call" | "already_done"
}

/**
 * The call has failed too often to be tried again as it is.
 *
 * @category models
 * @since 0.1.0
 */
export type Repeated = SemanticGarbage & { readonly code: "repeated_call" }

/**
 * The model called a tool that does not exist: the valid names are the alternatives, nearest first.
 *
 * @category constructors
 * @since 0.1.0
 */
export const unknownTool = (name: string, names: ReadonlyArray<string>) => {
  const alternatives = Suggestion.nearest(name, names)
  const meant = Suggestion.didYouMean(name, names)
  return mismatch({
    side: "arguments",
    code: "unknown_tool",
    detail: name === ""
      ? "The call does not name a tool."
      : `There is no tool named '${cut(oneLine(name), 80)}'.${meant === undefined ? "" : ` Did you mean '${meant}'?`}`,
    hint: alternatives.length === 0
      ? "No tools are offered: answer without one."
      : `Call one of: ${list(alternatives)}.`,
    alternatives
  })
}

/**
 * The argument text is no JSON object.
 *
 * @category constructors
 * @since 0.1.0
 */
export const invalidJson = (options: {
  readonly detail: string
  /** What to do about it, before it is sent again. */
  readonly advice?: string | undefined
  readonly issue: FieldIssue
  readonly fault: TextFault
}) =>
  mismatch({
    side: "arguments",
    code: "invalid_json",
    detail: options.detail,
    hint: `${
      options.advice === undefined ? "" : `${options.advice} `
    }Send the complete arguments again, as one JSON object.`,
    issues: [options.issue],
    fault: options.fault
  })

/**
 * The arguments do not fit the tool's parameters.
 *
 * @category constructors
 * @since 0.1.0
 */
export const invalidArguments = (options: {
  readonly detail: string
  readonly issues: ReadonlyArray<FieldIssue>
  readonly alternatives: ReadonlyArray<string>
}) =>
  mismatch({
    side: "arguments",
    code: "invalid_arguments",
    detail: options.detail,
    issues: options.issues,
    alternatives: options.alternatives
  })

/**
 * The handler succeeded with a value that its own tool does not declare. A warning is logged with each field that does not fit: its path,
 * what is expected, and what kind of value is there; never the value itself.
 *
 * @category constructors
 * @since 0.1.0
 */
export const invalidResult = (options: {
  readonly tool: string
  /** Default: the result does not have the form that the tool declares. */
  readonly detail?: string
  readonly issues: ReadonlyArray<FieldIssue>
  readonly cause: unknown
}) =>
  mismatch({
    side: "result",
    code: "invalid_result",
    detail: options.detail ?? `The result of ${options.tool} does not have the form that the tool declares.`,
    issues: options.issues,
    cause: options.cause
  })

/**
 * The handler threw, died, or interrupted itself. The detail says nothing of its insides; the `cause` has all.
 *
 * @category constructors
 * @since 0.1.0
 */
export const defect = (options: {
  readonly tool: string
  readonly outcome: Certainty | undefined
  readonly cause: unknown
}) =>
  unavailable({
    code: "defect",
    detail: `The tool ${options.tool} failed because of a fault of its own.`,
    transient: false,
    cause: options.cause,
    ...(options.outcome === undefined ? {} : { outcome: options.outcome })
  })

/**
 * The call was held back: an earlier one of its turn stopped the run, or asks the user.
 *
 * @category constructors
 * @since 0.1.0
 */
export const notRun = (tool: string) =>
  unavailable({
    code: "not_run",
    detail: `${cut(oneLine(tool), 80)} was not run: an earlier call of this turn stopped the run or asks the user.`,
    transient: true,
    outcome: "not_executed"
  })

/**
 * Somebody has disabled the tool.
 *
 * @category constructors
 * @since 0.1.0
 */
export const disabled = (tool: string, reason: string | undefined) =>
  unavailable({
    code: "disabled",
    detail: `${tool} is disabled${reason === undefined ? "" : `: ${cut(oneLine(reason), 200).replace(/\.$/, "")}`}.`,
    transient: false,
    outcome: "not_executed"
  })

/**
 * A limit of the agent on calls is used up.
 *
 * @category constructors
 * @since 0.1.0
 */
export const callLimit = (detail: string, hint: string) =>
  unavailable({ code: "call_limit", detail, hint, transient: false, outcome: "not_executed" })

/**
 * The arguments do not say what is to be done: the tool's `identity` of them is empty.
 *
 * @category constructors
 * @since 0.1.0
 */
export const noIdentity = (tool: string) =>
  mismatch({
    side: "arguments",
    code: "no_identity",
    detail: `This call was not run: its arguments do not identify what ${tool} is to do.`,
    hint: "Call it again with the arguments that identify it."
  })

/**
 * The same call has failed too often in this run, or may have taken effect.
 *
 * @category constructors
 * @since 0.1.0
 */
export const repeatedCall = (earlier: {
  readonly executions: number
  readonly code: string
  readonly detail: string
  readonly hint?: string
  readonly tag: ToolFailure["_tag"]
  /** Has any of them taken effect? */
  readonly certainty: Certainty
  /** Had it other arguments, with the same identity? */
  readonly isChanged?: boolean
}): Unavailable | Repeated => {
  const times = earlier.executions <= 1 ? "" : ` ${earlier.executions} times, the last time`
  const same = earlier.isChanged === true ? "a call with the same purpose" : "with the same arguments it"
  const fields = {
    code: "repeated_call",
    detail: `This call was not run: ${same} has already ${
      earlier.certainty === "executed" ? "taken effect, and " : ""
    }failed${times} with ${cut(oneLine(earlier.code), 60)}: ${cut(oneLine(earlier.detail), 300)}`,
    ...(earlier.hint === undefined ? {} : { hint: earlier.hint })
  } as const
  // This call does nothing. What is asked for may have been done before.
  const outcome = earlier.certainty
  // Other arguments may still succeed.
  return outcome !== "not_executed" || earlier.tag === "ToolUnavailable"
    ? unavailable({ ...fields, transient: false, scope: "arguments", outcome })
    : new SemanticGarbage(fields) as Repeated
}

/**
 * The same call has succeeded, and its tool is not to do it again.
 *
 * @param answer what it answered, as JSON
 * @category constructors
 * @since 0.1.0
 */
export const alreadyDone = (answer: string | undefined) =>
  unavailable({
    code: "already_done",
    detail: `This call was not run, since it has already been done${
      answer === undefined ? "." : `: ${cut(oneLine(answer), 300)}`
    }`,
    transient: false,
    scope: "arguments",
    outcome: "executed"
  })

// The constructors' field types widen a code to `string`; these two keep the literal that was given.
const mismatch = <const Code extends string>(
  fields: ConstructorParameters<typeof SchemaMismatch>[0] & { readonly code: Code }
) => new SchemaMismatch(fields) as SchemaMismatch & { readonly code: Code }

const unavailable = <const Code extends string>(
  fields: ConstructorParameters<typeof ToolUnavailable>[0] & { readonly code: Code }
) => new ToolUnavailable(fields) as ToolUnavailable & { readonly code: Code }
