/** Tools whose handlers are async functions. */
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import {
  CallEvent,
  Defect,
  Dispatch,
  LateResult,
  Policy,
  RetryPolicy,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolCall,
  ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import { Cause, Duration, Effect, Exit, Fiber, Logger, Option, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import { macrotask } from "../support/virtualTime.ts"

const reading = { description: "Reads", success: Schema.String, sideEffect: "none" } as const
const acting = { description: "Acts", success: Schema.String } as const

/** A promise that somebody settles from outside. */
const deferred = <A>() => {
  let resolve: (value: A) => void = () => {}
  let reject: (error: unknown) => void = () => {}
  const promise = new Promise<A>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

/** A tool that answers when somebody settles it from outside, whatever its signal says. */
const slow = (definition: Parameters<typeof Tool.promise<"slow", string>>[1]) => {
  const pending: Array<ReturnType<typeof deferred<string>>> = []
  let aborted = 0
  const tool = Tool.promise("slow", definition, (_, { signal }) => {
    signal.addEventListener("abort", () => aborted++)
    const next = deferred<string>()
    pending.push(next)
    return next.promise
  })
  return { tool, pending, aborted: () => aborted }
}

const refused = () => Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" })

type Quoted = SchemaMismatch | SemanticGarbage | ToolUnavailable

/** The failure of a tool that runs by itself, in a promise. */
const accountOf = async <E extends ToolFailure.ToolFailure>(tool: Tool.Tool<string, {}, string, E>) =>
  failureIn((await Effect.runPromise(Tool.outcome(tool, {}))).exit)
const outcomeOf = async <E extends ToolFailure.ToolFailure>(tool: Tool.Tool<string, {}, string, E>) => {
  const outcome = await Effect.runPromise(Dispatch.call(Toolkit.make(tool), { id: "1", name: tool.name }))
  return outcome._tag === "Failed" ? outcome.failure : assert.fail(outcome._tag)
}

/** What a program without types may pass. */
const untyped = (value: unknown) => value as never

const defectOf = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.map(
    Effect.exit(effect),
    (exit) =>
      Exit.isFailure(exit) && Cause.hasDies(exit.cause) ? String(Cause.squash(exit.cause)) : assert.fail("no defect")
  )

const failureIn = <A, E>(exit: Exit.Exit<A, E>): E =>
  Option.getOrThrow(Exit.isFailure(exit) ? Cause.findErrorOption(exit.cause) : Option.none())

describe("an async handler", () => {
  it.effect("answers with what its promise comes to", () =>
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

  it.effect("may answer at once, without a promise", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* Tool.promise("now", reading, () => "noon").run({}), "noon")
    }))

  it.effect("is given a key that is the same for each attempt, and the attempt's number", () =>
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

  it.effect("that throws at once is like one that rejects", () =>
    Effect.gen(function*() {
      const tool = Tool.promise("get", reading, (): Promise<string> => {
        throw refused()
      })
      assert.strictEqual((yield* Effect.flip(tool.run({}))).code, "connection")
    }))

  it.effect("that returns an Effect is a defect which says what to do", () =>
    Effect.gen(function*() {
      const tool = Tool.promise("get", reading, untyped(async () => Effect.succeed("there")))
      assert.match(
        yield* defectOf(tool.run({})),
        /The handler of 'get' returned an Effect: make the tool with Tool.make/
      )
    }))

  it("is a function, and 'tell' a list of classes", () => {
    assert.throws(() => Tool.promise("get", reading, untyped(5)), /A tool's handler is a function; got 5/)
    assert.throws(
      () => Tool.promise("get", { ...reading, tell: untyped("BookingError") }, async () => ""),
      /A tool's 'tell' is a list of classes/
    )
  })
})

describe("what an async handler throws", () => {
  class BookingError extends Error {}
  const taken = "Room A1 is already booked."

  it.effect("is told where it is a sentence, and counts as a refusal", () =>
    Effect.gen(function*() {
      let runs = 0
      const book = Tool.promise("book", acting, async () => {
        runs++
        throw new Error(taken)
      }).pipe(Tool.retry(RetryPolicy.transient))
      const { certainty, exit } = yield* Tool.outcome(book, {})
      assert.strictEqual(certainty, "not_executed")
      assert.deepInclude({ ...failureIn(exit) }, { code: "rejected", detail: taken })
      assert.strictEqual(runs, 1)
    }))

  it.effect("is told of a class that is listed, and of no other", () =>
    Effect.gen(function*() {
      const failing = async () => {
        throw new BookingError(taken)
      }
      const told = yield* Effect.flip(Tool.promise("book", { ...acting, tell: [BookingError] }, failing).run({}))
      const untold = yield* Effect.flip(Tool.promise("book", acting, failing).run({}))
      assert.strictEqual(told.detail, taken)
      assert.deepInclude({ ...untold }, { code: "failed", detail: "The tool failed. Only its operators can see why." })
    }))

  it.effect("is reported whole, once, when nobody knows what it means", () =>
    Effect.gen(function*() {
      const reported: Array<string> = []
      const reporter: Defect.Reporter = (message, cause) =>
        Effect.sync(() => reported.push(`${message}: ${String(Cause.squash(cause))}`))
      const toolkit = Toolkit.make(Tool.promise("book", acting, async () => {
        throw new BookingError(taken)
      }))
      yield* Dispatch.call(toolkit, { id: "1", name: "book" }).pipe(Effect.provideService(Defect.reporter, reporter))
      assert.deepStrictEqual(reported, [
        `The tool book failed with an error of the class BookingError, which is neither known nor listed in 'tell': Error: ${taken}`
      ])
    }))

  it.effect("is not told of a class that is listed and has a code, and the log says why", () =>
    Effect.gen(function*() {
      class CodedError extends Error {
        readonly code = "ROOM_TAKEN"
      }
      const reported: Array<string> = []
      const tool = Tool.promise("book", { ...acting, tell: [CodedError] }, async () => {
        throw new CodedError(taken)
      })
      const outcome = yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "book" }).pipe(
        Effect.provideService(Defect.reporter, (message) => Effect.sync(() => reported.push(message)))
      )
      assert.notInclude(JSON.stringify(outcome), taken)
      assert.deepStrictEqual(reported, [
        "The tool book failed with an error of the class CodedError, which is not known. Its message is not told, since it has a field 'code'"
      ])
    }))

  it.effect("is a defect where it is a mistake of the program", () =>
    Effect.gen(function*() {
      const tool = Tool.promise("get", reading, async () => {
        throw new TypeError("rows is undefined")
      })
      assert.match(yield* defectOf(tool.run({})), /rows is undefined/)
    }))

  it.effect("stays what it is where it is one of the four", () =>
    Effect.gen(function*() {
      const unknown = new SemanticGarbage({ code: "unknown_room", detail: "Unknown room.", alternatives: ["B2"] })
      const tool = Tool.promise("book", acting, async () => {
        throw unknown
      })
      assert.strictEqual(yield* Effect.flip(tool.run({})), unknown)
    }))
})

describe("an attempt runs until its promise has settled", () => {
  it.effect("a timeout aborts the signal, and does not wait", () =>
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

  it.effect("what must not act twice is not run again beside it", () =>
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
    it.effect(`operators are told that it ${what}, when nobody waits any more`, () =>
      Effect.gen(function*() {
        const late: Array<LateResult.LateResult> = []
        const { pending, tool } = slow(acting)
        const run = Effect.exit(tool.pipe(Tool.timeout("5 seconds")).run({}))
        const fiber = yield* Effect.forkChild(
          Effect.provideService(run, LateResult.reporter, (result) => Effect.sync(() => void late.push(result)))
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

describe("what comes to its end when nobody waits any more", () => {
  it.live("is timed by the clock that its call began with", () =>
    Effect.gen(function*() {
      const times: Array<number> = []
      const { pending, tool } = slow(acting)
      const run = Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(Effect.exit(tool.pipe(Tool.timeout("5 seconds")).run({})))
        yield* TestClock.adjust("5 seconds")
        yield* Fiber.join(fiber)
      })
      yield* run.pipe(
        Effect.provide(TestClock.layer()),
        Effect.provideService(LateResult.reporter, ({ at }) => Effect.sync(() => void times.push(at))),
        Effect.provideService(CallEvent.watcher, ({ at }) => void times.push(at))
      )
      pending[0]!.resolve("paid")
      yield* macrotask
      assert.deepStrictEqual([...new Set(times)], [0, 5000])
    }))

  /** What is told of late ends, where a run is interrupted, and its promise resolved after that. */
  const lateOf = <A, E>(run: Effect.Effect<A, E>, resolve: (answer: string) => void, meanwhile = macrotask) =>
    Effect.gen(function*() {
      const late: Array<readonly [tool: string, certainty: string]> = []
      const fiber = yield* Effect.forkChild(
        Effect.provideService(
          run,
          LateResult.reporter,
          ({ certainty, tool }) => Effect.sync(() => void late.push([tool, certainty]))
        ),
        { startImmediately: true }
      )
      yield* macrotask
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(fiber), { startImmediately: true })
      yield* meanwhile
      resolve("paid")
      yield* macrotask
      yield* Fiber.join(interrupting)
      yield* macrotask
      return late
    })

  const going = {
    "an async function": () => {
      const { promise, resolve } = deferred<string>()
      return { resolve, tool: Tool.promise("pay", acting, () => promise) }
    },
    "an uninterruptible handler": () => {
      const { promise, resolve } = deferred<string>()
      return {
        resolve,
        tool: Tool.make("pay", { ...acting, uninterruptible: true }, () => Effect.promise(() => promise))
      }
    }
  }
  for (const [what, make] of Object.entries(going)) {
    for (const limit of ["1 minute", Duration.infinity] as const) {
      for (const wait of [0, 6_000]) {
        it.effect(`is told of an interrupted run: ${what}, with a timeout of ${String(limit)}, after ${wait} ms`, () =>
          Effect.gen(function*() {
            const { resolve, tool } = make()
            const late = yield* lateOf(tool.pipe(Tool.timeout(limit)).run({}), resolve, TestClock.adjust(wait))
            assert.deepStrictEqual(late, [["pay", "executed"]])
          }))
      }
    }
  }

  it.effect("is told where the call around it was interrupted", () =>
    Effect.gen(function*() {
      const { resolve, tool } = going["an uninterruptible handler"]()
      const order = Tool.make("order", acting, () => Effect.uninterruptible(tool.run({})))
      const late = yield* lateOf(Dispatch.call(Toolkit.make(order), { id: "1", name: "order" }), resolve)
      assert.deepInclude(late, ["pay", "executed"])
    }))

  it.effect("is not told where the caller goes on waiting", () =>
    Effect.gen(function*() {
      const { resolve, tool } = going["an uninterruptible handler"]()
      let answer = ""
      const run = Effect.map(Effect.uninterruptible(tool.run({})), (value) => {
        answer = value
      })
      const late = yield* lateOf(Effect.uninterruptible(run), resolve)
      assert.strictEqual(answer, "paid")
      assert.deepStrictEqual(late, [])
    }))

  for (
    const [what, quotes, certainty] of [["its own word", false, "not_executed"], [
      "that of a tool inside",
      true,
      "unknown"
    ]] as const
  ) {
    it.effect(`is judged by whose word it ends with: ${what}`, () =>
      Effect.gen(function*() {
        const late: Array<string> = []
        const closed = new ToolUnavailable({ code: "busy", detail: "Busy.", transient: true, outcome: "not_executed" })
        const look = Tool.make("look", reading, () => quotes ? Effect.fail(closed) : Effect.succeed("open"))
        const pay = Tool.make("pay", { ...acting, uninterruptible: true }, () =>
          Effect.andThen(
            Effect.exit(look.run({})),
            Effect.delay(Effect.fail(new ToolUnavailable({ ...closed })), "1 minute")
          )).pipe(Tool.timeout("1 second"))
        const fiber = yield* Effect.forkChild(Effect.exit(Effect.provideService(
          pay.run({}),
          LateResult.reporter,
          (result) => Effect.sync(() => void late.push(result.certainty))
        )))
        yield* TestClock.adjust("2 minutes")
        yield* Fiber.join(fiber)
        assert.deepStrictEqual(late, [certainty])
      }))
  }

  it.effect("is no late result of a handler that was interrupted", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* lateOf(Tool.make("pay", acting, () => Effect.never).run({}), () => {}), [])
    }))

  it.effect("is reported, if it is a mistake of the program", () =>
    Effect.gen(function*() {
      const reports: Array<string> = []
      const { pending, tool } = slow(acting)
      const run = Effect.exit(tool.pipe(Tool.timeout("5 seconds")).run({}))
      const fiber = yield* Effect.forkChild(
        run.pipe(
          Effect.provideService(
            Defect.reporter,
            (_, cause) => Effect.sync(() => void reports.push(String(Cause.squash(cause))))
          ),
          Effect.provideService(LateResult.reporter, () => Effect.void)
        )
      )
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(fiber)
      pending[0]!.reject(new TypeError("room is not a function"))
      yield* macrotask
      assert.deepStrictEqual(reports, ["TypeError: room is not a function"])
    }))
})

describe("a tool that only reads, and runs a payment inside", () => {
  it.effect("is not tried again while the payment may still be under way", () =>
    Effect.gen(function*() {
      let paid = 0
      const pay = Tool.promise("pay", acting, () => {
        paid++
        return new Promise<string>(() => {})
      })
      const outer = Tool.make("look", reading, () => pay.run({})).pipe(
        Tool.timeout("2 seconds"),
        Tool.retry(RetryPolicy.transient)
      )
      const fiber = yield* Effect.forkChild(Tool.outcome(outer, {}))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Fiber.join(fiber)).certainty, "unknown")
      assert.strictEqual(paid, 1)
    }))

  it.effect("is not tried again after one that began while it waited", () =>
    Effect.gen(function*() {
      let paid = 0
      const pay = Tool.make("pay", acting, () => Effect.sync(() => `${++paid}`))
      const busy = new ToolUnavailable({ code: "busy", detail: "Busy.", transient: true })
      const outer = Tool.make("look", reading, () =>
        Effect.andThen(Effect.forkDetach(Effect.delay(pay.run({}), 10)), Effect.fail(busy))).pipe(
          Tool.retry(Schedule.spaced("1 second"))
        )
      const fiber = yield* Effect.forkChild(Tool.outcome(outer, {}))
      yield* TestClock.adjust("1 minute")
      const { certainty, exit, handled } = yield* Fiber.join(fiber)
      assert.strictEqual(certainty, "executed")
      assert.strictEqual(paid, 1)
      // Each failure has one end.
      assert.deepStrictEqual(handled.map(({ by, code }) => [by, code]), [["retry", "busy"]])
      assert.deepInclude({ ...failureIn(exit) }, {
        code: "not_repeated",
        detail: "look was not run again: an earlier attempt of this call has already taken effect. Before: Busy."
      })
    }))
})

describe("an error of one request says nothing of those before", () => {
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

  it.effect("but what a tool inside said in an earlier attempt says nothing of this one", () =>
    Effect.gen(function*() {
      const ended: Array<unknown> = []
      const look = Tool.make("look", reading, () => Effect.fail(notExecuted()))
      let attempts = 0
      const pay = Tool.make("pay", { ...acting, sideEffect: "idempotent" }, () =>
        Effect.andThen(++attempts === 1 ? Effect.exit(look.run({})) : Effect.void, Effect.fail(notExecuted()))).pipe(
          Tool.retry(Schedule.recurs(1))
        )
      yield* Tool.outcome(pay, {}).pipe(Effect.provideService(CallEvent.watcher, (event) => {
        if (event._tag === "AttemptEnded" && event.tool === "pay") {
          ended.push(event.certainty)
        }
      }))
      assert.deepStrictEqual(ended, ["unknown", "not_executed"])
    }))

  it.effect("nor is a rejection of another tool's arguments, out of a promise, a reason to fix those of this one", () =>
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

  describe("nor does what a tool inside says", () => {
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
        ["rejects its arguments", ways(rejecting), "not_executed"]
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

  describe("nor does a tool that has acted in a promise, and refuses its own result:", () => {
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
          assert.strictEqual((yield* Tool.outcome(pay, {})).certainty, "executed")
        }))
    }

    it.effect("but not in an earlier call", () =>
      Effect.gen(function*() {
        let last: unknown
        const busy = Tool.make("look", reading, () => Effect.fail(notExecuted()))
        const pay = Tool.promise("pay", acting, async () => {
          const cause = last
          last ??= await charged()
          await Effect.runPromise(Effect.exit(busy.run({})))
          throw cause === undefined ? last : new Error("It is closed for now.", { cause })
        })
        assert.strictEqual((yield* Tool.outcome(pay, {})).certainty, "executed")
        assert.strictEqual((yield* Tool.outcome(pay, {})).certainty, "not_executed")
      }))

    it.effect("beside one that has not", () =>
      Effect.gen(function*() {
        const pay = Tool.make("pay", acting, () => Effect.race(viaPromise(look), viaPromise(charge)))
        assert.strictEqual((yield* Tool.outcome(pay, {})).certainty, "executed")
      }))

    it.effect("in a fallback", () =>
      Effect.gen(function*() {
        const pay = Tool.make("pay", acting, () => Effect.fail(notExecuted()))
        for (const fallback of [() => viaPromise(charge), () => charge.run({})]) {
          assert.strictEqual((yield* Tool.outcome(pay.pipe(Tool.fallback(fallback)), {})).certainty, "executed")
        }
      }))
  })

  it.effect("nor does a fallback's error of one request, nor one that another tool ended with before", () =>
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

  it.effect("but a fallback that asks another tool says no more than that tool", () =>
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

  it.effect("a stop goes before all", () =>
    Effect.gen(function*() {
      const tool = Tool.promise("pay", acting, () => Effect.runPromise(ToolCall.stop("Enough.")))
      const outcome = yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "pay" })
      assert.strictEqual(outcome._tag, "Stopped")
    }))

  it.effect("and that holds for a failure that was read off an error by hand, and for one of another tool", () =>
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

  it.effect("an outcome says so in every copy, for a journal and for what is decided later", () =>
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

  it.effect("a failure may be frozen, and shared by many", () =>
    Effect.gen(function*() {
      const constant = Object.freeze(new ToolUnavailable({ code: "closed", detail: "Closed.", transient: true }))
      const pay = Tool.make("pay", acting, () => Effect.fail(constant))
      const outcome = yield* Dispatch.call(Toolkit.make(pay), { id: "1", name: "pay" })
      assert.strictEqual(outcome.certainty, "unknown")
      assert.isUndefined(constant.outcome)
    }))

  it.effect("the same holds in a handler of Effects", () =>
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

  it.effect("a 422 is no reason to run it again with other arguments", () =>
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
