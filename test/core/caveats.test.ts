/** Notes about a call while it runs: caveats and sources. */
import { assert, describe, it } from "@effect/vitest"
import { Dispatch, PartialData, SchemaMismatch, Tool, ToolCall, Toolkit } from "@fallible/core"
import * as Rendering from "@fallible/core/Rendering"
import { Duration, Effect, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import { refused } from "../support/sequence.ts"
import { passing } from "../support/virtualTime.ts"

describe("Dispatch", () => {
  it.effect("does not report the live service as unavailable if it answered an older value after a retry", () =>
    Effect.gen(function*() {
      const tool = Tool.make(
        "t",
        { description: "", success: Schema.Int, sideEffect: "none" },
        () =>
          Effect.flatMap(ToolCall.current, ({ attempt }) =>
            attempt === 1
              ? Effect.fail(refused)
              : Effect.as(ToolCall.source({ name: "the exchange", age: "20 minutes" }), 1))
      ).pipe(
        Tool.retry(Schedule.recurs(1))
      )
      const outcome = yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "t" })
      assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, ["from the exchange, 20m old"])
    }))

  it.effect("does not report the live service as unavailable if only a fixer failed", () =>
    Effect.gen(function*() {
      const tool = Tool.make(
        "t",
        { description: "", success: Schema.Int, sideEffect: "none" },
        () => Effect.fail(new SchemaMismatch({ code: "invalid_arguments", detail: "No.", side: "arguments" }))
      ).pipe(
        Tool.fix(() => Effect.fail("no idea")),
        Tool.fix(() => "{}"),
        Tool.catchTag("SchemaMismatch", () => Effect.as(ToolCall.source({ name: "cache", age: "20 minutes" }), 1))
      )
      const outcome = yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "t", arguments: "nonsense" })
      assert.deepStrictEqual(outcome.handled.map(({ by, tag }) => `${tag} ${by}`), [
        "ToolUnavailable ignored",
        "SchemaMismatch fix",
        "SchemaMismatch catch"
      ])
      assert.include(outcome._tag === "Completed" ? outcome.caveats : [], "from cache, 20m old")
    }))

  it.effect("keeps the first twenty notes of a call, and counts the rest, including those of an inner tool", () =>
    Effect.gen(function*() {
      const noting = Tool.make(
        "noting",
        {
          description: "",
          parameters: Schema.Struct({ notes: Schema.Int }),
          success: Schema.Int,
          sideEffect: "none"
        },
        ({ notes }) =>
          Effect.as(
            Effect.forEach(
              Array.from({ length: notes }, (_, index) => index),
              (index) => ToolCall.caveat(`note ${index}`),
              { discard: true }
            ),
            1
          )
      )
      const outer = Tool.make(
        "outer",
        { description: "", success: Schema.Int, sideEffect: "none" },
        () => Effect.andThen(ToolCall.caveat("of the outer"), Effect.orDie(noting.run({ notes: 20_000 })))
      )
      const caveatsOf = (name: string, notes: number) => {
        const call = { id: "1", name, arguments: name === "outer" ? "{}" : `{"notes":${notes}}` }
        return Effect.map(Dispatch.call(Toolkit.make(noting, outer), call), (outcome) => {
          assert.strictEqual(outcome._tag, "Completed")
          const caveats = outcome._tag === "Completed" ? outcome.caveats : []
          assert.deepStrictEqual(JSON.parse(Rendering.json(outcome, call)).notes, caveats)
          return caveats
        })
      }
      const twenty = Array.from({ length: 20 }, (_, index) => `note ${index}`)
      assert.deepStrictEqual(yield* caveatsOf("noting", 20), twenty)
      assert.deepStrictEqual(yield* caveatsOf("noting", 21), [...twenty, "… and 1 more"])
      assert.deepStrictEqual(yield* caveatsOf("noting", 20_000), [...twenty, "… and 19980 more"])
      assert.deepStrictEqual(yield* caveatsOf("outer", 20_000), [
        "of the outer",
        ...twenty.slice(0, 19),
        "… and 19981 more"
      ])
    }))

  it.effect("drops the notes of an attempt that another one replaced", () =>
    Effect.gen(function*() {
      let attempts = 0
      const note = (text: string) => ToolCall.caveat(text)
      const tool = Tool.make("p", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        attempts++ === 0
          ? Effect.andThen(Effect.forEach(Array.from({ length: 30 }, () => "early"), note), Effect.fail(refused))
          : Effect.as(note("late"), 1)).pipe(Tool.retry(Schedule.recurs(1)))
      const outcome = yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "p" })
      assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, ["late"])
    }))

  it.effect("does not change an answer through later notes", () =>
    Effect.gen(function*() {
      const late = Tool.make("late", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        Effect.andThen(
          ToolCall.caveat("in time"),
          Effect.as(Effect.forkDetach(Effect.andThen(Effect.sleep("1 second"), ToolCall.caveat("too late"))), 1)
        ))
      const outcome = yield* Dispatch.call(Toolkit.make(late), { id: "1", name: "late" })
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, ["in time"])
    }))

  it.effect("drops the notes of an inner tool that then failed", () =>
    Effect.gen(function*() {
      const stale = Tool.make("stale", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        Effect.andThen(ToolCall.source({ name: "cache", age: "9 hours" }), Effect.fail(refused)))
      const outer = Tool.make("outer", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        Effect.andThen(
          ToolCall.caveat("of the outer"),
          Effect.catch(stale.run({}), () =>
            Effect.succeed(1))
        ))
      const outcome = yield* Dispatch.call(Toolkit.make(outer), { id: "1", name: "outer" })
      assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, ["of the outer"])
    }))

  it.effect("keeps the notes of an inner tool about its partial answer", () =>
    Effect.gen(function*() {
      const part = Tool.make("part", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        Effect.andThen(
          ToolCall.caveat("of the part"),
          Effect.fail(new PartialData({ code: "more_pages", detail: "More.", data: 1 }))
        ))
      const outer = Tool.make("outer", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        Effect.catchTag(part.run({}), "PartialData", ({ data }) =>
          Effect.succeed(data)))
      const outcome = yield* Dispatch.call(Toolkit.make(outer), { id: "1", name: "outer" })
      assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, ["of the part"])
    }))

  it.effect("ignores the notes of an abandoned attempt", () =>
    Effect.gen(function*() {
      const late = Tool.make("t", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        Effect.flatMap(ToolCall.current, ({ attempt }) =>
          attempt === 1
            ? Effect.uninterruptible(
              Effect.andThen(Effect.sleep("1 second"), ToolCall.source({ name: "cache", age: "9 hours" }))
            ).pipe(Effect.as(1))
            : Effect.andThen(Effect.sleep("999 millis"), Effect.succeed(2)))).pipe(
          Tool.timeout("999 millis"),
          Tool.retry(Schedule.recurs(1))
        )
      const slow = late.pipe(Tool.fallback(() =>
        Effect.succeed(3)
      ))
      const outcome = yield* passing(Dispatch.call(Toolkit.make(slow), { id: "1", name: "t" }))
      assert.isTrue(outcome._tag === "Completed" && outcome.caveats.length === 0 && outcome.source === undefined)
    }))

  it.effect("forgets the notes of an attempt when another one answers", () =>
    Effect.gen(function*() {
      const tool = Tool.make("prices", { description: "", success: Schema.Int, sideEffect: "none" }, () =>
        Effect.andThen(ToolCall.caveat("from the primary"), Effect.fail(refused))).pipe(
          Tool.fallback(() =>
            ToolCall.source({ name: "cache", age: Duration.hours(3) }).pipe(Effect.as(7))
          )
        )
      const outcome = yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "prices" })
      assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, [
        "from cache, 3h old; the live service is unavailable"
      ])
    }))

  const notesOf = (value: unknown, words: { readonly size?: "limit" } = {}) => {
    const parameters = Schema.Struct({ limit: Schema.optionalKey(Schema.Int) })
    const tool = Tool.make(
      "t",
      { description: "", parameters, success: Schema.Unknown, sideEffect: "none", ...words },
      () => Effect.succeed(value)
    )
    return Effect.map(
      Dispatch.call(Toolkit.make(tool), { id: "1", name: "t" }),
      (outcome) => outcome._tag === "Completed" ? outcome.caveats : assert.fail(outcome._tag)
    )
  }

  it.effect("notes that a text is cut-off JSON, and which parameter asks for less", () =>
    Effect.gen(function*() {
      const note = "This text looks like JSON that was cut off."
      const whole = JSON.stringify({ orders: [{ id: "7", total: 12 }, null, -1.5e3], "a\"b": "\\" })
      for (let length = 1; length < whole.length; length++) {
        assert.deepStrictEqual(yield* notesOf(` \n\t${whole.slice(0, length)}`), [note], whole.slice(0, length))
      }
      assert.deepStrictEqual(yield* notesOf("[1,", { size: "limit" }), [
        `${note} If you need it whole, call it again with a smaller 'limit'.`
      ])
    }))

  it.effect("notes nothing about other texts, however they begin", () =>
    Effect.gen(function*() {
      const texts = [
        "",
        "{}",
        " [1, 2]\n",
        "Sunny.",
        "\"a text",
        "12",
        "[INFO] started",
        "[1] See the notes. [2] And",
        "{name}, hello",
        "{\"a\":1}\n{\"b\":",
        "{'a': 1",
        "[1,]",
        "\u00a0{\"a\":"
      ]
      for (const text of texts) assert.deepStrictEqual(yield* notesOf(text), [], text)
      assert.deepStrictEqual(yield* notesOf({ text: "{\"a\":" }), [])
      assert.deepStrictEqual(yield* notesOf(`["${"a".repeat(999_998)}`), [
        "This text looks like JSON that was cut off."
      ])
      assert.deepStrictEqual(yield* notesOf(`["${"a".repeat(999_999)}`), [])
    }))
})
