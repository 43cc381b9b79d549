/** The messages of the page: those of an agent, and a notice of the server. */
import type { AiSdk } from "@fallible/ai-sdk"
import type { UIMessage } from "ai"

export type Message = UIMessage<
  AiSdk.UiMetadata,
  AiSdk.UiData & {
    /** Why there is no answer. */
    readonly notice: { readonly text: string }
  }
>

export type Part = Message["parts"][number]

/** What a user has written in a message. */
export const textOf = ({ parts }: Message): string =>
  parts.map((part) => part.type === "text" ? part.text : "").join("")
