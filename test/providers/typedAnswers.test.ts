/** Typed answers over real HTTP: what is sent, and how many requests an answer takes. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentFailure, type Model, SemanticGarbage, Tool, ToolCall, Toolkit } from "@fallible/core"
import { OpenAi } from "@fallible/providers"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Cause, Effect, Exit, Schema, Stream } from "effect"
import { ollama, openAi, serving } from "../support/models.ts"

const { call, calls, text } = ScriptedModel

const Days = Schema.Struct({ days: Schema.Int, note: Schema.optionalKey(Schema.String) })
const look = Tool.make(
  "look",
  { description: "Looks", success: Schema.String, sideEffect: "none" },
  () => Effect.succeed("news")
)
const withTools = Agent.make({ toolkit: Toolkit.make(look), output: Days })
const withoutTools = Agent.make({ toolkit: Toolkit.empty, output: Days })
const listing = Agent.make({ toolkit: Toolkit.empty, output: Schema.Array(Schema.Int) })

const none: Toolkit.Toolkit<typeof look> = Toolkit.empty

const structuredOpenAi: typeof openAi = (url) =>
  OpenAi.layer({ model: "any", baseUrl: `${url}/v1`, structuredOutput: true })

interface Runs<A> {
  readonly run: (question: string) => Effect.Effect<A, AgentFailure.AgentFailure, Model.Model>
  readonly stream: (
    question: string
  ) => Stream.Stream<{ readonly _tag: string; readonly answer?: A }, AgentFailure.AgentFailure, Model.Model>
}

/** The ways to ask a server: for whole replies, or for streams. */
const askings = [
  ["whole", <A>(agent: Runs<A>) => agent.run("How long?")],
  [
    "streamed",
    <A>(agent: Runs<A>) =>
      Effect.map(
        Stream.runCollect(agent.stream("How long?")),
        (events) => events.at(-1)?.answer ?? assert.fail("no answer")
      )
  ]
] as const

interface Body {
  readonly tools?: ReadonlyArray<{ readonly function: { readonly name: string } }>
  readonly tool_choice?: unknown
  readonly response_format?: unknown
  readonly format?: unknown
}

const bodies = Effect.map(
  Effect.flatMap(FakeModelServer.FakeModelServer, ({ state }) => state),
  ({ requests }) =>
    requests.map(({ body, problem }): Body => {
      assert.isUndefined(problem)
      return JSON.parse(body)
    })
)

/** Says of each request which tools it offered, and whether it had a schema of the text. */
const shapes = Effect.map(
  bodies,
  (all) =>
    all.map(({ format, response_format: responseFormat, tools = [] }) =>
      [...tools.map((tool) => tool.function.name), ...(format ?? responseFormat) === undefined ? [] : ["schema"]].join()
    )
)

const failureOf = <A>(exit: Exit.Exit<A, AgentFailure.AgentFailure>) => {
  const failure = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason)?.error : undefined
  return failure instanceof AgentFailure.OutputRefused ? failure : assert.fail(String(failure))
}

type Provider = typeof openAi

const byCall = (answer: object) => call("final_answer", answer)
const byText = (answer: object) => text(JSON.stringify(answer))

const setups: ReadonlyArray<{
  readonly name: string
  readonly provider: Provider
  readonly agent: typeof withTools | typeof withoutTools
  readonly write: (answer: object) => Model.Reply
  readonly shape: string
}> = [
  {
    name: "Chat Completions, by a call",
    provider: openAi,
    agent: withTools,
    write: byCall,
    shape: "look,final_answer"
  },
  {
    name: "Chat Completions, by a text",
    provider: openAi,
    agent: withTools,
    write: byText,
    shape: "look,final_answer"
  },
  {
    name: "Chat Completions without tools, by a call",
    provider: openAi,
    agent: withoutTools,
    write: byCall,
    shape: "final_answer"
  },
  {
    name: "Chat Completions with structured output",
    provider: structuredOpenAi,
    agent: withTools,
    write: byText,
    shape: "look,schema"
  },
  {
    name: "Chat Completions with structured output, by a call nonetheless",
    provider: structuredOpenAi,
    agent: withTools,
    write: byCall,
    shape: "look,schema"
  },
  {
    name: "Chat Completions with structured output, without tools",
    provider: structuredOpenAi,
    agent: withoutTools,
    write: byText,
    shape: "schema"
  },
  { name: "Ollama, by a call", provider: ollama, agent: withTools, write: byCall, shape: "look,final_answer" },
  { name: "Ollama, by a text", provider: ollama, agent: withTools, write: byText, shape: "look,final_answer" },
  { name: "Ollama without tools", provider: ollama, agent: withoutTools, write: byText, shape: "schema" }
]

