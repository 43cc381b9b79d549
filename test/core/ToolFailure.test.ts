import { assert, describe, it } from "@effect/vitest"
import { PartialData, SchemaMismatch, SemanticGarbage, ToolFailure, ToolUnavailable } from "@fallible/core"
import { Cause, Duration, Effect, Exit, Schema } from "effect"
import * as fc from "fast-check"

const garbage = new SemanticGarbage({ code: "unknown_city", detail: "Unknown city: 'Atlantis'." })
const refused = new ToolUnavailable({ code: "connection", detail: "Refused.", transient: true })

const oneOfEach: ReadonlyArray<ToolFailure.ToolFailure> = [
  new SchemaMismatch({ side: "result", code: "invalid_result", detail: "No total." }),
  new PartialData({ code: "more_pages", detail: "Page 1 of 3.", data: ["ada"] }),
  garbage,
  refused
]

const secret = "Error: connect ECONNREFUSED at /srv/app/geocoder.js:17"

// Excludes -0, which JSON does not have.
const number = fc.double({ noDefaultInfinity: true, noNaN: true }).map((n) => n + 0)
const json = fc.jsonValue({ maxDepth: 3, noUnicodeString: false }).map((value): Schema.Json =>
  JSON.parse(JSON.stringify(value))
)
const text = fc.string({ unit: "binary" })
const names = fc.array(text, { maxLength: 5 })
const optional = <T>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(fields, { requiredKeys: [] })
const common = fc.tuple(
  fc.record({ code: text, detail: text, cause: fc.constant(new Error(secret)) }),
  optional({ hint: text, severity: fc.constantFrom(...ToolFailure.Severity.literals) })
).map(([required, optional]) => ({ ...required, ...optional }))

const failure: fc.Arbitrary<ToolFailure.ToolFailure<Schema.Json>> = fc.oneof(
  fc.tuple(
    common,
    fc.record({
      side: fc.constantFrom("arguments" as const, "result" as const),
      issues: fc.array(
        fc.record({ path: fc.array(fc.oneof(text, fc.nat())), expected: text, actual: text }),
        { maxLength: 3 }
      ),
      alternatives: names
    })
  ).map(([common, own]) => new SchemaMismatch({ ...common, ...own })),
  fc.tuple(
    common,
    fc.record({ data: json }),
    optional({
      coverage: fc.tuple(fc.record({ have: number }), optional({ of: number, unit: text })).map(([have, of]) => ({
        ...have,
        ...of
      })),
      next: fc.dictionary(fc.string({ minLength: 1 }).filter((key) => key !== "__proto__"), json, {
        maxKeys: 3,
        noNullPrototype: true
      })
    })
  ).map(([common, own, rest]) => new PartialData({ ...common, ...own, ...rest })),
  fc.tuple(common, fc.record({ alternatives: names }), optional({ askUser: fc.boolean() })).map(([common, own, rest]) =>
    new SemanticGarbage({ ...common, ...own, ...rest })
  ),
  fc.tuple(
    common,
    fc.record({ transient: fc.boolean() }),
    optional({
      retryAfter: fc.nat().map((millis) => Duration.millis(millis)),
      scope: fc.constantFrom("arguments" as const, "tool" as const),
      outcome: fc.constantFrom("not_executed" as const, "unknown" as const)
    })
  ).map(([common, own, rest]) => new ToolUnavailable({ ...common, ...own, ...rest }))
)

const codec = ToolFailure.schema(Schema.Json)
const encode = Schema.encodeSync(codec)
const decode = Schema.decodeUnknownSync(codec)

