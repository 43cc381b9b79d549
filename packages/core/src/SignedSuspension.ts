/**
 * Suspensions that may leave the server and come back: a browser, a queue or another service keeps them meanwhile.
 *
 *     const text = yield* signer.sign(failure.suspension)    out, with the question
 *     const suspension = yield* signer.verify(text)          back, with the reply
 *     yield* agent.resume(suspension, reply)
 *
 * Why sign? A suspension says which calls go on, with which arguments, and what was done before. Whoever could change it
 * could run any tool of the agent with any arguments, and could let it forget what it has paid. `verify` returns only what
 * `sign` was given. It refuses everything else before it decodes any of it.
 *
 * A signature proves where a text comes from. It does no more than that:
 *
 * - It hides nothing. Everyone who has the text can read it: the transcript with the agent's instructions, and the
 *   arguments of calls with their secrets. So prefer to keep the suspension in your database, and let only its `id` leave.
 * - It does not stop a second resume: the same text is valid again. A suspension that is resumed twice can act twice. So
 *   claim it atomically before you resume it, for example with a unique key in your database.
 * - It does not say that the question is still open. An old text brings old facts, which miss what was done since. So accept
 *   only the latest suspension of a conversation.
 * - It does not say who sends the text. A user can send a text that was made for another user. So compare the scope of the
 *   suspension (`suspension.facts.scope`) with the sender's conversation, and give each agent secrets of its own.
 * - It does not expire. A text is valid as long as the secret that signed it is one of the `secrets`.
 *
 * The form is `fallible-suspension.1.<payload>.<tag>`. The payload is the suspension as JSON, in Base64URL. The tag is the
 * HMAC-SHA256 of everything before it, in Base64URL. The name and the version in front are signed, too. So a tag of
 * another form, made with the same secret, is not valid here.
 *
 * This module uses `effect/crypto`, whose API may still change. The package's index therefore does not export this
 * module. Import it directly: `import * as SignedSuspension from "@fallible/core/SignedSuspension"`. It runs wherever Web
 * Crypto is: in Node, Bun and Deno, and on edge platforms.
 *
 * @since 0.1.0
 */
import { demandKnown, type Names } from "@fallible/arguments/internal"
import type { NonEmptyReadonlyArray } from "effect/Array"
import type { CryptoError } from "effect/crypto/CryptoError"
import * as Mac from "effect/crypto/Mac"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import { type RunRefused, Suspension } from "./AgentFailure.ts"
import { refusalOf } from "./internal/agent/runInput.ts"
import { fieldIssues } from "./internal/arguments/coercion.ts"
import { issuesBy } from "./internal/arguments/schemaIssues.ts"
import { firstIssue, kind } from "./internal/value/text.ts"
import { attempt, silence } from "./internal/value/untrusted.ts"
import type { FieldIssue } from "./ToolFailure.ts"

/**
 * The options of {@link make}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /**
   * The secrets, at least one, each of at least 32 characters. The first one signs, and all of them verify. To replace a
   * secret, put the new one in front, and remove the old one when its texts need not come back any more.
   *
   * Make each at random: `openssl rand -base64 32`. Use them for nothing else.
   */
  readonly secrets: NonEmptyReadonlyArray<Redacted.Redacted>
}

/**
 * Signs suspensions, and verifies what comes back.
 *
 * @category models
 * @since 0.1.0
 */
export interface Signer {
  /**
   * Returns a suspension as a signed text, of letters, digits, `-`, `_` and `.` only. It needs no escaping in JSON or in a
   * URL, but it is too long for most URLs and cookies: it holds the transcript.
   *
   * Fails with `RunRefused` if the value is not a suspension, for example one that was parsed but not decoded, or if its
   * text would have more than 8,388,608 characters.
   */
  readonly sign: (suspension: Suspension) => Effect.Effect<string, RunRefused>
  /**
   * Returns the suspension of a text that {@link Signer.sign} made with one of the secrets.
   *
   * Fails with `RunRefused` for everything else: a text that was changed or cut, one that another secret signed, a suspension
   * of a version that is not read any more, or no text at all. Its `detail` is for logs, and quotes nothing of the text.
   */
  readonly verify: (text: string) => Effect.Effect<Suspension, RunRefused>
}

