/*
 * The meaning of HTTP statuses, defined in one place for all clients.
 */
import { invalid, type Kind, permanent, type Recognized, refusedAs, transient } from "./kind.ts"

/**
 * Returns the kind of a failure with an HTTP status.
 *
 * @param isLimited whether the headers say that the service limits requests (default: `false`). Some
 *   services, such as GitHub, then answer 403 instead of 429.
 */
export const kindOfStatus = (status: number, isLimited = false): Kind => {
  const effective = status === 403 && isLimited ? 429 : status
  return kinds.find(([pattern]) => pattern.test(String(effective)))![1]
}

/** Recognizes a status, with a sentence for an error without a message. */
export const ofStatus = (status: number, isLimited = false): Recognized => ({
  kind: kindOfStatus(status, isLimited),
  sentence: `The service answered ${status}.`
})

/** Kinds by status. The first matching pattern is used. */
const kinds: ReadonlyArray<readonly [status: RegExp, kind: Kind]> = [
  [
    /^401$/,
    permanent("permission_denied", { hint: "The service rejected this tool's credentials: tell the user." })
  ],
  [/^402$/, permanent("quota_exhausted", { hint: "The service requires payment: tell the user." })],
  [
    /^403$/,
    permanent("permission_denied", {
      hint: "Someone has to grant access first: tell the user.",
      scope: "request"
    })
  ],
  [/^4(04|10)$/, refusedAs("not_found", "Check the ids in the arguments.")],
  [/^408$/, transient("timeout")],
  [
    /^409$/,
    permanent("rejected", {
      hint: "It conflicts with the current state. Find out what that is.",
      scope: "request"
    })
  ],
  [/^422$/, invalid("request")],
  // 423 Locked and 425 Too Early.
  [/^42[35]$/, transient("server_error", "not_executed")],
  [/^429$/, transient("rate_limited", "not_executed")],
  [/^4\d\d$/, permanent("rejected", { hint: "The service would refuse the same request again.", scope: "request" })],
  [/^50[15]$/, permanent("server_error", { hint: "The service does not support this kind of request." })],
  [/^5\d\d$/, transient("server_error")],
  [/./, { class: "unavailable", code: "unexpected_status", isTransient: false, scope: "request", outcome: "open" }]
]

/** The error of a service that reports its failure without a status. */
export const failingService: Recognized = { kind: kindOfStatus(503), sentence: "The service failed." }

export const tooOften: Recognized = { kind: kindOfStatus(429), sentence: "The service is rate limiting requests." }
