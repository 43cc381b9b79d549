/**
 * Over a thousand texts for forty schemas, written by hand, with the expectation decided before the code was. Where it was
 * decided otherwise later, the row says so (`later`), and why.
 */
import { assert, describe, it } from "@effect/vitest"
import { Arguments, fit, type Formats, type Json, message } from "@fallible/arguments"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "../support/program.ts"

type Expectation = "refused" | { readonly value: Json }

interface Row {
  readonly text: string
  readonly expect: Expectation
  readonly why: string
  readonly later?: { readonly expect: Expectation; readonly because: string }
}

interface Tool {
  readonly name: string
  readonly about: string
  readonly schema: object
  readonly rows: ReadonlyArray<Row>
}

const tools: ReadonlyArray<Tool> = JSON.parse(readFileSync(join(root, "test/corpora/argumentTexts.json"), "utf8"))

const formats: Formats = {
  duration: (text) => /^P(?=.)/.test(text),
  email: (text) => /^[^\s@<>,]+@[^\s@<>,]+\.[^\s@<>,]+$/.test(text),
  uri: (text) => /^[a-z][a-z\d+.-]*:\S+$/i.test(text),
  uuid: (text) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)
}

describe("texts written by hand", () => {
  it("are many, and few were decided otherwise later", () => {
    const rows = tools.flatMap(({ rows }) => rows)
    assert.deepStrictEqual([tools.length, rows.length, rows.filter(({ later }) => later !== undefined).length], [
      40,
      1067,
      8
    ])
  })

  for (const { name, rows, schema } of tools) {
    it(`of the tool ${name}`, () => {
      const args = Arguments.of<Json>(schema, { formats })
      for (const { expect, later, text, why } of rows) {
        const decoded = args.decode(text)
        assert.deepStrictEqual<unknown>(
          decoded.ok ? { value: decoded.value } : "refused",
          later?.expect ?? expect,
          `${text} (${why})${decoded.ok ? "" : `: ${message(decoded.refusal)}`}`
        )
        // What is accepted fits as it is.
        if (decoded.ok) {
          assert.deepStrictEqual<unknown>(fit(decoded.value, schema, { formats }), {
            ok: true,
            value: decoded.value,
            repairs: []
          })
        }
      }
    })
  }
})
