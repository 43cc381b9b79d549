import { assert, describe, it } from "@effect/vitest"
import {
  AgentFailure,
  ModelFailure,
  PartialData,
  SchemaMismatch,
  SemanticGarbage,
  ToolUnavailable,
  Transcript
} from "@fallible/core"
import * as Answer from "@fallible/core/Answer"
import type * as CallFacts from "@fallible/core/CallFacts"
import * as Limits from "@fallible/core/Limits"
import type * as RunReport from "@fallible/core/RunReport"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Cause, Duration, Effect, Exit, HashMap, Schema } from "effect"

const conversation: ReadonlyArray<Transcript.Message> = [
  { role: "system", text: "Be brief." },
  {
    role: "user",
    text: "Which is warmer?",
    files: [Transcript.file(new Uint8Array([0, 255]), "image/png"), { url: "https://example.org/paris.png" }]
  },
  {
    role: "assistant",
    text: "I will look.",
    calls: [{ id: "1", name: "weather", arguments: "{\"city\": \"Paris\"}" }, { id: "2", name: "ping" }],
    native: { signature: "opaque", parts: [1, null, { nested: [true] }] }
  },
  { role: "tool", callId: "1", name: "weather", text: "21" },
  { role: "tool", callId: "2", name: "ping", text: "\u{1F600}\ud800\u0000" }
]
const transcript = Transcript.make(conversation)

const report: RunReport.RunReport = {
  turns: 2,
  calls: 3,
  inputTokens: 100,
  outputTokens: 20,
  failures: [
    {
      turn: 1,
      call: 1,
      tool: "weather",
      tag: "ToolUnavailable",
      code: "timeout",
      detail: "Slow.",
      attempts: 2,
      certainty: "executed",
      handling: "retry"
    },
    {
      turn: 1,
      call: 2,
      tool: "ping",
      tag: "SemanticGarbage",
      code: "nobody",
      detail: "Nobody.",
      severity: "high",
      attempts: 1,
      certainty: "not_executed",
      handling: "told"
    },
    {
      turn: 1,
      call: 3,
      tool: "ping",
      tag: "SchemaMismatch",
      code: "odd",
      detail: "Odd.",
      attempts: 1,
      certainty: "unknown",
      handling: "custom",
      policy: "queue"
    },
    { turn: 2, tag: "ModelFailure", code: "server_error", detail: "Busy.", attempts: 2, handling: "retry" },
    { turn: 2, tag: "ModelFailure", code: "refused", detail: "No.", attempts: 2, handling: "run_failed" }
  ],
  repairs: [
    { turn: 1, call: 1, tool: "weather", kind: "code_fence", offset: 0 },
    { turn: 1, call: 1, tool: "weather", kind: "text_for_number", path: ["rows", 0, "n"], note: "'n' was read as 5." }
  ]
}

const handled = [
  { tag: "ToolUnavailable", code: "timeout", detail: "Slow.", by: "retry" }
] as const

const asks = {
  id: "run-1/turn/3/call/6/question/3",
  kind: "choice",
  tool: "any",
  text: "Which one?",
  arguments: "{}",
  preview: "Does nothing.",
  choices: ["this", "that"],
  digest: "d",
  expires: 9000
} as const

/** One outcome of each kind, with all its optional fields. */
const outcomes: ReadonlyArray<ToolOutcome.ToolOutcome> = [
  {
    _tag: "Completed",
    value: { rows: [1.5, null, "x"] },
    caveats: ["an old one"],
    source: { name: "cache", age: Duration.hours(3) },
    repairs: [{ kind: "comment", offset: 3, note: "A comment was left out." }, { kind: "wrapper", path: [] }],
    arguments: "{}",
    certainty: "executed",
    attempts: 2,
    waited: Duration.millis(1500.5),
    handled
  },
  ...[
    new SchemaMismatch({
      side: "result",
      code: "invalid_result",
      detail: "No total.",
      issues: [{ path: ["a", 0], expected: "number", actual: "a string" }],
      cause: "secret"
    }),
    new PartialData({
      code: "more_pages",
      detail: "Page 1.",
      data: ["ada"],
      coverage: { have: 1, of: 3, unit: "pages" },
      next: { page: 2 }
    }),
    new SemanticGarbage({ code: "unknown", detail: "Unknown.", alternatives: ["Paris"], severity: "low" }),
    new ToolUnavailable({
      code: "rate_limited",
      detail: "Too often.",
      hint: "Later.",
      transient: true,
      retryAfter: Duration.seconds(30),
      outcome: "unknown",
      tried: ["database (timeout)"],
      cause: new Error("secret")
    })
  ].map((failure): ToolOutcome.ToolOutcome => ({
    _tag: "Failed",
    failure,
    stage: "run",
    certainty: "unknown",
    attempts: 1,
    waited: Duration.zero,
    handled: []
  })),
  {
    _tag: "Suspended",
    question: "Which one?",
    id: "run-1/turn/3/call/6",
    asks,
    replies: [
      { id: "run-1/turn/3/call/6", question: "Sure?", reply: "Yes." },
      {
        id: "run-1/turn/3/call/6",
        question: "Pay?",
        reply: "yes",
        to: "run-1/turn/3/call/6/question/2",
        by: "Ada",
        decided: { approved: true, digest: "d", by: "Ada", edited: true }
      }
    ],
    decided: { approved: false, digest: "d", by: "Ada", reason: "Too much." },
    certainty: "not_executed",
    attempts: 1,
    waited: Duration.seconds(2),
    handled: []
  },
  { _tag: "Stopped", reason: "Enough.", certainty: "unknown", attempts: 1, waited: Duration.zero, handled: [] }
]

