/** Laws of failures: what the server says is told by a code, and asked again on the schedule. */
import { Agent, Model, ModelFailure, Toolkit } from "@fallible/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as FakeModelServer from "../../FakeModelServer.ts"
import * as ScriptedModel from "../../ScriptedModel.ts"
import { demand, differ, failing, found, isConnected, playing, question, type Rule, same, ways } from "./rule.ts"

// -----------------------------------------------------------------------------
// Codes
// -----------------------------------------------------------------------------

const permanent = (code: string, detail: string, status: number) =>
  new ModelFailure({ code, detail, transient: false, status })

const transient = (code: string, detail: string, status: number, retryAfter?: Duration.Duration) =>
  new ModelFailure({ code, detail, transient: true, status, ...(retryAfter === undefined ? {} : { retryAfter }) })

const reports: ReadonlyArray<ModelFailure> = [
  permanent("bad_request", "No such field.", 400),
  permanent("context_overflow", "Too long.", 400),
  permanent("permission_denied", "Not for you.", 401),
  permanent("quota_exhausted", "Pay first.", 402),
  permanent("permission_denied", "Not for you.", 403),
  permanent("unknown_model", "No model 'any'.", 404),
  permanent("bad_address", "Nothing here.", 404),
  transient("timeout", "Too slow.", 408),
  permanent("context_overflow", "Too large.", 413),
  permanent("bad_request", "A teapot.", 418),
  permanent("quota_exhausted", "Used up.", 429),
  transient("rate_limited", "Slowly.", 429),
  transient("rate_limited", "Slowly.", 429, Duration.seconds(7)),
  ...[500, 502, 503, 504, 529].map((status) => transient("server_error", "Oh.", status)),
  transient("server_error", "Back soon.", 503, Duration.minutes(2)),
  ...[501, 505].map((status) => permanent("server_error", "Oh.", status)),
  new ModelFailure({ code: "max_tokens", detail: "", transient: false }),
  new ModelFailure({ code: "connection", detail: "", transient: true }),
  new ModelFailure({ code: "cut_off", detail: "", transient: true }),
  new ModelFailure({ code: "malformed_reply", detail: "Gateway", transient: true })
]

const fieldsOf = ({ code, retryAfter, status, transient }: ModelFailure) => ({
  code,
  status,
  transient,
  ...(retryAfter === undefined ? {} : { retryAfter: Duration.format(retryAfter) })
})

const told = (report: ModelFailure): Rule => {
  const { code, retryAfter, status } = fieldsOf(report)
  const ending = retryAfter && `to be asked again after ${retryAfter}`
  return {
    name: `A failure has the code, the status and the words of its server: ${
      [code, status, ending].filter((word) => word !== undefined).join(", ")
    }.`,
    holds: (subject) =>
      status !== undefined && subject.wire?.confuses?.includes(code) === true ? Effect.void : Effect.forEach(
        ways,
        ([way, ask]) =>
          playing(subject, [report], ({ model }) =>
            Effect.gen(function*() {
              const failure = yield* failing(ask(model), `a failure with the code ${code}`)
              if (!(failure instanceof ModelFailure)) return yield* Effect.fail(differ("a ModelFailure", failure))
              yield* same("the failure", fieldsOf(failure), fieldsOf(report))
              const { detail } = failure
              const isLost = way === "streamed" && code === "malformed_reply" && subject.wire?.quotesStreams === false
              const words = isLost ? "" : report.detail
              yield* demand(
                detail.includes(words) && detail.length < 700 && !detail.includes("\n"),
                `one short line with the words ${JSON.stringify(words)}`,
                detail
              )
            })).pipe(found(way))
      )
  }
}

const refusal: Rule = {
  name: "A refusal of the model is told as refused.",
  holds: (subject) =>
    subject.wire?.refusals === false ? Effect.void : Effect.forEach(ways, ([way, ask]) =>
      playing(
        subject,
        [new ModelFailure({ code: "refused", detail: "Not that.", transient: false })],
        ({ model }) =>
          Effect.flatMap(failing(ask(model), "a refusal"), (failure) =>
            demand(
              failure instanceof ModelFailure && failure.code === "refused" && !failure.transient,
              "a failure with the code refused, which is not transient",
              failure
            ))
      ).pipe(found(way)))
}

// -----------------------------------------------------------------------------
// Retries
// -----------------------------------------------------------------------------

