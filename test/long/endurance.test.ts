/**
 * Runs leave no connection, no fiber and no secret behind.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Agent, ModelFailure, Tool, Toolkit } from "@fallible/core"
import * as Journal from "@fallible/core/Journal"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Cause, Effect, Fiber, Logger, Metric, Random, Schedule, Schema, Stream, Tracer } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Http from "node:http"
import { inspect } from "node:util"
import { listening } from "../support/http.ts"
import { atOnce, ollama, openAi } from "../support/models.ts"
import { recordingTracer } from "../support/spans.ts"

const ping = Tool.make(
  "ping",
  { description: "Answers", success: Schema.String, sideEffect: "none" },
  () => Effect.succeed("pong")
)
const pinging = Agent.make({ toolkit: Toolkit.make(ping) })

const providers = [["Chat Completions", openAi], ["Ollama", ollama]] as const
const long = ScriptedModel.text("A long text, of which only a part will ever come. ".repeat(20))

describe("interrupting a run", () => {
  for (const [name, provider] of providers) {
    for (
      const [when, move] of [
        ["before the reply", Effect.never],
        ["in the middle of the reply", FakeModelServer.stall(long, 500)]
      ] as const
    ) {
      for (const how of ["run", "stream"] as const) {
        it.live(`closes its connection to ${name} (${how}, ${when})`, () =>
          Effect.gen(function*() {
            const server = yield* FakeModelServer.make([ScriptedModel.call("ping"), move])
            const run = how === "run" ? pinging.run("Ping!") : Stream.runDrain(pinging.stream("Ping!"))
            const fiber = yield* Effect.asVoid(run).pipe(Effect.provide(provider(server.url, {})), Effect.forkChild)
            yield* server.until(({ open, requests }) => requests.length === 2 && open === 1)
            yield* Fiber.interrupt(fiber)
            // The server never ends the reply.
            const state = yield* server.until(({ open }) => open === 0)
            assert.strictEqual(state.abandoned, 1)
          }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer)))
      }
    }
  }
})

describe("a conversation", () => {
  for (const [name, provider] of providers) {
    it.live(`keeps its connections to ${name} open from turn to turn, streamed or not`, () =>
      Effect.gen(function*() {
        const server = yield* FakeModelServer.make((_, index) => index % 5 === 4 ? long : ScriptedModel.call("ping"))
        const layer = provider(server.url, {})
        yield* Effect.provide(pinging.run("Ping!"), layer)
        yield* Stream.runDrain(pinging.stream("Ping!")).pipe(Effect.provide(layer))
        const { connected, requests } = yield* server.state
        assert.strictEqual(requests.length, 10)
        // A second connection opens if a request comes before the previous reply has ended.
        assert.isAtMost(connected, 2)
      }).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici)))
  }
})

describe("a body whose end comes late", () => {
  it.live("is waited for, so that its connection can be used again", () =>
    Effect.gen(function*() {
      let connected = 0
      const server = Http.createServer((request, response) => {
        request.resume().on("end", () => {
          response.write(
            "data: {\"choices\":[{\"delta\":{\"content\":\"Hi.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
          )
          setImmediate(() => setImmediate(() => response.end()))
        })
      }).on("connection", () => connected++)
      const url = yield* listening(server)
      const agent = Agent.make({ toolkit: Toolkit.empty })
      yield* Effect.repeat(Stream.runDrain(agent.stream("Hello?")), { times: 19 }).pipe(
        Effect.provide(openAi(url, {}))
      )
      assert.isAtMost(connected, 2)
    }).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici)))
})

describe("1,000 runs with faults of every kind", () => {
  const reply = ScriptedModel.text("Here you are.")
  const faults: ReadonlyArray<FakeModelServer.Move> = [
    ...["connection", "cut_off", "malformed_reply", "server_error", "rate_limited", "permission_denied"].map((code) =>
      new ModelFailure({ code, detail: "A fault.", transient: false })
    ),
    Effect.never,
    FakeModelServer.raw("data: {\"choices\":[{\"delta\":\n\n"),
    FakeModelServer.stall(long, 300),
    FakeModelServer.drop(long, 700),
    FakeModelServer.drop(reply, 1_000_000)
  ]

  for (const [name, provider] of providers) {
    it.live(`leave no connection to ${name} and no fiber behind`, () =>
      Effect.gen(function*() {
        const fibers = { begun: 0, ended: 0 }
        const counting: Metric.FiberRuntimeMetricsService = {
          recordFiberStart: () => void fibers.begun++,
          recordFiberEnd: () => void fibers.ended++
        }
        const endings = new Map<string, number>()
        const count = (ending: string) => endings.set(ending, (endings.get(ending) ?? 0) + 1)

        const chance = yield* Random.Random.pipe(Random.withSeed("faults"))
        // Four calls and four answers for each set of faults.
        const moves = [...Array.from({ length: 4 }, () => [ScriptedModel.call("ping"), reply]).flat(), ...faults]
        const server = yield* FakeModelServer.make(() => moves[Math.floor(chance.nextDoubleUnsafe() * moves.length)]!)
        const runs = Effect.forEach(
          Array.from({ length: 1_000 }, (_, index) => index),
          (index) =>
            Effect.asVoid(index % 2 === 0 ? pinging.run("Ping!") : Stream.runDrain(pinging.stream("Ping!"))).pipe(
              // Some runs are interrupted, as users do.
              index % 7 === 0 ? Effect.timeoutOption("5 millis") : Effect.asSome,
              Effect.match({
                onFailure: (failure) => count(failure._tag === "ModelFailed" ? failure.failure.code : failure._tag),
                onSuccess: (ended) => count(ended._tag === "Some" ? "answered" : "given up")
              }),
              Effect.provideService(Metric.FiberRuntimeMetrics, counting)
            ),
          { concurrency: 20, discard: true }
        )
        // Long enough for a busy machine, so an answered request is not taken for a hanging one.
        const settings = { retry: Schedule.recurs(2), timeout: "600 millis" } as const
        yield* runs.pipe(
          Effect.provide(provider(server.url, settings)),
          Effect.provide(NodeHttpClient.layerUndici),
          atOnce
        )
        const state = yield* server.until(({ connections, open }) => connections === 0 && open === 0)
        assert.isAbove(state.requests.length, 300)
        assert.deepStrictEqual(state.requests.flatMap(({ problem }) => problem ?? []), [])
        assert.strictEqual(fibers.begun - fibers.ended, 0)
        assert.isAbove(fibers.begun, 1_000)
        for (const ending of ["answered", "given up", "permission_denied", "timeout"]) {
          assert.isAbove(endings.get(ending) ?? 0, 0, ending)
        }
      }).pipe(Effect.scoped))
  }
})

describe("a key", () => {
  const key = "sk-proj-0123456789abcdef"

  /** Returns all text that a value reveals, in every way of printing it. */
  const shown = (value: unknown): string =>
    [
      inspect(value, { depth: Infinity, showHidden: true, getters: true }),
      JSON.stringify(value, (_, part: unknown) => typeof part === "bigint" ? String(part) : part),
      String(value)
    ].join(
      "\n"
    )

  it.live("appears in no error, log, span, event, transcript or journal, whatever fails", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const { spans, tracer } = recordingTracer()
      const journal: Journal.Journal = {
        step: (step, effect) => Effect.onExit(effect, (exit) => Effect.sync(() => seen.push(step.name, exit)))
      }
      const echo = `Wrong key: ${key}, ${encodeURIComponent(key)}, "Bearer ${key}".`
      const moves: ReadonlyArray<FakeModelServer.Move> = [
        ScriptedModel.call("ping"),
        ...["connection", "cut_off", "malformed_reply", "server_error", "permission_denied", "refused"].map((code) =>
          new ModelFailure({ code, detail: echo, transient: false })
        ),
        FakeModelServer.raw(`{"error":"${echo}"}`),
        FakeModelServer.raw(`data: {"error":"${key}"}\n\n`),
        FakeModelServer.raw(key, { status: 500, headers: { "x-request-key": "1" } }),
        FakeModelServer.stall(long, 300),
        Effect.never
      ]
      for (const [, provider] of providers) {
        for (const move of moves) {
          for (const how of ["run", "stream"] as const) {
            const server = yield* FakeModelServer.make(() => move)
            const settings = { apiKey: key, retry: Schedule.recurs(1), timeout: "30 millis" } as const
            const run = how === "run"
              ? pinging.run("Ping!")
              : Stream.runForEach(pinging.stream("Ping!"), (event) => Effect.sync(() => seen.push(event)))
            const exit = yield* Effect.exit(Effect.asVoid(run)).pipe(
              Effect.provide(provider(server.url, settings)),
              Effect.provide(FetchHttpClient.layer),
              Effect.provideService(Journal.current, journal),
              Effect.provideService(Tracer.Tracer, tracer),
              Effect.provide(
                Logger.layer([Logger.make((options) => seen.push(options.message, Cause.pretty(options.cause)))])
              ),
              atOnce
            )
            assert.strictEqual(exit._tag, "Failure")
            seen.push(exit, exit._tag === "Failure" ? Cause.pretty(exit.cause) : "")
            yield* server.whileDown(Effect.void)
          }
        }
      }
      assert.isAbove(spans.length, 20)
      assert.isAbove(seen.length, 100)
      const all = [
        ...seen,
        ...spans.map(({ attributes, events, name, status }) => ({ attributes, events, name, status }))
      ]
      const leaks = all.filter((value) => shown(value).includes(key))
      assert.deepStrictEqual(leaks.map(shown).map((text) => text.slice(0, 2000)), [])
    }).pipe(Effect.scoped))
})
