/** Calls that share connections, pools, queues and batches. */
import * as Http from "node:http"
import { lib, request } from "./clients.mjs"
import { bank, latch, missing, ok, ports, post, row, sleep, undicis } from "./kit.mjs"

const refused = ({ status }) => {
  throw new Error(`HTTP ${status}`)
}

// -----------------------------------------------------------------------------
// Pools of undici
// -----------------------------------------------------------------------------

/** Sends a POST over a pool, and returns the status. */
const clients = {
  fetch: (undici) => async (path, dispatcher, headers) => {
    const response = await undici.fetch(bank(path), post({ dispatcher, headers }))
    await response.text()
    return response.status
  },
  request: (undici) => async (path, dispatcher, headers) => {
    const { body, statusCode } = await undici.request(bank(path), { method: "POST", body: "{}", dispatcher, headers })
    await body.text()
    return statusCode
  }
}

const agentOf = (name, connections) => async () => {
  const undici = await lib(name)
  return { undici, agent: new undici.Agent({ connections }) }
}
const closeAgent = ({ agent }) => agent.close?.()

/** Version 6 as bundlers ship it: without the names of its functions. The test builds it. */
const minified = () => {
  if (process.env.WIRE_MINIFIED === undefined) throw new Error("The bundle is not built.")
  return process.env.WIRE_MINIFIED
}

const libraries = [
  ["undici 8", () => "undici", [1, 2, 10]],
  ["undici 7", () => "undici7", [1, 2, 10]],
  ["undici 6, minified", minified, [10]]
]

const poolRows = libraries.flatMap(([library, named, sizes]) =>
  Object.entries(clients).flatMap(([client, sending]) =>
    sizes.flatMap((connections) =>
      [false, true].flatMap((isKeyed) => {
        const headers = (call) => isKeyed ? { "Idempotency-Key": call.idempotencyKey } : {}
        const over = connections === 1 ? "one connection" : `${connections} connections`
        const name = `${library}'s ${client} over ${over}${isKeyed ? ", with the key" : ""}`
        const place = name.replace(/\W+/g, "-")
        const pooled = {
          before: () => agentOf(named(), connections)(),
          after: closeAgent,
          calls: 60,
          // Without a key, a request out of the queue blinds the calls that are open just then.
          varies: !isKeyed && connections > 1 && library !== "undici 8"
        }
        return [
          row(`${name}: 60 calls at once, refused and then paid`, async (call, { agent, undici }, number) => {
            const send = sending(undici)
            await send(`/twice/${place}/${number}`, agent, headers(call))
            missing(await send(`/twice/${place}/${number}`, agent, headers(call)))
          }, pooled),
          row(`${name}: 60 calls at once, every other is refused`, async (call, { agent, undici }, number) => {
            const path = number % 2 === 0 ? `/refuse/402/${number}` : `/pay/${number}`
            refused({ status: await sending(undici)(path, agent, headers(call)) })
          }, pooled)
        ]
      })
    )
  )
)

const poolOf = ([label, library]) => [
  row(`${label}: a pool of one, three calls: 200, 402, a read`, async (_, { agent, undici }, number) => {
    const path = ["/pay/0", "/refuse/402/1", "/read/2"][number]
    const { body, statusCode } = await undici.request(bank(path), {
      ...(number === 2 ? { method: "GET" } : { method: "POST", body: "{}" }),
      dispatcher: agent
    })
    await body.text()
    refused({ status: statusCode })
  }, { before: agentOf(library, 1), after: closeAgent, calls: 3 }),
  row(`${label}: a pool of one, aborted in its queue`, async (_, { agent, undici }, number) => {
    const signal = number === 1 ? AbortSignal.timeout(20) : undefined
    await ok(await undici.fetch(bank(`/slow/${number}`), post({ dispatcher: agent, signal })))
    missing()
  }, { before: agentOf(library, 1), after: closeAgent, calls: 2 }),
  row(`${label}: a client with pipelining, every other is refused`, async (_, { client, undici }, number) => {
    const path = number % 2 === 0 ? `/refuse/402/${number}` : `/pay/${number}`
    const { body, statusCode } = await undici.request(bank(path), { method: "POST", body: "{}", dispatcher: client })
    await body.text()
    refused({ status: statusCode })
  }, {
    before: async () => {
      const undici = await lib(library)
      return { undici, client: new undici.Client(bank(), { pipelining: 4 }) }
    },
    after: ({ client }) => client.close?.(),
    calls: 20
  })
]

