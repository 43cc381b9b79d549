/** The demo's conversation in a file, which a later process continues, and the calls that its stand-in writes badly. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Transcript } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Planner from "@fallible/examples/01-multi-tool-agent/Planner"
import { program } from "@fallible/examples/01-multi-tool-agent/program"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, FileSystem, Schema } from "effect"
import * as InProcess from "../support/inProcess.ts"
import { runNode } from "../support/program.ts"
import { passing } from "../support/virtualTime.ts"

const Stored = Schema.fromJsonString(Schema.Struct({ transcript: Transcript.schema, facts: CallFacts.schema }))

const demo = (...args: ReadonlyArray<string>) => passing(InProcess.run(program, ...args))

/** A file in a folder of its own, which is removed at the end of the test. */
const inFolder = Effect.gen(function*() {
  const files = yield* FileSystem.FileSystem
  const folder = yield* files.makeTempDirectoryScoped()
  const file = `${folder}/trip.json`
  return {
    ...files,
    folder,
    file,
    ask: (question: string, ...args: ReadonlyArray<string>) =>
      demo(question, "--quiet", "--conversation", file, ...args.includes("--outage") ? [] : ["--no-outage"], ...args),
    text: files.readFileString(file),
    /** The questions of the user in the file. */
    questions: Effect.map(
      Effect.flatMap(files.readFileString(file), Schema.decodeEffect(Stored)),
      ({ transcript }) => Array.from(transcript).flatMap((message) => message.role === "user" ? [message.text] : [])
    )
  }
})

const test = <A, E>(effect: Effect.Effect<A, E, NodeServices.NodeServices | Effect.Services<typeof inFolder>>) =>
  Effect.scoped(Effect.provide(effect, NodeServices.layer))

const inLondon = "How is the weather in London?"

describe("the demo's conversation in a file", () => {
  it.live("reaches a model over HTTP with all earlier messages", () =>
    test(Effect.gen(function*() {
      const { file } = yield* inFolder
      const server = yield* FakeModelServer.make(({ messages }) => Planner.reply(messages))
      const ask = (question: string) =>
        InProcess.runIn(
          { OLLAMA_HOST: server.url },
          program,
          question,
          "--quiet",
          "--no-outage",
          "--conversation",
          file
        )
      yield* ask(inLondon)
      assert.strictEqual((yield* ask("And in Paris?")).stdout, "Paris: 16 °C, overcast.\n")
      const { requests } = yield* server.state
      assert.deepStrictEqual(requests.map(({ problem }) => problem), requests.map(() => undefined))
      assert.deepStrictEqual(requests.at(-1)?.asked?.messages.map(({ role }) => role), [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
        "tool"
      ])
    })))

  it.effect("answers a second question with a stale value and its age, in an outage since the first", () =>
    test(Effect.gen(function*() {
      const { ask } = yield* inFolder
      assert.strictEqual((yield* ask("How is the weather in Tokyo?")).stdout, "Tokyo: 22 °C, clear.\n")
      const { code, stdout } = yield* ask("And what time is it in Tokyo?", "--outage", "--seed", "51")
      assert.strictEqual(code, 0)
      assert.match(stdout, /^Tokyo: .* \(Asia\/Tokyo\) \(from cache, 5h old; the live service is unavailable\)\.\n$/)
    })))

  it.effect("keeps what a run without an answer has said and done", () =>
    test(Effect.gen(function*() {
      const { ask, questions } = yield* inFolder
      assert.strictEqual((yield* ask(inLondon, "--max-turns", "1")).code, 1)
      assert.deepStrictEqual(yield* questions, [inLondon])
      assert.strictEqual((yield* ask("And in Paris?")).stdout, "Paris: 16 °C, overcast.\n")
    })))

  it.effect("goes on after a question to the user that nobody answered", () =>
    test(Effect.gen(function*() {
      const { ask, questions } = yield* inFolder
      const inMumbai = "How is the weather in Mumbai?"
      assert.strictEqual((yield* ask(inMumbai, "--outage")).code, 1)
      const { code, stdout } = yield* ask(inMumbai, "--outage", "--reply", "Tokyo")
      assert.strictEqual(code, 0)
      assert.match(stdout, /^Tokyo: 22 °C, clear \(from cache, 5h old; .*the user chose Tokyo instead of Mumbai\)\.\n$/)
      assert.deepStrictEqual(yield* questions, [inMumbai, inMumbai])
    })))

  it.effect("is left as it is if it was cut off anywhere, or is not ours: one line says so, and nothing is asked", () =>
    test(Effect.gen(function*() {
      const { ask, file, text, writeFileString } = yield* inFolder
      yield* ask(inLondon)
      const whole = (yield* text).trimEnd()
      const cuts = Array.from({ length: 20 }, (_, index) => whole.slice(0, Math.floor((whole.length * index) / 20)))
      const foreign = ["{}", "[]", "null", "Dear diary", whole.replace("\"version\":2", "\"version\":99")]
      for (const content of [...cuts, whole.slice(0, -1), ...foreign]) {
        yield* writeFileString(file, content)
        assert.deepStrictEqual(yield* ask(inLondon), {
          code: 1,
          stdout: "",
          stderr: `${file} holds no conversation: it was cut off, or is of another program or version. ` +
            "It is left as it is. Name another file.\n"
        })
        assert.strictEqual(yield* text, content)
      }
    })))

  it.effect("survives a process that died while it wrote", () =>
    test(Effect.gen(function*() {
      const { ask, file, folder, questions, readDirectory, writeFileString } = yield* inFolder
      yield* ask(inLondon)
      yield* writeFileString(`${file}.new`, "{\"transcript\":{\"ver")
      assert.strictEqual((yield* ask("And in Paris?")).stdout, "Paris: 16 °C, overcast.\n")
      assert.deepStrictEqual(yield* questions, [inLondon, "And in Paris?"])
      assert.deepStrictEqual(yield* readDirectory(folder), ["trip.json"])
    })))

  it.effect("is not lost if the next run cannot be stored: its answer is printed, and one line says so", () =>
    test(Effect.gen(function*() {
      const { ask, file, makeDirectory, questions } = yield* inFolder
      yield* ask(inLondon)
      yield* makeDirectory(`${file}.new`)
      const { code, stderr, stdout } = yield* ask("And in Paris?")
      assert.deepStrictEqual([code, stdout], [1, "Paris: 16 °C, overcast.\n"])
      assert.match(stderr, /\nThe conversation could not be stored: .*trip\.json\.new.*\n$/)
      assert.deepStrictEqual(yield* questions, [inLondon])
    })))

  it.effect("is refused before anything is asked if it could not be stored", () =>
    test(Effect.gen(function*() {
      const { folder } = yield* inFolder
      for (
        const [file, says] of [
          [
            `${folder}/gone/trip.json`,
            /trip\.json cannot be written: its folder does not exist, or is closed to you\.\n$/
          ],
          [folder, /^\S+ cannot be read: .*\n$/],
          [" ", /Expected: a file, such as trip\.json/]
        ] as const
      ) {
        const { code, stderr, stdout } = yield* demo(inLondon, "--conversation", file)
        assert.deepStrictEqual([code, stdout], [1, ""])
        assert.match(stderr, says)
        assert.strictEqual(stderr.trimEnd().split("\n").length, 1)
      }
    })))
})

