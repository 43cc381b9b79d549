import { assert, describe, it } from "@effect/vitest"
import {
  Guard,
  Policy,
  RetryPolicy,
  SemanticGarbage,
  Tool,
  ToolCall,
  ToolFailure,
  ToolUnavailable
} from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import type * as SideEffect from "@fallible/core/SideEffect"
import { ActsOnce, type FakeService } from "@fallible/testing"
import { Context, Deferred, type Duration, Effect, Layer, Option, Queue, Schedule, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"

const Order = Schema.Struct({ order: Schema.String })
const args = { arguments: { order: "7" } }

/** What the tools of these tests declare, unless it matters. */
const pays = { description: "Pays", parameters: Order, success: Schema.Unknown, repeats: false }

/** Makes a tool that calls the service through its own client. */
const paying = (sideEffect: SideEffect.SideEffect) => (service: FakeService.FakeService) =>
  Tool.make(
    "pay",
    { ...pays, sideEffect, identity: "all" },
    ({ order }) =>
      Effect.flatMap(ToolCall.current, ({ idempotencyKey }) =>
        Effect.mapError(service.act({ key: idempotencyKey, body: order }), (error) =>
          ToolFailure.from(error)))
  )

/** Makes a tool that calls the service with fetch. */
const fetching = (sideEffect: SideEffect.SideEffect) => (service: FakeService.FakeService) =>
  Tool.promise(
    "pay",
    { ...pays, sideEffect, identity: "all" },
    async ({ order }, { idempotencyKey, signal }) => {
      const response = await service.fetch("https://pay.example/orders", {
        method: "POST",
        headers: { "idempotency-key": idempotencyKey },
        body: order,
        signal
      })
      if (!response.ok) throw response
      return await response.json()
    }
  )

/** Makes a tool that calls the service with the `fetch` of its own context. */
const withOwnFetch = (sideEffect: SideEffect.SideEffect) => () =>
  Tool.promise(
    "pay",
    { ...pays, sideEffect, identity: "all" },
    async ({ order }, { fetch }) => {
      const response = await fetch.withKey("https://pay.example/orders", { method: "POST", body: order })
      if (!response.ok) throw response
      return await response.json()
    }
  )

/** Makes a tool that calls the service with Effect's HTTP client. */
const calling = (sideEffect: SideEffect.SideEffect) => (service: FakeService.FakeService) =>
  Tool.make(
    "pay",
    { ...pays, sideEffect, identity: "all" },
    ({ order }) =>
      Effect.flatMap(ToolCall.current, ({ idempotencyKey }) =>
        HttpClient.execute(
          HttpClientRequest.post("https://pay.example/orders", { headers: { "idempotency-key": idempotencyKey } }).pipe(
            HttpClientRequest.bodyText(order)
          )
        ).pipe(
          Effect.flatMap(HttpClientResponse.filterStatusOk),
          Effect.flatMap(({ json }) => json),
          HttpFailure.classify,
          Effect.provide(FetchHttpClient.layer),
          Effect.provideService(FetchHttpClient.Fetch, service.fetch)
        ))
  )

const twice = <T extends Tool.Any>(options: ActsOnce.Options<T>) =>
  Effect.flatMap(
    Effect.flip(ActsOnce.check(options)),
    (failure) => failure._tag === "ActedTwice" ? Effect.succeed(failure) : Effect.die(failure)
  )

const wrongly = <T extends Tool.Any, R = never, Provided = never>(options: ActsOnce.Options<T, R, Provided>) =>
  Effect.flatMap(
    Effect.flip(ActsOnce.check(options)),
    (failure) => failure._tag === "ToldWrongly" ? Effect.succeed(failure) : Effect.die(failure)
  )

/** A check that looks for the payment by its key. The option `found` tells whether the service has acted. */
const lookedUp = (service: FakeService.FakeService) => () =>
  Effect.flatMap(ToolCall.current, ({ idempotencyKey }) =>
    Effect.map(
      service.look({ key: idempotencyKey }),
      (found) => found === true ? Option.some("done") : Option.none()
    ))

const lines = (...lines: ReadonlyArray<string>) => lines

describe("H4 can this pay twice?", () => {
  const retried =
    <T extends Tool.Any>(tool: (service: FakeService.FakeService) => T) => (service: FakeService.FakeService) =>
      Tool.withDefaults(tool(service), [Policy.retry(RetryPolicy.transient), Policy.timeout("10 seconds")])

  for (
    const [how, make] of [["a client of its own", paying], ["fetch", fetching], [
      "the fetch of its context",
      withOwnFetch
    ], [
      "a client of Effect",
      calling
    ]] as const
  ) {
    it.live(`no, over ${how}, if it acts and is retried where it is safe`, () =>
      Effect.gen(function*() {
        assert.strictEqual(
          (yield* ActsOnce.check({ ...args, tool: retried(make("non_idempotent")), runs: 150 })).runs,
          150
        )
      }))

    it.live(`no, over ${how}, if its service honours the key`, () =>
      Effect.gen(function*() {
        assert.strictEqual(
          (yield* ActsOnce.check({ ...args, tool: retried(make("idempotent_by_key")), runs: 150 })).runs,
          150
        )
      }))

    it.live(`yes, over ${how}, if it is declared idempotent but is not`, () =>
      Effect.gen(function*() {
        const { message, sequence, times } = yield* twice({ ...args, tool: retried(make("idempotent")) })
        assert.strictEqual(times, 2)
        assert.deepStrictEqual(sequence, [
          "The model calls pay.",
          "Request 1, key a: the service acts, and the connection is lost.",
          "Request 2, key a: the service acts, and answers."
        ])
        assert.include(message, "The service acted 2 times for one call to pay:")
      }))
  }

  it.live("yes, if the service ignores the keys that the tool relies on", () =>
    Effect.gen(function*() {
      const { sequence } = yield* twice({ ...args, tool: paying("idempotent_by_key"), keys: "ignored" })
      assert.deepStrictEqual(sequence, [
        "The model calls pay.",
        "Request 1, key a: the service acts, and the connection is lost.",
        "The model calls pay.",
        "Request 2, key a: the service acts, and answers."
      ])
    }))

  it.live("yes, if it relies on keys and sends none, which it is told", () =>
    Effect.gen(function*() {
      const tool = retried((service: FakeService.FakeService) =>
        Tool.make("pay", {
          ...pays,
          sideEffect: "idempotent_by_key",
          identity: "all"
        }, () => Effect.mapError(service.act(), (error) => ToolFailure.from(error)))
      )
      const { hint, sequence } = yield* twice({ ...args, tool })
      assert.deepStrictEqual(sequence, [
        "The model calls pay.",
        "Request 1: the service acts, and the connection is lost.",
        "Request 2: the service acts, and answers."
      ])
      assert.match(hint ?? "", /its requests had no key. Send it with fetch.withKey/)
    }))

  describe("with a check that looks", () => {
    const looking = (settle: Duration.Input, read: (response: Response) => Promise<unknown>) => () =>
      Tool.promise("pay", {
        ...pays,
        identity: ({ order }) => order
      }, async ({ order }, { fetch }) => {
        const response = await fetch(bank, { method: "POST", body: order })
        if (!response.ok) throw response
        return await response.json()
      }).pipe(
        Tool.reconcile(async ({ order }, { fetch }) => await read(await fetch(`${bank}/${order}`)), { settle }),
        Tool.retry(RetryPolicy.transient)
      )
    const careful = async (response: Response) => {
      if (response.status === 404) return undefined
      if (!response.ok) throw response
      return await response.json()
    }

    it.live("yes, if it takes 'not found' for 'did not happen' too early", () =>
      Effect.gen(function*() {
        const { hint, sequence } = yield* twice({ ...args, tool: looking("10 seconds", careful) })
        assert.deepStrictEqual(sequence, [
          "The model calls pay.",
          "Request 1: the connection is lost, and the service acts later.",
          "Request 2: the service acts, and answers."
        ])
        assert.match(hint ?? "", /1m late .* for 10s/)
        const { inDoubt, runs } = yield* ActsOnce.check({ ...args, tool: looking("2 minutes", careful), runs: 150 })
        assert.strictEqual(runs, 150)
        assert.isBelow(inDoubt, 75)
      }))

    it.live("yes, if it takes any refused look for 'did not happen'", () =>
      Effect.gen(function*() {
        const hasty = async (response: Response) => response.ok ? await response.json() : undefined
        assert.deepStrictEqual((yield* twice({ ...args, tool: looking("2 minutes", hasty) })).sequence, [
          "The model calls pay.",
          "Request 1: the service acts, and the connection is lost.",
          "A request that only reads: the service answers 500.",
          "Request 2: the service acts, and answers."
        ])
        for (const status of [403, 429]) {
          const believing = async (response: Response) =>
            response.status === status ? undefined : await careful(response)
          assert.include(
            (yield* twice({ ...args, tool: looking("2 minutes", believing) })).sequence,
            `A request that only reads: the service answers ${status}.`
          )
        }
      }))

    it.live("is not known, if no look succeeds, and says so", () =>
      Effect.gen(function*() {
        const listing = async (response: Response) => {
          const { payments } = await response.json() as { readonly payments: ReadonlyArray<unknown> }
          return payments[0]
        }
        const options = { ...args, tool: looking("2 minutes", listing) }
        const failure = yield* Effect.flip(ActsOnce.check(options))
        assert.strictEqual(failure._tag, "NeverSucceeded")
        assert.match(failure.message, /^pay has a check .* failed whenever it was asked: .* Set the option 'found' to/)
        const found = (_: FakeService.Request, hasActed: boolean) => ({ payments: hasActed ? [{ id: "p-1" }] : [] })
        assert.strictEqual((yield* ActsOnce.check({ ...options, found })).runs, 400)
      }))

    it.live("yes, if it waits a little shorter than the service may be late", () =>
      Effect.gen(function*() {
        for (const settle of ["41 seconds", "55 seconds", "59 seconds"] as const) {
          assert.deepStrictEqual((yield* twice({ ...args, tool: looking(settle, careful) })).sequence, [
            "The model calls pay.",
            "Request 1: the connection is lost, and the service acts later.",
            "Request 2: the service acts, and answers."
          ])
        }
        assert.strictEqual((yield* ActsOnce.check({ ...args, tool: looking("61 seconds", careful) })).runs, 400)
      }))
  })

  it.live("is not known, if it first reads what its service does not have, and says so", () =>
    Effect.gen(function*() {
      const tool = promising(async (send, _, { fetch }) => {
        const order = await fetch("https://bank.example/orders/7")
        if (!order.ok) throw order
        const paid = await send()
        if (!paid.ok) throw paid
        return "paid"
      })
      const failure = yield* Effect.flip(ActsOnce.check({ ...args, tool }))
      assert.include(
        failure.message,
        "The service answered 404 to GET https://bank.example/orders/7. Set the option 'found' if your service finds"
      )
      const { runs } = yield* ActsOnce.check({ ...args, tool, found: () => ({ order: "7" }), runs: 60 })
      assert.strictEqual(runs, 60)
    }))

  it.live("yes, if the handler sends a key of its own", () =>
    Effect.gen(function*() {
      let number = 0
      const tool = (service: FakeService.FakeService) =>
        Tool.make(
          "pay",
          {
            ...pays,
            sideEffect: "idempotent_by_key",
            identity: "all"
          },
          () => Effect.mapError(service.act({ key: `${++number}` }), (error) => ToolFailure.from(error))
        )
      assert.isAtMost((yield* twice({ ...args, tool })).sequence.length, 4)
    }))

  it.live("yes, if the key is a memory that a second process does not have", () =>
    Effect.gen(function*() {
      const tool = () => {
        const process = crypto.randomUUID()
        return promising(async (_, { fetch }) => {
          const headers = { "idempotency-key": process }
          const response = await fetch(bank, { method: "POST", headers })
          if (!response.ok) throw response
          return "paid"
        })
      }
      assert.deepStrictEqual((yield* twice({ ...args, tool: (service) => tool()(service) })).sequence, [
        "The model calls pay.",
        "Request 1, key a: the service acts, and answers.",
        "The process stops before it has recorded the outcome of the call, and another one continues.",
        "Request 2, key b: the service acts, and answers."
      ])
    }))

  it.live("is not known, if the tool remembers one sequence in the next, and says so", () =>
    Effect.gen(function*() {
      const paid = new Set<string>()
      const tool = promising(async (send) => {
        if (paid.has("7")) return "paid"
        const response = await send()
        if (!response.ok) throw response
        paid.add("7")
        return "paid"
      })
      const failure = yield* Effect.flip(ActsOnce.check({ ...args, tool }))
      assert.strictEqual(failure._tag, "NeverSucceeded")
      assert.match(failure.message, /remembers the one before, .* Make its memory inside 'tool'/)
    }))

  it.live("yes, if the handler retries by itself", () =>
    Effect.gen(function*() {
      const tool = (service: FakeService.FakeService) =>
        Tool.make("pay", pays, () =>
          service.act().pipe(
            Effect.retry(Schedule.recurs(1)),
            Effect.mapError((error) => ToolFailure.from(error))
          ))
      assert.deepStrictEqual((yield* twice({ ...args, tool })).sequence, [
        "The model calls pay.",
        "Request 1: the service acts, and the connection is lost.",
        "Request 2: the service acts, and answers."
      ])
    }))

  it.live("yes, if the handler claims that it did nothing without knowing it", () =>
    Effect.gen(function*() {
      const tool = (service: FakeService.FakeService) =>
        Tool.make("pay", pays, () =>
          Effect.mapError(service.act(), () =>
            new ToolUnavailable({ code: "down", detail: "Down.", transient: true, outcome: "not_executed" })))
      assert.deepStrictEqual((yield* twice({ ...args, tool })).sequence, [
        "The model calls pay.",
        "Request 1: the service acts, and the connection is lost.",
        "The call fails (Down.), and is told as not executed.",
        "The model calls pay.",
        "Request 2: the service acts, and answers."
      ])
    }))

  it.live(
    "yes, if a check wrongly claims to be final, which only a slow service exposes",
    () =>
      Effect.gen(function*() {
        const checked =
          (options: { readonly final?: true; readonly settle?: "1 second" | "2 minutes" }) =>
          (service: FakeService.FakeService) =>
            paying("non_idempotent")(service).pipe(
              Tool.timeout("5 seconds"),
              Tool.reconcile(lookedUp(service), options),
              Tool.retry(Schedule.recurs(1))
            )
        const found = {
          found: (_: FakeService.Request, hasActed: boolean) => hasActed
        }
        const { sequence } = yield* twice({ ...args, ...found, tool: checked({ final: true }) })
        assert.deepStrictEqual(sequence, [
          "The model calls pay.",
          "Request 1, key a: the connection is lost, and the service acts later.",
          "Request 2, key a: the service acts, and answers."
        ])
        const hasty = yield* twice({ ...args, ...found, tool: checked({ settle: "1 second" }) })
        assert.include(
          hasty.message,
          "The service acts up to 1m late (the option 'lateBy' of this check), but the tool's reconcile waits for it for 1s " +
            "(its 'settle'). 'lateBy' says how late your service may be, and 'settle' must be longer."
        )
        assert.notInclude((yield* twice({ ...args, ...found, tool: checked({ final: true }) })).message, "settle")
        yield* ActsOnce.check({ ...args, ...found, tool: checked({ settle: "2 minutes" }), runs: 100 })
        yield* ActsOnce.check({ ...args, ...found, tool: checked({}), runs: 100 })
      })
  )

  it.live("yes, if the process stops midway, and the tool claims that it only reads", () =>
    Effect.gen(function*() {
      // It never fails, so no model repeats the call.
      const tool = (service: FakeService.FakeService) =>
        Tool.make(
          "pay",
          { ...pays, sideEffect: "none" },
          () =>
            Effect.flatMap(
              ToolCall.current,
              ({ idempotencyKey }) => Effect.orElseSucceed(service.act({ key: idempotencyKey }), () => "queued")
            )
        )
      const { sequence } = yield* twice({ ...args, repeats: true, tool })
      assert.deepStrictEqual(sequence, [
        "The model calls pay.",
        "Request 1, key a: the service acts, and answers.",
        "The process stops before it has recorded the outcome of the call, and another one continues.",
        "Request 2, key a: the service acts, and answers."
      ])
    }))

  it.live("shrinks a counterexample until nothing can be left out", () =>
    Effect.gen(function*() {
      // It acts twice only after three times 429.
      const tool = (service: FakeService.FakeService) =>
        Tool.make("pay", pays, () => {
          const seen: Array<string> = []
          const attempt = Effect.tapError(
            service.act(),
            (error) => Effect.sync(() => void seen.push(error._tag === "Answered" ? `${error.status}` : "lost"))
          )
          const last = Effect.suspend(() => seen.join() === "429,429,429" ? Effect.ignore(service.act()) : Effect.void)
          return attempt.pipe(
            Effect.retry({ times: 3, while: (error) => error._tag === "Answered" && error.status < 500 }),
            Effect.tap(() => last),
            Effect.mapError((error) => ToolFailure.from(error))
          )
        })
      const { sequence } = yield* twice({ ...args, tool, runs: 4_000 })
      assert.deepStrictEqual(sequence, [
        "The model calls pay.",
        "Request 1: the service answers 429, and does nothing.",
        "Request 2: the service answers 429, and does nothing.",
        "Request 3: the service answers 429, and does nothing.",
        "Request 4: the service acts, and answers.",
        "Request 5: the service acts, and answers."
      ])
    }))

  it.live("has the same answer with the same seed, and may differ with another", () =>
    Effect.gen(function*() {
      const options = { ...args, tool: paying("idempotent"), runs: 200 }
      const [one, other] = [yield* twice(options), yield* twice(options)]
      assert.deepStrictEqual(one.sequence, other.sequence)
      assert.deepStrictEqual((yield* twice({ ...options, seed: "another" })).sequence, one.sequence)
    }))

  it.live("gives no verdict on a handler that does not use the service, and says so", () =>
    Effect.gen(function*() {
      const idle = () =>
        Tool.make("pay", { description: "Pays", parameters: Order, success: Schema.Void }, () => Effect.void)
      const failure = yield* Effect.flip(ActsOnce.check({ ...args, tool: idle }))
      assert.strictEqual(failure._tag, "NeverSucceeded")
      const wrong = yield* Effect.flip(ActsOnce.check({ arguments: { oder: "7" }, tool: paying("non_idempotent") }))
      assert.include(wrong.message, "pay did not reach the service, though nothing went wrong. The model was told: ")
      assert.include(wrong.message, "'oder'")
    }))

  it.live("says so too if the tool cannot read the service's answers", () =>
    Effect.gen(function*() {
      const tool = (service: FakeService.FakeService) =>
        Tool.make(
          "pay",
          {
            description: "Pays",
            parameters: Order,
            success: Schema.Struct({ receipt: Schema.String }),
            repeats: false
          },
          () => Effect.map(Effect.orDie(service.act()), (answer) => answer as { readonly receipt: string })
        )
      const failure = yield* Effect.flip(ActsOnce.check({ ...args, tool }))
      assert.include(failure.message, "pay reached the service, and did not succeed, though nothing went wrong.")
      assert.include(failure.message, "The service answered {\"done\":true}. Set the option 'answer' if")
      assert.include(failure.message, "\"code\":\"invalid_result\"")
      const { runs } = yield* ActsOnce.check({ ...args, tool, answer: () => ({ receipt: "1" }), runs: 20 })
      assert.strictEqual(runs, 20)
      assert.strictEqual((yield* ActsOnce.check({ ...args, tool, answer: { receipt: "1" }, runs: 20 })).runs, 20)
    }))

  it.live("says what a function of the options threw, and what the tool died of", () =>
    Effect.gen(function*() {
      const boom = (): never => {
        throw new Error("Boom.")
      }
      for (const make of [paying, fetching, calling]) {
        const tool = make("non_idempotent")
        const { message } = yield* Effect.flip(ActsOnce.check({ ...args, tool, answer: boom }))
        assert.include(message, "The option 'answer' threw: Error: Boom.")
      }
      const dying = (service: FakeService.FakeService) =>
        Tool.make("pay", pays, () => Effect.andThen(Effect.orDie(service.act()), Effect.die("No rows.")))
      const { message } = yield* Effect.flip(ActsOnce.check({ ...args, tool: dying }))
      assert.include(message, "The tool pay failed with an internal error: No rows.")
      const checked = (service: FakeService.FakeService) =>
        paying("non_idempotent")(service).pipe(Tool.reconcile(() => Effect.as(service.look(), Option.none())))
      const exit = yield* Effect.exit(ActsOnce.check({ ...args, tool: checked, found: boom }))
      assert.include(String(exit), "The option 'found' threw: Error: Boom.")
    }))

  it.live("takes a success for one, whatever it has in it", () =>
    Effect.gen(function*() {
      const answer = { ok: false, queued: true }
      assert.strictEqual(
        (yield* ActsOnce.check({ ...args, tool: paying("non_idempotent"), answer, runs: 20 })).runs,
        20
      )
    }))

  it.live("reports how many sequences ended in doubt, so that a check that finds nothing is noticed", () =>
    Effect.gen(function*() {
      const checked = (found: (_: FakeService.Request, hasActed: boolean) => unknown) =>
        ActsOnce.check({
          ...args,
          runs: 60,
          found,
          tool: (service) =>
            paying("non_idempotent")(service).pipe(
              Tool.reconcile(lookedUp(service))
            )
        })
      const good = yield* checked((_, hasActed) => hasActed)
      const blind = yield* checked(() => "?")
      assert.isBelow(good.inDoubt, blind.inDoubt)
    }))

  it.live("lets the service act as late as its promise allows", () =>
    Effect.gen(function*() {
      const tool = (service: FakeService.FakeService) =>
        paying("non_idempotent")(service).pipe(
          Tool.timeout("5 seconds"),
          Tool.reconcile(lookedUp(service), { settle: "61 seconds" }),
          Tool.retry(RetryPolicy.transient)
        )
      const found = (_: FakeService.Request, hasActed: boolean) => hasActed
      assert.strictEqual((yield* ActsOnce.check({ ...args, tool, found, calls: 1, runs: 140 })).runs, 140)
      const { hint } = yield* twice({ ...args, tool, found, lateBy: "5 minutes" })
      assert.match(hint ?? "", /5m late .* 1m 1s/)
      yield* ActsOnce.check({ ...args, tool, found, lateBy: "10 seconds", runs: 20 })
    }))

  it.live("delivers a job again, in which the model writes the same call differently", () =>
    Effect.gen(function*() {
      const Payment = Schema.Struct({ order: Schema.String, note: Schema.String })
      const make = (key: (own: string, note: string) => string) => (service: FakeService.FakeService) =>
        Tool.make("pay", {
          description: "Pays",
          parameters: Payment,
          success: Schema.Unknown,
          repeats: false,
          sideEffect: "idempotent_by_key",
          identity: ({ order }) => order
        }, (params) =>
          Effect.flatMap(ToolCall.current, ({ idempotencyKey }) =>
            Effect.mapError(
              service.act({ key: key(idempotencyKey, params.note), body: params }),
              (error) => ToolFailure.from(error)
            )))
      const spellings = ["a", "b", "c"].map((note) => ({ order: "7", note }))
      yield* ActsOnce.check({ arguments: spellings, tool: make((own) => own), runs: 150 })
      const { sequence } = yield* twice({
        arguments: spellings,
        tool: make((own, note) => `${own}-${note}`),
        runs: 150
      })
      assert.strictEqual(sequence.filter((line) => line.includes("the service acts")).length, 2)
    }))

  it.live("makes fresh services of the tool for each sequence", () =>
    Effect.gen(function*() {
      class Bank
        extends Context.Service<Bank, { readonly pay: (key: string) => Effect.Effect<unknown, ToolUnavailable> }>()(
          "test/Bank"
        )
      {}
      let made = 0
      const { runs } = yield* ActsOnce.check({
        ...args,
        runs: 30,
        layer: (service) =>
          Layer.sync(Bank, () => {
            made++
            return {
              pay: (key) =>
                Effect.mapError(
                  service.act({ key }),
                  () => new ToolUnavailable({ code: "lost", detail: "Lost.", transient: true })
                )
            }
          }),
        tool: () =>
          Tool.make(
            "pay",
            {
              ...pays,
              sideEffect: "idempotent_by_key",
              identity: "all"
            },
            () =>
              Effect.flatMap(
                Bank,
                ({ pay }) => Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => pay(idempotencyKey))
              )
          )
      })
      assert.strictEqual(runs, 30)
      // The sequence without faults is played twice, and some sequences have two processes.
      assert.isAtLeast(made, 32)
    }))

  it.live("ends if a tool hangs", () =>
    Effect.gen(function*() {
      const hanging = () =>
        Tool.make("pay", { description: "Pays", parameters: Order, success: Schema.Void }, () => Effect.never)
      assert.strictEqual((yield* Effect.flip(ActsOnce.check({ ...args, tool: hanging })))._tag, "NeverSucceeded")
    }))

  it.live("stops a tool that repeats requests while no time passes", () =>
    Effect.gen(function*() {
      // Each answer is a promise that is already fulfilled, so timers never get a turn.
      const look = (service: FakeService.FakeService) =>
        Effect.promise(async () => {
          for (;;) await Effect.runPromise(service.look())
        })
      const flooding = (service: FakeService.FakeService) =>
        paying("non_idempotent")(service).pipe(Tool.reconcile(() => look(service)), Tool.retry(RetryPolicy.transient))
      const failure = yield* Effect.flip(ActsOnce.check({ ...args, tool: flooding }))
      assert.deepNestedInclude(failure, {
        _tag: "NeverEnded",
        sequence: ["The model calls pay.", "Request 1, key a: the service acts, and the connection is lost."]
      })
      assert.include(failure.message, "pay did not come to an end: it sent 1,000 requests while no time passed.")
      const fetched = (service: FakeService.FakeService) =>
        Tool.promise("pay", { description: "Pays", success: Schema.Void }, async () => {
          for (;;) await service.fetch("https://pay.example/orders")
        })
      assert.strictEqual((yield* Effect.flip(ActsOnce.check({ arguments: {}, tool: fetched })))._tag, "NeverEnded")
    }))

  it.live("stops if the services of a tool are never made", () =>
    Effect.gen(function*() {
      const tool = paying("non_idempotent")
      const failure = yield* Effect.flip(
        ActsOnce.check({ ...args, tool, layer: () => Layer.effectDiscard(Effect.never) })
      )
      assert.strictEqual(failure._tag, "NeverEnded")
      assert.include(failure.message, "it was still running after 3 hours of virtual time")
    }))

  describe("of a tool that asks the user", () => {
    const asking = (first: "asks" | "acts") => (service: FakeService.FakeService) =>
      Tool.make(
        "pay",
        pays,
        ({ order }) => {
          const act = Effect.mapError(service.act({ body: order }), (error) => ToolFailure.from(error))
          const sure = ToolCall.ask("Sure?")
          return first === "asks" ? Effect.andThen(sure, act) : Effect.andThen(act, sure)
        }
      )

    it.live("resumes the run with the reply", () =>
      Effect.gen(function*() {
        const questions: Array<string> = []
        const reply = (question: string) => {
          questions.push(question)
          return "yes"
        }
        const { runs } = yield* ActsOnce.check({ ...args, tool: asking("asks"), reply, runs: 60 })
        assert.strictEqual(runs, 60)
        assert.isAtLeast(questions.length, 60)
        assert.deepStrictEqual(Array.from(new Set(questions)), ["Sure?"])
      }))

    it.live("finds that it acts before it asks", () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(ActsOnce.check({ ...args, tool: asking("acts"), reply: "yes" }))
        // A handler that has acted does not run again after the reply, so it never comes to its end.
        assert.strictEqual(failure._tag, "NeverSucceeded")
        assert.include(failure.message, "pay was not run again")
      }))

    it.live("says that a reply is missing", () =>
      Effect.gen(function*() {
        const failure = yield* Effect.flip(ActsOnce.check({ ...args, tool: asking("asks") }))
        assert.strictEqual(
          failure.message,
          "pay did not reach the service, though nothing went wrong. " +
            "It asked the user, so set the option 'reply'. The question: Sure?"
        )
      }))

    it.live("ends if the tool does not take the reply", () =>
      Effect.gen(function*() {
        const tool = () =>
          Tool.make("pay", pays, () =>
            Effect.repeat(ToolCall.ask("Sure?"), {
              until: (reply) => reply === "yes"
            }))
        const failure = yield* Effect.flip(ActsOnce.check({ ...args, tool, reply: "no" }))
        assert.strictEqual(failure._tag, "NeverEnded")
        assert.include(failure.message, "it asked the user more than 100 times: Sure?")
      }))

    it.live("says that a reply is no string", () =>
      Effect.gen(function*() {
        const reply: () => string = () => JSON.parse("5")
        const failure = yield* Effect.flip(ActsOnce.check({ ...args, tool: asking("asks"), reply }))
        assert.include(failure.message, "The option 'reply' threw: TypeError: A reply must be a string; got number.")
      }))

    it.live("says what the function of the replies threw", () =>
      Effect.gen(function*() {
        const reply = () => {
          throw new Error("no reply")
        }
        const failure = yield* Effect.flip(ActsOnce.check({ ...args, tool: asking("asks"), reply }))
        assert.include(failure.message, "The option 'reply' threw: Error: no reply")
      }))
  })

  it.live("takes the services of the tool, and the policies of the agent", () =>
    Effect.gen(function*() {
      class Shop extends Context.Service<Shop, { readonly name: string }>()("test/Shop") {}
      const tool = (service: FakeService.FakeService) =>
        Tool.make("pay", {
          ...pays,
          sideEffect: "idempotent_by_key",
          identity: "all"
        }, () =>
          Effect.flatMap(
            Shop,
            ({ name }) =>
              Effect.flatMap(
                ToolCall.current,
                ({ idempotencyKey }) =>
                  Effect.mapError(service.act({ key: idempotencyKey, body: name }), (error) => ToolFailure.from(error))
              )
          ))
      const shop = Layer.succeed(Shop, { name: "corner" })
      const options = { ...args, tool, policies: Policy.standard(), runs: 100 }
      yield* Effect.provide(ActsOnce.check(options), shop)
      const { sequence } = yield* Effect.provide(
        twice({ ...options, keys: "ignored" }) as Effect.Effect<ActsOnce.ActedTwice, never, Shop>,
        shop
      )
      assert.deepStrictEqual(
        sequence,
        lines(
          "The model calls pay.",
          "Request 1, key a: the service acts, and the connection is lost.",
          "Request 2, key a: the service acts, and answers."
        )
      )
    }))
})

