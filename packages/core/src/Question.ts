/**
 * The questions of a run that waits for people, and their replies.
 *
 *     run ── call asks ── RunSuspended: its questions ── people ── replies ── agent.resume(suspension, replies)
 *
 * | kind       | who asks                                                     | the reply                                             |
 * | ---------- | ------------------------------------------------------------ | ----------------------------------------------------- |
 * | `reply`    | a handler (`ToolCall.ask`)                                   | any text                                              |
 * | `choice`   | a handler that gives choices                                 | one of the `choices`                                  |
 * | `approval` | `Tool.approve`, `approvals` or `onDone: "ask"` of an agent   | a {@link Decision} with the `digest` of the question  |
 * | `doubt`    | `onDoubt: "ask"` of an agent                                 | `"yes"` or `"no"`; any other text leaves the doubt    |
 * | `client`   | a tool that the client runs (`Tool.client`)                  | its result, or why it failed                          |
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { namedStruct } from "./internal/value/namedStruct.ts"

/**
 * What kind of reply a question needs.
 *
 * @category models
 * @since 0.1.0
 */
export type Kind = typeof Kind.Type

/**
 * The schema of a {@link Kind}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Kind = Schema.Literals(["reply", "choice", "approval", "doubt", "client"])

/**
 * One open question of a run.
 *
 * @category models
 * @since 0.1.0
 */
export class Question extends namedStruct<Question>()({
  /** The id by which it is replied to. No other question of the run has it. */
  id: Schema.String,
  kind: Kind,
  /** The name of the tool whose call asks. */
  tool: Schema.String,
  /** What to ask. */
  text: Schema.String,
  /**
   * The arguments of the call as JSON text, with `"<redacted>"` in place of secrets. They are those that the call would run
   * with. If there are more than 20,000 characters, texts of more than 1,000 are cut, and say how much is missing; what is then
   * still too long is cut, and no JSON. Absent if the arguments are not known.
   */
  arguments: Schema.optionalKey(Schema.String),
  /** Present if an earlier run of the scope has done this (`onDone`): when, in milliseconds since 1970, and its result. */
  again: Schema.optionalKey(Schema.Struct({
    at: Schema.optionalKey(Schema.Finite),
    answer: Schema.optionalKey(Schema.String)
  })),
  /** What the call would do, in the words of its tool. Absent if the tool does not say it. */
  preview: Schema.optionalKey(Schema.String),
  /** The replies to choose from. */
  choices: Schema.optionalKey(Schema.Array(Schema.String)),
  /**
   * A digest of the tool, of all its arguments, of the intended effect and of whether it would be done again. It binds an
   * approval to what was shown.
   */
  digest: Schema.optionalKey(Schema.String),
  /** Until when an approval counts, in milliseconds since 1970. Absent if there is no limit. */
  expires: Schema.optionalKey(Schema.Finite)
}) {}

const replying = {
  /** The id of the question. */
  id: Schema.String,
  /** Who replies, for the record, and for the agent's `admit`. */
  by: Schema.optionalKey(Schema.String)
}

/**
 * A reply in words: to a question of the kind `reply`, `choice` or `doubt`.
 *
 * @category models
 * @since 0.1.0
 */
export class TextReply extends namedStruct<TextReply>()({ ...replying, reply: Schema.String }) {}

const deciding = {
  ...replying,
  /** The `digest` of the question that was shown. */
  digest: Schema.String
}

/**
 * An approval: the call runs with the arguments that were shown.
 *
 * @category models
 * @since 0.1.0
 */
export class Approval extends namedStruct<Approval>()({
  ...deciding,
  approved: Schema.Literal(true),
  /** Other arguments, which the call runs with. All of them: nothing is added from the model's. */
  arguments: Schema.optionalKey(Schema.JsonObject)
}) {}

/**
 * A denial: the call does not run, and the model is told why.
 *
 * @category models
 * @since 0.1.0
 */
export class Denial extends namedStruct<Denial>()({
  ...deciding,
  approved: Schema.Literal(false),
  /** What the model is told. */
  reason: Schema.optionalKey(Schema.String)
}) {}

/**
 * A reply to a question of the kind `approval`.
 *
 * @category models
 * @since 0.1.0
 */
export type Decision = Approval | Denial

/**
 * The result of a call that the client ran: a reply to a question of the kind `client`.
 *
 * @category models
 * @since 0.1.0
 */
export class ResultReply extends namedStruct<ResultReply>()({
  ...replying,
  /** The result as JSON, which is decoded by the tool's `success`. */
  result: Schema.Json
}) {}

/**
 * Why the client could not run a call: a reply to a question of the kind `client`.
 *
 * @category models
 * @since 0.1.0
 */
