/** Handlers that use `fetch`: the global one, and that of the handler's context. */
import { Tool } from "@fallible/core"
import { bank, closed, latch, missing, noTls, nowhere, ok, post, row, secure, sleep, stuck } from "./kit.mjs"

const rowsOf = (client, fetchOf) => {
  const of = (name, run, options) =>
    row(`${client}: ${name}`, (call, kept, number) => run(fetchOf(call), call, kept, number), options)
  const aborting = (path, abort) => async (fetch) => {
    const controller = new AbortController()
    const answer = fetch(bank(path), post({ signal: controller.signal }))
    abort(controller)
    await ok(await answer)
  }
  // Whether the request leaves before it is aborted depends on the moment.
  const races = { varies: true, after: () => sleep(50) }
  const status = (code) => async (fetch) => ok(await fetch(bank(`/refuse/${code}`), post()))
  return [
    ...[400, 402, 404, 409, 422, 429].map((code) => of(String(code), status(code))),
    of("503", async (fetch) => ok(await fetch(bank("/busy"), post()))),
    of("500, acted", async (fetch) => ok(await fetch(bank("/acting/500"), post()))),
    of("408, acted", async (fetch) => ok(await fetch(bank("/acting/408"), post()))),
    of("200", async (fetch) => ok(await fetch(bank("/pay"), post()))),
    of("200, then an error", async (fetch) => missing(await ok(await fetch(bank("/pay"), post())))),
    of("PUT 402", async (fetch) => ok(await fetch(bank("/refuse/402"), post({ method: "PUT" })))),
    of("DELETE 200, then an error", async (fetch) => {
      await ok(await fetch(bank("/pay"), { method: "DELETE" }))
      missing()
    }),
    of("a Request, 402", async (fetch) => ok(await fetch(new Request(bank("/refuse/402"), post())))),
    of("a URL, 402", async (fetch) => ok(await fetch(new URL(bank("/refuse/402")), post()))),
    of("a streamed body, 402", async (fetch) => {
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode("{}"))
          controller.close()
        }
      })
      await ok(await fetch(bank("/refuse/402"), post({ body, duplex: "half" })))
    }),
    of("dropped", async (fetch) => ok(await fetch(bank("/drop"), post()))),
    of("connection refused", async (fetch) => ok(await fetch(closed("/pay"), post()))),
    of("unknown host", async (fetch) => ok(await fetch(nowhere("/pay"), post()))),
    of("no TLS there", async (fetch) => ok(await fetch(noTls("/pay"), post()))),
    of("a certificate that is not trusted", async (fetch) => ok(await fetch(secure("/pay"), post()))),
    of(
      "timeout before the answer",
      async (fetch) => ok(await fetch(bank("/hang"), post({ signal: AbortSignal.timeout(80) })))
    ),
    of(
      "timeout before a connection",
      async (fetch) => ok(await fetch(stuck("/pay"), post({ signal: AbortSignal.timeout(80) })))
    ),
    of("aborted before", async (fetch) => ok(await fetch(bank("/pay"), post({ signal: AbortSignal.abort() })))),
    of("aborted at once", aborting("/hang", (controller) => controller.abort()), races),
    of(
      "aborted in the next microtask",
      aborting("/pay", (controller) => void Promise.resolve().then(() => controller.abort())),
      races
    ),
    of("aborted in the next turn", aborting("/pay", (controller) => setImmediate(() => controller.abort())), races),
    of("303, then an error", async (fetch) => missing(await ok(await fetch(bank("/see"), post())))),
    of("307 to 402", async (fetch) => ok(await fetch(bank("/lead/refuse/402"), post()))),
    of("307 to 200, then an error", async (fetch) => missing(await ok(await fetch(bank("/lead/pay"), post())))),
    of("307, not followed", async (fetch) => ok(await fetch(bank("/lead/pay"), post({ redirect: "manual" })))),
    of("307 is an error", async (fetch) => ok(await fetch(bank("/lead/pay"), post({ redirect: "error" })))),
    of("303 is an error", async (fetch) => ok(await fetch(bank("/see"), post({ redirect: "error" })))),
    of("402, then 200, then an error", async (fetch) => {
      await (await fetch(bank("/refuse/402"), post())).text()
      missing(await ok(await fetch(bank("/pay"), post())))
    }),
    of("200, then 402", async (fetch) => {
      await ok(await fetch(bank("/pay"), post()))
      await ok(await fetch(bank("/refuse/402"), post()))
    }),
    of("200 and 402 at once", async (fetch) => {
      await Promise.all([fetch(bank("/slow"), post()).then(ok), fetch(bank("/refuse/402"), post()).then(ok)])
    }),
    of("a GET, then an error", async (fetch) => {
      await ok(await fetch(bank("/read")))
      throw new Error("Room A1 is booked.")
    }),
    of("a GET, then 402", async (fetch) => {
      await ok(await fetch(bank("/read")))
      await ok(await fetch(bank("/refuse/402"), post()))
    }),
    of("a token, then 402", async (fetch) => {
      await ok(await fetch(bank("/oauth/token"), post()))
      await ok(await fetch(bank("/refuse/402"), post()))
    }),
    of("a token, then 402, with 'acts'", async (fetch) => {
      await ok(await fetch(bank("/oauth/token"), post()))
      await ok(await fetch(bank("/refuse/402"), post()))
    }, { tool: { acts: { requests: ["POST 127.0.0.1/refuse/*", "POST 127.0.0.1/pay"] } } }),
    of("a search by POST, then an error", async (fetch) => {
      await ok(await fetch(bank("/search"), post()))
      throw new Error("No room is free.")
    }),
    of("a search by POST, then an error, with 'acts.only'", async (fetch) => {
      await ok(await fetch(bank("/search"), post()))
      throw new Error("No room is free.")
    }, { tool: { acts: { requests: ["POST 127.0.0.1/pay"], only: true } } }),
    of("200, then an error, with 'acts.only'", async (fetch) => {
      await ok(await fetch(bank("/pay"), post()))
      throw new Error("No room is free.")
    }, { tool: { acts: { requests: ["POST 127.0.0.1/pay"], only: true } } }),
    of("telemetry in the background, and 402", async (fetch) => {
      void fetch(bank("/track"), post()).catch(() => {})
      await ok(await fetch(bank("/refuse/402"), post()))
    }),
    of("telemetry in the background, and 402, with 'acts'", async (fetch) => {
      void fetch(bank("/track"), post()).catch(() => {})
      await ok(await fetch(bank("/refuse/402"), post()))
    }, { tool: { acts: { requests: ["POST 127.0.0.1/refuse/*", "POST 127.0.0.1/pay"] } } }),
    of("not awaited, then an error", async (fetch) => {
      void fetch(bank("/slow"), post()).catch(() => {})
      throw new Error("Room A1 is booked.")
    }, { after: () => sleep(120) }),
    of("not awaited, and 402", async (fetch) => {
      void fetch(bank("/slow"), post()).catch(() => {})
      await ok(await fetch(bank("/refuse/402"), post()))
    }, { after: () => sleep(120) }),
    of("by a timer later, then an error", async (fetch, _, late) => {
      setTimeout(() => void fetch(bank("/pay"), post()).then(ok).catch(() => {}).then(late.open), 30)
      throw new Error("Room A1 is booked.")
    }, { before: async () => latch(), after: ({ promise }) => promise }),
    of("by a timer later, and 402", async (fetch, _, late) => {
      setTimeout(() => void fetch(bank("/pay"), post()).then(ok).catch(() => {}).then(late.open), 60)
      await ok(await fetch(bank("/refuse/402"), post()))
    }, { before: async () => latch(), after: ({ promise }) => promise }),
    of("60 calls at once, refused and then paid", async (fetch, _, __, number) => {
      await (await fetch(bank(`/twice/${client}/${number}`), post())).text()
      missing(await ok(await fetch(bank(`/twice/${client}/${number}`), post())))
    }, { calls: 60 }),
    of("60 calls at once, every other is refused", async (fetch, _, __, number) => {
      await ok(await fetch(bank(number % 2 === 0 ? `/refuse/402/${number}` : `/pay/${number}`), post()))
      missing()
    }, { calls: 60 })
  ]
}

export const fetchRows = [
  ...rowsOf("fetch", () => globalThis.fetch),
  ...rowsOf("context's fetch", (call) => call.fetch),
  row("context's fetch: with the key, 402", async ({ fetch }) => ok(await fetch.withKey(bank("/refuse/402"), post()))),
  row("context's fetch: with the key, 200, then an error", async ({ fetch }) => {
    missing(await ok(await fetch.withKey(bank("/pay"), post())))
  }),
  row("context's fetch 402, after the global fetch 200", async (call) => {
    await ok(await fetch(bank("/pay"), post()))
    await ok(await call.fetch(bank("/refuse/402"), post()))
  }),
  row("context's fetch 200, before the global fetch 402", async (call) => {
    await ok(await call.fetch(bank("/pay"), post()))
    await ok(await fetch(bank("/refuse/402"), post()))
  }),
  row("context's fetch: aborted by the call's timeout", async ({ fetch }) => ok(await fetch(bank("/hang"), post())), {
    through: Tool.timeout("80 millis")
  }),
  row(
    "context's fetch: aborted by the call's timeout, before a connection",
    async ({ fetch }) => ok(await fetch(stuck("/pay"), post())),
    { through: Tool.timeout("80 millis") }
  )
]
