import { assert, describe, it } from "@effect/vitest"
import { Agent, ModelFailure, type Transcript } from "@fallible/core"
import * as Geocoder from "@fallible/examples/01-multi-tool-agent/Geocoder"
import * as Planner from "@fallible/examples/01-multi-tool-agent/Planner"
import { program } from "@fallible/examples/01-multi-tool-agent/program"
import { toolkit } from "@fallible/examples/01-multi-tool-agent/tools"
import { cityNames, currencies } from "@fallible/examples/01-multi-tool-agent/World"
import * as LanguageModel from "@fallible/examples/shared/LanguageModel"
import * as Trace from "@fallible/examples/shared/Trace"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { ConfigProvider, Duration, Effect, Layer, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import * as InProcess from "../support/inProcess.ts"
import { atOnce } from "../support/models.ts"
import { printedUpTo, withoutTimings } from "../support/program.ts"
import { passing } from "../support/virtualTime.ts"

const question = "What is the weather in London, Tokyo, and Atlantis right now? And convert 50 GBP to JPY."

/** Runs the demo in this process under virtual time, so its waits take no real time. */
const demo = (...args: ReadonlyArray<string>) => passing(InProcess.run(program, ...args))

const agent = Agent.make({ toolkit })
const sunny = Layer.merge(Planner.layer, Geocoder.layer)
const dark = Layer.merge(Planner.layer, Geocoder.layerOutage("51"))

const ask = (question: string, world = sunny) => passing(agent.run(question)).pipe(Effect.provide(world))
const textOf = (question: string, world = sunny) => Effect.map(ask(question, world), ({ text }) => text)

const timed: ReadonlySet<unknown> = new Set(["CallEnded", "ModelReplied"])

const planner: FakeModelServer.Script = ({ messages }) => Planner.reply(messages)

/** A reply whose text never ends. */
const slow = FakeModelServer.stall(
  ScriptedModel.text("Once upon \u001b[31ma time, there was a geocoder. ".repeat(30)),
  6_000
)

/** Runs the demo with a model on a server: it shows the same as with the stand-in. */
const showsTheSame = (
  notice: string,
  env: (url: string) => Readonly<Record<string, string>>,
  ...args: ReadonlyArray<string>
) =>
  Effect.gen(function*() {
    const server = yield* FakeModelServer.make(planner)
    const { code, stderr, stdout } = yield* InProcess.runIn(env(server.url), program, "--no-outage", ...args)
    assert.deepStrictEqual([code, stderr], [0, ""])
    const [first, ...rest] = stdout.split("\n")
    assert.strictEqual(first, notice)
    const standIn = yield* InProcess.run(program, "--no-outage")
    assert.deepStrictEqual(
      withoutTimings(rest.join("\n")),
      withoutTimings(standIn.stdout.split("\n").slice(1).join("\n"))
    )
    const { requests } = yield* server.state
    assert.deepStrictEqual(requests.map(({ problem, stream }) => [problem, stream]), [
      [undefined, true],
      [undefined, true]
    ])
  }).pipe(Effect.scoped)

describe("the demo", () => {
  it.effect("begins with an outage, without an option and without a terminal: a retry, a fallback, a question", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* demo()
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.match(
        stdout,
        /^A stand-in plays the model: .* The geocoder is in an outage: it refuses 60 % of its look-ups\.$/m
      )
      const of = (city: string) =>
        stdout.split("\n").flatMap((line) => line.includes(`{"city":"${city}"}`) ? [line.trim().split(" ")[0]] : [])
      assert.deepStrictEqual(of("London"), ["retry", "ok"])
      const down = ["retry", "retry", "fallback"]
      assert.deepStrictEqual(of("Mumbai"), [...down, "asks", ...down, "ok"])
      assert.include(stdout, "Which city should be used instead? Reply \"none\" to go on without one.\n> Tokyo\n")
      assert.include(
        stdout,
        "London: 14 °C, light rain.\n" +
          "Tokyo: 22 °C, clear (from cache, 5h old; the live service is unavailable; the user chose Tokyo instead of Mumbai).\n" +
          "Sydney: 5,312,000 people.\n50 GBP is 9,898.73 JPY.\n"
      )
      assert.match(stdout, /^2 turns, 4 calls, 7 failures \(0 told to the model\)$/m)
    }))

  it.effect("leaves the reply to who asks something else, or replies", () =>
    Effect.gen(function*() {
      assert.include((yield* demo("--reply", "none")).stdout, "\nMumbai: not available right now.")
      const { code, stdout } = yield* demo("Rain in Mumbai?")
      assert.strictEqual(code, 1)
      assert.notInclude(stdout, "> Tokyo")
    }))

  it.effect("answers without an outage: two cities, one unknown, one conversion", () =>
    Effect.gen(function*() {
      const { code, stdout } = yield* demo("--no-outage", question)
      assert.strictEqual(code, 0)
      assert.match(stdout.split("\n")[0]!, /stand-in plays the model.* asked\.$/)
      assert.include(stdout, "London: 14 °C, light rain.\nTokyo: 22 °C, clear.\nAtlantis is unknown.")
      assert.include(stdout, "50 GBP is 9,898.73 JPY.")
    }))

  it.effect("shows turns, calls, failure classes, attempts, caveats and timing", () =>
    Effect.gen(function*() {
      const { stdout } = yield* demo("--seed", "51", question)
      assert.match(stdout, /^turn 1$/m)
      assert.match(stdout, /^ {2}model {2}calls 4 tools {2}\d+ ms$/m)
      assert.match(stdout, /^ {2}retry {4}get_weather \{"city":"London"\} {2}after attempt 1: The geocoder refused/m)
      assert.match(stdout, /^ {2}ok {7}get_weather \{"city":"Tokyo"\} {2}3 attempts {2}\d+ ms$/m)
      assert.match(stdout, /^ {11}note: from cache, 5h old; the live service is unavailable$/m)
      assert.match(stdout, /^ {2}failed {3}get_weather \{"city":"Atlantis"\}/m)
      assert.match(stdout, /^ {11}SemanticGarbage, unknown_city: Unknown city: 'Atlantis'\.$/m)
    }))

  it.effect("runs the same way with the same seed, and differently with another", () =>
    Effect.gen(function*() {
      // The calls of a turn end in any order, because their waits are random, so the lines are sorted.
      const lines = (output: string) => withoutTimings(output).split("\n").toSorted()
      const [first, again, other] = yield* Effect.all([
        demo("--seed", "7"),
        demo("--seed", "7"),
        demo("--seed", "8")
      ])
      assert.deepStrictEqual(lines(again.stdout), lines(first.stdout))
      assert.notDeepEqual(lines(other.stdout), lines(first.stdout))
    }))

  it.effect("prints one JSON object per line with --json", () =>
    Effect.gen(function*() {
      const { stdout } = yield* demo("--json")
      const events = stdout.trimEnd().split("\n").map((line): { readonly _tag: string } => JSON.parse(line))
      assert.deepInclude(events[0], { _tag: "RunStarted" })
      assert.isTrue(events.some(({ _tag }) => _tag === "FailureHandled"))
      assert.deepInclude(events.at(-1), { _tag: "RunEnded" })
    }))

  it.effect("prints with --json how many milliseconds each call and each reply took", () =>
    Effect.gen(function*() {
      const question = "What is the weather in London, and in Atlantis?"
      const events = yield* passing(Stream.runCollect(agent.stream(question))).pipe(Effect.provide(dark))
      const took = events.flatMap((event) => "elapsed" in event ? [Duration.toMillis(event.elapsed)] : [])
      const printed = events.flatMap(Trace.json).map((line): object => JSON.parse(line))
      assert.deepStrictEqual(printed.flatMap((event) => "elapsed" in event ? [event.elapsed] : []), took)
      // The geocoder refuses at first, and the wait before the retry counts.
      assert.isTrue(took.some((millis) => millis > 0))
      assert.isTrue(printed.every((event) => "_tag" in event && ("elapsed" in event) === timed.has(event._tag)))
    }))

  it.effect("prints only the answer with --quiet, and names the stand-in on standard error", () =>
    Effect.gen(function*() {
      const { stderr, stdout } = yield* demo("--quiet", "Convert 50 GBP to JPY.")
      assert.strictEqual(stdout, "50 GBP is 9,898.73 JPY.\n")
      assert.match(stderr, /stand-in/)
    }))

  it.effect("prints no control characters to the terminal", () =>
    Effect.gen(function*() {
      const { stdout } = yield* demo("--no-outage", "What is the weather in Paris \u001b[31m\u202e?")
      assert.match(stdout, /^Question: What is the weather in Paris {2}\[31m \?$/m)
      assert.include(stdout, "Paris: 16 °C, overcast.")
    }))

  it.effect("ends with a clear paragraph and exit code 1 when the turns are used up", () =>
    Effect.gen(function*() {
      const { code, stderr } = yield* demo("--max-turns", "1")
      assert.strictEqual(code, 1)
      assert.include(stderr, "The agent used up its 1 turn without an answer.")
      const json = yield* demo("--max-turns", "1", "--json")
      assert.strictEqual(json.code, 1)
      assert.deepInclude(JSON.parse(json.stdout.trimEnd().split("\n").at(-1)!), { failure: "LimitReached" })
    }))

  for (
    const [what, args, says] of [
      ["an empty question", [""], /^Invalid value for argument <question>: "".*a question, such as/],
      ["a blank question", ["  \t "], /a question, such as/],
      ["an unknown flag", ["--bogus"], /^Unrecognized flag: --bogus/],
      ["a limit of 0 turns", ["--max-turns", "0"], /"0"\. Expected: a whole number from 1/],
      ["a limit that is no number", ["--max-turns", "many"], /--max-turns/],
      ["a reply that is missing", ["--reply"], /--reply/]
    ] as const
  ) {
    it.effect(`refuses ${what} with one clear paragraph and exit code 1`, () =>
      Effect.gen(function*() {
        const { code, stderr, stdout } = yield* demo(...args)
        assert.strictEqual(code, 1)
        assert.strictEqual(stdout, "")
        assert.match(stderr, says)
        assert.strictEqual(stderr.trim().split("\n").length, 1)
      }))
  }
})

