/*
 * Idempotency keys: 128 bits of a digest, as 32 hexadecimal digits. They fit into any header, and nobody reads in them what they were made of.
 * `test/core/intents.test.ts` has golden values: who changes how a key is made, makes a second payment of each that is under way.
 */
import { digest } from "./digest.ts"

/** A name for what was made of several texts. No two lists of them have the same, whatever the texts are. */
export const named = (...parts: ReadonlyArray<string | number>): string => digest(JSON.stringify(parts))

/** The key of something that runs inside of a call. */
export const keyInside = (outer: string, mark: string): string => named("inside", outer, mark)
