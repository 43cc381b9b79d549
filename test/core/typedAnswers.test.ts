/** Agents with an `output`: how their typed answers are read, checked, corrected, stored and shown. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentFailure,
  Model,
  ModelFailure,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable,
  Transcript
} from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import * as Answer from "@fallible/core/Answer"
import * as ClientEvent from "@fallible/core/ClientEvent"
import * as Journal from "@fallible/core/Journal"
import * as ModelRecovery from "@fallible/core/ModelRecovery"
import * as Parameters from "@fallible/core/Parameters"
import * as RunHandle from "@fallible/core/RunHandle"
import { ScriptedModel } from "@fallible/testing"
import {
  Cause,
  Deferred,
  Duration,
  Effect,
  Exit,
  Fiber,
  Layer,
  Logger,
  Redacted,
  Schedule,
  Schema,
  Stream
} from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { inspect } from "node:util"
import * as z from "zod"
import { FileJournal } from "../support/fileJournal.ts"
import { logging } from "../support/illTyped.ts"
import { namingJournal } from "../support/namingJournal.ts"
import type { Untyped } from "../support/nonsense.ts"
import { runs } from "../support/runs.ts"
import { passing } from "../support/virtualTime.ts"

const { call, calls, text } = ScriptedModel

const Days = Schema.Struct({ days: Schema.Int })
const final = (args?: object | string) => call("final_answer", args)
const json = (value: unknown) => text(JSON.stringify(value))

const look = (result: (ran: number) => string = () => "news") => {
  let ran = 0
  return Tool.make(
    "look",
    { description: "Looks", success: Schema.String, sideEffect: "none" },
    () => Effect.sync(() => result(++ran))
  )
}

const daysAgent = Agent.make({ toolkit: Toolkit.make(look()), output: Days })

/** A scripted model that can be made to write its text by a schema. */
const structured = (script: ScriptedModel.Script, way: "always" | "without_tools" = "always") =>
  Layer.effect(Model.Model, Effect.map(Model.Model, (model) => ({ ...model, structuredOutput: way }))).pipe(
    Layer.provideMerge(ScriptedModel.layer(script))
  )

const isModels = (script: ScriptedModel.Script | Models): script is Models => Layer.isLayer(script)

type Models = Layer.Layer<Model.Model | ScriptedModel.ScriptedModel>

/** An agent whose tools and check need no services. */
interface Runs<A> {
  readonly run: (
    question: string,
    options?: Agent.RunOptions
  ) => Effect.Effect<A, AgentFailure.AgentFailure, Model.Model>
}

/** Runs an agent to its end. */
const played = <A>(
  agent: Runs<A>,
  script: ScriptedModel.Script | Models,
  options?: Agent.RunOptions
) =>
  Effect.gen(function*() {
    const exit = yield* Effect.exit(agent.run("How long?", options))
    const { requests } = yield* ScriptedModel.ScriptedModel
    return { exit, requests: yield* requests }
  }).pipe(Effect.provide(isModels(script) ? script : ScriptedModel.layer(script)))

const answered = <A>(exit: Exit.Exit<A, AgentFailure.AgentFailure>): A =>
  Exit.isSuccess(exit) ? exit.value : assert.fail(String(Cause.squash(exit.cause)))

const failed = <A>(exit: Exit.Exit<A, AgentFailure.AgentFailure>): AgentFailure.AgentFailure => {
  const failure = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason)?.error : undefined
  return failure ?? assert.fail(`The run did not fail: ${inspect(exit)}`)
}

const refused = <A>(exit: Exit.Exit<A, AgentFailure.AgentFailure>): AgentFailure.OutputRefused => {
  const failure = failed(exit)
  return failure instanceof AgentFailure.OutputRefused ? failure : assert.fail(String(failure))
}

/** Returns the value of a run's answer, and how many requests it took. */
const valueOf = (
  agent: Runs<{ readonly value: unknown }>,
  script: ScriptedModel.Script | Models,
  options?: Agent.RunOptions
) =>
  Effect.map(played(agent, script, options), ({ exit, requests }) => {
    return [answered(exit).value, requests.length]
  })

const lastText = ({ messages }: ScriptedModel.Recorded) => messages.at(-1)?.text ?? ""

const namesOf = ({ tools }: ScriptedModel.Recorded) => tools.map(({ name }) => name)

/** The ways in which a model can give its answer. */
const ways: ReadonlyArray<
  readonly [string, (answer: unknown) => Model.Reply, (script: ScriptedModel.Script) => Models]
> = [
  ["a call", (answer) => final(JSON.stringify(answer)), (script) => ScriptedModel.layer(script)],
  ["a text", json, (script) => ScriptedModel.layer(script)],
  ["structured output", json, structured]
]

