import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  Dispatch,
  Rendering,
  SchemaMismatch,
  type ToolFailure,
  type ToolOutcome,
  ToolUnavailable
} from "@fallible/core"
import * as HttpFailure from "@fallible/core/HttpFailure"
import * as Cache from "@fallible/examples/02-clinical-assistant/Cache"
import * as Database from "@fallible/examples/02-clinical-assistant/Database"
import * as DrugApi from "@fallible/examples/02-clinical-assistant/DrugApi"
import * as DrugServer from "@fallible/examples/02-clinical-assistant/DrugServer"
import * as Planner from "@fallible/examples/02-clinical-assistant/Planner"
import { program } from "@fallible/examples/02-clinical-assistant/program"
import { toolkit } from "@fallible/examples/02-clinical-assistant/tools"
import { findDrug, inHouse, interactionsAmong, patients } from "@fallible/examples/02-clinical-assistant/World"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Clock, Duration, Effect, Fiber, Layer, Logger, Option, Random } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import * as InProcess from "../support/inProcess.ts"
import { atOnce } from "../support/models.ts"
import { runNode, withoutTimings } from "../support/program.ts"
import { macrotask, passing } from "../support/virtualTime.ts"

// -----------------------------------------------------------------------------
// A call, and what the model reads of it
// -----------------------------------------------------------------------------

/** One call, as a model makes it. */
const call = (name: string, args: object | string, place?: Dispatch.CallOptions) =>
  Dispatch.call(
    toolkit,
    { id: "1", name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
    place
  )

const patient = (patientId: string) => call("get_patient", { patientId })
const facts = (name: string) => call("get_drug_facts", { name })
const together = (...drugs: ReadonlyArray<string>) => call("check_interactions", { drugs })

const told = (outcome: ToolOutcome.ToolOutcome): Record<string, unknown> =>
  JSON.parse(Rendering.json(outcome, { id: "1", name: "tool" }))

const completed = (outcome: ToolOutcome.ToolOutcome) =>
  outcome._tag === "Completed" ? outcome : assert.fail(JSON.stringify(outcome))
const failed = (outcome: ToolOutcome.ToolOutcome) =>
  outcome._tag === "Failed" ? outcome : assert.fail(JSON.stringify(outcome))

/** Who answered, how old that is, and what the model is told of it. */
const source = (outcome: ToolOutcome.ToolOutcome) => {
  const { caveats, source } = completed(outcome)
  return [source?.name, source?.age === undefined ? "fresh" : Duration.format(source.age), ...caveats]
}

// -----------------------------------------------------------------------------
// Two worlds: one without any wire, and the real one
// -----------------------------------------------------------------------------

interface Played {
  readonly drug: Database.Database["Service"]["drug"]
  readonly patient: Database.Database["Service"]["patient"]
  readonly facts: DrugApi.DrugApi["Service"]["facts"]
  readonly interactions: DrugApi.DrugApi["Service"]["interactions"]
  readonly cache: Cache.State
}

/** A world without a file and a wire, in which everything is well but for what is said; and who was asked, and when. */
const played = (world: Partial<Played> = {}) => {
  const asked: Array<string> = []
  const noting = <A, E>(what: string, answer: Effect.Effect<A, E>) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      asked.push(`${now} ${what}`)
      return answer
    })
  const layer = Layer.mergeAll(
    Layer.succeed(Database.Database, {
      patient: (id) =>
        noting(
          `database: ${id}`,
          world.patient?.(id) ?? Effect.succeed(Option.fromUndefinedOr(patients.find((one) => one.id === id)))
        ),
      drug: (name) =>
        noting(
          `database: ${name}`,
          world.drug?.(name) ?? Effect.succeed(Option.fromUndefinedOr(inHouse.find((drug) => drug.name === name)))
        ),
      drugNames: Effect.succeed(inHouse.map(({ name }) => name))
    }),
    Layer.succeed(DrugApi.DrugApi, {
      facts: (name) => noting(`api: ${name}`, world.facts?.(name) ?? Effect.succeed(findDrug(name)!)),
      interactions: (names) =>
        noting(`api: ${names.join()}`, world.interactions?.(names) ?? Effect.succeed(interactionsAmong(names)))
    }),
    Cache.layer(world.cache ?? "empty")
  )
  return { asked, layer }
}

interface States {
  readonly database?: Database.State
  readonly api?: DrugServer.State
  readonly cache?: Cache.State
  readonly seed?: string
}

/** The real parts, as the command puts them together. */
const real = ({ api = "up", cache = "full", database = "up", seed = "1" }: States = {}) =>
  Layer.mergeAll(
    Database.layer(database).pipe(Layer.provide(NodeFileSystem.layer)),
    Cache.layer(cache),
    DrugApi.layer.pipe(Layer.provideMerge(DrugServer.layer(api, seed)), Layer.provide(FetchHttpClient.layer))
  )

const asked = DrugServer.DrugServer.use(({ asked }) => asked)

/** Lets the wire have its turns, while no time passes. */
const until = <R>(condition: Effect.Effect<boolean, never, R>) =>
  Effect.gen(function*() {
    while (!(yield* condition)) yield* macrotask
  })

/** Draws are always halfway. */
const halfway = Effect.provideService(Random.Random, { nextDoubleUnsafe: () => 0.5, nextIntUnsafe: () => 1 })

const down = new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })
const answered = (status: number, retryAfter?: Duration.Input) =>
  HttpFailure.fromStatus(status, { method: "GET", ...(retryAfter === undefined ? {} : { retryAfter }) })

