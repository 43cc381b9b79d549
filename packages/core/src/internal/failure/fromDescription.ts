/*
 * Makes a failure from the description of an error (`@fallible/errors`).
 */
import type { Description } from "@fallible/errors"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import type { Certainty } from "../../Certainty.ts"
import { currentContext } from "../fiber/runContained.ts"
import type { Evidence } from "./evidence.ts"

interface CommonFields {
  readonly code: string
  readonly detail: string
  readonly evidence: Evidence
  readonly cause: unknown
}

interface Issue {
  readonly path: ReadonlyArray<string | number>
  readonly expected: string
  readonly actual: string
}

/** The classes of failures. A public module defines them, and passes them in. */
export interface Classes<M, G, U> {
  readonly SchemaMismatch: new(
    fields: CommonFields & { readonly side: "arguments" | "result"; readonly issues?: ReadonlyArray<Issue> }
  ) => M
  readonly SemanticGarbage: new(
    fields: CommonFields & { readonly hint?: string; readonly outcome?: Certainty }
  ) => G
  readonly ToolUnavailable: new(
    fields: CommonFields & {
      readonly transient: boolean
      readonly scope?: "arguments" | "tool"
      readonly hint?: string
      readonly outcome?: Certainty
      readonly retryAfter?: Duration.Duration
    }
  ) => U
}

/** What a failure has beside its description. */
interface Extra {
  readonly cause: unknown
  /** Default: the message of the description. */
  readonly detail?: string
  /** False if the outcome stays open, because the request only reads. Default: true. */
  readonly acts?: boolean
  /** True if the tool only reads, so that a sentence that asks to try again soon may be heeded. Default: false. */
  readonly reads?: boolean
  readonly redirected?: boolean
}

/** Makes a failure. Its evidence says that it was derived from the error of one request. */
export const fromDescription = <M, G, U>(
  description: Description,
  { acts, cause, detail = description.message, reads = false, redirected }: Extra,
  { SchemaMismatch, SemanticGarbage, ToolUnavailable }: Classes<M, G, U>
): M | G | U => {
  const { code, hint, isDeclared, isTransient, paths, request, retryAfter, scope, soon, status } = description
  const outcome = outcomeOf(description, acts)
  // The author has declared what the class of the error means.
  const source = isDeclared === true ? { refused: true } as const : {
    inferred: {
      ...(outcome === undefined ? {} : { outcome }),
      ...(request.redirected === true || redirected === true ? { redirected: true } as const : {}),
      ...(request.worded === true ? { worded: true } as const : {})
    }
  }
  const common = { code, detail, evidence: { ...source, ...(status === undefined ? {} : { status }) }, cause }
  const stated = {
    ...common,
    ...(hint === undefined ? {} : { hint }),
    ...(outcome === undefined ? {} : { outcome })
  }
  if (reads && soon !== undefined) {
    return new ToolUnavailable({ ...common, code: "busy", transient: true, retryAfter: Duration.millis(soon) })
  }
  switch (description.class) {
    case "invalid_request":
      return new SchemaMismatch({ ...common, side: "arguments" })
    case "invalid_answer":
      return new SchemaMismatch({
        ...common,
        side: "result",
        ...(paths === undefined ? {} : { issues: paths.map((path) => ({ path, ...mismatch })) })
      })
    case "refused":
      return new SemanticGarbage(stated)
    case "unavailable":
    case "bug":
      return new ToolUnavailable({
        ...stated,
        transient: isTransient,
        ...(isTransient || scope === undefined ? {} : { scope: scope === "request" ? "arguments" : "tool" }),
        ...(retryAfter === undefined ? {} : { retryAfter: Duration.millis(retryAfter) })
      })
  }
}

const mismatch = { expected: "a value that matches the schema", actual: "one that does not" }

// Without an outcome, a transient failure leaves the outcome open already.
const outcomeOf = ({ class: kind, isDeclared, isTransient, request: { outcome } }: Description, acts?: boolean) => {
  if (kind !== "unavailable") return isDeclared === true ? outcome : undefined
  const mayAct = acts ?? !isTransient
  return outcome === "unknown" && !mayAct ? undefined : outcome
}

/** The clock of the current fiber: an error is not an Effect. */
export const now = (): number => Context.get(currentContext<never>(), Clock.Clock).currentTimeMillisUnsafe()