const facts: CallFacts.CallFacts = {
  scope: "order-7",
  run: 1,
  mayHaveRun: "likely",
  intents: HashMap.make<ReadonlyArray<readonly [string, CallFacts.Fact]>>(["a digest", {
    number: 2,
    done: { run: 0, answer: "\"paid\"", at: 5000 },
    denied: { run: 1, reason: "Too much." },
    settled: { certainty: "executed", by: "check:payment_status" },
    written: ["a digest of a text"],
    failed: {
      tool: "pay",
      run: 1,
      executions: 2,
      certainty: "unknown",
      arguments: "a digest",
      text: "{}",
      refused: "another digest",
      code: "timeout",
      detail: "Slow.",
      hint: "Later.",
      tag: "ToolUnavailable"
    }
  }]),
  failures: 3
}

const suspension: AgentFailure.Suspension = {
  version: 8,
  id: "s-1",
  runId: "run-1",
  turn: 3,
  questions: [asks],
  needs: ["any"],
  expires: 10_000,
  transcript,
  report,
  reply: {
    text: "",
    calls: outcomes.map((_, index) => ({ id: `${index}`, name: "any", arguments: "{}" })),
    usage: { inputTokens: 5, outputTokens: 6 },
    truncated: true,
    native: ["opaque"]
  },
  outcomes,
  facts,
  used: Duration.seconds(5)
}

const modelFailure = new ModelFailure({
  code: "rate_limited",
  detail: "Asked too often.",
  hint: "Wait.",
  transient: true,
  retryAfter: Duration.minutes(2),
  status: 429,
  attempts: 3,
  cause: new Error("secret")
})

const run = { transcript, report, facts }
const one: { readonly [Tag in AgentFailure.AgentFailure["_tag"]]: ReadonlyArray<AgentFailure.AgentFailure> } = {
  ModelFailed: [
    new AgentFailure.ModelFailed({
      detail: "Asked too often.",
      failure: modelFailure,
      cause: modelFailure.cause,
      ...run
    })
  ],
  OutputRefused: [
    new AgentFailure.OutputRefused({
      detail: "The model gave no valid answer: 'days': expected integer, got \"x\".",
      text: "{\"days\":\"x\"}",
      issues: [{ path: ["days"], expected: "integer", actual: "\"x\"" }],
      ...run
    })
  ],
  RunPostponed: [
    new AgentFailure.RunPostponed({
      detail: "Asked too often.",
      failure: modelFailure,
      cause: modelFailure.cause,
      retryAfter: Duration.minutes(2),
      postponement: {
        version: 8,
        runId: "run-1",
        turn: 2,
        postponed: 1,
        until: 120_000,
        used: Duration.seconds(3),
        ...run
      },
      ...run
    })
  ],
  LimitReached: Limits.Limit.literals.map((limit) =>
    new AgentFailure.LimitReached({ detail: "Used up.", limit, ...run })
  ),
  LoopDetected: [
    new AgentFailure.LoopDetected({
      detail: "Stuck.",
      calls: [{ tool: "ping", arguments: "{}", times: 6 }],
      ...run
    })
  ],
  RunSuspended: [
    new AgentFailure.RunSuspended({ detail: "Waits.", question: "Which one?", suspension, ...run }),
    new AgentFailure.RunSuspended({
      detail: "Waits.",
      question: "Which one?",
      suspension: { ...suspension, facts },
      ...run
    })
  ],
  RunHalted: [
    new AgentFailure.RunHalted({
      detail: "The run halted.",
      step: "turn/1/model",
      cause: new Error("The disk is full."),
      ...run
    })
  ],
  RunStopped: [new AgentFailure.RunStopped({ detail: "Stopped.", reason: "Locked.", ...run })],
  RunRefused: [
    new AgentFailure.RunRefused({
      detail: "Refused.",
      issues: [{ path: ["suspension", 0], expected: "a Transcript", actual: "an object" }],
      ...run
    })
  ]
}
const every = Object.values(one).flat()

/** Encodes a value as JSON text, and decodes it again. */
const through = <A, I>(schema: Schema.Codec<A, I>) => (value: A): A => {
  const encoded = Schema.encodeSync(schema)(value)
  assert.deepStrictEqual(JSON.parse(JSON.stringify(encoded)), encoded, "is plain JSON")
  return Schema.decodeUnknownSync(schema)(JSON.parse(JSON.stringify(encoded)))
}

