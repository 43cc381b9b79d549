import axios from "axios"
import { authorization, type Cases, entries, failingOften, key, password, type World } from "../world.ts"

export const axiosCases = ({ origin, refused, unknownHost }: World): Cases => {
  const client = axios.create({
    baseURL: origin,
    headers: { authorization },
    params: { api_key: key },
    auth: { username: "ada", password }
  })
  return {
    library: "axios",
    cases: {
      ...entries(failingOften.map(([name, path]) => [name, () => client.get(path)])),
      "500 POST": () => client.post("/500", { password }),
      "409 POST": () => client.post("/409", { password }),
      "429 POST": () => client.post("/429-in-seconds", { password }),
      "500 fetch adapter": () => client.get("/500", { adapter: "fetch" }),
      "refused": () => axios.get(refused, { params: { api_key: key } }),
      "refused POST": () => axios.post(refused, { password }),
      "refused localhost": () => axios.get(refused.replace("127.0.0.1", "localhost")),
      "refused fetch adapter": () => axios.get(refused, { adapter: "fetch" }),
      "unknown host": () => axios.get(unknownHost),
      "reset": () => client.get("/reset"),
      "reset POST": () => client.post("/reset", { password }),
      "closed without an answer": () => client.get("/close"),
      "not HTTP": () => client.get("/garbage"),
      "cut body": () => client.get("/cut-body"),
      "cut JSON": () => client.get("/cut-json", { responseType: "json", transitional: { silentJSONParsing: false } }),
      "HTML for JSON": () => client.get("/html", { responseType: "json", transitional: { silentJSONParsing: false } }),
      "redirect loop": () => client.get("/loop"),
      "too large an answer": () => client.get("/html", { maxContentLength: 10 }),
      "timeout": () => client.get("/hang", { timeout: 50 }),
      "timeout POST": () => client.post("/hang", { password }, { timeout: 50 }),
      "timeout clarified": () => client.get("/hang", { timeout: 50, transitional: { clarifyTimeoutError: true } }),
      "timeout fetch adapter": () => client.get("/hang", { timeout: 50, adapter: "fetch" }),
      "aborted": () => {
        const controller = new AbortController()
        setTimeout(() => controller.abort(), 50)
        return client.get("/hang", { signal: controller.signal })
      },
      "timeout signal": () => client.get("/hang", { signal: AbortSignal.timeout(50) }),
      "bad URL": () => axios.get("http://:80/"),
      "relative URL": () => axios.get("/rooms"),
      "unknown scheme": () => axios.get("foo://rooms")
    }
  }
}