describe("the demo with a model over HTTP", () => {
  const wires = [
    ["Ollama", (url: string) => ({ OLLAMA_HOST: url.replace("http://", "") }), "llama3.2 plays, in Ollama."],
    [
      "Chat Completions",
      (url: string) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: "sk-of-the-demo", OPENAI_MODEL: "qwen3" }),
      "qwen3 plays, over Chat Completions."
    ]
  ] as const

  for (const [wire, env, notice] of wires) {
    it.live(`runs on ${wire}, and shows the same as with the stand-in`, () => showsTheSame(notice, env))

    it.live(`prints the text of ${wire} while it is still coming`, () =>
      Effect.gen(function*() {
        const server = yield* FakeModelServer.make([slow])
        const output = yield* InProcess.printedUpTo("there was a geocoder", env(server.url), program)
        assert.include(output, "turn 1\n\nOnce upon [31ma time, there was a geocoder")
        assert.notInclude(output, "model  answers")
        yield* server.until(({ open }) => open === 0)
      }).pipe(Effect.scoped))

    it.live(`says what to do when there is no ${wire}, with exit code 1`, () =>
      Effect.gen(function*() {
        const server = yield* FakeModelServer.make([])
        yield* server.whileDown(Effect.gen(function*() {
          for (const args of [[], ["--quiet"], ["--json"]]) {
            const { code, stderr, stdout } = yield* atOnce(InProcess.runIn(env(server.url), program, ...args))
            assert.strictEqual(code, 1)
            const output = args.includes("--json") ? stdout : stderr
            assert.match(
              output,
              /could not be reached at \S+: it refused the connection \(ECONNREFUSED\)\. Tried 3 times\./
            )
            assert.match(output, wire === "Ollama" ? /'ollama serve'.*'ollama pull llama3\.2'/ : /OPENAI_BASE_URL/)
            if (args.length === 0) {
              assert.match(output, /^0 turns, 0 calls, 3 failures \(0 told to the model, 3 of the model\)$/m)
            }
          }
        }))
      }).pipe(Effect.scoped))

    it.live(`quotes ${wire} when it refuses`, () =>
      Effect.gen(function*() {
        const refusal = new ModelFailure({ code: "unknown_model", detail: "model 'x' not found", transient: false })
        const server = yield* FakeModelServer.make([refusal])
        const { code, stderr } = yield* InProcess.runIn(env(server.url), program)
        assert.strictEqual(code, 1)
        assert.match(stderr, /answered 404: ".*model 'x' not found"/)
      }).pipe(Effect.scoped))
  }

  const bridges = [
    [
      "anthropic/claude-sonnet-4-5",
      (url: string) => ({ ANTHROPIC_API_KEY: "sk-ant-of-the-demo", ANTHROPIC_BASE_URL: `${url}/v1` }),
      "claude-sonnet-4-5 plays, at Anthropic."
    ],
    [
      "openai/gpt-x",
      (url: string) => ({ OPENAI_API_KEY: "sk-of-the-demo", OPENAI_BASE_URL: `${url}/v1` }),
      "gpt-x plays, at OpenAI."
    ],
    [
      "google/gemini-2.5-flash",
      (url: string) => ({ GEMINI_API_KEY: "AIza-of-the-demo", GOOGLE_GENERATIVE_AI_BASE_URL: `${url}/v1beta` }),
      "gemini-2.5-flash plays, at Google."
    ],
    ["ollama/hf.co/qwen3", (url: string) => ({ OLLAMA_HOST: url }), "hf.co/qwen3 plays, in Ollama."]
  ] as const

  for (const [name, env, notice] of bridges) {
    it.live(`runs with --model ${name}, and shows the same as with the stand-in`, () =>
      showsTheSame(notice, env, "--model", name))
  }

  it.live("runs with a URL and a name after it, whatever the environment says", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make(planner)
      const env = { OPENAI_BASE_URL: "http://127.0.0.1:1/v1" }
      const { stdout } = yield* InProcess.runIn(
        env,
        program,
        "--model",
        `${server.url}/v1#org/qwen3`,
        "--no-outage",
        "Time in Paris?"
      )
      assert.match(stdout, /^org\/qwen3 plays, over Chat Completions\.$/m)
      assert.include((yield* server.state).requests[0]?.body, "\"model\":\"org/qwen3\"")
    }).pipe(Effect.scoped))

  it.live("prefers OPENAI_BASE_URL to OLLAMA_HOST, which many users set for Ollama itself", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make(planner)
      const env = { OLLAMA_HOST: "127.0.0.1:9", OPENAI_BASE_URL: `${server.url}/v1`, OPENAI_MODEL: "qwen3" }
      const { stdout } = yield* InProcess.runIn(env, program, "--quiet", "Convert 50 GBP to JPY.")
      assert.strictEqual(stdout, "50 GBP is 9,898.73 JPY.\n")
    }).pipe(Effect.scoped))

  it.live("prefers an address to a key, and takes a key alone for OpenAI only if a model is named", () =>
    Effect.gen(function*() {
      const notice = (env: Readonly<Record<string, string>>, model?: string) =>
        Effect.map(
          LanguageModel.choose(model, Planner).pipe(
            Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))
          ),
          ({ notice }) => notice
        )
      const key = { OPENAI_API_KEY: "sk-of-the-demo" }
      assert.strictEqual(yield* notice({}), Planner.notice)
      assert.strictEqual(yield* notice(key), Planner.notice)
      assert.strictEqual(yield* notice({}, "qwen3"), "qwen3 plays, in Ollama on this machine.")
      assert.strictEqual(yield* notice({ OLLAMA_MODEL: "qwen3" }), "qwen3 plays, in Ollama on this machine.")
      assert.strictEqual(yield* notice(key, "gpt-5-mini"), "gpt-5-mini plays, at OpenAI.")
      assert.strictEqual(yield* notice({ ...key, OPENAI_MODEL: "gpt-5-mini" }), "gpt-5-mini plays, at OpenAI.")
      assert.strictEqual(yield* notice({ ...key, OLLAMA_HOST: "gpu" }, "qwen3"), "qwen3 plays, in Ollama.")
      assert.strictEqual(
        yield* notice({ ...key, OLLAMA_HOST: "gpu", OPENAI_BASE_URL: "http://gpu/v1" }, "qwen3"),
        "qwen3 plays, over Chat Completions."
      )
    }))

  for (
    const [env, url, says] of [
      [{}, "http://127.0.0.1:11434/api/chat", /'ollama serve', and get the model with 'ollama pull qwen3'/],
      [
        { OPENAI_API_KEY: "sk-of-the-demo" },
        "https://api.openai.com/v1/chat/completions",
        /The server may not be running, or its address may be wrong/
      ]
    ] as const
  ) {
    it.live(`asks ${url} if nothing but a model${"OPENAI_API_KEY" in env ? " and a key" : ""} is named`, () =>
      Effect.gen(function*() {
        const asked: Array<string> = []
        const refusing = Object.assign((request: string | URL | Request) => {
          asked.push(request instanceof Request ? request.url : String(request))
          const cause = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })
          return Promise.reject(new TypeError("fetch failed", { cause }))
        }, globalThis.fetch)
        const { code, stderr } = yield* atOnce(InProcess.runIn(env, program, "--model", "qwen3", "Time in Paris?"))
          .pipe(
            Effect.provideService(FetchHttpClient.Fetch, refusing)
          )
        assert.deepStrictEqual([code, asked], [1, [url, url, url]])
        assert.match(
          stderr,
          /could not be reached at \S+: it refused the connection \(ECONNREFUSED\)\. Tried 3 times\./
        )
        assert.match(stderr, says)
      }))
  }

  it.live("takes the model's name from --model", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make(planner)
      const { stdout } = yield* InProcess.runIn(
        { OLLAMA_HOST: server.url },
        program,
        "--model",
        "qwen3:8b",
        "--no-outage",
        "Time in Paris?"
      )
      assert.match(stdout, /^qwen3:8b plays, in Ollama\.$/m)
      const { requests } = yield* server.state
      assert.include(requests[0]?.body, "\"model\":\"qwen3:8b\"")
    }).pipe(Effect.scoped))

  for (
    const [what, env, args, says] of [
      [
        "a server without a model",
        { OPENAI_BASE_URL: "http://127.0.0.1:1" },
        [],
        "Which model? Say it with --model, or in OPENAI_MODEL."
      ],
      [
        "a provider without its key",
        {},
        ["--model", "anthropic/claude-x"],
        "Anthropic needs a key: set ANTHROPIC_API_KEY."
      ],
      [
        "a provider that is not known",
        {},
        ["--model", "mistral/large"],
        "'mistral/large' names no provider that is known here. Choose one of: anthropic/claude-sonnet-4-5, openai/gpt-5-mini, google/gemini-3-flash-preview, ollama/mistral/large, http://127.0.0.1:1234/v1#mistral/large."
      ],
      [
        "a URL without a name",
        {},
        ["--model", "http://gpu/v1"],
        "Which model? Write its name after the URL: http://gpu/v1#qwen3."
      ],
      [
        "an address that is none",
        { OLLAMA_HOST: "ftp://gpu" },
        [],
        "Expected a host, optionally with http:// or https:// before it and a port after it, such as 127.0.0.1:11434 at [\"OLLAMA_HOST\"]"
      ]
    ] as const
  ) {
    it.live(`refuses ${what} in one line, with exit code 1`, () =>
      Effect.gen(function*() {
        const { code, stderr, stdout } = yield* InProcess.runIn(env, program, ...args)
        assert.deepStrictEqual([code, stderr, stdout], [1, `${says}\n`, ""])
      }))
  }
})

