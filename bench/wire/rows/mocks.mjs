/** What tests put in the place of a service. A mock's silence proves nothing. */
import { lib } from "./clients.mjs"
import { bank, did, missing, ok, post, row, undicis } from "./kit.mjs"

const mockAgent = (name) => async () => {
  const undici = await lib(name)
  const agent = new undici.MockAgent()
  agent.disableNetConnect()
  const pool = agent.get("http://bank.example")
  pool.intercept({ path: "/pay", method: "POST" }).reply(() => {
    did("mocked payment")
    return { statusCode: 200, data: "{}" }
  }).persist()
  pool.intercept({ path: "/refuse", method: "POST" }).reply(402, "{}").persist()
  return { agent, undici }
}

const agentRows = undicis.flatMap(([label, library]) => {
  const options = { before: mockAgent(library) }
  const mocked = (path) => `http://bank.example/${path}`
  return [
    row(
      `${label}'s MockAgent: 402`,
      async (_, { agent, undici }) => ok(await undici.fetch(mocked("refuse"), post({ dispatcher: agent }))),
      options
    ),
    row(
      `${label}'s MockAgent: 200, then an error`,
      async (_, { agent, undici }) => missing(await ok(await undici.fetch(mocked("pay"), post({ dispatcher: agent })))),
      options
    ),
    row(
      `${label}'s MockAgent: 200, then an error, with 'acts.only'`,
      async (_, { agent, undici }) => missing(await ok(await undici.fetch(mocked("pay"), post({ dispatcher: agent })))),
      {
        ...options,
        tool: { acts: { requests: ["POST bank.example/pay"], only: true } }
      }
    )
  ]
})

const globalMock = (library) => async () => {
  const { agent, undici } = await mockAgent(library)()
  const before = undici.getGlobalDispatcher()
  undici.setGlobalDispatcher(agent)
  return () => undici.setGlobalDispatcher(before)
}
const restore = (undo) => undo()
const acts = { acts: { requests: ["POST bank.example/pay"], only: true } }

const stubbed = (answer) => async () => {
  const real = globalThis.fetch
  globalThis.fetch = answer
  return () => {
    globalThis.fetch = real
  }
}
const paying = async (url) => {
  const path = new URL(url).pathname
  if (path === "/refuse") return new Response("{}", { status: 402 })
  did("stubbed payment")
  return new Response("{}")
}

const globalRows = [
  ...undicis.flatMap(([label, library]) => [
    row(
      `the global dispatcher is ${label}'s MockAgent: 200, then an error`,
      async () => missing(await ok(await fetch("http://bank.example/pay", post()))),
      {
        before: globalMock(library),
        after: restore
      }
    ),
    row(
      `the global dispatcher is ${label}'s MockAgent: 200, then an error, with 'acts.only'`,
      async () => missing(await ok(await fetch("http://bank.example/pay", post()))),
      {
        before: globalMock(library),
        after: restore,
        tool: acts
      }
    )
  ]),
  row("a stubbed fetch: 402", async () => ok(await fetch("http://bank.example/refuse", post())), {
    before: stubbed(paying),
    after: restore
  }),
  row(
    "a stubbed fetch: 200, then an error",
    async () => missing(await ok(await fetch("http://bank.example/pay", post()))),
    { before: stubbed(paying), after: restore }
  ),
  row(
    "a stubbed fetch: 200, then an error, with 'acts.only'",
    async () => missing(await ok(await fetch("http://bank.example/pay", post()))),
    {
      before: stubbed(paying),
      after: restore,
      tool: acts
    }
  ),
  row("a stubbed fetch: 200, then axios 402", async (_, { axios }) => {
    await ok(await fetch("http://bank.example/pay", post()))
    await axios.post(bank("/refuse/402"), {})
  }, {
    before: async () => ({ axios: await lib("axios"), undo: await stubbed(paying)() }),
    after: ({ undo }) => undo()
  }),
  row(
    "a stubbed fetch, by the context's fetch: 402",
    async (call) => ok(await call.fetch("http://bank.example/refuse", post())),
    { before: stubbed(paying), after: restore }
  ),
  row(
    "a stubbed fetch, by the context's fetch: 200, then an error",
    async (call) => missing(await ok(await call.fetch("http://bank.example/pay", post()))),
    {
      before: stubbed(paying),
      after: restore
    }
  ),
  row("a stubbed fetch that sends really: 402", async () => ok(await fetch(bank("/refuse/402"), post())), {
    before: stubbed(((real) => (...args) => real(...args))(globalThis.fetch)),
    after: restore
  }),
  row(
    "a stubbed fetch that sends really: 200, then an error",
    async () => missing(await ok(await fetch(bank("/pay"), post()))),
    {
      before: stubbed(((real) => (...args) => real(...args))(globalThis.fetch)),
      after: restore
    }
  )
]