// -----------------------------------------------------------------------------
// What is told
// -----------------------------------------------------------------------------

const bank = "https://bank.example/payments"
const Receipt = Schema.Struct({ receipt: Schema.String })
const receipts = { answer: { receipt: "r-1" } }

/** The parts of a service's answers that handlers read. */
interface Answered {
  readonly receipt?: string
  readonly message?: string
}

/** Makes a tool with an async handler. `sideEffect` is `idempotent_by_key`, with an identity, if not given. */
const promising = (
  handler: (send: () => Promise<Response>, call: Tool.PromiseCall, service: FakeService.FakeService) => Promise<string>,
  definition: Partial<Tool.Definition<string, typeof Order.Type>> = {}
) =>
(service: FakeService.FakeService) =>
  Tool.promise("pay", {
    description: "Pays",
    parameters: Order,
    success: Schema.String,
    sideEffect: "idempotent_by_key",
    identity: ({ order }) => order,
    repeats: false,
    ...definition
  }, ({ order }, call) =>
    handler(
      () => {
        const { idempotencyKey, signal } = call
        const headers = { "idempotency-key": idempotencyKey }
        return service.fetch(bank, { method: "POST", headers, body: order, signal })
      },
      call,
      service
    ))

const receiptOf = async (response: Response) => (await response.json() as Answered).receipt

