/**
 * What a model is told to do next never contradicts itself: `hint` and `retry`, in both renderings, of every failure that this library makes.
 *
 * Each failure goes through a dispatch and the budget of a run, for tools of every kind. What the model then reads, but for the detail, is
 * held against rules. A rule is a pair: what the text says, and what it may not say beside that.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  AgentBudget,
  CallFacts,
  Dispatch,
  Fixer,
  PartialData,
  Policy,
  Rendering,
  SchemaMismatch,
  SemanticGarbage,
  type SideEffect,
  Tool,
  ToolFailure,
  ToolHealth,
  Toolkit,
  type ToolOutcome,
  ToolUnavailable
} from "@fallible/core"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import * as HttpFailure from "@fallible/core/HttpFailure"
import { Duration, Effect, Fiber, Layer, Schema } from "effect"
import { HttpClientError, HttpClientRequest, HttpClientResponse } from "effect/http"
import * as Breaker from "effect/persistence/CircuitBreaker"
import { TestClock } from "effect/testing"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { shapes } from "../support/errorShapes.ts"
import { root } from "../support/program.ts"
import { custom } from "../support/sequence.ts"
import { runTurn } from "../support/turn.ts"

// -----------------------------------------------------------------------------
// The rules
// -----------------------------------------------------------------------------

const says = {
  again: /(?<!not )\bcall (it|\w+) again\b|\bcall again\b|Send the complete arguments again|Arguments that continue/i,
  elsewhere: /\bCall [\w ]+ instead\b|\buse another (one|tool)\b/i,
  check: /to find out|Find out whether it has|tell the user/,
  otherArguments: /Use other arguments|Call again with (different|corrected)|Valid choices/,
  isGone: /Do not call this tool again/,
  notNow: /Do not call it again (now|within)/,
  notTheSame: /Do not repeat this call/,
  isDone: /it has already taken effect/,
  isInDoubt: /\bmay already have taken effect|may have taken effect all the same/i,
  noMoreCalls: /Answer with what you have|Use what it has returned/,
  inVain: /would refuse the same request again|now or later/
}

type Saying = keyof typeof says

/** Whoever says the first never says the second. */
const rules: ReadonlyArray<readonly [Saying, Saying]> = [
  ["isGone", "again"],
  ["isGone", "otherArguments"],
  ["notNow", "again"],
  ["notNow", "otherArguments"],
  ["isDone", "again"],
  ["isDone", "elsewhere"],
  ["isDone", "check"],
  ["isInDoubt", "again"],
  ["isInDoubt", "elsewhere"],
  ["isInDoubt", "otherArguments"],
  ["noMoreCalls", "again"],
  ["noMoreCalls", "elsewhere"],
  ["noMoreCalls", "otherArguments"],
  ["inVain", "notNow"]
]

const saysOf = (text: string): ReadonlySet<Saying> =>
  new Set((Object.keys(says) as ReadonlyArray<Saying>).filter((saying) => says[saying].test(text)))

/** What is wrong with what a model is told of a failure. */
const broken = (text: string, failure: ToolFailure.ToolFailure, certainty: string): ReadonlyArray<string> => {
  const said = saysOf(text)
  const isPermanent = failure._tag === "ToolUnavailable" && !failure.transient
  const isOfArguments = isPermanent && failure.scope === "arguments"
  return [
    ...rules.flatMap(([one, other]) => said.has(one) && said.has(other) ? [`${one}, and ${other}`] : []),
    ...(said.has("isGone") && (!isPermanent || isOfArguments) ? ["isGone, of a tool that is not"] : []),
    ...(isOfArguments && !said.has("notTheSame") ? ["nothing of these arguments"] : []),
    ...(certainty === "unknown" && !said.has("isInDoubt") && !said.has("isDone") ? ["nothing of the doubt"] : []),
    ...(/Do not|Use the data|once the earlier call is settled/.test(text) ? [] : ["nothing of what to do"])
  ]
}

// -----------------------------------------------------------------------------
// What the model reads
// -----------------------------------------------------------------------------

const call = { id: "1", name: "subject" }

