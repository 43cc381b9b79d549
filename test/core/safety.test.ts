/**
 * Calls that act must not happen twice. Tested under every policy that could repeat them, or that could
 * suggest that nothing was done.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  Dispatch,
  SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as Journal from "@fallible/core/Journal"
import * as Rendering from "@fallible/core/Rendering"
import type * as SideEffect from "@fallible/core/SideEffect"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Fiber, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import { lettered } from "../support/lettered.ts"

const refused = new ToolUnavailable({
  code: "connection",
  detail: "Refused.",
  transient: true,
  outcome: "not_executed"
})
const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
const silent = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true })

const acting = <E extends SemanticGarbage | SchemaMismatch | ToolUnavailable>(
  name: string,
  effect: Effect.Effect<string, E>,
  sideEffect: SideEffect.SideEffect = "non_idempotent"
) => Tool.make(name, { description: name, success: Schema.String, sideEffect, check: "status" }, () => effect)

const status = Tool.make(
  "status",
  { description: "Was it done?", success: Schema.String, sideEffect: "none" },
  () => Effect.succeed("yes")
)

/** Returns the text that a model reads about a call. */
const messageOf = <T extends Tool.Any>(tool: T) => {
  const call = { id: "1", name: tool.name }
  return Effect.map(Dispatch.call(Toolkit.make(tool, status), call), (outcome) => ({
    outcome,
    text: Rendering.json(outcome, call)
  }))
}

const careful = "Do not repeat this call: it may already have taken effect. Find out whether it has, or tell the user."

