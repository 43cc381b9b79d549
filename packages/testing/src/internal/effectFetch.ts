import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/**
 * Makes a `fetch` from an Effect. Delays use the clock of the context.
 *
 * @param respond runs in the caller of `fetch`, before anything else, so it can tell whose request it is. The Effect
 * that it returns for the body runs in the context, and fails with the error that `fetch` throws
 */
export const effectFetch = (
  context: Context.Context<never>,
  respond: (request: globalThis.Request) => (body: string) => Effect.Effect<globalThis.Response, Error>
): typeof globalThis.fetch =>
async (input, init) => {
  const request = new globalThis.Request(input, init)
  const { signal } = request
  signal.throwIfAborted()
  const answer = respond(request)
  // The Effect reads the body, too. So a request that is aborted before its body is complete is not answered.
  const responding = Effect.promise(() => request.text()).pipe(
    Effect.flatMap(answer),
    Effect.match({ onSuccess: (response) => response, onFailure: (error) => error })
  )
  const result = await Effect.runPromiseWith(context)(responding, { signal }).catch((error) => {
    signal.throwIfAborted()
    throw error
  })
  if (result instanceof Error) throw result
  return result
}