describe("the demo as a process", { tags: "slow" }, () => {
  const command = "examples/01-multi-tool-agent/main.ts"

  it.live("prints the same as in this process", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make(planner)
      const env = { OLLAMA_HOST: server.url }
      const ran = yield* InProcess.sameAsProcess(program, env, command, "--model", "qwen3:8b", "Weather in Tokyo?")
      assert.deepInclude(ran, { code: 0, stderr: "" })
    }).pipe(Effect.scoped))

  it.live("ends with exit code 1", () =>
    Effect.gen(function*() {
      const usedUp = yield* InProcess.sameAsProcess(program, {}, command, "--no-outage", "--max-turns", "1")
      assert.strictEqual(usedUp.code, 1)
    }))

  it.live("prints the text of a model while it is still coming", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make([slow])
      const output = yield* printedUpTo("there was a geocoder", { OLLAMA_HOST: server.url }, command)
      assert.include(output, "turn 1\n\nOnce upon [31ma time, there was a geocoder")
      assert.notInclude(output, "model  answers")
      yield* server.until(({ open }) => open === 0)
    }).pipe(Effect.scoped))
})

describe("the four tools", () => {
  const run = <A, E>(effect: Effect.Effect<A, E, Geocoder.Geocoder>) => Effect.provide(effect, Geocoder.layer)
  const tool = <const Name extends string>(name: Name) => {
    const match = Array.from(toolkit.tools.values()).find((tool) => tool.name === name)
    return match as Extract<typeof match, { readonly name: Name }>
  }

  it.effect("tell the local time by real time zones, across the date line and daylight saving", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(Date.parse("2026-07-01T20:30:00Z"))
      const at = (city: string) => Effect.map(run(tool("get_local_time").run({ city })), ({ time }) => time)
      assert.strictEqual(yield* at("London"), "Wednesday, 1 July 2026 at 21:30")
      assert.strictEqual(yield* at("Sydney"), "Thursday, 2 July 2026 at 06:30")
      assert.strictEqual(yield* at("Mumbai"), "Thursday, 2 July 2026 at 02:00")
      yield* TestClock.setTime(Date.parse("2026-12-31T23:30:00Z"))
      assert.strictEqual(yield* at("London"), "Thursday, 31 December 2026 at 23:30")
      assert.strictEqual(yield* at("Sydney"), "Friday, 1 January 2027 at 10:30")
    }))

  it.effect("convert through the dollar, to the cent", () =>
    Effect.gen(function*() {
      const convert = tool("convert_currency")
      const to = (amount: number, from: "GBP" | "USD" | "INR", to: "JPY" | "USD" | "BRL") =>
        Effect.map(convert.run({ amount, from, to }), ({ converted }) => converted)
      assert.strictEqual(yield* to(50, "GBP", "JPY"), 9898.73)
      assert.strictEqual(yield* to(1, "USD", "USD"), 1)
      assert.strictEqual(yield* to(0, "INR", "BRL"), 0)
    }))

  it.effect("know seven cities and eight currencies", () =>
    Effect.gen(function*() {
      const populations = yield* Effect.forEach(
        cityNames,
        (city) => Effect.map(run(tool("get_population").run({ city })), ({ population }) => [city, population] as const)
      )
      assert.deepStrictEqual(Object.fromEntries(populations), {
        "London": 8_982_000,
        "Tokyo": 13_960_000,
        "Sao Paulo": 12_330_000,
        "Paris": 2_161_000,
        "New York": 8_336_000,
        "Sydney": 5_312_000,
        "Mumbai": 20_410_000
      })
      assert.deepStrictEqual(currencies, ["USD", "EUR", "GBP", "JPY", "BRL", "CAD", "AUD", "INR"])
    }))

  it.effect("find cities whatever the case and the accents", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* tool("get_population").run({ city: " são PAULO" })).city, "Sao Paulo")
    }))

  it.effect("teach the valid choices, nearest first, when a city is unknown", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(tool("get_population").run({ city: "Syndey" }))
      assert(failure._tag === "SemanticGarbage")
      assert.strictEqual(failure.detail, "Unknown city: 'Syndey'.")
      assert.strictEqual(failure.alternatives[0], "Sydney")
      assert.strictEqual(failure.alternatives.length, 7)
    }))
})

