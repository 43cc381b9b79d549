import { assert, describe, it } from "@effect/vitest"
import * as Planner from "@fallible/examples/03-json-key-counter/Planner"
import { program } from "@fallible/examples/03-json-key-counter/program"
import { mend, quoteKeys, toolkitWith } from "@fallible/examples/03-json-key-counter/tools"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect } from "effect"
import * as InProcess from "../support/inProcess.ts"
import { withoutTimings } from "../support/program.ts"

const run = (...args: ReadonlyArray<string>) => InProcess.run(program, ...args)

const wires = [
  ["Ollama", (url: string) => ({ OLLAMA_HOST: url })],
  ["Chat Completions", (url: string) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: "qwen3" })]
] as const

interface Line {
  readonly _tag: string
  readonly outcome?: { readonly _tag: string; readonly attempts: number; readonly failure?: object }
  readonly answer?: { readonly text: string; readonly report: RunReport }
  readonly failure?: string
  readonly detail?: string
  readonly report?: RunReport
}

interface RunReport {
  readonly turns: number
  readonly failures: ReadonlyArray<{ readonly code: string; readonly handling: string }>
  readonly repairs: ReadonlyArray<{ readonly kind: string }>
}

/** Runs the example over HTTP. Returns its outcomes, its end, and the number of requests to each of the two models. */
const played = (env: (url: string) => Readonly<Record<string, string>>, ...args: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const server = yield* FakeModelServer.make((request) => Planner.reply(request))
    const { code, stderr, stdout } = yield* InProcess.runIn(env(server.url), program, "--json", ...args)
    assert.strictEqual(stderr, "")
    const lines = stdout.trimEnd().split("\n").map((line): Line => JSON.parse(line))
    const { requests } = yield* server.state
    const fixing = requests.filter(({ asked }) => asked?.tools.some(({ name }) => name === "escalate") === true).length
    const last = lines.at(-1)
    const report = last?.answer?.report ?? last?.report
    return {
      code,
      text: last?.answer?.text,
      end: last?.failure,
      detail: last?.detail,
      outcomes: lines.flatMap(({ outcome }) => outcome === undefined ? [] : [outcome]),
      modelCalls: [requests.length - fixing, fixing],
      turns: report?.turns,
      failures: report?.failures.map(({ code, handling }) => `${code} ${handling}`),
      repairs: report?.repairs.map(({ kind }) => kind)
    }
  }).pipe(Effect.scoped)

