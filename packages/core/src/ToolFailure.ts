/**
 * The four ways in which a tool can fail. There are no others.
 *
 * They differ in what happens next, not in where the failure comes from:
 *
 * | failure           | meaning                                                            | next step                                         |
 * | ----------------- | ------------------------------------------------------------------ | ------------------------------------------------- |
 * | `SchemaMismatch`  | the call, or the tool's result, breaks a contract                  | correct the call, or give up on the tool          |
 * | `PartialData`     | a valid but incomplete result                                      | continue with the data, or fetch the rest         |
 * | `SemanticGarbage` | a valid and complete call or result that is wrong or unsatisfiable | reconsider the call                               |
 * | `ToolUnavailable` | the tool, or a service it depends on, is unavailable               | while transient, retried before the model sees it |
 *
 * A tool's handler fails with one of the four. A policy (`Policy`), such as a retry or a fallback, may handle
 * the failure. `Dispatch`, which runs the model's calls, turns any other error into one of the four. A
 * rendering (`Rendering`) turns a failure into the text that the model reads.
 *
 * In an Effect generator, a failure can be yielded: `return yield* new SemanticGarbage({ … })`. Each failure
 * has a stable `code`, a one-line `detail` and a schema. It captures no stack trace, so creating a failure is
 * as cheap as creating any other value.
 *
 * @since 0.1.0
 */
import { faultKinds } from "@fallible/arguments/internal"
import { describe } from "@fallible/errors"
import type * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { Certainty } from "./Certainty.ts"
import { StopSignal } from "./internal/failure/controlSignal.ts"
import { Evidence } from "./internal/failure/evidence.ts"
import { codec, CodedFailure, withCauseOf } from "./internal/failure/failureClass.ts"
import { fromDescription, now } from "./internal/failure/fromDescription.ts"
import type { Returned, TagOf, Untagged, Unwritten, WithTag } from "./internal/failure/taggedErrors.ts"
import { namedStruct } from "./internal/value/namedStruct.ts"
import { excerpt } from "./internal/value/text.ts"
import { attempt, isA } from "./internal/value/untrusted.ts"

export { Evidence } from "./internal/failure/evidence.ts"

// -----------------------------------------------------------------------------
// Common fields
// -----------------------------------------------------------------------------

/**
 * The severity of a failure that a fixer has escalated (`Fixer.escalate`).
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
 * One field that breaks a contract: its path, what was expected, and what the value actually was.
 *
 * @category models
 * @since 0.1.0
 */
export class FieldIssue extends namedStruct<FieldIssue>()({
  /** Keys and indices from the root, for example `["items", 0, "price"]`. */
  path: Schema.Array(Schema.Union([Schema.String, Schema.Int])),
  expected: Schema.String,
  actual: Schema.String,
  /** One sentence that says what to write instead. */
  advice: Schema.optionalKey(Schema.String)
}) {}

/**
 * The kind and the position of the fault in argument text that cannot be read.
 *
 * @category models
 * @since 0.1.0
 */
export class TextFault extends namedStruct<TextFault>()({
  /** The kind of fault. `RULES.md` of `@fallible/arguments` has an example of each. */
  kind: Schema.Literals(faultKinds),
  /** 0-based offset in UTF-16 code units. */
  offset: Schema.Int,
  /** 1-based line. */
  line: Schema.Int,
  /** 1-based column, in UTF-16 code units. */
  column: Schema.Int
}) {}

