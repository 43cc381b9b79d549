/** What a run reports of tokens and money. `usageLaws` has the sums; here are the single cases. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, type AgentFailure, Model, ModelFailure, Tool, Toolkit } from "@fallible/core"
import type * as Limits from "@fallible/core/Limits"
import * as ModelAdapter from "@fallible/core/ModelAdapter"
import * as ModelRecovery from "@fallible/core/ModelRecovery"
import * as RunReport from "@fallible/core/RunReport"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Layer, Result, Schedule, Schema, Stream } from "effect"
import { logging } from "../support/illTyped.ts"
import type { Untyped } from "../support/nonsense.ts"
import { ping } from "../support/pinging.ts"

const toolkit = Toolkit.make(ping)
const agent = Agent.make({ toolkit, modelRetry: Schedule.recurs(3) })
const using = (usage: Model.Usage, reply = ScriptedModel.text("Done.")): Model.Reply => ({ ...reply, usage })
const calling = ScriptedModel.call("ping")

const sumsOf = (report: RunReport.RunReport) => {
  const { calls: _, failures: __, repairs: ___, turns: ____, ...sums } = report
  return sums
}
const totalOf = (report: RunReport.RunReport) => RunReport.table(report).split(", 0 repairs").at(-1)

const busy = (usage?: Model.Usage) =>
  new ModelFailure({
    code: "server_error",
    detail: "Busy.",
    transient: true,
    ...(usage === undefined ? {} : { usage })
  })

describe("a report", () => {
  const cases: ReadonlyArray<readonly [string, ScriptedModel.Script, object, total: string]> = [
    ["of what nobody counted", [calling, ScriptedModel.text("Done.")], { unreported: 2 }, ", tokens unknown"],
    [
      "of what was counted in part",
      [using({ inputTokens: 5, outputTokens: 1 }, calling), ScriptedModel.text("Done.")],
      { inputTokens: 5, outputTokens: 1, unreported: 1 },
      ", 5 input tokens, 1 output token, 1 reply without a count of tokens"
    ],
    [
      "of one kind of tokens",
      [using({ inputTokens: 5 }, calling), using({ inputTokens: 0 })],
      { inputTokens: 5 },
      ", 5 input tokens, output tokens unknown"
    ],
    [
      "of a count of 0",
      [using({ inputTokens: 0, outputTokens: 0 })],
      { inputTokens: 0, outputTokens: 0 },
      ", 0 input tokens, 0 output tokens"
    ],
    [
      "of a cost alone",
      [using({ money: 0.1 }, calling), using({ money: 0.2 })],
      { money: 0.1 + 0.2, unreported: 2 },
      ", input tokens unknown, output tokens unknown, cost 0.3, 2 replies without a count of tokens"
    ],
    [
      "of details",
      [using({ inputTokens: 9, outputTokens: 8, cachedTokens: 7, cacheWrittenTokens: 2, reasoningTokens: 6 })],
      { inputTokens: 9, outputTokens: 8, cachedTokens: 7, cacheWrittenTokens: 2, reasoningTokens: 6 },
      ", 9 input tokens, 8 output tokens"
    ],
    [
      "of failed requests, too",
      [busy({ inputTokens: 3 }), busy(), using({ inputTokens: 5, outputTokens: 1 })],
      { inputTokens: 8, outputTokens: 1 },
      ", 8 input tokens, 1 output token"
    ]
  ]
  for (const [what, script, sums, total] of cases) {
    it.effect(`${what} says what is known`, () =>
      Effect.gen(function*() {
        const { report } = yield* agent.run("?")
        assert.deepStrictEqual<object>(sumsOf(report), sums)
        assert.strictEqual(totalOf(report), total)
        const stored = JSON.stringify(Schema.encodeSync(RunReport.RunReport)(report))
        assert.deepStrictEqual(Schema.decodeUnknownSync(RunReport.RunReport)(JSON.parse(stored)), report)
      }).pipe(Effect.provide(ScriptedModel.layer(script))))
  }

  it.effect("counts no text in place of a reply: no model wrote it", () =>
    Effect.gen(function*() {
      const onModelFailure: ModelRecovery.ModelRecovery = () => ModelRecovery.respondWith("Later.")
      const { report, text } = yield* Agent.make({ toolkit, onModelFailure }).run("?")
      assert.strictEqual(text, "Later.")
      assert.deepStrictEqual(sumsOf(report), { inputTokens: 3 })
    }).pipe(Effect.provide(ScriptedModel.layer([busy({ inputTokens: 3 })]))))

  it.effect("has what the request used that ended the run, and its model", () =>
    Effect.gen(function*() {
      const refused = new ModelFailure({
        code: "max_tokens",
        detail: "Too long.",
        transient: false,
        usage: { inputTokens: 4, outputTokens: 100 }
      })
      const model = Model.layer({ name: "deep-1", respond: () => Effect.fail(refused) })
      const { report } = yield* Effect.flip(agent.run("?")).pipe(Effect.provide(model))
      assert.deepStrictEqual(sumsOf(report), { inputTokens: 4, outputTokens: 100 })
      assert.deepInclude(report.failures[0], { model: "deep-1", usage: { inputTokens: 4, outputTokens: 100 } })
    }))

  it.effect("takes no ill-typed usage of a failure: the log reports it, and the report can be stored", () =>
    Effect.gen(function*() {
      for (const usage of [{ money: NaN }, { inputTokens: "5" }, 7, null] as ReadonlyArray<Untyped>) {
        const { logged, value } = yield* logging(
          Effect.suspend(() => {
            const fields: Untyped = { code: "x", detail: "x", transient: true, model: 5, usage }
            const script = [new ModelFailure(fields), using({ inputTokens: 1 })]
            return Effect.provide(agent.run("?"), ScriptedModel.layer(script))
          })
        )
        assert.deepStrictEqual(sumsOf(value.report), { inputTokens: 1 })
        assert.deepInclude(value.report.failures[0], { model: "5" })
        assert.include(logged[0], "'usage' must be a Usage")
        Schema.encodeSync(RunReport.RunReport)(value.report)
      }
    }))
})

// -----------------------------------------------------------------------------
// Money
// -----------------------------------------------------------------------------

/** A thousand tokens cost 1. */
const perThousand: Model.Price = ({ inputTokens = 0, outputTokens = 0 }) => (inputTokens + outputTokens) / 1_000
const thousand = { inputTokens: 900, outputTokens: 100 }