/** Handlers that throw a sentence, whatever went wrong: it proves nothing. */
const sentences = [
  "Receipt missing",
  "The bank did not answer",
  "Payment is processing",
  "Non-OK response",
  "Zahlung fehlgeschlagen",
  "支付失败"
]

const saying = (sentence: string) =>
  promising(async (send) => {
    const response = await send().catch(() => undefined)
    const receipt = response === undefined ? undefined : await receiptOf(response)
    if (receipt === undefined) throw new Error(sentence)
    return receipt
  })

/** A handler that throws what the service says, in whatever language. */
const quoting = promising(async (send) => {
  const { message, receipt } = await (await send()).json() as Answered
  if (receipt === undefined) throw new Error(message)
  return receipt
})

/** A handler of two requests: it pays, and then sends a mail. */
const mailing = promising(async (send, { idempotencyKey, signal }, { fetch }) => {
  const paid = await send()
  if (!paid.ok) throw paid
  const headers = { "idempotency-key": idempotencyKey }
  const mailed = await fetch("https://mail.example/mails", { method: "POST", headers, body: "Paid.", signal })
  if (!mailed.ok) throw mailed
  return await receiptOf(paid) ?? "paid"
})

/** A handler of two requests, in the style of the documents: it pays, and then reads the receipt. */
const reading = (service: FakeService.FakeService) =>
  Tool.make("pay", {
    description: "Pays",
    parameters: Order,
    success: Receipt,
    sideEffect: "idempotent_by_key",
    identity: ({ order }) => order,
    repeats: false
  }, ({ order }) =>
    Effect.gen(function*() {
      const { idempotencyKey } = yield* ToolCall.current
      const request = HttpClientRequest.post(bank, { headers: { "idempotency-key": idempotencyKey } })
      const ok = HttpClient.filterStatusOk(yield* HttpClient.HttpClient)
      yield* ok.execute(HttpClientRequest.bodyText(request, order))
      return yield* Effect.flatMap(ok.get(`${bank}/receipt`), ({ text }) => text)
    }).pipe(
      HttpFailure.classify,
      Guard.json(Receipt),
      Effect.provide(FetchHttpClient.layer),
      Effect.provideService(FetchHttpClient.Fetch, service.fetch)
    ))

