/** Work that looks like a loop and is none: the guard tells, waits and reads again, and never stands in its way. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Policy, SemanticGarbage, Tool, Toolkit, ToolUnavailable } from "@fallible/core"
import type * as LoopGuard from "@fallible/core/LoopGuard"
import { ScriptedModel } from "@fallible/testing"
import { Clock, Duration, Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { isPending } from "../../packages/core/src/internal/value/pendingData.ts"
import { answered, loopDetected, offered, played, repeating, steps, times, told, tool } from "../support/stuck.ts"
import { passingBy } from "../support/virtualTime.ts"

const look = ScriptedModel.call("look", {})
const lenient: LoopGuard.Options = {}

/** Plays calls with the default guard. Time passes only for what waits, in steps of a quarter of a second. */
const playing = <T extends Tool.Any>(tools: ReadonlyArray<T>, script: ScriptedModel.Script) =>
  Effect.flatMap(
    Effect.forkChild(played(tools, script, { loopGuard: lenient })),
    (fiber) => passingBy("250 millis", fiber)
  )

const notesIn = (text: string | undefined): ReadonlyArray<string> => JSON.parse(text ?? "{}").notes ?? []

describe("results that time may change", () => {
  it.effect("are read nine times without a change, with growing waits, and nothing tells the model to stop", () =>
    Effect.gen(function*() {
      const run = yield* playing(
        [tool("look", (ran) => ran < 9 ? { status: "running" } : { status: "succeeded" })],
        times(9, () => look)
      )
      assert.strictEqual(answered(run).text, "done")
      const texts = told(run)
      assert.strictEqual(texts.at(-1), "{\"status\":\"succeeded\"}")
      assert.isFalse(texts.some((text) => /do not|do something else/i.test(text)))
      assert.deepStrictEqual(notesIn(texts[2]), [
        "You already have this result: the same call has returned it 3 times. It may still change, so the next call waits a moment first"
      ])
      // Five looks have waited: 0.5 + 0.75 + 1.125 + 1.6875 + 2.53125 s, in steps of a quarter.
      assert.match(
        notesIn(texts[6])[0] ?? "",
        /^You already have this result, unchanged for [67]s: the same call has returned it 7 times\./
      )
      assert.isFalse(steps(run).some((step) => !step.includes("warned")))
    }))

  it.effect("wait half a second first, and not a millisecond less", () =>
    Effect.gen(function*() {
      const ran: Array<number> = []
      const state = tool("look", (time) => {
        ran.push(time)
        return { done: false }
      })
      const agent = Agent.make({ toolkit: Toolkit.make(state) })
      const fiber = yield* Effect.forkChild(Effect.provide(agent.run("?"), ScriptedModel.layer(times(4, () => look))))
      yield* TestClock.adjust("499 millis")
      assert.strictEqual(ran.length, 2)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(ran.length, 3)
      yield* TestClock.adjust("749 millis")
      assert.strictEqual(ran.length, 3)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* Fiber.join(fiber)).text, "done")
      assert.strictEqual(ran.length, 4)
    }))

  it.effect("do not wait longer than the run may take", () =>
    Effect.gen(function*() {
      const agent = Agent.make({
        toolkit: Toolkit.make(tool("look", () => ({ done: false }))),
        limits: { elapsed: "400 millis", turns: 5 }
      })
      const failure = yield* Effect.flip(Effect.provide(agent.run("?"), ScriptedModel.layer(repeating(look))))
      assert.strictEqual(failure._tag === "LimitReached" && failure.limit, "turns")
    }))

  it.effect("are waited for twenty times, and count like others afterwards", () =>
    Effect.gen(function*() {
      const run = yield* playing([tool("look", () => ({ available: false }))], repeating(look))
      const { report } = loopDetected(run)
      assert.isAtLeast(report.turns, 20 + 5)
      assert.isAtMost(report.turns, 20 + 15)
    }))

  it.effect("may be looked at between waits of another tool, nineteen rounds long", () =>
    Effect.gen(function*() {
      const run = yield* playing(
        [tool("wait", () => "waited"), tool("look", (ran) => ({ state: ran < 19 ? "deploying" : "done" }))],
        times(38, (turn) => turn % 2 === 1 ? ScriptedModel.call("wait", { n: 30 }) : look)
      )
      assert.strictEqual(answered(run).text, "done")
      assert.isFalse(steps(run).some((step) => !step.includes("warned")))
    }))

  it("are recognized by their words, and other data is not", () => {
    for (
      const value of [
        { status: "running" },
        { job: { state: "IN_PROGRESS" } },
        { done: false },
        { is_ready: false },
        { progress: 0.4 },
        { progress: 40 },
        { jobStatus: "queued" },
        { message: "Still indexing" },
        "running",
        "The report is not ready yet."
      ]
    ) assert.isTrue(isPending(value), JSON.stringify(value))
    for (
      const value of [
        { status: "succeeded" },
        { state: "open" },
        { ready: true },
        { progress: 100 },
        { progress: 1 },
        { celsius: 18 },
        { title: "Running shoes", status: "in stock" },
        { name: "Waiting for Godot" },
        [{ status: "pending" }],
        "Paris is a city",
        `Running ${"x".repeat(1000)}`,
        null
      ]
    ) assert.isFalse(isPending(value), JSON.stringify(value))
  })
})

