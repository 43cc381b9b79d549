/** `Object.keys` with the key type of the object. */
export const keysOf = <A extends object>(object: A) => Object.keys(object) as Array<keyof A>
