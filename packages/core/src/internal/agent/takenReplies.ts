/*
 * Takes the replies to the open questions of a suspended turn. All of them are checked before anything runs. They are matched
 * by the id of the question, and a decision also by the digest that was shown.
 */
import { hasSecrets } from "@fallible/arguments/internal"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { RunRefused } from "../../AgentFailure.ts"
import * as Question from "../../Question.ts"
import type * as Tool from "../../Tool.ts"
import type { ToolCall } from "../../ToolCall.ts"
import type { FieldIssue } from "../../ToolFailure.ts"
import type * as Toolkit from "../../Toolkit.ts"
import type { Reply, Suspended, ToolOutcome } from "../../ToolOutcome.ts"
import { decodeText, Undecoded } from "../arguments/decoding.ts"
import { schemaOf } from "../arguments/jsonSchema.ts"
import { issuesBy } from "../arguments/schemaIssues.ts"
import { choiceOf } from "../call/askUser.ts"
import { clientQuestion, clientReplyText } from "../call/clientReply.ts"
import { argumentsOf, digestOfCall } from "../dispatch/approvalStage.ts"
import { reportDefect } from "../fiber/reportDefect.ts"
import { runContained } from "../fiber/runContained.ts"
import { excerpt, firstIssue, kind, list } from "../value/text.ts"
import { attempt, silence } from "../value/untrusted.ts"
import { isAnswered, questionsIn } from "./openQuestions.ts"
import { type Carried, refusalOfResume } from "./runInput.ts"

/** Decides whether somebody may reply to a question. */
export type Admit = (by: string | undefined, question: Question.Question) => boolean | Effect.Effect<boolean>

/** What replies are taken for. */
interface Waiting {
  readonly calls: ReadonlyArray<ToolCall>
  readonly outcomes: ReadonlyArray<ToolOutcome>
}

type Outcomes = ReadonlyArray<ToolOutcome>

/**
 * Returns the outcomes of a turn with the replies to their questions; fails if one of them cannot be taken.
 *
 * @param given replies, or the text of a reply to the first open question
 * @param now the time, in milliseconds since 1970
 */
export const takeReplies = (
  { tools }: Toolkit.Toolkit,
  { calls, outcomes }: Waiting,
  given: unknown,
  now: number,
  admit: Admit | undefined,
  carried: Carried
): Effect.Effect<Outcomes, RunRefused> => {
  const refuse = (issue: FieldIssue) => Effect.fail(refusalOfResume(`${firstIssue([issue])}.`, [issue], carried))
  const open = questionsIn(outcomes)
  const replies = typeof given === "string" ? inWords(open, given) : repliesIn(given)
  if (replies === undefined) {
    const [issue] = attempt(() => Array.isArray(given) ? issuesOf({ replies: given }) : undefined) ?? []
    return refuse(issue ?? { path: ["replies"], expected: "a text, or a list of replies", actual: kind(given) })
  }
  const late = expiredIn(open, replies, now)
  if (replies.length + late.length === 0) {
    return refuse({ path: ["replies"], expected: "at least one reply", actual: "none" })
  }
  const take = (outcomes: Outcomes, reply: Question.Reply, index: number) => {
    const path = ["replies", index]
    const question = open.find(({ id }) => id === reply.id)
    const place = outcomes.findIndex((outcome) => outcome._tag === "Suspended" && outcome.asks.id === reply.id)
    const before = outcomes[place]
    if (question === undefined || before?._tag !== "Suspended" || isAnswered(before)) {
      const expected = `the id of an open question (${list(open.map(({ id }) => id))})`
      return refuse({ path: [...path, "id"], expected, actual: excerpt(reply.id) })
    }
    const wrong = wrongIn(question, reply)
    if (wrong !== undefined) return refuse({ ...wrong, path: [...path, ...wrong.path] })
    const call = calls[place]
    const tool = call === undefined ? undefined : tools.get(call.name)
    // The handler of the server would do again what the client has done. A handler may run another tool, which asks, too.
    if (question.text === clientQuestion(question.tool) && question.kind === "client" && tool?.client !== true) {
      const actual = `${question.tool}, which the client does not run any more`
      return refuse({ path: [...path, "id"], expected: "the question of a tool that the client runs", actual })
    }
    // Nobody has to be admitted for a time that is over.
    const admitted = index < replies.length ? mayReply(admit, reply.by, question) : Effect.succeed(true)
    return Effect.flatMap(admitted, (may) => {
      if (!may) {
        return refuse({
          path: [...path, "by"],
          expected: "somebody who may reply to it",
          actual: reply.by === undefined ? "nobody" : excerpt(reply.by)
        })
      }
      const isLate = isOver(question, now)
      const isEdited = "approved" in reply && reply.approved && reply.arguments !== undefined
      const answered: Effect.Effect<Suspended, FieldIssue> = !isEdited || isLate
        ? Effect.succeed(withReply(before, storedOf(before, question, reply, isLate)))
        : tool === undefined
        ? Effect.fail({ path: [], expected: "none: the model's provider runs the call as it is", actual: "arguments" })
        : edited(tool, before, reply, reply.arguments)
      return Effect.matchEffect(answered, {
        onFailure: (issue) => refuse({ ...issue, path: [...path, "arguments", ...issue.path] }),
        onSuccess: (after) => Effect.succeed(outcomes.with(place, after))
      })
    })
  }
  return Effect.reduce([...replies, ...late], () => outcomes.map((outcome) => withoutStale(outcome, now)), take)
}

