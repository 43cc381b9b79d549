/*
 * The typed answer of a run: a call of the tool `final_answer`, whose arguments are the answer.
 *
 * So an answer is read, repaired and validated as any arguments are, and its check can refuse it, ask the user or stop the
 * run, as a handler can. An answer that the model writes as a text takes the same way: it becomes such a call (`writtenAnswer`).
 */
import { masked, maskedText } from "@fallible/arguments"
import { hasSecrets, mask, referred } from "@fallible/arguments/internal"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { Reply } from "../../Model.ts"
import * as Parameters from "../../Parameters.ts"
import * as Tool from "../../Tool.ts"
import type { ToolCall } from "../../ToolCall.ts"
import {
  isToolFailure,
  type SchemaMismatch,
  type SemanticGarbage,
  type ToolFailure,
  type ToolUnavailable
} from "../../ToolFailure.ts"
import type { ToolOutcome } from "../../ToolOutcome.ts"
import { fittedJson } from "../arguments/argumentIdentity.ts"
import { decodeText, type Undecoded } from "../arguments/decoding.ts"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import { schemaOf, whyUnusable } from "../arguments/jsonSchema.ts"
import { runAnswer } from "../call/runUserCode.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import { argumentSchema } from "../tool/definition.ts"
import { exemptFromLimits } from "../tool/exemptFromLimits.ts"
import { kind, oneLine } from "../value/text.ts"
import { attempt } from "../value/untrusted.ts"

/** The name of the tool with which a model gives its answer. */
export const finalAnswerName = "final_answer"

/** The id of the call that stands for a text. Some servers give a real call its name as id. */
export const writtenId = "answer_as_text"

/** How often the model is asked for a better answer. */
export const maxCorrections = 2

/** Looks at an answer: succeeds with `undefined` if the answer is good, and with a failure, or fails, if it is not. */
export type Check<in A, out R> = (value: A) => Effect.Effect<SemanticGarbage | void, Objection, R> | undefined

/** The failures of a check. */
export type Objection = SchemaMismatch | SemanticGarbage | ToolUnavailable

/** What an agent needs for its typed answers. */
export interface Output {
  readonly tool: Tool.Any
  /** The only key of the arguments, if the answer itself is not an object. */
  readonly field: string | undefined
  /** True if the answer is a string, whatever it looks like. */
  readonly isText: boolean
  /** True if the answer may have a secret. */
  readonly isSecret: boolean
}

/** Makes what an agent needs for its typed answers. Throws a `TypeError` if the schema cannot be used. */
export const outputOf = <A, R>(output: Parameters.Parameters<A>, check: Check<A, R> | undefined): Output => {
  const own = asDecoder<A>(argumentSchema("The output of an agent", output))
  const schema = schemaOf(own)
  // A schema with a name is only a reference to its definition.
  const field = whyUnusable(referred(schema, schema)) === undefined ? undefined : "answer"
  const parameters = field === undefined ? own : Parameters.inField(field, own)
  const tool = Tool.make(finalAnswerName, {
    description: "Gives the final answer. Call it once, alone, when you have the answer.",
    parameters,
    success: Schema.Null,
    sideEffect: "none"
  }, (value: A) => Effect.as(Effect.andThen(checked(value, check), keep(value)), null))
  return {
    tool: exemptFromLimits(tool),
    field,
    isText: isString(tool, field),
    isSecret: hasSecrets(schemaOf(parameters))
  }
}

const isString = ({ parameters }: Tool.Any, field: string | undefined): boolean => {
  if (field === undefined) return false
  const schema = schemaOf(parameters)
  const { properties } = referred(schema, schema)
  const answer = Predicate.hasProperty(properties, field) ? properties[field] : undefined
  return Predicate.isObject(answer) && referred(answer, schema)["type"] === "string"
}

const asDecoder = <A>(schema: Schema.Constraint) => schema as Schema.ConstraintDecoder<A>

const checked = <A, R>(value: A, check: Check<A, R> | undefined): Effect.Effect<void, Objection, R> => {
  const verdict = check?.(value)
  return verdict === undefined
    ? Effect.void
    : Effect.flatMap(
      runAnswer(label, verdict),
      (found) => found === undefined ? Effect.void : isToolFailure(found) ? Effect.fail(found) : Effect.die(odd(found))
    )
}

const label = "The check of an agent's answer"

const odd = (found: unknown) =>
  new TypeError(
    `${label} succeeded with ${
      kind(found)
    }: succeed with undefined if the answer is good, and with a failure if it is not.`
  )

// -----------------------------------------------------------------------------
// The value
// -----------------------------------------------------------------------------

/** The value of the answer, once its check has passed. Absent in a replay, which runs no check. */
export interface Given {
  value: { readonly of: unknown } | undefined
}

const current = Context.Reference<Given | undefined>("@fallible/core/finalAnswer", { defaultValue: () => undefined })

const keep = (value: unknown): Effect.Effect<void> =>
  Effect.map(current, (given) => {
    if (given !== undefined) given.value = { of: value }
  })

