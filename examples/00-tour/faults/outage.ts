/** A service is down. `LastKnown` answers with an old value, and says how old it is. */
import { Tool } from "@fallible/core"
import * as LastKnown from "@fallible/core/LastKnown"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Fault from "../Fault.ts"
import * as Service from "../Service.ts"
import * as WeakModel from "../WeakModel.ts"

const service: Service.Respond = () => Service.status(503)

const Rate = Schema.Struct({ rate: Schema.Finite })
const Pair = Schema.Struct({ from: Schema.String, to: Schema.String })

const getRate = (url: string) => ({ from, to }: typeof Pair.Type, call: Service.Call) =>
  Service.ask<typeof Rate.Type>(`${url}/rates/${from}/${to}`, call)

const tool = (url: string) =>
  Tool.promise("get_rate", {
    description: "An exchange rate",
    parameters: Pair,
    success: Rate,
    sideEffect: "none"
  }, getRate(url)).pipe(LastKnown.fallback({ maxAge: "1 day" }))

/** A store that has kept an answer of the service for a little more than three hours. */
const store = LastKnown.LastKnown.of({
  get: () =>
    Effect.map(Clock.currentTimeMillis, (now) => Option.some({ value: { rate: 1.08 }, at: now - 3.1 * 3_600_000 })),
  set: () => Effect.void
})

const model = WeakModel.make({
  calls: [["get_rate", `{"from":"EUR","to":"USD"}`]],
  answer: (texts) => {
    const rate = /"rate":([\d.]+)/.exec(texts)?.[1]
    const age = /(\d+h) old/.exec(texts)?.[1]
    return rate === undefined ? undefined : `It was ${rate}${age === undefined ? "" : `, ${age} ago`}.`
  },
  apology: () => "I could not find out."
})

export const outage: Fault.Fault = {
  title: "A service is down",
  setUp:
    "The service answers 503. The tool of the agent has a store (LastKnown), which kept the rate of three hours ago.",
  question: "How many dollars is a euro?",
  service,
  functions: (url) => ({ get_rate: getRate(url) }),
  run: (url, question) =>
    Fault.agent(tool(url)).stream(question).pipe(Stream.provideService(LastKnown.LastKnown, store)),
  model,
  isRight: (answer) => answer === "It was 1.08, 3h ago."
}
