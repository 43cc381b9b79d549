import Anthropic from "@anthropic-ai/sdk"
import { request } from "@octokit/request"
import { LogLevel, WebClient } from "@slack/web-api"
import { PostgrestClient } from "@supabase/postgrest-js"
import { Gaxios } from "gaxios"
import Stripe from "stripe"
import { authorization, type Cases, entries, failing, key, ofStripe, password, type World } from "../world.ts"

const some = ["400", "401", "403", "403 of a limit", "404", "409", "422", "429 in seconds", "500", "503"]
const paths = failing.filter(([name]) => some.includes(name))
// This client waits as long as the server asks, so "503" is left out.
const pathsOfPostgrest = paths.filter(([name]) => name !== "503")

/** The cases of every HTTP client. */
const common = (
  ask: (url: string) => unknown,
  { origin, refused, unknownHost }: World,
  some = paths
): Cases["cases"] => ({
  ...entries(some.map(([name, path]) => [name, () => ask(origin + path)])),
  "refused": () => ask(refused),
  "unknown host": () => ask(unknownHost),
  "reset": () => ask(`${origin}/reset`),
  "cut body": () => ask(`${origin}/cut-body`),
  "cut JSON": () => ask(`${origin}/cut-json`)
})

export const octokitCases = (world: World): Cases => {
  const ask = (url: string, options: object = {}) => request(`GET ${url}`, { headers: { authorization }, ...options })
  return {
    library: "@octokit/request",
    cases: {
      ...common(ask, world),
      "500 POST": () => request(`POST ${world.origin}/500`, { headers: { authorization }, password }),
      "aborted": () => {
        const controller = new AbortController()
        setTimeout(() => controller.abort(), 50)
        return ask(`${world.origin}/hang`, { request: { signal: controller.signal } })
      }
    }
  }
}

export const gaxiosCases = (world: World): Cases => {
  const ask = (url: string, options: object = {}) =>
    new Gaxios().request({ url, headers: { authorization }, params: { api_key: key }, ...options })
  return {
    library: "gaxios",
    cases: {
      ...common((url) => ask(url), world),
      "timeout": () => ask(`${world.origin}/hang`, { timeout: 50 }),
      "aborted": () => {
        const controller = new AbortController()
        setTimeout(() => controller.abort(), 50)
        return ask(`${world.origin}/hang`, { signal: controller.signal })
      }
    }
  }
}

export const stripeCases = (world: World): Cases => {
  const { port } = new URL(world.origin)
  const options = { protocol: "http", maxNetworkRetries: 0, telemetry: false } as const
  const stripe = new Stripe(key, { ...options, host: "127.0.0.1", port })
  const get = (path: string, client = stripe) => client.rawRequest("GET", path)
  return {
    library: "stripe",
    cases: {
      ...entries(ofStripe.map((status) => [String(status), () => get(`/stripe-${status}`)])),
      "card declined": () => stripe.rawRequest("POST", "/card-declined", { amount: 17 }),
      "key used twice": () => stripe.rawRequest("POST", "/key-used-twice", { amount: 17 }),
      "refused": () => get("/404", new Stripe(key, { ...options, host: "127.0.0.1", port: world.refusedPort })),
      "reset": () => get("/reset"),
      "cut JSON": () => get("/cut-json"),
      "timeout": () => get("/hang", new Stripe(key, { ...options, host: "127.0.0.1", port, timeout: 50 })),
      "no key": () => new Stripe("", options).customers.list()
    }
  }
}

export const anthropicCases = (world: World): Cases => {
  const ask = (baseURL: string, options: { readonly timeout?: number } = {}) =>
    new Anthropic({ apiKey: key, baseURL, maxRetries: 0 }).messages.create(
      { model: "m", max_tokens: 9, messages: [{ role: "user", content: "hello" }] },
      options
    )
  return {
    library: "@anthropic-ai/sdk",
    cases: {
      ...common((url) => ask(url), world),
      "overloaded": () => ask(`${world.origin}/529`),
      "timeout": () => ask(`${world.origin}/hang`, { timeout: 50 })
    }
  }
}

export const slackCases = (world: World): Cases => {
  const post = (url: string, options: object = {}) =>
    new WebClient(key, {
      slackApiUrl: `${url}/`,
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      logger: silent,
      ...options
    }).chat.postMessage({ channel: "C17", text: password })
  return {
    library: "@slack/web-api",
    cases: {
      ...common((url) => post(url), world),
      "no such channel": () => post(`${world.origin}/no-such-channel`),
      "wrong token": () => post(`${world.origin}/wrong-token`),
      "timeout": () => post(`${world.origin}/hang`, { timeout: 50 })
    }
  }
}

const silent = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  setLevel: () => {},
  getLevel: () => LogLevel.ERROR,
  setName: () => {}
}

export const postgrestCases = (world: World): Cases => {
  const ask = (url: string) =>
    new PostgrestClient(url, { headers: { authorization } }).from("rooms").select().throwOnError()
  return {
    library: "@supabase/postgrest-js",
    cases: {
      ...common(ask, world, pathsOfPostgrest),
      "unique": () => ask(`${world.origin}/not-unique`),
      "no rows": () => ask(`${world.origin}/no-rows`),
      "row-level security": () => ask(`${world.origin}/row-level-security`),
      "unique as a result": async () => {
        const { error } = await new PostgrestClient(`${world.origin}/not-unique`).from("rooms").select()
        throw error
      }
    }
  }
}
