/** Laws of connections: they break, hang, and are closed. */
import { ModelFailure } from "@fallible/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import * as FakeModelServer from "../../FakeModelServer.ts"
import * as ScriptedModel from "../../ScriptedModel.ts"
import { demand, differ, failing, found, isConnected, playing, question, type Rule, same, turns, ways } from "./rule.ts"

// -----------------------------------------------------------------------------
// Broken replies
// -----------------------------------------------------------------------------

const spoken = {
  ...ScriptedModel.call("get_weather", { city: "Zürich" }),
  text: "I am going to look up how warm it is there."
}

// Without a connection, a stream cannot break.
const breaking = (name: string, holds: Rule["holds"]): Rule => ({
  name,
  holds: (subject) => isConnected(subject) ? holds(subject) : Effect.void
})

const cutAnywhere = breaking(
  "A reply that is dropped anywhere is the whole reply, or a transient failure.",
  (subject) =>
    Effect.forEach(
      ways,
      ([way, ask]) =>
        Effect.forEach(places, (bytes) =>
          playing(subject, [FakeModelServer.drop(spoken, bytes)], ({ model }) =>
            Effect.gen(function*() {
              const exit = yield* Effect.exit(ask(model))
              if (Exit.isSuccess(exit)) {
                const { calls, text } = exit.value
                return yield* same("a whole reply", { calls, text }, { calls: spoken.calls, text: spoken.text })
              }
              const failure = yield* failing(exit, "a failure")
              yield* demand(
                failure instanceof ModelFailure && failure.transient && /^(connection|cut_off)$/.test(failure.code),
                "a transient failure with the code cut_off or connection",
                failure
              )
            })).pipe(found(`${way}, after ${bytes} bytes`))),
      { discard: true }
    )
)

const places = [0, 1, ...Array.from({ length: 40 }, (_, index) => 10 + index * 41), -100, -60, -30, -10, -3, -2, -1]

const odd = breaking(
  "An answer that is not a reply is a failure, and no defect.",
  (subject) =>
    Effect.forEach(ways, ([way, ask]) =>
      Effect.forEach(
        oddBodies,
        (body) =>
          playing(subject, [FakeModelServer.raw(body)], ({ model }) =>
            Effect.gen(function*() {
              const exit = yield* Effect.exit(ask(model))
              if (Exit.isSuccess(exit) && isEmpty(exit.value)) return
              const failure = yield* failing(exit, "a failure")
              yield* demand(
                failure instanceof ModelFailure && failure.code !== "defect",
                "a ModelFailure with another code than defect",
                failure
              )
            })).pipe(found(`${way}: ${JSON.stringify(body)}`)),
        { discard: true }
      ))
)

const oddBodies = ["", "null", "{}", "[]", "{", "<html>Bad gateway</html>", "data: {\n\n", "data: null\n\n", "\n\n"]

// An adapter may read an empty answer as an empty reply, which the agent asks for again.
const isEmpty = ({ calls, text }: { readonly calls: ReadonlyArray<unknown>; readonly text: string }): boolean =>
  calls.length === 0 && text === ""

// -----------------------------------------------------------------------------
// Time
// -----------------------------------------------------------------------------

const waiting = breaking(
  "A server that does not answer is waited for until the timeout, and no longer.",
  (subject) =>
    Effect.forEach(ways, ([way, ask]) =>
      Effect.gen(function*() {
        const begun = yield* Deferred.make<void>()
        const hanging = Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)
        yield* playing(subject, [hanging, ScriptedModel.text("Late.")], ({ model, requests }) =>
          Effect.gen(function*() {
            const fiber = yield* Effect.forkChild(failing(ask(model), "a failure after 5 seconds"))
            yield* Deferred.await(begun)
            yield* failsAfterTheTimeout(fiber)
            yield* same("the number of requests", (yield* requests).length, 1)
          }), { timeout: "5 seconds", retry: Schedule.recurs(2) })
      }).pipe(found(way)))
)

