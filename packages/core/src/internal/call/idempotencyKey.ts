/*
 * Idempotency keys: 128 bits of a digest, as 32 hexadecimal digits. They fit into any header, and do
 * not reveal their input. `test/core/intents.test.ts` contains golden values: if keys were made in a
 * different way, every payment that is under way would be repeated.
 */
import { digest } from "../value/digest.ts"

/** Returns the digest of a list of strings. Different lists have different digests. */
export const digestOf = (...parts: ReadonlyArray<string | number>): string => digest(JSON.stringify(parts))

/**
 * Returns the idempotency key of a call by an agent. Within a scope, calls with the same intent share
 * this key until one of them succeeds.
 */
export const keyOfIntent = (scope: string, intent: string, number: number): string =>
  digestOf("key", scope, intent, number)

/** Returns the idempotency key of work that runs inside a call. */
export const keyInside = (outer: string, mark: string): string => digestOf("inside", outer, mark)
