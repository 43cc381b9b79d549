import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentFailure,
  Dispatch,
  Guard,
  Journal,
  Model,
  PartialData,
  Policy,
  Rendering,
  SchemaMismatch,
  SemanticGarbage,
  type SideEffect,
  Tool,
  ToolCall,
  type ToolFailure,
  Toolkit,
  ToolOutcome,
  ToolUnavailable
} from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Effect, Exit, Fiber, Logger, Schedule, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { nonsense, thenable, type Untyped } from "../support/nonsense.ts"
import { macrotask } from "../support/virtualTime.ts"

const paris = { city: "Paris" }
const definition = {
  description: "",
  parameters: Schema.Struct({ city: Schema.String }),
  success: Schema.String,
  sideEffect: "none"
} as const
const refused = new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })
const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })

const unclear = new SchemaMismatch({ side: "arguments", code: "unclear", detail: "Which city?" })

const failing = (failure: ToolFailure.ToolFailure<string>, sideEffect: SideEffect.SideEffect = "none") =>
  Tool.make("victim", { ...definition, sideEffect }, () => Effect.fail(failure))
const succeeding = Tool.make("victim", definition, () => Effect.succeed("fine"))
const sibling = Tool.make("sibling", definition, ({ city }) => Effect.succeed(`${city} is well.`))

/** An Effect, with all that it logs: the message, and what its cause says. */
const logging = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const logged: Array<string> = []
    const logger = Logger.make(({ cause, logLevel, message }) => {
      const told = cause.reasons.map((reason) => Cause.isDieReason(reason) ? String(reason.defect) : String(reason))
      logged.push([logLevel, String(message), ...told].join(" | "))
    })
    return Effect.map(Effect.provide(effect, Logger.layer([logger])), (value) => ({ value, logged }))
  })

const outcomeOf = (tool: Untyped, args: object = paris): Effect.Effect<ToolOutcome.ToolOutcome> =>
  Dispatch.call(Toolkit.make(tool as typeof sibling), { id: "1", name: tool.name, arguments: JSON.stringify(args) })

const read = (outcome: ToolOutcome.ToolOutcome) => Rendering.json(outcome, { id: "1", name: "p" })

const handling = (handler: Untyped, sideEffect: SideEffect.SideEffect = "none"): Untyped =>
  Tool.make("p", { ...definition, sideEffect }, handler)

describe("a handler that breaks its fiber", () => {
  it.live("fails by itself, with or without a time limit, and with one that never ends it", () =>
    Effect.gen(function*() {
      const breaking = handling(() => Effect.flatMap(Effect.void, (): Untyped => 7 as Untyped))
      for (const tool of [breaking, Tool.timeout(breaking, "1 second"), Tool.timeout(breaking, "Infinity")]) {
        const { value } = yield* logging(outcomeOf(tool))
        assert.strictEqual(value._tag === "Failed" && value.failure.code, "defect")
      }
    }))
})

describe("a handler that returns a promise", () => {
  it.effect("fails by itself; the log says what to do, and the model does not", () =>
    Effect.gen(function*() {
      const { logged, value } = yield* logging(outcomeOf(handling(async () => "sunny")))
      assert.deepStrictEqual(logged, [
        "Error | The tool p failed because of a fault of its own | TypeError: The handler of 'p' returned a promise: wrap it in Effect.tryPromise."
      ])
      assert.isTrue(value._tag === "Failed" && value.failure.code === "defect" && value.certainty === "not_executed")
      assert.notInclude(read(value), "promise")
    }))

  it.effect("has begun: of a tool that acts, the outcome is unknown", () =>
    Effect.gen(function*() {
      for (const sideEffect of ["idempotent", "non_idempotent"] as const) {
        const { value } = yield* logging(outcomeOf(handling(async () => "paid", sideEffect)))
        if (value._tag !== "Failed") return assert.fail(value._tag)
        assert.strictEqual(value.certainty, "unknown")
        assert.deepInclude({ ...value.failure }, { outcome: "unknown" })
      }
    }))

  it.effect("is not run again by a retry, and no fallback answers for it", () =>
    Effect.gen(function*() {
      let runs = 0
      const handler = async () => {
        runs++
      }
      const tool = handling(handler).pipe(
        Tool.retry(Schedule.recurs(3)),
        Tool.fallback(() => Effect.succeed("elsewhere"))
      )
      const { value } = yield* logging(outcomeOf(tool))
      assert.deepStrictEqual([value._tag, runs], ["Failed", 1])
    }))

  it.effect("counts as running until the promise has settled", () =>
    Effect.gen(function*() {
      const { promise, resolve } = Promise.withResolvers<string>()
      const tool = handling(() => promise).pipe(Tool.concurrency(1, { maxWait: 0 }))
      const codes: Array<string> = []
      const once = Effect.map(outcomeOf(tool), (outcome) => {
        if (outcome._tag === "Failed") codes.push(outcome.failure.code)
      })
      yield* logging(Effect.andThen(once, once))
      resolve("done")
      yield* macrotask
      yield* logging(once)
      assert.deepStrictEqual(codes, ["defect", "bulkhead_full", "defect"])
    }))

  it.effect("may reject it: that is logged, and ends nothing", () =>
    Effect.gen(function*() {
      const { logged } = yield* logging(Effect.gen(function*() {
        yield* outcomeOf(handling(async () => {
          throw new Error("no such city")
        }))
        yield* macrotask
      }))
      assert.strictEqual(logged.length, 2)
      assert.include(logged[1], "The handler of 'p' left a promise that was rejected")
      assert.include(logged[1], "no such city")
    }))

  it.effect("may be that of a tool that was put together by hand, with a policy around it or not", () =>
    Effect.gen(function*() {
      const byHand: Untyped = { ...sibling, run: async () => "sunny" }
      for (const tool of [byHand, Tool.timeout(byHand, "1 second")]) {
        const { logged, value } = yield* logging(outcomeOf(tool))
        assert.isTrue(value._tag === "Failed" && value.failure.code === "defect")
        assert.include(logged[0], "The run of 'sibling' returned a promise: wrap it in Effect.tryPromise.")
      }
    }))

  it.effect("is not awaited when it is a thenable, which may be a query that starts then", () =>
    Effect.gen(function*() {
      let started = false
      const query = thenable(() => {
        started = true
      })
      const { logged } = yield* logging(outcomeOf(handling(() => query)))
      yield* macrotask
      assert.isFalse(started)
      assert.include(logged[0], "returned a promise")
    }))
})