/** Node's own `fetch` takes the dispatchers of undici 7, but not always those of version 8. */
const dispatcherRows = [
  row("context's fetch over a full pool, refused and then paid", async (call, { agent }, number) => {
    await (await call.fetch(bank(`/twice/context/${number}`), post({ dispatcher: agent }))).text()
    missing(await ok(await call.fetch(bank(`/twice/context/${number}`), post({ dispatcher: agent }))))
  }, { before: agentOf("undici7", 2), after: closeAgent, calls: 60 }),
  row("context's fetch over a full pool, every other is refused", async (call, { agent }, number) => {
    const path = number % 2 === 0 ? `/refuse/402/${number}` : `/pay/${number}`
    missing(await ok(await call.fetch(bank(path), post({ dispatcher: agent }))))
  }, { before: agentOf("undici7", 2), after: closeAgent, calls: 60 }),
  ...["fetch", "context's fetch"].map((client) =>
    row(`${client} over a full global pool, refused and then paid`, async (call, _, number) => {
      const send = client === "fetch" ? fetch : call.fetch
      await (await send(bank(`/twice/global-${client.length}/${number}`), post())).text()
      missing(await ok(await send(bank(`/twice/global-${client.length}/${number}`), post())))
    }, {
      before: async () => {
        const { agent, undici } = await agentOf("undici7", 2)()
        const before = undici.getGlobalDispatcher()
        undici.setGlobalDispatcher(agent)
        return { agent, undo: () => undici.setGlobalDispatcher(before) }
      },
      after: ({ agent, undo }) => {
        undo()
        return agent.close?.()
      },
      calls: 60
    })
  ),
  // One handler uses the context's fetch, and the other one does not, over the same pool and for the same address.
  row(
    "context's fetch and another client over one full pool, refused and then paid",
    async (call, { agent, undici }, number) => {
      const send = number % 2 === 0 ? call.fetch : undici.fetch
      await (await send(bank("/refuse/402"), post({ dispatcher: agent }))).text()
      missing(await ok(await send(bank(`/pay/all?${number}`), post({ dispatcher: agent }))))
    },
    { before: agentOf("undici7", 2), after: closeAgent, calls: 60, isOf: () => true, varies: true }
  )
]

/** Many requests over one connection. */
const http2Rows = ([label, library]) => {
  const secure2 = (path) => `https://127.0.0.1:${ports.h2}${path}`
  const over = async ({ agent, undici }, path) => {
    const { body, statusCode } = await undici.request(secure2(path), { method: "POST", body: "{}", dispatcher: agent })
    await body.text()
    return { status: statusCode }
  }
  const multiplexed = {
    before: async () => {
      const undici = await lib(library)
      const connect = { rejectUnauthorized: false }
      return { undici, agent: new undici.Agent({ allowH2: true, connections: 1, pipelining: 30, connect }) }
    },
    after: closeAgent,
    calls: 60
  }
  return [
    row(`${label} over one connection of http2: 60 calls at once, refused and then paid`, async (_, kept, number) => {
      await over(kept, `/twice/${library}-h2/${number}`)
      missing(await over(kept, `/twice/${library}-h2/${number}`))
    }, multiplexed),
    row(
      `${label} over one connection of http2: 60 calls at once, every other is refused`,
      async (_, kept, number) =>
        refused(await over(kept, number % 2 === 0 ? `/refuse/402/${number}` : `/pay/${number}`)),
      multiplexed
    ),
    row(
      `${label} over one connection of http2: 60 calls at once, all but one are refused, and that one reads`,
      async (_, kept, number) => {
        if (number !== 0) refused(await over(kept, `/refuse/402/${number}`))
        await kept.undici.request(secure2("/read"), { dispatcher: kept.agent }).then(({ body }) => body.text())
        throw new Error("Room A1 is booked.")
      },
      multiplexed
    )
  ]
}

// -----------------------------------------------------------------------------
// Agents of node:http
// -----------------------------------------------------------------------------