// msw intercepts requests by these.
const interceptors = async () => {
  const { bun, deno, node } = process.versions
  if (bun === undefined && deno === undefined && Number.parseInt(node) < 22) throw new Error("It needs Node 22.")
  const { BatchInterceptor } = await import("@mswjs/interceptors")
  const { ClientRequestInterceptor } = await import("@mswjs/interceptors/ClientRequest")
  const { FetchInterceptor } = await import("@mswjs/interceptors/fetch")
  const interceptor = new BatchInterceptor({
    name: "wire",
    interceptors: [new ClientRequestInterceptor(), new FetchInterceptor()]
  })
  interceptor.apply()
  interceptor.on("request", ({ controller, request }) => {
    const { hostname, pathname } = new URL(request.url)
    if (hostname !== "bank.example") return
    if (pathname === "/pay") did("mocked payment")
    controller.respondWith(new Response("{}", { status: pathname === "/pay" ? 200 : 402 }))
  })
  return { axios: await lib("axios"), undo: () => interceptor.dispose() }
}
const intercepted = { before: interceptors, after: ({ undo }) => undo() }

const interceptedRows = [
  row("msw, fetch: 402", async () => ok(await fetch("http://bank.example/refuse", post())), intercepted),
  row(
    "msw, fetch: 200, then an error",
    async () => missing(await ok(await fetch("http://bank.example/pay", post()))),
    intercepted
  ),
  row(
    "msw, fetch: 200, then an error, with 'acts.only'",
    async () => missing(await ok(await fetch("http://bank.example/pay", post()))),
    { ...intercepted, tool: acts }
  ),
  row("msw, axios: 402", async (_, { axios }) => axios.post("http://bank.example/refuse", {}), intercepted),
  row(
    "msw, axios: 200, then an error",
    async (_, { axios }) => missing(await axios.post("http://bank.example/pay", {})),
    intercepted
  )
]

/** A driver that notes its requests itself. */
const notedRows = [
  row("noteRequest: answered 200, then an error", async ({ noteRequest }) => {
    const request = noteRequest({ method: "POST", url: "bank.example/pay" })
    did("payment of a driver")
    request.answered(200)
    missing()
  }),
  row("noteRequest: answered 402", async ({ noteRequest }) => {
    noteRequest({ method: "POST", url: "bank.example/pay" }).answered(402)
    throw new Error("Declined.")
  }),
  row("noteRequest: not sent", async ({ noteRequest }) => {
    noteRequest({ method: "POST", url: "bank.example/pay" }).failed({ sent: false })
    throw new Error("No connection.")
  }),
  row("noteRequest: never answered, then an error", async ({ noteRequest }) => {
    noteRequest({ method: "POST", url: "bank.example/pay" })
    did("payment of a driver")
    throw new Error("Room A1 is booked.")
  })
]

export const mockRows = [...agentRows, ...globalRows, ...interceptedRows, ...notedRows]