describe("a handler's own fiber", () => {
  it.effect("may be interrupted by the handler, which costs the run nothing", () =>
    Effect.gen(function*() {
      const tool = handling(() =>
        Effect.andThen(
          Effect.withFiber((fiber) => Effect.sync(() => fiber.interruptUnsafe())),
          Effect.never
        )
      )
      const agent = Agent.make({ toolkit: Toolkit.make(tool as typeof sibling, sibling) })
      const { value } = yield* logging(agent.run("?"))
      assert.strictEqual(value.text, "Done.")
      assert.deepStrictEqual(value.ledger.failures.map(({ code }) => code), ["defect"])
    }).pipe(
      Effect.provide(
        ScriptedModel.layer([ScriptedModel.calls(["p", paris], ["sibling", paris]), ScriptedModel.text("Done.")])
      )
    ))

  it("takes as many steps as it likes in a program that runs in one go", () => {
    const steps = Effect.forEach(Array.from({ length: 10_000 }), () => Effect.sync(() => 1))
    const tool = Tool.make("p", definition, () => Effect.map(steps, ({ length }) => String(length)))
    assert.strictEqual(Effect.runSync(tool.run(paris)), "10000")
  })

  it.effect("has ended before an interrupted caller goes on, and what it dies of then is not lost", () =>
    Effect.gen(function*() {
      const ended: Array<string> = []
      const tool = Tool.make("p", definition, () =>
        Effect.never.pipe(
          Effect.ensuring(Effect.andThen(Effect.sleep("1 second"), Effect.sync(() => ended.push("handler")))),
          Effect.onInterrupt(() => Effect.die("dropped"))
        ))
      const fiber = yield* Effect.forkChild(tool.run(paris))
      yield* Effect.yieldNow
      const interruption = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* TestClock.adjust("999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(interruption)
      const exit = yield* Fiber.await(fiber)
      assert.deepStrictEqual(ended, ["handler"])
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause) && Cause.hasDies(exit.cause))
    }))

  it.effect("is none that may be interrupted where the caller may not be, but for what says so itself", () =>
    Effect.gen(function*() {
      const ended: Array<string> = []
      const tool = Tool.make("p", definition, () =>
        Effect.gen(function*() {
          yield* Effect.sleep("1 second")
          yield* Effect.exit(Effect.interruptible(Effect.never))
          return yield* Effect.sync(() => `${ended.push("handler")}`)
        }))
      const caller = tool.run(paris).pipe(Effect.tap(() => Effect.sync(() => ended.push("caller"))))
      const fiber = yield* Effect.forkChild(Effect.uninterruptible(caller))
      yield* Effect.yieldNow
      fiber.interruptUnsafe()
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(ended, [])
      yield* TestClock.adjust("1 millis")
      assert.isDefined(fiber.pollUnsafe())
      assert.deepStrictEqual(ended, ["handler", "caller"])
    }))

  it.effect("is interrupted with the run: nobody reports that as a fault of the journal, the model or the tool", () =>
    Effect.gen(function*() {
      const journal = { step: <A, E, R>(_: unknown, effect: Effect.Effect<A, E, R>) => Effect.map(effect, (a) => a) }
      const tool = Tool.make("p", definition, () => Effect.never)
      const hanging = Model.layer({ respond: () => Effect.never })
      const calling = ScriptedModel.layer([ScriptedModel.call("p", paris)])
      for (const layer of [hanging, calling]) {
        const { logged } = yield* logging(Effect.gen(function*() {
          const run = Agent.make({ toolkit: Toolkit.make(tool) }).run("?").pipe(
            Effect.provide(layer),
            Effect.provideService(Journal.current, journal)
          )
          const fiber = yield* Effect.forkChild(run, { startImmediately: true })
          yield* macrotask
          yield* Fiber.interrupt(fiber)
        }))
        assert.deepStrictEqual(logged, [])
      }
    }))

  it.effect("ends what it has forked as a child, and nothing else", () =>
    Effect.gen(function*() {
      const ended: Array<string> = []
      const going = (name: string) =>
        Effect.onExit(Effect.sleep("1 second"), (exit) => Effect.sync(() => ended.push(`${name}: ${exit._tag}`)))
      const fork = { startImmediately: true }
      const tool = Tool.make("p", definition, () =>
        Effect.gen(function*() {
          yield* Effect.forkChild(going("child"), fork)
          yield* Effect.forkDetach(going("detached"), fork)
          return "done"
        }))
      yield* tool.run(paris)
      assert.deepStrictEqual(ended, ["child: Failure"])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(ended, ["child: Failure", "detached: Success"])
    }))

  const steps: Readonly<Record<string, <A, E, R>(inner: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>>> = {
    "in one go": (inner) => inner,
    later: (inner) => Effect.andThen(Effect.yieldNow, inner)
  }
  for (const [when, step] of Object.entries(steps)) {
    const descend = (bottom: Effect.Effect<number>) => {
      const counts = { opened: 0, closed: 0 }
      const tool: Tool.Tool<"p", { readonly n: number }, number> = Tool.make("p", {
        description: "",
        parameters: Schema.Struct({ n: Schema.Number }),
        success: Schema.Number
      }, ({ n }) =>
        Effect.suspend(() => {
          counts.opened++
          const inner: Effect.Effect<number> = n === 0
            ? bottom
            : Effect.map(step(Effect.suspend(() => tool.run({ n: n - 1 }))), (m) => m + 1)
          return Effect.ensuring(inner, Effect.sync(() => counts.closed++))
        }))
      return { counts, run: tool.run({ n: 5000 }) }
    }

    it.live(`costs no stack: thousands of tools run inside of each other, each begun ${when}`, () =>
      Effect.gen(function*() {
        const { counts, run } = descend(Effect.succeed(0))
        assert.strictEqual(yield* run, 5000)
        assert.deepStrictEqual(counts, { opened: 5001, closed: 5001 })
      }))

    it.live(`costs no stack when all of them are interrupted, each begun ${when}`, () =>
      Effect.gen(function*() {
        const { promise, resolve } = Promise.withResolvers<void>()
        const { counts, run } = descend(Effect.andThen(Effect.sync(resolve), Effect.never))
        const fiber = yield* Effect.forkChild(run)
        yield* Effect.promise(() => promise)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(counts, { opened: 5001, closed: 5001 })
      }))
  }

  it("costs no stack in a program that runs in one go", () => {
    const tool: Tool.Tool<"p", { readonly n: number }, number> = Tool.make(
      "p",
      { description: "", parameters: Schema.Struct({ n: Schema.Number }), success: Schema.Number },
      ({ n }) => n === 0 ? Effect.succeed(0) : Effect.map(Effect.suspend(() => tool.run({ n: n - 1 })), (m) => m + 1)
    )
    assert.strictEqual(Effect.runSync(tool.run({ n: 5000 })), 5000)
  })
})

