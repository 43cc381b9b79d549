/**
 * What goes wrong at the services. The SDK of the payment service repeats a request once. So a fault that hits two requests
 * outlasts it.
 */
import type { Fault } from "./TravelServer.ts"

const charges = "POST /v1/charges"

export const faults = {
  lost: { at: charges, acts: true, answer: "reset", times: 2 },
  unreached: { at: charges, acts: false, answer: "reset", times: 2 },
  failed: { at: charges, acts: true, answer: 500, times: 2 },
  unavailable: { at: charges, acts: false, answer: 503, times: 2 },
  busy: { at: charges, acts: false, answer: 429, headers: { "retry-after": "1" }, times: 1 },
  slow: { at: charges, acts: true, answer: "silence", times: 2 },
  full: { at: "POST /bookings", acts: false, answer: 409, times: 1 },
  "no-mail": { at: "POST /mails", acts: false, answer: 503 }
} satisfies Readonly<Record<string, Fault>>

export type FaultName = keyof typeof faults

/** What each fault is, for the customer of the command line. */
export const sentences: Readonly<Record<FaultName, string>> = {
  lost: "The card is charged, and the connection breaks before the answer comes. So does the next one.",
  unreached: "The connection breaks before the card is charged. So does the next one.",
  failed: "The card is charged, and the answer is a 500, twice.",
  unavailable: "The payment service answers 503, twice, and charges nothing.",
  busy: "The payment service answers 429 once: try again in a second.",
  slow: "The card is charged, and no answer comes, twice.",
  full: "The first flight is sold out.",
  "no-mail": "The mail service answers 503."
}