describe("ToolFailure", () => {
  describe("a failure", () => {
    it("is an Error whose message is its detail and whose name is its tag", () => {
      for (const failure of oneOfEach) {
        assert.instanceOf(failure, Error)
        assert.strictEqual(failure.message, failure.detail)
        assert.strictEqual(failure.name, failure._tag)
        assert.strictEqual(String(failure), `${failure._tag}: ${failure.detail}`)
      }
    })

    it("captures no stack", () => {
      for (const failure of oneOfEach) assert.isUndefined(failure.stack)
    })

    it.effect("fails the Effect that yields it, with itself", () =>
      Effect.gen(function*() {
        for (const failure of oneOfEach) {
          const exit = yield* Effect.exit(Effect.gen(function*() {
            return yield* failure
          }))
          assert.isTrue(Exit.isFailure(exit) && Cause.squash(exit.cause) === failure)
        }
      }))

    it.effect("is narrowed by catchTag to its own fields", () =>
      Effect.gen(function*() {
        const handled = Effect.fail(garbage as SemanticGarbage | ToolUnavailable).pipe(
          Effect.catchTag("SemanticGarbage", (failure) => Effect.succeed(failure.alternatives)),
          Effect.catchTag("ToolUnavailable", (failure) => Effect.succeed(failure.transient))
        )
        const total: Effect.Effect<ReadonlyArray<string> | boolean> = handled
        assert.deepStrictEqual(yield* total, [])
      }))

    it("keeps its cause for this process, and out of spreads and JSON", () => {
      const failure = new SemanticGarbage({ code: "empty_result", detail: "No rows.", cause: new Error(secret) })
      assert.strictEqual(String(failure.cause), `Error: ${secret}`)
      assert.notProperty({ ...failure }, "cause")
      assert.deepStrictEqual(JSON.parse(JSON.stringify(failure)), {
        _tag: "SemanticGarbage",
        code: "empty_result",
        detail: "No rows.",
        alternatives: []
      })
    })

    it("can be rebuilt from its own fields, with one of them changed", () => {
      const again = new SemanticGarbage({ ...garbage, hint: "Ask for a capital." })
      assert.deepStrictEqual({ ...again }, { ...garbage, hint: "Ask for a capital." })
      assert.isFalse("hint" in garbage)
    })

    it("has no issues and no alternatives unless they are given", () => {
      const mismatch = new SchemaMismatch({ side: "arguments", code: "invalid_json", detail: "No JSON." })
      assert.deepStrictEqual([mismatch.issues, mismatch.alternatives, garbage.alternatives], [[], [], []])
    })
  })

  describe("schema", () => {
    it("round-trips every failure through JSON", () => {
      fc.assert(fc.property(failure, (failure) => {
        const decoded = decode(JSON.parse(JSON.stringify(encode(failure))))
        assert.strictEqual(decoded.constructor, failure.constructor)
        assert.deepStrictEqual({ ...decoded }, { ...failure })
      }))
    })

    it("never carries a cause", () => {
      fc.assert(fc.property(failure, (failure) => {
        const encoded = encode(failure)
        assert.notProperty(encoded, "cause")
        assert.notInclude(JSON.stringify(encoded), secret)
        assert.isUndefined(decode(encoded).cause)
      }))
    })

    it("encodes partial data by the tool's success schema", () => {
      const days = ToolFailure.schema(Schema.Array(Schema.DateFromString))
      const failure = new PartialData({ code: "truncated", detail: "1 of 2.", data: [new Date("2024-01-02")] })
      const encoded = Schema.encodeSync(days)(failure)
      assert.deepInclude(encoded, { _tag: "PartialData", data: ["2024-01-02T00:00:00.000Z"] })
      assert.deepStrictEqual({ ...Schema.decodeUnknownSync(days)(encoded) }, { ...failure })
    })

    it("keeps a wait, even an infinite one", () => {
      for (const retryAfter of [Duration.seconds(30), Duration.infinity]) {
        const failure = new ToolUnavailable({ code: "rate_limited", detail: "Slow down.", transient: true, retryAfter })
        const read = Schema.decodeUnknownSync(ToolUnavailable.schema)(
          JSON.parse(JSON.stringify(Schema.encodeSync(ToolUnavailable.schema)(failure)))
        )
        assert.isTrue(read.retryAfter !== undefined && Duration.Equivalence(read.retryAfter, retryAfter))
      }
    })

    it.effect("refuses a value that is not one of the four", () =>
      Effect.gen(function*() {
        const exits = yield* Effect.forEach(
          [null, {}, { _tag: "Timeout", code: "timeout", detail: "Late." }, { ...refused, transient: "yes" }],
          (value) => Effect.exit(Schema.decodeUnknownEffect(codec)(value))
        )
        assert.isTrue(exits.every(Exit.isFailure))
      }))
  })

  describe("predicates", () => {
    it("isToolFailure accepts the four classes, but no look-alikes", () => {
      assert.isTrue(oneOfEach.every(ToolFailure.isToolFailure))
      assert.isFalse([{ ...garbage }, new Error("no rows"), null, "SemanticGarbage"].some(ToolFailure.isToolFailure))
    })

    it("isTransient is true only for a transient ToolUnavailable", () => {
      assert.deepStrictEqual(oneOfEach.filter(ToolFailure.isTransient), [refused])
      assert.isFalse(ToolFailure.isTransient(new ToolUnavailable({ ...refused, transient: false })))
    })

    it("isOutcomeUnknown is true only if the failure says so", () => {
      assert.isTrue(ToolFailure.isOutcomeUnknown(new ToolUnavailable({ ...refused, outcome: "unknown" })))
      assert.isFalse(ToolFailure.isOutcomeUnknown(new ToolUnavailable({ ...refused, outcome: "not_executed" })))
      assert.isFalse(oneOfEach.some(ToolFailure.isOutcomeUnknown))
    })
  })
})
