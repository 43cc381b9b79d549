/** What the demo prints of a run, by its switches, and how its lines fit a terminal. */
import { assert, describe, it } from "@effect/vitest"
import { program } from "@fallible/examples/01-multi-tool-agent/program"
import * as Counter from "@fallible/examples/03-json-key-counter/program"
import * as Line from "@fallible/examples/shared/Line"
import * as TextFlow from "@fallible/examples/shared/TextFlow"
import * as Trace from "@fallible/examples/shared/Trace"
import { Effect } from "effect"
import * as InProcess from "../support/inProcess.ts"
import { passing } from "../support/virtualTime.ts"

const question = "What is the weather in London, Tokyo, and Atlantis right now? And convert 50 GBP to JPY."
const demo = (...args: ReadonlyArray<string>) => passing(InProcess.run(program, question, ...args))

const atlantis = "{\"ok\":false,\"error\":\"SemanticGarbage\",\"code\":\"unknown_city\"," +
  "\"detail\":\"Unknown city: 'Atlantis'.\",\"hint\":\"Choose one of the alternatives.\"," +
  "\"alternatives\":[\"Paris\",\"London\",\"Tokyo\",\"Sao Paulo\",\"Sydney\",\"Mumbai\",\"New York\"]," +
  "\"retry\":\"Do not repeat this call with the same arguments. Call again with different ones.\"}"

describe("--show-messages", () => {
  it.effect("prints each tool message as the model reads it, when the next turn begins", () =>
    Effect.gen(function*() {
      const { stdout } = yield* demo("--show-messages", "--no-outage")
      assert.include(
        stdout,
        "turn 2\n  told     get_weather\n           {\"city\":\"London\",\"celsius\":14,\"sky\":\"light rain\"}\n"
      )
      assert.include(stdout, `  told     get_weather\n           ${atlantis}\n`)
      assert.strictEqual(stdout.match(/^ {2}told /gm)?.length, 4)
    }))

  it.effect("prints one event per message with --json", () =>
    Effect.gen(function*() {
      const { stdout } = yield* demo("--show-messages", "--no-outage", "--json")
      const events = stdout.trimEnd().split("\n").map((line): Readonly<Record<string, unknown>> => JSON.parse(line))
      const sent = events.filter(({ _tag }) => _tag === "MessageSent")
      assert.deepStrictEqual(sent.map(({ tool }) => tool), [
        "get_weather",
        "get_weather",
        "get_weather",
        "convert_currency"
      ])
      assert.strictEqual(sent[2]?.["text"], atlantis)
    }))

  it.effect("prints no message of a fixer's own agent, and nothing without the switch", () =>
    Effect.gen(function*() {
      const question = "How many keys has {\"a: 1}?"
      const counter = (...args: ReadonlyArray<string>) =>
        passing(InProcess.run(Counter.program, "--fixer", "agent", question, ...args))
      const { stdout } = yield* counter("--show-messages")
      assert.deepStrictEqual(stdout.match(/^ {2}told .*$/gm), [
        "  told     count_json_keys",
        "  told     count_json_keys"
      ])
      assert.notInclude((yield* counter()).stdout, "told  ")
    }))

  it("cuts a long message, and says how much is missing", () => {
    const [, line] = Trace.told("get_all", "x".repeat(2500))
    assert.strictEqual(line?.text, `${"x".repeat(2000)}… (500 more characters)`)
  })
})

describe("--log", () => {
  it.effect("logs each failure as one line on standard error", () =>
    Effect.gen(function*() {
      const { stderr, stdout } = yield* demo("--log", "--seed", "51")
      const lines = stderr.trimEnd().split("\n")
      assert.strictEqual(lines.length, 5)
      assert.isTrue(lines.every((line) => /^timestamp=\S+ level=WARN .* tool=get_weather /.test(line)))
      assert.include(
        stderr,
        "message=\"get_weather failed (unknown_city): Unknown city: 'Atlantis'. The model was told.\""
      )
      assert.notInclude(stdout, "level=WARN")
      assert.strictEqual((yield* demo("--seed", "51")).stderr, "")
    }))
})

describe("--explain", () => {
  it.effect("prints the worst case of each tool, and runs nothing", () =>
    Effect.gen(function*() {
      const { code, stdout } = yield* demo("--explain")
      assert.strictEqual(code, 0)
      assert.deepStrictEqual(stdout.match(/^\w.*$/gm), [
        "convert_currency",
        "get_local_time",
        "get_population",
        "get_weather"
      ])
      assert.match(stdout, /^ {2}policy {7}retry of transient failures$/m)
      assert.match(stdout, /^ {2}time {9}15s$/m)
      assert.notInclude(stdout, "unbounded")
      assert.notInclude(stdout, "turn 1")
    }))
})

