/** Policies that run several calls in the fibers of one of them: each call keeps its own record, and is refused by name. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  Dispatch,
  Policy,
  RetryPolicy,
  Tool,
  ToolCall,
  type ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import type * as SideEffect from "@fallible/core/SideEffect"
import { ScriptedModel } from "@fallible/testing"
import { Deferred, Effect, Fiber, Logger, Queue, Schema, SchemaTransformation } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { runs } from "../support/runs.ts"
import { passing } from "../support/virtualTime.ts"

type Failure = ToolFailure.ToolFailure

const Order = Schema.Struct({ order: Schema.String })

/** Parameters that the handler receives as a text. */
const OrderText = Order.pipe(Schema.decodeTo(
  Schema.String,
  SchemaTransformation.transform({ decode: ({ order }) => order, encode: (order) => ({ order }) })
))

const instances = new Map<string, OrderClass>()
class OrderClass extends Schema.Class<OrderClass>("Order")({ order: Schema.String }) {
  /** The one instance for an order. */
  static of(order: string): OrderClass {
    const instance = instances.get(order) ?? new OrderClass({ order })
    instances.set(order, instance)
    return instance
  }
}

/** Parameters that the handler receives as an object which equal calls share. */
const SharedOrder = Order.pipe(Schema.decodeTo(
  Schema.instanceOf(OrderClass),
  SchemaTransformation.transform({ decode: ({ order }) => OrderClass.of(order), encode: ({ order }) => ({ order }) })
))

const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })

const busy = new ToolUnavailable({ code: "busy", detail: "Busy.", transient: false, outcome: "not_executed" })

const payingWith = <P>(parameters: Schema.Codec<P, unknown>, orderOf: (params: P) => string) =>
(
  sideEffect: SideEffect.SideEffect,
  takes = 0,
  isLost = false
) => {
  const paid: Array<string> = []
  const pay = Tool.make(
    "pay",
    { description: "", parameters, success: Schema.String, sideEffect, identity: orderOf },
    (params) =>
      Effect.gen(function*() {
        const { idempotencyKey } = yield* ToolCall.current
        if (takes > 0) yield* Effect.sleep(takes)
        paid.push(`${orderOf(params)} ${idempotencyKey}`)
        if (isLost) return yield* lost
        return `paid ${orderOf(params)}`
      })
  )
  return {
    pay,
    paid,
    through: (policy: ReturnType<typeof oneAtATime>) => {
      const toolkit = Toolkit.make(Tool.with(pay, policy))
      return (order: string, idempotencyKey: string) =>
        Dispatch.call(toolkit, { id: idempotencyKey, name: "pay", arguments: JSON.stringify({ order }) }, {
          idempotencyKey
        })
    }
  }
}

const paying = payingWith(Order, ({ order }) => order)

/** The payment tool, with parameters of several shapes. */
const shapes = {
  fields: paying,
  text: payingWith(OrderText, (order) => order),
  shared: payingWith(SharedOrder, ({ order }) => order)
}

/** One payment at a time: the first call starts a worker, which runs the payments of all calls. */
const oneAtATime = (isThunk: boolean) =>
  Policy.make({
    kind: "custom",
    name: "one at a time",
    description: "one at a time",
    wrap: <A, E extends Failure, R>(run: Policy.Run<A, E, R>) => {
      let queue: Queue.Queue<Effect.Effect<boolean, never, R>> | undefined
      return (params: unknown) =>
        Effect.gen(function*() {
          if (queue === undefined) {
            const jobs = queue = yield* Queue.unbounded<Effect.Effect<boolean, never, R>>()
            yield* Effect.forkDetach(Effect.forever(Effect.flatten(Queue.take(jobs))))
          }
          const end = yield* Deferred.make<A, E>()
          const job = isThunk ? Effect.suspend(() => run(params)) : run(params)
          yield* Queue.offer(queue, Deferred.into(job, end))
          return yield* Deferred.await(end)
        })
    }
  })

/** Collects the calls of a moment, and runs them in the fiber of the first. */
const batchOf = (hand: (params: unknown) => unknown) =>
  Policy.make({
    kind: "custom",
    name: "batching",
    description: "batching",
    terms: {},
    wrap: <A, E extends Failure, R>(run: Policy.Run<A, E, R>) => {
      let batch: Array<{ readonly params: unknown; readonly end: Deferred.Deferred<A, E> }> | undefined
      return (params: unknown) =>
        Effect.gen(function*() {
          const end = yield* Deferred.make<A, E>()
          if (batch !== undefined) {
            batch.push({ params, end })
            return yield* Deferred.await(end)
          }
          const jobs = batch = [{ params, end }]
          yield* Effect.sleep(10)
          batch = undefined
          for (const { end, params } of jobs) yield* Deferred.into(run(hand(params)), end)
          return yield* Deferred.await(end)
        })
    }
  })

const batching = batchOf((params) => params)

