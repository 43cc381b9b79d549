import { assert, describe, it } from "@effect/vitest"
import type { Schema } from "effect"
import * as fc from "fast-check"
import { type CutJson, cutJson, type JsonSize, type Omission } from "../../packages/core/src/internal/value/cutJson.ts"

const bytesOf = (value: Schema.Json): number => new TextEncoder().encode(JSON.stringify(value)).length

const cut = (value: Schema.Json, bytes: number, items = Infinity): CutJson => {
  const result = cutJson(value, { bytes, items })
  return result ?? assert.fail("the value fits")
}

const user = (id: number) => ({ id, name: `user ${id}`, email: `user${id}@example.com`, isActive: true })
const users = (count: number) => Array.from({ length: count }, (_, id) => user(id))

const isArray = (value: Schema.Json | undefined): value is Schema.JsonArray => Array.isArray(value)

const isObject = (value: Schema.Json | undefined): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !isArray(value)

describe("a value that fits", () => {
  it("is not cut", () => {
    assert.isUndefined(cutJson({ rows: [1, 2, 3], total: 3 }, { bytes: 26, items: 3 }))
    assert.isUndefined(cutJson(users(1000), { bytes: Infinity, items: Infinity }))
    assert.isUndefined(cutJson("", { bytes: 2, items: 0 }))
    assert.isUndefined(cutJson([], { bytes: 2, items: 0 }))
  })

  it("has at most the bytes", () => {
    const value = { rows: [1, 2, 3], total: 3 }
    assert.isDefined(cutJson(value, { bytes: 25, items: 3 }))
    assert.isUndefined(cutJson("ä€😀", { bytes: 11, items: 0 }))
    assert.isDefined(cutJson("ä€😀", { bytes: 10, items: 0 }))
    assert.isUndefined(cutJson("\ud800\n\u0001\"", { bytes: 18, items: 0 }))
    assert.isDefined(cutJson("\ud800\n\u0001\"", { bytes: 17, items: 0 }))
  })

  it("has no array with more items", () => {
    assert.isDefined(cutJson([1, 2, 3], { bytes: 100, items: 2 }))
    assert.isDefined(cutJson({ a: { b: [{ c: [1, 2, 3] }] } }, { bytes: 100, items: 2 }))
    assert.isUndefined(cutJson({ a: { b: [{ c: [1, 2, 3] }] } }, { bytes: 100, items: 3 }))
  })

  it("is recognized from its text", () => {
    const value = users(10)
    assert.deepStrictEqual(
      cutJson(value, { bytes: 300, items: 10 }, JSON.stringify(value)),
      cutJson(value, { bytes: 300, items: 10 })
    )
  })
})

