/*
 * Which policies are this library's own. The others are users' code, and run with care.
 */
const policies = new WeakSet<object>()

/** A policy of this library. */
export const own = <P extends object>(policy: P): P => {
  policies.add(policy)
  return policy
}

export const isOwn = (policy: object): boolean => policies.has(policy)
