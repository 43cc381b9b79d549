/**
 * Returns these objects and all objects that can be reached from them, each once.
 *
 * A schema from elsewhere may be nested very deeply, and a schema that a program built may contain itself. So there is no
 * recursion, and each object is visited once.
 */
export const reachable = <A extends object>(from: Iterable<A>, next: (of: A) => Iterable<A>): ReadonlySet<A> => {
  const all = new Set(from)
  // The loop also visits the objects that are added meanwhile.
  for (const one of all) for (const other of next(one)) all.add(other)
  return all
}
