/** How answers and failures of runs print, and what JSON they have. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentFailure, Model, SemanticGarbage, Tool, Toolkit, Transcript } from "@fallible/core"
import * as Answer from "@fallible/core/Answer"
import * as RunReport from "@fallible/core/RunReport"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Console, Effect, Logger, Schema } from "effect"
import { format } from "effect/Formatter"
import { inspect } from "node:util"

const secretly = "\u001b[31mred\u0007\u202e"

const weather = Tool.make("get_weather", {
  description: "The weather",
  parameters: Schema.Struct({ city: Schema.String }),
  success: Schema.String,
  sideEffect: "none"
}, ({ city }) =>
  city === "Paris"
    ? Effect.succeed("Sunny. ".repeat(500))
    : Effect.fail(new SemanticGarbage({ code: "unknown_city", detail: `Unknown city: ${city}.` })))

const asked = ScriptedModel.call("get_weather", { city: "Atlantis" })
const run = (replies: ReadonlyArray<Model.Reply>, turns = 20) =>
  Agent.make({ toolkit: Toolkit.make(weather), limits: { turns } }).run("Hi").pipe(
    Effect.provide(ScriptedModel.layer(replies))
  )
const answering = run([asked, ScriptedModel.call("get_weather", { city: "Paris" }), ScriptedModel.text("Sun.\nMoon.")])
const failing = Effect.flip(run([asked, asked], 1))

const printed = `Answer (answered)
  Sun.
  Moon.

  turn  call  tool         failure          code          attempts  effect        handling  detail
  1     1     get_weather  SemanticGarbage  unknown_city  1         not_executed  told      Unknown city: Atlantis.

  3 turns, 2 calls, 1 failure, 0 repairs, tokens unknown`

const printedFailure = `LimitReached
  The agent used up its 1 turn without an answer. The run is probably stuck in a loop: simplify the question, or raise the limit.

  turn  call  tool         failure          code          attempts  effect        handling  detail
  1     1     get_weather  SemanticGarbage  unknown_city  1         not_executed  told      Unknown city: Atlantis.

  1 turn, 1 call, 1 failure, 0 repairs, tokens unknown`

/** What a logger prints to the console. */
const logged = (value: unknown, ...loggers: ReadonlyArray<Logger.Logger<unknown, unknown>>) =>
  Effect.gen(function*() {
    const lines: Array<string> = []
    const write = (...args: ReadonlyArray<unknown>) =>
      void lines.push(args.map((arg) => typeof arg === "string" ? arg : inspect(arg)).join(" "))
    yield* Effect.log(value).pipe(
      Effect.provide(Logger.layer(loggers)),
      Effect.provideService(Console.Console, { ...globalThis.console, log: write, error: write, group: write })
    )
    return lines.join("\n")
  })

describe("an answer", () => {
  it.effect("prints its text, how it ended and its report, but not its transcript", () =>
    Effect.gen(function*() {
      const answer = yield* answering
      for (const text of [String(answer), inspect(answer), format(answer)]) assert.strictEqual(text, printed)
      const nested = inspect({ answer })
      assert.include(nested, "Answer (answered)")
      assert.notInclude(nested, "Sunny")
    }))

  it.effect("is logged in the same way", () =>
    Effect.gen(function*() {
      const answer = yield* answering
      for (const logger of [Logger.defaultLogger, Logger.consolePretty({ colors: false })]) {
        const lines = yield* logged(answer, logger)
        assert.include(lines, "1 failure, 0 repairs")
        assert.include(lines, "Answer (answered)")
        assert.notInclude(lines, "Sunny")
      }
    }))

  it.effect("has JSON that its schema decodes to an equal answer, which prints alike", () =>
    Effect.gen(function*() {
      const answer = yield* answering
      const decoded = Schema.decodeUnknownSync(Answer.schema)(JSON.parse(JSON.stringify(answer)))
      assert.strictEqual(String(decoded), printed)
      assert.strictEqual(inspect(decoded), printed)
      assert.deepStrictEqual(
        { ...decoded, transcript: Transcript.toArray(decoded.transcript) },
        { ...answer, transcript: Transcript.toArray(answer.transcript) }
      )
      assert.deepStrictEqual(JSON.parse(JSON.stringify(answer)), Schema.encodeSync(Answer.schema)(answer))
    }))

  it.effect("has no enumerable fields but its data, and may be a plain object", () =>
    Effect.gen(function*() {
      const answer = yield* answering
      const keys = ["text", "truncated", "stopReason", "transcript", "report", "facts"]
      assert.deepStrictEqual(Object.keys(answer), keys)
      const inherited: Array<string> = []
      for (const key in answer) inherited.push(key)
      assert.deepStrictEqual(inherited, keys)
      assert.isTrue(Schema.is(Answer.schema)({ ...answer }))
      assert.deepStrictEqual(Schema.encodeSync(Answer.schema)({ ...answer }), Schema.encodeSync(Answer.schema)(answer))
      assert.isFalse(Schema.is(Answer.schema)({ ...answer, text: 1 }))
    }))

  it.effect("says why it was concluded, and that it was cut off; a long text is cut, and terminals stay safe", () =>
    Effect.gen(function*() {
      const answer = Answer.make({
        ...(yield* answering),
        text: `${secretly}\r\n${"x".repeat(3000)}`,
        truncated: true,
        stopReason: "concluded",
        concluded: "turns"
      })
      const lines = String(answer).split("\n")
      assert.deepStrictEqual(lines.slice(0, 2), ["Answer (concluded, turns, truncated)", "   [31mred"])
      assert.match(lines[2] ?? "", /^ {2}x+… \(1012 more characters\)$/)
      assert.isAtMost(inspect(answer).length, 3000)
      assert.notMatch(lines.join(""), /[\p{Cc}\p{Cf}]/u)
      const long = String(Answer.make({ ...answer, text: "  - one 👩‍💻\n".repeat(100) })).split("\n")
      assert.deepStrictEqual([long[1], long[41]], ["    - one 👩‍💻", "  … and 61 more lines"])
    }))
})