describe("the demo's conversation in a file, as a process", { tags: "slow" }, () => {
  it.live(
    "is continued by a later process, which knows what was asked before",
    () =>
      test(Effect.gen(function*() {
        const { file, questions } = yield* inFolder
        const ask = (question: string) =>
          runNode("examples/01-multi-tool-agent/main.ts", question, "--quiet", "--conversation", file)
        assert.deepInclude(yield* ask(inLondon), { code: 0, stdout: "London: 14 °C, light rain.\n" })
        const stdout = "Paris: 16 °C, overcast (from cache, 2d old; the live service is unavailable).\n"
        assert.deepInclude(yield* ask("And in Paris?"), { code: 0, stdout })
        assert.deepStrictEqual(yield* questions, [inLondon, "And in Paris?"])
      }))
  )
})

describe("the demo with --malformed", () => {
  it.effect("shows how each malformed call is repaired or refused, and answers in the end", () =>
    Effect.gen(function*() {
      const question = "What is the weather in London, Tokyo, and Atlantis right now? And convert 50 GBP to JPY."
      const { code, stdout } = yield* demo("--malformed", "--no-outage", question)
      assert.strictEqual(code, 0)
      const lines = stdout.split("\n").map((line) => line.replace(/ {2}\d+ ms$/, "").trim())
      const after = (call: string) => lines[lines.indexOf(call) + 1] ?? ""
      assert.match(
        after("failed   get_weather {\"city\":\"Londo"),
        /^SchemaMismatch, invalid_json: The arguments cannot be read\. They end too early/
      )
      assert.include(lines, "repair   get_weather {'city':'Tokyo'}  single quotes")
      assert.include(lines, "ok       get_weather {'city':'Tokyo'}")
      assert.match(
        after("failed   get_weather {\"the_city\":\"Atlantis\"}"),
        /^SchemaMismatch, invalid_arguments: .*'the_city': no such key\. Expected keys: 'city'/
      )
      assert.match(
        after("failed   currency_convert {\"amount\":50,\"from\":\"GBP\",\"to\":\"JPY\"}"),
        /^SchemaMismatch, unknown_tool: There is no tool named 'currency_convert'\./
      )
      assert.include(stdout, "London: 14 °C, light rain.\nTokyo: 22 °C, clear.\nAtlantis is unknown.")
      assert.include(stdout, "50 GBP is 9,898.73 JPY.")
      // A repaired call is not repeated, and no refused call ran.
      assert.match(stdout, /^3 turns, 7 calls, 4 failures \(4 told to the model\)$/m)
    }))
})