// -----------------------------------------------------------------------------
// B6 and B1
// -----------------------------------------------------------------------------

interface Row {
  readonly what: string
  readonly states?: States
  readonly call: ReturnType<typeof call>
  readonly error: ToolFailure.Tag
  readonly code: string
  readonly hint?: RegExp
  readonly retry: RegExp
}

const once = /^Do not repeat this call with the same arguments\. /
const never = /^Do not call this tool again\. Use another one, or answer without it\.$/
const later = /^Already tried 3 times\. Do not call it again now; use another tool, or answer without it\.$/

const rows: ReadonlyArray<Row> = [
  {
    what: "not found: a patient",
    call: patient("P-1009"),
    error: "SemanticGarbage",
    code: "unknown_patient",
    hint: /^Ask the user for the right id\.$/,
    retry: once
  },
  {
    what: "not found: a drug, whoever is asked",
    call: facts("ibuprofin"),
    error: "SemanticGarbage",
    code: "unknown_drug",
    hint: /^Ask the user which drug is meant\. Do not choose one\.$/,
    retry: once
  },
  {
    what: "permission denied, by a record",
    call: patient("P-1004"),
    error: "ToolUnavailable",
    code: "permission_denied",
    hint: /^Somebody who has it must look/,
    retry: once
  },
  {
    what: "permission denied, by the API",
    states: { api: "forbidden" },
    call: together("aspirin", "warfarin"),
    error: "ToolUnavailable",
    code: "permission_denied",
    hint: /^Someone has to grant access first.* Call get_drug_facts instead\.$/,
    retry: once
  },
  {
    what: "the quota",
    states: { api: "quota" },
    call: together("aspirin", "warfarin"),
    error: "ToolUnavailable",
    code: "quota_exhausted",
    hint: /^The service requires payment.* Call get_drug_facts instead\.$/,
    retry: never
  },
  {
    what: "the connection to the API",
    states: { api: "down" },
    call: together("aspirin", "warfarin"),
    error: "ToolUnavailable",
    code: "connection",
    hint: /^Call get_drug_facts instead\.$/,
    retry: later
  },
  {
    what: "the connection to the database",
    states: { database: "down" },
    call: patient("P-1001"),
    error: "ToolUnavailable",
    code: "connection",
    retry: later
  },
  {
    what: "a database that somebody else has locked",
    states: { database: "locked" },
    call: patient("P-1001"),
    error: "ToolUnavailable",
    code: "database_locked",
    retry: later
  },
  {
    what: "the quality of data: a record without a weight",
    call: patient("P-1003"),
    error: "PartialData",
    code: "incomplete_record",
    hint: /^Go by no dose that depends on the weight/,
    retry: /Use the data that you have\.$/
  },
  {
    what: "the quality of data: a drug that is not covered",
    call: together("simvastatin", "ginkgo", "warfarin"),
    error: "PartialData",
    code: "not_covered",
    hint: /^Say so/,
    retry: /Use the data that you have\.$/
  },
  {
    what: "the quality of data: a page where facts should be",
    states: { api: "garbage" },
    call: together("aspirin", "warfarin"),
    error: "SchemaMismatch",
    code: "invalid_json",
    retry: /^Do not repeat this call.* tell the user what is missing\.$/
  },
  {
    what: "the quality of data: an answer that breaks off",
    states: { api: "truncated" },
    call: together("aspirin", "warfarin"),
    error: "SchemaMismatch",
    code: "truncated",
    retry: /^Do not repeat this call.* tell the user what is missing\.$/
  },
  {
    what: "all sources of one fact",
    states: { api: "down", database: "down", cache: "empty" },
    call: facts("aspirin"),
    error: "ToolUnavailable",
    code: "connection",
    // Three times the database, and three times the API.
    retry: /^Already tried 6 times\. Do not call it again now;/
  },
  {
    what: "wrong arguments",
    call: patient("1001"),
    error: "SchemaMismatch",
    code: "invalid_arguments",
    retry: /Call again with corrected arguments\.$/
  }
]

const outcomeOf = ({ call, states }: Row) => Effect.map(Effect.provide(atOnce(call), real(states)), failed)