/**
 * The stable codes of this library's failures, sorted by what happens next. A handler may use other codes. `Dispatch` says
 * which of them it adds to a tool's own.
 *
 * **The model corrects its call** (`SchemaMismatch` of the arguments)
 *
 * - `unknown_tool`: the toolkit has no such tool
 * - `invalid_json`: the text of the arguments cannot be read
 * - `invalid_arguments`: the arguments do not fit, or break a rule
 * - `no_identity`: the arguments do not say what to act on
 *
 * **The model does without the tool** (`SchemaMismatch` of the result)
 *
 * - `invalid_result`: the result does not fit its schema
 * - `invalid_json`, `truncated`: the service's text is broken, or ends too early
 * - `invariant_broken`: the result breaks a rule of the definition
 *
 * **The model uses the part, or asks for more** (`PartialData`)
 *
 * - `more_pages`: there are more pages
 * - `truncated`: the rest is missing
 *
 * **The model decides again** (`SemanticGarbage`)
 *
 * - `not_found`, `unknown_entity`, `empty_result`: there is nothing, or nothing with this id
 * - `rejected`: the service, or `refuse`, refused these arguments
 * - `repeated_call`: the same call has failed too often, or was refused
 * - `reported_failure`: the result says that it failed
 * - `client_failed`: the client that runs the tool could not
 * - `unknown_result`, `unknown_path`: `read_more` finds no such part
 *
 * **The call is retried where that is safe** (`ToolUnavailable`, mostly transient)
 *
 * - `connection`, `timeout`, `rate_limited`, `server_error`: the service could not answer
 * - `busy`: the service asks to try again in a moment
 * - `not_visible`: what the run has just made is not found yet
 * - `not_executed`: a check found that the call has not taken effect
 * - `check_failed`: the check before the call failed, so the tool did not run
 * - `circuit_open`, `bulkhead_full`, `throttled`: a breaker or a limit refused the call
 * - `breaker_unavailable`, `limiter_unavailable`: the store of the breaker or the limit failed
 * - `not_run`: another call comes first
 * - `interrupted`, `halted`: the run ended first
 *
 * **The model does without the call** (`ToolUnavailable`, permanent)
 *
 * - `permission_denied`, `quota_exhausted`: only operators can change that
 * - `rejected`, `invalid_request`, `unexpected_status`: the service does not take this request
 * - `failed`: the error is unknown
 * - `defect`: the tool has a bug
 * - `unspecified`: the failure was made without a code
 * - `outside_call`: a policy ran the tool outside its call
 * - `disabled`: an operator has disabled the tool
 * - `call_limit`: the run has no calls left
 * - `loop_detected`: the call, or its tool, adds nothing new
 * - `not_approved`: the call was denied, or not approved in time
 * - `not_asked`: the tool asks its user, where nobody can be asked
 *
 * **The call must not be repeated** (`ToolUnavailable`, permanent)
 *
 * - `outcome_unknown`: the call may have taken effect
 * - `in_doubt`: the tool is closed, since another call may have taken effect
 * - `already_done`: the same call has succeeded
 * - `repeated_call`: the same call has failed too often, and may have acted or found the tool unavailable
 * - `not_repeated`: an earlier attempt of the call may have acted
 *
 * **The model is told the first failure** (`ToolUnavailable`, in reports of fixers)
 *
 * - `fixer_failed`: the fixer failed
 * - `too_long`, `asked_user`: the fixing agent could not work
 * - `no_fix`: one of `Fixer.tools` was called where nothing is corrected
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
  | "reported_failure"
  | "unknown_entity"
  | "unknown_result"
  | "unknown_path"
  | "client_failed"
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
  | "check_failed"
  | "circuit_open"
  | "disabled"
  | "breaker_unavailable"
  | "bulkhead_full"
  | "throttled"
  | "limiter_unavailable"
  | "not_found"
  | "not_visible"
  | "busy"
  | "rejected"
  | "invalid_request"
  | "unexpected_status"
  | "failed"
  | "unspecified"
  | "not_run"
  | "interrupted"
  | "halted"
  | "no_identity"
  | "repeated_call"
  | "already_done"
  | "in_doubt"
  | "not_approved"
  | "not_asked"
  | "loop_detected"
  | "call_limit"
  | "fixer_failed"
  | "no_fix"
  | "asked_user"
  | "too_long"
  | "defect"
  // Any other snake_case code. The intersection keeps the codes above in editor completions.
  | (string & {})

const common = {
  code: Schema.String,
  detail: Schema.String,
  hint: Schema.optionalKey(Schema.String),
  severity: Schema.optionalKey(Severity),
  source: Schema.optionalKey(Schema.String),
  outcome: Schema.optionalKey(Certainty),
  evidence: Schema.optionalKey(Evidence)
}

interface CommonFields {
  /** A stable name in snake_case. Programs match on the `_tag` first, then on this code. */
  readonly code: Code
  /** One line: what is wrong, the offending value, and what was expected. */
  readonly detail: string
  /** One line: what to do next. */
  readonly hint?: string
  /** How serious the failure is. Set by `Fixer.escalate`. */
  readonly severity?: Severity
  /** The name of the fixer (`Tool.fix`) that escalated the failure and wrote its text. Absent if the tool wrote it. */
  readonly source?: string
  /**
   * Whether the tool's effect took place: `"executed"` if it did, `"not_executed"` if it certainly did not, `"unknown"` if
   * it may have. This is the author's word, unless `evidence` says that it was derived from an error. Without an
   * `outcome`, a failed call of an acting tool (one with side effects) is in doubt, unless the requests of its handler, or
   * what it declares, say otherwise. `Certainty` has the table.
   */
  readonly outcome?: Certainty
  /** What is known of the failure beside its author's word: what it was derived from, and which tool ended with it. */
  readonly evidence?: Evidence
  /** The original error, for logs and spans in this process. It is never encoded and never shown to a model. */
  readonly cause?: unknown
}

