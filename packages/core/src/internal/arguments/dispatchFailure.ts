/*
 * The failures that dispatch adds to a tool's own, and their sentences. `Dispatch` has the table of their codes. They are
 * instances of the same classes as a tool's failures, so models, reports and programs read one shape.
 */
import type { Certainty } from "../../Certainty.ts"
import * as Suggestion from "../../Suggestion.ts"
import {
  type FieldIssue,
  SchemaMismatch,
  SemanticGarbage,
  type TextFault,
  type ToolFailure,
  ToolUnavailable
} from "../../ToolFailure.ts"
import { cut, list, oneLine } from "../value/text.ts"

/**
 * Any failure that dispatch can add. Its `code` is one of the literal codes in the table of `Dispatch`.
 */
export type DispatchFailure = Mismatch | Unavailable | Repeated

/**
 * The failure of a call or a result that breaks a contract.
 */
export type Mismatch = SchemaMismatch & {
  readonly code: "unknown_tool" | "invalid_json" | "invalid_arguments" | "no_identity" | "invalid_result"
}

/**
 * The failure of a call whose handler had a defect, or was never reached.
 */
export type Unavailable = ToolUnavailable & {
  readonly code:
    | "defect"
    | "not_run"
    | "interrupted"
    | "halted"
    | "disabled"
    | "call_limit"
    | "repeated_call"
    | "already_done"
    | "in_doubt"
    | "loop_detected"
    | "not_approved"
}

/**
 * The failure of a call that must not be tried again unchanged, because it has failed too often or was refused.
 */
export type Repeated = SemanticGarbage & { readonly code: "repeated_call" }

/**
 * Creates the failure for a call to an unknown tool. Its `alternatives` are the valid names, nearest first.
 */
export const unknownTool = (name: string, names: ReadonlyArray<string>) => {
  const alternatives = Suggestion.nearest(name, names)
  const suggestion = Suggestion.didYouMean(name, names)
  return mismatch({
    side: "arguments",
    code: "unknown_tool",
    detail: name === ""
      ? "The call does not name a tool."
      : `There is no tool named '${cut(oneLine(name), 80)}'.${
        suggestion === undefined ? "" : ` Did you mean '${suggestion}'?`
      }`,
    hint: alternatives.length === 0
      ? "No tools are offered: answer without one."
      : `Call one of: ${list(alternatives)}.`,
    alternatives
  })
}

/**
 * Creates the failure for argument text that is not a JSON object.
 */
