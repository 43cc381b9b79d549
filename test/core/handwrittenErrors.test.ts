/** Errors with handwritten messages: their words, and which of them are refusals. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { caught } from "../support/caught.ts"

describe("ToolFailure.from", () => {
  describe("recognizes handwritten messages", () => {
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
          // These leave doubt.
          "Could not confirm the payment",
          "The payment may have gone through, but the gateway did not confirm it.",
          "It is unknown whether the mail was sent.",
          // These give no reason. In HTTP/2, a status has no words, so nothing follows the colon.
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

  describe("distinguishes a refusal from a mere failure, in hundreds of sentences:", () => {
    const groups = readFileSync(new URL("../support/sentences.txt", import.meta.url), "utf8").split(/^# .*\n/m).slice(1)
    const [refusing = [], misread = [], failing = [], missed = []] = groups.map((group) => group.trim().split("\n"))
    const isRefusal = (sentence: string) => {
      const failure = caught(new Error(sentence))
      return failure?._tag === "ToolUnavailable"
        ? failure.outcome === undefined && !failure.transient
        : failure?._tag === "SemanticGarbage" || failure?._tag === "SchemaMismatch" && failure.side === "arguments"
    }
    const refused = (sentences: ReadonlyArray<string>) => sentences.filter(isRefusal)

    it("refusals, with few that are missed", () => {
      assert.deepStrictEqual(refused([...refusing, ...misread]), refusing)
      assert.isBelow(misread.length / refusing.length, 0.05)
    })

    it("other failures, with few that are mistaken for refusals", () => {
      assert.deepStrictEqual(refused([...failing, ...missed]), missed)
      assert.isBelow(missed.length / failing.length, 0.1)
    })

    it("the sentences in the document", () => {
      const document = readFileSync(new URL("../../docs/any-error.md", import.meta.url), "utf8").replace(/\s+/g, " ")
      const [fails, refuses] = [failing.length + missed.length, refusing.length + misread.length]
      assert.include(
        document,
        `${missed.length} of ${fails} English sentences that give no reason are read as refusals, ${misread.length} of ${refuses} refusals as failures`
      )
    })

    it("whatever characters they use", () => {
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
})
