/** The backend with a real model and a real payment service. The README lists the settings. */
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Config, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import { Otlp, OtlpSerialization } from "effect/observability"
import { createServer } from "node:http"
import * as Backend from "./Backend.ts"

const server = NodeHttpServer.layerConfig(createServer, { port: Config.Port("PORT").pipe(Config.withDefault(3000)) })

// Sends spans if OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_TRACES_EXPORTER=otlp are set, and likewise LOGS and METRICS.
const telemetry = Otlp.layerFromConfig({ resource: { serviceName: "cashier" } }).pipe(
  Layer.provide([OtlpSerialization.layerJson, FetchHttpClient.layer])
)

Layer.launch(Backend.layer.pipe(Layer.provide(server), Layer.provide(telemetry))).pipe(NodeRuntime.runMain)