describe("a typed answer", () => {
  for (const [way, write, model] of ways) {
    describe(`given by ${way}`, () => {
      it.effect("takes one request if it fits", () =>
        Effect.gen(function*() {
          const { exit, requests } = yield* played(daysAgent, model([write({ days: "90" })]))
          const answer = answered(exit)
          assert.deepStrictEqual(answer.value, { days: 90 })
          assert.strictEqual(answer.text, "{\"days\":90}")
          assert.deepInclude(answer, { truncated: false, stopReason: "answered" })
          assert.strictEqual(requests.length, 1)
          assert.deepStrictEqual(answer.report.failures, [])
          assert.strictEqual(answer.report.repairs.length, 1)
          assert.strictEqual(Transcript.toArray(answer.transcript).at(-1)?.role, "assistant")
        }))

      it.effect("is corrected once for each request more, with the reason", () =>
        Effect.gen(function*() {
          for (const wrong of [1, 2]) {
            const replies = [...Array.from({ length: wrong }, () => write({ days: "many" })), write({ days: 3 })]
            const { exit, requests } = yield* played(daysAgent, model(replies))
            const answer = answered(exit)
            assert.deepStrictEqual(answer.value, { days: 3 })
            assert.strictEqual(requests.length, wrong + 1)
            for (const request of requests.slice(1)) assert.include(lastText(request), "expected integer, got")
            assert.strictEqual(answer.report.failures.length, wrong)
            assert.strictEqual(answer.report.turns, wrong + 1)
          }
        }))

      it.effect("is refused after two corrections, with its last text and what is wrong", () =>
        Effect.gen(function*() {
          const replies = ["a", "b", "c"].map((days) => write({ days }))
          const { exit, requests } = yield* played(daysAgent, model(replies))
          const failure = refused(exit)
          assert.strictEqual(requests.length, 3)
          assert.strictEqual(failure.text, "{\"days\":\"c\"}")
          assert.strictEqual(
            failure.detail,
            "The model gave no valid answer: 'days': expected integer, got \"c\"."
          )
          assert.deepStrictEqual(failure.issues, [{ path: ["days"], expected: "integer", actual: "\"c\"" }])
          assert.strictEqual(failure.report.turns, 3)
          assert.isAbove(failure.transcript.length, 0)
          assert.isDefined(failure.facts.scope)
        }))

      it.effect("may come after calls", () =>
        Effect.gen(function*() {
          assert.deepStrictEqual(yield* valueOf(daysAgent, model([call("look"), write({ days: 3 })])), [{ days: 3 }, 2])
        }))

      it.effect("is never completed if it was cut off", () =>
        Effect.gen(function*() {
          const whole = JSON.stringify({ days: 900 })
          for (const length of [1, 5, whole.length - 2, whole.length - 1]) {
            const cut = way === "a call" ? final(whole.slice(0, length)) : text(whole.slice(0, length))
            for (const reply of [cut, { ...cut, truncated: true }]) {
              const { exit, requests } = yield* played(daysAgent, model(() => reply))
              assert.strictEqual(refused(exit).text, whole.slice(0, length))
              assert.strictEqual(requests.length, 3)
            }
          }
        }))
    })
  }

  it.effect("is in the transcript as a text, so that the conversation can go on without the tool", () =>
    Effect.gen(function*() {
      for (const [, write, model] of ways) {
        const { exit } = yield* played(daysAgent, model([call("look"), write({ days: 3 })]))
        const { facts, transcript } = answered(exit)
        assert.deepStrictEqual(Transcript.toArray(transcript).at(-1), {
          role: "assistant",
          text: "{\"days\":3}",
          calls: []
        })
        const untyped = Agent.make({ toolkit: Toolkit.empty })
        const next = yield* played(untyped, [text("Three days.")], { transcript, facts })
        assert.strictEqual(answered(next.exit).text, "Three days.")
        const again = yield* played(daysAgent, [final({ days: 4 })], { transcript, facts })
        assert.deepStrictEqual(answered(again.exit).value, { days: 4 })
      }
    }))

  it.effect("may stand in prose or in a fence", () =>
    Effect.gen(function*() {
      const texts = [
        "Here you are: {\"days\": 3}. Anything else?",
        "```json\n{\"days\": 3}\n```",
        "```\n{\"days\": 3}\n```",
        "Sure!\n```json\n{\"days\": 3}\n```\nIt takes three days."
      ]
      for (const written of texts) {
        assert.deepStrictEqual(yield* valueOf(daysAgent, [text(written)]), [{ days: 3 }, 1], written)
        assert.deepStrictEqual(yield* valueOf(daysAgent, [final(written)]), [{ days: 3 }, 1], written)
      }
      const { exit } = yield* played(daysAgent, () => text("For example {\"days\": 3}, or better {\"days\": 4}"))
      assert.strictEqual(failed(exit)._tag, "OutputRefused")
    }))

  it.effect("may follow what the model thought, or be a call that was written as text", () =>
    Effect.gen(function*() {
      const texts = [
        "<think>\nMaybe {\"days\": 2}?\n</think>\n{\"days\": 3}",
        "{\"name\":\"final_answer\",\"arguments\":{\"days\":3}}",
        "<tool_call>{\"name\":\"final_answer\",\"arguments\":\"{\\\"days\\\":3}\"}</tool_call>",
        "```json\n{\"name\":\"final_answer\",\"parameters\":{\"days\":3}}\n```"
      ]
      for (const written of texts) {
        assert.deepStrictEqual(yield* valueOf(daysAgent, [text(written)]), [{ days: 3 }, 1], written)
      }
      const strings = Agent.make({ toolkit: Toolkit.make(look()), output: Schema.String })
      const said: ReadonlyArray<readonly [string, string]> = [
        ["<think>Hm.</think>\nThree days.", "Three days."],
        ["\n<thinking>Hm.</thinking> Three days.", "Three days."],
        ["{\"name\":\"final_answer\",\"arguments\":{\"answer\":\"Three days.\"}}", "Three days."]
      ]
      for (const [written, value] of said) {
        assert.deepStrictEqual(yield* valueOf(strings, [text(written)]), [value, 1])
      }
      const wrong = [
        "<think>Three",
        "<think>Three days.</think>",
        "{\"name\":\"final_answer\",\"arguments\":{\"days\":3"
      ]
      for (const written of wrong) {
        const { exit } = yield* played(daysAgent, () => text(written))
        assert.strictEqual(refused(exit).text, written)
      }
      // What was only thought is no answer.
      assert.strictEqual(refused((yield* played(strings, () => text("<think>Three da"))).exit).issues.length, 1)
      assert.strictEqual(
        refused((yield* played(strings, () => text("<think>Three days.</think>"))).exit).issues.length,
        1
      )
    }))

  it.effect("is not made of a text that says nothing, even if all fields may be absent", () =>
    Effect.gen(function*() {
      const output = Schema.Struct({ days: Schema.Int.pipe(Schema.withDecodingDefaultKey(Effect.succeed(7))) })
      const agent = Agent.make({ toolkit: Toolkit.empty, output })
      assert.deepStrictEqual(yield* valueOf(agent, [text("{}")]), [{ days: 7 }, 1])
      const nothing = yield* played(agent, () => text(" null "))
      assert.strictEqual(refused(nothing.exit).detail, "The model gave no valid answer: The reply has no answer.")
      const limits = { turns: 2 }
      const concluding = Agent.make({ toolkit: Toolkit.make(look()), output, limits, onLimit: "conclude" })
      const { exit } = yield* played(concluding, [call("look"), text(" ")])
      assert.strictEqual(failed(exit)._tag, "LimitReached")
    }))

  it.effect("is not an empty reply, which is asked for again", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* valueOf(daysAgent, [text(""), text("  "), final({ days: 3 })]), [{ days: 3 }, 3])
      const { exit, requests } = yield* played(daysAgent, () => text(""))
      const failure = failed(exit)
      assert.isTrue(failure._tag === "ModelFailed" && failure.failure.code === "empty_reply")
      assert.strictEqual(requests.length, 3)
    }))

  it.effect("is not a plan or a call written as text, not even before an empty reply", () =>
    Effect.gen(function*() {
      const strings = Agent.make({ toolkit: Toolkit.make(look()), output: Schema.String })
      for (const lookalike of ["I'll look it up now.", "<tool_call>{\"name\":\"look\",\"arguments\":{}}</tool_call>"]) {
        const { exit, requests } = yield* played(daysAgent, [text(lookalike), call("look"), final({ days: 3 })])
        assert.deepStrictEqual(answered(exit).value, { days: 3 })
        assert.match(lastText(requests[1]!), /^Your last reply (only says|contains)/)
        const words = yield* played(strings, [text(lookalike), call("look"), text("Three days.")])
        assert.strictEqual(answered(words.exit).value, "Three days.")
        const blank = yield* played(daysAgent, [text(lookalike), text(""), final({ days: 3 })])
        assert.deepStrictEqual(answered(blank.exit).value, { days: 3 })
        const always = yield* played(strings, () => text(lookalike))
        assert.deepInclude(answered(always.exit), {
          value: lookalike,
          looksLike: lookalike.startsWith("I") ? "plan" : "call_as_text"
        })
        assert.strictEqual(always.requests.length, 2)
      }
    }))

  it.effect("is taken alone: beside other calls, it was written before their results", () =>
    Effect.gen(function*() {
      let looked = 0
      const agent = Agent.make({ toolkit: Toolkit.make(look((ran) => `news ${looked = ran}`)), output: Days })
      for (
        const both of [calls(["look"], ["final_answer", { days: 1 }]), calls(["final_answer", { days: 1 }], ["look"])]
      ) {
        const { exit, requests } = yield* played(agent, [both, final({ days: 3 })])
        assert.deepStrictEqual(answered(exit).value, { days: 3 })
        const told = requests[1]!.messages.filter(({ role }) => role === "tool").map(({ text }) => text).join("\n")
        assert.include(told, "before the results of the other calls")
        assert.include(told, "Then call final_answer alone.")
      }
      assert.strictEqual(looked, 2)
    }))

  it.effect("may be given twice in a reply if both are equal, and is checked once", () =>
    Effect.gen(function*() {
      let checked = 0
      const agent = Agent.make({
        toolkit: Toolkit.empty,
        output: Days,
        checkOutput: () => {
          checked++
          return undefined
        }
      })
      const equal = calls(["final_answer", { days: 3 }], ["final_answer", { days: 3 }])
      const sameId = { ...equal, calls: equal.calls.map((call) => ({ ...call, id: "call_1" })) }
      for (const reply of [equal, sameId]) assert.deepStrictEqual(yield* valueOf(agent, [reply]), [{ days: 3 }, 1])
      assert.strictEqual(checked, 2)
    }))

  it.effect("is refused, and counts as a mismatch, if the reply gives two that differ", () =>
    Effect.gen(function*() {
      const differing = calls(["final_answer", { days: 3 }], ["final_answer", { days: 4 }])
      assert.deepStrictEqual(yield* valueOf(daysAgent, [differing, final({ days: 4 })]), [{ days: 4 }, 2])
      const { exit, requests } = yield* played(daysAgent, () => differing)
      assert.strictEqual(
        refused(exit).detail,
        "The model gave no valid answer: This answer was not taken: the reply gives several answers, which differ."
      )
      assert.strictEqual(requests.length, 3)
    }))

  it.effect("may be the text of `onModelFailure`, which is not asked for again", () =>
    Effect.gen(function*() {
      const down = new ModelFailure({ code: "server_error", detail: "Down.", transient: false })
      const falling = (fallback: string) =>
        Agent.make({
          toolkit: Toolkit.empty,
          output: Days,
          onModelFailure: () => ModelRecovery.respondWith(fallback)
        })
      const { exit } = yield* played(falling("{\"days\":0}"), [Effect.fail(down)])
      assert.deepInclude(answered(exit), { value: { days: 0 }, stopReason: "fallback" })
      for (const fallback of ["", "Sorry.", "{\"days\":\"x\"}", "I'll look it up now."]) {
        const { exit, requests } = yield* played(falling(fallback), [Effect.fail(down)])
        assert.strictEqual(refused(exit).text, fallback)
        assert.strictEqual(requests.length, 1)
      }
    }))

  it.effect("takes a megabyte in a few hundred previews", () =>
    Effect.gen(function*() {
      const output = Schema.Struct({ items: Schema.Array(Schema.String) })
      const agent = Agent.make({ toolkit: Toolkit.empty, output })
      const value = { items: Array.from({ length: 10_000 }, (_, index) => `${index} ${"x".repeat(80)}`) }
      const written = JSON.stringify(value)
      const events = yield* Stream.runCollect(agent.stream("?")).pipe(
        Effect.provide(streaming(pieces(written, 500)))
      )
      const ended = events.at(-1)
      assert.isTrue(ended?._tag === "RunEnded")
      if (ended?._tag === "RunEnded") assert.deepStrictEqual(ended.answer.value, value)
      assert.isBelow(events.filter(({ _tag }) => _tag === "AnswerPreview").length, 300)
      const tooLong = final({ items: ["x".repeat(1024 * 1024)] })
      const { exit } = yield* played(agent, () => tooLong)
      assert.include(refused(exit).detail, "too long")
      const strings = Agent.make({ toolkit: Toolkit.empty, output: Schema.String, limits: { turns: 1 } })
      const endless = yield* played(strings, () => text(`"${"x".repeat(20_000_000)}`))
      assert.strictEqual(failed(endless.exit)._tag, "LimitReached")
    }))
})

