import { assert, describe, it } from "@effect/vitest"
import { Policy, RetryPolicy, Tool, Toolkit, ToolUnavailable } from "@fallible/core"
import { Context, Duration, Effect, Exit, Option, Schedule } from "effect"
import { after, doing, type Failure, paris, refused, Sequence, sunny } from "../support/sequence.ts"

const merge = (soFar: never): never => soFar

/** Makes a policy that does nothing. */
const inert = (kind: Policy.Kind, description: string = kind): Policy.Policy =>
  Policy.make({ kind, name: kind, description, wrap: (run) => run })

/** Makes a policy that records each call. */
const recording = ({ note }: Sequence, kind: Policy.Kind): Policy.Policy =>
  Policy.make({ kind, description: kind, wrap: (run) => (params) => Effect.andThen(note(kind), run(params)) })

const kinds = (policies: ReadonlyArray<Policy.Any>) => policies.map(({ kind }) => kind)
const descriptions = (policies: ReadonlyArray<Policy.Any>) => policies.map(({ description }) => description)

const toolOf = <T extends Tool.Any>(toolkit: Toolkit.Toolkit<T>, name = "get_weather"): T =>
  toolkit.tools.get(name) ?? assert.fail("no such tool")

type Weather = Tool.Tool<string, typeof paris, string, Failure>

describe("Policy.withDefaults", () => {
  it("gives a tool without policies the defaults, in order from the inside out", () => {
    const defaults = Policy.order.toReversed().map((kind) => inert(kind))
    assert.deepStrictEqual(kinds(Policy.withDefaults([], defaults)), [
      "timeout",
      "reconcile",
      "retry",
      "paginate",
      "concurrency",
      "rate",
      "deadline",
      "breaker",
      "fallback"
    ])
    assert.deepStrictEqual(Policy.withDefaults([], []), [])
  })

  for (const kind of Policy.order) {
    it(`puts ${kind} into its place among all others`, () => {
      // A tool with its own timeout gets no default deadline.
      const all = kind === "deadline" ? Policy.order.filter((other) => other !== "timeout") : Policy.order
      const own = all.filter((other) => other !== kind).map((kind) => inert(kind))
      assert.deepStrictEqual(kinds(Policy.withDefaults(own, [inert(kind)])), [...all])
    })
  }

  it("adds no kind that already exists, wherever it is", () => {
    const own = [inert("retry", "own"), inert("timeout", "own, of all attempts")]
    assert.deepStrictEqual(
      descriptions(Policy.withDefaults(own, [inert("timeout"), inert("retry"), inert("fallback")])),
      ["own", "own, of all attempts", "fallback"]
    )
  })

  it("takes the first of two defaults of one kind", () => {
    assert.deepStrictEqual(descriptions(Policy.withDefaults([], [inert("retry", "first"), inert("retry", "second")])), [
      "first"
    ])
  })

  it("keeps the order of the tool's own policies", () => {
    const own = [inert("fallback"), inert("map"), inert("retry"), inert("catch")]
    // Defaults stay outside a mapping of failures, which knows only the tool's own failures.
    assert.deepStrictEqual(kinds(Policy.withDefaults(own, [inert("timeout"), inert("breaker")])), [
      "fallback",
      "map",
      "timeout",
      "retry",
      "catch",
      "breaker"
    ])
  })

  it("puts a default without a place outermost", () => {
    assert.deepStrictEqual(kinds(Policy.withDefaults([inert("timeout"), inert("fallback")], [inert("custom")])), [
      "timeout",
      "fallback",
      "custom"
    ])
  })

  it("treats a tool's own catch of ToolUnavailable as a fallback, and puts a default retry inside it", () => {
    const caught = doing(Effect.fail(refused)).pipe(Tool.catchTag("ToolUnavailable", () => sunny))
    assert.deepStrictEqual(kinds(Policy.withDefaults(caught.policies, [inert("retry"), inert("fallback")])), [
      "retry",
      "fallback"
    ])
  })

  it("gives a tool with its own timeouts their time, plus that of the default deadline", () => {
    const withOwn = (...own: ReadonlyArray<Policy.Policy>) =>
      descriptions(Policy.withDefaults(own, [Policy.deadline("30 seconds")])).at(-1)
    assert.strictEqual(withOwn(), "deadline of 30s")
    assert.strictEqual(withOwn(Policy.timeout("2 minutes")), "deadline of 2m 30s")
    assert.strictEqual(withOwn(Policy.timeout("1 second"), Policy.timeout("2 seconds")), "deadline of 33s")
    assert.strictEqual(withOwn(Policy.deadline("1 second"), Policy.timeout("2 seconds")), "timeout of 2s")
    assert.strictEqual(withOwn(Policy.timeout(Duration.infinity)), "timeout of Infinity")
    const settling = Policy.reconcile(() => Effect.succeedNone, { settle: "1 minute" })
    assert.strictEqual(withOwn(settling), "deadline of 2m 30s")
    const all = descriptions(Policy.withDefaults([], [settling, ...Policy.standard()]))
    assert.strictEqual(all.at(-1), "deadline of 3m 30s")
  })

  it("omits a default deadline if the tool has one, or a timeout of unknown length", () => {
    const defaults = [inert("timeout"), inert("retry"), inert("deadline")]
    const withOwn = (...own: ReadonlyArray<Policy.Kind>) =>
      descriptions(Policy.withDefaults(own.map((kind) => inert(kind, `own ${kind}`)), defaults))
    assert.deepStrictEqual(withOwn(), ["timeout", "retry", "deadline"])
    assert.deepStrictEqual(withOwn("retry"), ["timeout", "own retry", "deadline"])
    assert.deepStrictEqual(withOwn("timeout"), ["own timeout", "retry"])
    assert.deepStrictEqual(withOwn("deadline"), ["timeout", "retry", "own deadline"])
    assert.deepStrictEqual(withOwn("retry", "timeout"), ["own retry", "own timeout"])
  })

  it("keeps a default timeout and a default deadline together, whatever their origin", () => {
    assert.deepStrictEqual(kinds(Policy.withDefaults([], [inert("deadline"), inert("timeout")])), [
      "timeout",
      "deadline"
    ])
  })

  it("puts a timeout inside a retry, so that it limits the attempts", () => {
    assert.deepStrictEqual(kinds(Policy.withDefaults([inert("map"), inert("retry")], [inert("timeout")])), [
      "map",
      "timeout",
      "retry"
    ])
  })
})

