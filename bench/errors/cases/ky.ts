import ky from "ky"
import { authorization, type Cases, entries, failingOften, key, password, type World } from "../world.ts"

export const kyCases = ({ origin, refused, unknownHost }: World): Cases => {
  const client = ky.create({
    prefix: origin,
    headers: { authorization },
    searchParams: { api_key: key },
    retry: 0,
    timeout: 5000
  })
  return {
    library: "ky",
    cases: {
      ...entries(failingOften.map(([name, path]) => [name, () => client.get(path.slice(1)).json()])),
      "500 POST": () => client.post("500", { json: { password } }).json(),
      "refused": () => ky.get(refused, { retry: 0 }),
      "unknown host": () => ky.get(unknownHost, { retry: 0 }),
      "reset": () => client.get("reset"),
      "reset POST": () => client.post("reset", { json: { password } }),
      "cut body": () => client.get("cut-body").json(),
      "cut JSON": () => client.get("cut-json").json(),
      "HTML for JSON": () => client.get("html").json(),
      "timeout": () => client.get("hang", { timeout: 50 }),
      "timeout POST": () => client.post("hang", { timeout: 50, json: { password } }),
      "aborted": () => {
        const controller = new AbortController()
        setTimeout(() => controller.abort(), 50)
        return client.get("hang", { signal: controller.signal })
      },
      "timeout signal": () => client.get("hang", { signal: AbortSignal.timeout(50) }),
      "bad URL": () => ky.get("http://:80/"),
      "relative URL": () => ky.get("rooms"),
      "wrong schema": () => client.get("404", { throwHttpErrors: false }).json(refusingSchema)
    }
  }
}

const refusingSchema = {
  "~standard": {
    version: 1 as const,
    vendor: "none",
    validate: () => ({ issues: [{ message: "Expected a number", path: ["rooms", 0, "id"] }] })
  }
}
