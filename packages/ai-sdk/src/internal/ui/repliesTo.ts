/*
 * Finds the replies to the questions of a suspension in the messages of a chat.
 */
import type { Suspension } from "@fallible/core/AgentFailure"
import type { Question, Reply } from "@fallible/core/Question"
import type { UIMessage } from "ai"
import type * as Schema from "effect/Schema"
import { type Fields, jsonOf, textAt } from "../untyped.ts"
import { decisionsIn } from "./fromUiMessages.ts"
import { assistantAtEnd, messagesIn, partsOf, textOf, toolPartsOf } from "./untrustedMessages.ts"

/**
 * Who replies, and what they have changed.
 *
 * @category options
 * @since 0.1.0
 */
export interface RepliesOptions {
  /** Who replies, as the server knows it. Default: not said. */
  readonly by?: string
  /** By the id of a question: other arguments for an approved call. All of them: nothing is added from the model's. Default: none. */
  readonly edits?: Readonly<Record<string, Schema.JsonObject>>
}

export const repliesTo = (
  { questions }: Pick<Suspension, "questions">,
  messages: ReadonlyArray<UIMessage>,
  options: RepliesOptions = {}
): ReadonlyArray<Reply> => {
  const { by } = options
  const read = messagesIn(messages)
  const assistant = assistantAtEnd(read)
  const replies = assistant === undefined ? spoken(questions, read.at(-1)) : chosen(questions, assistant, options)
  return by === undefined ? replies : replies.map((reply) => ({ ...reply, by }))
}

// What the user writes replies to the first question that takes words.
const spoken = (questions: ReadonlyArray<Question>, message: Fields | undefined): ReadonlyArray<Reply> => {
  const question = questions.find(isInWords)
  const reply = message?.["role"] === "user" ? textOf(message).trim() : ""
  return question === undefined || reply === "" ? [] : [{ id: question.id, reply }]
}

const isInWords = ({ kind }: Question): boolean => kind === "reply" || kind === "choice" || kind === "doubt"

const chosen = (
  questions: ReadonlyArray<Question>,
  assistant: Fields,
  { edits = {} }: RepliesOptions
): ReadonlyArray<Reply> => {
  const decisions = decisionsIn(assistant)
  const parts = toolPartsOf(assistant)
  return questions.flatMap((question): ReadonlyArray<Reply> => {
    const { id, kind } = question
    if (kind === "approval") {
      return decisions.filter((decision) => decision.id === id).slice(-1).map((decision) => {
        const edited = Object.hasOwn(edits, id) ? edits[id] : undefined
        return decision.approved && edited !== undefined ? { ...decision, arguments: edited } : decision
      })
    }
    const part = parts.find((part) => id.startsWith(`${textAt(part, "toolCallId")}/question/`))
    // The output of a part may be the reply to an earlier question of its call, in a page that has not seen this one.
    const isSeen = kind === "client" || partsOf(assistant).some((part) => part["id"] === id)
    return part === undefined || !isSeen ? [] : resultReply(question, part)
  })
}

// What a page has added to a tool part by `addToolOutput`. In the stream, the part of a call that asks has no output yet.
const resultReply = ({ id, kind }: Question, part: Fields): ReadonlyArray<Reply> => {
  const { output, preliminary, state } = part
  if (state === "output-available" && preliminary !== true) {
    if (kind === "client") return [{ id, result: jsonOf(output) ?? null }]
    return typeof output === "string" ? [{ id, reply: output }] : []
  }
  const failure = textAt(part, "errorText")
  return kind === "client" && state === "output-error" && failure !== undefined ? [{ id, failure }] : []
}
