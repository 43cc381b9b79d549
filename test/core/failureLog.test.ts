import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  Dispatch,
  Model,
  ModelFailure,
  Observer,
  Policy,
  RetryPolicy,
  SemanticGarbage,
  Tool,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Effect, Logger, type LogLevel, Option, Random, References, Schedule, Schema } from "effect"
import { passing } from "../support/virtualTime.ts"

const refused = new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })

const failing = <E extends SemanticGarbage | ToolUnavailable>(failure: E, name = "get_weather") =>
  Tool.make(name, { description: "", success: Schema.String, sideEffect: "none" }, () => Effect.fail(failure))

interface Line {
  readonly level: LogLevel.LogLevel
  readonly message: string
  readonly cause: unknown
  readonly annotations: object
}

/** Returns the lines that a logger gets, at every level. */
const lines = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const lines: Array<Line> = []
    const logger = Logger.make(({ cause, fiber, logLevel, message }) => {
      lines.push({
        level: logLevel,
        message: String(message),
        cause: Option.getOrUndefined(Cause.findErrorOption(cause)),
        annotations: fiber.getRef(References.CurrentLogAnnotations)
      })
    })
    return Effect.as(Effect.provide(self, Logger.layer([logger])), lines)
  })

const messages = (lines: ReadonlyArray<Line>) => lines.map(({ message }) => message)

const dispatch = <T extends Tool.Any>(tool: T) =>
  Dispatch.call(Toolkit.make(tool), { id: "1", name: tool.name }, { idempotencyKey: "k" }).pipe(
    Observer.observe({ failureLevel: "Info" })
  )

