/** Keys and passwords: their sources, their use in requests, and that they appear nowhere else. */
import { assert, describe, it } from "@effect/vitest"
import { type Model, ModelFailure } from "@fallible/core"
import { Ollama, OpenAi } from "@fallible/providers"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Cause, Effect, Redacted, Schedule, Tracer } from "effect"
import { FetchHttpClient, HttpClient, HttpClientError } from "effect/http"
import { inspect } from "node:util"
import { atOnce, ollama, openAi, serving } from "../support/models.ts"
import { brokenOff, hello, parts, respond } from "../support/question.ts"
import { recordingTracer, toldBy } from "../support/spans.ts"

describe("a key", () => {
  const key = "sk-proj-0123456789abcdef"

  it.effect("is sent, and a missing key fails with advice", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make([hello, hello], { apiKey: key })
      const asking = (layer: ReturnType<typeof openAi>) =>
        respond.pipe(Effect.provide(layer), Effect.provide(FetchHttpClient.layer))
      const url = `${server.url}/v1`
      const padded = OpenAi.layer({ model: "any", baseUrl: url, apiKey: Redacted.make(` ${key}\n`) })
      assert.strictEqual((yield* asking(padded)).text, "Hello.")
      assert.strictEqual((yield* asking(ollama(server.url, { apiKey: key }))).text, "Hello.")
      for (const provider of [openAi, ollama]) {
        const denied = yield* Effect.flip(asking(provider(server.url, {})))
        assert.deepInclude({ ...denied }, { code: "permission_denied", status: 401, transient: false })
        assert.match(denied.hint!, /^Check the key \((OPENAI|OLLAMA)_API_KEY\)/)
      }
    }).pipe(Effect.scoped))

  it("that fits no header is refused at once, without quoting it", () => {
    const apiKey = Redacted.make("sk-proj-0123\n456789")
    const exit = Effect.runSyncExit(
      OpenAi.make({ model: "any", apiKey }).pipe(Effect.provide(FetchHttpClient.layer))
    )
    assert.match(String(exit), /TypeError: Expected a key of letters, digits and punctuation/)
    assert.notInclude(String(exit), "0123")
  })

  it.effect("is not read from the user and password of an address, which become their own header", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make([hello])
      const baseUrl = `${server.url.replace("//", "//ann:s%40cret-word@")}/v1/?team=blue-and-green`
      const asked = respond.pipe(
        Effect.provide(OpenAi.layer({ model: "any", baseUrl })),
        Effect.provide(FetchHttpClient.layer)
      )
      assert.strictEqual((yield* asked).text, "Hello.")
      const [received] = (yield* server.state).requests
      assert.strictEqual(received?.headers["authorization"], `Basic ${btoa("ann:s@cret-word")}`)
      yield* server.whileDown(Effect.gen(function*() {
        const failure = yield* Effect.flip(atOnce(asked))
        assert.notMatch(JSON.stringify(failure), /ann|cret-word|blue/)
      }))
    }).pipe(Effect.scoped))

  for (
    const [address, header] of [
      ["http://:token-alone@10.0.0.7", `Basic ${btoa(":token-alone")}`],
      ["http://ann:50%off@10.0.0.7", `Basic ${btoa("ann:50%off")}`],
      ["http://ann:p%E2%82%AC@10.0.0.7", "Basic YW5uOnDigqw="]
    ] as const
  ) {
    it.effect(`may be a password, as in ${address}`, () =>
      Effect.gen(function*() {
        let sent: string | undefined
        const client = HttpClient.make((request) => {
          sent = request.headers["authorization"]
          return Effect.fail(
            new HttpClientError.HttpClientError({ reason: new HttpClientError.EncodeError({ request }) })
          )
        })
        yield* Effect.flip(respond).pipe(
          Effect.provide(ollama(address, {})),
          Effect.provideService(HttpClient.HttpClient, client)
        )
        assert.strictEqual(sent, header)
      }))
  }

  it.effect("is hidden in any encoding in a server's messages, like passwords and query values", () =>
    Effect.gen(function*() {
      const key = "sk/proj+01\"23=456789"
      // The query's value begins with the password. Hiding the shorter must not reveal the rest of the longer.
      const secrets = [key, "pass/word+1", "pass/word+1-and-more", btoa("ann:pass/word+1")]
      const forms = secrets.flatMap((secret) => [
        secret,
        encodeURIComponent(secret),
        encodeURIComponent(secret).toLowerCase(),
        secret.replaceAll("/", "\\/").replaceAll("\"", "\\\"")
      ])
      const server = yield* FakeModelServer.make(() =>
        FakeModelServer.raw(`<p>${forms.join("</p><p>")}</p>`, { status: 400 })
      )
      const query = `?api-key=${encodeURIComponent("pass/word+1-and-more")}&api-version=1`
      const { spans, tracer } = recordingTracer()
      for (const apiKey of [{}, { apiKey: Redacted.make(key) }]) {
        const address = server.url.replace("//", `//ann:${encodeURIComponent("pass/word+1")}@`)
        const layer = OpenAi.layer({ model: "any", baseUrl: `${address}/v1${query}`, ...apiKey })
        const failure = yield* Effect.flip(respond).pipe(
          Effect.provide(layer),
          Effect.provide(FetchHttpClient.layer),
          Effect.provideService(Tracer.Tracer, tracer)
        )
        const hiddenForms = forms.filter((form) => "apiKey" in apiKey || !form.startsWith("sk"))
        assert.deepStrictEqual(hiddenForms.filter((form) => failure.detail.includes(form)), [])
        assert.include(failure.detail, "<redacted>")
        assert.notInclude(failure.detail, "-and-more")
      }
      assert.strictEqual(spans.length, 2)
      for (const { attributes } of spans) {
        const shown = JSON.stringify(Array.from(attributes))
        assert.deepStrictEqual(forms.filter((form) => shown.includes(form)), [])
      }
    }).pipe(Effect.scoped))

  const addressed = [
    [
      "Chat Completions",
      (address: string, query: string) =>
        OpenAi.layer({ model: "any", baseUrl: `${address}/v1${query}`, retry: Schedule.recurs(0) })
    ],
    [
      "Ollama",
      (address: string, query: string) =>
        Ollama.layer({ model: "any", host: address + query, retry: Schedule.recurs(0) })
    ]
  ] as const
  for (const [name, layer] of addressed) {
    it.effect(`in an address appears in no client span and no failure, whatever the result, over ${name}`, () =>
      Effect.gen(function*() {
        const secrets = ["s%cret w~rd", "key in a query!", btoa("ann:s%cret w~rd")]
        const forms = secrets.flatMap((text) => [
          text,
          encodeURIComponent(text),
          new URLSearchParams({ text }).toString().slice("text=".length)
        ])
        const server = yield* FakeModelServer.make([
          hello,
          hello,
          FakeModelServer.raw(forms.join(" "), { status: 401 }),
          FakeModelServer.raw(forms.join(" "), { status: 401 }),
          new ModelFailure({ code: "connection", detail: "", transient: true }),
          brokenOff,
          FakeModelServer.raw("<html>Hello.</html>")
        ])
        const { spans, tracer } = recordingTracer()
        const address = server.url.replace("//", `//ann:${encodeURIComponent("s%cret w~rd")}@`)
        const query = `?api-key=${encodeURIComponent("key in a query!")}&api-version=1`
        const failures: Array<string> = []
        const ask = <A>(effect: Effect.Effect<A, ModelFailure, Model.Model>) =>
          Effect.match(effect, {
            onSuccess: () => {},
            onFailure: (failure) => {
              failures.push(inspect(failure, { depth: Infinity, showHidden: true }), Cause.pretty(Cause.fail(failure)))
            }
          }).pipe(
            Effect.provide(layer(address, query)),
            Effect.provide(FetchHttpClient.layer),
            Effect.provideService(Tracer.Tracer, tracer)
          )
        for (const effect of [respond, parts, respond, parts, respond, parts, respond]) yield* ask<unknown>(effect)
        yield* server.whileDown(ask(respond))

        const { requests } = yield* server.state
        for (const { headers, url } of requests) {
          assert.strictEqual(headers["authorization"], `Basic ${secrets[2]}`)
          const sent = new URL(url, server.url).searchParams
          assert.deepStrictEqual(Array.from(sent), [["api-key", "key in a query!"], ["api-version", "1"]])
        }
        assert.deepStrictEqual([requests.length, spans.length, failures.length], [7, 8, 12])
        assert.isTrue(failures.some((text) => text.includes(`Check the base URL: requests went to ${server.url}/`)))
        for (const span of spans) {
          assert.strictEqual(span.attributes.get("url.query"), "api-key=REDACTED&api-version=REDACTED")
          failures.push(toldBy(span))
        }
        assert.deepStrictEqual(forms.filter((form) => failures.some((text) => text.includes(form))), [])
      }).pipe(Effect.scoped))
  }

  it.effect("may be a bare word in a query, and then there is no span", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make([
        FakeModelServer.raw("Unknown user sk-live-0123456789", { status: 403 })
      ])
      const { spans, tracer } = recordingTracer()
      const failure = yield* Effect.flip(respond).pipe(
        Effect.provide(OpenAi.layer({ model: "any", baseUrl: `${server.url}/v1?sk-live-0123456789` })),
        Effect.provide(FetchHttpClient.layer),
        Effect.provideService(Tracer.Tracer, tracer)
      )
      assert.match((yield* server.state).requests[0]!.url, /\?sk-live-0123456789=?$/)
      assert.include(failure.detail, "Unknown user <redacted>")
      assert.deepStrictEqual(spans, [])
    }).pipe(Effect.scoped))

  it.effect("may be the user name of an address, without a password", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make([
        FakeModelServer.raw("Unknown user sk-live-0123456789", { status: 403 })
      ])
      const failure = yield* Effect.flip(respond).pipe(
        Effect.provide(ollama(server.url.replace("//", "//sk-live-0123456789@"), {})),
        Effect.provide(FetchHttpClient.layer)
      )
      assert.include(failure.detail, "Unknown user <redacted>")
    }).pipe(Effect.scoped))

  it.effect("that is short is not hidden, because it occurs in many texts by chance", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(respond)
      assert.include(failure.detail, "get it with ollama pull")
    }).pipe(Effect.provide(
      serving(ollama)(
        [FakeModelServer.raw("get it with ollama pull", { status: 400 })],
        { settings: { apiKey: "ollama" } }
      )
    )))
})