for (const { agent, name, provider, shape, write } of setups) {
  for (const [how, ask] of askings) {
    describe(`a typed answer over ${name}, ${how}`, () => {
      const taking = (script: FakeModelServer.Script) =>
        Effect.gen(function*() {
          const exit = yield* Effect.exit(ask(agent))
          return { exit, shapes: yield* shapes, bodies: yield* bodies }
        }).pipe(Effect.provide(serving(provider)(script)))

      it.effect("takes one request if the first text fits", () =>
        Effect.gen(function*() {
          const { exit, shapes } = yield* taking([write({ days: "90", note: "é \"x\" \u{1F600}" })])
          assert.deepInclude(Exit.isSuccess(exit) ? exit.value : assert.fail(String(exit)), {
            value: { days: 90, note: "é \"x\" \u{1F600}" },
            truncated: false
          })
          assert.deepStrictEqual(shapes, [shape])
        }))

      it.effect("takes one request more for each correction, and at most two", () =>
        Effect.gen(function*() {
          for (const wrong of [1, 2]) {
            const script = [...Array.from({ length: wrong }, () => write({ days: "many" })), write({ days: 3 })]
            const { exit, shapes } = yield* taking(script)
            assert.deepStrictEqual(Exit.isSuccess(exit) && exit.value.value, { days: 3 })
            assert.deepStrictEqual(shapes, Array.from({ length: wrong + 1 }, () => shape))
          }
          const { exit, shapes } = yield* taking(() => write({ days: "many" }))
          const { issues, text } = failureOf(exit)
          assert.deepStrictEqual([text, issues.length, shapes.length], ["{\"days\":\"many\"}", 1, 3])
        }))

      it.effect("is refused if it was cut off", () =>
        Effect.gen(function*() {
          const { exit, shapes } = yield* taking([
            { ...text("{\"days\":9"), truncated: true },
            { ...call("final_answer", "{\"days\":9"), truncated: true },
            text("{\"days\":90")
          ])
          assert.strictEqual(failureOf(exit).text, "{\"days\":90")
          assert.strictEqual(shapes.length, 3)
        }))

      it.effect("may stand in prose, in a fence, or beside another call, which costs one request", () =>
        Effect.gen(function*() {
          for (const written of ["Sure: {\"days\":3}.", "```json\n{\"days\":3}\n```"]) {
            const { exit, shapes } = yield* taking([text(written)])
            assert.deepStrictEqual(Exit.isSuccess(exit) && exit.value.value, { days: 3 })
            assert.strictEqual(shapes.length, 1)
          }
          const both = calls(["look"], ["final_answer", { days: 1 }])
          const { exit, shapes } = yield* taking([both, write({ days: 3 })])
          assert.deepStrictEqual(Exit.isSuccess(exit) && exit.value.value, { days: 3 })
          assert.deepStrictEqual(shapes, [shape, shape])
        }))
    })
  }
}

describe("a typed answer that is not an object", () => {
  for (
    const [name, provider, replies] of [
      ["Chat Completions", openAi, [byCall({ answer: [1, 2] }), text("[1,2]"), text("```json\n[1,2]\n```")]],
      ["Chat Completions with structured output", structuredOpenAi, [byText({ answer: [1, 2] }), text("[1,2]")]],
      ["Ollama", ollama, [byText({ answer: [1, 2] }), text("[1,2]")]]
    ] as const
  ) {
    it.effect(`has a key in what is asked of the model, over ${name}`, () =>
      Effect.gen(function*() {
        for (const reply of replies) {
          for (const [, ask] of askings) {
            const { body, value } = yield* Effect.gen(function*() {
              const { value } = yield* ask(listing)
              return { value, body: (yield* bodies)[0] }
            }).pipe(Effect.provide(serving(provider)([reply])))
            assert.deepStrictEqual(value, [1, 2])
            assert.include(JSON.stringify(body), "{\"answer\":{\"type\":\"array\"")
          }
        }
      }))
  }
})

