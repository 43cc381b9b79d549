/**
 * The services of the rows, in a process of their own: an HTTP bank (plain, TLS, HTTP/2), proxies, a mail server, a
 * database, a WebSocket, a raw line protocol, UDP, and a port that never completes a connection. It knows what was really
 * done. Prints its ports as one line of JSON.
 *
 * What counts as done is a request that acts and was served, a row that was stored, a mail that was accepted. Tokens,
 * searches and telemetry by POST do nothing.
 */
import { spawn } from "node:child_process"
import { createSocket } from "node:dgram"
import * as Http from "node:http"
import * as Http2 from "node:http2"
import * as Https from "node:https"
import * as Net from "node:net"
import * as Tls from "node:tls"
import { generate } from "selfsigned"
import { WebSocketServer } from "ws"

/** What was done since the last reset, and in all. */
let done = []
let total = 0
const did = (what) => {
  done.push(what)
  total++
}

const listening = async (server, ...where) => {
  await new Promise((resolve) => server.listen(0, "127.0.0.1", ...where, resolve))
  return server.address().port
}

// -----------------------------------------------------------------------------
// The bank
// -----------------------------------------------------------------------------

const json = (response, status, body = {}, headers = {}) => {
  response.writeHead(status, { "content-type": "application/json", ...headers })
  response.end(JSON.stringify(body))
}

/** How many requests each path with a memory has had. */
const seen = new Map()
const countOf = (path) => {
  const count = (seen.get(path) ?? 0) + 1
  seen.set(path, count)
  return count
}

const declined = { error: { type: "card_error", code: "card_declined", message: "Your card was declined." } }

/** What the bank answers by the first word of a path. `act` notes that it has done what was asked. */
const bank = {
  // It refuses with the status that the path names.
  refuse: ({ response, words: [, status = "402"] }) => json(response, Number(status), declined),
  pay: ({ act, response }) => {
    act()
    json(response, 200, { id: "p1" })
  },
  // It acts, and answers with the status that the path names.
  acting: ({ act, response, words: [, status = "500"] }) => {
    act()
    json(response, Number(status))
  },
  busy: ({ response }) => json(response, 503),
  drop: ({ act, response }) => {
    act()
    response.destroy()
  },
  hang: ({ act }) => act(),
  slow: ({ act, response }) => {
    act()
    setTimeout(() => json(response, 200), 60)
  },
  slowRefuse: ({ response }) => void setTimeout(() => json(response, 402, declined), 60),
  // Twice 503, then it acts.
  flaky: ({ act, path, response }) => {
    if (countOf(path) % 3 !== 0) return json(response, 503)
    act()
    json(response, 200)
  },
  // Once 402, then it acts.
  twice: ({ act, path, response }) => {
    if (countOf(path) % 2 === 1) return json(response, 402, declined)
    act()
    json(response, 200)
  },
  see: ({ act, response }) => {
    act()
    json(response, 303, {}, { location: "/read" })
  },
  lead: ({ response, words: [, ...rest] }) => json(response, 307, {}, { location: `/${rest.join("/")}` }),
  oauth: ({ response }) => json(response, 200, { access_token: "t", token_type: "bearer" }),
  search: ({ response }) => json(response, 200, { rooms: [] }),
  track: ({ response }) => json(response, 204),
  read: ({ response }) => json(response, 200, { rooms: [] }),
  // Stripe: the path of a charge, by its amount.
  v1: ({ act, body, response }) => {
    if (body.includes("amount=402")) return json(response, 402, declined)
    act()
    json(response, 200, { id: "ch_1", object: "charge" })
  },
  slack: ({ act, body, response }) => {
    if (body.includes("nobody")) return json(response, 200, { ok: false, error: "channel_not_found" })
    act()
    json(response, 200, { ok: true, ts: "1", channel: "C1" })
  },
  missing: ({ response }) => {
    response.writeHead(404, { "content-type": "application/xml" })
    response.end("<Error><Code>NoSuchBucket</Code><Message>There is no such bucket.</Message></Error>")
  },
  bucket: ({ act, response }) => {
    act()
    response.writeHead(200, { etag: "\"e\"" }).end()
  }
}