/** Cuts a text into the parts of a streamed reply that calls `final_answer`. */
const pieces = (args: string, size: number): ReadonlyArray<Model.Part> => [
  ...Array.from({ length: Math.ceil(args.length / size) }, (_, index): Model.Part => ({
    _tag: "ArgumentsDelta",
    call: 0,
    tool: "final_answer",
    text: args.slice(index * size, (index + 1) * size)
  })),
  { _tag: "Replied", reply: final(args) }
]

const streaming = (...replies: ReadonlyArray<ReadonlyArray<Model.Part>>) => {
  let asked = 0
  return Layer.succeed(Model.Model, {
    ...Model.make({ respond: () => Effect.die("not streamed") }),
    stream: () => Stream.fromIterable(replies[asked++] ?? [])
  })
}

describe("the schema of an answer", () => {
  const fits = <A>(output: Parameters.Parameters<A>, cases: ReadonlyArray<readonly [string, unknown]>) =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.empty, output })
      for (const [written, expected] of cases) {
        const { exit, requests } = yield* played(agent, [text(written)])
        const answer = answered(exit)
        assert.deepStrictEqual(Answer.schemaFor(output) && (answer as Untyped).value, expected, written)
        assert.strictEqual(requests.length, 1)
        // What is stored decodes to the same value.
        const stored = JSON.parse(JSON.stringify(Schema.encodeSync(Answer.schemaFor(output))(answer)))
        assert.isUndefined(stored.value)
        const decoded = Schema.decodeUnknownSync(Answer.schemaFor(output))(stored)
        assert.deepStrictEqual((decoded as Untyped).value, expected, written)
        assert.deepStrictEqual(
          Schema.decodeUnknownSync(Answer.schemaFor(output))(JSON.parse(JSON.stringify(answer))),
          decoded
        )
      }
    })

  it.effect("may be Effect's, with transformations and defaults", () =>
    fits(
      Schema.Struct({
        from: Schema.Date,
        price: Schema.BigInt,
        nights: Schema.Int.pipe(Schema.withDecodingDefaultKey(Effect.succeed(1))),
        tag: Schema.optionalKey(Schema.String)
      }),
      [[
        "{\"from\":\"2026-01-02T00:00:00Z\",\"price\":12345678901234567890}",
        { from: new Date("2026-01-02T00:00:00Z"), price: 12345678901234567890n, nights: 1 }
      ]]
    ))

  it.effect("may be zod's, with transformations and defaults", () =>
    fits(
      z.object({
        city: z.string().trim().transform((city) => ({ name: city })),
        nights: z.number().int().default(2),
        even: z.number().refine((n) => n % 2 === 0)
      }),
      [["{\"city\":\" Paris \",\"even\":4}", { city: { name: "Paris" }, nights: 2, even: 4 }]]
    ))

  it.effect("may be a JSON Schema", () =>
    fits(
      Parameters.fromJsonSchema<{ days: number }>({
        type: "object",
        properties: { days: { type: "integer", minimum: 1 } },
        required: ["days"]
      }),
      [["{\"days\": \"3\"}", { days: 3 }]]
    ))

  it.effect("may be of any JSON kind, with its key or without", () =>
    Effect.gen(function*() {
      yield* fits(Schema.Number, [["90", 90], ["\"90\"", 90], ["{\"answer\":90}", 90], ["```json\n90\n```", 90]])
      yield* fits(Schema.Boolean, [["true", true], ["{\"answer\":\"false\"}", false]])
      yield* fits(Schema.Null, [["null", null], ["{\"answer\":null}", null]])
      yield* fits(Schema.Array(Schema.Int), [["[1,2]", [1, 2]], ["{\"answer\":[\"1\"]}", [1]], ["[]", []]])
      yield* fits(Schema.Literals(["yes", "no"]), [["yes", "yes"], ["\"no\"", "no"], ["{\"answer\":\"yes\"}", "yes"]])
      yield* fits(Schema.Union([Schema.Struct({ a: Schema.Int }), Schema.Struct({ answer: Schema.Int })]), [
        ["{\"a\":1}", { a: 1 }],
        ["{\"answer\":{\"a\":1}}", { a: 1 }],
        ["{\"answer\":{\"answer\":1}}", { answer: 1 }],
        ["{\"answer\":1}", { answer: 1 }],
        ["Sure: {\"answer\":{\"a\":1}}", { a: 1 }]
      ])
      yield* fits(Schema.NullOr(Schema.String), [["null", null], ["\"null\"", "null"], ["No idea.", "No idea."], [
        "90",
        "90"
      ]])
      yield* fits(Schema.Union([Schema.String, Schema.Number]), [["90", 90], ["\"90\"", "90"], ["ninety", "ninety"]])
      yield* fits(z.union([z.string(), z.number()]), [["90", 90], ["\"90\"", "90"], ["ninety", "ninety"]])
      yield* fits(Schema.Struct({ answer: Schema.Int }), [["{\"answer\":1}", { answer: 1 }]])
    }))

  it.effect("may be a string, whatever it looks like", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [string, string]> = [
        ["Three days.", "Three days."],
        ["90", "90"],
        ["1.10", "1.10"],
        ["null", "null"],
        ["[1,2]", "[1,2]"],
        ["{\"a\":1}", "{\"a\":1}"],
        ["\"Yes\" is a word", "\"Yes\" is a word"],
        ["\"a\", \"b\": \"c\"", "\"a\", \"b\": \"c\""],
        ["\"quoted\"", "quoted"],
        ["{\"answer\":\"x\"}", "x"],
        ["{\"answer\":\"{\\\"answer\\\":\\\"x\\\"}\"}", "{\"answer\":\"x\"}"],
        ["{\"answer\":\"\\\"x\\\"\"}", "\"x\""],
        ["Send {\"answer\": 5} as the body.", "Send {\"answer\": 5} as the body."],
        ["```\ncode\n```", "```\ncode\n```"]
      ]
      yield* fits(Schema.String, cases)
      yield* fits(z.string(), cases)
      yield* fits(Schema.String.annotate({ identifier: "Reply" }), cases)
      yield* fits(z.string().meta({ id: "Reply" }), cases)
    }))

  it.effect("is not fitted by words in place of a list, or by the beginning of JSON in place of a string", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [Schema.ConstraintDecoder<unknown>, ReadonlyArray<string>]> = [
        [Schema.Array(Schema.String), ["I could not find any.", "a", "[\"a\"", "[\"a\",", "[\"a\"}", "1"]],
        [Schema.Array(Schema.Int), ["1", "1,2", "[1,2", "[1,2}"]],
        [Schema.String, ["\"Thr", "{\"answer\":\"Thr", "{\"answer\":\"Three\"", "```json\n{\"answer\":\"Thr"]],
        [Schema.NullOr(Schema.String), ["\"Thr", "{\"answer\":\"Thr", "[", "{\"a\":1", "```json\n{\"answer\":\"Thr"]],
        [Schema.Number, ["90, \"x\": 1", "1,2", "90.", "9e", "-", "{\"answer\":9", "ninety", "null"]]
      ]
      for (const [output, texts] of cases) {
        for (const written of texts) {
          const { exit } = yield* played(Agent.make({ toolkit: Toolkit.empty, output }), () => text(written))
          assert.strictEqual(refused(exit).text, written)
        }
      }
    }))

  it("throws at once if it cannot be used, or if a tool has the name of the answer", () => {
    const output = Days
    const namesake = Tool.make("final_answer", { description: "", success: Schema.String }, () => Effect.succeed(""))
    assert.throws(
      () => Agent.make({ toolkit: Toolkit.make(namesake), output }),
      "An agent with an 'output' gives its answer by the tool 'final_answer'. Rename yours."
    )
    assert.doesNotThrow(() => Agent.make({ toolkit: Toolkit.make(namesake) }))
    for (const wrong of [{ type: "object" }, "x", 1, null, () => 1]) {
      assert.throws(() => Agent.make({ toolkit: Toolkit.empty, output: wrong as Untyped }), /must be a Schema/)
    }
    assert.throws(
      () => Agent.make({ toolkit: Toolkit.empty, checkOutput: () => undefined }),
      "An agent's checkOutput checks its typed answer, so it needs an 'output', the schema of the answer."
    )
    assert.throws(
      () => Agent.make({ toolkit: Toolkit.empty, output, checkOutput: "no" as Untyped }),
      "An agent's checkOutput must be a function; got a string."
    )
  })
})

