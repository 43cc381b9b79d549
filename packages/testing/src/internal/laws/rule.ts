/** What the laws of models are made of: plays, ways to ask, and comparisons. */
import { type Model, type ModelFailure, Transcript } from "@fallible/core"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as FakeModelServer from "../../FakeModelServer.ts"
import type { Played, Settings, Subject } from "../../ModelLaws.ts"

/** A law before its name is added to what it finds. */
export interface Rule {
  readonly name: string
  readonly holds: (subject: Subject) => Effect.Effect<void, unknown, Scope.Scope>
}

/** What a law expected, and what came instead. */
export class Difference extends Data.TaggedError("Difference")<{
  readonly expected: string
  readonly came: string
}> {}

// -----------------------------------------------------------------------------
// Plays
// -----------------------------------------------------------------------------

/** Asks once: a failure is reported at once. */
export const once: Settings = { retry: Schedule.recurs(0) }

export const playing = <A, E>(
  subject: Subject,
  script: FakeModelServer.Script,
  use: (played: Played) => Effect.Effect<A, E, Scope.Scope>,
  settings: Settings = once
): Effect.Effect<A, E> => Effect.scoped(Effect.flatMap(subject.play(script, settings), use))

/** Whether the subject has a real connection, which can be lost. */
export const isConnected = ({ wire = {} }: Subject): boolean => wire.connects !== false

export const question: Model.Request = {
  transcript: Transcript.make([{ role: "user", text: "How warm is it in Zürich?" }]),
  tools: []
}

/** A stream in pieces: what was shown, and the replies at its end. */
export interface Shown {
  readonly text: string
  readonly reasoning: string
  readonly arguments: ReadonlyArray<string>
  readonly replies: ReadonlyArray<Model.Reply>
  /** Whether nothing follows the reply. */
  readonly isLast: boolean
}

export const shownOf = (parts: ReadonlyArray<Model.Part>): Shown => {
  const texts = (tag: "TextDelta" | "ReasoningDelta") =>
    parts.map((part) => part._tag === tag ? part.text : "").join("")
  const args: Array<string> = []
  for (const part of parts) {
    if (part._tag === "ArgumentsDelta") args[part.call] = (args[part.call] ?? "") + part.text
  }
  return {
    text: texts("TextDelta"),
    reasoning: texts("ReasoningDelta"),
    arguments: args,
    replies: parts.flatMap((part) => part._tag === "Replied" ? [part.reply] : []),
    isLast: parts.at(-1)?._tag === "Replied"
  }
}

export const partsOf = (model: Model.Model["Service"], request = question) =>
  Stream.runCollect(Stream.suspend(() => model.stream(request)))

/** Streams a reply, and returns it alone. */
export const streamed = (
  model: Model.Model["Service"],
  request = question
): Effect.Effect<Model.Reply, ModelFailure | Difference> =>
  Effect.flatMap(partsOf(model, request), (parts) => {
    const { replies: [reply] } = shownOf(parts)
    return reply === undefined ? Effect.fail(differ("a reply at the end of the stream", "none")) : Effect.succeed(reply)
  })

export const whole = (model: Model.Model["Service"], request = question): Effect.Effect<Model.Reply, ModelFailure> =>
  Effect.suspend(() => model.respond(request))

export const ways = [["whole", whole], ["streamed", streamed]] as const

export type Way = typeof ways[number]

// -----------------------------------------------------------------------------
// Comparisons
// -----------------------------------------------------------------------------

export const differ = (expected: string, came: unknown): Difference =>
  new Difference({ expected, came: typeof came === "string" ? came : textOf(came) })

export const demand = (isTrue: boolean, expected: string, came: unknown): Effect.Effect<void, Difference> =>
  isTrue ? Effect.void : Effect.fail(differ(expected, came))

/** Compares plain data. @param what names it in the report */
export const same = (what: string, came: unknown, expected: unknown): Effect.Effect<void, Difference> =>
  demand(textOf(came) === textOf(expected), `${what}: ${textOf(expected)}`, textOf(came))

/** Data as JSON, with its fields in order. Absent fields and those without a value are equal. */
export const textOf = (value: unknown): string => JSON.stringify(value, sorted) ?? "nothing"

const sorted = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => a < b ? -1 : 1))
    : value

/** Expects a failure, and returns it. */
export const failing = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  expected: string
): Effect.Effect<E, Difference, R> =>
  Effect.matchEffect(effect, {
    onFailure: (failure) => Effect.succeed(failure),
    onSuccess: (value) => Effect.fail(differ(expected, value))
  })

/** Adds how a difference was found to what was expected. */
export const found = (how: string) => <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, unknown, R> =>
  Effect.mapError(effect, (error) =>
    error instanceof Difference
      ? new Difference({ expected: `${error.expected} (${how})`, came: error.came })
      : new Difference({ expected: `no failure (${how})`, came: told(error) }))

export const told = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : textOf(error)

/** Lets the event loop turn, so that what was sent arrives. */
export const turns = Effect.callback<void>((resume) => {
  const turn = (left: number): void => {
    if (left === 0) resume(Effect.void)
    else setImmediate(() => turn(left - 1))
  }
  turn(50)
})
