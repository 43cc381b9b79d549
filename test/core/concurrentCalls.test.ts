/** Calls of one turn that act, and need not wait for each other. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  Observer,
  RetryPolicy,
  SemanticGarbage,
  Tool,
  ToolCall,
  type ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import type * as AgentEvent from "@fallible/core/AgentEvent"
import * as Journal from "@fallible/core/Journal"
import * as RunHandle from "@fallible/core/RunHandle"
import { ScriptedModel } from "@fallible/testing"
import { Deferred, Duration, Effect, Exit, Fiber, Logger, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { FileJournal } from "../support/fileJournal.ts"
import { serving } from "../support/http.ts"

const Mail = Schema.Struct({ to: Schema.String, text: Schema.optionalKey(Schema.String) })
type Params = typeof Mail.Type
type Send = (params: Params, number: number) => Effect.Effect<string, ToolFailure.ToolFailure<string>>
type Options = Partial<
  Pick<Tool.Definition<string, Params>, "identity" | "concurrent" | "joins" | "sideEffect" | "failureLimit">
>

const recipient = ({ to }: Params) => to

const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true })

/** A mailbox that takes 0.6 s for each mail: when each one began and ended, and under which key. */
const mailbox = () => {
  const begun: Array<string> = []
  const sent: Array<string> = []
  const keys = new Map<string, string>()
  const sender = <const Name extends string>(
    name: Name,
    options: Options = { identity: recipient },
    send: Send = () => Effect.succeed("sent")
  ) =>
    Tool.make(
      name,
      { description: "Sends a mail", parameters: Mail, success: Schema.String, ...options },
      (params) =>
        Effect.gen(function*() {
          const number = begun.push(params.to)
          const { idempotencyKey } = yield* ToolCall.current
          yield* Effect.sleep("600 millis")
          const answer = yield* send(params, number)
          sent.push(params.to)
          keys.set(`${params.to} ${sent.filter((to) => to === params.to).length}`, idempotencyKey)
          return answer
        })
    )
  return { begun, sent, keys, sender }
}

type Call = readonly [name: string, args: object | string]

const sends = (...recipients: ReadonlyArray<string>): ReadonlyArray<Call> =>
  recipients.map((to) => ["send", { to }] as const)

const textOf = (args: object | string): string => typeof args === "string" ? args : JSON.stringify(args)

const modelOf = (calls: ReadonlyArray<Call>) =>
  ScriptedModel.layer(({ messages }) =>
    messages.some(({ role }) => role === "tool") ? ScriptedModel.text("Done.") : {
      text: "",
      calls: calls.map(([name, args], index) => ({ id: `${index}`, name, arguments: textOf(args) }))
    }
  )

const agentOf = <T extends Tool.Any>(tools: ReadonlyArray<T>, options: Partial<Agent.Options<never>> = {}) =>
  Agent.make({ toolkit: Toolkit.make(...tools), ...options })

/** Runs an agent whose model makes these calls in one turn, and collects its events. */
const inOneTurn = <T extends Tool.Any>(
  tools: ReadonlyArray<T>,
  calls: ReadonlyArray<Call>,
  options: Agent.RunOptions = {}
) =>
  agentOf(tools).stream("Go.", options).pipe(
    Stream.runCollect,
    Effect.map(endOf),
    Effect.provide([modelOf(calls), Logger.layer([])])
  )

const endOf = (events: ReadonlyArray<AgentEvent.AgentEvent>) => {
  const last = events.at(-1)
  if (last?._tag !== "RunEnded") return assert.fail("The run has no answer.")
  const results = Array.from(last.answer.transcript).flatMap((message) => message.role === "tool" ? [message.text] : [])
  const joined = events.flatMap((event) => event._tag === "CallJoined" ? [event.index] : [])
  return { answer: last.answer, results, joined }
}

