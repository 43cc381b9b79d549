import { assert, describe, it } from "@effect/vitest"
import { describe as describeError, describeStatus, errorsIn, redact, statusIn } from "@fallible/errors"
import * as FastCheck from "fast-check"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { shapeOf, shapes } from "../support/errorShapes.ts"
import { root } from "../support/program.ts"
import { shownDescription } from "../support/shownDescription.ts"

const readme = readFileSync(join(root, "packages/errors/README.md"), "utf8")

/** The clock of the README's table: after all dates in the recordings. */
const now = () => 2e12

describe("describe", () => {
  it("describes the recorded errors as the README says", () => {
    const rows = Array.from(
      readme.matchAll(/^\|[^|]*\| `([^`]+)` *\| ([^|]*?) *\| ([^|]*?) *\|$/gm),
      ([, name = "", kind = "", message = ""]) => ({ name, kind, message })
    ).filter(({ name }) => shapes.some((shape) => shape.name === name))
    assert.isAbove(rows.length, 50)
    for (const { kind, message, name } of rows) {
      const description = describeError(shapeOf(name), { now })
      assert.strictEqual(`${shownDescription(description)}: ${description.message}`, `${kind}: ${message}`, name)
    }
    assert.include(readme, `${shapes.length} are recorded`)
    const libraries = new Set(shapes.map(({ library }) => library))
    assert.include(readme, `errors of ${libraries.size} libraries`)
  })

  it("returns plain data for every recorded error, without the error itself", () => {
    for (const { error, name } of shapes) {
      const description = describeError(error())
      assert.deepStrictEqual(JSON.parse(JSON.stringify(description)), description, name)
      assert.isAtMost(description.message.length, 600, name)
    }
  })

  it("never throws, whatever the value", () => {
    FastCheck.assert(FastCheck.property(FastCheck.anything({ withNullPrototype: true, maxDepth: 4 }), (value) => {
      assert.isString(describeError(value).message)
    }))
    const hostile = new Proxy({}, {
      get: () => assert.fail("!"),
      has: () => assert.fail("!"),
      getPrototypeOf: () => assert.fail("!"),
      ownKeys: () => assert.fail("!")
    })
    for (const value of [hostile, { cause: hostile, errors: [hostile] }, new Error("x".repeat(10_000_000))]) {
      assert.isString(describeError(value).message)
    }
  })

  it("calls a mistake in the program a bug, unless its own class is listed", () => {
    class OutOfRange extends RangeError {}
    assert.strictEqual(describeError(new TypeError("x is not a function")).class, "bug")
    assert.strictEqual(describeError(new OutOfRange("1 to 8.")).class, "bug")
    const told = describeError(new OutOfRange("1 to 8."), { tell: [OutOfRange] })
    assert.deepInclude(told, { class: "refused", message: "1 to 8.", isQuoted: true })
  })

  it("takes a class of refusals at its word", () => {
    class Taken extends Error {}
    assert.deepStrictEqual(describeError(new Taken("Room A1 is booked."), { refuses: [Taken] }), {
      class: "refused",
      code: "rejected",
      message: "Room A1 is booked.",
      isTransient: false,
      request: { outcome: "not_executed" },
      isRecognized: true,
      isQuoted: true,
      isDeclared: true
    })
  })

  it("says that words alone said so, and that they prove nothing", () => {
    const { code, isTransient, request } = describeError(new Error("HTTP 429"))
    assert.deepStrictEqual({ code, isTransient, request }, {
      code: "rate_limited",
      isTransient: true,
      request: { outcome: "unknown", worded: true }
    })
  })

  it("says which field keeps a message from being shown", () => {
    const secret = Object.assign(new Error("token abc"), { config: {} })
    const { isRecognized, message, withheldFor } = describeError(secret)
    assert.deepStrictEqual({ isRecognized, withheldFor }, { isRecognized: false, withheldFor: "config" })
    assert.notInclude(message, "abc")
  })

  it("asks the clock that it is given how long to wait until a date", () => {
    const error = { status: 503, headers: { "retry-after": "Thu, 01 Jan 1970 00:00:30 GMT" } }
    assert.strictEqual(describeError(error, { now: () => 10_000 }).retryAfter, 20_000)
    assert.strictEqual(describeStatus(503, error.headers, () => 10_000).retryAfter, 20_000)
  })
})

describe("an issue of a schema", () => {
  it("that is circular has a limited number of paths", () => {
    const issue = { "~effect/SchemaIssue/Issue": true, path: ["a"], issues: new Array<unknown>() }
    issue.issues.push(issue, issue)
    const { class: kind, paths = [] } = describeError({ issue })
    assert.strictEqual(kind, "invalid_answer")
    assert.strictEqual(paths.length, 20)
    assert.deepStrictEqual(new Set(paths.flat()), new Set(["a"]))
  })
})

describe("describeStatus", () => {
  it("knows every status", () => {
    for (let status = 100; status < 600; status++) {
      assert.strictEqual(describeStatus(status).status, status)
      assert.strictEqual(describeStatus(status).message, `The service answered ${status}.`)
    }
    assert.strictEqual(describeStatus(204).code, "unexpected_status")
    assert.deepInclude(describeStatus(403, { "x-ratelimit-remaining": "0" }), {
      code: "rate_limited",
      isTransient: true
    })
  })
})

describe("errorsIn and statusIn", () => {
  it("follow causes and aggregates, also in circles", () => {
    const inner = Object.assign(new Error("inner"), { status: 404 })
    const outer = new AggregateError([new Error("a", { cause: inner })], "outer")
    inner.cause = outer
    assert.include([...errorsIn(outer)], inner)
    assert.strictEqual(statusIn(outer), 404)
    assert.isUndefined(statusIn(new Error("404")))
  })
})

describe("redact", () => {
  it("keeps what is no secret", () => {
    for (
      const text of ["Room A1 is booked on 3 May.", "Order 17 of 20 failed", "b0a1c2d3-1111-2222-3333-444455556666"]
    ) {
      assert.strictEqual(redact(text), text)
    }
  })

  it("puts a text on one line, without stacks", () => {
    assert.strictEqual(redact("Failed\n    at run (/app/src/index.ts:3:1)\nAgain"), "Failed Again")
  })

  it("hides keys by their prefixes, also without digits", () => {
    const letters = "abcdefghijklmnopqrstuvwx"
    const prefixes = [
      "gsk_",
      "xai-",
      "r8_",
      "pplx-",
      "fw_",
      "nvapi-",
      "csk-",
      "tgp_v1_",
      "vck_",
      "ABSK",
      "AIza",
      "sk-ant-"
    ]
    for (const prefix of prefixes) {
      assert.strictEqual(redact(`The key ${prefix}${letters} is wrong`), "The key <redacted> is wrong")
    }
    for (const text of ["fw_update failed", "The xai-model answered", "csk-1"]) assert.strictEqual(redact(text), text)
  })

  it("takes no number in JSON for an address", () => {
    assert.strictEqual(redact("{\"a\":1,\"b\":[2]}"), "{\"a\":1,\"b\":[2]}")
    for (const address of ["::1", "fe80::1", "2001:db8::8a2e:370:7334", "[::1]:8080"]) {
      assert.strictEqual(redact(`No host ${address}`), "No host <address>")
    }
  })

  it("takes no more than linear time for spaces", () => {
    // In quadratic time, this is a quarter of an hour, and so beyond the limit of a test.
    assert.strictEqual(redact(`Failed${" ".repeat(1_000_000)}`), "Failed")
  })
})
