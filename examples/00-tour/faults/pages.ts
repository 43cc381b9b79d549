/** A list comes in pages. The tool declares how, and `Tool.paginate` fetches them all. */
import { Tool } from "@fallible/core"
import * as Schema from "effect/Schema"
import * as Fault from "../Fault.ts"
import * as Service from "../Service.ts"
import * as WeakModel from "../WeakModel.ts"

const orders = Array.from({ length: 25 }, (_, index) => ({ id: index + 1, euros: 10 + index }))
const spent = orders.reduce((sum, { euros }) => sum + euros, 0)

const service: Service.Respond = ({ url }) => {
  const page = Number(url.searchParams.get("page"))
  return Service.answer({ orders: orders.slice((page - 1) * 10, page * 10), has_more: page * 10 < orders.length })
}

const Page = Schema.Struct({
  orders: Schema.Array(Schema.Struct({ id: Schema.Int, euros: Schema.Int })),
  has_more: Schema.Boolean
})
const Parameters = Schema.Struct({ page: Schema.optionalKey(Schema.Int) })

const listOrders = (url: string) => ({ page = 1 }: typeof Parameters.Type, call: Service.Call) =>
  Service.ask<typeof Page.Type>(`${url}/orders?page=${page}`, call)

const tool = (url: string) =>
  Tool.promise("list_orders", {
    description: "Lists the orders of this year",
    parameters: Parameters,
    success: Page,
    sideEffect: "none",
    pages: { more: "has_more", next: "page" }
  }, listOrders(url)).pipe(
    Tool.paginate({ merge: (soFar, page) => ({ ...page, orders: [...soFar.orders, ...page.orders] }) })
  )

const model = WeakModel.make({
  calls: [["list_orders", "{}"]],
  answer: (texts) => {
    const amounts = Array.from(texts.matchAll(/"euros":(\d+)/g), ([, euros]) => Number(euros))
    return amounts.length === 0 ? undefined : `${amounts.reduce((sum, euros) => sum + euros, 0)} euros.`
  },
  apology: () => "I could not find out."
})

export const pages: Fault.Fault = {
  title: "A list comes in pages",
  setUp: `${orders.length} orders, 10 on a page. The model adds up what it reads, and overlooks "has_more".`,
  question: "What did we spend this year?",
  service,
  functions: (url) => ({ list_orders: listOrders(url) }),
  run: (url, question) => Fault.agent(tool(url)).stream(question),
  model,
  isRight: (answer) => answer === `${spent} euros.`
}