// The last moment counts as in time.
const isOver = ({ expires = Infinity }: Question.Question, now: number): boolean => now > expires

// An approval that had to wait for other questions may have become too old.
const withoutStale = (outcome: ToolOutcome, now: number): ToolOutcome => {
  if (outcome._tag !== "Suspended") return outcome
  const { asks, replies } = outcome
  return !isOver(asks, now) ? outcome : {
    ...outcome,
    replies: replies.map((reply) =>
      reply.to === asks.id && reply.decided?.approved === true
        ? {
          ...reply,
          decided: { ...reply.decided, approved: false, reason: "The approval expired before the call could run." }
        }
        : reply
    )
  }
}

// A text replies to the first question. Whatever is not a plain yes denies.
const inWords = ([first]: ReadonlyArray<Question.Question>, text: string): ReadonlyArray<Question.Reply> => {
  if (first === undefined) return []
  if (first.kind !== "approval") return [Question.reply(first, text)]
  if (/^\s*yes\s*[.!]?\s*$/i.test(text)) return [Question.approve(first)]
  return [/^\s*(no\s*[.!]?)?\s*$/i.test(text) ? Question.deny(first) : Question.deny(first, { reason: text })]
}

const issuesOf = issuesBy(Schema.Struct({ replies: Schema.Array(Question.Reply) }))

const decodeReplies = Schema.decodeUnknownOption(Schema.Array(Question.Reply))

// A reply counts as its schema reads it, and no other field of it counts: a text with a field `approved` of another type decides
// nothing. It is read once, so it cannot change after it was checked.
const repliesIn = (given: unknown): ReadonlyArray<Question.Reply> | undefined =>
  attempt(() => Option.getOrUndefined(decodeReplies(given)))

// Nobody has decided in time.
const expiredIn = (
  open: ReadonlyArray<Question.Question>,
  replies: ReadonlyArray<Question.Reply>,
  now: number
): ReadonlyArray<Question.Reply> =>
  open.flatMap((question) =>
    isOver(question, now) && replies.every(({ id }) => id !== question.id)
      ? [Question.deny(question, { reason: "Nobody approved it in time." })]
      : []
  )

const wrongIn = (question: Question.Question, reply: Question.Reply): FieldIssue | undefined => {
  if ("approved" in reply) {
    if (question.kind !== "approval") {
      return { path: ["approved"], expected: "no decision, but a 'reply' in words", actual: "a decision" }
    }
    return reply.digest === question.digest
      ? undefined
      : { path: ["digest"], expected: "the digest of the question", actual: excerpt(reply.digest) }
  }
  if (question.kind === "approval") {
    return { path: ["approved"], expected: "true or false, with the digest that was shown", actual: sortOf(reply) }
  }
  if (question.kind === "client") {
    return "reply" in reply
      ? { path: ["result"], expected: "the result of the call, or a 'failure'", actual: "a reply in words" }
      : undefined
  }
  if (!("reply" in reply)) {
    return { path: ["reply"], expected: "a reply in words", actual: sortOf(reply) }
  }
  const { choices = [], kind } = question
  return kind !== "choice" || choiceOf(choices, reply.reply) !== undefined
    ? undefined
    : { path: ["reply"], expected: `one of ${list(choices)}`, actual: excerpt(reply.reply) }
}

const sortOf = (reply: Question.TextReply | Question.ClientReply): string =>
  "reply" in reply ? "a reply in words" : "what a client says of a call"

