/**
 * Processes that are killed at random points of a run, with the file journal of the guide and a payment service on
 * loopback: the next process goes on, and nothing is paid twice. `KILLS=100` tries more points, `SEED` repeats them.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { randomInt } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Finished, runNode } from "../support/program.ts"

/** A service that keeps what was paid. */
const service = Effect.acquireRelease(
  Effect.callback<{ readonly paid: Array<string>; readonly url: string; readonly close: () => void }>((resume) => {
    const paid: Array<string> = []
    const server = createServer(({ method, url = "" }, response) => {
      const order = url.split("/").at(-1) ?? ""
      if (method === "POST") paid.push(order)
      response.statusCode = paid.includes(order) ? 200 : 404
      response.end(`receipt of ${order}`)
    })
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      resume(Effect.succeed({ paid, url: `http://127.0.0.1:${port}`, close: () => server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

const kills = Number(process.env["KILLS"] ?? 20)
const seed = process.env["SEED"] ?? `${randomInt(1e9)}`

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "killed-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
)

describe("a run whose process is killed", () => {
  it.effect(`goes on, and pays nothing twice (SEED=${seed})`, () =>
    Effect.gen(function*() {
      const { paid, url } = yield* service
      const file = join(yield* folder, "whole.jsonl")
      const run = (file: string, at: number, signal: string) =>
        runNode("test/support/killedRun.ts", file, url, `${at}`, signal)
      const whole = readEnd(yield* run(file, 0, ""))
      assert.deepStrictEqual(paid, ["1", "2", "3"])
      assert.isAbove(whole.points, 20)
      const ways = new Set<string>()
      for (let kill = 0; kill < kills; kill++) {
        paid.length = 0
        const file = join(yield* folder, "steps.jsonl")
        const signal = (yield* Random.nextBoolean) ? "SIGKILL" : "SIGTERM"
        const at = yield* Random.nextIntBetween(1, whole.points + 1)
        const killed = yield* run(file, at, signal)
        const where = `${signal} at point ${at}, attempt ${kill}`
        // A run may have a point less than the first one.
        if (!killed.stdout.includes("Paid.")) ways.add(`${signal} ${killed.code}`)
        assert.deepInclude(readEnd(yield* run(file, 0, "")), { text: "Paid." }, where)
        assert.deepStrictEqual(paid, ["1", "2", "3"], where)
      }
      // Each signal ended processes in its own way.
      assert.deepStrictEqual(Array.from(ways).toSorted(), ["SIGKILL -1", "SIGTERM 143"])
    }).pipe(Effect.scoped, Random.withSeed(seed)))
})

const readEnd = ({ code, stderr, stdout }: Finished): { readonly points: number; readonly text: string } =>
  code === 0 && stdout !== ""
    ? JSON.parse(stdout.slice(stdout.lastIndexOf("{\"points\"")))
    : assert.fail(`exit ${code}: ${stderr}`)
