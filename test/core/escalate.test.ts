import { assert, describe, it } from "@effect/vitest"
import { Agent, Fixer, Tool, Toolkit } from "@fallible/core"
import * as Rendering from "@fallible/core/Rendering"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { ScriptedModel } from "@fallible/testing"
import { Effect, type Schema } from "effect"
import { call, failed, fixer, handled, unclosed, weather } from "../support/fixing.ts"
import { withoutEvidence } from "../support/withoutEvidence.ts"

describe("C4: escalate", () => {
  const words = { detail: "The city is not clear.", hint: "Ask the user.", severity: "high" } as const

  it.effect("replaces the detail and the hint with its own words, and keeps the other fields", () =>
    Effect.gen(function*() {
      const { tool } = weather()
      const outcome = failed(yield* call(tool.pipe(Tool.fix(() => Fixer.escalate(words))), { city: "paris" }))
      const fields = withoutEvidence(outcome.failure)
      assert.deepStrictEqual(fields, {
        _tag: "SchemaMismatch",
        side: "arguments",
        code: "uncapitalized",
        issues: [],
        alternatives: [],
        source: "the fixer of get_weather",
        ...words
      })
      assert.strictEqual(outcome.failure.cause, "the gazetteer")
      assert.deepStrictEqual(handled(outcome), ["escalated uncapitalized"])
      assert.isUndefined(outcome.repairs)
    }))

  it.effect("has no hint by default, and a medium severity", () =>
    Effect.gen(function*() {
      const fix = () => Fixer.escalate({ detail: "No." })
      const outcome = failed(yield* call(weather().tool.pipe(Tool.fix(fix)), unclosed))
      assert.deepInclude({ ...outcome.failure }, { code: "invalid_json", detail: "No." })
      assert.notProperty(outcome.failure, "hint")
      assert.strictEqual(outcome.failure.severity, "medium")
      assert.strictEqual(outcome.stage, "parse")
    }))

  it.effect("is also the failure of a tool that a program runs by hand", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(
        weather().tool.pipe(Tool.fix(() => Fixer.escalate(words))).run({ city: "paris" })
      )
      assert.deepInclude({ ...failure }, words)
    }))

  it.effect("refers to the model's own arguments, even after a rejected correction", () =>
    Effect.gen(function*() {
      const fix = ({ tries }: Fixer.Rejection) => tries === 1 ? { town: "Paris" } : Fixer.escalate(words)
      const outcome = failed(yield* call(weather().tool.pipe(Tool.fix(fix, { tries: 2 })), unclosed))
      assert.deepInclude({ ...outcome.failure }, { code: "invalid_json", detail: words.detail })
      assert.deepStrictEqual(handled(outcome), ["ignored fixer_failed", "escalated invalid_json"])
    }))

  it.effect("ends the correction, even if tries are left", () =>
    Effect.gen(function*() {
      const { fix, told } = fixer(() => Fixer.escalate(words))
      yield* call(weather().tool.pipe(Tool.fix(fix, { tries: 5 })), unclosed)
      assert.strictEqual(told.length, 1)
    }))

  it.effect("reaches the calling model, which calls again", () =>
    Effect.gen(function*() {
      const tool = weather().tool.pipe(Tool.fix(() => Fixer.escalate({ ...words, hint: "Send {\"city\":\"Paris\"}." })))
      const program = Effect.gen(function*() {
        const { report } = yield* Agent.make({ toolkit: Toolkit.make(tool) }).run("?")
        return { report, requests: yield* (yield* ScriptedModel.ScriptedModel).requests }
      })
      const script = [
        ScriptedModel.call("get_weather", unclosed),
        ScriptedModel.call("get_weather", { city: "Paris" }),
        ScriptedModel.text("Sunny.")
      ]
      const { report, requests } = yield* Effect.provide(program, ScriptedModel.layer(script))
      const read = requests[1]?.messages.at(-1)
      assert.deepInclude(JSON.parse(read?.role === "tool" ? read.text : ""), {
        ok: false,
        error: "SchemaMismatch",
        code: "invalid_json",
        detail: "The city is not clear.",
        hint: "Send {\"city\":\"Paris\"}."
      })
      assert.deepStrictEqual(
        report.failures.map(({ code, detail, handling }) => [code, handling, detail === words.detail]),
        [
          ["invalid_json", "escalated", false],
          ["invalid_json", "told", true]
        ]
      )
    }))
})