const keepAlive = (maxSockets) => async () => new Http.Agent({ keepAlive: true, maxSockets })
const destroyed = (agent) => agent.destroy()

const agentRows = [
  row("node:http, one connection kept alive, three calls: 200, 402, a read", async (_, agent, number) => {
    if (number === 2) {
      await new Promise((resolve) =>
        Http.get(bank("/read/2"), { agent }, (response) => response.resume().on("end", resolve))
      )
      throw new Error("Room A1 is booked.")
    }
    refused(await request(bank(number === 0 ? "/pay/0" : "/refuse/402/1"), { agent }))
  }, { before: keepAlive(1), after: destroyed, calls: 3 }),
  ...[1, 10].flatMap((connections) => [
    row(
      `node:http over ${connections} connections: 60 calls at once, refused and then paid`,
      async (_, agent, number) => {
        await request(bank(`/twice/http${connections}/${number}`), { agent })
        missing(await request(bank(`/twice/http${connections}/${number}`), { agent }))
      },
      { before: keepAlive(connections), after: destroyed, calls: 60 }
    ),
    row(
      `node:http over ${connections} connections: 60 calls at once, every other is refused`,
      async (_, agent, number) =>
        refused(await request(bank(number % 2 === 0 ? `/refuse/402/${number}` : `/pay/${number}`), { agent })),
      {
        before: keepAlive(connections),
        after: destroyed,
        calls: 60
      }
    )
  ]),
  row("axios over one connection: 60 calls at once, every other is refused", async (_, { agent, axios }, number) => {
    await axios.post(bank(number % 2 === 0 ? `/refuse/402/${number}` : `/pay/${number}`), {}, { httpAgent: agent })
    missing()
  }, {
    before: async () => ({ axios: await lib("axios"), agent: await keepAlive(1)() }),
    after: ({ agent }) => agent.destroy(),
    calls: 60
  })
]

// -----------------------------------------------------------------------------
// Queues and batches
// -----------------------------------------------------------------------------

/** A worker that was started outside any call, and does one job after the other. */
const worker = async () => {
  const jobs = []
  let wake = () => {}
  let isOver = false
  const working = (async () => {
    while (!isOver) {
      const job = jobs.shift()
      if (job === undefined) await new Promise((resolve) => wake = resolve)
      else await job()
    }
  })()
  return {
    add: (run) =>
      new Promise((resolve, reject) => {
        jobs.push(() => run().then(resolve, reject))
        wake()
      }),
    end: () => {
      isOver = true
      wake()
      return working
    }
  }
}
const endWorker = (queue) => queue.end()

const bare = async (path, headers = {}) => {
  const response = await fetch(bank(path), post({ headers }))
  await response.text()
  return response.status
}

const queueOf = async (concurrency) => new (await lib("p-queue"))({ concurrency })

/** Two callers, whose loads are one batch. */
const batched = (load) => ({
  before: async () => {
    const DataLoader = await lib("dataloader")
    return new DataLoader(load)
  },
  calls: 2,
  isOf: () => true
})

const payingAll = async (numbers) => {
  await bare("/pay/batch")
  return numbers
}

const refusedAll = async (numbers) => {
  const status = await bare("/refuse/402")
  return numbers.map(() => new Error(`HTTP ${status}`))
}

