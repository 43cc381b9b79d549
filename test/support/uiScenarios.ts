/** Runs that a page can see, and what its user does about them. */
import { assert } from "@effect/vitest"
import { AiSdk } from "@fallible/ai-sdk"
import {
  Agent,
  Fixer,
  Model,
  ModelFailure,
  PartialData,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import type { Failed, Suspension } from "@fallible/core/AgentFailure"
import * as Approver from "@fallible/core/Approver"
import * as Question from "@fallible/core/Question"
import { ScriptedModel } from "@fallible/testing"
import { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from "ai"
import { Duration, Effect, Layer, Option, Schedule, Schema, Stream } from "effect"
import { chunksOf, demandWhole, messageOf, type Read, textsOf } from "./uiMessages.ts"
import { passing } from "./virtualTime.ts"

const { call, calls, text } = ScriptedModel

/** An agent whose runs need a model alone. */
export interface Chatting {
  readonly stream: (
    question: Agent.Question,
    options?: Agent.RunOptions
  ) => Stream.Stream<AgentEvent.AgentEvent, Failed, Model.Model>
  readonly resumeStream: (
    suspension: Suspension,
    replies: ReadonlyArray<Question.Reply>,
    options?: Agent.RunSettings
  ) => Stream.Stream<AgentEvent.AgentEvent, Failed, Model.Model>
}

export type Messages = ReadonlyArray<AiSdk.UiMessage>

export interface Scenario {
  readonly name: string
  readonly agent: Chatting
  readonly model: Layer.Layer<Model.Model>
  readonly deltas?: Agent.RunSettings["deltas"]
  readonly show?: AgentEvent.ForClients
  /** What the page does each time the run waits. */
  readonly acts?: ReadonlyArray<(message: AiSdk.UiMessage) => Messages>
  readonly isFailed?: true
  /** Nobody knows what the run does, so the page acts only while it waits. */
  readonly isRandom?: true
  /** Changes the stream, as a server may. */
  readonly around?: (
    run: Stream.Stream<AgentEvent.AgentEvent, Failed, Model.Model>
  ) => Stream.Stream<AgentEvent.AgentEvent, Failed, Model.Model>
}

// -----------------------------------------------------------------------------
// Pages
// -----------------------------------------------------------------------------

export const asked: AiSdk.UiMessage = { id: "u1", role: "user", parts: [{ type: "text", text: "Please do." }] }

type Part = AiSdk.UiMessage["parts"][number]

const changing = (change: (part: Part) => Part) => (message: AiSdk.UiMessage): Messages => [
  { ...message, parts: message.parts.map(change) }
]

/** As `addToolApprovalResponse` does. */
export const decide = (approved: boolean, reason?: string, which: (index: number) => boolean = () => true) => {
  return (message: AiSdk.UiMessage): Messages => {
    let index = 0
    return changing((part) =>
      "state" in part && part.state === "approval-requested" && which(index++)
        ? {
          ...part,
          state: "approval-responded",
          approval: { ...part.approval, approved, ...(reason === undefined ? {} : { reason }) }
        }
        : part
    )(message)
  }
}

/** As `addToolOutput` does. */
export const output = (value: unknown) =>
  changing((part) =>
    "state" in part && part.state === "input-available" ? { ...part, state: "output-available", output: value } : part
  )

export const outputError = (errorText: string) =>
  changing((part) =>
    "state" in part && part.state === "input-available" ? { ...part, state: "output-error", errorText } : part
  )

export const says = (said: string) => (message: AiSdk.UiMessage): Messages => [
  message,
  { id: "u2", role: "user", parts: [{ type: "text", text: said }] }
]

// -----------------------------------------------------------------------------
// Models
// -----------------------------------------------------------------------------

const pieces = (whole = ""): ReadonlyArray<string> => whole.match(/[\s\S]{1,4}/g) ?? []

const partsOf = (reply: Model.Reply): ReadonlyArray<Model.Part> => [
  ...pieces(reply.reasoning).map((text) => ({ _tag: "ReasoningDelta", text }) as const),
  ...pieces(reply.text).map((text) => ({ _tag: "TextDelta", text }) as const),
  ...reply.calls.flatMap(({ arguments: args, name }, index) =>
    pieces(args).map((text) => ({ _tag: "ArgumentsDelta", call: index, tool: name, text }) as const)
  ),
  { _tag: "Replied", reply }
]

/** A model that streams its replies in pieces. A reply that fails has said something before. */
export const inPieces = (script: ScriptedModel.Script): Layer.Layer<Model.Model> =>
  Layer.effect(
    Model.Model,
    Effect.map(Model.Model, (model) =>
      Model.Model.of({
        ...model,
        stream: (request) =>
          Stream.unwrap(
            Effect.map(Effect.result(model.respond(request)), (result): Stream.Stream<Model.Part, ModelFailure> =>
              result._tag === "Success"
                ? Stream.fromIterable(partsOf(result.success))
                : Stream.concat(Stream.succeed({ _tag: "TextDelta", text: "I was" }), Stream.fail(result.failure)))
          )
      }))
  ).pipe(Layer.provide(ScriptedModel.layer(script)))

const writing = (script: ScriptedModel.Script): Layer.Layer<Model.Model> =>
  Layer.effect(
    Model.Model,
    Effect.map(Model.Model, (model) => Model.Model.of({ ...model, structuredOutput: "always" }))
  )
    .pipe(Layer.provide(inPieces(script)))

const busy = (retryAfter?: Duration.Input) =>
  new ModelFailure({
    code: "rate_limited",
    detail: "Busy at 10.9.8.7.",
    transient: true,
    ...(retryAfter === undefined ? {} : { attempts: 3, retryAfter: Duration.fromInputUnsafe(retryAfter) })
  })

// -----------------------------------------------------------------------------
// Tools
// -----------------------------------------------------------------------------

export const address = "10.9.8.7"

const down = new ToolUnavailable({ code: "connection", detail: `connect ECONNREFUSED ${address}:80`, transient: true })
const lost = new ToolUnavailable({
  code: "connection",
  detail: `Reset by ${address}.`,
  transient: true,
  outcome: "unknown"
})

const City = Schema.Struct({ city: Schema.String })

type Handler = (city: string) => Effect.Effect<string, ToolUnavailable | SemanticGarbage | PartialData<string>>

const reading = (handler: Handler = (city) => Effect.succeed(`Mild in ${city}.`), name = "look") =>
  Tool.make(
    name,
    { description: "Looks", parameters: City, success: Schema.String, sideEffect: "none" },
    ({ city }) => handler(city)
  )

const paying = (
  handler: Handler = (city) => Effect.succeed(`Paid ${city}.`),
  options: { readonly repeats?: false } = {}
) =>
  Tool.make("pay", {
    description: "Pays",
    parameters: City,
    success: Schema.String,
    identity: ({ city }) => city,
    ...options
  }, ({ city }) => handler(city))

const failingFirst = (failure: ToolUnavailable): Handler => (city) =>
  Effect.flatMap(ToolCall.current, ({ attempt }) => attempt === 1 ? Effect.fail(failure) : Effect.succeed(city))

const twice = Tool.retry(Schedule.upTo(Schedule.spaced("5 seconds"), { times: 2 }))

const asking = Tool.make(
  "book",
  { description: "Books", parameters: City, success: Schema.String },
  ({ city }) => Effect.map(ToolCall.ask("For how many?"), (many) => `${many} in ${city}`)
)

const choosing = Tool.make(
  "size",
  { description: "Asks a size", success: Schema.String },
  () => ToolCall.ask("Which size?", { choices: ["S", "M"] })
)

const locate = Tool.client("locate", {
  description: "Where the user is",
  parameters: Schema.Struct({ exact: Schema.Boolean }),
  success: Schema.Struct({ city: Schema.String }),
  sideEffect: "none"
})

const slow = Tool.make(
  "slow",
  { description: "Takes long", parameters: City, success: Schema.String, sideEffect: "none" },
  () => Effect.as(Effect.andThen(ToolCall.progress({ done: 1 }), ToolCall.progress({ done: 2 })), "all")
)

const oslo = { city: "Oslo" }
const rome = { city: "Rome" }
const done = text("It is done.")
const of = <T extends Tool.Any>(...tools: ReadonlyArray<T>) => Agent.make({ toolkit: Toolkit.make(...tools) })
const all = { arguments: true, results: true, reasoning: true } as const
const bothDeltas = ["arguments", "reasoning"] as const

const approved = { agent: of(paying().pipe(Tool.approve())), model: inPieces([call("pay", oslo), done]) }

const Days = Schema.Struct({ days: Schema.Int })

// -----------------------------------------------------------------------------
// Scenarios
// -----------------------------------------------------------------------------

export const scenarios: ReadonlyArray<Scenario> = [
  { name: "a text", agent: of(reading()), model: inPieces([done]) },
  { name: "a text that comes whole", agent: of(reading()), model: ScriptedModel.layer([done]) },
  { name: "an empty reply", agent: of(reading()), model: inPieces([text(""), done]) },
  { name: "a call, hidden", agent: of(reading()), model: inPieces([call("look", oslo), done]), deltas: bothDeltas },
  {
    name: "a call, shown, with reasoning and text",
    agent: of(reading()),
    model: inPieces([
      { ...call("look", oslo), text: "I look.", reasoning: "Where?" },
      { ...done, reasoning: "So be it." }
    ]),
    deltas: bothDeltas,
    show: all
  },
  {
    name: "parallel calls, shown",
    agent: of(reading(), paying()),
    model: inPieces([calls(["look", oslo], ["pay", oslo], ["look", rome]), done]),
    deltas: bothDeltas,
    show: all
  },
  { name: "equal calls", agent: of(paying()), model: inPieces([calls(["pay", oslo], ["pay", oslo]), done]) },
  {
    name: "a model that fails while it speaks",
    agent: of(reading()),
    model: inPieces([Effect.fail(busy()), call("look", oslo), Effect.fail(busy()), done]),
    deltas: bothDeltas,
    show: all
  },
  {
    name: "a call written as text",
    agent: of(reading()),
    model: inPieces([text("<tool_call>{\"name\":\"look\"}</tool_call>"), done])
  },
  { name: "a plan", agent: of(reading()), model: inPieces([text("I'll look it up now."), done]) },
  {
    name: "a plan that stays one",
    agent: of(reading()),
    model: inPieces([text("I'll look it up now."), text("I'll look it up now.")])
  },
  {
    name: "a retried call",
    agent: of(reading(failingFirst(down)).pipe(twice)),
    model: inPieces([call("look", oslo), done])
  },
  {
    name: "a call retried in vain",
    agent: of(reading(() => Effect.fail(down)).pipe(twice)),
    model: inPieces([call("look", oslo), done]),
    show: all
  },
  {
    name: "another source",
    agent: of(reading(() => Effect.fail(down)).pipe(Tool.fallback(() => Effect.succeed("mild")))),
    model: inPieces([call("look", oslo), done])
  },
  {
    name: "a lost answer that a check finds",
    agent: of(paying(() => Effect.fail(lost)).pipe(Tool.reconcile(() => Effect.succeed(Option.some("paid"))))),
    model: inPieces([call("pay", oslo), done])
  },
  {
    name: "a lost answer that a check refutes",
    agent: of(
      paying(failingFirst(lost)).pipe(
        Tool.reconcile(() => Effect.succeed(Option.none()), { settle: "10 seconds" }),
        twice
      )
    ),
    model: inPieces([call("pay", oslo), done])
  },
  {
    name: "a lost answer",
    agent: of(paying(() => Effect.fail(lost))),
    model: inPieces([call("pay", oslo), done])
  },
  {
    name: "a lost answer, and one in its place",
    agent: of(paying(() => Effect.fail(lost)).pipe(Tool.catchTag("ToolUnavailable", () => Effect.succeed("later")))),
    model: inPieces([call("pay", oslo), done])
  },
  {
    name: "a call that was done before",
    agent: of(paying(undefined, { repeats: false })),
    model: inPieces([call("pay", oslo), call("pay", oslo), done])
  },
  {
    name: "hostile names and arguments that are no JSON",
    agent: of(reading()),
    model: inPieces([
      calls(["__proto__", "{"], ["x\u0000\u202e<script>".repeat(40), "[]"], ["", "null"], ["look", "{\"city\":"]),
      done
    ]),
    deltas: bothDeltas,
    show: all
  },
  {
    name: "a huge value",
    agent: of(reading(() => Effect.succeed("\u2028\ud800\"\n\ndata: [DONE]\n\n".repeat(2_000)))),
    model: inPieces([call("look", oslo), done]),
    show: all
  },
  {
    name: "a fixed call",
    agent: of(
      reading((city) =>
        city === "Oslo"
          ? Effect.succeed("mild")
          : Effect.fail(new SemanticGarbage({ code: "unknown_city", detail: "No." }))
      ).pipe(Tool.fix(() => oslo, { on: ["SemanticGarbage"] }))
    ),
    model: inPieces([call("look", rome), done])
  },
  {
    name: "a fixer that answers",
    agent: of(reading(() => Effect.fail(down)).pipe(Tool.fix(() => Fixer.answer("mild"), { on: ["ToolUnavailable"] }))),
    model: inPieces([call("look", oslo), done])
  },
  {
    name: "a call retried at once",
    agent: of(reading(failingFirst(down)).pipe(Tool.retry(Schedule.recurs(1)))),
    model: inPieces([call("look", oslo), done])
  },
  {
    name: "a call retried after minutes",
    agent: of(reading(failingFirst(down)).pipe(Tool.retry(Schedule.upTo(Schedule.spaced("5 minutes"), { times: 1 })))),
    model: inPieces([call("look", oslo), done])
  },
  {
    name: "a failure that is caught",
    agent: of(
      reading(() => Effect.fail(new SemanticGarbage({ code: "closed", detail: "Closed." }))).pipe(
        Tool.catchTag("SemanticGarbage", () => Effect.succeed("closed"))
      )
    ),
    model: inPieces([call("look", oslo), done])
  },
  {
    name: "a failure that is told otherwise, and remains",
    agent: of(
      reading(() => Effect.fail(down)).pipe(Tool.fallback(() => Effect.fail(down)))
    ),
    model: inPieces([call("look", oslo), done])
  },
  {
    name: "a part of the answer",
    agent: of(paying(() => Effect.fail(new PartialData({ code: "half", detail: "Half.", data: "half" })))),
    model: inPieces([call("pay", oslo), done])
  },
  {
    name: "a typed answer by a call",
    agent: Agent.make({ toolkit: Toolkit.make(reading()), output: Days }),
    model: inPieces([call("look", oslo), { ...call("final_answer", { days: 3 }), text: "So:" }]),
    deltas: bothDeltas,
    show: all
  },
  {
    name: "a written typed answer",
    agent: Agent.make({ toolkit: Toolkit.make(reading()), output: Days }),
    model: writing([call("look", oslo), { text: "{ \"days\": \"x\" }", calls: [] }, {
      text: "{ \"days\": 3 }",
      calls: [],
      reasoning: "Three.",
      sources: [{ url: "https://days.example" }]
    }]),
    deltas: bothDeltas,
    show: all
  },
  {
    name: "a conclusion",
    agent: Agent.make({ toolkit: Toolkit.make(reading()), limits: { calls: 1 }, onLimit: "conclude" }),
    model: inPieces([call("look", oslo), { ...call("look", rome), text: "Now Rome." }, call("look", rome), done]),
    deltas: bothDeltas,
    show: all
  },
  {
    name: "a typed conclusion",
    agent: Agent.make({ toolkit: Toolkit.make(reading()), limits: { calls: 1 }, onLimit: "conclude", output: Days }),
    model: inPieces([call("look", oslo), call("look", rome), call("look", rome), call("final_answer", { days: 4 })]),
    deltas: bothDeltas,
    show: all
  },
  {
    name: "a limit",
    agent: Agent.make({ toolkit: Toolkit.make(reading()), limits: { turns: 1 } }),
    model: inPieces([call("look", oslo)]),
    isFailed: true
  },
  {
    name: "a stop, beside another call",
    agent: of(reading(), Tool.make("check", { description: "", success: Schema.String }, () => ToolCall.stop("why"))),
    model: inPieces([calls(["look", oslo], ["check"], ["look", rome])]),
    deltas: bothDeltas,
    show: all,
    isFailed: true
  },
  {
    name: "a model that cannot answer",
    agent: of(reading()),
    model: inPieces(() => Effect.fail(new ModelFailure({ code: "bad", detail: `At ${address}.`, transient: false }))),
    isFailed: true
  },
  {
    name: "a refused run",
    agent: { ...approved.agent, stream: (question) => approved.agent.stream(question, { id: "" }) },
    model: approved.model,
    isFailed: true
  },
  { name: "a postponed run", agent: of(reading()), model: inPieces(() => Effect.fail(busy("1 hour"))) },
  {
    name: "a broken stream",
    agent: of(reading()),
    model: inPieces([call("look", oslo), done]),
    around: (run) =>
      Stream.tap(Stream.rechunk(run, 1), ({ _tag }) => _tag === "CallEnded" ? Effect.die("a bug") : Effect.void),
    isFailed: true
  },
  {
    name: "an interrupted run",
    agent: of(reading()),
    model: inPieces([call("look", oslo), done]),
    around: (run) =>
      Stream.tap(Stream.rechunk(run, 1), ({ _tag }) => _tag === "CallEnded" ? Effect.interrupt : Effect.void)
  },
  { name: "an approval", ...approved, acts: [decide(true)] },
  { name: "an approval, shown", ...approved, deltas: bothDeltas, show: all, acts: [decide(true)] },
  { name: "a denial", ...approved, acts: [decide(false, "Too much.")] },
  {
    name: "a call that is made again after its denial",
    agent: approved.agent,
    model: inPieces([call("pay", oslo), call("pay", oslo), done]),
    acts: [decide(false)]
  },
  {
    name: "several approvals, some calls held back",
    agent: of(paying().pipe(Tool.approve()), reading()),
    model: inPieces([calls(["look", oslo], ["pay", oslo], ["look", rome], ["pay", rome]), done]),
    deltas: bothDeltas,
    show: all,
    acts: [
      (message) =>
        decide(false, "No.", (index) => index === 1)(decide(true, undefined, (index) => index === 0)(message)[0]!)
    ]
  },
  {
    name: "approvals, one after the other",
    agent: of(paying().pipe(Tool.approve())),
    model: inPieces([calls(["pay", oslo], ["pay", rome]), done]),
    acts: [decide(true, undefined, (index) => index === 0), decide(true)]
  },
  {
    name: "a question in words",
    agent: of(asking),
    model: inPieces([call("book", oslo), done]),
    acts: [says("four")]
  },
  {
    name: "a question in words, replied to in its part",
    agent: of(asking),
    model: inPieces([call("book", oslo), done]),
    deltas: bothDeltas,
    show: all,
    acts: [output("four")]
  },
  { name: "a choice", agent: of(choosing), model: inPieces([call("size"), done]), acts: [output("M")] },
  {
    name: "an approved call that asks",
    agent: of(asking.pipe(Tool.approve())),
    model: inPieces([call("book", oslo), done]),
    acts: [decide(true), says("four")]
  },
  {
    name: "a doubt that is asked about",
    agent: Agent.make({ toolkit: Toolkit.make(paying(failingFirst(lost))), onDoubt: "ask" }),
    model: inPieces([call("pay", oslo), call("pay", oslo), done]),
    acts: [says("yes")]
  },
  {
    name: "a tool of the page, hidden",
    agent: of(locate),
    model: inPieces([call("locate", { exact: true }), done]),
    acts: [output({ city: "Oslo" })]
  },
  {
    name: "a tool of the page, shown, that fails",
    agent: of(locate),
    model: inPieces([call("locate", { exact: true }), done]),
    deltas: bothDeltas,
    show: all,
    acts: [outputError("The user says no.")]
  },
  {
    name: "progress",
    agent: of(slow),
    model: inPieces([call("slow", oslo), done]),
    deltas: bothDeltas,
    show: all
  },
  {
    name: "progress after an approval",
    agent: of(slow.pipe(Tool.approve())),
    model: inPieces([call("slow", oslo), done]),
    show: all,
    acts: [decide(true)]
  },
  {
    name: "an approval by a rule",
    ...approved,
    around: Stream.provide(Approver.layer((questions) => Effect.succeed(questions.map((one) => Question.approve(one)))))
  },
  {
    name: "a denial by a rule",
    ...approved,
    around: Stream.provide(Approver.layer((questions) => Effect.succeed(questions.map((one) => Question.deny(one)))))
  },
  {
    name: "sources and files",
    agent: of(
      reading(),
      Tool.make(
        "draw",
        { description: "", success: Schema.String, sideEffect: "none" },
        () => Effect.as(ToolCall.attach({ mediaType: "image/gif", base64: "R0lG" }), "drawn")
      )
    ),
    model: inPieces([call("draw"), {
      ...done,
      sources: [{ url: "https://a.example", title: "A" }, { title: "A report", mediaType: "application/pdf" }, {}],
      files: [{ mediaType: "image/png", base64: "aaaa" }, { url: "https://a.example/b.png" }, { url: "no address" }]
    }]),
    show: all
  }
]

/** One stream that a page has read. */
export interface Played extends Read {
  readonly chunks: ReadonlyArray<AiSdk.UiChunk>
  /** The messages with which it was asked for. */
  readonly before: Messages
  readonly last: AgentEvent.AgentEvent | undefined
}

/** Plays a scenario: the stream that the question gets, and those that the page's replies get. */
export const play = (scenario: Scenario): Effect.Effect<ReadonlyArray<Played>> =>
  Effect.gen(function*() {
    const { acts = [], agent, around = (run) => run, deltas = [], show } = scenario
    const streams: Array<Played> = []
    const read = (run: ReturnType<Chatting["stream"]>, before: Messages) =>
      Effect.gen(function*() {
        let last: AgentEvent.AgentEvent | undefined
        const watched = around(Stream.tap(run, (event) => Effect.sync(() => (last = event))))
        const chunks = yield* passing(chunksOf(watched, { ...show, originalMessages: before }))
        const end = before.at(-1)
        const continued = end?.role === "assistant" ? end : undefined
        const { errors, message } = yield* Effect.promise(() => messageOf(chunks, continued))
        streams.push({ chunks, before, errors, message, last })
        return { last, message }
      })
    let now = yield* read(agent.stream("Please do.", { id: "r", deltas }), [asked])
    for (const act of acts) {
      if (now.last?._tag !== "RunSuspended") {
        if (scenario.isRandom) break
        return yield* Effect.die(`${scenario.name}: ${now.last?._tag}`)
      }
      const before = [asked, ...act(now.message)]
      const { suspension } = now.last.waiting
      const replies = AiSdk.repliesTo(suspension, before)
      if (replies.length === 0) {
        if (scenario.isRandom) break
        return yield* Effect.die(`${scenario.name}: no replies`)
      }
      now = yield* read(agent.resumeStream(suspension, replies, { deltas }), before)
    }
    return streams
  }).pipe(Effect.provide(scenario.model))

/** Demands what holds for the message of any run. */
export const demandSound = async ({ before, chunks, errors, last, message }: Played): Promise<void> => {
  await demandWhole(message)
  const isFailed = chunks.some(({ type }) => type === "error")
  assert.strictEqual(errors.length, isFailed ? 1 : 0, errors.join())
  if (last?._tag === "RunEnded" && !isFailed) {
    const { shown, text } = last.answer
    assert.strictEqual(textsOf(message).at(-1), shown ?? text)
  }
  if (last?._tag === "RunSuspended") {
    assert.strictEqual(message.metadata?.suspension, last.waiting.suspension.id)
  } else if (!isFailed) {
    assert.notEqual(typeof message.metadata?.suspension, "string")
  }
  const end = before.at(-1)
  if (end?.role === "assistant") assert.strictEqual(message.id, end.id)
  else assert.notInclude(before.map(({ id }) => id), message.id)
  // Otherwise, the page would send the message back by itself, for ever.
  const messages = [...before.filter(({ id }) => id !== message.id), message]
  const finish = chunks.at(-1)
  const isStopped = isFailed || finish?.type === "finish" && finish.finishReason === "interrupted"
  if (!isStopped) {
    assert.isFalse(lastAssistantMessageIsCompleteWithApprovalResponses({ messages }), "approvals")
    assert.isFalse(lastAssistantMessageIsCompleteWithToolCalls({ messages }), "tool calls")
  }
}
