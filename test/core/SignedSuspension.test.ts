import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentFailure, Tool, ToolCall, Toolkit, Transcript } from "@fallible/core"
import * as CallFacts from "@fallible/core/CallFacts"
import * as SignedSuspension from "@fallible/core/SignedSuspension"
import { ScriptedModel } from "@fallible/testing"
import { Effect, Exit, Redacted, Schema } from "effect"
import { WebCrypto } from "effect/crypto"
import * as fc from "fast-check"
import { createHmac } from "node:crypto"
import { inspect } from "node:util"
import { nonsense, type Untyped } from "../support/nonsense.ts"
import { runs } from "../support/runs.ts"

const secretText = "b7jQ0dV5m2Yx9TnLw4RkEo8sZc1HfGua"
const secret = Redacted.make(secretText)
const newer = Redacted.make("Xp3vN8qKt6WzA1mCy5JdUf0hSgRb2LeO")
const signer = SignedSuspension.make({ secrets: [secret] })

/** A tool that asks, and its agent. */
const pay = Tool.make(
  "pay",
  {
    description: "Pays",
    parameters: Schema.Struct({ to: Schema.String, pin: Schema.Redacted(Schema.String) }),
    success: Schema.String
  },
  ({ pin, to }) => Effect.map(ToolCall.ask(`Pay ${to}?`), (reply) => `${reply}: ${to}, ${Redacted.value(pin)}`)
)
const agent = Agent.make({ toolkit: Toolkit.make(pay), instructions: "You pay. 💶" })

const suspended = (question: string, options: Agent.RunOptions = {}) =>
  Effect.gen(function*() {
    const failure = yield* Effect.flip(agent.run(question, options))
    if (failure._tag !== "RunSuspended") return assert.fail(failure._tag)
    return failure
  }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay", { to: "Zoë", pin: "1234" })])))

const resumed = (suspension: AgentFailure.Suspension) =>
  Effect.provide(agent.resume(suspension, "yes"), ScriptedModel.layer([ScriptedModel.text("Paid.")]))

const encoded = Schema.encodeSync(AgentFailure.Suspension)

/** Asserts that a text is refused in the only way, and returns the refusal. */
const refusal = (text: unknown, by = signer) =>
  Effect.map(Effect.flip(by.verify(text as Untyped)), (refused) => {
    assert.instanceOf(refused, AgentFailure.RunRefused)
    assert.isNotEmpty(refused.issues)
    assert.strictEqual(refused.issues[0]?.path[0], "suspension")
    return refused
  })

/** Signs any text as the payload of a suspension, with another implementation of HMAC. */
const forged = (payload: string, { key = secretText, prefix = "fallible-suspension.1." } = {}) => {
  const signed = prefix + Buffer.from(payload).toString("base64url")
  return `${signed}.${createHmac("sha256", key).update(signed).digest("base64url")}`
}

const alphabet = Array.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")

describe("a signed suspension", () => {
  it.effect("goes on after it was verified, with everything that it held", () =>
    Effect.gen(function*() {
      const { suspension } = yield* suspended("Pay Zoë.", { scope: "chat-7", facts: CallFacts.empty })
      const verified = yield* Effect.flatMap(signer.sign(suspension), signer.verify)
      assert.deepStrictEqual(encoded(verified), encoded(suspension))
      assert.deepStrictEqual(verified, suspension)
      assert.strictEqual(verified.facts.scope, "chat-7")
      const answer = yield* resumed(verified)
      assert.strictEqual(answer.text, "Paid.")
      assert.include(JSON.stringify(Transcript.toArray(answer.transcript)), "yes: Zoë, 1234")
    }))

  it.effect("keeps every text and file in its transcript", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(fc.string({ unit: "binary" }), fc.uint8Array(), fc.jsonValue(), (question, bytes, native) =>
          Effect.runPromise(Effect.gen(function*() {
            const { suspension } = yield* suspended("Pay.")
            const transcript = Transcript.make([
              { role: "user", text: `${question}\ud800`, files: [Transcript.file(bytes, "image/gif")] },
              { role: "assistant", text: "", calls: [], native: native as Schema.Json }
            ])
            const given = { ...suspension, transcript }
            const text = yield* signer.sign(given)
            assert.match(text, /^fallible-suspension\.1\.[\w-]+\.[\w-]{43}$/)
            assert.deepStrictEqual(encoded(yield* signer.verify(text)), JSON.parse(JSON.stringify(encoded(given))))
          }))),
        { numRuns: runs(80) }
      )
    ))

  it.effect("is one text in JSON and in a URL, and the same text each time", () =>
    Effect.gen(function*() {
      const { suspension } = yield* suspended("Pay Zoë. 💶")
      const text = yield* signer.sign(suspension)
      assert.strictEqual(JSON.stringify(text), `"${text}"`)
      assert.strictEqual(encodeURIComponent(text), text)
      assert.strictEqual(yield* signer.sign(suspension), text)
    }))

  it.effect("has a tag that any implementation of HMAC-SHA256 can check", () =>
    Effect.gen(function*() {
      const { suspension } = yield* suspended("Pay.")
      assert.strictEqual(yield* signer.sign(suspension), forged(JSON.stringify(encoded(suspension))))
    }))

  it.effect("hides nothing: whoever has the text can read the instructions and the secrets of calls", () =>
    Effect.gen(function*() {
      const text = yield* Effect.flatMap(suspended("Pay."), ({ suspension }) => signer.sign(suspension))
      const read = Buffer.from(text.split(".")[2]!, "base64url").toString()
      assert.include(read, "You pay.")
      assert.include(read, "1234")
      assert.notInclude(read, secretText)
    }))
})

