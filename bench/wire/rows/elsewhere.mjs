/** Handlers that act by something else than HTTP of this process: sockets, databases, mails, workers, processes, files. */
import { execFile, execFileSync, spawn } from "node:child_process"
import { createSocket } from "node:dgram"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import * as Net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Tls from "node:tls"
import { Worker } from "node:worker_threads"
import { lib } from "./clients.mjs"
import { bank, childFile, childPath, did, missing, node, ok, ports, post, row } from "./kit.mjs"

const refused = async () => ok(await fetch(bank("/refuse/402"), post()))

// -----------------------------------------------------------------------------
// Sockets
// -----------------------------------------------------------------------------

const answered = (socket) => new Promise((resolve, reject) => socket.once("data", resolve).once("error", reject))

const overSocket = async (socket) => {
  socket.write("pay\n")
  await answered(socket)
  socket.destroy()
}

const connectedSocket = async () => {
  const socket = Net.connect(ports.raw, "127.0.0.1")
  await new Promise((resolve) => socket.once("connect", resolve))
  return socket
}

const socketRows = [
  row("net.connect: paid, then an error", async () => {
    await overSocket(Net.connect(ports.raw, "127.0.0.1"))
    missing()
  }),
  row("net.connect: paid, then 402", async () => {
    await overSocket(Net.connect(ports.raw, "127.0.0.1"))
    await refused()
  }),
  row("new net.Socket().connect: paid, then an error", async () => {
    await overSocket(new Net.Socket().connect(ports.raw, "127.0.0.1"))
    missing()
  }),
  row("new net.Socket().connect: paid, then 402", async () => {
    await overSocket(new Net.Socket().connect(ports.raw, "127.0.0.1"))
    await refused()
  }),
  row("a socket from before: paid, then an error", async (_, socket) => {
    socket.write("pay\n")
    await answered(socket)
    missing()
  }, { before: connectedSocket, after: (socket) => socket.destroy() }),
  row("a socket from before: paid, then 402", async (_, socket) => {
    socket.write("pay\n")
    await answered(socket)
    await refused()
  }, { before: connectedSocket, after: (socket) => socket.destroy() }),
  row("tls.connect: paid, then an error", async () => {
    await overSocket(Tls.connect({ port: ports.rawTls, host: "127.0.0.1", rejectUnauthorized: false }))
    missing()
  }),
  row("tls.connect: paid, then 402", async () => {
    await overSocket(Tls.connect({ port: ports.rawTls, host: "127.0.0.1", rejectUnauthorized: false }))
    await refused()
  }),
  row("a datagram, then an error", async () => {
    const socket = createSocket("udp4")
    socket.send("pay", ports.udp, "127.0.0.1")
    await new Promise((resolve) => socket.once("message", resolve))
    socket.close()
    missing()
  }),
  row("a datagram, then 402", async () => {
    const socket = createSocket("udp4")
    socket.send("pay", ports.udp, "127.0.0.1")
    await new Promise((resolve) => socket.once("message", resolve))
    socket.close()
    await refused()
  })
]

const opened = (socket) =>
  new Promise((resolve, reject) => {
    socket.addEventListener("open", () => resolve(socket))
    socket.addEventListener("error", () => reject(new Error("The WebSocket failed.")))
  })

const paidBy = async (socket) => {
  const answer = new Promise((resolve) => socket.addEventListener("message", resolve, { once: true }))
  socket.send("pay")
  await answer
}

const globalSocket = () => {
  if (globalThis.WebSocket === undefined) throw new Error("This runtime has no WebSocket.")
  return opened(new globalThis.WebSocket(`ws://127.0.0.1:${ports.bank}/`))
}
const wsSocket = async () => opened(new (await import("ws")).WebSocket(`ws://127.0.0.1:${ports.bank}/`))

const webSocketRows = [["WebSocket", globalSocket], ["ws", wsSocket]].flatMap(([name, open]) => [
  row(`${name}: paid, then an error`, async () => {
    const socket = await open()
    await paidBy(socket)
    socket.close()
    missing()
  }, { before: async () => (await open()).close() }),
  row(`${name}: paid, then 402`, async () => {
    const socket = await open()
    await paidBy(socket)
    socket.close()
    await refused()
  }, { before: async () => (await open()).close() }),
  row(`${name} from before: paid, then an error`, async (_, socket) => {
    await paidBy(socket)
    missing()
  }, { before: open, after: (socket) => socket.close() })
])

// -----------------------------------------------------------------------------
// Databases and mails
// -----------------------------------------------------------------------------

const database = () => ({ host: "127.0.0.1", port: ports.database, user: "app", database: "app", password: "p" })

