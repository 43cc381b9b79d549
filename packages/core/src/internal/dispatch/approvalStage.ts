/*
 * Asks for the approval of a call, after it was admitted and before it runs:
 *
 *     decode ─ correct ─ admit ─ ask ─ run
 *
 * A decision counts for the arguments that it was made for, and for no others. So it is found by the digest of the call, and
 * never by its place or its words.
 */
import { maskedText } from "@fallible/arguments"
import { hasSecrets } from "@fallible/arguments/internal"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import type { CallFacts, Fact } from "../../CallFacts.ts"
import * as Deadline from "../../Deadline.ts"
import type { Question } from "../../Question.ts"
import type * as Tool from "../../Tool.ts"
import type { ToolFailure } from "../../ToolFailure.ts"
import type { Decided } from "../../ToolOutcome.ts"
import { textToShow } from "../arguments/argumentIdentity.ts"
import { Intended } from "../arguments/callIntent.ts"
import * as DispatchFailure from "../arguments/dispatchFailure.ts"
import { schemaOf } from "../arguments/jsonSchema.ts"
import { digestOf } from "../call/idempotencyKey.ts"
import { note } from "../call/note.ts"
import type { Scope } from "../call/scope.ts"
import { SuspendSignal } from "../failure/controlSignal.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import { runContained } from "../fiber/runContained.ts"
import type { Approval } from "../policy/approval.ts"
import { cut, kind, oneLine, printable } from "../value/text.ts"
import { timeText } from "../value/timeText.ts"
import { attempt, silence } from "../value/untrusted.ts"
import { factOf } from "./callFact.ts"
import { shownArguments } from "./shownArguments.ts"

/** What a call would run with. */
export interface Shown {
  readonly params: unknown
  /** The text that the parameters were decoded from. */
  readonly text: string | undefined
  /** Absent if the arguments have no secret. */
  readonly salt?: string | undefined
  /** Present if it would be done again. */
  readonly again?: Question["again"]
}

/**
 * Returns a digest of the tool, of all arguments and of the intended effect: what a decision is bound to. To do something again
 * is decided apart.
 */
export const digestOfCall = (tool: Tool.Any, { again, params, salt = "", text }: Shown): string => {
  const intended = new Intended(tool, params, text)
  const what = again === undefined ? "once" : "again"
  return digestOf("approval", what, salt, tool.name, intended.arguments, attempt(() => intended.id) ?? "")
}

/** Returns the salt of a digest, if it is made of a secret: a person who sees it must not be able to guess a PIN. */
export const saltFor = ({ parameters }: Tool.Any, fiber: Fiber.Fiber<unknown, unknown>): string | undefined => {
  if (!hasSecrets(schemaOf(parameters))) return undefined
  const random = fiber.getRef(Random.Random)
  return `${random.nextIntUnsafe()}${random.nextIntUnsafe()}`
}

/** Returns the arguments as a person may see them, as JSON text. */
export const argumentsOf = (tool: Tool.Any, { params, text }: Shown): string =>
  shownArguments(
    textToShow(tool, params, text) ?? maskedText(text ?? "", schemaOf(tool.parameters)),
    { all: 20_000, text: 1_000 }
  )

// Returns what has been decided about a call with these arguments; `undefined` if nothing was.
const decisionOn = ({ id, live }: Scope, digest: string): Decided | undefined =>
  live.replies.findLast((reply) => reply.id === id && reply.decided?.digest === digest)?.decided

/** Returns why an equal call was denied in this run; `undefined` if it was not. */
export const deniedBefore = (facts: CallFacts | undefined, id: string | undefined): Fact["denied"] => {
  if (facts === undefined || id === undefined) return undefined
  const { denied }: Fact = factOf(facts, id)
  return denied?.run === facts.run ? denied : undefined
}

/**
 * Asks for the approval of a call, if it needs one and nothing has been decided yet. To do something again needs one.
 *
 * @param approvals the declarations of the tool and of its agent; one of them is enough
 * @param denied whether an equal call was denied in this run
 */
