/**
 * Sends requests at random over small pools of undici's, and compares what `outOfQueue` says of each with the truth: the
 * header of a request names the code that has sent it, and the async context the code that it begins in.
 *
 *     node queues.mjs [seed] [rounds]
 *
 * Prints one line of JSON: how many requests `outOfQueue` knew to be sent by the running code without reading the stack,
 * how many began elsewhere, and those of which it was wrong.
 */
import { AsyncLocalStorage, executionAsyncId, executionAsyncResource } from "node:async_hooks"
import { subscribe } from "node:diagnostics_channel"
import { createServer } from "node:http"
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises"
// Not exported by the package.
import * as Queue from "./node_modules/@fallible/core/dist/internal/wire/outOfQueue.js"

const [seed = 1, rounds = 200] = process.argv.slice(2).map(Number)

let state = seed
const random = () => {
  state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
  return state / 0x7fffffff
}
const pick = (...values) => values[Math.floor(random() * values.length)]

// -----------------------------------------------------------------------------
// What is said of each request, and what is true
// -----------------------------------------------------------------------------

const storage = new AsyncLocalStorage()
Queue.toldBy({ executionAsyncId, executionAsyncResource })

const counts = { sentByCode: 0, elsewhere: 0 }
const wrong = []

const callOf = ({ headers }) => {
  const parts = Array.isArray(headers) ? headers : headers.split(/: |\r\n/)
  return parts[parts.indexOf("x-call") + 1]
}

subscribe("undici:request:create", ({ request }) => {
  const place = storage.getStore()
  const check = Queue.queueCheck(place)
  const isElsewhere = place !== undefined && place.call !== callOf(request)
  if (check === Queue.no) counts.sentByCode++
  if (isElsewhere) counts.elsewhere++
  if (isElsewhere && !check()) wrong.push(new Error(check === Queue.no ? "not read" : "read").stack)
})
for (
  const event of ["client:connected", "client:connectError", "request:bodySent", "request:trailers", "request:error"]
) {
  subscribe(`undici:${event}`, Queue.noteGoingOn)
}

// -----------------------------------------------------------------------------
// The requests
// -----------------------------------------------------------------------------

const answers = {
  atOnce: (request, response) => {
    response.writeHead(401).end("no")
    request.resume()
  },
  atTheEnd: (request, response) => request.resume().on("end", () => response.end("{}")),
  later: (request, response) => {
    request.resume()
    setTimeout(() => response.end("later"), 3)
  },
  inParts: (request, response) => {
    request.resume()
    response.write("a")
    setTimeout(() => response.end("b"), 2)
  },
  closing: (request, response) => {
    request.resume()
    response.writeHead(200, { connection: "close" }).end()
  },
  // Longer than undici reads by itself.
  long: (request, response) => {
    request.resume()
    response.end("x".repeat(120_000))
  },
  dropped: (request) => request.socket.destroy()
}

const server = createServer((request, response) => answers[request.url.slice(1)](request, response))
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
const open = `http://127.0.0.1:${server.address().port}`
const closed = "http://127.0.0.1:1"

const bodies = [
  () => "{}",
  () => "x".repeat(200_000),
  async function*() {
    yield "a"
    await null
    yield "b"
  },
  async function*() {
    yield "a"
    await turn()
    yield "b".repeat(100_000)
  }
]

const poolsOf = (undici) => [
  () => new undici.Agent({ connections: pick(1, 2), pipelining: pick(1, 1, 3), keepAliveTimeout: pick(1, 4_000) }),
  () => new undici.Pool(open, { connections: 1, pipelining: pick(1, 4) }),
  () => new undici.Client(open, { pipelining: pick(1, 2) }),
  () => new undici.BalancedPool([open, closed], { connections: 1 }),
  () => new undici.RetryAgent(new undici.Agent({ connections: 1 }), { minTimeout: 1, maxRetries: 1 })
]

/** Answers that are read later, by another call. */
const left = []

const send = async ({ dispatcher, undici }, paths, call) => {
  const abort = new AbortController()
  const isAgent = dispatcher instanceof undici.Agent
  const url = `${isAgent && random() < 0.15 ? closed : open}/${pick(...paths)}`
  const options = {
    method: "POST",
    headers: { "x-call": call },
    body: pick(...bodies)(),
    dispatcher,
    signal: abort.signal
  }
  if (random() < 0.1) setTimeout(() => abort.abort(), random() * 3)
  if (random() < 0.6) {
    const response = await undici.fetch(url, { ...options, duplex: "half" })
    if (random() < 0.1) left.push(() => response.text())
    else if (random() < 0.7) await response.text()
  } else {
    const { body } = await undici.request(url, options)
    if (random() < 0.7) await body.text()
    else body.on("error", () => {}).destroy()
  }
  if (random() < 0.1) abort.abort()
}

const handler = async (pools, paths) => {
  const { call } = storage.getStore()
  if (random() < 0.3) await sleep(random() * 4)
  else if (random() < 0.3) await turn()
  for (let i = 0; i < 3; i++) {
    if (random() < 0.3) await left.shift()?.().catch(() => {})
    // Many fail, as they should.
    await send(pick(...pools), paths, call).catch(() => {})
    if (random() < 0.2) await turn()
    else if (random() < 0.1) await new Promise((resolve) => process.nextTick(resolve))
  }
}

// Version 8 needs Node 22.
const names = ["undici6", "undici7", ...Number.parseInt(process.versions.node) >= 22 ? ["undici"] : []]
const libraries = await Promise.all(names.map((name) => import(name)))

for (let round = 0; round < rounds; round++) {
  // Fewer pools and answers make more of each kind meet.
  const used = random() < 0.5 ? libraries : [pick(...libraries)]
  const pools = used.map((undici) => ({ undici, dispatcher: pick(...poolsOf(undici))() }))
  const paths = random() < 0.5 ? Object.keys(answers) : [pick(...Object.keys(answers))]
  const calls = Array.from({ length: 6 }, (_, number) => {
    return storage.run({ call: `${round}-${number}` }, () => handler(pools, paths))
  })
  // A response that is not read may keep a connection for itself.
  await Promise.race([Promise.all(calls), sleep(300)])
  left.length = 0
  for (const { dispatcher } of pools) dispatcher.destroy().catch(() => {})
}

// The end of a program does not wait until a long text is written.
console.log(JSON.stringify({ ...counts, wrong: wrong.slice(0, 5) }))
process.exit()
