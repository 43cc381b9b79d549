/** The workspace's own Effect, for folders outside of the workspace: one program must not hold two copies of it. */
export { Duration, Effect, Layer, Logger, ManagedRuntime, Result, Schedule, Schema, Stream } from "effect"
export * as Ai from "effect/ai"
export { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