const reading = new Set(["GET", "HEAD", "OPTIONS"])

const serve = (request, response) => {
  const { pathname: path } = new URL(request.url, "http://bank")
  let body = ""
  request.setEncoding("utf8")
  request.on("error", () => {})
  response.on("error", () => {})
  request.on("data", (part) => body += part)
  request.on("end", () => {
    const words = path.slice(1).split("/")
    const answer = bank[words[0]] ?? bank.read
    const act = () => {
      if (!reading.has(request.method)) did(`${request.method} ${path}`)
    }
    answer({ act, body, path, response, words })
  })
}

const { cert, private: privateKey } = await generate([{ name: "commonName", value: "127.0.0.1" }])
const tls = { cert, key: privateKey }
const server = Http.createServer(serve)
server.keepAliveTimeout = 120_000
// A server that restarts closes the idle connections of its clients.
const https = Https.createServer(tls, serve)
const h2c = Http2.createServer(serve)
const h2 = Http2.createSecureServer({ ...tls, allowHTTP1: true }, serve)

const sockets = new WebSocketServer({ noServer: true })
server.on(
  "upgrade",
  (request, socket, head) =>
    sockets.handleUpgrade(request, socket, head, (one) =>
      one.on("message", (message) => {
        if (String(message) !== "pay") return one.send("hello")
        did("WebSocket message")
        one.send("paid")
      }))
)

// -----------------------------------------------------------------------------
// Proxies
// -----------------------------------------------------------------------------

// Every host is the bank.
const proxy = Http.createServer((request, response) => serve(request, response))
proxy.on("connect", (request, client) => {
  if (request.url.startsWith("forbidden.")) return client.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
  const [, port] = request.url.split(":")
  const through = Net.connect(ports[port] ?? Number(port), "127.0.0.1", () => {
    client.write("HTTP/1.1 200 Connection established\r\n\r\n")
    client.pipe(through).pipe(client)
  })
  for (const one of [client, through]) one.on("error", () => client.destroy() && through.destroy())
})

// -----------------------------------------------------------------------------
// Other protocols
// -----------------------------------------------------------------------------

const raw = Net.createServer((socket) => {
  socket.on("error", () => {})
  socket.setEncoding("utf8").on("data", (text) => {
    if (text.includes("pay")) did("raw line")
    socket.write("ok\n")
  })
})

const rawTls = Tls.createServer(tls, (socket) => raw.emit("connection", socket))

/** Enough of SMTP. Nobody has a mailbox; to "lost", the mail is accepted and the connection breaks. */
const mail = Net.createServer((socket) => {
  let recipient = ""
  let isData = false
  let rest = ""
  const say = (line) => socket.write(`${line}\r\n`)
  socket.on("error", () => {})
  say("220 mail.example")
  socket.setEncoding("utf8").on("data", (text) => {
    rest += text
    for (let end = rest.indexOf("\r\n"); end >= 0; end = rest.indexOf("\r\n")) {
      const line = rest.slice(0, end)
      rest = rest.slice(end + 2)
      if (isData) {
        if (line !== ".") continue
        isData = false
        did("mail")
        if (recipient.includes("lost")) return socket.destroy()
        say("250 accepted")
      } else if (/^rcpt/i.test(line)) {
        recipient = line
        say(line.includes("nobody") ? "550 5.1.1 No such user" : "250 ok")
      } else if (/^data/i.test(line)) {
        isData = true
        say("354 go on")
      } else if (/^quit/i.test(line)) {
        say("221 bye")
        socket.end()
      } else say(/^ehlo/i.test(line) ? "250 mail.example" : "250 ok")
    }
  })
})

