import type * as Duration from "effect/Duration"

/** The classification of an error, without words: one of three failure classes, and a code. */
export type Kind =
  | {
    readonly _tag: "ToolUnavailable"
    readonly code: string
    readonly transient: boolean
    /** The scope of a permanent failure: these arguments, or the whole tool. */
    readonly scope?: "arguments" | "tool" | undefined
    readonly hint?: string | undefined
    /** `"open"`: the request may or may not have taken effect, unless the request only reads. */
    readonly outcome?: "executed" | "not_executed" | "open" | undefined
  }
  | { readonly _tag: "SemanticGarbage"; readonly code: string; readonly hint?: string | undefined }
  | { readonly _tag: "SchemaMismatch"; readonly side: "arguments" | "result"; readonly code: string }

/** An issue of one field, in the form of `FieldIssue`. */
export interface Issue {
  readonly path: ReadonlyArray<string | number>
  readonly expected: string
  readonly actual: string
}

/** A recognized error. */
export interface Recognized {
  readonly kind: Kind
  /** The text for the model, if the error has no message that the model may read. */
  readonly sentence: string
  readonly issues?: ReadonlyArray<Issue>
  /** True if the error's cause is likely to say more. */
  readonly isVague?: boolean
  /** True if the error's message is useless to a model. */
  readonly isMute?: boolean
  /** True if the answer came after a redirect. */
  readonly isRedirected?: boolean
  /** True if only the words of the error say this. */
  readonly isWorded?: boolean
}

/** A function that recognizes some errors, and returns `undefined` for all others. */
export type Look = (error: object) => Recognized | undefined

/** The description of a failure: its kind, its text, and everything else known about it. */
export interface Described {
  readonly kind: Kind
  readonly detail: string
  readonly cause?: unknown
  readonly outcome?: "executed" | "not_executed" | "unknown" | undefined
  readonly retryAfter?: Duration.Duration | undefined
  readonly issues?: ReadonlyArray<Issue> | undefined
  readonly isRedirected?: boolean | undefined
  /** True if only the words of the error say what it is. */
  readonly isWorded?: boolean | undefined
  /** True if the tool's author has declared that the class of the error means a refusal. */
  readonly isDeclared?: boolean | undefined
  /** The HTTP status of the service's answer. */
  readonly status?: number | undefined
}

type Unavailable = Extract<Kind, { readonly _tag: "ToolUnavailable" }>

/** Returns the kind for a service that could not be reached or did not answer, but may answer later. */
export const transient = (code: string, outcome: Unavailable["outcome"] = "open"): Unavailable => ({
  _tag: "ToolUnavailable",
  code,
  transient: true,
  outcome
})

/** Returns the kind for a request that a service declined, and would decline again. */
export const refused = (
  code: string,
  { hint, scope = "tool" }: Pick<Unavailable, "hint" | "scope"> = {}
): Unavailable => ({ _tag: "ToolUnavailable", code, transient: false, scope, hint })

/** Returns the kind for a broken service, which may have done something. */
export const broken = (code: string): Unavailable => ({ ...refused(code), outcome: "open" })

/** The kind of an error that is not recognized. */
export const unrecognized: Unavailable = { ...broken("failed"), scope: "arguments" }

export const mismatch = (side: "arguments" | "result", code = `invalid_${side}`): Kind => ({
  _tag: "SchemaMismatch",
  side,
  code
})

export const garbage = (code: string, hint?: string): Kind => ({ _tag: "SemanticGarbage", code, hint })

/** True if a kind leaves open whether anything took effect. */
export const leavesOpen = (kind: Kind): boolean =>
  kind._tag === "ToolUnavailable" ? kind.outcome === "open" : kind._tag === "SchemaMismatch" && kind.side === "result"

/** Removes the claim that nothing was done, for an error that does not prove it. */
export const unproven = (recognized: Recognized): Recognized =>
  recognized.kind._tag === "ToolUnavailable" && recognized.kind.outcome === "not_executed"
    ? { ...recognized, kind: { ...recognized.kind, outcome: "open" } }
    : recognized
