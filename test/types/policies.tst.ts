import {
  Agent,
  type AgentFailure,
  Fixer,
  Model,
  PartialData,
  Policy,
  RetryPolicy,
  type SchemaMismatch,
  SemanticGarbage,
  Tool,
  type ToolFailure,
  Toolkit,
  ToolUnavailable
} from "@fallible/core"
import type * as Answer from "@fallible/core/Answer"
import * as CircuitBreaker from "@fallible/core/CircuitBreaker"
import * as HttpFailure from "@fallible/core/HttpFailure"
import * as LastKnown from "@fallible/core/LastKnown"
import * as RateLimit from "@fallible/core/RateLimit"
import { Context, Effect, Option, Schedule, Schema } from "effect"
import { type HttpClient, HttpClient as Client } from "effect/http"
import type * as Breaker from "effect/persistence/CircuitBreaker"
import type * as RateLimiter from "effect/persistence/RateLimiter"
import { describe, expect, test } from "tstyche"

class Ledger extends Context.Service<Ledger, {
  readonly find: (order: string) => Effect.Effect<Option.Option<string>, ToolUnavailable>
}>()("Ledger") {}

class Jitter extends Context.Service<Jitter, number>()("Jitter") {}

const parameters = Schema.Struct({ order: Schema.String })
interface Params {
  readonly order: string
}

const garbage = new SemanticGarbage({ code: "empty_result", detail: "Nothing." })

/** A tool that cannot be unavailable, and one that can. */
const steady = Tool.make("steady", { description: "", parameters, success: Schema.String }, () => Effect.fail(garbage))
const shaky = Tool.make(
  "shaky",
  { description: "", parameters, success: Schema.String },
  () => Effect.fail(new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true }))
)

type Steady<R> = Tool.Tool<"steady", Params, string, SemanticGarbage, R>
type Unsteady<R = never> = Tool.Tool<"steady", Params, string, SemanticGarbage | ToolUnavailable, R>