describe("what the model is told", () => {
  for (const row of rows) {
    it.effect(`B6 has a code and advice of its own for ${row.what}: ${row.error}, ${row.code}`, () =>
      Effect.gen(function*() {
        const { error, code, hint, retry } = told(yield* outcomeOf(row))
        assert.deepStrictEqual([error, code], [row.error, row.code])
        assert.match(String(retry), row.retry)
        if (row.hint === undefined) assert.isUndefined(hint)
        else assert.match(String(hint), row.hint)
      }))
  }

  it.effect("B6 gives what is there of partial data, to go on with", () =>
    Effect.gen(function*() {
      const record = told(yield* patient("P-1003"))
      assert.deepInclude(record["data"], { id: "P-1003", kilograms: null, medications: ["simvastatin", "ginkgo"] })
      assert.deepStrictEqual(record["coverage"], { have: 5, of: 6, unit: "fields" })
      const check = told(yield* together("clarithromycin", "ginkgo", "simvastatin"))
      assert.deepInclude(check["data"], { uncovered: ["ginkgo"], covered: ["clarithromycin", "simvastatin"] })
      assert.deepNestedInclude(check["data"], { "interactions.0.severity": "major" })
      assert.deepStrictEqual(check["coverage"], { have: 2, of: 3, unit: "drugs" })
    }).pipe(Effect.provide(real())))

  it.effect("B6 names a drug that may be meant, and no patient but the one that was asked for", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(told(yield* facts("ibuprofin"))["alternatives"], ["ibuprofen"])
      assert.notProperty(told(yield* facts("unobtainium")), "alternatives")
      assert.notProperty(told(yield* patient("P-1000")), "alternatives")
    }).pipe(Effect.provide(real())))

  it.effect("B1 has one shape for all failures of all tools: what went wrong, a hint, whether to retry", () =>
    Effect.gen(function*() {
      const optional = ["hint", "alternatives", "tried", "coverage", "data"]
      for (const row of rows) {
        const message = told(yield* outcomeOf(row))
        const keys = Object.keys(message)
        assert.deepStrictEqual(keys.filter((key) => !optional.includes(key)), [
          "ok",
          "error",
          "code",
          "detail",
          "retry"
        ])
        assert.strictEqual(message["ok"], false)
        for (const key of ["detail", "retry"]) assert.match(String(message[key]), /^\S[^\n]*\."?$/)
        // Neither the file of the database, nor the address of the service, nor a stack.
        assert.notMatch(JSON.stringify(message), /clinical-assistant-|127\.0\.0\.1|\.ts|Error:/)
      }
    }))
})

// -----------------------------------------------------------------------------
// B2
// -----------------------------------------------------------------------------

/** When a service is asked, if it always fails like this. */
const timesOf = (failure: HttpFailure.HttpFailure) =>
  Effect.gen(function*() {
    const { asked, layer } = played({ interactions: () => Effect.fail(failure) })
    const outcome = yield* passing(together("aspirin", "warfarin")).pipe(Effect.provide(layer))
    assert.strictEqual(failed(outcome).attempts, asked.length)
    return asked.map((line) => Number(line.split(" ")[0]))
  })

describe("retries inside of a tool", () => {
  it.effect("B2 ask again after a lost connection, a timeout and a 5xx, three times in all, with backoff and jitter", () =>
    Effect.gen(function*() {
      for (const failure of [down, answered(408), answered(500), answered(502), answered(503), answered(504)]) {
        assert.deepStrictEqual(yield* halfway(timesOf(failure)).pipe(clockAtZero), [0, 100, 300], failure.detail)
        assert.deepStrictEqual(yield* atOnce(timesOf(failure)).pipe(clockAtZero), [0, 0, 0], failure.detail)
      }
    }))

  it.effect("B2 wait longer after a 429: for as long as it asks and a bit more, and not at all when that is too long", () =>
    Effect.gen(function*() {
      const times = (failure: HttpFailure.HttpFailure) => halfway(timesOf(failure)).pipe(clockAtZero)
      assert.deepStrictEqual(yield* times(answered(429)), [0, 1500, 4500])
      assert.deepStrictEqual(yield* times(answered(429, "5 seconds")), [0, 5500, 11_500])
      assert.deepStrictEqual(yield* times(answered(429, "60 seconds")), [0, 60_500, 121_500])
      assert.deepStrictEqual(yield* times(answered(429, "61 seconds")), [0])
    }))

  it.effect("B2 ask no second time after any other 4xx", () =>
    Effect.gen(function*() {
      for (const status of [400, 401, 402, 403, 404, 405, 409, 410, 413, 422, 451]) {
        assert.deepStrictEqual(yield* timesOf(answered(status)).pipe(clockAtZero), [0], String(status))
      }
    }))

  it.effect("B2 give each attempt two seconds, on either side of the tick", () =>
    Effect.gen(function*() {
      const { asked, layer } = played({ interactions: () => Effect.never })
      const fiber = yield* Effect.forkChild(Effect.provide(atOnce(together("aspirin", "warfarin")), layer))
      for (const attempt of [1, 2, 3]) {
        yield* TestClock.adjust("1999 millis")
        assert.strictEqual(asked.length, attempt)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 millis")
      }
      const { attempts, failure } = failed(yield* Fiber.join(fiber))
      assert.deepInclude(failure, { code: "timeout", transient: true })
      assert.strictEqual(attempts, 3)
    }))

  it.effect("B2 ask a locked database again, until it is free", () =>
    Effect.gen(function*() {
      let locked = 2
      const { asked, layer } = played({
        patient: (id) =>
          Effect.suspend(() =>
            locked-- > 0
              ? Effect.fail(down)
              : Effect.succeed(Option.fromUndefinedOr(patients.find((one) => one.id === id)))
          )
      })
      const outcome = yield* passing(halfway(patient("P-1001"))).pipe(Effect.provide(layer))
      assert.deepInclude(completed(outcome), { attempts: 3, waited: Duration.millis(300) })
      assert.deepStrictEqual(asked, ["0 database: P-1001", "100 database: P-1001", "300 database: P-1001"])
    }))
})

/** A test of its own time. */
const clockAtZero = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.provide(self, TestClock.layer())

