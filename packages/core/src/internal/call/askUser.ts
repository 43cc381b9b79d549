import type * as Fiber from "effect/Fiber"
import { type Asked, SuspendSignal } from "../failure/controlSignal.ts"
import { textOf } from "../failure/failureField.ts"
import { excerpt, kind, list } from "../value/text.ts"
import { silence } from "../value/untrusted.ts"
import { current } from "./scope.ts"
import { standaloneReply } from "./withoutAgent.ts"

/**
 * The options of a question to the user.
 *
 * @category models
 * @since 0.1.0
 */
export interface AskOptions {
  /** The replies to choose from: different texts, whatever their case. No other reply is taken. Default: any text. */
  readonly choices?: ReadonlyArray<string>
}

/**
 * Returns the user's reply to a question of a handler. If there is none yet, returns the defect with which the handler
 * must end.
 *
 * @param asks what kind of question it is; default: one for a text, or for one of the choices
 */
export const askUser = (
  fiber: Fiber.Fiber<unknown, unknown>,
  question: string,
  { choices }: AskOptions = {},
  asks: Asked = choices === undefined ? { kind: "reply" } : { kind: "choice", choices }
): string | SuspendSignal | TypeError => {
  const { id, live } = fiber.getRef(current)
  const text = textOf(question) ?? "The tool asked an empty question."
  if (choices !== undefined && !areChoices(choices)) {
    return new TypeError(`The choices of a question must be a list of different texts; got ${kind(choices)}.`)
  }
  const reply: unknown = live.replyTo(id, text) ?? fiber.getRef(standaloneReply)(text)
  if (reply === undefined) return new SuspendSignal(text, id, asks)
  if (typeof reply !== "string") {
    silence(reply)
    return new TypeError(`The reply to a question must be a string; got ${kind(reply)}.`)
  }
  const chosen = choices === undefined ? reply : choiceOf(choices, reply)
  return chosen ??
    new TypeError(`The reply to a question must be one of ${list(choices ?? [])}; got ${excerpt(reply)}.`)
}

/** Returns the choice that a reply names; `undefined` if it names none. */
export const choiceOf = (choices: ReadonlyArray<string>, reply: string): string | undefined =>
  choices.find((choice) => choice === reply) ?? choices.find((choice) => folded(choice) === folded(reply))

const folded = (text: string): string => text.trim().toLowerCase()

const areChoices = (choices: unknown): boolean =>
  Array.isArray(choices) && choices.length > 0 && new Set(choices.map((choice) =>
      folded(String(choice))
    )).size === choices.length &&
  choices.every((choice) => typeof choice === "string" && choice.trim() !== "")