const found = () => ({ receipt: "r-1" })

describe("H4 can it pay twice although nothing fails?", () => {
  const Note = Schema.Struct({ order: Schema.String, note: Schema.String })
  const noted = { arguments: { order: "7", note: "Lunch for Ada" } }

  const charging =
    (definition: Partial<Tool.Definition<unknown, typeof Note.Type>>) => (service: FakeService.FakeService) =>
      Tool.make(
        "pay",
        {
          description: "Pays",
          parameters: Note,
          success: Schema.Unknown,
          sideEffect: "idempotent_by_key",
          identity: ({ order }) => order,
          ...definition
        },
        ({ order }) =>
          Effect.flatMap(
            ToolCall.current,
            ({ idempotencyKey }) =>
              Effect.mapError(service.act({ key: idempotencyKey, body: order }), (error) => ToolFailure.from(error))
          )
      )

  it.live("yes, if the model calls it again after its success, and nothing declares that it happens once", () =>
    Effect.gen(function*() {
      const { hint, message, sequence } = yield* twice({ ...noted, tool: charging({}) })
      assert.deepStrictEqual(sequence, [
        "The model calls pay.",
        "Request 1, key a: the service acts, and answers.",
        "The model calls pay again after its success.",
        "Request 2, key b: the service acts, and answers."
      ])
      assert.match(
        hint ?? "",
        /declare 'repeats: false' in the tool\. .* set the option 'repeats' of this check to true/
      )
      assert.include(message, hint ?? "?")
    }))

  it.live("yes, if it may happen once, but each wording counts as another order", () =>
    Effect.gen(function*() {
      const tool = charging({ identity: "all", repeats: false, joins: false })
      const { hint, sequence } = yield* twice({ ...noted, reworded: ["note"], tool })
      assert.isTrue(sequence.some((line) => line.includes("in other words: note \"Lunch for Ada, again\"")))
      assert.match(hint ?? "", /in other words.* Give the tool an 'identity' without these words/)
    }))

  it.live("no, if it happens once, in whatever words", () =>
    Effect.gen(function*() {
      const { runs } = yield* ActsOnce.check({ ...noted, tool: charging({ repeats: false }), runs: 150 })
      assert.strictEqual(runs, 150)
    }))

  it.live("no, if a second effect is meant, as the tool or the check says", () =>
    Effect.gen(function*() {
      const options = { ...noted, runs: 150 }
      assert.strictEqual((yield* ActsOnce.check({ ...options, tool: charging({ repeats: true }) })).runs, 150)
      assert.strictEqual((yield* ActsOnce.check({ ...options, repeats: true, tool: charging({}) })).runs, 150)
      const { sequence } = yield* twice({ ...options, repeats: false, tool: charging({ repeats: true }) })
      assert.include(sequence, "The model calls pay again after its success.")
    }))
})

