/**
 * The laws of equal calls of one turn: whatever the model writes, tools answer, users reply and fixers correct, each call
 * has one result, and equal calls act once and have the same result.
 *
 * @module-tag slow
 */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentFailure,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable,
  type Transcript
} from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import * as Journal from "@fallible/core/Journal"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Exit, Logger, Schema } from "effect"
import * as fc from "fast-check"
import { FileJournal } from "../support/fileJournal.ts"
import { runs } from "../support/runs.ts"

// -----------------------------------------------------------------------------
// A turn
// -----------------------------------------------------------------------------

const tools = ["pay", "send", "look"] as const

const orders = ["7", "8"] as const

/** What an execution does, in order. */
const deeds = ["works", "works", "does nothing", "refuses", "is lost"] as const

/** How the same arguments are written. Only a fixer can read the last two. */
const spellings: ReadonlyArray<(order: string, note: string) => string> = [
  (order, note) => JSON.stringify({ order, ...noted(note) }),
  (order, note) => JSON.stringify({ ...noted(note), order }),
  (order, note) => ` { "order" : "${order}"${note === "" ? "" : `, "note": "${note}"`} }`,
  (order, note) => `{order: '${order}',${note === "" ? "" : ` note: '${note}',`}}`,
  (order) => `the order ${order}`,
  (order) => JSON.stringify({ what: order })
]

const readable = spellings.length - 2

const noted = (note: string) => note === "" ? {} : { note }

const call = fc.record({
  tool: fc.constantFrom(...tools, ...tools.slice(0, 2)),
  order: fc.constantFrom(...orders),
  note: fc.constantFrom("", "", "a", "b"),
  spelling: fc.nat(spellings.length - 1)
})

type Call = typeof call extends fc.Arbitrary<infer A> ? A : never

const turn = fc.record({
  calls: fc.array(call, { minLength: 2, maxLength: 8 }),
  sideEffect: fc.constantFrom("non_idempotent", "idempotent_by_key"),
  hasIdentity: fc.boolean(),
  fixer: fc.constantFrom("none", "equal", "different"),
  onDoubt: fc.constantFrom("refuse", "ask"),
  deeds: fc.array(fc.constantFrom(...deeds), { maxLength: 8 }),
  /** Which orders the tools ask about before they act. */
  asks: fc.subarray([...orders]),
  replies: fc.array(fc.constantFrom("yes", "no", "perhaps"), { minLength: 1, maxLength: 4 })
})

type Turn = typeof turn extends fc.Arbitrary<infer A> ? A : never

// -----------------------------------------------------------------------------
// A play
// -----------------------------------------------------------------------------

/** What a handler did. A service that honours keys does nothing for a key that it knows. */
interface Act {
  readonly tool: string
  readonly order: string
  readonly note: string | undefined
  readonly key: string
}

const failures = {
  "does nothing": new ToolUnavailable({ code: "busy", detail: "Busy.", transient: true, outcome: "not_executed" }),
  "refuses": new SemanticGarbage({ code: "declined", detail: "Declined.", outcome: "not_executed" }),
  "is lost": new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true })
}

const Params = Schema.Struct({ order: Schema.String, note: Schema.optionalKey(Schema.String) })

const worldOf = ({ asks, deeds: planned, fixer, hasIdentity, onDoubt, sideEffect }: Turn) => {
  const acts: Array<Act> = []
  let looks = 0
  let fixed = 0
  const remaining = [...planned]
  const identity = hasIdentity
    ? { identity: ({ order }: typeof Params.Type) => order }
    : sideEffect === "idempotent_by_key"
    ? { identity: "all" } as const
    : {}
  const acting = (name: string) => {
    const made = Tool.make(
      name,
      { description: "", parameters: Params, success: Schema.String, sideEffect, ...identity },
      ({ note, order }) =>
        Effect.gen(function*() {
          if (asks.some((asked) => asked === order)) yield* ToolCall.ask(`Is ${order} meant?`)
          const { idempotencyKey: key } = yield* ToolCall.current
          const deed = remaining.shift() ?? "works"
          const isKnown = sideEffect === "idempotent_by_key" && acts.some((act) => act.key === key)
          if (!isKnown && (deed === "works" || deed === "is lost")) acts.push({ tool: name, order, note, key })
          return deed === "works" ? `did ${order}` : yield* failures[deed]
        })
    )
    const fix = ({ text }: { readonly text: string }) => {
      const order = /\d/.exec(text)?.[0] ?? ""
      return fixer === "equal" ? { order } : { order, note: `fixed ${++fixed}` }
    }
    return fixer === "none" ? made : Tool.fix(made, fix)
  }
  const look = Tool.make(
    "look",
    { description: "", parameters: Params, success: Schema.String, sideEffect: "none" },
    ({ order }) =>
      Effect.sync(() => {
        looks++
        return `saw ${order}`
      })
  )
  const agent = Agent.make({ toolkit: Toolkit.make(acting("pay"), acting("send"), look), onDoubt })
  return { agent, acts, looks: () => looks }
}

