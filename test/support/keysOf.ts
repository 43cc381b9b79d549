/** The keys of an object, as its type has them. */
export const keysOf = <A extends object>(object: A) => Object.keys(object) as Array<keyof A>