describe("H4 what does it advise?", () => {
  const Note = Schema.Struct({ order: Schema.String, note: Schema.String })
  const noted = { arguments: { order: "7", note: "Lunch for Ada" } }
  const acting = (service: FakeService.FakeService, request: FakeService.Request = {}) =>
    Effect.mapError(service.act(request), (error) => ToolFailure.from(error))
  const charging = (
    definition: Partial<Tool.Definition<unknown, typeof Note.Type>>,
    handler: (service: FakeService.FakeService, charge: typeof Note.Type, key: string) => ReturnType<typeof acting>
  ) =>
  (service: FakeService.FakeService) =>
    Tool.make(
      "pay",
      {
        description: "Pays",
        parameters: Note,
        success: Schema.Unknown,
        identity: ({ order }) => order,
        repeats: false,
        ...definition
      },
      (charge) => Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => handler(service, charge, idempotencyKey))
    )

  it.live("to compare only the identity, if the handler depends on words that it ignores", () =>
    Effect.gen(function*() {
      const tool = charging({ sideEffect: "idempotent_by_key" }, (service, { note }) => acting(service, { key: note }))
      assert.match((yield* twice({ ...noted, tool })).hint ?? "", /words that its identity ignores: compare only/)
      // A spelling that the identity has is another matter.
      const spellings = [{ order: "7", note: "" }, { order: "07", note: "" }]
      const other = charging({}, (service) => acting(service))
      assert.match((yield* twice({ arguments: spellings, tool: other })).hint ?? "", /without these words/)
    }))

  it.live("to send one key in all attempts of a call", () =>
    Effect.gen(function*() {
      let number = 0
      const tool = charging({ sideEffect: "idempotent_by_key" }, (service) => acting(service, { key: `${++number}` }))
      const retried = (service: FakeService.FakeService) => Tool.retry(tool(service), RetryPolicy.transient)
      assert.match((yield* twice({ ...args, ...noted, tool: retried })).hint ?? "", /^One call sent several keys/)
    }))

  it.live("to declare that keys are honoured", () =>
    Effect.gen(function*() {
      const tool = charging({}, (service, _, key) => Effect.retry(acting(service, { key }), { times: 1 }))
      assert.match(
        (yield* twice({ ...noted, tool })).hint ?? "",
        /declare the tool "idempotent_by_key", or set the option 'keys'/
      )
      assert.strictEqual((yield* twice({ ...noted, tool, keys: "ignored" })).hint, undefined)
    }))

  it.live("to name equal requests, if it is idempotent", () =>
    Effect.gen(function*() {
      const url = "https://bank.example/orders/7"
      const tool = charging({ sideEffect: "idempotent" }, (service) => acting(service, { method: "PUT", url }))
      assert.match((yield* twice({ ...noted, tool })).hint ?? "", /this check counts every act\. .*'keyOf'.*'repeats'/)
      const keyOf = ({ url }: FakeService.Request) => url
      assert.strictEqual((yield* ActsOnce.check({ ...noted, tool, keyOf, keys: "honoured", runs: 150 })).runs, 150)
    }))

  it.live("to declare a side effect", () =>
    Effect.gen(function*() {
      const tool = charging({ sideEffect: "none" }, (service) => acting(service))
      assert.match(
        (yield* twice({ ...noted, tool })).hint ?? "",
        /it only reads \(sideEffect: "none"\), and it has acted/
      )
    }))

  it.live("not to settle later, if nothing acts late", () =>
    Effect.gen(function*() {
      const tool = (service: FakeService.FakeService) =>
        charging({}, () => {
          const once = Effect.timeout(service.act(), "40 seconds")
          return Effect.retry(once, { times: 1, while: ({ _tag }) => _tag === "TimeoutError" }).pipe(
            Effect.mapError((error) => ToolFailure.from(error))
          )
        })(service).pipe(
          Tool.reconcile(() => Effect.map(service.look(), Option.fromUndefinedOr), { settle: "1 minute" })
        )
      const { hint, sequence } = yield* twice({ ...noted, tool })
      assert.include(sequence, "Request 1: the service acts, and answers, after a long time.")
      assert.isUndefined(hint)
    }))

  it.live("to call the fake service, if it was not reached", () =>
    Effect.gen(function*() {
      const tool = () =>
        Tool.make("pay", { description: "Pays", parameters: Order, success: Schema.Void }, () => Effect.void)
      const { message } = yield* Effect.flip(ActsOnce.check({ ...args, tool }))
      assert.match(message, /let it use service\.fetch, or the fetch of its context, or provide FetchHttpClient\.Fetch/)
    }))
})

