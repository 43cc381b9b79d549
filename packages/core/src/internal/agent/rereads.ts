/*
 * When a tool that only reads is read again, because time may change its answer:
 *
 * | what it said                                          | what happens                                                 |
 * | ----------------------------------------------------- | ------------------------------------------------------------ |
 * | the same twice, and that something is under way       | the next such call waits a moment first (`waitInLoop`)       |
 * | nothing, after the run has changed something          | the same: an index may lag                                   |
 * | it asks to wait for a moment                          | the same                                                     |
 * | that there is no such thing, and this run has made it | it is read again, up to twice; then the model is told to     |
 * | it failed as often as its tool permits                | after half a minute, these failures no longer count          |
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HashMap from "effect/HashMap"
import type * as Schema from "effect/Schema"
import type { CallFacts } from "../../CallFacts.ts"
import type { Observer } from "../../Observer.ts"
import type { SideEffect } from "../../SideEffect.ts"
import type { ToolCall } from "../../ToolCall.ts"
import { ToolUnavailable } from "../../ToolFailure.ts"
import type { Completed, Failed, ToolOutcome } from "../../ToolOutcome.ts"
import { evidenceOf } from "../failure/evidence.ts"
import { durationText } from "../value/durationText.ts"
import { attempt } from "../value/untrusted.ts"
import type { RunTime } from "./elapsedTime.ts"
import { joinOutcomes } from "./joinOutcomes.ts"

/** Something that a run has made, by a call that acted. */
interface Made {
  /** The name of the tool, in words. */
  readonly by: ReadonlyArray<string>
  /** The texts and numbers of its result that its arguments did not have, such as a new id. */
  readonly ids: ReadonlySet<string>
  /** The texts and numbers of its arguments. */
  readonly given: ReadonlySet<string>
  readonly at: number
}

type Called = { readonly name: string; readonly sideEffect: SideEffect }

/** What a run remembers for its next reads. */
export class Rereads {
  // Most runs make nothing, and nothing fails in them.
  #made: ReadonlyArray<Made> = []
  #failed: Map<string, number> | undefined = undefined

  /** True if the run has made anything. */
  get hasMade(): boolean {
    return this.#made.length > 0
  }

  /** Notes how a call has ended. */
  ended({ arguments: text }: ToolCall, { name, sideEffect }: Called, outcome: ToolOutcome, time: RunTime): void {
    if (sideEffect === "none") {
      if (outcome._tag === "Failed" && outcome.attempts > 0) (this.#failed ??= new Map()).set(name, time.used)
    } else if (outcome._tag === "Completed" && outcome.certainty === "executed") {
      const words = name.replaceAll(/([a-z])([A-Z])/g, "$1_$2").toLowerCase()
      if (removing.test(words)) return this.#forget(text)
      const given = new Set(leavesOf(parsed(text)))
      const ids = new Set(leavesOf(outcome.value).filter((leaf) => !given.has(leaf)))
      this.#made = [...this.#made.slice(-(maxMade - 1)), {
        by: making.test(words) ? wordsOf(name) : [],
        ids,
        given,
        at: time.used
      }]
    }
  }

  #forget(text: string | undefined): void {
    const removed = leavesOf(parsed(text))
    this.#made = this.#made.filter(({ given, ids }) => !removed.some((leaf) => given.has(leaf) || ids.has(leaf)))
  }

  /** Returns facts in which the failures of a tool that only reads no longer count if they are old. */
  forgiving(facts: CallFacts, { name, sideEffect }: Called, time: RunTime): CallFacts {
    const at = sideEffect === "none" && facts.failures > 0 ? this.#failed?.get(name) : undefined
    if (at === undefined || time.used - at < forgottenAfter) return facts
    const intents = HashMap.map(
      facts.intents,
      (fact) =>
        fact.failed?.tool === name && fact.failed.certainty === "not_executed"
          ? { ...fact, failed: { ...fact.failed, executions: 0 } }
          : fact
    )
    return { ...facts, intents }
  }

  /**
   * Returns when the run made what a call asks for; `undefined` if it made no such thing. The call names its new id, or an
   * argument of the tool that made it, if both tools are about the same: `create_ticket` and `get_ticket`.
   */
  madeAt({ arguments: text, name }: ToolCall): number | undefined {
    if (this.#made.length === 0) return undefined
    const asked = leavesOf(parsed(text))
    const words = wordsOf(name)
    return this.#made.findLast(({ by, given, ids }) =>
      asked.some((leaf) => ids.has(leaf) || given.has(leaf) && by.some((word) => words.includes(word)))
    )?.at
  }
}

// Without verbs, which are short or stand first: "create_ticket", "getTicket".
const wordsOf = (name: string): ReadonlyArray<string> =>
  name.replaceAll(/([a-z])([A-Z])/g, "$1_$2").toLowerCase().split(/[^a-z]+/).slice(1)
    .map((word) => word.replace(/s$/, "")).filter((word) => word.length > 2)

const making =
  /^(?:create|add|new|make|insert|post|open|register|upload|submit|book|place|start|schedule|send|put|save|write|issue|generate|import|publish)(?:_|$)/

