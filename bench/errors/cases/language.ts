import Assert from "node:assert"
import { Buffer } from "node:buffer"
import type { Cases } from "../world.ts"

/** Programming errors. */
export const programmingCases = (): Cases => {
  const nothing = undefined as unknown as { readonly rooms: { readonly id: number } }
  const plain = {} as unknown as { readonly book: () => void }
  return {
    library: "programming",
    cases: {
      "TypeError property of undefined": () => nothing.rooms.id,
      "TypeError not a function": () => plain.book(),
      "TypeError not iterable": () => [...(5 as unknown as Array<number>)],
      "TypeError constant": () => Object.defineProperty(Object.freeze({}), "a", { value: 1 }),
      "TypeError circular JSON": () => {
        const circular: Record<string, unknown> = {}
        circular["self"] = circular
        return JSON.stringify(circular)
      },
      "TypeError BigInt JSON": () => JSON.stringify({ id: 1n }),
      "TypeError ERR_INVALID_ARG_TYPE": () => Buffer.from(5 as unknown as string),
      "TypeError Invalid URL": () => new URL("rooms?api_key=sk-live-SECRET123456"),
      "RangeError array length": () => new Array(-1),
      "RangeError stack": () => {
        const forever = (): number => forever() + 1
        return forever()
      },
      "RangeError date": () => new Date(NaN).toISOString(),
      "RangeError repeat": () => "x".repeat(-1),
      "RangeError ERR_OUT_OF_RANGE": () => Buffer.alloc(2).readUInt8(5),
      "ReferenceError": () =>
        (globalThis as unknown as { eval: (text: string) => unknown }).eval("unknownVariable + 1"),
      "URIError": () => decodeURIComponent("%"),
      "SyntaxError RegExp": () => new RegExp("("),
      "SyntaxError eval": () => (globalThis as unknown as { eval: (text: string) => unknown }).eval("let = ="),
      "SyntaxError BigInt": () => BigInt("x1"),
      "AssertionError ok": () => Assert.ok(false),
      "AssertionError message": () => Assert.ok(false, "stock has to be positive"),
      "AssertionError equal": () => Assert.strictEqual(1, 2),
      "AssertionError deepEqual": () => Assert.deepStrictEqual({ a: 1 }, { a: 2 }),
      "AssertionError ifError": () => Assert.ifError(new Error("inner"))
    }
  }
}

/** Errors of `JSON.parse` for texts that are cut off, or are not JSON. */
export const jsonCases = (): Cases => {
  const texts = {
    "cut object": `{"rooms":[{"id":17,`,
    "cut key": `{"rooms":[{"id":17,"na`,
    "cut string": `{"rooms":[{"id":17,"name":"Blue sk-live-SECRET123456`,
    "cut number": `{"total":17.`,
    "cut literal": `{"ok":tru`,
    "cut colon": `{"ok":`,
    "cut array": `[1,2`,
    "cut escape": `{"name":"\\u00`,
    "HTML": "<!DOCTYPE html><html><body>502 Bad Gateway</body></html>",
    "empty": "",
    "blank": "  \n",
    "trailing": `{"id":17} {"id":18}`,
    "trailing comma": `{"id":17,}`,
    "single quotes": `{'id':17}`,
    "plain text": "Service unavailable hunter2-secret",
    "undefined": "undefined",
    "NaN": `{"id":NaN}`,
    "XML": `<?xml version="1.0"?><error/>`,
    "byte order mark": `\uFEFF{"id":17}`,
    "control character": `{"name":"a\nb"}`,
    "long": `${"x".repeat(200)} sk-live-SECRET123456`
  }
  return {
    library: "JSON.parse",
    cases: Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, () => JSON.parse(text)]))
  }
}

class BookingError extends Error {}
class NamedError extends Error {
  override readonly name = "NamedError"
}
class CodedError extends Error {
  readonly code = "ROOM_TAKEN"
  readonly room = 17
}
class HttpProblem extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const thrown = (error: unknown) => (): never => {
  throw error
}

