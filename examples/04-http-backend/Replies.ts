/**
 * The replies of a customer to the questions of a run: what `POST /reply` takes, and what it answers if they are refused.
 *
 *     {"token": "…", "replies": [{"id": "…", "digest": "…", "approved": true}]}     to any of the questions
 *     {"token": "…", "reply": "yes"}                                                to the first question, in words
 *
 * The agent checks all replies before anything runs. If it refuses one, the questions stay open, and the customer can reply
 * again.
 */
import type { AgentFailure } from "@fallible/core"
import * as Question from "@fallible/core/Question"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Schema from "effect/Schema"
import * as Problem from "./Problem.ts"
import * as RequestBody from "./RequestBody.ts"

/** The most characters in a reply or in a reason. */
const maxText = 2000

const Reply = Question.Reply.check(
  Schema.makeFilter((reply) => {
    const text = "reply" in reply ? reply.reply : "reason" in reply ? reply.reason ?? "" : ""
    return text.length > maxText ? `a text of at most ${maxText} characters` : undefined
  })
)

export const Body = Schema.Struct({
  token: Schema.String,
  reply: Schema.optionalKey(RequestBody.text("reply", maxText)),
  // A run makes no more calls than this, and each asks one question at a time.
  replies: Schema.optionalKey(Schema.Array(Reply).check(Schema.isMaxLength(20)))
}).check(
  Schema.makeFilter(({ replies, reply }) =>
    (reply === undefined) === (replies === undefined) ? "either a 'reply' in words, or 'replies'" : undefined
  )
)

/** Fails if a text of the replies is too long. */
export const check = (replies: ReadonlyArray<Question.Reply>): Effect.Effect<void, Problem.Problem> =>
  replies.every(Schema.is(Reply))
    ? Effect.void
    : Effect.fail(Problem.make(400, "invalid_body", `Write at most ${maxText} characters.`))

/** Who replies is what the server knows, and never what a client says. Here it knows that the client has the token. */
export const by = "the customer"

export const given = ({ replies, reply = "" }: typeof Body.Type): string | ReadonlyArray<Question.Reply> =>
  replies?.map((reply) => ({ ...reply, by })) ?? reply

/**
 * Returns the problem for replies that the agent refused.
 *
 * @param place where a field of the replies is in the body; default: where it is in `Body`
 */
export const refused = (
  { issues: [issue] }: AgentFailure.RunRefused,
  place: (path: ReadonlyArray<PropertyKey>) => ReadonlyArray<PropertyKey> = identity
): Problem.Problem => {
  if (issue?.path[0] !== "replies") return Problem.notOpen
  const { actual, expected, path } = issue
  return new Problem.Problem({
    status: 422,
    code: "invalid_reply",
    detail: `The reply was refused: ${path.slice(2).join(".") || "replies"}: expected ${expected}, got ${actual}. ` +
      "The question is still open.",
    // A JSON Pointer (RFC 6901) to the field of the body.
    pointer: `#/${place(path).map((key) => String(key).replaceAll("~", "~0").replaceAll("/", "~1")).join("/")}`
  })
}
