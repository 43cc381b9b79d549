import { assert, describe, it } from "@effect/vitest"
import { Agent, Observer, Policy, RetryPolicy, Tool, type ToolFailure, Toolkit, ToolUnavailable } from "@fallible/core"
import { ScriptedModel } from "@fallible/testing"
import { Duration, Effect, Fiber, Option, Random, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import { durationText } from "../../packages/core/src/internal/value/durationText.ts"
import { after, around, doing, type Failure, lost, paris, refused, Sequence, sunny } from "../support/sequence.ts"

const busy = (retryAfter: Duration.Input) =>
  Effect.fail(
    new ToolUnavailable({ ...refused, code: "rate_limited", retryAfter: Duration.fromInputUnsafe(retryAfter) })
  )
const notConnected = new ToolUnavailable({ ...refused, code: "timeout", outcome: "not_executed" })

/** Makes each wait half of its bound. */
const halfway = Effect.provideService(Random.Random, { nextDoubleUnsafe: () => 0.5, nextIntUnsafe: () => 0 })

type Weather = Tool.Tool<string, typeof paris, string, Failure>

const descriptions = <T extends Tool.Any>(tool: T) => tool.policies.map(({ description }) => description)
const standard = ["timeout of 30s", "retry of transient failures", "deadline of 1m 30s"]

describe("Policy.standard", () => {
  const plays: ReadonlyArray<
    readonly [
      what: string,
      make: (sequence: Sequence) => Weather,
      options: Policy.StandardOptions,
      events: ReadonlyArray<string>
    ]
  > = [
    ["asks a tool that hangs and reads once", ({ tool }) => tool([Effect.never]), {}, [
      "0 attempt 1",
      "30000 interrupted",
      "30000 => timeout"
    ]],
    [
      "asks it three times within the total, if it says so",
      ({ tool }) => tool([Effect.never]),
      { retryTimeouts: true },
      [
        "0 attempt 1",
        "30000 interrupted",
        "retry handles timeout",
        "waits 100",
        "30100 attempt 2",
        "60100 interrupted",
        "retry handles timeout",
        "waits 200",
        "60300 attempt 3",
        "90000 interrupted",
        "90000 => timeout"
      ]
    ],
    ["tries a connection again that was not made in time", ({ tool }) => tool([Effect.fail(notConnected), sunny]), {}, [
      "0 attempt 1",
      "retry handles timeout",
      "waits 100",
      "100 attempt 2",
      "100 => sunny"
    ]],
    ["gets over two lost connections", ({ tool }) => tool([Effect.fail(lost), Effect.fail(lost), sunny]), {}, [
      "0 attempt 1",
      "retry handles connection",
      "waits 100",
      "100 attempt 2",
      "retry handles connection",
      "waits 200",
      "300 attempt 3",
      "300 => sunny"
    ]],
    ["gives up after as many attempts as it says", ({ tool }) => tool([Effect.fail(lost)]), { attempts: 2 }, [
      "0 attempt 1",
      "retry handles connection",
      "waits 100",
      "100 attempt 2",
      "100 => connection"
    ]],
    ["waits as long as a service asks for", ({ tool }) => tool([busy("5 seconds"), sunny]), {}, [
      "0 attempt 1",
      "retry handles rate_limited",
      "waits 5000",
      "5000 attempt 2",
      "5000 => sunny"
    ]],
    ["waits until just before its total", ({ tool }) => tool([busy("89999 millis"), sunny]), {}, [
      "0 attempt 1",
      "retry handles rate_limited",
      "waits 89999",
      "89999 attempt 2",
      "89999 => sunny"
    ]],
    ["does not begin a wait that ends with its total", ({ tool }) => tool([busy("90 seconds"), sunny]), {}, [
      "0 attempt 1",
      "0 => rate_limited"
    ]],
    ["does not wait for 100 s", ({ tool }) => tool([busy("100 seconds"), sunny]), {}, [
      "0 attempt 1",
      "0 => rate_limited"
    ]],
    [
      "waits for 100 s where the total allows it",
      ({ tool }) => tool([busy("100 seconds"), sunny]),
      { totalTimeout: "2 minutes" },
      [
        "0 attempt 1",
        "retry handles rate_limited",
        "waits 100000",
        "100000 attempt 2",
        "100000 => sunny"
      ]
    ],
    ["fails at once where the total would end during a wait", ({ tool }) => tool([busy("60 seconds")]), {}, [
      "0 attempt 1",
      "retry handles rate_limited",
      "waits 60000",
      "60000 attempt 2",
      "60000 => rate_limited"
    ]],
    ["executes a payment that hangs once", ({ tool }) => tool([Effect.never, sunny], "non_idempotent"), {}, [
      "0 attempt 1",
      "30000 interrupted",
      "30000 => outcome_unknown"
    ]],
    [
      "executes it once with timeouts retried, too",
      ({ tool }) => tool([Effect.never, sunny], "non_idempotent"),
      { retryTimeouts: true },
      ["0 attempt 1", "30000 interrupted", "30000 => outcome_unknown"]
    ],
    [
      "leaves a tool its own timeout of two minutes, which the total does not cut off",
      ({ tool }) => Tool.timeout(tool([after(119_999, sunny)]), "2 minutes"),
      {},
      ["0 attempt 1", "119999 => sunny"]
    ],
    [
      "leaves a tool its own deadline of a minute",
      ({ tool }) => Tool.deadline(tool([busy("29 seconds"), busy("29 seconds"), sunny]), "1 minute"),
      {},
      [
        "0 attempt 1",
        "retry handles rate_limited",
        "waits 29000",
        "29000 attempt 2",
        "retry handles rate_limited",
        "waits 29000",
        "58000 attempt 3",
        "58000 => sunny"
      ]
    ],
    [
      "leaves a tool its own retry",
      ({ tool }) => Tool.retry(tool([Effect.fail(refused)]), Schedule.recurs(1)),
      {},
      ["0 attempt 1", "retry handles connection", "waits 0", "0 attempt 2", "0 => connection"]
    ]
  ]
  for (const [what, make, options, events] of plays) {
    it.effect(what, () =>
      Effect.gen(function*() {
        const sequence = new Sequence()
        const tool = make(sequence).pipe(Tool.withDefaults(Policy.standard(options)))
        assert.deepStrictEqual(yield* halfway(sequence.play(tool)), events)
      }))
  }

  it.effect("ends an attempt after 30 s, and not a millisecond before", () =>
    Effect.gen(function*() {
      const hangs = doing(Effect.never).pipe(Tool.withDefaults(Policy.standard()))
      const [before, end] = yield* around(Effect.flip(hangs.run(paris)), 30_000)
      assert.isUndefined(before)
      assert.strictEqual(end?._tag === "Success" ? end.value.code : end, "timeout")
    }))

  describe("end a call that waits for what never ends, in the queue of", () => {
    const stuck = Tool.promise(
      "stuck",
      { description: "Hangs", success: Schema.String, sideEffect: "none" },
      () => new Promise<string>(() => {})
    )
    const queues: ReadonlyArray<
      readonly [
        what: string,
        tool: Tool.Tool<"stuck", {}, string, ToolFailure.ToolFailure>,
        first: number,
        total: number
      ]
    > = [
      ["a limit around a timeout", stuck.pipe(Tool.timeout("2 seconds"), Tool.concurrency(1)), 2_000, 92_000],
      ["a limit around a deadline", stuck.pipe(Tool.deadline("5 seconds"), Tool.concurrency(1)), 5_000, 95_000],
      [
        "a limit around a fallback",
        stuck.pipe(Tool.fallback(() => Effect.fail(lost)), Tool.concurrency(1)),
        30_000,
        90_000
      ],
      [
        "a limit around a catch",
        stuck.pipe(Tool.catchTag("ToolUnavailable", Effect.fail), Tool.concurrency(1)),
        30_000,
        90_000
      ],
      ["a limit around a fix", stuck.pipe(Tool.fix(() => ({})), Tool.concurrency(1)), 30_000, 90_000]
    ]
    for (const [what, queue, first, total] of queues) {
      it.effect(what, () =>
        Effect.gen(function*() {
          const tool = queue.pipe(Tool.withDefaults(Policy.standard()))
          assert.isBelow(Duration.toMillis(Tool.explain(tool).time.max), Infinity)
          yield* around(Effect.flip(tool.run({})), first)
          const [before, end] = yield* around(Effect.flip(tool.run({})), total)
          assert.isUndefined(before)
          assert.strictEqual(end?._tag === "Success" ? end.value.code : end, "bulkhead_full")
        }))
    }
  })

  it.effect("leave a payment the time to settle that its tool needs", () =>
    Effect.gen(function*() {
      let asked = 0
      const settled = ({ tool }: Sequence) =>
        tool([Effect.fail(lost), sunny], "non_idempotent").pipe(
          Tool.timeout("5 seconds"),
          Tool.reconcile(
            () =>
              Effect.sync(() => {
                asked++
                return Option.none()
              }),
            { settle: "1 minute" }
          ),
          Tool.retry(RetryPolicy.transient),
          Tool.withDefaults(Policy.standard())
        )
      const sequence = new Sequence()
      const events = yield* halfway(sequence.play(settled(sequence)))
      assert.isAbove(asked, 1)
      assert.deepStrictEqual(events.filter((event) => /attempt|=>/.test(event)), [
        "0 attempt 1",
        "60100 attempt 2",
        "60100 => sunny"
      ])
    }))

  it.effect("of a toolkit and of an agent are the same, and the agent's take precedence", () =>
    Effect.gen(function*() {
      const attemptsUnder = Effect.fnUntraced(function*(
        defaults: ReadonlyArray<Policy.Policy>,
        policies: ReadonlyArray<Policy.Policy>
      ) {
        const { events, tool } = new Sequence()
        const toolkit = Toolkit.make(tool([Effect.never])).pipe(Toolkit.withDefaults(defaults))
        const abandoned: Array<string> = []
        const run = Agent.make({ toolkit, policies }).run("?").pipe(
          Effect.provide(
            ScriptedModel.layer([ScriptedModel.call("get_weather", { city: "Paris" }), ScriptedModel.text("No.")])
          ),
          Observer.observe({
            onEvent: (event) => {
              if (event._tag === "AttemptAbandoned") abandoned.push(event.by)
            }
          })
        )
        const fiber = yield* Effect.forkChild(run)
        yield* TestClock.adjust("1 hour")
        yield* Fiber.join(fiber)
        return [events.filter((event) => event.includes("attempt")).length, ...abandoned]
      })
      const once = [1, "timeout"]
      assert.deepStrictEqual(yield* attemptsUnder(Policy.standard(), []), once)
      assert.deepStrictEqual(yield* attemptsUnder([], Policy.standard()), once)
      assert.deepStrictEqual(yield* attemptsUnder(Policy.standard(), Policy.standard()), once)
      const thrice = Policy.standard({ retryTimeouts: true, totalTimeout: "2 minutes" })
      assert.deepStrictEqual(yield* attemptsUnder(Policy.standard(), thrice), [3, "timeout", "timeout", "timeout"])
      assert.deepStrictEqual(yield* attemptsUnder(thrice, Policy.standard()), once)
      assert.deepStrictEqual(yield* attemptsUnder([Policy.deadline("4 seconds")], [Policy.retry(RetryPolicy.none)]), [
        1,
        "deadline"
      ])
    }))

  it("follow the order of policies: around a tool's own, inside its breaker and fallback", () => {
    const bare = doing(sunny)
    assert.deepStrictEqual(descriptions(Tool.withDefaults(bare, Policy.standard())), standard)
    const mine = Tool.fallback(bare, () => sunny, { name: "mirror" })
    assert.deepStrictEqual(descriptions(Tool.withDefaults(mine, Policy.standard())), [
      ...standard,
      "fallback to mirror"
    ])
    const patient = Tool.timeout(bare, "2 minutes")
    assert.deepStrictEqual(descriptions(Tool.withDefaults(patient, Policy.standard())), [
      "timeout of 2m",
      "retry of transient failures",
      "deadline of 3m 30s"
    ])
  })

  it("yield, policy by policy, to earlier policies in a list", () => {
    const defaults = [Policy.timeout("1 second"), ...Policy.standard()]
    assert.deepStrictEqual(descriptions(Tool.withDefaults(doing(sunny), defaults)), [
      "timeout of 1s",
      ...standard.slice(1)
    ])
  })

  it("have known bounds, and no warnings", () => {
    const explain = (options?: Policy.StandardOptions) => {
      const { attempts, time, waiting, warnings } = Tool.explain(
        Tool.withDefaults(doing(sunny), Policy.standard(options))
      )
      return [attempts.max, durationText(waiting.max), durationText(time.max), warnings.length]
    }
    assert.deepStrictEqual(explain(), [3, "1m 30s", "1m 30s", 0])
    assert.deepStrictEqual(explain({ retryTimeouts: true }), [3, "1m 30s", "1m 30s", 0])
    assert.deepStrictEqual(explain({ attemptTimeout: "2 seconds", attempts: 5, totalTimeout: "2 minutes" }), [
      5,
      "2m",
      "2m",
      0
    ])
    assert.deepStrictEqual(explain({ attempts: 1 }), [1, "0ms", "30s", 0])
  })

  it("give an attempt at most a short total time", () => {
    const descriptions = Policy.standard({ totalTimeout: "5 seconds" }).map(({ description }) => description)
    assert.deepStrictEqual(descriptions, ["timeout of 5s", "retry of transient failures", "deadline of 5s"])
  })

  const refusals: ReadonlyArray<readonly [options: object, message: RegExp]> = [
    [
      { attemptTimeout: "2 minutes" },
      /^An 'attemptTimeout' must not be longer than the 'totalTimeout'; got 2m and 1m 30s\.$/
    ],
    ...[0, "Infinity", "10s"].flatMap((bad) =>
      [
        [{ attemptTimeout: bad }, /^An attemptTimeout must be a finite duration above zero/],
        [{ totalTimeout: bad }, /^A totalTimeout must be a finite duration above zero/]
      ] as const
    ),
    [{ attempts: 0 }, /^A retry's limit of attempts must be a whole number of at least 1; got 0\.$/],
    [{ retryTimeouts: "no" }, /^A retry's retryTimeouts must be a boolean; got "no"\.$/]
  ]
  for (const [options, message] of refusals) {
    it(`throw at an invalid option, and say what is valid: ${JSON.stringify(options)}`, () => {
      assert.throws(() => Policy.standard(options), message)
    })
  }

  it("accept an attempt as long as the total", () => {
    assert.strictEqual(Policy.standard({ attemptTimeout: "30 seconds" }).length, 3)
  })
})
