/** What the requests of a handler prove, over real HTTP. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  Dispatch,
  Observer,
  RetryPolicy,
  SemanticGarbage,
  Tool,
  ToolCall,
  ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import * as HttpFailure from "@fallible/core/HttpFailure"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { ScriptedModel } from "@fallible/testing"
import { Deferred, Effect, Fiber, Logger, Schedule, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import * as Http from "node:http"
import { beginFacts, recordCall } from "../../packages/core/src/internal/dispatch/recordCalls.ts"
import { closedPort, serving } from "../support/http.ts"
import { passingBy } from "../support/virtualTime.ts"

const order = {
  description: "Pays an order",
  parameters: Schema.Struct({ order: Schema.String }),
  success: Schema.String
}

/** A bank whose paths say how it answers: `/402`, `/reset`, `/hang`. Records each request that acts. */
const bank = Effect.gen(function*() {
  const seen: Array<{ readonly path: string; readonly key: string | undefined }> = []
  const url = yield* serving((request, response) => {
    const { headers, method, url: path = "" } = request
    request.resume()
    const key = headers["idempotency-key"]
    if (method !== "GET") seen.push({ path, key: typeof key === "string" ? key : undefined })
    if (path.includes("reset")) return void request.socket.destroy()
    if (path.includes("hang")) return
    const status = Number(/\d{3}/.exec(path)?.[0] ?? 200)
    const location = status === 303 ? "/404" : status === 307 ? "/402" : undefined
    response.writeHead(status, location === undefined ? {} : { location }).end("\"paid\"")
  })
  return { url, seen }
})

const outcomeOf = <T extends Tool.Any>(tool: T, facts?: CallFacts.CallFacts) =>
  Dispatch.call(Toolkit.make(tool), { id: "1", name: tool.name, arguments: "{\"order\":\"7\"}" }, {
    id: "call",
    ...(facts === undefined ? {} : { facts })
  }).pipe(Effect.provide(Logger.layer([])))

const known = ({ certainty, doubt }: ToolOutcome.ToolOutcome) =>
  doubt === undefined ? certainty : `${certainty}, ${doubt}`

const requestsOf = ({ wire = [] }: ToolOutcome.ToolOutcome) =>
  wire.map(({ method, sent, status, url }) =>
    `${method} ${url.replace(/^https?:\/\/[^/]+/, "")} ${status ?? (sent ? "no answer" : "not sent")}`
  )

const post = (url: string) => fetch(url, { method: "POST", body: "{}" })

const throwing = async (response: Response) => {
  if (!response.ok) throw response
  return await response.json() as string
}

/** A small promise client on `node:http`. */
const posting = (url: string) =>
  new Promise<string>((resolve, reject) => {
    const request = Http.request(url, { method: "POST" }, (response) => {
      response.resume()
      const { statusCode = 0 } = response
      response.on("end", () =>
        statusCode < 400
          ? resolve("paid")
          : reject(Object.assign(new Error("No."), { response: { status: statusCode } })))
    })
    request.on("error", reject)
    request.end("{}")
  })

const byHttpClient = (url: string) =>
  HttpClient.execute(HttpClientRequest.post(url)).pipe(
    Effect.flatMap(HttpClientResponse.filterStatusOk),
    Effect.flatMap(({ text }) => text),
    HttpFailure.classify
  )

type Style = (url: string) => Tool.Tool<string, { readonly order: string }, string, ToolFailure.ToolFailure<string>>

/** The ways in which people write a handler. */
const styles: Readonly<Record<string, Style>> = {
  "the global fetch": (url) => Tool.promise("pay", order, async () => throwing(await post(url))),
  "the context's fetch": (url) =>
    Tool.promise("pay", order, async (_, { fetch }) => throwing(await fetch(url, { method: "POST" }))),
  "node:http": (url) => Tool.promise("pay", order, () => posting(url)),
  "Effect's HTTP client": (url) =>
    Tool.make("pay", order, () => Effect.provide(byHttpClient(url), FetchHttpClient.layer)),
  "Effect's HTTP client under a time limit": (url) =>
    Tool.make("pay", order, () => Effect.provide(byHttpClient(url), FetchHttpClient.layer)).pipe(
      Tool.timeout("1 hour")
    ),
  "Effect.tryPromise": (url) =>
    Tool.make(
      "pay",
      order,
      () => Effect.tryPromise({ try: async () => throwing(await post(url)), catch: (error) => ToolFailure.from(error) })
    ),
  "a fetch that begins before its Effect": (url) =>
    Tool.make("pay", order, () => {
      const paid = post(url).then(throwing)
      return Effect.tryPromise({ try: () => paid, catch: (error) => ToolFailure.from(error) })
    }),
  "a forked fiber": (url) =>
    Tool.make(
      "pay",
      order,
      () => Effect.flatMap(Effect.forkChild(Effect.provide(byHttpClient(url), FetchHttpClient.layer)), Fiber.join)
    ),
  "a sentence for any error": (url) =>
    Tool.promise("pay", order, async () => {
      if (!(await post(url)).ok) throw new Error("Zahlung abgelehnt.")
      return "paid"
    })
}

