/**
 * Measures the cost of reading argument texts, relative to `JSON.parse` and jsonrepair. Reports medians of
 * CPU time, over interleaved rounds in one process. Run it with `pnpm bench`, or alone with `node
 * test/bench/arguments.ts`.
 *
 * The first part measures valid calls, and short texts with faults. The second checks that time is linear
 * in the length of valid, repairable and hostile texts, in four sizes. Hostile texts make a parser look
 * ahead, look back or retry. The last part checks that time is linear in the drifts of a value, in its
 * schema, and in the notes of a call.
 */
import { coerce } from "@fallible/arguments/internal"
import { Dispatch, Tool, ToolCall, Toolkit } from "@fallible/core"
import * as Arguments from "@fallible/core/Arguments"
import * as Effect from "effect/Effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"
import { jsonrepair } from "jsonrepair"
import { validCalls } from "../support/corpora.ts"
import { median, timed } from "../support/measure.ts"
import { misfits } from "../support/misfits.ts"

const ratio = (value: number) => `${value.toFixed(2)} x`

/** Returns the microseconds per run of each subject: medians of interleaved rounds. */
const compared = <K extends string>(
  subjects: { readonly [name in K]: () => unknown },
  rounds: number
): Record<K, number> => {
  const names = Object.keys(subjects) as Array<K>
  const costs = Object.fromEntries(names.map((name) => [name, new Array<number>()])) as Record<K, Array<number>>
  const runs = Object.fromEntries(names.map((name) => [name, runsOf(subjects[name])])) as Record<K, number>
  for (let round = -3; round < rounds; round++) {
    for (const name of names) {
      const cost = timed(subjects[name], runs[name]) / runs[name]
      // The first rounds only warm up.
      if (round >= 0) costs[name].push(cost)
    }
  }
  return Object.fromEntries(names.map((name) => [name, median(costs[name])])) as Record<K, number>
}

// Doubles the runs until the clock's resolution is negligible. Measures each count twice, because first runs are slow.
const enough = 4_000
const runsOf = (run: () => unknown): number => {
  let runs = 1
  while (Math.min(timed(run, runs), timed(run, runs)) < enough) runs *= 2
  return runs
}

const attempt = (run: (text: string) => unknown) => (text: string) => {
  try {
    return run(text)
  } catch {
    return undefined
  }
}

const parsed = attempt(JSON.parse)
const repaired = attempt((text) => JSON.parse(jsonrepair(text)))

// -----------------------------------------------------------------------------
// Short texts
// -----------------------------------------------------------------------------

const calls = validCalls()
const bytes = calls.map((text) => Buffer.byteLength(text)).toSorted((a, b) => a - b)

const valid = compared({
  ours: () => calls.forEach(Arguments.parse),
  parse: () => calls.forEach((text) => JSON.parse(text))
}, 61)

console.log(`${calls.length} valid calls, median ${bytes[Math.floor(bytes.length / 2)]} bytes, Node ${process.version}`)
console.table({
  "JSON.parse": { "ns a call": (1000 * valid.parse / calls.length).toFixed(0), "to JSON.parse": "" },
  "ours, all checks (at most 1.6 x)": {
    "ns a call": (1000 * valid.ours / calls.length).toFixed(0),
    "to JSON.parse": ratio(valid.ours / valid.parse)
  }
})

