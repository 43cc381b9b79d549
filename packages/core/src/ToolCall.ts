/**
 * The call that a model makes, and the context of that call while its handler runs.
 *
 * A {@link ToolCall} is the model's request. The text of its arguments is not parsed yet. While the handler
 * runs, {@link current} provides the call's idempotency key and the number of the attempt. A service that
 * receives the key can recognize a repeated call. {@link caveat} and {@link source} add notes about the answer.
 * {@link ask} and {@link stop} end the agent's run.
 *
 * A tool that runs without an agent gets a new key for each `run`. Its caveats and its source are reported by
 * `Tool.outcome` and to an `Observer`.
 *
 * A tool that runs inside another tool's handler counts its own attempts and has its own key. That key is
 * derived from the outer call's key and from the effect that the inner call is meant to have. The inner key
 * therefore stays the same when the outer call is retried. The caveats and the source of the inner call are
 * added to the outer call's answer.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type AskOptions, askUser } from "./internal/call/askUser.ts"
import { attachTo, progressIn, tellIn } from "./internal/call/handlerNotes.ts"
import { note } from "./internal/call/note.ts"
import { refusalBecause, type RefuseOptions } from "./internal/call/refuse.ts"
import { current as scope, detached, identityOf } from "./internal/call/scope.ts"
import { standaloneKey, standaloneReply } from "./internal/call/withoutAgent.ts"
import { StopSignal } from "./internal/failure/controlSignal.ts"
import { textOf } from "./internal/failure/failureField.ts"
import type { File } from "./internal/value/file.ts"
import { namedStruct } from "./internal/value/namedStruct.ts"
import { neverAwaited } from "./internal/value/neverAwaited.ts"
import { type NotedRequest, type NoteOptions, noteRequest as noteInRecord } from "./internal/wire/noteRequest.ts"
import { baseFetch as base, type CallFetch, type Fetch, ownFetch } from "./internal/wire/ownFetch.ts"
import { isUnwatched } from "./internal/wire/places.ts"
import type { SemanticGarbage } from "./ToolFailure.ts"

export type { Source } from "./CallEvent.ts"
export type { NotedRequest, NoteOptions } from "./internal/wire/noteRequest.ts"
export type { CallFetch, Fetch, PlainFetch } from "./internal/wire/ownFetch.ts"
export { Reply } from "./ToolOutcome.ts"

/**
 * A tool call, as the model made it.
 *
 * @category models
 * @since 0.1.0
 */
export class ToolCall extends namedStruct<ToolCall>()({
  /** An id chosen by the model's provider. The agent makes it unique within the message. */
  id: Schema.String,
  name: Schema.String,
  /** The argument text, exactly as the provider sent it. Absent if the provider sent no arguments. */
  arguments: Schema.optionalKey(Schema.String),
  /**
   * The arguments as they may be shown: as JSON, with `"<redacted>"` in place of each secret. An agent adds this text if the
   * tool's parameters have a secret. Absent if `arguments` may be shown.
   */
  shown: Schema.optionalKey(Schema.String),
  /**
   * The id of the provider's request, if this call asks the user to approve a call that the provider runs itself
   * (`ProviderCall.approval`). The agent makes such calls.
   */
  approval: Schema.optionalKey(Schema.String)
}) {}

/**
 * The context of a running call, as the tool's handler sees it.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallContext {
  /**
   * The idempotency key. It stays the same for every attempt, when the call is resumed or replayed, and
   * when the model repeats a call whose outcome is unknown.
   *
   * In an agent, the key is 32 hexadecimal digits. It is derived from the intent of the call: the effect that
   * the call is meant to have (`CallFacts`). A tool that runs without an agent draws its key from `Random`.
   */
  readonly idempotencyKey: string
  /** The 1-based number of the handler's current execution; 0 before the first execution. */
  readonly attempt: number
  /** The name of the tool. Outside any call: `""`. */
  readonly tool: string
  /** The name of the call in logs and events. Unlike the id that a model gives to a call, it is unique. */
  readonly id: string
  /** The id of the agent's run. Absent if no agent runs the call. */
  readonly run?: string
  /** The 1-based number of the turn. Absent if no agent runs the call. */
  readonly turn?: number
}

/**
 * The context of the running call. Outside any call, the key is `"detached"` and the attempt is 1.
 *
 * @category context
 * @since 0.1.0
 */
export const current: Effect.Effect<CallContext> = neverAwaited(
  "ToolCall.current",
  Effect.withFiber((fiber) => {
    const call = fiber.getRef(scope)
    return Effect.succeed({
      idempotencyKey: call.idempotencyKey,
      attempt: call === detached ? 1 : call.state.executions,
      ...identityOf(call)
    })
  }),
  "read the handler's second parameter"
)

