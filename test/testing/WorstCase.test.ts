import { assert, describe, it } from "@effect/vitest"
import { RetryPolicy, Tool, type ToolFailure, Toolkit } from "@fallible/core"
import * as Explanation from "@fallible/core/Explanation"
import { WorstCase } from "@fallible/testing"
import { Effect, FileSystem, Layer, PlatformError, Schedule, Schema } from "effect"
import { differences } from "../../packages/testing/src/internal/differences.ts"

const tool = <const Name extends string>(name: Name) =>
  Tool.make(name, { description: name, success: Schema.Finite, sideEffect: "none" }, () => Effect.succeed(1))

const quote = tool("get_quote").pipe(Tool.timeout("5 seconds"), Tool.retry(RetryPolicy.transient))
const weather = tool("get_weather").pipe(Tool.timeout("1 second"))
const toolkit = Toolkit.make(quote, weather)
const overview = Explanation.overview(Toolkit.explain(toolkit))

const file = "worst-cases.txt"

/** Makes a file system on top of a map. */
const holding = (files: Map<string, string>) =>
  FileSystem.layerNoop({
    readFileString: (path) =>
      Effect.suspend(() => {
        const text = files.get(path)
        return text === undefined
          ? Effect.fail(PlatformError.systemError({ _tag: "NotFound", module: "FileSystem", method: "readFileString" }))
          : Effect.succeed(text)
      }),
    writeFileString: (path, text) => Effect.sync(() => void files.set(path, text))
  })

/** Compares a toolkit with a file of the given text. Returns the result and the file's content after it. */
const compare = (kit: Toolkit.Toolkit, text?: string, options?: WorstCase.FileOptions) => {
  const files = new Map(text === undefined ? [] : [[file, text]])
  return WorstCase.matchesFile(kit, file, options).pipe(
    Effect.match({ onFailure: (failure) => failure, onSuccess: () => "the same" }),
    Effect.map((result) => ({ result, written: files.get(file) })),
    Effect.provide(holding(files))
  )
}

describe("WorstCase.matchesFile", () => {
  it.effect("fails if the file is missing, and says what to do", () =>
    Effect.gen(function*() {
      const { result, written } = yield* compare(toolkit)
      assert.instanceOf(result, WorstCase.FileMissing)
      assert.strictEqual(
        result.message,
        "There is no file 'worst-cases.txt' to compare the worst cases with. " +
          "Run the test once with the option { update: true }, which writes the file, and commit it."
      )
      assert.isUndefined(written)
    }))

  it.effect("writes the file on request, and matches it from then on", () =>
    Effect.gen(function*() {
      const { result, written } = yield* compare(toolkit, undefined, { update: true })
      assert.deepStrictEqual([result, written], ["the same", `${overview}\n`])
      assert.strictEqual((yield* compare(toolkit, written)).result, "the same")
    }))

  it.effect("ignores line endings, and does not rewrite a file for them", () =>
    Effect.gen(function*() {
      const windows = `${overview}\n`.replaceAll("\n", "\r\n")
      assert.deepStrictEqual(yield* compare(toolkit, windows), { result: "the same", written: windows })
      assert.deepStrictEqual(yield* compare(toolkit, windows, { update: true }), {
        result: "the same",
        written: windows
      })
    }))

  it.effect("ignores the order of the tools", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* compare(Toolkit.make(weather, quote), overview)).result, "the same")
    }))

  it.effect("fails with the lines that differ, and does not change the file", () =>
    Effect.gen(function*() {
      const bolder = tool("get_quote").pipe(
        Tool.timeout("5 seconds"),
        Tool.retry(Schedule.jittered(Schedule.recurs(4)))
      )
      const { result, written } = yield* compare(Toolkit.make(bolder, weather), overview)
      assert.instanceOf(result, WorstCase.Changed)
      assert.deepStrictEqual(result.lines, [
        "  get_quote",
        "-   attempts     3",
        "-   waiting      1m",
        "-   time         1m 15s",
        "-   executions   5",
        "+   attempts     5",
        "+   waiting      0ms",
        "+   time         25s",
        "+   executions   7"
      ])
      assert.strictEqual(
        result.message,
        `The worst cases differ from those in 'worst-cases.txt':\n\n${result.lines.join("\n")}\n\n` +
          "Revert the policies or, if the change is intended: " +
          "Run the test once with the option { update: true }, which writes the file, and commit it."
      )
      assert.strictEqual(written, overview)
      const updated = yield* compare(Toolkit.make(bolder, weather), overview, { update: true })
      assert.strictEqual((yield* compare(Toolkit.make(bolder, weather), updated.written)).result, "the same")
    }))

  it.effect("notices policies that changed places without a change of bounds", () =>
    Effect.gen(function*() {
      const mapped = Tool.mapFailure((failure: ToolFailure.ToolFailure) => failure)
      const limited = Tool.concurrency(2, { maxWait: 0 })
      const written = Explanation.overview(Toolkit.explain(Toolkit.make(tool("a").pipe(mapped, limited))))
      const { result } = yield* compare(Toolkit.make(tool("a").pipe(limited, mapped)), written)
      assert.instanceOf(result, WorstCase.Changed)
      assert.deepStrictEqual(result.lines, [
        "  a",
        "-   policy       maps failures",
        "+   policy       maps failures"
      ])
    }))

  it.effect("reports that a file cannot be read or written", () =>
    Effect.gen(function*() {
      const denied = PlatformError.systemError({ _tag: "PermissionDenied", module: "FileSystem", method: "open" })
      const closed = FileSystem.layerNoop({ readFileString: () => Effect.fail(denied) })
      const sealed = Layer.fresh(FileSystem.layerNoop({ writeFileString: () => Effect.fail(denied) }))
      const reading = WorstCase.matchesFile(toolkit, file).pipe(Effect.provide(closed))
      const writing = WorstCase.matchesFile(toolkit, file, { update: true }).pipe(Effect.provide(sealed))
      assert.deepStrictEqual([yield* Effect.flip(reading), yield* Effect.flip(writing)], [denied, denied])
    }))
})

