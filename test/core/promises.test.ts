/** Tools whose handlers are async functions. */
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import {
  Dispatch,
  Observer,
  Policy,
  RetryPolicy,
  type SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolCall,
  ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import { Cause, Effect, Exit, Fiber, Logger, Schema } from "effect"
import { TestClock } from "effect/testing"
import { acting, type deferred, failureIn, reading, refused, slow } from "../support/asyncTools.ts"
import { macrotask } from "../support/virtualTime.ts"

/** Passes any value, as a program without types may. */
const untyped = (value: unknown) => value as never

const defectOf = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.map(
    Effect.exit(effect),
    (exit) =>
      Exit.isFailure(exit) && Cause.hasDies(exit.cause) ? String(Cause.squash(exit.cause)) : assert.fail("no defect")
  )

describe("an async handler", () => {
  it.effect("returns the result of its promise", () =>
    Effect.gen(function*() {
      const add = Tool.promise("add", {
        description: "Adds",
        parameters: Schema.Struct({ a: Schema.Finite, b: Schema.Finite }),
        success: Schema.Finite,
        sideEffect: "none"
      }, async ({ a, b }) => a + b)
      expectTypeOf(add.run).returns.toEqualTypeOf<
        Effect.Effect<number, SchemaMismatch | SemanticGarbage | ToolUnavailable>
      >()
      assert.strictEqual(yield* add.run({ a: 1, b: 2 }), 3)
    }))

  it.effect("may return at once, without a promise", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* Tool.promise("now", reading, () => "noon").run({}), "noon")
    }))

  it.effect("gets a key that is the same for each attempt, and the attempt's number", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const tool = Tool.promise("get", reading, async (_, { attempt, idempotencyKey }) => {
        seen.push(`${idempotencyKey} ${attempt}`)
        if (attempt < 3) throw refused()
        return "there"
      }).pipe(Tool.retry(RetryPolicy.transient))
      const fiber = yield* Effect.forkChild(tool.run({}).pipe(ToolCall.withKey("k")))
      yield* TestClock.adjust("1 minute")
      yield* macrotask
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* Fiber.join(fiber), "there")
      assert.deepStrictEqual(seen, ["k 1", "k 2", "k 3"])
    }))

  it.effect("may pass a copy of its context on", () =>
    Effect.gen(function*() {
      const pay = Tool.promise("pay", acting, async (_, { signal, ...rest }) => {
        const { fetch, idempotencyKey, refuse } = { ...rest }
        return `${signal.aborted} ${idempotencyKey} ${typeof fetch.withKey} ${typeof refuse}`
      })
      assert.strictEqual(yield* pay.run({}).pipe(ToolCall.withKey("k")), "false k function function")
    }))

  it.effect("that throws at once is like one that rejects", () =>
    Effect.gen(function*() {
      const tool = Tool.promise("get", reading, (): Promise<string> => {
        throw refused()
      })
      assert.strictEqual((yield* Effect.flip(tool.run({}))).code, "connection")
    }))

  it.effect("that returns an Effect is a defect that says what to do", () =>
    Effect.gen(function*() {
      const tool = Tool.promise("get", reading, untyped(async () => Effect.succeed("there")))
      assert.match(
        yield* defectOf(tool.run({})),
        /The handler of 'get' returned an Effect: make the tool with Tool.make/
      )
    }))

  it("must be a function, and 'tell' must be a list of classes", () => {
    assert.throws(() => Tool.promise("get", reading, untyped(5)), /The handler of 'get' must be a function; got 5/)
    assert.throws(
      () => Tool.promise("get", { ...reading, tell: untyped("BookingError") }, async () => ""),
      /A tool's 'tell' is a list of classes/
    )
  })
})