describe("the requests of a handler", () => {
  for (const [style, pay] of Object.entries(styles)) {
    it.live(`prove what became of it: ${style}`, () =>
      Effect.gen(function*() {
        const { url } = yield* bank
        const ends: ReadonlyArray<readonly [path: string, known: string, requests: ReadonlyArray<string>]> = [
          ["/402", "not_executed", ["POST /402 402"]],
          ["/409", "not_executed", ["POST /409 409"]],
          ["/429", "not_executed", ["POST /429 429"]],
          ["/500", "unknown, hard", ["POST /500 500"]],
          ["/408", "unknown, hard", ["POST /408 408"]],
          ["/reset", "unknown, hard", ["POST /reset no answer"]]
        ]
        for (const [path, expected, requests] of ends) {
          const outcome = yield* outcomeOf(pay(`${url}${path}`))
          assert.strictEqual(known(outcome), expected, path)
          assert.deepStrictEqual(requestsOf(outcome), requests)
        }
        const lost = yield* outcomeOf(pay(`http://127.0.0.1:${closedPort}/pay`))
        assert.strictEqual(known(lost), "not_executed")
        assert.deepStrictEqual(requestsOf(lost), ["POST /pay not sent"])
        const paid = yield* outcomeOf(pay(`${url}/pay`))
        assert.deepStrictEqual([known(paid), paid.wire], ["executed", undefined])
      }).pipe(Effect.scoped))
  }

  it.live("follow redirects: 307 leads on, and 303 answers", () =>
    Effect.gen(function*() {
      const { url } = yield* bank
      const on = yield* outcomeOf(Tool.promise("pay", order, async () => throwing(await post(`${url}/307`))))
      assert.strictEqual(known(on), "not_executed")
      assert.deepStrictEqual(requestsOf(on), ["POST /307 307", "POST /402 402"])
      const done = yield* outcomeOf(Tool.promise("pay", order, async () => throwing(await post(`${url}/303`))))
      assert.strictEqual(known(done), "unknown, hard")
    }).pipe(Effect.scoped))

  it.live("are retried without a declaration if they were not served", () =>
    Effect.gen(function*() {
      for (const [path, runs] of [["/429", 3], ["/402", 1], ["/503", 1]] as const) {
        const { seen, url } = yield* bank
        const pay = Tool.promise("pay", order, async () => throwing(await post(`${url}${path}`))).pipe(
          Tool.retry(RetryPolicy.transient)
        )
        const fiber = yield* Effect.forkChild(outcomeOf(pay))
        yield* Fiber.join(fiber)
        assert.strictEqual(seen.length, runs, path)
      }
    }).pipe(Effect.scoped))

  it.live("outweigh a later refusal, a sentence, a refusal by hand and refusesFirst", () =>
    Effect.gen(function*() {
      const { url } = yield* bank
      const pays = () => post(`${url}/pay`)
      const tools = [
        Tool.promise("pay", order, async () => {
          await pays()
          return throwing(await post(`${url}/404`))
        }),
        Tool.promise("pay", order, async () => {
          await pays()
          throw new Error("Receipt missing")
        }),
        Tool.promise("pay", order, async () => {
          await pays()
          throw new SemanticGarbage({ code: "declined", detail: "The card was declined." })
        }),
        Tool.promise("pay", { ...order, refusesFirst: true }, async () => {
          await pays()
          return throwing(await post(`${url}/429`))
        })
      ]
      for (const tool of tools) assert.strictEqual(known(yield* outcomeOf(tool)), "unknown, hard")
    }).pipe(Effect.scoped))

  it.live("do not outweigh the author's word, but the contradiction is logged", () =>
    Effect.gen(function*() {
      const { url } = yield* bank
      const lines: Array<string> = []
      const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
      const pay = Tool.promise("pay", order, async (_, { refuse }) => {
        await post(`${url}/pay`)
        return refuse("The card was declined.")
      })
      const outcome = yield* Dispatch.call(Toolkit.make(pay), { id: "1", name: "pay", arguments: "{\"order\":\"7\"}" })
        .pipe(Effect.provide(logger))
      assert.strictEqual(known(outcome), "not_executed")
      assert.strictEqual(
        lines[0],
        `pay says that it did nothing, but its requests say otherwise: POST ${url}/pay (answered 200).`
      )
    }).pipe(Effect.scoped))

  it.live("count only if they act: `acts` names those that do", () =>
    Effect.gen(function*() {
      const { url } = yield* bank
      const handler = async () => {
        await post(`${url}/oauth/token`)
        return throwing(await post(`${url}/v1/charges/402?x=1`))
      }
      const host = url.replace("http://", "")
      assert.strictEqual(known(yield* outcomeOf(Tool.promise("pay", order, handler))), "unknown, hard")
      for (const pattern of ["POST /v1/charges/*", `POST ${host}/v1/*`, "127.0.0.1/v1/charges/402", `* ${url}/v1*`]) {
        const pay = Tool.promise("pay", { ...order, acts: { requests: [pattern] } }, handler)
        const outcome = yield* outcomeOf(pay)
        assert.strictEqual(known(outcome), "not_executed", pattern)
        assert.deepStrictEqual(outcome.wire?.map(({ acts, status }) => [acts, status]), [[false, 200], [
          undefined,
          402
        ]])
      }
      const other = Tool.promise("pay", { ...order, acts: { requests: ["PUT /v1/charges/*"] } }, handler)
      assert.strictEqual(known(yield* outcomeOf(other)), "unknown, soft")
    }).pipe(Effect.scoped))

  it.live("prove nothing by a conflict, if the key was sent before", () =>
    Effect.gen(function*() {
      const { url } = yield* bank
      const keyed = { ...order, sideEffect: "idempotent_by_key", identity: "all" } as const
      const retried = Tool.retry(Schedule.recurs(1))
      let statuses: Array<number> = []
      const inMemory = async () => Promise.reject({ status: statuses.shift() })
      const byRequest = Tool.promise("pay", keyed, async () => {
        const response = await post(`${url}/${statuses.shift()}`)
        throw response.status === 429 ? response : new Error("There is one already.")
      }).pipe(retried)
      const byError = Tool.promise("pay", { ...keyed, refusesFirst: true }, inMemory)
      const byInnerError = Tool.make("order", { ...keyed, refusesFirst: true }, (params) =>
        Effect.catchIf(byError.run(params), ({ code }) =>
          code === "rejected", () =>
          ToolCall.refuse("It is paid already."))).pipe(retried)
      const ends = {
        "its request": () =>
          outcomeOf(byRequest),
        "its error": () =>
          outcomeOf(byError.pipe(retried)),
        "an inner tool's error": () => outcomeOf(byInnerError)
      }
      for (const [what, end] of Object.entries(ends)) {
        statuses = [409]
        assert.strictEqual((yield* end()).certainty, "not_executed", what)
        statuses = [429, 409]
        assert.strictEqual((yield* end()).certainty, "unknown", what)
      }
    }).pipe(Effect.scoped))

  it.live("prove by their silence only if the tool promises that nothing else acts", () =>
    Effect.gen(function*() {
      const handler = async () => {
        throw new Error("Room A1 is booked.")
      }
      const requests = ["POST /pay"]
      const ends = [
        [order, "unknown, soft"],
        [{ ...order, acts: { requests } }, "unknown, soft"],
        [{ ...order, acts: { requests, only: true } }, "not_executed"]
      ] as const
      for (const [definition, expected] of ends) {
        assert.strictEqual(known(yield* outcomeOf(Tool.promise("pay", definition, handler))), expected)
      }
    }))

  it.live("prove nothing if something else was seen: a socket, a process, a worker", () =>
    Effect.gen(function*() {
      const { url } = yield* bank
      const { port } = new URL(url)
      const others: ReadonlyArray<() => Promise<unknown>> = [
        async () => {
          const { connect } = await import("node:net")
          const socket = connect(Number(port), "127.0.0.1")
          await new Promise((resolve) => socket.once("connect", resolve))
          socket.destroy()
        },
        async () => {
          const { spawn } = await import("node:child_process")
          await new Promise((resolve) =>
            spawn(process.execPath, ["--version"], { stdio: "ignore" }).on("exit", resolve)
          )
        },
        async () => {
          const { Worker } = await import("node:worker_threads")
          await new Promise((resolve) => new Worker("", { eval: true }).on("exit", resolve))
        }
      ]
      for (const other of others) {
        const pay = Tool.promise("pay", order, async () => {
          await other()
          return throwing(await post(`${url}/402`))
        })
        assert.strictEqual(known(yield* outcomeOf(pay)), "unknown, hard")
      }
    }).pipe(Effect.scoped))

  it.live("belong to the tool that sends them: parallel calls, inner tools, an agent's model", () =>
    Effect.gen(function*() {
      const { url } = yield* bank
      const pay = Tool.make(
        "pay",
        order,
        ({ order }) => Effect.provide(byHttpClient(`${url}/${order}`), FetchHttpClient.layer)
      )
      const toolkit = Toolkit.make(pay)
      const outcomes = yield* Effect.forEach(
        ["402", "500", "409", "reset"],
        (order) => Dispatch.call(toolkit, { id: order, name: "pay", arguments: JSON.stringify({ order }) }),
        { concurrency: 4 }
      ).pipe(
        Effect.provide(Logger.layer([]))
      )
      assert.deepStrictEqual(outcomes.map(known), ["not_executed", "unknown, hard", "not_executed", "unknown, hard"])
      const model = Tool.promise("pay", order, async () => {
        const agent = Agent.make({ toolkit: Toolkit.make() })
        await Effect.runPromise(
          Effect.provide(agent.run("Is it all right?"), ScriptedModel.layer([ScriptedModel.text("Yes.")]))
        )
        return throwing(await post(`${url}/402`))
      })
      assert.strictEqual(known(yield* outcomeOf(model)), "not_executed")
    }).pipe(Effect.scoped))

  it.live("count beside what an inner tool has done in a program of its own, whatever policies are around", () =>
    Effect.gen(function*() {
      const { url } = yield* bank
      const inner = Tool.make(
        "pay",
        order,
        () => Effect.promise(() => post(`${url}/200`)).pipe(Effect.as("paid"))
      )
      const outer = Tool.promise("order", order, async (params) => {
        await Effect.runPromise(inner.run(params))
        return throwing(await post(`${url}/402`))
      })
      const asEffect = Tool.make("order", { ...order, uninterruptible: true }, (params) =>
        Effect.tryPromise({
          try: async () => {
            await Effect.runPromise(inner.run(params))
            return throwing(await post(`${url}/402`))
          },
          catch: (error) => ToolFailure.from(error)
        }))
      for (const tool of [outer, asEffect]) {
        for (const around of [tool, Tool.timeout(tool, "5 seconds"), Tool.retry(tool, RetryPolicy.transient)]) {
          assert.strictEqual((yield* outcomeOf(around)).certainty, "executed")
        }
      }
    }).pipe(Effect.scoped))

  it.live("are pending until their answer comes: a handler that does not wait is in doubt", () =>
    Effect.gen(function*() {
      const { url } = yield* bank
      const pay = Tool.promise("pay", order, async () => {
        const begun = post(`${url}/hang`)
        begun.catch(() => {})
        await post(`${url}/402`)
        throw new Error("It was declined.")
      })
      const outcome = yield* outcomeOf(pay)
      assert.strictEqual(known(outcome), "unknown, hard")
      assert.deepStrictEqual(requestsOf(outcome), ["POST /hang no answer", "POST /402 402"])
    }).pipe(Effect.scoped))

  it.live("put an ended call in doubt if they begin late, and operators are told", () =>
    Effect.gen(function*() {
      const { seen, url } = yield* bank
      const told = yield* Deferred.make<Observer.LateResult>()
      const events: Array<string> = []
      let go: () => void = () => {}
      let late: Promise<unknown> = Promise.resolve()
      const pay = Tool.promise("pay", order, async () => {
        const later = new Promise<void>((resolve) => {
          go = resolve
        })
        late = later.then(() => post(`${url}/late`))
        return throwing(await post(`${url}/402`))
      })
      const outcome = yield* outcomeOf(pay).pipe(
        Observer.observe({ onLateResult: (result) => Deferred.succeed(told, result) }),
        Observer.observe({ onEvent: ({ _tag }) => void events.push(_tag) })
      )
      assert.strictEqual(known(outcome), "not_executed")
      go()
      const { certainty, request } = yield* Deferred.await(told)
      assert.deepInclude(request, { method: "POST", url: `${url}/late`, late: true })
      assert.strictEqual(certainty, "unknown")
      assert.strictEqual(events.at(-1), "LateRequest")
      yield* Effect.promise(() => late)
      assert.deepStrictEqual(seen.map(({ path }) => path), ["/402", "/late"])
    }).pipe(Effect.scoped))

  it.live("are known by the key if a queue sends them late, also after a check has found nothing", () =>
    Effect.gen(function*() {
      const { url } = yield* bank
      const told = yield* Deferred.make<Observer.LateResult>()
      let queued: () => Promise<unknown> = () => Promise.resolve()
      const pay = Tool.promise("pay", order, async (_, { idempotencyKey }) => {
        queued = () => fetch(`${url}/late`, { method: "POST", headers: { "Idempotency-Key": idempotencyKey } })
        throw new Error("There is no quote.")
      }).pipe(Tool.reconcile(() => Effect.succeedNone, { final: true }))
      const outcome = yield* outcomeOf(pay).pipe(
        Observer.observe({ onLateResult: (result) => Deferred.succeed(told, result) })
      )
      assert.strictEqual(known(outcome), "not_executed")
      yield* Effect.promise(queued)
      const { certainty, request } = yield* Deferred.await(told)
      assert.deepInclude(request, { url: `${url}/late`, late: true })
      assert.strictEqual(certainty, "unknown")
    }).pipe(Effect.scoped))

  it.live("let a later call keep the key if they begin late, although it had been refused", () =>
    Effect.gen(function*() {
      const { seen, url } = yield* bank
      let late: Promise<unknown> = Promise.resolve()
      const keys: Array<string> = []
      const pay = Tool.promise("pay", {
        ...order,
        parameters: Schema.Struct({ order: Schema.String, note: Schema.String }),
        sideEffect: "idempotent_by_key",
        identity: ({ order }) => order
      }, async (_, { fetch, idempotencyKey }) => {
        keys.push(idempotencyKey)
        if (keys.length > 1) return throwing(await fetch.withKey(`${url}/pay`, { method: "POST" }))
        const declined = await fetch.withKey(`${url}/402`, { method: "POST" })
        // What the handler has begun goes on after its end.
        late = Promise.resolve().then(() => new Promise(setImmediate)).then(() =>
          fetch.withKey(`${url}/late`, { method: "POST" })
        )
        return throwing(declined)
      })
      const notes = ["a", "b"]
      const model = ScriptedModel.layer(() =>
        Effect.as(
          Effect.promise(() => late),
          notes.length === 0
            ? ScriptedModel.text("Done.")
            : ScriptedModel.call("pay", { order: "7", note: notes.shift() })
        )
      )
      const { report } = yield* Agent.make({ toolkit: Toolkit.make(pay) }).run("Pay.").pipe(
        Effect.provide(model),
        Effect.provide(Logger.layer([]))
      )
      assert.deepStrictEqual(report.failures.map(({ code }) => code), ["quota_exhausted"])
      assert.deepStrictEqual([keys.length, new Set(keys).size], [2, 1])
      assert.deepStrictEqual(seen.map(({ path }) => path), ["/402", "/late", "/pay"])
    }).pipe(Effect.scoped))

  it.live("outweigh what an error suggests: a refusal is told as one, also of a sentence that reads as a failure", () =>
    Effect.gen(function*() {
      const { url } = yield* bank
      const facts = beginFacts(CallFacts.empty, "s")
      const pay = Tool.promise("pay", { ...order, sideEffect: "idempotent_by_key", identity: () => "7" }, async () => {
        await post(`${url}/402`)
        throw new Error("Payment failed")
      })
      const outcome = yield* outcomeOf(pay, facts)
      assert.strictEqual(known(outcome), "not_executed")
      assert.deepInclude(outcome._tag === "Failed" ? { ...outcome.failure } : {}, {
        code: "failed",
        outcome: "not_executed"
      })
      const [[, fact] = []] = recordCall(facts, outcome, pay).intents
      assert.isDefined(fact?.failed?.refused)
    }).pipe(Effect.scoped))

  it.live("stand in the events, and in the log of a call in doubt, without the query and without secrets", () =>
    Effect.gen(function*() {
      const { url } = yield* bank
      const lines: Array<string> = []
      const events: Array<unknown> = []
      const secret = "bot123456789:AAabcdefghijklmnop1234567"
      const pay = Tool.promise("pay", order, async () => throwing(await post(`${url}/${secret}/reset?key=${secret}`)))
      yield* Dispatch.call(Toolkit.make(pay), { id: "1", name: "pay", arguments: "{\"order\":\"7\"}" }).pipe(
        Effect.provide(Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])),
        Observer.observe({
          onEvent: (event) => {
            if (event._tag === "AttemptEnded") {
              events.push(
                event.doubt,
                event.wire?.map(({ method, url }) => `${method} ${url}`)
              )
            }
          }
        })
      )
      assert.include(lines[0], `Its requests: POST ${url}/<redacted>/reset (no answer).`)
      assert.notInclude(lines.join(), secret)
      assert.deepStrictEqual(events, ["hard", [`POST ${url}/<redacted>/reset`]])
    }).pipe(Effect.scoped))
})