describe("repetitions that are meant", () => {
  it.effect("throwing a coin seven times, with the same side each time", () =>
    Effect.gen(function*() {
      const run = yield* playing(
        [tool("flip_coin", () => ({ side: "heads" }))],
        times(7, () => ScriptedModel.call("flip_coin", {}))
      )
      assert.strictEqual(answered(run).text, "done")
      assert.isFalse(told(run).some((text) => /do not/i.test(text)))
      assert.match(notesIn(told(run)[2])[0] ?? "", /Use it, or call again if time or chance may change it$/)
    }))

  it.effect("an edit and a test in turn, with the same failing test eight times", () =>
    Effect.gen(function*() {
      const edit = tool("edit", () => "saved", { sideEffect: "idempotent" })
      const run = yield* playing(
        [edit, tool("look", () => ({ failing: 3 }))],
        times(16, (turn) => turn % 2 === 1 ? ScriptedModel.call("edit", { n: turn }) : look)
      )
      assert.strictEqual(answered(run).text, "done")
      assert.deepStrictEqual(steps(run), [])
    }))

  it.effect("the same search before and after a write", () =>
    Effect.gen(function*() {
      let written = 0
      const run = yield* playing(
        [
          tool("look", () => written === 0 ? [] : ["a"]),
          tool("write", () => ++written, { sideEffect: "non_idempotent" })
        ],
        [look, look, ScriptedModel.call("write", {}), look, ScriptedModel.text("done")]
      )
      assert.strictEqual(answered(run).text, "done")
      assert.strictEqual(told(run).at(-1), "[\"a\"]")
      assert.deepStrictEqual(steps(run), [])
    }))
})

describe("a run in which nothing at all changes", () => {
  it.effect("is told, refused the tenth time, and ends the twelfth", () =>
    Effect.gen(function*() {
      const run = yield* played([tool("look", () => "same")], repeating(look), { loopGuard: lenient })
      const { calls, report } = loopDetected(run)
      assert.strictEqual(report.turns, 12)
      assert.deepInclude(calls[0], { tool: "look", times: 12 })
      assert.deepStrictEqual(steps(run).slice(-3), ["10 refused look", "11 withdrawn look", "12 ended look"])
      assert.match(
        notesIn(told(run)[2])[0] ?? "",
        /3 times\. Do not repeat the call\. Use the result, or do something else$/
      )
      assert.deepStrictEqual(offered(run).slice(-2), ["look", ""])
    }))

  for (const count of [2, 3]) {
    it.effect(`counts a round of ${count} calls once`, () =>
      Effect.gen(function*() {
        const names = ["look", "find", "other"].slice(0, count)
        const run = yield* played(
          names.map((name) => tool(name, () => name)),
          repeating(...names.map((name) => ScriptedModel.call(name, {}))),
          { loopGuard: lenient }
        )
        const { report } = loopDetected(run)
        assert.isAtLeast(report.turns, 9 * count)
        assert.isAtMost(report.turns, 12 * count)
        assert.include(told(run)[2 * count] ?? "", "3 times")
      }))
  }

  it.effect("is noticed, too, if tools set a state back and forth", () =>
    Effect.gen(function*() {
      const set = tool("set", () => "ok", { sideEffect: "idempotent" })
      const run = yield* played(
        [set],
        repeating(ScriptedModel.call("set", { n: 1 }), ScriptedModel.call("set", { n: 2 })),
        { loopGuard: lenient }
      )
      const { calls } = loopDetected(run)
      assert.deepStrictEqual(calls.map(({ tool }) => tool), ["set", "set"])
      assert.match(told(run)[4] ?? "", /has now succeeded 3 times with the same result\. Repeat it only if you mean/)
    }))
})