/** Makes fields comparable: the messages of a transcript are private, so they are copied out. */
const comparable = (fields: object): object =>
  Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      key,
      value instanceof Transcript.Transcript
        ? Transcript.toArray(value)
        : key === "suspension"
        ? comparable(value)
        : value
    ])
  )

const messageOf = (schema: Schema.Codec<unknown, unknown>, stored: unknown): string =>
  Exit.match(Effect.runSyncExit(Schema.decodeUnknownEffect(schema)(stored)), {
    onSuccess: () => "decoded",
    onFailure: (cause) => String(Cause.squash(cause))
  })

describe("AgentFailure.schema", () => {
  for (const failure of every) {
    it(`brings ${failure._tag} through JSON to the same class, message and fields`, () => {
      const decoded = through(AgentFailure.schema)(failure)
      assert.strictEqual(Object.getPrototypeOf(decoded), Object.getPrototypeOf(failure))
      assert.deepStrictEqual(comparable({ ...decoded }), comparable({ ...failure }))
      assert.instanceOf(decoded, Error)
      assert.strictEqual(decoded.message, failure.detail)
      const yielded = Effect.gen(function*() {
        return yield* decoded
      })
      assert.strictEqual(Effect.runSync(Effect.flip(yielded)), decoded)
    })
  }

  it("also applies to each class, which decodes only its own failures", () => {
    const schemas: ReadonlyArray<Schema.Codec<AgentFailure.AgentFailure, unknown>> = [
      AgentFailure.ModelFailed.schema,
      AgentFailure.RunPostponed.schema,
      AgentFailure.LimitReached.schema,
      AgentFailure.LoopDetected.schema,
      AgentFailure.RunSuspended.schema,
      AgentFailure.RunStopped.schema,
      AgentFailure.OutputRefused.schema,
      AgentFailure.RunHalted.schema,
      AgentFailure.RunRefused.schema
    ]
    for (const failure of every) {
      const stored = Schema.encodeSync(AgentFailure.schema)(failure)
      const taking = schemas.filter((schema) => messageOf(schema, stored) === "decoded")
      assert.deepStrictEqual(taking.map((schema) => Schema.encodeSync(schema)(failure)), [stored])
    }
  })

  it("drops every cause", () => {
    for (const failure of every) {
      assert.notInclude(JSON.stringify(Schema.encodeSync(AgentFailure.schema)(failure)), "secret")
      assert.isUndefined(through(AgentFailure.schema)(failure).cause)
    }
  })

  it("has a version, and names the version that it refuses", () => {
    for (const failure of every) {
      const stored: object = Schema.encodeSync(AgentFailure.schema)(failure)
      assert.propertyVal(stored, "version", 8)
      assert.notProperty(failure, "version")
      assert.include(messageOf(AgentFailure.schema, { ...stored, version: 6 }), "of version 8, not version 6")
      const { version: _, ...without } = stored as { readonly version: number }
      assert.include(messageOf(AgentFailure.schema, without), "version")
    }
  })

  it("refuses a suspension written by JSON.stringify, and decodes one that its schema encoded", () => {
    assert.notStrictEqual(messageOf(AgentFailure.Suspension, JSON.parse(JSON.stringify(suspension))), "decoded")
    const decoded = through(AgentFailure.Suspension)({ ...suspension, facts })
    assert.deepStrictEqual(comparable(decoded), comparable({ ...suspension, facts }))
  })
})

describe("Answer.schema", () => {
  const answer: Answer.Answer = { stopReason: "answered", text: "Paris.", truncated: true, transcript, report, facts }

  it("brings an answer through JSON", () => {
    const decoded = through(Answer.schema)(answer)
    assert.instanceOf(decoded.transcript, Transcript.Transcript)
    assert.deepStrictEqual(comparable(decoded), comparable(answer))
  })

  it("has a version, and names the version that it refuses", () => {
    const stored = Schema.encodeSync(Answer.schema)(answer)
    assert.strictEqual(stored["version"], 8)
    assert.include(messageOf(Answer.schema, { ...stored, version: 6 }), "an answer of version 8, not version 6")
  })

  it("decodes an Exit of a run, whether it succeeded or failed", () => {
    const exitSchema = Schema.Exit(Answer.schema, AgentFailure.schema, Schema.Defect())
    const codec = Schema.toCodecJson(exitSchema)
    const [failure] = one.RunSuspended
    for (const exit of [Exit.succeed(answer), Exit.fail(failure!)]) {
      const decoded = through(codec)(exit)
      assert.strictEqual(decoded._tag, exit._tag)
    }
    const failed = through(codec)(Exit.fail(failure!))
    assert.isTrue(Exit.isFailure(failed) && Cause.squash(failed.cause) instanceof AgentFailure.RunSuspended)
  })
})
