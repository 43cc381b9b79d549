/** Handlers that use a client library, with its retries, redirects, proxies and protocols. */
import * as Http from "node:http"
import * as Http2 from "node:http2"
import * as Https from "node:https"
import { bank, closed, missing, noTls, nowhere, ok, ports, post, proxy, row, secure, sleep, undicis } from "./kit.mjs"

const lib = async (name) => {
  const module = await import(name)
  return module.default ?? module
}

/** A row whose library is loaded before. */
const withLib = (label, name = label) => (title, run, options = {}) =>
  row(`${label}: ${title}`, (call, kept, number) => run(kept, call, number), { before: () => lib(name), ...options })

// -----------------------------------------------------------------------------
// axios
// -----------------------------------------------------------------------------

const ofAxios = withLib("axios")

const axiosRows = [
  ...[402, 404, 409, 429].map((code) => ofAxios(String(code), (axios) => axios.post(bank(`/refuse/${code}`), {}))),
  ofAxios("503", (axios) => axios.post(bank("/busy"), {})),
  ofAxios("500, acted", (axios) => axios.post(bank("/acting/500"), {})),
  ofAxios("200, then an error", async (axios) => missing(await axios.post(bank("/pay"), {}))),
  ofAxios("dropped", (axios) => axios.post(bank("/drop"), {})),
  ofAxios("connection refused", (axios) => axios.post(closed("/pay"), {})),
  ofAxios("unknown host", (axios) => axios.post(nowhere("/pay"), {})),
  ofAxios("no TLS there", (axios) => axios.post(noTls("/pay"), {})),
  ofAxios("a certificate that is not trusted", (axios) => axios.post(secure("/pay"), {})),
  ofAxios(
    "TLS, 402",
    (axios) => axios.post(secure("/refuse/402"), {}, { httpsAgent: new Https.Agent({ rejectUnauthorized: false }) })
  ),
  ofAxios(
    "TLS, 200, then an error",
    async (axios) =>
      missing(await axios.post(secure("/pay"), {}, { httpsAgent: new Https.Agent({ rejectUnauthorized: false }) }))
  ),
  ofAxios("timeout before the answer", (axios) => axios.post(bank("/hang"), {}, { timeout: 80 })),
  ofAxios("aborted at once", (axios) => axios.post(bank("/hang"), {}, { signal: AbortSignal.abort() })),
  ofAxios("303, then an error", async (axios) => missing(await axios.post(bank("/see"), {}))),
  ofAxios("307 to 402", (axios) => axios.post(bank("/lead/refuse/402"), {})),
  ofAxios("307 to 200, then an error", async (axios) => missing(await axios.post(bank("/lead/pay"), {}))),
  ofAxios("402, then 200, then an error", async (axios) => {
    await axios.post(bank("/refuse/402"), {}).catch(() => {})
    missing(await axios.post(bank("/pay"), {}))
  }),
  ofAxios("200, then 402", async (axios) => {
    await axios.post(bank("/pay"), {})
    await axios.post(bank("/refuse/402"), {})
  }),
  ofAxios("a proxy, 402", (axios) =>
    axios.post("http://api.bank.example/refuse/402", {}, {
      proxy: { host: "127.0.0.1", port: ports.proxy, protocol: "http" }
    })),
  ofAxios("a proxy, 200, then an error", async (axios) =>
    missing(
      await axios.post("http://api.bank.example/pay", {}, {
        proxy: { host: "127.0.0.1", port: ports.proxy, protocol: "http" }
      })
    )),
  ofAxios("the adapter 'fetch', 402", (axios) => axios.post(bank("/refuse/402"), {}, { adapter: "fetch" })),
  ofAxios(
    "the adapter 'fetch', 200, then an error",
    async (axios) => missing(await axios.post(bank("/pay"), {}, { adapter: "fetch" }))
  ),
  ofAxios("60 calls at once, refused and then paid", async (axios, _, number) => {
    await axios.post(bank(`/twice/axios/${number}`), {}).catch(() => {})
    missing(await axios.post(bank(`/twice/axios/${number}`), {}))
  }, { calls: 60 })
]

