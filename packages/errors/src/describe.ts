import { ofStatus } from "./httpStatus.ts"
import { type Kind, type Recognized, refusedAs, transient, unrecognizedKind } from "./kind.ts"
import { at, attempt, type ErrorClass, isOneOf, textAt } from "./reading.ts"
import { isFault, recognize, saysRetryable, statusIn } from "./recognize.ts"
import { isLimitedIn, type Now, retryAfterIn, retryAfterOf, systemClock } from "./retryAfter.ts"
import { ofProse } from "./sentences.ts"
import { inWords, libraryField, tagOf, wordsOf } from "./shownWords.ts"
import { soonIn } from "./soon.ts"

/**
 * What an error means, as plain data.
 *
 * @category models
 * @since 0.1.0
 */
export interface Description {
  /**
   * What happens next:
   *
   * - `"unavailable"`: the service could not serve the request. `isTransient` says whether it may do so later.
   * - `"refused"`: the service understood the request, and said no: another request may succeed.
   * - `"invalid_request"`: a value in the request is wrong.
   * - `"invalid_answer"`: the service answered with something unreadable.
   * - `"bug"`: a mistake in the program, such as a `TypeError`.
   */
  readonly class: "unavailable" | "refused" | "invalid_request" | "invalid_answer" | "bug"
  /** A stable code in snake case: one of {@link Code}, or the code of another library's own failure. */
  readonly code: Code | (string & {})
  /** A sentence that a user or a model may read: without secrets, addresses, paths and statements. */
  readonly message: string
  /** True if waiting helps: the same request may succeed later. */
  readonly isTransient: boolean
  /** How long the service asks callers to wait, in milliseconds. Absent if it does not say, or if waiting does not help. */
  readonly retryAfter?: number
  /**
   * How long the words of an error ask to wait, in milliseconds, if nothing else says that waiting helps: "Still indexing,
   * try again in a moment". Whoever only reads may ask again. Absent if the words do not say so.
   */
  readonly soon?: number
  /** What a permanent `"unavailable"` applies to: this request, or every request to the service. */
  readonly scope?: "request" | "service"
  /** A sentence that says what to do. */
  readonly hint?: string
  /** The HTTP status of the service's answer. */
  readonly status?: number
  /** The paths at which an answer does not match its schema. Keys that may be data are shown as `"…"`. */
  readonly paths?: ReadonlyArray<ReadonlyArray<string | number>>
  /**
   * What the error says of the one request that it is about. A program may have made other requests before, so this never
   * says what a whole program did.
   */
  readonly request: {
    /**
     * Whether the request took effect. `"unknown"`: it may have. Absent if the error does not show it, as with most refusals.
     */
    readonly outcome?: "executed" | "not_executed" | "unknown"
    /** True if the request was redirected: the rest is then about the redirected request. */
    readonly redirected?: true
    /** True if only the words of the error say what it is. Anyone may write a sentence, so it proves nothing. */
    readonly worded?: true
  }
  /** False if nothing is known of the error but its words, if any. Such an error is worth a look. */
  readonly isRecognized: boolean
  /** True if `message` is the error's own message. */
  readonly isQuoted: boolean
  /** True if the error is of a class in `refuses`. */
  readonly isDeclared?: true
  /** If the error's own message is not shown because of a field that only libraries set: the name of that field. */
  readonly withheldFor?: string
}

/**
 * The codes of descriptions.
 *
 * @category models
 * @since 0.1.0
 */
export type Code =
  | "bug"
  | "connection"
  | "failed"
  | "invalid_arguments"
  | "invalid_json"
  | "invalid_request"
  | "invalid_result"
  | "not_found"
  | "permission_denied"
  | "quota_exhausted"
  | "rate_limited"
  | "rejected"
  | "server_error"
  | "timeout"
  | "truncated"
  | "unexpected_status"

/**
 * The options of {@link describe}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /**
   * Classes of errors whose messages may be shown. A plain `Error` needs no entry. Of a class with a `_tag` and without a
   * message, the tag and the plain fields may be shown. Default: none.
   */
  readonly tell?: ReadonlyArray<ErrorClass>
  /**
   * Classes of errors that mean that the request was refused, and that nothing was done. Their messages may be shown.
   * Default: none.
   */
  readonly refuses?: ReadonlyArray<ErrorClass>
  /** The clock, for a `Retry-After` with a date: returns the time in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: Now
}

/**
 * Describes an error of any library by its shape: its class, its code, a message that may be shown, whether waiting helps and
 * how long, and what its one request proves.
 *
 * When to use: where errors of services arrive, such as a retry loop, a logger, or the error handler of a server.
 *
 * Never throws, whatever the value: getters may throw, causes may be circular, messages may have 10 MB.
 *
 * @example
 * ```ts
 * import { describe } from "@fallible/errors"
 *
 * const refused = Object.assign(new Error("connect ECONNREFUSED 10.0.0.7:5432"), { code: "ECONNREFUSED" })
 * const { code, isTransient, message, request } = describe(refused)
 *
 * code // => "connection"
 * isTransient // => true
 * message // => "The service could not be reached: it refused the connection."
 * request.outcome // => "not_executed"
 * ```
 *
 * @param thrown the thrown value, of any type
 * @category describing
 * @since 0.1.0
 */