describe("a cut array", () => {
  it("keeps its first items", () => {
    assert.deepStrictEqual(cut([1, 2, 3, 4, 5], 8), {
      value: [1, 2, 3],
      omissions: [{ path: [], unit: "items", shown: 3, of: 5 }],
      omitted: 1
    })
  })

  it("has no more items than allowed", () => {
    assert.deepStrictEqual(cut({ rows: [[1, 2, 3], 4, 5, 6] }, 1000, 2), {
      value: { rows: [[1, 2], 4] },
      omissions: [
        { path: ["rows"], unit: "items", shown: 2, of: 4 },
        { path: ["rows", 0], unit: "items", shown: 2, of: 3 }
      ],
      omitted: 2
    })
  })

  it("has as many whole items as the bytes allow", () => {
    for (const bytes of [500, 1000, 1500, 3000, 10_000, 50_000]) {
      const { omissions, omitted, value } = cut(users(5000), bytes)
      assert.isTrue(isArray(value))
      const shown = isArray(value) ? value.length : 0
      assert.isAtLeast(bytesOf(value), bytes - bytesOf(user(shown)))
      assert.deepStrictEqual(value, users(shown))
      assert.deepStrictEqual(omissions, [{ path: [], unit: "items", shown, of: 5000 }])
      assert.strictEqual(omitted, 1)
    }
  })

  it("uses at least four fifths of the bytes, whatever the size of its items", () => {
    for (let length = 1; length < 1500; length += 31) {
      for (const item of ["x".repeat(length), { a: 1, b: "x".repeat(length) }, Array(length).fill(1)]) {
        assert.isAtLeast(bytesOf(cut(Array(600).fill(item), 1000).value), 800)
      }
    }
  })

  it("cuts the long strings of its items, so that more of them are shown", () => {
    const documents = Array.from({ length: 300 }, (_, id) => ({ id, text: "word ".repeat(2000) }))
    const { omissions, omitted, value } = cut(documents, 4000)
    assert.isTrue(isArray(value))
    if (!isArray(value)) return
    assert.isAtLeast(value.length, 10)
    assert.isTrue(
      value.every((item, id) =>
        isObject(item) && item["id"] === id && /^word .*…$/.test(JSON.stringify(item["text"]).slice(1, -1))
      )
    )
    assert.strictEqual(omitted, value.length + 1)
    assert.deepStrictEqual(omissions[0], { path: [], unit: "items", shown: value.length, of: 300 })
    assert.deepStrictEqual(omissions[1]?.path, [0, "text"])
  })

  it("cuts long items to no less than some hundred bytes", () => {
    const documents = users(1000).map(({ id }) => ({ id, text: "word ".repeat(2000) }))
    const { value } = cut(documents, 50_000, 100)
    assert.isTrue(isArray(value) && value.length >= 90 && value.every((item) => bytesOf(item) > 450))
  })

  it("cuts an item that alone is too big", () => {
    const { omissions, value } = cut([1, 2, users(1000), 4], 300)
    assert.deepStrictEqual(value, [1, 2, users(4), 4])
    assert.deepStrictEqual(omissions, [{ path: [2], unit: "items", shown: 4, of: 1000 }])
  })

  it("keeps all fields of its first item before it shows a second one", () => {
    assert.deepStrictEqual(cut(users(100), bytesOf(users(1))).value, users(1))
    assert.deepStrictEqual(cut(users(100), bytesOf(users(1)) + 15).value, users(1))
  })
})

describe("a cut string", () => {
  it("keeps its beginning, and ends in an ellipsis", () => {
    assert.deepStrictEqual(cut("abcdefghij", 10), {
      value: "abcde…",
      omissions: [{ path: [], unit: "characters", shown: 5, of: 10 }],
      omitted: 1
    })
  })

  it("is measured in bytes of JSON, and counted in characters", () => {
    assert.deepStrictEqual(cut("€".repeat(100), 15).value, "€€€…")
    assert.deepStrictEqual(cut("\"".repeat(100), 15).value, "\"\"\"\"\"…")
    assert.deepStrictEqual(cut("\u0000".repeat(100), 17).value, "\u0000\u0000…")
    assert.deepStrictEqual(cut("😀".repeat(100), 15), {
      value: "😀😀…",
      omissions: [{ path: [], unit: "characters", shown: 4, of: 200 }],
      omitted: 1
    })
  })

  it("never ends with half of a surrogate pair", () => {
    const text = `ab${"😀".repeat(1_250_000)}`
    for (const [bytes, shown] of [[10, 2], [11, 4], [12, 4], [14, 4], [15, 6]] as const) {
      assert.strictEqual(cut(text, bytes).value, `${text.slice(0, shown)}…`)
    }
  })
})