describe("an error of an async handler", () => {
  class BookingError extends Error {}
  const taken = "Room A1 is already booked."

  it.effect("is reported to the model if it is a sentence, which proves nothing", () =>
    Effect.gen(function*() {
      let runs = 0
      const book = Tool.promise("book", acting, async () => {
        runs++
        throw new Error(taken)
      }).pipe(Tool.retry(RetryPolicy.transient))
      const { certainty, exit } = yield* Tool.outcome(book, {})
      assert.strictEqual(certainty, "unknown")
      assert.deepInclude({ ...failureIn(exit) }, { code: "rejected", detail: taken })
      assert.strictEqual(runs, 1)
    }))

  it.effect("is reported to the model if its class is listed, and otherwise not", () =>
    Effect.gen(function*() {
      const failing = async () => {
        throw new BookingError(taken)
      }
      const listed = yield* Effect.flip(Tool.promise("book", { ...acting, tell: [BookingError] }, failing).run({}))
      const unlisted = yield* Effect.flip(Tool.promise("book", acting, failing).run({}))
      assert.strictEqual(listed.detail, taken)
      assert.deepInclude({ ...unlisted }, {
        code: "failed",
        detail: "The tool failed. Only its operators can see why."
      })
    }))

  it.effect("is logged in full, once, if it is not recognized", () =>
    Effect.gen(function*() {
      const reported: Array<string> = []
      const reporter: NonNullable<Observer.Observer["onDefect"]> = (message, cause) =>
        Effect.sync(() => reported.push(`${message}: ${String(Cause.squash(cause))}`))
      const toolkit = Toolkit.make(Tool.promise("book", acting, async () => {
        throw new BookingError(taken)
      }))
      yield* Dispatch.call(toolkit, { id: "1", name: "book" }).pipe(Observer.observe({ onDefect: reporter }))
      assert.deepStrictEqual(reported, [
        `The tool book failed with an error of the class BookingError, which is not recognized and not listed in 'tell': Error: ${taken}`
      ])
    }))

  it.effect("is reported to the model if its listed class has a code, and withheld if a listed base class has none", () =>
    Effect.gen(function*() {
      class CodedError extends Error {
        readonly code = "ROOM_TAKEN"
      }
      const failing = async () => {
        throw new CodedError(taken)
      }
      const reported: Array<string> = []
      const outcomeOf = (tell: ReadonlyArray<abstract new() => Error>) =>
        Dispatch.call(Toolkit.make(Tool.promise("book", { ...acting, tell }, failing)), { id: "1", name: "book" }).pipe(
          Observer.observe({ onDefect: (message) => Effect.sync(() => reported.push(message)) })
        )
      assert.include(JSON.stringify(yield* outcomeOf([CodedError])), taken)
      // Every library's error is an `Error`, too.
      assert.notInclude(JSON.stringify(yield* outcomeOf([Error])), taken)
      assert.deepStrictEqual(reported, [
        "The tool book failed with an error of the class CodedError, which is not recognized. Its message is withheld, because it has a field 'code'"
      ])
    }))

  it.effect("is a refusal if its class is declared as one, whatever its fields are", () =>
    Effect.gen(function*() {
      class SeatTaken extends Error {
        readonly code = "ECONNRESET"
      }
      const book = Tool.promise("book", { ...acting, refuses: [SeatTaken] }, async () => {
        throw new SeatTaken(taken)
      })
      const { certainty, exit } = yield* Tool.outcome(book, {})
      assert.strictEqual(certainty, "not_executed")
      assert.deepInclude({ ...failureIn(exit) }, { _tag: "SemanticGarbage", code: "rejected", detail: taken })
      const failure = ToolFailure.from(new SeatTaken(taken), { refuses: [SeatTaken] })
      const copy = Schema.decodeSync(ToolFailure.schema(Schema.Json))(
        Schema.encodeSync(ToolFailure.schema(Schema.Json))(failure)
      )
      const inEffect = Tool.make("book", acting, () => Effect.fail(copy as SemanticGarbage))
      assert.strictEqual((yield* Tool.outcome(inEffect, {})).certainty, "not_executed")
    }))

  it.effect("is a defect if it is a programming error", () =>
    Effect.gen(function*() {
      const tool = Tool.promise("get", reading, async () => {
        throw new TypeError("rows is undefined")
      })
      assert.match(yield* defectOf(tool.run({})), /rows is undefined/)
    }))

  it.effect("is kept if it is one of the four classes", () =>
    Effect.gen(function*() {
      const unknown = new SemanticGarbage({ code: "unknown_room", detail: "Unknown room.", alternatives: ["B2"] })
      const tool = Tool.promise("book", acting, async () => {
        throw unknown
      })
      assert.strictEqual(yield* Effect.flip(tool.run({})), unknown)
    }))
})

