/*
 * Which policies `Policy` has made. Any other, an adapter's too, is a user's code and runs with care.
 */
const policies = new WeakSet<object>()

export const own = <P extends object>(policy: P): P => {
  policies.add(policy)
  return policy
}

export const isOwn = (policy: object): boolean => policies.has(policy)