/** Both renderings, without the detail, which is the author's. */
const readBy = (outcome: ToolOutcome.Failed): ReadonlyArray<string> => {
  const quiet = Object.create(Object.getPrototypeOf(outcome.failure), {
    ...Object.getOwnPropertyDescriptors(outcome.failure),
    detail: { value: "", enumerable: true }
  })
  const told = { ...outcome, failure: quiet }
  const { alternatives, hint = "", next, retry } = JSON.parse(Rendering.json(told, call))
  const json = [
    hint,
    alternatives === undefined || hint !== "" ? "" : "Valid choices:",
    next === undefined ? "" : "Arguments that continue:",
    retry
  ]
  return [json.join(" "), Rendering.prose(told, call)]
}

const contradictions = (outcomes: ReadonlyArray<ToolOutcome.ToolOutcome>): ReadonlyArray<string> =>
  outcomes.flatMap((outcome) =>
    outcome._tag === "Failed"
      ? readBy(outcome).flatMap((text) =>
        broken(text, outcome.failure, outcome.certainty).map((why) => `${outcome.failure.code}: ${why}: ${text}`)
      )
      : []
  )

// -----------------------------------------------------------------------------
// The failures
// -----------------------------------------------------------------------------

const parameters = Schema.Struct({ city: Schema.String, limit: Schema.optionalKey(Schema.Int) })
const paris = JSON.stringify({ city: "Paris" })

const other = (name: string) =>
  Tool.make(name, { description: name, success: Schema.String, sideEffect: "none" }, () => Effect.succeed(name))

/** Tools of every kind, by what the toolkit knows besides. */
const kinds = (["none", "idempotent", "non_idempotent"] as const).flatMap((sideEffect) =>
  [false, true].flatMap((hasOthers) => [{ sideEffect, hasOthers }])
)

interface Kind {
  readonly sideEffect: SideEffect.SideEffect
  readonly hasOthers: boolean
}

const subject = <E extends ToolFailure.ToolFailure<string>>(
  handler: () => Effect.Effect<string, E>,
  { hasOthers, sideEffect }: Kind
) =>
  Tool.make("subject", {
    description: "",
    parameters,
    success: Schema.String,
    sideEffect,
    ...(hasOthers ? { instead: ["mirror"], check: "look" } : {})
  }, handler)

const toolkit = <T extends Tool.Any>(tool: T) => Toolkit.make(tool, other("mirror"), other("look"))

/** Calls it until the run refuses it, and once more. */
const called = Effect.fnUntraced(function*<T extends Tool.Any>(tool: T, text = paris) {
  const outcomes: Array<ToolOutcome.ToolOutcome> = []
  let facts = CallFacts.empty
  for (let number = 0; number < 5; number++) {
    const outcome = yield* Dispatch.call(toolkit(tool), { ...call, arguments: text }, {
      facts
    })
    outcomes.push(outcome)
    facts = CallFacts.ended(facts, outcome, tool)
  }
  return outcomes
})

const detail = "No."
const isFailure = (u: ToolFailure.ToolFailure<string>): ToolFailure.ToolFailure<string> => u

const attempted = <A>(look: () => A): A | undefined => {
  try {
    return look()
  } catch {
    return undefined
  }
}

/** What a handler may fail with, which our own modules make or document. */
const failures: ReadonlyArray<ToolFailure.ToolFailure<string>> = [
  ...[300, 304, 400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 422, 429, 451, 499, 500, 501, 503, 505].flatMap((
    status
  ) =>
    ["GET", "POST"].map((method) =>
      HttpFailure.fromStatus(status, { method, message: "No.", retryAfter: "30 seconds" })
    )
  ),
  ...shapes.flatMap(({ error }) => attempted(() => ToolFailure.from(error())) ?? []),
  ...["empty_result", "unknown_entity"].flatMap((code) => [
    new SemanticGarbage({ code, detail }),
    new SemanticGarbage({ code, detail, alternatives: ["London"] })
  ]),
  ...["truncated", "invariant_broken"].map((code) => new SchemaMismatch({ side: "result", code, detail })),
  new SchemaMismatch({ side: "arguments", code: "invalid_arguments", detail, alternatives: ["London"] }),
  new PartialData({ code: "more_pages", detail, data: "sunny" }),
  new PartialData({ code: "more_pages", detail, data: "sunny", next: { page: 2 } }),
  ...["bulkhead_full", "throttled", "limiter_unavailable", "breaker_unavailable"].map((code) =>
    new ToolUnavailable({ code, detail, transient: true, outcome: "not_executed" })
  ),
  ...[true, false].flatMap((transient) =>
    ([undefined, "executed", "not_executed", "unknown"] as const).flatMap((outcome) =>
      ([undefined, "arguments", "tool"] as const).flatMap((scope) =>
        [undefined, Duration.seconds(30)].map((retryAfter) =>
          new ToolUnavailable({
            code: "connection",
            detail,
            transient,
            ...(outcome === undefined ? {} : { outcome }),
            ...(scope === undefined ? {} : { scope }),
            ...(retryAfter === undefined ? {} : { retryAfter })
          })
        )
      )
    )
  )
].map(isFailure)