describe("what a log says of other answers", () => {
  const said: ReadonlyArray<readonly [string, () => unknown, string]> = [
    ["a text", () => "sunny", "returned a string, which is not an Effect: wrap it in Effect.succeed."],
    ["nothing", () => undefined, "returned nothing, and not an Effect: is a `return` missing?"],
    [
      "a generator",
      function*() {},
      "returned a generator: wrap its function in Effect.fnUntraced."
    ],
    [
      "a promise in an Effect",
      () => Effect.sync(async () => "sunny"),
      "succeeded with a promise: wrap it in Effect.tryPromise."
    ]
  ]
  for (const [what, handler, told] of said) {
    it.effect(`of ${what}`, () =>
      Effect.gen(function*() {
        const { logged } = yield* logging(outcomeOf(handling(handler)))
        assert.deepStrictEqual(logged, [
          `Error | The tool p failed because of a fault of its own | TypeError: The handler of 'p' ${told}`
        ])
      }))
  }

  it.effect("of the functions of policies", () =>
    Effect.gen(function*() {
      const promised = (async () => "x") as Untyped
      const tools: ReadonlyArray<readonly [Untyped, string]> = [
        [Tool.fallback(failing(refused), promised), "The fallback of 'victim' returned a promise"],
        [Tool.catchTag(failing(refused), "ToolUnavailable", promised), "The catch of 'victim' returned a promise"],
        [
          Tool.mapFailure(failing(refused), promised),
          "The mapping of failures of 'victim' returned a promise, which is not one of the four failures."
        ],
        [
          Tool.reconcile(failing(lost, "non_idempotent"), promised),
          "The check of 'victim' returned a promise"
        ],
        [
          Tool.fix(failing(unclear), promised),
          "The fixer of 'victim' returned a promise: wrap it in Effect.tryPromise."
        ],
        [
          succeeding.pipe(
            Tool.with(Policy.make({ kind: "custom", name: "mine", description: "", wrap: () => promised }))
          ),
          "The policy 'mine' of 'victim' returned a promise"
        ],
        [
          Tool.make("victim", definition, () => Effect.succeed("fine").pipe(Guard.check(promised))),
          "A function of Guard.check returned a promise"
        ],
        [
          Tool.make("victim", definition, () => Effect.succeed("fine").pipe(Guard.partial(promised))),
          "A function of Guard.partial returned a promise, and it must answer at once."
        ]
      ]
      for (const [tool, told] of tools) {
        const { logged } = yield* logging(outcomeOf(tool))
        assert.include(logged.join(), told)
      }
    }))

  it.effect("of a rendering", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(sibling), rendering: (async () => "x") as Untyped })
      const { logged, value } = yield* logging(agent.run("?"))
      assert.include(logged[0], "The rendering returned a promise, and it must answer at once.")
      // What came of the call is not lost with it.
      assert.deepInclude(value.transcript.at(2), { text: "\"Paris is well.\"" })
    }).pipe(
      Effect.provide(ScriptedModel.layer([ScriptedModel.call("sibling", paris), ScriptedModel.text("Done.")]))
    ))
})