describe("H4 is it true that nothing was done?", () => {
  const declared = [{}, { sideEffect: "non_idempotent" }] as const

  it.live("yes, if the handler throws the answer of its service", () =>
    Effect.gen(function*() {
      for (const definition of declared) {
        const tool = promising(async (send) => {
          const response = await send()
          if (!response.ok) throw response
          return await receiptOf(response) ?? "paid"
        }, definition)
        assert.strictEqual((yield* ActsOnce.check({ ...args, ...receipts, tool, runs: 120 })).runs, 120)
      }
    }))

  it.live("yes, if it fails with the error of its client", () =>
    Effect.gen(function*() {
      const options = { ...args, runs: 120 }
      assert.strictEqual((yield* ActsOnce.check({ ...options, tool: paying("non_idempotent") })).runs, 120)
      assert.strictEqual((yield* ActsOnce.check({ ...options, tool: paying("idempotent_by_key") })).runs, 120)
    }))

  it.live("yes, if it refuses before it acts", () =>
    Effect.gen(function*() {
      const tool = (service: FakeService.FakeService) =>
        Tool.make(
          "pay",
          pays,
          ({ order }) =>
            order === "?"
              ? ToolCall.refuse("There is no order '?'.")
              : Effect.mapError(service.act({ body: order }), (error) => ToolFailure.from(error))
        )
      const { runs } = yield* ActsOnce.check({ arguments: [{ order: "?" }, { order: "7" }], tool, runs: 120 })
      assert.strictEqual(runs, 120)
    }))

  it.live("yes, if all that it says is a sentence, in any language", () =>
    Effect.gen(function*() {
      for (const tool of [...sentences.map(saying), quoting]) {
        const { inDoubt, runs } = yield* ActsOnce.check({ ...args, ...receipts, tool, runs: 60 })
        assert.strictEqual(runs, 60)
        assert.isAbove(inDoubt, 4)
      }
    }))

  it.live("yes, if only its second request is refused", () =>
    Effect.gen(function*() {
      const effect = ({ url }: FakeService.Request) => url
      assert.isAbove((yield* ActsOnce.check({ ...args, ...receipts, effect, tool: mailing, runs: 60 })).inDoubt, 4)
      assert.isAbove((yield* ActsOnce.check({ ...args, ...receipts, found, tool: reading, runs: 60 })).inDoubt, 4)
    }))

  it.live("yes, if a request that was left behind leaves the call in doubt", () =>
    Effect.gen(function*() {
      const tool = promising(async (send) => {
        void send().catch(() => {})
        const response = await send()
        if (!response.ok) throw response
        return "paid"
      })
      assert.strictEqual((yield* ActsOnce.check({ ...args, tool, runs: 100 })).runs, 100)
    }))
})

describe("H4 can it pay twice by its own timers?", () => {
  const send = (call: Tool.PromiseCall, signal = call.signal) => call.fetch(bank, { method: "POST", signal })
  const lost = "Request 1: the service acts, and the connection is lost."
  const slow = "Request 1: the service acts, and answers, after a long time."

  /** Pays once more, if the wait of its own says so. */
  const waiting = (again: (call: Tool.PromiseCall) => Promise<Response>) =>
    promising(async (_, call) => {
      const response = await again(call)
      if (!response.ok) throw response
      return "paid"
    }, { sideEffect: "non_idempotent" })

  const ways = {
    "a timer": waiting((call) =>
      send(call).catch(async () => {
        await new Promise((resolve) => globalThis.setTimeout(resolve, 60_000))
        return await send(call)
      })
    ),
    "a promise of Node": waiting((call) => send(call).catch(() => sleep(60_000).then(() => send(call)))),
    "a promise of util": waiting((call) =>
      send(call).catch(() => promisify(globalThis.setTimeout)(60_000).then(() => send(call)))
    ),
    "a signal": waiting((call) =>
      send(call, AbortSignal.timeout(20_000)).catch((error: unknown) => {
        if (error instanceof DOMException && error.name === "TimeoutError") return send(call)
        throw error
      })
    ),
    "a race": waiting((call) =>
      Promise.race([send(call), sleep(20_000).then(() => undefined)]).then((paid) => paid ?? send(call))
    ),
    "a wait of Effect": waiting((call) =>
      send(call).catch(() => Effect.runPromise(Effect.sleep(60_000)).then(() => send(call)))
    )
  }

  it.live.each(Object.entries(ways))("yes, after %s", ([way, tool]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* twice({ ...args, tool })).sequence, [
        "The model calls pay.",
        way === "a race" || way === "a signal" ? slow : lost,
        "Request 2: the service acts, and answers."
      ])
    }))

  it.live("and no other code has them, and concurrent checks have their own", () =>
    Effect.gen(function*() {
      const { clearTimeout, setTimeout } = globalThis
      const timeout: unknown = Reflect.get(AbortSignal, "timeout")
      const cleared = waiting(async (call) => {
        const timer = globalThis.setTimeout(() => assert.fail("It was cleared."), 10_000)
        await sleep(5_000, undefined, { signal: call.signal })
        globalThis.clearTimeout(timer)
        return await send(call)
      })
      const check = ActsOnce.check({ ...args, tool: cleared, runs: 40 })
      const both = yield* Effect.all([check, check, Effect.promise(() => sleep(1, "real"))], { concurrency: 3 })
      assert.deepStrictEqual(both, [both[0], both[0], "real"])
      yield* Effect.timeoutOption(Effect.forever(check), "50 millis")
      assert.deepInclude(globalThis, { clearTimeout, setTimeout })
      assert.strictEqual(Reflect.get(AbortSignal, "timeout"), timeout)
    }))
})

