/** The demo in an outage of its geocoder: what is bridged, what the user is asked, and how the run goes on. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentFailure, ToolUnavailable } from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import * as Geocoder from "@fallible/examples/01-multi-tool-agent/Geocoder"
import * as Planner from "@fallible/examples/01-multi-tool-agent/Planner"
import { program } from "@fallible/examples/01-multi-tool-agent/program"
import { toolkit } from "@fallible/examples/01-multi-tool-agent/tools"
import { Effect, Layer, Schema } from "effect"
import * as InProcess from "../support/inProcess.ts"
import { passing } from "../support/virtualTime.ts"

const agent = Agent.make({ toolkit })

const refused = new ToolUnavailable({
  code: "connection",
  detail: "Refused.",
  transient: true,
  outcome: "not_executed"
})
const allDown = Layer.succeed(Geocoder.Geocoder, { locate: () => Effect.fail(refused) })
const onlyUp = (up: string) =>
  Layer.succeed(Geocoder.Geocoder, {
    locate: (city) => city.name === up ? Effect.succeed({ city, zone: city.zone }) : Effect.fail(refused)
  })

/** Runs the agent, and replies to its questions. Returns its questions and its answer. */
const conversation = (question: string, ...replies: ReadonlyArray<string>) => {
  const asked: Array<string> = []
  const goOn = <R>(
    run: Effect.Effect<Answer.Answer, AgentFailure.AgentFailure, R>,
    [reply, ...later]: ReadonlyArray<string>
  ): Effect.Effect<Answer.Answer, AgentFailure.AgentFailure, R | Effect.Services<ReturnType<typeof agent.run>>> =>
    Effect.catchTag(run, "RunSuspended", (failure) => {
      asked.push(failure.question)
      return reply === undefined ? Effect.fail(failure) : goOn(agent.resume(failure.suspension, reply), later)
    })
  return Effect.map(passing(goOn(agent.run(question), replies)), ({ text }) => ({ asked, text }))
}

const rest = "is not available: the geocoder is down, and nothing is cached for it. " +
  "Cached cities: London, Tokyo, Paris, New York. Which city should be used instead? " +
  "Reply \"none\" to go on without one."

const inMumbai = "How is the weather in Mumbai?"

describe("an outage of the geocoder", () => {
  it.effect("is bridged by a cached value with its age, if there is one, without a question", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* conversation("How is the weather in Tokyo?"), {
        asked: [],
        text: "Tokyo: 22 °C, clear (from cache, 5h old; the live service is unavailable)."
      })
    }).pipe(Effect.provide([Planner.layer, allDown])))

  it.effect("asks the user which city to use instead, if nothing is cached", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* conversation(inMumbai, "tokyo"), {
        asked: [`The weather in Mumbai ${rest}`],
        text:
          "Tokyo: 22 °C, clear (from cache, 5h old; the live service is unavailable; the user chose Tokyo instead of Mumbai)."
      })
    }).pipe(Effect.provide([Planner.layer, allDown])))

  it.effect("uses the live service for the user's city, if it is up again", () =>
    Effect.gen(function*() {
      const { text } = yield* conversation(inMumbai, "Sydney")
      assert.strictEqual(text, "Sydney: 21 °C, partly cloudy (the user chose Sydney instead of Mumbai).")
    }).pipe(Effect.provide([Planner.layer, onlyUp("Sydney")])))

  it.effect("asks again if the user's city is unknown, or is not available either", () =>
    Effect.gen(function*() {
      const { asked, text } = yield* conversation(inMumbai, "Atlantis", "Sydney", "Paris")
      assert.deepStrictEqual(asked, [
        `The weather in Mumbai ${rest}`,
        `Unknown city: Atlantis. The weather in Mumbai ${rest}`,
        `Unknown city: Atlantis. The weather in Mumbai, Sydney ${rest}`
      ])
      assert.match(text, /^Paris: 16 °C, overcast \(from cache, 2d old/)
    }).pipe(Effect.provide([Planner.layer, allDown])))

  for (
    const [what, replies, reason] of [
      ["wants no other city", ["none"], "The user wants no other city."],
      ["replies nothing", [""], "The user wants no other city."],
      ["chooses the same city again", ["Mumbai"], "The user chose Mumbai again."],
      ["chooses the same unknown city twice", ["Atlantis", "Atlantis"], "The user chose Atlantis again."]
    ] as const
  ) {
    it.effect(`leaves a gap if the user ${what}, and says what is missing and what is cached`, () =>
      Effect.gen(function*() {
        const { text } = yield* conversation(`${inMumbai} And convert 50 GBP to JPY.`, ...replies)
        assert.strictEqual(
          text,
          `Mumbai: not available right now. The geocoder is down, and nothing is cached for Mumbai. ${reason} ` +
            "Cached cities: London, Tokyo, Paris, New York.\n50 GBP is 9,898.73 JPY."
        )
      }).pipe(Effect.provide([Planner.layer, allDown])))
  }

  it.effect("asks for each call that has no place, one after the other", () =>
    Effect.gen(function*() {
      const { asked, text } = yield* conversation("What is the weather and the time in Mumbai?", "Tokyo", "none")
      assert.deepStrictEqual(asked, [`The weather in Mumbai ${rest}`, `The time in Mumbai ${rest}`])
      assert.match(text, /^Tokyo: 22 °C, clear .*\nMumbai: not available right now\./)
    }).pipe(Effect.provide([Planner.layer, allDown])))

  it.effect("waits for the reply as text, in any process", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(passing(agent.run(inMumbai)))
      assert(failure._tag === "RunSuspended")
      const stored = JSON.stringify(yield* Schema.encodeEffect(AgentFailure.Suspension)(failure.suspension))
      const suspension = yield* Schema.decodeUnknownEffect(AgentFailure.Suspension)(JSON.parse(stored))
      const { text } = yield* passing(agent.resume(suspension, "Tokyo"))
      assert.match(text, /^Tokyo: 22 °C, clear/)
    }).pipe(Effect.provide([Planner.layer, allDown])))
})

