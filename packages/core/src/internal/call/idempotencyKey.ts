/*
 * Idempotency keys: 128 bits of a digest, as 32 hexadecimal digits. They fit into any header, and nobody reads in them what they were made of.
 * `test/core/intents.test.ts` has golden values: who changes how a key is made, makes a second payment of each that is under way.
 */
import { digest } from "../value/digest.ts"

/** A digest of several texts: no two lists of texts have the same one. */
export const digestOf = (...parts: ReadonlyArray<string | number>): string => digest(JSON.stringify(parts))

/** The key of a call that an agent makes: the same for each call of the scope that means the same effect, until that has succeeded. */
export const keyOfIntent = (scope: string, intent: string, run: number, number: number): string =>
  digestOf("key", scope, intent, run, number)

/** The key of something that runs inside a call. */
export const keyInside = (outer: string, mark: string): string => digestOf("inside", outer, mark)
