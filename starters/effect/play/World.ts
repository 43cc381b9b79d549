/** What is played: a payment service that loses an answer, and a model. Both are servers on loopback. */
import { NodeHttpServer } from "@effect/platform-node"
import { HttpStub, ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import * as HttpStubServer from "@fallible/testing/HttpStubServer"
import { ConfigProvider, Effect, FileSystem, Layer, References } from "effect"
import * as Backend from "../src/Backend.ts"

/** A payment service that charges once for each key. It takes the first charge, and then the connection breaks. */
const makePayments = Effect.gen(function*() {
  const charges = new Map<string, unknown>()
  const { state, url } = yield* HttpStubServer.make(({ body, headers }) => {
    const key = headers["idempotency-key"] ?? ""
    const isFirst = charges.size === 0
    if (!charges.has(key)) charges.set(key, JSON.parse(body))
    if (isFirst) return HttpStub.reset
    return HttpStub.json({ receipt: `R-${Array.from(charges.keys()).indexOf(key) + 1}`, cents: 2490 })
  })
  return { url, charges, requests: Effect.map(state, ({ requests }) => requests.length) }
})

/** A model that charges order 7 at each question, and then says what it has read. Returns its settings. */
export const playedModel = Effect.map(
  FakeModelServer.make(({ messages }) => {
    const last = messages.at(-1)
    if (last?.role !== "tool") return ScriptedModel.call("charge", { order: "7" })
    return ScriptedModel.text(
      last.text.includes("already_done")
        ? "Order 7 was charged before."
        : last.text.includes("receipt")
        ? "Order 7 is charged: 24.90 EUR."
        : "Order 7 could not be charged."
    )
  }),
  ({ url }) => ({ OLLAMA_HOST: url, OLLAMA_MODEL: "played" })
)

/** A payment service, and a backend on a free port. Each time the backend's layer is provided, it starts anew, with the same database. */
export const make = Effect.fnUntraced(function*(model: object) {
  const payments = yield* makePayments
  const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
  const settings = ConfigProvider.fromUnknown({
    ...model,
    PAYMENTS_URL: payments.url,
    DATABASE: `${folder}/cashier.db`
  })
  const backend = Backend.layer.pipe(
    Layer.provide(ConfigProvider.layerAdd(settings, { asPrimary: true })),
    Layer.provideMerge(NodeHttpServer.layerTest),
    Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "Warn"))
  )
  return { payments, backend }
})
