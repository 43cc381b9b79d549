/**
 * The tools of the orders agent: the guarded search, one that also fetches all pages, and one without guards.
 *
 * The guarded tool checks each answer of the service in four stages. Each stage has its own failure, and each failure
 * says what to do next:
 *
 *     text ─ JSON ─ schema ─ rules ─ extent
 *            │      │        │       └ PartialData: the arguments of the next page
 *            │      │        └ SemanticGarbage: no answer to this question, by a code for each rule;
 *            │      │          SchemaMismatch: the result contradicts itself
 *            │      └ SchemaMismatch: a status that nobody knows
 *            └ SchemaMismatch: cut off, ask for less
 */
import { Guard, Policy, SemanticGarbage, Tool, ToolFailure, Toolkit } from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { OrderServer } from "./OrderServer.ts"
import { Customer, OrdersPage } from "./World.ts"

/** Requests a path of the order service, and returns the body as a text. */
const get = (path: string, urlParams: Readonly<Record<string, string | number>>) =>
  Effect.gen(function*() {
    const { url } = yield* OrderServer
    const client = HttpClient.filterStatusOk(yield* HttpClient.HttpClient).pipe(
      HttpClient.mapRequest(HttpClientRequest.prependUrl(url))
    )
    const response = yield* client.get(path, { urlParams, acceptJson: true })
    return yield* response.text
  })

const parameters = Schema.Struct({
  customer: Schema.String.annotate({ description: "The id of the customer, such as c-17" }),
  page: Schema.optionalKey(Schema.Int).annotate({ description: "The number of the page, from 1" }),
  limit: Schema.optionalKey(Schema.Int).annotate({ description: "How many orders a page has; 50 by default" })
})

/** Rules of an answer to a question. Each has its own code, so that operators see which one the service breaks. */
const answersQuestion = ({ customer, page = 1 }: typeof parameters.Type) => ({ orders, total }: OrdersPage) =>
  orders.some((order) => order.customer !== customer)
    ? wrongAnswer("foreign_orders", "The order service answered with orders of another customer.")
    : page === 1 && orders.length === 0 && total > 0
    ? wrongAnswer("empty_first_page", `The order service counts ${total} orders, but its first page has none.`)
    : undefined

const wrongAnswer = (code: string, detail: string) =>
  new SemanticGarbage({ code, detail, hint: "Tell the user that the order service is at fault." })

const searchOrders = Tool.make("search_orders", {
  description: "Lists the orders of a customer, page by page",
  parameters,
  success: OrdersPage,
  sideEffect: "none",
  instead: ["find_customer"],
  invariants: {
    "the total counts at least the orders of the page": ({ orders, total }) => total >= orders.length
  },
  empty: {
    detail: "This customer has no orders.",
    hint: "If you sent a name, look up its id with find_customer."
  },
  pages: { more: "has_more", next: "page" },
  size: "limit"
}, (params) =>
  get("/orders", params).pipe(
    HttpFailure.classify,
    Guard.json(OrdersPage),
    Guard.check(answersQuestion(params))
  ))

const findCustomer = Tool.make("find_customer", {
  description: "Finds customers by name",
  parameters: Schema.Struct({ name: Schema.String }),
  success: Schema.Array(Customer),
  sideEffect: "none",
  empty: "No customer has this name."
}, ({ name }) =>
  get("/customers", { name }).pipe(
    HttpFailure.classify,
    Guard.json(Schema.Array(Customer))
  ))

export const toolkit = Toolkit.make(searchOrders, findCustomer).pipe(Toolkit.withDefaults(Policy.standard()))

/** The guarded search, which fetches all pages itself: the model calls it once, and reads one result. */
const searchAllOrders = searchOrders.pipe(
  Tool.paginate({ merge: (soFar, page) => ({ ...page, orders: [...soFar.orders, ...page.orders] }) })
)

export const allPagesToolkit = Toolkit.make(searchAllOrders, findCustomer).pipe(
  Toolkit.withDefaults(Policy.standard())
)

/** The same search as many agents have it: whatever goes wrong is a text like any other. */
const plainSearch = Tool.make(
  "search_orders",
  { description: searchOrders.description, parameters, success: Schema.String, sideEffect: "none" },
  (params) =>
    get("/orders", params).pipe(
      Effect.map((body) => isJson(body) ? body : "Error: the tool returned invalid JSON"),
      Effect.mapError((error) => ToolFailure.from(error))
    )
).pipe(Tool.timeout("30 seconds"))

export const plainToolkit = Toolkit.make(plainSearch)

const isJson = (body: string) => Option.isSome(readJson(body))

const readJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Json))