describe("retries over a real wire", () => {
  it.effect("B2 give up a slow API after three attempts of two seconds, and let its connections go", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(atOnce(together("aspirin", "warfarin")))
      for (const attempt of [1, 2, 3]) {
        yield* until(Effect.map(asked, ({ length }) => length === attempt))
        yield* TestClock.adjust("1999 millis")
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 millis")
      }
      assert.deepInclude(failed(yield* Fiber.join(fiber)).failure, { code: "timeout", transient: true })
      assert.strictEqual((yield* asked).length, 3)
    }).pipe(Effect.provide(real({ api: "slow" }))))

  it.effect("B2 honour the Retry-After of a 429", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const place: Dispatch.CallOptions = {
        onEvent: (event) => event._tag === "FailureHandled" && heard.push(`${event.by}: ${event.code}`)
      }
      const check = call("check_interactions", { drugs: ["aspirin", "warfarin"] }, place)
      const fiber = yield* Effect.forkChild(atOnce(check))
      yield* until(Effect.sync(() => heard.length > 0))
      // Nobody would wait that long of their own accord: 2 s at the most.
      yield* TestClock.adjust("2999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      assert.strictEqual((yield* asked).length, 1)
      yield* TestClock.adjust("1 millis")
      assert.deepInclude(completed(yield* Fiber.join(fiber)), { attempts: 2, waited: Duration.seconds(3) })
      assert.deepStrictEqual(heard, ["retry: rate_limited"])
    }).pipe(Effect.provide(real({ api: "limited" }))))

  for (
    const [seed, codes] of [
      ["2", []],
      ["4", ["server_error"]],
      ["5", ["server_error", "server_error"]],
      ["7", ["connection"]]
    ] as const
  ) {
    it.effect(`B2 get through to a flaky API, seed ${seed}: ${["not_held", ...codes].join(", ")}, and an answer`, () =>
      Effect.gen(function*() {
        const outcome = completed(yield* atOnce(facts("aspirin")))
        assert.deepStrictEqual(outcome.handled.map(({ code }) => code), ["not_held", ...codes])
        assert.strictEqual((yield* asked).length, codes.length + 1)
        assert.deepStrictEqual(source(outcome), ["external API", "fresh", "from the external API"])
      }).pipe(Effect.provide(real({ api: "flaky", seed }))))
  }

  for (const [api, code] of [["quota", "quota_exhausted"], ["forbidden", "permission_denied"]] as const) {
    it.effect(`B2 ask once where the answer would be the same: ${code}`, () =>
      Effect.gen(function*() {
        assert.deepInclude(failed(yield* together("aspirin", "warfarin")).failure, { code, transient: false })
        assert.strictEqual((yield* asked).length, 1)
      }).pipe(Effect.provide(real({ api }))))
  }
})

// -----------------------------------------------------------------------------
// B3
// -----------------------------------------------------------------------------

const fromDatabase = ["internal database", "fresh", "from the internal database"]
const fromApi = ["external API", "fresh", "from the external API"]
const fromCache = ["cache", "3h", "from cache, 3h old; the live service is unavailable"]

describe("the sources of a fact", () => {
  it.effect("B3 answers from the internal database, then the external API, then the cache, and says which one and how old", () =>
    Effect.gen(function*() {
      const chain: ReadonlyArray<readonly [States, drug: string, ReadonlyArray<string | undefined>]> = [
        [{}, "ibuprofen", fromDatabase],
        [{ api: "down", cache: "empty" }, "ibuprofen", fromDatabase],
        [{}, "aspirin", fromApi],
        [{ database: "locked" }, "ibuprofen", fromApi],
        [{ database: "down" }, "ibuprofen", fromApi],
        [{ api: "down" }, "aspirin", fromCache],
        [{ api: "quota" }, "aspirin", fromCache],
        [{ api: "forbidden" }, "aspirin", fromCache],
        [{ api: "garbage" }, "aspirin", fromCache],
        [{ api: "truncated" }, "aspirin", fromCache],
        [{ database: "locked", api: "down" }, "ibuprofen", fromCache],
        [{ database: "down", api: "down" }, "ibuprofen", fromCache]
      ]
      for (const [states, drug, expected] of chain) {
        const outcome = yield* atOnce(facts(drug)).pipe(Effect.provide(real(states)))
        assert.deepStrictEqual(source(outcome), expected, JSON.stringify(states))
        assert.deepStrictEqual(completed(outcome).value, { ...findDrug(drug) })
      }
    }))

  for (const cache of ["empty", "stale"] as const) {
    it.effect(`B3 lists the sources that were tried when all have failed, with a cache that is ${cache}`, () =>
      Effect.gen(function*() {
        const outcome = failed(yield* atOnce(facts("ibuprofen")))
        const tried = ["internal database (connection)", "external API (connection)", "cache (nothing known)"]
        assert.deepInclude(outcome.failure, { code: "connection", transient: true, tried })
        assert.deepInclude(told(outcome), { tried })
        assert.match(outcome.failure.detail, /The service could not be reached/)
      }).pipe(Effect.provide(real({ database: "down", api: "down", cache }))))
  }

  it.effect("B3 keeps what the sources said, and says how old it is when it is needed, for seven days", () =>
    Effect.gen(function*() {
      let isUp = true
      const { layer } = played({ facts: (name) => isUp ? Effect.succeed(findDrug(name)!) : Effect.fail(down) })
      yield* Effect.gen(function*() {
        assert.deepStrictEqual(source(yield* facts("aspirin")), fromApi)
        isUp = false
        yield* TestClock.adjust("2 hours")
        assert.strictEqual(source(yield* atOnce(facts("aspirin")))[1], "2h")
        yield* TestClock.adjust(Duration.subtract(Duration.days(7), Duration.hours(2)))
        // An answer from the cache is not kept as a new one.
        assert.strictEqual(source(yield* atOnce(facts("aspirin")))[1], "7d")
        yield* TestClock.adjust("1 millis")
        assert.strictEqual(failed(yield* atOnce(facts("aspirin"))).failure.code, "connection")
      }).pipe(Effect.provide(layer))
    }))

  it.effect("B3 takes the word of a source that answers: what the API does not know, the cache is not asked for", () =>
    Effect.gen(function*() {
      const { asked, layer } = played({ facts: () => Effect.fail(answered(404)), cache: "full" })
      const { failure } = failed(yield* facts("aspirin").pipe(Effect.provide(layer)))
      assert.deepInclude(failure, { _tag: "SemanticGarbage", code: "unknown_drug" })
      assert.deepStrictEqual(asked, ["0 database: aspirin", "0 api: aspirin"])
    }))

  it.effect("B3 has no cache for interactions: an old all-clear would be worse than none", () =>
    Effect.gen(function*() {
      let isUp = true
      const { layer } = played({
        interactions: (names) => isUp ? Effect.succeed(interactionsAmong(names)) : Effect.fail(down)
      })
      yield* Effect.gen(function*() {
        assert.deepStrictEqual(source(yield* together("aspirin", "warfarin")), fromApi)
        isUp = false
        assert.strictEqual(failed(yield* atOnce(together("aspirin", "warfarin"))).failure.code, "connection")
      }).pipe(Effect.provide(layer))
    }))
})