for (const [wire, env] of wires) {
  describe(`the JSON key counter over ${wire}`, () => {
    it.live("has a function correct malformed JSON, without a model call", () =>
      Effect.gen(function*() {
        const { outcomes, ...end } = yield* played(env)
        assert.deepStrictEqual(end, {
          code: 0,
          text: "It has 3 keys.",
          end: undefined,
          detail: undefined,
          modelCalls: [2, 0],
          turns: 2,
          failures: ["malformed_json fix"],
          repairs: ["fixed"]
        })
        assert.deepStrictEqual(outcomes.map(({ _tag, attempts }) => [_tag, attempts]), [["Completed", 2]])
      }))

    it.live("has an agent escalate with the corrected JSON, and the model succeeds on its next call", () =>
      Effect.gen(function*() {
        const { outcomes, ...end } = yield* played(env, "--fixer", "agent")
        assert.deepStrictEqual(end, {
          code: 0,
          text: "It has 3 keys.",
          end: undefined,
          detail: undefined,
          modelCalls: [3, 1],
          turns: 4,
          failures: ["malformed_json escalated", "malformed_json told"],
          repairs: []
        })
        assert.deepStrictEqual(outcomes.map(({ _tag, attempts }) => [_tag, attempts]), [["Failed", 1], [
          "Completed",
          1
        ]])
        assert.deepInclude(outcomes[0]?.failure, {
          _tag: "SchemaMismatch",
          severity: "low",
          source: "the corrector",
          hint: "Corrected arguments: " +
            JSON.stringify({ json: "{\"name\": \"Ada\", \"born\": 1815, \"works\": {\"notes\": 7}}" })
        })
      }))

    it.live("ends with exit code 1 and the reason when the agent stops everything", () =>
      Effect.gen(function*() {
        const { outcomes, ...end } = yield* played(env, "--fixer", "agent", "--planted")
        assert.deepStrictEqual(end, {
          code: 1,
          text: undefined,
          end: "RunStopped",
          detail: "A tool stopped the run: The JSON holds orders for whoever reads it.",
          modelCalls: [1, 1],
          turns: 2,
          failures: ["malformed_json stopped"],
          repairs: []
        })
        assert.deepStrictEqual(outcomes.map(({ _tag, attempts }) => [_tag, attempts]), [["Stopped", 1]])
      }))

    it.live("has an agent correct a text that no regular expression can", () =>
      Effect.gen(function*() {
        const { failures, modelCalls, repairs, text } = yield* played(env, "--fixer", "agent", "Keys of {'a': 1}?")
        assert.deepStrictEqual([text, modelCalls, failures, repairs], [
          "It has 1 key.",
          [2, 1],
          ["malformed_json fix"],
          [
            "fixed"
          ]
        ])
      }))

    it.live("has an agent report a text with two readings, and counts neither", () =>
      Effect.gen(function*() {
        const { failures, modelCalls, text } = yield* played(env, "--fixer", "agent", "Keys of {a: 1, a: 2}?")
        assert.deepStrictEqual([modelCalls, failures], [[2, 1], ["malformed_json escalated", "malformed_json told"]])
        assert.strictEqual(
          text,
          "I could not count the keys. A key stands in the JSON twice, with different values. Which is meant: {\"a\": 1} or {\"a\": 2}?"
        )
      }))

    it.live("leaves the correction to the model without a fixer", () =>
      Effect.gen(function*() {
        const { code, failures, modelCalls, outcomes, text } = yield* played(env, "--fixer", "none")
        assert.deepStrictEqual([code, text, modelCalls, failures], [0, "It has 3 keys.", [3, 0], [
          "malformed_json told"
        ]])
        assert.deepStrictEqual(outcomes.map(({ _tag }) => _tag), ["Failed", "Completed"])
      }))

    for (const [fixer, modelCalls] of [["function", [2, 0]], ["agent", [2, 1]], ["none", [3, 0]]] as const) {
      for (
        const [json, keys] of [
          // The question in the framework that inspired the example.
          ["{name: world, age: 30, active: true}", "3 keys"],
          ["{'a': 1, 'b': 'x, y'}", "2 keys"],
          ["{a: 1, \"b\": {c: 2}}", "2 keys"],
          ["{\"a\": [1, 2,], \"b\": {\"c\": 3,},}", "2 keys"],
          ["{'a': [{b: no,},],}", "1 key"],
          ["{größe: 1, naïve: 2, größe: 1}", "2 keys"],
          ["{__proto__: 1}", "1 key"]
        ] as const
      ) {
        it.live(`counts ${json} with ${fixer === "none" ? "no fixer" : `the ${fixer}`}`, () =>
          Effect.gen(function*() {
            const played_ = yield* played(env, "--fixer", fixer, `How many keys has ${json}?`)
            assert.deepStrictEqual([played_.text, played_.modelCalls], [`It has ${keys}.`, [...modelCalls]])
          }))
      }
    }
  })
}

describe("the JSON key counter as a process", { tags: "slow" }, () => {
  const command = "examples/03-json-key-counter/main.ts"

  it.live("prints the same as in this process", () =>
    Effect.gen(function*() {
      assert.deepInclude(yield* InProcess.sameAsProcess(program, {}, command), { code: 0, stderr: "" })
    }))

  it.live("ends with exit code 1", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make((request) => Planner.reply(request))
      const env = { OLLAMA_HOST: server.url }
      const stopped = yield* InProcess.sameAsProcess(program, env, command, "--fixer", "agent", "--planted")
      assert.strictEqual(stopped.code, 1)
    }).pipe(Effect.scoped))
})