describe("H4 what does the service say?", () => {
  it.live("refuses a first and a later request in four ways, and speaks six languages, whether it has acted or not", () =>
    Effect.gen(function*() {
      const [first, later, reads] = [new Set<number>(), new Set<number>(), new Set<number>()]
      const [refusing, acting] = [new Set<string>(), new Set<string>()]
      const tool = promising(async (send, { idempotencyKey }, { fetch }) => {
        const paid = await send()
        const { message, receipt } = await paid.clone().json() as Answered
        if (paid.status >= 400 && paid.status < 500) first.add(paid.status)
        if (receipt === undefined && message !== undefined) {
          if (paid.ok) acting.add(message)
          else if (paid.status < 500) refusing.add(message)
        }
        if (!paid.ok) throw paid
        const headers = { "idempotency-key": idempotencyKey }
        const mailed = await fetch("https://mail.example/mails", { method: "POST", headers })
        if (!mailed.ok) later.add(mailed.status)
        const read = await fetch(bank)
        if (!read.ok) reads.add(read.status)
        return receipt ?? "paid"
      })
      const effect = ({ url }: FakeService.Request) => url
      yield* ActsOnce.check({ ...args, ...receipts, effect, tool, runs: 150 })
      const refusals = [402, 404, 409, 422]
      assert.sameMembers(Array.from(first), [...refusals, 429])
      const gateways = [500, 502, 503, 504]
      assert.sameMembers(Array.from(later), [...refusals, 429, ...gateways])
      assert.sameMembers(Array.from(reads), [...refusals, 500, 403, 429, 503])
      assert.deepStrictEqual([refusing.size, acting.size], [6, 6])
      assert.includeMembers(Array.from(acting), ["Zahlung fehlgeschlagen.", "支付失败。"])
    }))

  it.live("acts, and answers 500, or with the status of a gateway", () =>
    Effect.gen(function*() {
      for (const gateway of [502, 503, 504]) {
        const tool = promising(async (send, { refuse }) => {
          const response = await send()
          if (response.status === gateway) refuse("The bank is down.")
          if (!response.ok) throw response
          return "paid"
        })
        assert.deepStrictEqual((yield* wrongly({ ...args, tool, runs: 20 })).sequence, [
          "The model calls pay.",
          `Request 1, key a: the service acts, and answers ${gateway}.`,
          "The call fails (The bank is down.), and is told as not executed."
        ])
      }
    }))

  it.live("finds what was posted", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const found = ({ key }: FakeService.Request, _: boolean, acted: ReadonlyArray<FakeService.Request>) => {
        seen.push([key, ...acted.map(({ body }) => body)])
        return {}
      }
      const tool = promising(async (_, { fetch }) => {
        const look = (key: string) => fetch(bank, { headers: { "idempotency-key": key } })
        await look("k-1")
        await fetch(bank, { method: "POST", body: "one", headers: { "idempotency-key": "k-1" } })
        await fetch(bank, { method: "POST", body: "two", headers: { "idempotency-key": "k-2" } })
        await look("k-1")
        await fetch(bank)
        return "paid"
      })
      const effect = ({ body }: FakeService.Request) => String(body)
      yield* ActsOnce.check({ ...args, effect, found, tool, runs: 1 })
      assert.deepStrictEqual(seen.slice(0, 3), [["k-1"], ["k-1", "one"], [undefined, "one", "two"]])
    }))

  it.live("answers a request without an effect as a look", () =>
    Effect.gen(function*() {
      const tool = promising(async (send, { fetch }) => {
        const token = await fetch("https://bank.example/token", { method: "POST", body: "Hello." })
        if (!token.ok) throw token
        const paid = await send()
        if (!paid.ok) throw paid
        return "paid"
      }, { acts: { requests: [`POST ${bank}`] } })
      const isToken = ({ url = "" }: FakeService.Request) => url.endsWith("/token")
      const effect = (request: FakeService.Request) => isToken(request) ? null : undefined
      const { message } = yield* Effect.flip(ActsOnce.check({ ...args, effect, tool }))
      assert.include(message, "The service answered 404 to POST https://bank.example/token. Set the option 'found'")
      const found = (request: FakeService.Request) => isToken(request) ? { token: "t-1" } : undefined
      assert.strictEqual((yield* ActsOnce.check({ ...args, effect, found, tool, runs: 150 })).runs, 150)
    }))

  it.live("finds the key where the option says", () =>
    Effect.gen(function*() {
      const inHeader = promising(async (_, { fetch, idempotencyKey }) => {
        const paid = await fetch(bank, { method: "POST", headers: { "PayPal-Request-Id": idempotencyKey } })
        if (!paid.ok) throw paid
        return "paid"
      })
      const { hint } = yield* twice({ ...args, tool: inHeader })
      assert.match(hint ?? "", /set the option 'keyOf' of this check/)
      const keyOf = ({ headers }: FakeService.Request) => headers?.["paypal-request-id"]
      assert.strictEqual((yield* ActsOnce.check({ ...args, keyOf, tool: inHeader, runs: 150 })).runs, 150)
      const inBody = (service: FakeService.FakeService) =>
        Tool.make("pay", {
          ...pays,
          sideEffect: "idempotent_by_key",
          identity: "all"
        }, () =>
          Effect.flatMap(ToolCall.current, ({ idempotencyKey }) =>
            Effect.mapError(service.act({ body: idempotencyKey }), (error) => ToolFailure.from(error))))
      const options = { ...args, keyOf: ({ body }: FakeService.Request) => String(body), tool: inBody, runs: 150 }
      assert.strictEqual((yield* ActsOnce.check(options)).runs, 150)
      const boom = () => {
        throw new Error("Boom.")
      }
      const { message } = yield* Effect.flip(ActsOnce.check({ ...options, keyOf: boom }))
      assert.include(message, "The option 'keyOf' threw: Error: Boom.")
    }))

  it.live("has one effect, unless they are named", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* twice({ ...args, tool: mailing, keys: "ignored" })).times, 2)
      const effect = () => {
        throw new Error("Boom.")
      }
      const { message } = yield* Effect.flip(ActsOnce.check({ ...args, effect, tool: mailing }))
      assert.include(message, "The option 'effect' threw: Error: Boom.")
    }))
})