// -----------------------------------------------------------------------------
// The four failures
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
 * With `side: "arguments"`, the model's call is wrong: it names an unknown tool, its text is not JSON, or its
 * keys or types are wrong. With `side: "result"`, the tool's own output is wrong. Neither side is retried as
 * it is, because the same data would break the same contract again.
 *
 * By failing with side `"arguments"`, a handler promises that it did nothing with the arguments. The handler can
 * therefore safely be run again with better ones (`Tool.fix`). When a tool that the handler runs fails this way,
 * only that inner tool's arguments count as rejected, not those of the handler's own tool.
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
    /** Which data breaks the contract. */
    readonly side: "arguments" | "result"
    /** One entry for each invalid field. Empty if no field is at fault. */
    readonly issues: ReadonlyArray<FieldIssue>
    /** The valid choices. The one nearest to the given value comes first. */
    readonly alternatives: ReadonlyArray<string>
    /** The kind and the position of the fault, if the text cannot be read. */
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

  /** The schema of this class. It encodes a failure to plain JSON, without the `cause`. */
  static readonly schema: Schema.Codec<SchemaMismatch, typeof SchemaMismatchFields.Encoded> = codec(
    SchemaMismatchFields,
    () => SchemaMismatch
  )
}

/**
 * How much of a whole is present: `have` out of `of`. Without `of`, the size of the whole is unknown.
 *
 * @category models
 * @since 0.1.0
 */
export class Coverage extends namedStruct<Coverage>()({
  have: Schema.Finite,
  of: Schema.optionalKey(Schema.Finite),
  /** The unit that is counted, for example `"orders"` or `"pages"`. */
  unit: Schema.optionalKey(Schema.String)
}) {}

const partialDataFields = <A, I>(data: Schema.Codec<A, I>) =>
  Schema.Struct({
    _tag: Schema.tag("PartialData"),
    ...common,
    data,
    coverage: Schema.optionalKey(Coverage),
    next: Schema.optionalKey(Schema.JsonObject)
  })

/**
 * A valid and well-formed value that is incomplete: one page of many, or the part that was ready when the
 * time ran out.
 *
 * An incomplete value is a failure because the caller must make a decision: continue with `data`, or call again
 * with the arguments in `next`.
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
  /** The part that is available. */
  declare readonly data: A
  /** How much of the whole `data` covers. */
  declare readonly coverage?: Coverage
  /** The arguments for a call that fetches more. */
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

  /** Returns the schema of this class, given a schema of the data. It encodes to plain JSON if that schema does. */
  static schema<A, I>(
    data: Schema.Codec<A, I>
  ): Schema.Codec<PartialData<A>, ReturnType<typeof partialDataFields<A, I>>["Encoded"]> {
    return codec(partialDataFields(data), () => PartialData<A>)
  }
}

const SemanticGarbageFields = Schema.Struct({
  _tag: Schema.tag("SemanticGarbage"),
  ...common,
  alternatives: Schema.Array(Schema.String),
  askUser: Schema.optionalKey(Schema.Boolean)
})

/**
 * A valid and complete request or result that is wrong or cannot be satisfied. Examples: an unknown city; a search
 * without results, because the model gave a name in place of an id; Celsius instead of Fahrenheit.
 *
 * This failure is not retried before the model sees it, because the model has to reconsider its call. List the
 * valid choices as `alternatives`, nearest first. If the model must not choose for the user, set `askUser`.
 *
 * If a handler that acts makes this failure itself, it says that nothing was done, unless a request was seen that may have
 * acted. `ToolCall.refuse` says so in any case. After the handler has acted, give the failure an `outcome`.
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
    /** The valid choices. The one nearest to the given value comes first. */
    readonly alternatives: ReadonlyArray<string>
    /**
     * Whether only the user can say which arguments are right. The model is then told to ask the user, and not to choose.
     * By default, `false`: the model may choose.
     */
    readonly askUser?: boolean
  }
