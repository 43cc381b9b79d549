/**
 * The package as in a browser: bundled and minified, in a worker with only the globals of ECMAScript.
 *
 * @module-tag slow
 */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { decode, fit, type Json, type JsonSchema } from "@fallible/arguments"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { runInNewContext } from "node:vm"
import { Worker } from "node:worker_threads"
import { gzipSync } from "node:zlib"
import { bundled, bundledAlone } from "../support/bundled.ts"
import { root } from "../support/program.ts"

const rowsOf = (name: string): ReadonlyArray<{ readonly [key: string]: Json }> =>
  JSON.parse(readFileSync(join(root, `test/corpora/${name}.json`), "utf8"))

const policy = rowsOf("policy").map(({ input = "" }) => typeof input === "string" ? input : "")
const drifts = rowsOf("coercion").map(({ input_value: value = null, schema = {} }) => ({ value, schema }))

const schemaOf = (schema: Json): JsonSchema => schema as object as JsonSchema

/** The code of the worker. It deletes all other globals before the bundle runs. */
const inWorker = `
  const { parentPort, workerData } = require("node:worker_threads")
  const kept = new Set([...workerData.kept, "globalThis"])
  for (const name of Object.getOwnPropertyNames(globalThis)) if (!kept.has(name)) delete globalThis[name]
  const left = ["process", "Buffer", "setTimeout", "URL", "TextEncoder", "console", "fetch"].filter((name) => name in globalThis)
  const { decode, fit } = (0, eval)(workerData.bundle + ";Arguments")
  parentPort.postMessage(JSON.stringify({
    left,
    policy: workerData.policy.map((text) => decode(text, {}, { prose: true })),
    drifts: workerData.drifts.map(({ value, schema }) => fit(value, schema))
  }))
`

let bundle = ""

beforeAll(async () => {
  bundle = await bundled("arguments", "Arguments")
})

describe("bundled and minified", () => {
  it("has at most 40 KiB compressed, and 84 KiB uncompressed", () => {
    assert.isAbove(bundle.length, 10_000)
    assert.isAtMost(gzipSync(bundle).length, 40 * 1024)
    assert.isAtMost(Buffer.byteLength(bundle), 84 * 1024)
  })

  it.live.each([["decode", 72], ["read", 26]] as const)(
    "has at most this many KiB for %s: %i",
    ([one, most]) =>
      Effect.gen(function*() {
        const code = yield* Effect.promise(() => bundledAlone("arguments", one))
        assert.isAbove(code.length, 10_000)
        assert.isAtMost(Buffer.byteLength(code), most * 1024)
      })
  )

  it.live("runs with only the globals of ECMAScript, with the same results", () =>
    Effect.promise(() =>
      new Promise<string>((resolve, reject) => {
        // A new context has only the global names of the language.
        const globalNames: ReadonlyArray<string> = runInNewContext("Object.getOwnPropertyNames(globalThis)")
        new Worker(inWorker, {
          eval: true,
          workerData: {
            bundle,
            drifts,
            kept: globalNames.filter((name) => name !== "console"),
            policy
          }
        })
          .on("message", resolve).on("error", reject)
      })
    ).pipe(Effect.map((text) => {
      const there: object = JSON.parse(text)
      const here = {
        left: [],
        policy: policy.map((text) => decode(text, {}, { prose: true })),
        drifts: drifts.map(({ schema, value }) => fit(value, schemaOf(schema)))
      }
      assert.deepStrictEqual<unknown>(there, JSON.parse(JSON.stringify(here)))
    })))
})
