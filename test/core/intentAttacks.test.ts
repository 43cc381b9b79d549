/** Ways in which something was paid twice, or a key was sent with two bodies, that were found by attack. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  type AgentFailure,
  type Answer,
  CallFacts,
  Journal,
  Policy,
  SchemaMismatch,
  Tool,
  ToolCall,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Exit, Option, Schedule, Schema, SchemaGetter, Stream } from "effect"
import { FileJournal, type Stop } from "../support/fileJournal.ts"
import { lettered } from "../support/lettered.ts"

const Payment = Schema.Struct({ order: Schema.Trim, note: Schema.optionalKey(Schema.String) })
const byKey = { sideEffect: "idempotent_by_key", identity: ({ order }: { readonly order: string }) => order } as const

/** A service that goes by keys, as it should: it stores each with its body, and answers it again. */
const service = (...faults: ReadonlyArray<"acts and drops" | "refuses" | "acts">) => {
  const known = new Map<string, string>()
  const requests: Array<string> = []
  const left = [...faults]
  const keys: Array<string> = []
  const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
  const status = (status: number) =>
    new SchemaMismatch({ side: "arguments", code: "rejected", detail: `Status ${status}.`, cause: { status } })
  const post = (key: string, body: object) =>
    Effect.suspend((): Effect.Effect<string, ToolUnavailable | SchemaMismatch> => {
      keys.push(key)
      const text = JSON.stringify(body)
      const fault = left.shift() ?? "acts"
      const before = known.get(key)
      requests.push(before === undefined ? fault : before === text ? "known" : "422")
      if (before !== undefined) return before === text ? Effect.succeed("receipt") : Effect.fail(status(422))
      if (fault === "refuses") return Effect.fail(status(400))
      known.set(key, text)
      return fault === "acts" ? Effect.succeed("receipt") : Effect.fail(lost)
    })
  return {
    post,
    requests,
    keys,
    get acted() {
      return known.size
    }
  }
}

type Service = ReturnType<typeof service>

const paying = ({ post }: Service, name = "pay") =>
  Tool.make(
    name,
    { description: "Pays", parameters: Payment, success: Schema.String, ...byKey },
    (params) => Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => post(idempotencyKey, params))
  )

/** Sends, and its answer is lost. No key covers it. */
const mailing = () => {
  const sent: Array<string> = []
  const mail = Tool.make("mail", { description: "", success: Schema.String }, () =>
    Effect.suspend(() => {
      sent.push("a mail")
      return Effect.fail(
        new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
      )
    }))
  return { mail, sent }
}

const played = <T extends Tool.Any>(
  tool: T,
  calls: ReadonlyArray<object | string>,
  options: Agent.RunOptions = {},
  journal?: Journal.Journal
) => {
  const script: ScriptedModel.Script = ({ messages }) => {
    const since = messages.slice(messages.findLastIndex(({ role }) => role === "user"))
    const args = calls[since.filter(({ role }) => role === "assistant").length]
    return args === undefined ? ScriptedModel.text("Done.") : ScriptedModel.call(tool.name, args)
  }
  const run = Agent.make({ toolkit: Toolkit.make(tool), limits: { turns: 20 } }).run("Go.", options)
  return Effect.provide(
    journal === undefined ? run : Effect.provideService(run, Journal.current, journal),
    ScriptedModel.layer(script)
  )
}

const codesOf = ({ ledger }: Answer.Answer) =>
  ledger.failures.flatMap(({ code, ended }) => ended === "told" ? [code] : [])

const certaintiesOf = ({ ledger }: Answer.Answer) =>
  ledger.failures.flatMap((entry) => "certainty" in entry && entry.ended === "told" ? [entry.certainty] : [])

const note = (note: string) => ({ order: "7", note })

