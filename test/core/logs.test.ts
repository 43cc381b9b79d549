import { assert, describe, it } from "@effect/vitest"
import { Agent, Dispatch, type Model, Observer, PartialData, Tool, Toolkit } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Effect, Fiber, Logger, References, Schema } from "effect"
import { TestClock } from "effect/testing"

const logging = Tool.make(
  "logging",
  { description: "Logs", success: Schema.String, sideEffect: "none" },
  () => Effect.as(Effect.logInfo("here"), "done")
)

class NoRows extends Error {}
const broken = Tool.make(
  "broken",
  { description: "Breaks", success: Schema.String, sideEffect: "none" },
  () =>
    Effect.sync((): string => {
      throw new NoRows("no rows")
    })
)

/** Runs an effect, and returns its log entries with annotations and causes. */
const logged = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const lines: Array<{ readonly message: string; readonly annotations: object; readonly cause: unknown }> = []
    const logger = Logger.make(({ cause, fiber, message }) => {
      lines.push({
        message: String(message),
        annotations: fiber.getRef(References.CurrentLogAnnotations),
        cause: cause.reasons.length === 0 ? undefined : Cause.squash(cause)
      })
    })
    return Effect.as(Effect.provide(self, Logger.layer([logger])), lines)
  })

const inRun = (...script: ReadonlyArray<Model.Reply>) =>
  Effect.provide(
    Agent.make({ toolkit: Toolkit.make(logging, broken) }).run("?"),
    ScriptedModel.layer([...script, ScriptedModel.text("done")])
  )

