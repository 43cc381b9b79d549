import type { Description } from "@fallible/errors"

/** A description in short, as the README of `@fallible/errors` shows it. */
export const shownDescription = (
  { class: kind, code, isTransient, request: { outcome }, retryAfter, scope }: Description
): string =>
  [
    `${kind} ${code}`,
    isTransient ? "transient" : undefined,
    scope,
    outcome === "unknown" ? undefined : outcome,
    retryAfter === undefined ? undefined : `after ${retryAfter} ms`
  ].filter((word) => word !== undefined).join(", ")
