/** The HTTP backend as a process that a signal stops. */
import { assert, describe, it } from "@effect/vitest"
import { program } from "@fallible/examples/04-http-backend/program"
import { Effect, Stream } from "effect"
import { events, serving } from "../support/backend.ts"
import { type Started, started } from "../support/backendProcess.ts"
import * as InProcess from "../support/inProcess.ts"

/** Asks a question, sends a signal when a tool is called, and returns the last event. */
const stoppedMidway = ({ kill, url }: Started, signal: NodeJS.Signals) =>
  events(`${url}/ask`, { question: "Where is the parcel of o-1001?" }).pipe(
    Stream.tap(({ _tag }) => Effect.sync(() => _tag === "CallStarted" && kill(signal))),
    Stream.runCollect,
    Effect.map((seen) => seen.at(-1))
  )

describe("the backend as a process", () => {
  it.live("lets the runs under way finish on SIGTERM, and ends with code 0", () =>
    Effect.gen(function*() {
      const backend = yield* started("--port", "0", "--grace", "20")
      assert.deepInclude(yield* stoppedMidway(backend, "SIGTERM"), { _tag: "RunEnded" })
      assert.deepStrictEqual(yield* Effect.promise(() => backend.ended), { code: 0, signal: null })
    }))

  it.live("interrupts them on SIGINT when the time is up, tells their clients, and ends with code 0", () =>
    Effect.gen(function*() {
      const backend = yield* started("--port", "0", "--grace", "1", "--upstream", "stuck")
      assert.deepInclude(yield* stoppedMidway(backend, "SIGINT"), { _tag: "ServerStopping" })
      assert.deepStrictEqual(yield* Effect.promise(() => backend.ended), { code: 0, signal: null })
    }))

  it.live("fails if the port that it was told to use is taken", () =>
    Effect.gen(function*() {
      const taken = yield* serving()
      const port = new URL(taken.url).port
      const { code, stderr } = yield* InProcess.run(program, "--port", port)
      assert.deepStrictEqual([code, stderr], [1, `Port ${port} is taken. Choose another one with --port.\n`])
    }))
})