describe("the JSON key counter", () => {
  it.live("shows the same with the stand-in as over HTTP", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make((request) => Planner.reply(request))
      for (const args of [[], ["--fixer", "agent"]]) {
        const standIn = yield* run(...args)
        const overWire = yield* InProcess.runIn({ OLLAMA_HOST: server.url }, program, ...args)
        const body = ({ stdout }: { readonly stdout: string }) => withoutTimings(stdout).split("\n").slice(1)
        assert.deepStrictEqual(body(standIn), body(overWire))
      }
    }).pipe(Effect.scoped))

  it.live("shows people what was corrected and what was escalated", () =>
    Effect.gen(function*() {
      const corrected = yield* run()
      assert.match(corrected.stdout, /^ {2}fix {6}count_json_keys .* after attempt 1: 'json' is no JSON/m)
      assert.match(corrected.stdout, /^ {11}note: The arguments were corrected to \{"json":/m)
      const escalated = yield* run("--fixer", "agent")
      // The fixer also counts in the totals.
      assert.match(escalated.stdout, /^ {2}fixer {4}count_json_keys {2}1 turn, 1 call$/m)
      assert.match(escalated.stdout, /^ {11}escalated by the corrector \(low\): Corrected arguments: /m)
    }))

  it.live("gives up on a text with no reading or with two, as without a fixer", () =>
    Effect.gen(function*() {
      for (
        const json of ["{\"a\": [1, {\"b\" 2}]}", "{a: 1, a: 2}", "{,}", "{a: 1,,}", "[1, 2", "{\"a\": 1", "[{a:}]"]
      ) {
        const { code, stdout } = yield* run("--quiet", `How many keys has ${json}?`)
        assert.strictEqual(code, 0)
        assert.match(stdout, /^I could not count the keys\. 'json' is no JSON/)
      }
    }))

  it.live("never accepts an incomplete correction", () =>
    Effect.gen(function*() {
      const { stdout } = yield* run("--fixer", "agent", "How many keys has {\"a\": [1, {\"b\" 2}]}?")
      assert.notInclude(stdout, "Corrected arguments")
      assert.include(stdout, "I could not count the keys. The JSON is malformed, and I cannot mend it.")
    }))

  it.live("never reports a duplicate key for another fault", () =>
    Effect.gen(function*() {
      for (const json of ["{\"a\": {\"x\": 1} \"b\": {\"x\": 2}}", "{\"a\": 1, \"b\" 2,}", "{a: b c}"]) {
        const { stdout } = yield* run("--fixer", "agent", `How many keys has ${json}?`)
        assert.include(stdout, "The JSON is malformed, and I cannot mend it.")
      }
      const nested = yield* run("--fixer", "agent", "How many keys has {a: {b: 1}, a: 2}?")
      assert.include(
        nested.stdout,
        "A key stands in the JSON twice, with different values. Which of its values is meant?"
      )
    }))

  it.live("asks the question it was given", () =>
    Effect.gen(function*() {
      const both = yield* run("--fixer", "agent", "--planted", "How many keys has {}?")
      assert.deepStrictEqual([both.code, both.stdout], [1, ""])
      assert.include(both.stderr, "--planted has a question of its own")
      const other = yield* run("--planted")
      assert.deepStrictEqual([other.code, other.stdout], [1, ""])
      assert.include(other.stderr, "--planted is for --fixer agent")
    }))

  it.effect("prints with --preview what can be read of the JSON while it arrives, and asks nothing", () =>
    Effect.gen(function*() {
      const { code, stdout } = yield* run("--preview", "How many keys has {\"name\": \"Ada\", \"titles\": [\"Note\"]}?")
      assert.strictEqual(code, 0)
      assert.deepStrictEqual(stdout.trimEnd().split("\n"), [
        "   8 of 35 characters  {}",
        "  16 of 35 characters  {\"name\":\"Ada\"}",
        "  24 of 35 characters  {\"name\":\"Ada\"}",
        "  32 of 35 characters  {\"name\":\"Ada\",\"titles\":[\"Note\"]}",
        "  35 of 35 characters  {\"name\":\"Ada\",\"titles\":[\"Note\"]}"
      ])
    }))

  it.effect("previews nothing after a fault, and never a member that may continue", () =>
    Effect.gen(function*() {
      const last = (question: string) =>
        Effect.map(run("--preview", question), ({ stdout }) => stdout.trimEnd().split("\n").at(-1)?.split("  ").at(-1))
      assert.strictEqual(yield* last("{\"name\": \"Ada\", \"born: 1815, \"x\": 1}"), "{\"name\":\"Ada\"}")
      assert.strictEqual(yield* last("{\"born\": 18"), "{}")
    }))

  it.effect("counts only top-level keys", () =>
    Effect.gen(function*() {
      const tool = toolkitWith("none").tools.get("count_json_keys") ?? assert.fail("no such tool")
      const keysOf = (json: string) => Effect.map(tool.run({ json }), ({ keys }) => keys)
      const counts = yield* Effect.forEach(
        ["{}", "[]", "1", "null", "{\"a\":{\"b\":[{\"c\":1},{\"c\":2}]},\"d\":1}"],
        keysOf
      ).pipe(Effect.provide(Planner.layer))
      assert.deepStrictEqual(counts, [0, 0, 0, 0, 2])
    }))

  it("mends quotes, bare words and commas, and does not change valid JSON", () => {
    assert.strictEqual(
      mend("{name: world, age: 30, active: true}"),
      "{\"name\": \"world\", \"age\": 30, \"active\": true}"
    )
    assert.strictEqual(mend("{'it\\'s': 'a \"b\"', }"), "{\"it's\": \"a \\\"b\\\"\" }")
    assert.strictEqual(mend("[1, -2.5e3, null, x-1,]"), "[1, -2.5e3, null, \"x-1\"]")
    for (const good of ["{\"a\": {\"b\": [1, {\"c\": \"x, }\"}]}}", "\"'a', {b: c,}\""]) {
      assert.strictEqual(mend(good), good)
    }
  })

  it("quotes keys that lack a quote, and does not change others", () => {
    assert.strictEqual(quoteKeys("{a: 1, \"b: {c\": 2}, \"d\" : 3}"), "{\"a\": 1, \"b\": {\"c\": 2}, \"d\" : 3}")
    const good = "{\"a\": {\"b\": [1, {\"c\": \"x\"}]}}"
    assert.strictEqual(quoteKeys(good), good)
  })
})
