/** From any error to one of the four: `ToolFailure.from`, with the errors of real libraries. */
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { PartialData, type SchemaMismatch, type SemanticGarbage, ToolFailure, ToolUnavailable } from "@fallible/core"
import { Cause, Duration, Effect, Exit, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as FastCheck from "fast-check"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { runInNewContext } from "node:vm"
import { shapeOf, shapes } from "../support/errorShapes.ts"
import { root } from "../support/program.ts"

type Caught = ReturnType<typeof ToolFailure.from>

/** What becomes of an error, in one line. */
const toldOf = (error: unknown): string => {
  const failure = caught(error)
  if (failure === undefined) return "a defect"
  const { _tag, code, detail, hint } = failure
  const more = failure._tag === "ToolUnavailable"
    ? [
      failure.transient ? "transient" : `permanent, ${failure.scope ?? "tool"}`,
      failure.outcome,
      failure.retryAfter === undefined ? undefined : `after ${Duration.format(failure.retryAfter)}`
    ].filter((word) => word !== undefined)
    : []
  return [`${_tag} ${code}`, ...more].join(", ") + `: ${detail}${hint === undefined ? "" : ` (${hint})`}`
}

// What a program without types may pass.
const untyped = (value: unknown) => value as never

/** `undefined` where it is thrown again. */
const caught = (error: unknown, options?: ToolFailure.FromOptions): Caught | undefined => {
  try {
    return ToolFailure.from(error, options)
  } catch (thrown) {
    assert.strictEqual(thrown, error, "what is thrown again is the error itself")
    return undefined
  }
}

const golden = join(root, "test/support/errorKinds.txt")

describe("the errors of real libraries", () => {
  it("become what is written down (FALLIBLE_UPDATE=1 writes it)", () => {
    const lines = shapes.map(({ error, name }) => `${name}\n    ${toldOf(error())}\n`).join("")
    if (process.env["FALLIBLE_UPDATE"] === "1") writeFileSync(golden, lines)
    assert.strictEqual(lines, readFileSync(golden, "utf8"))
  })

  it("tell no secret, path, address, class or stack", () => {
    for (const { error, name } of shapes) {
      const failure = caught(error())
      if (failure === undefined) continue
      const { detail, hint } = failure
      assert.notMatch(
        `${detail} ${hint ?? ""}`,
        /SECRET|hunter2|\/app|\/etc|127\.0\.0\.1|https?:|\.ts\b| {4}at |BookingError|AxiosError|DatabaseError/,
        name
      )
      assert.isAtMost(detail.length, 600, name)
      assert.notInclude(detail, "\n", name)
    }
  })

  it("become what docs/any-error.md says", () => {
    const rows = readFileSync(join(root, "docs/any-error.md"), "utf8")
      .matchAll(/^\|[^|]*\| `([^`]+)` *\| ([^|]*?) *\| ([^|]*?) *\|$/gm)
    const shown = Array.from(rows, ([, name = "", kind, words]) => {
      const told = toldOf(shapeOf(name))
      assert.strictEqual(
        `${kind}${words === "" ? "" : `: ${words}`}`,
        told.replace(/ \((?!\d+ more)[^()]*\)$/, ""),
        name
      )
      return name
    })
    assert.isAbove(shown.length, 40)
  })

  it("keep the error as the cause, which no encoding carries", () => {
    for (const { error, name } of shapes) {
      const thrown = error()
      const failure = caught(thrown)
      if (failure === undefined) continue
      assert.strictEqual(failure.cause, thrown, name)
      assert.notInclude(Object.keys(failure), "cause", name)
    }
  })

  it("say that nothing was done only where nothing was sent", () => {
    const claims = shapes.filter(({ error }) => {
      const failure = caught(error())
      return failure?._tag === "ToolUnavailable" && failure.outcome === "not_executed"
    }).map(({ name }) => name)
    const unsent =
      /refused|unknown host|429|Response thrown 429|URL|scheme|retryAfter|throttl|throughput|too many|too many requests|cannot open|missing file|connect timeout|shutting down|aggregate Promise.any of fetches|ECONNREFUSED|retryable by its model|Promise.any of mixed|forbidden port|InvalidUrl|EncodeError|UnknownError|of a limit|mailbox full|greylisted|try later|no recipient/i
    assert.deepStrictEqual(claims.filter((name) => !unsent.test(name)), [])
  })
})

describe("ToolFailure.from", () => {
  it("has a type without partial data, which nobody could check", () => {
    expectTypeOf(ToolFailure.from).returns.toEqualTypeOf<SchemaMismatch | SemanticGarbage | ToolUnavailable>()
  })

  it.effect("is the catch of Effect.tryPromise, and a mistake of the program a defect", () =>
    Effect.gen(function*() {
      const failing = (error: unknown) =>
        Effect.tryPromise({ try: () => Promise.reject(error), catch: ToolFailure.from })
      assert.strictEqual((yield* Effect.flip(failing(shapeOf("axios 404")))).code, "not_found")
      const exit = yield* Effect.exit(failing(new TypeError("rows is undefined")))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    }))

  it("leaves a failure as it is, and throws partial data again", () => {
    const failure = caught(shapeOf("axios 404"))
    assert.strictEqual(caught(failure), failure)
    assert.isUndefined(caught(new PartialData({ code: "more_pages", detail: "Page 1 of 2.", data: [] })))
  })

  it("tells which fields of a result are wrong, without their values", () => {
    const order = Schema.Struct({ orders: Schema.Array(Schema.Struct({ total: Schema.Finite })) })
    const exit = Effect.runSyncExit(Schema.decodeUnknownEffect(order)({ orders: [{ total: "hunter2" }] }))
    const failure = caught(Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined)
    assert.deepInclude({ ...failure }, {
      _tag: "SchemaMismatch",
      side: "result",
      code: "invalid_result",
      detail: "The result does not match its schema at 'orders.0.total'.",
      issues: [{
        path: ["orders", 0, "total"],
        expected: "a value that matches the schema",
        actual: "one that does not"
      }]
    })
  })

  describe("tells the message", () => {
    class Listed extends Error {}
    class Below extends Listed {}
    const tell = [Listed]
    const words = (error: unknown) => caught(error, { tell })?.detail
    const sentence = "Room A1 is taken."
    const untold = "The tool failed. Only its operators can see why."

    it("of a plain Error, of a class that is listed, and of those below it", () => {
      for (const error of [new Error(sentence), new Listed(sentence), new Below(sentence)]) {
        assert.strictEqual(words(error), sentence)
      }
    })

    it("of no other class, and of nothing that is not an error", () => {
      class Other extends Error {}
      for (const error of [new Other(sentence), sentence, { message: sentence }, [sentence], 5, null, undefined]) {
        assert.strictEqual(words(error), untold)
      }
    })

    for (const field of ["code", "errno", "sql", "config", "request", "response"]) {
      it(`not where there is a '${field}'`, () => {
        assert.strictEqual(words(Object.assign(new Error(sentence), { [field]: undefined })), untold)
        assert.strictEqual(words(Object.assign(new Listed(sentence), { [field]: {} })), untold)
      })
    }

    it("not where it repeats its cause", () => {
      const cause = new RangeError("row 7 of ledger_private")
      assert.strictEqual(words(new Error(`Failed: ${cause.message}`, { cause })), untold)
      assert.strictEqual(words(new Error(sentence, { cause })), sentence)
    })

    it("not where it is a web page", () => {
      const cause = { status: 422 }
      assert.strictEqual(words(new Error(" <!DOCTYPE html><h1>No</h1>", { cause })), "The service answered 422.")
      assert.strictEqual(words(new Error("<b> is no tag here.", { cause })), "<b> is no tag here.")
    })

    it("beside what its fields say", () => {
      assert.deepInclude({ ...caught(Object.assign(new Error("No order 7."), { status: 404 })) }, {
        code: "not_found",
        detail: "No order 7."
      })
    })

    for (
      const [what, message, detail] of [
        ["an address", "GET https://ada:pw@api.example/r?key=abc failed", "GET <address> failed"],
        ["a query", "Asked for /rooms?api_key=abc now", "Asked for /rooms now"],
        ["an IP address", "No route to 10.0.0.7:5432.", "No route to <address>."],
        ["a path", "Cannot read /srv/app/key.pem today", "Cannot read <path> today"],
        ["a path of Windows", "Cannot read C:\\Users\\ada\\key.pem today", "Cannot read <path> today"],
        ["a stack", "Broken.\n    at f (/srv/app/a.js:1:2)", "Broken."],
        ["a password", "Login failed: password=hunter2!", "Login failed: password=<redacted>"],
        ["a password in JSON", "{\"password\": \"hunter2\", \"room\": 5}", "{\"password\": <redacted>, \"room\": 5}"],
        ["a key by its prefix", "Invalid key sk-live-abcdef123456.", "Invalid key <redacted>."],
        ["a header", "Sent Authorization: Bearer abc.def-ghi123", "Sent Authorization: <redacted>"],
        ["a long random word", "Token was q8Zx91kLmN4pQr7sT2uVw5yA3bC6dE0f.", "Token was <redacted>"],
        [
          "a UUID, which may be an order",
          "No order 3f2504e0-4f89-11d3-9a0c-0305e82c3301.",
          "No order 3f2504e0-4f89-11d3-9a0c-0305e82c3301."
        ],
        [
          "a UUID behind its name",
          "order_id=3f2504e0-4f89-11d3-9a0c-0305e82c3301 is gone.",
          "order_id=3f2504e0-4f89-11d3-9a0c-0305e82c3301 is gone."
        ],
        ["a token of letters alone", "Refused for Bearer abcdefghijklmnop.", "Refused for Bearer <redacted>"],
        ["a word about secrets", "The password is too short.", "The password is too short."],
        ["a fraction and a date", "Give 1/2 or 3/5/2026.", "Give 1/2 or 3/5/2026."],
        ["lines", "One.\nTwo.\r\nThree.", "One. Two. Three."]
      ] as const
    ) {
      it(`without insides: ${what}`, () => {
        assert.strictEqual(words(new Error(message)), detail)
      })
    }

    const hidden = [
      "clientSecret=hunter22",
      "DBPASSWORD=hunter22",
      "accessToken: hunter22",
      "AccountKey=hunter22",
      "SharedAccessSignature: hunter22",
      "user:hunter22@db.internal:5432",
      "postgres:ada:hunter22@host",
      "private_key=hunter22",
      "key=hunter22",
      "sessionid=hunter22",
      "otp=hunter22",
      "Wrong password 'hunter22 two'",
      "<password>hunter22</password>",
      "Authorization: ApiKey hunter22",
      "curl -u ada:hunter22",
      "run --token hunter22",
      "STRIPE_KEY=hunter22",
      "PHPSESSID=hunter22",
      "insert into users values ('hunter22')",
      "password='hunter22 two hunter22'",
      "the password is hunter22",
      "{\\\"token\\\":\\\"hunter22\\\"}",
      "token%3Dhunter22",
      "password => hunter22",
      "password -> hunter22",
      "Cookie: a=1; sid=hunter22; b=2",
      "Authorization: Bearer hunter22.abc",
      "pass\u200bword=hunter22",
      "ｐａｓｓｗｏｒｄ=hunter22",
      "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEhunter22",
      "-----BEGIN PRIVATE KEY-----\nhunter22\n-----END PRIVATE KEY-----",
      "SELECT hunter22 FROM users",
      "at f (/srv/hunter22/a.js:1:2)",
      "\\\\server\\share\\hunter22.key",
      "/root/hunter22",
      "src/hunter22.ts:12:3",
      "node_modules/hunter22/index.js",
      "/data/hunter22.db",
      "~/.ssh/hunter22",
      "file:/x/hunter22",
      "node:internal/hunter22:105:5",
      "select * from users where name = 'hunter22'",
      "db.hunter22.internal:5432",
      "api.hunter22.example.com"
    ]
    it("without what may be a secret, a path or an address", () => {
      const told = hidden.map((message) => words(new Error(`It failed: ${message}`)) ?? "")
      assert.deepStrictEqual(told.filter((words) => words.includes("hunter22")), [])
    })

    it("without addresses of any kind, and names of classes", () => {
      const message =
        "BookingError: no route to [::1]:5432, fe80::1, 2001:db8:85a3:0:0:8a2e:370:7334, localhost:5432 or db.internal:5432; a NullPointerException"
      assert.strictEqual(
        words(new Error(message)),
        "no route to <address>, <address>, <address>, <address> or <address>; a <error>"
      )
    })

    it("as it is, where it says what a model needs", () => {
      const plain = [
        "Room A1 is taken from 10:30 to 12:30:00. Free rooms: B2, C3.",
        "The basic training is full.",
        "Give a date such as 2026-11-22, or a page from 1 to 20.",
        "/rooms/A1 is booked.",
        "The node:12 is down.",
        "Order 17 costs 4,200.50 EUR; at most 3/5 may be paid.",
        "Please select a room from the list.",
        "There is no file docs/report.md.",
        "Pass: 12 of 20. OTP: required.",
        "The connection from Berlin to Prague is closed on Sundays.",
        "No response from the guest yet.",
        "The live stream ended at 20:00.",
        "The customer returned 500 of 600 items.",
        "Invalid URL: give a full address with https."
      ]
      for (const sentence of plain) assert.strictEqual(words(new Error(sentence)), sentence)
    })

    it("in linear time, whatever it is", () => {
      const pieces = ["a-1-", "a.", "/a", "password ", "a:", "::", "1.", "a\\", "token=\"\\", " at ", "status ", "4 4"]
      for (const piece of pieces) {
        const error = Object.assign(new Error(piece.repeat(200_000)), { name: piece.repeat(200_000) })
        // What takes more than linear time would not end.
        assert.isString(caught(error)?.detail)
      }
    })

    it("of one below it that has the form of a failure", () => {
      const detail = "postgres://app:hunter22@db/x broke\n    at foo (/srv/app/db.js:3:1)"
      const cause = { _tag: "ToolUnavailable", code: "broken", detail, transient: false }
      assert.strictEqual(words(Object.assign(new Error("No."), { cause, code: "X" })), "<address> broke")
      const insides = { _tag: "ToolUnavailable", code: detail, detail: "Broke.", hint: detail, transient: false }
      assert.deepInclude({ ...caught(Object.assign(new Error("No."), { cause: insides, code: "X" })) }, {
        code: "failed",
        hint: "<address> broke"
      })
    })

    it("cut to one bounded line", () => {
      const detail = words(new Error("long ".repeat(10_000))) ?? ""
      assert.isAtMost(detail.length, 540)
      assert.match(detail, /… \(49\d\d\d more characters\)$/)
    })
  })

  it("looks at errors that hold each other only as long as it learns something", () => {
    const all = new AggregateError([])
    all.errors.push(...Array.from({ length: 20 }, () => all))
    all.cause = all
    const decoding = { _tag: "HttpClientError", reason: { _tag: "DecodeError", cause: all } }
    // What looks at each way from one to the other would not end.
    assert.strictEqual(caught({ errors: Array.from({ length: 20 }, () => decoding) })?.code, "invalid_result")
  })

  it("knows the words of fetch in an error of another realm", () => {
    const cause = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })
    const error: unknown = runInNewContext("new TypeError('fetch failed', { cause })", { cause })
    assert.notInstanceOf(error, TypeError)
    assert.deepInclude({ ...caught(error) }, { code: "connection" })
  })

  it("names no key of a result that may be a secret", () => {
    const issues = [{ message: "No.", path: ["sessions", "sk_live_4242424242424242424242", "user"] }]
    assert.include(caught({ issues })?.detail, "'sessions.….user'")
  })

  it("says what is wrong with its options", () => {
    const tell = untyped(Error)
    assert.throws(() => ToolFailure.from(new Error("No."), { tell }), /^'tell' is a list of classes; got /)
  })

  describe("waits as long as a service asks for", () => {
    const after = (headers: object) => {
      const failure = caught({ status: 429, headers })
      return failure?._tag === "ToolUnavailable" && failure.retryAfter !== undefined
        ? Duration.toMillis(failure.retryAfter)
        : undefined
    }

    it.effect("in seconds, in milliseconds, and until a date", () =>
      Effect.sync(() => {
        assert.strictEqual(after({ "retry-after": "7" }), 7_000)
        assert.strictEqual(after({ "Retry-After": 7 }), 7_000)
        assert.strictEqual(after(new Headers({ "retry-after": "7" })), 7_000)
        assert.strictEqual(after({ "retry-after-ms": "1500", "retry-after": "2" }), 1_500)
        assert.strictEqual(after({ "retry-after": "Thu, 01 Jan 1970 00:00:30 GMT" }), 30_000)
        assert.strictEqual(after({ "retry-after": "Wed, 31 Dec 1969 00:00:00 GMT" }), 0)
        assert.strictEqual(after({ "retry-after": "9".repeat(500) }), 1e12)
      }))

    it.effect("and until its limit of requests is reset, where none is left", () =>
      Effect.gen(function*() {
        yield* TestClock.setTime(1_700_000_000_000)
        const limit = (remaining: string, reset: string) => ({
          "x-ratelimit-remaining": remaining,
          "x-ratelimit-reset": reset
        })
        assert.strictEqual(after(limit("0", "1700000090")), 90_000)
        assert.strictEqual(after({ ...limit("0", "1700000090"), "retry-after": "5" }), 5_000)
        assert.isUndefined(after(limit("1", "1700000090")))
        assert.isUndefined(after(limit("0", "soon")))
        const below = new Error("Too many.", {
          cause: new Response("", { status: 429, headers: { "retry-after": "7" } })
        })
        assert.deepInclude({ ...caught(below) }, { code: "rate_limited", retryAfter: Duration.seconds(7) })
        const forbidden = caught({ status: 403, response: { headers: limit("0", "1700000090") } })
        assert.deepInclude({ ...forbidden }, { code: "rate_limited", retryAfter: Duration.seconds(90) })
      }))

    it("and not where that cannot be read", () => {
      for (const value of ["", "soon", "-5", "1.5.5", "1.5", "1e9", "2026-01-01", "Infinity"]) {
        assert.isUndefined(after({ "retry-after": value }), value)
      }
    })
  })

  describe("knows what people write by hand", () => {
    const kindOf = (message: string) => {
      const failure = caught(new Error(message))
      return failure?._tag === "ToolUnavailable" ? `${failure.code} ${failure.transient}` : failure?.code
    }

    for (
      const [kind, messages] of [
        ["server_error true", [
          "HTTP 503",
          "HTTP/1.1 503",
          "HTTP error! status: 500",
          "Request failed with status code 502",
          "statusCode: 503",
          "503 Service Unavailable",
          "Request failed: 503 Service Unavailable",
          "Server responded with 502",
          "API error (503)",
          "Bad Gateway",
          "Internal Server Error",
          "Booking failed: Internal Server Error",
          "Order service returned 503",
          "The payment API answered with status 502: down",
          "Server error",
          "Payment gateway error",
          "Order 450 did not go through: got 502 from the bank",
          "Deadlock found when trying to get lock; try restarting transaction"
        ]],
        ["rate_limited true", [
          "429 Too Many Requests",
          "Too Many Requests",
          "HTTP 429",
          "Rate limit exceeded.",
          "Rate limit exceeded, retry in 20s"
        ]],
        ["not_found", [
          "HTTP 404",
          "404 Not Found",
          "Request failed with status code 404",
          "The service returned 404: no such order"
        ]],
        ["invalid_json", ["Failed to parse: Unexpected token < in JSON at position 0"]],
        ["connection true", [
          "Connection is closed.",
          "socket closed",
          "Channel closed",
          "Lost connection to the bank.",
          "No response from server",
          "Network response was not ok",
          "Connection terminated unexpectedly",
          "Failed to book: fetch failed",
          "Could not book: socket hang up",
          "Could not reach the booking service",
          "Unable to connect to the database: no route"
        ]],
        ["timeout true", [
          "timeout of 50ms exceeded",
          "Query read timeout",
          "timeout expired",
          "The request timed out.",
          "This operation was aborted",
          "Request aborted",
          "canceled",
          "Timeout",
          "Request timeout.",
          "Payment failed: timed out"
        ]],
        ["failed false", [
          "Something went wrong",
          "Unexpected error",
          "An error occurred.",
          // In doubt.
          "Could not confirm the payment",
          "The payment may have gone through, but the gateway did not confirm it.",
          "It is unknown whether the mail was sent.",
          // Without a reason. Without words in HTTP/2, a status leaves nothing after the colon.
          "Could not book the room.",
          "Failed to create order #7",
          "Unable to charge the card for order o-7",
          "Payment failed",
          "Booking failed: ",
          "The transaction has failed."
        ]],
        ["rejected", [
          "Session timeout must be between 1 and 60 minutes.",
          "The meeting's timeout of 30 minutes is too short.",
          "The status of room 500 is booked.",
          "Flight status: gate 512 is closed.",
          "Room 404 is booked.",
          "At most 500 guests fit.",
          "The connection from Paris to Rome is booked out.",
          "The connection from Berlin to Prague is closed on Sundays.",
          "No connection between Berlin and Rome on this day.",
          "No response from the guest yet.",
          "The live stream ended at 20:00.",
          "The client has ended the contract.",
          "The customer returned 500 of 600 items.",
          "The search failed: 412 of 500 are locked.",
          "503 Service Road is not an address.",
          "The quiz timed out on Monday.",
          "Could not book the room: it is taken.",
          "Could not find order 7.",
          "Could not book more than 4 rooms.",
          "Unable to refund without a receipt",
          "Validation failed",
          "Card verification failed.",
          "Your e-mail address is not confirmed.",
          "The name may have been misspelled.",
          "Cannot cancel a paid order.",
          "Payment failed: the card has expired.",
          "The customer returned 500.",
          "The server room is closed."
        ]]
      ] as const
    ) {
      it(kind, () => {
        assert.deepStrictEqual(messages.filter((message) => kindOf(message) !== kind), [])
      })
    }
  })

  describe("knows a refusal from what only failed, in hundreds of sentences:", () => {
    const groups = readFileSync(new URL("../support/sentences.txt", import.meta.url), "utf8").split(/^# .*\n/m).slice(1)
    const [refusing = [], misread = [], failing = [], missed = []] = groups.map((group) => group.trim().split("\n"))
    const isRefusal = (sentence: string) => {
      const failure = caught(new Error(sentence))
      return failure?._tag === "ToolUnavailable"
        ? failure.outcome === undefined && !failure.transient
        : failure?._tag === "SemanticGarbage" || failure?._tag === "SchemaMismatch" && failure.side === "arguments"
    }
    const refused = (sentences: ReadonlyArray<string>) => sentences.filter(isRefusal)

    it("what refuses, with few that are not read so", () => {
      assert.deepStrictEqual(refused([...refusing, ...misread]), refusing)
      assert.isBelow(misread.length / refusing.length, 0.02)
    })

    it("what does not, with few that are read as if they did", () => {
      assert.deepStrictEqual(refused([...failing, ...missed]), missed)
      assert.isBelow(missed.length / failing.length, 0.05)
    })

    it("as the document says", () => {
      const document = readFileSync(new URL("../../docs/any-error.md", import.meta.url), "utf8").replace(/\s+/g, " ")
      const [fails, refuses] = [failing.length + missed.length, refusing.length + misread.length]
      assert.include(
        document,
        `${missed.length} of ${fails} English sentences that give no reason are read as refusals, ${misread.length} of ${refuses} refusals as failures`
      )
    })

    it("whatever they are written with", () => {
      for (
        const sentence of [
          "Payment failed\n",
          "  Payment failed  ",
          "Error: Payment failed",
          "Couldn’t book the room..."
        ]
      ) {
        assert.isFalse(isRefusal(sentence), sentence)
      }
    })
  })

  describe("leaves a mistake of the program a defect, whatever stands around it:", () => {
    const timedOut = Object.assign(new Error("x"), { code: "ETIMEDOUT" })
    for (
      const [what, error] of [
        ["a word of connections", new TypeError("Cannot read properties of undefined (reading 'timeout')")],
        ["a cause", new TypeError("rows is undefined", { cause: timedOut })],
        ["a status", Object.assign(new TypeError("x"), { status: 503 })]
      ] as const
    ) {
      it(what, () => {
        assert.isUndefined(caught(error, { tell: [Error] }))
      })
    }

    it("but a class of mistakes that is listed itself is told", () => {
      class OutOfRange extends RangeError {}
      assert.strictEqual(caught(new OutOfRange("1 to 8 guests."), { tell: [OutOfRange] })?.detail, "1 to 8 guests.")
      assert.isUndefined(caught(new OutOfRange("1 to 8 guests."), { tell: [RangeError] }))
    })
  })

  describe("claims that nothing was done only of what is sure", () => {
    const outcomeOf = (error: unknown) => {
      const failure = caught(error)
      return failure?._tag === "ToolUnavailable" ? failure.outcome : failure?._tag
    }
    const coded = (code: string, fields: object = {}) => Object.assign(new Error("x"), { code, ...fields })
    const cut = new SyntaxError("Unexpected end of JSON input")

    for (
      const [what, error, outcome] of [
        ["a refused connection", coded("ECONNREFUSED"), "not_executed"],
        ["a reset one beside it", new AggregateError([coded("ECONNREFUSED"), coded("ECONNRESET")]), undefined],
        ["an answer that was cut", new AggregateError([{ status: 429 }, cut]), "SchemaMismatch"],
        ["a file beside a reset one", new AggregateError([coded("ENOENT"), coded("ECONNRESET")]), undefined],
        ["an unknown error beside it", new AggregateError([coded("ECONNREFUSED"), new Error("x")]), "unknown"],
        ["a code with CERT in it", coded("OUTCOME_UNCERTAIN"), "unknown"],
        ["a certificate", coded("CERT_HAS_EXPIRED"), "not_executed"],
        [
          "one of several things that were done",
          new AggregateError([coded("ECONNREFUSED")], "1 of 3 failed"),
          undefined
        ],
        [
          "several attempts to connect",
          Object.assign(new AggregateError([coded("ECONNREFUSED")]), { code: "ECONNREFUSED" }),
          "not_executed"
        ],
        ["the last of several attempts of a client", coded("ECONNREFUSED", { attemptNumber: 3 }), undefined],
        ["the last of several attempts", { $metadata: { httpStatusCode: 429, attempts: 3 } }, undefined],
        [
          "a request that axios-retry has repeated",
          { status: 429, config: { "axios-retry": { retryCount: 1 } } },
          undefined
        ],
        ["one that octokit has", { status: 429, request: { request: { retryCount: 1 } } }, undefined],
        ["a status in a text", new Error("HTTP 429"), undefined],
        ["a status in a sentence", new Error("Got 429 from the bank"), undefined],
        ["five digits of somebody", coded("40001"), "unknown"],
        ["those of a database", coded("53300", { severity: "FATAL" }), "not_executed"],
        [
          "what a tool inside says",
          new Error("Not booked.", {
            cause: new ToolUnavailable({
              code: "outcome_unknown",
              detail: "Lost.",
              transient: false,
              outcome: "unknown",
              cause: coded("ECONNREFUSED")
            })
          }),
          "unknown"
        ]
      ] as const
    ) {
      it(what, () => {
        assert.strictEqual(outcomeOf(error), outcome)
      })
    }
  })

  describe("goes by what an error says of itself", () => {
    const state = (error: object) => {
      const failure = caught(error)
      return failure?._tag === "ToolUnavailable" ? [failure.code, failure.transient, failure.outcome] : failure?._tag
    }

    it("for what would not be tried again otherwise", () => {
      assert.deepStrictEqual(state({ status: 409, retryable: true }), ["rejected", true, undefined])
      assert.deepStrictEqual(state({ isRetryable: true }), ["failed", true, undefined])
      assert.deepStrictEqual(state(Object.assign(new Error("Busy."), { $retryable: {} })), ["failed", true, undefined])
    })

    it("and for what would: it stays in doubt, since it did not refuse", () => {
      assert.deepStrictEqual(state({ status: 500, retryable: false }), ["server_error", false, "unknown"])
      assert.deepStrictEqual(state({ status: 400, retryable: false }), ["rejected", false, undefined])
    })
  })

  describe("survives hostile errors:", () => {
    const hostile: ReadonlyArray<readonly [what: string, error: () => unknown]> = [
      ["a getter that throws", () => Object.defineProperty(new Error("x"), "cause", { get: () => assert.fail("!") })],
      [
        "a proxy that throws",
        () =>
          new Proxy({}, {
            get: () => assert.fail("!"),
            has: () => assert.fail("!"),
            getPrototypeOf: () => assert.fail("!")
          })
      ],
      ["causes in a circle", () => {
        const error: Error = new Error("")
        error.cause = new Error("", { cause: error })
        return error
      }],
      ["aggregates in a circle", () => {
        const errors: Array<unknown> = []
        errors.push(...Array.from({ length: 30 }, () => new AggregateError(errors)))
        return new AggregateError(errors)
      }],
      ["a message of 10 MB", () => new Error("a/b ".repeat(2_500_000))],
      ["a message that is not a text", () => Object.assign(new Error(), { message: { secret: 1 } })],
      ["a status that is not a number", () => ({ status: "503", statusCode: Number.NaN, code: Symbol() })],
      ["headers that are not", () => ({ status: 429, headers: { get: () => assert.fail("!") } })]
    ]
    for (const [what, error] of hostile) {
      it(what, () => {
        assert.isString(caught(error())?.detail)
      })
    }

    it("any value", () => {
      FastCheck.assert(FastCheck.property(FastCheck.anything({ withNullPrototype: true, maxDepth: 4 }), (value) => {
        assert.isString(caught(value)?.detail)
      }))
    })
  })
})