const passing: ReadonlyArray<ModelFailure> = [
  transient("server_error", "Busy.", 503),
  new ModelFailure({ code: "connection", detail: "", transient: true }),
  new ModelFailure({ code: "cut_off", detail: "It broke off.", transient: true }),
  new ModelFailure({ code: "malformed_reply", detail: "Nothing.", transient: true })
]

const here = ScriptedModel.text("Here.")
const thrice = { retry: Schedule.recurs(2) }

// A stream that broke off after it had begun is not asked for again, so `cut_off` may be one attempt.
const retried = (failure: ModelFailure): Rule => ({
  name: `A transient failure is asked again as often as the schedule says, and no more: ${failure.code}.`,
  holds: (subject) =>
    isConnected(subject)
      ? Effect.forEach(ways, ([way, ask]) => {
        if (way === "streamed" && failure.code !== "server_error" && failure.code !== "connection") return Effect.void
        return playing(subject, [failure, failure, here, failure, failure, failure, here], ({ model, requests }) =>
          Effect.gen(function*() {
            yield* same("the text of the third reply", (yield* ask(model)).text, "Here.")
            const last = yield* failing(ask(model), "a failure after three attempts")
            yield* demand(
              last instanceof ModelFailure && last.attempts === 3 && last.code === failure.code,
              `a failure with the code ${failure.code}, after 3 attempts`,
              last
            )
            // The server does not count a request that it dropped at once, if it never read it.
            yield* same("the number of requests", (yield* requests).length, 6)
          }), thrice).pipe(found(way))
      })
      : Effect.void
})

const permanentOnce: Rule = {
  name: "A permanent failure is not asked again.",
  holds: (subject) =>
    Effect.forEach(
      ways,
      ([way, ask]) =>
        playing(subject, [permanent("bad_request", "No such field.", 400), here], ({ model, requests }) =>
          Effect.gen(function*() {
            yield* failing(ask(model), "a failure")
            yield* same("the number of requests", (yield* requests).length, 1)
          }), thrice).pipe(found(way))
    )
}

const reported = (failure: ModelFailure): Rule => ({
  name: `A run asks three times in all by default, and reports each failure: ${failure.code}.`,
  holds: (subject) =>
    playing(
      subject,
      [failure, failure, here, failure, failure, here, failure, failure, failure],
      ({ model, requests }) =>
        Effect.gen(function*() {
          yield* same("the answer", (yield* agent.run("Ping!")).text, "Here.")
          const events = yield* Stream.runCollect(agent.stream("Ping!"))
          yield* same(
            "the events of a streamed run",
            events.map(({ _tag }) => _tag).filter((tag) => tag !== "TextDelta"),
            ["TurnStarted", "ModelRetried", "ModelRetried", "ModelReplied", "RunEnded"]
          )
          const failed = yield* failing(agent.run("Ping!"), "a failure of the run")
          if (failed._tag !== "ModelFailed") return yield* Effect.fail(differ("ModelFailed", failed._tag))
          const { attempts, code, model: name } = failed.failure
          yield* same("the failure", { attempts, code, model: name }, {
            attempts: 3,
            code: failure.code,
            model: model.name
          })
          yield* same("the number of requests", (yield* requests).length, 9)
        }).pipe(Effect.provideService(Model.Model, model)),
      {}
    )
})

const agent = Agent.make({ toolkit: Toolkit.empty })

const notOnceBegun: Rule = {
  name: "A stream is not asked for again once it has begun.",
  holds: (subject) =>
    isConnected(subject)
      ? Effect.forEach([4_000, 8_000], (bytes) =>
        playing(subject, [FakeModelServer.drop(long, bytes), here], ({ model, requests }) =>
          Effect.gen(function*() {
            const seen: Array<string> = []
            const parts = Stream.tap(model.stream(question), ({ _tag }) =>
              Effect.sync(() => seen.push(_tag)))
            yield* Effect.exit(Stream.runDrain(parts))
            const asked = (yield* requests).length
            yield* demand(
              asked === 1 && seen[0] === "TextDelta",
              "one request, and a piece of its text",
              `${asked}, after ${seen.join(", ")}`
            )
          }), thrice))
      : Effect.void
}

const long = ScriptedModel.text("A text that is long enough to be dropped in its middle. ".repeat(10))

export const failures: ReadonlyArray<Rule> = [
  ...reports.map(told),
  refusal,
  ...passing.map(retried),
  ...passing.filter(({ code }) => code !== "connection").map(reported),
  permanentOnce,
  notOnceBegun
]
