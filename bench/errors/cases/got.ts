import got from "got"
import { authorization, type Cases, entries, failing, key, password, type World } from "../world.ts"

export const gotCases = ({ origin, refused, unknownHost }: World): Cases => {
  const client = got.extend({
    headers: { authorization },
    searchParams: { api_key: key },
    retry: { limit: 0 }
  })
  const some = ["401", "404", "409", "422", "429 in seconds", "429 at a date", "500", "503"]
  return {
    library: "got",
    cases: {
      ...entries(
        failing.filter(([name]) => some.includes(name)).map(([name, path]) => [name, () => client.get(origin + path)])
      ),
      "500 POST": () => client.post(`${origin}/500`, { json: { password } }),
      "refused": () => client.get(refused),
      "unknown host": () => client.get(unknownHost),
      "reset": () => client.get(`${origin}/reset`),
      "closed without an answer": () => client.get(`${origin}/close`),
      "cut body": () => client.get(`${origin}/cut-body`),
      "cut JSON": () => client.get(`${origin}/cut-json`).json(),
      "HTML for JSON": () => client.get(`${origin}/html`).json(),
      "redirect loop": () => client.get(`${origin}/loop`),
      "timeout": () => client.get(`${origin}/hang`, { timeout: { request: 50 } }),
      "timeout POST": () => client.post(`${origin}/hang`, { timeout: { request: 50 }, json: { password } }),
      "aborted": () => {
        const controller = new AbortController()
        setTimeout(() => controller.abort(), 50)
        return client.get(`${origin}/hang`, { signal: controller.signal })
      },
      "bad URL": () => client.get("http://:80/"),
      "relative URL": () => client.get("rooms"),
      "unknown scheme": () => client.get("foo://rooms")
    }
  }
}
