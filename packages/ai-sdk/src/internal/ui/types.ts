/** What a page sees of a run: the types of a message's own parts, and the options of a stream. */
import type * as AgentEvent from "@fallible/core/AgentEvent"
import type { Certainty } from "@fallible/core/Certainty"
import type { CallEnded } from "@fallible/core/ClientEvent"
import type { Kind, Question, Reply } from "@fallible/core/Question"
import type { HandledBy } from "@fallible/core/ToolOutcome"
import type { InferUIMessageChunk, UIMessage, UITools } from "ai"
import type * as Schema from "effect/Schema"

/**
 * What became of a call that met a failure, was repeated, or is in doubt. A call has at most one, which is updated in place.
 *
 * @category models
 * @since 0.1.0
 */
export interface Recovery {
  /** The id of the call's tool part. */
  readonly toolCallId: string
  readonly tool: string
  /** `running`: the failure is being handled. The two others: how the call ended. */
  readonly status: "running" | "completed" | "failed"
  /** How the last failure was handled; `joined`: an equal call of the same turn ran in its place. Absent if nothing was. */
  readonly by?: HandledBy | "joined"
  /** The code of the last failure. Absent if there was none. */
  readonly code?: string
  /** How many times the tool and its fallbacks have run. */
  readonly attempts: number
  /** Whether the effect of the call has happened. Absent while the call runs. */
  readonly certainty?: Certainty
  /** The wait before the next attempt, in milliseconds. */
  readonly wait?: number
  /** One sentence or two for the customer. */
  readonly text: string
}

/**
 * A question that is answered in words, or by one of its choices. A question for approval is a part of its tool instead.
 *
 * @category models
 * @since 0.1.0
 */
export interface UiQuestion extends Pick<Question, "id" | "tool" | "text" | "choices"> {
  readonly kind: Exclude<Kind, "approval" | "client">
  /** The id of the tool part of the call that asks. */
  readonly toolCallId: string
}

/**
 * What an approval is about: the `approval.descriptor` of a tool part. Send it back as it is, because the `digest` binds the
 * approval to what was shown.
 *
 * @category models
 * @since 0.1.0
 */
export type UiApproval = Pick<Question, "digest" | "text" | "preview" | "expires" | "arguments" | "again">

/**
 * The types of the data parts of a message.
 *
 * | part             | meaning                                                                        |
 * | ---------------- | ------------------------------------------------------------------------------ |
 * | `data-recovery`  | what became of a call that met a failure; its id is the id of the call         |
 * | `data-question`  | a question that the run waits with; its id is the id of the question           |
 * | `data-postponed` | the model asked to wait: a sentence, and after how many milliseconds to go on  |
 * | `data-answer`    | a typed answer, as far as it is written                                        |
 *
 * @category models
 * @since 0.1.0
 */
export type UiData = {
  readonly recovery: Recovery
  readonly question: UiQuestion
  readonly postponed: { readonly message: string; readonly retryAfter: number }
  readonly answer: Schema.Json
}

/**
 * The metadata of a message.
 *
 * @category models
 * @since 0.1.0
 */
export type UiMetadata = {
  /** The id of the suspension that the run waits with; `null` once it has gone on. */
  readonly suspension?: string | null
}

/**
 * A message with the parts that a run has: `useChat<AiSdk.UiMessage>()`. With `AiSdk.UiMessage<InferUITools<typeof tools>>`, the inputs
 * and outputs of tools have their types, which hold if the page is shown them.
 *
 * @category models
 * @since 0.1.0
 */
export type UiMessage<Tools extends UITools = UITools> = UIMessage<UiMetadata, UiData, Tools>

/**
 * One piece of the stream of a message.
 *
 * @category models
 * @since 0.1.0
 */
export type UiChunk = InferUIMessageChunk<UiMessage>

/**
 * What a page sees of a run, and which message it is.
 *
 * @category options
 * @since 0.1.0
 */
export interface UiOptions extends AgentEvent.ForClients {
  /**
   * The messages of the chat, as the page sent them. If the last one is the assistant's, the run goes on with it: a resumed run
   * completes the tool parts that are there. Default: none, so the run begins a message.
   */
  readonly originalMessages?: ReadonlyArray<UIMessage>
  /**
   * The replies with which the run goes on. Who reads the message from its beginning sees each decision before its call runs.
   * Default: what the page shows as decided.
   */
  readonly replies?: ReadonlyArray<Reply>
  /** The id of the message. Default: that of the message that goes on, otherwise the id of the run. */
  readonly messageId?: string
  /**
   * Returns the sentence for a customer. Without one, or if it throws, the customer reads `recovery.text`. Default: always
   * `recovery.text`.
   */
  readonly recoveries?: (recovery: Recovery) => string | undefined
  /**
   * Returns the sentence for a customer about a call that failed. Without one, or if it throws: whether it was done, in general
   * words. Default: those words.
   */
  readonly failures?: (failure: UiFailure) => string | undefined
}

/**
 * A call that failed, as a page may know it.
 *
 * @category models
 * @since 0.1.0
 */
export interface UiFailure extends Pick<CallEnded, "tool" | "error" | "code" | "certainty"> {
  /** The id of the call's tool part. */
  readonly toolCallId: string
}