describe("what comes later", () => {
  const ticket = Schema.Struct({ id: Schema.String })
  const create = Tool.promise("create_ticket", {
    description: "Creates a ticket",
    success: ticket,
    sideEffect: "non_idempotent"
  }, async () => ({ id: "T-77" }))
  const reading = (find: (ran: number) => unknown) => {
    let ran = 0
    const tool = Tool.promise(
      "get_ticket",
      { description: "Reads a ticket", parameters: ticket, success: Schema.Unknown, sideEffect: "none" },
      async () => {
        const found = find(++ran)
        if (found instanceof Error || found instanceof Response) throw found
        return found
      }
    )
    return { tool, ran: () => ran }
  }
  const script = (reads: number, id = "T-77") => [
    ScriptedModel.call("create_ticket", {}),
    ...Array.from({ length: reads }, () => ScriptedModel.call("get_ticket", { id })),
    ScriptedModel.text("done")
  ]
  const absences: ReadonlyArray<readonly [what: string, make: () => unknown]> = [
    ["a 404", () => new Response("{}", { status: 404 })],
    ["a sentence", () => new Error("There is no ticket T-77.")],
    ["an empty result", () => null]
  ]

  for (const [what, absent] of absences) {
    it.effect(`is read again if this run has made it, and the first answer is ${what}`, () =>
      Effect.gen(function*() {
        const read = reading((ran) => ran < 3 ? absent() : { id: "T-77", title: "Printer" })
        const run = yield* playing([create, read.tool], script(1))
        assert.strictEqual(answered(run).text, "done")
        assert.strictEqual(told(run).at(-1), "{\"id\":\"T-77\",\"title\":\"Printer\"}")
        assert.strictEqual(read.ran(), 3)
      }))

    it.effect(`is told as not visible yet, and may be asked for again, if the answer stays ${what}`, () =>
      Effect.gen(function*() {
        const read = reading((ran) => ran < 5 ? absent() : { id: "T-77" })
        const run = yield* playing([create, read.tool], script(2))
        const [, first, second] = told(run)
        assert.match(first ?? "", /This run made it 3s ago, so it may not be visible yet/)
        assert.notMatch(first ?? "", /do not/i)
        assert.strictEqual(second, "{\"id\":\"T-77\"}")
      }))

    it.effect(`is told at once if this run has not made it: ${what}`, () =>
      Effect.gen(function*() {
        const read = reading(absent)
        const run = yield* playing([create, read.tool], script(1, "T-1"))
        assert.strictEqual(read.ran(), 1)
        assert.notMatch(told(run)[1] ?? "", /This run made it/)
      }))
  }

  it.effect("is no list that is rightly empty, and no other refusal: a new ticket has no comments", () =>
    Effect.gen(function*() {
      for (const answer of [() => [], () => new Error("Ticket T-77 is confidential.")]) {
        const read = reading(answer)
        const run = yield* playing([create, read.tool], script(1))
        assert.strictEqual(read.ran(), 1)
        assert.notMatch(told(run)[1] ?? "", /This run made it/)
      }
    }))

  it.effect("is not meant by an argument that both calls have, if their tools are about other things", () =>
    Effect.gen(function*() {
      const place = Schema.Struct({ city: Schema.String })
      const book = Tool.promise(
        "book_hotel",
        { description: "Books", parameters: place, success: Schema.Unknown, sideEffect: "non_idempotent" },
        async ({ city }) => ({ id: "H-1", city })
      )
      let ran = 0
      const read = (name: string) =>
        Tool.promise(
          name,
          { description: "Reads", parameters: place, success: Schema.Unknown, sideEffect: "none" },
          async () => {
            ran++
            return null
          }
        )
      for (const [name, runs] of [["get_weather", 1], ["get_hotel", 3]] as const) {
        ran = 0
        yield* playing([book, read(name)], [
          ScriptedModel.call("book_hotel", { city: "Paris" }),
          ScriptedModel.call(name, { city: "Paris" }),
          ScriptedModel.text("done")
        ])
        assert.strictEqual(ran, runs, name)
      }
    }))

  it.effect("is not what the run has just removed", () =>
    Effect.gen(function*() {
      const remove = Tool.promise(
        "delete_ticket",
        { description: "Deletes", parameters: ticket, success: Schema.Unknown, sideEffect: "non_idempotent" },
        async ({ id }) => ({ deleted: id })
      )
      const read = reading(() => null)
      const run = yield* playing([create, remove, read.tool], [
        ScriptedModel.call("create_ticket", {}),
        ScriptedModel.call("delete_ticket", { id: "T-77" }),
        ScriptedModel.call("get_ticket", { id: "T-77" }),
        ScriptedModel.text("done")
      ])
      assert.strictEqual(read.ran(), 1)
      assert.notMatch(told(run).at(-1) ?? "", /This run made it/)
    }))

  it.effect("may be asked for with arguments of any depth", () =>
    Effect.gen(function*() {
      const read = reading(() => null)
      const deep = `{"id":"a","x":${"[".repeat(20_000)}${"]".repeat(20_000)}}`
      const run = yield* playing([create, read.tool], [
        ScriptedModel.call("create_ticket", {}),
        { text: "", calls: [{ id: "1", name: "get_ticket", arguments: deep }] },
        ScriptedModel.text("done")
      ])
      assert.strictEqual(answered(run).text, "done")
      assert.strictEqual(read.ran(), 0)
    }))

  it.effect("is a search that finds nothing after a write: the model is told, and the next call waits", () =>
    Effect.gen(function*() {
      const run = yield* playing(
        [tool("write", () => 1, { sideEffect: "non_idempotent" }), tool("look", (ran) => ran < 3 ? [] : ["it"])],
        [ScriptedModel.call("write", {}), look, look, look, ScriptedModel.text("done")]
      )
      const texts = told(run)
      assert.include(texts[1], "it may not be visible yet: the same call waits a moment and reads again")
      assert.strictEqual(texts.at(-1), "[\"it\"]")
      assert.isFalse(texts.some((text) => /do not/i.test(text)))
    }))

  const asking = ["The lock is held. Try again in a moment.", "Still indexing, please retry shortly.", "Not ready yet."]
  for (const sentence of asking) {
    it.effect(`is heard in a sentence of a tool that only reads: ${sentence}`, () =>
      Effect.gen(function*() {
        const busy = reading((ran) => ran < 2 ? new Error(sentence) : "here")
        const standard = busy.tool.pipe(Tool.withDefaults(Policy.standard()))
        const run = yield* playing([standard], [
          ScriptedModel.call("get_ticket", { id: "a" }),
          ScriptedModel.text("done")
        ])
        assert.deepStrictEqual(told(run), ["\"here\""])
      }))
  }

  it.effect("is told without a policy, and each further call waits as long as it asks", () =>
    Effect.gen(function*() {
      const busy = reading((ran) => ran < 7 ? new Error("The lock is held. Try again in 2 seconds.") : "here")
      const run = yield* playing([busy.tool], times(7, () => ScriptedModel.call("get_ticket", { id: "a" })))
      const [first, ...rest] = told(run)
      assert.deepStrictEqual(JSON.parse(first!), {
        ok: false,
        error: "ToolUnavailable",
        code: "busy",
        detail: "The lock is held. Try again in 2 seconds.",
        retry: "Already tried once. You may call it again after 2s, use another tool, or answer without it."
      })
      assert.strictEqual(rest.at(-1), "\"here\"")
    }))

  it.effect("is not waited for again if the time has passed meanwhile", () =>
    Effect.gen(function*() {
      const busy = reading((ran) => ran < 2 ? new Error("The lock is held. Try again in 20 seconds.") : "here")
      const pause = Tool.make(
        "pause",
        { description: "Waits", success: Schema.String, sideEffect: "none" },
        () => Effect.as(Effect.sleep("25 seconds"), "waited")
      )
      const get = ScriptedModel.call("get_ticket", { id: "a" })
      const start = yield* Clock.currentTimeMillis
      const run = yield* playing([busy.tool, pause], [
        get,
        ScriptedModel.call("pause", {}),
        get,
        ScriptedModel.text("done")
      ])
      assert.strictEqual(told(run).at(-1), "\"here\"")
      assert.isAtMost((yield* Clock.currentTimeMillis) - start, 26_000)
    }))

  it.effect("is heard of an idempotent tool, too, since it may be repeated", () =>
    Effect.gen(function*() {
      let ran = 0
      const save = Tool.promise(
        "save",
        { description: "Saves", success: Schema.String, sideEffect: "idempotent" },
        async () => {
          if (++ran < 3) throw new Error("The draft is locked by another editor. Try again in a moment.")
          return "saved"
        }
      )
      const run = yield* playing(
        [save.pipe(Tool.withDefaults(Policy.standard()))],
        [ScriptedModel.call("save", {}), ScriptedModel.text("done")]
      )
      assert.deepStrictEqual([told(run), ran], [["\"saved\""], 3])
    }))

  it.effect("is not believed of a tool that acts: the call stays in doubt", () =>
    Effect.gen(function*() {
      let ran = 0
      const pay = Tool.promise("pay", { description: "Pays", success: Schema.String }, async (): Promise<string> => {
        ran++
        throw new Error("The lock is held. Try again in a moment.")
      })
      const run = yield* playing(
        [pay.pipe(Tool.withDefaults(Policy.standard()))],
        times(3, () => ScriptedModel.call("pay", {}))
      )
      assert.strictEqual(ran, 1)
      assert.include(told(run)[0], "no proof that nothing was done")
    }))

  it.effect("ends if it never comes: after as many executions as nine", () =>
    Effect.gen(function*() {
      const busy = reading(() => new Error("The lock is held. Try again in a moment."))
      const run = yield* playing([busy.tool], repeating(ScriptedModel.call("get_ticket", { id: "a" })))
      loopDetected(run)
      assert.strictEqual(busy.ran(), 9)
    }))
})

