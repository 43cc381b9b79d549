/**
 * `ActsOnce.check` finds tools that act twice because of what models, providers, programs and processes do around them. Where
 * the library prevents that by now, a tool that does without the protection shows that the check would find it.
 */
import { assert, describe, it } from "@effect/vitest"
import { Policy, RetryPolicy, Tool, ToolCall, ToolFailure, ToolUnavailable } from "@fallible/core"
import { ActsOnce, type FakeService } from "@fallible/testing"
import { Clock, Deferred, Effect, Layer, Option, Queue, Schema } from "effect"

const Charge = Schema.Struct({ booking: Schema.String, note: Schema.String })
type Charge = typeof Charge.Type
const charge = { arguments: { booking: "B-7", note: "Dinner for two" } }

const acting = (service: FakeService.FakeService, body: string) =>
  Effect.flatMap(
    ToolCall.current,
    ({ idempotencyKey }) =>
      Effect.mapError(service.act({ key: idempotencyKey, body }), (error) => ToolFailure.from(error))
  )

/** Makes a tool that charges a card. The service gets the booking. */
const charging =
  (definition: Partial<Tool.Definition<unknown, Charge>> = {}, act = acting) => (service: FakeService.FakeService) =>
    Tool.make(
      "charge",
      { description: "Charges a card", parameters: Charge, success: Schema.Unknown, repeats: false, ...definition },
      ({ booking }) => act(service, booking)
    )

const identity = ({ booking }: { readonly booking: string }) => booking
const keyed = { sideEffect: "idempotent_by_key", identity } as const

const twice = <T extends Tool.Any, Provided = never>(options: ActsOnce.Options<T, never, Provided>) =>
  Effect.flatMap(
    Effect.flip(ActsOnce.check(options)),
    (failure) => failure._tag === "ActedTwice" ? Effect.succeed(failure.sequence) : Effect.die(failure)
  )

const once = <T extends Tool.Any, Provided = never>(options: ActsOnce.Options<T, never, Provided>) =>
  Effect.map(ActsOnce.check(options), ({ runs }) => assert.isAbove(runs, 0))

const called = "The model calls charge."
const acts = "the service acts, and answers."
const inOneTurn = (changes: string) => [
  called,
  `The model makes the call twice in this turn, in other words: ${changes}.`,
  `Request 1, key a: ${acts}`,
  `Request 2, key b: ${acts}`
]

