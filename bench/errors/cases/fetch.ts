import { authorization, type Cases, entries, failing, password, query, type World } from "../world.ts"

/** Node's own `fetch`. It accepts any status, and throws only for lost connections and bodies. */
export const fetchCases = ({ origin, refused, unknownHost }: World): Cases => {
  const get = (path: string, init: RequestInit = {}) =>
    fetch(origin + path + query, { headers: { authorization }, ...init })
  const post = (path: string, init: RequestInit = {}) =>
    get(path, { method: "POST", body: JSON.stringify({ password }), ...init })
  const json = (path: string) => get(path).then((response) => response.json())
  const thrown = async (path: string): Promise<never> => {
    throw await get(path)
  }
  return {
    library: "fetch",
    cases: {
      "refused": () => fetch(refused + query),
      "refused POST": () => fetch(refused + query, { method: "POST", body: password }),
      "refused localhost": () => fetch(refused.replace("127.0.0.1", "localhost") + query),
      "unknown host": () => fetch(unknownHost + query),
      "reset": () => get("/reset"),
      "reset POST": () => post("/reset"),
      "closed without an answer": () => get("/close"),
      "not HTTP": () => get("/garbage"),
      "cut body": () => json("/cut-body"),
      "cut chunks": () => json("/cut-chunks"),
      "cut JSON": () => json("/cut-json"),
      "HTML for JSON": () => json("/html"),
      "empty for JSON": () => json("/empty"),
      "redirect loop": () => get("/loop"),
      "timeout": () => get("/hang", { signal: AbortSignal.timeout(50) }),
      "timeout POST": () => post("/hang", { signal: AbortSignal.timeout(50) }),
      "timeout in the body": () =>
        get("/hang-body", { signal: AbortSignal.timeout(100) }).then((response) => response.json()),
      "aborted": () => {
        const controller = new AbortController()
        setTimeout(() => controller.abort(), 50)
        return get("/hang", { signal: controller.signal })
      },
      "aborted in the body": () => {
        const controller = new AbortController()
        setTimeout(() => controller.abort(), 100)
        return get("/hang-body", { signal: controller.signal }).then((response) => response.json())
      },
      "aborted with a reason": () => {
        const controller = new AbortController()
        setTimeout(() => controller.abort(new Error("The user left.")), 50)
        return get("/hang", { signal: controller.signal })
      },
      "aborted with a string": () => {
        const controller = new AbortController()
        setTimeout(() => controller.abort("The user left."), 50)
        return get("/hang", { signal: controller.signal })
      },
      "aborted before": () => get("/hang", { signal: AbortSignal.abort() }),
      "bad URL": () => fetch(`http://:80/${query}`),
      "relative URL": () => fetch(`/rooms${query}`),
      "unknown scheme": () => fetch(`foo://rooms/${query}`),
      "forbidden port": () => fetch(`http://127.0.0.1:1/${query}`),
      "bad header": () => get("/html", { headers: { authorization: "Bearer \u2713" } }),
      "body of a GET": () => get("/html", { body: password }),
      "body read twice": () =>
        get("/html").then(async (response) => {
          await response.text()
          return response.json()
        }),
      ...entries(
        failing.filter(([name]) => ["403", "404", "422", "429 in seconds", "503"].includes(name))
          .map(([name, path]) => [`Response thrown ${name}`, () => thrown(path)])
      )
    }
  }
}
