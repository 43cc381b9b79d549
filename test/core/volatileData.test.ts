/** Which results are the same although they differ: fields that change with every request do not count. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@fallible/testing"
import { Effect, type Schema } from "effect"
import { isSameData } from "../../packages/core/src/internal/value/volatileData.ts"
import { answered, loopDetected, played, repeating, steps, times, tool } from "../support/stuck.ts"

type Pair = readonly [one: Schema.Json, other: Schema.Json]

const day = (second: number) => `2026-11-23T10:00:0${second}Z`

const same: Readonly<Record<string, Pair>> = {
  "equal values": [{ a: [1, "x", null] }, { a: [1, "x", null] }],
  "another order of fields": [{ a: 1, b: 2 }, { b: 2, a: 1 }],
  "the time of the response": [{ rows: [1], timestamp: day(1) }, { rows: [1], timestamp: day(2) }],
  "the time of the response in seconds": [{ rows: [1], ts: 1_700_000_001 }, { rows: [1], ts: 1_700_000_009 }],
  "the time of the response in milliseconds": [
    { rows: [1], server_time: 1_700_000_001_000 },
    { rows: [1], server_time: 1_700_000_009_000 }
  ],
  "the time as in HTTP": [
    { ok: true, fetchedAt: "Mon, 23 Nov 2026 10:00:00 GMT" },
    { ok: true, fetchedAt: "Mon, 23 Nov 2026 10:00:09 GMT" }
  ],
  "the id of the request": [{ ok: true, requestId: "req-123456" }, { ok: true, requestId: "req-999999" }],
  "the id of the request in a header's spelling": [
    { ok: true, "X-Request-ID": "8f14e45f" },
    { ok: true, "X-Request-ID": "c9f0f895" }
  ],
  "how long the request took": [{ ok: true, took_ms: 12 }, { ok: true, took_ms: 431 }],
  "volatile fields at depth": [
    { meta: { generated_at: day(1) }, rows: [{ id: 1 }] },
    { meta: { generated_at: day(2) }, rows: [{ id: 1 }] }
  ],
  "a text of JSON": [`{"rows":[1],"timestamp":"${day(1)}"}`, `{"timestamp":"${day(2)}", "rows": [1]}`],
  "a time in a text": [`As of ${day(1)}: pending.`, `As of ${day(2)}: pending.`],
  "a request id in a text": ["Pending (request id: 8f14e45f).", "Pending (request id: c9f0f895)."],
  "a moment in a text": [
    "ACME costs 42.10 at 2026-11-22T10:00:03Z.",
    "ACME costs 42.10 at 2026-11-22T10:00:09.120Z."
  ],
  "a moment under a name that may be data": [
    { price: 42, at: "2026-11-22T10:00:01Z", updated_at: 1_763_800_001 },
    { price: 42, at: "2026-11-22T10:00:02Z", updated_at: 1_763_800_002 }
  ],
  "a time in a long text": [
    `${"line\n".repeat(9000)}generated at ${day(1)}`,
    `${"line\n".repeat(9000)}generated at ${day(2)}`
  ]
}

const different: Readonly<Record<string, Pair>> = {
  "progress": [{ progress: 41 }, { progress: 42 }],
  "types": [{ a: 1 }, { a: "1" }],
  "a list and an object": [{ 0: "a" }, ["a"]],
  "an object and a list": [["a"], { 0: "a" }],
  "an empty object and null": [{}, null],
  "a further field": [{ a: 1 }, { a: 1, b: 2 }],
  "a further item": [[1], [1, 2]],
  "the next free slot": ["Next free slot: 2026-01-05 10:00", "Next free slot: 2026-01-05 10:30"],
  "the numbers of requests": [{ request_id: 101, status: "open" }, { request_id: 102, status: "open" }],
  "the time of an update, hours later": [
    { state: "done", updated_at: "2026-11-22T10:00:01Z" },
    { state: "done", updated_at: "2026-11-22T14:30:12Z" }
  ],
  "the time of a departure": [{ bus: 5, departure_time: day(1) }, { bus: 5, departure_time: day(2) }],
  "a time that may be data": [{ bus: 5, time: "10:00" }, { bus: 5, time: "10:05" }],
  "a date that may be data": [{ concert: "A", date: "2026-11-22T20:00:00Z" }, {
    concert: "A",
    date: "2026-11-22T20:30:00Z"
  }],
  "the time of a journey": [{ route: "A", duration: 1200 }, { route: "A", duration: 1260 }],
  "the latency that a ping measures": [{ host: "a", latency_ms: 12 }, { host: "a", latency_ms: 80 }],
  "only the time": [{ timestamp: day(1) }, { timestamp: day(2) }],
  "only the time, in a list": [[{ now: day(1) }], [{ now: day(2) }]],
  "only the time, as a text": [day(1), day(2)],
  "a field named as a time that is none": [{ rows: 1, timestamp: "early" }, { rows: 1, timestamp: "late" }],
  "a small number named as a time": [{ rows: 1, ts: 1 }, { rows: 1, ts: 2 }],
  "an id that is no request's": [{ order: 1, id: "a-123456" }, { order: 1, id: "b-123456" }],
  "a number in a text": ["41 of 100 done", "42 of 100 done"],
  "a number in a text with a time": [`${day(1)} 41 of 100`, `${day(1)} 42 of 100`],
  "data beside the time": [{ rows: 1, timestamp: day(1) }, { rows: 2, timestamp: day(2) }],
  "an inherited name": [JSON.parse("{\"__proto__\":{}}"), { a: 1 }],
  "another inherited name": [{ constructor: {} }, { a: {} }]
}

describe("volatile data", () => {
  for (const [name, [one, other]] of Object.entries(same)) {
    it(`H10 is the same with ${name}`, () => {
      assert.isTrue(isSameData(one, other))
      assert.isTrue(isSameData(other, one))
    })
  }

  for (const [name, [one, other]] of Object.entries(different)) {
    it(`H10 differs in ${name}`, () => {
      assert.isFalse(isSameData(one, other))
      assert.isFalse(isSameData(other, one))
    })
  }

  it("H10 ignores declared fields, at any depth, but not if nothing else is left", () => {
    assert.isTrue(isSameData({ a: 1, price: 1 }, { a: 1, price: 2 }, ["price"]))
    assert.isTrue(isSameData([{ a: 1, price: { eur: 1 } }], [{ a: 1, price: { eur: 2 } }], ["price"]))
    assert.isFalse(isSameData({ price: 1 }, { price: 2 }, ["price"]))
    assert.isFalse(isSameData({ a: 1, price: 1 }, { a: 2, price: 2 }, ["price"]))
  })

  it("H10 is different if it is too deep to compare", () => {
    const deep = (inner: number) => `${"[".repeat(300_000)}${inner}${"]".repeat(300_000)}`
    assert.isFalse(isSameData(deep(1), deep(2)))
    assert.isTrue(isSameData(deep(1), deep(1)))
  })

  const look = ScriptedModel.call("look", {})

  it.effect("H10 ends a run whose results differ only in the time and in declared fields", () =>
    Effect.gen(function*() {
      const run = yield* played([
        tool("look", (ran) => ({ state: "open", timestamp: 1_700_000_000 + ran, load: ran }), { volatile: ["load"] })
      ], repeating(look))
      assert.strictEqual(loopDetected(run).report.turns, 6)
    }))

  it.effect("H10 never stops a run whose results differ in an undeclared field", () =>
    Effect.gen(function*() {
      const run = yield* played(
        [tool("look", (ran) => ({ state: "open", timestamp: 1_700_000_000 + ran, load: ran }))],
        times(20, () => look)
      )
      assert.strictEqual(answered(run).text, "done")
      assert.deepStrictEqual(steps(run), [])
    }))
})