describe("the author's word", () => {
  const scoped = beginFacts(CallFacts.empty, "s")
  const byKey = { ...order, sideEffect: "idempotent_by_key", identity: () => "7" } as const
  const agentOf = <Params>(pay: Tool.Tool<"pay", Params, string, ToolFailure.ToolFailure<string>>) =>
    Agent.make({ toolkit: Toolkit.make(pay) })

  it.effect("refuses a call for good: the same arguments are refused, and others get a new key", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const parameters = Schema.Struct({ order: Schema.String, card: Schema.String })
      const pay = Tool.promise(
        "pay",
        { ...byKey, parameters, identity: ({ order }: { readonly order: string }) => order },
        async ({ card }, { idempotencyKey, refuse }) => {
          keys.push(idempotencyKey)
          return card === "1" ? refuse("The card was declined.", { hint: "Ask for another card." }) : "paid"
        }
      )
      const { report } = yield* agentOf(pay).run("Pay.").pipe(Effect.provide(ScriptedModel.layer([
        ScriptedModel.call("pay", { order: "7", card: "1" }),
        ScriptedModel.call("pay", { order: "7", card: "2" }),
        ScriptedModel.text("Done.")
      ])))
      assert.strictEqual(new Set(keys).size, 2)
      assert.deepStrictEqual(report.failures.map(({ code }) => code), ["rejected"])
    }))

  it.effect("is not missed where a part was done: there, the doubt is hard", () =>
    Effect.gen(function*() {
      const reserve = Tool.make("reserve", order, () => Effect.succeed("reserved"))
      const pay = Tool.promise("pay", order, () => Promise.reject(new Error("No such card.")))
      assert.strictEqual(known(yield* outcomeOf(pay)), "unknown, soft")
      const both = Tool.make("both", { ...order, sideEffect: "none" }, (params) =>
        Effect.andThen(reserve.run(params), pay.run(params)))
      assert.strictEqual(known(yield* outcomeOf(both)), "unknown, hard")
    }))

  it.effect("is needed in memory: a sentence keeps the key", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const pay = Tool.promise("pay", {
        ...byKey,
        parameters: Schema.Struct({ order: Schema.String, note: Schema.String })
      }, async (_, { idempotencyKey }) => {
        keys.push(idempotencyKey)
        throw new Error("Receipt missing")
      })
      yield* agentOf(pay).run("Pay.").pipe(Effect.provide(ScriptedModel.layer([
        ScriptedModel.call("pay", { order: "7", note: "a" }),
        ScriptedModel.call("pay", { order: "7", note: "b" }),
        ScriptedModel.text("Done.")
      ])))
      assert.deepStrictEqual([keys.length, new Set(keys).size], [2, 1])
    }))

  it.effect("survives a copy and an encoding, in all four classes", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(ToolCall.refuse("No.", { code: "taken", alternatives: ["B2"] }))
      assert.deepInclude({ ...failure }, { code: "taken", outcome: "not_executed", alternatives: ["B2"] })
      const stored = Schema.decodeSync(SemanticGarbage.schema)(
        JSON.parse(JSON.stringify(Schema.encodeSync(SemanticGarbage.schema)(failure)))
      )
      for (const failed of [failure, new SemanticGarbage({ ...failure }), stored]) {
        const outcome = yield* outcomeOf(Tool.make("pay", order, () => Effect.fail(failed)), scoped)
        assert.strictEqual(outcome.certainty, "not_executed")
        const facts = recordCall(scoped, outcome, { name: "pay", sideEffect: "non_idempotent" })
        const again = yield* outcomeOf(Tool.make("pay", order, () => Effect.succeed("paid")), facts)
        assert.strictEqual(again._tag === "Failed" ? again.failure.code : again._tag, "repeated_call")
      }
    }))

  it.effect("is marked as inferred where nobody wrote it", () =>
    Effect.gen(function*() {
      const sentence = ToolFailure.from(new Error("Room A1 is booked."))
      assert.deepStrictEqual(sentence.evidence, { inferred: { worded: true } })
      const status = ToolFailure.from({ status: 429 })
      assert.deepStrictEqual(status.evidence, { inferred: { outcome: "not_executed" }, status: 429 })
      const refusing = { ...order, refusesFirst: true }
      const ends = [[sentence, "unknown, soft"], [status, "not_executed"]] as const
      for (const [failure, expected] of ends) {
        const pay = Tool.make("pay", refusing, () => Effect.fail(failure))
        assert.strictEqual(known(yield* outcomeOf(pay)), expected)
      }
    }))
})

