/**
 * Advice is a contract: whoever takes a sentence literally sends arguments that are read as one of the meanings of the first
 * text, or that are refused again. Here each kind of sentence is taken literally.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  decode,
  type Json,
  type JsonObject,
  type JsonSchema,
  message,
  type Path,
  type Refusal
} from "@fallible/arguments"
import { faultKinds, parse, partAt } from "@fallible/arguments/internal"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "../support/program.ts"

// -----------------------------------------------------------------------------
// Whoever takes advice literally
// -----------------------------------------------------------------------------

/** What was sent, and where the advice applies. */
interface Sent {
  readonly text: string
  readonly offset: number
  readonly path: Path
  readonly value: Json | undefined
}

/** Returns the texts that somebody sends who does what a sentence says; none if the sentence leaves that to the model. */
type Follow = (sent: Sent, ...words: ReadonlyArray<string>) => ReadonlyArray<string>

const replaced = (value: Json, [key, ...path]: Path, to: (old: Json) => Json): Json => {
  if (key === undefined) return to(value)
  if (Array.isArray(value)) return value.map((item: Json, index) => index === key ? replaced(item, path, to) : item)
  return Object.fromEntries(
    Object.entries(value ?? {}).map(([name, part]) => [name, name === String(key) ? replaced(part, path, to) : part])
  )
}

// Advice on scalars only.
const said = (value: Json): string => typeof value === "object" ? "" : String(value)

const sending = (text: string, path: Path, to: (old: Json) => Json): ReadonlyArray<string> => [
  JSON.stringify(replaced(JSON.parse(text), path, to))
]

