/**
 * A stand-in for a language model. It sees only the texts of messages, and knows no library. It goes from step to step:
 * search, book, charge, confirm. If a step failed, it does what the text says. If the text says nothing, it makes the call
 * again, in other words, as models do. After three tries it gives up, and says what it has read.
 */
import type { Model, Transcript } from "@fallible/core"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

export const reply = (messages: ReadonlyArray<Transcript.Message>): Model.Reply => {
  const steps = stepsOf(messages)
  const flights = found(steps, "searchFlights", /"flight":"(\w+)"/g)
  const [flight] = flights
  if (flight === undefined) return tried(steps, "searchFlights", { from: "OSL", to: "FCO", day: "2027-05-02" })

  const soldOut = steps.filter(({ text }) => /sold out/i.test(text)).length
  const next = flights[soldOut]
  if (next === undefined) return say("All flights are sold out. Nothing was booked or charged.")
  const [booking] = found(steps, "bookFlight", /"booking":"([\w-]+)"/g)
  if (booking === undefined) return tried(steps, "bookFlight", { flight: next, passenger: "Ada" }, soldOut)
  const [booked = next] = found(steps, "bookFlight", /"flight":"(\w+)"/g)
  const euros = Number(found(steps, "bookFlight", /"euros":(\d+)/g)[0])

  const [receipt] = found(steps, "chargeCard", /"id":"(ch_\d+)"/g)
  const wasCharged = receipt !== undefined || steps.some(({ text, tool }) => tool === "chargeCard" && isDone(text))
  if (!wasCharged) return tried(steps, "chargeCard", { booking, euros, note: `Flight ${booked}` })

  const paid = `Flight ${booked} is booked (${booking}), and ${euros} euros are paid${receipt ? ` (${receipt})` : ""}.`
  if (found(steps, "sendConfirmation", /("sent":true)/g).length > 0) return say(`${paid} A confirmation is on its way.`)
  return tried(steps, "sendConfirmation", { booking, text: paid }, 0, paid)
}

/** Makes a call, or makes it again, or gives up. `before` counts failures that do not matter any more. */
const tried = (steps: ReadonlyArray<Step>, tool: string, args: object, before = 0, known = ""): Model.Reply => {
  const failed = steps.filter((step) => step.tool === tool).slice(before)
  const text = failed.at(-1)?.text
  if (text === undefined) return call(steps, tool, args)
  const said = detailIn(text)
  if (isInDoubt(text)) return say(`${known} I do not know whether this was done: ${tool}. ${said}`.trim())
  if (failed.length >= 3 || isForbidden(text)) return say(`${known} I could not do this: ${tool}. ${said}`.trim())
  return call(steps, tool, "note" in args ? { ...args, note: `${String(args.note)} (try ${failed.length + 1})` } : args)
}

// -----------------------------------------------------------------------------
// What the model reads
// -----------------------------------------------------------------------------

interface Step {
  readonly tool: string
  readonly text: string
}

const stepsOf = (messages: ReadonlyArray<Transcript.Message>): ReadonlyArray<Step> =>
  messages.flatMap((message) => message.role === "tool" ? [{ tool: message.name, text: message.text }] : [])

const found = (steps: ReadonlyArray<Step>, tool: string, pattern: RegExp): ReadonlyArray<string> =>
  steps.flatMap((step) => step.tool === tool ? Array.from(step.text.matchAll(pattern), ([, group = ""]) => group) : [])

const isDone = (text: string): boolean => /already_done/.test(text)

const isInDoubt = (text: string): boolean => /may already have taken effect|may have been done/i.test(text)

const isForbidden = (text: string): boolean =>
  /do not (?:repeat|call)/i.test(text) && !/call again with corrected/i.test(text)

/** What went wrong, without the JSON around it. The AI SDK wraps an error's text once more. */
const detailIn = (text: string): string =>
  Option.match(readFailure(text), {
    onNone: () => text,
    onSome: ({ detail, error }) => detail ?? detailIn(error)
  })

const readFailure = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ error: Schema.String, detail: Schema.optionalKey(Schema.String) }))
)

// -----------------------------------------------------------------------------
// What the model writes
// -----------------------------------------------------------------------------

const say = (text: string): Model.Reply => ({ text, calls: [] })

const call = (steps: ReadonlyArray<Step>, name: string, args: object): Model.Reply => ({
  text: "",
  calls: [{ id: `call_${steps.length + 1}`, name, arguments: JSON.stringify(args) }]
})
