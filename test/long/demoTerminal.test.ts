/** The demo as a process: in a real terminal, in a pipe, without standard input, and interrupted. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect } from "effect"
import { hasTerminal, runInTerminal, runNodeIn, runNodeUntilSignal, runShell } from "../support/program.ts"

const file = "examples/01-multi-tool-agent/main.ts"
const node = `"${process.execPath}" ${file}`
// With this seed, the geocoder refuses eleven look-ups of Mumbai, and the first one of Tokyo.
const outage = `${node} --outage --seed 232 "How is the weather in Mumbai?"`
const prompt = "on without one.\n> "

const escape = "\u001b["
const words = (output: string) => output.replace(/\s+/g, " ")

/** Prints the settings of the terminal before and after a command, and returns the exit code of the command. */
const withSettings = (command: string) => `trap : INT; stty -g; ${command}; code=$?; stty -g; exit $code`
const settingsIn = (output: string) => output.match(/^[\da-f]+(?::[\da-f]+){10,}$/gm)

describe.skipIf(!hasTerminal())("the demo in a terminal", () => {
  it.live("asks the user, again if need be, and goes on with the reply", () =>
    Effect.gen(function*() {
      const { code, output } = yield* runInTerminal({
        columns: 300,
        steps: [{ shows: prompt, type: "Atlantis\n" }, { shows: prompt, type: "Tokyo\n" }]
      }, outage)
      assert.strictEqual(code, 0)
      assert.include(words(output), "Reply \"none\" to go on without one. > Atlantis")
      assert.include(words(output), "Unknown city: Atlantis. The weather in Mumbai is not available")
      assert.include(words(output), "Tokyo: 22 °C, clear (from cache, 5h old;")
    }))

  it.live("ends at the prompt with code 130 after Ctrl-C, and leaves the terminal as it was", () =>
    Effect.gen(function*() {
      const steps = [{ shows: "> ", type: "\u0003" }]
      const { code, output } = yield* runInTerminal({ columns: 300, steps }, withSettings(outage))
      assert.strictEqual(code, 130)
      assert.notMatch(output, /Error|^ +at /m)
      const [before, after, ...others] = settingsIn(output) ?? []
      assert.isDefined(before)
      assert.deepStrictEqual([after, others], [before, []])
    }))

  it.live("ends at the prompt with code 1 after Ctrl-D, and says how to answer", () =>
    Effect.gen(function*() {
      const { code, output } = yield* runInTerminal({ columns: 300, steps: [{ shows: "> ", type: "\u0004" }] }, outage)
      assert.strictEqual(code, 1)
      assert.notMatch(output, /Error|^ +at /m)
      assert.include(output, "Give it in a terminal, or in advance: --reply \"your reply\".")
    }))

  for (const columns of [40, 80]) {
    it.live(`fits its lines to ${columns} columns, and loses no word of a failure`, () =>
      Effect.gen(function*() {
        const { output } = yield* runInTerminal({ columns, env: { NO_COLOR: "1" } }, `${node} --show-messages`)
        assert.deepStrictEqual(output.split("\n").filter((line) => line.length > columns), [])
        assert.include(words(output), "SemanticGarbage, unknown_city: Unknown city: 'Atlantis'.")
        assert.include(output, "  ok       get_weather {\"city\":\"London\"}")
        assert.include(words(output), "Atlantis is unknown. I know Paris, London, Tokyo, Sao Paulo, Sydney, Mumbai,")
        assert.include(output, "\nnpx -y pnpm@12 tour\n")
      }))
  }

  it.live("colours its marks, unless NO_COLOR is set", () =>
    Effect.gen(function*() {
      const [colored, plain] = yield* Effect.all([
        runInTerminal({}, node),
        runInTerminal({ env: { NO_COLOR: "1" } }, node)
      ])
      assert.include(colored.output, `  ${escape}32mok${escape}39m       get_weather`)
      assert.include(colored.output, `  ${escape}31mfailed${escape}39m   get_weather`)
      assert.notInclude(plain.output, escape)
    }))
})

describe("the demo without a terminal", () => {
  const question = ["--outage", "--seed", "232", "How is the weather in Mumbai?"]

  it.live("prints whole lines without colour, and the question that it cannot ask", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* runNodeIn({}, file, ...question)
      assert.strictEqual(code, 1)
      assert.notInclude(stdout + stderr, escape)
      assert.match(stdout, /^The weather in Mumbai is not available: .* Which city .*\.$/m)
      assert.notInclude(stdout + stderr, "> ")
      assert.include(stderr, "--reply")
      assert.match(stdout, /\n\nSee eight failures and what the library does:\nnpx -y pnpm@12 tour\n$/)
    }))

  it.live("does the same if standard input is closed", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* runShell(`${outage} <&-`)
      assert.strictEqual(code, 1)
      assert.include(stderr, "Give it in a terminal, or in advance")
      assert.notMatch(stdout + stderr, /Error|^ +at /m)
    }))

  it.live("ends with code 130 and without a stack when it is interrupted", () =>
    Effect.gen(function*() {
      const slow = FakeModelServer.stall(
        ScriptedModel.text("Once upon a time, there was a geocoder. ".repeat(30)),
        6_000
      )
      const server = yield* FakeModelServer.make([slow])
      const env = { OLLAMA_HOST: server.url }
      const { code, stderr, stdout } = yield* runNodeUntilSignal("SIGINT", "there was", env, file)
      assert.deepStrictEqual([code, stderr], [130, ""])
      assert.notInclude(stdout, "model  answers")
      // The request to the model is closed, too.
      yield* server.until(({ open }) => open === 0)
    }).pipe(Effect.scoped))
})