describe("what a policy does to a tool's type", () => {
  test("a schedule from a function has the type of the failures, and adds its services to R", () => {
    const retried = steady.pipe(
      Tool.retry(($) =>
        $(Schedule.recurs(3)).pipe(Schedule.while(({ input }) => {
          expect(input).type.toBe<ToolUnavailable>()
          return input.code !== "rate_limited"
        }))
      )
    )
    expect(retried).type.toBe<typeof steady>()
    const jittered = Schedule.modifyDelay(Schedule.recurs(3), ({ duration }) => Effect.as(Jitter, duration))
    expect(steady.pipe(Tool.retry(jittered))).type.toBe<Steady<Jitter>>()
  })

  test("a schedule that honours Retry-After keeps its output, input, errors and requirements", () => {
    const { honouring } = RetryPolicy
    expect(honouring(Schedule.recurs(3))).type.toBe<RetryPolicy.RetryPolicy<number>>()
    const jittered = Schedule.modifyDelay(Schedule.recurs(3), ({ duration }) => Effect.as(Jitter, duration))
    expect(honouring(jittered, "1 minute")).type.toBe<
      RetryPolicy.RetryPolicy<number, RetryPolicy.Retryable, never, Jitter>
    >()
    expect(steady.pipe(Tool.retry(honouring(jittered)))).type.toBe<Steady<Jitter>>()
    const breaking = Schedule.tap(Schedule.recurs(3), () => Effect.fail("broken"))
    expect(honouring(breaking)).type.toBe<RetryPolicy.RetryPolicy<number, RetryPolicy.Retryable, string>>()
    expect(
      steady.pipe(Tool.retry(($) =>
        honouring(
          $(Schedule.recurs(3)).pipe(Schedule.while(({ input }) => {
            expect(input).type.toBe<ToolUnavailable>()
            return input.outcome === undefined
          }))
        )
      ))
    ).type.toBe<typeof steady>()
    expect(honouring).type.not.toBeCallableWith("5 seconds")
  })

  test("a retry policy is made from options, and works for a tool and a model", () => {
    const policy = RetryPolicy.make({ attempts: 5, honourRetryAfter: false })
    expect(policy).type.toBe<RetryPolicy.RetryPolicy>()
    expect(steady.pipe(Tool.retry(policy))).type.toBe<typeof steady>()
    expect(policy).type.toBeAssignableTo<Schedule.Schedule<unknown, Model.ModelFailure>>()
    expect(RetryPolicy.make).type.not.toBeCallableWith({ jitter: "full" })
    expect(RetryPolicy.make).type.not.toBeCallableWith({ honourRetryAfter: true })
  })

  test("a timeout and a deadline add ToolUnavailable", () => {
    expect(steady.pipe(Tool.timeout("1 second"))).type.toBe<Unsteady>()
    expect(steady.pipe(Tool.deadline("1 second"))).type.toBe<Unsteady>()
    expect(Tool.deadline(steady, "1 second")).type.toBe<Unsteady>()
    expect(Tool.deadline).type.not.toBeCallableWith(steady, "soon")
  })

  test("a concurrency limit, a breaker and a rate limit may refuse, and add their services to R", () => {
    expect(steady.pipe(Tool.concurrency(1))).type.toBe<Unsteady>()
    expect(Tool.concurrency(steady, 1, { maxWait: 0 })).type.toBe<Unsteady>()
    expect(steady.pipe(CircuitBreaker.protect())).type.toBe<Unsteady<Breaker.CircuitBreaker>>()
    expect(steady.pipe(RateLimit.limit({ limit: 1, window: "1 second" }))).type.toBe<
      Unsteady<RateLimiter.RateLimiter>
    >()
  })

  test("a last known value may be missing, so ToolUnavailable stays; a fallback removes it", () => {
    expect(shaky.pipe(LastKnown.fallback())).type.toBe<
      Tool.Tool<"shaky", Params, string, ToolUnavailable, LastKnown.LastKnown>
    >()
    expect(shaky.pipe(LastKnown.fallback({ when: ({ code }) => code !== "not_found" }))).type.toBe<
      Tool.Tool<"shaky", Params, string, ToolUnavailable, LastKnown.LastKnown>
    >()
    expect(shaky.pipe(Tool.fallback(() => Effect.succeed("default"), { name: "default" }))).type.toBe<
      Tool.Tool<"shaky", Params, string>
    >()
  })

  test("a question to the user keeps ToolUnavailable, and adds what the use of the reply fails with and needs", () => {
    expect(shaky.pipe(Tool.askWhenUnavailable(({ order }, { code }) => `${order} ${code}`))).type.toBe<typeof shaky>()
    expect(Tool.askWhenUnavailable(steady, () => "Which order?")).type.toBe<typeof steady>()
    const using = shaky.pipe(
      Tool.askWhenUnavailable(
        (params, failure) => {
          expect(params).type.toBe<Params>()
          expect(failure).type.toBe<ToolUnavailable>()
          return ""
        },
        (reply, { order }) => reply === order ? Effect.fail(garbage) : Effect.as(Jitter, reply)
      )
    )
    expect(using).type.toBe<Tool.Tool<"shaky", Params, string, ToolUnavailable | SemanticGarbage, Jitter>>()
    expect(Tool.askWhenUnavailable(shaky, () => "", (reply) => Effect.succeed(reply))).type.toBe<typeof shaky>()
    expect(Tool.askWhenUnavailable).type.not.toBeCallableWith(shaky, "Which order?")
    expect(Tool.askWhenUnavailable).type.not.toBeCallableWith(shaky, () => "", () => Effect.succeed(1))
    expect(Tool.askWhenUnavailable).type.not.toBeCallableWith(shaky, () => "", () => Effect.fail("text"))
    expect(Policy.askWhenUnavailable(() => "")).type.toBe<Policy.Policy<never, never>>()
  })

  test("reconcile adds the requirements of its check; with final or settle it adds ToolUnavailable", () => {
    const reconciled = shaky.pipe(Tool.reconcile(({ order }) => Ledger.use(({ find }) => find(order))))
    expect(reconciled).type.toBe<Tool.Tool<"shaky", Params, string, ToolUnavailable, Ledger>>()
    expect(shaky.pipe(Tool.reconcile(() => Effect.fail(garbage)))).type.toBe<typeof shaky>()
    expect(steady.pipe(Tool.reconcile(() => Effect.succeedNone, { final: true }))).type.toBe<Unsteady>()
    expect(Tool.reconcile(steady, () => Effect.succeedNone, { settle: "1 second" })).type.toBe<Unsteady>()
    expect(Tool.reconcile).type.not.toBeCallableWith(shaky, () => Effect.succeed(Option.some(1)))
    expect(Tool.reconcile).type.not.toBeCallableWith(shaky, () => Effect.fail("text"))
  })

  test("reconcile takes an async check, which returns the result or undefined", () => {
    const look = async (order: string): Promise<string | undefined> => order
    const last = steady.pipe(Tool.reconcile(async ({ order }, { failure, fetch, signal }) => {
      expect(order).type.toBe<string>()
      expect(failure).type.toBe<ToolFailure.ToolFailure>()
      await fetch("https://bank.example", { signal })
      return await look(order)
    }, { final: true }))
    expect(last).type.toBe<Unsteady>()
    const first = Tool.reconcile(steady, async ({ order }, { idempotencyKey }) => {
      expect(order).type.toBe<string>()
      return await look(idempotencyKey)
    })
    expect(first).type.toBe<Unsteady>()
    expect(steady.pipe(Tool.reconcile(async () => undefined), Tool.retry(Schedule.recurs(1)))).type.toBe<Unsteady>()
    const status = Tool.make(
      "status",
      { description: "", parameters, success: Schema.Literals(["paid", "open"]) },
      () => Effect.succeed("paid" as const)
    )
    expect(Tool.reconcile).type.toBeCallableWith(status, async () => "paid" as const)
    expect(Tool.reconcile(status, async () => "paid")).type.toBeAssignableTo<Tool.Any>()
    expect(status.pipe(Tool.reconcile(async () => "paid"))).type.toBeAssignableTo<Tool.Any>()
    const success = Schema.Struct({ status: Schema.Literals(["paid", "open"]), items: Schema.Array(Schema.String) })
    const orders = Tool.make("orders", { description: "", success }, () => Effect.fail(garbage))
    expect(orders.pipe(Tool.reconcile(async () => ({ status: "paid", items: ["tea"] })))).type
      .toBeAssignableTo<Tool.Any>()
    expect(Tool.reconcile).type.not.toBeCallableWith(shaky, async () => 1)
    expect(Tool.reconcile).type.not.toBeCallableWith(shaky, async () => {})
    expect(Tool.reconcile).type.not.toBeCallableWith(shaky, async () => Option.some("text"))
    expect(Tool.reconcile).type.not.toBeCallableWith(shaky, () => "text")
  })

  test("a policy that reconciles needs what its check needs, and nothing for a promise", () => {
    expect(Policy.reconcile(() => Ledger.use(({ find }) => find("7")))).type.toBe<Policy.Policy<Ledger>>()
    expect(Policy.reconcile(async () => "receipt", { final: true })).type.toBe<Policy.Policy>()
    expect(Policy.reconcile(async ({ order }: Params) => order === "7" ? order : undefined)).type.toBe<Policy.Policy>()
    expect(Policy.reconcile).type.not.toBeCallableWith(() => "text")
    expect(Policy.reconcile).type.not.toBeCallableWith(() => Effect.fail("text"))
  })

  test("paginate merges pages, and the result may stay partial", () => {
    const paged = Tool.make(
      "paged",
      { description: "", success: Schema.Array(Schema.String), sideEffect: "none" },
      () => Effect.fail(new PartialData({ code: "more_pages", detail: "1 of 2.", data: ["a"], next: { page: 2 } }))
    )
    const complete = paged.pipe(Tool.paginate({ merge: (soFar, page) => [...soFar, ...page] }))
    expect<Tool.Failure<typeof complete>>().type.toBe<PartialData<Array<string>>>()
    expect(Tool.paginate).type.not.toBeCallableWith(paged, { merge: () => 1 })
  })
})

