/**
 * The four ways in which a tool can fail, and nothing else.
 *
 * They are sorted by what happens next, not by where they came from:
 *
 * | failure           | it means                                             | the next move                                 |
 * | ----------------- | ---------------------------------------------------- | --------------------------------------------- |
 * | `SchemaMismatch`  | data breaks a contract: the call's, or the result's  | correct the call; or give up on the tool      |
 * | `PartialData`     | valid, but not all of it                             | go on with it, or ask for the rest            |
 * | `SemanticGarbage` | valid, complete, and wrong or unsatisfiable          | think again                                   |
 * | `ToolUnavailable` | the tool, or what it stands on, is gone              | retried below the model while it is transient |
 *
 * A handler fails with one of them, a policy (`Policy`) makes one smaller, dispatch
 * (`Dispatch`) makes one out of whatever else goes wrong, and a rendering (`Rendering`)
 * turns one into what the model reads.
 *
 * Each is yieldable (`return yield* new SemanticGarbage({ … })`), carries a stable
 * `code` and a one-line `detail`, has a schema, and captures no stack trace: a failure
 * is a value, and costs like one.
 *
 * @since 0.1.0
 */
import { faultKinds } from "@fallible/arguments"
import type * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import { Certainty } from "./Certainty.ts"
import { describe } from "./internal/error/describe.ts"
import { asGuess, asRedirected } from "./internal/error/guess.ts"
import { made } from "./internal/error/made.ts"
import { codec, CodedFailure } from "./internal/failure/failureClass.ts"
import { excerpt } from "./internal/value/text.ts"
import { attempted } from "./internal/value/untrusted.ts"

// -----------------------------------------------------------------------------
// What they share
// -----------------------------------------------------------------------------

/**
 * How much an escalation matters to whoever reads it.
 *
 * @category models
 * @since 0.1.0
 */
export type Severity = typeof Severity.Type

/**
 * The schema of a {@link Severity}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Severity = Schema.Literals(["low", "medium", "high", "critical"])

/**
 * One field that breaks a contract: where it is, what was expected, what came.
 *
 * @category models
 * @since 0.1.0
 */
export interface FieldIssue extends Schema.Schema.Type<typeof FieldIssue> {}

/**
 * The schema of a {@link FieldIssue}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FieldIssue = Schema.Struct({
  /** Keys and indices from the root, as in `["items", 0, "price"]`. */
  path: Schema.Array(Schema.Union([Schema.String, Schema.Int])),
  expected: Schema.String,
  actual: Schema.String,
  /** What to write instead, in a sentence. */
  advice: Schema.optionalKey(Schema.String)
})

/**
 * Where and in what way a text cannot be read.
 *
 * @category models
 * @since 0.1.0
 */
export interface TextFault extends Schema.Schema.Type<typeof TextFault> {}

/**
 * The schema of a {@link TextFault}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TextFault = Schema.Struct({
  /** The class of the mistake; `Arguments` says what each means. */
  kind: Schema.Literals(faultKinds),
  /** In UTF-16 units from the start of the text. */
  offset: Schema.Int,
  /** From 1. */
  line: Schema.Int,
  /** In UTF-16 units from the start of the line, from 1. */
  column: Schema.Int
})

/**
 * The codes that this library gives. They are stable; a handler may use codes of its own.
 *
 * @category models
 * @since 0.1.0
 */
export type Code =
  | "unknown_tool"
  | "invalid_json"
  | "invalid_arguments"
  | "invalid_result"
  | "more_pages"
  | "truncated"
  | "empty_result"
  | "invariant_broken"
  | "unknown_entity"
  | "timeout"
  | "connection"
  | "rate_limited"
  | "server_error"
  | "permission_denied"
  | "quota_exhausted"
  | "outcome_unknown"
  | "not_executed"
  | "not_repeated"
  | "outside_call"
  | "circuit_open"
  | "disabled"
  | "breaker_unavailable"
  | "bulkhead_full"
  | "throttled"
  | "limiter_unavailable"
  | "not_found"
  | "rejected"
  | "invalid_request"
  | "unexpected_status"
  | "failed"
  | "repeated_call"
  | "call_limit"
  | "fixer_failed"
  | "no_fix"
  | "asked_user"
  | "too_long"
  | "defect"
  // Any other snake_case code; the intersection keeps the list above in editors' completions.
  | (string & {})

const common = {
  code: Schema.String,
  detail: Schema.String,
  hint: Schema.optionalKey(Schema.String),
  severity: Schema.optionalKey(Severity),
  source: Schema.optionalKey(Schema.String)
}