describe("Tool.withDefaults", () => {
  it.effect("runs what it adds in the order, around the handler", () =>
    Effect.gen(function*() {
      const sequence = new Sequence()
      const tool = sequence.tool([sunny]).pipe(
        Tool.withDefaults(Policy.order.map((kind) => recording(sequence, kind)))
      )
      assert.deepStrictEqual(yield* sequence.play(tool), [
        "0 fallback",
        "0 breaker",
        "0 deadline",
        "0 rate",
        "0 concurrency",
        "0 paginate",
        "0 retry",
        "0 reconcile",
        "0 timeout",
        "0 attempt 1",
        "0 => sunny"
      ])
    }))

  it.effect("gives each attempt of a tool with its own retry the default time", () =>
    Effect.gen(function*() {
      const { play, tool } = new Sequence()
      const flaky = tool([Effect.never, sunny]).pipe(
        Tool.retry(Schedule.upTo(Schedule.spaced("1 second"), { times: 1 })),
        Tool.withDefaults([Policy.timeout("5 seconds")])
      )
      assert.deepStrictEqual(yield* play(flaky), [
        "0 attempt 1",
        "5000 interrupted",
        "retry handles timeout",
        "waits 1000",
        "6000 attempt 2",
        "6000 => sunny"
      ])
    }))

  it.effect("lets a tool's own fallback see the last failure of the default retry", () =>
    Effect.gen(function*() {
      const { play, tool } = new Sequence()
      const failing = tool([Effect.fail(refused)]).pipe(
        Tool.fallback(() => Effect.succeed("cached")),
        Tool.withDefaults([Policy.retry(Schedule.recurs(1))])
      )
      assert.deepStrictEqual(yield* play(failing), [
        "0 attempt 1",
        "retry handles connection",
        "waits 0",
        "0 attempt 2",
        "fallback handles connection",
        "0 => cached"
      ])
    }))

  it.effect("adds no default retry to a tool with RetryPolicy.none", () =>
    Effect.gen(function*() {
      const { play, tool } = new Sequence()
      const failing = tool([Effect.fail(refused), sunny]).pipe(
        Tool.retry(RetryPolicy.none),
        Tool.withDefaults([Policy.retry(RetryPolicy.transient)])
      )
      assert.deepStrictEqual(yield* play(failing), ["0 attempt 1", "0 => connection"])
    }))

  it.effect("puts policies that are added by hand later outside all others", () =>
    Effect.gen(function*() {
      const sequence = new Sequence()
      const tool = sequence.tool([Effect.fail(refused), sunny]).pipe(
        Tool.withDefaults([Policy.retry(Schedule.recurs(1)), recording(sequence, "breaker")]),
        Tool.timeout("1 minute"),
        Tool.mapFailure((failure) => failure)
      )
      assert.deepStrictEqual(kinds(tool.policies), ["retry", "breaker", "timeout", "map"])
      assert.deepStrictEqual(yield* sequence.play(tool), [
        "0 breaker",
        "0 attempt 1",
        "retry handles connection",
        "waits 0",
        "0 attempt 2",
        "0 => sunny"
      ])
    }))

  it.effect("does not change the original tool, and is the same data-first", () =>
    Effect.gen(function*() {
      const bare = doing(Effect.fail(refused))
      const dataFirst = Tool.withDefaults(bare, [Policy.timeout("1 second"), Policy.retry(Schedule.recurs(1))])
      assert.deepStrictEqual(kinds(bare.policies), [])
      assert.deepStrictEqual(kinds(dataFirst.policies), ["timeout", "retry"])
      const { description, name, parameters, sideEffect, success } = bare
      assert.deepInclude({ ...dataFirst }, { description, name, parameters, sideEffect, success })
      assert.deepStrictEqual(yield* Effect.exit(dataFirst.run(paris)), Exit.fail(refused))
    }))

  it.effect("adds the requirements of the policies to the tool and its toolkit", () =>
    Effect.gen(function*() {
      class Cache extends Context.Service<Cache, { readonly weather: string }>()("Cache") {}
      const lastKnown = Policy.fallback(() => Cache.use(({ weather }) => Effect.succeed(weather)))
      const tool = doing(Effect.fail(refused)).pipe(Tool.withDefaults([Policy.timeout("1 second"), lastKnown]))
      const toolkit = Toolkit.make(doing(Effect.fail(refused))).pipe(Toolkit.withDefaults([lastKnown]))
      const needs: readonly [
        Same<Tool.Requirements<typeof tool>, Cache>,
        Same<Toolkit.Requirements<typeof toolkit>, Cache>
      ] = [true, true]
      assert.deepStrictEqual(needs, [true, true])
      const failures: Same<Tool.Failure<typeof tool>, ToolUnavailable> = true
      assert.isTrue(failures)
      const cache = Effect.provideService(Cache, { weather: "cached" })
      assert.strictEqual(yield* cache(tool.run(paris)), "cached")
      assert.strictEqual(yield* cache(toolOf(toolkit).run(paris)), "cached")
    }))

  it.effect("does not run the policies of a copied tool twice", () =>
    Effect.gen(function*() {
      const sequence = new Sequence()
      const tool = sequence.tool([sunny]).pipe(Tool.withDefaults([recording(sequence, "retry")]))
      const copy: Weather = Object.assign(Object.create(Object.getPrototypeOf(tool)), { ...tool, name: "copy" })
      yield* sequence.play(Tool.timeout(copy, "1 minute"))
      yield* sequence.play(Tool.withDefaults(copy, [recording(sequence, "retry")]))
      assert.deepStrictEqual(sequence.events.filter((event) => event.endsWith("retry")).length, 2)
    }))
})

