/**
 * Texts that were collected before there was a parser: our own, each with what the tables do with it, and those of other projects, whose
 * verdicts are about repair for display as often as for execution. Of those, two things are wanted: no wrong value, and many that are read.
 */
import { assert, describe, it } from "@effect/vitest"
import { Arguments, type ToolOutcome } from "@fallible/core"
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

/** What was done with a text, in the words of our own corpus. */
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

/** A value without white space at the ends of its texts and keys. */
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

/** Where the table overrules a verdict: its row, and how to know that it is the one. */
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
    // A second reader, which repairs far more, is asked whether it reads the same.
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

/** What `JSON.parse` lets pass without a word; digits that are lost are told by the field, without a fault of the text. */
const unsaid = ["duplicate_key", "prototype_key", "invalid_number", "too_deep", undefined]

const tell = (line: string) => {
  process.stdout.write(`${line}\n`)
}

if (!areThere) tell(missing)

const percent = (part: number, whole: number) => `${part} of ${whole} (${(100 * part / whole).toFixed(1)} %)`

/** What is read of a corpus, and why where the verdict is another one. */
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

  it.each(names)("%s: never yields a value that is not the expected one, unless a row of the table says so", (name) => {
    const rows = corpus(name)
    const accepted = acceptedOf(rows)
    report(name, rows, accepted)
    const wrong = accepted.filter((one) => !isAsExpected(one) && reasonFor(one) === undefined)
    assert.deepStrictEqual(wrong.map(({ repairs, row, value }) => ({ row, value, repairs })), [])
  })

  it("needs every row of the table that overrules", () => {
    const overruled = names.flatMap((name) => acceptedOf(corpus(name)).filter((one) => !isAsExpected(one)))
    for (const [tableRow, isMet] of overruling) assert.isTrue(overruled.some(isMet), tableRow)
  })

  it("never yields a value of a text that has to be rejected without a repair", () => {
    for (const { repairs, row } of acceptedOf(corpus("jsontestsuite").filter(({ verdict }) => verdict === "invalid"))) {
      assert.isAbove(repairs.length, 0, row.input)
    }
  })

  it("reads every strict object that says one thing, and repairs nothing in it", () => {
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

  it("reads every valid call as it is", () => {
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
