/**
 * Handlers with real clients, on five runtimes: what is known of a call is right or in doubt, and never a lie. A lie is the
 * certainty `not_executed` although a request that acts was served, a row was stored, a mail accepted, a file written.
 *
 * `bench/wire` has the rows and the services. `bench/wire/expected.txt` says what is known of each row on Node 24, and where
 * other runtimes differ; with `FALLIBLE_UPDATE=1` in the environment, this test writes it.
 */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import {
  folder,
  installed,
  play,
  type Played,
  playQueues,
  type Queues,
  type Run,
  runtimes,
  shown
} from "../support/wireRows.ts"

/** Rows that may lie, and why. */
const limits: ReadonlyArray<{ readonly why: string; readonly on: RegExp; readonly rows: RegExp }> = [
  {
    why: "A row is stored over a connection that is not seen, and then a POST is refused.",
    on: /^Node/,
    rows: /^pg, a pool from before: stored, then 402$/
  },
  {
    why: "Of two effects, one is no HTTP request of this process, and the other one is refused.",
    on: /^Node/,
    rows: /^(?:a socket from before: paid|execFileSync: paid|a file is written), then 402$/
  },
  {
    why: "Node 20 reports neither HTTP/2 nor the sockets that a driver or TLS connects itself.",
    on: /^Node 20$/,
    rows:
      /^(?:node:http2: a session from before, 200, then fetch 402|(?:new net\.Socket\(\)\.connect: paid|tls\.connect: paid|pg, a new pool: stored), then 402)$/
  },
  {
    why:
      "A queue, a worker or a batch does a call's work in the context of another call, or of none, and without the key.",
    on: /^Node/,
    rows:
      /^(?:a queue with a worker from before pays, then 402|DataLoader: two callers, one batch pays, then 402|p-queue of one: refused in its own context, then paid in that of another call)$/
  },
  {
    why: "What a mock has answered is no request: nothing was really done.",
    on: /^Node/,
    rows: /^(?:undici [78]'s MockAgent: 200, then an error, with 'acts\.only'|a stubbed fetch: 200, then axios 402)$/
  }
]

const isLimit = (runtime: string, { row }: Played): boolean =>
  limits.some(({ on, rows }) => on.test(runtime) && rows.test(row))

/** Everyday handlers of which the library knows without any declaration that nothing was done. */
const preciseByThemselves: ReadonlyArray<string> = [
  "Stripe SDK: card declined",
  "fetch POST 402, then Error('HTTP 402')",
  "fetch: connection refused",
  "axios 402",
  "axios 429",
  "S3 SDK: NoSuchBucket"
]

const file = join(folder, "expected.txt")

const isUpdating = process.env["FALLIBLE_UPDATE"] === "1"

/** What `expected.txt` says of each runtime. */
const expected = (): ReadonlyMap<string, ReadonlyArray<string>> =>
  new Map(
    readFileSync(file, "utf8").split(/^# /m).slice(1).map((section) => {
      const [runtime = "", ...lines] = section.split("\n")
      return [runtime, lines.filter((line) => line !== "")]
    })
  )

const isNode = (runtime: string): boolean => runtime.startsWith("Node")

const runs = new Map<string, Run>()
const queues = new Map<string, Queues>()

/** Plays all, two at a time: the rows wait as long as they work. */
const played = async (): Promise<void> => {
  await installed()
  const names = Object.keys(runtimes)
  const plays = [
    ...names.map((name) => async () => void runs.set(name, await play(name))),
    ...names.filter(isNode).map((name) => async () => void queues.set(name, await playQueues(name)))
  ]
  await Effect.runPromise(Effect.forEach(plays, (play) => Effect.promise(play), { concurrency: 2, discard: true }))
}

describe("a handler with a real client", () => {
  beforeAll(played)

  for (const runtime of Object.keys(runtimes)) {
    describe(`on ${runtime}`, () => {
      let run: Run
      beforeAll(() => {
        run = runs.get(runtime)!
      })

      it("is played to its end, and all that was done is counted", () => {
        assert.deepStrictEqual(run.wrong, [])
        assert.isAbove(run.rows.length, 500)
        assert.strictEqual(run.total, run.counted)
        assert.strictEqual(new Set(run.rows.map(({ row }) => row)).size, run.rows.length)
      })

      it("is never told as not executed if it acted, but for the documented limits", () => {
        const lies = run.rows.filter((row) => (row.lies ?? 0) > 0 && !isLimit(runtime, row))
        assert.deepStrictEqual(lies.map(shown), [])
      })

      it("is in doubt, or known, as `expected.txt` says", () => {
        if (!isUpdating) assert.deepStrictEqual(linesOf(runtime), expected().get(runtime))
      })

      if (isNode(runtime)) {
        it("is known by its request, whatever pool the request was queued in", () => {
          const { elsewhere, sentByCode, wrong } = queues.get(runtime)!
          assert.deepStrictEqual(wrong, [])
          assert.isAbove(elsewhere, 100)
          assert.isAbove(sentByCode, 500)
        })

        it("is known to have done nothing, if it is an everyday one that the service refused", () => {
          const everyday = run.rows.filter(({ row }) => row.startsWith("everyday: "))
          const precise = everyday.filter(({ certainty }) => certainty === "not_executed")
          assert.strictEqual(everyday.length, 24)
          assert.deepStrictEqual(precise.map(({ row }) => row.replace("everyday: ", "")), preciseByThemselves)
        })

        it("is known to have done nothing, or rightly in doubt, once its author says what one line can say", () => {
          const declared = run.rows.filter(({ row }) => row.startsWith("everyday, declared: "))
          const needless = declared.filter(({ acts, certainty }) => acts === 0 && certainty !== "not_executed")
          assert.strictEqual(declared.length, 24)
          assert.deepStrictEqual(needless.map(({ row }) => row.replace("everyday, declared: ", "")), [
            "a mistake of the program before the request"
          ])
        })
      }
    })
  }

  it("has its limits written down: each of them was seen", () => {
    const all = Array.from(runs, ([runtime, { rows }]) => rows.map((row) => ({ runtime, row }))).flat()
    const unseen = limits.filter(({ on, rows }) =>
      !all.some(({ row, runtime }) => (row.lies ?? 0) > 0 && on.test(runtime) && rows.test(row.row))
    )
    assert.deepStrictEqual(unseen.map(({ why }) => why), [])
    if (isUpdating) writeFileSync(file, written())
  })
})

/** The lines of a runtime: of Node 24, all; of another one, those that differ from Node 24's. */
const linesOf = (runtime: string): ReadonlyArray<string> => {
  const linesOfAll = (name: string) => runs.get(name)?.rows.map(shown) ?? []
  const first = new Set(runtime === "Node 24" ? [] : linesOfAll("Node 24"))
  return linesOfAll(runtime).filter((line) => !first.has(line))
}

const written = (): string =>
  `${Object.keys(runtimes).map((runtime) => [`# ${runtime}`, ...linesOf(runtime)].join("\n")).join("\n\n")}\n`
