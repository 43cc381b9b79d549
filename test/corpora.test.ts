/**
 * Texts that were collected before the parser was written. Each text of our own has the action that our
 * tables demand. The texts of other projects have verdicts, which are often about repair for display, not
 * for execution. For those texts, the tests require no wrong value, and many readable texts.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Arguments from "@fallible/core/Arguments"
import type * as ToolOutcome from "@fallible/core/ToolOutcome"
import { Effect, Result, Schema } from "effect"
import { jsonrepair } from "jsonrepair"
import { isDeepStrictEqual } from "node:util"
import { areThere, corpus, missing, policy, type Row } from "./support/corpora.ts"

const anything = { parameters: Schema.Record(Schema.String, Schema.Json), sideEffect: "none" } as const

const decode = (text: string) => Effect.runSync(Effect.result(Arguments.decode(text, anything)))

const isNoted = ({ note }: ToolOutcome.Repair) => note !== undefined

interface Done {
  readonly action: string
  readonly value?: Schema.Json
}

/** Returns the action that the parser took on a text, in the words of our own corpus. */
const actionOn = (text: string): Done =>
  Result.match(decode(text), {
    onFailure: (): Done => ({ action: "refuse" }),
    onSuccess: ({ params, repairs }) => ({
      action: repairs.some(isNoted) ? "note" : repairs.length > 0 ? "repair" : "accept",
      value: params
    })
  })

describe("our own corpus", () => {
  it.each(policy.map((row) => [row.category, row.input, row] as const))("%s: %j", (_category, text, row) => {
    const { action, expected } = row
    assert.deepStrictEqual(actionOn(text), action === "refuse" ? { action } : { action, value: expected }, row.why)
  })

  it("has texts for every action", () => {
    assert.deepStrictEqual([...new Set(policy.map(({ action }) => action))].toSorted(), [
      "accept",
      "note",
      "refuse",
      "repair"
    ])
  })
})

// -----------------------------------------------------------------------------
// Other projects
// -----------------------------------------------------------------------------

interface Accepted {
  readonly row: Row
  readonly value: { readonly [key: string]: Schema.Json }
  readonly repairs: ReadonlyArray<ToolOutcome.Repair>
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const read = (reader: () => unknown): unknown => {
  try {
    return reader()
  } catch {
    return undefined
  }
}

const strict = (text: string) => read(() => JSON.parse(text))

/** Trims all strings and keys of a value. */
const trimmed = (value: unknown): unknown =>
  typeof value === "string"
    ? value.trim()
    : Array.isArray(value)
    ? value.map(trimmed)
    : isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key.trim(), trimmed(item)]))
    : value

const has = (repairs: Accepted["repairs"], kind: ToolOutcome.Repair["kind"]) =>
  repairs.some((repair) => repair.kind === kind)

/** The rows of the table that overrule a verdict, each with its condition. */
const overruling: ReadonlyArray<readonly [tableRow: string, isMet: (accepted: Accepted) => boolean]> = [
  [
    "valid JSON object: accept untouched",
    ({ repairs, row, value }) => repairs.length === 0 && isDeepStrictEqual(value, strict(row.input))
  ],
  [
    "missing, \"\", white space only, null, []: {}",
    ({ repairs, row, value }) =>
      has(repairs, "no_arguments") && Object.keys(value).length === 0 &&
      /^\ufeff?\s*(?:null|None|\[\s*\])?\s*$/.test(row.input)
  ],
  [
    "raw control characters in strings: one reading, so nothing is trimmed",
    ({ repairs, row, value }) =>
      has(repairs, "control_character") && row.verdict === "value" &&
      isDeepStrictEqual(trimmed(value), trimmed(row.expected))
  ],
  [
    // A second reader, which repairs far more, must read the same value.
    "the repairs' own rows: one reading (the verdict is that of a strict parser, or of a schema that we do not have)",
    ({ repairs, row, value }) =>
      row.verdict === "invalid" && repairs.length > 0 && !has(repairs, "no_arguments") &&
      isDeepStrictEqual(value, read(() => JSON.parse(jsonrepair(row.input))))
  ]
]

