/** A payment is made, and its answer is lost. The call is not repeated, and the model is told which tool can find out. */
import { Tool } from "@fallible/core"
import * as Schema from "effect/Schema"
import * as Fault from "../Fault.ts"
import * as Service from "../Service.ts"
import * as WeakModel from "../WeakModel.ts"

const service: Service.Respond = ({ number, payments, url }) => {
  if (url.pathname === "/status") return Service.answer({ paid: payments.length > 0 })
  payments.push(30)
  return number === 1 ? Service.reset : Service.answer({ paid: true })
}

const Status = Schema.Struct({ paid: Schema.Boolean })
const Order = Schema.Struct({ order: Schema.Int })

const pay = (url: string) => ({ order }: typeof Order.Type, call: Service.Call) =>
  Service.ask<typeof Status.Type>(`${url}/payments?order=${order}`, call, "POST")

const paymentStatus = (url: string) => ({ order }: typeof Order.Type, call: Service.Call) =>
  Service.ask<typeof Status.Type>(`${url}/status?order=${order}`, call)

const tools = (url: string) => [
  Tool.promise("pay", {
    description: "Pays an order",
    parameters: Order,
    success: Status,
    identity: ({ order }) => order,
    check: "payment_status"
  }, pay(url)),
  Tool.promise("payment_status", {
    description: "Is an order paid?",
    parameters: Order,
    success: Status,
    sideEffect: "none"
  }, paymentStatus(url))
]

const model = WeakModel.make({
  calls: [["pay", `{"order":7}`]],
  answer: (texts) => /"paid":true/.test(texts) ? "Order 7 is paid." : undefined,
  apology: () => "I do not know whether order 7 is paid."
})

export const lostPayment: Fault.Fault = {
  title: "A payment is made, and its answer is lost",
  setUp: "The service pays, and then drops the connection.",
  question: "Pay order 7.",
  service,
  functions: (url) => ({ pay: pay(url), payment_status: paymentStatus(url) }),
  run: (url, question) => Fault.agent(...tools(url)).stream(question),
  model,
  due: [30],
  isRight: (answer) => answer === "Order 7 is paid."
}