describe("a request that a program notes itself", () => {
  it.effect("counts like one that was seen, in an Effect and in an async function", () =>
    Effect.gen(function*() {
      const note = { method: "post", url: "https://bank.example/pay?card=1" }
      const failed = new ToolUnavailable({ code: "no", detail: "No.", transient: false })
      const inEffect = (end: (noted: ToolCall.NotedRequest) => void) =>
        Tool.make("pay", order, () => Effect.andThen(Effect.map(ToolCall.noteRequest(note), end), Effect.fail(failed)))
      const inPromise = (end: (noted: ToolCall.NotedRequest) => void) =>
        Tool.promise("pay", order, async (_, { noteRequest }) => {
          end(noteRequest(note))
          throw failed
        })
      for (const tool of [inEffect, inPromise]) {
        const ends = [
          [tool(() => {}), "unknown, hard", "POST /pay no answer"],
          [tool(({ answered }) => answered(402)), "not_executed", "POST /pay 402"],
          [tool(({ answered }) => answered(200)), "unknown, hard", "POST /pay 200"],
          [tool(({ failed }) => failed()), "unknown, hard", "POST /pay no answer"],
          [tool(({ failed }) => failed({ sent: false })), "not_executed", "POST /pay not sent"]
        ] as const
        for (const [pay, expected, request] of ends) {
          const outcome = yield* outcomeOf(pay)
          assert.strictEqual(known(outcome), expected)
          assert.deepStrictEqual(requestsOf(outcome), [request])
        }
      }
    }))

  it.effect("does nothing outside a handler that acts", () =>
    Effect.gen(function*() {
      const { answered } = yield* ToolCall.noteRequest({ method: "POST", url: "https://bank.example" })
      answered(200)
      const fetches = yield* ToolCall.fetch
      assert.isFunction(fetches.withKey)
    }))
})