const isAsExpected = ({ row, value }: Accepted) =>
  row.verdict === "either" || row.verdict === "value" && isDeepStrictEqual(value, row.expected)

const acceptedOf = (rows: ReadonlyArray<Row>): ReadonlyArray<Accepted> =>
  rows.flatMap((row) =>
    Result.match(decode(row.input), {
      onFailure: () => [],
      onSuccess: ({ params, repairs }) => [{ row, value: params, repairs }]
    })
  )

/**
 * Faults that `JSON.parse` accepts silently. `undefined`: lost digits, which the field reports without a
 * fault of the text.
 */
const unsaid = ["duplicate_key", "prototype_key", "invalid_number", "too_deep", undefined]

const tell = (line: string) => {
  process.stdout.write(`${line}\n`)
}

if (!areThere) tell(missing)

const percent = (part: number, whole: number) => `${part} of ${whole} (${(100 * part / whole).toFixed(1)} %)`

/** Prints how much of a corpus is read, and which texts each row of the table overrules. */
const report = (name: string, rows: ReadonlyArray<Row>, accepted: ReadonlyArray<Accepted>) => {
  const values = rows.filter(({ expected, verdict }) => verdict === "value" && isObject(expected))
  const read = accepted.filter(({ row }) => values.includes(row))
  tell(
    `${name}: accepted ${percent(accepted.length, rows.length)}; of those with an object ${
      percent(read.length, values.length)
    }`
  )
  for (const [tableRow, isMet] of overruling) {
    const here = accepted.filter((one) => !isAsExpected(one) && reasonFor(one) === isMet)
    if (here.length > 0) {
      tell(`  overruled by '${tableRow}': ${here.map(({ row }) => row.id.split("-").at(-1)).join(" ")}`)
    }
  }
}

const reasonFor = (accepted: Accepted) => overruling.find(([, isMet]) => isMet(accepted))?.[1]

describe.skipIf(!areThere)("the corpora of other projects", () => {
  const names = ["jsonrepair", "json_repair_py", "jsontestsuite"]

  it.each(names)("%s: never yields an unexpected value, unless a row of the table says so", (name) => {
    const rows = corpus(name)
    const accepted = acceptedOf(rows)
    report(name, rows, accepted)
    const wrong = accepted.filter((one) => !isAsExpected(one) && reasonFor(one) === undefined)
    assert.deepStrictEqual(wrong.map(({ repairs, row, value }) => ({ row, value, repairs })), [])
  })

  it("uses every row of the table that overrules a verdict", () => {
    const overruled = names.flatMap((name) => acceptedOf(corpus(name)).filter((one) => !isAsExpected(one)))
    for (const [tableRow, isMet] of overruling) assert.isTrue(overruled.some(isMet), tableRow)
  })

  it("never yields a value for a text that must be rejected, unless it repairs the text", () => {
    for (const { repairs, row } of acceptedOf(corpus("jsontestsuite").filter(({ verdict }) => verdict === "invalid"))) {
      assert.isAbove(repairs.length, 0, row.input)
    }
  })

  it("reads every unambiguous strict object without a repair", () => {
    for (const { input } of names.flatMap(corpus)) {
      const value = strict(input)
      if (!isObject(value)) continue
      Result.match(decode(input), {
        onFailure: ({ fault }) => assert.include(unsaid, fault?.kind, input),
        onSuccess: ({ params, repairs }) => {
          assert.deepStrictEqual<unknown>(params, value)
          assert.deepStrictEqual(repairs.filter(({ kind }) => kind !== "duplicate_key"), [])
        }
      })
    }
  })

  it("reads every valid call without a repair", () => {
    for (const { expected, input } of corpus("toolcalls_valid")) {
      assert.deepStrictEqual(actionOn(input), { action: "accept", value: expected })
    }
  })

  it("completes no prefix of a valid call", () => {
    for (const { input } of corpus("toolcalls_valid")) {
      for (let length = 1; length < input.length; length++) {
        const prefix = input.slice(0, length)
        if (prefix.trim() !== "") assert.isTrue(Result.isFailure(Arguments.parse(prefix)), prefix)
      }
    }
  })
})
