/** What the rows share: the services' addresses, a note of what was done in this process, and small handlers. */
import { spawn } from "node:child_process"
import * as Http from "node:http"
import { createInterface } from "node:readline"
import { setImmediate as turn } from "node:timers/promises"
import { fileURLToPath } from "node:url"

/** The services' ports. Filled when the world starts. */
export const ports = {}

/** The addresses of the services. */
export const bank = (path = "") => `http://127.0.0.1:${ports.bank}${path}`
export const secure = (path = "") => `https://127.0.0.1:${ports.https}${path}`
export const proxy = () => `http://127.0.0.1:${ports.proxy}`
/** Nobody listens there. */
export const closed = (path = "") => `http://127.0.0.1:${ports.closed}${path}`
export const nowhere = (path = "") => `http://nowhere.invalid${path}`
/** It does not speak TLS. */
export const noTls = (path = "") => `https://127.0.0.1:${ports.bank}${path}`
/** It never completes a connection. */
export const stuck = (path = "") => `http://127.0.0.1:${ports.stuck}${path}`

/** A program that sends a POST; see there. */
export const childFile = new URL("../child.mjs", import.meta.url)
export const childPath = fileURLToPath(childFile)

/** The Node that runs other processes. */
export const node = process.env.WIRE_NODE ?? process.execPath

let doneHere = []

/** Notes that something was done in this process: a file was written, a state has changed. */
export const did = (what) => void doneHere.push(what)

/** Starts the services. */
export const startWorld = async () => {
  const child = spawn(node, [fileURLToPath(new URL("../world.mjs", import.meta.url))], {
    stdio: ["pipe", "pipe", "inherit"]
  })
  const [line] = await new Promise((resolve) => createInterface(child.stdout).once("line", (...args) => resolve(args)))
  Object.assign(ports, JSON.parse(line))
  let doneHereBefore = 0
  const ask = (path) =>
    new Promise((resolve, reject) => {
      Http.get({ port: ports.control, host: "127.0.0.1", path, agent: false }, (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (part) => text += part).on("end", () => resolve(JSON.parse(text)))
      }).on("error", reject)
    })
  // What has left this process before a question is done before its answer: the services have one thread.
  const settled = async () => {
    for (let i = 0; i < 5; i++) {
      await turn()
      await ask("/")
    }
  }
  return {
    reset: async () => {
      await settled()
      doneHereBefore += doneHere.length
      doneHere = []
      await ask("/reset")
    },
    done: async () => {
      await settled()
      return [...(await ask("/")).done, ...doneHere]
    },
    total: async () => {
      await settled()
      return (await ask("/")).total + doneHereBefore + doneHere.length
    },
    shown,
    end: () => child.stdin.end()
  }
}

/** A request as a short text, without ports: `POST bank/pay 200`. */
const shown = ({ method, sent, status, url }) => {
  const place = url.replace(
    /127\.0\.0\.1:(\d+)/g,
    (_, port) => Object.keys(ports).find((name) => String(ports[name]) === port) ?? "?"
  )
  return `${method} ${place.replace(/^https?:\/\//, "")} ${status ?? (sent ? "unanswered" : "unsent")}`
}

// -----------------------------------------------------------------------------
// Rows and handlers
// -----------------------------------------------------------------------------

/**
 * A row: the handler of an async function.
 *
 * @param run takes the second argument of an async handler, what `before` has returned, and the number of the call
 * @param options `tool`: fields of the definition; `through`: a policy; `calls`: how many at once; `before` and `after`:
 * what is prepared outside the call, and what is awaited after it; `isOf`: whether something was done for a call; `varies`:
 * what is known depends on the moment, and only a lie is wrong
 */
export const row = (name, run, options = {}) => ({ name, run, ...options })

/** A row whose handler returns an Effect. */
export const effectRow = (name, effect, options = {}) => ({ name, effect, ...options })

/** The body of a request that acts. */
export const post = (options = {}) => ({ method: "POST", body: "{}", ...options })

/** Throws unless a response says that all went well, as most handlers do. */
export const ok = async (response) => {
  const text = await response.text()
  if (!response.ok) throw new Error(`HTTP ${response.status}`)
  return text
}

/** The versions of undici: how rows call them, and the name of the package. */
export const undicis = [["undici 8", "undici"], ["undici 7", "undici7"]]

/** What a handler throws after it has acted. */
export const missing = () => {
  throw new Error("Receipt missing")
}

export const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis))

/** A promise that a row's background work resolves, so that the row can wait for its end. */
export const latch = () => {
  let open
  const promise = new Promise((resolve) => open = resolve)
  return { promise, open }
}