const spending = (limits: Limits.Limits, others: object = {}) =>
  Agent.make({ toolkit, limits, modelRetry: Schedule.recurs(3), loopGuard: "off", ...others })

const priced = (script: ScriptedModel.Script, price: Model.Price = perThousand) =>
  Model.priced(ScriptedModel.layer(script), price)

const codeOf = (failure: AgentFailure.AgentFailure) =>
  failure._tag === "ModelFailed" ? [failure._tag, failure.failure.code] : [failure._tag]

describe("a price", () => {
  it.effect("is asked with the usage and the name of the model; where it has none, the provider's own figure stays", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const model = Model.layer({
        name: "any",
        respond: ({ transcript }) =>
          Effect.succeed(
            transcript.length === 1
              ? { ...using({ inputTokens: 1, money: 7 }, calling), model: "other" }
              : transcript.length === 3
              ? using({ inputTokens: 2, money: 5 }, calling)
              : ScriptedModel.text("Done.")
          )
      }).pipe(Model.priced((usage, name) => {
        asked.push([usage, name])
        return name === "other" ? undefined : 0.5
      }))
      const { report } = yield* agent.run("?").pipe(Effect.provide(model))
      assert.deepStrictEqual(asked, [[{ inputTokens: 1, money: 7 }, "other"], [{ inputTokens: 2, money: 5 }, "any"]])
      assert.deepStrictEqual(sumsOf(report), { inputTokens: 3, money: 7.5, unreported: 1 })
    }))

  it.effect("is paid for failed requests, also for those that the provider repeats on its own", () =>
    Effect.gen(function*() {
      const play = (retries: { readonly provider: number; readonly agent: number }) => {
        const script = [busy(thousand), busy(thousand), using(thousand)]
        let asked = 0
        const move = Effect.suspend((): Effect.Effect<Model.Reply, ModelFailure> => {
          const next = script[asked++]!
          return next instanceof ModelFailure ? Effect.fail(next) : Effect.succeed(next)
        })
        const model = ModelAdapter.make({
          name: "echo-1",
          server: { name: "Echo" },
          respond: () => move,
          stream: () => Effect.map(move, (reply) => Stream.make({ reply: Effect.succeed(reply), isLast: true }))
        }, { retry: Schedule.recurs(retries.provider) })
        const paying = Agent.make({ toolkit, modelRetry: Schedule.recurs(retries.agent) })
        return Effect.all([
          paying.run("?"),
          Effect.suspend(() => {
            asked = 0
            return Effect.map(
              Stream.runLast(paying.stream("?")),
              (last) =>
                last._tag === "Some" && last.value._tag === "RunEnded" ? last.value.answer : assert.fail("no answer")
            )
          })
        ]).pipe(Effect.provide(Model.priced(Layer.succeed(Model.Model, model), perThousand)))
      }
      for (const retries of [{ provider: 2, agent: 0 }, { provider: 0, agent: 2 }]) {
        for (const { report } of yield* play(retries)) {
          assert.deepStrictEqual(sumsOf(report), { inputTokens: 2_700, outputTokens: 300, money: 3 })
          assert.deepStrictEqual(
            report.failures.map((entry) => "model" in entry ? [entry.model, entry.usage] : entry),
            Array.from({ length: 2 }, () => ["echo-1", { ...thousand, money: 1 }])
          )
        }
      }
    }))

  for (
    const [what, price] of [
      ["throws", () => assert.fail("No price list.")],
      ["is no number", () => NaN],
      ["is negative", () => -1],
      ["is infinite", () => Infinity],
      ["is a text", () => "5" as Untyped]
    ] satisfies ReadonlyArray<readonly [string, Model.Price]>
  ) {
    it.effect(`that ${what} is a defect of the model`, () =>
      Effect.gen(function*() {
        for (const script of [[using(thousand)], [busy(thousand), busy(thousand), busy(thousand), busy(thousand)]]) {
          const { logged, value } = yield* logging(
            Effect.flip(agent.run("?")).pipe(Effect.provide(priced(script, price)))
          )
          assert.deepStrictEqual(codeOf(value), ["ModelFailed", "defect"])
          assert.match(logged.join(), /No price list|A price must be a finite number of at least 0/)
          const failed = yield* logging(
            Effect.flip(Stream.runDrain(agent.stream("?"))).pipe(Effect.provide(priced(script, price)))
          )
          assert.deepStrictEqual(codeOf(failed.value), ["ModelFailed", "defect"])
        }
      }))
  }
})

