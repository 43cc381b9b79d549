/** What the version before has stored can be read; what was stored by any other version is refused by name. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentFailure, Tool, ToolCall, Toolkit, Transcript } from "@fallible/core"
import * as Answer from "@fallible/core/Answer"
import * as CallFacts from "@fallible/core/CallFacts"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "../support/program.ts"

/** An answer and failures of version 7, as they were stored. The transcript of the answer has version 1. */
const before: Record<string, Schema.JsonObject> = JSON.parse(
  readFileSync(join(root, "test/support/stored/before.json"), "utf8")
)

const failureOf = (tag: string) => Schema.decodeUnknownSync(AgentFailure.schema)(before[tag])

const handlings = ({ report }: { readonly report: AgentFailure.AgentFailure["report"] }) =>
  report.failures.map(({ handling }) => handling)

describe("what the version before has stored", () => {
  it("is read: an answer", () => {
    const answer = Schema.decodeUnknownSync(Answer.schema)(before["answer"])
    assert.deepInclude({ ...answer }, { text: "Done.", stopReason: "answered", truncated: false })
    assert.deepInclude(answer.report, { turns: 4 })
    // No provider had counted any tokens. They were stored as 0, but they are unknown.
    assert.doesNotHaveAnyKeys(answer.report, ["inputTokens", "outputTokens", "money", "unreported"])
    const [, question] = Transcript.toArray(answer.transcript)
    assert.deepStrictEqual(question, {
      role: "user",
      text: "Go.",
      files: [{ mediaType: "image/gif", base64: "R0lG" }, { url: "https://example.org/paris.png" }]
    })
    assert.deepStrictEqual(handlings(answer), ["retry", "told", "fix"])
    assert.strictEqual(CallFacts.inDoubt(answer.facts).length, 1)
    // Stored again, it has the form of today.
    const stored = Schema.encodeSync(Answer.schema)(answer)
    assert.deepInclude(stored, { version: 8, stopReason: "answered" })
    assert.deepInclude(stored["transcript"], { version: 2 })
    assert.deepStrictEqual(Schema.decodeUnknownSync(Answer.schema)(stored), answer)
  })

  it("is read: the failures of runs", () => {
    assert.deepStrictEqual(handlings(failureOf("LimitReached")), ["retry", "retry", "retry", "told"])
    assert.strictEqual(Transcript.toArray(failureOf("LimitReached").transcript)[0]?.role, "system")
    const postponed = failureOf("RunPostponed")
    if (postponed._tag !== "RunPostponed") return assert.fail(postponed._tag)
    assert.deepStrictEqual(handlings(postponed.postponement), ["told", "run_failed"])
    assert.deepStrictEqual(postponed.postponement.version, 8)
  })

  it.effect("goes on: a run that waited for its user while the program was updated", () =>
    Effect.gen(function*() {
      const suspension = yield* Schema.decodeUnknownEffect(AgentFailure.Suspension)(
        before["RunSuspended"]!["suspension"]
      )
      const book = Tool.make(
        "book",
        { description: "", success: Schema.String },
        () => Effect.map(ToolCall.ask("For how many?"), (people) => `for ${people}`)
      )
      const answer = yield* Agent.make({ toolkit: Toolkit.make(book) }).resume(suspension, "four").pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.text("Booked.")]))
      )
      assert.strictEqual(answer.text, "Booked.")
      assert.include(JSON.stringify(Transcript.toArray(answer.transcript)), "for four")
      assert.deepStrictEqual(handlings(answer), ["retry"])
    }))

  it("is refused by name if it is older", () => {
    const refusal = (schema: Schema.Codec<never, unknown>, stored: unknown) => {
      try {
        return assert.fail(JSON.stringify(Schema.decodeUnknownSync(schema)(stored)))
      } catch (error) {
        return String(error)
      }
    }
    for (
      const [schema, stored, says] of [
        [Answer.schema, { ...before["answer"], version: 6 }, "an answer of version 8, not version 6"],
        [
          AgentFailure.schema,
          { ...before["LimitReached"], version: 6 },
          "the failure of a run of version 8, not version 6"
        ],
        [
          CallFacts.schema,
          { ...Schema.encodeSync(CallFacts.schema)(CallFacts.empty), version: 2 },
          "the facts of calls of version 4, not version 2"
        ],
        [Transcript.schema, { version: 0, messages: [] }, "a transcript of version 2, not version 0"],
        [AgentFailure.Suspension, { ...Object(before["RunSuspended"]!["suspension"]), version: 5 }, "8"],
        [AgentFailure.Suspension, null, "Expected"],
        [Answer.schema, [], "Expected"]
      ] as const
    ) {
      assert.include(refusal(schema as never, stored), says)
    }
  })
})
