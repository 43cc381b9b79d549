/** Handlers that return Effects: `FetchHttpClient`, clients in `Effect.tryPromise`, policies, semaphores, forked fibers. */
import { Tool, ToolCall, ToolFailure, ToolUnavailable } from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import { Effect, Fiber, Schedule, Schema, Semaphore } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { lib } from "./clients.mjs"
import { bank, closed, effectRow, missing, noTls, nowhere, ok, post, secure, sleep, stuck } from "./kit.mjs"

const missingEffect = Effect.fail(new ToolUnavailable({ code: "odd", detail: "Receipt missing", transient: false }))

/** A POST by Effect's client. */
const sent = (url) =>
  HttpClient.execute(HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(url), {})).pipe(
    Effect.flatMap(HttpClientResponse.filterStatusOk),
    Effect.flatMap((response) => response.text),
    HttpFailure.classify,
    Effect.provide(FetchHttpClient.layer)
  )

/** Runs all in parallel to their ends, and then fails with the first failure. */
const allOf = (effects) =>
  Effect.flatMap(
    Effect.forEach(effects, Effect.exit, { concurrency: "unbounded" }),
    (exits) => Effect.all(exits)
  )

const clientRows = [
  ["402", () => sent(bank("/refuse/402"))],
  ["404", () => sent(bank("/refuse/404"))],
  ["429", () => sent(bank("/refuse/429"))],
  ["500, acted", () => sent(bank("/acting/500"))],
  ["503", () => sent(bank("/busy"))],
  ["200", () => sent(bank("/pay"))],
  ["200, then a failure", () => Effect.andThen(sent(bank("/pay")), missingEffect)],
  ["200, then 402", () => Effect.andThen(sent(bank("/pay")), sent(bank("/refuse/402")))],
  [
    "402, then 200, then a failure",
    () => Effect.andThen(Effect.ignore(sent(bank("/refuse/402"))), Effect.andThen(sent(bank("/pay")), missingEffect))
  ],
  ["dropped", () => sent(bank("/drop"))],
  ["connection refused", () => sent(closed("/pay"))],
  ["unknown host", () => sent(nowhere("/pay"))],
  ["no TLS there", () => sent(noTls("/pay"))],
  ["a certificate that is not trusted", () => sent(secure("/pay"))],
  ["303, then a failure", () => Effect.andThen(sent(bank("/see")), missingEffect)],
  ["307 to 402", () => sent(bank("/lead/refuse/402"))],
  [
    "Effect.timeout before the answer",
    () => sent(bank("/hang")).pipe(Effect.timeout("80 millis"), HttpFailure.classify)
  ],
  [
    "Effect.timeout before a connection",
    () => sent(stuck("/pay")).pipe(Effect.timeout("80 millis"), HttpFailure.classify)
  ],
  [
    "three in parallel, one paid, one refused",
    () => allOf([sent(bank("/pay")), sent(bank("/refuse/402")), sent(bank("/read"))])
  ],
  ["three in parallel, all refused", () => allOf([402, 404, 409].map((status) => sent(bank(`/refuse/${status}`))))],
  ["in a forked fiber, 402", () => Effect.flatMap(Effect.forkChild(sent(bank("/refuse/402"))), Fiber.join)],
  [
    "in a forked fiber, 200, then a failure",
    () =>
      Effect.flatMap(Effect.forkChild(sent(bank("/pay"))), (fiber) => Effect.andThen(Fiber.join(fiber), missingEffect))
  ],
  [
    "in a fiber that nobody awaits, then 402",
    () =>
      Effect.andThen(
        Effect.forkDetach(sent(bank("/slow"))),
        Effect.andThen(Effect.yieldNow, sent(bank("/refuse/402")))
      ),
    { after: () => sleep(120) }
  ],
  ["after a pause, 402", () => Effect.andThen(Effect.sleep("5 millis"), sent(bank("/refuse/402")))],
  [
    "after a pause, 200, then a failure",
    () => Effect.andThen(Effect.sleep("5 millis"), Effect.andThen(sent(bank("/pay")), missingEffect))
  ],
  [
    "retried in the handler: 503, 503, 200, then a failure",
    () => Effect.andThen(Effect.retry(sent(bank("/flaky/effect")), { times: 3 }), missingEffect)
  ],
  [
    "retried in the handler: 402, then 200, then a failure",
    () => Effect.andThen(Effect.retry(sent(bank("/twice/effect")), { times: 3 }), missingEffect)
  ],
  ["60 calls at once, refused and then paid", (_, number) =>
    Effect.andThen(
      Effect.ignore(sent(bank(`/twice/effect/${number}`))),
      Effect.andThen(sent(bank(`/twice/effect/${number}`)), missingEffect)
    ), { calls: 60 }],
  [
    "60 calls at once, every other is refused",
    (_, number) =>
      Effect.andThen(sent(bank(number % 2 === 0 ? `/refuse/402/${number}` : `/pay/${number}`)), missingEffect),
    {
      calls: 60
    }
  ]
]