describe("the fetch of a handler's context", () => {
  it.live("has the call's signal and, by choice, its key", () =>
    Effect.gen(function*() {
      const { seen, url } = yield* bank
      const pay = Tool.promise(
        "pay",
        { ...order, sideEffect: "idempotent_by_key", identity: "all" },
        async (_, { fetch, idempotencyKey }) => {
          await fetch.withKey(`${url}/a`, { method: "POST" })
          await fetch.withKey(`${url}/b`, { method: "POST", headers: { "Idempotency-Key": "own" } })
          await fetch.withKey(new Request(`${url}/c`, { method: "PUT", headers: { "x-other": "1" } }))
          await fetch(`${url}/d`, { method: "POST" })
          return idempotencyKey
        }
      )
      const outcome = yield* outcomeOf(pay)
      const key = outcome._tag === "Completed" ? outcome.value : undefined
      assert.deepStrictEqual(seen.map(({ path, key }) => [path, key]), [
        ["/a", key],
        ["/b", "own"],
        ["/c", key],
        ["/d", undefined]
      ])
    }).pipe(Effect.scoped))

  it.effect("is aborted with the call", () =>
    Effect.gen(function*() {
      const { url } = yield* bank
      const errors: Array<string> = []
      const pay = Tool.promise("pay", order, async (_, { fetch }) => {
        await fetch(`${url}/hang`, { method: "POST" }).catch((error: Error) => errors.push(error.name))
        return "aborted"
      }).pipe(Tool.timeout("5 seconds"))
      const fiber = yield* Effect.forkChild(outcomeOf(pay))
      assert.strictEqual(known(yield* passingBy("1 second", fiber)), "unknown, hard")
      assert.deepStrictEqual(errors, ["AbortError"])
    }).pipe(Effect.scoped))
})