interface CommonFields {
  /** Stable, in snake_case: what a program matches on below the tag. */
  readonly code: Code
  /** One line: what was wrong, the offending value, what was expected. */
  readonly detail: string
  /** One line: what to do next. */
  readonly hint?: string
  /** Set by an escalation. */
  readonly severity?: Severity
  /** Whose words they are, where they are not the tool's: the name of the fixer that escalated. */
  readonly source?: string
  /** The original error, for logs and spans in this process. Never encoded, never shown to a model. */
  readonly cause?: unknown
}

// -----------------------------------------------------------------------------
// The four
// -----------------------------------------------------------------------------

const SchemaMismatchFields = Schema.Struct({
  _tag: Schema.tag("SchemaMismatch"),
  side: Schema.Literals(["arguments", "result"]),
  ...common,
  issues: Schema.Array(FieldIssue),
  alternatives: Schema.Array(Schema.String),
  fault: Schema.optionalKey(TextFault)
})

/**
 * Data that breaks a contract.
 *
 * On `side: "arguments"` it is the model's call: an unknown tool, text that is no JSON,
 * wrong keys or types. On `side: "result"` it is the tool's own output. It is never
 * retried: the same data breaks the same contract again.
 *
 * A handler that fails with side `"arguments"` promises that it has done nothing with them: it may be run again with better ones
 * (`Tool.fix`). When a tool inside of the handler fails with it, that is no rejection of the tool's own arguments.
 *
 * @example
 * ```ts
 * import { SchemaMismatch } from "@fallible/core"
 *
 * const failure = new SchemaMismatch({
 *   side: "result",
 *   code: "invalid_result",
 *   detail: "The order service answered without a total."
 * })
 * failure.message // => "The order service answered without a total."
 * failure.issues // => []
 * ```
 *
 * @category failures
 * @since 0.1.0
 */
export class SchemaMismatch extends CodedFailure<
  CommonFields & {
    /** Whose data: the call's, or the result's. */
    readonly side: "arguments" | "result"
    /** The fields at fault, one entry each. Empty when the fault is not in a field. */
    readonly issues: ReadonlyArray<FieldIssue>
    /** The valid choices, nearest first. */
    readonly alternatives: ReadonlyArray<string>
    /** Of a text that cannot be read: where, and in what way. */
    readonly fault?: TextFault
  }
> {
  readonly _tag = "SchemaMismatch"

  constructor(
    fields: CommonFields & {
      readonly side: "arguments" | "result"
      readonly issues?: ReadonlyArray<FieldIssue>
      readonly alternatives?: ReadonlyArray<string>
      readonly fault?: TextFault
    }
  ) {
    super({ ...fields, issues: fields.issues ?? [], alternatives: fields.alternatives ?? [] })
  }

  /** Its schema: encodes to plain JSON, without the `cause`. */
  static readonly schema: Schema.Codec<SchemaMismatch, typeof SchemaMismatchFields.Encoded> = codec(
    SchemaMismatchFields,
    () => SchemaMismatch
  )
}

/**
 * How much of how much: `of` is absent when nobody knows the whole.
 *
 * @category models
 * @since 0.1.0
 */
export interface Coverage extends Schema.Schema.Type<typeof Coverage> {}

/**
 * The schema of a {@link Coverage}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Coverage = Schema.Struct({
  have: Schema.Finite,
  of: Schema.optionalKey(Schema.Finite),
  /** What is counted: `"orders"`, `"pages"`. */
  unit: Schema.optionalKey(Schema.String)
})

const partialDataFields = <A, I>(data: Schema.Codec<A, I>) =>
  Schema.Struct({
    _tag: Schema.tag("PartialData"),
    ...common,
    data,
    coverage: Schema.optionalKey(Coverage),
    next: Schema.optionalKey(Schema.JsonObject)
  })

/**
 * A value that is valid and well-formed, but not the whole: one page of many, or what was
 * there when the time ran out.
 *
 * It is a failure because the caller must decide: go on with `data`, or call again with the
 * arguments in `next`.
 *
 * @example
 * ```ts
 * import { PartialData } from "@fallible/core"
 *
 * const failure = new PartialData({
 *   code: "more_pages",
 *   detail: "Page 1 of 3.",
 *   data: ["ada", "grace"],
 *   coverage: { have: 1, of: 3, unit: "pages" },
 *   next: { page: 2 }
 * })
 * failure.data // => ["ada", "grace"]
 * ```
 *
 * @category failures
 * @since 0.1.0
 */