describe("no answer is made of a text that was cut off", () => {
  const Order = Schema.Struct({
    id: Schema.Int,
    name: Schema.String,
    tags: Schema.Array(Schema.String),
    note: Schema.optionalKey(Schema.NullOr(Schema.Number))
  })
  const outputs: ReadonlyArray<readonly [string, Schema.Codec<unknown, unknown>, fc.Arbitrary<unknown>]> = [
    [
      "an object",
      Order,
      fc.record({
        id: fc.maxSafeInteger(),
        name: fc.string({ maxLength: 8 }),
        tags: fc.array(fc.string({ maxLength: 3 }), { maxLength: 2 }),
        note: fc.option(fc.integer())
      })
    ],
    ["a list", Schema.Array(Schema.Int), fc.array(fc.integer(), { minLength: 1, maxLength: 4 })],
    ["a number", Schema.Finite, fc.integer({ min: 10 })],
    ["a union", Schema.Union([Order, Schema.Struct({ sum: Schema.Int })]), fc.record({ sum: fc.integer() })],
    ["a literal", Schema.Literals(["yes", "no"]), fc.constantFrom("yes", "no")],
    ["a boolean", Schema.Boolean, fc.boolean()]
  ]
  for (const [name, output, arbitrary] of outputs) {
    it.effect(`of ${name}`, () =>
      Effect.gen(function*() {
        const agent = Agent.make({ toolkit: Toolkit.empty, output, limits: { turns: 1 } })
        const isAnswered = (reply: Model.Reply) =>
          Exit.isSuccess(Effect.runSync(Effect.provide(played(agent, [reply]), Logger.layer([]))).exit)
        yield* Effect.void
        fc.assert(
          fc.property(arbitrary, (value) => {
            const bare = JSON.stringify(value)
            const keyed = JSON.stringify({ answer: value })
            const texts = name === "an object" ? [bare] : [bare, keyed]
            for (const whole of texts.flatMap((whole) => [whole, `\`\`\`json\n${whole}\n\`\`\``])) {
              const end = whole.lastIndexOf(whole.endsWith("```") ? "\n" : "")
              for (let length = 1; length < end; length++) {
                const beginning = whole.slice(0, length)
                assert.isFalse(isAnswered({ ...text(beginning), truncated: true }), beginning)
                // Nothing tells that a bare number was cut off.
                const mayBeWhole = name === "a number" && !beginning.includes("answer")
                if (!mayBeWhole) assert.isFalse(isAnswered(text(beginning)), beginning)
                for (const truncated of [false, true]) {
                  assert.isFalse(isAnswered({ ...final(beginning), truncated }), beginning)
                }
              }
            }
            assert.isTrue(isAnswered(text(bare)))
          }),
          { numRuns: runs(8) }
        )
      }))
  }

  it.effect("even if it is a whole number: 90 of 900", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.empty, output: Schema.Number })
      const cut = { ...text("90"), truncated: true }
      const { exit, requests } = yield* played(agent, [cut, text("900")])
      assert.strictEqual(answered(exit).value, 900)
      assert.include(lastText(requests[1]!), "cut off")
      assert.strictEqual(refused((yield* played(agent, () => cut)).exit).text, "90")
      const strings = Agent.make({ toolkit: Toolkit.empty, output: Schema.String })
      assert.strictEqual(refused((yield* played(strings, () => cut)).exit).text, "90")
    }))
})

