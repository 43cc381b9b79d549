/*
 * Which requests of a tool act: those that its definition names, or all but those whose method only reads.
 */
import * as Predicate from "effect/Predicate"
import { attempt } from "../value/untrusted.ts"
import { globalAt } from "./runtime.ts"

/** Decides whether a request acts. */
export type ActingRequests = (method: string, url: () => string) => boolean

/** By default, each request acts whose method does not only read. */
export const byMethod: ActingRequests = (method) => !reading.has(method)

// A CONNECT only opens a way through a proxy.
const reading: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "CONNECT"])

/** Returns the rule for patterns such as `"POST api.stripe.com/v1/charges"`. All must be valid: see {@link whyNoPattern}. */
export const namedRequests = (patterns: ReadonlyArray<string>): ActingRequests => {
  const rules = patterns.map(ruleOf)
  return (method, url) => {
    const ofMethod = rules.filter((rule) => rule.method === undefined || rule.method === method)
    if (ofMethod.length === 0) return false
    const { host, hostname, path } = placeOf(url())
    return ofMethod.some((rule) => (rule.host.test(host) || rule.host.test(hostname)) && rule.path.test(path))
  }
}

interface Rule {
  readonly method: string | undefined
  readonly host: RegExp
  readonly path: RegExp
}

const form = /^(?:(\*|[a-z]+) +)?(?:https?:\/\/)?([^\s/?#]*)(\/[^\s?#]*)?$/i

/** Returns why a value is not a pattern; `undefined` if it is one. */
export const whyNoPattern = (value: unknown): string | undefined => {
  if (!Predicate.isString(value) || value.trim() === "") return "it is not a text such as \"POST api.example/orders\""
  const [, , host = "", path] = form.exec(value.trim()) ?? []
  // A word alone is a method, and no host.
  const isHost = /[.:*]/.test(host) || host === "localhost" || path !== undefined && host !== ""
  return !isHost && path === undefined
    ? "write it like \"POST api.example/orders\", without a query; a * stands for any characters"
    : undefined
}

const ruleOf = (pattern: string): Rule => {
  const [, method = "*", host = "", path = "*"] = form.exec(pattern.trim()) ?? []
  return {
    method: method === "*" ? undefined : method.toUpperCase(),
    host: globOf(host === "" ? "*" : withoutDefaultPort(host.toLowerCase())),
    path: globOf(withoutLastSlash(path))
  }
}

const globOf = (pattern: string): RegExp =>
  new RegExp(`^${pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&")).join(".*")}$`)

// The address as it is sent, without `..` and the default port. A program may also note one without a scheme.
const normal = (url: string): string => {
  const URL = globalAt("URL") as (new(url: string) => { readonly href: string }) | undefined
  const isWhole = /^[a-z][a-z\d+.-]*:\/\//i.test(url)
  return attempt(() => URL === undefined || !isWhole ? url : new URL(url).href) ?? url
}

const placeOf = (url: string): { readonly host: string; readonly hostname: string; readonly path: string } => {
  const [, host = "", path = ""] = /^(?:[a-z][a-z\d+.-]*:\/\/)?(?:[^/?#@]*@)?([^/?#]*)([^?#]*)/i.exec(normal(url)) ?? []
  const lower = withoutDefaultPort(host.toLowerCase())
  return { host: lower, hostname: lower.replace(/:\d+$/, ""), path: withoutLastSlash(path === "" ? "/" : path) }
}

const withoutDefaultPort = (host: string): string => host.replace(/:(?:80|443)$/, "")

const withoutLastSlash = (path: string): string => path.length > 1 ? path.replace(/\/$/, "") : path