describe("a policy that nobody could run", () => {
  const wrong: ReadonlyArray<readonly [string, () => unknown, RegExp]> = [
    [
      "a retry without a Schedule",
      () => succeeding.pipe(Tool.retry(3 as Untyped)),
      /^A retry takes a Schedule; got a number\.$/
    ],
    [
      "a retry of nothing",
      () => succeeding.pipe(Tool.retry((() => 3) as Untyped)),
      /^A retry takes a Schedule; got a num/
    ],
    [
      "a wrap that is not a function",
      () =>
        succeeding.pipe(
          Tool.with(Policy.make({ kind: "custom", name: "mine", description: "", wrap: () => 3 as Untyped }))
        ),
      /^The policy 'mine' of 'victim' wraps a run in a number, which is not a function\.$/
    ],
    [
      "a handler that is not a function",
      () => Tool.make("p", definition, 3 as Untyped),
      /^A tool's handler is a function; got 3\.$/
    ],
    [
      "parameters that are JSON Schema",
      () =>
        Tool.make(
          "p",
          { ...definition, parameters: { type: "object" } as Untyped },
          () => Effect.succeed("") as Untyped
        ),
      /^A tool's parameters are a Schema; got {"type":"object"}\.$/
    ],
    [
      "a success that is missing",
      () => Tool.make("p", { description: "" } as Untyped, () => Effect.succeed("") as Untyped),
      /^A tool's success is a Schema; got nothing\.$/
    ],
    [
      "a list of tools",
      () => Toolkit.make([succeeding] as Untyped),
      /^A toolkit is made of tools; got an array of 1\.$/
    ],
    [
      "an agent with a list of tools",
      () => Agent.make({ toolkit: [succeeding] as Untyped }),
      /^An agent has a Toolkit; got an array of 1\.$/
    ],
    [
      "an agent without a toolkit",
      () => Agent.make({ tools: [succeeding] } as Untyped),
      /^An agent has a Toolkit; got nothing\.$/
    ],
    [
      "a rendering by its name",
      () => Agent.make({ toolkit: Toolkit.empty, rendering: "json" as Untyped }),
      /^An agent's rendering is a function; got a string\.$/
    ],
    [
      "instructions that are to come",
      () => Agent.make({ toolkit: Toolkit.empty, instructions: Promise.resolve("") as Untyped }),
      /^An agent's instructions are a text; got a promise, which has to be awaited\.$/
    ],
    [
      "a fallback that is an Effect",
      () => Tool.fallback(failing(refused), Effect.succeed("x") as Untyped),
      /^A fallback is a function; got an object\.$/
    ],
    [
      "a catch of an unknown tag",
      () => Tool.catchTag(failing(refused), "Unavailable" as Untyped, () => Effect.succeed("x")),
      /^A failure's tag is one of 'SchemaMismatch', .*; got "Unavailable"\.$/
    ],
    [
      "an unknown side effect",
      () => Tool.make("p", { ...definition, sideEffect: "read_only" as Untyped }, () => Effect.succeed("")),
      /^A tool's sideEffect is one of 'none', 'idempotent', 'idempotent_by_key', 'non_idempotent'; got "read_only"\.$/
    ],
    [
      "one name instead of a list",
      () => Tool.make("p", { ...definition, instead: "mirror" as Untyped }, () => Effect.succeed("")),
      /^A tool's 'instead' is a list of names; got "mirror"\.$/
    ],
    [
      "a check by the tool itself",
      () => Tool.make("pay", { description: "", success: Schema.Void, check: "pay" }, () => Effect.void),
      /^A tool's 'check' is the name of another tool; got "pay"\.$/
    ],
    [
      "a description that is missing",
      () => Tool.make("p", { success: Schema.String } as Untyped, () => Effect.succeed("") as Untyped),
      /^A tool's description is a text; got nothing\.$/
    ]
  ]
  for (const [what, make, message] of wrong) {
    it(`throws where it is written: ${what}`, () => {
      assert.throws(make, message)
    })
  }
})

