import { assert, describe, it } from "@effect/vitest"
import { type Instance, isList, type Recorded, recorded, shapes, type Tree } from "../support/errorShapes.ts"

const revive = (name: string): unknown => {
  const shape = shapes.find((shape) => shape.name === name)
  assert.isDefined(shape, name)
  return shape.error()
}

const error = (name: string): Error => {
  const revived = revive(name)
  assert.instanceOf(revived, Error, name)
  return revived
}

const isInstance = (tree: Tree): tree is Instance =>
  typeof tree === "object" && tree !== null && !isList(tree) && (tree.kind === "error" || tree.kind === "object")

const instances: ReadonlyArray<Recorded & { readonly error: Instance }> = recorded.flatMap((shape) =>
  isInstance(shape.error) ? [{ ...shape, error: shape.error }] : []
)

const read = (value: unknown, key: string): unknown => Reflect.get(Object(value) as object, key)

const constructors = (value: object): ReadonlyArray<string> => {
  const above = Object.getPrototypeOf(value) as object | null
  if (above === null || above === Object.prototype) return above === null ? ["null"] : []
  const own = Object.hasOwn(above, "constructor") ? (read(read(above, "constructor"), "name") as string) : ""
  return [own, ...constructors(above)]
}

describe("revived errors", () => {
  it("keep the names of their classes", () => {
    for (const { name, error } of instances) {
      const revived = revive(name) as object
      assert.deepStrictEqual(constructors(revived), (error.classes ?? []).map((name) => name.replace("*", "")), name)
      assert.strictEqual(revived instanceof Error, error.kind === "error", name)
    }
  })

  it("keep name, message, code and status", () => {
    for (const { name, error } of instances) {
      const revived = revive(name)
      for (const key of ["name", "message", "code", "status", "statusCode", "errno", "_tag"]) {
        const kept = error.own[key] ?? error.inherited?.[key]
        if (kept !== undefined && !isInstance(kept)) assert.strictEqual(read(revived, key), kept, `${name} ${key}`)
      }
    }
  })

  it("keep undefined and non-enumerable properties", () => {
    for (const { name, error } of instances) {
      const revived = revive(name) as object
      for (const key of error.undefined ?? []) assert.isTrue(key in revived && read(revived, key) === undefined, name)
      for (const key of error.hidden ?? []) assert.notInclude(Object.keys(revived), key, name)
      if (error.kind === "error" && error.hidden === undefined) assert.notInclude(Object.keys(revived), "stack", name)
    }
  })

  it("have the runtime's own classes if the originals had", () => {
    const refused = error("fetch refused")
    assert.strictEqual(refused.constructor, TypeError)
    assert.strictEqual(read(refused.cause, "code"), "ECONNREFUSED")
    assert.strictEqual(read(refused.cause, "constructor"), Error)
    assert.strictEqual(error("thrown by hand Error with a sentence").constructor, Error)
    assert.notStrictEqual(error("thrown by hand class of one's own").constructor, Error)
    assert.instanceOf(error("JSON.parse cut object"), SyntaxError)
    const none = error("aggregate Promise.any of sentences")
    assert.instanceOf(none, AggregateError)
    assert.deepStrictEqual(none.errors.map((one: Error) => one.message), [
      "The first is closed.",
      "The second is closed."
    ])
    const aborted = error("fetch aborted")
    assert.instanceOf(aborted, DOMException)
    assert.deepStrictEqual([aborted.name, aborted.code, aborted.message], [
      "AbortError",
      20,
      "This operation was aborted"
    ])
    const response = revive("fetch Response thrown 429 in seconds")
    assert.instanceOf(response, Response)
    assert.deepStrictEqual([response.status, response.headers.get("retry-after")], [429, "7"])
  })

  it("have getters if the originals had", () => {
    const unique = error("better-sqlite3 unique")
    assert.strictEqual(unique.name, "SqliteError")
    assert.notInclude(Object.getOwnPropertyNames(unique), "name")
  })

  it("keep the paths of issues, whose segments may be objects", () => {
    const [zod] = read(revive("zod standard"), "issues") as ReadonlyArray<unknown>
    assert.deepStrictEqual(read(zod, "path"), ["room"])
    const [valibot] = read(revive("valibot standard"), "issues") as ReadonlyArray<unknown>
    assert.deepStrictEqual((read(valibot, "path") as ReadonlyArray<unknown>).map((one) => read(one, "key")), ["room"])
  })

  it("have a stack with the message and a file name", () => {
    const { message, stack } = error("axios 404")
    assert.match(stack ?? "", new RegExp(`^AxiosError: ${message}\n +at .*/app/node_modules/axios/`))
  })

  it("are fresh each time", () => {
    assert.notStrictEqual(revive("axios 404"), revive("axios 404"))
  })
})

describe("the recorded errors", () => {
  it("have unique names, and cover all libraries", () => {
    assert.strictEqual(new Set(recorded.map(({ name }) => name)).size, recorded.length)
    const libraries = new Set(recorded.map(({ library }) => library.replace(/(?<=.)@[^@]*$/, "")))
    const expected = [
      "fetch",
      "undici",
      "axios",
      "ky",
      "got",
      "pg",
      "mysql2",
      "node:sqlite",
      "better-sqlite3",
      "openai",
      "ai",
      "@octokit/request",
      "gaxios",
      "stripe",
      "@anthropic-ai/sdk",
      "@slack/web-api",
      "@supabase/postgrest-js",
      "ioredis",
      "redis",
      "mongodb",
      "nodemailer"
    ]
    for (const library of [...expected, "@aws-sdk/client-dynamodb", "@grpc/grpc-js", "zod", "valibot", "effect"]) {
      assert.include(libraries, library)
    }
  })

  it("match their names, for refused connections", () => {
    const refused = recorded.filter(({ name }) => / refused\b/.test(name) && !name.includes("TLS"))
    assert.isAbove(refused.length, 20)
    for (const { name, error } of refused) assert.include(JSON.stringify(error), "ECONNREFUSED", name)
  })

  it("contain secrets, so that a test of leaks is meaningful", () => {
    for (const secret of ["sk-live-SECRET123456", "hunter2-secret", "/app/"]) {
      const holding = recorded.filter(({ error }) => JSON.stringify(error).includes(secret))
      assert.isAbove(holding.length, 90, secret)
    }
  })

  it("reveal nothing about the machine that recorded them", () => {
    for (const { name, error } of recorded) {
      assert.notMatch(JSON.stringify(error), /\/(tmp|home|root|work)\/|(127\.0\.0\.1|localhost):(?!12345)\d/, name)
    }
  })
})