const message = (type, ...parts) => {
  const body = Buffer.concat(parts.map((part) => Buffer.isBuffer(part) ? part : Buffer.from(`${part}\0`)))
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/** Enough of PostgreSQL: a statement that inserts stores a row, unless the room is taken. */
const database = Net.createServer((socket) => {
  let rest = Buffer.alloc(0)
  let isStarted = false
  let statement = ""
  let hasFailed = false
  const ready = () => socket.write(message("Z", Buffer.from("I")))
  const run = () => {
    if (/taken/.test(statement)) {
      hasFailed = true
      const fields = [
        "SERROR",
        "VERROR",
        "C23505",
        "Mduplicate key value violates unique constraint \"rooms_pkey\"",
        ""
      ]
      return socket.write(message("E", ...fields))
    }
    if (/^insert/i.test(statement)) did("row")
    if (/dropped/.test(statement)) return socket.destroy()
    socket.write(message("C", /^insert/i.test(statement) ? "INSERT 0 1" : "SELECT 0"))
  }
  const hear = (type, body) => {
    if (type === "Q") {
      statement = body.toString("utf8", 0, body.length - 1)
      run()
      ready()
    }
    if (type === "P") {
      statement = body.toString("utf8", body.indexOf(0) + 1)
      socket.write(message("1"))
    }
    if (type === "B" && !hasFailed) {
      // The values belong to the statement.
      statement += body.toString("latin1")
      socket.write(message("2"))
    }
    if (type === "D" && !hasFailed) socket.write(message("n"))
    if (type === "E" && !hasFailed) run()
    if (type === "S") {
      hasFailed = false
      ready()
    }
  }
  socket.on("error", () => {})
  socket.on("data", (data) => {
    rest = Buffer.concat([rest, data])
    while (!socket.destroyed) {
      const offset = isStarted ? 1 : 0
      if (rest.length < offset + 4) return
      const length = rest.readInt32BE(offset)
      if (rest.length < offset + length) return
      const type = isStarted ? rest.toString("latin1", 0, 1) : ""
      const body = rest.subarray(offset + 4, offset + length)
      rest = rest.subarray(offset + length)
      if (isStarted) hear(type, body)
      else {
        isStarted = true
        socket.write(message("R", Buffer.alloc(4)))
        ready()
      }
    }
  })
})

const udp = createSocket("udp4")
udp.on("message", (message, { address, port }) => {
  did("datagram")
  udp.send(message, port, address)
})
await new Promise((resolve) => udp.bind(0, "127.0.0.1", resolve))

/** A process that listens and then does nothing more: once its queue is full, a connection is never completed. */
const stuckSource = `
  const server = require("node:net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    require("node:fs").writeSync(1, String(server.address().port))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })
`
const stuckProcess = spawn(process.execPath, ["-e", stuckSource], { stdio: ["ignore", "pipe", "inherit"] })
const stuck = Number(await new Promise((resolve) => stuckProcess.stdout.once("data", resolve)))
for (let i = 0; i < 8; i++) Net.connect(stuck, "127.0.0.1").on("error", () => {})

// -----------------------------------------------------------------------------
// Control
// -----------------------------------------------------------------------------

const control = Http.createServer((request, response) => {
  if (request.url === "/reset") done = []
  json(response, 200, { done, total })
})

const ports = {
  bank: await listening(server),
  https: await listening(https),
  h2c: await listening(h2c),
  h2: await listening(h2),
  proxy: await listening(proxy),
  raw: await listening(raw),
  rawTls: await listening(rawTls),
  mail: await listening(mail),
  database: await listening(database),
  udp: udp.address().port,
  stuck,
  control: await listening(control),
  // Only privileged programs may listen on it. Another program may get a port that was free a moment ago.
  closed: 2
}
process.stdout.write(`${JSON.stringify(ports)}\n`)

// It ends with its parent.
process.stdin.on("end", () => {
  stuckProcess.kill()
  process.exit()
}).resume()
