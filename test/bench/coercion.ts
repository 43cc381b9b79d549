/**
 * Measures the cost of coercing and refusing values, relative to `JSON.parse` of a valid text of the same
 * size. Each text has 16 KB to 1 MB, and one kind of drift throughout. All measurements run in one process.
 *
 * Run it with `pnpm bench`, or alone with `node test/bench/coercion.ts`.
 */
import { decode, type JsonSchema } from "@fallible/arguments"
import { median, timed } from "../support/measure.ts"

const sizes = [16_000, 64_000, 256_000, 1_000_000]

const integer = { type: "integer" }
const string = { type: "string" }
const list = (items: JsonSchema): JsonSchema => ({ type: "array", items })
const closed = (properties: JsonSchema, required = Object.keys(properties)): JsonSchema => ({
  type: "object",
  properties,
  required,
  additionalProperties: false
})

/** Makes `{"a":[part,part,…]}` of a given size. */
const items = (part: (index: number) => string) => (size: number): string => {
  const parts: Array<string> = []
  for (let length = 10, index = 0; length < size; index++) {
    const next = part(index)
    parts.push(next)
    length += next.length + 1
  }
  return `{"a":[${parts.join()}]}`
}

/** Makes `{"a":{"key0":part,…}}` of a given size. */
const members = (part: (index: number) => string, key = (index: number) => `key${index}`) => (size: number): string => {
  const parts: Array<string> = []
  for (let length = 10, index = 0; length < size; index++) {
    const next = `"${key(index)}":${part(index)}`
    parts.push(next)
    length += next.length + 1
  }
  return `{"a":{${parts.join()}}}`
}

const text = (part: string) => (size: number): string => JSON.stringify({ a: part.repeat(size / part.length) })

const order = (index: number) =>
  `{"id":${index},"name":"Ana Lopez","active":true,"tags":["a","b"],"at":{"city":"Madrid","zip":"28001"},"total":12.5}`
const Order = closed({
  id: integer,
  name: string,
  active: { type: "boolean" },
  tags: list(string),
  at: closed({ city: string, zip: string }),
  total: { type: "number" }
})
const drifted = (index: number) =>
  `{"ID":"${index}","name":"Ana Lopez","active":"True","tags":"a","at":{"City":"Madrid","zip":28001},"total":"12.5"}`

const Expression = {
  ...closed({ a: list({ $ref: "#/$defs/Node" }) }),
  $defs: {
    Node: { anyOf: ["a", "b", "c"].map((key) => closed({ kids: list({ $ref: "#/$defs/Node" }), [key]: integer })) }
  }
}
const grown = (depth: number, drift: string): string =>
  depth === 0
    ? `{"kids":[],"a":${drift}}`
    : `{"kids":[${grown(depth - 1, drift)},${grown(depth - 1, drift)}],"a":${drift}}`

const wide = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`key${index}`, integer]))

