/** The laws of models find the faults that adapters have. */
import { assert, describe, it } from "@effect/vitest"
import { type Model, ModelFailure, Transcript } from "@fallible/core"
import * as ModelLaws from "@fallible/testing/ModelLaws"
import { Effect, Fiber, Stream } from "effect"
import { subjects } from "../support/models.ts"

type Service = Model.Model["Service"]

const right = subjects.find(([name]) => name === "Chat Completions")![1]
const anthropic = subjects.find(([name]) => name === "Messages")![1]

/** A subject whose model has a fault. */
const with_ = (change: (model: Service, settings: ModelLaws.Settings) => Partial<Service>, subject = right) => ({
  ...subject,
  play: (script, settings) =>
    Effect.map(subject.play(script, settings), (played) => ({
      ...played,
      model: { ...played.model, ...change(played.model, settings) }
    }))
} satisfies ModelLaws.Subject)

const ofReplies = (change: (reply: Model.Reply) => Model.Reply) =>
  with_(({ respond, stream }) => ({
    respond: (request) => Effect.map(respond(request), change),
    stream: (request) =>
      Stream.map(stream(request), (part) => part._tag === "Replied" ? { ...part, reply: change(part.reply) } : part)
  }))

const ofFailures = (change: (failure: ModelFailure, settings: ModelLaws.Settings) => ModelFailure) =>
  with_(({ respond, stream }, settings) => ({
    respond: (request) => Effect.mapError(respond(request), (failure) => change(failure, settings)),
    stream: (request) => Stream.mapError(stream(request), (failure) => change(failure, settings))
  }))

const ofRequests = (change: (request: Model.Request) => Model.Request, subject = right) =>
  with_(({ respond, stream }) => ({
    respond: (request) => respond(change(request)),
    stream: (request) => stream(change(request))
  }), subject)

const without = <A extends object, K extends keyof A>(value: A, key: K): Omit<A, K> => {
  const { [key]: _, ...rest } = value
  return rest
}

const withoutFiles = (message: Transcript.Message): Transcript.Message =>
  message.role === "user" ? { role: "user", text: message.text } : message

const faults: ReadonlyArray<readonly [what: string, subject: ModelLaws.Subject, law: RegExp]> = [
  ["trims texts", ofReplies((reply) => ({ ...reply, text: reply.text.trim() })), /has a long text/],
  [
    "repairs arguments",
    ofReplies((reply) => ({
      ...reply,
      calls: reply.calls.map((call) => ({ ...call, arguments: (call.arguments ?? "").replace(/[^}]$/, "$&\"}") }))
    })),
    /arguments/i
  ],
  [
    "reads a prefix as another value",
    ofReplies((reply) => ({
      ...reply,
      calls: reply.calls.map((call) => ({
        ...call,
        arguments: call.arguments?.endsWith("\"days\":[10") === true
          ? `${call.arguments}],"direct":true}`
          : call.arguments ?? ""
      }))
    })),
    /cut off anywhere are refused/
  ],
  [
    "says 0 where nothing is known",
    ofReplies((reply) => ({ ...reply, usage: { ...reply.usage, cachedTokens: reply.usage?.cachedTokens ?? 0 } })),
    /has what it used/
  ],
  ["forgets its name", ofReplies((reply) => without(reply, "model")), /has a text\./],
  [
    "shows other pieces than its reply has",
    with_(({ stream }) => ({
      stream: (request) =>
        Stream.map(stream(request), (part) => part._tag === "TextDelta" ? { ...part, text: part.text.trim() } : part)
    })),
    /streamed reply has a long text/
  ],
  [
    "ends a stream twice",
    with_(({ stream }) => ({
      stream: (request) =>
        Stream.flatMap(stream(request), (part) => Stream.make(...(part._tag === "Replied" ? [part, part] : [part])))
    })),
    /streamed reply has a text/
  ],
  ["loses its native data", ofReplies((reply) => without(reply, "native")), /goes back to it/],
  [
    "says nothing of Retry-After",
    ofFailures((failure) => new ModelFailure({ ...without({ ...failure }, "retryAfter"), cause: failure.cause })),
    /rate_limited, 429, to be asked again/
  ],
  ["dies", with_(() => ({ respond: () => Effect.die("oh") })), /has a text/],
  [
    "is a wall of text",
    ofFailures((failure) => new ModelFailure({ ...failure, cause: failure.cause, detail: "long ".repeat(200) })),
    /bad_request, 400/
  ],
  [
    "tells its key",
    ofFailures((failure, { apiKey }) => new ModelFailure({ ...failure, cause: { headers: { key: apiKey } } })),
    /The key appears in no failure/
  ],
  [
    "asks again for good",
    with_(({ respond }) => ({ respond: (request) => Effect.retry(respond(request), { times: 3 }) })),
    /permanent failure is not asked again/
  ],
  [
    "asks again after a stream has begun",
    with_(({ stream }) => ({
      stream: (request) => Stream.catch(stream(request), () => stream(request))
    })),
    /not asked for again once it has begun/
  ],
  [
    "cannot be interrupted",
    with_(({ respond }) => ({
      respond: (request) => Effect.flatMap(Effect.forkDetach(respond(request)), (fiber) => Fiber.join(fiber))
    })),
    /aborted when the caller stops waiting/
  ],
  [
    "ignores an option",
    ofRequests((request) => ({ ...request, options: without(request.options ?? {}, "stop") })),
    /Each option reaches/
  ],
  [
    "ignores files",
    ofRequests((request) => ({
      ...request,
      transcript: Transcript.make(Array.from(request.transcript, withoutFiles))
    })),
    /Files of users/
  ]
]

describe("ModelLaws", () => {
  it.effect.each(faults)("find a model that %s", ([, subject, law]) =>
    Effect.gen(function*() {
      const broken: Array<ModelLaws.BrokenLaw> = []
      for (const { check, name } of ModelLaws.laws) {
        if (!law.test(name)) continue
        const exit = yield* Effect.exit(check(subject))
        if (exit._tag === "Failure") broken.push(yield* Effect.flip(exit))
      }
      assert.isAbove(broken.length, 0)
      const [{ came, expected, law: name, message }] = broken as [ModelLaws.BrokenLaw]
      assert.match(name, law)
      assert.include(message, name)
      assert.isNotEmpty(came)
      assert.isNotEmpty(expected)
    }))

  it.effect("hold for a wire that cannot say everything", () =>
    Effect.gen(function*() {
      const law = ModelLaws.laws.find(({ name }) => name.includes("not JSON"))!
      const strict = { ...anthropic, wire: { ...anthropic.wire, arguments: "texts" } } satisfies ModelLaws.Subject
      yield* law.check(anthropic)
      const { _tag } = yield* Effect.flip(law.check(strict))
      assert.strictEqual(_tag, "BrokenLaw")
    }))
})