describe("logs", () => {
  it.effect("G4 have the run, turn, tool and call, and keep existing annotations", () =>
    Effect.gen(function*() {
      const two = { text: "", calls: [{ id: "a", name: "logging" }, { id: "b", name: "logging" }] }
      const lines = yield* logged(
        inRun(ScriptedModel.call("logging"), two).pipe(Effect.annotateLogs({ request: "r-1", tool: "none yet" }))
      )
      const [first] = lines
      const run = first?.annotations["run" as keyof object]
      assert.match(run ?? "", /^run-/)
      assert.deepStrictEqual(lines.map(({ annotations }) => annotations), [
        { request: "r-1", run, turn: 1, tool: "logging", call: `${run}/turn/1/call/1` },
        { request: "r-1", run, turn: 2, tool: "logging", call: `${run}/turn/2/call/1` },
        { request: "r-1", run, turn: 2, tool: "logging", call: `${run}/turn/2/call/2` }
      ])
    }))

  it.effect("G4 have the tool and call outside a run", () =>
    Effect.gen(function*() {
      const call = { id: "1", name: "logging" }
      const lines = yield* logged(Dispatch.call(Toolkit.make(logging), call, { idempotencyKey: "order-7" }))
      assert.deepStrictEqual(lines.map(({ annotations }) => annotations), [{ tool: "logging", call: "order-7" }])
    }))

  it.effect("G4 have a defect in full, once", () =>
    Effect.gen(function*() {
      const lines = yield* logged(inRun(ScriptedModel.call("broken")))
      assert.deepStrictEqual(lines.map(({ message }) => message), [
        "The tool broken failed with an internal error"
      ])
      const [{ annotations, cause }] = lines as [typeof lines[number]]
      assert.isTrue(cause instanceof NoRows && cause.message === "no rows")
      assert.includeMembers(Object.keys(annotations), ["run", "turn", "tool", "call"])
    }))

  it.effect("G4 leave a defect to the reporter, if there is one", () =>
    Effect.gen(function*() {
      const reported: Array<unknown> = []
      const reporter: NonNullable<Observer.Observer["onDefect"]> = (message, cause) =>
        Effect.map(References.CurrentLogAnnotations, ({ turn }) => {
          reported.push([message, Cause.squash(cause) instanceof NoRows, turn])
        })
      const lines = yield* logged(
        Observer.observe(inRun(ScriptedModel.call("broken")), { onDefect: reporter })
      )
      assert.deepStrictEqual(lines, [])
      assert.deepStrictEqual(reported, [["The tool broken failed with an internal error", true, 1]])
    }))

  for (
    const [how, reporter] of [
      ["dies", () => Effect.die("reporter down")],
      ["throws", () => {
        throw new Error("reporter down")
      }]
    ] as const
  ) {
    it.effect(`G4 let the run go on when a reporter ${how} itself`, () =>
      Effect.gen(function*() {
        const answer = yield* Observer.observe(inRun(ScriptedModel.call("broken")), { onDefect: reporter })
        assert.strictEqual(answer.text, "done")
      }))
  }

  for (
    const [manner, hang] of [["", Effect.never], [
      ", ignoring its interruption",
      Effect.uninterruptible(Effect.never)
    ]] as const
  ) {
    it.effect(`G4 let the run go on when a reporter hangs${manner}`, () =>
      Effect.gen(function*() {
        const run = Observer.observe(inRun(ScriptedModel.call("broken")), { onDefect: () => hang })
        const fiber = yield* Effect.forkChild(run, { startImmediately: true })
        yield* TestClock.adjust(999)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* Fiber.join(fiber)).text, "done")
      }))
  }

  it.effect("report a handler's defect after its timeout", () =>
    Effect.gen(function*() {
      const reported: Array<string> = []
      const reporter: NonNullable<Observer.Observer["onDefect"]> = (message) =>
        Effect.sync(() => reported.push(message))
      const late = Tool.make("late", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        Effect.uninterruptible(Effect.andThen(Effect.sleep("2 seconds"), Effect.die("too late")))).pipe(
          Tool.timeout("1 second")
        )
      const fiber = yield* late.run({}).pipe(
        Effect.exit,
        Observer.observe({ onDefect: reporter }),
        Effect.forkChild({ startImmediately: true })
      )
      yield* TestClock.adjust(1999)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(reported, [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(reported, ["A handler ended with an internal error after its timeout"])
    }))

  describe("about a result that does not match its schema", () => {
    const iban = Schema.String.check(
      Schema.makeFilter((text: string) => text.startsWith("DE") || `'${text}' is not an IBAN`)
    )
    const Account = Schema.Struct({
      iban,
      owner: Schema.String,
      balance: Schema.Int.check(Schema.isGreaterThan(10)),
      opened: Schema.Array(Schema.Struct({ year: Schema.Int }))
    })
    // A value that the compiler would reject.
    const untyped = (value: unknown) => value as typeof Account.Type
    const secret = "hunter2-secret"
    const wrong = untyped({ iban: secret, owner: { name: secret }, balance: 1, opened: [{ year: secret }] })

    const logOf = (effect: Effect.Effect<typeof Account.Type, PartialData<typeof Account.Type>>) => {
      const account = Tool.make("account", { description: "", success: Account, sideEffect: "none" }, () => effect)
      const call = { id: "1", name: "account" }
      return logged(Dispatch.call(Toolkit.make(account), call, { idempotencyKey: "order-7" }))
    }
    const lines = [
      "The result of 'account' does not match its schema:",
      "  iban: expected a valid value, got a string",
      "  owner: expected string, got an object",
      "  balance: expected a value greater than 10, got a number",
      "  opened.0.year: expected number, got a string"
    ]

    it.effect("list each issue by field, once, and never the value", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* logOf(Effect.succeed(wrong)), [
          { message: lines.join("\n"), annotations: { tool: "account", call: "order-7" }, cause: undefined }
        ])
        assert.notInclude(lines.join(), secret)
      }))

    it.effect("list those of partial data", () =>
      Effect.gen(function*() {
        const [line, ...others] = yield* logOf(
          Effect.fail(new PartialData({ code: "more_pages", detail: "Page 1.", data: wrong }))
        )
        assert.deepStrictEqual([line?.message, others], [lines.join("\n"), []])
      }))

    it.effect("have the run and turn too, and omit valid fields", () =>
      Effect.gen(function*() {
        const results = [wrong, untyped({ iban: "DE1", owner: "Ada", balance: 11, opened: [] })]
        const account = Tool.make("account", { description: "", success: Account, sideEffect: "none" }, () =>
          Effect.succeed(results.shift()!))
        const found = yield* logged(Effect.provide(
          Agent.make({ toolkit: Toolkit.make(account) }).run("?"),
          ScriptedModel.layer([ScriptedModel.calls(["account"], ["account"]), ScriptedModel.text("done")])
        ))
        assert.strictEqual(found.length, 1)
        const { run, ...place } = found[0]!.annotations as { readonly run: string }
        assert.deepStrictEqual(place, { turn: 1, tool: "account", call: `${run}/turn/1/call/1` })
      }))

    const quoting = (words: (value: typeof Schema.Unknown.Type) => string) =>
      Schema.Unknown.check(Schema.makeFilter((value) => words(value)))
    const date = new Date(0)
    for (
      const [what, value, said] of [
        ["a part of an object", { a: [{ b: secret }] }, () => `${secret} is wrong`],
        ["an entry of a map", new Map([["a", secret]]), () => `${secret} is wrong`],
        ["a number", 42, () => "42 is wrong"],
        ["a short text", "pw", () => "not 'pw'"],
        ["a text of more than one line", `one\n${secret}`, () => `one\n${secret} is wrong`],
        ["a text, but not all of it", `${secret}${"x".repeat(1000)}`, () => `${secret}, …`],
        ["so much that it is cut", "y".repeat(1000), () => `wrong: ${"z".repeat(1000)}`],
        ["a date", date, () => `${date.toISOString()} is wrong`],
        ["who knows what of a very large value", Array.from({ length: 5000 }, () => "x"), () => "y is wrong"]
      ] satisfies ReadonlyArray<readonly [string, unknown, () => string]>
    ) {
      it.effect(`omit an author's words that quote ${what}`, () =>
        Effect.gen(function*() {
          const odd = Tool.make("odd", { description: "", success: quoting(said), sideEffect: "none" }, () =>
            Effect.succeed(value))
          const [line] = yield* logged(Dispatch.call(Toolkit.make(odd), { id: "1", name: "odd" }))
          assert.match(line?.message ?? "", /as a whole: expected a valid value, got (a|an) \w+/)
        }))
    }

    it.effect("keep an author's words that quote nothing", () =>
      Effect.gen(function*() {
        const odd = Tool.make(
          "odd",
          { description: "", success: quoting(() => "at least 1000 of them"), sideEffect: "none" },
          () => Effect.succeed([1, "a", 100])
        )
        const [line] = yield* logged(Dispatch.call(Toolkit.make(odd), { id: "1", name: "odd" }))
        assert.include(line?.message, "as a whole: expected at least 1000 of them, got an array of 3")
      }))

    it.effect("keep a path on one line", () =>
      Effect.gen(function*() {
        const odd = Tool.make(
          "odd",
          { description: "", success: Schema.Record(Schema.String, Schema.Int), sideEffect: "none" },
          () => Effect.succeed({ ["a\nb".repeat(100)]: "x" } as unknown as Record<string, number>)
        )
        const [line] = yield* logged(Dispatch.call(Toolkit.make(odd), { id: "1", name: "odd" }))
        assert.match(line?.message ?? "", /^[^\n]+\n {2}a b\S.{0,200}: expected number, got a string$/)
      }))

    it.effect("report a defect that is unreadable", () =>
      Effect.gen(function*() {
        const lines: Array<string> = []
        // Prints the cause, as some loggers do.
        const logger = Logger.make(({ cause, message }) => {
          const thrown = cause.reasons.length === 0 ? "" : Cause.pretty(cause)
          lines.push(`${String(message)}${thrown}`)
        })
        const hostile = new Proxy({}, { get: () => assert.fail("no look") })
        const tool = Tool.make("hostile", { description: "", success: Schema.String }, () => Effect.die(hostile))
        yield* Dispatch.call(Toolkit.make(tool), { id: "1", name: "hostile" }).pipe(
          Effect.provide(Logger.layer([logger]))
        )
        assert.deepStrictEqual(lines, [
          "The tool hostile failed with an internal error. The thrown value cannot be shown."
        ])
      }))

    it.effect("do not change the outcome if a logger dies", () =>
      Effect.gen(function*() {
        const odd = Tool.make(
          "odd",
          { description: "", success: Schema.Int, onMismatch: "refuse", sideEffect: "none" },
          () => Effect.succeed(1.5)
        )
        const dying = Logger.make(() => {
          throw new Error("no logs today")
        })
        const outcome = yield* Dispatch.call(Toolkit.make(odd), { id: "1", name: "odd" }).pipe(
          Effect.provide(Logger.layer([dying]))
        )
        assert.isTrue(outcome._tag === "Failed" && outcome.failure.code === "invalid_result")
      }))
  })
})