/** Runs calls, and returns their outcomes with the value of the answer, if a call gives it. */
export const giving = <A extends object, E, R>(
  calls: Effect.Effect<A, E, R>
): Effect.Effect<A & { readonly given: Given }, E, R> =>
  Effect.suspend(() => {
    // Its own for each group of calls: a check that was given up may still end.
    const given: Given = { value: undefined }
    return Effect.map(Effect.provideService(calls, current, given), (called) => ({ ...called, given }))
  })

/** Of calls that did not run here. */
export const notGiven: Given = { value: undefined }

/** Returns the value of an answer that was taken. A replay decodes it again, and its validator may have become broken. */
export const valueOf = (
  { tool }: Output,
  { arguments: text }: ToolCall,
  given: Given
): Effect.Effect<unknown, { readonly failure: ToolFailure }> =>
  given.value === undefined
    ? Effect.catchDefect(Effect.map(decodeText(text, tool), ({ params }) => params), (cause) =>
      Effect.andThen(
        reportDefect("The answer of a run could not be decoded again", Cause.die(cause)),
        Effect.fail({ failure: DispatchFailure.defect({ tool: finalAnswerName, outcome: "not_executed", cause }) })
      ))
    : Effect.succeed(given.value.of)

/** Decodes an answer that was kept as {@link textOf} returns it. */
export const valueIn = ({ field, isText, tool }: Output, text: string): Effect.Effect<unknown, Undecoded> => {
  const args = field === undefined ? text : isText ? inField(field, JSON.stringify(text)) : inField(field, text)
  return Effect.map(decodeText(args, tool), ({ params }) => params)
}

/** Returns the answer as text: as JSON, or as it is if the output is a string. */
export const textOf = ({ field, isText, tool }: Output, { arguments: text }: ToolCall): string => {
  const json = fittedJson(tool, text)
  const answer = field !== undefined && Predicate.hasProperty(json, field) ? json[field] : json
  return isText && Predicate.isString(answer) ? answer : JSON.stringify(answer)
}

/** Returns the answer of a call as it may be shown; `undefined` if its output has no secrets. */
export const shownAnswer = ({ field, isSecret, tool }: Output, args: string | undefined): string | undefined => {
  if (!isSecret) return undefined
  const json = maskedText(args ?? "", schemaOf(tool.parameters))
  const masked = attempt((): unknown => JSON.parse(json)) ?? mask
  const answer = field !== undefined && Predicate.hasProperty(masked, field) ? masked[field] : masked
  return Predicate.isString(answer) ? answer : JSON.stringify(answer)
}

/** Returns the part of an answer that is written so far, without its secrets. */
export const shownPart = ({ field, isSecret, tool }: Output, soFar: Schema.Json): Schema.Json | undefined => {
  const shown = isSecret ? masked(soFar, schemaOf(tool.parameters), false) : soFar
  return field === undefined ? shown : Predicate.hasProperty(shown, field) ? shown[field] : undefined
}

/** Returns the arguments that have an answer in their only field. */
export const inField = (field: string, json: string): string => `{${JSON.stringify(field)}:${json}}`

// -----------------------------------------------------------------------------
// Calls
// -----------------------------------------------------------------------------

/** Returns the call that gives the answer, and its outcome; `undefined` if a reply has none. */
export const answerIn = (
  { calls }: Reply,
  outcomes: ReadonlyArray<ToolOutcome>
): { readonly call: ToolCall; readonly outcome: ToolOutcome } | undefined => {
  const index = calls.findIndex(({ name }) => name === finalAnswerName)
  const [call, outcome] = [calls[index], outcomes[index]]
  return call === undefined || outcome === undefined ? undefined : { call, outcome }
}

/** Returns what is wrong with an answer, on one line. What reads it speaks of the arguments of a call. */
export const faultOf = ({ detail }: ToolFailure): string =>
  oneLine(detail).replace(/^The arguments /, "The fields of the answer ")

/** True if all calls of a reply give answers. */
export const isAnswer = (calls: ReadonlyArray<ToolCall>): boolean =>
  calls.length > 0 && calls.every(({ name }) => name === finalAnswerName)

/** Returns the call that stands for the text of a reply; `undefined` if the model made the calls itself. */
export const writtenIn = ({ calls: [call] }: Reply): ToolCall | undefined =>
  call?.name === finalAnswerName && call.id === writtenId ? call : undefined

/** Returns why an answer is not taken if it comes together with other calls. */
export const refusalBeside = (calls: ReadonlyArray<ToolCall>): DispatchFailure.DispatchFailure | undefined =>
  calls.length === 1
    ? undefined
    : isAnswer(calls)
    ? DispatchFailure.answeredTwice(finalAnswerName)
    : DispatchFailure.answeredTooEarly(finalAnswerName)

/** Returns a reply that gives its answer once, if it gives only this answer. */
export const withOneAnswer = (reply: Reply): Reply => {
  const { calls } = reply
  const [first] = calls
  return calls.length > 1 && isAnswer(calls) && calls.every((call) => call.arguments === first?.arguments)
    ? { ...reply, calls: calls.slice(0, 1) }
    : reply
}