/** What HTTP fails with before there is a status. */
const transport = Effect.forEach(
  ["GET", "POST"] as const,
  (method) => {
    const request = HttpClientRequest.make(method)("https://orders.example")
    const response = HttpClientResponse.fromWeb(request, new Response("{"))
    const fault = (code: string, syscall?: string) =>
      new HttpClientError.TransportError({ request, cause: Object.assign(new Error(), { code, syscall }) })
    const reasons = [
      fault("ECONNREFUSED"),
      fault("ECONNRESET", "read"),
      fault("ETIMEDOUT", "connect"),
      fault("CERT_HAS_EXPIRED"),
      new HttpClientError.InvalidUrlError({ request }),
      new HttpClientError.EncodeError({ request }),
      new HttpClientError.EmptyBodyError({ request, response }),
      new HttpClientError.DecodeError({ request, response })
    ]
    return Effect.forEach(reasons, (reason) => HttpFailure.fromError(new HttpClientError.HttpClientError({ reason })))
  }
).pipe(Effect.map((failures) => failures.flat()))

/** What dispatch, a run's limits and the policies make themselves. */
const made = Effect.fnUntraced(function*(kind: Kind) {
  const outcomes: Array<ToolOutcome.ToolOutcome> = []
  const add = (more: ReadonlyArray<ToolOutcome.ToolOutcome>) => Effect.sync(() => outcomes.push(...more))
  const refused = new ToolUnavailable({ code: "connection", detail, transient: true, outcome: "not_executed" })
  const lost = new ToolUnavailable({ code: "connection", detail, transient: true, outcome: "unknown" })
  const failing = (failure: ToolFailure.ToolFailure<string>) => subject(() => Effect.fail(failure), kind)
  const fine = subject(() => Effect.succeed("sunny"), kind)

  // Dispatch.
  yield* add([yield* Dispatch.call(toolkit(fine), { id: "1", name: "subjekt" })])
  yield* add([yield* Dispatch.call(Toolkit.make(), { id: "1", name: "subject" })])
  for (const text of ["{\"city\":", "{\"citi\":\"Paris\"}", "[]"]) yield* add(yield* called(fine, text))
  yield* add(yield* called(subject(() => Effect.die("broken"), kind)))
  const ill: unknown = 7
  yield* add(yield* called(subject(() => Effect.succeed(ill as string), kind)))
  yield* add(yield* heldBack)

  // A run's limits.
  const budget = AgentBudget.make({ calls: 1, consecutive: 1 })
  for (const [number, inARow] of [[2, 1], [1, 2]] as const) {
    const refusal = AgentBudget.refusal(budget, number, { ...CallFacts.empty, last: "subject", inARow })
    yield* add([
      yield* Dispatch.call(toolkit(fine), { ...call, arguments: paris }, {
        facts: CallFacts.empty,
        refusal
      })
    ])
  }

  // Health, and a breaker.
  yield* Effect.gen(function*() {
    const health = yield* ToolHealth.ToolHealth
    const guarded = failing(refused).pipe(CircuitBreaker.protect())
    yield* add(yield* called(guarded))
    yield* health.disable("subject", "It is being moved.")
    yield* add(yield* called(guarded))
  }).pipe(Effect.provide(Layer.merge(
    Breaker.layer({ tripPolicy: Breaker.consecutive(2), openDuration: "30 seconds" }).pipe(
      Layer.provide(Breaker.layerStoreMemory())
    ),
    ToolHealth.layer
  )))

  // Policies.
  const hanging = subject(() => Effect.never, kind).pipe(Tool.timeout("1 second"))
  const fiber = yield* Effect.forkChild(called(hanging), { startImmediately: true })
  for (let turn = 0; turn < 5; turn++) yield* TestClock.adjust("1 second")
  yield* add(yield* Fiber.join(fiber))
  yield* add(
    yield* called(failing(lost).pipe(Tool.reconcile(() => Effect.succeedNone, { final: true })))
  )
  yield* add(
    yield* called(failing(lost).pipe(Tool.reconcile(() => Effect.fail(refused), { final: true })))
  )
  yield* add(yield* called(failing(refused).pipe(Tool.fallback(() => Effect.fail(lost)))))
  yield* add(
    yield* called(
      failing(HttpFailure.fromStatus(403)).pipe(Tool.fallback(() => Effect.fail(HttpFailure.fromStatus(401))))
    )
  )
  for (const failure of [refused, lost, new SemanticGarbage({ code: "empty_result", detail })]) {
    yield* add(yield* called(failing(failure).pipe(Tool.with(custom((run) => Effect.catch(run, () => run))))))
  }
  yield* add(
    yield* called(fine.pipe(Tool.with(custom((run) => Effect.flatMap(run, () => run)))))
  )
  yield* add(yield* called(fine.pipe(Tool.with(outside))))
  for (const hint of [undefined, "Ask the user for it."]) {
    const escalating = fine.pipe(
      Tool.fix(() =>
        Fixer.escalate({
          detail,
          severity: "high",
          arguments: { city: "Paris" },
          ...(hint === undefined ? {} : { hint })
        })
      )
    )
    yield* add(yield* called(escalating, "{\"citi\":1}"))
  }
  const escalation = { id: "1", name: "escalate", arguments: JSON.stringify({ detail }) }
  yield* add([yield* Dispatch.call(Toolkit.make(...Fixer.tools), escalation)])
  return outcomes
})

