import type * as Duration from "effect/Duration"

/** What an error amounts to, before it has words: a failure of one of three classes, and its code. */
export type Kind =
  | {
    readonly _tag: "ToolUnavailable"
    readonly code: string
    readonly transient: boolean
    /** What it is about, where it is permanent: these arguments, or the whole tool. */
    readonly scope?: "arguments" | "tool" | undefined
    readonly hint?: string | undefined
    /** `"open"`: nobody knows whether the request took effect, unless it was one that only reads. */
    readonly outcome?: "executed" | "not_executed" | "open" | undefined
  }
  | { readonly _tag: "SemanticGarbage"; readonly code: string; readonly hint?: string | undefined }
  | { readonly _tag: "SchemaMismatch"; readonly side: "arguments" | "result"; readonly code: string }

/** One field that is wrong, as `FieldIssue` has it. */
export interface Issue {
  readonly path: ReadonlyArray<string | number>
  readonly expected: string
  readonly actual: string
}

/** An error that was recognized. */
export interface Recognized {
  readonly kind: Kind
  /** What a model is told, where the error has no sentence of its own. */
  readonly sentence: string
  readonly issues?: ReadonlyArray<Issue>
  /** Is an error below it likely to say more? */
  readonly isVague?: boolean
  /** Is its message of no use to a model? */
  readonly isMute?: boolean
  /** Does the answer come from where a redirect led? */
  readonly isRedirected?: boolean
}

/** Recognizes some errors. */
export type Look = (error: object) => Recognized | undefined

/** A failure of a kind, with all that is known of it. */
export interface Described {
  readonly kind: Kind
  readonly detail: string
  readonly cause?: unknown
  readonly outcome?: "executed" | "not_executed" | "unknown" | undefined
  readonly retryAfter?: Duration.Duration | undefined
  readonly issues?: ReadonlyArray<Issue> | undefined
  readonly isRedirected?: boolean | undefined
}

type Unavailable = Extract<Kind, { readonly _tag: "ToolUnavailable" }>

/** The service could not be asked, or did not answer. It may do so later. */
export const transient = (code: string, outcome: Unavailable["outcome"] = "open"): Unavailable => ({
  _tag: "ToolUnavailable",
  code,
  transient: true,
  outcome
})

/** The service refused, and did nothing. The same request would be refused again. */
export const refused = (
  code: string,
  { hint, scope = "tool" }: Pick<Unavailable, "hint" | "scope"> = {}
): Unavailable => ({ _tag: "ToolUnavailable", code, transient: false, scope, hint })

/** The service is broken, and may have done something. */
export const broken = (code: string): Unavailable => ({ ...refused(code), outcome: "open" })

/** Nobody knows what the error means. */
export const unrecognized: Unavailable = { ...broken("failed"), scope: "arguments" }

export const mismatch = (side: "arguments" | "result", code = `invalid_${side}`): Kind => ({
  _tag: "SchemaMismatch",
  side,
  code
})

export const garbage = (code: string, hint?: string): Kind => ({ _tag: "SemanticGarbage", code, hint })

/** Does it leave open whether anything took effect? */
export const leavesOpen = (kind: Kind): boolean =>
  kind._tag === "ToolUnavailable" ? kind.outcome === "open" : kind._tag === "SchemaMismatch" && kind.side === "result"

/** The same, where what was found does not prove that nothing was sent. */
export const unproven = (found: Recognized): Recognized =>
  found.kind._tag === "ToolUnavailable" && found.kind.outcome === "not_executed"
    ? { ...found, kind: { ...found.kind, outcome: "open" } }
    : found