describe("the check of an answer", () => {
  const checking = (
    checkOutput: (value: typeof Days.Type) =>
      | Effect.Effect<
        SemanticGarbage | void,
        SemanticGarbage | ToolUnavailable
      >
      | undefined,
    limits: Agent.Options<Tool.Any>["limits"] = {}
  ) => Agent.make({ toolkit: Toolkit.make(look()), output: Days, checkOutput, limits })
  const tooShort = new SemanticGarbage({
    code: "too_short",
    detail: "Less than 3 days is too short.",
    hint: "Add days."
  })

  it.effect("gets the value, and tells the model what is wrong, as a function or as an Effect", () =>
    Effect.gen(function*() {
      const isShort = ({ days }: typeof Days.Type) => days < 3
      const agents = [
        checking((value) => isShort(value) ? tooShort : undefined),
        checking((value) => isShort(value) ? Effect.fail(tooShort) : undefined),
        checking((value) => isShort(value) ? Effect.succeed(tooShort) : Effect.void),
        checking((value) => Effect.as(Effect.yieldNow, isShort(value) ? tooShort : undefined))
      ]
      for (const agent of agents) {
        for (const [, write, model] of ways) {
          const { exit, requests } = yield* played(agent, model([write({ days: 1 }), write({ days: 3 })]))
          assert.deepStrictEqual(answered(exit).value, { days: 3 })
          assert.include(lastText(requests[1]!), "Less than 3 days is too short.")
          assert.include(lastText(requests[1]!), "Add days.")
          const never = yield* played(agent, model(() => write({ days: 1 })))
          const failure = refused(never.exit)
          assert.deepInclude(failure, {
            detail: "The model gave no valid answer: Less than 3 days is too short.",
            text: "{\"days\":1}",
            issues: []
          })
          assert.strictEqual(never.requests.length, 3)
        }
      }
    }))

  it.effect("runs only for an answer that fits", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const agent = checking((value) => {
        seen.push(value)
        return undefined
      })
      yield* played(agent, [final("{\"days\":"), text("Hm."), final({ days: 3 })])
      assert.deepStrictEqual(seen, [{ days: 3 }])
    }))

  it.effect("runs again for the same answer, which may be good by then", () =>
    Effect.gen(function*() {
      for (const [, write, model] of ways) {
        let asked = 0
        const agent = checking(() =>
          asked++ < 2 ? Effect.fail(new ToolUnavailable({ code: "down", detail: "Down.", transient: true })) : undefined
        )
        assert.deepStrictEqual(yield* valueOf(agent, model(() => write({ days: 3 }))), [{ days: 3 }, 3])
      }
    }))

  it.effect("ends the run if it is broken: the model cannot mend it", () =>
    Effect.gen(function*() {
      const broken: ReadonlyArray<readonly [Untyped, RegExp]> = [
        [() => {
          throw new Error("no such column 'dyas'")
        }, /no such column/],
        [() => Effect.die(new Error("no such column 'dyas'")), /no such column/],
        [() => Promise.resolve(undefined), /promise/],
        [() => Promise.reject(new Error("no such column 'dyas'")), /promise/],
        [() => true, /The check of an agent's answer/],
        [() => null, /The check of an agent's answer/],
        [() => Effect.succeed(false), /succeed with undefined if the answer is good/],
        [() => Effect.fail("no"), /no/]
      ]
      for (const [check, logs] of broken) {
        for (const [, write, model] of ways) {
          const { logged, value } = yield* logging(played(checking(check), model([write({ days: 3 })])))
          assert.deepInclude(refused(value.exit), {
            detail: "The answer was not taken: its check failed with an internal error.",
            text: "{\"days\":3}"
          })
          assert.match(logged.join("\n"), logs)
          assert.notInclude(JSON.stringify(value.exit), "dyas")
        }
      }
    }))

  it.effect("may stop the run", () =>
    Effect.gen(function*() {
      for (const [, write, model] of ways) {
        const { exit, requests } = yield* played(
          checking(() => ToolCall.stop("Not today.")),
          model([write({ days: 3 })])
        )
        const failure = failed(exit)
        assert.isTrue(failure._tag === "RunStopped" && failure.reason === "Not today.")
        assert.strictEqual(requests.length, 1)
      }
    }))

  it.effect("is ended by the run's time limit", () =>
    Effect.gen(function*() {
      const agent = checking(() => Effect.never, { elapsed: "1 minute" })
      for (const [, write, model] of ways) {
        const fiber = yield* Effect.forkChild(played(agent, model([write({ days: 3 })])))
        yield* TestClock.adjust("59 seconds")
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 second")
        const { exit } = yield* Fiber.join(fiber)
        const failure = failed(exit)
        assert.isTrue(failure._tag === "LimitReached" && failure.limit === "elapsed")
      }
    }))

  it.effect("is interrupted with its run, which shows how far it has come", () =>
    Effect.gen(function*() {
      for (const [way, write, model] of ways) {
        const begun = yield* Deferred.make<void>()
        const ended: Array<string> = []
        const agent = checking(() =>
          Effect.andThen(Deferred.succeed(begun, undefined), Effect.never).pipe(
            Effect.onInterrupt(() => Effect.sync(() => ended.push(way)))
          )
        )
        const handle = RunHandle.make()
        const fiber = yield* Effect.forkChild(
          Effect.provide(agent.run("?", { handle }), model([calls(["look"], ["look"]), write({ days: 3 })])),
          { startImmediately: true }
        )
        yield* Deferred.await(begun)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(ended, [way])
        const { inDoubt, report, transcript } = handle.progress ?? assert.fail()
        assert.deepStrictEqual(inDoubt, [])
        assert.strictEqual(report.turns, 2)
        assert.deepStrictEqual(
          Transcript.toArray(transcript).map((message) => message.role === "tool" ? message.name : message.role),
          ["user", "assistant", "look", "look", "assistant", "final_answer"]
        )
      }
    }))

  it.effect("may act, and what it did is known if the run is interrupted, fails, or is refused", () =>
    Effect.gen(function*() {
      const book = Tool.make("book", { description: "", success: Schema.String }, () => Effect.never)
      for (const [, write, model] of ways) {
        const handle = RunHandle.make()
        const agent = checking(() => Effect.asVoid(Effect.orDie(book.run({}))))
        const fiber = yield* Effect.forkChild(
          Effect.provide(agent.run("?", { handle }), model([write({ days: 3 })])),
          { startImmediately: true }
        )
        yield* TestClock.adjust("1 minute")
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(handle.progress?.inDoubt.length, 1)
      }
    }))

  it.effect("counts the tokens of the agents that it runs", () =>
    Effect.gen(function*() {
      const judge = Agent.make({ toolkit: Toolkit.empty, output: Schema.Boolean })
      const usage = { inputTokens: 10, outputTokens: 2 }
      const verdict = (value: boolean) => ScriptedModel.layer([{ ...json(value), usage }])
      for (const [, write, model] of ways) {
        const agent = checking(({ days }) =>
          Effect.flatMap(Effect.orDie(Effect.provide(judge.run("Good?"), verdict(days > 2))), ({ value }) =>
            value ? Effect.void : Effect.fail(tooShort))
        )
        const { exit } = yield* played(agent, model([write({ days: 1 }), write({ days: 3 })]))
        assert.deepInclude(answered(exit).report, { turns: 2, inputTokens: 20, outputTokens: 4 })
      }
    }))

  describe("may ask the user", () => {
    const asking = () => {
      const replies: Array<string> = []
      const agent = checking(({ days }) =>
        Effect.flatMap(ToolCall.ask(`Is ${days} right?`), (reply) => {
          replies.push(reply)
          return reply === "yes" ? Effect.void : Effect.fail(tooShort)
        })
      )
      return { agent, replies }
    }
    const suspended = <A>(exit: Exit.Exit<A, AgentFailure.AgentFailure>): AgentFailure.RunSuspended => {
      const failure = failed(exit)
      return failure instanceof AgentFailure.RunSuspended ? failure : assert.fail(String(failure))
    }
    const stored = (suspension: AgentFailure.Suspension): AgentFailure.Suspension =>
      Schema.decodeUnknownSync(AgentFailure.Suspension)(
        JSON.parse(JSON.stringify(Schema.encodeSync(AgentFailure.Suspension)(suspension)))
      )

    for (const [way, write, model] of ways) {
      it.effect(`of an answer that was given by ${way}, also through storage`, () =>
        Effect.gen(function*() {
          const { agent, replies } = asking()
          const { exit, requests } = yield* played(agent, model([write({ days: "3" })]))
          const failure = suspended(exit)
          assert.strictEqual(failure.question, "Is 3 right?")
          assert.strictEqual(requests.length, 1)
          const yes = yield* Effect.provide(agent.resume(stored(failure.suspension), "yes"), model([]))
          assert.deepStrictEqual(yes.value, { days: 3 })
          assert.strictEqual(yes.text, "{\"days\":3}")
          assert.deepStrictEqual(Transcript.toArray(yes.transcript).map(({ role }) => role), ["user", "assistant"])
          const again = suspended(
            yield* Effect.exit(Effect.provide(agent.resume(failure.suspension, "no"), model([write({ days: 4 })])))
          )
          assert.strictEqual(again.question, "Is 4 right?")
          const other = yield* Effect.provide(agent.resume(stored(again.suspension), "yes"), model([]))
          assert.deepStrictEqual(other.value, { days: 4 })
          assert.deepStrictEqual(replies, ["yes", "no", "yes"])
          const ids = Transcript.toArray(other.transcript).flatMap((message) =>
            message.role === "assistant" ? message.calls.map(({ id }) => id) : []
          )
          assert.strictEqual(new Set(ids).size, ids.length)
        }))
    }

    it.effect("once for two equal answers of a reply", () =>
      Effect.gen(function*() {
        const { agent } = asking()
        const equal = calls(["final_answer", { days: 3 }], ["final_answer", { days: 3 }])
        const { suspension } = suspended((yield* played(agent, [equal])).exit)
        const { value } = yield* Effect.provide(agent.resume(suspension, "yes"), ScriptedModel.layer([]))
        assert.deepStrictEqual(value, { days: 3 })
      }))
  })
})

