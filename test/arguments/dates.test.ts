import { assert, describe, it } from "@effect/vitest"
import { coerce } from "@fallible/arguments/internal"
import { coerced, date, refused, time } from "../support/coercing.ts"

describe("Coercion", () => {
  describe("dates", () => {
    it("are checked against the calendar", () => {
      for (const text of ["2024-02-29", "2000-02-29", "0001-01-01"]) assert.deepStrictEqual(coerced(text, date), [text])
      for (
        const text of ["2023-02-29", "1900-02-29", "2024-13-01", "2024-00-10", "2024-04-31", "24-01-02", "2024-1-32"]
      ) {
        refused(text, date)
      }
    })

    it("are read if the order is certain and no time is lost", () => {
      for (
        const text of [
          "2024-1-2",
          "2024-01-02T00:00:00",
          "2024-01-02T00:00:00Z",
          "2024-01-02 00:00",
          "2024-01-02T00:00:00.000Z"
        ]
      ) {
        assert.deepStrictEqual(coerced(text, date), ["2024-01-02", "DATE_FORM"])
      }
      for (
        const text of [
          "2024-01-02T10:00:00",
          "2024-01-02T00:00:00+02:00",
          "02-01-2024",
          "2024/01/02",
          "20240102",
          "today"
        ]
      ) {
        refused(text, date)
      }
    })

    it("with a time need a time zone", () => {
      for (const text of ["2024-01-02T10:00:00Z", "2024-01-02T10:00:00.123+05:30"]) {
        assert.deepStrictEqual(coerced(text, time), [text])
      }
      assert.deepStrictEqual(coerced("2024-01-02 10:00:00+02:00", time), [
        "2024-01-02T10:00:00+02:00",
        "space_in_date_time"
      ])
      for (
        const text of [
          "2024-01-02",
          "2024-01-02T10:00:00",
          "2024-01-02 10:00:00",
          "2024-01-02T25:00:00Z",
          "2023-02-29T10:00:00Z",
          "01/02/2024"
        ]
      ) {
        refused(text, time)
      }
      refused(1704153600, time)
    })
  })
})

describe("findings of a second reader", () => {
  it("midnight in UTC is a date, however it is written", () => {
    for (const zone of ["", "Z", "+00:00", "-00:00"]) {
      assert.strictEqual(coerce(`2024-01-02T00:00:00${zone}`, { type: "string", format: "date" }).value, "2024-01-02")
    }
    assert.deepStrictEqual(coerce("2024-01-02T00:00:00+01:00", { type: "string", format: "date" }).repairs, [])
  })
})
