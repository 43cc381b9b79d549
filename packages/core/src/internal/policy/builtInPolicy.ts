/*
 * The registry of this library's own policies. Any other policy is a user's code, and the library guards each of
 * its runs. A built-in policy needs no such guard, because it guards the functions and stores that users give it.
 */
const policies = new WeakSet<object>()

export const builtIn = <P extends object>(policy: P): P => {
  policies.add(policy)
  return policy
}

export const isBuiltIn = (policy: object): boolean => policies.has(policy)
