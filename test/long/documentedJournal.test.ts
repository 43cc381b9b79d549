/**
 * The journal that the guides show, after a power cut: each beginning of a real file, to the byte.
 */
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Agent, Model, Tool, Toolkit } from "@fallible/core"
import * as Journal from "@fallible/core/Journal"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Schema } from "effect"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { importShown } from "../support/snippets.ts"

// The guide gives the function this type.
const fileJournal = (await importShown("docs/journal.md", "fileJournal")) as (file: string) => Journal.Journal

const orders = ["7", "größe 8 €"]

/** Pays each order in a turn of its own, whatever the transcript has so far. */
const model = Model.layer({
  respond: ({ transcript }) => {
    const order = orders[Array.from(transcript).filter(({ role }) => role === "tool").length]
    return Effect.succeed(order === undefined ? ScriptedModel.text("Paid.") : ScriptedModel.call("pay", { order }))
  }
})

/** Runs a process that continues from the file. Returns the orders that it paid. */
const process = (file: string) =>
  Effect.suspend(() => {
    const paid: Array<string> = []
    const pay = Tool.make("pay", {
      description: "Pays an order",
      parameters: Schema.Struct({ order: Schema.String }),
      success: Schema.String,
      sideEffect: "non_idempotent",
      identity: ({ order }) => order
    }, ({ order }) => Effect.sync(() => `receipt ${paid.push(order)} of ${order}`))
    return Agent.make({ toolkit: Toolkit.make(pay) }).run("Pay.").pipe(
      Effect.provideService(Journal.current, fileJournal(file)),
      Effect.provide(model),
      Effect.map(({ text }) => ({ paid, text }))
    )
  })

const linesIn = (text: string): ReadonlyArray<string> => text.split("\n").slice(0, -1)

/** Returns the orders whose payment had begun, by the whole lines of a file. */
const begunIn = (text: string): ReadonlyArray<string> =>
  orders.filter((_, index) => linesIn(text).includes(JSON.stringify({ name: `turn/${index + 1}/call/1` })))

// The journal waits for the disk after each line. In memory, that takes no time.
const fastest = existsSync("/dev/shm") ? "/dev/shm" : tmpdir()

describe("the journal in a file", () => {
  const folder = mkdtempSync(join(fastest, "torn-"))
  const file = join(folder, "steps.jsonl")
  afterAll(() => rmSync(folder, { recursive: true }))

  it.effect("pays nothing twice and goes on, wherever its file was torn", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* process(file), { paid: orders, text: "Paid." })
      const bytes = readFileSync(file)
      assert.isAbove(bytes.length, 1_000)
      for (let length = 0; length <= bytes.length; length++) {
        writeFileSync(file, bytes.subarray(0, length))
        const begun = begunIn(readFileSync(file, "utf8"))
        const at = `torn after ${length} of ${bytes.length} bytes`
        // A call that had begun does not run again. Any other call runs.
        assert.deepStrictEqual((yield* process(file)).paid, orders.filter((order) => !begun.includes(order)), at)
        const text = readFileSync(file, "utf8")
        assert.isTrue(text.endsWith("\n"), at)
        for (const line of linesIn(text)) assert.isString(JSON.parse(line).name, at)
        // The next process finds everything in the file.
        assert.deepStrictEqual(yield* process(file), { paid: [], text: "Paid." }, at)
        assert.strictEqual(readFileSync(file, "utf8"), text, at)
      }
    }))

  it.effect("takes a tail of zeros, which some file systems leave, for a line that was not written", () =>
    Effect.gen(function*() {
      writeFileSync(file, "")
      yield* process(file)
      const bytes = readFileSync(file)
      writeFileSync(file, Buffer.concat([bytes, Buffer.alloc(100)]))
      assert.deepStrictEqual(yield* process(file), { paid: [], text: "Paid." })
      assert.isTrue(bytes.equals(readFileSync(file)))
    }))
})
