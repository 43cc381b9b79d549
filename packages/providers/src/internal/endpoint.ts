import * as ModelProblem from "@fallible/core/ModelProblem"
import * as Base64 from "effect/encoding/Base64"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"

/** The address of a provider, and the credentials for it. */
export interface Endpoint {
  /** The address of requests, without a user name, password or query. It contains no secret. */
  readonly url: string
  /**
   * The query's names and values. The values may be secret; `HttpClient` keeps redacted values out of its
   * spans and errors.
   */
  readonly query: ReadonlyArray<readonly [name: string, value: Redacted.Redacted]>
  /**
   * Whether the query has a name without a value (`?abc`). That name may be a secret key, and spans would
   * show it.
   */
  readonly hasBareWord: boolean
  /** The `authorization` header. */
  readonly authorization: Redacted.Redacted | undefined
  /** Removes the secrets of this endpoint from a string. */
  readonly hide: (text: string) => string
}

/** Makes an endpoint. Throws a `TypeError` that says what is wrong with the address or the key. */
export const make = (options: {
  readonly baseUrl: string
  readonly path: string
  readonly apiKey: Redacted.Redacted | undefined
}): Endpoint => {
  const problem = urlProblem(options.baseUrl) ?? keyProblem(options.apiKey)
  if (problem !== undefined) throw new TypeError(`Expected ${problem}.`)
  const url = new URL(options.baseUrl)
  const key = options.apiKey === undefined ? "" : Redacted.value(options.apiKey).trim()
  // `fetch` refuses an address that contains a user name and a password. Other clients turn them into an
  // `authorization` header, as is done here.
  const [name, password] = [decodePart(url.username), decodePart(url.password)]
  const basic = name === "" && password === "" ? "" : Base64.encode(`${name}:${password}`)
  const pairs = url.search.slice(1).split("&").filter((pair) => pair !== "")
  const rawValues = pairs.map((pair) => pair.slice(pair.indexOf("=") + 1))
  // A user name without a password is a token, and so a secret.
  const secrets = [key, basic, password === "" ? name : password, ...url.searchParams.values(), ...rawValues]
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
    hide: ModelProblem.hide(secrets)
  }
}

/** Decodes a part of an address. A part that cannot be decoded stays as it is. */
const decodePart = (part: string): string =>
  Option.getOrElse(Option.liftThrowable(decodeURIComponent)(part), () => part)

/** Returns the description of a valid base URL if the text is not valid; otherwise `undefined`. */
export const urlProblem = (text: string): string | undefined => {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol)
    ? undefined
    : "an address that begins with http:// or https://, such as http://127.0.0.1:8080/v1"
}

/** Returns the trimmed name of a model. Throws a `TypeError` if the name is empty. */
export const modelName = (text: string): string => {
  if (text.trim() === "") throw new TypeError(`Expected ${aModel}.`)
  return text.trim()
}

/** Describes a model's name, for error messages. */
export const aModel = "the name of a model, as its server lists it"

/** Describes a key, for error messages. */
export const aKey = "a key of letters, digits and punctuation: no HTTP header may have anything else"

// If a key had any other character, an HTTP client's error would quote the header, and so reveal the key.
const keyProblem = (key: Redacted.Redacted | undefined): string | undefined =>
  key === undefined || isHeaderText(Redacted.value(key)) ? undefined : aKey

/** True if an HTTP header can contain the text, without the white space around it. */
export const isHeaderText = (text: string): boolean => /^[\x20-\x7e]*$/.test(text.trim())