// The time that is left is the whole timeout, of 5 seconds.
const failsAfterTheTimeout = (fiber: Fiber.Fiber<unknown, unknown>) =>
  Effect.gen(function*() {
    yield* TestClock.adjust(4_999)
    yield* turns
    yield* demand(fiber.pollUnsafe() === undefined, "no failure after 4,999 ms", "one")
    yield* TestClock.adjust(1)
    const failure = yield* Fiber.join(fiber)
    yield* demand(failure instanceof ModelFailure && failure.code === "timeout", "the code timeout", failure)
  })

const stalling = breaking(
  "A stream that hangs in its middle is waited for until the timeout, and no longer.",
  (subject) =>
    playing(subject, [FakeModelServer.stall(long, 6_000)], ({ model }) =>
      Effect.gen(function*() {
        const shown = yield* Deferred.make<void>()
        const parts = Stream.tap(
          model.stream(question),
          ({ _tag }) => _tag === "TextDelta" ? Deferred.succeed(shown, undefined) : Effect.void
        )
        const fiber = yield* Effect.forkChild(failing(Stream.runDrain(parts), "a failure after 5 seconds"))
        yield* Effect.raceFirst(Deferred.await(shown), Fiber.join(fiber))
        yield* turns
        yield* failsAfterTheTimeout(fiber)
      }), { timeout: "5 seconds", retry: Schedule.recurs(2) })
)

const long = ScriptedModel.text("A text that is long enough to hang in its middle. ".repeat(20))

const slow: Rule = {
  name: "A slow reply is waited for.",
  holds: (subject) =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const atLast = Deferred.succeed(begun, undefined).pipe(
        Effect.andThen(Effect.sleep("1 minute")),
        Effect.as(ScriptedModel.text("At last."))
      )
      yield* playing(subject, [atLast], ({ model }) =>
        Effect.gen(function*() {
          const fiber = yield* Effect.forkChild(model.respond(question))
          yield* Deferred.await(begun)
          yield* TestClock.adjust("1 minute")
          yield* same("the text", (yield* Fiber.join(fiber)).text, "At last.")
        }), { timeout: "2 minutes" })
    })
}

// -----------------------------------------------------------------------------
// The caller
// -----------------------------------------------------------------------------

const interrupted: Rule = {
  name: "A request is aborted when the caller stops waiting, and leaves nothing open.",
  holds: (subject) =>
    Effect.forEach(ways, ([way, ask]) =>
      Effect.gen(function*() {
        const begun = yield* Deferred.make<void>()
        const stopped = yield* Deferred.make<void>()
        const hanging = Deferred.succeed(begun, undefined).pipe(
          Effect.andThen(Effect.never),
          Effect.onInterrupt(() => Deferred.succeed(stopped, undefined))
        )
        yield* playing(subject, [hanging], ({ idle = Effect.void, model }) =>
          Effect.gen(function*() {
            const fiber = yield* Effect.forkChild(Effect.exit(ask(model)))
            yield* Deferred.await(begun)
            yield* Fiber.interrupt(fiber)
            // The server still runs, so only the closed connection can stop the reply.
            const hasStopped = yield* Effect.raceFirst(
              Effect.as(Deferred.await(stopped), true),
              Effect.as(Effect.replicateEffect(turns, 2_000), false)
            )
            yield* demand(hasStopped, "the server hears that the caller is gone", "nothing")
            yield* idle
          }))
      }).pipe(found(way)))
}

const leftStream = breaking(
  "A stream that is left in its middle is closed.",
  (subject) =>
    playing(subject, [FakeModelServer.stall(long, 6_000)], ({ idle = Effect.void, model }) =>
      Effect.gen(function*() {
        const parts = Stream.takeUntil(model.stream(question), ({ _tag }) => _tag === "TextDelta")
        const last = (yield* Stream.runCollect(parts)).at(-1)
        if (last?._tag !== "TextDelta") return yield* Effect.fail(differ("a piece of text", last))
        yield* idle
      }))
)

export const connections: ReadonlyArray<Rule> = [
  cutAnywhere,
  odd,
  waiting,
  stalling,
  slow,
  interrupted,
  leftStream
]
