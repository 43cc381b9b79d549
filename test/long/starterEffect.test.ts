/**
 * Checks the starter for Effect with the packages of this repository, and the guide that quotes it. `pack-all` checks it
 * outside, with the packed ones.
 *
 * @module-tag slow
 */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { HttpStub, ScriptedModel } from "@fallible/testing"
import * as FakeModelServer from "@fallible/testing/FakeModelServer"
import * as HttpStubServer from "@fallible/testing/HttpStubServer"
import { Effect, Exit, Fiber } from "effect"
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { environment, root, runNode } from "../support/program.ts"
import { quotedBy, snippetsIn } from "../support/snippets.ts"

const guide = readFileSync(join(root, "docs/effect-backend.md"), "utf8")
const [printed = "", traced = ""] = Array.from(guide.matchAll(/^```text\n([\s\S]*?)^```$/gm), ([, block = ""]) => block)

/** A copy in which the packages of this repository are found. */
const folder = join(root, "test/.scratch/starter-effect")

beforeAll(() => {
  rmSync(folder, { recursive: true, force: true })
  cpSync(join(root, "starters/effect"), folder, { recursive: true })
})

it("compiles", () => {
  const references = ["core", "providers", "testing"].map((name) => ({ path: join(root, "packages", name) }))
  const project = join(folder, "tsconfig.built.json")
  writeFileSync(project, JSON.stringify({ extends: "./tsconfig.json", references }))
  const compiler = join(root, "node_modules/typescript/bin/tsc")
  const compile = (...args: ReadonlyArray<string>) =>
    spawnSync(process.execPath, [compiler, ...args], { cwd: root, encoding: "utf8" }).stdout
  assert.strictEqual(compile("-b", ...references.map(({ path }) => path)) + compile("-p", project), "")
})

it.live("passes its own tests", () =>
  Effect.gen(function*() {
    const { code, stdout } = yield* runNode("--test", join(folder, "test/*.test.ts"))
    assert.strictEqual(code, 0, stdout)
    assert.match(stdout, /pass 3\n/)
  }))