describe("a custom policy", () => {
  class Audit extends Context.Service<Audit, number>()("Audit") {}

  const plain = Policy.make({ kind: "custom", description: "", wrap: (run) => run })
  const audited = Policy.make<Audit>({
    kind: "custom",
    description: "",
    wrap: (run) => (params) => Effect.andThen(Audit, run(params))
  })
  const closing = Policy.make<never, ToolUnavailable>({
    kind: "custom",
    description: "",
    wrap: (run, _, call) => (params) =>
      Effect.catch(
        run(params),
        () => call.refuse(new ToolUnavailable({ code: "closed", detail: "Closed.", transient: false }))
      )
  })

  test("has the services and failures that it declares", () => {
    expect(plain).type.toBe<Policy.Policy<never, never>>()
    expect(audited).type.toBe<Policy.Policy<Audit, never>>()
    expect(closing).type.toBe<Policy.Policy>()
  })

  test("gets the tool and the call", () => {
    Policy.make({
      kind: "custom",
      description: "",
      wrap: (run, subject, call) => {
        expect(subject.parameters).type.toBe<Schema.ConstraintDecoder<unknown>>()
        expect(call).type.toBe<Policy.Call>()
        return run
      }
    })
  })

  test("adds them to a tool's type, and removes nothing", () => {
    expect(steady.pipe(Tool.with(plain))).type.toBe<typeof steady>()
    expect(steady.pipe(Tool.with(audited))).type.toBe<Steady<Audit>>()
    expect(Tool.with(steady, closing)).type.toBe<Unsteady>()
    expect(steady.pipe(Tool.with(audited), Tool.with(closing))).type.toBe<Unsteady<Audit>>()
    expect(steady.pipe(Tool.withDefaults([audited]))).type.toBe<Unsteady<Audit>>()
  })

  test("returns the tool's answer type, and fails only as declared", () => {
    const of = { kind: "custom", description: "" } as const
    expect(Policy.make).type.not.toBeCallableWith({ ...of, wrap: () => () => Effect.succeed("kept") })
    expect(Policy.make).type.not.toBeCallableWith({
      ...of,
      wrap: <A, E extends ToolFailure.ToolFailure, R>(run: Policy.Run<A, E, R>) => (params: unknown) =>
        Effect.as(run(params), 1)
    })
    expect(Policy.make<never, ToolUnavailable>).type.not.toBeCallableWith({
      ...of,
      wrap: () => () => Effect.fail(garbage)
    })
    expect(Policy.make<never>).type.not.toBeCallableWith({
      ...of,
      wrap: <A, E extends ToolFailure.ToolFailure, R>(run: Policy.Run<A, E, R>) => (params: unknown) =>
        Effect.andThen(Audit, run(params))
    })
  })

  test("is only made by Policy.make", () => {
    expect(Tool.with).type.not.toBeCallableWith(steady, { kind: "custom", description: "", wrap: <A>(run: A) => run })
  })
})

