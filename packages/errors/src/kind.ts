/** What is known of an error: what happens next, and a code. The words are elsewhere. */
export type Kind =
  | {
    readonly class: "unavailable"
    readonly code: string
    readonly isTransient: boolean
    /** What a permanent failure applies to: this request, or every request to the service. */
    readonly scope?: "request" | "service" | undefined
    readonly hint?: string | undefined
    /** `"open"`: the request may or may not have taken effect, unless it only reads. */
    readonly outcome?: "executed" | "not_executed" | "open" | undefined
  }
  | { readonly class: "refused"; readonly code: string; readonly hint?: string | undefined }
  | { readonly class: "invalid_request" | "invalid_answer"; readonly code: string }

/** A recognized error. */
export interface Recognized {
  readonly kind: Kind
  /** The text to show, if the error has no message that may be shown. */
  readonly sentence: string
  /** The paths at which an answer does not match its schema. */
  readonly paths?: ReadonlyArray<ReadonlyArray<string | number>>
  /** True if the error's cause is likely to say more. */
  readonly isVague?: boolean
  /** True if the error's message is of no use to a reader. */
  readonly isMute?: boolean
  /** True if the answer came after a redirect. */
  readonly isRedirected?: boolean
  /** True if only the words of the error say this. */
  readonly isWorded?: boolean
}

/** A function that recognizes some errors, and returns `undefined` for all others. */
export type Look = (error: object) => Recognized | undefined

type Unavailable = Extract<Kind, { readonly class: "unavailable" }>

/** Returns the kind for a service that could not be reached or did not answer, but may answer later. */
export const transient = (code: string, outcome: Unavailable["outcome"] = "open"): Unavailable => ({
  class: "unavailable",
  code,
  isTransient: true,
  outcome
})

/** Returns the kind for a service that is unavailable, and stays so. */
export const permanent = (
  code: string,
  { hint, scope = "service" }: Pick<Unavailable, "hint" | "scope"> = {}
): Unavailable => ({ class: "unavailable", code, isTransient: false, scope, hint })

/** Returns the kind for a broken service, which may have done something. */
export const broken = (code: string): Unavailable => ({ ...permanent(code), outcome: "open" })

/** The kind of an error that is not recognized. */
export const unrecognizedKind: Unavailable = { ...broken("failed"), scope: "request" }

export const invalid = (what: "request" | "answer", code = invalidCodes[what]): Kind => ({
  class: `invalid_${what}`,
  code
})

const invalidCodes = { request: "invalid_arguments", answer: "invalid_result" }

/** Returns the kind for a request that a service understood, and refused. */
export const refusedAs = (code: string, hint?: string): Kind => ({ class: "refused", code, hint })

/** True if a kind leaves open whether anything took effect. */
export const leavesOpen = (kind: Kind): boolean =>
  kind.class === "unavailable" ? kind.outcome === "open" : kind.class === "invalid_answer"

/** Removes the claim that nothing was done, for an error that does not prove it. */
export const unproven = (recognized: Recognized): Recognized =>
  recognized.kind.class === "unavailable" && recognized.kind.outcome === "not_executed"
    ? { ...recognized, kind: { ...recognized.kind, outcome: "open" } }
    : recognized
