/** The HTTP backend of example 4 in this process, and clients for it. */
import { NodeFileSystem } from "@effect/platform-node"
import { assert } from "@effect/vitest"
import type { Model } from "@fallible/core"
import type * as Question from "@fallible/core/Question"
import * as Backend from "@fallible/examples/04-http-backend/Backend"
import * as EventStream from "@fallible/examples/04-http-backend/EventStream"
import * as Listener from "@fallible/examples/04-http-backend/Listener"
import * as Planner from "@fallible/examples/04-http-backend/Planner"
import * as Runs from "@fallible/examples/04-http-backend/Runs"
import * as ShopServer from "@fallible/examples/04-http-backend/ShopServer"
import type { UIMessage } from "ai"
import { ConfigProvider, Context, Effect, Layer, Logger, Stream } from "effect"
import { Sse } from "effect/encoding"
import { FetchHttpClient, HttpServer } from "effect/http"
import { macrotask } from "./virtualTime.ts"

interface Options extends Partial<Backend.Options> {
  readonly model?: Layer.Layer<Model.Model>
  readonly upstream?: ShopServer.State
  readonly env?: Readonly<Record<string, string>>
  /** Gets each line of the log. */
  readonly log?: (line: string) => void
}

/** Starts the backend until the scope closes. */
export const serving = (
  { env = {}, grace = 0, log, model = Planner.paced(), max = 100, upstream = "up", ...options }: Options = {}
) =>
  Layer.build(
    Backend.layer({ max, grace, ...options }).pipe(
      Layer.provideMerge(Layer.merge(
        Listener.at(0),
        ShopServer.layer(upstream)
      )),
      Layer.provide([
        model,
        FetchHttpClient.layer,
        NodeFileSystem.layer,
        ConfigProvider.layer(ConfigProvider.fromEnv({ env })),
        Logger.layer(log === undefined ? [] : [Logger.make((line) => log(Logger.formatLogFmt.log(line)))])
      ])
    )
  ).pipe(Effect.map((context) => ({
    url: HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address),
    shop: Context.get(context, ShopServer.ShopServer),
    runs: Context.get(context, Runs.Runs)
  })))

export interface Answered {
  readonly status: number
  readonly headers: Headers
  // The fields that any of the backend's bodies has.
  readonly body: {
    readonly text?: string
    readonly question?: string
    readonly questions?: ReadonlyArray<Question.Question>
    readonly token?: string
    readonly code?: string
    readonly detail?: string
    readonly pointer?: string
    readonly id?: string
    readonly messages?: ReadonlyArray<UIMessage>
  }
}

/** Sends a request, and reads the JSON body of its answer. */
export const fetched = (url: string, init: RequestInit = {}): Effect.Effect<Answered> =>
  Effect.promise(async (signal) => {
    const response = await fetch(url, { ...init, signal })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === "" ? {} : JSON.parse(text) }
  })

const posting = (body: unknown, accept = "application/json"): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", accept },
  body: JSON.stringify(body)
})

export const post = (url: string, body: unknown) => fetched(url, posting(body))

/** Opens a stream of events. Interrupting it closes the connection. */
export const events = (url: string, body: unknown): Stream.Stream<EventStream.Event> =>
  Stream.unwrap(Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new AbortController()),
      (controller) => Effect.sync(() => controller.abort())
    ).pipe(
      Effect.flatMap(({ signal }) =>
        Effect.promise(() => fetch(url, { ...posting(body, "text/event-stream"), signal }))
      )
    ),
    (response) => {
      assert.strictEqual(response.status, 200)
      return Stream.fromReadableStream({ evaluate: () => response.body!, onError: (error) => error }).pipe(
        Stream.decodeText(),
        Stream.pipeThroughChannel(Sse.decodeDataSchema(EventStream.schema)),
        Stream.map(({ data }) => data),
        Stream.orDie
      )
    }
  )).pipe(Stream.scoped)

/** Waits, one turn of the event loop after the other, until a condition holds. No time passes. */
export const until = <E, R>(condition: Effect.Effect<boolean, E, R>): Effect.Effect<void, E, R> =>
  Effect.gen(function*() {
    while (!(yield* condition)) yield* macrotask
  })

export const noneUnderWay = ({ runs }: { readonly runs: Runs.Runs["Service"] }) =>
  until(Effect.map(runs.report, ({ underWay }) => underWay === 0))