describe("verify refuses", () => {
  it.effect("a text in which any one character was changed, dropped or doubled", () =>
    Effect.gen(function*() {
      const { suspension } = yield* suspended("Pay.")
      const text = yield* signer.sign(suspension)
      const others = (at: number) => [
        alphabet[(alphabet.indexOf(text[at]!) + 1) % 64]!,
        // Another case, and a character beyond ASCII.
        ...(at % 7 === 0
          ? [text.charCodeAt(at) ^ 0x20, text.charCodeAt(at) ^ 0x80].map((code) => String.fromCharCode(code))
          : []),
        ...(at % 29 === 0 ? [".", "=", "\n", " ", "\u0000", "\u{1f600}"] : []),
        ["", text[at]! + text[at]!][at % 2]!
      ]
      for (let at = 0; at < text.length; at++) {
        for (const other of others(at)) {
          const changed = text.slice(0, at) + other + text.slice(at + 1)
          if (changed !== text) yield* refusal(changed)
        }
      }
    }), 60_000)

  it.effect("each of the 64 last characters of a tag but one: four of them decode to the same bytes", () =>
    Effect.gen(function*() {
      const text = yield* Effect.flatMap(suspended("Pay."), ({ suspension }) => signer.sign(suspension))
      const accepted = yield* Effect.filter(
        alphabet,
        (last) => Effect.map(Effect.exit(signer.verify(text.slice(0, -1) + last)), Exit.isSuccess)
      )
      assert.deepStrictEqual(accepted, [text.at(-1)])
    }))

  it.effect("a text that was cut at any place, at its end or at its beginning", () =>
    Effect.gen(function*() {
      const text = yield* Effect.flatMap(suspended("Pay."), ({ suspension }) => signer.sign(suspension))
      for (let at = 0; at < text.length; at++) yield* refusal(text.slice(0, at))
      for (let at = 1; at <= text.length; at++) yield* refusal(text.slice(at))
    }), 60_000)

  it.effect("parts of two texts, in any order", () =>
    Effect.gen(function*() {
      const texts = yield* Effect.forEach(
        ["Pay.", "Pay twice."],
        (question) => Effect.flatMap(suspended(question), ({ suspension }) => signer.sign(suspension))
      )
      const [one, two] = texts.map((text) => text.split("."))
      const parts = [...one!, ...two!]
      for (const a of parts) {
        for (const b of parts) {
          const text = ["fallible-suspension", "1", a, b].join(".")
          if (!texts.includes(text)) yield* refusal(text)
        }
      }
      yield* refusal(one!.toReversed().join("."))
      yield* refusal(texts.join(""))
      yield* refusal(texts.join("."))
      yield* refusal(`${texts[0]} `)
      yield* refusal(` ${texts[0]}`)
      yield* refusal(`${texts[0]}\n`)
      yield* refusal(`${texts[0]}=`)
    }))

  it.effect("any text, however close it is to a signed one", () =>
    Effect.promise(() => {
      const part = fc.oneof(fc.string({ unit: "binary" }), fc.base64String(), fc.constantFrom("", ".", "1", "{}"))
      const text = fc.oneof(
        fc.string({ unit: "binary" }),
        fc.tuple(part, part).map(([payload, tag]) => `fallible-suspension.1.${payload}.${tag}`),
        fc.tuple(part, fc.uint8Array({ minLength: 32, maxLength: 32 })).map(([payload, tag]) =>
          `fallible-suspension.1.${Buffer.from(payload).toString("base64url")}.${
            Buffer.from(tag).toString("base64url")
          }`
        )
      )
      return fc.assert(fc.asyncProperty(text, (text) => Effect.runPromise(Effect.asVoid(refusal(text)))))
    }))

  it.effect("what is no text, and never awaits it", () =>
    Effect.gen(function*() {
      for (const [what, make] of Object.entries(nonsense)) {
        const { detail } = yield* refusal(make())
        assert.match(detail, /^The signed suspension was not accepted: suspension: expected /, what)
      }
      for (const value of [new String("fallible-suspension.1."), { toString: () => assert.fail("read") }, [1]]) {
        yield* refusal(value)
      }
      // The Effect itself, which was not run.
      const { suspension } = yield* suspended("Pay.")
      yield* refusal(signer.sign(suspension))
    }))

  it.effect("a huge text, at once", () =>
    Effect.gen(function*() {
      const huge = `fallible-suspension.1.${"A".repeat(50_000_000)}.${"A".repeat(43)}`
      const { detail } = yield* refusal(huge)
      assert.strictEqual(
        detail,
        "The signed suspension was not accepted: suspension: expected a text of at most 8388608 characters, got one of " +
          "50000066. Pass the text unchanged, as sign returned it."
      )
      // As long as it may be, with every dot in the wrong place.
      yield* refusal(`fallible-suspension.1.${"A".repeat(8_388_000)}.`)
      yield* refusal(`fallible-suspension.1.${".".repeat(8_388_000)}`)
      yield* refusal(`fallible-suspension.1.${"A".repeat(8_388_000)}.${"A".repeat(43)}`)
    }))

  it.effect("a text of a secret that is not, or no longer, among the secrets", () =>
    Effect.gen(function*() {
      const { suspension } = yield* suspended("Pay.")
      const { detail, issues } = yield* refusal(yield* SignedSuspension.make({ secrets: [newer] }).sign(suspension))
      assert.strictEqual(
        detail,
        "The signed suspension was not accepted: suspension: expected a suspension that one of the secrets has signed, got " +
          "one that was changed, or that another secret signed. Pass the text unchanged, as sign returned it. If its " +
          "secret was replaced, add the old one at the end of 'secrets'."
      )
      assert.lengthOf(issues, 1)
    }))

  it.effect("a tag that the same secret made for something else", () =>
    Effect.gen(function*() {
      const { suspension } = yield* suspended("Pay.")
      const payload = Buffer.from(JSON.stringify(encoded(suspension))).toString("base64url")
      const tag = createHmac("sha256", secretText).update(payload).digest("base64url")
      yield* refusal(`fallible-suspension.1.${payload}.${tag}`)
      yield* refusal(`${payload}.${tag}`)
    }))

  it.effect("another form, and says which", () =>
    Effect.gen(function*() {
      const { suspension } = yield* suspended("Pay.")
      const actual = (text: unknown) => Effect.map(refusal(text), ({ issues }) => issues[0]?.actual)
      const json = JSON.stringify(encoded(suspension))
      assert.strictEqual(yield* actual(json), "JSON that is not signed")
      assert.strictEqual(yield* actual(""), "an empty text")
      assert.strictEqual(yield* actual("eyJhbGciOiJub25lIn0.e30."), "another text")
      assert.strictEqual(yield* actual(forged(json, { prefix: "fallible-suspension.2." })), "one of version 2")
      assert.strictEqual(yield* actual(forged(json, { prefix: "fallible-suspension.0." })), "one of version 0")
      assert.strictEqual(yield* actual("fallible-suspension.1."), "one that was cut or changed")
      assert.strictEqual(yield* actual(undefined), "nothing")
      assert.strictEqual(yield* actual(Promise.resolve("")), "a promise, which must be awaited")
    }))

  it.effect("a suspension of an unknown version, which another release has signed", () =>
    Effect.gen(function*() {
      const { suspension } = yield* suspended("Pay.")
      const { detail, issues } = yield* refusal(forged(JSON.stringify({ ...encoded(suspension), version: 99 })))
      assert.deepStrictEqual(issues[0]?.path, ["suspension", "version"])
      assert.match(detail, /8.*Its signature is valid, so another release made it\. Ask again in a new run\.$/)
      for (const payload of ["", "{", "null", "[]", "\"\"", "{\"version\":7}", "[".repeat(100_000), "\xff"]) {
        yield* refusal(forged(payload))
      }
    }))

  it.effect("an unsigned text before it decodes any of it", () =>
    Effect.gen(function*() {
      const parse = JSON.parse
      const parsed: Array<string> = []
      JSON.parse = (text, reviver) => {
        parsed.push(text)
        return parse(text, reviver)
      }
      yield* Effect.ensuring(refusal(forged("{}", { key: "another" })), Effect.sync(() => JSON.parse = parse))
      assert.deepStrictEqual(parsed, [])
    }))

  it.effect("without a word of the text in the failure", () =>
    Effect.gen(function*() {
      const { suspension } = yield* suspended("Pay.")
      const payload = JSON.stringify({ ...encoded(suspension), runId: 12_345_678, turn: "my-pin" })
      for (const text of [forged(payload), forged(payload, { key: "another" }), payload, "my-pin"]) {
        const refused = yield* refusal(text)
        for (const shown of [refused.detail, String(refused), inspect(refused), JSON.stringify(refused)]) {
          assert.notMatch(shown, /my-pin|12345678|You pay/)
        }
      }
    }))
})

