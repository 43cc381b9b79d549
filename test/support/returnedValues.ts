/** What handlers return in ordinary JavaScript, and what the model should read of it. */

/** A value, what `JSON.stringify` writes or what a user would expect, and notes if the model needs any. */
export interface Returned {
  readonly name: string
  readonly value: unknown
  /** `undefined`: a field with this value is left out, and the value alone is null. */
  readonly json: unknown
  readonly notes?: ReadonlyArray<string>
}

const at = new Date(0)

class Decimal {
  readonly digits = "12.50"
  toJSON() {
    return this.digits
  }
}

class Point {
  x = 1
  #secret = 2
  y = 3
  get sum() {
    return this.x + this.#secret
  }
}

class Row {
  static fields = ["id"]
  readonly id = 7
  readonly at = at
  save() {}
}

const shared = { id: 1 }
const cyclic: Record<string, unknown> = { id: 1 }
cyclic["self"] = cyclic
const cyclicList: Array<unknown> = [1]
cyclicList.push(cyclicList)

class HttpError extends Error {
  readonly config = { headers: { authorization: "Bearer s3cr3t" } }
  toJSON() {
    return { config: this.config }
  }
}

const throwing = {
  id: 1,
  get broken(): number {
    throw new Error("no")
  }
}

/** Values that are the same under every schema. */
export const returned: ReadonlyArray<Returned> = [
  { name: "null", value: null, json: null },
  { name: "a string", value: "sent", json: "sent" },
  { name: "an empty string", value: "", json: "" },
  { name: "a number", value: 1.5, json: 1.5 },
  { name: "a boolean", value: false, json: false },
  { name: "undefined", value: undefined, json: undefined },
  { name: "a function", value: () => 1, json: undefined },
  { name: "a symbol", value: Symbol("paid"), json: undefined },
  { name: "a bigint", value: 10n, json: "10" },
  { name: "a bigint beyond any number", value: 2n ** 70n, json: "1180591620717411303424" },
  { name: "NaN", value: Number.NaN, json: null, notes: ["NaN is shown as null"] },
  { name: "an infinity", value: -Infinity, json: null, notes: ["-Infinity is shown as null"] },
  { name: "a date", value: at, json: "1970-01-01T00:00:00.000Z" },
  {
    name: "an invalid date",
    value: new Date(Number.NaN),
    json: null,
    notes: ["an invalid date is shown as null"]
  },
  { name: "a URL", value: new URL("https://a.b/c?d=1"), json: "https://a.b/c?d=1" },
  { name: "a decimal", value: new Decimal(), json: "12.50" },
  { name: "an object with absent fields", value: { a: 1, b: undefined, c: () => 1 }, json: { a: 1 } },
  { name: "a list with absent items", value: [undefined, () => 1, 2], json: [null, null, 2] },
  // oxlint-disable-next-line no-sparse-arrays
  { name: "a list with a hole", value: [1, , 2], json: [1, null, 2] },
  { name: "a map", value: new Map<unknown, unknown>([["a", 1], [2, at]]), json: { a: 1, 2: at.toJSON() } },
  { name: "a map with objects as keys", value: new Map([[{ id: 1 }, "x"]]), json: [[{ id: 1 }, "x"]] },
  { name: "an empty map", value: new Map(), json: {} },
  { name: "a set", value: new Set([1, "b", at]), json: [1, "b", at.toJSON()] },
  { name: "a buffer", value: Buffer.from("hello"), json: "<5 bytes>" },
  { name: "bytes", value: new Uint8Array(1), json: "<1 byte>" },
  { name: "an array buffer", value: new ArrayBuffer(8), json: "<8 bytes>" },
  { name: "a list of floats", value: new Float64Array([0.5, 1]), json: [0.5, 1] },
  { name: "an error", value: new Error("The room is taken."), json: { error: "The room is taken." } },
  {
    name: "an error of an HTTP client",
    value: Object.assign(new HttpError("Request failed with status code 404"), { response: { status: 404 } }),
    json: { error: "The service answered 404." }
  },
  {
    name: "settled promises",
    value: [{ status: "rejected", reason: new Error("Sold out.") }],
    json: [
      { status: "rejected", reason: { error: "Sold out." } }
    ]
  },
  { name: "an object of a class", value: new Point(), json: { x: 1, y: 3 } },
  { name: "a row of a database", value: new Row(), json: { id: 7, at: at.toJSON() } },
  { name: "an object without a prototype", value: Object.assign(Object.create(null), { a: 1 }), json: { a: 1 } },
  { name: "a boxed string", value: Object("a"), json: "a" },
  { name: "a regular expression", value: /a/, json: {} },
  { name: "an object in itself", value: cyclic, json: { id: 1, self: "<circular>" } },
  { name: "a list in itself", value: cyclicList, json: [1, "<circular>"] },
  { name: "a shared object", value: [shared, shared, at], json: [shared, shared, at.toJSON()] },
  { name: "an object whose getter throws", value: throwing, json: "<unreadable>", notes: ["a value cannot be read"] },
  {
    name: "an object whose toJSON throws",
    value: { toJSON: () => throwing.broken },
    json: "<unreadable>",
    notes: [
      "a value cannot be read"
    ]
  },
  {
    name: "a promise in a field",
    value: { user: Promise.resolve(1) },
    json: { user: "<promise>" },
    notes: [
      "user: a promise was not awaited"
    ]
  },
  {
    name: "a field named __proto__",
    value: JSON.parse("{\"__proto__\":{\"a\":1},\"b\":2}"),
    json: JSON.parse(
      "{\"__proto__\":{\"a\":1},\"b\":2}"
    )
  },
  {
    name: "fields with a NaN and a date",
    value: { price: Number.NaN, at },
    json: { price: null, at: at.toJSON() },
    notes: [
      "price: NaN is shown as null"
    ]
  }
]