const textOf = ({ note, order, spelling }: Call): string => spellings[spelling]!(order, note)

const modelOf = ({ calls }: Turn) =>
  ScriptedModel.layer(({ messages }) =>
    messages.some(({ role }) => role === "tool")
      ? ScriptedModel.text("Done.")
      : {
        text: "",
        calls: calls.map((one, index) => ({ id: `call_${index}`, name: one.tool, arguments: textOf(one) }))
      }
  )

const suspensions = Schema.toCodecJson(AgentFailure.Suspension)

const stored = (suspension: AgentFailure.Suspension) =>
  Schema.decodeUnknownSync(suspensions)(JSON.parse(JSON.stringify(Schema.encodeSync(suspensions)(suspension))))

type Run = Effect.Effect<Answer.Answer, AgentFailure.AgentFailure>

/**
 * Runs until there are no more questions. Each part of the run is a part of `within`.
 *
 * @param isTrue whether a user may give this reply to a question about a call in doubt; the others do not know
 */
const answered = (
  { replies }: Turn,
  { agent }: Pick<ReturnType<typeof worldOf>, "agent">,
  layer: ReturnType<typeof modelOf>,
  within: (run: Run) => Run,
  isTrue: (question: string, reply: string) => boolean = () => true
): Run => {
  let asked = 0
  const replyTo = (question: string): string => {
    if (question.startsWith("Is ")) return "yes"
    const reply = replies[asked++ % replies.length]!
    return isTrue(question, reply) ? reply : "perhaps"
  }
  const go = (run: Run): Run =>
    Effect.catchTag(within(run), "RunSuspended", ({ question, suspension }) => {
      const reply = replyTo(question)
      return go(Effect.provide(agent.resume(stored(suspension), reply), layer))
    })
  return go(Effect.provide(agent.run("Go.", { id: "run" }), layer))
}

// -----------------------------------------------------------------------------
// The laws
// -----------------------------------------------------------------------------

/** Names the call that a tool takes this for. Equal names are equal calls. */
const nameOf = ({ fixer, hasIdentity }: Turn, one: Call): string => {
  const { note, order, spelling, tool } = one
  if (spelling < readable) return `${tool} ${order}${hasIdentity ? "" : ` ${note}`}`
  if (fixer === "none") return `${tool} as written: ${textOf(one)}`
  if (hasIdentity) return `${tool} ${order}`
  return fixer === "equal" ? `${tool} ${order} ` : `${tool} as written: ${textOf(one)}`
}

/** The results of the turn, and checks that a model can read them: one for each call, in order. */
const resultsOf = ({ calls }: Turn, transcript: Transcript.Transcript): ReadonlyArray<unknown> => {
  const messages = Array.from(transcript)
  const start = messages.findIndex((message) => message.role === "assistant" && message.calls.length > 0)
  const assistant = messages[start]
  const ids = assistant?.role === "assistant" ? assistant.calls.map(({ id }) => id) : []
  const results = messages.slice(start + 1, -1).map((message) =>
    message.role === "tool" ? message : assert.fail(`${message.role} is between the calls and their results`)
  )
  assert.deepStrictEqual(results.map(({ callId }) => callId), ids)
  assert.strictEqual(ids.length, calls.length)
  assert.strictEqual(messages.at(-1)?.role, "assistant")
  return results.map(({ text }) => saidIn(text))
}

const Said = Schema.Struct({ code: Schema.optionalKey(Schema.String), value: Schema.optionalKey(Schema.Json) })

// What a result says without its notes: a value, or the code of a failure.
const saidIn = (text: string): unknown => {
  const read: unknown = JSON.parse(text)
  if (typeof read === "string") return { value: read }
  const { code, value } = Schema.decodeUnknownSync(Said)(read)
  return value === undefined ? { code } : { value }
}

const actsOn = (one: Turn, acts: ReadonlyArray<Act>, name: string): ReadonlyArray<Act> => {
  const equal = one.calls.filter((call) => nameOf(one, call) === name)
  const [first] = equal
  if (first === undefined) return []
  const { hasIdentity } = one
  const isWritten = name.includes("as written")
  return acts.filter(({ note = "", order, tool }) =>
    tool === first.tool && order === first.order &&
    (hasIdentity || (isWritten ? note.startsWith("fixed") : note === (first.spelling < readable ? first.note : "")))
  )
}

