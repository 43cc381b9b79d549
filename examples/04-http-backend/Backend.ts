/**
 * The backend: its routes, and the services that all requests share.
 *
 *     requests ─ Origins ─┬ Endpoints ────┬ agent ─ tools ─ the shop
 *                         ├ ChatEndpoints ┘    │ ToolHealth, RetryBudget, RateLimiter, LastKnown: once for the process
 *                         │   │ Chats, Conversations, Runs
 *                         └ Operations         │ Claims: each suspension is resumed once
 *
 * When the layer closes, the runs under way end first (`Runs.drain`). The server still answers then, so that a load
 * balancer sees that it is not ready. Only then does the server close.
 */
import { NodeCrypto } from "@effect/platform-node"
import { Observer } from "@fallible/core"
import * as Claims from "@fallible/core/Claims"
import * as LastKnown from "@fallible/core/LastKnown"
import * as RetryBudget from "@fallible/core/RetryBudget"
import * as ToolHealth from "@fallible/core/ToolHealth"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerError from "effect/http/HttpServerError"
import * as Layer from "effect/Layer"
import * as RateLimiter from "effect/persistence/RateLimiter"
import * as ChatEndpoints from "./ChatEndpoints.ts"
import * as ChatPage from "./ChatPage.ts"
import * as Chats from "./Chats.ts"
import * as Conversations from "./Conversations.ts"
import * as Endpoints from "./Endpoints.ts"
import * as Operations from "./Operations.ts"
import * as Origins from "./Origins.ts"
import * as Page from "./Page.ts"
import * as Problem from "./Problem.ts"
import * as Reader from "./Reader.ts"
import * as Runs from "./Runs.ts"

const isWithoutRoute = (error: unknown): boolean =>
  HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound"

const nothing = Problem.response(Problem.make(404, "not_found", "There is nothing here."))

/**
 * Answers requests that have no route, also those whose path cannot be decoded. A route for every path would do neither:
 * it would also take the HEAD requests, which the router answers by the routes for GET.
 */
const notFound = HttpRouter.middleware(
  (response) => Effect.catch(response, (error) => isWithoutRoute(error) ? Effect.succeed(nothing) : Effect.fail(error)),
  { global: true }
)

const routes = Layer.mergeAll(
  Endpoints.layer,
  ChatEndpoints.layer,
  Operations.layer,
  Page.layer,
  ChatPage.layer,
  notFound
)

export interface Options extends Partial<Reader.Limits> {
  /** The number of runs at once. */
  readonly max: number
  /** How long the runs under way may go on when the server stops. */
  readonly grace: Duration.Input
  /** Where users find the page, if a proxy is before the server. Default: only at the server's own names. */
  readonly origins?: ReadonlyArray<string>
}

const drainsBeforeClosing = Layer.effectDiscard(
  Effect.flatMap(Runs.Runs, ({ drain }) => Effect.addFinalizer(() => drain))
)

export const layer = ({ grace, max, origins = [], ...limits }: Options) =>
  drainsBeforeClosing.pipe(
    Layer.provideMerge(HttpRouter.serve(Layer.merge(routes, Origins.check(origins)), { disableListenLog: true })),
    Layer.provideMerge(Layer.mergeAll(
      Layer.provideMerge(Chats.layer, Runs.layer({ grace, max })),
      Reader.layer(limits),
      Conversations.layer.pipe(Layer.provide(NodeCrypto.layer)),
      // An operator reads in the log what each tool and the model suffered.
      Observer.layer({ failureLevel: "Warn" }),
      // Of two replies to one question, one is taken, also if the run of the first was interrupted.
      Claims.layerMemory,
      ToolHealth.layer,
      LastKnown.layerMemory(),
      RetryBudget.layer(),
      RateLimiter.layer.pipe(Layer.provide(RateLimiter.layerStoreMemory))
    ))
  )