/** Runs on the virtual clock until the end, and returns the result and the time that it took. */
const timed = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(Effect.timed(self), { startImmediately: true })
    for (let waits = 0; waits < 100 && fiber.pollUnsafe() === undefined; waits++) yield* TestClock.adjust("50 millis")
    const [elapsed, result] = yield* Fiber.join(fiber)
    return [Duration.toMillis(elapsed), result] as const
  })

const letters = ["a", "b", "c", "d", "e", "f"]

describe("calls that act run together", () => {
  it.effect("if the identity of their tool tells them apart: six of 0.6 s take 0.6 s", () =>
    Effect.gen(function*() {
      const { begun, sender, sent } = mailbox()
      const run = yield* Effect.forkChild(inOneTurn([sender("send")], sends(...letters)), { startImmediately: true })
      yield* TestClock.adjust("599 millis")
      assert.deepStrictEqual([begun, sent], [letters, []])
      assert.isUndefined(run.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      const { answer, results } = yield* Fiber.join(run)
      assert.deepStrictEqual(sent, letters)
      assert.deepStrictEqual(results, letters.map(() => "\"sent\""))
      assert.strictEqual(Array.from(answer.facts.intents).length, 6)
    }))

  it.effect("at most eight at once", () =>
    Effect.gen(function*() {
      const { begun, sender } = mailbox()
      const nine = [...letters, "g", "h", "i"]
      const run = yield* Effect.forkChild(inOneTurn([sender("send")], sends(...nine)), { startImmediately: true })
      yield* TestClock.adjust("599 millis")
      assert.strictEqual(begun.length, 8)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(begun.length, 9)
      yield* TestClock.adjust("600 millis")
      assert.strictEqual((yield* Fiber.join(run)).results.length, 9)
    }))

  it.effect("also of several tools, if each says so", () =>
    Effect.gen(function*() {
      for (const [concurrent, expected] of [[true, 600], [undefined, 1800], [false, 1800]] as const) {
        const { sender } = mailbox()
        const options = { identity: recipient, ...(concurrent === undefined ? {} : { concurrent }) }
        const tools = [sender("send", options), sender("text", options)]
        const [elapsed] = yield* timed(inOneTurn(tools, [
          ["send", { to: "a" }],
          ["text", { to: "a" }],
          ["send", { to: "b" }]
        ]))
        assert.strictEqual(elapsed, expected)
      }
    }))

  it.effect("whatever the side effect is, and without an identity if the tool says so", () =>
    Effect.gen(function*() {
      for (const sideEffect of ["idempotent", "idempotent_by_key", "non_idempotent"] as const) {
        const byIdentity = { identity: recipient, sideEffect }
        for (const options of [byIdentity, { identity: "all", sideEffect, concurrent: true }] as const) {
          const { sender } = mailbox()
          const [elapsed] = yield* timed(inOneTurn([sender("send", options)], sends("a", "b")))
          assert.strictEqual(elapsed, 600)
        }
      }
    }))
})

describe("calls that act keep their order", () => {
  it.effect("if their identities have a part in common: to rename a to b, and then b to c", () =>
    Effect.gen(function*() {
      const begun: Array<string> = []
      const ended: Array<string> = []
      const rename = Tool.make("rename", {
        description: "Renames",
        parameters: Schema.Struct({ from: Schema.String, to: Schema.String }),
        success: Schema.String,
        sideEffect: "idempotent_by_key",
        identity: ({ from, to }) => [from, to]
      }, ({ from }) =>
        Effect.gen(function*() {
          begun.push(`${from} after ${ended.length}`)
          yield* Effect.sleep("1 second")
          ended.push(from)
          return "renamed"
        }))
      const calls = [["a", "b"], ["b", "c"], ["x", "y"]].map(([from, to], index) => ({
        id: `${index}`,
        name: "rename",
        arguments: JSON.stringify({ from, to })
      }))
      const run = Agent.make({ toolkit: Toolkit.make(rename) }).run("?").pipe(
        Effect.provide(ScriptedModel.layer([{ text: "", calls }, ScriptedModel.text("Done.")]))
      )
      const fiber = yield* Effect.forkChild(run)
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(begun, ["a after 0", "x after 0", "b after 1"])
    }))

  const inOrder = (options: Options, calls: ReadonlyArray<Call> = sends("a", "b")) =>
    Effect.gen(function*() {
      const { begun, sender, sent } = mailbox()
      const run = inOneTurn([sender("send", options)], calls)
      const [elapsed] = yield* timed(run)
      assert.strictEqual(elapsed, 600 * sent.length)
      return [begun, sent]
    })

  it.effect("if nothing tells them apart, if all arguments do, or if their tool says so", () =>
    Effect.gen(function*() {
      const all: ReadonlyArray<Options> = [
        {},
        { identity: "all" },
        { sideEffect: "idempotent" },
        { sideEffect: "idempotent", identity: "all" },
        { identity: recipient, concurrent: false }
      ]
      for (const options of all) assert.deepStrictEqual(yield* inOrder(options), [["a", "b"], ["a", "b"]])
    }))

  it.effect("if an idempotent tool sets one thing twice", () =>
    Effect.gen(function*() {
      const calls: ReadonlyArray<Call> = [["send", { to: "a", text: "1" }], ["send", { to: "a", text: "2" }]]
      yield* inOrder({ sideEffect: "idempotent", identity: recipient }, calls)
    }))

  it.effect("if a fixer may make them equal", () =>
    Effect.gen(function*() {
      const { begun, sender } = mailbox()
      const rejecting = sender("send", { identity: recipient }, ({ to }) =>
        to === "A" ?
          Effect.fail(new SemanticGarbage({ code: "case", detail: "Lower case.", outcome: "not_executed" }))
          : Effect.succeed("sent"))
      const fixed = rejecting.pipe(Tool.fix(() => ({ to: "a" }), { on: ["SemanticGarbage"] }))
      const [, { joined }] = yield* timed(inOneTurn([fixed], sends("A", "a")))
      assert.deepStrictEqual(begun, ["A", "a"])
      assert.deepStrictEqual(joined, [2])
    }))

  it.effect("around a read, which sees what was written before it", () =>
    Effect.gen(function*() {
      const { sender, sent } = mailbox()
      const list = Tool.make(
        "list",
        { description: "Lists mails", success: Schema.Array(Schema.String), sideEffect: "none" },
        () => Effect.sync(() => [...sent])
      )
      const calls: ReadonlyArray<Call> = [...sends("a", "b"), ["list", {}], ...sends("c", "d")]
      const [elapsed, { results }] = yield* timed(inOneTurn([sender("send"), list], calls))
      assert.strictEqual(elapsed, 1200)
      assert.strictEqual(results[2], "[\"a\",\"b\"]")
    }))
})

describe("equal calls among those that run together", () => {
  it.effect("run once, also if only decoding shows that they are equal", () =>
    Effect.gen(function*() {
      const paid: Array<number> = []
      const pay = Tool.make("pay", {
        description: "Pays",
        parameters: Schema.Struct({ order: Schema.Finite }),
        success: Schema.String,
        identity: ({ order }) => order
      }, ({ order }) => Effect.delay(Effect.sync(() => `receipt ${paid.push(order)}`), "600 millis"))
      const texts = ["{\"order\":100}", "{\"order\":7}", "{\"order\":\"100\"}", "{order: 100,}", "{\"order\":8}"]
      const [elapsed, { joined, results }] = yield* timed(
        inOneTurn([pay], texts.map((text) => ["pay", text] as const))
      )
      assert.strictEqual(elapsed, 600)
      assert.deepStrictEqual(paid, [100, 7, 8])
      assert.deepStrictEqual(joined, [3, 4])
      for (const index of [2, 3]) assert.strictEqual(JSON.parse(results[index]!).value, "receipt 1")
    }))

  it.effect("run once if they have one text, whatever is made up for what it does not say", () =>
    Effect.gen(function*() {
      let made = 0
      let ran = 0
      const pay = Tool.make("pay", {
        description: "Pays",
        parameters: Schema.Struct({
          order: Schema.String,
          id: Schema.Finite.pipe(Schema.withDecodingDefaultKey(Effect.sync(() => made++)))
        }),
        success: Schema.String,
        identity: ({ id, order }) => [order, id]
      }, () => Effect.delay(Effect.sync(() => `receipt ${++ran}`), "600 millis"))
      const calls: ReadonlyArray<Call> = [["pay", { order: "7" }], ["pay", { order: "7" }], ["pay", { order: "8" }]]
      const [, { joined }] = yield* timed(inOneTurn([pay], calls))
      assert.deepStrictEqual([ran, joined], [2, [2]])
    }))

  it.effect("run one after the other, each under its key, if the tool joins none", () =>
    Effect.gen(function*() {
      const keysOf = (concurrent: boolean) =>
        Effect.gen(function*() {
          const { keys, sender } = mailbox()
          const options = { identity: recipient, joins: false, concurrent }
          const calls = sends("a", "b", "a", "b", "a")
          const [elapsed, { answer }] = yield* timed(
            inOneTurn([sender("send", options)], calls, { id: "run" })
          )
          assert.strictEqual(elapsed, concurrent ? 1800 : 3000)
          return {
            keys: Array.from(keys, (entry) => entry.join(" ")).toSorted(),
            numbers: Array.from(answer.facts.intents, ([, { number }]) => number).toSorted((one, other) => one - other)
          }
        })
      const together = yield* keysOf(true)
      assert.deepStrictEqual(together, yield* keysOf(false))
      assert.strictEqual(new Set(together.keys.map((key) => key.slice(4))).size, 5)
    }))

  it.effect("share a doubt, which holds back none of the others", () =>
    Effect.gen(function*() {
      const { begun, sender } = mailbox()
      const send = sender("send", { identity: recipient }, ({ to }) =>
        to === "a" ? Effect.fail(lost) : Effect.succeed(to))
      const [elapsed, { joined, results }] = yield* timed(inOneTurn([send], sends("a", "b", "a", "c")))
      assert.strictEqual(elapsed, 600)
      assert.deepStrictEqual(begun, ["a", "b", "c"])
      assert.deepStrictEqual(joined, [3])
      assert.deepStrictEqual(
        results.slice(0, 3).map((text) =>
          JSON.parse(text).certainty ?? "executed"
        ).length,
        3
      )
      assert.strictEqual(JSON.parse(results[2]!).code, JSON.parse(results[0]!).code)
    }))

  it.effect("are refused by a doubt if the tool joins none", () =>
    Effect.gen(function*() {
      const { begun, sender } = mailbox()
      const send = sender(
        "send",
        { identity: recipient, joins: false },
        ({ to }) => to === "a" ? Effect.fail(lost) : Effect.succeed(to)
      )
      const [, { results }] = yield* timed(inOneTurn([send], sends("a", "b", "a")))
      assert.deepStrictEqual(begun, ["a", "b"])
      assert.strictEqual(JSON.parse(results[2]!).code, "repeated_call")
    }))
})

describe("among calls that run together", () => {
  it.effect("a failure or a defect stops no other", () =>
    Effect.gen(function*() {
      const { sender, sent } = mailbox()
      const send = sender("send", { identity: recipient }, ({ to }) => {
        if (to === "b") throw new Error("A bug.")
        return to === "a" ? Effect.fail(lost) : Effect.succeed("sent")
      })
      const [elapsed, { results }] = yield* timed(inOneTurn([send], sends("a", "b", "c")))
      assert.strictEqual(elapsed, 600)
      assert.deepStrictEqual(sent, ["c"])
      assert.strictEqual(results.length, 3)
      assert.strictEqual(results[2], "\"sent\"")
    }))

  it.effect("arguments that cannot be read make nobody wait", () =>
    Effect.gen(function*() {
      const { sender } = mailbox()
      const calls: ReadonlyArray<Call> = [...sends("a"), ["send", "{\"too\":\"b\"}"], ...sends("c")]
      const [elapsed, { results }] = yield* timed(inOneTurn([sender("send")], calls))
      assert.strictEqual(elapsed, 600)
      assert.strictEqual(JSON.parse(results[1]!).code, "invalid_arguments")
    }))

  it.effect("a doubt of a tool without an identity refuses those that have not begun", () =>
    Effect.gen(function*() {
      const { begun, sender, sent } = mailbox()
      const send = sender("send", { concurrent: true }, (_, number) =>
        number === 1 ? Effect.fail(lost) : Effect.succeed("sent"))
      const nine = [...letters, "g", "h", "i"]
      const [, { results }] = yield* timed(inOneTurn([send], sends(...nine)))
      assert.strictEqual(begun.length, 8)
      assert.deepStrictEqual(sent, nine.slice(1, 8))
      assert.strictEqual(JSON.parse(results[8]!).code, "in_doubt")
    }))

  it.effect("a question keeps what the others did, is asked once for equal calls, and holds back the calls after it", () =>
    Effect.gen(function*() {
      const { begun, sender, sent } = mailbox()
      const send = sender(
        "send",
        { identity: recipient },
        ({ to }) =>
          to === "a" || to === "c" ? Effect.as(ToolCall.ask(`Send to ${to}?`), "sent") : Effect.succeed("sent")
      )
      const note = sender("note", {})
      const agent = agentOf([send, note])
      const asked: Array<string> = []
      const going = (run: ReturnType<typeof agent.run>): ReturnType<typeof agent.run> =>
        Effect.catchTag(run, "RunSuspended", ({ question, suspension }) => {
          asked.push(question)
          return going(agent.resume(suspension, "yes"))
        })
      const calls: ReadonlyArray<Call> = [...sends("a", "b", "a", "c", "c"), ["note", { to: "d" }]]
      const [, answer] = yield* timed(Effect.provide(going(agent.run("Go.")), modelOf(calls)))
      assert.deepStrictEqual(asked, ["Send to a?", "Send to c?"])
      assert.deepStrictEqual(sent, ["b", "a", "c", "d"])
      assert.deepStrictEqual(begun.filter((to) => to === "b"), ["b"])
      const results = Array.from(answer.transcript).flatMap((message) => message.role === "tool" ? [message.text] : [])
      assert.strictEqual(results.length, 6)
    }))

  it.effect("a stop lets the others end, and none begin", () =>
    Effect.gen(function*() {
      const { begun, sender, sent } = mailbox()
      const send = sender("send", { identity: recipient }, ({ to }) =>
        to === "a" ? Effect.andThen(ToolCall.stop("Enough."), Effect.succeed("sent")) : Effect.succeed("sent"))
      const calls = sends(...letters, "g", "h", "i")
      const run = agentOf([send]).run("Go.").pipe(Effect.provide(modelOf(calls)), Effect.flip)
      const [, failure] = yield* timed(run)
      assert.strictEqual(failure._tag, "RunStopped")
      assert.strictEqual(begun.length, 8)
      assert.strictEqual(sent.length, 7)
    }))

  it.effect("an interruption ends all, and says of each what is known", () =>
    Effect.gen(function*() {
      const { begun, sender } = mailbox()
      const handle = RunHandle.make()
      const nine = [...letters, "g", "h", "i"]
      const run = yield* Effect.forkChild(
        Effect.provide(agentOf([sender("send")]).run("Go.", { handle }), modelOf(sends("a", ...nine))),
        { startImmediately: true }
      )
      yield* TestClock.adjust("100 millis")
      yield* Fiber.interrupt(run)
      assert.strictEqual(begun.length, 7)
      assert.deepStrictEqual(
        handle.progress?.inDoubt.map(({ arguments: text }) => text).toSorted(),
        begun.map((to) => JSON.stringify({ to }))
      )
      const results = Array.from(handle.progress!.transcript).filter(({ role }) => role === "tool")
      assert.strictEqual(results.length, 10)
    }))

  it.effect("limits count the calls in the model's order", () =>
    Effect.gen(function*() {
      const { begun, sender } = mailbox()
      const agent = agentOf([sender("send")], { limits: { callsPerTool: { send: 3 } } })
      const calls = sends("a", "a", "b", "c")
      const [, { transcript }] = yield* timed(Effect.provide(agent.run("Go."), modelOf(calls)))
      assert.deepStrictEqual(begun, ["a", "b"])
      const last = Array.from(transcript).findLast(({ role }) => role === "tool")
      assert.include(last?.role === "tool" ? last.text : "", "call_limit")
    }))

  it.effect("a limit of their tool holds for all", () =>
    Effect.gen(function*() {
      const { sender } = mailbox()
      const [elapsed] = yield* timed(inOneTurn([sender("send").pipe(Tool.concurrency(2))], sends(...letters)))
      assert.strictEqual(elapsed, 1800)
    }))

  it.effect("a doubt that holds back all is asked about once", () =>
    Effect.gen(function*() {
      const { begun, sender } = mailbox()
      const send = sender("send", { concurrent: true }, (_, number) =>
        number === 1 ? Effect.fail(lost) : Effect.succeed("sent"))
      const agent = agentOf([send], { onDoubt: "ask" })
      const journal = new FileJournal()
      const script = ScriptedModel.layer([
        ScriptedModel.call("send", { to: "a" }),
        ScriptedModel.calls(["send", { to: "b" }], ["send", { to: "c" }], ["send", { to: "d" }]),
        ScriptedModel.text("Done.")
      ])
      const asked: Array<string> = []
      const going = (run: ReturnType<typeof agent.run>): ReturnType<typeof agent.run> =>
        Effect.catchTag(run, "RunSuspended", ({ question, suspension }) => {
          asked.push(question)
          return going(agent.resume(suspension, "no"))
        })
      const run = Effect.provide(going(agent.run("Go.", { id: "run" })), [script, Logger.layer([])])
      yield* timed(journal.process((service) =>
        Effect.provideService(run, Journal.current, service)
      ))
      assert.strictEqual(asked.length, 1)
      assert.deepStrictEqual(begun, ["a", "b", "c", "d"])
    }))
})

describe("calls inside a call", () => {
  it.effect("keep their order while an earlier one is in doubt: each may be that one in other words", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const pay = Tool.make(
        "pay",
        {
          description: "Pays",
          parameters: Mail,
          success: Schema.String,
          sideEffect: "idempotent_by_key",
          identity: "all",
          concurrent: true
        },
        () =>
          Effect.flatMap(
            ToolCall.current,
            ({ idempotencyKey }) =>
              Effect.delay(keys.push(idempotencyKey) === 1 ? Effect.fail(lost) : Effect.succeed("paid"), "600 millis")
          )
      )
      const inner = agentOf([pay])
      const script = [
        ScriptedModel.call("pay", { to: "a" }),
        ScriptedModel.text("Lost."),
        ScriptedModel.calls(["pay", { to: "a" }], ["pay", { to: "b" }]),
        ScriptedModel.text("Done.")
      ]
      const shop = Tool.make("shop", { description: "Pays what is due", success: Schema.String }, () => {
        const run = Effect.orDie(inner.run("Pay."))
        return Effect.andThen(run, run).pipe(Effect.as("Done."), Effect.provide(ScriptedModel.layer(script)))
      })
      yield* timed(inOneTurn([shop], [["shop", {}]]))
      assert.strictEqual(keys.length, 3)
      assert.strictEqual(keys[1], keys[0])
      assert.notStrictEqual(keys[2], keys[0])
    }))
})

