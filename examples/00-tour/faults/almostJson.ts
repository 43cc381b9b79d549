/** The arguments are almost JSON. They are read, because they have only one reading. */
import { Tool } from "@fallible/core"
import * as Schema from "effect/Schema"
import * as Fault from "../Fault.ts"
import * as Service from "../Service.ts"
import * as WeakModel from "../WeakModel.ts"

const service: Service.Respond = ({ url }) => Service.answer({ city: url.searchParams.get("city"), people: 2_161_000 })

const Population = Schema.Struct({ city: Schema.String, people: Schema.Int })
const City = Schema.Struct({ city: Schema.String })

const getPopulation = (url: string) => ({ city }: typeof City.Type, call: Service.Call) =>
  Service.ask<typeof Population.Type>(`${url}/population?city=${city}`, call)

const tool = (url: string) =>
  Tool.promise("get_population", {
    description: "How many people live in a city",
    parameters: City,
    success: Population,
    sideEffect: "none"
  }, getPopulation(url))

const model = WeakModel.make({
  calls: [["get_population", `{city: 'Paris',}`]],
  again: [["get_population", `{"city":"Paris"}`]],
  answer: (texts) => /"people":(\d+)/.exec(texts)?.[1]?.concat(" people."),
  apology: () => "I could not find out."
})

export const almostJson: Fault.Fault = {
  title: "The model writes arguments that are almost JSON",
  setUp: "They have a bare key, single quotes and a trailing comma.",
  question: "How many people live in Paris?",
  service,
  functions: (url) => ({ get_population: getPopulation(url) }),
  run: (url, question) => Fault.agent(tool(url)).stream(question),
  model,
  isRight: (answer) => answer === "2161000 people."
}
