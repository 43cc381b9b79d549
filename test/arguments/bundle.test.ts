/**
 * The package as a program for a browser has it: bundled and minified, in a worker that has nothing but ECMAScript.
 *
 * @module-tag slow
 */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { coerce, decode, type Json, type JsonSchema } from "@fallible/arguments"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { runInNewContext } from "node:vm"
import { Worker } from "node:worker_threads"
import { gzipSync } from "node:zlib"
import { rolldown } from "rolldown"
import { root } from "../support/program.ts"

const rowsOf = (name: string): ReadonlyArray<{ readonly [key: string]: Json }> =>
  JSON.parse(readFileSync(join(root, `test/corpora/${name}.json`), "utf8"))

const policy = rowsOf("policy").map(({ input = "" }) => typeof input === "string" ? input : "")
const drifts = rowsOf("coercion").map(({ input_value: value = null, schema = {} }) => ({ value, schema }))

const schemaOf = (schema: Json): JsonSchema => schema as object as JsonSchema

/** What stands in the worker: the other globals are taken away before the bundle runs. */
const inWorker = `
  const { parentPort, workerData } = require("node:worker_threads")
  const kept = new Set([...workerData.kept, "globalThis"])
  for (const name of Object.getOwnPropertyNames(globalThis)) if (!kept.has(name)) delete globalThis[name]
  const left = ["process", "Buffer", "setTimeout", "URL", "TextEncoder", "console", "fetch"].filter((name) => name in globalThis)
  const { coerce, decode } = (0, eval)(workerData.bundle + ";Arguments")
  parentPort.postMessage(JSON.stringify({
    left,
    policy: workerData.policy.map((text) => decode(text, {}, { prose: true })),
    drifts: workerData.drifts.map(({ value, schema }) => coerce(value, schema))
  }))
`

let bundle = ""

beforeAll(async () => {
  const built = await rolldown({ input: join(root, "packages/arguments/src/index.ts") })
  const { output: [{ code }] } = await built.generate({ format: "iife", minify: true, name: "Arguments" })
  bundle = code
}, 30_000)

describe("bundled and minified", () => {
  it("is at most 40 KiB as it is sent, and 84 as it is run", () => {
    assert.isAbove(bundle.length, 10_000)
    assert.isAtMost(gzipSync(bundle).length, 40 * 1024)
    assert.isAtMost(Buffer.byteLength(bundle), 84 * 1024)
  })

  it.live("runs where there is nothing but ECMAScript, and says the same", () =>
    Effect.promise(() =>
      new Promise<string>((resolve, reject) => {
        // A context of its own has the names of the language, and no others.
        const kept: ReadonlyArray<string> = runInNewContext("Object.getOwnPropertyNames(globalThis)")
        new Worker(inWorker, {
          eval: true,
          workerData: {
            bundle,
            drifts,
            kept: kept.filter((name) => name !== "console"),
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
        drifts: drifts.map(({ schema, value }) => coerce(value, schemaOf(schema)))
      }
      assert.deepStrictEqual<unknown>(there, JSON.parse(JSON.stringify(here)))
    })))
})
