import { assert, describe, it } from "@effect/vitest"
import {
  CallEvent,
  type Certainty,
  Defect,
  Dispatch,
  PartialData,
  Policy,
  RetryPolicy,
  SchemaMismatch,
  SemanticGarbage,
  type SideEffect,
  Tool,
  ToolCall,
  type ToolFailure,
  Toolkit,
  ToolOutcome,
  ToolUnavailable
} from "@fallible/core"
import { Cause, Clock, Duration, Effect, Schedule, Schema } from "effect"
import { lettered } from "../support/lettered.ts"
import { doing, parameters, paris, refused, sunny, unknownCity } from "../support/sequence.ts"
import { passing } from "../support/virtualTime.ts"

type Untyped = never

/** A policy by hand. */
const custom = <E extends ToolFailure.ToolFailure = never>(
  wrap: Policy.Options<never, E>["wrap"],
  name = "mine"
): Policy.Policy<never, E> => Policy.make<never, E>({ kind: "custom", name, description: name, wrap })

const call = { id: "1", name: "get_weather", arguments: JSON.stringify(paris) }

/** What comes of a call, and what is told of it. */
const told = (tool: Tool.Any) =>
  Effect.gen(function*() {
    const events: Array<CallEvent.Watched> = []
    const outcome = yield* passing(
      Effect.provideService(
        Dispatch.call(Toolkit.make(tool as Tool.Tool<string, unknown, unknown, ToolFailure.ToolFailure>), call),
        CallEvent.watcher,
        (event) => events.push(event)
      )
    )
    return { outcome, events }
  })

const outcomeOf = (tool: Tool.Any) => Effect.map(told(tool), ({ outcome }) => outcome)

/** A tool whose nth run does the nth of the steps. */
const stepping = (
  steps: ReadonlyArray<Effect.Effect<string, ToolFailure.ToolFailure<string>>>,
  sideEffect: SideEffect.SideEffect = "none"
) => {
  let step = 0
  return Tool.make(
    "get_weather",
    { description: "The weather", parameters, success: Schema.String, sideEffect },
    () => Effect.suspend(() => steps[step++] ?? Effect.die("no more steps"))
  )
}

const later = <A, E>(millis: number, effect: Effect.Effect<A, E>) => Effect.delay(effect, millis)

const handledIn = ({ handled }: ToolOutcome.ToolOutcome) =>
  handled.map(({ by, code, policy }) => policy === undefined ? `${code} by ${by}` : `${code} by ${by} ${policy}`)

const waitedIn = ({ waited }: ToolOutcome.ToolOutcome) => Duration.toMillis(waited)

const caveatsOf = (outcome: ToolOutcome.ToolOutcome) => outcome._tag === "Completed" ? outcome.caveats : outcome

const tags = (events: ReadonlyArray<CallEvent.Watched>) => events.map(({ _tag }) => _tag)

const one = <Tag extends CallEvent.CallEvent["_tag"]>(events: ReadonlyArray<CallEvent.Watched>, tag: Tag) => {
  const event = events.find((event): event is CallEvent.Watched & { readonly _tag: Tag } => event._tag === tag)
  if (event === undefined) return assert.fail(`no ${tag} in ${tags(events).join()}`)
  const { at: _, attempt: __, id: ___, tool: ____, ...bare } = event
  return bare
}

const twice = custom((run) => (params) => Effect.catch(run(params), () => run(params)))