const of200 = {
  "single quotes, Python's words":
    "{'customer': 'Ana Lopez', 'active': True, 'note': None, 'items': [{'sku': 'A-1', 'count': 2}, {'sku': 'B-7', 'count': 1}], 'address': {'city': 'Madrid', 'zip': '28001'}, 'express': False, 'discount': 0}",
  "trailing comma":
    "{\"customer\": \"Ana Lopez\", \"active\": true, \"items\": [{\"sku\": \"A-1\", \"count\": 2}, {\"sku\": \"B-7\", \"count\": 1}], \"address\": {\"city\": \"Madrid\", \"zip\": \"28001\"}, \"express\": false, \"total\": 12.5,}",
  "keys without quotes, comments":
    "{customer: \"Ana Lopez\", active: true, // is one\n items: [{sku: \"A-1\", count: 2}, {sku: \"B-7\", count: 1}], /* where to */ address: {city: \"Madrid\", zip: \"28001\"}, express: false, note: \"by hand\"}",
  "line breaks in strings":
    "{\"to\": \"ana@example.com\", \"subject\": \"Lunch on Friday\", \"body\": \"Hi Ana,\n\nhalf past twelve is fine with me.\nI will be at the corner of the park.\n\nBest,\nJo\", \"copy\": [\"jo@example.com\"], \"urgent\": false}",
  "a code fence":
    "```json\n{\"customer\": \"Ana Lopez\", \"active\": true, \"items\": [{\"sku\": \"A-1\", \"count\": 2}, {\"sku\": \"B-7\", \"count\": 1}], \"address\": {\"city\": \"Madrid\", \"zip\": \"28001\"}, \"express\": false}\n```",
  "cut off":
    "{\"customer\": \"Ana Lopez\", \"active\": true, \"items\": [{\"sku\": \"A-1\", \"count\": 2}, {\"sku\": \"B-7\", \"count\": 1}], \"address\": {\"city\": \"Madrid\", \"zip\": \"28001\"}, \"express\": false, \"comment\": \"leave it at the do",
  "a quote that is not escaped":
    "{\"customer\": \"Ana Lopez\", \"active\": true, \"items\": [{\"sku\": \"A-1\", \"count\": 2}, {\"sku\": \"B-7\", \"count\": 1}], \"address\": {\"city\": \"Madrid\", \"zip\": \"28001\"}, \"comment\": \"she said \"ring twice\" I think\"}",
  "a missing comma":
    "{\"customer\": \"Ana Lopez\", \"active\": true \"items\": [{\"sku\": \"A-1\", \"count\": 2}, {\"sku\": \"B-7\", \"count\": 1}], \"address\": {\"city\": \"Madrid\", \"zip\": \"28001\"}, \"express\": false, \"comment\": \"ring twice\"}"
}

const short = (Object.keys(of200) as Array<keyof typeof of200>).map((name) => {
  const text = of200[name]
  const costs = compared({
    ours: () => Arguments.parse(text),
    jsonrepair: () => repaired(text),
    parse: () => parsed(text)
  }, 21)
  return { name, ...costs }
})
const sum = (key: "ours" | "jsonrepair") => short.reduce((sum, costs) => sum + costs[key], 0)

console.log("malformed texts of about 200 bytes, µs")
console.table(Object.fromEntries([
  ...short.map(({ jsonrepair, name, ours, parse }) => [name, {
    ours: ours.toFixed(2),
    jsonrepair: jsonrepair.toFixed(2),
    "JSON.parse, which throws": parse.toFixed(2),
    "ours to jsonrepair (below 1 x)": ratio(ours / jsonrepair)
  }]),
  ["all of them", { "ours to jsonrepair (below 1 x)": ratio(sum("ours") / sum("jsonrepair")) }]
]))

// -----------------------------------------------------------------------------
// Long texts
// -----------------------------------------------------------------------------

// The last size is just below the parser's limit.
const sizes = [16_000, 64_000, 256_000, 1_000_000]

/** Makes a text of a given size: a start, repeated parts, and an end. */
const filled = (start: string, part: string, end = "") => (size: number): string =>
  `${start}${part.repeat(Math.max(1, Math.floor((size - start.length - end.length) / Buffer.byteLength(part))))}${end}`

const counted = (start: string, part: (index: number) => string, end: string) => (size: number): string => {
  const parts: Array<string> = []
  for (let length = start.length + end.length, index = 0; length < size; index++) {
    const next = part(index)
    parts.push(next)
    length += Buffer.byteLength(next)
  }
  parts.pop()
  return `${start}${parts.join("")}${end}`
}

const record = (index: number) =>
  `{"id":${index},"name":"Ana Lopez","active":true,"tags":["a","b"],"at":{"city":"Madrid","zip":"28001"},"total":12.5},`