> {
  readonly _tag = "SemanticGarbage"

  constructor(
    fields: CommonFields & { readonly alternatives?: ReadonlyArray<string>; readonly askUser?: boolean }
  ) {
    super({ ...fields, alternatives: fields.alternatives ?? [] })
  }

  /** The schema of this class. It encodes a failure to plain JSON, without the `cause`. */
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
  tried: Schema.optionalKey(Schema.Array(Schema.String))
})

/**
 * The tool, or a service it depends on, is unavailable. Examples: a refused connection, a timeout, a status of 429
 * or 5xx, a used-up quota, a defect in the handler.
 *
 * `transient` says whether a later attempt may succeed. Only transient failures are retried, and only if it
 * is safe to run the tool again. `scope` says what a permanent failure applies to: being denied access to one
 * record does not make the whole tool unavailable.
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
    /** Whether a later attempt may succeed. */
    readonly transient: boolean
    /**
     * What a permanent failure applies to. By default, `"tool"`.
     *
     * - `"arguments"`: the tool works, but would refuse the same arguments again. The model may call it
     *   with other arguments. Neither `ToolHealth` nor a breaker counts the failure as an error of the tool,
     *   unless the code is `failed` (the reason is unknown).
     * - `"tool"`: no call can succeed, so the model should not call the tool again.
     *
     * Dispatch also sets `"arguments"` on a transient timeout of a read-only tool that declares a `size`, since a
     * call that asks for less may succeed.
     */
    readonly scope?: "arguments" | "tool"
    /** How long to wait before the next attempt. Absent if the service did not say. */
    readonly retryAfter?: Duration.Duration
    /**
     * The sources that were tried for an answer, in order, each with the code of its failure, and with its number of
     * attempts if there were several. Present if the tool has fallbacks and they failed, too: for example
     * `["database (timeout, 3 attempts)", "cache (no value)"]`.
     */
    readonly tried?: ReadonlyArray<string>
  }
> {
  readonly _tag = "ToolUnavailable"

  /** The schema of this class. It encodes a failure to plain JSON, without the `cause`. */
  static readonly schema: Schema.Codec<ToolUnavailable, typeof ToolUnavailableFields.Encoded> = codec(
    ToolUnavailableFields,
    () => ToolUnavailable
  )
}

// -----------------------------------------------------------------------------
// Union
// -----------------------------------------------------------------------------

/**
 * Any of the four failures. `A` is the type of the `data` of a `PartialData`.
 *
 * @category models
 * @since 0.1.0
 */
export type ToolFailure<A = unknown> = SchemaMismatch | PartialData<A> | SemanticGarbage | ToolUnavailable

/**
 * The tags of the four failures, for code that handles failures by tag.
 *
 * @category models
 * @since 0.1.0
 */
export type Tag = ToolFailure["_tag"]

/**
 * Returns the schema of a {@link ToolFailure}, given the schema of the tool's success value.
 *
 * When to use: to journal, send or log a failure. The `cause` is not encoded.
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
 * The encoded form of a {@link ToolFailure}.
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
// Conversion from any error
// -----------------------------------------------------------------------------

/**
 * Options of {@link from}.
 *
 * @category models
 * @since 0.1.0
 */
export interface FromOptions {
  /**
   * Error classes whose messages the model may read. Of a tagged error without a message, it reads the tag and the plain
   * fields: `ServiceLocked: service: "db"`. Default: none.
   */
  readonly tell?: ReadonlyArray<abstract new(...args: Array<never>) => Error>
  /**
   * Error classes that mean that the tool has refused the call, and has done nothing. The model may read their messages,
   * too. Default: none.
   */
  readonly refuses?: ReadonlyArray<abstract new(...args: Array<never>) => Error>
  /**
   * Whether the tool only reads, or is idempotent. Then a message that asks to try again soon makes the failure transient,
   * with code `busy`: "The lock is held. Try again in a moment." Any other tool must not be repeated because of a sentence.
   * Default: `false`; `Tool.promise` knows it.
   */
  readonly reads?: boolean
}

