import { execFile, spawn } from "node:child_process"
import * as Dns from "node:dns/promises"
import * as Fs from "node:fs"
import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises"
import * as Http from "node:http"
import * as Https from "node:https"
import * as Net from "node:net"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { authorization, type Cases, query, twoAddresses, type World } from "../world.ts"

/** Rejects with the `error` event of a request, or of its response while it is read. */
const requested = (url: string, options: Http.RequestOptions = {}) =>
  new Promise((done, fail) => {
    const request = Http.request(url, { headers: { authorization }, agent: false, ...options }, (response) => {
      response.on("error", fail).on("end", done).resume()
    })
    request.on("error", fail).on("timeout", () => request.destroy()).end()
  })

export const httpCases = ({ origin, refused, refusedPort, unknownHost }: World): Cases => ({
  library: "node:http",
  cases: {
    "refused": () => requested(refused + query),
    "refused localhost": () => requested(refused.replace("127.0.0.1", "localhost") + query),
    "refused twice": () =>
      requested(refused.replace("127.0.0.1", "localhost"), { lookup: twoAddresses, autoSelectFamily: true } as object),
    "unknown host": () => requested(unknownHost + query),
    "reset": () => requested(`${origin}/reset${query}`),
    "closed without an answer": () => requested(`${origin}/close${query}`),
    "not HTTP": () => requested(`${origin}/garbage${query}`),
    "cut body": () => requested(`${origin}/cut-body${query}`),
    "timeout": () => requested(`${origin}/hang${query}`, { timeout: 50 }),
    "timeout signal": () => requested(`${origin}/hang${query}`, { signal: AbortSignal.timeout(50) }),
    "aborted": () => {
      const controller = new AbortController()
      setTimeout(() => controller.abort(), 50)
      return requested(`${origin}/hang${query}`, { signal: controller.signal })
    },
    "bad URL": () => requested("http://:80/"),
    "wrong scheme": () => requested("https://127.0.0.1"),
    "bad header": () => requested(origin, { headers: { authorization: "Bearer \n" } }),
    "TLS to a plain port": () =>
      new Promise((_, fail) => Https.get(origin.replace("http:", "https:")).on("error", fail)),
    "socket refused": () => new Promise((_, fail) => Net.connect(refusedPort, "127.0.0.1").on("error", fail)),
    "address in use": () =>
      new Promise((_, fail) => Net.createServer().on("error", fail).listen(Number(new URL(origin).port), "127.0.0.1")),
    "lookup of an unknown host": () => Dns.lookup("nowhere.invalid")
  }
})

export const systemCases = ({ directory }: World): Cases => {
  const file = join(directory, "file.txt")
  const secret = join(directory, "sk-live-SECRET123456.txt")
  Fs.writeFileSync(file, "hello")
  return {
    library: "node",
    cases: {
      "fs ENOENT": () => readFile(secret, "utf8"),
      "fs ENOENT sync": () => Fs.readFileSync(secret, "utf8"),
      "fs EISDIR": () => readFile(directory, "utf8"),
      "fs ENOTDIR": () => readFile(join(file, "below"), "utf8"),
      "fs EEXIST": () => mkdir(directory),
      "fs EEXIST exclusive": () => writeFile(file, "x", { flag: "wx" }),
      "fs ENOTEMPTY": () => rmdir(directory),
      "fs ENAMETOOLONG": () => readFile(join(directory, "x".repeat(300))),
      "fs ELOOP": () => {
        Fs.symlinkSync(join(directory, "loop"), join(directory, "loop"))
        return readFile(join(directory, "loop"))
      },
      "fs EACCES": () => asNobody(() => readFile("/etc/shadow")),
      "fs EACCES write": () => asNobody(() => Promise.resolve().then(() => Fs.writeFileSync("/etc/hostname", "x"))),
      "fs EPERM": () => asNobody(() => Promise.resolve().then(() => Fs.chmodSync("/etc/hostname", 0o600))),
      "fs EBADF": () => Fs.readSync(9999, Buffer.alloc(1)),
      "fs ENOSPC": () => writeFile("/dev/full", "x"),
      "fs aborted": () => readFile(file, { signal: AbortSignal.abort() }),
      "spawn ENOENT": () =>
        new Promise((_, fail) => spawn("no-such-program", ["--key", "sk-live-SECRET123456"]).on("error", fail)),
      "exec exit code": () => promisify(execFile)("sh", ["-c", "echo hunter2-secret >&2; exit 3"]),
      "exec timeout": () => promisify(execFile)("sleep", ["5"], { timeout: 50 }),
      "sleep aborted": () => sleep(1000, undefined, { signal: AbortSignal.timeout(20) }),
      "AbortController.abort": () => AbortSignal.abort().throwIfAborted(),
      "AbortSignal.timeout": async () => {
        const signal = AbortSignal.timeout(10)
        await sleep(50)
        signal.throwIfAborted()
      },
      "structuredClone": () => structuredClone(() => {}),
      "atob": () => atob("%")
    }
  }
}

// Runs work as "nobody" when this process is root, because root passes every access check.
const asNobody = async (work: () => Promise<unknown>) => {
  const root = process.geteuid?.() === 0
  if (root) process.seteuid?.("nobody")
  try {
    return await work()
  } finally {
    if (root) process.seteuid?.(0)
  }
}