const typical = counted("{\"items\":[", record, "{}]}")

const families: { readonly [name: string]: (size: number) => string } = {
  "valid: records": typical,
  "valid: one long string": filled("{\"a\":\"", "lorem ipsum dolor ", "\"}"),
  "valid: short keys": counted("{", (index) => `"k${index}":1,`, "\"z\":1}"),
  "valid: numbers": filled("{\"a\":[", "12.5,", "1]}"),
  "valid: escapes": filled("{\"a\":\"", "\\n\\u00e9\\\"", "\"}"),
  "valid: colons in strings": filled("{\"a\":[", "\"12:30:00\",", "0]}"),
  "valid: deep": filled("{\"a\":[", `${"[".repeat(120)}${"]".repeat(120)},`, "0]}"),
  "valid: not ASCII": filled("{\"a\":\"", "漢字😀é", "\"}"),
  "repairable: single quotes": filled("{'a':[", "'it','x y',", "'z']}"),
  "repairable: keys, comments, commas": counted("{", (index) => `k${index}: [1,], // note\n`, "}"),
  "repairable: comments": filled("{\"a\":[", "/* c */1,// c\n", "1]}"),
  "repairable: missing commas": filled("{\"a\":[", "1\n", "1]}"),
  "repairable: Python": filled("{\"a\":[", "True,None,", "False]}"),
  "repairable: raw lines": filled("{\"a\":\"", "one line\n", "\"}"),
  "repairable: JSON in a string": (size) => JSON.stringify(typical(Math.floor(size * 0.7))),
  "repairable: escaped quotes": (size) => JSON.stringify(typical(Math.floor(size * 0.7))).slice(1, -1),
  "repairable: words before": filled("", "some words, and more of them.\n", ":\n{\"a\":1}"),
  "repairable: words after": filled("{\"a\":1}", "\nsome words, and more of them."),
  "repairable: smart quotes": filled("{\"a\":[", "“b”,‘c’,", "“d”]}"),
  "repairable: closers": filled("{\"a\":1}", "}"),
  "repairable: template tokens": filled("{\"a\":1}", "<|im_end|>"),
  "repairable: template tokens and words after": filled("{\"a\":1}", "<|im_end|>", "That is all."),
  "hostile: a fault in JSON in a string": (size) => JSON.stringify(`${typical(Math.floor(size * 0.7))}x`),
  "repairable: template tokens before": filled("", "<|x|>", "{\"a\":1}"),
  "repairable: a key many times": filled("{", "\"a\":[1,2],", "\"a\":[1,2]}"),
  "hostile: unescaped quotes": filled("{\"a\":\"", "a \"b\" ", "\"}"),
  "hostile: quotes": filled("{\"a\":", "\""),
  "hostile: arrays opened": filled("{\"a\":", "["),
  "hostile: objects opened": filled("", "{\"a\":"),
  "hostile: openers": filled("", "{"),
  "hostile: openers in words": filled("x ", "{ "),
  "hostile: closers": filled("", "}"),
  "hostile: an escape that is none": filled("{\"a\":\"", "\\n", "\\x\"}"),
  "hostile: backslashes": filled("{\"a\":\"", "\\"),
  "hostile: commas": filled("{\"a\":[", ","),
  "hostile: commas after": filled("{\"a\":1}", ","),
  "hostile: half of a token": filled("", "<|x"),
  "hostile: tokens, and one that is none": filled("<y ", "<|x|>", "{\"a\":1}<|x|>"),
  "hostile: angles": filled("", ">"),
  "hostile: angles opened": filled("", "<", ">"),
  "hostile: backticks": filled("", "`"),
  "hostile: fences": filled("", "``` "),
  "hostile: a fence's name": filled("```", "a", "```"),
  "hostile: # comments": filled("", "#\n", "x"),
  "hostile: # comments inside": filled("{ ", "#\n", "x"),
  "hostile: /*": filled("{", "/*"),
  "hostile: /**/": filled("{", "/**/"),
  "hostile: //": filled("{\"a\":1", "//"),
  "hostile: keys that differ": filled("{", "\"a\":1,", "\"a\":2}"),
  "hostile: equal objects that differ at last": counted(
    "{",
    () => `"a":{"b":[${"1,".repeat(40)}1]},`,
    "\"a\":2}"
  ),
  "hostile: colons and lines": filled("", "a:\n", "{\"a\":1}"),
  "hostile: names": filled("", "a", " {\"a\":1}"),
  "hostile: dashes": filled("", "\n- a", " {\"a\":1"),
  "hostile: blanks": filled("a:", " ", "x{\"a\":1}"),
  "hostile: lines": filled("a:", "\n", "x {\"a\":1}"),
  "hostile: lines in words": filled("Hello", "\n", "{\"a\":1}"),
  "hostile: lines after": filled("{\"a\":1}", "\n", "1"),
  "hostile: lines and blanks after": filled("{\"a\":1}\nOk", "\n ", "?1"),
  "hostile: blanks after": filled("{\"a\":1}", " ", "x"),
  "hostile: blanks of all sorts": filled("", "\u00a0\u2028", "{\"a\":1}"),
  "hostile: smart quotes": filled("{\"a\":", "“"),
  "hostile: smart quotes closed": filled("{\"a\":“", "\\”", "”}"),
  "hostile: apostrophes": filled("{'a':'", "it's ", "'}"),
  "hostile: a long number": filled("{\"a\":", "1", "}"),
  "hostile: a long fraction": filled("{\"a\":0.", "1", "x}"),
  "hostile: a long exponent": filled("{\"a\":1e", "1", "}"),
  "hostile: minus": filled("{\"a\":", "-", "}"),
  "hostile: points": filled("{\"a\":1", ".", "}"),
  "hostile: a long word": filled("{\"a\":", "tru", "}"),
  "hostile: a long key": filled("{", "a", ":1}"),
  "hostile: operators": filled("{\"a\":1", " +1", "}"),
  "hostile: arithmetic after a comment": filled("{\"a\":1 //", " 1", "\n}"),
  "hostile: objects": filled("", "{\"a\":1}\n"),
  "hostile: strings": filled("", "\"a\" "),
  "hostile: NUL": filled("{\"a\":1}", "\0"),
  "hostile: NUL inside": filled("{\"a\":\"", "\0", "\"}"),
  "hostile: byte order marks": filled("", "\ufeff", "{\"a\":1}"),
  "hostile: surrogates": filled("{\"a\":\"", "\\ud83d", "\"}")
}