/** A port that is free: the settings of a backend name one. */
const freePort = Effect.callback<number>((resume) => {
  const server = createServer().listen(0, () => {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** Starts `src/main.ts` as a process. */
const start = (env: Readonly<Record<string, string>>) =>
  Effect.gen(function*() {
    const port = yield* freePort
    const { child, ended } = yield* Effect.acquireRelease(
      Effect.callback<{ readonly child: ChildProcess; readonly ended: Promise<unknown> }>((resume) => {
        const options = { cwd: folder, env: environment({ ...env, PORT: `${port}` }) }
        const child = spawn(process.execPath, ["src/main.ts"], { ...options, stdio: ["ignore", "pipe", "ignore"] })
        const ended = once(child, "close")
        let output = ""
        child.stdout.on("data", (chunk: Buffer) => {
          output += chunk.toString("utf8")
          if (output.includes("Listening")) resume(Effect.succeed({ child, ended }))
        })
        child.once("close", () => resume(Effect.die(new Error(output))))
      }),
      ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
    )
    return {
      ask: Effect.tryPromise(async () => {
        const body = JSON.stringify({ question: "Charge order 7." })
        const headers = { "content-type": "application/json" }
        const response = await fetch(`http://127.0.0.1:${port}/conversations/ada`, { method: "POST", headers, body })
        return await response.text()
      }),
      stop: (signal: "SIGINT" | "SIGKILL") =>
        Effect.promise(async () => {
          child.kill(signal)
          await ended
        })
    }
  })

interface Span {
  readonly name: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly startTimeUnixNano: string
  readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: { readonly stringValue?: string } }>
  readonly status: { readonly code: number }
}

const spansIn = (body: string): ReadonlyArray<Span> => {
  const { resourceSpans }: {
    readonly resourceSpans: ReadonlyArray<
      { readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<Span> }> }
    >
  } = JSON.parse(body)
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
}

/** A span and those below it, a line each. */
const treeOf = (span: Span, spans: ReadonlyArray<Span>, indent = ""): string => {
  const valueOf = (wanted: string) => span.attributes.find(({ key }) => key === wanted)?.value.stringValue
  const what = valueOf("url.path") ?? valueOf("db.query.text")?.split(" ")[0]
  const line = `${indent}${span.name}${what === undefined ? "" : ` ${what}`}${
    span.status.code === 2 ? " (failed)" : ""
  }`
  const below = spans.filter(({ parentSpanId }) => parentSpanId === span.spanId)
  return [`${line}\n`, ...below.map((child) => treeOf(child, spans, `${indent}  `))].join("")
}

it.live("charges once, if its process is killed during the charge, and again after it", () =>
  Effect.gen(function*() {
    const keys = new Set<string>()
    const payments = yield* HttpStubServer.make(({ headers }, index) => {
      keys.add(headers["idempotency-key"] ?? "")
      return index === 0 ? Effect.never : HttpStub.json({ receipt: "R-1", cents: 2490 })
    })
    const model = yield* FakeModelServer.make(({ messages }) =>
      messages.at(-1)?.role === "tool" ? ScriptedModel.text("Done.") : ScriptedModel.call("charge", { order: "7" })
    )
    const env = {
      DATABASE: join(folder, "killed.db"),
      PAYMENTS_URL: payments.url,
      OLLAMA_HOST: model.url,
      OLLAMA_MODEL: "played"
    }
    const first = yield* start(env)
    const lost = yield* Effect.forkChild(Effect.exit(first.ask))
    yield* payments.until(({ requests }) => requests.length === 1)
    yield* first.stop("SIGKILL")
    assert.isTrue(Exit.isFailure(yield* Fiber.join(lost)))

    const second = yield* start(env)
    assert.include(yield* second.ask, "\"outcome\":\"completed\"")
    yield* second.stop("SIGKILL")

    const third = yield* start(env)
    assert.include(yield* third.ask, "\"code\":\"already_done\"")
    assert.lengthOf((yield* payments.state).requests, 2)
    assert.strictEqual(keys.size, 1)
  }).pipe(Effect.scoped))

describe("the guide", () => {
  it("has at most 2,000 words, with its code", () => {
    assert.isAtMost(guide.trim().split(/\s+/).length, 2000)
  })

  it("quotes the starter", () => {
    const quotes = snippetsIn("docs/effect-backend.md", guide).flatMap(({ at, code }) => {
      const file = quotedBy(code)
      return file === undefined ? [] : [{ at, file, quote: code.slice(code.indexOf("\n") + 1) }]
    })
    assert.isAbove(quotes.length, 5)
    for (const { at, file, quote } of quotes) assert.include(readFileSync(join(root, file), "utf8"), quote, at)
  })

  it.live("shows what the starter prints", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* runNode(join(folder, "play/main.ts"))
      assert.deepStrictEqual([code, stderr.replace(/^.*ExperimentalWarning[\s\S]*$/, "")], [0, ""])
      const [shown = "", advice] = stdout.split(/(?<=Charges: 1\.\n)/)
      assert.strictEqual(shown, printed)
      assert.match(advice ?? "", /^The model was played\./)
    }))

  it.live("shows the trace of the backend, which also sends metrics", () =>
    Effect.gen(function*() {
      const payments = yield* HttpStubServer.make([HttpStub.reset, HttpStub.json({ receipt: "R-1", cents: 2490 })])
      const model = yield* FakeModelServer.make([
        ScriptedModel.call("charge", { order: "7" }),
        ScriptedModel.text("Order 7 is charged.")
      ])
      const collector = yield* HttpStubServer.make(() => HttpStub.json({}))
      const backend = yield* start({
        DATABASE: ":memory:",
        PAYMENTS_URL: payments.url,
        OLLAMA_HOST: model.url,
        OLLAMA_MODEL: "played",
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_TRACES_EXPORTER: "otlp",
        OTEL_METRICS_EXPORTER: "otlp"
      })
      assert.include(yield* backend.ask, "Order 7 is charged.")
      yield* backend.stop("SIGINT") // it sends what it has
      const { requests } = yield* collector.state
      const bodiesOf = (signal: string) => requests.flatMap(({ body, path }) => path === `/v1/${signal}` ? [body] : [])
      assert.include(bodiesOf("metrics").join(), "agent.calls")
      const spans = bodiesOf("traces").flatMap(spansIn).toSorted((one, other) =>
        Number(BigInt(one.startTimeUnixNano) - BigInt(other.startTimeUnixNano))
      )
      const question = spans.find(({ name, parentSpanId }) => parentSpanId === undefined && name === "POST")
      assert.strictEqual(question && treeOf(question, spans), traced)
    }).pipe(Effect.scoped))
})
