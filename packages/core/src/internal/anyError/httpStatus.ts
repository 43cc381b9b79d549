/*
 * The meaning of HTTP statuses, defined in one place for all clients.
 */
import { garbage, type Kind, mismatch, type Recognized, refused, transient } from "./errorKind.ts"

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
    refused("permission_denied", { hint: "The service rejected this tool's credentials: tell the user." })
  ],
  [/^402$/, refused("quota_exhausted", { hint: "The service requires payment: tell the user." })],
  [
    /^403$/,
    refused("permission_denied", {
      hint: "Someone has to grant access first: tell the user.",
      scope: "arguments"
    })
  ],
  [/^4(04|10)$/, garbage("not_found", "Check the ids in the arguments.")],
  [/^408$/, transient("timeout")],
  [
    /^409$/,
    refused("rejected", {
      hint: "It conflicts with the current state. Find out what that is.",
      scope: "arguments"
    })
  ],
  [/^422$/, mismatch("arguments")],
  // 423 Locked and 425 Too Early.
  [/^42[35]$/, transient("server_error", "not_executed")],
  [/^429$/, transient("rate_limited", "not_executed")],
  [/^4\d\d$/, refused("rejected", { hint: "The service would refuse the same request again.", scope: "arguments" })],
  [/^50[15]$/, refused("server_error", { hint: "The service does not support this kind of request." })],
  [/^5\d\d$/, transient("server_error")],
  [/./, { _tag: "ToolUnavailable", code: "unexpected_status", transient: false, scope: "arguments", outcome: "open" }]
]

/** The error of a service that reports its failure without a status. */
export const failing: Recognized = { kind: kindOfStatus(503), sentence: "The service failed." }

export const tooOften: Recognized = { kind: kindOfStatus(429), sentence: "The service is rate limiting requests." }
