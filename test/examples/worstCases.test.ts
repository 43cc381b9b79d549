import { NodeFileSystem } from "@effect/platform-node"
import { describe, it } from "@effect/vitest"
import * as MultiToolAgent from "@fallible/examples/01-multi-tool-agent/tools"
import * as ClinicalAssistant from "@fallible/examples/02-clinical-assistant/tools"
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

const file = (example: string) => join(root, "examples", example, "worst-cases.txt")

describe("the worst cases of an example", () => {
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
      const url = "http://127.0.0.1:2"
      const toolkit = travelToolkit(travelTools({ url, payments: new Payments({ url }), keyOf }))
      yield* WorstCase.matchesFile(toolkit, file("06-from-the-ai-sdk"), { update })
      yield* WorstCase.hasNoWarnings(toolkit)
    }).pipe(Effect.provide(NodeFileSystem.layer)))
})