describe("a failure of ill-typed fields", () => {
  const plain: Untyped = {}

  it.effect("has texts, and the log says so", () =>
    Effect.gen(function*() {
      const { logged, value } = yield* logging(
        Effect.sync(() => new SemanticGarbage({ code: plain.code, detail: plain.message }))
      )
      assert.deepInclude({ ...value }, { code: "unspecified", detail: "The failure does not say what went wrong." })
      assert.deepStrictEqual(logged, [
        "Warn | A SemanticGarbage was made of ill-typed fields: 'code' is missing; 'detail' is missing."
      ])
    }))

  const made: ReadonlyArray<readonly [given: unknown, detail: string]> = [
    [7, "7"],
    [new Error("No such city."), "No such city."],
    [{ message: "Closed.", token: "hunter2" }, "Closed."],
    [{ token: "hunter2" }, "The failure does not say what went wrong."],
    [Object.assign(new Error(""), { token: "hunter2" }), "The failure does not say what went wrong."],
    [new URL("https://somebody:hunter2@example.com"), "The failure does not say what went wrong."],
    [null, "The failure does not say what went wrong."],
    [Symbol("x"), "The failure does not say what went wrong."],
    [new Promise(() => {}), "The failure does not say what went wrong."]
  ]
  it.effect("says what the value has to say", () =>
    Effect.gen(function*() {
      for (const [detail, told] of made) {
        const { value } = yield* logging(
          Effect.sync(() => new ToolUnavailable({ code: 404, detail, transient: "yes" } as Untyped))
        )
        assert.deepInclude({ ...value }, { code: "404", detail: told, transient: false })
      }
    }))

  it.effect("does not take a number for a time, and says what to give", () =>
    Effect.gen(function*() {
      const { logged, value } = yield* logging(
        Effect.sync(() => new ToolUnavailable({ code: "x", detail: "x", transient: true, retryAfter: 30 } as Untyped))
      )
      assert.isFalse("retryAfter" in value)
      assert.deepStrictEqual(logged, [
        "Warn | A ToolUnavailable was made of ill-typed fields: 'retryAfter' is a number, and not a Duration."
      ])
    }))

  it.effect("shows nothing but the message of an object, whatever the tool says with it", () =>
    Effect.gen(function*() {
      const error: Untyped = { config: { headers: { authorization: "hunter2" } } }
      const handlers = [
        () => Effect.fail(new SemanticGarbage({ code: error, detail: error, hint: error, alternatives: [error] })),
        () => Effect.as(ToolCall.caveat(error), "fine"),
        () => Effect.as(ToolCall.source({ name: error, age: "1 hour" }), "fine"),
        () => ToolCall.ask(error),
        () => ToolCall.stop(error)
      ]
      for (const handler of handlers) {
        const { logged, value } = yield* logging(outcomeOf(handling(handler)))
        assert.notInclude(JSON.stringify([value, read(value), logged]), "hunter2")
      }
    }))

  it.effect("is made of what cannot be looked at, and of what is its own", () =>
    Effect.gen(function*() {
      const failures = [SchemaMismatch, PartialData, SemanticGarbage, ToolUnavailable]
      const keys =
        "code detail hint side severity alternatives tried issues fault coverage next data transient scope retryAfter outcome message name toString"
      const given = [
        "a proxy that cannot be looked at",
        "a rejected promise",
        "something deep"
      ]
      for (const failure of failures) {
        for (const key of keys.split(" ")) {
          for (const what of given) {
            const fields: Untyped = { side: "result", code: "x", detail: "x", issues: [], transient: false, data: "x" }
            const { value } = yield* logging(Effect.suspend(() => {
              const made: Untyped = new failure({ ...fields, [key]: nonsense[what]!() })
              return outcomeOf(handling(() => Effect.fail(made)))
            }))
            assert.isTrue(value._tag === "Failed" && value.failure.code !== "defect", `${failure.name} ${key} ${what}`)
            assert.include(read(value), "retry")
          }
        }
      }
    }))

  it.effect("is careful with what it cannot read", () =>
    Effect.gen(function*() {
      const { value } = yield* logging(Effect.sync(() => ({
        lost: new ToolUnavailable({
          code: "x",
          detail: "x",
          transient: true,
          outcome: "maybe",
          scope: "record",
          retryAfter: "5 seconds",
          severity: "grave",
          tried: "cache"
        } as Untyped),
        wrong: new SchemaMismatch({ code: "x", detail: "x", issues: "all", alternatives: [1, null, "a"] } as Untyped),
        part: new PartialData({ code: "x", detail: "x", data: 1, next: 2, coverage: { have: "1" } } as Untyped)
      })))
      assert.deepInclude({ ...value.lost }, { outcome: "unknown", tried: ["cache"] })
      assert.isTrue(value.lost.retryAfter !== undefined && !("severity" in value.lost || "scope" in value.lost))
      assert.deepInclude({ ...value.wrong }, { issues: [], alternatives: ["1", "a"] })
      assert.deepStrictEqual({ ...value.part }, { _tag: "PartialData", code: "x", detail: "x", data: 1 } as Untyped)
    }))

  it.effect("reaches the model as any other, also from a fallback, after other calls have acted", () =>
    Effect.gen(function*() {
      let paid = 0
      const pay = Tool.make(
        "pay",
        { description: "", success: Schema.String },
        () => Effect.sync(() => `paid ${++paid}`)
      )
      const bad = Effect.suspend(() => Effect.fail(new SemanticGarbage({ code: "x", detail: plain.message })))
      const tool = failing(refused).pipe(Tool.fallback(() => bad))
      const { value } = yield* logging(Agent.make({ toolkit: Toolkit.make(pay, tool) }).run("?"))
      assert.strictEqual(value.text, "Done.")
      assert.strictEqual(paid, 1)
      assert.include(JSON.stringify(value.transcript), "The failure does not say what went wrong.")
    }).pipe(
      Effect.provide(
        ScriptedModel.layer([ScriptedModel.calls(["pay"], ["victim", paris]), ScriptedModel.text("Done.")])
      )
    ))
})