const families: { readonly [name: string]: readonly [(size: number) => string, JsonSchema] } = {
  "valid: orders": [items(order), closed({ a: list(Order) })],
  "valid: integers": [items(String), closed({ a: list(integer) })],
  "valid: words": [items(() => "\"word\""), closed({ a: list({ ...string, minLength: 1, pattern: "^[a-z]+$" }) })],
  "valid: a union of eight": [
    items((index) => `{"kind":"k${index % 8}","value":1}`),
    closed({ a: list({ anyOf: [..."01234567"].map((key) => closed({ kind: { const: `k${key}` }, value: integer })) }) })
  ],
  "orders with drifts": [items(drifted), closed({ a: list(Order) })],
  "orders that do not fit": [items(() => "{\"id\":\"x\",\"name\":1.5,\"nome\":2}"), closed({ a: list(Order) })],
  "\"1\" for 1": [items((index) => `"${index}"`), closed({ a: list(integer) })],
  "\"1.0\" for 1": [items(() => "\"1.0\""), closed({ a: list(integer) })],
  "1 for \"1\"": [items(String), closed({ a: list(string) })],
  "\"a\" for [\"a\"], in fields": [
    members(() => "\"a\""),
    closed({ a: { type: "object", additionalProperties: list(string) } })
  ],
  "[\"a\"] for \"a\"": [items(() => "[\"a\"]"), closed({ a: list(string) })],
  "\"[1]\" for [1]": [items(() => "\"[1]\""), closed({ a: list(list(integer)) })],
  "\"['a']\" for [\"a\"]": [items(() => "\"['a']\""), closed({ a: list(list(string)) })],
  "\"[\\\"1\\\"]\" for [1]": [items(() => "\"[\\\"1\\\"]\""), closed({ a: list(list(integer)) })],
  "choices in another case": [items(() => "\"RED\""), closed({ a: list({ enum: ["red", "green"] }) })],
  "choices in another spelling": [
    items(() => "\"in-progress\""),
    closed({ a: list({ enum: ["in_progress", "done"] }) })
  ],
  "choices that there are not": [items(() => "\"blue\""), closed({ a: list({ enum: ["red", "green"] }) })],
  "dates": [items(() => "\"2024-1-2\""), closed({ a: list({ ...string, format: "date" }) })],
  "days that there are not": [items(() => "\"2024-02-30\""), closed({ a: list({ ...string, format: "date" }) })],
  "null for optional": [items(() => "{\"b\":null}"), closed({ a: list(closed({ b: integer }, [])) })],
  "blanks for optional": [items(() => "{\"b\":\"\"}"), closed({ a: list(closed({ b: integer }, [])) })],
  "keys in another case": [items(() => "{\"ItemName\":1}"), closed({ a: list(closed({ itemName: integer })) })],
  "keys in another case, in one object": [
    members(() => "1", (index) => `KEY${index}`),
    closed({ a: closed(wide, []) })
  ],
  "keys that there are not": [members(() => "1"), closed({ a: closed({ key: integer }) })],
  "wrappers": [items(() => "{\"arguments\":{\"b\":1}}"), closed({ a: list(closed({ b: integer })) })],
  "patterns": [items(() => "\"ABC\""), closed({ a: list({ ...string, pattern: "^[a-z]+$" }) })],
  "a pattern that is hostile": [text("a"), closed({ a: { ...string, pattern: "^(a+)+$" } })],
  "a pattern that is hostile, and does not match": [
    (size) => JSON.stringify({ a: `${"a".repeat(size)}!` }),
    closed({ a: { ...string, pattern: "^(a+)+$" } })
  ],
  "unique items": [items(String), closed({ a: { ...list(integer), uniqueItems: true } })],
  "unique objects": [items(order), closed({ a: { ...list({}), uniqueItems: true } })],
  "a recursive union": [(size) => `{"a":[${grown(Math.floor(Math.log2(size / 40)), "\"1\"")}]}`, Expression],
  "a recursive union that does not fit": [
    (size) => `{"a":[${grown(Math.floor(Math.log2(size / 40)), "\"x\"")}]}`,
    Expression
  ],
  "a union of eight that does not fit": [
    items((index) => `{"kind":"k${index % 8}","value":"x"}`),
    closed({ a: list({ anyOf: [..."01234567"].map((key) => closed({ kind: { const: `k${key}` }, value: integer })) }) })
  ],
  "deep": [
    (size) => `{"a":[${Array.from({ length: size / 250 }, () => `${"[".repeat(120)}"1"${"]".repeat(120)}`).join()}]}`,
    {
      ...closed({ a: { $ref: "#/$defs/Tree" } }),
      $defs: { Tree: { anyOf: [integer, list({ $ref: "#/$defs/Tree" })] } }
    }
  ],
  "a long text for a number": [text("1"), closed({ a: integer })],
  "a long text for a list": [text("a,"), closed({ a: list(string) })],
  "a long text of openers for a list": [text("["), closed({ a: list(string) })],
  "a long Python list": [text("['a',"), closed({ a: list(string) })],
  "a long text for a choice": [text("a "), closed({ a: { enum: ["a", "b"] } })],
  "a long key": [(size) => JSON.stringify({ ["k".repeat(size)]: 1 }), closed({ a: integer })],
  "a long key above many": [
    (size) => `{"${"k".repeat(size / 2)}":[${"\"x\",".repeat(size / 8)}1]}`,
    { type: "object", additionalProperties: list(integer) }
  ]
}

const measured = (run: () => unknown, rounds = 7): number => {
  for (let round = 0; round < 3; round++) run()
  return median(Array.from({ length: rounds }, () => timed(run)))
}

const valid = (size: number) => items(order)(size)
const parse = sizes.map((size) => {
  const measure = valid(size)
  return measured(() => JSON.parse(measure), 31)
})

const rows = Object.entries(families).map(([name, [textOf, schema]]) => {
  const costs = sizes.map((size) => {
    const text = textOf(size)
    return { per: measured(() => decode(text, schema)) / text.length, size: text.length }
  })
  const [, small, large, largest] = costs.map(({ per }) => per)
  return {
    name,
    costs,
    toParse: large! / (parse[2]! / sizes[2]!),
    growth: largest! / small!
  }
})

console.log(`ns a character; JSON.parse of valid text of 256 KB: ${(1000 * parse[2]! / sizes[2]!).toFixed(1)}`)
console.table(Object.fromEntries(rows.map(({ costs, growth, name, toParse }) => [name, {
  ...Object.fromEntries(sizes.map((size, index) => [`${size / 1000} KB`, (1000 * costs[index]!.per).toFixed(1)])),
  "256 KB to JSON.parse (at most 50 x)": `${toParse.toFixed(1)} x`,
  "1 MB to 64 KB": `${growth.toFixed(2)} x`
}])))
const slowest = rows.toSorted((a, b) => b.toParse - a.toParse)[0]!
const steepest = rows.toSorted((a, b) => b.growth - a.growth)[0]!
console.log(`slowest: '${slowest.name}', ${slowest.toParse.toFixed(1)} x JSON.parse at 256 KB`)
console.log(`steepest: '${steepest.name}', ${steepest.growth.toFixed(2)} x a character at 1 MB, to 64 KB`)
