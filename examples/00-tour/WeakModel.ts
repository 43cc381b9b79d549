/**
 * A stand-in for a weak language model: a function of its messages. It plays in both loops, and knows neither of them.
 *
 * It looks for its answer in the texts of the tools. If it does not find the answer, it does what a text tells it to do,
 * or else it makes the same call once more. After three errors in a row it gives up.
 */
import type { Model, Transcript } from "@fallible/core"

export type Play = (messages: ReadonlyArray<Transcript.Message>) => Model.Reply

/** The name of a tool, and the arguments as the model writes them. */
export type Call = readonly [name: string, args: string]

export interface Options {
  readonly calls: ReadonlyArray<Call>
  /** The same calls, as the model writes them the next time. Default: the same text. */
  readonly again?: ReadonlyArray<Call>
  /** Finds the answer in the texts of all tools. */
  readonly answer: (texts: string) => string | undefined
  /** What the model says if it gives up. */
  readonly apology: (texts: string) => string
}

export const make = ({ again, answer, apology, calls }: Options): Play => (messages) => {
  const texts = messages.flatMap((message) => message.role === "tool" ? [message.text] : [])
  const last = texts.at(-1)
  if (last === undefined) return call(messages, calls)
  const all = texts.join("\n")
  const found = answer(all)
  if (found !== undefined) return say(found)
  const check = /call (\w+) to find out/i.exec(last)?.[1]
  if (check !== undefined) return call(messages, calls.map(([, args]) => [check, args]))
  const isHopeless = texts.length >= 3 && texts.slice(-3).every((text) => /error|failed/i.test(text))
  return isHopeless || isForbidden(last) ? say(apology(all)) : call(messages, again ?? calls)
}

const isForbidden = (text: string): boolean => /do not (repeat|call)/i.test(text) && !/call again with/i.test(text)

const say = (text: string): Model.Reply => ({ text, calls: [] })

const call = (messages: ReadonlyArray<Transcript.Message>, calls: ReadonlyArray<Call>): Model.Reply => ({
  text: "",
  calls: calls.map(([name, args], index) => ({ id: `call_${messages.length}_${index}`, name, arguments: args }))
})