/** `true` if both are the same type. */
type Same<A, B> = [A] extends [B] ? [B] extends [A] ? true : false : false

describe("Toolkit.withDefaults", () => {
  it("gives each tool its missing policies, and keeps definitions and order", () => {
    const bare = doing(Effect.fail(refused), "none", "bare")
    const patient = doing(Effect.fail(refused), "none", "patient").pipe(Tool.timeout("1 hour"))
    const before = Toolkit.make(bare, patient)
    const after = Toolkit.withDefaults(before, [Policy.retry(RetryPolicy.transient), Policy.timeout("5 seconds")])
    assert.deepStrictEqual(Array.from(after.tools, ([name, { policies }]) => [name, descriptions(policies)]), [
      ["bare", ["timeout of 5s", "retry of transient failures"]],
      ["patient", ["timeout of 1h", "retry of transient failures"]]
    ])
    assert.deepStrictEqual(after.definitions, before.definitions)
    assert.deepStrictEqual(Array.from(before.tools.values(), ({ policies }) => policies.length), [0, 1])
  })

  it.effect("a tool's own recovery wins over its toolkit's, and the inner toolkit's over the outer's (C1)", () =>
    Effect.gen(function*() {
      const attemptsOf = Effect.fnUntraced(
        function*(own: (tool: Weather) => Weather, ...defaults: ReadonlyArray<number>) {
          const { play, tool } = new Sequence()
          const toolkit = defaults.reduce<Toolkit.Toolkit<Weather>>(
            (toolkit, times) => Toolkit.withDefaults(toolkit, [Policy.retry(Schedule.recurs(times))]),
            Toolkit.make(own(tool([Effect.fail(refused)])))
          )
          return (yield* play(toolOf(toolkit))).filter((event) => event.includes("attempt")).length
        }
      )
      const nothing = (tool: Weather) => tool
      assert.strictEqual(yield* attemptsOf(nothing), 1)
      assert.strictEqual(yield* attemptsOf(nothing, 2), 3)
      assert.strictEqual(yield* attemptsOf(Tool.retry(Schedule.recurs(4)), 2), 5)
      assert.strictEqual(yield* attemptsOf(Tool.retry(RetryPolicy.none), 2), 1)
      assert.strictEqual(yield* attemptsOf(nothing, 3, 6), 4)
      assert.strictEqual(yield* attemptsOf(Tool.retry(Schedule.recurs(1)), 3, 6), 2)
    }))

  it.effect("retries n times, then fails with the unchanged failure (C2)", () =>
    Effect.gen(function*() {
      for (const times of [0, 1, 3]) {
        let attempts = 0
        const failures: Array<ToolUnavailable> = []
        const toolkit = Toolkit.make(doing(Effect.suspend(() => {
          const failure = new ToolUnavailable({ ...refused, detail: `Refused ${++attempts}.`, cause: attempts })
          failures.push(failure)
          return Effect.fail(failure)
        }))).pipe(Toolkit.withDefaults([Policy.retry(Schedule.recurs(times))]))
        const failure = yield* Effect.flip(toolOf(toolkit).run(paris))
        assert.strictEqual(attempts, times + 1)
        assert.strictEqual(failure, failures.at(-1))
        assert.strictEqual(failure.cause, times + 1)
      }
    }))

  it.effect("takes the policies that the inner toolkit's defaults lack from the outer toolkit", () =>
    Effect.gen(function*() {
      const { play, tool } = new Sequence()
      const inner = Toolkit.make(tool([after(2_000, sunny)])).pipe(Toolkit.withDefaults([Policy.timeout("1 second")]))
      const outer = Toolkit.merge(inner).pipe(
        Toolkit.withDefaults([
          Policy.timeout("1 hour"),
          Policy.fallback(() => Effect.succeed("cached"), { name: "cache" })
        ])
      )
      assert.deepStrictEqual(descriptions(toolOf(outer).policies), ["timeout of 1s", "fallback to cache"])
      assert.deepStrictEqual(yield* play(toolOf(outer)), [
        "0 attempt 1",
        "1000 interrupted",
        "fallback handles timeout",
        "1000 => cached"
      ])
    }))

  it("has a place for every policy", () => {
    const all = [
      Policy.fallback(() => sunny),
      Policy.concurrency(1),
      Policy.paginate({ merge }),
      Policy.deadline("1 minute"),
      Policy.retry(RetryPolicy.none),
      Policy.reconcile(() => Effect.succeed(Option.none())),
      Policy.timeout("1 second")
    ]
    const toolkit = Toolkit.make(doing(sunny)).pipe(Toolkit.withDefaults(all))
    assert.deepStrictEqual(kinds(toolOf(toolkit).policies), [
      "timeout",
      "reconcile",
      "retry",
      "paginate",
      "concurrency",
      "deadline",
      "fallback"
    ])
  })

  it("keeps an empty toolkit empty", () => {
    assert.strictEqual(Toolkit.withDefaults(Toolkit.empty, [Policy.timeout("1 second")]).tools.size, 0)
  })
})