describe("a run that may have begun before", () => {
  it.effect("takes a refused key for doubt: a job that a queue delivers again", () =>
    Effect.gen(function*() {
      for (const options of [{ id: "job-1" }, { scope: "order-7", facts: CallFacts.empty }]) {
        const paid = service()
        yield* played(paying(paid), [note("a")], options)
        const second = yield* played(paying(paid), [note("b"), note("c")], options)
        assert.strictEqual(paid.acted, 1)
        assert.deepStrictEqual(certaintiesOf(second), ["unknown", "unknown"])
      }
    }))

  it.effect("goes on with stored facts: where one key may stand for several bodies, a refused one is doubt", () =>
    Effect.gen(function*() {
      const paid = service()
      const { facts } = yield* played(paying(paid), [])
      yield* played(paying(paid), [note("a")], { facts })
      const again = yield* played(paying(paid), [note("b"), note("c")], { facts })
      assert.strictEqual(paid.acted, 1)
      assert.deepStrictEqual(certaintiesOf(again), ["unknown", "unknown"])
      const { identity: _, ...whole } = byKey
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, ...whole },
        () =>
          Effect.fail(
            new SchemaMismatch({
              side: "arguments",
              code: "rejected",
              detail: "No such order.",
              cause: { status: 422 }
            })
          )
      )
      const invalid = yield* played(pay, [note("a")], { facts })
      assert.deepStrictEqual(certaintiesOf(invalid), ["not_executed"])
    }))

  it.effect("gets what the first one was answered, if it asks for the same", () =>
    Effect.gen(function*() {
      const paid = service()
      yield* played(paying(paid), [note("a")], { id: "job-1" })
      const { transcript } = yield* played(paying(paid), [note("a")], { id: "job-1" })
      assert.deepStrictEqual(paid.requests, ["acts", "known"])
      assert.deepInclude(transcript.at(2), { role: "tool", text: "\"receipt\"" })
    }))

  it.effect("is one of an inner agent, whose outer call is tried again", () =>
    Effect.gen(function*() {
      for (const sideEffect of ["idempotent", "idempotent_by_key"] as const) {
        const paid = service("acts and drops")
        let asked = 0
        const desk = Tool.make(
          "desk",
          { description: "", parameters: Payment, success: Schema.String, sideEffect },
          () => {
            asked++
            const calls = asked === 1 ? [note("a")] : [note("b"), note("c")]
            return Effect.flatMap(
              Effect.orDie(played(paying(paid), calls)),
              () =>
                Effect.fail(new ToolUnavailable({ code: "desk", detail: "Lost.", transient: true, outcome: "unknown" }))
            )
          }
        )
        yield* played(desk, [note("x"), note("x")])
        assert.strictEqual(paid.acted, 1)
        // What a model does is not the same each time: no key covers it.
        assert.strictEqual(asked, sideEffect === "idempotent" ? 2 : 1)
      }
    }))
})