const perByte = (micros: number, text: string) => 1000 * micros / Buffer.byteLength(text)

/** Returns jsonrepair's time per byte at the largest size tried. Stops after a size that took more than 40 ms. */
const jsonrepairAt = (texts: ReadonlyArray<string>): string => {
  let result = ""
  for (const [index, text] of texts.slice(0, 3).entries()) {
    const micros = timed(() => repaired(text), 1)
    result = `${perByte(micros, text).toFixed(0)} at ${sizes[index]! / 1000} KB`
    if (micros > 40_000) break
  }
  return result
}

// Some families have no valid counterpart, so one valid text is the reference for all.
const measure = typical(256_000)
const parseCost = compared({ parse: () => JSON.parse(measure) }, 15).parse

const rows = Object.entries(families).map(([name, textOf]) => {
  const texts = sizes.map(textOf)
  const costs = compared(
    Object.fromEntries(texts.map((text, index) => [index, () => Arguments.parse(text)])),
    5
  )
  const preview = compared({ preview: () => Arguments.preview(texts[2]!) }, 3).preview
  const perBytes = texts.map((text, index) => perByte(costs[index]!, text))
  return {
    name,
    perBytes,
    toParse: costs[2]! / parseCost,
    previewToParse: preview / parseCost,
    // Below one nanosecond per byte, most of the text is never read, and growth is noise.
    growth: perBytes[3]! / Math.max(perBytes[1]!, 1),
    jsonrepair: jsonrepairAt(texts)
  }
})