describe("a limit of money", () => {
  it.effect("ends the run before the model is asked again", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(spending({ money: 2 }).run("?"))
      assert.deepInclude({ ...failure }, { _tag: "LimitReached", limit: "money" })
      assert.strictEqual(failure.detail, "The agent used up its money (2) without an answer.")
      assert.deepInclude(failure.report, { turns: 2, money: 2 })
    }).pipe(Effect.provide(priced(() => using(thousand, calling)))))

  it.effect("lets an answer through that exceeds it, because it has been paid", () =>
    Effect.gen(function*() {
      const answer = yield* spending({ money: 0.5 }).run("?")
      assert.deepInclude(answer.report, { turns: 1, money: 1 })
    }).pipe(Effect.provide(priced([using(thousand)]))))

  it.effect("counts failed requests, and the money of an agent inside a tool", () =>
    Effect.gen(function*() {
      const failed = yield* Effect.flip(spending({ money: 2 }).run("?")).pipe(
        Effect.provide(priced([busy(thousand), using(thousand, calling)]))
      )
      assert.deepInclude({ ...failed }, { _tag: "LimitReached", limit: "money" })
      const ended = yield* Effect.flip(consulting({ money: 2 }).run("?")).pipe(
        Effect.provide(priced([using(thousand, ScriptedModel.call("consult")), using(thousand)]))
      )
      assert.deepInclude({ ...ended }, { _tag: "LimitReached", limit: "money" })
      assert.deepInclude(ended.report, { turns: 1, money: 2 })
    }))

  it.effect("is concluded while two more requests can be paid", () =>
    Effect.gen(function*() {
      const script: ScriptedModel.Script = ({ tools }) =>
        using(thousand, tools.length === 0 ? ScriptedModel.text("Pong, I think.") : calling)
      const answer = yield* spending({ money: 4.5 }, { onLimit: "conclude" }).run("?").pipe(
        Effect.provide(priced(script))
      )
      assert.deepInclude({ ...answer }, { text: "Pong, I think.", stopReason: "concluded", concluded: "money" })
      assert.deepInclude(answer.report, { turns: 4, money: 4 })
    }))

  it.effect("may be given for one run, and tells the model when it is near", () =>
    Effect.gen(function*() {
      const answer = yield* spending({ money: 1_000 }).run("?", { limits: { money: 5.5 } })
      const results = Array.from(answer.transcript).flatMap((message) => message.role === "tool" ? [message.text] : [])
      assert.deepStrictEqual(results.map((text) => /You have .*? left/.exec(text)?.[0]), [
        undefined,
        undefined,
        undefined,
        undefined,
        "You have about 10% of the money left"
      ])
    }).pipe(
      Effect.provide(priced((_, index) => using(thousand, index < 5 ? calling : ScriptedModel.text("Done."))))
    ))

  for (
    const [money, says] of [[0, "got 0"], [-1, "got -1"], [NaN, "got NaN"], ["5", "got"]] as ReadonlyArray<Untyped>
  ) {
    it(`is no ${String(money)}`, () => {
      assert.throws(() => spending({ money }), `An agent's limit of money must be a number above zero; ${says}`)
    })
  }
})

