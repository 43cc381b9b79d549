/**
 * What the page with `useChat` asks of `POST /api/chat`. The body is the one that the AI SDK's `DefaultChatTransport` sends. Of its
 * messages, only the last one counts: the server has the others.
 *
 *     the last message is a user's      its text is a question
 *     the last message is an assistant's  its approvals that have a response are replies; `edits` are arguments that were changed
 *     "trigger": "regenerate-message"   the last question is asked again
 */
import { AiSdk } from "@fallible/ai-sdk"
import { safeValidateUIMessages, type UIMessage } from "ai"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Problem from "./Problem.ts"
import * as RequestBody from "./RequestBody.ts"

export interface Question {
  readonly _tag: "Question"
  readonly id: string
  readonly message: UIMessage
  readonly text: string
}

export interface Replies {
  readonly _tag: "Replies"
  readonly id: string
  readonly messages: ReadonlyArray<UIMessage>
  /** The arguments that the customer approves in place of those that were shown, by the id of the approval. */
  readonly edits: Readonly<Record<string, Schema.JsonObject>>
}

export interface Again {
  readonly _tag: "Again"
  readonly id: string
}

export type ChatRequest = Question | Replies | Again

const Body = Schema.Struct({
  id: Schema.String,
  trigger: Schema.Literals(["submit-message", "regenerate-message"]),
  messages: Schema.Array(Schema.JsonObject),
  edits: Schema.optionalKey(Schema.Record(Schema.String, Schema.JsonObject))
})

/** The last message of an assistant has all that its run has done. */
const maxBytes = 100_000

const Text = RequestBody.text("question", 2000)

const maxId = 100

export const read = Effect.gen(function*() {
  const { edits = {}, id, messages, trigger } = yield* RequestBody.read(Body, maxBytes)
  if (trigger === "regenerate-message") return { _tag: "Again", id } satisfies Again
  const [message] = yield* valid(messages.slice(-1))
  if (message?.role === "assistant") return { _tag: "Replies", id, edits, messages: [message] } satisfies Replies
  if (message?.role !== "user") return yield* invalid("The last message must be a user's or an assistant's.")
  if (message.parts.some(({ type }) => type !== "text")) return yield* invalid("Ask in words alone, without files.")
  const text = yield* Effect.mapError(
    Schema.decodeEffect(Text)(textOf([message])),
    (error) => invalid(error.message.replace(/\s+/g, " "))
  )
  if (message.id.length > maxId) return yield* invalid(`The id of a message has at most ${maxId} characters.`)
  // What is kept for the whole conversation is what its user wrote, and nothing that a program added.
  const question: UIMessage = { id: message.id, role: "user", parts: [{ type: "text", text }] }
  return { _tag: "Question", id, message: question, text } satisfies Question
})

/** What a user asks in the last of some messages. */
export const textOf = (messages: ReadonlyArray<UIMessage>): string => {
  const { question = "" } = AiSdk.fromUiMessages(messages)
  return typeof question === "string" ? question : question.text
}

const valid = (messages: ReadonlyArray<Schema.JsonObject>) =>
  Effect.flatMap(
    Effect.promise(() => safeValidateUIMessages({ messages })),
    (result) =>
      result.success ? Effect.succeed(result.data) : Effect.fail(invalid("The messages are not those of a chat."))
  )

const invalid = (detail: string) => Problem.make(400, "invalid_body", detail)
