import * as Base64 from "effect/encoding/Base64"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { escape } from "effect/RegExp"

/** Where a provider is, and how it knows its caller. */
export interface Endpoint {
  /** Where requests go, without name, password and query: nothing in it is secret. */
  readonly url: string
  /** Its values may be secret: `HttpClient` keeps those that are redacted out of its spans and errors. */
  readonly query: ReadonlyArray<readonly [name: string, value: Redacted.Redacted]>
  /** Is there a word without a value in the query? It may be a key, and spans show it as a name. */
  readonly hasBareWord: boolean
  /** The `authorization` header. */
  readonly authorization: Redacted.Redacted | undefined
  /** A text from elsewhere without what is secret here. */
  readonly hide: (text: string) => string
}

/** An endpoint, or a `TypeError` that says what is wrong with its address or its key. */
export const make = (options: {
  readonly baseUrl: string
  readonly path: string
  readonly apiKey: Redacted.Redacted | undefined
}): Endpoint => {
  const problem = urlProblem(options.baseUrl) ?? keyProblem(options.apiKey)
  if (problem !== undefined) throw new TypeError(`Expected ${problem}.`)
  const url = new URL(options.baseUrl)
  const key = options.apiKey === undefined ? "" : Redacted.value(options.apiKey).trim()
  // `fetch` refuses an address with a name and a password in it; other clients make this header of them.
  const [name, password] = [plain(url.username), plain(url.password)]
  const basic = name === "" && password === "" ? "" : Base64.encode(`${name}:${password}`)
  const pairs = url.search.slice(1).split("&").filter((pair) => pair !== "")
  const queried = pairs.map((pair) => pair.slice(pair.indexOf("=") + 1))
  // Alone, a name is a token.
  const secrets = [key, basic, password === "" ? name : password, ...url.searchParams.values(), ...queried]
  const base = url.pathname.replace(/\/+$/, "")
  return {
    url: `${url.origin}${base}${base.endsWith(options.path) ? "" : options.path}`,
    query: Array.from(url.searchParams, ([name, value]) => [name, Redacted.make(value)]),
    hasBareWord: pairs.some((pair) => !pair.includes("=")),
    authorization: key !== ""
      ? Redacted.make(`Bearer ${key}`)
      : basic !== ""
      ? Redacted.make(`Basic ${basic}`)
      : undefined,
    hide: hider(secrets)
  }
}

/** A part of an address as it was before it became one; as it stands, when it was not made to be one. */
const plain = (part: string): string => Option.getOrElse(Option.liftThrowable(decodeURIComponent)(part), () => part)

/** What a base URL should be, when it is not. */
export const urlProblem = (text: string): string | undefined => {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol)
    ? undefined
    : "an address that begins with http:// or https://, such as http://127.0.0.1:8080/v1"
}

/** A model's name; a `TypeError`, when there is none. */
export const modelName = (text: string): string => {
  if (text.trim() === "") throw new TypeError(`Expected ${aModel}.`)
  return text.trim()
}

/** What the name of a model should be, when it is not. */
export const aModel = "the name of a model, as its server lists it"

/** What a key should be, when it is not. */
export const aKey = "a key of letters, digits and punctuation: no HTTP header may have anything else"

// A header with anything else in it is refused with an error that quotes it, and so gives the key away.
const keyProblem = (key: Redacted.Redacted | undefined): string | undefined =>
  key === undefined || isHeaderText(Redacted.value(key)) ? undefined : aKey

/** May it stand in a header? White space around it is cut off. */
export const isHeaderText = (text: string): boolean => /^[\x20-\x7e]*$/.test(text.trim())

// What is shorter stands in many a text by chance: `ollama` is what servers without keys are often given.
const leastSecret = 8

const hider = (candidates: ReadonlyArray<string>) => {
  const forms = candidates.filter(({ length }) => length >= leastSecret).flatMap(formsOf)
  // The longest first: a shorter one may be a part of it.
  const longestFirst = Array.from(new Set(forms)).toSorted((a, b) => b.length - a.length).map((form) => escape(form))
  const secrets = new RegExp(longestFirst.join("|"), "gi")
  return (text: string): string => longestFirst.length === 0 ? text : text.replace(secrets, "<redacted>")
}

/** As it is, as a part of an address, as a query has it, and as some write it in JSON. */
const formsOf = (secret: string): ReadonlyArray<string> => {
  const quoted = JSON.stringify(secret).slice(1, -1)
  const queried = new URLSearchParams([["", secret]]).toString().slice(1)
  return [secret, encodeURIComponent(secret), queried, quoted, quoted.replaceAll("/", "\\/")]
}
