/**
 * The four tools, as a program of the AI SDK has them. All three programs use them as they are.
 */
import { type Tool, tool } from "ai"
import { z } from "zod"
import type { Payments } from "./Payments.ts"
import type { Charge } from "./TravelServer.ts"

const search = z.object({ from: z.string(), to: z.string(), day: z.string() })
const seat = z.object({ flight: z.string(), passenger: z.string() })
const payment = z.object({
  booking: z.string(),
  euros: z.number().positive(),
  note: z.string().describe("What the customer reads on the statement")
})
const mail = z.object({ booking: z.string(), text: z.string() })

export interface Services {
  /** Where the airline and the mail service are. */
  readonly url: string
  readonly payments: Payments
  /** The idempotency key of a charge, from the arguments of `execute`. */
  readonly keyOf: (input: z.infer<typeof payment>, options: { readonly toolCallId: string }) => string
}

export type TravelTools = {
  readonly searchFlights: Tool<z.infer<typeof search>, unknown>
  readonly bookFlight: Tool<z.infer<typeof seat>, unknown>
  readonly chargeCard: Tool<z.infer<typeof payment>, Charge>
  readonly sendConfirmation: Tool<z.infer<typeof mail>, unknown>
}

export const travelTools = ({ keyOf, payments, url }: Services): TravelTools => ({
  searchFlights: tool({
    description: "Lists the flights of a day, with prices in euros",
    inputSchema: search,
    execute: async ({ day, from, to }) => send(`${url}/flights?${new URLSearchParams({ day, from, to }).toString()}`)
  }),
  bookFlight: tool({
    description: "Books a seat on a flight",
    inputSchema: seat,
    execute: async (input) => send(`${url}/bookings`, input)
  }),
  chargeCard: tool({
    description: "Charges the customer's card for a booking",
    inputSchema: payment,
    // AI SDK 7 also has `toolApproval` of `streamText`. This works in 6 and 7.
    needsApproval: true,
    execute: async (input, options) => payments.charges.create(input, { idempotencyKey: keyOf(input, options) })
  }),
  sendConfirmation: tool({
    description: "Sends the customer a mail that confirms a booking",
    inputSchema: mail,
    execute: async (input) => send(`${url}/mails`, input)
  })
})

const send = async (url: string, body?: object): Promise<unknown> => {
  const response = await fetch(
    url,
    body === undefined
      ? {}
      : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }
  )
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  return response.json()
}

/** What the model is told first. */
export const instructions =
  "You are a travel assistant. Find the cheapest flight, book it, charge the card, and send a confirmation."