describe("a model that says the same in other words", () => {
  it.live("charges twice in one turn, unless an identity says what a charge is", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* twice({ ...charge, tool: charging() }),
        inOneTurn("note \"Dinner for two, again\"")
      )
      yield* once({ ...charge, tool: charging({ identity }) })
      yield* once({ ...charge, tool: charging(keyed) })
    }))

  it.live("charges twice with a note that it adds", () =>
    Effect.gen(function*() {
      const tool = (service: FakeService.FakeService) =>
        Tool.make("charge", {
          description: "",
          parameters: Schema.Struct({ booking: Schema.String, memo: Schema.optionalKey(Schema.String) }),
          success: Schema.Unknown,
          repeats: false
        }, ({ booking }) => acting(service, booking))
      assert.deepStrictEqual(
        yield* twice({ arguments: { booking: "B-7" }, tool }),
        inOneTurn("memo \"again\"")
      )
    }))

  it.live("charges twice, if a handler says without knowing it that nothing was done", () =>
    Effect.gen(function*() {
      for (const sentence of ["Receipt missing", "The bank did not answer", "Zahlung fehlgeschlagen", "支付失败"]) {
        const lying = (service: FakeService.FakeService, body: string) =>
          Effect.catch(acting(service, body), () => ToolCall.refuse(sentence))
        for (const definition of [{ identity }, keyed]) {
          assert.deepStrictEqual(yield* twice({ ...charge, tool: charging(definition, lying) }), [
            called,
            "Request 1, key a: the service acts, and the connection is lost.",
            `The call fails (${sentence}), and is told as not executed.`,
            "The model calls charge again, in other words: note \"Dinner for two, again\".",
            `Request 2, key b: ${acts}`
          ])
        }
        // A plain error says nothing about it.
        const saying = (service: FakeService.FakeService, body: string) =>
          Effect.mapError(acting(service, body), () => ToolFailure.from(new Error(sentence)))
        yield* once({ ...charge, tool: charging(keyed, saying), runs: 120 })
      }
    }))

  it.live("charges twice, if a handler believes the status of a later request", () =>
    Effect.gen(function*() {
      const effect = ({ url }: FakeService.Request) => url
      const mailing = (isBelieved: boolean) => (service: FakeService.FakeService, body: string) =>
        Effect.gen(function*() {
          const { idempotencyKey: key } = yield* ToolCall.current
          yield* service.act({ key, body })
          return yield* service.act({ key, body, url: "https://mail.example/mails" })
        }).pipe(
          Effect.mapError((error) =>
            isBelieved && error._tag === "Answered" && error.status < 429
              ? new ToolUnavailable({ code: "refused", detail: "No.", transient: false, outcome: "not_executed" })
              : ToolFailure.from(error)
          )
        )
      assert.include(
        yield* twice({ ...charge, effect, tool: charging({ identity }, mailing(true)) }),
        "The call fails (No.), and is told as not executed."
      )
      yield* once({ ...charge, effect, tool: charging({ identity }, mailing(false)), runs: 150 })
      yield* once({ ...charge, effect, tool: charging(keyed, mailing(false)), runs: 150 })
    }))

  describe("rewords", () => {
    const Booking = Schema.Struct({
      booking: Schema.String,
      amount: Schema.Int,
      isGift: Schema.Boolean,
      tags: Schema.Array(Schema.String),
      speed: Schema.Literals(["slow", "fast"]),
      code: Schema.String.check(Schema.isPattern(/^c-\d$/)),
      note: Schema.NullOr(Schema.String),
      memo: Schema.optionalKey(Schema.String)
    })
    const full = { booking: "B-7", amount: 5, isGift: true, tags: ["a"], speed: "slow", code: "c-1", note: null }
    it.live("all that an identity ignores and the schema allows", () =>
      Effect.gen(function*() {
        const tool = (service: FakeService.FakeService) =>
          Tool.make("charge", {
            description: "",
            parameters: Booking,
            success: Schema.Unknown,
            repeats: false,
            identity
          }, (params) =>
            // It acts again only if nothing is as it was.
            Effect.mapError(
              service.act({ key: JSON.stringify(params) }),
              () => new ToolUnavailable({ code: "down", detail: "Down.", transient: true, outcome: "not_executed" })
            ))
        assert.deepStrictEqual(yield* twice({ arguments: full, tool, keys: "honoured" }), [
          called,
          "Request 1, key a: the service acts, and the connection is lost.",
          "The call fails (Down.), and is told as not executed.",
          "The model calls charge again, in other words: amount 6, isGift false, tags [\"a\",\"a\"], speed \"fast\", note \"again\", memo \"again\".",
          `Request 2, key b: ${acts}`
        ])
      }))

    it.live("notes inside fields and lists, but not the words that name the effect", () =>
      Effect.gen(function*() {
        const nesting =
          (definition: Partial<Tool.Definition<unknown, typeof Nested.Type>> = {}) =>
          (service: FakeService.FakeService) =>
            Tool.make("charge", {
              description: "",
              parameters: Nested,
              success: Schema.Unknown,
              repeats: false,
              ...definition
            }, ({ payment }) => acting(service, payment.booking))
        const Nested = Schema.Struct({
          payment: Schema.Struct({ booking: Schema.String, note: Schema.String }),
          lines: Schema.Array(Schema.Struct({ code: Schema.String, text: Schema.String }))
        })
        const nested = {
          arguments: {
            payment: { booking: "B-7", note: "Dinner for two" },
            lines: [{ code: "d", text: "No nuts" }, { code: "e", text: "Extra" }]
          }
        }
        assert.deepStrictEqual(
          yield* twice({ ...nested, tool: nesting() }),
          inOneTurn(
            "payment {\"booking\":\"B-7\",\"note\":\"Dinner for two, again\"}, " +
              "lines [{\"code\":\"d\",\"text\":\"No nuts, again\"},{\"code\":\"e\",\"text\":\"Extra\"}]"
          )
        )
        yield* once({ ...nested, tool: nesting({ identity: ({ payment }) => payment.booking }), runs: 150 })
        const codes = nesting({ identity: ({ lines, payment }) => [payment.booking, lines.map(({ code }) => code)] })
        yield* once({ ...nested, tool: codes, runs: 150 })
        // Nothing but notes: one of them must name the effect.
        const Only = Schema.Struct({ guests: Schema.Array(Schema.String) })
        const naming = (service: FakeService.FakeService) =>
          Tool.make(
            "charge",
            { description: "", parameters: Only, success: Schema.Unknown, repeats: false },
            () => acting(service, "")
          )
        yield* once({ arguments: { guests: ["Ada Lovelace", "Alan Turing"] }, tool: naming, runs: 150 })
      }))

    it.live("no text that must say which effect is meant", () =>
      Effect.gen(function*() {
        const naming = (service: FakeService.FakeService) =>
          Tool.make(
            "charge",
            {
              description: "",
              parameters: Schema.Struct({ guest: Schema.String }),
              success: Schema.Unknown,
              repeats: false
            },
            ({ guest }) => acting(service, guest)
          )
        yield* once({ arguments: { guest: "Ada Lovelace" }, tool: naming, runs: 150 })
        assert.deepStrictEqual(
          yield* twice({ arguments: { guest: "Ada Lovelace" }, tool: naming, reworded: ["guest"] }),
          inOneTurn("guest \"Ada Lovelace, again\"")
        )
        yield* once({ ...charge, tool: charging(), reworded: [], runs: 150 })
      }))

    it.live("a note of an identity of all arguments, unless the user says that it names the effect", () =>
      Effect.gen(function*() {
        const tool = charging({ ...keyed, identity: "all" })
        assert.deepStrictEqual(yield* twice({ ...charge, tool }), inOneTurn("note \"Dinner for two, again\""))
        yield* once({ ...charge, tool, reworded: [], runs: 150 })
      }))

    it.live("what the user says, even if the identity has it", () =>
      Effect.gen(function*() {
        const tool = charging({ ...keyed, identity: ({ booking, note }) => [booking, note] })
        yield* once({ ...charge, tool, runs: 150 })
        assert.deepStrictEqual(
          yield* twice({ ...charge, tool, reworded: ["note"] }),
          inOneTurn("note \"Dinner for two, again\"")
        )
        const spellings = [{ booking: "B-7", note: "Dinner" }, { booking: "B-7", note: "Two of us" }]
        assert.deepStrictEqual(yield* twice({ arguments: spellings, tool }), [
          called,
          `Request 1, key a: ${acts}`,
          "The model calls charge again after its success, in other words: note \"Two of us\".",
          `Request 2, key b: ${acts}`
        ])
        const exit = yield* Effect.exit(ActsOnce.check({ ...charge, tool, reworded: ["memo"] }))
        assert.include(String(exit), "The option 'reworded' names 'memo', which is no field of charge.")
      }))
  })
})