describe("a cut object", () => {
  it("keeps the total that stands after five megabytes", () => {
    const { omissions, omitted, value } = cut({ rows: users(70_000), total: 70_000, next: "eyJpZCI6N30" }, 2000, 100)
    assert.isTrue(isObject(value))
    if (!isObject(value) || !isArray(value["rows"])) return
    assert.strictEqual(value["total"], 70_000)
    assert.strictEqual(value["next"], "eyJpZCI6N30")
    assert.isAtLeast(bytesOf(value), 1900)
    assert.deepStrictEqual(omissions, [{ path: ["rows"], unit: "items", shown: value["rows"].length, of: 70_000 }])
    assert.strictEqual(omitted, 1)
  })

  it("divides the bytes fairly, and keeps small fields whole", () => {
    const { omissions, value } = cut({ a: "a".repeat(3_000_000), b: "small", c: "c".repeat(3_000_000) }, 230)
    assert.deepStrictEqual(value, { a: `${"a".repeat(98)}…`, b: "small", c: `${"c".repeat(98)}…` })
    assert.deepStrictEqual(omissions, [
      { path: ["a"], unit: "characters", shown: 98, of: 3_000_000 },
      { path: ["c"], unit: "characters", shown: 98, of: 3_000_000 }
    ])
  })

  it("divides the bytes among big arrays", () => {
    const { value } = cut({ a: Array(1000).fill(1), b: Array(100_000).fill(2), c: [3] }, 100)
    assert.deepStrictEqual(value, { a: Array(19).fill(1), b: Array(19).fill(2), c: [3] })
  })

  it("keeps all names, numbers and short strings, however deep they are", () => {
    const value = {
      data: { user: { id: 1, bio: "z".repeat(5000), tags: Array(500).fill("tag") }, posts: users(1000) },
      meta: { page: { total: 1000, next: null } }
    }
    const { value: shown } = cut(value, 200)
    assert.nestedProperty(shown, "data.posts")
    assert.nestedProperty(shown, "data.user.bio")
    assert.nestedProperty(shown, "data.user.tags")
    assert.nestedPropertyVal(shown, "data.user.id", 1)
    assert.nestedPropertyVal(shown, "meta.page.total", 1000)
  })

  it("leaves out fields only if there is no room for all names", () => {
    const value = { first: users(10), second: users(10), third: users(10), total: 30 }
    assert.deepStrictEqual(cut(value, 55), {
      value: { first: "…", second: "…", third: "…", total: 30 },
      omissions: ["first", "second", "third"].map((name) => ({
        path: [name],
        unit: "levels" as const,
        shown: 0,
        of: 10
      })),
      omitted: 3
    })
    assert.deepStrictEqual(cut(value, 40), {
      value: { first: [{ id: 0 }], total: 30 },
      omissions: [
        { path: [], unit: "fields", shown: 2, of: 4 },
        { path: ["first"], unit: "items", shown: 1, of: 10 },
        { path: ["first", 0], unit: "fields", shown: 1, of: 4 }
      ],
      omitted: 3
    })
  })

  it("keeps the first fields of a dictionary, and its totals", () => {
    const words = Array.from({ length: 10_000 }, (_, index): [string, number] => [`word${index}`, index])
    const { omissions, omitted, value } = cut(Object.fromEntries([...words, ["total", 10_000]]), 1000)
    assert.isTrue(isObject(value))
    const shown = isObject(value) ? Object.keys(value).length : 0
    assert.deepStrictEqual(Object.entries(value ?? {}), [...words.slice(0, shown - 1), ["total", 10_000]])
    assert.isAtLeast(bytesOf(value), 950)
    assert.deepStrictEqual(omissions, [{ path: [], unit: "fields", shown, of: 10_001 }])
    assert.strictEqual(omitted, 1)
  })

  it("knows the names of totals, counts and marks of pages", () => {
    const names = [
      "total",
      "totalCount",
      "row_count",
      "nextCursor",
      "@odata.nextLink",
      "has_more",
      "hasMore",
      "page",
      "prev",
      "isTruncated"
    ]
    const others = ["country", "discount", "pageant", "nexus", "moreover", "subtotally"]
    const words = Array.from({ length: 1000 }, (_, index) => [`word${index}`, index] as const)
    const fields = [...names, ...others].map((name) => [name, 1] as const)
    const { value } = cut(Object.fromEntries([...words, ...fields]), 400)
    assert.containsAllKeys(value, names)
    assert.doesNotHaveAnyKeys(value, others)
  })

  it("leaves out a field whose name is longer than the bytes, and keeps the others", () => {
    assert.deepStrictEqual(cut({ a: 1, ["n".repeat(1000)]: 2, c: 3 }, 100), {
      value: { a: 1, c: 3 },
      omissions: [{ path: [], unit: "fields", shown: 2, of: 3 }],
      omitted: 1
    })
  })

  it("keeps a field with the name __proto__ as an own field", () => {
    const value: Schema.Json = JSON.parse(`{"__proto__":{"a":"${"x".repeat(100)}"},"b":1}`)
    assert.strictEqual(JSON.stringify(cut(value, 50).value), `{"__proto__":{"a":"xxxxxxxxxxxxxxxxxxx…"},"b":1}`)
  })
})