describe("the stand-in for the model", () => {
  it.effect("reads several questions at once, and asks nothing twice", () =>
    Effect.gen(function*() {
      const answer = yield* ask(
        "What's the weather in Paris and Paris? How many people live in Sydney? then convert 1,000.50 usd in EUR"
      )
      assert.strictEqual(
        answer.text,
        "Paris: 16 °C, overcast.\nSydney: 5,312,000 people.\n1,000.5 USD is 920.46 EUR."
      )
      assert.strictEqual(answer.report.calls, 3)
    }))

  it.effect("takes no part of another word for an amount", () =>
    Effect.gen(function*() {
      assert.match(yield* textOf("Convert 1e400 USD to EUR."), /^I can tell/)
    }))

  it.effect("corrects a city that is similar to a known one", () =>
    Effect.gen(function*() {
      const answer = yield* ask("What is the population of Tokio?")
      assert.strictEqual(answer.text, "Tokyo: 13,960,000 people.")
      assert.strictEqual(answer.report.turns, 3)
    }))

  it.effect("says what it can do when it finds nothing to look up", () =>
    Effect.gen(function*() {
      assert.match(yield* textOf("Hello there!"), /^I can tell the weather, the time and the population of London/)
    }))

  it.effect("reports the faults of refused arguments", () =>
    Effect.gen(function*() {
      assert.match(yield* textOf("Convert 5 GBP to XYZ."), /^5 GBP in XYZ: I could not find out\. 'to': expected "USD"/)
    }))

  it.effect("reacts to every kind of failure message", () =>
    Effect.gen(function*() {
      const replyTo = (message: object) =>
        Planner.reply(
          [
            { role: "user", text: "What is the population of Paris?" },
            {
              role: "assistant",
              text: "",
              calls: [{ id: "call_1", name: "get_population", arguments: "{\"city\":\"Paris\"}" }]
            },
            { role: "tool", callId: "call_1", name: "get_population", text: JSON.stringify({ ok: false, ...message }) }
          ] satisfies ReadonlyArray<Transcript.Message>
        ).text
      assert.strictEqual(
        replyTo({ error: "SchemaMismatch", detail: "No such tool." }),
        "Paris: I could not find out. No such tool."
      )
      assert.strictEqual(
        replyTo({ error: "PartialData", detail: "Only the centre.", data: { population: 2 } }),
        "Paris: {\"population\":2} (Only the centre.)"
      )
      assert.strictEqual(
        replyTo({ error: "SemanticGarbage", detail: "Unknown.", alternatives: ["London"] }),
        "Paris is unknown. I know London."
      )
      assert.match(replyTo({ error: "ToolUnavailable", detail: "Down." }), /^Paris: not available right now\. Down\./)
    }))
})