describe("a provider that sends a call twice", () => {
  const second = "The provider sends the call twice."

  it.live("charges twice, if equal calls of one turn are not joined", () =>
    Effect.gen(function*() {
      const apart = { joins: false, repeats: true }
      for (const definition of [{ identity, ...apart }, { ...keyed, ...apart }]) {
        assert.deepStrictEqual(yield* twice({ ...charge, tool: charging(definition) }), [
          called,
          second,
          `Request 1, key a: ${acts}`,
          `Request 2, key b: ${acts}`
        ])
      }
    }))

  it.live("charges twice, if a fixer words the same arguments in another way, and no identity is declared", () =>
    Effect.gen(function*() {
      const fixed = (definition: Partial<Tool.Definition<unknown, Charge>>) => (service: FakeService.FakeService) => {
        let asked = 0
        const notes = ["for Ada", "Payment for Ada", "To Ada"]
        return charging(definition)(service).pipe(
          Tool.fix(() => ({ booking: "B-7", note: notes[asked++ % notes.length]! }), { tries: 1 })
        )
      }
      // The same text is the same call, whatever a fixer makes of it.
      yield* once({ arguments: { boking: "B-7" }, tool: fixed({}) })
      const two = { arguments: { boking: "B-7", nte: "Ada" } }
      assert.deepStrictEqual(yield* twice({ ...two, tool: fixed({ repeats: true }) }), [
        called,
        "The provider sends the call twice, with its arguments in another order.",
        `Request 1, key a: ${acts}`,
        `Request 2, key b: ${acts}`
      ])
      yield* once({ ...two, tool: fixed({ identity }) })
    }))
})