describe("a typed answer in a journal", () => {
  it.effect("is replayed with the same value, and is not checked again", () =>
    Effect.gen(function*() {
      for (const [, write, model] of ways) {
        let checked = 0
        const output = Schema.Struct({ at: Schema.Date })
        const agent = Agent.make({
          toolkit: Toolkit.make(look()),
          output,
          checkOutput: () =>
            Effect.sync(() => {
              checked++
            })
        })
        const journal = new FileJournal()
        const answer = { at: "2026-01-02T03:04:05Z" }
        const process = (script: ScriptedModel.Script, stop?: { readonly step: number; readonly hasRun: boolean }) =>
          journal.process(
            (journal) =>
              agent.run("When?", { id: "run-1" }).pipe(
                Effect.provideService(Journal.current, journal),
                Effect.provide(model(script))
              ),
            stop
          )
        const first = yield* process([call("look"), write(answer)])
        const second = yield* process([])
        if (first === undefined || second === undefined) return assert.fail("stopped")
        assert.deepStrictEqual(answered(first).value, { at: new Date("2026-01-02T03:04:05Z") })
        assert.deepStrictEqual(answered(second), answered(first))
        assert.strictEqual(checked, 1)
      }
    }))

  it.effect("goes on after a crash at any step, and corrections are told again", () =>
    Effect.gen(function*() {
      for (const [, write, model] of ways) {
        const script: ScriptedModel.Script = ({ messages }) =>
          messages.length < 2 ? write({ days: "x" }) : write({ days: 3 })
        const run = daysAgent.run("?", { id: "run-1" }).pipe(Effect.provide(model(script)))
        const { journal, names } = namingJournal()
        const whole = answered(yield* Effect.exit(Effect.provideService(run, Journal.current, journal)))
        for (const hasRun of [true, false]) {
          for (let step = 1; step <= names.length; step++) {
            const file = new FileJournal()
            const process = (stop?: { readonly step: number; readonly hasRun: boolean }) =>
              file.process((journal) => Effect.provideService(run, Journal.current, journal), stop)
            assert.isUndefined(yield* process({ step, hasRun }))
            const exit = yield* process()
            assert.isDefined(exit)
            if (exit !== undefined) assert.deepStrictEqual(answered(exit), whole)
          }
        }
      }
    }))
})

describe("the limits of a run with a typed answer", () => {
  const concluding = (limits: Agent.Options<Tool.Any>["limits"], onLimit: "fail" | "conclude" = "conclude") =>
    Agent.make({
      toolkit: Toolkit.make(look((ran) => `news ${ran}`)),
      output: Days,
      limits: limits ?? {},
      onLimit,
      checkOutput: ({ days }) => days < 0 ? new SemanticGarbage({ code: "negative", detail: "Negative." }) : undefined
    })
  const usage = { inputTokens: 40, outputTokens: 10 }
  const cases: ReadonlyArray<readonly ["turns" | "calls" | "tokens", Agent.Options<Tool.Any>["limits"]]> = [
    ["turns", { turns: 3 }],
    ["calls", { calls: 2 }],
    ["tokens", { tokens: 200 }]
  ]
  const isLast = ({ messages }: ScriptedModel.Recorded) => messages.at(-1)?.text.includes("used up") === true

  for (const [limit, limits] of cases) {
    it.effect(`are concluded with a typed answer, or fail: ${limit}`, () =>
      Effect.gen(function*() {
        for (const [way, write, model] of ways) {
          const till = (last: Model.Reply): ScriptedModel.Script => (request) =>
            isLast(request) ? last : { ...call("look"), usage }
          const { exit, requests } = yield* played(concluding(limits), model(till(write({ days: 3 }))))
          const answer = answered(exit)
          assert.deepInclude(answer, { stopReason: "concluded", concluded: limit, truncated: false })
          assert.deepStrictEqual(answer.value, { days: 3 })
          assert.deepStrictEqual(Transcript.toArray(answer.transcript).at(-1)?.text, "{\"days\":3}")
          const last = requests.at(-1)!
          assert.deepStrictEqual(namesOf(last), way === "structured output" ? [] : ["final_answer"])
          assert.strictEqual(last.options.output !== undefined, way === "structured output")
          const wrong: ReadonlyArray<Model.Reply> = [
            write({ days: "x" }),
            write({ days: -1 }),
            { ...text("{\"days\":3}"), truncated: true },
            text("{\"days\":3"),
            text(""),
            text("I do not know."),
            call("look"),
            calls(["final_answer", { days: 1 }], ["final_answer", { days: 2 }])
          ]
          for (const reply of wrong) {
            const failure = failed((yield* played(concluding(limits), model(till(reply)))).exit)
            assert.isTrue(failure._tag === "LimitReached" && failure.limit === limit, JSON.stringify(reply))
          }
          const failure = failed((yield* played(concluding(limits, "fail"), model(till(write({ days: 3 }))))).exit)
          assert.isTrue(failure._tag === "LimitReached" && failure.limit === limit)
        }
      }))
  }

  it.effect("of calls do not count the answer", () =>
    Effect.gen(function*() {
      for (const limits of [{ calls: 1 }, { callsPerTool: 1 }, { callsPerTool: { look: 1 } }] as const) {
        const agent = Agent.make({ toolkit: Toolkit.make(look()), output: Days, limits })
        const script = [call("look"), final({ days: "x" }), final({ days: "x" }), final({ days: 3 })]
        const { exit, requests } = yield* played(agent, script)
        assert.deepStrictEqual(answered(exit).value, { days: 3 })
        for (const request of requests.slice(1)) assert.include(namesOf(request), "final_answer")
      }
      const run = yield* played(daysAgent, [final({ days: 3 })], { limits: { callsPerTool: { final_answer: 1 } } })
      assert.strictEqual(failed(run.exit)._tag, "RunRefused")
    }))

  it.effect("end a correction: turns and time", () =>
    Effect.gen(function*() {
      for (const [, write, model] of ways) {
        const short = Agent.make({ toolkit: Toolkit.empty, output: Days, limits: { turns: 2 } })
        const { exit, requests } = yield* played(short, model(() => write({ days: "x" })))
        const failure = failed(exit)
        assert.isTrue(failure._tag === "LimitReached" && failure.limit === "turns")
        assert.strictEqual(requests.length, 2)
        const timed = Agent.make({ toolkit: Toolkit.empty, output: Days, limits: { elapsed: "1 minute" } })
        const slow = Effect.delay(Effect.succeed(write({ days: "x" })), "45 seconds")
        const late = yield* passing(played(timed, model(() => slow)))
        const end = failed(late.exit)
        assert.isTrue(end._tag === "LimitReached" && end.limit === "elapsed")
      }
    }))

  it.effect("are reached, and nobody replies to a check that asks then", () =>
    Effect.gen(function*() {
      const agent = Agent.make({
        toolkit: Toolkit.make(look()),
        output: Days,
        limits: { turns: 2 },
        onLimit: "conclude",
        checkOutput: () => Effect.asVoid(ToolCall.ask("Right?"))
      })
      for (const [, write, model] of ways) {
        const { exit } = yield* played(agent, model([call("look"), write({ days: 3 })]))
        assert.strictEqual(failed(exit)._tag, "LimitReached")
      }
    }))

  it.effect("give up a check, whose value is not that of the next answer", () =>
    Effect.gen(function*() {
      for (const [, write, model] of ways) {
        const agent = Agent.make({
          toolkit: Toolkit.empty,
          output: Days,
          limits: { elapsed: "1 minute" },
          onLimit: "conclude",
          checkOutput: ({ days }) =>
            days === 1 ? Effect.uninterruptible(Effect.sleep("57 seconds")) : Effect.sleep("4 seconds")
        })
        const { exit } = yield* passing(played(agent, model([write({ days: 1 }), write({ days: 2 })])))
        if (Exit.isSuccess(exit)) assert.strictEqual(exit.value.text, JSON.stringify(exit.value.value))
      }
    }))

  it.effect("are not used up by a guard against loops that withdraws the answer", () =>
    Effect.gen(function*() {
      let ran = 0
      const both = () => calls(["final_answer", { days: 1 }], ["look", {}])
      const agent = Agent.make({ toolkit: Toolkit.make(look(() => `news ${++ran}`)), output: Days })
      const { requests } = yield* played(agent, () => both())
      for (const request of requests) assert.include(namesOf(request), "final_answer")
      assert.isAtMost(requests.length, 30)
    }))

  it.effect("are not all used up by a stuck model: a loop is concluded", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(look()), output: Days, onLimit: "conclude" })
      for (const [, write, model] of ways) {
        const { exit } = yield* played(
          agent,
          model(({ messages }) =>
            lastText({ messages, tools: [], options: {} }).includes("Give the best") ? write({ days: 3 }) : call("look")
          )
        )
        assert.deepInclude(answered(exit), { concluded: "loop", value: { days: 3 } })
      }
    }))
})