export class PartialData<out A = unknown> extends CodedFailure<CommonFields> {
  readonly _tag = "PartialData"
  /** What is there. */
  declare readonly data: A
  /** How much of how much it is. */
  declare readonly coverage?: Coverage
  /** The arguments of the call that continues. */
  declare readonly next?: Schema.JsonObject

  constructor(
    fields: CommonFields & {
      readonly data: A
      readonly coverage?: Coverage
      readonly next?: Schema.JsonObject
    }
  ) {
    super(fields)
  }

  /** Its schema, over the schema of its data: encodes to plain JSON when that does. */
  static schema<A, I>(
    data: Schema.Codec<A, I>
  ): Schema.Codec<PartialData<A>, ReturnType<typeof partialDataFields<A, I>>["Encoded"]> {
    return codec(partialDataFields(data), () => PartialData<A>)
  }
}

const SemanticGarbageFields = Schema.Struct({
  _tag: Schema.tag("SemanticGarbage"),
  ...common,
  alternatives: Schema.Array(Schema.String)
})

/**
 * Valid, complete, and wrong or unsatisfiable: an unknown city, no rows because a name stood
 * in an id field, Celsius where Fahrenheit was asked for.
 *
 * It is never retried below the model; it asks for a second thought. Give the valid choices
 * as `alternatives`, nearest first.
 *
 * @example
 * ```ts
 * import { SemanticGarbage } from "@fallible/core"
 *
 * const failure = new SemanticGarbage({
 *   code: "unknown_city",
 *   detail: "Unknown city: 'Atlantis'.",
 *   alternatives: ["London", "Paris"]
 * })
 * failure.alternatives // => ["London", "Paris"]
 * ```
 *
 * @category failures
 * @since 0.1.0
 */
export class SemanticGarbage extends CodedFailure<
  CommonFields & {
    /** The valid choices, nearest first. */
    readonly alternatives: ReadonlyArray<string>
  }
> {
  readonly _tag = "SemanticGarbage"

  constructor(fields: CommonFields & { readonly alternatives?: ReadonlyArray<string> }) {
    super({ ...fields, alternatives: fields.alternatives ?? [] })
  }

  /** Its schema: encodes to plain JSON, without the `cause`. */
  static readonly schema: Schema.Codec<SemanticGarbage, typeof SemanticGarbageFields.Encoded> = codec(
    SemanticGarbageFields,
    () => SemanticGarbage
  )
}

const ToolUnavailableFields = Schema.Struct({
  _tag: Schema.tag("ToolUnavailable"),
  ...common,
  transient: Schema.Boolean,
  scope: Schema.optionalKey(Schema.Literals(["arguments", "tool"])),
  retryAfter: Schema.optionalKey(Schema.DurationFromString),
  outcome: Schema.optionalKey(Certainty),
  tried: Schema.optionalKey(Schema.Array(Schema.String))
})

/**
 * The tool, or what it stands on, is gone: a refused connection, a timeout, a status of 429 or
 * 5xx, a quota, a defect in the handler.
 *
 * `transient` says whether trying later is worth anything; only transient ones are retried,
 * and only where a repetition is safe. `scope` says what a permanent one is about: one record that may not be read is not a
 * tool that is gone.
 *
 * @example
 * ```ts
 * import { ToolUnavailable } from "@fallible/core"
 *
 * const failure = new ToolUnavailable({
 *   code: "connection",
 *   detail: "The geocoder refused the connection.",
 *   transient: true,
 *   outcome: "not_executed"
 * })
 * failure.transient // => true
 *
 * const denied = new ToolUnavailable({
 *   code: "permission_denied",
 *   detail: "The record of P-7 needs a permission that this assistant does not have.",
 *   transient: false,
 *   scope: "arguments"
 * })
 * denied.scope // => "arguments"
 * ```
 *
 * @category failures
 * @since 0.1.0
 */
