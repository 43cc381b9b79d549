/** Names of which only it counts which are the same: each becomes a letter, in the order in which they first come. */
export const lettered = (names: ReadonlyArray<string>): string => {
  const known = Array.from(new Set(names))
  return names.map((name) => String.fromCharCode("a".charCodeAt(0) + known.indexOf(name))).join(" ")
}