/**
 * Sets the idempotency key for a tool that runs without an agent.
 *
 * When to use: in a backend that can name the operation, for example by the id of the order to pay or of
 * the job to run. By default, a tool that runs without an agent draws a random key.
 *
 * @example
 * ```ts
 * import { Tool, ToolCall } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const pay = Tool.make("pay", { description: "Pays", success: Schema.String }, () =>
 *   Effect.map(ToolCall.current, ({ idempotencyKey }) => `paid under ${idempotencyKey}`))
 *
 * Effect.runSync(pay.run({}).pipe(ToolCall.withKey("order-7"))) // => "paid under order-7"
 * ```
 *
 * @category context
 * @since 0.1.0
 */
export const withKey = (key: string): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> =>
  Effect.provideService(standaloneKey, key)

/**
 * Answers the questions ({@link ask}) of a tool that runs without an agent.
 *
 * When to use: in a test of a tool that asks, or in a program that knows the reply. An agent runs the handler again
 * after a question; here, the handler goes on at once.
 *
 * @param reply the reply to each question, or a function of the question; `undefined` leaves a question open
 * @example
 * ```ts
 * import { Tool, ToolCall } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const book = Tool.make("book", { description: "Books a table", success: Schema.String }, () =>
 *   Effect.map(ToolCall.ask("For how many people?"), (people) => `A table for ${people}.`))
 *
 * Effect.runSync(book.run({}).pipe(ToolCall.withReply("four"))) // => "A table for four."
 * ```
 *
 * @category control
 * @since 0.1.0
 */
export const withReply = (
  reply: string | ((question: string) => string | undefined)
): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> =>
  Effect.provideService(standaloneReply, typeof reply === "function" ? reply : () => reply)

/**
 * Adds a caveat to the answer: a note that the model reads, for example "the 3 most recent of 40" or "prices
 * are from yesterday".
 *
 * When to use: in a handler or a fallback whose answer is good, but not exactly what the model asked for.
 *
 * The model reads the first twenty caveats of a call. If there are more, a last note says how many.
 *
 * @param text one short sentence
 * @category noting
 * @since 0.1.0
 */
export const caveat = (text: string): Effect.Effect<void> =>
  neverAwaited(
    "ToolCall.caveat",
    Effect.map(scope, (call) => {
      const sentence = textOf(text)
      if (sentence !== undefined) note(call, { _tag: "CaveatAdded", text: sentence })
    })
  )

/**
 * Attaches a picture or another file to the answer, beside its value. The model sees it if its server accepts such files in the
 * results of tools. Otherwise, the model reads a note with the file's name and type.
 *
 * When to use: for what is not text, such as a screenshot or a chart.
 *
 * A file that is not a `Transcript.File` is a defect of the handler.
 *
 * @param file its bytes with their media type (`Transcript.file`), or its URL
 * @example
 * ```ts
 * import { Tool, ToolCall, Transcript } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const png = new Uint8Array([137, 80, 78, 71])
 * const chart = Tool.make(
 *   "draw_chart",
 *   { description: "Draws the chart of a year", success: Schema.String, sideEffect: "none" },
 *   () => Effect.as(ToolCall.attach(Transcript.file(png, "image/png", "chart.png")), "The chart is attached.")
 * )
 * ```
 *
 * @category noting
 * @since 0.1.0
 */
export const attach = (file: File): Effect.Effect<void> =>
  neverAwaited(
    "ToolCall.attach",
    Effect.map(scope, (call) => attachTo(call, file))
  )

/**
 * Gives the model another text, or other data, to read in place of the result. Programs and clients still get the result.
 *
 * When to use: if a result is made for a page or a program, and a sentence says the same to a model in fewer tokens.
 *
 * The last one counts. A failed call has none.
 *
 * @param value what the model reads: JSON, or what `JSON.stringify` makes of it. It must have no secret.
 * @example
 * ```ts
 * import { Dispatch, Tool, ToolCall, Toolkit } from "@fallible/core"
 * import * as Rendering from "@fallible/core/Rendering"
 * import { Effect, Schema } from "effect"
 *
 * const chart = Tool.make(
 *   "chart",
 *   { description: "The chart of a year", success: Schema.Array(Schema.Int), sideEffect: "none" },
 *   () => Effect.as(ToolCall.tell("The chart is shown to the user."), [1, 2, 3])
 * )
 * const call = { id: "1", name: "chart" }
 * const outcome = Effect.runSync(Dispatch.call(Toolkit.make(chart), call))
 * Rendering.prose(outcome, call) // => "The chart is shown to the user."
 * ```
 *
 * @category noting
 * @since 0.1.0
 */
export const tell = (value: unknown): Effect.Effect<void> =>
  neverAwaited(
    "ToolCall.tell",
    Effect.map(scope, (call) => tellIn(call, value))
  )