const ofRetry = (title, path, options) =>
  row(`axios-retry: ${title}`, async (_, { axios, retry }) => {
    const client = axios.create()
    retry(client, { retries: 3, retryDelay: () => 1, retryCondition: () => true })
    missing(await client.post(bank(path), {}))
  }, { before: async () => ({ axios: await lib("axios"), retry: await lib("axios-retry") }), ...options })

const retryRows = [
  ofRetry("503, 503, 200, then an error", "/flaky/axios"),
  ofRetry("402, four times", "/refuse/402"),
  ofRetry("402, then 200, then an error", "/twice/axios-retry")
]

// -----------------------------------------------------------------------------
// got, ky, node-fetch
// -----------------------------------------------------------------------------

const ofGot = withLib("got")
const gotRetry = {
  limit: 3,
  methods: ["POST"],
  statusCodes: [402, 503],
  calculateDelay: ({ computedValue }) => computedValue && 1
}

const gotRows = [
  ofGot("402", (got) => got.post(bank("/refuse/402"), { json: {}, retry: { limit: 0 } })),
  ofGot("429", (got) => got.post(bank("/refuse/429"), { json: {}, retry: { limit: 0 } })),
  ofGot("200, then an error", async (got) => missing(await got.post(bank("/pay"), { json: {} }))),
  ofGot("dropped", (got) => got.post(bank("/drop"), { json: {} })),
  ofGot("connection refused", (got) => got.post(closed("/pay"), { json: {} })),
  ofGot("unknown host", (got) => got.post(nowhere("/pay"), { json: {} })),
  ofGot("timeout before the answer", (got) => got.post(bank("/hang"), { json: {}, timeout: { request: 80 } })),
  ofGot(
    "retries: 503, 503, 200, then an error",
    async (got) => missing(await got.post(bank("/flaky/got"), { json: {}, retry: gotRetry }))
  ),
  ofGot(
    "retries: 402, then 200, then an error",
    async (got) => missing(await got.post(bank("/twice/got"), { json: {}, retry: gotRetry }))
  ),
  ofGot("303, then an error", async (got) => missing(await got.post(bank("/see"), { json: {} }))),
  ofGot("307 to 402", (got) => got.post(bank("/lead/refuse/402"), { json: {} })),
  ofGot("the option http2, and no http2 there, 402", (got) => got.post(bank("/refuse/402"), { json: {}, http2: true }))
]

const ofKy = withLib("ky")
const kyRetry = { limit: 3, methods: ["post"], statusCodes: [402, 503], delay: () => 1 }

const kyRows = [
  ofKy("402", (ky) => ky.post(bank("/refuse/402"), { json: {}, retry: 0 })),
  ofKy("200, then an error", async (ky) => missing(await ky.post(bank("/pay"), { json: {} }))),
  ofKy(
    "retries: 503, 503, 200, then an error",
    async (ky) => missing(await ky.post(bank("/flaky/ky"), { json: {}, retry: kyRetry }))
  ),
  ofKy(
    "retries: 402, then 200, then an error",
    async (ky) => missing(await ky.post(bank("/twice/ky"), { json: {}, retry: kyRetry }))
  ),
  ofKy("the context's fetch, 402", (ky, { fetch }) => ky.post(bank("/refuse/402"), { json: {}, retry: 0, fetch })),
  ofKy(
    "the context's fetch, 200, then an error",
    async (ky, { fetch }) => missing(await ky.post(bank("/pay"), { json: {}, fetch }))
  ),
  ofKy(
    "the context's fetch, 402, then 200, then an error",
    async (ky, { fetch }) => missing(await ky.post(bank("/twice/ky-own"), { json: {}, fetch, retry: kyRetry }))
  )
]

const ofNodeFetch = withLib("node-fetch")

const nodeFetchRows = [
  ofNodeFetch("402", async (fetch) => ok(await fetch(bank("/refuse/402"), post()))),
  ofNodeFetch("200, then an error", async (fetch) => missing(await ok(await fetch(bank("/pay"), post())))),
  ofNodeFetch("connection refused", async (fetch) => ok(await fetch(closed("/pay"), post()))),
  ofNodeFetch("307 to 402", async (fetch) => ok(await fetch(bank("/lead/refuse/402"), post())))
]

