/*
 * The typed answer of a run: a call of the tool `final_answer`, whose arguments are the answer.
 *
 * So an answer is read, repaired and validated as any arguments are, and its check can refuse it, ask the user or stop the
 * run, as a handler can. An answer that the model writes as a text takes the same way: it becomes such a call.
 */
import { read } from "@fallible/arguments"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { Reply } from "../../Model.ts"
import * as Parameters from "../../Parameters.ts"
import * as Tool from "../../Tool.ts"
import type { ToolCall } from "../../ToolCall.ts"
import { isToolFailure, type SchemaMismatch, type SemanticGarbage, type ToolUnavailable } from "../../ToolFailure.ts"
import type { ToolOutcome } from "../../ToolOutcome.ts"
import { fittedJson } from "../arguments/argumentIdentity.ts"
import { decodeText, type Undecoded } from "../arguments/decoding.ts"
import { schemaOf, whyUnusable } from "../arguments/jsonSchema.ts"
import { argumentSchema } from "../tool/definition.ts"
import { exemptFromLimits } from "../tool/exemptFromLimits.ts"
import { kind } from "../value/text.ts"

/** The name of the tool with which a model gives its answer. */
export const finalAnswerName = "final_answer"

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
}

/** Makes what an agent needs for its typed answers. Throws a `TypeError` if the schema cannot be used. */
export const outputOf = <A, R>(output: Parameters.Parameters<A>, check: Check<A, R> | undefined): Output => {
  const own = asDecoder<A>(argumentSchema("The output of an agent", output))
  const field = whyUnusable(schemaOf(own)) === undefined ? undefined : "answer"
  const parameters = field === undefined ? own : Parameters.inField(field, own)
  const tool = Tool.make(finalAnswerName, {
    description: "Gives the final answer. Call it once, alone, when you have the answer.",
    parameters,
    success: Schema.Null,
    sideEffect: "none"
  }, (value: A) => Effect.as(Effect.andThen(checked(value, check), keep(value)), null))
  return { tool: exemptFromLimits(tool), field }
}

const asDecoder = <A>(schema: Schema.Constraint) => schema as Schema.ConstraintDecoder<A>

const checked = <A, R>(value: A, check: Check<A, R> | undefined): Effect.Effect<void, Objection, R> =>
  Effect.flatMap(check?.(value) ?? Effect.void, (found) =>
    found === undefined
      ? Effect.void
      : isToolFailure(found)
      ? Effect.fail(found)
      : Effect.die(new TypeError(`The check of an answer succeeded with ${kind(found)}: ${howToAnswer}.`)))

const howToAnswer = "succeed with undefined if the answer is good, and with a failure if it is not"

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

/** Runs calls, one of which may be the answer. */
export const givingTo = <A, E, R>(given: Given, calls: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  given.value = undefined
  return Effect.provideService(calls, current, given)
}

/** Returns the value of an answer that was taken. */
export const valueOf = (
  { tool }: Output,
  { arguments: text }: ToolCall,
  given: Given
): Effect.Effect<unknown, Undecoded> =>
  given.value === undefined
    ? Effect.map(decodeText(text, tool), ({ params }) => params)
    : Effect.succeed(given.value.of)

/** Decodes an answer that was kept as text. */
export const valueIn = (output: Output, text: string): Effect.Effect<unknown, Undecoded> =>
  Effect.map(decodeText(argumentsOf(output, text), output.tool), ({ params }) => params)

/** Returns the answer as text: as JSON, or as it is if it is a string. */
export const textOf = ({ field, tool }: Output, { arguments: text }: ToolCall): string => {
  const json = fittedJson(tool, text)
  const answer = field !== undefined && Predicate.hasProperty(json, field) ? json[field] : json
  return Predicate.isString(answer) ? answer : JSON.stringify(answer)
}

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

/** True if a reply gives its answer together with other calls, or gives several answers. */
export const isTooEarly = (calls: ReadonlyArray<ToolCall>): boolean =>
  calls.length > 1 &&
  calls.some(({ arguments: text, name }) => name !== finalAnswerName || text !== calls[0]?.arguments)

/** Returns a reply that gives its text as the answer, by a call. */
export const answeringReply = (output: Output, reply: Reply): Reply & { readonly calls: readonly [ToolCall] } => ({
  text: "",
  calls: [{ id: finalAnswerName, name: finalAnswerName, arguments: argumentsOf(output, reply.text) }]
})

// An answer that is not an object may be written with its key, or without.
const argumentsOf = ({ field, tool }: Output, text: string): string => {
  if (field === undefined) return text
  if (hasKey(text, field)) return text
  const bare = /^\s*```(?:json)?\s([^]*)```\s*$/.exec(text)?.[1] ?? text
  const inField = `{${JSON.stringify(field)}:${bare}}`
  return takesText(tool, field) && !/^\s*"/.test(bare) || !hasKey(inField, field)
    ? JSON.stringify({ [field]: text })
    : inField
}

const hasKey = (text: string, key: string): boolean => {
  const readable = read(text, { prose: true })
  return readable.ok && Object.hasOwn(readable.value, key)
}

// A text that is an answer may look like a number.
const takesText = ({ parameters }: Tool.Any, field: string): boolean => {
  const { properties } = schemaOf(parameters)
  const answer = Predicate.hasProperty(properties, field) ? properties[field] : undefined
  return Predicate.hasProperty(answer, "type") && answer.type === "string"
}
