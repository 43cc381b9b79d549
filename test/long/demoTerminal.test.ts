/** The demo as a process: in a real terminal, in a pipe, without standard input, and interrupted. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect } from "effect"
import { hasTerminal, runInTerminal, runNodeIn, runNodeUntilSignal, runShell } from "../support/program.ts"

const file = "examples/01-multi-tool-agent/main.ts"
const node = `"${process.execPath}" ${file}`
// In the outage of the demo, the geocoder refuses twelve look-ups of Mumbai, and the first one of Tokyo.
const inMumbai = "How is the weather in Mumbai?"
const outage = `${node} "${inMumbai}"`
const tour = `"${process.execPath}" examples/00-tour/main.ts`
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

  const tooLong = (output: string, columns: number) =>
    output.split("\n").filter((line) => line.length > columns && !line.startsWith("npx "))

  for (const columns of [30, 40, 80]) {
    it.live(`fits its lines to ${columns} columns, and loses no word, but leaves commands whole`, () =>
      Effect.gen(function*() {
        const { code, output } = yield* runInTerminal(
          { columns, env: { NO_COLOR: "1" } },
          `${node} --show-messages && ${node} --no-outage "Rain in Atlantis?"`
        )
        assert.strictEqual(code, 0)
        assert.deepStrictEqual(tooLong(output, columns), [])
        assert.include(words(output), "after attempt 3: The geocoder refused the connection.")
        assert.include(words(output), "Reply \"none\" to go on without one. > Tokyo")
        assert.include(words(output), "note: from cache, 5h old; the live service is unavailable")
        assert.include(words(output), "SemanticGarbage, unknown_city: Unknown city: 'Atlantis'.")
        assert.include(words(output), "Atlantis is unknown. I know Paris, London, Tokyo, Sao Paulo, Sydney, Mumbai,")
        assert.include(output, "\nnpx -y pnpm@12 demo \"Rain in Mumbai?\"\n")
      }))

    it.live(`explains its tools in ${columns} columns, with each value beside its label`, () =>
      Effect.gen(function*() {
        const { output } = yield* runInTerminal({ columns }, `${node} --explain`)
        assert.deepStrictEqual(tooLong(output, columns), [])
        assert.match(output, /^get_weather\n {2}side effect {2}none\n {2}policy {7}timeout of 2s$/m)
        assert.include(words(output), "policy retry of transient failures policy")
        assert.match(output, /^ {2}time {9}15s$/m)
      }))

    it.live(`begins the tour in ${columns} columns, and loses no word`, () =>
      Effect.gen(function*() {
        const { output } = yield* runInTerminal({ columns, env: { NO_COLOR: "1" } }, `${tour} 1`)
        assert.deepStrictEqual(tooLong(output, columns), [])
        assert.include(words(output), "Call payment_status to find out. Do not repeat this call")
        assert.include(words(output), "ends badly: 3 replies, 2 requests, paid 30 + 30 instead of 30")
      }))
  }

  it.live("colours its marks, unless NO_COLOR is set", () =>
    Effect.gen(function*() {
      const [colored, plain] = yield* Effect.all([
        runInTerminal({}, `${node} --no-outage "What is the weather in London and in Atlantis?"`),
        runInTerminal({ env: { NO_COLOR: "1" } }, node)
      ])
      assert.include(colored.output, `  ${escape}32mok${escape}39m       get_weather`)
      assert.include(colored.output, `  ${escape}31mfailed${escape}39m   get_weather`)
      assert.notInclude(plain.output, escape)
    }))
})

describe("the demo without a terminal", () => {
  it.live("prints whole lines without colour, and the question that it cannot ask", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* runNodeIn({}, file, inMumbai)
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
