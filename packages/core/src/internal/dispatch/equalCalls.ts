/*
 * Equal calls of one turn. The model has seen no result between them, and some providers send a call twice. So the first
 * call runs, and the others share its outcome.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import * as Arguments from "../../Arguments.ts"
import type * as Tool from "../../Tool.ts"
import type * as ToolCall from "../../ToolCall.ts"
import type { Completed, Failed, Repair, ToolOutcome } from "../../ToolOutcome.ts"
import { effectOf } from "../arguments/argumentIdentity.ts"
import { Intended } from "../arguments/callIntent.ts"
import { decodeText } from "../arguments/decoding.ts"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import { isIdempotent } from "../call/isIdempotent.ts"
import { asCall } from "../call/modelCall.ts"
import { canonical } from "../value/canonical.ts"
import { list } from "../value/text.ts"
import { attempt } from "../value/untrusted.ts"

/** A call of the same turn that has ended. */
export interface EarlierCall {
  readonly call: ToolCall.ToolCall
  readonly outcome: Completed | Failed
}

/** Returns the calls of a turn that later calls may join: those that have an answer or a failure of their own. */
export const endedIn = (call: ToolCall.ToolCall, outcome: ToolOutcome): ReadonlyArray<EarlierCall> =>
  outcome._tag === "Suspended" || outcome._tag === "Stopped" ||
    outcome._tag === "Failed" && outcome.failure.code === "not_run"
    ? []
    : [{ call, outcome }]

/** True if equal calls of one turn are joined. An idempotent tool may set a value, set another, and set the first again. */
export const isJoinable = ({ joins, sideEffect }: Tool.Any): boolean => joins !== false && !isIdempotent(sideEffect)

/**
 * Returns the marks of a call before it runs. Two calls without a common mark are not equal: neither their texts nor their
 * intents are the same. Nor have they a part of their identities in common: to rename a to b, and then b to c, keeps its
 * order. Arguments that cannot be read have no intent, and do not run without a fixer.
 */
export const marksOf = (
  tool: Tool.Any | undefined,
  rawCall: ToolCall.ToolCall
): Effect.Effect<ReadonlyArray<string>> => {
  const { arguments: text, name } = asCall(rawCall)
  const written = `${name} ${text}`
  if (tool === undefined) return Effect.succeed([written])
  return Effect.map(Effect.exit(Effect.suspend(() => decodeText(text, tool))), (exit) => {
    if (Exit.isFailure(exit)) return [written]
    const { params } = exit.value
    const id = attempt(() => new Intended(tool, params, text).id)
    return id === undefined ? [written] : [written, id, ...partsOf(tool, params)]
  })
}

const partsOf = (tool: Tool.Any, params: unknown): ReadonlyArray<string> => {
  const identity = attempt((): unknown => JSON.parse(effectOf(tool, params) ?? ""))
  if (!Predicate.isFunction(tool.identity) || typeof identity !== "object" || identity === null) return []
  return Object.values(identity).map((part) => `part ${canonical(part)}`)
}

/** Ends a call that was joined. Its outcome is that of the earlier call. */
export const joinedCall: DispatchFailure.Unavailable = DispatchFailure.notRun("An equal call")

/**
 * Returns the outcome of a joined call: how the earlier call ended, and a note that says so. What the earlier call did,
 * spent and settled is told once, in its own outcome.
 *
 * @param repeats whether the call may be made again once it has succeeded
 */
export const joinedOutcome = (
  { call, outcome }: EarlierCall,
  own: ToolOutcome,
  written: string | undefined,
  repeats: boolean
): ToolOutcome => {
  const note = noteOn(outcome, call.arguments, written, repeats)
  const repairs: ReadonlyArray<Repair> = [...own.repairs ?? [], { kind: "joined", path: [], note }]
  const { certainty, doubt } = outcome
  const account = {
    certainty,
    ...(doubt === undefined ? {} : { doubt }),
    joined: true,
    repairs,
    attempts: 0,
    waited: Duration.zero,
    handled: []
  } as const
  if (outcome._tag === "Failed") {
    const { failure, stage } = outcome
    return { _tag: "Failed", failure, stage, ...account }
  }
  const { caveats, files, source, told, value } = outcome
  return {
    _tag: "Completed",
    value,
    ...(told === undefined ? {} : { told }),
    caveats: [...repairs.flatMap(({ note }) => note ?? []), ...caveats],
    ...(files === undefined ? {} : { files }),
    ...(source === undefined ? {} : { source }),
    ...account
  }
}

const noteOn = (
  { attempts, certainty }: Completed | Failed,
  sent: string | undefined,
  written: string | undefined,
  repeats: boolean
): string => {
  if (attempts === 0) return "This turn has the same call twice: this is the one result of both"
  const fields = differing(sent, written)
  return [
    "This turn has the same call twice, and it ran once: this is its one result",
    ...(fields.length === 0 ? [] : [`The arguments of the first call were sent. Different here: ${list(fields)}`]),
    ...(certainty === "unknown" || !repeats ? [] : ["To do it twice, call it again in the next turn"])
  ].join(". ")
}

// The names of the arguments that differ. They differ if the tool's identity does not contain them.
const differing = (one: string | undefined, other: string | undefined): ReadonlyArray<string> => {
  const [first, second] = [fieldsOf(one), fieldsOf(other)]
  return Array.from(new Set([...Object.keys(first), ...Object.keys(second)])).filter((name) =>
    canonical(first[name]) !== canonical(second[name])
  )
}

const fieldsOf = (text: string | undefined): { readonly [name: string]: unknown } =>
  attempt(() => {
    const parsed = Arguments.parse(text)
    const value: unknown = parsed._tag === "Success" ? parsed.success.value : undefined
    return Predicate.isObject(value) ? value : undefined
  }) ?? {}
