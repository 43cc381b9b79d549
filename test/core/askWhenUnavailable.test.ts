/** A tool that asks its user while it is unavailable: when it asks, and what becomes of the reply. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Dispatch, Policy, RetryPolicy, Tool, ToolCall, Toolkit, ToolUnavailable } from "@fallible/core"
import * as Explanation from "@fallible/core/Explanation"
import * as LastKnown from "@fallible/core/LastKnown"
import * as Rendering from "@fallible/core/Rendering"
import type * as SideEffect from "@fallible/core/SideEffect"
import { ScriptedModel } from "@fallible/testing"
import { Cause, Effect, Exit } from "effect"
import { stored, suspended } from "../support/approving.ts"
import type { Untyped } from "../support/nonsense.ts"
import {
  doing,
  type Failure,
  lost,
  notExecuted,
  paris,
  refused,
  silent,
  sunny,
  unknownCity
} from "../support/sequence.ts"
import { passing } from "../support/virtualTime.ts"

type Weather = Tool.Tool<string, typeof paris, string, Failure>

const question = ({ city }: typeof paris, { code }: ToolUnavailable) => `No weather of ${city} (${code}). What now?`
const asked = "No weather of Paris (connection). What now?"
const use = (reply: string) => reply === "?" ? Effect.fail(unknownCity) : Effect.succeed(`${reply}, says the user`)

/** Makes a tool that fails with each failure in turn, and then answers. */
const failing = (failures: ReadonlyArray<Failure>, sideEffect: SideEffect.SideEffect = "none"): Weather => {
  const steps = failures.map((failure): Effect.Effect<string, Failure> => Effect.fail(failure))
  return doing(Effect.suspend(() => steps.shift() ?? sunny), sideEffect)
}
const down = (failure: Failure = refused, sideEffect: SideEffect.SideEffect = "none"): Weather =>
  doing(Effect.fail(failure), sideEffect)

const call = { id: "1", name: "get_weather", arguments: JSON.stringify(paris) }
const outcomeOf = <R>(tool: Tool.Tool<string, typeof paris, string, Failure, R>) =>
  Dispatch.call(Toolkit.make(tool), call)
const replied = (reply: string, tool: Weather) => outcomeOf(tool).pipe(ToolCall.withReply(reply))