const removing = /^(?:delete|remove|cancel|close|archive|drop|destroy|void|revoke|clear|unregister|unpublish)(?:_|$)/

/** How many things a run remembers. */
const maxMade = 20

/** After this time, in milliseconds, a service may work again. */
const forgottenAfter = 30_000

const parsed = (text: string | undefined): Schema.Json | undefined =>
  text === undefined ? undefined : attempt((): Schema.Json => JSON.parse(text))

// The texts and numbers in a value, as texts. A very short one, such as a page number, names nothing.
const leavesOf = (value: Schema.Json | undefined, left = { count: maxLeaves }): ReadonlyArray<string> => {
  if (left.count <= 0) return []
  left.count--
  if (typeof value === "string" || typeof value === "number") {
    const text = String(value)
    return text.length > 1 && text.length <= 200 ? [text] : []
  }
  if (typeof value !== "object" || value === null) return []
  return Object.values(value).slice(0, maxLeaves).flatMap((inner: Schema.Json) => leavesOf(inner, left))
}

const maxLeaves = 200

// -----------------------------------------------------------------------------
// Reading again
// -----------------------------------------------------------------------------

type Hear = NonNullable<Observer["onEvent"]>

/** What a wait needs: the time of the run, and the observer of the call. */
export interface Waiting {
  readonly time: RunTime
  readonly call: { readonly tool: string; readonly id: string }
  readonly onEvent: Hear | undefined
}

/** Waits before a call, unless the time of the run would be up first. */
export const waitFirst = <E, R>(
  millis: number,
  waiting: Waiting,
  call: Effect.Effect<ToolOutcome, E, R>
): Effect.Effect<ToolOutcome, E, R> =>
  Effect.suspend(() => {
    const { call: { id, tool }, onEvent, time } = waiting
    // A wait leaves time for what comes after it.
    if (millis > time.millisLeft / 4) return call
    const wait = Duration.millis(millis)
    const hear = (_tag: "WaitStarted" | "WaitEnded") =>
      Effect.sync(() => onEvent?.({ _tag, by: "retry", wait, tool, id, at: time.now, attempt: 1 }))
    return hear("WaitStarted").pipe(
      Effect.andThen(Effect.ensuring(Effect.sleep(wait), hear("WaitEnded"))),
      Effect.andThen(Effect.map(call, (outcome) => ({ ...outcome, waited: Duration.sum(wait, outcome.waited) })))
    )
  })

/** Reads what the run has made until it is there: again after one second, and after two more. */
export const readUntilVisible = <E, R>(
  madeAt: number,
  waiting: Waiting,
  call: Effect.Effect<ToolOutcome, E, R>
): Effect.Effect<ToolOutcome, E, R> => {
  const read = (soFar: ToolOutcome | undefined, [wait, ...waits]: ReadonlyArray<number>): typeof call =>
    Effect.flatMap(soFar === undefined ? call : waitFirst(wait ?? 0, waiting, call), (outcome) => {
      const all = joinOutcomes(soFar, outcome)
      if (!isMissing(outcome)) return Effect.succeed(all)
      const left = soFar === undefined ? [wait ?? 0, ...waits] : waits
      const [next] = left
      return next === undefined || next > waiting.time.millisLeft / 4
        ? Effect.succeed(notVisible(all, waiting.time.used - madeAt))
        : read(all, left)
    })
  return read(undefined, [1000, 2000])
}

// A list without items may be right: a new ticket has no comments.
const isMissing = (outcome: ToolOutcome): outcome is Completed | Failed => {
  if (outcome._tag === "Completed") {
    return outcome.files === undefined && (outcome.value === null || outcome.value === "")
  }
  if (outcome._tag !== "Failed" || outcome.attempts === 0) return false
  const { failure } = outcome
  return evidenceOf(failure)?.status === 404 ||
    failure._tag === "SemanticGarbage" && (missingCodes.has(failure.code) || missing.test(failure.detail.slice(0, 500)))
}

const missingCodes: ReadonlySet<string> = new Set(["not_found", "unknown_entity", "empty_result"])

const missing =
  /\bnot (?:be )?found\b|\bno such\b|\bthere (?:is|are) no\b|\b(?:does|do)(?:n't| not) exist\b|\bunknown\b|\bno \w+ (?:with|named|called)\b|\bcould(?:n't| not) find\b/i

const notVisible = (outcome: ToolOutcome, age: number): ToolOutcome => {
  const why = `This run made it ${
    durationText(Duration.seconds(Math.ceil(age / 1000)))
  } ago, so it may not be visible yet`
  if (outcome._tag === "Completed") {
    return { ...outcome, caveats: [...outcome.caveats, `${why}; call again in a moment`] }
  }
  if (outcome._tag !== "Failed") return outcome
  const { detail } = outcome.failure
  const failure = new ToolUnavailable({
    code: "not_visible",
    detail,
    hint: `${why}.`,
    transient: true,
    retryAfter: Duration.seconds(2),
    cause: outcome.failure
  })
  return { ...outcome, failure }
}