describe("default policies", () => {
  test("add ToolUnavailable, and their services to R", () => {
    expect(steady.pipe(Tool.withDefaults([Policy.timeout("1 second")]))).type.toBe<Unsteady>()
    const kit = Toolkit.make(steady).pipe(Toolkit.withDefaults([Policy.timeout("1 second"), CircuitBreaker.policy()]))
    expect<Toolkit.Requirements<typeof kit>>().type.toBe<Breaker.CircuitBreaker>()
    expect<Toolkit.Failure<typeof kit>>().type.toBe<SemanticGarbage | ToolUnavailable>()
  })

  test("of Policy.standard add ToolUnavailable, and no requirements", () => {
    expect(Policy.standard()).type.toBe<ReadonlyArray<Policy.Policy>>()
    expect(steady.pipe(Tool.withDefaults(Policy.standard()))).type.toBe<Unsteady>()
    const kit = Toolkit.make(steady).pipe(Toolkit.withDefaults([...Policy.standard(), CircuitBreaker.policy()]))
    expect<Toolkit.Requirements<typeof kit>>().type.toBe<Breaker.CircuitBreaker>()
    expect<Toolkit.Failure<typeof kit>>().type.toBe<SemanticGarbage | ToolUnavailable>()
    expect(Agent.make({ toolkit: Toolkit.make(steady), policies: Policy.standard() }).run("?")).type.toBe<
      Effect.Effect<Answer.Answer, AgentFailure.AgentFailure, Model.Model>
    >()
    expect(Policy.standard).type.not.toBeCallableWith({ retry: "never" })
  })

  test("of an agent add their requirements to its runs", () => {
    const agent = Agent.make({
      toolkit: Toolkit.make(steady),
      policies: [Policy.retry(RetryPolicy.none), LastKnown.policy()]
    })
    expect(agent.run("?")).type.toBe<
      Effect.Effect<Answer.Answer, AgentFailure.AgentFailure, Model.Model | LastKnown.LastKnown>
    >()
    expect(Agent.make({ toolkit: Toolkit.make(steady) }).run("?")).type.toBe<
      Effect.Effect<Answer.Answer, AgentFailure.AgentFailure, Model.Model>
    >()
  })
})

