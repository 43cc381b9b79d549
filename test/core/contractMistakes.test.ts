/** Mistakes in a tool's contract about its results: functions that throw, and fields of the wrong type. */
import { assert, describe, it } from "@effect/vitest"
import { Dispatch, Observer, Tool, Toolkit } from "@fallible/core"
import { Cause, Effect, Exit, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import type { Untyped } from "../support/nonsense.ts"
import { ada, base, one, saying, told } from "../support/orders.ts"

describe("a broken function of a definition", () => {
  const cause = new Error("Cannot read properties of undefined")
  const throwing = (): never => {
    throw cause
  }
  const rejected = () => Promise.reject(new Error("rejected"))
  const cases: ReadonlyArray<readonly [whose: string, words: Untyped]> = [
    ["The invariant 'it is so' of 'search_orders'", (f: Untyped) => ({ invariants: { "it is so": f } })],
    ["The 'failed' of 'search_orders'", (f: Untyped) => ({ failed: f })],
    ["The 'empty' of 'search_orders'", (f: Untyped) => ({ empty: { when: f, detail: "None." } })],
    ["The 'pages' of 'search_orders'", (f: Untyped) => ({ pages: f })],
    ["The 'asOf' of 'search_orders'", (f: Untyped) => ({ asOf: f, freshness: "1 hour" })]
  ]
  const defectOf = (words: Untyped) =>
    Effect.map(Effect.exit(saying(words, one).run(ada)), (exit) => {
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      return Exit.isFailure(exit) ? Cause.squash(exit.cause) as Error : assert.fail("succeeded")
    })

  for (const [whose, words] of cases) {
    it.effect(`is a defect that names the function: ${whose}`, () =>
      Effect.gen(function*() {
        const thrown = yield* defectOf(words(throwing))
        assert.deepStrictEqual([thrown.message, thrown.cause], [`${whose} threw.`, cause])
        const promised = yield* defectOf(words(rejected))
        assert.strictEqual(promised.message, `${whose} returned a promise, and it must answer at once.`)
        assert.instanceOf(promised, TypeError)
      }))
  }

  it.effect("is also a defect if it returns no boolean, or an invalid page", () =>
    Effect.gen(function*() {
      const forgetful = yield* defectOf({ invariants: { "it is so": () => undefined } })
      assert.strictEqual(
        forgetful.message,
        "The invariant 'it is so' of 'search_orders' returned nothing: return true or false."
      )
      const flag = yield* defectOf({ failed: () => true })
      assert.strictEqual(
        flag.message,
        "The 'failed' of 'search_orders' returned a boolean: return the words of the failure, or undefined."
      )
      const wrong = yield* defectOf({ pages: () => 2 })
      assert.include(wrong.message, "The 'pages' of 'search_orders' returned a number: return an object, or undefined.")
    }))

  it.effect("loses no answer that comes just in time, whatever the reporter does", () =>
    Effect.gen(function*() {
      const tool = Tool.make("pay", {
        ...base,
        sideEffect: "non_idempotent",
        invariants: { "it holds": throwing }
      }, () => Effect.delay(Effect.succeed(one), 9_500)).pipe(Tool.timeout("10 seconds"))
      const fiber = yield* Effect.forkChild(
        Dispatch.call(Toolkit.make(tool), { id: "1", name: "pay", arguments: JSON.stringify(ada) }).pipe(
          Observer.observe({ onDefect: () => Effect.never })
        )
      )
      yield* TestClock.adjust("1 minute")
      assert.deepInclude(yield* Fiber.join(fiber), { _tag: "Completed", value: one })
    }))

  it.effect("is reported to the model as a fault of a tool that reads", () =>
    Effect.gen(function*() {
      const read = yield* told(saying({ empty: { when: throwing, detail: "Nothing." } }, one))
      assert.deepInclude(read, { ok: false, code: "defect" })
      assert.notInclude(JSON.stringify(read), "undefined")
    }))

  for (const [whose, words] of cases) {
    it.effect(`loses no answer of a tool that acts, and is reported: ${whose}`, () =>
      Effect.gen(function*() {
        // A non-idempotent tool has no pages.
        const sideEffect = whose.includes("pages") ? "idempotent" : "non_idempotent"
        const reports: Array<string> = []
        const tool = Tool.make(
          "search_orders",
          { ...base, sideEffect, ...words(throwing) },
          () => Effect.succeed(one)
        )
        const read = yield* Observer.observe(told(tool), {
          onDefect: (message, cause) =>
            Effect.sync(() => void reports.push(`${message}: ${(Cause.squash(cause) as Error).message}`))
        })
        assert.deepStrictEqual(read, { value: one, notes: ["This result could not be checked"] })
        assert.deepStrictEqual(reports, [`The definition of search_orders could not check a result: ${whose} threw.`])
      }))
  }
})

describe("an ill-typed definition", () => {
  const cases: ReadonlyArray<readonly [words: Untyped, message: string]> = [
    [{ empty: " " }, "A tool's 'empty' must be a sentence, or an object with a 'detail'; got \" \"."],
    [{ empty: 7 }, "A tool's 'empty' must be a sentence, or an object with a 'detail'; got 7."],
    [
      { empty: { hint: "Ask." } },
      "A tool's 'empty' must be a sentence, or an object with a 'detail'; got {\"hint\":\"Ask.\"}."
    ],
    [{ empty: { detail: "", alternatives: "ada" } }, "A tool's 'empty' must be a sentence"],
    [{ empty: { detail: "", when: true } }, "A tool's 'empty' must be a sentence"],
    [{ empty: () => "None." }, "A tool's 'empty' must be a sentence, or an object with a 'detail'; got a function."],
    [
      { failed: "ok" },
      "A tool's 'failed' must be true, or a function that returns the words of the failure; got \"ok\"."
    ],
    [
      { failed: false },
      "A tool's 'failed' must be true, or a function that returns the words of the failure; got false."
    ],
    [
      { invariants: { "it is so": true } },
      "A tool's 'invariants' must be functions, each named by a sentence; got {\"it is so\":true}."
    ],
    [{ invariants: [() => true] }, "A tool's 'invariants' must be functions"],
    [
      { pages: "page" },
      "A tool's 'pages' must be a function, or an object with 'next' and with 'more' or 'full'; got \"page\"."
    ],
    [
      { pages: { next: "page" } },
      "A tool's 'pages' must be a function, or an object with 'next' and with 'more' or 'full'"
    ],
    [{ pages: { more: "more" } }, "A tool's 'pages' must be a function, or an object with 'next'"],
    [
      { pages: { more: "more", next: "pgae" } },
      "The 'next' of a tool's pages must be one of its parameters; got \"pgae\"."
    ],
    [
      { pages: { more: "has_more", next: "page" } },
      "The 'more' of a tool's pages must be a field of its result; got \"has_more\"."
    ],
    [
      { pages: { full: 5, items: "order", next: "page" } },
      "The 'items' of a tool's pages must be a field of its result"
    ],
    [
      { pages: { full: 0, next: "page" } },
      "The 'full' of a tool's pages must be a number above zero, or one of its parameters; got 0."
    ],
    [{ pages: { full: "size", next: "page" } }, "The 'full' of a tool's pages must be a number above zero"],
    [{ asOf: "at", freshness: "1 hour" }, "A tool's 'asOf' must be a function; got \"at\"."],
    [{ asOf: () => 1 }, "A tool's 'asOf' and 'freshness' must be given together; got a function."],
    [
      { freshness: "1 hour" },
      "A tool's 'asOf' and 'freshness' must be given together; got \"1 hour\"."
    ],
    [{ asOf: () => 1, freshness: "soon" }, "A tool's 'freshness' must be a duration above zero; got \"soon\"."],
    [{ asOf: () => 1, freshness: 0 }, "A tool's 'freshness' must be a duration above zero; got 0."],
    [{ size: 5 }, "A tool's 'size' must be one of its parameters; got 5."],
    [{ size: "size" }, "A tool's 'size' must be one of its parameters; got \"size\"."]
  ]
  for (const [words, message] of cases) {
    it(`throws: ${message}`, () => {
      try {
        Tool.make("t", { ...base, ...words }, () => Effect.succeed(one))
      } catch (error) {
        assert.instanceOf(error, TypeError)
        return assert.include(error.message, message)
      }
      assert.fail("nothing was thrown")
    })
  }

  it("accepts a field name if the schema does not list its fields", () => {
    const any = Schema.Record(Schema.String, Schema.Unknown)
    const tool = Tool.make("t", {
      ...base,
      parameters: any,
      success: any,
      size: "limit",
      pages: { more: "more", next: "page" }
    }, () => Effect.succeed({}))
    assert.strictEqual(tool.size, "limit")
  })
})