console.log(
  `ns a byte; JSON.parse of 256 KB of valid records: ${
    perByte(parseCost, measure).toFixed(1)
  } ns a byte. Jsonrepair is tried at 16, 64 and 256 KB, ` +
    "each only if it took less than 40 ms for the size before: one string of unescaped quotes takes it a minute at 256 KB."
)
console.table(Object.fromEntries(rows.map((row) => [row.name, {
  ...Object.fromEntries(sizes.map((size, index) => [`${size / 1000} KB`, row.perBytes[index]!.toFixed(2)])),
  "1 MB to 64 KB": ratio(row.growth),
  "256 KB to JSON.parse (at most 50 x)": ratio(row.toParse),
  "preview": ratio(row.previewToParse),
  "jsonrepair": row.jsonrepair
}])))

const slowest = rows.toSorted((a, b) => b.toParse - a.toParse)[0]!
const steepest = rows.toSorted((a, b) => b.growth - a.growth)[0]!
console.log(`slowest: '${slowest.name}', ${ratio(slowest.toParse)} JSON.parse at 256 KB`)
console.log(`steepest: '${steepest.name}', ${ratio(steepest.growth)} a byte at 1 MB, to 64 KB`)

// -----------------------------------------------------------------------------
// Values, schemas and notes
// -----------------------------------------------------------------------------

const integer = { type: "integer" }
const string = { type: "string" }
const closed = (properties: JsonSchema.JsonSchema) => ({ type: "object", properties, additionalProperties: false })

const many = <A>(count: number, item: (index: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, index) => item(index))
const members = <A>(count: number, item: (index: number) => A): { readonly [key: string]: A } =>
  Object.fromEntries(many(count, (index) => [`key_${index}`, item(index)]))

/** Coerces a value as far as possible, then lists its issues. */
const coercing = (value: Schema.Json, schema: JsonSchema.JsonSchema) => () => {
  const { value: coerced } = coerce(value, schema)
  return misfits(coerced, schema)
}

const decoding = (value: Schema.Json, parameters: Schema.ConstraintDecoder<unknown>) => {
  const text = JSON.stringify(value)
  return () => Effect.runSync(Effect.result(Arguments.decode(text, { parameters })))
}

/** Makes a key as long as the rest of the text. */
const longKey = (count: number) => "k".repeat(10 * count)

const noting = Tool.make("noting", {
  description: "",
  parameters: Schema.Struct({ notes: Schema.Int }),
  success: Schema.Int,
  sideEffect: "none"
}, ({ notes }) => Effect.as(Effect.repeat(ToolCall.caveat("so it is"), { times: notes }), 1))

const outer = Tool.make("outer", {
  description: "",
  parameters: Schema.Struct({ notes: Schema.Int }),
  success: Schema.Int,
  sideEffect: "none"
}, ({ notes }) => Effect.orDie(noting.run({ notes })))

const fixing = Tool.make("fixing", {
  description: "",
  parameters: Schema.Struct({ a: Schema.String }),
  success: Schema.Int,
  sideEffect: "none"
}, () => Effect.succeed(1)).pipe(Tool.fix(({ text }) => text.replaceAll("'", "\"")))

const toolkit = Toolkit.make(noting, outer, fixing)
const calling = (name: string, text: string) => () =>
  Effect.runSync(Dispatch.call(toolkit, { id: "1", name, arguments: text }))

const expression = {
  $ref: "#/$defs/Node",
  $defs: {
    Node: {
      anyOf: ["a", "b", "c"].map((key) => ({
        ...closed({ kids: { type: "array", items: { $ref: "#/$defs/Node" } }, [key]: integer }),
        required: ["kids", key]
      }))
    }
  }
}
const grown = (depth: number, drift: string): Schema.Json =>
  depth === 0 ? { kids: [], a: drift } : { kids: [grown(depth - 1, drift), grown(depth - 1, drift)], a: "1" }