describe("what a run does about itself", () => {
  it.effect("shows the limit that is used up", () =>
    Effect.gen(function*() {
      assert.match((yield* demo("--max-turns", "1")).stdout, /^ {2}limit {4}no turns left$/m)
    }))

  it("shows the loop that the guard noticed, and its step", () => {
    const place = { run: "run-1", at: 0, turn: 3 }
    const noticed = { _tag: "LoopNoticed", ...place, step: "withdrawn", tools: ["search", "read"] } as const
    assert.deepStrictEqual(Trace.readable(noticed).map(({ mark, text }) => `${mark}${text}`), [
      "  loop     search, read: withdrew the tool"
    ])
    const used = { _tag: "LimitReached", ...place, limit: "elapsed" } as const
    assert.deepStrictEqual(Trace.readable(used).map(({ text }) => text), ["no time left"])
  })
})

describe("a line of the trace", () => {
  const narrow = (columns: number): Line.Screen => ({ columns, hasColor: false })
  const line: Line.Line = {
    mark: "  retry    ",
    tone: "retry",
    call: "get_weather {\"city\":\"London\"}",
    text: "after attempt 1: The geocoder refused the connection."
  }

  it("stays whole where nothing limits its width", () => {
    assert.strictEqual(
      Line.format(line, { columns: undefined, hasColor: false }),
      "  retry    get_weather {\"city\":\"London\"}  after attempt 1: The geocoder refused the connection."
    )
  })

  it("is wrapped between words, below its mark", () => {
    assert.deepStrictEqual(Line.format(line, narrow(40)).split("\n"), [
      "  retry    get_weather {\"city\":\"London\"}",
      "           after attempt 1: The geocoder",
      "           refused the connection."
    ])
  })

  it("loses the end of its arguments, but never its text", () => {
    const [first, ...rest] = Line.format({ ...line, call: `search ${"x".repeat(90)}` }, narrow(40)).split("\n")
    assert.strictEqual(first, `  retry    search ${"x".repeat(21)}…`)
    assert.strictEqual(rest.map((part) => part.trim()).join(" "), line.text)
  })

  it("fits every width of at least 23 characters, and loses no word", () => {
    for (let columns = 23; columns <= 120; columns++) {
      const formatted = Line.format({ ...line, call: "" }, narrow(columns))
      assert.isTrue(formatted.split("\n").every((part) => part.length <= columns))
      assert.strictEqual(formatted.replace(/\s+/g, " "), ` retry ${line.text}`)
    }
  })

  it("has one coloured word, or is a coloured remark", () => {
    const screen = { columns: 40, hasColor: true }
    assert.match(Line.format(line, screen), /^ {2}\u001b\[33mretry\u001b\[39m {4}get_weather/)
    assert.strictEqual(
      Line.format({ mark: "    ", tone: "note", text: "note: old" }, screen),
      "    \u001b[36mnote: old\u001b[39m"
    )
  })

  it("has no control characters but its own", () => {
    assert.strictEqual(
      Line.format({ mark: "", text: "a\u001b[31mb\u202ec" }, narrow(80)),
      "a [31mb c"
    )
  })
})

describe("the text of a model", () => {
  const flow = (columns: number | undefined, ...pieces: ReadonlyArray<string>) => {
    const flow = TextFlow.make(columns)
    return [...pieces.map((piece) => flow.add(piece)), flow.end()]
  }
  const text = "One two  three,\n\n  four fivesixseveneight nine."

  it("is printed as it comes where nothing limits its width", () => {
    assert.deepStrictEqual(flow(undefined, "One t", "wo"), ["One t", "wo", ""])
  })

  it("is broken between words, and only the last word waits", () => {
    assert.deepStrictEqual(flow(10, "One two thr", "ee four"), ["One two", "\nthree", " four"])
  })

  it("is the same in whatever pieces it comes, and loses no word", () => {
    for (let columns = 5; columns <= 60; columns++) {
      const whole = flow(columns, text).join("")
      assert.strictEqual(flow(columns, ...text).join(""), whole)
      assert.deepStrictEqual(whole.split(/\s+/), text.split(/\s+/))
      assert.isTrue(whole.split("\n").every((line) => line.length <= columns || /^ *\S+$/.test(line)))
    }
    assert.strictEqual(flow(60, text).join(""), text)
  })
})