/** A call after one that stops the run. */
const heldBack = Effect.suspend(() => {
  const stop = Tool.make("stop", { description: "", success: Schema.Never }, () => Fixer.throwException("Stop."))
  return runTurn(Toolkit.make(stop), [{ id: "1", name: "stop" }, { id: "2", name: "stop" }])
})

/** A policy that leaves the fiber of the call. */
const outside = Policy.make<never, ToolUnavailable>({
  kind: "custom",
  name: "outside",
  description: "outside",
  wrap: <A, E extends ToolFailure.ToolFailure, R>(run: Policy.Run<A, E, R>) => (params: unknown) =>
    Effect.flatMap(
      Effect.promise(() => Effect.runPromiseExit(run(params) as Effect.Effect<A, E>)),
      (exit) => exit
    )
})

/** What no model is told: it is handled where it is made. */
const untold = ["fixer_failed", "asked_user", "too_long"]

/** The codes that this library documents. */
const documented = (): ReadonlyArray<string> => {
  const source = readFileSync(join(root, "packages/core/src/ToolFailure.ts"), "utf8")
  const [, union = ""] = /export type Code =\n((?: {2}\| "\w+"\n)+)/.exec(source) ?? []
  return Array.from(union.matchAll(/"(\w+)"/g), ([, code = ""]) => code)
}

// -----------------------------------------------------------------------------
// The tests
// -----------------------------------------------------------------------------