describe("explain", () => {
  it.live("warns of a request that left without the call's key, once it was seen", () =>
    Effect.gen(function*() {
      const { url } = yield* bank
      const codes = (tool: Tool.Any) => Tool.explain(tool).warnings.map(({ code }) => code)
      const make = (send: (url: string, call: Tool.PromiseCall) => Promise<unknown>) =>
        Tool.promise(
          "pay",
          { ...order, sideEffect: "idempotent_by_key", identity: () => "7", check: "status" },
          async (_, call) => {
            await send(`${url}/pay`, call)
            return "paid"
          }
        )
      for (const without of [make((url) => post(url)), make((url, { fetch }) => fetch(url, { method: "POST" }))]) {
        assert.deepStrictEqual(codes(without), [])
        yield* outcomeOf(without)
        assert.deepStrictEqual(codes(without), ["request_without_key"])
        assert.strictEqual(
          Tool.explain(without).warnings[0]?.detail,
          `A request left without the call's key: POST ${url}/pay.`
        )
      }
      const ways = [
        make((url, { fetch }) => fetch.withKey(url, { method: "POST" })),
        make((url, { fetch, idempotencyKey: key }) => fetch(url, { method: "PUT", headers: { "x-key": key } })),
        make((url, { idempotencyKey }) => fetch(url, { method: "POST", headers: { "x-request-key": idempotencyKey } }))
      ]
      for (const pay of ways) {
        yield* outcomeOf(pay)
        assert.deepStrictEqual(codes(pay), [])
      }
    }).pipe(Effect.scoped))

  it.effect("warns of a doubt that nothing settles, and the first is logged once", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
      const make = (definition: { readonly check?: string }) =>
        Tool.promise("pay", { ...order, ...definition }, async () => {
          throw new Error("Receipt missing")
        })
      for (const [tool, count] of [[make({}), 1], [make({ check: "status" }), 0]] as const) {
        lines.splice(0)
        for (const _ of [1, 2]) {
          yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "pay", arguments: "{\"order\":\"7\"}" }).pipe(
            Effect.provide(logger)
          )
        }
        assert.strictEqual(lines.filter((line) => line.includes("in doubt for the first time")).length, count)
        assert.strictEqual(Tool.explain(tool).warnings.filter(({ code }) => code === "doubt_not_settled").length, count)
      }
    }))
})

describe("a definition", () => {
  it("refuses patterns that say nothing", () => {
    const make = (acts: unknown) => () => Tool.promise("pay", { ...order, acts: acts as never }, async () => "paid")
    assert.throws(make({ requests: [] }), /A tool's 'acts' must be an object such as/)
    assert.throws(make({ requests: ["POST"], only: 1 }), /'acts'/)
    assert.throws(make({ requests: ["POST api.example/orders?x=1"] }), /is not a pattern: write it like/)
    assert.throws(make({ requests: ["POST /pay"], others: true }), /'acts'/)
    assert.throws(make({ requests: ["POST", "POST /pay"] }), /"POST" is not a pattern: write it like/)
    assert.doesNotThrow(make({ requests: ["api.example", "/pay", "DELETE https://api.example:443/*"] }))
    assert.throws(
      () => Tool.promise("pay", { ...order, refuses: "SeatTaken" as never }, async () => "paid"),
      /'refuses' is a list of classes/
    )
  })
})
