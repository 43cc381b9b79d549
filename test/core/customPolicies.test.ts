import { assert, describe, it } from "@effect/vitest"
import { Observer, Policy, RetryPolicy, Tool, ToolCall, type ToolFailure, type ToolUnavailable } from "@fallible/core"
import { Cause, Clock, Effect, Schedule } from "effect"
import { custom, later, outcomeOf, stepping, told, twice, type Untyped } from "../support/customPolicies.ts"
import { doing, paris, refused, sunny } from "../support/sequence.ts"

describe("Policy.make", () => {
  const wrap: Policy.Options["wrap"] = (run) => run

  it("reports invalid options", () => {
    const wrongs: ReadonlyArray<readonly [options: object, message: string]> = [
      [{ kind: "hedge", description: "", wrap }, "A policy's kind must be one of"],
      [{ kind: "custom", wrap }, "A policy's description must be a string; got nothing."],
      [{ kind: "custom", description: 3, wrap }, "A policy's description must be a string; got a number."],
      [{ kind: "custom", name: 3, description: "", wrap }, "A policy's name must be a string; got a number."],
      [{ kind: "custom", description: "", wrap }, "A custom policy needs a name."],
      [{ kind: "retry", description: "" }, "A policy's wrap must be a function; got nothing."],
      [{ kind: "retry", description: "", wrap: {} }, "A policy's wrap must be a function; got an object."]
    ]
    for (const [options, message] of wrongs) {
      assert.throws(() => Policy.make(options as Untyped), TypeError, message)
    }
  })

  it("is the only way to make a policy", () => {
    const byHand = { kind: "custom", description: "by hand", wrap } as Untyped
    const message = "A policy must be made by Policy.make; got an object."
    assert.throws(() => Tool.with(doing(sunny), byHand), TypeError, message)
    assert.throws(() => Tool.withDefaults(doing(sunny), [byHand]), TypeError, message)
    assert.isFalse(Policy.isPolicy(byHand))
    assert.isTrue(Policy.isPolicy(twice))
  })

  it.effect("accepts options with inherited properties", () =>
    Effect.gen(function*() {
      class Audit {
        readonly kind = "custom"
        get name() {
          return "audit"
        }
        get description() {
          return "an audit"
        }
        wrap<A, E extends ToolFailure.ToolFailure, R>(run: Policy.Run<A, E, R>) {
          return run
        }
      }
      const audited = doing(sunny).pipe(Tool.with(Policy.make(new Audit())))
      assert.strictEqual(yield* audited.run(paris), "sunny")
      assert.strictEqual(audited.policies[0]?.name, "audit")
    }))
})

describe("Tool.with", () => {
  it("puts a policy around all others, and calls its wrap once per tool", () => {
    let wraps = 0
    const counting = custom((run) => {
      wraps++
      return run
    })
    const tool = doing(sunny).pipe(Tool.retry(RetryPolicy.none), Tool.with(counting))
    assert.deepStrictEqual(tool.policies.map(({ kind }) => kind), ["retry", "custom"])
    for (const _ of [1, 2]) Effect.runSync(tool.run(paris))
    assert.strictEqual(wraps, 1)
  })

  it.effect("passes on the policy's own failures", () =>
    Effect.gen(function*() {
      const closed = custom<ToolUnavailable>(() => () => Effect.fail(refused))
      assert.strictEqual(yield* Effect.flip(doing(sunny).pipe(Tool.with(closed)).run(paris)), refused)
    }))
})

describe("as a default", () => {
  const kindsOf = (tool: Tool.Any) =>
    tool.policies.map(({ kind, name }) => name === undefined ? kind : `${kind} ${name}`)
  const inert = (kind: Policy.Kind, name?: string) =>
    Policy.make({ kind, description: kind, wrap: (run) => run, ...(name === undefined ? {} : { name }) })

  it("a custom policy named retry replaces no retry", () => {
    const defaults = [inert("custom", "retry"), Policy.retry(RetryPolicy.transient)]
    assert.deepStrictEqual(kindsOf(Tool.withDefaults(doing(sunny), defaults)), ["custom retry", "retry"])
    assert.deepStrictEqual(kindsOf(doing(sunny).pipe(Tool.with(defaults[0]!), Tool.withDefaults(defaults))), [
      "custom retry",
      "retry"
    ])
  })

  it("custom policies with different names are all added, and two with one name in a list throw", () => {
    const defaults = [inert("custom", "audit"), inert("custom", "cache")]
    const tool = Tool.withDefaults(doing(sunny), defaults)
    assert.deepStrictEqual(kindsOf(tool), ["custom audit", "custom cache"])
    assert.deepStrictEqual(kindsOf(Tool.withDefaults(tool, defaults)), ["custom audit", "custom cache"])
    assert.throws(
      () => Tool.withDefaults(doing(sunny), [...defaults, inert("custom", "audit")]),
      TypeError,
      "Two default policies are named 'audit'. Give each its own name."
    )
  })

  it("a policy of another kind replaces that kind", () => {
    const mine = doing(sunny).pipe(Tool.with(inert("retry")), Tool.withDefaults([Policy.retry(RetryPolicy.transient)]))
    assert.deepStrictEqual(kindsOf(mine), ["retry"])
  })

  it("a policy of another kind replaces that kind, whatever its name", () => {
    const named = doing(sunny).pipe(
      Tool.with(inert("retry", "mine")),
      Tool.withDefaults([Policy.retry(RetryPolicy.transient)])
    )
    assert.deepStrictEqual(kindsOf(named), ["retry mine"])
  })
})

