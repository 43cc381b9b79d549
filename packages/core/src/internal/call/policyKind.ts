import * as Schema from "effect/Schema"

/** The kinds of policies that can be defaults of a toolkit or an agent, innermost first. */
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

/** The kind of a policy. For `"custom"`, only the policy's name says what the policy does. */
export const PolicyKind = Schema.Literals([...defaultKinds, "catch", "map", "custom"])

export type PolicyKind = typeof PolicyKind.Type

/** The identity of a policy in events and logs. */
export interface PolicyName {
  readonly kind: PolicyKind
  /** The name of the policy, if it is a custom one. */
  readonly name?: string
}

/** Returns the identity of a policy as fields of an event. */
export const policyFields = ({ kind, name }: PolicyName): { readonly by: PolicyKind; readonly policy?: string } =>
  name === undefined ? { by: kind } : { by: kind, policy: name }