export class ToolUnavailable extends CodedFailure<
  CommonFields & {
    /** Is it worth trying later? */
    readonly transient: boolean
    /**
     * What a permanent failure is about. `"arguments"`: the tool works, and would refuse the same arguments again. The model may call it
     * with others. Neither `ToolHealth` nor a breaker counts it as an error, unless its code is `failed`, whose reason nobody knows.
     * `"tool"`: no call can succeed, so the model does not call the tool again. Default: `"tool"`.
     *
     * Of a transient failure, dispatch sets `"arguments"` on a timeout where the tool has a `size`.
     */
    readonly scope?: "arguments" | "tool"
    /** How long to wait before trying again, when the service said so. */
    readonly retryAfter?: Duration.Duration
    /**
     * Whether the call took effect before it failed (`Certainty`). `"not_executed"`: certainly not. `"unknown"`: it may have. Without it,
     * a transient failure of a tool that acts is taken for unknown, and a permanent one for a refusal that did nothing.
     */
    readonly outcome?: Certainty
    /**
     * The sources that were tried, in order, each with its code, when a tool has more than one and all of them failed:
     * `["database (timeout)", "cache (nothing known)"]`.
     */
    readonly tried?: ReadonlyArray<string>
  }
> {
  readonly _tag = "ToolUnavailable"

  /** Its schema: encodes to plain JSON, without the `cause`. */
  static readonly schema: Schema.Codec<ToolUnavailable, typeof ToolUnavailableFields.Encoded> = codec(
    ToolUnavailableFields,
    () => ToolUnavailable
  )
}

// -----------------------------------------------------------------------------
// Their union
// -----------------------------------------------------------------------------

/**
 * Any of the four. `A` is the type of a partial value's data.
 *
 * @category models
 * @since 0.1.0
 */
export type ToolFailure<A = unknown> = SchemaMismatch | PartialData<A> | SemanticGarbage | ToolUnavailable

/**
 * The four tags, for what handles failures by name.
 *
 * @category models
 * @since 0.1.0
 */
export type Tag = ToolFailure["_tag"]

/**
 * The schema of a {@link ToolFailure}, over the schema of the tool's success: with it a failure
 * survives a journal, a wire and a log. The `cause` stays behind.
 *
 * @example
 * ```ts
 * import { SemanticGarbage, ToolFailure } from "@fallible/core"
 * import { Schema } from "effect"
 *
 * const codec = ToolFailure.schema(Schema.String)
 * const failure = new SemanticGarbage({ code: "unknown_city", detail: "Unknown city: 'Atlantis'." })
 * Schema.encodeSync(codec)(failure)._tag // => "SemanticGarbage"
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const schema = <A, I>(success: Schema.Codec<A, I>): Schema.Codec<ToolFailure<A>, Encoded<I>> =>
  Schema.Union([SchemaMismatch.schema, PartialData.schema(success), SemanticGarbage.schema, ToolUnavailable.schema])

/**
 * What a {@link ToolFailure} encodes to.
 *
 * @category models
 * @since 0.1.0
 */
export type Encoded<I> =
  | typeof SchemaMismatch.schema.Encoded
  | ReturnType<typeof PartialData.schema<unknown, I>>["Encoded"]
  | typeof SemanticGarbage.schema.Encoded
  | typeof ToolUnavailable.schema.Encoded

// -----------------------------------------------------------------------------
// From any error
// -----------------------------------------------------------------------------

/**
 * How {@link from} reads an error.
 *
 * @category models
 * @since 0.1.0
 */
export interface FromOptions {
  /** Classes of errors whose messages are written for the model. Default: none. */
  readonly tell?: ReadonlyArray<abstract new(...args: Array<never>) => Error>
}