describe("a program that runs the agent again", () => {
  it.live("charges twice, if it was told that nothing was done", () =>
    Effect.gen(function*() {
      const lying = (service: FakeService.FakeService, body: string) =>
        Effect.catch(acting(service, body), () => ToolCall.refuse("Down."))
      // The facts are right as long as what is told is.
      yield* once({ ...charge, tool: charging({ identity }), calls: 1 })
      assert.deepStrictEqual(yield* twice({ ...charge, tool: charging({ identity }, lying), calls: 1, reworded: [] }), [
        called,
        "Request 1, key a: the service acts, and the connection is lost.",
        "The call fails (Down.), and is told as not executed.",
        "The program runs the agent again, with its facts.",
        called,
        `Request 2, key b: ${acts}`
      ])
    }))

  it.live("charges twice with a transcript and no facts, where such a run is not refused", () =>
    Effect.gen(function*() {
      const options = { ...charge, keys: "honoured", calls: 1 } as const
      const tool = (service: FakeService.FakeService) => {
        let done: string | undefined
        // It remembers the key of a success, so only calls that are in doubt need the facts.
        const remembering = (_: FakeService.FakeService, body: string) =>
          Effect.gen(function*() {
            const { idempotencyKey } = yield* ToolCall.current
            const key = done ?? idempotencyKey
            const answer = yield* Effect.mapError(service.act({ key, body }), (error) => ToolFailure.from(error))
            done = key
            return answer
          })
        return charging({ sideEffect: "idempotent", identity }, remembering)(service)
      }
      assert.deepStrictEqual(yield* twice({ ...options, tool }), [
        called,
        "Request 1, key a: the service acts, and the connection is lost.",
        "The program runs the agent again, with its transcript, but without its facts.",
        called,
        `Request 2, key b: ${acts}`
      ])
      yield* once({ ...options, tool: charging(keyed) })
    }))
})

describe("a handler that repeats a tool inside it", () => {
  const retrying = (inner: Partial<Tool.Definition<unknown, Charge>>) => (service: FakeService.FakeService) =>
    Tool.make(
      "book",
      { description: "", parameters: Charge, success: Schema.Unknown, repeats: false, identity },
      (params) => Effect.retry(charging(inner)(service).run(params), { times: 3 })
    )

  it.live("charges once, if the inner tool acts, since it is not begun again in doubt", () =>
    Effect.gen(function*() {
      yield* once({ ...charge, tool: retrying({ identity }) })
      yield* once({ ...charge, tool: retrying(keyed), keys: "honoured" })
    }))

  it.live("charges twice, if the inner tool may be repeated", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* twice({ ...charge, tool: retrying({ sideEffect: "idempotent" }) }), [
        "The model calls book.",
        "Request 1, key a: the service acts, and the connection is lost.",
        `Request 2, key a: ${acts}`
      ])
    }))
})