export const approved = (
  call: Scope,
  tool: Tool.Any,
  approvals: ReadonlyArray<Approval>,
  shown: Shown,
  denied: Fact["denied"]
): Effect.Effect<void, ToolFailure> => {
  const { again, params } = shown
  const digest = digestOfCall(tool, shown)
  // A call that was to be done again, and asked its own question since, is not decided on a second time.
  const decided = decisionOn(call, digest) ??
    (again === undefined ? decisionOn(call, digestOfCall(tool, { ...shown, again: {} })) : undefined)
  if (decided !== undefined) {
    if (call.state.decided?.digest !== decided.digest) note(call, { _tag: "CallDecided", ...decided })
    return decided.approved ? Effect.void : Effect.fail(
      again === undefined
        ? DispatchFailure.notApproved(decided.reason)
        : DispatchFailure.alreadyDone(again.answer, decided)
    )
  }
  if (denied !== undefined) {
    return Effect.fail(
      again === undefined
        ? DispatchFailure.notApproved(denied.reason, true)
        : DispatchFailure.alreadyDone(again.answer, denied)
    )
  }
  return Effect.flatMap(neededOf(tool.name, approvals, params), (needed) =>
    needed.length === 0 && again === undefined
      ? Effect.void
      : Effect.flatMap(previewOf(tool.name, needed, params), (preview) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const expires = Math.min(
            ...needed.flatMap(({ within }) =>
              within === undefined ? [] : [now + Duration.toMillis(within)]
            )
          )
          const args = argumentsOf(tool, shown)
          return Effect.die(
            new SuspendSignal(questionOf(tool.name, args, preview, again), call.id, {
              kind: "approval",
              arguments: args,
              digest,
              ...(again === undefined ? {} : { again }),
              ...(preview === undefined ? {} : { preview }),
              ...(expires === Infinity ? {} : { expires })
            })
          )
        })))
}

const questionOf = (tool: string, args: string, preview = "", again: Question["again"]): string => {
  const shown = shownArguments(args, { all: 4_000, text: 1_000 })
  const words = again === undefined
    ? `Approve ${tool} with ${shown}?`
    : `${tool} was done ${momentOf(again)}. Do it again, with ${shown}?`
  return `${words} ${preview}`.trimEnd()
}

const momentOf = ({ answer, at }: NonNullable<Question["again"]>): string => {
  const when = at === undefined ? "before" : `at ${timeText(at)}`
  return answer === undefined ? when : `${when}, with the result ${cut(printable(answer), 300)}`
}

/** Returns the approvals that are needed. A predicate that does not answer `false` says that its approval is. */
export const neededOf = (
  tool: string,
  approvals: ReadonlyArray<Approval>,
  params: unknown
): Effect.Effect<ReadonlyArray<Approval>> =>
  Effect.filter(approvals, ({ when }) =>
    when === undefined
      ? Effect.succeed(true)
      : Effect.matchCauseEffect(answerOf(() => outOf(when)(params), "boolean"), {
        onSuccess: Effect.succeed,
        onFailure: (cause) =>
          Effect.as(reportDefect(`It is not known whether ${tool} needs an approval, so it is asked for`, cause), true)
      }))

const previewOf = (
  tool: string,
  needed: ReadonlyArray<Approval>,
  params: unknown
): Effect.Effect<string | undefined> => {
  const preview = needed.find(({ preview }) => preview !== undefined)?.preview
  return preview === undefined ?
    Effect.undefined :
    Effect.matchCauseEffect(answerOf(() => outOf(preview)(params), "string"), {
      onSuccess: (text) => Effect.succeed(cut(printable(oneLine(text)), 1_000)),
      onFailure: (cause) => Effect.as(reportDefect(`The preview of ${tool} failed`, cause), undefined)
    })
}

interface Types {
  readonly boolean: boolean
  readonly string: string
}

// Runs a user's function, which answers with a value or an Effect. It has no longer than the call.
const answerOf = <const T extends keyof Types>(
  answer: () => unknown,
  type: T
): Effect.Effect<Types[T], unknown> =>
  Effect.flatMap(
    Effect.exit(Effect.suspend((): Effect.Effect<unknown, unknown> => {
      const given = answer()
      return Effect.isEffect(given) ? inTime(runContained(withoutNeeds(given))) : Effect.succeed(given)
    })),
    (exit) => {
      if (Exit.isFailure(exit)) return Effect.failCause(exit.cause)
      if (isOf(type, exit.value)) return Effect.succeed(exit.value)
      silence(exit.value)
      return Effect.failCause(Cause.die(new TypeError(`It must answer with a ${type}; got ${kind(exit.value)}.`)))
    }
  )

const inTime = <A, E>(self: Effect.Effect<A, E>): Effect.Effect<A, E | Cause.TimeoutError> =>
  Effect.flatMap(Deadline.timeLeft, (left) => Duration.isFinite(left) ? Effect.timeout(self, left) : self)

const isOf = <T extends keyof Types>(type: T, value: unknown): value is Types[T] => typeof value === type

// The parameters have the tool's own type, which a union of tools does not show.
const outOf = (f: (params: never) => unknown) => f as (params: unknown) => unknown

// What the Effect needs is part of the type of its tool or agent.
const withoutNeeds = (self: Effect.Effect<unknown, unknown, unknown>) => self as Effect.Effect<unknown, unknown>