const drifting: { readonly [name: string]: (count: number) => () => unknown } = {
  "items: \"1\" for 1": (count) => coercing(many(count, String), { type: "array", items: integer }),
  "items: \"1.0\" for 1": (count) => coercing(many(count, () => "1.0"), { type: "array", items: integer }),
  "items: 1 for \"1\", decoded": (count) =>
    decoding({ items: many(count, (index) => index) }, Schema.Struct({ items: Schema.Array(Schema.String) })),
  "fields: 1 for \"1\"": (count) =>
    coercing(members(count, (index) => index), { type: "object", additionalProperties: string }),
  "fields: other case": (count) =>
    coercing(
      Object.fromEntries(many(count, (index) => [`Key${index}`, 1])),
      closed(members(count, () => integer))
    ),
  "fields: unknown": (count) => coercing(members(count, () => 1), closed({ key: integer })),
  "fields: blank": (count) => coercing(members(count, () => ""), closed(members(count, () => integer))),
  "items below a long key": (count) =>
    coercing({ [longKey(count)]: many(count, () => "1.0") }, {
      type: "object",
      additionalProperties: { type: "array", items: integer }
    }),
  "items below a long key that do not fit": (count) =>
    coercing({ [longKey(count)]: many(count, () => "x") }, {
      type: "object",
      additionalProperties: { type: "array", items: integer }
    }),
  "fields below a long key, refused by the decoder": (count) =>
    decoding(
      { [longKey(count)]: members(count, () => "x") },
      Schema.Record(
        Schema.String,
        Schema.Record(Schema.String, Schema.String.check(Schema.makeFilter((text) => text === "y")))
      )
    ),
  "a recursive union": (count) => coercing(grown(Math.round(Math.log2(count / 5)), "1"), expression),
  "a recursive union that does not fit": (count) => coercing(grown(Math.round(Math.log2(count / 5)), "x"), expression),
  "a text: [": (count) => coercing("[".repeat(25 * count), { type: "array", items: integer }),
  "a text: [ and blanks": (count) => coercing(`[${" ".repeat(25 * count)}`, { type: "array", items: integer }),
  "a text: blanks": (count) => coercing(`1${" ".repeat(25 * count)}1`, { type: "array", items: integer }),
  "a text: quotes": (count) => coercing("'".repeat(25 * count), { type: "array", items: integer }),
  "a text: escaped quotes": (count) => coercing(`['${"\\'".repeat(12 * count)}`, { type: "array", items: integer }),
  "a text: a Python list": (count) => coercing(`[${"'a',".repeat(6 * count)}`, { type: "array", items: integer }),
  "a text: words, for a choice": (count) => coercing("a ".repeat(12 * count), { enum: ["a", "b"] }),
  "choices, at the first call": (count) => {
    const choices = many(count, (index) => `choice number ${index}`)
    return () => decoding({ choice: choices[7]! }, Schema.Struct({ choice: Schema.Literals(choices) }))()
  },
  "notes of a handler": (count) => calling("noting", `{"notes":${count}}`),
  "notes of a tool inside": (count) => calling("outer", `{"notes":${count}}`),
  "blanks before a text that is fixed": (count) => calling("fixing", `${" ".repeat(10 * count)}{'a': b'}`)
}

const [fewer, more] = [5_000, 20_000]
const grownRows = Object.entries(drifting).map(([name, caseOf]) => {
  const costs = compared({ fewer: caseOf(fewer), more: caseOf(more) }, 5)
  return { name, costs, growth: costs.more / more / (costs.fewer / fewer) }
})

console.log("µs, and whether they grow with the number alone (1 x), or with its square (4 x)")
console.table(Object.fromEntries(grownRows.map(({ costs, growth, name }) => [name, {
  [`${fewer}`]: costs.fewer.toFixed(0),
  [`${more}`]: costs.more.toFixed(0),
  "each, to each (at most 2.5 x)": ratio(growth)
}])))
const steepestRow = grownRows.toSorted((a, b) => b.growth - a.growth)[0]!
console.log(`steepest: '${steepestRow.name}', ${ratio(steepestRow.growth)} each of ${more}, to ${fewer}`)
