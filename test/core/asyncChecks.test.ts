/** Checks (`Tool.reconcile`) that are async functions. */
import { assert, describe, it } from "@effect/vitest"
import { type Policy, Tool, ToolCall } from "@fallible/core"
import { HttpStub } from "@fallible/testing"
import { Cause, Effect, Exit, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { deferred, refused } from "../support/asyncTools.ts"
import { lost } from "../support/reconciling.ts"

const definition = {
  description: "Pays",
  parameters: Schema.Struct({ order: Schema.String }),
  success: Schema.String
} as const

const order = { order: "7" }

/** A payment over HTTP whose answer is lost, and a check of it. */
const pays = (
  check: (params: typeof order, call: Policy.ReconcileCall) => Promise<string | undefined>,
  options?: Policy.ReconcileOptions
) =>
  Tool.promise("pay", definition, async ({ order }, { fetch }) => {
    const response = await fetch("https://bank.example/payments", { method: "POST", body: order })
    return await response.text()
  }).pipe(Tool.reconcile(check, options))

/** A bank that loses the answers to payments, and knows a payment from the given look on. */
const bank = (visibleFrom = 1) => {
  const seen: Array<string> = []
  let looks = 0
  const layer = HttpStub.layer(({ method, url }) => {
    seen.push(`${method} ${new URL(url).pathname}`)
    if (method === "POST" && url.endsWith("/payments")) return HttpStub.reset
    return ++looks < visibleFrom ? HttpStub.status(404) : HttpStub.json("receipt 1")
  })
  return { layer, seen }
}

const look = async ({ order }: { readonly order: string }, { fetch }: Policy.ReconcileCall) => {
  const response = await fetch(`https://bank.example/payments/${order}`)
  if (response.status === 404) return undefined
  if (!response.ok) throw response
  return await response.json() as string
}

describe("an async check", () => {
  it.effect("finds the effect with the fetch of its context", () =>
    Effect.gen(function*() {
      const { layer, seen } = bank()
      const outcome = yield* Tool.outcome(pays(look), order).pipe(Effect.provide(layer))
      assert.deepStrictEqual(outcome.exit, Exit.succeed("receipt 1"))
      assert.strictEqual(outcome.certainty, "executed")
      assert.deepStrictEqual(seen, ["POST /payments", "GET /payments/7"])
    }))

  it.effect("is repeated while it finds nothing, until it settles", () =>
    Effect.gen(function*() {
      const game = Effect.fnUntraced(function*(visibleFrom: number) {
        const { layer, seen } = bank(visibleFrom)
        const fiber = yield* Effect.forkChild(
          Tool.outcome(pays(look, { settle: "1 second" }), order).pipe(Effect.provide(layer))
        )
        while (fiber.pollUnsafe() === undefined) {
          yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
          yield* TestClock.adjust("100 millis")
        }
        const { certainty } = yield* Fiber.join(fiber)
        return [certainty, seen.length] as const
      })
      assert.deepStrictEqual(yield* game(3), ["executed", 4])
      const [certainty] = yield* game(Infinity)
      assert.strictEqual(certainty, "not_executed")
    }))

  it.effect("may send requests that act, which say nothing about the tool", () =>
    Effect.gen(function*() {
      const { layer } = bank()
      const tool = pays(async (_, { fetch }) => {
        await fetch("https://bank.example/query", { method: "POST" })
        return undefined
      }, { final: true })
      const { certainty, wire } = yield* Tool.outcome(tool, order).pipe(Effect.provide(layer))
      assert.strictEqual(certainty, "not_executed")
      assert.deepStrictEqual(wire?.map(({ url }) => url), ["https://bank.example/payments"])
    }))

  it.effect("has the key of the call, and the failure", () =>
    Effect.gen(function*() {
      const tool = Tool.make("pay", definition, () => Effect.fail(lost)).pipe(
        Tool.reconcile(async ({ order }, { failure, idempotencyKey }) => `${order}, ${failure.code}, ${idempotencyKey}`)
      )
      assert.strictEqual(yield* tool.run(order).pipe(ToolCall.withKey("key-7")), "7, connection, key-7")
    }))

  it.effect("leaves the doubt if it throws, and reports a failure", () =>
    Effect.gen(function*() {
      for (
        const [thrown, tag, code] of [
          [refused(), "ToolUnavailable", "connection"],
          [new Response("", { status: 503 }), "ToolUnavailable", "server_error"],
          [new Error("No such account."), "SemanticGarbage", "rejected"]
        ] as const
      ) {
        const tool = Tool.make("pay", definition, () => Effect.fail(lost)).pipe(
          Tool.reconcile(async (): Promise<string> => {
            throw thrown
          }, { final: true })
        )
        const { certainty, handled } = yield* Tool.outcome(tool, order)
        assert.strictEqual(certainty, "unknown")
        assert.deepStrictEqual(handled.map((entry) => [entry.tag, entry.code, entry.by]), [[tag, code, "reconcile"]])
      }
    }))

  it.effect("passes on a programming mistake as a defect", () =>
    Effect.gen(function*() {
      const bug = new TypeError("x is not a function")
      const tool = Tool.make("pay", definition, () => Effect.fail(lost)).pipe(
        Tool.reconcile(() => Promise.reject<string>(bug))
      )
      assert.deepStrictEqual(yield* Effect.exit(tool.run(order)), Exit.die(bug))
    }))

  it.effect("is not awaited after the deadline of the call, and its signal is aborted", () =>
    Effect.gen(function*() {
      const answer = deferred<string>()
      let signal: AbortSignal | undefined
      const tool = Tool.make("pay", definition, () => Effect.fail(lost)).pipe(
        Tool.reconcile((_, call) => {
          signal = call.signal
          return answer.promise
        }),
        Tool.deadline("5 seconds")
      )
      const fiber = yield* Effect.forkChild(Effect.exit(tool.run(order)))
      yield* TestClock.adjust("4999 millis")
      assert.deepStrictEqual([fiber.pollUnsafe(), signal?.aborted], [undefined, false])
      yield* TestClock.adjust("1 millis")
      const exit = yield* Fiber.join(fiber)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasFails(exit.cause))
      assert.strictEqual(signal?.aborted, true)
      answer.reject(new Error("aborted"))
    }))
})