describe("a model that replies nonsense", () => {
  const replies: ReadonlyArray<readonly [reply: unknown, told: string]> = [
    [{ text: null, calls: [] }, "The model's reply is ill-typed: text: expected string, got null."],
    [{ text: "" }, "The model's reply is ill-typed: calls: expected a value, got nothing."],
    [
      { text: "", calls: [{ id: "1" }] },
      "The model's reply is ill-typed: calls.0.name: expected a value, got nothing."
    ],
    [
      { text: "", calls: [{ id: "1", name: "sibling", arguments: paris }] },
      "The model's reply is ill-typed: calls.0.arguments: expected string, got an object."
    ],
    [
      { text: "", calls: [], usage: { inputTokens: Number.NaN, outputTokens: 1 } },
      "The model's reply is ill-typed: usage.inputTokens: expected an integer, got a number."
    ],
    [undefined, "The model's reply is ill-typed: as a whole: expected object, got nothing."]
  ]
  for (const [reply, told] of replies) {
    it.effect(`is told apart: ${told}`, () =>
      Effect.gen(function*() {
        const agent = Agent.make({ toolkit: Toolkit.make(sibling) })
        const run = agent.run("?").pipe(
          Effect.provide(Model.layer({ respond: () => Effect.succeed(reply as Untyped) })),
          Effect.flip
        )
        const { value } = yield* logging(run)
        if (value._tag !== "ModelFailed") return assert.fail(value._tag)
        assert.deepInclude({ ...value.failure }, { code: "defect", detail: told, transient: false })
        assert.strictEqual(value.detail, told)
      }))
  }

  it.effect("says which function returned a promise", () =>
    Effect.gen(function*() {
      const model = Model.layer({ respond: (async () => ({ text: "Hello.", calls: [] })) as Untyped })
      const { value } = yield* logging(
        Effect.flip(Agent.make({ toolkit: Toolkit.empty }).run("?").pipe(Effect.provide(model)))
      )
      assert.strictEqual(value.detail, "The model's respond returned a promise: wrap it in Effect.tryPromise.")
      const later = Model.layer({ respond: () => Effect.sync(async () => ({ text: "Hello.", calls: [] })) as Untyped })
      const second = yield* logging(
        Effect.flip(Agent.make({ toolkit: Toolkit.empty }).run("?").pipe(Effect.provide(later)))
      )
      assert.strictEqual(second.value.detail, "The model succeeded with a promise: wrap it in Effect.tryPromise.")
    }))
})

