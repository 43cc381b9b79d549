import { statusIn } from "@fallible/errors"

/**
 * True if a failure comes from a status with which a service may reject an idempotency key. The service may
 * know the key with a different body, or still be running the key's first request.
 */
export const isConflict = (failure: object): boolean => {
  const status = statusIn(failure)
  return status === 409 || status === 422
}
