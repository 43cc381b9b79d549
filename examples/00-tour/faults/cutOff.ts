/** The arguments are cut off. They are refused: what is missing cannot be known. */
import { Tool } from "@fallible/core"
import * as Schema from "effect/Schema"
import * as Fault from "../Fault.ts"
import * as Service from "../Service.ts"
import * as WeakModel from "../WeakModel.ts"

const service: Service.Respond = ({ payments, url }) => {
  payments.push(Number(url.searchParams.get("amount")))
  return Service.answer({ receipt: `r-${payments.length}` })
}

const Receipt = Schema.Struct({ receipt: Schema.String })
const Transfer = Schema.Struct({ to: Schema.String, amount: Schema.Finite })

const transfer = (url: string) => ({ amount, to }: typeof Transfer.Type, call: Service.Call) =>
  Service.ask<typeof Receipt.Type>(`${url}/transfers?to=${to}&amount=${amount}`, call, "POST")

const tool = (url: string) =>
  Tool.promise("transfer", {
    description: "Transfers money",
    parameters: Transfer,
    success: Receipt,
    identity: ({ amount, to }) => ({ to, amount })
  }, transfer(url))

const model = WeakModel.make({
  calls: [["transfer", `{"to":"Ada","amount":1`]],
  again: [["transfer", `{"to":"Ada","amount":1500}`]],
  answer: (texts) => /"receipt"/.test(texts) ? "Ada has her 1500." : undefined,
  apology: () => "I could not transfer it."
})

/** Closes every string, list and object that is still open, as parsers for streamed arguments do. */
const parseLeniently = (text: string): unknown => {
  const open: Array<string> = []
  for (const [token] of text.matchAll(/\\.|["{}[\]]/g)) {
    if (token === open.at(-1)) open.pop()
    else if (open.at(-1) === "\"") continue
    else if (token === "\"" || token === "{" || token === "[") open.push(closing[token])
  }
  return JSON.parse(text + open.toReversed().join(""))
}
const closing = { "\"": "\"", "{": "}", "[": "]" } as const

export const cutOff: Fault.Fault = {
  title: "The model's arguments are cut off in a number",
  setUp: "The model means 1500, but its text ends after the digit 1.",
  question: "Transfer 1500 to Ada.",
  service,
  functions: (url) => ({ transfer: transfer(url) }),
  run: (url, question) => Fault.agent(tool(url)).stream(question),
  model,
  due: [1500],
  isRight: (answer) => answer === "Ada has her 1500.",
  parser: { name: "a parser that closes brackets", parse: parseLeniently }
}
