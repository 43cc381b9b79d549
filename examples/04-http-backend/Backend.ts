/**
 * The backend: its routes, and the services that all requests share.
 *
 *     requests ─ Endpoints ─ agent ─ tools ─ the shop
 *                    │ Runs, Conversations       │ ToolHealth, RetryBudget, RateLimiter: once for the process
 *                Operations
 *
 * When the layer closes, the runs under way end first (`Runs.drain`). The server still answers then, so that a load
 * balancer sees that it is not ready. Only then does the server close.
 */
import { NodeCrypto } from "@effect/platform-node"
import { FailureLog, RetryBudget, ToolHealth } from "@fallible/core"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import * as RateLimiter from "effect/persistence/RateLimiter"
import * as Conversations from "./Conversations.ts"
import * as Endpoints from "./Endpoints.ts"
import * as Operations from "./Operations.ts"
import * as Page from "./Page.ts"
import * as Problem from "./Problem.ts"
import * as Runs from "./Runs.ts"

const notFound = HttpRouter.add("*", "*", Problem.response(Problem.make(404, "not_found", "There is nothing here.")))

const routes = Layer.mergeAll(Endpoints.layer, Operations.layer, Page.layer, notFound)

const drainsBeforeClosing = Layer.effectDiscard(
  Effect.flatMap(Runs.Runs, ({ drain }) => Effect.addFinalizer(() => drain))
)

/** @param options the number of runs at once, and how long they may go on when the server stops */
export const layer = (options: { readonly most: number; readonly grace: Duration.Input }) =>
  drainsBeforeClosing.pipe(
    Layer.provideMerge(HttpRouter.serve(routes, { disableListenLog: true })),
    Layer.provideMerge(Layer.mergeAll(
      Runs.layer(options),
      Conversations.layer.pipe(Layer.provide(NodeCrypto.layer)),
      ToolHealth.layer,
      // Each failure of a tool or of the model is a line in the log.
      Layer.succeed(FailureLog.level, "Warn"),
      RetryBudget.layer(),
      RateLimiter.layer.pipe(Layer.provide(RateLimiter.layerStoreMemory))
    ))
  )
