/**
 * `messages.txt` holds every sentence that core says to a model, so a change of a sentence shows in the
 * diff. Sentences about arguments are in `test/arguments/messages.txt`.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  Dispatch,
  Fixer,
  PartialData,
  Policy,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Rendering from "@fallible/core/Rendering"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { beginFacts, recordCall } from "../../packages/core/src/internal/dispatch/recordCalls.ts"
import { failedOutcomes } from "../support/failedOutcomes.ts"
import { asNeedingNothing } from "../support/paidOrders.ts"
import { passing } from "../support/virtualTime.ts"

const golden = new URL("./messages.txt", import.meta.url)

const unique = (lines: ReadonlyArray<string>) => Array.from(new Set(lines)).toSorted()

/** Returns the sentences of failures, by code. */
const sentences = (outcomes: ReadonlyArray<ToolOutcome.ToolOutcome>) =>
  unique(outcomes.flatMap((outcome) => {
    if (outcome._tag !== "Failed") return []
    const { code, detail, hint, retry, tried }: Readonly<Record<string, string | undefined>> = JSON.parse(
      Rendering.json(outcome, { id: "1", name: "subject" })
    )
    return [
      `${code}: detail: ${detail}`,
      ...(hint === undefined ? [] : [`${code}: hint: ${hint}`]),
      ...(tried === undefined ? [] : [`${code}: tried: ${JSON.stringify(tried)}`]),
      `${code}: retry: ${retry}`
    ]
  }))

// -----------------------------------------------------------------------------
// Outcomes of every form, in both renderings
// -----------------------------------------------------------------------------

const lost = new ToolUnavailable({ code: "connection", detail: "Lost.", transient: true, outcome: "unknown" })
const down = new ToolUnavailable({ code: "connection", detail: "Down.", transient: true, outcome: "not_executed" })
const City = Schema.Struct({ city: Schema.String, page: Schema.optionalKey(Schema.Int) })

const reading = <E extends SemanticGarbage | PartialData<string> | ToolUnavailable>(
  handler: (params: typeof City.Type) => Effect.Effect<string, E>,
  definition: Partial<Tool.Definition<string, typeof City.Type>> = {}
) =>
  Tool.make("find", {
    description: "Finds",
    parameters: City,
    success: Schema.String,
    sideEffect: "none",
    ...definition
  }, handler)

const acting = <E extends SemanticGarbage | ToolUnavailable>(
  handler: () => Effect.Effect<string, E>,
  sideEffect: "non_idempotent" | "idempotent_by_key" = "non_idempotent"
) =>
  Tool.make(
    "pay",
    { description: "Pays", parameters: City, success: Schema.String, sideEffect, identity: "all" },
    handler
  )

const paris = { city: "Paris" }

