/** Laws of secrets: the key appears in no failure. */
import { ModelFailure } from "@fallible/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FakeModelServer from "../../FakeModelServer.ts"
import { demand, failing, found, isConnected, once, playing, type Rule, ways } from "./rule.ts"

const key = "sk-proj-0123456789abcdefABCDEF0123456789"

const said = `Incorrect API key provided: ${key}. Your header was: Bearer ${key}`

const moves: ReadonlyArray<readonly [what: string, move: FakeModelServer.Move]> = [
  ...([["bad_request", 400], ["permission_denied", 401], ["rate_limited", 429], ["server_error", 500]] as const).map((
    [code, status]
  ) => [`status ${status}`, new ModelFailure({ code, detail: said, transient: false, status })] as const),
  ["a body of plain text", FakeModelServer.raw(said, { status: 403, headers: { "x-your-key": key } })],
  ["a body that is no reply", FakeModelServer.raw(`<html>${said}</html>`, { headers: { "x-your-key": key } })],
  ["a body of other JSON", FakeModelServer.raw(JSON.stringify({ key, said }), { headers: { "x-your-key": key } })],
  ["an error with a success status", FakeModelServer.raw(JSON.stringify({ error: { message: said, code: 400 } }))],
  ["an error in a stream", FakeModelServer.raw(`data: ${JSON.stringify({ error: { message: said, code: 500 } })}\n\n`)],
  ["a refusal", new ModelFailure({ code: "refused", detail: said, transient: false })],
  ["a lost connection", new ModelFailure({ code: "connection", detail: "", transient: true })],
  ["a reply that is cut off", new ModelFailure({ code: "cut_off", detail: "", transient: true })]
]

const hidden: Rule = {
  name: "The key appears in no failure, though the server quotes it: not in its texts, its JSON, or its cause.",
  holds: (subject) =>
    isConnected(subject)
      ? Effect.forEach(moves, ([what, move]) =>
        Effect.forEach(ways, ([way, ask]) =>
          playing(subject, [move], ({ model }) =>
            Effect.gen(function*() {
              const exit = yield* Effect.exit(ask(model))
              // Other JSON may be read as an empty reply.
              if (Exit.isSuccess(exit)) {
                return
              }
              const failure = yield* failing(exit, "a failure")
              const texts = [JSON.stringify(failure), String(failure), ...textsIn(failure)]
              const quoting = texts.filter((text) =>
                text.includes(key)
              )
              yield* demand(quoting.length === 0, "no key", quoting)
            }), { ...once, apiKey: key }).pipe(found(`${what}, ${way}`))), { discard: true })
      : Effect.void
}

/** All texts in a value and its fields, also in those that are not enumerable. */
const textsIn = (value: unknown, seen = new Set<unknown>()): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  if (typeof value !== "object" || value === null || seen.has(value)) return []
  seen.add(value)
  if (value instanceof Map || value instanceof Set) return Array.from(value).flatMap((item) => textsIn(item, seen))
  return Object.values(Object.getOwnPropertyDescriptors(value)).flatMap((field) => textsIn(field.value, seen))
}

export const secrets: ReadonlyArray<Rule> = [hidden]