// -----------------------------------------------------------------------------
// B4 and B5
// -----------------------------------------------------------------------------

const wrong: ReadonlyArray<readonly [what: string, tool: string, args: object | string, detail: RegExp]> = [
  [
    "an id without its letter",
    "get_patient",
    { patientId: "1001" },
    /^'patientId': expected 'P-' and four digits, got "1001"\./
  ],
  [
    "an id with more behind it",
    "get_patient",
    { patientId: "P-1001' OR 1=1" },
    /^'patientId': expected 'P-' and four digits/
  ],
  ["no id", "get_patient", {}, /^'patientId': expected string matching \^P-\\d\{4\}\$, got nothing\./],
  ["a key that is none", "get_patient", { patient: "P-1001" }, /'patient': no such key\. Did you mean 'patientId'\?/],
  [
    "a name of nothing but blanks",
    "get_drug_facts",
    { name: "   " },
    /^'name': expected the name of one drug, 2 to 60 letters/
  ],
  ["a name that is too long", "get_drug_facts", { name: "a".repeat(61) }, /^'name': expected the name of one drug/],
  ["a name that is a path", "get_drug_facts", { name: "../patients" }, /^'name': expected the name of one drug/],
  ["a list in a name", "get_drug_facts", { name: "aspirin, warfarin" }, /^'name': expected the name of one drug/],
  ["a number for a name", "get_drug_facts", { name: 7 }, /^'name': expected the name of one drug/],
  ["one drug", "check_interactions", { drugs: ["aspirin"] }, /^'drugs': expected 2 drugs or more, got \["aspirin"\]\./],
  ["eleven drugs", "check_interactions", { drugs: [..."abcdefghijk"].map((x) => x.repeat(3)) }, /10 drugs at the most/],
  [
    "the same drug twice",
    "check_interactions",
    { drugs: ["aspirin", " Aspirin"] },
    /^'drugs': expected each drug once/
  ],
  [
    "a wrong drug among right ones",
    "check_interactions",
    { drugs: ["aspirin", "?"] },
    /^'drugs\.1': expected the name of/
  ]
]

describe("arguments", () => {
  for (const [what, tool, args, detail] of wrong) {
    it.effect(`B5 are checked field by field before anybody is asked: ${what}`, () =>
      Effect.gen(function*() {
        const { asked, layer } = played()
        const outcome = failed(yield* call(tool, args).pipe(Effect.provide(layer)))
        assert.deepInclude(outcome, { stage: "decode", attempts: 0 })
        assert.deepInclude(outcome.failure, { _tag: "SchemaMismatch", side: "arguments", code: "invalid_arguments" })
        assert.match(outcome.failure.detail, detail)
        assert.deepStrictEqual(asked, [])
      }))
  }

  it.effect("B5 that are wrong reach neither the real database nor the real API", () =>
    Effect.gen(function*() {
      // Whoever asks the one that is down would try three times.
      for (const [, tool, args] of wrong) assert.strictEqual((yield* call(tool, args)).attempts, 0)
      assert.deepStrictEqual(yield* asked, [])
    }).pipe(Effect.provide(real({ database: "down" }))))

  it.effect("B5 are trimmed and in lower case for whoever is asked", () =>
    Effect.gen(function*() {
      const { asked, layer } = played()
      yield* Effect.all([facts("  IbuProfen "), together(" Aspirin", "St John's wort ")]).pipe(Effect.provide(layer))
      assert.deepStrictEqual(asked, ["0 database: ibuprofen", "0 api: aspirin,st john's wort"])
    }))

  it.effect("B5 are shown to the model with their bounds", () =>
    Effect.sync(() => {
      const [patient, , check] = toolkit.definitions
      assert.deepNestedInclude(patient, { "parameters.properties.patientId.pattern": "^P-\\d{4}$" })
      assert.deepNestedInclude(check, {
        "parameters.properties.drugs.minItems": 2,
        "parameters.properties.drugs.maxItems": 10
      })
    }))

  it.effect("B4 that are no JSON come back with the reason and the place, and nobody is asked", () =>
    Effect.gen(function*() {
      const { asked, layer } = played()
      const { failure, stage } = failed(
        yield* call("get_patient", "{\"patientId\": P-1001}").pipe(Effect.provide(layer))
      )
      assert.deepInclude(failure, { _tag: "SchemaMismatch", side: "arguments", code: "invalid_json" })
      assert.match(failure.detail, /A text has no quotes, at offset 14 \(line 1, column 15\)/)
      assert.strictEqual(stage, "parse")
      assert.deepStrictEqual(asked, [])
    }))
})