// -----------------------------------------------------------------------------
// SDKs
// -----------------------------------------------------------------------------

const stripeOf = async (options = {}) => {
  const Stripe = await lib("stripe")
  return new Stripe("sk_test_1", {
    host: "127.0.0.1",
    port: ports.bank,
    protocol: "http",
    telemetry: false,
    maxNetworkRetries: 2,
    ...options
  })
}
const charge = (amount) => ({ amount, currency: "eur", source: "tok" })
const ofStripe = (title, run, options) =>
  row(`stripe: ${title}`, (call, stripe) => run(stripe, call), { before: () => stripeOf(), ...options })

const stripeRows = [
  ofStripe("card declined", (stripe) => stripe.charges.create(charge(402))),
  ofStripe("paid, then an error", async (stripe) => missing(await stripe.charges.create(charge(500)))),
  ofStripe("connection refused", async () => {
    const stripe = await stripeOf({ port: ports.closed, maxNetworkRetries: 0 })
    await stripe.charges.create(charge(500))
  }),
  ofStripe("its own fetch client, card declined", async () => {
    const Stripe = await lib("stripe")
    const stripe = await stripeOf({ httpClient: Stripe.createFetchHttpClient() })
    await stripe.charges.create(charge(402))
  }),
  ofStripe("its own fetch client, paid, then an error", async () => {
    const Stripe = await lib("stripe")
    const stripe = await stripeOf({ httpClient: Stripe.createFetchHttpClient() })
    missing(await stripe.charges.create(charge(500)))
  }),
  ofStripe("with the context's fetch, card declined", async (_, { fetch }) => {
    const Stripe = await lib("stripe")
    const stripe = await stripeOf({ httpClient: Stripe.createFetchHttpClient(fetch) })
    await stripe.charges.create(charge(402))
  }),
  ofStripe("with the context's fetch, paid, then an error", async (_, { fetch }) => {
    const Stripe = await lib("stripe")
    const stripe = await stripeOf({ httpClient: Stripe.createFetchHttpClient(fetch) })
    missing(await stripe.charges.create(charge(500)))
  }),
  ofStripe("paid, then the context's fetch 402", async (stripe, { fetch }) => {
    await stripe.charges.create(charge(500))
    await ok(await fetch(bank("/refuse/402"), post()))
  }),
  ofStripe("paid, then node:http 402", async (stripe) => {
    await stripe.charges.create(charge(500))
    const { status } = await request(bank("/refuse/402"))
    throw new Error(`HTTP ${status}`)
  })
]

const slackOf = async () => {
  const { LogLevel, WebClient } = await import("@slack/web-api")
  return new WebClient("xoxb", {
    slackApiUrl: bank("/slack/"),
    retryConfig: { retries: 0 },
    logLevel: LogLevel?.ERROR
  })
}

const slackRows = [
  row("slack: channel_not_found", (_, slack) => slack.chat.postMessage({ channel: "nobody", text: "Hi" }), {
    before: slackOf
  }),
  row(
    "slack: posted, then an error",
    async (_, slack) => missing(await slack.chat.postMessage({ channel: "C1", text: "Hi" })),
    { before: slackOf }
  )
]

const s3Of = async () => {
  const { PutObjectCommand, S3Client } = await import("@aws-sdk/client-s3")
  const client = new S3Client({
    endpoint: bank(),
    region: "eu-central-1",
    forcePathStyle: true,
    credentials: { accessKeyId: "a", secretAccessKey: "b" }
  })
  return (Bucket) => client.send(new PutObjectCommand({ Bucket, Key: "k", Body: "text" }))
}

const s3Rows = [
  row("s3: NoSuchBucket", (_, put) => put("missing"), { before: s3Of }),
  row("s3: stored, then an error", async (_, put) => missing(await put("bucket")), { before: s3Of })
]

// -----------------------------------------------------------------------------
// undici
// -----------------------------------------------------------------------------

