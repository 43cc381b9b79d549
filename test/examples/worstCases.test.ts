import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Toolkit } from "@fallible/core"
import * as MultiToolAgent from "@fallible/examples/01-multi-tool-agent/tools"
import * as ClinicalAssistant from "@fallible/examples/02-clinical-assistant/tools"
import * as JsonKeyCounter from "@fallible/examples/03-json-key-counter/tools"
import * as HttpBackend from "@fallible/examples/04-http-backend/tools"
import * as OrdersAgent from "@fallible/examples/05-orders-agent/tools"
import { Payments } from "@fallible/examples/06-from-the-ai-sdk/Payments"
import { keyOf, travelToolkit } from "@fallible/examples/06-from-the-ai-sdk/toolkit"
import { travelTools } from "@fallible/examples/06-from-the-ai-sdk/tools"
import { WorstCase } from "@fallible/testing"
import { Effect } from "effect"
import { join } from "node:path"
import { root } from "../support/program.ts"

const update = process.env["FALLIBLE_UPDATE"] === "1"

const url = "http://127.0.0.1:2"
const travel = travelToolkit(travelTools({ url, payments: new Payments({ url }), keyOf }))

const file = (example: string) => join(root, "examples", example, "worst-cases.txt")

/** The tools of the examples, with each of the switches that change them. */
const toolkits: Readonly<Record<string, Toolkit.Toolkit>> = {
  demo: MultiToolAgent.toolkit,
  clinical: ClinicalAssistant.toolkit,
  ...Object.fromEntries(
    JsonKeyCounter.fixers.map((fixer) => [`counter --fixer ${fixer}`, JsonKeyCounter.toolkitWith(fixer)])
  ),
  backend: HttpBackend.toolkit,
  orders: OrdersAgent.toolkit,
  "orders --all-pages": OrdersAgent.allPagesToolkit,
  "orders --plain": OrdersAgent.plainToolkit,
  sdk: travel
}

describe("the worst cases of an example", () => {
  for (const [example, toolkit] of Object.entries(toolkits)) {
    it(`are bounded in number and in time: ${example}`, () => {
      const unbounded = Toolkit.explain(toolkit).flatMap(({ attempts, executions, time, tool, waiting }) =>
        [...attempts.because, ...waiting.because, ...time.because, ...executions.because].map((why) =>
          `${tool}: ${why}`
        )
      )
      assert.deepStrictEqual(unbounded, [])
    })
  }

  it.effect("match its file: the demo", () =>
    Effect.gen(function*() {
      yield* WorstCase.matchesFile(MultiToolAgent.toolkit, file("01-multi-tool-agent"), { update })
      yield* WorstCase.hasNoWarnings(MultiToolAgent.toolkit)
    }).pipe(Effect.provide(NodeFileSystem.layer)))

  it.effect("match its file: the clinical assistant", () =>
    Effect.gen(function*() {
      yield* WorstCase.matchesFile(ClinicalAssistant.toolkit, file("02-clinical-assistant"), { update })
      yield* WorstCase.hasNoWarnings(ClinicalAssistant.toolkit)
    }).pipe(Effect.provide(NodeFileSystem.layer)))

  it.effect("match its file: the HTTP backend", () =>
    Effect.gen(function*() {
      yield* WorstCase.matchesFile(HttpBackend.toolkit, file("04-http-backend"), { update })
      yield* WorstCase.hasNoWarnings(HttpBackend.toolkit)
    }).pipe(Effect.provide(NodeFileSystem.layer)))

  it.effect("match its file: the orders agent", () =>
    Effect.gen(function*() {
      yield* WorstCase.matchesFile(OrdersAgent.toolkit, file("05-orders-agent"), { update })
      yield* WorstCase.hasNoWarnings(OrdersAgent.toolkit)
    }).pipe(Effect.provide(NodeFileSystem.layer)))

  it.effect("match its file: the travel assistant", () =>
    Effect.gen(function*() {
      yield* WorstCase.matchesFile(travel, file("06-from-the-ai-sdk"), { update })
      yield* WorstCase.hasNoWarnings(travel)
    }).pipe(Effect.provide(NodeFileSystem.layer)))
})
