import { assert, describe, it } from "@effect/vitest"
import * as Suggestion from "@fallible/core/Suggestion"
import * as fc from "fast-check"

const name = fc.string({ unit: fc.constantFrom("a", "b", "c", "_", "B"), maxLength: 12 })
const names = fc.array(name, { maxLength: 8 })

describe("Suggestion", () => {
  describe("nearest", () => {
    it("puts the nearest first", () => {
      assert.deepStrictEqual(
        Suggestion.nearest("get_wether", ["convert", "get_time", "get_weather"]),
        ["get_weather", "get_time", "convert"]
      )
    })

    it("keeps the order of candidates that are equally near", () => {
      assert.deepStrictEqual(Suggestion.nearest("cat", ["bat", "rat", "cat", "hat"]), ["cat", "bat", "rat", "hat"])
    })

    it("counts swapped neighbours as one typo", () => {
      assert.deepStrictEqual(Suggestion.nearest("paris", ["perus", "pairs"]), ["pairs", "perus"])
    })

    it("prefers a name that contains the other to one with two typos", () => {
      assert.deepStrictEqual(Suggestion.nearest("weather", ["wexxher", "get_weather"]), ["get_weather", "wexxher"])
    })

    it("ignores case, underscores, hyphens and spaces", () => {
      for (const spelling of ["getWeather", "GET-WEATHER", "get weather", "getweather"]) {
        assert.deepStrictEqual(Suggestion.nearest(spelling, ["get_whether", "get_weather"], 1), ["get_weather"])
      }
    })

    it("returns every candidate once, and no other", () => {
      fc.assert(fc.property(name, names, (name, names) => {
        assert.deepStrictEqual(Suggestion.nearest(name, names).toSorted(), names.toSorted())
      }))
    })

    it("returns the same candidates with a limit, cut after the limit", () => {
      fc.assert(fc.property(name, names, fc.nat(10), (name, names, limit) => {
        assert.deepStrictEqual(
          Suggestion.nearest(name, names, limit),
          Suggestion.nearest(name, names).slice(0, limit)
        )
      }))
    })

    it("always finds an exact match first", () => {
      fc.assert(fc.property(names, fc.array(name, { minLength: 1 }), (names, [meant = ""]) => {
        const [first = "none"] = Suggestion.nearest(meant, [...names, meant])
        assert.strictEqual(first.toLowerCase().replaceAll("_", ""), meant.toLowerCase().replaceAll("_", ""))
      }))
    })
  })

  describe("didYouMean", () => {
    it("names the only near candidate", () => {
      assert.strictEqual(Suggestion.didYouMean("get_wether", ["get_time", "get_weather"]), "get_weather")
    })

    it("is silent if none is near enough", () => {
      assert.isUndefined(Suggestion.didYouMean("launch_rocket", ["get_time", "get_weather"]))
      assert.isUndefined(Suggestion.didYouMean("get_weather", []))
    })

    it("is silent if two are equally near", () => {
      assert.isUndefined(Suggestion.didYouMean("get_date", ["get_data", "get_rate"]))
    })

    it("allows a third of the longer name's characters to differ, and no more", () => {
      assert.strictEqual(Suggestion.didYouMean("abcdxx", ["abcdef"]), "abcdef")
      assert.isUndefined(Suggestion.didYouMean("abcxxx", ["abcdef"]))
    })

    it("names a candidate or nothing, whatever the name", () => {
      fc.assert(fc.property(fc.string({ unit: "binary" }), names, (name, names) => {
        const suggestion = Suggestion.didYouMean(name, names)
        assert.isTrue(suggestion === undefined || suggestion === Suggestion.nearest(name, names)[0])
      }))
    })

    it("reads only the start of a hostile name", () => {
      const hostile = "get_wether".padEnd(64, "_") + "x".repeat(100_000)
      assert.strictEqual(Suggestion.didYouMean(hostile, ["get_time", "get_weather"]), "get_weather")
    })
  })
})