const http1 = { method: "POST", body: "{}" }

// Bun's own undici ignores the timeouts of connections.
const atMost4s = (promise) =>
  Promise.race([
    promise,
    sleep(4000).then(() => {
      throw new Error("The request took too long.")
    })
  ])

const undiciRows = ([label, name]) => {
  const of = withLib(label, name)
  const requested = async (undici, url, options = {}) => {
    const { body, statusCode } = await undici.request(url, { ...http1, ...options })
    await body.text()
    if (statusCode >= 400) throw new Error(`HTTP ${statusCode}`)
  }
  const lookup = () => {}
  return [
    of("request, 402", (undici) => requested(undici, bank("/refuse/402"))),
    of("request, 200, then an error", async (undici) => missing(await requested(undici, bank("/pay")))),
    of("request, dropped", (undici) => requested(undici, bank("/drop"))),
    of("request, connection refused", (undici) => requested(undici, closed("/pay"))),
    of("stream, 402", async (undici) => {
      const { Writable } = await import("node:stream")
      let status = 0
      await undici.stream(bank("/refuse/402"), http1, ({ statusCode }) => {
        status = statusCode
        return new Writable({ write: (_, __, next) => next() })
      })
      throw new Error(`HTTP ${status}`)
    }),
    of("RetryAgent, 503, 503, 200, then an error", async (undici) => {
      const dispatcher = new undici.RetryAgent(new undici.Agent(), {
        methods: ["POST"],
        minTimeout: 1,
        statusCodes: [503]
      })
      missing(await requested(undici, bank(`/flaky/${name}`), { dispatcher }))
    }),
    of("its fetch, 402", async (undici) => ok(await undici.fetch(bank("/refuse/402"), post()))),
    of("its fetch, 200, then an error", async (undici) => missing(await ok(await undici.fetch(bank("/pay"), post())))),
    of("its fetch, connection refused", async (undici) => ok(await undici.fetch(closed("/pay"), post()))),
    of("its fetch, 307 to 402", async (undici) => ok(await undici.fetch(bank("/lead/refuse/402"), post()))),
    of("ProxyAgent, 402", (undici) =>
      requested(undici, bank("/refuse/402"), {
        dispatcher: new undici.ProxyAgent({ uri: proxy(), proxyTunnel: true })
      })),
    of("ProxyAgent, 200, then an error", async (undici) =>
      missing(
        await requested(undici, bank("/pay"), {
          dispatcher: new undici.ProxyAgent({ uri: proxy(), proxyTunnel: true })
        })
      )),
    of("ProxyAgent without a tunnel, 402", (undici) =>
      requested(undici, bank("/refuse/402"), {
        dispatcher: new undici.ProxyAgent({ uri: proxy(), proxyTunnel: false })
      })),
    of("ProxyAgent, the proxy refuses", (undici) =>
      requested(undici, "http://forbidden.example/pay", {
        dispatcher: new undici.ProxyAgent({ uri: proxy(), proxyTunnel: true })
      })),
    of("ProxyAgent and TLS, 402", (undici) =>
      requested(undici, secure("/refuse/402"), {
        dispatcher: new undici.ProxyAgent({ uri: proxy(), requestTls: { rejectUnauthorized: false } })
      })),
    of("ProxyAgent and TLS, 200, then an error", async (undici) =>
      missing(
        await requested(undici, secure("/pay"), {
          dispatcher: new undici.ProxyAgent({ uri: proxy(), requestTls: { rejectUnauthorized: false } })
        })
      )),
    of("http2 over TLS, 402", (undici) =>
      requested(undici, secure("/refuse/402").replace(ports.https, ports.h2), {
        dispatcher: new undici.Agent({ allowH2: true, connect: { rejectUnauthorized: false } })
      })),
    of("http2 over TLS, 200, then an error", async (undici) =>
      missing(
        await requested(undici, secure("/pay").replace(ports.https, ports.h2), {
          dispatcher: new undici.Agent({ allowH2: true, connect: { rejectUnauthorized: false } })
        })
      )),
    of("h2c, 402", (undici) => {
      const client = new undici.H2CClient(`http://127.0.0.1:${ports.h2c}`)
      return requested(undici, `http://127.0.0.1:${ports.h2c}/refuse/402`, { dispatcher: client })
    }),
    of("h2c, 200, then an error", async (undici) => {
      const client = new undici.H2CClient(`http://127.0.0.1:${ports.h2c}`)
      missing(await requested(undici, `http://127.0.0.1:${ports.h2c}/pay`, { dispatcher: client }))
    }),
    of("connect timeout in the lookup", (undici) =>
      atMost4s(requested(undici, "http://slow.example/pay", {
        dispatcher: new undici.Agent({ connect: { timeout: 50, lookup } })
      }))),
    of("connect timeout", (undici) =>
      atMost4s(requested(undici, `http://127.0.0.1:${ports.stuck}/pay`, {
        dispatcher: new undici.Agent({ connect: { timeout: 50 } })
      }))),
    of("its fetch, aborted in the lookup", (undici) => {
      const dispatcher = new undici.Agent({ connect: { lookup } })
      return atMost4s(undici.fetch("http://slow.example/pay", post({ dispatcher, signal: AbortSignal.timeout(50) })))
    }),
    of("EnvHttpProxyAgent, 402", (undici) =>
      requested(undici, bank("/refuse/402"), {
        dispatcher: new undici.EnvHttpProxyAgent({ httpProxy: proxy(), noProxy: "none.example" })
      }))
  ]
}

