/** Random keys in the formats of providers, and failures that quote them in every place and form. */
import * as fc from "fast-check"

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
const from = (alphabet: string, least: number, most = least) =>
  fc.array(fc.constantFrom(...alphabet), { minLength: least, maxLength: most }).map((characters) => characters.join(""))

/** A key, and the part of it that tells it from others. */
export interface Key {
  readonly text: string
  readonly secret: string
}

const prefixed = (prefix: string, secret: fc.Arbitrary<string>) =>
  secret.map((secret): Key => ({ text: `${prefix}${secret}`, secret }))

const jwt = fc.tuple(from(letters, 30, 60), from(`${letters}-_`, 43)).map(([claims, signature]): Key => ({
  text: `eyJhbGciOiJIUzI1NiJ9.eyJ${claims}.${signature}`,
  secret: claims
}))

export const keys: fc.Arbitrary<Key> = fc.oneof(
  prefixed("sk-", from(letters, 48)),
  prefixed("sk-proj-", from(`${letters}-_`, 40, 156)),
  prefixed("sk-ant-api03-", from(`${letters}-_`, 93)),
  prefixed("sk-or-v1-", from("0123456789abcdef", 64)),
  prefixed("AIza", from(`${letters}-_`, 35)),
  prefixed("gsk_", from(letters, 52)),
  prefixed("xai-", from(letters, 80)),
  prefixed("AKIA", from("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),
  prefixed("hf_", from(letters, 34)),
  prefixed("r8_", from(letters, 37)),
  prefixed("pplx-", from(letters, 48)),
  prefixed("fw_", from(letters, 24)),
  prefixed("nvapi-", from(`${letters}-_`, 64)),
  prefixed("csk-", from(letters, 48)),
  prefixed("tgp_v1_", from(`${letters}-_`, 43)),
  prefixed("vck_", from(letters, 56)),
  prefixed("ABSK", from(`${letters}+/`, 80, 120)),
  jwt
)

/** How a text quotes a key. */
export const quotes: fc.Arbitrary<(key: string) => string> = fc.constantFrom<(key: string) => string>(
  (key) => `Incorrect API key provided: ${key}. You can find your key at https://platform.example/keys.`,
  (key) => `Bearer ${key}`,
  (key) => `authorization: Bearer ${key}`,
  (key) => `x-api-key: ${key}`,
  (key) => `x-goog-api-key=${key}`,
  (key) => `https://api.example/v1/models/any:generateContent?alt=sse&key=${key}`,
  (key) => `https://api.example/v1/chat?key=${encodeURIComponent(key)}&x=1`,
  (key) => `/v1/models?key=${key}`,
  (key) => JSON.stringify({ error: { message: `The key ${key} is wrong` } }),
  (key) => JSON.stringify(JSON.stringify({ headers: { "x-api-key": key, Authorization: `Bearer ${key}` } })),
  (key) => `The header "Authorization: Bearer ${encodeURIComponent(key)}" is wrong\n    at run (/srv/app.js:1:2)`,
  (key) => `(${key})`,
  (key) => `'${key}',`,
  (key) => `<key>${key}</key>`
)