/**
 * Shows a result before the call ends: a part of it, or how far it has come. The model does not read it.
 *
 * When to use: in a handler that takes long, for a page that shows what it has so far.
 *
 * It is an event of the call (`CallEvent.ProgressMade`). Clients see it if they may see the results of the tool.
 *
 * @param value JSON, or what `JSON.stringify` makes of it. It must have no secret.
 * @example
 * ```ts
 * import { Tool, ToolCall } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const report = Tool.make("report", { description: "Writes a report", success: Schema.String, sideEffect: "none" }, () =>
 *   Effect.as(ToolCall.progress({ pages: 3, of: 10 }), "The report is written."))
 *
 * Effect.runSync(report.run({})) // => "The report is written."
 * ```
 *
 * @category noting
 * @since 0.1.0
 */
export const progress = (value: unknown): Effect.Effect<void> =>
  neverAwaited(
    "ToolCall.progress",
    Effect.map(scope, (call) => progressIn(call, value))
  )

/**
 * Records where the answer came from, and how old it is. The model reads the source if an `age` is given, or if the source
 * answers in place of the tool, as a fallback does.
 *
 * When to use: in a fallback, so that a stale answer is never mistaken for a fresh one.
 *
 * @param age how old the answer is; omit it for a fresh answer
 * @category noting
 * @since 0.1.0
 */
export const source = (
  { age, name }: { readonly name: string; readonly age?: Duration.Input }
): Effect.Effect<void> =>
  neverAwaited(
    "ToolCall.source",
    Effect.map(scope, (call) => {
      const sourceName = textOf(name) ?? "another source"
      note(call, {
        _tag: "SourceNamed",
        name: sourceName,
        ...(age === undefined ? {} : { age: Duration.fromInputUnsafe(age) })
      })
    })
  )

/**
 * Asks the user a question. The agent's run ends with a value from which it can be resumed. After the run is
 * resumed, the handler runs again from its start, with the same idempotency key. This time, `ask` succeeds
 * with the user's reply.
 *
 * When to use: where neither the tool nor the model can decide. Ask before causing any side effect, because
 * code before the question runs twice. Ask with the same words each time, because a reply is looked up by its
 * question.
 *
 * An async handler asks with the `ask` of its second parameter (`Tool.promise`).
 *
 * A check (`Tool.reconcile`) and a fallback may ask, too. If the outcome of the call is unknown at that time, the
 * handler does not run again after the reply. Only the check or the fallback runs again, and gets the reply. To ask while a
 * tool is down, use `Tool.askWhenUnavailable`.
 *
 * Without an agent, {@link withReply} answers. Otherwise, the Effect dies with a message that says so.
 *
 * To have a call approved before it runs, use `Tool.approve`: it shows what will run.
 *
 * @param options {@link AskOptions}. `choices`: the replies to choose from; default: any text
 * @category control
 * @since 0.1.0
 */
export const ask = (question: string, options?: AskOptions): Effect.Effect<string> =>
  neverAwaited(
    "ToolCall.ask",
    Effect.withFiber((fiber) => {
      const reply = askUser(fiber, question, options)
      return typeof reply === "string" ? Effect.succeed(reply) : Effect.die(reply)
    }),
    "call the 'ask' of the handler's second parameter"
  )

/**
 * Stops the call and the agent's whole run, which fails with `RunStopped`. Neither a policy nor the model can
 * prevent this.
 *
 * When to use: when continuing would do harm. In all other cases, fail with a `ToolFailure`.
 *
 * Without an agent, the Effect dies with the reason.
 *
 * @category control
 * @since 0.1.0
 */
export const stop = (reason: string): Effect.Effect<never> =>
  neverAwaited(
    "ToolCall.stop",
    Effect.suspend(() => Effect.die(new StopSignal(textOf(reason) ?? "The tool gave no reason.")))
  )

// -----------------------------------------------------------------------------
// What the handler did
// -----------------------------------------------------------------------------

/**
 * Refuses the call: the tool has done nothing, and would refuse the same arguments again.
 *
 * When to use: wherever a tool that acts (has side effects) decides against a call: the room is taken, the card was
 * declined. It is the author's word, and holds whatever an error's sentence or a later request says. Do not use it after
 * the handler has acted.
 *
 * An async handler calls the `refuse` of its second parameter (`Tool.promise`).
 *
 * Fails with a `SemanticGarbage`, whose `outcome` is `"not_executed"`.
 *
 * @param detail one sentence that the model reads
 * @param options `code`: default `"rejected"`; `hint`: what to do next; `alternatives`: valid choices, nearest first
 *
 * @example
 * ```ts
 * import { Tool, ToolCall } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const book = Tool.make("book_room", {
 *   description: "Books a room",
 *   parameters: Schema.Struct({ room: Schema.String }),
 *   success: Schema.String,
 *   identity: ({ room }) => room
 * }, ({ room }) =>
 *   room === "A1"
 *     ? ToolCall.refuse("Room A1 is booked.", { alternatives: ["B2"] })
 *     : Effect.succeed(`${room} is yours.`))
 *
 * const outcome = Effect.runSync(Tool.outcome(book, { room: "A1" }))
 * outcome.certainty // => "not_executed"
 * ```
 *
 * @category doing
 * @since 0.1.0
 */