const pool = async () => {
  const { Pool } = await lib("pg")
  const all = new Pool({ ...database(), max: 1 })
  all.on("error", () => {})
  return all
}
const openPool = async () => {
  const all = await pool()
  await all.query("SELECT 1")
  return all
}
const endPool = (all) => all.end()
const insert = (all, room) => all.query("INSERT INTO bookings (room) VALUES ($1)", [room])

const databaseRows = [["a new pool", pool], ["a pool from before", openPool]].flatMap(([name, before]) => [
  row(`pg, ${name}: stored, then an error`, async (_, all) => {
    await insert(all, "A1")
    missing()
  }, { before, after: endPool }),
  row(`pg, ${name}: not unique`, async (_, all) => insert(all, "taken"), { before, after: endPool }),
  row(`pg, ${name}: dropped`, async (_, all) => insert(all, "dropped"), { before, after: endPool }),
  row(`pg, ${name}: stored, then 402`, async (_, all) => {
    await insert(all, "A1")
    await refused()
  }, { before, after: endPool })
])

const transport = async () => {
  const { createTransport } = await lib("nodemailer")
  return createTransport({ host: "127.0.0.1", port: ports.mail, secure: false, ignoreTLS: true })
}
const mail = (to) => ({ from: "a@example.org", to: `${to}@example.org`, subject: "Hi", text: "Hello" })

const mailRows = [
  row("nodemailer: sent, then an error", async (_, mailer) => missing(await mailer.sendMail(mail("ada"))), {
    before: transport
  }),
  row("nodemailer: no such user", async (_, mailer) => mailer.sendMail(mail("nobody")), { before: transport }),
  row("nodemailer: accepted, connection lost", async (_, mailer) => mailer.sendMail(mail("lost")), {
    before: transport
  }),
  row("nodemailer: sent, then 402", async (_, mailer) => {
    await mailer.sendMail(mail("ada"))
    await refused()
  }, { before: transport })
]

// -----------------------------------------------------------------------------
// Workers, processes, files
// -----------------------------------------------------------------------------

const heard = (worker) => new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject))

const workerRows = [
  row("a worker: paid, then an error", async () => {
    const worker = new Worker(childFile, { workerData: { url: bank("/pay") } })
    await heard(worker)
    await worker.terminate()
    missing()
  }),
  row("a worker: paid, then 402", async () => {
    const worker = new Worker(childFile, { workerData: { url: bank("/pay") } })
    await heard(worker)
    await worker.terminate()
    await refused()
  }),
  row("a worker from before: paid, then an error", async (_, worker) => {
    const answer = heard(worker)
    worker.postMessage(bank("/pay"))
    await answer
    missing()
  }, { before: async () => new Worker(childFile, { workerData: {} }), after: (worker) => worker.terminate() }),
  row("spawn: paid, then an error", async () => {
    const child = spawn(node, [childPath, bank("/pay")], { stdio: "ignore" })
    await new Promise((resolve) => child.once("exit", resolve))
    missing()
  }),
  row("spawn: paid, then 402", async () => {
    const child = spawn(node, [childPath, bank("/pay")], { stdio: "ignore" })
    await new Promise((resolve) => child.once("exit", resolve))
    await refused()
  }),
  row(
    "execFile: paid, and exits with 1",
    () =>
      new Promise((resolve, reject) =>
        execFile(node, [childPath, bank("/pay"), "1"], (error) => error === null ? resolve() : reject(error))
      )
  ),
  row("execFileSync: paid, and exits with 1", async () => {
    execFileSync(node, [childPath, bank("/pay"), "1"], { stdio: "ignore" })
  }),
  row("execFileSync: paid, then 402", async () => {
    execFileSync(node, [childPath, bank("/pay")], { stdio: "ignore" })
    await refused()
  })
]

const folder = () => mkdtemp(join(tmpdir(), "fallible-wire-"))
const removed = (path) => rm(path, { recursive: true })

const fileRows = [
  row("a file is written, then an error", async (_, path) => {
    await writeFile(join(path, "a"), "text")
    did("file")
    throw new Error("Disk quota exceeded.")
  }, { before: folder, after: removed }),
  row("a file is written, then 402", async (_, path) => {
    await writeFile(join(path, "a"), "text")
    did("file")
    await refused()
  }, { before: folder, after: removed }),
  row("a state of this process changes, then an error", async (_, rooms) => {
    rooms.add("A1")
    did("state")
    throw new Error("Room A1 is booked.")
  }, { before: async () => new Set() })
]

export { database, folder, insert, mail, openPool, removed, transport }

export const elsewhereRows = [socketRows, webSocketRows, databaseRows, mailRows, workerRows, fileRows].flat()