describe("a custom policy cannot affect", () => {
  const swallowing = {
    "an exit": custom((run) => (params) =>
      Effect.flatMap(Effect.exit(run(params)), () => Effect.succeed("swallowed" as Untyped))
    ),
    "a catch of causes": custom((run) => (params) =>
      Effect.catchCause(run(params), () => Effect.succeed("swallowed" as Untyped))
    ),
    "another failure": custom<ToolUnavailable>((run) => (params) =>
      Effect.catchCause(run(params), () => Effect.fail(refused))
    ),
    "a race": custom((run) => (params) => Effect.race(run(params), Effect.delay(run(params), "1 second")))
  }
  for (const [how, policy] of Object.entries(swallowing)) {
    it.effect(`a stop and a question: ${how}`, () =>
      Effect.gen(function*() {
        const ends = [ToolCall.stop("Do no harm."), ToolCall.ask("Which one?"), sunny]
        for (const [first, tag] of [[0, "Stopped"], [1, "Suspended"]] as const) {
          const tool = stepping([ends[first]!, sunny]).pipe(Tool.with(policy), Tool.retry(Schedule.recurs(2)))
          assert.strictEqual((yield* outcomeOf(tool))._tag, tag)
        }
      }))
  }

  it.effect("that a stop takes precedence over a question", () =>
    Effect.gen(function*() {
      const twice = custom((run) => (params) =>
        Effect.andThen(
          Effect.exit(run(params)),
          Effect.andThen(Effect.exit(run(params)), Effect.succeed("swallowed" as Untyped))
        )
      )
      const tool = stepping([ToolCall.ask("Which one?"), ToolCall.stop("Do no harm.")]).pipe(Tool.with(twice))
      assert.deepInclude(yield* outcomeOf(tool), { _tag: "Stopped", reason: "Do no harm." })
    }))

  it.effect("the log of a defect", () =>
    Effect.gen(function*() {
      for (const [how, logged] of [["an exit", 1], ["a race", 1]] as const) {
        const reported: Array<unknown> = []
        const tool = stepping([Effect.die("no rows"), sunny]).pipe(Tool.with(swallowing[how]))
        const outcome = yield* Observer.observe(outcomeOf(tool), {
          onDefect: (message, cause) => Effect.sync(() => reported.push([message, Cause.squash(cause)]))
        })
        assert.strictEqual(outcome._tag, "Completed")
        assert.deepStrictEqual(reported, [["The tool get_weather failed with an internal error", "no rows"]])
        assert.lengthOf(reported, logged)
      }
    }))

  it.effect("that pure computation does not count as a wait", () =>
    Effect.gen(function*() {
      // Each read of this clock takes a millisecond.
      let now = 0
      const clock = yield* Clock.Clock
      const slow: Clock.Clock = Object.assign(Object.create(clock), { currentTimeMillisUnsafe: () => ++now })
      const idling = custom((run) => (params) => Effect.andThen(Effect.sync(() => ++now), run(params)))
      const events: Array<string> = []
      yield* doing(sunny).pipe(Tool.with(idling)).run(paris).pipe(
        Observer.observe({ onEvent: ({ _tag }) => events.push(_tag) }),
        Effect.provideService(Clock.Clock, slow)
      )
      assert.deepStrictEqual(events, ["AttemptStarted", "AttemptEnded"])
    }))

  it.effect("the attempt number of a failure", () =>
    Effect.gen(function*() {
      const hedge = custom((run) => (params) => Effect.race(run(params), Effect.delay(run(params), "1 second")))
      const { events } = yield* told(
        stepping([later(2_000, Effect.fail(refused)), later(2_000, sunny)]).pipe(Tool.with(hedge))
      )
      const handled = events.find(({ _tag }) => _tag === "FailureHandled")
      assert.strictEqual(handled?.attempt, 1)
    }))
})
