/**
 * The law of secrets in arguments: whatever the parameters are, the model writes, the tool does and a fixer corrects, a secret
 * is known only to the handler, and to the model that wrote it.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentFailure,
  Fixer,
  Model,
  Observer,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable,
  Transcript
} from "@fallible/core"
import * as AgentEvent from "@fallible/core/AgentEvent"
import * as CallFacts from "@fallible/core/CallFacts"
import * as ClientEvent from "@fallible/core/ClientEvent"
import * as RunReport from "@fallible/core/RunReport"
import { Cause, Effect, Exit, Logger, Option, Redacted, References, Schema, Stream } from "effect"
import * as fc from "fast-check"
import { inspect } from "node:util"
import { cases, runs } from "../support/runs.ts"
import { asRun } from "../support/streamedRun.ts"

/** The secret. It occurs nowhere else, and can be written as a text and as a number. */
const canary = "8417390526"

// -----------------------------------------------------------------------------
// Parameters
// -----------------------------------------------------------------------------

type Codec = Schema.Codec<unknown, unknown>

/** A schema, and a value for it in JSON that holds the secret. */
interface Field {
  readonly schema: Codec
  readonly value: Schema.Json
}

const contents: ReadonlyArray<Field> = [
  { schema: Schema.String, value: canary },
  { schema: Schema.String.check(Schema.isMinLength(3)), value: canary },
  { schema: Schema.Finite, value: Number(canary) },
  { schema: Schema.Number, value: Number(canary) },
  { schema: Schema.Int.check(Schema.isGreaterThan(0)), value: Number(canary) },
  { schema: Schema.FiniteFromString, value: canary },
  { schema: Schema.BigInt, value: canary },
  { schema: Schema.Unknown, value: { a: [canary] } },
  { schema: Schema.NullOr(Schema.String), value: canary },
  { schema: Schema.Array(Schema.String), value: ["a", canary] },
  { schema: Schema.Record(Schema.String, Schema.String), value: { [canary]: canary } },
  { schema: Schema.Struct({ pin: Schema.String, note: Schema.optionalKey(Schema.String) }), value: { pin: canary } },
  { schema: Schema.HashMap(Schema.String, Schema.String), value: [[canary, canary]] }
]

const marks: ReadonlyArray<(schema: Codec) => Codec> = [
  (schema) => Schema.Redacted(schema),
  (schema) => Schema.RedactedFromValue(schema),
  (schema) => schema.annotate({ writeOnly: true }),
  (schema) => schema.annotate({ format: "password" })
]

const secret = fc.tuple(fc.constantFrom(...contents), fc.constantFrom(...marks)).map(([{ schema, value }, mark]) => ({
  schema: mark(schema),
  value
}))

const places: ReadonlyArray<(field: Field) => Field> = [
  (field) => field,
  ({ schema, value }) => ({
    schema: Schema.Struct({ deep: schema, plain: Schema.Int }),
    value: { deep: value, plain: 1 }
  }),
  ({ schema, value }) => ({
    schema: Schema.Struct({ deep: Schema.optionalKey(schema) }),
    value: { deep: value }
  }),
  ({ schema, value }) => ({ schema: Schema.Array(schema), value: [value, value] }),
  ({ schema, value }) => ({ schema: Schema.Tuple([Schema.Int, schema]), value: [1, value] }),
  ({ schema, value }) => ({ schema: Schema.Record(Schema.String, schema), value: { a: value } }),
  ({ schema, value }) => ({
    schema: Schema.Union([
      Schema.Struct({ kind: Schema.tag("none") }),
      Schema.Struct({ kind: Schema.tag("one"), of: schema })
    ]),
    value: { kind: "one", of: value }
  }),
  ({ schema, value }) => ({ schema: Schema.Union([Schema.Boolean, schema]), value }),
  ({ schema, value }) => ({ schema: Schema.Option(schema), value: { _tag: "Some", value } }),
  ({ schema, value }) => ({
    schema: Schema.fromJsonString(Schema.toCodecJson(Schema.Struct({ deep: schema }))),
    value: JSON.stringify({ deep: value })
  })
]

