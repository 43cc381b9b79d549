/** Connections that fail, and whether the request may have taken effect. */
import { assert, describe, it } from "@effect/vitest"
import * as HttpFailure from "@fallible/core/HttpFailure"
import { Effect } from "effect"
import { HttpClientError, HttpClientRequest, type HttpMethod } from "effect/http"
import type * as Http from "node:http"
import * as Net from "node:net"
import { closedPort, serving } from "../support/http.ts"
import { failing, fieldsOf, outcomeOf, unavailable } from "../support/httpFailures.ts"

/** Makes the error of a client before a response. */
const transportError = (cause: unknown, method: HttpMethod.HttpMethod = "POST") =>
  new HttpClientError.HttpClientError({
    reason: new HttpClientError.TransportError({
      request: HttpClientRequest.make(method)("https://orders.example/"),
      cause
    })
  })

const fault = (code: string, syscall?: string, cause?: unknown) =>
  Object.assign(new Error("Oh.", { cause }), { code }, syscall === undefined ? {} : { syscall })

const lost = "The connection to the service failed before its answer was complete."

describe("a connection", () => {
  it.effect("that is refused means not_executed, whatever the method", () =>
    Effect.gen(function*() {
      const url = `http://127.0.0.1:${closedPort}`
      for (const method of ["GET", "POST"] as const) {
        assert.deepStrictEqual(fieldsOf(yield* failing(url, method)), {
          ...unavailable("connection", true, "not_executed"),
          detail: "The service could not be reached: it refused the connection."
        })
      }
    }))

  it.effect("to an unknown host means not_executed", () =>
    Effect.gen(function*() {
      const failure = yield* failing("http://nowhere.invalid/", "POST")
      assert.deepInclude(fieldsOf(failure), unavailable("connection", true, "not_executed"))
      assert.match(failure.detail, /: (there is no such host|its host name could not be resolved)\.$/)
    }))

  for (
    const [when, break_] of [
      ["before an answer", (response) => response.destroy()],
      ["by a reset", ({ socket }) => void (socket instanceof Net.Socket && socket.resetAndDestroy())],
      ["in the middle of a body of known length", (response) => {
        response.writeHead(200, { "content-length": "100" }).write("{\"orders\":", () => response.destroy())
      }],
      ["in the middle of a body of unknown length", (response) => {
        response.writeHead(200).write("{\"orders\":", () => response.destroy())
      }]
    ] satisfies ReadonlyArray<readonly [string, (response: Http.ServerResponse) => void]>
  ) {
    it.effect(`that is lost ${when} leaves the outcome of a POST unknown, not that of a GET`, () =>
      Effect.gen(function*() {
        const url = yield* serving((_, response) => break_(response))
        assert.deepStrictEqual(fieldsOf(yield* failing(url)), { ...unavailable("connection", true), detail: lost })
        assert.deepStrictEqual(fieldsOf(yield* failing(url, "POST")), {
          ...unavailable("connection", true, "unknown"),
          detail: lost
        })
      }).pipe(Effect.scoped))
  }

  for (
    const [cause, expected, detail] of [
      [fault("ECONNREFUSED"), unavailable("connection", true, "not_executed"), "it refused the connection"],
      [fault("EAI_AGAIN", "getaddrinfo"), unavailable("connection", true, "not_executed"), "could not be resolved"],
      [fault("EHOSTUNREACH", "connect"), unavailable("connection", true, "not_executed"), "no route to its host"],
      [fault("ENETUNREACH"), unavailable("connection", true, "not_executed"), "no route to its network"],
      [
        fault("UND_ERR_CONNECT_TIMEOUT"),
        unavailable("timeout", true, "not_executed"),
        "connecting to it took too long"
      ],
      [fault("ETIMEDOUT", "connect"), unavailable("timeout", true, "not_executed"), "connecting to it took too long"],
      [fault("ERR_TLS_CERT_ALTNAME_INVALID"), unavailable("connection", false, "not_executed"), "not trusted"],
      [fault("DEPTH_ZERO_SELF_SIGNED_CERT"), unavailable("connection", false, "not_executed"), "not trusted"],
      [fault("EHOSTUNREACH", "read"), unavailable("connection", true, "unknown"), lost],
      [fault("ENETUNREACH", "write"), unavailable("connection", true, "unknown"), lost],
      [fault("ECONNRESET", "read"), unavailable("connection", true, "unknown"), lost],
      [fault("EPIPE", "write"), unavailable("connection", true, "unknown"), lost],
      [fault("ETIMEDOUT", "read"), unavailable("timeout", true, "unknown"), "did not answer in time"],
      [fault("ETIMEDOUT"), unavailable("timeout", true, "unknown"), "did not answer in time"],
      [fault("UND_ERR_HEADERS_TIMEOUT"), unavailable("timeout", true, "unknown"), "did not answer in time"],
      [fault("UND_ERR_BODY_TIMEOUT"), unavailable("timeout", true, "unknown"), "did not answer in time"],
      [new Error("What?"), unavailable("connection", true, "unknown"), lost],
      ["What?", unavailable("connection", true, "unknown"), lost],
      [undefined, unavailable("connection", true, "unknown"), lost]
    ] as const
  ) {
    const what = cause instanceof Error ? JSON.stringify({ ...cause }) : String(cause)
    it.effect(`is recognized by the system's error at any depth: ${what}`, () =>
      Effect.gen(function*() {
        const causes = [cause, new TypeError("fetch failed", { cause }), new AggregateError([cause, cause])]
        for (const cause of causes) {
          const failure = yield* HttpFailure.fromError(transportError(cause))
          assert.deepInclude(fieldsOf(failure), expected)
          assert.include(failure.detail, detail)
        }
        const safe = yield* HttpFailure.fromError(transportError(cause, "GET"))
        assert.strictEqual(outcomeOf(safe), expected.outcome === "unknown" ? undefined : expected.outcome)
      }))
  }

  it.effect("that succeeded in one of several attempts counts as made", () =>
    Effect.gen(function*() {
      const outcome = (...errors: ReadonlyArray<unknown>) =>
        Effect.map(
          HttpFailure.fromError(transportError(Object.assign(new AggregateError(errors), { code: "ECONNREFUSED" }))),
          outcomeOf
        )
      assert.strictEqual(yield* outcome(fault("ECONNREFUSED"), fault("ECONNRESET", "read")), "unknown")
      assert.strictEqual(yield* outcome(fault("ECONNREFUSED"), fault("ETIMEDOUT", "connect")), "not_executed")
      assert.strictEqual(yield* outcome(), "not_executed")
    }))

  it.effect("survives a circular cause", () =>
    Effect.gen(function*() {
      const cause: Error & { cause?: unknown } = new Error("Oh.")
      cause.cause = cause
      assert.strictEqual((yield* HttpFailure.fromError(transportError(cause))).detail, lost)
    }))
})