// -----------------------------------------------------------------------------
// B7
// -----------------------------------------------------------------------------

const failing = <E>(failure: E) => () => Effect.fail(failure)
const unreadable = (code: string) =>
  failing(new SchemaMismatch({ side: "result", code, detail: "The result cannot be read." }))
const dying = () => Effect.die(new TypeError("x is not a function"))
const hanging = () => Effect.never
const check = together("aspirin", "warfarin")

const paths: ReadonlyArray<readonly [path: string, world: Partial<Played>, call: typeof check, end: string]> = [
  ["no such patient", {}, patient("P-1009"), "unknown_patient"],
  ["no permission", {}, patient("P-1004"), "permission_denied"],
  ["no weight", {}, patient("P-1003"), "incomplete_record"],
  ["a database that is gone", { patient: failing(down) }, patient("P-1001"), "connection"],
  ["a row that makes no sense", { patient: unreadable("invalid_result") }, patient("P-1001"), "invalid_result"],
  ["a defect", { patient: dying }, patient("P-1001"), "defect"],
  ["a drug in house", {}, facts("ibuprofen"), "from the internal database"],
  ["a drug that is not in house", {}, facts("aspirin"), "from the external API"],
  ["a drug that makes no sense", { drug: unreadable("invalid_result") }, facts("ibuprofen"), "from the external API"],
  ["a drug that nobody knows", { facts: failing(answered(404)) }, facts("ibuprofin"), "unknown_drug"],
  [
    "facts from an API that is out",
    { facts: failing(answered(503)), cache: "full" },
    facts("aspirin"),
    "from the cache"
  ],
  ["facts from an API that hangs", { facts: hanging, cache: "full" }, facts("aspirin"), "from the cache"],
  ["facts that are cut off", { facts: unreadable("truncated"), cache: "full" }, facts("aspirin"), "from the cache"],
  ["facts that nobody has", { facts: unreadable("truncated") }, facts("aspirin"), "truncated"],
  ["drugs of which one is not covered", {}, together("ginkgo", "warfarin"), "not_covered"],
  ["a check that hangs", { interactions: hanging }, check, "timeout"],
  ["a check that is cut off", { interactions: unreadable("truncated") }, check, "truncated"],
  ["a check that breaks a promise", { interactions: unreadable("invalid_result") }, check, "invalid_result"],
  ["a check without a connection", { interactions: failing(down) }, check, "connection"],
  ["a check that is answered 400", { interactions: failing(answered(400)) }, check, "rejected"],
  ["a check that is answered 401", { interactions: failing(answered(401)) }, check, "permission_denied"],
  ["a check that is answered 402", { interactions: failing(answered(402)) }, check, "quota_exhausted"],
  ["a check that is answered 403", { interactions: failing(answered(403)) }, check, "permission_denied"],
  ["a check that is answered 404", { interactions: failing(answered(404)) }, check, "not_found"],
  ["a check that is answered 408", { interactions: failing(answered(408)) }, check, "timeout"],
  ["a check that is answered 422", { interactions: failing(answered(422)) }, check, "invalid_arguments"],
  ["a check that is answered 429", { interactions: failing(answered(429)) }, check, "rate_limited"],
  ["a check that is answered 500", { interactions: failing(answered(500)) }, check, "server_error"]
]

describe("without a network", () => {
  for (const [path, world, call, end] of paths) {
    it.effect(`B7 the path is tested under a virtual clock: ${path}, ${end}`, () =>
      Effect.gen(function*() {
        const outcome = yield* passing(call).pipe(Effect.provide(played(world).layer))
        assert.strictEqual(outcome._tag === "Failed" ? outcome.failure.code : `from the ${source(outcome)[0]}`, end)
        // A defect is logged whole: here it is meant.
      }).pipe(Effect.provide(Logger.layer([]))))
  }
})

// -----------------------------------------------------------------------------
// The assistant
// -----------------------------------------------------------------------------

const agent = Agent.make({ toolkit })
const ask = (question: string, states?: States) =>
  Effect.map(atOnce(agent.run(question)), ({ text }) => text).pipe(Effect.provide([Planner.layer, real(states)]))

const mayTake = "Is it safe to give ibuprofen to patient P-1001?"
const record = "P-1001 is Ada Rowe, born 1954-03-02, 61 kg; takes warfarin and lisinopril; allergies: none known"
const facts400 = "ibuprofen: NSAID, usual dose 200 to 400 mg every 6 to 8 hours"
const unasked = "So: I cannot tell. Somebody has to look who sees what I could not."
const agreed = "So: not before a doctor or a pharmacist has agreed."