/**
 * Makes a signer of suspensions.
 *
 * When to use: if a run that waits for its user must be kept outside of your server. If you have a database, store the
 * suspension there instead (`AgentFailure.Suspension`), because a signature hides nothing, and does not stop a second
 * resume: see the top of this module.
 *
 * Throws a `TypeError` if there are no secrets, or if one of them is too short, or not a `Redacted` text. The error does not
 * quote it.
 *
 * @param options the `secrets`: the first one signs, and all of them verify
 *
 * @example
 * ```ts
 * import { Agent, Tool, ToolCall, Toolkit } from "@fallible/core"
 * import * as SignedSuspension from "@fallible/core/SignedSuspension"
 * import { ScriptedModel } from "@fallible/testing"
 * import { Effect, Redacted, Schema } from "effect"
 *
 * const book = Tool.make(
 *   "book_table",
 *   { description: "Books a table", success: Schema.String },
 *   () => Effect.map(ToolCall.ask("For how many people?"), (people) => `A table for ${people}.`)
 * )
 * const agent = Agent.make({ toolkit: Toolkit.make(book) })
 *
 * // In a program: yield* Config.Redacted("SUSPENSION_SECRET")
 * const secret = Redacted.make("b7jQ0dV5m2Yx9TnLw4RkEo8sZc1HfGua")
 * const signer = SignedSuspension.make({ secrets: [secret] })
 *
 * const program = Effect.gen(function*() {
 *   const failure = yield* Effect.flip(agent.run("Book a table."))
 *   if (failure._tag !== "RunSuspended") return yield* Effect.fail(failure)
 *   const text = yield* signer.sign(failure.suspension)
 *   const refused = yield* Effect.flip(signer.verify(text.replace(".1.", ".1.A")))
 *   const answer = yield* agent.resume(yield* signer.verify(text), "four")
 *   return { refused, answer }
 * })
 * const script = ScriptedModel.layer([ScriptedModel.call("book_table"), ScriptedModel.text("Booked.")])
 * const { answer, refused } = await Effect.runPromise(Effect.provide(program, script))
 * answer.text // => "Booked."
 * refused._tag // => "RunRefused"
 * refused.issues[0]?.expected // => "a suspension that one of the secrets has signed"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Signer => {
  const [first, ...others] = keysOf(options)
  const keys = [first, ...others]
  return {
    sign: (suspension) =>
      Effect.flatMap(
        Effect.suspend(() => Effect.fromResult(payloadOf(suspension))),
        (payload) => signedBy(first, `${prefix}${payload}`)
      ),
    verify: (text) =>
      Effect.flatMap(
        Effect.suspend(() => Effect.fromResult(partsOf(text))),
        ({ payload, signed, tag }) =>
          Effect.flatMap(
            isSignedByOne(keys, signed, tag),
            (isValid) => Effect.fromResult(isValid ? suspensionOf(payload) : notOurs())
          )
      )
  }
}

// -----------------------------------------------------------------------------
// Secrets
// -----------------------------------------------------------------------------

type Key = Effect.Effect<Mac.Key>

const keysOf = (options: Options): NonEmptyReadonlyArray<Key> => {
  if (!Predicate.isObject(options)) throw new TypeError(`SignedSuspension.make needs an object: ${example}`)
  demandKnown("SignedSuspension.make", options, optionNames)
  const { secrets } = options
  if (!Array.isArray(secrets)) {
    throw new TypeError(`The 'secrets' of SignedSuspension.make must be a list: ${example}`)
  }
  const [first, ...others] = Array.from(secrets, keyOf)
  if (first === undefined) throw new TypeError(`SignedSuspension.make needs at least one secret: ${example}`)
  return [first, ...others]
}

const optionNames: Names<Options> = { secrets: true }

const example = "SignedSuspension.make({ secrets: [yield* Config.Redacted(\"SUSPENSION_SECRET\")] })."

const keyOf = (redacted: unknown, index: number): Key => {
  // A Redacted that was wiped has no value any more.
  const secret = Redacted.isRedacted(redacted) ? attempt(() => Redacted.value(redacted)) : undefined
  const what = `Secret ${index + 1} of SignedSuspension.make`
  if (typeof secret !== "string") {
    const actual = Redacted.isRedacted(redacted) ? `a Redacted of ${kind(secret)}` : kind(redacted)
    throw new TypeError(
      `${what} must be a Redacted text, from Config.Redacted("SUSPENSION_SECRET") or Redacted.make(…); got ${actual}.`
    )
  }
  if (secret.trim().length < minSecret) {
    throw new TypeError(
      `${what} must have at least ${minSecret} characters. Make one at random: openssl rand -base64 32.`
    )
  }
  return Effect.orDie(Mac.key(Mac.hmacSha256, utf8(secret)))
}

// 32 random characters of Base64 are 192 bits, which nobody guesses.
const minSecret = 32

// -----------------------------------------------------------------------------
// Signatures
// -----------------------------------------------------------------------------

const signedBy = (key: Key, signed: string): Effect.Effect<string> =>
  withMac((mac) =>
    Effect.flatMap(key, (key) => Effect.map(mac.sign(key, utf8(signed)), (tag) => `${signed}.${Base64Url.encode(tag)}`))
  )

// Tries all secrets, so that the time does not tell which one signed.
const isSignedByOne = (keys: ReadonlyArray<Key>, signed: string, tag: Uint8Array): Effect.Effect<boolean> =>
  withMac((mac) => {
    const bytes = utf8(signed)
    const verified = Effect.forEach(keys, Effect.flatMap((key) => mac.verify(key, tag, bytes)))
    return Effect.map(verified, (each) => each.includes(true))
  })

// No input fails here, but only a platform without HMAC-SHA256.
const withMac = <A>(use: (mac: Mac.Mac["Service"]) => Effect.Effect<A, CryptoError>): Effect.Effect<A> =>
  Effect.orDie(Effect.provide(Mac.Mac.use(use), macs))

const macs = Mac.layerWebCrypto.pipe(Layer.provide(SecureRandom.layerWebCrypto))

// A UTF-16 code unit takes at most three bytes in UTF-8.
const utf8 = (text: string): Uint8Array => {
  const bytes = new Uint8Array(text.length * 3)
  return bytes.subarray(0, new TextEncoder().encodeInto(text, bytes).written)
}

// -----------------------------------------------------------------------------
// The form of the text
// -----------------------------------------------------------------------------

const version = 1
const prefix = `fallible-suspension.${version}.`

// The 32 bytes of a tag, in Base64URL.
const tagLength = 43

// Pictures make a transcript large. Beyond this, a suspension belongs in a store.
const maxLength = 8 * 1024 * 1024

interface Parts {
  readonly payload: string
  /** What the tag is of. */
  readonly signed: string
  readonly tag: Uint8Array
}