export class FailureReply extends namedStruct<FailureReply>()({
  ...replying,
  /** What the model is told. */
  failure: Schema.String
}) {}

/**
 * A reply to a question of the kind `client`.
 *
 * @category models
 * @since 0.1.0
 */
export type ClientReply = ResultReply | FailureReply

/**
 * A reply to a question.
 *
 * @category models
 * @since 0.1.0
 */
export type Reply = TextReply | Decision | ClientReply

/**
 * The schema of a {@link Reply}. It encodes to plain JSON.
 *
 * When to use: to read the replies of a client.
 *
 * @example
 * ```ts
 * import * as Question from "@fallible/core/Question"
 * import { Schema } from "effect"
 *
 * const reply = Schema.decodeUnknownSync(Question.Reply)({ id: "q1", digest: "d1", approved: true, by: "Ada" })
 * "approved" in reply && reply.approved // => true
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const Reply = Schema.Union([Approval, Denial, TextReply, ResultReply, FailureReply])

/**
 * Approves the call of a question, as it was shown.
 *
 * When to use: to reply to a question that a person or a rule has approved.
 *
 * @param options `by`: who approves; `arguments`: other arguments to run with
 * @example
 * ```ts
 * import * as Question from "@fallible/core/Question"
 *
 * const question = { id: "q1", kind: "approval", tool: "pay", text: "Pay?", digest: "d1" } as const
 * Question.approve(question, { by: "Ada" }) // => { id: "q1", digest: "d1", approved: true, by: "Ada" }
 * ```
 *
 * @category replies
 * @since 0.1.0
 */
export const approve = (
  { digest = "", id }: Question,
  options: Pick<Approval, "arguments" | "by"> = {}
): Approval => ({ id, digest, approved: true, ...options })

/**
 * Denies the call of a question.
 *
 * When to use: to reply to a question that a person or a rule has denied.
 *
 * @param options `reason`: what the model is told; `by`: who denies
 * @example
 * ```ts
 * import * as Question from "@fallible/core/Question"
 *
 * const question = { id: "q1", kind: "approval", tool: "pay", text: "Pay?", digest: "d1" } as const
 * const denial = Question.deny(question, { reason: "Too much." })
 * denial.approved // => false
 * ```
 *
 * @category replies
 * @since 0.1.0
 */
export const deny = ({ digest = "", id }: Question, options: Pick<Denial, "reason" | "by"> = {}): Denial => ({
  id,
  digest,
  approved: false,
  ...options
})

/**
 * Replies to a question in words.
 *
 * When to use: for questions of the kind `reply`, `choice` or `doubt`.
 *
 * @param options `by`: who replies
 * @example
 * ```ts
 * import * as Question from "@fallible/core/Question"
 *
 * const question = { id: "q1", kind: "reply", tool: "book", text: "For how many?" } as const
 * Question.reply(question, "four") // => { id: "q1", reply: "four" }
 * ```
 *
 * @category replies
 * @since 0.1.0
 */
export const reply = ({ id }: Question, text: string, options: Pick<TextReply, "by"> = {}): TextReply => ({
  id,
  reply: text,
  ...options
})

/**
 * Replies to a question of the kind `client` with the result of its call.
 *
 * When to use: in a program that runs tools for an agent, such as an app on a phone.
 *
 * @param value the result as JSON
 * @param options `by`: who replies
 * @example
 * ```ts
 * import * as Question from "@fallible/core/Question"
 *
 * const question = { id: "q1", kind: "client", tool: "locate", text: "The client runs locate." } as const
 * Question.result(question, { city: "Oslo" }) // => { id: "q1", result: { city: "Oslo" } }
 * ```
 *
 * @category replies
 * @since 0.1.0
 */
export const result = (
  { id }: Question,
  value: Schema.Json,
  options: Pick<ResultReply, "by"> = {}
): ResultReply => ({ id, result: value, ...options })

/**
 * Replies to a question of the kind `client` that its call has failed.
 *
 * When to use: if the client cannot run the call, or if its user forbids it.
 *
 * @param text one sentence that the model reads
 * @param options `by`: who replies
 * @example
 * ```ts
 * import * as Question from "@fallible/core/Question"
 *
 * const question = { id: "q1", kind: "client", tool: "locate", text: "The client runs locate." } as const
 * Question.failure(question, "The user shares no location.").failure // => "The user shares no location."
 * ```
 *
 * @category replies
 * @since 0.1.0
 */
export const failure = (
  { id }: Question,
  text: string,
  options: Pick<FailureReply, "by"> = {}
): FailureReply => ({ id, failure: text, ...options })