/** The policies under which the client's rows are played again. */
const policies = [
  ["", {}],
  [", under Tool.timeout", { through: Tool.timeout("10 seconds") }]
]

const httpRows = policies.flatMap(([policy, through]) =>
  clientRows.map(([name, effect, options = {}]) =>
    effectRow(`FetchHttpClient: ${name}${policy}`, effect, { ...options, ...through })
  )
)

const cutRows = [
  effectRow("FetchHttpClient: cut by Tool.timeout before the answer", () => sent(bank("/hang")), {
    through: Tool.timeout("80 millis")
  }),
  effectRow("FetchHttpClient: cut by Tool.timeout before a connection", () => sent(stuck("/pay")), {
    through: Tool.timeout("80 millis")
  }),
  effectRow(
    "FetchHttpClient: 402, retried by Tool.retry, then 200, then a failure",
    () => Effect.andThen(sent(bank("/twice/effect-retry")), missingEffect),
    {
      through: Tool.retry(Schedule.recurs(3))
    }
  )
]

// -----------------------------------------------------------------------------
// Other clients
// -----------------------------------------------------------------------------

const axiosPost = (axios, path) =>
  Effect.tryPromise({ try: () => axios.post(bank(path), {}), catch: (error) => ToolFailure.from(error) })

const axios = { before: () => lib("axios") }

const promiseRows = policies.flatMap(([policy, through]) => [
  effectRow(`axios in tryPromise: 402${policy}`, (client) => axiosPost(client, "/refuse/402"), {
    ...axios,
    ...through
  }),
  effectRow(
    `axios in tryPromise: 200, then a failure${policy}`,
    (client) => Effect.andThen(axiosPost(client, "/pay"), missingEffect),
    { ...axios, ...through }
  ),
  effectRow(
    `axios in tryPromise: 200, then 402${policy}`,
    (client) => Effect.andThen(axiosPost(client, "/pay"), axiosPost(client, "/refuse/402")),
    { ...axios, ...through }
  ),
  effectRow(`fetch in tryPromise: 402${policy}`, () =>
    Effect.tryPromise({
      try: async () => ok(await fetch(bank("/refuse/402"), post())),
      catch: (error) => ToolFailure.from(error)
    }), through),
  effectRow(`fetch in tryPromise: 200, then an error${policy}`, () =>
    Effect.tryPromise({
      try: async () => missing(await ok(await fetch(bank("/pay"), post()))),
      catch: (error) => ToolFailure.from(error)
    }), through),
  effectRow(`the context's fetch: 402${policy}`, () =>
    Effect.flatMap(ToolCall.fetch, (fetch) =>
      Effect.tryPromise({
        try: async () => ok(await fetch(bank("/refuse/402"), post())),
        catch: (error) => ToolFailure.from(error)
      })), through),
  effectRow(
    `the context's fetch: 200, then an error${policy}`,
    () =>
      Effect.flatMap(ToolCall.fetch, (fetch) =>
        Effect.tryPromise({
          try: async () => missing(await ok(await fetch(bank("/pay"), post()))),
          catch: (error) => ToolFailure.from(error)
        })),
    through
  )
])

const semaphore = async () => Semaphore.makeUnsafe(1)

const sharedRows = policies.flatMap(([policy, through]) => [
  effectRow(`a semaphore of one: 60 calls at once, refused and then paid${policy}`, (permits, number) =>
    Effect.andThen(
      Effect.ignore(permits.withPermits(1)(sent(bank(`/twice/semaphore${policy.length}/${number}`)))),
      Effect.andThen(permits.withPermits(1)(sent(bank(`/twice/semaphore${policy.length}/${number}`))), missingEffect)
    ), { before: semaphore, calls: 60, ...through }),
  effectRow(
    `a semaphore of one: 60 calls at once, every other is refused${policy}`,
    (permits, number) =>
      Effect.andThen(
        permits.withPermits(1)(sent(bank(number % 2 === 0 ? `/refuse/402/${number}` : `/pay/${number}`))),
        missingEffect
      ),
    { before: semaphore, calls: 60, ...through }
  )
])

// A tool that a handler runs has its own requests.
const inner = (path) => Tool.make("inner", { description: "Pays", success: Schema.String }, () => sent(bank(path)))

const innerRows = [
  effectRow("an inner tool 402", () => inner("/refuse/402").run({})),
  effectRow("an inner tool 200, then a failure", () => Effect.andThen(inner("/pay").run({}), missingEffect)),
  effectRow("an inner tool 200, then 402", () => Effect.andThen(inner("/pay").run({}), sent(bank("/refuse/402")))),
  effectRow("200, then an inner tool 402", () => Effect.andThen(sent(bank("/pay")), inner("/refuse/402").run({}))),
  effectRow(
    "an inner tool 500, acted, then 402",
    () => Effect.andThen(Effect.ignore(inner("/acting/500").run({})), sent(bank("/refuse/402")))
  )
]

export const effectRows = [httpRows, cutRows, promiseRows, sharedRows, innerRows].flat()
