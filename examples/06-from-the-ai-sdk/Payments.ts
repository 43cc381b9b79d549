/**
 * The SDK of the payment service, cut down to what the example needs. It does what Stripe's does by default: it sends an
 * `Idempotency-Key`, and repeats a request once, under the same key, if the connection failed or the answer was a 5xx.
 * Stripe's waits before that. This one does not, so that the example takes no time.
 */
import type { Charge } from "./TravelServer.ts"

export interface PaymentsOptions {
  readonly url: string
  /** In milliseconds. Default: 80,000, as Stripe's. */
  readonly timeout?: number
  /** Default: 1, as Stripe's. */
  readonly maxNetworkRetries?: number
}

export interface RequestOptions {
  readonly idempotencyKey: string
}

/** The service has refused, or has failed. */
export class PaymentsError extends Error {
  override readonly name = "PaymentsError"
  readonly statusCode: number
  readonly type: string

  constructor(statusCode: number, type: string, message: string) {
    super(message)
    this.statusCode = statusCode
    this.type = type
  }
}

/** No answer came. */
export class PaymentsConnectionError extends Error {
  override readonly name = "PaymentsConnectionError"
}

export class Payments {
  readonly #options: Required<PaymentsOptions>

  constructor(options: PaymentsOptions) {
    this.#options = { timeout: 80_000, maxNetworkRetries: 1, ...options }
  }

  readonly charges = {
    create: (params: Omit<Charge, "id">, options: RequestOptions): Promise<Charge> =>
      this.#post("/v1/charges", JSON.stringify(params), options, this.#options.maxNetworkRetries)
  }

  async #post(path: string, body: string, options: RequestOptions, retries: number): Promise<Charge> {
    const { timeout, url } = this.#options
    try {
      const response = await fetch(`${url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": options.idempotencyKey },
        body,
        signal: AbortSignal.timeout(timeout)
      })
      if (response.ok) return asCharge(await response.json())
      if (response.status < 500 || retries === 0) throw await refusal(response)
    } catch (error) {
      if (error instanceof PaymentsError) throw error
      if (retries === 0) {
        throw new PaymentsConnectionError("An error occurred with our connection to the payment service.", {
          cause: error
        })
      }
    }
    return this.#post(path, body, options, retries - 1)
  }
}

const refusal = async (response: Response): Promise<PaymentsError> => {
  const { error: { message, type } }: Refusal = JSON.parse(await response.text())
  return new PaymentsError(response.status, type, message)
}

interface Refusal {
  readonly error: { readonly type: string; readonly message: string }
}

// An SDK trusts its service.
const asCharge = (body: unknown) => body as Charge
