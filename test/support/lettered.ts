/** Replaces each name with a letter, in order of first occurrence. Shows which names are equal, whatever they are. */
export const lettered = (names: ReadonlyArray<string>): string => {
  const distinct = Array.from(new Set(names))
  return names.map((name) => String.fromCharCode("a".charCodeAt(0) + distinct.indexOf(name))).join(" ")
}
