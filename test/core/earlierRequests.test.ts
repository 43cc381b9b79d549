/** A handler may send several requests. The error of the last one proves nothing about the earlier ones. */
import { assert, describe, it } from "@effect/vitest"
import {
  Dispatch,
  Observer,
  RetryPolicy,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolCall,
  ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import { Effect, Fiber, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import { acting, failureIn, reading, refused } from "../support/asyncTools.ts"
import { macrotask } from "../support/virtualTime.ts"

type Quoted = SchemaMismatch | SemanticGarbage | ToolUnavailable

/** Runs a tool directly, in a promise, and returns its failure. */
const accountOf = async <E extends ToolFailure.ToolFailure>(tool: Tool.Tool<string, {}, string, E>) =>
  failureIn((await Effect.runPromise(Tool.outcome(tool, {}))).exit)
const outcomeOf = async <E extends ToolFailure.ToolFailure>(tool: Tool.Tool<string, {}, string, E>) => {
  const outcome = await Effect.runPromise(Dispatch.call(Toolkit.make(tool), { id: "1", name: tool.name }))
  return outcome._tag === "Failed" ? outcome.failure : assert.fail(outcome._tag)
}

describe("an error of one request proves nothing about earlier ones", () => {
  const notExecuted = () =>
    new ToolUnavailable({ code: "busy", detail: "Busy.", transient: true, outcome: "not_executed" })

  for (
    const [what, definition, thrown, runs, certainty] of [
      ["a tool that acts is not run again after a refused connection", acting, refused, 1, "unknown"],
      ["nor after a 429", acting, () => Object.assign(new Error(), { status: 429 }), 1, "unknown"],
      ["one that refuses first is", { ...acting, refusesFirst: true }, refused, 3, "not_executed"],
      ["an idempotent one is, and stays in doubt", { ...acting, sideEffect: "idempotent" }, refused, 3, "unknown"],
      ["one that says itself that it did nothing is", acting, notExecuted, 3, "not_executed"]
    ] as const
  ) {
    it.effect(what, () =>
      Effect.gen(function*() {
        let ran = 0
        const tool = Tool.promise("pay", definition, async () => {
          ran++
          throw thrown()
        }).pipe(Tool.retry(RetryPolicy.transient))
        const fiber = yield* Effect.forkChild(Tool.outcome(tool, {}))
        for (let turn = 0; turn < 5; turn++) {
          yield* macrotask
          yield* TestClock.adjust("1 minute")
        }
        assert.strictEqual((yield* Fiber.join(fiber)).certainty, certainty)
        assert.strictEqual(ran, runs)
      }))
  }

  it.effect("nor after a copy of such a failure", () =>
    Effect.gen(function*() {
      const copies: ReadonlyArray<(failure: ToolUnavailable) => ToolUnavailable> = [
        (failure) => new ToolUnavailable({ ...failure, detail: `Payment: ${failure.detail}` }),
        (failure) => Object.assign(Object.create(ToolUnavailable.prototype), failure),
        (failure) => Schema.decodeSync(ToolUnavailable.schema)(Schema.encodeSync(ToolUnavailable.schema)(failure))
      ]
      for (const copy of copies) {
        let paid = 0
        const pay = Tool.promise("pay", acting, async () => {
          paid++
          const failure = ToolFailure.from(refused())
          throw failure._tag === "ToolUnavailable" ? copy(failure) : failure
        }).pipe(Tool.retry(RetryPolicy.transient))
        assert.strictEqual((yield* Tool.outcome(pay, {})).certainty, "unknown")
        assert.strictEqual(paid, 1)
      }
    }))

  it.effect("nor does an answer that came after a redirect", () =>
    Effect.gen(function*() {
      for (const status of [404, 409, 422]) {
        const pay = Tool.promise("pay", acting, async () => {
          throw Object.assign(new Error(), { status, redirected: true })
        })
        assert.strictEqual((yield* Tool.outcome(pay, {})).certainty, "unknown", String(status))
      }
    }))

  it.effect("but an inner tool's failure in an earlier attempt has no bearing on this one", () =>
    Effect.gen(function*() {
      const ended: Array<unknown> = []
      const look = Tool.make("look", reading, () => Effect.fail(notExecuted()))
      let attempts = 0
      const pay = Tool.make(
        "pay",
        { ...acting, sideEffect: "idempotent" },
        () => Effect.andThen(++attempts === 1 ? Effect.exit(look.run({})) : Effect.void, Effect.fail(notExecuted()))
      ).pipe(
        Tool.retry(Schedule.recurs(1))
      )
      yield* Tool.outcome(pay, {}).pipe(Observer.observe({
        onEvent: (event) => {
          if (event._tag === "AttemptEnded" && event.tool === "pay") {
            ended.push(event.effects)
          }
        }
      }))
      assert.deepStrictEqual(ended, ["maybe", "none"])
    }))

  it.effect("nor does a rejection of another tool's arguments, out of a promise, let a fixer correct this tool's", () =>
    Effect.gen(function*() {
      let asked = 0
      const inner = Tool.make(
        "inner",
        reading,
        () => Effect.fail(new SchemaMismatch({ side: "arguments", code: "invalid_arguments", detail: "Wrong." }))
      )
      const outer = Tool.promise("outer", reading, () => Effect.runPromise(inner.run({}))).pipe(Tool.fix(() => {
        asked++
        return {}
      }))
      yield* Effect.exit(outer.run({}))
      assert.strictEqual(asked, 0)
    }))

  describe("nor does the failure of an inner tool", () => {
    const busy = Tool.make("look", reading, () => Effect.fail(notExecuted()))
    const rejecting = Tool.make(
      "look",
      reading,
      () => Effect.fail(new SchemaMismatch({ side: "arguments", code: "invalid_arguments", detail: "No such order." }))
    )
    const copied = (failure: ToolFailure.ToolFailure) =>
      failure._tag === "SchemaMismatch"
        ? new SchemaMismatch({ ...failure, detail: "Copied." })
        : new ToolUnavailable({ ...failure as ToolUnavailable, detail: "Copied." })

    const thrown = (failure: () => Promise<unknown>): Effect.Effect<string, Quoted> =>
      Effect.tryPromise({ try: async () => Promise.reject(await failure()), catch: ToolFailure.from })
    const dispatched = <E extends Quoted>(inner: Tool.Tool<"look", {}, string, E>): Effect.Effect<string, Quoted> =>
      Effect.flatMap(
        Dispatch.call(Toolkit.make(inner), { id: "1", name: "look" }),
        (outcome) =>
          outcome._tag === "Failed" && outcome.failure._tag !== "PartialData"
            ? Effect.fail(outcome.failure)
            : Effect.die("It did not fail.")
      )
    const ways = <E extends Quoted>(
      inner: Tool.Tool<"look", {}, string, E>
    ): ReadonlyArray<readonly [how: string, run: Effect.Effect<string, Quoted>]> => [
      ["in an Effect", inner.run({})],
      ["in an Effect, as a copy", Effect.mapError(inner.run({}), copied)],
      ["as an exit", Effect.flatten(Effect.exit(inner.run({})))],
      ["as an account", Effect.flatMap(Tool.outcome(inner, {}), ({ exit }) => exit)],
      ["as an outcome", dispatched(inner)],
      ["as an outcome, as a copy", Effect.mapError(dispatched(inner), copied)],
      ["out of a promise", Effect.tryPromise({ try: () => Effect.runPromise(inner.run({})), catch: ToolFailure.from })],
      ["as an account, out of a promise", thrown(() => accountOf(inner))],
      ["as an outcome, out of a promise", thrown(() => outcomeOf(inner))]
    ]
    for (
      const [what, quoted, expected] of [
        ["did nothing", ways(busy), "unknown"],
        ["rejects its arguments", ways(rejecting), "unknown"]
      ] as const
    ) {
      for (const [how, run] of quoted) {
        it.effect(`that it ${what}, ${how}`, () =>
          Effect.gen(function*() {
            let paid = 0
            const pay = Tool.make("pay", { ...acting, parameters: Schema.Struct({ order: Schema.String }) }, () =>
              Effect.suspend(() => {
                paid++
                return run
              })).pipe(Tool.retry(RetryPolicy.transient), Tool.fix(() => ({ order: "8" })))
            const { certainty } = yield* Tool.outcome(pay, { order: "7" })
            assert.strictEqual(paid, 1)
            assert.strictEqual(certainty, expected)
          }))
      }
    }

    it.effect("unless the tool refuses before it does anything", () =>
      Effect.gen(function*() {
        let asked = 0
        const pay = Tool.make("pay", { ...acting, refusesFirst: true }, () =>
          Effect.suspend(() => {
            asked++
            return busy.run({})
          })).pipe(Tool.retry(RetryPolicy.transient))
        const fiber = yield* Effect.forkChild(Tool.outcome(pay, {}))
        yield* TestClock.adjust("1 minute")
        assert.strictEqual((yield* Fiber.join(fiber)).certainty, "not_executed")
        assert.strictEqual(asked, 3)
      }))
  })

  describe("nor does a tool that acted in a promise and refuses its own result:", () => {
    const charge = Tool.promise("charge", { ...acting, empty: "There is no receipt." }, async () => "")
    const charged = () => Effect.runPromise(Effect.flip(charge.run({})))
    const closed = { code: "closed", detail: "Closed." }
    const look = Tool.make("look", reading, () => Effect.fail(new SemanticGarbage({ code: "unknown", detail: "No." })))
    const viaPromise = <E extends Quoted>(tool: Tool.Tool<string, {}, string, E>) =>
      Effect.tryPromise({ try: () => Effect.runPromise(tool.run({})), catch: ToolFailure.from })

    for (
      const [how, failure] of [
        ["as it is", charged],
        ["as an account", () => accountOf(charge)],
        ["as an outcome", () => outcomeOf(charge)],
        ["as a cause", async () => new Error("Not paid.", { cause: await charged() })],
        ["as a cause of one of the four", async () => new SemanticGarbage({ ...closed, cause: await charged() })],
        [
          "as a cause of one that says otherwise",
          async () =>
            new ToolUnavailable({ ...closed, transient: true, outcome: "not_executed", cause: await charged() })
        ],
        ["as an exit below", async () => new Error("Closed.", { cause: await Effect.runPromiseExit(charge.run({})) })],
        ["in an aggregate", async () => new AggregateError([await charged()])]
      ] as const
    ) {
      it.effect(how, () =>
        Effect.gen(function*() {
          const pay = Tool.promise("pay", acting, async () => Promise.reject(await failure()))
          // What the inner tool did is certain. What the handler did besides is so only by its author's word.
          const certainty = how.startsWith("as a cause of one") ? "executed" : "unknown"
          assert.strictEqual((yield* Tool.outcome(pay, {})).certainty, certainty)
        }))
    }

    it.live("unless it acted in an earlier call", () =>
      Effect.gen(function*() {
        let last: unknown
        const busy = Tool.make("look", reading, () => Effect.fail(notExecuted()))
        const pay = Tool.promise("pay", acting, async () => {
          const cause = last
          last ??= await charged()
          await Effect.runPromise(Effect.exit(busy.run({})))
          throw cause === undefined ? last : new Error("It is closed for now.", { cause })
        })
        const effects: Array<unknown> = []
        const onEvent: NonNullable<Observer.Observer["onEvent"]> = (event) => {
          if (event._tag === "AttemptEnded" && event.tool === "pay") effects.push(event.effects)
        }
        for (const _ of [1, 2]) yield* Observer.observe(Tool.outcome(pay, {}), { onEvent })
        assert.deepStrictEqual(effects, ["done_and_maybe", "maybe"])
      }))

    it.effect("beside one that has not", () =>
      Effect.gen(function*() {
        const pay = Tool.make("pay", acting, () => Effect.race(viaPromise(look), viaPromise(charge)))
        assert.strictEqual((yield* Tool.outcome(pay, {})).certainty, "unknown")
      }))

    it.effect("in a fallback", () =>
      Effect.gen(function*() {
        const pay = Tool.make("pay", acting, () => Effect.fail(notExecuted()))
        for (const fallback of [() => viaPromise(charge), () => charge.run({})]) {
          assert.strictEqual((yield* Tool.outcome(pay.pipe(Tool.fallback(fallback)), {})).certainty, "executed")
        }
      }))
  })

  it.live("nor does a fallback's error of one request, nor one that another tool ended with before", () =>
    Effect.gen(function*() {
      const charge = Tool.promise("charge", { ...acting, empty: "There is no receipt." }, async () => "")
      const charged = yield* Effect.flip(charge.run({}))
      const busy = Tool.make("look", reading, () => Effect.fail(notExecuted()))
      const pay = Tool.make("pay", acting, () => Effect.fail(notExecuted()))
      const limited = Effect.tryPromise({
        try: () => Promise.reject(Object.assign(new Error(), { status: 429 })),
        catch: ToolFailure.from
      })
      const again = Effect.andThen(
        Effect.promise(() => Effect.runPromise(Effect.exit(busy.run({})))),
        Effect.fail(charged)
      )
      for (const [fallback, certainty] of [[limited, "unknown"], [again, "not_executed"]] as const) {
        assert.strictEqual((yield* Tool.outcome(pay.pipe(Tool.fallback(() => fallback)), {})).certainty, certainty)
      }
    }))

  it.effect("but a fallback that calls another tool proves as much as that tool", () =>
    Effect.gen(function*() {
      const pay = Tool.make("pay", acting, () => Effect.fail(notExecuted()))
      for (const sideEffect of ["none", "non_idempotent"] as const) {
        const mirror = Tool.make("mirror", { ...reading, sideEffect }, () => Effect.fail(notExecuted()))
        const viaPromise = () =>
          Effect.tryPromise({ try: () => Effect.runPromise(mirror.run({})), catch: ToolFailure.from })
        for (const fallback of [() => mirror.run({}), viaPromise]) {
          assert.strictEqual((yield* Tool.outcome(pay.pipe(Tool.fallback(fallback)), {})).certainty, "not_executed")
        }
      }
    }))

  it.effect("a stop takes precedence over all", () =>
    Effect.gen(function*() {
      const tool = Tool.promise("pay", acting, () => Effect.runPromise(ToolCall.stop("Enough.")))
      const outcome = yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "pay" })
      assert.strictEqual(outcome._tag, "Stopped")
    }))

  it.effect("and this applies to a failure that was converted by hand, and to one of another tool", () =>
    Effect.gen(function*() {
      let paid = 0
      const notify = Tool.promise("notify", { ...acting, refusesFirst: true }, async () => {
        throw refused()
      })
      const failing: ReadonlyArray<() => Promise<string>> = [
        async () => {
          throw ToolFailure.from(refused())
        },
        () => Effect.runPromise(notify.run({})),
        async () => {
          throw new Error("Not done.", { cause: ToolFailure.from(refused()) })
        }
      ]
      for (const fail of failing) {
        const pay = Tool.promise("pay", acting, () => {
          paid++
          return fail()
        }).pipe(Tool.retry(RetryPolicy.transient))
        const { certainty } = yield* Tool.outcome(pay, {})
        assert.strictEqual(certainty, "unknown")
      }
      assert.strictEqual(paid, failing.length)
    }))

  it.effect("every copy of an outcome keeps this, for a journal and for later decisions", () =>
    Effect.gen(function*() {
      const pay = (refusesFirst: boolean) =>
        Tool.promise("pay", { ...acting, refusesFirst }, async () => {
          throw refused()
        })
      for (const [tool, expected] of [[pay(true), "not_executed"], [pay(false), "unknown"]] as const) {
        const outcome = yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "pay" })
        const failure = outcome._tag === "Failed" ? outcome.failure : assert.fail(outcome._tag)
        assert.strictEqual(outcome.certainty, expected)
        assert.strictEqual(JSON.parse(JSON.stringify(failure)).outcome, expected)
      }
    }))

  it.effect("a failure may be frozen, and shared by several calls", () =>
    Effect.gen(function*() {
      const constant = Object.freeze(new ToolUnavailable({ code: "closed", detail: "Closed.", transient: true }))
      const pay = Tool.make("pay", acting, () => Effect.fail(constant))
      const outcome = yield* Dispatch.call(Toolkit.make(pay), { id: "1", name: "pay" })
      assert.strictEqual(outcome.certainty, "unknown")
      assert.isUndefined(constant.outcome)
    }))

  it.effect("the same applies in a handler that returns an Effect", () =>
    Effect.gen(function*() {
      let paid = 0
      const pay = async () => {
        paid++
        throw Object.assign(new Error(), { status: 429 })
      }
      const handler = () => Effect.tryPromise({ try: pay, catch: ToolFailure.from })
      const { certainty } = yield* Tool.outcome(
        Tool.make("pay", acting, handler).pipe(Tool.retry(RetryPolicy.transient)),
        {}
      )
      assert.strictEqual(certainty, "unknown")
      assert.strictEqual(paid, 1)
    }))

  it.effect("a 422 is no reason to run the tool again with other arguments", () =>
    Effect.gen(function*() {
      let ran = 0
      const tool = Tool.promise("pay", { ...acting, parameters: Schema.Struct({ order: Schema.String }) }, async () => {
        ran++
        throw Object.assign(new Error(), { status: 422 })
      }).pipe(Tool.fix(() => ({ order: "another" })))
      assert.strictEqual((yield* Effect.flip(tool.run({ order: "7" }))).code, "invalid_arguments")
      assert.strictEqual(ran, 1)
    }))
})
