/** How typed answers are read, and corrected. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, type Model, ModelFailure, Tool, Toolkit, Transcript } from "@fallible/core"
import * as Answer from "@fallible/core/Answer"
import * as ModelRecovery from "@fallible/core/ModelRecovery"
import * as Parameters from "@fallible/core/Parameters"
import { Effect, Exit, Logger, Schema, Stream } from "effect"
import * as fc from "fast-check"
import * as z from "zod"
import type { Untyped } from "../support/nonsense.ts"
import { runs } from "../support/runs.ts"
import {
  answered,
  call,
  calls,
  Days,
  daysAgent,
  failed,
  final,
  lastText,
  look,
  pieces,
  played,
  refused,
  streaming,
  text,
  valueOf,
  ways
} from "../support/typedAnswers.ts"

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
        [Schema.Number, ["90, \"x\": 1", "1,2", "90.", "9e", "-", "{\"answer\":9", "ninety", "null", "5,", "5, "]],
        [Schema.Struct({ days: Schema.optionalKey(Schema.Int) }), ["None", "null", "[]", "```json\nnull\n```"]]
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
          { numRuns: runs(8, 4) }
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
