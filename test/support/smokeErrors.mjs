/* Describes an error with a packed `@fallible/errors`, in whatever Node runs this. */
import { describe, redact } from "@fallible/errors"
import { deepStrictEqual, strictEqual } from "node:assert"

const refused = Object.assign(new Error("connect ECONNREFUSED 10.0.0.7:5432"), { code: "ECONNREFUSED" })
const { class: kind, code, isTransient, message, request } = describe(refused)
deepStrictEqual({ kind, code, isTransient, request }, {
  kind: "unavailable",
  code: "connection",
  isTransient: true,
  request: { outcome: "not_executed" }
})
strictEqual(message, "The service could not be reached: it refused the connection.")
strictEqual(redact("password: hunter2"), "password: <redacted>")

const answered = await fetch("data:text/plain,{").then((response) => response.json()).catch((error) => error)
strictEqual(describe(answered).class, "invalid_answer")