// Nothing is decoded here but the tag.
const partsOf = (text: unknown): Result.Result<Parts, RunRefused> => {
  if (typeof text !== "string") {
    silence(text)
    return otherForm("a text that sign made", kind(text))
  }
  if (text.length > maxLength) return otherForm(`a text of at most ${maxLength} characters`, `one of ${text.length}`)
  if (!text.startsWith(prefix)) return otherForm(`a signed suspension of version ${version}`, formOf(text))
  const end = text.length - tagLength - 1
  const payload = text.slice(prefix.length, end)
  const tag = tagOf(text.slice(end + 1))
  return text[end] !== "." || /[^\w-]/.test(payload) || tag === undefined
    ? otherForm("a whole signed suspension", "one that was cut or changed")
    : Result.succeed({ payload, signed: text.slice(0, end), tag })
}

// The last character of a tag has two bits too many, so four texts mean the same bytes. Only one of them is accepted.
const tagOf = (text: string): Uint8Array | undefined => {
  const bytes = Result.getOrUndefined(Base64Url.decode(text))
  return bytes !== undefined && Base64Url.encode(bytes) === text ? bytes : undefined
}

const formOf = (text: string): string => {
  if (text === "") return "an empty text"
  if (text.trimStart().startsWith("{")) return "JSON that is not signed"
  const [, other] = /^fallible-suspension\.(\d{1,9})\./.exec(text) ?? []
  return other === undefined ? "another text" : `one of version ${other}`
}

