import { assert, describe, it } from "@effect/vitest"
import { Dispatch, type Toolkit } from "@fallible/core"
import * as Rendering from "@fallible/core/Rendering"
import * as OrderServer from "@fallible/examples/05-orders-agent/OrderServer"
import * as Planner from "@fallible/examples/05-orders-agent/Planner"
import { program } from "@fallible/examples/05-orders-agent/program"
import { plainToolkit, toolkit } from "@fallible/examples/05-orders-agent/tools"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import { Effect, Logger } from "effect"
import { FetchHttpClient } from "effect/http"
import * as InProcess from "../support/inProcess.ts"

const wires = [
  ["Ollama", (url: string) => ({ OLLAMA_HOST: url })],
  ["Chat Completions", (url: string) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: "qwen3" })]
] as const

/** Runs the example over HTTP, and returns its last line and the number of requests to the model. */
const played = (env: (url: string) => Readonly<Record<string, string>>, ...args: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const server = yield* FakeModelServer.make((request) => Planner.reply(request))
    const { code, stdout } = yield* InProcess.runIn(env(server.url), program, "--json", ...args)
    const last = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "")
    const report = last.answer?.report ?? last.report
    return {
      code,
      text: last.answer?.text ?? last.failure,
      replies: (yield* server.state).replies,
      calls: report.calls,
      failures: report.failures.map((entry: { readonly code: string }) => entry.code)
    }
  }).pipe(Effect.scoped)

const all = "c-17 has 64 orders, 16 of them open. They cost 664.00 in all."

for (const [wire, env] of wires) {
  describe(`the orders agent over ${wire}`, () => {
    it.live("without guards, makes the same call 17 times, and has no answer", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* played(env, "--plain", "--max-turns", "17"), {
          code: 1,
          text: "LimitReached",
          replies: 17,
          calls: 17,
          failures: []
        })
      }))

    it.live("makes the call that is cut off once, asks for less, and follows the pages", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* played(env), {
          code: 0,
          text: all,
          replies: 6,
          calls: 5,
          failures: ["truncated", "more_pages", "more_pages", "more_pages"]
        })
      }))

    it.live("is told that a name is no id, looks it up, and goes on with the next page", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* played(env, "--upstream", "up", "What did Ada Rowe spend?"), {
          code: 0,
          text: all,
          replies: 5,
          calls: 4,
          failures: ["empty_result", "more_pages"]
        })
      }))

    it.live("gives its answer as data with --typed, by one call of final_answer", () =>
      Effect.gen(function*() {
        const { text, ...end } = yield* played(env, "--upstream", "up", "--typed")
        assert.deepStrictEqual(JSON.parse(text), { customer: "c-17", orders: 64, open: 16, total: 664 })
        assert.deepStrictEqual(end, { code: 0, replies: 3, calls: 3, failures: ["more_pages"] })
      }))

    it.live("has no typed answer if the service answers with nonsense", () =>
      Effect.gen(function*() {
        const { code, text } = yield* played(env, "--upstream", "empty", "--typed")
        assert.deepStrictEqual([code, text], [1, "OutputRefused"])
      }))

    it.live("asks once what is answered with nonsense, and says why it has no answer", () =>
      Effect.gen(function*() {
        const codes = {
          mixed: "foreign_orders",
          nonsense: "invariant_broken",
          empty: "empty_first_page",
          renamed: "invalid_result",
          page: "invalid_json"
        }
        for (const [state, code] of Object.entries(codes)) {
          const { failures, replies, text } = yield* played(env, "--upstream", state)
          assert.deepStrictEqual(failures, [code])
          assert.strictEqual(replies, 2)
          assert.match(text, /^I have no answer\. The (result|order service) /)
        }
      }))
  })
}

describe("the command of the orders agent", () => {
  it.live("fetches all pages in one call with --all-pages", () =>
    Effect.gen(function*() {
      const { code, stdout } = yield* InProcess.run(program, "--upstream", "up", "--all-pages")
      assert.strictEqual(code, 0)
      assert.match(stdout, /^ {2}page {5}search_orders \{"customer":"c-17"\} {2}fetches the next page$/m)
      assert.include(stdout, all)
      assert.match(stdout, /^2 turns, 1 call, 0 failures/m)
    }))

  it.live("asks for less and fetches all pages of that, if a page is cut off", () =>
    Effect.gen(function*() {
      const { stdout } = yield* InProcess.run(program, "--all-pages")
      assert.match(stdout, /^ {2}ok {7}search_orders \{"customer":"c-17","limit":20\} {2}4 attempts/m)
      assert.include(stdout, all)
      assert.match(stdout, /^3 turns, 2 calls, 1 failure/m)
    }))

  it.live("refuses --all-pages beside --plain in one line, with exit code 1", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* InProcess.run(program, "--all-pages", "--plain"), {
        code: 1,
        stdout: "",
        stderr: "--plain follows no pages: leave it out, or --all-pages.\n"
      })
    }))

  it.live("shows with --show-messages that each failure is short, has a code, and shows no stack, path or address", () =>
    Effect.gen(function*() {
      for (const state of OrderServer.states) {
        const { stdout } = yield* InProcess.run(program, "--upstream", state, "--json", "--show-messages")
        const told = stdout.trimEnd().split("\n").flatMap((line) => {
          const event: { readonly _tag: string; readonly text?: string } = JSON.parse(line)
          return event._tag === "MessageSent" ? [event.text ?? ""] : []
        })
        assert.isAbove(told.length, 0, state)
        for (const text of told) {
          const { code, data, detail, ok, retry } = JSON.parse(text)
          if (ok !== false) continue
          assert.match(code, /^[a-z_]+$/)
          assert.isString(retry)
          assert.isBelow(detail.length, 300)
          if (data === undefined) assert.isBelow(text.length, 700)
          assert.notMatch(text, /\bat \S+:\d+|\.ts\b|127\.0\.0\.1|Error:|node_modules/)
        }
      }
    }))
})