describe("C4: corrected arguments in an escalation", () => {
  const call1 = { id: "1", name: "get_weather" }
  const read = (outcome: ToolOutcome.ToolOutcome): { readonly hint?: string; readonly retry: string } =>
    JSON.parse(Rendering.json(outcome, call1))
  const escalating = (args: Schema.JsonObject, hint?: string) =>
    call(
      weather().tool.pipe(
        Tool.fix(() => Fixer.escalate({ detail: "d", arguments: args, ...(hint === undefined ? {} : { hint }) }))
      ),
      unclosed
    )

  it.effect("reach the model in full, whatever they contain", () =>
    Effect.gen(function*() {
      const args = { city: `a\n  b\u2028\u0085${"x".repeat(3000)}` }
      const { hint = "", retry } = read(yield* escalating(args, `Send these. ${"y".repeat(1000)}`))
      assert.match(hint, /^Send these\. y+… \(412 more characters\) Corrected arguments: \{/)
      assert.deepStrictEqual(JSON.parse(hint.slice(hint.indexOf("{"))), args)
      assert.strictEqual(retry, "Do not repeat this call as it is.")
    }))

  it.effect("or not at all", () =>
    Effect.gen(function*() {
      const exact = { city: "x".repeat(4000 - "{\"city\":\"\"}".length) }
      assert.include(read(yield* escalating(exact)).hint ?? "", JSON.stringify(exact))
      assert.isUndefined(read(yield* escalating({ city: `${exact.city}x` })).hint)
      assert.strictEqual(read(yield* escalating({ city: `${exact.city}x` }, "Ask.")).hint, "Ask.")
    }))

  it.effect("count as no answer if the escalation has no words", () =>
    Effect.gen(function*() {
      for (const detail of [" ", "\n", "\u2028"]) {
        const outcome = failed(yield* call(weather().tool.pipe(Tool.fix(() => Fixer.escalate({ detail }))), unclosed))
        assert.strictEqual(outcome.failure.code, "invalid_json")
        assert.deepStrictEqual(outcome.handled.map(({ by, code }) => `${by} ${code}`), ["ignored fixer_failed"])
        assert.isUndefined(outcome.failure.source)
      }
    }))

  it.effect("come with words and a fixer's name that are bounded everywhere", () =>
    Effect.gen(function*() {
      const named = Tool.fix(() => Fixer.escalate({ detail: "d" }), { name: `a\nb${"x".repeat(1000)}` })
      const { source = "" } = failed(yield* call(weather().tool.pipe(named), unclosed)).failure
      assert.match(source, /^a bx{77}… \(\d+ more characters\)$/)
      const long = "x".repeat(1_000_000)
      const { tool } = weather()
      const escalated = failed(
        yield* call(tool.pipe(Tool.fix(() => Fixer.escalate({ detail: long, hint: long }))), unclosed)
      )
      assert.isBelow(JSON.stringify(escalated).length, 5000)
      const stopped = yield* call(tool.pipe(Tool.fix(() => Fixer.throwException(long))), unclosed)
      assert.isBelow(JSON.stringify(stopped).length, 5000)
    }))

  it.effect("come with a severity that nothing contradicts", () =>
    Effect.gen(function*() {
      const fix = () => Fixer.escalate({ detail: "d", hint: "Ask the user.", severity: "critical" })
      const outcome = failed(yield* call(weather().tool.pipe(Tool.fix(fix)), { city: "paris" }))
      assert.deepStrictEqual(JSON.parse(Rendering.json(outcome, call1)), {
        ok: false,
        error: "SchemaMismatch",
        code: "uncapitalized",
        detail: "d",
        hint: "Ask the user.",
        source: "the fixer of get_weather",
        severity: "critical",
        retry: "Do not repeat this call as it is."
      })
      assert.strictEqual(
        Rendering.prose(outcome, call1),
        "get_weather failed (uncapitalized): d Ask the user. Source: the fixer of get_weather. Severity: critical. Do not repeat this call as it is."
      )
    }))
})