// -----------------------------------------------------------------------------
// The suspension in it
// -----------------------------------------------------------------------------

const Held = Schema.Struct({ suspension: Suspension })

const issuesOf = issuesBy(Held)

const payloadOf = (suspension: unknown): Result.Result<string, RunRefused> => {
  if (attempt(() => Predicate.hasProperty(suspension, "suspension"))) {
    return refused(notSigned, issue("a suspension", "the failure itself"), "Pass its 'suspension'.")
  }
  const issues = issuesOf({ suspension })
  if (issues !== undefined) {
    return refused(
      notSigned,
      named(issues),
      "Decode a stored suspension by AgentFailure.Suspension before you sign it."
    )
  }
  const json = attempt(() => JSON.stringify(encode(suspension)))
  if (json === undefined) {
    return refused(notSigned, issue("a suspension that can be JSON", "another one"), "Keep it in this process.")
  }
  const payload = Base64Url.encode(json)
  const length = prefix.length + payload.length + 1 + tagLength
  return length <= maxLength ? Result.succeed(payload) : refused(
    notSigned,
    issue(`a suspension whose text has at most ${maxLength} characters`, `one of ${length}`),
    "Keep it in a store, and let only its id leave."
  )
}

const encode = SchemaParser.encodeUnknownSync(Suspension)

const decode = SchemaParser.decodeUnknownResult(Held, { errors: "all" })

// A payload whose tag is valid was written by this module, but maybe by another release of it.
const suspensionOf = (payload: string): Result.Result<Suspension, RunRefused> => {
  const json: unknown = attempt(() => JSON.parse(Result.getOrThrow(Base64Url.decodeString(payload))))
  const decoded = attempt(() => decode({ suspension: json }))
  if (decoded !== undefined && Result.isSuccess(decoded)) return Result.succeed(decoded.success.suspension)
  const issues = decoded === undefined
    ? undefined
    : attempt(() => fieldIssues(decoded.failure, { suspension: json }, kind))
  return refused(
    notAccepted,
    named(issues),
    "Its signature is valid, so another release made it. Ask again in a new run."
  )
}

// -----------------------------------------------------------------------------
// Refusals
// -----------------------------------------------------------------------------

const refused = (what: string, issues: ReadonlyArray<FieldIssue>, advice: string): Result.Result<never, RunRefused> =>
  Result.fail(refusalOf(`${what}: ${firstIssue(issues)}. ${advice}`, issues))

const issue = (expected: string, actual: string): ReadonlyArray<FieldIssue> => [
  { path: ["suspension"], expected, actual }
]

// Reading what is wrong may fail, too.
const named = (issues: ReadonlyArray<FieldIssue> = []): ReadonlyArray<FieldIssue> =>
  issues.length === 0 ? issue("a suspension", "another value") : issues

const notSigned = "The suspension was not signed"

const notAccepted = "The signed suspension was not accepted"

const otherForm = (expected: string, actual: string) =>
  refused(notAccepted, issue(expected, actual), "Pass the text unchanged, as sign returned it.")

const notOurs = () =>
  refused(
    notAccepted,
    issue("a suspension that one of the secrets has signed", "one that was changed, or that another secret signed"),
    "Pass the text unchanged, as sign returned it. If its secret was replaced, add the old one at the end of 'secrets'."
  )