describe("a replay", () => {
  const broken = Effect.fnUntraced(
    function*<T extends Tool.Any>(tool: T, calls: ReadonlyArray<object | string>, stop: Stop) {
      const file = new FileJournal()
      assert.isUndefined(yield* file.process((journal) => played(tool, calls, { id: "run-1" }, journal), stop))
      const exit = yield* file.process((journal) => played(tool, calls, { id: "run-1" }, journal))
      return exit === undefined || Exit.isFailure(exit) ? assert.fail("It has no answer.") : exit.value
    }
  )

  it.effect("asks no fixer again, which may answer something else: the outcome stays unknown", () =>
    Effect.gen(function*() {
      const answers = [{ order: "7" }, { order: "No. 7" }, { order: "7" }]
      const fixed = (paid: Service) => {
        let asked = 0
        return Tool.fix(paying(paid), () => answers[asked++] ?? { order: "7" })
      }
      const paid = service()
      const answer = yield* broken(fixed(paid), [{ oder: "7" }, { order: "7" }], { step: 2, hasRun: true })
      assert.strictEqual(paid.acted, 1)
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "repeated_call"])
    }))

  const rejecting = (
    sideEffect: "non_idempotent" | "idempotent_by_key",
    ends: ReadonlyArray<"rejects" | "is down">
  ) => {
    const paid: Array<string> = []
    let ran = 0
    const pay = Tool.make(
      "pay",
      { description: "", parameters: Payment, success: Schema.String, sideEffect },
      ({ order }) =>
        Effect.flatMap(
          ToolCall.current,
          ({ idempotencyKey }): Effect.Effect<string, SchemaMismatch | ToolUnavailable> => {
            const end = order === "7" ? undefined : ends[ran++]
            if (end === "rejects") {
              return Effect.fail(new SchemaMismatch({ side: "arguments", code: "no", detail: "No." }))
            }
            if (end === "is down") {
              return Effect.fail(
                new ToolUnavailable({ code: "down", detail: "Down.", transient: false, outcome: "not_executed" })
              )
            }
            if (!paid.includes(idempotencyKey)) paid.push(idempotencyKey)
            return Effect.succeed("receipt")
          }
        )
    )
    return { paid, pay }
  }
  const seven = () => ({ order: "7" })
  const stop: Stop = { step: 2, hasRun: true }

  it.effect("runs what needed no fixer by its key, as without one", () =>
    Effect.gen(function*() {
      const { paid, pay } = rejecting("idempotent_by_key", [])
      const answer = yield* broken(Tool.fix(pay, () => ""), [{ order: "8" }], stop)
      assert.deepStrictEqual(codesOf(answer), [])
      assert.strictEqual(paid.length, 1)
    }))

  it.effect("runs nothing again that a fixer may have corrected: neither what it made of it, nor what it was", () =>
    Effect.gen(function*() {
      const first = rejecting("non_idempotent", ["rejects", "rejects"])
      const answer = yield* broken(Tool.fix(first.pay, seven), [{ order: "8" }, { order: "7" }], stop)
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "repeated_call"])
      assert.strictEqual(first.paid.length, 1)
      // It is not down any more.
      const second = rejecting("idempotent_by_key", ["is down"])
      yield* broken(Tool.fix(second.pay, seven, { on: ["ToolUnavailable"] }), [{ order: "8" }], stop)
      assert.strictEqual(second.paid.length, 1)
    }))

  it.effect("of what is rejected again, leaves it open what a fixer had made of it, which has its key", () =>
    Effect.gen(function*() {
      const { paid, pay } = rejecting("idempotent_by_key", ["rejects", "rejects"])
      const answer = yield* broken(Tool.fix(pay, seven), [{ order: "8" }, { order: "7" }], stop)
      assert.deepInclude(answer.ledger.failures[0], { code: "no", certainty: "unknown" })
      assert.strictEqual(paid.length, 1)
    }))

  it.effect("proves nothing by a check that is asked about other arguments", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      let asked = 0
      const pay = Tool.make("pay", { description: "", parameters: Payment, success: Schema.String }, ({ order }) =>
        Effect.sync(() => {
          paid.push(order)
          return "receipt"
        })).pipe(
          Tool.fix(() =>
            asked++ === 0 ? { order: "7" } : { order: "No. 7" }
          ),
          Tool.reconcile(({ order }) =>
            Effect.succeed(paid.includes(order) ? Option.some("receipt") : Option.none()), { final: true }),
          Tool.retry(Schedule.recurs(1))
        )
      const answer = yield* broken(pay, [{ oder: "7" }, { order: "7" }], { step: 2, hasRun: true })
      assert.deepStrictEqual(paid, ["7"])
      assert.deepStrictEqual(codesOf(answer), ["outcome_unknown", "repeated_call"])
    }))

  it.effect("runs no call that cannot be read any more: its tool has been changed, or is gone", () =>
    Effect.gen(function*() {
      const changed = Schema.Struct({ ...Payment.fields, currency: Schema.String })
      for (const sideEffect of ["non_idempotent", "idempotent_by_key"] as const) {
        let paid = 0
        const payBy = (parameters: typeof Payment | typeof changed) =>
          Tool.make(
            "pay",
            { description: "", parameters, success: Schema.String, sideEffect },
            () => Effect.sync(() => `receipt ${++paid}`)
          )
        const other = Tool.make("other", { description: "", success: Schema.String }, () => Effect.succeed(""))
        const now = (pay: typeof Payment | typeof changed | undefined, file: FileJournal, stop?: Stop) =>
          file.process(
            (journal) =>
              Agent.make({ toolkit: pay === undefined ? Toolkit.make(other) : Toolkit.make(other, payBy(pay)) }).run(
                "Go."
              ).pipe(
                Effect.provideService(Journal.current, journal),
                Effect.provide(ScriptedModel.layer([
                  ScriptedModel.call("pay", note("a")),
                  ScriptedModel.call("pay", { ...note("a"), currency: "EUR" }),
                  ScriptedModel.text("Done.")
                ]))
              ),
            stop
          )
        for (const deployed of [changed, undefined]) {
          paid = 0
          const file = new FileJournal()
          yield* now(Payment, file, { step: 3, hasRun: true })
          assert.strictEqual(paid, 1)
          const exit = yield* now(deployed, file)
          const answer = exit === undefined || Exit.isFailure(exit) ? assert.fail("It has no answer.") : exit.value
          assert.strictEqual(codesOf(answer)[0], "outcome_unknown")
          // Also where it is there again in a later run.
          yield* played(payBy(Payment), [note("a")], { facts: answer.facts })
          assert.strictEqual(paid, 1)
        }
      }
    }))

  it.effect("tells of no doubt where the call never ran: it was refused", () =>
    Effect.gen(function*() {
      const once = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, repeats: false },
        () => Effect.succeed("receipt")
      )
      const refused = yield* broken(once, [note("a"), note("a")], { step: 4, hasRun: false })
      const told = refused.transcript.at(4)
      assert.include(told?.role === "tool" ? told.text : "", "Do not repeat this call: it has already taken effect.")
    }))

  it.effect("that its journal breaks leaves the tool in doubt", () =>
    Effect.gen(function*() {
      let paid = 0
      const pay = Tool.make("pay", { description: "", parameters: Payment, success: Schema.String }, () =>
        Effect.sync(() =>
          `${++paid}`
        ))
      const journal: Journal.Journal = {
        step: (step, effect) => step.name === "turn/1/call/1" ? Effect.die("The row is corrupt.") : effect
      }
      const answer = yield* played(pay, [note("a"), note("a"), note("b")], {}, journal)
      assert.strictEqual(paid, 0)
      assert.deepStrictEqual(codesOf(answer), ["defect", "repeated_call", "repeated_call"])
      const events = yield* Stream.runCollect(Agent.make({ toolkit: Toolkit.make(pay) }).stream("Go.")).pipe(
        Effect.provideService(Journal.current, journal),
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay", note("a")), ScriptedModel.text("Done.")]))
      )
      assert.isFalse(events.some((event) => "replayed" in event))
      // What may be done again is.
      const put = Tool.make(
        "put",
        { description: "", parameters: Payment, success: Schema.String, sideEffect: "idempotent" },
        () => Effect.succeed("put")
      )
      assert.deepStrictEqual(codesOf(yield* played(put, [note("a"), note("a")], {}, journal)), ["defect"])
    }))
})

