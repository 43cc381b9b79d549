/** The model repeats itself. The guard of the agent notices, and tells it. */
import { Tool } from "@fallible/core"
import * as Schema from "effect/Schema"
import * as Fault from "../Fault.ts"
import * as Service from "../Service.ts"
import * as WeakModel from "../WeakModel.ts"

const service: Service.Respond = () => Service.answer([{ title: "Shipping: two days" }])

const Documents = Schema.Array(Schema.Struct({ title: Schema.String }))
const Query = Schema.Struct({ query: Schema.String })

const search = (url: string) => ({ query }: typeof Query.Type, call: Service.Call) =>
  Service.ask<typeof Documents.Type>(`${url}/documents?query=${query}`, call)

const tool = (url: string) =>
  Tool.promise("search", {
    description: "Searches the documents",
    parameters: Query,
    success: Documents,
    sideEffect: "none"
  }, search(url))

const model = WeakModel.make({
  calls: [["search", `{"query":"refund"}`]],
  answer: (texts) => /Refund: (\w+ days)/.exec(texts)?.[1],
  apology: () => "The documents do not say."
})

export const loop: Fault.Fault = {
  title: "The model makes the same call again and again",
  setUp: "No document has the answer, and the model goes on searching.",
  question: "How long does a refund take?",
  service,
  functions: (url) => ({ search: search(url) }),
  run: (url, question) => Fault.agent(tool(url)).stream(question),
  model,
  isRight: (answer) => answer === "The documents do not say."
}