describe("the request for a typed answer", () => {
  const optionsOf = (
    modelOptions: Model.Options,
    model: (script: ScriptedModel.Script) => Models,
    toolkit = Toolkit.make(look())
  ) =>
    Effect.map(
      played(Agent.make({ toolkit, output: Days, modelOptions }), model([call("look"), text("{\"days\":3}")])),
      ({ requests }) =>
        requests.map((request) => {
          const { toolChoice = "-" } = request.options
          return `${namesOf(request).join()} ${typeof toolChoice === "string" ? toolChoice : toolChoice.tool}`
        })
    )
  const tool = (script: ScriptedModel.Script) => ScriptedModel.layer(script)
  const none: Untyped = Toolkit.empty

  it.effect("offers the tool, or has the schema, and never both", () =>
    Effect.gen(function*() {
      const plain = yield* played(daysAgent, [call("look"), final({ days: 3 })])
      for (const { options, tools } of plain.requests) {
        assert.isUndefined(options.output)
        assert.deepStrictEqual(tools.map(({ name }) => name), ["look", "final_answer"])
      }
      const written = yield* played(daysAgent, structured([call("look"), json({ days: 3 })]))
      for (const { options, tools } of written.requests) {
        assert.deepInclude(options.output, { type: "object", required: ["days"] })
        assert.deepStrictEqual(tools.map(({ name }) => name), ["look"])
      }
      // With tools, such a model could call none.
      const beside = yield* played(daysAgent, structured([final({ days: 3 })], "without_tools"))
      assert.deepStrictEqual(beside.requests.map(namesOf), [["look", "final_answer"]])
      const alone = Agent.make({ toolkit: Toolkit.empty, output: Days })
      const { requests } = yield* played(alone, structured([json({ days: 3 })], "without_tools"))
      assert.deepStrictEqual(requests.map(namesOf), [[]])
      assert.isDefined(requests[0]?.options.output)
    }))

  it.effect("has no other schema than that of the answer", () =>
    Effect.gen(function*() {
      const modelOptions = { output: { type: "object" }, temperature: 0 }
      const agent = Agent.make({ toolkit: Toolkit.make(look()), output: Days, modelOptions })
      const { requests: [byCall] } = yield* played(agent, [final({ days: 3 })], { modelOptions })
      assert.deepStrictEqual(byCall?.options, { temperature: 0 })
      const { requests: [byText] } = yield* played(agent, structured([json({ days: 3 })]), { modelOptions })
      assert.deepInclude(byText?.options.output, { required: ["days"] })
      const untyped = Agent.make({ toolkit: Toolkit.make(look()), modelOptions })
      const { requests: [own] } = yield* played(untyped, [text("{}")])
      assert.deepStrictEqual(own?.options, modelOptions)
    }))

  it.effect("requires a tool until one was called, and the answer is one", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* optionsOf({ toolChoice: "required" }, tool), [
        "look,final_answer required",
        "look,final_answer required"
      ])
      assert.deepStrictEqual(yield* optionsOf({ toolChoice: "required" }, structured), ["look required", "look -"])
      assert.deepStrictEqual(yield* optionsOf({ toolChoice: { tool: "look" } }, tool), [
        "look,final_answer look",
        "look,final_answer -"
      ])
      assert.deepStrictEqual(yield* optionsOf({ toolChoice: { tool: "look" } }, structured), [
        "look look",
        "look -"
      ])
    }))

  it.effect("offers the answer alone if no tool may be called", () =>
    Effect.gen(function*() {
      const first = (requests: ReadonlyArray<string>) => requests[0]
      assert.strictEqual(first(yield* optionsOf({ toolChoice: "none" }, tool)), "final_answer -")
      assert.strictEqual(first(yield* optionsOf({ toolChoice: "none" }, structured)), " -")
      const without = (script: ScriptedModel.Script) => structured(script, "without_tools")
      assert.strictEqual(first(yield* optionsOf({ toolChoice: "none" }, without)), " -")
    }))

  it.effect("corrects a text in words that fit the way in which the model answers", () =>
    Effect.gen(function*() {
      const { requests: [, byCall] } = yield* played(daysAgent, [json({ days: "x" }), final({ days: 3 })])
      assert.match(lastText(byCall!), /^Your last reply is not the final answer. To give it, call final_answer.\n\{/)
      const { requests: [, byText] } = yield* played(daysAgent, structured([json({ days: "x" }), json({ days: 3 })]))
      assert.strictEqual(
        lastText(byText!),
        "Your last reply is not a valid answer: 'days': expected integer, got \"x\".\nReply with the corrected answer alone, as JSON."
      )
      // Both see what they wrote.
      for (const request of [byCall, byText]) assert.strictEqual(request?.messages.at(-2)?.text, "{\"days\":\"x\"}")
    }))

  it.effect("does not require a tool if none is offered", () =>
    Effect.gen(function*() {
      const first = (requests: ReadonlyArray<string>) => requests[0]
      for (const toolChoice of ["required", { tool: "final_answer" }] as const) {
        assert.strictEqual(first(yield* optionsOf({ toolChoice }, structured, none)), " -")
      }
      assert.strictEqual(
        first(yield* optionsOf({ toolChoice: "required" }, tool, none)),
        "final_answer required"
      )
    }))

  it.effect("offers the answer also if only available tools are offered", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(look()), output: Days, offer: "available" })
      const { requests } = yield* played(agent, [final({ days: 3 })])
      assert.deepStrictEqual(requests.map(namesOf), [["look", "final_answer"]])
      const { requests: written } = yield* played(agent, structured([json({ days: 3 })]))
      assert.deepStrictEqual(written.map(namesOf), [["look"]])
    }))
})

