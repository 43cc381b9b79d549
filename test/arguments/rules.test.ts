/**
 * `RULES.md` documents the rules and is their test: each row is run, and each rule has a row. `messages.txt` holds all
 * sentences that a model reads about them, so a change of a sentence shows in the diff.
 */
import { assert, describe, it } from "@effect/vitest"
import { fit, type Json, type JsonSchema, message, numberAt, read } from "@fallible/arguments"
import { coerce, faultKinds, textRepairKinds, valueRepairKinds } from "@fallible/arguments/internal"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "../support/program.ts"

const rules = readFileSync(join(root, "packages/arguments/RULES.md"), "utf8")

/** Returns the rows of the table under a heading, without backticks. */
const table = (heading: string): ReadonlyArray<ReadonlyArray<string>> =>
  rules.split("\n## ").find((section) => section.startsWith(heading))!.split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1).map(cell))

const cell = (text: string): string =>
  text.trim().replace(/^(`+) ?([^]*?) ?\1$/, "$2").replaceAll("\\|", "|").replaceAll("↵", "\n")
    .replace(/U\+(\w{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

const repairs = table("Texts that are repaired")
const faults = table("Texts that are refused").map(([kind = "", text = ""]) =>
  [
    kind,
    kind === "too_deep"
      ? `{"a":${"[".repeat(128)}${"]".repeat(128)}}`
      : kind === "too_long"
      ? `{"a":"${"x".repeat(1_048_576)}"}`
      : text
  ] as const
)
const coercions = table("Values that are coerced")
const misfits = table("Values that are refused")

const schemaOf = (text = ""): JsonSchema => JSON.parse(text)

/** Reads a value as a model wrote it, with the digits of its numbers. */
const written = (text = "") => {
  const holder = read(`{"value":${text}}`)
  if (!holder.ok) return assert.fail(text)
  return {
    value: holder.value["value"]!,
    numberAt: (path: ReadonlyArray<string | number>) => numberAt(holder, ["value", ...path])
  }
}

describe("the rules", () => {
  it.each(repairs)("%s: %s", (kind, text, expected, note) => {
    const result = read(text, { prose: true })
    if (!result.ok) return assert.fail(message(result.refusal))
    assert.deepStrictEqual<unknown>(result.value, JSON.parse(expected ?? ""))
    assert.strictEqual(result.repairs.some(({ note }) => note !== undefined), note === "yes")
    if (text !== "") assert.include(result.repairs.map<string>(({ kind }) => kind), kind)
  })

  it.each(faults)("%s: %s", (kind, text) => {
    const result = read(text)
    assert.strictEqual(result.ok ? "read" : result.refusal.kind, kind)
  })

  it.each(coercions)("%s: %s for %s", (kind, schema, text, expected, note) => {
    const { value, numberAt } = written(text)
    const result = coerce(value, schemaOf(schema), { numberAt })
    assert.deepStrictEqual<unknown>([result.fits, result.value], [true, JSON.parse(expected ?? "")])
    assert.include(result.repairs.map<string>(({ kind }) => kind), kind)
    assert.strictEqual(result.repairs.some(({ note }) => note !== undefined), note === "yes")
  })

  it.each(coercions)("%s: %s for %s, however often", (_kind, schema, text) => {
    const { numberAt, value } = written(text)
    const many = { type: "array", items: { type: "object", properties: { v: schemaOf(schema) }, required: ["v"] } }
    const result = coerce(Array.from({ length: 2_500 }, () => ({ v: value })), many, {
      numberAt: (path) => numberAt(path.slice(2))
    })
    assert.isTrue(result.fits)
    assert.isAtMost(result.repairs.length, 40)
  })

  it.each(misfits)("%s: %s for %s", (kind, schema, text) => {
    const { value, numberAt } = written(text)
    const result = fit(value, schemaOf(schema), { numberAt })
    assert.include(result.ok ? [] : result.refusal.issues.map<string>(({ kind }) => kind), kind)
  })

  it("have one example each, and no other example exists", () => {
    const kindsIn = (rows: ReadonlyArray<ReadonlyArray<string>>) =>
      [...new Set(rows.map(([kind = ""]) => kind))].toSorted()
    assert.deepStrictEqual(kindsIn(repairs), [...textRepairKinds].toSorted())
    assert.deepStrictEqual(kindsIn(faults), [...faultKinds].toSorted())
    assert.deepStrictEqual(kindsIn(coercions), [...valueRepairKinds].toSorted())
  })
})

describe("the sentences", () => {
  const short = (text: string) => text.length > 200 ? `${text.slice(0, 20)}… (${text.length})` : text
  const line = (what: string, said: string | undefined) => `${JSON.stringify(short(what))}\n  ${said ?? "(nothing)"}\n`
  const saidOf = (value: Json, schema: JsonSchema, origin: object) => {
    const result = fit(value, schema, origin)
    return result.ok ? result.repairs.map(message).join(" ") || undefined : message(result.refusal)
  }
  const all = [
    ...repairs.map(([, text = ""]) => {
      const result = read(text, { prose: true })
      return line(text, result.ok ? result.repairs.map((repair) => message(repair) ?? "").join(" ").trim() : "refused")
    }),
    ...faults.map(([, text]) => {
      const result = read(text)
      return line(text, result.ok ? "read" : message(result.refusal))
    }),
    ...[...coercions, ...misfits].map(([, schema = "", text = ""]) => {
      const { value, ...origin } = written(text)
      return line(`${text} for ${schema}`, saidOf(value, schemaOf(schema), origin))
    })
  ].join("")
  const file = join(root, "test/arguments/messages.txt")
  if (process.env["WRITE_MESSAGES"] === "1") writeFileSync(file, all)

  it("match messages.txt (else: WRITE_MESSAGES=1 npx -y pnpm@12 exec vitest run test/arguments/rules)", () => {
    assert.strictEqual(all, readFileSync(file, "utf8"))
  })
})