describe("a tool that acts", () => {
  it.effect("does not report not_executed just because its last attempt did nothing", () =>
    Effect.gen(function*() {
      let attempts = 0
      const pay = acting("pay", Effect.suspend(() => Effect.fail(++attempts === 1 ? lost : refused)), "idempotent")
        .pipe(
          Tool.retry(Schedule.recurs(1))
        )
      assert.strictEqual((yield* Effect.flip(pay.run({}))).outcome, "unknown")
      assert.strictEqual((yield* messageOf(pay)).outcome._tag, "Failed")
    }))

  it.effect("stays in doubt after an attempt that may have acted, unlike a tool that only reads", () =>
    Effect.gen(function*() {
      const after = (sideEffect: SideEffect.SideEffect) => {
        let attempts = 0
        return acting("pay", Effect.suspend(() => Effect.fail(++attempts === 1 ? lost : refused)), sideEffect).pipe(
          Tool.retry(Schedule.recurs(3))
        )
      }
      assert.strictEqual((yield* Effect.flip(after("idempotent").run({}))).outcome, "unknown")
      assert.strictEqual((yield* Effect.flip(after("none").run({}))).outcome, "not_executed")
    }))

  it.effect("is not retried once an inner tool was executed, even if another one was not", () =>
    Effect.gen(function*() {
      const booked: Array<string> = []
      const flight = acting("flight", Effect.sync(() => `${booked.push("flight")}`))
      const hotel = acting("hotel", Effect.fail(refused))
      const booking = (sideEffect: SideEffect.SideEffect) => (...tools: ReadonlyArray<typeof flight | typeof hotel>) =>
        Tool.make(
          "book",
          { description: "Books", success: Schema.String, sideEffect },
          () => Effect.as(Effect.forEach(tools, (tool) => tool.run({})), "booked")
        ).pipe(Tool.retry(Schedule.recurs(2)))
      // The outer tool itself does nothing.
      const book = booking("none")
      assert.strictEqual((yield* Effect.flip(book(flight, hotel).run({}))).outcome, "executed")
      assert.deepStrictEqual(booked, ["flight"])
      // An inner tool that certainly did nothing leaves no doubt.
      assert.strictEqual((yield* Effect.flip(book(hotel).run({}))).outcome, "not_executed")
      const look = acting("look", Effect.succeed("seen"), "none")
      assert.strictEqual((yield* Effect.flip(book(look, hotel).run({}))).outcome, "not_executed")
      // A tool two levels down counts as inner too.
      const agency = Tool.make("agency", { description: "", success: Schema.String }, () => flight.run({}))
      assert.strictEqual((yield* Effect.flip(book(agency, hotel).run({}))).outcome, "executed")
      // It is unknown whether the outer tool itself acts.
      const all = booking("non_idempotent")(flight, hotel)
      booked.length = 0
      assert.strictEqual((yield* Effect.flip(all.run({}))).outcome, "unknown")
      assert.deepStrictEqual(booked, ["flight"])
    }))

  it.effect("is not retried because a catch or a fallback failed without an effect", () =>
    Effect.gen(function*() {
      let attempts = 0
      const pay = acting(
        "pay",
        Effect.suspend(() => {
          attempts++
          return Effect.fail(lost)
        })
      )
      for (
        const recovered of [
          pay.pipe(Tool.catchTag("ToolUnavailable", () => Effect.fail(refused))),
          pay.pipe(Tool.fallback(() => Effect.fail(refused)))
        ]
      ) {
        attempts = 0
        const tried = recovered.pipe(Tool.retry(Schedule.recurs(2)))
        assert.include((yield* messageOf(tried)).text, careful)
        assert.strictEqual(attempts, 1)
      }
    }))

  it.effect("may have acted, whatever its failure is mapped to", () =>
    Effect.gen(function*() {
      const garbage = new SemanticGarbage({ code: "no_such_card", detail: "There is no such card." })
      const permanent = new ToolUnavailable({ code: "permission_denied", detail: "No.", transient: false })
      for (const failure of [garbage, permanent, refused]) {
        const pay = acting("pay", Effect.fail(lost)).pipe(Tool.mapFailure(() => failure))
        assert.include((yield* messageOf(pay)).text, careful, failure.code)
      }
    }))

  it.effect("is not in doubt because of a read-only inner tool", () =>
    Effect.gen(function*() {
      let looks = 0
      const look = acting(
        "look",
        Effect.suspend(() => ++looks === 1 ? Effect.fail(lost) : Effect.succeed("seen")),
        "none"
      )
        .pipe(Tool.retry(Schedule.recurs(1)))
      const pay = acting(
        "pay",
        Effect.andThen(
          look.run({}),
          Effect.fail(new SemanticGarbage({ code: "no_such_order", detail: "No such order." }))
        )
      )
      const { outcome, text } = yield* messageOf(pay)
      assert.deepStrictEqual(outcome.handled.length, 1)
      assert.notInclude(text, "may already have taken effect")
    }))

  it.effect("does not run again after a journal replayed that it may have acted", () =>
    Effect.gen(function*() {
      const pay = Tool.make("pay", {
        description: "Pays",
        parameters: Schema.Struct({ cents: Schema.FiniteFromString }),
        success: Schema.String
      }, () =>
        Effect.suspend(() => {
          paid++
          return Effect.fail(lost)
        }))
      let paid = 0
      const written = new Map<string, unknown>()
      // Records the result of a step, and replays it the next time.
      const journal: Journal.Journal = {
        step: (step, effect) => {
          const codec = Schema.toCodecJson(step.success as Schema.Codec<unknown, unknown>)
          const before = written.get(step.name)
          return before === undefined
            ? Effect.tap(effect, (value) =>
              Effect.map(Effect.orDie(Schema.encodeEffect(codec)(value)), (json) =>
                written.set(step.name, json)))
            : Effect.orDie(Schema.decodeUnknownEffect(codec)(before)) as typeof effect
        }
      }
      const play = (...script: ReadonlyArray<ScriptedModel.Move>) =>
        Agent.make({ toolkit: Toolkit.make(pay) }).run("?").pipe(
          Effect.provideService(Journal.current, journal),
          Effect.provide(ScriptedModel.layer(script))
        )
      yield* Effect.exit(play(ScriptedModel.call("pay", { cents: "5" })))
      assert.strictEqual(paid, 1)
      const { report } = yield* play(ScriptedModel.call("pay", { cents: "5" }), ScriptedModel.text("done"))
      assert.strictEqual(paid, 1)
      assert.deepStrictEqual(
        report.failures.map(({ code }) =>
          code
        ),
        ["outcome_unknown", "repeated_call"]
      )
    }))

  it.effect("has an unknown outcome if its handler cannot read the answer, but not if it returns a wrong one", () =>
    Effect.gen(function*() {
      const unreadable = new SchemaMismatch({ side: "result", code: "truncated", detail: "Cut off." })
      const failed = yield* messageOf(acting("pay", Effect.fail(unreadable)))
      assert.strictEqual(failed.outcome.certainty, "unknown")
      assert.include(failed.text, "\"error\":\"SchemaMismatch\"")
      assert.include(failed.text, careful)
      assert.include(failed.text, "\"hint\":\"Call status to find out.\"")
      const lying = Tool.make(
        "pay",
        { description: "Pays", success: Schema.Int, onMismatch: "refuse", check: "status" },
        () => Effect.succeed(1.5)
      )
      const returned = yield* messageOf(lying)
      assert.strictEqual(returned.outcome.certainty, "executed")
      assert.include(returned.text, "\"error\":\"SchemaMismatch\"")
      assert.include(returned.text, "Do not repeat this call: it has already taken effect.")
      const reading = yield* messageOf(acting("read", Effect.fail(unreadable), "none"))
      assert.notInclude(reading.text, careful)
    }))

  it.effect("has an unknown outcome after a transient failure without an outcome", () =>
    Effect.gen(function*() {
      const { outcome, text } = yield* messageOf(
        acting("pay", Effect.fail(silent)).pipe(Tool.retry(Schedule.recurs(2)))
      )
      assert.strictEqual(outcome.attempts, 1)
      assert.include(text, "\"code\":\"outcome_unknown\"")
      assert.include(text, careful)
      const permanent = new ToolUnavailable({ code: "permission_denied", detail: "No.", transient: false })
      assert.notInclude((yield* messageOf(acting("pay", Effect.fail(permanent)))).text, careful)
    }))

  it.effect("may have acted, even if its fallback failed differently", () =>
    Effect.gen(function*() {
      const garbage = new SemanticGarbage({ code: "no_such_card", detail: "There is no such card." })
      const pay = acting("pay", Effect.fail(lost)).pipe(Tool.fallback(() => Effect.fail(garbage)))
      const { outcome, text } = yield* messageOf(pay)
      assert.strictEqual(outcome.certainty, "unknown")
      assert.include(text, careful)
    }))

  it.effect("is the same call whether or not its arguments spell out defaults", () =>
    Effect.gen(function*() {
      let paid = 0
      const pay = Tool.make("pay", {
        description: "Pays",
        parameters: Schema.Struct({
          order: Schema.Trim,
          currency: Schema.String.pipe(Schema.withDecodingDefault(Effect.succeed("USD")))
        }),
        success: Schema.String
      }, () =>
        Effect.suspend(() => {
          paid++
          return Effect.fail(lost)
        }))
      const { report } = yield* Effect.provide(
        Agent.make({ toolkit: Toolkit.make(pay) }).run("?"),
        ScriptedModel.layer([
          ScriptedModel.call("pay", { order: "7" }),
          ScriptedModel.call("pay", { order: "7", currency: "USD" }),
          ScriptedModel.call("pay", { order: " 7 " }),
          ScriptedModel.text("done")
        ])
      )
      assert.strictEqual(paid, 1)
      assert.deepStrictEqual(report.failures.map(({ code }) => code), [
        "outcome_unknown",
        "repeated_call",
        "repeated_call"
      ])
    }))

  it.effect("stays in doubt once it may have acted, even if it certainly did nothing the next time", () =>
    Effect.gen(function*() {
      let attempts = 0
      const pay = acting("pay", Effect.suspend(() => Effect.fail(++attempts === 1 ? lost : refused)), "idempotent")
      const { transcript } = yield* Effect.provide(
        Agent.make({ toolkit: Toolkit.make(pay, status) }).run("?"),
        ScriptedModel.layer([...Array.from({ length: 4 }, () => ScriptedModel.call("pay")), ScriptedModel.text("done")])
      )
      const last = transcript.at(transcript.length - 2)
      assert.include(
        last?.role === "tool" ? last.text : "",
        "Do not repeat this call with these arguments: it may already have taken effect."
      )
    }))

  it.effect("is not retried while an abandoned attempt may still run", () =>
    Effect.gen(function*() {
      let attempts = 0
      const pay = acting(
        "pay",
        Effect.suspend(() => {
          attempts++
          return Effect.uninterruptible(Effect.never)
        })
      ).pipe(
        Tool.timeout("1 second"),
        Tool.mapFailure(() => refused),
        Tool.retry(Schedule.recurs(2))
      )
      const fiber = yield* Effect.forkChild(Effect.flip(pay.run({})), { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)
      assert.strictEqual(attempts, 1)
    }))

  it.effect("counts the attempts that an inner tool abandoned", () =>
    Effect.gen(function*() {
      let attempts = 0
      const inner = acting("inner", Effect.uninterruptible(Effect.never)).pipe(
        Tool.timeout("1 second"),
        Tool.mapFailure(() => refused)
      )
      const outer = Tool.make("outer", { description: "Outer", success: Schema.String }, () =>
        Effect.suspend(() => {
          attempts++
          return Effect.mapError(inner.run({}), () => refused)
        })).pipe(Tool.mapFailure(() => refused), Tool.retry(Schedule.recurs(2)))
      const fiber = yield* Effect.forkChild(Effect.flip(outer.run({})), { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)
      assert.strictEqual(attempts, 1)
    }))
})

describe("idempotency keys", () => {
  const keyed = (name: string, keys: Array<string>, sideEffect: SideEffect.SideEffect = "idempotent") =>
    Tool.make(
      name,
      { description: name, success: Schema.String, sideEffect },
      () =>
        Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => {
          keys.push(idempotencyKey)
          return Effect.fail(lost)
        })
    )

  it.effect("of a fallback are the same for every attempt, even if the handler never runs", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const mirror = keyed("mirror", keys)
      const held = acting("pay", Effect.never, "idempotent").pipe(Tool.concurrency(1, { maxWait: 0 }))
      yield* Effect.forkChild(held.run({}), { startImmediately: true })
      const pay = held.pipe(Tool.fallback(mirror.run), Tool.retry(Schedule.recurs(1)))
      yield* Effect.flip(pay.run({}).pipe(ToolCall.withKey("order-7")))
      assert.strictEqual(lettered(keys), "a a")
    }))

  it.effect("of inner calls differ, even if a timeout abandoned a read-only one in between", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const inner = keyed("inner", keys, "none")
      const outer = acting(
        "outer",
        Effect.uninterruptible(
          Effect.ignore(inner.run({})).pipe(
            Effect.andThen(Effect.sleep("2 seconds")),
            Effect.andThen(Effect.ignore(inner.run({}))),
            Effect.as("done")
          )
        )
      ).pipe(Tool.timeout("1 second"))
      const fiber = yield* Effect.forkChild(Effect.flip(outer.run({}).pipe(ToolCall.withKey("k"))), {
        startImmediately: true
      })
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)
      assert.strictEqual(lettered(keys), "a b")
    }))
})

describe("an abandoned handler", () => {
  it.effect("adds no notes to the answer that replaced its own, and does not count as another attempt", () =>
    Effect.gen(function*() {
      let attempts = 0
      const tool = Tool.make(
        "t",
        { description: "t", success: Schema.String, sideEffect: "none" },
        () =>
          Effect.suspend(() =>
            ++attempts === 1
              ? Effect.uninterruptible(
                Effect.andThen(Effect.sleep("3 seconds"), Effect.as(ToolCall.caveat("late"), "late"))
              )
              : Effect.andThen(ToolCall.caveat("in time"), Effect.as(Effect.sleep("500 millis"), "in time"))
          )
      ).pipe(Tool.timeout("1 second"), Tool.retry(Schedule.recurs(1)))
      const fiber = yield* Effect.forkChild(
        Dispatch.call(Toolkit.make(tool), { id: "1", name: "t" }),
        { startImmediately: true }
      )
      yield* TestClock.adjust("1 minute")
      const outcome = yield* Fiber.join(fiber)
      assert.deepInclude(outcome, { value: "in time", caveats: ["in time"], attempts: 2 })
    }))
})