describe("a journal that dies", () => {
  const pay = Tool.make("pay", { description: "", success: Schema.String }, () => Effect.succeed("paid"))
  const stop = Tool.make("stop", { description: "", success: Schema.String }, () => ToolCall.stop("Enough."))
  const agent = Agent.make({ toolkit: Toolkit.make(pay, stop, sibling) })
  type Step = Journal.Journal["step"]
  const dying = (when: (name: string) => boolean, step: Step): Journal.Journal => ({
    step: (about, effect) => when(about.name) ? step(about, effect) : effect
  })
  const ofCalls = (name: string) => name.includes("call")
  const run = (journal: Journal.Journal, script: ScriptedModel.Script) =>
    logging(
      Effect.exit(Effect.provideService(agent.run("?"), Journal.current, journal)).pipe(
        Effect.provide(ScriptedModel.layer(script))
      )
    )

  it.effect("in place of a call leaves unknown whether one that acts was run", () =>
    Effect.gen(function*() {
      const journal = dying(ofCalls, () => Effect.die("full"))
      const script = [ScriptedModel.calls(["pay"], ["sibling", paris]), ScriptedModel.text("Done.")]
      const { value } = yield* logging(
        Stream.runCollect(agent.stream("?")).pipe(
          Effect.provideService(Journal.current, journal),
          Effect.provide(ScriptedModel.layer(script))
        )
      )
      const outcomes = Array.from(value).flatMap((event) => event._tag === "CallEnded" ? [event.outcome] : [])
      assert.strictEqual(outcomes.length, 2)
      const [paid, asked] = outcomes
      if (paid?._tag !== "Failed" || asked?._tag !== "Failed") return assert.fail(JSON.stringify(outcomes))
      assert.strictEqual(paid.certainty, "unknown")
      assert.deepInclude({ ...paid.failure }, { code: "defect", outcome: "unknown" })
      assert.strictEqual(asked.certainty, "not_executed")
      assert.notProperty(asked.failure, "outcome")
    }))

  it.effect("is not blamed for what it only passes on", () =>
    Effect.gen(function*() {
      const native: Untyped = { source: "elsewhere", message: { content: undefined } }
      const journal = dying(() => true, (_, effect) => Effect.map(effect, (value) => value))
      const { logged, value } = yield* run(journal, [{ text: "Done.", calls: [], native }])
      assert.deepStrictEqual(logged, [])
      assert.isTrue(Exit.isSuccess(value))
    }))

  it.effect("after a call loses neither its value nor its stop", () =>
    Effect.gen(function*() {
      const journal = dying(ofCalls, (_, effect) => Effect.andThen(effect, Effect.die("full")))
      const paid = yield* run(journal, [ScriptedModel.call("pay"), ScriptedModel.text("Done.")])
      assert.isTrue(Exit.isSuccess(paid.value))
      assert.include(JSON.stringify(paid.value), "paid")
      assert.include(paid.logged[0], "The journal failed")
      const { value } = yield* run(journal, [ScriptedModel.call("stop"), ScriptedModel.text("Done.")])
      assert.isTrue(Exit.isFailure(value) && Cause.squash(value.cause) instanceof AgentFailure.RunStopped)
    }))
})

describe("a script whose function returns a promise", () => {
  it.effect("ends the run, typed, and the log says what to return", () =>
    Effect.gen(function*() {
      const script: Untyped = async () => ScriptedModel.text("Hello.")
      const run = Agent.make({ toolkit: Toolkit.empty }).run("?").pipe(Effect.provide(ScriptedModel.layer(script)))
      const { logged, value } = yield* logging(Effect.flip(run))
      assert.strictEqual(value._tag, "ModelFailed")
      assert.include(logged[0], "The script returned a promise: return a reply, or an Effect of one.")
    }))
})

describe("a call that no model made", () => {
  const calls: ReadonlyArray<readonly [what: string, call: unknown, code: string]> = [
    ["without a name", { id: "1" }, "unknown_tool"],
    ["of nothing", undefined, "unknown_tool"],
    ["whose arguments are a function", { id: "1", name: "sibling", arguments: () => paris }, "invalid_json"]
  ]
  for (const [what, call, code] of calls) {
    it.effect(`has an outcome: ${what}`, () =>
      Effect.gen(function*() {
        const outcome = yield* Dispatch.call(Toolkit.make(sibling), call as Untyped)
        assert.isTrue(outcome._tag === "Failed" && outcome.failure.code === code, JSON.stringify(outcome))
      }))
  }

  it.effect("may have its arguments as an object: they are put as their text", () =>
    Effect.gen(function*() {
      const call: Untyped = { id: "1", name: "sibling", arguments: paris }
      const outcome = yield* Dispatch.call(Toolkit.make(sibling), call)
      assert.isTrue(outcome._tag === "Completed" && outcome.value === "Paris is well.")
    }))
})