describe("a typed answer, stored and shown", () => {
  it.effect("survives JSON, as does its refusal", () =>
    Effect.gen(function*() {
      const output = Schema.Struct({ at: Schema.Date, n: Schema.BigInt })
      const agent = Agent.make({ toolkit: Toolkit.empty, output })
      const { exit } = yield* played(agent, [final({ at: "2026-01-02T03:04:05Z", n: "7" })])
      const answer = answered(exit)
      const schema = Answer.schemaFor(output)
      const decoded = Schema.decodeUnknownSync(schema)(JSON.parse(JSON.stringify(Schema.encodeSync(schema)(answer))))
      assert.deepStrictEqual(decoded, answer)
      assert.strictEqual(String(decoded), String(answer))
      assert.include(inspect(answer), "Answer (answered)")
      // Without the output, the value is left out.
      const untyped = Schema.decodeUnknownSync(Answer.schema)(JSON.parse(JSON.stringify(answer)))
      assert.isFalse("value" in untyped)
      assert.strictEqual(untyped.text, answer.text)
      assert.throws(() => Schema.decodeUnknownSync(Answer.schemaFor(Days))(JSON.parse(JSON.stringify(answer))), /days/)
      const failure = refused((yield* played(agent, () => text("No idea."))).exit)
      const read = Schema.decodeUnknownSync(AgentFailure.schema)(JSON.parse(JSON.stringify(failure)))
      assert.deepStrictEqual(read, failure)
    }))

  it.effect("does not hinder later runs of its scope, even if it was refused there", () =>
    Effect.gen(function*() {
      let good = false
      const agent = Agent.make({
        toolkit: Toolkit.make(look()),
        output: Days,
        checkOutput: () => good ? undefined : new SemanticGarbage({ code: "bad", detail: "Bad." })
      })
      const failure = refused((yield* played(agent, () => final({ days: 3 }))).exit)
      const read = Schema.decodeUnknownSync(AgentFailure.OutputRefused.schema)(JSON.parse(JSON.stringify(failure)))
      good = true
      for (const { facts, transcript } of [failure, read]) {
        const { exit } = yield* played(agent, [final({ days: 3 })], { facts, transcript })
        assert.deepStrictEqual(answered(exit).value, { days: 3 })
      }
    }))

  const previews = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
    events.flatMap((event) => event._tag === "AnswerPreview" ? [event.soFar] : [])

  it.effect("is previewed as far as it is written, from a call or from a text", () =>
    Effect.gen(function*() {
      const output = Schema.Struct({ city: Schema.String, days: Schema.Int })
      const agent = Agent.make({ toolkit: Toolkit.empty, output })
      const written = "{\"city\":\"Par\\u00eds\",\"days\":90}"
      const asText: ReadonlyArray<Model.Part> = [
        ...Array.from(written, (text): Model.Part => ({ _tag: "TextDelta", text })),
        { _tag: "Replied", reply: text(written) }
      ]
      for (const parts of [pieces(written, 1), asText]) {
        const all = yield* Stream.runCollect(agent.stream("?")).pipe(Effect.provide(streaming(parts)))
        const seen = previews(all)
        assert.deepStrictEqual(seen[0], { city: "" })
        assert.deepInclude(seen, { city: "Par" })
        assert.isTrue(
          seen.every((soFar: Untyped) => soFar.days === undefined || soFar.days === 90),
          JSON.stringify(seen)
        )
        for (const event of all) {
          assert.deepStrictEqual(
            Schema.decodeUnknownSync(AgentEvent.schema)(
              JSON.parse(JSON.stringify(Schema.encodeSync(AgentEvent.schema)(event)))
            )._tag,
            event._tag
          )
        }
      }
    }))

  it.effect("is previewed without its key, and begins again when the model is asked again", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.empty, output: Schema.Array(Schema.Int) })
      const all = yield* Stream.runCollect(AgentEvent.forClients(agent.stream("?"))).pipe(
        Effect.provide(streaming(pieces("{\"answer\":[\"x\",1,2]}", 1), pieces("{\"answer\":[1,2,3]}", 1)))
      )
      const seen = all.flatMap((event) => event._tag === "AnswerPreview" ? [[event.turn, event.soFar]] : [])
      assert.deepStrictEqual(seen.filter(([turn]) => turn === 2), [[2, []], [2, [1]], [2, [1, 2]], [2, [1, 2, 3]]])
      const last = all.at(-1)
      assert.isTrue(last?._tag === "RunEnded" && last.text === "[1,2,3]")
      for (const event of all) {
        assert.deepStrictEqual(
          Schema.decodeUnknownSync(ClientEvent.schema)(
            JSON.parse(JSON.stringify(Schema.encodeSync(ClientEvent.schema)(event)))
          ),
          event
        )
      }
    }))

  it.effect("shows digits that JavaScript cannot hold as they are written, and no other call's arguments", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(look()), output: Schema.Struct({ n: Schema.BigInt }) })
      const other: ReadonlyArray<Model.Part> = [
        { _tag: "ArgumentsDelta", call: 0, tool: "look", text: "{\"n\":1,\"m\":2}" },
        { _tag: "Replied", reply: call("look") }
      ]
      const all = yield* Stream.runCollect(agent.stream("?")).pipe(
        Effect.provide(
          streaming(other, pieces("{\"n\":12345678901234567890,\"x\":1e999 }", 100), pieces("{\"n\":\"7\"}", 100))
        )
      )
      assert.deepStrictEqual(previews(all), [{ n: "12345678901234567890" }, { n: "7" }])
      for (const event of all) Schema.encodeSync(AgentEvent.schema)(event)
    }))
})

describe("the secrets of a typed answer", () => {
  const pin = "hunter2"
  const Login = Schema.Struct({ user: Schema.String, pin: Schema.Redacted(Schema.String) })
  const agent = Agent.make({ toolkit: Toolkit.make(look()), output: Login })
  const secret = { user: "ada", pin }
  const written = JSON.stringify(secret)
  const streams: ReadonlyArray<readonly [string, ReadonlyArray<Model.Part>]> = [
    ["a call", [...pieces(written, 3).slice(0, -1), { _tag: "Replied", reply: { ...final(secret), native: { pin } } }]],
    ["a text", [
      ...Array.from(written, (text): Model.Part => ({ _tag: "TextDelta", text })),
      { _tag: "Replied", reply: { ...text(written), native: { pin } } }
    ]]
  ]

  for (const [way, parts] of streams) {
    it.effect(`are in the value, and are not shown if it was given by ${way}`, () =>
      Effect.gen(function*() {
        const wrong = pieces(`{"user":[],"pin":"${pin}"}`, 4)
        const { logged, value: events } = yield* logging(
          Stream.runCollect(agent.stream("?")).pipe(Effect.provide(streaming(wrong, parts)))
        )
        const clients = yield* Stream.runCollect(
          AgentEvent.forClients(agent.stream("?"), { arguments: true, results: true })
        )
          .pipe(Effect.provide(streaming(wrong, parts)))
        for (const event of events) {
          if (event._tag !== "RunEnded") assert.notInclude(inspect(event, { depth: Infinity }), pin, event._tag)
          assert.notInclude(JSON.stringify(Schema.encodeSync(AgentEvent.schema)(event)), pin, event._tag)
          assert.notInclude(JSON.stringify(event), pin, event._tag)
        }
        for (const event of clients) assert.notInclude(inspect(event, { depth: Infinity }), pin, event._tag)
        assert.notInclude(logged.join("\n"), pin)
        const ended = events.at(-1)
        if (ended?._tag !== "RunEnded") return assert.fail("no answer")
        const { answer } = ended
        assert.strictEqual(Redacted.value(answer.value.pin), pin)
        assert.strictEqual(answer.text, written)
        assert.strictEqual(answer.shown, "{\"user\":\"ada\",\"pin\":\"<redacted>\"}")
        assert.notInclude(String(answer), pin)
        assert.notInclude(inspect(answer), pin)
        assert.notInclude(JSON.stringify(answer), pin)
        // What is shown cannot be taken for the answer.
        const schema = Answer.schemaFor(Login)
        assert.throws(() => Schema.decodeUnknownSync(schema)(JSON.parse(JSON.stringify(answer))), /without its secrets/)
        const stored: unknown = JSON.parse(JSON.stringify(Schema.encodeSync(schema)(answer)))
        assert.strictEqual(Redacted.value(Schema.decodeUnknownSync(schema)(stored).value.pin), pin)
      }))
  }

  it.effect("are not in failures", () =>
    Effect.gen(function*() {
      const stopping = Agent.make({ toolkit: Toolkit.empty, output: Login, checkOutput: () => ToolCall.stop("No.") })
      for (
        const reply of [
          final({ user: [], pin }),
          json({ user: [], pin }),
          text(`The pin is ${pin}`),
          text(`{"pin":"${pin}`)
        ]
      ) {
        const { logged, value } = yield* logging(played(agent, () => reply))
        const failure = refused(value.exit)
        assert.notInclude(logged.join("\n"), pin)
        assert.notInclude(inspect(failure, { depth: Infinity }).replace(/"?arguments"?: .*/g, ""), pin)
        assert.notInclude(JSON.stringify(failure), pin)
        assert.include(failure.text, "<redacted>")
      }
      for (const reply of [final(secret), json(secret)]) {
        const { exit } = yield* played(stopping, [reply])
        assert.notInclude(JSON.stringify(failed(exit)), pin)
      }
    }))
})

describe("a postponed run with a typed answer", () => {
  it.effect("goes on to its answer", () =>
    Effect.gen(function*() {
      const busy = new ModelFailure({
        code: "rate_limited",
        detail: "Busy.",
        transient: true,
        retryAfter: Duration.hours(1)
      })
      const agent = Agent.make({ toolkit: Toolkit.make(look()), output: Days, modelRetry: Schedule.recurs(0) })
      for (const [, write, model] of ways) {
        const { exit } = yield* played(agent, model([write({ days: "x" }), Effect.fail(busy)]))
        const failure = failed(exit)
        if (failure._tag !== "RunPostponed") return assert.fail(String(failure))
        const answer = yield* Effect.provide(agent.resume(failure.postponement), model([write({ days: 3 })]))
        assert.deepStrictEqual(answer.value, { days: 3 })
      }
    }))
})

describe("an agent with an output", () => {
  it("is taken where any agent is", () => {
    const anyone: Agent.Agent<Tool.Any, unknown> = daysAgent
    assert.strictEqual(anyone, daysAgent)
  })
})
