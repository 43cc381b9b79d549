/** A connection is lost. The standard policies of the agent retry it. */
import { Tool } from "@fallible/core"
import * as Schema from "effect/Schema"
import * as Fault from "../Fault.ts"
import * as Service from "../Service.ts"
import * as WeakModel from "../WeakModel.ts"

const service: Service.Respond = ({ number }) => number <= 2 ? Service.reset : Service.answer({ celsius: 18 })

const Weather = Schema.Struct({ celsius: Schema.Finite })
const City = Schema.Struct({ city: Schema.String })

const getWeather = (url: string) => ({ city }: typeof City.Type, call: Service.Call) =>
  Service.ask<typeof Weather.Type>(`${url}/weather?city=${city}`, call)

const tool = (url: string) =>
  Tool.promise("get_weather", {
    description: "The weather in a city",
    parameters: City,
    success: Weather,
    sideEffect: "none"
  }, getWeather(url))

const model = WeakModel.make({
  calls: [["get_weather", `{"city":"Paris"}`]],
  answer: (texts) => /"celsius":(\d+)/.exec(texts)?.[1]?.concat(" °C."),
  apology: () => "I could not find out."
})

export const lostConnection: Fault.Fault = {
  title: "A connection is lost",
  setUp: "The weather service resets two connections, and answers the third.",
  question: "How warm is it in Paris?",
  service,
  functions: (url) => ({ get_weather: getWeather(url) }),
  run: (url, question) => Fault.agent(tool(url)).stream(question),
  model,
  isRight: (answer) => answer === "18 °C."
}