type Tools = ToolsOf<typeof toolkit> | ToolsOf<typeof plainToolkit>
type ToolsOf<K> = K extends Toolkit.Toolkit<infer T> ? T : never

/** Runs one call of the guarded search against the service, and returns what the model reads. */
const read = (state: OrderServer.State, args: object, tools: typeof toolkit | typeof plainToolkit = toolkit) =>
  Effect.gen(function*() {
    const call = { id: "1", name: "search_orders", arguments: JSON.stringify(args) }
    const outcome = yield* Dispatch.call<Tools>(tools, call)
    const { asked } = yield* OrderServer.OrderServer
    return { text: Rendering.json(outcome, call), requests: (yield* asked).length }
  }).pipe(
    Effect.provide([OrderServer.layer(state), FetchHttpClient.layer]),
    Effect.provide(Logger.layer([]))
  )

const message = (state: OrderServer.State, args: object) =>
  Effect.map(read(state, args), ({ requests, text }) => {
    assert.strictEqual(requests, state === "down" ? 0 : 1, "the service is asked once")
    return JSON.parse(text)
  })

describe("a guard of the orders agent says, in a short message with a code,", () => {
  it.live("that the text is cut off, and to ask for less", () =>
    Effect.gen(function*() {
      const { detail, ...message1 } = yield* message("cut", { customer: "c-17" })
      assert.match(detail, /cut off/)
      assert.deepStrictEqual(message1, {
        ok: false,
        error: "SchemaMismatch",
        code: "truncated",
        hint: "Call it again with a smaller 'limit'.",
        retry:
          "Do not repeat this call with the same arguments: its result was cut off. Ask for less, or tell the user what is missing."
      })
    }))

  it.live("that the text is not JSON", () =>
    Effect.gen(function*() {
      const { code, error, retry } = yield* message("page", { customer: "c-17" })
      assert.deepStrictEqual([error, code], ["SchemaMismatch", "invalid_json"])
      assert.strictEqual(
        retry,
        "Do not repeat this call: the tool returned an invalid result. Use another tool, or tell the user what is missing."
      )
    }))

  it.live("which field breaks the schema", () =>
    Effect.gen(function*() {
      const { code, detail } = yield* message("renamed", { customer: "c-17" })
      assert.strictEqual(code, "invalid_result")
      assert.include(detail, "orders.0.status: expected \"open\" | \"sent\" | \"returned\", got \"DISPATCHED_V2\"")
    }))

  it.live("which rule the result breaks, by a code for each rule", () =>
    Effect.gen(function*() {
      const broken = yield* Effect.forEach(
        ["mixed", "nonsense", "empty"] as const,
        (state) =>
          Effect.map(message(state, { customer: "c-17" }), ({ code, detail, error }) => `${error} ${code}: ${detail}`)
      )
      assert.deepStrictEqual(broken, [
        "SemanticGarbage foreign_orders: The order service answered with orders of another customer.",
        "SchemaMismatch invariant_broken: The result of search_orders is wrong: it breaks the rule " +
        "'the total counts at least the orders of the page'.",
        "SemanticGarbage empty_first_page: The order service counts 64 orders, but its first page has none."
      ])
    }))

  it.live("what an empty first page means; an empty later page means nothing", () =>
    Effect.gen(function*() {
      const { code, detail, error, hint } = yield* message("up", { customer: "Ada Rowe" })
      assert.deepStrictEqual({ code, detail, error, hint }, {
        error: "SemanticGarbage",
        code: "empty_result",
        detail: "This customer has no orders.",
        hint: "If you sent a name, look up its id with find_customer."
      })
      const { text } = yield* read("up", { customer: "c-23", page: 2 })
      assert.deepInclude(JSON.parse(text), { orders: [], total: 3 })
    }))

  it.live("which page comes next", () =>
    Effect.gen(function*() {
      const { code, error, next, retry } = yield* message("up", { customer: "c-17", limit: 20 })
      assert.deepStrictEqual([error, code], ["PartialData", "more_pages"])
      assert.deepStrictEqual(next, { customer: "c-17", limit: 20, page: 2 })
      assert.strictEqual(
        retry,
        "Use the data that you have, or call search_orders again with customer=\"c-17\", page=2, limit=20 to continue."
      )
    }))

  it.live("that the service is down, after three attempts", () =>
    Effect.gen(function*() {
      const { code, error, retry } = yield* message("down", { customer: "c-17" })
      assert.deepStrictEqual([error, code], ["ToolUnavailable", "connection"])
      assert.match(retry, /^Already tried 3 times\./)
    }))

  it.live("which the plain search does not: it returns what it got", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        (yield* read("cut", { customer: "c-17" }, plainToolkit)).text,
        "\"Error: the tool returned invalid JSON\""
      )
      assert.include((yield* read("mixed", { customer: "c-17" }, plainToolkit)).text, "c-23")
    }))
})