describe("the assistant", () => {
  it.effect("says what it found, and from where", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* ask(mayTake)).split("\n"), [
        `${record} (from the internal database).`,
        `${facts400} (from the internal database).`,
        "Interactions are known among ibuprofen, warfarin and lisinopril (from the external API).",
        "- ibuprofen with warfarin, major: bleeding is more likely.",
        "- ibuprofen with lisinopril, moderate: the blood pressure may rise.",
        agreed
      ])
    }))

  it.effect("says what it could not find out, and what it knows all the same", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* ask(mayTake, { api: "quota" })).split("\n").slice(2), [
        "The interactions could not be checked. The service answered 402: \"The requests of this month are used up.\"",
        "- By its facts alone, ibuprofen interacts with warfarin and lisinopril.",
        agreed
      ])
      assert.include(
        yield* ask(mayTake, { api: "truncated" }),
        "The interactions could not be checked. What came back cannot be read.\n"
      )
      assert.deepStrictEqual((yield* ask(mayTake, { database: "locked", api: "down" })).split("\n"), [
        "P-1001: The internal database is locked by somebody else.",
        `${facts400} (from cache, 3h old; the live service is unavailable).`,
        unasked
      ])
      assert.deepStrictEqual((yield* ask(mayTake, { database: "down", api: "down", cache: "stale" })).split("\n"), [
        "P-1001: The internal database could not be opened.",
        "ibuprofen: The service could not be reached: it refused the connection. " +
        "I tried the internal database (connection), then the external API (connection), then the cache (nothing known).",
        unasked
      ])
    }))

  it.effect("asks, and does not guess, when a drug or a patient is unknown", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* ask("Can P-1009 take ibuprofin?"),
        "P-1009: There is no patient P-1009.\nibuprofin: No source knows a drug called 'ibuprofin'. " +
          `Did you mean ibuprofen? I do not guess at drugs.\n${unasked}`
      )
      assert.match(yield* ask("Who is P-12?"), /^P-12: 'patientId': expected 'P-' and four digits, got "P-12"\./)
      assert.match(yield* ask("Hello?"), /^I can look up patients/)
    }))

  it.effect("goes on with a part of the data, and says which", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* ask("Can P-1003 take clarithromycin?")).split("\n"), [
        "P-1003 is Cleo Marsh, born 1971-06-30; takes simvastatin and ginkgo; allergies: none known. " +
        "The record has no weight.",
        "clarithromycin: macrolide antibiotic, usual dose 250 mg twice a day (from the external API).",
        "Interactions are known among clarithromycin and simvastatin. Nothing is known of ginkgo.",
        "- clarithromycin with simvastatin, major: muscle damage is more likely.",
        agreed
      ])
    }))

  it.effect("minds an allergy, and a record that is not for it", () =>
    Effect.gen(function*() {
      const allergic = yield* ask("Can P-1002 take amoxicillin?")
      assert.include(allergic, "- amoxicillin is a penicillin antibiotic: mind the allergy.")
      const denied = yield* ask("Can P-1004 take ibuprofen?")
      assert.match(
        denied,
        /^P-1004: The record of P-1004 needs the permission 'psychiatry', which this assistant does not/
      )
      assert.notInclude(denied, "Dan Silva")
    }))

  it.effect("has an answer whatever fails, and never calls anything safe", () =>
    Effect.gen(function*() {
      for (const database of Database.states) {
        for (const cache of Cache.states) {
          // These two take their time: they have tests of their own.
          for (const api of DrugServer.states.filter((api) => api !== "slow" && api !== "limited")) {
            const answer = yield* ask(mayTake, { database, api, cache })
            assert.match(answer, /\nSo: /)
            assert.notMatch(answer, /\bsafe\b|undefined|\[object/)
          }
        }
      }
    }), { tags: "slow" })
})

// -----------------------------------------------------------------------------
// The command
// -----------------------------------------------------------------------------

const clinical = (...args: ReadonlyArray<string>) => InProcess.run(program, ...args)