describe("facts", () => {
  const factsOf = <A>(run: Effect.Effect<A, AgentFailure.AgentFailure>) =>
    Effect.map(Effect.flip(run), ({ facts, transcript }) => ({ facts, transcript }))

  it.effect("know what has been done by a call that then stopped the run", () =>
    Effect.gen(function*() {
      let paid = 0
      const stopping = (sideEffect: "non_idempotent" | "idempotent_by_key") =>
        Tool.make("pay", { description: "", parameters: Payment, success: Schema.String, sideEffect }, () =>
          Effect.suspend(() =>
            ++paid === 1 ? ToolCall.stop("Enough.") : Effect.succeed("receipt")
          ))
      for (const sideEffect of ["non_idempotent", "idempotent_by_key"] as const) {
        paid = 0
        const tool = stopping(sideEffect)
        const keys = yield* factsOf(played(tool, [note("a")]))
        const answer = yield* played(tool, [note("a")], keys)
        assert.strictEqual(paid, sideEffect === "non_idempotent" ? 1 : 2)
        assert.deepStrictEqual(codesOf(answer), sideEffect === "non_idempotent" ? ["repeated_call"] : [])
      }
    }))

  it.effect("know what has been done by a call that waits for its user, if nobody resumes it", () =>
    Effect.gen(function*() {
      const paid = service()
      const pay = paying(paid)
      const asking = Tool.make(
        "checkout",
        { description: "", parameters: Payment, success: Schema.String },
        (params) => Effect.andThen(pay.run(params), ToolCall.ask("A receipt?"))
      )
      const before = yield* factsOf(played(asking, [note("a")]))
      const answer = yield* played(asking, [note("a")], before)
      assert.strictEqual(paid.acted, 1)
      // A part of it has been done.
      assert.deepStrictEqual(codesOf(answer), ["repeated_call"])
    }))

  it.effect("know of nothing where a call has only asked: it asks again", () =>
    Effect.gen(function*() {
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String },
        () => ToolCall.ask("Sure?")
      )
      const before = yield* factsOf(played(pay, [note("a")]))
      const failure = yield* Effect.flip(played(pay, [note("a")], before))
      assert.strictEqual(failure._tag, "RunSuspended")
    }))

  it.effect("are not lost with a run that is refused", () =>
    Effect.gen(function*() {
      const paid = service()
      const { facts } = yield* played(paying(paid), [note("a")])
      const refused = yield* factsOf(played(paying(paid), [], { facts, id: "" }))
      assert.deepStrictEqual(codesOf(yield* played(paying(paid), [note("a")], { facts: refused.facts })), [
        "already_done"
      ])
    }))

  it.effect("know of a reading tool in a later run that something inside of it may have acted", () =>
    Effect.gen(function*() {
      const paid = service("acts and drops")
      const look = Tool.make("look", {
        description: "",
        parameters: Payment,
        success: Schema.String,
        sideEffect: "none"
      }, (params) => paying(paid).run(params))
      const { facts } = yield* played(look, [note("a")])
      assert.deepStrictEqual(codesOf(yield* played(look, [note("a")], { facts })), ["repeated_call"])
      assert.strictEqual(paid.requests.length, 1)
    }))

  it.effect("of no scope are gone on with, if there are any", () =>
    Effect.gen(function*() {
      const paid = service()
      const { facts } = yield* played(paying(paid), [note("a")])
      const { scope: _, ...unscoped } = facts
      assert.strictEqual(CallFacts.beginning(unscoped, "s").run, 1)
      assert.deepStrictEqual(codesOf(yield* played(paying(paid), [note("a")], { facts: unscoped })), ["already_done"])
    }))

  it.effect("are refused where they cannot be those of any run", () =>
    Effect.gen(function*() {
      const good = Schema.encodeSync(CallFacts.schema)({ ...CallFacts.empty, scope: "s" })
      for (
        const bad of [{ run: -1 }, { run: 1.5 }, { run: Number.MAX_SAFE_INTEGER }, { failures: -1 }, {
          intents: [["a", { run: 0, number: -1 }]]
        }]
      ) {
        const exit = yield* Effect.exit(Schema.decodeUnknownEffect(CallFacts.schema)({ ...good, ...bad }))
        assert.isTrue(Exit.isFailure(exit), JSON.stringify(bad))
      }
    }))
})

