import type { Transcript } from "@fallible/core"

/** What is wrong with a conversation, if anything: every call has its result, right behind it, and nothing else has one. */
export const problemIn = (messages: ReadonlyArray<Transcript.Message>): string | undefined => {
  const waiting = new Set<string>()
  const unanswered = () => `the calls ${Array.from(waiting).join(", ")} have no result.`
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`
    if (message.role === "tool") {
      if (!waiting.delete(message.callId)) return `${at}: the result of '${message.callId}' answers no call.`
      continue
    }
    if (waiting.size > 0) return `${at}: ${unanswered()}`
    if (message.role !== "assistant") continue
    for (const { id } of message.calls) {
      if (waiting.has(id)) return `${at}: two calls have the id '${id}'.`
      waiting.add(id)
    }
  }
  return waiting.size > 0 ? unanswered() : undefined
}