const mayReply = (
  admit: Admit | undefined,
  by: string | undefined,
  question: Question.Question
): Effect.Effect<boolean> =>
  admit === undefined ? Effect.succeed(true) : Effect.matchCauseEffect(
    Effect.suspend(() => {
      const answer = admit(by, question)
      return Effect.isEffect(answer) ? runContained(answer) : Effect.succeed(answer)
    }),
    {
      // Nothing but `true` admits. A promise, for example, may reject.
      onSuccess: (may: unknown) => {
        silence(may)
        return Effect.succeed(may === true)
      },
      onFailure: (cause) =>
        Effect.as(reportDefect("The agent's 'admit' failed, so the reply was refused", cause), false)
    }
  )

const withReply = (before: Suspended, reply: Reply): Suspended => ({ ...before, replies: [...before.replies, reply] })

const storedOf = (
  { id, question }: Suspended,
  { choices = [], digest = "", id: to, kind }: Question.Question,
  reply: Question.Reply,
  isLate: boolean
): Reply => {
  const by = reply.by === undefined ? {} : { by: reply.by }
  if ("result" in reply || "failure" in reply) {
    return { id, question, reply: clientReplyText(reply), to, ...by }
  }
  if (!("approved" in reply)) {
    const said = kind === "choice" ? choiceOf(choices, reply.reply) : reply.reply
    return { id, question, reply: said ?? reply.reply, to, ...by }
  }
  const approved = reply.approved && !isLate
  const why = reply.approved ? "The approval came too late." : reply.reason
  const reason = approved || why === undefined ? {} : { reason: why }
  const text = approved ? "yes" : why === undefined ? "no" : `no: ${why}`
  return { id, question, reply: text, to, ...by, decided: { approved, digest, ...by, ...reason } }
}

// The call goes on with the arguments that a person gave.
const edited = (
  tool: Tool.Any,
  before: Suspended,
  { by }: Question.Approval,
  given: Schema.JsonObject
): Effect.Effect<Suspended, FieldIssue> => {
  const text = attempt(() => JSON.stringify(given))
  if (text === undefined) return Effect.fail({ path: [], expected: `arguments of ${tool.name}`, actual: kind(given) })
  // What is checked is what is kept: JSON, which nobody can change any more.
  const notWhole = notWholeIn(JSON.parse(text), [], hasSecrets(schemaOf(tool.parameters)))
  if (notWhole !== undefined) return Effect.fail(notWhole)
  return Effect.flatMap(Effect.exit(Effect.suspend(() => decodeText(text, tool))), (exit) => {
    if (Exit.isFailure(exit)) {
      const [reason] = exit.cause.reasons
      const failure = reason?._tag === "Fail" && reason.error instanceof Undecoded ? reason.error.failure : undefined
      return Effect.fail(
        failure?.issues?.[0] ?? { path: [], expected: `arguments of ${tool.name}`, actual: failure?.detail ?? "others" }
      )
    }
    const shown = { params: exit.value.params, text, salt: before.salt }
    const digest = digestOfCall(tool, shown)
    const who = by === undefined ? {} : { by }
    const note = `A person changed the arguments to ${argumentsOf(tool, shown)}`
    return Effect.succeed({
      ...withReply(before, {
        id: before.id,
        question: before.question,
        reply: "yes",
        to: before.asks.id,
        ...who,
        decided: { approved: true, digest, edited: true, ...who }
      }),
      arguments: text,
      repairs: [...before.repairs ?? [], { kind: "edited", path: [], note }]
    })
  })
}

// What was shown may have been masked or cut. Sent back as it was shown, it would be taken for the value.
const notWholeIn = (
  value: unknown,
  path: ReadonlyArray<string | number>,
  isSecret: boolean
): FieldIssue | undefined => {
  if (typeof value === "string") {
    const isMasked = isSecret && value === "<redacted>"
    return isMasked || /… \(\d+ more characters\)$/.test(value)
      ? { path: [...path], expected: "the whole value", actual: isMasked ? "a mask" : "a shortened text" }
      : undefined
  }
  if (Array.isArray(value)) return firstOf(value.map((item, index) => [index, item] as const), path, isSecret)
  return Predicate.isObject(value) ? firstOf(Object.entries(value), path, isSecret) : undefined
}

const firstOf = (
  entries: ReadonlyArray<readonly [string | number, unknown]>,
  path: ReadonlyArray<string | number>,
  isSecret: boolean
): FieldIssue | undefined => {
  for (const [key, item] of entries) {
    const found = notWholeIn(item, [...path, key], isSecret)
    if (found !== undefined) return found
  }
  return undefined
}