describe("the command", { tags: "slow" }, () => {
  it.live("shows a run without faults, step by step", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* clinical()
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.deepStrictEqual(withoutTimings(stdout).split("\n").slice(0, 14), [
        "A stand-in plays the model: a small planner in this process. No language model is asked.",
        "",
        `Question: ${mayTake}`,
        "",
        "turn 1",
        "  model  calls 2 tools  … ms",
        "  ok       get_patient {\"patientId\":\"P-1001\"}  … ms",
        "           note: from the internal database",
        "  ok       get_drug_facts {\"name\":\"ibuprofen\"}  … ms",
        "           note: from the internal database",
        "turn 2",
        "  model  calls 1 tool  … ms",
        "  ok       check_interactions {\"drugs\":[\"ibuprofen\",\"warfarin\",\"lisinopril\"]}  … ms",
        "           note: from the external API"
      ])
      assert.match(stdout, /^3 turns, 3 calls, 0 failures \(0 told to the model\)$/m)
    }))

  it.live("shows which source answered, how old it is, and what was retried", () =>
    Effect.gen(function*() {
      const { code, stdout } = yield* clinical("--database", "down", "--api", "down")
      assert.strictEqual(code, 0)
      assert.match(
        stdout,
        /^ {2}retry {4}get_drug_facts .* after attempt 2: The internal database could not be opened\. Again in \d+ ms\.$/m
      )
      assert.match(stdout, /^ {2}fallback get_drug_facts .*: The internal database could not be opened\.$/m)
      assert.match(
        stdout,
        /^ {2}retry {4}get_drug_facts .* after attempt 5: The service could not be reached: it refused the connection\. Again in/m
      )
      assert.match(stdout, /^ {11}note: from cache, 3h old; the live service is unavailable$/m)
      assert.match(stdout, /^ {2}failed {3}get_patient \{"patientId":"P-1001"\} {2}3 attempts {2}\d+ ms$/m)
    }))

  it.live("shows the sources that were tried when all have failed", () =>
    Effect.gen(function*() {
      const { code, stdout } = yield* clinical("--database", "locked", "--api", "garbage", "--cache", "empty")
      assert.strictEqual(code, 0)
      assert.match(
        stdout,
        /^ {11}ToolUnavailable, database_locked: The internal database is locked by somebody else\.$/m
      )
      assert.match(stdout, /^ {11}ToolUnavailable, invalid_json: .*got "<html>/m)
      assert.match(
        stdout,
        /^ {11}tried: internal database \(database_locked\), then external API \(invalid_json\), then cache \(nothing known\)$/m
      )
    }))

  it.live("runs the same way under the same seed, and another way under another", () =>
    Effect.gen(function*() {
      const flaky = (seed: string) => clinical("What is the dose of aspirin?", "--api", "flaky", "--seed", seed)
      const [first, again, other] = yield* Effect.all([flaky("5"), flaky("5"), flaky("7")], { concurrency: 3 })
      assert.strictEqual(withoutTimings(again.stdout), withoutTimings(first.stdout))
      assert.notStrictEqual(withoutTimings(other.stdout), withoutTimings(first.stdout))
      assert.strictEqual(
        first.stdout.match(/The service answered 503: "Back in a moment\." Again in \d+ ms\.$/gm)?.length,
        2
      )
      assert.strictEqual(other.stdout.match(/The connection to the service failed/g)?.length, 1)
    }))

  it.live("prints one JSON object a line with --json, the answer alone with --quiet", () =>
    Effect.gen(function*() {
      const [json, quiet] = yield* Effect.all([
        clinical("--json", "--api", "forbidden"),
        clinical("--quiet", "--api", "forbidden", "What is the dose of aspirin?")
      ], { concurrency: 2 })
      const events = json.stdout.trimEnd().split("\n").map((line): { readonly _tag: string } => JSON.parse(line))
      assert.deepInclude(events[0], { _tag: "RunStarted" })
      assert.deepInclude(events.at(-1), { _tag: "RunEnded" })
      assert.isTrue(events.some((event) => JSON.stringify(event).includes("\"code\":\"permission_denied\"")))
      assert.strictEqual(
        quiet.stdout,
        "aspirin: NSAID, usual dose 300 to 900 mg every 4 to 6 hours (from cache, 3h old; the live service is unavailable).\n"
      )
      assert.match(quiet.stderr, /stand-in/)
    }))

  it.live("refuses what it does not know with one clear line and exit code 1", () =>
    Effect.gen(function*() {
      const refused = [
        [["--api", "broken"], /flag --api: "broken"\. Expected: "up" \| "down" \| "slow" \| "flaky" \| "limited"/],
        [["--database", "gone"], /flag --database: "gone"\. Expected: "up" \| "locked" \| "down"/],
        [["--cache", "old"], /flag --cache: "old"\. Expected: "full" \| "stale" \| "empty"/],
        [["--bogus"], /Unrecognized flag: --bogus/],
        [[" "], /a question, such as "Do warfarin and aspirin interact\?"/]
      ] as const
      yield* Effect.forEach(refused, ([args, says]) =>
        Effect.map(clinical(...args), ({ code, stderr, stdout }) => {
          assert.deepStrictEqual([code, stdout, stderr.trim().split("\n").length], [1, "", 1])
          assert.match(stderr, says)
        }), { concurrency: 5 })
    }))

  it.live("asks a real model where there is one, and shows the same", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make(({ messages }) => Planner.reply(messages))
      const env = { OLLAMA_HOST: server.url }
      const { code, stderr, stdout } = yield* InProcess.runIn(env, program, "--quiet", "Can P-1002 take amoxicillin?")
      assert.deepStrictEqual([code, stderr], [0, "llama3.2 plays, in Ollama.\n"])
      assert.strictEqual(stdout.trimEnd(), yield* ask("Can P-1002 take amoxicillin?"))
    }).pipe(Effect.scoped))

  it.live("prints as a process what the program prints", () =>
    Effect.gen(function*() {
      const args = ["--api", "forbidden", "What is the dose of aspirin?"]
      const ran = yield* InProcess.sameAsProcess(program, {}, "examples/run.ts clinical", ...args)
      assert.deepInclude(ran, { code: 0, stderr: "" })
    }))

  it.live("ends as a process as the program does, with exit code 1", () =>
    Effect.gen(function*() {
      const refused = yield* InProcess.sameAsProcess(program, {}, "examples/run.ts clinical", "--api", "broken")
      assert.strictEqual(refused.code, 1)
    }))

  it.live("is found by a word of its name, and says what it can do", () =>
    Effect.gen(function*() {
      const [help, none, unknown] = yield* Effect.all([
        clinical("--help"),
        runNode("examples/run.ts"),
        runNode("examples/run.ts", "surgical")
      ], { concurrency: 3 })
      assert.strictEqual(help.code, 0)
      for (const flag of ["database", "api", "cache", "seed", "json", "quiet", "model"]) {
        assert.include(help.stdout, `--${flag}`)
      }
      for (const { code, stderr } of [none, unknown]) {
        assert.strictEqual(code, 1)
        assert.match(stderr, /^Which example\? .*: 01-multi-tool-agent, 02-clinical-assistant.*\n$/)
      }
    }))
})
