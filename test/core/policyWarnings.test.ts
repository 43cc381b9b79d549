import { assert, describe, it } from "@effect/vitest"
import { Agent, Policy, RetryPolicy, type SemanticGarbage, Tool, Toolkit, type ToolUnavailable } from "@fallible/core"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import type * as SideEffect from "@fallible/core/SideEffect"
import { Duration, Effect, Schedule, Schema } from "effect"
import { adding, byHand, quote, timely, twice } from "../support/explained.ts"

const codes = <T extends Tool.Any>(tool: T) => Tool.explain(tool).warnings.map(({ code }) => code)

describe("free_text_identity", () => {
  const Note = Schema.Struct({ order: Schema.Int, note: Schema.String })
  const Order = Schema.Struct({ order: Schema.Int })
  const codes = (
    parameters: Schema.ConstraintDecoder<unknown>,
    sideEffect: SideEffect.SideEffect,
    identity?: (() => unknown) | "all"
  ) =>
    Tool.explain(
      Tool.make("pay", {
        description: "",
        parameters,
        success: Schema.Void,
        sideEffect,
        ...(identity === undefined ? {} : { identity })
      }, () => Effect.void)
    ).warnings.map(({ code }) => code)

  it("warns of a tool that acts, takes free text, and does not select the arguments that count", () => {
    assert.deepStrictEqual(codes(Note, "non_idempotent"), ["free_text_identity"])
    assert.deepStrictEqual(codes(Note, "non_idempotent", "all"), ["free_text_identity"])
    assert.deepStrictEqual(codes(Note, "idempotent_by_key", "all"), ["free_text_identity"])
  })

  it("does not warn of a tool that may be repeated, nor of one whose calls are told apart", () => {
    assert.deepStrictEqual(codes(Note, "none"), [])
    assert.deepStrictEqual(codes(Note, "idempotent"), [])
    assert.deepStrictEqual(codes(Note, "idempotent_by_key", () => "7"), [])
    assert.deepStrictEqual(codes(Order, "idempotent_by_key", "all"), [])
    assert.deepStrictEqual(codes(Order, "non_idempotent"), [])
  })
})

describe("nothing_declared", () => {
  const parameters = Schema.Struct({ order: Schema.Int })
  const definition = { description: "Pays", parameters, success: Schema.String }
  const pay = (fields: Partial<Tool.Definition<string, { readonly order: number }>> = {}) =>
    Tool.make("pay", { ...definition, ...fields }, () => Effect.succeed("paid"))

  it("warns of a tool that says nothing of what it does, with or without parameters", () => {
    assert.deepStrictEqual(Tool.explain(pay()).warnings, [{
      code: "nothing_declared",
      detail: "The tool does not declare what it does, so it counts as one that acts anew with each call.",
      hint: "Declare sideEffect: \"none\" if it only reads. If it acts, declare its sideEffect and its identity."
    }])
    const ping = Tool.make("ping", { description: "", success: Schema.String }, () => Effect.succeed("pong"))
    assert.deepStrictEqual(codes(ping), ["nothing_declared"])
    assert.deepStrictEqual(codes(Tool.promise("pay", definition, async () => "paid")), ["nothing_declared"])
  })

  it("warns of a tool that only has policies, unless one of them reconciles", () => {
    assert.deepStrictEqual(codes(pay().pipe(Tool.withDefaults(Policy.standard()))), ["nothing_declared"])
    assert.deepStrictEqual(codes({ ...pay() }), ["nothing_declared"])
    assert.deepStrictEqual(
      codes(pay().pipe(Tool.timeout("1 second"), Tool.reconcile(() => Effect.succeedNone, { final: true }))),
      []
    )
  })

  it("does not warn of a tool that declares one thing, even if it is the default", () => {
    for (
      const fields of [
        { sideEffect: "non_idempotent" },
        { sideEffect: "none" },
        { identity: ({ order }: { readonly order: number }) => order },
        { acts: { requests: ["POST bank.example/payments"] } },
        { refusesFirst: false },
        { check: "payment_status" },
        { repeats: true }
      ] as const
    ) assert.deepStrictEqual(codes(pay(fields)), [], JSON.stringify(fields))
    assert.deepStrictEqual(codes(Tool.promise("pay", { ...definition, refuses: [RangeError] }, async () => "paid")), [])
  })
})