describe("what a model is told to do next", () => {
  const told = Effect.gen(function*() {
    const all: Array<ToolOutcome.ToolOutcome> = []
    for (const kind of kinds) {
      for (const failure of [...failures, ...(yield* transport)]) {
        all.push(...yield* called(subject(() => Effect.fail(failure), kind)))
      }
      all.push(...yield* made(kind))
    }
    return all
  })

  it.effect("H8 never contradicts itself, whatever failed", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(Array.from(new Set(contradictions(yield* told))), [])
    }))

  it.effect("is looked at for every code that there is", () =>
    Effect.gen(function*() {
      const codes = new Set((yield* told).flatMap((outcome) => outcome._tag === "Failed" ? [outcome.failure.code] : []))
      assert.deepStrictEqual(documented().filter((code) => !codes.has(code)), untold)
      assert.isTrue(codes.has("not_run"))
    }))

  // Two failures of one call, of which the last one's words stand.
  it.effect("does not go elsewhere after an earlier execution that may have taken effect", () =>
    Effect.gen(function*() {
      const lost = new ToolUnavailable({ code: "timeout", detail, transient: true, outcome: "unknown" })
      const refused = new ToolUnavailable({ code: "connection", detail, transient: true, outcome: "not_executed" })
      const steps = [lost, refused, refused]
      let step = 0
      const tool = subject(
        () => Effect.suspend(() => Effect.fail(steps[step++] ?? refused)),
        { sideEffect: "idempotent", hasOthers: true }
      )
      const outcomes = yield* called(tool)
      const hints = outcomes.map((outcome) => outcome._tag === "Failed" ? outcome.failure.hint : outcome._tag)
      assert.deepStrictEqual(hints, [
        "Call look to find out.",
        "Call mirror instead.",
        "Call mirror instead.",
        "Call look to find out.",
        "Call look to find out."
      ])
      assert.deepStrictEqual(contradictions(outcomes), [])
    }))

  describe("breaks a rule", () => {
    const gone = "Do not call this tool again. Use another one, or answer without it."
    const now = "Already tried 3 times. Do not call it again now; use another tool, or answer without it."
    const doubt =
      "Do not repeat this call: it may already have taken effect. Find out whether it has, or tell the user."
    const done = "Do not repeat this call: it has already taken effect."
    const cases: ReadonlyArray<readonly [text: string, rule: string]> = [
      [`Call it again with a smaller 'limit'. ${gone}`, "isGone, and again"],
      [`Send the complete arguments again, as one JSON object. ${gone}`, "isGone, and again"],
      [`Valid choices: 'London'. ${gone}`, "isGone, and otherArguments"],
      [`Call again with page=2. ${now}`, "notNow, and again"],
      [`Use other arguments. ${now}`, "notNow, and otherArguments"],
      [`Arguments that continue: {"page":2}. ${done}`, "isDone, and again"],
      [`Call mirror instead. ${done}`, "isDone, and elsewhere"],
      [`Call look to find out. ${done}`, "isDone, and check"],
      [`Arguments that continue: {"page":2}. ${doubt}`, "isInDoubt, and again"],
      [`Call mirror or archive instead. ${doubt}`, "isInDoubt, and elsewhere"],
      [`Valid choices: 'London'. ${doubt}`, "isInDoubt, and otherArguments"],
      ["Use what it has returned. Call it again once the earlier call is settled.", "noMoreCalls, and again"],
      ["Answer with what you have. Call mirror instead. Do not call it again now.", "noMoreCalls, and elsewhere"],
      ["Answer with what you have. Use other arguments.", "noMoreCalls, and otherArguments"],
      [`The service would refuse the same request again. ${now}`, "inVain, and notNow"]
    ]
    for (const [text, rule] of cases) {
      it(`when it says "${text}"`, () => {
        const failure = new ToolUnavailable({ code: "connection", detail, transient: false })
        assert.include(broken(text, failure, "not_executed"), rule)
      })
    }

    it("for each rule there is a text that breaks it", () => {
      const known = new Set(cases.map(([, rule]) => rule))
      assert.deepStrictEqual(rules.map(([one, other]) => `${one}, and ${other}`).filter((rule) => !known.has(rule)), [])
    })

    it("when it says of a record, or of a pause, that the tool is gone", () => {
      const record = new ToolUnavailable({ code: "permission_denied", detail, transient: false, scope: "arguments" })
      const pause = new ToolUnavailable({ code: "rate_limited", detail, transient: true })
      assert.include(broken(gone, record, "not_executed"), "isGone, of a tool that is not")
      assert.include(broken(gone, pause, "not_executed"), "isGone, of a tool that is not")
      assert.include(broken(now, record, "not_executed"), "nothing of these arguments")
    })

    it("when it says nothing of a doubt, or nothing at all", () => {
      const failure = new ToolUnavailable({ code: "connection", detail, transient: true })
      assert.include(broken(now, failure, "unknown"), "nothing of the doubt")
      assert.include(broken("Try.", failure, "not_executed"), "nothing of what to do")
    })
  })
})
