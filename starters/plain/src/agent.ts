import { Agent, Policy, Tool, Toolkit } from "@fallible/core"
import { Schema } from "effect"

const bank = () => process.env.BANK_URL ?? "https://bank.example"

const charge = Tool.promise("charge", {
  description: "Charges the customer's card for an order",
  parameters: Schema.Struct({ order: Schema.String, euros: Schema.Finite, note: Schema.String }),
  success: Schema.Struct({ receipt: Schema.String }), // what the model reads of a result
  sideEffect: "idempotent_by_key", // this bank charges once for each key
  identity: ({ order }) => order, // calls for one order mean one charge, whatever the note says
  repeats: false // what was charged is not charged again
}, async (payment, { fetch, refuse }) => {
  const response = await fetch.withKey(`${bank()}/charges`, { // sends the key of the charge
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(payment)
  })
  if (response.status === 402) return refuse("The card was declined.") // nothing was done, and the model may say so
  if (!response.ok) throw response // any error will do: it becomes a failure that the model can act on
  return await response.json() as { receipt: string }
})

export const agent = Agent.make({
  instructions: "You are the assistant of a shop.",
  toolkit: Toolkit.make(charge),
  policies: Policy.standard() // retries, timeouts and a deadline for each tool
})