describe("Policy.make", () => {
  const wrap: Policy.Options["wrap"] = (run) => run

  it("says what is wrong with its options", () => {
    const wrongs: ReadonlyArray<readonly [options: object, message: string]> = [
      [{ kind: "hedge", description: "", wrap }, "A policy's kind is one of"],
      [{ kind: "custom", wrap }, "A policy's description is a text; got nothing."],
      [{ kind: "custom", description: 3, wrap }, "A policy's description is a text; got a number."],
      [{ kind: "custom", name: 3, description: "", wrap }, "A policy's name is a text; got a number."],
      [{ kind: "custom", description: "", wrap }, "A custom policy has a name."],
      [{ kind: "retry", description: "" }, "A policy's wrap is a function; got nothing."],
      [{ kind: "retry", description: "", wrap: {} }, "A policy's wrap is a function; got an object."]
    ]
    for (const [options, message] of wrongs) {
      assert.throws(() => Policy.make(options as Untyped), TypeError, message)
    }
  })

  it("is the only way to a policy", () => {
    const byHand = { kind: "custom", description: "by hand", wrap } as Untyped
    const message = "A policy is made by Policy.make; got an object."
    assert.throws(() => Tool.with(doing(sunny), byHand), TypeError, message)
    assert.throws(() => Tool.withDefaults(doing(sunny), [byHand]), TypeError, message)
    assert.isFalse(Policy.isPolicy(byHand))
    assert.isTrue(Policy.isPolicy(twice))
  })

  it.effect("takes options that inherit what they have", () =>
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
  it("puts a policy around all that is there, and calls its wrap once for each tool", () => {
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

  it.effect("passes on what the policy fails with by itself", () =>
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

  it("a custom policy named retry takes the place of no retry", () => {
    const defaults = [inert("custom", "retry"), Policy.retry(RetryPolicy.transient)]
    assert.deepStrictEqual(kindsOf(Tool.withDefaults(doing(sunny), defaults)), ["custom retry", "retry"])
    assert.deepStrictEqual(kindsOf(doing(sunny).pipe(Tool.with(defaults[0]!), Tool.withDefaults(defaults))), [
      "custom retry",
      "retry"
    ])
  })

  it("custom policies of different names are all added, and two of one name in a list throw", () => {
    const defaults = [inert("custom", "audit"), inert("custom", "cache")]
    const tool = Tool.withDefaults(doing(sunny), defaults)
    assert.deepStrictEqual(kindsOf(tool), ["custom audit", "custom cache"])
    assert.deepStrictEqual(kindsOf(Tool.withDefaults(tool, defaults)), ["custom audit", "custom cache"])
    assert.throws(
      () => Tool.withDefaults(doing(sunny), [...defaults, inert("custom", "audit")]),
      TypeError,
      "Two default policies are called 'audit'. Give each a name of its own."
    )
  })

  it("a policy of another kind takes the place of that kind", () => {
    const mine = doing(sunny).pipe(Tool.with(inert("retry")), Tool.withDefaults([Policy.retry(RetryPolicy.transient)]))
    assert.deepStrictEqual(kindsOf(mine), ["retry"])
  })

  it("a policy of another kind takes the place of that kind, whatever its name", () => {
    const named = doing(sunny).pipe(
      Tool.with(inert("retry", "mine")),
      Tool.withDefaults([Policy.retry(RetryPolicy.transient)])
    )
    assert.deepStrictEqual(kindsOf(named), ["retry mine"])
  })
})

describe("what a custom policy has no say in", () => {
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

  it.effect("a stop goes before a question", () =>
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
        const outcome = yield* Effect.provideService(outcomeOf(tool), Defect.reporter, (message, cause) =>
          Effect.sync(() =>
            reported.push([message, Cause.squash(cause)])
          ))
        assert.strictEqual(outcome._tag, "Completed")
        assert.deepStrictEqual(reported, [["The tool get_weather failed because of a fault of its own", "no rows"]])
        assert.lengthOf(reported, logged)
      }
    }))

  it.effect("that what only computes does not wait", () =>
    Effect.gen(function*() {
      // Each look at this clock takes a millisecond.
      let now = 0
      const clock = yield* Clock.Clock
      const slow: Clock.Clock = Object.assign(Object.create(clock), { currentTimeMillisUnsafe: () => ++now })
      const idling = custom((run) => (params) => Effect.andThen(Effect.sync(() => ++now), run(params)))
      const events: Array<string> = []
      yield* doing(sunny).pipe(Tool.with(idling)).run(paris).pipe(
        Effect.provideService(CallEvent.watcher, ({ _tag }) => events.push(_tag)),
        Effect.provideService(Clock.Clock, slow)
      )
      assert.deepStrictEqual(events, ["AttemptStarted", "AttemptEnded"])
    }))

  it.effect("which attempt a failure is of", () =>
    Effect.gen(function*() {
      const hedge = custom((run) => (params) => Effect.race(run(params), Effect.delay(run(params), "1 second")))
      const { events } = yield* told(
        stepping([later(2_000, Effect.fail(refused)), later(2_000, sunny)]).pipe(Tool.with(hedge))
      )
      const handled = events.find(({ _tag }) => _tag === "FailureHandled")
      assert.strictEqual(handled?.attempt, 1)
    }))
})

describe("Policy.Call", () => {
  /** Catches the failure of what is inside, and does something with it. */
  const after = (
    act: (call: Policy.Call, failure: ToolFailure.ToolFailure) => Effect.Effect<void, ToolUnavailable>
  ) =>
    custom<ToolUnavailable>((run, _, call) => (params) =>
      Effect.catch(run(params), (failure) => Effect.andThen(act(call, failure), run(params)))
    )

  const flaky = (policy: Policy.Policy) => stepping([Effect.fail(refused), sunny]).pipe(Tool.with(policy))

  it.effect("again: the failure is handled at once, once, with what is known of the retry", () =>
    Effect.gen(function*() {
      const retry = { number: 1, limit: 2, wait: Duration.seconds(1) }
      const { events, outcome } = yield* told(flaky(after((call, failure) => call.again(failure, retry))))
      assert.deepStrictEqual(handledIn(outcome), ["connection by custom mine"])
      assert.deepStrictEqual<unknown>(one(events, "FailureHandled"), {
        _tag: "FailureHandled",
        by: "custom",
        policy: "mine",
        tag: "ToolUnavailable",
        code: "connection",
        detail: "Refused.",
        retry
      })
      assert.isBelow(tags(events).indexOf("FailureHandled"), tags(events).lastIndexOf("AttemptStarted"))
    }))

  it.effect("instead: the failure is handled, and a source has its name", () =>
    Effect.gen(function*() {
      const keeping = custom(<A, E extends ToolFailure.ToolFailure, R>(
        run: Policy.Run<A, E, R>,
        _: Policy.Subject<A>,
        call: Policy.Call
      ) => {
        let last: A | undefined
        return (params: unknown) =>
          Effect.matchEffect(run(params), {
            onSuccess: (answer) => {
              last = answer
              return Effect.succeed(answer)
            },
            onFailure: (failure) =>
              last === undefined
                ? Effect.fail(failure)
                : Effect.as(call.instead(failure, { name: "memory", age: Duration.hours(2) }), last)
          })
      })
      const tool = stepping([Effect.andThen(ToolCall.caveat("fresh"), sunny), Effect.fail(refused)]).pipe(
        Tool.with(keeping)
      )
      assert.deepStrictEqual(caveatsOf(yield* outcomeOf(tool)), ["fresh"])
      const { events, outcome } = yield* told(tool)
      assert.deepStrictEqual(handledIn(outcome), ["connection by custom mine"])
      assert.deepInclude(outcome, { value: "sunny", source: { name: "memory", age: Duration.hours(2) } })
      assert.deepStrictEqual(caveatsOf(outcome), ["from memory, 2h old; the live service is unavailable"])
      assert.deepInclude(one(events, "SourceNamed"), { name: "memory", age: Duration.hours(2) })
    }))

  it.effect("refuse: the call fails before anything of it runs", () =>
    Effect.gen(function*() {
      const closed = new ToolUnavailable({
        code: "closed",
        detail: "Closed.",
        transient: false,
        outcome: "not_executed"
      })
      const refusing = custom<ToolUnavailable>((_, __, call) => () => call.refuse(closed))
      const { events, outcome } = yield* told(doing(sunny).pipe(Tool.with(refusing)))
      assert.deepStrictEqual<unknown>(one(events, "CallRefused"), {
        _tag: "CallRefused",
        by: "custom",
        policy: "mine",
        code: "closed"
      })
      assert.deepInclude(outcome, { _tag: "Failed", attempts: 0 })
    }))

  it.effect("waiting: how long it is going to wait is told at its start, and how long it took is counted once", () =>
    Effect.gen(function*() {
      const waiting = after((call) => call.waiting(Effect.sleep("2 seconds"), Duration.seconds(2)))
      const { events, outcome } = yield* told(flaky(waiting))
      assert.strictEqual(waitedIn(outcome), 2_000)
      assert.deepInclude(one(events, "WaitStarted"), { wait: Duration.seconds(2), policy: "mine" })
      assert.deepInclude(one(events, "WaitEnded"), { wait: Duration.seconds(2), policy: "mine" })
      const cut = after((call) =>
        Effect.ignore(Effect.timeoutOption(call.waiting(Effect.sleep("1 hour"), Duration.hours(1)), "3 seconds"))
      )
      assert.strictEqual(waitedIn(yield* outcomeOf(flaky(cut))), 3_000)
    }))

  it.effect("notAgain: a failure that is worth a retry has none", () =>
    Effect.gen(function*() {
      const stingy = custom((run, _, call) => (params) =>
        Effect.tapError(run(params), (failure) => call.notAgain(failure, "policy"))
      )
      const { events, outcome } = yield* told(stepping([Effect.fail(refused)]).pipe(Tool.with(stingy)))
      const refusal = { by: "custom", policy: "mine", code: "connection", why: "policy" }
      assert.deepStrictEqual<unknown>(one(events, "RetryRefused"), { _tag: "RetryRefused", ...refusal })
      assert.deepStrictEqual(handledIn(outcome), [])
    }))

  it.effect("instead: a tool that answers then is an attempt, and one before is not", () =>
    Effect.gen(function*() {
      const mirror = doing(sunny, "none", "mirror")
      const asking = (says: boolean) =>
        custom((run, _, call) => (params) =>
          Effect.catch(run(params), (failure) =>
            Effect.andThen(
              says ? call.instead(failure) : Effect.void,
              Effect.as(mirror.run(paris), undefined as Untyped)
            ))
        )
      const attempts = Effect.fnUntraced(function*(says: boolean) {
        const { events, outcome } = yield* told(stepping([Effect.fail(refused)]).pipe(Tool.with(asking(says))))
        return [
          outcome.attempts,
          ToolOutcome.executions(outcome),
          tags(events).filter((tag) => tag === "SourceStarted").length
        ]
      })
      assert.deepStrictEqual(yield* attempts(true), [2, 1, 1])
      assert.deepStrictEqual(yield* attempts(false), [1, 1, 0])
    }))

  it.effect("waiting: one that is cut short a millisecond before its end took a millisecond less", () =>
    Effect.gen(function*() {
      const cut = after((call) =>
        Effect.ignore(Effect.timeoutOption(call.waiting(Effect.sleep(310), Duration.millis(310)), 309))
      )
      assert.strictEqual(waitedIn(yield* outcomeOf(flaky(cut))), 309)
    }))

  it.effect("waiting: what was said of its length does not count, where it took another time", () =>
    Effect.gen(function*() {
      for (const said of [Duration.hours(1), Duration.seconds(1), Duration.infinity]) {
        const other = after((call) => call.waiting(Effect.sleep("2 seconds"), said))
        assert.strictEqual(waitedIn(yield* outcomeOf(flaky(other))), 2_000)
      }
    }))

  it.effect("changed: a circuit has changed", () =>
    Effect.gen(function*() {
      const change = { circuit: "weather", from: "closed", to: "open" } as const
      const { events } = yield* told(flaky(after((call) => call.changed(change))))
      assert.deepStrictEqual<unknown>(one(events, "CircuitChanged"), { _tag: "CircuitChanged", ...change })
    }))

  it.effect("state: attempts, doubt, what still runs, the source, and whether anybody watches", () =>
    Effect.gen(function*() {
      const states: Array<Policy.State> = []
      const looking = custom((run, _, call) => (params) => {
        const look = Effect.map(call.state, ({ attempt, certainty, isWatched, source, whyNot }) => {
          states.push({ attempt, certainty, whyNot, source, isWatched })
        })
        return Effect.andThen(look, Effect.tap(Effect.tapError(run(params), () => look), look))
      })
      const lost = new ToolUnavailable({ ...refused, outcome: "unknown" })
      const deaf = Effect.uninterruptible(later(60_000, Effect.fail(lost)))
      const tool = stepping([
        deaf,
        Effect.andThen(ToolCall.source({ name: "mirror" }), sunny)
      ], "idempotent").pipe(Tool.timeout("1 second"), Tool.retry(Schedule.recurs(1)), Tool.with(looking))
      yield* outcomeOf(tool)
      const none = {
        attempt: 0,
        certainty: "not_executed",
        whyNot: undefined,
        source: undefined,
        isWatched: true
      } as const
      // One that has succeeded settles it for an idempotent tool.
      assert.deepStrictEqual(states, [none, {
        attempt: 2,
        certainty: "executed",
        whyNot: undefined,
        source: { name: "mirror" },
        isWatched: true
      }])
      states.length = 0
      yield* doing(sunny).pipe(Tool.with(looking)).run(paris)
      assert.deepStrictEqual(states.map(({ isWatched }) => isWatched), [false, false])
    }))

  it.effect("state: a call may have acted by a tool inside, and while an attempt still runs", () =>
    Effect.gen(function*() {
      const states: Array<readonly [certainty: Certainty.Certainty, whyNot: Policy.WhyNot | undefined]> = []
      const looking = custom((run, _, call) => (params) =>
        Effect.tapError(run(params), () =>
          Effect.map(call.state, ({ certainty, whyNot }) => {
            states.push([certainty, whyNot])
          }))
      )
      const nothingDone = Effect.fail(new ToolUnavailable({ ...refused, outcome: "not_executed" }))
      const lost = Effect.fail(unknownCity)
      const pay = doing(sunny, "non_idempotent", "pay")
      for (const sideEffect of ["idempotent", "non_idempotent"] as const) {
        yield* outcomeOf(stepping([Effect.andThen(pay.run(paris), nothingDone)], sideEffect).pipe(Tool.with(looking)))
        const deaf = stepping([Effect.uninterruptible(later(60_000, sunny))], sideEffect)
        yield* outcomeOf(deaf.pipe(Tool.timeout("1 second"), Tool.with(looking)))
        yield* outcomeOf(stepping([lost], sideEffect).pipe(Tool.with(looking)))
      }
      assert.deepStrictEqual(states, [
        ["executed", undefined],
        ["unknown", undefined],
        ["not_executed", undefined],
        ["executed", "may_have_acted"],
        ["unknown", "still_running"],
        ["not_executed", "refused"]
      ])
    }))
})

describe("counts, whatever a policy does:", () => {
  const lost = Effect.fail(unknownCity)
  const words = (text: string) => Effect.as(ToolCall.caveat(text), text)
  const mine = new SemanticGarbage({ code: "mine", detail: "Not good enough." })

  it.effect("runs of what is inside are attempts, and failures that do not come out were handled", () =>
    Effect.gen(function*() {
      const { outcome } = yield* told(stepping([Effect.fail(refused), lost]).pipe(Tool.with(twice)))
      assert.deepInclude(outcome, { _tag: "Failed", attempts: 2 })
      assert.deepStrictEqual(handledIn(outcome), ["connection by custom mine"])
    }))

  it.effect("a race that all have lost fails with the first failure, and the others were handled", () =>
    Effect.gen(function*() {
      const racing = custom((run) => (params) => Effect.race(run(params), Effect.delay(run(params), 100)))
      const outcome = yield* outcomeOf(stepping([Effect.fail(refused), lost]).pipe(Tool.with(racing)))
      assert.strictEqual(outcome._tag === "Failed" ? outcome.failure : outcome, refused)
      assert.deepStrictEqual(handledIn(outcome), ["unknown_city by custom mine"])
      const handler = doing(Effect.race(Effect.fail(refused), lost))
      assert.strictEqual(yield* Effect.flip(handler.run(paris)), refused)
    }))

  it.effect("while a policy runs another tool, it does not wait; that tool may", () =>
    Effect.gen(function*() {
      const other = stepping([later(5_000, Effect.fail(refused)), sunny]).pipe(Tool.retry(Schedule.spaced("1 second")))
      const asking = custom((run) => (params) => Effect.andThen(Effect.ignore(other.run(paris)), run(params)))
      const outcome = yield* outcomeOf(doing(sunny).pipe(Tool.with(asking)))
      assert.strictEqual(waitedIn(outcome), 1_000)
      assert.strictEqual(outcome.attempts, 1)
    }))

  it.effect(
    "a poll costs the same each time, however much was handled before",
    () =>
      Effect.gen(function*() {
        let ran = 0
        const every2nd = doing(Effect.suspend(() => ++ran % 2 === 0 ? sunny : Effect.fail(refused))).pipe(
          Tool.retry(Schedule.recurs(1))
        )
        const polled = every2nd.pipe(
          Tool.with(custom((run) => (params) => Effect.repeat(run(params), { times: 39_999 })))
        )
        assert.strictEqual((yield* outcomeOf(polled)).handled.length, 40_000)
      }),
    4_000
  )

  it.effect("once another tool has run, a policy waits again", () =>
    Effect.gen(function*() {
      const other = doing(later(1_000, sunny), "none", "other")
      const slow = custom((run) => (params) =>
        Effect.andThen(Effect.ignore(other.run(paris)), Effect.andThen(Effect.sleep("2 seconds"), run(params)))
      )
      assert.strictEqual(waitedIn(yield* outcomeOf(doing(sunny).pipe(Tool.with(slow)))), 2_000)
    }))

  it.effect("a tool inside that answers without its handler has not acted", () =>
    Effect.gen(function*() {
      const nothingDone = Effect.fail(new ToolUnavailable({ ...refused, outcome: "not_executed" }))
      const pay = doing(sunny, "non_idempotent", "pay")
      const paid = pay.pipe(Tool.with(custom(() => () => Effect.succeed("paid before" as never))))
      const acted = (inner: typeof pay) =>
        Effect.map(
          outcomeOf(doing(Effect.andThen(inner.run(paris), nothingDone), "non_idempotent")),
          ({ certainty }) => certainty
        )
      assert.strictEqual(yield* acted(pay), "executed")
      assert.strictEqual(yield* acted(paid), "not_executed")
    }))

  it.effect("a wait counts when it ends, also where the policy is deaf to the end of its time", () =>
    Effect.gen(function*() {
      const deaf = custom((run) => (params) =>
        Effect.uninterruptible(Effect.andThen(Effect.sleep("1 second"), run(params)))
      )
      const tool = doing(Effect.uninterruptible(later(60_000, sunny))).pipe(Tool.with(deaf), Tool.timeout("5 seconds"))
      const { events, outcome } = yield* told(tool)
      assert.strictEqual(waitedIn(outcome), 1_000)
      assert.deepStrictEqual(events.filter(({ _tag }) => _tag === "WaitEnded").map(({ at }) => at), [1_000])
    }))

  it.effect("of two runs that succeed, the words of the one that answers count, and those of the policy", () =>
    Effect.gen(function*() {
      const first = custom((run) => (params) =>
        Effect.gen(function*() {
          const answer = yield* run(params)
          yield* run(params)
          yield* ToolCall.caveat("asked twice")
          return answer
        })
      )
      const steps = [words("one"), words("two")]
      const outcome = yield* outcomeOf(stepping(steps).pipe(Tool.with(first)))
      assert.deepInclude(outcome, { value: "one" })
      assert.deepStrictEqual(caveatsOf(outcome), ["one", "asked twice"])
      const second = custom((run) => (params) => Effect.andThen(run(params), run(params)))
      assert.deepStrictEqual(caveatsOf(yield* outcomeOf(stepping(steps).pipe(Tool.with(second)))), ["two"])
      const best = custom((run) => (params) => Effect.tap(run(params), Effect.ignore(run(params))))
      assert.deepStrictEqual(caveatsOf(yield* outcomeOf(stepping([words("one"), lost]).pipe(Tool.with(best)))), ["one"])
    }))

  it.effect("a run that answers without its handler has none of the words of the one before", () =>
    Effect.gen(function*() {
      const known = custom((run) => {
        let answer: Effect.Effect<Effect.Success<ReturnType<typeof run>>> | undefined
        return (params) =>
          answer ?? Effect.tap(run(params), (value) =>
            Effect.sync(() => {
              answer = Effect.succeed(value)
            }))
      }, "known")
      const second = custom((run) => (params) => Effect.andThen(run(params), run(params)))
      const asked = doing(Effect.as(ToolCall.caveat("of the first"), "sunny")).pipe(Tool.with(known), Tool.with(second))
      assert.deepStrictEqual(caveatsOf(yield* outcomeOf(asked)), [])
    }))

  it.effect("a part of a result that does not come out leaves no words", () =>
    Effect.gen(function*() {
      const part = Effect.fail(new PartialData({ code: "more_pages", detail: "1 of 2.", data: "one" }))
      const tool = stepping([Effect.andThen(ToolCall.caveat("a part"), part)]).pipe(
        Tool.with(custom<SemanticGarbage>((run) => (params) => Effect.mapError(run(params), () => mine))),
        Tool.catchTag("SemanticGarbage", () => sunny)
      )
      assert.deepStrictEqual(caveatsOf(yield* outcomeOf(tool)), [])
      const swallowing = custom((run) => (params) =>
        Effect.catch(run(params), () => other.run(paris) as Effect.Effect<never>)
      )
      const other = doing(sunny)
      const swallowed = stepping([Effect.andThen(ToolCall.caveat("a part"), part)]).pipe(Tool.with(swallowing))
      assert.deepStrictEqual(caveatsOf(yield* outcomeOf(swallowed)), [])
    }))

  const paged = (steps: (page: number) => Effect.Effect<string, ToolFailure.ToolFailure<string>>) =>
    Tool.make("get_weather", {
      description: "",
      parameters: Schema.Struct({ city: Schema.String, page: Schema.optionalKey(Schema.Int) }),
      success: Schema.String,
      sideEffect: "none"
    }, ({ page = 1 }) => steps(page))

  const more = (page: number) =>
    Effect.fail(new PartialData({ code: "more_pages", detail: "More.", data: `${page}`, next: { page: page + 1 } }))

  const complete = (options?: Partial<Policy.PaginateOptions<string>>) =>
    Tool.paginate<string>({ merge: (soFar, page) => soFar + page, ...options })

  it.effect("an attempt that was left behind draws no number that a later one needs for a tool inside", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const inner = Tool.make(
        "inner",
        { description: "", success: Schema.Void, sideEffect: "none" },
        () => Effect.map(ToolCall.current, ({ idempotencyKey }) => void keys.push(idempotencyKey))
      )
      const twoSteps = Effect.andThen(inner.run({}), Effect.andThen(Effect.sleep(300), inner.run({})))
      const tool = stepping([
        Effect.uninterruptible(Effect.as(Effect.andThen(Effect.sleep(1_200), twoSteps), "too late")),
        Effect.as(twoSteps, "in time")
      ], "idempotent").pipe(Tool.timeout("1 second"), Tool.retry(Schedule.spaced(100)))
      yield* passing(
        Dispatch.call(Toolkit.make(tool), call, { idempotencyKey: "key" }).pipe(
          Effect.andThen(Effect.sleep("1 minute"))
        )
      )
      assert.strictEqual(lettered(keys), "a a b b")
    }))

  describe("what runs have used that are inside of a custom policy", () => {
    const inner = (keys: Array<string>) =>
      Tool.make(
        "inner",
        { description: "", success: Schema.Void, sideEffect: "none" },
        () => Effect.map(ToolCall.current, ({ idempotencyKey }) => void keys.push(idempotencyKey))
      ).run({})

    it.effect("are numbers of tools, which nobody after them gets", () =>
      Effect.gen(function*() {
        const keys: Array<string> = []
        const failed = Effect.fail(refused)
        const tool = stepping([
          Effect.andThen(inner(keys), Effect.andThen(inner(keys), failed)),
          Effect.andThen(Effect.sleep(100), Effect.andThen(inner(keys), failed))
        ]).pipe(
          Tool.with(
            custom((run) => (params) =>
              Effect.flatMap(
                Effect.all([Effect.exit(run(params)), Effect.exit(run(params))], { concurrency: 2 }),
                ([first]) => first
              )
            )
          ),
          Tool.fallback(() => Effect.as(inner(keys), "sunny"))
        )
        yield* passing(Dispatch.call(Toolkit.make(tool), call, { idempotencyKey: "key" }))
        assert.strictEqual(lettered(keys), "a b a c")
      }))

    it.effect("are numbers of tools, also of a run that was left behind", () =>
      Effect.gen(function*() {
        const keys: Array<string> = []
        const tool = stepping([Effect.andThen(inner(keys), later(60_000, sunny))]).pipe(
          Tool.with(custom<ToolUnavailable>((run) => (params) =>
            Effect.andThen(Effect.forkDetach(run(params), { startImmediately: true }), Effect.fail(refused))
          )),
          Tool.fallback(() =>
            Effect.as(inner(keys), "sunny")
          )
        )
        yield* passing(Dispatch.call(Toolkit.make(tool), call, { idempotencyKey: "key" }))
        assert.strictEqual(lettered(keys), "a b")
      }))

    it.effect("are numbers of policies, whose own tools have other keys in each of them", () =>
      Effect.gen(function*() {
        const keys: Array<string> = []
        const asking = (name: string) => custom((run) => (params) => Effect.andThen(inner(keys), run(params)), name)
        const tool = doing(sunny).pipe(
          Tool.with(asking("first")),
          Tool.retry(Schedule.recurs(1)),
          Tool.with(asking("second")),
          Tool.timeout("1 second"),
          Tool.with(asking("second"))
        )
        yield* Dispatch.call(Toolkit.make(tool), call, { idempotencyKey: "key" })
        assert.strictEqual(lettered(keys), "a b c")
      }))

    it.effect("are replies, which answer no later question", () =>
      Effect.gen(function*() {
        const asking = ToolCall.ask("Sure?")
        const tool = stepping([Effect.andThen(asking, Effect.fail(refused))]).pipe(
          Tool.with(custom((run) => run)),
          Tool.fallback(() => asking)
        )
        const replies = [{ id: "key", question: "Sure?", reply: "yes" }]
        const outcome = yield* Dispatch.call(Toolkit.make(tool), call, { idempotencyKey: "key", replies })
        assert.strictEqual(outcome._tag, "Suspended")
      }))
  })

  it.effect("of two parts of a result, the words of the one that comes out count", () =>
    Effect.gen(function*() {
      const part = (words: string) =>
        Effect.andThen(
          ToolCall.caveat(words),
          Effect.fail(new PartialData({ code: "more_pages", detail: words, data: words, next: { city: "Rome" } }))
        )
      for (const [chosen, words] of ["of the first", "of the second"].entries()) {
        const tool = stepping([part("of the first"), part("of the second"), sunny]).pipe(
          Tool.with(custom((run) => {
            let isFirst = true
            return (params) => {
              if (!isFirst) return run(params)
              isFirst = false
              const both = Effect.all([Effect.exit(run(params)), Effect.exit(run(params))])
              return Effect.flatMap(both, (exits) => exits[chosen]!)
            }
          })),
          Tool.paginate({ merge: (soFar, page) => soFar + page })
        )
        assert.deepStrictEqual(caveatsOf(yield* outcomeOf(tool)), [words])
      }
    }))

  it.effect("nobody replies to an attempt that was left behind", () =>
    Effect.gen(function*() {
      const replied: Array<string> = []
      const asking = Effect.map(ToolCall.ask("Sure?"), (reply) => {
        replied.push(reply)
        return reply
      })
      const late = stepping([Effect.uninterruptible(Effect.andThen(Effect.sleep("2 seconds"), asking))]).pipe(
        Tool.timeout("1 second")
      )
      const replies = [{ id: "key", question: "Sure?", reply: "yes" }]
      const outcome = yield* passing(
        Dispatch.call(Toolkit.make(late), call, { idempotencyKey: "key", replies }).pipe(
          Effect.tap(Effect.sleep("1 minute")),
          Effect.provideService(Defect.reporter, () => Effect.void)
        )
      )
      assert.strictEqual(outcome._tag, "Failed")
      assert.deepStrictEqual(replied, [])
    }))

  it.effect("a page that was left behind is heard no more", () =>
    Effect.gen(function*() {
      const deaf = custom((run) => (params) => Effect.uninterruptible(Effect.catch(run(params), () => run(params))))
      const tool = paged((page) => page === 1 ? more(page) : later(5_000, Effect.fail(refused))).pipe(
        Tool.with(deaf),
        complete({ time: "2 seconds" }),
        Tool.with(custom((run) => (params) => Effect.onExit(run(params), () => Effect.sleep("1 minute"))))
      )
      const { events, outcome } = yield* told(tool)
      // Page 1 is run twice, as it is in parts; of page 2 nobody waits for the second run.
      assert.strictEqual(ToolOutcome.executions(outcome), 3)
      assert.deepStrictEqual(handledIn(outcome), ["more_pages by custom mine"])
      assert.deepStrictEqual<unknown>(one(events, "AttemptAbandoned"), { _tag: "AttemptAbandoned", by: "paginate" })
    }))

  it.effect("pages within pages are executions", () =>
    Effect.gen(function*() {
      const tool = paged((page) => page < 4 ? more(page) : Effect.succeed(`${page}`))
      const outcome = yield* outcomeOf(tool.pipe(complete({ pages: 2 }), complete({ pages: 2 })))
      assert.strictEqual(ToolOutcome.executions(outcome), 4)
    }))

  it.effect("a check that is cut short has handled the failure", () =>
    Effect.gen(function*() {
      const unknown = new ToolUnavailable({ ...refused, outcome: "unknown" })
      const tool = doing(Effect.fail(unknown), "idempotent").pipe(
        Tool.reconcile(() => Effect.never),
        Tool.timeout("1 second")
      )
      assert.deepStrictEqual(handledIn(yield* outcomeOf(tool)), ["connection by reconcile"])
    }))

  it.effect("what still runs when a policy ends was left behind, and says nothing any more", () =>
    Effect.gen(function*() {
      const leaving = custom<SemanticGarbage>((run) => (params) =>
        Effect.andThen(Effect.forkDetach(run(params), { startImmediately: true }), Effect.fail(mine))
      )
      const tool = doing(Effect.andThen(later(1_000, ToolCall.caveat("late")), Effect.fail(refused))).pipe(
        Tool.with(leaving),
        Tool.catchTag("SemanticGarbage", () => later(10_000, sunny))
      )
      const { events, outcome } = yield* told(tool)
      assert.deepStrictEqual<unknown>(one(events, "AttemptAbandoned"), {
        _tag: "AttemptAbandoned",
        by: "custom",
        policy: "mine"
      })
      assert.deepStrictEqual([outcome.attempts, handledIn(outcome), caveatsOf(outcome)], [1, ["mine by catch"], []])
    }))

  describe("a run that acts and is", () => {
    const policies: ReadonlyArray<readonly [name: string, policy: Policy.Policy<never, SemanticGarbage>]> = [
      [
        "cut short",
        custom<SemanticGarbage>((run) => (params) =>
          Effect.timeoutOrElse(run(params), { duration: 100, orElse: () => Effect.fail(mine) })
        )
      ],
      [
        "left behind",
        custom<SemanticGarbage>((run) => (params) =>
          Effect.andThen(Effect.forkDetach(run(params), { startImmediately: true }), Effect.fail(mine))
        )
      ],
      ["not good enough", custom<SemanticGarbage>((run) => (params) => Effect.andThen(run(params), Effect.fail(mine)))]
    ]
    for (const [name, policy] of policies) {
      it.effect(`${name} may have acted, whatever the policy says`, () =>
        Effect.gen(function*() {
          const certainty = (sideEffect: SideEffect.SideEffect, added = policy) =>
            Effect.map(
              outcomeOf(doing(later(1_000, sunny), sideEffect).pipe(Tool.with(added))),
              ({ _tag, certainty }) => `${_tag} ${certainty}`
            )
          const ended = name === "not good enough" ? "executed" : "unknown"
          assert.strictEqual(yield* certainty("non_idempotent"), `Failed ${ended}`)
          assert.strictEqual(yield* certainty("none"), "Failed not_executed")
          // Nothing has begun.
          const before = custom<SemanticGarbage>(() => () => Effect.fail(mine))
          assert.strictEqual(yield* certainty("non_idempotent", before), "Failed not_executed")
        }))
    }

    it.effect("not begun has not acted, when it waits for a permit", () =>
      Effect.gen(function*() {
        // One permit for both.
        const limited = doing(later(5_000, sunny), "non_idempotent").pipe(Tool.concurrency(1))
        const impatient = custom<SemanticGarbage>((run) => (params) =>
          Effect.timeoutOrElse(run(params), { duration: 1_000, orElse: () => Effect.fail(mine) })
        )
        const both = [limited, limited.pipe(Tool.with(impatient))].map((tool) =>
          Dispatch.call(Toolkit.make(tool), call)
        )
        const [, cut] = yield* passing(Effect.all(both, { concurrency: 2 }))
        assert.strictEqual(cut?._tag, "Failed")
        assert.strictEqual(cut?.certainty, "not_executed")
      }))

    it.effect("only reading raises no doubt", () =>
      Effect.gen(function*() {
        for (const [, policy] of policies) {
          const { outcome } = yield* told(doing(later(1_000, sunny)).pipe(Tool.with(policy)))
          assert.strictEqual(outcome.certainty, "not_executed")
        }
      }))

    it.effect("swallowed with an answer that nobody can read may have acted", () =>
      Effect.gen(function*() {
        const unreadable = new SchemaMismatch({ code: "invalid_result", detail: "No JSON.", side: "result" })
        const tool = doing(Effect.fail(unreadable), "non_idempotent").pipe(
          Tool.with(custom<SemanticGarbage>((run) => (params) => Effect.mapError(run(params), () => mine)))
        )
        assert.strictEqual((yield* outcomeOf(tool)).certainty, "unknown")
      }))

    it.effect("a failure of what is inside says itself whether it has acted", () =>
      Effect.gen(function*() {
        const tool = doing(lost, "non_idempotent").pipe(
          Tool.with(custom<SemanticGarbage>((run) => (params) => Effect.mapError(run(params), () => mine)))
        )
        assert.strictEqual((yield* outcomeOf(tool)).certainty, "not_executed")
      }))
  })
})