describe("Tool.askWhenUnavailable", () => {
  it.effect("asks nothing while the tool answers", () =>
    Effect.gen(function*() {
      const tool = failing([]).pipe(Tool.askWhenUnavailable(question, use))
      assert.deepInclude(yield* outcomeOf(tool), { _tag: "Completed", value: "sunny", caveats: [], handled: [] })
    }))

  it.effect("makes the answer from the reply, and tells the model who it is from", () =>
    Effect.gen(function*() {
      assert.deepInclude(yield* replied("rain", Tool.askWhenUnavailable(down(), question, use)), {
        _tag: "Completed",
        value: "rain, says the user",
        source: { name: "the user" },
        caveats: [
          "from the user; the usual source is unavailable",
          `the user was asked "${asked}" and replied "rain"`
        ],
        handled: [{ tag: "ToolUnavailable", code: "connection", detail: "Refused.", by: "fallback" }]
      })
    }))

  it.effect("keeps what was asked and replied if the reply leads to another source", () =>
    Effect.gen(function*() {
      const cached = down().pipe(
        Tool.askWhenUnavailable(question, () => Effect.as(ToolCall.source({ name: "cache", age: "3 hours" }), "rain"))
      )
      const outcome = yield* replied("Rome", cached)
      assert.deepStrictEqual(outcome._tag === "Completed" && outcome.caveats, [
        "from cache, 3h old; the live service is unavailable",
        `the user was asked "${asked}" and replied "Rome"`
      ])
    }))

  it.effect("fails as the use of the reply does, and lists the user among the sources", () =>
    Effect.gen(function*() {
      const tool = down().pipe(Tool.askWhenUnavailable(question, use))
      assert.strictEqual(yield* Effect.flip(tool.run(paris)).pipe(ToolCall.withReply("?")), unknownCity)
      const again = down().pipe(
        Tool.retry(RetryPolicy.make({ attempts: 2 })),
        Tool.askWhenUnavailable(question, () => Effect.fail(notExecuted))
      )
      const failure = yield* passing(Effect.flip(again.run(paris)).pipe(ToolCall.withReply("rain")))
      assert.deepStrictEqual(failure._tag === "ToolUnavailable" && failure.tried, [
        "get_weather (connection, 2 attempts)",
        "the user (connection)"
      ])
    }))

  describe("without a use of the reply", () => {
    it.effect("fails with the tool's failure, and tells the model what was asked and replied", () =>
      Effect.gen(function*() {
        const cause = new Error("socket")
        const hinted = new ToolUnavailable({ ...refused, hint: "Cached cities: Rome.", cause })
        const failure = yield* Effect.flip(down(hinted).pipe(Tool.askWhenUnavailable(question)).run(paris)).pipe(
          ToolCall.withReply("go on")
        )
        assert.deepStrictEqual({ ...failure }, {
          ...hinted,
          hint: `The user was asked "${asked}" and replied "go on". Cached cities: Rome.`
        })
        assert.strictEqual(failure.cause, cause)
        const outcome = yield* replied("", down().pipe(Tool.askWhenUnavailable(question)))
        const { hint, ...rest }: Readonly<Record<string, string>> = JSON.parse(Rendering.json(outcome, call))
        assert.strictEqual(hint, `The user was asked "${asked}" and replied nothing.`)
        const { hint: _, ...untouched } = JSON.parse(Rendering.json(yield* outcomeOf(down()), call))
        assert.deepStrictEqual(rest, untouched)
        assert.deepStrictEqual(outcome.handled, [])
      }))

    it.effect("shows a long reply shortened, and on one line", () =>
      Effect.gen(function*() {
        const tool = down().pipe(Tool.askWhenUnavailable(() => "q".repeat(500)))
        const failure = yield* Effect.flip(tool.run(paris)).pipe(
          ToolCall.withReply(`a\u001b[31mb\n\u202ec${"d".repeat(500)}`)
        )
        const { hint = "" } = failure
        assert.isBelow(hint.length, 600)
        assert.match(hint, /^The user was asked "q+… \(300 more characters\)" and replied "a \[31mb c?/)
        assert.notMatch(hint, /[\p{Cc}\p{Cf}]/u)
      }))

    it.effect("leaves the failure to a fallback outside, which answers for the last source alone", () =>
      Effect.gen(function*() {
        const store = LastKnown.layerMemory()
        const tool = failing([refused, refused]).pipe(
          Tool.fallback(() => Effect.fail(notExecuted), { name: "mirror" }),
          Tool.askWhenUnavailable(question),
          LastKnown.fallback({ when: (failure) => failure === notExecuted })
        )
        const failure = yield* Effect.flip(tool.run(paris)).pipe(ToolCall.withReply("no"), Effect.provide(store))
        assert.deepStrictEqual(failure._tag === "ToolUnavailable" && failure.tried?.at(-1), "cache (no value)")
        assert.include(failure.hint, "replied \"no\"")
      }))
  })

  describe("passes on unchanged", () => {
    const forbidden = new ToolUnavailable({ code: "rejected", detail: "No.", transient: false, scope: "arguments" })
    const denied = new ToolUnavailable({ code: "permission_denied", detail: "No.", transient: false })
    const never = () => Effect.die("asked")
    // Each run has an id of its own, which evidence names.
    const shown = (exit: Exit.Exit<string, Failure>) => JSON.stringify(exit).replaceAll(/call-\w+/g, "call")
    const passedOn = (tool: Weather) =>
      Effect.gen(function*() {
        const plain = yield* Tool.outcome(tool, paris)
        assert(Exit.isFailure(plain.exit) && Cause.squash(plain.exit.cause) instanceof ToolUnavailable)
        for (
          const asking of [Tool.askWhenUnavailable(tool, question), Tool.askWhenUnavailable(tool, question, never)]
        ) {
          const outcome = yield* Tool.outcome(asking, paris).pipe(ToolCall.withReply(() => assert.fail("asked")))
          assert.strictEqual(shown(outcome.exit), shown(plain.exit))
          assert.deepStrictEqual([outcome.certainty, outcome.handled], [plain.certainty, plain.handled])
        }
      })

    it.effect("a refusal", () =>
      Effect.gen(function*() {
        for (const failure of [forbidden, denied]) {
          for (const sideEffect of ["none", "non_idempotent"] as const) yield* passedOn(down(failure, sideEffect))
        }
      }))

    it.effect("a failure of another class", () =>
      Effect.gen(function*() {
        const tool = down(unknownCity).pipe(Tool.askWhenUnavailable(question, never))
        assert.strictEqual(yield* Effect.flip(tool.run(paris)), unknownCity)
      }))

    it.effect("the failure of a call that may have taken effect, or has", () =>
      Effect.gen(function*() {
        const executed = new ToolUnavailable({ ...lost, outcome: "executed" })
        for (const failure of [lost, silent, executed]) {
          for (const sideEffect of ["idempotent", "non_idempotent"] as const) {
            yield* passedOn(down(failure, sideEffect))
          }
        }
      }))

    it.effect("a doubt that the failure does not show, and one that a policy inside has added", () =>
      Effect.gen(function*() {
        const hidden = down(lost, "non_idempotent").pipe(Tool.mapFailure(() => notExecuted))
        yield* passedOn(hidden)
        const added = down(notExecuted, "non_idempotent").pipe(Tool.mapFailure(() => lost))
        yield* passedOn(added)
        yield* passedOn(doing(down(lost, "non_idempotent").run(paris)))
      }))
  })

  it.effect("asks for a tool that acts if nothing was done, and says so", () =>
    Effect.gen(function*() {
      const outcome = yield* replied(
        "rain",
        down(notExecuted, "non_idempotent").pipe(Tool.askWhenUnavailable(question, use))
      )
      assert(outcome._tag === "Completed" && outcome.certainty === "not_executed")
      assert.include(
        outcome.caveats,
        "get_weather itself did nothing: this answer comes from another source."
      )
    }))

  it.effect("asks only if a last known value is missing, and after all attempts", () =>
    Effect.gen(function*() {
      const retry = Tool.retry(RetryPolicy.make({ attempts: 2 }))
      const tool = failing([refused, refused]).pipe(retry, LastKnown.fallback(), Tool.askWhenUnavailable(question, use))
      const once = Effect.map(passing(tool.run(paris)), (value) => value)
      const values = Effect.all([once, once]).pipe(ToolCall.withReply("rain"))
      assert.deepStrictEqual(yield* Effect.provide(values, LastKnown.layerMemory()), ["rain, says the user", "sunny"])
    }))

  it.effect("says in the log what a wrong question is", () =>
    Effect.gen(function*() {
      const tool = down().pipe(Tool.askWhenUnavailable((() => 3) as Untyped))
      const exit = yield* Effect.exit(tool.run(paris))
      assert.deepStrictEqual(
        exit,
        Exit.die(new TypeError("The question of 'get_weather' to the user must be a string; got a number."))
      )
    }))

  describe("in an agent", () => {
    const script = ScriptedModel.layer([ScriptedModel.call("get_weather", paris), ScriptedModel.text("Done.")])
    const agentOf = (tool: Weather) => Agent.make({ toolkit: Toolkit.make(tool) })

    it.effect("suspends the run, and goes on with the reply in another process", () =>
      Effect.gen(function*() {
        const agent = agentOf(down().pipe(Tool.askWhenUnavailable(question, use)))
        const waiting = yield* suspended(agent.run("How is the weather?"))
        assert.strictEqual(waiting.question, asked)
        const { report, transcript } = yield* agent.resume(stored(waiting.suspension), "rain")
        assert.include(JSON.stringify(Array.from(transcript)), "rain, says the user")
        assert.deepStrictEqual(report.failures.map(({ code, handling }) => `${code}: ${handling}`), [
          "connection: fallback"
        ])
      }).pipe(Effect.provide(script)))

    it.effect("tells the model the reply if there is no use of it", () =>
      Effect.gen(function*() {
        const agent = agentOf(down().pipe(Tool.askWhenUnavailable(question)))
        const waiting = yield* suspended(agent.run("How is the weather?"))
        const { report, transcript } = yield* agent.resume(waiting.suspension, "go on")
        assert.include(JSON.stringify(Array.from(transcript)), "replied \\\\\\\"go on\\\\\\\"")
        assert.deepStrictEqual(report.failures.map(({ code, handling }) => `${code}: ${handling}`), [
          "connection: told"
        ])
      }).pipe(Effect.provide(script)))

    it.effect("needs no reply any more if the tool is up again", () =>
      Effect.gen(function*() {
        const agent = agentOf(failing([refused]).pipe(Tool.askWhenUnavailable(question, use)))
        const waiting = yield* suspended(agent.run("How is the weather?"))
        const { transcript } = yield* agent.resume(waiting.suspension, "rain")
        assert.deepInclude(transcript.at(2), { role: "tool", text: "\"sunny\"" })
      }).pipe(Effect.provide(script)))

    it.effect("asks again if the tool then fails in another way", () =>
      Effect.gen(function*() {
        const busy = new ToolUnavailable({ ...refused, code: "rate_limited" })
        const agent = agentOf(failing([refused, busy, busy]).pipe(Tool.askWhenUnavailable(question, use)))
        const first = yield* suspended(agent.run("How is the weather?"))
        const second = yield* suspended(agent.resume(first.suspension, "rain"))
        assert.strictEqual(second.question, "No weather of Paris (rate_limited). What now?")
        const { transcript } = yield* agent.resume(second.suspension, "snow")
        const text = JSON.stringify(Array.from(transcript))
        assert.include(text, "snow, says the user")
        assert.notInclude(text, "rain")
      }).pipe(Effect.provide(script)))

    it.effect("does not repeat a call that may have taken effect once the reply is there", () =>
      Effect.gen(function*() {
        const agent = agentOf(
          failing([notExecuted, lost], "non_idempotent").pipe(Tool.askWhenUnavailable(question, use))
        )
        const waiting = yield* suspended(agent.run("How is the weather?"))
        const { report, transcript } = yield* agent.resume(waiting.suspension, "rain")
        assert.deepStrictEqual(report.failures.map(({ code, handling }) => `${code}: ${handling}`), [
          "outcome_unknown: told"
        ])
        assert.notInclude(JSON.stringify(Array.from(transcript)), "says the user")
      }).pipe(Effect.provide(script)))
  })

  it.effect("asks without an agent by ToolCall.withReply, or says that it is missing", () =>
    Effect.gen(function*() {
      const tool = down().pipe(Tool.askWhenUnavailable(question, use))
      assert.strictEqual(yield* tool.run(paris).pipe(ToolCall.withReply("rain")), "rain, says the user")
      const exit = yield* Effect.exit(tool.run(paris))
      assert.include(Exit.isFailure(exit) && String(Cause.squash(exit.cause)), `(ToolCall.withReply). ${asked}`)
    }))

  describe("is explained", () => {
    const explained = <T extends Tool.Any>(tool: T) => {
      const explanation = Tool.explain(tool)
      return {
        because: explanation.time.because,
        moments: Explanation.timeline(explanation).split("\n").slice(1, 4).map((line) => line.trim()),
        warnings: explanation.warnings.map(({ code }) => code)
      }
    }
    const quick = Tool.timeout("1 second")

    it("as a question that takes no time of the call, or as one whose reply is used", () => {
      assert.deepStrictEqual(explained(down().pipe(quick, Tool.askWhenUnavailable(question))), {
        because: [],
        moments: ["0ms  attempt 1", "1s   times out", "1s   the question to the user"],
        warnings: []
      })
      assert.deepStrictEqual(explained(down().pipe(quick, Tool.askWhenUnavailable(question, use))), {
        because: ["the use of the user's reply has no timeout"],
        moments: ["0ms  attempt 1", "1s   times out", "1s   the use of the user's reply"],
        warnings: []
      })
    })

    it("without a warning for a tool that acts, since a doubt is passed on", () => {
      const acting = down(refused, "idempotent").pipe(quick)
      assert.deepStrictEqual(explained(acting.pipe(Tool.askWhenUnavailable(question, use))).warnings, [])
      assert.deepStrictEqual(explained(acting.pipe(Tool.fallback(() => sunny))).warnings, ["fallback_of_acting_tool"])
    })
  })

  it.effect("is a default of a toolkit, for the tools without a fallback", () =>
    Effect.gen(function*() {
      const kit = Toolkit.make(down()).pipe(Toolkit.withDefaults([Policy.askWhenUnavailable(() => "What now?")]))
      const outcome = yield* Dispatch.call(kit, call)
      assert.deepInclude(outcome, { _tag: "Suspended", question: "What now?" })
    }))

  it("throws if there is no question, or no function for the reply", () => {
    assert.throws(
      () => down().pipe(Tool.askWhenUnavailable("What now?" as Untyped)),
      /^A question to the user must be a function; got a string\.$/
    )
    assert.throws(
      () => down().pipe(Tool.askWhenUnavailable(question, {} as Untyped)),
      /^The use of a user's reply must be a function; got an object\.$/
    )
  })
})
