/** A tool hangs. Its time is limited, and the result of the other tool is kept. */
import { Tool } from "@fallible/core"
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as Fault from "../Fault.ts"
import * as Service from "../Service.ts"
import * as WeakModel from "../WeakModel.ts"

const service: Service.Respond = ({ url }) =>
  url.pathname === "/news" ? Service.silence : Service.answer({ celsius: 18 })

const Weather = Schema.Struct({ celsius: Schema.Finite })
const News = Schema.Struct({ headline: Schema.String })
const City = Schema.Struct({ city: Schema.String })

const getWeather = (url: string) => ({ city }: typeof City.Type, call: Service.Call) =>
  Service.ask<typeof Weather.Type>(`${url}/weather?city=${city}`, call)

const getNews = (url: string) => ({ city }: typeof City.Type, call: Service.Call) =>
  Service.ask<typeof News.Type>(`${url}/news?city=${city}`, call)

const reading = { parameters: City, sideEffect: "none" } as const

const tools = (url: string) => [
  Tool.promise("get_weather", { description: "The weather in a city", success: Weather, ...reading }, getWeather(url)),
  Tool.promise("get_news", { description: "The news of a city", success: News, ...reading }, getNews(url)).pipe(
    Tool.timeout("500 millis")
  )
]

const model = WeakModel.make({
  calls: [["get_weather", `{"city":"Paris"}`], ["get_news", `{"city":"Paris"}`]],
  answer: (texts) => /"headline":"([^"]*)"/.exec(texts)?.[1],
  apology: (texts) => `It is ${/"celsius":(\d+)/.exec(texts)?.[1]} °C. I could not get the news.`
})

export const hangingTool: Fault.Fault = {
  title: "A tool hangs",
  setUp: "The model asks for the weather and the news. The news service never answers.",
  question: "What is going on in Paris?",
  service,
  functions: (url) => ({ get_weather: getWeather(url), get_news: getNews(url) }),
  run: (url, question) => Fault.agent(...tools(url)).stream(question),
  model,
  isRight: (answer) => answer === "It is 18 °C. I could not get the news.",
  patience: Duration.seconds(2)
}