describe("a run that is given what was parsed and not decoded", () => {
  let runs = 0
  const pay = Tool.make("pay", { description: "", success: Schema.String }, () =>
    Effect.suspend(() => {
      runs++
      return Effect.map(ToolCall.ask("Really?"), (reply) => `paid: ${reply}`)
    }))
  const agent = Agent.make({ toolkit: Toolkit.make(pay) })
  const suspended = Effect.flatMap(Effect.flip(agent.run("Pay!")), (failure) =>
    failure._tag === "RunSuspended"
      ? Effect.succeed(failure.suspension)
      : Effect.die(failure))
  const script = ScriptedModel.layer([ScriptedModel.call("pay"), ScriptedModel.text("Paid.")])

  it.effect("is refused before anything runs, and goes on with what was decoded", () =>
    Effect.gen(function*() {
      const stored = JSON.stringify(yield* Schema.encodeEffect(AgentFailure.Suspension)(yield* suspended))
      runs = 0
      const refusal = yield* Effect.flip(agent.resume(JSON.parse(stored), "yes"))
      assert.isTrue(refusal instanceof AgentFailure.RunRefused, refusal.detail)
      assert.strictEqual(
        refusal.detail,
        "The run was not resumed: suspension.transcript: expected a Transcript, got an object. Encode it by AgentFailure.Suspension to store it, and decode it by the same schema."
      )
      assert.strictEqual(runs, 0)
      const decoded = yield* Schema.decodeUnknownEffect(AgentFailure.Suspension)(JSON.parse(stored))
      assert.strictEqual((yield* agent.resume(decoded, "yes")).text, "Paid.")
    }).pipe(Effect.provide(script)))

  it.effect("takes no options for none, however they are written", () =>
    Effect.gen(function*() {
      for (const options of [null, undefined, 1, "none", []]) {
        const end = yield* Effect.flip(agent.run("Pay!", options as Untyped))
        assert.strictEqual(end._tag, "RunSuspended")
      }
    }).pipe(Effect.provide(ScriptedModel.layer(() => ScriptedModel.call("pay")))))

  it.effect("is refused with a reply that is not a text, and with a question that is none", () =>
    Effect.gen(function*() {
      const suspension = yield* suspended
      runs = 0
      const ends = yield* Effect.all([
        Effect.flip(agent.resume(suspension, true as Untyped)),
        Effect.flip(agent.run(undefined as Untyped)),
        Effect.flip(agent.run("?", { transcript: { version: 1, messages: [] } as Untyped }))
      ])
      assert.deepStrictEqual(ends.map(({ _tag, detail }) => [_tag, detail.split(". ")[0]!.replace(/\.$/, "")]), [
        ["RunRefused", "The run was not resumed: reply: expected string, got a boolean"],
        ["RunRefused", "The run was not begun: question: expected a text, or a text with images, got nothing"],
        ["RunRefused", "The run was not begun: transcript: expected a Transcript, got an object"]
      ])
      assert.strictEqual(runs, 0)
    }).pipe(Effect.provide(script)))
})

describe("a result of anything", () => {
  const tool = (value: unknown) =>
    Tool.make("pay", { description: "", success: Schema.Any }, () => Effect.succeed(value))
  const cyclic: Record<string, unknown> = {}
  cyclic["self"] = cyclic

  it.effect("that cannot be written as JSON is refused, and what acts may have acted", () =>
    Effect.gen(function*() {
      for (const value of [{ id: 10n }, undefined, Symbol("paid"), { toJSON: () => assert.fail("no") }, cyclic]) {
        const outcome = yield* outcomeOf(tool(value), {})
        if (outcome._tag !== "Failed") return assert.fail(outcome._tag)
        assert.deepInclude({ ...outcome.failure }, { code: "invalid_result" })
        assert.strictEqual(outcome.certainty, "unknown")
        assert.include(read(outcome), "it may already have taken effect")
      }
    }))

  it.effect("is JSON when it leaves dispatch", () =>
    Effect.gen(function*() {
      const outcome = yield* outcomeOf(tool({ at: new Date(0), left: undefined, list: [1] }), {})
      assert.isTrue(outcome._tag === "Completed")
      assert.deepInclude(outcome, { value: { at: "1970-01-01T00:00:00.000Z", list: [1] } })
      assert.isTrue(Schema.is(ToolOutcome.schema)(outcome))
    }))
})

describe("a value that is nested too deeply", () => {
  const nested = (depth: number) => {
    let value: Schema.Json = 1
    for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { value }
    return value
  }
  const tool = (effect: Effect.Effect<Schema.Json, PartialData<Schema.Json>>) =>
    Tool.make("p", { description: "", success: Schema.Json, sideEffect: "none" }, () => effect)

  it.effect("is refused at the guard, from 513 levels on, also as a part of a whole", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* outcomeOf(tool(Effect.succeed(nested(512))), {}))._tag, "Completed")
      for (const depth of [513, 20_000]) {
        const partial = new PartialData({ code: "more_pages", detail: "More.", data: nested(depth) })
        for (const effect of [Effect.succeed(nested(depth)), Effect.fail(partial)]) {
          const outcome = yield* outcomeOf(tool(effect), {})
          if (outcome._tag !== "Failed") return assert.fail(outcome._tag)
          assert.deepInclude({ ...outcome.failure }, {
            code: "invalid_result",
            detail: "The result of p is nested in more than 512 levels.",
            issues: [{ path: [], expected: "at most 512 levels", actual: "more" }]
          })
          assert.strictEqual(outcome.stage, "guard")
        }
      }
    }))

  it.effect("is looked at once, however often it is shared", () =>
    Effect.gen(function*() {
      let shared: Schema.Json = 1
      for (let level = 0; level < 600; level++) shared = [shared, shared]
      const any = Tool.make("p", { description: "", success: Schema.Any, sideEffect: "none" }, () =>
        Effect.succeed(shared))
      const outcome = yield* outcomeOf(any, {})
      assert.isTrue(outcome._tag === "Failed" && outcome.failure.code === "invalid_result")
    }))

  it.effect("is left out of the arguments that continue", () =>
    Effect.gen(function*() {
      const next = { cursor: nested(20_000) }
      const outcome = yield* outcomeOf(
        tool(Effect.fail(new PartialData({ code: "more_pages", detail: "More.", data: 1, next }))),
        {}
      )
      assert.isTrue(outcome._tag === "Failed" && outcome.failure._tag === "PartialData" && !("next" in outcome.failure))
    }))
})
