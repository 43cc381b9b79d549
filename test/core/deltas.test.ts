/** The pieces of a reply that become events of a stream if a run asks for them. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, type Model, Tool, Toolkit } from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import * as ClientEvent from "@fallible/core/ClientEvent"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema, Stream } from "effect"
import { openAi, serving } from "../support/models.ts"
import type { Untyped } from "../support/nonsense.ts"
import { ping } from "../support/pinging.ts"

const thinking: Model.Reply = { text: "", calls: [], reasoning: "Let me ping." }
const call = { id: "1", name: "ping", arguments: "{\"loud\":true}" }

const loud = Tool.make(
  "ping",
  {
    description: "",
    parameters: Schema.Struct({ loud: Schema.Boolean }),
    success: Schema.String,
    sideEffect: "none"
  },
  () => Effect.succeed("pong")
)
const login = Tool.make(
  "log_in",
  { description: "", parameters: Schema.Struct({ pin: Schema.Redacted(Schema.String) }), success: Schema.String },
  () => Effect.succeed("welcome")
)

const script: ScriptedModel.Script = [
  { ...thinking, calls: [call, { ...call, id: "2" }] },
  { text: "Done.", calls: [], reasoning: "It said pong." }
]

const model = serving(openAi)(script)

const streamed = <T extends Tool.Any>(
  toolkit: Toolkit.Toolkit<T>,
  deltas?: Agent.RunSettings["deltas"]
) => Agent.make({ toolkit }).stream("?", deltas === undefined ? {} : { deltas })

const deltasIn = (events: ReadonlyArray<AgentEvent.AgentEvent | ClientEvent.ClientEvent>) => {
  const reasoning = new Map<number, string>()
  const written = new Map<string, string>()
  for (const event of events) {
    if (event._tag === "ReasoningDelta") {
      reasoning.set(event.turn, (reasoning.get(event.turn) ?? "") + event.text)
    } else if (event._tag === "ArgumentsDelta") {
      const place = `${event.turn} ${event.index} ${event.tool}`
      written.set(place, (written.get(place) ?? "") + event.text)
    }
  }
  return { reasoning: Array.from(reasoning), written: Array.from(written) }
}

const reasoning = [[1, "Let me ping."], [2, "It said pong."]]
const written = [["1 1 ping", call.arguments], ["1 2 ping", call.arguments]]

describe("the deltas of a stream", () => {
  const cases: ReadonlyArray<readonly [Agent.RunSettings["deltas"], object]> = [
    [undefined, { reasoning: [], written: [] }],
    [[], { reasoning: [], written: [] }],
    [["reasoning"], { reasoning, written: [] }],
    [["arguments"], { reasoning: [], written }],
    [["arguments", "reasoning"], { reasoning, written }]
  ]
  for (const [deltas, found] of cases) {
    it.effect(`are those that the run asks for: ${deltas?.join(" and ") ?? "nothing said"}`, () =>
      Effect.gen(function*() {
        const events = yield* Stream.runCollect(streamed(Toolkit.make(loud), deltas))
        assert.deepStrictEqual<object>(deltasIn(events), found)
        for (const event of events) {
          const stored = JSON.stringify(Schema.encodeSync(AgentEvent.schema)(event))
          assert.strictEqual(Schema.decodeUnknownSync(AgentEvent.schema)(JSON.parse(stored))._tag, event._tag)
        }
        // What the model thought is in its reply, whether or not its pieces were asked for.
        assert.deepStrictEqual(
          events.flatMap((event) => event._tag === "ModelReplied" ? [[event.turn, event.reply.reasoning]] : []),
          reasoning
        )
      }).pipe(Effect.provide(model)))
  }

  it.effect("come before their reply, and calls begin after it", () =>
    Effect.gen(function*() {
      const events = yield* Stream.runCollect(streamed(Toolkit.make(loud), ["arguments", "reasoning"]))
      const tags = events.filter(({ _tag }) => _tag !== "TextDelta").map(({ _tag }) => _tag)
      const turn = tags.slice(0, tags.indexOf("CallStarted"))
      assert.deepStrictEqual(Array.from(new Set(turn)), [
        "TurnStarted",
        "ReasoningDelta",
        "ArgumentsDelta",
        "ModelReplied"
      ])
    }).pipe(Effect.provide(model)))

  it.effect("have nothing of a tool with secrets, and no thoughts if any tool has secrets", () =>
    Effect.gen(function*() {
      const events = yield* Stream.runCollect(streamed(Toolkit.make(loud, login), ["arguments", "reasoning"]))
      const { reasoning, written: others } = deltasIn(events)
      assert.deepStrictEqual([reasoning, others], [[], written])
      // The whole conversation is the caller's own.
      assert.notInclude(JSON.stringify(events.filter(({ _tag }) => _tag !== "RunEnded")), "hunter2")
    }).pipe(
      Effect.provide(
        serving(openAi)([
          {
            text: "",
            calls: [call, { ...call, id: "2" }, { id: "3", name: "log_in", arguments: "{\"pin\":\"hunter2\"}" }],
            reasoning: "The pin is hunter2."
          },
          { text: "Done.", calls: [], reasoning: "I used hunter2." }
        ])
      )
    ))

  it.effect("reach clients only if they may see them", () =>
    Effect.gen(function*() {
      const seen = (options?: AgentEvent.ForClients) =>
        Effect.gen(function*() {
          const events = yield* streamed(Toolkit.make(loud), ["arguments", "reasoning"]).pipe(
            AgentEvent.forClients(options),
            Stream.runCollect
          )
          for (const event of events) {
            const stored = JSON.stringify(Schema.encodeSync(ClientEvent.schema)(event))
            assert.strictEqual(Schema.decodeUnknownSync(ClientEvent.schema)(JSON.parse(stored))._tag, event._tag)
          }
          return deltasIn(events)
        }).pipe(Effect.provide(serving(openAi)(script)))
      assert.deepStrictEqual<object>(yield* seen(), { reasoning: [], written: [] })
      assert.deepStrictEqual<object>(yield* seen({ reasoning: true }), { reasoning, written: [] })
      assert.deepStrictEqual<object>(yield* seen({ arguments: true }), { reasoning: [], written })
      assert.deepStrictEqual<object>(yield* seen({ arguments: ["ping"] }), { reasoning: [], written })
      assert.deepStrictEqual<object>(yield* seen({ arguments: ["pay"], results: true }), { reasoning: [], written: [] })
    }))

  it.effect("of a model that does not stream are one piece", () =>
    Effect.gen(function*() {
      const events = yield* Stream.runCollect(streamed(Toolkit.make(loud), ["reasoning"]))
      assert.deepStrictEqual<object>(deltasIn(events), { reasoning, written: [] })
    }).pipe(Effect.provide(ScriptedModel.layer(script))))

  it.effect("are refused if they are unknown", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(ping) })
      for (const deltas of ["reasoning", ["thoughts"], 5, [null]] as ReadonlyArray<Untyped>) {
        const failure = yield* Effect.flip(agent.run("?", { deltas }))
        assert.strictEqual(failure._tag, "RunRefused", JSON.stringify(deltas))
        assert.match(failure.detail, /^The run was not started: deltas/)
      }
    }).pipe(Effect.provide(ScriptedModel.layer([]))))
})