describe("the request for a typed answer", () => {
  const sentBy = (provider: Provider, agent: Runs<unknown>, reply: Model.Reply) =>
    Effect.gen(function*() {
      yield* agent.run("?")
      return (yield* bodies)[0] ?? assert.fail("nothing was sent")
    }).pipe(Effect.provide(serving(provider)([reply])))
  const schema = {
    type: "object",
    properties: {
      days: { type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
      note: { type: "string" }
    },
    required: ["days"],
    additionalProperties: false
  }

  it.effect("has the schema in the form of each server, and no such field otherwise", () =>
    Effect.gen(function*() {
      const written = byText({ days: 3 })
      assert.deepStrictEqual((yield* sentBy(structuredOpenAi, withTools, written)).response_format, {
        type: "json_schema",
        json_schema: { name: "answer", schema }
      })
      assert.deepStrictEqual((yield* sentBy(ollama, withoutTools, written)).format, schema)
      for (const [provider, agent] of [[openAi, withTools], [openAi, withoutTools], [ollama, withTools]] as const) {
        const body = yield* sentBy(provider, agent, byCall({ days: 3 }))
        assert.notProperty(body, "response_format")
        assert.notProperty(body, "format")
        assert.include(JSON.stringify(body.tools), JSON.stringify(schema))
      }
      const untyped = Agent.make({ toolkit: Toolkit.make(look) })
      const body = yield* sentBy(structuredOpenAi, untyped, text("Three days."))
      assert.notProperty(body, "response_format")
      assert.deepStrictEqual(body.tools?.map((tool) => tool.function.name), ["look"])
    }))

  it.effect("never requires a tool that is not offered", () =>
    Effect.gen(function*() {
      for (const provider of [openAi, structuredOpenAi]) {
        for (const toolChoice of ["required", "none", "auto", { tool: "final_answer" }] as const) {
          for (const toolkit of [Toolkit.empty, Toolkit.make(look)]) {
            const agent = Agent.make({ toolkit, output: Days, modelOptions: { toolChoice } })
            const reply = provider === openAi ? byCall({ days: 3 }) : byText({ days: 3 })
            const { tool_choice: choice, tools } = yield* sentBy(provider, agent, reply)
            if (tools === undefined) assert.isUndefined(choice)
          }
        }
      }
    }))

  it.effect("offers the answer alone, or has its schema alone, when the run is concluded", () =>
    Effect.gen(function*() {
      for (
        const [provider, write, last] of [
          [openAi, byCall, "final_answer"],
          [structuredOpenAi, byText, "schema"],
          // Nothing but the answer is asked for, so Ollama can be made to write it.
          [ollama, byText, "schema"]
        ] as const
      ) {
        const agent = Agent.make({
          toolkit: Toolkit.make(look),
          output: Days,
          limits: { turns: 2 },
          onLimit: "conclude"
        })
        const { answer, sent } = yield* Effect.gen(function*() {
          return { answer: yield* agent.run("?"), sent: yield* shapes }
        }).pipe(Effect.provide(serving(provider)([call("look"), write({ days: 3 })])))
        assert.deepInclude(answer, { value: { days: 3 }, stopReason: "concluded", concluded: "turns" })
        assert.strictEqual(sent[1], last)
      }
    }))
})

describe("a typed answer that its check asks the user about", () => {
  for (const { name, provider, write } of setups) {
    it.effect(`goes on in requests that a server accepts, over ${name}`, () =>
      Effect.gen(function*() {
        const agent = Agent.make({
          toolkit: name.includes("without tools") ? none : Toolkit.make(look),
          output: Days,
          checkOutput: ({ days }) =>
            Effect.flatMap(ToolCall.ask(`${days}?`), (reply) =>
              reply === "yes"
                ? Effect.void
                : Effect.fail(new SemanticGarbage({ code: "no", detail: "The user says no." })))
        })
        const ask = <A>(run: Effect.Effect<A, AgentFailure.AgentFailure, Model.Model>) =>
          Effect.flatMap(Effect.flip(run), (failure) =>
            failure instanceof AgentFailure.RunSuspended
              ? Effect.succeed(failure)
              : Effect.die(failure))
        const [answer, sent] = yield* Effect.gen(function*() {
          const first = yield* ask(agent.run("?"))
          const second = yield* ask(agent.resume(first.suspension, "no"))
          const third = yield* ask(agent.resume(second.suspension, "no"))
          return [yield* agent.resume(third.suspension, "yes"), yield* bodies] as const
        }).pipe(Effect.provide(serving(provider)([1, 2, 3].map((days) => write({ days })))))
        assert.deepStrictEqual(answer.value, { days: 3 })
        assert.strictEqual(sent.length, 3)
        assert.include(JSON.stringify(sent[2]), "The user says no.")
      }))
  }
})

describe("the previews of a typed answer", () => {
  const previewed = (provider: Provider, reply: Model.Reply) =>
    Stream.runCollect(withoutTools.stream("?")).pipe(
      Effect.map((events) => events.flatMap((event) => event._tag === "AnswerPreview" ? [event.soFar] : [])),
      Effect.provide(serving(provider)([reply]))
    )
  const answer = { days: 90, note: "The ferry takes a while." }

  it.effect("come from the pieces of the arguments, or of the text", () =>
    Effect.gen(function*() {
      for (
        const [provider, reply] of [[openAi, byCall(answer)], [openAi, byText(answer)], [
          ollama,
          byText(answer)
        ]] as const
      ) {
        const seen = yield* previewed(provider, reply)
        assert.isAbove(seen.length, 1)
        for (const soFar of seen) {
          const { days = 90, note = "" }: { readonly days?: number; readonly note?: string } = Object(soFar)
          assert.strictEqual(days, 90)
          assert.isTrue(answer.note.startsWith(note), note)
        }
      }
    }))
})