describe("secrets", () => {
  it.effect("are rotated: the first one signs, and all of them verify", () =>
    Effect.gen(function*() {
      const { suspension } = yield* suspended("Pay.")
      const rotated = SignedSuspension.make({ secrets: [newer, secret] })
      const old = yield* signer.sign(suspension)
      const text = yield* rotated.sign(suspension)
      assert.deepStrictEqual(yield* rotated.verify(old), suspension)
      assert.deepStrictEqual(yield* rotated.verify(text), suspension)
      yield* refusal(text, signer)
      assert.deepStrictEqual(yield* SignedSuspension.make({ secrets: [newer] }).verify(text), suspension)
    }))

  it.effect("may have any characters", () =>
    Effect.gen(function*() {
      const { suspension } = yield* suspended("Pay.")
      const key = "Größe 💶 ".repeat(20)
      const text = yield* SignedSuspension.make({ secrets: [Redacted.make(key)] }).sign(suspension)
      assert.strictEqual(text, forged(JSON.stringify(encoded(suspension)), { key }))
    }))

  const wiped = Redacted.make(`${secretText}wiped`)
  Redacted.wipeUnsafe(wiped)
  const short = "0123456789012345678901234567890"
  const invalid: ReadonlyArray<readonly [what: string, options: unknown, message: RegExp]> = [
    ["no options", undefined, /^SignedSuspension\.make needs an object: .*Config\.Redacted\("SUSPENSION_SECRET"\)/],
    ["a secret instead of options", secretText, /^SignedSuspension\.make needs an object/],
    ["no secrets", {}, /^The 'secrets' of SignedSuspension\.make must be a list/],
    ["an unknown option", { secret }, /^SignedSuspension\.make has no option 'secret'\. Did you mean 'secrets'\?$/],
    ["one secret instead of a list", { secrets: secret }, /must be a list/],
    ["a text instead of a list", { secrets: secretText }, /must be a list/],
    ["an empty list", { secrets: [] }, /^SignedSuspension\.make needs at least one secret/],
    ["a plain text", { secrets: [secretText] }, /^Secret 1 .* must be a Redacted text, from Config.*; got a string\.$/],
    ["a plain text behind a secret", { secrets: [secret, secretText] }, /^Secret 2 .*; got a string\.$/],
    ["no secret in the environment", { secrets: [undefined] }, /got nothing\.$/],
    ["a Redacted of nothing", { secrets: [Redacted.make(undefined)] }, /got a Redacted of nothing\.$/],
    ["a Redacted of bytes", { secrets: [Redacted.make(new Uint8Array(32))] }, /got a Redacted of an object\.$/],
    ["a secret that was wiped", { secrets: [wiped] }, /got a Redacted of nothing\.$/],
    ["31 characters", { secrets: [Redacted.make(short)] }, /^Secret 1 .* at least 32 characters\. .*openssl rand/],
    ["32 blanks", { secrets: [Redacted.make(" ".repeat(32))] }, /at least 32 characters/],
    ["a short second one", { secrets: [secret, Redacted.make("short")] }, /^Secret 2 .* at least 32 characters/]
  ]
  for (const [what, options, message] of invalid) {
    it(`are checked where they are declared, and never printed: ${what}`, () => {
      try {
        SignedSuspension.make(options as Untyped)
      } catch (error) {
        assert.instanceOf(error, TypeError)
        assert.match(error.message, message)
        assert.notMatch(inspect(error), new RegExp(`${secretText}|${short}`))
        return
      }
      assert.fail("accepted")
    })
  }

  it("are not shown by the signer", () => {
    assert.notInclude(inspect(signer, { depth: 9, showHidden: true }) + JSON.stringify(signer), secretText)
  })
})