const field = fc.tuple(secret, fc.array(fc.constantFrom(...places), { maxLength: 2 }))
  .map(([field, around]) => around.reduce((field, place) => place(field), field))

// -----------------------------------------------------------------------------
// Calls
// -----------------------------------------------------------------------------

/** How the model writes the arguments, given the secret field's value. */
const writings: { readonly [how: string]: (value: Schema.Json) => string } = {
  well: (value) => JSON.stringify({ user: "ada", key: value }),
  "well again": (value) => JSON.stringify({ user: "ada", key: value }),
  "with spaces": (value) => JSON.stringify({ key: value, user: "ada" }, undefined, 2),
  "with the secret in a list": (value) => JSON.stringify({ user: "ada", key: [[value]] }),
  "with the secret in an object": (value) => JSON.stringify({ user: "ada", key: { key: value } }),
  "with the secret as a text": (value) => JSON.stringify({ user: "ada", key: JSON.stringify(value) }),
  "with only the secret": () => JSON.stringify({ user: "ada", key: canary }),
  "with a secret number": () => JSON.stringify({ user: "ada", key: Number(canary) }),
  "wrong elsewhere": (value) => JSON.stringify({ user: ["ada"], key: value }),
  "without the user": (value) => JSON.stringify({ key: value }),
  "with one more": (value) => JSON.stringify({ user: "ada", key: value, other: value }),
  "under another name": (value) => JSON.stringify({ User: "ada", Key: value }),
  "inside another object": (value) => JSON.stringify({ arguments: { user: "ada", key: value } }),
  "in a list": (value) => JSON.stringify([{ user: "ada", key: value }]),
  "twice": (value) => `{"user":"ada","key":"${canary}","key":${JSON.stringify(value)}}`,
  "with words around it": (value) => `The key is ${canary}: ${JSON.stringify({ user: "ada", key: value })}`,
  "cut off": (value) => JSON.stringify({ user: "ada", key: value }).slice(0, -2),
  "with a comma too many": (value) => `{user: 'ada', key: ${JSON.stringify(value)},}`,
  "without quotes": () => `{"user": ada, "key": ${canary} x}`,
  "as a text alone": () => canary,
  "as a quoted text": () => JSON.stringify(canary)
}

const deeds = ["works", "refuses", "is lost", "is lost", "breaks", "asks", "stops", "has it as its result"] as const

type Deed = (typeof deeds)[number]

const fixers = ["none", "none", "a function", "an agent", "an escalation"] as const

const scenario = fc.record({
  field,
  sideEffect: fc.constantFrom("none", "idempotent", "non_idempotent", "idempotent_by_key"),
  writings: fc.array(fc.constantFrom("well" as const, ...Object.keys(writings)), { minLength: 1, maxLength: 3 }),
  turns: fc.integer({ min: 1, max: 9 }),
  twice: fc.boolean(),
  deeds: fc.array(fc.constantFrom(...deeds), { minLength: 1, maxLength: 3 }),
  fixer: fc.constantFrom(...fixers),
  onDoubt: fc.constantFrom("refuse" as const, "ask" as const),
  concludes: fc.boolean()
})

type Scenario = typeof scenario extends fc.Arbitrary<infer A> ? A : never

// -----------------------------------------------------------------------------
// Runs
// -----------------------------------------------------------------------------

/** What was seen of a run, by the name of the sink. */
class Sinks {
  readonly seen: Array<readonly [sink: string, text: string]> = []
  /** How often the handler got the secret. */
  handled = 0

  add(sink: string, value: unknown): void {
    this.seen.push([sink, typeof value === "string" ? value : inspect(value, { depth: Infinity, showHidden: true })])
  }
}

const Done = Schema.Struct({ done: Schema.Boolean, key: Schema.optionalKey(Schema.Redacted(Schema.String)) })

