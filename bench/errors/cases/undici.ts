import { Agent, Client, fetch, interceptors, request } from "undici"
import { authorization, type Cases, password, query, twoAddresses, type World } from "../world.ts"

export const undiciCases = ({ origin, refused, unknownHost }: World): Cases => {
  const headers = { authorization }
  const body = async (path: string, options: Parameters<typeof request>[1] = {}) => {
    const response = await request(origin + path + query, { headers, ...options })
    return response.body.json()
  }
  const throwing = new Agent().compose(interceptors.responseError())
  /** An agent whose lookups never end. */
  const unfindable = new Agent({ connect: { timeout: 50, lookup: () => {} } })
  const silent = `http://rooms.example/${query}`
  /** An agent whose lookups return two addresses without a listener. */
  const twofold = new Agent({ connect: { lookup: twoAddresses, autoSelectFamily: true } })
  return {
    library: "undici",
    cases: {
      "refused": () => request(refused + query, { headers }),
      "unknown host": () => request(unknownHost + query, { headers }),
      "reset": () => body("/reset"),
      "closed without an answer": () => body("/close"),
      "not HTTP": () => body("/garbage"),
      "cut body": () => body("/cut-body"),
      "cut JSON": () => body("/cut-json"),
      "HTML for JSON": () => body("/html"),
      "headers timeout": () => body("/hang", { headersTimeout: 50 }),
      "body timeout": () => body("/hang-body", { bodyTimeout: 50 }),
      "connect timeout": () => request(silent, { dispatcher: unfindable }),
      "headers timeout POST": () => body("/hang", { method: "POST", body: password, headersTimeout: 50 }),
      "aborted": () => {
        const controller = new AbortController()
        setTimeout(() => controller.abort(), 50)
        return body("/hang", { signal: controller.signal })
      },
      "timeout signal": () => body("/hang", { signal: AbortSignal.timeout(50) }),
      "bad URL": () => request(`http://:80/${query}`),
      "relative URL": () => request(`/rooms${query}`),
      "unknown scheme": () => request(`foo://rooms/${query}`),
      "client closed": async () => {
        const client = new Client(origin)
        await client.close()
        return client.request({ path: `/html${query}`, method: "GET" })
      },
      "client destroyed": async () => {
        const client = new Client(origin)
        const answer = client.request({ path: `/hang${query}`, method: "GET" })
        setTimeout(() => void client.destroy(), 50)
        return answer
      },
      "response error 404": () => body("/404", { dispatcher: throwing }),
      "response error 429": () => body("/429-in-seconds", { dispatcher: throwing }),
      "response error 503": () => body("/503", { dispatcher: throwing }),
      "fetch refused": () => fetch(refused + query, { headers }),
      "fetch reset": () => fetch(`${origin}/reset${query}`, { headers }),
      "fetch cut body": () => fetch(`${origin}/cut-body${query}`).then((response) => response.json()),
      "refused twice": () => request(refused.replace("127.0.0.1", "localhost"), { dispatcher: twofold }),
      "fetch refused twice": () => fetch(refused.replace("127.0.0.1", "localhost"), { dispatcher: twofold }),
      "fetch headers timeout": () => fetch(`${origin}/hang${query}`, { dispatcher: new Agent({ headersTimeout: 50 }) }),
      "fetch body timeout": () =>
        fetch(`${origin}/hang-body${query}`, { dispatcher: new Agent({ bodyTimeout: 50 }) })
          .then((response) => response.json()),
      "fetch connect timeout": () => fetch(silent, { dispatcher: unfindable })
    }
  }
}