describe("FailureLog", () => {
  it.effect("logs each retry with its number, the maximal number, and the wait", () =>
    passing(Effect.gen(function*() {
      const tool = failing(refused).pipe(Tool.retry(RetryPolicy.transient))
      const logged = yield* lines(dispatch(tool)).pipe(
        Effect.provideService(Random.Random, { nextDoubleUnsafe: () => 0.5, nextIntUnsafe: () => 0 })
      )
      assert.deepStrictEqual(messages(logged), [
        "get_weather failed (connection): Refused. Retry 1 of 2 in 0.10 s.",
        "get_weather failed (connection): Refused. Retry 2 of 2 in 0.20 s.",
        "get_weather failed (connection): Refused. The model was told, after 3 attempts."
      ])
    })))

  it.effect("omits the maximal number of retries if the schedule does not declare it", () =>
    passing(Effect.gen(function*() {
      const tool = failing(refused).pipe(Tool.retry(Schedule.upTo(Schedule.spaced("1 second"), { times: 1 })))
      assert.strictEqual(
        messages(yield* lines(dispatch(tool)))[0],
        "get_weather failed (connection): Refused. Retry 1 in 1.0 s."
      )
    })))

  it.effect("names the policy that handled a failure", () =>
    Effect.gen(function*() {
      const unknown = new SemanticGarbage({ code: "unknown_city", detail: "Unknown city." })
      const swallowing = Policy.make({
        kind: "custom",
        name: "second try",
        description: "",
        wrap: (run) => (params) => Effect.catch(run(params), () => run(params))
      })
      const told: ReadonlyArray<readonly [Tool.Any, ReadonlyArray<string>]> = [
        [
          Tool.fallback(failing(refused), () => Effect.succeed("rain")),
          ["get_weather failed (connection): Refused. The fallback was tried."]
        ],
        [
          Tool.catchTag(failing(unknown), "SemanticGarbage", () => Effect.succeed("rain")),
          ["get_weather failed (unknown_city): Unknown city. A catch handled it."]
        ],
        [
          failing(unknown).pipe(Tool.with(swallowing)),
          [
            "get_weather failed (unknown_city): Unknown city. The policy 'second try' handled it.",
            "get_weather failed (unknown_city): Unknown city. The model was told, after 2 attempts."
          ]
        ]
      ]
      for (const [tool, expected] of told) {
        // The tools of this union need no services.
        const run: Effect.Effect<unknown> = Dispatch.call(Toolkit.make(tool), { id: "1", name: tool.name }) as never
        const logged = yield* lines(Observer.observe(run, { failureLevel: "Info" }))
        assert.deepStrictEqual(messages(logged), expected)
      }
    }))

  it.effect("names the inner tool that failed", () =>
    Effect.gen(function*() {
      const inner = failing(refused, "inner").pipe(Tool.fallback(() => Effect.succeed("rain")))
      const outer = Tool.make(
        "outer",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => inner.run({})
      )
      assert.deepStrictEqual(messages(yield* lines(dispatch(outer))), [
        "inner failed (connection): Refused. The fallback was tried."
      ])
    }))

  it.effect("has the annotations of the run, but no cause, which may quote a secret", () =>
    Effect.gen(function*() {
      const cause = new Error("GET http://localhost/?api_key=secret")
      const tool = failing(new ToolUnavailable({ ...refused, cause })).pipe(Tool.fallback(() => Effect.succeed("rain")))
      const run = Agent.make({ toolkit: Toolkit.make(tool) }).run("?").pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("get_weather"), ScriptedModel.text("done")])),
        Observer.observe({ failureLevel: "Info" })
      )
      const [line] = yield* lines(run)
      assert.deepInclude(line?.annotations, { turn: 1, tool: "get_weather" })
      assert.strictEqual(line?.cause, undefined)
    }))

  it.effect("logs a call that never reached its tool once", () =>
    Effect.gen(function*() {
      const run = Dispatch.call(Toolkit.make(failing(refused)), { id: "1", name: "get_wether" })
      assert.deepStrictEqual(messages(yield* lines(Observer.observe(run, { failureLevel: "Info" }))), [
        "get_wether failed (unknown_tool): There is no tool named 'get_wether'. Did you mean 'get_weather'? The model was told."
      ])
    }))

  it.effect("has the configured level, and Debug by default", () =>
    Effect.gen(function*() {
      const run = Dispatch.call(Toolkit.make(failing(refused)), { id: "1", name: "get_weather" })
      const all = Effect.provideService(References.MinimumLogLevel, "All" as const)
      assert.deepStrictEqual(yield* lines(run), [])
      assert.deepStrictEqual((yield* lines(all(run))).map(({ level }) => level), ["Debug"])
      for (const level of ["Warn", "Error"] as const) {
        const logged = yield* lines(Observer.observe(run, { failureLevel: level }))
        assert.deepStrictEqual(logged.map(({ level }) => level), [level])
      }
      assert.deepStrictEqual(yield* lines(all(Observer.observe(run, { failureLevel: "None" }))), [])
    }))

  it.effect("has the same level for a call that was done before: nothing is in doubt", () =>
    Effect.gen(function*() {
      const pay = Tool.make("pay", { description: "Pays", success: Schema.String, repeats: false }, () =>
        Effect.succeed("receipt 1"))
      const program = Agent.make({ toolkit: Toolkit.make(pay) }).run("Pay.").pipe(
        Effect.provide(ScriptedModel.layer([
          ScriptedModel.call("pay"),
          ScriptedModel.call("pay"),
          ScriptedModel.text("Paid.")
        ]))
      )
      const { report } = yield* program
      assert.deepStrictEqual(
        report.failures.map((entry) =>
          "certainty" in entry ? [entry.code, entry.certainty] : []
        ),
        [
          ["already_done", "executed"]
        ]
      )
      const logged = yield* lines(Effect.provideService(program, References.MinimumLogLevel, "All" as const))
      assert.deepStrictEqual(logged.map(({ level }) => level), ["Debug"])
    }))

  it.effect("logs each failure of the model, and how it ended", () =>
    passing(Effect.gen(function*() {
      const busy = new ModelFailure({ code: "server_error", detail: "Busy.", transient: true })
      const hint = "Check\nOPENAI_API_KEY."
      const denied = new ModelFailure({
        code: "permission_denied",
        detail: "The key is wrong.",
        transient: false,
        hint
      })
      const run = Agent.make({ toolkit: Toolkit.empty, modelRetry: Schedule.spaced("1 second") }).run("?")
      const logged = yield* lines(
        Effect.exit(run).pipe(
          Effect.provide(ScriptedModel.layer([busy, busy, denied])),
          Observer.observe({ failureLevel: "Info" })
        )
      )
      const [{ annotations }] = logged as [Line]
      assert.match(String(annotations["run" as keyof object]), /^run-/)
      assert.isTrue(logged.every((line) => JSON.stringify(line.annotations) === JSON.stringify(annotations)))
      assert.deepInclude(annotations, { turn: 1 })
      assert.deepStrictEqual(messages(logged), [
        "The model failed (server_error): Busy. Retry 1 in 1.0 s.",
        "The model failed (server_error): Busy. Retry 2 in 1.0 s.",
        "The model failed (permission_denied): The key is wrong. The run ended, after 3 attempts. Check OPENAI_API_KEY."
      ])
    })))

  it.effect("leaves a defect to the defect reporter", () =>
    Effect.gen(function*() {
      const broken = Tool.make(
        "broken",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => Effect.die(new Error("no rows"))
      )
      assert.deepStrictEqual(messages(yield* lines(dispatch(broken))), [
        "The tool broken failed with an internal error"
      ])
    }))

  it.effect("never breaks a line", () =>
    Effect.gen(function*() {
      const odd = failing(new SemanticGarbage({ code: "odd", detail: "Two\nlines\u2028and more." }))
      assert.deepStrictEqual(messages(yield* lines(dispatch(odd))), [
        "get_weather failed (odd): Two lines and more. The model was told."
      ])
    }))

  it.effect("does not affect calls or runs if a logger throws", () =>
    passing(Effect.gen(function*() {
      const full = Logger.layer([Logger.make(() => {
        throw new Error("The disk is full.")
      })])
      const told = yield* Effect.provide(dispatch(failing(refused)), full)
      assert.strictEqual(told._tag, "Failed")
      const handled = yield* Effect.provide(
        dispatch(failing(refused).pipe(Tool.fallback(() => Effect.succeed("")))),
        full
      )
      assert.strictEqual(handled._tag, "Completed")
      const busy = new ModelFailure({ code: "server_error", detail: "Busy.", transient: true })
      const model = Model.layer({ respond: () => Effect.fail(busy) })
      const run = Agent.make({ toolkit: Toolkit.empty, modelRetry: Schedule.recurs(1) }).run("Hi")
      const failure = yield* Effect.flip(
        run.pipe(Effect.provide(model), Effect.provide(full), Observer.observe({ failureLevel: "Info" }))
      )
      assert.strictEqual(failure.detail, "Busy.")
    })))
})