describe("HttpFailure.classify", () => {
  test("removes the client's error, and keeps other errors", () => {
    const got = Client.get("https://example.com").pipe(HttpFailure.classify, Effect.asVoid)
    expect(got).type.toBe<Effect.Effect<void, HttpFailure.HttpFailure, HttpClient.HttpClient>>()
    const other = Effect.fail(garbage).pipe(HttpFailure.classify, Effect.asVoid)
    expect(other).type.toBe<Effect.Effect<void, HttpFailure.HttpFailure>>()
  })
})

describe("a fixer", () => {
  const rejected = steady.pipe(Tool.fix(({ text }) => text))

  test("keeps the failures, because arguments may stay rejected", () => {
    expect(rejected).type.toBe<typeof steady>()
    expect(Tool.fix(steady, () => ({ order: "7" }), { tries: 2 })).type.toBe<typeof steady>()
    // The fixer's own failures do not appear in the type.
    expect(steady.pipe(Tool.fix(() => Effect.fail("no idea")))).type.toBe<typeof steady>()
    expect(steady.pipe(Tool.fix(() => Fixer.escalate({ detail: "No.", severity: "low" })))).type.toBe<typeof steady>()
    expect(steady.pipe(Tool.fix(() => Fixer.throwException("No.")))).type.toBe<typeof steady>()
  })

  test("gets the rejection", () => {
    Tool.fix(steady, (rejection) => {
      expect(rejection).type.toBe<Fixer.Rejection<never>>()
      expect(rejection.failure).type.toBe<SchemaMismatch>()
      expect(rejection.arguments).type.toBe<Schema.JsonObject | undefined>()
      return ""
    })
    Tool.fix(steady, ({ failure }) => {
      expect(failure).type.toBe<SchemaMismatch | SemanticGarbage>()
      return ""
    }, { on: ["SemanticGarbage"] })
    Tool.fix(steady, ({ failure }) => {
      expect(failure).type.toBe<SchemaMismatch | ToolUnavailable>()
      return ""
    }, { on: ["defect"] })
    expect(Tool.fix).type.not.toBeCallableWith(steady, () => "", { on: ["PartialData"] })
  })

  test("may turn a defect into a failure, and nothing else", () => {
    const asked = steady.pipe(Tool.fix(() => "", { on: ["SemanticGarbage", "ToolUnavailable"] }))
    expect(asked).type.toBe<typeof steady>()
    const told = steady.pipe(Tool.fix(() => "", { on: ["defect"] }))
    expect<Tool.Failure<typeof told>>().type.toBe<Tool.Failure<typeof steady> | ToolUnavailable>()
  })

  test("of a toolkit or an agent is keyed by tool name, and adds its requirements", () => {
    const toolkit = Toolkit.make(steady)
    const look = () => Ledger.use(({ find }) => Effect.map(find("7"), () => ({ order: "7" })))
    const fixed = toolkit.pipe(Toolkit.withFixers({ "*": look }))
    expect<Toolkit.Requirements<typeof fixed>>().type.toBe<Ledger>()
    expect(Agent.make({ toolkit, fixers: { "*": look } })).type.toBe<Agent.Agent<typeof steady, Ledger>>()
    expect(Agent.make({ toolkit, fixers: { "*": { fix: look, tries: 2 } } })).type.toBe<
      Agent.Agent<typeof steady, Ledger>
    >()
    expect(Agent.make({ toolkit })).type.toBe<Agent.Agent<typeof steady>>()
    expect(Agent.make({ toolkit, fixers: { "*": ({ text }) => text } })).type.toBe<Agent.Agent<typeof steady>>()
    // Any set of a union may be used, so the requirements of all its sets count.
    const some = {} as { readonly steady: typeof look } | { readonly "*": () => string } | undefined
    expect(Agent.make({ toolkit, fixers: some })).type.toBe<Agent.Agent<typeof steady, Ledger>>()
    const either = {} as { readonly "*"?: typeof look }
    expect(Agent.make({ toolkit, fixers: either })).type.toBe<Agent.Agent<typeof steady, Ledger>>()
    expect<Agent.Options<typeof steady>>().type.not.toBeAssignableFrom<
      { readonly toolkit: typeof toolkit; readonly fixers: { readonly "*": typeof look } }
    >()
    expect(Toolkit.withFixers).type.not.toBeCallableWith(toolkit, { no_such_tool: () => "" })
    expect(Toolkit.withFixers).type.not.toBeCallableWith(toolkit, { "*": () => 7 })
    expect(Agent.make).type.not.toBeCallableWith({ toolkit, fixers: { steady: () => 7 } })
    expect(Agent.make).type.not.toBeCallableWith({ toolkit, fixers: { no_such_tool: () => "" } })
  })

  test("adds its requirements: a service, or the model of its agent", () => {
    const looked = steady.pipe(
      Tool.fix(({ text }) =>
        text === "" ? "" : Ledger.use(({ find }) => Effect.map(find(text), () => ({ order: "7" })))
      )
    )
    expect(looked).type.toBe<Steady<Ledger>>()
    const corrector = Agent.make({ toolkit: Toolkit.make(...Fixer.tools) })
    expect(steady.pipe(Tool.fix(Fixer.agent(corrector)))).type.toBe<Steady<Model.Model>>()
    // The requirements of all returned Effects count.
    const mixed = ({ text, tries }: Fixer.Rejection) =>
      tries > 1 ? text : text === "" ? Effect.as(Ledger, "{}") : Effect.as(Model.Model, { order: "7" })
    expect(steady.pipe(Tool.fix(mixed))).type.toBe<Steady<Ledger | Model.Model>>()
  })

  test("answers with arguments, a value, or an Effect of them", () => {
    expect(steady.pipe(Tool.fix(() => Fixer.answer({ any: "json" })))).type.toBe<typeof steady>()
    expect(Tool.fix).type.not.toBeCallableWith(steady, () => 7)
    expect(Tool.fix).type.not.toBeCallableWith(steady, () => Promise.resolve("{}"))
    expect(Tool.fix).type.not.toBeCallableWith(steady, () => Effect.succeed(7))
    expect(Fixer.escalate).type.not.toBeCallableWith({ detail: "No.", severity: "mild" })
  })
})
