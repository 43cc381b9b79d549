/** How typed answers are stored and shown. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentFailure, type Model, SemanticGarbage, ToolCall, Toolkit } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import * as Answer from "@fallible/core/Answer"
import * as ClientEvent from "@fallible/core/ClientEvent"
import { Effect, Redacted, Schema, Stream } from "effect"
import { inspect } from "node:util"
import { logging } from "../support/illTyped.ts"
import type { Untyped } from "../support/nonsense.ts"
import {
  answered,
  call,
  Days,
  failed,
  final,
  json,
  look,
  pieces,
  played,
  refused,
  streaming,
  text
} from "../support/typedAnswers.ts"

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
