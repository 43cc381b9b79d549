import type * as Duration from "effect/Duration"
import type { Evidence } from "../failure/evidence.ts"
import type { Described, Issue, Kind } from "./errorKind.ts"

type Of<Tag extends Kind["_tag"]> = Extract<Kind, { readonly _tag: Tag }>

interface CommonFields {
  readonly detail: string
  readonly evidence: Evidence
  readonly cause?: unknown
}

/** The classes of failures. A public module defines them, and passes them in. */
export interface Classes<M, G, U> {
  readonly SchemaMismatch: new(
    fields: CommonFields & Pick<Of<"SchemaMismatch">, "side" | "code"> & { readonly issues?: ReadonlyArray<Issue> }
  ) => M
  readonly SemanticGarbage: new(
    fields: CommonFields & {
      readonly code: string
      readonly hint?: string
      readonly outcome?: "executed" | "not_executed" | "unknown"
    }
  ) => G
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

/** Creates a failure from its description. Its evidence says that it was derived from the error of one request. */
export const made = <M, G, U>(
  { cause, detail, isDeclared, isRedirected, isWorded, issues, kind, outcome, retryAfter, status }: Described,
  { SchemaMismatch, SemanticGarbage, ToolUnavailable }: Classes<M, G, U>
): M | G | U => {
  // The author has declared what the class of the error means.
  const source = isDeclared === true ? { refused: true } as const : {
    inferred: {
      ...(outcome === undefined ? {} : { outcome }),
      ...(isRedirected === true ? { redirected: true } as const : {}),
      ...(isWorded === true ? { worded: true } as const : {})
    }
  }
  const evidence = {
    ...source,
    ...(status === undefined ? {} : { status })
  }
  const common = { detail, evidence, cause }
  switch (kind._tag) {
    case "SchemaMismatch":
      return new SchemaMismatch({ ...kind, ...common, ...(issues === undefined ? {} : { issues }) })
    case "SemanticGarbage": {
      const { code, hint } = kind
      return new SemanticGarbage({
        code,
        ...(hint === undefined ? {} : { hint }),
        ...(outcome === undefined ? {} : { outcome }),
        ...common
      })
    }
    case "ToolUnavailable": {
      const { code, hint, scope, transient } = kind
      return new ToolUnavailable({
        code,
        transient,
        ...(transient || scope === undefined ? {} : { scope }),
        ...(hint === undefined ? {} : { hint }),
        ...(outcome === undefined ? {} : { outcome }),
        ...(transient && retryAfter !== undefined ? { retryAfter } : {}),
        ...common
      })
    }
  }
}