const withEach = ({ path, text }: Sent, words: string): ReadonlyArray<string> =>
  words.split(/ or (?=["[{\d-]|null|true|false)/).flatMap((word) => sending(text, path, () => JSON.parse(word)))

const at = ({ offset, text }: Sent, length: number, to: string) => [
  text.slice(0, offset) + to + text.slice(offset + length)
]

const onlyObject = (text: string): ReadonlyArray<string> => text.match(/\{[^{}]*\}/g) ?? []

const keywords = (text: string): ReadonlyArray<string> => {
  const [, inside = ""] = /\(([^()]*)\)/.exec(text) ?? []
  const pairs = Array.from(inside.matchAll(/(\w+)\s*=\s*("[^"]*"|[\d.]+)/g), ([, key, value]) => `"${key}":${value}`)
  return pairs.length === 0 ? [] : [`{${pairs.join(",")}}`]
}

const renamed = ({ path, text }: Sent, to: string): ReadonlyArray<string> => {
  const written = String(path.at(-1))
  return sending(
    text,
    path.slice(0, -1),
    (parent) =>
      Object.fromEntries(Object.entries(parent ?? {}).map(([key, part]) => [key === written ? to : key, part]))
  )
}

const numerals: { readonly [word: string]: number } = { fifty: 50, twelve: 12, "१२": 12 }

const sentences: ReadonlyArray<readonly [sentence: RegExp, follow: Follow]> = [
  [/^Write it in double quotes\.$/, ({ path, text }) => sending(text, path, said)],
  [
    /^Write the number alone, in the unit of this field, without quotes\.$/,
    ({ path, text }) => sending(text, path, (old) => Number(/\d+(?:\.\d+)?/.exec(said(old))?.[0]))
  ],
  [
    /^Write it in the digits 0 to 9, without quotes\.$/,
    ({ path, text }) => sending(text, path, (old) => numerals[said(old)] ?? old)
  ],
  [/^Write a decimal comma as a point\.$/, ({ text }) => [text.replace(/(\d),(?=\d)/g, "$1.")]],
  [/^Add the zone Z, for UTC\.$/, ({ path, text }) => sending(text, path, (old) => `${said(old)}Z`)],
  [/^Write a number without commas\.$/, ({ text }) => [text.replace(/(\d),(?=\d)/g, "$1")]],
  [/^Write a list in square brackets\.$/, ({ text }) => [text.replace("(", "[").replace(")", "]")]],
  [
    /^Write a backslash as \\\\, or leave it out if it is not part of the text\.$/,
    (sent) => [...at(sent, 1, "\\\\"), ...at(sent, 1, "")]
  ],
  [/^Write '(.)' in its ASCII form\.$/, (sent, ascii = "") => at(sent, 1, ascii)],
  [/^Write (.+), without quotes\.$/, (sent, words = "") => withEach(sent, words)],
  [/^Write (.+)\.$/, (sent, words = "") => withEach(sent, words)],
  [/^Did you mean '(.+)'\?$/, (sent, key = "") => renamed(sent, key)],
  [/^Did you mean (".+")\?$/, ({ path, text }, choice = "") => sending(text, path, () => JSON.parse(choice))],
  [/^Send only '.+'\.$/, ({ path, text }) => {
    const written = String(path.at(-1))
    return sending(
      text,
      path.slice(0, -1),
      (parent) => Object.fromEntries(Object.entries(parent ?? {}).filter(([key]) => key !== written))
    )
  }],
  [/^Send what is inside it\.$/, ({ path, text, value }) => sending(text, path.slice(0, -1), () => inner(value))],
  [
    /^Send what is inside its '(.+)'\.$/,
    ({ path, text, value }, key = "") => sending(text, path.slice(0, -1), () => inner(partAt(value, [key])))
  ],
  [/^Add the time and the zone\.$/, ({ path, text }) => sending(text, path, (old) => `${said(old)}T10:00:00Z`)],
  [
    /^Add the zone: Z for UTC, or an offset such as \+02:00\.$/,
    ({ path, text }) => ["Z", "+02:00"].flatMap((zone) => sending(text, path, (old) => said(old) + zone))
  ],
  [/^There is no \d+ \w+ \d+\.$/, () => []],
  [/^Compute it, and send the result\.$/, (sent) => {
    const [expression = ""] = /[\d.*+/ -]+/.exec(sent.text.slice(sent.offset)) ?? []
    const [, left, , right] = /^([\d.]+) ?(\*) ?([\d.]+)$/.exec(expression.trim()) ?? []
    return at(sent, expression.length, String(Number(left) * Number(right)))
  }],
  [/^Put a date in double quotes\.$/, ({ text }) => [text.replace(/[\d/-]{8,10}/, "\"$&\"")]],
  [/^Put a colon after each key\.$/, (sent) => at(sent, 0, ":")],
  [/^Put a comma between the values\.$/, (sent) => at(sent, 0, ",")],
  [/^Put strings in double quotes, and write a double quote inside a text as \\"\.$/, ({ text }) => [
    text.replace(/"([^"]*)"([^"]*)"([^"]*)"\}$/, "\"$1\\\"$2\\\"$3\"}")
  ]],
  [/^Send one string\.$/, ({ text }) => [text.replace(/" *\+ *"/, "")]],
  [/^Send only the arguments, as one JSON object\.$/, ({ text }) => [...onlyObject(text), ...keywords(text)]],
  [/^Send only the JSON object, without tags\.$/, ({ text }) => onlyObject(text)],
  [/^Send (?:the object alone|one JSON object)\.$/, ({ text }) => onlyObject(text)],
  [/^For several objects, make several calls\.$/, ({ text }) => onlyObject(text)],
  [/^Leave comments out\.$/, ({ text }) => [text.replace(/\s*(?:\/\/|#)[^\n]*/, "")]],
  [/^Remove (?:.*), or write it as an escape inside a string\.$/, (sent) => at(sent, 1, "")],
  [/^(?:Leave nothing out|Send less)\.$/, () => []]
]

const inner = (value: unknown): Json => typeof value === "string" ? JSON.parse(value) : value as Json

/** Returns the advice in a refusal, each with the place to which it applies. */
const adviceIn = (refusal: Refusal, text: string): ReadonlyArray<readonly [advice: string, sent: Sent]> => {
  if (refusal.kind !== "misfit") {
    const { advice, offset } = refusal
    return advice === undefined ? [] : [[advice, { text, offset, path: [], value: undefined }]]
  }
  return refusal.issues.flatMap(({ advice, more, path }) => {
    if (advice === undefined || more !== undefined) return []
    const value = parsed(text)
    return value === undefined ? [] : [[advice, { text, offset: 0, path, value: partAt(value, path) as Json }] as const]
  })
}

// A text that is no strict JSON was repaired first, and its advice is about what was read.
const parsed = (text: string): Json | undefined => {
  const strict = parse(text)
  return strict.ok ? strict.value : undefined
}

/** Returns what somebody sends who takes advice literally, or fails if nobody knows how to take it. */
const following = (advice: string, sent: Sent): ReadonlyArray<string> => {
  for (const [sentence, follow] of sentences) {
    const match = sentence.exec(advice)
    if (match !== null) return follow(sent, ...match.slice(1))
  }
  return assert.fail(`nobody knows how to take: ${advice}`)
}

// -----------------------------------------------------------------------------
// The cases
// -----------------------------------------------------------------------------

const object = (properties: JsonObject, more: JsonObject = {}): JsonSchema => ({
  type: "object",
  properties,
  additionalProperties: false,
  ...more
})
const of = (schema: Json, more: JsonObject = {}) => object({ v: schema }, more)

const text = { type: "string" }
const integer = { type: "integer" }
const number = { type: "number" }
const boolean = { type: "boolean" }
const texts = { type: "array", items: text }
const numbers = { type: "array", items: integer }
const dateTime = { type: "string", format: "date-time" }
const any = {}

/**
 * A text that is refused, its schema, and its meanings: the values that may be read after the advice was taken. With
 * `"none"`, there is no advice, because no sentence would be true.
 */
type Case = readonly [text: string, schema: JsonSchema, meanings: ReadonlyArray<Json> | "none"]

const values: ReadonlyArray<Case> = [
  // Numbers
  ["{\"v\":\"1,500\"}", of(integer), [{ v: 1500 }]],
  ["{\"v\":\"1.500\"}", of(number), [{ v: 1.5 }, { v: 1500 }]],
  ["{\"v\":\"1.500,00\"}", of(number), [{ v: 1500 }]],
  ["{\"v\":\"1,20\"}", of(number), [{ v: 1.2 }]],
  ["{\"v\":\"1,20\"}", of(integer), "none"],
  ["{\"v\":\"1 500\"}", of(integer), [{ v: 1500 }]],
  ["{\"v\":\"1_000\"}", of(integer), [{ v: 1000 }]],
  ["{\"v\":\"0x10\"}", of(integer), [{ v: 16 }]],
  ["{\"v\":\"50%\"}", of(number), [{ v: 50 }, { v: 0.5 }]],
  ["{\"v\":\"+3\"}", of(integer), [{ v: 3 }]],
  ["{\"v\":\"#12\"}", of(integer), [{ v: 12 }]],
  ["{\"v\":\"$1.20\"}", of(number), [{ v: 1.2 }]],
  ["{\"v\":\"$1.20\"}", of(integer), []],
  ["{\"v\":\"5 EUR\"}", of(number), [{ v: 5 }]],
  ["{\"v\":\"30s\"}", of(integer), [{ v: 30 }]],
  ["{\"v\":\"3 days\"}", of(integer), [{ v: 3 }]],
  ["{\"v\":\"5k\"}", of(integer), "none"],
  ["{\"v\":\"B12\"}", of(integer), "none"],
  ["{\"v\":\"5th\"}", of(integer), "none"],
  ["{\"v\":5}", of({ multipleOf: 2 }), "none"],
  ["{\"v\":\"3 million\"}", of(integer), "none"],
  ["{\"v\":\"5²\"}", of(integer), "none"],
  ["{\"v\":19.99}", of(integer), "none"],
  ["{\"v\":\"19.99\"}", of(integer), "none"],
  ["{\"v\":\"fifty\"}", of(integer), [{ v: 50 }]],
  ["{\"v\":\"१२\"}", of(integer), [{ v: 12 }]],
  ["{\"v\":\"５０\"}", of(integer), [{ v: 50 }]],
  ["{\"v\":9007199254740993}", of(integer), "none"],
  // Other scalars
  ["{\"v\":\"yes\"}", of(boolean), [{ v: true }]],
  ["{\"v\":0}", of(boolean), [{ v: false }]],
  ["{\"v\":\"None\"}", of(boolean), "none"],
  ["{\"v\":\"None\"}", of({ type: ["integer", "null"] }), [{ v: null }]],
  ["{\"v\":\"\"}", of({ anyOf: [integer, { type: "null" }] }), [{ v: null }]],
  ["{\"v\":\"celcius\"}", of({ enum: ["celsius", "kelvin"] }), [{ v: "celsius" }]],
  ["{\"v\":\"include\"}", of({ enum: ["exclude", "replace"] }), "none"],
  ["{\"v\":\"2024-01-05\"}", of(dateTime), [{ v: "2024-01-05T10:00:00Z" }]],
  ["{\"v\":\"2024-01-05T10:00:00\"}", of(dateTime), [{ v: "2024-01-05T10:00:00Z" }, {
    v: "2024-01-05T10:00:00+02:00"
  }]],
  ["{\"v\":\"01/02/2024\"}", of({ type: "string", format: "date" }), [{ v: "2024-01-02" }, { v: "2024-02-01" }]],
  ["{\"v\":\"2024-02-30\"}", of({ type: "string", format: "date" }), []],
  // Lists
  ["{\"v\":\"a, b\"}", of(texts), [{ v: ["a", "b"] }, { v: ["a, b"] }]],
  ["{\"v\":\"New York, NY\"}", of(texts), [{ v: ["New York, NY"] }, { v: ["New York", "NY"] }]],
  ["{\"v\":\"'a, b', 'c'\"}", of(texts), [{ v: ["a, b", "c"] }]],
  ["{\"v\":\"- a\\n- b\"}", of(texts), [{ v: ["a", "b"] }, { v: ["- a\n- b"] }]],
  ["{\"v\":\"1,2\"}", of(numbers), [{ v: [1, 2] }]],
  ["{\"v\":\"1,500\"}", of(numbers), [{ v: [1, 500] }, { v: [1500] }]],
  ["{\"v\":\"null\"}", of({ ...texts, nullable: true }), [{ v: [] }, { v: ["null"] }, { v: null }]],
  ["{\"v\":500}", of({ anyOf: [{ type: "integer", maximum: 100 }, numbers] }), "none"],
  ["{\"v\":\"None\"}", of({ enum: ["a", null] }), [{ v: null }]],
  ["{\"v\":\"5\"}", of(numbers), [{ v: [5] }]],
  ["{\"v\":\"red and blue\"}", of(texts), [{ v: ["red", "blue"] }, { v: ["red and blue"] }]],
  ["{\"v\":\"a@b.co c@d.eu\"}", of(texts), [{ v: ["a@b.co", "c@d.eu"] }, { v: ["a@b.co c@d.eu"] }]],
  ["{\"v\":\"n/a\"}", of(texts), [{ v: [] }, { v: ["n/a"] }]],
  ["{\"v\":\"none\"}", of({ ...texts, minItems: 1 }), [{ v: ["none"] }]],
  // Keys
  ["{\"citi\":\"Rome\"}", object({ city: text }), [{ city: "Rome" }]],
  ["{\"lastName\":\"Lee\"}", object({ firstName: text }), "none"],
  ["{\"sendTo\":\"x\"}", object({ sendBy: text }), "none"],
  ["{\"line1\":\"x\"}", object({ line2: text }), "none"],
  ["{\"Amount\":5,\"amount\":6}", object({ amount: integer, account: integer }), [{ amount: 6 }]],
  ["{\"dry_run\":true,\"DryRun\":true}", { type: "object", properties: { dryRun: boolean } }, [
    { dryRun: true, DryRun: true },
    { dryRun: true, dry_run: true }
  ]],
  ["{\"arguments\":{\"path\":{\"x\":1}}}", { type: "object", properties: { path: text } }, "none"],
  ["{\"x\":1,\"data\":{\"city\":\"Rome\"}}", object({ city: text }, { required: ["city"] }), [{ city: "Rome" }]],
  // Forms
  ["{\"v\":5}", of({ oneOf: [integer, number, text] }), "none"],
  ["{\"v\":\"x\"}", of({ type: "string", not: { const: "x" } }), "none"],
  ["{\"A\":1}", { type: "object", propertyNames: { pattern: "^[a-z]+$" } }, "none"],
  ["{\"other\":1}", { type: "object", patternProperties: { "^x-": any }, additionalProperties: false }, "none"],
  [
    "{\"v\":{\"t\":\"cat\",\"barks\":1}}",
    of({
      oneOf: [
        object({ t: { const: "cat" }, meows: integer }, { required: ["t"] }) as JsonObject,
        object({ t: { const: "dog" }, barks: integer }, { required: ["t"] }) as JsonObject
      ]
    }),
    "none"
  ]
]

const unreadable: ReadonlyArray<Case> = [
  ["[{\"v\":1},{\"v\":2}]", any, [{ v: 1 }, { v: 2 }]],
  ["{\"v\":b}", any, "none"],
  ["{\"v\":[1,2}", any, "none"],
  ["get(v=\"Paris\")", any, [{ v: "Paris" }]],
  ["[get(v=\"Paris\")]", any, [{ v: "Paris" }]],
  ["({\"v\":1})", any, [{ v: 1 }]],
  ["{\"v\":\"x\" + \"y\"}", any, [{ v: "xy" }]],
  ["{\"v\":1", any, "none"],
  ["{\"v\":1,\"v\":2}", any, "none"],
  ["{\"v\":[1,...]}", any, []],
  ["{\"v\":6*7}", any, [{ v: 42 }]],
  ["{\"v\":2024-01-05}", any, [{ v: "2024-01-05" }]],
  ["{\"v\":1/2/2024}", any, [{ v: "1/2/2024" }]],
  ["{\"v\":555-1234}", any, "none"],
  ["{\"v\":50%}", any, "none"],
  ["{\"v\":(5)}", any, "none"],
  ["{\"v\":1,5}", any, [{ v: 1.5 }]],
  ["{\"v\":(1,2)}", any, [{ v: [1, 2] }]],
  ["{\"v\":now()}", any, "none"],
  ["{\"v\":\"\\$5\"}", any, [{ v: "$5" }, { v: "\\$5" }]],
  ["{\"v\":\"C:\\Users\"}", any, [{ v: "C:\\Users" }, { v: "C:Users" }]],
  ["{\"v\":NaN}", any, "none"],
  ["{\"v\":\u00a01}", any, [{ v: 1 }]],
  ["{\"v\"：1}", any, [{ v: 1 }]],
  ["{\"v\":１}", any, [{ v: 1 }]],
  ["<think>now</think>{\"v\":1}", any, [{ v: 1 }]],
  ["<call><v>1</v></call>", any, []],
  ["{\"v\" 1}", any, [{ v: 1 }]],
  ["{\"v\":[1 2]}", any, [{ v: [1, 2] }]],
  ["{\"v\":}", any, "none"],
  ["v is 1", any, []],
  ["Here you are: {\"v\":1}", any, [{ v: 1 }]],
  ["{\"__proto__\":1}", any, "none"],
  ["{\"v\":1}{\"v\":2}", any, [{ v: 1 }, { v: 2 }]],
  ["[".repeat(200), any, "none"],
  [`{"v":"${"x".repeat(1_100_000)}"}`, any, []],
  ["{“v”:1 \"w\":1,\"w\":1}", any, "none"],
  ["{\"v\":1500#00\n}", any, [{ v: 1500 }]],
  ["{\"v\":\"say \"hi\" to me\"}", any, [{ v: "say \"hi\" to me" }]],
  ["{\"v\":@}", any, "none"],
  ["{v-w:1}", any, "none"],
  ["{\"v\": 1,500}", any, [{ v: 1500 }]]
]

describe("advice, taken literally", () => {
  it.each([...values, ...unreadable])("%s", (text, schema, meanings) => {
    const decoded = decode(text, schema)
    assert(!decoded.ok)
    const advice = adviceIn(decoded.refusal, text)
    if (meanings === "none") return assert.deepStrictEqual(advice.map(([words]) => words), [])
    assert.isNotEmpty(advice, message(decoded.refusal))
    const read = advice.flatMap(([words, sent]) => following(words, sent)).map((sent) => decode(sent, schema))
      .flatMap((again) => again.ok ? [again.value] : [])
    // Each value is a meaning, and each meaning can be reached.
    for (const value of read) assert.deepInclude(meanings, value)
    for (const meaning of meanings) assert.deepInclude(read, meaning)
  })

  it("has a case for each kind of fault", () => {
    const kinds = unreadable.map(([text, schema]) => {
      const decoded = decode(text, schema)
      return decoded.ok ? "" : decoded.refusal.kind
    })
    assert.deepStrictEqual(faultKinds.filter((kind) => !kinds.includes(kind)), [])
  })

  it("can be taken, whatever was written", () => {
    const tools: ReadonlyArray<
      { readonly schema: JsonSchema; readonly rows: ReadonlyArray<{ readonly text: string }> }
    > = JSON.parse(readFileSync(join(root, "test/corpora/argumentTexts.json"), "utf8"))
    const taken = tools.flatMap(({ rows, schema }) =>
      rows.flatMap(({ text }) => {
        const decoded = decode(text, schema)
        return decoded.ok ? [] : adviceIn(decoded.refusal, text).map(([words, sent]) => {
          following(words, sent)
          return words
        })
      })
    )
    assert.isAbove(taken.length, 200)
  })
})