const dispatched = (
  tool: Tool.Any,
  args: string | object = paris,
  options: Dispatch.CallOptions = {},
  others: ReadonlyArray<Tool.Any> = []
) =>
  Dispatch.call(
    Toolkit.make(...[tool, ...others].map(asNeedingNothing)),
    { id: "1", name: tool.name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
    { id: "call-1", ...options }
  )

const other = (name: string) =>
  Tool.make(name, { description: name, success: Schema.String, sideEffect: "none" }, () => Effect.succeed(name))

const reads = { description: "Finds", sideEffect: "none" } as const

const listing = (value: Schema.Json, parameters: Readonly<Record<string, Schema.Codec<unknown, unknown>>> = {}) =>
  Tool.make(
    "find",
    { ...reads, parameters: Schema.Struct(parameters), success: Schema.Json },
    () => Effect.succeed(value)
  )

const page = new PartialData({
  code: "more_pages",
  detail: "This is page 1.",
  data: "sunny",
  coverage: { have: 1, of: 3, unit: "pages" },
  next: { page: 2 }
})

const approving = acting(() => Effect.succeed("paid")).pipe(Tool.approve())

const denied = (decided: { readonly reason?: string }) =>
  Effect.flatMap(
    dispatched(approving),
    (waiting) =>
      waiting._tag !== "Suspended" ? Effect.succeed(waiting) : dispatched(approving, paris, {
        before: waiting,
        replies: [{
          id: waiting.id,
          question: waiting.question,
          reply: "no",
          decided: { approved: false, digest: waiting.asks.digest ?? "", ...decided }
        }]
      })
  )

/** Calls, by the event in them. */
const calls: Record<string, Effect.Effect<ToolOutcome.ToolOutcome>> = {
  "an answer": dispatched(reading(() => Effect.succeed("sunny"))),
  "an answer from elsewhere": dispatched(
    Tool.fallback(
      reading(() => Effect.fail(down)),
      () => Effect.tap(Effect.succeed("rainy"), ToolCall.source({ name: "cache", age: "3 hours" }))
    )
  ),
  "a fresh answer from elsewhere": dispatched(
    Tool.fallback(reading(() => Effect.fail(down)), () => Effect.succeed("rainy"), { name: "the mirror" })
  ),
  "an answer of the user": dispatched(
    Tool.askWhenUnavailable(
      reading(() => Effect.fail(down)),
      () => "What is the weather?",
      (reply) => Effect.succeed(reply)
    )
  ).pipe(ToolCall.withReply("rainy")),
  "a reply of the user": dispatched(
    Tool.askWhenUnavailable(reading(() => Effect.fail(down)), () => "What now?")
  ).pipe(ToolCall.withReply("Go on without it.")),
  "an answer from elsewhere, of a tool that acts": dispatched(
    Tool.fallback(acting(() => Effect.fail(down)), () => Effect.succeed("queued"))
  ),
  "an answer after a lost one, of a tool that acts": dispatched(
    Tool.catchTag(acting(() => Effect.fail(lost)), "ToolUnavailable", () => Effect.succeed("queued"))
  ),
  "the same, with a tool that knows": dispatched(
    Tool.catchTag(
      Tool.make(
        "pay",
        { description: "Pays", parameters: City, success: Schema.String, check: "look" },
        () => Effect.fail(lost)
      ),
      "ToolUnavailable",
      () => Effect.succeed("queued")
    ),
    paris,
    {},
    [other("look")]
  ),
  "an answer with a caveat": dispatched(
    reading(() => Effect.tap(Effect.succeed("sunny"), ToolCall.caveat("The stations are few.")))
  ),
  "an answer for repaired arguments": dispatched(
    reading(() => Effect.succeed("sunny")),
    "{city: 'Paris', Page: \"2\",}"
  ),
  "an answer for corrected arguments": dispatched(
    reading(({ city }) =>
      city === "Paris"
        ? Effect.succeed("sunny")
        : Effect.fail(new SemanticGarbage({ code: "unknown_city", detail: "Unknown." }))
    ).pipe(Tool.fix(() => paris, { on: ["SemanticGarbage"] })),
    { city: "Pari" }
  ),
  "an answer of a fixer": dispatched(
    reading(() => Effect.succeed("sunny")).pipe(Tool.fix(() => Fixer.answer("cloudy"), { name: "the desk" })),
    { citi: "Paris" }
  ),
  "a cut-off text": dispatched(reading(() => Effect.succeed("[1,"))),
  "a cut-off text, and less can be asked for": dispatched(reading(() => Effect.succeed("[1,"), { size: "page" })),
  "an empty answer": dispatched(reading(() => Effect.succeed(""))),
  "an empty answer, and another tool knows the argument": dispatched(
    listing([], { customer_id: Schema.String }),
    { customer_id: "Ada" },
    {},
    [
      Tool.make(
        "find_customer",
        { ...reads, success: Schema.Struct({ customer_id: Schema.String }) },
        () => Effect.succeed({ customer_id: "c-7" })
      )
    ]
  ),
  "an answer that reports a failure": dispatched(listing({ ok: false }), {}),
  "an answer with errors": dispatched(listing({ data: [1], errors: ["No such field."] }), {}),
  "a reported failure": dispatched(
    Tool.make(
      "find",
      { ...reads, success: Schema.Json, failed: true },
      () => Effect.succeed({ error: "Card declined." })
    ),
    {}
  ),
  "a list as long as its limit": dispatched(listing([1, 2, 3, 4, 5], { limit: Schema.Int }), { limit: 5 }),
  "a list as long as its limit, and pages can be asked for": dispatched(
    listing([1, 2], { limit: Schema.Int, page: Schema.optionalKey(Schema.Int) }),
    { limit: 2 }
  ),
  "a page": dispatched(reading(() => Effect.fail(page))),
  "a full page": dispatched(
    Tool.make("list", {
      description: "Lists",
      parameters: Schema.Struct({ page: Schema.optionalKey(Schema.Int), limit: Schema.Int }),
      success: Schema.Array(Schema.Int),
      sideEffect: "none",
      pages: { full: "limit", next: "page" }
    }, () => Effect.succeed([1, 2])),
    { limit: 2 }
  ),
  "a page, and there are more": dispatched(
    Tool.make("list", {
      description: "Lists",
      parameters: Schema.Struct({ page: Schema.optionalKey(Schema.Int) }),
      success: Schema.Struct({ items: Schema.Array(Schema.Int), more: Schema.Boolean }),
      sideEffect: "none",
      pages: { more: "more", next: "page" }
    }, () => Effect.succeed({ items: [1, 2], more: true })),
    {}
  ),
  ...Object.fromEntries(
    ([
      ["to the limit of pages", {}, { pages: 2 }],
      ["to the limit of bytes", {}, { bytes: 5 }],
      ["to one that was fetched", { next: { page: 1 } }, {}],
      ["to one that nobody can ask for", { next: { page: "two" } }, {}],
      ["to one that nobody names", { next: undefined }, {}]
    ] as const).map(([how, changed, limits]) => [
      `pages, up ${how}`,
      dispatched(
        reading(({ page: number = 1 }) => {
          const { next: _, ...rest } = page
          const next = "next" in changed ? changed.next : { page: number + 1 }
          return Effect.fail(new PartialData({ ...rest, ...(next === undefined ? {} : { next }) }))
        }).pipe(Tool.paginate({ merge: (all, more) => `${all}, ${more}`, ...limits })),
        { city: "Paris", page: 1 }
      )
    ])
  ),
  "empty": dispatched(
    reading(() => Effect.succeed(""), { empty: { when: (text) => text === "", detail: "No rows." } })
  ),
  "an impossible result": dispatched(
    reading(() => Effect.succeed(""), { invariants: { "a text is not empty": (text) => text !== "" } })
  ),
  "old data": dispatched(
    reading(() => Effect.succeed("1969-12-31T20:00:00Z"), {
      asOf: (text) => text,
      freshness: "1 hour"
    })
  ),
  "data whose age is unknown": dispatched(
    reading(() => Effect.succeed("yesterday"), {
      asOf: (text) => text,
      freshness: "1 hour"
    })
  ),
  "one that was running when its process ended": dispatched(acting(() => Effect.succeed("paid")), paris, {
    facts: CallFacts.empty,
    wasBegun: true
  }),
  "a call that is to be approved": dispatched(approving),
  "a denied call": denied({ reason: "Too much." }),
  "a denied call without a reason": denied({}),
  "a question": dispatched(reading(() => Effect.andThen(ToolCall.ask("Which Paris?"), Effect.succeed("sunny")))),
  "a stop": dispatched(reading(() => Effect.andThen(ToolCall.stop("The budget is spent."), Effect.succeed("sunny")))),
  "ended by its timeout": dispatched(acting(() => Effect.never).pipe(Tool.timeout("1 second"))),
  "no permit": dispatched(
    reading(() => Effect.never).pipe(Tool.concurrency(1, { maxWait: 0 }), Tool.with(twiceAtOnce()))
  )
}

/** Makes a policy that runs the tool twice at once, and returns the first answer. */
function twiceAtOnce() {
  return Policy.make({
    kind: "custom",
    name: "twice",
    description: "twice at once",
    wrap: (run) => (params) => Effect.raceFirst(run(params), Effect.andThen(Effect.yieldNow, run(params)))
  })
}

/** Repeats a call whose key is sent again with the first arguments. */
const again = Effect.gen(function*() {
  const outcomes: Array<ToolOutcome.ToolOutcome> = []
  const steps = [Effect.fail(lost), Effect.succeed("paid")]
  const tool = Tool.make("pay", {
    description: "Pays",
    parameters: City,
    success: Schema.String,
    sideEffect: "idempotent_by_key",
    identity: ({ city }) => city
  }, () => Effect.suspend(() => steps.shift() ?? Effect.fail(down)))
  let facts = beginFacts(CallFacts.empty, "order-7")
  for (const args of [paris, { city: "Paris", page: 2 }]) {
    const outcome = yield* dispatched(tool, args, { facts })
    facts = recordCall(facts, outcome, tool)
    outcomes.push(outcome)
  }
  const once = Tool.make("book", {
    description: "Books",
    parameters: City,
    success: Schema.String,
    repeats: false
  }, () => Effect.succeed("booked"))
  for (let call = 0; call < 2; call++) {
    const outcome = yield* dispatched(once, paris, { facts })
    facts = recordCall(facts, outcome, once)
    outcomes.push(outcome)
  }
  return outcomes
})

// -----------------------------------------------------------------------------
// Texts for a correcting agent, and the ends of runs
// -----------------------------------------------------------------------------

const questions = Effect.gen(function*() {
  const asked: Array<string> = []
  const answers = ["{\"citi\":\"Paris\"}", "{\"city\":7}", "{\"city\":\"Paris\"}"]
  const agent = {
    run: (question: string) => Effect.sync(() => ({ text: answers[asked.push(question) - 1] ?? "" }))
  }
  const tool = reading(() => Effect.succeed("sunny")).pipe(Tool.fix(Fixer.agent(agent), { tries: 3 }))
  yield* dispatched(tool, { citi: 1 })
  return asked
})

/** Runs that end without an answer. */
const endings: Record<string, Effect.Effect<string>> = Object.fromEntries(
  ([
    ["turns", { turns: 1 }],
    ["calls", { calls: 1 }],
    ["tokens", { tokens: 1 }]
  ] as const).map(([what, limits]) => [
    what,
    Agent.make({ toolkit: Toolkit.make(other("look")), limits }).run("?").pipe(
      Effect.flip,
      Effect.map((failure) => failure.detail),
      Effect.catch(() => Effect.succeed("no failure")),
      Effect.provide(ScriptedModel.layer(() => ({
        ...ScriptedModel.call("look"),
        usage: { inputTokens: 1, outputTokens: 1 }
      })))
    )
  ])
)

/** What the model is told after a reply that is not an answer. */
const requests = Effect.forEach(
  ["<tool_call>{}</tool_call>", "Let me check.", ""],
  (text) =>
    Agent.make({ toolkit: Toolkit.make(other("look")) }).run("?").pipe(
      Effect.andThen(Effect.flatMap(ScriptedModel.ScriptedModel, ({ requests }) => requests)),
      Effect.map((requests) => `${JSON.stringify(text)}: ${requests.at(-1)?.messages.at(-1)?.text}`),
      Effect.provide(ScriptedModel.layer([ScriptedModel.text(text), ScriptedModel.text("Done.")]))
    )
)

// -----------------------------------------------------------------------------
// The file
// -----------------------------------------------------------------------------

const section = (title: string, lines: ReadonlyArray<string>) => `# ${title}\n\n${lines.join("\n")}\n`

const rendered = (name: string, outcome: ToolOutcome.ToolOutcome) => {
  const call = { id: "1", name: "find" }
  return `${name}\n  ${Rendering.json(outcome, call)}\n  ${Rendering.prose(outcome, call)}\n`
}

const written = Effect.gen(function*() {
  const outcomes = yield* Effect.forEach(
    Object.entries(calls),
    ([name, call]) => Effect.map(passing(call), (outcome) => rendered(name, outcome))
  )
  const repeated = yield* again
  const ends = yield* Effect.forEach(
    Object.entries(endings),
    ([name, ending]) => Effect.map(ending, (detail) => `${name}: ${detail}`)
  )
  const descriptions = Fixer.tools.map(({ description, name }) => `${name}: ${description}`)
  const definitions = Toolkit.make(...Fixer.tools).definitions.map(({ parameters }) => JSON.stringify(parameters))
  return [
    section("Outcomes: as JSON, and as prose", outcomes),
    section("A call made again", repeated.map((outcome, index) => rendered(String(index + 1), outcome))),
    section("Failures: every sentence, by code", sentences(yield* failedOutcomes)),
    section("Runs that end at a limit", ends),
    section("Replies that are not answers", yield* requests),
    section("What a fixing agent is asked", yield* questions),
    section("What a fixing agent may call", [...descriptions, ...definitions])
  ].join("\n")
})

describe("the texts for a model", () => {
  it.effect("match one file (WRITE_MESSAGES=1 writes it)", () =>
    Effect.gen(function*() {
      const text = yield* written
      if (process.env["WRITE_MESSAGES"] === "1") writeFileSync(golden, text)
      assert.strictEqual(text, readFileSync(golden, "utf8"))
    }))
})
