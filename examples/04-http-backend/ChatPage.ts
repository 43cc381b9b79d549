/**
 * The page with `useChat`: one HTML file, and its script. The script is bundled here when the first browser asks for it, so
 * nothing has to be built before the backend starts.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import { join } from "node:path"
import * as Endpoints from "./Endpoints.ts"
import * as Page from "./Page.ts"
import * as Problem from "./Problem.ts"

const folder = join(import.meta.dirname, "chat")

/** Bundles the script of the page, with React as it is in production. */
const bundle = Effect.tryPromise(async () => {
  // Loaded only if a browser asks: it is a tool of development.
  const { rolldown } = await import("rolldown")
  const built = await rolldown({
    input: join(folder, "main.tsx"),
    platform: "browser",
    transform: { define: { "process.env.NODE_ENV": JSON.stringify("production") } },
    // Some of the packages say "use client", of which the bundler warns. It means nothing here.
    logLevel: "silent"
  })
  const { output: [{ code }] } = await built.generate({ format: "es", minify: true })
  await built.close()
  return code
}).pipe(
  Effect.tapError(({ cause }) => Effect.logError("The page cannot be bundled.", cause)),
  Effect.mapError(() => Problem.make(503, "no_script", "The page cannot be shown now. Use the one at /."))
)

export const layer = Layer.unwrap(Effect.gen(function*() {
  const files = yield* FileSystem.FileSystem
  const html = yield* files.readFileString(join(folder, "chat.html"))
  const script = yield* Effect.cached(bundle)
  return Layer.mergeAll(
    HttpRouter.add(
      "GET",
      "/chat",
      HttpServerResponse.html(html).pipe(
        HttpServerResponse.setHeaders(Page.headers(html, "'self'"))
      )
    ),
    HttpRouter.add(
      "GET",
      "/chat.js",
      Endpoints.answering(Effect.map(script, (code) =>
        HttpServerResponse.text(code, {
          contentType: "text/javascript; charset=utf-8",
          headers: { "cache-control": "no-cache", "x-content-type-options": "nosniff" }
        })))
    )
  )
}))