const queueRows = [
  row("a queue with a worker from before, 200, then an error", async (_, queue) => {
    await queue.add(() => bare("/pay"))
    missing()
  }, { before: worker, after: endWorker }),
  row("a queue with a worker from before, 402", async (_, queue) => {
    refused({ status: await queue.add(() => bare("/refuse/402")) })
  }, { before: worker, after: endWorker }),
  row("a queue with a worker from before, with the key, 200, then an error", async (call, queue) => {
    await queue.add(() => bare("/pay", { "Idempotency-Key": call.idempotencyKey }))
    missing()
  }, { before: worker, after: endWorker }),
  row("a queue with a worker from before, with the key, 402", async (call, queue) => {
    const headers = { "Idempotency-Key": call.idempotencyKey }
    refused({ status: await queue.add(() => bare("/refuse/402", headers)) })
  }, { before: worker, after: endWorker }),
  row(
    "a queue with a worker from before, the context's fetch, 402",
    async (call, queue) => queue.add(async () => ok(await call.fetch(bank("/refuse/402"), post()))),
    { before: worker, after: endWorker }
  ),
  row("a queue with a worker from before, the context's fetch, 200, then an error", async (call, queue) => {
    missing(await queue.add(async () => ok(await call.fetch(bank("/pay"), post()))))
  }, { before: worker, after: endWorker }),
  row("a queue with a worker from before pays, then 402", async (_, queue) => {
    await queue.add(() => bare("/pay"))
    refused({ status: await bare("/refuse/402") })
  }, { before: worker, after: endWorker }),
  ...[1, 10].flatMap((concurrency) => {
    const queued = {
      before: () => queueOf(concurrency),
      calls: 60,
      varies: true
    }
    return [
      row(`p-queue of ${concurrency}: 60 calls at once, refused and then paid`, async (_, queue, number) => {
        await queue.add(() => bare(`/twice/p-queue-${concurrency}/${number}`))
        missing(await queue.add(() => bare(`/twice/p-queue-${concurrency}/${number}`)))
      }, queued),
      row(`p-queue of ${concurrency}: 60 calls at once, every other is refused`, async (_, queue, number) => {
        refused({ status: await queue.add(() => bare(number % 2 === 0 ? `/refuse/402/${number}` : `/pay/${number}`)) })
      }, queued),
      row(
        `p-queue of ${concurrency}, with the key: 60 calls at once, refused and then paid`,
        async (call, queue, number) => {
          const headers = { "Idempotency-Key": call.idempotencyKey }
          await queue.add(() => bare(`/twice/p-queue-key-${concurrency}/${number}`, headers))
          missing(await queue.add(() => bare(`/twice/p-queue-key-${concurrency}/${number}`, headers)))
        },
        queued
      )
    ]
  }),
  row("p-queue of one: refused in its own context, then paid in that of another call", async (_, shared, number) => {
    if (number === 1) {
      await shared.isRefused.promise
      await shared.queue.add(async () => {
        shared.isBusy.open()
        await bare("/slowRefuse")
      })
      throw new Error("Room A1 is booked.")
    }
    await shared.queue.add(() => bare("/refuse/402"))
    shared.isRefused.open()
    await shared.isBusy.promise
    await shared.queue.add(() => bare("/pay/0"))
    missing()
  }, {
    before: async () => ({ queue: await queueOf(1), isRefused: latch(), isBusy: latch() }),
    calls: 2
  }),
  row("DataLoader: two callers, one batch, 200, then an error", async (_, loader, number) => {
    await loader.load(number)
    missing()
  }, batched(payingAll)),
  row("DataLoader: two callers, one batch, 402", async (_, loader, number) => loader.load(number), batched(refusedAll)),
  row("DataLoader: two callers, one batch pays, then 402", async (_, loader, number) => {
    await loader.load(number)
    refused({ status: await bare("/refuse/402") })
  }, batched(payingAll)),
  row("one token for three calls, refused and then paid", async (_, shared, number) => {
    shared.token ??= bare("/oauth/token")
    await shared.token
    await bare(`/twice/token/${number}`)
    missing(await bare(`/twice/token/${number}`))
  }, { before: async () => ({}), calls: 3 }),
  row("an exporter that another call has started sends, and 402", async (_, shared, number) => {
    if (number === 0) {
      shared.timer = setInterval(() => void bare("/track").catch(() => {}), 5)
      throw new Error("Room A1 is booked.")
    }
    await sleep(20)
    refused({ status: await bare("/slowRefuse") })
  }, { before: async () => ({}), after: ({ timer }) => clearInterval(timer), calls: 2 }),
  row("a request that an event of another call starts, 200, then an error", async (_, shared, number) => {
    // The second call asks, and the first one's timer answers.
    if (number === 1) {
      await new Promise((resolve) => shared.ask = resolve)
      missing()
    }
    await sleep(20)
    await bare("/pay/1")
    shared.ask()
    await bare("/refuse/402")
    missing()
  }, { before: async () => ({}), calls: 2, isOf: (act, number) => act.endsWith(`/${number}`) })
]

export const connectionRows = [
  poolRows,
  dispatcherRows,
  undicis.flatMap(poolOf),
  undicis.flatMap(http2Rows),
  agentRows,
  queueRows
].flat()