describe("calls that run together in a journal", () => {
  it.effect("are replayed by their places, and act once, wherever the process stops", () =>
    Effect.gen(function*() {
      for (const hasRun of [false, true]) {
        for (const step of [2, 3, 4, 5, 6]) {
          const { begun, keys, sender } = mailbox()
          const file = new FileJournal()
          // The later a call is, the sooner it ends.
          const send = sender(
            "send",
            { identity: recipient, sideEffect: "idempotent_by_key" },
            ({ to }) => Effect.as(Effect.sleep(`${900 - 100 * letters.indexOf(to)} millis`), `sent to ${to}`)
          )
          const calls = sends("a", "b", "a", "c")
          const run = Effect.provide(agentOf([send]).run("Go.", { id: "run" }), modelOf(calls))
          const within = (stop?: { readonly step: number; readonly hasRun: boolean }) =>
            timed(file.process((journal) => Effect.provideService(run, Journal.current, journal), stop))
          yield* within({ step, hasRun })
          const [, exit] = yield* within()
          if (exit === undefined || !Exit.isSuccess(exit)) return assert.fail("The run has no answer.")
          const results = Array.from(exit.value.transcript).flatMap((message) =>
            message.role === "tool" ? [JSON.parse(message.text)] : []
          )
          const said = results.map((result) => typeof result === "string" ? result : result.value)
          assert.deepStrictEqual(said, ["sent to a", "sent to b", "sent to a", "sent to c"])
          assert.deepStrictEqual(new Set(begun), new Set(["a", "b", "c"]))
          // A call that waits for an equal one has not begun.
          assert.strictEqual(file.lost.includes("turn/1/call/3"), step === 5)
          assert.strictEqual(new Set(keys.values()).size, 3)
          const again = yield* within()
          assert.deepStrictEqual(again[1], exit)
        }
      }
    }))
})