describe("sign refuses", () => {
  const unsigned = (value: unknown) =>
    Effect.map(Effect.flip(signer.sign(value as Untyped)), (refused) => {
      assert.instanceOf(refused, AgentFailure.RunRefused)
      assert.strictEqual(refused.issues[0]?.path[0], "suspension")
      return refused.detail
    })

  it.effect("a suspension that was parsed but not decoded", () =>
    Effect.gen(function*() {
      const { suspension } = yield* suspended("Pay.")
      assert.strictEqual(
        yield* unsigned(JSON.parse(JSON.stringify(encoded(suspension)))),
        "The suspension was not signed: suspension.transcript: expected a Transcript, got an object. Decode a stored " +
          "suspension by AgentFailure.Suspension before you sign it."
      )
    }))

  it.effect("the failure in place of its suspension", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* unsigned(yield* suspended("Pay.")),
        "The suspension was not signed: suspension: expected a suspension, got the failure itself. Pass its 'suspension'."
      )
    }))

  it.effect("whatever else it is given", () =>
    Effect.gen(function*() {
      for (const make of Object.values(nonsense)) yield* unsigned(make())
    }))

  it.effect("a suspension that is too large to be verified, or too deep for JSON", () =>
    Effect.gen(function*() {
      const { suspension } = yield* suspended("Pay.")
      const saying = (text: string, native: Schema.Json = null) => ({
        ...suspension,
        transcript: Transcript.make([{ role: "assistant", text, calls: [], native }])
      })
      const rest = Buffer.byteLength(JSON.stringify(encoded(saying(""))))
      const fitting = Math.floor((8_388_608 - "fallible-suspension.1.".length - 44) * 3 / 4) - rest
      const largest = yield* signer.sign(saying("a".repeat(fitting)))
      assert.isAtMost(largest.length, 8_388_608)
      yield* signer.verify(largest)
      assert.match(
        yield* unsigned(saying("a".repeat(fitting + 1))),
        /at most 8388608 characters, got one of 8388609\. Keep it in a store, and let only its id leave\.$/
      )
      let deep: Schema.Json = null
      for (let depth = 0; depth < 100_000; depth++) deep = [deep]
      yield* unsigned(saying("", deep))
    }))
})

describe("the platform", () => {
  it.effect("is whatever has Web Crypto: nothing else is used", () =>
    Effect.gen(function*() {
      const used: Array<PropertyKey> = []
      const { subtle } = globalThis.crypto
      const own = {
        subtle: new Proxy(subtle, {
          get: (_, name) => {
            used.push(name)
            const method: Untyped = Reflect.get(subtle, name)
            return method.bind(subtle)
          }
        })
      }
      const { suspension } = yield* suspended("Pay.")
      const verified = yield* Effect.flatMap(signer.sign(suspension), signer.verify).pipe(
        Effect.provide(WebCrypto.layer(own as Untyped))
      )
      assert.deepStrictEqual(verified, suspension)
      assert.sameMembers([...new Set(used)], ["importKey", "sign", "verify"])
    }))
})