describe("Tool.explain", () => {
  describe("warns of", () => {
    const steady = Schedule.jittered(twice)
    const retrying = Tool.retry(RetryPolicy.transient)
    const breaker = adding(
      Policy.make({ kind: "breaker", description: "breaker", wrap: (run) => run, terms: {} })
    )

    it("a retry without jitter", () => {
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(twice))), ["unjittered_retry"])
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(steady))), [])
      assert.deepStrictEqual(codes(timely().pipe(retrying)), [])
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(RetryPolicy.none))), [])
    })

    it("a retry that never ends, unless a timeout ends it", () => {
      const endless = Schedule.jittered(Schedule.spaced("1 second"))
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(endless))), ["uncapped_retry"])
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(endless), Tool.timeout("1 minute"))), [])
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(endless), Tool.timeout(Duration.infinity))), [
        "uncapped_retry"
      ])
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(Schedule.upTo(endless, { times: 9 })))), [])
    })

    it("a wait above a minute, unless a service asked for it", () => {
      const doubling = (times: number) =>
        Schedule.exponential("1 second").pipe(Schedule.jittered, Schedule.upTo({ times }))
      const [warning] = Tool.explain(timely().pipe(Tool.retry(doubling(7)))).warnings
      assert.deepStrictEqual([warning?.code, warning?.detail], [
        "uncapped_retry",
        "The retry waits up to 1m 16s 800ms at once."
      ])
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(doubling(6)))), [])
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(RetryPolicy.rateLimited))), [])
    })

    it("a retry of a tool that acts, unless it is reconciled", () => {
      assert.deepStrictEqual(codes(timely("non_idempotent").pipe(retrying)), ["retry_of_acting_tool"])
      // A default for all tools is not a mistake for one of them.
      assert.deepStrictEqual(codes(timely("non_idempotent").pipe(Tool.withDefaults(Policy.standard()))), [])
      assert.deepStrictEqual(codes(timely("idempotent").pipe(retrying)), [])
      assert.deepStrictEqual(codes(timely("non_idempotent").pipe(Tool.retry(RetryPolicy.none))), [])
      assert.deepStrictEqual(
        codes(timely("non_idempotent").pipe(Tool.reconcile(() => Effect.succeedNone, { final: true }), retrying)),
        []
      )
    })

    it("a retry around a retry", () => {
      assert.deepStrictEqual(codes(timely().pipe(retrying, retrying)), ["retry_around_retry"])
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(RetryPolicy.none), retrying)), [])
      assert.deepStrictEqual(codes(timely().pipe(retrying, Tool.retry(RetryPolicy.none))), [])
    })

    it("a retry outside a breaker", () => {
      assert.deepStrictEqual(codes(timely().pipe(breaker, retrying)), ["retry_around_breaker"])
      assert.deepStrictEqual(codes(timely().pipe(retrying, breaker)), [])
    })

    it("a fallback inside a retry", () => {
      assert.deepStrictEqual(codes(timely().pipe(Tool.fallback(() => Effect.succeed(2)), retrying)), [
        "retry_around_fallback"
      ])
      assert.deepStrictEqual(codes(timely().pipe(retrying, Tool.fallback(() => Effect.succeed(2)))), [])
    })

    it("a total time that is not longer than the time of one attempt", () => {
      for (const limit of [Tool.timeout, Tool.deadline]) {
        const outer = (duration: Duration.Input) => codes(timely().pipe(retrying, limit(duration)))
        assert.deepStrictEqual([outer(3_000), outer(5_000), outer(5_001)], [
          ["timeout_leaves_no_retry"],
          ["timeout_leaves_no_retry"],
          []
        ])
      }
      assert.deepStrictEqual(codes(quote().pipe(retrying, Tool.timeout(3_000))), [])
      assert.deepStrictEqual(codes(timely().pipe(Tool.retry(RetryPolicy.none), Tool.timeout(3_000))), [])
      assert.deepStrictEqual(codes(timely().pipe(retrying, Tool.timeout(3_000), Tool.timeout(60_000))), [
        "timeout_leaves_no_retry"
      ])
    })

    it("a fallback to a tool without a time limit, unless one around it ends it", () => {
      const unbounded = ["unbounded_fallback"]
      const depot = quote()
      assert.deepStrictEqual(codes(timely().pipe(Tool.fallback(depot.run, { name: "depot" }))), unbounded)
      const standard = (tool: Tool.Any) =>
        Toolkit.explain(Toolkit.withDefaults(Toolkit.make(tool), Policy.standard()))
          .flatMap(({ warnings }) => warnings)
      assert.deepStrictEqual(standard(quote().pipe(Tool.fallback(depot.run, { name: "depot" }))), [{
        code: "unbounded_fallback",
        detail: "The time limits inside do not include the fallback to depot, so a call has no time limit.",
        hint: "Give the fallback's tool a timeout of its own, or put a deadline outside the fallback."
      }])
      assert.deepStrictEqual(standard(quote().pipe(Tool.fallback(timely().run))), [])
      for (const limit of [Tool.timeout, Tool.deadline]) {
        assert.deepStrictEqual(codes(timely().pipe(Tool.fallback(depot.run), limit("1 minute"))), [])
      }
      // Nothing of this tool has a time limit, so the fallback is no exception.
      assert.deepStrictEqual(codes(quote().pipe(Tool.fallback(depot.run))), [])
    })

    it("a fallback of a tool that acts", () => {
      for (const sideEffect of ["idempotent", "non_idempotent"] as const) {
        assert.deepStrictEqual(codes(timely(sideEffect).pipe(Tool.fallback(() => Effect.succeed(2)))), [
          "fallback_of_acting_tool"
        ])
      }
      assert.deepStrictEqual(codes(timely().pipe(Tool.fallback(() => Effect.succeed(2)))), [])
    })

    it("a catch of a tool that acts", () => {
      const caught = (tag: "SemanticGarbage" | "ToolUnavailable", sideEffect: SideEffect.SideEffect) =>
        codes(
          timely(sideEffect).pipe(
            Tool.mapFailure((failure): SemanticGarbage | ToolUnavailable => failure),
            Tool.catchTag(tag, () => Effect.succeed(2))
          )
        )
      for (const sideEffect of ["idempotent", "non_idempotent"] as const) {
        assert.deepStrictEqual(caught("ToolUnavailable", sideEffect), ["fallback_of_acting_tool"])
        assert.deepStrictEqual(caught("SemanticGarbage", sideEffect), ["catch_of_acting_tool"])
      }
      assert.deepStrictEqual(caught("SemanticGarbage", "none"), [])
    })

    it("a check without finality", () => {
      const acts = (options?: Policy.ReconcileOptions, sideEffect: SideEffect.SideEffect = "non_idempotent") =>
        codes(timely(sideEffect).pipe(Tool.reconcile(() => Effect.succeedNone, options)))
      assert.deepStrictEqual(acts(), ["reconcile_without_finality"])
      assert.deepStrictEqual(acts({}, "idempotent"), ["reconcile_without_finality"])
      assert.deepStrictEqual(acts({}, "none"), [])
      assert.deepStrictEqual(acts({ final: true }), [])
      assert.deepStrictEqual(acts({ settle: "10 seconds" }), [])
    })

    it("a time to settle that an outer limit cuts short", () => {
      const settled = timely("non_idempotent").pipe(
        Tool.reconcile(() => Effect.succeedNone, { settle: "10 seconds" })
      )
      const within = (time: Duration.Input) => codes(Tool.timeout(settled, time))
      assert.deepStrictEqual(within("10 seconds"), ["settle_longer_than_timeout", "timeout_around_reconcile"])
      assert.deepStrictEqual(within("1 minute"), ["timeout_around_reconcile"])
      const before = (time: Duration.Input) => codes(Tool.deadline(settled, time))
      assert.deepStrictEqual([before(10_000), before(10_001)], [["settle_longer_than_timeout"], []])
    })

    it("a time to settle that is shorter than an attempt", () => {
      const warning = "settle_shorter_than_timeout"
      const settling = (settle: Duration.Input) => (tool: Tool.Tool<string, {}, number, ToolUnavailable>) =>
        Tool.reconcile(tool, () => Effect.succeedNone, { settle })
      const acts = timely("non_idempotent")
      assert.deepStrictEqual(codes(settling(4_999)(acts)), [warning])
      assert.deepStrictEqual(codes(settling(5_000)(acts)), [])
      assert.deepStrictEqual(codes(settling(50)(timely("idempotent_by_key"))), [warning])
      // What only reads need not settle, and an attempt without a limit is no measure.
      assert.deepStrictEqual(codes(settling(50)(timely())), [])
      assert.deepStrictEqual(codes(settling(50)(quote("non_idempotent"))), [])
      // The tightest limit counts, whatever else is inside the reconcile.
      assert.deepStrictEqual(codes(settling(2_000)(acts.pipe(Tool.timeout("2 seconds")))), [])
      assert.deepStrictEqual(codes(settling(1_999)(acts.pipe(Tool.deadline("2 seconds")))), [warning])
      const retried = acts.pipe(Tool.retry(RetryPolicy.transient))
      assert.deepStrictEqual(codes(settling(5_000)(retried)), ["retry_of_acting_tool"])
      assert.deepStrictEqual(codes(settling(4_000)(retried)), ["retry_of_acting_tool", warning])
      const queued = acts.pipe(Tool.concurrency(1, { maxWait: "1 minute" }))
      assert.deepStrictEqual(codes(settling(5_000)(queued)), [])
      // A limit around the reconcile is one for the check, too.
      assert.deepStrictEqual(codes(settling(50)(quote("non_idempotent")).pipe(Tool.timeout("5 seconds"))), [
        "timeout_around_reconcile"
      ])
      // A default goes inside. It says nothing about this tool, unless it was meant for the tools of one service.
      const byDefault = (policies: ReadonlyArray<Policy.Policy>) =>
        codes(settling(50)(quote("non_idempotent")).pipe(Tool.withDefaults(policies)))
      assert.deepStrictEqual([byDefault(Policy.standard()), byDefault([Policy.timeout("5 seconds")])], [[], [warning]])
    })

    it("a deadline that ends an attempt before it could be reconciled", () => {
      const final = { final: true }
      const checked = <T extends Tool.Tool<string, {}, number, ToolUnavailable>>(tool: T) =>
        Tool.reconcile(tool, () => Effect.succeedNone, final)
      const bare = Tool.mapFailure(quote("non_idempotent"), (failure): ToolUnavailable => failure)
      const before = (time: Duration.Input) => codes(checked(timely("non_idempotent")).pipe(Tool.deadline(time)))
      assert.deepStrictEqual([before(5_000), before(5_001)], [["timeout_around_reconcile"], []])
      assert.deepStrictEqual(codes(checked(bare).pipe(Tool.deadline("1 hour"))), ["timeout_around_reconcile"])
      assert.deepStrictEqual(codes(checked(bare).pipe(Tool.deadline(Duration.infinity))), [])
      assert.deepStrictEqual(codes(bare.pipe(Tool.deadline("1 hour"), (tool) => checked(tool))), [])
    })

    it("a breaker around a fallback", () => {
      const two = () => Effect.succeed(2)
      assert.deepStrictEqual(codes(timely().pipe(Tool.fallback(two), CircuitBreaker.protect())), [
        "breaker_around_fallback"
      ])
      assert.deepStrictEqual(codes(timely().pipe(CircuitBreaker.protect(), Tool.fallback(two))), [])
    })

    it("a timeout around a reconcile", () => {
      const nothing = () => Effect.succeedNone
      const limit = Tool.timeout("9 seconds")
      const final = { final: true }
      assert.deepStrictEqual(codes(quote("non_idempotent").pipe(Tool.reconcile(nothing, final), limit)), [
        "timeout_around_reconcile"
      ])
      assert.deepStrictEqual(codes(quote("non_idempotent").pipe(limit, Tool.reconcile(nothing, final))), [])
    })

    it("a check or an alternative that is not in the toolkit", () => {
      const pay = Tool.make("pay", {
        description: "Pays",
        success: Schema.Void,
        check: "payment_sttaus",
        instead: ["status", "pay_later"]
      }, () => Effect.void)
      const status = Tool.make(
        "status",
        { description: "", success: Schema.Void, sideEffect: "none" },
        () => Effect.void
      )
      const warnings = Toolkit.explain(Toolkit.make(pay, status)).flatMap(({ warnings }) => warnings)
      assert.deepStrictEqual(warnings.map(({ code, detail }) => [code, detail]), [
        ["missing_tool", "The 'check' of pay names payment_sttaus, which is not in the toolkit."],
        ["missing_tool", "The 'instead' of pay names pay_later, which is not in the toolkit."]
      ])
    })

    it("a check that settles the doubts of two tools, which no agent accepts", () => {
      const paying = (name: string) =>
        Tool.make(name, { description: "", success: Schema.Void, check: "status" }, () => Effect.void)
      const reading = (settles?: Tool.SettlesOptions<string>) =>
        Tool.make(
          "status",
          {
            description: "",
            success: Schema.String,
            sideEffect: "none",
            ...(settles === undefined ? {} : { settles })
          },
          () => Effect.succeed("")
        )
      const agent = (status: Tool.Any) => () =>
        Agent.make({ toolkit: Toolkit.make(paying("pay"), paying("refund"), status) })
      assert.throws(
        agent(reading({ outcome: () => "executed" })),
        TypeError,
        /^'pay' and 'refund' name one 'check', 'status', and its 'settles' does not know which of them it is about\./
      )
      assert.doesNotThrow(agent(reading()))
    })

    it("a missing check, which no agent accepts", () => {
      const reading = (name: string) =>
        Tool.make(name, { description: "", success: Schema.Void, sideEffect: "none" }, () => Effect.void)
      const pay = Tool.make("pay", {
        description: "Pays",
        success: Schema.Void,
        check: "payment_status",
        instead: ["pay_later"]
      }, () => Effect.void)
      const agent = (...tools: ReadonlyArray<Tool.Any>) => () => Agent.make({ toolkit: Toolkit.make(pay, ...tools) })
      assert.throws(
        agent(reading("payment_sttaus")),
        TypeError,
        /^The 'check' of 'pay' names 'payment_status', which is not in the toolkit\. Did you mean 'payment_sttaus'\?$/
      )
      assert.throws(
        agent(reading("weather")),
        TypeError,
        /^The 'check' of 'pay' names 'payment_status', which is not in the toolkit\.$/
      )
      // An alternative may be missing.
      assert.doesNotThrow(agent(reading("payment_status")))
    })

    it("the warnings of a custom policy", () => {
      const warning = { code: "odd", detail: "It is odd.", hint: "Leave it out." }
      const odd = byHand("odd", { warnings: [warning] })
      assert.deepStrictEqual(Tool.explain(timely().pipe(adding(odd))).warnings, [warning])
    })
  })
})