const toolOf = ({ deeds, field, fixer, sideEffect }: Scenario, sinks: Sinks) => {
  let count = 0
  const deed = (): Deed => deeds[count++ % deeds.length]!
  const parameters = Schema.Struct({ user: Schema.String, key: field.schema })
  const options = {
    description: "Logs in",
    parameters,
    success: Done,
    identity: ({ user }: { readonly user: string }) => user
  }
  const handler = (params: typeof parameters.Type) =>
    Effect.suspend((): Effect.Effect<typeof Done.Type, SemanticGarbage | ToolUnavailable> => {
      sinks.handled++
      switch (deed()) {
        case "works":
          return Effect.succeed({ done: true })
        case "has it as its result":
          return Effect.succeed({ done: true, key: Redacted.make(canary) })
        case "refuses":
          return Effect.fail(new SemanticGarbage({ code: "unknown_user", detail: "There is no such user." }))
        case "is lost":
          return Effect.fail(
            new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
          )
        case "breaks":
          return Effect.die(new TypeError(`Not a function, with ${typeof params.key} in scope.`))
        case "asks":
          return Effect.as(ToolCall.ask("Really?"), { done: true })
        case "stops":
          return ToolCall.stop("No more.")
      }
    })
  const tool = sideEffect === "none"
    ? Tool.make("log_in", { ...options, sideEffect: "none" }, handler)
    : sideEffect === "idempotent"
    ? Tool.make("log_in", { ...options, sideEffect: "idempotent" }, handler)
    : sideEffect === "idempotent_by_key"
    ? Tool.make("log_in", { ...options, sideEffect: "idempotent_by_key" }, handler)
    : Tool.make("log_in", { ...options, sideEffect: "non_idempotent" }, handler)
  const corrector = Agent.make({ instructions: "Correct the arguments.", toolkit: Toolkit.make(...Fixer.tools) })
  const correcting = Model.layer({
    respond: (request) => {
      sinks.add("the model of a fixer", [Array.from(request.transcript), request.tools])
      return Effect.succeed({ text: JSON.stringify({ user: "ada", key: "?" }), calls: [] })
    }
  })
  return fixer === "none" ? tool : tool.pipe(Tool.fix((rejection: Fixer.Rejection) => {
    sinks.add("a fixer", rejection)
    if (fixer === "a function") return Effect.succeed(JSON.stringify({ user: "ada", key: field.value }))
    return fixer === "an agent"
      ? Effect.provide(Fixer.agent(corrector)(rejection), correcting)
      : Fixer.escalate({ detail: "The key is wrong.", hint: "Ask for it." })
  }))
}

/** A model that calls the tool in each turn, and notes what it is sent. */
const modelOf = ({ field, turns, twice, writings: how }: Scenario, sinks: Sinks) => {
  let turn = 0
  return Model.layer({
    respond: (request) => {
      const { tools, transcript } = request
      const told = Array.from(transcript).flatMap((message): ReadonlyArray<unknown> =>
        message.role === "assistant" ? [message.calls.map(({ id, name, shown }) => ({ id, name, shown }))] : [message]
      )
      sinks.add("the model", [told, tools, request.options])
      if (turn >= turns) return Effect.succeed({ text: "Done.", calls: [] })
      const text = writings[how[turn % how.length]!]!(field.value)
      const calls = Array.from(
        { length: twice ? 2 : 1 },
        (_, index) => ({ id: `${turn}-${index}`, name: "log_in", arguments: text })
      )
      turn++
      return Effect.succeed({ text: "", calls, native: { calls: [{ text }] } })
    }
  })
}

const encoded = <A>(schema: Schema.Codec<A, unknown>) => (value: A) => JSON.stringify(Schema.encodeSync(schema)(value))

const observer = (sinks: Sinks): Observer.Observer => ({
  failureLevel: "Info",
  onEvent: (event, failure) => sinks.add("the observer", [event, failure]),
  onLateResult: (result) => Effect.sync(() => sinks.add("late results", result))
})

const logger = (sinks: Sinks) =>
  Logger.layer([Logger.make((options) => {
    const { cause, fiber, message } = options
    sinks.add("the log", [message, fiber.getRef(References.CurrentLogAnnotations), Cause.pretty(cause)])
    sinks.add("the log as JSON", Logger.formatJson.log(options))
    sinks.add("the log as text", Logger.formatLogFmt.log(options))
  })])

