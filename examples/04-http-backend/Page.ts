/** The page: one HTML file. Its content security policy allows its own script and style, and nothing else. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import { createHash } from "node:crypto"
import { join } from "node:path"

export const layer = Layer.unwrap(Effect.gen(function*() {
  const files = yield* FileSystem.FileSystem
  const html = yield* files.readFileString(join(import.meta.dirname, "page.html"))
  return HttpRouter.add("GET", "/", HttpServerResponse.html(html).pipe(HttpServerResponse.setHeaders(headers(html))))
}))

/** @param script where its script may come from; default: it is in the page */
export const headers = (html: string, script = hashOf("script", html)) => ({
  "content-security-policy": [
    "default-src 'none'",
    `script-src ${script}`,
    `style-src ${hashOf("style", html)}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; "),
  "cache-control": "no-cache",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff"
})

/** Returns the source expression for the content of an element: the browser runs it only if it has this hash. */
const hashOf = (element: "script" | "style", html: string): string => {
  const [, content = ""] = new RegExp(`<${element}>([\\s\\S]*?)</${element}>`).exec(html) ?? []
  return `'sha256-${createHash("sha256").update(content).digest("base64")}'`
}