describe("one key has one body", () => {
  it.effect("where a fixer corrects what the service refused, in the same call", () =>
    Effect.gen(function*() {
      const paid = service("refuses")
      const fixed = Tool.fix(paying(paid), () => note("short"))
      const answer = yield* played(fixed, [note("very long"), note("short")])
      assert.deepStrictEqual(paid.requests, ["refuses", "acts", "acts"])
      assert.strictEqual(lettered(paid.keys), "a b c")
      assert.deepStrictEqual(codesOf(answer), [])
    }))

  it.effect("and the call after it has the key of what was corrected, while nobody knows what became of that", () =>
    Effect.gen(function*() {
      const paid = service("refuses", "acts and drops")
      const fixed = Tool.fix(paying(paid), () => note("short"))
      yield* played(fixed, [note("very long"), note("other")])
      assert.deepStrictEqual(paid.requests, ["refuses", "acts and drops", "known"])
      assert.strictEqual(lettered(paid.keys), "a b b")
      assert.strictEqual(paid.acted, 1)
    }))

  it.effect("where its codec loses something, and its identity does not need that", () =>
    Effect.gen(function*() {
      const rounding = Schema.String.pipe(Schema.decodeTo(Schema.Finite, {
        decode: SchemaGetter.transform(Number),
        encode: SchemaGetter.transform((amount: number) => amount.toFixed(0))
      }))
      const amounts: Array<number> = []
      const pay = Tool.make("pay", {
        description: "",
        parameters: Schema.Struct({ order: Schema.String, amount: rounding }),
        success: Schema.String,
        ...byKey
      }, ({ amount }) =>
        Effect.suspend(() => {
          amounts.push(amount)
          return Effect.fail(
            new ToolUnavailable({ code: "lost", detail: "Lost.", transient: true, outcome: "unknown" })
          )
        }))
      yield* played(pay, [{ order: "7", amount: "5.1" }, { order: "7", amount: "5.4" }])
      assert.deepStrictEqual(amounts, [5.1, 5.1])
    }))

  it.effect("in whatever way it was written first: the order of a Set, the zeros of a number", () =>
    Effect.gen(function*() {
      for (
        const [kind, value] of [
          [Schema.ReadonlySet(Schema.String), ["b", "a"]],
          [Schema.ReadonlyMap(Schema.String, Schema.Finite), [["b", 1], ["a", 2]]],
          [Schema.BigDecimal, "1.50"]
        ] as const
      ) {
        const paid = service("acts and drops")
        const parameters: Schema.ConstraintDecoder<{ readonly value: unknown }> = Schema.Struct({ value: kind })
        const sideEffect = "idempotent_by_key"
        const pay = Tool.make(
          "pay",
          { description: "", parameters, success: Schema.String, sideEffect },
          ({ value }) =>
            Effect.flatMap(
              ToolCall.current,
              ({ idempotencyKey }) =>
                paid.post(idempotencyKey, { value: value instanceof Set || value instanceof Map ? [...value] : value })
            )
        )
        yield* played(pay, [{ value }, { value }])
        assert.deepStrictEqual(paid.requests, ["acts and drops", "known"])
      }
    }))

  it.effect("where a default has been changed since then", () =>
    Effect.gen(function*() {
      const bodies: Array<unknown> = []
      const pay = (currency: string, end: Effect.Effect<string, ToolUnavailable>) =>
        Tool.make("pay", {
          description: "",
          parameters: Schema.Struct({
            order: Schema.String,
            currency: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed(currency)))
          }),
          success: Schema.String,
          ...byKey
        }, (params) =>
          Effect.suspend(() => {
            bodies.push(params)
            return end
          }))
      const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
      const { facts } = yield* played(pay("EUR", Effect.fail(lost)), [{ order: "7" }])
      yield* played(pay("USD", Effect.succeed("receipt")), [{ order: "7" }], { facts })
      assert.deepStrictEqual(bodies, [{ order: "7", currency: "EUR" }, { order: "7", currency: "EUR" }])
    }))
})