// -----------------------------------------------------------------------------
// node:http, node:http2
// -----------------------------------------------------------------------------

/** Sends a POST by node:http. */
const request = (url, options = {}) =>
  new Promise((resolve, reject) => {
    const { agent, headers = {}, lookup } = options
    Http.request(url, { method: "POST", agent, headers, lookup }, (response) => {
      response.resume().on("end", () => resolve({ status: response.statusCode }))
    }).on("error", reject).end("{}")
  })

const status = (code) => {
  throw new Error(`HTTP ${code}`)
}

const sent2 = (session, path) =>
  new Promise((resolve, reject) => {
    const stream = session.request({ ":method": "POST", ":path": path })
    let code
    stream.on("response", (headers) => code = headers[":status"])
    stream.on("error", reject)
    stream.on("close", () => resolve(code))
    stream.resume()
    stream.end("{}")
  })

const over2 = async (path, then) => {
  const session = Http2.connect(`http://127.0.0.1:${ports.h2c}`)
  session.on("error", () => {})
  try {
    then(await sent2(session, path))
  } finally {
    session.close()
  }
}

const openSession = async () => {
  const session = Http2.connect(`http://127.0.0.1:${ports.h2c}`)
  await new Promise((resolve) => session.once("connect", resolve))
  return session
}
const closeSession = (session) => session.close()

const tunnel = async () => new (await import("https-proxy-agent")).HttpsProxyAgent(proxy())

const tunnelled = (url, agent) =>
  new Promise((resolve, reject) => {
    Https.request(url, { method: "POST", agent, rejectUnauthorized: false }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode))
    }).on("error", reject).end("{}")
  })