describe("a failure of a run", () => {
  it.effect("prints its detail and its report, but not its transcript, and has JSON that its schema decodes", () =>
    Effect.gen(function*() {
      const failure = yield* failing
      for (const text of [String(failure), inspect(failure), format(failure)]) {
        assert.strictEqual(text, printedFailure)
      }
      const decoded = Schema.decodeUnknownSync(AgentFailure.schema)(JSON.parse(JSON.stringify(failure)))
      assert.instanceOf(decoded, AgentFailure.LimitReached)
      assert.strictEqual(inspect(decoded), printedFailure)
      assert.strictEqual(Cause.pretty(Cause.fail(failure)).split("\n").length, 1)
    }))

  it.effect("prints what to do about the failure of its model", () =>
    Effect.gen(function*() {
      const { facts, report, transcript } = yield* failing
      const hint = "Start it with 'ollama serve'."
      const failure = new AgentFailure.ModelFailed({
        facts,
        report,
        transcript,
        detail: "Down.",
        failure: new Model.ModelFailure({ code: "down", detail: "Down.", transient: false, hint })
      })
      for (const text of [String(failure), inspect(failure)]) {
        assert.deepStrictEqual(text.split("\n").slice(0, 3), ["ModelFailed", "  Down.", `  ${hint}`])
      }
    }))

  it.effect("shows its cause to Node, and not in JSON", () =>
    Effect.gen(function*() {
      const { facts, report, transcript } = yield* failing
      const failure = new AgentFailure.ModelFailed({
        detail: "Down.",
        failure: new Model.ModelFailure({ code: "down", detail: "Down.", transient: false }),
        cause: new Error("the original"),
        facts,
        report,
        transcript
      })
      assert.match(inspect(failure), /cause: Error: the original/)
      assert.notInclude(JSON.stringify(failure) + String(failure), "the original")
    }))
})

describe("RunReport.table", () => {
  const empty = { turns: 1, calls: 0, inputTokens: 1, outputTokens: 2, failures: [], repairs: [] }
  const entry: RunReport.CallEntry = {
    turn: 12,
    call: 3,
    tool: "book",
    tag: "ToolUnavailable",
    code: "timeout",
    detail: "Slow.",
    attempts: 2,
    certainty: "unknown",
    handling: "custom",
    policy: "queue"
  }
  const ofModel = {
    turn: 1,
    tag: "ModelFailure",
    code: "server_error",
    detail: "503",
    attempts: 1,
    handling: "retry"
  } as const

  it("says that there are no failures", () => {
    assert.strictEqual(
      RunReport.table(empty),
      "  No failures.\n\n  1 turn, 0 calls, 0 failures, 0 repairs, 1 input token, 2 output tokens"
    )
  })

  it("aligns its columns, and names custom policies, models and corrected calls", () => {
    assert.strictEqual(
      RunReport.table({ ...empty, failures: [ofModel, entry, { ...entry, inside: "fetch" }] }),
      `  turn  call  tool              failure          code          attempts  effect   handling        detail
  1     -     (model)           ModelFailure     server_error  1         -        retry           503
  12    3     book              ToolUnavailable  timeout       2         unknown  custom (queue)  Slow.
  12    3     book (for fetch)  ToolUnavailable  timeout       2         unknown  custom (queue)  Slow.

  1 turn, 0 calls, 3 failures, 0 repairs, 1 input token, 2 output tokens`
    )
  })

  it("keeps each failure on one short line, without control characters", () => {
    const lines = RunReport.table({ ...empty, failures: [{ ...entry, detail: `${secretly}\n${"x".repeat(900)}` }] })
      .split("\n")
    assert.strictEqual(lines.length, 4)
    assert.match(lines[1] ?? "", /\[31mred x+… \(\d+ more characters\)$/)
    assert.notMatch(lines.join(""), /[\p{Cc}\p{Cf}]/u)
    assert.isAtMost(lines[1]?.length ?? 0, 250)
  })

  it("counts the failures that it does not list", () => {
    const failures = Array.from({ length: 50_000 }, () => entry)
    const lines = RunReport.table({ ...empty, failures }, 2).split("\n")
    assert.deepStrictEqual(lines.slice(3, 4), ["  … and 49998 more"])
    assert.include(lines.at(-1), "50000 failures")
    assert.strictEqual(RunReport.table({ ...empty, failures }).split("\n").length, 50_003)
  })
})