/** A batch that hands on other objects than it got. */
const copying = batchOf((params) =>
  typeof params === "string" || params instanceof OrderClass ? params : { ...Object(params) }
)

const calling = (toolkit: Toolkit.Toolkit<Tool.Tool<"pay", typeof Order.Type, string, Failure>>, order: string) =>
  Dispatch.call(toolkit, { id: order, name: "pay", arguments: JSON.stringify({ order }) }, { idempotencyKey: order })

const told = ({ _tag, certainty, ...rest }: Effect.Success<ReturnType<typeof calling>>) =>
  `${_tag} ${certainty}${"failure" in rest ? ` ${rest.failure.code} ${rest.failure.outcome}` : ""}`

const outside = "Failed not_executed outside_call not_executed"

describe("a worker that several calls share", () => {
  for (const sideEffect of ["non_idempotent", "idempotent_by_key", "idempotent"] as const) {
    for (const isThunk of [true, false]) {
      it.effect(`refuses the calls of others (${sideEffect}, ${isThunk ? "thunks" : "runs"})`, () =>
        Effect.gen(function*() {
          const { paid, pay } = paying(sideEffect, 10)
          const toolkit = Toolkit.make(Tool.with(pay, oneAtATime(isThunk)))
          const outcomes = yield* passing(
            Effect.all(["A", "B", "C"].map((order) => calling(toolkit, order)), { concurrency: 3 })
          )
          assert.deepStrictEqual(outcomes.map(told), ["Completed executed", outside, outside])
          assert.deepStrictEqual(paid, ["A A"])
          // Nor do later ones.
          assert.strictEqual(told(yield* passing(calling(toolkit, "D"))), outside)
          assert.deepStrictEqual(paid, ["A A"])
        }))
    }

    it.effect(`refuses the calls of others in a batch (${sideEffect})`, () =>
      Effect.gen(function*() {
        const { paid, pay } = paying(sideEffect)
        const toolkit = Toolkit.make(Tool.with(pay, batching))
        const outcomes = yield* passing(
          Effect.all(["A", "B", "C"].map((order) => calling(toolkit, order)), { concurrency: 3 })
        )
        assert.deepStrictEqual(outcomes.map(told), ["Completed executed", outside, outside])
        assert.deepStrictEqual(paid, ["A A"])
        const [first] = outcomes
        assert.deepInclude(first, { attempts: 1, handled: [] })
      }))
  }

  it.effect("refuses the call of a later turn", () =>
    Effect.gen(function*() {
      const { paid, pay } = paying("non_idempotent")
      const agent = Agent.make({ toolkit: Toolkit.make(Tool.with(pay, oneAtATime(true))) })
      const answer = yield* passing(
        agent.run("?").pipe(Effect.provide(ScriptedModel.layer([
          ScriptedModel.call("pay", { order: "A" }),
          ScriptedModel.call("pay", { order: "B" }),
          ScriptedModel.text("End.")
        ])))
      )
      assert.lengthOf(paid, 1)
      assert.deepStrictEqual(
        Array.from(answer.transcript).flatMap((message) =>
          message.role === "tool" ? [/"error":"\w+","code":"(\w+)"/.exec(message.text)?.[1]] : []
        ),
        [undefined, "outside_call"]
      )
    }))

  it.effect("refuses the inner runs of other calls", () =>
    Effect.gen(function*() {
      const { paid, pay } = paying("idempotent_by_key")
      const queued = Tool.with(pay, oneAtATime(true))
      const outer = Tool.make(
        "pay",
        { description: "", parameters: Order, success: Schema.String, sideEffect: "none" },
        (order) => queued.run(order)
      )
      const toolkit = Toolkit.make(outer)
      const outcomes = yield* passing(Effect.forEach(["A", "B"], (order) => calling(toolkit, order)))
      assert.deepStrictEqual(
        outcomes.map(({ certainty }) => certainty),
        ["executed", "not_executed"]
      )
      assert.lengthOf(paid, 1)
    }))

  it.effect("lets a read-only tool run, and counts it for its own call", () =>
    Effect.gen(function*() {
      const { paid, pay } = paying("none")
      const toolkit = Toolkit.make(Tool.with(pay, batching))
      const outcomes = yield* passing(
        Effect.all(["A", "B"].map((order) => calling(toolkit, order)), { concurrency: 2 })
      )
      assert.deepStrictEqual(outcomes.map(({ _tag, attempts }) => `${_tag} ${attempts}`), [
        "Completed 1",
        "Completed 1"
      ])
      assert.lengthOf(paid, 2)
    }))

  it.effect("records what a read-only tool ran inside for its own call", () =>
    Effect.gen(function*() {
      const { paid, pay } = paying("non_idempotent")
      const look = Tool.make(
        "pay",
        { description: "", parameters: Order, success: Schema.String, sideEffect: "none" },
        (order) => order.order === "A" ? Effect.succeed("nothing to pay") : pay.run(order)
      )
      const toolkit = Toolkit.make(Tool.with(look, batching))
      const outcomes = yield* passing(
        Effect.all(["A", "B"].map((order) => calling(toolkit, order)), { concurrency: 2 })
      )
      assert.deepStrictEqual(outcomes.map(told), ["Completed not_executed", "Completed executed"])
      assert.lengthOf(paid, 1)
    }))

  it.effect("lets a policy run its own call in as many fibers as it likes", () =>
    Effect.gen(function*() {
      const { paid, pay } = paying("idempotent", 5)
      // Somebody else's fiber lets it go on.
      const waiting: Array<() => void> = []
      const released = <A, E, R>(run: Effect.Effect<A, E, R>) =>
        Effect.callback<A, E, R>((resume) => {
          waiting.push(() => resume(run))
        })
      const racing = Policy.make({
        kind: "custom",
        name: "racing",
        description: "racing",
        wrap: (run) => (params) =>
          Effect.gen(function*() {
            const one = yield* Effect.forkChild(released(run(params)))
            const other = yield* Effect.forkDetach(run(params))
            yield* Effect.yieldNow
            for (const release of waiting.splice(0)) release()
            yield* Fiber.join(other)
            return yield* Fiber.join(one)
          })
      })
      const toolkit = Toolkit.make(Tool.with(pay, racing))
      const one = { order: "A" }
      const outcomes = yield* passing(Effect.all([calling(toolkit, "A"), calling(toolkit, "B")], { concurrency: 2 }))
      assert.deepStrictEqual(outcomes.map(({ _tag }) => _tag), ["Completed", "Completed"])
      assert.lengthOf(paid, 4)
      // Calls with one object as their arguments are different calls.
      const again = Tool.with(pay, racing)
      yield* passing(Effect.all([again.run(one), again.run(one), again.run(one)], { concurrency: 3 }))
      assert.lengthOf(paid, 10)
    }))

  it(`pays for each call under its own key, and tells each its own effects, in ${runs(2_000)} random crowds`, () =>
    fc.assert(
      fc.asyncProperty(
        fc.record({
          sideEffect: fc.constantFrom<SideEffect.SideEffect>("non_idempotent", "idempotent_by_key", "idempotent"),
          shape: fc.constantFrom<keyof typeof shapes>("fields", "text", "shared"),
          policy: fc.constantFrom(batching, copying, undefined, null),
          orders: fc.array(fc.record({ start: fc.nat(20), order: fc.nat(3) }), { minLength: 1, maxLength: 4 }),
          takes: fc.nat(15),
          isLost: fc.boolean()
        }),
        async ({ isLost, orders, policy, shape, sideEffect, takes }) => {
          const { paid, through } = shapes[shape](sideEffect, takes, isLost)
          const call = through(policy ?? oneAtATime(policy === null))
          const outcomes = await Effect.runPromise(
            passing(Effect.all(
              orders.map(({ order, start }, index) => Effect.delay(call(`${order}`, `${index}`), start)),
              { concurrency: "unbounded" }
            )).pipe(Effect.provide(TestClock.layer()), Effect.provide(Logger.layer([])))
          )
          const own = orders.map(({ order }, index) => `${order} ${index}`)
          for (const payment of paid) assert.include(own, payment)
          assert.strictEqual(new Set(paid).size, paid.length)
          outcomes.forEach((outcome, index) => {
            const hasPaid = paid.includes(own[index] ?? "")
            assert.strictEqual(outcome.certainty, hasPaid ? isLost ? "unknown" : "executed" : "not_executed")
            if (!hasPaid) assert.strictEqual(told(outcome), outside)
          })
        }
      ),
      { numRuns: runs(2_000) }
    ))

  it.effect("does not run again what another call is running, under a retry outside", () =>
    Effect.gen(function*() {
      const sent: Array<string> = []
      const pay = Tool.make(
        "pay",
        {
          description: "",
          parameters: OrderText,
          success: Schema.String,
          sideEffect: "idempotent_by_key",
          identity: (order) => order
        },
        (order) =>
          Effect.flatMap(ToolCall.current, ({ idempotencyKey }) =>
            Effect.suspend(() => {
              sent.push(`${order} ${idempotencyKey}`)
              return sent.length === 1
                ? Effect.fail(busy)
                : sent.length === 2
                ? Effect.fail(lost)
                : Effect.succeed("paid")
            }))
      ).pipe(Tool.with(batching), Tool.retry(RetryPolicy.transient))
      const toolkit = Toolkit.make(pay)
      const call = (order: string) =>
        Dispatch.call(toolkit, { id: order, name: "pay", arguments: JSON.stringify({ order }) }, {
          idempotencyKey: order
        })
      const outcomes = yield* passing(Effect.all([call("7"), call("8")], { concurrency: 2 }))
      assert.deepStrictEqual(outcomes.map(told), ["Failed not_executed busy not_executed", outside])
      assert.deepStrictEqual(sent, ["7 7"])
    }))
})