/**
 * The failure that an error of any library amounts to, by its shape. It throws what is not a failure: mistakes of the program.
 *
 * When to use: as the `catch` of `Effect.tryPromise` in a handler. `Tool.promise` does so by itself.
 *
 * | what was thrown                                                      | failure                                                            |
 * | -------------------------------------------------------------------- | ------------------------------------------------------------------ |
 * | a status: in an error, in a `Response`, in a message (`HTTP 404`)    | what `HttpFailure` makes of that status                            |
 * | a lost or refused connection, a timeout, an abort                    | transient `ToolUnavailable`, code `connection` or `timeout`        |
 * | a code of gRPC, JSON-RPC or MCP                                      | what the status with the same meaning becomes                      |
 * | an SQLSTATE, a code of SQLite or MySQL                               | by its class: `rejected`, `invalid_arguments`, `server_error`, …   |
 * | invalid JSON, the issues of a schema                                 | `SchemaMismatch` of the result                                     |
 * | a code of the file system                                            | `not_found`, `permission_denied`, `rejected`, `server_error`       |
 * | a plain `Error` with a sentence                                      | `SemanticGarbage`, code `rejected`: the tool refused               |
 * | anything else                                                        | permanent `ToolUnavailable`, code `failed`, with an unknown outcome |
 *
 * `docs/any-error.md` has an example of each. What an error says of itself goes first: `retryable`, `isRetryable`, `$retryable`. A
 * `retry-after` header becomes `retryAfter`. Causes and the errors of an aggregate are looked at, too.
 *
 * The model reads the message of a plain `Error`, and of classes in `tell`. It reads none that comes with a field `code`, `errno`, `sql`,
 * `config`, `request` or `response`. The message becomes one bounded line without addresses, paths and secrets. All other errors get a
 * sentence by their kind. The error itself is the `cause`, for the log.
 *
 * A failure of this library stays as it is. A mistake of the program is thrown again and becomes a defect: `TypeError`, `RangeError`,
 * `ReferenceError`, an assertion. So is `PartialData`, since nobody can check the type of its data here.
 *
 * An error is about the request that failed, not about what the handler did before. So a refused connection does not prove that a
 * non-idempotent tool did nothing, unless it is declared `refusesFirst`. A thrown sentence does: it says that the tool refused. After the
 * handler has acted, fail with a `ToolUnavailable` whose `outcome` says so.
 *
 * @param error what was thrown
 * @param options `tell`: classes of errors whose messages the model may read; default: none
 *
 * @example
 * ```ts
 * import { ToolFailure } from "@fallible/core"
 * import { Effect } from "effect"
 *
 * const booking = Effect.tryPromise({
 *   try: () => Promise.reject(new Error("Room A1 is already booked.")),
 *   catch: ToolFailure.from
 * })
 * const failure = await Effect.runPromise(Effect.flip(booking))
 * failure._tag // => "SemanticGarbage"
 * failure.detail // => "Room A1 is already booked."
 *
 * const refused = Object.assign(new Error("connect ECONNREFUSED 10.0.0.7:5432"), { code: "ECONNREFUSED" })
 * ToolFailure.from(refused).detail // => "The service could not be reached: it refused the connection."
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const from = (
  error: unknown,
  { tell = [] }: FromOptions = {}
): SchemaMismatch | SemanticGarbage | ToolUnavailable => {
  if (isOurs(error)) {
    if (error._tag === "PartialData") throw error
    return error
  }
  if (!Array.isArray(tell)) throw new TypeError(`'tell' is a list of classes; got ${excerpt(tell)}.`, { cause: error })
  const described = describe(error, tell)
  if (described === undefined) throw error
  const failure = asGuess(made(described, { SchemaMismatch, SemanticGarbage, ToolUnavailable }))
  return described.isRedirected === true ? asRedirected(failure) : failure
}

// Nothing is known of a value that was thrown: a look at it may throw.
const isOurs = (error: unknown): error is ToolFailure => attempted(() => isToolFailure(error)) === true

/**
 * Is it one of the four?
 *
 * @example
 * ```ts
 * import { SemanticGarbage, ToolFailure } from "@fallible/core"
 *
 * ToolFailure.isToolFailure(new SemanticGarbage({ code: "empty_result", detail: "No rows." })) // => true
 * ToolFailure.isToolFailure(new Error("no rows")) // => false
 * ```
 *
 * @category predicates
 * @since 0.1.0
 */
export const isToolFailure = (u: unknown): u is ToolFailure =>
  u instanceof SchemaMismatch || u instanceof PartialData || u instanceof SemanticGarbage ||
  u instanceof ToolUnavailable

/**
 * Is it worth trying the same thing later, with nothing changed?
 *
 * @example
 * ```ts
 * import { ToolFailure, ToolUnavailable } from "@fallible/core"
 *
 * const refused = new ToolUnavailable({ code: "connection", detail: "Connection refused.", transient: true })
 * ToolFailure.isTransient(refused) // => true
 * ```
 *
 * @category predicates
 * @since 0.1.0
 */
export const isTransient = (failure: ToolFailure): failure is ToolUnavailable =>
  failure._tag === "ToolUnavailable" && failure.transient

/**
 * Does the failure say that the call certainly did nothing?
 *
 * @category predicates
 * @since 0.1.0
 */
export const isNotExecuted = (
  failure: ToolFailure
): failure is ToolUnavailable & { readonly outcome: "not_executed" } =>
  failure._tag === "ToolUnavailable" && failure.outcome === "not_executed"

/**
 * Does the failure say that the call may have acted, so that running it again could act twice?
 *
 * @category predicates
 * @since 0.1.0
 */
export const isOutcomeUnknown = (
  failure: ToolFailure
): failure is ToolUnavailable & { readonly outcome: "unknown" } =>
  failure._tag === "ToolUnavailable" && failure.outcome === "unknown"