/**
 * Converts an error of any library into a failure, based on the error's shape.
 *
 * When to use: as the `catch` of `Effect.tryPromise` in a handler. `Tool.promise` already does this.
 *
 * | thrown value                                                      | failure                                                                 |
 * | ----------------------------------------------------------------- | ----------------------------------------------------------------------- |
 * | an HTTP status: in an error, a `Response`, a message (`HTTP 404`) | the failure that `HttpFailure` gives for that status                    |
 * | a lost or refused connection, a timeout, an abort                 | transient `ToolUnavailable`, code `connection` or `timeout`             |
 * | a gRPC, JSON-RPC or MCP code                                      | the failure for the status with the same meaning                        |
 * | an SQLSTATE, an SQLite or MySQL code                              | depends on the code: `rejected`, `invalid_arguments`, `server_error`, … |
 * | invalid JSON, schema issues                                       | `SchemaMismatch` of the result                                          |
 * | an error code of the file system                                  | `not_found`, `permission_denied`, `rejected`, `server_error`            |
 * | a plain `Error` whose message reads as a refusal                  | `SemanticGarbage`, code `rejected`                                      |
 * | an error of a class in `refuses`                                  | `SemanticGarbage`, code `rejected`, outcome `not_executed`              |
 * | a message that asks to try again soon, of a tool that may repeat  | transient `ToolUnavailable`, code `busy`                                |
 * | anything else                                                     | permanent `ToolUnavailable`, code `failed`, with an unknown outcome     |
 *
 * `docs/any-error.md` has an example of each row. If the error has a retry flag (`retryable`, `isRetryable`
 * or `$retryable`), the flag takes precedence over the table. A `retry-after` header becomes `retryAfter`.
 * The causes of an error and the errors of an aggregate are examined, too.
 *
 * The model may read the message of a plain `Error`, or of an error whose class is listed in `tell`. The
 * exception is an error with a field that marks it as a library's own error: `code`, `errno`, `sql`,
 * `config`, `request`, `response`, `cmd`, `stdout`, `stderr` or `output`. The message becomes one line of
 * limited length, with addresses, paths and secrets removed. For all other errors, the model reads a sentence
 * that fits the kind of error. The error itself becomes the failure's `cause`, for the log.
 *
 * A failure of this library is returned unchanged. The exception is `PartialData`: it is thrown again,
 * because the type of its data cannot be checked here. A programming mistake (`TypeError`, `RangeError`,
 * `ReferenceError`, a failed assertion) is also thrown again, and becomes a defect.
 *
 * What is derived from an error words the failure, and says whether waiting helps. It never proves what a tool that acts
 * (has side effects) did, even if the failure has an `outcome`: `evidence.inferred` marks it. The exception is a class in
 * `refuses`, which is the author's word. `Certainty` has the table of what counts.
 *
 * @param error the thrown value
 * @param options `tell`: error classes whose messages the model may read. `refuses`: error classes that mean that the tool
 * has refused the call, and done nothing; the model may read their messages, too. Default: none
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
  options: FromOptions = {}
): SchemaMismatch | SemanticGarbage | ToolUnavailable => {
  if (isOwnFailure(error)) {
    if (error._tag === "PartialData") throw error
    return error
  }
  for (const [name, classes] of Object.entries({ tell: options.tell, refuses: options.refuses })) {
    if (classes === undefined || Array.isArray(classes)) continue
    throw new TypeError(`'${name}' must be a list of classes; got ${excerpt(classes)}.`, { cause: error })
  }
  // A stop takes precedence over any failure, wherever it is thrown.
  if (isStop(error)) throw error
  const { reads = false, ...listed } = options
  const description = describe(error, { ...listed, now })
  if (description.class === "bug") throw error
  const { isQuoted, isRecognized, message } = description
  const detail = isQuoted || isRecognized ? message : message.replace(/^It/, "The tool")
  return fromDescription(description, { cause: error, detail, reads }, {
    SchemaMismatch,
    SemanticGarbage,
    ToolUnavailable
  })
}

const isStop = isA(StopSignal)

/**
 * The functions of {@link fromTags}, one for each tag in `E`. The four failures need none.
 *
 * @category models
 * @since 0.1.0
 */
export type FromTags<E> = {
  readonly [Tag in TagOf<Exclude<E, ToolFailure>>]: (
    error: WithTag<Exclude<E, ToolFailure>, Tag>
  ) => ToolFailure | Unwritten
}

/**
 * What {@link fromTags} makes of the errors in `E`.
 *
 * @category models
 * @since 0.1.0
 */
