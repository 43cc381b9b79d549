/** What holds of typed answers, whatever the model writes. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentFailure, Model, SemanticGarbage, Tool, type ToolCall, Toolkit } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import * as Answer from "@fallible/core/Answer"
import * as Journal from "@fallible/core/Journal"
import * as RunHandle from "@fallible/core/RunHandle"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Effect, Exit, Layer, Logger, Schema, Stream } from "effect"
import * as fc from "fast-check"
import { runs } from "../support/runs.ts"
import { isValid } from "../support/stuck.ts"

const Order = Schema.Struct({
  n: Schema.Int,
  note: Schema.optionalKey(Schema.String),
  at: Schema.optionalKey(Schema.Date)
})
const outputs = [
  Order,
  Schema.String,
  Schema.Array(Schema.Int),
  Schema.NullOr(Schema.Finite),
  Schema.Union([Schema.String, Schema.Struct({ answer: Schema.Int })])
] as const

const values: fc.Arbitrary<unknown> = fc.oneof(
  fc.record({ n: fc.integer(), note: fc.string({ maxLength: 5 }) }, { requiredKeys: ["n"] }),
  fc.record({ n: fc.oneof(fc.integer(), fc.string({ maxLength: 3 })), at: fc.constant("2026-01-02T03:04:05Z") }),
  fc.string({ maxLength: 6 }),
  fc.array(fc.integer(), { maxLength: 3 }),
  fc.integer(),
  fc.constant(null),
  fc.record({ answer: fc.oneof(fc.integer(), fc.string({ maxLength: 3 }), fc.constant(null)) })
)

const texts: fc.Arbitrary<string> = fc.oneof(
  values.map((value) => JSON.stringify(value)),
  values.map((value) => JSON.stringify({ answer: value })),
  fc.tuple(values, fc.nat({ max: 30 })).map(([value, length]) => JSON.stringify({ answer: value }).slice(0, length)),
  values.map((value) => `Sure: ${JSON.stringify(value)}. Done.`),
  values.map((value) => `\`\`\`json\n${JSON.stringify(value)}\n\`\`\``),
  fc.constantFrom(
    "",
    " ",
    "I'll look it up now.",
    "<tool_call>{\"name\":\"look\"}</tool_call>",
    "I do not know.",
    "{",
    "["
  )
)

const calls: fc.Arbitrary<ToolCall.ToolCall> = fc.record({
  id: fc.constantFrom("1", "2", "", "final_answer"),
  name: fc.constantFrom("final_answer", "final_answer", "final_answer", "look", "final_anwser"),
  arguments: fc.oneof(texts, fc.constant("{}"))
})

const replies: fc.Arbitrary<Model.Reply> = fc.record(
  {
    text: fc.oneof(fc.constant(""), texts),
    calls: fc.oneof(fc.constant([]), fc.array(calls, { maxLength: 3 })),
    truncated: fc.constantFrom(true, false, false, false)
  },
  { requiredKeys: ["text", "calls"] }
)

const scenarios = fc.record({
  output: fc.constantFrom(...outputs),
  replies: fc.array(replies, { minLength: 1, maxLength: 6 }),
  way: fc.constantFrom(undefined, "always", "without_tools"),
  refuses: fc.array(fc.boolean(), { maxLength: 3 }),
  onLimit: fc.constantFrom("fail", "conclude"),
  turns: fc.integer({ min: 1, max: 5 })
})

type Scenario = typeof scenarios extends fc.Arbitrary<infer S> ? S : never

/** Makes an agent, and a model that repeats its last reply. */
const world = ({ onLimit, output, refuses, replies, turns, way }: Scenario) => {
  const checked: Array<{ readonly value: unknown; readonly isGood: boolean }> = []
  const sent: Array<Model.Reply> = []
  const look = Tool.make(
    "look",
    { description: "Looks", success: Schema.String, sideEffect: "none" },
    () => Effect.succeed("news")
  )
  const agent = Agent.make({
    toolkit: Toolkit.make(look),
    output: asUnknown(output),
    limits: { turns },
    onLimit,
    checkOutput: (value) => {
      const isGood = refuses[checked.length] !== true
      checked.push({ value, isGood })
      return isGood ? undefined : new SemanticGarbage({ code: "bad", detail: "Bad." })
    }
  })
  const model = ScriptedModel.layer((_, index) => {
    const reply = replies[Math.min(index, replies.length - 1)] ?? ScriptedModel.text("")
    sent.push(reply)
    return reply
  })
  const structured = way === undefined ? model : Layer.effect(
    Model.Model,
    Effect.map(Model.Model, (model) => ({ ...model, structuredOutput: way }))
  ).pipe(Layer.provide(model))
  return { agent, checked, model: structured, sent }
}

/** The runs of a law log thousands of refusals. */
const silently = <A, E>(effect: Effect.Effect<A, E, Model.Model>, model: Layer.Layer<Model.Model>) =>
  Effect.runPromise(Effect.provide(Effect.exit(effect), Layer.merge(model, Logger.layer([]))))

const asUnknown = (schema: Schema.Constraint) => schema as Schema.ConstraintDecoder<unknown>