describe("an attempt runs until its promise has settled", () => {
  it.effect("a timeout aborts the signal without waiting", () =>
    Effect.gen(function*() {
      const { aborted, tool } = slow(reading)
      const fiber = yield* Effect.forkChild(Effect.flip(tool.pipe(Tool.timeout("5 seconds")).run({})))
      yield* TestClock.adjust("4999 millis")
      assert.strictEqual(aborted(), 0)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* Fiber.join(fiber)).code, "timeout")
      assert.strictEqual(aborted(), 1)
    }))

  it.effect("an interrupted caller waits for it 5 s at most", () =>
    Effect.gen(function*() {
      const { aborted, tool } = slow(acting)
      const fiber = yield* Effect.forkChild(tool.run({}))
      yield* Effect.yieldNow
      yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* TestClock.adjust("4999 millis")
      assert.strictEqual(aborted(), 1)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.isDefined(fiber.pollUnsafe())
    }))

  it.effect("an interrupted caller waits no longer than it runs", () =>
    Effect.gen(function*() {
      const { pending, tool } = slow(acting)
      const fiber = yield* Effect.forkChild(tool.run({}))
      yield* Effect.yieldNow
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* Effect.yieldNow
      pending[0]!.resolve("done")
      yield* Fiber.join(interrupting)
      const exit = fiber.pollUnsafe()
      assert.isTrue(exit !== undefined && Exit.hasInterrupts(exit))
    }))

  it.effect("a tool that must not act twice does not run again beside it", () =>
    Effect.gen(function*() {
      const { pending, tool } = slow(acting)
      const secondTry = Policy.make({
        kind: "custom",
        name: "second try",
        description: "a second try",
        wrap: (run) => (params) => Effect.catch(run(params), () => run(params))
      })
      const fiber = yield* Effect.forkChild(
        Effect.flip(tool.pipe(Tool.timeout("5 seconds"), Tool.with(secondTry)).run({}))
      )
      yield* TestClock.adjust("5 seconds")
      const failure = yield* Fiber.join(fiber)
      assert.strictEqual(failure.code, "not_repeated")
      assert.include(failure.detail, "an earlier attempt of this call may still be running")
      assert.strictEqual(pending.length, 1)
    }))

  it.effect("its permit stays taken", () =>
    Effect.gen(function*() {
      const { pending, tool } = slow(reading)
      const limited = tool.pipe(Tool.timeout("5 seconds"), Tool.concurrency(1, { maxWait: 0 }))
      const fiber = yield* Effect.forkChild(Effect.flip(limited.run({})))
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).code, "timeout")
      assert.strictEqual((yield* Effect.flip(limited.run({}))).code, "bulkhead_full")
      pending[0]!.resolve("late")
      yield* macrotask
      const again = yield* Effect.forkChild(limited.run({}))
      yield* Effect.yieldNow
      pending[1]!.resolve("there")
      assert.strictEqual(yield* Fiber.join(again), "there")
    }))

  const unsent = new ToolUnavailable({ code: "unsent", detail: "Unsent.", transient: true, outcome: "not_executed" })

  for (
    const [what, settle, certainty] of [
      ["has acted", (end: ReturnType<typeof deferred<string>>) => end.resolve("paid"), "executed"],
      ["did nothing, if it says so", (end: ReturnType<typeof deferred<string>>) => end.reject(unsent), "not_executed"],
      [
        "may have acted, whatever else it says",
        (end: ReturnType<typeof deferred<string>>) => end.reject(new Error("Cancelled.")),
        "unknown"
      ]
    ] as const
  ) {
    it.effect(`operators learn that it ${what} after it was abandoned`, () =>
      Effect.gen(function*() {
        const late: Array<Observer.LateResult> = []
        const { pending, tool } = slow(acting)
        const run = Effect.exit(tool.pipe(Tool.timeout("5 seconds")).run({}))
        const fiber = yield* Effect.forkChild(
          Observer.observe(run, { onLateResult: (result) => Effect.sync(() => void late.push(result)) })
        )
        yield* TestClock.adjust("5 seconds")
        yield* Fiber.join(fiber)
        assert.deepStrictEqual(late, [])
        settle(pending[0]!)
        yield* macrotask
        assert.deepStrictEqual(late.map(({ certainty, tool }) => [tool, certainty]), [["slow", certainty]])
      }).pipe(Effect.provide(Logger.layer([]))))
  }
})