describe("a deep value", () => {
  it("ends in an ellipsis where no level has room", () => {
    let value: Schema.Json = users(1000)
    for (let depth = 0; depth < 500; depth++) value = [value]
    const { omissions, value: shown } = cut(value, 25)
    assert.deepStrictEqual(shown, [[[[[[[[[["…"]]]]]]]]]])
    assert.deepStrictEqual(omissions, [{ path: Array(10).fill(0), unit: "levels", shown: 0, of: 1 }])
  })

  it("may have 512 levels", () => {
    let value: Schema.Json = users(1000)
    for (let depth = 0; depth < 512; depth++) value = depth % 2 === 0 ? [value] : { inner: value, depth }
    const { omissions } = cut(value, 20_000)
    assert.strictEqual(omissions[0]?.path.length, 512)
    assert.strictEqual(omissions[0]?.of, 1000)
  })
})

describe("the omissions", () => {
  it("are listed from the outside in, twenty at most, and counted", () => {
    const long = "x".repeat(1000)
    const value = { a: { deep: [long] }, list: users(40).map(() => ({ text: long, more: long })), b: long }
    const { omissions, omitted } = cut(value, 3000, 12)
    assert.strictEqual(omitted, 23)
    assert.deepStrictEqual(
      omissions.map(({ path }) => path.join(".")),
      ["list", "b", "a.deep.0", ...users(8).flatMap(({ id }) => [`list.${id}.text`, `list.${id}.more`]), "list.8.text"]
    )
    assert.deepStrictEqual(omissions[0], { path: ["list"], unit: "items", shown: 10, of: 40 })
  })
})

describe("a tiny number of bytes", () => {
  const values: ReadonlyArray<readonly [Schema.Json, Omission["unit"], number]> = [
    [[1, 2, 3, 4], "levels", 4],
    [{ a: 1, b: 2 }, "levels", 2],
    ["abcdefgh", "characters", 8],
    [1234567890, "characters", 10],
    [{ ["n".repeat(1000)]: 2 }, "levels", 1]
  ]

  it("leaves only an ellipsis", () => {
    for (const [value, unit, of] of values) {
      for (const bytes of [0, 1, 3, 5]) {
        const { omissions, value: shown } = cut(value, bytes)
        if (shown !== "…") assert.isAtMost(bytesOf(shown), bytes)
        else assert.deepStrictEqual(omissions, [{ path: [], unit, shown: 0, of }])
      }
      assert.strictEqual(cut(value, 0).value, "…")
    }
    assert.strictEqual(cut(null, 3).value, "…")
  })

  it("does not cut an ellipsis again", () => {
    assert.isUndefined(cutJson("…", { bytes: 0, items: 0 }))
  })

  it("does not show an array as empty if no item may be shown", () => {
    assert.deepStrictEqual(cut({ a: [1, 2], b: [] }, 100, 0).value, { a: "…", b: [] })
  })
})

