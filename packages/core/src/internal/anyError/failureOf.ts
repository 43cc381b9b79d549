import type * as Duration from "effect/Duration"
import type { Described, Issue, Kind } from "./errorKind.ts"

type Of<Tag extends Kind["_tag"]> = Extract<Kind, { readonly _tag: Tag }>

interface CommonFields {
  readonly detail: string
  readonly cause?: unknown
}

/** The classes of failures. A public module defines them, and passes them in. */
export interface Classes<M, G, U> {
  readonly SchemaMismatch: new(
    fields: CommonFields & Pick<Of<"SchemaMismatch">, "side" | "code"> & { readonly issues?: ReadonlyArray<Issue> }
  ) => M
  readonly SemanticGarbage: new(fields: CommonFields & { readonly code: string; readonly hint?: string }) => G
  readonly ToolUnavailable: new(
    fields: CommonFields & {
      readonly code: string
      readonly transient: boolean
      readonly scope?: "arguments" | "tool"
      readonly hint?: string
      readonly outcome?: "executed" | "not_executed" | "unknown"
      readonly retryAfter?: Duration.Duration
    }
  ) => U
}

/** Creates a failure from its description. */
export const made = <M, G, U>(
  { cause, detail, issues, kind, outcome, retryAfter }: Described,
  { SchemaMismatch, SemanticGarbage, ToolUnavailable }: Classes<M, G, U>
): M | G | U => {
  switch (kind._tag) {
    case "SchemaMismatch":
      return new SchemaMismatch({ ...kind, detail, cause, ...(issues === undefined ? {} : { issues }) })
    case "SemanticGarbage":
      return new SemanticGarbage({
        code: kind.code,
        ...(kind.hint === undefined ? {} : { hint: kind.hint }),
        detail,
        cause
      })
    case "ToolUnavailable": {
      const { code, hint, scope, transient } = kind
      return new ToolUnavailable({
        code,
        detail,
        transient,
        ...(transient || scope === undefined ? {} : { scope }),
        ...(hint === undefined ? {} : { hint }),
        ...(outcome === undefined ? {} : { outcome }),
        ...(transient && retryAfter !== undefined ? { retryAfter } : {}),
        cause
      })
    }
  }
}