export const describe = (
  thrown: unknown,
  { now = systemClock, refuses = [], tell = [] }: Options = {}
): Description => {
  const listed = [...tell, ...refuses]
  // Effect's `UnknownError` only wraps what was thrown.
  const error = textAt(thrown, "_tag") === "UnknownError" ? at(thrown, "cause") ?? thrown : thrown
  if (isOneOf(error, refuses)) return declared(error, listed)
  const byShape = attempt(() => recognize(error))
  const words = byShape?.isMute === true ? undefined : attempt(() => wordsOf(error, listed))
  const tag = attempt(() => tagOf(error))
  // A message reads as a refusal only if it gives a reason. The words of a tag stand for a message.
  const recognized = byShape ??
    (words === undefined ? undefined : ofProse(textAt(error, "message") || (tag === undefined ? "" : inWords(tag))))
  if (recognized === undefined && attempt(() => isFault(error)) === true && !isListedItself(error, listed)) return bug
  const kind = withRetryFlag(
    recognized?.kind ?? (words === undefined ? unrecognizedKind : refusal),
    saysRetryable(error)
  )
  const withheldFor = words === undefined ? attempt(() => libraryField(error)) : undefined
  return made({
    recognized: {
      ...recognized,
      // A hint concerns the request that failed. After a redirect, this was another request.
      kind: recognized?.isRedirected === true && "hint" in kind ? { ...kind, hint: undefined } : kind,
      sentence: words ?? recognized?.sentence ??
        (tag === undefined ? "It failed. Only its operators can see why." : `It failed with ${tag}.`),
      isWorded: byShape === undefined || byShape.isWorded === true
    },
    retryAfter: attempt(() => retryAfterOf(error, now)),
    soon: words === undefined ? undefined : soonIn(words),
    status: attempt(() => statusIn(error)),
    isRecognized: recognized !== undefined,
    isQuoted: words !== undefined,
    ...(withheldFor === undefined ? {} : { withheldFor })
  })
}

/**
 * Describes a response by its HTTP status, for any client.
 *
 * When to use: if you check the status of responses yourself, as with `fetch`.
 *
 * @param status the status, a whole number
 * @param headers the headers, as a record or with a method `get`; default: none
 * @param now the clock, for a `Retry-After` with a date; default: `Date.now`
 *
 * @example
 * ```ts
 * import { describeStatus } from "@fallible/errors"
 *
 * const { code, retryAfter } = describeStatus(429, { "retry-after": "7" })
 * code // => "rate_limited"
 * retryAfter // => 7000
 * ```
 *
 * @category describing
 * @since 0.1.0
 */
export const describeStatus = (status: number, headers?: unknown, now: Now = systemClock): Description =>
  made({
    recognized: ofStatus(status, isLimitedIn(headers)),
    retryAfter: retryAfterIn(headers, now),
    status,
    isRecognized: true,
    isQuoted: false
  })

// An error that is a mistake in the program counts as listed only if its own class is listed. A listed base
// class is not enough.
const isListedItself = (error: unknown, listed: ReadonlyArray<ErrorClass>): boolean =>
  listed.some((one) => one === at(error, "constructor"))

// The kind of a thrown message that gives a reason: "Room A1 is booked."
const refusal: Kind = refusedAs("rejected")

const bug: Description = {
  class: "bug",
  code: "bug",
  message: "The program has a mistake.",
  isTransient: false,
  request: { outcome: "unknown" },
  isRecognized: true,
  isQuoted: false
}

// The author has declared what this class means, whatever the error looks like.
const declared = (error: unknown, listed: ReadonlyArray<ErrorClass>): Description => {
  const words = attempt(() => wordsOf(error, listed))
  return {
    class: "refused",
    code: "rejected",
    message: words ?? "The request was refused.",
    isTransient: false,
    request: { outcome: "not_executed" },
    isRecognized: true,
    isQuoted: words !== undefined,
    isDeclared: true
  }
}

// The error's own retry flag takes precedence over its kind.
const withRetryFlag = (kind: Kind, isRetryable: boolean | undefined): Kind => {
  if (isRetryable === undefined) return kind
  if (kind.class !== "unavailable") return isRetryable && kind === refusal ? transient(unrecognizedKind.code) : kind
  if (isRetryable === kind.isTransient) return kind
  // A retryable error is not a permanent failure, so the kind's hint and scope do not apply.
  return isRetryable ? transient(kind.code, kind.outcome) : { ...kind, isTransient: false }
}

const made = (
  { recognized: { isRedirected, isWorded, kind, paths, sentence }, retryAfter, soon, status, ...rest }:
    & Pick<Description, "isRecognized" | "isQuoted" | "withheldFor">
    & {
      readonly recognized: Recognized
      readonly retryAfter: number | undefined
      readonly soon?: number | undefined
      readonly status: number | undefined
    }
): Description => {
  const isTransient = kind.class === "unavailable" && kind.isTransient
  const outcome = outcomeOf(kind)
  const wait = retryAfter ?? soon
  return {
    class: kind.class,
    code: kind.code,
    message: sentence,
    isTransient,
    ...(isTransient && wait !== undefined ? { retryAfter: wait } : {}),
    ...(!isTransient && isWorded === true && soon !== undefined ? { soon } : {}),
    ...(kind.class === "unavailable" && !isTransient && kind.scope !== undefined ? { scope: kind.scope } : {}),
    ...("hint" in kind && kind.hint !== undefined ? { hint: kind.hint } : {}),
    ...(status === undefined ? {} : { status }),
    ...(paths === undefined ? {} : { paths }),
    request: {
      ...(outcome === undefined ? {} : { outcome }),
      ...(isRedirected === true ? { redirected: true } as const : {}),
      ...(isWorded === true ? { worded: true } as const : {})
    },
    ...rest
  }
}

const outcomeOf = (kind: Kind): Description["request"]["outcome"] => {
  if (kind.class === "invalid_answer") return "unknown"
  if (kind.class !== "unavailable") return undefined
  return kind.outcome === "open" ? "unknown" : kind.outcome
}
