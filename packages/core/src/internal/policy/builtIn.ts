/*
 * Which policies are this library's. Any other is a user's code and runs with care. What a user gives to one of ours (a function, a
 * store), that one takes care of itself.
 */
const policies = new WeakSet<object>()

export const builtIn = <P extends object>(policy: P): P => {
  policies.add(policy)
  return policy
}

export const isBuiltIn = (policy: object): boolean => policies.has(policy)
