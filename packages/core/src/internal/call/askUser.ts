import type * as Fiber from "effect/Fiber"
import { SuspendSignal } from "../failure/controlSignal.ts"
import { textOf } from "../failure/failureField.ts"
import { kind } from "../value/text.ts"
import { silence } from "../value/untrusted.ts"
import { current } from "./scope.ts"
import { standaloneReply } from "./withoutAgent.ts"

/**
 * Returns the user's reply to a question of a handler. If there is none yet, returns the defect with which the handler
 * must end.
 */
export const askUser = (fiber: Fiber.Fiber<unknown, unknown>, question: string): string | SuspendSignal | TypeError => {
  const { id, live } = fiber.getRef(current)
  const text = textOf(question) ?? "The tool asked an empty question."
  const reply: unknown = live.replyTo(id, text) ?? fiber.getRef(standaloneReply)(text)
  if (reply === undefined) return new SuspendSignal(text, id)
  if (typeof reply === "string") return reply
  silence(reply)
  return new TypeError(`The reply to a question must be a string; got ${kind(reply)}.`)
}