export type OfTags<E, Handlers> =
  // Names of their own: the compiler must not infer `E` and `Handlers` from the type that is expected of the result.
  [E, Handlers] extends [infer Error, infer By] ?
      | Extract<Error, ToolFailure>
      | Extract<Returned<By>, ToolFailure>
      | ([Untagged<Error>] extends [never] ? never : ReturnType<typeof from>)
    : never

/**
 * Converts tagged errors into failures: you say, for each tag, what the error means.
 *
 * When to use: with `Effect.mapError`, after a service of your own that fails with tagged errors. Each tag in the error
 * channel needs a function, and each function a tag in the error channel: the compiler names what is missing. For the
 * errors of libraries, which have no tags, use {@link from}.
 *
 * What a function returns is its author's word, unlike what {@link from} infers. So a refusal counts as one, and an `outcome`
 * says what the tool did. A function may also be {@link from} itself, for an error that is only a wrapper, such as Effect's
 * `UnknownError`. The error becomes the `cause` of the failure, for the log, unless the failure has one.
 *
 * A failure of this library is returned unchanged, and needs no function. An error without a tag goes to {@link from}.
 *
 * @param handlers a function for each tag, which takes the error, and returns one of the four failures
 * @param options options of {@link from}, for errors without a tag. Default: none
 *
 * @example
 * ```ts
 * import { SemanticGarbage, ToolFailure, ToolUnavailable } from "@fallible/core"
 * import { Data, Effect } from "effect"
 *
 * class RoomTaken extends Data.TaggedError("RoomTaken")<{ free: Array<string> }> {}
 * class ServiceLocked extends Data.TaggedError("ServiceLocked")<{ by: string }> {}
 *
 * const book = (room: string): Effect.Effect<string, RoomTaken | ServiceLocked> =>
 *   room === "A1" ? Effect.fail(new RoomTaken({ free: ["B2"] })) : Effect.fail(new ServiceLocked({ by: "ops" }))
 *
 * const booking = book("A1").pipe(Effect.mapError(ToolFailure.fromTags({
 *   RoomTaken: ({ free }) =>
 *     new SemanticGarbage({ code: "room_taken", detail: "The room is taken.", alternatives: free }),
 *   ServiceLocked: ({ by }) =>
 *     new ToolUnavailable({ code: "locked", detail: `Locked by ${by}.`, transient: false, outcome: "not_executed" })
 * })))
 *
 * const failure = await Effect.runPromise(Effect.flip(booking))
 * failure // SemanticGarbage | ToolUnavailable
 * failure.detail // => "The room is taken."
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromTags = <
  E,
  Handlers extends
    & FromTags<E>
    & {
      readonly [Tag in Exclude<keyof Handlers, keyof FromTags<E>>]: (
        error: never
      ) => `No error needs a function for the tag '${Tag & string}'.`
    }
>(handlers: Handlers, options: FromOptions = {}) =>
(error: E): OfTags<E, Handlers> =>
  asOfTags(isOwnFailure(error) ? error : ofHandler(handlers, error) ?? from(error, options))

const ofHandler = (handlers: object, error: unknown): unknown => {
  const tag = attempt(() => Predicate.hasProperty(error, "_tag") ? error._tag : undefined)
  const handler: unknown = typeof tag === "string" && Object.hasOwn(handlers, tag)
    ? Reflect.get(handlers, tag)
    : undefined
  const failure: unknown = Predicate.isFunction(handler) ? handler(error) : undefined
  return isOwnFailure(failure) ? withCauseOf(failure, { cause: error }) : failure
}

// The handlers' types say what they return for each tag, which the compiler cannot follow by a key.
const asOfTags = <A>(failure: unknown): A => failure as A

// A thrown value may be anything: inspecting it may throw.
const isOwnFailure = (error: unknown): error is ToolFailure => attempt(() => isToolFailure(error)) === true

/**
 * Reports whether a value is one of the four failures.
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
 * Reports whether a failure is transient: the same call, unchanged, may succeed later.
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
 * Reports whether a failure says that the call certainly did nothing.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isNotExecuted = (
  failure: ToolFailure
): failure is ToolFailure & { readonly outcome: "not_executed" } => failure.outcome === "not_executed"

/**
 * Reports whether a failure says that the call may have taken effect, so that running it again could act
 * twice.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isOutcomeUnknown = (
  failure: ToolFailure
): failure is ToolFailure & { readonly outcome: "unknown" } => failure.outcome === "unknown"