const nodeRows = [
  row("node:http: 402", async () => status((await request(bank("/refuse/402"))).status)),
  row("node:http: 200, then an error", async () => missing(await request(bank("/pay")))),
  row("node:http: no agent, 402", async () => status((await request(bank("/refuse/402"), { agent: false })).status)),
  row("node:https: https-proxy-agent, 402", async (_, agent) => status(await tunnelled(secure("/refuse/402"), agent)), {
    before: tunnel
  }),
  row(
    "node:https: https-proxy-agent, 200, then an error",
    async (_, agent) => missing(await tunnelled(secure("/pay"), agent)),
    { before: tunnel }
  ),
  // Over a connection of their own: whether another one waits in the global pool depends on the moment.
  row("node:http: never ended, then an error", async () => {
    const request = Http.request(bank("/pay"), { method: "POST", agent: false })
    request.on("error", () => {})
    throw new Error("Room A1 is booked.")
  }),
  row("node:http: written and never ended, then an error", async () => {
    const request = Http.request(bank("/pay"), { method: "POST", agent: false })
    request.on("error", () => {})
    await new Promise((resolve) => request.write("{", resolve))
    setTimeout(() => request.destroy(), 20)
    throw new Error("Room A1 is booked.")
  }, { after: () => sleep(40) }),
  row("node:http: ended later, then an error", async () => {
    const request = Http.request(bank("/pay"), { method: "POST", agent: false })
    request.on("error", () => {})
    setTimeout(() => request.end("{}"), 20)
    throw new Error("Room A1 is booked.")
  }, { after: () => sleep(60) }),
  row("node:http: ended later, and 402", async () => {
    const late = Http.request(bank("/pay"), { method: "POST", agent: false })
    late.on("error", () => {})
    setTimeout(() => late.end("{}"), 40)
    status((await request(bank("/refuse/402"))).status)
  }, { after: () => sleep(80) }),
  row("node:http: destroyed in the lookup", () =>
    new Promise((_, reject) => {
      const request = Http.request("http://slow.example/pay", { method: "POST", lookup: () => {} })
      request.on("error", reject)
      request.end("{}")
      setImmediate(() => request.destroy(new Error("Stopped")))
    })),
  row("node:http: a beacon that nobody awaits, 402", async () => {
    const beacon = Http.request(bank("/refuse/402"), { method: "POST" }, (response) => response.resume())
    beacon.on("error", () => {})
    beacon.end("{}")
    await new Promise((resolve) => beacon.on("response", (response) => response.on("end", resolve)))
    throw new Error("Room A1 is booked.")
  }),
  row("node:http: an upgrade that is refused", () =>
    new Promise((_, reject) => {
      const headers = { connection: "Upgrade", upgrade: "other" }
      const request = Http.request(bank("/refuse/402"), { method: "POST", headers }, (response) => {
        response.resume().on("end", () => reject(new Error(`HTTP ${response.statusCode}`)))
      })
      request.on("error", reject).end("{}")
    })),
  row("node:http2: 402", () => over2("/refuse/402", status)),
  row("node:http2: 200, then an error", () => over2("/pay", missing)),
  row("node:http2: a session from before, 402", async (_, session) => status(await sent2(session, "/refuse/402")), {
    before: openSession,
    after: closeSession
  }),
  row("node:http2: a session from before, 200, then an error", async (_, session) => {
    await sent2(session, "/pay")
    missing()
  }, { before: openSession, after: closeSession }),
  row("node:http2: a session from before, 200, then fetch 402", async (_, session) => {
    await sent2(session, "/pay")
    await ok(await fetch(bank("/refuse/402"), post()))
  }, { before: openSession, after: closeSession }),
  row("node:http2: a session from before, 60 calls at once, refused and then paid", async (_, session, number) => {
    await sent2(session, `/twice/h2/${number}`)
    await sent2(session, `/twice/h2/${number}`)
    missing()
  }, { before: openSession, after: closeSession, calls: 60 }),
  // A program that uses two clients.
  row("two clients: fetch 200, then axios 402", async (_, axios) => {
    await ok(await fetch(bank("/pay"), post()))
    await axios.post(bank("/refuse/402"), {})
  }, { before: () => lib("axios") }),
  row("two clients: axios 200, then fetch 402", async (_, axios) => {
    await axios.post(bank("/pay"), {})
    await ok(await fetch(bank("/refuse/402"), post()))
  }, { before: () => lib("axios") }),
  row("two clients: fetch 200, then the context's fetch 402", async (call) => {
    await ok(await fetch(bank("/pay"), post()))
    await ok(await call.fetch(bank("/refuse/402"), post()))
  }),
  row("two clients: fetch 200, then node:http cannot connect", async () => {
    await ok(await fetch(bank("/pay"), post()))
    await request(closed("/pay"))
  })
]

export { lib, request }

export const clientRows = [
  axiosRows,
  retryRows,
  gotRows,
  kyRows,
  nodeFetchRows,
  stripeRows,
  slackRows,
  s3Rows,
  undicis.flatMap(undiciRows),
  nodeRows
].flat()
