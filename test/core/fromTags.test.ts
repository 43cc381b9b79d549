/** `ToolFailure.fromTags`: the author says what each tagged error means. */
import { assert, describe, it } from "@effect/vitest"
import { PartialData, SchemaMismatch, SemanticGarbage, Tool, ToolFailure, ToolUnavailable } from "@fallible/core"
import { Cause, Data, Effect, Exit, Schema } from "effect"

class ServiceLocked extends Data.TaggedError("ServiceLocked")<{ readonly service: string; readonly by: string }> {}
class RoomTaken extends Schema.TaggedError<RoomTaken>()("RoomTaken", { room: Schema.String }) {}
class Plain extends Error {}

const locked = new ServiceLocked({ service: "db", by: "ops" })
const taken = new RoomTaken({ room: "A1" })

type Failing = ServiceLocked | RoomTaken

const outcome = "not_executed"
const toFailure = ToolFailure.fromTags({
  ServiceLocked: ({ by }) =>
    new ToolUnavailable({ code: "locked", detail: `Locked by ${by}.`, transient: false, outcome }),
  RoomTaken: ({ room }) => new SemanticGarbage({ code: "room_taken", detail: `Room ${room} is taken.` })
}) satisfies (error: Failing) => ToolFailure.ToolFailure

const untyped = (value: unknown) => value as never

const definition = {
  description: "Books a room",
  parameters: Schema.Struct({ room: Schema.String }),
  success: Schema.String
}

describe("ToolFailure.fromTags", () => {
  it("calls the function of the error's tag, and keeps the error as the cause", () => {
    const failure = toFailure(locked)
    assert.deepInclude({ ...failure }, { _tag: "ToolUnavailable", code: "locked", detail: "Locked by ops.", outcome })
    assert.isUndefined(failure.evidence)
    assert.strictEqual(failure.cause, locked)
    assert.strictEqual(toFailure(taken).detail, "Room A1 is taken.")
  })

  it("leaves a cause that the function gave, and a failure that several calls share", () => {
    const cause = new Error("disk full")
    const shared = new SemanticGarbage({ code: "c", detail: "d" })
    const map: (error: Failing) => ToolFailure.ToolFailure = ToolFailure.fromTags({
      ServiceLocked: () => new SemanticGarbage({ code: "c", detail: "d", cause }),
      RoomTaken: () => shared
    })
    assert.strictEqual(map(locked).cause, cause)
    assert.strictEqual(map(taken).cause, taken)
    assert.isUndefined(shared.cause)
  })

  it("returns the four failures as they are, also partial data", () => {
    const map: (error: ToolFailure.ToolFailure) => ToolFailure.ToolFailure = ToolFailure.fromTags({})
    for (
      const failure of [
        new PartialData({ code: "more_pages", detail: "Page 1 of 2.", data: [] }),
        new SchemaMismatch({ side: "result", code: "c", detail: "d" }),
        new SemanticGarbage({ code: "c", detail: "d" }),
        new ToolUnavailable({ code: "c", detail: "d", transient: true })
      ]
    ) assert.strictEqual(map(failure), failure)
  })

  it("leaves errors without a tag to ToolFailure.from, with its options", () => {
    const map: (error: ServiceLocked | Error) => ToolFailure.ToolFailure = ToolFailure.fromTags({
      ServiceLocked: () => new SemanticGarbage({ code: "c", detail: "d" })
    }, { refuses: [Plain] })
    assert.deepInclude({ ...map(new Plain("Room A1 is taken.")) }, { detail: "Room A1 is taken.", outcome })
    assert.deepInclude({ ...map(Object.assign(new Error("x"), { code: "ECONNREFUSED" })) }, { code: "connection" })
    assert.throws(() => map(new TypeError("rows is undefined")), TypeError)
  })

  it("leaves to ToolFailure.from what has no function, against its type", () => {
    for (const tag of ["Unknown", "toString", "__proto__"]) {
      assert.strictEqual(toFailure(untyped({ _tag: tag })).code, "failed", tag)
    }
    const hostile = new Proxy({}, { get: () => assert.fail("!"), has: () => assert.fail("!") })
    assert.strictEqual(toFailure(untyped(hostile)).code, "failed")
  })

  it.effect("is the author's word: a tool that acts is not in doubt", () =>
    Effect.gen(function*() {
      const certaintyOf = (error: Failing) =>
        Tool.outcome(
          Tool.make("book", definition, () => Effect.mapError(Effect.fail(error), toFailure)),
          { room: "A1" }
        )
      assert.strictEqual((yield* certaintyOf(locked)).certainty, "not_executed")
      assert.strictEqual((yield* certaintyOf(taken)).certainty, "not_executed")
      const inferred = Tool.make("book", definition, () =>
        Effect.fail(locked).pipe(Effect.mapError((error) =>
          ToolFailure.from(error)
        )))
      assert.strictEqual((yield* Tool.outcome(inferred, { room: "A1" })).certainty, "unknown")
    }))

  it.effect("keeps the doubt about a tool that failed inside, in the cause of the error", () =>
    Effect.gen(function*() {
      class Wrapped extends Data.TaggedError("Wrapped")<{ readonly cause: unknown }> {}
      const inner = Tool.make("pay", definition, () =>
        Effect.fail(new ToolUnavailable({ code: "lost", detail: "Lost.", transient: true })))
      const outer = Tool.make("book", definition, ({ room }) =>
        inner.run({ room }).pipe(
          Effect.mapError((cause) =>
            new Wrapped({ cause })
          ),
          Effect.mapError(ToolFailure.fromTags({
            Wrapped: () => new SemanticGarbage({ code: "c", detail: "d", outcome })
          }))
        ))
      assert.strictEqual((yield* Tool.outcome(outer, { room: "A1" })).certainty, "unknown")
    }))

  it.effect("makes a defect of a function that throws", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(
        Effect.fail(taken).pipe(Effect.mapError(ToolFailure.fromTags({
          RoomTaken: (): SemanticGarbage => {
            throw new TypeError("free is undefined")
          }
        })))
      )
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    }))
})
