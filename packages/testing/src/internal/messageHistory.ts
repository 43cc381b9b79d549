import type { Transcript } from "@fallible/core"

/**
 * Returns what is wrong with a conversation, if anything. The results of a message's calls must follow
 * directly after the message, and every result needs a call.
 */
export const problemIn = (messages: ReadonlyArray<Transcript.Message>): string | undefined => {
  const pending = new Set<string>()
  const unanswered = () => `the calls ${Array.from(pending).join(", ")} have no result.`
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`
    if (message.role === "tool") {
      if (!pending.delete(message.callId)) return `${at}: the result of '${message.callId}' answers no call.`
      continue
    }
    if (pending.size > 0) return `${at}: ${unanswered()}`
    if (message.role !== "assistant") continue
    for (const { id } of message.calls) {
      if (pending.has(id)) return `${at}: two calls have the id '${id}'.`
      pending.add(id)
    }
  }
  return pending.size > 0 ? unanswered() : undefined
}

/** Returns the first problem of the items of a list. */
export const firstProblem = <A>(
  items: ReadonlyArray<A>,
  problemOf: (item: A, index: number) => string | undefined
): string | undefined => {
  for (const [index, item] of items.entries()) {
    const problem = problemOf(item, index)
    if (problem !== undefined) return problem
  }
  return undefined
}
