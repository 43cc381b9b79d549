/*
 * Every failure that this library makes, as outcomes of calls: for tools with each side effect, with and without
 * alternative tools.
 */
import {
  Dispatch,
  Fixer,
  PartialData,
  Policy,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import * as HttpFailure from "@fallible/core/HttpFailure"
import type * as SideEffect from "@fallible/core/SideEffect"
import * as ToolHealth from "@fallible/core/ToolHealth"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Duration, Effect, Fiber, Layer, Schema } from "effect"
import { HttpClientError, HttpClientRequest, HttpClientResponse } from "effect/http"
import * as Breaker from "effect/persistence/CircuitBreaker"
import { TestClock } from "effect/testing"
import { makeBudget, refuseCall } from "../../packages/core/src/internal/agent/budget.ts"
import * as DispatchFailure from "../../packages/core/src/internal/arguments/dispatchFailure.ts"
import { performCall } from "../../packages/core/src/internal/dispatch/performCall.ts"
import { recordCall } from "../../packages/core/src/internal/dispatch/recordCalls.ts"
import { shapes } from "./errorShapes.ts"
import { custom } from "./sequence.ts"
import { runTurn } from "./turn.ts"

export const call = { id: "1", name: "subject" }

const parameters = Schema.Struct({ city: Schema.String, limit: Schema.optionalKey(Schema.Int) })
const paris = JSON.stringify({ city: "Paris" })

const other = (name: string) =>
  Tool.make(name, { description: name, success: Schema.String, sideEffect: "none" }, () => Effect.succeed(name))

/** Every kind of tool: each side effect, with and without other tools in the toolkit. */
const kinds = (["none", "idempotent", "non_idempotent"] as const).flatMap((sideEffect) =>
  [false, true].flatMap((hasOthers) => [{ sideEffect, hasOthers }])
)

export interface Kind {
  readonly sideEffect: SideEffect.SideEffect
  readonly hasOthers: boolean
}

export const subject = <E extends ToolFailure.ToolFailure<string>>(
  handler: () => Effect.Effect<string, E>,
  { hasOthers, sideEffect }: Kind
) =>
  Tool.make("subject", {
    description: "",
    parameters,
    success: Schema.String,
    onMismatch: "refuse",
    sideEffect,
    ...(hasOthers ? { instead: ["mirror"], check: "look" } : {})
  }, handler)

const [mirror, look] = [other("mirror"), other("look")]

const toolkit = <T extends Tool.Any>(tool: T) => Toolkit.make(tool, mirror, look)

/** Calls a tool five times in one run, which refuses it in the end. */
export const called = Effect.fnUntraced(function*<T extends Tool.Any>(tool: T, text = paris) {
  const outcomes: Array<ToolOutcome.ToolOutcome> = []
  const tools = toolkit(tool)
  let facts = CallFacts.empty
  for (let number = 0; number < 5; number++) {
    const outcome = yield* Dispatch.call(tools, { ...call, arguments: text }, { facts })
    outcomes.push(outcome)
    facts = recordCall(facts, outcome, tool)
  }
  const reworded = yield* Dispatch.call(tools, { ...call, arguments: text.replace("Paris", "Rome") }, { facts })
  return [...outcomes, reworded]
})

export const detail = "No."
const isFailure = (u: ToolFailure.ToolFailure<string>): ToolFailure.ToolFailure<string> => u

const attempted = <A>(look: () => A): A | undefined => {
  try {
    return look()
  } catch {
    return undefined
  }
}

/** Failures of handlers that our own modules make or document. */
const failures: ReadonlyArray<ToolFailure.ToolFailure<string>> = [
  ...[300, 304, 400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 422, 429, 451, 499, 500, 501, 503, 505].flatMap((
    status
  ) =>
    ["GET", "POST"].map((method) =>
      HttpFailure.fromStatus(status, { method, message: "No.", retryAfter: "30 seconds" })
    )
  ),
  ...shapes.flatMap(({ error }) => attempted(() => ToolFailure.from(error())) ?? []),
  ...["reported_failure", "unknown_result", "unknown_path", "client_failed"].map((code) =>
    new SemanticGarbage({ code, detail })
  ),
  new ToolUnavailable({ code: "not_asked", detail, transient: false, scope: "tool", outcome: "not_executed" }),
  new ToolUnavailable({ code: "unspecified", detail, transient: false }),
  ...["empty_result", "unknown_entity"].flatMap((code) => [
    new SemanticGarbage({ code, detail }),
    new SemanticGarbage({ code, detail, alternatives: ["London"] }),
    new SemanticGarbage({ code, detail, alternatives: ["London"], askUser: true })
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

/** HTTP failures without a status. */
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

/** Failures that dispatch, a run's limits and the policies make. */
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

  // What asks to wait for a moment.
  for (const code of ["busy", "not_visible"]) {
    const later = new ToolUnavailable({ code, detail, transient: true, retryAfter: Duration.seconds(2) })
    yield* add(yield* called(failing(later)))
  }

  // A run's limits.
  const budget = makeBudget({ calls: 1, callsPerTool: 1, consecutive: 2 })
  const refusals = [
    refuseCall(budget, { tool: "subject", number: 2, ofTool: 1, inARow: 1 }),
    refuseCall(budget, { tool: "subject", number: 1, ofTool: 2, inARow: 1 }),
    refuseCall(budget, { tool: "subject", number: 1, ofTool: 1, inARow: 3 }),
    DispatchFailure.loopDetected(),
    DispatchFailure.withdrawn("subject"),
    DispatchFailure.noIdentity("subject"),
    DispatchFailure.alreadyDone("\"done\""),
    DispatchFailure.alreadyDone("\"done\"", {}),
    DispatchFailure.alreadyDone(undefined, { reason: "Once is enough." }),
    DispatchFailure.notApproved(undefined),
    DispatchFailure.notApproved("Too much.", true)
  ]
  for (const refusal of refusals) {
    yield* add([
      yield* performCall(toolkit(fine), { ...call, arguments: paris }, {
        facts: CallFacts.empty,
        refusal
      })
    ])
  }

  // Health and circuit breakers.
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
  yield* add(yield* called(fine.pipe(Tool.reconcile(() => Effect.fail(refused), { lookFirst: true }))))
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

/** Outcomes of a turn whose first call stops the run. */
const heldBack = Effect.suspend(() => {
  const stop = Tool.make("stop", { description: "", success: Schema.Never }, () => Fixer.throwException("Stop."))
  return runTurn(Toolkit.make(stop), [{ id: "1", name: "stop" }, { id: "2", name: "stop" }])
})

/** A policy that runs the tool outside the fiber of the call. */
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

/**
 * The outcomes of all failures of tools, dispatch, a run's limits and our policies, repeated until the run refuses. They
 * are plain data and take seconds to make, so all tests of a worker share them.
 */
export const failedOutcomes = Effect.suspend(() => shared)

const everyOutcome = Effect.gen(function*() {
  const all: Array<ToolOutcome.ToolOutcome> = []
  for (const kind of kinds) {
    for (const failure of [...failures, ...(yield* transport)]) {
      all.push(...yield* called(subject(() => Effect.fail(failure), kind)))
    }
    all.push(...yield* made(kind))
  }
  return all
})

const shared = Effect.runSync(Effect.cached(everyOutcome))