const failureOf = (exit: Exit.Exit<unknown, AgentFailure.AgentFailure>) =>
  Exit.isFailure(exit)
    ? exit.cause.reasons.find(Cause.isFailReason)?.error ?? assert.fail(String(Cause.squash(exit.cause)))
    : undefined

/** Keeps the results of steps, and gives them back to the next run. */
const replaying = () => {
  const known = new Map<string, unknown>()
  const journal: Journal.Journal = {
    step: (step, effect) => {
      const codec = Schema.toCodecJson(Schema.Exit(step.success, step.error, Schema.Defect()))
      const exit = known.get(step.name)
      return exit === undefined
        ? Effect.flatMap(Effect.exit(effect), (exit) => {
          known.set(step.name, JSON.parse(JSON.stringify(Schema.encodeSync(codec)(exit))))
          return exit
        })
        : Effect.suspend(() => Schema.decodeUnknownSync(codec)(exit))
    }
  }
  return journal
}

describe("a typed answer", () => {
  it.effect("is what the last reply says, fits, has passed its check, and is read again as it is", () =>
    Effect.gen(function*() {
      let answered = 0
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(scenarios, async (scenario) => {
            const { agent, checked, model, sent } = world(scenario)
            const exit = await silently(agent.run("?"), model)
            assert.isAtMost(sent.length, scenario.turns)
            const failure = failureOf(exit)
            if (failure !== undefined) {
              assert.isTrue(isValid(failure.transcript))
              const decoded = Schema.decodeUnknownSync(AgentFailure.schema)(JSON.parse(JSON.stringify(failure)))
              assert.strictEqual(decoded._tag, failure._tag)
              assert.include(["OutputRefused", "LimitReached", "LoopDetected", "ModelFailed"], failure._tag)
              return
            }
            const answer = Exit.isSuccess(exit) ? exit.value : assert.fail()
            answered++
            assert.isTrue(isValid(answer.transcript))
            assert.isTrue(Schema.is(asUnknown(scenario.output))(answer.value))
            assert.deepStrictEqual(checked.at(-1), { value: answer.value, isGood: true })
            const last = sent.at(-1)
            const written = [last?.text, ...last?.calls.map((call) => call.arguments) ?? []]
            // Whatever the answer holds is in the reply.
            const parts = JSON.stringify(answer.value).match(/[^{}[\]:,"\\]+/g) ?? []
            const isDate = JSON.stringify(answer.value).includes("2026-")
            assert.isTrue(
              isDate || parts.every((part) => written.some((text) => JSON.stringify(text ?? "").includes(part)))
            )
            if (last?.truncated === true) assert.isAbove(last.calls.length, 0)
            const schema = Answer.schemaFor(asUnknown(scenario.output))
            const stored: unknown = JSON.parse(JSON.stringify(Schema.encodeSync(schema)(answer)))
            assert.deepStrictEqual(Schema.decodeUnknownSync(schema)(stored), answer)
          }),
          { numRuns: runs(600) }
        )
      )
      assert.isAbove(answered, runs(600) / 30)
    }))

  it.effect("is the same whole, streamed, followed, and replayed from a journal", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(scenarios, async (scenario) => {
          const plain = world(scenario)
          const run = <A, E>(effect: Effect.Effect<A, E, Model.Model>, model = plain.model) => silently(effect, model)
          const first = await run(plain.agent.run("?", { id: "r" }))
          // How often a scope has run is known to the process.
          const shown = (exit: Exit.Exit<Answer.Answer<unknown>, AgentFailure.AgentFailure>): unknown => {
            const end = failureOf(exit) ?? (Exit.isSuccess(exit) ? exit.value : undefined)
            const { facts: _, ...fields } = JSON.parse(JSON.stringify(end))
            return Exit.isSuccess(exit) ? { ...fields, value: exit.value.value } : fields
          }
          const streamed = world(scenario)
          const events: Array<AgentEvent.AgentEvent<Answer.Answer<unknown>>> = []
          const end = await run(
            Stream.runForEach(streamed.agent.stream("?", { id: "r" }), (event) =>
              Effect.sync(() => {
                events.push(event)
              })),
            streamed.model
          )
          const last = events.at(-1)
          const ended: Exit.Exit<Answer.Answer<unknown>, AgentFailure.AgentFailure> = Exit.isFailure(end)
            ? Exit.failCause(end.cause)
            : last?._tag === "RunEnded"
            ? Exit.succeed(last.answer)
            : assert.fail("no answer")
          assert.deepStrictEqual(shown(ended), shown(first))
          for (const event of events) Schema.encodeSync(AgentEvent.schema)(event)
          const followed = world(scenario)
          const handle = RunHandle.make()
          assert.deepStrictEqual(
            shown(await run(followed.agent.run("?", { id: "r", handle }), followed.model)),
            shown(first)
          )
          const journal = replaying()
          const recorded = world(scenario)
          const record = recorded.agent.run("?", { id: "r" }).pipe(Effect.provideService(Journal.current, journal))
          assert.deepStrictEqual(shown(await run(record, recorded.model)), shown(first))
          const checks = recorded.checked.length
          assert.deepStrictEqual(shown(await run(record, ScriptedModel.layer([]))), shown(first))
          assert.strictEqual(recorded.checked.length, checks)
        }),
        { numRuns: runs(200) }
      )
    ))
})
