/**
 * The endpoints for operators.
 *
 *     GET  /health                     200 while the process lives
 *     GET  /ready                      200 while it takes runs, 503 while it drains; the runs and the tools
 *     POST /tools/{tool}/disable       refuses further calls of a tool; needs the operator's token
 *     POST /tools/{tool}/enable        allows them again; needs the operator's token
 *
 * Without a token in the environment (`OPERATOR_TOKEN`), nobody can switch tools.
 */
import * as Availability from "@fallible/core/Availability"
import * as ToolHealth from "@fallible/core/ToolHealth"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { createHash, timingSafeEqual } from "node:crypto"
import * as Endpoints from "./Endpoints.ts"
import * as Problem from "./Problem.ts"
import { Runs } from "./Runs.ts"
import { toolkit } from "./tools.ts"

const health = HttpServerResponse.jsonUnsafe({ live: true })

const ready = Effect.gen(function*() {
  const { draining, max, underWay } = yield* Effect.flatMap(Runs, ({ report }) => report)
  const reports = yield* Effect.flatMap(ToolHealth.ToolHealth, ({ report }) => report)
  const availability = yield* Availability.of(toolkit)
  const tools = Array.from(availability, ([tool, { _tag }]) => {
    const report = reports.find((report) => report.tool === tool)
    // The last error of a report may quote a user's arguments, so it stays in the process.
    return { tool, available: _tag === "Available", calls: report?.calls ?? 0, errors: report?.errors ?? 0 }
  })
  return HttpServerResponse.jsonUnsafe(
    { ready: !draining, runs: { underWay, max }, tools },
    { status: draining ? 503 : 200 }
  )
})

const switching = (
  change: (health: ToolHealth.ToolHealth["Service"], tool: string) => Effect.Effect<void>,
  operatorToken: Option.Option<Redacted.Redacted>
) =>
  Effect.gen(function*() {
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    const [, sent = ""] = /^Bearer (.+)$/i.exec(headers["authorization"] ?? "") ?? []
    const token = Option.match(operatorToken, { onNone: () => "", onSome: Redacted.value })
    // An empty token counts as none.
    if (token === "" || !isEqual(sent, token)) {
      return yield* Problem.make(401, "not_an_operator", "Send the operator's token: 'authorization: Bearer …'.")
    }
    const { tool = "" } = yield* HttpRouter.params
    if (!toolkit.tools.has(tool)) return yield* Problem.make(404, "unknown_tool", "There is no tool of this name.")
    yield* change(yield* ToolHealth.ToolHealth, tool)
    return HttpServerResponse.empty({ status: 204 })
  })

/** Compares two texts. The time that it takes says nothing about where they differ. */
const isEqual = (one: string, other: string): boolean => timingSafeEqual(digest(one), digest(other))
const digest = (text: string) => createHash("sha256").update(text).digest()

const operatorToken = Config.option(Config.Redacted("OPERATOR_TOKEN"))

export const layer = Layer.unwrap(Effect.map(operatorToken, (token) =>
  Layer.mergeAll(
    HttpRouter.add("GET", "/health", health),
    HttpRouter.add("GET", "/ready", ready),
    HttpRouter.add(
      "POST",
      "/tools/:tool/disable",
      Endpoints.answering(switching((health, tool) => health.disable(tool, "An operator has disabled it."), token))
    ),
    HttpRouter.add(
      "POST",
      "/tools/:tool/enable",
      Endpoints.answering(switching((health, tool) => health.enable(tool), token))
    )
  )))