describe("any value", { tags: "slow" }, () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 30 }),
    fc.string({ maxLength: 5 }),
    // Also has single surrogates.
    fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 30 }).map((units) => String.fromCharCode(...units)),
    fc.integer({ min: 0, max: 300 }).map((length) => "long 😀".repeat(length)),
    fc.constantFrom("__proto__", "total", "next", "…", "")
  )
  const scalar = fc.oneof(
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value === 0 ? 0 : value),
    text
  )
  const row = fc.dictionary(text, scalar, { maxKeys: 5 })
  const length = fc.integer({ min: 0, max: 200 })
  const { json } = fc.letrec<{ json: Schema.Json }>((tie) => ({
    json: fc.oneof(
      { depthSize: "medium", maxDepth: 6, withCrossShrink: true },
      scalar,
      fc.array(tie("json"), { maxLength: 8 }),
      fc.dictionary(text, tie("json"), { maxKeys: 8 }),
      fc.tuple(fc.oneof(scalar, row), length).map(([item, length]) => Array.from({ length }, () => item)),
      fc.tuple(fc.oneof(scalar, row), length).map(([field, length]) =>
        Object.fromEntries(Array.from({ length }, (_, index) => [`field${index}`, field]))
      )
    )
  }))
  const size: fc.Arbitrary<JsonSize> = fc.record({
    bytes: fc.oneof(
      fc.integer({ min: 0, max: 40 }),
      fc.integer({ min: 0, max: 500 }),
      fc.integer({ min: 0, max: 20_000 }),
      fc.constant(Infinity)
    ),
    items: fc.oneof(fc.integer({ min: 0, max: 10 }), fc.integer({ min: 0, max: 300 }), fc.constant(Infinity))
  })
  const holds = (law: (value: Schema.Json, size: JsonSize) => void) => {
    fc.assert(fc.property(json, size, law), { numRuns: 300 })
  }

  const maxItems = (value: Schema.Json): number =>
    typeof value !== "object" || value === null
      ? 0
      : Object.values<Schema.Json>(value).reduce<number>(
        (max, inner) => Math.max(max, maxItems(inner)),
        isArray(value) ? value.length : 0
      )
  const isWithin = (value: Schema.Json, { bytes, items }: JsonSize): boolean =>
    bytesOf(value) <= bytes && maxItems(value) <= items

  /** Compares a cut value with the original, and returns the omissions. Fails if it is not a beginning. */
  const omissionsOf = (
    whole: Schema.Json,
    shown: Schema.Json | undefined,
    path: ReadonlyArray<string | number> = []
  ): ReadonlyArray<Omission> => {
    if (shown === "…" && whole !== "…") {
      return typeof whole === "object" && whole !== null
        ? [{ path, unit: "levels", shown: 0, of: Object.keys(whole).length }]
        : [{ path, unit: "characters", shown: 0, of: `${whole}`.length }]
    }
    if (isArray(whole)) {
      if (!isArray(shown)) return assert.fail("not an array")
      if (whole.length > 0) assert.isNotEmpty(shown)
      return [
        ...shown.length < whole.length
          ? [{ path, unit: "items", shown: shown.length, of: whole.length } as const]
          : [],
        ...shown.flatMap((item, index) => omissionsOf(whole[index] ?? null, item, [...path, index]))
      ]
    }
    if (isObject(whole)) {
      if (!isObject(shown)) return assert.fail("not an object")
      const names = Object.keys(whole)
      const kept = Object.keys(shown)
      if (names.length > 0) assert.isNotEmpty(kept)
      assert.deepStrictEqual(kept, names.filter((name) => Object.hasOwn(shown, name)))
      return [
        ...kept.length < names.length ? [{ path, unit: "fields", shown: kept.length, of: names.length } as const] : [],
        ...kept.flatMap((name) => omissionsOf(whole[name] ?? null, shown[name], [...path, name]))
      ]
    }
    if (whole === shown) return []
    if (typeof whole !== "string" || typeof shown !== "string") return assert.fail("a scalar has changed")
    const end = shown.length - 1
    assert.strictEqual(shown, `${whole.slice(0, end)}…`)
    assert.isFalse(/[\ud800-\udbff]$/.test(whole.slice(0, end)) && /^[\udc00-\udfff]/.test(whole.slice(end)))
    return [{ path, unit: "characters", shown: end, of: whole.length }]
  }

  it("is cut exactly if it does not fit", () => {
    holds((value, size) => {
      assert.strictEqual(cutJson(value, size) === undefined, value === "…" || isWithin(value, size))
    })
  })

  it("fits when it is cut, and is valid JSON", () => {
    holds((value, size) => {
      const shown = cutJson(value, size)?.value
      if (shown === undefined || shown === "…") return
      assert.isTrue(isWithin(shown, size))
      assert.strictEqual(JSON.stringify(JSON.parse(JSON.stringify(shown))), JSON.stringify(shown))
    })
  })

  it("is not cut a second time", () => {
    holds((value, size) => {
      const once = cutJson(value, size)
      if (once !== undefined) assert.isUndefined(cutJson(once.value, size))
    })
  })

  it("keeps its beginning, and every omission is told", () => {
    holds((value, size) => {
      const result = cutJson(value, size)
      if (result === undefined) return
      const all = omissionsOf(value, result.value).toSorted((a, b) => a.path.length - b.path.length)
      assert.isNotEmpty(all)
      assert.deepStrictEqual(result.omissions, all.slice(0, 20))
      assert.strictEqual(result.omitted, all.length)
    })
  })

  it("is always cut in the same way, and is not changed", () => {
    holds((value, size) => {
      const before = JSON.stringify(value)
      assert.deepStrictEqual(cutJson(value, size), cutJson(JSON.parse(before), size, before))
      assert.strictEqual(JSON.stringify(value), before)
    })
  })
})
