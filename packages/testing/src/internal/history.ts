import type { Transcript } from "@fallible/core"

/** What is wrong with a conversation, if anything: every call has its result, right behind it, and nothing else has one. */
export const problemIn = (messages: ReadonlyArray<Transcript.Message>): string | undefined => {
  let waiting: ReadonlyArray<string> = []
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`
    if (message.role === "tool") {
      if (!waiting.includes(message.callId)) return `${at}: the result of '${message.callId}' answers no call.`
      waiting = waiting.filter((id) => id !== message.callId)
    } else {
      if (waiting.length > 0) return `${at}: the calls ${waiting.join(", ")} have no result.`
      waiting = message.role === "assistant" ? message.calls.map(({ id }) => id) : []
      if (new Set(waiting).size !== waiting.length) return `${at}: two calls have the same id.`
    }
  }
  return waiting.length > 0 ? `the calls ${waiting.join(", ")} have no result.` : undefined
}
