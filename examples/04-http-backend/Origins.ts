/**
 * Refuses the requests that a browser sends for another site's page, before anything else is done with them.
 *
 *     Host      one of the server's own names, or a proxy's      else 421
 *     Origin    none, or that of the server's own page           else 403
 *
 * A site can let its own name lead to this computer (DNS rebinding). The browser then takes this server for a part of
 * that site, and its page may read the answers. But `Host` says the site's name. A page that keeps its own address names
 * it in `Origin`. Programs send no `Origin`.
 */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Problem from "./Problem.ts"

/** @param origins where users find the page, if a proxy is before the server: `https://desk.example.com` */
export const check = (origins: ReadonlyArray<string>) => {
  const hosts = new Set(origins.map((origin) => new URL(origin).host))
  return HttpRouter.middleware(
    (response) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers: { host = "", origin } }) => {
        const name = host.toLowerCase()
        if (!isOwn(name) && !hosts.has(name)) return Effect.succeed(wrongHost)
        // A proxy may send the server's own name, so the origin is not compared with the name in that case.
        const isFromPage = origin === undefined || origins.includes(origin) ||
          isOwn(name) && origin === `http://${name}`
        return isFromPage ? response : Effect.succeed(wrongOrigin)
      }),
    { global: true }
  )
}

/** The server listens on this computer only (`Listener`). Its port may be another one, at the other end of a tunnel. */
const isOwn = (host: string): boolean => /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/.test(host)

/** Tells whether a text is an origin, as a browser sends it. */
export const isOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text

const wrongHost = Problem.response(Problem.make(
  421,
  "wrong_host",
  "This server has another name. If a proxy is before it, start it with --origin and the address of the page."
))

const wrongOrigin = Problem.response(Problem.make(403, "wrong_origin", "Only this server's own page may ask it."))