/** An agent with a tool that asks another agent, which has the model of the run and no limits. */
const consulting = (limits: Limits.Limits, inner: ReturnType<typeof spending> = spending({})) => {
  const consult = Tool.make(
    "consult",
    { description: "", success: Schema.String, sideEffect: "none" },
    () =>
      Effect.gen(function*() {
        const answer = yield* Effect.result(inner.run("Inner?"))
        return Result.match(answer, {
          onSuccess: ({ text }) => text,
          onFailure: (failure) => codeOf(failure).join(" ")
        })
      })
  )
  return Agent.make({ toolkit: Toolkit.make(consult), limits, loopGuard: "off" })
}

describe("a reply without a price", () => {
  const unpriced = ["ModelFailed", "unpriced"]
  const free: Model.Price = (_, name) => name === "known" ? 0 : undefined

  it.effect("ends a run with a limit of money, and its tokens are counted", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(spending({ money: 5 }).run("?")).pipe(
        Effect.provide(priced([{ ...using(thousand, calling), model: "new-1" }], free))
      )
      assert.deepStrictEqual(codeOf(failure), unpriced)
      assert.strictEqual(failure.detail, "The run has a limit of money, and there is no price for new-1.")
      assert.deepInclude(failure.report, { turns: 1, ...thousand })
      assert.deepInclude(failure.report.failures[0], { code: "unpriced", model: "new-1", handling: "run_failed" })
    }))

  it.effect("ends it also if the provider did not say what the reply used", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(spending({ money: 5 }).run("?")).pipe(
        Effect.provide(priced([ScriptedModel.text("Done.")]))
      )
      assert.deepStrictEqual(codeOf(failure), unpriced)
      assert.include(failure.detail, "the provider did not say what the reply used")
    }))

  it.effect("ends it also as the last answer of a run that is concluded", () =>
    Effect.gen(function*() {
      const script: ScriptedModel.Script = ({ tools }) =>
        tools.length === 0 ? ScriptedModel.text("Best.") : { ...using(thousand, calling), model: "known" }
      const failure = yield* Effect.flip(spending({ money: 5, turns: 2 }, { onLimit: "conclude" }).run("?")).pipe(
        Effect.provide(priced(script, free))
      )
      assert.deepStrictEqual(codeOf(failure), unpriced)
      assert.deepInclude(failure.report, { turns: 2, money: 0, unreported: 1 })
    }))

  it.effect("ends an agent inside a tool, if the run around it has a limit of money", () =>
    Effect.gen(function*() {
      const script = [
        { ...using(thousand, ScriptedModel.call("consult")), model: "known" },
        using(thousand),
        { ...using(thousand), model: "known" }
      ]
      const told = (limits: Limits.Limits) =>
        Effect.map(consulting(limits).run("?").pipe(Effect.provide(priced(script, free))), ({ transcript }) =>
          Array.from(transcript).flatMap((message) => message.role === "tool" ? [message.text] : []))
      assert.deepStrictEqual(yield* told({ money: 5 }), [JSON.stringify(unpriced.join(" "))])
      assert.deepStrictEqual(yield* told({ tokens: 5_000 }), ["\"Done.\""])
    }))

  it.effect("is fine without such a limit, and so is a text in place of a reply", () =>
    Effect.gen(function*() {
      yield* spending({}).run("?").pipe(Effect.provide(priced([using(thousand)], free)))
      const onModelFailure: ModelRecovery.ModelRecovery = () => ModelRecovery.respondWith("Later.")
      const answer = yield* spending({ money: 5 }, { onModelFailure }).run("?").pipe(
        Effect.provide(priced([busy()], free))
      )
      assert.strictEqual(answer.stopReason, "fallback")
    }))

  it.effect("may cost nothing", () =>
    Effect.gen(function*() {
      const answer = yield* spending({ money: 5 }).run("?").pipe(
        Effect.provide(priced([{ ...using(thousand), model: "known" }], free))
      )
      assert.deepInclude(answer.report, { money: 0 })
    }))
})