describe("H4 does it lie about what it did?", () => {
  it.live("yes, if it refuses after it has acted", () =>
    Effect.gen(function*() {
      const tool = promising(async (send, { refuse }) => {
        const response = await send()
        if (!response.ok) refuse("The bank declined.")
        return "paid"
      })
      const { message, sequence, times } = yield* wrongly({ ...args, tool, runs: 60 })
      assert.strictEqual(times, 1)
      assert.deepStrictEqual(sequence, [
        "The model calls pay.",
        "Request 1, key a: the service acts, and answers 500.",
        "The call fails (The bank declined.), and is told as not executed."
      ])
      assert.include(message, "A call to pay is told as not executed, but the service acted once:")
    }))

  it.live("yes, also if it never succeeds", () =>
    Effect.gen(function*() {
      const tool = promising(async (send, { refuse }) => {
        await send()
        return refuse("Not today.")
      })
      assert.deepStrictEqual((yield* wrongly({ ...args, tool, runs: 60 })).sequence, [
        "The model calls pay.",
        "Request 1, key a: the service acts, and answers.",
        "The call fails (Not today.), and is told as not executed."
      ])
    }))

  it.live("and pays twice, once the model uses other words, which is the graver finding", () =>
    Effect.gen(function*() {
      const tool = promising(async (send, { refuse }) => {
        const response = await send()
        if (!response.ok) refuse("The bank declined.")
        return "paid"
      }, { sideEffect: "non_idempotent", identity: () => "the only order" })
      const spellings = { arguments: [{ order: "7" }, { order: "07" }] }
      const { sequence } = yield* twice({ ...spellings, tool, runs: 60 })
      assert.deepStrictEqual(sequence, [
        "The model calls pay.",
        "Request 1, key a: the service acts, and answers 500.",
        "The call fails (The bank declined.), and is told as not executed.",
        "The model calls pay again, in other words: order \"07\".",
        "Request 2, key b: the service acts, and answers."
      ])
    }))

  it.live("yes, if its failure says that nothing was done", () =>
    Effect.gen(function*() {
      const outcome = "not_executed"
      const tool = (service: FakeService.FakeService) =>
        Tool.make("pay", pays, () =>
          Effect.mapError(service.act(), () =>
            new ToolUnavailable({ code: "down", detail: "Down.", transient: true, outcome })))
      const options = { ...args, tool, calls: 1 }
      const sequence = [
        "The model calls pay.",
        "Request 1: the service acts, and the connection is lost.",
        "The call fails (Down.), and is told as not executed."
      ]
      // Plans in which the program runs the agent again come later.
      assert.deepStrictEqual((yield* wrongly({ ...options, runs: 20 })).sequence, sequence)
      assert.deepStrictEqual((yield* twice(options)).sequence, [
        ...sequence,
        "The program runs the agent again, with its facts.",
        "The model calls pay.",
        "Request 2: the service acts, and answers."
      ])
    }))

  it.live("yes, if it declares that an error means a refusal", () =>
    Effect.gen(function*() {
      class Declined extends Error {}
      const tool = (service: FakeService.FakeService) =>
        Tool.promise("pay", {
          ...pays,
          refuses: [Declined]
        }, async () => {
          const response = await service.fetch(bank, { method: "POST" })
          if (!response.ok) throw new Declined("Declined.")
          return "paid"
        })
      assert.strictEqual((yield* wrongly({ ...args, tool, runs: 20 })).sequence.length, 3)
    }))

  // A worker that was started before: nothing shows whose requests it sends, so nobody notes them.
  class Till extends Context.Service<Till, {
    readonly pay: (order: string) => Effect.Effect<unknown, FakeService.Dropped | FakeService.Answered>
  }>()("test/Till") {
    static readonly layer = (service: FakeService.FakeService) =>
      Layer.effect(
        Till,
        Effect.gen(function*() {
          const orders = yield* Queue.unbounded<
            readonly [string, Deferred.Deferred<unknown, FakeService.Dropped | FakeService.Answered>]
          >()
          const work = Effect.flatMap(
            Queue.take(orders),
            ([body, paid]) => Effect.flatMap(Effect.exit(service.act({ body })), (exit) => Deferred.done(paid, exit))
          )
          yield* Effect.forkScoped(Effect.forever(work))
          return {
            pay: (order) =>
              Effect.gen(function*() {
                const paid = yield* Deferred.make<unknown, FakeService.Dropped | FakeService.Answered>()
                yield* Queue.offer(orders, [order, paid])
                return yield* Deferred.await(paid)
              })
          }
        })
      )
  }

  const queueing = <E extends ToolFailure.ToolFailure>(
    failureOf: (error: FakeService.Dropped | FakeService.Answered) => E,
    definition: Pick<Tool.Definition<unknown, typeof Order.Type>, "acts"> = {}
  ) =>
  () =>
    Tool.make(
      "pay",
      { ...pays, ...definition },
      ({ order }) => Effect.flatMap(Till, ({ pay }) => Effect.mapError(pay(order), failureOf))
    )

  it.live("yes, if nobody has noted its requests, and it fails with a bare SemanticGarbage", () =>
    Effect.gen(function*() {
      const tool = queueing(() => new SemanticGarbage({ code: "declined", detail: "Declined." }))
      assert.deepStrictEqual((yield* wrongly({ ...args, tool, layer: Till.layer, runs: 20 })).sequence, [
        "The model calls pay.",
        "Request 1: the service acts, and the connection is lost.",
        "The call fails (Declined.), and is told as not executed."
      ])
    }))

  it.live("yes, if nobody has noted its requests, and it declares that only its requests act", () =>
    Effect.gen(function*() {
      const options = { ...args, layer: Till.layer, runs: 12 }
      const acts = { requests: ["POST bank.example"], only: true }
      const failed = () => ToolFailure.from(new Error("Declined."))
      yield* wrongly({ ...options, tool: queueing(failed, { acts }), runs: 20 })
      // Without the declaration, silence proves nothing.
      assert.strictEqual((yield* ActsOnce.check({ ...options, tool: queueing(failed) })).runs, 12)
    }))

  it.live("yes, if it refuses while a request of its own still runs", () =>
    Effect.gen(function*() {
      const tool = promising(async (send, { refuse }) => {
        const response = await send()
        if (response.ok) return "paid"
        if (response.status !== 402) throw response
        void send().catch(() => {})
        return refuse("Not today.")
      }, { sideEffect: "non_idempotent" })
      assert.deepStrictEqual((yield* wrongly({ ...args, tool, calls: 1, runs: 60 })).sequence, [
        "The model calls pay.",
        "Request 1, key a: the service answers 402, and does nothing.",
        "The call fails (Not today.), and is told as not executed.",
        "Request 2, key a, after its call has ended: the service acts, and answers."
      ])
    }))

  it.live("yes, if it sends a request after it has failed", () =>
    Effect.gen(function*() {
      const again = (service: FakeService.FakeService) =>
        Effect.forkDetach(Effect.delay(service.act(), "1 minute"), { startImmediately: true })
      const tool = (service: FakeService.FakeService) =>
        Tool.make("pay", pays, () =>
          Effect.catch(service.act(), (error) =>
            Effect.andThen(
              error._tag === "Answered" && error.status === 402 ? again(service) : Effect.void,
              Effect.fail(ToolFailure.from(error))
            )))
      assert.deepStrictEqual((yield* wrongly({ ...args, tool, calls: 1, runs: 60 })).sequence, [
        "The model calls pay.",
        "Request 1: the service answers 402, and does nothing.",
        "The call fails (The service answered 402.), and is told as not executed.",
        "Request 2, after its call has ended: the service acts, and answers."
      ])
    }))

  it.live("no, if a request that a call in doubt has left behind acts during the next call", () =>
    Effect.gen(function*() {
      const lost = new ToolUnavailable({ code: "lost", detail: "Lost.", transient: true, outcome: "unknown" })
      const tool = (service: FakeService.FakeService) =>
        Tool.make("pay", {
          ...pays,
          identity: ({ order }) => order
        }, ({ order }) => {
          const act = service.act({ url: `http://service.test/${order}` })
          return order === "late"
            ? Effect.andThen(Effect.forkDetach(Effect.delay(act, "30 seconds")), Effect.fail(lost))
            : Effect.andThen(Effect.sleep("1 minute"), Effect.mapError(act, (error) => ToolFailure.from(error)))
        })
      const { runs } = yield* ActsOnce.check({
        arguments: [{ order: "late" }, { order: "7" }],
        effect: ({ url }) => url,
        tool,
        runs: 60
      })
      assert.strictEqual(runs, 60)
    }))
})