describe("the same payment", () => {
  const lost = new ToolUnavailable({ code: "connection", detail: "Reset.", transient: true, outcome: "unknown" })
  const paidBy = Effect.fnUntraced(
    function*(parameters: Schema.ConstraintDecoder<unknown>, ...calls: ReadonlyArray<object>) {
      let paid = 0
      const pay = Tool.make("pay", { description: "", parameters, success: Schema.String }, () =>
        Effect.suspend(() => {
          paid++
          return Effect.fail(lost)
        }))
      yield* played(pay, calls)
      return paid
    }
  )
  let draws = 0
  const drawn = Schema.Int.pipe(Schema.withDecodingDefaultKey(Effect.sync(() => ++draws)))

  it.effect("is known where something else of it is drawn, however it is written", () =>
    Effect.gen(function*() {
      const parameters = Schema.Struct({ order: Schema.String, amount: Schema.Finite, at: drawn })
      assert.strictEqual(
        yield* paidBy(parameters, { order: "7", amount: 5 }, { order: "7", amount: "5" }, { Amount: 5, order: "7" }),
        1
      )
    }))

  it.effect("is known in whatever order a Set or a Map is written", () =>
    Effect.gen(function*() {
      const parameters = Schema.Struct({
        of: Schema.Array(Schema.ReadonlySet(Schema.String)),
        by: Schema.ReadonlyMap(Schema.String, Schema.Int)
      })
      assert.strictEqual(
        yield* paidBy(parameters, { of: [["a", "b"]], by: [["x", 1], ["y", 2]] }, {
          of: [["b", "a"]],
          by: [["y", 2], ["x", 1]]
        }),
        1
      )
    }))

  it.effect("is another one where a codec would lose the difference", () =>
    Effect.gen(function*() {
      const rounding = Schema.String.pipe(Schema.decodeTo(Schema.Finite, {
        decode: SchemaGetter.transform(Number),
        encode: SchemaGetter.transform((amount: number) => amount.toFixed(0))
      }))
      const parameters = Schema.Struct({ amount: rounding })
      assert.strictEqual(yield* paidBy(parameters, { amount: "5.1" }, { amount: "5.4" }, { amount: "5.1" }), 2)
    }))

  it.effect("needs an identity, if its service goes by keys and its codec loses something", () =>
    Effect.gen(function*() {
      const forgetful = Schema.String.pipe(Schema.decodeTo(Schema.Finite, {
        decode: SchemaGetter.transform(Number),
        encode: SchemaGetter.transform(() => "")
      }))
      let paid = 0
      const pay = Tool.make("pay", {
        description: "",
        parameters: Schema.Struct({ amount: forgetful }),
        success: Schema.String,
        sideEffect: "idempotent_by_key"
      }, () => Effect.sync(() => `${++paid}`))
      assert.deepStrictEqual(codesOf(yield* played(pay, [{ amount: "5" }])), ["defect"])
      assert.strictEqual(paid, 0)
      const counting = Schema.optionalKey(Schema.Int).pipe(Schema.decodeTo(Schema.Int, {
        decode: SchemaGetter.transformOptional(Option.orElseSome(() => ++draws)),
        encode: SchemaGetter.passthrough()
      }))
      assert.throws(
        () =>
          Tool.make("pay", {
            description: "",
            parameters: Schema.Struct({ reference: counting }),
            success: Schema.Void,
            sideEffect: "idempotent_by_key"
          }, () => Effect.void),
        /they have a default that may be another each time/
      )
      for (const json of [Schema.Json, Schema.Unknown]) {
        assert.doesNotThrow(() =>
          Tool.make("pay", {
            description: "",
            parameters: Schema.Struct({ json }),
            success: Schema.Void,
            sideEffect: "idempotent_by_key"
          }, () => Effect.void)
        )
      }
    }))
})