export const invalidJson = (options: {
  readonly detail: string
  /** The change to make before the arguments are sent again. */
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
 * Creates the failure for arguments that do not fit the tool's parameters.
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
 * Creates the failure for a handler's value that does not fit the tool's declared result.
 *
 * Dispatch logs a warning that lists each field that does not fit: its path, what is expected, and the kind of
 * the actual value. The value itself is quoted only if the schema lists the valid choices, and never if it is a
 * secret.
 */
export const invalidResult = (options: {
  readonly tool: string
  readonly issues: ReadonlyArray<FieldIssue>
  /** The first issue, on one line. */
  readonly line: string | undefined
  readonly cause: unknown
}) =>
  mismatch({
    side: "result",
    code: "invalid_result",
    detail: `The result of ${options.tool} does not match its schema${
      options.line === undefined ? "" : `: ${options.line}`
    }.`,
    issues: options.issues,
    cause: options.cause
  })

/**
 * Creates the failure for a handler that threw, died, or interrupted itself. Its `detail` reveals no internals;
 * its `cause` contains them.
 */
export const defect = (options: {
  readonly tool: string
  readonly outcome: Certainty | undefined
  readonly cause: unknown
}) =>
  unavailable({
    code: "defect",
    detail: `The tool ${options.tool} failed with an internal error.`,
    transient: false,
    cause: options.cause,
    ...(options.outcome === undefined ? {} : { outcome: options.outcome })
  })

/**
 * Creates the failure for a call that was not run, because an earlier call of the same turn stopped the run or
 * asked the user.
 */
export const notRun = (tool: string) =>
  unavailable({
    code: "not_run",
    detail: `${cut(oneLine(tool), 80)} was not run: an earlier call of this turn stopped the run or asked the user.`,
    transient: true,
    outcome: "not_executed"
  })

/**
 * Creates the failure for a call that acts, while a call of another request of the same conversation acts.
 */
export const otherRequest = () =>
  unavailable({
    code: "not_run",
    detail: "This call was not run: another request of this conversation is doing something.",
    transient: true,
    outcome: "not_executed"
  })

/**
 * Creates the failure for an answer that came together with other calls.
 */
export const answeredTooEarly = (tool: string) =>
  unavailable({
    code: "not_run",
    detail: "This answer was not taken: it was written before the results of the other calls.",
    hint: `Read their results. Then call ${tool} alone.`,
    transient: true,
    outcome: "not_executed"
  })

/**
 * Creates the failure for an answer that came together with a different one.
 */
export const answeredTwice = (tool: string) =>
  unavailable({
    code: "not_run",
    detail: "This answer was not taken: the reply gives several answers, which differ.",
    hint: `Decide on one of them. Then call ${tool} once.`,
    transient: true,
    outcome: "not_executed"
  })

/**
 * Creates the failure for a text that says nothing.
 */
export const answeredNothing = () =>
  invalidJson({
    detail: "The reply has no answer.",
    issue: { path: [], expected: "an answer", actual: "nothing" },
    fault: { kind: "no_object", offset: 0, line: 1, column: 1 }
  })

/**
 * Creates the failure for an answer that was cut off at the maximum number of tokens.
 */
export const answerCutOff = (length: number) =>
  invalidJson({
    detail: "The answer was cut off at the maximum number of tokens of a reply.",
    advice: "Write a shorter answer.",
    issue: { path: [], expected: "a whole answer", actual: "a part of one" },
    fault: { kind: "cut_off", offset: length, line: 1, column: length + 1 }
  })

/**
 * Creates the failure for a call whose run was interrupted.
 */
export const interrupted = (tool: string, outcome?: Certainty) =>
  unavailable({
    code: "interrupted",
    detail: `${cut(oneLine(tool), 80)} was interrupted before it ended.`,
    transient: true,
    ...(outcome === undefined ? {} : { outcome })
  })

/**
 * Creates the failure for a call whose journal has failed before the call had a result.
 */
export const halted = (tool: string, outcome: Certainty | undefined) =>
  unavailable({
    code: "halted",
    detail: `${cut(oneLine(tool), 80)} has no result: the journal of the run failed.`,
    transient: true,
    ...(outcome === undefined ? {} : { outcome })
  })

/**
 * Creates the failure for a call to a disabled tool.
 */
export const disabled = (tool: string, reason: string | undefined) =>
  unavailable({
    code: "disabled",
    detail: `${tool} is disabled${reason === undefined ? "" : `: ${cut(oneLine(reason), 200).replace(/\.$/, "")}`}.`,
    transient: false,
    outcome: "not_executed"
  })

/**
 * Creates the failure for a call that the model makes after the agent's limit on calls is used up.
 */
export const callLimit = (detail: string, hint: string) =>
  unavailable({ code: "call_limit", detail, hint, transient: false, outcome: "not_executed" })

/**
 * Creates the failure for a call whose arguments do not identify the intended effect: the tool's `identity`
 * function returns only empty values for them.
 */
export const noIdentity = (tool: string) =>
  mismatch({
    side: "arguments",
    code: "no_identity",
    detail: `This call was not run: its arguments do not say what ${tool} should act on.`,
    hint: "Call it again with the identifying arguments."
  })

/**
 * Creates the failure for a call that must not be repeated: the same call has already failed too often in this
 * run, was refused, or may have taken effect.
 */
export const repeatedCall = (earlier: {
  readonly executions: number
  readonly code: string
  readonly detail: string
  readonly hint?: string
  readonly tag: ToolFailure["_tag"]
  /** Whether any of the earlier executions took effect. */
  readonly certainty: Certainty
  /** True if the earlier call had different arguments with the same identity. */
  readonly isChanged?: boolean
}): Unavailable | Repeated => {
  const times = earlier.executions <= 1 ? "" : ` ${earlier.executions} times, the last time`
  const same = earlier.isChanged === true ? "a call with the same purpose" : "the same call"
  const fields = {
    code: "repeated_call",
    detail: `This call was not run: ${same} has already ${
      earlier.certainty === "executed" ? "taken effect, and " : ""
    }failed${times} with ${cut(oneLine(earlier.code), 60)}: ${cut(oneLine(earlier.detail), 300)}`,
    ...(earlier.hint === undefined ? {} : { hint: earlier.hint })
  } as const
  // This call does nothing, but the earlier call may have had the intended effect.
  const outcome = earlier.certainty
  // Other arguments may still succeed.
  return outcome !== "not_executed" || earlier.tag === "ToolUnavailable"
    ? unavailable({ ...fields, transient: false, scope: "arguments", outcome })
    : new SemanticGarbage(fields) as Repeated
}

/**
 * Creates the failure for a call that has already succeeded and must not be repeated.
 *
 * @param answer the answer of the earlier call, as JSON
 * @param denied present if a person was asked whether to do it again, and denied it: why
 */
export const alreadyDone = (answer: string | undefined, denied?: { readonly reason?: string | undefined }) =>
  unavailable({
    code: "already_done",
    detail: `This call was not run: it has already been done${
      answer === undefined ? "" : `: ${cut(oneLine(answer), 300)}`
    }${answer !== undefined && denied === undefined ? "" : "."}${
      denied === undefined ? "" : ` A person was asked, and does not want it again.${becauseOf(denied.reason)}`
    }`,
    transient: false,
    scope: "arguments",
    outcome: "executed"
  })

/**
 * Creates the failure for a call that was not approved.
 *
 * @param reason the words of whoever denied it
 * @param isAgain true if an equal call was denied before, in the same run
 */
export const notApproved = (reason: string | undefined, isAgain = false) =>
  unavailable({
    code: "not_approved",
    detail: `This call was not run: it was ${isAgain ? "already denied in this run" : "denied"}.${becauseOf(reason)}`,
    transient: false,
    scope: "arguments",
    outcome: "not_executed"
  })

const becauseOf = (reason: string | undefined): string =>
  reason === undefined ? "" : ` The reason: ${cut(oneLine(reason), 300)}`

/**
 * Creates the failure for a call of a tool that is closed: an earlier call of it may have taken effect, and nothing says
 * whether this call is meant to do the same.
 *
 * @param earlier the failure of the earlier call
 * @param hint what settles the doubt
 */
export const inDoubt = (
  tool: string,
  earlier: { readonly code: string; readonly detail: string },
  hint?: string
) =>
  unavailable({
    code: "in_doubt",
    detail: `This call was not run: an earlier call of ${
      cut(oneLine(tool), 80)
    } may have taken effect, and this one might do it again. That call failed with ${cut(oneLine(earlier.code), 60)}: ${
      cut(oneLine(earlier.detail), 300)
    }`,
    transient: false,
    outcome: "unknown",
    ...(hint === undefined ? {} : { hint })
  })

/**
 * Creates the failure for a call of a tool that was closed until its user said that the earlier call has taken effect. The
 * model has not read that yet, and may mean the same.
 */
export const doneMeanwhile = (tool: string) =>
  unavailable({
    code: "in_doubt",
    detail: `This call was not run: by the user's word, the earlier call of ${
      cut(oneLine(tool), 80)
    } has taken effect, and this one might do it again.`,
    transient: true,
    outcome: "not_executed"
  })

/**
 * Creates the failure for a call that a stuck run repeats. The call was not run, because it would add nothing. The
 * failure does not contain the earlier result: the model has it, as its rendering shows it.
 */
export const loopDetected = () =>
  unavailable({
    code: "loop_detected",
    detail: "This call was not run: you already have its result, and it did not change.",
    transient: false,
    scope: "arguments",
    outcome: "not_executed"
  })

/**
 * Creates the failure for a call of a tool that was withdrawn from a stuck run.
 */
export const withdrawn = (tool: string) =>
  unavailable({
    code: "loop_detected",
    detail: `This call was not run: ${cut(oneLine(tool), 80)} is withdrawn, because its calls added nothing new.`,
    hint: "Answer with what you know.",
    transient: false,
    outcome: "not_executed"
  })

// The field types of the constructors widen a code to `string`. These two functions keep its literal type.
const mismatch = <const Code extends string>(
  fields: ConstructorParameters<typeof SchemaMismatch>[0] & { readonly code: Code }
) => new SchemaMismatch(fields) as SchemaMismatch & { readonly code: Code }

const unavailable = <const Code extends string>(
  fields: ConstructorParameters<typeof ToolUnavailable>[0] & { readonly code: Code }
) => new ToolUnavailable(fields) as ToolUnavailable & { readonly code: Code }
