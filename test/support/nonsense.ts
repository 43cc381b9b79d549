import { assert } from "@effect/vitest"
import { PartialData, SchemaMismatch, ToolUnavailable } from "@fallible/core"
import { Stream } from "effect"

/** The type of values in a program without types. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Untyped = any

export const thenable = (settle: (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => void) => ({
  // oxlint-disable-next-line unicorn/no-thenable
  then: settle
})

/** Nonsense values. Each function makes a fresh one, because a promise can reject only once. */
export const nonsense: Readonly<Record<string, () => unknown>> = {
  nothing: () => undefined,
  null: () => null,
  "a number": () => 0,
  NaN: () => Number.NaN,
  "a bigint": () => 10n,
  "a boolean": () => true,
  "an empty text": () => "",
  "a text": () => "text",
  "a symbol": () => Symbol("nonsense"),
  "an array": () => [1, undefined],
  "an object": () => ({ text: null, calls: null }),
  "a function": () => () => 1,
  "a promise": () => Promise.resolve(1),
  "a rejected promise": () => Promise.reject(new Error("rejected")),
  "a promise rejected later": () => Promise.resolve().then(() => Promise.reject(new Error("rejected later"))),
  "a thenable": () => thenable((resolve) => resolve(1)),
  "a thenable that throws": () => thenable(() => assert.fail("awaited")),
  "a generator": () => (function*() {})(),
  "an async generator": () => (async function*() {})(),
  "an error": () => new Error("an error"),
  "an object without a prototype": () => Object.create(null),
  "an object like a failure": () => ({ _tag: "ToolUnavailable", transient: true }),
  "a forged failure": () => Object.create(ToolUnavailable.prototype),
  "a failure of nothing": () => new ToolUnavailable({} as Untyped),
  "a failure of nonsense": () =>
    new SchemaMismatch({
      side: "neither",
      code: {},
      detail: (new Object() as Untyped).message,
      issues: [1],
      alternatives: [null]
    } as Untyped),
  "a failure of promises": () =>
    new PartialData({
      code: Promise.resolve(1),
      detail: Promise.resolve(1),
      data: Promise.reject(new Error("data")),
      next: [1]
    } as Untyped),
  "a stream": () => Stream.succeed(1),
  "a map": () => new Map([[1, 2]]),
  "a proxy that cannot be looked at": () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  },
  "something cyclic": () => {
    const cyclic: Record<string, unknown> = {}
    return Object.assign(cyclic, { cyclic })
  },
  "something deep": () => {
    let deep: unknown = 1
    for (let depth = 0; depth < 20_000; depth++) deep = [deep]
    return deep
  }
}
