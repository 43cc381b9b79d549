/*
 * Idempotency keys: 128 bits of a digest, as 32 hexadecimal digits. They fit into any header, and do not reveal
 * their input. `test/core/intents.test.ts` has golden values: a change to how keys are made repeats every payment
 * that is under way.
 */
import { digest } from "../value/digest.ts"

/** Returns the digest of a list of strings. Different lists have different digests. */
export const digestOf = (...parts: ReadonlyArray<string | number>): string => digest(JSON.stringify(parts))

/** Returns the key of a call that an agent makes. Calls of a scope with the same intent share it until one succeeds. */
export const keyOfIntent = (scope: string, intent: string, run: number, number: number): string =>
  digestOf("key", scope, intent, run, number)

/** Returns the key of something that runs inside a call. */
export const keyInside = (outer: string, mark: string): string => digestOf("inside", outer, mark)
