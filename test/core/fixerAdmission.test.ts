import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  Dispatch,
  PartialData,
  type SchemaMismatch,
  SemanticGarbage,
  Tool,
  ToolCall,
  Toolkit
} from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import * as Journal from "@fallible/core/Journal"
import * as LastKnown from "@fallible/core/LastKnown"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Exit, Option, Schedule, Schema } from "effect"
import { recordCall } from "../../packages/core/src/internal/dispatch/recordCalls.ts"
import {
  agreeing,
  call,
  completed,
  conversation,
  failed,
  fixer,
  lostAnswer,
  type Mistake,
  parameters,
  payments,
  toDE,
  toParis,
  uncapitalized,
  weather
} from "../support/fixing.ts"
import { refused } from "../support/sequence.ts"

describe("C3: a correction is known to", () => {
  const wrong = { to: "de1" }
  const right = { to: "DE1" }
  const scripts: ReadonlyArray<readonly [string, ReadonlyArray<object | string>]> = [
    ["twice what is corrected", [wrong, wrong]],
    ["what is corrected, and then what it was corrected to", [wrong, right]],
    ["what is right, and then what is corrected to it", [right, wrong]],
    ["what cannot be decoded, and then what it was corrected to", ["{bad", right]],
    ["what is right, and then what cannot be decoded", [right, "{bad"]],
    ["two that are corrected to the same", [wrong, { to: "dE1" }]]
  ]
  for (const [what, calls] of scripts) {
    it.effect(`the limits of a call, which never pays twice: ${what}`, () =>
      Effect.gen(function*() {
        const { sent, tool } = payments(() => Effect.fail(lostAnswer))
        const { report } = yield* conversation(tool.pipe(Tool.fix(toDE)), calls)
        assert.deepStrictEqual(sent, ["DE1"])
        assert.deepInclude(report.failures.at(-1), { code: "repeated_call", handling: "told" })
      }))
  }

  it.effect("admission, and no policy sees a refused correction", () =>
    Effect.gen(function*() {
      const { sent, tool } = payments(() => Effect.succeed("paid"))
      const fixed = tool.pipe(
        Tool.fix(toDE),
        Tool.retry(Schedule.recurs(3)),
        Tool.fallback(() => Effect.succeed("fell back")),
        Tool.catchTag("SemanticGarbage", () => Effect.succeed("caught"))
      )
      const lost = yield* call(payments(() => Effect.fail(lostAnswer)).tool, { to: "DE1" }, { facts: CallFacts.empty })
      const facts = recordCall(CallFacts.empty, lost, tool)
      const outcome = failed(yield* call(fixed, wrong, { facts }))
      assert.deepStrictEqual(sent, [])
      assert.deepInclude(outcome, { stage: "admit", attempts: 1 })
      assert.strictEqual(outcome.failure.code, "repeated_call")
    }))

  it.effect("the model, which learns which arguments were refused if they differ from its own", () =>
    Effect.gen(function*() {
      const { sent, tool } = payments(() => Effect.fail(lostAnswer))
      const program = Effect.gen(function*() {
        const { transcript } = yield* Agent.make({ toolkit: Toolkit.make(tool.pipe(Tool.fix(toDE))) }).run("?")
        return Array.from(transcript).flatMap((message) => message.role === "tool" ? [message.text] : []).at(-1) ?? ""
      })
      const told = yield* Effect.provide(
        program,
        ScriptedModel.layer([
          ScriptedModel.call("pay", { to: "DE1" }),
          ScriptedModel.call("pay", { too: "de" }),
          ScriptedModel.text("Done.")
        ])
      )
      const { code, notes }: { readonly code: string; readonly notes: ReadonlyArray<string> } = JSON.parse(told)
      assert.deepStrictEqual([code, notes], ["repeated_call", [
        "The corrected arguments were refused: {\"to\":\"DE1\"}"
      ]])
      assert.deepStrictEqual(sent, ["DE1"])
    }))

  it.effect("an inner payment, whose cause is never corrected, and which is reported to the outer tool too", () =>
    Effect.gen(function*() {
      const { sent, tool } = payments(() => Effect.succeed("paid"))
      const inner = Tool.make(
        "order",
        { description: "Orders", parameters: tool.parameters, success: Schema.String, sideEffect: "none" },
        (params) => Effect.andThen(tool.run(params), Effect.fail(uncapitalized(params.to)))
      ).pipe(Tool.fix(toDE))
      const order = Dispatch.call(
        Toolkit.make(inner),
        { id: "1", name: "order", arguments: JSON.stringify({ to: "DE7" }) }
      )
      assert.deepInclude(failed(yield* order), { stage: "run", certainty: "executed" })
      for (const sideEffect of ["none", "non_idempotent"] as const) {
        sent.length = 0
        const outer = Tool.make(
          "outer",
          { description: "Orders", success: Schema.String, sideEffect },
          () => Effect.andThen(order, Effect.fail(refused))
        ).pipe(Tool.retry(Schedule.recurs(2)))
        const outcome = yield* Dispatch.call(Toolkit.make(outer), { id: "1", name: "outer" })
        assert.strictEqual(outcome.certainty, sideEffect === "none" ? "executed" : "unknown")
        assert.deepStrictEqual(sent, ["DE7"])
      }
    }))

  it.effect("the outcome, and therefore to a journal that replays it", () =>
    Effect.gen(function*() {
      const { sent, tool } = payments(() => Effect.fail(lostAnswer))
      const exit = yield* brokenOff(tool.pipe(Tool.fix(toDE)))
      assert.deepStrictEqual(sent, ["DE1"])
      assert.deepStrictEqual(
        Exit.map(exit, ({ report }) => report.failures.at(-1)?.code),
        Exit.succeed("repeated_call")
      )
    }))

  it.effect("a journal, even if the used arguments may not be stored, so nothing similar runs again", () =>
    Effect.gen(function*() {
      const sent: Array<string> = []
      const tool = Tool.make("pay", {
        description: "Pays",
        parameters: Schema.Struct({ to: Schema.String, pin: Schema.optionalKey(Schema.Redacted(Schema.String)) }),
        success: Schema.String
      }, ({ to }) =>
        Effect.suspend(() => {
          sent.push(to)
          return Effect.fail(lostAnswer)
        }))
      const exit = yield* brokenOff(tool.pipe(Tool.fix(toDE)))
      assert.deepStrictEqual(sent, ["DE1"])
      assert.deepStrictEqual(
        Exit.map(exit, ({ report }) => report.failures.at(-1)?.code),
        Exit.succeed("repeated_call")
      )
    }))

  it.effect("a resumed run, which continues with the used arguments, and asks no fixer", () =>
    Effect.gen(function*() {
      const paid: Array<number> = []
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Schema.Struct({ cents: Schema.Int }), success: Schema.String },
        ({ cents }) =>
          Effect.map(ToolCall.ask("May I pay?"), (reply) => {
            paid.push(cents)
            return reply
          })
      )
      let asked = 0
      const fix = () => ({ cents: [5, 500][asked++]! })
      const { asked: questions, report, transcript } = yield* agreeing(pay.pipe(Tool.fix(fix)), ["{\"cents\":"])
      assert.strictEqual(questions.length, 1)
      assert.deepInclude(questions[0]?.outcomes[0], { _tag: "Suspended", arguments: "{\"cents\":5}" })
      assert.deepStrictEqual([asked, paid], [1, [5]])
      // Reported once, as without a wait.
      assert.deepStrictEqual(report.repairs.map(({ kind }) => kind), ["fixed"])
      assert.include(JSON.stringify(Array.from(transcript)), "The arguments were corrected to")
    }))

  it.effect("a resumed run's admission, for arguments that are corrected only then", () =>
    Effect.gen(function*() {
      const sent: Array<string> = []
      const pay = Tool.make(
        "pay",
        {
          description: "",
          parameters: Schema.Struct({ to: Schema.String }),
          success: Schema.String,
          identity: ({ to }) => to
        },
        ({ to }) =>
          Effect.suspend((): Effect.Effect<string, Mistake> => {
            if (to !== "DE1") return Effect.andThen(ToolCall.ask("Sure?"), Effect.fail(uncapitalized(to)))
            sent.push(to)
            return Effect.fail(lostAnswer)
          })
      ).pipe(Tool.fix(toDE))
      const { asked, report } = yield* agreeing(pay, [right, wrong])
      assert.strictEqual(asked.length, 1)
      assert.deepStrictEqual(sent, ["DE1"])
      assert.strictEqual(report.failures.at(-1)?.code, "repeated_call")
    }))

  it.effect("a resumed run's admission, if the fixer itself asked the user", () =>
    Effect.gen(function*() {
      for (
        const [settings, end, code, keys] of [
          [{}, Effect.fail(lostAnswer), "repeated_call", 1],
          [{ repeats: false }, Effect.succeed("paid"), "already_done", 1],
          [{ sideEffect: "idempotent_by_key", identity: "all" }, Effect.fail(lostAnswer), "timeout", 2]
        ] as const
      ) {
        const sent: Array<string> = []
        const pay = Tool.make(
          "pay",
          { description: "", parameters: Schema.Struct({ to: Schema.String }), success: Schema.String, ...settings },
          () =>
            Effect.flatMap(ToolCall.current, ({ idempotencyKey }): Effect.Effect<string, Mistake> => {
              sent.push(idempotencyKey)
              return end
            })
        ).pipe(Tool.fix(() => Effect.as(ToolCall.ask("Did you mean DE1?"), right)))
        const { asked, report } = yield* agreeing(pay, [right, "{bad"])
        assert.strictEqual(asked.length, 1)
        assert.strictEqual(report.failures.at(-1)?.code, code)
        assert.deepStrictEqual([sent.length, new Set(sent).size], [keys, 1])
      }
    }))

  it.effect("the user, who is asked about each correction separately", () =>
    Effect.gen(function*() {
      const consented: Array<string> = []
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Schema.Struct({ to: Schema.String }), success: Schema.String },
        ({ to }) => to === "DE3" ? Effect.succeed(`paid ${to}`) : Effect.fail(uncapitalized(to))
      ).pipe(Tool.fix(({ failure }) => {
        const to = `DE${Number(/DE(\d)/.exec(failure.detail)?.[1]) + 1}`
        return Effect.map(ToolCall.ask("Use my correction?"), () => {
          consented.push(to)
          return { to }
        })
      }, { tries: 3 }))
      const { asked } = yield* agreeing(pay, [{ to: "DE1" }])
      assert.strictEqual(asked.length, 2)
      assert.deepStrictEqual(consented.slice(-2), ["DE2", "DE3"])
    }))

  it.effect("the user, who is asked by each fixer", () =>
    Effect.gen(function*() {
      const asking = (answer: typeof right | undefined) => () => Effect.as(ToolCall.ask("May I correct it?"), answer)
      const { sent, tool } = payments(() => Effect.succeed("paid"))
      const { asked } = yield* agreeing(tool.pipe(Tool.fix(asking(undefined)), Tool.fix(asking(right))), [wrong])
      assert.deepStrictEqual([asked.length, sent], [2, ["DE1"]])
    }))

  it.effect("the limits of failures: an execution counts, even if its correction was refused", () =>
    Effect.gen(function*() {
      const ran: Array<string> = []
      const look = Tool.make(
        "look",
        { description: "", parameters, success: Schema.String, sideEffect: "none" },
        ({ city }) =>
          Effect.suspend(() => {
            ran.push(city)
            return Effect.fail(new SemanticGarbage({ code: "no_such", detail: "No such city." }))
          })
      ).pipe(Tool.fix(toParis, { on: ["SemanticGarbage"] }))
      const calls = Array.from({ length: 6 }, () => ScriptedModel.call("look", { city: "Oslo" }))
      const { report } = yield* Effect.provide(
        Agent.make({ toolkit: Toolkit.make(look), limits: { turns: 20 } }).run("?"),
        ScriptedModel.layer([...calls, ScriptedModel.text("Done.")])
      )
      assert.isAtMost(ran.length, 7)
      assert.strictEqual(report.failures.at(-1)?.code, "repeated_call")
    }))

  it.effect("the keys: another body has another key, even if a correction was refused in between", () =>
    Effect.gen(function*() {
      const bodies = new Map<string, Set<number>>()
      const pay = Tool.make("pay", {
        description: "",
        parameters: Schema.Struct({ order: Schema.Int, cents: Schema.Int }),
        success: Schema.String,
        sideEffect: "idempotent_by_key",
        identity: ({ order }) => ({ order }),
        repeats: false
      }, ({ cents }) =>
        Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => {
          bodies.set(idempotencyKey, new Set(bodies.get(idempotencyKey)).add(cents))
          return cents < 0
            ? Effect.fail(new SemanticGarbage({ code: "negative", detail: "It is negative." }))
            : Effect.succeed("paid")
        })).pipe(Tool.fix(() => ({ order: 1, cents: 5 }), { on: ["SemanticGarbage"] }))
      const calls = [[1, 5], [2, -5], [2, 7]].map(([order, cents]) => ScriptedModel.call("pay", { order, cents }))
      const { report } = yield* Effect.provide(
        Agent.make({ toolkit: Toolkit.make(pay) }).run("?"),
        ScriptedModel.layer([...calls, ScriptedModel.text("Done.")])
      )
      assert.deepStrictEqual(report.failures.map(({ code }) => code), ["negative", "already_done"])
      assert.deepStrictEqual(Array.from(bodies.values(), (sent) => sent.size), [1, 1, 1])
    }))

  it.effect("the check of a call, and its fallback", () =>
    Effect.gen(function*() {
      const { sent, tool } = payments((sent) => sent.length === 1 ? Effect.fail(lostAnswer) : Effect.succeed("again"))
      const looked: Array<string> = []
      const reconciled = tool.pipe(
        Tool.fix(toDE),
        Tool.reconcile(({ to }) => {
          looked.push(to)
          return Effect.succeed(sent.includes(to) ? Option.some("found") : Option.none())
        }),
        Tool.retry(Schedule.recurs(1))
      )
      assert.strictEqual(completed(yield* call(reconciled, wrong)).value, "found")
      assert.deepStrictEqual([sent, looked], [["DE1"], ["DE1"]])

      const down = Tool.make(
        "t",
        { description: "", parameters, success: Schema.String, sideEffect: "none" },
        ({ city }) => Effect.fail(city === "Paris" ? refused : uncapitalized(city))
      ).pipe(Tool.fix(toParis))
      const fellBack = down.pipe(Tool.fallback(({ city }) => Effect.succeed(`cached ${city}`)))
      assert.strictEqual(completed(yield* call(fellBack, { city: "paris" })).value, "cached Paris")
      const caught = down.pipe(Tool.catchTag("ToolUnavailable", (_, { city }) => Effect.succeed(`caught ${city}`)))
      assert.strictEqual(completed(yield* call(caught, { city: "paris" })).value, "caught Paris")
    }))

  it.effect("the last known value, which is stored and found under it", () =>
    Effect.gen(function*() {
      let isUp = true
      const tool = Tool.make(
        "t",
        { description: "", parameters, success: Schema.String, sideEffect: "none" },
        ({ city }) =>
          Effect.suspend((): Effect.Effect<string, Mistake> =>
            city !== "Paris" ? Effect.fail(uncapitalized(city)) : isUp ? Effect.succeed("sunny") : Effect.fail(refused)
          )
      ).pipe(Tool.fix(toParis), LastKnown.fallback())
      yield* tool.run({ city: "paris" })
      isUp = false
      assert.strictEqual(yield* tool.run({ city: "Paris" }), "sunny")
      assert.strictEqual(yield* tool.run({ city: "pARIS" }), "sunny")
    }).pipe(Effect.provide(LastKnown.layerMemory())))

  it.effect("further pages, which the model cannot correct", () =>
    Effect.gen(function*() {
      for (const order of ["inside", "outside"]) {
        const ran: Array<string> = []
        const pages = Tool.make("t", {
          description: "",
          parameters: Schema.Struct({ q: Schema.String, page: Schema.optionalKey(Schema.Int) }),
          success: Schema.Array(Schema.Int),
          sideEffect: "none"
        }, ({ page = 1, q }) =>
          Effect.suspend(
            (): Effect.Effect<ReadonlyArray<number>, SchemaMismatch | PartialData<ReadonlyArray<number>>> => {
              ran.push(`${q}${page}`)
              if (q !== "OK") {
                return Effect.fail(uncapitalized(q))
              }
              const more = { code: "more_pages", detail: "More.", data: [page], next: { page: page + 1 } }
              return page < 4 ? Effect.fail(new PartialData(more)) : Effect.succeed([page])
            }
          ))
        const { fix, told } = fixer(({ arguments: args }) => ({ ...args, q: "OK" }))
        const merge = (a: ReadonlyArray<number>, b: ReadonlyArray<number>): ReadonlyArray<number> => [...a, ...b]
        const tool = order === "inside"
          ? pages.pipe(Tool.fix(fix), Tool.paginate({ merge }))
          : pages.pipe(Tool.paginate({ merge }), Tool.fix(fix))
        assert.deepStrictEqual(completed(yield* call(tool, { q: "ok" })).value, [1, 2, 3, 4])
        assert.deepStrictEqual([told.length, ran], [1, ["ok1", "OK1", "OK2", "OK3", "OK4"]])
      }
      // The service chooses the arguments of a further page. Earlier pages are kept.
      const { fix, told } = fixer(() => ({ page: 10 }))
      const odd = Tool.make("t", {
        description: "",
        parameters: Schema.Struct({ page: Schema.Int }),
        success: Schema.Array(Schema.Int),
        sideEffect: "none"
      }, ({ page }) =>
        page % 10 !== 0
          ? Effect.fail(uncapitalized(`${page}`))
          : Effect.fail(new PartialData({ code: "more_pages", detail: "", data: [page], next: { page: page + 1 } })))
        .pipe(Tool.paginate({ merge: (a, b) => [...a, ...b] }), Tool.fix(fix, { tries: 2 }))
      const outcome = failed(yield* call(odd, { page: 1 }))
      assert.deepInclude({ ...outcome.failure }, { code: "more_pages", data: [10], next: { page: 11 } })
      assert.strictEqual(told.length, 1)
    }))

  it.effect("a retry outside two fixers: from the first over the second to the last", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const tool = Tool.make(
        "t",
        { description: "", parameters, success: Schema.String, sideEffect: "none" },
        ({ city }) =>
          Effect.suspend((): Effect.Effect<string, Mistake> => {
            asked.push(city)
            return city !== "C" ? Effect.fail(uncapitalized(city)) : asked.length < 5
              ? Effect.fail(refused)
              : Effect.succeed("sunny")
          })
      ).pipe(Tool.fix(() => ({ city: "B" })), Tool.fix(() => ({ city: "C" })), Tool.retry(Schedule.recurs(5)))
      assert.strictEqual(yield* tool.run({ city: "A" }), "sunny")
      assert.deepStrictEqual(asked, ["A", "B", "C", "C", "C"])
    }))

  it.effect("a fixer inside a timeout", () =>
    Effect.gen(function*() {
      const { asked, tool } = weather()
      const fixed = tool.pipe(Tool.fix(toParis), Tool.timeout("1 second"), Tool.retry(Schedule.recurs(1)))
      const outcome = completed(yield* call(fixed, { city: "paris" }))
      assert.deepInclude(outcome, { value: "sunny in Paris", arguments: "{\"city\":\"Paris\"}" })
      assert.deepStrictEqual(asked, ["paris", "Paris"])
    }))
})

