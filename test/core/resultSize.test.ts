/** The parameter that asks for less, as a tool's definition declares it. */
import { assert, describe, it } from "@effect/vitest"
import { Dispatch, Guard, Tool, Toolkit, ToolUnavailable } from "@fallible/core"
import * as Rendering from "@fallible/core/Rendering"
import type * as SideEffect from "@fallible/core/SideEffect"
import { Effect, Schema } from "effect"
import { base, call, one, outcomeOf, told } from "../support/orders.ts"
import { passing } from "../support/virtualTime.ts"

describe("size", () => {
  const short = Schema.Struct({ orders: Schema.Array(Schema.String) })
  const body = "{\"orders\":[\"7\",\"8"
  const cut = (words: { readonly size?: "limit" }, sideEffect: SideEffect.SideEffect = "none") =>
    Tool.make(
      "search_orders",
      { ...base, sideEffect, success: short, ...words },
      () => Effect.succeed(body).pipe(Guard.json(short))
    )
  const hanging = (words: { readonly size?: "limit"; readonly instead?: ReadonlyArray<string> }) =>
    Tool.make("search_orders", { ...base, ...words }, () => Effect.never).pipe(Tool.timeout("5 seconds"))
  const mirror = Tool.make("mirror", base, () => Effect.succeed(one))

  it.effect("tells the model which parameter asks for less after a cut-off result", () =>
    Effect.gen(function*() {
      assert.deepInclude(yield* told(cut({ size: "limit" })), {
        code: "truncated",
        hint: "Call it again with a smaller 'limit'.",
        retry:
          "Do not repeat this call with the same arguments: its result was cut off. Ask for less, or tell the user what is missing."
      })
    }))

  it.effect("tells it the same after a timeout, in a hint and a retry that agree", () =>
    Effect.gen(function*() {
      const { failure, ...outcome } = yield* passing(Effect.map(outcomeOf(hanging({ size: "limit" })), (outcome) =>
        outcome._tag === "Failed" ? outcome : assert.fail(outcome._tag)))
      const hint = "Call it again with a smaller 'limit'."
      const retry = "Already tried once. Do not repeat this call with the same arguments."
      assert.deepInclude(JSON.parse(Rendering.json({ ...outcome, failure }, call())), { code: "timeout", hint, retry })
      assert.strictEqual(
        Rendering.prose({ ...outcome, failure }, call()),
        `search_orders failed (timeout): search_orders did not answer within 5s. ${hint} ${retry}`
      )
    }))

  it.effect("is not guessed from a parameter's name", () =>
    Effect.gen(function*() {
      const read = yield* passing(told(hanging({})))
      assert.notProperty(read, "hint")
      assert.strictEqual(
        read.retry,
        "Already tried once. Do not call it again now; use another tool, or answer without it."
      )
      assert.notProperty(yield* told(cut({})), "hint")
    }))

  it.effect("is shown beside an alternative tool", () =>
    Effect.gen(function*() {
      const tool = hanging({ size: "limit", instead: ["mirror"] })
      const outcome = yield* passing(Dispatch.call(Toolkit.make(tool, mirror), call()))
      assert.deepInclude(JSON.parse(Rendering.json(outcome, call())), {
        hint: "Call it again with a smaller 'limit', or call mirror instead."
      })
    }))

  it.effect("is not mentioned for a tool that acts or was not run", () =>
    Effect.gen(function*() {
      assert.notInclude(JSON.stringify(yield* told(cut({ size: "limit" }, "non_idempotent"))), "smaller")
      const late = yield* passing(told(hanging({ size: "limit" }).pipe(Tool.timeout("1 millis"), Tool.concurrency(1))))
      assert.include(late.hint, "smaller")
      const refused = Tool.make("search_orders", { ...base, size: "limit" }, () =>
        Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })))
      assert.notInclude(JSON.stringify(yield* told(refused)), "smaller")
    }))
})
