import * as Schema from "effect/Schema"

/** The kinds that can be defaults, innermost first. */
export const defaultKinds = [
  "timeout",
  "reconcile",
  "retry",
  "paginate",
  "concurrency",
  "rate",
  "deadline",
  "breaker",
  "fallback"
] as const

/** The kind of a policy. Only the name of a custom policy says what it does. */
export const PolicyKind = Schema.Literals([...defaultKinds, "catch", "map", "custom"])

export type PolicyKind = typeof PolicyKind.Type

/** The identity of a policy in events and logs. */
export interface PolicyName {
  readonly kind: PolicyKind
  /** The name of a custom policy. */
  readonly name?: string
}

/** Returns the identity of a policy in the form that events have. */
export const named = ({ kind, name }: PolicyName): { readonly by: PolicyKind; readonly policy?: string } =>
  name === undefined ? { by: kind } : { by: kind, policy: name }