// In the outage of the demo, the geocoder refuses twelve look-ups of Mumbai, and the first one of Tokyo.
const demo = (...args: ReadonlyArray<string>) => passing(InProcess.run(program, inMumbai, ...args))

describe("the demo", () => {
  it.effect("retries and shows a stale value with its age in an outage, and asks nothing", () =>
    Effect.gen(function*() {
      const question = "What is the weather in London and in Tokyo?"
      const { code, stdout } = yield* passing(InProcess.run(program, "--seed", "51", question))
      assert.strictEqual(code, 0)
      assert.match(stdout, /^ {2}ok {7}get_weather \{"city":"London"\} {2}2 attempts {2}\d+ ms$/m)
      assert.match(stdout, /^ {11}note: from cache, 5h old; the live service is unavailable$/m)
      assert.notMatch(stdout, /^ {2}asks/m)
    }))

  it.effect("prints the question and how to answer it, with exit code 1, if it is not at a terminal", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* demo()
      assert.strictEqual(code, 1)
      assert.match(stdout, /^ {2}asks {5}get_weather \{"city":"Mumbai"\} {2}3 attempts {2}\d+ ms$/m)
      assert.include(stdout, `\n\nThe weather in Mumbai ${rest}\n`)
      assert.include(stderr, "Give it in a terminal, or in advance: --reply \"your reply\".")
    }))

  it.effect("goes on with the replies that were given in advance, in their order", () =>
    Effect.gen(function*() {
      const { code, stdout } = yield* demo("--reply", "Atlantis", "--reply", "Tokyo")
      assert.strictEqual(code, 0)
      assert.include(stdout, `\n\nThe weather in Mumbai ${rest}\n> Atlantis\n  retry `)
      assert.include(stdout, `\n\nUnknown city: Atlantis. The weather in Mumbai ${rest}\n> Tokyo\n  retry `)
      assert.include(stdout, "\nTokyo: 22 °C, clear (from cache, 5h old;")
    }))

  it.effect("prints the question and the reply as events with --json", () =>
    Effect.gen(function*() {
      const lines = (stdout: string) => stdout.trimEnd().split("\n").map((line): object => JSON.parse(line))
      const question = `The weather in Mumbai ${rest}`
      const waiting = yield* demo("--json")
      assert.strictEqual(waiting.code, 1)
      const [asked, failed] = lines(waiting.stdout).slice(-2)
      assert.deepStrictEqual(asked, { _tag: "UserAsked", question })
      assert.deepInclude(failed, { _tag: "RunFailed", failure: "RunSuspended" })
      const replied = yield* demo("--json", "--reply", "none")
      assert.strictEqual(replied.code, 0)
      const after = lines(replied.stdout)
      const at = after.findIndex((event) => "_tag" in event && event._tag === "UserAsked")
      assert.deepStrictEqual(after[at + 1], { _tag: "UserReplied", reply: "none" })
      assert.deepInclude(after.at(-1), { _tag: "RunEnded" })
    }))

  it.effect("prints with --quiet the question on standard error, and the answer alone on standard output", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* demo("--quiet", "--reply", "none")
      assert.strictEqual(code, 0)
      assert.include(stderr, `The weather in Mumbai ${rest}`)
      assert.match(stdout, /^Mumbai: not available right now\.[^\n]*\n$/)
      assert.deepInclude(yield* demo("--quiet"), { code: 1, stdout: "" })
    }))
})