describe("a resumed call", () => {
  const resuming = <T extends Tool.Any>(tool: T, ...calls: ReadonlyArray<object>) => {
    const agent = Agent.make({ toolkit: Toolkit.make(tool) })
    const script: ScriptedModel.Script = ({ messages }) =>
      messages.at(-1)?.role === "user"
        ? ScriptedModel.calls(...calls.map((args): [string, object] => [tool.name, args]))
        : ScriptedModel.text("Done.")
    const program = Effect.gen(function*() {
      const failure = yield* Effect.flip(agent.run("Go."))
      if (failure._tag !== "RunSuspended") return assert.fail(failure._tag)
      return yield* agent.resume(failure.suspension, "yes")
    })
    return Effect.provide(program, ScriptedModel.layer(script))
  }

  it.effect("has its key, also where it had acted before it asked", () =>
    Effect.gen(function*() {
      const paid = service()
      const pay = paying(paid)
      const keys: Array<string> = []
      const checkout = Tool.make(
        "checkout",
        { description: "", parameters: Payment, success: Schema.String },
        (params) =>
          Effect.flatMap(ToolCall.current, ({ idempotencyKey }) => {
            keys.push(idempotencyKey)
            return Effect.andThen(pay.run(params), ToolCall.ask("A receipt?"))
          })
      )
      yield* resuming(checkout, note("a"))
      assert.strictEqual(lettered(keys), "a a")
      assert.strictEqual(paid.acted, 1)
    }))

  it.effect("has the key that it had, where a fixer corrected what the service had refused", () =>
    Effect.gen(function*() {
      const paid = service("refuses")
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, ...byKey },
        (params) =>
          Effect.flatMap(
            ToolCall.current,
            ({ idempotencyKey }) => Effect.andThen(paid.post(idempotencyKey, params), ToolCall.ask("A receipt?"))
          )
      ).pipe(Tool.fix(() => Effect.succeed(note("short"))))
      yield* resuming(pay, note("long"))
      assert.strictEqual(lettered(paid.keys), "a b b")
      assert.deepStrictEqual(paid.requests, ["refuses", "acts", "known"])
    }))

  it.effect("may have been resumed before: then a refused key is doubt", () =>
    Effect.gen(function*() {
      const paid = service()
      const sure = Tool.make("sure", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        ToolCall.ask("Sure?"))
      const agent = Agent.make({ toolkit: Toolkit.make(sure, paying(paid)) })
      const failure = yield* Effect.flip(agent.run("Go.")).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("sure")]))
      )
      if (failure._tag !== "RunSuspended") {
        return assert.fail(failure._tag)
      }
      const resumed = (...notes: ReadonlyArray<string>) =>
        agent.resume(failure.suspension, "yes").pipe(
          Effect.provide(ScriptedModel.layer([
            ...notes.map((text) =>
              ScriptedModel.call("pay", note(text))
            ),
            ScriptedModel.text("Done.")
          ]))
        )
      yield* resumed("a")
      const again = yield* resumed("b", "c")
      assert.strictEqual(paid.acted, 1)
      assert.deepStrictEqual(certaintiesOf(again), ["unknown", "unknown"])
    }))

  it.effect("runs with its key, whatever became of an equal one beside it", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const look = Tool.make(
        "look",
        { description: "", parameters: Payment, success: Schema.String, sideEffect: "none", failureLimit: 1 },
        () =>
          Effect.flatMap(ToolCall.current, ({ idempotencyKey }): Effect.Effect<string, ToolUnavailable> => {
            keys.push(idempotencyKey)
            return keys.length === 1
              ? Effect.fail(new ToolUnavailable({ code: "down", detail: "Down.", transient: false }))
              : ToolCall.ask("Which one?")
          })
      )
      const answer = yield* resuming(look, note("a"), note("a"))
      assert.deepStrictEqual(codesOf(answer), ["down"])
      assert.strictEqual(keys.length, 3)
      assert.strictEqual(keys[2], keys[1])
    }))

  it.effect("does not repeat what no key covers", () =>
    Effect.gen(function*() {
      const { mail, sent } = mailing()
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, ...byKey },
        () => Effect.catch(mail.run({}), () => ToolCall.ask("Did it arrive?"))
      )
      yield* resuming(pay, note("a"))
      assert.strictEqual(sent.length, 1)
    }))
})

