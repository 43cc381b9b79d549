import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/**
 * Makes a `fetch` from an Effect. Delays use the clock of the context.
 *
 * @param respond fails with the error that `fetch` throws
 */
export const effectFetch = (
  context: Context.Context<never>,
  respond: (request: globalThis.Request, body: string) => Effect.Effect<globalThis.Response, Error>
): typeof globalThis.fetch =>
async (input, init) => {
  const request = new globalThis.Request(input, init)
  const { signal } = request
  // The Effect reads the body, too. So a request that is aborted before its body is complete is not answered.
  const responding = Effect.promise(() => request.text()).pipe(
    Effect.flatMap((body) => respond(request, body)),
    Effect.match({ onSuccess: (response) => response, onFailure: (error) => error })
  )
  const result = await Effect.runPromiseWith(context)(responding, { signal }).catch((error) => {
    signal.throwIfAborted()
    throw error
  })
  if (result instanceof Error) throw result
  return result
}