// A fixer that corrects each text differently makes one call of each text.
const textsOf = (one: Turn, name: string): number =>
  name.includes("as written")
    ? new Set(
      one.calls.filter(({ order, spelling, tool }) =>
        spelling >= readable && name.startsWith(`${tool} `) && name.includes(order)
      )
        .map(textOf)
    ).size
    : 1

const checkActs = (one: Turn, acts: ReadonlyArray<Act>): void => {
  for (const name of new Set(one.calls.map((call) => nameOf(one, call)))) {
    assert.isAtMost(actsOn(one, acts, name).length, textsOf(one, name), `${name} acted twice`)
  }
  for (const { order, tool } of acts) {
    assert.isTrue(
      one.calls.some((call) => call.tool === tool && call.order === order),
      `nobody asked for ${tool} ${order}`
    )
  }
}

const check = (one: Turn) =>
  Effect.gen(function*() {
    const world = worldOf(one)
    const { acts } = world
    const { facts, report, transcript } = yield* answered(one, world, modelOf(one), (run) => run)
    const results = resultsOf(one, transcript)
    checkActs(one, acts)
    const first = new Map<string, unknown>()
    one.calls.forEach((call, index) => {
      if (call.tool === "look") return
      const name = nameOf(one, call)
      const before = first.get(name)
      if (before === undefined) first.set(name, results[index])
      else assert.deepStrictEqual(results[index], before, `${name} has two results`)
    })
    const looks = one.calls.filter(({ spelling, tool }) => tool === "look" && spelling < readable)
    assert.strictEqual(world.looks(), looks.length)
    assert.strictEqual(report.calls, one.calls.length)
    // Each effect that was told counts once, and has one new number.
    const told = new Set(
      one.calls.flatMap((call, index) =>
        call.tool !== "look" && JSON.stringify(results[index]).includes("did ") ? [nameOf(one, call)] : []
      )
    )
    const done = Array.from(facts.intents).filter(([, { done, settled }]) =>
      done !== undefined && settled === undefined
    )
    assert.strictEqual(done.length, told.size)
    for (const [, { number }] of done) assert.isAtMost(number, 3)
  })

const stops = fc.array(fc.record({ step: fc.integer({ min: 2, max: 9 }), hasRun: fc.boolean() }), {
  minLength: 1,
  maxLength: 3
})

const checkInProcesses = (one: Turn, planned: typeof stops extends fc.Arbitrary<infer A> ? A : never) =>
  Effect.gen(function*() {
    const world = worldOf(one)
    const file = new FileJournal()
    const remaining = [...planned]
    const within = (run: Run): Run =>
      Effect.gen(function*() {
        for (;;) {
          const exit = yield* file.process(
            (journal) => Effect.provideService(run, Journal.current, journal),
            remaining.shift()
          )
          if (exit !== undefined) return yield* Exit.isSuccess(exit) ? exit : Effect.failCause(exit.cause)
        }
      })
    // Whoever says "no" about a call that acted makes the next one act, too.
    const isTrue = (question: string, reply: string) =>
      reply !== "no" || !world.acts.some(({ tool }) => question.startsWith(`${tool} `))
    const { transcript } = yield* answered(one, world, modelOf(one), within, isTrue)
    resultsOf(one, transcript)
    checkActs(one, world.acts)
  })

/** The arguments of the first payment are lost with its process. A user says, at the second, that it has taken effect. */
const lostAndSettled: [Turn, Array<{ readonly step: number; readonly hasRun: boolean }>] = [
  {
    calls: [0, 1, 2].map((index) => ({ tool: "pay", order: index === 1 ? "7" : "8", note: "", spelling: index })),
    sideEffect: "non_idempotent",
    hasIdentity: true,
    fixer: "different",
    onDoubt: "ask",
    deeds: [],
    asks: [],
    replies: ["yes"]
  },
  [{ step: 2, hasRun: true }]
]

const silently = <A, E>(self: Effect.Effect<A, E>) => Effect.provide(self, Logger.layer([]))

describe("equal calls of one turn", () => {
  it(`have one result each, the same one, and act once, in ${runs(1_000)} random turns`, () =>
    fc.assert(fc.asyncProperty(turn, (one) => Effect.runPromise(silently(check(one)))), { numRuns: runs(1_000) }))

  it(`act once in processes that stop, in ${runs(300)} random turns`, () =>
    fc.assert(
      fc.asyncProperty(turn, stops, (one, planned) => Effect.runPromise(silently(checkInProcesses(one, planned)))),
      { numRuns: runs(300), examples: [lostAndSettled] }
    ))
})
