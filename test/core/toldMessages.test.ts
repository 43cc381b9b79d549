/** The error messages that a model gets, and the parts that are removed. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Data, Redacted, Schema } from "effect"
import { caught } from "../support/caught.ts"

describe("ToolFailure.from", () => {
  describe("includes the message", () => {
    class Listed extends Error {}
    class Below extends Listed {}
    const tell = [Listed]
    const words = (error: unknown) => caught(error, { tell })?.detail
    const sentence = "Room A1 is taken."
    const untold = "The tool failed. Only its operators can see why."

    it("of a plain Error, of a listed class, and of its subclasses", () => {
      for (const error of [new Error(sentence), new Listed(sentence), new Below(sentence)]) {
        assert.strictEqual(words(error), sentence)
      }
    })

    it("of no other class, and of no value that is not an error", () => {
      class Other extends Error {}
      for (const error of [new Other(sentence), sentence, { message: sentence }, [sentence], 5, null, undefined]) {
        assert.strictEqual(words(error), untold)
      }
    })

    for (const field of ["code", "errno", "sql", "config", "request", "response"]) {
      it(`unless the error has a '${field}'`, () => {
        assert.strictEqual(words(Object.assign(new Error(sentence), { [field]: undefined })), untold)
        // A program's own class may have a code.
        const ofListed = field === "code" ? sentence : untold
        assert.strictEqual(words(Object.assign(new Listed(sentence), { [field]: {} })), ofListed)
      })
    }

    it("of what Effect's UnknownError wraps", () => {
      for (const error of [new Error(sentence), new Listed(sentence)]) {
        const wrapped = new Cause.UnknownError(error)
        assert.strictEqual(words(wrapped), sentence)
        assert.strictEqual(caught(wrapped)?.cause, wrapped)
      }
      assert.strictEqual(words(new Cause.UnknownError({ secret: sentence })), untold)
      assert.isUndefined(caught(new Cause.UnknownError(new TypeError("rows is undefined"))))
    })

    it("unless it repeats its cause", () => {
      const cause = new RangeError("row 7 of ledger_private")
      assert.strictEqual(words(new Error(`Failed: ${cause.message}`, { cause })), untold)
      assert.strictEqual(words(new Error(sentence, { cause })), sentence)
    })

    it("unless it is a web page", () => {
      const cause = { status: 422 }
      assert.strictEqual(words(new Error(" <!DOCTYPE html><h1>No</h1>", { cause })), "The service answered 422.")
      assert.strictEqual(words(new Error("<b> is no tag here.", { cause })), "<b> is no tag here.")
    })

    it("of a class of one's own with a code, even an undefined one", () => {
      class SeatTaken extends Error {
        readonly code: string | undefined
        constructor(message: string, code?: string) {
          super(message)
          this.code = code
        }
      }
      for (const code of [undefined, "SEAT_TAKEN", "23505", "ECONNREFUSED"]) {
        const error = new SeatTaken("Seat 4A is taken.", code)
        assert.strictEqual(caught(error, { tell: [SeatTaken] })?.detail, "Seat 4A is taken.")
        assert.strictEqual(caught(error, { refuses: [SeatTaken] })?.detail, "Seat 4A is taken.")
      }
    })

    for (
      const statement of [
        "update users set x = 1 failed",
        "Update users Set x=1",
        "could not run: update \"users\" set \"x\" = $1",
        "select * from users",
        "select id, name from users limit 1",
        "select count(*) from users",
        "SELECT id\nFROM users",
        "insert into users (name) select 'ada'",
        "INSERT INTO users\n  VALUES (1)",
        "delete from users where id = 1",
        "DELETE FROM users",
        "create table users (id int)",
        "drop table if exists users",
        "alter table users add column x int",
        "truncate table users",
        "with recent as (select 1) x"
      ]
    ) {
      it(`unless it is a statement of SQL: ${JSON.stringify(statement)}`, () => {
        const error = new Error(statement)
        assert.notInclude(words(error), "users")
        assert.notInclude(words(error), "recent")
        assert.strictEqual(caught(error)?.cause, error)
      })
    }

    for (
      const sentence of [
        "Please select a room from the list.",
        "Update the room set before you book.",
        "Insert into the form what you know.",
        "You cannot delete from the archive.",
        "Create table bookings in advance.",
        "Select breakfast, lunch from the menu."
      ]
    ) {
      it(`and a sentence with its words is none: ${sentence}`, () => {
        assert.strictEqual(words(new Error(sentence)), sentence)
      })
    }

    it("beside the information in its fields", () => {
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
    it("without possible secrets, paths and addresses", () => {
      const quoted = hidden.map((message) => words(new Error(`It failed: ${message}`)) ?? "")
      assert.deepStrictEqual(quoted.filter((words) => words.includes("hunter22")), [])
    })

    it("without addresses of any kind, and without class names", () => {
      const message =
        "BookingError: no route to [::1]:5432, fe80::1, 2001:db8:85a3:0:0:8a2e:370:7334, localhost:5432 or db.internal:5432; a NullPointerException"
      assert.strictEqual(
        words(new Error(message)),
        "no route to <address>, <address>, <address>, <address> or <address>; a <error>"
      )
    })

    it("unchanged if it says what a model needs", () => {
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

    it("in linear time, whatever the message", () => {
      const pieces = ["a-1-", "a.", "/a", "password ", "a:", "::", "1.", "a\\", "token=\"\\", " at ", "status ", "4 4"]
      for (const piece of pieces) {
        const error = Object.assign(new Error(piece.repeat(200_000)), { name: piece.repeat(200_000) })
        // Anything slower than linear time would not end.
        assert.isString(caught(error)?.detail)
      }
    })

    it("of a subclass that has the form of a failure", () => {
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
})

describe("a tagged error without a message", () => {
  class ServiceLocked extends Data.TaggedError("ServiceLocked")<{ readonly service: string; readonly by: string }> {}
  class RoomTaken extends Schema.TaggedError<RoomTaken>()("@app/rooms/RoomTaken", {
    room: Schema.String,
    seats: Schema.Int,
    isFinal: Schema.Boolean
  }) {}
  const locked = new ServiceLocked({ service: "db", by: "ops" })
  const taken = new RoomTaken({ room: "A1", seats: 4, isFinal: true })

  it("is told by its tag", () => {
    assert.deepInclude({ ...caught(locked) }, { code: "failed", detail: "The tool failed with ServiceLocked." })
    assert.strictEqual(caught(taken)?.detail, "The tool failed with RoomTaken.")
    assert.strictEqual(caught({ _tag: "ServiceLocked" })?.detail, "The tool failed with ServiceLocked.")
  })

  it("is told with its plain fields, if its class is declared", () => {
    const told = caught(locked, { tell: [ServiceLocked] })
    assert.strictEqual(told?.detail, "ServiceLocked: service: \"db\", by: \"ops\"")
    assert.strictEqual(
      caught(taken, { refuses: [RoomTaken] })?.detail,
      "RoomTaken: room: \"A1\", seats: 4, isFinal: true"
    )
    class Closed extends Data.TaggedError("Closed") {}
    assert.strictEqual(caught(new Closed(), { tell: [Closed] })?.detail, "Closed")
  })

  it("is told without what may be secret, without objects, and without internals", () => {
    class LoginFailed extends Data.TaggedError("LoginFailed")<{ readonly [key: string]: unknown }> {}
    const error = new LoginFailed({
      user: "ada",
      password: "hunter2",
      pin: 4711,
      apiKey: "abc",
      note: "token=hunter2",
      secret: Redacted.make("hunter2"),
      inner: { password: "hunter2" },
      list: ["hunter2"],
      statement: "select * from hunter2",
      file: "/srv/app/db.js",
      url: "postgres://app:hunter2@db/x",
      cause: new Error("hunter2"),
      "a key that is data hunter2": 1,
      long: "x ".repeat(1_000)
    })
    const detail = caught(error, { tell: [LoginFailed] })?.detail ?? ""
    assert.match(
      detail,
      /^LoginFailed: user: "ada", note: "token=<redacted>", file: "<path>", url: "<address>", long: "(?:x )+… \(1\d\d\d more characters\)"$/
    )
  })

  it("is told in a bounded line, whatever it has", () => {
    const fields = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, index) => [`field${index}`, "word ".repeat(99)])
    )
    class Big extends Data.TaggedError("Big")<{ readonly [key: string]: unknown }> {}
    assert.isAtMost(caught(new Big(fields), { tell: [Big] })?.detail.length ?? 0, 540)
  })

  it("is a refusal or a failure by the words of its tag, which prove nothing", () => {
    const kindOf = (tag: string) => {
      class Listed extends Error {
        readonly _tag = tag
      }
      const failure = caught(new Listed(), { tell: [Listed] })
      assert.deepInclude({ ...failure?.evidence?.inferred }, { worded: true })
      return failure?._tag === "ToolUnavailable" ? `${failure.code} ${failure.transient}` : failure?.code
    }
    assert.strictEqual(kindOf("ServiceLocked"), "rejected")
    assert.strictEqual(kindOf("seat-taken"), "rejected")
    assert.strictEqual(kindOf("PaymentFailed"), "failed false")
    assert.strictEqual(kindOf("DatabaseError"), "server_error true")
    assert.strictEqual(kindOf("ConnectionLost"), "connection true")
  })

  it("is not told by a tag that is no name", () => {
    for (const tag of ["", "a b", "sk_live_4242424242424242424242", "x".repeat(100), "/srv/app/db.js"]) {
      assert.strictEqual(caught({ _tag: tag })?.detail, "The tool failed. Only its operators can see why.", tag)
    }
  })
})
