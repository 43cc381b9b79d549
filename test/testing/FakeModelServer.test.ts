/** The fake server, tested by a client that makes mistakes. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect } from "effect"

const hello = ScriptedModel.text("Hello.")
const paths = { openai: "/v1/chat/completions", ollama: "/api/chat" }

interface Answered {
  readonly status: number
  readonly body: string
}

const post = (url: string, body: unknown, headers: Record<string, string> = {}): Effect.Effect<Answered> =>
  Effect.promise(async () => {
    const text = typeof body === "string" ? body : JSON.stringify(body)
    const response = await fetch(url, { method: "POST", body: text, headers })
    return { status: response.status, body: await response.text() }
  })

const user = { role: "user", content: "Hello?" }
const call = (format: keyof typeof paths, id: string, name = "ping") => ({
  id,
  type: "function",
  function: { name, arguments: format === "openai" ? "{}" : {} }
})
const calling = (format: keyof typeof paths, ...ids: ReadonlyArray<string>) => ({
  role: "assistant",
  content: "",
  tool_calls: ids.map((id) => call(format, id))
})
const result = (id: string) => ({ role: "tool", tool_call_id: id, tool_name: "ping", content: "pong" })

describe("FakeModelServer", () => {
  for (const format of ["openai", "ollama"] as const) {
    const sendRequest = (fields: object, options?: FakeModelServer.Options) =>
      Effect.gen(function*() {
        const server = yield* FakeModelServer.make([hello], options)
        const answered = yield* post(`${server.url}${paths[format]}`, { model: "any", stream: false, ...fields })
        const { replies, requests } = yield* server.state
        assert.strictEqual(requests.length, 1)
        assert.strictEqual(requests[0]?.problem === undefined, answered.status === 200)
        assert.strictEqual(replies, answered.status === 200 ? 1 : 0)
        return answered
      }).pipe(Effect.scoped)

    describe(`as ${format}`, () => {
      it.live("accepts a valid conversation", () =>
        Effect.gen(function*() {
          const messages = [user, calling(format, "1", "2"), result("2"), result("1"), {
            role: "assistant",
            content: "."
          }, user]
          const { body, status } = yield* sendRequest({ messages })
          assert.strictEqual(status, 200)
          assert.include(body, "Hello.")
        }))

      for (
        const [what, messages, says] of [
          [
            "a call without its result",
            [user, calling(format, "1", "2"), result("1"), user],
            /the calls 2 have no result/
          ],
          ["a call without its result at the end", [user, calling(format, "1")], /the calls 1 have no result/],
          ["a result without its call", [user, result("1")], /the result of '1' answers no call/],
          [
            "a second result",
            [user, calling(format, "1"), result("1"), result("1")],
            /the result of '1' answers no call/
          ],
          ["two calls of one id", [user, calling(format, "1", "1"), result("1")], /two calls have the id '1'/],
          ["an empty list of calls", [user, { role: "assistant", content: ".", tool_calls: [] }], /tool_calls/],
          [
            "a name that is none",
            [user, { role: "assistant", content: "", tool_calls: [call(format, "1", "a b")] }],
            /name/
          ],
          ["a role that nobody has", [{ role: "wizard", content: "Hello?" }], /messages/],
          ["no messages", [], /messages/],
          ["a content of nothing", [{ role: "user", content: null }], /content/]
        ] as const
      ) {
        it.live(`refuses ${what}, with 400 and a reason`, () =>
          Effect.gen(function*() {
            const { body, status } = yield* sendRequest({ messages })
            assert.strictEqual(status, 400)
            assert.match(body, says)
          }))
      }

      it.live("refuses arguments in the other format's form", () =>
        Effect.gen(function*() {
          const other = format === "openai" ? "ollama" : "openai"
          const { body, status } = yield* sendRequest({ messages: [user, calling(other, "1"), result("1")] })
          assert.strictEqual(status, 400)
          assert.match(body, /arguments/)
        }))

      it.live("refuses a body that is not JSON or is too large", () =>
        Effect.gen(function*() {
          const server = yield* FakeModelServer.make([hello], { maxBytes: 1000 })
          const url = `${server.url}${paths[format]}`
          assert.strictEqual((yield* post(url, "{")).status, 400)
          assert.strictEqual((yield* post(url, "x".repeat(1001))).status, 413)
          assert.strictEqual((yield* server.state).requests.length, 2)
        }).pipe(Effect.scoped))

      it.live("demands its key, and quotes a wrong one, as careless servers do", () =>
        Effect.gen(function*() {
          const server = yield* FakeModelServer.make([hello], { apiKey: "right" })
          const asking = (key: string) =>
            post(`${server.url}${paths[format]}`, { model: "any", messages: [user], stream: false }, {
              authorization: `Bearer ${key}`
            })
          const denied = yield* asking("wrong")
          assert.strictEqual(denied.status, 401)
          assert.match(denied.body, /Incorrect API key provided: wrong/)
          assert.strictEqual((yield* asking("right")).status, 200)
        }).pipe(Effect.scoped))

      for (
        const [what, script, says] of [
          ["throws", () => assert.fail("Oh no."), /The script failed: .*Oh no\./],
          ["dies", [Effect.die("Oh no.")], /The script failed: Oh no\./],
          ["interrupts itself", [Effect.interrupt], /The script failed/],
          ["returns a promise", (async () => hello) as never, /The script returned a promise: return a reply/],
          [
            "hides a promise",
            [Effect.flatMap(Effect.void, (async () => hello) as never)] as never,
            /Not a valid effect/
          ],
          [
            "says what cannot be written",
            [{ ...hello, native: { openai: { n: 1n }, ollama: { n: 1n } } } as never],
            /BigInt/
          ],
          ["is used up", [], /The script has 0 moves, and the model was asked once more/]
        ] as const
      ) {
        it.live(`reports that its script ${what}, and answers at once`, () =>
          Effect.gen(function*() {
            const server = yield* FakeModelServer.make(script)
            const { body, status } = yield* post(`${server.url}${paths[format]}`, { model: "any", messages: [user] })
            assert.strictEqual(status, 501)
            assert.match(body, says)
          }).pipe(Effect.scoped))
      }
    })
  }

  it.live("refuses invalid options", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make([hello])
      for (
        const fields of [{ temperature: 9 }, { max_tokens: 0 }, { tool_choice: "auto" }, {
          tools: [{ type: "function", function: { name: "ping", description: "", parameters: {} } }],
          tool_choice: { type: "function", function: { name: "pong" } }
        }]
      ) {
        const { status } = yield* post(`${server.url}${paths.openai}`, { model: "any", messages: [user], ...fields })
        assert.strictEqual(status, 400, JSON.stringify(fields))
      }
    }).pipe(Effect.scoped))

  it.live("has no other endpoint, and records requests for one", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make([hello])
      assert.strictEqual((yield* post(`${server.url}/chat/completions?x=1`, {})).status, 404)
      const { requests } = yield* server.state
      assert.deepInclude(requests[0], { url: "/chat/completions?x=1", problem: "There is no such endpoint." })
    }).pipe(Effect.scoped))

  it.live("stays down as long as requested, then returns at the same address", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make([hello])
      const asking = Effect.promise(() => fetch(server.url).then(() => "there", () => "gone"))
      assert.strictEqual(yield* server.whileDown(asking), "gone")
      assert.strictEqual(yield* asking, "there")
    }).pipe(Effect.scoped))

  it.live("streams only if the request asks for it", () =>
    Effect.gen(function*() {
      const server = yield* FakeModelServer.make(() => ({ ...hello, usage: { inputTokens: 1, outputTokens: 2 } }))
      const asking = (fields: object) =>
        post(`${server.url}${paths.openai}`, { model: "any", messages: [user], stream: true, ...fields })
      assert.notInclude((yield* asking({})).body, "prompt_tokens")
      assert.include((yield* asking({ stream_options: { include_usage: true } })).body, "\"prompt_tokens\":1")
    }).pipe(Effect.scoped))
})