describe("the lines that differ", () => {
  const before = ["a", "  1", "  2", "", "b", "  1", "  2"].join("\n")
  const differing = (...lines: ReadonlyArray<string>) => differences(before, lines.join("\n"))

  it("are none between equal texts, empty lines aside", () => {
    assert.deepStrictEqual(differing("a", "  1", "  2", "b", "  1", "", "  2", ""), [])
  })

  it("are listed below the heading of their block", () => {
    assert.deepStrictEqual(differing("a", "  1", "  2", "b", "  1", "  3"), ["  b", "-   2", "+   3"])
    assert.deepStrictEqual(differing("a", "  2", "  1", "b", "  1", "  2"), ["  a", "-   1", "+   1"])
  })

  it("are all lines of a removed or a new block", () => {
    assert.deepStrictEqual(differing("b", "  1", "  2"), ["- a", "-   1", "-   2"])
    assert.deepStrictEqual(differing("a", "  1", "  2", "aa", "  1", "b", "  1", "  2"), ["+ aa", "+   1"])
    assert.deepStrictEqual(differences("", "a\n  1"), ["+ a", "+   1"])
    assert.deepStrictEqual(differences("a\n  1", ""), ["- a", "-   1"])
  })
})

describe("WorstCase.hasNoWarnings", () => {
  const steady = Tool.retry(Schedule.recurs(1))
  const odd = Toolkit.make(
    tool("get_quote").pipe(steady),
    tool("constructor").pipe(steady, Tool.retry(RetryPolicy.transient)),
    weather
  )

  it.effect("succeeds if there are none", () => WorstCase.hasNoWarnings(toolkit))

  it.effect("fails with all of them, and says what to do", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(WorstCase.hasNoWarnings(odd))
      assert.deepStrictEqual(failure.warnings.map(({ code, tool }) => [tool, code]), [
        ["get_quote", "unjittered_retry"],
        ["constructor", "unjittered_retry"],
        ["constructor", "retry_around_retry"]
      ])
      assert.deepStrictEqual(failure.message.split("\n").slice(-3), [
        "  constructor: retry_around_retry: Nested retries multiply their attempts. Keep one of them.",
        "",
        "A code can be allowed for a tool by name."
      ])
    }))

  it.effect("allows a code only for the named tool", () =>
    Effect.gen(function*() {
      const allowed = { get_quote: ["unjittered_retry"], constructor: ["retry_around_retry"] }
      const { warnings } = yield* Effect.flip(WorstCase.hasNoWarnings(odd, { allowed }))
      assert.deepStrictEqual(warnings.map(({ code, tool }) => [tool, code]), [["constructor", "unjittered_retry"]])
      const both = ["unjittered_retry", "retry_around_retry"]
      yield* WorstCase.hasNoWarnings(odd, { allowed: { ...allowed, constructor: both } })
    }))

  it("knows the names of the tools", () => {
    // @ts-expect-error: there is no such tool.
    WorstCase.hasNoWarnings(odd, { allowed: { get_qoute: ["unjittered_retry"] } })
  })
})
