/** Values of the wrong type from handlers, policies, models and callers: each has a log line that says what to do. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentFailure,
  Dispatch,
  Guard,
  Model,
  Policy,
  SchemaMismatch,
  Tool,
  ToolCall,
  Toolkit
} from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Option, Schedule, Schema, Stream } from "effect"
import { definition, failing, handling, logging, outcomeOf, read, sibling, succeeding } from "../support/illTyped.ts"
import { thenable, type Untyped } from "../support/nonsense.ts"
import { lost, paris, refused } from "../support/sequence.ts"
import { macrotask } from "../support/virtualTime.ts"

const unclear = new SchemaMismatch({ side: "arguments", code: "unclear", detail: "Which city?" })

describe("a handler that returns a promise", () => {
  it.effect("fails alone, with advice in the log and not in the model's message", () =>
    Effect.gen(function*() {
      const { logged, value } = yield* logging(outcomeOf(handling(async () => "sunny")))
      assert.deepStrictEqual(logged, [
        "Error | The tool p failed with an internal error | TypeError: The handler of 'p' returned a promise: use Tool.promise, or wrap it in Effect.tryPromise."
      ])
      assert.isTrue(value._tag === "Failed" && value.failure.code === "defect" && value.certainty === "not_executed")
      assert.notInclude(read(value), "promise")
    }))

  it.effect("counts as started, so the outcome of a tool that acts is unknown", () =>
    Effect.gen(function*() {
      for (const sideEffect of ["idempotent", "non_idempotent"] as const) {
        const { value } = yield* logging(outcomeOf(handling(async () => "paid", sideEffect)))
        if (value._tag !== "Failed") return assert.fail(value._tag)
        assert.strictEqual(value.certainty, "unknown")
        assert.deepInclude({ ...value.failure }, { outcome: "unknown" })
      }
    }))

  it.effect("is not retried, and no fallback answers for it", () =>
    Effect.gen(function*() {
      let runs = 0
      const handler = async () => {
        runs++
      }
      const tool = handling(handler).pipe(
        Tool.retry(Schedule.recurs(3)),
        Tool.fallback(() => Effect.succeed("elsewhere"))
      )
      const { value } = yield* logging(outcomeOf(tool))
      assert.deepStrictEqual([value._tag, runs], ["Failed", 1])
    }))

  it.effect("counts as running until the promise has settled", () =>
    Effect.gen(function*() {
      const { promise, resolve } = Promise.withResolvers<string>()
      const tool = handling(() => promise).pipe(Tool.concurrency(1, { maxWait: 0 }))
      const codes: Array<string> = []
      const once = Effect.map(outcomeOf(tool), (outcome) => {
        if (outcome._tag === "Failed") codes.push(outcome.failure.code)
      })
      yield* logging(Effect.andThen(once, once))
      resolve("done")
      yield* macrotask
      yield* logging(once)
      assert.deepStrictEqual(codes, ["defect", "bulkhead_full", "defect"])
    }))

  it.effect("may reject it, which is logged and ends nothing", () =>
    Effect.gen(function*() {
      const { logged } = yield* logging(Effect.gen(function*() {
        yield* outcomeOf(handling(async () => {
          throw new Error("no such city")
        }))
        yield* macrotask
      }))
      assert.strictEqual(logged.length, 2)
      assert.include(logged[1], "The handler of 'p' left a promise unhandled, and it was rejected")
      assert.include(logged[1], "no such city")
    }))

  it.effect("may belong to a handmade tool, with or without a policy around it", () =>
    Effect.gen(function*() {
      const byHand: Untyped = { ...sibling, run: async () => "sunny" }
      for (const tool of [byHand, Tool.timeout(byHand, "1 second")]) {
        const { logged, value } = yield* logging(outcomeOf(tool))
        assert.isTrue(value._tag === "Failed" && value.failure.code === "defect")
        assert.include(
          logged[0],
          "The run of 'sibling' returned a promise: wrap it in Effect.tryPromise."
        )
      }
    }))

  it.effect("is not awaited if it is a thenable, which may be a query that starts when awaited", () =>
    Effect.gen(function*() {
      let started = false
      const query = thenable(() => {
        started = true
      })
      const { logged } = yield* logging(outcomeOf(handling(() => query)))
      yield* macrotask
      assert.isFalse(started)
      assert.include(logged[0], "returned a promise")
    }))
})

describe("the log about other answers", () => {
  const answers: ReadonlyArray<readonly [string, () => unknown, string]> = [
    ["a text", () => "sunny", "returned a string, which is not an Effect: wrap it in Effect.succeed."],
    ["nothing", () => undefined, "returned nothing, and not an Effect: is a `return` missing?"],
    [
      "a generator",
      function*() {},
      "returned a generator: wrap its function in Effect.fnUntraced."
    ],
    [
      "a promise in an Effect",
      () => Effect.sync(async () => "sunny"),
      "succeeded with a promise: wrap it in Effect.tryPromise."
    ]
  ]
  for (const [what, handler, told] of answers) {
    it.effect(`of ${what}`, () =>
      Effect.gen(function*() {
        const { logged } = yield* logging(outcomeOf(handling(handler)))
        assert.deepStrictEqual(logged, [
          `Error | The tool p failed with an internal error | TypeError: The handler of 'p' ${told}`
        ])
      }))
  }

  for (
    const [what, error, mapping = "ToolFailure.from"] of [
      ["an InvoicesError", Object.assign(new Error("no rows"), { name: "InvoicesError" })],
      [
        "a RoomTaken",
        Object.assign(new Error("no rows"), { name: "RoomTaken", _tag: "RoomTaken" }),
        "ToolFailure.fromTags({ RoomTaken: … })"
      ],
      ["a string", "no rows"]
    ] as const
  ) {
    it.effect(`of a failure with ${what}`, () =>
      Effect.gen(function*() {
        const { logged, value } = yield* logging(outcomeOf(handling(() => Effect.fail(error))))
        assert.deepStrictEqual(logged, [
          `Error | The tool p failed with an internal error | TypeError: The handler of 'p' failed with ${what}, ` +
          `which is not a ToolFailure. Add: Effect.mapError(${mapping}).`
        ])
        assert.notInclude(read(value), "ToolFailure")
      }))
  }

  it.effect("of the functions of policies", () =>
    Effect.gen(function*() {
      const promised = (async () => "x") as Untyped
      const tools: ReadonlyArray<readonly [Untyped, string]> = [
        [Tool.fallback(failing(refused), promised), "The fallback of 'victim' returned a promise"],
        [Tool.catchTag(failing(refused), "ToolUnavailable", promised), "The catch of 'victim' returned a promise"],
        [
          Tool.mapFailure(failing(refused), promised),
          "The mapping of failures of 'victim' returned a promise, which is not one of the four failures."
        ],
        [
          Tool.reconcile(failing(lost, "non_idempotent"), (async () => Option.none()) as Untyped),
          "The check of 'victim' is async, so it returns the result itself, or undefined; got an Option."
        ],
        [
          Tool.fix(failing(unclear), promised),
          "The fixer of 'victim' returned a promise: wrap it in Effect.tryPromise."
        ],
        [
          succeeding.pipe(
            Tool.with(Policy.make({ kind: "custom", name: "mine", description: "", wrap: () => promised }))
          ),
          "The policy 'mine' of 'victim' returned a promise"
        ],
        [
          Tool.make("victim", definition, () => Effect.succeed("fine").pipe(Guard.check(promised))),
          "A function of Guard.check returned a promise"
        ],
        [
          Tool.make("victim", definition, () => Effect.succeed("fine").pipe(Guard.partial(promised))),
          "A function of Guard.partial returned a promise, and it must answer at once."
        ]
      ]
      for (const [tool, told] of tools) {
        const { logged } = yield* logging(outcomeOf(tool))
        assert.include(logged.join(), told)
      }
    }))

  it.effect("of a rendering", () =>
    Effect.gen(function*() {
      const agent = Agent.make({ toolkit: Toolkit.make(sibling), rendering: (async () => "x") as Untyped })
      const { logged, value } = yield* logging(agent.run("?"))
      assert.include(logged[0], "The rendering returned a promise, and it must answer at once.")
      // The outcome of the call is not lost.
      assert.deepInclude(value.transcript.at(2), { text: "\"Paris is well.\"" })
    }).pipe(
      Effect.provide(ScriptedModel.layer([ScriptedModel.call("sibling", paris), ScriptedModel.text("Done.")]))
    ))
})

describe("a model that streams nonsense", () => {
  const parts: ReadonlyArray<readonly [part: Untyped, told: RegExp]> = [
    [{ _tag: "TextDelta", text: 5 }, /^The text of a part of the model's stream must be a string; got a number\.$/],
    [{ _tag: "ReasoningDelta" }, /^The text of a part of the model's stream must be a string; got nothing\.$/],
    [{ _tag: "ArgumentsDelta", text: "{", tool: "ping" }, /^A part of the model's stream with arguments must have/],
    [{ _tag: "ArgumentsDelta", text: "{", call: 0.5, tool: "ping" }, /^A part of the model's stream with arguments/],
    [{ _tag: "ArgumentsDelta", text: "{", call: 0 }, /^A part of the model's stream with arguments must have/],
    ["text", /^The text of a part of the model's stream must be a string; got nothing\.$/],
    [null, /^The model failed with an error in the program that calls it\.$/]
  ]
  for (const [part, told] of parts) {
    it.effect(`ends the run with a typed failure: ${JSON.stringify(part)}`, () =>
      Effect.gen(function*() {
        const model = Model.Model.of({ respond: () => Effect.never, stream: () => Stream.make(part) })
        const { value } = yield* logging(
          Agent.make({ toolkit: Toolkit.make(sibling) }).stream("?", { deltas: ["reasoning", "arguments"] }).pipe(
            Stream.runForEach((event) => Effect.sync(() => Schema.encodeSync(AgentEvent.schema)(event))),
            Effect.provideService(Model.Model, model),
            Effect.flip
          )
        )
        assert.match(value.detail, told)
        assert.isTrue(value._tag === "ModelFailed" && value.failure.code === "defect")
      }))
  }
})

describe("a model that streams what is not known", () => {
  it.effect("is heard for the rest", () =>
    Effect.gen(function*() {
      const parts: ReadonlyArray<Untyped> = [
        { _tag: "ThoughtDelta", text: "Hm." },
        { _tag: "TextDelta", text: "Hello." },
        { _tag: "Replied", reply: { text: "Hello.", calls: [], mood: "calm" } }
      ]
      const model = Model.Model.of({ respond: () => Effect.never, stream: () => Stream.fromIterable(parts) })
      const events = yield* Agent.make({ toolkit: Toolkit.make(sibling) }).stream("?", { deltas: ["arguments"] }).pipe(
        Stream.runCollect,
        Effect.provideService(Model.Model, model)
      )
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["TurnStarted", "TextDelta", "ModelReplied", "RunEnded"])
    }))
})

describe("a model that replies nonsense", () => {
  const others: ReadonlyArray<readonly [fields: object, told: string]> = [
    [{ model: 5 }, "model: expected string, got a number"],
    [{ reasoning: 5 }, "reasoning: expected string, got a number"],
    [{ files: "x" }, "files: expected array, got a string"],
    [{ files: [{ base64: "R0lG" }] }, "files.0.mediaType: expected a value, got nothing"],
    [{ sources: [{ url: 5 }] }, "sources.0.url: expected string, got a number"],
    [{ providerCalls: [{ id: "1" }] }, "providerCalls.0.name: expected a value, got nothing"],
    [{ usage: null }, "usage: expected object, got null"],
    [{ usage: { money: Number.NaN } }, "usage.money: expected a finite number, got a number"],
    [{ usage: { cachedTokens: 1.5 } }, "usage.cachedTokens: expected an integer, got a number"],
    [{ usage: { reasoningTokens: "5" } }, "usage.reasoningTokens: expected number, got a string"]
  ]
  const replies: ReadonlyArray<readonly [reply: unknown, told: string]> = [
    [{ text: null, calls: [] }, "The model's reply has the wrong type: text: expected string, got null."],
    [{ text: "" }, "The model's reply has the wrong type: calls: expected a value, got nothing."],
    [
      { text: "", calls: [{ id: "1" }] },
      "The model's reply has the wrong type: calls.0.name: expected a value, got nothing."
    ],
    [
      { text: "", calls: [{ id: "1", name: "sibling", arguments: paris }] },
      "The model's reply has the wrong type: calls.0.arguments: expected string, got an object."
    ],
    [
      { text: "", calls: [], usage: { inputTokens: Number.NaN, outputTokens: 1 } },
      "The model's reply has the wrong type: usage.inputTokens: expected an integer, got a number."
    ],
    [undefined, "The model's reply has the wrong type: as a whole: expected object, got nothing."],
    ...others.map(([fields, told]) =>
      [{ text: "", calls: [], ...fields }, `The model's reply has the wrong type: ${told}.`] as const
    )
  ]
  for (const [reply, told] of replies) {
    it.effect(`is reported in detail: ${told}`, () =>
      Effect.gen(function*() {
        const agent = Agent.make({ toolkit: Toolkit.make(sibling) })
        const run = agent.run("?").pipe(
          Effect.provide(Model.layer({ respond: () => Effect.succeed(reply as Untyped) })),
          Effect.flip
        )
        const { value } = yield* logging(run)
        if (value._tag !== "ModelFailed") return assert.fail(value._tag)
        assert.deepInclude({ ...value.failure }, { code: "defect", detail: told, transient: false })
        assert.strictEqual(value.detail, told)
        const stream = agent.stream("?", { deltas: ["reasoning", "arguments"] }).pipe(
          // Whatever a model emits, its events can be sent on.
          Stream.runForEach((event) => Effect.sync(() => Schema.encodeSync(AgentEvent.schema)(event))),
          Effect.provide(Model.layer({ respond: () => Effect.succeed(reply as Untyped) })),
          Effect.flip
        )
        const streamed = yield* logging(stream)
        assert.strictEqual(streamed.value._tag, "ModelFailed")
        // What has been counted so far can still be stored.
        Schema.encodeSync(AgentFailure.schema)(value)
      }))
  }

  it.effect("is reported with the function that returned a promise", () =>
    Effect.gen(function*() {
      const model = Model.layer({ respond: (async () => ({ text: "Hello.", calls: [] })) as Untyped })
      const { value } = yield* logging(
        Effect.flip(Agent.make({ toolkit: Toolkit.empty }).run("?").pipe(Effect.provide(model)))
      )
      assert.strictEqual(value.detail, "The model's respond returned a promise: wrap it in Effect.tryPromise.")
      const later = Model.layer({ respond: () => Effect.sync(async () => ({ text: "Hello.", calls: [] })) as Untyped })
      const second = yield* logging(
        Effect.flip(Agent.make({ toolkit: Toolkit.empty }).run("?").pipe(Effect.provide(later)))
      )
      assert.strictEqual(second.value.detail, "The model succeeded with a promise: wrap it in Effect.tryPromise.")
    }))
})

describe("a script whose function returns a promise", () => {
  it.effect("ends the run with a typed failure, and the log says what to return", () =>
    Effect.gen(function*() {
      const script: Untyped = async () => ScriptedModel.text("Hello.")
      const run = Agent.make({ toolkit: Toolkit.empty }).run("?").pipe(Effect.provide(ScriptedModel.layer(script)))
      const { logged, value } = yield* logging(Effect.flip(run))
      assert.strictEqual(value._tag, "ModelFailed")
      assert.include(logged[0], "The script returned a promise: return a reply, or an Effect of one.")
    }))
})

describe("a call that no model could make", () => {
  const calls: ReadonlyArray<readonly [what: string, call: unknown, code: string]> = [
    ["without a name", { id: "1" }, "unknown_tool"],
    ["of nothing", undefined, "unknown_tool"],
    ["whose arguments are a function", { id: "1", name: "sibling", arguments: () => paris }, "invalid_json"]
  ]
  for (const [what, call, code] of calls) {
    it.effect(`has an outcome: ${what}`, () =>
      Effect.gen(function*() {
        const outcome = yield* Dispatch.call(Toolkit.make(sibling), call as Untyped)
        assert.isTrue(outcome._tag === "Failed" && outcome.failure.code === code, JSON.stringify(outcome))
      }))
  }

  it.effect("may have an object as arguments, which is used as its text", () =>
    Effect.gen(function*() {
      const call: Untyped = { id: "1", name: "sibling", arguments: paris }
      const outcome = yield* Dispatch.call(Toolkit.make(sibling), call)
      assert.isTrue(outcome._tag === "Completed" && outcome.value === "Paris is well.")
    }))
})

describe("a run that gets parsed but undecoded data", () => {
  let runs = 0
  const pay = Tool.make("pay", { description: "", success: Schema.String }, () =>
    Effect.suspend(() => {
      runs++
      return Effect.map(ToolCall.ask("Really?"), (reply) => `paid: ${reply}`)
    }))
  const agent = Agent.make({ toolkit: Toolkit.make(pay) })
  const suspended = Effect.flatMap(Effect.flip(agent.run("Pay!")), (failure) =>
    failure._tag === "RunSuspended"
      ? Effect.succeed(failure.suspension)
      : Effect.die(failure))
  const script = ScriptedModel.layer([ScriptedModel.call("pay"), ScriptedModel.text("Paid.")])

  it.effect("is refused before anything runs, and accepts decoded data", () =>
    Effect.gen(function*() {
      const stored = JSON.stringify(yield* Schema.encodeEffect(AgentFailure.Suspension)(yield* suspended))
      runs = 0
      const refusal = yield* Effect.flip(agent.resume(JSON.parse(stored), "yes"))
      assert.isTrue(refusal instanceof AgentFailure.RunRefused, refusal.detail)
      assert.strictEqual(
        refusal.detail,
        "The run was not resumed: suspension.transcript: expected a Transcript, got an object. Encode it by AgentFailure.Suspension to store it, and decode it by the same schema."
      )
      assert.strictEqual(runs, 0)
      const decoded = yield* Schema.decodeUnknownEffect(AgentFailure.Suspension)(JSON.parse(stored))
      assert.strictEqual((yield* agent.resume(decoded, "yes")).text, "Paid.")
    }).pipe(Effect.provide(script)))

  it.effect("treats ill-typed options as missing", () =>
    Effect.gen(function*() {
      for (const options of [null, undefined, 1, []]) {
        const end = yield* Effect.flip(agent.run("Pay!", options as Untyped))
        assert.strictEqual(end._tag, "RunSuspended")
      }
    }).pipe(Effect.provide(ScriptedModel.layer(() => ScriptedModel.call("pay")))))

  it.effect("is refused if the reply is not a string or the question is invalid", () =>
    Effect.gen(function*() {
      const suspension = yield* suspended
      runs = 0
      const ends = yield* Effect.all([
        Effect.flip(agent.resume(suspension, true as Untyped)),
        Effect.flip(agent.run(undefined as Untyped)),
        Effect.flip(agent.run("?", { transcript: { version: 1, messages: [] } as Untyped })),
        Effect.flip(agent.run("?", { abortSignal: new AbortController().signal } as Untyped)),
        Effect.flip(agent.run("?", { transcripts: [] } as Untyped)),
        Effect.flip(agent.run({ text: "?", images: [] } as Untyped)),
        Effect.flip(agent.resume(suspension, "yes", { transcript: [] } as Untyped)),
        Effect.flip(agent.resume({ _tag: "RunSuspended", suspension } as Untyped, "yes")),
        Effect.flip(agent.resume({ _tag: "RunPostponed", postponement: {} } as Untyped))
      ])
      assert.deepStrictEqual(ends.map(({ _tag, detail }) => [_tag, detail.split(". ")[0]!.replace(/\.$/, "")]), [
        ["RunRefused", "The run was not resumed: replies: expected a text, or a list of replies, got a boolean"],
        ["RunRefused", "The run was not started: question: expected a string, or a text with files, got nothing"],
        ["RunRefused", "The run was not started: transcript: expected a Transcript, got an object"],
        ["RunRefused", "The run was not started: A run has no option 'abortSignal'"],
        ["RunRefused", "The run was not started: A run has no option 'transcripts'"],
        ["RunRefused", "The run was not started: A question has no option 'images'"],
        ["RunRefused", "The run was not resumed: A run that goes on has no option 'transcript'"],
        ["RunRefused", "The run was not resumed: this is the failure itself"],
        ["RunRefused", "The run was not resumed: this is the failure itself"]
      ])
      assert.match(
        ends[3].detail,
        /Its options are 'question', 'transcript', 'facts', 'scope', 'id', 'modelOptions', 'limits', 'deltas', 'handle', 'keep'\.$/
      )
      assert.match(ends[4].detail, /Did you mean 'transcript'\?$/)
      assert.match(ends[7].detail, /Pass its 'suspension'\.$/)
      assert.match(ends[8].detail, /Pass its 'postponement'\.$/)
      assert.strictEqual(runs, 0)
    }).pipe(Effect.provide(script)))
})