const noteEnd = (
  sinks: Sinks,
  end: AgentFailure.AgentFailure | Extract<AgentEvent.AgentEvent, { _tag: "RunEnded" }>["answer"]
) => {
  const { facts, report, transcript } = end
  sinks.add("the end", end)
  sinks.add("the end as text", String(end))
  // A call that waits for the user keeps its arguments.
  if (!("suspension" in end)) sinks.add("the end as JSON", JSON.stringify(end))
  sinks.add("the report", encoded(RunReport.RunReport)(report))
  sinks.add("the facts", encoded(CallFacts.schema)(facts))
  sinks.add("the doubts", CallFacts.inDoubt(facts))
  sinks.add("the transcript", transcript)
  sinks.add("the transcript as JSON", JSON.stringify(transcript))
  sinks.add("the transcript to show", encoded(Transcript.schema)(Transcript.shown(transcript)))
  if ("calls" in end) sinks.add("the calls of a loop", end.calls)
  if ("question" in end) sinks.add("the question", end.question)
}

const noted = <R>(sinks: Sinks, events: Stream.Stream<AgentEvent.AgentEvent, AgentFailure.Failed, R>) =>
  events.pipe(
    Stream.tap((event) =>
      Effect.gen(function*() {
        // The run goes on from this one.
        if (event._tag !== "RunSuspended") sinks.add(`the event ${event._tag}`, event)
        sinks.add(`the event ${event._tag} as JSON`, encoded(AgentEvent.schema)(event))
        if (event._tag === "RunEnded") noteEnd(sinks, event.answer)
        yield* Effect.logInfo(event)
        yield* Stream.make(event).pipe(
          AgentEvent.forClients({ arguments: true, results: true }),
          Stream.runForEach((event) => Effect.sync(() => sinks.add("the client", encoded(ClientEvent.schema)(event))))
        )
      })
    ),
    asRun,
    Effect.tapError((failure) => Effect.sync(() => noteEnd(sinks, failure))),
    Effect.tapError((failure) => Effect.logInfo("The run failed", String(failure)))
  )

const play = (scenario: Scenario): Promise<Sinks> => {
  const sinks = new Sinks()
  const tool = toolOf(scenario, sinks)
  sinks.add("the explanation", Tool.explain(tool))
  const agent = Agent.make({
    toolkit: Toolkit.make(tool),
    limits: { turns: 10 },
    onDoubt: scenario.onDoubt,
    onLimit: scenario.concludes ? "conclude" : "fail"
  })
  const run = Effect.gen(function*() {
    let exit = yield* Effect.exit(noted(sinks, agent.stream("Log me in.")))
    for (let asked = 0; asked < 4; asked++) {
      const failure = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
      if (failure?._tag !== "RunSuspended") break
      const stored = encoded(AgentFailure.Suspension)(failure.suspension)
      const suspension = yield* Schema.decodeUnknownEffect(AgentFailure.Suspension)(JSON.parse(stored))
      exit = yield* Effect.exit(noted(sinks, agent.resumeStream(suspension, "yes")))
    }
  })
  return Effect.runPromise(
    run.pipe(
      Observer.observe(observer(sinks)),
      Effect.provide([modelOf(scenario, sinks), logger(sinks)])
    )
  ).then(() => sinks)
}

describe("secrets", () => {
  it("are known to nobody but the handler and the model that wrote them", async () => {
    const count = { handled: 0, refused: 0, looped: 0, suspended: 0 }
    await fc.assert(
      fc.asyncProperty(scenario, async (scenario) => {
        const sinks = await play(scenario)
        for (const [sink, text] of sinks.seen) {
          if (text.includes(canary)) assert.fail(`${sink}: ${text}`)
        }
        if (sinks.handled > 0) count.handled++
        else count.refused++
        if (sinks.seen.some(([sink]) => sink === "the calls of a loop")) count.looped++
        if (sinks.seen.some(([sink]) => sink === "the question")) count.suspended++
      }),
      { numRuns: runs(1_200) }
    )
    assert.isAbove(count.handled, cases(200))
    assert.isAbove(count.refused, cases(40))
    assert.isAbove(count.looped, cases(20))
    assert.isAbove(count.suspended, cases(20))
  })
})