// A journal that breaks off after `most` steps.
const replayed = <A, E, R>(store: Map<string, unknown>, max: number, name: string, run: Effect.Effect<A, E, R>) =>
  store.has(name)
    ? Effect.succeed(store.get(name) as A)
    : store.size >= max
    ? Effect.die(`broken off before ${name}`)
    : Effect.tap(run, (value) => Effect.sync(() => store.set(name, value)))

// A run that breaks off after a call was corrected, and is then replayed from its journal.
const brokenOff = <T extends Tool.Any>(pay: T) =>
  Effect.gen(function*() {
    const store = new Map<string, unknown>()
    const journal = (max: number): Journal.Journal => ({
      step: ({ name }, run) => Effect.suspend(() => replayed(store, max, name, run))
    })
    const agent = Agent.make({ toolkit: Toolkit.make(pay) })
    const script = [ScriptedModel.call("pay", "{bad"), ScriptedModel.call("pay", toDE()), ScriptedModel.text("Done.")]
    const run = (max: number, script: ScriptedModel.Script) =>
      Effect.exit(agent.run("?")).pipe(
        Effect.provideService(Journal.current, journal(max)),
        Effect.provide(ScriptedModel.layer(script))
      )
    assert.isTrue(Exit.isFailure(yield* run(3, script)))
    return yield* run(99, script.slice(1))
  })