describe("failures of a tool that only reads", () => {
  it.effect("no longer count after half a minute: the service may work again", () =>
    Effect.gen(function*() {
      let ran = 0
      const read = Tool.make("look", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        Effect.suspend(() =>
          ++ran < 4
            ? Effect.fail(new ToolUnavailable({ code: "connection", detail: "Lost.", transient: true }))
            : Effect.succeed("back")
        ))
      const pause = Tool.make(
        "pause",
        { description: "", parameters: Schema.Struct({ n: Schema.Int }), success: Schema.String, sideEffect: "none" },
        ({ n }) =>
          Effect.as(Effect.sleep(Duration.millis(n)), `${n}`)
      )
      const calls = (millis: number) => [
        look,
        look,
        look,
        ScriptedModel.call("pause", { n: millis }),
        look,
        ScriptedModel.text("done")
      ]
      const early = yield* playing([read, pause], calls(29_999))
      assert.include(told(early).at(-1), "repeated_call")
      assert.strictEqual(ran, 3)
      ran = 0
      const late = yield* playing([read, pause], calls(30_000))
      assert.strictEqual(told(late).at(-1), "\"back\"")
    }))

  it.effect("with ever other arguments are told without an order", () =>
    Effect.gen(function*() {
      const find = Tool.make(
        "look",
        { description: "", parameters: Schema.Struct({ n: Schema.Int }), success: Schema.String, sideEffect: "none" },
        ({ n }) =>
          n < 5 ? Effect.fail(new SemanticGarbage({ code: "not_found", detail: "No such row." })) : Effect.succeed("5")
      )
      const run = yield* playing([find], times(5, (turn) => ScriptedModel.call("look", { n: turn })))
      assert.strictEqual(told(run).at(-1), "\"5\"")
      assert.include(told(run)[2], "If you have no better arguments, use another tool")
    }))
})