/** Errors and other values that users throw by hand. */
export const plainCases = (): Cases => ({
  library: "thrown by hand",
  cases: {
    "Error with a sentence": thrown(new Error("Room 17 is already booked on 3 May.")),
    "Error without a message": thrown(new Error()),
    "Error with a secret": thrown(new Error("Login of ada with hunter2-secret failed: sk-live-SECRET123456")),
    "Error with a URL": thrown(
      new Error("GET https://ada:hunter2-secret@api.example/rooms?api_key=sk-live-SECRET123456")
    ),
    "Error with a path": thrown(new Error("Cannot read /app/src/rooms.ts")),
    "Error with a stack as message": thrown(
      new Error("Error: boom\n    at book (/app/src/rooms.ts:3:5)\n    at async main (/app/src/main.ts:9:1)")
    ),
    "Error of many lines": thrown(new Error("first line\nsecond line\r\nthird line")),
    "Error of great length": thrown(new Error("long ".repeat(1000))),
    "Error HTTP 404": thrown(new Error("HTTP 404")),
    "Error HTTP error, status: 500": thrown(new Error("HTTP error! status: 500")),
    "Error with a status": thrown(Object.assign(new Error("No such room"), { status: 404 })),
    "Error with a statusCode": thrown(Object.assign(new Error("No such room"), { statusCode: 404 })),
    "Error with a statusCode as text": thrown(Object.assign(new Error("No such room"), { statusCode: "404" })),
    "Error with statusCode 200": thrown(Object.assign(new Error("odd"), { statusCode: 200 })),
    "Error with a status word": thrown(Object.assign(new Error("odd"), { status: "rejected" })),
    "Error of http-errors": thrown(
      Object.assign(new Error("Not Found"), { status: 404, statusCode: 404, expose: true, headers: { "x-a": "1" } })
    ),
    "Error of Boom": thrown(
      Object.assign(new Error("No such room"), {
        isBoom: true,
        isServer: false,
        data: null,
        output: {
          statusCode: 404,
          payload: { statusCode: 404, error: "Not Found", message: "No such room" },
          headers: {}
        }
      })
    ),
    "Error with retryable": thrown(Object.assign(new Error("Try again"), { retryable: true })),
    "Error with retryable false": thrown(Object.assign(new Error("Never"), { retryable: false })),
    "Error with isRetryable": thrown(Object.assign(new Error("Try again"), { isRetryable: true })),
    "Error with retryAfter": thrown(Object.assign(new Error("Slow down"), { status: 429, retryAfter: 7 })),
    "Error caused by Error": thrown(new Error("Booking failed", { cause: new Error("Room 17 is taken") })),
    "Error caused by ECONNREFUSED": thrown(
      new Error("Booking failed", {
        cause: new TypeError("fetch failed", {
          cause: Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:12345"), {
            code: "ECONNREFUSED",
            errno: -111,
            syscall: "connect"
          })
        })
      })
    ),
    "Error caused by a 404": thrown(
      new Error("Booking failed", { cause: Object.assign(new Error("No such room"), { status: 404 }) })
    ),
    "Error caused by TypeError": thrown(new Error("Booking failed", { cause: new TypeError("x is not a function") })),
    "Error in ten causes": thrown(
      Array.from({ length: 10 }, (_, i) => i).reduce(
        (cause: Error, i) => new Error(`layer ${i}`, { cause }),
        Object.assign(new Error("root"), { code: "ECONNRESET" })
      )
    ),
    "class of one's own": thrown(new BookingError("Room 17 is taken.")),
    "class with a name": thrown(new NamedError("Room 17 is taken.")),
    "class with a code": thrown(new CodedError("Room 17 is taken.")),
    "class with a status": thrown(new HttpProblem(404, "No such room: 17")),
    "name set by hand": thrown(Object.assign(new Error("Room 17 is taken."), { name: "BookingError" })),
    "AbortError by hand": thrown(Object.assign(new Error("Aborted"), { name: "AbortError" })),
    "TimeoutError by hand": thrown(Object.assign(new Error("Took too long"), { name: "TimeoutError" })),
    "TypeError with a sentence": thrown(new TypeError("The date has to be a day.")),
    "RangeError with a sentence": thrown(new RangeError("The number of guests has to be 1 to 8.")),
    "string": thrown("Room 17 is already booked."),
    "empty string": thrown(""),
    "number": thrown(404),
    "undefined": thrown(undefined),
    "null": thrown(null),
    "boolean": thrown(false),
    "bigint": thrown(1n),
    "object with a message": thrown({ message: "Room 17 is taken." }),
    "object with a message and a code": thrown({ code: "ROOM_TAKEN", message: "Room 17 is taken." }),
    "object with an error": thrown({ error: { message: "Room 17 is taken.", code: 17 } }),
    "object with an error text": thrown({ error: "Room 17 is taken." }),
    "object with a status": thrown({ status: 404, message: "No such room", headers: { "retry-after": "7" } }),
    "object empty": thrown({}),
    "object without prototype": thrown(Object.assign(Object.create(null), { message: "Room 17 is taken." })),
    "array": thrown(["Room 17 is taken."]),
    "JSON-RPC error": thrown({ code: -32602, message: "Invalid params: room", data: { room: 17 } }),
    "JSON-RPC response": thrown({ jsonrpc: "2.0", id: 1, error: { code: -32601, message: "Method not found" } }),
    "problem details": thrown({ type: "about:blank", title: "Not Found", status: 404, detail: "No such room: 17" })
  }
})

/** Several errors at once. */
export const aggregateCases = ({ refused, unknownHost }: { refused: string; unknownHost: string }): Cases => ({
  library: "aggregate",
  cases: {
    "Promise.any of sentences": () =>
      Promise.any([
        Promise.reject(new Error("The first is closed.")),
        Promise.reject(new Error("The second is closed."))
      ]),
    "Promise.any of fetches": () => Promise.any([fetch(refused), fetch(unknownHost)]),
    "Promise.any of mixed": () =>
      Promise.any([fetch(refused), Promise.reject(Object.assign(new Error("No such room"), { status: 404 }))]),
    "Promise.any of nothing": () => Promise.any([]),
    "AggregateError with a message": thrown(new AggregateError([new Error("a"), new Error("b")], "All sources failed."))
  }
})