describe("inside of a call", () => {
  const busy = new ToolUnavailable({ code: "busy", detail: "Busy.", transient: true, outcome: "not_executed" })

  it.effect("a key that an earlier attempt has sent is doubted when it is refused", () =>
    Effect.gen(function*() {
      const conflict = new SchemaMismatch({
        side: "arguments",
        code: "conflict",
        detail: "In use.",
        cause: { status: 409 }
      })
      const ends = [Effect.fail(busy), Effect.fail(conflict)]
      const inner = Tool.make("inner", { description: "", parameters: Payment, success: Schema.String, ...byKey }, () =>
        Effect.suspend((): Effect.Effect<string, ToolUnavailable | SchemaMismatch> =>
          ends.shift() ?? Effect.succeed("")
        ))
      const outer = Tool.make("outer", { description: "", success: Schema.String, sideEffect: "none" }, () =>
        inner.run({ order: "7" })).pipe(Tool.retry(Schedule.recurs(1)))
      assert.strictEqual((yield* Tool.outcome(outer, {})).certainty, "unknown")
    }))

  it.effect("what a policy does for itself has another key than the same in the handler", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const log = Tool.make("log", { description: "", parameters: Payment, success: Schema.Void, ...byKey }, () =>
        Effect.map(ToolCall.current, ({ idempotencyKey }) =>
          void keys.push(idempotencyKey)))
      const tool = Tool.make("outer", { description: "", success: Schema.Void, sideEffect: "idempotent" }, () =>
        log.run({ order: "7" })).pipe(
          Tool.retry(Schedule.recurs(1)),
          Tool.with(Policy.make({
            kind: "custom",
            name: "logs",
            description: "logs first",
            wrap: (run) => (params) =>
              Effect.andThen(log.run({ order: "7" }), run(params))
          }))
        )
      yield* Tool.outcome(tool, {})
      assert.strictEqual(lettered(keys), "a b")
    }))
})

describe("doubt", () => {
  it.effect("of a tool that goes by keys is settled by a success after a question, too", () =>
    Effect.gen(function*() {
      const paid = service("acts and drops")
      let asks = false
      const pay = Tool.make(
        "pay",
        { description: "", parameters: Payment, success: Schema.String, ...byKey },
        (params) =>
          Effect.flatMap(
            ToolCall.current,
            ({ idempotencyKey }) =>
              Effect.andThen(asks ? ToolCall.ask("Sure?") : Effect.void, paid.post(idempotencyKey, params))
          )
      )
      const { facts } = yield* played(pay, [note("a")])
      asks = true
      const agent = Agent.make({ toolkit: Toolkit.make(pay) })
      const script: ScriptedModel.Script = ({ messages }) =>
        messages.at(-1)?.role === "user" ? ScriptedModel.call("pay", note("a")) : ScriptedModel.text("Done.")
      const program = Effect.gen(function*() {
        const failure = yield* Effect.flip(agent.run("Again.", { facts }))
        if (failure._tag !== "RunSuspended") return assert.fail(failure._tag)
        return yield* agent.resume(failure.suspension, "yes")
      })
      const answer = yield* Effect.provide(program, ScriptedModel.layer(script))
      assert.strictEqual(paid.acted, 1)
      const [fact] = Array.from(answer.facts.intents, ([, fact]) => fact)
      assert.isUndefined(fact?.failed)
      assert.isDefined(fact?.done)
      assert.notInclude(JSON.stringify(Array.from(answer.transcript)), "all the same")
    }))

  it.effect("about something inside that no key covers is not repeated", () =>
    Effect.gen(function*() {
      const { mail, sent } = mailing()
      const pay = Tool.make("pay", { description: "", parameters: Payment, success: Schema.String, ...byKey }, () =>
        mail.run({})).pipe(
          Tool.retry(Schedule.recurs(2))
        )
      const answer = yield* played(pay, [note("a"), note("a")])
      assert.strictEqual(sent.length, 1)
      assert.strictEqual(codesOf(answer).at(-1), "repeated_call")
    }))
})

it.live("an identity that rejects later does not end the process", () =>
  Effect.gen(function*() {
    const pay = Tool.make("pay", {
      description: "",
      parameters: Payment,
      success: Schema.Void,
      identity: () => Promise.reject(new Error("boom"))
    }, () => Effect.void)
    assert.deepStrictEqual(codesOf(yield* played(pay, [note("a")])), ["defect"])
    yield* Effect.sleep("5 millis")
  }))