export const refuse = (detail: string, options?: RefuseOptions): Effect.Effect<never, SemanticGarbage> =>
  neverAwaited(
    "ToolCall.refuse",
    Effect.withFiber((fiber) => Effect.fail(refusalBecause(fiber.getRef(scope).wireHere, detail, options))),
    "call the 'refuse' of the handler's second parameter"
  )

export type { AskOptions } from "./internal/call/askUser.ts"
export type { RefuseOptions } from "./internal/call/refuse.ts"

/**
 * The `fetch` of the running call. It records its requests itself, so that what they prove is known on every runtime, over
 * any connection pool, and if a test has replaced the global `fetch`.
 *
 * When to use: in a handler that acts by HTTP, and runs on Bun, Deno or another runtime whose `fetch` cannot be watched; to
 * hand it to a client that takes a `fetch`. On Node, the requests of `fetch`, undici and `node:http` are seen without it.
 *
 * `fetch.withKey` adds the header `Idempotency-Key`, with the key of the call, to each request that acts. An async handler
 * has the same function as the `fetch` of its second parameter, where it also has the call's `signal`.
 *
 * @example
 * ```ts
 * import { Tool, ToolCall } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const fetches = Tool.make("ping", { description: "Pings", success: Schema.String }, () =>
 *   Effect.map(ToolCall.fetch, (fetch) => `${typeof fetch}, ${typeof fetch.withKey}`))
 *
 * Effect.runSync(fetches.run({})) // => "function, function"
 * ```
 *
 * @category doing
 * @since 0.1.0
 */
export const fetch: Effect.Effect<CallFetch> = neverAwaited(
  "ToolCall.fetch",
  Effect.withFiber((fiber) => {
    const call = fiber.getRef(scope)
    const base = fiber.getRef(baseFetch)
    return Effect.succeed(ownFetch({ base, record: call.wireHere, signal: undefined, key: call.idempotencyKey }))
  }),
  "use the 'fetch' of the handler's second parameter"
)

/**
 * The `fetch` that the context's `fetch` calls. Default: the global one.
 *
 * When to use: in a test, to play the service. `HttpStub` and `ActsOnce` of `@fallible/testing` provide it.
 *
 * @example
 * ```ts
 * import { Tool, ToolCall } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const pay = Tool.promise("pay", { description: "Pays", success: Schema.String }, async (_, { fetch }) =>
 *   (await fetch("https://bank.example/pay", { method: "POST" })).text())
 *
 * const answer = pay.run({}).pipe(Effect.provideService(ToolCall.baseFetch, async () => new Response("paid")))
 * await Effect.runPromise(answer) // => "paid"
 * ```
 *
 * @category doing
 * @since 0.1.0
 */
export const baseFetch: Context.Reference<Fetch | undefined> = base

/**
 * Notes a request of the running handler, which the library cannot see by itself. Until its end is told, the request may
 * have acted. Does nothing outside a handler that acts.
 *
 * When to use: in a client or a driver with its own connections, and in a stub of a service. It succeeds with functions
 * that tell how the request ended.
 *
 * @param request its method and its address; `status`, if it is already answered; `sent: false`, if it certainly did not
 * leave
 *
 * @example
 * ```ts
 * import { Tool, ToolCall, ToolUnavailable } from "@fallible/core"
 * import { Effect, Schema } from "effect"
 *
 * const pay = Tool.make("pay", { description: "Pays", success: Schema.String }, () =>
 *   Effect.gen(function*() {
 *     const request = yield* ToolCall.noteRequest({ method: "POST", url: "https://bank.example/pay" })
 *     request.answered(402) // by a client of your own
 *     return yield* new ToolUnavailable({ code: "declined", detail: "The card was declined.", transient: false })
 *   }))
 *
 * const outcome = Effect.runSync(Tool.outcome(pay, {}))
 * outcome.certainty // => "not_executed"
 * ```
 *
 * @category doing
 * @since 0.1.0
 */
export const noteRequest = (request: NoteOptions): Effect.Effect<NotedRequest> =>
  neverAwaited(
    "ToolCall.noteRequest",
    Effect.withFiber((fiber) =>
      Effect.sync(() => noteInRecord(request, isUnwatched() ? undefined : fiber.getRef(scope).wireHere))
    )
  )