describe("over real HTTP", () => {
  it.live("six posts are under way at once, and each has its own evidence", () =>
    Effect.gen(function*() {
      const waiting: Array<() => void> = []
      const bodies: Array<string> = []
      const all = yield* Deferred.make<void>()
      const url = yield* serving((request, response) => {
        let body = ""
        request.on("data", (part) => {
          body += part
        })
        request.on("end", () => {
          bodies.push(body)
          waiting.push(() => response.writeHead(body === "c" ? 402 : 200).end("\"sent\""))
          if (waiting.length === 6) Deferred.doneUnsafe(all, Exit.void)
        })
      })
      yield* Effect.forkScoped(Effect.andThen(Deferred.await(all), Effect.sync(() => waiting.forEach((end) => end()))))
      const send = Tool.promise("send", {
        description: "Sends a mail",
        parameters: Mail,
        success: Schema.String,
        identity: recipient
      }, async ({ to }, { fetch }) => {
        const response = await fetch(url, { method: "POST", body: to })
        if (!response.ok) throw response
        return await response.json() as string
      }).pipe(Tool.retry(RetryPolicy.transient))
      const certainties: Array<string> = []
      const { results } = yield* inOneTurn([send], sends(...letters, "a")).pipe(
        Effect.provideService(Observer.current, {
          onEvent: (event) => {
            if (event._tag === "AttemptEnded") certainties.push(event.effects ?? "none")
          }
        })
      )
      assert.deepStrictEqual(bodies.toSorted(), letters)
      assert.deepStrictEqual(certainties.toSorted(), ["done", "done", "done", "done", "done", "none"])
      assert.strictEqual(results.filter((text) => text.includes("sent")).length, 6)
      assert.include(results[2]!, "402")
    }).pipe(Effect.scoped))
})