describe("a policy that shares a worker", () => {
  /** One call at a time: the first call starts a worker, which runs all of them. */
  const oneAtATime = () =>
    Policy.make({
      kind: "custom",
      name: "one at a time",
      description: "one at a time",
      wrap: <A, E extends ToolFailure.ToolFailure, R>(run: Policy.Run<A, E, R>) => {
        let queue: Queue.Queue<Effect.Effect<boolean, never, R>> | undefined
        return (params: unknown) =>
          Effect.gen(function*() {
            if (queue === undefined) {
              const jobs = queue = yield* Queue.unbounded<Effect.Effect<boolean, never, R>>()
              yield* Effect.forkDetach(Effect.forever(Effect.flatten(Queue.take(jobs))))
            }
            const end = yield* Deferred.make<A, E>()
            yield* Queue.offer(queue, Deferred.into(Effect.suspend(() => run(params)), end))
            return yield* Deferred.await(end)
          })
      }
    })

  it.live("charges each of two bookings once", () =>
    Effect.gen(function*() {
      for (const definition of [{ identity }, keyed]) {
        yield* once({
          arguments: [{ booking: "B-7", note: "" }, { booking: "B-8", note: "" }],
          effect: ({ body }) => String(body),
          tool: (service) => charging(definition)(service).pipe(Tool.with(oneAtATime())),
          runs: 150
        })
      }
    }))
})

describe("a check that looks whether the service has acted", () => {
  const found = (_: FakeService.Request, hasActed: boolean) => hasActed
  const look = (service: FakeService.FakeService) =>
    Effect.flatMap(
      ToolCall.current,
      ({ idempotencyKey }) =>
        Effect.map(
          service.look({ key: idempotencyKey }),
          (found) => found === true ? Option.some("done") : Option.none()
        )
    )

  it.live("charges twice, if it settles sooner than the service may act", () =>
    Effect.gen(function*() {
      const checked = (settle: "50 millis" | "2 minutes") => (service: FakeService.FakeService) =>
        charging({ identity })(service).pipe(
          Tool.timeout("5 seconds"),
          Tool.reconcile(() => look(service), { settle }),
          Tool.retry(RetryPolicy.transient)
        )
      assert.deepStrictEqual(yield* twice({ ...charge, found, tool: checked("50 millis") }), [
        called,
        "Request 1, key a: the connection is lost, and the service acts later.",
        `Request 2, key a: ${acts}`
      ])
      yield* once({ ...charge, found, tool: checked("2 minutes"), runs: 100 })
    }))

  it.live("charges twice, if it waits by a wall clock that is set forward", () =>
    Effect.gen(function*() {
      // A minute of this clock is 60 ms. Its monotonic time is right.
      const hasty = () =>
        Layer.effect(
          Clock.Clock,
          Effect.map(Clock.Clock, (clock): Clock.Clock => ({
            ...clock,
            currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() * 1_000,
            currentTimeMillis: Effect.map(clock.currentTimeMillis, (time) => time * 1_000)
          }))
        )
      const waiting = (service: FakeService.FakeService) =>
        Effect.flatMap(Clock.currentTimeMillis, (start) =>
          Effect.repeat(Effect.delay(look(service), "1 second"), {
            until: (found) =>
              Effect.map(Clock.currentTimeMillis, (now) => Option.isSome(found) || now - start >= 120_000)
          }))
      const checked = (isByHand: boolean) => (service: FakeService.FakeService) =>
        charging({ identity })(service).pipe(
          isByHand
            ? Tool.reconcile(() => waiting(service), { final: true })
            : Tool.reconcile(() => look(service), { settle: "2 minutes" }),
          Tool.retry(RetryPolicy.transient)
        )
      const options = { ...charge, found, runs: 100 }
      yield* once({ ...options, tool: checked(true) })
      yield* once({ ...options, tool: checked(false), layer: hasty })
      assert.include(
        yield* twice({ ...options, tool: checked(true), layer: hasty }),
        "Request 1, key a: the connection is lost, and the service acts later."
      )
    }))
})
