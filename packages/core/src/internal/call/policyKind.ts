import * as Schema from "effect/Schema"

/** The kinds that may be defaults, from the inside out. */
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

/** What a policy does. A custom one does what only its own name says. */
export const PolicyKind = Schema.Literals([...defaultKinds, "catch", "map", "custom"])

export type PolicyKind = typeof PolicyKind.Type

/** Who a policy is, where something is told of it. */
export interface PolicyName {
  readonly kind: PolicyKind
  /** Of a custom one. */
  readonly name?: string
}

/** The same as an event has it. */
export const named = ({ kind, name }: PolicyName): { readonly by: PolicyKind; readonly policy?: string } =>
  name === undefined ? { by: kind } : { by: kind, policy: name }
